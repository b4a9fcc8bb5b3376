/*
 * job.c
 *	  Jobs: their registry, counts, and end.
 *
 *		 create			start				last task ended
 *	 free -----> NEW ----------> RUNNING -- teardown --> DONE
 *	  ^			  |	^---stopped----|					   |
 *	  +--------------- the last reference is released -----+
 *
 * One word counts the tasks: the low half those queued, running or parked, the
 * high half those that have ended; an ending task changes both at once.  The
 * bootstrap task is counted until it has ended, so the count cannot reach 0
 * before its children are counted, and a task that spawns another is counted
 * itself: from 0 the count never rises again.
 *
 * Invariants
 *	1. Who brings the low half to 0, and nobody else, runs the teardown, then
 *	   stores DONE, then wakes the waiter.
 *	2. A running job holds a reference to itself, given back after that; so who
 *	   holds one may look at a job at any time, and a job nobody waits for goes
 *	   by itself.
 *	3. A slot is reused only after its last reference; slots never go away, so
 *	   a look at a job that has ended is wrong at worst, which the report
 *	   under the latch excludes.
 *
 * Orderings: the decrements of the count are acq_rel, so the teardown sees what
 * all tasks wrote.  DONE is released and read with acquire, so who sees it sees
 * what the teardown wrote.  References likewise.  Cancel and progress are
 * relaxed: they order nothing.
 *
 * A task's submission that the pool refuses can only be the bootstrap's; then
 * the job is NEW again and nothing has run.
 */
#include "runtime/sched/job.h"

#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/park.h"
#include "runtime/sched/worker.h"

#define TASK_ONE UINT64_C(1)
#define TASK_ENDED ((UINT64_C(1) << 32) - 1) /* one more ended, one less counted */

struct tg_job
{
	uint64_t tasks TG_CACHE_ALIGNED; /* workers; the word of the head comment */

	uint64_t done TG_CACHE_ALIGNED; /* workers write, all read, relaxed; as the next two */
	uint64_t rows;
	uint64_t expected;

	uint32_t references TG_CACHE_ALIGNED; /* all; 0: the slot is free */
	uint32_t state;						  /* tg_job_state */
	uint32_t status;					  /* the first failure */
	bool cancelled;
	uint64_t id;		 /* constant, as config; written under the latch */
	uint64_t started_us; /* relaxed, as the next one */
	uint64_t ended_us;
	tg_job_config config;
	tg_job *next_free; /* under the latch */
};

typedef struct job_registry
{
	tg_latch latch;
	uint64_t id_last; /* under the latch, as free */
	tg_job *free;
	tg_job jobs[TG_JOB_MAX];
} job_registry;

static job_registry *registry; /* in the arena; set by tg_jobs_create, inherited by fork */

tg_status
tg_jobs_create(tg_session *session)
{
	registry = tg_alloc_zeroed(session, sizeof(job_registry), TG_USE_RUNTIME, TG_ESSENTIAL);
	if (!registry)
		return TG_NO_MEMORY;
	tg_latch_init(&registry->latch, TG_RANK_JOB);
	for (unsigned i = TG_JOB_MAX; i-- > 0;)
	{
		registry->jobs[i].next_free = registry->free;
		registry->free = &registry->jobs[i];
	}
	return TG_OK;
}

/* --- life ------------------------------------------------------------------- */

tg_status
tg_job_create(tg_session *session, const tg_job_config *config, tg_job **job_out)
{
	tg_job *job;

	(void) session;
	tg_latch_acquire(&registry->latch);
	job = registry->free;
	if (job)
	{
		registry->free = job->next_free;
		job->id = ++registry->id_last;
		job->config = *config;
		tg_store_relaxed(&job->tasks, 0);
		tg_store_relaxed(&job->done, 0);
		tg_store_relaxed(&job->rows, 0);
		tg_store_relaxed(&job->expected, 0);
		tg_store_relaxed(&job->state, TG_JOB_NEW);
		tg_store_relaxed(&job->status, TG_OK);
		tg_store_relaxed(&job->cancelled, false);
		tg_store_relaxed(&job->started_us, 0);
		tg_store_relaxed(&job->ended_us, 0);
		tg_store_relaxed(&job->references, 1);
	}
	tg_latch_release(&registry->latch);
	if (!job)
		return TG_FULL;
	*job_out = job;
	return TG_OK;
}

void
tg_job_retain(tg_job *job)
{
	uint32_t references = tg_fetch_add_relaxed(&job->references, 1);

	tg_assert(references > 0);
	(void) references;
}

void
tg_job_release(tg_session *session, tg_job *job)
{
	uint32_t references = tg_load_relaxed(&job->references);

	(void) session;
	tg_assert(references > 0);
	while (references > 1) /* not the last one: no latch */
	{
		if (tg_cas_acq_rel(&job->references, &references, references - 1))
			return;
	}
	tg_latch_acquire(&registry->latch);
	if (tg_fetch_add_acq_rel(&job->references, (uint32_t) -1) == 1)
	{
		tg_assert(tg_load_relaxed(&job->state) != TG_JOB_RUNNING);
		job->next_free = registry->free;
		registry->free = job;
	}
	tg_latch_release(&registry->latch);
}

