/*
 * worker.c
 *	  The workers: every submitted task runs, once and soon, from any state.
 *
 * Tasks come from other threads and other processes, from tasks, and by unpark,
 * to pools that are busy, idle or about to sleep.  Each test counts runs.
 * Suspensions are made longer than any test may take, so a lost wake-up shows
 * as a test that does not end in time.
 */
#include "runtime/sched/scheduler.h"

#include <string.h>
#include <sys/wait.h>

#include "runtime/base/check.h"
#include "runtime/sched/lane.h"
#include "runtime/sched/worker.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

static unsigned
runs_other_than_one(const counting *tasks, unsigned count)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < count; i++)
		wrong += tasks[i].runs != 1;
	return wrong;
}

/* --- submitters ----------------------------------------------------------------- */

#define SUBMITTERS 4
#define SUBMISSIONS 20000

typedef struct crowd
{
	uint32_t go;
	uint32_t total;
	uint32_t refused;
	counting tasks[SUBMITTERS][SUBMISSIONS];
} crowd;

static void
crowd_submit(unsigned number, crowd *crowd)
{
	tg_session *session = session_open();

	for (unsigned i = 0; i < SUBMISSIONS; i++)
	{
		if (tg_task_submit(session, NULL, &crowd->tasks[number][i].task) != TG_OK)
			tg_fetch_add_relaxed(&crowd->refused, 1);
		if (i % 1000 == 999)
			usleep(200); /* lets the pool fall asleep now and then */
	}
	tg_session_close(session);
}

static void
crowd_thread(unsigned number, void *argument)
{
	crowd_submit(number, argument);
}

static crowd *
crowd_new(void)
{
	crowd *crowd = take_zeroed(self, sizeof(struct crowd));

	for (unsigned i = 0; i < SUBMITTERS; i++)
	{
		for (unsigned j = 0; j < SUBMISSIONS; j++)
			counting_init(&crowd->tasks[i][j], &crowd->total);
	}
	return crowd;
}

static void
crowd_judge(crowd *crowd, const char *who)
{
	unit_ok(comes_true(&crowd->total, SUBMITTERS * SUBMISSIONS) && crowd->refused == 0, "%s: all tasks run", who);
	unit_equal(runs_other_than_one(&crowd->tasks[0][0], SUBMITTERS * SUBMISSIONS), 0, "%s: each of them once", who);
	tg_free(self, crowd, TG_USE_JOB);
}

static void
test_threads(unsigned workers, bool stealing)
{
	crowd *crowd = crowd_new();
	char who[80];

	pool_start(workers);
	if (!stealing)
	{
		tg_scheduler_settings settings = tg_settings_live;

		settings.stealing = false;
		tg_scheduler_settings_set(&settings);
	}
	unit_threads(SUBMITTERS, crowd_thread, crowd);
	snprintf(who, sizeof(who), "threads to %u workers%s", workers, stealing ? "" : " that do not steal");
	crowd_judge(crowd, who);
	unit_ok(pool_stop(), "%s: the pool stops", who);
}

/* Children are forked before the pool has threads, as backends are forked by the postmaster. */
static void
test_processes(void)
{
	crowd *crowd = crowd_new();
	pid_t children[SUBMITTERS];
	bool ended = true;

	for (unsigned i = 0; i < SUBMITTERS; i++)
	{
		children[i] = fork();
		if (children[i] == 0)
		{
			while (!tg_load_acquire(&crowd->go))
				usleep(1000);
			crowd_submit(i, crowd);
			_exit(0);
		}
	}
	pool_start(3);
	tg_store_release(&crowd->go, 1);
	for (unsigned i = 0; i < SUBMITTERS; i++)
	{
		int status;

		ended = ended && waitpid(children[i], &status, 0) == children[i] && status == 0;
	}
	unit_ok(ended, "processes: all end");
	crowd_judge(crowd, "processes");
	unit_ok(pool_stop(), "processes: the pool stops");
}

