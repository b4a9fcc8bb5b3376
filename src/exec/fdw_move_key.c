/*
 * fdw_move_key.c
 *	  Foreign keys that refer to rows which an UPDATE moves to another partition.
 *
 * For a foreign key that refers to the whole table such a move is an UPDATE of the row, not a
 * DELETE and an INSERT.  For ordinary partitions the executor fires the triggers of the table that
 * the statement names, with both rows (ExecCrossPartitionUpdateForeignKey), which it finds by their
 * places in the heaps.  This file handles the moves in which one of the rows has no such place:
 *
 *	from      to
 *	memory    any        the partition's own triggers: for UPDATE, those of keys that refer to whole
 *	                     tables; for DELETE, the others (fdw_move.c moves the row)
 *	ordinary  memory     the executor's triggers, without the new row; only CASCADE needs that row:
 *	                     it is skipped, and fired as the destination's trigger, which has both rows
 *
 * A key that refers to the whole table contains the columns that determine a row's partition.  So
 * it changes with the move, and a row that has taken the place of the old one is in the old one's
 * partition, where NO ACTION looks for it.
 *
 * The executor's copy of a table's triggers determines which triggers fire.  This file has another
 * copy, in which some are disabled.
 */
#include "postgres.h"

#include "src/exec/fdw.h"

#include "access/htup_details.h"
#include "access/tupconvert.h"
#include "commands/trigger.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/rel.h"

#include "src/constraint/foreign_key.h"

/*
 * Whether a trigger belongs to a foreign key's action; a clone belongs to the key of a table above.
 */
static bool
is_action(const Trigger *trigger)
{
	return trigger->tgisinternal && OidIsValid(trigger->tgconstraint) &&
		   strncmp(trigger->tgname, "RI_ConstraintTrigger_a", 22) == 0;
}

static bool
is_of_whole_table(const Trigger *trigger)
{
	return is_action(trigger) && trigger->tgisclone;
}

/*
 * Copies the triggers and enables only those of keys that refer to whole tables, or only the
 * others.
 */
static TriggerDesc *
filter_triggers(const TriggerDesc *all, bool whole)
{
	TriggerDesc *filtered = palloc(sizeof(*filtered));

	*filtered = *all;
	filtered->triggers = palloc(all->numtriggers * sizeof(Trigger));
	memcpy(filtered->triggers, all->triggers, all->numtriggers * sizeof(Trigger));
	for (int i = 0; i < all->numtriggers; i++)
		if (is_of_whole_table(&all->triggers[i]) != whole)
			filtered->triggers[i].tgenabled = TRIGGER_DISABLED;
	return filtered;
}

static bool
has_key_of_whole_table(const TriggerDesc *triggers)
{
	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
		if (is_of_whole_table(&triggers->triggers[i]))
			return true;
	return false;
}

/* Makes the executor's check, which does not test whether both partitions are below that table. */
static void
check_ancestors(EState *estate, ResultRelInfo *source)
{
	ListCell *cell;

	foreach (cell, ExecGetAncestorResultRels(estate, source))
	{
		const ResultRelInfo *ancestor = lfirst(cell);
		const ResultRelInfo *root = source->ri_RootResultRelInfo;
		const TriggerDesc *triggers = ancestor->ri_TrigDesc;

		if (ancestor == root || triggers == NULL || !triggers->trig_update_after_row)
			continue;
		for (int i = 0; i < triggers->numtriggers; i++)
			if (is_action(&triggers->triggers[i]) && !triggers->triggers[i].tgisclone)
				ereport(ERROR,
						(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						 errmsg("cannot move tuple across partitions when a non-root ancestor of the source partition "
								"is directly referenced in a foreign key"),
						 errdetail("A foreign key points to ancestor \"%s\" but not the root ancestor \"%s\".",
								   RelationGetRelationName(ancestor->ri_RelationDesc),
								   RelationGetRelationName(root->ri_RelationDesc)),
						 errhint("Consider defining the foreign key on table \"%s\".",
								 RelationGetRelationName(root->ri_RelationDesc))));
	}
}

static void
fire_delete(EState *estate, ResultRelInfo *rinfo, TriggerDesc *enabled, HeapTuple old)
{
	TriggerDesc *all = rinfo->ri_TrigDesc;

	rinfo->ri_TrigDesc = enabled;
	ExecARDeleteTriggers(estate, rinfo, NULL, old, NULL, false);
	rinfo->ri_TrigDesc = all;
}

static void
fire_update(EState *estate, ResultRelInfo *rinfo, TriggerDesc *enabled, HeapTuple old, TupleTableSlot *new)
{
	TriggerDesc *all = rinfo->ri_TrigDesc;

	rinfo->ri_TrigDesc = enabled;
	ExecARUpdateTriggers(estate, rinfo, NULL, NULL, NULL, old, new, NIL, NULL, false);
	rinfo->ri_TrigDesc = all;
}

