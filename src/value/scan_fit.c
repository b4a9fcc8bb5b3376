/*
 * scan_fit.c
 *	  The place of a value among those that a column can hold.
 *
 * The column's values are ordered.  So a value is one of them, or beyond an end, or between two, of
 * which the lower one is computed.  A date that is compared with a timestamp is its midnight;
 * compared with a timestamp with time zone, its midnight in the session's zone, as PostgreSQL
 * compares them.  The reverse is not possible: columns without a zone are not in the order of the
 * moments that they mean (because of the hour by which a clock is put forward).
 *
 * NaN is above all numbers.  So a number that is too large for numeric(p,s) lies between the
 * largest number and NaN; in the same way, a date beyond all timestamps is below infinity.
 */
#include "postgres.h"

#include "src/value/scan_fit.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "datatype/timestamp.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "runtime/order/value.h"
#include "runtime/index/long_key.h"
#include "src/value/datum.h"
#include "src/value/hashed.h"
#include "src/value/ranking.h"

static bool
is_integer(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID;
}

static bool
is_float(Oid type)
{
	return type == FLOAT4OID || type == FLOAT8OID;
}

bool
tsurugi_fits(Oid column, Oid value)
{
	if (column == value)
		return true;
	if (is_integer(column))
		return is_integer(value);
	if (is_float(column))
		return is_float(value);
	return (column == DATEOID && value == TIMESTAMPOID) || (column == TIMESTAMPOID && value == DATEOID) ||
		   (column == TIMESTAMPTZOID && (value == DATEOID || value == TIMESTAMPOID));
}

static tsurugi_fit
fit_integer(int64 number, tg_kind kind, tg_value *out)
{
	int64 high = kind == TG_KIND_2 ? PG_INT16_MAX : kind == TG_KIND_4 ? PG_INT32_MAX : PG_INT64_MAX;

	out->word = number;
	return number > high ? FIT_ABOVE : number < -high - 1 ? FIT_BELOW : FIT_WITHIN;
}

/* --- numeric(p,s) ------------------------------------------------------------------------ */

static Datum
power_of_ten(int exponent)
{
	char digits[16];

	snprintf(digits, sizeof(digits), "1e%d", exponent);
	return DirectFunctionCall3(numeric_in, CStringGetDatum(digits), ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));
}

static bool
is_less(Datum a, Datum b)
{
	return DatumGetBool(DirectFunctionCall2(numeric_lt, a, b));
}

static tsurugi_fit
fit_numeric(const tsurugi_codec *codec, Datum datum, tg_value *out)
{
	Numeric number = DatumGetNumeric(datum);
	Datum limit; /* the least positive number that is too large */
	Datum below;

	if (numeric_is_nan(number))
	{
		tsurugi_value(codec, datum, out);
		return FIT_WITHIN;
	}
	limit = power_of_ten(((codec->typmod - VARHDRSZ) >> 16 & 0xffff) - codec->scale);
	if (!is_less(datum, limit))
	{
		tsurugi_value(codec, DirectFunctionCall2(numeric_sub, limit, power_of_ten(-codec->scale)), out);
		return FIT_BETWEEN;
	}
	if (numeric_is_inf(number))
		return FIT_BELOW;
	below = datum;
	if (DatumGetInt32(DirectFunctionCall1(numeric_min_scale, datum)) > codec->scale)
	{
		below = DirectFunctionCall2(numeric_trunc, datum, Int32GetDatum(codec->scale));
		if (is_less(datum, below))
			below = DirectFunctionCall2(numeric_sub, below, power_of_ten(-codec->scale));
	}
	if (!is_less(DirectFunctionCall1(numeric_uminus, limit), below))
		return FIT_BELOW;
	tsurugi_value(codec, below, out);
	return below == datum ? FIT_WITHIN : FIT_BETWEEN;
}

/* --- floating point ------------------------------------------------------------------------ */

static tsurugi_fit
fit_float(const tsurugi_codec *codec, Oid type, Datum datum, tg_value *out)
{
	double number = type == FLOAT4OID ? DatumGetFloat4(datum) : DatumGetFloat8(datum);
	float near;

	if (codec->type == FLOAT8OID)
	{
		tsurugi_value(codec, Float8GetDatum(number), out);
		return FIT_WITHIN;
	}
	near = (float) number;
	if (near > number)
		near = nextafterf(near, -INFINITY);
	tsurugi_value(codec, Float4GetDatum(near), out);
	return isnan(number) || near == number ? FIT_WITHIN : FIT_BETWEEN;
}

