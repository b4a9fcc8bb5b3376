/*
 * btree_universe.h
 *	  Keys for the tests of the B+tree, and what should be in the tree.
 *
 * A universe is a sorted array of distinct keys of one shape; a key's row is
 * its rank, so order and uniqueness of what a scan hands out show in the rows
 * alone.
 */
#ifndef TG_BTREE_UNIVERSE_H
#define TG_BTREE_UNIVERSE_H

#include <string.h>

#include "runtime/mem/arena.h"
#include "runtime/mem/book.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/btree/btree_node.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define ARENA_BYTES ((size_t) 1 << 30)

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define EFFORT 1
#else
#define EFFORT 4
#endif

typedef struct key
{
	uint32_t length;
	unsigned char *bytes;
} key;

typedef struct universe
{
	unsigned count;
	key *keys;	   /* sorted, distinct */
	bool *present; /* the oracle */
} universe;

static tg_session *main_session;
static tg_book book = {.granted = TG_QUOTA_NONE}; /* of all trees */

/* --- keys ----------------------------------------------------------------------- */

typedef enum shape
{
	SHAPE_DENSE,  /* consecutive 8-byte integers */
	SHAPE_SPARSE, /* random 8-byte integers */
	SHAPE_FEW,	  /* 0 to 12 bytes of four letters, zero among them: many are prefixes of others */
	SHAPE_CHAIN,  /* each key is the one before it and a zero byte */
	SHAPE_SHARED, /* 60 bytes from a few, then some random ones */
	SHAPE_SKEWED, /* many keys that differ only beyond the head, and a few that differ at once */
	SHAPE_LONG,	  /* up to the longest, random */
	/* all of the greatest length; they differ in the last bytes only, or in the first */
	SHAPE_LONGEST,
	SHAPE_MIXED, /* any of the others */
	SHAPE_COUNT
} shape;

static const char *const shape_names[SHAPE_COUNT] = {"dense",  "sparse", "few letters", "chain", "shared prefix",
													 "skewed", "long",	 "longest",		"mixed"};

static inline void
put_integer(unsigned char *bytes, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char) (value >> (56 - 8 * i));
}

static inline unsigned
make_key(shape kind, unsigned number, uint64_t *state, unsigned char *bytes)
{
	static const unsigned char letters[4] = {0, 1, 'a', 255};
	unsigned length = 0;

	switch (kind)
	{
		case SHAPE_DENSE:
			put_integer(bytes, UINT64_C(0x8000000000000000) + number);
			return 8;
		case SHAPE_SPARSE:
			put_integer(bytes, unit_random(state));
			return 8;
		case SHAPE_FEW:
			length = unit_below(state, 13);
			for (unsigned i = 0; i < length; i++)
				bytes[i] = letters[unit_below(state, 4)];
			return length;
		case SHAPE_CHAIN:
			memset(bytes, 0, TG_KEY_BYTES_MAX);
			return number % TG_KEY_BYTES_MAX;
		case SHAPE_SHARED:
			memset(bytes, 'p' + (int) unit_below(state, 3), 60);
			bytes[unit_below(state, 60)] = 'q';
			length = 60 + unit_below(state, 20);
			for (unsigned i = 60; i < length; i++)
				bytes[i] = letters[unit_below(state, 4)];
			return length;
		case SHAPE_SKEWED:
			memset(bytes, 'm', 30);
			put_integer(bytes + 20, unit_random(state));
			if (unit_below(state, 40) == 0)
				bytes[unit_below(state, 20)] = (unsigned char) unit_below(state, 256);
			return 28;
		case SHAPE_LONG:
			length = unit_below(state, TG_KEY_BYTES_MAX + 1);
			memset(bytes, 'l', length);
			for (unsigned i = 0; i < 4; i++)
			{
				if (length > 0)
					bytes[unit_below(state, length)] = (unsigned char) unit_below(state, 256);
			}
			return length;
		case SHAPE_LONGEST:
			memset(bytes, 'x', TG_KEY_BYTES_MAX);
			if (unit_below(state, 2) == 0)
				bytes[unit_below(state, 3)] = (unsigned char) unit_below(state, 256);
			put_integer(bytes + TG_KEY_BYTES_MAX - 8, unit_below(state, 1000));
			return TG_KEY_BYTES_MAX - unit_below(state, 3);
		case SHAPE_MIXED:
		case SHAPE_COUNT:
			break;
	}
	return make_key((shape) unit_below(state, SHAPE_MIXED), number, state, bytes);
}

static inline int
compare_keys(const void *left, const void *right)
{
	const key *a = left;
	const key *b = right;
	int order = memcmp(a->bytes, b->bytes, a->length < b->length ? a->length : b->length);

	if (order != 0)
		return order;
	return a->length < b->length ? -1 : a->length > b->length;
}

