/*
 * watcher.c
 *	  The watcher: long tasks are told to yield, hanging ones reported once
 *	  with their job, and lanes with their transaction; how often it ticks, and what
 *	  does not make it tick.
 *
 * (Conditions and timers have tests of their own.)  A task under test goes on
 * until this thread lets it end, so no timing decides what is found.
 */
#include "runtime/sched/watcher.h"

#include <string.h>

#include "runtime/sched/condition.h"
#include "runtime/sched/job.h"
#include "runtime/txn/txn_internal.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

#define HANG_MS 100

typedef struct lasting
{
	tg_task task; /* first */
	uint32_t begun;
	uint32_t told; /* to yield */
	uint32_t may_end;
	uint32_t ended;
} lasting;

static tg_turn
run_lasting(tg_task *task, tg_worker *worker)
{
	lasting *lasting = (struct lasting *) task;

	tg_store_release(&lasting->begun, 1);
	while (!tg_load_acquire(&lasting->may_end))
	{
		if (tg_should_yield(worker))
			tg_store_relaxed(&lasting->told, 1);
		usleep(100);
	}
	tg_store_release(&lasting->ended, 1);
	return TG_TURN_DONE;
}

static tg_scheduler_report
look(void)
{
	tg_scheduler_report report;

	tg_scheduler_report_get(&report);
	return report;
}

static tg_worker_report
look_at_worker(void)
{
	tg_worker_report report;

	tg_worker_report_get(0, &report);
	return report;
}

static bool
hangs_come_to(uint64_t count)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (look().hangs < count && tg_clock_us() < end)
		usleep(1000);
	return look().hangs == count;
}

static bool
comes_to_be_long(void)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (!look_at_worker().in_long_task && tg_clock_us() < end)
		usleep(1000);
	usleep(5000);
	return look_at_worker().in_long_task;
}

static unsigned
messages_that_say(const char *what)
{
	char text[256];
	unsigned count = 0;

	while (tg_host_message_next(text, sizeof(text)))
	{
		count += strstr(text, what) != NULL;
		printf("# %s\n", text);
	}
	return count;
}

static void
pool_start_with(unsigned workers, unsigned interval_us, unsigned hang_ms)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	settings.watcher_interval_us = interval_us;
	settings.hang_ms = hang_ms;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		abort();
}

/* --- tasks that hang -------------------------------------------------------------------- */

static tg_job *
job_start(lasting *lasting, const char *kind)
{
	tg_job_config config = {.kind = kind, .level = 60};
	tg_job *job;

	memset(lasting, 0, sizeof(*lasting));
	if (tg_job_create(self, &config, &job) != TG_OK)
		abort();
	tg_task_init(&lasting->task, run_lasting, job);
	if (tg_job_start(self, job, &lasting->task) != TG_OK)
		abort();
	return job;
}

static void
end_job(lasting *lasting, tg_job *job)
{
	tg_store_release(&lasting->may_end, 1);
	(void) comes_true(&lasting->ended, 1);
	tg_job_release(self, job);
}

static void
test_hang(void)
{
	lasting *lasting = take_zeroed(self, sizeof(struct lasting));
	uint64_t hangs = look().hangs;
	tg_worker_report report;
	tg_job *job;

	pool_start_with(1, 1000, HANG_MS);
	job = job_start(lasting, "hangs");
	unit_ok(hangs_come_to(hangs + 1), "a task that goes on is reported");
	report = look_at_worker();
	unit_ok(report.in_long_task && report.hung && report.task_us >= HANG_MS * 1000 && report.job_id > 0,
			"the view shows it: for %" PRIu64 " us, job %" PRIu64, report.task_us, report.job_id);
	usleep(3 * HANG_MS * 1000);
	unit_ok(look().hangs == hangs + 1 && messages_that_say("(hangs)") == 1, "once, with its job");
	end_job(lasting, job);
	unit_ok(pool_sleeps_soon(), "it ends");
	report = look_at_worker();
	unit_ok(!report.in_long_task && !report.hung && report.task_us == 0 && report.job_id == 0,
			"and the view shows nothing of it");

	job = job_start(lasting, "hangs, too");
	unit_ok(hangs_come_to(hangs + 2) && messages_that_say("(hangs, too)") == 1, "the next one is reported anew");
	end_job(lasting, job);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, lasting, TG_USE_JOB);
}

/* --- operations that stand still --------------------------------------------------------- */

/*
 * Ten operations in place of transactions.  Returns whether each was shorter than what is reported,
 * which it is unless the thread gets no CPU.
 */
static bool
lane_goes_on(tg_lane *lane)
{
	bool in_time = true;

	for (unsigned i = 0; i < 10; i++)
	{
		uint64_t begin = tg_clock_us();

		if (!tg_lane_enter(self, lane))
			abort();
		usleep(HANG_MS * 1000 / 4);
		tg_lane_leave(self, lane);
		in_time &= tg_clock_us() - begin < HANG_MS * 1000;
	}
	return in_time;
}

