/*
 * plane.c
 *	  Covers of figures: points, boxes, circles, polygons.
 *
 * XZ-ordering (Böhm, Klump, Kriegel: XZ-Ordering: A Space-Filling Curve for Objects with Spatial Extension, 1999), in two dimensions, as
 * cover.c has it in one: a figure's bounding box is kept by its size and its lower left corner.
 *
 *	level		the least L with width < 4^L and height < 4^L
 *	corner		x and y, 44 bits each, interleaved from the highest on: Z-order
 *
 * That differs from the paper, where a corner is known by the cell of the figure's size alone: here it is known whole, so
 * of figures of level L those that touch [a, b] are, in each dimension, among those with low in (a - 4^L, b], and not in a cell or two more.
 *
 * So a question is, for each level that there is, a rectangle of corners: a window.  Who reads an index goes on, from a key outside of
 * it, at the next one that would be in it, and needs to know nothing of what there is: a look-up for each leaf at the most
 * (as Ramsak, Markl, Fenk and others: Integrating the UB-Tree into a Database System Kernel, 2000, but that entries of one leaf are passed over by themselves, too).
 * Who has to say what he has read, or is going to, has it cut into squares of the Z-order, each a range of
 * keys: into finer ones at its edges as long as they are not too many, or as what lies outside of it is worth it (as
 * Orenstein, Manola: PROBE Spatial Data Modeling and Query Processing, 1988, decompose a box).
 *
 * Coordinates become numbers that are as exact as floating point is far from zero, and as exact as 2^-33 near to it: log-like from 1
 * on, linear below.  The bits of a double alone would spend half of all numbers on what is less than 2, and squares of the
 * Z-order near an axis would be long thin strips in the plane.
 *
 * Figures that have a coordinate that is no number (or, of polygons, none that is finite), circles whose radius is negative (the
 * type's input refuses them, circle(point, radius) does not), and circles so large that EPSILON is lost in them, have a level of their own, which is read whatever is asked for: what an operator says of them depends on how it computes.  All
 * operators take what is nearer than EPSILON for the same, and round; so what is asked for is enlarged by more than that.
 */
#include "postgres.h"

#include "src/value/plane.h"

#include <math.h>

#include "catalog/pg_type_d.h"
#include "port/pg_bitutils.h"
#include "utils/float.h"

#include "src/value/plane_operator.h"

#define NUMBER_BITS 44
#define NUMBER_MAX ((UINT64CONST(1) << NUMBER_BITS) - 1)
#define LEVEL_LAST (NUMBER_BITS / 2) /* of figures: 4^22 is all of a dimension */
#define LEVEL_ODD TSURUGI_PLANE_LEVEL_MAX
#define LEVEL_HUGE 20 /* of it and above, all that is as large as 2^32 times what is near to it, and so far from 0 */
#define SLACK (4 * EPSILON)
#define CIRCLE_MAX 1e9	/* what is computed of larger ones is off by more than that */
#define SQUARES_MAX 192 /* while a rectangle is cut */
#define RANGES_OF_LEVEL 48
#define SHARE_OUTSIDE 1.2 /* squares this much larger than their rectangle are not cut any more */

_Static_assert(LEVEL_ODD == LEVEL_LAST + 1, "levels are counted");
_Static_assert(TSURUGI_PLANE_BYTES == 1 + NUMBER_BITS / 4, "level and corner");
_Static_assert(TSURUGI_COVER_RANGES_MAX >= 6 * (LEVEL_ODD + 1), "some ranges of keys for each level");

/* Along one axis. */
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

/* Its bounding box does not tell what points there are that are no numbers. */
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

/* --- numbers -------------------------------------------------------------------------------- */

/* In order; what is near to each other may have the same. */
static uint64
number_of(double value)
{
	static const double one = 1.0;
	double distance = fabs(value) + one;
	uint64 bits;
	uint64 from;
	uint64 middle = UINT64CONST(1) << 62; /* as many as from 1 to infinity */

	memcpy(&bits, &distance, sizeof(bits));
	memcpy(&from, &one, sizeof(from));
	bits -= from;
	return Min((value < 0 ? middle - bits : middle + bits) >> (63 - NUMBER_BITS), NUMBER_MAX);
}

