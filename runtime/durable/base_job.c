/*
 * base_job.c
 *	  The steps of a base, done by a task of the pool.
 *
 * A stint is a job of one task, and there is one at a time: so steps never meet, and the job's end
 * orders what a task has done before what the next one, or the owner, does.  Between steps the task
 * gives way to others that wait.  Whatever a base holds from one step to the next (a reference of a
 * table, a file) belongs to no session.
 *
 * Left out: several parts at once.  One thread writes parts faster than most disks take them, and
 * beside clients a second one would take what they need.
 */
#include "runtime/durable/base_job.h"

#include <time.h>

#include "runtime/base/atomic.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/sched/job.h"
#include "runtime/sched/park.h"
#include "runtime/sched/scheduler.h"

#define BASE_LEVEL 40 /* work level: many rows */
#define STINT_US 50000

struct tg_base_job
{
	tg_task task; /* first */
	tg_base *base;
	void *waiter;
	tg_job *job; /* the stint; NULL: there is none */
	uint64_t bytes_end;
	uint64_t begun_us;
	bool is_at_it; /* atomic: a thread of the pool is in a turn */
	/* the task's, until its job has ended */
	tg_status status;
	tg_file_error error;
};

tg_status
tg_base_job_create(tg_base *base, tg_session *session, void *waiter, tg_base_job **job_out)
{
	tg_base_job *own = tg_alloc_zeroed(session, sizeof(*own), TG_USE_JOB, TG_ESSENTIAL);

	if (own == NULL)
		return TG_NO_MEMORY;
	own->base = base;
	own->waiter = waiter;
	*job_out = own;
	return TG_OK;
}

/* --- a stint ---------------------------------------------------------------------------------- */

/* Whether the stint is over; a status other than TG_AGAIN ends it, too. */
static bool
is_over(const tg_base_job *own)
{
	return own->status != TG_AGAIN || tg_job_is_cancelled(own->job) || tg_base_bytes(own->base) >= own->bytes_end ||
		   tg_clock_us() - own->begun_us >= STINT_US;
}

static tg_turn
run_task(tg_task *task, tg_worker *worker)
{
	tg_base_job *own = (tg_base_job *) task;
	bool gives_way = false;

	tg_store_release(&own->is_at_it, true);
	if (!tg_job_is_cancelled(own->job))
	{
		do
			own->status = tg_base_step(own->base, tg_worker_session(worker), &own->error);
		while (!is_over(own) && !(gives_way = tg_should_yield(worker)));
	}
	tg_store_release(&own->is_at_it, false); /* pairs with the acquire in wait_for_task */
	return gives_way ? TG_TURN_AGAIN : TG_TURN_DONE;
}

/* False: the pool does not run, or there is no room. */
static bool
start_stint(tg_base_job *own, tg_session *session, uint64_t bytes_max)
{
	const tg_job_config config = {
		.kind = "base", .level = BASE_LEVEL, .pool_only = true, .argument = own, .waiter = own->waiter};
	uint64_t bytes = tg_base_bytes(own->base);

	if (!tg_scheduler_is_running() || tg_job_create(session, &config, &own->job) != TG_OK)
		return false;
	own->bytes_end = bytes_max < UINT64_MAX - bytes ? bytes + bytes_max : UINT64_MAX;
	own->begun_us = tg_clock_us();
	own->status = TG_AGAIN;
	tg_task_init(&own->task, run_task, own->job);
	if (tg_job_start(session, own->job, &own->task) == TG_OK)
		return true;
	tg_job_release(session, own->job);
	own->job = NULL;
	return false;
}

tg_status
tg_base_job_step(tg_base_job *own, tg_session *session, uint64_t bytes_max, tg_file_error *error_out)
{
	tg_status status;

	if (own->job == NULL)
		return start_stint(own, session, bytes_max) ? TG_BUSY : tg_base_step(own->base, session, error_out);
	if (tg_job_state_get(own->job) != TG_JOB_DONE)
		return TG_BUSY;
	status = own->status;
	*error_out = own->error;
	tg_job_release(session, own->job);
	own->job = NULL;
	return status;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* False: the pool was stopped, and has given up the task: no thread comes to it any more. */
static bool
wait_for_task(const tg_base_job *own)
{
	struct timespec pause = {.tv_nsec = 1000000};

	while (tg_job_state_get(own->job) != TG_JOB_DONE)
	{
		if (!tg_scheduler_is_running() && !tg_load_acquire(&own->is_at_it))
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

void
tg_base_job_end(tg_base_job *own, tg_session *session)
{
	if (own->job != NULL)
	{
		tg_job_cancel(session, own->job);
		if (!wait_for_task(own))
			return; /* the pool's queues may still lead to it; the process ends */
		tg_job_release(session, own->job);
	}
	tg_free(session, own, TG_USE_JOB);
}
