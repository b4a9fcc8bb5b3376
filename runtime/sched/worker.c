/*
 * worker.c
 *	  A worker's loop, and who is woken when.
 *
 * A worker takes from its own deque, then from its inbox, then from the global
 * queue.  With nothing there it searches: inbox, global queue, the other
 * workers, in rotation from the last one that had work; half of a victim's
 * deque at once, or the whole inbox of a victim whose deque is empty.  Every
 * ROUND_FAIR-th round global queue or inbox come before the deque, in turns,
 * and sometimes the deque's oldest task, so that nothing starves.
 *
 *		RUNNING --nothing of its own--> SEARCHING --nothing at all--> SUSPENDED
 *		   ^								|  ^							|
 *		   +----------- found --------------+  +-- woken, time-out, taken --+
 *												   back (looked again)
 *
 * Backends work on the same CPUs, so a search is short: SPIN_TIGHT rounds, then
 * yielding ones up to SPIN_MAX, then the worker sleeps.  One searching worker
 * hands work on: a submitter wakes nobody while somebody searches, and who
 * leaves the search as the last one looks whether there is more, and wakes the
 * next.  A waker counts its sleeper as searching at once, so that further
 * submissions do not wake more.
 *
 * Invariants
 *	1. searching counts the workers in SEARCHING, those woken but not yet up,
 *	   and a waker's claim while it looks for a sleeper.
 *	2. sleeping is at least the number of PARKED words: it is raised before the
 *	   word is PARKED, and lowered after it has ceased to be.
 *	3. No lost wake-up: a task in an inbox, the global queue or a deque, all
 *	   fences passed, has a worker that is awake and will look there, or the
 *	   thread that owns the deque.
 *
 * Why 3 holds (Dekker, S is the order of seq_cst fences)
 *	Submitter:	put the task; fence F; read searching; 0: read the park words.
 *	Sleeper:	PARKED, searching - 1; fence G; look at everything again.
 *	Leaver:		searching - 1, bringing it to 0; fence H; look at all park
 *				words and at everything again, wake somebody if there is both.
 *	- F before G: the sleeper sees the task and takes its word back.
 *	- G before F: the submitter sees PARKED and wakes, unless it has read
 *	  searching > 0.  Then somebody else, X, searches, whose "- 1" the submitter
 *	  did not see; so F precedes the fence after X's "- 1", and X, sleeping or
 *	  leaving, sees the task: it takes it, or wakes a sleeper for it.  If X was
 *	  not the last to leave, the argument repeats with one that was later.
 *	- A waker that claimed the search and found no sleeper is a leaver.  It
 *	  looks at park words, not at sleeping: a worker on its way to PARKED that
 *	  it does not see has its G after this H, and H is after the F of all who
 *	  relied on the claim, so that worker sees their tasks itself.
 *
 *	A push onto the own deque must be cheap, and its fence is not.  So it reads
 *	sleeping behind a light fence only, and takes the way above, F included, if
 *	it is not 0.  The sleeper's G is a heavy fence: either it comes after the
 *	push, and the sleeper sees the task; or before the read of sleeping, and the
 *	pusher sees at least 1.  Leavers need no heavy fence: while somebody is
 *	PARKED every pusher uses F.
 *
 * An inbox is emptied by its worker or by a thief; with stealing off only by
 * its worker, so that a submitter wakes exactly that one, whoever searches.
 *
 * Left out: distribution mode (the chain of wakers does its work one by one),
 * sticky queues, pending lists, sockets.
 */
#include "runtime/sched/worker.h"

#include <sched.h>
#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/park.h"
#include "runtime/sched/watcher.h"

#define ROUND_FAIR 61	/* rounds from one look at the others first to the next */
#define TURN_OLDEST 16	/* of those rounds, from one look at the deque's oldest task to the next */
#define TRANSFER_MAX 16 /* tasks that come along from inbox and global queue */
#define SPIN_TIGHT 4	/* rounds of a search without yielding */
#define SPIN_MAX 16		/* rounds of a search */

/* --- waking ----------------------------------------------------------------- */

