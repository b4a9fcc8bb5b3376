/*
 * settle_model.c
 *	  The protocol of runtime/table/settle.c, all its interleavings.
 *
 * A chunk of one slot, and five threads.  Each step is one access to shared state, and the steps
 * come in any order, one after another (so this shows the protocol, not the memory orders, for
 * which settle.c argues).  Where entering or leaving an epoch at once gives the others more
 * freedom, it is part of the step beside it.
 *
 *	  ender		ends the version in the slot, commits or aborts
 *	  allocator	takes the slot if it is free, then drops it or commits; twice
 *	  collector	settles in two steps; cuts dead versions out, gives their slot
 *	  epochs	moves on
 *	  reader	takes a snapshot, scans, and must find the state of that time
 *
 * All states are visited.  A wrong answer of the reader, headers that are gone under a writer, and
 * an array that is used when it may be free are faults.  Then the same with a rule of the protocol
 * left out, each of which must show.
 */
#include <string.h>

#include "runtime/base/check.h"
#include "test/unit/states.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define EPOCHS 2
#else
#define EPOCHS 4
#endif

enum
{
	NEVER = 100,	 /* times are commit timestamps, small */
	REFERENCE = 128, /* plus the number of the transaction */
	FIRST = 1,
	ARRAYS = 5, /* numbered from 1 */
	TENANTS = 4,
	TRANSACTIONS = 4,
	MARKS = 2,
	SCENARIOS = 4
};

enum
{
	ENDER,
	ALLOCATOR,
	COLLECTOR,
	READER,
	THREADS
};

typedef enum rule
{
	ALL_RULES,
	BITMAP_FIRST, /* left out: a scan loads headers, bitmap, headers */
	HEADERS_ONCE,
	NO_EPOCH, /* the second step comes an epoch after the first */
	NO_SECOND_LOOK,
	NO_MARK_TAKEN_BACK,
	BIT_BEFORE_HEADERS, /* an allocator brings headers back first */
	ALL_SETTLED,		/* what was free is not there in headers brought back */
	GIVEN_AT_ONCE,		/* a slot is given an epoch after it was cut out */
	NOT_MARKED_DEAD,	/* begin is NEVER then */
	HORIZON_NOT_HELD	/* a committer has a snapshot published until it has stamped */
} rule;

typedef struct thread
{
	uint8_t at;	   /* what it does next */
	uint8_t epoch; /* 0: quiescent */
	uint8_t array; /* that it works with */
	uint8_t built; /* its own, not in place yet */
	uint8_t tenant;
	uint8_t runs;
	uint8_t time; /* reader: R; collector: horizon; committers: C - 1 until stamped */
	uint8_t bit;
	uint8_t begin;
	uint8_t transaction;
} thread;

typedef struct model
{
	uint8_t epoch;
	uint8_t clock;
	uint8_t headers; /* array * 2 + mark */
	uint8_t is_free;
	uint8_t value; /* the tenant that the slot's values belong to */
	uint8_t settle_epoch;
	uint8_t marks;
	uint8_t bound;	   /* published by the reader; NEVER: none */
	uint8_t cut_epoch; /* of the tenant cut out; 0: none */
	uint8_t tenant_count;
	uint8_t transaction_count;
	uint8_t begin[ARRAYS + 1];
	uint8_t end[ARRAYS + 1];
	uint8_t retired[ARRAYS + 1];	 /* epoch; 0: not */
	uint8_t committed[TRANSACTIONS]; /* C, or 0 */
	uint8_t began[TENANTS];			 /* the truth: C of begin and end, or 0 */
	uint8_t ended[TENANTS];
	thread threads[THREADS];
} model;

/* How often ender and allocator do what they do; all scenarios together are the model. */
static const uint8_t scenarios[SCENARIOS][2] = {{2, 0}, {0, 2}, {1, 1}, {1, 2}};
static const uint8_t *runs_max;

static rule left_out;
static const char *fault;

/* --- what stays the same ------------------------------------------------------------ */

