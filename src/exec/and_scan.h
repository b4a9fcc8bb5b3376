/*
 * and_scan.h
 *	  Scans by one index, of rows that others have to have, too.
 *	  For the files that scan.c names.
 */
#ifndef TSURUGI_AND_SCAN_H
#define TSURUGI_AND_SCAN_H

#include "src/exec/scan.h"

/* Makes the others of a scan whose columns are there and whose own index is not. */
extern void tsurugi_others_init(tsurugi_scan *scan, const List *parts, const tsurugi_scan_exprs *exprs);

extern void tsurugi_others_start(tsurugi_scan *scan);

/* The rows that may be in all of the others, as of the scan's snapshot; read where they have not been. */
extern const tg_row_set *tsurugi_others_rows(tsurugi_scan *scan);

/* The scan starts over. */
extern void tsurugi_others_forget(tsurugi_scan *scan);

/* For EXPLAIN ANALYZE: entries read of one of them, by all executions. */
extern uint64_t tsurugi_others_entries(const tsurugi_scan *scan, int other);

#endif /* TSURUGI_AND_SCAN_H */
