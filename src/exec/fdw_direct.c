/*
 * fdw_direct.c
 *	  UPDATE and DELETE of one table as a whole: scan, lock, write, without forming rows for the
 *	  executor.
 *
 * A statement is run here if its rows come from one scan of the table, whatever its conditions.
 * PostgreSQL's expression machinery evaluates all of them here.  A row is written where the scan
 * finds it: row_follow.c leads from there to its newest version, and back, and this file has the
 * rules.  The scan does not see rows that the running command has written, so there is no
 * Halloween effect.
 *
 * 1. A row is written only if its version that the snapshot sees meets the conditions.  Otherwise
 *	  the row is skipped: concurrent changes to it do not matter, and the command does not wait for
 *	  them.  A scan by key does not evaluate the conditions: nearly always the newest version is
 *	  the one that the snapshot sees, and they are evaluated on that one.  They are evaluated on
 *	  the other one if the newest version has changed since the snapshot, or is held (FIND).
 * 2. If the newest version was committed after the snapshot, the conditions are evaluated again on
 *	  it (READ COMMITTED), those included that the key has answered.  Above READ COMMITTED the scan
 *	  starts over with a later snapshot, as long as nothing has been written, or the transaction
 *	  ends with 40001 (W5).
 * 3. It can be observed how often volatile functions are called.  PostgreSQL calls them for the
 *	  version that the snapshot sees, and once more for the newest one, which it has locked before.
 *	  So a statement that has such functions locks a changed row, too, before it evaluates them
 *	  again.  SET is computed only when the row can be written; PostgreSQL computes it before it
 *	  waits, and again afterwards.
 *
 * PostgreSQL itself refuses direct modification where there are row triggers, stored generated
 * columns, check options or transition tables (createplan.c, make_modifytable).
 */
#include "postgres.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/order/value.h"
#include "runtime/txn/own.h"
#include "runtime/txn/read.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/value/key_column.h"
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
#include "src/exec/row_follow.h"
#include "src/exec/scan.h"
#include "src/table/building.h"
#include "src/table/row.h"
#include "src/table/row_set.h"
#include "src/table/system_columns.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

/* One statement. */
typedef struct direct_modify
{
	tsurugi_follow follow; /* the scan's current row; first: the rules' functions are given this */
	tsurugi_scan *scan;
	ForeignScanState *node;
	ResultRelInfo *rinfo;
	tg_writer writer; /* of the last look */
	bool counts;	  /* rows are the statement's */
	bool by_key;	  /* the scan finds them by the primary key, and reads none of their columns */
	bool sets_key;
	ExprState *condition; /* NULL: none */
	Expr *recheck_expr;	  /* the conditions that the key has answered; NULL: none */
	ExprState *recheck;	  /* made when it is first needed */
	int set_count;
	int *set_columns;		/* the storage's */
	ExprState **set_values; /* of the new values */
	tsurugi_row old;
	tsurugi_row new;
	TupleTableSlot *new_slot; /* NULL: DELETE */
	unsigned char *key;
	unsigned char *key_old;
	bool has_written;
	bool knows_volatile; /* is_volatile is known */
	bool is_volatile;
} direct_modify;

/* --- planning -------------------------------------------------------------------------------- */

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

/*
 * Of the entries that are junk a direct modification needs none, if they are row identity.  Others
 * are of sub-selects that set several columns; these statements are not taken.
 */
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
 * The target list after planning.  The executor looks for row identity but never reads it.  The
 * new values are computed here, once.  By tableoid the executor finds the partition that RETURNING
 * is about.  Positions matter only to an Append above.
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

/*
 * The plan's number if its executor state may be kept (prepared_modify.c): a key finds the row, and
 * the key's values need not be computed.
 */
static uint32_t
plan_number(const tsurugi_scan_plan *plan, const tsurugi_scan_exprs *exprs)
{
	const tsurugi_shape *shape = &plan->access->shape;
	ListCell *cell;

	if (shape->way == TSURUGI_WAY_TABLE || shape->way == TSURUGI_WAY_ARMS || shape->arrays != 0 || plan->parts != NIL ||
		plan->access->sought_columns != NIL)
		return 0;
	foreach (cell, exprs->values)
		if (!tsurugi_is_plain_value(lfirst(cell)))
			return 0;
	return tsurugi_plan_number_next();
}

