/*
 * system_columns.h
 *	  xmin, xmax, cmin and cmax of rows in memory.
 */
#ifndef TSURUGI_SYSTEM_COLUMNS_H
#define TSURUGI_SYSTEM_COLUMNS_H

#include "executor/tuptable.h"
#include "nodes/bitmapset.h"
#include "nodes/nodes.h"

/* Whether a plan of this session has named one: else nobody looks at what slots say of them. */
extern bool tsurugi_system_columns_named;

/* Whether one is among attributes (offset as pull_varattnos has it), or named of a relation in expressions; notes it for the above. */
extern bool tsurugi_system_columns_are_in(const Bitmapset *attributes);
extern bool tsurugi_system_columns_are_named(Node *expressions, Index relation);

/*
 * The slot has a row of the table, with all its columns as they are stored, and its ctid.  Gives it the system columns, if
 * it is a slot that can have them.
 */
extern void tsurugi_system_columns_add(TupleTableSlot *slot, Oid table);

/* The same of a row that has just been written, whose columns are as stored, for RETURNING; xmax is not 0 where there was one before. */
extern void tsurugi_system_columns_copy(TupleTableSlot *slot, Oid table, TupleTableSlot *stored, bool replaced);

#endif /* TSURUGI_SYSTEM_COLUMNS_H */
