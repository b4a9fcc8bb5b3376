/*
 * shared_load.h
 *	  Loads into a shared transaction by its handle, several at once.
 *
 * The session takes no part in the shared transaction otherwise, and has not attached to it.
 */
#ifndef TSURUGI_SHARED_LOAD_H
#define TSURUGI_SHARED_LOAD_H

#include "postgres.h"

#include "utils/rel.h"

#include "runtime/base/names.h"
#include "runtime/base/status.h"

typedef struct tg_loan tg_loan; /* loan.h */

/*
 * The transaction loads into the shared one of this handle, until it ends.  42704, 55000, 0A000,
 * 25P02: it cannot, or not into this table.
 */
extern void tsurugi_shared_load_open(const text *handle, Relation relation);

/*
 * Lends the shared transaction to so many tasks.  Waits for the turn, beside other loads.  TG_BUSY:
 * *wait_out is in the way; TG_UNFIT, TG_NO_MEMORY.  Raises 25P02, 55P03, 40P01.
 */
extern tg_status tsurugi_shared_load_begin(tg_table *table, unsigned tasks, tg_loan **loan_out,
										   tg_wait *wait_out) TG_MUST_USE;

/*
 * No task uses a loan any more: its rows are undone, now; or kept, until the transaction ends, or
 * this part of it.
 */
extern void tsurugi_shared_load_undo(tg_loan *loan);
extern void tsurugi_shared_load_keep(tg_loan *loan);

/* Raises 25P02 if the shared transaction has ended, or is going to be aborted. */
extern void tsurugi_shared_load_check_alive(void);

/*
 * From now on, no other session works in the shared transaction.  Waits for those that do.  False:
 * none did before.
 */
extern bool tsurugi_shared_load_be_alone(void);

/* The load, which is alone, waits as tsurugi_wait, to insert: the shared transaction does. */
extern void tsurugi_shared_load_wait(const tg_wait *wait, Relation relation);

/* Whether it does now; and that transaction's number. */
extern bool tsurugi_shared_load_waits(void);
extern unsigned tsurugi_shared_load_number(void);

/* --- for participants.c ------------------------------------------------------------------ */

extern void tsurugi_shared_load_check_prepare(void);
extern void tsurugi_shared_load_validate(void);
extern void tsurugi_shared_load_end(bool committed);
extern void tsurugi_shared_load_end_part(SubTransactionId id, SubTransactionId parent, bool committed);
extern bool tsurugi_shared_load_is_open(void);

#endif /* TSURUGI_SHARED_LOAD_H */
