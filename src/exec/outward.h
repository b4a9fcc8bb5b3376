/*
 * outward.h
 *	  Scans of an index in its order, from a value outwards.  For nearest.c.
 */
#ifndef TSURUGI_OUTWARD_H
#define TSURUGI_OUTWARD_H

#include "src/exec/scan.h"

typedef struct tsurugi_outward tsurugi_outward;

/* Of a scan whose shape says so, and whose key values are there; place: the column's value; measure: the function of its distance. */
extern tsurugi_outward *tsurugi_outward_make(tsurugi_scan *scan, ForeignScan *plan, Expr *place, Oid measure);

/* As those of nearest.h. */
extern bool tsurugi_outward_next(tsurugi_outward *outward, tsurugi_scan *scan);
extern void tsurugi_outward_forget(tsurugi_outward *outward);

#endif /* TSURUGI_OUTWARD_H */