static uint32_t
worker_count(const tg_scheduler *scheduler)
{
	return tg_load_relaxed(&scheduler->worker_count);
}

static bool
is_stealing(const tg_scheduler *scheduler)
{
	return tg_load_relaxed(&scheduler->stealing);
}

/* There is something that a searching worker could take. */
static bool
has_work(const tg_scheduler *scheduler)
{
	if (tg_queue_count(&scheduler->global) > 0)
		return true;
	if (!is_stealing(scheduler))
		return false;
	for (uint32_t i = 0; i < worker_count(scheduler); i++)
	{
		if (tg_worker_queued(&scheduler->workers[i]) > 0)
			return true;
	}
	return false;
}

static bool
somebody_is_parked(const tg_scheduler *scheduler)
{
	for (uint32_t i = 0; i < worker_count(scheduler); i++)
	{
		if (tg_load_relaxed(&scheduler->workers[i].park) == TG_PARK_PARKED)
			return true;
	}
	return false;
}

/* Ends one share in searching.  True if it was the last one and a sleeper is needed (head comment, leaver). */
static bool
search_leave(tg_scheduler *scheduler)
{
	uint32_t searching = tg_fetch_add_seq_cst(&scheduler->searching, (uint32_t) -1);

	tg_assert(searching > 0);
	if (searching != 1)
		return false;
	tg_fence_seq_cst();
	return somebody_is_parked(scheduler) && has_work(scheduler);
}

/* Wakes the worker if it is parked; the caller's share in searching is then the worker's. */
static bool
wake_parked(tg_scheduler *scheduler, tg_worker *worker)
{
	if (!tg_park_notify_parked(&worker->park))
		return false;
	tg_fetch_add_acq_rel(&scheduler->sleeping, (uint32_t) -1);
	tg_park_wake(&worker->park);
	return true;
}

static bool
wake_any(tg_scheduler *scheduler, unsigned first)
{
	uint32_t count = worker_count(scheduler);

	for (uint32_t i = 0; i < count; i++)
	{
		if (wake_parked(scheduler, &scheduler->workers[(first + i) % count]))
			return true;
	}
	return false;
}

void
tg_worker_notify(tg_scheduler *scheduler, unsigned first)
{
	tg_fence_seq_cst();
	for (;;)
	{
		uint32_t nobody = 0;

		if (tg_load_relaxed(&scheduler->sleeping) == 0 || tg_load_relaxed(&scheduler->searching) != 0)
			return;
		if (!tg_cas_seq_cst(&scheduler->searching, &nobody, 1))
			return;
		if (wake_any(scheduler, first) || !search_leave(scheduler))
			return;
	}
}

void
tg_worker_wake(tg_scheduler *scheduler, tg_worker *worker)
{
	tg_fence_seq_cst();
	if (tg_load_relaxed(&worker->park) != TG_PARK_PARKED)
		return;
	tg_fetch_add_seq_cst(&scheduler->searching, 1);
	if (!wake_parked(scheduler, worker) && search_leave(scheduler))
		tg_worker_notify(scheduler, worker->id);
}

void
tg_worker_requeue(tg_scheduler *scheduler, tg_task *task)
{
	tg_queue_put_always(&scheduler->global, task);
	tg_worker_notify(scheduler, 0);
}

/* --- the own deque ------------------------------------------------------------ */

/* Onto the deque, or, if that is full, into the global queue; wakes nobody. */
static void
keep(tg_worker *worker, tg_task *task)
{
	if (tg_unlikely(!tg_deque_push(&worker->deque, task)))
		tg_queue_put_always(&tg_scheduler_shared->global, task);
}

void
tg_worker_push(tg_worker *worker, tg_task *task)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	keep(worker, task);
	tg_fence_light();
	if (tg_load_relaxed(&scheduler->sleeping) != 0 && is_stealing(scheduler))
		tg_worker_notify(scheduler, worker->id + 1);
}

/* Keeps all of a chain but its first task, which it returns: pushed in reverse, so that they are popped in order. */
static tg_task *
keep_rest(tg_worker *worker, tg_task *first)
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

		keep(worker, reversed);
		reversed = next;
	}
	return first;
}