/* --- ping-pong: no wake-up is lost ----------------------------------------------- */

/* Meets each phase of going to sleep, and now and then a pool asleep. */
static void
wait_somewhat(unsigned round)
{
	if (round % 256 == 0)
		(void) pool_sleeps_soon();
	else
	{
		for (unsigned pause = round * 37 % 1499; pause > 0; pause--)
			tg_pause();
	}
}

/* One task at a time, submitted when the workers are about to sleep or asleep. */
static void
test_ping_pong(unsigned workers, unsigned rounds)
{
	counting *ball = take_zeroed(self, sizeof(counting));
	uint32_t *total = take_zeroed(self, sizeof(uint32_t));
	uint64_t us = 0;
	bool answered = true;

	pool_start(workers);
	for (unsigned i = 0; answered && i < rounds; i++)
	{
		counting_init(ball, total);
		wait_somewhat(i);
		us -= tg_clock_us();
		answered = tg_task_submit(self, NULL, &ball->task) == TG_OK && comes_true(total, i + 1);
		us += tg_clock_us();
	}
	unit_ok(answered, "ping-pong with %u workers: %u submissions, each answered", workers, rounds);
	printf("# %.2f us there and back\n", (double) us / rounds);
	unit_ok(pool_stop(), "ping-pong with %u workers: the pool stops", workers);
	tg_free(self, ball, TG_USE_JOB);
	tg_free(self, total, TG_USE_JOB);
}

/*
 * A task goes on until another one has run, which only another worker can
 * take: its child, pushed onto its own deque, or one submitted just after it,
 * when its worker is still searching and the submitter sees no need to wake.
 */
typedef struct parent
{
	tg_task task;
	counting other;
	bool pushes; /* it submits the other one itself */
	bool answered;
	uint32_t *total;
	uint32_t *expected;
	uint32_t ended;
} parent;

static tg_turn
run_parent(tg_task *task, tg_worker *worker)
{
	parent *parent = (struct parent *) task;

	if (parent->pushes)
		tg_check(tg_task_submit(tg_worker_session(worker), worker, &parent->other.task) == TG_OK);
	parent->answered = comes_true(parent->total, *parent->expected);
	tg_store_release(&parent->ended, 1);
	return TG_TURN_DONE;
}

static void
test_pairs(bool pushes, unsigned rounds)
{
	parent *parent = take_zeroed(self, sizeof(struct parent));
	uint32_t total = 0;
	uint32_t expected = 0;
	bool answered = true;

	pool_start(2);
	parent->total = &total;
	parent->expected = &expected;
	parent->pushes = pushes;
	for (unsigned i = 0; answered && i < rounds; i++)
	{
		tg_task_init(&parent->task, run_parent, NULL);
		counting_init(&parent->other, &total);
		expected = i + 1;
		tg_store_relaxed(&parent->ended, 0);
		wait_somewhat(i);
		answered = tg_task_submit(self, NULL, &parent->task) == TG_OK;
		if (!pushes)
		{
			for (unsigned pause = i * 7 % 499; pause > 0; pause--)
				tg_pause();
			answered = answered && tg_task_submit(self, NULL, &parent->other.task) == TG_OK;
		}
		answered = answered && comes_true(&parent->ended, 1) && parent->answered;
	}
	unit_ok(answered, "a task %s a busy one is taken by another worker, %u times", pushes ? "pushed by" : "beside",
			rounds);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, parent, TG_USE_JOB);
}

/* --- fork and join ------------------------------------------------------------------ */

typedef struct fib
{
	tg_task task;
	struct fib *parent;
	uint32_t n;
	uint32_t waits_for;
	uint64_t result; /* relaxed adds of the children */
} fib;

static uint32_t fib_ended; /* the root has its result */
static uint64_t fib_result;

static tg_turn run_fib(tg_task *task, tg_worker *worker);

