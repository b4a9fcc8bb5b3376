/*
 * csv.c
 *	  Files in CSV: random bytes of few kinds, in which quotes, escapes and ends of lines meet, in
 *	  all dialects, cut at every byte, beside a plain translation of COPY's rules.  FUZZ: how many.
 *	  Then the values of texts, beside the C library's and all days of the calendar.
 */
#include "runtime/format/csv_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/csv_kernel.h"
#include "runtime/format/csv_masks.h"
#include "runtime/format/csv_value.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define BYTES_MAX 500
#define COLUMNS 3
#define FUZZ 1500
#define FLOATS 50000
#define KERNELS 100000
#define LARGE 5000

static uint64_t state = 1;

static unsigned
draw(unsigned count)
{
	return unit_below(&state, count);
}

/* --- COPY's rules ----------------------------------------------------------------------------- */

typedef struct record
{
	size_t begin;
	size_t end;
	uint64_t lines; /* before it */
	bool strays;	/* an end of a line of another kind is in it */
	bool is_open;	/* a quote is, at its end */
} record;

static record records[BYTES_MAX + 1];
static size_t record_count;
static size_t content_bytes; /* up to the line `\.` */

static uint8_t
at(const uint8_t *data, size_t bytes, size_t i)
{
	return i < bytes ? data[i] : 0;
}

/* The bytes of a line's end there, if lines end so; *end_io is found out by the first one. */
static size_t
line_end(const uint8_t *data, size_t bytes, size_t i, uint8_t *end_io)
{
	bool pair = data[i] == '\r' && at(data, bytes, i + 1) == '\n';

	if (*end_io == TG_CSV_END_UNKNOWN)
		*end_io = data[i] == '\n' ? TG_CSV_END_NL : pair ? TG_CSV_END_CRNL : TG_CSV_END_CR;
	if (*end_io == TG_CSV_END_CRNL)
		return pair ? 2 : 0;
	return data[i] == (*end_io == TG_CSV_END_NL ? '\n' : '\r');
}

static bool
is_end_mark(const uint8_t *data, size_t bytes, size_t i, uint8_t end)
{
	uint8_t next = at(data, bytes, i + 2);

	if (data[i] != '\\' || at(data, bytes, i + 1) != '.' || (next != '\r' && next != '\n'))
		return false;
	return end == TG_CSV_END_UNKNOWN || line_end(data, bytes, i + 2, &end) > 0;
}

static void
find_records(const uint8_t *data, size_t bytes, const tg_csv_dialect *dialect, uint8_t *end_out)
{
	uint8_t escape = dialect->escape == dialect->quote ? 0 : dialect->escape;
	uint64_t lines = 0;
	size_t i = 0;

	record_count = 0;
	*end_out = TG_CSV_END_UNKNOWN;
	while (i < bytes && !is_end_mark(data, bytes, i, *end_out))
	{
		record *record = &records[record_count++];
		bool in_quotes = false;
		bool escaped = false;
		size_t end = 0;

		*record = (struct record){.begin = i, .lines = lines};
		for (; i < bytes && end == 0; i += end > 0 ? end : 1)
		{
			if (in_quotes && escape != 0 && data[i] == escape)
				escaped = !escaped;
			if (data[i] == dialect->quote && !escaped)
				in_quotes = !in_quotes;
			if (escape == 0 || data[i] != escape)
				escaped = false;
			if (in_quotes)
				lines += data[i] == (*end_out == TG_CSV_END_NL ? '\n' : '\r');
			else if (data[i] == '\n' || data[i] == '\r')
			{
				end = line_end(data, bytes, i, end_out);
				record->strays |= end == 0;
			}
		}
		lines++;
		record->end = i;
		record->is_open = in_quotes;
	}
	content_bytes = i;
}

