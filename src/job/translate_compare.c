/*
 * translate_compare.c
 *	  Comparisons, and IN.
 *
 * Two values are compared when their registers have the same type and the same meaning: numerics
 * have one scale, bpchars one length.  A date is compared with a timestamp as a timestamp, or, if
 * that is a constant, with the days next to it.
 */
#include "postgres.h"

#include "runtime/order/value.h"
#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "src/job/translate.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "src/value/collation.h"

tsurugi_comparison
tsurugi_comparison_of(const char *name)
{
	static const char *const names[] = {"=", "<>", "<", "<=", ">", ">="};

	for (int i = 0; i < lengthof(names); i++)
		if (strcmp(name, names[i]) == 0)
			return (tsurugi_comparison) i;
	return TSURUGI_NOT_COMPARED;
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID;
}

static bool
is_equality(tsurugi_comparison comparison)
{
	return comparison == TSURUGI_EQ || comparison == TSURUGI_NE;
}

/* --- bpchar --------------------------------------------------------------------------- */

/* A constant gets the other's length. */
static bool
pad_constant(tsurugi_program *program, tsurugi_operand *operand, int32 typmod)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, operand->place);
	tsurugi_constant padded;

	if (constant == NULL || typmod <= (int32) VARHDRSZ)
		return false;
	operand->typmod = typmod;
	if (!constant->known || constant->null)
		return true;
	padded = *constant;
	padded.text = tsurugi_pad(constant->text, typmod - VARHDRSZ);
	if (padded.text == NULL)
		return false;
	operand->place = tsurugi_emit_constant(program, &padded);
	return true;
}

static bool
blanks_are_comparable(tsurugi_program *program, tsurugi_operand *a, tsurugi_operand *b)
{
	return (a->typmod == b->typmod && a->typmod > (int32) VARHDRSZ) || pad_constant(program, b, a->typmod) ||
		   pad_constant(program, a, b->typmod);
}

/* --- dates ---------------------------------------------------------------------------- */

/*
 * date ⊙ constant timestamp: the constant becomes a date, rounded so that the comparison with it
 * gives the same.
 */
static bool
round_timestamp(tsurugi_program *program, tsurugi_comparison comparison, tsurugi_operand *timestamp)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, timestamp->place);
	int64 days;
	bool exact;

	if (constant == NULL)
		return false;
	timestamp->type = DATEOID;
	if (!constant->known || constant->null)
		return true;
	if (TIMESTAMP_NOT_FINITE(constant->integer))
		return false;
	days = constant->integer / USECS_PER_DAY;
	exact = constant->integer % USECS_PER_DAY == 0;
	if (constant->integer < 0 && !exact)
		days--;
	if (!exact && is_equality(comparison))
		return false;
	if (!exact && (comparison == TSURUGI_LT || comparison == TSURUGI_GE))
		days++;
	timestamp->place = tsurugi_emit_integer(program, days);
	return true;
}

/* The date as a timestamp, at midnight. */
static void
widen_date(tsurugi_program *program, tsurugi_operand *date)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, date->place);

	if (constant != NULL && constant->known && !constant->null && constant->integer >= MIN_TIMESTAMP / USECS_PER_DAY &&
		constant->integer < END_TIMESTAMP / USECS_PER_DAY)
	{
		date->place = tsurugi_emit_integer(program, constant->integer * USECS_PER_DAY);
		date->type = TIMESTAMPOID;
		return;
	}
	date->place = tsurugi_emit_bounded(program, TG_OP_MULTIPLY, TG_V_INT, date->place,
									   tsurugi_emit_integer(program, USECS_PER_DAY), MIN_TIMESTAMP, END_TIMESTAMP - 1);
	date->type = TIMESTAMPOID;
}

static tsurugi_comparison
mirrored(tsurugi_comparison comparison)
{
	switch (comparison)
	{
		case TSURUGI_LT:
			return TSURUGI_GT;
		case TSURUGI_LE:
			return TSURUGI_GE;
		case TSURUGI_GT:
			return TSURUGI_LT;
		case TSURUGI_GE:
			return TSURUGI_LE;
		default:
			return comparison;
	}
}

