/*
 * lane.c
 *	  Lanes: one operation at a time, in order, none stranded.
 *
 * The code itself; lane_model.c covers the arithmetic of its counter.  Operations note which others
 * are inside, under either serializer: with eight submitters, with a lane task that goes on at
 * another worker because its own is occupied in mid-way, and with owners that jump out of an
 * operation as a host's error does.  Sticky queues' own properties are in sticky.c.
 */
#include "runtime/sched/lane.h"

#include <setjmp.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/base/check.h"
#include "runtime/sched/worker.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

/* --- operations that note which others are inside ------------------------------------- */

#define SUBMITTERS 8
#define OPERATIONS 6000
#define LANES 3

typedef struct shared
{
	tg_lane lane TG_CACHE_ALIGNED;
	uint32_t inside; /* the oracle: operations running */
	uint32_t overlaps;
	uint32_t disorder;
	uint64_t ran;			   /* plain: what orders the operations is the lane */
	uint64_t in_place;		   /* plain, likewise */
	uint32_t ended;			   /* as ran, for the threads that wait */
	uint32_t last[SUBMITTERS]; /* plain: the last number of each submitter's */
} shared;

typedef struct numbered
{
	tg_operation operation;
	shared *shared;
	uint32_t submitter;
	uint32_t number;
} numbered;

typedef struct crowd
{
	uint32_t go;
	uint32_t entered;
	shared lanes[LANES];
	numbered operations[SUBMITTERS][OPERATIONS];
} crowd;

static void
run_numbered(shared *shared, uint32_t submitter, uint32_t number)
{
	if (tg_fetch_add_relaxed(&shared->inside, 1) != 0)
		tg_store_relaxed(&shared->overlaps, 1);
	if (number <= shared->last[submitter])
		tg_store_relaxed(&shared->disorder, 1);
	shared->last[submitter] = number;
	shared->ran++;
	tg_fetch_add_relaxed(&shared->inside, (uint32_t) -1);
	tg_fetch_add_acq_rel(&shared->ended, 1);
}

static void
run_operation(tg_operation *operation, tg_session *session)
{
	numbered *numbered = (struct numbered *) operation;

	run_numbered(numbered->shared, numbered->submitter, numbered->number);
}

static void
submit_operations(unsigned submitter, crowd *crowd)
{
	tg_session *session = session_open();
	uint32_t entered = 0;

	for (uint32_t i = 0; i < OPERATIONS; i++)
	{
		numbered *numbered = &crowd->operations[submitter][i];
		shared *shared = &crowd->lanes[i / 16 % LANES];

		numbered->operation.run = run_operation;
		numbered->shared = shared;
		numbered->submitter = submitter;
		numbered->number = i + 1;
		/* In place only when the lane is free: then none of this submitter's own is queued. */
		if (i % 2 && tg_lane_enter(session, &shared->lane))
		{
			run_numbered(shared, submitter, i + 1);
			shared->in_place++;
			entered++;
			tg_lane_leave(session, &shared->lane);
		}
		else if (tg_lane_submit(session, &shared->lane, &numbered->operation) != TG_OK)
			abort();
		for (unsigned pause = i % 100; pause > 0; pause--)
			tg_pause();
	}
	tg_fetch_add_relaxed(&crowd->entered, entered);
	tg_session_close(session);
}

static void
submit_body(unsigned number, void *argument)
{
	submit_operations(number, argument);
}

static crowd *
crowd_new(void)
{
	crowd *crowd = take_zeroed(self, sizeof(struct crowd));

	for (unsigned i = 0; i < LANES; i++)
		tg_lane_init(&crowd->lanes[i].lane);
	return crowd;
}

static bool
crowd_ends(const crowd *crowd)
{
	uint64_t end = tg_clock_us() + SOON_US;

	for (;;)
	{
		uint64_t ended = 0;
		bool free = true;

		for (unsigned i = 0; i < LANES; i++)
		{
			ended += tg_load_acquire(&crowd->lanes[i].ended);
			free = free && tg_lane_is_free(&crowd->lanes[i].lane);
		}
		if (free && ended == SUBMITTERS * OPERATIONS)
			return true;
		if (tg_clock_us() > end)
			return false;
		usleep(100);
	}
}

