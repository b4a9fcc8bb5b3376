/*
 * range_scan.h
 *	  Reading the rows of a range of keys, in place; by scan.c.
 */
#ifndef TG_RANGE_SCAN_H
#define TG_RANGE_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/btree/btree.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/wait.h"

typedef struct tg_row_set tg_row_set; /* row_set.h */
typedef struct tg_sought tg_sought;	  /* sought.h */
typedef struct tg_vectors tg_vectors; /* vectors.h */

#define TG_RANGE_ROWS_AHEAD 128 /* row ids taken from the index at once */
#define TG_RANGE_KEY_BYTES 4096 /* and, of a secondary index, so many bytes of entries */

typedef struct tg_range_scan
{
	tg_table *table;
	tg_index *index; /* NULL: the primary key */
	tg_snapshot snapshot;
	bool busy;	  /* as of a chunk scan */
	tg_wait wait; /* if busy */
	/* NULL, or set by the caller after init, for a scan of one of its ranges */
	const tg_sought *sought;
	/* NULL, or set in the same way: rows that are not in it are skipped */
	const tg_row_set *within;
	uint64_t passed_over; /* number of rows skipped so */
	uint32_t row_guessed; /* TG_ROW_MAX: none; see tg_range_scan_guess */
	/* rows at the end of pending that were taken from the index but not examined */
	uint32_t pending_count;
	uint32_t pending[TG_RANGE_ROWS_AHEAD];
	tg_btree_cursor cursor;
	unsigned char entries[TG_RANGE_KEY_BYTES]; /* of the pending rows, if of a secondary index */
} tg_range_scan;

/*
 * Scans an index (NULL: the primary key) between two bounds, which are like those of a cursor.  For
 * a secondary index they are keys or prefixes of keys, never entries: the row number behind the key
 * is internal to the index.  The bounds belong to the caller and live as long as the scan.
 */
extern void tg_range_scan_init(tg_range_scan *scan, tg_table *table, tg_index *index, const tg_snapshot *snapshot,
							   const void *low, size_t low_bytes, bool low_inclusive, const void *high,
							   size_t high_bytes, bool high_inclusive, bool backward);

/*
 * To be called before the first next, with a guess of the first row (tg_row_guess).  The guess
 * implies that the rows behind it follow.  The scan prefetches the data of these rows before it
 * reads the index.  A wrong guess costs some cache lines.
 */
static inline void
tg_range_scan_guess(tg_range_scan *scan, uint32_t row)
{
	scan->row_guessed = row;
}

/*
 * As tg_chunk_scan_next, in key order.  Takes at most limit rows (≤ capacity), so that a first call
 * can ask for few.
 */
extern unsigned tg_range_scan_next(tg_session *session, tg_range_scan *scan, tg_vectors *vectors, unsigned limit);

/*
 * As tg_range_scan_next, but for one epoch at most, for callers with other work in between, however
 * few rows there are. *more_out: the end of the range has not been reached.
 */
extern unsigned tg_range_scan_step(tg_session *session, tg_range_scan *scan, tg_vectors *vectors, unsigned limit,
								   bool *more_out);

#endif /* TG_RANGE_SCAN_H */
