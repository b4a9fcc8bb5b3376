/*
 * job.c
 *	  Jobs: counts, cancel, references, and a teardown that runs exactly once.
 *
 * Jobs are trees of tasks; a task leaves a mark, the teardown counts itself and checks that all
 * marks are there and that no task runs any more.  They end by themselves, are cancelled at any
 * moment, by other threads and processes, are parked, given up by their starter, and stopped with
 * the pool.  Then their account of memory, and reports of jobs that end meanwhile: by a failpoint
 * just before the last reference goes, and by a reader that never rests.  Races of children and
 * callbacks are in job_race.c.
 */
#include "runtime/sched/job.h"

#include <string.h>
#include <sys/wait.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/job_internal.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

static unsigned
jobs_registered(void)
{
	tg_job_report report;
	unsigned count = 0;

	for (unsigned i = 0; i < TG_JOB_MAX; i++)
		count += tg_job_report_get(i, &report);
	return count;
}

/* --- a tree of tasks ------------------------------------------------------------ */

typedef struct node
{
	tg_task task;
	struct tree *tree;
	unsigned number; /* as in a heap: children are 2n and 2n + 1 */
	bool ran;		 /* a plain mark: what orders it before the teardown is the job's count */
} node;

typedef struct tree
{
	tg_job *job;
	unsigned node_count; /* nodes 1 .. node_count - 1 */
	bool endless;		 /* leaves come again until the job is cancelled */
	bool frees;			 /* the teardown frees the tree */
	uint32_t active;	 /* tasks within their run function */
	uint32_t teardowns;
	uint32_t *teardown_total;
	unsigned ran_at_teardown;
	bool active_at_teardown;
	node nodes[];
} tree;

static tg_turn
run_node(tg_task *task, tg_worker *worker)
{
	node *here = (node *) task;
	tree *tree = here->tree;
	unsigned child = here->number * 2;
	tg_turn turn = TG_TURN_DONE;

	tg_fetch_add_relaxed(&tree->active, 1);
	if (tg_job_is_cancelled(task->job))
		tg_job_fail(task->job, TG_CANCELLED);
	else if (child + 1 < tree->node_count)
	{
		tg_job_spawn(worker, task->job, &tree->nodes[child].task);
		tg_job_spawn(worker, task->job, &tree->nodes[child + 1].task);
	}
	else if (tree->endless)
		turn = TG_TURN_AGAIN;
	if (turn == TG_TURN_DONE)
	{
		tg_check(!here->ran);
		here->ran = true;
		tg_job_progress(task->job, 1, 2);
	}
	tg_fetch_add_relaxed(&tree->active, (uint32_t) -1);
	return turn;
}

static void
tree_teardown(tg_job *job, tg_session *session)
{
	tree *tree = tg_job_argument(job);

	tree->teardowns++; /* plain: two at once are a race that the sanitizer reports */
	tree->active_at_teardown = tg_load_relaxed(&tree->active) != 0;
	for (unsigned i = 1; i < tree->node_count; i++)
		tree->ran_at_teardown += tree->nodes[i].ran;
	tg_fetch_add_acq_rel(tree->teardown_total, 1);
	if (tree->frees)
		tg_free(session, tree, TG_USE_JOB);
}

static uint32_t *teardown_total; /* in the arena */

/* A tree of 2^depth - 1 tasks and its job, not started. */
static tree *
tree_new(tg_session *session, unsigned depth, void *waiter)
{
	unsigned count = 1u << depth;
	tree *tree = take_zeroed(session, sizeof(struct tree) + count * sizeof(node));
	tg_job_config config = {.kind = "tree",
							.owner = 42,
							.object = 7,
							.level = 40,
							.argument = tree,
							.teardown = tree_teardown,
							.waiter = waiter};

	if (tg_job_create(session, &config, &tree->job) != TG_OK)
		abort();
	tree->node_count = count;
	tree->teardown_total = teardown_total;
	for (unsigned i = 1; i < count; i++)
	{
		tree->nodes[i].tree = tree;
		tree->nodes[i].number = i;
		tg_task_init(&tree->nodes[i].task, run_node, tree->job);
	}
	return tree;
}

