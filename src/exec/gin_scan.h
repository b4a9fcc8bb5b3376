/*
 * gin_scan.h
 *	  The source of rows by conditions on an index USING gin.  For range_scan.c.
 */
#ifndef TSURUGI_GIN_SCAN_H
#define TSURUGI_GIN_SCAN_H

#include "src/exec/range_scan.h"

/* By an access that has conditions. */
extern tsurugi_range_source *tsurugi_gin_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access,
													 const List *values);

#endif /* TSURUGI_GIN_SCAN_H */