/* A record's fields, one after the other with their lengths before them.  The number; or 0. */
static unsigned
find_fields(const uint8_t *data, const record *record, const tg_csv_dialect *dialect, uint8_t texts[][BYTES_MAX],
			size_t *lengths, bool *quoted)
{
	uint8_t escape = dialect->escape;
	size_t end = record->end;
	unsigned count = 0;
	bool in_quotes = false;

	if (end > record->begin && data[end - 1] == '\n')
		end--;
	if (end > record->begin && data[end - 1] == '\r')
		end--;
	lengths[0] = 0;
	quoted[0] = false;
	for (size_t i = record->begin; i < end; i++)
	{
		uint8_t c = data[i];

		if (!in_quotes && c == dialect->delimiter)
		{
			if (++count > COLUMNS)
				return 0;
			lengths[count] = 0;
			quoted[count] = false;
		}
		else if (in_quotes && c == escape && i + 1 < end && (data[i + 1] == escape || data[i + 1] == dialect->quote))
			texts[count][lengths[count]++] = data[++i];
		else if (c == dialect->quote)
		{
			in_quotes = !in_quotes;
			quoted[count] = true;
		}
		else
			texts[count][lengths[count]++] = c;
	}
	return count + 1;
}

/* --- random files ----------------------------------------------------------------------------- */

static const char *shown;	 /* what has gone wrong */
static uint64_t whole_count; /* records whose fields have been compared */

static bool
check(bool well, const char *what)
{
	if (!well && shown == NULL)
		shown = what;
	return well;
}

static tg_csv_dialect
draw_dialect(void)
{
	tg_csv_dialect dialect = {.delimiter = draw(2) == 0 ? ',' : ';', .quote = draw(3) == 0 ? '\'' : '"'};
	static const uint8_t escapes[] = {'\\', '^', ','};

	dialect.escape = draw(2) == 0 ? dialect.quote : escapes[draw(2)];
	return dialect;
}

static size_t
draw_bytes(uint8_t *data)
{
	static const char *const kinds[] = {
		"\"", ",", "\n", "\r\n", "\r", "\\", "\\.", "'", "^", "a", "bcdefghijklmnop", "\n\\.\n", ";"};
	size_t bytes = 0;
	unsigned most = draw(4) == 0 ? 30 : 150;
	unsigned quiet = draw(3);

	for (unsigned left = draw(most); left > 0; left--)
	{
		/* files that are mostly letters, commas and newlines have records, too */
		static const unsigned quiets[] = {1, 2, 9, 10};
		const char *kind = kinds[draw(10) < 4 * quiet ? quiets[draw(4)] : draw(13)];

		if (bytes + strlen(kind) > BYTES_MAX)
			break;
		memcpy(data + bytes, kind, strlen(kind));
		bytes += strlen(kind);
	}
	return bytes;
}

static void
put(uint8_t *data, size_t *bytes, uint8_t c)
{
	if (*bytes < BYTES_MAX)
		data[(*bytes)++] = c;
}

/* Mostly as a program writes it. */
static void
put_field(uint8_t *data, size_t *bytes, const tg_csv_dialect *dialect)
{
	static const uint8_t inner[] = "ab\n\r,;\"'\\^.";
	bool quoted = draw(3) == 0;

	if (quoted)
		put(data, bytes, dialect->quote);
	for (unsigned left = draw(draw(10) == 0 ? 70 : 5); left > 0; left--)
	{
		uint8_t c = quoted ? inner[draw(sizeof(inner) - 1)] : (uint8_t) ('a' + draw(3));

		if (quoted && (c == dialect->quote || c == dialect->escape))
			put(data, bytes, dialect->escape);
		put(data, bytes, c);
	}
	if (quoted)
		put(data, bytes, dialect->quote);
}

static size_t
draw_records(uint8_t *data, const tg_csv_dialect *dialect)
{
	static const char *const ends[] = {"\n", "\r\n", "\r"};
	const char *end = ends[draw(3)];
	size_t bytes = 0;

	for (unsigned left = draw(40); left > 0; left--)
	{
		unsigned fields = draw(20) == 0 ? draw(6) : COLUMNS;

		for (unsigned i = 0; i < fields; i++)
		{
			if (i > 0)
				put(data, &bytes, dialect->delimiter);
			put_field(data, &bytes, dialect);
		}
		for (size_t i = 0; i < strlen(end); i++)
			put(data, &bytes, (uint8_t) end[i]);
	}
	return bytes;
}

