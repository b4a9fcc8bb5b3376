/*
 * rebuild.h
 *	  Indexes on columns whose type an ALTER TABLE changes.
 */
#ifndef TSURUGI_REBUILD_H
#define TSURUGI_REBUILD_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * Drops the indexes of a table that depend on a column; returns the list with their definitions
 * added.
 */
extern List *tsurugi_rebuild_drop(Oid table, const char *column, List *rebuilds);

/* Makes them again.  Returns the other indexes of the tables. */
extern List *tsurugi_rebuild_make(const List *rebuilds);

/*
 * Verifies the rows for those of them that the storage does not enforce, when the storage has the
 * rows.
 */
extern void tsurugi_rebuild_verify(const List *rebuilds, const List *beside);

#endif /* TSURUGI_REBUILD_H */
