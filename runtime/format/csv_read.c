/*
 * csv_read.c
 *	  Rows of a file in CSV, of a block of whole records in memory.
 *
 *	bytes -> marks: places of quotes, and of delimiters and ends of lines outside of quotes
 *		  -> fields of up to TG_FILE_BATCH records
 *		  -> values, column by column
 *
 * Fields with quotes are made what they stand for in place, where they become shorter.  By then the
 * record's place and lines are known; the caller reads an odd record from the file again.
 */
#include "runtime/format/csv_read.h"

#include <string.h>

#include "runtime/format/csv_masks.h"
#include "runtime/format/csv_value.h"

#define MARKS_AT_ONCE 4096	  /* looked for; one stride more at most */
#define FIELDS_AT_ONCE 131072 /* of a batch */
#define ROWS_LEAST 16
#define PAD_MAX 256 /* characters of a value that is padded */
#define UTF8_MAX 4	/* bytes of a character */

typedef struct field
{
	uint32_t begin;
	uint32_t bytes;
	bool has_quote;
} field;

/* The values of a column. */
typedef struct column_values
{
	uint8_t *nulls;
	int64_t *words;
	tg_file_bytes *bytes;
	uint8_t *room; /* for bytes that are not in the block */
	uint32_t room_of_row;
} column_values;

struct tg_csv_reader
{
	const tg_csv_format *format;
	tg_file_memory memory;
	tg_buffer own;
	tg_buffer marks_buffer;
	tg_buffer fields_buffer;
	tg_buffer records_buffer;
	tg_buffer columns_buffer;
	tg_buffer values_buffer;
	uint32_t *marks;
	field *fields; /* by record */
	tg_csv_record *records;
	column_values *columns;
	size_t null_bytes;
	unsigned rows_max; /* of a batch */

	uint8_t *data; /* the block */
	uint32_t bytes;
	uint32_t scanned; /* so far marks have been looked for */
	bool in_quotes;	  /* there */
	bool is_escaped;
	uint32_t mark_count;
	uint32_t mark_at;
	uint32_t next;	/* the record that has not been read */
	uint64_t lines; /* before that */
	bool is_first;	/* it is the first of the file */
};

/* --- marks ------------------------------------------------------------------------------------ */

/* A stride's, in dialects without an escape of its own. */
static void
mark_stride(tg_csv_reader *reader, const uint8_t *at, unsigned bytes)
{
	tg_csv_masks masks;
	uint64_t quoted;
	uint64_t wanted;

	tg_csv_find(at, &reader->format->dialect, &masks);
	if (bytes < TG_CSV_STRIDE)
		masks.quotes &= (UINT64_C(1) << bytes) - 1;
	quoted = tg_csv_parity(masks.quotes) ^ (reader->in_quotes ? UINT64_MAX : 0);
	wanted = masks.quotes | ((masks.delimiters | masks.newlines | masks.returns) & ~quoted);
	if (bytes < TG_CSV_STRIDE)
		wanted &= (UINT64_C(1) << bytes) - 1;
	reader->in_quotes = quoted >> (TG_CSV_STRIDE - 1) != 0;
	while (wanted != 0)
	{
		reader->marks[reader->mark_count++] = reader->scanned + (uint32_t) __builtin_ctzll(wanted);
		wanted &= wanted - 1;
	}
}

static void
mark_bytes(tg_csv_reader *reader, const uint8_t *at, unsigned bytes)
{
	const tg_csv_dialect *dialect = &reader->format->dialect;

	for (unsigned i = 0; i < bytes; i++)
	{
		uint8_t c = at[i];
		bool is_quote = c == dialect->quote;

		if (reader->in_quotes && c == dialect->escape)
			reader->is_escaped = !reader->is_escaped;
		if (is_quote && !reader->is_escaped)
			reader->in_quotes = !reader->in_quotes;
		if (c != dialect->escape)
			reader->is_escaped = false;
		if (is_quote || (!reader->in_quotes && (c == dialect->delimiter || c == '\n' || c == '\r')))
			reader->marks[reader->mark_count++] = reader->scanned + i;
	}
}

