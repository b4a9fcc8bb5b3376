/*
 * btree.c
 *	  The B+tree against a sorted array, by one thread; refused memory.
 *
 * The expected content of a range comes from the words in btree.h, applied to
 * each key, not from the tree's own notion of a bound.
 */
#include "runtime/btree/btree.h"

#include "runtime/base/failpoint.h"
#include "runtime/btree/btree_node.h"
#include "test/unit/btree_universe.h"
#include "test/unit/unit.h"

/* --- ranges ------------------------------------------------------------------------- */

static bool
is_in_range(const key *candidate, const range *bounds)
{
	if (bounds->low != NULL)
	{
		int order = compare_keys(candidate, bounds->low);

		if (bounds->low_inclusive ? order < 0 : order <= 0 || starts_with(candidate, bounds->low))
			return false;
	}
	if (bounds->high != NULL)
	{
		int order = compare_keys(candidate, bounds->high);

		if (bounds->high_inclusive ? order > 0 && !starts_with(candidate, bounds->high) : order >= 0)
			return false;
	}
	return true;
}

/* Scans a range of a tree at rest by batches of this size; is it what the oracle says? */
static bool
scan_agrees(tg_btree *tree, const universe *world, const range *bounds, unsigned batch)
{
	tg_btree_cursor cursor;
	uint32_t *rows = malloc(batch * sizeof(uint32_t)); /* exact, for AddressSanitizer */
	unsigned got = 0;
	unsigned next = 0;
	bool agrees = true;

	open_cursor(&cursor, tree, bounds);
	for (unsigned i = 0; i < world->count && agrees; i++)
	{
		unsigned rank = bounds->backward ? world->count - 1 - i : i;

		if (!world->present[rank] || !is_in_range(&world->keys[rank], bounds))
			continue;
		if (next == got)
		{
			tg_epoch_enter(main_session);
			got = tg_btree_cursor_next(&cursor, rows, batch);
			tg_epoch_leave(main_session);
			next = 0;
		}
		agrees = got > 0 && rows[next++] == rank;
	}
	tg_epoch_enter(main_session);
	agrees = agrees && next == got && tg_btree_cursor_next(&cursor, rows, batch) == 0 &&
			 tg_btree_cursor_next(&cursor, rows, batch) == 0;
	tg_epoch_leave(main_session);
	free(rows);
	return agrees;
}

/* A bound: often a key or the beginning of one, sometimes neither. */
static key
make_bound(const universe *world, uint64_t *state, unsigned char *bytes)
{
	const key *base = &world->keys[unit_below(state, world->count)];
	key bound = {base->length, bytes};

	memcpy(bytes, base->bytes, base->length);
	switch (unit_below(state, 5))
	{
		case 0:
			bound.length = unit_below(state, base->length + 1);
			break;
		case 1:
			if (base->length > 0)
				bytes[unit_below(state, base->length)] ^= (unsigned char) (1U << unit_below(state, 8));
			break;
		case 2:
			if (base->length < TG_KEY_BYTES_MAX)
				bytes[bound.length++] = (unsigned char) unit_below(state, 2);
			break;
		default:
			break;
	}
	return bound;
}

/* Ranges with all combinations of open, inclusive and exclusive bounds, both ways. */
static bool
ranges_agree(tg_btree *tree, const universe *world, uint64_t *state, unsigned rounds)
{
	static const unsigned batches[] = {1, 2, 3, 7, 64, 330, 1000, 100000};
	unsigned char low_bytes[TG_KEY_BYTES_MAX + 1];
	unsigned char high_bytes[TG_KEY_BYTES_MAX + 1];

	for (unsigned i = 0; i < rounds * 32; i++)
	{
		key low = make_bound(world, state, low_bytes);
		key high = make_bound(world, state, high_bytes);
		range bounds = {(i & 1) != 0 ? &low : NULL, (i & 2) != 0 ? &high : NULL, (i & 4) != 0, (i & 8) != 0,
						(i & 16) != 0};

		if (!scan_agrees(tree, world, &bounds, batches[unit_below(state, 8)]))
			return false;
	}
	return true;
}

/* --- one thread --------------------------------------------------------------------- */

