/*
 * wake.h
 *	  Who sleeps, and who is woken when; for the files of this room.
 */
#ifndef TG_WAKE_H
#define TG_WAKE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/sched/park.h"
#include "runtime/sched/worker.h"

/* Something was put into the global queue, or the inbox of worker first: wakes one sleeper if nobody searches. */
extern void tg_worker_notify(tg_scheduler *scheduler, unsigned first);

/* Wakes this worker if it sleeps, whoever searches.  False: it was awake. */
extern bool tg_worker_wake(tg_scheduler *scheduler, tg_worker *worker);

/* The rest of a push onto a deque that has found the alarm set. */
extern void tg_wake_for_push(tg_scheduler *scheduler, const tg_worker *worker);

/* --- a worker's transitions; its own thread ------------------------------------------ */

extern void tg_search_enter(tg_scheduler *scheduler);

/* Leaves the search with a task: if it was the last one, and there is more, it wakes another. */
extern void tg_search_leave(tg_scheduler *scheduler, const tg_worker *worker);

/* Leaves the search for good.  False if there is work again: then it is still searching. */
extern bool tg_search_end(tg_scheduler *scheduler, const tg_worker *worker);

/*
 * Sleeps until woken, or timeout_us are over; searching before and after.
 * True if somebody woke it, or there was work.
 */
extern bool tg_worker_suspend(tg_scheduler *scheduler, tg_worker *worker, uint64_t timeout_us);

/* The distributor's way to wake: the sleeper counts as awake before it has noticed.  False: it was. */
extern bool tg_worker_activate(tg_scheduler *scheduler, tg_worker *worker);

/* --- the distributor (distribute.c): at most one ----------------------------------------- */

/* Whether one is of use: another worker is awake; for the thread, and a worker sleeps. */
extern bool tg_distributor_is_useful(const tg_scheduler *scheduler);

/* Makes it the distributor.  False if there is one, or none is of use. */
extern bool tg_distributor_take(tg_scheduler *scheduler, uint32_t who);

/* Ends that.  Whoever did it looks at everything before he sleeps. */
extern void tg_distributor_leave(tg_scheduler *scheduler, uint32_t who);

/* --- what there is to do ------------------------------------------------------------------ */

/* There is something that a searching worker could take. */
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