static void
crowd_judge(crowd *crowd, const char *who)
{
	uint64_t ran = 0;
	uint64_t in_place = 0;
	uint32_t overlaps = 0;
	uint32_t disorder = 0;

	unit_ok(crowd_ends(crowd), "%s: all operations run, and the lanes are free again", who);
	for (unsigned i = 0; i < LANES; i++)
	{
		ran += crowd->lanes[i].ran;
		in_place += crowd->lanes[i].in_place;
		overlaps += crowd->lanes[i].overlaps;
		disorder += crowd->lanes[i].disorder;
	}
	unit_ok(ran == SUBMITTERS * OPERATIONS && overlaps == 0, "%s: one at a time", who);
	unit_ok(disorder == 0, "%s: each submitter's in order", who);
	unit_ok(in_place == crowd->entered, "%s: %" PRIu64 " of them in place", who, in_place);
	unit_ok(pool_stop(), "%s: the pool stops", who);
	tg_free(self, crowd, TG_USE_JOB);
}

static const char *
serializer_set(tg_serializer serializer, unsigned workers)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	settings.serializer = serializer;
	tg_scheduler_settings_set(&settings);
	return serializer == TG_SERIALIZER_LANE ? "lane" : "sticky";
}

static const char *
serial_pool_start(tg_serializer serializer, unsigned workers)
{
	const char *name = serializer_set(serializer, workers);

	if (tg_scheduler_start() != TG_OK)
		abort();
	return name;
}

static uint32_t submitters_left;

/* Submitters, and one that changes the setting meanwhile. */
static void
change_body(unsigned number, void *argument)
{
	if (number < SUBMITTERS)
	{
		submit_operations(number, argument);
		tg_fetch_add_acq_rel(&submitters_left, (uint32_t) -1);
		return;
	}
	for (unsigned i = 0; tg_load_acquire(&submitters_left) > 0; i++)
	{
		serializer_set(i % 2 ? TG_SERIALIZER_LANE : TG_SERIALIZER_STICKY, 2);
		usleep(100);
	}
}

static void
test_threads(tg_serializer serializer, unsigned workers)
{
	crowd *crowd = crowd_new();
	char who[40];

	snprintf(who, sizeof(who), "%s, threads, %u workers", serial_pool_start(serializer, workers), workers);
	unit_threads(SUBMITTERS, submit_body, crowd);
	crowd_judge(crowd, who);
}

/* The setting changes while operations are outstanding: they stay in one row. */
static void
test_change(void)
{
	crowd *crowd = crowd_new();

	submitters_left = SUBMITTERS;
	serial_pool_start(TG_SERIALIZER_LANE, 2);
	unit_threads(SUBMITTERS + 1, change_body, crowd);
	crowd_judge(crowd, "serializer changing");
}

static void __attribute__((unused)) test_processes(void)
{
	crowd *crowd = crowd_new();
	pid_t children[SUBMITTERS];

	for (unsigned i = 0; i < SUBMITTERS; i++)
	{
		children[i] = fork();
		if (children[i] == 0)
		{
			while (!tg_load_acquire(&crowd->go))
				usleep(1000);
			submit_operations(i, crowd);
			_exit(0);
		}
	}
	serial_pool_start(TG_SERIALIZER_LANE, 2);
	tg_store_release(&crowd->go, 1);
	for (unsigned i = 0; i < SUBMITTERS; i++)
	{
		int status;

		if (waitpid(children[i], &status, 0) != children[i] || status != 0)
			abort();
	}
	crowd_judge(crowd, "processes");
}

/* --- with and without a pool --------------------------------------------------------------- */

