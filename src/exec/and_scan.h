/*
 * and_scan.h
 *	  The source of rows by one index that other indexes have to have, too.  For scan.c.
 */
#ifndef TSURUGI_AND_SCAN_H
#define TSURUGI_AND_SCAN_H

#include "src/exec/scan.h"

/* By the ranges of the plan's access; its parts are the other indexes. */
extern tsurugi_source *tsurugi_and_source_make(tsurugi_scan *scan, const tsurugi_scan_plan *plan,
											   const tsurugi_scan_exprs *exprs);

/*
 * For EXPLAIN ANALYZE: the entries read from another index, and the entries of the first index that
 * the others left out.
 */
extern uint64_t tsurugi_and_source_entries(const tsurugi_source *source, int other);
extern uint64_t tsurugi_and_source_passed_over(const tsurugi_source *source);

#endif /* TSURUGI_AND_SCAN_H */