/* --- days and moments ------------------------------------------------------------------------ */

static tsurugi_fit
fit_date(const tsurugi_codec *codec, Timestamp moment, tg_value *out)
{
	int64 day = moment / USECS_PER_DAY;
	bool is_midnight = TIMESTAMP_NOT_FINITE(moment) || moment % USECS_PER_DAY == 0;

	if (TIMESTAMP_IS_NOBEGIN(moment))
		day = DATEVAL_NOBEGIN;
	else if (TIMESTAMP_IS_NOEND(moment))
		day = DATEVAL_NOEND;
	else if (!is_midnight && moment < 0)
		day--;
	tsurugi_value(codec, DateADTGetDatum((DateADT) day), out);
	return is_midnight ? FIT_WITHIN : FIT_BETWEEN;
}

static tsurugi_fit
fit_moment(const tsurugi_codec *codec, Oid type, Datum datum, tg_value *out)
{
	int overflow = 0;
	Timestamp moment;

	if (type == DATEOID)
		moment = codec->type == TIMESTAMPOID ? date2timestamp_opt_overflow(DatumGetDateADT(datum), &overflow)
											 : date2timestamptz_opt_overflow(DatumGetDateADT(datum), &overflow);
	else
		moment = timestamp2timestamptz_opt_overflow(DatumGetTimestamp(datum), &overflow);
	if (overflow != 0)
		moment =
			/* All finite values are above DT_NOBEGIN and below DT_NOEND. */
			overflow > 0 ? DT_NOEND - 1 : DT_NOBEGIN;
	tsurugi_value(codec, TimestampGetDatum(moment), out);
	return overflow != 0 ? FIT_BETWEEN : FIT_WITHIN;
}

/* --- all ----------------------------------------------------------------------------------- */

void
tsurugi_place_value(tg_table *table, const tsurugi_key_column *column, Datum datum, tg_value *out)
{
	if (column->canonical)
		datum = tsurugi_key_bytes(table, &column->origin, column->comparison, datum);
	tsurugi_value(&column->codec, datum, out);
}

/*
 * A value that needs a rank, and has none yet, has not been stored yet: no row that an earlier
 * snapshot sees can have it.
 */
static tsurugi_fit
fit_canonical(tg_table *table, const tsurugi_key_column *column, Datum datum, tg_key_side side, tg_value *out)
{
	Datum bytes;
	bool is_there = tsurugi_key_bytes_look(table, &column->origin, column->comparison, datum, side, &bytes);

	tsurugi_value(&column->codec, bytes, out);
	return is_there ? FIT_WITHIN : FIT_UNRANKED;
}

static tsurugi_fit
fit_hash(const tsurugi_key_column *column, Oid type, Datum datum, tg_value *out)
{
	FmgrInfo hash;

	if (column->canonical)
		datum = tsurugi_hash_canonical(column->type, column->collation, datum);
	else
	{
		fmgr_info(tsurugi_hash_function_of(column, type), &hash);
		datum = tsurugi_hash(&hash, column->collation, datum);
	}
	tsurugi_value(&column->codec, datum, out);
	return FIT_WITHIN;
}

tsurugi_fit
tsurugi_fit_value(tg_table *table, const tsurugi_key_column *column, Oid type, Datum datum, tg_key_side side,
				  tg_value *out)
{
	const tsurugi_codec *codec = &column->codec;

	if (column->hashed)
		return fit_hash(column, type, datum, out);
	if (column->canonical)
		return fit_canonical(table, column, datum, side, out);
	switch (type)
	{
		case INT8OID:
			return fit_integer(DatumGetInt64(datum), codec->kind, out);
		case INT4OID:
			return fit_integer(DatumGetInt32(datum), codec->kind, out);
		case INT2OID:
			return fit_integer(DatumGetInt16(datum), codec->kind, out);
		default:
			break;
	}
	if (codec->form == TSURUGI_NUMERIC8 || codec->form == TSURUGI_NUMERIC16)
		return fit_numeric(codec, datum, out);
	if (type != column->type && is_float(column->type))
		return fit_float(codec, type, datum, out);
	if (column->type == DATEOID && type == TIMESTAMPOID)
		return fit_date(codec, DatumGetTimestamp(datum), out);
	if ((column->type == TIMESTAMPOID && type == DATEOID) ||
		(column->type == TIMESTAMPTZOID && (type == DATEOID || type == TIMESTAMPOID)))
		return fit_moment(codec, type, datum, out);
	tsurugi_value(codec, datum, out);
	return FIT_WITHIN;
}