static bool
tree_start(tg_session *session, tree *tree)
{
	return tg_job_start(session, tree->job, &tree->nodes[1].task) == TG_OK;
}

static bool
tree_is_right(const tree *tree, bool whole)
{
	return tree->teardowns == 1 && !tree->active_at_teardown &&
		   (whole ? tree->ran_at_teardown == tree->node_count - 1 : tree->ran_at_teardown >= 1);
}

static void
tree_free(tg_session *session, tree *tree)
{
	tg_job_release(session, tree->job);
	tg_free(session, tree, TG_USE_JOB);
}

/* --- jobs that run to their end ---------------------------------------------------- */

static void
test_report(void)
{
	tree *tree;
	tg_job_report report = {0};

	pool_start(2);
	tree = tree_new(self, 14, NULL);
	tg_job_expect(tree->job, tree->node_count - 1);
	unit_ok(tg_job_state_get(tree->job) == TG_JOB_NEW && jobs_registered() == 1, "a new job is registered");
	unit_ok(tree_start(self, tree) && job_is_done_soon(tree->job), "it starts and ends");
	unit_ok(tree_is_right(tree, true), "its teardown ran once, after all its tasks");
	unit_ok(tg_job_status(tree->job) == TG_OK, "its status is good");
	for (unsigned i = 0; i < TG_JOB_MAX && !report.id; i++)
		(void) tg_job_report_get(i, &report);
	unit_ok(report.owner == 42 && report.object == 7 && report.level == 40 && strcmp(report.kind, "tree") == 0 &&
				report.state == TG_JOB_DONE && !report.cancelled,
			"its report identifies it");
	unit_ok(report.tasks == 0 && report.tasks_run == tree->node_count - 1 && report.done == report.expected &&
				report.rows == 2 * report.done,
			"and its work");
	printf("# %.1f ns per spawned task\n", (double) report.elapsed_us * 1000 / (double) report.tasks_run);
	tree_free(self, tree);
	unit_ok(jobs_registered() == 0, "it goes with its last reference");
	unit_ok(pool_stop(), "the pool stops");
}

#define STARTERS 4
#define JOBS_EACH 300

typedef struct starters
{
	uint32_t wrong;
	uint32_t go;
	bool cancel;
} starters;

/* Starts jobs one after the other, and cancels each at some moment, if that is asked. */
static void
start_jobs(unsigned number, void *argument)
{
	starters *starters = argument;
	tg_session *session = session_open();

	for (unsigned i = 0; i < JOBS_EACH; i++)
	{
		tree *tree = tree_new(session, 1 + i % 9, NULL);
		bool right = tree_start(session, tree);

		if (starters->cancel)
		{
			for (unsigned pause = i * 7 % 500; pause > 0; pause--)
				tg_pause();
			tg_job_cancel(session, tree->job);
		}
		right = right && job_is_done_soon(tree->job) && tree_is_right(tree, !starters->cancel);
		if (starters->cancel && right)
			right = tree->ran_at_teardown == tree->node_count - 1 || tg_job_status(tree->job) == TG_CANCELLED;
		if (!right)
			tg_fetch_add_relaxed(&starters->wrong, 1);
		tree_free(session, tree);
	}
	tg_session_close(session);
}

static void
test_many(unsigned workers, bool cancel)
{
	starters starters = {.cancel = cancel};
	const char *what = cancel ? "cancelled in flight" : "at once";

	*teardown_total = 0;
	pool_start(workers);
	unit_threads(STARTERS, start_jobs, &starters);
	unit_equal(starters.wrong, 0, "many jobs %s on %u workers: each ends as it should", what, workers);
	unit_equal(*teardown_total, STARTERS * JOBS_EACH, "many jobs %s on %u workers: one teardown each", what, workers);
	unit_equal(jobs_registered(), 0, "many jobs %s on %u workers: none is left", what, workers);
	unit_ok(pool_stop(), "the pool stops");
}

