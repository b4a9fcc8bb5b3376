/*
 * plane.c
 *	  Covers of figures: points, boxes, circles, polygons.
 *
 * This is XZ-ordering (Böhm, Klump, Kriegel: XZ-Ordering: A Space-Filling Curve for Objects with
 * Spatial Extension, 1999) in two dimensions, as in cover.c in one: a figure's bounding box is
 * stored by its size and its lower left corner.
 *
 *	level	the least L with width < 4^L and height < 4^L
 *	corner	x and y, in Z-order (corner.c)
 *
 * In the paper a corner is known only by the cell of the figure's size; here it is stored
 * completely.  So figures of level L that touch [a, b] have, in each dimension, their low end in
 * (a - 4^L, b], and not in a cell or two more.
 *
 * So a query is a rectangle of corners, a window, for each level that exists.  A reader of an index
 * that meets a key outside of its window continues at the next key that would be inside.  It need
 * not know which covers exist: there is at most one look-up for each leaf (as in Ramsak, Markl,
 * Fenk and others: Integrating the UB-Tree into a Database System Kernel, 2000, except that entries
 * of one leaf are skipped one by one, too).  A transaction that must tell what it has read, or will
 * read, has the window cut into ranges of keys (corner.c, which also defines the numbers of
 * coordinates).
 *
 * Some figures have a level of their own, which every query reads, because the result of an
 * operator on them depends on how it computes: figures with a coordinate that is not a number (or,
 * for polygons, not finite), circles with a negative radius (the type's input refuses them,
 * circle(point, radius) does not), and circles so large that EPSILON is lost in them.  All
 * operators treat differences below EPSILON as equality, and round; so a query is enlarged by more
 * than that.
 */
#include "postgres.h"

#include "src/value/plane.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "port/pg_bitutils.h"
#include "utils/float.h"

#include "runtime/base/check.h"
#include "src/value/plane_operator.h"

#define NUMBER_MAX TSURUGI_CORNER_MAX
#define LEVEL_LAST (TSURUGI_CORNER_BITS / 2) /* of figures: 4^22 is all of a dimension */
#define LEVEL_ODD TSURUGI_PLANE_LEVEL_MAX
/*
 * On this level and above are all figures 2^32 times as large as a point's distances from them and
 * from 0.
 */
#define LEVEL_HUGE 20
#define SLACK (4 * EPSILON)
#define CIRCLE_MAX 1e9 /* operators on larger ones are less exact than that */
#define RANGES_OF_LEVEL 48

_Static_assert(LEVEL_ODD == LEVEL_LAST + 1, "levels are counted");
_Static_assert(TSURUGI_COVER_RANGES_MAX >= 6 * (LEVEL_ODD + 1), "some ranges of keys for each level");

/* An interval along one axis. */
typedef struct Side
{
	double low;
	double high;
} Side;

/* A bounding box. */
typedef struct Figure
{
	bool odd;
	Side side[2];
} Figure;

/* --- figures -------------------------------------------------------------------------------- */

bool
tsurugi_plane_has(Oid type)
{
	return type == POINTOID || type == BOXOID || type == CIRCLEOID || type == POLYGONOID;
}

static void
set_sides(Figure *figure, const Point *low, const Point *high)
{
	figure->side[0] = (Side){low->x, high->x};
	figure->side[1] = (Side){low->y, high->y};
}

static void
set_circle(Figure *figure, const CIRCLE *circle)
{
	const Point low = {circle->center.x - circle->radius, circle->center.y - circle->radius};
	const Point high = {circle->center.x + circle->radius, circle->center.y + circle->radius};

	set_sides(figure, &low, &high);
	figure->odd = !(fabs(circle->center.x) + fabs(circle->center.y) + circle->radius <= CIRCLE_MAX);
}

/* The bounding box does not tell which points are not numbers. */
static void
set_polygon(Figure *figure, const POLYGON *polygon)
{
	set_sides(figure, &polygon->boundbox.low, &polygon->boundbox.high);
	for (int i = 0; i < polygon->npts; i++)
		figure->odd |= !isfinite(polygon->p[i].x) || !isfinite(polygon->p[i].y);
}

static Figure
figure_of(Oid type, Datum value)
{
	Figure figure = {0};

	switch (type)
	{
		case POINTOID:
			set_sides(&figure, DatumGetPointP(value), DatumGetPointP(value));
			break;
		case BOXOID:
			set_sides(&figure, &DatumGetBoxP(value)->low, &DatumGetBoxP(value)->high);
			break;
		case CIRCLEOID:
			set_circle(&figure, DatumGetCircleP(value));
			break;
		default:
			set_polygon(&figure, DatumGetPolygonP(value));
			break;
	}
	for (int i = 0; i < 2; i++)
		figure.odd |= !(figure.side[i].low <= figure.side[i].high);
	return figure;
}

static uint64
reach_of(int level)
{
	return (UINT64CONST(1) << 2 * level) - 1;
}

