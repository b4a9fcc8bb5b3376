/*
 * btree_load.c
 *	  Trees that are built at once from sorted keys, and cursors that return keys.
 *
 * For every shape of keys and many sizes, built in one piece and of joined parts: the invariants
 * hold, each key is found, a cursor returns all keys unchanged, with a sieve only those that it
 * wants, and the tree can be changed like any other.
 */
#include "runtime/btree/btree_load.h"

#include "runtime/mem/alloc.h"
#include "runtime/btree/btree_node.h"
#include "test/unit/btree_universe.h"
#include "test/unit/unit.h"

static void
drain(void)
{
	tg_epoch_advance();
	tg_retire_poll(main_session);
}

#define PARTS_MAX 8

/* In parts of about the same size; each begins with its first key. */
static tg_status
load_parts(const universe *world, unsigned count, tg_btree *tree, unsigned parts)
{
	tg_btree_load *load[PARTS_MAX] = {NULL};
	tg_status status = TG_OK;
	unsigned rank = 0;

	if (parts > count)
		parts = count > 0 ? count : 1;
	for (unsigned part = 0; part < parts && status == TG_OK; part++)
	{
		status = tg_btree_load_begin(main_session, &book, part > 0 ? world->keys[rank].bytes : NULL,
									 part > 0 ? world->keys[rank].length : 0, &load[part]);
		for (; status == TG_OK && rank < (uint64_t) count * (part + 1) / parts; rank++)
			status =
				tg_btree_load_add(main_session, load[part], world->keys[rank].bytes, world->keys[rank].length, rank);
	}
	for (unsigned part = 1; part < parts && status == TG_OK; part++)
	{
		status = tg_btree_load_join(main_session, load[0], load[part]);
		if (status == TG_OK)
			load[part] = NULL;
	}
	tg_epoch_enter(main_session);
	if (status == TG_OK)
		status = tg_btree_load_finish(main_session, load[0], tree);
	for (unsigned part = 0; part < parts && status != TG_OK; part++)
		if (load[part] != NULL)
			tg_btree_load_abandon(main_session, load[part]);
	tg_epoch_leave(main_session);
	return status;
}

static tg_status
load_keys(const universe *world, unsigned count, tg_btree *tree)
{
	return load_parts(world, count, tree, 1);
}

/* Every key by a cursor, with little room for keys, either way. */
static bool
keys_agree(tg_btree *tree, const universe *world, unsigned count, bool backward, size_t room, unsigned batch)
{
	unsigned char *bytes = malloc(room); /* exact, for AddressSanitizer */
	uint32_t *rows = malloc(batch * sizeof(uint32_t));
	unsigned expected = 0;
	bool agrees = true;
	tg_btree_cursor cursor;

	tg_btree_cursor_init(&cursor, tree, NULL, 0, true, NULL, 0, true, backward);
	for (;;)
	{
		tg_btree_keys keys = {.bytes = bytes, .capacity = room};
		const unsigned char *at = bytes;
		unsigned got;

		tg_epoch_enter(main_session);
		got = tg_btree_cursor_next_keys(&cursor, rows, batch, &keys);
		tg_epoch_leave(main_session);
		if (got == 0)
			break;
		for (unsigned i = 0; i < got; i++, expected++)
		{
			unsigned rank = backward ? count - 1 - expected : expected;
			uint16_t length;

			memcpy(&length, at, sizeof(length));
			agrees = agrees && expected < count && rows[i] == rank && length == world->keys[rank].length &&
					 memcmp(at + sizeof(length), world->keys[rank].bytes, length) == 0;
			at += sizeof(length) + length;
		}
		agrees = agrees && at == bytes + keys.used;
	}
	free(rows);
	free(bytes);
	return agrees && expected == count;
}

/* Wants stretches of keys, by rank; random numbers choose their lengths and distances. */
typedef struct stretches
{
	tg_btree_sieve sieve;
	const universe *world;
	const bool *wanted; /* by rank */
	bool blurred;		/* tells of some keys that they may be wanted, though they are not */
} stretches;

