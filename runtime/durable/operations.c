/*
 * operations.c
 *	  Operations on rows: written from a write log, read from a record.
 *
 * 1. The write log names versions.  All versions that a transaction has made of a row are written,
 *	  in order, for the log has them in order: replay makes and replaces them as the transaction
 *	  did.  Writes that were undone have left the log (tg_write_log_pop), or are marked as such.
 * 2. A move to another key is an insert and a delete, in this order, of two rows.
 * 3. Of an UPDATE the cells are written that differ from those of the version before.  That one is
 *	  there: the transaction that replaced it has not ended.
 * 4. A version has hidden values of an index, or none are known (hidden.c).  The table operation
 *	  names the indexes whose values the rows behind it have; it is written anew when a row has
 *	  those of others.  An UPDATE whose older version has other ones writes all cells of the indexes
 *	  that this one lacks.
 * 5. Whatever the bytes are, reading ends: each operation takes one byte at least.  A length is
 *	  compared with the bytes that are left before it is used, a cell's number with the number of
 *	  cells.  What is read is only as true as the record: who applies it looks at rows and storages.
 */
#include "runtime/durable/operations.h"

#include <stdlib.h>

#include "runtime/index/hidden.h"

#define FORM_BITS 3
#define FORM_INLINE 0
#define UPDATE_END 0	   /* in place of a step to the next changed cell */
#define HEADER_BYTES_MAX 6 /* of the host's, in front of a blob's bytes */

/* Bytes of an operation beyond its cells, at most: tag, row, count. */
#define OPERATION_BYTES_MAX (1 + 2 * TG_NUMBER_BYTES_MAX)

/* Bytes of a cell beyond those of a string: distance, number. */
#define CELL_BYTES_MAX (2 * TG_NUMBER_BYTES_MAX)

/* The cells of a version: its chunk, and the companions of its indexes. */
typedef struct row_cells
{
	const tg_chunk *chunk;
	unsigned slot;
	unsigned index_count;
	const tg_index *indexes[TG_HIDING_MAX];
	const tg_chunk *companions[TG_HIDING_MAX];
} row_cells;

/* What has been written of the current table. */
typedef struct writer
{
	tg_bytes *bytes;
	const tg_table *table; /* NULL: none */
	unsigned column_count;
	unsigned index_count;
	const tg_index *indexes[TG_HIDING_MAX];
} writer;

/* --- cells of versions ---------------------------------------------------------------- */

/* False: more indexes than TG_HIDING_MAX. */
static bool
cells_of(tg_version version, row_cells *cells)
{
	const tg_index *index;

	cells->chunk = tg_version_chunk(version);
	cells->slot = tg_version_slot(version);
	cells->index_count = 0;
	for (index = tg_index_first(cells->chunk->table); index != NULL; index = tg_index_next(index))
	{
		const tg_chunk *companion = index->link.hidden != NULL ? tg_companion_of(&index->link, cells->chunk) : NULL;

		if (!tg_companion_is_known(companion, cells->slot))
			continue;
		if (cells->index_count == TG_HIDING_MAX)
			return false;
		cells->indexes[cells->index_count] = index;
		cells->companions[cells->index_count++] = companion;
	}
	return true;
}

/* One cell; false: it is NULL. */
static bool
cell_value(const tg_chunk *chunk, unsigned column, unsigned slot, tg_value *value)
{
	if (tg_chunk_is_null(chunk, column, slot))
		return false;
	tg_chunk_value(chunk, column, slot, value);
	return true;
}

static const char *
string_bytes(const tg_string *string, uint32_t *bytes_out)
{
	if (tg_string_is_out(string))
	{
		*bytes_out = tg_string_blob_bytes(string);
		return string->blob;
	}
	*bytes_out = tg_string_inline_bytes(string);
	return string->bytes;
}

static bool
strings_equal(const tg_string *left, const tg_string *right)
{
	uint32_t left_bytes;
	uint32_t right_bytes;
	const char *left_data = string_bytes(left, &left_bytes);
	const char *right_data = string_bytes(right, &right_bytes);

	if (tg_string_is_out(left) != tg_string_is_out(right) || left_bytes != right_bytes)
		return false;
	/* A blob that both versions share needs no comparison. */
	return left_data == right_data || memcmp(left_data, right_data, left_bytes) == 0;
}

static bool
values_equal(tg_kind kind, const tg_value *left, const tg_value *right)
{
	switch (kind)
	{
		case TG_KIND_STRING:
			return strings_equal(&left->string, &right->string);
		case TG_KIND_16:
			return memcmp(left->bytes, right->bytes, sizeof(left->bytes)) == 0;
		default:
			return left->word == right->word;
	}
}

/* --- writing cells --------------------------------------------------------------------- */

