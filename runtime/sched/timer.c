/*
 * timer.c
 *	  Timers: a heap of times in the arena.
 *
 * A pairing heap (Fredman, Sedgewick, Sleator, Tarjan, "The pairing heap", 1986):
 * starting is O(1), taking the earliest and cancelling any O(log n) amortized,
 * and its links lie in the timers, so that no start can fail for memory.
 *
 *	  child: its first; sibling: the next child of the same parent; previous: the
 *	  sibling before, of a first child its parent, of the root NULL.
 *
 * One latch guards the heap: a cancelled timer has left it when cancel returns, and its memory may
 * be freed.
 *
 * 1. A timer is in the heap while it waits.  Exactly one thread takes it out, under the latch: the
 *    watcher, to submit its task, or the thread that cancels it.  After that the watcher touches
 *    nothing but the task it submits.
 * 2. The watcher notes, under the latch, until when it is going to sleep.  A thread that starts a
 *    timer due before that time wakes the watcher.  So either the watcher has seen the timer before
 *    it slept, or it is woken.
 * 3. A timer of a cancelled job is due at once.  The thread that starts a timer puts it in, fences,
 *    and looks at the job.  The thread that cancels marks the job, fences, and looks whether there
 *    are timers of jobs.  One of the two sees the other's change.
 *
 * Timers of the same time fire in any order.
 */
#include <stddef.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/sched/condition_internal.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/park.h"
#include "runtime/sched/watcher.h"

#define BATCH_MAX 64 /* timers taken out in one go */

typedef struct timers
{
	tg_latch latch TG_CACHE_ALIGNED;
	tg_timer *root;	   /* under the latch, as all below */
	uint64_t wakes_us; /* the watcher's next look is no later than this */
	uint32_t count;	   /* read by all, as the next one */
	uint32_t of_jobs;  /* timers with a job */
	uint32_t let_go;   /* not under the latch: set by the cancelling thread, taken by the watcher */
} timers;

static timers *shared; /* in the arena; set by tg_timers_create, inherited by fork */

tg_status
tg_timers_create(tg_session *session)
{
	shared = tg_alloc_zeroed(session, sizeof(timers), TG_USE_RUNTIME, TG_ESSENTIAL);
	if (!shared)
		return TG_NO_MEMORY;
	tg_latch_init(&shared->latch, TG_RANK_TIMER);
	return TG_OK;
}

/* --- the heap, under the latch ------------------------------------------------------ */

/* Makes one heap of two roots; returns its root. */
static tg_timer *
meld(tg_timer *one, tg_timer *other)
{
	if (other->due_us < one->due_us)
	{
		tg_timer *earlier = other;

		other = one;
		one = earlier;
	}
	other->sibling = one->child;
	if (one->child)
		one->child->previous = other;
	other->previous = one;
	one->child = other;
	one->sibling = NULL;
	one->previous = NULL;
	return one;
}

/* Makes one heap of a row of siblings, in pairs from the left, then all from the right. */
static tg_timer *
combine(tg_timer *first)
{
	tg_timer *pairs = NULL;
	tg_timer *root = NULL;

	while (first)
	{
		tg_timer *one = first;
		tg_timer *other = one->sibling;

		first = other ? other->sibling : NULL;
		if (other)
			one = meld(one, other);
		one->sibling = pairs;
		pairs = one;
	}
	while (pairs)
	{
		tg_timer *next = pairs->sibling;

		pairs->sibling = NULL;
		pairs->previous = NULL;
		root = root ? meld(root, pairs) : pairs;
		pairs = next;
	}
	return root;
}

static void
put(tg_timer *timer)
{
	timer->child = NULL;
	timer->sibling = NULL;
	timer->previous = NULL;
	shared->root = shared->root ? meld(shared->root, timer) : timer;
}

static void
take_out(tg_timer *timer)
{
	tg_timer *children = combine(timer->child);

	if (timer == shared->root)
		shared->root = children;
	else
	{
		if (timer->previous->child == timer)
			timer->previous->child = timer->sibling;
		else
			timer->previous->sibling = timer->sibling;
		if (timer->sibling)
			timer->sibling->previous = timer->previous;
		if (children)
			shared->root = meld(shared->root, children);
	}
	timer->waits = false;
	tg_store_relaxed(&shared->count, shared->count - 1);
	if (timer->task.job)
		tg_store_relaxed(&shared->of_jobs, shared->of_jobs - 1);
}

