/*
 * operations_rows.c
 *	  Several rows as one operation, cell by cell: how they are written.
 *
 * The versions lie in slots of one chunk that follow one another, as rows do that were stored
 * together.  So the values of a cell are read from one place to the next, and each is written in as
 * many bytes as the largest of them needs.  That takes a fraction of the time that the same rows
 * take as inserts, and fewer bytes.  The loops over a cell whose column never held a NULL are made
 * for the compiler to vectorize: this file is compiled as kernels are (Makefile).
 *
 * Whether hidden values of a version are known is looked at once for each: a build of the index may
 * make them known meanwhile.  Those then come with the record of the build (operations.c, 5).
 */
#include "runtime/durable/operations_internal.h"

#include "runtime/index/hidden.h"
#include "runtime/index/index.h"
#include "runtime/order/kind.h"
#include "runtime/table/cell.h"
#include "runtime/table/table.h"

#define WORD_BYTES sizeof(uint64_t) /* that are written for a narrower value, too */

/* The rows of a cell that are not NULL. */
typedef struct cell_rows
{
	const tg_chunk *chunk;
	unsigned column;
	unsigned count;
	unsigned first;						   /* slot */
	bool is_run;						   /* all slots from the first on; else they are listed */
	uint16_t slots[TG_OPERATION_ROWS_MAX]; /* unless it is a run */
} cell_rows;

/* --- which rows ----------------------------------------------------------------------------- */

static bool
is_listed(const tg_row_cells *cells, const tg_index *index)
{
	for (unsigned i = 0; i < cells->index_count; i++)
		if (cells->indexes[i] == index)
			return true;
	return false;
}

/* Those of which hidden values of the index are known, or are not, as of the first one. */
static unsigned
count_alike(const tg_row_cells *cells, const tg_index *index, unsigned count)
{
	const tg_chunk *companion = tg_companion_of(&index->link, cells->chunk);
	bool listed = is_listed(cells, index);
	unsigned alike = 1;

	while (alike < count && tg_companion_is_known(companion, cells->slot + alike) == listed)
		alike++;
	return alike;
}

/* The bytes of the strings of a column, in so many slots, that are out of line. */
static size_t
string_bytes(const tg_chunk *chunk, unsigned column, unsigned slot, unsigned count)
{
	const tg_string *strings = (const tg_string *) tg_chunk_column(chunk, column) + slot;
	size_t bytes = 0;

	for (unsigned i = 0; i < count; i++)
		if (tg_string_is_out(&strings[i]) && !tg_chunk_is_null(chunk, column, slot + i))
			bytes += tg_string_blob_bytes(&strings[i]);
	return bytes;
}

static size_t
all_string_bytes(const tg_chunk *chunk, unsigned slot, unsigned count)
{
	size_t bytes = 0;

	for (unsigned i = 0; i < chunk->layout->string_count; i++)
		bytes += string_bytes(chunk, chunk->layout->strings[i], slot, count);
	return bytes;
}

unsigned
tg_rows_fitting(const tg_row_cells *cells, unsigned count, size_t bytes_max)
{
	const tg_chunk *chunk = cells->chunk;
	size_t bytes = 0;
	unsigned fitting;

	if (count > TG_OPERATION_ROWS_MAX)
		count = TG_OPERATION_ROWS_MAX;
	for (const tg_index *index = tg_index_first(chunk->table); index != NULL; index = tg_index_next(index))
		if (index->link.hidden != NULL)
			count = count_alike(cells, index, count);
	if (all_string_bytes(chunk, cells->slot, count) <= bytes_max)
		return count;
	for (fitting = 0; fitting < count && bytes < bytes_max; fitting++)
		bytes += all_string_bytes(chunk, cells->slot + fitting, 1);
	return fitting;
}

/* --- a cell --------------------------------------------------------------------------------- */

