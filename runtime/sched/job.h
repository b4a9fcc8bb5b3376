/*
 * job.h
 *	  The execution of a request: a tree of tasks that one bootstrap task starts.
 *
 * A job counts its tasks queued, running or parked, and its children.  The thread that brings the
 * count to 0 ends it, exactly once: success, error and cancel all lead there.  A job outlives the
 * statement that started it; its memory is freed with the last reference.
 */
#ifndef TG_JOB_H
#define TG_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/sched/scheduler.h"

typedef enum tg_job_state
{
	TG_JOB_NEW,
	TG_JOB_RUNNING,
	TG_JOB_DONE
} tg_job_state;

typedef struct tg_job_config
{
	const char *kind; /* a literal: "scan", "collect", "drop" … */
	uint64_t owner;	  /* the host's word for the requester (a process id) */
	uint32_t object;  /* the host's word for the object worked on (a relation's oid) */
	uint8_t level;	  /* work level, 10 to 60: the amount of work (scheduler.h) */
	bool pool_only;	  /* never in place: its starter consumes the results of its tasks */
	void *argument;	  /* the job's own data */

	/*
	 * Called once, after the last task and child: gives back what the argument holds.  It runs on
	 * the thread of that task; a job that runs in place ends on its starter's thread.
	 */
	void (*teardown)(tg_job *job, tg_session *session);

	/* schedules the teardown as a task instead: for one that takes locks which a task may hold */
	bool teardown_as_task;

	/*
	 * Called once, after the teardown and before DONE, with the final status; the argument is not
	 * used after it.  Or NULL.
	 */
	void (*complete)(tg_job *job, tg_session *session, tg_status status);

	/*
	 * Called at most once, by the first canceller, in its thread, while the job runs: unparks
	 * parked tasks.  Short, without waiting.  The job does not end, nor is the argument freed,
	 * before it has returned.  Not called for a job that is cancelled before its start: its tasks
	 * see the flag from the beginning.  It may have been called if tg_job_start returns TG_STOPPED.
	 * Or NULL.
	 */
	void (*cancelled)(tg_job *job, tg_session *session);

	tg_job *parent;		 /* ends after this one; cancelling it cancels this one; NULL: none */
	uint64_t memory_max; /* bytes that tg_job_memory_take grants; 0: no bound */
	uint64_t id;		 /* that tg_job_id_take has given for it; 0: the next one */
	void *waiter;		 /* for tg_host_wake once the job is DONE; NULL: none */
} tg_job_config;

/* A number that no other job has, for one that is made later, or for work that is no job. */
extern uint64_t tg_job_id_take(void);

/*
 * Makes a new job in the registry; the caller holds a reference.  A job with a parent is created
 * and started by a task of the parent, and is cancelled from the beginning if the parent is.
 * TG_FULL.
 */
extern tg_status tg_job_create(tg_session *session, const tg_job_config *config, tg_job **job_out) TG_MUST_USE;

/*
 * Starts it with its bootstrap task: in the pool, or in place, on the calling thread, according to
 * the kind of the scheduler and the job's level (serial.h).  The caller is outside an epoch and
 * holds nothing that tasks may wait for.
 *
 * A job that ran in place to its end is DONE on return, and so may be one that other threads ran:
 * tg_job_state_get tells.  TG_STOPPED: the pool does not run and the job needs it; nothing has run,
 * not even the teardown.
 */
extern tg_status tg_job_start(tg_session *session, tg_job *job, tg_task *bootstrap) TG_MUST_USE;

/*
 * Adds a further task to the job, from one of its tasks.  Counted before it is submitted.  Cannot
 * fail inside the pool.
 */
extern void tg_job_spawn(tg_worker *worker, tg_job *job, tg_task *task);

/*
 * Asks it and its children to end: tasks check the flag between morsels, the callback unparks those
 * that are parked.  Idempotent.  Any thread that holds a reference.
 */
extern void tg_job_cancel(tg_session *session, tg_job *job);
extern bool tg_job_is_cancelled(const tg_job *job);

/*
 * Keeps the first status other than TG_OK.  A failure does not cancel the job, nor a cancel fail
 * it.
 */
extern void tg_job_fail(tg_job *job, tg_status status);
extern tg_status tg_job_status(const tg_job *job);

extern tg_job_state tg_job_state_get(const tg_job *job);
extern void *tg_job_argument(const tg_job *job);

/* Progress, in the job's own unit. */
extern void tg_job_expect(tg_job *job, uint64_t expected);
extern void tg_job_progress(tg_job *job, uint64_t done, uint64_t rows);

/* Which of its steps runs, from 1; not called by jobs that have no steps. */
extern void tg_job_step(tg_job *job, uint32_t step, uint32_t steps);

/*
 * The job's memory account.  TG_NO_MEMORY: the bytes would exceed its memory_max, and are not
 * taken; its tasks decide to spill, or to fail.  Allocates nothing.  Called by its tasks.
 */
extern tg_status tg_job_memory_take(tg_job *job, uint64_t bytes) TG_MUST_USE;
extern void tg_job_memory_give(tg_job *job, uint64_t bytes);

/* So many bytes more have gone to temporary files. */
extern void tg_job_spilled(tg_job *job, uint64_t bytes);

extern void tg_job_retain(tg_job *job);
extern void tg_job_release(tg_session *session, tg_job *job);

/* The registry, for views: the i-th of TG_JOB_MAX; false if there is none. */
typedef struct tg_job_report
{
	uint64_t id;
	uint64_t parent_id; /* 0: none */
	const char *kind;
	uint64_t owner;
	uint32_t object;
	uint8_t level;
	tg_job_state state;
	bool cancelled;
	bool in_place; /* its bootstrap ran, or runs, on the thread that started it */
	tg_status status;
	uint64_t tasks; /* queued, running or parked, and children */
	uint64_t tasks_run;
	uint64_t done;
	uint64_t expected;
	uint64_t rows;
	uint32_t step; /* 0: it has no steps, or none has begun */
	uint32_t steps;
	uint64_t memory;
	uint64_t memory_most; /* the maximum of memory so far */
	uint64_t memory_max;  /* 0: no bound */
	uint64_t spilled;	  /* bytes in temporary files */
	uint64_t elapsed_us;
} tg_job_report;

#define TG_JOB_MAX 256
extern bool tg_job_report_get(unsigned index, tg_job_report *report);

/* Cancels the job with this id; false if it does not run.  For the host's cancel by number. */
extern bool tg_job_cancel_id(tg_session *session, uint64_t id);

#endif /* TG_JOB_H */
