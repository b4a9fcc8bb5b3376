/*
 * scheduler.c
 *	  The pool's life, and how tasks get in.
 *
 *		STOPPED --start--> RUNNING --stop--> DRAINING --jobs done, limit--> ENDING
 *		   ^												 			   |
 *		   +---------------------- all threads joined --------------------+
 *
 * The shared half lies in the arena and outlives the threads: a worker process
 * that was stopped in order may start the pool again.
 *
 * A submission from outside goes to the inbox of the session's preferred
 * worker, so that what one session submits stays on one CPU; if that worker
 * has been in one task for longer than a tick, to the shorter of two inboxes.
 *
 * 1. A closed inbox refuses, under its latch.  Stop closes all of them before
 *	  it cancels the jobs: a submission that got in is cancelled and run, one
 *	  that did not learns so.
 * 2. What has been accepted before (children, tasks unparked or coming again)
 *	  is never refused: it goes to a deque or to the global queue.  Workers end
 *	  only when they find nothing; what is put into the global queue after that
 *	  is run when the pool starts again.
 * 3. While DRAINING workers run on as usual, until no job runs: tasks of
 *	  cancelled jobs end soon, and their owners unpark those that are parked.
 *	  Jobs that still run at the limit are given up, their parked tasks stay.
 *
 * The counts of those who search and sleep go back to 0 by themselves, and are
 * not set at a start: a backend may still be about to take its share back.
 *
 * The pool's phase is released by the main thread and acquired by all: who sees
 * RUNNING sees the workers' shared parts made.
 *
 * Left out: kinds serial and hybrid (a submitter that runs tasks itself),
 * urgent submissions, affinity.
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
#include "runtime/sched/job_internal.h"
#include "runtime/sched/park.h"
#include "runtime/sched/watcher.h"
#include "runtime/sched/worker.h"

#define DEQUE_CAPACITY 256 /* of a worker's deque, to begin with */
#define JOIN_GRACE_MS 500  /* for threads to end, beyond the limit of stop */

tg_scheduler *tg_scheduler_shared;

tg_scheduler_settings tg_settings_live = {
	.workers = 1, .stealing = true, .worker_suspend_ms = 1000, .watcher_interval_us = 1000, .hang_ms = 1000};

static void
wake_nobody(void *waiter)
{
	(void) waiter;
}

void (*tg_host_wake)(void *waiter) = wake_nobody;

/* The threads of this process, NULL if there are none; main thread only. */
static pthread_t *worker_threads;
static pthread_t watcher_thread;
static tg_session *watcher_session;

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
	for (unsigned i = 0; i < worker_max; i++)
		tg_queue_init(&scheduler->workers[i].inbox);
	return scheduler;
}

tg_status
tg_scheduler_create(const tg_scheduler_config *config)
{
	tg_session *session;
	tg_status status = tg_session_open(&session);

	tg_scheduler_shared = NULL;
	tg_arena_root_set(TG_ROOT_SCHED, NULL);
	if (status != TG_OK)
		return status;
	status = tg_jobs_create(session);
	if (status == TG_OK)
	{
		tg_scheduler_shared = scheduler_alloc(session, config->worker_max > 0 ? config->worker_max : 1);
		tg_arena_root_set(TG_ROOT_SCHED, tg_scheduler_shared);
		if (!tg_scheduler_shared)
			status = TG_NO_MEMORY;
	}
	tg_session_close(session);
	return status;
}

void
tg_scheduler_settings_set(const tg_scheduler_settings *settings)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	tg_store_relaxed(&tg_settings_live.workers, settings->workers);
	tg_store_relaxed(&tg_settings_live.stealing, settings->stealing);
	tg_store_relaxed(&tg_settings_live.busy_worker, settings->busy_worker);
	tg_store_relaxed(&tg_settings_live.worker_suspend_ms, settings->worker_suspend_ms);
	tg_store_relaxed(&tg_settings_live.watcher_interval_us, settings->watcher_interval_us);
	tg_store_relaxed(&tg_settings_live.hang_ms, settings->hang_ms);
	if (!worker_threads)
		return;
	tg_store_relaxed(&scheduler->stealing, settings->stealing);
	for (uint32_t i = 0; i < scheduler->worker_count; i++) /* who sleeps looks at them again */
		tg_worker_wake(scheduler, &scheduler->workers[i]);
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
	worker->rounds = 0;
	worker->victim = id + 1;
	tg_store_relaxed(&worker->park, TG_PARK_RUNNING);
	tg_store_relaxed(&worker->job, NULL);
	tg_store_relaxed(&worker->task_long, TG_TASK_NONE);
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
inboxes_open(tg_scheduler *scheduler, bool open)
{
	for (uint32_t i = 0; i < scheduler->worker_count; i++)
		tg_queue_open(&scheduler->workers[i].inbox, open);
}

/* Makes all that the threads need.  False: nothing is left of it. */
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
		if (prepared == count)
			return true;
		while (prepared > 0)
			worker_give_up(&scheduler->workers[--prepared]);
		tg_session_close(watcher_session);
	}
	free(worker_threads);
	worker_threads = NULL;
	return false;
}

