/*
 * fdw_scan.c
 *	  The executor's callbacks for foreign scans.
 */
#include "postgres.h"

#include "src/fdw.h"

#include "executor/executor.h"

#include "src/scan.h"

void
tsurugiBeginForeignScan(ForeignScanState *node, int eflags)
{
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	node->fdw_state = tsurugi_scan_make(node);
	tsurugi_scan_start(node->fdw_state);
	if (node->ss.ps.state->es_epq_active == NULL)
		node->ss.ps.ExecProcNode = tsurugi_scan_run;
}

/* For rechecks: their executor state gives the node another row in place of this one. */
TupleTableSlot *
tsurugiIterateForeignScan(ForeignScanState *node)
{
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	if (!tsurugi_scan_next(node->fdw_state))
		return ExecClearTuple(slot);
	tsurugi_scan_fill(node->fdw_state, slot);
	return slot;
}

void
tsurugiReScanForeignScan(ForeignScanState *node)
{
	tsurugi_scan_restart(node->fdw_state);
}

void
tsurugiEndForeignScan(ForeignScanState *node)
{
	if (node->fdw_state != NULL)
		tsurugi_scan_end(node->fdw_state);
}
