/*
 * cover_scan.h
 *	  Scans by conditions on a column of which an index has covers.  For scan.c.
 */
#ifndef TSURUGI_COVER_SCAN_H
#define TSURUGI_COVER_SCAN_H

#include "src/exec/scan.h"
#include "src/exec/scan_key.h"
#include "src/value/cover.h"

/* Prepares a scan whose shape has covers; its key values are there. */
extern void tsurugi_covers_init(tsurugi_scan *scan, ForeignScan *plan);

/* The range of keys whose turn it is.  False: there is none, with these values of the columns before. */
extern bool tsurugi_covers_make_range(tsurugi_scan *scan, tsurugi_range_end *first, tsurugi_range_end *last);

/* What is wanted of it; NULL: all. */
extern const tg_btree_sieve *tsurugi_covers_sieve(const tsurugi_scan *scan);

/* Goes on to the next one, or to the next values of the columns before.  False: all have had their turn. */
extern bool tsurugi_covers_next_turn(tsurugi_scan *scan);

/* Lets all of it be computed again. */
extern void tsurugi_covers_forget(tsurugi_scan *scan);

/* What covers there are in an index of such a column, behind what all columns before are encoded to. */
extern void tsurugi_covers_look(tg_session *session, tg_btree *tree, const tsurugi_key_column *column,
								const unsigned char *before, size_t before_bytes, tsurugi_cover_levels *levels);

#endif /* TSURUGI_COVER_SCAN_H */
