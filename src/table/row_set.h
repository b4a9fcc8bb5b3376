/*
 * row_set.h
 *	  Puts values into a row that is going to be stored.
 */
#ifndef TSURUGI_ROW_SET_H
#define TSURUGI_ROW_SET_H

#include "src/table/row.h"
#include "src/value/datum.h"

/* Takes one column from a datum. */
static inline void
tsurugi_row_set(tsurugi_row *row, int column, Datum datum, bool null)
{
	row->nulls[column] = null;
	if (!null)
		tsurugi_value(&row->described->codecs[column], datum, &row->values[column]);
}

#endif /* TSURUGI_ROW_SET_H */
