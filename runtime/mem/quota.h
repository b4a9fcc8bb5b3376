/*
 * quota.h
 *	  Memory quotas: the bytes of each owner's tables, and their limits.
 *
 * Each table keeps a book of its bytes, its indexes' included.  A book is on the account of an
 * owner in a database; that account's bytes are also its owner's and its database's.  Each of the
 * three may have a limit, past which TG_DATA claims for the table are refused with TG_OVER_QUOTA.
 * Other claims are counted, and never refused: a DELETE, a rollback and the collection go on.
 *
 * A session asks before it adds to a table's bytes, for each object that it takes for many rows: a
 * chunk, headers, a node, 64 kB of long values (of hidden ones, each value).  That costs two loads
 * while the table has a grant; only when the grant is used up does the session ask the accounts for
 * another TG_QUOTA_GRANT (grant.h).
 */
#ifndef TG_QUOTA_H
#define TG_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/book.h"

#define TG_QUOTA_GRANT ((int64_t) 256 * 1024) /* granted to a table in advance, if there is room */

extern tg_status tg_quota_create(void) TG_MUST_USE;

/* --- books ------------------------------------------------------------------ */

/*
 * Puts a book on an account, with its bytes, and takes the caller's reference over.  Returns the
 * account that it was on, or NULL, with the reference that the book had.
 */
extern tg_account *tg_book_move(tg_book *book, tg_account *account);

/* The account that it is on, or NULL.  The table must not be moved meanwhile. */
extern tg_account *tg_book_account(const tg_book *book);

/* Takes it off its account: the table's memory is gone. */
extern void tg_book_close(tg_session *session, tg_book *book);

/* --- accounts ---------------------------------------------------------------- */

/*
 * The account of an owner in a database, made if there is none; one reference.  Neither is 0.
 * TG_NO_MEMORY.
 */
extern tg_status tg_account_open(tg_session *session, uint32_t database, uint32_t owner,
								 tg_account **account_out) TG_MUST_USE;
extern void tg_account_close(tg_session *session, tg_account *account);
extern uint32_t tg_account_owner(const tg_account *account);

/* An account: an owner's in a database, an owner's (database 0), or a database's (owner 0). */
typedef struct tg_quota_key
{
	uint32_t database;
	uint32_t owner;
} tg_quota_key;

/* One of the account's three limits that was not set yet; false: there is none. */
extern bool tg_account_unset(const tg_account *account, tg_quota_key *key_out);

/* Sets a limit, effective at once.  No effect if there is no such account. */
extern void tg_quota_set(tg_quota_key key, int64_t limit);

typedef struct tg_quota_report
{
	tg_quota_key key;
	int64_t bytes;	  /* of the tables */
	int64_t limit;	  /* or TG_QUOTA_NONE */
	uint64_t refused; /* claims, since the account was made */
} tg_quota_report;

/* The figures of all accounts, as far as there is room for them; returns the number of accounts. */
extern unsigned tg_quota_reports(tg_quota_report *reports, unsigned count_max);

/* The figures of the account that leaves the table the least; false: no account has a limit. */
extern bool tg_book_report(const tg_book *book, tg_quota_report *report_out);

#endif /* TG_QUOTA_H */