/* --- starters that do not wait --------------------------------------------------------- */

static void
abandon_jobs(unsigned number, void *argument)
{
	tg_session *session = session_open();

	for (unsigned i = 0; i < JOBS_EACH; i++)
	{
		tree *tree = tree_new(session, 1 + i % 9, NULL);
		tg_job *job = tree->job;

		tree->frees = true;
		tree->endless = i % 3 != 0;
		if (!tree_start(session, tree))
			abort();
		if (i % 3 != 0)
			tg_job_cancel(session, job);
		tg_job_release(session, job);
		if (jobs_registered() > TG_JOB_MAX / 2)
			usleep(1000);
	}
	tg_session_close(session);
}

static bool
abandoned_end(void)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (jobs_registered() > 0)
	{
		if (tg_clock_us() > end)
			return false;
		usleep(1000);
	}
	return true;
}

static void
test_abandoned(void)
{
	*teardown_total = 0;
	pool_start(3);
	unit_threads(STARTERS, abandon_jobs, NULL);
	unit_ok(abandoned_end(), "jobs whose starters do not wait end by themselves");
	unit_equal(*teardown_total, STARTERS * JOBS_EACH, "with one teardown each");
	unit_ok(pool_stop(), "the pool stops");
}

static void __attribute__((unused)) test_processes(void)
{
	starters *shared = take_zeroed(self, sizeof(starters));
	pid_t children[STARTERS];
	bool ended = true;

	*teardown_total = 0;
	for (unsigned i = 0; i < STARTERS; i++)
	{
		children[i] = fork();
		if (children[i] == 0)
		{
			while (!tg_load_acquire(&shared->go))
				usleep(1000);
			if (i % 2)
				abandon_jobs(i, NULL);
			else
				start_jobs(i, shared);
			_exit(0);
		}
	}
	pool_start(2);
	tg_store_release(&shared->go, 1);
	for (unsigned i = 0; i < STARTERS; i++)
	{
		int status;

		ended = ended && waitpid(children[i], &status, 0) == children[i] && status == 0;
	}
	unit_ok(ended && shared->wrong == 0, "processes start jobs, wait, or go away");
	unit_ok(abandoned_end(), "all their jobs end");
	unit_equal(*teardown_total, STARTERS * JOBS_EACH, "with one teardown each");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, shared, TG_USE_JOB);
}

/* --- status, waiter, registry ------------------------------------------------------------ */

static void
test_status(void)
{
	tree *tree = tree_new(self, 1, NULL);

	tg_job_fail(tree->job, TG_NO_MEMORY);
	tg_job_fail(tree->job, TG_CANCELLED);
	unit_ok(tg_job_status(tree->job) == TG_NO_MEMORY, "the first failure stays");
	tg_job_retain(tree->job);
	tg_job_release(self, tree->job);
	unit_ok(jobs_registered() == 1, "a job stays while there is a reference to it");
	tree_free(self, tree);
	unit_ok(jobs_registered() == 0, "a job that never ran goes as well");
}

static struct
{
	tg_job *job;
	uint32_t wakes;
	bool too_early;
} waiter;

static void
wake_waiter(void *word)
{
	if (word == &waiter)
	{
		waiter.too_early = tg_job_state_get(waiter.job) != TG_JOB_DONE;
		tg_fetch_add_acq_rel(&waiter.wakes, 1);
	}
}

static void
test_waiter(void)
{
	uint64_t end = tg_clock_us() + SOON_US;
	void (*before)(void *) = tg_host_wake;
	tree *tree = tree_new(self, 3, &waiter);

	tg_host_wake = wake_waiter;
	waiter.job = tree->job;
	pool_start(2);
	if (!tree_start(self, tree))
		abort();
	while (tg_load_acquire(&waiter.wakes) == 0 && tg_clock_us() < end)
		sched_yield();
	unit_ok(waiter.wakes == 1 && !waiter.too_early && tree->teardowns == 1,
			"the waiter is woken once, when the job is done and torn down");
	unit_ok(pool_stop(), "the pool stops");
	unit_equal(waiter.wakes, 1, "and not again");
	tg_host_wake = before;
	tree_free(self, tree);
}

