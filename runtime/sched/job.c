/*
 * job.c
 *	  Jobs: their registry, counts, and end.
 *
 *		 create			start		last share given back
 *	 free -----> NEW ----------> RUNNING ------> (ending) ------> DONE
 *	  ^			  |	^---stopped----|	   teardown, complete		|
 *	  +--------------- the last reference is released -------------+
 *
 * One word counts shares in the job's progress.  The low half counts the tasks queued, running or
 * parked, the children that have not ended, and a canceller within its callback; the high half
 * counts the tasks that have ended.  An ending task changes both at once.  The bootstrap task is
 * counted until it has ended, so the count cannot reach 0 before its children are counted; and a
 * task that spawns another, or starts a child, is counted itself: from 0 the count never rises
 * again.
 *
 * Invariants
 *	1. The thread that brings the low half to 0, and no other, ends the job: teardown, complete,
 *	   DONE, waiter, its own reference, and last its share in the parent.  So each of them happens
 *	   once, and a parent is DONE after its children.
 *	2. A running job holds a reference to itself, given back after DONE.  So a holder of a reference
 *	   may read a job at any time, and a job without other references frees itself.
 *	3. A slot is reused only after its last reference; slots never go away.  So reading a job that
 *	   has ended gives a wrong result at worst, which the report under the latch excludes.
 *	4. The cancelled callback runs with a share that was taken while the count was not 0.  So it
 *	   comes before the teardown, or never.
 *	5. Of several cancellers, one changes the flag; that one calls the callback, and cancels the
 *	   children.  A child is made in one section under the latch, in which it sets its parent's
 *	   has_children, fences, and reads the parent's flag.  The canceller of the parent sets the
 *	   flag, fences, and reads has_children before it takes the latch to look for children.  So
 *	   either it finds the child or the child finds the flag.
 *
 * Cancel and start are a Dekker pair: cancel sets the flag, fences, and tries to take a share;
 * start stores the first share, fences, and submits.  Either the canceller sees the share and calls
 * the callback, or every task sees the flag.
 *
 * A canceller that holds the last share does not run the teardown, which may take long or need what
 * the canceller holds: the teardown is scheduled as a task, and run by the canceller only if there
 * is no pool.
 *
 * A submission that the pool refuses can only be the bootstrap's.  Then start waits for a canceller
 * to leave its callback, and takes the share back: the job is NEW again, and nothing has run except
 * that callback.
 *
 * Orderings: the decrements of the count are acq_rel, so the teardown sees all writes of the tasks;
 * taking a share acquires what the start released.  DONE is released and read with acquire, so a
 * thread that sees it sees the writes of the teardown.  References likewise.  The flag, progress
 * and memory are relaxed: apart from the pairs above they order nothing.
 *
 * Left out: a child's memory is not on its parent's account.
 */
#include "runtime/sched/job.h"

#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/latch.h"
#include "runtime/base/spin.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/park.h"
#include "runtime/sched/serial.h"
#include "runtime/sched/watcher.h"
#include "runtime/sched/worker.h"

#define SHARE_ONE UINT64_C(1)
#define SHARE_ENDED UINT64_MAX				 /* one share less */
#define TASK_ENDED ((UINT64_C(1) << 32) - 1) /* likewise, and one more task has ended */

struct tg_job
{
	uint64_t shares TG_CACHE_ALIGNED; /* workers; the word of the head comment */

	uint64_t done TG_CACHE_ALIGNED; /* workers write, all read, relaxed; as the next seven */
	uint64_t rows;
	uint64_t expected;
	uint32_t step;
	uint32_t steps;
	uint64_t memory;
	uint64_t memory_most;
	uint64_t spilled;

