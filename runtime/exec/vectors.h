/*
 * vectors.h
 *	  A batch of rows, column by column, which scans fill and consumers read.
 *
 * Lies in one piece of memory of the caller's (private, or a channel's buffer
 * in the arena).  Of the table's columns it holds those asked for.  Values up
 * to 8 bytes wide are sign-extended to 8 (the host's datum as it is), others
 * are 16-byte cells, copied; blobs that cells point to stay where they are for
 * as long as the snapshot is published.
 */
#ifndef TG_VECTORS_H
#define TG_VECTORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"

typedef struct tg_vectors
{
	uint32_t capacity; /* rows it can hold */
	uint32_t count;	   /* rows it holds */
	uint16_t column_count;
	/* the table's column of each vector; caller's, or in the same memory */
	const uint16_t *columns;
	const uint8_t *kinds; /* tg_kind of each vector */
	void **data;		  /* uint64_t[capacity] or tg_value[capacity] */
	uint8_t **nulls;	  /* one byte per row */
	uint32_t *rows;		  /* row ids */
} tg_vectors;

/* Bytes of memory for capacity rows of these kinds (the arrays columns and kinds included). */
extern size_t tg_vectors_bytes(const uint8_t *kinds, unsigned column_count, unsigned capacity);

/*
 * Lays vectors out in memory (64-byte aligned) of that size; columns and kinds are copied into it.
 */
extern tg_vectors *tg_vectors_init(void *memory, const uint16_t *columns, const uint8_t *kinds, unsigned column_count,
								   unsigned capacity);

/*
 * Appends versions that may lie anywhere, with their rows.  Inside an epoch; count + version_count
 * ≤ capacity.
 */
extern void tg_vectors_collect(tg_vectors *vectors, const tg_version *versions, const uint32_t *rows,
							   unsigned version_count);

/*
 * Appends the selected slots (ascending) of one chunk. rows: their row numbers; NULL: taken from
 * the chunk. count + slot_count ≤ capacity.
 */
extern void tg_vectors_gather(tg_vectors *vectors, const tg_chunk *chunk, const uint16_t *slots, const uint32_t *rows,
							  unsigned slot_count);

/* Keeps these rows (ascending), in their order, and drops the others. */
extern void tg_vectors_keep(tg_vectors *vectors, const uint16_t *kept, unsigned kept_count);

#endif /* TG_VECTORS_H */
