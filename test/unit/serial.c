/*
 * serial.c
 *	  Jobs in place: which, by whom, and when they go on in the pool.
 *
 * Tasks note the thread that runs them, and how often.  A job grows past one
 * limit at a time; the pool stops in mid-move by a failpoint; tasks park with
 * and without a pool, and jump out as a host's error does.
 */
#include "runtime/sched/serial.h"

#include <setjmp.h>
#include <string.h>
#include <sys/resource.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/fork.h"
#include "runtime/sched/job_internal.h"
#include "runtime/sched/worker.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

typedef struct leaf
{
	tg_task task;
	struct load *load;
	uint32_t runs;
	uint32_t turns; /* before it ends: AGAIN */
} leaf;

/* A job: the bootstrap spawns the leaves. */
typedef struct load
{
	tg_task task;
	tg_job *job;
	unsigned leaf_count;
	uint64_t busy_us; /* that the bootstrap takes */
	pthread_t home;
	uint32_t at_home; /* turns that ran on the starter's thread ... */
	uint32_t away;	  /* ... and elsewhere */
	uint32_t teardowns;
	bool torn_at_home;
	tg_worker *worker;
	leaf leaves[];
} load;

static void
note_thread(load *load)
{
	bool home = pthread_equal(pthread_self(), load->home);

	tg_fetch_add_acq_rel(home ? &load->at_home : &load->away, 1);
}

static tg_turn
run_leaf(tg_task *task, tg_worker *worker)
{
	leaf *leaf = (struct leaf *) task;

	note_thread(leaf->load);
	if (leaf->turns > 0)
	{
		leaf->turns--;
		return TG_TURN_AGAIN;
	}
	tg_fetch_add_relaxed(&leaf->runs, 1);
	return TG_TURN_DONE;
}

static tg_turn
run_load(tg_task *task, tg_worker *worker)
{
	load *load = (struct load *) task;
	uint64_t end = tg_clock_us() + load->busy_us;

	note_thread(load);
	load->worker = worker;
	for (unsigned i = 0; i < load->leaf_count; i++)
		tg_job_spawn(worker, task->job, &load->leaves[i].task);
	while (tg_clock_us() < end)
		tg_pause();
	return TG_TURN_DONE;
}

static void
load_teardown(tg_job *job, tg_session *session)
{
	load *load = tg_job_argument(job);

	load->torn_at_home = pthread_equal(pthread_self(), load->home);
	tg_fetch_add_acq_rel(&load->teardowns, 1);
}

static tg_job_config
load_config(uint8_t level)
{
	return (tg_job_config){.kind = "load", .level = level, .teardown = load_teardown};
}

static load *
load_new_as(tg_session *session, unsigned leaf_count, tg_job_config config)
{
	load *load = take_zeroed(session, sizeof(struct load) + leaf_count * sizeof(leaf));

	config.argument = load;
	if (tg_job_create(session, &config, &load->job) != TG_OK)
		abort();
	load->leaf_count = leaf_count;
	load->home = pthread_self();
	tg_task_init(&load->task, run_load, load->job);
	for (unsigned i = 0; i < leaf_count; i++)
	{
		load->leaves[i].load = load;
		tg_task_init(&load->leaves[i].task, run_leaf, load->job);
	}
	return load;
}

static load *
load_new(unsigned leaf_count, uint8_t level)
{
	return load_new_as(self, leaf_count, load_config(level));
}

static void
load_free(tg_session *session, load *load)
{
	tg_job_release(session, load->job);
	tg_free(session, load, TG_USE_JOB);
}

/* It is DONE, every task has run once, the teardown too. */
static bool
load_is_right(const load *load)
{
	bool right = tg_job_state_get(load->job) == TG_JOB_DONE && tg_load_acquire(&load->teardowns) == 1;

	for (unsigned i = 0; i < load->leaf_count; i++)
		right = right && tg_load_relaxed(&load->leaves[i].runs) == 1;
	return right;
}

static uint32_t tick_us = 100000; /* of time there is enough, but where a test takes it */

static void
kind_set(tg_scheduler_kind kind, unsigned workers)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	settings.kind = kind;
	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	settings.watcher_interval_us = tick_us;
	settings.hang_ms = 0;
	tg_scheduler_settings_set(&settings);
}

