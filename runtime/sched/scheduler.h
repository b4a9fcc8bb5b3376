/*
 * scheduler.h
 *	  The pool: worker threads that run tasks, a watcher, and the submission of tasks.
 *
 * The shared half (inboxes, park words, statistics) lies in the arena and is
 * used by backends; the threads live in one process, which starts and stops
 * them.  A task runs on one worker to its end and never blocks.
 */
#ifndef TG_SCHEDULER_H
#define TG_SCHEDULER_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

typedef struct tg_worker tg_worker; /* one thread of the pool; opaque */
typedef struct tg_job tg_job;		/* job.h */
typedef struct tg_task tg_task;

/* The result of a task's run function. */
typedef enum tg_turn
{
	TG_TURN_DONE,  /* finished: the task may be freed by its owner or by the job's teardown */
	TG_TURN_AGAIN, /* more to do: back through the global queue, so that others come first */
	/* waits for tg_task_unpark; an unpark that came while it ran re-submits it at once */
	TG_TURN_PARK,
	/* fork.c's frames only: the task may be freed already; the worker that ends it tells its job */
	TG_TURN_PASSED
} tg_turn;

/*
 * Embedded in the structure that the task works on; lies in the arena.  The scheduler alone uses
 * the fields.
 */
struct tg_task
{
	tg_turn (*run)(tg_task *task, tg_worker *worker);
	tg_job *job;	/* NULL: the task belongs to no job (lane turns, collection) */
	tg_task *next;	/* link in an inbox or the global queue */
	uint32_t state; /* running, parked, notified: see park.c */
	uint16_t home;	/* sticky tasks: their worker + 1; else 0 */
	uint16_t flags; /* worker.h */
};

/* Called before first use, and never while the task is queued, running or parked. */
extern void tg_task_init(tg_task *task, tg_turn (*run)(tg_task *, tg_worker *), tg_job *job);

/*
 * Submits a task.  A worker puts it onto its own deque; worker is NULL outside the pool.  Any other
 * thread, of any process, puts it into the inbox of the session's preferred worker, and wakes a
 * worker if no worker is searching.  TG_STOPPED if the pool does not run: the task is still the
 * caller's.
 */
extern tg_status tg_task_submit(tg_session *session, tg_worker *worker, tg_task *task) TG_MUST_USE;

/* Makes a parked task run again, exactly once per park.  Any thread, any process. */
extern void tg_task_unpark(tg_session *session, tg_task *task);

/*
 * Submits as from outside the pool, but prefers a sleeping worker and puts the task at the front of
 * its inbox.  For tasks whose result a thread waits for at this moment.
 */
extern tg_status tg_task_submit_urgent(tg_session *session, tg_task *task) TG_MUST_USE;

/*
 * Puts the task into the sticky queue of this worker, which alone may run it and is woken for it.
 * Any thread may call, workers included.  After an unpark or AGAIN the task returns to that queue.
 */
extern tg_status tg_task_submit_sticky(tg_session *session, unsigned worker, tg_task *task) TG_MUST_USE;

/* A worker's session: for allocation and epochs while a task runs. */
extern tg_session *tg_worker_session(tg_worker *worker);

/*
 * True once the current task has run for longer than a tick and other tasks wait.  A long task
 * should then end its turn.
 */
extern bool tg_should_yield(tg_worker *worker);

/* --- life ------------------------------------------------------------------ */

typedef struct tg_scheduler_config
{
	unsigned worker_max; /* most workers there can be (sizes the shared half) */
} tg_scheduler_config;

/* Makes the shared half, empty and stopped.  At server start, after the arena. */
extern tg_status tg_scheduler_create(const tg_scheduler_config *config) TG_MUST_USE;

/* The thread that runs the tasks of a job (job.h, tg_job_start). */
typedef enum tg_scheduler_kind
{
	/* by the job's work level: in place up to lightweight_job_level, above it by the pool */
	TG_KIND_HYBRID,
	TG_KIND_STEALING, /* always the pool */
	TG_KIND_SERIAL	  /* always in place, on the thread that starts the job */
} tg_scheduler_kind;

/* How the operations of one transaction are put in order (lane.h). */
typedef enum tg_serializer
{
	TG_SERIALIZER_LANE,	 /* a lane task, which any worker may steal between two turns */
	TG_SERIALIZER_STICKY /* the sticky queue of one worker, as long as operations are outstanding */
} tg_serializer;

/* The party that hands work to further sleeping workers once one has been woken (distribute.c). */
typedef enum tg_distributor
{
	TG_DISTRIBUTOR_OFF,	   /* no party: each woken worker wakes the next */
	TG_DISTRIBUTOR_WORKER, /* a worker that was woken and found nothing, in distribution mode */
	TG_DISTRIBUTOR_THREAD  /* a thread of its own */
} tg_distributor;

/* Settings that may change at run time; read by workers with relaxed loads. */
typedef struct tg_scheduler_settings
{
	/* threads to start with; fixed while running, as are affinity and distributor */
	unsigned workers;
	tg_scheduler_kind kind;
	/* 0 ... 60: highest work level that runs in place under HYBRID */
	unsigned lightweight_job_level;
	bool stealing;
	/* consecutive rounds without work of its own before a worker steals */
	unsigned stealing_wait;
	bool steal_after_last; /* the first victim is the worker after the last one that had work */
	/* rounds without work, yielding ones included, before a worker suspends itself */
	unsigned worker_try_count;
	bool busy_worker;			/* never suspend */
	unsigned worker_suspend_ms; /* longest suspension */
	/* sleep after a round without work; nothing interrupts it; 0: none */
	unsigned task_polling_wait_us;
	/* share of rounds that look at the deque before the sticky queue */
	unsigned local_first_permille;
	bool preferred_worker; /* a session's tasks go to one worker; off: to each in turn */
	bool core_affinity;	   /* worker i is pinned to core initial_core + i */
	unsigned initial_core;
	tg_distributor distributor;
	/* the distributor's search after its last success, before it naps */
	unsigned distribution_spin_us;
	tg_serializer serializer;
	unsigned lane_turn;			  /* operations of one turn of a lane */
	unsigned watcher_interval_us; /* tick of the watcher */
	/* a task or lane that runs, or makes no progress, for longer is reported */
	unsigned hang_ms;
} tg_scheduler_settings;

