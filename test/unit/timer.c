/*
 * timer.c
 *	  Timers: in order, not early, when they are due, and cancelled or run, never both.
 *
 * The heap is checked without threads, against a sorted array: with a pool that
 * only pretends to run, what the watcher submits lands in the global queue in
 * the order in which it fired.  The rest is checked live; the window between
 * a timer's leaving the heap and its submission is held open by a failpoint.
 */
#include "runtime/sched/condition.h"

#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/sched/condition_internal.h"
#include "runtime/sched/job.h"
#include "runtime/sched/worker.h"
#include "test/unit/pool.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

typedef struct alarm_clock
{
	tg_timer timer; /* first */
	uint64_t due_us;
	uint64_t ran_us;
	uint32_t runs;
	bool cancelled;
} alarm_clock;

static tg_turn
run_alarm(tg_task *task, tg_worker *worker)
{
	alarm_clock *alarm = (alarm_clock *) task;

	tg_store_relaxed(&alarm->ran_us, tg_clock_us());
	tg_fetch_add_acq_rel(&alarm->runs, 1);
	return TG_TURN_DONE;
}

static alarm_clock *
alarms_new(unsigned count)
{
	alarm_clock *alarms = take_zeroed(self, count * sizeof(alarm_clock));

	for (unsigned i = 0; i < count; i++)
		tg_timer_init(&alarms[i].timer, run_alarm, NULL);
	return alarms;
}

static void
start(tg_session *session, alarm_clock *alarm, uint64_t due_us)
{
	alarm->due_us = due_us;
	if (tg_timer_start(session, &alarm->timer, due_us) != TG_OK)
		abort();
}

static uint64_t
waiting_count(void)
{
	tg_scheduler_report report;

	tg_scheduler_report_get(&report);
	return report.timers_waiting;
}

/* --- the heap ------------------------------------------------------------------------ */

#define HEAP_MAX 2000
#define STEPS 200000

typedef struct model
{
	alarm_clock *alarms;
	bool waits[HEAP_MAX];
	unsigned count;
	uint64_t random;
	unsigned early; /* fired before others that were due before */
	/* fired though not due or not waiting, not fired though due, cancelled wrongly */
	unsigned odd;
} model;

/* Everything due up to now must come, in order of time; nothing else.  The next is slept to. */
static void
fire(model *model)
{
	uint64_t now = tg_clock_us();
	uint64_t last_us = 0;
	uint64_t next_us = UINT64_MAX;
	tg_task *task;

	tg_timers_look(self);
	while ((task = tg_queue_take(&tg_scheduler_shared->global, 1)))
	{
		alarm_clock *alarm = (alarm_clock *) task;
		unsigned i = (unsigned) (alarm - model->alarms);

		model->early += alarm->due_us < last_us;
		model->odd += !model->waits[i] || alarm->due_us > tg_clock_us();
		last_us = alarm->due_us;
		model->waits[i] = false;
		model->count--;
	}
	for (unsigned i = 0; i < HEAP_MAX; i++)
		if (model->waits[i])
		{
			model->odd += model->alarms[i].due_us <= now;
			next_us = model->alarms[i].due_us < next_us ? model->alarms[i].due_us : next_us;
		}
	model->odd += tg_timers_sleep(UINT64_MAX) != next_us;
}

/* Starts or cancels one; times lie far ahead but for few, which are over. */
static void
step(model *model)
{
	unsigned i = (unsigned) (unit_random(&model->random) % HEAP_MAX);

	if (model->waits[i])
	{
		model->odd += !tg_timer_cancel(self, &model->alarms[i].timer);
		model->count--;
	}
	else
	{
		uint64_t ahead = unit_random(&model->random) % 1000;

		start(self, &model->alarms[i], tg_clock_us() + (ahead < 20 ? 0 : NEVER_US + ahead));
		model->count++;
	}
	model->waits[i] = !model->waits[i];
	model->odd += tg_timer_cancel(self, &model->alarms[(i + 1) % HEAP_MAX].timer) != model->waits[(i + 1) % HEAP_MAX];
	model->count -= model->waits[(i + 1) % HEAP_MAX];
	model->waits[(i + 1) % HEAP_MAX] = false;
}

/* All that is left comes out in order. */
static bool
empty_in_order(model *model)
{
	uint64_t last_us = 0;
	bool right = true;

	for (unsigned i = 0; i < HEAP_MAX; i++) /* all become due, in another order than they went in */
	{
		if (!tg_timer_cancel(self, &model->alarms[i].timer))
			model->count++;
		start(self, &model->alarms[i], 1 + unit_random(&model->random) % 100000);
	}
	right = waiting_count() == HEAP_MAX;
	for (unsigned left = HEAP_MAX; left > 0;)
	{
		tg_task *task;

		tg_timers_look(self);
		while ((task = tg_queue_take(&tg_scheduler_shared->global, 1)))
		{
			right = right && ((alarm_clock *) task)->due_us >= last_us;
			last_us = ((alarm_clock *) task)->due_us;
			left--;
		}
	}
	return right && waiting_count() == 0;
}

