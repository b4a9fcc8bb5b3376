/*
 * scan_key.c
 *	  The keys that a source looks for, made from the values that its plan compares with.
 *
 * A value need not be one that the column can hold (scan_fit.h).  Its place among the values that
 * the column can hold decides which rows are found.
 *
 * If columns may have any value of an array, each combination of values has its turn, one after the
 * other.  The arrays are sorted as the index is, and the last column's array changes fastest.  So
 * the rows come in the index's order nevertheless.
 */
#include "postgres.h"

#include "src/exec/scan_key.h"

#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "runtime/order/key.h"
#include "runtime/order/value.h"
#include "runtime/index/index_spec.h"
#include "runtime/index/long_key.h"
#include "src/value/key_column.h"
#include "src/txn/kinds.h"
#include "src/value/path.h"
#include "src/value/scan_fit.h"

/* --- setting up ---------------------------------------------------------------------- */

/* The size of a buffer for parts of the index's keys. */
static size_t
key_capacity(const tsurugi_index *index)
{
	size_t bytes = 0;

	for (int i = 0; i < index->key_count; i++)
	{
		if (index->key[i].codec.kind == TG_KIND_STRING)
			return TG_KEY_BYTES_MAX + 1;
		bytes += sizeof(tg_value) + 1;
	}
	return bytes;
}

static const tsurugi_index *
find_index(const tsurugi_relation *described, Oid oid)
{
	for (int i = 0; i < described->index_count; i++)
	{
		if (described->indexes[i].oid == oid)
			return &described->indexes[i];
	}
	elog(ERROR, "index %u of relation %u is not there", oid, described->oid);
}

static void
init_value(tsurugi_keys *keys, int i, int column, bool is_array, Expr *expr)
{
	tsurugi_key_value *value = &keys->values[i];

	value->column = &keys->index->key[column];
	value->expr = expr;
	value->is_array = is_array;
	value->type = exprType((Node *) expr);
	if (is_array)
		value->type = get_base_element_type(value->type);
	if (!tsurugi_is_plain_value(expr))
		value->state = ExecInitExpr(expr, keys->node);
}

/* Initializes a bound's values, from the i-th on. */
static void
init_bound(tsurugi_keys *keys, const List *values, int *i, int count)
{
	for (int more = 0; more < count; more++, (*i)++)
		init_value(keys, *i, keys->shape.fixed_count + more, false, list_nth(values, *i));
}

void
tsurugi_keys_init(tsurugi_keys *keys, const tsurugi_relation *described, PlanState *node, const tsurugi_shape *shape,
				  const List *values)
{
	int fixed_count;
	size_t capacity;
	int i = 0;

	keys->described = described;
	keys->node = node;
	keys->shape = *shape;
	keys->index = find_index(described, shape->index);
	capacity = key_capacity(keys->index);
	keys->value_count = tsurugi_shape_value_count(shape);
	keys->one_row = keys->index->spec->unique && shape->fixed_count == keys->index->key_count && shape->nulls == 0;
	keys->values = palloc0(sizeof(tsurugi_key_value) * Max(keys->value_count, 1) + 2 * capacity);
	keys->key = (unsigned char *) (keys->values + Max(keys->value_count, 1));
	keys->high = keys->key + capacity;
	fixed_count = keys->index->gin == NULL ? shape->fixed_count : 0;
	for (int column = 0; column < fixed_count; column++)
	{
		if ((shape->nulls >> column & 1) == 0)
		{
			init_value(keys, i, column, (shape->arrays >> column & 1) != 0, list_nth(values, i));
			i++;
		}
	}
	init_bound(keys, values, &i, tsurugi_shape_low_count(shape));
	init_bound(keys, values, &i, tsurugi_shape_high_count(shape));
	/*
	 * The value to be near to, or a value for each condition; there may be more conditions than
	 * columns.  gin_scan.c, cover_scan.c and nearest.c know the columns that they are compared
	 * with.
	 */
	for (; i < keys->value_count; i++)
		init_value(keys, i, 0, false, list_nth(values, i));
}

/* --- values ------------------------------------------------------------------------------ */

