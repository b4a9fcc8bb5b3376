/*
 * cover_scan.h
 *	  Scans by conditions on a column of which an index has covers.  For the files that scan.c names.
 */
#ifndef TSURUGI_COVER_SCAN_H
#define TSURUGI_COVER_SCAN_H

#include "utils/geo_decls.h"

#include "src/exec/scan.h"
#include "src/exec/scan_key.h"
#include "src/value/cover.h"

/* Prepares a scan whose shape has covers, by what its plan says of them (scan_plan.h); its key values are there. */
extern void tsurugi_covers_init(tsurugi_scan *scan, const tsurugi_scan_access *access);

/* The range of keys whose turn it is.  False: there is none, with these values of the columns before. */
extern bool tsurugi_covers_make_range(tsurugi_scan *scan, tsurugi_range_end *first, tsurugi_range_end *last);

/* What is wanted of it; NULL: all. */
extern const tg_btree_sieve *tsurugi_covers_sieve(const tsurugi_scan *scan);

/* Goes on to the next one, or to the next values of the columns before.  False: all have had their turn. */
extern bool tsurugi_covers_next_turn(tsurugi_scan *scan);

/*
 * From now on only what may be as near as a box, of the caller's, reaches is wanted (plane.h); NULL: whatever the conditions let
 * through, without any NULLs, too.
 */
extern void tsurugi_covers_near(tsurugi_scan *scan, Oid measure, const BOX *box);

/* Covers of entries around a place in the order of the index, at most count on either side of it, of that level; how many. */
extern int tsurugi_covers_around(tsurugi_scan *scan, const unsigned char *cover, int count,
								 unsigned char (*covers)[TSURUGI_COVER_BYTES_MAX]);

/* The levels of covers that there are. */
extern uint64 tsurugi_covers_present(tsurugi_scan *scan);

/* Lets all of it be computed again. */
extern void tsurugi_covers_forget(tsurugi_scan *scan);

#endif /* TSURUGI_COVER_SCAN_H */