/*
 * Whether an UPDATE sets a column of an EXCLUDE constraint.  The executor's path checks such
 * rows.
 */
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
	List *set = NIL;
	List *values = NIL;
	tsurugi_scan_plan *scan_plan;
	tsurugi_scan_exprs exprs;
	ListCell *cell;
	ListCell *cell2;

	if (scan == NULL || tsurugi_is_tid_scan(scan) || (plan->operation != CMD_UPDATE && plan->operation != CMD_DELETE) ||
		!only_row_identity_is_junk(scan->scan.plan.targetlist))
		return false;
	if (tsurugi_system_columns_are_named(
			(Node *) list_make3(plan->returningLists, scan->scan.plan.targetlist, scan->scan.plan.qual),
			resultRelation))
		return false;
	/* The row may have to move to another partition, which the executor's path notices. */
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

	scan_plan = tsurugi_scan_plan_of(scan);
	tsurugi_scan_exprs_get(scan, &exprs);
	pull_varattnos((Node *) scan->fdw_exprs, resultRelation, &attributes);
	scan_plan->direct = plan->operation;
	scan_plan->counts = plan->canSetTag;
	scan_plan->number = plan_number(scan_plan, &exprs);
	scan_plan->set = set;
	exprs.set = values;
	if (scan->scan.plan.qual != NIL)
	{
		exprs.condition = make_ands_explicit(scan->scan.plan.qual);
		pull_varattnos((Node *) scan->scan.plan.qual, resultRelation, &attributes);
	}
	if (scan->fdw_recheck_quals != NIL)
		exprs.recheck = make_ands_explicit(scan->fdw_recheck_quals);
	scan->fdw_recheck_quals = NIL;
	/* The scan has only to tell whether a row is wanted; the row is read when it is written. */
	scan_plan->columns = NIL;
	if (scan_plan->access->shape.way != TSURUGI_WAY_KEY)
	{
		Relation relation = RelationIdGetRelation(planner_rt_fetch(resultRelation, root)->relid);

		scan_plan->columns = tsurugi_columns_of(tsurugi_relation_get(relation), attributes);
		RelationClose(relation);
	}
	scan->fdw_exprs = tsurugi_scan_exprs_to_list(&exprs);
	scan->scan.plan.qual = NIL;
	scan->scan.plan.targetlist = placeholders(scan->scan.plan.targetlist, outerPlan(plan) == &scan->scan.plan);
	scan->operation = plan->operation;
	scan->resultRelation = resultRelation;
	return true;
}

/* --- running --------------------------------------------------------------------------------- */

/* Checks for the features that createplan.c does not leave to a direct modification. */
static inline void
check_statement(const ForeignScan *plan, const ResultRelInfo *rinfo)
{
	const TriggerDesc *triggers = rinfo->ri_TrigDesc;
	const TupleConstr *constraints = RelationGetDescr(rinfo->ri_RelationDesc)->constr;
	bool updates = plan->operation == CMD_UPDATE;

	tg_assert(updates || plan->operation == CMD_DELETE);
	tg_assert(triggers == NULL || !(updates ? triggers->trig_update_before_row || triggers->trig_update_after_row
											: triggers->trig_delete_before_row || triggers->trig_delete_after_row));
	tg_assert(!updates || constraints == NULL || !constraints->has_generated_stored);
}

