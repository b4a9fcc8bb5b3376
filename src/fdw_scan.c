/*
 * fdw_scan.c
 *	  The executor's callbacks for foreign scans.
 */
#include "postgres.h"

#include "src/fdw.h"

#include "executor/executor.h"
#include "utils/lsyscache.h"

#include "src/row.h"
#include "src/scan.h"
#include "src/session.h"
#include "src/snapshot.h"
#include "src/transaction.h"

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

/*
 * Row marks.  A table that only takes part in somebody else's UPDATE or DELETE
 * is named by ctid and read again where a recheck needs it.  Row locks without
 * a write are not there yet, and locking nothing would be worse than an error.
 */
RowMarkType
tsurugiGetForeignRowMarkType(RangeTblEntry *rte, LockClauseStrength strength)
{
	if (strength != LCS_NONE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("row-level locks are not supported on foreign table \"%s\"", get_rel_name(rte->relid)),
						errdetail("SELECT ... FOR UPDATE and its like do not lock rows of tsurugi_fdw's tables yet."),
						errhint("UPDATE and DELETE lock the rows they change.")));
	return ROW_MARK_REFERENCE;
}

/* The same version that the statement has seen (EvalPlanQual, execMain.c). */
void
tsurugiRefetchForeignRow(EState *estate, ExecRowMark *erm, Datum rowid, TupleTableSlot *slot, bool *updated)
{
	const tsurugi_relation *described = tsurugi_relation_get(erm->relation);
	tg_session *session = tsurugi_session();
	uint32_t row_id = tsurugi_row_id_of_tid((ItemPointer) DatumGetPointer(rowid));
	tg_snapshot snapshot;
	tg_version version;
	tg_status status;
	tsurugi_row row;
	tg_wait wait;

	*updated = false;
	tsurugi_snapshot(estate, &snapshot);
	tsurugi_row_init(&row, described);
	for (;;)
	{
		tg_epoch_enter(session);
		status = tg_txn_read(&snapshot, described->table, row_id, &version, &wait);
		if (status == TG_OK)
			tsurugi_row_read(&row, version);
		tg_epoch_leave(session);
		if (status != TG_BUSY)
			break;
		tsurugi_wait_for_outcome(&wait);
	}
	if (status != TG_OK)
	{
		ExecClearTuple(slot);
		return;
	}
	tsurugi_row_to_slot(&row, row_id, slot);
	ExecMaterializeSlot(slot);
}
