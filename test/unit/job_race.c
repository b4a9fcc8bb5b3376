/*
 * job_race.c
 *	  Jobs: every callback once and in order, in all races.
 *
 * A member is a job of one task, which parks until it is let go or cancelled, and notes when its
 * callbacks come.  Parents, children, cancellers and the end are brought into each order by
 * failpoints: the hook, in the thread that passes, takes the racing step itself, or waits for
 * another thread.  In the last test all of it happens at once, on memory that complete gives back.
 */
#include "runtime/sched/job.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/job_internal.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

typedef struct member
{
	tg_task task;
	tg_job *job;
	uint32_t turns;
	uint32_t go;		/* the task may end */
	uint32_t callbacks; /* cancelled */
	uint32_t teardowns;
	uint32_t completes;
	uint32_t torn_at; /* sequence */
	uint32_t completed_at;
	uint32_t status;
	tg_job_state state_at_complete;
	bool was_cancelled; /* as its task saw it last */
	pthread_t torn_by;
	struct member *child; /* that its task creates and starts ... */
	uint32_t born_in;	  /* ... in this turn; 0: never */
	bool child_was_cancelled;
} member;

static uint32_t sequence;

static void member_create(tg_session *session, member *member, tg_job *parent);
static void member_start(tg_session *session, member *member);

static tg_turn
run_member(tg_task *task, tg_worker *worker)
{
	member *member = (struct member *) task;
	uint32_t turn = tg_load_relaxed(&member->turns) + 1;
	bool ends;

	member->was_cancelled = tg_job_is_cancelled(task->job);
	ends = member->was_cancelled || tg_load_acquire(&member->go);
	if (turn == member->born_in)
	{
		member_create(tg_worker_session(worker), member->child, task->job);
		member->child_was_cancelled = tg_job_is_cancelled(member->child->job);
		member_start(tg_worker_session(worker), member->child);
	}
	tg_store_release(&member->turns, turn);
	return ends ? TG_TURN_DONE : TG_TURN_PARK;
}

static void
member_cancelled(tg_job *job, tg_session *session)
{
	member *member = tg_job_argument(job);

	tg_check(tg_load_acquire(&member->teardowns) == 0);
	tg_fetch_add_acq_rel(&member->callbacks, 1);
	tg_task_unpark(session, &member->task);
}

static void
member_teardown(tg_job *job, tg_session *session)
{
	member *member = tg_job_argument(job);

	member->torn_at = tg_fetch_add_acq_rel(&sequence, 1) + 1;
	member->torn_by = pthread_self();
	tg_fetch_add_acq_rel(&member->teardowns, 1);
}

static void
member_complete(tg_job *job, tg_session *session, tg_status status)
{
	member *member = tg_job_argument(job);

	member->status = status;
	member->state_at_complete = tg_job_state_get(job);
	member->completed_at = tg_fetch_add_acq_rel(&sequence, 1) + 1;
	tg_fetch_add_acq_rel(&member->completes, 1);
}

static const tg_job_config member_config = {.kind = "member",
											.level = 60,
											.teardown = member_teardown,
											.complete = member_complete,
											.cancelled = member_cancelled};

/* As config, with what is the member's own; born_in and child stay as they are. */
static void
member_create_as(tg_session *session, member *member, tg_job_config config)
{
	struct member *child = member->child;
	uint32_t born_in = member->born_in;

	*member = (struct member){.child = child, .born_in = born_in};
	config.argument = member;
	if (tg_job_create(session, &config, &member->job) != TG_OK)
		abort();
	tg_task_init(&member->task, run_member, member->job);
}

static void
member_create(tg_session *session, member *member, tg_job *parent)
{
	tg_job_config config = member_config;

	config.parent = parent;
	member_create_as(session, member, config);
}

static void
member_start(tg_session *session, member *member)
{
	if (tg_job_start(session, member->job, &member->task) != TG_OK)
		abort();
}

static void
member_let_go(member *member)
{
	tg_store_release(&member->go, 1);
	tg_task_unpark(self, &member->task);
}

/* It has ended, and each callback came once, in order. */
static bool
member_is_right(const member *member, uint32_t callbacks)
{
	return job_is_done_soon(member->job) && member->callbacks == callbacks && member->teardowns == 1 &&
		   member->completes == 1 && member->torn_at < member->completed_at &&
		   member->state_at_complete == TG_JOB_RUNNING;
}

