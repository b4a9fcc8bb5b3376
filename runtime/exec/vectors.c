/*
 * vectors.c
 *	  Copying values out of chunks, column by column.
 *
 * One piece of memory, each array on a cache line of its own:
 *
 *	  tg_vectors | data* | nulls* | columns | kinds
 *	  rows    uint32 × capacity
 *	  data 0  8 or 16 bytes × capacity | nulls 0  1 byte × capacity
 *	  data 1 …
 *
 * 1. The null byte of a row decides; the value beside a NULL means nothing (it may be left from an
 *    earlier use of the buffer).
 * 2. The caller has made sure that each slot's version is visible, by an
 *	  acquire load of its begin or of the chunk's header pointer; its values, its
 *	  row id and its null bits were written before and never change.  They are
 *	  read without further ordering.  Null bits of other slots in the same word
 *	  may be written meanwhile, hence relaxed loads of the words.
 *
 * The copy loops do not test visibility: one loop per width for neighbouring slots and one for a
 * selection, each of a single load and store that compilers unroll.  Neighbours are the common
 * case, a whole chunk at a time.
 */
#include "runtime/exec/vectors.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"

/* --- layout ------------------------------------------------------------------------ */

static size_t
line_up(size_t bytes)
{
	return (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
}

static size_t
cell_bytes(uint8_t kind)
{
	return kind >= TG_KIND_16 ? sizeof(tg_value) : sizeof(uint64_t);
}

static size_t
head_bytes(unsigned column_count)
{
	return line_up(sizeof(tg_vectors) +
				   column_count * (sizeof(void *) + sizeof(uint8_t *) + sizeof(uint16_t) + sizeof(uint8_t)));
}

size_t
tg_vectors_bytes(const uint8_t *kinds, unsigned column_count, unsigned capacity)
{
	size_t bytes = head_bytes(column_count) + line_up(capacity * sizeof(uint32_t));

	for (unsigned i = 0; i < column_count; i++)
		bytes += line_up(capacity * cell_bytes(kinds[i])) + line_up(capacity);
	return bytes;
}

tg_vectors *
tg_vectors_init(void *memory, const uint16_t *columns, const uint8_t *kinds, unsigned column_count, unsigned capacity)
{
	tg_vectors *vectors = memory;
	unsigned char *at = memory;
	uint16_t *own_columns;
	uint8_t *own_kinds;

	tg_assert(((uintptr_t) memory & (TG_CACHE_LINE - 1)) == 0);
	tg_assert(capacity > 0 && column_count <= TG_COLUMN_MAX);

	vectors->capacity = capacity;
	vectors->count = 0;
	vectors->column_count = (uint16_t) column_count;
	vectors->data = (void **) (at + sizeof(tg_vectors));
	vectors->nulls = (uint8_t **) (vectors->data + column_count);
	own_columns = (uint16_t *) (vectors->nulls + column_count);
	own_kinds = (uint8_t *) (own_columns + column_count);
	for (unsigned i = 0; i < column_count; i++)
	{
		own_columns[i] = columns[i];
		own_kinds[i] = kinds[i];
	}
	vectors->columns = own_columns;
	vectors->kinds = own_kinds;

	at += head_bytes(column_count);
	vectors->rows = (uint32_t *) at;
	at += line_up(capacity * sizeof(uint32_t));
	for (unsigned i = 0; i < column_count; i++)
	{
		vectors->data[i] = at;
		at += line_up(capacity * cell_bytes(kinds[i]));
		vectors->nulls[i] = at;
		at += line_up(capacity);
	}
	tg_assert(at == (unsigned char *) memory + tg_vectors_bytes(kinds, column_count, capacity));
	return vectors;
}

/* --- versions anywhere ----------------------------------------------------------------- */

/* Each version's value, if not NULL; versions that follow each other are mostly of one chunk. */
#define COLLECT(statement)                                                                                             \
	for (unsigned i = 0; i < count; i++)                                                                               \
	{                                                                                                                  \
		unsigned slot = tg_version_slot(versions[i]);                                                                  \
                                                                                                                       \
		if (tg_version_chunk(versions[i]) != chunk)                                                                    \
		{                                                                                                              \
			chunk = tg_version_chunk(versions[i]);                                                                     \
			may_be_null = !tg_chunk_has_column(chunk, column) || tg_chunk_may_be_null(chunk, column);                  \
			base = tg_chunk_has_column(chunk, column) ? tg_chunk_column(chunk, column) : NULL;                         \
			tg_assert(base == NULL || chunk->layout->kinds[column] == kind);                                           \
		}                                                                                                              \
		tg_assert(slot < chunk->capacity);                                                                             \
		nulls[i] = may_be_null && tg_chunk_is_null(chunk, column, slot);                                               \
		if (!nulls[i])                                                                                                 \
			statement;                                                                                                 \
	}

/* One column of them.  Loops are one for each width. */
static void
collect_column(tg_vectors *vectors, unsigned vector, const tg_version *versions, unsigned count)
{
	unsigned column = vectors->columns[vector];
	tg_kind kind = vectors->kinds[vector];
	uint8_t *nulls = vectors->nulls[vector] + vectors->count;
	uint64_t *words = (uint64_t *) vectors->data[vector] + vectors->count;
	tg_value *cells = (tg_value *) vectors->data[vector] + vectors->count;
	const tg_chunk *chunk = NULL;
	const void *base = NULL;
	bool may_be_null = false;

	switch (kind)
	{
		case TG_KIND_1:
			COLLECT(words[i] = (uint64_t) (int64_t) ((const int8_t *) base)[slot]);
			break;
		case TG_KIND_2:
			COLLECT(words[i] = (uint64_t) (int64_t) ((const int16_t *) base)[slot]);
			break;
		case TG_KIND_4:
			COLLECT(words[i] = (uint64_t) (int64_t) ((const int32_t *) base)[slot]);
			break;
		case TG_KIND_8:
			COLLECT(words[i] = ((const uint64_t *) base)[slot]);
			break;
		default:
			COLLECT(cells[i] = ((const tg_value *) base)[slot]);
			break;
	}
}

void
tg_vectors_collect(tg_vectors *vectors, const tg_version *versions, const uint32_t *rows, unsigned version_count)
{
	tg_assert(version_count <= vectors->capacity - vectors->count);
	for (unsigned i = 0; i < vectors->column_count; i++)
		collect_column(vectors, i, versions, version_count);
	memcpy(vectors->rows + vectors->count, rows, version_count * sizeof(uint32_t));
	vectors->count += version_count;
}

/* --- many slots of a chunk ----------------------------------------------------------- */

/* Neighbouring slots: in points to the first one's value. */
static void
widen_1(uint64_t *restrict out, const int8_t *restrict in, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = (uint64_t) (int64_t) in[i];
}

static void
widen_2(uint64_t *restrict out, const int16_t *restrict in, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = (uint64_t) (int64_t) in[i];
}

static void
widen_4(uint64_t *restrict out, const int32_t *restrict in, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = (uint64_t) (int64_t) in[i];
}

/* Selected slots: in points to the column. */
static void
pick_1(uint64_t *restrict out, const int8_t *restrict in, const uint16_t *restrict slots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = (uint64_t) (int64_t) in[slots[i]];
}

static void
pick_2(uint64_t *restrict out, const int16_t *restrict in, const uint16_t *restrict slots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = (uint64_t) (int64_t) in[slots[i]];
}

static void
pick_4(uint64_t *restrict out, const int32_t *restrict in, const uint16_t *restrict slots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = (uint64_t) (int64_t) in[slots[i]];
}

static void
pick_8(uint64_t *restrict out, const uint64_t *restrict in, const uint16_t *restrict slots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = in[slots[i]];
}

static void
pick_16(tg_value *restrict out, const tg_value *restrict in, const uint16_t *restrict slots, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		out[i] = in[slots[i]];
}

static void
copy_neighbours(void *data, unsigned at, tg_kind kind, const void *base, unsigned first, unsigned count)
{
	switch (kind)
	{
		case TG_KIND_1:
			widen_1((uint64_t *) data + at, (const int8_t *) base + first, count);
			break;
		case TG_KIND_2:
			widen_2((uint64_t *) data + at, (const int16_t *) base + first, count);
			break;
		case TG_KIND_4:
			widen_4((uint64_t *) data + at, (const int32_t *) base + first, count);
			break;
		case TG_KIND_8:
			memcpy((uint64_t *) data + at, (const uint64_t *) base + first, count * sizeof(uint64_t));
			break;
		case TG_KIND_16:
		case TG_KIND_STRING:
			memcpy((tg_value *) data + at, (const tg_value *) base + first, count * sizeof(tg_value));
			break;
	}
}

static void
copy_selected(void *data, unsigned at, tg_kind kind, const void *base, const uint16_t *slots, unsigned count)
{
	switch (kind)
	{
		case TG_KIND_1:
			pick_1((uint64_t *) data + at, base, slots, count);
			break;
		case TG_KIND_2:
			pick_2((uint64_t *) data + at, base, slots, count);
			break;
		case TG_KIND_4:
			pick_4((uint64_t *) data + at, base, slots, count);
			break;
		case TG_KIND_8:
			pick_8((uint64_t *) data + at, base, slots, count);
			break;
		case TG_KIND_16:
		case TG_KIND_STRING:
			pick_16((tg_value *) data + at, base, slots, count);
			break;
	}
}

/* The null bytes of the slots, from a column's bitmap. */
static void
copy_nulls(uint8_t *nulls, const uint64_t *bitmap, const uint16_t *slots, unsigned count)
{
	uint64_t words[TG_SLOT_MAX / 64];
	unsigned first = slots[0] / 64;
	unsigned last = slots[count - 1] / 64;
	uint64_t any = 0;

	for (unsigned i = first; i <= last; i++)
	{
		words[i] = tg_load_relaxed(&bitmap[i]);
		any |= words[i];
	}
	if (any == 0)
		memset(nulls, 0, count);
	else
		for (unsigned i = 0; i < count; i++)
			nulls[i] = words[slots[i] / 64] >> (slots[i] % 64) & 1;
}

void
tg_vectors_gather(tg_vectors *vectors, const tg_chunk *chunk, const uint16_t *slots, const uint32_t *rows,
				  unsigned slot_count)
{
	unsigned at = vectors->count;
	unsigned words = tg_chunk_bitmap_words(chunk);
	bool neighbours;

	if (slot_count == 0)
		return;
	tg_assert(slot_count <= vectors->capacity - at && slots[slot_count - 1] < chunk->capacity);
	neighbours = slots[slot_count - 1] - slots[0] + 1u == slot_count; /* they ascend */

	for (unsigned i = 0; i < vectors->column_count; i++)
	{
		unsigned column = vectors->columns[i];
		const void *base;

		if (!tg_chunk_has_column(chunk, column))
		{
			memset(vectors->nulls[i] + at, 1, slot_count);
			continue;
		}
		tg_assert(chunk->layout->kinds[column] == vectors->kinds[i]);
		base = tg_chunk_column(chunk, column);
		if (neighbours)
			copy_neighbours(vectors->data[i], at, vectors->kinds[i], base, slots[0], slot_count);
		else
			copy_selected(vectors->data[i], at, vectors->kinds[i], base, slots, slot_count);
		if (tg_chunk_may_be_null(chunk, column))
			copy_nulls(vectors->nulls[i] + at, chunk->nulls + (size_t) column * words, slots, slot_count);
		else
			memset(vectors->nulls[i] + at, 0, slot_count);
	}
	if (rows != NULL)
		memcpy(vectors->rows + at, rows, slot_count * sizeof(uint32_t));
	else if (neighbours)
		memcpy(vectors->rows + at, chunk->rows + slots[0], slot_count * sizeof(uint32_t));
	else
		for (unsigned i = 0; i < slot_count; i++)
			vectors->rows[at + i] = chunk->rows[slots[i]];
	vectors->count = at + slot_count;
}

/* --- fewer rows ------------------------------------------------------------------------ */

void
tg_vectors_keep(tg_vectors *vectors, const uint16_t *kept, unsigned kept_count)
{
	tg_assert(kept_count <= vectors->count);
	if (kept_count == vectors->count)
		return;
	for (unsigned i = 0; i < vectors->column_count; i++)
	{
		uint64_t *words = vectors->data[i];
		tg_value *cells = vectors->data[i];

		for (unsigned row = 0; row < kept_count; row++)
		{
			if (vectors->kinds[i] >= TG_KIND_16)
				cells[row] = cells[kept[row]];
			else
				words[row] = words[kept[row]];
			vectors->nulls[i][row] = vectors->nulls[i][kept[row]];
		}
	}
	for (unsigned row = 0; row < kept_count; row++)
		vectors->rows[row] = vectors->rows[kept[row]];
	vectors->count = kept_count;
}
