/*
 * job.h
 *	  What a request asked for: a tree of tasks that one bootstrap task starts.
 *
 * A job counts its tasks queued, running or parked, and its children.  Who
 * brings the count to 0 ends it, exactly once: success, error and cancel all
 * pass there.  A job outlives the statement that started it; its memory goes
 * when the last reference does.
 */
#ifndef TG_JOB_H
#define TG_JOB_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
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
	uint64_t owner;	  /* the host's word for who asked (a process id) */
	uint32_t object;  /* the host's word for what it works on (a relation's oid) */
	uint8_t level;	  /* work level, 10 to 60: how much work it is (scheduler.h) */
	bool pool_only;	  /* never in place: its starter takes what its tasks make */
	void *argument;	  /* the job's own data */

	/*
	 * Once, after the last task and child: gives back what the argument holds.
	 * On the thread of that task; a job that runs in place ends on its starter's.
	 */
	void (*teardown)(tg_job *job, tg_session *session);
	bool teardown_as_task; /* schedules the teardown instead: for one that takes locks which a task may hold */

	/* Once, after the teardown and before DONE, with the final status; nothing touches the argument after it.  Or NULL. */
	void (*complete)(tg_job *job, tg_session *session, tg_status status);

	/*
	 * At most once, by who cancels first, in its thread, while the job runs:
	 * unparks what is parked.  Short, no waiting.  The job does not end, nor the
	 * argument go, before it has returned.  Not called for a job that is
	 * cancelled before its start: its tasks see the flag from the beginning.
	 * Under TG_STOPPED from tg_job_start it may have been called.  Or NULL.
	 */
	void (*cancelled)(tg_job *job, tg_session *session);

	tg_job *parent;		 /* ends after this one, and cancels it; NULL for none */
	uint64_t memory_max; /* bytes that tg_job_memory_take gives; 0: no bound */
	void *waiter;		 /* for tg_host_wake once the job is DONE; NULL for nobody */
} tg_job_config;

/*
 * A new job in the registry; the caller holds a reference.  One with a parent
 * is created and started by a task of the parent, and is cancelled from the
 * beginning if the parent is.  TG_FULL.
 */
extern tg_status tg_job_create(tg_session *session, const tg_job_config *config, tg_job **job_out) TG_MUST_USE;

/*
 * Starts it with its bootstrap task: in the pool, or in place, on the calling
 * thread, by the kind of the scheduler and the job's level (serial.h).  The
 * caller is outside an epoch and holds nothing that tasks may wait for.
 *
 * A job that ran in place to its end is DONE on return, and so may be one that
 * others ran: tg_job_state_get tells.  TG_STOPPED: the pool does not run and
 * the job needs it; nothing has run, the teardown neither.
 */
extern tg_status tg_job_start(tg_session *session, tg_job *job, tg_task *bootstrap) TG_MUST_USE;

/* A further task of the job, from one of its tasks.  Counted before it is submitted.  Cannot fail inside the pool. */
extern void tg_job_spawn(tg_worker *worker, tg_job *job, tg_task *task);

/*
 * Asks it and its children to end: tasks look at the flag between morsels, the
 * callback unparks those that are parked.  Idempotent.  Any thread that holds
 * a reference.
 */
extern void tg_job_cancel(tg_session *session, tg_job *job);
extern bool tg_job_is_cancelled(const tg_job *job);

/* The first status other than TG_OK stays.  Neither does a failure cancel the job, nor a cancel make it fail. */
extern void tg_job_fail(tg_job *job, tg_status status);
extern tg_status tg_job_status(const tg_job *job);

extern tg_job_state tg_job_state_get(const tg_job *job);
extern void *tg_job_argument(const tg_job *job);

/* Progress, in the job's own unit. */
extern void tg_job_expect(tg_job *job, uint64_t expected);
extern void tg_job_progress(tg_job *job, uint64_t done, uint64_t rows);

/*
 * The job's memory account.  TG_NO_MEMORY: the bytes would go beyond its
 * memory_max, and are not taken; its tasks decide to spill, or to fail.  It
 * allocates nothing.  From its tasks.
 */
extern tg_status tg_job_memory_take(tg_job *job, uint64_t bytes) TG_MUST_USE;
extern void tg_job_memory_give(tg_job *job, uint64_t bytes);

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
	uint64_t memory;
	uint64_t memory_most; /* what memory has been at most */
	uint64_t memory_max;  /* 0: no bound */
	uint64_t elapsed_us;
} tg_job_report;

#define TG_JOB_MAX 256
extern bool tg_job_report_get(unsigned index, tg_job_report *report);

/* Cancels the job of this number; false if none runs.  For the host's cancel by number. */
extern bool tg_job_cancel_id(tg_session *session, uint64_t id);

#endif /* TG_JOB_H */
