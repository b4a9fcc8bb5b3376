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
#include "runtime/mem/session.h"
#include "runtime/sched/deque.h"
#include "runtime/sched/job.h"
#include "runtime/sched/queue.h"
#include "runtime/sched/scheduler.h"

#define TG_TASK_NONE UINT64_MAX /* no value of tasks_run */

struct tg_worker
{
	uint32_t park TG_CACHE_ALIGNED; /* park.h; the worker and who wakes it */

	tg_queue inbox TG_CACHE_ALIGNED; /* what others submitted; anybody */

	tg_deque deque; /* what the worker's tasks submitted; the worker and thieves */

	/* Written by the worker, read by all (relaxed). */
	uint64_t tasks_run TG_CACHE_ALIGNED; /* tasks begun: also says that it has gone on to another one */
	tg_job *job;						 /* of the task at hand, NULL if it has none */
	uint32_t state;						 /* tg_worker_state */
	uint32_t id;						 /* constant */
	uint64_t tasks_stolen;
	uint64_t steals;
	uint64_t suspensions;
	uint64_t wakeups;

	/* The worker's alone. */
	tg_session *session TG_CACHE_ALIGNED; /* constant while it runs */
	uint32_t rounds;
	uint32_t victim; /* the last one that had work */

	uint64_t task_long TG_CACHE_ALIGNED; /* watcher writes, all read: the task, by tasks_run, that lasts since a tick */
	uint64_t task_seen;					 /* watcher only, as are those below */
	uint64_t task_seen_us;
	bool task_is_reported;
};

/* Life of the pool; written by the main thread of its process. */
typedef enum tg_phase
{
	TG_PHASE_STOPPED,
	TG_PHASE_RUNNING,
	TG_PHASE_DRAINING, /* takes nothing new; jobs are cancelled and run out */
	TG_PHASE_ENDING	   /* workers end as soon as they find nothing */
} tg_phase;

typedef struct tg_scheduler
{
	uint32_t phase;		   /* main thread writes, all read */
	uint32_t worker_count; /* likewise; set before the phase */
	uint32_t worker_max;   /* constant */
	bool stealing;		   /* the setting, for submitters of other processes */

	uint32_t searching TG_CACHE_ALIGNED; /* workers awake without work, and those just being woken */
	uint32_t sleeping;					 /* at least the number of PARKED workers */

	uint32_t watcher_park TG_CACHE_ALIGNED; /* park.h */
	uint32_t watcher_is_deep;				/* watcher writes: it sleeps for longer than a few ticks */

	tg_queue global TG_CACHE_ALIGNED;

	tg_worker workers[];
} tg_scheduler;

extern tg_scheduler *tg_scheduler_shared;	   /* set by tg_scheduler_create, inherited by fork */
extern tg_scheduler_settings tg_settings_live; /* this process's; relaxed loads */

/* The thread's main function; argument: the worker, prepared by scheduler.c.  Returns once the phase is ENDING. */
extern void *tg_worker_main(void *argument);

/* Something was put into the global queue, or the inbox of worker first: wakes one sleeper if nobody searches. */
extern void tg_worker_notify(tg_scheduler *scheduler, unsigned first);

/* Wakes this worker if it sleeps, whoever searches. */
extern void tg_worker_wake(tg_scheduler *scheduler, tg_worker *worker);

/* Puts a task that has been accepted before last in the global queue.  Any thread. */
extern void tg_worker_requeue(tg_scheduler *scheduler, tg_task *task);

/* Puts a task on the worker's own deque.  The worker's thread. */
extern void tg_worker_push(tg_worker *worker, tg_task *task);

/* Its present task lasts since at least one tick.  Any thread. */
static inline bool
tg_worker_is_long(const tg_worker *worker)
{
	return tg_load_relaxed(&worker->task_long) == tg_load_relaxed(&worker->tasks_run);
}

/* Tasks that wait for it.  Any thread. */
static inline unsigned
tg_worker_queued(const tg_worker *worker)
{
	return tg_queue_count(&worker->inbox) + tg_deque_size(&worker->deque);
}

#endif /* TG_WORKER_H */
