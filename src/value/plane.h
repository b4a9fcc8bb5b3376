/*
 * plane.h
 *	  Covers of figures: points, boxes, circles, polygons.  For cover.c.
 */
#ifndef TSURUGI_PLANE_H
#define TSURUGI_PLANE_H

#include "utils/geo_decls.h"

#include "src/value/corner.h"
#include "src/value/cover.h"

#define TSURUGI_PLANE_BYTES TSURUGI_CORNER_KEY_BYTES
#define TSURUGI_PLANE_LEVEL_MAX 23

extern bool tsurugi_plane_has(Oid type);

/* Like tsurugi_cover_answers, tsurugi_cover and tsurugi_cover_query. */
extern bool tsurugi_plane_answers(Oid function);
extern void tsurugi_plane_cover(Oid type, Datum value, unsigned char *cover);
extern int tsurugi_plane_query(Oid function, Oid value_type, Datum value, const tsurugi_cover_levels *levels,
							   tsurugi_cover_range *ranges);

/* The figures of each level that may match: their corners lie in a rectangle. */
typedef struct tsurugi_plane_windows
{
	/* All figures of the last level may match. */
	tsurugi_rectangle level[TSURUGI_PLANE_LEVEL_MAX];
} tsurugi_plane_windows;

/* The largest windows; and windows narrowed by an operator. */
extern void tsurugi_plane_windows_init(tsurugi_plane_windows *windows);
extern void tsurugi_plane_windows_narrow(Oid function, Oid value_type, Datum value, tsurugi_plane_windows *windows);

/* From the first cover that may match to the last. */
extern void tsurugi_plane_windows_range(const tsurugi_plane_windows *windows, tsurugi_cover_range *range);

/* Whether a cover may match; if not, the first one behind it that may: there always is one. */
extern bool tsurugi_plane_windows_have(const tsurugi_plane_windows *windows, const unsigned char *cover,
									   unsigned char *next);

/* Whether an operator's function computes the distance of a figure, its left side, from a point. */
extern bool tsurugi_plane_measures(Oid function);

/*
 * A lower bound of the distance.  If windows are narrowed, or covers queried, by such a function
 * and a box, figures match that may be as near to the middle of the box as its sides.  So a figure
 * for which this bound is not above that distance is among them.
 */
extern double tsurugi_plane_distance(Oid type, Datum value, const Point *point);

/* The approximate distance of a cover's corner from a point. */
extern double tsurugi_plane_distance_of_cover(const unsigned char *cover, const Point *point);

#endif /* TSURUGI_PLANE_H */
