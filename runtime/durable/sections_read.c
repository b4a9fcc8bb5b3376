/*
 * sections_read.c
 *	  Rows as a base has them: how they are read into chunks.
 *
 * A section is looked through first: where each cell begins, and that there are as many bytes as it
 * says.  Then its rows are put into chunks, as many at a time as a chunk has room for.
 *
 * 1. Whatever the bytes are, reading ends, and nothing beyond them is read: a count is compared
 *	  with the bytes that are left, or with the most that there can be, before it is used.
 * 2. A row is added when all of its values are stored.  Where that fails, the strings that were
 *	  stored are dropped, and the slots stay free (table/fill.c, 1).
 * 3. An index may have been dropped since, or may never have become complete.  Then the table does
 *	  not have it, and its values are passed over.
 */
#include "runtime/mem/session.h"
#include "runtime/order/kind.h"
#include "runtime/durable/sections_internal.h"
#include "runtime/durable/operations_internal.h"

#include <stdlib.h>

#include "runtime/index/hidden.h"
#include "runtime/table/fill.h"
#include "runtime/table/store.h"
#include "runtime/index/index.h"

/* A column of a section, or a hidden value. */
typedef struct cell
{
	const unsigned char *nulls; /* a bitmap; NULL: see all_null */
	const unsigned char *words; /* of a fixed length */
	tg_reader numbers;			/* of strings: those of rows that have not been read */
	const unsigned char *bytes; /* likewise */
	bool all_null;
} cell;

/* An index of a section. */
typedef struct hidden
{
	const tg_index *index; /* NULL: 3 */
	unsigned cell;		   /* the first one */
	unsigned cell_count;
	const unsigned char *known; /* a bitmap; NULL: see all_known */
	bool all_known;
	bool any_known;
} hidden;

struct tg_sections
{
	tg_session *session; /* of the call in hand */
	tg_sections_target target;
	tg_fill fill;
	/* of the section */
	unsigned count;
	unsigned column_count;
	unsigned index_count;
	unsigned done; /* rows that are in the table */
	uint32_t rows[TG_SECTION_ROWS];
	hidden hidden[TG_HIDING_MAX];
	cell cells[TG_CELLS_MAX];
	uint8_t kinds[TG_CELLS_MAX];
	/* of the rows in hand */
	tg_string strings[TG_SECTION_ROWS];
};

tg_status
tg_sections_begin(const tg_sections_target *target, tg_sections **sections_out)
{
	tg_sections *sections = malloc(sizeof(*sections));

	if (sections == NULL)
		return TG_NO_MEMORY;
	sections->target = *target;
	tg_fill_begin(&sections->fill, NULL, target->table); /* tg_sections_read has a session */
	*sections_out = sections;
	return TG_OK;
}

void
tg_sections_end(tg_sections *sections)
{
	tg_fill_end(&sections->fill);
	free(sections);
}

/* --- looking through -------------------------------------------------------------------------- */

/* What the rows consist of. */
static void
look_at_shape(tg_sections *sections, tg_reader *reader)
{
	uint64_t ids[TG_HIDING_MAX];
	unsigned counts[TG_HIDING_MAX];
	uint64_t storage = tg_reader_number(reader);
	unsigned cell;
	size_t cells;

	sections->column_count = (unsigned) tg_reader_number_below(reader, TG_COLUMN_MAX + 1);
	sections->index_count = (unsigned) tg_reader_number_below(reader, TG_HIDING_MAX + 1);
	for (unsigned i = 0; i < sections->index_count; i++)
		ids[i] = tg_reader_number(reader);
	if (reader->damaged || storage != sections->target.storage)
	{
		tg_reader_fail(reader);
		return;
	}
	cells = sections->target.shape(sections->target.context, storage, sections->column_count, ids,
								   sections->index_count, sections->kinds, counts);
	if (cells > TG_CELLS_MAX || sections->column_count > sections->target.table->layout->column_count)
	{
		tg_reader_fail(reader);
		return;
	}
	cell = sections->column_count;
	for (unsigned i = 0; i < sections->index_count; i++)
	{
		sections->hidden[i] =
			(hidden){.index = tg_hidden_index(sections->target.table, ids[i]), .cell = cell, .cell_count = counts[i]};
		cell += counts[i];
	}
}