/* More marks, when all have been used.  False: there are none. */
static bool
find_marks(tg_csv_reader *reader)
{
	const tg_csv_dialect *dialect = &reader->format->dialect;

	reader->mark_count = 0;
	reader->mark_at = 0;
	while (reader->scanned < reader->bytes && reader->mark_count < MARKS_AT_ONCE)
	{
		const uint8_t *at = reader->data + reader->scanned;
		uint32_t left = reader->bytes - reader->scanned;
		unsigned bytes = left < TG_CSV_STRIDE ? left : TG_CSV_STRIDE;

		if (dialect->quote == dialect->escape)
			mark_stride(reader, at, bytes);
		else
			mark_bytes(reader, at, bytes);
		reader->scanned += bytes;
	}
	return reader->mark_count > 0;
}

/* --- records ---------------------------------------------------------------------------------- */

/* The bytes of the line's end at a mark; 0: it is an end of another kind. */
static uint32_t
end_bytes(const tg_csv_reader *reader, uint32_t mark)
{
	uint8_t c = reader->data[mark];

	switch ((tg_csv_end) reader->format->dialect.end)
	{
		case TG_CSV_END_NL:
			return c == '\n';
		case TG_CSV_END_CR:
			return c == '\r';
		case TG_CSV_END_CRNL:
			return c == '\r' && mark + 1 < reader->bytes && reader->data[mark + 1] == '\n' ? 2 : 0;
		case TG_CSV_END_UNKNOWN:
			break;
	}
	return 0;
}

/* A field ends there.  False: the record has too many. */
static bool
put_field(tg_csv_reader *reader, field *fields, unsigned *count, uint32_t begin, uint32_t end, bool has_quote)
{
	if (*count == reader->format->column_count)
		return false;
	fields[*count] = (field){.begin = begin, .bytes = end - begin, .has_quote = has_quote};
	++*count;
	return true;
}

/* The lines of a record up to its line's end there, exactly as COPY counts them. */
static uint64_t
count_lines(const tg_csv_reader *reader, const tg_csv_record *record, uint32_t end, bool is_first)
{
	tg_csv_cutter cutter = {.dialect = reader->format->dialect};
	int counted = cutter.dialect.end == TG_CSV_END_NL && !is_first ? '\n' : '\r';

	if (memchr(reader->data + record->begin, counted, end - record->begin) == NULL)
		return 1;
	if (is_first)
		cutter.dialect.end = TG_CSV_END_UNKNOWN;
	(void) tg_csv_cut(&cutter, reader->data + record->begin, record->end - record->begin, true, UINT64_MAX);
	return cutter.lines;
}

/* Finds the next record and its fields. */
static void
read_record(tg_csv_reader *reader, tg_csv_record *record, field *fields)
{
	uint32_t field_begin = reader->next;
	unsigned count = 0;
	bool has_quote = false;
	bool any_quote = false;
	bool fits = true;
	uint32_t end = 0;
	uint32_t mark = reader->bytes;

	while (end == 0)
	{
		uint8_t c;

		if (reader->mark_at == reader->mark_count && !find_marks(reader))
		{
			mark = reader->bytes;
			break;
		}
		mark = reader->marks[reader->mark_at++];
		c = reader->data[mark];
		if (c == reader->format->dialect.quote)
			has_quote = any_quote = true;
		else if (c == reader->format->dialect.delimiter)
		{
			fits &= put_field(reader, fields, &count, field_begin, mark, has_quote);
			field_begin = mark + 1;
			has_quote = false;
		}
		else if (mark >= field_begin)
		{
			end = end_bytes(reader, mark);
			fits &= end > 0;
		}
	}
	fits &= put_field(reader, fields, &count, field_begin, mark, has_quote);
	*record = (tg_csv_record){.begin = reader->next, .end = mark + end, .lines = reader->lines};
	record->is_odd =
		!fits || count < reader->format->column_count || (end == 0 && reader->in_quotes) || reader->is_first;
	reader->next = record->end;
	/* the newline of a CR and NL is a mark, too */
	while (reader->mark_at < reader->mark_count && reader->marks[reader->mark_at] < record->end)
		reader->mark_at++;
	reader->lines += any_quote ? count_lines(reader, record, mark, reader->is_first) : 1;
	reader->is_first = false;
}

