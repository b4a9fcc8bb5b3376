/*
 * row_walk.h
 *	  A walk over a storage's visible rows, for callers that read all of them (rewrite.h,
 *	  store_anew.h).
 */
#ifndef TSURUGI_ROW_WALK_H
#define TSURUGI_ROW_WALK_H

#include "executor/tuptable.h"

#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/exec/range_scan.h"
#include "runtime/exec/scan.h"
#include "runtime/exec/vectors.h"
#include "src/table/relation.h"

/* The values that it returns stay valid until the next batch of rows. */
typedef struct tsurugi_row_walk
{
	MemoryContext context;
	tg_chunk_scan scan;
	tg_range_scan *range; /* in the order of an index; NULL: as they are stored */
	tg_vectors *vectors;
	/* Columns that are read: the attributes that the storage and the catalogs know. */
	int column_count;
	unsigned at; /* position in the batch, which vectors hold */
} tsurugi_row_walk;

/*
 * The position is before the first row.  The walk has its own snapshot, taken now and held until
 * the walk is closed.
 */
extern tsurugi_row_walk *tsurugi_row_walk_open(tg_table *table, int attribute_count);
extern void tsurugi_row_walk_close(tsurugi_row_walk *walk);

/*
 * Orders the rows by an index, or by the primary key (NULL); called before the first row.  An index
 * that has several entries for a row, or none, gives no order: the rows then come as they are
 * stored.
 */
extern void tsurugi_row_walk_order(tsurugi_row_walk *walk, tg_index *index);

/* Goes to the next row; at is 0 where a batch begins.  False: there is no more row. */
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

/* Puts the row into a virtual slot; datums of numeric are made in the current context. */
extern void tsurugi_row_walk_to_slot(const tsurugi_row_walk *walk, const tsurugi_relation *described,
									 TupleTableSlot *slot);

#endif /* TSURUGI_ROW_WALK_H */
