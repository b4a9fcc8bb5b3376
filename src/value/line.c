/*
 * line.c
 *	  Distances of values that lie on a line: numbers and times, as btree_gist's operators <-> measure them.
 *
 * Who reads an index in its order, from a value on upwards or downwards, may put the rows in order by these distances alone if
 * they never become smaller on the way: those of the operator, and those here, by which rows come in an order of the operator's.
 *
 * The operators themselves are asked as little as can be.  They raise an error where a difference has no place in their type (int, bigint, money, infinite
 * dates), and it would be one for rows that conditions leave out, or a security barrier hides, or LIMIT does not come to.  (So
 * do btree_gist's indexes: they compare distances as floating point.)  Of a row that is handed out the expression is evaluated, as ever.
 *
 * - Integers, oid, money, date, time: the difference, here without an end.  Where the operator has a result it is the same.
 * - timestamp, with and without time zone: the operator's result is days and the rest, which are ordered by their sum; and the largest
 *	 interval there is where either side is infinite.  So it is here; that this is one result for a whole half
 *	 of the line is no less an order.  Differences that do not fit 64 bits, of more than 292,000 years, are wrong in PostgreSQL, and right here.
 * - interval: the operator subtracts months, days and time each by itself, and an interval is ordered by the sum of these, a month being
 *	 30 days.  So its result is ordered as the difference of the sums.
 * - Floating point: the difference as it is rounded.  Of a <= b <= c, c - a is not less than b - a, and rounding keeps
 *	 that.  It is computed in the type's own width: the rounding of a rounding would be another.  Of what is not finite the operator is
 *	 asked.  It says one thing of all finite numbers, infinity, or, from NaN, NaN, and that or more of what lies
 *	 beyond them; but an infinity, or NaN, is at a distance of 0 from itself, or, before PostgreSQL 15.20 or so, NaN, which is
 *	 above all distances.  So that one place may come last from itself.  Upwards from -Infinity it would come first; so it is looked for
 *	 downwards, where nothing else is; Infinity upwards, where there is but NaN, which is as far, or farther.
 */
#include "postgres.h"

#include "src/value/line.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "datatype/timestamp.h"
#include "utils/cash.h"
#include "utils/date.h"
#include "utils/timestamp.h"

#include "src/base/library.h"

#define LIBRARY "$libdir/btree_gist"

static const struct
{
	Oid type;
	const char *name;
} functions[] = {
	{INT2OID, "int2_dist"},		{INT4OID, "int4_dist"},		   {INT8OID, "int8_dist"},
	{FLOAT4OID, "float4_dist"}, {FLOAT8OID, "float8_dist"},	   {CASHOID, "cash_dist"},
	{OIDOID, "oid_dist"},		{DATEOID, "date_dist"},		   {TIMEOID, "time_dist"},
	{TIMESTAMPOID, "ts_dist"},	{TIMESTAMPTZOID, "tstz_dist"}, {INTERVALOID, "interval_dist"},
};

bool
tsurugi_line_measures(Oid function, Oid type)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
		if (functions[i].type == type)
			return tsurugi_is_of_library(function, LIBRARY, functions[i].name);
	return false;
}

void
tsurugi_line_init(tsurugi_line *line, Oid function, Oid type)
{
	line->type = type;
	fmgr_info(function, &line->measure);
}

/* As interval_cmp_value (timestamp.c). */
static int128
count_of_interval(const Interval *interval)
{
	return interval->time + (interval->month * INT64CONST(30) + interval->day) * (int128) USECS_PER_DAY;
}

tsurugi_line_place
tsurugi_line_place_of(Oid type, Datum value)
{
	switch (type)
	{
		case INT2OID:
			return (tsurugi_line_place){.count = DatumGetInt16(value)};
		case INT4OID:
			return (tsurugi_line_place){.count = DatumGetInt32(value)};
		case INT8OID:
			return (tsurugi_line_place){.count = DatumGetInt64(value)};
		case CASHOID:
			return (tsurugi_line_place){.count = DatumGetCash(value)};
		case OIDOID:
			return (tsurugi_line_place){.count = DatumGetObjectId(value)};
		case DATEOID:
			return (tsurugi_line_place){.count = DatumGetDateADT(value)};
		case TIMEOID:
			return (tsurugi_line_place){.count = DatumGetTimeADT(value)};
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return (tsurugi_line_place){.count = DatumGetTimestamp(value)};
		case INTERVALOID:
			return (tsurugi_line_place){.count = count_of_interval(DatumGetIntervalP(value))};
		case FLOAT4OID:
			return (tsurugi_line_place){.floated = DatumGetFloat4(value)};
		case FLOAT8OID:
			return (tsurugi_line_place){.floated = DatumGetFloat8(value)};
		default:
			elog(ERROR, "type %u has no distances", type);
	}
}

/* Numbers in the order of distances: those of bytes, NaN being above infinity. */
static uint128
distance_of_floats(double difference)
{
	double distance = fabs(difference); /* no '-0' */
	uint64 bits;

	if (isnan(distance))
		return PG_UINT64_MAX;
	memcpy(&bits, &distance, sizeof(bits));
	return bits;
}

static uint128
distance_of_doubles(tsurugi_line *line, double a, double b)
{
	if (isfinite(a) && isfinite(b))
		return distance_of_floats(a - b);
	return distance_of_floats(DatumGetFloat8(FunctionCall2(&line->measure, Float8GetDatum(a), Float8GetDatum(b))));
}

static uint128
distance_of_singles(tsurugi_line *line, float a, float b)
{
	if (isfinite(a) && isfinite(b))
		return distance_of_floats(a - b);
	return distance_of_floats(DatumGetFloat4(FunctionCall2(&line->measure, Float4GetDatum(a), Float4GetDatum(b))));
}

static bool
is_timestamp(Oid type)
{
	return type == TIMESTAMPOID || type == TIMESTAMPTZOID;
}

static bool
is_infinite_timestamp(const tsurugi_line_place *place)
{
	return place->count == DT_NOBEGIN || place->count == DT_NOEND;
}

uint128
tsurugi_line_distance(tsurugi_line *line, const tsurugi_line_place *a, const tsurugi_line_place *b)
{
	if (line->type == FLOAT8OID)
		return distance_of_doubles(line, a->floated, b->floated);
	if (line->type == FLOAT4OID)
		return distance_of_singles(line, (float) a->floated, (float) b->floated);
	if (is_timestamp(line->type) && (is_infinite_timestamp(a) || is_infinite_timestamp(b)))
		return TSURUGI_LINE_NOWHERE - 1;
	return (uint128) (a->count > b->count ? a->count - b->count : b->count - a->count);
}

bool
tsurugi_line_place_is_low(Oid type, const tsurugi_line_place *place)
{
	return (type == FLOAT4OID || type == FLOAT8OID) && isinf(place->floated) && place->floated < 0;
}
