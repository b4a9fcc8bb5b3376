/*
 * fdw_modify.c
 *	  INSERT, COPY, and the UPDATE and DELETE that are not taken as a whole:
 *	  joins, triggers, generated columns, partitions.
 *
 * The executor hands over one row at a time; what it leaves to us for foreign
 * tables is done here: constraints, partition bounds, policies' checks, and
 * READ COMMITTED's way with rows that others have changed:
 *
 *	ctid -> newest version ── as the snapshot saw it ───────────────▶ write
 *	          ▲    │  └── committed since ─▶ EvalPlanQual ─▶ new row ──▶ write
 *	          │    ├── held by another ───▶ wait ─┐              no row │   │
 *	          │    └── deleted, or own change ─▶ skipped ◀──────────────┘   │
 *	          └───────────────────────────────────┴── somebody was faster ◀─┘
 *
 * 1. A write replaces exactly the version that the new row was computed from.  So the row need not be locked before;
 *	  what was computed in vain is computed again.
 * 2. For foreign tables the executor fires BEFORE ROW triggers ahead of these callbacks, with the row as the snapshot
 *	  sees it.  Where that row has changed since, they are fired again, with the row as it is now; what they did elsewhere is
 *	  done twice.  AFTER ROW triggers are then fired from here: see fire_after_update.
 * 3. INSERT ... ON CONFLICT: the storage names the unique index that has refused the row (arbiter.c).  A row that had
 *	  its key may have another one when it is read: no conflict.  DO UPDATE does not hold a row that its WHERE refuses.
 * 4. At REPEATABLE READ and above what has changed since the snapshot ends the transaction with 40001: instead of
 *	  EvalPlanQual, and for a row that INSERT ... ON CONFLICT meets, if the snapshot cannot be renewed (isolation.c).
 */
#include "postgres.h"

#include "src/fdw.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/appendinfo.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"

#include "src/arbiter.h"
#include "src/errors.h"
#include "src/isolation.h"
#include "src/kinds.h"
#include "src/row.h"
#include "src/session.h"
#include "src/snapshot.h"
#include "src/transaction.h"

/* Of one result relation in one statement. */
typedef struct modify_state
{
	const tsurugi_relation *described;
	Relation relation;
	ModifyTableState *mtstate;
	OnConflictAction on_conflict;
	AttrNumber ctid;	   /* UPDATE, DELETE: in the rows of the plan */
	bool copies;		   /* making a row to be stored may need memory */
	bool checks_partition; /* inserts: the executor has not done it */
	bool receives;		   /* rows that foreign keys may refer to, from ordinary partitions */
	bool has_old;		   /* old is wanted */
	bool has_snapshot;
	tg_snapshot snapshot;
	bool *silenced; /* a flag of the trigger descriptor to be set again, or NULL */
	tsurugi_move move;
	tsurugi_row row;		/* to be stored */
	tsurugi_row old;		/* UPDATE, DELETE, DO UPDATE: the newest version */
	unsigned char *key_old; /* UPDATE, DO UPDATE */
	unsigned char key[];
} modify_state;

/* A row that is there already, and what is about to be done to it. */
typedef struct found_row
{
	uint32_t row;
	tg_version version;
	tg_wait wait;		   /* if TG_BUSY; and who has the new row's key, if TG_EXISTS */
	bool by_other_command; /* if TG_SELF: not by the running one */
} found_row;

/* --- planning ----------------------------------------------------------------------- */

void
tsurugiAddForeignUpdateTargets(PlannerInfo *root, Index rtindex, RangeTblEntry *target_rte, Relation target_relation)
{
	Var *ctid = makeVar(rtindex, SelfItemPointerAttributeNumber, TIDOID, -1, InvalidOid, 0);

	add_row_identity_var(root, ctid, rtindex, "ctid");
}

int
tsurugiIsForeignRelUpdatable(Relation rel)
{
	return 1 << CMD_INSERT | 1 << CMD_UPDATE | 1 << CMD_DELETE;
}

/* --- beginning ------------------------------------------------------------------------- */

