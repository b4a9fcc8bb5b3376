/*
 * csv_read.c
 *	  Rows of a file in CSV, of a block of whole records in memory.
 *
 *	bytes -> marks: where the fields of up to TG_FILE_BATCH records end (csv_split.h)
 *		  -> values, column by column
 *
 * For each kind of column there is a loop, whose kernel takes the usual texts (csv_kernel.h).  The
 * few others, and fields with quotes, are read one by one.  So are all numbers and dates where the
 * quote is a character of theirs: their kernels do not know it.
 *
 * Fields with quotes are made what they stand for in place, where they become shorter.  By then the
 * record's place and lines are known; the caller reads an odd record from the file again.
 */
#include "runtime/format/csv_read.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/csv_kernel.h"
#include "runtime/format/csv_split.h"
#include "runtime/format/csv_value.h"
#include "runtime/format/text_column.h"

#define FIELDS_AT_ONCE 131072 /* of a batch */
#define SLICE 128			  /* rows of it whose columns are read one after the other: the cache holds them */
#define SCALE_MAX 7			  /* of a decimal that its kernel takes, */
#define PRECISION_MAX 18	  /* which is a word */
#define DATE_BYTES 10

/* Of which each loop has its own. */
#define INLINE static inline __attribute__((always_inline))

struct tg_csv_reader
{
	const tg_csv_format *format;
	tg_file_memory memory;
	tg_buffer own;
	tg_buffer marks_buffer;
	tg_buffer records_buffer;
	tg_buffer flags_buffer;
	tg_buffer columns_buffer;
	tg_buffer values_buffer;
	tg_csv_splitter splitter;
	tg_text_values *columns;
	size_t null_bytes;
	unsigned rows_max; /* of a batch */
	uint8_t *data;	   /* the block */
};

/* --- fields, one by one ----------------------------------------------------------------------- */

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

/*
 * The same of one in text format (CopyReadAttributesText).  False: it has a backslash with the code
 * of a byte, which may be any, or at its end.
 */
