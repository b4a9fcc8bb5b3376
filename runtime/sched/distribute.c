/*
 * distribute.c
 *	  The distributor: one party that hands work to sleeping workers.
 *
 * While there is a distributor, no push onto a deque has to wake a worker.  The distributor looks
 * at all deques and gives the tasks it finds to sleeping workers, one task each, all at once.  A
 * worker that was woken and found nothing becomes the distributor; or the distributor is a thread
 * of its own.
 *
 *		none --take--> LOOKING --spin_us since the last success--> NAPPING
 *		  ^				|  ^										 |
 *		  |				|  +-- time-out, or something was there -----+
 *		  +--- leave ---+		  after NAPS_MAX in a row: leave
 *
 * The naps are the answer to wake-ups in vain.  A worker that pushes and pops small tasks all the
 * time, too quickly for any thief, would otherwise wake another worker as often as one falls
 * asleep, and keep a core busy with searching.  With naps the other worker wakes at most once in
 * some NAPS_MAX ms.  Where wake-ups find work there is no distributor, and a push wakes a worker at
 * once.  A nap is no longer than the time already spent in vain, so the possible delay of a push is
 * in proportion to that time, too.
 *
 * Backends work on the same CPUs.  The distributor therefore looks for distribution_spin_us only,
 * and yields its CPU between two looks.  Then it naps, first for NAP_US_MIN, then twice as long
 * each time, up to NAP_US_MAX.  A pushed task may wait that long for a worker other than its own; a
 * submitted task does not, as submitters look for sleeping workers themselves.  After NAPS_MAX naps
 * the distributor gives up and sleeps like any other worker: the alarm (wake.c) calls the next
 * distributor.  One long task in the pool thus costs its own core and next to nothing else.
 *
 * The distributor also ends when there is work and no worker sleeps (then it steals for itself),
 * when all others sleep, and when there is work that only it can do.
 *
 * 1. There is at most one, by the latch of wake.c.  The scheduler's fields that are written here
 *    belong to the distributor alone, and pass on with that latch.
 * 2. A task that it has taken from a victim is in an inbox or the global queue again before it
 *    looks, naps, leaves or ends.  If the sleeping worker that was to have the task proves to be
 *    awake, the task is announced like a submission.
 *
 * Departures.  In the design a woken worker becomes the distributor at once.  Here it looks for
 * work for itself first: a thread waits for the task that it was woken for, and another wake-up
 * costs more than most tasks.  A worker that merely runs out of work does not become the
 * distributor: its naps would make the next push wait, by up to a millisecond where a wake-up takes
 * some 10 us.  And in the design the distributor naps as long as any worker works; giving up is
 * cheaper.
 */
#include "runtime/sched/distribute.h"

#include <sched.h>
#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/park.h"
#include "runtime/sched/wake.h"

#define NAP_US_MIN 50
#define NAP_US_MAX 1000
#define NAPS_MAX 12 /* in a row: some 9 ms */
#define PAUSES 16	/* from one look to the next */

/* The distributor: the state in which a worker and the thread differ. */
typedef struct office
{
	tg_worker *worker; /* NULL: the thread */
	uint32_t who;	   /* for tg_distributor_take */
	uint32_t socket;
	uint32_t victim;	 /* where it begins to look */
	uint64_t success_us; /* time of the last task given to another worker, or of the beginning */
	unsigned naps;		 /* since then */
} office;

static bool thread_is_ending; /* main thread writes, the thread reads */

/* --- handing out -------------------------------------------------------------------- */

static bool
is_parked(const tg_worker *worker)
{
	return tg_load_relaxed(&worker->park) == TG_PARK_PARKED;
}

static unsigned
sleepers_count(const tg_scheduler *scheduler)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < scheduler->worker_count; i++)
		count += is_parked(&scheduler->workers[i]);
	return count;
}

/* A sleeper, on the distributor's socket if there is one; NULL if all are awake. */
static tg_worker *
sleeper(tg_scheduler *scheduler, const office *office)
{
	tg_worker *far = NULL;

	for (uint32_t i = 0; i < scheduler->worker_count; i++)
	{
		tg_worker *worker = &scheduler->workers[i];

		if (!is_parked(worker))
			continue;
		if (tg_load_relaxed(&worker->socket) == office->socket)
			return worker;
		far = worker;
	}
	return far;
}

