/*
 * gin_scan.c
 *	  Scans by conditions on an index USING gin.
 *
 * Each condition is asked once for the keys that it wants (extractQuery).  Only the operator class
 * can tell which combinations of keys make the condition accept a row (triConsistent, or
 * consistent).  Two sets of keys follow from its answers:
 *
 *	required	every wanted row has at least one of these keys.  So only their ranges are read.
 *				They are as few as possible, the rarest first (as in PostgreSQL's startScanKey).
 *				Of several conditions, only the one with the fewest entries has its ranges read.
 *	needed		every wanted row has all of these keys.  The storage passes over rows without one.
 *
 * The remaining question is asked for each row, with the keys of the version that the snapshot
 * sees, as the version's list of keys says.  Neither entries of other versions nor those of other
 * rows play a part.  So a condition that wants a key to be absent is treated as correctly as one
 * that wants it to be present.
 *
 * None of this has to be exact, because the plan's conditions are evaluated on every row that is
 * found; but no row may be missed.  It remains uncertain whether a row has a key if the key was cut
 * off, or if its range stands for keys that match by a comparison of the operator class (vague).
 *
 * SERIALIZABLE: a wanted row has a key in a range that was read, whichever transaction writes it
 * and at whatever time.  So validation has to look at these ranges again, and range_scan.c notes
 * each of them.
 */
#include "postgres.h"

#include "src/exec/gin_scan.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "runtime/mem/session.h"
#include "runtime/order/key.h"
#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/exec/range_scan.h"
#include "runtime/exec/sought.h"
#include "runtime/exec/vectors.h"
#include "src/value/gin.h"

#define MAYBE_MAX 4			/* unknown keys that are tried both ways if there is no triConsistent */
#define KEYS_JUDGED_MAX 128 /* with more keys, none is tested for being needed */
#define SHARE_OF_WHOLE 2.0	/* more than the share of any range */

/* A condition and the keys that it wants. */
typedef struct Condition
{
	int column; /* of the index */
	StrategyNumber strategy;
	Oid collation;
	tsurugi_key_value *value;
	FmgrInfo extract;
	FmgrInfo consistent;
	FmgrInfo tri_consistent;
	bool is_prefix; /* partial matches are the keys that begin with the given one */
	bool is_side;	/* partial matches are the keys on one side of the value */

	/* the keys that it wants in this execution */
	Datum query;
	int32 key_count;
	Datum *keys;
	bool *nulls;
	bool *partial;
	Pointer *extra;
	int32 mode;
	int *ranges; /* the range of each key */
	bool *vague; /* for each key: an entry does not prove that the row has it */
	GinTernaryValue *check;
	bool asks;			/* has to be asked for each row */
	int *required;		/* the ranges of the required keys */
	int required_count; /* 0: rows without any key may be wanted: the whole column */
	double share;		/* of the index that has to be read */
} Condition;

typedef struct GinSource
{
	tsurugi_range_source range;
	const tsurugi_gin *gin;
	int condition_count;
	Condition *conditions;

	/* of this execution */
	MemoryContext context; /* NULL: not made yet */
	MemoryContext judging; /* child of context: memory of operator classes for one batch */
	bool nothing;		   /* no row is wanted */
	int range_capacity;
	tg_key_range *ranges;
	int read_count;
	int turn;
	tg_sought storage;
} GinSource;

/* --- setting up ---------------------------------------------------------------------------- */

static void
init_condition(GinSource *source, Condition *condition, int column, Oid operator, const tsurugi_key_column * key)
{
	const tsurugi_gin_column *functions = &source->gin->columns[column];

	condition->column = column;
	condition->strategy = get_op_opfamily_strategy(operator, key->family);
	condition->collation = functions->collation;
	condition->is_prefix = functions->functions[GIN_COMPARE_PARTIAL_PROC] == F_GIN_CMP_PREFIX;
	condition->is_side = tsurugi_gin_compares_values(source->gin, column);
	tsurugi_gin_function(functions, GIN_EXTRACTQUERY_PROC, &condition->extract);
	tsurugi_gin_function(functions, GIN_CONSISTENT_PROC, &condition->consistent);
	tsurugi_gin_function(functions, GIN_TRICONSISTENT_PROC, &condition->tri_consistent);
}

