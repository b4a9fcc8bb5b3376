/*
 * csv_out.c
 *	  A file in CSV that is written, as the host's COPY writes it: blocks of rows as text.
 *
 * The values of a block come in columns, as for other formats, and are written by row.  Integers,
 * decimals, dates, times, booleans and identifiers get their text here; any other value is a
 * string, which the caller has made.
 *
 * A value is quoted if it is the text that stands for NULL, or has a delimiter, a quote or the end
 * of a line; a file of one column also quotes what would end COPY's data.  The text of numbers and
 * the like has no such character, unless the delimiter or the quote is one of those it consists of.
 */
#include "runtime/format/columnar_out_internal.h"

#include <string.h>

#include "runtime/base/check.h"

#define DECIMAL_BYTES 16
#define TYPED_BYTES 64 /* of a value that is no string, at most: a decimal needs 54 in the making */
#define TYPED_CHARACTERS "0123456789abcdefghijklmnopqrstuvwxyz-:. BCN" /* that they consist of */
#define DIGITS_IN_PART 18
#define PART UINT64_C(1000000000000000000)
#define US_IN_SECOND 1000000
#define US_IN_DAY INT64_C(86400000000)
#define SECONDS_IN_HOUR 3600
#define FRACTION_DIGITS 6
#define DAYS_IN_ERA 146097		 /* 400 years */
#define DAYS_BEFORE_EPOCH 719468 /* from 0000-03-01 to 1970-01-01 */

/* --- numbers ------------------------------------------------------------------------------ */

static uint8_t *
put_text(uint8_t *at, const char *text)
{
	size_t bytes = strlen(text);

	memcpy(at, text, bytes);
	return at + bytes;
}

/* All pairs of digits. */
static const char pairs[] = "0001020304050607080910111213141516171819"
							"2021222324252627282930313233343536373839"
							"4041424344454647484950515253545556575859"
							"6061626364656667686970717273747576777879"
							"8081828384858687888990919293949596979899";

/* So many digits, with zeros before the number. */
static uint8_t *
put_digits(uint8_t *at, uint64_t number, unsigned digits)
{
	unsigned i = digits;

	for (; i >= 2; number /= 100)
	{
		i -= 2;
		memcpy(at + i, pairs + number % 100 * 2, 2);
	}
	if (i == 1)
		at[0] = (uint8_t) ('0' + number % 10);
	return at + digits;
}

static unsigned
count_digits(uint64_t number)
{
	unsigned digits = 1;

	for (; number >= 10000; number /= 10000)
		digits += 4;
	return digits + (number >= 10) + (number >= 100) + (number >= 1000);
}

static uint8_t *
put_unsigned(uint8_t *at, uint64_t number)
{
	return put_digits(at, number, count_digits(number));
}

static uint8_t *
put_integer(uint8_t *at, int64_t number)
{
	if (number >= 0)
		return put_unsigned(at, (uint64_t) number);
	*at++ = '-';
	return put_unsigned(at, -(uint64_t) number);
}

/* Of which so many digits are behind the point. */
static uint8_t *
put_scaled(uint8_t *at, uint64_t number, unsigned scale)
{
	uint64_t unit = 1;

	for (unsigned i = 0; i < scale; i++)
		unit *= 10;
	at = put_unsigned(at, number / unit);
	if (scale == 0)
		return at;
	*at++ = '.';
	return put_digits(at, number % unit, scale);
}

/* The same of up to 38 digits. */
static uint8_t *
put_wide(uint8_t *at, unsigned __int128 number, unsigned scale)
{
	uint8_t text[TYPED_BYTES] = {0};
	unsigned digits = 0;

	for (; digits <= scale || number > 0; number /= PART, digits += DIGITS_IN_PART)
		(void) put_digits(text + sizeof(text) - digits - DIGITS_IN_PART, (uint64_t) (number % PART), DIGITS_IN_PART);
	while (digits > scale + 1 && text[sizeof(text) - digits] == '0')
		digits--;
	memcpy(at, text + sizeof(text) - digits, digits - scale);
	at += digits - scale;
	if (scale == 0)
		return at;
	*at++ = '.';
	memcpy(at, text + sizeof(text) - scale, scale);
	return at + scale;
}

