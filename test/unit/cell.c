/*
 * cell.c
 *	  Values of files as a table stores them: ranges, and what they are counted from; decimals of
 *	  any width; which strings are UTF-8, against a decoder of this test's own.
 */
#include "runtime/batch/cell.h"

#include <string.h>

#include "test/unit/random.h"
#include "test/unit/unit.h"

#define STRING_MAX 64

static unsigned char memory_data[STRING_MAX];

/* The first row. */
static tg_cell_fault
take_one(const tg_cell *cell, const tg_file_values *values, tg_cell_memory *memory, tg_value *value, bool *null)
{
	uint8_t fault = TG_CELL_FITS;
	uint16_t column;
	const tg_cell_rows rows = {.values = value, .nulls = null, .pitch = 1, .faults = &fault, .columns = &column};

	tg_cell_take(cell, values, 0, 1, memory, &rows);
	return (tg_cell_fault) fault;
}

static tg_cell_fault
take_word(const tg_cell *cell, int64_t word, int64_t *out)
{
	const tg_file_values values = {.words = &word};
	tg_value value = {.word = 0};
	bool null;
	tg_cell_fault fault = take_one(cell, &values, NULL, &value, &null);

	*out = (int64_t) value.word;
	return fault;
}

static bool
is_word(const tg_cell *cell, int64_t word, int64_t expected)
{
	int64_t got;

	return take_word(cell, word, &got) == TG_CELL_FITS && got == expected;
}

static bool
is_out(const tg_cell *cell, int64_t word)
{
	int64_t got;

	return take_word(cell, word, &got) == TG_CELL_OUT;
}

static void
test_words(void)
{
	const tg_cell small = {.form = TG_CELL_WORD, .multiply = 1, .divide = 1, .low = INT16_MIN, .high = INT16_MAX};
	tg_cell whole = {.form = TG_CELL_WORD, .multiply = 1, .divide = 1, .low = INT64_MIN, .high = INT64_MAX};

	unit_ok(is_word(&small, INT16_MAX, INT16_MAX) && is_word(&small, INT16_MIN, INT16_MIN), "the ends of a range");
	unit_ok(is_out(&small, INT16_MAX + 1) && is_out(&small, INT16_MIN - 1), "and what is beyond them");
	unit_ok(is_word(&whole, INT64_MIN, INT64_MIN) && is_word(&whole, -1, -1), "any number of 64 bits");
	whole.is_unsigned = true;
	unit_ok(is_out(&whole, -1) && is_word(&whole, 1, 1), "one without a sign");
}

static void
test_units(void)
{
	const tg_cell milliseconds = {
		.form = TG_CELL_WORD, .multiply = 1000, .divide = 1, .offset = -500, .low = INT64_MIN, .high = INT64_MAX};
	const tg_cell nanoseconds = {
		.form = TG_CELL_WORD, .multiply = 1, .divide = 1000, .low = INT64_MIN, .high = INT64_MAX};
	const tg_cell endless = {.form = TG_CELL_WORD,
							 .multiply = 1,
							 .divide = 1,
							 .low = -10,
							 .high = 10,
							 .is_endless = true,
							 .lowest = -99,
							 .highest = 99,
							 .endless_low = INT64_MIN,
							 .endless_high = INT64_MAX};

	unit_ok(is_word(&milliseconds, 7, 6500) && is_word(&milliseconds, -7, -7500), "milliseconds, and an offset");
	unit_ok(is_out(&milliseconds, INT64_MAX / 1000 + 1) && is_out(&milliseconds, INT64_MIN / 1000 - 1),
			"too many of them");
	unit_ok(is_word(&nanoseconds, 1999, 1) && is_word(&nanoseconds, -1, -1) && is_word(&nanoseconds, -1000, -1) &&
				is_word(&nanoseconds, -1001, -2),
			"nanoseconds are rounded down");
	unit_ok(is_word(&endless, 99, INT64_MAX) && is_word(&endless, -99, INT64_MIN) &&
				is_word(&endless, -98, INT64_MIN) && is_out(&endless, 98) && is_out(&endless, -97) &&
				is_out(&endless, -100),
			"infinities");
}

static void
test_floats(void)
{
	const tg_cell narrow = {.form = TG_CELL_FLOAT4};
	const tg_cell wide = {.form = TG_CELL_FLOAT8};
	double value = -1.5;
	float as_float = -1.5f;
	int32_t bits;
	int64_t word;

	memcpy(&word, &value, sizeof(word));
	memcpy(&bits, &as_float, sizeof(bits));
	unit_ok(is_word(&narrow, word, bits) && is_word(&wide, word, word), "floats");
}

/* --- decimals --------------------------------------------------------------------------------- */

static tg_cell_fault
take_bytes(const tg_cell *cell, const void *data, size_t count, tg_value *value_out)
{
	const tg_file_bytes bytes = {data, count};
	const tg_file_values values = {.bytes = &bytes};
	tg_cell_memory memory = {.data = memory_data, .bytes = sizeof(memory_data)};
	bool null;

	return take_one(cell, &values, &memory, value_out, &null);
}

