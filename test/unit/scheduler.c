/*
 * scheduler.c
 *	  The pool's life, its sleep, and its watcher.
 *
 * An accepted task runs before the pool has stopped, also if threads submit meanwhile; a task that
 * is unparked without a pool runs in the next one.  An idle pool sleeps; beside a long task its
 * watcher ticks and no worker searches, with each kind of distributor.  Workers stay on the CPUs to
 * which they were pinned.  The watcher runs checks, and notices a task that runs for too long.
 */
#include "runtime/sched/scheduler.h"

#include <string.h>

#include "runtime/base/check.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

typedef struct slow
{
	tg_task task;
	uint32_t turns;
	uint32_t told_us; /* when it was told to yield */
	uint32_t may_end;
	uint32_t ended;
} slow;

/* --- stop and start again ------------------------------------------------------- */

#define QUEUED 1000

static void
test_stop(void)
{
	counting *tasks = take_zeroed(self, sizeof(counting) * QUEUED);
	uint32_t total = 0;
	uint32_t accepted = 0;

	counting_init(&tasks[0], &total);
	unit_ok(!tg_scheduler_is_running(), "no pool runs");
	unit_ok(tg_task_submit(self, NULL, &tasks[0].task) == TG_STOPPED, "a submission is refused without a pool");
	unit_ok(tg_scheduler_stop(10), "to stop what does not run is fine");
	for (unsigned round = 0; round < 3; round++)
	{
		total = accepted = 0;
		pool_start(2);
		unit_ok(tg_scheduler_is_running() && tg_worker_count() == 2, "the pool starts, time %u", round + 1);
		for (unsigned i = 0; i < QUEUED; i++)
		{
			counting_init(&tasks[i], &total);
			accepted += tg_task_submit(self, NULL, &tasks[i].task) == TG_OK;
		}
		unit_ok(pool_stop(), "and stops with tasks queued");
		unit_ok(accepted == QUEUED && total == accepted, "after all of them have run");
		unit_ok(tg_task_submit(self, NULL, &tasks[0].task) == TG_STOPPED, "and refuses then");
	}
	tg_free(self, tasks, TG_USE_JOB);
}

#define SUBMITTERS 4
#define SUBMISSIONS 20000

typedef struct crowd
{
	uint32_t total; /* tasks run */
	uint32_t accepted;
	bool stopped;
	counting tasks[SUBMITTERS][SUBMISSIONS];
} crowd;

static void
stop_while_submitting(unsigned number, void *argument)
{
	crowd *crowd = argument;

	if (number < SUBMITTERS)
	{
		tg_session *session = session_open();

		for (unsigned i = 0; i < SUBMISSIONS; i++)
		{
			if (tg_task_submit(session, NULL, &crowd->tasks[number][i].task) == TG_OK)
				tg_fetch_add_relaxed(&crowd->accepted, 1);
		}
		tg_session_close(session);
	}
	else
	{
		usleep(1000);
		tg_store_relaxed(&crowd->stopped, pool_stop());
	}
}

static void
test_stop_race(void)
{
	crowd *crowd = take_zeroed(self, sizeof(struct crowd));
	unsigned wrong = 0;

	for (unsigned round = 0; round < 20; round++)
	{
		memset(crowd, 0, sizeof(*crowd));
		for (unsigned i = 0; i < SUBMITTERS * SUBMISSIONS; i++)
			counting_init(&crowd->tasks[0][0] + i, &crowd->total);
		pool_start(2);
		unit_threads(SUBMITTERS + 1, stop_while_submitting, crowd);
		wrong += !crowd->stopped || crowd->total != crowd->accepted;
	}
	unit_equal(wrong, 0, "the pool stops while others submit: exactly the accepted tasks have run");
	tg_free(self, crowd, TG_USE_JOB);
}

/* A task that is unparked without a pool runs when there is one again. */
static tg_turn
run_parking_once(tg_task *task, tg_worker *worker)
{
	slow *slow = (struct slow *) task;

	if (tg_fetch_add_acq_rel(&slow->turns, 1) == 0)
		return TG_TURN_PARK;
	tg_store_release(&slow->ended, 1);
	return TG_TURN_DONE;
}

static void
test_unpark_stopped(void)
{
	slow *parking = take_zeroed(self, sizeof(slow));

	pool_start(2);
	tg_task_init(&parking->task, run_parking_once, NULL);
	if (tg_task_submit(self, NULL, &parking->task) != TG_OK)
		abort();
	unit_ok(pool_stop() && parking->turns == 1, "the pool stops with a parked task without a job");
	tg_task_unpark(self, &parking->task);
	unit_ok(parking->turns == 1, "unparked without a pool, it waits");
	pool_start(2);
	unit_ok(comes_true(&parking->ended, 1), "and runs with the next one");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, parking, TG_USE_JOB);
}