/* Each bit but the last is followed by a place: 22 bits become 44. */
static uint64
spread(uint64 bits)
{
	bits = (bits | bits << 16) & UINT64CONST(0x0000ffff0000ffff);
	bits = (bits | bits << 8) & UINT64CONST(0x00ff00ff00ff00ff);
	bits = (bits | bits << 4) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	bits = (bits | bits << 2) & UINT64CONST(0x3333333333333333);
	return (bits | bits << 1) & UINT64CONST(0x5555555555555555);
}

static uint128
interleave(uint64 x, uint64 y)
{
	const int half = NUMBER_BITS / 2;
	const uint64 mask = (UINT64CONST(1) << half) - 1;

	return (uint128) (spread(x >> half) << 1 | spread(y >> half)) << NUMBER_BITS | spread(x & mask) << 1 |
		   spread(y & mask);
}

static void
make_key(unsigned char *key, int level, uint128 corner)
{
	key[0] = TSURUGI_COVER_LEVEL(level);
	for (int i = TSURUGI_PLANE_BYTES - 1; i > 0; i--, corner >>= 8)
		key[i] = (unsigned char) corner;
}

static uint128
corner_of_key(const unsigned char *key)
{
	uint128 corner = 0;

	for (int i = 1; i < TSURUGI_PLANE_BYTES; i++)
		corner = corner << 8 | key[i];
	return corner;
}

static void
make_range(tsurugi_cover_range *range, int level, uint128 low, uint128 high)
{
	make_key(range->low, level, low);
	make_key(range->high, level, high);
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
		low[i] = number_of(figure.side[i].low);
		size = Max(size, number_of(figure.side[i].high) - low[i]);
	}
	Assert(size <= NUMBER_MAX);
	make_key(cover,
			 figure.odd	 ? LEVEL_ODD
			 : size == 0 ? 0
						 : pg_leftmost_one_pos64(size) / 2 + 1,
			 interleave(low[0], low[1]));
}

/* --- questions ------------------------------------------------------------------------------- */

/* Where the ends of a figure may be along one axis, both included. */
typedef struct Bounds
{
	uint64 low_from;
	uint64 low_to;
	uint64 high_from;
	uint64 high_to;
} Bounds;

/* A little less than the end, or a little more. */
static uint64
down(double end, double slack)
{
	double value = end - slack;

	return isnan(value) ? 0 : number_of(value);
}

static uint64
up(double end, double slack)
{
	double value = end + slack;

	return isnan(value) ? NUMBER_MAX : number_of(value);
}

/* placement: of those that concern this axis, as if it were x. */
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

/* Of all figures of a level those that may be wanted have their low ends here.  False: there is none. */
static bool
corners_of_level(const Bounds *bounds, int level, uint64 *from_out, uint64 *to_out)
{
	uint64 reach = reach_of(level);

	*from_out = Max(bounds->low_from, bounds->high_from - Min(bounds->high_from, reach));
	*to_out = Min(bounds->low_to, bounds->high_to);
	return *from_out <= *to_out;
}

/* Whether figures of such a size can lie between the bounds. */
static bool
is_level_possible(const Bounds *bounds, int level)
{
	uint64 size = 0;

	for (int i = 0; i < 2; i++)
		size = Max(size, bounds[i].high_to - Min(bounds[i].high_to, bounds[i].low_from));
	return level == 0 || size > reach_of(level - 1);
}

/* --- windows ---------------------------------------------------------------------------------- */

typedef tsurugi_plane_window Rectangle;

/* For each axis.  False: the operator says nothing of where a figure is. */
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

