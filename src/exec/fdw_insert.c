/*
 * fdw_insert.c
 *	  INSERT and COPY, a row at a time, with ON CONFLICT.
 *
 * The storage names the unique index that has refused the row (arbiter.c).  A row that had its key may have another one
 * when it is read: no conflict.  DO UPDATE locks the row first, as PostgreSQL always does, where that shows: with a WHERE, which may
 * refuse the row and leaves it locked then; with BEFORE ROW triggers, which are to be fired once; with a SET that calls volatile
 * functions.  Else the new row is computed again if somebody was faster.
 *
 * At REPEATABLE READ and above a row that is met and has changed since the snapshot ends the transaction with 40001, if the
 * snapshot cannot be renewed (isolation.c).
 */
#include "postgres.h"

#include "src/base/status_error.h"
#include "src/exec/fdw_change.h"

#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "src/exec/arbiter.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"

static inline bool
must_hold(const tsurugi_change *modify, const ResultRelInfo *rinfo)
{
	return modify->holds_existing || rinfo->ri_onConflict->oc_WhereClause != NULL ||
		   (rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_update_before_row);
}

/* Locks the row that was found.  False: it is not what it was. */
static bool
hold_existing(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, const tsurugi_found *found)
{
	tsurugi_found again = {.row = found->row};
	tg_status status = tsurugi_change_hold(modify, estate, rinfo, false, false, &again);

	if (status == TG_BUSY)
		tsurugi_wait(&again.wait, modify->relation, TSURUGI_TO_UPDATE, again.row);
	else if (status == TG_CONFLICT || status == TG_FORBIDDEN || status == TG_NO_MEMORY || status == TG_OVER_QUOTA)
		tsurugi_refused(status, modify->relation);
	return (status == TG_OK || status == TG_CHANGED) && again.version == found->version;
}

/*
 * ON CONFLICT DO UPDATE of the row that has the key (ExecOnConflictUpdate).  False: the row is not what it was, insert
 * again.  *result_out is the new row, or NULL if nothing is to be done.
 */
static bool
update_existing(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, const tg_wait *holder,
				TupleTableSlot *excluded, TupleTableSlot **result_out)
{
	uint32_t row = holder->row;
	const OnConflictSetState *set = rinfo->ri_onConflict;
	ExprContext *context = set->oc_ProjInfo->pi_exprContext;
	tsurugi_found found = {.row = row};
	bool level = tsurugi_has_one_snapshot();
	tg_version noted = TG_VERSION_NONE;
	tg_status status = tsurugi_change_look(modify, estate, TG_DATA, level, &found);
	TupleTableSlot *slot;
	HeapTuple old = NULL;

	/* What the snapshot saw under the key may be gone, and this row our own (tsurugi_key_is_seen). */
	if (level && status != TG_OK)
	{
		found.row = row;
		status = tsurugi_change_look(modify, estate, TG_DATA, false, &found);
	}
	if (status == TG_SELF)
		tsurugi_error_twice();
	if (status == TG_BUSY)
		tsurugi_wait(&found.wait, modify->relation, TSURUGI_TO_UPDATE, found.row);
	if (status == TG_CONFLICT || status == TG_FORBIDDEN)
		tsurugi_error(status, modify->relation);
	/* A row that has another key now is no conflict any more; one that has changed may not be seen. */
	if ((status != TG_OK && (status != TG_CHANGED || level)) || found.row != row ||
		!tsurugi_has_key(holder->index, found.version, &modify->row))
		return false;
	if (must_hold(modify, rinfo) && !hold_existing(modify, estate, rinfo, &found))
		return false;

	*result_out = NULL;
	tsurugi_row_to_slot(&modify->old, row, set->oc_Existing);
	set->oc_Existing->tts_tableOid = RelationGetRelid(modify->relation);
	context->ecxt_scantuple = set->oc_Existing;
	context->ecxt_innertuple = excluded;
	context->ecxt_outertuple = NULL;
	/* Through a view: not a row that it does not show, whatever WHERE says of it. */
#if PG_VERSION_NUM >= 150020
	if (rinfo->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(WCO_VIEW_CONFLICT_CHECK, rinfo, set->oc_Existing, estate);
#endif
	if (!ExecQual(set->oc_WhereClause, context))
	{
		InstrCountFiltered1(&modify->mtstate->ps, 1);
		return true;
	}
	if (rinfo->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(WCO_RLS_CONFLICT_CHECK, rinfo, set->oc_Existing, estate);
	slot = ExecProject(set->oc_ProjInfo);

	if (rinfo->ri_TrigDesc != NULL)
		old = tsurugi_change_old_tuple(modify, estate, set->oc_Existing);
	if (!tsurugi_change_finish_row(modify, estate, rinfo, old, slot))
		return true;
	if (tsurugi_change_leaves_partition(modify, estate, rinfo, slot))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("invalid ON UPDATE specification"),
						errdetail("The result tuple would appear in a different partition than the original tuple.")));
	tsurugi_change_check(modify, estate, rinfo, slot, WCO_RLS_UPDATE_CHECK);
	status = tsurugi_change_replace(modify, estate, &found, slot);
	switch (status)
	{
		case TG_OK:
			tsurugi_check_conflict_capture(modify->mtstate->mt_oc_transition_capture);
			tsurugi_change_fire_update(estate, rinfo, old, slot);
			if (rinfo->ri_TrigDesc != NULL)
				tsurugi_change_silence(modify, &rinfo->ri_TrigDesc->trig_insert_after_row);
			*result_out = slot;
			return true;
		case TG_BUSY:
			tsurugi_wait(&found.wait, modify->relation, TSURUGI_TO_UPDATE, found.row);
			return false;
		case TG_AGAIN:
			if (tsurugi_change_look(modify, estate, TG_DATA, false, &found) != TG_SELF)
				return false;
			tsurugi_check_own_change(found.by_other_command, "updated"); /* by SET: that counts, as with UPDATE */
			return true;
		case TG_EXISTS:
			tsurugi_change_check_taken(modify, estate, &found, slot, &noted);
			return false;
		default:
			tsurugi_refused(status, modify->relation);
			return false;
	}
}