static tg_task *
take_from(tg_worker *worker, tg_queue *queue)
{
	tg_task *first = tg_queue_take(queue, 1 + TRANSFER_MAX);

	return first ? keep_rest(worker, first) : NULL;
}

static tg_task *
take_queued(tg_worker *worker)
{
	tg_task *task = take_from(worker, &worker->inbox);

	return task ? task : take_from(worker, &tg_scheduler_shared->global);
}

/* The task that waits longest in the own deque: with no thief about, those above could keep it there for ever. */
static tg_task *
take_oldest(tg_worker *worker)
{
	void *item;

	return tg_deque_steal(&worker->deque, &item, 1) == 1 ? item : NULL;
}

/* What else would come last comes first now. */
static tg_task *
take_fair(tg_worker *worker)
{
	uint32_t turn = worker->rounds / ROUND_FAIR;
	tg_queue *queue = turn % 2 ? &worker->inbox : &tg_scheduler_shared->global;
	tg_task *task = turn % TURN_OLDEST == 0 ? take_oldest(worker) : NULL;

	return task ? task : take_from(worker, queue);
}

/* A task without a search, NULL if there is none. */
static tg_task *
take(tg_worker *worker)
{
	tg_task *task;

	if (tg_unlikely(++worker->rounds % ROUND_FAIR == 0))
	{
		task = take_fair(worker);
		if (task)
			return task;
	}
	task = tg_deque_pop(&worker->deque);
	return tg_likely(task != NULL) ? task : take_queued(worker);
}

/* --- searching ------------------------------------------------------------------ */

static tg_task *
steal_from(tg_worker *worker, tg_worker *victim)
{
	void *items[TG_DEQUE_BATCH];
	int count = tg_deque_steal(&victim->deque, items, TG_DEQUE_BATCH);
	tg_task *first;

	if (count == TG_DEQUE_RACED)
		return NULL;
	if (count == 0)
	{
		first = tg_queue_splice(&victim->inbox);
		if (!first)
			return NULL;
		for (tg_task *task = first; task; task = task->next)
			count++;
		(void) keep_rest(worker, first);
	}
	else
	{
		first = items[0];
		for (int i = 1; i < count; i++)
			keep(worker, items[i]);
	}
	tg_store_relaxed(&worker->steals, worker->steals + 1);
	tg_store_relaxed(&worker->tasks_stolen, worker->tasks_stolen + (uint64_t) count);
	return first;
}

static tg_task *
steal(tg_worker *worker)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint32_t count = worker_count(scheduler);
	uint32_t first = worker->victim;

	if (!is_stealing(scheduler))
		return NULL;
	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t number = (first + i) % count;
		tg_task *task = number == worker->id ? NULL : steal_from(worker, &scheduler->workers[number]);

		if (task)
		{
			worker->victim = number;
			return task;
		}
	}
	return NULL;
}

static bool
is_ending(const tg_scheduler *scheduler)
{
	return tg_load_acquire(&scheduler->phase) == TG_PHASE_ENDING;
}

/* What a sleeper must not sleep on. */
static bool
must_stay_awake(const tg_scheduler *scheduler, const tg_worker *worker)
{
	return tg_queue_count(&worker->inbox) > 0 || has_work(scheduler) || is_ending(scheduler);
}

/* Sleeps until woken or the time is over; searching when it returns.  True if there may be work. */
static bool
suspend(tg_scheduler *scheduler, tg_worker *worker)
{
	bool mine; /* the end of the sleep is this worker's doing, the counts are not a waker's */
	bool woken;

	tg_retire_poll(worker->session);
	tg_store_relaxed(&worker->suspensions, worker->suspensions + 1);
	tg_store_relaxed(&worker->state, TG_WORKER_SUSPENDED);
	tg_fetch_add_seq_cst(&scheduler->sleeping, 1);
	tg_check(tg_park_try(&worker->park));
	tg_fetch_add_seq_cst(&scheduler->searching, (uint32_t) -1);
	tg_fence_heavy();
	if (must_stay_awake(scheduler, worker))
	{
		woken = true;
		mine = tg_park_cancel(&worker->park);
	}
	else
	{
		woken = tg_park_sleep(&worker->park, (uint64_t) tg_load_relaxed(&tg_settings_live.worker_suspend_ms) * 1000);
		mine = !woken;
	}
	if (mine)
	{
		tg_fetch_add_seq_cst(&scheduler->searching, 1);
		tg_fetch_add_acq_rel(&scheduler->sleeping, (uint32_t) -1);
	}
	tg_store_relaxed(&worker->wakeups, worker->wakeups + !mine);
	tg_store_relaxed(&worker->state, TG_WORKER_SEARCHING);
	return woken;
}

