/*
 * watcher.c
 *	  The watcher: one thread that ticks, and looks after everything.
 *
 * A tick starts a new epoch, runs the registered checks that are due, and looks
 * at the workers: one whose task is the same as at the last tick is in a long
 * task (its submitters then prefer others, and tg_should_yield answers true);
 * a task that goes on for hang_ms is reported, once.
 *
 * While a worker is awake or a session is inside an epoch, it ticks every
 * watcher_interval_us.  When neither is so the time doubles with each tick, up
 * to IDLE_MS_MAX, so that an idle pool costs next to nothing.  Beyond
 * DEEP_TICKS intervals its sleep counts as deep, and a worker that finds work
 * pokes it: one futex call per such pause, none in a busy pool.
 *
 * 1. task_long and task_seen hold a value of the worker's tasks_run, so they
 *	  expire by themselves with the next task, or here when the worker sleeps.
 * 2. A poke is never lost: it stays in the park word as a permit.
 */
#include "runtime/sched/watcher.h"

#include <inttypes.h>
#include <pthread.h>

#include "runtime/base/check.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/message.h"
#include "runtime/sched/park.h"

#define INTERVAL_US_MIN 100
#define IDLE_MS_MAX 100
#define DEEP_TICKS 16

typedef struct check
{
	void (*run)(tg_session *session);
	uint64_t interval_us;
	uint64_t due_us; /* watcher only */
} check;

/* Kept when the server starts again after a crash, as code addresses are. */
static pthread_mutex_t checks_mutex = PTHREAD_MUTEX_INITIALIZER;
static check checks[TG_WATCHER_CHECK_MAX]; /* under the mutex, as the count */
static unsigned check_count;

static bool is_ending; /* main thread writes, watcher reads */

void
tg_watcher_add(void (*run)(tg_session *session), unsigned interval_us)
{
	unsigned i = 0;

	pthread_mutex_lock(&checks_mutex);
	while (i < check_count && checks[i].run != run)
		i++;
	tg_check(i < TG_WATCHER_CHECK_MAX);
	checks[i] = (check){.run = run, .interval_us = interval_us};
	if (i == check_count)
		check_count++;
	pthread_mutex_unlock(&checks_mutex);
}

void
tg_watcher_poke(void)
{
	tg_scheduler *scheduler = tg_scheduler_shared;

	if (scheduler && tg_park_notify(&scheduler->watcher_park))
		tg_park_wake(&scheduler->watcher_park);
}

static void
run_checks(tg_session *session, uint64_t now)
{
	for (unsigned i = 0;; i++)
	{
		void (*run)(tg_session *) = NULL;
		bool more;

		pthread_mutex_lock(&checks_mutex);
		more = i < check_count;
		if (more && checks[i].due_us <= now)
		{
			checks[i].due_us = now + checks[i].interval_us;
			run = checks[i].run;
		}
		pthread_mutex_unlock(&checks_mutex);
		if (!more)
			return;
		if (run)
			run(session);
	}
}

static void
report_hang(const tg_worker *worker, uint64_t us)
{
	tg_job_report report;

	if (tg_job_report_of(tg_load_relaxed(&worker->job), &report))
		tg_message_post("a task of job %" PRIu64 " (%s) has been running for %" PRIu64 " ms on worker %u", report.id,
						report.kind, us / 1000, worker->id);
	else
		tg_message_post("a task has been running for %" PRIu64 " ms on worker %u", us / 1000, worker->id);
}

/* True if the worker is awake. */
static bool
look_at_worker(tg_worker *worker, uint64_t now)
{
	uint32_t state = tg_load_relaxed(&worker->state);
	uint64_t task = tg_load_relaxed(&worker->tasks_run);
	uint64_t hang_us = (uint64_t) tg_load_relaxed(&tg_settings_live.hang_ms) * 1000;

	if (state != TG_WORKER_RUNNING)
	{
		/* What it has run is over, and it will be RUNNING a moment before it counts the next task. */
		worker->task_seen = TG_TASK_NONE;
		tg_store_relaxed(&worker->task_long, TG_TASK_NONE);
		return state == TG_WORKER_SEARCHING;
	}
	if (task != worker->task_seen)
	{
		worker->task_seen = task;
		worker->task_seen_us = now;
		worker->task_is_reported = false;
		return true;
	}
	if (tg_load_relaxed(&worker->task_long) != task)
		tg_store_relaxed(&worker->task_long, task);
	if (!worker->task_is_reported && hang_us > 0 && now - worker->task_seen_us >= hang_us)
	{
		report_hang(worker, now - worker->task_seen_us);
		worker->task_is_reported = true;
	}
	return true;
}

static bool
look_at_workers(tg_scheduler *scheduler, uint64_t now)
{
	bool awake = false;

	for (uint32_t i = 0; i < scheduler->worker_count; i++)
		awake |= look_at_worker(&scheduler->workers[i], now);
	return awake;
}

/* One tick.  True if something goes on. */
static bool
tick(tg_scheduler *scheduler, tg_session *session)
{
	uint64_t now = tg_clock_us();
	bool active;

	tg_epoch_advance();
	active = tg_epoch_confirmed() < tg_epoch_now(); /* a session has been inside since before */
	tg_retire_poll(session);
	run_checks(session, now);
	if (look_at_workers(scheduler, now))
		active = true;
	return active;
}

void
tg_watcher_prepare(void)
{
	tg_scheduler_shared->watcher_park = TG_PARK_RUNNING;
	tg_scheduler_shared->watcher_is_deep = 0;
	tg_store_relaxed(&is_ending, false);
}

void
tg_watcher_end(void)
{
	tg_store_release(&is_ending, true);
	tg_watcher_poke();
}

static uint64_t
interval(void)
{
	uint64_t us = tg_load_relaxed(&tg_settings_live.watcher_interval_us);

	return us > INTERVAL_US_MIN ? us : INTERVAL_US_MIN;
}

void *
tg_watcher_main(void *argument)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	tg_session *session = argument;
	uint64_t sleep_us = 0;

	while (!tg_load_acquire(&is_ending))
	{
		uint64_t interval_us = interval();
		bool deep = sleep_us >= interval_us * DEEP_TICKS;

		tg_store_relaxed(&scheduler->watcher_is_deep, deep); /* if it goes on sleeping */
		tg_fence_seq_cst();
		if (tick(scheduler, session))
		{
			tg_store_relaxed(&scheduler->watcher_is_deep, 0);
			sleep_us = interval_us;
		}
		else
			sleep_us = sleep_us < interval_us ? interval_us : sleep_us * 2;
		if (sleep_us > IDLE_MS_MAX * 1000)
			sleep_us = interval_us > IDLE_MS_MAX * 1000 ? interval_us : IDLE_MS_MAX * 1000;
		if (!tg_park_try(&scheduler->watcher_park))
		{
			tg_park_consume(&scheduler->watcher_park);
			sleep_us = 0;
		}
		else if (tg_park_sleep(&scheduler->watcher_park, sleep_us))
			sleep_us = 0;
	}
	return NULL;
}
