/*
 * scan.c
 *	  A running scan: how it is made, begins, starts over, and ends.
 *
 *	scan_key.c, gin_scan.c, cover_scan.c	which keys, or ranges of keys, are looked for, one after the other
 *	scan_source.c							opens what rows come from
 *	scan_read.c								steps from batch to batch
 *	scan_run.c								hands rows up
 *	scan_expect.c, scan_level.c				beside that: what is fetched into the caches; what levels above READ COMMITTED ask
 *	and_scan.c								what other indexes have to have, too
 *	or_scan.c, nearest.c						several scans, or one read again and again, as one
 *
 * One row by key and ranges of an index are read in place, by the backend itself;
 * several, where there are lists of values, one after the other.
 * A whole table is read in place too, or, from tsurugi_fdw.scan_pool_rows rows
 * on, by tasks of the pool that fill buffers of an output channel.  Between two
 * rows the session is quiescent: blobs that a slot points to stay, because the
 * snapshot is published; everything else was copied.
 */
#include "postgres.h"

#include "src/exec/scan_internal.h"

#include "src/base/session.h"
#include "src/exec/and_scan.h"
#include "src/exec/cover_scan.h"
#include "src/exec/gin_scan.h"
#include "src/exec/nearest.h"
#include "src/exec/or_scan.h"
#include "src/exec/scan_key.h"
#include "src/txn/snapshot.h"

void
tsurugi_scan_init_index(tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values)
{
	scan->shape = access->shape;
	tsurugi_scan_key_init(scan, values);
	if (scan->index->gin != NULL)
		tsurugi_sought_init(scan, access);
	else if (scan->shape.covers > 0 || scan->shape.nearest)
		tsurugi_covers_init(scan, access);
}

tsurugi_scan *
tsurugi_scan_make(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	const tsurugi_scan_plan *said = tsurugi_scan_plan_of(plan);
	tsurugi_scan *scan = palloc0(sizeof(tsurugi_scan));
	tsurugi_scan_exprs exprs;

	tsurugi_scan_exprs_get(plan, &exprs);
	scan->node = node;
	scan->whole = scan;
	scan->memory = CurrentMemoryContext;
	scan->session = tsurugi_session();
	scan->described = tsurugi_relation_get(node->ss.ss_currentRelation);
	scan->shape = said->access->shape;
	scan->direct = said->direct;
	scan->locks_for = said->locks;
	tsurugi_scan_init_rows(scan, plan);
	if (scan->shape.way == TSURUGI_WAY_ARMS)
		tsurugi_arms_init(scan, said->parts, &exprs);
	else if (said->parts != NIL)
		tsurugi_others_init(scan, said->parts, &exprs);
	if (scan->shape.way == TSURUGI_WAY_KEY || scan->shape.way == TSURUGI_WAY_RANGE)
		tsurugi_scan_init_index(scan, said->access, exprs.values);
	if (scan->shape.nearest)
		tsurugi_nearest_init(scan, &exprs);
	return scan;
}

void
tsurugi_scan_start(tsurugi_scan *scan)
{
	tsurugi_snapshot_of(scan->node->ss.ps.state, scan->node->ss.ss_currentRelation, scan->described->table,
						&scan->snapshot);
	if (scan->arms != NULL)
		tsurugi_arms_start(scan);
	else
		scan->stored = tsurugi_scan_stored(scan);
	if (scan->others != NULL)
		tsurugi_others_start(scan);
}

void
tsurugi_scan_restart(tsurugi_scan *scan)
{
	tsurugi_scan_end(scan);
	if (scan->arms != NULL)
		tsurugi_arms_restart(scan);
	if (scan->others != NULL)
		tsurugi_others_forget(scan);
	tsurugi_scan_forget_arrays(scan);
	if (scan->sought != NULL)
		tsurugi_sought_forget(scan);
	if (scan->covers != NULL)
		tsurugi_covers_forget(scan);
	tsurugi_scan_again(scan);
}

void
tsurugi_scan_again(tsurugi_scan *scan)
{
	scan->ready = false;
	scan->done = false;
	scan->looked_up = false;
	scan->row_expected = false;
	scan->key_bytes = 0;
	scan->vectors = NULL;
	scan->count = 0;
	scan->position = 0;
}

void
tsurugi_scan_end(tsurugi_scan *scan)
{
	tsurugi_scan_end_job(scan);
	if (scan->arms != NULL)
		tsurugi_arms_end(scan);
	if (scan->nearest != NULL)
		tsurugi_nearest_forget(scan);
	tsurugi_scan_end_notes(scan);
}

void
tsurugi_scan_detach(tsurugi_scan *scan)
{
	tsurugi_scan_restart(scan);
	scan->noted_version = TG_VERSION_NONE;
	if (!scan->one_row)
		scan->own = NULL;
	scan->job_end.func = NULL;
	scan->figures = (tsurugi_scan_figures){0};
}
