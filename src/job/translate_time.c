/*
 * translate_time.c
 *	  Timestamps and dates: their fields, their beginnings, and what lies an interval away.
 *
 * All is without time zones.  A timestamp is split into days and the time of the day, both rounded
 * downwards; the calendar is computed from days.  Infinite ones are left to PostgreSQL.
 */
#include "postgres.h"

#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"
#include "src/job/translate.h"

#include "catalog/pg_type.h"
#include "datatype/timestamp.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#define DAYS_MAX 100000000 /* of an interval; so many days of microseconds fit into 64 bits */
#define DAYS_OF_YEAR 366
#define DAYS_OF_WEEK 7

/* --- pieces of programs --------------------------------------------------------------- */

static tsurugi_place
divide(tsurugi_program *program, tsurugi_place place, int64 divisor)
{
	return tsurugi_emit_with(program, TG_OP_FLOOR_DIVIDE, place, divisor, 0, TG_V_INT, NULL);
}

static tsurugi_place
modulo(tsurugi_program *program, tsurugi_place place, int64 divisor)
{
	return tsurugi_emit_with(program, TG_OP_MODULO, place, divisor, 0, TG_V_INT, NULL);
}

static tsurugi_place
combine(tsurugi_program *program, tg_op op, tsurugi_place a, tsurugi_place b)
{
	return tsurugi_emit_bounded(program, op, TG_V_INT, a, b, PG_INT64_MIN, PG_INT64_MAX);
}

static tsurugi_place
combine_with(tsurugi_program *program, tg_op op, tsurugi_place place, int64 value)
{
	return combine(program, op, place, tsurugi_emit_integer(program, value));
}

static tsurugi_place
calendar(tsurugi_program *program, tg_op op, tsurugi_place days, int64 months)
{
	return tsurugi_emit_bounded(program, op, TG_V_INT, days, TG_REGISTER_NONE, months, 0);
}

static tsurugi_place
in_range(tsurugi_program *program, tsurugi_place timestamp, int64 low)
{
	return tsurugi_emit_bounded(program, TG_OP_RANGE, TG_V_INT, timestamp, TG_REGISTER_NONE, low, END_TIMESTAMP - 1);
}

/* The day of the week of a day, from 0 for the one that is so many days before 2000-01-01. */
static tsurugi_place
day_of_week(tsurugi_program *program, tsurugi_place days, int before)
{
	return modulo(program, combine_with(program, TG_OP_ADD, days, before), DAYS_OF_WEEK);
}

#define SUNDAY_BEFORE 6
#define MONDAY_BEFORE 5

static tsurugi_place
day_of_year(tsurugi_program *program, tsurugi_place days)
{
	tsurugi_place first = calendar(program, TG_OP_TRUNC_MONTHS, days, MONTHS_PER_YEAR);

	return combine_with(program, TG_OP_ADD, combine(program, TG_OP_SUBTRACT, days, first), 1);
}

/* The week that most of its days are of the year; it is the one of its Thursday. */
static tsurugi_place
week_of_year(tsurugi_program *program, tsurugi_place days)
{
	tsurugi_place monday = combine(program, TG_OP_SUBTRACT, days, day_of_week(program, days, MONDAY_BEFORE));
	tsurugi_place thursday = combine_with(program, TG_OP_ADD, monday, 3);

	return divide(program, combine_with(program, TG_OP_ADD, day_of_year(program, thursday), DAYS_OF_WEEK - 1),
				  DAYS_OF_WEEK);
}

/* --- extract -------------------------------------------------------------------------- */

/* A field of the day; false: it is none. */
static bool
field_of_day(tsurugi_program *program, const char *field, tsurugi_place days, tsurugi_place *out)
{
	if (strcmp(field, "year") == 0)
		*out = calendar(program, TG_OP_YEAR, days, 0);
	else if (strcmp(field, "month") == 0)
		*out = calendar(program, TG_OP_MONTH, days, 0);
	else if (strcmp(field, "day") == 0)
		*out = calendar(program, TG_OP_DAY, days, 0);
	else if (strcmp(field, "quarter") == 0)
		*out = divide(program, combine_with(program, TG_OP_ADD, calendar(program, TG_OP_MONTH, days, 0), 2), 3);
	else if (strcmp(field, "dow") == 0)
		*out = day_of_week(program, days, SUNDAY_BEFORE);
	else if (strcmp(field, "isodow") == 0)
		*out = combine_with(program, TG_OP_ADD, day_of_week(program, days, MONDAY_BEFORE), 1);
	else if (strcmp(field, "doy") == 0)
		*out = day_of_year(program, days);
	else if (strcmp(field, "week") == 0)
		*out = week_of_year(program, days);
	else
		return false;
	return true;
}