static tg_job_report
report_of(const tg_job *job)
{
	tg_job_report report;

	if (!tg_job_report_of(job, &report))
		abort();
	return report;
}

/* Waits until so many tasks and others hold the job. */
static bool
job_is_held_by(const tg_job *job, uint64_t tasks)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (report_of(job).tasks != tasks)
	{
		if (tg_clock_us() > end)
			return false;
		sched_yield();
	}
	return true;
}

/* --- a trap: what happens when the first thread passes a place ---------------------- */

static struct
{
	const char *place;
	void (*act)(void);
	uint32_t passed;
} trap;

static bool
trap_hook(const char *name)
{
	if (strcmp(name, tg_load_acquire(&trap.place)) == 0 && tg_fetch_add_acq_rel(&trap.passed, 1) == 0)
		trap.act();
	return false;
}

static void
trap_set(const char *place, void (*act)(void))
{
	trap.act = act;
	tg_store_relaxed(&trap.passed, 0);
	tg_store_release(&trap.place, place);
	tg_failpoint_set(trap_hook);
}

/* --- families ----------------------------------------------------------------------- */

#define GENERATIONS 3

static member family[GENERATIONS]; /* each the parent of the next */

/* So many generations, parked. */
static void
family_start(unsigned generations)
{
	memset(family, 0, sizeof(family));
	for (unsigned i = 0; i + 1 < generations; i++)
	{
		family[i].child = &family[i + 1];
		family[i].born_in = 1;
	}
	member_create(self, &family[0], NULL);
	member_start(self, &family[0]);
	for (unsigned i = 0; i < generations; i++)
		tg_check(comes_true(&family[i].turns, 1));
}

static void
family_release(unsigned generations)
{
	for (unsigned i = 0; i < generations; i++)
		tg_job_release(self, family[i].job);
}

static void
test_family(void)
{
	pool_start(2);
	family_start(2);
	unit_ok(report_of(family[1].job).parent_id == report_of(family[0].job).id, "a child's report names its parent");
	unit_ok(job_is_held_by(family[0].job, 2), "the parent counts it");
	member_let_go(&family[0]);
	unit_ok(job_is_held_by(family[0].job, 1) && tg_job_state_get(family[0].job) == TG_JOB_RUNNING,
			"a parent whose tasks have ended waits for its child");
	member_let_go(&family[1]);
	unit_ok(member_is_right(&family[0], 0) && member_is_right(&family[1], 0) &&
				family[1].completed_at < family[0].torn_at,
			"and ends after it");
	unit_ok(report_of(family[0].job).tasks_run == 1, "a child is no task that ran");
	family_release(2);

	family_start(2);
	member_let_go(&family[1]);
	unit_ok(member_is_right(&family[1], 0) && tg_job_state_get(family[0].job) == TG_JOB_RUNNING,
			"a child may end first");
	member_let_go(&family[0]);
	unit_ok(member_is_right(&family[0], 0), "the parent follows");
	family_release(2);

	family_start(3);
	member_let_go(&family[0]);
	member_let_go(&family[1]);
	unit_ok(job_is_held_by(family[0].job, 1) && job_is_held_by(family[1].job, 1),
			"three generations wait for the last");
	member_let_go(&family[2]);
	unit_ok(member_is_right(&family[0], 0) && family[2].completed_at < family[1].torn_at &&
				family[1].completed_at < family[0].torn_at,
			"and end one after the other");
	family_release(3);
	unit_ok(pool_stop(), "the pool stops");
}

static void
birth_at_cancel(void)
{
	/* The flag is set.  The parent's task has a child now, before anybody looks for children. */
	tg_task_unpark(self, &family[0].task);
	tg_check(job_is_done_soon(family[0].job));
}

