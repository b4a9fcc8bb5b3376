/*
 * waiting_bench.c
 *	  What it costs a task to wait for another one's output, by the three ways
 *	  there are.
 *
 *	waiting_bench [workers [items [ms]]]		default: 2 workers, 200000 items, 1000 ms
 *
 * Pairs of a parent and a child: the parent counts items up, the child takes
 * them.  A child that finds nothing waits
 *	  condition	by a condition, which its parent's poke lets be looked at
 *	  park		by parking itself, until its parent unparks it
 *	  again		by coming again, through the global queue: it polls
 *
 * Busy: each parent puts out an item a turn and comes again, until all pairs
 * together have made so many items.  Printed is the processor time of the whole
 * process per item, which counts the parents' own turns as well, and how often
 * children ran per item.
 *
 * Slow: all parents together put out an item a millisecond, by timers, for so
 * many milliseconds.  Printed is the processor time in percent of one CPU and
 * the median time from an item to its child's run.
 *
 * Built from this file and all of runtime/, without failpoints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/condition.h"
#include "runtime/sched/park.h"
#include "runtime/sched/scheduler.h"

#define PAIRS_MAX 1000
#define SLOW_ITEM_US 1000
#define LATENCIES_MAX 100000

typedef enum way
{
	BY_CONDITION,
	BY_PARK,
	BY_AGAIN,
	WAYS
} way;

static const char *const way_names[WAYS] = {"condition", "park", "again"};

typedef struct pair
{
	uint64_t made TG_CACHE_ALIGNED; /* parent writes, child reads, as the time of the last one */
	uint64_t made_us;
	uint64_t items; /* to be made */
	uint64_t due_us;
	tg_timer parent; /* its task, if it is not slow */
	way way;

	uint64_t taken TG_CACHE_ALIGNED; /* child only, as turns */
	uint64_t turns;
	tg_condition child; /* its task, if it does not wait by condition */
} pair;

static pair *pairs;
static unsigned pair_count;
static uint32_t children_left;
static uint64_t latencies_us[LATENCIES_MAX];
static uint64_t latency_count;

static pair *
pair_of_parent(tg_task *task)
{
	return (pair *) ((char *) task - offsetof(pair, parent));
}

static pair *
pair_of_child(tg_task *task)
{
	return (pair *) ((char *) task - offsetof(pair, child));
}

/* --- tasks ------------------------------------------------------------------------- */

static bool
has_output(tg_condition *condition, tg_session *session)
{
	pair *pair = pair_of_child(&condition->task);

	(void) session;
	return tg_load_acquire(&pair->made) > pair->taken;
}

static tg_turn
wait_for_more(pair *pair, tg_worker *worker)
{
	switch (pair->way)
	{
		case BY_CONDITION:
			if (tg_condition_submit(tg_worker_session(worker), worker, &pair->child) != TG_OK)
				abort();
			return TG_TURN_DONE;
		case BY_PARK:
			return TG_TURN_PARK;
		default:
			return TG_TURN_AGAIN;
	}
}

static tg_turn
run_child(tg_task *task, tg_worker *worker)
{
	pair *pair = pair_of_child(task);
	uint64_t made = tg_load_acquire(&pair->made);

	pair->turns++;
	if (made > pair->taken && pair->due_us > 0)
	{
		uint64_t place = tg_fetch_add_relaxed(&latency_count, 1);

		if (place < LATENCIES_MAX)
			latencies_us[place] = tg_clock_us() - tg_load_relaxed(&pair->made_us);
	}
	pair->taken = made;
	if (made < pair->items)
		return wait_for_more(pair, worker);
	tg_fetch_add_acq_rel(&children_left, (uint32_t) -1);
	return TG_TURN_DONE;
}

static void
make_item(pair *pair, tg_worker *worker)
{
	tg_store_release(&pair->made, pair->made + 1);
	if (pair->way == BY_CONDITION)
		tg_condition_poke();
	else if (pair->way == BY_PARK)
		tg_task_unpark(tg_worker_session(worker), &pair->child.task);
}

static tg_turn
run_busy_parent(tg_task *task, tg_worker *worker)
{
	pair *pair = pair_of_parent(task);
	bool last = pair->made + 1 == pair->items;

	make_item(pair, worker);
	return last ? TG_TURN_DONE : TG_TURN_AGAIN;
}

