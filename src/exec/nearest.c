/*
 * nearest.c
 *	  Scans that return the nearest rows first: ORDER BY place <-> point, by the covers of an index.
 *
 *      +-----------+
 *      |  \'--'/   |	The rows whose covers touch a box around the point are read.  The rows
 *      |  ( p )    |	that are not farther away than the box reaches are returned, in order.
 *      |  /'--'\   |	The others are found again by one of the next boxes, each of which is
 *      +-----------+	at least twice as wide.
 *
 * 1. A row that is not farther away than a box reaches has a cover that touches the box.  So no
 *	  row is missed, and no box is read that is larger than the box of the last row returned.  At
 *	  SERIALIZABLE nothing else is read either (cover_scan.c).  The distance of a point is at least
 *	  as large as either of its parts, except for rounding, and boxes are enlarged by more than
 *	  rounding (plane.c).  For figures with an extent, the operator's computation is not exact
 *	  enough to rely on (edges of polygons between huge numbers): here the distance used for a row
 *	  is never less than that of its bounding box.  The figures that every query reads (plane.c) are
 *	  read with each box.
 * 2. Rows are in the order of their distances; rows with equal distances are in the order of their
 *	  row numbers.  The rows that have been returned are all rows up to some row in this order, so
 *	  only that row has to be remembered.  A box is read again as a part of the box around it; this
 *	  is a third of all reading.
 * 3. Of a row that waits to be returned only the number is kept.  The row is read again by its
 *	  number: the snapshot sees the same version.  If these numbers are too many for work_mem, the
 *	  nearest half of them is kept.  Then the same box is read once more, from there on.
 * 4. When boxes find nothing more, everything that is left is read as one box: rows that are far
 *	  away, or infinitely far, and rows whose distance is NaN or NULL.
 * 5. A box grows if it has more than twice the rows of the last one that grew.  If it does not,
 *	  the next step is larger: the factor is squared, or only doubled as long as there are few rows,
 *	  so that a pass costs little compared with one that goes too far.  So a box that grows is
 *	  followed by at most four boxes with many rows that do not, each with at most twice its rows;
 *	  then everything is read.  Together, apart from rule 3, this reads at most 18 times all rows.
 *	  A box with a quarter of the table's rows is the last one before everything is read.  Only if
 *	  fixed columns or the index's predicate leave fewer rows can there be more boxes: twice five,
 *	  with a quarter or a half of these rows.
 *
 * The size of the first box matters for speed only.  The box should contain a dozen rows, judged by
 * the entries around the point's place in the order of the index.
 *
 * Hjaltason, Samet: Distance Browsing in Spatial Databases, 1999, traverse a tree of nested boxes
 * with a priority queue.  An ordered tree has no boxes; here a box is a few ranges of it.
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

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/txn/read.h"
#include "runtime/txn/wait.h"
#include "src/value/key_column.h"
#include "src/exec/cover_scan.h"
#include "src/exec/scan_key.h"
#include "src/txn/transaction.h"
#include "src/value/plane.h"

#define AROUND 16					 /* entries read on each side of the point, for each level */
#define FIRST_ROWS 12				 /* the first box should reach so many of them */
#define FACTOR_MAX 65536			 /* the largest factor between two boxes; rule 5 */
#define FEW_ROWS 256				 /* rule 5 */
#define WAITING_FIRST 256			 /* initial capacity, in rows */
#define WAITING_MAX ((Size) 1 << 30) /* largest capacity, whatever work_mem is */

/* A row in the order of rule 2. */
typedef struct Waiting
{
	double distance;
	uint32_t row;
	bool null; /* sorts after all distances, even NaN */
} Waiting;

typedef struct NearestSource
{
	tsurugi_source source;
	tsurugi_range_source *covers; /* the rows are read from it, one box after the other */
	Oid measure;				  /* the distance's function; the column is its first argument */
	ExprState *distance;
	ExprState *figure; /* the column's value if it has an extent; else NULL */

	bool begun;
	bool by_boxes; /* false: the point has no finite coordinates */
	bool ended;	   /* nothing is left to read */
	bool all;	   /* the box contains everything */
	Point point;
	double radius;
	double factor; /* of the next box's radius to this one's */
	uint64 grown;  /* rows of the last box that grew */
	BOX box;
	Waiting last; /* all rows up to this one have been returned */

	/* the present box */
	uint64 read; /* rows that it contained */
	Waiting *waiting;
	int capacity;
	int count;
	int next;
	bool cut;	   /* it contains more rows than were kept */
	Waiting bound; /* if so: the rows up to this one were kept */

	/* for EXPLAIN ANALYZE */
	uint64 box_count;
	uint64 row_count; /* rows in these boxes */
} NearestSource;

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

/* --- setting up ------------------------------------------------------------------------------- */

/* The type of the column from which distances are measured. */
static Oid
column_type(const NearestSource *nearest)
{
	const tsurugi_keys *keys = &nearest->covers->keys;

	return keys->index->key[keys->shape.fixed_count].type;
}

