/*
 * load_cell.c
 *	  How values of a file become those of a table without PostgreSQL: for tasks of the pool.
 *
 * What is not said here is converted by the type's input function, in a session.  Values are the
 * same by both.
 */
#include "postgres.h"

#include "runtime/index/index_spec.h"
#include "src/copy/load_pool.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "src/copy/copy.h"
#include "src/value/codec.h"

#define EPOCH_DAYS (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE)
#define DIGITS_OF_WORD 18 /* that an int64 always has */
#define US_DIGITS 6

static bool
is_integer(const tg_file_column *column)
{
	return column->type == TG_FILE_INT || column->type == TG_FILE_UINT ||
		   (column->type == TG_FILE_DECIMAL && column->scale == 0 && !column->is_bytes);
}

static bool
take_range(const tg_file_column *column, int64 low, int64 high, tg_cell *cell)
{
	cell->form = TG_CELL_WORD;
	cell->is_unsigned = column->type == TG_FILE_UINT;
	cell->low = low;
	cell->high = high;
	return true;
}

static int64
power_of_ten(int digits)
{
	int64 power = 1;

	while (digits-- > 0)
		power *= 10;
	return power;
}

static bool
take_numeric(const tg_file_column *column, const tsurugi_codec *codec, tg_cell *cell)
{
	int precision = ((codec->typmod - VARHDRSZ) >> 16) & 0xffff;
	int scale = column->type == TG_FILE_DECIMAL ? column->scale : 0;
	uint128 limit = 1;

	if ((codec->form != TSURUGI_NUMERIC8 && codec->form != TSURUGI_NUMERIC16) ||
		(column->type != TG_FILE_DECIMAL && column->type != TG_FILE_INT) || scale > codec->scale ||
		codec->scale - scale > DIGITS_OF_WORD)
		return false;
	cell->form = TG_CELL_DECIMAL;
	cell->is_wide = codec->form == TSURUGI_NUMERIC16;
	cell->multiply = power_of_ten(codec->scale - scale);
	while (precision-- > 0)
		limit *= 10;
	cell->limit_low = (uint64) limit;
	cell->limit_high = (uint64) (limit >> 64);
	return true;
}

static bool
take_date(const tg_file_column *column, tg_cell *cell)
{
	cell->offset = -(int64) EPOCH_DAYS;
	cell->is_endless = true;
	cell->lowest = cell->endless_low = PG_INT32_MIN; /* DATEVAL_NOBEGIN */
	cell->highest = cell->endless_high = PG_INT32_MAX;
	return take_range(column, DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE, DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1,
					  cell);
}

/* A number of units of 10^-digits s becomes one of microseconds. */
static void
take_unit(const tg_file_column *column, tg_cell *cell)
{
	if (column->digits < US_DIGITS)
		cell->multiply = power_of_ten(US_DIGITS - column->digits);
	else
		cell->divide = power_of_ten(column->digits - US_DIGITS);
}

static bool
take_time(const tg_file_column *column, tg_cell *cell)
{
	take_unit(column, cell);
	return take_range(column, 0, USECS_PER_DAY, cell);
}

static bool
take_timestamp(const tg_file_column *column, tg_cell *cell)
{
	take_unit(column, cell);
	cell->offset = -EPOCH_DAYS * USECS_PER_DAY;
	cell->is_endless = true;
	cell->lowest = cell->endless_low = PG_INT64_MIN; /* DT_NOBEGIN */
	cell->highest = cell->endless_high = PG_INT64_MAX;
	return take_range(column, MIN_TIMESTAMP, END_TIMESTAMP - 1, cell);
}

static bool
take_string(const tg_file_column *column, const tsurugi_codec *codec, bool is_text, tg_cell *cell)
{
	bool fits =
		is_text ? column->type == TG_FILE_STRING || column->type == TG_FILE_JSON : column->type == TG_FILE_BINARY;

	cell->form = is_text ? TG_CELL_TEXT : TG_CELL_BYTES;
	return fits && codec->form == TSURUGI_VARLENA && codec->inline_allowed &&
		   (!is_text || GetDatabaseEncoding() == PG_UTF8);
}

