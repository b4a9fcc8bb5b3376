/*
 * fdw_modify.c
 *	  The UPDATE and DELETE that are not run as a whole: joins, triggers, generated columns,
 *	  partitions.  And how these begin, and INSERT (fdw_insert.c).
 *
 * The executor hands over one row at a time.  What it leaves to the wrapper of a foreign table is
 * done here and in fdw_change.c: constraints, partition bounds, the checks of policies, and what
 * READ COMMITTED does with rows that other transactions have changed.  row_follow.c leads from the
 * row to its newest version; these are its rules:
 *
 *	as the snapshot sees it		the new row is written
 *	committed since				the row is locked; EvalPlanQual evaluates the statement on it, and
 *								makes the new row, which is written; no new row: the row is skipped;
 *								above READ COMMITTED: 40001
 *
 * 1. A write replaces exactly the version that the new row was computed from.  So the row need not
 *	  be locked before it is written.  But EvalPlanQual, whose functions may have effects, is asked
 *	  once, as in PostgreSQL: a version that has changed since the snapshot is locked before.
 * 2. With BEFORE ROW triggers the row is locked ahead of them (fdw_before.c): they have seen the
 *	  version that is written.  Without, a row that has changed since the snapshot is another one
 *	  than the executor knows of; its AFTER ROW triggers are fired from here, see
 *	  tsurugi_change_fire_update.
 * 3. A row whose new version belongs to another partition is deleted here, and inserted there
 *	  (fdw_move.c).  If BEFORE DELETE triggers are to be fired for it, it is locked ahead of them.
 */
#include "postgres.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/table/limits.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/exec/fdw_change.h"

#include "access/sysattr.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "parser/parsetree.h"
#include "utils/rel.h"
#include "utils/relcache.h"

#include "src/exec/arbiter.h"
#include "src/table/building.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/writer.h"

/* --- planning -------------------------------------------------------------------------------- */

static bool
has_delete_triggers(Oid oid)
{
	Relation relation = RelationIdGetRelation(oid);
	const TriggerDesc *triggers = relation == NULL ? NULL : relation->trigdesc;
	bool has = triggers != NULL && (triggers->trig_delete_before_row || triggers->trig_delete_after_row);

	if (relation != NULL)
		RelationClose(relation);
	return has;
}

/* Whether a DELETE fires triggers for rows of any table of a tree. */
static bool
tree_has_delete_triggers(Oid root)
{
	List *tables = find_all_inheritors(root, NoLock, NULL);
	ListCell *cell;
	bool has = false;

	foreach (cell, tables)
		has = has || has_delete_triggers(lfirst_oid(cell));
	list_free(tables);
	return has;
}

/*
 * A DELETE from several tables needs whole rows of all of them if one has triggers: PostgreSQL asks
 * for those of that one alone, and then finds none for a row of another (ExecModifyTable).
 */
void
tsurugiAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte, Relation target_relation)
{
	Var *ctid = makeVar(rtindex, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);

	add_row_identity_var(root, ctid, rtindex, "ctid");
	if (root->parse->commandType == CMD_DELETE && (int) rtindex != root->parse->resultRelation &&
		tree_has_delete_triggers(planner_rt_fetch(root->parse->resultRelation, root)->relid))
		add_row_identity_var(root, makeVar(rtindex, InvalidAttrNumber, RECORDOID, -1, InvalidOid, 0), rtindex,
							 "wholerow");
}

static void
set_whole_row_type(Node *node, Index rtindex, Oid row_type)
{
	Var *var = (Var *) node;

	if (IsA(var, Var) && var->varno == rtindex && var->varattno == InvalidAttrNumber && var->vartype == RECORDOID)
		var->vartype = row_type;
}

/*
 * The planner asks for whole rows of an UPDATE's target as records (add_row_identity_columns); the
 * statement names them as values of the table's row type.  The planner takes both for the same
 * column of what is below a join, which can be of one type only.  So all of them become values of
 * the table's row type.  Whole rows of a child are columns beside those of its parent.
 */
void
tsurugi_type_whole_rows(PlannerInfo *root, RelOptInfo *baserel, Oid row_type)
{
	ListCell *cell;

	if ((int) baserel->relid != root->parse->resultRelation)
		return;
	foreach (cell, root->processed_tlist)
		set_whole_row_type((Node *) lfirst_node(TargetEntry, cell)->expr, baserel->relid, row_type);
	foreach (cell, baserel->reltarget->exprs)
		set_whole_row_type(lfirst(cell), baserel->relid, row_type);
}

