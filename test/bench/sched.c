/*
 * sched.c
 *	  Our side of "make bench-sched": one measurement per run.
 *
 *		sched PART WORKERS SIZE [SETTING=VALUE ...]
 *
 * Parts: fib, skynet, uts, loop (fork and join); outside, outside-idle (tasks
 * submitted by a thread that is no worker's); wake, wake-searching (latency,
 * and system calls on the submitter's side); idle; beside (one long
 * task); settings (prints them).
 * Linked with --wrap=syscall, by which the runtime's system calls are counted.
 */
#include <dirent.h>
#include <pthread.h>
#include <stdarg.h>
#include <unistd.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/sched/fork.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"
#include "test/bench/sched_work.h"
#include "test/unit/waiter.h"

static tg_session *self;

static __thread unsigned system_calls;

extern long __real_syscall(long number, ...);
extern long __wrap_syscall(long number, ...);

/* Six words are passed on, as many as there may be. */
long
__wrap_syscall(long number, ...)
{
	long words[6];
	va_list arguments;

	va_start(arguments, number);
	for (unsigned i = 0; i < 6; i++)
		words[i] = va_arg(arguments, long);
	va_end(arguments);
	system_calls++;
	return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
}

static void __attribute__((noreturn)) fail(const char *what)
{
	fprintf(stderr, "sched: %s\n", what);
	exit(1);
}

/* --- fork and join ------------------------------------------------------------------ */

static void
job_run(tg_job *job, tg_frame *root)
{
	if (tg_job_start(self, job, &root->task) != TG_OK)
		fail("the job does not start");
	if (!wait_for_wake())
		fail("the job does not end");
	tg_job_release(self, job);
}

static tg_job *
job_new(void)
{
	tg_job_config config = {.kind = "bench", .level = 60, .waiter = &waiter};
	tg_job *job;

	if (tg_job_create(self, &config, &job) != TG_OK)
		fail("no job");
	return job;
}

static void *
child_new(tg_worker *worker, tg_frame *parent, size_t bytes, tg_step *step)
{
	void *child = tg_frame_child(worker, parent, bytes, step);

	if (!child)
		fail("no memory");
	return child;
}