static void
test_cancel_family(void)
{
	pool_start(2);
	family_start(3);
	tg_job_cancel(self, family[0].job);
	unit_ok(member_is_right(&family[0], 1) && member_is_right(&family[1], 1) && member_is_right(&family[2], 1),
			"cancel goes down, with one callback each");
	unit_ok(family[0].was_cancelled && family[1].was_cancelled && family[2].was_cancelled, "their tasks see it");
	family_release(3);

	family_start(3);
	tg_job_cancel(self, family[1].job);
	unit_ok(member_is_right(&family[1], 1) && member_is_right(&family[2], 1) && !tg_job_is_cancelled(family[0].job),
			"but not up");
	member_let_go(&family[0]);
	unit_ok(member_is_right(&family[0], 0) && family[0].status == TG_OK, "the parent ends well");
	family_release(3);

	/* A child born while its parent is being cancelled, before or after the look for children. */
	family_start(1);
	family[0].child = &family[1];
	family[0].born_in = 2;
	trap_set("job_cancel", birth_at_cancel);
	tg_job_cancel(self, family[0].job);
	tg_failpoint_set(NULL);
	unit_ok(trap.passed > 0 && member_is_right(&family[0], 0) && member_is_right(&family[1], 0) &&
				family[0].child_was_cancelled && family[1].was_cancelled,
			"a child born before the look for children is cancelled from the "
			"beginning");
	family_release(2);

	family_start(1);
	family[0].child = &family[1];
	family[0].born_in = 2;
	tg_job_cancel(self, family[0].job);
	unit_ok(member_is_right(&family[0], 1) && member_is_right(&family[1], 0) && family[0].child_was_cancelled &&
				family[1].was_cancelled,
			"so is one born after it");
	family_release(2);
	unit_ok(pool_stop(), "the pool stops");
}

/* --- cancel and the end --------------------------------------------------------------- */

static bool held_back;

static void
end_at_callback(void)
{
	/* The canceller is about to call back; the last task ends now. */
	member_let_go(&family[0]);
	held_back = job_is_held_by(family[0].job, 1);
	usleep(1000); /* the end would have time to come, if it wrongly could */
	held_back = held_back && tg_load_acquire(&family[0].teardowns) == 0;
}

static void
cancel_at_finish(void)
{
	tg_session *session = session_open();

	tg_job_cancel(session, family[0].job);
	tg_session_close(session);
}

static void
cancel_body(unsigned number, void *argument)
{
	tg_session *session = session_open();

	tg_job_cancel(session, argument);
	tg_session_close(session);
}

#define CANCELLERS 4
#define ROUNDS 100

static void
test_cancel_end(void)
{
	bool right = true;

	pool_start(2);
	family_start(1);
	trap_set("job_cancelled", end_at_callback);
	tg_job_cancel(self, family[0].job);
	tg_failpoint_set(NULL);
	unit_ok(held_back, "a job whose last task ends during a cancel callback does not end");
	unit_ok(member_is_right(&family[0], 1), "before that is over");
	unit_ok(!pthread_equal(family[0].torn_by, pthread_self()), "nor does the canceller run the teardown");
	family_release(1);

	family_start(1);
	trap_set("job_finish", cancel_at_finish);
	member_let_go(&family[0]);
	unit_ok(member_is_right(&family[0], 0) && tg_job_is_cancelled(family[0].job) && family[0].status == TG_OK,
			"cancelling a job that already ends does not call back");
	tg_failpoint_set(NULL);
	tg_job_cancel(self, family[0].job);
	unit_equal(family[0].callbacks, 0, "nor one that is done");
	family_release(1);

	for (unsigned i = 0; i < ROUNDS; i++)
	{
		family_start(1);
		unit_threads(CANCELLERS, cancel_body, family[0].job);
		right = right && member_is_right(&family[0], 1);
		family_release(1);
	}
	unit_ok(right, "of several cancellers one calls back");
	unit_ok(pool_stop(), "the pool stops");
}

static void
test_cancel_new(void)
{
	pool_start(1);
	memset(family, 0, sizeof(family));
	member_create(self, &family[0], NULL);
	tg_job_cancel(self, family[0].job);
	member_start(self, &family[0]);
	unit_ok(member_is_right(&family[0], 0) && family[0].was_cancelled && family[0].turns == 1,
			"a job cancelled before its start is not called back, its task sees "
			"it at once");
	family_release(1);
	unit_ok(pool_stop(), "the pool stops");
}

