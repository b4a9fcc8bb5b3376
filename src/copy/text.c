/*
 * text.c
 *	  Values of files in COPY's text format.
 *
 * A value is written so that its type's input function reads the same one back under any setting:
 * dates in ISO's order, numbers without groups, bytes in hexadecimal digits.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "common/int.h"
#include "common/shortest_dec.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/datetime.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#define DIGITS_OF_WORD 20 /* that a word has at most */
#define DIGITS_OF_BYTE 3
#define DECIMAL_BYTES_MAX 65536 /* a numeric has fewer; the time is that of its square */
#define BILLION 1000000000
#define BILLION_DIGITS 9

/* --- numbers ----------------------------------------------------------------------------- */

static void
append_float(StringInfo text, unsigned bits, int64 word)
{
	double value;
	char digits[DOUBLE_SHORTEST_DECIMAL_LEN];

	memcpy(&value, &word, sizeof(value));
	if (isnan(value))
		appendStringInfoString(text, "NaN");
	else if (isinf(value))
		appendStringInfoString(text, value < 0 ? "-Infinity" : "Infinity");
	else
	{
		if (bits == 64)
			double_to_shortest_decimal_buf(value, digits);
		else
			float_to_shortest_decimal_buf((float) value, digits);
		appendStringInfoString(text, digits);
	}
}

/* Divides a number, its lowest word first, by a billion; returns the remainder. */
static uint32
divide_by_billion(uint32 *words, size_t count)
{
	uint64 rest = 0;

	for (size_t i = count; i-- > 0;)
	{
		uint64 part = rest << 32 | words[i];

		words[i] = (uint32) (part / BILLION);
		rest = part % BILLION;
	}
	return (uint32) rest;
}

/* A number of two's complement, without its sign; returns how many words it has. */
static size_t
words_of(const tg_file_bytes *value, bool negative, uint32 *words)
{
	unsigned carry = negative;

	for (size_t i = 0; i < value->count; i++)
	{
		uint8 byte = value->data[value->count - 1 - i];

		carry += negative ? (uint8) ~byte : byte;
		words[i / sizeof(*words)] |= (carry & 0xff) << i % sizeof(*words) * BITS_PER_BYTE;
		carry >>= BITS_PER_BYTE;
	}
	return (value->count + sizeof(*words) - 1) / sizeof(*words);
}

/* Appends digits with a point before the last `scale` of them. */
static void
append_scaled(StringInfo text, bool negative, const char *digits, int scale)
{
	int count = (int) strlen(digits);

	if (negative)
		appendStringInfoCharMacro(text, '-');
	if (count > scale)
		appendBinaryStringInfo(text, digits, count - scale);
	else
		appendStringInfoCharMacro(text, '0');
	if (scale == 0)
		return;
	appendStringInfoCharMacro(text, '.');
	for (int i = count; i < scale; i++)
		appendStringInfoCharMacro(text, '0');
	appendStringInfoString(text, digits + Max(count - scale, 0));
}

static void
append_decimal_word(StringInfo text, int64 word, int scale)
{
	char digits[DIGITS_OF_WORD + 1];

	snprintf(digits, sizeof(digits), UINT64_FORMAT, word < 0 ? -(uint64) word : (uint64) word);
	append_scaled(text, word < 0, digits, scale);
}

/*
 * A file may have larger values than its type has digits for, and than the server has: a type's
 * input function finds that they are out of range.
 */
