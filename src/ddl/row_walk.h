/*
 * row_walk.h
 *	  A walk over a storage's visible rows, for what looks at all of them (rewrite.h, store_anew.h).
 */
#ifndef TSURUGI_ROW_WALK_H
#define TSURUGI_ROW_WALK_H

#include "executor/tuptable.h"

#include "runtime/runtime.h"
#include "src/table/relation.h"

/* What it hands out stays until the next batch of rows. */
typedef struct tsurugi_row_walk
{
	MemoryContext context;
	tg_chunk_scan scan;
	tg_range_scan *range; /* in the order of an index; NULL: as they are stored */
	tg_vectors *vectors;
	int column_count; /* that are read: attributes that the layout and the catalogs know */
	unsigned at;	  /* of the batch, which vectors hold */
} tsurugi_row_walk;

/* Before the first row.  With a snapshot of its own, of now, until it is closed. */
extern tsurugi_row_walk *tsurugi_row_walk_open(tg_table *table, int attribute_count);
extern void tsurugi_row_walk_close(tsurugi_row_walk *walk);

/*
 * Puts the rows in the order of an index, NULL: the primary key's; before the first.  One that has several entries for a row, or
 * none, has no order of rows: they stay in theirs.
 */
extern void tsurugi_row_walk_order(tsurugi_row_walk *walk, tg_index *index);

/* Goes to the next row; at is 0 where a batch begins.  False: there is none. */
extern bool tsurugi_row_walk_next(tsurugi_row_walk *walk);

static inline bool
tsurugi_row_walk_is_null(const tsurugi_row_walk *walk, int column)
{
	return column >= walk->column_count || walk->vectors->nulls[column][walk->at] != 0;
}

static inline const void *
tsurugi_row_walk_cell(const tsurugi_row_walk *walk, int column)
{
	if (walk->vectors->kinds[column] <= TG_KIND_8)
		return &((const uint64_t *) walk->vectors->data[column])[walk->at];
	return &((const tg_value *) walk->vectors->data[column])[walk->at];
}

/* The row in a virtual slot; datums of numeric in the current context. */
extern void tsurugi_row_walk_to_slot(const tsurugi_row_walk *walk, const tsurugi_relation *described,
									 TupleTableSlot *slot);

#endif /* TSURUGI_ROW_WALK_H */
