/*
 * lane.c
 *	  Lanes: one operation at a time, in order, none stranded.
 *
 * First the arithmetic of the counter, in all interleavings of a model of the
 * steps that lane.c makes (submitters, one that enters, lane tasks); a model
 * whose submitters push before they count must show an operation overtaken, and one
 * whose leave forgets the others a stranded one.  Then the code itself, with
 * operations that note who else is inside.
 */
#include "runtime/sched/lane.h"

#include <string.h>
#include <sys/wait.h>

#include "runtime/base/check.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

/* --- a model of the arithmetic ----------------------------------------------------- */

/*
 * Actors take one atomic step at a time, in every order.  A submitter counts,
 * swaps itself into the queue, links (until then what is behind it is out of
 * reach), and schedules the lane task if it counted from 0.  An enterer counts
 * from 0, runs in place, leaves.  A lane task reads the counter, takes so many,
 * subtracts.  Queue positions stand for operations.
 */
#define MODEL_SUBMITTERS 3
#define MODEL_ENTERERS 1
#define MODEL_TASKS 2 /* more than one is a fault, but the model must be able to show it */
#define MODEL_TURN 2

typedef struct model
{
	uint8_t submitter[MODEL_SUBMITTERS]; /* step it has reached */
	uint8_t position[MODEL_SUBMITTERS];	 /* in the queue */
	bool owner[MODEL_SUBMITTERS];		 /* counted from 0 and has not scheduled yet */
	uint8_t enterer[MODEL_ENTERERS];
	uint8_t task[MODEL_TASKS]; /* 0 none, 1 scheduled, 2 taking, 3 subtracting */
	uint8_t budget[MODEL_TASKS];
	uint8_t done[MODEL_TASKS];
	uint8_t pushed; /* queue: operations swapped in */
	uint8_t linked; /* bit by position */
	uint8_t taken;
	int8_t count;
	uint8_t ran_in_place;
} model;

typedef enum model_fault
{
	FAULT_NONE,
	FAULT_PUSH_FIRST,	/* a submitter pushes, and counts then */
	FAULT_LEAVE_FORGETS /* a leave that does not hand over */
} model_fault;

#define SEEN_BITS 20

static model *seen;
static uint32_t seen_count;
static model_fault fault;
static const char *trouble;

static bool
seen_add(const model *state)
{
	uint64_t hash = 14695981039346656037u;
	static const model none;

	for (size_t i = 0; i < sizeof(model); i++)
		hash = (hash ^ ((const uint8_t *) state)[i]) * 1099511628211u;
	for (uint32_t slot = (uint32_t) (hash >> 20) % (1u << SEEN_BITS);; slot = (slot + 1) % (1u << SEEN_BITS))
	{
		if (memcmp(&seen[slot], state, sizeof(model)) == 0)
			return false;
		if (memcmp(&seen[slot], &none, sizeof(model)) == 0)
		{
			seen[slot] = *state;
			if (++seen_count > (1u << SEEN_BITS) / 2)
				abort();
			return true;
		}
	}
}

static unsigned
model_owners(const model *state)
{
	unsigned owners = 0;

	for (unsigned i = 0; i < MODEL_TASKS; i++)
		owners += state->task[i] != 0;
	for (unsigned i = 0; i < MODEL_ENTERERS; i++)
		owners += state->enterer[i] == 1;
	for (unsigned i = 0; i < MODEL_SUBMITTERS; i++)
		owners += state->owner[i];
	return owners;
}

static void
model_schedule(model *state)
{
	for (unsigned i = 0; i < MODEL_TASKS; i++)
	{
		if (state->task[i] == 0)
		{
			state->task[i] = 1;
			return;
		}
	}
	trouble = "more lane tasks than the model holds";
}

static void
submitter_count(model *state, unsigned i)
{
	state->owner[i] = state->count++ == 0;
}