/* The length of the host's header in a blob: the bytes behind it are the prefix. */
static unsigned
header_bytes_of(const tg_string *string)
{
	const unsigned char *blob = string->blob;
	uint32_t bytes = tg_string_blob_bytes(string);

	for (unsigned header = 0; header <= HEADER_BYTES_MAX && header <= bytes; header++)
	{
		uint32_t left = bytes - header < sizeof(string->prefix) ? bytes - header : sizeof(string->prefix);

		if (memcmp(blob + header, string->prefix, left) == 0)
			return header;
	}
	tg_check(false); /* tg_string_make_host made the prefix */
	return 0;
}

/* The bytes that the value may take. */
static size_t
cell_bytes_max(tg_kind kind, const tg_value *value)
{
	if (kind == TG_KIND_STRING && tg_string_is_out(&value->string))
		return CELL_BYTES_MAX + (size_t) tg_string_blob_bytes(&value->string);
	return CELL_BYTES_MAX + sizeof(*value);
}

static void
put_string(tg_bytes *bytes, const tg_string *string)
{
	uint32_t count;
	const char *data = string_bytes(string, &count);
	unsigned form = tg_string_is_out(string) ? 1 + header_bytes_of(string) : FORM_INLINE;

	tg_bytes_put_number(bytes, (uint64_t) count << FORM_BITS | form);
	tg_bytes_put(bytes, data, count);
}

static void
put_value(tg_bytes *bytes, tg_kind kind, const tg_value *value)
{
	switch (kind)
	{
		case TG_KIND_STRING:
			put_string(bytes, &value->string);
			break;
		case TG_KIND_16:
			tg_bytes_put(bytes, value->bytes, sizeof(value->bytes));
			break;
		default:
			tg_bytes_put_signed(bytes, (int64_t) value->word);
			break;
	}
}

/* --- writing operations ---------------------------------------------------------------- */

static bool
is_current(const writer *writer, const row_cells *cells)
{
	if (writer->table != cells->chunk->table || writer->column_count != cells->chunk->layout->column_count ||
		writer->index_count != cells->index_count)
		return false;
	for (unsigned i = 0; i < cells->index_count; i++)
		if (writer->indexes[i] != cells->indexes[i])
			return false;
	return true;
}

/*
 * Says what the cells of the rows that follow are, if the last such operation says something else.
 */
static tg_status
put_table(writer *writer, const row_cells *cells)
{
	tg_bytes *bytes = writer->bytes;
	tg_status status;

	if (is_current(writer, cells))
		return TG_OK;
	status = tg_bytes_reserve(bytes, 1 + (size_t) (3 + cells->index_count) * TG_NUMBER_BYTES_MAX);
	if (status != TG_OK)
		return status;
	writer->table = cells->chunk->table;
	writer->column_count = cells->chunk->layout->column_count;
	writer->index_count = cells->index_count;
	tg_bytes_put_byte(bytes, TG_OPERATION_TABLE);
	tg_bytes_put_number(bytes, writer->table->incarnation);
	tg_bytes_put_number(bytes, writer->column_count);
	tg_bytes_put_number(bytes, writer->index_count);
	for (unsigned i = 0; i < cells->index_count; i++)
	{
		writer->indexes[i] = cells->indexes[i];
		tg_bytes_put_number(bytes, cells->indexes[i]->id);
	}
	return TG_OK;
}

/*
 * Goes through the cells of a row: columns, then each index's hidden values.  chunk and column are
 * where the cell is kept.
 */
typedef struct cell_cursor
{
	const row_cells *cells;
	unsigned index; /* 0: the columns; else of this index, plus 1 */
	unsigned column;
	const tg_chunk *chunk;
	tg_kind kind;
} cell_cursor;

static bool
next_cell(cell_cursor *cursor)
{
	cursor->column++;
	while (cursor->column >= cursor->chunk->layout->column_count)
	{
		if (cursor->index == cursor->cells->index_count)
			return false;
		cursor->chunk = cursor->cells->companions[cursor->index++];
		cursor->column = 0;
	}
	cursor->kind = (tg_kind) cursor->chunk->layout->kinds[cursor->column];
	return true;
}

static cell_cursor
cells_begin(const row_cells *cells)
{
	return (cell_cursor){.cells = cells, .chunk = cells->chunk, .column = UINT32_MAX};
}

static unsigned
count_cells(const row_cells *cells)
{
	unsigned count = cells->chunk->layout->column_count;

	for (unsigned i = 0; i < cells->index_count; i++)
		count += cells->companions[i]->layout->column_count;
	return count;
}

static void
put_head(tg_bytes *bytes, tg_operation_kind kind, uint32_t row)
{
	tg_bytes_put_byte(bytes, (unsigned char) kind);
	tg_bytes_put_number(bytes, row);
}