static void
test_decimals(void)
{
	const tg_cell narrow = {.form = TG_CELL_DECIMAL, .multiply = 10, .limit_low = 1000};
	const tg_cell wide = {.form = TG_CELL_DECIMAL, .is_wide = true, .multiply = 1, .limit_high = 1};
	const uint8_t minus_two[] = {0xff, 0xff, 0xfe};
	const uint8_t two_to_64[] = {1, 0, 0, 0, 0, 0, 0, 0, 0};
	uint8_t long_one[20];
	tg_value value;
	__int128 got;

	unit_ok(is_word(&narrow, 99, 990) && is_word(&narrow, -99, -990) && is_out(&narrow, 100) && is_out(&narrow, -100),
			"a decimal of few digits");
	unit_ok(take_bytes(&narrow, minus_two, 3, &value) == TG_CELL_FITS && (int64_t) value.word == -20,
			"bytes of two's complement");
	unit_ok(take_bytes(&narrow, minus_two, 0, &value) == TG_CELL_FITS && value.word == 0, "no bytes are 0");
	unit_ok(take_bytes(&wide, two_to_64, sizeof(two_to_64), &value) == TG_CELL_OUT, "a number at the limit");
	unit_ok(take_bytes(&wide, two_to_64 + 1, 8, &value) == TG_CELL_FITS, "and one below");
	memset(long_one, 0xff, sizeof(long_one));
	unit_ok(take_bytes(&wide, long_one, sizeof(long_one), &value) == TG_CELL_FITS, "more bytes than are needed");
	memcpy(&got, value.bytes, sizeof(got));
	unit_ok(got == -1, "are the same number");
	long_one[4] = 0x7f;
	unit_ok(take_bytes(&wide, long_one, sizeof(long_one), &value) == TG_CELL_OUT, "but not with another sign");
	long_one[0] = 0;
	unit_ok(take_bytes(&wide, long_one, sizeof(long_one), &value) == TG_CELL_OUT, "nor with other bytes before");
}

/* --- several numbers -------------------------------------------------------------------------- */

#define ROWS 64

static int64_t
random_word(uint64_t *state)
{
	return (int64_t) (unit_random(state) >> unit_below(state, 64)) * (unit_below(state, 2) != 0 ? 1 : -1);
}

/* A cell that most small numbers fit, and many larger ones do not. */
static tg_cell
random_cell(uint64_t *state)
{
	tg_cell cell = {.form = unit_below(state, 3) == 0 ? TG_CELL_DECIMAL : TG_CELL_WORD,
					.column = (uint16_t) unit_below(state, 2),
					.multiply = 1 + (int64_t) unit_below(state, 1000),
					.divide = unit_below(state, 4) == 0 ? 1000 : 1,
					.offset = random_word(state),
					.low = INT64_MIN,
					.high = INT64_MAX,
					.limit_low = unit_random(state) >> unit_below(state, 64),
					.limit_high = unit_below(state, 8) == 0};

	if (unit_below(state, 2) == 0)
	{
		cell.offset = 0;
		cell.low = -(int64_t) (unit_random(state) >> 1 >> unit_below(state, 63));
		cell.high = (int64_t) (unit_random(state) >> 1 >> unit_below(state, 63));
	}
	cell.is_unsigned = unit_below(state, 4) == 0;
	cell.is_endless = unit_below(state, 4) == 0;
	cell.is_wide = unit_below(state, 4) == 0;
	cell.lowest = -(int64_t) unit_below(state, 1000);
	cell.highest = (int64_t) unit_below(state, 1000);
	cell.endless_low = INT64_MIN;
	cell.endless_high = INT64_MAX;
	return cell;
}

/* Rows that are taken together are what they are one by one, beside a NULL. */
static void
test_together(void)
{
	uint64_t state = 5;
	unsigned wrong = 0;
	unsigned fitting = 0;

	for (unsigned round = 0; round < 100000; round++)
	{
		const tg_cell cell = random_cell(&state);
		unsigned count = 1 + unit_below(&state, ROWS);
		unsigned shift = unit_below(&state, 64);
		int64_t words[ROWS];
		tg_value values[2 * ROWS] = {{.word = 0}};
		bool nulls[2 * ROWS];
		uint8_t faults[ROWS] = {0};
		uint16_t columns[ROWS];
		const tg_cell_rows rows = {
			.values = values, .nulls = nulls, .pitch = ROWS, .faults = faults, .columns = columns};
		unsigned faultless = 0;

		for (unsigned i = 0; i < count; i++)
			words[i] = random_word(&state) >> shift;
		memset(nulls, true, sizeof(nulls));
		tg_cell_take(&cell, &(tg_file_values){.words = words}, 0, count, NULL, &rows);
		for (unsigned i = 0; i < count; i++)
		{
			const int64_t pair[] = {words[i], 0};
			const uint8_t is_null[] = {0, 1};
			tg_cell alone = cell;
			tg_value value[2] = {{.word = 0}};
			bool null[2];
			uint8_t fault[2] = {0};
			uint16_t column[2];
			const tg_cell_rows one = {.values = value, .nulls = null, .pitch = 2, .faults = fault, .columns = column};

			alone.column = 0;
			tg_cell_take(&alone, &(tg_file_values){.nulls = is_null, .words = pair}, 0, 2, NULL, &one);
			wrong += fault[0] != faults[i] || nulls[cell.column * ROWS + i];
			if (fault[0] == TG_CELL_FITS)
				wrong += memcmp(&value[0], &values[cell.column * ROWS + i], sizeof(tg_value)) != 0;
			faultless += fault[0] == TG_CELL_FITS;
		}
		fitting += faultless == count;
	}
	unit_equal(wrong, 0, "numbers taken together are as they are one by one");
	unit_ok(fitting > 10000 && fitting < 90000, "all fit in %u of the rounds", fitting);
}