/* The reverse of spread. */
static uint64
gather(uint64 bits)
{
	bits &= UINT64CONST(0x5555555555555555);
	bits = (bits | bits >> 1) & UINT64CONST(0x3333333333333333);
	bits = (bits | bits >> 2) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	bits = (bits | bits >> 4) & UINT64CONST(0x00ff00ff00ff00ff);
	bits = (bits | bits >> 8) & UINT64CONST(0x0000ffff0000ffff);
	return (bits | bits >> 16) & UINT64CONST(0x00000000ffffffff);
}

static void
numbers_of_corner(uint128 corner, uint64 *numbers)
{
	const int half = NUMBER_BITS / 2;
	uint64 high = (uint64) (corner >> NUMBER_BITS);
	uint64 low = (uint64) corner & NUMBER_MAX;

	numbers[0] = gather(high >> 1) << half | gather(low >> 1);
	numbers[1] = gather(high) << half | gather(low);
}

/*
 * The first corner of a window behind one that is not in it (BIGMIN: Tropf, Herzog: Multidimensional Range Search in Dynamically
 * Balanced Trees, 1981).  It has the beginning of that corner, as long as possible, then a 1 where that has a 0: so from the
 * highest bit on, in ever smaller cells around the corner, the last such place is looked for where the half of the cell
 * behind it meets the window.  False: there is none.
 */
static bool
next_corner(const Rectangle *window, const uint64 *corner, uint64 *next)
{
	uint64 low[2]; /* of the cell, which meets the window */
	uint64 differ = 0;
	int same; /* bits, from this one on */
	bool found = false;

	for (int i = 0; i < 2; i++)
		differ |= (corner[i] ^ window->from[i]) | (corner[i] ^ window->to[i]);
	same = pg_leftmost_one_pos64(differ) + 1;
	for (int i = 0; i < 2; i++)
		low[i] = corner[i] >> same << same;
	for (int bit = 2 * same - 1; bit >= 0; bit--)
	{
		int axis = bit & 1 ? 0 : 1;
		uint64 half = UINT64CONST(1) << bit / 2;
		uint64 middle = low[axis] | half;

		if ((corner[axis] & half) != 0)
		{
			if (window->to[axis] < middle)
				break;
			low[axis] = middle;
			continue;
		}
		if (window->to[axis] >= middle && window->from[axis] < middle + half)
		{
			found = true;
			next[axis] = Max(middle, window->from[axis]);
			next[!axis] = Max(low[!axis], window->from[!axis]);
		}
		if (window->from[axis] >= middle)
			break;
	}
	return found;
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

		numbers_of_corner(corner_of_key(cover), corner);
		if (corner[0] >= window->from[0] && corner[0] <= window->to[0] && corner[1] >= window->from[1] &&
			corner[1] <= window->to[1])
			return true;
		if (next_corner(window, corner, first))
		{
			make_key(next, level, interleave(first[0], first[1]));
			return false;
		}
	}
	for (level = Max(level + 1, 0); level <= LEVEL_LAST; level++)
	{
		const Rectangle *window = &windows->level[level];

		if (!window->empty)
		{
			make_key(next, level, interleave(window->from[0], window->from[1]));
			return false;
		}
	}
	make_key(next, LEVEL_ODD, 0);
	return false;
}

void
tsurugi_plane_windows_range(const tsurugi_plane_windows *windows, tsurugi_cover_range *range)
{
	unsigned char first[TSURUGI_PLANE_BYTES];

	make_range(range, 0, 0, 0);
	if (!tsurugi_plane_windows_have(windows, range->low, first))
		memcpy(range->low, first, sizeof(first));
	make_key(range->high, LEVEL_ODD, interleave(NUMBER_MAX, NUMBER_MAX));
}

/* --- distances --------------------------------------------------------------------------------- */