/* Gives back what prepare made; the threads are joined. */
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

static bool join_until(pthread_t thread, uint64_t end_us);

static bool
end_workers(tg_scheduler *scheduler, uint32_t started, uint64_t end_us)
{
	bool all = true;

	phase_set(scheduler, TG_PHASE_ENDING);
	for (uint32_t i = 0; i < started; i++)
		tg_worker_wake(scheduler, &scheduler->workers[i]);
	for (uint32_t i = 0; i < started; i++)
		all &= join_until(worker_threads[i], end_us);
	return all;
}

tg_status
tg_scheduler_start(void)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	uint32_t count = workers_wanted(scheduler);
	uint32_t started = 0;

	tg_assert(tg_load_relaxed(&scheduler->phase) == TG_PHASE_STOPPED);
	if (!prepare(scheduler, count))
		return TG_FULL;
	tg_fence_prepare();
	tg_watcher_prepare();
	tg_store_relaxed(&scheduler->stealing, tg_settings_live.stealing);
	tg_store_relaxed(&scheduler->worker_count, count);
	while (started < count)
	{
		char name[16];

		snprintf(name, sizeof(name), "tg worker %u", (unsigned) started % 10000);
		if (!thread_start(&worker_threads[started], tg_worker_main, &scheduler->workers[started], name))
			break;
		started++;
	}
	if (started == count)
	{
		inboxes_open(scheduler, true);
		phase_set(scheduler, TG_PHASE_RUNNING);
		if (thread_start(&watcher_thread, tg_watcher_main, watcher_session, "tg watcher")) /* its checks may submit */
			return TG_OK;
		inboxes_open(scheduler, false);
	}
	tg_check(end_workers(scheduler, started, UINT64_MAX));
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
	inboxes_open(scheduler, false);
	tg_jobs_cancel();
	while (tg_jobs_are_running() && tg_clock_us() < end_us)
		sleep_ms(1);
	end_us = (end_us > tg_clock_us() ? end_us : tg_clock_us()) + JOIN_GRACE_MS * 1000;
	if (!end_workers(scheduler, scheduler->worker_count, end_us))
		return false;
	tg_watcher_end();
	if (!join_until(watcher_thread, end_us))
		return false;
	clean_up(scheduler);
	return true;
}

/* --- submission ------------------------------------------------------------------ */

void
tg_task_init(tg_task *task, tg_turn (*run)(tg_task *, tg_worker *), tg_job *job)
{
	task->run = run;
	task->job = job;
	task->next = NULL;
	task->state = TG_PARK_RUNNING;
}

/* The session's first worker, or the second if that one is in a long task and has more to do. */
static tg_worker *
worker_preferred(tg_scheduler *scheduler, const tg_session *session, uint32_t count)
{
	uint32_t first = session->id % count;
	tg_worker *worker = &scheduler->workers[first];
	tg_worker *other;

	if (count == 1 || !tg_worker_is_long(worker))
		return worker;
	other = &scheduler->workers[(first + 1 + session->id / count % (count - 1)) % count];
	return tg_worker_queued(other) + tg_worker_is_long(other) <= tg_worker_queued(worker) ? other : worker;
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
	if (!tg_scheduler_is_running() || (count = tg_load_relaxed(&scheduler->worker_count)) == 0)
		return TG_STOPPED;
	worker = worker_preferred(scheduler, session, count);
	if (!tg_queue_put(&worker->inbox, task))
		return TG_STOPPED;
	if (tg_load_relaxed(&scheduler->stealing))
		tg_worker_notify(scheduler, worker->id);
	else
		tg_worker_wake(scheduler, worker);
	return TG_OK;
}

void
tg_task_unpark(tg_session *session, tg_task *task)
{
	(void) session;
	if (tg_park_notify(&task->state))
		tg_worker_requeue(tg_scheduler_shared, task);
}

/* --- what tasks and views ask ------------------------------------------------------ */

tg_session *
tg_worker_session(tg_worker *worker)
{
	return worker->session;
}

bool
tg_should_yield(tg_worker *worker)
{
	return tg_worker_is_long(worker) &&
		   (tg_worker_queued(worker) > 0 || tg_queue_count(&tg_scheduler_shared->global) > 0);
}

unsigned
tg_worker_count(void)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	return scheduler ? tg_load_relaxed(&scheduler->worker_count) : 0;
}

void
tg_worker_report_get(unsigned number, tg_worker_report *report)
{
	const tg_worker *worker = &tg_scheduler_shared->workers[number];

	tg_assert(number < tg_scheduler_shared->worker_max);
	*report = (tg_worker_report){.state = (tg_worker_state) tg_load_relaxed(&worker->state),
								 .tasks_run = tg_load_relaxed(&worker->tasks_run),
								 .tasks_stolen = tg_load_relaxed(&worker->tasks_stolen),
								 .steals = tg_load_relaxed(&worker->steals),
								 .suspensions = tg_load_relaxed(&worker->suspensions),
								 .wakeups = tg_load_relaxed(&worker->wakeups),
								 .queued = tg_worker_queued(worker)};
}
