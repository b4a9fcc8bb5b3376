/*
 * sched_tbb.cpp
 *	  oneTBB's side of "make bench-sched"; parts and figures as in sched.c.
 *
 * fib spawns one call and runs the other in place, which is what oneTBB does
 * best at; fib-both spawns both.  From outside: task_arena::enqueue.
 */
#include <atomic>
#include <thread>
#include <unistd.h>
#include <vector>
#include <algorithm>

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_invoke.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include "test/bench/sched_work.h"

static uint64_t
fib(unsigned n)
{
	uint64_t left, right;
	oneapi::tbb::task_group group;

	if (n < 2)
		return n;
	group.run([&left, n] { left = fib(n - 2); });
	right = fib(n - 1);
	group.wait();
	return left + right;
}

static uint64_t
fib_both(unsigned n)
{
	uint64_t left, right;
	oneapi::tbb::task_group group;

	if (n < 2)
		return n;
	group.run([&left, n] { left = fib_both(n - 2); });
	group.run([&right, n] { right = fib_both(n - 1); });
	group.wait();
	return left + right;
}

static uint64_t
skynet(uint64_t first, uint64_t leaves)
{
	uint64_t parts[SKYNET_WIDTH];
	uint64_t sum = 0;
	oneapi::tbb::task_group group;

	if (leaves == 1)
		return first;
	leaves /= SKYNET_WIDTH;
	for (unsigned i = 0; i < SKYNET_WIDTH; i++)
		group.run([&parts, i, first, leaves] { parts[i] = skynet(first + i * leaves, leaves); });
	group.wait();
	for (uint64_t part : parts)
		sum += part;
	return sum;
}

static uint64_t
uts(uint64_t seed, unsigned children)
{
	std::vector<uint64_t> parts(children);
	uint64_t count = 1;
	oneapi::tbb::task_group group;

	if (children == 0)
		return 1;
	for (unsigned i = 0; i < children; i++)
	{
		uint64_t child = uts_child(seed, i);

		group.run([&parts, i, child] { parts[i] = uts(child, uts_children(child)); });
	}
	group.wait();
	for (uint64_t part : parts)
		count += part;
	return count;
}

static uint64_t
loop()
{
	static uint64_t results[LOOP_TASKS];
	uint64_t sum = 0;
	oneapi::tbb::task_group group;

	for (unsigned i = 0; i < LOOP_TASKS; i++)
		group.run([i] { results[i] = burn(i, loop_rounds(i)); });
	group.wait();
	for (uint64_t result : results)
		sum += result;
	return sum;
}

/* Workers of an arena without a place for this thread, which is outside. */
static void
outside(unsigned threads, unsigned count, bool busy)
{
	oneapi::tbb::task_arena arena((int) threads, 0);
	std::atomic<unsigned> runs{0};
	std::atomic<unsigned> blocked{0};
	std::atomic<bool> go{!busy};
	double submitted_ns;
	measure start;

	arena.initialize();
	for (unsigned i = 0; busy && i < threads; i++)
	{
		arena.enqueue(
			[&]
			{
				blocked++;
				while (!go.load(std::memory_order_acquire))
					__builtin_ia32_pause();
			});
	}
	while (busy && blocked < threads)
		usleep(100);
	usleep(20000);
	start = measure_start();
	for (unsigned i = 0; i < count; i++)
		arena.enqueue([&runs] { runs.fetch_add(1, std::memory_order_acq_rel); });
	submitted_ns = clock_ns(CLOCK_MONOTONIC) - start.wall_ns;
	go = true;
	while (runs.load(std::memory_order_acquire) < count)
		std::this_thread::yield();
	printf("submit %.3f ", submitted_ns / count);
	measure_end(start, count, runs);
}

static void
wake(unsigned threads, unsigned rounds)
{
	oneapi::tbb::task_arena arena((int) threads, 0);
	std::vector<double> latencies;
	std::vector<double> submissions;

	for (unsigned i = 0; i < rounds; i++)
	{
		std::atomic<double> run_at_ns{0};
		double start_ns;

		usleep(3000);
		start_ns = clock_ns(CLOCK_MONOTONIC);
		arena.enqueue([&run_at_ns] { run_at_ns = clock_ns(CLOCK_MONOTONIC); });
		submissions.push_back(clock_ns(CLOCK_MONOTONIC) - start_ns);
		while (run_at_ns == 0)
			__builtin_ia32_pause();
		latencies.push_back(run_at_ns - start_ns);
	}
	std::sort(latencies.begin(), latencies.end());
	std::sort(submissions.begin(), submissions.end());
	printf("wall %.3f submit %.3f\n", latencies[rounds / 2], submissions[rounds / 2]);
}

int
main(int argc, char **argv)
{
	const char *part = argc > 3 ? argv[1] : "";
	unsigned threads = argc > 3 ? (unsigned) atoi(argv[2]) : 1;
	unsigned size = argc > 3 ? (unsigned) atoi(argv[3]) : 0;
	/* a worker beside the outside thread takes a parallelism of two */
	oneapi::tbb::global_control control(oneapi::tbb::global_control::max_allowed_parallelism,
										strncmp(part, "outside", 7) == 0 || strcmp(part, "wake") == 0 ? threads + 1
																									  : threads);
	oneapi::tbb::task_arena arena((int) threads);
	measure start;
	uint64_t result = 0;

	if (strcmp(part, "outside") == 0 || strcmp(part, "outside-idle") == 0)
		return outside(threads, size, strcmp(part, "outside") == 0), 0;
	if (strcmp(part, "wake") == 0)
		return wake(threads, size), 0;
	if (strcmp(part, "idle") == 0)
	{
		arena.execute([] { return fib(20); });
		sleep(1);
		start = measure_start();
		sleep(size);
		return measure_end(start, size, 0), 0;
	}
	start = measure_start();
	if (strcmp(part, "fib") == 0)
		result = arena.execute([size] { return fib(size); });
	else if (strcmp(part, "fib-both") == 0)
		result = arena.execute([size] { return fib_both(size); });
	else if (strcmp(part, "skynet") == 0)
		result = arena.execute([size] { return skynet(0, size); });
	else if (strcmp(part, "uts") == 0)
		result = arena.execute([] { return uts(UTS_SEED, UTS_ROOT_CHILDREN); });
	else if (strcmp(part, "loop") == 0)
		result = arena.execute(loop);
	else
		return fprintf(stderr, "sched_tbb PART THREADS SIZE\n"), 1;
	measure_end(start, strncmp(part, "fib", 3) == 0 ? (double) fib_calls(size) : part[0] == 's' ? size : 1e6, result);
	return 0;
}