/* The bitmap of the cells that are NULL.  False: none is, and nothing was written. */
static bool
put_nulls(tg_bytes *bytes, const row_cells *cells, uint32_t row)
{
	unsigned char nulls[TG_CELLS_MAX / 8 + 1] = {0};
	cell_cursor cursor = cells_begin(cells);
	bool any = false;
	unsigned cell;

	for (cell = 0; next_cell(&cursor); cell++)
	{
		if (!tg_chunk_is_null(cursor.chunk, cursor.column, cells->slot))
			continue;
		nulls[cell / 8] |= (unsigned char) (1 << cell % 8);
		any = true;
	}
	if (any)
	{
		put_head(bytes, TG_OPERATION_INSERT_NULLS, row);
		tg_bytes_put(bytes, nulls, (cell + 7) / 8);
	}
	return any;
}

static tg_status
put_insert(writer *writer, tg_version version)
{
	tg_bytes *bytes = writer->bytes;
	row_cells cells;
	cell_cursor cursor;
	tg_status status;

	if (!cells_of(version, &cells) || count_cells(&cells) > TG_CELLS_MAX)
		return TG_TOO_LARGE;
	status = put_table(writer, &cells);
	if (status == TG_OK)
		status = tg_bytes_reserve(bytes, OPERATION_BYTES_MAX + TG_CELLS_MAX / 8);
	if (status != TG_OK)
		return status;
	if (!put_nulls(bytes, &cells, tg_version_row(version)))
		put_head(bytes, TG_OPERATION_INSERT, tg_version_row(version));
	cursor = cells_begin(&cells);
	while (next_cell(&cursor))
	{
		tg_value value;

		if (!cell_value(cursor.chunk, cursor.column, cells.slot, &value))
			continue;
		status = tg_bytes_reserve(bytes, cell_bytes_max(cursor.kind, &value));
		if (status != TG_OK)
			return status;
		put_value(bytes, cursor.kind, &value);
	}
	return TG_OK;
}

/*
 * The companion of the version before that belongs to the cursor's index; NULL: nothing is known of
 * it.
 */
static const tg_chunk *
companion_before(const cell_cursor *cursor, const row_cells *before)
{
	const tg_index *index = cursor->cells->indexes[cursor->index - 1];

	for (unsigned i = 0; i < before->index_count; i++)
		if (before->indexes[i] == index)
			return before->companions[i];
	return NULL;
}

/* Whether the cell differs from that of the version before; its value, unless it is NULL. */
static bool
cell_differs(const cell_cursor *cursor, const row_cells *before, bool *null_out, tg_value *value_out)
{
	const tg_chunk *chunk = cursor->index == 0 ? before->chunk : companion_before(cursor, before);
	tg_value old;
	bool old_null;

	*null_out = !cell_value(cursor->chunk, cursor->column, cursor->cells->slot, value_out);
	if (chunk == NULL)
		return true;
	old_null = !cell_value(chunk, cursor->column, before->slot, &old);
	return *null_out != old_null || (!*null_out && !values_equal(cursor->kind, value_out, &old));
}

static tg_status
put_update(writer *writer, tg_version version, tg_version older)
{
	tg_bytes *bytes = writer->bytes;
	row_cells cells;
	row_cells before;
	cell_cursor cursor;
	unsigned behind = 0; /* the last cell that was written */
	tg_status status;

	if (!cells_of(version, &cells) || !cells_of(older, &before) || count_cells(&cells) > TG_CELLS_MAX)
		return TG_TOO_LARGE;
	status = put_table(writer, &cells);
	if (status == TG_OK)
		status = tg_bytes_reserve(bytes, OPERATION_BYTES_MAX);
	if (status != TG_OK)
		return status;
	put_head(bytes, TG_OPERATION_UPDATE, tg_version_row(version));
	cursor = cells_begin(&cells);
	for (unsigned cell = 0; next_cell(&cursor); cell++)
	{
		tg_value value = {0};
		bool null;

		if (!cell_differs(&cursor, &before, &null, &value))
			continue;
		status = tg_bytes_reserve(bytes, cell_bytes_max(cursor.kind, &value));
		if (status != TG_OK)
			return status;
		tg_bytes_put_number(bytes, (uint64_t) (cell + 1 - behind) << 1 | null);
		if (!null)
			put_value(bytes, cursor.kind, &value);
		behind = cell + 1;
	}
	status = tg_bytes_reserve(bytes, 1);
	if (status == TG_OK)
		tg_bytes_put_number(bytes, UPDATE_END);
	return status;
}

