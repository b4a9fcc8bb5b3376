/*
 * scan_fit.h
 *	  Where a value lies among those that a column can hold.
 *
 * What a column is compared with need not be one of its own: another integer
 * type's, a number of more digits, a moment in the middle of a day.
 */
#ifndef TSURUGI_SCAN_FIT_H
#define TSURUGI_SCAN_FIT_H

#include "src/value/key_column.h"

typedef enum tsurugi_fit
{
	FIT_WITHIN,	 /* it is one of them */
	FIT_BETWEEN, /* between two of them, and the lower one is given in its place */
	FIT_BELOW,	 /* below, or above, all of them */
	FIT_ABOVE,
	FIT_NOWHERE, /* NULL */
	/* it has no rank in the table, where it may get one any time: between two again, and what is given is the neighbour on the side asked for, or beyond all */
	FIT_UNRANKED
} tsurugi_fit;

/* Whether values of these two types of an operator family compare so that one's place among the other's is known. */
extern bool tsurugi_fits(Oid column, Oid value);

/* The place of a value that is not NULL, of a type that fits, among those of a table; *out for WITHIN, BETWEEN and UNRANKED. */
extern tsurugi_fit tsurugi_fit_value(tg_table *table, const tsurugi_key_column *column, Oid type, Datum datum,
									 tg_key_side side, tg_value *out);

/* A value of the column's own type as it is in keys, whether or not a row has it. */
extern void tsurugi_place_value(tg_table *table, const tsurugi_key_column *column, Datum datum, tg_value *out);

#endif /* TSURUGI_SCAN_FIT_H */
