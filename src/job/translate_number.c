/*
 * translate_number.c
 *	  Arithmetic and conversions of numbers and dates.
 *
 * A numeric is an INT with a static scale: what PostgreSQL calls its display scale.  So sums and
 * products have PostgreSQL's scale, too.  What needs more than 64 bits is unfit.  A numeric whose
 * scale is not static is a DECIMAL (translate_decimal.c).
 */
#include "postgres.h"

#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "src/job/translate.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "datatype/timestamp.h"
#include "utils/builtins.h"
#include "utils/numeric.h"

#define POWER_MAX 18						   /* 10 to this power fits into 64 bits */
#define EXACT_DOUBLE_MAX (INT64CONST(1) << 53) /* integers up to it are doubles */

/* Dates that are not infinite. */
#define DATE_LOW (DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
#define DATE_HIGH (DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1)

static int64
power_of_ten(int exponent)
{
	int64 power = 1;

	Assert(exponent >= 0 && exponent <= POWER_MAX);
	while (exponent-- > 0)
		power *= 10;
	return power;
}

bool
tsurugi_scaled_of_numeric(Datum numeric, int64 *value_out, int *scale_out)
{
	const char *text = DatumGetCString(DirectFunctionCall1(numeric_out, numeric));
	bool negative = *text == '-';
	bool fraction = false;
	int64 value = 0;

	*scale_out = 0;
	for (text += negative; *text != '\0'; text++)
	{
		if (*text == '.' && !fraction)
		{
			fraction = true;
			continue;
		}
		if (*text < '0' || *text > '9' || pg_mul_s64_overflow(value, 10, &value) ||
			pg_add_s64_overflow(value, *text - '0', &value))
			return false;
		*scale_out += fraction;
	}
	*value_out = negative ? -value : value;
	return true;
}

/* Whether its amount is greater. */
static bool
is_beyond(Datum numeric, Datum most)
{
	return DatumGetBool(DirectFunctionCall2(numeric_gt, DirectFunctionCall1(numeric_abs, numeric), most));
}

bool
tsurugi_whole_of_numeric(Datum numeric, int scale, bool up, int64 *whole_out)
{
	Datum power = DirectFunctionCall2(numeric_power, NumericGetDatum(int64_to_numeric(10)),
									  NumericGetDatum(int64_to_numeric(scale)));
	Datum most = NumericGetDatum(int64_to_numeric(PG_INT64_MAX / 2));
	Datum value;

	if (numeric_is_nan(DatumGetNumeric(numeric)) || numeric_is_inf(DatumGetNumeric(numeric)))
		return false;
	if (scale >= 0 && is_beyond(numeric, most)) /* the product may have no room in a numeric */
		return false;
	value = DirectFunctionCall2(numeric_mul, numeric, power);
	value = DirectFunctionCall1(up ? numeric_ceil : numeric_floor, value);
	if (is_beyond(value, most))
		return false;
	*whole_out = DatumGetInt64(DirectFunctionCall1(numeric_int8, value));
	return true;
}

/* --- scales --------------------------------------------------------------------------- */

/* Whether the scale of a numeric is that of its register's type, for all rows. */
static bool
has_static_scale(const tsurugi_operand *operand)
{
	return operand->vector == TG_V_INT && operand->scaled == TG_REGISTER_NONE;
}

bool
tsurugi_rescale(tsurugi_program *program, tsurugi_operand *operand, int scale)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, operand->place);
	int64 factor;

	Assert(scale >= operand->scale);
	if (scale == operand->scale)
		return true;
	if (scale - operand->scale > POWER_MAX)
		return false;
	factor = power_of_ten(scale - operand->scale);
	operand->scale = scale;
	if (constant == NULL)
	{
		operand->place = tsurugi_emit_bounded(program, TG_OP_MULTIPLY, TG_V_INT, operand->place,
											  tsurugi_emit_integer(program, factor), PG_INT64_MIN, PG_INT64_MAX);
		return true;
	}
	if (constant->known && !constant->null)
	{
		tsurugi_constant changed = *constant;

		if (pg_mul_s64_overflow(constant->integer, factor, &changed.integer))
			return false;
		operand->place = tsurugi_emit_constant(program, &changed);
	}
	return true;
}

