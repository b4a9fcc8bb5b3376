/*
 * wake.c
 *	  Sleeping and waking workers: no wake-up is lost.
 *
 *		RUNNING --nothing of its own--> SEARCHING --nothing at all--> SUSPENDED
 *		   ^								|  ^							|
 *		   +----------- found --------------+  +-- woken, time-out, looked again
 *
 * There are three kinds of work, each with its own way to wake.
 *
 *	- Work that any worker may take, submitted by any thread of any process to an
 *	  inbox or the global queue (tg_worker_notify).  While a worker searches, or is
 *	  waking up, no other is woken; else one sleeping worker is, by one
 *	  compare-and-swap and one futex call.
 *	- Work for one worker, in its sticky queue, or in its inbox while stealing is
 *	  off (tg_worker_wake): that worker is woken, regardless of the others.
 *	- A push onto the worker's own deque.  It must be cheap, so it only reads a
 *	  word, the alarm, behind a light fence.
 *
 * One latch covers the transitions of workers: to suspend themselves, to notice that they are
 * awake, to become the distributor and to cease to be it.  A submitter takes no latch.
 *
 * Invariants
 *	1. searching counts the workers in SEARCHING.
 *	2. sleeping counts the workers with is_suspended.  The worker sets that before
 *	   its park word is PARKED.  It is cleared after the word has ceased to be
 *	   PARKED: by the worker when it is awake, or by the distributor that wakes it.
 *	   So sleeping is at least the number of words that are PARKED.
 *	3. There is at most one distributor.
 *	4. alarm is set if and only if a worker sleeps, there is no distributor and
 *	   thefts are allowed, as of the last transition.  (The thread that changes the
 *	   setting wakes the sleeping workers, which are transitions.)
 *	5. No lost wake-up.  Take a task in an inbox, the global queue or a deque, once
 *	   its submitter has left this file.  A worker sees the task before that worker
 *	   sleeps, or all workers run tasks, or the distributor will look there within
 *	   NAP_US_MAX.  A task in a sticky queue is seen by its worker before that
 *	   sleeps.
 *
 * Why 5 holds for inboxes and the global queue (Dekker; S is the order of
 * seq_cst fences)
 *	Submitter:	put the task; fence F; read sleeping, searching, the park words.
 *	Sleeper:	sleeping + 1; PARKED; searching - 1; fence G; look at all queues.
 *	Riser:		RUNNING; searching + 1; fence R; look at all queues, as it searches.
 *	Leaver:		searching - 1; if that made it 0: fence H; look at all queues, and
 *				if there is a task, act as a submitter.
 *	The submitter wakes no worker in four cases.
 *	- It saw sleeping 0 or, at the end, no word but RUNNING: a worker whose G is
 *	  before F would have been seen sleeping, unless it has risen since.  So each
 *	  worker's next fence, G or H of the last searcher, is after F and shows it the
 *	  task; or the worker has left the search before, and runs a task.
 *	- It saw searching > 0: so there is a worker, X, whose "- 1" it did not see.
 *	  Some worker, X or a later one, makes searching 0 after that, in the order of
 *	  changes of searching.  That worker's fence after it, G or H, is after F, or
 *	  the submitter would have seen that 0 or a later value.  That worker sees the
 *	  task: it takes it, or wakes a sleeping worker for it.
 *	- It saw a word NOTIFIED: its worker's R is after F, or the submitter would
 *	  have seen RUNNING or a later value.  That worker sees the task, or, if it
 *	  finds another one first, is a leaver.
 *	- Another thread's compare-and-swap on the word came first: as before.
 *
 * For sticky queues only the one word counts: PARKED, and it is woken; NOTIFIED,
 * and its R is after F; RUNNING, and its next G is.  R and G precede a look at the
 * own sticky queue.  The same argument holds for an inbox while stealing is off.
 *
 * For pushes
 *	Pusher:		push; light fence; read alarm; 1: as a submitter, F included.
 *	Raiser:		alarm := 1; ...; heavy fence; look at all queues, before it sleeps.
 *	The heavy fence is in every running thread of this process, so either the
 *	push is before it and the raiser sees the task, or the pusher sees the alarm.
 *	A raiser is a searching worker or the distributing thread.  If it finds
 *	another task than this one it is a leaver, and its "- 1" hands on the stores
 *	that the heavy fence made visible to the worker that makes searching 0.  The
 *	alarm is lowered by the last sleeping worker that wakes, or by the distributor:
 *	both are awake, and look later.  The distributor looks at every deque once per
 *	round, and after each nap, whether woken or not; when it ceases to be the
 *	distributor it raises the alarm.
 *
 * Urgent submissions put the task first and wake then, as tg_worker_wake does; if that worker
 * proves to be awake, they are submissions like others.  The same holds for the tasks that the
 * distributor hands out.
 *
 * A worker flushes its pending list before it is suspended, so "all queues" in this file does not
 * include that list; the watcher submits from outside.
 *
 * Departure: in the design the last active worker looks again under the latch.  Here each worker
 * looks, after its fence and without the latch: there are more looks, but the transitions of other
 * workers do not wait for a heavy fence.
 */