/* --- ranges -------------------------------------------------------------------------------- */

static unsigned char *
copy_bytes(const unsigned char *bytes, size_t count)
{
	return memcpy(palloc(count), bytes, count);
}

static int
add_range(GinSource *source, const unsigned char *low, size_t low_bytes, const unsigned char *high, size_t high_bytes)
{
	int number = source->storage.count;
	const unsigned char *copied = copy_bytes(low, low_bytes);

	if (number == source->range_capacity)
	{
		source->range_capacity *= 2;
		source->ranges = repalloc_huge(source->ranges, (Size) source->range_capacity * sizeof(tg_key_range));
	}
	source->ranges[number] =
		(tg_key_range){.low = copied,
					   .low_bytes = (uint32) low_bytes,
					   .high = high == low && high_bytes <= low_bytes ? copied : copy_bytes(high, high_bytes),
					   .high_bytes = (uint32) high_bytes};
	source->storage.count++;
	return number;
}

/* Adds a range of placeholders. */
static int
add_category(GinSource *source, int column, tsurugi_gin_category low, tsurugi_gin_category high)
{
	unsigned char first[TG_KEY_BYTES_MAX];
	unsigned char last[TG_KEY_BYTES_MAX];
	bool cut;
	size_t first_bytes = tsurugi_gin_encode(source->gin, column, low, 0, first, &cut);
	size_t last_bytes = tsurugi_gin_encode(source->gin, column, high, 0, last, &cut);

	return add_range(source, first, first_bytes, last, last_bytes);
}

/* Adds the range of a column up to a category; later categories have ranges of their own. */
static int
add_column(GinSource *source, int column, tsurugi_gin_category last)
{
	unsigned char low = (unsigned char) (column << 2 | TSURUGI_GIN_KEY);
	unsigned char high = (unsigned char) (column << 2 | last);

	return add_range(source, &low, 1, &high, 1);
}

/*
 * Adds the range from the value to the end of the column, or from the column's beginning to the
 * value.  It includes the value, even if the value is not wanted.
 */
static int
add_side(GinSource *source, const Condition *condition)
{
	unsigned char key[TG_KEY_BYTES_MAX];
	bool cut;
	size_t bytes = tsurugi_gin_encode(source->gin, condition->column, TSURUGI_GIN_KEY, condition->query, key, &cut);

	/* the first byte identifies the column */
	return condition->strategy <= BTLessEqualStrategyNumber ? add_range(source, key, 1, key, bytes)
															: add_range(source, key, bytes, key, 1);
}

/* Adds the range of one of the condition's keys. */
static int
add_key(GinSource *source, Condition *condition, int i)
{
	bool partial = condition->partial != NULL && condition->partial[i];
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t bytes;

	if (condition->nulls != NULL && condition->nulls[i])
		return add_category(source, condition->column, TSURUGI_GIN_NULL, TSURUGI_GIN_NULL);
	if (partial && !condition->is_prefix)
	{
		condition->vague[i] = true;
		return condition->is_side ? add_side(source, condition)
								  : add_column(source, condition->column, TSURUGI_GIN_KEY);
	}
	bytes = tsurugi_gin_encode(source->gin, condition->column, TSURUGI_GIN_KEY, condition->keys[i], key,
							   &condition->vague[i]);
	if (partial)
		bytes--; /* removes the byte that ends a string (key.c) */
	return add_range(source, key, bytes, key, bytes);
}

/* --- what the operator class says ------------------------------------------------------------ */