static void
test_full(void)
{
	tg_job_config config = {.kind = "none"};
	tg_job *jobs[TG_JOB_MAX];
	tg_job *job;
	unsigned count = 0;

	while (count < TG_JOB_MAX && tg_job_create(self, &config, &jobs[count]) == TG_OK)
		count++;
	unit_ok(count == TG_JOB_MAX && jobs_registered() == TG_JOB_MAX, "there is room for TG_JOB_MAX jobs");
	unit_ok(tg_job_create(self, &config, &job) == TG_FULL, "not for one more");
	while (count > 0)
		tg_job_release(self, jobs[--count]);
	unit_ok(jobs_registered() == 0, "all can be given back");
}

/* --- parked, stopped -------------------------------------------------------------------------- */

typedef struct parked
{
	tg_task task;
	uint32_t turns;
	uint32_t teardowns;
} parked;

static tg_turn
run_parked(tg_task *task, tg_worker *worker)
{
	parked *parked = (struct parked *) task;

	tg_fetch_add_acq_rel(&parked->turns, 1);
	return tg_job_is_cancelled(task->job) ? TG_TURN_DONE : TG_TURN_PARK;
}

static void
parked_teardown(tg_job *job, tg_session *session)
{
	tg_fetch_add_acq_rel(&((parked *) tg_job_argument(job))->teardowns, 1);
}

static parked *
parked_start(tg_job **job_out)
{
	parked *parked = take_zeroed(self, sizeof(struct parked));
	tg_job_config config = {.kind = "parked", .level = 60, .argument = parked, .teardown = parked_teardown};

	if (tg_job_create(self, &config, job_out) != TG_OK)
		abort();
	tg_task_init(&parked->task, run_parked, *job_out);
	if (tg_job_start(self, *job_out, &parked->task) != TG_OK)
		abort();
	while (tg_load_acquire(&parked->turns) == 0)
		sched_yield();
	return parked;
}

static void
test_parked(void)
{
	tg_job *job;
	parked *parked;

	pool_start(2);
	parked = parked_start(&job);
	usleep(1000);
	unit_ok(tg_job_state_get(job) == TG_JOB_RUNNING && parked->turns == 1, "a job with a parked task runs on");
	tg_task_unpark(self, &parked->task);
	tg_job_cancel(self, job);
	tg_task_unpark(self, &parked->task);
	unit_ok(job_is_done_soon(job) && parked->teardowns == 1, "cancelled and unparked it ends");
	tg_job_release(self, job);
	tg_free(self, parked, TG_USE_JOB);

	parked = parked_start(&job);
	unit_ok(tg_scheduler_stop(50), "the pool stops beside a parked task that is never unparked");
	unit_ok(tg_job_is_cancelled(job) && tg_job_state_get(job) == TG_JOB_RUNNING && parked->teardowns == 0,
			"its job is cancelled and given up");
	tg_task_unpark(self, &parked->task);
	pool_start(1);
	unit_ok(job_is_done_soon(job) && parked->teardowns == 1, "and ends in the next pool");
	unit_ok(pool_stop(), "the pool stops");
	tg_job_release(self, job);
	tg_free(self, parked, TG_USE_JOB);
}

#define STOPPED_JOBS 50

