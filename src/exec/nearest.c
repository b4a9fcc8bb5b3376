/*
 * nearest.c
 *	  Scans that bring the nearest rows first: ORDER BY place <-> point, by the covers of an index.
 *
 *	      +-----------+
 *	      |  \'--'/   |		the rows whose covers touch a box around the point are read; those that are not farther than the box
 *	      |  ( p )    |		reaches are handed out, in order; the others come back
 *	      |  /'--'\   |		with one of the next boxes, each at least twice as wide
 *	      +-----------+
 *
 * 1. A row that is not farther than a box reaches has a cover that touches it.  So none is missed, and no box larger than
 *	  that of the last row handed out was read: at SERIALIZABLE nothing else was, either (cover_scan.c).
 *	  Of points the distance is as large as either of its parts, rounding aside, and boxes are enlarged by more than that
 *	  (plane.c).  For what extends, how the operator computes it is not to be relied on that far (edges of polygons between huge
 *	  numbers): here a row's distance is never less than that of its bounding box.
 *	  What is read whatever is asked for (plane.c) is there with each box.
 * 2. Rows are in order of their distances, and of their numbers among equal ones.  What was handed out is all up to some row in this order, so
 *	  that is all that is to be remembered of it: a box is read again with the one around it, a third of what is read altogether.
 * 3. Of a row that waits to be handed out there is the number, and it is read again by that: it is what the snapshot sees of it.
 *	  If these are too many for work_mem, the nearest half of them is kept, then the same box is read once more, from there on.
 * 4. When boxes find nothing more, whatever is left is read as one: what is far away, or infinitely far, no number, or NULL.
 * 5. A box has more than twice the rows of the last one that grew, or it does not grow, and the next one is wider by more: by the square of the factor, or, as long as
 *	  there are few rows, so that a pass costs little beside one that goes too far, by twice the factor.  So behind one that grows there are at most four with
 *	  many rows that do not, each with at most twice its rows, then all there is: together, rule 3 aside, at most 18 times all there is.  A box with
 *	  a quarter of the table's rows is the last before all there is; only where columns that are fixed, or what the index is of, leave less are there more:
 *	  five times two with a quarter or a half of it.
 *
 * How large the first box is makes no difference but for speed.  It is to have a dozen rows in it, by what is around the place of the point in the
 * order of the index.
 *
 * Hjaltason, Samet: Distance Browsing in Spatial Databases, 1999, walk a tree of nested boxes by a queue of what is near; an ordered tree
 * has no boxes, and here a box is a few ranges of it.
 */
#include "postgres.h"

#include "src/exec/nearest.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/exec/cover_scan.h"
#include "src/exec/scan_key.h"
#include "src/txn/transaction.h"
#include "src/value/plane.h"

#define AROUND 16					 /* entries looked at on either side of the point, of each level of covers */
#define FIRST_ROWS 12				 /* of them the first box is to reach */
#define FACTOR_MAX 65536			 /* of two boxes; rule 5 */
#define FEW_ROWS 256				 /* the same */
#define WAITING_FIRST 256			 /* rows that there is room for at first, */
#define WAITING_MAX ((Size) 1 << 30) /* and at the most, whatever work_mem */

/* A row in the order of rule 2. */
typedef struct Waiting
{
	double distance;
	uint32_t row;
	bool null; /* behind all distances, even those that are no number */
} Waiting;

struct tsurugi_nearest
{
	Oid measure;				   /* the function of the distance, the column's side first */
	const tsurugi_key_value *from; /* what is to be near, in the scan */
	ExprState *distance;
	ExprState *figure; /* of what extends: the column's value; else NULL */

	bool begun;
	bool by_boxes; /* else the point has no place */
	bool ended;	   /* nothing is left to be read */
	bool all;	   /* the box is all there is */
	Point point;
	double radius;
	double factor; /* to the next one */
	uint64 grown;  /* rows of the last box that grew */
	BOX box;
	Waiting last; /* all up to this one were handed out */

	/* of the box: */
	uint64 read; /* rows */
	Waiting *waiting;
	int capacity;
	int count;
	int next;
	bool cut;	   /* there were more */
	Waiting bound; /* if so: those up to this one are there */
};

/* --- order ----------------------------------------------------------------------------------- */

static int
compare(const Waiting *a, const Waiting *b)
{
	if (a->null != b->null)
		return a->null ? 1 : -1;
	if (!a->null && !float8_eq(a->distance, b->distance))
		return float8_gt(a->distance, b->distance) ? 1 : -1;
	return (a->row > b->row) - (a->row < b->row);
}

