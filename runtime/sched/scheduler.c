/*
 * scheduler.c
 *	  The pool's life, and its settings.
 *
 *		STOPPED --start--> RUNNING --stop--> DRAINING --jobs done, limit--> ENDING
 *		   ^												 			   |
 *		   +---------------------- all threads joined --------------------+
 *
 * The shared half lies in the arena and outlives the threads: a worker process
 * that was stopped in order may start the pool again.
 *
 * 1. A closed inbox or sticky queue refuses submissions, under its latch.  Stop closes all of them
 *    before it cancels the jobs: a task submitted before that is cancelled and run, and a later
 *    submission is told TG_STOPPED.
 * 2. A task that was accepted earlier (a child, an unparked task, a task that comes again) is never
 *    refused: it goes to a deque or to the global queue.  Workers end only when they find nothing.
 *    A task that enters the global queue after that runs when the pool starts again.
 * 3. While DRAINING, workers run as usual until no job runs: tasks of cancelled jobs end soon, and
 *    their owners unpark those that are parked.  Jobs that still run at the limit are given up;
 *    their parked tasks stay.
 *
 * The workers themselves maintain the counts of searching and sleeping workers; both are 0 once the
 * workers have ended.
 *
 * The main thread stores the pool's phase with release, and all others load it with acquire: a
 * thread that reads RUNNING sees the workers' shared parts as they were made.
 *
 * The distributor thread ends before the workers do, because the tasks that it hands out need
 * workers that run.
 */
#include "runtime/sched/scheduler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/distribute.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/park.h"
#include "runtime/sched/topology.h"
#include "runtime/sched/wake.h"
#include "runtime/sched/watcher.h"
#include "runtime/sched/worker.h"

#define DEQUE_CAPACITY 256 /* of a worker's deque, to begin with */
#define JOIN_GRACE_MS 500  /* for threads to end, beyond the limit of stop */

tg_scheduler *tg_scheduler_shared;

#define SETTINGS_DEFAULT                                                                                               \
	{                                                                                                                  \
		.workers = 1, .kind = TG_KIND_HYBRID, .lightweight_job_level = 30, .stealing = true, .stealing_wait = 1,       \
		.worker_try_count = 16, .worker_suspend_ms = 1000, .local_first_permille = 100, .preferred_worker = true,      \
		.distributor = TG_DISTRIBUTOR_WORKER, .distribution_spin_us = 50, .serializer = TG_SERIALIZER_LANE,            \
		.lane_turn = 16, .watcher_interval_us = 1000, .hang_ms = 1000                                                  \
	}

tg_scheduler_settings tg_settings_live = SETTINGS_DEFAULT;

static void
wake_nobody(void *waiter)
{
	(void) waiter;
}

void (*tg_host_wake)(void *waiter) = wake_nobody;

/* The threads of this process, NULL if there are none; main thread only. */
static pthread_t *worker_threads;
static pthread_t watcher_thread;
static pthread_t distributor_thread;
static bool distributor_is_started;
static tg_session *watcher_session;
static const tg_companion *companion; /* set before the start, and stays */

/* --- the shared half -------------------------------------------------------- */

static tg_scheduler *
scheduler_alloc(tg_session *session, unsigned worker_max)
{
	size_t bytes = sizeof(tg_scheduler) + worker_max * sizeof(tg_worker);
	tg_scheduler *scheduler = tg_alloc_zeroed(session, bytes, TG_USE_RUNTIME, TG_ESSENTIAL);

	if (!scheduler)
		return NULL;
	tg_assert((uintptr_t) scheduler % TG_CACHE_LINE == 0);
	scheduler->worker_max = worker_max;
	tg_queue_init(&scheduler->global);
	tg_latch_init(&scheduler->latch, TG_RANK_SCHEDULER);
	for (unsigned i = 0; i < worker_max; i++)
	{
		tg_queue_init(&scheduler->workers[i].inbox);
		tg_queue_init(&scheduler->workers[i].sticky);
	}
	return scheduler;
}