/* Runs the teardown and ends the job: the last one out, or the thread that started it. */
static void
finish(tg_session *session, tg_job *job)
{
	void *waiter = job->config.waiter;

	tg_assert(tg_load_relaxed(&job->state) == TG_JOB_RUNNING);
	if (job->config.teardown)
		job->config.teardown(job, session);
	tg_store_relaxed(&job->ended_us, tg_clock_us());
	tg_store_release(&job->state, TG_JOB_DONE);
	if (waiter)
		tg_host_wake(waiter);
	tg_job_release(session, job);
}

void
tg_job_task_ended(tg_session *session, tg_job *job)
{
	uint64_t tasks = tg_fetch_add_acq_rel(&job->tasks, TASK_ENDED);

	tg_assert((uint32_t) tasks > 0);
	if ((uint32_t) tasks == 1)
		finish(session, job);
}

tg_status
tg_job_start(tg_session *session, tg_job *job, tg_task *bootstrap)
{
	tg_status status;

	tg_assert(tg_load_relaxed(&job->state) == TG_JOB_NEW);
	tg_assert(bootstrap->job == job);
	tg_job_retain(job);
	tg_store_relaxed(&job->started_us, tg_clock_us());
	tg_store_relaxed(&job->tasks, TASK_ONE);
	tg_store_release(&job->state, TG_JOB_RUNNING);
	status = tg_task_submit(session, NULL, bootstrap);
	if (status != TG_OK)
	{
		tg_store_release(&job->state, TG_JOB_NEW);
		tg_store_relaxed(&job->tasks, 0);
		tg_store_relaxed(&job->started_us, 0);
		tg_job_release(session, job);
	}
	return status;
}

void
tg_job_spawn(tg_worker *worker, tg_job *job, tg_task *task)
{
	uint64_t tasks = tg_fetch_add_relaxed(&job->tasks, TASK_ONE);

	tg_assert((uint32_t) tasks > 0 && task->job == job);
	(void) tasks;
	tg_worker_push(worker, task);
}

/* --- what tasks and others say and ask ----------------------------------------- */

void
tg_job_cancel(tg_job *job)
{
	tg_store_relaxed(&job->cancelled, true);
}

bool
tg_job_is_cancelled(const tg_job *job)
{
	return tg_load_relaxed(&job->cancelled);
}

void
tg_job_fail(tg_job *job, tg_status status)
{
	uint32_t none = TG_OK;

	tg_assert(status != TG_OK);
	(void) tg_cas_acq_rel(&job->status, &none, (uint32_t) status);
}

tg_status
tg_job_status(const tg_job *job)
{
	return (tg_status) tg_load_acquire(&job->status);
}

tg_job_state
tg_job_state_get(const tg_job *job)
{
	return (tg_job_state) tg_load_acquire(&job->state);
}

void *
tg_job_argument(const tg_job *job)
{
	return job->config.argument;
}

void
tg_job_expect(tg_job *job, uint64_t expected)
{
	tg_store_relaxed(&job->expected, expected);
}

void
tg_job_progress(tg_job *job, uint64_t done, uint64_t rows)
{
	tg_fetch_add_relaxed(&job->done, done);
	tg_fetch_add_relaxed(&job->rows, rows);
}

/* --- the registry ----------------------------------------------------------------- */

void
tg_jobs_cancel(void)
{
	tg_latch_acquire(&registry->latch);
	for (unsigned i = 0; i < TG_JOB_MAX; i++)
	{
		if (tg_load_relaxed(&registry->jobs[i].references) > 0)
			tg_job_cancel(&registry->jobs[i]);
	}
	tg_latch_release(&registry->latch);
}

bool
tg_jobs_are_running(void)
{
	for (unsigned i = 0; i < TG_JOB_MAX; i++)
	{
		if (tg_job_state_get(&registry->jobs[i]) == TG_JOB_RUNNING)
			return true;
	}
	return false;
}

static void
fill_report(const tg_job *job, tg_job_report *report)
{
	uint64_t tasks = tg_load_relaxed(&job->tasks);
	uint64_t started_us = tg_load_relaxed(&job->started_us);
	uint64_t ended_us = tg_load_relaxed(&job->ended_us);

	*report = (tg_job_report){.id = job->id,
							  .kind = job->config.kind,
							  .owner = job->config.owner,
							  .object = job->config.object,
							  .level = job->config.level,
							  .state = tg_job_state_get(job),
							  .cancelled = tg_job_is_cancelled(job),
							  .tasks = (uint32_t) tasks,
							  .tasks_run = tasks >> 32,
							  .done = tg_load_relaxed(&job->done),
							  .expected = tg_load_relaxed(&job->expected),
							  .rows = tg_load_relaxed(&job->rows)};
	if (started_us > 0)
		report->elapsed_us = (ended_us > 0 ? ended_us : tg_clock_us()) - started_us;
}

bool
tg_job_report_get(unsigned index, tg_job_report *report)
{
	bool found;

	if (!registry || index >= TG_JOB_MAX)
		return false;
	tg_latch_acquire(&registry->latch);
	found = tg_load_relaxed(&registry->jobs[index].references) > 0;
	if (found)
		fill_report(&registry->jobs[index], report);
	tg_latch_release(&registry->latch);
	return found;
}

bool
tg_job_report_of(const tg_job *job, tg_job_report *report)
{
	return job && tg_job_report_get((unsigned) (job - registry->jobs), report);
}
