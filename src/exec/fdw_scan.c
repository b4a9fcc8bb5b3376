/*
 * fdw_scan.c
 *	  The executor's callbacks for foreign scans.
 */
#include "postgres.h"

#include "src/exec/fdw.h"

#include "executor/executor.h"

#include "src/exec/scan.h"

void
tsurugiBeginForeignScan(ForeignScanState *node, int eflags)
{
	tsurugi_scan *scan;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	if (tsurugi_is_tid_scan((ForeignScan *) node->ss.ps.plan))
	{
		tsurugi_tid_begin(node);
		return;
	}
	node->fdw_state = scan = tsurugi_scan_make(node);
	tsurugi_scan_start(scan);
	if (node->ss.ps.state->es_epq_active != NULL)
		return;
	scan->locks = tsurugi_scan_locks(scan);
	node->ss.ps.ExecProcNode = scan->locks					? tsurugi_scan_run_locking
							   : tsurugi_scan_retries(scan) ? tsurugi_scan_run_retrying
															: tsurugi_scan_run;
}

/*
 * By ctid; and for rechecks: their executor state gives the node another row in place of this one.
 */
TupleTableSlot *
tsurugiIterateForeignScan(ForeignScanState *node)
{
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	if (tsurugi_is_tid_scan((ForeignScan *) node->ss.ps.plan))
		return tsurugi_tid_next(node);
	if (!tsurugi_scan_next(node->fdw_state))
		return ExecClearTuple(slot);
	tsurugi_scan_fill(node->fdw_state, slot);
	return slot;
}

void
tsurugiReScanForeignScan(ForeignScanState *node)
{
	if (tsurugi_is_tid_scan((ForeignScan *) node->ss.ps.plan))
		tsurugi_tid_restart(node);
	else
		tsurugi_scan_restart(node->fdw_state);
}

void
tsurugiEndForeignScan(ForeignScanState *node)
{
	if (node->fdw_state != NULL && !tsurugi_is_tid_scan((ForeignScan *) node->ss.ps.plan))
		tsurugi_scan_end(node->fdw_state);
}
