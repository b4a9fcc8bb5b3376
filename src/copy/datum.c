/*
 * datum.c
 *	  From values of PostgreSQL to those of a file that is written.
 *
 * Infinite dates and times are the largest numbers of their types, and these with a minus, as in
 * files of DuckDB.  The reader makes infinite ones of them again, and of the smallest numbers, too.
 * What a DECIMAL cannot be, NaN and infinity, is an error.
 */
#include "postgres.h"

#include "src/copy/datum.h"

#include "catalog/pg_type.h"
#include "common/int.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "src/copy/copy.h"
#include "src/value/datum.h"

#define DECIMAL_BYTES 16
#define INTERVAL_BYTES 16
#define EPOCH_DAYS (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)

void
tsurugi_written_column_init(tsurugi_written_column *column, Oid type, int32 typmod, bool has_intervals,
							tg_file_column *description)
{
	Oid base = getBaseType(type);
	Oid output;
	bool is_varlena;
	bool as_text = tsurugi_column_of_type(type, typmod, description);

	column->list = description->list;
	if (description->type == TG_FILE_DECIMAL)
		tsurugi_codec_init_type(&column->decimal, NUMERICOID,
								(description->precision << 16 | description->scale) + VARHDRSZ, InvalidOid);
	if (column->list)
	{
		base = getBaseType(get_element_type(base));
		get_typlenbyvalalign(base, &column->length, &column->by_value, &column->align);
	}
	column->type = base;
	if (base == INTERVALOID && has_intervals)
	{
		description->type = TG_FILE_INTERVAL;
		description->digits = 9;
		as_text = false;
	}
	column->file = description->type;
	if (as_text || description->type == TG_FILE_JSON || description->type == TG_FILE_DECIMAL)
	{
		getTypeOutputInfo(base, &output, &is_varlena);
		fmgr_info(output, &column->output);
	}
}

/* --- values --------------------------------------------------------------------------- */

static int64
word_of_float(float8 value)
{
	int64 word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static int64
word_of_date(DateADT date)
{
	if (DATE_NOT_FINITE(date))
		return DATE_IS_NOEND(date) ? PG_INT32_MAX : -PG_INT32_MAX;
	return (int64) date + EPOCH_DAYS;
}

static int64
word_of_timestamp(Timestamp timestamp)
{
	if (TIMESTAMP_NOT_FINITE(timestamp))
		return TIMESTAMP_IS_NOEND(timestamp) ? PG_INT64_MAX : -PG_INT64_MAX;
	/* the largest ones are beyond what the file can hold, by 30 years */
	if (timestamp > PG_INT64_MAX - EPOCH_DAYS * USECS_PER_DAY)
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("timestamp out of range")));
	return timestamp + EPOCH_DAYS * USECS_PER_DAY;
}

/* The word of a value whose type has words, but for a DECIMAL. */
static int64
word_of(Oid type, Datum value)
{
	switch (type)
	{
		case BOOLOID:
			return DatumGetBool(value);
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
			return DatumGetInt32(value);
		case OIDOID:
			return DatumGetObjectId(value);
		case FLOAT4OID:
			return word_of_float(DatumGetFloat4(value));
		case FLOAT8OID:
			return word_of_float(DatumGetFloat8(value));
		case DATEOID:
			return word_of_date(DatumGetDateADT(value));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return word_of_timestamp(DatumGetTimestamp(value));
		default: /* int8, time */
			return DatumGetInt64(value);
	}
}

/* The integer is the one that a column of the type has in memory. */
static tg_status
write_decimal(tg_columnar_out *file, unsigned at, const tsurugi_written_column *column, Datum value)
{
	Numeric number = DatumGetNumeric(value);
	tg_value stored;
	uint8 bytes[DECIMAL_BYTES];
	uint128 integer;

	if (numeric_is_nan(number) || numeric_is_inf(number))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
						errmsg("cannot write %s as a DECIMAL",
							   OutputFunctionCall((FmgrInfo *) &column->output, NumericGetDatum(number))),
						errhint("Cast the column to double precision, or to text.")));
	tsurugi_value(&column->decimal, NumericGetDatum(number), &stored);
	if (column->decimal.form == TSURUGI_NUMERIC8)
		return tg_columnar_put_word(file, at, (int64) stored.word);
	memcpy(&integer, stored.bytes, sizeof(integer));
	for (int i = DECIMAL_BYTES; i-- > 0; integer >>= 8)
		bytes[i] = (uint8) integer;
	return tg_columnar_put_bytes(file, at, bytes, sizeof(bytes));
}

char *
tsurugi_text_of_interval(const Interval *interval)
{
	struct pg_itm parts;
	char text[MAXDATELEN + 1];

	interval2itm(*interval, &parts);
	EncodeInterval(&parts, INTSTYLE_ISO_8601, text);
	return pstrdup(text);
}

static tg_status
write_text(tg_columnar_out *file, unsigned at, const char *text, int bytes)
{
	char *utf8 = pg_server_to_any(text, bytes, PG_UTF8);

	return tg_columnar_put_bytes(file, at, utf8, utf8 != text ? strlen(utf8) : (size_t) bytes);
}

static tg_status
write_string(tg_columnar_out *file, unsigned at, const tsurugi_written_column *column, Datum value)
{
	struct varlena *detoasted;
	char *text;

	if (column->type == TEXTOID || column->type == VARCHAROID || column->type == BPCHAROID || column->type == JSONOID)
	{
		detoasted = PG_DETOAST_DATUM_PACKED(value);
		return write_text(file, at, VARDATA_ANY(detoasted), (int) VARSIZE_ANY_EXHDR(detoasted));
	}
	if (column->type == INTERVALOID)
		text = tsurugi_text_of_interval(DatumGetIntervalP(value));
	else
		text = OutputFunctionCall((FmgrInfo *) &column->output, value);
	return write_text(file, at, text, (int) strlen(text));
}