void
tsurugi_plane_cover(Oid type, Datum value, unsigned char *cover)
{
	Figure figure = figure_of(type, value);
	uint64 low[2] = {0};
	uint64 size = 0;

	for (int i = 0; i < 2 && !figure.odd; i++)
	{
		uint64 high;

		low[i] = tsurugi_corner_number(figure.side[i].low);
		high = tsurugi_corner_number(figure.side[i].high);
		size = Max(size, high - low[i]);
	}
	tg_assert(size <= NUMBER_MAX);
	tsurugi_corner_key(cover, figure.odd ? LEVEL_ODD : size == 0 ? 0 : pg_leftmost_one_pos64(size) / 2 + 1, low);
}

/* --- queries --------------------------------------------------------------------------------- */

/* The limits of a figure's ends along one axis; both limits are included. */
typedef struct Bounds
{
	uint64 low_from;
	uint64 low_to;
	uint64 high_from;
	uint64 high_to;
} Bounds;

/* A number slightly below the end, or slightly above it. */
static uint64
down(double end, double slack)
{
	double value = end - slack;

	return isnan(value) ? 0 : tsurugi_corner_number(value);
}

static uint64
up(double end, double slack)
{
	double value = end + slack;

	return isnan(value) ? NUMBER_MAX : tsurugi_corner_number(value);
}

/* placement: one that concerns this axis, named as for x. */
static Bounds
bounds_of(tsurugi_placement placement, const Side *asked)
{
	Bounds bounds = {.low_from = 0, .low_to = NUMBER_MAX, .high_from = 0, .high_to = NUMBER_MAX};
	double slack = SLACK * (1 + fabs(asked->low) + fabs(asked->high));

	if (placement == TSURUGI_PLACE_WITHIN || placement == TSURUGI_PLACE_SAME || placement == TSURUGI_PLACE_OVERRIGHT)
		bounds.low_from = down(asked->low, slack);
	if (placement == TSURUGI_PLACE_CONTAINS || placement == TSURUGI_PLACE_SAME)
	{
		bounds.low_to = up(asked->low, slack);
		bounds.high_from = down(asked->high, slack);
	}
	if (placement == TSURUGI_PLACE_WITHIN || placement == TSURUGI_PLACE_SAME || placement == TSURUGI_PLACE_OVERLEFT)
		bounds.high_to = up(asked->high, slack);
	if (placement == TSURUGI_PLACE_TOUCHES || placement == TSURUGI_PLACE_NEAR)
	{
		bounds.low_to = up(asked->high, slack);
		bounds.high_from = down(asked->low, slack);
	}
	if (placement == TSURUGI_PLACE_LEFT)
		bounds.high_to = up(asked->low, slack);
	if (placement == TSURUGI_PLACE_RIGHT)
		bounds.low_from = down(asked->high, slack);
	return bounds;
}

/* The low ends of those figures of a level that may match.  False: there is none. */
static bool
corners_of_level(const Bounds *bounds, int level, uint64 *from_out, uint64 *to_out)
{
	uint64 reach = reach_of(level);

	*from_out = Max(bounds->low_from, bounds->high_from - Min(bounds->high_from, reach));
	*to_out = Min(bounds->low_to, bounds->high_to);
	return *from_out <= *to_out;
}

/* Whether figures of that size can lie between the bounds. */
static bool
is_level_possible(const Bounds *bounds, int level)
{
	uint64 size = 0;

	for (int i = 0; i < 2; i++)
		size = Max(size, bounds[i].high_to - Min(bounds[i].high_to, bounds[i].low_from));
	return level == 0 || size > reach_of(level - 1);
}

/* --- windows ---------------------------------------------------------------------------------- */

typedef tsurugi_rectangle Rectangle;

/* The bounds for each axis.  False: the operator says nothing about the place of a figure. */
static bool
bounds_asked(Oid function, Oid value_type, Datum value, Bounds *bounds)
{
	tsurugi_placement placement = tsurugi_placement_of(function);
	Figure asked = figure_of(value_type, value);
	bool above = placement >= TSURUGI_PLACE_BELOW;

	for (int i = 0; i < 2 && !asked.odd; i++)
		bounds[i] = bounds_of(placement < TSURUGI_PLACE_LEFT ? placement
							  : above == (i == 1)			 ? placement - 4 * above
															 : TSURUGI_PLACE_UNKNOWN,
							  &asked.side[i]);
	return !asked.odd;
}

static const Rectangle everywhere = {.to = {NUMBER_MAX, NUMBER_MAX}};

/* The keys from one level to another, with any corner. */
static void
make_whole(tsurugi_cover_range *range, int first, int last)
{
	tsurugi_corner_key(range->low, first, everywhere.from);
	tsurugi_corner_key(range->high, last, everywhere.to);
}

static Rectangle
rectangle_of_level(Oid function, const Bounds *bounds, int level)
{
	Rectangle rectangle = {.empty = !is_level_possible(bounds, level)};

	if (level >= LEVEL_HUGE && tsurugi_plane_measures(function))
		return everywhere;
	for (int i = 0; i < 2; i++)
		rectangle.empty |= !corners_of_level(&bounds[i], level, &rectangle.from[i], &rectangle.to[i]);
	return rectangle;
}