static void
look_at_rows(tg_sections *sections, tg_reader *reader)
{
	unsigned count = (unsigned) tg_reader_number_below(reader, TG_SECTION_ROWS + 1);
	uint64_t row = tg_reader_number_below(reader, TG_ROW_MAX);
	bool has_gaps = tg_reader_number_below(reader, 2) != 0;

	if (count == 0 || row < sections->target.first)
		tg_reader_fail(reader);
	for (unsigned i = 0; i < count; i++)
	{
		if (i > 0)
			row += 1 + (has_gaps ? tg_reader_number_below(reader, TG_ROW_MAX) : 0);
		if (row >= sections->target.end)
			tg_reader_fail(reader);
		sections->rows[i] = (uint32_t) row;
	}
	sections->count = count;
}

/* A bitmap, or NULL: *all_out says whether it is true of all, or of none. */
static const unsigned char *
look_at_bits(const tg_sections *sections, tg_reader *reader, bool *all_out)
{
	uint64_t way = tg_reader_number_below(reader, TG_WAYS_END);

	*all_out = way == TG_WAYS_ALL;
	return way == TG_WAYS_SOME ? tg_reader_take(reader, TG_BITMAP_BYTES(sections->count)) : NULL;
}

/* Ends: there are no more numbers than bytes. */
static void
look_at_strings(const tg_sections *sections, tg_reader *reader, cell *cell)
{
	const unsigned char *begin = reader->at;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < sections->count && !reader->damaged; i++)
		bytes += tg_reader_number_below(reader, (uint64_t) (TG_STRING_LENGTH + 1) << FORM_BITS) >> FORM_BITS;
	if (!reader->damaged)
		cell->numbers = tg_reader_make(begin, (size_t) (reader->at - begin));
	cell->bytes = tg_reader_take(reader, bytes);
}

static void
look_at_cell(tg_sections *sections, tg_reader *reader, unsigned number)
{
	cell *cell = &sections->cells[number];
	unsigned kind = sections->kinds[number];

	cell->nulls = look_at_bits(sections, reader, &cell->all_null);
	if (cell->all_null)
		return;
	if (kind == TG_KIND_STRING)
		look_at_strings(sections, reader, cell);
	else
		cell->words = tg_reader_take(reader, (uint64_t) sections->count << kind);
}

static void
look_at_hidden(tg_sections *sections, tg_reader *reader, hidden *hidden)
{
	hidden->known = look_at_bits(sections, reader, &hidden->all_known);
	hidden->any_known = hidden->all_known || hidden->known != NULL;
	for (unsigned i = 0; i < hidden->cell_count && !reader->damaged; i++)
		look_at_cell(sections, reader, hidden->cell + i);
}

