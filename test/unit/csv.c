/*
 * csv.c
 *	  Files in CSV and in COPY's text format: random bytes of few kinds, in which quotes, escapes
 *	  and ends of lines meet, in all dialects, cut at every byte, beside a plain translation of
 *	  COPY's rules.  FUZZ: how many.
 */
#include "runtime/format/csv_read.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/csv_masks.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"

#define BYTES_MAX 500
#define COLUMNS 3
#define FUZZ 1500
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
	bool is_open;	/* a quote is, at its end, or a backslash that ends the file */
	size_t end_bytes;
} record;

static record records[BYTES_MAX + 1];
static size_t record_count;
static bool is_unfit;		 /* the file: of text format, where `\.` is not a line */
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

/*
 * In text format a backslash takes the byte behind it into the field.  Returns whether the byte i
 * is so, or is a backslash; `\.` makes the file unfit.
 */
static bool
is_taken(const uint8_t *data, size_t i, bool *escaped)
{
	bool taken = *escaped || data[i] == '\\';

	is_unfit |= *escaped && data[i] == '.';
	*escaped = !*escaped && data[i] == '\\';
	return taken;
}

static void
find_records(const uint8_t *data, size_t bytes, const tg_csv_dialect *dialect, uint8_t *end_out)
{
	uint8_t escape = dialect->escape == dialect->quote ? 0 : dialect->escape;
	uint64_t lines = 0;
	size_t i = 0;

	record_count = 0;
	is_unfit = false;
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
			if (dialect->is_text && is_taken(data, i, &escaped))
				continue;
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
		record->end_bytes = end;
		record->is_open = in_quotes || (dialect->is_text && end == 0 && data[i - 1] == '\\');
	}
	content_bytes = i;
}

/* What a backslash and the byte behind it stand for; '0': the code of a byte, which is left. */
static uint8_t
meant(uint8_t c)
{
	static const char named[] = "bfnrtv";
	const char *found = memchr(named, c, sizeof(named) - 1);

	return found != NULL ? (uint8_t) "\b\f\n\r\t\v"[found - named] : (c >= '0' && c <= '7') || c == 'x' ? '0' : c;
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

	end -= record->end_bytes;
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
		else if (dialect->is_text && c == '\\')
		{
			if (i + 1 == end || meant(data[++i]) == '0')
				return 0;
			texts[count][lengths[count]++] = meant(data[i]);
			quoted[count] = true;
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
	if (draw(3) == 0)
	{
		dialect.is_text = true;
		dialect.quote = dialect.escape = '\\';
	}
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

/* A field in text format, with backslashes: also in rows of them, and where none is needed. */
static void
put_escaped(uint8_t *data, size_t *bytes, const tg_csv_dialect *dialect)
{
	static const uint8_t special[] = "\\\n\r,;", others[] = "nrtvbfaz\\\\";

	for (unsigned left = 1 + draw(draw(10) == 0 ? 70 : 5); left > 0; left--)
	{
		put(data, bytes, '\\');
		put(data, bytes, draw(2) == 0 ? special[draw(sizeof(special) - 1)] : others[draw(sizeof(others) - 1)]);
		if (draw(40) == 0)
			put(data, bytes, '7');
		if (draw(3) == 0)
			put(data, bytes, 'a');
	}
	if (draw(60) == 0)
	{
		put(data, bytes, '\\');
		put(data, bytes, draw(2) == 0 ? 'x' : '7');
	}
}

/* Mostly as a program writes it. */
static void
put_field(uint8_t *data, size_t *bytes, const tg_csv_dialect *dialect)
{
	static const uint8_t inner[] = "ab\n\r,;\"'\\^.";
	bool quoted = draw(3) == 0;

	if (quoted && dialect->is_text)
	{
		put_escaped(data, bytes, dialect);
		return;
	}
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
		check(!cutter.is_unfit, "that the file is fit");
		check(cutter.rows == i, "how many records are before it");
		check(i == record_count || cutter.lines == records[i].lines, "how many lines are before it");
		check(i == 0 || stop < bytes || cutter.dialect.end == end, "how lines end");
	}
}

/* The cutter finds out that an end mark is where it should not be. */
static void
test_unfit(const uint8_t *data, size_t bytes, const tg_csv_dialect *dialect)
{
	tg_csv_cutter cutter = {.dialect = *dialect};

	cut(&cutter, data, bytes, UINT64_MAX, draw(2) == 0);
	check(cutter.is_unfit, "that the file is unfit");
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
		size_t bytes = draw(dialect.is_text ? 4 : 2) == 0 ? draw_bytes(data) : draw_records(data, &dialect);
		size_t first;
		uint8_t end;

		find_records(data, bytes, &dialect, &end);
		all += record_count;
		if (is_unfit)
		{
			test_unfit(data, bytes, &dialect);
			continue;
		}
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
	return unit_done();
}