int
tsurugiIsForeignRelUpdatable(Relation rel)
{
	return 1 << CMD_INSERT | 1 << CMD_UPDATE | 1 << CMD_DELETE;
}

/* --- beginning ------------------------------------------------------------------------------- */

static tsurugi_change *
make_state(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	const tsurugi_relation *described = tsurugi_relation_get(rinfo->ri_RelationDesc);
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan; /* NULL: COPY */
	size_t key_bytes = tsurugi_key_capacity(described);
	tsurugi_change *modify = palloc(sizeof(tsurugi_change) + 2 * key_bytes);

	tsurugi_building_check(rinfo->ri_RelationDesc);
	modify->described = described;
	modify->relation = rinfo->ri_RelationDesc;
	modify->mtstate = mtstate;
	modify->on_conflict = plan == NULL ? ONCONFLICT_NONE : plan->onConflictAction;
	modify->ctid = InvalidAttrNumber;
	modify->copies = described->may_copy;
	modify->checks_partition = modify->receives = false;
	modify->has_snapshot = modify->old_is_own = false;
	modify->silenced = NULL;
	modify->asks_in_turn = modify->holds_existing = modify->set_is_known = false;
	modify->exclusions = NULL;
	modify->stored = NULL;
	modify->fires = false;
	modify->holding = NULL;
	modify->held = TG_ROW_MAX;
	modify->move = (tsurugi_move){0};
	modify->key_old = modify->key + key_bytes;
	if (mtstate->operation != CMD_DELETE)
	{
		tsurugi_row_init(&modify->row, described);
		modify->row.hidden = tsurugi_hidden_prepare(described, described->table, mtstate->ps.state);
		modify->exclusions = tsurugi_exclusions_prepare(rinfo->ri_RelationDesc, described);
	}
	for (int i = 0; modify->on_conflict != ONCONFLICT_NONE && i < described->index_count; i++)
		modify->asks_in_turn |= described->indexes[i].deferrable;
	modify->has_old = mtstate->operation != CMD_INSERT || modify->on_conflict == ONCONFLICT_UPDATE;
	if (modify->has_old)
		tsurugi_row_init(&modify->old, described);
	tsurugi_change_prepare_system_columns(modify);
	return modify;
}

/*
 * Notes what an insertion needs.  The storage maintains the keys, so the executor need not open
 * their indexes for each statement: it takes an array for opened indexes, even an empty one.
 */
static void
prepare_inserts(tsurugi_change *modify, ResultRelInfo *rinfo)
{
	static Relation no_index;

	if (rinfo->ri_IndexRelationDescs == NULL)
	{
		rinfo->ri_IndexRelationDescs = &no_index;
		rinfo->ri_NumIndices = 0;
	}
	/* As ExecInsert does it for ordinary tables; COPY does it by itself. */
	modify->receives = rinfo->ri_RootResultRelInfo != NULL && tsurugi_move_prepare(modify->mtstate);
	modify->checks_partition = modify->relation->rd_rel->relispartition && modify->mtstate->ps.plan != NULL &&
							   (rinfo->ri_RootResultRelInfo == NULL ||
								(rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_insert_before_row));
}

/*
 * Lets the executor hand over the plan's rows as they are, where these are plain arrays of values.
 * By itself it would form a heap tuple of each row (ExecInitInsertProjection), which would be taken
 * apart again here.  Everything less simple is left to it.
 */
static void
take_rows_of_plan(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	PlanState *plan = outerPlanState(mtstate);

	if (plan->resultopsset && plan->resultopsfixed && plan->resultops == &TTSOpsVirtual &&
		plan->ps_ResultTupleSlot != NULL &&
		list_length(plan->plan->targetlist) == RelationGetDescr(rinfo->ri_RelationDesc)->natts)
	{
		/* The executor looks only at its kind. */
		rinfo->ri_newTupleSlot = plan->ps_ResultTupleSlot;
		rinfo->ri_projectNewInfoValid = true;
	}
}

void
tsurugiBeginForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private, int subplan_index,
						  int eflags)
{
	tsurugi_change *modify;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	modify = make_state(mtstate, rinfo);
	rinfo->ri_FdwState = modify;
	if (mtstate->operation != CMD_DELETE)
	{
		tsurugi_transaction_before_values();
		prepare_inserts(modify, rinfo);
	}
	if (mtstate->operation == CMD_INSERT)
	{
		modify->holds_existing = tsurugi_conflict_set_is_noted_volatile(fdw_private);
		if (modify->stored == NULL)
			take_rows_of_plan(mtstate, rinfo);
	}
	else
	{
		modify->ctid = ExecFindJunkAttributeInTlist(outerPlanState(mtstate)->plan->targetlist, "ctid");
		if (!AttributeNumberIsValid(modify->ctid))
			elog(ERROR, "could not find junk ctid column");
		tsurugi_before_prepare(modify, rinfo);
	}
}

