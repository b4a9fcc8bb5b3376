/*
 * sched_work.h
 *	  What the programs of "make bench-sched" have in common, in C and C++: the
 *	  work inside tasks, clocks, and the line of figures that sched.pl reads.
 */
#ifndef TG_BENCH_SCHED_WORK_H
#define TG_BENCH_SCHED_WORK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static inline double
clock_ns(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double) time.tv_sec * 1e9 + (double) time.tv_nsec;
}

/* --- work ----------------------------------------------------------------------- */

/* About 2 ns a round, each waiting for the one before. */
static inline uint64_t
burn(uint64_t seed, unsigned rounds)
{
	for (unsigned i = 0; i < rounds; i++)
		seed = (seed ^ (seed >> 31)) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return seed;
}

static inline uint64_t
fib_calls(unsigned n)
{
	uint64_t before = 1;
	uint64_t calls = 1;

	for (unsigned i = 2; i <= n; i++)
	{
		uint64_t next = before + calls + 1;

		before = calls;
		calls = next;
	}
	return calls;
}

/* skynet: a tree of width 10 whose leaves are numbered; their sum is the result. */
#define SKYNET_WIDTH 10

/*
 * An unbalanced tree as in the UTS benchmark (binomial): a root with many
 * children; of the others a few have 8 children, most none.  Which, only the
 * node's own hash tells.
 */
#define UTS_ROOT_CHILDREN 4000
#define UTS_CHILDREN 8
#define UTS_ROUNDS 60
#define UTS_THRESHOLD 124700 /* of a million have children: 0.9976 children a node */
#define UTS_SEED 42

static inline uint64_t
uts_child(uint64_t seed, unsigned number)
{
	return burn(seed + number + 1, UTS_ROUNDS);
}

static inline unsigned
uts_children(uint64_t seed)
{
	return burn(seed, 2) % 1000000 < UTS_THRESHOLD ? UTS_CHILDREN : 0;
}

/* A loop's tasks: most are short, a few some hundred times as long. */
#define LOOP_TASKS 3000

static inline unsigned
loop_rounds(unsigned number)
{
	uint64_t random = burn(number, 3) >> 11;

	return 2000u << (random % 64 == 0 ? 8 : random % 8 == 0 ? 4 : random % 4);
}

/* --- measuring -------------------------------------------------------------------- */

typedef struct measure
{
	double wall_ns;
	double cpu_ns;
} measure;

static inline measure
measure_start(void)
{
	measure start = {clock_ns(CLOCK_MONOTONIC), clock_ns(CLOCK_PROCESS_CPUTIME_ID)};

	return start;
}

/* Figures per unit: wall and CPU nanoseconds, and the most memory the process ever had. */
static inline void
measure_end(measure start, double units, uint64_t check)
{
	double wall_ns = clock_ns(CLOCK_MONOTONIC) - start.wall_ns;
	double cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start.cpu_ns;
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf("wall %.3f cpu %.3f rss_kb %ld check %llu\n", wall_ns / units, cpu_ns / units, usage.ru_maxrss,
		   (unsigned long long) check);
}

#endif /* TG_BENCH_SCHED_WORK_H */