void
tsurugi_direct_make(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	EState *estate = node->ss.ps.state;
	const tsurugi_scan_plan *scan_plan = tsurugi_scan_plan_of(plan);
	const List *set = scan_plan->set;
	const tsurugi_relation *described;
	tsurugi_scan_exprs exprs;
	direct_modify *modify;
	ListCell *cell;

	check_statement(plan, node->resultRelInfo);
	modify = palloc0(sizeof(direct_modify) + list_length(set) * (sizeof(int) + sizeof(ExprState *)));
	node->fdw_state = modify;
	modify->node = node;
	modify->rinfo = node->resultRelInfo;
	modify->scan = tsurugi_scan_make(node);
	described = modify->scan->described;
	tsurugi_follow_init(&modify->follow, estate, node->resultRelInfo->ri_RelationDesc, described,
						plan->operation == CMD_DELETE ? TSURUGI_TO_DELETE : TSURUGI_TO_UPDATE);
	tsurugi_row_init(&modify->old, described);

	modify->counts = scan_plan->counts;
	modify->by_key = scan_plan->access->shape.way == TSURUGI_WAY_KEY;
	tsurugi_scan_exprs_get(plan, &exprs);
	if (exprs.condition != NULL)
		modify->condition = ExecInitQual(make_ands_implicit(exprs.condition), &node->ss.ps);
	modify->recheck_expr = exprs.recheck;
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
		modify->set_values[modify->set_count] = ExecInitExpr(list_nth(exprs.set, modify->set_count), &node->ss.ps);
		modify->set_count++;
	}
	tsurugi_row_init(&modify->new, described);
	modify->new.hidden = tsurugi_hidden_prepare(described, described->table, estate);
	/* the scan's descriptor is a copy whose references are not counted */
	modify->new_slot = ExecInitExtraTupleSlot(estate, node->ss.ss_ScanTupleSlot->tts_tupleDescriptor, &TTSOpsVirtual);
	modify->new_slot->tts_tableOid = RelationGetRelid(modify->follow.relation);
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

	tsurugi_scan_end(modify->scan);
	modify->recheck = NULL; /* it was compiled in the execution's memory */
	modify->has_written = false;
}

void
tsurugiBeginDirectModify(ForeignScanState *node, int eflags)
{
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	tsurugi_building_check(node->resultRelInfo->ri_RelationDesc);
	if (castNode(ForeignScan, node->ss.ps.plan)->operation == CMD_UPDATE)
		tsurugi_transaction_before_values();
	tsurugi_direct_make(node);
	tsurugi_scan_start(tsurugi_direct_scan(node));
}

/* --- what a row becomes ---------------------------------------------------------------------- */

/* Computes the new row from the old one, which is in the scan's slot, and checks it. */
static void
make_new_slot(direct_modify *modify)
{
	ExprContext *context = modify->node->ss.ps.ps_ExprContext;
	TupleTableSlot *old = modify->node->ss.ss_ScanTupleSlot;
	TupleTableSlot *slot = modify->new_slot;
	int count = RelationGetDescr(modify->follow.relation)->natts;

	ExecClearTuple(slot);
	memcpy(slot->tts_values, old->tts_values, count * sizeof(Datum));
	memcpy(slot->tts_isnull, old->tts_isnull, count * sizeof(bool));
	for (int i = 0; i < modify->set_count; i++)
	{
		int column = modify->set_columns[i];

		slot->tts_values[column] = ExecEvalExprSwitchContext(modify->set_values[i], context, &slot->tts_isnull[column]);
	}
	ExecStoreVirtualTuple(slot);
	if (modify->follow.relation->rd_rel->relispartition)
		(void) ExecPartitionCheck(modify->rinfo, slot, modify->node->ss.ps.state, true);
	if (RelationGetDescr(modify->follow.relation)->constr != NULL)
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

/* Results of tg_txn_update.  The row that was written is in found, too, if it got a new key. */
static tg_status
write_new_row(direct_modify *modify)
{
	tg_table *table = modify->scan->described->table;
	tsurugi_found *found = &modify->follow.found;
	size_t bytes;

	make_new_row(modify);
	if (modify->sets_key && !tsurugi_row_same_key(&modify->new, &modify->old, modify->follow.relation, modify->key,
												  modify->key_old, &bytes))
	{
		uint32_t moved_to;
		tg_status status;

		tsurugi_row_own_strings(&modify->new);
		status = tg_txn_move(&modify->writer, table, found->row, found->version, modify->key, bytes, modify->new.values,
							 modify->new.nulls, &moved_to, &found->wait);
		if (status == TG_OK)
			found->row = moved_to;
		return status;
	}
	return tg_txn_update(&modify->writer, table, found->row, found->version, modify->new.values, modify->new.nulls,
						 &found->wait);
}

/* --- what is evaluated ----------------------------------------------------------------------- */

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

/*
 * Whether the version that the snapshot sees meets the condition; it is in the scan's slot then.
 * is_known: it does.
 */
static bool
is_wanted_as_seen(direct_modify *modify, bool is_known)
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
	return is_known || modify->condition == NULL || ExecQual(modify->condition, modify->node->ss.ps.ps_ExprContext);
}

/*
 * Rule 3: whether it can be observed how often conditions and new values are computed.  The plan of
 * a sub-select is not searched: it counts as volatile.
 */