static void
test_stop(void)
{
	tree *trees[STOPPED_JOBS];
	bool right = true;

	*teardown_total = 0;
	pool_start(2);
	for (unsigned i = 0; i < STOPPED_JOBS; i++)
	{
		trees[i] = tree_new(self, 8, NULL);
		trees[i]->endless = true;
		right = right && tree_start(self, trees[i]);
	}
	usleep(2000);
	unit_ok(right && tg_load_acquire(teardown_total) == 0, "jobs run that end only when cancelled");
	unit_ok(pool_stop(), "the pool stops");
	for (unsigned i = 0; i < STOPPED_JOBS; i++)
	{
		right = right && tg_job_state_get(trees[i]->job) == TG_JOB_DONE && tree_is_right(trees[i], false);
		tree_free(self, trees[i]);
	}
	unit_ok(right && *teardown_total == STOPPED_JOBS, "every one of them has ended with its teardown");

	trees[0] = tree_new(self, 4, NULL);
	unit_ok(tg_job_start(self, trees[0]->job, &trees[0]->nodes[1].task) == TG_STOPPED, "no job starts without a pool");
	unit_ok(trees[0]->teardowns == 0 && tg_job_state_get(trees[0]->job) == TG_JOB_NEW, "nothing of it has run");
	pool_start(2);
	unit_ok(tree_start(self, trees[0]) && job_is_done_soon(trees[0]->job) && tree_is_right(trees[0], true),
			"it can be started in the next one");
	unit_ok(pool_stop(), "the pool stops");
	tree_free(self, trees[0]);
}

/* --- memory and progress ------------------------------------------------------------ */

#define MEMORY_MAX 1000
#define TAKERS 4

static uint32_t beyond; /* takers that saw more than MEMORY_MAX taken */

static void
take_and_give(unsigned number, void *argument)
{
	tg_job *job = argument;
	tg_job_report report;

	for (unsigned i = 0; i < 3000; i++)
	{
		uint64_t bytes = 1 + (i * 37 + number * 101) % (MEMORY_MAX / 2);

		if (tg_job_memory_take(job, bytes) != TG_OK)
			continue;
		if (i % 64 == 0 && tg_job_report_of(job, &report) && report.memory > MEMORY_MAX)
			tg_store_relaxed(&beyond, 1);
		tg_job_memory_give(job, bytes);
	}
}

static tg_job *taken_from;

/* Another task takes all of the memory between a task's look and its taking. */
static bool
take_at_look(const char *name)
{
	if (strcmp(name, "job_memory") == 0)
	{
		tg_failpoint_set(NULL);
		tg_check(tg_job_memory_take(taken_from, MEMORY_MAX) == TG_OK);
	}
	return false;
}

static void
test_memory(void)
{
	tg_job_config config = {.kind = "memory", .memory_max = MEMORY_MAX};
	tg_job_report report;
	tg_job *job;

	tg_check(tg_job_create(self, &config, &job) == TG_OK);
	unit_ok(tg_job_memory_take(job, 600) == TG_OK && tg_job_memory_take(job, 400) == TG_OK,
			"a job takes memory up to its bound");
	unit_ok(tg_job_memory_take(job, 1) == TG_NO_MEMORY && tg_job_memory_take(job, UINT64_MAX) == TG_NO_MEMORY,
			"not beyond");
	tg_job_memory_give(job, 400);
	unit_ok(tg_job_memory_take(job, 401) == TG_NO_MEMORY && tg_job_memory_take(job, 300) == TG_OK,
			"memory that it gave back it may take again");
	unit_ok(tg_job_report_of(job, &report) && report.memory == 900 && report.memory_most == 1000 &&
				report.memory_max == MEMORY_MAX,
			"its report says so");
	tg_job_memory_give(job, 900);
	taken_from = job;
	tg_failpoint_set(take_at_look);
	unit_ok(tg_job_memory_take(job, 1) == TG_NO_MEMORY && tg_job_report_of(job, &report) && report.memory == MEMORY_MAX,
			"nor when another task is faster");
	tg_job_memory_give(job, MEMORY_MAX);
	unit_threads(TAKERS, take_and_give, job);
	unit_ok(tg_job_report_of(job, &report) && report.memory == 0 && report.memory_most <= MEMORY_MAX && !beyond,
			"several takers do not go beyond either");
	tg_job_release(self, job);

	config.memory_max = 0;
	tg_check(tg_job_create(self, &config, &job) == TG_OK);
	unit_ok(tg_job_memory_take(job, UINT64_MAX) == TG_OK, "without a bound there is none");
	tg_job_release(self, job);
}