bool
tsurugi_rescale_both(tsurugi_program *program, tsurugi_operand *a, tsurugi_operand *b)
{
	int scale = Max(a->scale, b->scale);

	return tsurugi_rescale(program, a, scale) && tsurugi_rescale(program, b, scale);
}

/* --- operators ------------------------------------------------------------------------ */

static bool
range_of(Oid type, int64 *low_out, int64 *high_out)
{
	*low_out = type == INT2OID ? PG_INT16_MIN : type == INT4OID ? PG_INT32_MIN : PG_INT64_MIN;
	*high_out = type == INT2OID ? PG_INT16_MAX : type == INT4OID ? PG_INT32_MAX : PG_INT64_MAX;
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

void
tsurugi_set_number(tsurugi_operand *out, Oid type, tsurugi_place place, int scale)
{
	*out = (tsurugi_operand){
		.place = place, .vector = TG_V_INT, .type = type, .typmod = -1, .scale = scale, .scaled = TG_REGISTER_NONE};
}

static void
set_float(tsurugi_operand *out, tsurugi_place place)
{
	*out = (tsurugi_operand){
		.place = place, .vector = TG_V_FLOAT, .type = FLOAT8OID, .typmod = -1, .scaled = TG_REGISTER_NONE};
}

static bool
integers(tsurugi_program *program, char sign, Oid type, const tsurugi_operand *a, const tsurugi_operand *b,
		 tsurugi_operand *out)
{
	int64 low;
	int64 high;
	tg_op op = sign == '+'	 ? TG_OP_ADD
			   : sign == '-' ? TG_OP_SUBTRACT
			   : sign == '*' ? TG_OP_MULTIPLY
			   : sign == '/' ? TG_OP_DIVIDE
							 : TG_OP_REMAINDER;

	if (!range_of(type, &low, &high))
		return false;
	tsurugi_set_number(out, type, tsurugi_emit_bounded(program, op, TG_V_INT, a->place, b->place, low, high), 0);
	return true;
}

static bool
numerics(tsurugi_program *program, char sign, tsurugi_operand *a, tsurugi_operand *b, tsurugi_operand *out)
{
	tg_op op = sign == '+' ? TG_OP_ADD : sign == '-' ? TG_OP_SUBTRACT : TG_OP_MULTIPLY;
	tsurugi_operand x = *a;
	tsurugi_operand y = *b;
	int scale = sign == '*' ? a->scale + b->scale : Max(a->scale, b->scale);

	if (sign == '/' || sign == '%' || !has_static_scale(a) || !has_static_scale(b) || scale > 2 * POWER_MAX ||
		(sign != '*' && !tsurugi_rescale_both(program, &x, &y)))
	{
		if (!tsurugi_both_to_decimal(program, a, b))
			return false;
		tsurugi_decimals(program, sign, a, b, out);
		return true;
	}
	tsurugi_set_number(out, NUMERICOID,
					   tsurugi_emit_bounded(program, op, TG_V_INT, x.place, y.place, PG_INT64_MIN, PG_INT64_MAX),
					   scale);
	return true;
}

static bool
floats(tsurugi_program *program, char sign, const tsurugi_operand *a, const tsurugi_operand *b, tsurugi_operand *out)
{
	tg_op op = sign == '+'	 ? TG_OP_FLOAT_ADD
			   : sign == '-' ? TG_OP_FLOAT_SUBTRACT
			   : sign == '*' ? TG_OP_FLOAT_MULTIPLY
							 : TG_OP_FLOAT_DIVIDE;

	if (sign == '%')
		return false;
	set_float(out, tsurugi_emit_bounded(program, op, TG_V_FLOAT, a->place, b->place, 0, 0));
	return true;
}

tsurugi_place
tsurugi_finite_date(tsurugi_program *program, tsurugi_place date)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, date);

	if (constant != NULL && constant->known && constant->integer >= DATE_LOW && constant->integer <= DATE_HIGH)
		return date;
	return tsurugi_emit_bounded(program, TG_OP_RANGE, TG_V_INT, date, TG_REGISTER_NONE, DATE_LOW, DATE_HIGH);
}