static modify_state *
make_state(ModifyTableState *mtstate, ResultRelInfo *rinfo)
{
	const tsurugi_relation *described = tsurugi_relation_get(rinfo->ri_RelationDesc);
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan; /* NULL: COPY */
	size_t key_bytes = tsurugi_key_capacity(described);
	modify_state *modify = palloc(sizeof(modify_state) + 2 * key_bytes);

	modify->described = described;
	modify->relation = rinfo->ri_RelationDesc;
	modify->mtstate = mtstate;
	modify->on_conflict = plan == NULL ? ONCONFLICT_NONE : plan->onConflictAction;
	modify->ctid = InvalidAttrNumber;
	modify->copies = described->may_copy;
	modify->checks_partition = modify->receives = false;
	modify->has_snapshot = false;
	modify->silenced = NULL;
	modify->move = (tsurugi_move){0};
	modify->key_old = modify->key + key_bytes;
	if (mtstate->operation != CMD_DELETE)
	{
		tsurugi_row_init(&modify->row, described);
		modify->row.hidden = tsurugi_hidden_prepare(described, mtstate->ps.state);
	}
	modify->has_old = mtstate->operation != CMD_INSERT || modify->on_conflict == ONCONFLICT_UPDATE;
	if (modify->has_old)
		tsurugi_row_init(&modify->old, described);
	return modify;
}

/*
 * Notes what an insertion needs.  Keys are ours, so the executor need not open
 * the catalog entries of the key for each statement: it takes an array for
 * opened indexes, even one of none.
 */
static void
prepare_inserts(modify_state *modify, ResultRelInfo *rinfo)
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
	modify_state *modify;

	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) != 0)
		return;
	modify = make_state(mtstate, rinfo);
	rinfo->ri_FdwState = modify;
	if (mtstate->operation != CMD_DELETE)
		prepare_inserts(modify, rinfo);
	if (modify->on_conflict != ONCONFLICT_NONE)
		tsurugi_check_arbiters(rinfo->ri_RelationDesc, ((ModifyTable *) mtstate->ps.plan)->arbiterIndexes);
	if (mtstate->operation == CMD_INSERT)
		take_rows_of_plan(mtstate, rinfo);
	else
	{
		modify->ctid = ExecFindJunkAttributeInTlist(outerPlanState(mtstate)->plan->targetlist, "ctid");
		if (!AttributeNumberIsValid(modify->ctid))
			elog(ERROR, "could not find junk ctid column");
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
	const ModifyTable *plan = (ModifyTable *) mtstate->ps.plan; /* NULL: COPY */

	if (plan != NULL)
		tsurugi_refuse_system_columns(plan, linitial_int(plan->resultRelations));
	if (rinfo->ri_FdwState == NULL)
		rinfo->ri_FdwState = make_state(mtstate, rinfo);
	if (((modify_state *) rinfo->ri_FdwState)->on_conflict != ONCONFLICT_NONE)
		tsurugi_check_routed_arbiters(rinfo->ri_RelationDesc, plan->arbiterIndexes);
	prepare_inserts(rinfo->ri_FdwState, rinfo);
}

/* --- what the executor leaves to us ------------------------------------------------------ */