/* --- fields ----------------------------------------------------------------------------------- */

/* What a field with quotes stands for, in place (CopyReadAttributesCSV).  Returns the bytes. */
static uint32_t
unquote(const tg_csv_dialect *dialect, uint8_t *text, uint32_t bytes)
{
	uint32_t count = 0;
	bool in_quotes = false;

	for (uint32_t i = 0; i < bytes; i++)
	{
		uint8_t c = text[i];

		if (in_quotes && c == dialect->escape && i + 1 < bytes &&
			(text[i + 1] == dialect->escape || text[i + 1] == dialect->quote))
			text[count++] = text[++i];
		else if (c == dialect->quote)
			in_quotes = !in_quotes;
		else
			text[count++] = c;
	}
	return count;
}

static bool
take_string(const tg_csv_column *column, column_values *values, unsigned row, uint8_t *text, uint32_t bytes)
{
	uint32_t characters;
	uint8_t *room = values->room + (size_t) row * values->room_of_row;

	if (!tg_text_is_utf8(text, bytes))
		return false;
	values->bytes[row] = (tg_file_bytes){text, bytes};
	if (column->characters_max == 0 || (bytes <= column->characters_max && !column->is_padded))
		return true;
	characters = (uint32_t) tg_text_characters(text, bytes);
	if (!column->is_padded || characters >= column->characters_max)
		return characters <= column->characters_max;
	if (column->characters_max > PAD_MAX)
		return false;
	memcpy(room, text, bytes);
	memset(room + bytes, ' ', column->characters_max - characters);
	values->bytes[row] = (tg_file_bytes){room, bytes + column->characters_max - characters};
	return true;
}

static bool
take_decimal(const tg_csv_column *column, column_values *values, unsigned row, const uint8_t *text, uint32_t bytes)
{
	uint8_t *room = values->room + (size_t) row * values->room_of_row;
	unsigned __int128 value;
	__int128 number;

	if (!tg_text_decimal(text, bytes, column->precision, column->scale, &number))
		return false;
	if (values->bytes == NULL)
	{
		values->words[row] = (int64_t) number;
		return true;
	}
	value = (unsigned __int128) number;
	for (unsigned i = TG_DECIMAL_BYTES; i-- > 0; value >>= 8)
		room[i] = (uint8_t) value;
	values->bytes[row] = (tg_file_bytes){room, TG_DECIMAL_BYTES};
	return true;
}

static tg_text_offset
offset_of(const tg_csv_column *column)
{
	if (!column->utc)
		return TG_TEXT_NO_OFFSET;
	return column->has_zulu ? TG_TEXT_OFFSET_OR_Z : TG_TEXT_OFFSET;
}

