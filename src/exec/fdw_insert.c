/*
 * fdw_insert.c
 *	  INSERT and COPY, a row at a time, with ON CONFLICT.
 *
 * The storage names the unique index that has refused the row, and the row that has the key
 * (arbiter.c).  DO UPDATE follows that row (row_follow.c); if it is not what it was, the row is
 * inserted again.  By the time it is read the row may have got another key: no conflict.
 *
 * PostgreSQL always locks the row before it evaluates WHERE and SET.  Here that is done where it
 * can be observed: with a WHERE, which may refuse the row and leaves it locked then; with BEFORE
 * ROW triggers, which are to be fired once; with a SET that calls volatile functions; with a SET of
 * a key's column, for which PostgreSQL locks the row FOR UPDATE even if the key then stays the
 * same.  Otherwise the new row is computed again if another transaction was faster.
 *
 * At REPEATABLE READ and above a row that is met and has changed since the snapshot ends the
 * transaction with 40001, if the snapshot cannot be renewed (isolation.c).
 */
#include "postgres.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/table/limits.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"
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
#include "src/txn/row_queue.h"
#include "src/txn/seen_key.h"
#include "src/txn/writer.h"

/* --- ON CONFLICT DO UPDATE ------------------------------------------------------------------- */

/* The row that has the key. */
typedef struct existing_row
{
	tsurugi_change_row row; /* the first member: the functions of the rules get a pointer to it */
	const tg_wait *holder;	/* names the row that has the key */
	TupleTableSlot *excluded;
	bool is_computed; /* SET has been evaluated, or is about to be */
} existing_row;

/*
 * Whether SET changes a key is asked when the first conflict is met: ExecUpdateLockMode prepares
 * the generated columns for an UPDATE, without those that SET does not change, unless the executor
 * has prepared all of them for the insertion, which needs them.
 */
static inline bool
must_lock(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo)
{
	if (!modify->set_is_known)
	{
		modify->holds_existing |= ExecUpdateLockMode(estate, rinfo) == LockTupleExclusive;
		modify->set_is_known = true;
	}
	return modify->holds_existing || rinfo->ri_onConflict->oc_WhereClause != NULL ||
		   (rinfo->ri_TrigDesc != NULL && rinfo->ri_TrigDesc->trig_update_before_row);
}

/* Above READ COMMITTED a version is met only if the snapshot sees it, or it is settled. */
static inline tg_status
look_for_key(tsurugi_change_row *row)
{
	tg_status status;

	if (!tsurugi_has_one_snapshot())
	{
		status = tsurugi_change_look(row, TG_DATA, false);
		return status == TG_CHANGED ? TG_OK : status;
	}
	status = tsurugi_change_look(row, TG_DATA, true);
	/*
	 * The row that the snapshot saw under the key may be gone, and this row may be the
	 * transaction's own.
	 */
	if (status != TG_OK)
		status = tsurugi_change_look(row, TG_DATA, false);
	return status;
}

/* Locks the row that look_for_key has looked at. */
static tg_status
lock_key(tsurugi_change_row *row)
{
	tg_version looked_at = row->follow.found.version;
	tg_status status = tsurugi_change_hold(row, false, false);

	if (status == TG_OK || status == TG_CHANGED)
		return row->follow.found.version == looked_at ? TG_OK : TG_AGAIN;
	return status;
}

/*
 * TG_AGAIN: the row is not the one that the insertion has met, or its version is not the one that
 * has just been looked at.  A row that has another key now is no conflict any more.
 */
static pg_attribute_always_inline tg_status
look_at_existing(tsurugi_follow *follow)
{
	existing_row *existing = (existing_row *) follow;
	tsurugi_change_row *row = &existing->row;
	tg_status status = look_for_key(row);

	if (status == TG_OK)
	{
		if (follow->found.row != follow->target ||
			!tsurugi_has_key(existing->holder->index, follow->found.version, &row->modify->row))
			return TG_AGAIN;
		if (follow->look == TSURUGI_FOLLOW_LOCK)
			status = lock_key(row);
	}
	return tsurugi_is_changed(status) ? TG_AGAIN : status;
}

/*
 * Makes the new row in row->slot, like ExecOnConflictUpdate.  False: WHERE or a trigger rejects it.
 */
static pg_attribute_always_inline bool
compute_update(existing_row *existing)
{
	tsurugi_change_row *row = &existing->row;
	tsurugi_change *modify = row->modify;
	ResultRelInfo *rinfo = row->rinfo;
	EState *estate = row->follow.estate;
	const OnConflictSetState *set = rinfo->ri_onConflict;
	ExprContext *context = set->oc_ProjInfo->pi_exprContext;

	tsurugi_row_to_slot(&modify->old, row->follow.found.row, set->oc_Existing);
	set->oc_Existing->tts_tableOid = RelationGetRelid(modify->relation);
	context->ecxt_scantuple = set->oc_Existing;
	context->ecxt_innertuple = existing->excluded;
	context->ecxt_outertuple = NULL;
	/*
	 * Through a view: a row that the view does not show must not be updated, whatever the result of
	 * WHERE.
	 */
#if PG_VERSION_NUM >= 150020
	if (rinfo->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(WCO_VIEW_CONFLICT_CHECK, rinfo, set->oc_Existing, estate);
#endif
	if (!ExecQual(set->oc_WhereClause, context))
	{
		InstrCountFiltered1(&modify->mtstate->ps, 1);
		return false;
	}
	if (rinfo->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(WCO_RLS_CONFLICT_CHECK, rinfo, set->oc_Existing, estate);
	row->slot = ExecProject(set->oc_ProjInfo);

	if (rinfo->ri_TrigDesc != NULL)
		row->old = tsurugi_change_old_tuple(modify, estate, set->oc_Existing);
	if (!tsurugi_change_finish_row(modify, estate, rinfo, row->old, row->slot))
		return false;
	if (tsurugi_change_leaves_partition(modify, estate, rinfo, row->slot))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("invalid ON UPDATE specification"),
						errdetail("The result tuple would appear in a different partition than the original tuple.")));
	tsurugi_change_check(modify, estate, rinfo, row->slot, WCO_RLS_UPDATE_CHECK);
	return true;
}