/* Builds the heap anew, with the timers of cancelled jobs due at once. */
static void
let_go_cancelled(void)
{
	tg_timer *rest = shared->root;

	shared->root = NULL;
	while (rest)
	{
		tg_timer *timer = rest;
		tg_timer *last = timer->child;

		rest = timer->sibling;
		if (last)
		{
			while (last->sibling)
				last = last->sibling;
			last->sibling = rest;
			rest = timer->child;
		}
		if (timer->task.job && tg_job_is_cancelled(timer->task.job))
			timer->due_us = 0;
		put(timer);
	}
}

/* --- starting and cancelling ----------------------------------------------------------- */

void
tg_timer_init(tg_timer *timer, tg_turn (*run)(tg_task *, tg_worker *), tg_job *job)
{
	*timer = (tg_timer){.waits = false};
	tg_task_init(&timer->task, run, job);
}

tg_status
tg_timer_start(tg_session *session, tg_timer *timer, uint64_t due_us)
{
	tg_job *job = timer->task.job;
	bool wake;

	(void) session;
	if (!tg_scheduler_is_running())
		return TG_STOPPED;
	if (job)
		tg_job_task_added(job);
	tg_latch_acquire(&shared->latch);
	tg_assert(!timer->waits);
	timer->waits = true;
	timer->due_us = due_us;
	tg_store_relaxed(&shared->count, shared->count + 1);
	if (job)
	{
		tg_store_relaxed(&shared->of_jobs, shared->of_jobs + 1);
		tg_fence_seq_cst(); /* 3. */
		if (tg_job_is_cancelled(job))
			timer->due_us = 0;
	}
	put(timer);
	wake = timer->due_us < shared->wakes_us;
	tg_latch_release(&shared->latch);
	tg_failpoint("timer_started");
	if (wake)
		tg_watcher_poke();
	return TG_OK;
}

bool
tg_timer_cancel(tg_session *session, tg_timer *timer)
{
	tg_job *job = timer->task.job;
	bool waited;

	tg_latch_acquire(&shared->latch);
	waited = timer->waits;
	if (waited)
		take_out(timer);
	tg_latch_release(&shared->latch);
	if (waited && job)
		tg_job_task_ended(session, job);
	return waited;
}

void
tg_timers_let_go(void)
{
	tg_fence_seq_cst(); /* 3. */
	if (!shared || tg_load_relaxed(&shared->of_jobs) == 0)
		return;
	tg_store_release(&shared->let_go, 1);
	tg_watcher_poke();
}

/* --- the watcher ------------------------------------------------------------------------ */

void
tg_timers_look(tg_session *session)
{
	tg_timer *due[BATCH_MAX];
	unsigned count = 0;
	uint64_t now;

	/* 2.: the start of a timer put in now is seen before the sleep */
	if (tg_load_relaxed(&shared->count) == 0)
		return;
	now = tg_clock_us();
	tg_latch_acquire(&shared->latch);
	if (tg_load_relaxed(&shared->let_go) && tg_exchange_acq_rel(&shared->let_go, 0))
		let_go_cancelled();
	while (count < BATCH_MAX && shared->root && shared->root->due_us <= now)
	{
		due[count++] = shared->root;
		take_out(shared->root);
	}
	tg_latch_release(&shared->latch);
	for (unsigned i = 0; i < count; i++)
	{
		tg_failpoint("timer_fire");
		tg_watcher_submit(session, &due[i]->task);
	}
}

uint64_t
tg_timers_sleep(uint64_t until_us)
{
	tg_latch_acquire(&shared->latch);
	if (shared->root && shared->root->due_us < until_us)
		until_us = shared->root->due_us;
	if (shared->root && tg_load_relaxed(&shared->let_go))
		until_us = 0;
	shared->wakes_us = until_us;
	tg_latch_release(&shared->latch);
	return until_us;
}

void
tg_timers_report(tg_scheduler_report *report)
{
	report->timers_waiting = tg_load_relaxed(&shared->count);
}
