/*
 * serializer_bench.c
 *	  Lanes against sticky queues: what a transaction's operation costs, and how long it waits.
 *
 *	serializer_bench [rounds [operations]]		default: 9 rounds of 40000 operations
 *
 * One thread submits operations for several sessions, at most WINDOW at a time,
 * to each transaction in turn ("outside"); or every operation, when it runs,
 * submits the next one of its transaction, some of them in flight ("chained").
 * An operation computes for about half a microsecond; where load is unbalanced
 * each eighth transaction's compute for a hundred times as long.
 *
 * Both serializers take turns within a round; the table has medians of rounds:
 * wall and processor time per operation, and the time from submission to end of
 * the short operations, median and 99th percentile.  Ideal is the work itself,
 * divided by the workers.  The submitter is a thread, too: with as many workers as
 * CPUs it takes from theirs.  Links all of runtime/.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/lane.h"
#include "runtime/sched/scheduler.h"

#define TXN_MAX 512
#define SESSIONS 4 /* that submit; each has its preferred worker */
#define WINDOW 256 /* operations outstanding from outside */
#define ROUNDS_MAX 101
#define SHORT_NS 500
#define LONG_FACTOR 100
#define LONG_EACH 8

typedef struct scenario
{
	const char *name;
	unsigned txns;
	unsigned depth; /* operations of a transaction in flight, chained; 0: from outside */
	bool unbalanced;
} scenario;

static const scenario scenarios[] = {
	{"few, outside", 2, 0, false},		  {"many, outside", TXN_MAX, 0, false}, {"few, chained", 2, 4, false},
	{"many, chained", TXN_MAX, 2, false}, {"unbalanced, outside", 64, 0, true}, {"unbalanced, chained", 16, 2, true},
};

typedef struct bench_operation
{
	tg_operation operation;
	unsigned txn;
	unsigned left; /* times that it submits itself again */
	bool is_long;
	uint64_t submitted; /* ns */
	uint32_t free;		/* the submitter may use it again */
} TG_CACHE_ALIGNED bench_operation;

typedef struct result
{
	double wall;
	double cpu;
	double middle; /* latencies of short operations, µs */
	double late;
} result;

static tg_session *sessions[SESSIONS];
static tg_lane *lanes;
static bench_operation *operations;
static uint64_t *latencies; /* of short operations, in order of their end */
static uint32_t latency_count;
static uint32_t ended;
static unsigned short_loops;

static uint64_t
now_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (uint64_t) time.tv_sec * 1000000000 + (uint64_t) time.tv_nsec;
}

static void
compute(unsigned loops)
{
	for (unsigned i = 0; i < loops; i++)
		__asm__ __volatile__("" ::: "memory");
}

/* The shortest of many short trials: others use the machine, too. */
static void
calibrate(void)
{
	unsigned loops = 100000;
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < 500; i++)
	{
		uint64_t start = now_ns(CLOCK_MONOTONIC);
		uint64_t took;

		compute(loops);
		took = now_ns(CLOCK_MONOTONIC) - start;
		best = took < best ? took : best;
	}
	short_loops = (unsigned) ((double) loops * SHORT_NS / (double) best);
}

static void
submit(tg_session *session, bench_operation *operation)
{
	operation->submitted = now_ns(CLOCK_MONOTONIC);
	if (tg_lane_submit(session, &lanes[operation->txn], &operation->operation) != TG_OK)
		abort();
}

static void
run_operation(tg_operation *operation, tg_session *session)
{
	bench_operation *self = (bench_operation *) operation;

	compute(self->is_long ? short_loops * LONG_FACTOR : short_loops);
	if (!self->is_long)
		latencies[tg_fetch_add_relaxed(&latency_count, 1)] = now_ns(CLOCK_MONOTONIC) - self->submitted;
	if (self->left > 0)
	{
		self->left--;
		submit(session, self);
	}
	else
		tg_store_release(&self->free, 1);
	tg_fetch_add_acq_rel(&ended, 1);
}

static void
prepare(bench_operation *operation, const scenario *scenario, unsigned txn, unsigned left)
{
	operation->operation.run = run_operation;
	operation->txn = txn;
	operation->left = left;
	operation->is_long = scenario->unbalanced && txn % LONG_EACH == 0;
}

static void
submit_outside(const scenario *scenario, unsigned count)
{
	for (unsigned i = 0; i < WINDOW; i++)
		operations[i].free = 1;
	for (unsigned i = 0; i < count; i++)
	{
		bench_operation *operation = &operations[i % WINDOW];
		unsigned txn = i % scenario->txns;

		while (!tg_load_acquire(&operation->free))
			sched_yield();
		operation->free = 0;
		prepare(operation, scenario, txn, 0);
		submit(sessions[txn % SESSIONS], operation);
	}
}

static void
submit_chained(const scenario *scenario, unsigned count)
{
	unsigned chains = scenario->txns * scenario->depth;

	for (unsigned i = 0; i < chains; i++)
	{
		unsigned txn = i % scenario->txns;

		prepare(&operations[i], scenario, txn, count / chains - 1);
		submit(sessions[txn % SESSIONS], &operations[i]);
	}
}