/* Months, days, ns. */
static tg_status
write_interval(tg_columnar_out *file, unsigned at, const Interval *interval)
{
	uint8 bytes[INTERVAL_BYTES];
	int64 ns;

	if (pg_mul_s64_overflow(interval->time, 1000, &ns))
		ereport(ERROR, (errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE), errmsg("interval out of range"),
						errhint("Cast the column to text.")));
	for (int i = 0; i < 4; i++)
	{
		bytes[i] = (uint8) ((uint32) interval->month >> 8 * i);
		bytes[i + 4] = (uint8) ((uint32) interval->day >> 8 * i);
	}
	for (int i = 0; i < 8; i++)
		bytes[i + 8] = (uint8) ((uint64) ns >> 8 * i);
	return tg_columnar_put_bytes(file, at, bytes, sizeof(bytes));
}

static tg_status
write_value(tg_columnar_out *file, unsigned at, const tsurugi_written_column *column, Datum value)
{
	struct varlena *detoasted;

	switch ((tg_file_type) column->file)
	{
		case TG_FILE_DECIMAL:
			return write_decimal(file, at, column, value);
		case TG_FILE_STRING:
		case TG_FILE_JSON:
			return write_string(file, at, column, value);
		case TG_FILE_BINARY:
			detoasted = PG_DETOAST_DATUM_PACKED(value);
			return tg_columnar_put_bytes(file, at, VARDATA_ANY(detoasted), VARSIZE_ANY_EXHDR(detoasted));
		case TG_FILE_INTERVAL:
			return write_interval(file, at, DatumGetIntervalP(value));
		case TG_FILE_UUID:
			return tg_columnar_put_bytes(file, at, DatumGetUUIDP(value)->data, UUID_LEN);
		default:
			return tg_columnar_put_word(file, at, word_of(column->type, value));
	}
}

static tg_status
write_list(tg_columnar_out *file, unsigned at, const tsurugi_written_column *column, Datum value)
{
	ArrayType *array = DatumGetArrayTypeP(value);
	Datum *elements;
	bool *nulls;
	int count;
	tg_status status = TG_OK;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot write an array of %d dimensions as a list", ARR_NDIM(array)),
						errhint("Cast the column to text.")));
	deconstruct_array(array, ARR_ELEMTYPE(array), column->length, column->by_value, column->align, &elements, &nulls,
					  &count);
	for (int i = 0; i < count && status == TG_OK; i++)
		status = nulls[i] ? tg_columnar_put_null_element(file, at) : write_value(file, at, column, elements[i]);
	return status != TG_OK ? status : tg_columnar_put_list_end(file, at);
}

tg_status
tsurugi_write_datum(tg_columnar_out *file, unsigned at, const tsurugi_written_column *column, Datum value)
{
	return column->list ? write_list(file, at, column, value) : write_value(file, at, column, value);
}

/* --- stored values -------------------------------------------------------------------- */

/* The form of a word that is no DECIMAL. */
static tg_cell_out_form
form_of_word(Oid type)
{
	switch (type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT8OID:
		case TIMEOID:
			return TG_OUT_WORD;
		case OIDOID:
			return TG_OUT_UINT4;
		case FLOAT4OID:
			return TG_OUT_FLOAT4;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return TG_OUT_SINCE;
		default:
			return TG_OUT_HOST;
	}
}

static tg_cell_out_form
form_of(const tsurugi_written_column *column, const tsurugi_codec *codec)
{
	bool is_text =
		column->type == TEXTOID || column->type == VARCHAROID || column->type == BPCHAROID || column->type == JSONOID;

	if (column->list || codec->type != column->type)
		return TG_OUT_HOST;
	switch ((tsurugi_form) codec->form)
	{
		case TSURUGI_WORD:
			return column->file == TG_FILE_STRING ? TG_OUT_HOST : form_of_word(column->type);
		case TSURUGI_NUMERIC8:
		case TSURUGI_NUMERIC16:
			if (column->file != TG_FILE_DECIMAL || column->decimal.form != codec->form ||
				column->decimal.scale != codec->scale)
				return TG_OUT_HOST;
			return codec->form == TSURUGI_NUMERIC8 ? TG_OUT_DECIMAL : TG_OUT_WIDE;
		case TSURUGI_VARLENA:
			return column->file == TG_FILE_BINARY || (is_text && GetDatabaseEncoding() == PG_UTF8) ? TG_OUT_TEXT
																								   : TG_OUT_HOST;
		case TSURUGI_FIXED:
			return column->file == TG_FILE_UUID		  ? TG_OUT_16
				   : column->file == TG_FILE_INTERVAL ? TG_OUT_SPAN
													  : TG_OUT_HOST;
		default:
			return TG_OUT_HOST;
	}
}

void
tsurugi_written_cell_init(const tsurugi_written_column *column, const tsurugi_codec *codec, int vector,
						  tg_cell_out *cell)
{
	*cell = (tg_cell_out){
		.form = (uint8) form_of(column, codec), .vector = (uint16) vector, .header_bytes = codec->header_bytes};
	if (cell->form != TG_OUT_SINCE)
		return;
	/* as word_of_date and word_of_timestamp */
	cell->offset = column->type == DATEOID ? EPOCH_DAYS : EPOCH_DAYS * USECS_PER_DAY;
	cell->lowest = column->type == DATEOID ? PG_INT32_MIN : PG_INT64_MIN;
	cell->highest = cell->endless_high = column->type == DATEOID ? PG_INT32_MAX : PG_INT64_MAX;
	cell->endless_low = -cell->highest;
}