/* Goes through the file in pieces, up to the first record at stop or behind it. */
static void
cut(tg_csv_cutter *cutter, const uint8_t *data, size_t bytes, uint64_t stop, bool in_pieces)
{
	size_t known = in_pieces ? cutter->position : bytes;

	for (;;)
	{
		uint8_t *piece;
		size_t count;
		uint64_t position = cutter->position;

		if (known < bytes && in_pieces)
			known += 1 + draw((unsigned) (bytes - known));
		piece = malloc(known - position + 1);
		memcpy(piece, data + position, known - position);
		count = tg_csv_cut(cutter, piece, known - position, known == bytes, stop);
		free(piece);
		check(cutter->position == position + count, "bytes and position");
		if (cutter->is_over || (!cutter->in_record && cutter->position >= stop) || cutter->position == bytes)
			return;
	}
}

/* From each byte on, the cutter stops at the next record, having counted those before. */
static void
test_cuts(const uint8_t *data, size_t bytes, const tg_csv_dialect *dialect, uint8_t end)
{
	for (uint64_t stop = 0; stop <= bytes + 1; stop += 1 + draw(3))
	{
		tg_csv_cutter cutter = {.dialect = *dialect};
		size_t i = 0;

		cut(&cutter, data, bytes, stop, draw(2) == 0);
		while (i < record_count && records[i].begin < stop)
			i++;
		check(cutter.position == (i < record_count ? records[i].begin : content_bytes), "where a record begins");
		check(cutter.rows == i, "how many records are before it");
		check(i == record_count || cutter.lines == records[i].lines, "how many lines are before it");
		check(i == 0 || stop < bytes || cutter.dialect.end == end, "how lines end");
	}
}

static bool
is_field(const tg_file_values *values, unsigned row, bool null, const uint8_t *text, size_t bytes)
{
	if (values->nulls[row] || null)
		return values->nulls[row] && null;
	return values->bytes[row].count == bytes && (bytes == 0 || memcmp(values->bytes[row].data, text, bytes) == 0);
}

static void
check_record(const uint8_t *data, const tg_csv_dialect *dialect, const record *wanted, const tg_csv_record *found,
			 const tg_file_values *values, unsigned row, bool is_first)
{
	static uint8_t texts[COLUMNS + 1][BYTES_MAX];
	size_t lengths[COLUMNS + 1];
	bool quoted[COLUMNS + 1];
	bool whole = !wanted->strays && !wanted->is_open && !is_first;

	check(found->lines == wanted->lines, "lines of a record");
	whole = find_fields(data, wanted, dialect, texts, lengths, quoted) == COLUMNS && whole;
	if (!check(found->is_odd == !whole, "whether a record is odd") || !whole)
		return;
	whole_count++;
	for (unsigned i = 0; i < COLUMNS; i++)
		check(is_field(&values[i], row, lengths[i] == 1 && texts[i][0] == 'a' && !quoted[i], texts[i], lengths[i]),
			  "a field");
}

static void *
resize(void *argument, void *memory, size_t old_bytes, size_t bytes)
{
	return realloc(memory, bytes);
}

static void
release(void *argument, void *memory)
{
	free(memory);
}

