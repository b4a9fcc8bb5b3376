/*
 * serial.c
 *	  Tasks that run in place.
 *
 * The thread that starts a light job has an executor: a worker without a thread of its own.  The
 * executor is in no list, so no other thread steals from it, wakes it or submits to it.  Its tasks
 * push onto its deque as they would onto any worker's.
 *
 *		bootstrap --> deque --pop--> run --DONE--> job's count
 *						^			 | | |
 *						+---push-----+ | +--PARK--> parked, its unpark goes to the pool
 *				   inbox <---AGAIN-----+
 *
 * Tasks that come again go into its inbox, behind those of the deque; so do tasks that the deque
 * refuses.
 *
 * A job is large when its tasks could keep another worker busy for longer than it takes to wake one
 * (some 50 µs): many tasks queued now; many tasks run, as each may take a microsecond; or a tick of
 * time gone by with tasks left.  The executor looks at this between two tasks, and only if one is
 * queued, so a job of one task reads no clock.  Then all queued tasks go to the pool, oldest first,
 * and the starter returns.  Without a pool they stay.
 *
 * Invariants
 *	1. A task is in one place: deque, inbox, running, or given away.  Nothing here
 *	   touches it, or its job, after it was given away or returned DONE.
 *	2. A thread has one executor, and one loop on it: a light job started by a task
 *	   in place is queued behind that task, so the stack does not grow.
 *	3. When the loop ends, deque and inbox are empty.
 *	4. Between two loops an executor holds nothing but its own memory, so a job
 *	   allocates nothing unless it is its thread's first.
 *
 * Parking without a pool: no thread would run the task again.  So its job fails with TG_STOPPED and
 * is cancelled, and the task runs again to see that.  A task that parks although its job was
 * cancelled before stays parked, as in a pool that stops; then the job is not DONE when its start
 * returns, but its status tells why.  If the pool stops while a task parks, stop sees the job
 * running and cancels it.
 *
 * Left out: the pending list of conditions, which a worker's loop serves (tasks in place give their
 * conditions to the watcher); and tg_should_yield, which answers false, as no other task waits for
 * this thread's turn.
 */
#include "runtime/sched/serial.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/sched/fork.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/park.h"
#include "runtime/sched/worker.h"

#define MOVE_BATCH 16

typedef struct executor
{
	tg_worker worker;
	uint64_t started_us;
	bool is_running;
} executor;

/* This thread's; freed when the thread ends. */
static _Thread_local executor *own;

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;

/* --- life ----------------------------------------------------------------------- */

static void
executor_free(void *pointer)
{
	executor *executor = pointer;

	tg_worker_end_in_place(&executor->worker);
	free(executor);
}

static void
key_create(void)
{
	tg_check(pthread_key_create(&key, executor_free) == 0);
}

/* NULL if there is no memory. */
static executor *
executor_make(tg_session *session)
{
	executor *executor = aligned_alloc(TG_CACHE_LINE, sizeof(struct executor));

	if (!executor)
		return NULL;
	executor->is_running = false;
	if (tg_worker_init_in_place(&executor->worker, session) != TG_OK)
	{
		free(executor);
		return NULL;
	}
	(void) pthread_once(&key_once, key_create);
	if (pthread_setspecific(key, executor) != 0)
	{
		executor_free(executor);
		return NULL;
	}
	return executor;
}

static void
keep(executor *executor, tg_task *task)
{
	tg_queue_put_always(&executor->worker.inbox, task);
}

/* --- a job that grows ----------------------------------------------------------------- */

/*
 * Gives tasks to the pool; keeps those that it refuses because it has stopped.  False if it refused
 * one.
 */
static bool
give_away(executor *executor, void **tasks, int count)
{
	bool accepts = true;

	for (int i = 0; i < count; i++)
	{
		tg_failpoint("serial_move");
		accepts = accepts && tg_task_submit(executor->worker.session, NULL, tasks[i]) == TG_OK;
		if (!accepts)
			keep(executor, tasks[i]);
	}
	return accepts;
}

