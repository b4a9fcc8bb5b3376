/*
 * lane_model.c
 *	  The arithmetic of a lane's counter, in all interleavings.
 *
 * A model of the steps that lane.c makes: submitters, one that enters, lane tasks.  Two models with
 * faults must show them: if submitters push before they count, an operation is overtaken; if a
 * leave forgets the other operations, one is stranded.
 */
#include <string.h>

#include "test/unit/states.h"

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

static model_fault fault;
static const char *trouble;

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

/* Whether the next operation can be reached: its link and all links before it are there. */
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
		/* One way is not to wait for a link; a wait is the others' steps coming first. */
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

	if (trouble || !states_add(state, sizeof(*state)))
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

	states_begin();
	fault = with;
	trouble = NULL;
	model_explore(&start);
	states_end();
	return trouble;
}

static void
test_model(void)
{
	const char *found = model_run(FAULT_NONE);

	unit_ok(!found, "in every interleaving (%" PRIu64 " states): one owner, none stranded; found: %s", states_count,
			found ? found : "nothing");
	found = model_run(FAULT_PUSH_FIRST);
	unit_ok(found, "a submitter that pushes before it counts is caught: %s", found ? found : "not");
	found = model_run(FAULT_LEAVE_FORGETS);
	unit_ok(found, "a leave that does not hand over is caught: %s", found ? found : "not");
}

int
main(void)
{
	test_model();
	return unit_done();
}
