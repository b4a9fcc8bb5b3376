/*
 * replica_identity.h
 *	  ALTER TABLE ... REPLICA IDENTITY.
 */
#ifndef TSURUGI_REPLICA_IDENTITY_H
#define TSURUGI_REPLICA_IDENTITY_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/* Executes the command. */
extern void tsurugi_replica_identity_set(Oid relation, const AlterTableCmd *command);

/* Marks an index that is made again; the table's catalog entry already has the value. */
extern void tsurugi_replica_identity_mark_index(Relation table, Oid index);

/* Gives a new foreign table the identity that an ordinary one has from the start. */
extern void tsurugi_replica_identity_begin(Oid relation);

/*
 * The clause, REPLICA IDENTITY ..., that gives another table the identity of this one; NULL: none
 * is needed.
 */
extern char *tsurugi_replica_identity_clause(Relation table);

#endif /* TSURUGI_REPLICA_IDENTITY_H */