	uint32_t references TG_CACHE_ALIGNED; /* all; 0: the slot is free */
	uint32_t state;						  /* tg_job_state */
	uint32_t status;					  /* the first failure */
	bool cancelled;						  /* 5. */
	bool in_place;						  /* written before RUNNING */
	bool has_children;					  /* or had; 5. */
	bool privileged;					  /* constant: its maker was privileged */
	uint64_t id;						  /* constant, as config and parent_id; under the latch */
	uint64_t parent_id;
	uint64_t started_us; /* relaxed, as the next one */
	uint64_t ended_us;
	tg_job_config config;
	tg_task teardown;  /* runs the end if that is not done in place; of no job */
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

static tg_turn run_teardown(tg_task *task, tg_worker *worker);

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

/* Under the latch, as 5. requires. */
static void
job_init(tg_job *job, const tg_job_config *config)
{
	tg_job *parent = config->parent;

	if (parent)
	{
		tg_store_relaxed(&parent->has_children, true);
		tg_fence_seq_cst();
	}
	job->id = config->id != 0 ? config->id : ++registry->id_last;
	job->config = *config;
	job->parent_id = parent ? parent->id : 0;
	tg_store_relaxed(&job->has_children, false);
	tg_store_relaxed(&job->in_place, false);
	tg_task_init(&job->teardown, run_teardown, NULL);
	tg_store_relaxed(&job->shares, 0);
	tg_store_relaxed(&job->done, 0);
	tg_store_relaxed(&job->rows, 0);
	tg_store_relaxed(&job->expected, 0);
	tg_store_relaxed(&job->step, 0);
	tg_store_relaxed(&job->steps, 0);
	tg_store_relaxed(&job->memory, 0);
	tg_store_relaxed(&job->memory_most, 0);
	tg_store_relaxed(&job->spilled, 0);
	tg_store_relaxed(&job->state, TG_JOB_NEW);
	tg_store_relaxed(&job->status, TG_OK);
	tg_store_relaxed(&job->cancelled, parent && tg_job_is_cancelled(parent));
	tg_store_relaxed(&job->started_us, 0);
	tg_store_relaxed(&job->ended_us, 0);
	tg_store_relaxed(&job->references, 1);
}

uint64_t
tg_job_id_take(void)
{
	uint64_t id;

	tg_latch_acquire(&registry->latch);
	id = ++registry->id_last;
	tg_latch_release(&registry->latch);
	return id;
}

tg_status
tg_job_create(tg_session *session, const tg_job_config *config, tg_job **job_out)
{
	tg_job *job;

	tg_latch_acquire(&registry->latch);
	job = registry->free;
	if (job)
	{
		registry->free = job->next_free;
		job_init(job, config);
		job->privileged = session->privileged;
	}
	tg_latch_release(&registry->latch);
	if (!job)
		return TG_FULL;
	*job_out = job;
	return TG_OK;
}

bool
tg_job_is_privileged(const tg_job *job)
{
	return job->privileged;
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
	tg_failpoint("job_release");
	tg_latch_acquire(&registry->latch);
	if (tg_fetch_add_acq_rel(&job->references, (uint32_t) -1) == 1)
	{
		tg_assert(tg_load_relaxed(&job->state) != TG_JOB_RUNNING);
		job->next_free = registry->free;
		registry->free = job;
	}
	tg_latch_release(&registry->latch);
}

/* --- the end ------------------------------------------------------------------ */

static void share_end(tg_session *session, tg_job *job, uint64_t change, bool outside);

/* Ends the job: invariant 1. */
static void
finish(tg_session *session, tg_job *job)
{
	tg_job *parent = job->config.parent;
	void *waiter = job->config.waiter;

	tg_assert(tg_load_relaxed(&job->state) == TG_JOB_RUNNING);
	tg_assert((uint32_t) tg_load_relaxed(&job->shares) == 0);
	tg_failpoint("job_finish");
	if (job->config.teardown)
		job->config.teardown(job, session);
	tg_store_relaxed(&job->ended_us, tg_clock_us());
	if (job->config.complete)
		job->config.complete(job, session, tg_job_status(job));
	tg_store_release(&job->state, TG_JOB_DONE);
	if (waiter)
		tg_host_wake(waiter);
	tg_job_release(session, job);
	if (parent)
		share_end(session, parent, SHARE_ENDED, false);
}

static tg_turn
run_teardown(tg_task *task, tg_worker *worker)
{
	finish(tg_worker_session(worker), (tg_job *) ((char *) task - offsetof(tg_job, teardown)));
	return TG_TURN_DONE;
}

/*
 * Gives a share back, and ends the job if it was the last.  outside: the caller must not run the
 * end.
 */
static void
share_end(tg_session *session, tg_job *job, uint64_t change, bool outside)
{
	uint64_t shares = tg_fetch_add_acq_rel(&job->shares, change);

	tg_assert((uint32_t) shares > 0);
	if ((uint32_t) shares != 1)
		return;
	if (!outside && !job->config.teardown_as_task)
		finish(session, job);
	else if (tg_serial_keep(&job->teardown))
		return; /* this thread runs it after its present task */
	else if (outside && !tg_scheduler_is_running())
		finish(session, job);
	else
		tg_worker_requeue(tg_scheduler_shared, &job->teardown);
}

void
tg_job_task_ended(tg_session *session, tg_job *job)
{
	share_end(session, job, TASK_ENDED, false);
}

/* One more share, unless the job has none: then it has not started, or it ends. */
static bool
share_take(tg_job *job)
{
	uint64_t shares = tg_load_relaxed(&job->shares);

	while ((uint32_t) shares != 0)
	{
		if (tg_cas_acq_rel(&job->shares, &shares, shares + SHARE_ONE))
			return true;
	}
	return false;
}

/* --- the start ------------------------------------------------------------------ */

void
tg_job_task_added(tg_job *job)
{
	uint64_t shares = tg_fetch_add_relaxed(&job->shares, SHARE_ONE);

	tg_assert((uint32_t) shares > 0); /* the caller's task has one */
	(void) shares;
}

/* Goes back to NEW, once only the caller has a share. */
static void
start_undo(tg_session *session, tg_job *job)
{
	uint64_t alone = SHARE_ONE;
	unsigned round = 0;

	while (!tg_cas_acq_rel(&job->shares, &alone, 0))
	{
		alone = SHARE_ONE;
		tg_failpoint("job_undo");
		tg_spin(&round);
	}
	tg_store_relaxed(&job->in_place, false);
	tg_store_relaxed(&job->started_us, 0);
	tg_store_release(&job->state, TG_JOB_NEW);
	if (job->config.parent)
		share_end(session, job->config.parent, SHARE_ENDED, false); /* never the last */
	tg_job_release(session, job);
}

tg_status
tg_job_start(tg_session *session, tg_job *job, tg_task *bootstrap)
{
	uint64_t now = tg_clock_us();
	bool in_place = tg_serial_takes(&job->config);
	tg_status status = TG_NO_MEMORY;

	tg_assert(tg_load_relaxed(&job->state) == TG_JOB_NEW);
	tg_assert(bootstrap->job == job);
	tg_job_retain(job);
	if (job->config.parent)
		tg_job_task_added(job->config.parent);
	tg_store_relaxed(&job->in_place, in_place);
	tg_store_relaxed(&job->started_us, now);
	tg_store_release(&job->state, TG_JOB_RUNNING);
	tg_store_release(&job->shares, SHARE_ONE);
	tg_fence_seq_cst(); /* head comment, Dekker */
	tg_failpoint("job_start");
	if (in_place)
		status = tg_serial_run(session, bootstrap, now);
	if (status == TG_NO_MEMORY) /* left to an executor; or not in place at all */
	{
		tg_store_relaxed(&job->in_place, false);
		status = tg_task_submit(session, NULL, bootstrap);
	}
	if (status != TG_OK)
		start_undo(session, job);
	return status;
}

void
tg_job_spawn(tg_worker *worker, tg_job *job, tg_task *task)
{
	tg_assert(task->job == job);
	tg_job_task_added(job);
	tg_worker_push(worker, task);
}

/* --- cancel ----------------------------------------------------------------------- */

/* A reference to the i-th job, if there is one with this id and this parent; 0: any. */
static tg_job *
retain_slot(unsigned i, uint64_t id, uint64_t parent_id)
{
	tg_job *job = &registry->jobs[i];
	bool wanted;

	tg_latch_acquire(&registry->latch);
	wanted = tg_load_relaxed(&job->references) > 0 && (id == 0 || job->id == id) &&
			 (parent_id == 0 || job->parent_id == parent_id);
	if (wanted)
		tg_job_retain(job);
	tg_latch_release(&registry->latch);
	return wanted ? job : NULL;
}

static void
cancel_children(tg_session *session, uint64_t id)
{
	for (unsigned i = 0; i < TG_JOB_MAX; i++)
	{
		tg_job *child = retain_slot(i, 0, id);

		if (child)
		{
			tg_job_cancel(session, child);
			tg_job_release(session, child);
		}
	}
}

void
tg_job_cancel(tg_session *session, tg_job *job)
{
	if (tg_load_relaxed(&job->cancelled) || tg_exchange_seq_cst(&job->cancelled, true))
		return;
	tg_fence_seq_cst(); /* head comment, Dekker */
	tg_failpoint("job_cancel");
	tg_watcher_job_cancelled();
	if (job->config.cancelled && share_take(job))
	{
		tg_failpoint("job_cancelled");
		job->config.cancelled(job, session);
		share_end(session, job, SHARE_ENDED, true);
	}
	if (tg_load_relaxed(&job->has_children))
		cancel_children(session, job->id);
}

bool
tg_job_cancel_id(tg_session *session, uint64_t id)
{
	for (unsigned i = 0; id != 0 && i < TG_JOB_MAX; i++)
	{
		tg_job *job = retain_slot(i, id, 0);

		if (job)
		{
			bool runs = tg_job_state_get(job) == TG_JOB_RUNNING;

			if (runs)
				tg_job_cancel(session, job);
			tg_job_release(session, job);
			return runs;
		}
	}
	return false;
}

void
tg_jobs_cancel(void)
{
	tg_session *session;

	if (tg_session_open(&session) != TG_OK)
	{
		/* As much as is possible without a session: parked tasks are given up at the limit. */
		for (unsigned i = 0; i < TG_JOB_MAX; i++)
			tg_store_relaxed(&registry->jobs[i].cancelled, true);
		tg_watcher_job_cancelled();
		return;
	}
	for (unsigned i = 0; i < TG_JOB_MAX; i++)
	{
		tg_job *job = retain_slot(i, 0, 0);

		if (job)
		{
			tg_job_cancel(session, job);
			tg_job_release(session, job);
		}
	}
	tg_session_close(session);
}

bool
tg_job_is_cancelled(const tg_job *job)
{
	return tg_load_relaxed(&job->cancelled);
}

/* --- for tasks, and for observers -------------------------------------------------- */

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

void
tg_job_step(tg_job *job, uint32_t step, uint32_t steps)
{
	tg_assert(step >= 1 && step <= steps);
	tg_store_relaxed(&job->steps, steps);
	tg_store_relaxed(&job->step, step);
}

tg_status
tg_job_memory_take(tg_job *job, uint64_t bytes)
{
	uint64_t max = job->config.memory_max > 0 ? job->config.memory_max : UINT64_MAX;
	uint64_t taken = tg_load_relaxed(&job->memory);
	uint64_t most = tg_load_relaxed(&job->memory_most);

	do
	{
		if (bytes > max - taken)
			return TG_NO_MEMORY;
		tg_failpoint("job_memory");
	} while (!tg_cas_acq_rel(&job->memory, &taken, taken + bytes));
	while (most < taken + bytes && !tg_cas_acq_rel(&job->memory_most, &most, taken + bytes))
		;
	return TG_OK;
}

void
tg_job_memory_give(tg_job *job, uint64_t bytes)
{
	uint64_t taken = tg_fetch_add_relaxed(&job->memory, -bytes);

	tg_assert(taken >= bytes);
	(void) taken;
}

void
tg_job_spilled(tg_job *job, uint64_t bytes)
{
	tg_fetch_add_relaxed(&job->spilled, bytes);
}

/* --- the registry ----------------------------------------------------------------- */

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
	/* first: a job reported DONE has no tasks and an end */
	tg_job_state state = tg_job_state_get(job);
	uint64_t shares = tg_load_relaxed(&job->shares);
	uint64_t started_us = tg_load_relaxed(&job->started_us);
	uint64_t ended_us = tg_load_relaxed(&job->ended_us);

	*report = (tg_job_report){.id = job->id,
							  .parent_id = job->parent_id,
							  .kind = job->config.kind,
							  .owner = job->config.owner,
							  .object = job->config.object,
							  .level = job->config.level,
							  .state = state,
							  .cancelled = tg_job_is_cancelled(job),
							  .in_place = tg_load_relaxed(&job->in_place),
							  .status = tg_job_status(job),
							  .tasks = (uint32_t) shares,
							  .tasks_run = shares >> 32,
							  .done = tg_load_relaxed(&job->done),
							  .expected = tg_load_relaxed(&job->expected),
							  .rows = tg_load_relaxed(&job->rows),
							  .step = tg_load_relaxed(&job->step),
							  .steps = tg_load_relaxed(&job->steps),
							  .memory = tg_load_relaxed(&job->memory),
							  .memory_most = tg_load_relaxed(&job->memory_most),
							  .memory_max = job->config.memory_max,
							  .spilled = tg_load_relaxed(&job->spilled)};
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