static void
append_decimal_bytes(StringInfo text, const tg_file_bytes *value, int scale)
{
	bool negative = value->count > 0 && (value->data[0] & 0x80) != 0;
	uint32 *words;
	char *digits;
	char *at;
	size_t count;

	if (value->count > DECIMAL_BYTES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("decimal of %zu bytes is too long", value->count)));
	words = palloc0(value->count + sizeof(*words));
	digits = palloc(value->count * DIGITS_OF_BYTE + BILLION_DIGITS + 1);
	at = digits + value->count * DIGITS_OF_BYTE + BILLION_DIGITS;
	*at = 0;
	count = words_of(value, negative, words);
	do
	{
		uint32 part = divide_by_billion(words, count);

		for (int i = 0; i < BILLION_DIGITS; i++, part /= 10)
			*--at = (char) ('0' + part % 10);
		while (count > 0 && words[count - 1] == 0)
			count--;
	} while (count > 0);
	while (at[0] == '0' && at[1] != 0)
		at++;
	append_scaled(text, negative, at, scale);
	pfree(digits);
	pfree(words);
}

/* --- dates and times --------------------------------------------------------------------- */

#define CYCLE_YEARS 400
#define CYCLE_DAYS 146097 /* after which the calendar repeats */

/*
 * The year of days since 1970, 0 and less before Christ, and what follows it.  A file has more of
 * them than the server: a type's input function finds that it is out of range.
 */
static int64
year_of(int64 days, int *month_out, int *day_out)
{
	int64 cycle = days / CYCLE_DAYS - (days % CYCLE_DAYS < 0);
	int year;

	j2date((int) (days - cycle * CYCLE_DAYS + UNIX_EPOCH_JDATE), &year, month_out, day_out);
	return year + cycle * CYCLE_YEARS;
}

static void
append_date(StringInfo text, int64 days)
{
	int month;
	int day;
	int64 year = year_of(days, &month, &day);

	appendStringInfo(text, "%04lld-%02d-%02d", (long long) (year > 0 ? year : 1 - year), month, day);
}

/* The era follows the time of the day. */
static const char *
era_of(int64 days)
{
	int month;
	int day;

	return year_of(days, &month, &day) > 0 ? "" : " BC";
}

static void
append_time(StringInfo text, int64 hours, int64 us)
{
	appendStringInfo(text, "%02lld:%02d:%02d.%06d", (long long) (hours + us / USECS_PER_HOUR),
					 (int) (us / USECS_PER_MINUTE % 60), (int) (us / USECS_PER_SEC % 60), (int) (us % USECS_PER_SEC));
}

static void
append_day(StringInfo text, int64 days)
{
	if (days == INT32_MAX)
		appendStringInfoString(text, "infinity");
	else if (days == INT32_MIN || days == -INT32_MAX)
		appendStringInfoString(text, "-infinity");
	else
	{
		append_date(text, days);
		appendStringInfoString(text, era_of(days));
	}
}

/* A number of units of 10^-digits s: whole days, and microseconds. */
static void
split_days(int64 value, unsigned digits, int64 *days_out, int64 *us_out)
{
	int64 second = digits == 0 ? 1 : digits == 3 ? 1000 : digits == 6 ? 1000000 : 1000000000;
	int64 day = SECS_PER_DAY * second;
	int64 days = value / day;
	int64 rest = value % day;

	if (rest < 0)
	{
		rest += day;
		days--;
	}
	*days_out = days;
	*us_out = digits == 9 ? rest / 1000 : rest * (1000000 / second);
}

static void
append_timestamp(StringInfo text, const tg_file_column *column, int64 value)
{
	int64 days;
	int64 us;

	if (value == INT64_MAX || value <= -INT64_MAX)
	{
		appendStringInfoString(text, value > 0 ? "infinity" : "-infinity");
		return;
	}
	split_days(value, column->digits, &days, &us);
	append_date(text, days);
	appendStringInfoCharMacro(text, ' ');
	append_time(text, 0, us);
	if (column->utc)
		appendStringInfoString(text, "+00");
	appendStringInfoString(text, era_of(days));
}