/* The largest number stands for NaN. */
static uint8_t *
put_word_decimal(uint8_t *at, int64_t number, unsigned scale)
{
	if (number == INT64_MAX)
		return put_text(at, "NaN");
	if (number < 0)
		*at++ = '-';
	return put_scaled(at, number < 0 ? -(uint64_t) number : (uint64_t) number, scale);
}

static uint8_t *
put_wide_decimal(uint8_t *at, const uint8_t *data, unsigned scale)
{
	unsigned __int128 number = 0;
	bool is_negative = (data[0] & 0x80) != 0;

	for (unsigned i = 0; i < DECIMAL_BYTES; i++)
		number = number << 8 | data[i];
	if (number == ~(unsigned __int128) 0 >> 1)
		return put_text(at, "NaN");
	if (is_negative)
		*at++ = '-';
	return put_wide(at, is_negative ? -number : number, scale);
}

static uint8_t *
put_decimal(uint8_t *at, const tg_column_out *column, size_t i)
{
	unsigned scale = (unsigned) column->description.scale;

	return column->description.is_bytes ? put_wide_decimal(at, tg_text_out(column, i).data, scale)
										: put_word_decimal(at, ((const int64_t *) column->words.data)[i], scale);
}

/* --- dates and times ---------------------------------------------------------------------- */

/* A day of the Gregorian calendar, from 1970-01-01; *is_bc_out: the years count down. */
static uint8_t *
put_day(uint8_t *at, int64_t day, bool *is_bc_out)
{
	int64_t shifted = day + DAYS_BEFORE_EPOCH;
	int64_t era = (shifted >= 0 ? shifted : shifted - (DAYS_IN_ERA - 1)) / DAYS_IN_ERA;
	unsigned in_era = (unsigned) (shifted - era * DAYS_IN_ERA);
	/* leap days: of each fourth year, but of each hundredth, but of the last */
	unsigned year_of_era = (in_era - in_era / 1460 + in_era / 36524 - in_era / (DAYS_IN_ERA - 1)) / 365;
	unsigned in_year = in_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	unsigned from_march = (5 * in_year + 2) / 153;
	unsigned month = from_march < 10 ? from_march + 3 : from_march - 9;
	int64_t year = (int64_t) year_of_era + era * 400 + (month <= 2);
	uint64_t shown = (uint64_t) (year > 0 ? year : 1 - year);

	at = put_digits(at, shown, shown < 10000 ? 4 : count_digits(shown));
	*at++ = '-';
	at = put_digits(at, month, 2);
	*at++ = '-';
	*is_bc_out = year <= 0;
	return put_digits(at, in_year - (153 * from_march + 2) / 5 + 1, 2);
}

static uint8_t *
put_time(uint8_t *at, int64_t us)
{
	unsigned seconds = (unsigned) (us / US_IN_SECOND);
	unsigned fraction = (unsigned) (us % US_IN_SECOND);

	at = put_digits(at, seconds / SECONDS_IN_HOUR, 2);
	*at++ = ':';
	at = put_digits(at, seconds / 60 % 60, 2);
	*at++ = ':';
	at = put_digits(at, seconds % 60, 2);
	if (fraction == 0)
		return at;
	*at++ = '.';
	at = put_digits(at, fraction, FRACTION_DIGITS);
	while (at[-1] == '0')
		at--;
	return at;
}

static uint8_t *
put_date(uint8_t *at, int64_t day, int64_t epoch)
{
	bool is_bc;

	if (day == INT32_MIN || day == INT32_MAX)
		return put_text(at, day == INT32_MAX ? "infinity" : "-infinity");
	at = put_day(at, day + epoch, &is_bc);
	return is_bc ? put_text(at, " BC") : at;
}

static uint8_t *
put_timestamp(uint8_t *at, int64_t us, int64_t epoch)
{
	int64_t day = us / US_IN_DAY - (us % US_IN_DAY < 0);
	bool is_bc;

	if (us == INT64_MIN || us == INT64_MAX)
		return put_text(at, us == INT64_MAX ? "infinity" : "-infinity");
	at = put_day(at, day + epoch, &is_bc);
	*at++ = ' ';
	at = put_time(at, us % US_IN_DAY + (us % US_IN_DAY < 0 ? US_IN_DAY : 0));
	return is_bc ? put_text(at, " BC") : at;
}