/* Nanoseconds that the workers have run, or have waited for a CPU: all but sleep. */
static double
workers_awake_ns(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	double sum = 0;

	while (tasks && (entry = readdir(tasks)))
	{
		char path[300];
		char name[32] = "";
		double ran = 0;
		double waited = 0;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		if ((file = fopen(path, "r")))
		{
			(void) !fgets(name, sizeof(name), file);
			fclose(file);
		}
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", entry->d_name);
		if (strncmp(name, "tg worker", 9) == 0 && (file = fopen(path, "r")))
		{
			if (fscanf(file, "%lf %lf", &ran, &waited) == 2)
				sum += ran + waited;
			fclose(file);
		}
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

/* The part of the workers' time that they slept while the job ran; how they came by their tasks. */
static void
print_balance(double awake_before_ns, measure start)
{
	double awake_ns = workers_awake_ns() - awake_before_ns;
	double all_ns = (clock_ns(CLOCK_MONOTONIC) - start.wall_ns) * tg_worker_count();
	uint64_t steals = 0;
	uint64_t misses = 0;
	uint64_t suspensions = 0;

	for (unsigned i = 0; i < tg_worker_count(); i++)
	{
		tg_worker_report report;

		tg_worker_report_get(i, &report);
		steals += report.steals;
		misses += report.steal_misses;
		suspensions += report.suspensions;
	}
	printf("slept %.4f steals %llu misses %llu suspensions %llu ", all_ns > awake_ns ? 1 - awake_ns / all_ns : 0,
		   (unsigned long long) steals, (unsigned long long) misses, (unsigned long long) suspensions);
}

typedef struct fib
{
	tg_frame frame;
	unsigned n;
	uint64_t *result;
	uint64_t parts[2];
} fib;

static tg_frame *
fib_join(tg_frame *frame, tg_worker *worker)
{
	fib *fib = (struct fib *) frame;

	(void) worker;
	*fib->result = fib->parts[0] + fib->parts[1];
	return NULL;
}

static tg_frame *
fib_run(tg_frame *frame, tg_worker *worker)
{
	fib *fib = (struct fib *) frame;
	struct fib *left;
	struct fib *right;

	if (fib->n < 2)
	{
		*fib->result = fib->n;
		return NULL;
	}
	tg_frame_then(frame, fib_join);
	left = child_new(worker, frame, sizeof(*left), fib_run);
	left->n = fib->n - 2;
	left->result = &fib->parts[0];
	tg_frame_fork(worker, &left->frame);
	right = child_new(worker, frame, sizeof(*right), fib_run);
	right->n = fib->n - 1;
	right->result = &fib->parts[1];
	return &right->frame;
}

static void
bench_fib(unsigned n)
{
	tg_job *job = job_new();
	fib *root = tg_frame_root(self, job, sizeof(fib), fib_run);
	uint64_t result = 0;
	measure start = measure_start();

	root->n = n;
	root->result = &result;
	job_run(job, &root->frame);
	measure_end(start, (double) fib_calls(n), result);
}

typedef struct skynet
{
	tg_frame frame;
	uint64_t first;
	uint64_t leaves;
	uint64_t *result;
	uint64_t parts[SKYNET_WIDTH];
} skynet;

static tg_frame *
skynet_join(tg_frame *frame, tg_worker *worker)
{
	skynet *skynet = (struct skynet *) frame;
	uint64_t sum = 0;

	(void) worker;
	for (unsigned i = 0; i < SKYNET_WIDTH; i++)
		sum += skynet->parts[i];
	*skynet->result = sum;
	return NULL;
}

static tg_frame *
skynet_run(tg_frame *frame, tg_worker *worker)
{
	skynet *skynet = (struct skynet *) frame;
	struct skynet *child = NULL;

	if (skynet->leaves == 1)
	{
		*skynet->result = skynet->first;
		return NULL;
	}
	tg_frame_then(frame, skynet_join);
	for (unsigned i = 0; i < SKYNET_WIDTH; i++)
	{
		if (child)
			tg_frame_fork(worker, &child->frame);
		child = child_new(worker, frame, sizeof(*child), skynet_run);
		child->leaves = skynet->leaves / SKYNET_WIDTH;
		child->first = skynet->first + i * child->leaves;
		child->result = &skynet->parts[i];
	}
	return &child->frame;
}

static void
bench_skynet(unsigned leaves)
{
	tg_job *job = job_new();
	skynet *root = tg_frame_root(self, job, sizeof(skynet), skynet_run);
	uint64_t result = 0;
	measure start = measure_start();

	root->first = 0;
	root->leaves = leaves;
	root->result = &result;
	job_run(job, &root->frame);
	measure_end(start, leaves, result);
}

typedef struct uts
{
	tg_frame frame;
	uint64_t seed;
	uint64_t *result;
	unsigned children;
	uint64_t parts[];
} uts;

static tg_frame *
uts_join(tg_frame *frame, tg_worker *worker)
{
	uts *uts = (struct uts *) frame;
	uint64_t count = 1;

	(void) worker;
	for (unsigned i = 0; i < uts->children; i++)
		count += uts->parts[i];
	*uts->result = count;
	return NULL;
}

static tg_frame *
uts_run(tg_frame *frame, tg_worker *worker)
{
	uts *uts = (struct uts *) frame;
	struct uts *child = NULL;

	tg_frame_then(frame, uts_join);
	for (unsigned i = 0; i < uts->children; i++)
	{
		uint64_t seed = uts_child(uts->seed, i);
		unsigned children = uts_children(seed);

		if (child)
			tg_frame_fork(worker, &child->frame);
		child = child_new(worker, frame, sizeof(*child) + children * sizeof(uint64_t), uts_run);
		child->seed = seed;
		child->children = children;
		child->result = &uts->parts[i];
	}
	return child ? &child->frame : NULL;
}

static void
bench_uts(void)
{
	tg_job *job = job_new();
	uts *root = tg_frame_root(self, job, sizeof(uts) + UTS_ROOT_CHILDREN * sizeof(uint64_t), uts_run);
	uint64_t result = 0;
	double awake_ns = workers_awake_ns();
	measure start = measure_start();

	root->seed = UTS_SEED;
	root->children = UTS_ROOT_CHILDREN;
	root->result = &result;
	job_run(job, &root->frame);
	print_balance(awake_ns, start);
	measure_end(start, 1e6, result);
}

typedef struct loop
{
	tg_frame frame;
	unsigned number;
	uint64_t *result;
} loop;

static tg_frame *
loop_turn(tg_frame *frame, tg_worker *worker)
{
	loop *loop = (struct loop *) frame;

	(void) worker;
	*loop->result = burn(loop->number, loop_rounds(loop->number));
	return NULL;
}

static tg_frame *
loop_run(tg_frame *frame, tg_worker *worker)
{
	uint64_t *results = ((loop *) frame)->result;

	for (unsigned i = 0; i < LOOP_TASKS; i++)
	{
		loop *turn = child_new(worker, frame, sizeof(loop), loop_turn);

		turn->number = i;
		turn->result = &results[i];
		tg_frame_fork(worker, &turn->frame);
	}
	return NULL;
}

static void
bench_loop(void)
{
	static uint64_t results[LOOP_TASKS];
	tg_job *job = job_new();
	loop *root = tg_frame_root(self, job, sizeof(loop), loop_run);
	uint64_t sum = 0;
	double awake_ns = workers_awake_ns();
	measure start = measure_start();

	root->result = results;
	job_run(job, &root->frame);
	print_balance(awake_ns, start);
	for (unsigned i = 0; i < LOOP_TASKS; i++)
		sum += results[i];
	measure_end(start, 1e6, sum);
}

/* --- from outside --------------------------------------------------------------------- */

typedef struct little
{
	tg_task task;
	uint64_t number;
} little;

static uint64_t littles_run;
static uint64_t littles_max;
static uint32_t blocker_state; /* 1: it runs; 2: it may end */

static tg_turn
little_run(tg_task *task, tg_worker *worker)
{
	(void) task;
	(void) worker;
	if (tg_fetch_add_acq_rel(&littles_run, 1) == littles_max - 1)
		wake_waiter(&waiter);
	return TG_TURN_DONE;
}

static tg_turn
blocker_run(tg_task *task, tg_worker *worker)
{
	(void) task;
	(void) worker;
	tg_store_release(&blocker_state, 1);
	while (tg_load_acquire(&blocker_state) == 1)
		tg_pause();
	return TG_TURN_DONE;
}

/*
 * The submission alone, with every worker inside a task; or all of it, to a pool that sleeps at
 * first.
 */
static void
bench_outside(unsigned count, unsigned workers, bool busy)
{
	little *littles = tg_alloc_zeroed(self, count * sizeof(little), TG_USE_JOB, TG_DATA);
	tg_task blockers[64];
	double submitted_ns;
	measure start;

	if (!littles || workers > 64)
		fail("too much");
	littles_max = count;
	for (unsigned i = 0; i < count; i++)
		tg_task_init(&littles[i].task, little_run, NULL);
	for (unsigned i = 0; busy && i < workers; i++)
	{
		tg_store_relaxed(&blocker_state, 0);
		tg_task_init(&blockers[i], blocker_run, NULL);
		if (tg_task_submit(self, NULL, &blockers[i]) != TG_OK)
			fail("refused");
		while (tg_load_acquire(&blocker_state) == 0)
			usleep(100);
	}
	usleep(20000);
	start = measure_start();
	for (unsigned i = 0; i < count; i++)
	{
		if (tg_task_submit(self, NULL, &littles[i].task) != TG_OK)
			fail("refused");
	}
	submitted_ns = clock_ns(CLOCK_MONOTONIC) - start.wall_ns;
	tg_store_release(&blocker_state, 2);
	if (!wait_for_wake())
		fail("a task was lost");
	printf("submit %.3f ", submitted_ns / count);
	measure_end(start, count, littles_run);
	tg_free(self, littles, TG_USE_JOB);
}

static double run_at_ns;
static uint32_t has_run;

static tg_turn
timed_run(tg_task *task, tg_worker *worker)
{
	(void) task;
	(void) worker;
	run_at_ns = clock_ns(CLOCK_MONOTONIC);
	tg_store_release(&has_run, 1);
	return TG_TURN_DONE;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return x < y ? -1 : x > y;
}

static void
bench_wake(unsigned rounds, unsigned pause_us)
{
	double *latencies = calloc(rounds, sizeof(double));
	double *submissions = calloc(rounds, sizeof(double));
	tg_task *task = tg_alloc_zeroed(self, sizeof(tg_task), TG_USE_JOB, TG_DATA);
	unsigned calls = 0;

	if (!task || !latencies || !submissions)
		fail("no memory");
	for (unsigned i = 0; i < rounds; i++)
	{
		double start_ns;

		usleep(pause_us);
		tg_task_init(task, timed_run, NULL);
		tg_store_relaxed(&has_run, 0);
		system_calls = 0;
		start_ns = clock_ns(CLOCK_MONOTONIC);
		if (tg_task_submit(self, NULL, task) != TG_OK)
			fail("refused");
		submissions[i] = clock_ns(CLOCK_MONOTONIC) - start_ns;
		calls += system_calls;
		while (!tg_load_acquire(&has_run))
			tg_pause();
		latencies[i] = run_at_ns - start_ns;
	}
	qsort(latencies, rounds, sizeof(double), compare_doubles);
	qsort(submissions, rounds, sizeof(double), compare_doubles);
	printf("wall %.3f submit %.3f syscalls %.3f\n", latencies[rounds / 2], submissions[rounds / 2],
		   (double) calls / rounds);
	tg_free(self, task, TG_USE_JOB);
	free(latencies);
	free(submissions);
}

/* CPU used without any demand, per second. */
static void
bench_idle(unsigned seconds)
{
	measure start;

	sleep(1);
	start = measure_start();
	sleep(seconds);
	measure_end(start, seconds, 0);
}

static unsigned long_seconds;
static double long_cpu_ns;

static tg_turn
long_run(tg_task *task, tg_worker *worker)
{
	double end_ns = clock_ns(CLOCK_MONOTONIC) + long_seconds * 1e9;
	double cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	(void) task;
	(void) worker;
	while (clock_ns(CLOCK_MONOTONIC) < end_ns)
		(void) burn(1, 1000);
	long_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	wake_waiter(&waiter);
	return TG_TURN_DONE;
}

/* CPU that the rest of the pool uses beside one long task, per second. */
static void
bench_beside(unsigned seconds)
{
	tg_task *task = tg_alloc_zeroed(self, sizeof(tg_task), TG_USE_JOB, TG_DATA);
	double cpu_ns;

	if (!task)
		fail("no memory");
	sleep(1);
	long_seconds = seconds;
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	tg_task_init(task, long_run, NULL);
	if (tg_task_submit(self, NULL, task) != TG_OK)
		fail("refused");
	if (!wait_for_wake())
		fail("the task was lost");
	cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns;
	printf("wall %u cpu %.3f task %.3f\n", seconds, (cpu_ns - long_cpu_ns) / seconds, long_cpu_ns / seconds);
	tg_free(self, task, TG_USE_JOB);
}

/* --- settings ------------------------------------------------------------------------------ */

static void
setting_set(tg_scheduler_settings *settings, const char *text)
{
	const char *value = strchr(text, '=');

	if (!value)
		fail("SETTING=VALUE expected");
	if (strncmp(text, "distributor=", 12) == 0)
		settings->distributor = strcmp(value, "=off") == 0		? TG_DISTRIBUTOR_OFF
								: strcmp(value, "=worker") == 0 ? TG_DISTRIBUTOR_WORKER
																: TG_DISTRIBUTOR_THREAD;
	else if (strncmp(text, "steal_after_last=", 17) == 0)
		settings->steal_after_last = strcmp(value, "=on") == 0;
	else if (strncmp(text, "busy_worker=", 12) == 0)
		settings->busy_worker = strcmp(value, "=on") == 0;
	else
		fail("unknown setting");
}

static void
show_settings(const tg_scheduler_settings *settings)
{
	static const char *const distributors[] = {"off", "worker", "thread"};

	printf("stealing %s, stealing_wait %u, steal_after_last %s, worker_try_count %u, worker_suspend_ms %u, "
		   "local_first_permille %u, preferred_worker %s, core_affinity %s, distributor %s, distribution_spin_us %u, "
		   "watcher_interval_us %u\n",
		   settings->stealing ? "on" : "off", settings->stealing_wait, settings->steal_after_last ? "on" : "off",
		   settings->worker_try_count, settings->worker_suspend_ms, settings->local_first_permille,
		   settings->preferred_worker ? "on" : "off", settings->core_affinity ? "on" : "off",
		   distributors[settings->distributor], settings->distribution_spin_us, settings->watcher_interval_us);
}

int
main(int argc, char **argv)
{
	tg_arena_config arena = {.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 512 << 20, .session_max = 128};
	tg_scheduler_config config;
	tg_scheduler_settings settings;
	const char *part = argc > 3 ? argv[1] : "";
	unsigned workers = argc > 3 ? (unsigned) atoi(argv[2]) : 1;
	unsigned size = argc > 3 ? (unsigned) atoi(argv[3]) : 0;

	config.worker_max = workers;
	settings = tg_scheduler_settings_default(workers);
	for (int i = 4; i < argc; i++)
		setting_set(&settings, argv[i]);
	if (tg_arena_create(&arena) != TG_OK || tg_scheduler_create(&config) != TG_OK || tg_session_open(&self) != TG_OK)
		fail("no arena");
	tg_host_wake = wake_waiter;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		fail("the pool does not start");
	if (strcmp(part, "fib") == 0)
		bench_fib(size);
	else if (strcmp(part, "skynet") == 0)
		bench_skynet(size);
	else if (strcmp(part, "uts") == 0)
		bench_uts();
	else if (strcmp(part, "loop") == 0)
		bench_loop();
	else if (strcmp(part, "outside") == 0)
		bench_outside(size, workers, true);
	else if (strcmp(part, "outside-idle") == 0)
		bench_outside(size, workers, false);
	else if (strcmp(part, "wake") == 0)
		bench_wake(size, 3000);
	else if (strcmp(part, "wake-searching") == 0)
		bench_wake(size, 100);
	else if (strcmp(part, "idle") == 0)
		bench_idle(size);
	else if (strcmp(part, "beside") == 0)
		bench_beside(size);
	else if (strcmp(part, "settings") == 0)
		show_settings(&settings);
	else
		fail("sched PART WORKERS SIZE [SETTING=VALUE ...]");
	return tg_scheduler_stop(5000) ? 0 : 1;
}