static bool
days_are_comparable(tsurugi_program *program, tsurugi_comparison comparison, tsurugi_operand *a, tsurugi_operand *b)
{
	if (a->type == DATEOID && b->type == TIMESTAMPOID)
	{
		if (!round_timestamp(program, comparison, b))
			widen_date(program, a);
		return true;
	}
	if (a->type == TIMESTAMPOID && b->type == DATEOID)
	{
		if (!round_timestamp(program, mirrored(comparison), a))
			widen_date(program, b);
		return true;
	}
	return a->type == b->type &&
		   (a->type == DATEOID || a->type == TIMEOID || a->type == TIMESTAMPOID || a->type == TIMESTAMPTZOID);
}

/* --- comparisons ---------------------------------------------------------------------- */

bool
tsurugi_is_deterministic(Oid collation)
{
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

static bool
numerics_are_comparable(tsurugi_program *program, tsurugi_operand *a, tsurugi_operand *b)
{
	tsurugi_operand x = *a;
	tsurugi_operand y = *b;

	if (a->vector != TG_V_INT || b->vector != TG_V_INT || !tsurugi_rescale_both(program, &x, &y))
		return tsurugi_both_to_decimal(program, a, b);
	*a = x;
	*b = y;
	return true;
}

bool
tsurugi_make_comparable(tsurugi_translation *translation, tsurugi_comparison comparison, Oid collation,
						tsurugi_operand *a, tsurugi_operand *b)
{
	tsurugi_program *program = translation->program;

	if (a->type == NUMERICOID && b->type == NUMERICOID)
		return numerics_are_comparable(program, a, b);
	if (a->vector != b->vector)
		return false;
	if (is_integer(a->type) && is_integer(b->type))
		return true;
	if (a->type == FLOAT8OID && b->type == FLOAT8OID)
		return true;
	if (is_text(a->type) && is_text(b->type))
		return is_equality(comparison) ? tsurugi_is_deterministic(collation)
									   : tsurugi_collation_order(collation) == TSURUGI_ORDER_OF_BYTES;
	if (a->type == BPCHAROID && b->type == BPCHAROID)
		return is_equality(comparison) && tsurugi_is_deterministic(collation) && blanks_are_comparable(program, a, b);
	if (a->type == b->type && type_is_enum(a->type))
		return is_equality(comparison);
	return a->vector == TG_V_INT && days_are_comparable(program, comparison, a, b);
}

bool
tsurugi_compare(tsurugi_translation *translation, tsurugi_comparison comparison, Oid collation, tsurugi_operand *a,
				tsurugi_operand *b, tsurugi_operand *out)
{
	static const uint8_t ops[][6] = {
		[TG_V_INT] = {TG_OP_EQ, TG_OP_NE, TG_OP_LT, TG_OP_LE, TG_OP_GT, TG_OP_GE},
		[TG_V_FLOAT] = {TG_OP_FLOAT_EQ, TG_OP_FLOAT_NE, TG_OP_FLOAT_LT, TG_OP_FLOAT_LE, TG_OP_FLOAT_GT, TG_OP_FLOAT_GE},
		[TG_V_TEXT] = {TG_OP_TEXT_EQ, TG_OP_TEXT_NE, TG_OP_TEXT_LT, TG_OP_TEXT_LE, TG_OP_TEXT_GT, TG_OP_TEXT_GE},
		[TG_V_DECIMAL] = {TG_OP_DECIMAL_EQ, TG_OP_DECIMAL_NE, TG_OP_DECIMAL_LT, TG_OP_DECIMAL_LE, TG_OP_DECIMAL_GT,
						  TG_OP_DECIMAL_GE},
	};

	if (!tsurugi_make_comparable(translation, comparison, collation, a, b) || a->vector == TG_V_BOOL)
		return false;
	*out = (tsurugi_operand){.vector = TG_V_BOOL, .type = BOOLOID, .typmod = -1, .scaled = TG_REGISTER_NONE};
	out->place = tsurugi_emit(translation->program, (tg_op) ops[a->vector][comparison], TG_V_BOOL, a->place, b->place);
	return true;
}

static tsurugi_operand
truth_of(tsurugi_place place)
{
	return (tsurugi_operand){
		.place = place, .vector = TG_V_BOOL, .type = BOOLOID, .typmod = -1, .scaled = TG_REGISTER_NONE};
}

/*
 * Where the constant lies between two values that the register can have, the one below it, or above
 * it, takes its place.
 */
bool
tsurugi_compare_with_numeric(tsurugi_translation *translation, tsurugi_comparison comparison, const tsurugi_operand *a,
							 Node *b, tsurugi_operand *out)
{
	static const tg_op ops[] = {TG_OP_EQ, TG_OP_NE, TG_OP_LT, TG_OP_LE, TG_OP_GT, TG_OP_GE};
	tsurugi_program *program = translation->program;
	bool up = comparison == TSURUGI_LT || comparison == TSURUGI_GE;
	tsurugi_place bound;
	Datum value;
	bool is_null;
	int64 below;
	int64 above;

	if (a->type != NUMERICOID || a->vector != TG_V_INT || tsurugi_base_type(b) != NUMERICOID ||
		!tsurugi_evaluate(translation, b, &value, &is_null) || is_null ||
		!tsurugi_whole_of_numeric(value, a->scale, false, &below) ||
		!tsurugi_whole_of_numeric(value, a->scale, true, &above))
		return false;
	bound = tsurugi_emit_integer(program, up ? above : below);
	if (below != above && comparison == TSURUGI_EQ) /* false, or NULL */
		*out = truth_of(tsurugi_emit(program, TG_OP_NE, TG_V_BOOL, a->place, a->place));
	else if (below != above && comparison == TSURUGI_NE)
		*out = truth_of(tsurugi_emit(program, TG_OP_EQ, TG_V_BOOL, a->place, a->place));
	else
		*out = truth_of(tsurugi_emit(program, ops[comparison], TG_V_BOOL, a->place, bound));
	return true;
}

/* --- IN ------------------------------------------------------------------------------- */

/* The elements as a set under construction, in the form of what they are compared with. */
typedef struct Elements
{
	tg_set set;
	int64_t *ints;
	tg_string *texts;
} Elements;

static int
compare_integers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *) a;
	int64_t y = *(const int64_t *) b;

	return x < y ? -1 : x > y;
}

