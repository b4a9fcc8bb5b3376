/*
 * search.c
 *	  Searching and stealing: the order of victims, and the effect of the settings.
 *
 * Two workers are held in long tasks, with full deques, and a third one steals all: each stolen
 * task notes its victim.  The number of changes from one victim to the other tells the order.  The
 * other settings show in counters, in a worker's state, and in the CPU time of the process.  Free
 * memory that a worker has kept before its sleep can be taken by others, and in the end it is all
 * given back.
 */
#include "runtime/sched/wake.h"

#include <sys/resource.h>

#include "runtime/base/check.h"
#include "runtime/mem/presence.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

/* --- victims -------------------------------------------------------------------- */

#define CHILDREN 64 /* of each victim */

typedef struct loot loot;

typedef struct item
{
	tg_task task;
	loot *loot;
	uint32_t victim;
} item;

struct loot
{
	uint32_t count;
	uint32_t victims[2 * CHILDREN]; /* in the order of the thief */
};

typedef struct victim
{
	tg_task task;
	uint32_t started;
	uint32_t may_end;
	uint32_t ended;
	item items[CHILDREN];
} victim;

static tg_turn
run_item(tg_task *task, tg_worker *worker)
{
	item *item = (struct item *) task;
	uint32_t number = tg_load_relaxed(&item->loot->count);

	item->loot->victims[number] = item->victim;
	tg_store_release(&item->loot->count, number + 1);
	return TG_TURN_DONE;
}

static tg_turn
run_victim(tg_task *task, tg_worker *worker)
{
	victim *victim = (struct victim *) task;

	for (unsigned i = 0; i < CHILDREN; i++)
		tg_check(tg_task_submit(tg_worker_session(worker), worker, &victim->items[i].task) == TG_OK);
	tg_store_release(&victim->started, 1);
	(void) comes_true(&victim->may_end, 1);
	tg_store_release(&victim->ended, 1);
	return TG_TURN_DONE;
}

static void
setting_stealing(bool stealing, bool steal_after_last)
{
	tg_scheduler_settings settings = tg_settings_live;

	settings.stealing = stealing;
	settings.steal_after_last = steal_after_last;
	settings.distributor = TG_DISTRIBUTOR_OFF;
	tg_scheduler_settings_set(&settings);
}

/* Worker 0 robs 1 and 2.  Returns how often it went from one to the other. */
static unsigned
rob(bool steal_after_last, bool two_sockets, uint32_t *first)
{
	victim *victims = take_zeroed(self, sizeof(victim) * 2);
	loot *loot = take_zeroed(self, sizeof(struct loot));
	unsigned changes = 0;

	pool_start(3);
	setting_stealing(false, steal_after_last);
	for (unsigned i = 0; i < 2; i++)
	{
		for (unsigned j = 0; j < CHILDREN; j++)
		{
			victims[i].items[j].loot = loot;
			victims[i].items[j].victim = i + 1;
			tg_task_init(&victims[i].items[j].task, run_item, NULL);
		}
		tg_task_init(&victims[i].task, run_victim, NULL);
		if (tg_task_submit_sticky(self, i + 1, &victims[i].task) != TG_OK || !comes_true(&victims[i].started, 1))
			abort();
	}
	while (tg_load_relaxed(&tg_scheduler_shared->workers[0].park) != TG_PARK_PARKED)
		usleep(20);
	if (two_sockets)
	{
		/* worker 0 sleeps, and is on socket 0 as is all of this machine, or will say so itself */
		tg_store_relaxed(&tg_scheduler_shared->socket_count, 2);
		tg_store_relaxed(&tg_scheduler_shared->workers[1].socket, 1);
		tg_store_relaxed(&tg_scheduler_shared->workers[2].socket,
						 tg_load_relaxed(&tg_scheduler_shared->workers[0].socket));
	}
	setting_stealing(true, steal_after_last); /* wakes the sleeper */
	unit_ok(comes_true(&loot->count, 2 * CHILDREN), "a thief takes all of two others that are in long tasks");
	*first = loot->victims[0];
	for (unsigned i = 1; i < 2 * CHILDREN; i++)
		changes += loot->victims[i] != loot->victims[i - 1];
	for (unsigned i = 0; i < 2; i++)
		tg_store_release(&victims[i].may_end, 1);
	unit_ok(comes_true(&victims[0].ended, 1) && comes_true(&victims[1].ended, 1) && pool_stop(), "the pool stops");
	tg_free(self, victims, TG_USE_JOB);
	tg_free(self, loot, TG_USE_JOB);
	return changes;
}