static bool
is_consistent(Condition *condition)
{
	bool recheck = true;

	/* like directBoolConsistentFn */
	return DatumGetBool(FunctionCall8Coll(&condition->consistent, condition->collation,
										  PointerGetDatum(condition->check), UInt16GetDatum(condition->strategy),
										  condition->query, UInt32GetDatum(condition->key_count),
										  PointerGetDatum(condition->extra), PointerGetDatum(&recheck),
										  PointerGetDatum(condition->keys), PointerGetDatum(condition->nulls)));
}

/* Tries both values of each unknown key, one after the other. */
static bool
may_be_consistent(Condition *condition, int from)
{
	bool may;

	while (from < condition->key_count && condition->check[from] != GIN_MAYBE)
		from++;
	if (from == condition->key_count)
		return is_consistent(condition);
	condition->check[from] = GIN_FALSE;
	may = may_be_consistent(condition, from + 1);
	if (!may)
	{
		condition->check[from] = GIN_TRUE;
		may = may_be_consistent(condition, from + 1);
	}
	condition->check[from] = GIN_MAYBE;
	return may;
}

/* Whether a row with the keys in the condition's check may be wanted. */
static bool
may_match(Condition *condition)
{
	int unknown = 0;

	if (OidIsValid(condition->tri_consistent.fn_oid))
		return DatumGetGinTernaryValue(FunctionCall7Coll(
				   &condition->tri_consistent, condition->collation, PointerGetDatum(condition->check),
				   UInt16GetDatum(condition->strategy), condition->query, UInt32GetDatum(condition->key_count),
				   PointerGetDatum(condition->extra), PointerGetDatum(condition->keys),
				   PointerGetDatum(condition->nulls))) != GIN_FALSE;
	for (int i = 0; i < condition->key_count; i++)
		unknown += condition->check[i] == GIN_MAYBE;
	return unknown > MAYBE_MAX || may_be_consistent(condition, 0);
}

/* --- what a condition wants ------------------------------------------------------------------ */

/* False: the condition accepts no row. */
static bool
extract(const tsurugi_scan *scan, Condition *condition)
{
	Datum query;
	bool null;
	int16 length;
	bool by_value;

	query = tsurugi_key_value_of(&scan->node->ss.ps, condition->value, &null);
	if (null)
		return false;
	/*
	 * A copy: the value may lie in a row's memory, and support functions would detoast it for each
	 * row.
	 */
	get_typlenbyval(condition->value->type, &length, &by_value);
	condition->query =
		length == -1 ? PointerGetDatum(PG_DETOAST_DATUM_COPY(query)) : datumCopy(query, by_value, length);
	condition->key_count = 0;
	condition->nulls = NULL;
	condition->partial = NULL;
	condition->extra = NULL;
	condition->mode = GIN_SEARCH_MODE_DEFAULT;
	condition->keys = (Datum *) DatumGetPointer(FunctionCall7Coll(
		&condition->extract, condition->collation, condition->query, PointerGetDatum(&condition->key_count),
		UInt16GetDatum(condition->strategy), PointerGetDatum(&condition->partial), PointerGetDatum(&condition->extra),
		PointerGetDatum(&condition->nulls), PointerGetDatum(&condition->mode)));
	if (condition->mode < GIN_SEARCH_MODE_DEFAULT || condition->mode > GIN_SEARCH_MODE_ALL)
		condition->mode = GIN_SEARCH_MODE_ALL;
	if (condition->keys == NULL || condition->key_count < 0)
		condition->key_count = 0;
	if (condition->nulls == NULL)
		condition->nulls = palloc0(Max(condition->key_count, 1) * sizeof(bool));
	return condition->mode != GIN_SEARCH_MODE_DEFAULT || condition->key_count > 0;
}

/* A key and the share of the index that its range has. */
typedef struct Rated
{
	int key;
	double share;
} Rated;

static int
compare_rated(const void *a, const void *b)
{
	double left = ((const Rated *) a)->share;
	double right = ((const Rated *) b)->share;

	return (left > right) - (left < right);
}