static void
test_cancel_id(void)
{
	uint64_t id;

	pool_start(1);
	family_start(1);
	id = report_of(family[0].job).id;
	unit_ok(!tg_job_cancel_id(self, 0) && !tg_job_cancel_id(self, id + 1), "a number that no job has");
	unit_ok(tg_job_cancel_id(self, id) && member_is_right(&family[0], 1), "a job can be cancelled by its number");
	unit_ok(!tg_job_cancel_id(self, id), "not when it is done");
	family_release(1);
	unit_ok(pool_stop(), "the pool stops");
}

/* A stop of the pool with parked jobs that can be called back. */
static void
test_stop(void)
{
	pool_start(2);
	family_start(3);
	unit_ok(pool_stop(), "the pool stops beside parked jobs");
	for (unsigned i = 0; i < 3; i++)
		unit_ok(member_is_right(&family[i], 1), "stop has cancelled and ended generation %u", i);
	family_release(3);
}

/* --- a start that is refused ------------------------------------------------------------ */

static struct
{
	uint32_t started;
	uint32_t inside;
	uint32_t undoing;
	uint32_t left;
	bool returned_first;
	tg_status status;
} refused;

static void
slow_cancelled(tg_job *job, tg_session *session)
{
	tg_store_release(&refused.inside, 1);
	tg_check(comes_true(&refused.undoing, 1));
	tg_store_release(&refused.left, 1);
}

static bool
refused_hook(const char *name)
{
	if (strcmp(name, "job_start") == 0)
	{
		tg_store_release(&refused.started, 1);
		tg_check(comes_true(&refused.inside, 1));
	}
	else if (strcmp(name, "job_undo") == 0)
		tg_store_release(&refused.undoing, 1);
	return false;
}

static void
refused_body(unsigned number, void *argument)
{
	tg_session *session = session_open();

	if (number == 0)
	{
		refused.status = tg_job_start(session, family[0].job, &family[0].task);
		refused.returned_first = !tg_load_acquire(&refused.left);
	}
	else
	{
		tg_check(comes_true(&refused.started, 1));
		tg_job_cancel(session, family[0].job);
	}
	tg_session_close(session);
}

static void
test_refused(void)
{
	tg_job_config config = member_config;

	config.cancelled = slow_cancelled;
	memset(family, 0, sizeof(family));
	member_create_as(self, &family[0], config);
	tg_failpoint_set(refused_hook);
	unit_threads(2, refused_body, NULL);
	tg_failpoint_set(NULL);
	unit_ok(refused.status == TG_STOPPED && !refused.returned_first,
			"a start that is refused waits for a canceller to leave the callback");
	unit_ok(tg_job_state_get(family[0].job) == TG_JOB_NEW && family[0].turns == 0 && family[0].teardowns == 0 &&
				family[0].completes == 0,
			"and nothing else has run");
	pool_start(1);
	member_start(self, &family[0]);
	unit_ok(job_is_done_soon(family[0].job) && family[0].teardowns == 1 && family[0].was_cancelled,
			"the job can be started later, and is cancelled");
	family_release(1);
	unit_ok(pool_stop(), "the pool stops");
}

/* --- the end as a task --------------------------------------------------------------------- */

static uint64_t
pool_tasks_run(void)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < tg_worker_count(); i++)
	{
		tg_worker_report report;

		tg_worker_report_get(i, &report);
		sum += report.tasks_run;
	}
	return sum;
}

static void
test_as_task(void)
{
	tg_job_config config = member_config;

	memset(family, 0, sizeof(family));
	for (unsigned as_task = 0; as_task < 2; as_task++)
	{
		uint64_t before;

		config.teardown_as_task = as_task;
		pool_start(2);
		before = pool_tasks_run();
		member_create_as(self, &family[0], config);
		family[0].go = 1;
		member_start(self, &family[0]);
		unit_ok(member_is_right(&family[0], 0), "a job ends, its teardown %s", as_task ? "as a task" : "in place");
		unit_equal(pool_tasks_run() - before, 1 + as_task, "so many tasks ran");
		unit_ok(pool_stop(), "the pool stops");
		family_release(1);
	}
}

/* --- everything at once ------------------------------------------------------------- */

#define STARTERS 3
#define JOBS_EACH 200

typedef struct pair
{
	tg_task task;
	uint32_t *completes;
	bool parks;
	bool has_child;
} pair;

static uint32_t id_last; /* relaxed: about the number of the last job */
static uint32_t starters_left;