/*
 * An operator that tells a distance from a figure takes a point that is beyond the end of an edge for one of its own if, by EPSILON or in rounding, it
 * cannot tell them apart.  Of edges of less than 2^32 times what they are from the point, or it from 0, that is less than what is subtracted here,
 * which is less than boxes are enlarged by (bounds_of).  Others are read whatever is asked for (LEVEL_HUGE).
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

/* The reverse of number_of, about. */
static double
value_of(uint64 number)
{
	static const double one = 1.0;
	uint64 bits = number << (63 - NUMBER_BITS);
	uint64 middle = UINT64CONST(1) << 62;
	uint64 from;
	double distance;

	memcpy(&from, &one, sizeof(from));
	from += bits < middle ? middle - bits : bits - middle;
	memcpy(&distance, &from, sizeof(distance));
	return bits < middle ? one - distance : distance - one;
}

double
tsurugi_plane_distance_of_cover(const unsigned char *cover, const Point *point)
{
	uint64 corner[2];

	numbers_of_corner(corner_of_key(cover), corner);
	return hypot(value_of(corner[0]) - point->x, value_of(corner[1]) - point->y);
}

/* --- rectangles of corners ---------------------------------------------------------------------- */

/* A square of the Z-order: 2^bits by 2^bits corners. */
typedef struct Square
{
	uint64 corner[2];
	int bits;
	bool inside; /* of the rectangle */
} Square;

static uint128
first_of(const Square *square)
{
	return interleave(square->corner[0], square->corner[1]);
}

static uint128
last_of(const Square *square)
{
	return first_of(square) + (((uint128) 1 << 2 * square->bits) - 1);
}

/* False: they have no corner in common. */
static bool
place(Square *square, const Rectangle *rectangle)
{
	uint64 size = (UINT64CONST(1) << square->bits) - 1;

	square->inside = true;
	for (int i = 0; i < 2; i++)
	{
		if (square->corner[i] > rectangle->to[i] || square->corner[i] + size < rectangle->from[i])
			return false;
		square->inside &= square->corner[i] >= rectangle->from[i] && square->corner[i] + size <= rectangle->to[i];
	}
	return true;
}

/* The smallest one around it. */
static Square
square_around(const Rectangle *rectangle)
{
	uint64 differ = (rectangle->from[0] ^ rectangle->to[0]) | (rectangle->from[1] ^ rectangle->to[1]);
	Square square = {.bits = differ == 0 ? 0 : pg_leftmost_one_pos64(differ) + 1};

	for (int i = 0; i < 2; i++)
		square.corner[i] = rectangle->from[i] >> square.bits << square.bits;
	(void) place(&square, rectangle);
	return square;
}

/* Cuts those that are not inside into four, and leaves out what is outside.  Their number; -1: they are too many. */
static int
cut(const Square *squares, int count, const Rectangle *rectangle, Square *parts)
{
	int part_count = 0;

	for (int i = 0; i < count; i++)
	{
		for (int quarter = 0; quarter < (squares[i].inside ? 1 : 4); quarter++)
		{
			Square part = squares[i];

			if (!part.inside)
			{
				part.bits--;
				part.corner[0] += (uint64) (quarter >> 1) << part.bits;
				part.corner[1] += (uint64) (quarter & 1) << part.bits;
				if (!place(&part, rectangle))
					continue;
			}
			if (part_count == SQUARES_MAX)
				return -1;
			parts[part_count++] = part;
		}
	}
	return part_count;
}

/* Neighbours make one range.  Their number, written or, if ranges is NULL, only counted. */
static int
join(const Square *squares, int count, int level, tsurugi_cover_range *ranges)
{
	int range_count = 0;
	uint128 next = 0;

	for (int i = 0; i < count; i++)
	{
		if (i == 0 || first_of(&squares[i]) != next)
		{
			if (ranges != NULL)
				make_key(ranges[range_count].low, level, first_of(&squares[i]));
			range_count++;
		}
		next = last_of(&squares[i]) + 1;
		if (ranges != NULL)
			make_key(ranges[range_count - 1].high, level, next - 1);
	}
	return range_count;
}

