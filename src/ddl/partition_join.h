/*
 * partition_join.h
 *	  Indexes and foreign keys of a partitioned table reach a new partition in memory.
 */
#ifndef TSURUGI_PARTITION_JOIN_H
#define TSURUGI_PARTITION_JOIN_H

#include "nodes/parsenodes.h"

/*
 * A statement is about to add a partition to a table.  Returns NULL if PostgreSQL can do all of it;
 * otherwise the second function must be called when PostgreSQL has done its part.
 */
typedef struct tsurugi_join tsurugi_join;
extern tsurugi_join *tsurugi_partition_join_begin(Node *tree);
extern void tsurugi_partition_join_finish(tsurugi_join *join);

/*
 * A partition that is attached gets no parts of hidden indexes.  While they are hidden, only this
 * transaction uses them.
 */
extern void tsurugi_partition_indexes_hide(Oid table, const List *indexes, bool hidden);

/* A partition is about to be detached. */
extern void tsurugi_partition_leave(const RangeVar *name);

#endif /* TSURUGI_PARTITION_JOIN_H */
