/*
 * or_scan.h
 *	  Scans by several indexes, one after the other, for the arms of an OR.
 *	  For the files that scan.c names.
 */
#ifndef TSURUGI_OR_SCAN_H
#define TSURUGI_OR_SCAN_H

#include "src/exec/scan.h"

/* What an arm has done, for EXPLAIN ANALYZE. */
typedef struct tsurugi_arm_figures
{
	uint64_t rows;	   /* handed up */
	uint64_t left_out; /* its conditions did not hold for what the index had */
	uint64_t repeated; /* an earlier arm has them */
} tsurugi_arm_figures;

/* Makes the arms of a scan whose own columns are there. */
extern void tsurugi_arms_init(tsurugi_scan *scan, const List *parts, const tsurugi_scan_exprs *exprs);

/* As the functions of a scan that are called like them (scan.h). */
extern void tsurugi_arms_start(tsurugi_scan *scan);
extern bool tsurugi_arms_next_batch(tsurugi_scan *scan);
extern void tsurugi_arms_restart(tsurugi_scan *scan);
extern void tsurugi_arms_end(tsurugi_scan *scan);
extern void tsurugi_arms_forget(tsurugi_scan *scan);

extern const tsurugi_arm_figures *tsurugi_arms_figures(const tsurugi_scan *scan, int arm);

#endif /* TSURUGI_OR_SCAN_H */