/* --- bytes -------------------------------------------------------------------------------- */

static uint8_t *
put_hex(uint8_t *at, const uint8_t *data, size_t count)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < count; i++)
	{
		*at++ = (uint8_t) digits[data[i] >> 4];
		*at++ = (uint8_t) digits[data[i] & 15];
	}
	return at;
}

static uint8_t *
put_uuid(uint8_t *at, const uint8_t *data)
{
	static const uint8_t parts[] = {4, 2, 2, 2, 6};

	for (unsigned i = 0; i < sizeof(parts); data += parts[i++])
	{
		if (i > 0)
			*at++ = '-';
		at = put_hex(at, data, parts[i]);
	}
	return at;
}

/* --- quotes ------------------------------------------------------------------------------- */

#define EACH_BYTE UINT64_C(0x0101010101010101)

/* Whether one of eight bytes is that character. */
static inline uint64_t
has_byte(uint64_t bytes, uint8_t character)
{
	uint64_t differing = bytes ^ EACH_BYTE * character;

	return (differing - EACH_BYTE) & ~differing & EACH_BYTE << 7;
}

static bool
is_special(const tg_csv_written *csv, const uint8_t *text, size_t bytes)
{
	uint64_t found = 0;
	uint64_t word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), text += sizeof(word))
	{
		memcpy(&word, text, sizeof(word));
		found |= has_byte(word, (uint8_t) csv->delimiter) | has_byte(word, (uint8_t) csv->quote) |
				 has_byte(word, '\n') | has_byte(word, '\r');
	}
	for (; bytes > 0; bytes--, text++)
		found |= *text == (uint8_t) csv->delimiter || *text == (uint8_t) csv->quote || *text == '\n' || *text == '\r';
	return found != 0;
}

static bool
is_text(const uint8_t *text, size_t bytes, const char *other, size_t other_bytes)
{
	return bytes == other_bytes && memcmp(text, other, bytes) == 0;
}

static bool
needs_quotes(const tg_columnar_block *block, const uint8_t *text, size_t bytes)
{
	return is_text(text, bytes, block->csv.null_text, block->csv.null_bytes) ||
		   (block->column_count == 1 && is_text(text, bytes, "\\.", 2)) || is_special(&block->csv, text, bytes);
}

/* A string, of which each byte may become two. */
static uint8_t *
put_string(const tg_columnar_block *block, const uint8_t *text, size_t bytes, uint8_t *at)
{
	const tg_csv_written *csv = &block->csv;

	if (!needs_quotes(block, text, bytes))
	{
		if (bytes > 0)
			memcpy(at, text, bytes);
		return at + bytes;
	}
	*at++ = (uint8_t) csv->quote;
	for (size_t i = 0; i < bytes; i++)
	{
		if (text[i] == (uint8_t) csv->quote || text[i] == (uint8_t) csv->escape)
			*at++ = (uint8_t) csv->escape;
		*at++ = text[i];
	}
	*at++ = (uint8_t) csv->quote;
	return at;
}

/* --- values ------------------------------------------------------------------------------- */

/* The text of a value that is no string, without quotes; room for TYPED_BYTES. */
static uint8_t *
put_typed(const tg_columnar_block *block, const tg_column_out *column, size_t i, uint8_t *at)
{
	const int64_t *words = column->words.data;

	switch (column->description.type)
	{
		case TG_FILE_BOOL:
			*at = words[i] & 1 ? 't' : 'f';
			return at + 1;
		case TG_FILE_DECIMAL:
			return put_decimal(at, column, i);
		case TG_FILE_DATE:
			return put_date(at, words[i], block->csv.epoch_day);
		case TG_FILE_TIME:
			return put_time(at, words[i]);
		case TG_FILE_TIMESTAMP:
			return put_timestamp(at, words[i], block->csv.epoch_day);
		case TG_FILE_UUID:
			return put_uuid(at, tg_text_out(column, i).data);
		default:
			tg_assert(column->description.type == TG_FILE_INT || column->description.type == TG_FILE_UINT);
			return put_integer(at, words[i]);
	}
}