/* Gives the task to a sleeping worker.  False: none slept, and the task is for any worker. */
static bool
give(tg_scheduler *scheduler, const office *office, tg_task *task)
{
	tg_worker *worker = sleeper(scheduler, office);

	if (worker)
	{
		tg_queue_put_always(&worker->inbox, task);
		tg_failpoint("distribute.put");
		if (tg_worker_activate(scheduler, worker))
			return true;
		tg_worker_notify(scheduler, worker->id);
		return false;
	}
	tg_queue_put_always(&scheduler->global, task);
	tg_worker_notify(scheduler, 0);
	return false;
}

static unsigned
take_chain(tg_queue *queue, void **items, unsigned max)
{
	unsigned count = 0;

	for (tg_task *task = tg_queue_take(queue, max); task; task = task->next)
		items[count++] = task;
	return count;
}

/* Takes tasks that a victim has no time for. */
static unsigned
take_from(tg_scheduler *scheduler, tg_worker *victim, void **items, unsigned max)
{
	int count = tg_deque_steal(&victim->deque, items, max);

	if (count != 0)
		return count == TG_DEQUE_RACED ? 0 : (unsigned) count;
	if (tg_queue_count(&victim->inbox) == 0)
		return 0;
	switch (tg_load_relaxed(&victim->park))
	{
		case TG_PARK_RUNNING:
			return take_chain(&victim->inbox, items, max);
		/* The submitter has seen the distributor searching, or is about to wake the worker. */
		case TG_PARK_PARKED:
			(void) tg_worker_wake(scheduler, victim);
			return 0;
		default: /* the worker is waking up */
			return 0;
	}
}

static unsigned
collect(tg_scheduler *scheduler, office *office, void **items, unsigned max)
{
	uint32_t count = scheduler->worker_count;
	unsigned found = take_chain(&scheduler->global, items, max);

	for (uint32_t i = 0; found == 0 && i < count; i++)
	{
		uint32_t number = (office->victim + i) % count;

		if (&scheduler->workers[number] == office->worker)
			continue;
		found = take_from(scheduler, &scheduler->workers[number], items, max);
		if (found > 0)
			office->victim = number;
	}
	return found;
}

/* Looks at every deque and queue once.  True if a worker was given a task. */
static bool
hand_out(tg_scheduler *scheduler, office *office)
{
	void *items[TG_DEQUE_BATCH];
	unsigned max = sleepers_count(scheduler);
	unsigned given = 0;
	unsigned count;

	if (max == 0)
		return false;
	count = collect(scheduler, office, items, max < TG_DEQUE_BATCH ? max : TG_DEQUE_BATCH);
	for (unsigned i = 0; i < count; i++)
		given += give(scheduler, office, items[i]);
	tg_store_relaxed(&scheduler->distributed, scheduler->distributed + given);
	if (office->worker)
		tg_store_relaxed(&office->worker->distributed, office->worker->distributed + given);
	return given > 0;
}

/* --- the office --------------------------------------------------------------------------- */

static uint64_t
nap_us(unsigned naps)
{
	uint64_t us = naps < 6 ? (uint64_t) NAP_US_MIN << naps : NAP_US_MAX;

	return us < NAP_US_MAX ? us : NAP_US_MAX;
}

/* Sleeps for a while, unless it is woken, or there is work. */
static void
nap(tg_scheduler *scheduler, office *office)
{
	uint64_t us = nap_us(office->naps++);

	tg_store_relaxed(&scheduler->distribution_naps, scheduler->distribution_naps + 1);
	tg_failpoint("distribute.nap");
	if (office->worker)
	{
		tg_store_relaxed(&office->worker->state, TG_WORKER_SUSPENDED);
		(void) tg_worker_suspend(scheduler, office->worker, us);
		tg_store_relaxed(&office->worker->state, TG_WORKER_SEARCHING);
	}
	else if (tg_park_try(&scheduler->thread_park))
		(void) tg_park_sleep(&scheduler->thread_park, us);
	else
		tg_park_consume(&scheduler->thread_park);
}

