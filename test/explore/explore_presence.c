/*
 * explore_presence.c
 *	  Owner and visitors of a session: every schedule of runtime/mem/presence.c.
 *
 * The owner uses the session's contents, goes away and comes back, some times over.  Visitors look
 * which owners are away, or visit the sessions whose owners have been away for long, or all.
 *
 * Shown, for every schedule: the owner and the visitor that does the session's duty do not touch it
 * at once, and each sees what the other has done; the owner always comes back.  Then the orders
 * that presence.c's argument names are planted away.
 */
#include <string.h>

#include "test/explore/explore.h"

#include "runtime/base/spin.h"
#define tg_spin(round) ((void) (round), explore_wait_while(&session->presence, TG_VISITED))

#include "runtime/mem/presence.c"

#include "test/unit/unit.h"

#define STATES_MAX 30000000

typedef struct scenario
{
	const char *name;
	unsigned visitors;
	unsigned steps;	   /* of each visitor */
	unsigned absences; /* of the owner */
} scenario;

typedef struct shared_world
{
	tg_session sessions[EXPLORE_THREADS]; /* the first is the one that is visited */
	explore_plain contents;				  /* the contents of the first session */
} shared_world;

static shared_world *world;
static unsigned visits; /* in all schedules */
static unsigned answers;

/* --- what presence.c needs ------------------------------------------------------------------ */

bool
tg_failpoint_refuses(const char *name)
{
	(void) name;
	return false;
}

unsigned
tg_session_top(void)
{
	return 1;
}

tg_session *
tg_session_at(unsigned id)
{
	return &world->sessions[id];
}

bool
tg_session_is_open(unsigned id)
{
	return id == 0;
}

void
tg_alloc_flush(tg_session *session)
{
	(void) session;
	explore_plain_write(&world->contents);
}

/* --- the program -------------------------------------------------------------------------- */

static void
setup(const void *pointer)
{
	(void) pointer;
	world = explore_allocate(sizeof(*world));
	memset(world, 0, sizeof(*world));
	for (unsigned i = 0; i < EXPLORE_THREADS; i++)
		world->sessions[i].id = i;
	EXPLORE_FIELD(&world->sessions[0].presence, EXPLORE_SHARED);
	tg_store_relaxed(&world->sessions[0].presence, TG_PRESENT);
}

static void
own(const scenario *scenario)
{
	for (unsigned i = 0; i < scenario->absences; i++)
	{
		explore_checkpoint(i, NULL, 0);
		explore_plain_write(&world->contents);
		answers += tg_load_relaxed(&world->sessions[0].presence) == TG_ASKED;
		tg_session_go_away(&world->sessions[0]);
		tg_session_come_back(&world->sessions[0]);
	}
	explore_plain_write(&world->contents);
}

static void
thread(unsigned number, const void *pointer)
{
	const scenario *scenario = pointer;

	if (number == 0)
	{
		own(scenario);
		return;
	}
	for (unsigned i = 0; i < scenario->steps; i++)
	{
		unsigned step;

		explore_checkpoint(i, NULL, 0);
		step = explore_choose(3);
		if (step == 0)
			(void) tg_presence_look();
		else
			visits += tg_presence_visit(&world->sessions[number], step == 1);
	}
}

static void
finish(const void *pointer)
{
	uint32_t presence = tg_load_relaxed(&world->sessions[0].presence);

	(void) pointer;
	if (presence != TG_PRESENT && presence != TG_ASKED)
		explore_violation("the owner is there, and %u says otherwise", presence);
}

static explore_result
explore_scenario(const scenario *scenario, explore_memory memory, const explore_plant *plant)
{
	explore_program program = {.thread_count = 1 + scenario->visitors,
							   .alike_from = EXPLORE_THREADS,
							   .config = scenario,
							   .setup = setup,
							   .thread = thread,
							   .finish = finish};

	visits = 0;
	answers = 0;
	return explore(&program, memory, plant, STATES_MAX);
}

/* --- as it is, and with something planted --------------------------------------------------- */

static const scenario one = {.name = "2 absences, a visitor of 2 steps", .visitors = 1, .steps = 2, .absences = 2};
static const scenario two = {.name = "an absence, 2 visitors of a step", .visitors = 2, .steps = 1, .absences = 1};
static const scenario long_one = {.name = "3 absences, a visitor of 4 steps", .visitors = 1, .steps = 4, .absences = 3};
static const scenario long_two = {
	.name = "2 absences, 2 visitors of 2 steps", .visitors = 2, .steps = 2, .absences = 2};

static void
test_as_it_is(const scenario *scenario)
{
	for (explore_memory memory = EXPLORE_SC; memory < EXPLORE_MEMORIES; memory++)
	{
		explore_result result = explore_scenario(scenario, memory, NULL);

		unit_ok(!result.violated && result.complete && visits > 0 && answers > 0,
				"%s, %s: %llu states, %.2g schedules%s", scenario->name, explore_memory_names[memory],
				(unsigned long long) result.states, result.schedules, result.reason);
		if (result.violated)
			explore_print_schedule();
	}
}

#define CLAIM "tg_cas_acq_rel(&session->presence)"
#define STORE "tg_store_release(&session->presence)"

static const struct
{
	const char *name;
	const scenario *scenario;
	explore_memory memory; /* that shows it */
	explore_plant plant;
} weaknesses[] = {
	{"coming back is no one step", &one, EXPLORE_SC, {"tg_session_come_back", CLAIM, EXPLORE_SPLIT}},
	{"a visit is no one step", &two, EXPLORE_SC, {"visit", CLAIM, EXPLORE_SPLIT}},
	{"going away is relaxed", &one, EXPLORE_C11, {"tg_session_go_away", STORE, EXPLORE_RELAX}},
	{"coming back is relaxed", &one, EXPLORE_C11, {"tg_session_come_back", CLAIM, EXPLORE_RELAX}},
	{"a visit begins relaxed", &one, EXPLORE_C11, {"visit", CLAIM, EXPLORE_RELAX}},
	{"a visit ends relaxed", &one, EXPLORE_C11, {"visit", STORE, EXPLORE_RELAX}},
};

static void
test_planted(void)
{
	for (unsigned i = 0; i < sizeof(weaknesses) / sizeof(weaknesses[0]); i++)
	{
		explore_result result = explore_scenario(weaknesses[i].scenario, weaknesses[i].memory, &weaknesses[i].plant);

		unit_ok(result.violated && result.planted, "%s: caught on %s, after %llu states: %s", weaknesses[i].name,
				explore_memory_names[weaknesses[i].memory], (unsigned long long) result.states, result.reason);
	}
}

int
main(int argument_count, char **arguments)
{
	test_as_it_is(&one);
	test_as_it_is(&two);
	if (argument_count > 1 && strcmp(arguments[1], "long") == 0)
	{
		test_as_it_is(&long_one);
		test_as_it_is(&long_two);
	}
	test_planted();
	return unit_done();
}
