/*
 * search.c
 *	  A worker without work: it searches, steals and sleeps.
 *
 * A round looks at the queues of this worker and at the global queue, then at the other workers, in
 * rotation from the last one that had work, or the one after it (steal_after_last); those on the
 * same socket first.  A theft takes half of a victim's deque at once, or the whole inbox of a
 * victim whose deque is empty; it never takes from a sticky queue.
 *
 * Backends work on the same CPUs, so a search is short: SPIN_TIGHT rounds with a pause, then
 * yielding ones, worker_try_count in all.  Then the worker sleeps; if it had been woken in vain it
 * becomes the distributor first (distribute.c).  The default of worker_try_count is small.  With a
 * task from outside each millisecond 16 rounds took 4 % of a core and 250 rounds 34 %, while a
 * wake-up takes only some 10 us longer than it takes a searching worker to see the task.
 *
 * A sleeping worker is away (mem/presence.h), so other sessions can take the memory that it has
 * taken in advance.  If no thread has woken it for KEEP_MS, or for its longest sleep, it gives that
 * memory back itself before it sleeps on.  An idle pool therefore keeps nothing, and no worker has
 * to be woken to give memory back.
 *
 * Searching workers are counted.  A worker must leave the search only by the functions of wake.c:
 * the proof that no wake-up is lost rests on that.
 */
#include <sched.h>
#include <stddef.h>
#include <time.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/presence.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/sched/distribute.h"
#include "runtime/sched/fork.h"
#include "runtime/sched/park.h"
#include "runtime/sched/topology.h"
#include "runtime/sched/wake.h"
#include "runtime/sched/watcher.h"
#include "runtime/sched/worker.h"

#define SPIN_TIGHT 4 /* rounds of a search without yielding */
#define KEEP_MS 1000 /* of sleep, after which a worker gives back the memory taken in advance */

/* --- stealing ------------------------------------------------------------------- */

static tg_task *
steal_from(tg_worker *worker, tg_worker *victim)
{
	void *items[TG_DEQUE_BATCH];
	int count = tg_deque_steal(&victim->deque, items, TG_DEQUE_BATCH);
	tg_task *first;

	if (count == TG_DEQUE_RACED)
		return NULL;
	tg_failpoint("steal.got");
	if (count == 0)
	{
		first = tg_queue_splice(&victim->inbox);
		if (!first)
			return NULL;
		for (tg_task *task = first; task; task = task->next)
			count++;
		(void) tg_worker_keep_rest(worker, first);
	}
	else
	{
		first = items[0];
		for (int i = 1; i < count; i++)
			tg_worker_keep(worker, items[i]);
	}
	tg_store_relaxed(&worker->steals, worker->steals + 1);
	tg_store_relaxed(&worker->tasks_stolen, worker->tasks_stolen + (uint64_t) count);
	return first;
}

/* Tries all victims once: those on the worker's socket, or those on others. */
static tg_task *
steal_round(tg_worker *worker, uint32_t first, bool same_socket)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint32_t count = tg_load_relaxed(&scheduler->worker_count);
	uint32_t number = first % count;

	for (uint32_t i = 0; i < count; i++)
	{
		tg_worker *victim = &scheduler->workers[number];
		bool is_near = tg_load_relaxed(&victim->socket) == worker->socket;
		tg_task *task = victim != worker && is_near == same_socket ? steal_from(worker, victim) : NULL;

		if (task)
		{
			worker->victim = number;
			return task;
		}
		number = number + 1 < count ? number + 1 : 0;
	}
	return NULL;
}

static tg_task *
steal(tg_worker *worker)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint32_t first = worker->victim + tg_load_relaxed(&tg_settings_live.steal_after_last);
	tg_task *task;

	if (!tg_is_stealing(scheduler))
		return NULL;
	task = steal_round(worker, first, true);
	if (!task && tg_load_relaxed(&scheduler->socket_count) > 1)
		task = steal_round(worker, first, false);
	if (!task)
		tg_store_relaxed(&worker->steal_misses, worker->steal_misses + 1);
	return task;
}

