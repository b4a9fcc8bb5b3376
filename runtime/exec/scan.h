/*
 * scan.h
 *	  Reading tables: whole, by key range, in place or by tasks of the pool.
 */
#ifndef TG_SCAN_H
#define TG_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/exec/channel.h"
#include "runtime/exec/row_set.h"
#include "runtime/exec/sought.h"
#include "runtime/exec/vectors.h"
#include "runtime/sched/job.h"
#include "runtime/btree/btree.h"
#include "runtime/txn/txn.h"

/* --- whole table, in place ------------------------------------------------------- */

typedef struct tg_chunk_scan
{
	tg_table *table;
	tg_snapshot snapshot;
	uint32_t chunk; /* where it goes on */
	uint32_t chunk_end;
	uint32_t slot;
	bool busy;	  /* the last call ended before a row that wait decides on */
	tg_wait wait; /* if busy */
} tg_chunk_scan;

/* Chunks [first, end) of a table; end is cut to what there is now. */
extern void tg_chunk_scan_init(tg_chunk_scan *scan, tg_table *table, const tg_snapshot *snapshot, uint32_t first,
							   uint32_t end);

/*
 * Fills vectors (emptied first) with the next visible rows; 0 rows only at the
 * end, or if busy: then wait and call again.  Enters and leaves an epoch.
 */
extern unsigned tg_chunk_scan_next(tg_session *session, tg_chunk_scan *scan, tg_vectors *vectors);

/* The same behind the rows that vectors hold already; returns how many came, 0 also if there is no room. */
extern unsigned tg_chunk_scan_append(tg_session *session, tg_chunk_scan *scan, tg_vectors *vectors);

/* --- by key range, in place ----------------------------------------------------------- */

#define TG_RANGE_ROWS_AHEAD 128 /* row ids taken from the index at once */
#define TG_RANGE_KEY_BYTES 4096 /* and, of a secondary index, so many bytes of entries */

typedef struct tg_range_scan
{
	tg_table *table;
	tg_index *index; /* NULL: the primary key */
	tg_snapshot snapshot;
	bool busy;				  /* as of a chunk scan */
	tg_wait wait;			  /* if busy */
	const tg_sought *sought;  /* NULL, or set by the caller once the scan is made, along the range that is read */
	const tg_row_set *within; /* NULL, or set in the same way: rows that are not in it are passed over, */
	uint64_t passed_over;	  /* so many by now */
	uint32_t row_guessed;	  /* TG_ROW_MAX: none; see tg_range_scan_guess */
	uint32_t pending_count;	  /* rows at the end of pending that have been taken from the index and not looked at */
	uint32_t pending[TG_RANGE_ROWS_AHEAD];
	tg_btree_cursor cursor;
	unsigned char entries[TG_RANGE_KEY_BYTES]; /* of the pending rows, if of a secondary index */
} tg_range_scan;

/*
 * Along an index (NULL: the primary key) between two bounds, which are as those
 * of a cursor: of a secondary index they are keys or beginnings of keys, never
 * entries, since the row's number behind the key is the index's own matter.  The
 * bounds belong to the caller and live as long as the scan.
 */
extern void tg_range_scan_init(tg_range_scan *scan, tg_table *table, tg_index *index, const tg_snapshot *snapshot,
							   const void *low, size_t low_bytes, bool low_inclusive, const void *high,
							   size_t high_bytes, bool high_inclusive, bool backward);

/*
 * Before the first call of next: a guess which row comes first (tg_row_guess), and that the others follow it.  What such rows
 * lead to is asked for before the index is read.  Wrong, it costs some lines of the caches.
 */
static inline void
tg_range_scan_guess(tg_range_scan *scan, uint32_t row)
{
	scan->row_guessed = row;
}

/* As above, in key order; takes at most limit rows (≤ capacity), so that a first call can ask for few. */
extern unsigned tg_range_scan_next(tg_session *session, tg_range_scan *scan, tg_vectors *vectors, unsigned limit);

/*
 * The same, but for one epoch at the most, for who has to look after something in between however few rows there are:
 * *more_out: it was too short to tell the end.
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
} tg_scan_job_config;

/*
 * Starts it.  TG_STOPPED, TG_FULL, TG_NO_MEMORY: nothing was started, the
 * caller scans in place instead.
 */
extern tg_status tg_scan_job_start(tg_session *session, const tg_scan_job_config *config,
								   tg_scan_job **scan_out) TG_MUST_USE;

/*
 * The next staged buffer: TG_OK and *vectors_out (given back by the next call,
 * or by the end); TG_BUSY: none yet, the waiter is woken when there is one;
 * TG_NOT_FOUND: all rows were handed out; TG_CANCELLED, TG_NO_MEMORY … as the
 * job ended; TG_STOPPED: the pool has been stopped meanwhile.
 */
extern tg_status tg_scan_job_next(tg_session *session, tg_scan_job *scan, const tg_vectors **vectors_out) TG_MUST_USE;

/*
 * Ends the consumer's side at any moment: gives its buffer back, cancels what
 * runs; the job goes on to its own end and frees everything.  Does not wait.
 */
extern void tg_scan_job_end(tg_session *session, tg_scan_job *scan);

#endif /* TG_SCAN_H */
