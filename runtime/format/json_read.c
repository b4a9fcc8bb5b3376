/*
 * json_read.c
 *	  Rows of a file in NDJSON, of a block of whole lines in memory.
 *
 * Most lines have the same names in the same order: a member's column is looked for first where the
 * member before would have it.
 */
#include "runtime/format/json_read.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/json_scan.h"
#include "runtime/format/text_column.h"

#define VALUES_AT_ONCE 131072 /* of a batch */

struct tg_json_reader
{
	tg_json_format format;
	tg_file_memory memory;
	tg_buffer own;
	tg_buffer parts_buffer;
	tg_buffer values_buffer;
	tg_text_values *columns;
	size_t *name_bytes;		 /* of each column */
	uint32_t *seen;			 /* of each column: the number of the last line that has it */
	tg_json_member *members; /* of a line: as many as columns */
	tg_csv_record *records;
	unsigned rows_max; /* of a batch */
	uint8_t *data;	   /* the block */
	uint32_t bytes;
	uint32_t at;
	uint32_t line;	/* number, from 1 */
	uint64_t lines; /* with objects, before the next one */
};

/* --- columns ---------------------------------------------------------------------------------- */

static bool
is_named(const tg_json_reader *reader, unsigned column, const uint8_t *name, uint32_t bytes)
{
	return reader->name_bytes[column] == bytes && memcmp(reader->format.names[column], name, bytes) == 0;
}

/* The column of that name; the number of columns: there is none. */
static unsigned
column_named(const tg_json_reader *reader, unsigned expected, const uint8_t *name, uint32_t bytes)
{
	unsigned count = reader->format.column_count;
	unsigned column = 0;

	if (expected < count && is_named(reader, expected, name, bytes))
		return expected;
	while (column < count && !is_named(reader, column, name, bytes))
		column++;
	return column;
}

static bool
take_member(tg_json_reader *reader, unsigned column, unsigned row, uint8_t *line, const tg_json_member *member)
{
	const tg_csv_column *target = &reader->format.columns[column];
	tg_text_values *values = &reader->columns[column];
	uint8_t *text = line + member->begin;
	uint32_t bytes = member->bytes;

	values->nulls[row] = member->kind == TG_JSON_NULL;
	if (member->kind == TG_JSON_NULL)
		return !target->force_not_null;
	if (member->kind == TG_JSON_STRING && target->type != TG_FILE_JSON)
	{
		text++;
		bytes -= 2;
		if (member->has_escapes)
			bytes = tg_json_unescape(text, bytes);
	}
	return tg_text_take(target, values, row, text, bytes);
}

