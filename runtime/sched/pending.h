/*
 * pending.h
 *	  A worker's pending list: conditions that its tasks have submitted.
 *
 * The worker itself checks them for a while: the event that a task waits for is often about to
 * happen, and the way by the watcher costs a wake-up.  Only the worker uses the list.
 */
#ifndef TG_PENDING_H
#define TG_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/sched/condition_internal.h"

typedef struct tg_pending
{
	tg_condition *first; /* the worker's, as last; no meaning while count is 0 */
	tg_condition *last;
	uint32_t count; /* written by the worker, read by all, as the next ones */
	uint64_t run;	/* bodies that it has handed out */
	tg_check_meter meter;
} tg_pending;

static inline bool
tg_pending_is_empty(const tg_pending *pending)
{
	return tg_load_relaxed(&pending->count) == 0;
}

/* All three functions: the worker's thread only. */

extern void tg_pending_add(tg_worker *worker, tg_condition *condition);

/*
 * One round.  Returns a body that is to run now, NULL if there is none.  A condition that has
 * missed often enough goes to the watcher.
 */
extern tg_task *tg_pending_scan(tg_worker *worker);

/*
 * Gives all of them to the watcher: before the worker suspends itself or ends, and when its present
 * task lasts.
 */
extern void tg_pending_flush(tg_worker *worker);

#endif /* TG_PENDING_H */
