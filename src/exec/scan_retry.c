/*
 * scan_retry.c
 *	  Look-ups that lock a row because of which an earlier try of the transaction failed (P1).
 *
 * As long as the session remembers rows of the table (ladder.c), a look-up of one row by a whole
 * key tests each row that meets its conditions for being a remembered one.  It locks such a
 * row before it returns it:
 *
 *	as the snapshot sees it		locked and returned: no other transaction changes it any more
 *	locked by another			waited for, if the transaction may wait (ladder.c, 3); else returned
 *	changed or deleted since	the look-up drops its notes, the snapshot is extended (W5) and the
 *								row is looked up again; if the snapshot cannot be extended, the row
 *								is returned as the snapshot sees it
 *
 * 1. Without the lock nothing goes wrong: what has been read is validated as ever (S1).  So an
 *	  obstacle to the lock, such as a LONG's preserve or lack of memory, is no error.
 * 2. The lock is that of an UPDATE which keeps the key, or, if the failed try had only read the
 *	  row, that of FOR SHARE (ladder.c, 2).
 */
#include "postgres.h"

#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/index/index_spec.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/exec/scan.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "src/exec/scan_plan.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/ladder.h"
#include "src/txn/row_queue.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

/* Whether the scan looks up one row, by a whole key of the table or of a unique index. */
static bool
looks_up_one_row(const tsurugi_scan *scan)
{
	const tsurugi_scan_plan *plan = tsurugi_scan_plan_of(castNode(ForeignScan, scan->node->ss.ps.plan));
	const tsurugi_shape *shape = &plan->access->shape;
	const tsurugi_index *index = scan->described->indexes;

	if ((shape->way != TSURUGI_WAY_KEY && shape->way != TSURUGI_WAY_RANGE) || shape->arrays != 0 || shape->nulls != 0 ||
		plan->parts != NIL)
		return false;
	while (index->oid != shape->index)
		index++;
	return index->spec->unique && shape->fixed_count == index->key_count;
}

bool
tsurugi_scan_retries(const tsurugi_scan *scan)
{
	return tsurugi_ladder_has_rows && scan->direct == CMD_UNKNOWN && looks_up_one_row(scan) &&
		   tsurugi_ladder_locks_rows_of(scan->described->oid);
}

/* Results as of tg_txn_lock. */
static tg_status
try_lock(tsurugi_scan *scan, tg_lock_mode mode, bool contended, tg_wait *wait_out)
{
	tg_table *table = scan->described->table;
	uint32_t row = scan->row;
	uint32_t locks_before;
	tg_version version;
	tg_writer writer;
	tg_status status;

	tsurugi_writer(scan->node->ss.ps.state, TG_DATA, &writer);
	locks_before = tg_txn_lock_count(writer.txn);
	tg_epoch_enter(writer.session);
	status = tg_txn_lock(&writer, &scan->snapshot, table, &row, mode, &version, wait_out);
	tg_epoch_leave(writer.session);
	if (status == TG_OK || status == TG_CHANGED)
		tsurugi_ladder_note_locked(scan->described->oid, table, row, contended || status == TG_CHANGED, locks_before);
	return status;
}

/* Locks the scan's current row if possible; false: the look-up must start again. */
static bool
lock_row(tsurugi_scan *scan, tg_lock_mode mode)
{
	Relation relation = scan->node->ss.ss_currentRelation;
	bool contended = false;

	for (;;)
	{
		tg_wait wait;
		tg_status status = try_lock(scan, mode, contended, &wait);

		if (status == TG_BUSY && tsurugi_ladder_may_wait())
		{
			contended = true;
			tsurugi_wait(&wait, relation, TSURUGI_TO_LOCK, scan->row);
			continue;
		}
		tsurugi_queue_leave();
		if (!tsurugi_is_changed(status))
			return true;
		/* Its notes are dropped, so it starts again in any case. */
		tsurugi_scan_forget(scan);
		scan->keeps_snapshot = !tsurugi_extend_snapshot();
		return false;
	}
}

TupleTableSlot *
tsurugi_scan_run_retrying(PlanState *pstate)
{
	ForeignScanState *node = castNode(ForeignScanState, pstate);
	tsurugi_scan *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *context = pstate->ps_ExprContext;
	tg_lock_mode mode;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		tsurugi_scan_keep(scan); /* the row of the previous call has been returned */
		if (!tsurugi_scan_next(scan))
			return tsurugi_scan_no_row(pstate);
		tsurugi_scan_fill(scan, slot);
		ResetExprContext(context);
		context->ecxt_scantuple = slot;
		if (pstate->qual != NULL && !ExecQual(pstate->qual, context))
		{
			InstrCountFiltered1(node, 1);
			continue;
		}
		if (!scan->keeps_snapshot && tsurugi_ladder_remembers(scan->described->oid, scan->row, &mode) &&
			!lock_row(scan, mode))
		{
			tsurugi_scan_restart(scan);
			continue;
		}
		return pstate->ps_ProjInfo != NULL ? ExecProject(pstate->ps_ProjInfo) : slot;
	}
}
