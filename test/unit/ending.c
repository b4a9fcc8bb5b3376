/*
 * ending.c
 *	  The word that ends a shared transaction (txn/ending.h): all interleavings of three users that
 *	  work in it, two that commit it and one that aborts it; each call is one step.
 *
 * It is ended exactly once, by one of them; no user is at work then, nor ever after.  Then the same
 * with a rule left out, each of which must show.
 */
#include "runtime/txn/ending.h"

#include <string.h>

#include "test/unit/states.h"

#define WORKERS 3
#define COMMITTERS 2
#define ABORTERS 1
#define ACTORS (WORKERS + COMMITTERS + ABORTERS)

typedef enum rule
{
	ALL_RULES,
	COMMIT_BESIDE_USERS,	/* left out: only the only user commits */
	ABORT_BESIDE_USERS,		/* an abort is put off to the last one out */
	USE_WHEN_GOING,			/* no user begins once it is going to end */
	LAST_OUT_FORGETS,		/* the last one out aborts */
	ABORT_WHILE_COMMITTING, /* the flags are never both set */
	RULES
} rule;

static const char *const rule_names[] = {"all rules",
										 "a commit beside users",
										 "an abort beside users",
										 "a use when it is going to end",
										 "the last one out forgets",
										 "an abort while it is being committed"};

typedef struct model
{
	uint64_t word;
	uint8_t at[ACTORS]; /* what each does next; DONE */
	uint8_t working;	/* bits */
	uint8_t ended;
} model;

enum
{
	BEGIN,
	WORK,
	LEAVE,
	END,	   /* has been told to */
	LEAVE_END, /* committer: leaves after it has ended it */
	DONE
};

static rule left_out;
static const char *fault;

/* --- steps ---------------------------------------------------------------------------------- */

static bool
use(model *m)
{
	if (left_out == USE_WHEN_GOING)
	{
		m->word += TG_ENDING_USER;
		return true;
	}
	return tg_ending_use(&m->word);
}

static bool
leave(model *m)
{
	bool told = tg_ending_leave(&m->word);

	return left_out == LAST_OUT_FORGETS ? false : told;
}

static bool
ask_for_abort(model *m)
{
	if (left_out == ABORT_BESIDE_USERS && tg_ending_is_open(m->word))
	{
		m->word |= TG_GOING_TO_ABORT;
		return true;
	}
	if (left_out == ABORT_WHILE_COMMITTING && (m->word & TG_GOING_TO_ABORT) == 0)
	{
		m->word |= TG_GOING_TO_ABORT;
		return tg_ending_users(m->word) == 0;
	}
	return tg_ending_abort(&m->word);
}

static bool
ask_for_commit(model *m)
{
	if (left_out == COMMIT_BESIDE_USERS && tg_ending_is_open(m->word))
	{
		m->word |= TG_GOING_TO_COMMIT;
		return true;
	}
	return tg_ending_commit(&m->word);
}

static void
end_it(model *m)
{
	if (m->ended > 0)
		fault = "it is ended twice";
	if (m->working != 0)
		fault = "a user is at work when it is ended";
	m->ended++;
}

static void
step(model *m, unsigned actor)
{
	bool commits = actor >= WORKERS && actor < WORKERS + COMMITTERS;

	switch (m->at[actor])
	{
		case BEGIN:
			if (actor >= WORKERS + COMMITTERS)
				m->at[actor] = ask_for_abort(m) ? END : DONE;
			else
				m->at[actor] = use(m) ? WORK : DONE;
			if (m->at[actor] == WORK && !commits)
			{
				if (m->ended > 0)
					fault = "a user works in it when it has ended";
				m->working |= (uint8_t) (1u << actor);
			}
			break;
		case WORK:
			m->working &= (uint8_t) ~(1u << actor);
			m->at[actor] = LEAVE;
			if (commits && ask_for_commit(m))
			{
				m->at[actor] = LEAVE_END;
				end_it(m); /* its user is the committer alone */
			}
			break;
		case LEAVE:
			m->at[actor] = leave(m) ? END : DONE;
			break;
		case LEAVE_END:
			if (leave(m))
				fault = "the user that has committed it is told to abort it";
			m->at[actor] = DONE;
			break;
		default:
			end_it(m);
			m->at[actor] = DONE;
			break;
	}
}

static void
visit(const model *state)
{
	bool over = true;

	if (!states_add(state, sizeof(*state)))
		return;
	for (unsigned actor = 0; actor < ACTORS && fault == NULL; actor++)
	{
		model next = *state;

		if (state->at[actor] == DONE)
			continue;
		over = false;
		step(&next, actor);
		visit(&next);
	}
	if (over && state->ended != 1 && fault == NULL)
		fault = "no user has ended it";
	if (over && tg_ending_users(state->word) != 0 && fault == NULL)
		fault = "a user is still counted";
}

int
main(void)
{
	const model start = {.word = 0};

	for (int i = 0; i < RULES; i++)
	{
		states_begin();
		fault = NULL;
		left_out = (rule) i;
		visit(&start);
		if (i == ALL_RULES)
			unit_ok(fault == NULL, "%" PRIu64 " states: %s", states_count,
					fault != NULL ? fault : "ended once, by one");
		else
			unit_ok(fault != NULL, "%s: %s", rule_names[i], fault != NULL ? fault : "nothing");
	}
	states_end();
	return unit_done();
}