static tg_status
put_delete(writer *writer, tg_version version)
{
	row_cells cells;
	tg_status status;

	if (!cells_of(version, &cells))
		return TG_TOO_LARGE;
	/* Any shape of the table will do. */
	status = writer->table == cells.chunk->table ? TG_OK : put_table(writer, &cells);
	if (status == TG_OK)
		status = tg_bytes_reserve(writer->bytes, OPERATION_BYTES_MAX);
	if (status == TG_OK)
		put_head(writer->bytes, TG_OPERATION_DELETE, tg_version_row(version));
	return status;
}

static tg_status
put_entry(writer *writer, const tg_log_entry *entry)
{
	tg_status status = TG_OK;

	switch ((tg_write) entry->kind)
	{
		case TG_WRITE_INSERT:
		case TG_WRITE_REVIVE:
			for (uint32_t i = 0; i < entry->count && status == TG_OK; i++)
				status = put_insert(writer, entry->version + i);
			break;
		case TG_WRITE_UPDATE:
		{
			const tg_header *headers = tg_chunk_headers(tg_version_chunk(entry->version));

			tg_assert(headers != NULL);
			status =
				put_update(writer, entry->version, tg_load_acquire(&headers[tg_version_slot(entry->version)].older));
			break;
		}
		case TG_WRITE_DELETE:
			status = put_delete(writer, entry->version);
			break;
		case TG_WRITE_UNDONE_ROW:
		case TG_WRITE_UNDONE_VERSION:
			break;
	}
	return status;
}

static tg_status
put_piece(writer *writer, const tg_write_log *piece)
{
	for (const tg_log_block *block = &piece->first; block != NULL; block = block->next)
	{
		for (uint32_t i = 0; i < block->count; i++)
		{
			tg_status status = put_entry(writer, &block->entry[i]);

			if (status != TG_OK)
				return status;
		}
	}
	return TG_OK;
}

tg_status
tg_operations_write(tg_write_log *log, tg_bytes *bytes)
{
	writer writer = {.bytes = bytes};
	tg_status status = TG_OK;
	tg_write_log **pieces;
	uint32_t count = 0;

	if (log == NULL)
		return TG_OK;
	/* Pieces are linked from the newest to the oldest. */
	for (const tg_write_log *piece = log; piece != NULL; piece = piece->below)
		count++;
	pieces = malloc(count * sizeof(*pieces));
	if (pieces == NULL)
		return TG_NO_MEMORY;
	for (uint32_t i = count; i-- > 0; log = log->below)
		pieces[i] = log;
	for (uint32_t i = 0; i < count && status == TG_OK; i++)
		status = put_piece(&writer, pieces[i]);
	free(pieces);
	return status;
}

/* --- reading ---------------------------------------------------------------------------- */

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
	uint64_t bytes = number >> FORM_BITS;
	unsigned form = number & ((1 << FORM_BITS) - 1);
	const unsigned char *data = tg_reader_take(reader, bytes);

	if (data == NULL)
		return;
	if (form == FORM_INLINE ? bytes > TG_STRING_INLINE_MAX : bytes > TG_STRING_LENGTH || bytes < form - 1u)
		tg_reader_fail(reader);
	else if (form == FORM_INLINE)
		tg_string_make_inline(string, data, (unsigned) bytes);
	else
		tg_string_make_host(string, data, (uint32_t) bytes, form - 1);
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
read_insert(tg_operations *operations, bool has_nulls)
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

tg_status
tg_operations_next(tg_operations *operations, tg_row_operation *operation_out)
{
	tg_reader *reader = &operations->reader;
	unsigned char kind = 0;

	while (!tg_reader_is_at_end(reader) && (kind = tg_reader_byte(reader)) == TG_OPERATION_TABLE)
		read_table(operations);
	if (kind == 0 && !reader->damaged && reader->at == reader->end)
		return TG_NOT_FOUND;
	if (kind == TG_OPERATION_TABLE && !reader->damaged)
		return TG_NOT_FOUND;
	if (operations->shape.kinds == NULL)
		tg_reader_fail(reader);
	operation_out->row = (uint32_t) tg_reader_number_below(reader, TG_ROW_MAX);
	operation_out->kind = (tg_operation_kind) kind;
	operation_out->changed_count = 0;
	switch (kind)
	{
		case TG_OPERATION_INSERT:
		case TG_OPERATION_INSERT_NULLS:
			operation_out->kind = TG_OPERATION_INSERT;
			read_insert(operations, kind == TG_OPERATION_INSERT_NULLS);
			break;
		case TG_OPERATION_UPDATE:
			read_update(operations, operation_out);
			break;
		case TG_OPERATION_DELETE:
			break;
		default:
			tg_reader_fail(reader);
			break;
	}
	return reader->damaged ? TG_DAMAGED : TG_OK;
}
