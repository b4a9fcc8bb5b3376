/*
 * look_up.c
 *	  Small builds: a scan that probes one looks its keys up in an index, and reads no other rows.
 *
 * When a step begins, the builds that it probes are complete, and their rows are counted.  Where
 * these are few, and the step's table has an index whose first columns are keys of the probe, the
 * keys of the build are encoded as the index's, sorted, and the index is read at these places alone
 * (a sieve, btree.h).  It is an index join with the build as its outer side.  Nothing else changes:
 * the rows that are found go through the step's filters and probes like those of a range.
 *
 *		build of orders, 3 rows: id 7, 9, 1000  ->  scan of items: order_id in (7, 9, 1000)
 *
 * So nobody has to foretell how many rows a build has.  It is decided when that is known, and a
 * scan that would have been an index join has turned over to a hash join before it began.
 *
 * 1. The keys are those that have bounds (bound.c, 1), of a probe that drops rows without a match,
 *	  and in front of which nothing may fail (bound.c, 2).  So the rows that are not read are ones
 *	  that would be dropped.  A row of the build with a NULL key, or one that the column's kind has
 *	  no room for, finds nothing.
 * 2. All encoded keys have the same length: their parts are integers.  None comes twice, so no row
 *	  does: of an index a row has one key as of the query's snapshot (index.h).
 * 3. What the index finds of a few of the keys, or may find, tells how many rows there will be; a
 *	  key that very many rows have makes the scan cheaper.
 * 4. The host lists the indexes that may be read.  One that is younger than the snapshot is not.
 * 5. The range of a morsel goes from the first of its keys to the last one.  Its memory is the
 *	  query's, and is not there if memory is short: then all rows are read.
 */
#include "runtime/query/query_internal.h"

#include <string.h>

#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/table/table.h"

#define KEYS_A_MORSEL 256
#define KEYS_TRIED 16 /* to estimate the rows (3) */

/* Nanoseconds of one core. */
#define NS_ROW 8 /* of a whole table, which mostly finds nothing */

/* Keys in their order: a sieve that lets through what begins with one of them. */
typedef struct key_sieve
{
	tg_btree_sieve sieve; /* first */
	uint32_t count;
	uint32_t bytes; /* of each */
	const unsigned char *keys;
} key_sieve;

/* A way to look rows up. */
typedef struct way
{
	const tg_operator *probe;
	const tg_hash_table *build;
	tg_index *index; /* NULL: the primary key */
	const tg_key_spec *spec;
	unsigned part_count;			 /* the first parts of its key, */
	uint8_t keys[TG_KEY_COLUMN_MAX]; /* and which key of the probe each of them is */
} way;

/* --- keys --------------------------------------------------------------------------------- */

static size_t
next_key(const tg_btree_sieve *sieve, const unsigned char *key, size_t key_bytes, unsigned char *next)
{
	const key_sieve *own = (const key_sieve *) sieve;
	uint32_t low = 0;
	uint32_t high = own->count;

	/* how many are not above the key */
	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (tg_key_compare(own->keys + (size_t) middle * own->bytes, own->bytes, key, key_bytes) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (low > 0 && key_bytes >= own->bytes && memcmp(own->keys + (size_t) (low - 1) * own->bytes, key, own->bytes) == 0)
		return 0;
	if (low < own->count)
	{
		memcpy(next, own->keys + (size_t) low * own->bytes, own->bytes);
		return own->bytes;
	}
	/* behind all of them */
	memset(next, 0xff, TG_KEY_BYTES_MAX);
	return TG_KEY_BYTES_MAX;
}

static bool
has_room(tg_kind kind, int64_t value)
{
	unsigned shift = kind < TG_KIND_8 ? 64 - (8u << kind) : 0;

	return kind >= TG_KIND_8 || (int64_t) ((uint64_t) value << shift) >> shift == value;
}

/* The key of a row of the build, as the index's; 0: it finds nothing (1). */
static size_t
encode(const way *way, const uint8_t *kinds, tg_row *row, unsigned char *key)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < way->part_count; i++)
	{
		const tg_key_part *part = &way->spec->part[i];
		int64_t word = *(const int64_t *) tg_row_field(&way->build->layout, row, way->keys[i]);
		__int128 wide = word;
		tg_value value = {.word = (uint64_t) word};

		if (tg_row_nulls(row)[way->keys[i]] != 0 || !has_room((tg_kind) kinds[part->column], word))
			return 0;
		if (kinds[part->column] == TG_KIND_16)
			memcpy(value.bytes, &wide, sizeof(wide));
		bytes = tg_key_append(key, bytes, part, (tg_kind) kinds[part->column], &value);
	}
	return bytes;
}

/* The length of all keys (2). */
static size_t
bytes_of_key(const way *way, const uint8_t *kinds)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	const tg_value zero = {.word = 0};
	size_t bytes = 0;

	for (unsigned i = 0; i < way->part_count; i++)
		bytes = tg_key_append(key, bytes, &way->spec->part[i], (tg_kind) kinds[way->spec->part[i].column], &zero);
	return bytes;
}