static void
test_stopped(tg_serializer serializer)
{
	shared *shared = take_zeroed(self, sizeof(struct shared));
	numbered *waiting = take_zeroed(self, sizeof(numbered));

	tg_lane_init(&shared->lane);
	*waiting = (numbered){.operation.run = run_operation, .shared = shared, .number = 2};
	unit_ok(tg_lane_submit(self, &shared->lane, &waiting->operation) == TG_STOPPED && tg_lane_is_free(&shared->lane),
			"without a pool nothing is queued");
	unit_ok(tg_lane_enter(self, &shared->lane), "a free lane can be entered without one");
	unit_ok(!tg_lane_enter(self, &shared->lane), "once");
	tg_lane_leave(self, &shared->lane);
	unit_ok(tg_lane_is_free(&shared->lane), "and is free again");

	/* The pool stops while an operation waits behind one in place: the leaving session runs it. */
	serial_pool_start(serializer, 1);
	if (!tg_lane_enter(self, &shared->lane) || tg_lane_submit(self, &shared->lane, &waiting->operation) != TG_OK)
		abort();
	unit_ok(pool_stop() && shared->ran == 0, "an operation waits when the pool stops");
	run_numbered(shared, 0, 1);
	tg_lane_leave(self, &shared->lane);
	unit_ok(shared->ran == 2 && tg_lane_is_free(&shared->lane) && !shared->disorder,
			"the session that leaves the lane runs it");
	tg_free(self, shared, TG_USE_JOB);
	tg_free(self, waiting, TG_USE_JOB);
}

static void
test_stop_race_body(unsigned number, void *argument)
{
	crowd *crowd = argument;

	if (number < SUBMITTERS)
	{
		tg_session *session = session_open();
		shared *shared = &crowd->lanes[0];

		for (uint32_t i = 0; i < OPERATIONS; i++)
		{
			numbered *numbered = &crowd->operations[number][i];

			*numbered = (struct numbered){
				.operation.run = run_operation, .shared = shared, .submitter = number, .number = i + 1};
			if (tg_lane_submit(session, &shared->lane, &numbered->operation) == TG_OK)
				tg_fetch_add_relaxed(&crowd->entered, 1);
		}
		tg_session_close(session);
	}
	else
	{
		usleep(500);
		tg_check(pool_stop());
	}
}

static void
test_stop_race(tg_serializer serializer)
{
	bool right = true;

	for (unsigned round = 0; round < 10; round++)
	{
		crowd *crowd = crowd_new();

		serial_pool_start(serializer, 2);
		unit_threads(SUBMITTERS + 1, test_stop_race_body, crowd);
		right = right && crowd->lanes[0].ran == crowd->entered && tg_lane_is_free(&crowd->lanes[0].lane) &&
				!crowd->lanes[0].overlaps && !crowd->lanes[0].disorder;
		tg_free(self, crowd, TG_USE_JOB);
	}
	unit_ok(right, "operations accepted while the pool stopped have run, by the "
				   "pool or in place");
}

/* --- a lane that goes on elsewhere ----------------------------------------------------------- */

#define SPLIT_OPERATIONS 8

typedef struct split
{
	tg_lane lane;
	tg_task blocker; /* occupies the first worker */
	uint32_t blocking;
	uint32_t ended;
	uint32_t inside;
	bool overlaps;
	bool disorder;
	unsigned first_count;  /* operations that the first worker's session ran ... */
	unsigned second_count; /* ... and those of another */
	unsigned first_after;  /* operations that it ran once occupied */
	tg_session *first;
	tg_operation operations[SPLIT_OPERATIONS];
} split;

static split *splitting;

static tg_turn
run_blocker(tg_task *task, tg_worker *worker)
{
	tg_store_release(&splitting->blocking, 1);
	tg_check(comes_true(&splitting->ended, SPLIT_OPERATIONS));
	return TG_TURN_DONE;
}

static uint32_t
worker_of(const tg_session *session)
{
	uint32_t i = 0;

	while (tg_scheduler_shared->workers[i].session != session)
		i++;
	return i;
}

/* The third operation sees to it that its worker has something else to do when the turn is over. */
static void
run_split(tg_operation *operation, tg_session *session)
{
	split *split = splitting;
	uint32_t number = (uint32_t) (operation - split->operations);

	split->overlaps |= tg_fetch_add_relaxed(&split->inside, 1) != 0;
	split->disorder |= number != split->ended;
	if (!split->first)
		split->first = session;
	split->first_count += session == split->first;
	split->second_count += session != split->first;
	split->first_after += session == split->first && number > 3;
	if (number == 2 && tg_task_submit_sticky(session, worker_of(session), &split->blocker) != TG_OK)
		abort();
	tg_fetch_add_relaxed(&split->inside, (uint32_t) -1);
	tg_fetch_add_acq_rel(&split->ended, 1);
}