/* An element that no value of that form is equal to is left out. */
static bool
add_number(const tsurugi_operand *value, Oid type, Datum datum, Elements *elements)
{
	int64 number;
	int scale = 0;

	if (type == NUMERICOID)
	{
		if (!tsurugi_scaled_of_numeric(datum, &number, &scale))
			return false;
		for (; scale > value->scale && number % 10 == 0; scale--)
			number /= 10;
		if (scale > value->scale)
			return true;
		for (; scale < value->scale; scale++)
			if (pg_mul_s64_overflow(number, 10, &number))
				return true;
	}
	else
		number = type == INT2OID ? DatumGetInt16(datum)
				 : type == INT8OID || type == TIMEOID || type == TIMESTAMPOID || type == TIMESTAMPTZOID
					 ? DatumGetInt64(datum)
					 : DatumGetInt32(datum);
	elements->ints[elements->set.count++] = number;
	return true;
}

static void
add_text(const tsurugi_operand *value, Datum datum, Elements *elements)
{
	struct varlena *text = (struct varlena *) PG_DETOAST_DATUM_COPY(datum);
	tg_string *string = &elements->texts[elements->set.count];

	if (value->type == BPCHAROID)
		text = tsurugi_pad(text, value->typmod - VARHDRSZ);
	if (text == NULL)
		return;
	if (VARSIZE(text) - VARHDRSZ <= TG_STRING_INLINE_MAX)
		tg_string_make_inline(string, VARDATA(text), VARSIZE(text) - VARHDRSZ);
	else
		tg_string_make_host(string, text, VARSIZE(text), VARHDRSZ);
	elements->set.count++;
}

static bool
elements_of(const tsurugi_operand *value, ArrayType *array, Elements *elements)
{
	Oid type = getBaseType(ARR_ELEMTYPE(array));
	int16 length;
	bool by_value;
	char alignment;
	Datum *datums;
	bool *nulls;
	int count;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, &datums, &nulls, &count);
	if (value->vector == TG_V_INT)
		elements->set.ints = elements->ints = palloc0(Max(count, 1) * sizeof(int64_t));
	else
		elements->set.texts = elements->texts = palloc0(Max(count, 1) * sizeof(tg_string));
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			elements->set.has_null = true;
		else if (value->vector == TG_V_TEXT)
			add_text(value, datums[i], elements);
		else if (!add_number(value, type, datums[i], elements))
			return false;
	}
	if (value->vector == TG_V_INT)
		qsort(elements->ints, elements->set.count, sizeof(int64_t), compare_integers);
	return true;
}

