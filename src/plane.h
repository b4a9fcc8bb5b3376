/*
 * plane.h
 *	  Covers of figures: points, boxes, circles, polygons.  For cover.c.
 */
#ifndef TSURUGI_PLANE_H
#define TSURUGI_PLANE_H

#include "src/cover.h"

#define TSURUGI_PLANE_BYTES 12
#define TSURUGI_PLANE_LEVEL_MAX 23

extern bool tsurugi_plane_has(Oid type);

/* As tsurugi_cover_answers, tsurugi_cover and tsurugi_cover_query. */
extern bool tsurugi_plane_answers(Oid function);
extern void tsurugi_plane_cover(Oid type, Datum value, unsigned char *cover);
extern int tsurugi_plane_query(Oid function, Oid value_type, Datum value, const tsurugi_cover_levels *levels,
							   tsurugi_cover_range *ranges);

#endif /* TSURUGI_PLANE_H */