#define ST_SORT sort_waiting
#define ST_ELEMENT_TYPE Waiting
#define ST_COMPARE(a, b) compare(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#include "lib/sort_template.h"

/* --- setting up -------------------------------------------------------------------------------- */

void
tsurugi_nearest_init(tsurugi_scan *scan, const tsurugi_scan_exprs *exprs)
{
	tsurugi_nearest *nearest = palloc0(sizeof(*nearest));
	OpExpr *distance = castNode(OpExpr, exprs->distance);
	bool commuted = equal(linitial(distance->args), llast(exprs->values));
	Expr *column = commuted ? lsecond(distance->args) : linitial(distance->args);

	scan->nearest = nearest;
	nearest->measure = get_opcode(commuted ? get_commutator(distance->opno) : distance->opno);
	nearest->from = tsurugi_scan_near_value(scan);
	nearest->distance = ExecInitExpr((Expr *) distance, &scan->node->ss.ps);
	if (scan->index->key[scan->shape.fixed_count].type != POINTOID)
		nearest->figure = ExecInitExpr(column, &scan->node->ss.ps);
}

void
tsurugi_nearest_forget(tsurugi_scan *scan)
{
	scan->nearest->begun = false;
	scan->nearest->ended = false;
	scan->nearest->count = scan->nearest->next = 0;
}

/* Less than this makes no difference to a box. */
static double
radius_min(const Point *point)
{
	return EPSILON * (1 + fabs(point->x) + fabs(point->y));
}

/* Distances of what is around the point, of a level; how many. */
static int
look_around(tsurugi_scan *scan, unsigned char *cover, int level, Waiting *around)
{
	unsigned char covers[2 * AROUND][TSURUGI_COVER_BYTES_MAX];
	int count;

	cover[0] = TSURUGI_COVER_LEVEL(level);
	count = tsurugi_covers_around(scan, cover, AROUND, covers);
	for (int i = 0; i < count; i++)
		around[i] = (Waiting){.distance = tsurugi_plane_distance_of_cover(covers[i], &scan->nearest->point)};
	return count;
}

/* That of a box with about FIRST_ROWS rows, of all levels; infinite if there are none. */
static double
guess_radius(tsurugi_scan *scan)
{
	const Point *point = &scan->nearest->point;
	uint64 levels = scan->nearest->figure == NULL ? 1 : tsurugi_covers_present(scan);
	unsigned char cover[TSURUGI_COVER_BYTES_MAX];
	Waiting around[TSURUGI_PLANE_LEVEL_MAX * 2 * AROUND];
	int count = 0;

	tsurugi_plane_cover(POINTOID, PointPGetDatum(point), cover);
	for (int level = 0; level < TSURUGI_PLANE_LEVEL_MAX; level++)
		if ((levels >> level & 1) != 0)
			count += look_around(scan, cover, level, around + count);
	if (count == 0)
		return get_float8_infinity();
	sort_waiting(around, count);
	return Max(around[Min(FIRST_ROWS, count) - 1].distance, radius_min(point));
}

/* The box of the radius; or, if it has none, all there is. */
static void
make_box(tsurugi_nearest *nearest)
{
	const Point *point = &nearest->point;

	nearest->all |= !isfinite(nearest->radius);
	if (nearest->all)
		return;
	nearest->box.low = (Point){point->x - nearest->radius, point->y - nearest->radius};
	nearest->box.high = (Point){point->x + nearest->radius, point->y + nearest->radius};
}

static void
begin(tsurugi_scan *scan)
{
	tsurugi_nearest *nearest = scan->nearest;
	ExprContext *context = scan->node->ss.ps.ps_ExprContext;
	MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	bool null;
	Datum from = tsurugi_scan_value_of(scan, nearest->from, &null);

	if (!null)
		nearest->point = *DatumGetPointP(from);
	MemoryContextSwitchTo(caller);
	nearest->begun = true;
	nearest->by_boxes = !null && isfinite(nearest->point.x) && isfinite(nearest->point.y);
	nearest->all = !nearest->by_boxes;
	nearest->last = (Waiting){.distance = -1};
	nearest->factor = 2;
	nearest->grown = 0;
	nearest->cut = false;
	if (nearest->by_boxes)
		nearest->radius = guess_radius(scan);
	make_box(nearest);
}

/* --- boxes --------------------------------------------------------------------------------------- */

