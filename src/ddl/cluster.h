/*
 * cluster.h
 *	  CLUSTER of tables in memory.
 */
#ifndef TSURUGI_CLUSTER_H
#define TSURUGI_CLUSTER_H

#include "utils/rel.h"

#include "src/ddl/utility.h"

/* Executes a CLUSTER that concerns a table in memory.  False: it does not, and nothing was done. */
extern bool tsurugi_cluster_run(const tsurugi_utility *utility, const ClusterStmt *cluster);

/* ALTER TABLE ... CLUSTER ON, or SET WITHOUT CLUSTER, of a table in memory. */
extern void tsurugi_cluster_mark(Oid relation, const AlterTableCmd *command);

/* The index that a table was clustered by, or InvalidOid. */
extern Oid tsurugi_clustered_index(Relation table);

/* The index of this name; raises PostgreSQL's error if there is none. */
extern Oid tsurugi_index_of_name(Relation table, const char *name);

#endif /* TSURUGI_CLUSTER_H */