/* Sinks a key of a heap, the greatest of which is at its top, to its place. */
static void
sink(unsigned char *keys, size_t bytes, uint32_t at, uint32_t count)
{
	unsigned char moved[TG_KEY_BYTES_MAX];
	uint32_t child;

	memcpy(moved, keys + at * bytes, bytes);
	while ((child = 2 * at + 1) < count)
	{
		if (child + 1 < count && memcmp(keys + child * bytes, keys + (child + 1) * bytes, bytes) < 0)
			child++;
		if (memcmp(keys + child * bytes, moved, bytes) <= 0)
			break;
		memcpy(keys + at * bytes, keys + child * bytes, bytes);
		at = child;
	}
	memcpy(keys + at * bytes, moved, bytes);
}

/* Sorts keys, and returns how many different ones there are, which are the first. */
static uint32_t
sort_keys(unsigned char *keys, size_t bytes, uint32_t count)
{
	unsigned char moved[TG_KEY_BYTES_MAX];
	uint32_t different = 0;

	for (uint32_t i = count / 2; i > 0; i--)
		sink(keys, bytes, i - 1, count);
	for (uint32_t left = count; left > 1; left--)
	{
		memcpy(moved, keys + (left - 1) * bytes, bytes);
		memcpy(keys + (left - 1) * bytes, keys, bytes);
		memcpy(keys, moved, bytes);
		sink(keys, bytes, 0, left - 1);
	}
	for (uint32_t i = 0; i < count; i++)
		if (different == 0 || memcmp(keys + (different - 1) * bytes, keys + i * bytes, bytes) != 0)
			memmove(keys + different++ * bytes, keys + i * bytes, bytes);
	return different;
}

/* The different keys of the build, sorted. */
static bool
make_keys(tg_session *session, tg_query *query, const way *way, const uint8_t *kinds, key_sieve *sieve_out)
{
	size_t bytes = bytes_of_key(way, kinds);
	unsigned char *keys = tg_query_take(session, query, way->build->row_count * bytes + TG_KEY_BYTES_MAX);
	uint32_t count = 0;

	if (keys == NULL)
		return false;
	for (uint32_t i = 0; i < way->build->block_count; i++)
		for (uint32_t j = 0; j < way->build->blocks[i]->count; j++)
		{
			size_t made =
				encode(way, kinds, tg_row_at(&way->build->layout, way->build->blocks[i], j), keys + count * bytes);

			tg_assert(made == 0 || made == bytes);
			count += made != 0;
		}
	*sieve_out = (key_sieve){
		.sieve.next = next_key, .count = sort_keys(keys, bytes, count), .bytes = (uint32_t) bytes, .keys = keys};
	return true;
}

/* --- ways --------------------------------------------------------------------------------- */

/* Which key of the probe is a column of the table; -1: none. */
static int
key_of_column(const tg_operator *probe, const tg_hash_table *build, const tg_plan_table *table, unsigned column)
{
	for (unsigned i = 0; i < TG_KEYS_BOUNDED; i++)
	{
		const tg_input *input = (build->keys_bounded >> i & 1) != 0 ? tg_bounds_column(probe, i) : NULL;

		if (input != NULL && column == (table->columns != NULL ? table->columns[input->field] : input->field))
			return (int) i;
	}
	return -1;
}

static bool
is_integer(const tg_key_part *part)
{
	return part->code == TG_KEY_SIGNED || part->code == TG_KEY_UNSIGNED || part->code == TG_KEY_SIGNED16;
}

/* Sets how many of the first parts of the key can be made of the probe's keys, and of which. */
static void
match_parts(const tg_plan_table *table, way *way)
{
	for (way->part_count = 0; way->part_count < way->spec->part_count; way->part_count++)
	{
		const tg_key_part *part = &way->spec->part[way->part_count];
		int key = is_integer(part) ? key_of_column(way->probe, way->build, table, part->column) : -1;

		if (key < 0)
			return;
		way->keys[way->part_count] = (uint8_t) key;
	}
}

/* 4 */
static bool
can_be_read(const tg_query *query, const tg_index *index)
{
	return !tg_load_acquire(&index->filling) && !tg_index_is_retired(index) && !index->spec.partial &&
		   !index->spec.several && tg_load_acquire(&index->since) <= query->snapshot.time;
}

/* The index with the most parts that are keys of a probe; none: part_count is 0. */
static way
choose_index(const tg_query *query, const tg_plan_table *table, const tg_operator *probe)
{
	way best = {.part_count = 0};

	for (unsigned i = 0; i < table->index_count; i++)
	{
		way way = {.probe = probe, .build = &query->tables[probe->build], .index = table->indexes[i]};

		if (way.index != NULL && !can_be_read(query, way.index))
			continue;
		way.spec = way.index != NULL ? &way.index->spec.key : table->table->key;
		match_parts(table, &way);
		if (way.part_count > best.part_count)
			best = way;
	}
	return best;
}

