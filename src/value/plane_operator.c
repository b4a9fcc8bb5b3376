/*
 * plane_operator.c
 *	  What operators say about the places of figures.
 *
 * An operator is known by its function: those of PostgreSQL's for points, boxes, circles and
 * polygons.  plane.c translates them into queries of a tree of covers.
 */
#include "postgres.h"

#include "src/value/plane_operator.h"

#include "utils/fmgroids.h"

#include "src/value/plane.h"

tsurugi_placement
tsurugi_placement_of(Oid function)
{
	switch (function)
	{
		case F_POINT_DISTANCE:
		case F_DIST_BP:
		case F_DIST_CPOINT:
		case F_DIST_POLYP:
			return TSURUGI_PLACE_NEAR;
		case F_BOX_OVERLAP:
		case F_CIRCLE_OVERLAP:
		case F_POLY_OVERLAP:
			return TSURUGI_PLACE_TOUCHES;
		case F_BOX_CONTAIN:
		case F_BOX_CONTAIN_PT:
		case F_CIRCLE_CONTAIN:
		case F_CIRCLE_CONTAIN_PT:
		case F_POLY_CONTAIN:
		case F_POLY_CONTAIN_PT:
			return TSURUGI_PLACE_CONTAINS;
		case F_BOX_CONTAINED:
		case F_CIRCLE_CONTAINED:
		case F_POLY_CONTAINED:
		case F_ON_PB:
		case F_PT_CONTAINED_CIRCLE:
		case F_PT_CONTAINED_POLY:
			return TSURUGI_PLACE_WITHIN;
		case F_BOX_SAME:
		case F_CIRCLE_SAME:
		case F_POLY_SAME:
		case F_POINT_EQ:
			return TSURUGI_PLACE_SAME;
		case F_BOX_LEFT:
		case F_CIRCLE_LEFT:
		case F_POLY_LEFT:
		case F_POINT_LEFT:
			return TSURUGI_PLACE_LEFT;
		case F_BOX_OVERLEFT:
		case F_CIRCLE_OVERLEFT:
		case F_POLY_OVERLEFT:
			return TSURUGI_PLACE_OVERLEFT;
		case F_BOX_OVERRIGHT:
		case F_CIRCLE_OVERRIGHT:
		case F_POLY_OVERRIGHT:
			return TSURUGI_PLACE_OVERRIGHT;
		case F_BOX_RIGHT:
		case F_CIRCLE_RIGHT:
		case F_POLY_RIGHT:
		case F_POINT_RIGHT:
			return TSURUGI_PLACE_RIGHT;
		case F_BOX_BELOW:
		case F_CIRCLE_BELOW:
		case F_POLY_BELOW:
		case F_POINT_BELOW:
			return TSURUGI_PLACE_BELOW;
		case F_BOX_OVERBELOW:
		case F_CIRCLE_OVERBELOW:
		case F_POLY_OVERBELOW:
			return TSURUGI_PLACE_OVERBELOW;
		case F_BOX_OVERABOVE:
		case F_CIRCLE_OVERABOVE:
		case F_POLY_OVERABOVE:
			return TSURUGI_PLACE_OVERABOVE;
		case F_BOX_ABOVE:
		case F_CIRCLE_ABOVE:
		case F_POLY_ABOVE:
		case F_POINT_ABOVE:
			return TSURUGI_PLACE_ABOVE;
		default:
			return TSURUGI_PLACE_UNKNOWN;
	}
}

bool
tsurugi_plane_answers(Oid function)
{
	return tsurugi_placement_of(function) != TSURUGI_PLACE_UNKNOWN && !tsurugi_plane_measures(function);
}

bool
tsurugi_plane_measures(Oid function)
{
	return tsurugi_placement_of(function) == TSURUGI_PLACE_NEAR;
}
