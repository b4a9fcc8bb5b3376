/*
 * sections.h
 *	  Rows as a base has them: column by column, as they are stored.
 *
 * A block of a base's part holds sections.  Each has some rows of one storage, ascending by id:
 *
 *	bytes of the rest (4 bytes), storage id, number of columns, number of indexes, the id of each,
 *	number of rows, the first row's id; a byte: 0, the ids follow each other; 1: the distance from
 *	the row before, less 1, of each further row; then,
 *	for each column	a cell
 *	for each index	a byte that says of which rows its hidden values are known: 0, of none; 1, of
 *					all; 2, of those in a bitmap that follows; for each hidden value a cell
 *
 * A cell begins with a byte that says which rows have no value, likewise: it is NULL, or not known.
 * Unless all have none, the values of all rows follow: of a fixed length, as they are; of strings,
 * the numbers (length and form, as in operations.h), then the bytes of all.  In the place of a row
 * that has none there are zeros, or an empty string.  Numbers have variable length (bytes.h).
 */
#ifndef TG_SECTIONS_H
#define TG_SECTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/operations.h"

/* Rows of a section, at most. */
#define TG_SECTION_ROWS 1024

/* --- writing -------------------------------------------------------------------------- */

/* What the definitions that go with some rows know of a storage. */
typedef struct tg_known_cells
{
	unsigned column_count; /* its first columns */
	unsigned index_count;
	const uint64_t *indexes; /* ids */
} tg_known_cells;

/*
 * Appends a section with the rows, of count ones from the first one on, of which the snapshot sees
 * a version; as many as one section may have, and no more when there are bytes_max of them.  All
 * cells but the known ones are left out.  *done_out: so many ids, 1 at least, are through.  As
 * tg_operations_write_rows otherwise.
 */
extern tg_status tg_section_write(tg_table *table, const tg_snapshot *snapshot, uint32_t first, uint32_t count,
								  size_t bytes_max, const tg_known_cells *known, tg_bytes *bytes, uint32_t *done_out,
								  tg_wait *wait_out) TG_MUST_USE;

/* --- reading -------------------------------------------------------------------------- */

/* The kinds of the cells of a storage's rows, as tg_roster_shape gives them. */
typedef size_t (*tg_sections_shape)(void *context, uint64_t storage, unsigned column_count, const uint64_t *indexes,
									unsigned index_count, uint8_t *kinds, unsigned *cell_counts);

/* Where rows come to. */
typedef struct tg_sections_target
{
	tg_table *table;
	uint64_t storage; /* as the sections have it */
	uint32_t first;	  /* only rows from this one on */
	uint32_t end;	  /* and below this one */
	tg_sections_shape shape;
	void *context;
} tg_sections_target;

typedef struct tg_sections tg_sections;

/*
 * Begins to read sections of a table's rows into new chunks, with the row ids that they had, while
 * no session reads the table.  Several threads may do so at once, each with other rows, and may
 * call shape.  Keys and indexes get no entries.  TG_NO_MEMORY.
 */
extern tg_status tg_sections_begin(const tg_sections_target *target, tg_sections **sections_out) TG_MUST_USE;
extern void tg_sections_end(tg_sections *sections);

/*
 * Reads the sections of a block.  TG_DAMAGED: they cannot be the target's, or have a row that the
 * table has; TG_NO_MEMORY.  Sections before that one, and a part of its rows, are in the table.
 * Outside an epoch.  The session is the calling thread's, which may be another at each call.
 */
extern tg_status tg_sections_read(tg_sections *sections, tg_session *session, const void *data,
								  size_t count) TG_MUST_USE;

#endif /* TG_SECTIONS_H */