static bool
submitter_step(model *state, unsigned i)
{
	unsigned step = state->submitter[i]++;

	if (fault == FAULT_PUSH_FIRST)
		step = (step + 1) % 3 + step / 3 * 3;
	switch (step)
	{
		case 0:
			submitter_count(state, i);
			break;
		case 1:
			state->position[i] = state->pushed++;
			break;
		case 2:
			state->linked |= (uint8_t) (1u << state->position[i]);
			break;
		default:
			state->submitter[i]--;
			return false;
	}
	if (state->submitter[i] == 3 && state->owner[i])
	{
		state->owner[i] = false;
		model_schedule(state);
	}
	return true;
}

/* Operations of submitters that are done with submitting, which have not run. */
static bool
model_overtakes(const model *state)
{
	for (unsigned i = 0; i < MODEL_SUBMITTERS; i++)
		if (state->submitter[i] == 3 && state->position[i] >= state->taken)
			return true;
	return false;
}

static bool
enterer_step(model *state, unsigned i)
{
	if (state->enterer[i] == 0 && state->count == 0)
	{
		state->count = 1;
		state->enterer[i] = 1;
		if (model_overtakes(state))
			trouble = "an operation in place overtakes one that was submitted before";
		return true;
	}
	if (state->enterer[i] == 1)
	{
		state->enterer[i] = 2;
		state->ran_in_place++;
		if (state->count-- != 1 && fault != FAULT_LEAVE_FORGETS)
			model_schedule(state);
		return true;
	}
	return false;
}

/* The next operation can be reached: its own link and all before it are there (those are taken already). */
static bool
model_can_take(const model *state)
{
	return state->taken < state->pushed && (state->linked >> state->taken & 1);
}

static bool
task_step(model *state, unsigned i)
{
	if (state->task[i] == 1)
	{
		state->budget[i] = (uint8_t) (state->count < MODEL_TURN ? state->count : MODEL_TURN);
		state->done[i] = 0;
		state->task[i] = 2;
		return true;
	}
	if (state->task[i] == 2)
	{
		/* Not to wait for a link is one of the ways; the wait itself is the others' steps coming first. */
		if (state->done[i] < state->budget[i] && model_can_take(state))
		{
			state->taken++;
			state->done[i]++;
		}
		else
			state->task[i] = 3;
		return true;
	}
	if (state->task[i] == 3)
	{
		state->count = (int8_t) (state->count - state->done[i]);
		state->task[i] = state->count == 0 ? 0 : 1;
		return true;
	}
	return false;
}

static void
model_explore(const model *state)
{
	bool moved = false;

	if (trouble || !seen_add(state))
		return;
	if (model_owners(state) > 1)
		trouble = "two owners";
	if (state->count < 0)
		trouble = "a count below 0";
	if ((model_owners(state) > 0) != (state->count > 0))
		trouble = "a count without an owner";
	for (unsigned actor = 0; actor < MODEL_SUBMITTERS + MODEL_ENTERERS + MODEL_TASKS && !trouble; actor++)
	{
		model next = *state;
		bool could;

		if (actor < MODEL_SUBMITTERS)
			could = submitter_step(&next, actor);
		else if (actor < MODEL_SUBMITTERS + MODEL_ENTERERS)
			could = enterer_step(&next, actor - MODEL_SUBMITTERS);
		else
			could = task_step(&next, actor - MODEL_SUBMITTERS - MODEL_ENTERERS);
		if (could)
		{
			moved = true;
			model_explore(&next);
		}
	}
	if (!moved && !trouble && (state->taken != MODEL_SUBMITTERS || state->ran_in_place != MODEL_ENTERERS))
		trouble = "an operation is stranded";
}

static const char *
model_run(model_fault with)
{
	model start = {0};

	seen = calloc(1u << SEEN_BITS, sizeof(model));
	if (!seen)
		abort();
	seen_count = 0;
	fault = with;
	trouble = NULL;
	/* The all-zero state marks free slots of the table: begin with the first submitter's first step. */
	(void) submitter_step(&start, 0);
	model_explore(&start);
	free(seen);
	return trouble;
}

