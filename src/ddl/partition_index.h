/*
 * partition_index.h
 *	  Indexes of partitioned tables, and their parts in partitions in memory.
 */
#ifndef TSURUGI_PARTITION_INDEX_H
#define TSURUGI_PARTITION_INDEX_H

#include "nodes/parsenodes.h"
#include "storage/lock.h"
#include "utils/rel.h"

#include "src/ddl/utility.h"

/* The indexes that a table has, valid or not, but for dead ones. */
extern List *tsurugi_partition_indexes(Oid table);

/*
 * A statement has made indexes of a partitioned table ONLY, which had those before: makes their parts.  lock: of the
 * table and all below it, which are locked so already; ShareLock or AccessExclusiveLock.  by_command: CREATE INDEX,
 * which minds rights and who uses the partitions.
 */
extern void tsurugi_partition_indexes_spread(Oid table, List *before, LOCKMODE lock, bool by_command);

/*
 * ALTER TABLE of a partitioned table that has partitions of ours: its new keys, which PostgreSQL makes for the table
 * alone.  Takes them out of the statement; false if there are none.  The second makes them, and their parts.
 */
extern bool tsurugi_partition_keys_take(Oid relation, AlterTableStmt *statement, List **keys);
extern void tsurugi_partition_keys_make(const tsurugi_utility *utility, Oid relation, const AlterTableStmt *statement,
										const List *keys);

/*
 * What becomes a partition, and is locked exclusively, gets its part of an index of the table above: one that it has and that is
 * the same, or a new one; always a new one if the statement has made it (is_new), whose own keys stand beside those of the
 * table above.  The storage follows at the end of the statement.
 */
extern void tsurugi_partition_index_give(Relation above, Oid index, Relation partition, bool is_new);

/*
 * Makes an index of a partitioned table with all its parts; everything is locked exclusively.  *statement is scribbled on,
 * text is where it was written.
 */
extern Oid tsurugi_partition_index_make(Relation table, IndexStmt *statement, const char *text);

/* The indexes of a table of ours, and of those below it. */
extern List *tsurugi_partition_indexes_below(Oid table);

/*
 * Raises 23505 or 23P01 for deferrable keys and EXCLUDE constraints of a table and of what is below it, which the storage lets be
 * violated; but for those that there were before.
 */
extern void tsurugi_partition_keys_verify(Relation table, const List *before);

#endif /* TSURUGI_PARTITION_INDEX_H */
