/*
 * explore_deque.c
 *	  Every schedule of the work-stealing deque, and what it takes to break it.
 *
 * Threads: the owner, with a number of operations, each freely a push or a pop;
 * thieves with a number of attempts, each freely at one item or at a batch.
 * The deque is runtime/sched/deque.[ch] itself.  Shown, on all three memories,
 * for every schedule of the sizes below:
 *
 *	1. a pop gives the youngest item that is left, and nothing only if none is
 *	2. a theft gives the oldest ones, in order
 *	3. so each item is taken once, none is invented, and at the end a drain by
 *	   the owner gives exactly the rest
 *	4. what is in an item, and a ring, was published to its reader; no access to
 *	   a ring that was freed or beside its slots (growth)
 *	5. deque.c's own assertions
 *
 * Counters begin where index, bottom and the word of top wrap, all at once.
 *
 * Then weaknesses are planted: weaker accesses here, other code in deque.mutants.
 * Each has to be caught, so the search above can fail, for each line of deque.c's
 * orderings: on the strongest memory that can show it, and on C11's.
 *
 * Not shown: what needs load buffering to go wrong, as a relaxed compare-and-swap
 * of a thief, or relaxed loads of top by the owner, whose slot may then be written
 * before it was read; the thief's acquire of top, which its fence is, too; sizes
 * beyond those below.
 */
#include "test/explore/deque_variant.h"

#include <string.h>

#include "test/explore/explore.h"
#include "test/unit/unit.h"

#define ITEMS_MAX 16
#define STATES_MAX 50000000

typedef struct deque_config
{
	const deque_variant *variant;
	unsigned operations; /* of the owner */
	unsigned thieves;
	unsigned attempts; /* of each thief */
	uint32_t capacity; /* to begin with */
} deque_config;

/* First word of top: its index, its tag and bottom wrap soon. */
#define START (UINT64_MAX - 1)

/* The entries that the deque must hold: [oldest, youngest), items by their number. */
typedef struct shared
{
	tg_deque deque;
	uint8_t pushed;
	uint8_t oldest;
	uint8_t youngest;
	uint8_t entries[ITEMS_MAX];
	explore_plain items[ITEMS_MAX];
} shared;

static shared *world;

/* --- the program ------------------------------------------------------------------- */

static void
take(const char *how, void *item, unsigned expected)
{
	unsigned number = 0;

	while (number < world->pushed && item != &world->items[number])
		number++;
	explore_note(how, number);
	if (number == world->pushed)
		explore_violation("%s what was never pushed", how);
	if (number != expected)
		explore_violation("%s item %u, not %u", how, number, expected);
	explore_plain_read_last(item);
}

static void
setup(const void *pointer)
{
	const deque_config *config = pointer;

	world = explore_allocate(sizeof(shared));
	memset(world, 0, sizeof(*world));
	EXPLORE_FIELD(&world->deque.top, EXPLORE_SHARED);
	EXPLORE_FIELD(&world->deque.bottom, 0);
	EXPLORE_FIELD(&world->deque.ring, 0);
	if (config->variant->init(&world->deque, config->capacity, (uint32_t) START) != TG_OK)
		explore_violation("no deque");
	tg_store_relaxed(&world->deque.top, START);
	world->deque.top_seen = START;
}

static void
push(const deque_config *config)
{
	unsigned number = world->pushed;

	explore_plain_write(&world->items[number]);
	if (!config->variant->push(&world->deque, &world->items[number]))
	{
		explore_note("was refused", number);
		return;
	}
	explore_note("pushed", number);
	world->pushed++;
	world->entries[world->youngest++] = (uint8_t) number;
}

static void
pop(const deque_config *config)
{
	void *item = config->variant->pop(&world->deque);

	explore_effect();
	if (item == NULL)
	{
		if (world->youngest != world->oldest)
			explore_violation("item %u is lost", world->entries[world->oldest]);
		return;
	}
	if (world->youngest == world->oldest)
		explore_violation("popped an item that was taken before");
	world->youngest--;
	take("popped", item, world->entries[world->youngest]);
	world->entries[world->youngest] = 0;
}

static void
steal(const deque_config *config, unsigned item_max)
{
	void *items[TG_DEQUE_BATCH];
	int got = config->variant->steal(&world->deque, items, item_max);

	for (int i = 0; i < got; i++)
	{
		if (world->youngest == world->oldest)
			explore_violation("stole an item that was taken before");
		take("stole", items[i], world->entries[world->oldest]);
		world->entries[world->oldest++] = 0;
	}
}

