/*
 * operations_read.c
 *	  Operations on rows, as they are read from a record.
 *
 * 1. Whatever the bytes are, reading ends: each operation takes one byte at least, and has at most
 *	  TG_OPERATION_ROWS_MAX rows.  A length is compared with the bytes that are left before it is
 *	  used, a cell's number with the number of cells.
 * 2. What is read is only as true as the record: the caller checks that rows and storages fit.
 */
#include "runtime/order/kind.h"
#include "runtime/table/table.h"
#include "runtime/durable/operations_internal.h"

void
tg_operations_open(tg_operations *operations, const void *data, size_t count, tg_shape_find find, void *context)
{
	operations->reader = tg_reader_make(data, count);
	operations->find = find;
	operations->context = context;
	operations->storage = 0;
	operations->shape = (tg_shape){0};
	operations->column_count = 0;
	operations->index_count = 0;
	operations->rows.left = 0;
}

static void
read_table(tg_operations *operations)
{
	tg_reader *reader = &operations->reader;
	bool found;

	operations->storage = tg_reader_number(reader);
	operations->column_count = (unsigned) tg_reader_number_below(reader, TG_COLUMN_MAX + 1);
	operations->index_count = (unsigned) tg_reader_number_below(reader, TG_HIDING_MAX + 1);
	for (unsigned i = 0; i < operations->index_count; i++)
		operations->indexes[i] = tg_reader_number(reader);
	found = !reader->damaged && operations->find(operations->context, operations->storage, operations->column_count,
												 operations->indexes, operations->index_count, &operations->shape);
	if (!found || operations->shape.cell_count > TG_CELLS_MAX)
	{
		operations->shape = (tg_shape){0};
		tg_reader_fail(reader);
	}
}

static void
read_string(tg_reader *reader, tg_string *string)
{
	uint64_t number = tg_reader_number(reader);
	const unsigned char *data = tg_reader_take(reader, number >> FORM_BITS);

	if (data != NULL && !tg_stored_make(string, number, data))
		tg_reader_fail(reader);
}

/* A number as a column of so many bytes has it. */
static void
read_word(tg_reader *reader, unsigned bits, tg_value *value)
{
	int64_t number = tg_reader_signed(reader);

	if (bits < 64 && (number < -((int64_t) 1 << (bits - 1)) || number >= (int64_t) 1 << (bits - 1)))
		tg_reader_fail(reader);
	value->word = (uint64_t) number;
}

static void
read_value(tg_reader *reader, tg_kind kind, tg_value *value)
{
	const unsigned char *data;

	switch (kind)
	{
		case TG_KIND_STRING:
			read_string(reader, &value->string);
			break;
		case TG_KIND_16:
			data = tg_reader_take(reader, sizeof(value->bytes));
			if (data != NULL)
				memcpy(value->bytes, data, sizeof(value->bytes));
			break;
		default:
			read_word(reader, 8u << kind, value);
			break;
	}
}

static void
read_cells(tg_operations *operations, bool has_nulls)
{
	unsigned count = operations->shape.cell_count;
	const unsigned char *nulls = has_nulls ? tg_reader_take(&operations->reader, (count + 7) / 8) : NULL;

	for (unsigned cell = 0; cell < count && !operations->reader.damaged; cell++)
	{
		operations->nulls[cell] = nulls != NULL && (nulls[cell / 8] >> cell % 8 & 1) != 0;
		if (!operations->nulls[cell])
			read_value(&operations->reader, (tg_kind) operations->shape.kinds[cell], &operations->values[cell]);
	}
}

/* Ends: each step leads to a later cell. */
static void
read_update(tg_operations *operations, tg_row_operation *operation)
{
	tg_reader *reader = &operations->reader;
	uint64_t behind = 0;

	for (;;)
	{
		uint64_t step = tg_reader_number(reader);
		uint64_t cell = behind + (step >> 1) - 1;

		if (reader->damaged || step == UPDATE_END)
			return;
		if (step >> 1 == 0 || step >> 1 > operations->shape.cell_count - behind)
		{
			tg_reader_fail(reader);
			return;
		}
		operations->changed[operation->changed_count++] = (uint16_t) cell;
		operations->nulls[cell] = (step & 1) != 0;
		if (!operations->nulls[cell])
			read_value(reader, (tg_kind) operations->shape.kinds[cell], &operations->values[cell]);
		behind = cell + 1;
	}
}

static tg_status
next_of_rows(tg_operations *operations, tg_row_operation *operation_out)
{
	*operation_out = (tg_row_operation){.kind = TG_OPERATION_INSERT, .row = tg_rows_next(operations)};
	return operations->reader.damaged ? TG_DAMAGED : TG_OK;
}

tg_status
tg_operations_next(tg_operations *operations, tg_row_operation *operation_out)
{
	tg_reader *reader = &operations->reader;
	unsigned char kind = 0;

	if (operations->rows.left > 0)
		return next_of_rows(operations, operation_out);
	while (!tg_reader_is_at_end(reader) && (kind = tg_reader_byte(reader)) == TG_OPERATION_TABLE)
		read_table(operations);
	if (kind == 0 && !reader->damaged && reader->at == reader->end)
		return TG_NOT_FOUND;
	if (kind == TG_OPERATION_TABLE && !reader->damaged)
		return TG_NOT_FOUND;
	if (operations->shape.kinds == NULL)
		tg_reader_fail(reader);
	if (kind == TG_OPERATION_ROWS)
	{
		tg_rows_open(operations);
		return reader->damaged ? TG_DAMAGED : next_of_rows(operations, operation_out);
	}
	operation_out->row = (uint32_t) tg_reader_number_below(reader, TG_ROW_MAX);
	operation_out->kind = (tg_operation_kind) kind;
	operation_out->changed_count = 0;
	switch (kind)
	{
		case TG_OPERATION_INSERT:
		case TG_OPERATION_INSERT_NULLS:
			operation_out->kind = TG_OPERATION_INSERT;
			read_cells(operations, kind == TG_OPERATION_INSERT_NULLS);
			break;
		case TG_OPERATION_HIDDEN:
		case TG_OPERATION_HIDDEN_NULLS:
			operation_out->kind = TG_OPERATION_HIDDEN;
			read_cells(operations, kind == TG_OPERATION_HIDDEN_NULLS);
			if (operations->column_count > 0)
				tg_reader_fail(reader);
			break;
		case TG_OPERATION_UPDATE:
			read_update(operations, operation_out);
			break;
		case TG_OPERATION_DELETE:
			break;
		case TG_OPERATION_LOCK:
			operation_out->mode = (tg_lock_mode) tg_reader_number_below(reader, TG_LOCK_UPDATE + 1);
			break;
		default:
			tg_reader_fail(reader);
			break;
	}
	return reader->damaged ? TG_DAMAGED : TG_OK;
}