/* By the first wanted key that is not below what it is told, which may be a fence. */
static size_t
next_wanted(const tg_btree_sieve *sieve, const unsigned char *key, size_t key_bytes, unsigned char *next)
{
	const stretches *own = (const stretches *) sieve;
	const universe *world = own->world;
	unsigned low = 0;

	for (unsigned high = world->count; low < high;)
	{
		unsigned middle = (low + high) / 2;
		size_t length = world->keys[middle].length;
		int order = memcmp(world->keys[middle].bytes, key, length < key_bytes ? length : key_bytes);

		if (order < 0 || (order == 0 && length < key_bytes))
			low = middle + 1;
		else
			high = middle;
	}
	while (low < world->count && !own->wanted[low])
		low++;
	if (low == world->count || (own->blurred && low % 5 == 0))
		return 0;
	if (world->keys[low].length == key_bytes && memcmp(world->keys[low].bytes, key, key_bytes) == 0)
		return 0;
	memcpy(next, world->keys[low].bytes, world->keys[low].length);
	return world->keys[low].length;
}

/*
 * All keys are in the tree.  The wanted ones come, in order; others come only where the sieve lets
 * them through, or behind the last wanted one.
 */
static bool
sieve_agrees(tg_btree *tree, const universe *world, unsigned stretch_max, unsigned gap_max, bool blurred,
			 unsigned batch)
{
	uint64_t state = stretch_max + gap_max;
	bool *wanted = calloc(world->count + 1, 1);
	bool *came = calloc(world->count + 1, 1);
	uint32_t *rows = malloc(batch * sizeof(uint32_t));
	unsigned char *bytes = malloc(4096);
	stretches stretches = {{next_wanted}, world, wanted, blurred};
	int64_t last = -1;
	int64_t last_wanted = -1;
	bool agrees = true;
	tg_btree_cursor cursor;

	for (unsigned at = unit_below(&state, gap_max); at < world->count; at += unit_below(&state, gap_max))
		for (unsigned end = at + 1 + unit_below(&state, stretch_max); at < end && at < world->count; at++)
		{
			wanted[at] = true;
			last_wanted = at;
		}
	tg_btree_cursor_init(&cursor, tree, NULL, 0, true, NULL, 0, true, false);
	cursor.sieve = &stretches.sieve;
	while (!cursor.done)
	{
		tg_btree_keys keys = {.bytes = bytes, .capacity = 4096};
		const unsigned char *at = bytes;
		unsigned got;

		tg_epoch_enter(main_session);
		got = tg_btree_cursor_next_keys(&cursor, rows, batch, &keys);
		tg_epoch_leave(main_session);
		for (unsigned i = 0; i < got; i++)
		{
			uint16_t length;

			memcpy(&length, at, sizeof(length));
			agrees = agrees && (int64_t) rows[i] > last && length == world->keys[rows[i]].length &&
					 memcmp(at + sizeof(length), world->keys[rows[i]].bytes, length) == 0 &&
					 (wanted[rows[i]] || blurred || (int64_t) rows[i] > last_wanted);
			last = rows[i];
			came[rows[i]] = true;
			at += sizeof(length) + length;
		}
		agrees = agrees && at == bytes + keys.used;
	}
	for (unsigned rank = 0; rank < world->count; rank++)
		agrees = agrees && (came[rank] || !wanted[rank]);
	free(bytes);
	free(rows);
	free(came);
	free(wanted);
	return agrees;
}

/* Goes on inserting and removing. */
static bool
lives_on(tg_btree *tree, universe *world)
{
	uint64_t state = 7;
	bool right = true;

	for (unsigned i = 0; i < world->count; i++)
	{
		unsigned rank = unit_below(&state, world->count);
		uint32_t row;

		if (world->present[rank])
			right = right && remove_key(main_session, tree, world, rank, rank) == TG_OK;
		else
			right = right && insert_key(main_session, tree, world, rank, &row, TG_DATA) == TG_OK;
		world->present[rank] = !world->present[rank];
	}
	tg_btree_check(tree);
	return right && finds_agree(tree, world);
}

