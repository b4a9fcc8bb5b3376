/*
 * watcher.c
 *	  The watcher: one thread that ticks, and checks the state of everything.
 *
 * A tick starts a new epoch, runs the registered checks that are due, and looks at the workers.  A
 * worker whose task is the same as at the last tick is in a long task: submitters then prefer other
 * workers, and tg_should_yield answers true.  A task that runs for hang_ms is reported, once.
 * Objects of higher rooms, such as transactions' lanes, are watched by checks that those rooms
 * register.
 *
 * Between ticks the watcher looks at conditions and timers, when one is due or when it is poked.
 * They do not wait for a tick, and they do not cause one.
 *
 * While a worker is awake or a session is inside an epoch, the watcher ticks every
 * watcher_interval_us.  Otherwise the time between ticks doubles with each tick, up to IDLE_MS_MAX,
 * so an idle pool costs next to nothing; conditions that are only poked do not change that.  Beyond
 * DEEP_TICKS intervals the watcher's sleep counts as deep, and a worker that finds work pokes it:
 * one futex call per such pause, none in a busy pool.
 *
 * 1. task_long, task_hung and task_seen hold a value of the worker's tasks_run,
 *	  so they expire by themselves with the next task, or here when the worker
 *	  sleeps.
 * 2. A poke is never lost: it stays in the park word as a permit.
 * 3. Ticks are at least an interval apart, however often it is poked: two looks
 *	  at the same task mean that it has lasted that long.
 */
#include "runtime/sched/watcher.h"

#include <inttypes.h>
#include <pthread.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/presence.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/sched/condition_internal.h"
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

tg_status
tg_watcher_create(tg_session *session)
{
	tg_status status = tg_conditions_create(session);

	return status == TG_OK ? tg_timers_create(session) : status;
}

/* --- calls of other threads ---------------------------------------------------------- */

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

void
tg_watcher_report_hang(const char *format, ...)
{
	va_list arguments;

	tg_store_relaxed(&tg_scheduler_shared->hangs, tg_scheduler_shared->hangs + 1);
	va_start(arguments, format);
	tg_message_post_list(format, arguments);
	va_end(arguments);
}

void
tg_watcher_submit(tg_session *session, tg_task *task)
{
	if (tg_task_submit_urgent(session, task) != TG_OK)
		tg_worker_requeue(tg_scheduler_shared, task);
}

void
tg_watcher_job_cancelled(void)
{
	tg_timers_let_go();
	tg_condition_poke();
}

void
tg_watcher_report(tg_scheduler_report *report)
{
	report->ticks = tg_load_relaxed(&tg_scheduler_shared->ticks);
	report->hangs = tg_load_relaxed(&tg_scheduler_shared->hangs);
	tg_conditions_report(report);
	tg_timers_report(report);
}

void
tg_watcher_report_worker(const tg_worker *worker, tg_worker_report *report)
{
	tg_job_report job;
	uint64_t task = tg_load_relaxed(&worker->tasks_run);
	uint64_t now = tg_clock_us();
	uint64_t since_us = tg_load_relaxed(&worker->task_seen_us);

	if (report->state != TG_WORKER_RUNNING)
		return;
	report->in_long_task = tg_load_relaxed(&worker->task_long) == task;
	report->hung = tg_load_relaxed(&worker->task_hung) == task;
	if (report->in_long_task && now > since_us)
		report->task_us = now - since_us;
	if (tg_job_report_of(tg_load_relaxed(&worker->job), &job))
		report->job_id = job.id;
}

/* --- a tick ------------------------------------------------------------------------ */

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
report_task(const tg_worker *worker, uint64_t us)
{
	tg_job_report report;

	if (tg_job_report_of(tg_load_relaxed(&worker->job), &report))
		tg_watcher_report_hang("a task of job %" PRIu64 " (%s) has been running for %" PRIu64 " ms on worker %u",
							   report.id, report.kind, us / 1000, worker->id);
	else
		tg_watcher_report_hang("a task has been running for %" PRIu64 " ms on worker %u", us / 1000, worker->id);
}

