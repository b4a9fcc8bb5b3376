/*
 * fdw_move.c
 *	  Rows that an UPDATE of a partitioned table moves to another partition.
 *
 * For ordinary partitions the executor does this (ExecCrossPartitionUpdate), but not for a row that
 * leaves a foreign partition: there the row would stay where it is, in the wrong partition.  So the
 * second half of the move is done here, as ExecInsert does it.  The first half is in fdw_modify.c:
 * the deletion of exactly the version that the new row was computed from.
 *
 *	old row ── deleted ──▶ new row, as the root has it ──▶ ExecFindPartition
 *	                            ├── a foreign partition: its wrapper's ExecForeignInsert
 *	                            └── an ordinary one: table_tuple_insert
 *
 * A destination that the same UPDATE scans later does not return the row again, because its row
 * carries the running command.
 *
 * The deletion says that the row continues elsewhere (tg_txn_depart).  A transaction that finds the
 * row gone raises 40001, as for ordinary partitions, instead of passing over it.
 *
 * The executor assumes that the row was updated in place.  It does not see AFTER UPDATE triggers or
 * check options, which are evaluated here, for the destination.  RETURNING must use the
 * destination's tableoid and the row as the destination's triggers and generated columns have made
 * it.  So it is computed here, too: the executor gets the result, and a projection that only passes
 * it on.
 */
#include "postgres.h"

#include "src/exec/fdw.h"

#include "access/tableam.h"
#include "access/tupconvert.h"
#include "commands/trigger.h"
#include "executor/execPartition.h"
#include "executor/executor.h"
#include "executor/nodeModifyTable.h"
#include "foreign/fdwapi.h"
#include "nodes/makefuncs.h"
#include "utils/rel.h"

/*
 * The executor's own routing of rows to partitions, made as the executor makes it, which may need
 * it in the same statement.
 */
static PartitionTupleRouting *
routing_of(ModifyTableState *mtstate)
{
	if (mtstate->mt_partition_tuple_routing == NULL)
	{
		EState *estate = mtstate->ps.state;
		Relation root = mtstate->rootResultRelInfo->ri_RelationDesc;
		MemoryContext saved = MemoryContextSwitchTo(estate->es_query_cxt);

		mtstate->mt_partition_tuple_routing = ExecSetupPartitionTupleRouting(estate, root);
		mtstate->mt_root_tuple_slot = table_slot_create(root, NULL);
		MemoryContextSwitchTo(saved);
	}
	return mtstate->mt_partition_tuple_routing;
}

/*
 * Finds the partition for a row of the source's row type, and converts the row to the partition's.
 */
static TupleTableSlot *
route(ModifyTableState *mtstate, ResultRelInfo *source, TupleTableSlot *slot, ResultRelInfo **destination_out)
{
	PartitionTupleRouting *routing = routing_of(mtstate);
	TupleConversionMap *to_root = ExecGetChildToRootMap(source);
	TupleConversionMap *to_partition;

	if (to_root != NULL)
		slot = execute_attr_map_slot(to_root->attrMap, slot, mtstate->mt_root_tuple_slot);
	*destination_out = ExecFindPartition(mtstate, mtstate->rootResultRelInfo, routing, slot, mtstate->ps.state);
	to_partition = (*destination_out)->ri_RootToPartitionMap;
	if (to_partition != NULL)
		slot = execute_attr_map_slot(to_partition->attrMap, slot, (*destination_out)->ri_PartitionTupleSlot);
	ExecMaterializeSlot(slot);
	return slot;
}

/*
 * Makes the checks that the executor makes of a row for an ordinary partition, and a wrapper by
 * itself.
 */
static void
check_row(ResultRelInfo *destination, TupleTableSlot *slot, EState *estate)
{
	Relation relation = destination->ri_RelationDesc;

	if (destination->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(WCO_RLS_UPDATE_CHECK, destination, slot, estate);
	if (RelationGetDescr(relation)->constr != NULL)
		ExecConstraints(destination, slot, estate);
	if (destination->ri_RootResultRelInfo == NULL ||
		(destination->ri_TrigDesc != NULL && destination->ri_TrigDesc->trig_insert_before_row))
		(void) ExecPartitionCheck(destination, slot, estate, true);
}

/* Stores a row in an ordinary partition; returns the indexes that must be checked again. */
static List *
insert_ordinary(ResultRelInfo *destination, TupleTableSlot *slot, EState *estate)
{
	check_row(destination, slot, estate);
	table_tuple_insert(destination->ri_RelationDesc, slot, estate->es_output_cid, 0, NULL);
	if (destination->ri_NumIndices == 0)
		return NIL;
	return ExecInsertIndexTuples(destination, slot, estate, false, false, NULL, NIL);
}

static bool
has_generated_columns(Relation relation)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;

	return constraints != NULL && constraints->has_generated_stored;
}

