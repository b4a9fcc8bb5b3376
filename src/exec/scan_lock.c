/*
 * scan_lock.c
 *	  Rows locked as they are read, for an UPDATE or DELETE that goes through the executor (W5).
 *
 * If row triggers, generated columns, check options or a join prevent a statement from being
 * executed as a whole (fdw_direct.c), the executor receives a row, and the row is written later.
 * At REPEATABLE READ and above it must not have changed by then.  So the scan of the target table
 * locks a row before returning it:
 *
 *	as the snapshot sees it		locked and returned: no other transaction writes it any more
 *	locked by another			waited for; then looked at again
 *	changed or deleted since	if no row has been returned, the snapshot is renewed and the scan
 *								starts again (isolation.c); else 40001
 *
 * 1.  A scan locks rows if its own conditions are all conditions of the statement: nodes above it
 *	  only compute the new row.  A row that a join, LIMIT or sub-select would drop would be locked
 *	  for nothing.
 * 2.  There is an exception for one row: in a join, too, the target row is locked if it is found by
 *	  a key that the statement names.  So UPDATE counter ...  FROM ...  WHERE counter.id = 1 waits
 *	  and continues.
 * 3.  At READ COMMITTED rows are locked when they are written, and EvalPlanQual continues with the
 *	  newest version (fdw_modify.c).  A LONG transaction meets no other writer.  Statements of
 *	  foreign keys see the present.
 * 4.  A SHORT transaction does not wait and locks nothing: it only tests whether the snapshot must
 *	  be extended.
 */
#include "postgres.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/txn/writer.h"
#include "src/exec/fdw.h"

#include "access/xact.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "executor/executor.h"
#include "miscadmin.h"

#include "src/exec/row_follow.h"
#include "src/exec/scan.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

/* --- planning ---------------------------------------------------------------------------- */

/*
 * Finds the scan of a table if only joins, and the nodes that they need, are above it.
 * *joined_out: there are joins.
 */
static ForeignScan *
find_scan(Plan *plan, Index relation, bool *joined_out)
{
	ForeignScan *found;

	if (plan == NULL)
		return NULL;
	switch (nodeTag(plan))
	{
		case T_ForeignScan:
			return ((ForeignScan *) plan)->scan.scanrelid == relation ? (ForeignScan *) plan : NULL;
		case T_NestLoop:
		case T_HashJoin:
		case T_MergeJoin:
			*joined_out = true;
			break;
		case T_Hash:
		case T_Sort:
		case T_Material:
		case T_Result:
			break;
		default:
			return NULL;
	}
	found = find_scan(outerPlan(plan), relation, joined_out);
	return found != NULL ? found : find_scan(innerPlan(plan), relation, joined_out);
}

/* Rule 2. */
static bool
names_one_row(const ForeignScan *scan)
{
	const tsurugi_shape *shape = &tsurugi_scan_plan_of(scan)->access->shape;
	tsurugi_scan_exprs exprs;
	ListCell *cell;

	if (shape->way != TSURUGI_WAY_KEY || shape->arrays != 0)
		return false;
	tsurugi_scan_exprs_get(scan, &exprs);
	foreach (cell, exprs.values)
		if (!tsurugi_is_plain_value(lfirst(cell)))
			return false;
	return true;
}

void
tsurugi_plan_early_locks(const ModifyTable *plan, Index relation)
{
	bool joined = false;
	ForeignScan *scan;

	if (plan->operation != CMD_UPDATE && plan->operation != CMD_DELETE)
		return;
	scan = find_scan(outerPlan(plan), relation, &joined);
	if (scan == NULL || tsurugi_is_tid_scan(scan))
		return;
	if (!joined || names_one_row(scan))
		tsurugi_scan_plan_of(scan)->locks = plan->operation;
}

/* --- running ------------------------------------------------------------------------------- */

bool
tsurugi_scan_locks(const tsurugi_scan *scan)
{
	return scan->locks_for != CMD_UNKNOWN && !tg_failpoint_refuses("early_locks") && tsurugi_has_one_snapshot() &&
		   (tsurugi_kind == TG_TXN_ORDINARY || tsurugi_kind == TG_TXN_SHORT) &&
		   !tsurugi_snapshot_is_of_now(scan->node->ss.ps.state);
}

typedef struct scanned_row
{
	tsurugi_follow follow; /* the first member: the functions of scan_rules get a pointer to it */
	tsurugi_scan *scan;
} scanned_row;