/*
 * The worker's last task has ended.  The worker will be RUNNING for a moment before it counts the
 * next task.
 */
static void
forget_task(tg_worker *worker)
{
	worker->task_seen = TG_TASK_NONE;
	tg_store_relaxed(&worker->task_long, TG_TASK_NONE);
	tg_store_relaxed(&worker->task_hung, TG_TASK_NONE);
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
		forget_task(worker);
		return state == TG_WORKER_SEARCHING;
	}
	if (task != worker->task_seen)
	{
		worker->task_seen = task;
		tg_store_relaxed(&worker->task_seen_us, now);
		return true;
	}
	if (tg_load_relaxed(&worker->task_long) != task)
		tg_store_relaxed(&worker->task_long, task);
	if (tg_load_relaxed(&worker->task_hung) != task && hang_us > 0 && now - worker->task_seen_us >= hang_us)
	{
		tg_store_relaxed(&worker->task_hung, task);
		report_task(worker, now - worker->task_seen_us);
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

/* True if a worker is awake or a session is inside an epoch. */
static bool
tick(tg_scheduler *scheduler, tg_session *session, uint64_t now)
{
	bool active;

	tg_store_relaxed(&scheduler->ticks, scheduler->ticks + 1);
	tg_session_answer(session);
	tg_epoch_advance();
	active = tg_epoch_confirmed() < tg_epoch_now(); /* a session has been inside since before */
	tg_retire_poll(session);
	run_checks(session, now);
	if (look_at_workers(scheduler, now))
		active = true;
	return active;
}

/* --- the thread ---------------------------------------------------------------------- */

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

/* From a tick to the next one, if nothing goes on: twice as long as the last time. */
static uint64_t
period_doubled(uint64_t period_us, uint64_t interval_us)
{
	uint64_t max_us = interval_us > IDLE_MS_MAX * 1000 ? interval_us : IDLE_MS_MAX * 1000;

	if (period_us < interval_us)
		return interval_us;
	return 2 * period_us < max_us ? 2 * period_us : max_us;
}

/* Ticks, and returns the time to the next tick. */
static uint64_t
tick_and_pace(tg_scheduler *scheduler, tg_session *session, uint64_t now, uint64_t period_us)
{
	uint64_t interval_us = interval();
	bool deep = period_us >= interval_us * DEEP_TICKS;

	tg_store_relaxed(&scheduler->watcher_is_deep, deep); /* if it goes on sleeping */
	tg_fence_seq_cst();
	if (tick(scheduler, session, now))
	{
		tg_store_relaxed(&scheduler->watcher_is_deep, 0);
		return interval_us;
	}
	if (deep)
		/* the orphans' memory that it has freed is for other sessions */
		tg_session_do_duty(session);
	return period_doubled(period_us, interval_us);
}

/* Sleeps until until_us at most.  True if poked. */
static bool
sleep_until(tg_scheduler *scheduler, uint64_t until_us)
{
	uint64_t now = tg_clock_us();

	tg_failpoint("watcher_sleep");
	if (!tg_park_try(&scheduler->watcher_park))
	{
		tg_park_consume(&scheduler->watcher_park);
		return true;
	}
	return tg_park_sleep(&scheduler->watcher_park, until_us > now ? until_us - now : 0);
}

void *
tg_watcher_main(void *argument)
{
	tg_scheduler *scheduler = tg_scheduler_shared;
	tg_session *session = argument;
	uint64_t ticked_us = 0;
	uint64_t period_us = 0;

	while (!tg_load_acquire(&is_ending))
	{
		uint64_t now = tg_clock_us();
		uint64_t until_us;
		uint64_t due_us;

		if (now - ticked_us >= period_us)
		{
			period_us = tick_and_pace(scheduler, session, now, period_us);
			ticked_us = now;
		}
		tg_timers_look(session);
		due_us = tg_conditions_look(session);
		until_us = ticked_us + period_us;
		until_us = tg_timers_sleep(due_us < until_us ? due_us : until_us);
		if (sleep_until(scheduler, until_us))
			period_us = interval();
	}
	return NULL;
}
