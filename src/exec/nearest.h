/*
 * nearest.h
 *	  Scans that bring the nearest rows first.  For scan.c.
 */
#ifndef TSURUGI_NEAREST_H
#define TSURUGI_NEAREST_H

#include "src/exec/scan.h"

/* Prepares a scan whose shape says so; its key values, and its covers, if it has some, are there. */
extern void tsurugi_nearest_init(tsurugi_scan *scan, const tsurugi_scan_exprs *exprs);

/* The next row, as a batch of one, or the last of one, which is the scan's.  False: there is none. */
extern bool tsurugi_nearest_next(tsurugi_scan *scan);

/* Lets it begin again, from another place perhaps. */
extern void tsurugi_nearest_forget(tsurugi_scan *scan);

#endif /* TSURUGI_NEAREST_H */
