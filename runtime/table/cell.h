/*
 * cell.h
 *	  Reads values of versions where they lie, in a chunk.
 */
#ifndef TG_TABLE_CELL_H
#define TG_TABLE_CELL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"

/* Reads one value of a version, which is not NULL. */
static inline void
tg_chunk_value(const tg_chunk *chunk, unsigned column, unsigned slot, tg_value *value)
{
	const void *base = tg_chunk_column(chunk, column);

	switch (chunk->layout->kinds[column])
	{
		case TG_KIND_1:
			value->word = (uint64_t) (int64_t) ((const int8_t *) base)[slot];
			break;
		case TG_KIND_2:
			value->word = (uint64_t) (int64_t) ((const int16_t *) base)[slot];
			break;
		case TG_KIND_4:
			value->word = (uint64_t) (int64_t) ((const int32_t *) base)[slot];
			break;
		case TG_KIND_8:
			value->word = ((const uint64_t *) base)[slot];
			break;
		default:
			*value = ((const tg_value *) base)[slot];
			break;
	}
}

/* A version's value in a column; false: it is NULL.  Inside an epoch. */
static inline bool
tg_version_value(tg_version version, unsigned column, tg_value *value_out)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	unsigned slot = tg_version_slot(version);

	if (tg_chunk_is_null(chunk, column, slot))
		return false;
	tg_chunk_value(chunk, column, slot, value_out);
	return true;
}

/* The address of a value. */
static inline const void *
tg_chunk_cell(const tg_chunk *chunk, unsigned column, unsigned slot)
{
	unsigned kind = chunk->layout->kinds[column];

	return (const char *) tg_chunk_column(chunk, column) + ((size_t) slot << (kind <= TG_KIND_8 ? kind : 4));
}

#endif /* TG_TABLE_CELL_H */