/* The smallest radius that makes a difference to a box. */
static double
radius_min(const Point *point)
{
	return EPSILON * (1 + fabs(point->x) + fabs(point->y));
}

/* Collects the distances of covers of one level around the point; returns their number. */
static int
look_around(NearestSource *nearest, unsigned char *cover, int level, Waiting *around)
{
	unsigned char covers[2 * AROUND][TSURUGI_COVER_BYTES_MAX];
	int count;

	cover[0] = TSURUGI_COVER_LEVEL(level);
	count = tsurugi_covers_around(nearest->covers, cover, AROUND, covers);
	for (int i = 0; i < count; i++)
		around[i] = (Waiting){.distance = tsurugi_plane_distance_of_cover(covers[i], &nearest->point)};
	return count;
}

/* The radius of a box with about FIRST_ROWS rows of all levels; infinite if there are no rows. */
static double
guess_radius(NearestSource *nearest)
{
	const Point *point = &nearest->point;
	uint64 levels = nearest->figure == NULL ? 1 : tsurugi_covers_present(nearest->covers);
	unsigned char cover[TSURUGI_COVER_BYTES_MAX];
	Waiting around[TSURUGI_PLANE_LEVEL_MAX * 2 * AROUND];
	int count = 0;
	double least;

	tsurugi_plane_cover(POINTOID, PointPGetDatum(point), cover);
	for (int level = 0; level < TSURUGI_PLANE_LEVEL_MAX; level++)
		if ((levels >> level & 1) != 0)
			count += look_around(nearest, cover, level, around + count);
	if (count == 0)
		return get_float8_infinity();
	sort_waiting(around, count);
	least = radius_min(point);
	return Max(around[Min(FIRST_ROWS, count) - 1].distance, least);
}

/* Makes the box of the radius; without a finite radius, the box is everything. */
static void
make_box(NearestSource *nearest)
{
	const Point *point = &nearest->point;

	nearest->all |= !isfinite(nearest->radius);
	if (nearest->all)
		return;
	nearest->box.low = (Point){point->x - nearest->radius, point->y - nearest->radius};
	nearest->box.high = (Point){point->x + nearest->radius, point->y + nearest->radius};
}

