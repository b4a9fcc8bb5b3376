/*
 * plane_operator.h
 *	  What operators say about the places of figures.  For plane.c.
 */
#ifndef TSURUGI_PLANE_OPERATOR_H
#define TSURUGI_PLANE_OPERATOR_H

#include "postgres.h"

/* What an operator says about the place of the column's figure, its left side. */
typedef enum tsurugi_placement
{
	TSURUGI_PLACE_UNKNOWN,
	/* The figure's distance from a point; a box around the point gives the limits. */
	TSURUGI_PLACE_NEAR,
	TSURUGI_PLACE_TOUCHES,
	TSURUGI_PLACE_CONTAINS,
	TSURUGI_PLACE_WITHIN,
	TSURUGI_PLACE_SAME,
	/* Four places along x; the same four along y follow, from TSURUGI_PLACE_BELOW on. */
	TSURUGI_PLACE_LEFT,
	TSURUGI_PLACE_OVERLEFT,
	TSURUGI_PLACE_OVERRIGHT,
	TSURUGI_PLACE_RIGHT,
	TSURUGI_PLACE_BELOW,
	TSURUGI_PLACE_OVERBELOW,
	TSURUGI_PLACE_OVERABOVE,
	TSURUGI_PLACE_ABOVE
} tsurugi_placement;

/* The placement that the operator of this function stands for. */
extern tsurugi_placement tsurugi_placement_of(Oid function);

#endif /* TSURUGI_PLANE_OPERATOR_H */
