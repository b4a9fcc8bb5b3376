/*
 * deque.c
 *	  The work-stealing deque against an oracle and against thieves.
 *
 * Alone: random pushes, pops and thefts give what a plain array gives, also
 * while it grows and where index, bottom and the word of top wrap.  At its
 * largest it refuses, and takes again what thieves make room for.  With thieves:
 * every item is taken exactly once, what a thief gets is in order, and no size is
 * ever seen that cannot be; also across wraps, and in deques that begin with room
 * for one and grow all the time.  A stress test cannot show that the fences are
 * needed: test/explore tries every schedule of smaller runs.
 */
#include "runtime/sched/deque.h"

#include <sched.h>

#include "test/unit/random.h"
#include "test/unit/unit.h"

#define ITEM(i) ((void *) (uintptr_t) (i))
#define NUMBER(item) ((uintptr_t) (item))

/* An empty deque with the next index and the tag of word. */
static void
deque_begin(tg_deque *deque, uint32_t capacity, uint64_t word)
{
	if (tg_deque_init(deque, capacity, (uint32_t) word) != TG_OK)
		unit_bail("no memory");
	tg_store_relaxed(&deque->top, word);
	deque->top_seen = word;
}

/* --- alone -------------------------------------------------------------------- */

typedef struct oracle
{
	uintptr_t *items; /* [oldest, youngest) is what must be there */
	size_t oldest;
	size_t youngest;
} oracle;

static bool
oracle_steal(tg_deque *deque, oracle *oracle, unsigned item_max)
{
	void *items[TG_DEQUE_BATCH];
	size_t n = oracle->youngest - oracle->oldest;
	size_t expected = (n + 1) / 2 < item_max ? (n + 1) / 2 : item_max;
	int got = tg_deque_steal(deque, items, item_max);

	if (got < 0 || (size_t) got != expected)
		return false;
	for (int i = 0; i < got; i++)
	{
		if (NUMBER(items[i]) != oracle->items[oracle->oldest++])
			return false;
	}
	return true;
}

static bool
oracle_pop(tg_deque *deque, oracle *oracle)
{
	void *item = tg_deque_pop(deque);

	if (oracle->youngest == oracle->oldest)
		return item == NULL;
	return NUMBER(item) == oracle->items[--oracle->youngest];
}

/* Runs steps random operations with phases that mostly fill and mostly drain. */
static bool
sequential_agrees(uint64_t word, uint32_t capacity, unsigned steps, uint64_t seed)
{
	tg_deque deque;
	oracle oracle = {.items = malloc((steps + 1) * sizeof(uintptr_t))};
	bool agrees = oracle.items != NULL;
	uintptr_t next = 1;

	deque_begin(&deque, capacity, word);
	for (unsigned i = 0; agrees && i < steps; i++)
	{
		unsigned fill = i / 4000 % 2 ? 70 : 30;
		uint64_t dice = unit_random(&seed) % 100;

		if (dice < fill)
		{
			agrees = tg_deque_push(&deque, ITEM(next));
			oracle.items[oracle.youngest++] = next++;
		}
		else if (dice < 90)
			agrees = oracle_pop(&deque, &oracle);
		else
			agrees = oracle_steal(&deque, &oracle, dice < 95 ? 1 : TG_DEQUE_BATCH);
		agrees = agrees && tg_deque_size(&deque) == oracle.youngest - oracle.oldest;
	}
	while (agrees && oracle.youngest != oracle.oldest)
		agrees = oracle_pop(&deque, &oracle);
	agrees = agrees && tg_deque_pop(&deque) == NULL;
	tg_deque_destroy(&deque);
	free(oracle.items);
	return agrees;
}