/* A row that this command or a later one has changed is returned: its write will report that. */
static pg_attribute_always_inline tg_status
look_at_scanned(tsurugi_follow *follow)
{
	const tsurugi_scan *scan = ((scanned_row *) follow)->scan;
	bool is_delete = scan->locks_for == CMD_DELETE;
	tg_lock_mode mode = is_delete ? TG_LOCK_UPDATE : TG_LOCK_NO_KEY_UPDATE;
	tg_writer writer;
	tg_status status;

	follow->found.row = follow->target;
	tsurugi_writer(follow->estate, is_delete ? TG_ESSENTIAL : TG_DATA, &writer);
	tg_epoch_enter(writer.session);
	status = tsurugi_find_newest(&writer, &scan->snapshot, follow->described->table, &mode, &follow->found);
	tg_epoch_leave(writer.session);
	return status == TG_SELF ? TG_OK : status;
}

static pg_attribute_always_inline tsurugi_follow_state
take_scanned(tsurugi_follow *follow, bool changed)
{
	return TSURUGI_FOLLOW_DONE;
}

static void
renew_snapshot(tsurugi_follow *follow, tg_conflict_kind kind)
{
	tsurugi_scan *scan = ((scanned_row *) follow)->scan;

	if (!scan->has_handed_up)
		tsurugi_scan_forget(scan);
	tsurugi_renew_snapshot(follow->relation, kind, follow->target, !scan->has_handed_up);
}

static const tsurugi_follow_rules scan_rules = {
	.look = look_at_scanned,
	.judge = take_scanned,
	.conflict = renew_snapshot,
	.wait = tsurugi_follow_wait_as_found,
	.refused = tsurugi_refused,
};

/* Row_queue.c, 3: whether the scan may keep its place in a row's queue while it starts again. */
static bool
keeps_place(const tsurugi_scan *scan)
{
	const ForeignScan *plan = castNode(ForeignScan, scan->node->ss.ps.plan);
	Node *expressions = (Node *) list_make2(plan->scan.plan.qual, plan->fdw_exprs);

	return !contain_volatile_functions(expressions) && !contain_subplans(expressions);
}

/* Locks the scan's current row; false: the snapshot was renewed. */
static bool
lock_row(tsurugi_scan *scan)
{
	scanned_row row;
	tsurugi_follow_state end;

	tg_assert(tsurugi_has_one_snapshot());
	tsurugi_follow_init(&row.follow, scan->node->ss.ps.state, scan->node->ss.ss_currentRelation, scan->described,
						scan->locks_for == CMD_DELETE ? TSURUGI_TO_DELETE : TSURUGI_TO_UPDATE);
	tsurugi_follow_begin(&row.follow, scan->row, TSURUGI_FOLLOW_LOCK);
	row.scan = scan;
	end = tsurugi_follow_row(&row.follow, &scan_rules);
	/* Rule 6 of row_follow.c. */
	if (end == TSURUGI_FOLLOW_RESTART && !keeps_place(scan))
		tsurugi_queue_leave();
	return end == TSURUGI_FOLLOW_DONE;
}

/* Notes that the executor receives a result: from here on the snapshot stays. */
static void
hand_up(tsurugi_scan *scan)
{
	if (scan->has_handed_up)
		return;
	scan->has_handed_up = true;
	tsurugi_snapshot_is_used();
	tsurugi_scan_keep(scan);
}

TupleTableSlot *
tsurugi_scan_run_locking(PlanState *pstate)
{
	ForeignScanState *node = castNode(ForeignScanState, pstate);
	tsurugi_scan *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *context = pstate->ps_ExprContext;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!tsurugi_scan_next(scan))
		{
			tsurugi_queue_leave();
			hand_up(scan);
			return tsurugi_scan_no_row(pstate);
		}
		tsurugi_scan_fill(scan, slot);
		ResetExprContext(context);
		context->ecxt_scantuple = slot;
		if (pstate->qual != NULL && !ExecQual(pstate->qual, context))
		{
			InstrCountFiltered1(node, 1);
			continue;
		}
		if (!lock_row(scan))
		{
			tsurugi_scan_restart(scan);
			continue;
		}
		hand_up(scan);
		return pstate->ps_ProjInfo != NULL ? ExecProject(pstate->ps_ProjInfo) : slot;
	}
}
