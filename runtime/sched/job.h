/*
 * job.h
 *	  What a request asked for: a tree of tasks that one bootstrap task starts.
 *
 * A job counts its tasks queued, running or parked.  Who brings the count to 0
 * runs the teardown, in place, exactly once: success, error and cancel all
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
	uint8_t level;	  /* work level, runtime.md */
	void *argument;	  /* the job's own data */
	/* Runs once, after the last task, on a worker: gives back what the argument holds.  The state is DONE after it. */
	void (*teardown)(tg_job *job, tg_session *session);
	void *waiter; /* for tg_host_wake once the job is DONE, after the teardown; NULL for nobody */
} tg_job_config;

/* A new job in the registry; the caller holds a reference.  TG_FULL, TG_NO_MEMORY. */
extern tg_status tg_job_create(tg_session *session, const tg_job_config *config, tg_job **job_out) TG_MUST_USE;

/*
 * Starts it with its bootstrap task.  TG_STOPPED: the pool does not run;
 * nothing has run, the teardown neither.
 */
extern tg_status tg_job_start(tg_session *session, tg_job *job, tg_task *bootstrap) TG_MUST_USE;

/* A further task of the job, from one of its tasks.  Counted before it is submitted.  Cannot fail inside the pool. */
extern void tg_job_spawn(tg_worker *worker, tg_job *job, tg_task *task);

/* Asks it to end: tasks look at the flag between morsels, parked ones are unparked by their owners.  Idempotent. */
extern void tg_job_cancel(tg_job *job);
extern bool tg_job_is_cancelled(const tg_job *job);

/* The first status other than TG_OK stays.  Neither does a failure cancel the job, nor a cancel make it fail. */
extern void tg_job_fail(tg_job *job, tg_status status);
extern tg_status tg_job_status(const tg_job *job);

extern tg_job_state tg_job_state_get(const tg_job *job);
extern void *tg_job_argument(const tg_job *job);

/* Progress, in the job's own unit. */
extern void tg_job_expect(tg_job *job, uint64_t expected);
extern void tg_job_progress(tg_job *job, uint64_t done, uint64_t rows);

extern void tg_job_retain(tg_job *job);
extern void tg_job_release(tg_session *session, tg_job *job);

/* The registry, for views: the i-th of tg_job_max; false if there is none. */
typedef struct tg_job_report
{
	uint64_t id;
	const char *kind;
	uint64_t owner;
	uint32_t object;
	uint8_t level;
	tg_job_state state;
	bool cancelled;
	uint64_t tasks; /* queued, running or parked */
	uint64_t tasks_run;
	uint64_t done;
	uint64_t expected;
	uint64_t rows;
	uint64_t elapsed_us;
} tg_job_report;

#define TG_JOB_MAX 256
extern bool tg_job_report_get(unsigned index, tg_job_report *report);

#endif /* TG_JOB_H */
