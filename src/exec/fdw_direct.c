/*
 * fdw_direct.c
 *	  UPDATE and DELETE of one table as a whole: scan, lock, write, without
 *	  forming rows for the executor.
 *
 * Taken wherever the statement's rows come from one scan of the table, with any
 * condition: everything is evaluated here, by PostgreSQL's own expression
 * machinery.  A row is written where it is found: its newest version is read; if it was committed
 * after the snapshot, the conditions are evaluated again on it (READ COMMITTED), or
 * the scan starts over with a new snapshot, or the transaction ends (REPEATABLE READ and above; W5); the
 * write replaces exactly that version or starts over.  Rows that this
 * command has written are not seen by its own scan, so there is no Halloween effect.
 *
 * The row has to meet the conditions as the snapshot sees it, too: else it is let be, whatever others do to it, and they are not waited
 * for.  Where a key finds it that is looked at when its newest version turns out to be another one, or to be held; as a
 * rule it is the same.
 *
 * Of volatile functions it is seen how often they are called.  PostgreSQL calls them for the row as the snapshot sees it, and once more for
 * the newest version, which it has locked before.  So it is locked here, too, if they are to be called for it.  SET is not
 * computed before others are waited for, which saves one of PostgreSQL's two times.
 *
 * PostgreSQL itself refuses direct modification where there are row triggers,
 * stored generated columns, check options or transition tables
 * (createplan.c, make_modifytable).
 */
#include "postgres.h"

#include "src/exec/fdw.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/appendinfo.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "parser/parsetree.h"

#include "src/exec/arbiter.h"
#include "src/exec/scan.h"
#include "src/table/building.h"
#include "src/table/row.h"
#include "src/table/system_columns.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

typedef struct direct_modify
{
	tsurugi_scan *scan; /* first: EXPLAIN reads it */
	ForeignScanState *node;
	Relation relation;
	ResultRelInfo *rinfo;
	bool sets_key;
	ExprState *condition; /* NULL: none */
	Expr *recheck_expr;	  /* what the key has answered; NULL: nothing */
	ExprState *recheck;	  /* made when it is first needed */
	int set_count;
	int *set_columns;		/* the storage's */
	ExprState **set_values; /* of the new values */
	tsurugi_row old;
	tsurugi_row new;
	TupleTableSlot *new_slot;
	unsigned char *key;
	unsigned char *key_old;
	bool has_written;
	bool knows_volatile; /* whether there is one */
	bool is_volatile;
} direct_modify;

/* What became of the scan's current row. */
typedef enum outcome
{
	ROW_WRITTEN,
	ROW_PASSED, /* not to be written: the newest version does not meet the conditions, is gone, or is this command's own */
	ROW_RESTART /* the snapshot was renewed: the scan starts over */
} outcome;

/* --- planning ---------------------------------------------------------------------------- */

static ForeignScan *
scan_of(ModifyTable *plan, Index resultRelation, int subplan_index)
{
	Plan *subplan = outerPlan(plan);

	if (IsA(subplan, Append))
	{
		Append *append = (Append *) subplan;

		if (subplan_index >= list_length(append->appendplans))
			return NULL;
		subplan = list_nth(append->appendplans, subplan_index);
	}
	if (!IsA(subplan, ForeignScan) || ((ForeignScan *) subplan)->scan.scanrelid != resultRelation)
		return NULL;
	return (ForeignScan *) subplan;
}

/* Row identity is all that a direct modification does not need; sub-selects that set several columns are not taken. */
static bool
only_row_identity_is_junk(List *targetlist)
{
	ListCell *cell;

	foreach (cell, targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);

		if (entry->resjunk && (entry->resname == NULL ||
							   (strcmp(entry->resname, "ctid") != 0 && strcmp(entry->resname, "wholerow") != 0 &&
								strcmp(entry->resname, "tableoid") != 0)))
			return false;
	}
	return true;
}

/*
 * The target list after planning.  The executor looks for row identity but
 * never reads it; the new values are computed here, once.  By tableoid it finds
 * the partition that RETURNING is about.  Positions only matter to an Append above.
 */