/* Whether there is work that no other party can do. */
static bool
is_wanted(const tg_scheduler *scheduler, const office *office)
{
	const tg_worker *worker = office->worker;

	if (!worker)
		return tg_load_acquire(&thread_is_ending);
	return tg_queue_count(&worker->sticky) > 0 || tg_queue_count(&worker->inbox) > 0 || tg_is_ending(scheduler);
}

static void
pause_somewhat(void)
{
	for (unsigned i = 0; i < PAUSES; i++)
		tg_pause();
	sched_yield();
}

/* Distributes.  True if there may be work for this party itself. */
static bool
serve(tg_scheduler *scheduler, office *office)
{
	office->success_us = tg_clock_us();
	office->naps = 0;
	while (tg_distributor_is_useful(scheduler))
	{
		uint64_t spin_us = tg_load_relaxed(&tg_settings_live.distribution_spin_us);

		tg_failpoint("distribute.look");
		if (is_wanted(scheduler, office))
			return true;
		if (office->worker && sleepers_count(scheduler) == 0 && tg_has_work(scheduler))
			return true;
		if (hand_out(scheduler, office))
		{
			office->success_us = tg_clock_us();
			office->naps = 0;
		}
		else if (tg_load_relaxed(&tg_settings_live.busy_worker) || tg_clock_us() - office->success_us < spin_us)
			pause_somewhat();
		else if (office->naps == NAPS_MAX)
			return false;
		else
			nap(scheduler, office);
	}
	return false;
}

bool
tg_distribute(tg_scheduler *scheduler, tg_worker *worker)
{
	office office = {.worker = worker, .who = worker->id + 1, .socket = worker->socket, .victim = worker->victim};
	bool result;

	if (tg_load_relaxed(&scheduler->distribution) != TG_DISTRIBUTOR_WORKER)
		return false;
	if (!tg_distributor_is_useful(scheduler) || !tg_distributor_take(scheduler, office.who))
		return false;
	tg_failpoint("distribute.begin");
	result = serve(scheduler, &office);
	tg_failpoint("distribute.end");
	tg_distributor_leave(scheduler, office.who);
	worker->victim = office.victim;
	return result;
}

/* --- the thread ----------------------------------------------------------------------------- */

void
tg_distribute_prepare(void)
{
	tg_scheduler_shared->thread_park = TG_PARK_RUNNING;
	tg_store_relaxed(&thread_is_ending, false);
}

void
tg_distribute_end(void)
{
	tg_store_release(&thread_is_ending, true);
	if (tg_park_notify(&tg_scheduler_shared->thread_park))
		tg_park_wake(&tg_scheduler_shared->thread_park);
}

/* Sleeps until a push calls it. */
static void
wait_for_alarm(tg_scheduler *scheduler)
{
	uint64_t us = (uint64_t) tg_load_relaxed(&tg_settings_live.worker_suspend_ms) * 1000;

	if (!tg_park_try(&scheduler->thread_park))
	{
		tg_park_consume(&scheduler->thread_park);
		return;
	}
	tg_fence_seq_cst(); /* pairs with that of tg_wake_for_push */
	if (tg_load_acquire(&thread_is_ending) || (tg_distributor_is_useful(scheduler) && tg_has_work(scheduler)))
		(void) tg_park_cancel(&scheduler->thread_park);
	else
		(void) tg_park_sleep(&scheduler->thread_park, us);
	tg_fence_seq_cst();
}

void *
tg_distribute_main(void *argument)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	office office = {.who = TG_DISTRIBUTOR_OWN_THREAD};

	(void) argument;
	while (!tg_load_acquire(&thread_is_ending))
	{
		if (tg_distributor_take(scheduler, office.who))
		{
			tg_failpoint("distribute.begin");
			(void) serve(scheduler, &office);
			tg_failpoint("distribute.end");
			tg_distributor_leave(scheduler, office.who);
		}
		wait_for_alarm(scheduler);
	}
	return NULL;
}