static void
test_elsewhere(void)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(2);
	split *split = splitting = take_zeroed(self, sizeof(*split));

	settings.lane_turn = 4;
	settings.local_first_permille = 0;
	tg_scheduler_settings_set(&settings);
	if (tg_scheduler_start() != TG_OK)
		abort();
	tg_lane_init(&split->lane);
	tg_task_init(&split->blocker, run_blocker, NULL);
	/* In the lane while all are submitted: so the first turn finds all of them. */
	if (!tg_lane_enter(self, &split->lane))
		abort();
	for (unsigned i = 0; i < SPLIT_OPERATIONS; i++)
	{
		split->operations[i].run = run_split;
		if (tg_lane_submit(self, &split->lane, &split->operations[i]) != TG_OK)
			abort();
	}
	tg_lane_leave(self, &split->lane);
	unit_ok(comes_true(&split->ended, SPLIT_OPERATIONS), "a lane whose worker is occupied in mid-way goes on");
	unit_ok(split->blocking == 1 && split->first_count == 4 && split->second_count == 4 && split->first_after == 0,
			"at another worker, from the second turn on");
	unit_ok(!split->overlaps && !split->disorder, "one at a time, and in order");
	unit_ok(pool_stop() && tg_lane_is_free(&split->lane), "the pool stops");
	tg_free(self, split, TG_USE_JOB);
}

/* --- an owner that does not come back ----------------------------------------------- */

static jmp_buf out;

static void
run_jump(tg_operation *operation, tg_session *session)
{
	numbered *numbered = (struct numbered *) operation;

	run_numbered(numbered->shared, numbered->submitter, numbered->number);
	tg_epoch_enter(session);
	longjmp(out, 1);
}

static numbered *
numbered_new(shared *shared, uint32_t count)
{
	numbered *all = take_zeroed(self, count * sizeof(numbered));

	for (uint32_t i = 0; i < count; i++)
		all[i] = (numbered){.operation.run = run_operation, .shared = shared, .number = i + 1};
	return all;
}

/* In place: the operation is entered, others are queued behind it, and it jumps out. */
static void
abandon_in_place(shared *shared, numbered *all, unsigned queued)
{
	if (setjmp(out) == 0)
	{
		if (!tg_lane_enter(self, &shared->lane))
			abort();
		for (unsigned i = 1; i <= queued; i++)
			tg_check(tg_lane_submit(self, &shared->lane, &all[i].operation) == TG_OK);
		run_jump(&all[0].operation, self);
	}
	tg_lane_abandon(self);
}

static void
test_abandon(tg_serializer serializer)
{
	shared *shared = take_zeroed(self, sizeof(struct shared));
	numbered *all = numbered_new(shared, 8);
	const char *name = serial_pool_start(serializer, 2);

	tg_lane_init(&shared->lane);
	tg_lane_abandon(self);
	unit_ok(tg_lane_is_free(&shared->lane), "%s: a session in no lane abandons none", name);
	abandon_in_place(shared, all, 0);
	unit_ok(tg_lane_is_free(&shared->lane) && shared->ran == 1 && !tg_epoch_inside(self),
			"%s: an owner in place that does not come back gives the lane back", name);
	unit_ok(tg_lane_enter(self, &shared->lane), "%s: it can be entered", name);
	tg_lane_leave(self, &shared->lane);

	memset(shared, 0, sizeof(*shared));
	tg_lane_init(&shared->lane);
	abandon_in_place(shared, all, 7);
	unit_ok(comes_true(&shared->ended, 8) && !shared->overlaps && !shared->disorder,
			"%s: the operations queued behind it run", name);
	unit_ok(pool_stop() && tg_lane_is_free(&shared->lane), "%s: the lane is free", name);
	tg_free(self, all, TG_USE_JOB);
	tg_free(self, shared, TG_USE_JOB);
}