/* --- searching -------------------------------------------------------------------- */

static void
sleep_us(unsigned us)
{
	struct timespec time = {.tv_sec = us / 1000000, .tv_nsec = (long) (us % 1000000) * 1000};

	nanosleep(&time, NULL);
}

/* The state of a search between two rounds. */
typedef struct search
{
	unsigned rounds; /* without work, since it began or slept */
	bool in_vain;	 /* it was woken since it last had work */
	bool has_slept;	 /* for as long as it meant to */
} search;

/* Sleeps until woken or until the time-out.  True if there may be work. */
static bool
suspend(tg_scheduler *scheduler, tg_worker *worker, search *search)
{
	uint64_t timeout_ms = tg_load_relaxed(&tg_settings_live.worker_suspend_ms);
	bool notified;

	tg_store_relaxed(&worker->suspensions, worker->suspensions + 1);
	tg_store_relaxed(&worker->state, TG_WORKER_SUSPENDED);
	tg_retire_rest(worker->session);
	if (search->has_slept)
	{
		tg_frames_flush(worker);
		tg_session_rest(worker->session);
	}
	else
	{
		timeout_ms = timeout_ms < KEEP_MS ? timeout_ms : KEEP_MS;
		tg_session_go_away(worker->session);
	}
	notified = tg_worker_suspend(scheduler, worker, timeout_ms * 1000);
	tg_session_come_back(worker->session);
	search->has_slept = search->has_slept || !notified;
	tg_store_relaxed(&worker->wakeups, worker->wakeups + notified);
	tg_store_relaxed(&worker->state, TG_WORKER_SEARCHING);
	return notified;
}

/* Called after a round that found nothing.  False: the pool ends, and no task is left. */
static bool
rest(tg_scheduler *scheduler, tg_worker *worker, search *search)
{
	unsigned try_count = tg_load_relaxed(&tg_settings_live.worker_try_count);
	unsigned polling_us = tg_load_relaxed(&tg_settings_live.task_polling_wait_us);

	if (tg_unlikely(polling_us > 0))
		sleep_us(polling_us);
	if (++search->rounds < try_count)
	{
		if (search->rounds < SPIN_TIGHT)
			tg_pause();
		else
			sched_yield();
		return true;
	}
	tg_pending_flush(worker);
	if (tg_is_ending(scheduler))
	{
		if (tg_search_end(scheduler, worker))
			return false;
		sched_yield();
	}
	else if (tg_load_relaxed(&tg_settings_live.busy_worker))
		sched_yield();
	else if (search->in_vain && tg_distribute(scheduler, worker))
		search->rounds = 0;
	else
	{
		search->in_vain = suspend(scheduler, worker, search);
		search->rounds = search->in_vain ? 0 : try_count;
	}
	return true;
}

tg_task *
tg_worker_search(tg_worker *worker)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	search search = {0};
	unsigned misses = 1; /* the round that brought the worker here is one */

	tg_search_enter(scheduler);
	tg_store_relaxed(&worker->state, TG_WORKER_SEARCHING);
	if (tg_load_relaxed(&scheduler->socket_count) > 1)
		tg_store_relaxed(&worker->socket, tg_topology_socket(sched_getcpu()));
	for (;;)
	{
		tg_task *task = tg_worker_take_queued(worker);
		unsigned wait = tg_load_relaxed(&tg_settings_live.stealing_wait);

		/* before it sleeps it looks everywhere in any case */
		if (!task && (misses >= wait || misses >= tg_load_relaxed(&tg_settings_live.worker_try_count)))
			task = steal(worker);
		if (task)
		{
			tg_store_relaxed(&worker->state, TG_WORKER_RUNNING);
			tg_search_leave(scheduler, worker);
			tg_watcher_rouse(scheduler);
			return task;
		}
		misses++;
		if (!rest(scheduler, worker, &search))
			return NULL;
	}
}