static void
check_new_row(const modify_state *modify, EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, WCOKind kind)
{
	if (rinfo->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(kind, rinfo, slot, estate);
	if (RelationGetDescr(modify->relation)->constr != NULL)
		ExecConstraints(rinfo, slot, estate);
}

/* Whether the new row of an UPDATE belongs to another partition. */
static bool
leaves_partition(const modify_state *modify, EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot)
{
	return modify->relation->rd_rel->relispartition && !ExecPartitionCheck(rinfo, slot, estate, false);
}

/*
 * Makes the executor pass over the AFTER ROW triggers of this event for the
 * row in hand: the descriptor is the statement's own copy.  Every callback
 * begins with taking that back.
 */
static void
silence_trigger(modify_state *modify, bool *flag)
{
	if (*flag)
	{
		*flag = false;
		modify->silenced = flag;
	}
}

static inline void
restore_executor(modify_state *modify, ResultRelInfo *rinfo)
{
	if (tg_unlikely(modify->silenced != NULL))
	{
		*modify->silenced = true;
		modify->silenced = NULL;
	}
	if (tg_unlikely(modify->move.hidden))
		tsurugi_move_end(&modify->move, rinfo);
}

/* AFTER ROW UPDATE triggers for a row that is not the one the executor knows of. */
static void
fire_after_update(EState *estate, ResultRelInfo *rinfo, HeapTuple old, TupleTableSlot *slot)
{
	if (rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_update_after_row)
		ExecARUpdateTriggers(estate, rinfo, NULL, NULL, NULL, old, slot, NIL, NULL, false);
}

/* The old row for triggers, in memory of the row in hand. */
static HeapTuple
old_tuple(const modify_state *modify, EState *estate, TupleTableSlot *old)
{
	MemoryContext saved = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	HeapTuple tuple = ExecCopySlotHeapTuple(old);

	tuple->t_tableOid = RelationGetRelid(modify->relation);
	MemoryContextSwitchTo(saved);
	return tuple;
}

/*
 * Makes a computed row ready to be stored as ExecUpdate does: BEFORE ROW
 * triggers, then generated columns.  False if a trigger wants nothing done.
 */
static bool
finish_new_row(const modify_state *modify, EState *estate, ResultRelInfo *rinfo, HeapTuple old, TupleTableSlot *slot)
{
	const TupleConstr *constraints = RelationGetDescr(modify->relation)->constr;

	slot->tts_tableOid = RelationGetRelid(modify->relation);
	ExecMaterializeSlot(slot);
	if (rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_update_before_row &&
		!ExecBRUpdateTriggers(estate, &modify->mtstate->mt_epqstate, rinfo, NULL, old, slot, NULL))
		return false;
	slot->tts_tableOid = RelationGetRelid(modify->relation);
	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(rinfo, estate, slot, CMD_UPDATE);
	return true;
}

/* --- rows that are there ------------------------------------------------------------------- */

/*
 * Finds the newest version of found->row and reads it: tg_txn_newest's results.
 * Of the row that the snapshot has seen there, or of any.
 */
static tg_status
look_at_newest(modify_state *modify, EState *estate, tg_claim claim, bool seen, found_row *found)
{
	tg_writer writer;
	tg_status status;

	if (!modify->has_snapshot)
	{
		tsurugi_snapshot(estate, &modify->snapshot);
		modify->has_snapshot = !tsurugi_has_one_snapshot(); /* that one may be renewed */
	}
	tsurugi_writer(estate, claim, &writer);
	tg_epoch_enter(writer.session);
	status = tg_txn_newest(&writer, seen ? &modify->snapshot : NULL, modify->described->table, &found->row,
						   &found->version, &found->wait);
	if (status == TG_OK || status == TG_CHANGED)
	{
		if (modify->has_old)
			tsurugi_row_read(&modify->old, found->version);
	}
	else if (status == TG_SELF)
		found->by_other_command = tsurugi_was_changed_by_other_command(&writer, found->version);
	tg_epoch_leave(writer.session);
	if (status == TG_OK && tsurugi_snapshot_is_of_now(estate))
		tsurugi_crosscheck(estate, modify->relation, modify->described->table, found->row, found->version);
	return status;
}

/*
 * At REPEATABLE READ and above a row that has changed since the snapshot ends the transaction: the executor has been
 * told of it as it was.  One that is in another partition now does at READ COMMITTED, too: nobody knows where.
 */
static inline void
check_unchanged(const modify_state *modify, tg_status status, uint32_t target)
{
	if (tg_likely(!tsurugi_is_changed(status)))
		return;
	if (tsurugi_has_one_snapshot())
		tsurugi_error_conflict(modify->relation, tsurugi_conflict_of(status), target);
	if (status == TG_MOVED)
		tsurugi_error_moved(modify->relation);
}

/* EvalPlanQual with the newest version in place of the row: the plan's row for it, or NULL. */
static TupleTableSlot *
reevaluate(modify_state *modify, ResultRelInfo *rinfo, uint32_t row)
{
	EPQState *state = &modify->mtstate->mt_epqstate;
	TupleTableSlot *test = EvalPlanQualSlot(state, modify->relation, rinfo->ri_RangeTableIndex);
	TupleTableSlot *result;

	tsurugi_row_to_slot(&modify->old, row, test);
	test->tts_tableOid = RelationGetRelid(modify->relation);
	result = EvalPlanQual(state, modify->relation, rinfo->ri_RangeTableIndex, test);
	return TupIsNull(result) ? NULL : result;
}

/*
 * Stores the slot's row in the place of a version, under its key, old or new.  Blobs are shared along the versions of
 * one row only: a row that gets another key is a new one and takes copies.
 */
static tg_status
replace_row(modify_state *modify, EState *estate, found_row *found, TupleTableSlot *slot)
{
	tg_table *table = modify->described->table;
	MemoryContext saved = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	bool moves;
	size_t key_bytes = 0;
	uint32_t row = found->row; /* a move that is refused leaves something else in it */
	tg_writer writer;
	tg_status status;

	tsurugi_row_from_slot(&modify->row, slot, &modify->old);
	moves = modify->described->key_count > 0 && !tsurugi_row_same_key(&modify->row, &modify->old, modify->relation,
																	  modify->key, modify->key_old, &key_bytes);
	if (moves)
		tsurugi_row_from_slot(&modify->row, slot, NULL);
	MemoryContextSwitchTo(saved);
	tsurugi_writer(estate, TG_DATA, &writer);
	writer.hidden = tsurugi_row_hidden(&modify->row);
	if (moves)
		status = tg_txn_move(&writer, table, found->row, found->version, modify->key, key_bytes, modify->row.values,
							 modify->row.nulls, &row, &found->wait);
	else
		status = tg_txn_update(&writer, table, found->row, found->version, modify->row.values, modify->row.nulls,
							   &found->wait);
	if (status == TG_OK)
		tsurugi_row_id_to_tid(row, &slot->tts_tid);
	return status;
}

/*
 * The new key of a row is taken.  That counts only if the row is still as it was found: who has the key may be the same
 * row, moved there by somebody who was faster.
 */
static void
check_key_is_taken(modify_state *modify, EState *estate, const found_row *found, TupleTableSlot *slot,
				   tg_version *noted)
{
	found_row again = *found;
	tg_status status = look_at_newest(modify, estate, TG_DATA, false, &again);

	if (tsurugi_is_validated() &&
		!tsurugi_key_is_seen(estate, modify->relation, modify->described->table, found->wait.row, noted))
		return;
	if ((status == TG_OK || status == TG_CHANGED) && again.version == found->version)
		tsurugi_error_duplicate(modify->relation, tsurugi_index_oid(modify->described, found->wait.index), slot);
}

/* --- INSERT ------------------------------------------------------------------------------------ */

/*
 * ON CONFLICT DO UPDATE of the row that has the key (ExecOnConflictUpdate).  False: the row is not what it was, insert
 * again.  *result_out is the new row, or NULL if nothing is to be done.
 */
static bool
update_existing(modify_state *modify, EState *estate, ResultRelInfo *rinfo, const tg_wait *holder,
				TupleTableSlot *excluded, TupleTableSlot **result_out)
{
	uint32_t row = holder->row;
	const OnConflictSetState *set = rinfo->ri_onConflict;
	ExprContext *context = set->oc_ProjInfo->pi_exprContext;
	found_row found = {.row = row};
	bool level = tsurugi_has_one_snapshot();
	tg_version noted = TG_VERSION_NONE;
	tg_status status = look_at_newest(modify, estate, TG_DATA, level, &found);
	TupleTableSlot *slot;
	HeapTuple old = NULL;

	/* What the snapshot saw under the key may be gone, and this row our own (tsurugi_key_is_seen). */
	if (level && status != TG_OK)
	{
		found.row = row;
		status = look_at_newest(modify, estate, TG_DATA, false, &found);
	}
	if (status == TG_SELF)
		tsurugi_error_twice();
	if (status == TG_BUSY)
		tsurugi_wait(&found.wait, modify->relation, TSURUGI_TO_UPDATE);
	if (status == TG_CONFLICT || status == TG_FORBIDDEN)
		tsurugi_error(status, modify->relation);
	/* A row that has another key now is no conflict any more; one that has changed may not be seen. */
	if ((status != TG_OK && (status != TG_CHANGED || level)) || found.row != row ||
		!tsurugi_has_key(holder->index, found.version, &modify->row))
		return false;

	*result_out = NULL;
	tsurugi_row_to_slot(&modify->old, row, set->oc_Existing);
	set->oc_Existing->tts_tableOid = RelationGetRelid(modify->relation);
	context->ecxt_scantuple = set->oc_Existing;
	context->ecxt_innertuple = excluded;
	context->ecxt_outertuple = NULL;
	if (!ExecQual(set->oc_WhereClause, context))
	{
		InstrCountFiltered1(&modify->mtstate->ps, 1);
		return true;
	}
	if (rinfo->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(WCO_RLS_CONFLICT_CHECK, rinfo, set->oc_Existing, estate);
	slot = ExecProject(set->oc_ProjInfo);

	if (rinfo->ri_TrigDesc != NULL)
		old = old_tuple(modify, estate, set->oc_Existing);
	if (!finish_new_row(modify, estate, rinfo, old, slot))
		return true;
	if (leaves_partition(modify, estate, rinfo, slot))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("invalid ON UPDATE specification"),
						errdetail("The result tuple would appear in a different partition than the original tuple.")));
	check_new_row(modify, estate, rinfo, slot, WCO_RLS_UPDATE_CHECK);
	status = replace_row(modify, estate, &found, slot);
	switch (status)
	{
		case TG_OK:
			tsurugi_check_conflict_capture(modify->mtstate->mt_oc_transition_capture);
			fire_after_update(estate, rinfo, old, slot);
			if (rinfo->ri_TrigDesc != NULL)
				silence_trigger(modify, &rinfo->ri_TrigDesc->trig_insert_after_row);
			*result_out = slot;
			return true;
		case TG_BUSY:
			tsurugi_wait(&found.wait, modify->relation, TSURUGI_TO_UPDATE);
			return false;
		case TG_AGAIN:
			if (look_at_newest(modify, estate, TG_DATA, false, &found) != TG_SELF)
				return false;
			tsurugi_check_own_change(found.by_other_command, "updated"); /* by SET: that counts, as with UPDATE */
			return true;
		case TG_EXISTS:
			check_key_is_taken(modify, estate, &found, slot, &noted);
			return false;
		default:
			tsurugi_refused(status, modify->relation);
			return false;
	}
}

