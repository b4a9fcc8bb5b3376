/*
 * scan_retry.c
 *	  Reads that lock a row because of which an earlier try of the transaction failed (P1).
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
 * Any other read locks the remembered rows in the area that it is about to read, before it
 * reads: a range of primary keys, or the whole table.  It notes nothing before; if a row has
 * been changed, the snapshot is extended first.  In the middle of such a read that would fail,
 * because what it has read includes the row.  So a row of the table may be locked that the
 * read's other conditions reject.  The session does that before jobs of the pool, too.
 *
 * 1. Without the lock nothing goes wrong: what has been read is validated as ever (S1).  So an
 *	  obstacle to the lock, such as a LONG's preserve or lack of memory, is no error.
 * 2. The lock is that of an UPDATE which keeps the key, or, if the failed try had only read the
 *	  row, that of FOR SHARE (ladder.c, 2).
 */
#include "postgres.h"

#include "src/exec/scan_retry.h"

#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/index/index_spec.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/exec/scan.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "src/base/session.h"
#include "src/exec/scan_plan.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/ladder.h"
#include "src/txn/row_queue.h"
#include "src/txn/snapshot.h"
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

/* A row to be locked; in an area. */
typedef struct Target
{
	EState *estate;
	Relation relation;
	const tg_snapshot *snapshot;
	const tg_area *area;
	uint32_t row;
	tg_lock_mode mode;
} Target;

/* Results as of tg_txn_lock; TG_NOT_FOUND: it is not in the area. */
static tg_status
try_lock(const Target *target, bool contended, tg_wait *wait_out)
{
	tg_table *table = target->area->table;
	uint32_t row = target->row;
	uint32_t locks_before;
	tg_version version;
	tg_writer writer;
	tg_status status = TG_NOT_FOUND;

	tsurugi_writer(target->estate, TG_DATA, &writer);
	locks_before = tg_txn_lock_count(writer.txn);
	tg_epoch_enter(writer.session);
	if (tg_area_has_row(target->area, row))
		status = tg_txn_lock(&writer, target->snapshot, table, &row, target->mode, &version, wait_out);
	tg_epoch_leave(writer.session);
	if ((status == TG_OK || status == TG_CHANGED) && row == target->row)
		tsurugi_ladder_note_locked(RelationGetRelid(target->relation), table, row, contended || status == TG_CHANGED,
								   locks_before);
	return status;
}

/* Locks it if the transaction may wait for that, or need not. */
static tg_status
lock_target(const Target *target)
{
	bool contended = false;

	for (;;)
	{
		tg_wait wait;
		tg_status status = try_lock(target, contended, &wait);

		if (status == TG_BUSY && tsurugi_ladder_may_wait())
		{
			contended = true;
			tsurugi_wait(&wait, target->relation, TSURUGI_TO_LOCK, target->row);
			continue;
		}
		tsurugi_queue_leave();
		return status;
	}
}

/* Locks the scan's current row if possible; false: the look-up must start again. */
static bool
lock_row(tsurugi_scan *scan, tg_lock_mode mode)
{
	const tg_area whole = {.table = scan->described->table};
	const Target target = {.estate = scan->node->ss.ps.state,
						   .relation = scan->node->ss.ss_currentRelation,
						   .snapshot = &scan->snapshot,
						   .area = &whole,
						   .row = scan->row,
						   .mode = mode};

	if (!tsurugi_is_changed(lock_target(&target)))
		return true;
	/* Its notes are dropped, so it starts again in any case. */
	tsurugi_scan_forget(scan);
	scan->keeps_snapshot = !tsurugi_extend_snapshot();
	return false;
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

/* --- other reads --------------------------------------------------------------------------- */

void
tsurugi_retry_lock_rows(EState *estate, Relation relation, const tg_area *area)
{
	uint32_t rows[TSURUGI_LADDER_ROWS_MAX];
	tg_session *session = tsurugi_session();
	bool changed = false;
	tg_snapshot snapshot;
	int count;

	if (!tsurugi_ladder_locks_rows_of(RelationGetRelid(relation)))
		return;
	tsurugi_snapshot_of(estate, relation, area->table, &snapshot);
	count = tsurugi_ladder_rows_of(RelationGetRelid(relation), rows);
	for (int i = 0; i < count; i++)
	{
		Target target = {.estate = estate, .relation = relation, .snapshot = &snapshot, .area = area, .row = rows[i]};
		bool is_here;

		tg_epoch_enter(session);
		is_here = tg_area_has_row(area, rows[i]);
		tg_epoch_leave(session);
		if (is_here && tsurugi_ladder_remembers(RelationGetRelid(relation), rows[i], &target.mode))
			changed |= tsurugi_is_changed(lock_target(&target));
	}
	if (changed)
		(void) tsurugi_extend_snapshot(); /* else the row is read as it was: 1 */
}

bool
tsurugi_scan_retries_by_area(const tsurugi_scan *scan)
{
	return tsurugi_ladder_has_rows && scan->direct == CMD_UNKNOWN && !scan->locks && !looks_up_one_row(scan);
}
