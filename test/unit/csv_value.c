/*
 * csv_value.c
 *	  The values of texts, beside the C library's and all days of the calendar; and what kernels
 *	  make of them.
 */
#include "runtime/format/csv_value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/csv_kernel.h"
#include "runtime/format/csv_read.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define FLOATS 50000
#define KERNELS 100000

static uint64_t state = 1;

static unsigned
draw(unsigned count)
{
	return unit_below(&state, count);
}

/* --- values ----------------------------------------------------------------------------------- */

/* Mostly a number, with something else behind it. */
static unsigned
draw_number(uint8_t *text)
{
	static const uint8_t others[] = "0123456789.-+eE/: \"\377";
	unsigned bytes = draw(20);
	unsigned point = draw(25);

	for (unsigned i = 0; i < bytes; i++)
		text[i] = i == point ? '.' : (uint8_t) ('0' + draw(10));
	if (bytes > 0 && draw(3) == 0)
		text[0] = '-';
	if (bytes > 0 && draw(3) == 0)
		text[draw(bytes)] = others[draw(sizeof(others) - 1)];
	for (unsigned i = bytes; i < bytes + TG_CSV_SLACK; i++)
		text[i] = others[draw(sizeof(others) - 1)];
	return bytes;
}

/* What a kernel takes has the value that it has by the function for all texts. */
static void
test_kernels(void)
{
	unsigned wrong = 0;
	unsigned ints = 0;
	unsigned decimals = 0;

	for (unsigned i = 0; i < KERNELS; i++)
	{
		uint8_t text[20 + TG_CSV_SLACK];
		unsigned bytes = draw_number(text);
		unsigned bits = 16u << draw(3);
		int precision = 1 + (int) draw(18);
		int scale = (int) draw((unsigned) precision < 7 ? (unsigned) precision + 1 : 8);
		uint64_t more = 1;
		uint64_t limit = 1;
		int64_t value;
		int64_t wanted;
		__int128 wide;

		if (tg_kernel_int(text, bytes, bits, &value))
		{
			ints++;
			wrong += !tg_text_int(text, bytes, bits, &wanted) || value != wanted;
		}
		for (int j = 0; j < scale; j++)
			more *= 10;
		for (int j = 0; j < precision; j++)
			limit *= 10;
		if (tg_kernel_decimal(text, bytes, (unsigned) scale, more, limit, &value))
		{
			decimals++;
			wrong += !tg_text_decimal(text, bytes, precision, scale, &wide) || value != (int64_t) wide;
		}
	}
	unit_ok(wrong == 0 && ints > KERNELS / 20 && decimals > KERNELS / 20,
			"%u integers and %u decimals have the same value, eight characters at a time", ints, decimals);
}

static void
test_floats(void)
{
	unsigned wrong = 0;
	unsigned taken = 0;

	for (unsigned i = 0; i < FLOATS; i++)
	{
		char text[64];
		int bytes = 0;
		int64_t word;
		double wanted;
		double value;
		unsigned bits = draw(2) == 0 ? 32 : 64;
		unsigned digits = 1 + draw(20);

		bytes += snprintf(text, sizeof(text), "%s", draw(2) == 0 ? "-" : "");
		for (unsigned j = 0, point = draw(25); j < digits; j++)
			bytes += snprintf(text + bytes, sizeof(text) - (size_t) bytes, j == point ? ".%u" : "%u", draw(10));
		if (draw(2) == 0)
			bytes += snprintf(text + bytes, sizeof(text) - (size_t) bytes, "e%d", (int) draw(60) - 30);
		if (!tg_text_float((uint8_t *) text, (size_t) bytes, bits, &word))
			continue;
		taken++;
		wanted = bits == 32 ? (double) strtof(text, NULL) : strtod(text, NULL);
		memcpy(&value, &word, sizeof(value));
		wrong += value != wanted || signbit(value) != signbit(wanted);
	}
	unit_ok(wrong == 0 && taken > FLOATS / 2, "%u floats are as the C library reads them", taken);
}

static bool
decimal(const char *text, int precision, int scale, int64_t wanted)
{
	__int128 value;

	return tg_text_decimal((const uint8_t *) text, strlen(text), precision, scale, &value) && value == wanted;
}

static void
test_numbers(void)
{
	int64_t word;
	__int128 wide;

	unit_ok(decimal("1.005", 5, 2, 101) && decimal("-1.005", 5, 2, -101) && decimal("1.00499999", 5, 2, 100) &&
				decimal(".5", 1, 0, 1) && decimal("-0.4", 3, 0, 0) && decimal("7", 5, 3, 7000) &&
				decimal("000999.994", 5, 2, 99999),
			"decimals are rounded half away from zero");
	unit_ok(!decimal("999.995", 5, 2, 0) && !decimal("1e3", 9, 2, 0) && !decimal("", 9, 2, 0) &&
				!decimal(".", 9, 2, 0) && !decimal("1.2.3", 9, 2, 0) && !decimal("NaN", 9, 2, 0),
			"what is too large, or written otherwise, is not taken");
	unit_ok(tg_text_decimal((const uint8_t *) "99999999999999999999999999999999999999", 38, 38, 0, &wide) &&
				wide / 1000000000000000000 == (__int128) 9999999999 * 10000000000 + 9999999999,
			"38 digits");
	unit_ok(tg_text_int((const uint8_t *) "-32768", 6, 16, &word) && word == -32768 &&
				!tg_text_int((const uint8_t *) "32768", 5, 16, &word) &&
				!tg_text_int((const uint8_t *) "1234567890123456789", 19, 64, &word) &&
				!tg_text_int((const uint8_t *) "-", 1, 64, &word) && !tg_text_int((const uint8_t *) "", 0, 64, &word),
			"integers");
}