static inline bool
starts_with(const key *whole, const key *start)
{
	return whole->length >= start->length && memcmp(whole->bytes, start->bytes, start->length) == 0;
}

static inline universe
make_universe(shape kind, unsigned count, uint64_t seed)
{
	uint64_t state = seed;
	universe world = {0, malloc(count * sizeof(key)), calloc(count, sizeof(bool))};
	unsigned kept = 0;

	for (unsigned i = 0; i < count; i++)
	{
		unsigned char bytes[TG_KEY_BYTES_MAX];
		unsigned length = make_key(kind, i, &state, bytes);

		world.keys[i].length = length;
		world.keys[i].bytes = malloc(length + 1);
		memcpy(world.keys[i].bytes, bytes, length);
	}
	qsort(world.keys, count, sizeof(key), compare_keys);
	for (unsigned i = 0; i < count; i++)
	{
		if (kept > 0 && compare_keys(&world.keys[kept - 1], &world.keys[i]) == 0)
			free(world.keys[i].bytes);
		else
			world.keys[kept++] = world.keys[i];
	}
	world.count = kept;
	return world;
}

static inline void
free_universe(universe *world)
{
	for (unsigned i = 0; i < world->count; i++)
		free(world->keys[i].bytes);
	free(world->keys);
	free(world->present);
}

static inline tg_btree *
make_tree(void)
{
	tg_btree *tree;

	if (tg_btree_create(main_session, &book, TG_DATA, &tree) != TG_OK)
		abort();
	return tree;
}

static inline tg_status
insert_key(tg_session *session, tg_btree *tree, const universe *world, unsigned rank, uint32_t *row, tg_claim claim)
{
	tg_status status;

	*row = rank;
	tg_epoch_enter(session);
	status = tg_btree_insert(session, tree, world->keys[rank].bytes, world->keys[rank].length, row, claim);
	tg_epoch_leave(session);
	return status;
}

static inline tg_status
remove_key(tg_session *session, tg_btree *tree, const universe *world, unsigned rank, uint32_t row)
{
	tg_status status;

	tg_epoch_enter(session);
	status = tg_btree_remove(session, tree, world->keys[rank].bytes, world->keys[rank].length, row);
	tg_epoch_leave(session);
	return status;
}

/* TG_OK only with the right row. */
static inline tg_status
find_key(tg_session *session, tg_btree *tree, const universe *world, unsigned rank)
{
	uint32_t row = UINT32_MAX;
	tg_status status;

	tg_epoch_enter(session);
	status = tg_btree_find(tree, world->keys[rank].bytes, world->keys[rank].length, &row);
	tg_epoch_leave(session);
	return status == TG_OK && row != rank ? TG_CHANGED : status;
}

/* --- ranges ------------------------------------------------------------------------- */

typedef struct range
{
	const key *low; /* NULL: open */
	const key *high;
	bool low_inclusive;
	bool high_inclusive;
	bool backward;
} range;

static inline void
open_cursor(tg_btree_cursor *cursor, tg_btree *tree, const range *bounds)
{
	tg_btree_cursor_init(cursor, tree, bounds->low == NULL ? NULL : bounds->low->bytes,
						 bounds->low == NULL ? 0 : bounds->low->length, bounds->low_inclusive,
						 bounds->high == NULL ? NULL : bounds->high->bytes,
						 bounds->high == NULL ? 0 : bounds->high->length, bounds->high_inclusive, bounds->backward);
}

static inline bool
finds_agree(tg_btree *tree, const universe *world)
{
	for (unsigned rank = 0; rank < world->count; rank++)
	{
		if (find_key(main_session, tree, world, rank) != (world->present[rank] ? TG_OK : TG_NOT_FOUND))
			return false;
	}
	return true;
}

/* --- the program ------------------------------------------------------------------ */

static inline bool
open_arena(void)
{
	tg_arena_config config = {.reserve_bytes = 2 * ARENA_BYTES, .limit_bytes = ARENA_BYTES, .session_max = 16};

	return tg_arena_create(&config) == TG_OK && tg_session_open(&main_session) == TG_OK;
}

/* Checks that nothing is left over. */
static inline void
close_arena(void)
{
	tg_arena_report report;

	tg_epoch_advance();
	tg_epoch_advance();
	tg_retire_poll(main_session);
	tg_arena_report_get(&report);
	unit_equal(report.used_by[TG_USE_INDEX], 0, "all memory was given back");
	tg_session_close(main_session);
	tg_arena_destroy();
}

#endif /* TG_BTREE_UNIVERSE_H */
