/*
 * order_key.c
 *	  What a job's rows are ordered by, as places in a program; and how many of them are wanted.
 *
 * The order of a key has to be that of its type's default operators.  A column of numeric is
 * compared as it is stored, with NaN and all digits; so are columns of types with which jobs do not
 * compute.  Enums are stored as numbers, in whose order their labels are, unless one has been added
 * in front of another.
 */
#include "postgres.h"

#include "src/job/code_internal.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "runtime/query/plan.h"
#include "src/value/codec.h"
#include "src/job/translate.h"
#include "src/value/collation.h"
#include "src/value/enum_order.h"

/* Whether the operator is one of the type's own order, and which. */
static bool
find_direction(const tsurugi_job_key *key, bool *descending_out)
{
	Oid type = getBaseType(exprType(key->expr));
	const TypeCacheEntry *operators = lookup_type_cache(type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

	*descending_out = key->sortop == operators->gt_opr;
	return OidIsValid(key->sortop) && key->sortop < FirstUnpinnedObjectId &&
		   (key->sortop == operators->lt_opr || key->sortop == operators->gt_opr);
}

/* Whether the registers of a type are in its order, and how. */
static bool
order_of_type(Oid type, Oid collation, tg_order *order_out)
{
	*order_out = TG_ORDER_VALUE;
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
		case FLOAT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case BYTEAOID:
			return true;
		case BPCHAROID:
			*order_out = TG_ORDER_TRIMMED;
			/* FALLTHROUGH */
		case TEXTOID:
		case VARCHAROID:
			return tsurugi_collation_order(collation) == TSURUGI_ORDER_OF_BYTES;
		default:
			return false;
	}
}

/* Of a type that has always the same length. */
static bool
order_of_stored(Oid type, uint8_t *order_out)
{
	switch (type)
	{
		case UUIDOID:
			*order_out = TG_ORDER_BYTES;
			return true;
		case INTERVALOID:
			*order_out = TG_ORDER_INTERVAL;
			return true;
		case OIDOID:
			*order_out = TG_ORDER_UNSIGNED;
			return true;
		case FLOAT4OID:
			*order_out = TG_ORDER_FLOAT4;
			return true;
		default:
			*order_out = TG_ORDER_UNSIGNED;
			return type_is_enum(type) && tsurugi_enum_is_in_order(type);
	}
}

static bool
is_compared_as_stored(Oid type)
{
	switch (type)
	{
		case NUMERICOID:
		case BYTEAOID:
		case UUIDOID:
		case INTERVALOID:
		case OIDOID:
		case FLOAT4OID:
			return true;
		default:
			return type_is_enum(type);
	}
}

/* A key that is a column of a type which is not compared in the form that jobs compute with. */
static bool
add_stored_key(tsurugi_job_code *code, int number, const Var *var, tg_sort_key *to)
{
	tsurugi_raw raw;

	if (var->varlevelsup != 0 || var->varattno <= 0 ||
		!tsurugi_job_find_raw(code, number, code->steps[number].order, var, &raw))
		return false;
	to->value = raw.place;
	switch ((tsurugi_form) raw.codec->form)
	{
		case TSURUGI_NUMERIC8:
			return true;
		case TSURUGI_NUMERIC16:
			to->order = TG_ORDER_WIDE;
			return true;
		case TSURUGI_VARLENA:
			return raw.codec->type == BYTEAOID;
		default:
			return order_of_stored(raw.codec->type, &to->order);
	}
}

/* *form_out: how the key's values are in registers. */
static bool
add_key(tsurugi_job_code *code, int number, const tsurugi_job_key *key, tg_sort_key *to, tsurugi_operand *form_out)
{
	const Node *expr = tsurugi_without_relabeling(key->expr);
	Oid type = getBaseType(exprType(expr));
	tsurugi_operand operand;
	tg_order order;

	*to = (tg_sort_key){.nulls_first = key->nulls_first};
	*form_out = (tsurugi_operand){.scaled = TG_REGISTER_NONE};
	if (!find_direction(key, &to->descending))
		return false;
	if (IsA(expr, Var) && type == getBaseType(exprType(key->expr)) && is_compared_as_stored(type) &&
		add_stored_key(code, number, (const Var *) expr, to))
		return true;
	if (!tsurugi_job_translate_at_end(code, number, code->steps[number].order, key->expr, &operand) ||
		!order_of_type(operand.type, exprCollation(key->expr), &order))
		return false;
	to->value = operand.place;
	to->order = (uint8_t) order;
	*form_out = operand;
	return true;
}

/* All keys of a step; of a further branch in the same forms and orders as of the first one. */
static bool
add_keys(tsurugi_job_code *code, int number, const StepCode *first, tsurugi_operand *forms)
{
	const List *keys = tsurugi_job_last(code->job)->order;
	StepCode *step = &code->steps[number];
	ListCell *cell;

	step->order = tsurugi_program_make();
	step->sort_keys = palloc0(list_length(keys) * sizeof(tg_sort_key));
	foreach (cell, keys)
	{
		int at = step->sort_key_count++;
		tsurugi_operand form;

		if (!add_key(code, number, lfirst(cell), &step->sort_keys[at], &form) ||
			(first != NULL &&
			 (!tsurugi_job_same_form(&form, &forms[at]) || step->sort_keys[at].order != first->sort_keys[at].order)))
			return false;
		forms[at] = form;
	}
	return true;
}

/* The value of LIMIT or OFFSET; false: it is not known, or NULL. */
static bool
evaluate(const tsurugi_job_code *code, Node *expr, uint64_t *value_out)
{
	tsurugi_translation translation = {.node = code->node};
	Datum value;
	bool is_null;

	if (expr == NULL || !tsurugi_evaluate(&translation, expr, &value, &is_null) || is_null)
		return false;
	*value_out = (uint64_t) Max(DatumGetInt64(value), 0);
	return true;
}

bool
tsurugi_job_add_order(tsurugi_job_code *code)
{
	const tsurugi_job *job = code->job;
	int number = code->step_count - 1;
	int first = tsurugi_job_first_branch(job, number);
	StepCode *step = &code->steps[number];
	uint64_t offset = 0;
	tsurugi_operand forms[TG_PLAN_KEYS_MAX];

	if (list_length(tsurugi_job_last(job)->order) > TG_PLAN_KEYS_MAX)
		return false;
	for (int i = first; i <= number; i++)
		if (!add_keys(code, i, i > first ? &code->steps[first] : NULL, forms))
			return false;
	if (!evaluate(code, job->limit_count, &step->limit))
		step->limit = UINT64_MAX;
	else
	{
		(void) evaluate(code, job->limit_offset, &offset);
		step->limit = Max(step->limit + offset, 1); /* neither has the highest bit */
	}
	for (int i = first; i < number; i++)
		code->steps[i].limit = step->limit;
	return true;
}