static void
test_shape(shape kind, unsigned size)
{
	universe world = make_universe(kind, size, size);
	bool right = true;
	tg_btree *tree = NULL;

	/* all the little trees, some large ones */
	for (unsigned count = 0; count <= world.count; count += count < 40 ? 1 : 1 + count * 3 / 2)
	{
		tree = make_tree();
		right = right && load_parts(&world, count, tree, 1 + count % PARTS_MAX) == TG_OK;
		tg_btree_check(tree);
		right = right && keys_agree(tree, &world, count, false, 4096, 128);
		tg_btree_destroy(main_session, tree);
	}
	for (unsigned parts = 1; parts <= PARTS_MAX; parts++)
	{
		tree = make_tree();
		right = right && load_parts(&world, world.count, tree, parts) == TG_OK;
		tg_btree_check(tree);
		if (parts < PARTS_MAX)
			tg_btree_destroy(main_session, tree);
	}
	for (unsigned rank = 0; rank < world.count; rank++)
		world.present[rank] = true;
	unit_ok(right && finds_agree(tree, &world), "%s: %u keys are found", shape_names[kind], world.count);
	unit_ok(keys_agree(tree, &world, world.count, true, 4096, 100) &&
				keys_agree(tree, &world, world.count, false, TG_KEY_BYTES_MAX + 2, 7) &&
				keys_agree(tree, &world, world.count, true, TG_KEY_BYTES_MAX + 2, 1000),
			"%s: a cursor returns them, for every size of buffer", shape_names[kind]);
	right = true;
	for (unsigned gap = 2; gap <= 2048; gap *= 4)
		for (unsigned stretch = 1; stretch <= 256; stretch *= 16)
			right = right && sieve_agrees(tree, &world, stretch, gap, (gap & 8) != 0, 1 + gap % 128 + stretch / 4);
	unit_ok(right, "%s: with a sieve what it wants", shape_names[kind]);
	unit_ok(lives_on(tree, &world), "%s: the tree lives on", shape_names[kind]);
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

/* Dense keys: what the loader says about room. */
static void
test_fill(void)
{
	universe world = make_universe(SHAPE_DENSE, 100000, 1);
	tg_btree *tree = make_tree();
	tg_btree_report report;

	(void) !load_keys(&world, world.count, tree);
	tg_epoch_enter(main_session);
	tg_btree_report_get(tree, &report);
	tg_epoch_leave(main_session);
	unit_ok(report.bytes < (uint64_t) world.count * 15, "%" PRIu64 " bytes for %u keys", report.bytes, world.count);
	unit_equal(report.entries, world.count, "all of them");
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

static void
test_refusal(shape kind)
{
	universe world = make_universe(kind, 3000, 3);
	tg_btree *tree = make_tree();
	tg_arena_report before;
	tg_arena_report after;
	unsigned refused = 0;

	drain();
	tg_arena_report_get(&before);
	for (size_t room = 0; room < 64; room++)
	{
		tg_status status;

		tg_alloc_flush(main_session);
		tg_arena_trim();
		tg_arena_limit_set(tg_arena_committed() + room * room * 256);
		status = load_keys(&world, world.count, tree);
		tg_arena_limit_set(ARENA_BYTES);
		if (status == TG_OK)
			break;
		refused++;
		tg_btree_check(tree);
	}
	tg_arena_report_get(&after);
	unit_ok(refused > 3, "%s: memory is refused at %u places", shape_names[kind], refused);
	tg_btree_destroy(main_session, tree);
	tree = make_tree();
	drain();
	tg_arena_report_get(&after);
	unit_ok(after.used_by[TG_USE_INDEX] == before.used_by[TG_USE_INDEX] &&
				after.used_by[TG_USE_JOB] == before.used_by[TG_USE_JOB],
			"%s: nothing is left of it", shape_names[kind]);
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

int
main(void)
{
	if (!open_arena())
		return 1;
	for (shape kind = 0; kind < SHAPE_COUNT; kind++)
		test_shape(kind, 2000 * EFFORT);
	test_fill();
	test_refusal(SHAPE_SPARSE);
	test_refusal(SHAPE_LONG);
	test_refusal(SHAPE_SHARED);
	close_arena();
	return unit_done();
}
