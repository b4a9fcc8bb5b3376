/*
 * fdw_before.c
 *	  A row is locked ahead of its BEFORE ROW triggers.
 *
 * What such a trigger raises, or does elsewhere, counts, so it has to be fired once, and with the row as it is.  For ordinary
 * tables the executor locks the row first (GetTupleForTrigger); for foreign ones it fires with what the plan has
 * handed over.  So the statement's own copy of the triggers begins with one more, a function of ours:
 *
 *	as the snapshot saw it			locked; the others follow
 *	held by another					waited for
 *	committed since					locked; EvalPlanQual makes the new row, and the others get both.  No new row: passed over
 *	deleted since					passed over
 *	changed by the same statement	passed over; by what that has called: 27000
 *
 * 1. A trigger that returns NULL passes the row over.  The new row is what it returns; the old one, which the executor goes on
 *	  with to the AFTER triggers, is replaced in place: in the tuple and in the slot that it has handed over.
 * 2. ExecForeignUpdate and ExecForeignDelete find the row held, and write it as it has been computed.
 * 3. EXPLAIN, which counts triggers, is shown that this one was never called.
 *
 * Triggers that are fired from here (ON CONFLICT DO UPDATE, an UPDATE that takes the row to another partition) are about a row that
 * has been locked before.
 */
#include "postgres.h"

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

/* Of the functions that any trigger may call, one without arguments: for what asks for an Oid. */
#define NAMED_FUNCTION F_SUPPRESS_REDUNDANT_UPDATES_TRIGGER

/* Locks the row and reads it.  False: it is to be passed over.  *changed_out: it was committed after the snapshot. */
static bool
hold(tsurugi_change *modify, EState *estate, ResultRelInfo *rinfo, bool deletes, uint32_t target, uint32_t *row_out,
	 bool *changed_out)
{
	for (;;)
	{
		tsurugi_found found = {.row = target};
		tg_status status = tsurugi_change_hold(modify, estate, rinfo, deletes, true, &found);

		tsurugi_change_check_unchanged(modify, status, target);
		switch (status)
		{
			case TG_OK:
			case TG_CHANGED:
				*row_out = found.row;
				*changed_out = status == TG_CHANGED;
				return true;
			case TG_AGAIN:
				break;
			case TG_BUSY:
				tsurugi_wait(&found.wait, modify->relation, deletes ? TSURUGI_TO_DELETE : TSURUGI_TO_UPDATE, found.row);
				break;
			case TG_NOT_FOUND:
				return false;
			case TG_SELF:
				tsurugi_check_own_change(found.by_other_command, "updated");
				return false;
			default:
				tsurugi_refused(status, modify->relation);
		}
		CHECK_FOR_INTERRUPTS();
	}
}

/* Rule 1, for a row that is another one than the executor knows of.  NULL: the statement does not want it. */
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
	uint32_t target;
	uint32_t row;
	bool changed;
	MemoryContext saved;

	if (modify->fires)
		return PointerGetDatum(result);
	/* where the executor calls its wrappers; triggers are called in memory of the row in hand, which the means of EvalPlanQual outlive */
	saved = MemoryContextSwitchTo(estate->es_query_cxt);
	target = tsurugi_change_target(modify, modify->mtstate->mt_epqstate.origslot);
	if (!hold(modify, estate, modify->holding, deletes, target, &row, &changed))
		result = NULL;
	else if (changed)
		result = exchange(modify, estate, modify->holding, data, row);
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
