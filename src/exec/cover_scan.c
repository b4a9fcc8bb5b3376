/*
 * cover_scan.c
 *	  Scans by conditions on a column for which an index has covers.
 *
 *	room = 5 AND during && '[8,10)' AND during @> 9
 *	└ key ─┘     └──── ranges of covers, in both ────┘
 *
 * Each condition has ranges of covers in which all values lie that may meet it (cover.h).  The
 * intersection of the ranges of all conditions is read.  A value has one cover, so each version is
 * found once.  The executor evaluates the conditions on each row.
 *
 * The number of ranges depends on the sizes of values and on their places.  So the index is asked
 * first which sizes exist (cover_look.h), with one or two look-ups for each.  The answer is a hint:
 * the ranges also contain sizes and places that another transaction is the first to use in the
 * meantime.
 *
 * For figures, if the reads need not be noted, there is one range with a sieve instead.  The sieve
 * is a set of windows in the plane, one for each level.  For a key that is not wanted it tells
 * where to continue (plane.c).
 *
 * For the nearest rows (nearest.c) this is done for one box after the other.  The box is one more
 * condition: a value may be no farther away than it reaches.
 *
 * SERIALIZABLE: a wanted row, whichever transaction writes it and at whatever time, has its key in
 * one of these ranges.  range_scan.c notes each of them as it is read, even if it has no rows.
 */
#include "postgres.h"

#include "src/exec/cover_scan.h"

#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"

#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/exec/range_scan.h"
#include "src/txn/isolation.h"
#include "src/value/cover.h"
#include "src/value/cover_look.h"
#include "src/value/plane.h"

/* The wanted covers, behind a beginning that is common to all keys. */
typedef struct Sieve
{
	tg_btree_sieve sieve;
	size_t before_bytes;
	tsurugi_plane_windows windows;
} Sieve;

#define AROUND_MAX 16										  /* entries on each side */
#define COVER_KEY_BYTES_MAX (2 * TSURUGI_COVER_BYTES_MAX + 1) /* in a key: each byte escaped */

typedef struct CoverSource
{
	tsurugi_range_source range;
	int condition_count;
	Oid *functions;			   /* the functions of the conditions' operators */
	tsurugi_key_value *values; /* the values compared with; a part of the keys' values */
	Oid measure;			   /* the function of the distance for nearest rows */
	const BOX *box;			   /* rows must be within its reach; NULL: all rows */

	/* for the present values of the columns before */
	bool made;
	int turn;
	int range_count; /* 1 with the sieve */
	bool sifts;
	Sieve sieve;
	tsurugi_cover_range *ranges;
	tsurugi_cover_range *more; /* each array has room for the ranges of all conditions */
} CoverSource;

/* The column of the index that has covers. */
static const tsurugi_key_column *
column_of(const CoverSource *covers)
{
	return &covers->range.keys.index->key[covers->range.keys.shape.fixed_count];
}

static tg_btree *
tree_of(const CoverSource *covers)
{
	return covers->range.keys.stored->tree;
}

static tg_session *
session_of(const CoverSource *covers)
{
	return covers->range.source.scan->session;
}

/*
 * Makes the ranges of one condition; the box counts as the last one.  Returns their number; 0 for
 * NULL.
 */
static int
query(CoverSource *covers, int condition, const tsurugi_cover_levels *levels, tsurugi_cover_range *ranges)
{
	Oid type = column_of(covers)->type;
	const tsurugi_key_value *value;
	Datum datum;
	bool null;

	if (condition == covers->condition_count)
		return tsurugi_cover_query(covers->measure, type, BOXOID, BoxPGetDatum(covers->box), levels, ranges);
	value = &covers->values[condition];
	datum = tsurugi_key_value_of(&covers->range.source.scan->node->ss.ps, value, &null);
	return null ? 0 : tsurugi_cover_query(covers->functions[condition], type, value->type, datum, levels, ranges);
}

/* --- by windows ----------------------------------------------------------------------------- */

/*
 * Reads the beginning of a cover from a key; missing bytes are 0.  Indexes with covers are never
 * descending.
 */
static void
read_cover(const unsigned char *key, size_t key_bytes, size_t at, unsigned char *cover)
{
	/* a last byte of 1 may be half of an escaped byte; without it the cover is no greater */
	while (key_bytes > at && key[key_bytes - 1] == 1)
		key_bytes--;
	tg_key_string_bytes(key, key_bytes, at, cover, TSURUGI_COVER_BYTES_MAX);
}

