/*
 * evidence.h
 *	  Reports on a search: that it is complete and nothing is violated, or that a planted weakness
 *	  is caught.
 */
#ifndef TG_EXPLORE_EVIDENCE_H
#define TG_EXPLORE_EVIDENCE_H

#include "test/explore/explore.h"
#include "test/unit/unit.h"

#define EXPLORE_STATES_MAX 30000000

/* An access made weaker, and what shows it. */
typedef struct explore_weakness
{
	const char *name;
	const void *scenario;
	explore_memory memory;
	explore_plant plant;
} explore_weakness;

/* The program of a scenario. */
typedef explore_program (*explore_program_of)(const void *scenario);

/*
 * Every schedule of a scenario, on each memory from first to last.  seen, unless NULL, counts in
 * all of them what must come about in one, or the search shows nothing.
 *
 * What can come about on one memory, can on the next (explore_litmus.c).  So EXPLORE_C11 alone
 * shows all, unless threads wait for a word: there a thread that waits may go on by an old value
 * where it would wait for ever by the new one.
 */
static inline void
explore_as_it_is(explore_program_of program_of, const void *scenario, const char *name, explore_memory first,
				 explore_memory last, unsigned *seen)
{
	const explore_program program = program_of(scenario);

	for (explore_memory memory = first; memory <= last && last < EXPLORE_MEMORIES; memory++)
	{
		explore_result result;

		if (seen)
			*seen = 0;
		result = explore(&program, memory, NULL, EXPLORE_STATES_MAX);
		unit_ok(!result.violated && result.complete && (seen == NULL || *seen > 0),
				"%s, %s: %llu states, %.2g schedules%s", name, explore_memory_names[memory],
				(unsigned long long) result.states, result.schedules, result.reason);
		if (result.violated)
			explore_print_schedule();
	}
}

/* Each is met and caught. */
static inline void
explore_planted(explore_program_of program_of, const explore_weakness *weaknesses, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
	{
		const explore_program program = program_of(weaknesses[i].scenario);
		explore_result result = explore(&program, weaknesses[i].memory, &weaknesses[i].plant, EXPLORE_STATES_MAX);

		unit_ok(result.violated && result.planted, "%s: caught on %s, after %llu states: %s", weaknesses[i].name,
				explore_memory_names[weaknesses[i].memory], (unsigned long long) result.states, result.reason);
	}
}

#define EXPLORE_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif /* TG_EXPLORE_EVIDENCE_H */