static bool
is_volatile(direct_modify *modify)
{
	Node *expressions = (Node *) ((const ForeignScan *) modify->node->ss.ps.plan)->fdw_exprs;

	if (!modify->knows_volatile)
		modify->is_volatile = contain_volatile_functions(expressions) || contain_subplans(expressions);
	modify->knows_volatile = true;
	return modify->is_volatile;
}

/* --- rules of row_follow.c ------------------------------------------------------------------- */

static inline direct_modify *
modify_of(tsurugi_follow *follow)
{
	return (direct_modify *) follow;
}

static inline bool
is_delete(const direct_modify *modify)
{
	return modify->scan->direct == CMD_DELETE;
}

static tg_lock_mode
lock_mode(const direct_modify *modify)
{
	return is_delete(modify) || ExecUpdateLockMode(modify->node->ss.ps.state, modify->rinfo) == LockTupleExclusive
			   ? TG_LOCK_UPDATE
			   : TG_LOCK_NO_KEY_UPDATE;
}

static pg_attribute_always_inline tg_status
look_at_row(tsurugi_follow *follow)
{
	direct_modify *modify = modify_of(follow);
	EState *estate = follow->estate;
	tsurugi_scan *scan = modify->scan;
	tg_table *table = scan->described->table;
	tsurugi_found *found = &follow->found;
	tg_lock_mode mode = follow->look == TSURUGI_FOLLOW_LOCK ? lock_mode(modify) : TG_LOCK_UPDATE;
	tg_status status;

	found->row = follow->target;
	tsurugi_writer(estate, is_delete(modify) ? TG_ESSENTIAL : TG_DATA, &modify->writer);
	modify->writer.hidden = tsurugi_row_hidden(&modify->new);
	tg_epoch_enter(scan->session);
	status = tsurugi_find_newest(&modify->writer, &scan->snapshot, table,
								 follow->look == TSURUGI_FOLLOW_LOCK ? &mode : NULL, found);
	if (status == TG_OK || status == TG_CHANGED)
		tsurugi_row_read(&modify->old, found->version);
	else if (status == TG_SELF)
		found->by_other_command =
			tg_txn_changed_by_other_command(&modify->writer, &scan->snapshot, table, found->version);
	tg_epoch_leave(scan->session);
	if (status == TG_OK && tsurugi_snapshot_is_of_now(estate))
		tsurugi_crosscheck(estate, follow->relation, table, found->row, found->version);
	return status;
}

static bool
is_wanted(tsurugi_follow *follow)
{
	return is_wanted_as_seen(modify_of(follow), false);
}

static pg_attribute_always_inline tsurugi_follow_state
judge_row(tsurugi_follow *follow, bool changed)
{
	direct_modify *modify = modify_of(follow);
	TupleTableSlot *slot = modify->node->ss.ss_ScanTupleSlot;
	bool is_judged = !changed && follow->look != TSURUGI_FOLLOW_FIND;

	tg_assert(changed || follow->found.row == follow->target);
	if ((changed || tsurugi_is_queued) && follow->look != TSURUGI_FOLLOW_LOCK && is_volatile(modify))
		return TSURUGI_FOLLOW_LOCK; /* in the queue, row_queue.c, 3 */
	tsurugi_row_to_slot(&modify->old, follow->found.row, slot);
	if (unlikely(changed))
		tsurugi_tid_make_other(&slot->tts_tid);
	if (changed && !key_still_matches(modify))
		return TSURUGI_FOLLOW_SKIPPED;
	if (modify->condition != NULL && !is_judged && !ExecQual(modify->condition, modify->node->ss.ps.ps_ExprContext))
		return TSURUGI_FOLLOW_SKIPPED;
	if (unlikely(changed))
		tsurugi_row_id_to_tid(follow->found.row, &slot->tts_tid);
	return TSURUGI_FOLLOW_WRITE;
}

static pg_attribute_always_inline tg_status
write_row(tsurugi_follow *follow)
{
	direct_modify *modify = modify_of(follow);
	tsurugi_found *found = &follow->found;

	if (is_delete(modify))
		return tg_txn_delete(&modify->writer, modify->scan->described->table, found->row, found->version, &found->wait);
	return write_new_row(modify);
}