static int
compare_u64(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *) left;
	uint64_t b = *(const uint64_t *) right;

	return a < b ? -1 : a > b;
}

static result
measure(const scenario *scenario, unsigned count)
{
	uint64_t cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t wall = now_ns(CLOCK_MONOTONIC);
	result result;

	if (scenario->depth > 0)
		count -= count % (scenario->txns * scenario->depth);
	for (unsigned i = 0; i < scenario->txns; i++)
		tg_lane_init(&lanes[i]);
	latency_count = 0;
	tg_store_relaxed(&ended, 0);
	if (scenario->depth > 0)
		submit_chained(scenario, count);
	else
		submit_outside(scenario, count);
	while (tg_load_acquire(&ended) < count)
	{
		struct timespec pause = {.tv_nsec = 50000};

		nanosleep(&pause, NULL);
	}
	wall = now_ns(CLOCK_MONOTONIC) - wall;
	cpu = now_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	for (unsigned i = 0; i < scenario->txns; i++)
		while (!tg_lane_is_free(&lanes[i]))
			sched_yield();
	qsort(latencies, latency_count, sizeof(uint64_t), compare_u64);
	result.wall = (double) wall / count;
	result.cpu = (double) cpu / count;
	result.middle = (double) latencies[latency_count / 2] / 1000;
	result.late = (double) latencies[latency_count - 1 - latency_count / 100] / 1000;
	return result;
}

static int
compare_double(const void *left, const void *right)
{
	double a = *(const double *) left;
	double b = *(const double *) right;

	return a < b ? -1 : a > b;
}

/* The median of one member over the rounds. */
static double
median(const result *results, unsigned rounds, size_t offset)
{
	double values[ROUNDS_MAX];

	for (unsigned i = 0; i < rounds; i++)
		memcpy(&values[i], (const char *) &results[i] + offset, sizeof(double));
	qsort(values, rounds, sizeof(double), compare_double);
	return values[rounds / 2];
}

static void
print(const char *serializer, const result *results, unsigned rounds)
{
	printf("  %-8s %9.0f %9.0f %10.1f %10.1f\n", serializer, median(results, rounds, offsetof(result, wall)),
		   median(results, rounds, offsetof(result, cpu)), median(results, rounds, offsetof(result, middle)),
		   median(results, rounds, offsetof(result, late)));
}

static void
compare(const scenario *scenario, unsigned workers, unsigned rounds, unsigned count)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);
	double work = scenario->unbalanced ? SHORT_NS * (LONG_EACH - 1.0 + LONG_FACTOR) / LONG_EACH : SHORT_NS;
	result results[2][ROUNDS_MAX];

	if (scenario->unbalanced)
		count /= 8;
	for (unsigned round = 0; round < rounds; round++)
	{
		for (unsigned i = 0; i < 2; i++)
		{
			tg_serializer serializer = (tg_serializer) ((round + i) % 2);

			settings.serializer = serializer;
			tg_scheduler_settings_set(&settings);
			results[serializer][round] = measure(scenario, count);
		}
	}
	printf("%s: %u transactions, %u worker%s, ideal %.0f ns\n", scenario->name, scenario->txns, workers,
		   workers > 1 ? "s" : "", work / workers);
	print("lane", results[TG_SERIALIZER_LANE], rounds);
	print("sticky", results[TG_SERIALIZER_STICKY], rounds);
}

static void
compare_all(unsigned workers, unsigned rounds, unsigned count)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		abort();
	for (unsigned i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		compare(&scenarios[i], workers, rounds, count);
	if (!tg_scheduler_stop(10000))
		abort();
}

static void *
take(size_t bytes)
{
	void *memory = tg_alloc_zeroed(sessions[0], bytes, TG_USE_RUNTIME, TG_DATA);

	if (!memory)
		abort();
	return memory;
}

int
main(int argc, char **argv)
{
	unsigned rounds = argc > 1 ? (unsigned) atoi(argv[1]) : 9;
	unsigned count = argc > 2 ? (unsigned) atoi(argv[2]) : 40000;
	tg_arena_config arena = {.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 256 << 20, .session_max = 32};
	tg_scheduler_config config = {.worker_max = 8};

	if (rounds < 1 || rounds > ROUNDS_MAX || count < 8 * 2 * TXN_MAX || tg_arena_create(&arena) != TG_OK ||
		tg_scheduler_create(&config) != TG_OK)
		return 1;
	for (unsigned i = 0; i < SESSIONS; i++)
	{
		if (tg_session_open(&sessions[i]) != TG_OK)
			return 1;
	}
	lanes = take(TXN_MAX * sizeof(tg_lane));
	operations = take(2 * TXN_MAX * sizeof(bench_operation));
	latencies = take(count * sizeof(uint64_t));
	calibrate();
	printf("%-10s %9s %9s %10s %10s\n", "", "wall, ns", "CPU, ns", "median, us", "99 %, us");
	compare_all(1, rounds, count);
	compare_all(2, rounds, count);
	for (unsigned i = 0; i < SESSIONS; i++)
		tg_session_close(sessions[i]);
	tg_arena_destroy();
	return 0;
}