static size_t
next_key(const tg_btree_sieve *sieve, const unsigned char *key, size_t key_bytes, unsigned char *next)
{
	const Sieve *own = (const Sieve *) sieve;
	unsigned char cover[TSURUGI_COVER_BYTES_MAX];
	unsigned char first[TSURUGI_COVER_BYTES_MAX];
	const tg_key_part part = {.code = TG_KEY_STRING};
	tg_value value;

	if (key_bytes <= own->before_bytes)
		return 0;
	read_cover(key, key_bytes, own->before_bytes, cover);
	if (tsurugi_plane_windows_have(&own->windows, cover, first))
		return 0;
	memcpy(next, key, own->before_bytes);
	tg_string_make_inline(&value.string, first, TSURUGI_PLANE_BYTES);
	return tg_key_append(next, own->before_bytes, &part, TG_KIND_STRING, &value) -
		   1; /* without the byte that ends it */
}

/* Makes the windows of the sieve; false: windows are not necessary or not possible here. */
static bool
make_windows(CoverSource *covers, const tsurugi_range_end *before)
{
	const tsurugi_key_column *column = column_of(covers);
	unsigned char beginning[TG_KEY_BYTES_MAX + 1];
	size_t bytes;

	if (tsurugi_tracks || !tsurugi_plane_has(column->type))
		return false;
	memcpy(beginning, before->key, before->bytes);
	bytes = tg_key_append_not_null(beginning, before->bytes, &column->part);
	if (bytes > TG_KEY_BYTES_MAX - COVER_KEY_BYTES_MAX) /* true for SIZE_MAX, too */
		return false;
	covers->sieve.sieve.next = next_key;
	covers->sieve.before_bytes = bytes;
	tsurugi_plane_windows_init(&covers->sieve.windows);
	covers->range_count = 1;
	for (int i = 0; i < covers->condition_count; i++)
	{
		bool null;
		Datum datum = tsurugi_key_value_of(&covers->range.source.scan->node->ss.ps, &covers->values[i], &null);

		if (null)
			covers->range_count = 0;
		else
			tsurugi_plane_windows_narrow(covers->functions[i], getBaseType(covers->values[i].type), datum,
										 &covers->sieve.windows);
	}
	if (covers->box != NULL)
		tsurugi_plane_windows_narrow(covers->measure, BOXOID, BoxPGetDatum(covers->box), &covers->sieve.windows);
	tsurugi_plane_windows_range(&covers->sieve.windows, covers->ranges);
	return true;
}

static void
prepare(tsurugi_range_source *source)
{
	const CoverSource *covers = (const CoverSource *) source;

	source->range->cursor.sieve = covers->sifts ? &covers->sieve.sieve : NULL;
}

/* --- by ranges -------------------------------------------------------------------------------- */

static void
make_ranges(CoverSource *covers, const tsurugi_range_end *before)
{
	tsurugi_cover_levels levels;
	tsurugi_cover_range one[TSURUGI_COVER_RANGES_MAX];
	int count = covers->condition_count + (covers->box != NULL);

	tsurugi_covers_look(session_of(covers), tree_of(covers), column_of(covers), before->key, before->bytes, &levels);
	covers->range_count = query(covers, 0, &levels, covers->ranges);
	for (int i = 1; i < count && covers->range_count > 0; i++)
	{
		tsurugi_cover_range *all = covers->more;

		covers->range_count =
			tsurugi_cover_intersect(covers->ranges, covers->range_count, one, query(covers, i, &levels, one), all);
		covers->more = covers->ranges;
		covers->ranges = all;
	}
}

/* --- what there is around a place ------------------------------------------------------------- */

uint64
tsurugi_covers_present(tsurugi_range_source *source)
{
	CoverSource *covers = (CoverSource *) source;
	tsurugi_cover_levels levels = {.present = 0};
	tsurugi_range_end first;
	tsurugi_range_end last;

	if (tsurugi_keys_make_range(&covers->range.keys, &first, &last))
		tsurugi_covers_look(session_of(covers), tree_of(covers), column_of(covers), first.key, first.bytes, &levels);
	return levels.present;
}

static void
append(const tsurugi_key_column *column, const unsigned char *cover, tsurugi_range_end *end)
{
	tg_value value;

	tg_string_make_inline(&value.string, cover, (unsigned) tsurugi_cover_bytes(column->type));
	end->bytes = tg_key_append(end->key, end->bytes, &column->part, TG_KIND_STRING, &value);
	if (end->bytes == SIZE_MAX)
		end->bytes = TG_KEY_BYTES_MAX; /* longer than any key, and on the same side of them */
}

/*
 * Reads covers of the level at key[level_at], from a key on or backward from it.  Returns their
 * number.
 */
