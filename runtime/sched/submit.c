/*
 * submit.c
 *	  The submission of tasks.
 *
 * A submission from outside goes to the inbox of the session's preferred worker, so that one
 * session's tasks stay on one CPU.  If that worker has been in one task for longer than a tick, the
 * submission goes to the shorter of two inboxes.  Without preferred_worker each thread uses the
 * workers in turn.  An urgent task goes to the front of a sleeping worker's inbox, or, if no worker
 * sleeps, to that of a worker that is not in a long task.
 *
 * A closed inbox refuses tasks, under its latch (scheduler.c, 1).  A sticky queue does the same
 * with new tasks, but takes those back that were accepted before.
 *
 * The steps: read the phase, put the task, fence, look for sleeping workers (wake.c).  Where no
 * worker sleeps, these cost one latch taken and released, and one fence.
 */
#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/sched/park.h"
#include "runtime/sched/wake.h"
#include "runtime/sched/worker.h"

void
tg_task_init(tg_task *task, tg_turn (*run)(tg_task *, tg_worker *), tg_job *job)
{
	task->run = run;
	task->job = job;
	task->next = NULL;
	task->state = TG_PARK_RUNNING;
	task->home = 0;
	task->flags = 0;
}

/* Number of workers to submit to, 0 if the pool does not run. */
static uint32_t
open_count(const tg_scheduler *scheduler)
{
	return tg_scheduler_is_running() ? tg_load_relaxed(&scheduler->worker_count) : 0;
}

/* The worker at which the session begins. */
static uint32_t
first_choice(const tg_scheduler *scheduler, const tg_session *session, uint32_t count)
{
	static __thread uint32_t turn;

	if (tg_likely(tg_load_relaxed(&scheduler->preferred_worker)))
		return session->id % count;
	return (session->id + turn++) % count;
}

/* The session's first worker, or the second if that one is in a long task and has more to do. */
static tg_worker *
choose(tg_scheduler *scheduler, const tg_session *session, uint32_t count)
{
	uint32_t first = first_choice(scheduler, session, count);
	tg_worker *worker = &scheduler->workers[first];
	tg_worker *other;

	if (tg_likely(!tg_worker_is_long(worker)) || count == 1)
		return worker;
	other = &scheduler->workers[(first + 1 + session->id / count % (count - 1)) % count];
	return tg_worker_queued(other) + tg_worker_is_long(other) <= tg_worker_queued(worker) ? other : worker;
}

uint32_t
tg_worker_choose(const tg_session *session)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint32_t count = open_count(scheduler);

	return count > 0 ? choose(scheduler, session, count)->id : 0;
}

static tg_status
submit_home(tg_scheduler *scheduler, tg_task *task)
{
	tg_worker *worker = tg_worker_home(scheduler, task);

	if (!tg_queue_put(&worker->sticky, task))
		return TG_STOPPED;
	(void) tg_worker_wake(scheduler, worker);
	return TG_OK;
}

tg_status
tg_task_submit(tg_session *session, tg_worker *worker, tg_task *task)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint32_t count;

	if (worker)
	{
		tg_worker_push(worker, task);
		return TG_OK;
	}
	count = open_count(scheduler);
	if (count == 0)
		return TG_STOPPED;
	if (tg_unlikely(task->home != 0))
		return submit_home(scheduler, task);
	worker = choose(scheduler, session, count);
	if (!tg_queue_put(&worker->inbox, task))
		return TG_STOPPED;
	tg_failpoint("submit.put");
	if (tg_is_stealing(scheduler))
		tg_worker_notify(scheduler, worker->id);
	else
		(void) tg_worker_wake(scheduler, worker);
	return TG_OK;
}

/* A sleeping worker, else one that is not in a long task, else any. */
static tg_worker *
choose_soonest(tg_scheduler *scheduler, const tg_session *session, uint32_t count)
{
	uint32_t first = first_choice(scheduler, session, count);
	tg_worker *awake = NULL;

	for (uint32_t i = 0; i < count; i++)
	{
		tg_worker *worker = &scheduler->workers[(first + i) % count];

		if (tg_load_relaxed(&worker->park) == TG_PARK_PARKED)
			return worker;
		if (!awake && !tg_worker_is_long(worker))
			awake = worker;
	}
	return awake ? awake : &scheduler->workers[first];
}

tg_status
tg_task_submit_urgent(tg_session *session, tg_task *task)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint32_t count = open_count(scheduler);
	tg_worker *worker;

	if (count == 0)
		return TG_STOPPED;
	if (task->home != 0)
		return submit_home(scheduler, task);
	worker = choose_soonest(scheduler, session, count);
	if (!tg_queue_put_first(&worker->inbox, task))
		return TG_STOPPED;
	tg_store_relaxed(&worker->has_urgent, true);
	tg_failpoint("submit.put");
	if (!tg_worker_wake(scheduler, worker) && tg_is_stealing(scheduler))
		tg_worker_notify(scheduler, worker->id);
	return TG_OK;
}

tg_status
tg_task_submit_sticky(tg_session *session, unsigned worker, tg_task *task)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	(void) session;
	tg_assert(worker < UINT16_MAX);
	if (open_count(scheduler) == 0)
		return TG_STOPPED;
	task->home = (uint16_t) (worker + 1);
	return submit_home(scheduler, task);
}

void
tg_task_unpark(tg_session *session, tg_task *task)
{
	(void) session;
	if (tg_park_notify(&task->state))
		tg_worker_requeue(tg_scheduler_shared, task);
}