/* A value of the field.  False: it is odd. */
static bool
take_value(const tg_csv_column *column, column_values *values, unsigned row, uint8_t *text, uint32_t bytes)
{
	switch ((tg_file_type) column->type)
	{
		case TG_FILE_BOOL:
			return tg_text_bool(text, bytes, &values->words[row]);
		case TG_FILE_INT:
			return tg_text_int(text, bytes, column->bits, &values->words[row]);
		case TG_FILE_FLOAT:
			return tg_text_float(text, bytes, column->bits, &values->words[row]);
		case TG_FILE_DECIMAL:
			return take_decimal(column, values, row, text, bytes);
		case TG_FILE_DATE:
			return tg_text_date(text, bytes, &values->words[row]);
		case TG_FILE_TIME:
			return tg_text_time(text, bytes, &values->words[row]);
		case TG_FILE_TIMESTAMP:
			return tg_text_timestamp(text, bytes, offset_of(column), &values->words[row]);
		case TG_FILE_STRING:
			return take_string(column, values, row, text, bytes);
		case TG_FILE_BINARY:
			values->bytes[row].data = text;
			return tg_text_bytea(text, bytes, text, &values->bytes[row].count);
		case TG_FILE_UUID:
			values->bytes[row] = (tg_file_bytes){text, TG_UUID_BYTES};
			return tg_text_uuid(text, bytes, text);
		default:
			return false;
	}
}

static bool
is_null_text(const tg_csv_reader *reader, const uint8_t *text, uint32_t bytes)
{
	return bytes == reader->null_bytes && memcmp(text, reader->format->null_text, bytes) == 0;
}

/* What does not change is in variables: a store of a byte might otherwise be one to it. */
static void
read_column(tg_csv_reader *reader, unsigned number, unsigned count)
{
	const tg_csv_column column = reader->format->columns[number];
	column_values values = reader->columns[number];
	const unsigned stride = reader->format->column_count;
	const field *field = reader->fields + number;
	const size_t null_bytes = reader->null_bytes;
	uint8_t *data = reader->data;
	tg_csv_record *record = reader->records;

	for (unsigned row = 0; row < count; row++, record++, field += stride)
	{
		uint8_t *text = data + field->begin;
		uint32_t bytes = field->bytes;
		bool null;

		if (record->is_odd)
			continue;
		null = !field->has_quote && bytes == null_bytes && is_null_text(reader, text, bytes);
		values.nulls[row] = null;
		if (null)
		{
			record->is_odd = column.force_not_null;
			continue;
		}
		if (field->has_quote)
			bytes = unquote(&reader->format->dialect, text, bytes);
		record->is_odd = (column.force_null && field->has_quote && is_null_text(reader, text, bytes)) ||
						 !take_value(&column, &values, row, text, bytes);
	}
}

/* --- batches ---------------------------------------------------------------------------------- */

void
tg_csv_begin(tg_csv_reader *reader, uint8_t *data, uint32_t bytes, uint64_t lines, bool is_first)
{
	reader->data = data;
	reader->bytes = bytes;
	reader->scanned = 0;
	reader->in_quotes = false;
	reader->is_escaped = false;
	reader->mark_count = 0;
	reader->mark_at = 0;
	reader->next = 0;
	reader->lines = lines;
	reader->is_first = is_first;
}

tg_status
tg_csv_read(tg_csv_reader *reader, tg_file_values *values, unsigned *count_out)
{
	unsigned columns = reader->format->column_count;
	unsigned count = 0;

	for (; count < reader->rows_max && reader->next < reader->bytes; count++)
		read_record(reader, &reader->records[count], reader->fields + (size_t) count * columns);
	for (unsigned i = 0; i < columns; i++)
	{
		read_column(reader, i, count);
		values[i] = (tg_file_values){
			.nulls = reader->columns[i].nulls, .words = reader->columns[i].words, .bytes = reader->columns[i].bytes};
	}
	*count_out = count;
	return TG_OK;
}

const tg_csv_record *
tg_csv_records(const tg_csv_reader *reader)
{
	return reader->records;
}

/* --- life ------------------------------------------------------------------------------------- */

static bool
has_bytes(const tg_csv_column *column)
{
	return column->type == TG_FILE_STRING || column->type == TG_FILE_BINARY || column->type == TG_FILE_UUID ||
		   (column->type == TG_FILE_DECIMAL && column->precision > 18);
}

