/*
 * fill.h
 *	  Rows put into new chunks of a table, many at a time and column by column.
 *
 * For contents that are known to be committed, while no session reads the table: the chunks never
 * have headers, so each version is one that every snapshot sees.  Several threads may fill one
 * table, each with a fill of its own; their rows are different.  Claims are TG_ESSENTIAL.
 *
 * The caller asks for room, stores the values of all columns of the rows, and then adds the rows.
 * The cells of a chunk that have no row are zero before: fixed values 0, strings empty, none NULL.
 */
#ifndef TG_FILL_H
#define TG_FILL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/table/table.h"

typedef struct tg_fill
{
	tg_session *session; /* of the calling thread; may be changed between two calls */
	tg_table *table;
	tg_chunk *chunk; /* leased; NULL: none */
	unsigned slot;	 /* the next one to be filled */
} tg_fill;

/* Begins; the table stays the caller's. */
extern void tg_fill_begin(tg_fill *fill, tg_session *session, tg_table *table);

/* Free slots of a chunk, from the first one on. */
typedef struct tg_fill_room
{
	tg_chunk *chunk;
	unsigned slot;
	unsigned count; /* 1 at least */
} tg_fill_room;

/* Room for as many rows as one chunk has, wanted at most.  TG_NO_MEMORY. */
extern tg_status tg_fill_room_get(tg_fill *fill, unsigned wanted, tg_fill_room *room_out) TG_MUST_USE;

/*
 * Stores values of a column of a kind of fixed length: as many as the room has rows, as the column
 * has them.  Those of NULLs are of no meaning.
 */
extern void tg_fill_words(const tg_fill_room *room, unsigned column, const void *values);

/*
 * Stores strings: those marked HOST are copied, others are inline.  TG_NO_MEMORY: the cells are
 * empty.
 */
extern tg_status tg_fill_strings(const tg_fill *fill, const tg_fill_room *room, unsigned column,
								 const tg_string *strings) TG_MUST_USE;

/* Empties the cells again. */
extern void tg_fill_strings_drop(const tg_fill *fill, const tg_fill_room *room, unsigned column);

/* The value of a row of the room is NULL. */
extern void tg_fill_null(const tg_fill_room *room, unsigned column, unsigned row);

/*
 * The room has these rows now; each was placed (tg_row_place), and has no version.
 */
extern void tg_fill_add(tg_fill *fill, const tg_fill_room *room, const uint32_t *rows);

/* The hidden values of a row of the room, which is one of a companion, are known. */
extern void tg_fill_companion_add(const tg_fill_room *room, unsigned row);

/* Ends: what is left of the last chunk is free for other versions. */
extern void tg_fill_end(tg_fill *fill);

#endif /* TG_FILL_H */