static void
kind_start(tg_scheduler_kind kind, unsigned workers)
{
	kind_set(kind, workers);
	if (tg_scheduler_start() != TG_OK)
		abort();
}

/* --- where -------------------------------------------------------------------------- */

static bool
runs_at_home(tg_job_config config)
{
	load *load = load_new_as(self, 3, config);
	tg_job_report report;
	bool at_home;

	tg_check(tg_job_start(self, load->job, &load->task) == TG_OK);
	at_home = tg_job_state_get(load->job) == TG_JOB_DONE && load->away == 0;
	tg_check(job_is_done_soon(load->job) && load_is_right(load));
	tg_check(tg_job_report_of(load->job, &report) && report.in_place == (load->at_home > 0));
	tg_check(load->torn_at_home == at_home && (at_home || load->at_home == 0));
	load_free(self, load);
	return at_home;
}

static void
test_where(void)
{
	tg_job_config pool_only = load_config(0);

	pool_only.pool_only = true;
	kind_start(TG_KIND_HYBRID, 2);
	unit_ok(runs_at_home(load_config(0)) && runs_at_home(load_config(10)) && runs_at_home(load_config(30)),
			"hybrid: light jobs run in place, and are done when they have been "
			"started");
	unit_ok(!runs_at_home(load_config(31)) && !runs_at_home(load_config(60)), "hybrid: heavier ones in the pool");
	unit_ok(!runs_at_home(pool_only), "hybrid: tasks that must not run in place do not");
	kind_set(TG_KIND_STEALING, 2);
	unit_ok(!runs_at_home(load_config(0)) && !runs_at_home(load_config(60)), "stealing: all run in the pool");
	kind_set(TG_KIND_SERIAL, 2);
	unit_ok(runs_at_home(load_config(0)) && runs_at_home(load_config(60)), "serial: all run in place");
	unit_ok(!runs_at_home(pool_only), "serial: but those that must not");
	pool_only = load_config(0);
	pool_only.teardown_as_task = true;
	unit_ok(runs_at_home(pool_only), "a teardown as a task is run in place, too");
	unit_ok(pool_stop(), "the pool stops");
	unit_ok(runs_at_home(load_config(0)) && runs_at_home(pool_only), "serial: without a pool");
}

#define JOBS 2000

static void
test_costs(void)
{
	struct rusage before;
	struct rusage after;
	tg_worker *worker = NULL;
	bool same = true;

	/* a thread that has to wait for a CPU is not to give its job to the pool for that */
	tick_us = 10000000;
	kind_start(TG_KIND_HYBRID, 1);
	tick_us = 100000;
	tg_check(pool_sleeps_soon());
	getrusage(RUSAGE_THREAD, &before);
	for (unsigned i = 0; i < JOBS; i++)
	{
		load *load = load_new(1, 10);

		tg_check(tg_job_start(self, load->job, &load->task) == TG_OK && load_is_right(load));
		same = same && (!worker || worker == load->worker);
		worker = load->worker;
		load_free(self, load);
	}
	getrusage(RUSAGE_THREAD, &after);
	unit_ok(same, "a thread's jobs share one executor");
	/* a page that is not there may take one */
	unit_ok(after.ru_nvcsw - before.ru_nvcsw < JOBS / 100, "%u of them without switches to another thread", JOBS);
	unit_ok(pool_stop(), "the pool stops");
}

static void
jobs_body(unsigned number, void *argument)
{
	tg_session *session = session_open();

	for (unsigned i = 0; i < 100; i++)
	{
		load *load = load_new_as(session, i % 5, load_config(number % 2 ? 10 : 60));

		tg_check(tg_job_start(session, load->job, &load->task) == TG_OK && job_is_done_soon(load->job) &&
				 load_is_right(load));
		load_free(session, load);
	}
	tg_session_close(session);
}

/* Executors go with their threads: the leak sanitizer would tell. */
static void
test_threads(void)
{
	kind_start(TG_KIND_HYBRID, 2);
	unit_threads(8, jobs_body, NULL);
	unit_ok(pool_stop(), "several threads run jobs in place, and others in the pool");
}