/* --- strings ---------------------------------------------------------------------------------- */

/* Decodes into a code point, and judges that. */
static bool
is_utf8(const uint8_t *data, size_t count)
{
	for (size_t at = 0; at < count;)
	{
		static const uint32_t least[] = {1, 0x80, 0x800, 0x10000};
		uint8_t first = data[at];
		unsigned more = first < 0x80 ? 0 : (first & 0xe0) == 0xc0 ? 1 : (first & 0xf0) == 0xe0 ? 2 : 3;
		uint32_t code = more == 0 ? first : first & (0x3fu >> more);

		if ((more == 3 && (first & 0xf8) != 0xf0) || at + more >= count)
			return false;
		for (unsigned i = 1; i <= more; i++)
		{
			if ((data[at + i] & 0xc0) != 0x80)
				return false;
			code = code << 6 | (data[at + i] & 0x3f);
		}
		if (code < least[more] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
			return false;
		at += more + 1;
	}
	return true;
}

static void
test_utf8(void)
{
	const tg_cell text = {.form = TG_CELL_TEXT, .bytes_max = STRING_MAX};
	static const uint8_t edges[] = {0x00, 0x01, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf,
									0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5, 0xf8, 0xff};
	const unsigned count = sizeof(edges);
	uint64_t wrong = 0;

	for (unsigned length = 1; length <= 4; length++)
		for (unsigned before = 0; before <= 9; before += 3)
			for (unsigned number = 0; number < count * count * count * count; number++)
			{
				uint8_t data[16];
				unsigned rest = number;
				tg_value value;

				if (length < 4 && number >= count * count * count)
					break;
				memset(data, 'a', sizeof(data));
				for (unsigned i = 0; i < length; i++, rest /= count)
					data[before + i] = edges[rest % count];
				wrong += (take_bytes(&text, data, before + length, &value) == TG_CELL_FITS) !=
						 is_utf8(data, before + length);
			}
	unit_equal(wrong, 0, "strings are judged as UTF-8");
}

static void
test_strings(void)
{
	const tg_cell bytes = {.form = TG_CELL_BYTES, .bytes_max = 20};
	const uint8_t data[21] = "0123456789abcdefghij";
	tg_value value;
	uint32_t header;

	unit_ok(take_bytes(&bytes, data, 12, &value) == TG_CELL_FITS && !tg_string_is_out(&value.string) &&
				tg_string_inline_bytes(&value.string) == 12 && memcmp(value.string.bytes, data, 12) == 0,
			"a short string lies in its value");
	unit_ok(take_bytes(&bytes, data, 13, &value) == TG_CELL_FITS && tg_string_is_out(&value.string) &&
				tg_string_blob_bytes(&value.string) == 17 &&
				memcmp((const char *) value.string.blob + 4, data, 13) == 0,
			"a longer one outside, with a header");
	memcpy(&header, value.string.blob, sizeof(header));
	unit_equal(header, 17 << 2, "which is the host's");
	unit_ok(take_bytes(&bytes, data, 21, &value) == TG_CELL_TOO_LONG, "one that is too long");
}

static void
test_nulls(void)
{
	tg_cell cell = {.form = TG_CELL_WORD, .multiply = 1, .divide = 1};
	const uint8_t nulls[] = {1};
	const int64_t words[] = {0};
	const tg_file_values values = {.nulls = nulls, .words = words};
	const tg_file_values none = {.nulls = NULL};
	tg_value value;
	bool null;

	unit_ok(take_one(&cell, &values, NULL, &value, &null) == TG_CELL_FITS && null, "a NULL");
	unit_ok(take_one(&cell, &none, NULL, &value, &null) == TG_CELL_FITS && null, "a column of NULLs");
	cell.not_null = true;
	unit_ok(take_one(&cell, &values, NULL, &value, &null) == TG_CELL_IS_NULL, "a NULL that must not be");
}

int
main(void)
{
	test_words();
	test_units();
	test_floats();
	test_decimals();
	test_together();
	test_utf8();
	test_strings();
	test_nulls();
	return unit_done();
}