static List *
placeholders(List *targetlist, bool alone)
{
	List *kept = NIL;
	ListCell *cell;

	foreach (cell, targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, cell);
		Node *value = (Node *) entry->expr;

		if (alone && !entry->resjunk)
			continue;
		/* below an Append entries have no names */
		if (!IsA(value, Var) || ((Var *) value)->varattno != TableOidAttributeNumber)
			entry->expr = (Expr *) makeNullConst(exprType(value), exprTypmod(value), exprCollation(value));
		kept = lappend(kept, entry);
		if (alone)
			entry->resno = list_length(kept);
	}
	return kept;
}

/* If a key finds what is to be changed, and is itself not to be computed: prepared_modify.c. */
static int
plan_number(const tsurugi_shape *shape, List *key_values, const List *sought)
{
	ListCell *cell;

	if (shape->way == TSURUGI_WAY_TABLE || shape->way == TSURUGI_WAY_ARMS || shape->arrays != 0 || shape->others > 0 ||
		sought != NIL)
		return 0;
	foreach (cell, key_values)
		if (!tsurugi_is_plain_value(lfirst(cell)))
			return 0;
	return (int) tsurugi_plan_number_next();
}

/* An UPDATE that sets what an EXCLUDE constraint is about: the executor's path checks the rows. */
static bool
sets_excluded(PlannerInfo *root, Index result_relation, const List *set)
{
	Relation relation = RelationIdGetRelation(planner_rt_fetch(result_relation, root)->relid);
	const tsurugi_relation *described = tsurugi_relation_get(relation);
	bool sets = false;
	ListCell *cell;

	for (int i = 0; described->has_exclusions && i < described->index_count; i++)
		foreach (cell, set)
			sets |=
				bms_is_member(lfirst_int(cell) - FirstLowInvalidHeapAttributeNumber,
							  described->indexes[i].attributes) ||
				bms_is_member(InvalidAttrNumber - FirstLowInvalidHeapAttributeNumber, described->indexes[i].attributes);
	RelationClose(relation);
	return sets;
}

bool
tsurugiPlanDirectModify(PlannerInfo *root, ModifyTable *plan, Index resultRelation, int subplan_index)
{
	ForeignScan *scan = scan_of(plan, resultRelation, subplan_index);
	Bitmapset *attributes = NULL;
	List *columns = NIL;
	List *set = NIL;
	List *values = NIL;
	List *sought;
	List *arms;
	tsurugi_shape shape;
	ListCell *cell;
	ListCell *cell2;

	if (scan == NULL || tsurugi_is_tid_scan(scan) || (plan->operation != CMD_UPDATE && plan->operation != CMD_DELETE) ||
		!only_row_identity_is_junk(scan->scan.plan.targetlist))
		return false;
	if (tsurugi_system_columns_are_named(
			(Node *) list_make3(plan->returningLists, scan->scan.plan.targetlist, scan->scan.plan.qual),
			resultRelation))
		return false;
	/* A row of a partitioned table may have to move; the executor's path notices. */
	if (plan->operation == CMD_UPDATE && list_length(plan->resultRelations) > 1)
		return false;
	if (plan->operation == CMD_UPDATE && plan->rootRelation != 0)
		return false;

	if (plan->operation == CMD_UPDATE)
	{
		List *processed;

		get_translated_update_targetlist(root, resultRelation, &processed, &set);
		forboth (cell, set, cell2, scan->scan.plan.targetlist)
			values = lappend(values, lfirst_node(TargetEntry, cell2)->expr);
		if (sets_excluded(root, resultRelation, set))
			return false;
	}

	tsurugi_shape_from_list(list_nth(scan->fdw_private, TSURUGI_PRIVATE_SHAPE), &shape);
	sought = list_nth(scan->fdw_private, TSURUGI_PRIVATE_SOUGHT);
	arms = list_nth(scan->fdw_private, TSURUGI_PRIVATE_ARMS);
	pull_varattnos((Node *) scan->fdw_exprs, resultRelation, &attributes);
	shape.direct = plan->operation;
	shape.condition = scan->scan.plan.qual != NIL;
	shape.counts = plan->canSetTag;
	shape.number = plan_number(&shape, scan->fdw_exprs, sought);
	if (shape.condition)
	{
		scan->fdw_exprs = lappend(scan->fdw_exprs, make_ands_explicit(scan->scan.plan.qual));
		pull_varattnos((Node *) scan->scan.plan.qual, resultRelation, &attributes);
	}
	shape.recheck = scan->fdw_recheck_quals != NIL;
	if (shape.recheck)
		scan->fdw_exprs = lappend(scan->fdw_exprs, make_ands_explicit(scan->fdw_recheck_quals));
	scan->fdw_recheck_quals = NIL;
	/* The scan itself only has to tell whether a row is wanted; the row is read when it is locked. */
	if (shape.way != TSURUGI_WAY_KEY)
	{
		Relation relation = RelationIdGetRelation(planner_rt_fetch(resultRelation, root)->relid);

		columns = tsurugi_columns_of(tsurugi_relation_get(relation), attributes);
		RelationClose(relation);
	}
	scan->fdw_exprs = list_concat(scan->fdw_exprs, values);
	scan->fdw_private = list_make5(tsurugi_shape_to_list(&shape), columns, set, sought, arms);
	scan->scan.plan.qual = NIL;
	scan->scan.plan.targetlist = placeholders(scan->scan.plan.targetlist, outerPlan(plan) == &scan->scan.plan);
	scan->operation = plan->operation;
	scan->resultRelation = resultRelation;
	return true;
}