static fib *
fib_new(tg_session *session, fib *parent, uint32_t n)
{
	fib *frame = tg_alloc(session, sizeof(fib), TG_USE_JOB, TG_DATA);

	tg_check(frame);
	*frame = (fib){.parent = parent, .n = n, .waits_for = 2};
	tg_task_init(&frame->task, run_fib, NULL);
	return frame;
}

static void
fib_return(tg_session *session, fib *frame, uint64_t result)
{
	for (;;)
	{
		fib *parent = frame->parent;

		tg_free(session, frame, TG_USE_JOB);
		if (!parent)
		{
			fib_result = result;
			tg_store_release(&fib_ended, 1);
			return;
		}
		tg_fetch_add_relaxed(&parent->result, result);
		if (tg_fetch_add_acq_rel(&parent->waits_for, (uint32_t) -1) != 1)
			return;
		frame = parent;
		result = tg_load_relaxed(&frame->result);
	}
}

static tg_turn
run_fib(tg_task *task, tg_worker *worker)
{
	fib *frame = (fib *) task;
	tg_session *session = tg_worker_session(worker);
	uint32_t n = frame->n;

	if (n < 2)
		fib_return(session, frame, n);
	else
	{
		tg_check(tg_task_submit(session, worker, &fib_new(session, frame, n - 1)->task) == TG_OK);
		tg_check(tg_task_submit(session, worker, &fib_new(session, frame, n - 2)->task) == TG_OK);
	}
	return TG_TURN_DONE;
}

static void
test_fib(unsigned workers, uint32_t n, uint64_t expected, unsigned tasks)
{
	uint64_t begin;

	pool_start(workers);
	fib_ended = 0;
	begin = tg_clock_us();
	if (tg_task_submit(self, NULL, &fib_new(self, NULL, n)->task) != TG_OK)
		abort();
	unit_ok(comes_true(&fib_ended, 1) && fib_result == expected, "fib(%u) on %u workers", n, workers);
	printf("# %.1f ns per task\n", (double) (tg_clock_us() - begin) * 1000 / tasks);
	unit_ok(pool_stop(), "fib on %u workers: the pool stops", workers);
}

/* --- coming again ------------------------------------------------------------ */

typedef struct again
{
	tg_task task;
	uint32_t turns;
	uint32_t turn_max;
	uint32_t ended;
} again;

static tg_turn
run_again(tg_task *task, tg_worker *worker)
{
	again *again = (struct again *) task;

	if (tg_fetch_add_relaxed(&again->turns, 1) + 1 < tg_load_relaxed(&again->turn_max))
		return TG_TURN_AGAIN;
	tg_store_release(&again->ended, 1);
	return TG_TURN_DONE;
}

/* A child of itself for ever: its deque is never empty. */
static tg_turn
run_spawning(tg_task *task, tg_worker *worker)
{
	again *again = (struct again *) task;

	if (tg_load_acquire(&again->turn_max) != 0)
	{
		tg_check(tg_task_submit(tg_worker_session(worker), worker, task) == TG_OK);
		return TG_TURN_DONE;
	}
	tg_store_release(&again->ended, 1);
	return TG_TURN_DONE;
}

/*
 * Two tasks keep one worker busy for ever; others are submitted together with them, and after them.
 */