static void
test_sequential(void)
{
	unit_ok(sequential_agrees(0, 1, 100000, 1), "agrees with an array, growing from 1");
	unit_ok(sequential_agrees(0, 256, 100000, 2), "agrees with an array");
	unit_ok(sequential_agrees((1u << 24) - 50, 2, 100000, 3), "agrees where the index carries into the tag");
	unit_ok(sequential_agrees(UINT32_MAX - 50, 2, 100000, 4), "agrees where bottom wraps");
	unit_ok(sequential_agrees((1u << 31) - 50, 4, 100000, 5), "agrees where the sign of bottom changes");
	unit_ok(sequential_agrees(UINT64_MAX - 50, 2, 100000, 6), "agrees where the whole word of top wraps");
	unit_ok(sequential_agrees(UINT64_MAX - (UINT64_C(1) << 26), 2, 100000, 7), "agrees where the tag wraps by bumps");
}

static void
test_limits(void)
{
	tg_deque deque;
	void *item;
	bool pushed = true;
	bool in_order = true;

	if (tg_deque_init(&deque, 2, 0) != TG_OK)
		abort();
	for (uintptr_t i = 1; i <= TG_DEQUE_CAPACITY_MAX; i++)
		pushed = pushed && tg_deque_push(&deque, ITEM(i));
	unit_ok(pushed, "takes as many items as promised");
	unit_ok(!tg_deque_push(&deque, ITEM(1)), "refuses one more");
	unit_ok(tg_deque_steal(&deque, &item, 1) == 1 && NUMBER(item) == 1, "gives the oldest to a thief");
	unit_ok(tg_deque_push(&deque, ITEM(TG_DEQUE_CAPACITY_MAX + 1)), "takes one more after a theft");
	for (uintptr_t i = TG_DEQUE_CAPACITY_MAX + 1; i > 1; i--)
		in_order = in_order && NUMBER(tg_deque_pop(&deque)) == i;
	unit_ok(in_order && tg_deque_pop(&deque) == NULL, "gives all of them back, youngest first");
	unit_ok(deque.bumps < 40, "changes the word of top seldom on the way down (%llu times)",
			(unsigned long long) deque.bumps);
	tg_deque_destroy(&deque);
}

/* --- with thieves ---------------------------------------------------------------- */

typedef struct stress
{
	tg_deque deque;
	unsigned thieves;
	unsigned item_max;
	unsigned depth_max; /* most pushes, and most pops, in a row */
	uintptr_t items;	/* their numbers are below */
	bool at_capacity;	/* the first pushes go on until one is refused; thieves wait for that */
	uint32_t let_go;
	uint32_t done;
	uint32_t disorder;
	uint32_t size_max;
	uint8_t *taken; /* times, by item */
} stress;

static void
stress_take(stress *stress, void *item)
{
	(void) tg_fetch_add_relaxed(&stress->taken[NUMBER(item)], 1);
}

static void
stress_thief(stress *stress)
{
	uintptr_t last = 0;

	while (!tg_load_acquire(&stress->let_go))
		sched_yield();
	while (!tg_load_acquire(&stress->done) || tg_deque_size(&stress->deque) > 0)
	{
		void *items[TG_DEQUE_BATCH];
		int got = tg_deque_steal(&stress->deque, items, stress->item_max);
		unsigned size = tg_deque_size(&stress->deque);

		if (size > tg_load_relaxed(&stress->size_max))
			tg_store_relaxed(&stress->size_max, size);
		for (int i = 0; i < got; i++)
		{
			if (NUMBER(items[i]) <= last)
				tg_store_relaxed(&stress->disorder, 1);
			last = NUMBER(items[i]);
			stress_take(stress, items[i]);
		}
		if (got <= 0)
			tg_pause();
	}
}