Datum
tsurugi_key_value_of(const PlanState *node, const tsurugi_key_value *value, bool *null)
{
	ExprContext *context = node->ps_ExprContext;

	if (value->state != NULL)
		return ExecEvalExprSwitchContext(value->state, context, null);
	if (IsA(value->expr, Const))
	{
		*null = ((Const *) value->expr)->constisnull;
		return ((Const *) value->expr)->constvalue;
	}
	else
	{
		/* Like ExecEvalParamExtern (execExprInterp.c). */
		int id = ((Param *) value->expr)->paramid;
		ParamListInfo params = context->ecxt_param_list_info;
		ParamExternData workspace;
		ParamExternData *param;

		if (params == NULL || id <= 0 || id > params->numParams)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("no value found for parameter %d", id)));
		param =
			params->paramFetch != NULL ? params->paramFetch(params, id, false, &workspace) : &params->params[id - 1];
		if (!OidIsValid(param->ptype))
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("no value found for parameter %d", id)));
		*null = param->isnull;
		return param->value;
	}
}

/*
 * Appends a value that is not NULL, or its neighbour on this side, to a key.  *bytes is the new
 * length.
 */
static tsurugi_fit
append_datum(tsurugi_keys *keys, const tsurugi_key_value *value, Datum datum, tg_key_side side, unsigned char *key,
			 size_t *bytes)
{
	tg_value stored;
	tsurugi_fit where = tsurugi_fit_value(keys->described->table, value->column, value->type, datum, side, &stored);

	if (where == FIT_WITHIN || where == FIT_BETWEEN || where == FIT_UNRANKED)
	{
		bool is_there;

		*bytes = tg_key_append_near(keys->described->table, key, *bytes, &value->column->part,
									(tg_kind) value->column->codec.kind, &stored, side, &is_there);
		if (!is_there)
			where = FIT_UNRANKED;
	}
	if (where == FIT_UNRANKED)
		keys->unranked = true;
	return where;
}

/* Appends the i-th value, as append_datum does. */
static tsurugi_fit
append_value(tsurugi_keys *keys, int i, tg_key_side side, unsigned char *key, size_t *bytes)
{
	bool null;
	Datum datum = tsurugi_key_value_of(keys->node, &keys->values[i], &null);

	return null ? FIT_NOWHERE : append_datum(keys, &keys->values[i], datum, side, key, bytes);
}

/* Appends the end of all paths below the i-th value, which is a path. */
static tsurugi_fit
append_path_end(tsurugi_keys *keys, int i, unsigned char *key, size_t *bytes)
{
	bool null;
	Datum datum = tsurugi_key_value_of(keys->node, &keys->values[i], &null);

	if (null)
		return FIT_NOWHERE;
	return tsurugi_path_end(datum, &datum) ? append_datum(keys, &keys->values[i], datum, TG_KEY_ABOVE, key, bytes)
										   : FIT_ABOVE;
}

/* Ends a range where the NULLs begin: there is no bound, or it is beyond all values. */
static void
end_at_nulls(const tsurugi_key_column *column, tsurugi_range_end *end)
{
	end->bytes = tg_key_append_not_null(end->key, end->bytes, &column->part);
	end->inclusive = true;
}

/*
 * Appends a value, if it has a place, behind *bytes of a key.  For a value without a rank, finds
 * the gap that it would be in.  Other values may come into the gap between the two look-ups, but
 * the places that are left out of it then do not include the value's place.  If the value itself
 * comes, its place is known.
 */
static tsurugi_fit
append_or_gap(tsurugi_keys *keys, const tsurugi_key_value *value, Datum datum, size_t *bytes)
{
	bool descending = (value->column->part.order & TG_KEY_DESCENDING) != 0;
	tsurugi_range_end first = {.key = keys->key, .bytes = *bytes};
	tsurugi_range_end last = {.key = keys->high, .bytes = *bytes};
	tsurugi_fit where =
		append_datum(keys, value, datum, descending ? TG_KEY_ABOVE : TG_KEY_BELOW, first.key, &first.bytes);

	if (likely(where != FIT_UNRANKED))
	{
		*bytes = first.bytes;
		return where;
	}
	memcpy(last.key, keys->key, *bytes);
	where = append_datum(keys, value, datum, descending ? TG_KEY_BELOW : TG_KEY_ABOVE, last.key, &last.bytes);
	if (where == FIT_WITHIN)
	{
		*bytes = last.bytes;
		memcpy(keys->key, last.key, last.bytes);
		return where;
	}
	keys->gap[0] = first;
	keys->gap[1] = last;
	keys->has_gap = true;
	return where;
}

