/*
 * or_scan.h
 *	  The source of rows by several indexes, one after the other, for the arms of an OR.
 *	  For scan.c.
 */
#ifndef TSURUGI_OR_SCAN_H
#define TSURUGI_OR_SCAN_H

#include "src/exec/scan.h"

/* The counters of an arm, for EXPLAIN ANALYZE. */
typedef struct tsurugi_arm_figures
{
	uint64_t rows;	   /* returned */
	uint64_t left_out; /* its conditions did not hold for what the index had */
	uint64_t repeated; /* an earlier arm has them */
} tsurugi_arm_figures;

/* The parts of the plan are the arms. */
extern tsurugi_source *tsurugi_arms_source_make(tsurugi_scan *scan, const List *parts, const tsurugi_scan_exprs *exprs);

extern const tsurugi_arm_figures *tsurugi_arms_source_figures(const tsurugi_source *source, int arm);

#endif /* TSURUGI_OR_SCAN_H */
