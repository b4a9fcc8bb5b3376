/*
 * csv_out.c
 *	  Values as CSV is written: decimals of all scales against decimal arithmetic by digit, days
 *	  against the calendar of the C library, times, quotes.
 */
#include "runtime/format/columnar_out.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "runtime/base/check.h"
#include "test/unit/columnar_file.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define ROUNDS UNIT_ROUNDS(20000)
#define SECONDS_IN_DAY 86400
#define TEXT_MAX 128

static uint64_t state = 7;

/* A file of one column with one value, without the end of its line. */
static const char *
write_one(const tg_file_column *column, const tg_csv_written *csv, const tg_file_values *values)
{
	static char text[2 * TEXT_MAX];
	contents file = {0};
	contents source = {0};
	const tg_file_target target = {
		.write = append, .resize = resize, .free = release, .argument = &file, .memory_max = MEMORY_MAX};
	const tg_columnar_options options = {.block_rows = 10, .block_bytes = 1 << 20, .csv = *csv};
	tg_file_source memory = source_of(&source);
	tg_columnar_block *block;
	tg_columnar_out *out;
	uint64_t bytes;

	tg_check(tg_columnar_create(TG_FORMAT_CSV, &target, &options, column, 1, &out) == TG_OK);
	tg_check(tg_columnar_block_create(out, &memory, &block) == TG_OK);
	tg_check(tg_columnar_put_values(block, 0, values, 0, 1) == TG_OK);
	tg_check(!tg_columnar_put_rows(block, 1) && tg_columnar_write(out, block) == TG_OK);
	tg_check(tg_columnar_finish(out, &bytes) == TG_OK && bytes == file.count && file.data[bytes - 1] == '\n');
	memcpy(text, file.data, bytes - 1);
	text[bytes - 1] = '\0';
	tg_columnar_block_free(block);
	tg_columnar_out_free(out);
	free(file.data);
	return text;
}

static const tg_csv_written plain = {.delimiter = ',', .quote = '"', .escape = '"'};

static const char *
write_word(tg_file_column column, int64_t word)
{
	const tg_file_values values = {.words = &word};

	column.name = "c";
	return write_one(&column, &plain, &values);
}

static bool
is_written(const char *got, const char *expected)
{
	if (strcmp(got, expected) != 0)
		printf("# %s, not %s\n", got, expected);
	return strcmp(got, expected) == 0;
}

/* --- decimals --------------------------------------------------------------------------------- */

/* Digit by digit from the right, of a number of so many digits. */
static void
choose_decimal(unsigned digits, unsigned scale, __int128 *number_out, char *text)
{
	char reversed[TEXT_MAX];
	unsigned count = 0;
	unsigned shown = 1 + unit_below(&state, digits);
	__int128 unit = 1;
	bool is_negative = unit_below(&state, 2) == 0;

	*number_out = 0;
	for (unsigned i = 0; i < shown || i <= scale; i++, unit *= 10)
	{
		unsigned digit = i >= shown ? 0 : i + 1 == shown ? 1 + unit_below(&state, 9) : unit_below(&state, 10);

		if (i == scale && scale > 0)
			reversed[count++] = '.';
		reversed[count++] = (char) ('0' + digit);
		*number_out += digit * unit;
		if (i == 37 && scale >= 38) /* the next unit would be larger than any number */
		{
			reversed[count++] = '.';
			reversed[count++] = '0';
			break;
		}
	}
	if (is_negative)
		reversed[count++] = '-';
	for (unsigned i = 0; i < count; i++)
		text[i] = reversed[count - 1 - i];
	text[count] = '\0';
	*number_out = is_negative ? -*number_out : *number_out;
}

static void
test_decimals(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
	{
		bool is_wide = i % 2 == 0;
		unsigned digits = is_wide ? 38 : 18;
		tg_file_column column = {.name = "c", .type = TG_FILE_DECIMAL, .precision = (int32_t) digits};
		uint8_t data[16];
		tg_file_bytes bytes = {data, sizeof(data)};
		int64_t word;
		const tg_file_values values = {.words = &word, .bytes = &bytes};
		char expected[TEXT_MAX];
		__int128 number;

		column.scale = (int32_t) unit_below(&state, digits + 1);
		choose_decimal(digits, (unsigned) column.scale, &number, expected);
		word = (int64_t) number;
		for (unsigned b = 0; b < sizeof(data); b++)
			data[15 - b] = (uint8_t) ((unsigned __int128) number >> 8 * b);
		wrong += !is_written(write_one(&column, &plain, &values), expected);
	}
	unit_equal(wrong, 0, "decimals have the digits that they are made of");
	unit_ok(is_written(write_word((tg_file_column){.type = TG_FILE_DECIMAL, .precision = 18, .scale = 3}, INT64_MAX),
					   "NaN"),
			"but for NaN");
}

/* --- integers, dates and times -------------------------------------------------------------- */