/* --- arrays ------------------------------------------------------------------------------- */

static int
compare_elements(const void *a, const void *b)
{
	const tsurugi_key_bytes *left = a;
	const tsurugi_key_bytes *right = b;
	int order = memcmp(left->data, right->data, Min(left->bytes, right->bytes));

	if (order == 0)
		order = (left->bytes > right->bytes) - (left->bytes < right->bytes);
	return order != 0 ? order : (left->gap != NULL) - (right->gap != NULL);
}

/* Sorts the elements in the order of the scan and removes duplicates. */
static void
sort_elements(tsurugi_key_value *value, bool backward)
{
	int count = 0;

	qsort(value->elements, value->element_count, sizeof(tsurugi_key_bytes), compare_elements);
	for (int i = 0; i < value->element_count; i++)
	{
		if (count == 0 || value->elements[i].gap != NULL ||
			compare_elements(&value->elements[count - 1], &value->elements[i]) != 0)
			value->elements[count++] = value->elements[i];
	}
	value->element_count = count;
	for (int i = 0; backward && i < count / 2; i++)
	{
		tsurugi_key_bytes other = value->elements[i];

		value->elements[i] = value->elements[count - 1 - i];
		value->elements[count - 1 - i] = other;
	}
}

static unsigned char *
copy_bytes(const tsurugi_keys *keys, const unsigned char *data, size_t bytes)
{
	return memcpy(MemoryContextAlloc(keys->elements, bytes), data, bytes);
}

/* Keeps an element whose encoding, or whose gap, is in the scan's buffers. */
static void
keep_element(tsurugi_keys *keys, tsurugi_key_bytes *element, size_t bytes)
{
	*element = (tsurugi_key_bytes){.bytes = bytes};
	if (keys->has_gap)
	{
		element->gap = MemoryContextAlloc(keys->elements, sizeof(keys->gap));
		for (int i = 0; i < 2; i++)
		{
			element->gap[i] = keys->gap[i];
			element->gap[i].key = copy_bytes(keys, keys->gap[i].key, keys->gap[i].bytes);
		}
		element->bytes = element->gap[0].bytes;
	}
	element->data = element->gap != NULL ? element->gap[0].key : copy_bytes(keys, keys->key, bytes);
	keys->has_gap = false;
}

/*
 * Computes an array and encodes its elements.  Elements that no row can have or get are left out.
 */
static void
make_elements(tsurugi_keys *keys, tsurugi_key_value *value)
{
	bool null;
	Datum datum = tsurugi_key_value_of(keys->node, value, &null);
	ArrayType *array;
	Datum *elements;
	bool *nulls;
	int count;
	int16 length;
	bool by_value;
	char align;

	value->turn = 0;
	value->element_count = 0;
	if (null)
		return;
	array = DatumGetArrayTypeP(datum);
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &elements, &nulls, &count);
	value->elements = MemoryContextAllocHuge(keys->elements, Max(count, 1) * sizeof(tsurugi_key_bytes));
	for (int i = 0; i < count; i++)
	{
		size_t bytes = 0;

		/* the buffers are not in use yet */
		if (!nulls[i] && (append_or_gap(keys, value, elements[i], &bytes) == FIT_WITHIN || keys->has_gap))
			keep_element(keys, &value->elements[value->element_count++], bytes);
	}
	sort_elements(value, keys->shape.backward);
}