/* Gives all queued tasks to the pool, as long as the pool takes them. */
static void
move_out(executor *executor)
{
	tg_worker *worker = &executor->worker;
	void *tasks[MOVE_BATCH];
	int count;

	while ((count = tg_deque_steal(&worker->deque, tasks, MOVE_BATCH)) > 0)
	{
		if (!give_away(executor, tasks, count))
			return;
	}
	for (uint32_t left = tg_queue_count(&worker->inbox); left > 0; left--)
	{
		tasks[0] = tg_queue_take(&worker->inbox, 1);
		if (!give_away(executor, tasks, 1))
			return;
	}
}

static bool
is_large(const executor *executor)
{
	unsigned count = tg_worker_queued(&executor->worker);

	if (count == 0)
		return false;
	return count > TG_SERIAL_QUEUED_MAX || executor->worker.tasks_run >= TG_SERIAL_RUN_MAX ||
		   tg_clock_us() - executor->started_us >= tg_load_relaxed(&tg_settings_live.watcher_interval_us);
}

/* --- running ---------------------------------------------------------------------------- */

/* A task wants to park; was_told: its job had been cancelled before this turn. */
static void
park(executor *executor, tg_task *task, tg_job *job, bool was_told)
{
	if (job && !was_told && !tg_scheduler_is_running())
	{
		tg_job_fail(job, TG_STOPPED);
		tg_job_cancel(executor->worker.session, job);
		keep(executor, task);
	}
	else if (!tg_park_try(&task->state))
		keep(executor, task);
}

static void
run_one(executor *executor, tg_task *task)
{
	tg_worker *worker = &executor->worker;
	tg_job *job = task->job;
	bool was_told = job && tg_job_is_cancelled(job);
	tg_turn turn;

	worker->job = job;
	worker->tasks_run++;
	tg_park_consume(&task->state);
	turn = task->run(task, worker);
	worker->job = NULL; /* from here on there is nothing to abandon */
	switch (turn)
	{
		case TG_TURN_DONE:
			if (job)
				tg_job_task_ended(worker->session, job);
			break;
		case TG_TURN_AGAIN:
			keep(executor, task);
			break;
		case TG_TURN_PARK:
			park(executor, task, job, was_told);
			break;
		case TG_TURN_PASSED:
			break;
	}
	tg_assert(!tg_epoch_inside(worker->session));
}

/* Runs the task, NULL for none, and all that waits. */
static void
run_all(executor *executor, tg_task *task)
{
	if (!task)
		task = tg_worker_take_in_place(&executor->worker);
	while (task)
	{
		run_one(executor, task);
		if (is_large(executor) && tg_scheduler_is_running())
			move_out(executor);
		task = tg_worker_take_in_place(&executor->worker);
	}
	tg_frames_flush(&executor->worker);
	executor->is_running = false;
}

/* --- for job.c and the host ---------------------------------------------------------------- */

bool
tg_serial_takes_level(unsigned level)
{
	switch (tg_load_relaxed(&tg_settings_live.kind))
	{
		case TG_KIND_SERIAL:
			return true;
		case TG_KIND_HYBRID:
			return level <= tg_load_relaxed(&tg_settings_live.lightweight_job_level);
		default:
			return false;
	}
}

bool
tg_serial_takes(const tg_job_config *config)
{
	return !config->pool_only && tg_serial_takes_level(config->level);
}

bool
tg_serial_keep(tg_task *task)
{
	if (!own || !own->is_running)
		return false;
	keep(own, task);
	return true;
}

tg_status
tg_serial_run(tg_session *session, tg_task *task, uint64_t started_us)
{
	if (tg_serial_keep(task))
		return TG_OK;
	tg_assert(!tg_epoch_inside(session));
	if (!own)
		own = executor_make(session);
	if (!own)
		return TG_NO_MEMORY;
	own->worker.session = session;
	own->worker.tasks_run = 0;
	own->started_us = started_us;
	own->is_running = true;
	run_all(own, task);
	return TG_OK;
}

void
tg_serial_abandon(tg_session *session)
{
	tg_job *job;

	if (!own || !own->is_running)
		return;
	tg_assert(own->worker.session == session);
	while (tg_epoch_inside(session)) /* epochs that the task has entered */
		tg_epoch_leave(session);
	job = own->worker.job;
	own->worker.job = NULL;
	if (job)
	{
		tg_job_fail(job, TG_CANCELLED);
		tg_job_cancel(session, job);
		tg_job_task_ended(session, job);
	}
	if (tg_scheduler_is_running())
		move_out(own);
	run_all(own, NULL);
}