/* --- running ------------------------------------------------------------------------------- */

void
tsurugi_direct_make(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	EState *estate = node->ss.ps.state;
	List *set = list_nth(plan->fdw_private, TSURUGI_PRIVATE_SET);
	const tsurugi_relation *described;
	direct_modify *modify;
	int at;
	ListCell *cell;

	modify = palloc0(sizeof(direct_modify) + list_length(set) * (sizeof(int) + sizeof(ExprState *)));
	node->fdw_state = modify;
	modify->node = node;
	modify->rinfo = node->resultRelInfo;
	modify->relation = node->resultRelInfo->ri_RelationDesc;
	modify->scan = tsurugi_scan_make(node);
	described = modify->scan->described;
	tsurugi_row_init(&modify->old, described);

	at = modify->scan->key_value_count + modify->scan->shape.others;
	if (modify->scan->shape.condition)
		modify->condition = ExecInitQual(make_ands_implicit(list_nth(plan->fdw_exprs, at++)), &node->ss.ps);
	if (modify->scan->shape.recheck)
		modify->recheck_expr = list_nth(plan->fdw_exprs, at++);
	if (plan->operation != CMD_UPDATE)
		return;

	modify->set_values = (ExprState **) (modify + 1);
	modify->set_columns = (int *) (modify->set_values + list_length(set));
	foreach (cell, set)
	{
		int column = lfirst_int(cell) - 1;

		for (int i = 0; i < described->key_count; i++)
			modify->sets_key |= described->key[i].attnum == column + 1;
		modify->set_columns[modify->set_count] = column;
		modify->set_values[modify->set_count] = ExecInitExpr(list_nth(plan->fdw_exprs, at++), &node->ss.ps);
		modify->set_count++;
	}
	tsurugi_row_init(&modify->new, described);
	modify->new.hidden = tsurugi_hidden_prepare(described, described->table, estate);
	/* the scan's descriptor is a copy, which nobody counts references to */
	modify->new_slot = ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsVirtual);
	modify->new_slot->tts_tableOid = RelationGetRelid(modify->relation);
	if (modify->sets_key)
	{
		size_t capacity = tsurugi_key_capacity(described);

		modify->key = palloc(2 * capacity);
		modify->key_old = modify->key + capacity;
	}
}

tsurugi_scan *
tsurugi_direct_scan(const ForeignScanState *node)
{
	return ((direct_modify *) node->fdw_state)->scan;
}

void
tsurugi_direct_rest(ForeignScanState *node)
{
	direct_modify *modify = node->fdw_state;

	tsurugi_scan_detach(modify->scan);
	modify->recheck = NULL; /* compiled in the execution's memory */
	modify->has_written = false;
}

void
tsurugiBeginDirectModify(ForeignScanState *node, int eflags)
{
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	tsurugi_building_check(node->resultRelInfo->ri_RelationDesc);
	tsurugi_direct_make(node);
	tsurugi_scan_start(tsurugi_direct_scan(node));
}