static uint64_t states_seen; /* of all scenarios */

/* Forgets what can make no difference any more, so that fewer states are different. */
static void
simplify(model *state)
{
	for (unsigned array = 1; array <= ARRAYS; array++)
	{
		bool held = state->headers / 2 == array;

		for (unsigned i = 0; i < THREADS; i++)
			held |= state->threads[i].array == array || state->threads[i].built == array;
		if (!held)
			state->begin[array] = state->end[array] = state->retired[array] = 0;
	}
	if ((state->headers & 1) == 0 && state->threads[COLLECTOR].epoch == 0)
		state->settle_epoch = 0;
}

/* --- what several do ------------------------------------------------------------------ */

static uint8_t
confirmed(const model *state)
{
	uint8_t lowest = state->epoch;

	for (unsigned i = 0; i < THREADS; i++)
	{
		uint8_t epoch = state->threads[i].epoch;

		if (epoch != 0 && epoch < lowest)
			lowest = epoch;
	}
	return lowest;
}

static void
fail(const char *what)
{
	if (fault == NULL)
		fault = what;
}

/* Each use of an array: it must be there. */
static uint8_t
use(const model *state, uint8_t array)
{
	if (array == 0)
		fail("a writer finds no headers");
	else if (state->retired[array] != 0 && confirmed(state) > state->retired[array])
		fail("headers are used that may be free");
	return array;
}

/* Entering is one step: what lies between its loads and stores is session.c's to argue. */
enum
{
	OUTSIDE,
	INSIDE
};

static void
enter(const model *state, thread *self)
{
	self->epoch = state->epoch;
	self->at = INSIDE;
}

static void
leave(thread *self, uint8_t next)
{
	self->epoch = 0;
	self->array = 0;
	self->at = next;
}

/* Leaves with nothing kept. */
static void
end_run(thread *self)
{
	uint8_t runs = self->runs;

	memset(self, 0, sizeof(*self));
	self->runs = runs;
}

/* tg_chunk_headers_write, a step at a time; from INSIDE, to the step given. */
enum
{
	BUILT = INSIDE + 1,
	MARK_FOUND,
	AFTER_HEADERS
};

static void
headers_write(model *state, thread *self)
{
	switch (self->at)
	{
		case INSIDE:
			self->array = state->headers / 2;
			if (state->headers == 0)
			{
				for (self->built = 1; state->begin[self->built] != 0; self->built++)
					tg_check(self->built < ARRAYS);
				state->begin[self->built] = state->is_free && left_out != ALL_SETTLED ? NEVER : FIRST;
				state->end[self->built] = NEVER;
				self->at = BUILT;
			}
			else
				self->at = (state->headers & 1) != 0 && left_out != NO_MARK_TAKEN_BACK ? MARK_FOUND : AFTER_HEADERS;
			break;
		case BUILT:
			if (state->headers == 0)
				state->headers = (uint8_t) (self->built * 2);
			self->built = 0;
			self->at = INSIDE;
			break;
		case MARK_FOUND:
			if (state->headers == self->array * 2 + 1)
				state->headers = (uint8_t) (self->array * 2);
			self->at = INSIDE;
			break;
		default:
			break;
	}
}

static uint8_t
draw_timestamp(model *state, thread *self)
{
	self->time = state->clock;
	state->committed[self->transaction] = ++state->clock;
	return state->clock;
}

static uint8_t
horizon(const model *state)
{
	uint8_t lowest = state->clock < state->bound ? state->clock : state->bound;

	for (unsigned i = ENDER; i <= ALLOCATOR; i++)
	{
		uint8_t time = state->threads[i].time;

		if (time != 0 && time < lowest && left_out != HORIZON_NOT_HELD)
			lowest = time;
	}
	return lowest;
}

/* --- the threads: each returns whether it could step; choice is 0 or 1 ----------------------- */

