/*
 * operations_rows_read.c
 *	  Several rows as one operation, cell by cell: how they are read.
 *
 * All lengths are looked at when the operation is opened, so that rows are then taken one by one
 * without an end to look for.  What values a number or a string has is looked at with its row.
 */
#include "runtime/durable/operations_internal.h"

#include "runtime/order/kind.h"
#include "runtime/table/limits.h"

/* --- opening --------------------------------------------------------------------------------- */

static uint64_t
number_of(const unsigned char *at, unsigned width)
{
	uint64_t number = 0;

	memcpy(&number, at, width);
	return number;
}

static bool
is_null_at(const unsigned char *nulls, unsigned at)
{
	return nulls != NULL && (nulls[at / 8] >> at % 8 & 1) != 0;
}

/* The distances stay to be read; they are passed over. */
static void
open_ids(tg_operations *operations)
{
	tg_rows_reading *rows = &operations->rows;
	tg_reader *reader = &operations->reader;

	rows->left = (unsigned) tg_reader_number_below(reader, TG_OPERATION_ROWS_MAX + 1);
	rows->at = 0;
	rows->row = (uint32_t) tg_reader_number_below(reader, TG_ROW_MAX);
	rows->has_distances = tg_reader_number_below(reader, 2) != 0;
	rows->distances = *reader;
	for (unsigned i = 1; i < rows->left && rows->has_distances; i++)
		(void) tg_reader_signed(reader);
	if (rows->left == 0)
		tg_reader_fail(reader);
}

/* How many rows are not NULL in a cell; its bitmap is then known. */
static unsigned
open_nulls(tg_operations *operations, tg_rows_cell *cell)
{
	unsigned count = operations->rows.left;
	unsigned values = 0;

	*cell = (tg_rows_cell){.nulls = NULL};
	switch (tg_reader_number_below(&operations->reader, TG_NULLS_SOME + 1))
	{
		case TG_NULLS_NONE:
			return count;
		case TG_NULLS_ALL:
			return 0;
		default:
			cell->nulls = tg_reader_take(&operations->reader, TG_ROWS_BITMAP_BYTES(count));
			for (unsigned i = 0; i < count && cell->nulls != NULL; i++)
				values += !is_null_at(cell->nulls, i);
			return values;
	}
}

/* Values of one width each. */
static void
open_fixed(tg_reader *reader, tg_rows_cell *cell, unsigned count)
{
	cell->width = (unsigned) tg_reader_number_below(reader, sizeof(uint64_t) + 1);
	cell->values = tg_reader_take(reader, (uint64_t) count * cell->width);
}

static void
open_strings(tg_reader *reader, tg_rows_cell *cell, unsigned count)
{
	uint64_t all = 0;

	open_fixed(reader, cell, count);
	for (unsigned i = 0; i < count && cell->values != NULL; i++)
	{
		uint64_t bytes = number_of(cell->values + i * cell->width, cell->width) >> FORM_BITS;

		if (bytes > TG_STRING_LENGTH)
			tg_reader_fail(reader);
		all += bytes; /* cannot overflow: both factors are small */
	}
	cell->bytes = tg_reader_take(reader, all);
}

static void
open_cell(tg_operations *operations, tg_kind kind, tg_rows_cell *cell)
{
	tg_reader *reader = &operations->reader;
	unsigned count = open_nulls(operations, cell);

	if (count == 0 || reader->damaged)
		return;
	switch (kind)
	{
		case TG_KIND_STRING:
			open_strings(reader, cell, count);
			break;
		case TG_KIND_16:
			cell->values = tg_reader_take(reader, (uint64_t) count * sizeof(tg_value));
			break;
		default:
			cell->least = tg_reader_signed(reader);
			open_fixed(reader, cell, count);
			break;
	}
}

void
tg_rows_open(tg_operations *operations)
{
	open_ids(operations);
	for (unsigned cell = 0; cell < operations->shape.cell_count && !operations->reader.damaged; cell++)
		open_cell(operations, (tg_kind) operations->shape.kinds[cell], &operations->rows.cells[cell]);
	if (operations->reader.damaged)
		operations->rows.left = 0;
}

/* --- rows ------------------------------------------------------------------------------------ */

static void
next_string(tg_operations *operations, tg_rows_cell *cell, tg_string *string)
{
	uint64_t number = number_of(cell->values, cell->width);

	if (!tg_stored_make(string, number, cell->bytes))
		tg_reader_fail(&operations->reader);
	cell->values += cell->width;
	cell->bytes += number >> FORM_BITS;
}

/* A number as a column of so many bits has it. */
static void
next_word(tg_operations *operations, tg_rows_cell *cell, unsigned bits, tg_value *value)
{
	int64_t number = (int64_t) ((uint64_t) cell->least + number_of(cell->values, cell->width));

	if (bits < 64 && (number < -((int64_t) 1 << (bits - 1)) || number >= (int64_t) 1 << (bits - 1)))
		tg_reader_fail(&operations->reader);
	value->word = (uint64_t) number;
	cell->values += cell->width;
}

static void
next_value(tg_operations *operations, tg_kind kind, tg_rows_cell *cell, tg_value *value)
{
	switch (kind)
	{
		case TG_KIND_STRING:
			next_string(operations, cell, &value->string);
			break;
		case TG_KIND_16:
			memcpy(value->bytes, cell->values, sizeof(value->bytes));
			cell->values += sizeof(value->bytes);
			break;
		default:
			next_word(operations, cell, 8u << kind, value);
			break;
	}
}

uint32_t
tg_rows_next(tg_operations *operations)
{
	tg_rows_reading *rows = &operations->rows;
	uint32_t row = rows->row;

	for (unsigned i = 0; i < operations->shape.cell_count; i++)
	{
		tg_rows_cell *cell = &rows->cells[i];

		operations->nulls[i] = cell->values == NULL || is_null_at(cell->nulls, rows->at);
		if (!operations->nulls[i])
			next_value(operations, (tg_kind) operations->shape.kinds[i], cell, &operations->values[i]);
	}
	rows->at++;
	if (--rows->left > 0)
	{
		uint64_t next = row + (rows->has_distances ? (uint64_t) tg_reader_signed(&rows->distances) : 1);

		if (next >= TG_ROW_MAX)
			tg_reader_fail(&operations->reader);
		rows->row = (uint32_t) next;
	}
	return row;
}