static void
test_model(void)
{
	const char *found = model_run(FAULT_NONE);

	unit_ok(!found, "in every interleaving (%u states): one owner, none stranded; found: %s", seen_count,
			found ? found : "nothing");
	found = model_run(FAULT_PUSH_FIRST);
	unit_ok(found, "a submitter that pushes before it counts is caught: %s", found ? found : "not");
	found = model_run(FAULT_LEAVE_FORGETS);
	unit_ok(found, "a leave that does not hand over is caught: %s", found ? found : "not");
}

/* --- the code ------------------------------------------------------------------------- */

#define SUBMITTERS 4
#define OPERATIONS 20000
#define LANES 3

typedef struct shared
{
	tg_lane lane TG_CACHE_ALIGNED;
	uint32_t inside; /* the oracle: operations running */
	uint32_t overlaps;
	uint32_t disorder;
	uint64_t ran;			   /* plain: what orders the operations is the lane */
	uint64_t in_place;		   /* plain, likewise */
	uint32_t ended;			   /* as ran, for those who wait */
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
		if (i % 2 && tg_lane_enter(&shared->lane))
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
			free = free && tg_load_acquire(&crowd->lanes[i].lane.count) == 0;
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

static void
test_threads(unsigned workers)
{
	crowd *crowd = crowd_new();

	pool_start(workers);
	unit_threads(SUBMITTERS, submit_body, crowd);
	crowd_judge(crowd, workers == 1 ? "threads, 1 worker" : "threads, 3 workers");
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
	pool_start(2);
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
test_stopped(void)
{
	shared *shared = take_zeroed(self, sizeof(struct shared));
	numbered *waiting = take_zeroed(self, sizeof(numbered));

	tg_lane_init(&shared->lane);
	*waiting = (numbered){.operation.run = run_operation, .shared = shared, .number = 2};
	unit_ok(tg_lane_submit(self, &shared->lane, &waiting->operation) == TG_STOPPED && shared->lane.count == 0,
			"without a pool nothing is queued");
	unit_ok(tg_lane_enter(&shared->lane), "a free lane can be entered without one");
	unit_ok(!tg_lane_enter(&shared->lane), "once");
	tg_lane_leave(self, &shared->lane);
	unit_ok(shared->lane.count == 0, "and is free again");

	/* The pool stops while an operation waits behind one in place: who leaves runs it. */
	pool_start(1);
	if (!tg_lane_enter(&shared->lane) || tg_lane_submit(self, &shared->lane, &waiting->operation) != TG_OK)
		abort();
	unit_ok(pool_stop() && shared->ran == 0, "an operation waits when the pool stops");
	run_numbered(shared, 0, 1);
	tg_lane_leave(self, &shared->lane);
	unit_ok(shared->ran == 2 && shared->lane.count == 0 && !shared->disorder, "who leaves the lane runs it");
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
test_stop_race(void)
{
	bool right = true;

	for (unsigned round = 0; round < 10; round++)
	{
		crowd *crowd = crowd_new();

		pool_start(2);
		unit_threads(SUBMITTERS + 1, test_stop_race_body, crowd);
		right = right && crowd->lanes[0].ran == crowd->entered && crowd->lanes[0].lane.count == 0 &&
				!crowd->lanes[0].overlaps && !crowd->lanes[0].disorder;
		tg_free(self, crowd, TG_USE_JOB);
	}
	unit_ok(right, "what was accepted while the pool stopped has run, by the pool or in place");
}

int
main(void)
{
	test_model();
	server_start();
#ifndef __SANITIZE_THREAD__ /* it does not see what other processes put in order */
	test_processes();
#endif
	test_threads(1);
	test_threads(3);
	test_stopped();
	test_stop_race();
	server_end();
	return unit_done();
}
