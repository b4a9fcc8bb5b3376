/*
 * rebuild.h
 *	  Indexes on columns whose type an ALTER TABLE changes.
 */
#ifndef TSURUGI_REBUILD_H
#define TSURUGI_REBUILD_H

#include "postgres.h"

#include "nodes/pg_list.h"

/* Drops the indexes of a table that depend on a column; the list with what it takes to make them again. */
extern List *tsurugi_rebuild_drop(Oid table, const char *column, List *rebuilds);

/* Makes them again.  Returns the indexes that the tables have beside them. */
extern List *tsurugi_rebuild_make(const List *rebuilds);

/* Looks at the rows for those of them that the storage lets be violated, when it has them. */
extern void tsurugi_rebuild_verify(const List *rebuilds, const List *beside);

#endif /* TSURUGI_REBUILD_H */
