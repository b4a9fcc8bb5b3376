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
 * another TG_QUOTA_GRANT.
 */
#ifndef TG_QUOTA_H
#define TG_QUOTA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"

#define TG_QUOTA_NONE INT64_MAX
#define TG_QUOTA_GRANT ((int64_t) 256 * 1024) /* granted to a table in advance, if there is room */

typedef struct tg_account tg_account; /* opaque */

typedef struct tg_book
{
	int64_t bytes;		 /* atomic: in use; any session adds */
	int64_t granted;	 /* atomic: it may grow up to this unasked; written under the latch */
	int64_t counted;	 /* under the latch, as the rest: its part of the accounts' sums */
	tg_account *account; /* NULL: none */
	struct tg_book *next;
	struct tg_book *previous;
} tg_book;

extern tg_status tg_quota_create(void) TG_MUST_USE;

/* --- books ------------------------------------------------------------------ */

/* A book that is on no account is unbounded. */
static inline void
tg_book_init(tg_book *book)
{
	*book = (tg_book){.granted = TG_QUOTA_NONE};
}

/*
 * Puts it on an account, with its bytes, and takes the caller's reference over.  Returns the
 * account that it was on, or NULL, with the reference that the book had.
 */
extern tg_account *tg_book_move(tg_book *book, tg_account *account);

/* The account that it is on, or NULL.  The table must not be moved meanwhile. */
extern tg_account *tg_book_account(const tg_book *book);

/* Takes it off its account: the table's memory is gone. */
extern void tg_book_close(tg_session *session, tg_book *book);

static inline void
tg_book_add(tg_book *book, int64_t bytes)
{
	tg_fetch_add_relaxed(&book->bytes, bytes);
}

/* The slow half of tg_book_ask: asks the accounts. */
extern tg_status tg_book_ask_accounts(tg_book *book, size_t bytes) TG_MUST_USE;

/*
 * Whether the table may take so many bytes more: TG_OK or TG_OVER_QUOTA.  Any session, also under a
 * table's latch.
 */
static inline TG_MUST_USE tg_status
tg_book_ask(tg_book *book, size_t bytes, tg_claim claim)
{
	if ((claim != TG_DATA && claim != TG_BULK) ||
		tg_likely(tg_load_relaxed(&book->bytes) <= tg_load_relaxed(&book->granted) - (int64_t) bytes))
		return TG_OK;
	return tg_book_ask_accounts(book, bytes);
}

/* --- accounts ---------------------------------------------------------------- */

/* The account of an owner in a database, made if there is none; one reference.  TG_NO_MEMORY. */
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