/* The bytes that a value may become at most, with the delimiter behind it. */
static size_t
bound_of(const tg_column_out *column, size_t i)
{
	return 3 + 2 * (column->description.type == TG_FILE_STRING ? tg_text_out(column, i).count : TYPED_BYTES);
}

static uint8_t *
put_value(const tg_columnar_block *block, const tg_column_out *column, size_t i, uint8_t *at)
{
	uint8_t typed[TYPED_BYTES];
	tg_file_bytes text = {typed, 0};
	uint8_t *end;

	if (column->description.type == TG_FILE_STRING)
		text = tg_text_out(column, i);
	else
	{
		end = put_typed(block, column, i, at);
		text.count = (size_t) (end - at);
		if (!block->csv.quotes_typed && !is_text(at, text.count, block->csv.null_text, block->csv.null_bytes))
			return end;
		memcpy(typed, at, text.count);
	}
	return put_string(block, text.data, text.count, at);
}

/* --- rows --------------------------------------------------------------------------------- */

/* Writes a row, of which each column's next value is next[i]. */
static tg_status
put_row(tg_columnar_block *block, size_t row, size_t *next)
{
	const tg_column_out *columns = tg_block_columns(block);
	uint8_t *begin;
	uint8_t *at;
	size_t bound = 1;

	for (unsigned i = 0; i < block->column_count; i++)
		bound += tg_is_null_out(&columns[i], row) ? (size_t) block->csv.null_bytes + 1 : bound_of(&columns[i], next[i]);
	if (!tg_buffer_reserve(&block->memory, &block->encoded, block->encoded_bytes + bound))
		return TG_NO_MEMORY;
	begin = at = (uint8_t *) block->encoded.data + block->encoded_bytes;
	for (unsigned i = 0; i < block->column_count; i++)
	{
		if (i > 0)
			*at++ = (uint8_t) block->csv.delimiter;
		if (!tg_is_null_out(&columns[i], row))
			at = put_value(block, &columns[i], next[i]++, at);
		else
		{
			memcpy(at, block->csv.null_text, block->csv.null_bytes);
			at += block->csv.null_bytes;
		}
	}
	*at++ = '\n';
	tg_assert((size_t) (at - begin) <= bound);
	block->encoded_bytes += (size_t) (at - begin);
	return TG_OK;
}

/* All of the block, with the last column. */
static tg_status
encode(tg_columnar_block *block, unsigned column)
{
	tg_status status = TG_OK;

	if (column + 1 < block->column_count)
		return TG_OK;
	if (!tg_buffer_reserve(&block->memory, &block->indexes, block->column_count * sizeof(size_t)))
		return TG_NO_MEMORY;
	memset(block->indexes.data, 0, block->column_count * sizeof(size_t));
	block->encoded_bytes = 0;
	for (size_t row = 0; row < block->rows && status == TG_OK; row++)
		status = put_row(block, row, block->indexes.data);
	return status;
}

/* --- the file ----------------------------------------------------------------------------- */

static tg_status
begin(tg_columnar_out *file)
{
	tg_csv_written *csv = &file->options.csv;
	const char typed[] = TYPED_CHARACTERS;

	tg_assert(csv->null_bytes <= sizeof(csv->null_text));
	csv->quotes_typed =
		memchr(typed, csv->delimiter, sizeof(typed)) != NULL || memchr(typed, csv->quote, sizeof(typed)) != NULL;
	return csv->header_bytes > 0 ? tg_out_write(file, csv->header, csv->header_bytes) : TG_OK;
}

static tg_status
append(tg_columnar_out *file, const tg_columnar_block *block)
{
	return tg_out_write(file, block->encoded.data, block->encoded_bytes);
}

static tg_status
finish(tg_columnar_out *file)
{
	return TG_OK;
}

const tg_columnar_format tg_csv_format = {
	.begin = begin, .encode = encode, .append = append, .finish = finish, .slot_bytes = TYPED_BYTES / 2};
