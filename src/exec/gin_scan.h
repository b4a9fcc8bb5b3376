/*
 * gin_scan.h
 *	  Scans by conditions on an index USING gin.  For the files that scan.c names.
 */
#ifndef TSURUGI_GIN_SCAN_H
#define TSURUGI_GIN_SCAN_H

#include "src/exec/scan.h"
#include "src/exec/scan_key.h"

/* Prepares a scan whose plan says what is sought (scan_plan.h); its key values are there. */
extern void tsurugi_sought_init(tsurugi_scan *scan, const tsurugi_scan_access *access);

/* The range of keys whose turn it is.  False: there is none, no row can be wanted. */
extern bool tsurugi_sought_make_range(tsurugi_scan *scan, tsurugi_range_end *first, tsurugi_range_end *last);

/* Goes on to the next one.  False: all have had their turn. */
extern bool tsurugi_sought_next_turn(tsurugi_scan *scan);

/* What the storage is to look for in each row's keys: for the range scan, which has been made. */
extern const tg_sought *tsurugi_sought_of(const tsurugi_scan *scan);

/* Drops rows from the batch that, by their keys, are not wanted; how many are left. */
extern unsigned tsurugi_sought_filter(tsurugi_scan *scan, unsigned count);

/* Lets all of it be computed again. */
extern void tsurugi_sought_forget(tsurugi_scan *scan);

#endif /* TSURUGI_GIN_SCAN_H */
