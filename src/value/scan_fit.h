/*
 * scan_fit.h
 *	  The place of a value among those that a column can hold.
 *
 * A column may be compared with a value that it cannot hold: of another integer type, a number with
 * more digits, a moment in the middle of a day.
 */
#ifndef TSURUGI_SCAN_FIT_H
#define TSURUGI_SCAN_FIT_H

#include "runtime/order/value.h"
#include "runtime/index/long_key.h"
#include "src/value/key_column.h"

typedef enum tsurugi_fit
{
	FIT_WITHIN,	 /* it is one of them */
	FIT_BETWEEN, /* between two of them; the lower one is given instead */
	FIT_BELOW,	 /* below, or above, all of them */
	FIT_ABOVE,
	FIT_NOWHERE, /* NULL */
	/*
	 * It has no rank in the table, but may get one at any time: it is between two of them, and the
	 * neighbour on the requested side is given, or a rank beyond all.
	 */
	FIT_UNRANKED
} tsurugi_fit;

/*
 * Whether the place of a value of one type among values of the other is known; both types are in
 * one operator family.
 */
extern bool tsurugi_fits(Oid column, Oid value);

/*
 * The place of a value that is not NULL, of a type that fits, among those of a table; sets *out for
 * WITHIN, BETWEEN and UNRANKED.
 */
extern tsurugi_fit tsurugi_fit_value(tg_table *table, const tsurugi_key_column *column, Oid type, Datum datum,
									 tg_key_side side, tg_value *out);

/* The form of a value of the column's own type in keys, whether or not a row has it. */
extern void tsurugi_place_value(tg_table *table, const tsurugi_key_column *column, Datum datum, tg_value *out);

#endif /* TSURUGI_SCAN_FIT_H */