static void
test_integers(void)
{
	const tg_file_column column = {.type = TG_FILE_INT, .bits = 64};
	unsigned wrong = !is_written(write_word(column, INT64_MIN), "-9223372036854775808");

	for (unsigned i = 0; i < ROUNDS; i++)
	{
		int64_t word = (int64_t) unit_random(&state) >> unit_below(&state, 64);
		char expected[TEXT_MAX];

		snprintf(expected, sizeof(expected), "%" PRId64, word);
		wrong += !is_written(write_word(column, word), expected);
	}
	unit_equal(wrong, 0, "integers");
}

static void
expect_day(int64_t day, char *text, bool *is_bc_out)
{
	time_t seconds = day * SECONDS_IN_DAY;
	struct tm parts;
	int64_t year;

	tg_check(gmtime_r(&seconds, &parts) != NULL);
	year = parts.tm_year + INT64_C(1900);
	*is_bc_out = year <= 0;
	snprintf(text, TEXT_MAX, "%04" PRId64 "-%02d-%02d", year > 0 ? year : 1 - year, parts.tm_mon + 1, parts.tm_mday);
}

static void
test_moments(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
	{
		/* to the year 294276, and back to 4713 BC */
		int64_t day = i % 2 == 0 ? (int64_t) unit_below(&state, 108000000) - 2440000
								 : (int64_t) unit_below(&state, 800000) - 719600;
		int64_t us = unit_below(&state, 86400) * INT64_C(1000000) + (i % 3 == 0 ? 0 : unit_below(&state, 1000000));
		char expected[TEXT_MAX];
		bool is_bc;
		size_t length;

		expect_day(day, expected, &is_bc);
		length = strlen(expected);
		strcpy(expected + length, is_bc ? " BC" : "");
		wrong += !is_written(write_word((tg_file_column){.type = TG_FILE_DATE}, day), expected);
		length += (size_t) sprintf(expected + length, " %02d:%02d:%02d", (int) (us / 3600000000),
								   (int) (us / 60000000 % 60), (int) (us / 1000000 % 60));
		if (us % 1000000 != 0)
		{
			length += (size_t) sprintf(expected + length, ".%06d", (int) (us % 1000000));
			while (expected[length - 1] == '0')
				expected[--length] = '\0';
		}
		if (is_bc)
			strcpy(expected + length, " BC");
		wrong += !is_written(
			write_word((tg_file_column){.type = TG_FILE_TIMESTAMP, .digits = 6}, day * SECONDS_IN_DAY * 1000000 + us),
			expected);
	}
	unit_equal(wrong, 0, "dates and moments of the calendar");
	unit_ok(
		is_written(write_word((tg_file_column){.type = TG_FILE_DATE}, INT32_MIN), "-infinity") &&
			is_written(write_word((tg_file_column){.type = TG_FILE_TIMESTAMP, .digits = 6}, INT64_MAX), "infinity") &&
			is_written(write_word((tg_file_column){.type = TG_FILE_TIME, .digits = 6}, INT64_C(86400000000)),
					   "24:00:00"),
		"and the others");
}

/* --- quotes --------------------------------------------------------------------------------- */

static bool
is_quoted_as(const tg_csv_written *csv, const char *text, const char *expected)
{
	const tg_file_column column = {.name = "c", .type = TG_FILE_STRING};
	tg_file_bytes bytes = {(const uint8_t *) text, strlen(text)};
	const tg_file_values values = {.bytes = &bytes};

	return is_written(write_one(&column, csv, &values), expected);
}

static void
test_quotes(void)
{
	const tg_csv_written own = {
		.delimiter = '1', .quote = '\'', .escape = 'x', .null_bytes = 4, .null_text = {'N', 'U', 'L', 'L'}};
	const tg_file_column integer = {.name = "c", .type = TG_FILE_INT, .bits = 64};
	int64_t word = 210;
	const tg_file_values values = {.words = &word};

	unit_ok(is_quoted_as(&plain, "", "\"\"") && is_quoted_as(&plain, "a b", "a b") &&
				is_quoted_as(&plain, "a,b", "\"a,b\"") && is_quoted_as(&plain, "12345678\n", "\"12345678\n\"") &&
				is_quoted_as(&plain, "\r2345678", "\"\r2345678\"") && is_quoted_as(&plain, "a\"b", "\"a\"\"b\"") &&
				is_quoted_as(&plain, "\\.", "\"\\.\"") && is_quoted_as(&plain, "\\.\\.", "\\.\\."),
			"what has to be quoted is");
	unit_ok(is_quoted_as(&own, "NULL", "'NULL'") && is_quoted_as(&own, "x1'", "'xx1x''") &&
				is_quoted_as(&own, "x", "x") && is_quoted_as(&own, "", ""),
			"likewise in another dialect");
	unit_ok(is_written(write_one(&integer, &own, &values), "'210'"), "in which numbers may need quotes");
}

int
main(void)
{
	test_decimals();
	test_integers();
	test_moments();
	test_quotes();
	unit_equal(used, 0, "all memory has been given back");
	return unit_done();
}
