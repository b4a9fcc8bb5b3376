/*
 * nearest.h
 *	  The source that brings the nearest rows first.  For scan.c.
 */
#ifndef TSURUGI_NEAREST_H
#define TSURUGI_NEAREST_H

#include "src/exec/scan.h"

/* By an access whose shape says so. */
extern tsurugi_source *tsurugi_nearest_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access,
												   const tsurugi_scan_exprs *exprs);

/* For EXPLAIN ANALYZE: the boxes that were read, and rows in them. */
extern void tsurugi_nearest_source_figures(const tsurugi_source *source, uint64 *rows_out, uint64 *boxes_out);

#endif /* TSURUGI_NEAREST_H */