/*
 * COPY, and rows routed to a partition.  The same UPDATE may change rows of that partition, too:
 * rows that come from elsewhere carry the running command, and its scan does not see them.
 */
void
tsurugiBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	tsurugi_change *modify = rinfo->ri_FdwState;

	if (modify == NULL)
		rinfo->ri_FdwState = modify = make_state(mtstate, rinfo);
	tsurugi_transaction_before_values();
	prepare_inserts(modify, rinfo);
	if (modify->on_conflict == ONCONFLICT_UPDATE)
		modify->holds_existing = tsurugi_conflict_set_is_volatile((const ModifyTable *) mtstate->ps.plan);
}

/* --- UPDATE and DELETE ----------------------------------------------------------------------- */

/* The row in hand of an UPDATE or DELETE, and how far it has got. */
typedef struct modified_row
{
	tsurugi_change_row row; /* first: the rules' functions are given it */
	tg_version judged;		/* what EvalPlanQual has wanted; TG_VERSION_NONE: it was not asked */
	bool is_held;			/* for BEFORE triggers, which have got the newest version */
	bool is_checked;		/* UPDATE: the new row may be stored, or may leave */
	bool leaves;			/* UPDATE: the new row belongs to another partition */
	bool locks_to_leave;	/* UPDATE: a look that locks does so as for a DELETE */
} modified_row;

static inline modified_row *
modified_row_of(tsurugi_follow *follow)
{
	return (modified_row *) follow;
}

static inline void
begin_row(modified_row *modified, EState *estate, ResultRelInfo *rinfo, tsurugi_purpose purpose, TupleTableSlot *slot,
		  TupleTableSlot *planSlot)
{
	tsurugi_change *modify = rinfo->ri_FdwState;
	uint32_t target = tsurugi_change_target(modify, planSlot);

	tsurugi_change_row_init(&modified->row, modify, estate, rinfo, purpose);
	tsurugi_follow_begin(&modified->row.follow, target, TSURUGI_FOLLOW_LOOK);
	modified->row.slot = slot;
	modified->judged = TG_VERSION_NONE;
	modified->is_held = modify->held == target;
	modified->is_checked = modified->leaves = modified->locks_to_leave = false;
	modify->held = TG_ROW_MAX;
	tsurugi_change_restore(modify, rinfo);
}

/* Whether EvalPlanQual has still to be asked about a version. */
static inline bool
is_to_be_judged(const modified_row *modified, bool changed)
{
	return changed && !modified->is_held && modified->row.follow.found.version != modified->judged;
}

/* Rule 1: what is written over is what EvalPlanQual was asked about, if it was. */
static inline void
check_judged(const modified_row *modified)
{
	tg_assert(modified->judged == TG_VERSION_NONE || modified->judged == modified->row.follow.found.version);
	tg_assert(modified->judged == TG_VERSION_NONE || modified->row.follow.look == TSURUGI_FOLLOW_LOCK);
	tg_assert(modified->judged == TG_VERSION_NONE || !modified->is_held);
}

/*
 * Computes the new row from a version that was committed after the snapshot.  False: the statement
 * does not want it.
 */
static bool
recompute_update(modified_row *modified)
{
	tsurugi_change_row *row = &modified->row;
	ResultRelInfo *rinfo = row->rinfo;
	EState *estate = row->follow.estate;

	row->slot = tsurugi_change_recompute(row->modify, rinfo, row->follow.found.row);
	if (row->slot == NULL)
		return false;
	row->old =
		rinfo->ri_TrigDesc == NULL ? NULL : tsurugi_change_old_tuple(row->modify, estate, rinfo->ri_oldTupleSlot);
	if (!tsurugi_change_finish_row(row->modify, estate, rinfo, row->old, row->slot))
		return false;
	modified->judged = row->follow.found.version;
	modified->is_checked = false;
	return true;
}

/*
 * Whether the row may be deleted because its new version belongs to another partition.  False: a
 * BEFORE DELETE trigger forbids it.
 */