/* Whether elements of the type can be looked for; a bpchar's length must be known. */
static bool
elements_fit(const tsurugi_operand *value, Oid element, Oid collation)
{
	switch (value->type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return is_integer(element);
		case NUMERICOID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return element == value->type;
		case TEXTOID:
		case VARCHAROID:
			return is_text(element) && tsurugi_is_deterministic(collation);
		case BPCHAROID:
			return element == BPCHAROID && value->typmod > (int32) VARHDRSZ && tsurugi_is_deterministic(collation);
		default:
			return element == value->type && type_is_enum(element);
	}
}

#define COMPARED_MAX 32 /* elements that a decimal is compared with, one by one */

/* A decimal and the elements; NULL: they are not known. */
static bool
decimal_in(tsurugi_program *program, ArrayType *array, bool any, const tsurugi_operand *value, tsurugi_operand *out)
{
	tsurugi_constant element = {.vector = TG_V_DECIMAL};
	Datum *datums = NULL;
	bool *nulls = NULL;
	int count = 1;

	if (array != NULL)
		deconstruct_array(array, NUMERICOID, -1, false, TYPALIGN_INT, &datums, &nulls, &count);
	if (count > COMPARED_MAX)
		return false;
	*out = tsurugi_truth(program, !any);
	for (int i = 0; i < count; i++)
	{
		tsurugi_place equal;

		element.known = array != NULL;
		element.null = element.known && nulls[i];
		if (element.known && !element.null && !tsurugi_decimal_of_numeric(datums[i], &element.decimal))
			return false;
		equal = tsurugi_emit(program, any ? TG_OP_DECIMAL_EQ : TG_OP_DECIMAL_NE, TG_V_BOOL, value->place,
							 tsurugi_emit_constant(program, &element));
		out->place = tsurugi_emit(program, any ? TG_OP_OR : TG_OP_AND, TG_V_BOOL, out->place, equal);
	}
	return true;
}

bool
tsurugi_translate_in(tsurugi_translation *translation, const ScalarArrayOpExpr *in, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	Elements *elements = palloc0(sizeof(*elements));
	tsurugi_operand value;
	ArrayType *array = NULL;
	tsurugi_comparison comparison;
	Oid element = getBaseType(get_element_type(exprType(lsecond(in->args))));
	Datum datum;
	bool null;
	bool known;

	if (in->opno >= FirstUnpinnedObjectId)
		return false;
	comparison = tsurugi_comparison_of(get_opname(in->opno));
	if (comparison != (in->useOr ? TSURUGI_EQ : TSURUGI_NE) ||
		!tsurugi_translate(translation, linitial(in->args), &value) ||
		!elements_fit(&value, element, in->inputcollid) || !tsurugi_is_evaluated_once(translation, lsecond(in->args)))
		return false;
	known = tsurugi_evaluate(translation, lsecond(in->args), &datum, &null);
	if (known && null)
		return false;
	if (value.vector == TG_V_DECIMAL)
		return decimal_in(program, known ? DatumGetArrayTypePCopy(datum) : NULL, in->useOr, &value, out);
	if (known)
	{
		array = DatumGetArrayTypePCopy(datum);
		if (!elements_of(&value, array, elements))
			return false;
	}
	if (known && elements->set.count == 0 && !elements->set.has_null)
	{
		/* not even a NULL is compared, unless elements that equal nothing have been left out */
		*out = tsurugi_truth(program, !in->useOr);
		return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)) == 0;
	}
	*out = (tsurugi_operand){.vector = TG_V_BOOL, .type = BOOLOID, .typmod = -1, .scaled = TG_REGISTER_NONE};
	out->place = tsurugi_emit_with(program, value.vector == TG_V_INT ? TG_OP_IN : TG_OP_TEXT_IN, value.place, 0, 0,
								   TG_V_BOOL, &elements->set);
	if (!in->useOr)
		out->place = tsurugi_emit(program, TG_OP_NOT, TG_V_BOOL, out->place, TG_REGISTER_NONE);
	return true;
}
