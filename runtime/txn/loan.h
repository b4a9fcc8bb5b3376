/*
 * loan.h
 *	  Shared transactions that several sessions lend to tasks at once.
 *
 * A session lends the transaction to the tasks of a load.  Each of them inserts into a piece of its
 * own (piece.h); other sessions do the same meanwhile, and none of them does anything else in the
 * transaction.  When its tasks have ended, the session takes what they have written into the
 * transaction, or undoes it, and that alone.  See loan.c.
 */
#ifndef TG_LOAN_H
#define TG_LOAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/txn/piece.h"

typedef struct tg_shared tg_shared; /* shared.h */

typedef struct tg_loan tg_loan; /* opaque: loan.c */

/*
 * Lends it, for so many tasks, which insert into this table.  By a session that holds it
 * (tg_shared_hold) until the loan has ended; as long, the host keeps sessions away that work in the
 * transaction otherwise.  within: a write of the session's, if that is the only one that works in
 * the transaction: the rows are of its command and subtransaction; NULL: several may lend.
 * TG_BUSY: not before *wait_out has ended; TG_UNFIT: it cannot be lent, as it is of another kind
 * than ordinary, or each row has to be asked about (W0); TG_STOPPED, TG_FORBIDDEN, TG_NO_MEMORY.
 */
extern tg_status tg_loan_begin(tg_session *session, tg_shared *shared, tg_table *table, const tg_writer *within,
							   unsigned piece_count, tg_loan **loan_out, tg_wait *wait_out) TG_MUST_USE;

/* A task's writer: it sets its own session and claim, and piece. */
extern void tg_loan_writer(const tg_loan *loan, tg_writer *writer_out);
extern tg_piece *tg_loan_piece(tg_loan *loan, unsigned number);

/*
 * A task writes between these, for a bounded time, in which it does not wait.  False: the loan is
 * over, and it must not write.  The third one is for a task that writes: it is to leave soon.
 */
extern bool tg_loan_enter(tg_loan *loan);
extern void tg_loan_leave(tg_loan *loan);
extern bool tg_loan_is_over(const tg_loan *loan);

/* The number of rows that the tasks have inserted; when they have ended. */
extern uint64_t tg_loan_rows(const tg_loan *loan);

/*
 * Ends it, when no task uses it any more: what has been written becomes the transaction's, or is
 * undone.  By the session that has begun it.  False: the transaction has ended, with all of it.
 */
extern bool tg_loan_end(tg_session *session, tg_loan *loan, bool keeps);

/* For shared.c: before the transaction is aborted, in its lane. */
extern void tg_loans_call_in(tg_session *session, tg_txn *txn);

#endif /* TG_LOAN_H */