static bool
unescape(uint8_t *text, uint32_t bytes, uint32_t *bytes_out)
{
	static const uint8_t meant[UINT8_MAX + 1] = {
		['b'] = '\b', ['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t', ['v'] = '\v'};
	uint32_t count = 0;

	for (uint32_t i = 0; i < bytes; i++)
	{
		uint8_t c = text[i];

		if (c == '\\')
		{
			c = ++i < bytes ? text[i] : '0';
			if ((c >= '0' && c <= '7') || c == 'x')
				return false;
			c = meant[c] != 0 ? meant[c] : c;
		}
		text[count++] = c;
	}
	*bytes_out = count;
	return true;
}

static bool
is_null_text(const tg_csv_reader *reader, const uint8_t *text, size_t bytes)
{
	return bytes == reader->null_bytes && memcmp(text, reader->format->null_text, bytes) == 0;
}

/* Any field of a record that is not odd, but a NULL. */
static __attribute__((noinline)) void
take_field(tg_csv_reader *reader, unsigned number, unsigned row, uint8_t *text, uint32_t bytes)
{
	const tg_csv_dialect *dialect = &reader->format->dialect;
	const tg_csv_column *column = &reader->format->columns[number];
	uint8_t *flags = &reader->splitter.flags[row];
	bool has_quote = (*flags & TG_CSV_QUOTES) != 0 && memchr(text, dialect->quote, bytes) != NULL;

	/* COPY looks at the bytes that are written, before a quote between them is taken out */
	if (has_quote && (((*flags & TG_CSV_WIDE) != 0 && !tg_text_is_utf8(text, bytes)) ||
					  (dialect->is_text && !unescape(text, bytes, &bytes))))
	{
		*flags |= TG_CSV_ODD;
		return;
	}
	if (has_quote && !dialect->is_text)
		bytes = unquote(dialect, text, bytes);
	if ((has_quote && column->force_null && is_null_text(reader, text, bytes)) ||
		!tg_text_take(column, &reader->columns[number], row, text, bytes))
		*flags |= TG_CSV_ODD;
}

/* --- columns ---------------------------------------------------------------------------------- */

/* What a kernel needs beside the text. */
typedef struct kernel_facts
{
	unsigned bits;
	unsigned scale;
	uint64_t more;
	uint64_t limit;
} kernel_facts;

/* Of a record with such flags: the value, if the kernel takes the text. */
typedef bool kernel(const kernel_facts *facts, uint8_t *text, uint32_t bytes, uint8_t flags, tg_text_values *values,
					unsigned row);

/* What does not change is in variables: a store of a byte might otherwise be one to it. */
INLINE void
read_column(tg_csv_reader *reader, unsigned number, unsigned from, unsigned count, const kernel_facts *facts,
			kernel *take)
{
	const bool refuses_null = reader->format->columns[number].force_not_null;
	tg_text_values values = reader->columns[number];
	const kernel_facts known = *facts;
	const unsigned stride = reader->format->column_count;
	const uint32_t *marks = reader->splitter.marks + number + (size_t) from * stride;
	const uint32_t gap = number == 0 && reader->format->dialect.end == TG_CSV_END_CRNL ? 2 : 1;
	const size_t null_bytes = reader->null_bytes;
	uint8_t *flags = reader->splitter.flags;
	uint8_t *data = reader->data;

	for (unsigned row = from; row < count; row++, marks += stride)
	{
		uint32_t begin = marks[-1] + gap;
		uint8_t *text = data + begin;
		uint32_t bytes = marks[0] - begin;

		if ((flags[row] & TG_CSV_ODD) != 0)
			continue;
		values.nulls[row] = bytes == null_bytes && is_null_text(reader, text, bytes);
		if (values.nulls[row])
			flags[row] |= refuses_null ? TG_CSV_ODD : 0;
		else if (!take(&known, text, bytes, flags[row], &values, row))
			take_field(reader, number, row, text, bytes);
	}
}

INLINE bool
kernel_int(const kernel_facts *facts, uint8_t *text, uint32_t bytes, uint8_t flags, tg_text_values *values,
		   unsigned row)
{
	return tg_kernel_int(text, bytes, facts->bits, &values->words[row]);
}

INLINE bool
kernel_decimal(const kernel_facts *facts, uint8_t *text, uint32_t bytes, uint8_t flags, tg_text_values *values,
			   unsigned row)
{
	return tg_kernel_decimal(text, bytes, facts->scale, facts->more, facts->limit, &values->words[row]);
}

INLINE bool
kernel_date(const kernel_facts *facts, uint8_t *text, uint32_t bytes, uint8_t flags, tg_text_values *values,
			unsigned row)
{
	return bytes == DATE_BYTES && tg_kernel_date(text, &values->words[row]);
}

/* limit: bytes, of which each is a character. */
INLINE bool
kernel_text(const kernel_facts *facts, uint8_t *text, uint32_t bytes, uint8_t flags, tg_text_values *values,
			unsigned row)
{
	values->bytes[row] = (tg_file_bytes){text, bytes};
	return (flags & (TG_CSV_QUOTES | TG_CSV_WIDE)) == 0 && bytes <= facts->limit;
}

INLINE bool
kernel_padded(const kernel_facts *facts, uint8_t *text, uint32_t bytes, uint8_t flags, tg_text_values *values,
			  unsigned row)
{
	uint8_t *room = values->room + (size_t) row * values->room_of_row;

	if ((flags & (TG_CSV_QUOTES | TG_CSV_WIDE)) != 0 || bytes > facts->limit)
		return false;
	memcpy(room, text, bytes);
	memset(room + bytes, ' ', facts->limit - bytes);
	values->bytes[row] = (tg_file_bytes){room, facts->limit};
	return true;
}

INLINE bool
kernel_none(const kernel_facts *facts, uint8_t *text, uint32_t bytes, uint8_t flags, tg_text_values *values,
			unsigned row)
{
	return false;
}

static void
read_ints(tg_csv_reader *reader, unsigned number, unsigned from, unsigned count)
{
	const kernel_facts facts = {.bits = reader->format->columns[number].bits};

	read_column(reader, number, from, count, &facts, kernel_int);
}

static uint64_t
power_of_ten(int32_t power)
{
	uint64_t value = 1;

	while (power-- > 0)
		value *= 10;
	return value;
}

static void
read_decimals(tg_csv_reader *reader, unsigned number, unsigned from, unsigned count)
{
	const tg_csv_column *column = &reader->format->columns[number];
	const kernel_facts facts = {.scale = (unsigned) column->scale,
								.more = power_of_ten(column->scale),
								.limit = power_of_ten(column->precision)};

	read_column(reader, number, from, count, &facts, kernel_decimal);
}

static void
read_dates(tg_csv_reader *reader, unsigned number, unsigned from, unsigned count)
{
	read_column(reader, number, from, count, &(kernel_facts){.bits = 0}, kernel_date);
}

static void
read_texts(tg_csv_reader *reader, unsigned number, unsigned from, unsigned count)
{
	const tg_csv_column *column = &reader->format->columns[number];
	const kernel_facts facts = {.limit = column->characters_max == 0 ? UINT32_MAX : column->characters_max};

	if (column->is_padded)
		read_column(reader, number, from, count, &facts, kernel_padded);
	else
		read_column(reader, number, from, count, &facts, kernel_text);
}

static void
read_others(tg_csv_reader *reader, unsigned number, unsigned from, unsigned count)
{
	read_column(reader, number, from, count, &(kernel_facts){.bits = 0}, kernel_none);
}

/* Whether a kernel of numbers or dates takes the quote. */
static bool
has_quote_of_numbers(const tg_csv_dialect *dialect)
{
	return dialect->quote != 0 && strchr("0123456789-.", dialect->quote) != NULL;
}

static void
read_any(tg_csv_reader *reader, unsigned number, unsigned from, unsigned count)
{
	const tg_csv_column *column = &reader->format->columns[number];

	if (column->type != TG_FILE_STRING && has_quote_of_numbers(&reader->format->dialect))
		read_others(reader, number, from, count);
	else if (column->type == TG_FILE_INT)
		read_ints(reader, number, from, count);
	else if (column->type == TG_FILE_DECIMAL && column->precision <= PRECISION_MAX && column->scale >= 0 &&
			 column->scale <= SCALE_MAX)
		read_decimals(reader, number, from, count);
	else if (column->type == TG_FILE_DATE)
		read_dates(reader, number, from, count);
	else if (column->type == TG_FILE_STRING && (!column->is_padded || column->characters_max <= TG_TEXT_PAD_MAX))
		read_texts(reader, number, from, count);
	else
		read_others(reader, number, from, count);
}

/* --- batches ---------------------------------------------------------------------------------- */

void
tg_csv_begin(tg_csv_reader *reader, uint8_t *data, uint32_t bytes, uint64_t lines, bool is_first)
{
	reader->data = data;
	tg_csv_split_begin(&reader->splitter, data, bytes, lines, is_first);
}

tg_status
tg_csv_read(tg_csv_reader *reader, tg_file_values *values, unsigned *count_out)
{
	tg_csv_splitter *splitter = &reader->splitter;
	unsigned columns = reader->format->column_count;

	tg_csv_split(splitter, reader->rows_max - TG_CSV_RECORDS_MORE);
	for (unsigned from = 0; from < splitter->count; from += SLICE)
		for (unsigned i = 0; i < columns; i++)
			read_any(reader, i, from, from + SLICE < splitter->count ? from + SLICE : splitter->count);
	for (unsigned i = 0; i < columns; i++)
	{
		values[i] = (tg_file_values){
			.nulls = reader->columns[i].nulls, .words = reader->columns[i].words, .bytes = reader->columns[i].bytes};
	}
	for (uint32_t i = 0; i < splitter->count; i++)
		splitter->records[i].is_odd = (splitter->flags[i] & TG_CSV_ODD) != 0;
	*count_out = splitter->count;
	return TG_OK;
}

const tg_csv_record *
tg_csv_records(const tg_csv_reader *reader)
{
	return reader->splitter.records;
}

/* --- life ------------------------------------------------------------------------------------- */

static bool
make_columns(tg_csv_reader *reader)
{
	const tg_csv_format *format = reader->format;

	if (!tg_buffer_reserve(&reader->memory, &reader->values_buffer,
						   tg_text_values_bytes(format->columns, format->column_count, reader->rows_max)))
		return false;
	tg_text_values_place(format->columns, format->column_count, reader->rows_max, reader->values_buffer.data,
						 reader->columns);
	return true;
}

static bool
make_parts(tg_csv_reader *reader)
{
	unsigned columns = reader->format->column_count;
	size_t rows = reader->rows_max;
	tg_csv_splitter *splitter = &reader->splitter;
	size_t marks = (rows + 1) * columns + TG_CSV_MARKS_MORE;

	if (!tg_buffer_reserve(&reader->memory, &reader->marks_buffer, marks * sizeof(*splitter->marks)) ||
		!tg_buffer_reserve(&reader->memory, &reader->records_buffer, rows * sizeof(*splitter->records)) ||
		!tg_buffer_reserve(&reader->memory, &reader->flags_buffer, rows) ||
		!tg_buffer_reserve(&reader->memory, &reader->columns_buffer, columns * sizeof(*reader->columns)))
		return false;
	*splitter = (tg_csv_splitter){.dialect = reader->format->dialect,
								  .column_count = columns,
								  .marks = (uint32_t *) reader->marks_buffer.data + 1,
								  .records = reader->records_buffer.data,
								  .flags = reader->flags_buffer.data};
	reader->columns = reader->columns_buffer.data;
	return make_columns(reader);
}

/* Multiples of 16, so that each column's words are aligned; more than the splitter may add. */
static unsigned
choose_rows(unsigned columns)
{
	unsigned rows = FIELDS_AT_ONCE / columns & ~15u;

	tg_assert(columns > 0 && rows > TG_CSV_RECORDS_MORE);
	return rows < TG_FILE_BATCH ? rows : TG_FILE_BATCH;
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
	tg_buffer_free(&memory, &reader->records_buffer);
	tg_buffer_free(&memory, &reader->flags_buffer);
	tg_buffer_free(&memory, &reader->columns_buffer);
	tg_buffer_free(&memory, &reader->values_buffer);
	tg_buffer_free(&memory, &own);
}