static void
test_heap(void)
{
	model *model = take_zeroed(self, sizeof(struct model));

	model->alarms = alarms_new(HEAP_MAX);
	model->random = 42;
	tg_store_release(&tg_scheduler_shared->phase, TG_PHASE_RUNNING);
	for (unsigned i = 0; i < STEPS; i++)
	{
		step(model);
		if (i % 50 == 0)
			fire(model);
		if (i % 1000 == 0)
			model->odd += waiting_count() != model->count;
	}
	unit_equal(model->early, 0, "%d starts and cancels: due timers come in order", STEPS);
	unit_equal(model->odd, 0, "all of it, and nothing else");
	unit_ok(empty_in_order(model), "%d timers come out in order of their times", HEAP_MAX);
	tg_store_release(&tg_scheduler_shared->phase, TG_PHASE_STOPPED);
	tg_free(self, model->alarms, TG_USE_JOB);
	tg_free(self, model, TG_USE_JOB);
}

/* --- live ------------------------------------------------------------------------------ */

#define SOON_COUNT 300

/* The watcher has no tick to come by: it wakes for the timers. */
static void
test_times(void)
{
	alarm_clock *alarms = alarms_new(SOON_COUNT);
	uint64_t begin = tg_clock_us();
	uint64_t random = 7;
	unsigned early = 0;
	bool all = true;

	unit_ok(tg_timer_start(self, &alarms[0].timer, 0) == TG_STOPPED, "refused without a pool");
	pool_start_quiet(1);
	for (unsigned i = 0; i < SOON_COUNT; i++)
		start(self, &alarms[i], begin + unit_random(&random) % 500000);
	for (unsigned i = 0; i < SOON_COUNT; i++)
	{
		all = all && comes_true(&alarms[i].runs, 1);
		early += alarms[i].ran_us < alarms[i].due_us;
	}
	unit_ok(all, "%d timers within 0.5 s: all run", SOON_COUNT);
	unit_equal(early, 0, "none early");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, alarms, TG_USE_JOB);
}

/* An earlier one, started while the watcher sleeps towards a later one. */
static void
test_earlier(void)
{
	alarm_clock *alarms = alarms_new(2);

	pool_start_quiet(1);
	start(self, &alarms[0], tg_clock_us() + NEVER_US);
	usleep(20000);
	start(self, &alarms[1], tg_clock_us() + 20000);
	unit_ok(comes_true(&alarms[1].runs, 1) && alarms[0].runs == 0, "an earlier timer wakes the watcher");
	unit_ok(tg_timer_cancel(self, &alarms[0].timer) && !tg_timer_cancel(self, &alarms[0].timer),
			"the later one is cancelled, once");
	unit_ok(!tg_timer_cancel(self, &alarms[1].timer), "the one that has run is not");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, alarms, TG_USE_JOB);
}

/* It starts itself again, nine times. */
static tg_turn
run_periodic(tg_task *task, tg_worker *worker)
{
	alarm_clock *alarm = (alarm_clock *) task;

	if (tg_fetch_add_acq_rel(&alarm->runs, 1) < 9)
		start(tg_worker_session(worker), alarm, alarm->due_us + 2000);
	return TG_TURN_DONE;
}

static void
test_periodic(void)
{
	alarm_clock *alarm = alarms_new(1);

	pool_start_quiet(2);
	tg_timer_init(&alarm->timer, run_periodic, NULL);
	start(self, alarm, tg_clock_us() + 2000);
	unit_ok(comes_true(&alarm->runs, 10), "a timer's task starts it again");
	usleep(10000);
	unit_equal(alarm->runs, 10, "and it ends when it does not");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, alarm, TG_USE_JOB);
}

/* --- cancel against firing ----------------------------------------------------------------- */

#define CANCELLERS 3
#define RACES 3000

typedef struct race
{
	uint32_t cancelled[CANCELLERS];
	uint32_t ran[CANCELLERS];
	uint32_t wrong[CANCELLERS];
} race;

static bool
linger(const char *name)
{
	if (strcmp(name, "timer_fire") == 0)
	{
		for (unsigned pause = 200; pause > 0; pause--)
			tg_pause();
	}
	return false;
}

/* Cancels at about the time it fires, and gives the memory back at once if it may. */
static void
cancel_many(unsigned number, void *argument)
{
	race *race = argument;
	tg_session *session = session_open();
	uint64_t random = number;

	for (unsigned i = 0; i < RACES; i++)
	{
		alarm_clock *alarm = take_zeroed(session, sizeof(alarm_clock));
		uint64_t due_us = tg_clock_us() + unit_random(&random) % 100;
		uint64_t cancel_us = due_us + unit_random(&random) % 150;

		tg_timer_init(&alarm->timer, run_alarm, NULL);
		start(session, alarm, due_us);
		while (tg_clock_us() < cancel_us)
			tg_pause();
		if (tg_timer_cancel(session, &alarm->timer))
		{
			race->cancelled[number]++;
			race->wrong[number] += tg_load_acquire(&alarm->runs) != 0;
		}
		else
		{
			race->ran[number]++;
			race->wrong[number] += !comes_true(&alarm->runs, 1);
		}
		tg_free(session, alarm, TG_USE_JOB);
	}
	tg_session_close(session);
}