static tg_status
look_through(tg_sections *sections, tg_reader *reader)
{
	look_at_shape(sections, reader);
	if (!reader->damaged)
		look_at_rows(sections, reader);
	for (unsigned i = 0; i < sections->column_count && !reader->damaged; i++)
		look_at_cell(sections, reader, i);
	for (unsigned i = 0; i < sections->index_count && !reader->damaged; i++)
		look_at_hidden(sections, reader, &sections->hidden[i]);
	sections->done = 0;
	return reader->damaged || reader->at != reader->end ? TG_DAMAGED : TG_OK;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* The section's row ids are the table's then, and have no version. */
static tg_status
place_rows(const tg_sections *sections)
{
	tg_status status =
		tg_row_place(sections->session, sections->target.table, sections->rows[sections->count - 1], TG_ESSENTIAL);

	for (unsigned i = 0; i < sections->count && status == TG_OK; i++)
		if (tg_load_relaxed(tg_row_head(sections->target.table, sections->rows[i])) != TG_VERSION_NONE)
			status = TG_DAMAGED;
	return status;
}

/* Whether a row of those in hand has no value in a cell. */
static inline bool
is_null(const tg_sections *sections, const cell *cell, unsigned row)
{
	return cell->nulls != NULL && tg_section_bit(cell->nulls, sections->done + row);
}

static bool
make_strings(tg_sections *sections, cell *cell, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
	{
		uint64_t number = tg_reader_number(&cell->numbers);
		tg_string *string = &sections->strings[i];

		if (is_null(sections, cell, i))
			memset(string, 0, sizeof(*string));
		else if (!tg_stored_make(string, number, cell->bytes))
			return false;
		cell->bytes += number >> FORM_BITS;
	}
	return true;
}

static tg_status
store_cell(tg_sections *sections, const tg_fill_room *room, unsigned column, unsigned number)
{
	cell *cell = &sections->cells[number];
	unsigned kind = sections->kinds[number];

	for (unsigned i = 0; i < room->count && (cell->all_null || cell->nulls != NULL); i++)
		if (cell->all_null || is_null(sections, cell, i))
			tg_fill_null(room, column, i);
	if (cell->all_null)
		return TG_OK;
	if (kind == TG_KIND_STRING)
		return make_strings(sections, cell, room->count)
				   ? tg_fill_strings(&sections->fill, room, column, sections->strings)
				   : TG_DAMAGED;
	tg_fill_words(room, column, cell->words + ((size_t) sections->done << kind));
	return TG_OK;
}

/* 2.  Of the first cells, which are columns of a chunk. */
static void
drop_strings(const tg_sections *sections, const tg_fill_room *room, unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		if (sections->kinds[first + i] == TG_KIND_STRING)
			tg_fill_strings_drop(&sections->fill, room, i);
}

/* Cells that are the first columns of a chunk, or of a companion. */
static tg_status
store_cells(tg_sections *sections, const tg_fill_room *room, unsigned first, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
	{
		tg_status status = store_cell(sections, room, i, first + i);

		if (status == TG_OK)
			continue;
		drop_strings(sections, room, first, i);
		return status;
	}
	return TG_OK;
}

/* Columns that are newer than the section. */
static void
store_newer(const tg_sections *sections, const tg_fill_room *room)
{
	for (unsigned column = sections->column_count; column < room->chunk->layout->column_count; column++)
		for (unsigned i = 0; i < room->count; i++)
			tg_fill_null(room, column, i);
}

static tg_status
store_hidden(tg_sections *sections, const tg_fill_room *room, const hidden *hidden)
{
	tg_fill_room beside = *room;
	tg_status status;

	if (hidden->index == NULL || !hidden->any_known)
		return TG_OK;
	beside.chunk = tg_companion_of(&hidden->index->link, room->chunk);
	status = beside.chunk != NULL
				 ? TG_OK
				 : tg_companion_make(sections->session, &hidden->index->link, room->chunk, TG_ESSENTIAL, &beside.chunk);
	if (status == TG_OK)
		status = store_cells(sections, &beside, hidden->cell, hidden->cell_count);
	if (status != TG_OK)
		return status;
	memcpy(&beside.chunk->rows[room->slot], &sections->rows[sections->done], room->count * sizeof(uint32_t));
	for (unsigned i = 0; i < room->count; i++)
		if (hidden->all_known || tg_section_bit(hidden->known, sections->done + i))
			tg_fill_companion_add(&beside, i);
	return TG_OK;
}

/* 2. */
static void
forget(const tg_sections *sections, const tg_fill_room *room)
{
	drop_strings(sections, room, 0, sections->column_count);
	for (unsigned i = 0; i < room->count; i++)
		tg_companions_forget(sections->session, tg_version_make(room->chunk, room->slot + i));
}

/* The rows for which a chunk has room. */
static tg_status
add_rows(tg_sections *sections, const tg_fill_room *room)
{
	tg_status status = store_cells(sections, room, 0, sections->column_count);

	if (status != TG_OK)
		return status;
	store_newer(sections, room);
	for (unsigned i = 0; i < sections->index_count && status == TG_OK; i++)
		status = store_hidden(sections, room, &sections->hidden[i]);
	if (status != TG_OK)
	{
		forget(sections, room);
		return status;
	}
	tg_fill_add(&sections->fill, room, &sections->rows[sections->done]);
	sections->done += room->count;
	return TG_OK;
}

static tg_status
add_section(tg_sections *sections)
{
	tg_status status = place_rows(sections);

	while (status == TG_OK && sections->done < sections->count)
	{
		tg_fill_room room;

		status = tg_fill_room_get(&sections->fill, sections->count - sections->done, &room);
		if (status == TG_OK)
			status = add_rows(sections, &room);
	}
	if (status != TG_OK)
		tg_fill_end(&sections->fill); /* its free slots are not as new any more */
	return status;
}

tg_status
tg_sections_read(tg_sections *sections, tg_session *session, const void *data, size_t count)
{
	tg_reader block = tg_reader_make(data, count);
	tg_status status = TG_OK;

	sections->session = session;
	sections->fill.session = session;
	while (status == TG_OK && !tg_reader_is_at_end(&block))
	{
		uint32_t bytes = 0;
		const unsigned char *at = tg_reader_take(&block, sizeof(bytes));
		tg_reader reader;

		if (at != NULL)
			memcpy(&bytes, at, sizeof(bytes));
		at = tg_reader_take(&block, bytes);
		if (at == NULL)
			return TG_DAMAGED;
		reader = tg_reader_make(at, bytes);
		tg_epoch_enter(sections->session);
		status = look_through(sections, &reader);
		if (status == TG_OK)
			status = add_section(sections);
		tg_epoch_leave(sections->session);
	}
	return status == TG_OK && block.damaged ? TG_DAMAGED : status;
}