static void
test_fairness(void)
{
	again *forever = take_zeroed(self, sizeof(again));
	again *spawning = take_zeroed(self, sizeof(again));
	counting *others = take_zeroed(self, sizeof(counting) * 3);
	uint32_t total = 0;

	pool_start(1);
	forever->turn_max = UINT32_MAX;
	spawning->turn_max = 1;
	tg_task_init(&forever->task, run_again, NULL);
	tg_task_init(&spawning->task, run_spawning, NULL);
	for (unsigned i = 0; i < 3; i++)
		counting_init(&others[i], &total);
	if (tg_task_submit(self, NULL, &forever->task) != TG_OK || tg_task_submit(self, NULL, &spawning->task) != TG_OK ||
		tg_task_submit(self, NULL, &others[0].task) != TG_OK || tg_task_submit(self, NULL, &others[1].task) != TG_OK)
		abort();
	unit_ok(comes_true(&total, 2),
			"one worker, one task that comes again and one that spawns, for ever: those beside them run");
	if (tg_task_submit(self, NULL, &others[2].task) != TG_OK)
		abort();
	unit_ok(comes_true(&total, 3), "and one that comes later");
	unit_ok(tg_load_relaxed(&forever->turns) > 1, "and the one that comes again gets its turns");
	tg_store_relaxed(&forever->turn_max, 0);
	tg_store_release(&spawning->turn_max, 0);
	unit_ok(comes_true(&forever->ended, 1) && comes_true(&spawning->ended, 1), "both end when told");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, forever, TG_USE_JOB);
	tg_free(self, spawning, TG_USE_JOB);
	tg_free(self, others, TG_USE_JOB);
}

/* --- nothing starves ---------------------------------------------------------- */

/* A lane whose operations submit themselves again: never empty. */
typedef struct refilled
{
	tg_operation operation;
	tg_lane lane;
	uint32_t runs;
	uint32_t may_end;
	uint32_t ended;
} refilled;

static void
run_operation(tg_operation *operation, tg_session *session)
{
	refilled *refilled = (struct refilled *) operation;

	tg_fetch_add_relaxed(&refilled->runs, 1);
	if (tg_load_acquire(&refilled->may_end))
		tg_store_release(&refilled->ended, 1);
	else
		tg_check(tg_lane_submit(session, &refilled->lane, operation) == TG_OK);
}

/* Writes down how many tasks its worker has begun. */
typedef struct stamped
{
	tg_task task;
	uint64_t when;
	uint32_t ended;
} stamped;

static tg_turn
run_stamped(tg_task *task, tg_worker *worker)
{
	stamped *stamped = (struct stamped *) task;

	stamped->when = tg_load_relaxed(&worker->tasks_run);
	tg_store_release(&stamped->ended, 1);
	return TG_TURN_DONE;
}

/* tasks that begin before a waiting one; 16 * 61 rounds, several of these wait */
#define TASKS_WAITED_MAX 8000

static bool
runs_in_turn(unsigned how)
{
	stamped *stamped = take_zeroed(self, sizeof(struct stamped));
	uint64_t before = tg_load_relaxed(&tg_scheduler_shared->workers[0].tasks_run);
	tg_status status;
	bool good;

	tg_task_init(&stamped->task, run_stamped, NULL);
	if (how == 0)
		status = tg_task_submit(self, NULL, &stamped->task);
	else if (how == 1)
		status = tg_task_submit_urgent(self, &stamped->task);
	else
		status = tg_task_submit_sticky(self, 0, &stamped->task);
	good = status == TG_OK && comes_true(&stamped->ended, 1);
	/* a preemption between the submitter's look and its submission may spoil a few attempts */
	good = good && stamped->when - before < TASKS_WAITED_MAX;
	tg_free(self, stamped, TG_USE_JOB);
	return good;
}