/* The current row's. */
static Waiting
measure(tsurugi_scan *scan)
{
	const tsurugi_nearest *nearest = scan->nearest;
	TupleTableSlot *slot = scan->node->ss.ss_ScanTupleSlot;
	ExprContext *context = scan->node->ss.ps.ps_ExprContext;
	Waiting row = {.row = scan->row};

	tsurugi_scan_fill(scan, slot);
	ResetExprContext(context);
	context->ecxt_scantuple = slot;
	row.distance = DatumGetFloat8(ExecEvalExprSwitchContext(nearest->distance, context, &row.null));
	if (!row.null && nearest->figure != NULL && nearest->by_boxes)
	{
		bool null;
		Datum figure = ExecEvalExprSwitchContext(nearest->figure, context, &null);
		MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
		double least = tsurugi_plane_distance(scan->index->key[scan->shape.fixed_count].type, figure, &nearest->point);

		MemoryContextSwitchTo(caller);
		row.distance = float8_max(row.distance, least);
	}
	return row;
}

/* Room for one more; rule 3. */
static void
make_room(tsurugi_scan *scan)
{
	tsurugi_nearest *nearest = scan->nearest;
	Size most = Min((Size) work_mem * 1024 / sizeof(Waiting), WAITING_MAX);

	if (nearest->waiting == NULL)
	{
		nearest->capacity = WAITING_FIRST;
		nearest->waiting = MemoryContextAlloc(scan->node->ss.ps.state->es_query_cxt, WAITING_FIRST * sizeof(Waiting));
	}
	else if ((Size) nearest->capacity * 2 <= most)
	{
		nearest->capacity *= 2;
		nearest->waiting = repalloc_huge(nearest->waiting, (Size) nearest->capacity * sizeof(Waiting));
	}
	else
	{
		sort_waiting(nearest->waiting, nearest->count);
		nearest->count /= 2;
		nearest->bound = nearest->waiting[nearest->count - 1];
		nearest->cut = true;
	}
}

static void
take(tsurugi_scan *scan, const Waiting *row)
{
	tsurugi_nearest *nearest = scan->nearest;

	/* false also of what is no number */
	if (!nearest->all && (row->null || !(row->distance <= nearest->radius)))
		return;
	if (compare(row, &nearest->last) <= 0)
		return;
	if (nearest->count == nearest->capacity)
		make_room(scan);
	if (!nearest->cut || compare(row, &nearest->bound) <= 0)
		nearest->waiting[nearest->count++] = *row;
}

/* Rule 5. */
static void
choose_factor(tsurugi_scan *scan)
{
	tsurugi_nearest *nearest = scan->nearest;

	if (nearest->read > 2 * nearest->grown)
	{
		nearest->grown = nearest->read;
		nearest->factor = 2;
	}
	else
		nearest->factor *= nearest->read < FEW_ROWS ? 2 : nearest->factor;
	nearest->all |= nearest->factor >= FACTOR_MAX || nearest->read >= tsurugi_row_count(scan->described->table) / 4;
}

/* What the next box is to be, once all of this one are known. */
static void
widen(tsurugi_scan *scan)
{
	tsurugi_nearest *nearest = scan->nearest;

	if (nearest->cut)
	{
		nearest->last = nearest->waiting[nearest->count - 1];
		nearest->cut = false;
		return;
	}
	nearest->ended = nearest->all;
	nearest->last = (Waiting){.distance = nearest->radius, .row = PG_UINT32_MAX};
	choose_factor(scan);
	nearest->radius *= nearest->factor;
	make_box(nearest);
}

static void
read_box(tsurugi_scan *scan)
{
	tsurugi_nearest *nearest = scan->nearest;

	nearest->count = nearest->next = 0;
	nearest->read = 0;
	tsurugi_covers_near(scan, nearest->measure, nearest->all ? NULL : &nearest->box);
	tsurugi_scan_again(scan);
	while (tsurugi_scan_read_batch(scan))
	{
		nearest->read += scan->count;
		while (scan->position < scan->count)
		{
			Waiting row;

			scan->row = scan->vectors->rows[scan->position++];
			row = measure(scan);
			take(scan, &row);
		}
	}
	sort_waiting(nearest->waiting, nearest->count);
	scan->figures.boxes++;
	scan->figures.rows += nearest->read;
	widen(scan);
}

bool
tsurugi_nearest_next(tsurugi_scan *scan)
{
	tsurugi_nearest *nearest = scan->nearest;

	if (!nearest->begun)
		begin(scan);
	for (;;)
	{
		while (nearest->next < nearest->count)
		{
			scan->row = nearest->waiting[nearest->next++].row;
			if (tsurugi_scan_read_row(scan))
			{
				scan->position = 0;
				scan->count = 1;
				return true;
			}
		}
		if (nearest->ended)
			break;
		read_box(scan);
	}
	scan->position = scan->count = 0;
	return false;
}