/* --- sleep, watcher ------------------------------------------------------------------------ */

/* of each in a moment; a thread that does not give up makes hundreds and thousands */
#define STIRRING_MOST 100

/*
 * Actions that the pool's threads take of their own accord.  They are counted because a machine's
 * noise would be in their CPU time.
 */
typedef struct stirring
{
	uint64_t us;	 /* when it was counted */
	uint64_t ticks;	 /* of the watcher */
	uint64_t naps;	 /* of the distributor */
	uint64_t sleeps; /* of workers */
	uint64_t rounds; /* of searches */
} stirring;

static stirring
stirring_now(void)
{
	stirring now = {.us = tg_clock_us()};
	tg_scheduler_report pool;

	tg_scheduler_report_get(&pool);
	now.ticks = pool.ticks;
	now.naps = pool.distribution_naps;
	for (unsigned i = 0; i < pool.workers; i++)
	{
		tg_worker_report worker;

		tg_worker_report_get(i, &worker);
		now.sleeps += worker.suspensions;
		now.rounds += worker.steal_misses;
	}
	return now;
}

/* No more than what they are to do, nothing being done, since the count before. */
static void
check_stirring(stirring before, uint64_t tick_us, const char *when)
{
	stirring now = stirring_now();
	uint64_t us = now.us - before.us;
	/* they sleep for a second at a time */
	uint64_t sleeps_most = tg_worker_count() * (us / 1000000 + 2);

	unit_ok(now.ticks - before.ticks <= us / tick_us + STIRRING_MOST, "%s: %" PRIu64 " ticks in %" PRIu64 " us", when,
			now.ticks - before.ticks, us);
	unit_ok(now.sleeps - before.sleeps <= sleeps_most, "%s: workers fell asleep %" PRIu64 " times", when,
			now.sleeps - before.sleeps);
	unit_ok(now.rounds - before.rounds <= STIRRING_MOST && now.naps - before.naps <= STIRRING_MOST,
			"%s: %" PRIu64 " rounds of search, %" PRIu64 " naps", when, now.rounds - before.rounds,
			now.naps - before.naps);
}

static void
mode_start(unsigned workers, tg_distributor mode)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	settings.distributor = mode;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		abort();
}

static void
test_idle(tg_distributor mode, unsigned ms)
{
	stirring before;

	mode_start(4, mode);
	unit_ok(pool_sleeps_soon(), "an idle pool suspends its workers, mode %d", (int) mode);
	before = stirring_now();
	usleep(ms * 1000);
	check_stirring(before, 100000, "an idle pool");
	unit_ok(pool_sleeps_soon(), "and still sleeps");
	unit_ok(pool_stop(), "the pool stops");
}

/* A task that lasts. */
static tg_turn
run_asleep(tg_task *task, tg_worker *worker)
{
	slow *slow = (struct slow *) task;

	tg_store_release(&slow->turns, 1);
	while (!tg_load_acquire(&slow->may_end))
		usleep(100000);
	tg_store_release(&slow->ended, 1);
	return TG_TURN_DONE;
}

/* Beside a long task the watcher ticks, and no worker searches for ever. */
static void
test_beside_long_task(tg_distributor mode)
{
	slow *slow = take_zeroed(self, sizeof(struct slow));
	stirring before;

	mode_start(4, mode);
	tg_task_init(&slow->task, run_asleep, NULL);
	if (tg_task_submit(self, NULL, &slow->task) != TG_OK || !comes_true(&slow->turns, 1))
		abort();
	usleep(100000);
	before = stirring_now();
	usleep(1000000);
	check_stirring(before, 1000, "beside a long task");
	tg_store_release(&slow->may_end, 1);
	unit_ok(comes_true(&slow->ended, 1) && pool_stop(), "the pool stops");
	tg_free(self, slow, TG_USE_JOB);
}