/* date ± integer, integer + date, date - date */
static bool
dates(tsurugi_program *program, char sign, tsurugi_operand *a, tsurugi_operand *b, tsurugi_operand *out)
{
	tg_op op = sign == '+' ? TG_OP_ADD : TG_OP_SUBTRACT;
	bool difference = a->type == DATEOID && b->type == DATEOID;
	int64 low = difference ? PG_INT32_MIN : DATE_LOW;
	int64 high = difference ? PG_INT32_MAX : DATE_HIGH;

	if ((sign != '+' && sign != '-') || (difference && sign == '+') || (a->type != DATEOID && sign == '-') ||
		(!difference && a->type != INT4OID && b->type != INT4OID))
		return false;
	if (a->type == DATEOID)
		a->place = tsurugi_finite_date(program, a->place);
	if (b->type == DATEOID)
		b->place = tsurugi_finite_date(program, b->place);
	tsurugi_set_number(out, difference ? INT4OID : DATEOID,
					   tsurugi_emit_bounded(program, op, TG_V_INT, a->place, b->place, low, high), 0);
	return true;
}

static bool
signed_decimal(tsurugi_program *program, tg_op op, tsurugi_operand *operand)
{
	if (!tsurugi_to_decimal(program, operand))
		return false;
	operand->place = tsurugi_emit(program, op, TG_V_DECIMAL, operand->place, TG_REGISTER_NONE);
	return true;
}

/* NEGATE and ABSOLUTE; that of the least integer is out of range. */
static bool
signed_value(tsurugi_program *program, tg_op op, tsurugi_operand *operand)
{
	int64 low;
	int64 high;

	if (operand->type == NUMERICOID && !has_static_scale(operand))
		return signed_decimal(program, op == TG_OP_NEGATE ? TG_OP_DECIMAL_NEGATE : TG_OP_DECIMAL_ABSOLUTE, operand);
	if (!range_of(operand->type, &low, &high) && operand->type != NUMERICOID)
		return false;
	operand->place = tsurugi_emit_bounded(program, op, TG_V_INT, operand->place, TG_REGISTER_NONE, low, high);
	if (high < PG_INT64_MAX)
		operand->place =
			tsurugi_emit_bounded(program, TG_OP_RANGE, TG_V_INT, operand->place, TG_REGISTER_NONE, low, high);
	return true;
}

static bool
negation(tsurugi_program *program, tsurugi_operand *operand)
{
	if (operand->type != FLOAT8OID)
		return signed_value(program, TG_OP_NEGATE, operand);
	operand->place = tsurugi_emit(program, TG_OP_FLOAT_NEGATE, TG_V_FLOAT, operand->place, TG_REGISTER_NONE);
	return true;
}

