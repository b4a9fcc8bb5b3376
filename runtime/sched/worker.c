/*
 * worker.c
 *	  A worker's loop: the order in which it takes tasks, and how it runs them.
 *
 * The order: the sticky queue and the own deque, the sticky queue first except in
 * local_first_permille of the rounds; the pending list before the deque; then the inbox, then the
 * global queue, of which up to TRANSFER_MAX tasks are moved into the deque.  If there is nothing,
 * the worker searches (search.c).
 *
 * The common round is a pop of the own deque: it writes no line that other threads write, and
 * beyond the deque's own it has no fence and no atomic read-modify-write.  Checking the other
 * sources costs two loads of lines that seldom change, and a branch.
 *
 * Nothing starves: in every ROUND_FAIR-th round global queue, inbox and sticky queue come first, in
 * turns, and from time to time the deque's oldest task.
 *	- A task that comes AGAIN goes behind the tasks in the global queue.
 *	- A child that endlessly spawns a child keeps the deque busy: each of the three queues gets one
 *	  round of 3 * ROUND_FAIR, and the tasks below the child in the deque get one of
 *	  TURN_OLDEST * ROUND_FAIR.
 *	- Endless sticky tasks, at a share of 0 for the deque: likewise.
 * An urgent task makes the inbox come first in the next round.
 *
 * A task belongs to one worker from the moment when it is taken to the end of its turn; the worker
 * does not access it after the result of the turn.
 */
#include "runtime/sched/worker.h"

#include <sched.h>
#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/sched/fork.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/message.h"
#include "runtime/sched/park.h"
#include "runtime/sched/topology.h"
#include "runtime/sched/wake.h"

#define ROUND_FAIR 61		 /* every so many rounds, one begins with another source */
#define TURN_OLDEST 16		 /* every so many of those begin with the deque's oldest task */
#define TRANSFER_MAX 16		 /* tasks that are moved along from inbox and global queue */
#define IN_PLACE_CAPACITY 64 /* initial, of the deque of a worker in place */

/* --- putting ---------------------------------------------------------------------- */

void
tg_worker_push_full(tg_worker *worker, tg_task *task)
{
	tg_store_relaxed(&worker->overflows, worker->overflows + 1);
	tg_queue_put_always(worker->in_place ? &worker->inbox : &tg_scheduler_shared->global, task);
}

void
tg_worker_keep(tg_worker *worker, tg_task *task)
{
	if (tg_unlikely(!tg_deque_push(&worker->deque, task)))
		tg_worker_push_full(worker, task);
}

tg_task *
tg_worker_keep_rest(tg_worker *worker, tg_task *first)
{
	tg_task *reversed = NULL;

	for (tg_task *task = first->next; task;)
	{
		tg_task *next = task->next;

		task->next = reversed;
		reversed = task;
		task = next;
	}
	while (reversed)
	{
		tg_task *next = reversed->next;

		tg_worker_keep(worker, reversed);
		reversed = next;
	}
	return first;
}

/* Puts a task into its sticky queue; wakes only that queue's worker. */
static void
put_home(tg_scheduler *scheduler, tg_task *task)
{
	tg_worker *home = tg_worker_home(scheduler, task);

	tg_queue_put_always(&home->sticky, task);
	(void) tg_worker_wake(scheduler, home);
}

void
tg_worker_push_home(tg_task *task)
{
	put_home(tg_scheduler_shared, task);
}

void
tg_worker_push_waking(const tg_worker *worker)
{
	if (!worker->in_place)
		tg_wake_for_push(tg_scheduler_shared, worker);
}

void
tg_worker_requeue(tg_scheduler *scheduler, tg_task *task)
{
	if (task->home != 0)
		put_home(scheduler, task);
	else
	{
		tg_queue_put_always(&scheduler->global, task);
		tg_worker_notify(scheduler, 0);
	}
}

/* --- taking -------------------------------------------------------------------------- */