/* Computes all arrays, once per scan. */
static void
make_arrays(tsurugi_keys *keys)
{
	if (keys->elements != NULL)
		return;
	keys->elements =
		AllocSetContextCreate(keys->node->state->es_query_cxt, "tsurugi_fdw array keys", ALLOCSET_SMALL_SIZES);
	for (int i = 0; i < keys->value_count; i++)
	{
		if (keys->values[i].is_array)
			make_elements(keys, &keys->values[i]);
	}
}

void
tsurugi_keys_forget_arrays(tsurugi_keys *keys)
{
	if (keys->elements != NULL)
		MemoryContextDelete(keys->elements);
	keys->elements = NULL;
}

bool
tsurugi_keys_next_turn(tsurugi_keys *keys)
{
	for (int i = keys->value_count - 1; keys->elements != NULL && i >= 0; i--)
	{
		tsurugi_key_value *value = &keys->values[i];

		if (!value->is_array)
			continue;
		if (++value->turn < value->element_count)
		{
			keys->key_bytes = 0;
			return true;
		}
		value->turn = 0;
	}
	return false;
}

/* --- whole keys and ranges ----------------------------------------------------------------- */

/* Appends the element whose turn it is; false if no row can have it. */
static bool
append_element(tsurugi_keys *keys, const tsurugi_key_value *value, size_t *bytes)
{
	const tsurugi_key_bytes *element = &value->elements[value->turn];
	tsurugi_range_end *gap = keys->gap;

	if (value->element_count == 0)
		return false;
	if (element->gap == NULL)
	{
		if (*bytes + element->bytes > TG_KEY_BYTES_MAX)
			return false;
		memcpy(keys->key + *bytes, element->data, element->bytes);
		*bytes += element->bytes;
		return true;
	}
	memcpy(keys->high, keys->key, *bytes);
	gap[0] = (tsurugi_range_end){.key = keys->key, .bytes = *bytes};
	gap[1] = (tsurugi_range_end){.key = keys->high, .bytes = *bytes};
	for (int i = 0; i < 2; i++)
	{
		size_t more = Min(element->gap[i].bytes, TG_KEY_BYTES_MAX - *bytes);

		memcpy(gap[i].key + *bytes, element->gap[i].key, more);
		gap[i].bytes += more;
	}
	keys->has_gap = keys->unranked = true;
	return false;
}

/* Appends the part of a fixed column; false if no row can have it. */
static bool
append_fixed(tsurugi_keys *keys, int column, int *i, size_t *bytes)
{
	const tsurugi_key_value *value;
	Datum datum;
	bool null;

	if ((keys->shape.nulls >> column & 1) != 0)
	{
		*bytes = tg_key_append_null(keys->key, *bytes, &keys->index->key[column].part);
		return *bytes != SIZE_MAX;
	}
	value = &keys->values[(*i)++];
	if (value->is_array)
		return append_element(keys, value, bytes);
	datum = tsurugi_key_value_of(keys->node, value, &null);
	return !null && append_or_gap(keys, value, datum, bytes) == FIT_WITHIN;
}

/* Makes the fixed columns' part of the key; false if no row can have it. */
static bool
make_fixed(tsurugi_keys *keys, size_t *bytes)
{
	int i = 0;

	keys->unranked = keys->has_gap = false;
	if (keys->shape.arrays != 0)
		make_arrays(keys);
	*bytes = 0;
	for (int column = 0; column < keys->shape.fixed_count; column++)
		if (!append_fixed(keys, column, &i, bytes))
			return false;
	return true;
}

/*
 * Appends a bound's values, from the i-th on.  Returns the result for the first column.  The other
 * columns make the range smaller if the index has keys with exactly these values.
 */
static tsurugi_fit
append_bound(tsurugi_keys *keys, int i, int count, tg_key_side side, tsurugi_range_end *end)
{
	tsurugi_fit where = append_value(keys, i, side, end->key, &end->bytes);

	for (int more = 1; where == FIT_WITHIN && more < count; more++)
	{
		size_t bytes = end->bytes;

		if (append_value(keys, i + more, side, end->key, &bytes) != FIT_WITHIN)
			break;
		end->bytes = bytes;
	}
	return where;
}