static pg_attribute_always_inline tsurugi_follow_state
judge_existing(tsurugi_follow *follow, bool changed)
{
	existing_row *existing = (existing_row *) follow;

	tg_assert(!changed);
	existing->is_computed = true;
	return compute_update(existing) ? TSURUGI_FOLLOW_WRITE : TSURUGI_FOLLOW_SKIPPED;
}

static pg_attribute_always_inline tg_status
write_existing(tsurugi_follow *follow)
{
	tg_status status = tsurugi_change_replace(follow);

	/* SET may have changed the row: that counts, as with UPDATE. */
	if (status == TG_AGAIN && tsurugi_change_look(tsurugi_change_row_of(follow), TG_DATA, false) == TG_SELF)
		return TG_SELF;
	return status;
}

static void
refuse_own(tsurugi_follow *follow)
{
	if (!((existing_row *) follow)->is_computed)
		tsurugi_error_twice();
	tsurugi_check_own_change(follow->found.by_other_command, "updated");
}

/* No conflict: look_at_existing does not tell of a row that is not as the snapshot sees it. */
static const tsurugi_follow_rules existing_rules = {
	.look = look_at_existing,
	.judge = judge_existing,
	.write = write_existing,
	.own = refuse_own,
	.wait = tsurugi_follow_wait,
	.duplicate = tsurugi_change_raise_duplicate,
	.refused = tsurugi_refused,
	.restarts = true,
};

/*
 * ON CONFLICT DO UPDATE of the row that has the key.  False: the row is not what it was, insert
 * again.  *result_out is the new row, or NULL if nothing is to be done.  Not inlined, so that an
 * INSERT that meets no row does not pay for its variables.
 */
static pg_noinline bool
update_existing(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, const tg_wait *holder,
				TupleTableSlot *excluded, TupleTableSlot **result_out)
{
	existing_row existing;
	tsurugi_change_row *row = &existing.row;
	tsurugi_follow_state end;

	tsurugi_change_row_init(row, modify, estate, rinfo, TSURUGI_TO_UPDATE);
	tsurugi_follow_begin(&row->follow, holder->row,
						 must_lock(modify, estate, rinfo) ? TSURUGI_FOLLOW_LOCK : TSURUGI_FOLLOW_LOOK);
	existing.holder = holder;
	existing.excluded = excluded;
	existing.is_computed = false;
	*result_out = NULL;
	end = tsurugi_follow_row(&row->follow, &existing_rules);
	if (end != TSURUGI_FOLLOW_DONE)
		return end == TSURUGI_FOLLOW_SKIPPED;
	tsurugi_check_conflict_capture(modify->mtstate->mt_oc_transition_capture);
	tsurugi_change_fire_update(estate, rinfo, row->old, row->slot);
	if (rinfo->ri_TrigDesc != NULL)
		tsurugi_change_silence(modify, &rinfo->ri_TrigDesc->trig_insert_after_row);
	*result_out = row->slot;
	return true;
}

/* --- INSERT ---------------------------------------------------------------------------------- */

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
 * Whether a key lets ON CONFLICT DO NOTHING end without a look at EXCLUDE constraints, which might
 * have to wait for other transactions.
 */
static bool
is_key_taken(tsurugi_change *modify, const unsigned char *key, size_t key_bytes, tg_wait *wait_out)
{
	tg_writer writer;

	tsurugi_writer(NULL, TG_DATA, &writer);
	writer.hidden = tsurugi_row_hidden(&modify->row);
	return tg_txn_probe(&writer, modify->described->table, key, key_bytes, NULL, modify->row.values, modify->row.nulls,
						wait_out) == TG_EXISTS;
}

/*
 * Inserts the row that has been made.  Results of tg_txn_insert; with ON CONFLICT TG_AGAIN, too,
 * and *is_conflict_out says whether TG_EXISTS is of an arbiter, which may be an EXCLUDE constraint.
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
	if (tg_unlikely(probes && arbiters == NIL) && is_key_taken(modify, key, key_bytes, wait_out))
	{
		*is_conflict_out = true;
		return TG_EXISTS;
	}
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
			return tsurugi_ask_arbiters(&writer, &modify->row, key, key_bytes, arbiters, status, wait_out,
										is_conflict_out);
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

/* Inserts the row, or does what ON CONFLICT says; waits for the transactions that hold a row. */
static TupleTableSlot *
insert_in_turn(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot)
{
	tsurugi_change *modify = rinfo->ri_FdwState;
	tg_version noted = TG_VERSION_NONE;
	size_t key_bytes;

	tsurugi_change_restore(modify, rinfo);
	/* All columns at once: what follows asks for one after the other. */
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
				if (modify->on_conflict == ONCONFLICT_UPDATE)
					tsurugi_change_draw(modify, estate);
				tsurugi_wait(&wait, modify->relation, TSURUGI_TO_INSERT, TG_ROW_MAX);
				break;
			case TG_AGAIN:
				break;
			default:
				tsurugi_refused(status, modify->relation);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

TupleTableSlot *
tsurugiExecForeignInsert(EState *estate, ResultRelInfo *rinfo, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	TupleTableSlot *inserted = insert_in_turn(estate, rinfo, slot);

	tsurugi_queue_leave();
	return inserted;
}
