/*
 * fill.c
 *	  Rows put into new chunks of a table, many at a time and column by column.
 *
 * 1. A chunk is published and leased from its beginning, so its companions can be made.  A slot is
 *	  free until its row is added: until then it has no version, and what was stored in it may be
 *	  dropped, or be written over by the next version there.
 * 2. Without headers every allocated slot is settled (settle.c).  That is right here: no session
 *	  reads the table, and the next snapshot is later than all contents.
 * 3. As with versions that are stored one by one, some slots of a chunk are left to the next
 *	  versions of its rows (chunk.c, 6), and the first chunks of a table are small.
 */
#include "runtime/table/fill.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/order/kind.h"
#include "runtime/table/cell.h"
#include "runtime/table/table_internal.h"

void
tg_fill_begin(tg_fill *fill, tg_session *session, tg_table *table)
{
	*fill = (tg_fill){.session = session, .table = table};
}

void
tg_fill_end(tg_fill *fill)
{
	if (fill->chunk != NULL)
		tg_chunk_lease_end(fill->chunk);
	fill->chunk = NULL;
}

tg_status
tg_fill_room_get(tg_fill *fill, unsigned wanted, tg_fill_room *room_out)
{
	unsigned left;

	if (fill->chunk != NULL && fill->slot == fill->chunk->capacity - tg_chunk_room(fill->chunk))
		tg_fill_end(fill);
	if (fill->chunk == NULL)
	{
		tg_status status = tg_chunk_lease_bare(fill->session, fill->table, &fill->chunk);

		if (status != TG_OK)
			return status;
		fill->slot = 0;
	}
	left = fill->chunk->capacity - tg_chunk_room(fill->chunk) - fill->slot;
	*room_out = (tg_fill_room){.chunk = fill->chunk, .slot = fill->slot, .count = wanted < left ? wanted : left};
	return TG_OK;
}

void
tg_fill_words(const tg_fill_room *room, unsigned column, const void *values)
{
	void *cells = (void *) tg_chunk_cell(room->chunk, column, room->slot);
	unsigned kind = room->chunk->layout->kinds[column];

	tg_assert(kind != TG_KIND_STRING);
	memcpy(cells, values, (size_t) room->count << kind);
}

tg_status
tg_fill_strings(const tg_fill *fill, const tg_fill_room *room, unsigned column, const tg_string *strings)
{
	return tg_chunk_strings_store(fill->session, room->chunk, column, room->slot, room->count, strings);
}

void
tg_fill_strings_drop(const tg_fill *fill, const tg_fill_room *room, unsigned column)
{
	tg_chunk_strings_drop(fill->session, room->chunk, column, room->slot, room->count);
}

void
tg_fill_null(const tg_fill_room *room, unsigned column, unsigned row)
{
	tg_chunk *chunk = room->chunk;
	unsigned slot = room->slot + row;

	if (!tg_chunk_may_be_null(chunk, column))
		(void) tg_fetch_or_acq_rel(&chunk->null_columns, (uint64_t) 1 << (column < 63 ? column : 63));
	chunk->nulls[column * tg_chunk_bitmap_words(chunk) + slot / 64] |= (uint64_t) 1 << slot % 64;
}

/* So many bits from one on, within a word. */
static inline uint64_t
bits_of(unsigned first, unsigned count)
{
	return (count == 64 ? UINT64_MAX : ((uint64_t) 1 << count) - 1) << first;
}

void
tg_fill_add(tg_fill *fill, const tg_fill_room *room, const uint32_t *rows)
{
	tg_chunk *chunk = room->chunk;

	tg_assert(chunk == fill->chunk && room->slot == fill->slot && tg_chunk_headers(chunk) == NULL);
	memcpy(&chunk->rows[room->slot], rows, room->count * sizeof(*rows));
	for (unsigned done = 0; done < room->count;)
	{
		unsigned slot = room->slot + done;
		unsigned count = 64 - slot % 64 < room->count - done ? 64 - slot % 64 : room->count - done;

		(void) tg_fetch_and_acq_rel(&chunk->free[slot / 64], ~bits_of(slot % 64, count));
		done += count;
	}
	(void) tg_fetch_add_seq_cst(&chunk->free_count, -room->count);
	for (unsigned i = 0; i < room->count; i++)
	{
		tg_version *head = tg_row_head(fill->table, rows[i]);

		tg_assert(tg_load_relaxed(head) == TG_VERSION_NONE);
		tg_store_release(head, tg_version_make(chunk, room->slot + i));
	}
	tg_fetch_add_relaxed(&fill->table->row_count, room->count);
	fill->slot += room->count;
}

void
tg_fill_companion_add(const tg_fill_room *room, unsigned row)
{
	unsigned slot = room->slot + row;

	(void) tg_fetch_and_acq_rel(&room->chunk->free[slot / 64], ~((uint64_t) 1 << slot % 64));
}