static void
thread(unsigned number, const void *pointer)
{
	const deque_config *config = pointer;

	for (unsigned i = 0; number == 0 && i < config->operations; i++)
	{
		explore_checkpoint(i, &world->deque.b, sizeof(tg_deque) - offsetof(tg_deque, b));
		if (explore_choose(2) == 0)
			push(config);
		else
			pop(config);
	}
	for (unsigned i = 0; number > 0 && i < config->attempts; i++)
	{
		explore_checkpoint(i, NULL, 0);
		steal(config, explore_choose(2) == 0 ? 1 : config->variant->batch);
	}
}

static void
finish(const void *pointer)
{
	const deque_config *config = pointer;

	if (config->variant->size(&world->deque) != (unsigned) (world->youngest - world->oldest))
		explore_violation("the size is wrong");
	while (world->youngest != world->oldest)
		pop(config);
	pop(config);
}

static explore_result
run(const deque_config *config, explore_memory memory, const explore_plant *plant)
{
	explore_program program = {.thread_count = config->thieves + 1,
							   .alike_from = 1,
							   .config = config,
							   .setup = setup,
							   .thread = thread,
							   .finish = finish};

	return explore(&program, memory, plant, STATES_MAX);
}

/* --- as it is ------------------------------------------------------------------------- */

extern const deque_variant deque_real;
extern const deque_variant deque_real_batch_2;
extern const deque_variant deque_real_bounded;

typedef struct deque_search
{
	deque_config config;
	bool is_long;
	bool is_c11_only;
} deque_search;

static const deque_search searches[] = {
	/* variant, operations, thieves, attempts, first capacity */
	{{&deque_real, 7, 1, 2, 2}, false, false},		  {{&deque_real, 5, 2, 1, 2}, false, false},
	{{&deque_real, 6, 2, 1, 4}, false, true},		  {{&deque_real_bounded, 6, 2, 1, 2}, false, true},
	{{&deque_real_batch_2, 7, 1, 2, 4}, false, true}, {{&deque_real, 10, 1, 2, 2}, true, false},
	{{&deque_real, 6, 2, 2, 2}, true, false},		  {{&deque_real, 6, 2, 2, 4}, true, true},
	{{&deque_real, 8, 2, 1, 4}, true, true},		  {{&deque_real, 5, 3, 1, 2}, true, true},
	{{&deque_real_bounded, 6, 2, 2, 2}, true, true},  {{&deque_real_batch_2, 6, 2, 2, 4}, true, true},
	{{&deque_real_batch_2, 9, 1, 3, 4}, true, true},
};

static void
test_as_it_is(bool is_long)
{
	for (unsigned i = 0; i < sizeof(searches) / sizeof(searches[0]); i++)
	{
		const deque_config *config = &searches[i].config;

		if (searches[i].is_long && !is_long)
			continue;
		for (explore_memory memory = searches[i].is_c11_only ? EXPLORE_C11 : EXPLORE_SC; memory < EXPLORE_MEMORIES;
			 memory++)
		{
			explore_result result = run(config, memory, NULL);

			unit_ok(!result.violated && result.complete,
					"%s, ring of %u, %u operations, %u thieves x %u, %s: %llu states, %.2g schedules",
					config->variant->name, config->capacity, config->operations, config->thieves, config->attempts,
					explore_memory_names[memory], (unsigned long long) result.states, result.schedules);
			if (result.violated)
				explore_print_schedule();
		}
	}
}

/* --- with something planted ------------------------------------------------------------- */

typedef struct weakness
{
	const char *name;
	deque_config config;
	explore_memory memory; /* the strongest that shows it */
	explore_plant plant;
} weakness;

#define BOTTOM "(&deque->bottom)"
#define TOP "(&deque->top)"
#define RING "(&deque->ring)"