static int
read_covers(tg_btree *tree, const unsigned char *key, size_t key_bytes, size_t level_at, bool backward, int count,
			unsigned char (*covers)[TSURUGI_COVER_BYTES_MAX])
{
	unsigned char room[2 * (TG_KEY_BYTES_MAX + sizeof(uint16))];
	tg_btree_keys keys = {.bytes = room, .capacity = sizeof(room)};
	uint32_t rows[AROUND_MAX];
	tg_btree_cursor cursor;
	int found;

	tg_btree_cursor_init(&cursor, tree, key, backward ? level_at + 1 : key_bytes, true, key,
						 backward ? key_bytes : level_at + 1, !backward, backward);
	found = (int) tg_btree_cursor_next_keys(&cursor, rows, Min(count, AROUND_MAX), &keys);
	for (int i = 0, at = 0; i < found; i++)
	{
		uint16 bytes;

		memcpy(&bytes, room + at, sizeof(bytes));
		at += sizeof(bytes);
		tg_key_string_bytes(room + at, bytes, level_at, covers[i], TSURUGI_COVER_BYTES_MAX);
		at += bytes;
	}
	return found;
}

int
tsurugi_covers_around(tsurugi_range_source *source, const unsigned char *cover, int count,
					  unsigned char (*covers_out)[TSURUGI_COVER_BYTES_MAX])
{
	CoverSource *covers = (CoverSource *) source;
	const tsurugi_key_column *column = column_of(covers);
	tsurugi_range_end first;
	tsurugi_range_end last;
	size_t level_at;
	int found;

	if (!tsurugi_keys_make_range(&covers->range.keys, &first, &last))
		return 0;
	level_at = tg_key_append_not_null(first.key, first.bytes, &column->part);
	if (level_at > TG_KEY_BYTES_MAX - COVER_KEY_BYTES_MAX) /* true for SIZE_MAX, too */
		return 0;
	append(column, cover, &first);
	tg_epoch_enter(session_of(covers));
	found = read_covers(tree_of(covers), first.key, first.bytes, level_at, false, count, covers_out);
	found += read_covers(tree_of(covers), first.key, first.bytes, level_at, true, count, covers_out + found);
	tg_epoch_leave(session_of(covers));
	return found;
}

/* --- turns ----------------------------------------------------------------------------------- */

/* Whether there is no condition: NULLs are wanted, too. */
static bool
is_whole(const CoverSource *covers)
{
	return covers->condition_count == 0 && covers->box == NULL;
}

static void
make(CoverSource *covers, const tsurugi_range_end *before)
{
	ExprContext *context = covers->range.source.scan->node->ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);

	covers->made = true;
	covers->turn = 0;
	covers->range_count = 1;
	covers->sifts = !is_whole(covers) && make_windows(covers, before);
	if (!covers->sifts && !is_whole(covers))
		make_ranges(covers, before);
	MemoryContextSwitchTo(caller);
}

static bool
make_range(tsurugi_range_source *source, tsurugi_range_end *first, tsurugi_range_end *last)
{
	CoverSource *covers = (CoverSource *) source;
	const tsurugi_key_column *column = column_of(covers);

	/* the values of the columns before */
	if (!tsurugi_keys_make_range(&covers->range.keys, first, last))
		return false;
	if (!covers->made)
		make(covers, first);
	if (covers->turn >= covers->range_count)
		return false;
	if (!is_whole(covers))
	{
		append(column, covers->ranges[covers->turn].low, first);
		append(column, covers->ranges[covers->turn].high, last);
	}
	return true;
}

/* Goes on to the next range, or to the first range with the next values of the columns before. */
static bool
next_range(tsurugi_range_source *source)
{
	CoverSource *covers = (CoverSource *) source;

	if (covers->made && ++covers->turn < covers->range_count)
		return true;
	covers->made = false;
	return tsurugi_keys_next_turn(&source->keys);
}

static void
forget(tsurugi_range_source *source)
{
	((CoverSource *) source)->made = false;
}

void
tsurugi_covers_near(tsurugi_range_source *source, Oid measure, const BOX *box)
{
	CoverSource *covers = (CoverSource *) source;

	covers->measure = measure;
	covers->box = box;
	covers->made = false;
	tsurugi_range_again(source);
}

/* --- making ---------------------------------------------------------------------------------- */

tsurugi_range_source *
tsurugi_cover_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values)
{
	static const tsurugi_range_methods methods = {
		.make = make_range, .next_turn = next_range, .prepare = prepare, .forget = forget};
	const tsurugi_shape *shape = &access->shape;
	CoverSource *covers = palloc0(sizeof(*covers));
	tsurugi_keys *keys = &covers->range.keys;
	int count = shape->covers;

	tsurugi_range_source_init(&covers->range, &methods, scan, access, values);
	covers->condition_count = count;
	covers->values = keys->values + keys->value_count - tsurugi_shape_near_count(shape) - count;
	covers->functions = palloc(Max(count, 1) * sizeof(Oid));
	for (int i = 0; i < count; i++)
		covers->functions[i] = get_opcode(list_nth_oid(access->sought_operators, i));
	count += tsurugi_shape_near_count(shape);
	covers->ranges = palloc(count * TSURUGI_COVER_RANGES_MAX * sizeof(tsurugi_cover_range));
	covers->more = palloc(count * TSURUGI_COVER_RANGES_MAX * sizeof(tsurugi_cover_range));
	return &covers->range;
}
