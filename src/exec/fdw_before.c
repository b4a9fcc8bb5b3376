/*
 * fdw_before.c
 *	  Rows are locked before their BEFORE ROW triggers are fired.
 *
 * The errors and side effects of such a trigger count.  So it must be fired once, with the present
 * row.  For ordinary tables the executor locks the row first (GetTupleForTrigger).  For foreign
 * tables it fires the trigger with the row that the plan has returned.  So the statement's own copy
 * of the triggers begins with one more, a function of this file, which follows the row to its
 * newest version (row_follow.c) and locks it:
 *
 *	as the snapshot saw it		the other triggers follow
 *	committed since				EvalPlanQual makes the new row, and the other triggers get both;
 *								no new row: the row is skipped
 *	deleted since				the row is skipped
 *	changed by the statement	the row is skipped; by a command that the statement has run: 27000
 *
 * 1. A trigger that returns NULL skips the row.  The new row is what it returns.  The old row, with
 *	  which the executor goes on to the AFTER triggers, is replaced in place: in the tuple and in
 *	  the slot that the executor has handed over.
 * 2. ExecForeignUpdate and ExecForeignDelete find the row locked, and write it as it was computed.
 * 3. EXPLAIN counts calls of triggers, but does not see this one.
 *
 * Triggers that are fired from here (ON CONFLICT DO UPDATE, an UPDATE that takes the row to another
 * partition) are about a row that has been locked before.
 */
#include "postgres.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/app/process.h"
#include "src/exec/fdw_change.h"

#include "catalog/pg_trigger.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "src/txn/errors.h"
#include "src/txn/kinds.h"

/* Its place among the triggers: the first. */
#define HOLDING 0

/* The function in the trigger's entry: one of those that any trigger may call. */
#define NAMED_FUNCTION F_SUPPRESS_REDUNDANT_UPDATES_TRIGGER

typedef struct held_row
{
	tsurugi_change_row row; /* the first member: the functions of the rules get a pointer to it */
	bool deletes;
	bool changed; /* the newest version was committed after the snapshot */
} held_row;

static tg_status
look_to_hold(tsurugi_follow *follow)
{
	held_row *held = (held_row *) follow;

	return tsurugi_change_hold(&held->row, held->deletes, true);
}

static tsurugi_follow_state
take_held(tsurugi_follow *follow, bool changed)
{
	((held_row *) follow)->changed = changed;
	return TSURUGI_FOLLOW_DONE;
}

static void
skip_own(tsurugi_follow *follow)
{
	tsurugi_check_own_change(follow->found.by_other_command, "updated");
}

static const tsurugi_follow_rules hold_rules = {
	.look = look_to_hold,
	.judge = take_held,
	.conflict = tsurugi_follow_raise_conflict,
	.own = skip_own,
	.wait = tsurugi_follow_wait,
	.refused = tsurugi_refused,
};

/* Rule 1, for a version that the executor does not know.  NULL: the version is not wanted. */
static HeapTuple
exchange(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, TriggerData *data, uint32_t row)
{
	HeapTuple old = data->tg_trigtuple;
	TupleTableSlot *slot = NULL;
	HeapTuple new = old;
	MemoryContext saved;

	if (TRIGGER_FIRED_BY_UPDATE(data->tg_event))
	{
		slot = tsurugi_change_recompute(modify, rinfo, row);
		if (slot == NULL)
			return NULL;
		saved = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		new = ExecCopySlotHeapTuple(slot);
		MemoryContextSwitchTo(saved);
		new->t_tableOid = RelationGetRelid(modify->relation);
		slot = rinfo->ri_oldTupleSlot;
	}
	else
	{
		if (tsurugi_change_reevaluate(modify, rinfo, row) == NULL)
			return NULL;
		slot = data->tg_trigslot;
		tsurugi_row_to_slot(&modify->old, row, slot);
	}
	*old = *tsurugi_change_old_tuple(modify, estate, slot);
	ItemPointerSetInvalid(&old->t_self);
	if (slot != data->tg_trigslot)
		ExecForceStoreHeapTuple(old, slot, false);
	ExecForceStoreHeapTuple(old, data->tg_trigslot, false);
	return new;
}