static const weakness weaknesses[] = {
	{"the owner's fence is missing",
	 {&deque_real, 6, 1, 2, 4},
	 EXPLORE_TSO,
	 {"tg_deque_pop_fenced", "fence of tg_store_then_fence" BOTTOM, EXPLORE_OMIT}},
	{"the thief's fence is missing",
	 {&deque_real, 6, 2, 1, 4},
	 EXPLORE_C11,
	 {"tg_deque_steal", "tg_fence_seq_cst()", EXPLORE_OMIT}},
	{"push publishes relaxed",
	 {&deque_real, 4, 1, 1, 2},
	 EXPLORE_C11,
	 {"tg_deque_append", "tg_store_release" BOTTOM, EXPLORE_RELAX}},
	{"a fenced pop publishes relaxed",
	 {&deque_real, 6, 1, 2, 4},
	 EXPLORE_C11,
	 {"tg_deque_pop_fenced", "store of tg_store_then_fence" BOTTOM, EXPLORE_RELAX}},
	{"a pop within reach publishes relaxed",
	 {&deque_real, 6, 1, 2, 4},
	 EXPLORE_C11,
	 {"tg_deque_pop_slow", "tg_store_release" BOTTOM, EXPLORE_RELAX}},
	{"an empty pop does not restore bottom",
	 {&deque_real, 6, 1, 2, 4},
	 EXPLORE_TSO,
	 {"pop_bump", "tg_store_relaxed" BOTTOM, EXPLORE_OMIT}},
	{"the thief reads bottom relaxed",
	 {&deque_real, 6, 1, 2, 4},
	 EXPLORE_C11,
	 {"tg_deque_steal", "tg_load_acquire" BOTTOM, EXPLORE_RELAX}},
	{"the thief reads ring relaxed",
	 {&deque_real, 6, 1, 2, 2},
	 EXPLORE_C11,
	 {"tg_deque_steal", "tg_load_acquire" RING, EXPLORE_RELAX}},
	{"growth publishes the ring relaxed",
	 {&deque_real, 6, 1, 2, 2},
	 EXPLORE_C11,
	 {"grow", "tg_store_release" RING, EXPLORE_RELAX}},
	{"a bump is relaxed",
	 {&deque_real, 6, 1, 2, 4},
	 EXPLORE_C11,
	 {"pop_bump", "tg_fetch_add_acq_rel" TOP, EXPLORE_RELAX}},
	{"a bump is a load and a store",
	 {&deque_real, 6, 2, 1, 4},
	 EXPLORE_SC,
	 {"pop_bump", "tg_fetch_add_acq_rel" TOP, EXPLORE_SPLIT}},
	{"a theft is a load and a store",
	 {&deque_real, 6, 2, 1, 4},
	 EXPLORE_SC,
	 {"tg_deque_steal", "tg_cas_seq_cst" TOP, EXPLORE_SPLIT}},
};

#define MUTANT(variant, operations, thieves, attempts, capacity)                                                       \
	{                                                                                                                  \
#variant, {&deque_##variant, operations, thieves, attempts, capacity }, EXPLORE_SC,                            \
		{                                                                                                              \
			NULL, NULL, 0                                                                                              \
		}                                                                                                              \
	}

extern const deque_variant deque_bump_removed, deque_bump_not_for_last, deque_reach_too_small, deque_reach_of_single,
	deque_reach_of_batch, deque_reach_not_restarted, deque_reach_from_popped, deque_reach_not_renewed,
	deque_more_than_half, deque_bottom_before_top, deque_ring_before_top, deque_ring_freed, deque_ring_reused,
	deque_ring_overfull, deque_ring_copied_short;

static const weakness mutants[] = {
	MUTANT(bump_removed, 6, 2, 1, 4),	   MUTANT(bump_not_for_last, 6, 2, 1, 4),
	MUTANT(reach_too_small, 6, 2, 1, 4),   MUTANT(reach_of_single, 6, 2, 1, 4),
	MUTANT(reach_of_batch, 6, 2, 1, 4),	   MUTANT(reach_not_restarted, 6, 2, 1, 4),
	MUTANT(reach_from_popped, 6, 2, 1, 4), MUTANT(reach_not_renewed, 6, 2, 1, 4),
	MUTANT(more_than_half, 6, 2, 1, 4),	   MUTANT(bottom_before_top, 6, 2, 1, 4),
	MUTANT(ring_before_top, 6, 2, 1, 2),   MUTANT(ring_freed, 6, 1, 2, 2),
	MUTANT(ring_reused, 6, 1, 2, 2),	   MUTANT(ring_overfull, 6, 1, 2, 2),
	MUTANT(ring_copied_short, 6, 1, 2, 2),
};

static void
test_planted(const weakness *table, size_t count)
{
	for (size_t i = 0; i < count; i++)
	{
		const weakness *weakness = &table[i];
		bool is_mutant = weakness->plant.function == NULL;

		for (explore_memory memory = weakness->memory; memory < EXPLORE_MEMORIES;
			 memory = memory == EXPLORE_C11 ? EXPLORE_MEMORIES : EXPLORE_C11)
		{
			explore_result result = run(&weakness->config, memory, is_mutant ? NULL : &weakness->plant);

			unit_ok(result.violated, "%s: caught on %s, after %llu states: %s", weakness->name,
					explore_memory_names[memory], (unsigned long long) result.states, result.reason);
			unit_ok(is_mutant || result.planted, "%s: was met", weakness->name);
		}
	}
}

int
main(int argument_count, char **arguments)
{
	test_as_it_is(argument_count > 1 && strcmp(arguments[1], "long") == 0);
	test_planted(weaknesses, sizeof(weaknesses) / sizeof(weaknesses[0]));
	test_planted(mutants, sizeof(mutants) / sizeof(mutants[0]));
	return unit_done();
}
