/*
 * replica_identity.h
 *	  ALTER TABLE ... REPLICA IDENTITY.
 */
#ifndef TSURUGI_REPLICA_IDENTITY_H
#define TSURUGI_REPLICA_IDENTITY_H

#include "postgres.h"

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/* Follows the command. */
extern void tsurugi_replica_identity_set(Oid relation, const AlterTableCmd *command);

/* That of an index which is made again; the table's word for it is there. */
extern void tsurugi_replica_identity_mark_index(Relation table, Oid index);

/* A new foreign table is given the identity that an ordinary one has from the start. */
extern void tsurugi_replica_identity_begin(Oid relation);

/* What is to be said of a table that is to have the same as this one, REPLICA IDENTITY ...; NULL: nothing. */
extern char *tsurugi_replica_identity_clause(Relation table);

#endif /* TSURUGI_REPLICA_IDENTITY_H */