/* All that can go on without end, at once, on one worker. */
static void
test_starving(unsigned local_first_permille)
{
	static const char *const names[] = {"a task", "an urgent one", "a sticky one"};
	again *yielding = take_zeroed(self, sizeof(again) * 3);
	again *spawning = &yielding[1];
	again *sticky = &yielding[2];
	refilled *refilled = take_zeroed(self, sizeof(struct refilled));
	tg_scheduler_settings settings;

	pool_start(1);
	settings = tg_settings_live;
	settings.local_first_permille = local_first_permille;
	tg_scheduler_settings_set(&settings);
	yielding->turn_max = spawning->turn_max = sticky->turn_max = UINT32_MAX;
	tg_task_init(&yielding->task, run_again, NULL);
	tg_task_init(&spawning->task, run_spawning, NULL);
	tg_task_init(&sticky->task, run_again, NULL);
	tg_lane_init(&refilled->lane);
	refilled->operation.run = run_operation;
	if (tg_task_submit(self, NULL, &yielding->task) != TG_OK || tg_task_submit(self, NULL, &spawning->task) != TG_OK ||
		tg_task_submit_sticky(self, 0, &sticky->task) != TG_OK ||
		tg_lane_submit(self, &refilled->lane, &refilled->operation) != TG_OK)
		abort();
	for (unsigned how = 0; how < 3; how++)
	{
		bool good = false;

		for (unsigned attempt = 0; !good && attempt < 20; attempt++)
			good = runs_in_turn(how);
		unit_ok(good, "beside tasks that yield, spawn, stick and lane operations without end %s has its turn, share %u",
				names[how], local_first_permille);
	}
	tg_store_relaxed(&yielding->turn_max, 0);
	tg_store_relaxed(&sticky->turn_max, 0);
	tg_store_release(&spawning->turn_max, 0);
	tg_store_release(&refilled->may_end, 1);
	unit_ok(comes_true(&yielding->ended, 1) && comes_true(&sticky->ended, 1) && comes_true(&spawning->ended, 1) &&
				comes_true(&refilled->ended, 1),
			"each of these has its turns, and ends when told");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, yielding, TG_USE_JOB);
	tg_free(self, refilled, TG_USE_JOB);
}

/* --- the sticky queue's share ------------------------------------------------------ */

#define SHARED 1000

typedef struct sharing
{
	tg_task task;
	struct share *share;
} sharing;

typedef struct share
{
	tg_task task;
	uint32_t local; /* of the first SHARED tasks; the one worker's */
	uint32_t begun;
	uint32_t ended;
	sharing own[SHARED];
	sharing sticky[SHARED];
} share;

static tg_turn
run_sharing(tg_task *task, tg_worker *worker)
{
	share *share = ((sharing *) task)->share;

	if (share->begun++ < SHARED && task->home == 0)
		share->local++;
	if (share->begun == 2 * SHARED)
		tg_store_release(&share->ended, 1);
	return TG_TURN_DONE;
}

static tg_turn
run_share(tg_task *task, tg_worker *worker)
{
	share *share = (struct share *) task;
	tg_session *session = tg_worker_session(worker);

	for (unsigned i = 0; i < SHARED; i++)
	{
		share->own[i].share = share->sticky[i].share = share;
		tg_task_init(&share->own[i].task, run_sharing, NULL);
		tg_task_init(&share->sticky[i].task, run_sharing, NULL);
		tg_check(tg_task_submit(session, worker, &share->own[i].task) == TG_OK);
		tg_check(tg_task_submit_sticky(session, worker->id, &share->sticky[i].task) == TG_OK);
	}
	return TG_TURN_DONE;
}

static void
test_share(unsigned permille)
{
	share *share = take_zeroed(self, sizeof(struct share));
	tg_scheduler_settings settings;

	pool_start(1);
	settings = tg_settings_live;
	settings.local_first_permille = permille;
	tg_scheduler_settings_set(&settings);
	tg_task_init(&share->task, run_share, NULL);
	if (tg_task_submit(self, NULL, &share->task) != TG_OK)
		abort();
	unit_ok(comes_true(&share->ended, 1), "tasks of the deque and the sticky queue run");
	unit_ok(share->local + 40 > permille && share->local < permille + 40,
			"of 1000 %u are the deque's, at a share of %u permille", share->local, permille);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, share, TG_USE_JOB);
}

/* --- parking -------------------------------------------------------------------------- */

/*
 * A consumer parks whenever there is nothing to consume; producers add and
 * unpark.  Every unit must be consumed, and no two runs may overlap.
 */
typedef struct consumer
{
	tg_task task;
	uint32_t produced;
	uint32_t consumed;
	uint32_t running;
	uint32_t overlaps;
	uint32_t parks;
	uint32_t expected;
	uint32_t ended;
} consumer;

