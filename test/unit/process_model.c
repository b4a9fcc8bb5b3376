/*
 * process_model.c
 *	  The state word of a process: every interleaving of a small world.
 *
 * The functions of process_state.h and park.h themselves, each one step: each is one successful
 * compare-and-swap, exchange or load, and only its place in the order matters.  Between them, the
 * sections under the process' latch are steps too.  The world: senders, completers and one
 * canceller, each adding to the queue, waking, and perhaps unparking; and two workers that take the
 * task from the pool's queue and run turns.  Memory is sequentially consistent; process_state.h
 * argues that the latch makes it so where it matters.
 *
 * In each state no two turns run, the task is in one place, and each change of the word is an arrow
 * of the diagram.  In each final state everything has been taken and the process rests.  All arrows
 * must have been gone.  Each of some planted faults must be found.
 */
#include "runtime/app/process_state.h"

#include <string.h>

#include "runtime/sched/park.h"
#include "test/unit/states.h"

#define SENDERS 2
#ifdef __SANITIZE_THREAD__ /* which makes it slow, and has nothing to find in one thread */
#define COMPLETERS 1
#else
#define COMPLETERS 2
#endif
#define ACTORS (SENDERS + COMPLETERS + 1) /* and one canceller */
#define WORKERS 2
#define TAKEN_MAX 2 /* events of one turn */

typedef enum actor_step
{
	ACTOR_ADD,
	ACTOR_WAKE,
	ACTOR_UNPARK,
	ACTOR_DONE
} actor_step;

typedef enum turn_step
{
	TURN_NONE,
	TURN_CONSUME, /* the task's permit */
	TURN_BEGIN,
	TURN_TAKE,
	TURN_STEP, /* and the commands */
	TURN_LOOK,
	TURN_LEAVE,
	TURN_PARK,	/* the worker parks the task */
	TURN_AGAIN, /* to READY */
	TURN_REQUEUE
} turn_step;

/* No padding: it is compared and hashed as bytes. */
typedef struct world
{
	uint32_t word;
	uint32_t task; /* its park word */
	uint8_t messages;
	uint8_t others;
	uint8_t outstanding;
	uint8_t yielded; /* the first Step has been */
	uint8_t queued;	 /* places of the task in the pool's queue */
	uint8_t taken;	 /* events */
	uint8_t actor[ACTORS];
	uint8_t turn[WORKERS];
	uint8_t rest[WORKERS];
	uint8_t may_rest[WORKERS];
	uint8_t zero[5 - COMPLETERS];
} world;

_Static_assert(sizeof(world) == 2 * 4 + 6 + ACTORS + 3 * WORKERS + 5 - COMPLETERS, "no padding");

typedef enum fault
{
	FAULT_NONE,
	FAULT_LEAVE_STORES,	  /* leaving does not look at WAKE */
	FAULT_NO_FLAG,		  /* a wake leaves a Running process alone */
	FAULT_WAKE_FIRST,	  /* wakes, and adds then */
	FAULT_IDLE_ONLY,	  /* a completion wakes as a message does */
	FAULT_NO_PERMIT,	  /* an unpark that meets a task not yet parked is forgotten */
	FAULT_ALWAYS_UNPARKS, /* a wake unparks although another one did */
	FAULT_LOOK_TOO_SOON	  /* looks at the queue before Step and commands */
} fault;

static fault planted;
static const char *trouble;
static bool gone[16][16]; /* arrows, by words */

/* --- threads that add and wake -------------------------------------------------------- */

static bool
is_sender(unsigned i)
{
	return i < SENDERS;
}

static bool
is_completer(unsigned i)
{
	return i >= SENDERS && i < SENDERS + COMPLETERS;
}

static void
actor_add(world *state, unsigned i)
{
	if (is_sender(i))
		state->messages++;
	else
		state->others++;
	if (is_completer(i))
		state->outstanding--;
}

