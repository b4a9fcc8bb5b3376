/*
 * scan_give.c
 *	  A scan that gives its batches as they are (taker.h): of a whole table, without conditions, and
 *	  with nothing but columns in its target list.
 */
#include "postgres.h"

#include "src/exec/taker.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "runtime/exec/vectors.h"
#include "src/exec/scan.h"
#include "src/exec/scan_plan.h"
#include "src/value/codec.h"

int *
tsurugi_taken_attributes(const PlanState *node, int column_count)
{
	int *attributes = palloc(Max(list_length(node->plan->targetlist), 1) * sizeof(int));
	int count = 0;
	ListCell *cell;

	foreach (cell, node->plan->targetlist)
	{
		const TargetEntry *entry = lfirst_node(TargetEntry, cell);
		const Var *var = (const Var *) entry->expr;

		if (entry->resjunk)
			continue;
		if (node->ps_ProjInfo == NULL)
		{
			attributes[count++] = foreach_current_index(cell);
			continue;
		}
		if (!IsA(var, Var) || var->varlevelsup != 0 || var->varattno <= 0)
			return NULL;
		attributes[count++] = var->varattno - 1;
	}
	return count == column_count ? attributes : NULL;
}

/* The columns of the result.  NULL: there are none, or one of them is not read. */
static const tsurugi_taken *
find_columns(const tsurugi_scan *scan, const PlanState *node, int count)
{
	int *attributes = tsurugi_taken_attributes(node, count);
	tsurugi_taken *columns = palloc(Max(count, 1) * sizeof(*columns));

	if (attributes == NULL || count == 0)
		return NULL;
	for (int i = 0; i < count; i++)
	{
		int vector = 0;

		while (vector < scan->column_count && scan->positions[vector] != attributes[i])
			vector++;
		if (vector == scan->column_count)
			return NULL;
		columns[i] = (tsurugi_taken){.vector = vector, .codec = &scan->described->codecs[scan->columns[vector]]};
	}
	return columns;
}

/* The node's ExecProcNode. */
static TupleTableSlot *
give(PlanState *pstate)
{
	tsurugi_scan *scan = castNode(ForeignScanState, pstate)->fdw_state;

	while (tsurugi_scan_next_batch(scan))
	{
		tg_assert(scan->batch.vectors != NULL);
		CHECK_FOR_INTERRUPTS();
		scan->taker->take(scan->taker->argument, scan->taken, scan->batch.vectors, 0, scan->batch.count);
		scan->position = scan->batch.count;
	}
	return tsurugi_scan_no_row(pstate);
}

void
tsurugi_scan_give(PlanState *node, const tsurugi_taker *taker)
{
	MemoryContext before;
	tsurugi_scan *scan;

	if (!IsA(node, ForeignScanState) || node->ExecProcNodeReal != tsurugi_scan_run || node->qual != NULL ||
		tsurugi_scan_plan_of((ForeignScan *) node->plan)->access->shape.way != TSURUGI_WAY_TABLE)
		return;
	scan = ((ForeignScanState *) node)->fdw_state;
	before = MemoryContextSwitchTo(node->state->es_query_cxt);
	scan->taken = find_columns(scan, node, taker->column_count);
	MemoryContextSwitchTo(before);
	if (scan->taken == NULL)
		return;
	scan->taker = taker;
	ExecSetExecProcNode(node, give);
}