/*
 * Stores the row in its partition, as ExecInsert does.  NULL if a trigger or the wrapper suppresses
 * it.
 */
static TupleTableSlot *
insert(ModifyTableState *mtstate, ResultRelInfo *destination, TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	EState *estate = mtstate->ps.state;
	Relation relation = destination->ri_RelationDesc;
	List *recheck = NIL;

	if (relation->rd_rel->relhasindex && destination->ri_IndexRelationDescs == NULL &&
		destination->ri_FdwRoutine == NULL)
		ExecOpenIndices(destination, false);
	if (destination->ri_TrigDesc != NULL && destination->ri_TrigDesc->trig_insert_before_row &&
		!ExecBRInsertTriggers(estate, destination, slot))
		return NULL;
	slot->tts_tableOid = RelationGetRelid(relation);
	if (has_generated_columns(relation))
		ExecComputeStoredGenerated(destination, estate, slot, CMD_INSERT);
	if (destination->ri_FdwRoutine != NULL)
		slot = destination->ri_FdwRoutine->ExecForeignInsert(estate, destination, slot, planSlot);
	else
		recheck = insert_ordinary(destination, slot, estate);
	if (slot == NULL)
		return NULL;
	slot->tts_tableOid = RelationGetRelid(relation);
	ExecARInsertTriggers(estate, destination, slot, recheck, mtstate->mt_transition_capture);
	list_free(recheck);
	if (destination->ri_WithCheckOptions != NIL)
		ExecWithCheckOptions(WCO_VIEW_CHECK, destination, slot, estate);
	return slot;
}

/* Makes a projection that takes a slot's columns as they are. */
static ProjectionInfo *
make_identity(ModifyTableState *mtstate)
{
	TupleTableSlot *result = mtstate->ps.ps_ResultTupleSlot;
	TupleDesc columns = result->tts_tupleDescriptor;
	List *targets = NIL;

	for (int i = 1; i <= columns->natts; i++)
	{
		const FormData_pg_attribute *column = TupleDescAttr(columns, i - 1);
		Var *var = makeVar(1, i, column->atttypid, column->atttypmod, column->attcollation, 0);

		targets = lappend(targets, makeTargetEntry((Expr *) var, i, NULL, false));
	}
	return ExecBuildProjectionInfo(targets, mtstate->ps.ps_ExprContext, result, &mtstate->ps, columns);
}

/* Computes RETURNING for the destination's row, in a slot of its own. */
static TupleTableSlot *
project_returning(tsurugi_move *move, ModifyTableState *mtstate, ResultRelInfo *destination, TupleTableSlot *slot,
				  TupleTableSlot *planSlot)
{
	ExprContext *context = destination->ri_projectReturning->pi_exprContext;

	if (move->returned == NULL)
	{
		EState *estate = mtstate->ps.state;
		MemoryContext saved = MemoryContextSwitchTo(estate->es_query_cxt);

		move->identity = make_identity(mtstate);
		move->returned =
			ExecInitExtraTupleSlot(estate, mtstate->ps.ps_ResultTupleSlot->tts_tupleDescriptor, &TTSOpsVirtual);
		MemoryContextSwitchTo(saved);
	}
	context->ecxt_scantuple = slot;
	context->ecxt_outertuple = planSlot;
	ExecCopySlot(move->returned, ExecProject(destination->ri_projectReturning));
	return move->returned;
}

TupleTableSlot *
tsurugi_move_insert(tsurugi_move *move, ModifyTableState *mtstate, ResultRelInfo *source, HeapTuple old,
					TupleTableSlot *slot, TupleTableSlot *planSlot)
{
	EState *estate = mtstate->ps.state;
	ResultRelInfo *destination;
	TupleTableSlot *moved;

	tsurugi_move_fire_delete(estate, source, old);
	moved = route(mtstate, source, slot, &destination);
	moved = insert(mtstate, destination, moved, planSlot);
	tsurugi_move_fire_update(estate, source, old, destination, moved);
	if (moved == NULL)
		return NULL;
	move->hidden = true;
	move->checks = source->ri_WithCheckOptions;
	move->returning = source->ri_projectReturning;
	source->ri_WithCheckOptions = NIL;
	if (source->ri_projectReturning == NULL)
		return slot;
	slot = project_returning(move, mtstate, destination, moved, planSlot);
	source->ri_projectReturning = move->identity;
	return slot;
}

void
tsurugi_move_end(tsurugi_move *move, ResultRelInfo *source)
{
	source->ri_WithCheckOptions = move->checks;
	source->ri_projectReturning = move->returning;
	move->hidden = false;
}
