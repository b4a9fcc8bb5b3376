/*
 * scheduler.h
 *	  The pool: worker threads that run tasks, a watcher, and how others submit.
 *
 * The shared half (inboxes, park words, statistics) lies in the arena and is
 * used by backends; the threads live in one process, which starts and stops
 * them.  A task runs on one worker to its end and never blocks.
 */
#ifndef TG_SCHEDULER_H
#define TG_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"

typedef struct tg_worker tg_worker; /* one thread of the pool; opaque */
typedef struct tg_job tg_job;		/* job.h */
typedef struct tg_task tg_task;

/* What a task's run function says when it returns. */
typedef enum tg_turn
{
	TG_TURN_DONE,  /* finished: the task may be freed by its owner or by the job's teardown */
	TG_TURN_AGAIN, /* more to do: back through the global queue, so that others come first */
	TG_TURN_PARK   /* waits for tg_task_unpark; an unpark that came while it ran re-submits it at once */
} tg_turn;

/* Embedded in whatever the task works on; lies in the arena.  Fields are the scheduler's. */
struct tg_task
{
	tg_turn (*run)(tg_task *task, tg_worker *worker);
	tg_job *job;	/* may be NULL: a task of nobody (lane turns, collection) */
	tg_task *next;	/* link in an inbox or the global queue */
	uint32_t state; /* running, parked, notified: see park.c */
};

/* Called before first use, and never while the task is queued, running or parked. */
extern void tg_task_init(tg_task *task, tg_turn (*run)(tg_task *, tg_worker *), tg_job *job);

/*
 * Submits.  From a worker: onto its own deque.  From any other thread of any
 * process: into the inbox of the session's preferred worker; wakes one if
 * nobody searches.  TG_STOPPED if the pool does not run (the task is still the
 * caller's).  worker is NULL outside the pool.
 */
extern tg_status tg_task_submit(tg_session *session, tg_worker *worker, tg_task *task) TG_MUST_USE;

/* Makes a parked task run again, exactly once per park.  Any thread, any process. */
extern void tg_task_unpark(tg_session *session, tg_task *task);

/* A worker's session: for allocation and epochs while a task runs. */
extern tg_session *tg_worker_session(tg_worker *worker);

/* True once the current task has run for longer than a tick and others wait: a polite task ends its turn. */
extern bool tg_should_yield(tg_worker *worker);

/* --- life ------------------------------------------------------------------ */

typedef struct tg_scheduler_config
{
	unsigned worker_max; /* most workers there can be (sizes the shared half) */
} tg_scheduler_config;

/* Makes the shared half, empty and stopped.  At server start, after the arena. */
extern tg_status tg_scheduler_create(const tg_scheduler_config *config) TG_MUST_USE;

/* Settings that may change at run time; read by workers with relaxed loads. */
typedef struct tg_scheduler_settings
{
	unsigned workers; /* threads to start with; fixed while running */
	bool stealing;
	bool busy_worker;			  /* never suspend */
	unsigned worker_suspend_ms;	  /* longest suspension */
	unsigned watcher_interval_us; /* tick of the watcher */
	unsigned hang_ms;			  /* a task that runs for longer is reported */
} tg_scheduler_settings;

extern void tg_scheduler_settings_set(const tg_scheduler_settings *settings);

/* Starts the threads in this process (all signals blocked in them).  TG_FULL if no thread or session can be had. */
extern tg_status tg_scheduler_start(void) TG_MUST_USE;

/*
 * Stops: no new submission, jobs are cancelled, tasks run out or are given up
 * after limit_ms, threads are joined.  Returns false if a thread could not be
 * joined in time (the process must then end hard).
 */
extern bool tg_scheduler_stop(unsigned limit_ms);

extern bool tg_scheduler_is_running(void);

/* Called by the watcher thread at most every interval_us: a check, short, no waiting; it may submit tasks. */
extern void tg_watcher_add(void (*check)(tg_session *session), unsigned interval_us);

/* Runs the watcher's checks soon.  Any process. */
extern void tg_watcher_poke(void);

/* --- the host's side --------------------------------------------------------- */

/*
 * Wakes a sleeping participant of the host (a backend's latch).  Set once at
 * load in every process; must be callable from any thread, must not fail.
 */
extern void (*tg_host_wake)(void *waiter);

/* Takes the oldest message for the host's log (hang reports …).  The worker process's main thread. */
extern bool tg_host_message_next(char *text, unsigned text_bytes);

/* --- statistics --------------------------------------------------------------- */

typedef enum tg_worker_state
{
	TG_WORKER_STOPPED,
	TG_WORKER_RUNNING,
	TG_WORKER_SEARCHING,
	TG_WORKER_SUSPENDED
} tg_worker_state;

typedef struct tg_worker_report
{
	tg_worker_state state;
	uint64_t tasks_run;
	uint64_t tasks_stolen;
	uint64_t steals;
	uint64_t suspensions;
	uint64_t wakeups;
	uint64_t queued; /* deque and inbox, as seen from outside */
} tg_worker_report;

extern unsigned tg_worker_count(void);
extern void tg_worker_report_get(unsigned worker, tg_worker_report *report);

#endif /* TG_SCHEDULER_H */