/* The slot's row as it is stored, and its key.  Returns the key's length. */
static inline size_t
make_row(modify_state *modify, EState *estate, TupleTableSlot *slot)
{
	if (modify->copies)
	{
		MemoryContext saved = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));

		tsurugi_row_from_slot(&modify->row, slot, NULL);
		MemoryContextSwitchTo(saved);
	}
	else
		tsurugi_row_from_slot(&modify->row, slot, NULL);
	return modify->described->key_count == 0 ? 0 : tsurugi_row_key(&modify->row, modify->relation, modify->key);
}

TupleTableSlot *
tsurugiExecForeignInsert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	modify_state *modify = rinfo->ri_FdwState;
	const unsigned char *key = modify->described->key_count == 0 ? NULL : modify->key;
	tg_version noted = TG_VERSION_NONE;
	size_t key_bytes;

	restore_executor(modify, rinfo);
	/* All at once: what follows asks for one column after the other. */
	slot_getallattrs(slot);
	/* An UPDATE may have moved the row here from another partition. */
	if (modify->checks_partition)
		(void) ExecPartitionCheck(rinfo, slot, estate, true);
	check_new_row(modify, estate, rinfo, slot,
				  modify->mtstate->operation == CMD_UPDATE ? WCO_RLS_UPDATE_CHECK : WCO_RLS_INSERT_CHECK);
	key_bytes = make_row(modify, estate, slot);
	for (;;)
	{
		TupleTableSlot *result = NULL;
		bool is_conflict = false;
		tg_writer writer;
		tg_status status;
		uint32_t row;
		tg_wait wait;

		tsurugi_writer(estate, TG_DATA, &writer);
		writer.hidden = tsurugi_row_hidden(&modify->row);
		writer.probes = modify->on_conflict != ONCONFLICT_NONE;
		status = tg_txn_insert(&writer, modify->described->table, key, key_bytes, modify->row.values, modify->row.nulls,
							   &row, &wait);
		if (status == TG_EXISTS && modify->on_conflict != ONCONFLICT_NONE)
			status =
				tsurugi_ask_arbiters(&writer, &modify->row, rinfo->ri_onConflictArbiterIndexes, &wait, &is_conflict);
		switch (status)
		{
			case TG_OK:
				tsurugi_row_id_to_tid(row, &slot->tts_tid);
				if (tg_unlikely(modify->receives))
					tsurugi_move_arrived(modify->mtstate, rinfo, slot);
				return slot;
			case TG_EXISTS:
				/* At REPEATABLE READ and above: as ExecCheckTIDVisible has it. */
				if (tsurugi_has_one_snapshot() && (is_conflict || tsurugi_is_validated()) &&
					!tsurugi_key_is_seen(estate, modify->relation, modify->described->table, wait.row, &noted))
					break;
				if (!is_conflict)
					tsurugi_error_duplicate(modify->relation, tsurugi_index_oid(modify->described, wait.index), slot);
				if (modify->on_conflict == ONCONFLICT_UPDATE &&
					!update_existing(modify, estate, rinfo, &wait, slot, &result))
				{
					key_bytes = make_row(modify, estate, slot);
					break;
				}
				InstrCountTuples2(&modify->mtstate->ps, 1);
				return result;
			case TG_BUSY:
				tsurugi_wait(&wait, modify->relation, TSURUGI_TO_INSERT);
				break;
			default:
				tsurugi_refused(status, modify->relation);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* --- UPDATE and DELETE ----------------------------------------------------------------------------- */

static uint32_t
target_of(const modify_state *modify, TupleTableSlot *planSlot)
{
	bool null;
	Datum ctid = ExecGetJunkAttribute(planSlot, modify->ctid, &null);

	if (null)
		elog(ERROR, "ctid is NULL");
	return tsurugi_row_id_of_tid((ItemPointer) DatumGetPointer(ctid));
}

/*
 * The new row for a row that was committed after the snapshot, in the slot that the executor computes new rows in.  NULL
 * if the statement does not want it any more.  *old_out is for triggers; NULL if there are none.
 */
static TupleTableSlot *
recompute_update(modify_state *modify, EState *estate, ResultRelInfo *rinfo, uint32_t row, HeapTuple *old_out)
{
	TupleTableSlot *candidate = reevaluate(modify, rinfo, row);
	TupleTableSlot *old = rinfo->ri_oldTupleSlot;
	TupleTableSlot *slot;

	if (candidate == NULL)
		return NULL;
	tsurugi_row_to_slot(&modify->old, row, old);
	old->tts_tableOid = RelationGetRelid(modify->relation);
	*old_out = rinfo->ri_TrigDesc == NULL ? NULL : old_tuple(modify, estate, old);
	slot = ExecGetUpdateNewTuple(rinfo, candidate, old);
	return finish_new_row(modify, estate, rinfo, *old_out, slot) ? slot : NULL;
}

static tg_status
delete_row(modify_state *modify, EState *estate, found_row *found, bool leaves)
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
may_leave(modify_state *modify, EState *estate, ResultRelInfo *rinfo, uint32_t row, TupleTableSlot *slot,
		  HeapTuple *old_out)
{
	TupleTableSlot *old = rinfo->ri_oldTupleSlot;

	if (rinfo == modify->mtstate->rootResultRelInfo)
		ExecPartitionCheckEmitError(rinfo, slot, estate);
	if (rinfo->ri_TrigDesc == NULL)
		return true;
	ExecMaterializeSlot(slot); /* it may have been made of the old one */
	tsurugi_row_to_slot(&modify->old, row, old);
	old->tts_tableOid = RelationGetRelid(modify->relation);
	*old_out = old_tuple(modify, estate, old);
	return !rinfo->ri_TrigDesc->trig_delete_before_row ||
		   ExecBRDeleteTriggers(estate, &modify->mtstate->mt_epqstate, rinfo, NULL, *old_out, NULL);
}

TupleTableSlot *
tsurugiExecForeignUpdate(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	modify_state *modify = rinfo->ri_FdwState;
	uint32_t target = target_of(modify, planSlot);
	tg_version judged = TG_VERSION_NONE; /* that the new row was recomputed from */
	tg_version noted = TG_VERSION_NONE;
	bool checked = false;
	bool leaves = false;
	HeapTuple old = NULL;

	restore_executor(modify, rinfo);
	for (;;)
	{
		found_row found = {.row = target};
		tg_status status = look_at_newest(modify, estate, TG_DATA, true, &found);

		check_unchanged(modify, status, target);
		if (status == TG_CHANGED && found.version != judged)
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
				leaves = leaves_partition(modify, estate, rinfo, slot);
				if (leaves && !may_leave(modify, estate, rinfo, found.row, slot, &old))
					return NULL;
				if (!leaves)
					check_new_row(modify, estate, rinfo, slot, WCO_RLS_UPDATE_CHECK);
			}
			checked = true;
			status = leaves ? delete_row(modify, estate, &found, true) : replace_row(modify, estate, &found, slot);
		}
		switch (status)
		{
			case TG_OK:
				if (leaves)
				{
					slot = tsurugi_move_insert(&modify->move, modify->mtstate, rinfo, old, slot, planSlot);
					if (slot != NULL && rinfo->ri_TrigDesc != NULL)
						silence_trigger(modify, &rinfo->ri_TrigDesc->trig_update_after_row);
					return slot;
				}
				if (judged != TG_VERSION_NONE && rinfo->ri_TrigDesc != NULL)
				{
					fire_after_update(estate, rinfo, old, slot);
					silence_trigger(modify, &rinfo->ri_TrigDesc->trig_update_after_row);
				}
				return slot;
			case TG_AGAIN:
				break;
			case TG_BUSY:
				tsurugi_wait(&found.wait, modify->relation, TSURUGI_TO_UPDATE);
				break;
			case TG_NOT_FOUND:
				return NULL;
			case TG_SELF:
				tsurugi_check_own_change(found.by_other_command, "updated");
				return NULL;
			case TG_EXISTS:
				check_key_is_taken(modify, estate, &found, slot, &noted);
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
reconsider_delete(modify_state *modify, EState *estate, ResultRelInfo *rinfo, uint32_t row, TupleTableSlot *slot,
				  HeapTuple *old_out)
{
	const TriggerDesc *triggers = rinfo->ri_TrigDesc;

	if (reevaluate(modify, rinfo, row) == NULL)
		return false;
	if (triggers == NULL)
		return true;
	tsurugi_row_to_slot(&modify->old, row, slot);
	*old_out = old_tuple(modify, estate, slot);
	ExecClearTuple(slot);
	return !triggers->trig_delete_before_row ||
		   ExecBRDeleteTriggers(estate, &modify->mtstate->mt_epqstate, rinfo, NULL, *old_out, NULL);
}

/* slot is for RETURNING: the row as it was deleted. */
TupleTableSlot *
tsurugiExecForeignDelete(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	modify_state *modify = rinfo->ri_FdwState;
	uint32_t target = target_of(modify, planSlot);
	tg_version judged = TG_VERSION_NONE;
	HeapTuple old = NULL;

	restore_executor(modify, rinfo);
	for (;;)
	{
		found_row found = {.row = target};
		tg_status status = look_at_newest(modify, estate, TG_ESSENTIAL, true, &found);

		check_unchanged(modify, status, target);
		if (status == TG_CHANGED && found.version != judged)
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
					silence_trigger(modify, &rinfo->ri_TrigDesc->trig_delete_after_row);
				}
				return slot;
			case TG_AGAIN:
				break;
			case TG_BUSY:
				tsurugi_wait(&found.wait, modify->relation, TSURUGI_TO_DELETE);
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