static tg_task *
take_from(tg_worker *worker, tg_queue *queue)
{
	tg_task *first = tg_queue_take(queue, 1 + TRANSFER_MAX);

	return first ? tg_worker_keep_rest(worker, first) : NULL;
}

static tg_task *
take_sticky(tg_worker *worker)
{
	tg_task *task = tg_queue_take(&worker->sticky, 1);

	if (task)
		tg_store_relaxed(&worker->sticky_run, worker->sticky_run + 1);
	return task;
}

/* True in one round of each 1000 / local_first_permille. */
static bool
deque_comes_first(tg_worker *worker)
{
	worker->local_share += tg_load_relaxed(&tg_settings_live.local_first_permille);
	if (worker->local_share < 1000)
		return false;
	worker->local_share -= 1000;
	return true;
}

static tg_task *
take_special(tg_worker *worker)
{
	tg_task *task = NULL;

	if (tg_load_relaxed(&worker->has_urgent))
	{
		/* if another one comes at this moment, it is the first in the inbox */
		tg_store_relaxed(&worker->has_urgent, false);
		task = tg_queue_take(&worker->inbox, 1);
	}
	if (!task && tg_queue_count(&worker->sticky) > 0)
	{
		if (deque_comes_first(worker))
			task = tg_deque_pop(&worker->deque);
		if (!task)
			task = take_sticky(worker);
	}
	if (!task && !tg_pending_is_empty(&worker->pending))
		task = tg_pending_scan(worker);
	return task;
}

/*
 * The task that waits longest in the own deque: without thieves, the tasks above could keep it
 * there for ever.
 */
static tg_task *
take_oldest(tg_worker *worker)
{
	void *item;

	return tg_deque_steal(&worker->deque, &item, 1) == 1 ? item : NULL;
}

/* Takes first from a source that otherwise comes last. */
static tg_task *
take_fair(tg_worker *worker)
{
	uint32_t turn = worker->fair_turn++;
	tg_task *task = turn % TURN_OLDEST == 0 ? take_oldest(worker) : NULL;

	worker->fair_in = ROUND_FAIR;
	if (task)
		return task;
	switch (turn % 3)
	{
		case 0:
			return take_from(worker, &tg_scheduler_shared->global);
		case 1:
			return take_from(worker, &worker->inbox);
		default:
			return take_sticky(worker);
	}
}

tg_task *
tg_worker_take_queued(tg_worker *worker)
{
	tg_task *task = tg_worker_has_special(worker) ? take_special(worker) : NULL;

	if (!task)
		task = take_from(worker, &worker->inbox);
	return task ? task : take_from(worker, &tg_scheduler_shared->global);
}

/* A task without a search, NULL if there is none. */
static inline tg_task *
take(tg_worker *worker)
{
	tg_task *task = NULL;

	if (tg_unlikely(--worker->fair_in == 0))
		task = take_fair(worker);
	else if (tg_unlikely(tg_worker_has_special(worker)))
		task = take_special(worker);
	if (!task)
		task = tg_deque_pop(&worker->deque);
	return tg_likely(task != NULL) ? task : tg_worker_take_queued(worker);
}

/* --- running -------------------------------------------------------------------------- */

/*
 * Puts the task that just ran where it will be taken again: into the global queue, so that other
 * tasks come first, or home.  If no other task waits, this worker itself will find it next, and
 * need not wake another worker.
 */
static void
requeue_own(tg_worker *worker, tg_task *task)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	if (task->home != 0)
	{
		if (tg_worker_home(scheduler, task) == worker)
			tg_queue_put_always(&worker->sticky, task);
		else
			put_home(scheduler, task);
	}
	else
	{
		tg_queue_put_always(&scheduler->global, task);
		if (tg_worker_queued(worker) > 0 || tg_queue_count(&scheduler->global) > 1)
			tg_worker_notify(scheduler, worker->id + 1);
	}
}

