/*
 * scan_internal.h
 *	  The interface between the core of a scan and its sources (scan.h).
 */
#ifndef TSURUGI_SCAN_INTERNAL_H
#define TSURUGI_SCAN_INTERNAL_H

#include "runtime/table/cell.h"
#include "runtime/table/expect.h"
#include "runtime/table/table.h"
#include "runtime/reclaim/preserve.h"
#include "src/exec/scan_key.h"

typedef struct tg_vectors tg_vectors; /* vectors.h */

/* --- scan.c ------------------------------------------------------------------------------ */

/* Makes the source by one index: by key, or by ranges of any kind. */
extern tsurugi_source *tsurugi_index_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access,
												 const List *values);

/* --- key_scan.c -------------------------------------------------------------------------- */

extern tsurugi_source *tsurugi_key_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access,
											   const List *values);

/* --- scan_run.c -------------------------------------------------------------------------- */

/* The part of making a scan that its rows need. */
extern void tsurugi_scan_init_rows(tsurugi_scan *scan, ForeignScan *plan);

/* Memory for batches with the scan's columns. */
extern tg_vectors *tsurugi_scan_make_vectors(const tsurugi_scan *scan, MemoryContext context, unsigned rows);

/* Puts a row of a batch that is not the scan's own into its slot: the row at that place. */
extern void tsurugi_scan_fill_from(tsurugi_scan *scan, const tsurugi_batch *batch, uint32_t at, TupleTableSlot *slot);

/* The columns of a version into the scan's cells.  Inside an epoch. */
static inline void
tsurugi_scan_read_cells(tsurugi_scan *scan, tg_version version)
{
	for (int i = 0; i < scan->column_count; i++)
		scan->cell_nulls[i] = !tg_version_value(version, scan->columns[i], &scan->cells[i]);
}

/* --- scan_level.c ------------------------------------------------------------------------ */

/* Before a source is read, where the transaction has one snapshot; key and range are known. */
extern void tsurugi_source_begin_at_level(tsurugi_source *source);

/*
 * Lets a source make the key or range of its turn, again if a value in it had no rank: what the
 * transaction sees may have been renewed since.  False if no row has it.
 */
extern bool tsurugi_source_make_ranked(tsurugi_source *source, tsurugi_keys *keys,
									   bool (*make)(tsurugi_source *source));


/* The area between the two ends of a gap, or of a key that is made. */
extern tg_area tsurugi_keys_area(const tsurugi_keys *keys);

/* --- scan_expect.c ----------------------------------------------------------------------- */

/* Where rows lay, from one execution to the next. */
typedef struct tsurugi_guess
{
	bool learns; /* it is of use */
	tg_row_guess row;
	tg_place_guess place; /* of the last row that was found */
} tsurugi_guess;

/*
 * Asks for the leaf that has the key, and for the row that is guessed.  Whether the row's values
 * could be asked for, too.
 */
extern bool tsurugi_guess_expect_leaf(const tsurugi_scan *scan, const tsurugi_guess *guess, const tsurugi_keys *keys,
									  tg_index *stored);

/* Asks for the values of a row. */
extern void tsurugi_scan_expect_cells(const tsurugi_scan *scan, uint32_t row);

/* After a look-up by the key that has found a row: where it lay. */
extern void tsurugi_guess_learn(tsurugi_guess *guess, const tsurugi_keys *keys, uint32_t row, tg_version version);

#endif /* TSURUGI_SCAN_INTERNAL_H */
