/*
 * cover_scan.c
 *	  Scans by conditions on a column of which an index has covers.
 *
 *	room = 5 AND during && '[8,10)' AND during @> 9
 *	└ key ─┘     └──── ranges of covers, in both ────┘
 *
 * For each condition the ranges of covers are told in which all values lie that it may hold for (cover.h).  A value has one
 * cover; so what lies in ranges of all conditions is what is read, and a version comes once.  The conditions are evaluated on each
 * row by the executor.
 *
 * How many ranges there are depends on how large values are, and where: so the index is asked first
 * which sizes there are (cover_look.h), a look-up or two each.  That is a hint; a size, or a place,
 * that somebody is the first to bring meanwhile is among the ranges all the same.
 *
 * Of figures, where nobody has to note what was read, there is one range with a sieve instead: windows in the plane, one for each level, which
 * of a key that is not wanted say where to go on (plane.c).
 *
 * Who wants the nearest rows first (nearest.c) has this done for one box after the other: what may be as near as it reaches is
 * one condition more.
 *
 * SERIALIZABLE: a row that is wanted, whoever writes it and whenever, has its key in one of these ranges, of which range_scan.c notes
 * each as it is read, those without rows, too.
 */
#include "postgres.h"

#include "src/exec/cover_scan.h"

#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"

#include "src/txn/isolation.h"
#include "src/value/cover.h"
#include "src/value/cover_look.h"
#include "src/value/plane.h"

/* What is wanted behind a beginning that all keys have. */
typedef struct Sieve
{
	tg_btree_sieve sieve;
	size_t before_bytes;
	tsurugi_plane_windows windows;
} Sieve;

#define AROUND_MAX 16										  /* entries that are looked at on either side of a place */
#define COVER_KEY_BYTES_MAX (2 * TSURUGI_COVER_BYTES_MAX + 1) /* in a key, each byte escaped */

typedef struct CoverSource
{
	tsurugi_range_source range;
	int condition_count;
	Oid *functions;			   /* of the conditions' operators */
	tsurugi_key_value *values; /* what they are compared with, among the keys' */
	Oid measure;			   /* the function by which rows are near, */
	const BOX *box;			   /* and, if this is not NULL, they have to be as near as it reaches */

	/* with the values of the columns before that have their turn: */
	bool made;
	int turn;
	int range_count; /* 1, by the sieve */
	bool sifts;
	Sieve sieve;
	tsurugi_cover_range *ranges;
	tsurugi_cover_range *more; /* room, of either for what all conditions together may have */
} CoverSource;

/* The column of the index that there are covers of. */
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

/* Of one condition, behind the last one of the box; their number, 0 also of NULL. */
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
	datum = tsurugi_scan_value_of(covers->range.source.scan, value, &null);
	return null ? 0 : tsurugi_cover_query(covers->functions[condition], type, value->type, datum, levels, ranges);
}

/* --- by windows ----------------------------------------------------------------------------- */

/* The first bytes of a cover, at least, of which a key has some; what is missing is 0.  Not descending: no index with covers is. */
static void
read_cover(const unsigned char *key, size_t key_bytes, size_t at, unsigned char *cover)
{
	/* half of what stands for one byte may be one, or what is cut off is less */
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
	return tg_key_append(next, own->before_bytes, &part, TG_KIND_STRING, &value) - 1; /* but for what ends it */
}

/* False: they need not, or cannot be, used here. */
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
	if (bytes > TG_KEY_BYTES_MAX - COVER_KEY_BYTES_MAX) /* SIZE_MAX, too */
		return false;
	covers->sieve.sieve.next = next_key;
	covers->sieve.before_bytes = bytes;
	tsurugi_plane_windows_init(&covers->sieve.windows);
	covers->range_count = 1;
	for (int i = 0; i < covers->condition_count; i++)
	{
		bool null;
		Datum datum = tsurugi_scan_value_of(covers->range.source.scan, &covers->values[i], &null);

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

/* --- by ranges ---------------------------------------------------------------------------------- */

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

/* --- what there is around a place ----------------------------------------------------------------- */

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
		end->bytes = TG_KEY_BYTES_MAX; /* on the same side of all keys */
}

/* Covers of keys from one on, or before one, of the same level, which is at key[level_at]; how many. */
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
	if (level_at > TG_KEY_BYTES_MAX - COVER_KEY_BYTES_MAX) /* SIZE_MAX, too */
		return 0;
	append(column, cover, &first);
	tg_epoch_enter(session_of(covers));
	found = read_covers(tree_of(covers), first.key, first.bytes, level_at, false, count, covers_out);
	found += read_covers(tree_of(covers), first.key, first.bytes, level_at, true, count, covers_out + found);
	tg_epoch_leave(session_of(covers));
	return found;
}

/* --- turns ----------------------------------------------------------------------------------- */

/* Nothing is asked for: NULLs are wanted, too. */
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

	/* the columns before */
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

/* The next range, or the first one with the next values of the columns before. */
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
