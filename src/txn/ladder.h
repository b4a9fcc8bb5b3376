/*
 * ladder.h
 *	  Serializable transactions that failed with 40001 and are tried again.
 *
 * A session that fails with 40001 at SERIALIZABLE usually tries the same work again.  The next try
 * is helped, so that it gets through even if others go on changing the rows that it reads: ladder.c
 * says how.
 */
#ifndef TSURUGI_LADDER_H
#define TSURUGI_LADDER_H

#include "utils/rel.h"

#include "runtime/base/names.h"
#include "runtime/txn/wait.h"

/* --- rows that are locked when they are read ---------------------------------------------- */

#define TSURUGI_LADDER_ROWS_MAX 16 /* that a session remembers */

/* The session remembers some rows.  Only ladder.c writes it. */
extern bool tsurugi_ladder_has_rows;

/* For reads: whether the running transaction is to lock remembered rows of the relation. */
extern bool tsurugi_ladder_locks_rows_of(Oid relation);

/* Whether the running transaction has locked a remembered row of the relation. */
extern bool tsurugi_ladder_has_locked(Oid relation);

/* For reads: whether the row, which they lock if they can, is remembered, and how. */
extern bool tsurugi_ladder_remembers(Oid relation, uint32_t row, tg_lock_mode *mode_out);

/* The remembered rows of the relation that the transaction has not locked; returns their number. */
extern int tsurugi_ladder_rows_of(Oid relation, uint32_t rows_out[TSURUGI_LADDER_ROWS_MAX]);

/*
 * The row was locked; contended: the look-up had to wait for it, or it was changed since the
 * snapshot.  locks_before: tg_txn_lock_count before the call.
 */
extern void tsurugi_ladder_note_locked(Oid relation, tg_table *table, uint32_t row, bool contended,
									   uint32_t locks_before);

/*
 * Whether the transaction may wait for such a lock: it has nothing that another transaction may
 * wait for.
 */
extern bool tsurugi_ladder_may_wait(void);

/*
 * Whether it holds such locks.  Then it waits for rows by tsurugi_ladder_wait, inside
 * tg_wait_begin, which raises 40001 if the transaction would wait in a cycle.
 */
extern bool tsurugi_ladder_holds_locks(void);
extern bool tsurugi_ladder_holds_no_others(void);
extern void tsurugi_ladder_wait(const tg_wait *wait, void (*wait_out)(const tg_wait *));

/* --- tries -------------------------------------------------------------------------------- */

/* Whether the running transaction is one that counts as a try, if it accesses tables of ours. */
extern bool tsurugi_ladder_is_try(void);

/*
 * The transaction is about to fail with 40001 because of a row that another transaction has
 * changed.  wanted: a table that a LONG in its place has to preserve, besides those that it has
 * written; or invalid.  Returns the hint for the error.
 */
typedef struct tsurugi_beaten_by
{
	Oid relation; /* invalid: there is no such row */
	uint32_t row;
	tg_lock_mode mode; /* of the lock that keeps it as this transaction needs it */
} tsurugi_beaten_by;

#define TSURUGI_NO_ROW ((tsurugi_beaten_by){.relation = InvalidOid})

extern const char *tsurugi_ladder_note_failure(tsurugi_beaten_by by, Oid wanted);

/*
 * The same for an area that was to be read or written and that a LONG preserves; host is the host's
 * word for that LONG.
 */
extern const char *tsurugi_ladder_note_long(uint64_t host);

/*
 * Called at the first access of a transaction: waits for the LONG because of which the last try has
 * failed.
 */
extern void tsurugi_ladder_wait_for_long(void);

/* The transaction goes on: an earlier failure was caught. */
extern void tsurugi_ladder_go_on(void);

/* The session is given to another client. */
extern void tsurugi_ladder_forget(void);

/* For participants.c: before the store's transaction ends, and after the end of a part of it. */
extern void tsurugi_ladder_end(bool committed);
extern void tsurugi_ladder_end_part(SubTransactionId id, SubTransactionId parent, bool committed);

#endif /* TSURUGI_LADDER_H */
