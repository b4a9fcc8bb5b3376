/*
 * watcher.h
 *	  The watcher thread; for the files of this room.
 */
#ifndef TG_WATCHER_H
#define TG_WATCHER_H

#include "runtime/base/atomic.h"
#include "runtime/sched/scheduler.h"
#include "runtime/sched/worker.h"

#define TG_WATCHER_CHECK_MAX 16

/* Makes the shared parts of watcher, conditions and timers in the arena.  TG_NO_MEMORY. */
extern tg_status tg_watcher_create(tg_session *session) TG_MUST_USE;

/* The thread's main function; argument: its session.  Returns after tg_watcher_end. */
extern void *tg_watcher_main(void *argument);

/* Called before the thread is created, and to let it return. */
extern void tg_watcher_prepare(void);
extern void tg_watcher_end(void);

/*
 * Submits a task that was accepted when it began to wait: urgently, or, if the pool takes nothing
 * new, like a worker's own task.
 */
extern void tg_watcher_submit(tg_session *session, tg_task *task);

/* The flag of a job has been set: the next look submits its conditions and timers.  Any process. */
extern void tg_watcher_job_cancelled(void);

/*
 * The watcher's part of the reports: ticks, hangs, conditions, timers; and the task at hand of a
 * worker whose state is set.
 */
extern void tg_watcher_report(tg_scheduler_report *report);
extern void tg_watcher_report_worker(const tg_worker *worker, tg_worker_report *report);

/*
 * Called by a worker that has found work and stored its state: a watcher in a deep sleep must tick
 * again.  The watcher announces its deep sleep, fences, and looks at the states (Dekker).
 */
static inline void
tg_watcher_rouse(tg_scheduler *scheduler)
{
	tg_fence_seq_cst();
	if (tg_unlikely(tg_load_relaxed(&scheduler->watcher_is_deep) != 0))
		tg_watcher_poke();
}

#endif /* TG_WATCHER_H */