/* --- jobs that grow --------------------------------------------------------------------- */

static void
test_growth(void)
{
	load *load;

	kind_start(TG_KIND_SERIAL, 2);
	load = load_new(TG_SERIAL_QUEUED_MAX, 0);
	tg_check(tg_job_start(self, load->job, &load->task) == TG_OK);
	unit_ok(load_is_right(load) && load->away == 0, "a job with as many tasks as may be queued ends in place");
	load_free(self, load);

	load = load_new(TG_SERIAL_QUEUED_MAX + 1, 0);
	tg_check(tg_job_start(self, load->job, &load->task) == TG_OK);
	unit_ok(job_is_done_soon(load->job) && load_is_right(load) && load->at_home == 1 &&
				load->away == TG_SERIAL_QUEUED_MAX + 1,
			"with one more queued they all go to the pool, each once");
	load_free(self, load);

	load = load_new(1, 0);
	load->leaves[0].turns = TG_SERIAL_RUN_MAX * 2;
	tg_check(tg_job_start(self, load->job, &load->task) == TG_OK);
	unit_ok(job_is_done_soon(load->job) && load_is_right(load) && load->at_home == TG_SERIAL_RUN_MAX,
			"after so many turns it goes to the pool");
	load_free(self, load);

	load = load_new(3, 0);
	load->busy_us = 110000;
	tg_check(tg_job_start(self, load->job, &load->task) == TG_OK);
	unit_ok(job_is_done_soon(load->job) && load_is_right(load) && load->at_home == 1 && load->away == 3,
			"so do the tasks that wait when a tick has gone by");
	load_free(self, load);

	load = load_new(0, 0);
	load->busy_us = 110000;
	tg_check(tg_job_start(self, load->job, &load->task) == TG_OK);
	unit_ok(load_is_right(load), "a single task may last");
	load_free(self, load);
	unit_ok(pool_stop(), "the pool stops");
}

#define MANY 70000 /* more than a deque takes */

static void
test_growth_without_pool(void)
{
	load *load = load_new(MANY, 0);

	kind_set(TG_KIND_SERIAL, 1);
	load->leaves[7].turns = TG_SERIAL_RUN_MAX * 2;
	tg_check(tg_job_start(self, load->job, &load->task) == TG_OK);
	unit_ok(load_is_right(load) && load->away == 0, "without a pool a job of %u tasks ends in place", MANY);
	load_free(self, load);
}

static unsigned moves;
static unsigned stop_at;

/* The pool stops, and gives the job up, when so many tasks have been moved. */
static bool
stop_at_move(const char *name)
{
	if (strcmp(name, "serial_move") == 0 && moves++ == stop_at)
		tg_check(tg_scheduler_stop(20));
	return false;
}

static void
test_stop_at_move(void)
{
	for (stop_at = 0; stop_at <= 40; stop_at += 20)
	{
		load *load = load_new(TG_SERIAL_QUEUED_MAX + 9, 0);

		kind_start(TG_KIND_SERIAL, 2);
		moves = 0;
		tg_failpoint_set(stop_at_move);
		tg_check(tg_job_start(self, load->job, &load->task) == TG_OK);
		tg_failpoint_set(NULL);
		unit_ok(job_is_done_soon(load->job) && load_is_right(load) && load->away == stop_at,
				"the pool stops after it took %u tasks: the others run in place, "
				"each once",
				stop_at);
		load_free(self, load);
	}
}

/* --- jobs that start jobs ------------------------------------------------------------------- */

#define CHAIN 1000

typedef struct chained
{
	tg_task task;
	unsigned left;
	unsigned *depth; /* tasks within one another */
	unsigned *ended;
} chained;

static void chain_start(tg_session *session, unsigned left, unsigned *depth, unsigned *ended);

static tg_turn
run_chained(tg_task *task, tg_worker *worker)
{
	chained *chained = (struct chained *) task;

	tg_check(++*chained->depth == 1);
	if (chained->left > 0)
		chain_start(tg_worker_session(worker), chained->left - 1, chained->depth, chained->ended);
	--*chained->depth;
	return TG_TURN_DONE;
}