static double
share_of(const GinSource *source, int number)
{
	const tg_key_range *range = &source->ranges[number];
	tg_session *session = source->range.source.scan->session;
	double share;

	CHECK_FOR_INTERRUPTS(); /* there may be very many */
	tg_epoch_enter(session);
	share =
		tg_btree_share(source->range.keys.stored->tree, range->low, range->low_bytes, range->high, range->high_bytes);
	tg_epoch_leave(session);
	return share;
}

/*
 * Whether a row without any of the first count keys, in the order of their ratings, may be wanted.
 */
static bool
may_do_without(Condition *condition, const Rated *rated, int count)
{
	for (int i = 0; i < condition->key_count; i++)
		condition->check[rated[i].key] = i < count ? GIN_FALSE : GIN_MAYBE;
	return may_match(condition);
}

/*
 * The least number of keys, the rarest first, of which every wanted row has one; 0: there is none.
 */
static int
count_required(Condition *condition, const Rated *rated)
{
	int low = 1;
	int high = condition->key_count;

	if (condition->key_count == 0)
		return 0;
	/* fewer keys cannot be sufficient either */
	if (may_do_without(condition, rated, high))
		return condition->mode == GIN_SEARCH_MODE_ALL ? 0 : high;
	while (low < high)
	{
		int middle = low + (high - low) / 2;

		if (may_do_without(condition, rated, middle))
			low = middle + 1;
		else
			high = middle;
	}
	return high;
}

/* Finds the ranges to be read for this condition. */
static void
find_required(GinSource *source, Condition *condition)
{
	Rated *rated = palloc_extended(Max(condition->key_count, 1) * sizeof(Rated), MCXT_ALLOC_HUGE);
	int count;

	for (int i = 0; i < condition->key_count; i++)
		rated[i] = (Rated){.key = i, .share = share_of(source, condition->ranges[i])};
	qsort(rated, condition->key_count, sizeof(Rated), compare_rated);
	count = count_required(condition, rated);
	condition->required = palloc_extended((count + 1) * sizeof(int), MCXT_ALLOC_HUGE);
	condition->required_count = count;
	condition->share = 0;
	for (int i = 0; i < count; i++)
	{
		condition->required[i] = condition->ranges[rated[i].key];
		condition->share += rated[i].share;
	}
	if (condition->mode == GIN_SEARCH_MODE_INCLUDE_EMPTY)
	{
		condition->required[condition->required_count++] =
			add_category(source, condition->column, TSURUGI_GIN_EMPTY, TSURUGI_GIN_EMPTY);
		condition->share += share_of(source, condition->required[count]);
	}
	else if (count == 0)
	{
		condition->required[condition->required_count++] = add_column(source, condition->column, TSURUGI_GIN_LAST);
		condition->share = SHARE_OF_WHOLE;
	}
	pfree(rated);
}

/*
 * Whether every wanted row has the key.  In the default mode, a row has at least one of the keys.
 */
static bool
is_needed(Condition *condition, int key)
{
	if (condition->key_count == 1 && condition->mode == GIN_SEARCH_MODE_DEFAULT)
		return true;
	for (int i = 0; i < condition->key_count; i++)
		condition->check[i] = i == key ? GIN_FALSE : GIN_MAYBE;
	return !may_match(condition);
}

/* Finds the keys that every row must have, and whether rows have to be asked about (asks). */
static void
find_needed(Condition *condition, bool *needed, bool is_read)
{
	int count = 0;
	bool judges = condition->key_count <= KEYS_JUDGED_MAX;

	for (int i = 0; i < condition->key_count && judges; i++)
	{
		if (is_needed(condition, i))
		{
			needed[condition->ranges[i]] = true;
			count++;
		}
	}
	condition->asks = condition->key_count > 0 && count < condition->key_count;
	/* any of the keys is sufficient, and each row that is read has one */
	if (condition->asks && is_read && count == 0 && condition->mode == GIN_SEARCH_MODE_DEFAULT &&
		condition->required_count == condition->key_count)
		condition->asks = false;
}