static bool
actor_wake(world *state, unsigned i)
{
	tg_process_rest rest = is_sender(i) || (planted == FAULT_IDLE_ONLY && is_completer(i)) ? TG_WAKE_IDLE : TG_WAKE_ANY;

	if (planted == FAULT_NO_FLAG && state->word == TG_PROCESS_RUNNING)
		return false;
	return tg_process_state_wake(&state->word, rest) ||
		   (planted == FAULT_ALWAYS_UNPARKS && state->word == TG_PROCESS_READY);
}

static void
actor_unpark(world *state)
{
	if (planted == FAULT_NO_PERMIT && state->task != TG_PARK_PARKED)
		return;
	if (tg_park_notify(&state->task))
		state->queued++;
}

static bool
actor_moves(world *state, unsigned i)
{
	switch (state->actor[i])
	{
		case ACTOR_ADD:
			if (is_completer(i) && !state->yielded)
				return false;
			if (planted == FAULT_WAKE_FIRST)
			{
				if (actor_wake(state, i))
					actor_unpark(state);
				state->actor[i] = ACTOR_WAKE;
				return true;
			}
			actor_add(state, i);
			state->actor[i] = ACTOR_WAKE;
			return true;
		case ACTOR_WAKE:
			if (planted == FAULT_WAKE_FIRST)
			{
				actor_add(state, i);
				state->actor[i] = ACTOR_DONE;
				return true;
			}
			state->actor[i] = actor_wake(state, i) ? ACTOR_UNPARK : ACTOR_DONE;
			return true;
		case ACTOR_UNPARK:
			actor_unpark(state);
			state->actor[i] = ACTOR_DONE;
			return true;
		default:
			return false;
	}
}

/* --- workers ------------------------------------------------------------------------------ */

static void
take_events(world *state)
{
	for (unsigned i = 0; i < TAKEN_MAX && state->messages + state->others > 0; i++)
	{
		if (state->others > 0)
			state->others--;
		else
			state->messages--;
		state->taken++;
	}
}

static void
look(world *state, unsigned i)
{
	tg_event_counts counts = {.messages = state->messages, .others = state->others, .outstanding = state->outstanding};
	tg_process_state rest;

	state->may_rest[i] = tg_process_state_rest(counts, &rest);
	state->rest[i] = (uint8_t) rest;
}

static bool
leaves(world *state, unsigned i)
{
	if (!state->may_rest[i])
		return false;
	if (planted == FAULT_LEAVE_STORES)
	{
		state->word = state->rest[i];
		return true;
	}
	return tg_process_state_leave(&state->word, state->rest[i]);
}

static bool
turn_moves(world *state, unsigned i)
{
	uint8_t *turn = &state->turn[i];

	switch (*turn)
	{
		case TURN_NONE:
			if (state->queued == 0)
				return false;
			state->queued--;
			*turn = TURN_CONSUME;
			return true;
		case TURN_CONSUME:
			tg_park_consume(&state->task);
			*turn = TURN_BEGIN;
			return true;
		case TURN_BEGIN:
			if (state->word != TG_PROCESS_READY)
			{
				trouble = "a turn of a process that is not Ready";
				return true;
			}
			tg_process_state_begin(&state->word);
			*turn = TURN_TAKE;
			return true;
		case TURN_TAKE:
			take_events(state);
			if (planted == FAULT_LOOK_TOO_SOON)
				look(state, i);
			*turn = TURN_STEP;
			return true;
		case TURN_STEP:
			if (!state->yielded)
			{
				state->yielded = 1;
				state->outstanding = COMPLETERS;
			}
			*turn = TURN_LOOK;
			return true;
		case TURN_LOOK:
			if (planted != FAULT_LOOK_TOO_SOON)
				look(state, i);
			*turn = TURN_LEAVE;
			return true;
		case TURN_LEAVE:
			*turn = leaves(state, i) ? TURN_PARK : TURN_AGAIN;
			return true;
		case TURN_PARK:
			*turn = tg_park_try(&state->task) ? TURN_NONE : TURN_REQUEUE;
			return true;
		case TURN_AGAIN:
			tg_process_state_go(&state->word, TG_PROCESS_READY);
			*turn = TURN_REQUEUE;
			return true;
		default:
			state->queued++;
			*turn = TURN_NONE;
			return true;
	}
}

