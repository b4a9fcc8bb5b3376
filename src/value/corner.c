/*
 * corner.c
 *	  Corners in the plane, as keys in Z-order.
 *
 * Coordinates become numbers.  Far from zero these are as exact as floating point, near zero as
 * exact as 2^-33: logarithmic from 1 on, linear below.  If the bits of a double were used alone,
 * half of all numbers would be below 2, and squares of the Z-order near an axis would be long thin
 * strips in the plane.  The bits of x and y are interleaved, from the highest on.
 *
 * The corners of a rectangle are not one range of that order.  A reader of keys in order that meets
 * a key outside of the rectangle continues at the next key that would be inside.  A caller that
 * must name ranges has the rectangle cut into squares of the Z-order, each a range of keys.
 * Squares at its edges are cut into finer ones until they are too many, or until little is left
 * outside of the rectangle (as Orenstein, Manola: PROBE Spatial Data Modeling and Query Processing,
 * 1988, decompose a box).
 */
#include "postgres.h"

#include "src/value/corner.h"

#include <math.h>

#include "port/pg_bitutils.h"

#include "runtime/base/check.h"

#define BITS TSURUGI_CORNER_BITS
#define SQUARES_MAX 192 /* while a rectangle is being cut */
/* Squares that together are at most this much larger than their rectangle are not cut further. */
#define SHARE_OUTSIDE 1.2

_Static_assert(TSURUGI_CORNER_KEY_BYTES == 1 + BITS / 4, "level and corner");

typedef tsurugi_rectangle Rectangle;

/* --- numbers -------------------------------------------------------------------------------- */

uint64
tsurugi_corner_number(double value)
{
	static const double one = 1.0;
	double distance = fabs(value) + one;
	uint64 bits;
	uint64 from;
	uint64 middle = UINT64CONST(1) << 62; /* as many numbers as from 1 to infinity */

	memcpy(&bits, &distance, sizeof(bits));
	memcpy(&from, &one, sizeof(from));
	bits -= from;
	return Min((value < 0 ? middle - bits : middle + bits) >> (63 - BITS), TSURUGI_CORNER_MAX);
}

double
tsurugi_corner_coordinate(uint64 number)
{
	static const double one = 1.0;
	uint64 bits = number << (63 - BITS);
	uint64 middle = UINT64CONST(1) << 62;
	uint64 from;
	double distance;

	memcpy(&from, &one, sizeof(from));
	from += bits < middle ? middle - bits : bits - middle;
	memcpy(&distance, &from, sizeof(distance));
	return bits < middle ? one - distance : distance - one;
}

/* --- the order ------------------------------------------------------------------------------ */

#define CORNER_LAST (((uint128) 1 << 2 * BITS) - 1)