/* A file has times beyond a day, and before it: as for dates. */
static void
append_time_of_day(StringInfo text, const tg_file_column *column, int64 value)
{
	int64 days;
	int64 us;

	split_days(value, column->digits, &days, &us);
	if (days < 0)
	{
		appendStringInfoCharMacro(text, '-');
		days = us > 0 ? -days - 1 : -days;
		us = us > 0 ? USECS_PER_DAY - us : 0;
	}
	append_time(text, days * HOURS_PER_DAY, us);
	if (column->utc)
		appendStringInfoString(text, "+00");
}

static uint32
little_endian(const uint8 *at)
{
	return at[0] | (uint32) at[1] << 8 | (uint32) at[2] << 16 | (uint32) at[3] << 24;
}

static void
append_interval(StringInfo text, const tg_file_column *column, const uint8 *data)
{
	uint32 ms = little_endian(data + 8);

	if (column->digits == 9) /* a sign each: a first one alone may be that of all */
	{
		int64 ns = (int64) (ms | (uint64) little_endian(data + 12) << 32);

		appendStringInfo(text, "%+d mons %+d days %+lld us", (int32) little_endian(data),
						 (int32) little_endian(data + 4), (long long) (ns / 1000));
		return;
	}
	appendStringInfo(text, "%u mons %u days %u.%03u secs", little_endian(data), little_endian(data + 4), ms / 1000,
					 ms % 1000);
}

/* --- texts ------------------------------------------------------------------------------- */

static void
append_hexadecimal(StringInfo text, const uint8 *data, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++)
	{
		appendStringInfoCharMacro(text, digits[data[i] >> 4]);
		appendStringInfoCharMacro(text, digits[data[i] & 15]);
	}
}

static void
append_uuid(StringInfo text, const uint8 *data)
{
	static const struct
	{
		int from;
		int count;
	} parts[] = {{0, 4}, {4, 2}, {6, 2}, {8, 2}, {10, 6}};

	for (int i = 0; i < lengthof(parts); i++)
	{
		if (i > 0)
			appendStringInfoCharMacro(text, '-');
		append_hexadecimal(text, data + parts[i].from, parts[i].count);
	}
}

static void
append_bytes(StringInfo text, const tg_file_column *column, const tg_file_bytes *bytes, Oid type)
{
	if (type == BYTEAOID)
	{
		appendStringInfoString(text, "\\x");
		append_hexadecimal(text, bytes->data, bytes->count);
	}
	else if (type == UUIDOID && column->type == TG_FILE_BINARY)
		append_uuid(text, bytes->data);
	else
		appendBinaryStringInfo(text, (const char *) bytes->data, (int) bytes->count);
}

void
tsurugi_append_plain(StringInfo text, const tg_file_column *column, const tg_file_values *values, uint32 i, Oid type)
{
	if (column->is_bytes && values->bytes[i].count > MaxAllocSize / 4)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
						errmsg("value of %zu bytes is too long", values->bytes[i].count)));
	switch ((tg_file_type) column->type)
	{
		case TG_FILE_BOOL:
			appendStringInfoChar(text, values->words[i] != 0 ? 't' : 'f');
			break;
		case TG_FILE_INT:
			appendStringInfo(text, INT64_FORMAT, values->words[i]);
			break;
		case TG_FILE_UINT:
			appendStringInfo(text, UINT64_FORMAT, (uint64) values->words[i]);
			break;
		case TG_FILE_FLOAT:
			append_float(text, column->bits, values->words[i]);
			break;
		case TG_FILE_DECIMAL:
			if (column->is_bytes)
				append_decimal_bytes(text, &values->bytes[i], column->scale);
			else
				append_decimal_word(text, values->words[i], column->scale);
			break;
		case TG_FILE_DATE:
			append_day(text, values->words[i]);
			break;
		case TG_FILE_TIME:
			append_time_of_day(text, column, values->words[i]);
			break;
		case TG_FILE_TIMESTAMP:
			append_timestamp(text, column, values->words[i]);
			break;
		case TG_FILE_INTERVAL:
			append_interval(text, column, values->bytes[i].data);
			break;
		case TG_FILE_UUID:
			append_uuid(text, values->bytes[i].data);
			break;
		case TG_FILE_STRING:
		case TG_FILE_JSON:
		case TG_FILE_BINARY:
			append_bytes(text, column, &values->bytes[i], type);
			break;
		case TG_FILE_NULL:
		case TG_FILE_NESTED:
		case TG_FILE_UNREADABLE:
			elog(ERROR, "file column of type %d has a value", column->type);
	}
}