/* The rows that the index has of the keys, estimated by some of them. */
static double
estimate_rows(const tg_plan_table *table, const way *way, const key_sieve *keys)
{
	tg_btree *tree = tg_index_tree(table->table, way->index);
	uint32_t step = keys->count / KEYS_TRIED + 1;
	unsigned tried = 0;
	double share = 0;

	for (uint32_t i = 0; i < keys->count; i += step, tried++)
	{
		const unsigned char *key = keys->keys + (size_t) i * keys->bytes;

		share += tg_btree_share(tree, key, keys->bytes, key, keys->bytes);
	}
	return tried == 0 ? 0 : share / tried * keys->count * tg_load_relaxed(&table->table->row_next);
}

/* Whether that costs less than to read the whole table. */
static bool
pays(const tg_query *query, const tg_plan_table *table, double keys, double rows)
{
	if (query->look_ups != 0)
		return query->look_ups > 0;
	return keys * TG_LOOK_UP_NS + rows * TG_LOOK_UP_NS_ROW < (double) tg_load_relaxed(&table->table->row_next) * NS_ROW;
}

/* --- ranges ------------------------------------------------------------------------------- */

/* 5.  False: there is no memory for them. */
static bool
make_ranges(tg_session *session, tg_query *query, const way *way, const key_sieve *keys, tg_plan_table *table)
{
	uint32_t count = (keys->count + KEYS_A_MORSEL - 1) / KEYS_A_MORSEL;
	tg_plan_range *ranges = tg_query_take(session, query, (count + 1) * sizeof(*ranges));
	key_sieve *sieves = tg_query_take(session, query, (count + 1) * sizeof(*sieves));

	if (ranges == NULL || sieves == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++)
	{
		uint32_t first = i * KEYS_A_MORSEL;
		uint32_t end = first + KEYS_A_MORSEL < keys->count ? first + KEYS_A_MORSEL : keys->count;

		sieves[i] = *keys;
		sieves[i].count = end - first;
		sieves[i].keys = keys->keys + (size_t) first * keys->bytes;
		ranges[i] = (tg_plan_range){.index = way->index,
									.low = sieves[i].keys,
									.high = keys->keys + (size_t) (end - 1) * keys->bytes,
									.low_bytes = keys->bytes,
									.high_bytes = keys->bytes,
									.low_inclusive = true,
									.high_inclusive = true,
									.sieve = &sieves[i].sieve};
	}
	table->by_ranges = true;
	table->range_count = count;
	table->ranges = ranges;
	return true;
}

/* Has a table read by the keys of a build, if that is better.  Returns how many there are. */
static uint32_t
look_up(tg_session *session, tg_query *query, const tg_operator *probe, tg_plan_table *table)
{
	const uint8_t *kinds = tg_table_columns(table->table).kinds;
	way way = choose_index(query, table, probe);
	key_sieve keys;
	double rows;

	if (way.part_count == 0 || !pays(query, table, (double) way.build->row_count, 0) ||
		!make_keys(session, query, &way, kinds, &keys))
		return 0;
	tg_epoch_enter(session);
	rows = estimate_rows(table, &way, &keys);
	tg_epoch_leave(session);
	return pays(query, table, keys.count, rows) && make_ranges(session, query, &way, &keys, table) ? keys.count : 0;
}

/* The probe with the fewest rows; NULL: there is none whose keys might be looked up. */
static const tg_operator *
choose_probe(const tg_query *query, const tg_plan_step *step)
{
	const tg_operator *best = NULL;

	for (unsigned at = tg_bounds_next(step, 0); at < step->operator_count; at = tg_bounds_next(step, at + 1))
	{
		const tg_operator *probe = &step->operators[at];
		const tg_hash_table *build = &query->tables[probe->build];

		if (build->keys_bounded != 0 && !build->in_files && build->row_count <= TG_LOOK_UPS_MAX &&
			(best == NULL || build->row_count < query->tables[best->build].row_count))
			best = probe;
	}
	return best;
}

void
tg_look_ups_begin(tg_session *session, tg_query *query)
{
	const tg_plan_step *step = &query->plan->steps[query->step];
	const tg_operator *probe = choose_probe(query, step);
	tg_plan_table *tables;

	query->sources = step->tables;
	if (probe == NULL)
		return;
	tables = tg_query_take(session, query, step->table_count * sizeof(*tables));
	if (tables == NULL)
		return;
	for (unsigned i = 0; i < step->table_count; i++)
	{
		uint32_t before = tg_table_morsels(&step->tables[i]);

		tables[i] = step->tables[i];
		if (tables[i].by_ranges)
			continue;
		query->reports[query->step].keys_looked_up += look_up(session, query, probe, &tables[i]);
		if (tables[i].by_ranges && query->job != NULL && before > tables[i].range_count)
			tg_job_progress(query->job, before - tables[i].range_count, 0); /* of which nothing has to be read */
	}
	query->sources = tables;
}