static bool
may_leave(tsurugi_change_row *row)
{
	tsurugi_change *modify = row->modify;
	ResultRelInfo *rinfo = row->rinfo;
	EState *estate = row->follow.estate;
	TupleTableSlot *old = rinfo->ri_oldTupleSlot;
	bool may;

	if (rinfo == modify->mtstate->rootResultRelInfo)
		ExecPartitionCheckEmitError(rinfo, row->slot, estate);
	if (rinfo->ri_TrigDesc == NULL)
		return true;
	ExecMaterializeSlot(row->slot); /* it may have been made of the old one */
	tsurugi_row_to_slot(&modify->old, row->follow.found.row, old);
	old->tts_tableOid = RelationGetRelid(modify->relation);
	row->old = tsurugi_change_old_tuple(modify, estate, old);
	if (!rinfo->ri_TrigDesc->trig_delete_before_row)
		return true;
	modify->fires = true;
	may = ExecBRDeleteTriggers(estate, &modify->mtstate->mt_epqstate, rinfo, NULL, row->old, NULL);
	modify->fires = false;
	return may;
}

/* As the executor has it: BEFORE DELETE triggers are fired for a row that is locked. */
static inline bool
must_lock_to_leave(const ResultRelInfo *rinfo)
{
	return rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_delete_before_row;
}

static tsurugi_follow_state
check_new_row(modified_row *modified)
{
	tsurugi_change_row *row = &modified->row;
	EState *estate = row->follow.estate;

	modified->leaves = tsurugi_change_leaves_partition(row->modify, estate, row->rinfo, row->slot);
	if (modified->leaves && !modified->locks_to_leave && must_lock_to_leave(row->rinfo))
	{
		modified->locks_to_leave = true;
		return TSURUGI_FOLLOW_LOCK;
	}
	if (modified->leaves && !may_leave(row))
		return TSURUGI_FOLLOW_SKIPPED;
	if (!modified->leaves)
		tsurugi_change_check(row->modify, estate, row->rinfo, row->slot, WCO_RLS_UPDATE_CHECK);
	modified->is_checked = true;
	return TSURUGI_FOLLOW_WRITE;
}

static pg_attribute_always_inline tg_status
look_to_update(tsurugi_follow *follow)
{
	modified_row *modified = modified_row_of(follow);

	if (follow->look == TSURUGI_FOLLOW_LOCK)
		return tsurugi_change_hold(&modified->row, modified->locks_to_leave, true);
	return tsurugi_change_look(&modified->row, TG_DATA, true);
}

static pg_attribute_always_inline tsurugi_follow_state
judge_update(tsurugi_follow *follow, bool changed)
{
	modified_row *modified = modified_row_of(follow);

	if (is_to_be_judged(modified, changed))
	{
		if (follow->look != TSURUGI_FOLLOW_LOCK)
			return TSURUGI_FOLLOW_LOCK;
		if (!recompute_update(modified))
			return TSURUGI_FOLLOW_SKIPPED;
	}
	return modified->is_checked ? TSURUGI_FOLLOW_WRITE : check_new_row(modified);
}

static pg_attribute_always_inline tg_status
write_update(tsurugi_follow *follow)
{
	tsurugi_found *found = &follow->found;
	tg_writer writer;

	check_judged(modified_row_of(follow));
	if (!modified_row_of(follow)->leaves)
		return tsurugi_change_replace(follow);
	tsurugi_writer(follow->estate, TG_ESSENTIAL, &writer);
	return tg_txn_depart(&writer, follow->described->table, found->row, found->version, &found->wait);
}

/*
 * PostgreSQL finds that out when the row has met the constraints, or is to be deleted for a new one
 * in another partition; or before BEFORE triggers, of whose row it always says "updated".
 */
static void
skip_own_update(tsurugi_follow *follow)
{
	const modified_row *modified = modified_row_of(follow);
	const tsurugi_change_row *row = &modified->row;
	const TriggerDesc *triggers = row->rinfo->ri_TrigDesc;
	bool leaves = modified->leaves;

	if (!modified->is_checked && !(triggers != NULL && triggers->trig_update_before_row))
	{
		leaves = tsurugi_change_leaves_partition(row->modify, follow->estate, row->rinfo, row->slot);
		if (!leaves)
			tsurugi_change_check(row->modify, follow->estate, row->rinfo, row->slot, WCO_RLS_UPDATE_CHECK);
	}
	tsurugi_check_own_change(follow->found.by_other_command,
							 leaves && !must_lock_to_leave(row->rinfo) ? "deleted" : "updated");
}

static const tsurugi_follow_rules update_rules = {
	.look = look_to_update,
	.judge = judge_update,
	.write = write_update,
	.conflict = tsurugi_follow_raise_conflict,
	.own = skip_own_update,
	.wait = tsurugi_follow_wait,
	.duplicate = tsurugi_change_raise_duplicate,
	.refused = tsurugi_refused,
};