/* Puts a gap behind each bit except the last: 22 bits become 44. */
static uint64
spread(uint64 bits)
{
	bits = (bits | bits << 16) & UINT64CONST(0x0000ffff0000ffff);
	bits = (bits | bits << 8) & UINT64CONST(0x00ff00ff00ff00ff);
	bits = (bits | bits << 4) & UINT64CONST(0x0f0f0f0f0f0f0f0f);
	bits = (bits | bits << 2) & UINT64CONST(0x3333333333333333);
	return (bits | bits << 1) & UINT64CONST(0x5555555555555555);
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

static uint128
interleave(const uint64 *numbers)
{
	const int half = BITS / 2;
	const uint64 mask = (UINT64CONST(1) << half) - 1;

	return (uint128) (spread(numbers[0] >> half) << 1 | spread(numbers[1] >> half)) << BITS |
		   spread(numbers[0] & mask) << 1 | spread(numbers[1] & mask);
}

static void
separate(uint128 corner, uint64 *numbers)
{
	const int half = BITS / 2;
	uint64 high = (uint64) (corner >> BITS);
	uint64 low = (uint64) corner & TSURUGI_CORNER_MAX;

	numbers[0] = gather(high >> 1) << half | gather(low >> 1);
	numbers[1] = gather(high) << half | gather(low);
}

static void
make_key(unsigned char *key, int level, uint128 corner)
{
	key[0] = TSURUGI_COVER_LEVEL(level);
	for (int i = TSURUGI_CORNER_KEY_BYTES - 1; i > 0; i--, corner >>= 8)
		key[i] = (unsigned char) corner;
}

static uint128
corner_of_key(const unsigned char *key)
{
	uint128 corner = 0;

	for (int i = 1; i < TSURUGI_CORNER_KEY_BYTES; i++)
		corner = corner << 8 | key[i];
	return corner;
}

void
tsurugi_corner_key(unsigned char *key, int level, const uint64 *corner)
{
	make_key(key, level, interleave(corner));
}

void
tsurugi_corner_of_key(const unsigned char *key, uint64 *corner)
{
	separate(corner_of_key(key), corner);
}

/*
 * BIGMIN (Tropf, Herzog: Multidimensional Range Search in Dynamically Balanced Trees, 1981).  The
 * result has a prefix of that corner, as long as possible, and then a 1 where the corner has a 0.
 * So from the highest bit on, in ever smaller cells around the corner, this looks for the last such
 * bit where the upper half of the cell meets the rectangle.
 */
bool
tsurugi_rectangle_next(const tsurugi_rectangle *rectangle, const uint64 *corner, uint64 *next)
{
	uint64 low[2]; /* of the cell, which meets the rectangle */
	uint64 differ = 0;
	int same; /* the bits from this one on are equal */
	bool found = false;

	tg_assert(!rectangle->empty && !tsurugi_rectangle_has(rectangle, corner));
	for (int i = 0; i < 2; i++)
		differ |= (corner[i] ^ rectangle->from[i]) | (corner[i] ^ rectangle->to[i]);
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
			if (rectangle->to[axis] < middle)
				break;
			low[axis] = middle;
			continue;
		}
		if (rectangle->to[axis] >= middle && rectangle->from[axis] < middle + half)
		{
			found = true;
			next[axis] = Max(middle, rectangle->from[axis]);
			next[!axis] = Max(low[!axis], rectangle->from[!axis]);
		}
		if (rectangle->from[axis] >= middle)
			break;
	}
	tg_assert(!found || tsurugi_rectangle_has(rectangle, next));
	return found;
}

/* --- squares --------------------------------------------------------------------------------- */

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
	return interleave(square->corner);
}

static uint128
last_of(const Square *square)
{
	return first_of(square) + (((uint128) 1 << 2 * square->bits) - 1);
}

/* Sets whether the square is inside.  False: it has no corner in common with the rectangle. */
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

/* The smallest square around it. */
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

/*
 * Cuts the squares that are not inside into four, and drops those that are outside.  Returns their
 * number; -1: too many.
 */
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

/*
 * Joins neighbours into one range.  Returns the number of ranges, which are written, or only
 * counted if ranges is NULL.
 */
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

/* The smallest square around the covers that exist on a level; it may be the whole plane. */
static Square
square_of_level(const tsurugi_cover_levels *levels, int level)
{
	Square square = {.bits = 0};
	uint128 first = corner_of_key(levels->first[level]);
	uint128 differ = first ^ corner_of_key(levels->last[level]);

	while (differ >> 2 * square.bits != 0)
		square.bits++;
	separate(first, square.corner);
	for (int i = 0; i < 2; i++)
		square.corner[i] = square.corner[i] >> square.bits << square.bits;
	return square;
}

/* Cuts the rectangle into at most so many ranges. */
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

static void
make_range(tsurugi_cover_range *range, int level, uint128 low, uint128 high)
{
	make_key(range->low, level, low);
	make_key(range->high, level, high);
}

/*
 * Cuts the rectangle where figures exist.  Outside the square around all of them, where there are
 * none, it takes one range before and one behind.
 */
int
tsurugi_rectangle_ranges(const tsurugi_rectangle *rectangle, int level, const tsurugi_cover_levels *levels, int most,
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
	if (reaches_out && last_of(&all) < CORNER_LAST)
		make_range(&ranges[count++], level, last_of(&all) + 1, CORNER_LAST);
	tg_assert(count <= most + 2);
	return count;
}