static Datum
hold_row(PG_FUNCTION_ARGS)
{
	TriggerData *data = (TriggerData *) fcinfo->context;
	tsurugi_change *modify = fcinfo->flinfo->fn_extra;
	bool deletes = TRIGGER_FIRED_BY_DELETE(data->tg_event);
	HeapTuple result = deletes ? data->tg_trigtuple : data->tg_newtuple;
	EState *estate = modify->mtstate->ps.state;
	held_row held;
	uint32_t target;
	MemoryContext saved;

	if (modify->fires)
		return PointerGetDatum(result);
	tg_assert(modify->holding != NULL && modify->holding->ri_RelationDesc == data->tg_relation);
	held.deletes = deletes;
	held.changed = false;
	/*
	 * The memory in which the executor calls wrappers.  Triggers are called in the memory of the
	 * current row, which does not live as long as the results of EvalPlanQual.
	 */
	saved = MemoryContextSwitchTo(estate->es_query_cxt);
	target = tsurugi_change_target(modify, modify->mtstate->mt_epqstate.origslot);
	tsurugi_change_row_init(&held.row, modify, estate, modify->holding,
							deletes ? TSURUGI_TO_DELETE : TSURUGI_TO_UPDATE);
	tsurugi_follow_begin(&held.row.follow, target, TSURUGI_FOLLOW_LOCK);
	if (tsurugi_follow_row(&held.row.follow, &hold_rules) != TSURUGI_FOLLOW_DONE)
		result = NULL;
	else if (held.changed)
		result = exchange(modify, estate, modify->holding, data, held.row.follow.found.row);
	modify->held = target;
	MemoryContextSwitchTo(saved);
	return PointerGetDatum(result);
}

void
tsurugi_before_prepare(tsurugi_change *modify, ResultRelInfo *rinfo)
{
	TriggerDesc *triggers = rinfo->ri_TrigDesc;
	EState *estate = modify->mtstate->ps.state;
	bool updates = modify->mtstate->operation == CMD_UPDATE;
	Trigger *holding;
	int count;

	if (triggers == NULL || !(updates ? triggers->trig_update_before_row : triggers->trig_delete_before_row))
		return;
	count = triggers->numtriggers + 1;
	holding = palloc0(count * sizeof(Trigger));
	memcpy(holding + 1, triggers->triggers, triggers->numtriggers * sizeof(Trigger));
	holding[HOLDING].tgname = "";
	holding[HOLDING].tgfoid = NAMED_FUNCTION;
	holding[HOLDING].tgtype =
		TRIGGER_TYPE_ROW | TRIGGER_TYPE_BEFORE | (updates ? TRIGGER_TYPE_UPDATE : TRIGGER_TYPE_DELETE);
	holding[HOLDING].tgenabled = TRIGGER_FIRES_ALWAYS;
	triggers->triggers = holding;
	triggers->numtriggers = count;
	rinfo->ri_TrigFunctions = palloc0(count * sizeof(FmgrInfo));
	rinfo->ri_TrigWhenExprs = palloc0(count * sizeof(ExprState *));
	if (rinfo->ri_TrigInstrument != NULL)
		rinfo->ri_TrigInstrument = InstrAlloc(count, estate->es_instrument, false);
	fmgr_info_cxt(NAMED_FUNCTION, &rinfo->ri_TrigFunctions[HOLDING], estate->es_query_cxt);
	rinfo->ri_TrigFunctions[HOLDING].fn_addr = hold_row;
	rinfo->ri_TrigFunctions[HOLDING].fn_extra = modify;
	modify->holding = rinfo;
}

void
tsurugi_before_hide(ResultRelInfo *rinfo)
{
	const tsurugi_change *modify = rinfo->ri_FdwState;

	if (modify != NULL && modify->holding != NULL && rinfo->ri_TrigInstrument != NULL)
		rinfo->ri_TrigInstrument[HOLDING] = (Instrumentation){0};
}