/* Computes the new row from the old one, which is in the scan's slot, and checks it. */
static void
make_new_slot(direct_modify *modify)
{
	ExprContext *context = modify->node->ss.ps.ps_ExprContext;
	TupleTableSlot *old = modify->node->ss.ss_ScanTupleSlot;
	TupleTableSlot *slot = modify->new_slot;
	int count = RelationGetDescr(modify->relation)->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, old->tts_values, count * sizeof(Datum));
	memcpy(slot->tts_isnull, old->tts_isnull, count * sizeof(bool));
	for (int i = 0; i < modify->set_count; i++)
	{
		int column = modify->set_columns[i];

		slot->tts_values[column] = ExecEvalExprSwitchContext(modify->set_values[i], context, &slot->tts_isnull[column]);
	}
	ExecStoreVirtualTuple(slot);
	if (modify->relation->rd_rel->relispartition)
		(void) ExecPartitionCheck(modify->rinfo, slot, modify->node->ss.ps.state, true);
	if (RelationGetDescr(modify->relation)->constr != NULL)
		ExecConstraints(modify->rinfo, slot, modify->node->ss.ps.state);
}

/* Likewise, and in the form of the storage. */
static void
make_new_row(direct_modify *modify)
{
	TupleTableSlot *slot = modify->new_slot;
	MemoryContext saved;

	make_new_slot(modify);
	memcpy(modify->new.values, modify->old.values, modify->old.described->column_count * sizeof(tg_value));
	memcpy(modify->new.nulls, modify->old.nulls, modify->old.described->column_count * sizeof(bool));
	saved = MemoryContextSwitchTo(modify->node->ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	for (int i = 0; i < modify->set_count; i++)
	{
		int column = modify->set_columns[i];

		tsurugi_row_set(&modify->new, tsurugi_column_of(modify->old.described, column), slot->tts_values[column],
						slot->tts_isnull[column]);
	}
	if (modify->new.hidden != NULL)
		tsurugi_row_compute_hidden(&modify->new, slot, &modify->old);
	MemoryContextSwitchTo(saved);
}

static tg_status
write_new_row(direct_modify *modify, const tg_writer *writer, uint32_t *row, tg_version version, tg_wait *wait)
{
	tg_table *table = modify->scan->described->table;
	size_t bytes;

	make_new_row(modify);
	if (modify->sets_key &&
		!tsurugi_row_same_key(&modify->new, &modify->old, modify->relation, modify->key, modify->key_old, &bytes))
	{
		uint32_t moved_to;
		tg_status status;

		tsurugi_row_own_strings(&modify->new);
		status = tg_txn_move(writer, table, *row, version, modify->key, bytes, modify->new.values, modify->new.nulls,
							 &moved_to, wait);
		if (status == TG_OK)
			*row = moved_to;
		return status;
	}
	return tg_txn_update(writer, table, *row, version, modify->new.values, modify->new.nulls, wait);
}

/* The conditions that the key has answered, on the row in the slot. */
static bool
key_still_matches(direct_modify *modify)
{
	if (modify->recheck_expr == NULL)
		return true;
	if (modify->recheck == NULL)
	{
		MemoryContext saved = MemoryContextSwitchTo(modify->node->ss.ps.state->es_query_cxt);

		modify->recheck = ExecInitQual(make_ands_implicit(modify->recheck_expr), &modify->node->ss.ps);
		MemoryContextSwitchTo(saved);
	}
	return ExecQual(modify->recheck, modify->node->ss.ps.ps_ExprContext);
}

/* Whether a version is still its row's newest: who has the key of a refused row may be the row itself, changed meanwhile. */
static bool
is_newest(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version)
{
	tg_version newest;
	tg_status status;
	tg_wait wait;

	tg_epoch_enter(writer->session);
	status = tg_txn_newest(writer, NULL, table, &row, &newest, &wait);
	tg_epoch_leave(writer->session);
	return (status == TG_OK || status == TG_CHANGED) && newest == version;
}

/*
 * Whether the condition holds for the row as the snapshot sees it, which is in the scan's slot then; judged: that is known.
 */
static bool
is_wanted_as_seen(direct_modify *modify, bool judged)
{
	tsurugi_scan *scan = modify->scan;
	tg_status status;

	do
	{
		tg_version version;
		tg_wait wait;

		tg_epoch_enter(scan->session);
		status = tg_txn_read(&scan->snapshot, scan->described->table, scan->row, &version, &wait);
		if (status == TG_OK)
			tsurugi_row_read(&modify->old, version);
		tg_epoch_leave(scan->session);
		if (status == TG_BUSY)
			tsurugi_wait_for_outcome(&wait);
	} while (status == TG_BUSY);
	if (status != TG_OK)
		return false;
	tsurugi_row_to_slot(&modify->old, scan->row, modify->node->ss.ss_ScanTupleSlot);
	return judged || modify->condition == NULL || ExecQual(modify->condition, modify->node->ss.ps.ps_ExprContext);
}

/*
 * A row that this command, or what it has called, has changed already is let be.  But PostgreSQL finds that out when it is known to
 * be wanted, and its new row has met the constraints.
 */
static void
pass_over_own(direct_modify *modify, bool judged, bool by_other)
{
	bool is_delete = modify->scan->shape.direct == CMD_DELETE;

	if (!is_wanted_as_seen(modify, judged))
		return;
	if (!is_delete)
		make_new_slot(modify);
	tsurugi_check_own_change(by_other, is_delete ? "deleted" : "updated");
}

/* Whether it is seen how often conditions and new values are computed.  A sub-select's plan is not looked into. */
static bool
is_volatile(direct_modify *modify)
{
	Node *expressions = (Node *) ((const ForeignScan *) modify->node->ss.ps.plan)->fdw_exprs;

	if (!modify->knows_volatile)
		modify->is_volatile = contain_volatile_functions(expressions) || contain_subplans(expressions);
	modify->knows_volatile = true;
	return modify->is_volatile;
}

static tg_lock_mode
lock_mode(const direct_modify *modify)
{
	bool is_delete = modify->scan->shape.direct == CMD_DELETE;

	return is_delete || ExecUpdateLockMode(modify->node->ss.ps.state, modify->rinfo) == LockTupleExclusive
			   ? TG_LOCK_UPDATE
			   : TG_LOCK_NO_KEY_UPDATE;
}

/* Writes the scan's current row. */
static outcome
modify_row(direct_modify *modify)
{
	ForeignScanState *node = modify->node;
	ExprContext *context = node->ss.ps.ps_ExprContext;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	tsurugi_scan *scan = modify->scan;
	tg_table *table = scan->described->table;
	bool is_delete = scan->shape.direct == CMD_DELETE;
	bool of_now = tsurugi_snapshot_is_of_now(node->ss.ps.state);
	tsurugi_purpose purpose = is_delete ? TSURUGI_TO_DELETE : TSURUGI_TO_UPDATE;
	tg_version noted = TG_VERSION_NONE;
	bool judged = false; /* the condition was met by what the snapshot sees */
	bool holds = false;	 /* the newest version is locked */
	tg_lock_mode mode = TG_LOCK_UPDATE;

	context->ecxt_scantuple = slot;
	if (modify->condition != NULL && scan->shape.way != TSURUGI_WAY_KEY)
	{
		tsurugi_scan_fill(scan, slot);
		if (!ExecQual(modify->condition, context))
			return ROW_PASSED;
		judged = true;
	}

	for (;;)
	{
		tg_version version;
		tg_writer writer;
		tg_status status;
		tg_wait wait;
		bool by_other = false;
		uint32_t row = scan->row;

		tsurugi_writer(node->ss.ps.state, is_delete ? TG_ESSENTIAL : TG_DATA, &writer);
		writer.hidden = tsurugi_row_hidden(&modify->new);
		tg_epoch_enter(scan->session);
		status = holds ? tg_txn_lock(&writer, &scan->snapshot, table, &row, mode, &version, &wait)
					   : tg_txn_newest(&writer, &scan->snapshot, table, &row, &version, &wait);
		if (status == TG_OK || status == TG_CHANGED)
			tsurugi_row_read(&modify->old, version);
		else if (status == TG_SELF)
			by_other = tg_txn_changed_by_other_command(&writer, &scan->snapshot, table, version);
		tg_epoch_leave(scan->session);

		if (status == TG_SELF)
			pass_over_own(modify, judged, by_other);
		else if (!judged && modify->condition != NULL && (status == TG_BUSY || tsurugi_is_changed(status)))
		{
			if (!is_wanted_as_seen(modify, false))
				return ROW_PASSED;
			judged = true;
			continue; /* the newest version is to be read again */
		}
		if (tsurugi_is_changed(status) && tsurugi_has_one_snapshot())
		{
			if (!modify->has_written)
				tsurugi_scan_forget(scan);
			tsurugi_renew_snapshot(modify->relation, tsurugi_conflict_of(status), scan->row,
								   !modify->has_written && !of_now);
			return ROW_RESTART;
		}
		if (status == TG_CHANGED && !holds && is_volatile(modify))
		{
			mode = lock_mode(modify);
			holds = true;
			continue;
		}
		if (status == TG_MOVED)
			tsurugi_error_moved(modify->relation, scan->row);
		if (status == TG_NOT_FOUND || status == TG_SELF)
			return ROW_PASSED;
		if (of_now && status == TG_OK)
			tsurugi_crosscheck(node->ss.ps.state, modify->relation, table, row, version);
		if (status == TG_OK || status == TG_CHANGED)
		{
			bool changed = status == TG_CHANGED;

			tsurugi_row_to_slot(&modify->old, row, slot);
			if (changed && !key_still_matches(modify))
				return ROW_PASSED;
			if (modify->condition != NULL && (changed || !judged) && !ExecQual(modify->condition, context))
				return ROW_PASSED;
			judged = true;
			status = is_delete ? tg_txn_delete(&writer, table, row, version, &wait)
							   : write_new_row(modify, &writer, &row, version, &wait);
		}
		switch (status)
		{
			case TG_OK:
				if (modify->new_slot != NULL)
					tsurugi_row_id_to_tid(row, &modify->new_slot->tts_tid);
				if (!modify->has_written && tsurugi_has_one_snapshot())
					tsurugi_scan_keep(scan);
				modify->has_written = true;
				return ROW_WRITTEN;
			case TG_BUSY:
				tsurugi_wait(&wait, modify->relation, purpose, scan->row);
				break;
			case TG_AGAIN:
				break;
			case TG_EXISTS:
				if (tsurugi_is_validated() &&
					!tsurugi_key_is_seen(node->ss.ps.state, modify->relation, table, wait.row, &noted))
					break;
				if (is_newest(&writer, table, row, version))
					tsurugi_error_duplicate(modify->relation, tsurugi_first_refusing(&modify->new, wait.index, row),
											modify->new_slot);
				break;
			default:
				tsurugi_refused(status, modify->relation);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

TupleTableSlot *
tsurugiIterateDirectModify(ForeignScanState *node)
{
	direct_modify *modify = node->fdw_state;
	EState *estate = node->ss.ps.state;
	ResultRelInfo *rinfo = modify->rinfo;

	while (tsurugi_scan_next(modify->scan))
	{
		TupleTableSlot *slot;
		outcome outcome;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(node->ss.ps.ps_ExprContext);
		ResetPerTupleExprContext(estate); /* constraints and hidden values */
		outcome = modify_row(modify);
		if (outcome != ROW_WRITTEN)
		{
			if (outcome == ROW_RESTART)
				tsurugi_scan_restart(modify->scan);
			else
				InstrCountFiltered1(node, 1);
			continue;
		}
		if (modify->scan->shape.counts)
			estate->es_processed++;
		if (rinfo->ri_projectReturning == NULL)
		{
			if (node->ss.ps.instrument != NULL)
				node->ss.ps.instrument->tuplecount += 1;
			continue;
		}
		/* The executor projects RETURNING from this slot (nodeModifyTable.c, ExecProcessReturning). */
		slot = modify->new_slot != NULL ? modify->new_slot : node->ss.ss_ScanTupleSlot;
		slot->tts_tableOid = RelationGetRelid(modify->relation);
		rinfo->ri_projectReturning->pi_exprContext->ecxt_scantuple = slot;
		return slot;
	}
	if (tsurugi_has_one_snapshot())
		tsurugi_snapshot_is_used();
	return ExecClearTuple(node->ss.ss_ScanTupleSlot);
}

void
tsurugiEndDirectModify(ForeignScanState *node)
{
	direct_modify *modify = node->fdw_state;

	if (modify != NULL)
		tsurugi_scan_end(modify->scan);
}