/* A field of the time, and its scale; false: it is none. */
static bool
field_of_time(tsurugi_program *program, const char *field, tsurugi_place timestamp, tsurugi_place *out, int *scale_out)
{
	*scale_out = strcmp(field, "second") == 0 || strcmp(field, "epoch") == 0 ? 6
				 : strcmp(field, "milliseconds") == 0						 ? 3
																			 : 0;
	if (strcmp(field, "hour") == 0)
		*out = divide(program, modulo(program, timestamp, USECS_PER_DAY), USECS_PER_HOUR);
	else if (strcmp(field, "minute") == 0)
		*out = divide(program, modulo(program, timestamp, USECS_PER_HOUR), USECS_PER_MINUTE);
	else if (strcmp(field, "epoch") == 0)
		*out = combine_with(program, TG_OP_ADD, timestamp, (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * USECS_PER_DAY);
	else if (*scale_out > 0 || strcmp(field, "microseconds") == 0)
		*out = modulo(program, timestamp, USECS_PER_MINUTE);
	else
		return false;
	return true;
}

static bool
extract(tsurugi_translation *translation, const char *field, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	int scale = 0;
	tsurugi_place place;

	if (out->type == DATEOID)
	{
		if (!field_of_day(program, field, tsurugi_finite_date(program, out->place), &place))
			return false;
	}
	else if (out->type == TIMESTAMPOID)
	{
		tsurugi_place timestamp = in_range(program, out->place, MIN_TIMESTAMP);

		if (!field_of_time(program, field, timestamp, &place, &scale) &&
			!field_of_day(program, field, divide(program, timestamp, USECS_PER_DAY), &place))
			return false;
	}
	else
		return false;
	tsurugi_set_number(out, NUMERICOID, place, scale);
	return true;
}

/* --- date_trunc ----------------------------------------------------------------------- */

/* The microseconds of a unit of fixed length; 0: it is none. */
static int64
microseconds_of(const char *unit)
{
	static const struct
	{
		const char *name;
		int64 microseconds;
	} units[] = {{"milliseconds", 1000},
				 {"second", USECS_PER_SEC},
				 {"minute", USECS_PER_MINUTE},
				 {"hour", USECS_PER_HOUR},
				 {"day", USECS_PER_DAY}};

	for (int i = 0; i < lengthof(units); i++)
		if (strcmp(unit, units[i].name) == 0)
			return units[i].microseconds;
	return 0;
}

static int
months_of(const char *unit)
{
	return strcmp(unit, "month") == 0	  ? 1
		   : strcmp(unit, "quarter") == 0 ? 3
		   : strcmp(unit, "year") == 0	  ? MONTHS_PER_YEAR
										  : 0;
}

/* The beginning of the unit that the timestamp lies in. */
static bool
truncate_to(tsurugi_translation *translation, const char *unit, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	int64 microseconds = microseconds_of(unit);
	int months = months_of(unit);
	tsurugi_place timestamp;
	tsurugi_place days;

	if (out->type != TIMESTAMPOID)
		return false;
	/* so that the beginning of its year is in range, too */
	timestamp = in_range(program, out->place, MIN_TIMESTAMP + DAYS_OF_YEAR * USECS_PER_DAY);
	if (microseconds != 0)
		days = divide(program, timestamp, microseconds);
	else
	{
		days = divide(program, timestamp, USECS_PER_DAY);
		if (months != 0)
			days = calendar(program, TG_OP_TRUNC_MONTHS, days, months);
		else if (strcmp(unit, "week") == 0)
			days = combine(program, TG_OP_SUBTRACT, days, day_of_week(program, days, MONDAY_BEFORE));
		else
			return false;
		microseconds = USECS_PER_DAY;
	}
	tsurugi_set_number(out, TIMESTAMPOID, combine_with(program, TG_OP_MULTIPLY, days, microseconds), 0);
	return true;
}

/* --- functions ------------------------------------------------------------------------ */

/* A date as a timestamp. */
static tsurugi_place
midnight(tsurugi_program *program, tsurugi_place date)
{
	return tsurugi_emit_bounded(program, TG_OP_MULTIPLY, TG_V_INT, tsurugi_finite_date(program, date),
								tsurugi_emit_integer(program, USECS_PER_DAY), MIN_TIMESTAMP, END_TIMESTAMP - 1);
}

static bool
convert(tsurugi_translation *translation, const FuncExpr *function, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;

	if (!tsurugi_translate(translation, linitial(function->args), out))
		return false;
	if (function->funcresulttype == DATEOID && out->type == TIMESTAMPOID)
		tsurugi_set_number(out, DATEOID, divide(program, in_range(program, out->place, MIN_TIMESTAMP), USECS_PER_DAY),
						   0);
	else if (function->funcresulttype == TIMESTAMPOID && out->type == DATEOID)
		tsurugi_set_number(out, TIMESTAMPOID, midnight(program, out->place), 0);
	else
		return false;
	return true;
}

bool
tsurugi_translate_time_function(tsurugi_translation *translation, const FuncExpr *function, const char *name,
								tsurugi_operand *out)
{
	const Const *unit = linitial(function->args);
	bool extracts = strcmp(name, "extract") == 0;

	if (list_length(function->args) == 1)
		return (strcmp(name, "date") == 0 || strcmp(name, "timestamp") == 0) && convert(translation, function, out);
	if ((!extracts && strcmp(name, "date_trunc") != 0) || list_length(function->args) != 2 || !IsA(unit, Const) ||
		unit->constisnull || unit->consttype != TEXTOID ||
		!tsurugi_translate(translation, lsecond(function->args), out))
		return false;
	name = TextDatumGetCString(unit->constvalue);
	return extracts ? extract(translation, name, out) : truncate_to(translation, name, out);
}

/* --- intervals ------------------------------------------------------------------------ */

/* As many microseconds later, in range. */
static tsurugi_place
later(tsurugi_program *program, tsurugi_place timestamp, int64 microseconds)
{
	if (microseconds == 0)
		return timestamp;
	return tsurugi_emit_bounded(program, TG_OP_ADD, TG_V_INT, timestamp, tsurugi_emit_integer(program, microseconds),
								MIN_TIMESTAMP, END_TIMESTAMP - 1);
}

/* PostgreSQL's order: months, days, time; after each the timestamp must be in range. */
static tsurugi_place
shift(tsurugi_program *program, tsurugi_place timestamp, int sign, const Interval *interval)
{
	if (interval->month != 0)
	{
		tsurugi_place days =
			calendar(program, TG_OP_ADD_MONTHS, divide(program, timestamp, USECS_PER_DAY), sign * interval->month);
		tsurugi_place date = combine_with(program, TG_OP_MULTIPLY, days, USECS_PER_DAY);

		timestamp = in_range(program, combine(program, TG_OP_ADD, date, modulo(program, timestamp, USECS_PER_DAY)),
							 MIN_TIMESTAMP);
	}
	timestamp = later(program, timestamp, sign * interval->day * USECS_PER_DAY);
	return later(program, timestamp, sign * interval->time);
}

bool
tsurugi_translate_shift(tsurugi_translation *translation, const OpExpr *op, char sign, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	Node *base = linitial(op->args);
	Node *by = llast(op->args);
	tsurugi_place place;
	const Interval *interval;
	Datum value;
	bool null;

	if (list_length(op->args) != 2 || op->opresulttype != TIMESTAMPOID || (sign != '+' && sign != '-'))
		return false;
	if (tsurugi_base_type(base) == INTERVALOID && sign == '+')
	{
		base = llast(op->args);
		by = linitial(op->args);
	}
	if (tsurugi_base_type(by) != INTERVALOID || !tsurugi_is_evaluated_once(translation, by) ||
		!tsurugi_translate(translation, base, out) || (out->type != TIMESTAMPOID && out->type != DATEOID))
		return false;
	place = out->type == DATEOID ? midnight(program, out->place) : in_range(program, out->place, MIN_TIMESTAMP);
	if (tsurugi_evaluate(translation, by, &value, &null))
	{
		interval = null ? NULL : DatumGetIntervalP(value);
		if (interval == NULL || Abs((int64) interval->day) > DAYS_MAX || Abs((int64) interval->month) > DAYS_MAX ||
			interval->time == PG_INT64_MIN)
			return false;
		place = shift(program, place, sign == '-' ? -1 : 1, interval);
	}
	tsurugi_set_number(out, TIMESTAMPOID, place, 0);
	return true;
}