/* Makes the low end; false if no value is on the right side of the bound. */
static bool
make_low(tsurugi_keys *keys, tsurugi_range_end *low)
{
	int count = tsurugi_shape_low_count(&keys->shape);
	int behind = tsurugi_shape_high_count(&keys->shape) + tsurugi_shape_near_count(&keys->shape);
	tsurugi_fit where = FIT_BELOW;

	if (count > 0)
		where = append_bound(keys, keys->value_count - behind - count, count, TG_KEY_BELOW, low);
	if (where == FIT_BELOW)
		end_at_nulls(&keys->index->key[keys->shape.fixed_count], low);
	else
		low->inclusive = where == FIT_WITHIN && keys->shape.low == TSURUGI_BOUND_INCLUSIVE;
	return where != FIT_NOWHERE && where != FIT_ABOVE;
}

/*
 * Makes the high end; false if no value is on the right side of the bound.  A bound without a rank
 * ends at the value above it, so that a value inserted between them later is in the range that was
 * read.
 */
static bool
make_high(tsurugi_keys *keys, tsurugi_range_end *high)
{
	int count = tsurugi_shape_high_count(&keys->shape);
	int at = keys->value_count - tsurugi_shape_near_count(&keys->shape) - count;
	tsurugi_fit where = FIT_ABOVE;

	if (keys->shape.high == TSURUGI_BOUND_PATH)
		where = append_path_end(keys, at, high->key, &high->bytes);
	else if (count > 0)
		where = append_bound(keys, at, count, TG_KEY_ABOVE, high);
	if (where == FIT_ABOVE)
		end_at_nulls(&keys->index->key[keys->shape.fixed_count], high);
	else
		high->inclusive = where == FIT_BETWEEN || (where == FIT_WITHIN && keys->shape.high == TSURUGI_BOUND_INCLUSIVE);
	return where != FIT_NOWHERE && where != FIT_BELOW;
}

/* Adds the bounds of the column after the fixed ones; the ends already have the fixed columns. */
static bool
bound_range(tsurugi_keys *keys, tsurugi_range_end *first, tsurugi_range_end *last)
{
	const tsurugi_shape *shape = &keys->shape;
	bool descending;

	if (shape->low == TSURUGI_BOUND_NONE && shape->high == TSURUGI_BOUND_NONE && !shape->not_null)
		return true;
	descending = (keys->index->key[shape->fixed_count].part.order & TG_KEY_DESCENDING) != 0;
	return make_low(keys, descending ? last : first) && make_high(keys, descending ? first : last);
}

static bool
make_range(tsurugi_keys *keys, tsurugi_range_end *first, tsurugi_range_end *last)
{
	size_t fixed_bytes = keys->key_bytes;

	if (fixed_bytes == 0 && !make_fixed(keys, &fixed_bytes))
		return false;
	*first = (tsurugi_range_end){.key = keys->key, .bytes = fixed_bytes, .inclusive = true};
	*last = (tsurugi_range_end){.key = keys->high, .bytes = fixed_bytes, .inclusive = true};
	memcpy(keys->high, keys->key, fixed_bytes);
	return bound_range(keys, first, last);
}

bool
tsurugi_keys_make_key(tsurugi_keys *keys)
{
	MemoryContext caller = MemoryContextSwitchTo(keys->node->ps_ExprContext->ecxt_per_tuple_memory);
	size_t bytes;
	bool made = make_fixed(keys, &bytes);

	MemoryContextSwitchTo(caller);
	keys->key_bytes = made ? bytes : 0;
	return made;
}

bool
tsurugi_keys_make_range(tsurugi_keys *keys, tsurugi_range_end *first, tsurugi_range_end *last)
{
	MemoryContext caller = MemoryContextSwitchTo(keys->node->ps_ExprContext->ecxt_per_tuple_memory);
	bool made = make_range(keys, first, last);

	MemoryContextSwitchTo(caller);
	return made;
}

void
tsurugi_keys_outlive(tsurugi_keys *keys)
{
	for (int i = 0; i < keys->value_count; i++)
	{
		tg_assert(keys->values[i].state == NULL);
		keys->values[i].expr = copyObject(keys->values[i].expr);
	}
}