bool
tsurugi_translate_arithmetic(tsurugi_translation *translation, const OpExpr *op, const char *name, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_operand a;
	tsurugi_operand b;

	if (strlen(name) != 1 || strchr("+-*/%", name[0]) == NULL)
		return false;
	if (tsurugi_translate_shift(translation, op, name[0], out))
		return true;
	if (!tsurugi_translate(translation, linitial(op->args), &a))
		return false;
	if (list_length(op->args) == 1)
	{
		*out = a;
		return name[0] == '-' && negation(program, out);
	}
	if (!tsurugi_translate(translation, lsecond(op->args), &b))
		return false;
	if (is_integer(a.type) && is_integer(b.type))
		return integers(program, name[0], op->opresulttype, &a, &b, out);
	if (a.type == NUMERICOID && b.type == NUMERICOID)
		return numerics(program, name[0], &a, &b, out);
	if (a.type == FLOAT8OID && b.type == FLOAT8OID)
		return floats(program, name[0], &a, &b, out);
	return (a.type == DATEOID || b.type == DATEOID) && dates(program, name[0], &a, &b, out);
}

/* --- conversions ---------------------------------------------------------------------- */

/* With that many digits behind the point, rounded if there are more. */
static bool
round_to(tsurugi_program *program, tsurugi_operand *operand, int scale)
{
	if (scale < 0)
		return false;
	if (!has_static_scale(operand) || operand->scale - scale > POWER_MAX)
		return tsurugi_round_decimal(program, operand, scale, TG_ROUND_HALF);
	if (operand->scale <= scale)
		return tsurugi_rescale(program, operand, scale);
	operand->place = tsurugi_emit_with(program, TG_OP_ROUND, operand->place, power_of_ten(operand->scale - scale), 0,
									   TG_V_INT, NULL);
	operand->scale = scale;
	return true;
}

static bool
to_integer(tsurugi_program *program, Oid type, tsurugi_operand *operand)
{
	int64 low;
	int64 high;
	int64 low_now;
	int64 high_now = PG_INT64_MAX;

	if (!range_of(type, &low, &high))
		return false;
	if (operand->type == NUMERICOID)
	{
		if (!round_to(program, operand, 0))
			return false;
	}
	else if (!range_of(operand->type, &low_now, &high_now))
		return false;
	if (high_now > high)
		operand->place =
			tsurugi_emit_bounded(program, TG_OP_RANGE, TG_V_INT, operand->place, TG_REGISTER_NONE, low, high);
	operand->type = type;
	return true;
}

static bool
to_float(tsurugi_program *program, tsurugi_operand *operand)
{
	tsurugi_place place = operand->place;

	if (operand->vector == TG_V_DECIMAL)
	{
		set_float(operand, tsurugi_emit(program, TG_OP_DECIMAL_TO_FLOAT, TG_V_FLOAT, place, TG_REGISTER_NONE));
		return true;
	}
	if (operand->type == NUMERICOID && operand->scale > 0)
	{
		if (operand->scale > POWER_MAX)
			return false;
		place = tsurugi_emit_bounded(program, TG_OP_RANGE, TG_V_INT, place, TG_REGISTER_NONE, -EXACT_DOUBLE_MAX,
									 EXACT_DOUBLE_MAX);
	}
	else if (!is_integer(operand->type) && operand->type != NUMERICOID)
		return false;
	place = tsurugi_emit_with(program, TG_OP_TO_FLOAT, place, power_of_ten(operand->scale), 0, TG_V_FLOAT, NULL);
	set_float(operand, place);
	return true;
}

/* A constant argument. */
static bool
integer_argument(const FuncExpr *function, int number, int *value_out)
{
	const Const *argument = list_nth(function->args, number);

	if (!IsA(argument, Const) || argument->constisnull || argument->consttype != INT4OID)
		return false;
	*value_out = DatumGetInt32(argument->constvalue);
	return true;
}

/* numeric(precision, scale) */
static bool
to_typmod(tsurugi_program *program, int typmod, tsurugi_operand *operand)
{
	int precision;
	int scale;

	if (typmod < (int) VARHDRSZ)
		return true;
	precision = ((typmod - VARHDRSZ) >> 16) & 0xffff;
	scale = (((typmod - VARHDRSZ) & 0x7ff) ^ 1024) - 1024;
	if (!round_to(program, operand, scale))
		return false;
	if (precision <= POWER_MAX)
		operand->place = tsurugi_emit_bounded(program, TG_OP_RANGE, TG_V_INT, operand->place, TG_REGISTER_NONE,
											  1 - power_of_ten(precision), power_of_ten(precision) - 1);
	return true;
}