static void
chained_complete(tg_job *job, tg_session *session, tg_status status)
{
	chained *chained = tg_job_argument(job);

	++*chained->ended;
	tg_free(session, chained, TG_USE_JOB);
}

static void
chain_start(tg_session *session, unsigned left, unsigned *depth, unsigned *ended)
{
	chained *chained = take_zeroed(session, sizeof(struct chained));
	tg_job_config config = {.kind = "chained", .argument = chained, .complete = chained_complete};
	tg_job *job;

	if (tg_job_create(session, &config, &job) != TG_OK)
		abort();
	*chained = (struct chained){.left = left, .depth = depth, .ended = ended};
	tg_task_init(&chained->task, run_chained, job);
	tg_check(tg_job_start(session, job, &chained->task) == TG_OK);
	tg_job_release(session, job);
}

static void
test_chain(void)
{
	unsigned depth = 0;
	unsigned ended = 0;

	kind_set(TG_KIND_SERIAL, 1);
	chain_start(self, CHAIN - 1, &depth, &ended);
	unit_equal(ended, CHAIN, "jobs that start jobs in place end one after another");
}

/* --- fork and join ---------------------------------------------------------------------------- */

typedef struct halves
{
	tg_frame frame;
	uint64_t first; /* adds up the numbers from first ... */
	uint64_t count; /* ... so many of them */
	uint64_t *sum;
	uint64_t parts[2];
} halves;

static tg_frame *
halves_join(tg_frame *frame, tg_worker *worker)
{
	halves *self = (halves *) frame;

	*self->sum = self->parts[0] + self->parts[1];
	return NULL;
}

static tg_frame *
halves_run(tg_frame *frame, tg_worker *worker)
{
	halves *self = (halves *) frame;
	halves *part[2];

	if (self->count == 1)
	{
		*self->sum = self->first;
		return NULL;
	}
	for (unsigned i = 0; i < 2; i++)
	{
		part[i] = tg_frame_child(worker, frame, sizeof(halves), halves_run);
		tg_check(part[i]);
		part[i]->first = self->first + i * (self->count / 2);
		part[i]->count = i ? self->count - self->count / 2 : self->count / 2;
		part[i]->sum = &self->parts[i];
	}
	tg_frame_then(frame, halves_join);
	tg_frame_fork(worker, &part[0]->frame);
	return &part[1]->frame;
}

static void
test_fork(bool with_pool)
{
	uint64_t count = 3000; /* in the pool it grows */
	uint64_t sum = 0;
	tg_job_config config = {.kind = "halves"};
	tg_job *job;
	halves *root;

	if (with_pool)
		kind_start(TG_KIND_SERIAL, 2);
	tg_check(tg_job_create(self, &config, &job) == TG_OK);
	root = tg_frame_root(self, job, sizeof(halves), halves_run);
	tg_check(root);
	root->first = 1;
	root->count = count;
	root->sum = &sum;
	tg_check(tg_job_start(self, job, &root->frame.task) == TG_OK);
	unit_ok(with_pool || tg_job_state_get(job) == TG_JOB_DONE, "a job that forks and joins, %s",
			with_pool ? "in place and in the pool" : "in place");
	unit_ok(job_is_done_soon(job) && sum == count * (count + 1) / 2, "joins what it forked");
	tg_job_release(self, job);
	unit_ok(pool_stop(), "the pool stops");
}

/* --- parking ------------------------------------------------------------------------ */

typedef struct parker
{
	tg_task task;
	tg_job *job;
	pthread_t home;
	uint32_t turns;
	uint32_t go;
	uint32_t callbacks;
	bool stubborn; /* does not look at the cancel flag */
	bool ended_at_home;
} parker;

static tg_turn
run_parker(tg_task *task, tg_worker *worker)
{
	parker *parker = (struct parker *) task;

	tg_fetch_add_acq_rel(&parker->turns, 1);
	if (!tg_load_acquire(&parker->go) && (parker->stubborn || !tg_job_is_cancelled(task->job)))
		return TG_TURN_PARK;
	parker->ended_at_home = pthread_equal(pthread_self(), parker->home);
	return TG_TURN_DONE;
}

