/*
 * scan.h
 *	  Reading whole tables, in place or by tasks of the pool; range_scan.h has ranges of keys.
 */
#ifndef TG_SCAN_H
#define TG_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/table/limits.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/wait.h"

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