/*
 * Converts a row of one partition to another's row type, in a slot of its own that the caller
 * drops.
 */
static TupleTableSlot *
convert(ResultRelInfo *from, ResultRelInfo *to, TupleTableSlot *row)
{
	TupleDesc columns = RelationGetDescr(to->ri_RelationDesc);
	TupleConversionMap *map = convert_tuples_by_name(RelationGetDescr(from->ri_RelationDesc), columns);
	TupleTableSlot *slot = MakeSingleTupleTableSlot(columns, &TTSOpsVirtual);

	if (map == NULL)
		return ExecCopySlot(slot, row);
	return execute_attr_map_slot(map->attrMap, row, slot);
}

/* --- from memory ------------------------------------------------------------------------- */

void
tsurugi_move_fire_delete(EState *estate, ResultRelInfo *source, HeapTuple old)
{
	MemoryContext saved;

	if (source->ri_TrigDesc == NULL || !source->ri_TrigDesc->trig_delete_after_row)
		return;
	saved = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	fire_delete(estate, source, filter_triggers(source->ri_TrigDesc, false), old);
	MemoryContextSwitchTo(saved);
}

void
tsurugi_move_fire_update(EState *estate, ResultRelInfo *source, HeapTuple old, ResultRelInfo *destination,
						 TupleTableSlot *new)
{
	MemoryContext saved;

	if (source->ri_TrigDesc == NULL || !source->ri_TrigDesc->trig_update_after_row)
		return;
	check_ancestors(estate, source);
	if (!has_key_of_whole_table(source->ri_TrigDesc))
		return;
	saved = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	if (new == NULL)
		fire_delete(estate, source, filter_triggers(source->ri_TrigDesc, true), old);
	else
	{
		TupleTableSlot *slot = convert(destination, source, new);

		fire_update(estate, source, filter_triggers(source->ri_TrigDesc, true), old, slot);
		ExecDropSingleTupleTableSlot(slot);
	}
	MemoryContextSwitchTo(saved);
}

/* --- by the executor, to memory --------------------------------------------------------------- */

/* Replaces RI_FKey_cascade_upd among the functions of the table that the statement names. */
static Datum
cascade_update(PG_FUNCTION_ARGS)
{
	const TriggerData *data = (TriggerData *) fcinfo->context;

	/* the destination's trigger has both rows */
	return data->tg_newslot == NULL ? PointerGetDatum(NULL) : RI_FKey_cascade_upd(fcinfo);
}

bool
tsurugi_move_prepare(ModifyTableState *mtstate)
{
	ResultRelInfo *root = mtstate->rootResultRelInfo;
	const TriggerDesc *triggers = mtstate->operation == CMD_UPDATE ? root->ri_TrigDesc : NULL;
	bool referenced = false;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		FmgrInfo *function = &root->ri_TrigFunctions[i];

		if (!is_action(&triggers->triggers[i]))
			continue;
		referenced = true;
		if (triggers->triggers[i].tgfoid != F_RI_FKEY_CASCADE_UPD)
			continue;
		fmgr_info_cxt(F_RI_FKEY_CASCADE_UPD, function, mtstate->ps.state->es_query_cxt);
		function->fn_addr = cascade_update;
	}
	return referenced;
}

void
tsurugi_move_arrived(ModifyTableState *mtstate, ResultRelInfo *destination, TupleTableSlot *new)
{
	ResultRelInfo *source = mtstate->resultRelInfo + mtstate->mt_lastResultIndex;
	EState *estate = mtstate->ps.state;
	TriggerDesc *enabled;
	TupleTableSlot *old;
	MemoryContext saved;

	if (source->ri_FdwRoutine != NULL)
		return; /* the executor does not move rows of foreign partitions */
	/* invalid: the row has no place in a heap, so the trigger does not look there */
	ItemPointerSetInvalid(&new->tts_tid);
	if (destination->ri_TrigDesc == NULL || !destination->ri_TrigDesc->trig_update_after_row)
		return;
	saved = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
	enabled = filter_triggers(destination->ri_TrigDesc, true);
	for (int i = 0; i < enabled->numtriggers; i++)
		if (enabled->triggers[i].tgenabled != TRIGGER_DISABLED &&
			!tsurugi_foreign_key_cascades(enabled->triggers[i].tgconstraint))
			enabled->triggers[i].tgenabled = TRIGGER_DISABLED;
	/* the version that the new row was computed from */
	old = convert(source, destination, source->ri_projectNew->pi_exprContext->ecxt_scantuple);
	fire_update(estate, destination, enabled, ExecCopySlotHeapTuple(old), new);
	ExecDropSingleTupleTableSlot(old);
	MemoryContextSwitchTo(saved);
}