static void
test_victims(void)
{
	uint32_t first;
	unsigned changes = rob(false, false, &first);

	unit_ok(changes == 1 && first == 1, "from the last victim that had work: first all of one, then all of the other");
	changes = rob(true, false, &first);
	unit_ok(changes > 4, "from the one after it: in turns (%u changes)", changes);
	changes = rob(true, true, &first);
	unit_ok(changes == 1 && first == 2, "first those on the same socket");
}

/* --- rounds ------------------------------------------------------------------------- */

/* A pool of two that the main thread wakes for one search.  Returns the counts of worker 1. */
static tg_worker_report
search_once(const tg_scheduler_settings *settings)
{
	counting *errand = take_zeroed(self, sizeof(counting));
	tg_worker_report before;
	tg_worker_report after;
	uint32_t total = 0;

	tg_scheduler_settings_set(settings);
	unit_ok(pool_sleeps_soon(), "the pool sleeps");
	tg_worker_report_get(1, &before);
	counting_init(errand, &total);
	if (tg_task_submit_sticky(self, 1, &errand->task) != TG_OK || !comes_true(&total, 1))
		abort();
	do
		tg_worker_report_get(1, &after);
	while (after.suspensions == before.suspensions || after.state != TG_WORKER_SUSPENDED);
	tg_free(self, errand, TG_USE_JOB);
	after.steal_misses -= before.steal_misses;
	after.suspensions -= before.suspensions;
	return after;
}

static void
test_rounds(void)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(2);
	tg_worker_report seen;

	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	pool_start(2);
	settings.worker_try_count = 50;
	seen = search_once(&settings);
	unit_equal(seen.steal_misses, 50, "a worker steals in each round of worker_try_count");
	settings.stealing_wait = 41;
	seen = search_once(&settings);
	unit_equal(seen.steal_misses, 10, "or in those after stealing_wait");
	settings.stealing_wait = 1000;
	seen = search_once(&settings);
	unit_equal(seen.steal_misses, 1, "and in the last one before it sleeps in any case");
	settings.stealing_wait = 0;
	settings.worker_try_count = 0;
	seen = search_once(&settings);
	unit_equal(seen.steal_misses, 1, "with no rounds to try it looks once");
	settings.stealing = false;
	seen = search_once(&settings);
	unit_equal(seen.steal_misses, 0, "without stealing not at all");
	unit_ok(pool_stop(), "the pool stops");
}