#include "runtime/sched/wake.h"

#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"

/* --- finding work -------------------------------------------------------------- */

static uint32_t
worker_count(const tg_scheduler *scheduler)
{
	return tg_load_relaxed(&scheduler->worker_count);
}

bool
tg_has_work(const tg_scheduler *scheduler)
{
	if (tg_queue_count(&scheduler->global) > 0)
		return true;
	if (!tg_is_stealing(scheduler))
		return false;
	for (uint32_t i = 0; i < worker_count(scheduler); i++)
	{
		if (tg_worker_queued(&scheduler->workers[i]) > 0)
			return true;
	}
	return false;
}

/* Whether there is work that this worker could take. */
static bool
has_work_for(const tg_scheduler *scheduler, const tg_worker *worker)
{
	return tg_queue_count(&worker->inbox) > 0 || tg_queue_count(&worker->sticky) > 0 || tg_has_work(scheduler);
}

/* --- waking --------------------------------------------------------------------- */

static bool
wake_parked(tg_worker *worker)
{
	if (!tg_park_notify_parked(&worker->park))
		return false;
	tg_park_wake(&worker->park);
	return true;
}

/* Wakes one sleeping worker, the distributor last; none if one is waking up already. */
static void
wake_any(tg_scheduler *scheduler, unsigned first)
{
	uint32_t count = worker_count(scheduler);
	uint32_t distributor = tg_load_relaxed(&scheduler->distributor);
	tg_worker *napping = NULL;

	for (uint32_t i = 0; i < count; i++)
	{
		tg_worker *worker = &scheduler->workers[(first + i) % count];
		uint32_t word = tg_load_relaxed(&worker->park);

		if (word == TG_PARK_RUNNING)
			continue;
		if (word == TG_PARK_PARKED && worker->id + 1 == distributor)
			napping = worker;
		else if (wake_parked(worker) || tg_load_relaxed(&worker->park) == TG_PARK_NOTIFIED)
			return;
	}
	if (napping)
		(void) wake_parked(napping);
}

void
tg_worker_notify(tg_scheduler *scheduler, unsigned first)
{
	tg_fence_seq_cst();
	tg_failpoint("wake.notify");
	if (tg_load_relaxed(&scheduler->sleeping) == 0 || tg_load_relaxed(&scheduler->searching) != 0)
		return;
	wake_any(scheduler, first);
}

bool
tg_worker_wake(tg_scheduler *scheduler, tg_worker *worker)
{
	(void) scheduler;
	tg_fence_seq_cst();
	tg_failpoint("wake.wake");
	return wake_parked(worker);
}

void
tg_wake_for_push(tg_scheduler *scheduler, const tg_worker *worker)
{
	if (tg_load_relaxed(&scheduler->distribution) != TG_DISTRIBUTOR_THREAD)
	{
		tg_worker_notify(scheduler, worker->id + 1);
		return;
	}
	tg_fence_seq_cst();
	if (tg_park_notify_parked(&scheduler->thread_park))
		tg_park_wake(&scheduler->thread_park);
}

/* --- transitions ------------------------------------------------------------------- */

/*
 * Sets the alarm from the state that it depends on.  True if it was raised: the caller makes a
 * heavy fence.  Under the latch.
 */
static bool
alarm_set(tg_scheduler *scheduler)
{
	bool before = tg_load_relaxed(&scheduler->alarm);
	bool after = scheduler->sleeping > 0 && scheduler->distributor == TG_DISTRIBUTOR_NONE && tg_is_stealing(scheduler);

	if (after != before)
		tg_store_relaxed(&scheduler->alarm, after);
	return after && !before;
}