static bool
step_ender(model *state, unsigned choice)
{
	enum
	{
		END = AFTER_HEADERS,
		FINISH,
		STAMP,
		UNDO
	};
	thread *self = &state->threads[ENDER];

	if (choice != 0 && self->at != FINISH)
		return false;
	switch (self->at)
	{
		case OUTSIDE:
			/* It comes to the version by the row's head, so it is not cut out. */
			if (self->runs == runs_max[ENDER] || state->is_free || state->cut_epoch != 0 ||
				state->began[state->value] == 0 || state->ended[state->value] != 0)
				return false;
			enter(state, self);
			self->runs++;
			self->tenant = state->value;
			headers_write(state, self);
			return true;
		case END:
			if (state->end[use(state, self->array)] != NEVER)
			{
				end_run(self);
				return true;
			}
			self->transaction = state->transaction_count++;
			state->end[self->array] = REFERENCE + self->transaction;
			leave(self, FINISH);
			return true;
		case FINISH: /* outside: commit, or abort */
			if (choice == 0)
				state->ended[self->tenant] = draw_timestamp(state, self);
			enter(state, self);
			self->at = choice == 0 ? STAMP : UNDO;
			return true;
		case STAMP:
		case UNDO:
			/* tg_chunk_headers: the version is not settled, so they are there. */
			state->end[use(state, state->headers / 2)] = self->at == UNDO ? NEVER : state->committed[self->transaction];
			end_run(self);
			return true;
		default:
			headers_write(state, self);
			return true;
	}
}

static bool
step_allocator(model *state, unsigned choice)
{
	enum
	{
		INIT = AFTER_HEADERS,
		TAKE,
		STORE,
		PUBLISH,
		DECIDE,
		DROP,
		DROP_BIT,
		COMMIT,
		STAMP
	};
	thread *self = &state->threads[ALLOCATOR];

	if (choice != 0 && self->at != PUBLISH && self->at != DECIDE)
		return false;
	switch (self->at)
	{
		case OUTSIDE:
			if (self->runs == runs_max[ALLOCATOR] || !state->is_free)
				return false;
			enter(state, self);
			self->runs++;
			if (left_out == BIT_BEFORE_HEADERS)
				state->is_free = false;
			headers_write(state, self);
			return true;
		case INIT:
			if (state->begin[use(state, self->array)] != NEVER && left_out != BIT_BEFORE_HEADERS)
				fail("a free slot's begin is not NEVER");
			state->begin[self->array] = NEVER;
			state->end[self->array] = NEVER;
			self->at = TAKE;
			return true;
		case TAKE:
			state->is_free = false;
			self->at = STORE;
			return true;
		case STORE:
			self->tenant = state->tenant_count++;
			tg_check(self->tenant < TENANTS);
			state->value = self->tenant;
			self->at = PUBLISH;
			return true;
		case PUBLISH:
			if (choice != 0)
			{
				self->at = DROP_BIT; /* never published */
				return true;
			}
			self->transaction = state->transaction_count++;
			tg_check(self->transaction < TRANSACTIONS);
			state->begin[use(state, self->array)] = REFERENCE + self->transaction;
			self->at = DECIDE;
			return true;
		case DECIDE:
			if (choice != 0)
				self->at = DROP;
			else
				leave(self, COMMIT);
			return true;
		case DROP:
			state->begin[use(state, self->array)] = NEVER;
			self->at = DROP_BIT;
			return true;
		case DROP_BIT:
			state->is_free = true;
			end_run(self);
			return true;
		case COMMIT:
			state->began[self->tenant] = draw_timestamp(state, self);
			enter(state, self);
			self->at = STAMP;
			return true;
		case STAMP:
			state->begin[use(state, state->headers / 2)] = state->committed[self->transaction];
			end_run(self);
			return true;
		default:
			headers_write(state, self);
			return true;
	}
}

