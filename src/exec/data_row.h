/*
 * data_row.h
 *	  Rows as messages to the client, for look-ups that keep their executor state.
 */
#ifndef TSURUGI_DATA_ROW_H
#define TSURUGI_DATA_ROW_H

#include "executor/tuptable.h"
#include "tcop/dest.h"

typedef struct tsurugi_data_row tsurugi_data_row;

/*
 * For rows of these columns, in the current memory context, for as long as that
 * lives.  NULL if one of them is of a type that is not PostgreSQL's own.
 */
extern tsurugi_data_row *tsurugi_data_row_make(TupleDesc columns);

/*
 * Whether tsurugi_data_row_send does everything that a receiver does, in these formats (one per
 * column).
 */
extern bool tsurugi_data_row_serves(const tsurugi_data_row *row, const DestReceiver *receiver, const int16 *formats);

/*
 * Sends a slot's row.  Output functions allocate in the current memory context,
 * which the caller resets.
 */
extern void tsurugi_data_row_send(tsurugi_data_row *row, TupleTableSlot *slot, const int16 *formats);

/* Between two executions: gives back the memory of a large row. */
extern void tsurugi_data_row_rest(tsurugi_data_row *row);

#endif /* TSURUGI_DATA_ROW_H */