static bool
is_fine(const Square *squares, int count, const Rectangle *rectangle)
{
	double wanted =
		(double) (rectangle->to[0] - rectangle->from[0] + 1) * (double) (rectangle->to[1] - rectangle->from[1] + 1);
	double all = 0;

	for (int i = 0; i < count; i++)
		all += ldexp(1, 2 * squares[i].bits);
	return all <= SHARE_OUTSIDE * wanted;
}

/* The smallest square around what there is of a level, but that it may be all of the plane. */
static Square
square_of_level(const tsurugi_cover_levels *levels, int level)
{
	Square square = {.bits = 0};
	uint128 first = corner_of_key(levels->first[level]);
	uint128 differ = first ^ corner_of_key(levels->last[level]);

	while (differ >> 2 * square.bits != 0)
		square.bits++;
	for (int i = 0; i < NUMBER_BITS; i++)
	{
		square.corner[0] |= (uint64) (first >> (2 * i + 1) & 1) << i;
		square.corner[1] |= (uint64) (first >> 2 * i & 1) << i;
	}
	for (int i = 0; i < 2; i++)
		square.corner[i] = square.corner[i] >> square.bits << square.bits;
	return square;
}

/* At most so many ranges. */
static int
cut_rectangle(const Rectangle *rectangle, int level, int most, tsurugi_cover_range *ranges)
{
	Square room[2][SQUARES_MAX];
	int now = 0;
	int count = 1;

	room[0][0] = square_around(rectangle);
	while (!is_fine(room[now], count, rectangle))
	{
		int part_count = cut(room[now], count, rectangle, room[!now]);

		if (part_count < 0 || join(room[!now], part_count, level, NULL) > most)
			break;
		count = part_count;
		now = !now;
	}
	return join(room[now], count, level, ranges);
}

/*
 * Where figures are the rectangle is cut; where there are none, before and behind the square around all of them, is one range each.
 * At most two ranges more than that.
 */
static int
ranges_of_rectangle(const Rectangle *rectangle, int level, const tsurugi_cover_levels *levels, int most,
					tsurugi_cover_range *ranges)
{
	Square all = square_of_level(levels, level);
	Rectangle inner = *rectangle;
	bool meets = place(&all, rectangle);
	bool reaches_out = false;
	int count = 0;

	for (int i = 0; i < 2; i++)
	{
		inner.from[i] = Max(inner.from[i], all.corner[i]);
		inner.to[i] = Min(inner.to[i], all.corner[i] + ((UINT64CONST(1) << all.bits) - 1));
		reaches_out |= inner.from[i] != rectangle->from[i] || inner.to[i] != rectangle->to[i];
	}
	if (reaches_out && first_of(&all) > 0)
		make_range(&ranges[count++], level, 0, first_of(&all) - 1);
	if (meets)
		count += cut_rectangle(&inner, level, most, ranges + count);
	if (reaches_out && last_of(&all) < interleave(NUMBER_MAX, NUMBER_MAX))
		make_range(&ranges[count++], level, last_of(&all) + 1, interleave(NUMBER_MAX, NUMBER_MAX));
	return count;
}

/* --- all levels --------------------------------------------------------------------------------- */

/* The keys from one level to another, whatever corner. */
static void
make_whole(tsurugi_cover_range *range, int first, int last)
{
	make_key(range->low, first, 0);
	make_key(range->high, last, interleave(NUMBER_MAX, NUMBER_MAX));
}

int
tsurugi_plane_query(Oid function, Oid value_type, Datum value, const tsurugi_cover_levels *levels,
					tsurugi_cover_range *ranges)
{
	int most = Min(RANGES_OF_LEVEL, (TSURUGI_COVER_RANGES_MAX - 2) / (pg_popcount64(levels->present) + 1) - 3);
	Bounds bounds[2];
	int count = 0;
	int gap = -1; /* the first of several levels that nobody has a cover of: they are one range */

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
			count += ranges_of_rectangle(&rectangle, level, levels, most, ranges + count);
	}
	make_whole(&ranges[count++], gap < 0 ? LEVEL_ODD : gap, LEVEL_ODD);
	return count;
}
