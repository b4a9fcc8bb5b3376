/*
 * plane_operator.h
 *	  What operators say of where figures are.  For plane.c.
 */
#ifndef TSURUGI_PLANE_OPERATOR_H
#define TSURUGI_PLANE_OPERATOR_H

#include "postgres.h"

/* What an operator says of where the column's figure, its left side, is. */
typedef enum tsurugi_placement
{
	TSURUGI_PLACE_UNKNOWN,
	TSURUGI_PLACE_NEAR, /* how far it is from a point: up to where a box around that reaches */
	TSURUGI_PLACE_TOUCHES,
	TSURUGI_PLACE_CONTAINS,
	TSURUGI_PLACE_WITHIN,
	TSURUGI_PLACE_SAME,
	TSURUGI_PLACE_LEFT, /* along x; and the same, four further, along y: below ... */
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
