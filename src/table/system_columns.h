/*
 * system_columns.h
 *	  xmin, xmax, cmin and cmax of rows in memory.
 */
#ifndef TSURUGI_SYSTEM_COLUMNS_H
#define TSURUGI_SYSTEM_COLUMNS_H

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/nodes.h"

/* Whether a plan of this session has named one; otherwise nothing reads them from slots. */
extern bool tsurugi_system_columns_named;

/*
 * Whether one is among attributes (offset as in pull_varattnos), or named in expressions for a
 * relation; sets the variable above.
 */
extern bool tsurugi_system_columns_are_in(const Bitmapset *attributes);
extern bool tsurugi_system_columns_are_named(Node *expressions, Index relation);

/*
 * The slot has a row of the table, with all its columns as stored, and its ctid.  Adds the system
 * columns, if the slot can have them.
 */
extern void tsurugi_system_columns_add(TupleTableSlot *slot, Oid table);

/*
 * The same for a row that has just been written, whose columns are as stored, for RETURNING; xmax
 * is not 0 if it replaced another row.
 */
extern void tsurugi_system_columns_copy(TupleTableSlot *slot, Oid table, TupleTableSlot *stored, bool replaced);

#endif /* TSURUGI_SYSTEM_COLUMNS_H */
