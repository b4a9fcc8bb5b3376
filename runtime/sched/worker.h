/*
 * worker.h
 *	  The pool's shared half and one worker of it; for the files of this room.
 */
#ifndef TG_WORKER_H
#define TG_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/sched/deque.h"
#include "runtime/sched/fork.h"
#include "runtime/sched/job.h"
#include "runtime/sched/park.h"
#include "runtime/sched/pending.h"
#include "runtime/sched/queue.h"
#include "runtime/sched/scheduler.h"

#define TG_TASK_NONE UINT64_MAX /* no value of tasks_run */

struct tg_worker
{
	/* first, where fork.h expects it; used by the worker only */
	tg_frame_lists frames TG_CACHE_ALIGNED;

	uint32_t park TG_CACHE_ALIGNED; /* park.h; written by the worker and by its wakers */
	/* set by the submitter, cleared by the worker: the inbox comes first once */
	bool has_urgent;

	tg_queue inbox TG_CACHE_ALIGNED; /* submitted tasks; any thread puts and takes */

	/* tasks that only this worker may run; any thread puts, the worker takes */
	tg_queue sticky TG_CACHE_ALIGNED;

	tg_deque deque; /* tasks that the worker's tasks submitted; for the worker and thieves */

	/* Written by the worker, read by all (relaxed). */
	/* tasks begun: a change tells that it has gone on to another one */
	uint64_t tasks_run TG_CACHE_ALIGNED;
	tg_job *job;	 /* of the present task, NULL if it has none */
	uint32_t state;	 /* tg_worker_state */
	uint32_t id;	 /* constant */
	uint32_t socket; /* of the CPU that it runs on; 0 if there is only one */
	/* the core that it is pinned to, -1 for none; constant while it runs */
	int32_t core;
	uint64_t sticky_run;
	uint64_t tasks_stolen;
	uint64_t steals;
	uint64_t steal_misses;
	uint64_t distributed;
	uint64_t suspensions;
	uint64_t wakeups;
	uint64_t yields;
	uint64_t parks;
	uint64_t overflows;

	/* Used by the worker only, except numbers in pending that all may read. */
	tg_session *session TG_CACHE_ALIGNED; /* constant while it runs */
	uint32_t fair_in;					  /* rounds until one begins with another source */
	uint32_t fair_turn;					  /* number of that round */
	bool in_place;						  /* constant: no thread, only its maker uses it */
	tg_pending pending;					  /* conditions of its tasks */
	/* permille collected towards a round that takes from the deque before the sticky queue */
	uint32_t local_share;
	uint32_t victim; /* the last one that had work */

	/* under the scheduler's latch: it has not noticed yet that it is awake */
	bool is_suspended TG_CACHE_ALIGNED;

	/* watcher writes, all read: the task, by tasks_run, that lasts since a tick */
	uint64_t task_long TG_CACHE_ALIGNED;
	uint64_t task_hung; /* likewise: the task that it has reported */
	uint64_t task_seen; /* watcher only */
	/* watcher writes, all read: since when, as tg_watcher_report_worker says */
	uint64_t task_seen_us;
};

#define TG_DISTRIBUTOR_NONE 0
#define TG_DISTRIBUTOR_OWN_THREAD UINT32_MAX

typedef struct tg_scheduler
{
	uint32_t phase;		   /* main thread writes, all read */
	uint32_t worker_count; /* likewise; set before the phase */
	uint32_t worker_max;   /* constant */
	uint32_t socket_count; /* constant while it runs, as the next one */
	uint32_t distribution; /* tg_distributor */
	bool stealing;		   /* these two: settings, for submitters of other processes */
	bool preferred_worker;

	uint32_t searching TG_CACHE_ALIGNED; /* workers that are awake without work */

	/* wake.c; written under the latch, read by all */
	uint32_t sleeping TG_CACHE_ALIGNED; /* workers that are suspended */
	uint32_t alarm;						/* a push onto a deque has to wake a worker */
	uint32_t distributor;				/* worker + 1, or one of the constants above */

	tg_latch latch TG_CACHE_ALIGNED; /* transitions of workers; submitters never take it */
	/* The distributor writes these three, all read: times that a party became the distributor, */
	uint64_t distributions;
	uint64_t distribution_naps; /* its naps, */
	uint64_t distributed;		/* and tasks it handed out */
	uint32_t thread_park;		/* park.h: the thread that only distributes */

	uint32_t watcher_park TG_CACHE_ALIGNED; /* park.h */
	/* watcher writes: it sleeps for longer than a few ticks */
	uint32_t watcher_is_deep;
	/* watcher writes, all read, as the next: see tg_watcher_report */
	uint64_t ticks;
	uint64_t hangs;

	tg_queue global TG_CACHE_ALIGNED;

	tg_worker workers[];
} tg_scheduler;

