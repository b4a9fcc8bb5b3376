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
	/* Its distance from a point: up to the sides of a box around that. */
	TSURUGI_PLACE_NEAR,
	TSURUGI_PLACE_TOUCHES,
	TSURUGI_PLACE_CONTAINS,
	TSURUGI_PLACE_WITHIN,
	TSURUGI_PLACE_SAME,
	/* Along x; and the same, four further, along y: below ... */
	TSURUGI_PLACE_LEFT,
	TSURUGI_PLACE_OVERLEFT,
	TSURUGI_PLACE_OVERRIGHT,
	TSURUGI_PLACE_RIGHT,
	TSURUGI_PLACE_BELOW,
	TSURUGI_PLACE_OVERBELOW,
	TSURUGI_PLACE_OVERABOVE,
	TSURUGI_PLACE_ABOVE
} tsurugi_placement;

/* By the operator's function. */
extern tsurugi_placement tsurugi_placement_of(Oid function);

#endif /* TSURUGI_PLANE_OPERATOR_H */