static void
test_progress(void)
{
	tg_job_config config = {.kind = "progress"};
	tg_job_report report;
	tg_job *job;

	tg_check(tg_job_create(self, &config, &job) == TG_OK);
	tg_job_expect(job, 10);
	tg_job_progress(job, 4, 100);
	tg_job_progress(job, 1, 20);
	unit_ok(tg_job_report_of(job, &report) && report.done == 5 && report.expected == 10 && report.rows == 120,
			"progress adds up");
	tg_job_release(self, job);
}

/* --- reports of jobs that go -------------------------------------------------------- */

static bool last_report_found;
static tg_job_report last_report;

/* The last reference is about to be given back. */
static bool
report_at_release(const char *name)
{
	if (strcmp(name, "job_release") == 0)
	{
		tg_failpoint_set(NULL);
		for (unsigned i = 0; i < TG_JOB_MAX && !last_report_found; i++)
			last_report_found = tg_job_report_get(i, &last_report);
	}
	return false;
}

#define REPORTED_JOBS 1500

static uint32_t reported_left;

static void
report_body(unsigned number, void *argument)
{
	tg_session *session = session_open();
	uint32_t *wrong = argument;
	tg_job_report report;

	if (number == 0)
	{
		for (unsigned i = 0; i < REPORTED_JOBS; i++)
		{
			tree *tree = tree_new(session, 1 + i % 4, NULL);

			tg_check(tree_start(session, tree) && job_is_done_soon(tree->job));
			tree_free(session, tree);
		}
		tg_store_release(&reported_left, 0);
	}
	while (tg_load_acquire(&reported_left) > 0)
	{
		for (unsigned i = 0; i < TG_JOB_MAX; i++)
		{
			if (tg_job_report_get(i, &report) &&
				(report.id == 0 || strcmp(report.kind, "tree") != 0 || report.owner != 42 || report.tasks_run > 15 ||
				 (report.state == TG_JOB_DONE && report.tasks != 0)))
				tg_fetch_add_relaxed(wrong, 1);
		}
	}
	tg_session_close(session);
}

static void
test_report_race(void)
{
	uint32_t wrong = 0;
	tree *tree = tree_new(self, 1, NULL);

	tg_failpoint_set(report_at_release);
	tg_job_release(self, tree->job);
	unit_ok(last_report_found && last_report.owner == 42 && last_report.state == TG_JOB_NEW,
			"a job is reported until its last reference has gone");
	unit_equal(jobs_registered(), 0, "and not after that");
	tg_free(self, tree, TG_USE_JOB);

	reported_left = 1;
	pool_start(2);
	unit_threads(3, report_body, &wrong);
	unit_equal(wrong, 0, "reports beside jobs that come and go are of one job each");
	unit_ok(pool_stop(), "the pool stops");
}

/* The effect of a crash restart on the arena; the statics of this process stay. */
static void
test_reset(void)
{
	tg_scheduler_config config = {.worker_max = 4};
	tree *tree = tree_new(self, 2, NULL);

	(void) tree; /* lost in the crash */
	tg_session_close(self);
	tg_arena_reset();
	unit_ok(tg_scheduler_create(&config) == TG_OK && tg_session_open(&self) == TG_OK, "a new start in an empty arena");
	unit_equal(jobs_registered(), 0, "no job is left");
	teardown_total = take_zeroed(self, sizeof(uint32_t));
	test_report();
}

int
main(void)
{
	server_start();
	teardown_total = take_zeroed(self, sizeof(uint32_t));
	test_report();
#ifndef __SANITIZE_THREAD__ /* it does not see the order across another process */
	test_processes();
#endif
	test_many(1, false);
	test_many(3, false);
	test_many(1, true);
	test_many(3, true);
	test_abandoned();
	test_status();
	test_waiter();
	test_full();
	test_parked();
	test_stop();
	test_memory();
	test_progress();
	test_report_race();
	test_reset();
	server_end();
	return unit_done();
}
