/*
 * layout.c
 *	  The layout of a chunk's columns, and the number of slots of a chunk.
 *
 * A chunk's memory:
 *
 *	  +----------+-------------+------------+-----+---------+---------+------+
 *	  | tg_chunk | widest      | next       | ... | row ids | nulls   | free |
 *	  |          | column      | column     |     |         | by col. |      |
 *	  +----------+-------------+------------+-----+---------+---------+------+
 *
 * The head is a multiple of 64 bytes and the capacity one of 16, so with the
 * widest columns first every array is aligned to its elements (in fact to 16
 * bytes), and no bytes are lost between arrays.
 */
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/order/kind.h"
#include "runtime/table/table_internal.h"

#include <string.h>

#define CHUNK_BYTES_MAX ((size_t) 512 * 1024)
#define CAPACITY_STEP 16
#define ROOM_SHARE 64 /* 1/64 of a full chunk is left to the next versions of its rows */
#define PAGED_ABOVE_BYTES ((size_t) 4 * TG_PAGE_BYTES)

/* Slots of a table's first chunks: a thousand partitions of a few rows each must be cheap. */
static const uint16_t first_capacities[] = {16, 64, 256};

_Static_assert(sizeof(tg_chunk) % TG_CACHE_LINE == 0, "values begin on a cache line");
_Static_assert(TG_SLOT_MAX % CAPACITY_STEP == 0, "the largest capacity is one");

static unsigned
kind_bytes(uint8_t kind)
{
	return kind <= TG_KIND_8 ? 1u << kind : 16;
}

size_t
tg_chunk_bytes(const tg_layout *layout, unsigned capacity)
{
	size_t words = (capacity + 63) / 64;
	size_t bytes = sizeof(tg_chunk) + (size_t) capacity * (layout->slot_bytes + sizeof(uint32_t)) +
				   (layout->column_count + 1u) * words * sizeof(uint64_t);

	return (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
}

/*
 * The memory that an allocation of so many bytes occupies: hardly more for small ones, whole pages
 * for others.
 */
static size_t
occupied_bytes(size_t bytes)
{
	if (bytes <= PAGED_ABOVE_BYTES)
		return bytes;
	return (bytes + TG_PAGE_BYTES - 1) & ~(size_t) (TG_PAGE_BYTES - 1);
}

/*
 * The capacity of a full chunk: of the capacities between half of the allowed size and all of it,
 * the one that costs the fewest bytes per slot.
 */
static unsigned
full_capacity(const tg_layout *layout)
{
	unsigned capacity_max = TG_SLOT_MAX;
	unsigned best;

	while (capacity_max > CAPACITY_STEP && tg_chunk_bytes(layout, capacity_max) > CHUNK_BYTES_MAX)
		capacity_max -= CAPACITY_STEP;
	best = capacity_max;
	for (unsigned capacity = capacity_max; capacity >= CAPACITY_STEP && capacity >= capacity_max / 2;
		 capacity -= CAPACITY_STEP)
	{
		if (occupied_bytes(tg_chunk_bytes(layout, capacity)) * best <
			occupied_bytes(tg_chunk_bytes(layout, best)) * capacity)
			best = capacity;
	}
	return best;
}

tg_status
tg_layout_create(tg_session *session, const uint8_t *kinds, unsigned column_count, tg_claim claim,
				 tg_layout **layout_out)
{
	unsigned string_count = 0;
	uint32_t offset = 0;
	uint32_t *offsets;
	uint16_t *strings;
	uint8_t *kinds_copy;
	uint64_t *meanings;
	tg_layout *layout;

	tg_assert(column_count <= TG_COLUMN_MAX);
	for (unsigned i = 0; i < column_count; i++)
		string_count += kinds[i] == TG_KIND_STRING;

	layout = tg_alloc(session,
					  sizeof(*layout) + column_count * (sizeof(*meanings) + sizeof(*offsets) + sizeof(*kinds_copy)) +
						  string_count * sizeof(*strings),
					  TG_USE_TABLE, claim);
	if (layout == NULL)
		return TG_NO_MEMORY;
	meanings = (uint64_t *) (layout + 1);
	offsets = (uint32_t *) (meanings + column_count);
	strings = (uint16_t *) (offsets + column_count);
	kinds_copy = (uint8_t *) (strings + string_count);
	memcpy(kinds_copy, kinds, column_count);
	memset(meanings, 0, column_count * sizeof(*meanings));

	string_count = 0;
	for (unsigned i = 0; i < column_count; i++)
	{
		if (kinds[i] == TG_KIND_STRING)
			strings[string_count++] = (uint16_t) i;
	}
	for (unsigned bytes = 16; bytes > 0; bytes /= 2)
	{
		for (unsigned i = 0; i < column_count; i++)
		{
			if (kind_bytes(kinds[i]) == bytes)
			{
				offsets[i] = offset;
				offset += bytes;
			}
		}
	}

	layout->next = NULL;
	layout->column_count = (uint16_t) column_count;
	layout->string_count = (uint16_t) string_count;
	layout->slot_bytes = offset;
	layout->kinds = kinds_copy;
	layout->meanings = meanings;
	layout->offsets = offsets;
	layout->strings = strings;
	layout->full_capacity = (uint16_t) full_capacity(layout);
	layout->filled = (uint16_t) (layout->full_capacity - layout->full_capacity / ROOM_SHARE);
	*layout_out = layout;
	return TG_OK;
}

unsigned
tg_chunk_capacity(const tg_layout *layout, uint32_t chunk_count)
{
	if (chunk_count < sizeof(first_capacities) / sizeof(first_capacities[0]) &&
		first_capacities[chunk_count] < layout->full_capacity)
		return first_capacities[chunk_count];
	return layout->full_capacity;
}