/* All days, one after the other. */
static void
test_days(void)
{
	static const unsigned days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	int64_t wanted = -719162; /* 0001-01-01 */
	bool well = true;

	for (unsigned year = 1; year <= 9999; year++)
		for (unsigned month = 1; month <= 12; month++)
		{
			bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
			unsigned last = days[month - 1] + (month == 2 && leap);

			for (unsigned day = 0; day <= last + 1; day++)
			{
				uint8_t text[] = {(uint8_t) ('0' + year / 1000),
								  (uint8_t) ('0' + year / 100 % 10),
								  (uint8_t) ('0' + year / 10 % 10),
								  (uint8_t) ('0' + year % 10),
								  '-',
								  (uint8_t) ('0' + month / 10),
								  (uint8_t) ('0' + month % 10),
								  '-',
								  (uint8_t) ('0' + day / 10),
								  (uint8_t) ('0' + day % 10)};
				int64_t value;
				bool taken = tg_text_date(text, sizeof(text), &value);

				well = well && taken == (day > 0 && day <= last) && (!taken || value == wanted++);
			}
		}
	unit_ok(well, "all days of the years 1 to 9999");
}

static bool
moment(const char *text, tg_text_offset offset, int64_t wanted)
{
	int64_t value;

	return tg_text_timestamp((const uint8_t *) text, strlen(text), offset, &value) && value == wanted;
}

static void
test_texts(void)
{
	int64_t value;
	uint8_t bytes[TG_UUID_BYTES];
	size_t count;

	unit_ok(moment("1970-01-01 00:00:01", TG_TEXT_NO_OFFSET, 1000000) &&
				moment("1970-01-02T00:00:00.000001", TG_TEXT_NO_OFFSET, 86400000001) &&
				moment("1970-01-01 00:00:00.5+01", TG_TEXT_OFFSET, 500000 - 3600000000) &&
				moment("1970-01-01 00:00:00-05:30", TG_TEXT_OFFSET, 19800000000) &&
				moment("1970-01-01T00:00:00.5Z", TG_TEXT_OFFSET_OR_Z, 500000) &&
				moment("1970-01-01 00:00:00+01", TG_TEXT_OFFSET_OR_Z, -3600000000),
			"times");
	unit_ok(
		!moment("1970-01-01 00:00:00", TG_TEXT_OFFSET, 0) && !moment("1970-01-01 00:00:00+01", TG_TEXT_NO_OFFSET, 0) &&
			!moment("1970-01-01 00:00:00.+01", TG_TEXT_OFFSET, 0) &&
			!moment("1970-01-01 24:00:00", TG_TEXT_NO_OFFSET, 0) &&
			!moment("1970-01-01 00:00:00.1234567", TG_TEXT_NO_OFFSET, 0) &&
			!moment("1970-01-01", TG_TEXT_NO_OFFSET, 0) && !moment("1970-01-01 00:00:00Z", TG_TEXT_OFFSET, 0) &&
			!moment("1970-01-01 00:00:00Z", TG_TEXT_NO_OFFSET, 0) && !moment("1970-01-01 Z", TG_TEXT_OFFSET_OR_Z, 0) &&
			!moment("1970-01-01 00:00:00", TG_TEXT_OFFSET_OR_Z, 0) &&
			!moment("1970-01-01 00:00:00+16", TG_TEXT_OFFSET, 0) && !moment("1970-01-01 ", TG_TEXT_OFFSET, 0),
		"and others that are not taken");
	unit_ok(tg_text_bool((const uint8_t *) "true", 4, &value) && value == 1 &&
				tg_text_bool((const uint8_t *) "0", 1, &value) && value == 0 &&
				!tg_text_bool((const uint8_t *) "T", 1, &value) && !tg_text_bool((const uint8_t *) "", 0, &value),
			"booleans");
	unit_ok(tg_text_bytea((const uint8_t *) "\\xDEad", 6, bytes, &count) && count == 2 && bytes[0] == 0xde &&
				bytes[1] == 0xad && tg_text_bytea((const uint8_t *) "\\x", 2, bytes, &count) && count == 0 &&
				!tg_text_bytea((const uint8_t *) "\\xabc", 5, bytes, &count) &&
				!tg_text_bytea((const uint8_t *) "\\xag", 4, bytes, &count) &&
				!tg_text_bytea((const uint8_t *) "", 0, bytes, &count),
			"bytes in hexadecimal digits");
	unit_ok(tg_text_uuid((const uint8_t *) "00112233-4455-6677-8899-aAbBcCdDeEfF", 36, bytes) && bytes[1] == 0x11 &&
				bytes[15] == 0xff &&
				!tg_text_uuid((const uint8_t *) "00112233-4455-6677-8899-aabbccddeef", 35, bytes) &&
				!tg_text_uuid((const uint8_t *) "001122334-455-6677-8899-aabbccddeeff", 36, bytes),
			"uuids");
}

int
main(void)
{
	test_kernels();
	test_floats();
	test_numbers();
	test_days();
	test_texts();
	return unit_done();
}
