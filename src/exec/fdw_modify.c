/*
 * fdw_modify.c
 *	  The UPDATE and DELETE that are not taken as a whole: joins, triggers, generated columns, partitions.  And how
 *	  these begin, and INSERT (fdw_insert.c).
 *
 * The executor hands over one row at a time; what it leaves to us for foreign
 * tables is done here (fdw_change.c): constraints, partition bounds, policies' checks, and
 * READ COMMITTED's way with rows that others have changed:
 *
 *	ctid -> newest version ── as the snapshot saw it ─────────────────────────▶ write
 *	          ▲    │  └── committed since ─▶ lock ─▶ EvalPlanQual ─▶ new row ──▶ write
 *	          │    ├── held by another ───▶ wait ─┐           no row │             │
 *	          │    └── deleted, or own change ─▶ skipped ◀───────────┘             │
 *	          └───────────────────────────────────┴── somebody was faster ◀────────┘
 *
 * 1. A write replaces exactly the version that the new row was computed from.  So the row need not be locked before;
 *	  what was computed in vain is computed again.  But that is done once, as PostgreSQL does: what somebody has changed since
 *	  is locked before EvalPlanQual, whose functions may have effects.
 * 2. With BEFORE ROW triggers it is locked ahead of them (fdw_before.c): these have seen the row that is written.
 *	  Without, a row that has changed since is another one than the executor knows of; its AFTER ROW triggers are
 *	  fired from here: see tsurugi_change_fire_update.
 * 3. At REPEATABLE READ and above what has changed since the snapshot ends the transaction with 40001: instead of
 *	  EvalPlanQual.
 */
#include "postgres.h"

#include "src/exec/fdw_change.h"

#include "access/sysattr.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"

#include "src/exec/arbiter.h"
#include "src/table/building.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"

/* --- planning ----------------------------------------------------------------------- */

void
tsurugiAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte, Relation target_relation)
{
	Var *ctid = makeVar(rtindex, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);

	add_row_identity_var(root, ctid, rtindex, "ctid");
}

static void
set_whole_row_type(Node *node, Index rtindex, Oid row_type)
{
	Var *var = (Var *) node;

	if (IsA(var, Var) && var->varno == rtindex && var->varattno == InvalidAttrNumber && var->vartype == RECORDOID)
		var->vartype = row_type;
}

/*
 * Whole rows of an UPDATE's target are those that the planner asks for, as records (add_row_identity_columns), and those that
 * the statement names, of the table's row type.  The planner takes them for the same column of what is below a join, which can be
 * of one type only.  So all of them are of the table's.  A child's are beside those of its parent, which are other columns.
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

/* --- beginning ------------------------------------------------------------------------- */

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
	modify->asks_in_turn = modify->holds_existing = false;
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
 * Notes what an insertion needs.  Keys are ours, so the executor need not open
 * the catalog entries of the key for each statement: it takes an array for
 * opened indexes, even one of none.
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
 * Lets the executor hand over the plan's rows as they are, where these are
 * plain arrays of values.  By itself it would make a slot for heap tuples and form a
 * tuple of each row (ExecInitInsertProjection), only for us to take it apart
 * again.  Whatever is not that simple is left to it.
 */
