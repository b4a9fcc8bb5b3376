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

/* The indexes of a table, valid or not, except for dead ones. */
extern List *tsurugi_partition_indexes(Oid table);

/*
 * A statement has made indexes of a partitioned table ONLY; before are the indexes that the table
 * had.  Makes the parts of the new ones.  lock: the lock that is held on the table and all below
 * it; ShareLock or AccessExclusiveLock.  by_command: CREATE INDEX, which checks rights and whether
 * the partitions are in use.
 */
extern void tsurugi_partition_indexes_spread(Oid table, List *before, LOCKMODE lock, bool by_command);

/*
 * ALTER TABLE of a partitioned table with partitions in memory: its new keys, which PostgreSQL
 * makes for the table ONLY.  The first takes them out of the statement; false if there are none.
 * The second makes them, and their parts.
 */
extern bool tsurugi_partition_keys_take(Oid relation, AlterTableStmt *statement, List **keys);
extern void tsurugi_partition_keys_make(const tsurugi_utility *utility, Oid relation, const AlterTableStmt *statement,
										const List *keys);

/*
 * Gives a table that becomes a partition, and is locked exclusively, its part of an index of the
 * table above: an equal index that it has, or a new one.  If the statement has made the table
 * (is_new), the part is always a new index, and the table's own keys stand beside those of the
 * table above.  The storage follows at the end of the statement.
 */
extern void tsurugi_partition_index_give(Relation above, Oid index, Relation partition, bool is_new);

/*
 * Makes an index of a partitioned table with all its parts; everything is locked exclusively.
 * *statement is modified; text is its source.
 */
extern Oid tsurugi_partition_index_make(Relation table, IndexStmt *statement, const char *text);

/* The indexes of a table in memory, and of those below it. */
extern List *tsurugi_partition_indexes_below(Oid table);

/*
 * Raises 23505 or 23P01 if rows violate deferrable keys or EXCLUDE constraints of a table and of
 * those below it, because the storage does not enforce them; before: the indexes that existed
 * before, which are not checked.
 */
extern void tsurugi_partition_keys_verify(Relation table, const List *before);

#endif /* TSURUGI_PARTITION_INDEX_H */