tg_status
tg_scheduler_create(const tg_scheduler_config *config)
{
	tg_session *session;
	tg_status status = tg_session_open(&session);

	tg_scheduler_shared = NULL;
	if (status != TG_OK)
		return status;
	status = tg_jobs_create(session);
	if (status == TG_OK)
		status = tg_watcher_create(session);
	if (status == TG_OK)
	{
		tg_scheduler_shared = scheduler_alloc(session, config->worker_max > 0 ? config->worker_max : 1);
		if (!tg_scheduler_shared)
			status = TG_NO_MEMORY;
	}
	tg_session_close(session);
	return status;
}

tg_scheduler_settings
tg_scheduler_settings_default(unsigned workers)
{
	tg_scheduler_settings settings = SETTINGS_DEFAULT;

	settings.workers = workers;
	return settings;
}

/* The settings that submitters of other processes need. */
static void
share_settings(tg_scheduler *scheduler)
{
	tg_store_relaxed(&scheduler->stealing, tg_settings_live.stealing);
	tg_store_relaxed(&scheduler->preferred_worker, tg_settings_live.preferred_worker);
}

void
tg_scheduler_settings_set(const tg_scheduler_settings *settings)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	tg_scheduler_settings *live = &tg_settings_live;

	tg_store_relaxed(&live->workers, settings->workers);
	tg_store_relaxed(&live->kind, settings->kind);
	tg_store_relaxed(&live->lightweight_job_level, settings->lightweight_job_level);
	tg_store_relaxed(&live->stealing, settings->stealing);
	tg_store_relaxed(&live->stealing_wait, settings->stealing_wait);
	tg_store_relaxed(&live->steal_after_last, settings->steal_after_last);
	tg_store_relaxed(&live->worker_try_count, settings->worker_try_count);
	tg_store_relaxed(&live->busy_worker, settings->busy_worker);
	tg_store_relaxed(&live->worker_suspend_ms, settings->worker_suspend_ms);
	tg_store_relaxed(&live->task_polling_wait_us, settings->task_polling_wait_us);
	tg_store_relaxed(&live->local_first_permille, settings->local_first_permille);
	tg_store_relaxed(&live->preferred_worker, settings->preferred_worker);
	tg_store_relaxed(&live->core_affinity, settings->core_affinity);
	tg_store_relaxed(&live->initial_core, settings->initial_core);
	tg_store_relaxed(&live->distributor, settings->distributor);
	tg_store_relaxed(&live->distribution_spin_us, settings->distribution_spin_us);
	tg_store_relaxed(&live->serializer, settings->serializer);
	tg_store_relaxed(&live->lane_turn, settings->lane_turn);
	tg_store_relaxed(&live->watcher_interval_us, settings->watcher_interval_us);
	tg_store_relaxed(&live->hang_ms, settings->hang_ms);
	if (!worker_threads)
		return;
	share_settings(scheduler);
	/* sleeping workers read the settings again */
	for (uint32_t i = 0; i < scheduler->worker_count; i++)
		(void) tg_worker_wake(scheduler, &scheduler->workers[i]);
}

bool
tg_scheduler_is_running(void)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	return scheduler && tg_load_acquire(&scheduler->phase) == TG_PHASE_RUNNING;
}

/* --- start ------------------------------------------------------------------- */

static uint32_t
workers_wanted(const tg_scheduler *scheduler)
{
	unsigned count = tg_load_relaxed(&tg_settings_live.workers);

	if (count == 0)
		count = 1;
	return count < scheduler->worker_max ? count : scheduler->worker_max;
}