/* Leaves the search for good.  False if there is work again. */
static bool
search_end(tg_scheduler *scheduler, tg_worker *worker)
{
	tg_fetch_add_seq_cst(&scheduler->searching, (uint32_t) -1);
	tg_fence_seq_cst();
	if (tg_queue_count(&worker->inbox) == 0 && !has_work(scheduler))
		return true;
	tg_fetch_add_seq_cst(&scheduler->searching, 1);
	return false;
}

/* Waits for a task.  NULL: the pool ends. */
static tg_task *
search(tg_worker *worker)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	unsigned round = 0;

	tg_fetch_add_seq_cst(&scheduler->searching, 1);
	tg_store_relaxed(&worker->state, TG_WORKER_SEARCHING);
	for (;;)
	{
		tg_task *task = take_queued(worker);

		if (!task)
			task = steal(worker);
		if (task)
		{
			tg_store_relaxed(&worker->state, TG_WORKER_RUNNING);
			if (search_leave(scheduler))
				tg_worker_notify(scheduler, worker->id + 1);
			tg_watcher_rouse(scheduler);
			return task;
		}
		if (++round < SPIN_TIGHT)
			tg_pause();
		else if (round < SPIN_MAX)
			sched_yield();
		else if (is_ending(scheduler))
		{
			if (search_end(scheduler, worker))
				return NULL;
			sched_yield();
		}
		else if (tg_load_relaxed(&tg_settings_live.busy_worker))
			sched_yield();
		else
			round = suspend(scheduler, worker) ? 0 : SPIN_MAX;
	}
}

/* --- running ---------------------------------------------------------------------- */

/*
 * Puts the task that just ran into the global queue.  If nothing else waits
 * this worker itself will find it next, and need not wake anybody.
 */
static void
requeue_own(tg_worker *worker, tg_task *task)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	tg_queue_put_always(&scheduler->global, task);
	if (tg_worker_queued(worker) > 0 || tg_queue_count(&scheduler->global) > 1)
		tg_worker_notify(scheduler, worker->id + 1);
}

/*
 * The task is nobody's business after its run returns DONE, or once it is
 * PARKED or queued again; so the job is read before.
 */
static void
run(tg_worker *worker, tg_task *task)
{
	tg_job *job = task->job;

	tg_store_relaxed(&worker->job, job);
	tg_store_relaxed(&worker->tasks_run, worker->tasks_run + 1);
	tg_park_consume(&task->state);
	switch (task->run(task, worker))
	{
		case TG_TURN_DONE:
			if (job)
				tg_job_task_ended(worker->session, job);
			break;
		case TG_TURN_AGAIN:
			requeue_own(worker, task);
			break;
		case TG_TURN_PARK:
			if (!tg_park_try(&task->state))
				requeue_own(worker, task);
			break;
	}
	tg_assert(!tg_epoch_inside(worker->session));
}

void *
tg_worker_main(void *argument)
{
	tg_worker *worker = argument;

	tg_store_relaxed(&worker->state, TG_WORKER_RUNNING);
	for (;;)
	{
		tg_task *task = take(worker);

		if (!task)
			task = search(worker);
		if (!task)
			break;
		run(worker, task);
	}
	tg_assert(tg_worker_queued(worker) == 0);
	tg_retire_poll(worker->session);
	tg_store_relaxed(&worker->state, TG_WORKER_STOPPED);
	return NULL;
}