static void
pair_cancelled(tg_job *job, tg_session *session)
{
	pair *pair = tg_job_argument(job);

	tg_task_unpark(session, &pair->task);
}

static void
pair_complete(tg_job *job, tg_session *session, tg_status status)
{
	pair *pair = tg_job_argument(job);

	tg_fetch_add_acq_rel(pair->completes, 1);
	memset(pair, 0xAB, sizeof(*pair));
	tg_free(session, pair, TG_USE_JOB);
}

#define JOBS_AT_ONCE 64 /* leaves room for all their children */

static unsigned
jobs_registered(void)
{
	tg_job_report report;
	unsigned count = 0;

	for (unsigned i = 0; i < TG_JOB_MAX; i++)
		count += tg_job_report_get(i, &report);
	return count;
}

static void pair_start(tg_session *session, uint32_t *completes, unsigned number, tg_job *parent);

static tg_turn
run_pair(tg_task *task, tg_worker *worker)
{
	pair *pair = (struct pair *) task;

	if (pair->has_child)
	{
		pair->has_child = false;
		pair_start(tg_worker_session(worker), pair->completes, pair->parks, task->job);
	}
	return pair->parks && !tg_job_is_cancelled(task->job) ? TG_TURN_PARK : TG_TURN_DONE;
}

/* Number 0: a child that just ends, 1: a child that parks; else a parent. */
static void
pair_start(tg_session *session, uint32_t *completes, unsigned number, tg_job *parent)
{
	pair *pair = take_zeroed(session, sizeof(struct pair));
	tg_job_config config = {.kind = "pair",
							.level = 60,
							.argument = pair,
							.parent = parent,
							.teardown_as_task = number % 5 == 0,
							.cancelled = pair_cancelled,
							.complete = pair_complete};
	bool parks = number % 2;
	tg_job *job;

	if (tg_job_create(session, &config, &job) != TG_OK)
		abort();
	pair->completes = completes;
	pair->parks = parks;
	pair->has_child = !parent && number % 3 != 0;
	tg_task_init(&pair->task, run_pair, job);
	tg_store_relaxed(&id_last, (uint32_t) report_of(job).id);
	if (tg_job_start(session, job, &pair->task) != TG_OK)
		abort();
	if (!parent)
	{
		for (unsigned pause = number * 7 % 300; pause > 0; pause--)
			tg_pause();
		if (parks)
			tg_job_cancel(session, job);
	}
	tg_job_release(session, job);
}

static void
pairs_body(unsigned number, void *argument)
{
	tg_session *session = session_open();

	if (number < STARTERS)
	{
		for (unsigned i = 0; i < JOBS_EACH; i++)
		{
			while (jobs_registered() > JOBS_AT_ONCE)
				usleep(100);
			pair_start(session, argument, 2 + i, NULL);
		}
		tg_fetch_add_acq_rel(&starters_left, (uint32_t) -1);
	}
	else
	{
		for (unsigned i = 0; tg_load_acquire(&starters_left) > 0; i++)
			(void) tg_job_cancel_id(session, tg_load_relaxed(&id_last) - i % 3);
	}
	tg_session_close(session);
}

static bool
no_job_is_left(void)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (jobs_registered() > 0)
	{
		if (tg_clock_us() > end)
			return false;
		sched_yield();
	}
	return true;
}

static void
test_all_at_once(unsigned workers)
{
	uint32_t completes = 0;
	uint32_t wanted = 0;

	for (unsigned i = 0; i < JOBS_EACH; i++)
		wanted += STARTERS * (1 + ((2 + i) % 3 != 0));
	starters_left = STARTERS;
	pool_start(workers);
	unit_threads(STARTERS + 2, pairs_body, &completes);
	unit_ok(no_job_is_left(),
			"%u workers: jobs cancelled by number, by their starters, or not at "
			"all, end",
			workers);
	unit_equal(tg_load_acquire(&completes), wanted, "each of them has completed once");
	unit_ok(pool_stop(), "the pool stops");
}

int
main(void)
{
	server_start();
	test_family();
	test_cancel_family();
	test_cancel_end();
	test_cancel_new();
	test_cancel_id();
	test_stop();
	test_refused();
	test_as_task();
	test_all_at_once(1);
	test_all_at_once(3);
	server_end();
	return unit_done();
}