void
tsurugi_plane_windows_init(tsurugi_plane_windows *windows)
{
	for (int level = 0; level <= LEVEL_LAST; level++)
		windows->level[level] = everywhere;
}

void
tsurugi_plane_windows_narrow(Oid function, Oid value_type, Datum value, tsurugi_plane_windows *windows)
{
	Bounds bounds[2];

	if (!bounds_asked(function, value_type, value, bounds))
		return;
	for (int level = 0; level <= LEVEL_LAST; level++)
	{
		Rectangle *window = &windows->level[level];
		Rectangle asked = rectangle_of_level(function, bounds, level);

		window->empty |= asked.empty;
		for (int i = 0; i < 2; i++)
		{
			window->from[i] = Max(window->from[i], asked.from[i]);
			window->to[i] = Min(window->to[i], asked.to[i]);
			window->empty |= window->from[i] > window->to[i];
		}
	}
}

bool
tsurugi_plane_windows_have(const tsurugi_plane_windows *windows, const unsigned char *cover, unsigned char *next)
{
	int level = cover[0] - TSURUGI_COVER_LEVEL(0);
	uint64 corner[2];
	uint64 first[2];

	if (level >= LEVEL_ODD)
		return true;
	if (level >= 0 && !windows->level[level].empty)
	{
		const Rectangle *window = &windows->level[level];

		tsurugi_corner_of_key(cover, corner);
		if (tsurugi_rectangle_has(window, corner))
			return true;
		if (tsurugi_rectangle_next(window, corner, first))
		{
			tsurugi_corner_key(next, level, first);
			return false;
		}
	}
	for (level = Max(level + 1, 0); level <= LEVEL_LAST; level++)
	{
		const Rectangle *window = &windows->level[level];

		if (!window->empty)
		{
			tsurugi_corner_key(next, level, window->from);
			return false;
		}
	}
	tsurugi_corner_key(next, LEVEL_ODD, everywhere.from);
	return false;
}

void
tsurugi_plane_windows_range(const tsurugi_plane_windows *windows, tsurugi_cover_range *range)
{
	unsigned char first[TSURUGI_PLANE_BYTES];

	make_whole(range, 0, LEVEL_ODD);
	if (!tsurugi_plane_windows_have(windows, range->low, first))
		memcpy(range->low, first, sizeof(first));
}

/* --- distances ------------------------------------------------------------------ */

/*
 * An operator that computes the distance of a figure takes a point beyond the end of an edge for a
 * point of the edge if, because of EPSILON or rounding, it cannot tell them apart.  For edges
 * shorter than 2^32 times their distance from the point, or the point's from 0, that error is less
 * than the amount that is subtracted here, which is less than the amount by which boxes are
 * enlarged (bounds_of).  Other figures are read by every query (LEVEL_HUGE).
 */
double
tsurugi_plane_distance(Oid type, Datum value, const Point *point)
{
	Figure figure = figure_of(type, value);
	const double at[2] = {point->x, point->y};
	unsigned char cover[TSURUGI_PLANE_BYTES];
	double least = 0;

	tsurugi_plane_cover(type, value, cover);
	for (int i = 0; i < 2 && cover[0] < TSURUGI_COVER_LEVEL(LEVEL_HUGE); i++)
	{
		double distance = Max(figure.side[i].low - at[i], at[i] - figure.side[i].high);

		least = Max(least, distance * (1 - SLACK / 2) - SLACK / 2 * (1 + fabs(at[i])));
	}
	return least;
}

double
tsurugi_plane_distance_of_cover(const unsigned char *cover, const Point *point)
{
	uint64 corner[2];

	tsurugi_corner_of_key(cover, corner);
	return hypot(tsurugi_corner_coordinate(corner[0]) - point->x, tsurugi_corner_coordinate(corner[1]) - point->y);
}

/* --- all levels ----------------------------------------------------------------- */

int
tsurugi_plane_query(Oid function, Oid value_type, Datum value, const tsurugi_cover_levels *levels,
					tsurugi_cover_range *ranges)
{
	int most = Min(RANGES_OF_LEVEL, (TSURUGI_COVER_RANGES_MAX - 2) / (pg_popcount64(levels->present) + 1) - 3);
	Bounds bounds[2];
	int count = 0;
	/* The first of several levels without covers: they are one range. */
	int gap = -1;

	if (!bounds_asked(function, value_type, value, bounds))
	{
		make_whole(ranges, 0, LEVEL_ODD);
		return 1;
	}
	for (int level = 0; level <= LEVEL_LAST; level++)
	{
		Rectangle rectangle = rectangle_of_level(function, bounds, level);
		bool wanted = !rectangle.empty;

		if (wanted && (levels->present >> level & 1) == 0)
		{
			gap = gap < 0 ? level : gap;
			continue;
		}
		if (gap >= 0)
			make_whole(&ranges[count++], gap, level - 1);
		gap = -1;
		if (wanted)
			count += tsurugi_rectangle_ranges(&rectangle, level, levels, most, ranges + count);
	}
	make_whole(&ranges[count++], gap < 0 ? LEVEL_ODD : gap, LEVEL_ODD);
	tg_assert(count <= TSURUGI_COVER_RANGES_MAX);
	return count;
}