/* The slot's row as it is stored, and its key.  Returns the key's length. */
static inline size_t
make_row(tsurugi_change *modify, EState *estate, TupleTableSlot *slot)
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

/*
 * Inserts the row that has been made.  As tg_txn_insert; with ON CONFLICT *is_conflict_out says whether TG_EXISTS is of
 * an arbiter, which may be an EXCLUDE constraint, too.
 */
static tg_status
insert_row(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, size_t key_bytes,
		   uint32_t *row_out, tg_wait *wait_out, bool *is_conflict_out)
{
	const unsigned char *key = modify->described->key_count == 0 ? NULL : modify->key;
	bool probes = modify->exclusions != NULL && modify->on_conflict == ONCONFLICT_NOTHING;
	List *arbiters = rinfo->ri_onConflictArbiterIndexes;
	tg_status status = TG_OK;
	tg_writer writer;

	*is_conflict_out = false;
	if (tg_unlikely(modify->asks_in_turn))
		status = tsurugi_ask_before_deferrable(modify->relation, &modify->row, key, key_bytes, modify->exclusions, slot,
											   arbiters, wait_out);
	if (tg_likely(status == TG_OK) &&
		tg_unlikely(probes || (modify->exclusions != NULL && tg_failpoint_refuses("skip_w8"))))
	{
		status = tsurugi_exclusions_probe(modify->exclusions, slot, TG_ROW_MAX, arbiters, wait_out);
		tg_failpoint("exclusion_between");
	}
	if (tg_likely(status == TG_OK))
	{
		tsurugi_writer(estate, TG_DATA, &writer);
		writer.hidden = tsurugi_row_hidden(&modify->row);
		writer.probes = modify->on_conflict != ONCONFLICT_NONE;
		status = tg_txn_insert(&writer, modify->described->table, key, key_bytes, modify->row.values, modify->row.nulls,
							   row_out, wait_out);
		if ((status == TG_EXISTS || status == TG_BUSY) && modify->on_conflict != ONCONFLICT_NONE)
			return tsurugi_ask_arbiters(&writer, &modify->row, arbiters, status, wait_out, is_conflict_out);
		if (tg_likely(status != TG_OK || modify->exclusions == NULL))
			return status;
		if (probes)
			status = tsurugi_exclusions_probe(modify->exclusions, slot, *row_out, arbiters, wait_out);
	}
	*is_conflict_out = status == TG_EXISTS;
	if (status == TG_OK)
		tsurugi_exclusions_enforce(modify->exclusions, estate, slot, *row_out, TSURUGI_TO_INSERT);
	return status;
}

TupleTableSlot *
tsurugiExecForeignInsert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	tsurugi_change *modify = rinfo->ri_FdwState;
	tg_version noted = TG_VERSION_NONE;
	size_t key_bytes;

	tsurugi_change_restore(modify, rinfo);
	/* All at once: what follows asks for one column after the other. */
	slot_getallattrs(slot);
	/* An UPDATE may have moved the row here from another partition. */
	tsurugi_change_check(modify, estate, rinfo, slot,
						 modify->mtstate->operation == CMD_UPDATE ? WCO_RLS_UPDATE_CHECK : WCO_RLS_INSERT_CHECK);
	if (modify->checks_partition)
		(void) ExecPartitionCheck(rinfo, slot, estate, true);
	key_bytes = make_row(modify, estate, slot);
	for (;;)
	{
		TupleTableSlot *result = NULL;
		bool is_conflict;
		uint32_t row;
		tg_wait wait;
		tg_status status = insert_row(modify, estate, rinfo, slot, key_bytes, &row, &wait, &is_conflict);

		switch (status)
		{
			case TG_OK:
				tsurugi_row_id_to_tid(row, &slot->tts_tid);
				if (tg_unlikely(modify->stored != NULL))
					tsurugi_change_add_system_columns(modify, slot, row, false);
				if (tg_unlikely(modify->receives))
					tsurugi_move_arrived(modify->mtstate, rinfo, slot);
				return slot;
			case TG_EXISTS:
				/* At REPEATABLE READ and above: as ExecCheckTIDVisible has it. */
				if (tsurugi_has_one_snapshot() && (is_conflict || tsurugi_is_validated()) &&
					!tsurugi_key_is_seen(estate, modify->relation, modify->described->table, wait.row, &noted))
					break;
				if (!is_conflict)
					tsurugi_error_duplicate(modify->relation,
											tsurugi_first_refusing(&modify->row, wait.index, TG_ROW_MAX), slot);
				if (modify->on_conflict == ONCONFLICT_UPDATE &&
					!update_existing(modify, estate, rinfo, &wait, slot, &result))
				{
					key_bytes = make_row(modify, estate, slot);
					break;
				}
				InstrCountTuples2(&modify->mtstate->ps, 1);
				return result;
			case TG_BUSY:
				tsurugi_wait(&wait, modify->relation, TSURUGI_TO_INSERT, TG_ROW_MAX);
				break;
			default:
				tsurugi_refused(status, modify->relation);
		}
		CHECK_FOR_INTERRUPTS();
	}
}