/* The file as a block of the records [first, end). */
static void
test_block(const uint8_t *data, const tg_csv_dialect *dialect, size_t first, size_t end)
{
	static const tg_csv_column columns[COLUMNS] = {
		{.type = TG_FILE_STRING}, {.type = TG_FILE_STRING}, {.type = TG_FILE_STRING}};
	const tg_csv_format format = {.dialect = *dialect, .null_text = "a", .columns = columns, .column_count = COLUMNS};
	const tg_file_source source = {.resize = resize, .free = release, .memory_max = 1 << 24};
	size_t begin = first < end ? records[first].begin : 0;
	size_t bytes = first < end ? records[end - 1].end - begin : 0;
	uint8_t *block = malloc(bytes + TG_CSV_SLACK);
	tg_file_values values[COLUMNS];
	tg_csv_reader *reader;
	unsigned count;

	tg_check(tg_csv_reader_create(&source, &format, &reader) == TG_OK);
	memcpy(block, data + begin, bytes);
	memset(block + bytes, (int) draw(256), TG_CSV_SLACK);
	tg_csv_begin(reader, block, (uint32_t) bytes, first < end ? records[first].lines : 0, first == 0);
	while (tg_csv_read(reader, values, &count) == TG_OK && count > 0 && check(count <= end - first, "records"))
		for (unsigned i = 0; i < count; i++, first++)
			check_record(data, dialect, &records[first], &tg_csv_records(reader)[i], values, i, first == 0);
	check(first == end, "all records of a block");
	tg_csv_reader_free(reader);
	free(block);
}

/* --- blocks of several batches ---------------------------------------------------------------- */

/* Record i of a large file, and its fields; without fields: it has one too many. */
static size_t
print_record(unsigned i, const tg_csv_dialect *dialect, const char *end, uint8_t *record, char fields[COLUMNS][100])
{
	char *at = (char *) record;

	snprintf(fields[0], sizeof(fields[0]), "%u", i);
	snprintf(fields[1], sizeof(fields[1]), "%.*s", (int) (i * 7 % 80),
			 "of any length, so that records end at each place of a stride, again and again ....");
	snprintf(fields[2], sizeof(fields[2]), "%c\n%u%s", dialect->quote, i % 97, i % 5 == 0 ? "\303\244" : "");
	at += sprintf(at, "%s;%s%s;", fields[0], fields[1], i % 11 == 3 ? ";" : "");
	if (i % 3 == 0)
		at += sprintf(at, "%c%c%s%c%s", dialect->quote, dialect->escape, fields[2], dialect->quote, end);
	else
	{
		memmove(fields[2], fields[2] + 2, strlen(fields[2] + 2) + 1);
		at += sprintf(at, "%s%s", fields[2], end);
	}
	return (size_t) (at - (char *) record);
}

static bool
is_record(const tg_file_values *values, unsigned row, char fields[COLUMNS][100])
{
	bool well = true;

	for (unsigned i = 0; i < COLUMNS; i++)
		well = well && values[i].nulls[row] == (fields[i][0] == '\0') &&
			   (values[i].nulls[row] || (values[i].bytes[row].count == strlen(fields[i]) &&
										 memcmp(values[i].bytes[row].data, fields[i], strlen(fields[i])) == 0));
	return well;
}

static void
test_batches(const char *end, tg_csv_end kind, uint8_t escape)
{
	static const tg_csv_column columns[COLUMNS] = {
		{.type = TG_FILE_STRING}, {.type = TG_FILE_STRING}, {.type = TG_FILE_STRING}};
	const tg_csv_dialect dialect = {.delimiter = ';', .quote = '"', .escape = escape, .end = (uint8_t) kind};
	const tg_csv_format format = {.dialect = dialect, .null_text = "", .columns = columns, .column_count = COLUMNS};
	const tg_file_source source = {.resize = resize, .free = release, .memory_max = 1 << 24};
	uint8_t *all = malloc(LARGE * 256);
	uint8_t *block;
	char fields[COLUMNS][100];
	tg_file_values values[COLUMNS];
	tg_csv_reader *reader;
	size_t bytes = 0;
	unsigned count;
	unsigned next = 0;
	unsigned batches = 0;
	bool well = true;

	for (unsigned i = 0; i < LARGE; i++)
		bytes += print_record(i, &dialect, end, all + bytes, fields);
	block = malloc(bytes + TG_CSV_SLACK); /* no byte more, so that a reader that goes too far is seen */
	memcpy(block, all, bytes);
	memset(block + bytes, 0, TG_CSV_SLACK);
	free(all);
	tg_check(tg_csv_reader_create(&source, &format, &reader) == TG_OK);
	tg_csv_begin(reader, block, (uint32_t) bytes, 0, false);
	while (tg_csv_read(reader, values, &count) == TG_OK && count > 0)
	{
		batches++;
		for (unsigned i = 0; i < count; i++, next++)
		{
			bool is_odd = next % 11 == 3;
			uint8_t text[256];

			(void) print_record(next, &dialect, end, text, fields);
			well = well && tg_csv_records(reader)[i].is_odd == is_odd && (is_odd || is_record(values, i, fields)) &&
				   tg_csv_records(reader)[i].lines == next + (kind == TG_CSV_END_NL ? (next + 2) / 3 : 0);
		}
	}
	tg_csv_reader_free(reader);
	free(block);
	unit_ok(well && next == LARGE && batches > 3, "%u records in %u batches, ends of lines %d, escape %c", next,
			batches, (int) kind, escape);
}

