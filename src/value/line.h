/*
 * line.h
 *	  Distances of values that lie on a line: numbers and times.
 */
#ifndef TSURUGI_LINE_H
#define TSURUGI_LINE_H

#include "postgres.h"

#include "fmgr.h"

/* What is measured, and by what. */
typedef struct tsurugi_line
{
	Oid type;
	FmgrInfo measure;
} tsurugi_line;

/* Where a value is. */
typedef union tsurugi_line_place
{
	int128 count;	/* of the type's units */
	double floated; /* of floating point */
} tsurugi_line_place;

/* Whether an operator's function tells how far from each other two values of this base type are. */
extern bool tsurugi_line_measures(Oid function, Oid type);

/* Of such a function and type, in the current memory context. */
extern void tsurugi_line_init(tsurugi_line *line, Oid function, Oid type);

extern tsurugi_line_place tsurugi_line_place_of(Oid type, Datum value);

/* How far two places are from each other: a number by which rows come in the order of the operator's results; less than TSURUGI_LINE_NOWHERE. */
#define TSURUGI_LINE_NOWHERE (~(uint128) 0)
extern uint128 tsurugi_line_distance(tsurugi_line *line, const tsurugi_line_place *a, const tsurugi_line_place *b);

/* Whether a place may be farther from itself than what is above it: of two halves of the line that part there it is to be the end of the lower one. */
extern bool tsurugi_line_place_is_low(Oid type, const tsurugi_line_place *place);

#endif /* TSURUGI_LINE_H */