/* True: the alarm was raised. */
static bool
suspended_set(tg_scheduler *scheduler, tg_worker *worker, bool suspended)
{
	bool raised = false;

	tg_latch_acquire(&scheduler->latch);
	if (worker->is_suspended != suspended)
	{
		worker->is_suspended = suspended;
		tg_store_relaxed(&scheduler->sleeping, scheduler->sleeping + (suspended ? 1 : (uint32_t) -1));
		tg_assert(scheduler->sleeping <= worker_count(scheduler));
		raised = alarm_set(scheduler);
	}
	tg_latch_release(&scheduler->latch);
	return raised;
}

bool
tg_worker_activate(tg_scheduler *scheduler, tg_worker *worker)
{
	bool woken;

	tg_latch_acquire(&scheduler->latch);
	woken = tg_park_notify_parked(&worker->park);
	if (woken)
	{
		tg_assert(worker->is_suspended && scheduler->distributor != TG_DISTRIBUTOR_NONE);
		worker->is_suspended = false;
		tg_store_relaxed(&scheduler->sleeping, scheduler->sleeping - 1);
	}
	tg_latch_release(&scheduler->latch);
	if (woken)
		tg_park_wake(&worker->park);
	return woken;
}

static void
fence_after(bool raised)
{
	if (raised)
		tg_fence_heavy();
	else
		tg_fence_seq_cst();
}

void
tg_search_enter(tg_scheduler *scheduler)
{
	tg_fetch_add_seq_cst(&scheduler->searching, 1);
}

void
tg_search_leave(tg_scheduler *scheduler, const tg_worker *worker)
{
	uint32_t searching = tg_fetch_add_seq_cst(&scheduler->searching, (uint32_t) -1);

	tg_assert(searching > 0);
	if (searching != 1)
		return;
	tg_fence_seq_cst();
	if (tg_load_relaxed(&scheduler->sleeping) > 0 && tg_has_work(scheduler))
		tg_worker_notify(scheduler, worker->id + 1);
}

bool
tg_search_end(tg_scheduler *scheduler, const tg_worker *worker)
{
	tg_fetch_add_seq_cst(&scheduler->searching, (uint32_t) -1);
	tg_fence_seq_cst();
	if (!has_work_for(scheduler, worker))
		return true;
	tg_fetch_add_seq_cst(&scheduler->searching, 1);
	return false;
}

bool
tg_worker_suspend(tg_scheduler *scheduler, tg_worker *worker, uint64_t timeout_us)
{
	bool raised = suspended_set(scheduler, worker, true);
	bool notified;

	tg_failpoint("suspend.begin");
	tg_check(tg_park_try(&worker->park));
	tg_fetch_add_seq_cst(&scheduler->searching, (uint32_t) -1);
	fence_after(raised);
	tg_failpoint("suspend.look");
	if (has_work_for(scheduler, worker) || tg_is_ending(scheduler))
	{
		(void) tg_park_cancel(&worker->park);
		notified = true;
	}
	else
	{
		tg_failpoint("suspend.sleep");
		notified = tg_park_sleep(&worker->park, timeout_us);
	}
	tg_failpoint("suspend.rise");
	tg_fetch_add_seq_cst(&scheduler->searching, 1);
	fence_after(suspended_set(scheduler, worker, false));
	return notified;
}

/* --- the distributor ------------------------------------------------------------------ */

bool
tg_distributor_is_useful(const tg_scheduler *scheduler)
{
	uint32_t sleeping = tg_load_relaxed(&scheduler->sleeping);
	uint32_t count = worker_count(scheduler);

	if (!tg_is_stealing(scheduler))
		return false;
	if (tg_load_relaxed(&scheduler->distribution) == TG_DISTRIBUTOR_THREAD)
		return sleeping > 0 && sleeping < count;
	return sleeping + 1 < count;
}

bool
tg_distributor_take(tg_scheduler *scheduler, uint32_t who)
{
	bool taken;

	tg_latch_acquire(&scheduler->latch);
	taken = scheduler->distributor == TG_DISTRIBUTOR_NONE && tg_distributor_is_useful(scheduler);
	if (taken)
	{
		tg_store_relaxed(&scheduler->distributor, who);
		tg_store_relaxed(&scheduler->distributions, scheduler->distributions + 1);
		(void) alarm_set(scheduler);
	}
	tg_latch_release(&scheduler->latch);
	return taken;
}

void
tg_distributor_leave(tg_scheduler *scheduler, uint32_t who)
{
	bool raised;

	tg_latch_acquire(&scheduler->latch);
	tg_check(scheduler->distributor == who);
	tg_store_relaxed(&scheduler->distributor, TG_DISTRIBUTOR_NONE);
	raised = alarm_set(scheduler);
	tg_latch_release(&scheduler->latch);
	fence_after(raised);
}