/* An operation in place of a transaction lasts, and another one waits for it. */
static void
test_lane(void)
{
	tg_lane *lane = &tg_txns->txn[self->id].lane;
	uint64_t hangs = look().hangs;
	uint64_t end = tg_clock_us() + SOON_US;
	bool entered;

	tg_txn_attach();
	pool_start_with(1, 1000, HANG_MS);
	while (!lane_goes_on(lane) && tg_clock_us() < end)
	{
		usleep(HANG_MS * 1000); /* what was reported of it is counted by then */
		hangs = look().hangs;
		(void) messages_that_say("");
	}
	unit_ok(look().hangs == hangs, "a lane that goes on is not reported");
	entered = tg_lane_enter(self, lane);
	unit_ok(entered && hangs_come_to(hangs + 1), "one that stands still is");
	usleep(5 * HANG_MS * 1000);
	unit_ok(look().hangs == hangs + 1 && messages_that_say("standing still") == 1, "once, with its transaction");
	tg_lane_leave(self, lane);
	unit_ok(pool_stop(), "the pool stops");
}

/* --- tasks that last ---------------------------------------------------------------------- */

static void
test_yield(void)
{
	lasting *lasting = take_zeroed(self, sizeof(struct lasting));
	counting *other = take_zeroed(self, sizeof(counting));
	uint32_t total = 0;

	pool_start_with(1, 1000, 0);
	tg_task_init(&lasting->task, run_lasting, NULL);
	if (tg_task_submit(self, NULL, &lasting->task) != TG_OK)
		abort();
	unit_ok(comes_to_be_long() && !tg_load_relaxed(&lasting->told), "a long task need not yield while no task waits");
	counting_init(other, &total);
	if (tg_task_submit(self, NULL, &other->task) != TG_OK)
		abort();
	unit_ok(comes_true(&lasting->told, 1), "it is told to when another one waits");
	tg_store_release(&lasting->may_end, 1);
	unit_ok(comes_true(&total, 1) && pool_stop(), "and that task runs then");
	unit_equal(messages_that_say("has been running"), 0, "with a hang_ms of 0 none is reported");
	tg_free(self, lasting, TG_USE_JOB);
	tg_free(self, other, TG_USE_JOB);
}

static bool
never(tg_condition *condition, tg_session *session)
{
	return false;
}

static tg_turn
run_nothing(tg_task *task, tg_worker *worker)
{
	return TG_TURN_DONE;
}

/* A tick is long; the pokes between two ticks must not pass for ticks. */
static void
test_pokes(void)
{
	lasting *lasting = take_zeroed(self, sizeof(struct lasting));
	counting *other = take_zeroed(self, sizeof(counting));
	tg_condition *condition = take_zeroed(self, sizeof(tg_condition)); /* waits to the end */
	uint32_t total = 0;
	uint64_t ticks;
	uint64_t checks;

	pool_start_with(1, 10000000, 0);
	tg_condition_init(condition, run_nothing, never, 0, NULL);
	if (tg_condition_submit(self, NULL, condition) != TG_OK)
		abort();
	usleep(1000);
	tg_task_init(&lasting->task, run_lasting, NULL);
	counting_init(other, &total);
	if (tg_task_submit(self, NULL, &lasting->task) != TG_OK || tg_task_submit(self, NULL, &other->task) != TG_OK ||
		!comes_true(&lasting->begun, 1))
		abort();
	ticks = look().ticks;
	checks = look().condition_checks;
	/* until it has looked twice: a busy machine does not run it at each poke */
	for (unsigned i = 0; i < 100 || (i < 50000 && look().condition_checks <= checks + 1); i++)
	{
		tg_watcher_poke();
		tg_condition_poke();
		usleep(200);
	}
	unit_ok(look().condition_checks > checks + 1, "%" PRIu64 " looks at a condition within a tick",
			look().condition_checks - checks);
	unit_ok(look().ticks <= ticks + 1, "pokes do not make it tick more often");
	unit_ok(!tg_load_relaxed(&lasting->told) && !look_at_worker().in_long_task, "nor a task long");
	tg_store_release(&lasting->may_end, 1);
	unit_ok(comes_true(&total, 1), "the task ends");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, lasting, TG_USE_JOB);
	tg_free(self, other, TG_USE_JOB);
}

/* --- how often it ticks --------------------------------------------------------------------- */

static uint64_t
ticks_in(unsigned us)
{
	uint64_t ticks = look().ticks;

	usleep(us);
	return look().ticks - ticks;
}

static void
test_pace(void)
{
	lasting *lasting = take_zeroed(self, sizeof(struct lasting));
	uint64_t idle = 0;
	uint64_t first = 0; /* just after a worker has found work */
	uint64_t later = 0; /* when the watcher has come to tick by itself in any case */

	pool_start_with(2, 1000, 0);
	for (unsigned round = 0; round < 5; round++)
	{
		memset(lasting, 0, sizeof(*lasting));
		(void) pool_sleeps_soon();
		usleep(150000);
		idle += ticks_in(100000);
		tg_task_init(&lasting->task, run_lasting, NULL);
		if (tg_task_submit(self, NULL, &lasting->task) != TG_OK || !comes_true(&lasting->begun, 1))
			abort();
		first += ticks_in(30000);
		usleep(100000);
		later += ticks_in(30000);
		tg_store_release(&lasting->may_end, 1);
		(void) comes_true(&lasting->ended, 1);
	}
	unit_ok(idle <= 15, "an idle pool has %" PRIu64 " ticks in 0.5 s", idle);
	unit_ok(2 * first > later,
			"a worker that finds work wakes it from there: %" PRIu64 " in 150 ms, %" PRIu64 " later on", first, later);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, lasting, TG_USE_JOB);
}

int
main(void)
{
	server_start();
	if (tg_txn_create() != TG_OK)
		abort();
	test_hang();
	test_lane();
	test_yield();
	test_pace();
	test_pokes();
	server_end();
	return unit_done();
}
