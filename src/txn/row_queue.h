/*
 * row_queue.h
 *	  The order in which transactions that wait for a row get it.
 */
#ifndef TSURUGI_ROW_QUEUE_H
#define TSURUGI_ROW_QUEUE_H

#include "utils/rel.h"

#include "runtime/base/check.h"
#include "runtime/base/names.h"
#include "runtime/txn/wait.h"

/* Whether the backend has a place in the queue of a row. */
extern bool tsurugi_is_queued;

/* Takes a place in the queue of the row that the wait is for, and waits until it is the first. */
extern void tsurugi_queue_enter(Relation relation, const tg_wait *wait, tg_lock_mode mode);

extern void tsurugi_queue_give_up_place(void);

/*
 * Called by every caller of tsurugi_wait, once the row is written or locked, or not wanted any
 * more: lets the next of the queue try.  If the call had nothing to wait for, it does nothing.
 */
static inline void
tsurugi_queue_leave(void)
{
	if (tg_unlikely(tsurugi_is_queued))
		tsurugi_queue_give_up_place();
}

/* The transaction, or this subtransaction, has ended: PostgreSQL releases its locks. */
extern void tsurugi_queue_end(void);
extern void tsurugi_queue_end_part(SubTransactionId id);

#endif /* TSURUGI_ROW_QUEUE_H */
