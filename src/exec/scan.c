/*
 * scan.c
 *	  The life of a running scan: how it is made, begins, starts over, and ends (scan.h).
 */
#include "postgres.h"

#include "src/exec/scan_internal.h"

#include "src/base/session.h"
#include "src/exec/and_scan.h"
#include "src/exec/nearest.h"
#include "src/exec/or_scan.h"
#include "src/exec/range_scan.h"
#include "src/exec/table_scan.h"
#include "src/txn/snapshot.h"

tsurugi_source *
tsurugi_index_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values)
{
	return access->shape.way == TSURUGI_WAY_KEY ? tsurugi_key_source_make(scan, access, values)
												: &tsurugi_range_source_make(scan, access, values)->source;
}

static tsurugi_source *
make_source(tsurugi_scan *scan, const tsurugi_scan_plan *plan, const tsurugi_scan_exprs *exprs)
{
	if (plan->access->shape.way == TSURUGI_WAY_TABLE)
		return tsurugi_table_source_make(scan);
	if (plan->access->shape.way == TSURUGI_WAY_ARMS)
		return tsurugi_arms_source_make(scan, plan->parts, exprs);
	if (plan->access->shape.nearest)
		return tsurugi_nearest_source_make(scan, plan->access, exprs);
	if (plan->parts != NIL)
		return tsurugi_and_source_make(scan, plan, exprs);
	return tsurugi_index_source_make(scan, plan->access, exprs->values);
}

tsurugi_scan *
tsurugi_scan_make(ForeignScanState *node)
{
	ForeignScan *foreign = (ForeignScan *) node->ss.ps.plan;
	const tsurugi_scan_plan *plan = tsurugi_scan_plan_of(foreign);
	tsurugi_scan *scan = palloc0(sizeof(tsurugi_scan));
	tsurugi_scan_exprs exprs;

	scan->node = node;
	scan->memory = CurrentMemoryContext;
	scan->session = tsurugi_session();
	scan->described = tsurugi_relation_get(node->ss.ss_currentRelation);
	scan->direct = plan->direct;
	scan->locks_for = plan->locks;
	tsurugi_scan_init_rows(scan, foreign);
	tsurugi_scan_exprs_get(foreign, &exprs);
	scan->source = make_source(scan, plan, &exprs);
	return scan;
}

void
tsurugi_scan_outlive(tsurugi_scan *scan)
{
	scan->source->methods->outlive(scan->source);
}

void
tsurugi_scan_start(tsurugi_scan *scan)
{
	tsurugi_snapshot_of(scan->node->ss.ps.state, scan->node->ss.ss_currentRelation, scan->described->table,
						&scan->snapshot);
	scan->keeps_snapshot = false;
	scan->source->methods->open(scan->source);
}

bool
tsurugi_scan_next_batch(tsurugi_scan *scan)
{
	scan->started = true;
	scan->position = 0;
	if (unlikely(!scan->source->methods->next(scan->source, &scan->batch)))
	{
		scan->batch.count = 0;
		return false;
	}
	scan->row = scan->batch.row; /* if it has no vectors */
	return true;
}

static void
forget_batch(tsurugi_scan *scan)
{
	scan->batch.count = 0;
	scan->position = 0;
}

void
tsurugi_scan_restart(tsurugi_scan *scan)
{
	scan->source->methods->restart(scan->source);
	forget_batch(scan);
}

void
tsurugi_scan_end(tsurugi_scan *scan)
{
	scan->source->methods->end(scan->source);
	forget_batch(scan);
}