static void
take_rows_of_plan(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	PlanState *plan = outerPlanState(mtstate);

	if (plan->resultopsset && plan->resultopsfixed && plan->resultops == &TTSOpsVirtual &&
		plan->ps_ResultTupleSlot != NULL &&
		list_length(plan->plan->targetlist) == RelationGetDescr(rinfo->ri_RelationDesc)->natts)
	{
		/* Its kind is all that is looked at. */
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
		prepare_inserts(modify, rinfo);
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
 * COPY, and rows routed to a partition.  The partition may be one that the
 * same UPDATE changes rows of: rows that come from elsewhere carry the running
 * command and are not seen by its scan, so both go together.
 */
void
tsurugiBeginForeignInsert(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	tsurugi_change *modify = rinfo->ri_FdwState;

	if (modify == NULL)
		rinfo->ri_FdwState = modify = make_state(mtstate, rinfo);
	prepare_inserts(modify, rinfo);
	if (modify->on_conflict == ONCONFLICT_UPDATE)
		modify->holds_existing = tsurugi_conflict_set_is_volatile((const ModifyTable *) mtstate->ps.plan);
}

/* --- UPDATE and DELETE ----------------------------------------------------------------------------- */

/* The same, and a tuple of the old row for triggers; NULL if there are none. */
static TupleTableSlot *
recompute_update(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, uint32_t row, HeapTuple *old_out)
{
	TupleTableSlot *slot = tsurugi_change_recompute(modify, rinfo, row);

	if (slot == NULL)
		return NULL;
	*old_out = rinfo->ri_TrigDesc == NULL ? NULL : tsurugi_change_old_tuple(modify, estate, rinfo->ri_oldTupleSlot);
	return tsurugi_change_finish_row(modify, estate, rinfo, *old_out, slot) ? slot : NULL;
}

static tg_status
delete_row(tsurugi_change *modify, EState *estate, tsurugi_found *found, bool leaves)
{
	tg_writer writer;

	tsurugi_writer(estate, TG_ESSENTIAL, &writer);
	if (leaves)
		return tg_txn_depart(&writer, modify->described->table, found->row, found->version, &found->wait);
	return tg_txn_delete(&writer, modify->described->table, found->row, found->version, &found->wait);
}

/*
 * A row is about to be deleted because its new version belongs to another
 * partition.  False: a BEFORE DELETE trigger forbids it.  *old_out as above.
 */
static bool
may_leave(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, uint32_t row, TupleTableSlot *slot,
		  HeapTuple *old_out)
{
	TupleTableSlot *old = rinfo->ri_oldTupleSlot;
	bool may;

	if (rinfo == modify->mtstate->rootResultRelInfo)
		ExecPartitionCheckEmitError(rinfo, slot, estate);
	if (rinfo->ri_TrigDesc == NULL)
		return true;
	ExecMaterializeSlot(slot); /* it may have been made of the old one */
	tsurugi_row_to_slot(&modify->old, row, old);
	old->tts_tableOid = RelationGetRelid(modify->relation);
	*old_out = tsurugi_change_old_tuple(modify, estate, old);
	if (!rinfo->ri_TrigDesc->trig_delete_before_row)
		return true;
	modify->fires = true;
	may = ExecBRDeleteTriggers(estate, &modify->mtstate->mt_epqstate, rinfo, NULL, *old_out, NULL);
	modify->fires = false;
	return may;
}

/* As the executor has it: BEFORE DELETE triggers are fired for a row that is locked. */
static inline bool
must_hold_to_leave(const ResultRelInfo *rinfo)
{
	return rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_delete_before_row;
}

TupleTableSlot *
tsurugiExecForeignUpdate(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	tsurugi_change *modify = rinfo->ri_FdwState;
	uint32_t target = tsurugi_change_target(modify, planSlot);
	tg_version judged = TG_VERSION_NONE; /* that the new row was recomputed from */
	tg_version noted = TG_VERSION_NONE;
	bool checked = false;
	bool leaves = false;
	bool holds = false; /* from here on */
	bool holds_to_leave = false;
	bool is_held = modify->held == target;
	HeapTuple old = NULL;

	modify->held = TG_ROW_MAX;
	tsurugi_change_restore(modify, rinfo);
	for (;;)
	{
		tsurugi_found found = {.row = target};
		tg_status status = holds ? tsurugi_change_hold(modify, estate, rinfo, holds_to_leave, true, &found)
								 : tsurugi_change_look(modify, estate, TG_DATA, true, &found);

		tsurugi_change_check_unchanged(modify, status, target);
		if (status == TG_CHANGED && !is_held && !holds)
		{
			holds = true;
			continue;
		}
		if (status == TG_CHANGED && !is_held && found.version != judged)
		{
			slot = recompute_update(modify, estate, rinfo, found.row, &old);
			if (slot == NULL)
				return NULL;
			judged = found.version;
			checked = false;
		}
		if (status == TG_OK || status == TG_CHANGED)
		{
			if (!checked)
			{
				leaves = tsurugi_change_leaves_partition(modify, estate, rinfo, slot);
				if (leaves && !holds_to_leave && must_hold_to_leave(rinfo))
				{
					holds = holds_to_leave = true;
					continue;
				}
				if (leaves && !may_leave(modify, estate, rinfo, found.row, slot, &old))
					return NULL;
				if (!leaves)
					tsurugi_change_check(modify, estate, rinfo, slot, WCO_RLS_UPDATE_CHECK);
			}
			checked = true;
			status = leaves ? delete_row(modify, estate, &found, true)
							: tsurugi_change_replace(modify, estate, &found, slot);
		}
		switch (status)
		{
			case TG_OK:
				if (leaves)
				{
					slot = tsurugi_move_insert(&modify->move, modify->mtstate, rinfo, old, slot, planSlot);
					if (slot != NULL && rinfo->ri_TrigDesc != NULL)
						tsurugi_change_silence(modify, &rinfo->ri_TrigDesc->trig_update_after_row);
					return slot;
				}
				if (judged != TG_VERSION_NONE && rinfo->ri_TrigDesc != NULL)
				{
					tsurugi_change_fire_update(estate, rinfo, old, slot);
					tsurugi_change_silence(modify, &rinfo->ri_TrigDesc->trig_update_after_row);
				}
				else if (rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_update_after_row)
					/* what the executor is going to fire them with */
					tsurugi_change_mark_old(modify, ExecFetchSlotHeapTuple(rinfo->ri_oldTupleSlot, false, NULL));
				return slot;
			case TG_AGAIN:
				break;
			case TG_BUSY:
				tsurugi_wait(&found.wait, modify->relation, TSURUGI_TO_UPDATE, found.row);
				break;
			case TG_NOT_FOUND:
				return NULL;
			case TG_SELF:
				/* as PostgreSQL, which finds that out afterwards, or before BEFORE triggers */
				if (!checked && !(rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_update_before_row) &&
					!tsurugi_change_leaves_partition(modify, estate, rinfo, slot))
					tsurugi_change_check(modify, estate, rinfo, slot, WCO_RLS_UPDATE_CHECK);
				tsurugi_check_own_change(found.by_other_command, "updated");
				return NULL;
			case TG_EXISTS:
				tsurugi_change_check_taken(modify, estate, &found, slot, &noted);
				break;
			default:
				tsurugi_refused(status, modify->relation);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/*
 * Whether a row that was committed after the snapshot is still to be deleted.
 * *old_out is for triggers; NULL if there are none.
 */
static bool
reconsider_delete(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, uint32_t row, TupleTableSlot *slot,
				  HeapTuple *old_out)
{
	if (tsurugi_change_reevaluate(modify, rinfo, row) == NULL)
		return false;
	if (rinfo->ri_TrigDesc == NULL)
		return true;
	tsurugi_row_to_slot(&modify->old, row, slot);
	*old_out = tsurugi_change_old_tuple(modify, estate, slot);
	ExecClearTuple(slot);
	return true;
}

/* slot is for RETURNING: the row as it was deleted. */
TupleTableSlot *
tsurugiExecForeignDelete(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	tsurugi_change *modify = rinfo->ri_FdwState;
	uint32_t target = tsurugi_change_target(modify, planSlot);
	tg_version judged = TG_VERSION_NONE;
	bool holds = false; /* from here on */
	bool is_held = modify->held == target;
	HeapTuple old = NULL;

	modify->held = TG_ROW_MAX;
	tsurugi_change_restore(modify, rinfo);
	for (;;)
	{
		tsurugi_found found = {.row = target};
		tg_status status = holds ? tsurugi_change_hold(modify, estate, rinfo, true, true, &found)
								 : tsurugi_change_look(modify, estate, TG_ESSENTIAL, true, &found);

		tsurugi_change_check_unchanged(modify, status, target);
		if (status == TG_CHANGED && !is_held && !holds)
		{
			holds = true;
			continue;
		}
		if (status == TG_CHANGED && !is_held && found.version != judged)
		{
			if (!reconsider_delete(modify, estate, rinfo, found.row, slot, &old))
				return NULL;
			judged = found.version;
		}
		if (status == TG_OK || status == TG_CHANGED)
			status = delete_row(modify, estate, &found, false);
		switch (status)
		{
			case TG_OK:
				if (rinfo->ri_projectReturning != NULL)
					tsurugi_row_to_slot(&modify->old, found.row, slot);
				if (judged != TG_VERSION_NONE && rinfo->ri_TrigDesc != NULL)
				{
					if (rinfo->ri_TrigDesc->trig_delete_after_row)
						ExecARDeleteTriggers(estate, rinfo, NULL, old, NULL, false);
					tsurugi_change_silence(modify, &rinfo->ri_TrigDesc->trig_delete_after_row);
				}
				return slot;
			case TG_AGAIN:
				break;
			case TG_BUSY:
				tsurugi_wait(&found.wait, modify->relation, TSURUGI_TO_DELETE, found.row);
				break;
			case TG_NOT_FOUND:
				return NULL;
			case TG_SELF:
				tsurugi_check_own_change(found.by_other_command, "deleted");
				return NULL;
			default:
				tsurugi_refused(status, modify->relation);
		}
		CHECK_FOR_INTERRUPTS();
	}
}