/* The defaults, for a machine with so many workers. */
extern tg_scheduler_settings tg_scheduler_settings_default(unsigned workers);

extern void tg_scheduler_settings_set(const tg_scheduler_settings *settings);

/*
 * The part of a higher room that runs beside the pool. start runs before the first thread starts;
 * if it fails, the start of the pool fails. stop runs after the jobs have ended, while the workers
 * still run; it returns false if it has not finished by end_us (tg_clock_us).  Both run on the main
 * thread of the pool's process.
 */
typedef struct tg_companion
{
	tg_status (*start)(void);
	bool (*stop)(uint64_t end_us);
} tg_companion;

/* Called before tg_scheduler_start; there is at most one companion. */
extern void tg_scheduler_accompany(const tg_companion *companion);

/*
 * Starts the threads in this process, with all signals blocked.  TG_FULL if the system has no
 * thread or no session left.
 */
extern tg_status tg_scheduler_start(void) TG_MUST_USE;

/*
 * Stops the pool.  It takes no new submission and cancels all jobs.  Tasks that still run after
 * limit_ms are given up; then the threads are joined.  Returns false if a thread could not be
 * joined in time: the process must then exit at once.
 */
extern bool tg_scheduler_stop(unsigned limit_ms);

extern bool tg_scheduler_is_running(void);

/*
 * The watcher thread calls the check at most every interval_us.  A check is short, does not wait
 * and may submit tasks.
 */
extern void tg_watcher_add(void (*check)(tg_session *session), unsigned interval_us);

/* Runs the watcher's checks soon.  Any process. */
extern void tg_watcher_poke(void);

/*
 * A check that has found a hanging task calls this.  It counts the hang and sends a message to the
 * host's log; arguments as printf.
 */
extern void tg_watcher_report_hang(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* --- the host's side --------------------------------------------------------- */

/*
 * Wakes a sleeping participant of the host (a backend's latch).  Set once at
 * load in every process; must be callable from any thread, must not fail.
 */
extern void (*tg_host_wake)(void *waiter);

/*
 * Takes the oldest message for the host's log (hang reports …).  The worker process's main thread.
 */
extern bool tg_host_message_next(char *text, unsigned text_bytes);

/* --- statistics --------------------------------------------------------------- */

/* Life of the pool; written by the main thread of its process. */
typedef enum tg_phase
{
	TG_PHASE_STOPPED,
	TG_PHASE_RUNNING,
	TG_PHASE_DRAINING, /* takes nothing new; jobs are cancelled and run out */
	TG_PHASE_ENDING	   /* workers end as soon as they find nothing */
} tg_phase;

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
	bool distributing;
	bool in_long_task; /* the present task lasts for more than a tick */
	bool hung;		   /* it has been reported */
	int core;		   /* that it is pinned to, -1 for none */
	unsigned socket;
	uint64_t tasks_run;
	uint64_t sticky_run; /* of them, from the sticky queue */
	uint64_t tasks_stolen;
	uint64_t steals;
	uint64_t steal_misses; /* rounds of all victims without a find */
	uint64_t distributed;  /* tasks handed to sleeping workers */
	uint64_t suspensions;
	uint64_t wakeups;
	uint64_t yields;	  /* turns that ended with AGAIN */
	uint64_t parks;		  /* turns that ended with PARK */
	uint64_t deque_count; /* moments' numbers of tasks, as are the next three */
	uint64_t inbox_count;
	uint64_t sticky_count;
	uint64_t pending_count;
	uint64_t job_id;  /* of the present task; 0 if none */
	uint64_t task_us; /* how long the present task has lasted, to a tick; 0: none, or a short one */
} tg_worker_report;

typedef struct tg_scheduler_report
{
	tg_phase phase;
	unsigned workers;
	unsigned searching;
	unsigned sleeping;
	bool distributing;		/* a worker or the thread is the distributor */
	uint64_t distributions; /* times that a worker or the thread became the distributor */
	uint64_t distribution_naps;
	uint64_t distributed;	   /* tasks handed to sleeping workers */
	uint64_t global_count;	   /* tasks in the global queue */
	uint64_t global_taken;	   /* tasks that workers took from it ... */
	uint64_t global_transfers; /* ... in so many batches */
	uint64_t overflows;		   /* pushes that found the deque at its largest */
	uint64_t submitted;		   /* from outside, to inboxes */
	uint64_t submitted_urgent;
	uint64_t conditions_waiting; /* at the watcher */
	uint64_t conditions_submitted;
	uint64_t condition_checks;
	uint64_t conditions_slow; /* checks beyond their budget */
	uint64_t timers_waiting;
	uint64_t hangs; /* tasks and lanes reported */
	uint64_t ticks; /* of the watcher */
} tg_scheduler_report;

/*
 * A snapshot that stops no thread: each counter is read with a relaxed load from its writer's cache
 * line.
 */
extern void tg_scheduler_report_get(tg_scheduler_report *report);

extern unsigned tg_worker_count(void);
extern void tg_worker_report_get(unsigned worker, tg_worker_report *report);

#endif /* TG_SCHEDULER_H */