/* The pool has stopped; a leave runs the queue, and the third operation of that turn jumps out. */
static void
test_abandon_turn(void)
{
	shared *shared = take_zeroed(self, sizeof(struct shared));
	numbered *all = numbered_new(shared, 6);
	volatile unsigned jumps = 0; /* across longjmp */

	tg_lane_init(&shared->lane);
	all[2].operation.run = run_jump;
	all[4].operation.run = run_jump;
	serial_pool_start(TG_SERIALIZER_LANE, 1);
	if (!tg_lane_enter(self, &shared->lane))
		abort();
	for (unsigned i = 0; i < 6; i++)
		tg_check(tg_lane_submit(self, &shared->lane, &all[i].operation) == TG_OK);
	unit_ok(pool_stop(), "the pool stops beside a lane that is entered");
	if (setjmp(out) == 0)
		tg_lane_leave(self, &shared->lane);
	else if ((jumps = jumps + 1) < 8)
		tg_lane_abandon(self);
	unit_equal(jumps, 2, "two operations of turns in place do not come back");
	unit_ok(shared->ran == 6 && !shared->disorder && tg_lane_is_free(&shared->lane),
			"each operation has run once, in order, and the lane is free");
	tg_free(self, all, TG_USE_JOB);
	tg_free(self, shared, TG_USE_JOB);
}

static void
test_abandon_nested(void)
{
	tg_lane *lanes = take_zeroed(self, 2 * sizeof(tg_lane));

	tg_lane_init(&lanes[0]);
	tg_lane_init(&lanes[1]);
	unit_ok(tg_lane_enter(self, &lanes[0]) && tg_lane_enter(self, &lanes[1]), "a session enters a lane within another");
	tg_lane_leave(self, &lanes[1]);
	unit_ok(tg_lane_is_free(&lanes[1]) && !tg_lane_is_free(&lanes[0]), "leaves the inner one");
	tg_check(tg_lane_enter(self, &lanes[1]));
	tg_lane_abandon(self);
	unit_ok(tg_lane_is_free(&lanes[0]) && tg_lane_is_free(&lanes[1]), "and abandons both");
	tg_free(self, lanes, TG_USE_JOB);
}

/* --- a lane that stands still ------------------------------------------------------- */

static void
test_still(void)
{
	tg_lane lane;
	uint64_t hang_us;

	settings_set(1, SUSPEND_LONG_MS, 100);
	hang_us = 100 * 1000;
	tg_lane_init(&lane);
	unit_ok(!tg_lane_stands_still(&lane, 1000) && !tg_lane_stands_still(&lane, 10 * hang_us), "a free lane rests");
	tg_check(tg_lane_enter(self, &lane));
	unit_ok(!tg_lane_stands_still(&lane, 20 * hang_us) && !tg_lane_stands_still(&lane, 21 * hang_us - 1),
			"one that is entered may take its time");
	unit_ok(tg_lane_stands_still(&lane, 21 * hang_us), "up to the limit");
	unit_ok(!tg_lane_stands_still(&lane, 30 * hang_us), "it is reported once");
	tg_lane_leave(self, &lane);
	tg_check(tg_lane_enter(self, &lane));
	unit_ok(!tg_lane_stands_still(&lane, 31 * hang_us), "and goes on with the next operation");
	unit_ok(tg_lane_stands_still(&lane, 32 * hang_us), "and this one may stand still, too");
	tg_lane_leave(self, &lane);
	settings_set(1, SUSPEND_LONG_MS, 0);
	tg_check(tg_lane_enter(self, &lane));
	unit_ok(!tg_lane_stands_still(&lane, 40 * hang_us) && !tg_lane_stands_still(&lane, 99 * hang_us),
			"without a limit nothing is reported");
	tg_lane_leave(self, &lane);
}

int
main(void)
{
	server_start();
#ifndef __SANITIZE_THREAD__ /* it does not see what other processes put in \ order */
	test_processes();
#endif
	for (tg_serializer serializer = TG_SERIALIZER_LANE; serializer <= TG_SERIALIZER_STICKY; serializer++)
	{
		test_threads(serializer, 1);
		test_threads(serializer, 3);
		test_stopped(serializer);
		test_stop_race(serializer);
		test_abandon(serializer);
	}
	test_change();
	test_elsewhere();
	test_abandon_turn();
	test_abandon_nested();
	test_still();
	server_end();
	return unit_done();
}
