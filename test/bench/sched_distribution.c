/*
 * sched_distribution.c
 *	  Which thread should hand work to sleeping workers: none, a worker that was woken
 *	  in vain, or a thread of its own (tg_distributor).
 *
 *	sched_distribution [workers]		default: 2, 4
 *
 * Ramp: a task waits for some time, in which the others fall asleep, and then
 * pushes one child for each of them; all must run at once.  Printed is the time
 * from the first push until the last child runs, and the processor time of the
 * whole process per round, to which the task's own wait adds none.
 *
 * Storm: a chain of tasks, each of which pushes the next one and ends, so that
 * a thief that is woken nearly always comes too late.  Printed is the processor
 * time in percent of one CPU, of which the chain takes 100: the rest is what
 * backends would miss; and the wake-ups per second.
 *
 * Figures mean something on an idle machine only.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/park.h"
#include "runtime/sched/scheduler.h"

#define WORKERS_MAX 64
#define ROUNDS_MAX 300
#define STORM_US 500000

static tg_session *self;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
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
pool_start(unsigned workers, tg_distributor distributor)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	settings.distributor = distributor;
	tg_scheduler_settings_set(&settings);
	tg_check(tg_scheduler_start() == TG_OK);
	usleep(20000);
}

/* --- ramp ------------------------------------------------------------------------ */

typedef struct ramp
{
	tg_task parent;
	tg_task children[WORKERS_MAX];
	uint32_t child_count;
	uint32_t wait_us;
	uint32_t arrived;
	uint32_t ended;
	uint64_t begin_ns;
	uint64_t end_ns;
} ramp;

static ramp *the_ramp;

static void
meet(void)
{
	while (tg_load_acquire(&the_ramp->arrived) < the_ramp->child_count)
		sched_yield();
	tg_fetch_add_acq_rel(&the_ramp->ended, 1);
}

static tg_turn
run_child(tg_task *task, tg_worker *worker)
{
	(void) task;
	(void) worker;
	if (tg_fetch_add_acq_rel(&the_ramp->arrived, 1) + 1 == the_ramp->child_count)
		the_ramp->end_ns = now_ns();
	meet();
	return TG_TURN_DONE;
}

static tg_turn
run_parent(tg_task *task, tg_worker *worker)
{
	(void) task;
	if (the_ramp->wait_us > 0)
		usleep(the_ramp->wait_us);
	the_ramp->begin_ns = now_ns();
	for (uint32_t i = 0; i < the_ramp->child_count; i++)
		tg_check(tg_task_submit(tg_worker_session(worker), worker, &the_ramp->children[i]) == TG_OK);
	meet();
	return TG_TURN_DONE;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

static void
measure_ramp(unsigned workers, uint32_t wait_us)
{
	unsigned rounds = wait_us > 1000 ? ROUNDS_MAX / 3 : ROUNDS_MAX;
	double us[ROUNDS_MAX];
	uint64_t cpu = cpu_us();

	for (unsigned i = 0; i < rounds; i++)
	{
		the_ramp->child_count = workers - 1;
		the_ramp->wait_us = wait_us;
		tg_store_relaxed(&the_ramp->arrived, 0);
		tg_store_relaxed(&the_ramp->ended, 0);
		tg_task_init(&the_ramp->parent, run_parent, NULL);
		for (uint32_t j = 0; j < workers - 1; j++)
			tg_task_init(&the_ramp->children[j], run_child, NULL);
		tg_check(tg_task_submit(self, NULL, &the_ramp->parent) == TG_OK);
		while (tg_load_acquire(&the_ramp->ended) < workers)
			usleep(50);
		us[i] = (double) (the_ramp->end_ns - the_ramp->begin_ns) / 1000;
	}
	cpu = cpu_us() - cpu;
	qsort(us, rounds, sizeof(double), compare);
	printf("    ramp, %4u us later: median %6.1f us, 9 of 10 within %6.1f us, CPU %6.1f us a round\n", wait_us,
		   us[rounds / 2], us[rounds * 9 / 10], (double) cpu / rounds);
}

/* --- storm -------------------------------------------------------------------------- */

typedef struct storm
{
	tg_task links[2];
	uint32_t work; /* pauses of a link */
	uint32_t ended;
	uint64_t steps;
	uint64_t end_us;
} storm;

static storm *the_storm;

static tg_turn
run_link(tg_task *task, tg_worker *worker)
{
	tg_task *next = &the_storm->links[task == &the_storm->links[0]];

	for (uint32_t i = 0; i < the_storm->work; i++)
		tg_pause();
	if (++the_storm->steps % 64 == 0 && tg_clock_us() > the_storm->end_us)
	{
		tg_store_release(&the_storm->ended, 1);
		return TG_TURN_DONE;
	}
	tg_task_init(next, run_link, NULL);
	tg_check(tg_task_submit(tg_worker_session(worker), worker, next) == TG_OK);
	return TG_TURN_DONE;
}

static uint64_t
wakeups(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < tg_worker_count(); i++)
	{
		tg_worker_report report;

		tg_worker_report_get(i, &report);
		sum += report.wakeups;
	}
	return sum;
}

static void
measure_storm(uint32_t work)
{
	uint64_t woken = wakeups();
	uint64_t cpu = cpu_us();
	uint64_t begin = tg_clock_us();
	uint64_t us;

	the_storm->work = work;
	the_storm->steps = 0;
	the_storm->end_us = begin + STORM_US;
	tg_store_relaxed(&the_storm->ended, 0);
	tg_task_init(&the_storm->links[0], run_link, NULL);
	tg_check(tg_task_submit(self, NULL, &the_storm->links[0]) == TG_OK);
	while (!tg_load_acquire(&the_storm->ended))
		usleep(1000);
	us = tg_clock_us() - begin;
	cpu = cpu_us() - cpu;
	printf("    storm, %4u pauses a task: %8.1f ns a task, CPU %5.1f %%, %7.0f wake-ups a second\n", work,
		   (double) us * 1000 / (double) the_storm->steps, 100.0 * (double) cpu / (double) us,
		   (double) (wakeups() - woken) * 1e6 / (double) us);
}

static void
measure(unsigned workers)
{
	static const char *const names[] = {"nobody", "a worker", "a thread"};

	for (tg_distributor distributor = TG_DISTRIBUTOR_OFF; distributor <= TG_DISTRIBUTOR_THREAD; distributor++)
	{
		printf("%u workers, %s distributes\n", workers, names[distributor]);
		pool_start(workers, distributor);
		measure_ramp(workers, 0);
		measure_ramp(workers, 300);
		measure_ramp(workers, 5000);
		measure_storm(0);
		measure_storm(20);
		measure_storm(1000);
		tg_check(tg_scheduler_stop(10000));
	}
}

int
main(int argc, char **argv)
{
	tg_arena_config arena = {.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 256 << 20, .session_max = 128};
	tg_scheduler_config config = {.worker_max = WORKERS_MAX};

	tg_check(tg_arena_create(&arena) == TG_OK && tg_scheduler_create(&config) == TG_OK &&
			 tg_session_open(&self) == TG_OK);
	the_ramp = tg_alloc_zeroed(self, sizeof(ramp), TG_USE_JOB, TG_DATA);
	the_storm = tg_alloc_zeroed(self, sizeof(storm), TG_USE_JOB, TG_DATA);
	tg_check(the_ramp && the_storm);
	if (argc > 1)
		measure((unsigned) atoi(argv[1]));
	else
	{
		measure(2);
		measure(4);
	}
	tg_session_close(self);
	tg_arena_destroy();
	return 0;
}