/* Columns that the line does not have. */
static bool
take_absent(tg_json_reader *reader, unsigned row)
{
	for (unsigned i = 0; i < reader->format.column_count; i++)
		if (reader->seen[i] != reader->line)
		{
			reader->columns[i].nulls[row] = true;
			if (reader->format.columns[i].force_not_null)
				return false;
		}
	return true;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* False: the record is odd. */
static bool
take_line(tg_json_reader *reader, unsigned row, uint8_t *line, uint32_t bytes)
{
	unsigned columns = reader->format.column_count;
	int count = tg_json_scan(line, bytes, reader->members, columns);
	unsigned next = 0;

	reader->line++;
	for (int i = 0; i < count; i++)
	{
		const tg_json_member *member = &reader->members[i];
		unsigned column = column_named(reader, next, line + member->name, member->name_bytes);

		if (column == columns || reader->seen[column] == reader->line)
			return false;
		reader->seen[column] = reader->line;
		next = column + 1;
		if (!take_member(reader, column, row, line, member))
			return false;
	}
	return count == (int) columns || (count >= 0 && take_absent(reader, row));
}

/* Passes over a line; *end_out: where it ends, without what ends it. */
static void
pass_line(tg_json_reader *reader, uint32_t *end_out)
{
	uint32_t begin = reader->at;
	const uint8_t *found = memchr(reader->data + begin, '\n', reader->bytes - begin);
	uint32_t end = found != NULL ? (uint32_t) (found - reader->data) : reader->bytes;

	reader->at = found != NULL ? end + 1 : end;
	*end_out = end > begin && reader->data[end - 1] == '\r' ? end - 1 : end;
}

void
tg_json_begin(tg_json_reader *reader, uint8_t *data, uint32_t bytes, uint64_t lines)
{
	reader->data = data;
	reader->bytes = bytes;
	reader->at = 0;
	reader->line = 0;
	reader->lines = lines;
	memset(reader->seen, 0, reader->format.column_count * sizeof(*reader->seen));
}

unsigned
tg_json_read(tg_json_reader *reader, tg_file_values *values)
{
	unsigned count = 0;

	while (count < reader->rows_max && reader->at < reader->bytes)
	{
		uint32_t begin = reader->at;
		uint8_t *line = reader->data + begin;
		uint32_t end;

		pass_line(reader, &end);
		if (tg_json_is_blank(line, end - begin))
			continue;
		reader->records[count] = (tg_csv_record){.begin = begin, .end = end, .lines = reader->lines++};
		reader->records[count].is_odd = !take_line(reader, count, line, end - begin);
		count++;
	}
	for (unsigned i = 0; i < reader->format.column_count; i++)
		values[i] = (tg_file_values){
			.nulls = reader->columns[i].nulls, .words = reader->columns[i].words, .bytes = reader->columns[i].bytes};
	return count;
}

const tg_csv_record *
tg_json_records(const tg_json_reader *reader)
{
	return reader->records;
}

/* --- life ------------------------------------------------------------------------------------- */

/* What has one for each column, and for each row, in the order of alignment. */
static bool
make_parts(tg_json_reader *reader)
{
	unsigned columns = reader->format.column_count;
	size_t rows = reader->rows_max;
	uint8_t *at;

	if (!tg_buffer_reserve(&reader->memory, &reader->parts_buffer,
						   columns * (sizeof(*reader->columns) + sizeof(*reader->name_bytes) +
									  sizeof(*reader->members) + sizeof(*reader->seen)) +
							   rows * sizeof(*reader->records)) ||
		!tg_buffer_reserve(&reader->memory, &reader->values_buffer,
						   tg_text_values_bytes(reader->format.columns, columns, rows)))
		return false;
	at = reader->parts_buffer.data;
	reader->records = (tg_csv_record *) at;
	at += rows * sizeof(*reader->records);
	reader->columns = (tg_text_values *) at;
	at += columns * sizeof(*reader->columns);
	reader->name_bytes = (size_t *) at;
	at += columns * sizeof(*reader->name_bytes);
	reader->members = (tg_json_member *) at;
	at += columns * sizeof(*reader->members);
	reader->seen = (uint32_t *) at;
	tg_text_values_place(reader->format.columns, columns, rows, reader->values_buffer.data, reader->columns);
	for (unsigned i = 0; i < columns; i++)
		reader->name_bytes[i] = strlen(reader->format.names[i]);
	return true;
}

/* A multiple of 16, so that each column's words are aligned. */
static unsigned
choose_rows(unsigned columns)
{
	unsigned rows = VALUES_AT_ONCE / columns & ~15u;

	tg_assert(columns > 0 && columns <= TG_FILE_COLUMNS_MAX);
	return rows < TG_FILE_BATCH ? rows : TG_FILE_BATCH;
}

tg_status
tg_json_reader_create(const tg_file_source *source, const tg_json_format *format, tg_json_reader **reader_out)
{
	tg_file_memory memory = {.source = source};
	tg_buffer own = {.data = NULL};
	tg_json_reader *reader;

	if (!tg_buffer_reserve(&memory, &own, sizeof(*reader)))
		return TG_NO_MEMORY;
	reader = own.data;
	*reader = (tg_json_reader){.format = *format, .memory = memory, .own = own};
	reader->rows_max = choose_rows(format->column_count);
	if (!make_parts(reader))
	{
		tg_json_reader_free(reader);
		return TG_NO_MEMORY;
	}
	*reader_out = reader;
	return TG_OK;
}

void
tg_json_reader_free(tg_json_reader *reader)
{
	tg_file_memory memory = reader->memory;
	tg_buffer own = reader->own;

	tg_buffer_free(&memory, &reader->parts_buffer);
	tg_buffer_free(&memory, &reader->values_buffer);
	tg_buffer_free(&memory, &own);
}