static tg_status
worker_prepare(tg_worker *worker, uint32_t id)
{
	tg_status status = tg_session_open(&worker->session);

	if (status != TG_OK)
		return TG_FULL;
	status = tg_deque_init(&worker->deque, DEQUE_CAPACITY, 0);
	if (status != TG_OK)
	{
		tg_session_close(worker->session);
		return TG_FULL;
	}
	worker->id = id;
	worker->victim = id + 1;
	worker->fair_in = 1;
	worker->fair_turn = 0;
	worker->local_share = 0;
	worker->is_suspended = false;
	tg_store_relaxed(&worker->park, TG_PARK_RUNNING);
	tg_store_relaxed(&worker->job, NULL);
	tg_store_relaxed(&worker->task_long, TG_TASK_NONE);
	tg_store_relaxed(&worker->task_hung, TG_TASK_NONE);
	worker->task_seen = TG_TASK_NONE;
	return TG_OK;
}

static void
worker_give_up(tg_worker *worker)
{
	tg_deque_destroy(&worker->deque);
	tg_session_close(worker->session);
	worker->session = NULL;
}

/* A thread with all signals blocked: signals are the main thread's. */
static bool
thread_start(pthread_t *thread, void *(*body)(void *), void *argument, const char *name)
{
	sigset_t all;
	sigset_t before;
	int result;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	result = pthread_create(thread, NULL, body, argument);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (result == 0)
		pthread_setname_np(*thread, name);
	return result == 0;
}

static void
phase_set(tg_scheduler *scheduler, tg_phase phase)
{
	tg_store_release(&scheduler->phase, (uint32_t) phase);
}

static void
queues_open(tg_scheduler *scheduler, bool open)
{
	for (uint32_t i = 0; i < scheduler->worker_count; i++)
	{
		tg_queue_open(&scheduler->workers[i].inbox, open);
		tg_queue_open(&scheduler->workers[i].sticky, open);
	}
}

/* Allocates everything that the threads need.  False: everything has been freed again. */
static bool
prepare(tg_scheduler *scheduler, uint32_t count)
{
	uint32_t prepared = 0;

	worker_threads = calloc(count, sizeof(pthread_t));
	if (!worker_threads)
		return false;
	if (tg_session_open(&watcher_session) == TG_OK)
	{
		while (prepared < count && worker_prepare(&scheduler->workers[prepared], prepared) == TG_OK)
			prepared++;
		if (prepared == count && (companion == NULL || companion->start() == TG_OK))
			return true;
		while (prepared > 0)
			worker_give_up(&scheduler->workers[--prepared]);
		tg_session_close(watcher_session);
	}
	free(worker_threads);
	worker_threads = NULL;
	return false;
}

/* Frees the results of prepare.  All threads are joined. */
static void
clean_up(tg_scheduler *scheduler)
{
	uint32_t count = scheduler->worker_count;

	tg_store_relaxed(&scheduler->worker_count, 0);
	for (uint32_t i = 0; i < count; i++)
		worker_give_up(&scheduler->workers[i]);
	tg_session_close(watcher_session);
	free(worker_threads);
	worker_threads = NULL;
	phase_set(scheduler, TG_PHASE_STOPPED);
}

static bool
stop_companion(uint64_t end_us)
{
	return companion == NULL || companion->stop(end_us);
}

static bool join_until(pthread_t thread, uint64_t end_us);

/*
 * Ends the distributor thread, if there is one, then the workers.  False: some thread still ran at
 * end_us.
 */
static bool
end_workers(tg_scheduler *scheduler, uint32_t started, uint64_t end_us)
{
	bool all = true;

	if (distributor_is_started)
	{
		tg_distribute_end();
		if (!join_until(distributor_thread, end_us))
			return false;
		distributor_is_started = false;
	}
	phase_set(scheduler, TG_PHASE_ENDING);
	for (uint32_t i = 0; i < started; i++)
		(void) tg_worker_wake(scheduler, &scheduler->workers[i]);
	for (uint32_t i = 0; i < started; i++)
		all &= join_until(worker_threads[i], end_us);
	return all;
}

/*
 * Moves sticky tasks that were unparked while no pool ran to another worker, if this pool does not
 * have theirs.
 */