char
tsurugi_array_delimiter(Oid element)
{
	int16 length;
	bool by_value;
	char align;
	char delimiter;
	Oid parameter;
	Oid function;

	get_type_io_data(element, IOFunc_input, &length, &by_value, &align, &delimiter, &parameter, &function);
	return delimiter;
}

/* A list as the text of an array, its elements quoted. */
static void
append_list(StringInfo text, const tg_file_column *column, const tg_file_values *values, uint32 row, Oid element)
{
	uint32 first = row == 0 ? 0 : values->ends[row - 1];
	char delimiter = tsurugi_array_delimiter(element);
	StringInfoData value;

	initStringInfo(&value);
	appendStringInfoCharMacro(text, '{');
	for (uint32 i = first; i < values->ends[row]; i++)
	{
		if (i > first)
			appendStringInfoCharMacro(text, delimiter);
		if (values->element_nulls != NULL && values->element_nulls[i])
		{
			appendStringInfoString(text, "NULL");
			continue;
		}
		resetStringInfo(&value);
		tsurugi_append_plain(&value, column, values, i, element);
		appendStringInfoCharMacro(text, '"');
		for (int c = 0; c < value.len; c++)
		{
			if (value.data[c] == '"' || value.data[c] == '\\')
				appendStringInfoCharMacro(text, '\\');
			appendStringInfoCharMacro(text, value.data[c]);
		}
		appendStringInfoCharMacro(text, '"');
	}
	appendStringInfoCharMacro(text, '}');
}

void
tsurugi_append_escaped(StringInfo line, const char *data, int count)
{
	int done = 0;

	for (int i = 0; i < count; i++)
	{
		char special = data[i] == '\n' ? 'n' : data[i] == '\r' ? 'r' : data[i] == '\t' ? 't' : data[i];

		if (special == data[i] && special != '\\')
			continue;
		appendBinaryStringInfo(line, data + done, i - done);
		appendStringInfoCharMacro(line, '\\');
		appendStringInfoCharMacro(line, special);
		done = i + 1;
	}
	appendBinaryStringInfo(line, data + done, count - done);
}

static bool
is_null(const tg_file_column *column, const tg_file_values *values, uint32 row)
{
	if (column->type == TG_FILE_NESTED)
		return tsurugi_nested_is_null(values, row);
	return (column->type == TG_FILE_NULL && !column->list) || (values->nulls != NULL && values->nulls[row] != 0);
}

void
tsurugi_append_value(StringInfo line, const tg_file_column *column, const tg_file_values *values, uint32 row, Oid type)
{
	Oid base = getBaseType(type);
	StringInfoData value;

	if (is_null(column, values, row))
	{
		appendStringInfoString(line, "\\N");
		return;
	}
	if (!column->list && !column->is_bytes && column->type != TG_FILE_NESTED)
	{
		tsurugi_append_plain(line, column, values, row, type); /* nothing in it is special */
		return;
	}
	initStringInfo(&value);
	if (column->type == TG_FILE_NESTED)
		tsurugi_append_nested(&value, column, values, row);
	else if (!column->list)
		tsurugi_append_plain(&value, column, values, row, base);
	else if (base == JSONOID || base == JSONBOID)
		tsurugi_append_json_list(&value, column, values, row);
	else
		append_list(&value, column, values, row, getBaseType(get_element_type(base)));
	tsurugi_append_escaped(line, value.data, value.len);
}
