/*
 * or_scan.c
 *	  Scans by several indexes, one after the other, for the arms of an OR.
 *
 *	a = 1 OR (b > 2 AND c = 3) OR tags @> '{4}'
 *	└ 1 ┘     └ 2 ┘               └──── 3 ────┘
 *
 * Each arm has a source of its own, by key or by ranges.  A row that several arms find is returned
 * once.  There is no set of rows seen for that.  Instead, each arm has conditions that say which
 * rows its index has, and each row is tested for whether the conditions of an earlier arm hold for
 * it.
 *
 * Let S be the rows that an arm's source returns, A its conditions, and R the rows for which all
 * other conditions of the plan hold.
 *
 * 1.  A row for which the OR holds is in some A (fdw_or.c), because the index is asked for a part
 *	  of the arm's conditions.
 * 2.  The rows in both A and R are in S.  An exact index returns no other rows of R; for other
 *	  indexes, A is evaluated.
 * 3.  An arm returns a row if its A holds for the row and the A of no earlier arm does.  So each
 *	  row of R for which some A holds is returned once, by the first of these arms.
 * 4.  Whether A holds is a question about the version that the snapshot sees.  All arms have one
 *	  snapshot, or one that has been renewed and at which everything read so far is the same
 *	  (isolation.c); if that is not certain, the scan starts again.  A has no volatile function.  So
 *	  all arms give the same answer, even if another transaction or this statement changes the row
 *	  in the meantime.
 *
 * Parts of the OR that are not among the conditions of arms are evaluated by the executor, once, on
 * the rows that are returned.  On newer versions the executor evaluates the whole OR.
 *
 * SERIALIZABLE: the ranges that the arms have read are noted as read.  A transaction that writes a
 * row for which the OR holds, by whichever arm, writes into one of these ranges.
 */
#include "postgres.h"

#include "src/exec/or_scan.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "runtime/base/check.h"
#include "runtime/exec/range_scan.h"
#include "runtime/exec/vectors.h"
#include "src/exec/scan_internal.h"

typedef struct Arm
{
	tsurugi_source *source;
	ExprState *condition; /* A */
	bool exact;			  /* the index returns only rows for which A holds */
	tsurugi_arm_figures figures;
} Arm;

typedef struct ArmsSource
{
	tsurugi_source source;
	int count;
	int turn;
	Arm arms[FLEXIBLE_ARRAY_MEMBER];
} ArmsSource;

/* --- rows ------------------------------------------------------------------------------------ */

/* Rule 3: whether the arm whose turn it is returns the row of its batch. */
static bool
is_of_turn(ArmsSource *arms, const tsurugi_batch *batch, uint32_t at)
{
	tsurugi_scan *scan = arms->source.scan;
	Arm *arm = &arms->arms[arms->turn];
	ExprContext *context = scan->node->ss.ps.ps_ExprContext;

	CHECK_FOR_INTERRUPTS(); /* the executor does not see the rows that are left out */
	tsurugi_scan_fill_from(scan, batch, at, scan->node->ss.ss_ScanTupleSlot);
	ResetExprContext(context);
	context->ecxt_scantuple = scan->node->ss.ss_ScanTupleSlot;
	if (!arm->exact && !ExecQual(arm->condition, context))
	{
		arm->figures.left_out++;
		return false;
	}
	for (int i = 0; i < arms->turn; i++)
	{
		if (ExecQual(arms->arms[i].condition, context))
		{
			arm->figures.repeated++;
			return false;
		}
	}
	return true;
}

/* Keeps the rows of the batch that its arm returns (rule 3). */
static void
keep_rows(ArmsSource *arms, tsurugi_batch *batch)
{
	uint16_t kept[TG_RANGE_ROWS_AHEAD];
	unsigned kept_count = 0;

	if (arms->turn == 0 && arms->arms[0].exact)
		return;
	if (batch->vectors == NULL)
	{
		batch->count = is_of_turn(arms, batch, 0) ? 1 : 0;
		return;
	}
	tg_assert(batch->vectors == batch->own && batch->count <= TG_RANGE_ROWS_AHEAD);
	for (uint32_t row = 0; row < batch->count; row++)
		if (is_of_turn(arms, batch, row))
			kept[kept_count++] = (uint16_t) row;
	tg_vectors_keep(batch->own, kept, kept_count);
	batch->count = kept_count;
}

static bool
arms_next(tsurugi_source *source, tsurugi_batch *batch_out)
{
	ArmsSource *arms = (ArmsSource *) source;

	while (arms->turn < arms->count)
	{
		Arm *arm = &arms->arms[arms->turn];

		if (!arm->source->methods->next(arm->source, batch_out))
		{
			arms->turn++;
			continue;
		}
		keep_rows(arms, batch_out);
		arm->figures.rows += batch_out->count;
		if (batch_out->count > 0)
			return true;
	}
	return false;
}

/* --- all arms at once --------------------------------------------------------------------- */

static void
arms_open(tsurugi_source *source)
{
	ArmsSource *arms = (ArmsSource *) source;

	for (int i = 0; i < arms->count; i++)
		arms->arms[i].source->methods->open(arms->arms[i].source);
}

static void
arms_restart(tsurugi_source *source)
{
	ArmsSource *arms = (ArmsSource *) source;

	for (int i = 0; i < arms->count; i++)
		arms->arms[i].source->methods->restart(arms->arms[i].source);
	arms->turn = 0;
}

static void
arms_end(tsurugi_source *source)
{
	ArmsSource *arms = (ArmsSource *) source;

	for (int i = 0; i < arms->count; i++)
		arms->arms[i].source->methods->end(arms->arms[i].source);
}

static void
arms_forget_reads(tsurugi_source *source)
{
	ArmsSource *arms = (ArmsSource *) source;

	for (int i = 0; i < arms->count; i++)
		arms->arms[i].source->methods->forget_reads(arms->arms[i].source);
}

tsurugi_source *
tsurugi_arms_source_make(tsurugi_scan *scan, const List *parts, const tsurugi_scan_exprs *exprs)
{
	static const tsurugi_source_methods methods = {.open = arms_open,
												   .next = arms_next,
												   .restart = arms_restart,
												   .end = arms_end,
												   .forget_reads = arms_forget_reads};
	int count = list_length(parts);
	ArmsSource *arms = palloc0(offsetof(ArmsSource, arms) + count * sizeof(Arm));

	arms->source = (tsurugi_source){.methods = &methods, .scan = scan};
	arms->count = count;
	for (int i = 0; i < count; i++)
	{
		const tsurugi_scan_access *access = list_nth(parts, i);
		tsurugi_part_exprs own;

		tsurugi_part_exprs_get(exprs, i, &own);
		arms->arms[i].source = tsurugi_index_source_make(scan, access, own.values);
		arms->arms[i].condition = ExecInitQual(own.answered, &scan->node->ss.ps);
		arms->arms[i].exact = access->exact;
	}
	return &arms->source;
}

const tsurugi_arm_figures *
tsurugi_arms_source_figures(const tsurugi_source *source, int arm)
{
	return &((const ArmsSource *) source)->arms[arm].figures;
}
