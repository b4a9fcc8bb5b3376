/*
 * or_scan.c
 *	  Scans by several indexes, one after the other, for the arms of an OR.
 *
 *	a = 1 OR (b > 2 AND c = 3) OR tags @> '{4}'
 *	└ 1 ┘     └ 2 ┘               └──── 3 ────┘
 *
 * For each arm there is a source of its own, by key or by ranges.  A row that several arms find is handed up
 * once: there is no set of rows seen, but each arm has conditions that say which rows its index has, and the row in hand is
 * asked whether an earlier arm's hold for it.
 *
 * Let S be the rows that an arm's source brings, A its conditions, and R the rows for which all other conditions
 * of the plan hold.
 *
 * 1. What the OR holds for is in some A (fdw_or.c): the index is asked for a part of what the arm says.
 * 2. A and R together are within S.  An index that is exact brings no others of R; for others A is evaluated.
 * 3. A row is handed up by an arm if A holds for it, and that of no earlier arm.  So of R each row for which some A holds is
 *	  handed up once, by the first of these arms.
 * 4. Whether A holds is a question about the version that the snapshot sees, and all arms have one snapshot, or one
 *	  that has been renewed, of which everything read so far is the same (isolation.c); who can not be sure of that starts all
 *	  over.  A has no volatile function.  So all arms give the same answer, whoever changes the row meanwhile, this
 *	  statement not excepted.
 *
 * Whatever of the OR is not in the conditions of arms is evaluated by the executor on what is handed up, once, and all of it
 * on newer versions.
 *
 * SERIALIZABLE: what was read is what the arms have read; who writes a row that the OR holds for, by whichever arm, writes into one of these ranges.
 */
#include "postgres.h"

#include "src/exec/or_scan.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "src/exec/scan_internal.h"

typedef struct Arm
{
	tsurugi_source *source;
	ExprState *condition; /* A */
	bool exact;			  /* the index leaves out the rows that it does not hold for */
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

/* Rule 3, of a row of the batch of the arm whose turn it is. */
static bool
is_of_turn(ArmsSource *arms, const tsurugi_batch *batch, uint32_t at)
{
	tsurugi_scan *scan = arms->source.scan;
	Arm *arm = &arms->arms[arms->turn];
	ExprContext *context = scan->node->ss.ps.ps_ExprContext;

	CHECK_FOR_INTERRUPTS(); /* of what is left out the executor is told nothing */
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

/* Leaves the rows in the arm's batch that are its. */
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
	Assert(batch->vectors == batch->own && batch->count <= TG_RANGE_ROWS_AHEAD);
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