/* Lists the rows that are not NULL, and writes which are. */
static void
list_rows(tg_bytes *bytes, cell_rows *rows, unsigned count)
{
	unsigned char nulls[TG_ROWS_BITMAP_BYTES(TG_OPERATION_ROWS_MAX)] = {0};

	rows->count = 0;
	for (unsigned i = 0; i < count; i++)
	{
		bool is_null = tg_chunk_is_null(rows->chunk, rows->column, rows->first + i);

		nulls[i / 8] |= (unsigned char) (is_null << i % 8);
		rows->slots[rows->count] = (uint16_t) (rows->first + i);
		rows->count += !is_null;
	}
	rows->is_run = rows->count == count;
	tg_bytes_put_byte(bytes, rows->is_run ? TG_NULLS_NONE : rows->count == 0 ? TG_NULLS_ALL : TG_NULLS_SOME);
	if (rows->count > 0 && !rows->is_run)
		tg_bytes_put(bytes, nulls, TG_ROWS_BITMAP_BYTES(count));
}

/* Finds the rows that are not NULL, of so many, and writes which are. */
static tg_status
put_nulls(tg_bytes *bytes, cell_rows *rows, unsigned count)
{
	tg_status status = tg_bytes_reserve(bytes, 1 + TG_ROWS_BITMAP_BYTES(TG_OPERATION_ROWS_MAX));

	if (status != TG_OK)
		return status;
	if (!tg_chunk_has_column(rows->chunk, rows->column) || tg_chunk_may_be_null(rows->chunk, rows->column))
	{
		list_rows(bytes, rows, count);
		return TG_OK;
	}
	rows->count = count;
	rows->is_run = true;
	tg_bytes_put_byte(bytes, TG_NULLS_NONE);
	return TG_OK;
}

static unsigned
width_of(uint64_t most)
{
	return most == 0 ? 0 : (71 - (unsigned) __builtin_clzll(most)) / 8;
}

#define PUT_NARROW(type)                                                                                               \
	for (unsigned i = 0; i < count; i++)                                                                               \
	((type *) at)[i] = (type) (numbers[i] - least)

/* Numbers less the least, in so many bytes each; room for them and a word more was reserved. */
static void
put_fixed(tg_bytes *bytes, const uint64_t *numbers, unsigned count, uint64_t least, unsigned width)
{
	typedef uint16_t half __attribute__((aligned(1), may_alias));
	typedef uint32_t word __attribute__((aligned(1), may_alias));
	unsigned char *at = bytes->data + bytes->count;

	tg_assert(bytes->capacity - bytes->count >= count * width + WORD_BYTES);
	bytes->count += count * width;
	switch (width)
	{
		case 1:
			PUT_NARROW(unsigned char);
			break;
		case 2:
			PUT_NARROW(half);
			break;
		case 4:
			PUT_NARROW(word);
			break;
		default:
			for (unsigned i = 0; i < count; i++, at += width)
				memcpy(at, &(uint64_t){numbers[i] - least}, WORD_BYTES);
			break;
	}
}

static inline unsigned
slot_of(const cell_rows *rows, unsigned i)
{
	return rows->is_run ? rows->first + i : rows->slots[i];
}

#define TAKE_WORDS(type)                                                                                               \
	for (unsigned i = 0; i < rows->count; i++)                                                                         \
	words[i] = ((const type *) values)[slot_of(rows, i)]

static void
take_words(const cell_rows *rows, tg_kind kind, int64_t *words)
{
	const void *values = tg_chunk_column(rows->chunk, rows->column);

	switch (kind)
	{
		case TG_KIND_1:
			TAKE_WORDS(int8_t);
			break;
		case TG_KIND_2:
			TAKE_WORDS(int16_t);
			break;
		case TG_KIND_4:
			TAKE_WORDS(int32_t);
			break;
		default:
			TAKE_WORDS(int64_t);
			break;
	}
}

static tg_status
put_words(tg_bytes *bytes, const cell_rows *rows, tg_kind kind)
{
	int64_t words[TG_OPERATION_ROWS_MAX];
	int64_t least = INT64_MAX;
	int64_t most = INT64_MIN;
	unsigned width;
	tg_status status;

	take_words(rows, kind, words);
	for (unsigned i = 0; i < rows->count; i++)
	{
		least = words[i] < least ? words[i] : least;
		most = words[i] > most ? words[i] : most;
	}
	width = width_of((uint64_t) most - (uint64_t) least);
	status = tg_bytes_reserve(bytes, TG_NUMBER_BYTES_MAX + 1 + rows->count * width + WORD_BYTES);
	if (status != TG_OK)
		return status;
	tg_bytes_put_signed(bytes, least);
	tg_bytes_put_byte(bytes, (unsigned char) width);
	put_fixed(bytes, (const uint64_t *) words, rows->count, (uint64_t) least, width);
	return TG_OK;
}

