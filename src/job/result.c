/*
 * result.c
 *	  Keys and totals of a group as PostgreSQL's datums.
 *
 * A sum is exact, in 128 bits, and gets the display scale of what was added, the largest one.  An
 * average is that sum, divided by PostgreSQL.
 */
#include "postgres.h"

#include "src/job/result.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"

#include "runtime/order/value.h"
#include "runtime/query/total.h"
#include "runtime/vector/decimal.h"
#include "runtime/vector/vector.h"
#include "src/value/codec.h"
#include "src/value/datum.h"

static Datum
numeric_of(int128 scaled, int scale)
{
	tsurugi_codec codec = {.form = TSURUGI_NUMERIC16, .scale = (int16) scale};
	tg_value cell;

	memcpy(cell.bytes, &scaled, sizeof(scaled));
	return tsurugi_datum_numeric(&codec, &cell, palloc(TSURUGI_SCRATCH_BYTES));
}

static Datum
numeric_of_decimal(const tg_value *value)
{
	tg_decimal decimal;

	memcpy(&decimal, value->bytes, sizeof(decimal));
	return numeric_of(tg_decimal_value(&decimal), (int) tg_decimal_scale(&decimal));
}

static Datum
datum_of(const tg_value *value, tg_vector_type vector, Oid type, int scale)
{
	switch (type)
	{
		case BOOLOID:
			return BoolGetDatum(value->word != 0);
		case INT2OID:
			return Int16GetDatum((int16) value->word);
		case INT4OID:
		case DATEOID:
			return Int32GetDatum((int32) value->word);
		case NUMERICOID:
			return vector == TG_V_DECIMAL ? numeric_of_decimal(value) : numeric_of((int64) value->word, scale);
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			return PointerGetDatum(tg_string_is_out(&value->string) ? (const char *) value->string.blob
																	: (const char *) &value->string + 3);
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case FLOAT8OID:
			return (Datum) value->word;
		default: /* an enum */
			return ObjectIdGetDatum((Oid) value->word);
	}
}

/*
 * The display scale of a sum: that of the values, or the largest of theirs.  Zeros of scale 0 do
 * not count, unless there is nothing else.
 */
static int
scale_of(const tsurugi_job_column *column, const tg_total *totals)
{
	if (column->vector == TG_V_DECIMAL)
		return totals[column->number].scale;
	return column->scaled >= 0 && totals[column->scaled].count == 0 ? 0 : column->scale;
}

static Datum
sum_of(const tsurugi_job_column *column, const tg_total *totals)
{
	const tg_total *total = &totals[column->number];

	switch (column->type)
	{
		case FLOAT8OID:
			return Float8GetDatum(total->total);
		case NUMERICOID:
			return numeric_of(total->sum, scale_of(column, totals));
		case INT8OID:
			return numeric_of(total->sum, 0);
		default:
			if (total->sum != (int64) total->sum)
				ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE), errmsg("bigint out of range")));
			return Int64GetDatum((int64) total->sum);
	}
}

static Datum
average_of(const tsurugi_job_column *column, const tg_total *totals)
{
	const tg_total *total = &totals[column->number];
	Datum sum;

	if (column->type == FLOAT8OID)
		return Float8GetDatum((total->total + 0.0) / (double) total->count); /* 0, not -0 */
	sum = numeric_of(total->sum, column->type == NUMERICOID ? scale_of(column, totals) : 0);
	return DirectFunctionCall2(numeric_div, sum, NumericGetDatum(int64_to_numeric((int64) total->count)));
}

Datum
tsurugi_job_datum(const tsurugi_job_column *column, const tg_value *keys, const bool *key_nulls, const tg_total *totals,
				  bool *null_out)
{
	const tg_total *total = &totals[column->number];

	if (column->what == TSURUGI_COLUMN_KEY)
	{
		*null_out = key_nulls[column->number];
		return *null_out ? (Datum) 0 : datum_of(&keys[column->number], column->vector, column->type, column->scale);
	}
	*null_out = total->count == 0 && column->what != TSURUGI_COLUMN_COUNT && column->what != TSURUGI_COLUMN_COUNTS;
	if (*null_out)
		return (Datum) 0;
	switch (column->what)
	{
		case TSURUGI_COLUMN_SUM:
			return sum_of(column, totals);
		case TSURUGI_COLUMN_COUNTS:
			return Int64GetDatum((int64) total->sum);
		case TSURUGI_COLUMN_AVERAGE:
			return average_of(column, totals);
		case TSURUGI_COLUMN_EXTREME:
			return datum_of(&total->value, column->vector, column->type, column->scale);
		default:
			return Int64GetDatum((int64) total->count);
	}
}

uint64
tsurugi_job_copies(const tsurugi_job *job, const tsurugi_job_column *columns, const tg_total *totals)
{
	const tsurugi_job_step *groups = tsurugi_job_result(job);
	int keys = list_length(groups->keys);
	uint64 left;
	uint64 right;

	if (!groups->all || groups != tsurugi_job_last(job))
		return 1;
	left = totals[columns[keys].number].count;
	right = totals[columns[keys + 1].number].count;
	if (groups->set == TSURUGI_SET_INTERSECT)
		return Min(left, right);
	return left > right ? left - right : 0;
}