static bool
step_collector(model *state, unsigned choice)
{
	enum
	{
		LOOK_BIT = INSIDE + 1,
		LOOK_BEGIN,
		LOOK_END,
		SWAP
	};
	thread *self = &state->threads[COLLECTOR];
	uint8_t tenant = state->value;
	bool second = (self->bit & 2) != 0;

	if (choice != 0 && self->at != OUTSIDE)
		return false;
	switch (self->at)
	{
		case OUTSIDE:
			self->time = horizon(state);
			if (choice == 0)
			{
				/* A step of settling, if there may be one. */
				if (state->headers == 0 || ((state->headers & 1) == 0 && state->marks == MARKS))
					return false;
				self->bit = 0;
			}
			else if (state->cut_epoch != 0)
			{
				if (confirmed(state) <= state->cut_epoch && left_out != GIVEN_AT_ONCE)
					return false;
				state->is_free = true;
				state->cut_epoch = 0;
				return true;
			}
			else
			{
				/* Cut out what no snapshot sees any more and what is stamped. */
				if (state->is_free || state->ended[tenant] == 0 || state->ended[tenant] > self->time ||
					state->headers == 0 || state->end[state->headers / 2] != state->ended[tenant])
					return false;
				if (left_out != NOT_MARKED_DEAD)
					state->begin[state->headers / 2] = NEVER;
				state->cut_epoch = state->epoch;
				return true;
			}
			enter(state, self);
			self->array = state->headers / 2;
			if (self->array == 0)
				end_run(self);
			else if ((state->headers & 1) == 0)
				self->at = LOOK_BIT;
			else if (confirmed(state) <= state->settle_epoch && left_out != NO_EPOCH)
				end_run(self);
			else
			{
				self->bit = 2;
				self->at = left_out == NO_SECOND_LOOK ? SWAP : LOOK_BIT;
			}
			return true;
		case LOOK_BIT:
			self->at = state->is_free ? SWAP : LOOK_BEGIN;
			return true;
		case LOOK_BEGIN:
		case LOOK_END:
			if (self->at == LOOK_BEGIN ? state->begin[use(state, self->array)] <= self->time
									   : state->end[use(state, self->array)] == NEVER)
			{
				self->at++;
				return true;
			}
			if (second && state->headers == self->array * 2 + 1)
				state->headers--;
			end_run(self);
			return true;
		case SWAP:
			if (state->headers != self->array * 2 + (second ? 1 : 0))
			{
				end_run(self);
				return true;
			}
			if (second)
			{
				state->headers = 0;
				state->retired[self->array] = state->epoch;
			}
			else
			{
				state->headers++;
				state->marks++;
				state->settle_epoch = state->epoch;
			}
			end_run(self);
			return true;
		default:
			return false;
	}
}

/* The reader's steps. */
enum
{
	PUBLISH_BOUND = 20,
	LOAD_BIT = INSIDE,
	LOAD_AGAIN,
	JUDGE_BEGIN,
	JUDGE_END,
	READ,
	FOUND_NOTHING,
	DONE
};

/* Whether what a word says has happened for the reader. */
static bool
has_happened(const model *state, uint8_t word, uint8_t time)
{
	if (word >= REFERENCE)
	{
		word = state->committed[word - REFERENCE];
		return word != 0 && word <= time;
	}
	return word <= time;
}

static void
check_answer(const model *state, uint8_t time, uint8_t found)
{
	uint8_t expected = NEVER;

	for (uint8_t i = 0; i < state->tenant_count; i++)
	{
		if (state->began[i] != 0 && state->began[i] <= time && (state->ended[i] == 0 || state->ended[i] > time))
			expected = i;
	}
	if (found != expected)
		fail(found == NEVER ? "a version is not seen" : "a version is seen that is not there");
}