static void
begin(NearestSource *nearest)
{
	const tsurugi_scan *scan = nearest->source.scan;
	MemoryContext caller = MemoryContextSwitchTo(scan->node->ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	bool null;
	Datum from = tsurugi_key_value_of(&scan->node->ss.ps, tsurugi_keys_near_value(&nearest->covers->keys), &null);

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
		nearest->radius = guess_radius(nearest);
	make_box(nearest);
}

/* --- boxes ------------------------------------------------------------------------------------ */

/* Computes the distance of a row of a batch. */
static Waiting
measure(const NearestSource *nearest, const tsurugi_batch *batch, uint32_t at)
{
	tsurugi_scan *scan = nearest->source.scan;
	TupleTableSlot *slot = scan->node->ss.ss_ScanTupleSlot;
	ExprContext *context = scan->node->ss.ps.ps_ExprContext;
	Waiting row = {.row = batch->vectors->rows[at]};

	tsurugi_scan_fill_from(scan, batch, at, slot);
	ResetExprContext(context);
	context->ecxt_scantuple = slot;
	row.distance = DatumGetFloat8(ExecEvalExprSwitchContext(nearest->distance, context, &row.null));
	if (!row.null && nearest->figure != NULL && nearest->by_boxes)
	{
		bool null;
		Datum figure = ExecEvalExprSwitchContext(nearest->figure, context, &null);
		MemoryContext caller = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
		double least = tsurugi_plane_distance(column_type(nearest), figure, &nearest->point);

		MemoryContextSwitchTo(caller);
		row.distance = float8_max(row.distance, least);
	}
	return row;
}

/* Makes room for one more row; rule 3. */
static void
make_room(NearestSource *nearest)
{
	Size most = Min((Size) work_mem * 1024 / sizeof(Waiting), WAITING_MAX);

	if (nearest->waiting == NULL)
	{
		nearest->capacity = WAITING_FIRST;
		nearest->waiting =
			MemoryContextAlloc(nearest->source.scan->node->ss.ps.state->es_query_cxt, WAITING_FIRST * sizeof(Waiting));
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
take(NearestSource *nearest, const Waiting *row)
{
	/* false for NaN, too */
	if (!nearest->all && (row->null || !(row->distance <= nearest->radius)))
		return;
	if (compare(row, &nearest->last) <= 0)
		return;
	if (nearest->count == nearest->capacity)
		make_room(nearest);
	if (!nearest->cut || compare(row, &nearest->bound) <= 0)
		nearest->waiting[nearest->count++] = *row;
}

/* Rule 5. */
static void
choose_factor(NearestSource *nearest)
{
	if (nearest->read > 2 * nearest->grown)
	{
		nearest->grown = nearest->read;
		nearest->factor = 2;
	}
	else
		nearest->factor *= nearest->read < FEW_ROWS ? 2 : nearest->factor;
	nearest->all |=
		nearest->factor >= FACTOR_MAX || nearest->read >= tsurugi_row_count(nearest->source.scan->described->table) / 4;
}

/* Chooses the next box, when all rows of this one have been read. */
static void
widen(NearestSource *nearest)
{
	if (nearest->cut)
	{
		nearest->last = nearest->waiting[nearest->count - 1];
		nearest->cut = false;
		return;
	}
	nearest->ended = nearest->all;
	nearest->last = (Waiting){.distance = nearest->radius, .row = PG_UINT32_MAX};
	choose_factor(nearest);
	nearest->radius *= nearest->factor;
	make_box(nearest);
}

static void
read_box(NearestSource *nearest)
{
	tsurugi_source *covers = &nearest->covers->source;
	tsurugi_batch batch;

	nearest->count = nearest->next = 0;
	nearest->read = 0;
	tsurugi_covers_near(nearest->covers, nearest->measure, nearest->all ? NULL : &nearest->box);
	while (covers->methods->next(covers, &batch))
	{
		nearest->read += batch.count;
		for (uint32_t at = 0; at < batch.count; at++)
		{
			Waiting row = measure(nearest, &batch, at);

			take(nearest, &row);
		}
	}
	sort_waiting(nearest->waiting, nearest->count);
	nearest->box_count++;
	nearest->row_count += nearest->read;
	widen(nearest);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Rule 3: reads the row into the scan's cells; false: the snapshot does not see it. */
static bool
read_row(tsurugi_scan *scan, uint32_t row)
{
	for (;;)
	{
		tg_version version;
		tg_status status;
		tg_wait wait;

		tg_epoch_enter(scan->session);
		status = tg_txn_read(&scan->snapshot, scan->described->table, row, &version, &wait);
		if (status == TG_OK)
			tsurugi_scan_read_cells(scan, version);
		tg_epoch_leave(scan->session);
		if (status != TG_BUSY)
			return status == TG_OK;
		tsurugi_wait_for_outcome(&wait);
	}
}

/* Each batch is one row. */
static bool
nearest_next(tsurugi_source *source, tsurugi_batch *batch_out)
{
	NearestSource *nearest = (NearestSource *) source;

	if (!nearest->begun)
		begin(nearest);
	for (;;)
	{
		while (nearest->next < nearest->count)
		{
			uint32_t row = nearest->waiting[nearest->next++].row;

			if (!read_row(source->scan, row))
				continue;
			*batch_out = (tsurugi_batch){.count = 1, .row = row};
			return true;
		}
		if (nearest->ended)
			return false;
		read_box(nearest);
	}
}

/* --- its life --------------------------------------------------------------------------------- */

static void
nearest_open(tsurugi_source *source)
{
	tsurugi_source *covers = &((NearestSource *) source)->covers->source;

	covers->methods->open(covers);
}

static void
forget(NearestSource *nearest)
{
	nearest->begun = false;
	nearest->ended = false;
	nearest->count = nearest->next = 0;
}

static void
nearest_restart(tsurugi_source *source)
{
	NearestSource *nearest = (NearestSource *) source;

	forget(nearest);
	nearest->covers->source.methods->restart(&nearest->covers->source);
}

static void
nearest_end(tsurugi_source *source)
{
	NearestSource *nearest = (NearestSource *) source;

	forget(nearest);
	nearest->covers->source.methods->end(&nearest->covers->source);
}

static void
nearest_forget_reads(tsurugi_source *source)
{
	tsurugi_source *covers = &((NearestSource *) source)->covers->source;

	covers->methods->forget_reads(covers);
}

tsurugi_source *
tsurugi_nearest_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access, const tsurugi_scan_exprs *exprs)
{
	static const tsurugi_source_methods methods = {.open = nearest_open,
												   .next = nearest_next,
												   .restart = nearest_restart,
												   .end = nearest_end,
												   .forget_reads = nearest_forget_reads};
	NearestSource *nearest = palloc0(sizeof(*nearest));
	OpExpr *distance = castNode(OpExpr, exprs->distance);
	bool commuted = equal(linitial(distance->args), llast(exprs->values));
	Expr *column = commuted ? lsecond(distance->args) : linitial(distance->args);

	nearest->source = (tsurugi_source){.methods = &methods, .scan = scan};
	nearest->covers = tsurugi_cover_source_make(scan, access, exprs->values);
	nearest->measure = get_opcode(commuted ? get_commutator(distance->opno) : distance->opno);
	nearest->distance = ExecInitExpr((Expr *) distance, &scan->node->ss.ps);
	if (column_type(nearest) != POINTOID)
		nearest->figure = ExecInitExpr(column, &scan->node->ss.ps);
	return &nearest->source;
}

void
tsurugi_nearest_source_figures(const tsurugi_source *source, uint64 *rows_out, uint64 *boxes_out)
{
	const NearestSource *nearest = (const NearestSource *) source;

	*rows_out = nearest->row_count;
	*boxes_out = nearest->box_count;
}
