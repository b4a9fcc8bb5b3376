/*
 * corner.h
 *	  Corners in the plane, as keys in Z-order.  For plane.c.
 *
 * A corner is two numbers, of x and y.  Its key begins with a level, by which keys are ordered
 * first.
 */
#ifndef TSURUGI_CORNER_H
#define TSURUGI_CORNER_H

#include "postgres.h"

#include "src/value/cover.h"

#define TSURUGI_CORNER_BITS 44 /* of a number */
#define TSURUGI_CORNER_MAX ((UINT64CONST(1) << TSURUGI_CORNER_BITS) - 1)
#define TSURUGI_CORNER_KEY_BYTES 12

/*
 * The number of a coordinate; numbers are ordered as coordinates, but neighbours may have the same
 * number.  And the reverse, approximately.
 */
extern uint64 tsurugi_corner_number(double value);
extern double tsurugi_corner_coordinate(uint64 number);

extern void tsurugi_corner_key(unsigned char *key, int level, const uint64 *corner);
extern void tsurugi_corner_of_key(const unsigned char *key, uint64 *corner);

/* Corners in a rectangle. */
typedef struct tsurugi_rectangle
{
	bool empty;
	uint64 from[2]; /* both ends are included */
	uint64 to[2];
} tsurugi_rectangle;

static inline bool
tsurugi_rectangle_has(const tsurugi_rectangle *rectangle, const uint64 *corner)
{
	return corner[0] >= rectangle->from[0] && corner[0] <= rectangle->to[0] && corner[1] >= rectangle->from[1] &&
		   corner[1] <= rectangle->to[1];
}

/* The first corner of the rectangle behind a corner outside of it.  False: there is none. */
extern bool tsurugi_rectangle_next(const tsurugi_rectangle *rectangle, const uint64 *corner, uint64 *next);

/*
 * Ranges of keys of the level that cover the rectangle, cut where the level has keys.  Returns
 * their number, which is at most two more than most.
 */
extern int tsurugi_rectangle_ranges(const tsurugi_rectangle *rectangle, int level, const tsurugi_cover_levels *levels,
									int most, tsurugi_cover_range *ranges);

#endif /* TSURUGI_CORNER_H */
