/*
 * wake.h
 *	  Sleeping and waking workers; for the files of this room.
 */
#ifndef TG_WAKE_H
#define TG_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/sched/park.h"
#include "runtime/sched/worker.h"

/*
 * A task was put into the global queue, or the inbox of worker first: wakes one worker if none
 * searches.
 */
extern void tg_worker_notify(tg_scheduler *scheduler, unsigned first);

/* Wakes this worker if it sleeps, even if other workers search.  False: it was awake. */
extern bool tg_worker_wake(tg_scheduler *scheduler, tg_worker *worker);

/* Completes a push onto a deque that has found the alarm set. */
extern void tg_wake_for_push(tg_scheduler *scheduler, const tg_worker *worker);

/* --- a worker's transitions; its own thread ------------------------------------------ */

extern void tg_search_enter(tg_scheduler *scheduler);

/*
 * Leaves the search with a task.  If this was the last searching worker and there is more work,
 * wakes another.
 */
extern void tg_search_leave(tg_scheduler *scheduler, const tg_worker *worker);

/* Leaves the search for good.  False if there is work again: then the worker is still searching. */
extern bool tg_search_end(tg_scheduler *scheduler, const tg_worker *worker);

/*
 * Sleeps until woken, or until timeout_us have passed; searching before and after.  True if another
 * thread woke it, or there was work.
 */
extern bool tg_worker_suspend(tg_scheduler *scheduler, tg_worker *worker, uint64_t timeout_us);

/*
 * Wakes a worker for the distributor: it counts as awake before it has noticed.  False: it was
 * awake.
 */
extern bool tg_worker_activate(tg_scheduler *scheduler, tg_worker *worker);

/* --- the distributor (distribute.c): at most one ----------------------------------------- */

/*
 * Whether a distributor is of use: another worker is awake, and, for the thread, a worker sleeps.
 */
extern bool tg_distributor_is_useful(const tg_scheduler *scheduler);

/* Makes the caller the distributor.  False if there is one, or none is of use. */
extern bool tg_distributor_take(tg_scheduler *scheduler, uint32_t who);

/* Ends the office.  The former distributor looks at everything before it sleeps. */
extern void tg_distributor_leave(tg_scheduler *scheduler, uint32_t who);

/* --- finding work ------------------------------------------------------------------ */

/* Whether there is work that a searching worker could take. */
extern bool tg_has_work(const tg_scheduler *scheduler);

static inline bool
tg_is_stealing(const tg_scheduler *scheduler)
{
	return tg_load_relaxed(&scheduler->stealing);
}

static inline bool
tg_is_ending(const tg_scheduler *scheduler)
{
	return tg_load_acquire(&scheduler->phase) == TG_PHASE_ENDING;
}

#endif /* TG_WAKE_H */