static tg_turn
run_consumer(tg_task *task, tg_worker *worker)
{
	consumer *consumer = (struct consumer *) task;
	uint32_t produced;
	tg_turn turn = TG_TURN_PARK;

	if (tg_fetch_add_acq_rel(&consumer->running, 1) != 0)
		tg_store_relaxed(&consumer->overlaps, 1);
	produced = tg_load_relaxed(&consumer->produced); /* ordered by the unpark alone */
	tg_store_relaxed(&consumer->consumed, produced);
	consumer->parks++;
	if (produced == consumer->expected)
		turn = TG_TURN_DONE;
	if (tg_fetch_add_acq_rel(&consumer->running, (uint32_t) -1) != 1)
		tg_store_relaxed(&consumer->overlaps, 1);
	if (turn == TG_TURN_DONE)
		tg_store_release(&consumer->ended, 1);
	return turn;
}

#define PRODUCERS 3
#define PRODUCTIONS 30000

static void
produce(unsigned number, void *argument)
{
	consumer *consumer = argument;
	tg_session *session = session_open();

	for (unsigned i = 0; i < PRODUCTIONS; i++)
	{
		tg_fetch_add_relaxed(&consumer->produced, 1);
		tg_task_unpark(session, &consumer->task);
		for (unsigned pause = i % 128; pause > 0; pause--)
			tg_pause();
	}
	tg_session_close(session);
}

static void
test_unpark(void)
{
	consumer *consumer = take_zeroed(self, sizeof(struct consumer));

	pool_start(2);
	consumer->expected = PRODUCERS * PRODUCTIONS;
	tg_task_init(&consumer->task, run_consumer, NULL);
	if (tg_task_submit(self, NULL, &consumer->task) != TG_OK)
		abort();
	unit_threads(PRODUCERS, produce, consumer);
	unit_ok(comes_true(&consumer->ended, 1), "a task that parks sees all that was done before its unparks");
	unit_ok(!consumer->overlaps, "and never runs twice at once (%u runs)", consumer->parks);
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, consumer, TG_USE_JOB);
}

/* --- more than a deque holds ----------------------------------------------------------- */

#define MANY (TG_DEQUE_CAPACITY_MAX + 5000)

typedef struct many
{
	tg_task task;
	uint32_t total;
	counting children[MANY];
} many;

static tg_turn
run_many(tg_task *task, tg_worker *worker)
{
	many *many = (struct many *) task;

	for (unsigned i = 0; i < MANY; i++)
		tg_check(tg_task_submit(tg_worker_session(worker), worker, &many->children[i].task) == TG_OK);
	return TG_TURN_DONE;
}

static void
test_overflow(void)
{
	many *many = take_zeroed(self, sizeof(struct many));

	pool_start(1);
	for (unsigned i = 0; i < MANY; i++)
		counting_init(&many->children[i], &many->total);
	tg_task_init(&many->task, run_many, NULL);
	if (tg_task_submit(self, NULL, &many->task) != TG_OK)
		abort();
	unit_ok(comes_true(&many->total, MANY), "more children than a deque holds: all run");
	unit_equal(runs_other_than_one(many->children, MANY), 0, "each of them once");
	unit_ok(pool_stop(), "the pool stops");
	tg_free(self, many, TG_USE_JOB);
}

int
main(void)
{
	server_start();
	test_processes();
	test_threads(1, true);
	test_threads(2, true);
	test_threads(4, true);
	test_threads(3, false);
	test_ping_pong(1, 10000);
	test_ping_pong(3, 20000);
	test_pairs(true, 10000);
	test_pairs(false, 10000);
	test_fib(1, 22, 17711, 57313);
	test_fib(2, 22, 17711, 57313);
	test_fib(4, 20, 6765, 21891);
	test_fairness();
	test_starving(100);
	test_starving(0);
	test_starving(1000);
	test_share(0);
	test_share(100);
	test_share(500);
	test_share(1000);
	test_unpark();
	test_overflow();
	server_end();
	return unit_done();
}