static tg_turn
run_slow_parent(tg_task *task, tg_worker *worker)
{
	pair *pair = pair_of_parent(task);
	bool last = pair->made + 1 == pair->items;

	tg_store_relaxed(&pair->made_us, tg_clock_us());
	pair->due_us += (uint64_t) pair_count * SLOW_ITEM_US;
	if (!last && tg_timer_start(tg_worker_session(worker), &pair->parent, pair->due_us) != TG_OK)
		abort();
	make_item(pair, worker);
	return TG_TURN_DONE;
}

/* --- runs ----------------------------------------------------------------------------- */

static double
cpu_seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double) time.tv_sec + 1e-9 * (double) time.tv_nsec;
}

static void
start_pair(tg_session *session, unsigned number, way way, uint64_t items, bool slow)
{
	pair *pair = &pairs[number];

	*pair = (struct pair){.items = items, .way = way};
	tg_timer_init(&pair->parent, slow ? run_slow_parent : run_busy_parent, NULL);
	tg_condition_init(&pair->child, run_child, has_output, 0, NULL);
	if (tg_task_submit(session, NULL, &pair->child.task) != TG_OK)
		abort();
	if (slow)
	{
		pair->due_us = tg_clock_us() + (number + 1) * SLOW_ITEM_US;
		if (tg_timer_start(session, &pair->parent, pair->due_us) != TG_OK)
			abort();
	}
	else if (tg_task_submit(session, NULL, &pair->parent.task) != TG_OK)
		abort();
}

/* Runs all pairs to their end; returns processor time in seconds. */
static double
run_pairs(tg_session *session, way way, uint64_t items, bool slow)
{
	double seconds = -cpu_seconds();

	latency_count = 0;
	tg_store_relaxed(&children_left, pair_count);
	for (unsigned i = 0; i < pair_count; i++)
		start_pair(session, i, way, items / pair_count, slow);
	while (tg_load_acquire(&children_left) > 0)
		usleep(1000);
	seconds += cpu_seconds();
	usleep(1000); /* the last child's parent may have yet to return */
	return seconds;
}

static double
turns_per_item(uint64_t items)
{
	uint64_t turns = 0;

	for (unsigned i = 0; i < pair_count; i++)
		turns += pairs[i].turns;
	return (double) turns / (double) items;
}

static int
compare_us(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *) one;
	uint64_t b = *(const uint64_t *) other;

	return a < b ? -1 : a > b;
}

static uint64_t
median_latency_us(void)
{
	uint64_t count = latency_count < LATENCIES_MAX ? latency_count : LATENCIES_MAX;

	if (count == 0)
		return 0;
	qsort(latencies_us, count, sizeof(latencies_us[0]), compare_us);
	return latencies_us[count / 2];
}

static void
measure(tg_session *session, uint64_t items, unsigned ms)
{
	for (way way = 0; way < WAYS; way++)
	{
		double busy = run_pairs(session, way, items, false);
		double turns = turns_per_item(items);
		double begin_us = (double) tg_clock_us();
		double slow = run_pairs(session, way, ms > pair_count ? ms : pair_count, true);

		printf("%6u  %-10s %10.0f %12.2f %10.1f %12llu\n", pair_count, way_names[way], busy * 1e9 / (double) items,
			   turns, slow * 1e8 / ((double) tg_clock_us() - begin_us), (unsigned long long) median_latency_us());
		fflush(stdout);
	}
}

int
main(int argument_count, char **arguments)
{
	const tg_arena_config arena = {
		.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 256 << 20, .session_max = 64};
	const tg_scheduler_config config = {.worker_max = 64};
	tg_scheduler_settings settings;
	tg_session *session;
	unsigned workers = argument_count > 1 ? (unsigned) atoi(arguments[1]) : 2;
	uint64_t items = argument_count > 2 ? (uint64_t) atoll(arguments[2]) : 200000;
	unsigned ms = argument_count > 3 ? (unsigned) atoi(arguments[3]) : 1000;

	if (tg_arena_create(&arena) != TG_OK || tg_scheduler_create(&config) != TG_OK || tg_session_open(&session) != TG_OK)
		abort();
	settings = tg_scheduler_settings_default(workers);
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		abort();
	pairs = tg_alloc_zeroed(session, PAIRS_MAX * sizeof(pair), TG_USE_JOB, TG_DATA);
	if (!pairs)
		abort();
	printf("                   busy                    slow\n");
	printf(" pairs  way       ns CPU/item  turns/item      CPU %%  to its run us\n");
	for (pair_count = 1; pair_count <= PAIRS_MAX; pair_count *= 10)
		measure(session, items, ms);
	return tg_scheduler_stop(10000) ? 0 : 1;
}