static void
adopt_sticky(tg_scheduler *scheduler, uint32_t count)
{
	for (uint32_t i = count; i < scheduler->worker_max; i++)
	{
		tg_task *task = tg_queue_take(&scheduler->workers[i].sticky, UINT32_MAX);

		while (task)
		{
			tg_task *next = task->next;

			tg_queue_put_always(&tg_worker_home(scheduler, task)->sticky, task);
			task = next;
		}
	}
}

static bool
start_workers(tg_scheduler *scheduler, uint32_t count, uint32_t *started)
{
	while (*started < count)
	{
		char name[16];

		snprintf(name, sizeof(name), "tg worker %u", (unsigned) *started % 10000);
		if (!thread_start(&worker_threads[*started], tg_worker_main, &scheduler->workers[*started], name))
			return false;
		++*started;
	}
	if (scheduler->distribution == TG_DISTRIBUTOR_THREAD)
		distributor_is_started = thread_start(&distributor_thread, tg_distribute_main, NULL, "tg distributor");
	return scheduler->distribution != TG_DISTRIBUTOR_THREAD || distributor_is_started;
}

void
tg_scheduler_accompany(const tg_companion *by)
{
	tg_assert(companion == NULL || companion == by);
	companion = by;
}

tg_status
tg_scheduler_start(void)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint32_t count = workers_wanted(scheduler);
	uint32_t started = 0;

	tg_assert(tg_load_relaxed(&scheduler->phase) == TG_PHASE_STOPPED);
	tg_assert(tg_load_relaxed(&scheduler->searching) == 0 && tg_load_relaxed(&scheduler->sleeping) == 0);
	if (!prepare(scheduler, count))
		return TG_FULL;
	tg_fence_prepare();
	tg_watcher_prepare();
	tg_distribute_prepare();
	share_settings(scheduler);
	tg_store_relaxed(&scheduler->socket_count, tg_topology_read("/sys/devices/system/cpu"));
	tg_store_relaxed(&scheduler->distribution, (uint32_t) tg_settings_live.distributor);
	tg_store_relaxed(&scheduler->worker_count, count);
	adopt_sticky(scheduler, count);
	if (start_workers(scheduler, count, &started))
	{
		queues_open(scheduler, true);
		phase_set(scheduler, TG_PHASE_RUNNING);
		/* its checks may submit */
		if (thread_start(&watcher_thread, tg_watcher_main, watcher_session, "tg watcher"))
			return TG_OK;
		queues_open(scheduler, false);
	}
	tg_check(stop_companion(UINT64_MAX) && end_workers(scheduler, started, UINT64_MAX));
	clean_up(scheduler);
	return TG_FULL;
}

/* --- stop ---------------------------------------------------------------------- */

static void
sleep_ms(unsigned ms)
{
	struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long) (ms % 1000) * 1000000};

	nanosleep(&time, NULL);
}

/* Joins; false if the thread has not ended by then.  UINT64_MAX: waits for ever. */
static bool
join_until(pthread_t thread, uint64_t end_us)
{
	for (;;)
	{
		int result = pthread_tryjoin_np(thread, NULL);

		if (result == 0)
			return true;
		tg_check(result == EBUSY);
		if (tg_clock_us() >= end_us)
			return false;
		sleep_ms(1);
	}
}

bool
tg_scheduler_stop(unsigned limit_ms)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint64_t end_us = tg_clock_us() + (uint64_t) limit_ms * 1000;

	if (!worker_threads)
		return true;
	phase_set(scheduler, TG_PHASE_DRAINING);
	queues_open(scheduler, false);
	tg_jobs_cancel();
	while (tg_jobs_are_running() && tg_clock_us() < end_us)
		sleep_ms(1);
	end_us = (end_us > tg_clock_us() ? end_us : tg_clock_us()) + JOIN_GRACE_MS * 1000;
	if (!stop_companion(end_us) || !end_workers(scheduler, scheduler->worker_count, end_us))
		return false;
	tg_watcher_end();
	if (!join_until(watcher_thread, end_us))
		return false;
	clean_up(scheduler);
	return true;
}