static tg_status
put_wide(tg_bytes *bytes, const cell_rows *rows)
{
	tg_status status = tg_bytes_reserve(bytes, rows->count * sizeof(tg_value));

	if (status != TG_OK)
		return status;
	for (unsigned i = 0; i < rows->count; i++)
		tg_bytes_put(bytes, tg_chunk_cell(rows->chunk, rows->column, slot_of(rows, i)), sizeof(tg_value));
	return TG_OK;
}

/* Room for a whole cell was reserved. */
static inline void
put_string_bytes(tg_bytes *bytes, const tg_string *string)
{
	if (tg_string_is_out(string))
	{
		tg_bytes_put(bytes, string->blob, tg_string_blob_bytes(string));
		return;
	}
	memcpy(bytes->data + bytes->count, string->bytes, TG_STRING_INLINE_MAX);
	bytes->count += tg_string_inline_bytes(string);
}

static tg_status
put_strings(tg_bytes *bytes, const cell_rows *rows)
{
	const tg_string *strings = tg_chunk_column(rows->chunk, rows->column);
	uint64_t numbers[TG_OPERATION_ROWS_MAX];
	uint64_t any = 0;
	size_t all = TG_STRING_INLINE_MAX;
	unsigned width;
	tg_status status;

	for (unsigned i = 0; i < rows->count; i++)
	{
		numbers[i] = tg_stored_number(&strings[slot_of(rows, i)]);
		any |= numbers[i];
		all += numbers[i] >> FORM_BITS;
	}
	width = width_of(any);
	status = tg_bytes_reserve(bytes, 1 + rows->count * width + WORD_BYTES + all);
	if (status != TG_OK)
		return status;
	tg_bytes_put_byte(bytes, (unsigned char) width);
	put_fixed(bytes, numbers, rows->count, 0, width);
	for (unsigned i = 0; i < rows->count; i++)
		put_string_bytes(bytes, &strings[slot_of(rows, i)]);
	return TG_OK;
}

static tg_status
put_cell(tg_bytes *bytes, const tg_chunk *chunk, unsigned column, unsigned slot, unsigned count)
{
	tg_kind kind = (tg_kind) chunk->layout->kinds[column];
	cell_rows rows = {.chunk = chunk, .column = column, .first = slot};
	tg_status status = put_nulls(bytes, &rows, count);

	if (status != TG_OK || rows.count == 0)
		return status;
	if (kind == TG_KIND_STRING)
		return put_strings(bytes, &rows);
	return kind == TG_KIND_16 ? put_wide(bytes, &rows) : put_words(bytes, &rows, kind);
}

/* --- all of them ----------------------------------------------------------------------------- */

static tg_status
put_ids(tg_bytes *bytes, const uint32_t *rows, unsigned count)
{
	tg_status status = tg_bytes_reserve(bytes, 2 + ((size_t) count + 2) * TG_NUMBER_BYTES_MAX);
	bool has_gaps = false;

	if (status != TG_OK)
		return status;
	for (unsigned i = 1; i < count; i++)
		has_gaps |= rows[i] != rows[i - 1] + 1;
	tg_bytes_put_byte(bytes, TG_OPERATION_ROWS);
	tg_bytes_put_number(bytes, count);
	tg_bytes_put_number(bytes, rows[0]);
	tg_bytes_put_byte(bytes, has_gaps);
	for (unsigned i = 1; i < count && has_gaps; i++)
		tg_bytes_put_signed(bytes, (int64_t) rows[i] - rows[i - 1]);
	return TG_OK;
}

tg_status
tg_rows_put(tg_bytes *bytes, const tg_row_cells *cells, unsigned count)
{
	tg_status status = put_ids(bytes, cells->chunk->rows + cells->slot, count);

	for (unsigned column = 0; column < cells->column_count && status == TG_OK; column++)
		status = put_cell(bytes, cells->chunk, column, cells->slot, count);
	for (unsigned i = 0; i < cells->index_count; i++)
		for (unsigned column = 0; column < cells->companions[i]->layout->column_count && status == TG_OK; column++)
			status = put_cell(bytes, cells->companions[i], column, cells->slot, count);
	return status;
}