/* Rule 2.  The actions of foreign keys do not start over: their snapshot is of now. */
static void
renew_snapshot(tsurugi_follow *follow, tg_conflict_kind kind)
{
	direct_modify *modify = modify_of(follow);

	if (!modify->has_written)
		tsurugi_scan_forget(modify->scan);
	tsurugi_renew_snapshot(follow->relation, kind, follow->target,
						   !modify->has_written && !tsurugi_snapshot_is_of_now(follow->estate));
	tg_assert(!modify->has_written);
}

/*
 * PostgreSQL finds out that its own transaction has changed the row only when the row is known to
 * be wanted, and the new one has met the constraints.
 */
static void
skip_own(tsurugi_follow *follow)
{
	direct_modify *modify = modify_of(follow);

	if (!is_wanted_as_seen(modify, follow->look != TSURUGI_FOLLOW_FIND))
		return;
	if (!is_delete(modify))
		make_new_slot(modify);
	tsurugi_check_own_change(follow->found.by_other_command, is_delete(modify) ? "deleted" : "updated");
}

static void
raise_duplicate(tsurugi_follow *follow)
{
	direct_modify *modify = modify_of(follow);

	tsurugi_error_duplicate(follow->relation,
							tsurugi_first_refusing(&modify->new, follow->found.wait.index, follow->found.row),
							modify->new_slot);
}

static const tsurugi_follow_rules direct_rules = {
	.look = look_at_row,
	.is_wanted = is_wanted,
	.judge = judge_row,
	.write = write_row,
	.conflict = renew_snapshot,
	.own = skip_own,
	.wait = tsurugi_follow_wait_as_found,
	.duplicate = raise_duplicate,
	.refused = tsurugi_refused,
};

/* --- rows ------------------------------------------------------------------------------------ */

/* Writes the scan's current row, if the statement wants it. */
static tsurugi_follow_state
modify_row(direct_modify *modify)
{
	TupleTableSlot *slot = modify->node->ss.ss_ScanTupleSlot;
	ExprContext *context = modify->node->ss.ps.ps_ExprContext;
	tsurugi_follow *follow = &modify->follow;
	tsurugi_scan *scan = modify->scan;
	bool is_judged = modify->condition == NULL;
	tsurugi_follow_state end;

	context->ecxt_scantuple = slot;
	if (modify->condition != NULL && !modify->by_key)
	{
		tsurugi_scan_fill(scan, slot);
		if (!ExecQual(modify->condition, context))
			return TSURUGI_FOLLOW_SKIPPED;
		is_judged = true;
	}
	tsurugi_follow_begin(follow, scan->row, is_judged ? TSURUGI_FOLLOW_LOOK : TSURUGI_FOLLOW_FIND);
	end = tsurugi_follow_row(follow, &direct_rules);
	if (end != TSURUGI_FOLLOW_DONE)
		return end;
	if (modify->new_slot != NULL)
		tsurugi_row_id_to_tid(follow->found.row, &modify->new_slot->tts_tid);
	if (!modify->has_written && tsurugi_has_one_snapshot())
		tsurugi_scan_keep(scan);
	modify->has_written = true;
	return TSURUGI_FOLLOW_DONE;
}

/* Row_follow.c, rule 6. */
static void
restart(direct_modify *modify)
{
	if (!(modify->by_key && modify->condition == NULL) && is_volatile(modify))
		tsurugi_queue_leave();
	tsurugi_scan_restart(modify->scan);
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
		tsurugi_follow_state end;

		CHECK_FOR_INTERRUPTS();
		ResetExprContext(node->ss.ps.ps_ExprContext);
		ResetPerTupleExprContext(estate); /* constraints and hidden values */
		end = modify_row(modify);
		if (end != TSURUGI_FOLLOW_DONE)
		{
			if (end == TSURUGI_FOLLOW_RESTART)
				restart(modify);
			else
				InstrCountFiltered1(node, 1);
			continue;
		}
		if (modify->counts)
			estate->es_processed++;
		if (rinfo->ri_projectReturning == NULL)
		{
			if (node->ss.ps.instrument != NULL)
				node->ss.ps.instrument->tuplecount += 1;
			continue;
		}
		/* The executor projects RETURNING from this slot (ExecProcessReturning). */
		slot = modify->new_slot != NULL ? modify->new_slot : node->ss.ss_ScanTupleSlot;
		slot->tts_tableOid = RelationGetRelid(modify->follow.relation);
		rinfo->ri_projectReturning->pi_exprContext->ecxt_scantuple = slot;
		return slot;
	}
	tsurugi_queue_leave();
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
