/*
 * scan_run.c
 *	  The rows of a scan as the executor has them: columns in a slot, conditions, projection.
 */
#include "postgres.h"

#include "runtime/base/atomic.h"
#include "runtime/order/value.h"
#include "runtime/exec/vectors.h"
#include "src/value/datum.h"
#include "src/exec/scan_internal.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "tcop/pquery.h"
#include "utils/portal.h"

#include "src/table/row.h"
#include "src/table/system_columns.h"

/* --- setting up -------------------------------------------------------------------------- */

static void
init_columns(tsurugi_scan *scan, ForeignScan *plan, List *attnums)
{
	int count = list_length(attnums);
	ListCell *cell;
	char *memory;

	/* One piece: cells first, they want the widest alignment. */
	memory = palloc(
		count * (sizeof(tg_value) + TSURUGI_SCRATCH_BYTES + 2 * sizeof(uint16_t) + sizeof(uint8_t) + 2 * sizeof(bool)) +
		sizeof(tg_value));
	scan->cells = (tg_value *) TYPEALIGN(sizeof(tg_value), memory);
	scan->scratch = (char *) (scan->cells + count);
	scan->columns = (uint16_t *) (scan->scratch + (size_t) count * TSURUGI_SCRATCH_BYTES);
	scan->positions = scan->columns + count;
	scan->kinds = (uint8_t *) (scan->positions + count);
	scan->cell_nulls = (bool *) (scan->kinds + count);
	scan->words = scan->cell_nulls + count;

	foreach (cell, attnums)
	{
		int column = tsurugi_column_of(scan->described, lfirst_int(cell) - 1);

		scan->columns[scan->column_count] = column;
		scan->positions[scan->column_count] = lfirst_int(cell) - 1;
		scan->kinds[scan->column_count] = scan->described->kinds[column];
		scan->words[scan->column_count] = scan->described->codecs[column].form == TSURUGI_WORD;
		scan->column_count++;
	}
	/* The plan may ask for the columns in the order of its output. */
	foreach (cell, plan->fdw_scan_tlist)
	{
		Var *var = (Var *) lfirst_node(TargetEntry, cell)->expr;

		for (int i = 0; i < scan->column_count; i++)
			if (scan->columns[i] == tsurugi_column_of(scan->described, var->varattno - 1))
				scan->positions[i] = foreach_current_index(cell);
	}
}

static bool
names_system_columns(const Scan *plan)
{
	return tsurugi_system_columns_are_named((Node *) list_make2(plan->plan.targetlist, plan->plan.qual),
											plan->scanrelid);
}

void
tsurugi_scan_init_rows(tsurugi_scan *scan, ForeignScan *plan)
{
	ForeignScanState *node = scan->node;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;

	init_columns(scan, plan, tsurugi_scan_plan_of(plan)->columns);
	scan->slot_natts = slot->tts_tupleDescriptor->natts;
	/* A cursor is asked for the place of its row by WHERE CURRENT OF. */
	scan->wants_ctid = plan->fsSystemCol || tsurugi_scan_plan_of(plan)->access->shape.way != TSURUGI_WAY_TABLE ||
					   (ActivePortal != NULL && *ActivePortal->name);
	scan->wants_system_columns = tsurugi_system_columns_named && plan->fsSystemCol && names_system_columns(&plan->scan);
	scan->plain = node->ss.ps.qual == NULL && node->ss.ps.ps_ProjInfo == NULL;
	/* Columns that are not read stay NULL.  This is as in ForeignNext (nodeForeignscan.c): */
	memset(slot->tts_isnull, true, scan->slot_natts * sizeof(bool));
	slot->tts_tableOid = RelationGetRelid(node->ss.ss_currentRelation);
}

tg_vectors *
tsurugi_scan_make_vectors(const tsurugi_scan *scan, MemoryContext context, unsigned rows)
{
	size_t bytes = tg_vectors_bytes(scan->kinds, scan->column_count, rows);
	char *memory = MemoryContextAllocHuge(context, bytes + TG_CACHE_LINE);

	return tg_vectors_init((void *) TYPEALIGN(TG_CACHE_LINE, memory), scan->columns, scan->kinds, scan->column_count,
						   rows);
}