static bool
step_reader(model *state, unsigned choice)
{
	thread *self = &state->threads[READER];
	uint8_t found = NEVER;

	if (choice != 0)
		return false;
	switch (self->at)
	{
		case PUBLISH_BOUND:
			state->bound = state->clock; /* one step: horizon.c */
			self->time = state->clock;
			self->at = OUTSIDE;
			return true;
		case OUTSIDE:
			enter(state, self);
			self->array = left_out == BITMAP_FIRST ? 0 : state->headers / 2;
			self->at = LOAD_BIT;
			return true;
		case LOAD_BIT:
			self->bit = state->is_free;
			self->at = LOAD_AGAIN;
			return true;
		case LOAD_AGAIN:
			if (self->array == 0 && left_out != HEADERS_ONCE)
				self->array = state->headers / 2;
			self->at = self->bit ? FOUND_NOTHING : self->array == 0 ? READ : JUDGE_BEGIN;
			return true;
		case JUDGE_BEGIN:
			self->at =
				has_happened(state, state->begin[use(state, self->array)], self->time) ? JUDGE_END : FOUND_NOTHING;
			return true;
		case JUDGE_END:
			self->at = has_happened(state, state->end[use(state, self->array)], self->time) ? FOUND_NOTHING : READ;
			return true;
		case READ:
			found = state->value;
			__attribute__((fallthrough));
		case FOUND_NOTHING:
			check_answer(state, self->time, found);
			leave(self, DONE);
			return true;
		default:
			return false;
	}
}

/* --- the search --------------------------------------------------------------------- */

static bool (*const steps[THREADS])(model *state, unsigned choice) = {step_ender, step_allocator, step_collector,
																	  step_reader};

static void
visit(model *state)
{
	/* Steps that the others take after the reader's answer are also taken before it begins. */
	if (fault != NULL || state->threads[READER].at == DONE)
		return;
	simplify(state);
	if (!states_add(state, sizeof(*state)))
		return;
	for (unsigned i = 0; i < THREADS; i++)
	{
		for (unsigned choice = 0; choice < 2; choice++)
		{
			model next = *state;

			if (steps[i](&next, choice))
				visit(&next);
		}
	}
	if (state->epoch < EPOCHS)
	{
		model next = *state;

		next.epoch++;
		visit(&next);
	}
}

/* From a settled version with or without headers, and from a free slot with headers. */
static void
search(rule without)
{
	left_out = without;
	fault = NULL;
	states_seen = 0;
	for (unsigned i = 0; i < SCENARIOS * 3 && fault == NULL; i++)
	{
		unsigned start = i % 3;
		model state;

		runs_max = scenarios[i / 3];
		memset(&state, 0, sizeof(state));
		state.epoch = 1;
		state.clock = 2;
		state.bound = NEVER;
		state.tenant_count = 1;
		state.began[0] = FIRST;
		state.threads[READER].at = PUBLISH_BOUND;
		if (start > 0)
		{
			state.headers = 2;
			state.begin[1] = start == 1 ? FIRST : NEVER;
			state.end[1] = NEVER;
		}
		if (start == 2)
		{
			state.is_free = true;
			state.began[0] = 0;
		}
		states_begin();
		visit(&state);
		states_seen += states_count;
	}
}

static void
check_rule(rule without, const char *name)
{
	search(without);
	unit_ok(fault != NULL, "without «%s»: %s", name, fault != NULL ? fault : "nothing shows");
}

int
main(void)
{
	search(ALL_RULES);
	unit_ok(fault == NULL, "the protocol is right in all of %" PRIu64 " states%s%s", states_seen,
			fault != NULL ? ": " : "", fault != NULL ? fault : "");
	check_rule(BITMAP_FIRST, "headers before the bitmap");
	check_rule(HEADERS_ONCE, "headers again after the bitmap");
	check_rule(NO_EPOCH, "an epoch under the mark");
	check_rule(NO_SECOND_LOOK, "a second look");
	check_rule(NO_MARK_TAKEN_BACK, "writers take the mark back");
	check_rule(BIT_BEFORE_HEADERS, "headers before the bit");
	check_rule(ALL_SETTLED, "free slots are not there");
	check_rule(GIVEN_AT_ONCE, "an epoch before a slot is given");
	check_rule(NOT_MARKED_DEAD, "a version cut out has begun never");
	check_rule(HORIZON_NOT_HELD, "a committer holds the horizon until it has stamped");
	states_end();
	return unit_done();
}
