/*
 * cover_scan.h
 *	  The source of rows by conditions on a column for which an index has covers.  Used by
 *	  range_scan.c and nearest.c.
 */
#ifndef TSURUGI_COVER_SCAN_H
#define TSURUGI_COVER_SCAN_H

#include "utils/geo_decls.h"

#include "src/exec/range_scan.h"
#include "src/value/cover.h"

/* Makes a source for an access whose shape has covers, or that wants the nearest rows first. */
extern tsurugi_range_source *tsurugi_cover_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access,
													   const List *values);

/*
 * Restricts the source to rows that may be as near as a box of the caller's reaches (plane.h), and
 * starts it again.  NULL: all rows that meet the conditions; if there are no conditions, NULLs,
 * too.
 */
extern void tsurugi_covers_near(tsurugi_range_source *source, Oid measure, const BOX *box);

/*
 * Reads covers of the place's level around it in the order of the index, at most count on each
 * side.  Returns their number.
 */
extern int tsurugi_covers_around(tsurugi_range_source *source, const unsigned char *cover, int count,
								 unsigned char (*covers_out)[TSURUGI_COVER_BYTES_MAX]);

/* The levels of covers that exist. */
extern uint64 tsurugi_covers_present(tsurugi_range_source *source);

#endif /* TSURUGI_COVER_SCAN_H */