static uint64_t
cpu_us(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t) (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
		   (uint64_t) (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void
test_staying_awake(void)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(1);
	counting *errand = take_zeroed(self, sizeof(counting));
	tg_worker_report before;
	tg_worker_report after;
	uint32_t total = 0;
	uint64_t used;

	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	pool_start(1);
	settings.busy_worker = true;
	tg_scheduler_settings_set(&settings);
	counting_init(errand, &total);
	if (tg_task_submit(self, NULL, &errand->task) != TG_OK || !comes_true(&total, 1))
		abort();
	tg_worker_report_get(0, &before);
	used = cpu_us();
	usleep(200000);
	used = cpu_us() - used;
	tg_worker_report_get(0, &after);
	unit_ok(after.state == TG_WORKER_SEARCHING && after.suspensions == before.suspensions,
			"a busy worker does not sleep (%" PRIu64 " us of 200000)", used);

	settings.task_polling_wait_us = 10000;
	tg_scheduler_settings_set(&settings);
	usleep(20000);
	used = cpu_us();
	usleep(200000);
	used = cpu_us() - used;
	tg_worker_report_get(0, &after);
	unit_ok(after.state == TG_WORKER_SEARCHING && used < 50000,
			"with a wait after each round without work it takes little (%" PRIu64 " us of 200000)", used);
	counting_init(errand, &total);
	if (tg_task_submit(self, NULL, &errand->task) != TG_OK)
		abort();
	unit_ok(comes_true(&total, 2), "and finds what comes");

	settings.task_polling_wait_us = 0;
	settings.busy_worker = false;
	settings.worker_suspend_ms = 2;
	tg_scheduler_settings_set(&settings);
	unit_ok(pool_sleeps_soon(), "no longer busy, it sleeps");
	tg_worker_report_get(0, &before);
	used = tg_clock_us();
	do
	{
		usleep(10000);
		tg_worker_report_get(0, &after);
	} while (after.suspensions - before.suspensions <= 5 && tg_clock_us() - used < SOON_US);
	used = tg_clock_us() - used;
	unit_ok(after.suspensions - before.suspensions > 5 && after.wakeups == before.wakeups,
			"for worker_suspend_ms at a time (%" PRIu64 " times in %" PRIu64 " us)",
			after.suspensions - before.suspensions, used);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, errand, TG_USE_JOB);
}

/* --- what a sleeper keeps -------------------------------------------------------------- */

#define HELD 64

typedef struct hoarding
{
	tg_task task;
	uint32_t done;
} hoarding;

/* Leaves free objects in the caches of its worker. */
static tg_turn
run_hoarding(tg_task *task, tg_worker *worker)
{
	tg_session *session = tg_worker_session(worker);
	void *objects[HELD];

	for (unsigned i = 0; i < HELD; i++)
		objects[i] = tg_alloc(session, 4000, TG_USE_JOB, TG_DATA);
	for (unsigned i = 0; i < HELD; i++)
		tg_free(session, objects[i], TG_USE_JOB);
	tg_store_release(&((hoarding *) task)->done, 1);
	return TG_TURN_DONE;
}

static size_t
committed(void)
{
	tg_alloc_flush(self);
	tg_arena_trim();
	return tg_arena_committed();
}

static void
hoard(hoarding *errand)
{
	errand->done = 0;
	tg_task_init(&errand->task, run_hoarding, NULL);
	if (tg_task_submit_sticky(self, 0, &errand->task) != TG_OK || !comes_true(&errand->done, 1))
		abort();
}

static void
test_keeping(void)
{
	tg_scheduler_settings settings = settings_quiet(1);
	hoarding *errand = take_zeroed(self, sizeof(hoarding));
	uint64_t end = tg_clock_us() + SOON_US;
	size_t before;

	pool_start_as(&settings);
	unit_ok(pool_sleeps_soon(), "a pool sleeps");
	(void) tg_presence_visit(self, true);
	before = committed();
	hoard(errand);
	unit_ok(pool_sleeps_soon() && committed() > before,
			"a worker that had work keeps free memory when it goes to sleep");
	unit_equal(tg_presence_visit(self, true), 1, "but others can take it: it is away");
	unit_equal(committed(), before, "all");
	hoard(errand);
	settings.worker_suspend_ms = 2;
	tg_scheduler_settings_set(&settings);
	hoard(errand);
	while (committed() != before && tg_clock_us() < end)
		usleep(1000);
	unit_equal(committed(), before, "without a wake-up it gives back its memory itself");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, errand, TG_USE_JOB);
}

int
main(void)
{
	server_start();
	test_victims();
	test_rounds();
	test_staying_awake();
	test_keeping();
	server_end();
	return unit_done();
}