static void
test_cancel_race(void)
{
	race race = {0};

	tg_failpoint_set(linger);
	pool_start(2);
	unit_threads(CANCELLERS, cancel_many, &race);
	for (unsigned i = 0; i < CANCELLERS; i++)
		unit_equal(race.wrong[i], 0, "cancelled (%u) or run (%u), never both or neither", race.cancelled[i],
				   race.ran[i]);
	unit_equal(waiting_count(), 0, "no timer is left");
	unit_ok(pool_stop(), "the pool stops");
	tg_failpoint_set(NULL);
}

/* --- jobs, stop and start -------------------------------------------------------------------- */

typedef struct waiting_job
{
	tg_task first;
	alarm_clock alarms[3];
	uint32_t started;
	uint32_t torn_down;
} waiting_job;

static tg_turn
run_starting(tg_task *task, tg_worker *worker)
{
	waiting_job *job = (waiting_job *) task;

	for (unsigned i = 0; i < 3; i++)
		start(tg_worker_session(worker), &job->alarms[i], tg_clock_us() + (i == 0 ? 1000 : NEVER_US));
	tg_store_release(&job->started, 1);
	return TG_TURN_DONE;
}

static void
tear_down(tg_job *job, tg_session *session)
{
	tg_store_release(&((waiting_job *) tg_job_argument(job))->torn_down, 1);
}

static tg_job *
job_start(waiting_job *argument)
{
	tg_job_config config = {.kind = "waits", .level = 60, .argument = argument, .teardown = tear_down};
	tg_job *job;

	memset(argument, 0, sizeof(*argument));
	if (tg_job_create(self, &config, &job) != TG_OK)
		abort();
	tg_task_init(&argument->first, run_starting, job);
	for (unsigned i = 0; i < 3; i++)
		tg_timer_init(&argument->alarms[i].timer, run_alarm, job);
	if (tg_job_start(self, job, &argument->first) != TG_OK)
		abort();
	return job;
}

static void
test_job(void)
{
	waiting_job *argument = take_zeroed(self, sizeof(waiting_job));
	tg_job *job;

	pool_start_quiet(2);
	job = job_start(argument);
	unit_ok(comes_true(&argument->started, 1) && comes_true(&argument->alarms[0].runs, 1) &&
				tg_job_state_get(job) == TG_JOB_RUNNING,
			"a job goes on while timers of it wait");
	unit_ok(tg_timer_cancel(self, &argument->alarms[1].timer) && tg_job_state_get(job) == TG_JOB_RUNNING,
			"one of two is cancelled");
	unit_ok(tg_timer_cancel(self, &argument->alarms[2].timer) && argument->torn_down == 1 &&
				tg_job_state_get(job) == TG_JOB_DONE,
			"the other one, too: that was its last task");
	tg_job_release(self, job);

	job = job_start(argument);
	unit_ok(comes_true(&argument->started, 1), "timers of a job wait");
	tg_job_cancel(self, job);
	unit_ok(comes_true(&argument->torn_down, 1) && argument->alarms[2].runs == 1, "cancelled, they run, and it ends");
	tg_job_release(self, job);

	job = job_start(argument);
	unit_ok(comes_true(&argument->started, 1), "timers of a job wait");
	unit_ok(pool_stop() && argument->torn_down == 1 && argument->alarms[2].runs == 1, "when the pool stops, too");
	tg_job_release(self, job);
	tg_free(self, argument, TG_USE_JOB);
}

static void
test_stop_and_start(void)
{
	alarm_clock *alarms = alarms_new(2);
	uint64_t due;
	bool stopped;

	/* the pool has to stop before the first one is due, which on a busy machine takes a while */
	for (uint64_t delay_us = 100000;; delay_us *= 2)
	{
		pool_start_quiet(1);
		due = tg_clock_us() + delay_us;
		start(self, &alarms[0], due);
		start(self, &alarms[1], tg_clock_us() + 2 * NEVER_US);
		stopped = pool_stop();
		if (tg_clock_us() < due)
			break;
		pool_start_quiet(1);
		if (!comes_true(&alarms[0].runs, 1) || !tg_timer_cancel(self, &alarms[1].timer) || !pool_stop())
			unit_bail("a timer does not run");
		alarms[0].runs = 0;
	}
	unit_ok(stopped && waiting_count() == 2, "the pool stops while timers without a job wait");
	while (tg_clock_us() <= due)
		usleep(1000);
	unit_ok(alarms[0].runs == 0 && waiting_count() == 2, "they go on waiting");
	pool_start_quiet(1);
	unit_ok(comes_true(&alarms[0].runs, 1) && alarms[1].runs == 0, "when it starts again what is due runs");
	unit_ok(tg_timer_cancel(self, &alarms[1].timer) && pool_stop(), "and the other one can be cancelled");
	tg_free(self, alarms, TG_USE_JOB);
}

int
main(void)
{
	server_start();
	test_heap();
	test_times();
	test_earlier();
	test_periodic();
	test_cancel_race();
	test_job();
	test_stop_and_start();
	server_end();
	return unit_done();
}
