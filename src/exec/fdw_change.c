/*
 * fdw_change.c
 *	  The common steps of INSERT ... ON CONFLICT, UPDATE and DELETE for an existing row, including
 *	  those that the executor leaves to a wrapper.
 */
#include "postgres.h"

#include "src/exec/fdw_change.h"

#include "access/htup_details.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/table/table.h"
#include "runtime/txn/own.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
#include "src/base/session.h"
#include "src/exec/arbiter.h"
#include "src/table/system_columns.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/writer.h"

/* --- what the executor leaves to us ---------------------------------------------------------- */

void
tsurugi_change_check(const tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot,
					 WCOKind kind)
{
	if (rinfo->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(kind, rinfo, slot, estate);
	if (RelationGetDescr(modify->relation)->constr != NULL)
		ExecConstraints(rinfo, slot, estate);
}

bool
tsurugi_change_leaves_partition(const tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo,
								TupleTableSlot *slot)
{
	return modify->relation->rd_rel->relispartition && !ExecPartitionCheck(rinfo, slot, estate, false);
}

void
tsurugi_change_silence(tsurugi_change *modify, bool *flag)
{
	if (*flag)
	{
		*flag = false;
		modify->silenced = flag;
	}
}

void
tsurugi_change_fire_update(EState *estate, ResultRelInfo *rinfo, HeapTuple old, TupleTableSlot *slot)
{
	if (rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_update_after_row)
		ExecARUpdateTriggers(estate, rinfo, NULL, NULL, NULL, old, slot, NIL, NULL, false);
}

void
tsurugi_change_mark_old(const tsurugi_change *modify, HeapTuple old)
{
	if (!modify->old_is_own)
		old->t_data->t_infomask |= HEAP_XMIN_COMMITTED;
}

HeapTuple
tsurugi_change_old_tuple(const tsurugi_change *modify, EState *estate, TupleTableSlot *old)
{
	MemoryContext saved = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	HeapTuple tuple = ExecCopySlotHeapTuple(old);

	tuple->t_tableOid = RelationGetRelid(modify->relation);
	tsurugi_change_mark_old(modify, tuple);
	MemoryContextSwitchTo(saved);
	return tuple;
}

bool
tsurugi_change_finish_row(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, HeapTuple old,
						  TupleTableSlot *slot)
{
	const TupleConstr *constraints = RelationGetDescr(modify->relation)->constr;
	bool wanted = true;

	slot->tts_tableOid = RelationGetRelid(modify->relation);
	ExecMaterializeSlot(slot);
	if (rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_update_before_row)
	{
		modify->fires = true;
		wanted = ExecBRUpdateTriggers(estate, &modify->mtstate->mt_epqstate, rinfo, NULL, old, slot, NULL);
		modify->fires = false;
	}
	if (!wanted)
		return false;
	slot->tts_tableOid = RelationGetRelid(modify->relation);
	if (constraints != NULL && constraints->has_generated_stored)
		ExecComputeStoredGenerated(rinfo, estate, slot, CMD_UPDATE);
	return true;
}

/* --- rows that are there --------------------------------------------------------------------- */

void
tsurugi_change_draw(tsurugi_change *modify, EState *estate)
{
	if (modify->has_snapshot)
		return;
	tsurugi_snapshot(estate, &modify->snapshot);
	modify->has_snapshot = !tsurugi_has_one_snapshot(); /* that one may be renewed */
}

static tg_status
look(tsurugi_change_row *row, tg_claim claim, bool seen, const tg_lock_mode *lock)
{
	tsurugi_change *modify = row->modify;
	EState *estate = row->follow.estate;
	tsurugi_found *found = &row->follow.found;
	tg_table *table = modify->described->table;
	tg_writer writer;
	tg_status status;

	tsurugi_change_draw(modify, estate);
	found->row = row->follow.target;
	tsurugi_writer(estate, claim, &writer);
	tg_epoch_enter(writer.session);
	status = tsurugi_find_newest(&writer, seen ? &modify->snapshot : NULL, table, lock, found);
	if (status == TG_OK || status == TG_CHANGED)
	{
		if (modify->has_old)
			tsurugi_row_read(&modify->old, found->version);
		modify->old_is_own = tg_version_is_by(found->version, tsurugi_transaction_number());
	}
	else if (status == TG_SELF)
		found->by_other_command = tg_txn_changed_by_other_command(&writer, &modify->snapshot, table, found->version);
	tg_epoch_leave(writer.session);
	if (status == TG_OK && tsurugi_snapshot_is_of_now(estate))
		tsurugi_crosscheck(estate, modify->relation, table, found->row, found->version);
	return status;
}

tg_status
tsurugi_change_look(tsurugi_change_row *row, tg_claim claim, bool seen)
{
	return look(row, claim, seen, NULL);
}

tg_status
tsurugi_change_hold(tsurugi_change_row *row, bool deletes, bool seen)
{
	tg_lock_mode mode = deletes || ExecUpdateLockMode(row->follow.estate, row->rinfo) == LockTupleExclusive
							? TG_LOCK_UPDATE
							: TG_LOCK_NO_KEY_UPDATE;

	return look(row, deletes ? TG_ESSENTIAL : TG_DATA, seen, &mode);
}

uint32_t
tsurugi_change_target(const tsurugi_change *modify, TupleTableSlot *planSlot)
{
	bool null;
	Datum ctid = ExecGetJunkAttribute(planSlot, modify->ctid, &null);

	if (null)
		elog(ERROR, "ctid is NULL");
	return tsurugi_row_id_of_tid((ItemPointer) DatumGetPointer(ctid));
}

TupleTableSlot *
tsurugi_change_reevaluate(tsurugi_change *modify, ResultRelInfo *rinfo, uint32_t row)
{
	EPQState *state = &modify->mtstate->mt_epqstate;
	TupleTableSlot *test = EvalPlanQualSlot(state, modify->relation, rinfo->ri_RangeTableIndex);
	TupleTableSlot *result;

	tsurugi_row_to_slot(&modify->old, row, test);
	tsurugi_tid_make_other(&test->tts_tid);
	test->tts_tableOid = RelationGetRelid(modify->relation);
	result = EvalPlanQual(state, modify->relation, rinfo->ri_RangeTableIndex, test);
	return TupIsNull(result) ? NULL : result;
}

TupleTableSlot *
tsurugi_change_recompute(tsurugi_change *modify, ResultRelInfo *rinfo, uint32_t row)
{
	TupleTableSlot *candidate = tsurugi_change_reevaluate(modify, rinfo, row);
	TupleTableSlot *old = rinfo->ri_oldTupleSlot;

	if (candidate == NULL)
		return NULL;
	tsurugi_row_to_slot(&modify->old, row, old);
	old->tts_tableOid = RelationGetRelid(modify->relation);
	return ExecGetUpdateNewTuple(rinfo, candidate, old);
}

void
tsurugi_change_prepare_system_columns(tsurugi_change *modify)
{
	const ModifyTable *plan = (const ModifyTable *) modify->mtstate->ps.plan; /* NULL: COPY */
	ListCell *cell;

	if (!tsurugi_system_columns_named || plan == NULL || modify->stored != NULL)
		return;
	foreach (cell, plan->resultRelations)
		if (tsurugi_system_columns_are_named((Node *) plan->returningLists, lfirst_int(cell)))
		{
			tsurugi_row_init(&modify->returned, modify->described);
			modify->stored =
				ExecInitExtraTupleSlot(modify->mtstate->ps.state, RelationGetDescr(modify->relation), &TTSOpsVirtual);
			return;
		}
}

void
tsurugi_change_add_system_columns(tsurugi_change *modify, TupleTableSlot *slot, uint32_t row, bool replaced)
{
	tg_session *session = tsurugi_session();

	tg_epoch_enter(session);
	tsurugi_row_read(&modify->returned, tg_row_newest(modify->described->table, row));
	tg_epoch_leave(session);
	tsurugi_row_to_slot(&modify->returned, row, modify->stored);
	tsurugi_system_columns_copy(slot, RelationGetRelid(modify->relation), modify->stored, replaced);
	ExecClearTuple(modify->stored);
}

/*
 * Blobs are shared along the versions of one row only: a row that gets another key is a new one and
 * takes copies.
 */
tg_status
tsurugi_change_replace(tsurugi_follow *follow)
{
	tsurugi_change_row *change = tsurugi_change_row_of(follow);
	tsurugi_change *modify = change->modify;
	TupleTableSlot *slot = change->slot;
	tsurugi_found *found = &follow->found;
	EState *estate = follow->estate;
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
	if (status != TG_OK)
		return status;
	tsurugi_row_id_to_tid(row, &slot->tts_tid);
	if (tg_unlikely(modify->stored != NULL))
		tsurugi_change_add_system_columns(modify, slot, row, modify->mtstate->operation == CMD_INSERT);
	if (tg_unlikely(modify->exclusions != NULL) &&
		(moves || tsurugi_exclusions_are_touched(modify->exclusions, &modify->old, &modify->row)))
		tsurugi_exclusions_enforce(modify->exclusions, estate, slot, row, TSURUGI_TO_UPDATE);
	return TG_OK;
}

void
tsurugi_change_raise_duplicate(tsurugi_follow *follow)
{
	const tsurugi_change_row *row = tsurugi_change_row_of(follow);

	tsurugi_error_duplicate(follow->relation,
							tsurugi_first_refusing(&row->modify->row, follow->found.wait.index, follow->found.row),
							row->slot);
}
