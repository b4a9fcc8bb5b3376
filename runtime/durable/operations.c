/*
 * operations.c
 *	  Operations on rows, as they are written: from a write log, or for rows as a snapshot has them.
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
 * 5. Of the hidden values of an index, an UPDATE has all or none.  A build computes those of rows
 *	  that are there, which are in no record until it writes hidden operations, and meanwhile rows
 *	  change.  So in a replay they may not be known yet when the UPDATE comes, and then the ones
 *	  that differ would not do; if none differs, the hidden operation has them.
 */
#include "runtime/durable/operations_internal.h"

#include <stdlib.h>

#include "runtime/order/kind.h"
#include "runtime/table/cell.h"
#include "runtime/table/write_log.h"
#include "runtime/txn/read.h"
#include "runtime/index/hidden.h"
#include "runtime/index/index.h"
#include "runtime/txn/row_lock.h"

/* Bytes of an operation beyond its cells, at most: tag, row, count. */
#define OPERATION_BYTES_MAX (1 + 2 * TG_NUMBER_BYTES_MAX)

/* Bytes of a cell beyond those of a string: distance, number. */
#define CELL_BYTES_MAX (2 * TG_NUMBER_BYTES_MAX)

/* Rows of an operation of several: fewer are shorter as inserts; and no more behind such bytes. */
#define ROWS_LEAST 4
#define ROWS_BYTES ((size_t) 256 << 10)

/* What has been written of the current table. */
typedef struct writer
{
	tg_bytes *bytes;
	const tg_table *table; /* NULL: none */
	unsigned column_count;
	unsigned index_count;
	const tg_index *indexes[TG_HIDING_MAX];
	const tg_operations_sink *sink; /* NULL: none */
} writer;

/* --- cells of versions ---------------------------------------------------------------- */

/* Adds those of one index, if they are there.  False: more indexes than TG_HIDING_MAX. */
static bool
add_hidden(tg_row_cells *cells, const tg_index *index)
{
	const tg_chunk *companion = index->link.hidden != NULL ? tg_companion_of(&index->link, cells->chunk) : NULL;

	if (!tg_companion_is_known(companion, cells->slot))
		return true;
	if (cells->index_count == TG_HIDING_MAX)
		return false;
	cells->indexes[cells->index_count] = index;
	cells->companions[cells->index_count++] = companion;
	return true;
}

/* False: more indexes than TG_HIDING_MAX. */
static bool
cells_of(tg_version version, tg_row_cells *cells)
{
	const tg_index *index;

	cells->chunk = tg_version_chunk(version);
	cells->slot = tg_version_slot(version);
	cells->column_count = cells->chunk->layout->column_count;
	cells->index_count = 0;
	for (index = tg_index_first(cells->chunk->table); index != NULL; index = tg_index_next(index))
		if (!add_hidden(cells, index))
			return false;
	return true;
}