/* --- all ways --------------------------------------------------------------------------------- */

static void
check_world(const world *state)
{
	unsigned turns = 0;

	for (unsigned i = 0; i < WORKERS; i++)
		turns += state->turn[i] != TURN_NONE;
	if (turns + state->queued > 1)
		trouble = "the task is in two places";
	if ((state->word == TG_PROCESS_RUNNING || state->word == (TG_PROCESS_RUNNING | TG_PROCESS_WAKE)) && turns == 0)
		trouble = "Running, but no thread runs it";
	if (state->word == TG_PROCESS_IDLE && state->outstanding > 0)
		trouble = "Idle with commands outstanding";
}

static void
check_end(const world *state)
{
	if (state->taken != ACTORS || state->messages + state->others > 0)
		trouble = "an event is left lying";
	else if (state->word != TG_PROCESS_IDLE || state->task != TG_PARK_PARKED)
		trouble = "the process does not rest";
}

static void
check_arrow(uint32_t from, uint32_t to)
{
	if (from == to)
		return;
	gone[from][to] = true;
	if (!tg_process_state_may(from, to))
		trouble = "a change that is no arrow of the diagram";
}

static void
explore(const world *state)
{
	bool moved = false;

	if (trouble || !states_add(state, sizeof(*state)))
		return;
	check_world(state);
	for (unsigned i = 0; i < ACTORS + WORKERS && !trouble; i++)
	{
		world next = *state;

		if (i < ACTORS ? actor_moves(&next, i) : turn_moves(&next, i - ACTORS))
		{
			moved = true;
			check_arrow(state->word, next.word);
			explore(&next);
		}
	}
	if (!moved && !trouble)
		check_end(state);
}

static const char *
run_model(fault with)
{
	world start = {.word = TG_PROCESS_READY, .queued = 1};

	states_begin();
	planted = with;
	trouble = NULL;
	explore(&start);
	states_end();
	return trouble;
}

static void
test_fault(fault with, const char *what)
{
	const char *found = run_model(with);

	unit_ok(found, "%s is found: %s", what, found ? found : "not");
}

int
main(void)
{
	const char *found = run_model(FAULT_NONE);
	const uint32_t wake = TG_PROCESS_RUNNING | TG_PROCESS_WAKE;

	unit_ok(!found, "in every interleaving (%" PRIu64 " states) nothing is left lying; found: %s", states_count,
			found ? found : "nothing");
	unit_ok(gone[TG_PROCESS_READY][TG_PROCESS_RUNNING] && gone[TG_PROCESS_RUNNING][wake] &&
				gone[TG_PROCESS_RUNNING][TG_PROCESS_READY] && gone[TG_PROCESS_RUNNING][TG_PROCESS_BLOCKED] &&
				gone[TG_PROCESS_RUNNING][TG_PROCESS_IDLE] && gone[wake][TG_PROCESS_READY] &&
				gone[TG_PROCESS_BLOCKED][TG_PROCESS_READY] && gone[TG_PROCESS_IDLE][TG_PROCESS_READY],
			"all arrows but those to Complete have been gone");
	test_fault(FAULT_LEAVE_STORES, "leaving without a look at WAKE");
	test_fault(FAULT_NO_FLAG, "a wake that does not flag a Running process");
	test_fault(FAULT_WAKE_FIRST, "a wake before the event is added");
	test_fault(FAULT_IDLE_ONLY, "a completion that does not end Blocked");
	test_fault(FAULT_NO_PERMIT, "an unpark that is forgotten before the task is parked");
	test_fault(FAULT_ALWAYS_UNPARKS, "two unparks for one rest");
	test_fault(FAULT_LOOK_TOO_SOON, "a look before Step has yielded");
	return unit_done();
}