static bool
take_value(const FormData_pg_attribute *attribute, const tsurugi_codec *codec, const tg_file_column *column,
		   tg_cell *cell)
{
	switch (attribute->atttypid)
	{
		case BOOLOID:
			return column->type == TG_FILE_BOOL && take_range(column, 0, 1, cell);
		case INT2OID:
			return is_integer(column) && take_range(column, PG_INT16_MIN, PG_INT16_MAX, cell);
		case INT4OID:
			return is_integer(column) && take_range(column, PG_INT32_MIN, PG_INT32_MAX, cell);
		case INT8OID:
			return is_integer(column) && take_range(column, PG_INT64_MIN, PG_INT64_MAX, cell);
		case FLOAT4OID:
			cell->form = TG_CELL_FLOAT4;
			return column->type == TG_FILE_FLOAT && column->bits <= 32;
		case FLOAT8OID:
			cell->form = TG_CELL_FLOAT8;
			return column->type == TG_FILE_FLOAT && column->bits == 64;
		case NUMERICOID:
			return take_numeric(column, codec, cell);
		case DATEOID:
			return column->type == TG_FILE_DATE && take_date(column, cell);
		case TIMEOID:
			return column->type == TG_FILE_TIME && !column->utc && attribute->atttypmod < 0 && take_time(column, cell);
		case TIMESTAMPOID:
			return column->type == TG_FILE_TIMESTAMP && !column->utc && attribute->atttypmod < 0 &&
				   take_timestamp(column, cell);
		case TIMESTAMPTZOID:
			return column->type == TG_FILE_TIMESTAMP && column->utc && attribute->atttypmod < 0 &&
				   take_timestamp(column, cell);
		case TEXTOID:
			return take_string(column, codec, true, cell);
		case VARCHAROID:
			return attribute->atttypmod < 0 && take_string(column, codec, true, cell);
		case BYTEAOID:
			return take_string(column, codec, false, cell);
		case UUIDOID:
			cell->form = TG_CELL_16;
			return column->type == TG_FILE_UUID || (column->type == TG_FILE_BINARY && column->width == UUID_LEN);
		default:
			return false;
	}
}

bool
tsurugi_load_may_be_null(const FormData_pg_attribute *attribute)
{
	Oid input;
	Oid parameter;

	getTypeInputInfo(attribute->atttypid, &input, &parameter);
	return func_strict(input);
}

/* Longer strings have ranks in a key, which sessions give. */
static uint32
longest_in_keys(const tsurugi_relation *described, int column)
{
	uint32 bytes = MaxAllocSize / 2;

	for (int i = 0; i < described->index_count; i++)
	{
		const tg_key_spec *key = &described->indexes[i].spec->key;

		for (int j = 0; j < key->part_count; j++)
			if (key->part[j].column == column && key->part[j].long_above > 0)
				bytes = Min(bytes, key->part[j].long_above);
	}
	return bytes;
}

bool
tsurugi_load_cell(const tsurugi_relation *described, const FormData_pg_attribute *attribute, unsigned source,
				  const tg_file_column *column, tg_cell *cell)
{
	int target = tsurugi_column_of(described, attribute->attnum - 1);

	memset(cell, 0, sizeof(*cell)); /* cells are compared byte by byte */
	cell->source = (uint16) source;
	cell->column = (uint16) target;
	cell->not_null = attribute->attnotnull;
	cell->multiply = 1;
	cell->divide = 1;
	cell->bytes_max = longest_in_keys(described, target);
	cell->seen = tg_file_shape_of(column);
	if (column->list || column->type == TG_FILE_UNREADABLE)
		return false;
	if (column->type == TG_FILE_NULL)
		return tsurugi_load_may_be_null(attribute);
	return take_value(attribute, &described->codecs[target], column, cell);
}

/* Abbreviations of time zones are the session's. */
static bool
has_zulu(void)
{
	Datum moment = DirectFunctionCall3(timestamptz_in, CStringGetDatum("2000-01-01 00:00:00Z"),
									   ObjectIdGetDatum(InvalidOid), Int32GetDatum(-1));

	return DatumGetTimestampTz(moment) == 0;
}

void
tsurugi_load_csv_cell(const tsurugi_relation *described, const FormData_pg_attribute *attribute, unsigned source,
					  tg_csv_column *column, tg_cell *cell)
{
	FormData_pg_attribute checked = *attribute; /* as its values are once the reader has accepted them */
	bool has_length = attribute->atttypmod >= (int32) VARHDRSZ;
	tg_file_column written = {.name = NULL};

	(void) tsurugi_column_of_type(attribute->atttypid, attribute->atttypmod, &written);
	memset(column, 0, sizeof(*column));
	if (attribute->atttypid == VARCHAROID || attribute->atttypid == BPCHAROID)
	{
		checked.atttypid = TEXTOID;
		checked.atttypmod = -1;
		column->characters_max = has_length ? (uint32) attribute->atttypmod - VARHDRSZ : 0;
		column->is_padded = has_length && attribute->atttypid == BPCHAROID;
	}
	column->type = tsurugi_load_cell(described, &checked, source, &written, cell) ? written.type : TG_FILE_UNREADABLE;
	cell->is_checked = true;
	column->bits = written.bits;
	column->utc = written.utc;
	column->has_zulu = written.utc && has_zulu();
	column->precision = written.precision;
	column->scale = written.scale;
}

/* Values of json are as they are written, once the reader has accepted them. */
bool
tsurugi_load_json_cell(const tsurugi_relation *described, const FormData_pg_attribute *attribute, unsigned source,
					   tg_csv_column *column, tg_cell *cell)
{
	FormData_pg_attribute text = *attribute;
	bool is_json = attribute->atttypid == JSONOID;

	if (is_json)
		text.atttypid = TEXTOID;
	tsurugi_load_csv_cell(described, &text, source, column, cell);
	if (column->type == TG_FILE_UNREADABLE)
		return false;
	cell->is_checked = true;
	if (is_json)
		column->type = TG_FILE_JSON;
	return true;
}
