/*
 * outward.c
 *	  Scans of an index in its order, from a value outwards: ORDER BY number <-> 7.
 *
 *	   1   2   4   6   7   7  12  13  NULL
 *	<──────────── b │ a ──────────────────>
 *
 * Two scans of ranges begin at the value, one goes up from it and one goes down below it, and of their next rows the nearer one is handed out.
 *
 * 1. On its way neither comes to a row that is nearer than the last one (line.c).  NULLs have no distance, are behind all others, and
 *	  at the upper end of the index.
 * 2. What bounds the column bounds either side.
 * 3. From NULL all are equally far: up is everything, down is nothing.
 *
 * SERIALIZABLE: either side notes its own range, as far as it has been read: a batch farther than the last row.
 */
#include "postgres.h"

#include "src/exec/outward.h"

#include "executor/executor.h"

#include "src/exec/scan_key.h"
#include "src/value/line.h"

typedef enum Direction
{
	UP,
	DOWN,
	DIRECTION_COUNT
} Direction;

typedef struct Side
{
	tsurugi_scan *scan;
	bool ended;
	uint128 distance; /* of the scan's current row */
} Side;

struct tsurugi_outward
{
	tsurugi_line line;
	ExprState *place;		 /* the column's value */
	tsurugi_line_place from; /* that it is to be near to */
	bool from_null;
	bool begun;
	Direction last; /* whose row was handed out */
	Side sides[DIRECTION_COUNT];
};

/* The columns are those of the whole. */
static tsurugi_scan *
make_side(tsurugi_scan *whole, const List *values, Direction direction)
{
	tsurugi_scan *scan = palloc(sizeof(tsurugi_scan));

	*scan = *whole;
	scan->nearest = NULL;
	scan->shape.backward = direction == DOWN;
	tsurugi_scan_init_index(scan, values, NIL);
	return scan;
}

tsurugi_outward *
tsurugi_outward_make(tsurugi_scan *scan, ForeignScan *plan, Expr *place, Oid measure)
{
	tsurugi_outward *outward = palloc0(sizeof(*outward));

	tsurugi_line_init(&outward->line, measure, scan->index->key[scan->shape.fixed_count].type);
	outward->place = ExecInitExpr(place, &scan->node->ss.ps);
	for (Direction direction = UP; direction < DIRECTION_COUNT; direction++)
		outward->sides[direction].scan = make_side(scan, plan->fdw_exprs, direction);
	return outward;
}

void
tsurugi_outward_forget(tsurugi_outward *outward)
{
	for (Direction direction = UP; direction < DIRECTION_COUNT; direction++)
		tsurugi_scan_restart(outward->sides[direction].scan);
	outward->begun = false;
}

/* Of the current row of a side. */
static uint128
measure(tsurugi_outward *outward, tsurugi_scan *scan)
{
	TupleTableSlot *slot = scan->node->ss.ss_ScanTupleSlot;
	ExprContext *context = scan->node->ss.ps.ps_ExprContext;
	tsurugi_line_place place;
	Datum value;
	bool null;

	tsurugi_scan_fill(scan, slot);
	ResetExprContext(context);
	context->ecxt_scantuple = slot;
	value = ExecEvalExprSwitchContext(outward->place, context, &null);
	if (null || outward->from_null)
		return TSURUGI_LINE_NOWHERE;
	place = tsurugi_line_place_of(outward->line.type, value);
	return tsurugi_line_distance(&outward->line, &place, &outward->from);
}

static void
step(tsurugi_outward *outward, Side *side)
{
	side->ended = !tsurugi_scan_next(side->scan);
	if (!side->ended)
		side->distance = measure(outward, side->scan);
}

static void
begin(tsurugi_outward *outward, const tsurugi_scan *scan)
{
	MemoryContext caller = MemoryContextSwitchTo(scan->node->ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	Datum from = tsurugi_scan_value_of(outward->sides[UP].scan, tsurugi_scan_near_value(scan), &outward->from_null);

	if (!outward->from_null)
		outward->from = tsurugi_line_place_of(outward->line.type, from);
	MemoryContextSwitchTo(caller);
	for (Direction direction = UP; direction < DIRECTION_COUNT; direction++)
	{
		Side *side = &outward->sides[direction];

		side->scan->snapshot = scan->snapshot;
		side->scan->stored = scan->stored;
		step(outward, side);
	}
	outward->begun = true;
}

/* What the whole has of a side's scan: its batch, of which the current row is next. */
static void
hand_out(tsurugi_scan *scan, const tsurugi_scan *from)
{
	/* by which it was read: at the beginning of a source it may be renewed */
	scan->snapshot = from->snapshot;
	scan->vectors = from->vectors;
	scan->position = from->position - 1;
	scan->count = from->position;
}

bool
tsurugi_outward_next(tsurugi_outward *outward, tsurugi_scan *scan)
{
	const Side *up = &outward->sides[UP];
	const Side *down = &outward->sides[DOWN];

	if (!outward->begun)
		begin(outward, scan);
	else if (!outward->sides[outward->last].ended)
		step(outward, &outward->sides[outward->last]);
	scan->figures.started = true;
	scan->figures.batches = up->scan->figures.batches + down->scan->figures.batches;
	if (up->ended && down->ended)
		return false;
	outward->last = down->ended || (!up->ended && up->distance <= down->distance) ? UP : DOWN;
	hand_out(scan, outward->sides[outward->last].scan);
	return true;
}