/* Bytes that a value may need beyond those in the block. */
static uint32_t
room_of(const tg_csv_column *column)
{
	if (column->type == TG_FILE_DECIMAL && has_bytes(column))
		return TG_DECIMAL_BYTES;
	if (column->type == TG_FILE_STRING && column->is_padded && column->characters_max <= PAD_MAX)
		return column->characters_max * UTF8_MAX;
	return 0;
}

/* Each column has its part of the memory for values. */
static bool
make_columns(tg_csv_reader *reader)
{
	const tg_csv_format *format = reader->format;
	size_t rows = reader->rows_max;
	size_t each = rows * (sizeof(tg_file_bytes) + 1);
	size_t bytes = 0;
	uint8_t *at;

	for (unsigned i = 0; i < format->column_count; i++)
		bytes += each + rows * room_of(&format->columns[i]);
	if (!tg_buffer_reserve(&reader->memory, &reader->values_buffer, bytes))
		return false;
	at = reader->values_buffer.data;
	for (unsigned i = 0; i < format->column_count; i++)
	{
		column_values *column = &reader->columns[i];

		*column = (column_values){.room_of_row = room_of(&format->columns[i])};
		if (has_bytes(&format->columns[i]))
			column->bytes = (tg_file_bytes *) at;
		else
			column->words = (int64_t *) at;
		at += rows * sizeof(tg_file_bytes);
		column->nulls = at;
		at += rows;
		column->room = at;
		at += rows * column->room_of_row;
	}
	return true;
}

static bool
make_parts(tg_csv_reader *reader)
{
	unsigned columns = reader->format->column_count;
	size_t rows = reader->rows_max;

	if (!tg_buffer_reserve(&reader->memory, &reader->marks_buffer,
						   (MARKS_AT_ONCE + TG_CSV_STRIDE) * sizeof(*reader->marks)) ||
		!tg_buffer_reserve(&reader->memory, &reader->fields_buffer, rows * columns * sizeof(*reader->fields)) ||
		!tg_buffer_reserve(&reader->memory, &reader->records_buffer, rows * sizeof(*reader->records)) ||
		!tg_buffer_reserve(&reader->memory, &reader->columns_buffer, columns * sizeof(*reader->columns)))
		return false;
	reader->marks = reader->marks_buffer.data;
	reader->fields = reader->fields_buffer.data;
	reader->records = reader->records_buffer.data;
	reader->columns = reader->columns_buffer.data;
	return make_columns(reader);
}

/* Multiples of 16, so that each column's words are aligned. */
static unsigned
choose_rows(unsigned columns)
{
	unsigned rows = FIELDS_AT_ONCE / columns & ~15u;

	return rows < ROWS_LEAST ? ROWS_LEAST : rows < TG_FILE_BATCH ? rows : TG_FILE_BATCH;
}

tg_status
tg_csv_reader_create(const tg_file_source *source, const tg_csv_format *format, tg_csv_reader **reader_out)
{
	tg_file_memory memory = {.source = source};
	tg_buffer own = {.data = NULL};
	tg_csv_reader *reader;

	if (!tg_buffer_reserve(&memory, &own, sizeof(*reader)))
		return TG_NO_MEMORY;
	reader = own.data;
	*reader = (tg_csv_reader){.format = format, .memory = memory, .own = own};
	reader->null_bytes = strlen(format->null_text);
	reader->rows_max = choose_rows(format->column_count);
	if (!make_parts(reader))
	{
		tg_csv_reader_free(reader);
		return TG_NO_MEMORY;
	}
	*reader_out = reader;
	return TG_OK;
}

void
tg_csv_reader_free(tg_csv_reader *reader)
{
	tg_file_memory memory = reader->memory;
	tg_buffer own = reader->own;

	tg_buffer_free(&memory, &reader->marks_buffer);
	tg_buffer_free(&memory, &reader->fields_buffer);
	tg_buffer_free(&memory, &reader->records_buffer);
	tg_buffer_free(&memory, &reader->columns_buffer);
	tg_buffer_free(&memory, &reader->values_buffer);
	tg_buffer_free(&memory, &own);
}
