/*
 * scan_read.c
 *	  Steps of a scan: the next row by key, or the next batch of a range, of a table, of the pool's buffers.
 */
#include "postgres.h"

#include "src/base/status_error.h"
#include "src/exec/scan_internal.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "src/base/session.h"
#include "src/exec/gin_scan.h"
#include "src/exec/nearest.h"
#include "src/exec/or_scan.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_watch.h"
#include "src/txn/transaction.h"

/* --- a row ------------------------------------------------------------------------------- */

/* Inside an epoch. */
static void
read_cells(tsurugi_scan *scan, tg_version version)
{
	for (int i = 0; i < scan->column_count; i++)
		scan->cell_nulls[i] = !tg_version_value(version, scan->columns[i], &scan->cells[i]);
}

static bool
find_by_key(tsurugi_scan *scan)
{
	tg_version version;
	tg_status status;
	tg_wait wait;

	if (scan->looked_up || (scan->key_bytes == 0 && !tsurugi_scan_make_source(scan)))
		return false;
	scan->looked_up = true;
	if (unlikely(tsurugi_snapshot_age_limit_ms > 0))
		tsurugi_snapshot_check();
	if (tsurugi_has_one_snapshot())
		tsurugi_scan_begin_at_level(scan);
again:
	tg_epoch_enter(scan->session);
	if (scan->row_expected)
		status = tg_txn_read(&scan->snapshot, scan->described->table, scan->row, &version, &wait);
	else
		status = tg_txn_find(&scan->snapshot, scan->described->table, scan->key, scan->key_bytes, &scan->row, &version,
							 &wait);
	if (tsurugi_tracks)
		tsurugi_scan_note_row(scan, status, version);
	if (status == TG_OK)
	{
		read_cells(scan, version);
		if (scan->learns)
			tsurugi_scan_learn(scan, version);
	}
	tg_epoch_leave(scan->session);
	if (unlikely(status == TG_BUSY))
	{
		tsurugi_wait_for_outcome(&wait);
		goto again;
	}
	return status == TG_OK;
}

bool
tsurugi_scan_read_row(tsurugi_scan *scan)
{
	scan->vectors = NULL;
	for (;;)
	{
		tg_version version;
		tg_status status;
		tg_wait wait;

		tg_epoch_enter(scan->session);
		status = tg_txn_read(&scan->snapshot, scan->described->table, scan->row, &version, &wait);
		if (status == TG_OK)
			read_cells(scan, version);
		tg_epoch_leave(scan->session);
		if (status != TG_BUSY)
			return status == TG_OK;
		tsurugi_wait_for_outcome(&wait);
	}
}

/* --- batches ----------------------------------------------------------------------------- */

/* The job's next buffer; sleeps while there is none, and can be interrupted. */
static bool
next_buffer(tsurugi_scan *scan)
{
	tsurugi_snapshot_check();
	for (;;)
	{
		tg_status status = tg_scan_job_next(scan->session, scan->job, &scan->vectors);

		if (status == TG_OK)
			return true;
		if (status == TG_NOT_FOUND)
			return false;
		if (status != TG_BUSY)
			tsurugi_error(status, scan->node->ss.ss_currentRelation);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

unsigned
tsurugi_read_chunks(tg_chunk_scan *scan, tg_vectors *vectors)
{
	for (;;)
	{
		unsigned count;

		CHECK_FOR_INTERRUPTS();
		tsurugi_snapshot_check();
		count = tg_chunk_scan_next(tsurugi_session(), scan, vectors);
		if (likely(count > 0 || !scan->busy))
			return count;
		tsurugi_wait_for_outcome(&scan->wait);
	}
}

unsigned
tsurugi_read_range(tg_range_scan *scan, tg_vectors *vectors, unsigned limit)
{
	for (;;)
	{
		unsigned count;
		bool more;

		CHECK_FOR_INTERRUPTS();
		tsurugi_snapshot_check();
		count = tg_range_scan_step(tsurugi_session(), scan, vectors, limit, &more);
		if (likely(count > 0 || (!scan->busy && !more)))
			return count;
		if (scan->busy)
			tsurugi_wait_for_outcome(&scan->wait);
	}
}

/* The next batch of a range; after a first one that is small. */
static unsigned
read_range(tsurugi_scan *scan)
{
	bool is_first = !scan->looked_up;
	unsigned limit = scan->one_row ? 1 : is_first ? TSURUGI_RANGE_ROWS_FIRST : TSURUGI_RANGE_ROWS;
	unsigned count;

	if (scan->one_row && !is_first)
		return 0;
	scan->looked_up = true;
	do
		count = tsurugi_read_range(scan->range, scan->own, limit);
	while (scan->sought != NULL && count > 0 && tsurugi_sought_filter(scan, count) == 0);
	if (scan->learns && is_first)
		tsurugi_scan_learn_range(scan);
	scan->figures.passed_over += scan->range->passed_over;
	scan->range->passed_over = 0;
	return count;
}

/* The next batch that is not empty. */
static bool
next_vectors(tsurugi_scan *scan)
{
	scan->figures.batches++;
	if (scan->job != NULL)
	{
		do
			if (!next_buffer(scan))
				return false;
		while (scan->vectors->count == 0);
		return true;
	}
	scan->vectors = scan->own;
	return (scan->shape.way == TSURUGI_WAY_RANGE ? read_range(scan) : tsurugi_read_chunks(&scan->chunks, scan->own)) >
		   0;
}

/* --- all turns ---------------------------------------------------------------------------- */

/* One combination of values. */
static bool
next_of_turn(tsurugi_scan *scan)
{
	return (scan->ready || tsurugi_scan_open_source(scan)) &&
		   (scan->shape.way == TSURUGI_WAY_KEY ? find_by_key(scan) : next_vectors(scan));
}

bool
tsurugi_scan_read_batch(tsurugi_scan *scan)
{
	bool found = false;

	if (scan->arms != NULL)
		return tsurugi_arms_next_batch(scan);
	while (!scan->done && !found)
	{
		CHECK_FOR_INTERRUPTS();
		found = next_of_turn(scan);
		scan->done = !found && !tsurugi_scan_next_source(scan);
	}
	scan->position = 0;
	scan->count = !found ? 0 : scan->vectors != NULL ? scan->vectors->count : 1;
	return found;
}

bool
tsurugi_scan_next_batch(tsurugi_scan *scan)
{
	return scan->nearest != NULL ? tsurugi_nearest_next(scan) : tsurugi_scan_read_batch(scan);
}
