/*
 * total.h
 *	  An aggregate of one group, as it is handed out.
 */
#ifndef TG_TOTAL_H
#define TG_TOTAL_H

#include <stdint.h>

#include "runtime/order/value.h"
#include "runtime/query/query.h"

/* The state of an aggregate of one group. */
struct tg_total
{
	__int128 sum;	/* SUM_INT, SUM_DECIMAL: times 10 to the power of the scale */
	int scale;		/* SUM_DECIMAL */
	double total;	/* SUM_FLOAT */
	uint64_t count; /* COUNT; the others: rows that are not NULL; 0: the aggregate is NULL */
	tg_value value; /* MIN, MAX: BOOL, INT and FLOAT in the word, a DECIMAL in the bytes */
};

#endif /* TG_TOTAL_H */