static bool
to_numeric(tsurugi_program *program, const FuncExpr *function, tsurugi_operand *operand)
{
	int typmod;

	if (list_length(function->args) == 2)
		return operand->type == NUMERICOID && integer_argument(function, 1, &typmod) &&
			   to_typmod(program, typmod, operand);
	if (!is_integer(operand->type))
		return false;
	operand->type = NUMERICOID;
	return true;
}

/* floor and ceil of a numeric. */
static bool
to_whole(tsurugi_program *program, bool up, tsurugi_operand *operand)
{
	if (operand->type != NUMERICOID)
		return false;
	if (!has_static_scale(operand) || operand->scale > POWER_MAX)
		return tsurugi_round_decimal(program, operand, 0, up ? TG_ROUND_UP : TG_ROUND_DOWN);
	if (operand->scale == 0)
		return true;
	if (up && !signed_value(program, TG_OP_NEGATE, operand))
		return false;
	operand->place =
		tsurugi_emit_with(program, TG_OP_FLOOR_DIVIDE, operand->place, power_of_ten(operand->scale), 0, TG_V_INT, NULL);
	operand->scale = 0;
	return !up || signed_value(program, TG_OP_NEGATE, operand);
}

static bool
float_function(tsurugi_program *program, const char *name, tsurugi_operand *operand)
{
	tg_op op = strcmp(name, "abs") == 0 ? TG_OP_FLOAT_ABSOLUTE : TG_OP_FLOAT_SQRT;

	if (op == TG_OP_FLOAT_SQRT && strcmp(name, "sqrt") != 0 && strcmp(name, "dsqrt") != 0)
		return false;
	set_float(operand, tsurugi_emit_bounded(program, op, TG_V_FLOAT, operand->place, TG_REGISTER_NONE, 0, 0));
	return true;
}

bool
tsurugi_translate_number_function(tsurugi_translation *translation, const FuncExpr *function, const char *name,
								  tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_operand divisor;
	int digits = 0;

	if (!tsurugi_translate(translation, linitial(function->args), out) || out->vector == TG_V_TEXT)
		return false;
	if (strcmp(name, "int2") == 0 || strcmp(name, "int4") == 0 || strcmp(name, "int8") == 0)
		return to_integer(program, function->funcresulttype, out);
	if (strcmp(name, "numeric") == 0)
		return to_numeric(program, function, out);
	if (strcmp(name, "float8") == 0)
		return to_float(program, out);
	if (out->vector == TG_V_FLOAT && list_length(function->args) == 1)
		return float_function(program, name, out);
	if (strcmp(name, "floor") == 0 || strcmp(name, "ceil") == 0 || strcmp(name, "ceiling") == 0)
		return list_length(function->args) == 1 && to_whole(program, name[0] == 'c', out);
	if (strcmp(name, "abs") == 0)
		return signed_value(program, TG_OP_ABSOLUTE, out);
	if (strcmp(name, "mod") == 0 && out->type == NUMERICOID)
	{
		tsurugi_operand dividend = *out;

		return tsurugi_translate(translation, lsecond(function->args), &divisor) &&
			   numerics(program, '%', &dividend, &divisor, out);
	}
	if (strcmp(name, "trunc") == 0 && out->type == NUMERICOID)
		return (list_length(function->args) == 1 || integer_argument(function, 1, &digits)) &&
			   tsurugi_round_decimal(program, out, digits, TG_ROUND_TO_ZERO);
	if (strcmp(name, "round") == 0 && out->type == NUMERICOID)
		return (list_length(function->args) == 1 || integer_argument(function, 1, &digits)) &&
			   round_to(program, out, digits);
	return false;
}