/* One operation on one key, checked against the oracle. */
static bool
operate(tg_btree *tree, universe *world, unsigned rank, unsigned operation)
{
	bool present = world->present[rank];
	uint32_t row;

	switch (operation)
	{
		case 0:
			return find_key(main_session, tree, world, rank) == (present ? TG_OK : TG_NOT_FOUND);
		case 1:
			if (remove_key(main_session, tree, world, rank, rank + 1) != TG_NOT_FOUND)
				return false;
			world->present[rank] = false;
			return remove_key(main_session, tree, world, rank, rank) == (present ? TG_OK : TG_NOT_FOUND);
		default:
			world->present[rank] = true;
			return insert_key(main_session, tree, world, rank, &row, TG_DATA) == (present ? TG_EXISTS : TG_OK) &&
				   row == rank;
	}
}

static void
report_of(tg_btree *tree, tg_btree_report *report)
{
	tg_epoch_enter(main_session);
	tg_btree_report_get(tree, report);
	tg_epoch_leave(main_session);
}

static void
test_shape(shape kind)
{
	unsigned size = kind == SHAPE_LONG || kind == SHAPE_LONGEST || kind == SHAPE_CHAIN ? 700 : 4000;
	universe world = make_universe(kind, size, 42 + kind);
	tg_btree *tree = make_tree();
	uint64_t state = kind;
	tg_btree_report report;
	unsigned present = 0;
	bool agrees = true;

	for (unsigned i = 0; i < world.count * 8 && agrees; i++)
	{
		agrees = operate(tree, &world, unit_below(&state, world.count), unit_below(&state, 4));
		if (i % 256 == 0)
			tg_btree_check(tree);
	}
	unit_ok(agrees, "%s: insert, remove and find agree with the array", shape_names[kind]);
	tg_btree_check(tree);
	unit_ok(finds_agree(tree, &world), "%s: every key is found or not found", shape_names[kind]);
	unit_ok(ranges_agree(tree, &world, &state, EFFORT), "%s: ranges agree, both ways", shape_names[kind]);
	for (unsigned rank = 0; rank < world.count; rank++)
		present += world.present[rank];
	report_of(tree, &report);
	unit_equal(report.entries, present, "%s: report counts the entries (%" PRIu64 " nodes, height %u)",
			   shape_names[kind], report.nodes, report.height);
	if (kind == SHAPE_LONG || kind == SHAPE_LONGEST)
		unit_ok(report.bytes > report.nodes * TG_NODE_BYTES, "%s: there are large nodes", shape_names[kind]);

	/* runs of removals make leaves merge, and inserts split them again */
	for (unsigned rank = world.count / 5; rank < world.count; rank++)
	{
		if (rank < world.count / 2 || rank > world.count * 3 / 5)
			agrees = agrees && operate(tree, &world, rank, 1);
	}
	tg_btree_check(tree);
	unit_ok(agrees && ranges_agree(tree, &world, &state, EFFORT), "%s: ranges agree where leaves have gone",
			shape_names[kind]);
	for (unsigned rank = world.count; rank-- > 0;)
		agrees = agrees && operate(tree, &world, rank, 2);
	tg_btree_check(tree);
	unit_ok(agrees && finds_agree(tree, &world) && ranges_agree(tree, &world, &state, 1),
			"%s: and where they have come again", shape_names[kind]);
	for (unsigned rank = 0; rank < world.count; rank++)
		agrees = agrees && operate(tree, &world, rank, 1);
	tg_btree_check(tree);
	unit_ok(agrees && ranges_agree(tree, &world, &state, 1), "%s: an emptied tree is empty", shape_names[kind]);
	report_of(tree, &report);
	/* two fences of the longest keys leave a small node no room for a merge */
	unit_ok((report.nodes == 1 && report.height == 1) || (kind == SHAPE_LONG && report.nodes < 50),
			"%s: and is one leaf (%" PRIu64 " nodes, height %u)", shape_names[kind], report.nodes, report.height);
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

/* A queue: ascending keys come at the one end and go at the other. */
static void
test_queue(void)
{
	tg_btree *tree;
	tg_btree_report report;
	uint64_t nodes_max = 0;
	uint64_t first = 0;

	if (tg_btree_create(main_session, &book, TG_DATA, &tree) != TG_OK)
		abort();
	tg_epoch_enter(main_session);
	for (uint64_t next = 0; next < 60000; next++)
	{
		uint64_t key = __builtin_bswap64(next);
		uint32_t row = (uint32_t) next;

		if (tg_btree_insert(main_session, tree, &key, sizeof(key), &row, TG_DATA) != TG_OK)
			abort();
		for (; next - first > 1000 && next % 1000 == 999; first++)
		{
			key = __builtin_bswap64(first);
			if (tg_btree_remove(main_session, tree, &key, sizeof(key), (uint32_t) first) != TG_OK)
				abort();
		}
		if (next % 5000 == 4999)
		{
			tg_btree_check(tree);
			tg_btree_report_get(tree, &report);
			nodes_max = report.nodes > nodes_max ? report.nodes : nodes_max;
		}
	}
	tg_epoch_leave(main_session);
	unit_ok(nodes_max <= 12, "a queue of 2000 keys has at most %" PRIu64 " nodes", nodes_max);
	tg_btree_destroy(main_session, tree);
}

/*
 * A stack: ascending keys come and go at the same end, as those of a load that is
 * rolled back do.  One that came between them has split a leaf, so that the inner
 * node over it is full.  In the end its neighbour has one child and they merge if
 * there is room for all entries, and for the byte that their keys begin with.
 */
static void
test_stack(void)
{
	enum
	{
		COUNT = 100000
	};
	tg_btree *tree = make_tree();
	tg_btree_report report;
	bool agrees = true;

	tg_epoch_enter(main_session);
	for (unsigned i = 0; i <= 2 * COUNT; i++)
	{
		uint32_t row = i < COUNT ? 2 * i : i == COUNT ? 1001 : 2 * (2 * COUNT - i);
		unsigned char key[4] = {1, row >> 16, row >> 8 & 0xff, row & 0xff};

		agrees = agrees && (i <= COUNT ? tg_btree_insert(main_session, tree, key, sizeof(key), &row, TG_DATA)
									   : tg_btree_remove(main_session, tree, key, sizeof(key), row)) == TG_OK;
	}
	tg_epoch_leave(main_session);
	tg_btree_check(tree);
	tg_btree_report_get(tree, &report);
	unit_ok(agrees && report.nodes == 1, "a stack of %d keys goes as it came", COUNT);
	tg_btree_destroy(main_session, tree);
}

static void
test_batches(void)
{
	universe world = make_universe(SHAPE_MIXED, 700, 7);
	tg_btree *tree = make_tree();
	bool agrees = true;

	for (unsigned rank = 0; rank < world.count; rank++)
		agrees = agrees && operate(tree, &world, rank * 7919 % world.count, 2);
	for (unsigned batch = 1; batch <= world.count + 1 && agrees; batch += EFFORT == 1 ? 13 : 1)
	{
		range forward = {&world.keys[3], &world.keys[world.count - 5], true, false, false};
		range backward = {NULL, NULL, false, false, true};

		agrees = scan_agrees(tree, &world, &forward, batch) && scan_agrees(tree, &world, &backward, batch);
	}
	unit_ok(agrees, "cursors: every size of a batch");
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

static void
test_limits(void)
{
	tg_btree *tree = make_tree();
	unsigned char bytes[TG_KEY_BYTES_MAX + 1] = {0};
	range all = {NULL, NULL, true, true, false};
	tg_btree_cursor cursor;
	uint32_t row = 5;

	tg_epoch_enter(main_session);
	for (int backward = 0; backward < 2; backward++)
	{
		all.backward = backward;
		open_cursor(&cursor, tree, &all);
		unit_equal(tg_btree_cursor_next(&cursor, &row, 1), 0, "an empty tree has nothing to scan");
	}
	unit_ok(tg_btree_find(tree, bytes, 0, &row) == TG_NOT_FOUND, "an empty tree has no empty key");
	unit_ok(tg_btree_share(tree, NULL, 0, NULL, 0) == 1, "all of nothing");
	unit_ok(tg_btree_insert(main_session, tree, bytes, TG_KEY_BYTES_MAX + 1, &row, TG_DATA) == TG_TOO_LARGE,
			"a key of one byte too many is refused");
	unit_ok(tg_btree_insert(main_session, tree, bytes, TG_KEY_BYTES_MAX, &row, TG_DATA) == TG_OK,
			"the longest key is not");
	row = 6;
	unit_ok(tg_btree_insert(main_session, tree, bytes, 0, &row, TG_DATA) == TG_OK, "nor is the empty one");
	row = 7;
	unit_ok(tg_btree_insert(main_session, tree, bytes, 0, &row, TG_DATA) == TG_EXISTS && row == 6,
			"an insert hands out the row that is there");
	tg_epoch_leave(main_session);
	tg_btree_check(tree);
	tg_btree_destroy(main_session, tree);
}

/* Bytes per entry after inserting dense integers in an order. */
static double
fill_cost(unsigned count, int order)
{
	tg_btree *tree = make_tree();
	tg_btree_report report;
	unsigned char bytes[8];

	tg_epoch_enter(main_session);
	for (unsigned i = 0; i < count; i++)
	{
		uint32_t row = i;
		unsigned number = order > 0 ? i : order < 0 ? count - i : (unsigned) (i * UINT64_C(2654435761) % count);

		put_integer(bytes, UINT64_C(0x8000000000000000) + number);
		if (tg_btree_insert(main_session, tree, bytes, 8, &row, TG_DATA) != TG_OK)
			abort();
	}
	tg_btree_report_get(tree, &report);
	tg_epoch_leave(main_session);
	tg_btree_check(tree);
	tg_btree_destroy(main_session, tree);
	return (double) report.bytes / (double) report.entries;
}

static void
test_cost(void)
{
	double ascending = fill_cost(300007, 1);
	double descending = fill_cost(300007, -1);
	double scattered = fill_cost(300007, 0);

	unit_ok(ascending <= 13, "ascending integers: %.2f bytes an entry, inner nodes included", ascending);
	unit_ok(descending <= 13, "descending integers: %.2f", descending);
	unit_ok(scattered <= 20, "scattered integers: %.2f", scattered);
}

static void
test_share(void)
{
	universe world = make_universe(SHAPE_DENSE, 50000, 1);
	tg_btree *tree = make_tree();
	double error_max = 0;
	uint32_t row;

	for (unsigned rank = 0; rank < world.count; rank++)
		(void) insert_key(main_session, tree, &world, rank * 7919 % world.count, &row, TG_DATA);
	tg_epoch_enter(main_session);
	for (unsigned low = 0; low < world.count; low += 997)
	{
		for (unsigned high = low; high < world.count; high += 1009)
		{
			double share = tg_btree_share(tree, world.keys[low].bytes, 8, world.keys[high].bytes, 8);
			double error = share - (double) (high - low + 1) / world.count;

			error_max = error > error_max ? error : -error > error_max ? -error : error_max;
		}
	}
	unit_ok(error_max < 0.1, "share: wrong by %.4f at most", error_max);
	unit_ok(tg_btree_share(tree, NULL, 0, NULL, 0) == 1, "share: all is all");
	unit_ok(tg_btree_share(tree, world.keys[900].bytes, 8, world.keys[800].bytes, 8) == 0, "share: nothing is nothing");
	tg_epoch_leave(main_session);
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

/* --- runs ---------------------------------------------------------------------------- */

#define RUN_KEYS_MAX 100

/* Enters a run from a rank on: the keys of so many ranks, some left out, some twice. */
static bool
enter_run(tg_btree *tree, universe *world, unsigned first, unsigned length, uint64_t *state, tg_claim claim)
{
	tg_btree_entry entries[2 * RUN_KEYS_MAX];
	bool expected[2 * RUN_KEYS_MAX];
	unsigned ranks[2 * RUN_KEYS_MAX];
	unsigned count = 0;
	unsigned done;
	bool agrees;

	for (unsigned rank = first; rank < first + length && rank < world->count; rank++)
	{
		unsigned times = unit_below(state, 8);

		for (times = times < 6 ? 1 : times - 6; times > 0; times--)
		{
			expected[count] = world->present[rank];
			ranks[count] = rank;
			entries[count++] =
				(tg_btree_entry){.key = world->keys[rank].bytes, .key_bytes = world->keys[rank].length, .row = rank};
			world->present[rank] = true;
		}
		if (unit_below(state, 4) == 0 && count > 0 && ranks[count - 1] == rank)
		{
			expected[count] = true;
			ranks[count] = rank;
			entries[count] = entries[count - 1];
			entries[count++].row = UINT32_MAX; /* another row of the same key */
		}
	}
	tg_epoch_enter(main_session);
	agrees = tg_btree_insert_run(main_session, tree, entries, count, claim, &done) == TG_OK && done == count;
	tg_epoch_leave(main_session);
	for (unsigned i = 0; i < count && agrees; i++)
		agrees = entries[i].found == expected[i] && entries[i].row == ranks[i];
	return agrees;
}

static void
test_runs(shape kind)
{
	unsigned size = kind == SHAPE_LONG || kind == SHAPE_LONGEST || kind == SHAPE_CHAIN ? 700 : 4000;
	universe world = make_universe(kind, size, 142 + kind);
	tg_btree *tree = make_tree();
	uint64_t state = kind;
	bool agrees = true;

	for (unsigned i = 0; i < world.count / 4 && agrees; i++)
	{
		unsigned rank = unit_below(&state, world.count);

		agrees = enter_run(tree, &world, rank, 1 + unit_below(&state, RUN_KEYS_MAX), &state, TG_DATA);
		for (unsigned gone = 0; gone < 100 && agrees; gone++)
			agrees = operate(tree, &world, unit_below(&state, world.count), 1);
		if (i % 16 == 0)
			tg_btree_check(tree);
	}
	tg_btree_check(tree);
	unit_ok(agrees, "%s: runs find and insert what they should", shape_names[kind]);
	unit_ok(finds_agree(tree, &world) && ranges_agree(tree, &world, &state, 1), "%s: and the tree has it",
			shape_names[kind]);
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

/* Bytes per entry when two loads enter runs by turns, each into a half of the keys. */
static void
test_run_cost(void)
{
	enum
	{
		COUNT = 300000,
		RUN = 50
	};
	tg_btree *tree = make_tree();
	static unsigned char bytes[RUN][8];
	tg_btree_entry entries[RUN];
	tg_btree_report report;
	bool agrees = true;
	unsigned done;

	tg_epoch_enter(main_session);
	for (unsigned at = 0; at < COUNT / 2; at += RUN)
	{
		for (unsigned half = 0; half < 2; half++)
		{
			for (unsigned i = 0; i < RUN; i++)
			{
				uint32_t number = half * (COUNT / 2) + at + i;

				put_integer(bytes[i], UINT64_C(0x8000000000000000) + number);
				entries[i] = (tg_btree_entry){.key = bytes[i], .key_bytes = 8, .row = number};
			}
			agrees =
				agrees && tg_btree_insert_run(main_session, tree, entries, RUN, TG_DATA, &done) == TG_OK && done == RUN;
		}
	}
	tg_btree_report_get(tree, &report);
	tg_epoch_leave(main_session);
	tg_btree_check(tree);
	unit_ok(agrees && report.entries == COUNT && report.bytes <= COUNT * 14,
			"two ascending loads side by side: %.2f bytes an entry", (double) report.bytes / (double) report.entries);
	tg_btree_destroy(main_session, tree);
}

/* --- refused memory ------------------------------------------------------------------ */

#ifdef TG_FAILPOINTS

static unsigned claims_left; /* until one is refused */

static bool
refuse_claim(const char *name)
{
	return strcmp(name, "alloc") == 0 && claims_left-- == 0;
}

/* Claims are refused after so many more. */
static void
begin_refusal(unsigned claims)
{
	claims_left = claims;
	tg_failpoint_set(refuse_claim);
}

static void
end_refusal(void)
{
	tg_failpoint_set(NULL);
}

#else

/* Without failpoints: the limit leaves so many pages, beside what caches hold. */
static void
begin_refusal(unsigned claims)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	tg_arena_limit_set(report.committed + claims * (size_t) TG_PAGE_BYTES);
}

static void
end_refusal(void)
{
	tg_arena_limit_set(ARENA_BYTES);
}

#endif

/* Refuses each claim of each insert once. */
static void
test_refusal(shape kind)
{
	universe world = make_universe(kind, kind == SHAPE_LONG ? 400 : kind == SHAPE_SPARSE ? 20000 : 3000, 99);
	tg_btree *tree = make_tree();
	unsigned refused = 0;
	bool agrees = true;

	for (unsigned i = 0; i < world.count && agrees; i++)
	{
		unsigned rank = (unsigned) (i * UINT64_C(7919) % world.count);
		tg_status status = TG_NO_MEMORY;
		uint32_t row;

		if (world.present[rank])
			continue;
		for (unsigned claims = 0; status == TG_NO_MEMORY && claims < 10000; claims++)
		{
			begin_refusal(claims);
			status = insert_key(main_session, tree, &world, rank, &row, TG_DATA);
			end_refusal();
			if (status != TG_NO_MEMORY)
				break;
			agrees = agrees && find_key(main_session, tree, &world, rank) == TG_NOT_FOUND;
			tg_btree_check(tree);
			if (refused++ % 16 == 0)
				agrees = agrees && finds_agree(tree, &world);
		}
		agrees = agrees && status == TG_OK;
		world.present[rank] = true;
	}
	tg_btree_check(tree);
	unit_ok(refused > 0, "%s: memory was refused %u times", shape_names[kind], refused);
	unit_ok(agrees && finds_agree(tree, &world), "%s: and the tree stayed valid", shape_names[kind]);
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

/* Refuses each claim of a run: what is done is there, and the rest can be entered. */
static void
test_run_refusal(void)
{
	universe world = make_universe(SHAPE_LONG, 400, 98);
	tg_btree *tree = make_tree();
	unsigned refused = 0;
	bool agrees = true;

	for (unsigned first = 0; first < world.count && agrees; first += RUN_KEYS_MAX / 2)
	{
		tg_btree_entry entries[RUN_KEYS_MAX];
		unsigned count = 0;
		unsigned at = 0;

		for (unsigned i = first; i < world.count && count < RUN_KEYS_MAX; i++)
			entries[count++] =
				(tg_btree_entry){.key = world.keys[i].bytes, .key_bytes = world.keys[i].length, .row = i};
		for (unsigned claims = 0; at < count && claims < 10000 && agrees; claims++)
		{
			unsigned done;
			tg_status status;

			begin_refusal(claims);
			tg_epoch_enter(main_session);
			status = tg_btree_insert_run(main_session, tree, entries + at, count - at, TG_DATA, &done);
			tg_epoch_leave(main_session);
			end_refusal();
			for (unsigned i = at; i < at + done; i++)
			{
				agrees = agrees && entries[i].found == world.present[first + i] && entries[i].row == first + i;
				world.present[first + i] = true;
			}
			at += done;
			agrees = agrees && (status == TG_OK ? at == count : status == TG_NO_MEMORY);
			refused += status != TG_OK;
			tg_btree_check(tree);
		}
	}
	unit_ok(refused > 0, "a run was refused memory %u times", refused);
	unit_ok(agrees && finds_agree(tree, &world), "and what it says to have done is there");
	tg_btree_destroy(main_session, tree);
	free_universe(&world);
}

/* --- a look that was not valid ----------------------------------------------------------- */

#ifdef TG_FAILPOINTS

static tg_btree *looked_at;

/* Once, between a look at a leaf and the test whether it was valid: the key that was seen goes. */
static bool
remove_seven(const char *name)
{
	tg_btree *tree = looked_at;

	if (strcmp(name, "btree_read") != 0 || tree == NULL)
		return false;
	looked_at = NULL;
	if (tg_btree_remove(main_session, tree, "7", 1, 1) != TG_OK)
		unit_bail("the key is not there");
	return false;
}

/* A run whose key another session removes while it looks enters its own row, not the one seen. */
static void
test_run_seen(void)
{
	tg_btree *tree = make_tree();
	tg_btree_entry entry = {.key = (const unsigned char *) "7", .key_bytes = 1, .row = 2};
	uint32_t row = 1;
	unsigned done = 0;
	bool agrees;

	tg_epoch_enter(main_session);
	agrees = tg_btree_insert(main_session, tree, "7", 1, &row, TG_DATA) == TG_OK;
	looked_at = tree;
	tg_failpoint_set(remove_seven);
	agrees = agrees && tg_btree_insert_run(main_session, tree, &entry, 1, TG_DATA, &done) == TG_OK && done == 1;
	tg_failpoint_set(NULL);
	agrees = agrees && !entry.found && tg_btree_find(tree, "7", 1, &row) == TG_OK;
	tg_epoch_leave(main_session);
	unit_ok(agrees && looked_at == NULL, "a key that goes while a run looks for it is entered");
	unit_equal(row, 2, "with the row of the run");
	tg_btree_destroy(main_session, tree);
}

#endif

int
main(void)
{
	if (!open_arena())
		return 1;
	test_limits();
	for (shape kind = 0; kind < SHAPE_COUNT; kind++)
		test_shape(kind);
	test_queue();
	test_stack();
	test_batches();
	test_cost();
	test_share();
	for (shape kind = 0; kind < SHAPE_COUNT; kind++)
		test_runs(kind);
	test_run_cost();
	test_refusal(SHAPE_SPARSE);
	test_refusal(SHAPE_LONG);
	test_refusal(SHAPE_MIXED);
#ifdef TG_FAILPOINTS
	test_run_seen();
#endif
	test_run_refusal();
	close_arena();
	return unit_done();
}