/* --- all of them together ------------------------------------------------------------------ */

/* Compares by the order of keys. */
static int
compare_ranges(const void *a, const void *b, void *ranges)
{
	const tg_key_range *left = (const tg_key_range *) ranges + *(const int *) a;
	const tg_key_range *right = (const tg_key_range *) ranges + *(const int *) b;
	int order = memcmp(left->low, right->low, Min(left->low_bytes, right->low_bytes));

	return order != 0 ? order : (int) left->low_bytes - (int) right->low_bytes;
}

/* Puts the ranges of the condition that is read first. */
static void
order_ranges(GinSource *source, Condition *read, bool *needed)
{
	int count = source->storage.count;
	int *place = palloc_extended(count * sizeof(int), MCXT_ALLOC_HUGE); /* in the new order */
	tg_key_range *ordered = palloc_extended(count * sizeof(tg_key_range), MCXT_ALLOC_HUGE);
	uint64 *bits = palloc_extended(tg_sought_words(count) * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	bool any_needed = false;
	int next = 0;

	memset(place, -1, count * sizeof(int));
	qsort_r(read->required, read->required_count, sizeof(int), compare_ranges, source->ranges);
	for (int i = 0; i < read->required_count; i++)
		place[read->required[i]] = next++;
	for (int i = 0; i < count; i++)
		if (place[i] < 0)
			place[i] = next++;
	for (int i = 0; i < count; i++)
	{
		ordered[place[i]] = source->ranges[i];
		if (!needed[i])
			continue;
		any_needed = true;
		bits[place[i] / 64] |= UINT64CONST(1) << place[i] % 64;
	}
	for (int i = 0; i < source->condition_count; i++)
		for (int k = 0; k < source->conditions[i].key_count; k++)
			source->conditions[i].ranges[k] = place[source->conditions[i].ranges[k]];
	source->ranges = ordered;
	source->read_count = read->required_count;
	source->storage.ranges = ordered;
	source->storage.needed = any_needed ? bits : NULL;
}

static bool
add_condition(GinSource *source, Condition *condition)
{
	if (!extract(source->range.source.scan, condition))
		return false;
	condition->ranges = palloc_extended(Max(condition->key_count, 1) * sizeof(int), MCXT_ALLOC_HUGE);
	condition->vague = palloc0(Max(condition->key_count, 1) * sizeof(bool));
	condition->check = palloc0(Max(condition->key_count, 1) * sizeof(GinTernaryValue));
	for (int i = 0; i < condition->key_count; i++)
		condition->ranges[i] = add_key(source, condition, i);
	find_required(source, condition);
	return true;
}

/* False: no row is wanted. */
static bool
make_ranges(GinSource *source)
{
	Condition *read = &source->conditions[0];
	bool asks = false;
	bool *needed;

	source->storage = (tg_sought){0};
	source->range_capacity = 16;
	source->ranges = palloc(source->range_capacity * sizeof(tg_key_range));
	for (int i = 0; i < source->condition_count; i++)
	{
		if (!add_condition(source, &source->conditions[i]))
			return false;
		if (source->conditions[i].share < read->share)
			read = &source->conditions[i];
	}
	needed = palloc0(source->storage.count * sizeof(bool));
	for (int i = 0; i < source->condition_count; i++)
	{
		find_needed(&source->conditions[i], needed, &source->conditions[i] == read);
		asks |= source->conditions[i].asks;
	}
	order_ranges(source, read, needed);
	if (!asks)
		return true;
	source->storage.found = palloc_extended(
		(Size) TG_RANGE_ROWS_AHEAD * tg_sought_words(source->storage.count) * sizeof(uint64), MCXT_ALLOC_HUGE);
	source->judging = AllocSetContextCreate(CurrentMemoryContext, "tsurugi_fdw batch", ALLOCSET_SMALL_SIZES);
	return true;
}

static void
make(GinSource *source)
{
	MemoryContext caller;

	source->context = AllocSetContextCreate(source->range.source.scan->node->ss.ps.state->es_query_cxt,
											"tsurugi_fdw keys", ALLOCSET_SMALL_SIZES);
	source->turn = 0;
	caller = MemoryContextSwitchTo(source->context);
	source->nothing = !make_ranges(source);
	MemoryContextSwitchTo(caller);
}

static bool
make_range(tsurugi_range_source *of, tsurugi_range_end *first, tsurugi_range_end *last)
{
	GinSource *source = (GinSource *) of;
	const tg_key_range *range;

	if (source->context == NULL)
		make(source);
	if (source->nothing)
		return false;
	range = &source->ranges[source->turn];
	source->storage.reading = source->turn;
	*first = (tsurugi_range_end){.key = (unsigned char *) range->low, .bytes = range->low_bytes, .inclusive = true};
	*last = (tsurugi_range_end){.key = (unsigned char *) range->high, .bytes = range->high_bytes, .inclusive = true};
	return true;
}

static bool
next_range(tsurugi_range_source *of)
{
	GinSource *source = (GinSource *) of;

	return !source->nothing && ++source->turn < source->read_count;
}

/* Tells the storage which keys to look for in each row. */
static void
prepare(tsurugi_range_source *of)
{
	of->range->sought = &((GinSource *) of)->storage;
}

static void
forget(tsurugi_range_source *of)
{
	GinSource *source = (GinSource *) of;

	if (source->context != NULL)
		MemoryContextDelete(source->context);
	source->context = NULL;
}

/* --- rows ------------------------------------------------------------------------------------ */

static bool
accepts(Condition *condition, const uint64_t *found)
{
	for (int i = 0; i < condition->key_count; i++)
	{
		int range = condition->ranges[i];

		if ((found[range / 64] >> range % 64 & 1) == 0)
			condition->check[i] = GIN_FALSE;
		else
			condition->check[i] = condition->vague[i] ? GIN_MAYBE : GIN_TRUE;
	}
	return may_match(condition);
}

/* Drops the rows whose keys show that they are not wanted; returns the number of the others. */
static unsigned
filter(tsurugi_range_source *of, unsigned count)
{
	GinSource *source = (GinSource *) of;
	unsigned words = tg_sought_words(source->storage.count);
	MemoryContext caller;
	uint16_t kept[TG_RANGE_ROWS_AHEAD];
	unsigned kept_count = 0;

	if (source->storage.found == NULL)
		return count;
	tg_assert(count <= TG_RANGE_ROWS_AHEAD);
	caller = MemoryContextSwitchTo(source->judging);
	for (unsigned row = 0; row < count; row++)
	{
		bool wanted = true;

		for (int i = 0; i < source->condition_count && wanted; i++)
			if (source->conditions[i].asks)
				wanted = accepts(&source->conditions[i], source->storage.found + (size_t) row * words);
		if (wanted)
			kept[kept_count++] = (uint16_t) row;
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(source->judging);
	tg_vectors_keep(of->own, kept, kept_count);
	return kept_count;
}

/* --- making ---------------------------------------------------------------------------------- */

tsurugi_range_source *
tsurugi_gin_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values)
{
	static const tsurugi_range_methods methods = {
		.make = make_range, .next_turn = next_range, .prepare = prepare, .filter = filter, .forget = forget};
	GinSource *source = palloc0(sizeof(*source));

	tsurugi_range_source_init(&source->range, &methods, scan, access, values);
	source->gin = source->range.keys.index->gin;
	source->condition_count = list_length(access->sought_columns);
	source->conditions = palloc0(source->condition_count * sizeof(Condition));
	for (int i = 0; i < source->condition_count; i++)
	{
		int column = list_nth_int(access->sought_columns, i);

		init_condition(source, &source->conditions[i], column, list_nth_oid(access->sought_operators, i),
					   &source->range.keys.index->key[column]);
		source->conditions[i].value = &source->range.keys.values[i];
	}
	return &source->range;
}