static void
test_affinity(void)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(2);
	tg_worker_report reports[2];
	char text[256];
	int core = sched_getcpu();

	settings.core_affinity = true;
	settings.initial_core = (unsigned) core;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK || !pool_sleeps_soon())
		abort();
	for (unsigned i = 0; i < 2; i++)
		tg_worker_report_get(i, &reports[i]);
	unit_ok(reports[0].core == core, "worker 0 is pinned to the initial core");
	unit_ok(reports[1].core == core + 1 || reports[1].core == -1, "the next one to the next, if there is one");
	unit_ok(pool_stop(), "the pool stops");
	while (tg_host_message_next(text, sizeof(text)))
		;
	settings.workers = 1;
	settings.initial_core = CPU_SETSIZE;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK || !pool_sleeps_soon())
		abort();
	tg_worker_report_get(0, &reports[0]);
	unit_ok(reports[0].core == -1 && tg_host_message_next(text, sizeof(text)) && strstr(text, "could not be pinned"),
			"one that cannot be pinned runs, and is told of: %s", text);
	unit_ok(pool_stop(), "the pool stops");
	settings = tg_scheduler_settings_default(1);
	tg_scheduler_settings_set(&settings);
}

static uint32_t check_runs;
static counting *check_task;

static void
check_that_submits(tg_session *session)
{
	if (tg_fetch_add_relaxed(&check_runs, 1) == 0)
		tg_check(tg_task_submit(session, NULL, &check_task->task) == TG_OK);
}

static tg_turn
run_long(tg_task *task, tg_worker *worker)
{
	slow *slow = (struct slow *) task;
	uint64_t begin = tg_clock_us();

	while (!tg_load_acquire(&slow->may_end) && !tg_should_yield(worker))
		usleep(100);
	tg_store_relaxed(&slow->told_us, tg_should_yield(worker) ? (uint32_t) (tg_clock_us() - begin) : 0);
	while (!tg_load_acquire(&slow->may_end))
		usleep(100);
	tg_store_release(&slow->ended, 1);
	return TG_TURN_DONE;
}

static void
test_watcher(void)
{
	slow *slow = take_zeroed(self, sizeof(struct slow));
	counting *waiting = take_zeroed(self, sizeof(counting));
	uint32_t total = 0;
	uint32_t runs;
	char text[256];
	uint64_t begin;
	bool told;

	check_task = take_zeroed(self, sizeof(counting));
	counting_init(check_task, &total);
	tg_watcher_add(check_that_submits, 1000000);
	tg_watcher_add(check_that_submits, 0); /* the same one: only its interval changes */
	pool_start(1);
	unit_ok(comes_true(&total, 1), "the watcher runs a check, and it submits a task");
	usleep(200000); /* now it ticks seldom */
	runs = tg_load_relaxed(&check_runs);
	begin = tg_clock_us();
	tg_watcher_poke();
	while (tg_load_relaxed(&check_runs) == runs && tg_clock_us() - begin < SOON_US)
		sched_yield();
	unit_ok(tg_load_relaxed(&check_runs) > runs, "a poke makes it run soon (%" PRIu64 " us)", tg_clock_us() - begin);

	unit_ok(!tg_host_message_next(text, sizeof(text)), "there is nothing to tell");
	settings_set(1, SUSPEND_LONG_MS, 100);
	usleep(200000);
	tg_task_init(&slow->task, run_long, NULL);
	if (tg_task_submit(self, NULL, &slow->task) != TG_OK)
		abort();
	usleep(3000);
	counting_init(waiting, &total);
	if (tg_task_submit(self, NULL, &waiting->task) != TG_OK)
		abort();
	usleep(400000); /* four times hang_ms */
	begin = tg_clock_us();
	while (tg_load_relaxed(&slow->told_us) == 0 && tg_clock_us() - begin < SOON_US)
		usleep(1000);
	unit_ok(tg_load_relaxed(&slow->told_us) > 0, "a long task is told to yield when another waits");
	printf("# after %u us\n", tg_load_relaxed(&slow->told_us));
	while (!(told = tg_host_message_next(text, sizeof(text))) && tg_clock_us() - begin < SOON_US)
		usleep(1000);
	unit_ok(told && strstr(text, "has been running for"), "it is reported: %s", text);
	unit_ok(!tg_host_message_next(text, sizeof(text)), "once");
	tg_store_release(&slow->may_end, 1);
	unit_ok(comes_true(&total, 2) && comes_true(&slow->ended, 1), "the one that waits runs after it");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, slow, TG_USE_JOB);
	tg_free(self, waiting, TG_USE_JOB);
	tg_free(self, check_task, TG_USE_JOB);
}

int
main(void)
{
	server_start();
	test_stop();
	test_stop_race();
	test_unpark_stopped();
	for (tg_distributor mode = TG_DISTRIBUTOR_OFF; mode <= TG_DISTRIBUTOR_THREAD; mode++)
	{
		test_idle(mode, mode == TG_DISTRIBUTOR_WORKER ? 1000 : 300);
		test_beside_long_task(mode);
	}
	test_affinity();
	test_watcher();
	server_end();
	return unit_done();
}
