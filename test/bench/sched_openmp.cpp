/*
 * sched_openmp.cpp
 *	  OpenMP's side of "make bench-sched", compiled for libgomp and for libomp;
 *	  parts and figures as in sched.c.
 *
 * fib makes a task of one call and runs the other in place; fib-both makes two.
 * There is no submission from outside: the nearest is a member of the team that
 * makes tasks while the others are inside one.
 */
#include <atomic>
#include <omp.h>
#include <unistd.h>
#include <vector>

#include "test/bench/sched_work.h"

static uint64_t
fib(unsigned n)
{
	uint64_t left, right;

	if (n < 2)
		return n;
#pragma omp task shared(left)
	left = fib(n - 2);
	right = fib(n - 1);
#pragma omp taskwait
	return left + right;
}

static uint64_t
fib_both(unsigned n)
{
	uint64_t left, right;

	if (n < 2)
		return n;
#pragma omp task shared(left)
	left = fib_both(n - 2);
#pragma omp task shared(right)
	right = fib_both(n - 1);
#pragma omp taskwait
	return left + right;
}

static uint64_t
skynet(uint64_t first, uint64_t leaves)
{
	uint64_t parts[SKYNET_WIDTH];
	uint64_t sum = 0;

	if (leaves == 1)
		return first;
	leaves /= SKYNET_WIDTH;
	for (unsigned i = 0; i < SKYNET_WIDTH; i++)
	{
#pragma omp task shared(parts)
		parts[i] = skynet(first + i * leaves, leaves);
	}
#pragma omp taskwait
	for (uint64_t part : parts)
		sum += part;
	return sum;
}

static uint64_t
uts(uint64_t seed, unsigned children)
{
	uint64_t count = 1;

	if (children == 0)
		return 1;

	std::vector<uint64_t> parts(children);
	uint64_t *places = parts.data();

	for (unsigned i = 0; i < children; i++)
	{
		uint64_t child = uts_child(seed, i);

#pragma omp task firstprivate(places, i, child)
		places[i] = uts(child, uts_children(child));
	}
#pragma omp taskwait
	for (uint64_t part : parts)
		count += part;
	return count;
}

static uint64_t
loop()
{
	static uint64_t results[LOOP_TASKS];
	uint64_t sum = 0;

	for (unsigned i = 0; i < LOOP_TASKS; i++)
	{
#pragma omp task firstprivate(i)
		results[i] = burn(i, loop_rounds(i));
	}
#pragma omp taskwait
	for (uint64_t result : results)
		sum += result;
	return sum;
}

static std::atomic<unsigned> runs{0};
static std::atomic<unsigned> blocked{0};
static std::atomic<bool> go{false};

/* One member of the team makes the tasks; the others are inside one, or, if not busy, free to take them. */
static void
outside(unsigned threads, unsigned count, bool busy)
{
	double submitted_ns = 0;
	measure start = measure_start();

#pragma omp parallel num_threads(threads + 1)
	{
		if (omp_get_thread_num() != 0)
		{
			blocked++;
			while (busy && !go.load(std::memory_order_acquire))
				__builtin_ia32_pause();
		}
		else
		{
			while (blocked < threads)
				usleep(100);
			usleep(20000);
			start = measure_start();
			for (unsigned i = 0; i < count; i++)
			{
#pragma omp task
				runs.fetch_add(1, std::memory_order_acq_rel);
			}
			submitted_ns = clock_ns(CLOCK_MONOTONIC) - start.wall_ns;
			go = true;
		}
	}
	printf("submit %.3f ", submitted_ns / count);
	measure_end(start, count, runs);
}

int
main(int argc, char **argv)
{
	const char *part = argc > 3 ? argv[1] : "";
	unsigned threads = argc > 3 ? (unsigned) atoi(argv[2]) : 1;
	unsigned size = argc > 3 ? (unsigned) atoi(argv[3]) : 0;
	measure start;
	uint64_t result = 0;

	if (strcmp(part, "outside") == 0 || strcmp(part, "outside-idle") == 0)
		return outside(threads, size, strcmp(part, "outside") == 0), 0;
		/* the team's threads exist before the clock runs */
#pragma omp parallel num_threads(threads)
	{
	}
	if (strcmp(part, "idle") == 0)
	{
		sleep(1);
		start = measure_start();
		sleep(size);
		return measure_end(start, size, 0), 0;
	}
	start = measure_start();
#pragma omp parallel num_threads(threads)
#pragma omp single
	{
		if (strcmp(part, "fib") == 0)
			result = fib(size);
		else if (strcmp(part, "fib-both") == 0)
			result = fib_both(size);
		else if (strcmp(part, "skynet") == 0)
			result = skynet(0, size);
		else if (strcmp(part, "uts") == 0)
			result = uts(UTS_SEED, UTS_ROOT_CHILDREN);
		else if (strcmp(part, "loop") == 0)
			result = loop();
	}
	if (result == 0)
		return fprintf(stderr, "sched_openmp PART THREADS SIZE\n"), 1;
	measure_end(start, strncmp(part, "fib", 3) == 0 ? (double) fib_calls(size) : part[0] == 's' ? size : 1e6, result);
	return 0;
}