/* --- slots -------------------------------------------------------------------------------- */

/* A row found by key, or read by its number. */
static inline void
fill_from_cells(tsurugi_scan *scan, TupleTableSlot *slot)
{
	for (int i = 0; i < scan->column_count; i++)
	{
		int position = scan->positions[i];

		slot->tts_isnull[position] = scan->cell_nulls[i];
		if (!scan->cell_nulls[i])
			slot->tts_values[position] = tsurugi_datum(&scan->described->codecs[scan->columns[i]], &scan->cells[i],
													   scan->scratch + (size_t) i * TSURUGI_SCRATCH_BYTES);
	}
}

static pg_noinline Datum
datum_from_vector(tsurugi_scan *scan, const tg_vectors *vectors, int i, uint32_t at)
{
	const void *data = vectors->data[i];

	return tsurugi_datum(&scan->described->codecs[scan->columns[i]],
						 scan->kinds[i] <= TG_KIND_8 ? (const void *) ((const uint64_t *) data + at)
													 : (const void *) ((const tg_value *) data + at),
						 scan->scratch + (size_t) i * TSURUGI_SCRATCH_BYTES);
}

static inline void
fill_from_vectors(tsurugi_scan *scan, const tg_vectors *vectors, uint32_t at, TupleTableSlot *slot)
{
	Datum *values = slot->tts_values;
	bool *isnull = slot->tts_isnull;
	int count = scan->column_count;

	for (int i = 0; i < count; i++)
	{
		int position = scan->positions[i];
		bool null = vectors->nulls[i][at];

		isnull[position] = null;
		if (!null)
			values[position] =
				scan->words[i] ? ((const uint64_t *) vectors->data[i])[at] : datum_from_vector(scan, vectors, i, at);
	}
}

/*
 * The slot is left as ExecClearTuple and ExecStoreVirtualTuple leave it, but without their calls.
 * It owns memory only if a node above has materialized it.
 */
static pg_attribute_always_inline void
fill(tsurugi_scan *scan, const tg_vectors *vectors, uint32_t at, uint32_t row, TupleTableSlot *slot)
{
	if (unlikely(TTS_SHOULDFREE(slot)))
		ExecClearTuple(slot);
	if (vectors != NULL)
		fill_from_vectors(scan, vectors, at, slot);
	else
		fill_from_cells(scan, slot);
	slot->tts_flags &= ~TTS_FLAG_EMPTY;
	slot->tts_nvalid = scan->slot_natts;
	if (scan->wants_ctid)
		tsurugi_row_id_to_tid(row, &slot->tts_tid);
	if (unlikely(scan->wants_system_columns))
		tsurugi_system_columns_add(slot, scan->described->oid);
}

void
tsurugi_scan_fill(tsurugi_scan *scan, TupleTableSlot *slot)
{
	fill(scan, scan->batch.vectors, scan->position - 1, scan->row, slot);
}

void
tsurugi_scan_fill_from(tsurugi_scan *scan, const tsurugi_batch *batch, uint32_t at, TupleTableSlot *slot)
{
	fill(scan, batch->vectors, at, batch->vectors != NULL ? batch->vectors->rows[at] : batch->row, slot);
}

/* --- the node ----------------------------------------------------------------------------- */

/*
 * ExecScan (execScan.c) for this node: without EvalPlanQual, which has its own
 * executor state, and without the calls and the memory context reset per row
 * that a scan which forms nothing does not need.
 */
TupleTableSlot *
tsurugi_scan_run(PlanState *pstate)
{
	ForeignScanState *node = castNode(ForeignScanState, pstate);
	tsurugi_scan *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *context;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		if (!tsurugi_scan_next(scan))
			return tsurugi_scan_no_row(pstate);
		fill(scan, scan->batch.vectors, scan->position - 1, scan->row, slot);
		if (scan->plain)
			return slot;
		context = pstate->ps_ExprContext;
		ResetExprContext(context);
		context->ecxt_scantuple = slot;
		if (pstate->qual == NULL || ExecQual(pstate->qual, context))
			return pstate->ps_ProjInfo != NULL ? ExecProject(pstate->ps_ProjInfo) : slot;
		InstrCountFiltered1(node, 1);
	}
}
