/*
 * transaction.h
 *	  PostgreSQL's transactions mapped to the engine's, and waits for others.
 *
 * A transaction of the engine begins at the first write and ends in PostgreSQL's own commit or
 * abort, without a call.  Each subtransaction that writes is a separate part that can be rolled
 * back alone.
 */
#ifndef TSURUGI_TRANSACTION_H
#define TSURUGI_TRANSACTION_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "runtime/base/names.h"
#include "runtime/base/status.h"

struct tg_target;				  /* conflict.h */
typedef struct tg_reads tg_reads; /* shared.h */

/*
 * The session owes a part of its time to the collection of garbage: it pays before the next
 * statement, or before it waits.  The caller holds no latch and no epoch.
 */
extern bool tsurugi_owes;
extern void tsurugi_pay(void);

/*
 * A statement is about to add values.  While memory is short, values that no key contains any more
 * are swept out of the dictionaries first, unless the transaction holds ranks.  Outside an epoch.
 */
extern void tsurugi_transaction_before_values(void);

/*
 * The engine's transaction as a writer (writer.h) for tasks that insert into the table
 * (txn/piece.h).  False: the session has to insert the rows itself.
 */
extern bool tsurugi_lend(struct EState *estate, tg_table *table, tg_writer *writer_out);

/*
 * A write of the relation was refused: raises the error, but for lack of memory only after a
 * collection that has made no room.  If it returns, the caller repeats the write.  Outside an
 * epoch.
 */
extern void tsurugi_refused(tg_status status, Relation relation);

/*
 * A definition is about to claim memory for a whole table or index, and is not repeated if that is
 * refused.  While memory is short, what can be collected is collected first.  Outside an epoch.
 */
extern void tsurugi_transaction_before_storing(void);

/* Whether the transaction has written anything, even if that was rolled back. */
extern bool tsurugi_has_written(void);

/* As tg_txn_targets: TG_TXN_TABLES_MAX of them at most. */
extern bool tsurugi_transaction_targets(struct tg_target *targets_out, unsigned *count_out);

/* How many locks of rows it holds. */
extern uint32_t tsurugi_transaction_lock_count(void);

/* The purpose of a wait: words for the error's context. */
typedef enum tsurugi_purpose
{
	TSURUGI_TO_INSERT,
	TSURUGI_TO_UPDATE,
	TSURUGI_TO_DELETE,
	TSURUGI_TO_LOCK
} tsurugi_purpose;

/*
 * Waits until the holder that a TG_BUSY named has ended, or has taken back the part it holds; then
 * the caller repeats its call.  Outside an epoch.  The wait is PostgreSQL's own lock wait: cancel,
 * lock_timeout and deadlock detection raise their errors out of it; the last two report the
 * transaction that it waited for.  row: the row that was to be written or locked; TG_ROW_MAX: there
 * is none yet.  When the row is done with, the caller leaves the row's queue (row_queue.h).
 */
extern void tsurugi_wait(const tg_wait *wait, Relation relation, tsurugi_purpose purpose, uint32_t row);

/*
 * Waits in the same way until the transaction that a reader's TG_BUSY named has ended; then the
 * reader continues.
 */
extern void tsurugi_wait_for_outcome(const tg_wait *wait);

/*
 * For kinds.c: the engine's transaction, begun if necessary; and its end if its beginning has
 * failed.
 */
extern tg_txn *tsurugi_transaction_open(void);
extern void tsurugi_transaction_give_up(void);

/*
 * For shared_transaction.c: the transaction works in this one, as other sessions do, and does not
 * end it.
 */
extern void tsurugi_transaction_join(tg_txn *txn, uint64_t host);

/* The number by which own changes are recognized. */
extern unsigned tsurugi_transaction_number(void);

/* The number of the transaction whose waits the session's are (shared_load.h). */
extern unsigned tsurugi_transaction_waiting_number(void);

/*
 * The number of a table's rows, for estimates: the committed ones, with the changes of the own
 * transaction.
 */
extern int64 tsurugi_row_count(const tg_table *table);

/* For errors.c: why the engine refused the last request (TG_CONFLICT). */
extern const tg_conflict *tsurugi_transaction_conflict(void);

/* For isolation.c: the engine's transaction, if there is one, validates these. */
extern void tsurugi_track_transaction(tg_reads *reads);

/* Whether the transaction has been validated; the second raises 25000 if so. */
extern bool tsurugi_is_prepared(void);
extern void tsurugi_check_not_prepared(void);

/* --- for participants.c --------------------------------------------------------------- */

/*
 * PREPARE TRANSACTION: raises 0A000 if the transaction cannot be prepared (prepared.h); when
 * PostgreSQL has prepared it.
 */
extern void tsurugi_transaction_check_prepare(void);
extern void tsurugi_transaction_prepared(void);

/* Draws C and validates, as far as this must be done before PostgreSQL commits. */
extern void tsurugi_transaction_validate(void);

/* Whether the engine's transaction has begun and not ended. */
extern bool tsurugi_transaction_is_open(void);

/* The transaction that the end of PostgreSQL's commits, or NULL; shared ones apart. */
extern tg_txn *tsurugi_transaction_to_commit(void);
extern void tsurugi_transaction_end(bool committed);
extern void tsurugi_transaction_end_part(SubTransactionId id, SubTransactionId parent, bool committed);

/* The last step of the end: the session is away until the next transaction. */
extern void tsurugi_transaction_leave_session(bool committed);

#endif /* TSURUGI_TRANSACTION_H */