static void
parker_cancelled(tg_job *job, tg_session *session)
{
	parker *parker = tg_job_argument(job);

	parker->callbacks++;
	tg_task_unpark(session, &parker->task);
}

static parker *
parker_start(bool stubborn)
{
	parker *parker = take_zeroed(self, sizeof(struct parker));
	tg_job_config config = {.kind = "parker", .argument = parker, .cancelled = parker_cancelled};

	if (tg_job_create(self, &config, &parker->job) != TG_OK)
		abort();
	parker->stubborn = stubborn;
	parker->home = pthread_self();
	tg_task_init(&parker->task, run_parker, parker->job);
	tg_check(tg_job_start(self, parker->job, &parker->task) == TG_OK);
	return parker;
}

static void
parker_free(parker *parker)
{
	tg_job_release(self, parker->job);
	tg_free(self, parker, TG_USE_JOB);
}

static void
test_park(void)
{
	parker *parker;

	kind_start(TG_KIND_SERIAL, 1);
	parker = parker_start(false);
	unit_ok(tg_job_state_get(parker->job) == TG_JOB_RUNNING && parker->turns == 1,
			"a task in place parks: its job runs on, its starter too");
	tg_store_release(&parker->go, 1);
	tg_task_unpark(self, &parker->task);
	unit_ok(job_is_done_soon(parker->job) && !parker->ended_at_home && parker->turns == 2, "it goes on in the pool");
	parker_free(parker);
	unit_ok(pool_stop(), "the pool stops");

	parker = parker_start(false);
	unit_ok(tg_job_state_get(parker->job) == TG_JOB_DONE && tg_job_status(parker->job) == TG_STOPPED &&
				tg_job_is_cancelled(parker->job) && parker->turns == 2 && parker->callbacks == 1,
			"without a pool the job is cancelled, and fails");
	parker_free(parker);

	parker = parker_start(true);
	unit_ok(tg_job_state_get(parker->job) == TG_JOB_RUNNING && tg_job_status(parker->job) == TG_STOPPED,
			"one that does not listen is given up, and its status says so");
	tg_store_release(&parker->go, 1);
	tg_task_unpark(self, &parker->task);
	kind_start(TG_KIND_SERIAL, 1);
	unit_ok(job_is_done_soon(parker->job) && !parker->ended_at_home, "it ends in the next pool");
	parker_free(parker);
	unit_ok(pool_stop(), "the pool stops");
}

/* --- tasks that do not come back ---------------------------------------------------- */

static jmp_buf out;

static tg_turn
run_jump(tg_task *task, tg_worker *worker)
{
	tg_epoch_enter(tg_worker_session(worker));
	longjmp(out, 1);
}

static void
test_abandon(bool with_pool)
{
	load *load = load_new(5, 0);

	kind_set(TG_KIND_SERIAL, 1);
	if (with_pool)
		kind_start(TG_KIND_SERIAL, 1);
	tg_serial_abandon(self);
	load->leaves[2].task.run = run_jump;
	if (setjmp(out) == 0)
	{
		(void) !tg_job_start(self, load->job, &load->task);
		unit_ok(false, "the third leaf jumps out");
	}
	tg_serial_abandon(self);
	load->leaves[2].runs = 1; /* for load_is_right */
	unit_ok(job_is_done_soon(load->job) && load_is_right(load), "a job one of whose tasks jumped out in place ends");
	unit_ok(tg_job_status(load->job) == TG_CANCELLED && tg_job_is_cancelled(load->job) && !tg_epoch_inside(self),
			"as cancelled");
	unit_equal(load->away, with_pool ? 2 : 0, "the rest of it has run %s", with_pool ? "in the pool" : "in place");
	load_free(self, load);
	unit_ok(runs_at_home(load_config(0)), "the next job runs in place");
	unit_ok(pool_stop(), "the pool stops");
}

int
main(void)
{
	server_start();
	test_where();
	test_costs();
	test_threads();
	test_growth();
	test_growth_without_pool();
	test_stop_at_move();
	test_chain();
	test_fork(false);
	test_fork(true);
	test_park();
	test_abandon(true);
	test_abandon(false);
	server_end();
	return unit_done();
}