extern tg_scheduler *tg_scheduler_shared;	   /* set by tg_scheduler_create, inherited by fork */
extern tg_scheduler_settings tg_settings_live; /* this process's; relaxed loads */

/*
 * The thread's main function; argument: the worker, prepared by scheduler.c.  Returns once the
 * phase is ENDING.
 */
extern void *tg_worker_main(void *argument);

/*
 * Puts a task that was accepted before at the end of the global queue, or of its home's sticky
 * queue.  Any thread.
 */
extern void tg_worker_requeue(tg_scheduler *scheduler, tg_task *task);

/* --- for search.c and distribute.c; the worker's thread --------------------------- */

/* Puts the task onto the deque, or, if that is full, into the global queue; wakes no worker. */
extern void tg_worker_keep(tg_worker *worker, tg_task *task);

/* Keeps all tasks of a chain but the first, which it returns; they will be popped in order. */
extern tg_task *tg_worker_keep_rest(tg_worker *worker, tg_task *first);

/*
 * A task from any source but a deque: sticky queue, pending list, inbox, global queue.  NULL if
 * there is none.
 */
extern tg_task *tg_worker_take_queued(tg_worker *worker);

/* Waits for a task when the worker has none of its own left (search.c).  NULL: the pool ends. */
extern tg_task *tg_worker_search(tg_worker *worker);

/* --- the common path of a push ----------------------------------------------------- */

/* The rare paths; only tg_worker_push calls them. */
extern void tg_worker_push_home(tg_task *task);
extern void tg_worker_push_full(tg_worker *worker, tg_task *task);
extern void tg_worker_push_waking(const tg_worker *worker);

/* Puts a task on the worker's own deque, or where its home is.  The worker's thread. */
static inline void
tg_worker_push(tg_worker *worker, tg_task *task)
{
	if (tg_unlikely(task->home != 0))
	{
		tg_worker_push_home(task);
		return;
	}
	if (tg_unlikely(!tg_deque_push(&worker->deque, task)))
		tg_worker_push_full(worker, task);
	tg_fence_light(); /* pairs with the heavy fence of the thread that raises the alarm (wake.c) */
	if (tg_unlikely(tg_load_relaxed(&tg_scheduler_shared->alarm) != 0))
		tg_worker_push_waking(worker);
}

/* Whether there may be work that comes before the deque.  The worker's thread. */
static inline bool
tg_worker_has_special(const tg_worker *worker)
{
	return (tg_queue_count(&worker->sticky) | tg_load_relaxed(&worker->has_urgent)) != 0 ||
		   !tg_pending_is_empty(&worker->pending);
}

/* --- in place ------------------------------------------------------------------------ */

/*
 * Makes a worker without a thread.  Its maker runs its tasks, with the session of its maker, and no
 * other thread knows it.  Tasks that its tasks push stay with it; tasks that its deque refuses go
 * to its inbox.  The memory is the caller's, aligned to TG_CACHE_LINE.  TG_NO_MEMORY.
 */
extern tg_status tg_worker_init_in_place(tg_worker *worker, tg_session *session) TG_MUST_USE;

/* Takes the next task of such a worker from its deque or its inbox; NULL if there is none. */
extern tg_task *tg_worker_take_in_place(tg_worker *worker);

/* The worker must have no tasks left. */
extern void tg_worker_end_in_place(tg_worker *worker);

/* Whether its present task has run for at least one tick.  Any thread. */
static inline bool
tg_worker_is_long(const tg_worker *worker)
{
	uint64_t task = tg_load_relaxed(&worker->task_long);

	return task != TG_TASK_NONE &&
		   /* the second line is the worker's busiest */
		   task == tg_load_relaxed(&worker->tasks_run);
}

/*
 * The worker that a submission from outside would go to now (submit.c); 0 if the pool does not run.
 */
extern uint32_t tg_worker_choose(const tg_session *session);

/* Tasks that wait for it.  Any thread. */
static inline unsigned
tg_worker_queued(const tg_worker *worker)
{
	return tg_queue_count(&worker->inbox) + tg_deque_size(&worker->deque);
}

/* The worker whose sticky queue the task goes to.  Any thread. */
static inline tg_worker *
tg_worker_home(tg_scheduler *scheduler, const tg_task *task)
{
	uint32_t count = tg_load_relaxed(&scheduler->worker_count);
	uint32_t number = task->home - UINT32_C(1);

	/* this pool may be smaller than its last */
	return &scheduler->workers[count > 0 ? number % count : number];
}

#endif /* TG_WORKER_H */