/* The hidden values of one index alone; false: they are not known. */
static bool
hidden_cells_of(tg_version version, const tg_index *index, tg_row_cells *cells)
{
	cells->chunk = tg_version_chunk(version);
	cells->slot = tg_version_slot(version);
	cells->column_count = 0;
	cells->index_count = 0;
	return add_hidden(cells, index) && cells->index_count > 0;
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

static bool
strings_equal(const tg_string *left, const tg_string *right)
{
	uint32_t left_bytes;
	uint32_t right_bytes;
	const char *left_data = tg_stored_bytes(left, &left_bytes);
	const char *right_data = tg_stored_bytes(right, &right_bytes);

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
	const char *data = tg_stored_bytes(string, &count);

	tg_bytes_put_number(bytes, tg_stored_number(string));
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
is_current(const writer *writer, const tg_row_cells *cells)
{
	if (writer->table != cells->chunk->table || writer->column_count != cells->column_count ||
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
put_table(writer *writer, const tg_row_cells *cells)
{
	tg_bytes *bytes = writer->bytes;
	tg_status status;

	if (is_current(writer, cells))
		return TG_OK;
	status = tg_bytes_reserve(bytes, 1 + (size_t) (3 + cells->index_count) * TG_NUMBER_BYTES_MAX);
	if (status != TG_OK)
		return status;
	writer->table = cells->chunk->table;
	writer->column_count = cells->column_count;
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
	const tg_row_cells *cells;
	unsigned index; /* 0: the columns; else of this index, plus 1 */
	unsigned column;
	unsigned column_count;
	const tg_chunk *chunk;
	tg_kind kind;
} cell_cursor;

static bool
next_cell(cell_cursor *cursor)
{
	cursor->column++;
	while (cursor->column >= cursor->column_count)
	{
		if (cursor->index == cursor->cells->index_count)
			return false;
		cursor->chunk = cursor->cells->companions[cursor->index++];
		cursor->column = 0;
		cursor->column_count = cursor->chunk->layout->column_count;
	}
	cursor->kind = (tg_kind) cursor->chunk->layout->kinds[cursor->column];
	return true;
}

static cell_cursor
cells_begin(const tg_row_cells *cells)
{
	return (cell_cursor){
		.cells = cells, .chunk = cells->chunk, .column = UINT32_MAX, .column_count = cells->column_count};
}

static unsigned
count_cells(const tg_row_cells *cells)
{
	unsigned count = cells->column_count;

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

/*
 * The operation's head and the bitmap of the cells that are NULL.  False: none is, and nothing was
 * written.
 */
static bool
put_nulls(tg_bytes *bytes, const tg_row_cells *cells, tg_operation_kind kind, uint32_t row)
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
		put_head(bytes, kind, row);
		tg_bytes_put(bytes, nulls, (cell + 7) / 8);
	}
	return any;
}

/* All cells of a row, by an operation of the first kind, or, if some are NULL, of the second. */
static tg_status
put_cells(writer *writer, const tg_row_cells *cells, uint32_t row, tg_operation_kind kind, tg_operation_kind kind_nulls)
{
	tg_bytes *bytes = writer->bytes;
	cell_cursor cursor;
	tg_status status;

	if (count_cells(cells) > TG_CELLS_MAX)
		return TG_TOO_LARGE;
	status = put_table(writer, cells);
	if (status == TG_OK)
		status = tg_bytes_reserve(bytes, OPERATION_BYTES_MAX + TG_CELLS_MAX / 8);
	if (status != TG_OK)
		return status;
	if (!put_nulls(bytes, cells, kind_nulls, row))
		put_head(bytes, kind, row);
	cursor = cells_begin(cells);
	while (next_cell(&cursor))
	{
		tg_value value;

		if (!cell_value(cursor.chunk, cursor.column, cells->slot, &value))
			continue;
		status = tg_bytes_reserve(bytes, cell_bytes_max(cursor.kind, &value));
		if (status != TG_OK)
			return status;
		put_value(bytes, cursor.kind, &value);
	}
	return TG_OK;
}

/*
 * The first of count versions in slots that follow one another, and those that can be put with it.
 * *done_out: how many.
 */
static tg_status
put_inserts(writer *writer, tg_version version, unsigned count, unsigned *done_out)
{
	tg_row_cells cells;
	tg_status status;

	*done_out = 1;
	if (!cells_of(version, &cells) || count_cells(&cells) > TG_CELLS_MAX)
		return TG_TOO_LARGE;
	if (count >= ROWS_LEAST)
		count = tg_rows_fitting(&cells, count, ROWS_BYTES);
	if (count < ROWS_LEAST)
		return put_cells(writer, &cells, tg_version_row(version), TG_OPERATION_INSERT, TG_OPERATION_INSERT_NULLS);
	*done_out = count;
	status = put_table(writer, &cells);
	return status == TG_OK ? tg_rows_put(writer->bytes, &cells, count) : status;
}

static tg_status
put_insert(writer *writer, tg_version version)
{
	unsigned done;

	return put_inserts(writer, version, 1, &done);
}

/*
 * The companion of the version before that belongs to the cursor's index; NULL: nothing is known of
 * it.
 */
static const tg_chunk *
companion_before(const cell_cursor *cursor, const tg_row_cells *before)
{
	const tg_index *index = cursor->cells->indexes[cursor->index - 1];

	for (unsigned i = 0; i < before->index_count; i++)
		if (before->indexes[i] == index)
			return before->companions[i];
	return NULL;
}

/* Whether the cell differs from that of the version before; its value, unless it is NULL. */
static bool
cell_differs(const cell_cursor *cursor, const tg_row_cells *before, bool *null_out, tg_value *value_out)
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

/* 5: whether a hidden value of an index differs, to whose first one the cursor has come. */
static bool
hidden_differ(cell_cursor cursor, const tg_row_cells *before)
{
	unsigned index = cursor.index;
	tg_value value;
	bool null;

	do
	{
		if (cell_differs(&cursor, before, &null, &value))
			return true;
	} while (next_cell(&cursor) && cursor.index == index);
	return false;
}

static tg_status
put_changes(writer *writer, const tg_row_cells *cells, const tg_row_cells *before)
{
	tg_bytes *bytes = writer->bytes;
	cell_cursor cursor = cells_begin(cells);
	unsigned behind = 0; /* the last cell that was written */
	bool all = false;	 /* hidden values of the cursor's index */

	for (unsigned cell = 0; next_cell(&cursor); cell++)
	{
		tg_value value = {0};
		tg_status status;
		bool differs;
		bool null;

		if (cursor.index > 0 && cursor.column == 0)
			all = hidden_differ(cursor, before);
		differs = cell_differs(&cursor, before, &null, &value);
		if (cursor.index > 0 ? !all : !differs)
			continue;
		status = tg_bytes_reserve(bytes, cell_bytes_max(cursor.kind, &value));
		if (status != TG_OK)
			return status;
		tg_bytes_put_number(bytes, (uint64_t) (cell + 1 - behind) << 1 | null);
		if (!null)
			put_value(bytes, cursor.kind, &value);
		behind = cell + 1;
	}
	return TG_OK;
}

static tg_status
put_update(writer *writer, tg_version version, tg_version older)
{
	tg_bytes *bytes = writer->bytes;
	tg_row_cells cells;
	tg_row_cells before;
	tg_status status;

	if (!cells_of(version, &cells) || !cells_of(older, &before) || count_cells(&cells) > TG_CELLS_MAX)
		return TG_TOO_LARGE;
	status = put_table(writer, &cells);
	if (status == TG_OK)
		status = tg_bytes_reserve(bytes, OPERATION_BYTES_MAX);
	if (status != TG_OK)
		return status;
	put_head(bytes, TG_OPERATION_UPDATE, tg_version_row(version));
	status = put_changes(writer, &cells, &before);
	if (status == TG_OK)
		status = tg_bytes_reserve(bytes, 1);
	if (status == TG_OK)
		tg_bytes_put_number(bytes, UPDATE_END);
	return status;
}

static tg_status
put_delete(writer *writer, tg_version version)
{
	tg_row_cells cells;
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

/* --- a transaction's writes --------------------------------------------------------------- */

/* Whether a write counts: it was not undone, and its table's writes are logged. */
static bool
is_logged(const tg_log_entry *entry)
{
	const tg_table *table;

	if (entry->kind == TG_WRITE_UNDONE_ROW || entry->kind == TG_WRITE_UNDONE_VERSION)
		return false;
	table = tg_version_chunk(entry->version)->table;
	return !table->unlogged && !table->logged_whole;
}

/*
 * Between two operations.  What comes next may begin a record, and says anew what table it is of.
 */
static void
make_room(writer *writer)
{
	if (writer->sink == NULL || writer->bytes->count < writer->sink->bytes_max)
		return;
	writer->sink->empty(writer->sink->context, writer->bytes);
	writer->bytes->count = 0;
	writer->table = NULL;
}

/* The next operation of an entry, of count rows from one on.  *done_out: of so many rows. */
static tg_status
put_entry(writer *writer, const tg_log_entry *entry, uint32_t row, unsigned count, unsigned *done_out)
{
	*done_out = count;
	if (!is_logged(entry))
		return TG_OK;
	switch ((tg_write) entry->kind)
	{
		case TG_WRITE_INSERT:
		case TG_WRITE_REVIVE:
			return put_inserts(writer, entry->version + row, count, done_out);
		case TG_WRITE_UPDATE:
		{
			const tg_header *headers = tg_chunk_headers(tg_version_chunk(entry->version));

			tg_assert(headers != NULL);
			return put_update(writer, entry->version, tg_load_acquire(&headers[tg_version_slot(entry->version)].older));
		}
		case TG_WRITE_DELETE:
			return put_delete(writer, entry->version);
		case TG_WRITE_UNDONE_ROW:
		case TG_WRITE_UNDONE_VERSION:
			break;
	}
	return TG_OK;
}

/* Passes over so many rows of the next entry of a range. */
static void
pass_rows(tg_operations_range *range, uint32_t rows)
{
	range->left -= rows;
	range->row += rows;
	if (range->row < range->block->entry[range->entry].count)
		return;
	range->row = 0;
	range->entry++;
}

/* The next entry of a range that has one; of it, so many rows are the range's. */
static const tg_log_entry *
next_entry(tg_operations_range *range, uint32_t *rows_out)
{
	const tg_log_entry *entry;

	while (range->entry == range->block->count)
	{
		range->block = range->block->next;
		range->entry = 0;
	}
	entry = &range->block->entry[range->entry];
	*rows_out = entry->count - range->row;
	if (*rows_out > range->left)
		*rows_out = (uint32_t) range->left;
	return entry;
}

tg_operations_range
tg_operations_all(const tg_write_log *piece)
{
	tg_operations_range range = {.block = &piece->first};

	for (const tg_log_block *block = &piece->first; block != NULL; block = block->next)
		for (uint32_t i = 0; i < block->count; i++)
			range.left += block->entry[i].count;
	return range;
}

tg_operations_range
tg_operations_cut(tg_operations_range *rest_inout, uint32_t rows_max)
{
	tg_operations_range cut = *rest_inout;

	if (cut.left > rows_max)
		cut.left = rows_max;
	for (uint64_t left = cut.left; left > 0;)
	{
		uint32_t rows;

		(void) next_entry(rest_inout, &rows);
		if (rows > left)
			rows = (uint32_t) left;
		pass_rows(rest_inout, rows);
		left -= rows;
	}
	return cut;
}

/* Writes the next operation of a range that has one. */
static tg_status
put_next(writer *writer, tg_operations_range *range)
{
	uint32_t rows;
	const tg_log_entry *entry = next_entry(range, &rows);
	unsigned done;
	tg_status status = put_entry(writer, entry, range->row, rows, &done);

	if (status == TG_OK)
		pass_rows(range, done);
	return status;
}

tg_status
tg_operations_write_some(tg_operations_range *range, size_t bytes_max, tg_bytes *bytes)
{
	writer writer = {.bytes = bytes};

	while (range->left > 0)
	{
		size_t before = bytes->count;
		tg_status status = before < bytes_max ? put_next(&writer, range) : TG_AGAIN;

		if (status != TG_OK)
		{
			bytes->count = before;
			return status;
		}
	}
	return TG_OK;
}

static tg_status
put_piece(writer *writer, const tg_write_log *piece)
{
	tg_operations_range range = tg_operations_all(piece);
	tg_status status = TG_OK;

	while (range.left > 0 && status == TG_OK)
	{
		make_room(writer);
		status = put_next(writer, &range);
	}
	return status;
}

tg_status
tg_operations_write(tg_write_log *log, tg_bytes *bytes, const tg_operations_sink *sink)
{
	writer writer = {.bytes = bytes, .sink = sink};
	tg_status status = TG_OK;
	tg_write_log **pieces;
	uint32_t count = 0;

	if (log == NULL)
		return TG_OK;
	if (log->below == NULL)
		return put_piece(&writer, log);
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

/* --- locks ------------------------------------------------------------------------------------ */

static tg_status
put_lock(writer *writer, const tg_table *table, uint32_t row, tg_lock_mode mode)
{
	tg_bytes *bytes = writer->bytes;
	tg_status status = tg_bytes_reserve(bytes, 2 * OPERATION_BYTES_MAX + 1);

	if (status != TG_OK)
		return status;
	if (writer->table != table)
	{
		tg_bytes_put_byte(bytes, TG_OPERATION_TABLE);
		tg_bytes_put_number(bytes, table->incarnation);
		tg_bytes_put_number(bytes, 0); /* a lock has no cells */
		tg_bytes_put_number(bytes, 0);
	}
	writer->table = table;
	put_head(bytes, TG_OPERATION_LOCK, row);
	tg_bytes_put_byte(bytes, (unsigned char) mode);
	return TG_OK;
}

tg_status
tg_operations_write_locks(const tg_txn *txn, tg_bytes *bytes, const tg_operations_sink *sink)
{
	writer writer = {.bytes = bytes, .sink = sink};
	const tg_row_lock *lock = NULL;
	tg_lock_mode mode;
	tg_table *table;
	uint32_t row;

	while ((lock = tg_row_lock_next(txn, lock, &table, &row, &mode)) != NULL)
	{
		tg_status status;

		if (table->unlogged)
			continue;
		make_room(&writer);
		status = put_lock(&writer, table, row, mode);
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

/* --- rows of a table ------------------------------------------------------------------------ */

typedef struct row_task
{
	writer writer;
	const tg_index *index; /* of put_hidden_of */
} row_task;

/*
 * Calls put for the version of each of these rows that the snapshot sees.  Unless all went well,
 * the bytes are what they were.
 */
static tg_status
put_rows(row_task *task, tg_table *table, const tg_snapshot *snapshot, uint32_t first, uint32_t count,
		 tg_status (*put)(row_task *task, tg_version version), tg_wait *wait_out)
{
	size_t before = task->writer.bytes->count;
	uint32_t row_next = tg_load_acquire(&table->row_next);
	uint32_t rest = first < row_next ? row_next - first : 0;
	uint32_t end = first + (rest < count ? rest : count);
	tg_status status = TG_OK;

	for (uint32_t row = first; row < end && status == TG_OK; row++)
	{
		tg_version version;

		status = tg_txn_read(snapshot, table, row, &version, wait_out);
		if (status == TG_OK)
			status = put(task, version);
		else if (status == TG_NOT_FOUND)
			status = TG_OK;
	}
	if (status != TG_OK)
		task->writer.bytes->count = before;
	return status;
}

static tg_status
put_row(row_task *task, tg_version version)
{
	return put_insert(&task->writer, version);
}

tg_status
tg_operations_write_rows(tg_table *table, const tg_snapshot *snapshot, uint32_t first, uint32_t count, tg_bytes *bytes,
						 tg_wait *wait_out)
{
	row_task task = {.writer = {.bytes = bytes}};

	return put_rows(&task, table, snapshot, first, count, put_row, wait_out);
}

static tg_status
put_hidden_of(row_task *task, tg_version version)
{
	tg_row_cells cells;

	if (!hidden_cells_of(version, task->index, &cells))
		return TG_OK;
	return put_cells(&task->writer, &cells, tg_version_row(version), TG_OPERATION_HIDDEN, TG_OPERATION_HIDDEN_NULLS);
}

tg_status
tg_operations_write_hidden(tg_table *table, const tg_index *index, const tg_snapshot *snapshot, uint32_t first,
						   uint32_t count, tg_bytes *bytes, tg_wait *wait_out)
{
	row_task task = {.writer = {.bytes = bytes}, .index = index};

	return put_rows(&task, table, snapshot, first, count, put_hidden_of, wait_out);
}
