/*
 * or_scan.c
 *	  Scans by several indexes, one after the other, for the arms of an OR.
 *
 *	a = 1 OR (b > 2 AND c = 3) OR tags @> '{4}'
 *	└ 1 ┘     └ 2 ┘               └──── 3 ────┘
 *
 * For each arm there is a scan of its own, by key or by ranges.  A row that several arms find is handed up
 * once: there is no set of rows seen, but each arm has conditions that say which rows its index has, and the row in hand is
 * asked whether an earlier arm's hold for it.
 *
 * Let S be the rows that an arm's scan brings, A its conditions, and R the rows for which all other conditions
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

typedef struct Arm
{
	tsurugi_scan *scan;
	ExprState *condition; /* A */
	bool exact;			  /* the index leaves out the rows that it does not hold for */
	tsurugi_arm_figures figures;
} Arm;

struct tsurugi_arms
{
	int count;
	int turn;
	Arm arms[FLEXIBLE_ARRAY_MEMBER];
};

/* The columns are those of the whole. */
static tsurugi_scan *
make_arm(const tsurugi_scan *whole, const tsurugi_scan_access *access, const List *values)
{
	tsurugi_scan *scan = palloc(sizeof(tsurugi_scan));

	*scan = *whole;
	tsurugi_scan_init_index(scan, access, values);
	return scan;
}

void
tsurugi_arms_init(tsurugi_scan *scan, const List *parts, const tsurugi_scan_exprs *exprs)
{
	int count = list_length(parts);
	tsurugi_arms *arms = palloc0(offsetof(tsurugi_arms, arms) + count * sizeof(Arm));

	for (int i = 0; i < count; i++)
	{
		const tsurugi_scan_access *access = list_nth(parts, i);
		tsurugi_part_exprs own;

		tsurugi_part_exprs_get(exprs, i, &own);
		arms->arms[i].scan = make_arm(scan, access, own.values);
		arms->arms[i].condition = ExecInitQual(own.answered, &scan->node->ss.ps);
		arms->arms[i].exact = access->exact;
	}
	arms->count = count;
	scan->arms = arms;
}

void
tsurugi_arms_start(tsurugi_scan *scan)
{
	for (int i = 0; i < scan->arms->count; i++)
		tsurugi_scan_start(scan->arms->arms[i].scan);
}

/* --- rows ------------------------------------------------------------------------------------ */

/* Rule 3, of the row that is the scan's current one. */
static bool
is_of_turn(tsurugi_scan *scan)
{
	tsurugi_arms *arms = scan->arms;
	Arm *arm = &arms->arms[arms->turn];
	ExprContext *context = scan->node->ss.ps.ps_ExprContext;

	CHECK_FOR_INTERRUPTS(); /* of what is left out the executor is told nothing */
	tsurugi_scan_fill(scan, scan->node->ss.ss_ScanTupleSlot);
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

/* Takes the rows of the arm's batch that are its; how many. */
static uint32_t
take_batch(tsurugi_scan *scan, tsurugi_scan *from)
{
	uint16_t kept[TG_RANGE_ROWS_AHEAD];
	unsigned kept_count = 0;

	scan->row = from->row;
	scan->vectors = from->vectors;
	if (scan->arms->turn == 0 && scan->arms->arms[0].exact)
		return from->count;
	if (scan->vectors == NULL)
		return is_of_turn(scan) ? 1 : 0;
	Assert(from->vectors == from->own && from->count <= TG_RANGE_ROWS_AHEAD);
	for (uint32_t row = 0; row < from->count; row++)
	{
		scan->row = scan->vectors->rows[row];
		scan->position = row + 1;
		if (is_of_turn(scan))
			kept[kept_count++] = (uint16_t) row;
	}
	tg_vectors_keep(from->own, kept, kept_count);
	return kept_count;
}

bool
tsurugi_arms_next_batch(tsurugi_scan *scan)
{
	tsurugi_arms *arms = scan->arms;
	uint32_t count = 0;

	while (arms->turn < arms->count && count == 0)
	{
		Arm *arm = &arms->arms[arms->turn];

		if (!tsurugi_scan_next_batch(arm->scan))
		{
			arms->turn++;
			continue;
		}
		/* by which it was read: at the beginning of a source it may be renewed */
		scan->snapshot = arm->scan->snapshot;
		count = take_batch(scan, arm->scan);
		arm->figures.rows += count;
	}
	scan->position = 0;
	scan->count = count;
	return count > 0;
}

/* --- all arms at once --------------------------------------------------------------------- */

void
tsurugi_arms_restart(tsurugi_scan *scan)
{
	for (int i = 0; i < scan->arms->count; i++)
		tsurugi_scan_restart(scan->arms->arms[i].scan);
	scan->arms->turn = 0;
}

void
tsurugi_arms_end(tsurugi_scan *scan)
{
	for (int i = 0; i < scan->arms->count; i++)
		tsurugi_scan_end(scan->arms->arms[i].scan);
}

void
tsurugi_arms_forget(tsurugi_scan *scan)
{
	for (int i = 0; i < scan->arms->count; i++)
		tsurugi_scan_forget(scan->arms->arms[i].scan);
}

const tsurugi_arm_figures *
tsurugi_arms_figures(const tsurugi_scan *scan, int arm)
{
	return &scan->arms->arms[arm].figures;
}