TupleTableSlot *
tsurugiExecForeignUpdate(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	tsurugi_change *modify = rinfo->ri_FdwState;
	TriggerDesc *triggers = rinfo->ri_TrigDesc;
	modified_row modified;

	begin_row(&modified, estate, rinfo, TSURUGI_TO_UPDATE, slot, planSlot);
	if (tsurugi_follow_row(&modified.row.follow, &update_rules) != TSURUGI_FOLLOW_DONE)
		return NULL;
	slot = modified.row.slot;
	if (modified.leaves)
	{
		slot = tsurugi_move_insert(&modify->move, modify->mtstate, rinfo, modified.row.old, slot, planSlot);
		if (slot != NULL && triggers != NULL)
			tsurugi_change_silence(modify, &triggers->trig_update_after_row);
	}
	else if (modified.judged != TG_VERSION_NONE && triggers != NULL)
	{
		tsurugi_change_fire_update(estate, rinfo, modified.row.old, slot);
		tsurugi_change_silence(modify, &triggers->trig_update_after_row);
	}
	else if (triggers != NULL && triggers->trig_update_after_row)
		/* what the executor is going to fire them with */
		tsurugi_change_mark_old(modify, ExecFetchSlotHeapTuple(rinfo->ri_oldTupleSlot, false, NULL));
	return slot;
}

static pg_attribute_always_inline tg_status
look_to_delete(tsurugi_follow *follow)
{
	tsurugi_change_row *row = tsurugi_change_row_of(follow);

	if (follow->look == TSURUGI_FOLLOW_LOCK)
		return tsurugi_change_hold(row, true, true);
	return tsurugi_change_look(row, TG_ESSENTIAL, true);
}

/* Whether a version that was committed after the snapshot is still to be deleted. */
static bool
reconsider_delete(modified_row *modified)
{
	tsurugi_change_row *row = &modified->row;
	uint32_t found = row->follow.found.row;

	if (tsurugi_change_reevaluate(row->modify, row->rinfo, found) == NULL)
		return false;
	modified->judged = row->follow.found.version;
	if (row->rinfo->ri_TrigDesc == NULL)
		return true;
	tsurugi_row_to_slot(&row->modify->old, found, row->slot);
	row->old = tsurugi_change_old_tuple(row->modify, row->follow.estate, row->slot);
	ExecClearTuple(row->slot);
	return true;
}

static pg_attribute_always_inline tsurugi_follow_state
judge_delete(tsurugi_follow *follow, bool changed)
{
	modified_row *modified = modified_row_of(follow);

	if (is_to_be_judged(modified, changed))
	{
		if (follow->look != TSURUGI_FOLLOW_LOCK)
			return TSURUGI_FOLLOW_LOCK;
		if (!reconsider_delete(modified))
			return TSURUGI_FOLLOW_SKIPPED;
	}
	return TSURUGI_FOLLOW_WRITE;
}

static pg_attribute_always_inline tg_status
delete_version(tsurugi_follow *follow)
{
	tsurugi_found *found = &follow->found;
	tg_writer writer;

	check_judged(modified_row_of(follow));
	tsurugi_writer(follow->estate, TG_ESSENTIAL, &writer);
	return tg_txn_delete(&writer, follow->described->table, found->row, found->version, &found->wait);
}

static void
skip_own_delete(tsurugi_follow *follow)
{
	tsurugi_check_own_change(follow->found.by_other_command, "deleted");
}

static const tsurugi_follow_rules delete_rules = {
	.look = look_to_delete,
	.judge = judge_delete,
	.write = delete_version,
	.conflict = tsurugi_follow_raise_conflict,
	.own = skip_own_delete,
	.wait = tsurugi_follow_wait,
	.refused = tsurugi_refused,
};

/* slot is for RETURNING: the row as it was deleted. */
TupleTableSlot *
tsurugiExecForeignDelete(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	tsurugi_change *modify = rinfo->ri_FdwState;
	TriggerDesc *triggers = rinfo->ri_TrigDesc;
	modified_row modified;

	begin_row(&modified, estate, rinfo, TSURUGI_TO_DELETE, slot, planSlot);
	if (tsurugi_follow_row(&modified.row.follow, &delete_rules) != TSURUGI_FOLLOW_DONE)
		return NULL;
	if (rinfo->ri_projectReturning != NULL)
		tsurugi_row_to_slot(&modify->old, modified.row.follow.found.row, slot);
	if (modified.judged != TG_VERSION_NONE && triggers != NULL)
	{
		if (triggers->trig_delete_after_row)
			ExecARDeleteTriggers(estate, rinfo, NULL, modified.row.old, NULL, false);
		tsurugi_change_silence(modify, &triggers->trig_delete_after_row);
	}
	return slot;
}