static void
stress_owner(stress *stress)
{
	uint64_t random = 12345;
	uintptr_t next = 1;

	while (stress->at_capacity && tg_deque_push(&stress->deque, ITEM(next)))
		next++;
	tg_store_release(&stress->let_go, 1);
	if (stress->at_capacity)
	{
		while (!tg_deque_push(&stress->deque, ITEM(next)))
			sched_yield();
		next++;
	}
	while (next < stress->items)
	{
		unsigned pushes = unit_random(&random) % stress->depth_max + 1;
		unsigned pops = unit_random(&random) % stress->depth_max + 1;

		for (; pushes > 0 && next < stress->items; pushes--)
		{
			if (!tg_deque_push(&stress->deque, ITEM(next)))
				break;
			next++;
		}
		for (; pops > 0; pops--)
		{
			void *item = tg_deque_pop(&stress->deque);

			if (!item)
				break;
			stress_take(stress, item);
		}
	}
	for (void *item; (item = tg_deque_pop(&stress->deque));)
		stress_take(stress, item);
	tg_store_release(&stress->done, 1);
}

static void
stress_body(unsigned number, void *argument)
{
	if (number == 0)
		stress_owner(argument);
	else
		stress_thief(argument);
}

/* Returns how many items were not taken exactly once. */
static unsigned
stress_run(stress *stress, uint32_t capacity, uint64_t word)
{
	unsigned wrong = 0;

	stress->taken = calloc(stress->items, 1);
	if (!stress->taken)
		unit_bail("no memory");
	deque_begin(&stress->deque, capacity, word);
	unit_threads(stress->thieves + 1, stress_body, stress);
	for (uintptr_t i = 1; i < stress->items; i++)
		wrong += stress->taken[i] != 1;
	tg_deque_destroy(&stress->deque);
	free(stress->taken);
	return wrong;
}

static void
test_stress(unsigned thieves, unsigned item_max, unsigned depth_max, uint64_t word)
{
	stress stress = {.thieves = thieves, .item_max = item_max, .depth_max = depth_max, .items = UNIT_ROUNDS(300000)};
	unsigned wrong = stress_run(&stress, 2, word);

	unit_ok(wrong == 0, "%u thieves, at most %u, depth %u: every item once (%u wrong)", thieves, item_max, depth_max,
			wrong);
	/* The owner pushes in order and thieves take the oldest, so each thief sees growing numbers. */
	unit_ok(!stress.disorder, "%u thieves, at most %u, depth %u: the oldest first", thieves, item_max, depth_max);
	unit_ok(stress.size_max <= stress.deque.capacity, "%u thieves, at most %u, depth %u: sizes up to %u of %u", thieves,
			item_max, depth_max, stress.size_max, stress.deque.capacity);
}

/* Most of a deque's growth is at its beginning; so there are many. */
static void
test_growth(void)
{
	unsigned wrong = 0;
	bool has_grown = true;

	for (unsigned i = 0; i < 60; i++)
	{
		stress stress = {.thieves = 2, .item_max = TG_DEQUE_BATCH, .depth_max = 1500, .items = 4000};

		wrong += stress_run(&stress, 1, UINT64_MAX - i * 20);
		has_grown = has_grown && stress.deque.capacity > 1;
	}
	unit_ok(has_grown && wrong == 0, "growth from 1 with thieves about: every item once (%u wrong)", wrong);
}

static void
test_capacity(void)
{
	stress stress = {
		.thieves = 2, .item_max = TG_DEQUE_BATCH, .depth_max = 100000, .items = 200000, .at_capacity = true};
	unsigned wrong = stress_run(&stress, 2, UINT32_MAX - 1000);

	unit_ok(wrong == 0, "refused, and taken again when thieves have made room: every item once (%u wrong)", wrong);
	unit_ok(stress.size_max <= TG_DEQUE_CAPACITY_MAX, "refused: sizes up to %u", stress.size_max);
}

int
main(void)
{
	test_sequential();
	test_limits();
	for (unsigned thieves = 1; thieves <= 3; thieves++)
	{
		test_stress(thieves, 1, 4, 0);
		test_stress(thieves, TG_DEQUE_BATCH, 4, UINT32_MAX - 1000);
		test_stress(thieves, TG_DEQUE_BATCH, 100, UINT64_MAX - 1000);
	}
	test_growth();
	test_capacity();
	return unit_done();
}
