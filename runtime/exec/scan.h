/*
 * scan.h
 *	  Reading tables: whole, by key range, in place or by tasks of the pool.
 */
#ifndef TG_SCAN_H
#define TG_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/btree/btree.h"
#include "runtime/table/limits.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/wait.h"

typedef struct tg_row_set tg_row_set; /* row_set.h */
typedef struct tg_sought tg_sought;	  /* sought.h */
typedef struct tg_vectors tg_vectors; /* vectors.h */

/* --- whole table, in place ------------------------------------------------------- */

typedef struct tg_chunk_scan
{
	tg_table *table;
	tg_snapshot snapshot;
	uint32_t chunk; /* where it continues */
	uint32_t chunk_end;
	uint32_t slot;
	bool busy;	  /* the last call ended before a row whose visibility depends on wait */
	tg_wait wait; /* if busy */
} tg_chunk_scan;

/* Chunks [first, end) of a table; end is limited to the present number of chunks. */
extern void tg_chunk_scan_init(tg_chunk_scan *scan, tg_table *table, const tg_snapshot *snapshot, uint32_t first,
							   uint32_t end);

/*
 * Fills vectors (emptied first) with the next visible rows; 0 rows only at the
 * end, or if busy: then wait and call again.  Enters and leaves an epoch.
 */
extern unsigned tg_chunk_scan_next(tg_session *session, tg_chunk_scan *scan, tg_vectors *vectors);

/*
 * As tg_chunk_scan_next, but appends to the rows that vectors hold already.  Returns the number of
 * rows added, 0 also if there is no room.
 */
extern unsigned tg_chunk_scan_append(tg_session *session, tg_chunk_scan *scan, tg_vectors *vectors);

/*
 * For readers of chunks that do without vectors: the slots that the snapshot sees, ascending, all
 * at once.  *first_out: they are the first *count_out slots of a settled chunk, and are not written
 * down.  False: the visibility of one is not decided yet (V1); come again later.  Inside an epoch,
 * and as long as it lasts the values may be read in place.
 */
extern bool tg_chunk_select(const tg_snapshot *snapshot, const tg_chunk *chunk, uint16_t slots[TG_SLOT_MAX],
							unsigned *count_out, bool *first_out) TG_MUST_USE;

/* --- by key range, in place ----------------------------------------------------------- */

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

/* --- whole table, by tasks of the pool --------------------------------------------------- */

typedef struct tg_scan_job tg_scan_job;

typedef struct tg_scan_job_config
{
	tg_table *table;
	tg_snapshot snapshot; /* its time is published by the caller's session now */
	const uint16_t *columns;
	const uint8_t *kinds;
	unsigned column_count;
	unsigned tasks;		  /* 0: one per worker */
	unsigned buffer_rows; /* rows of a buffer; 0: a vector */
	void *waiter;		  /* the host's word for tg_host_wake */
	uint64_t owner;
	uint32_t object;
	uint64_t memory_max; /* bytes of its buffers; 0: no bound */
} tg_scan_job_config;

/*
 * Starts the scan.  TG_STOPPED (also if the settings demand a scan in place), TG_FULL,
 * TG_NO_MEMORY: nothing was started, and the caller scans in place instead.
 */
extern tg_status tg_scan_job_start(tg_session *session, const tg_scan_job_config *config,
								   tg_scan_job **scan_out) TG_MUST_USE;

/*
 * Fetches the next staged buffer.  TG_OK: *vectors_out is valid until the next call or the end of
 * the scan; TG_BUSY: none yet, the waiter is woken when there is one; TG_NOT_FOUND: all rows were
 * handed out; TG_CANCELLED, TG_NO_MEMORY …: the status of the job's end; TG_STOPPED: the pool has
 * been stopped meanwhile.
 */
extern tg_status tg_scan_job_next(tg_session *session, tg_scan_job *scan, const tg_vectors **vectors_out) TG_MUST_USE;

/*
 * Ends the consumer's side at any moment: gives its buffer back and cancels the running tasks.  The
 * job comes to its own end and frees everything.  Does not wait.
 */
extern void tg_scan_job_end(tg_session *session, tg_scan_job *scan);

#endif /* TG_SCAN_H */