static void
test_files(unsigned count)
{
	static uint8_t data[BYTES_MAX];
	uint64_t all = 0;

	for (unsigned i = 0; i < count && shown == NULL; i++)
	{
		tg_csv_dialect dialect = draw_dialect();
		size_t bytes = draw(2) == 0 ? draw_bytes(data) : draw_records(data, &dialect);
		size_t first;
		uint8_t end;

		find_records(data, bytes, &dialect, &end);
		all += record_count;
		test_cuts(data, bytes, &dialect, end);
		dialect.end = end == TG_CSV_END_UNKNOWN ? TG_CSV_END_NL : end;
		first = record_count == 0 ? 0 : draw((unsigned) record_count);
		test_block(data, &dialect, 0, record_count);
		test_block(data, &dialect, first, record_count);
		if (shown != NULL)
			fprintf(stderr, "# file %u, \"%.*s\"\n", i, (int) bytes, (const char *) data);
	}
	unit_ok(shown == NULL && all > count && whole_count > count * UINT64_C(4),
			"%u random files with %llu records, the fields of %llu: %s", count, (unsigned long long) all,
			(unsigned long long) whole_count, shown != NULL ? shown : "well");
}

TG_CSV_WIDE_TARGET static bool
is_same_by_wide(const uint8_t *data, const tg_csv_dialect *dialect, const tg_csv_masks *wanted)
{
	tg_csv_masks wide = {.quotes = 0};

	tg_csv_find_wide(data, dialect, &wide);
	return memcmp(&wide, wanted, sizeof(wide)) == 0;
}

static void
test_masks(void)
{
	const tg_csv_dialect dialect = {.delimiter = ',', .quote = '"'};
	static const uint8_t kinds[] = {',', '"', '\n', '\r', '\\', 0xff, 0, 'a'};
	bool same = true;

	for (unsigned i = 0; i < 1000; i++)
	{
		uint8_t data[TG_CSV_STRIDE];
		tg_csv_masks narrow = {.quotes = 0};
		tg_csv_masks bytewise = {.quotes = 0};

		for (unsigned j = 0; j < TG_CSV_STRIDE; j++)
			data[j] = kinds[draw(sizeof(kinds))];
		tg_csv_find_narrow(data, &dialect, &narrow);
		tg_csv_find_bytes(data, &dialect, &bytewise);
		same = same && memcmp(&narrow, &bytewise, sizeof(narrow)) == 0 &&
			   (!tg_csv_has_wide() || is_same_by_wide(data, &dialect, &bytewise));
	}
	unit_ok(same, "characters in wide registers");
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
	const char *fuzz = getenv("FUZZ");

	test_masks();
	test_files(fuzz != NULL ? (unsigned) atoi(fuzz) : FUZZ);
	test_batches("\n", TG_CSV_END_NL, '"');
	test_batches("\r\n", TG_CSV_END_CRNL, '"');
	test_batches("\r", TG_CSV_END_CR, '"');
	test_batches("\n", TG_CSV_END_NL, '\\');
	test_kernels();
	test_floats();
	test_numbers();
	test_days();
	test_texts();
	return unit_done();
}
