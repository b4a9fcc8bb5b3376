/*
 * cover_scan.h
 *	  The source of rows by conditions on a column of which an index has covers.  For range_scan.c
 *	  and nearest.c.
 */
#ifndef TSURUGI_COVER_SCAN_H
#define TSURUGI_COVER_SCAN_H

#include "utils/geo_decls.h"

#include "src/exec/range_scan.h"
#include "src/value/cover.h"

/* By an access whose shape has covers, or that wants the nearest rows first. */
extern tsurugi_range_source *tsurugi_cover_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access,
													   const List *values);

/*
 * From now on only what may be as near as a box, of the caller's, reaches is wanted (plane.h); NULL:
 * whatever the conditions let through, without any NULLs, too.  The source is read from its beginning.
 */
extern void tsurugi_covers_near(tsurugi_range_source *source, Oid measure, const BOX *box);

/*
 * Covers of entries around a place in the order of the index, of its level, at most count on either
 * side of it; how many.
 */
extern int tsurugi_covers_around(tsurugi_range_source *source, const unsigned char *cover, int count,
								 unsigned char (*covers_out)[TSURUGI_COVER_BYTES_MAX]);

/* The levels of covers that there are. */
extern uint64 tsurugi_covers_present(tsurugi_range_source *source);

#endif /* TSURUGI_COVER_SCAN_H */