/* Handles turns that do not end their task. */
static void
go_on(tg_worker *worker, tg_task *task, tg_turn turn)
{
	if (turn == TG_TURN_AGAIN)
	{
		tg_store_relaxed(&worker->yields, worker->yields + 1);
		requeue_own(worker, task);
	}
	else
	{
		tg_store_relaxed(&worker->parks, worker->parks + 1);
		tg_failpoint("worker.park");
		if (!tg_park_try(&task->state))
			requeue_own(worker, task);
	}
}

/*
 * The worker must not access the task after its run returns DONE or PASSED, or once it is PARKED or
 * queued again; so the job is read before.
 */
static inline void
run(tg_worker *worker, tg_task *task)
{
	tg_job *job = task->job;
	tg_turn turn;

	tg_store_relaxed(&worker->job, job);
	tg_store_relaxed(&worker->tasks_run, worker->tasks_run + 1);
	tg_park_consume(&task->state);
	tg_claims_privilege(worker->session, job != NULL && tg_job_is_privileged(job));
	turn = task->run(task, worker);
	if (tg_likely(turn == TG_TURN_DONE))
	{
		if (job)
			tg_job_task_ended(worker->session, job);
	}
	else if (turn != TG_TURN_PASSED)
		go_on(worker, task, turn);
	tg_assert(!tg_epoch_inside(worker->session));
}

/* Pins the thread if the settings say so, and determines its socket. */
static void
settle_down(tg_worker *worker)
{
	unsigned core = tg_load_relaxed(&tg_settings_live.initial_core) + worker->id;

	tg_store_relaxed(&worker->core, -1);
	if (tg_load_relaxed(&tg_settings_live.core_affinity))
	{
		if (tg_topology_pin(core))
			tg_store_relaxed(&worker->core, (int32_t) core);
		else
			tg_message_post("worker %u could not be pinned to core %u", worker->id, core);
	}
	tg_store_relaxed(&worker->socket, tg_topology_socket(sched_getcpu()));
}

void *
tg_worker_main(void *argument)
{
	tg_worker *worker = argument;

	settle_down(worker);
	tg_store_relaxed(&worker->state, TG_WORKER_RUNNING);
	for (;;)
	{
		tg_task *task = take(worker);

		if (!task)
			task = tg_worker_search(worker);
		if (!task)
			break;
		run(worker, task);
	}
	tg_assert(tg_worker_queued(worker) == 0);
	tg_frames_flush(worker);
	tg_retire_poll(worker->session);
	tg_store_relaxed(&worker->state, TG_WORKER_STOPPED);
	return NULL;
}

/* --- calls from tasks ------------------------------------------------------------------ */

tg_session *
tg_worker_session(tg_worker *worker)
{
	return worker->session;
}

bool
tg_should_yield(tg_worker *worker)
{
	if (!tg_worker_is_long(worker))
		return false;
	tg_pending_flush(worker); /* because it makes no rounds meanwhile */
	return tg_worker_queued(worker) > 0 || tg_queue_count(&worker->sticky) > 0 ||
		   tg_queue_count(&tg_scheduler_shared->global) > 0;
}

/* --- in place ------------------------------------------------------------------------------ */

tg_status
tg_worker_init_in_place(tg_worker *worker, tg_session *session)
{
	*worker = (tg_worker){.in_place = true, .session = session, .state = TG_WORKER_RUNNING, .task_long = TG_TASK_NONE};
	tg_queue_init(&worker->inbox);
	return tg_deque_init(&worker->deque, IN_PLACE_CAPACITY, 0);
}

tg_task *
tg_worker_take_in_place(tg_worker *worker)
{
	tg_task *task = tg_deque_pop(&worker->deque);

	return task ? task : tg_queue_take(&worker->inbox, 1);
}

void
tg_worker_end_in_place(tg_worker *worker)
{
	tg_assert(tg_worker_queued(worker) == 0);
	tg_frames_flush(worker);
	tg_deque_destroy(&worker->deque);
}
