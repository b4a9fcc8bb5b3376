/*
 * index_command.h
 *	  CREATE INDEX, ALTER INDEX and DROP INDEX CONCURRENTLY on foreign tables.
 */
#ifndef TSURUGI_INDEX_COMMAND_H
#define TSURUGI_INDEX_COMMAND_H

#include "catalog/namespace.h"

#include "src/ddl/utility.h"

/* Each executes the statement.  False: it is not about a table in memory, and nothing was done. */
extern bool tsurugi_index_command_create(const tsurugi_utility *utility, IndexStmt *written);
extern bool tsurugi_index_command_alter(const tsurugi_utility *utility, AlterTableStmt *written);
extern bool tsurugi_index_command_drop(const tsurugi_utility *utility, DropStmt *written);

/* Whether this is an index of a table in memory; InvalidOid is not. */
extern bool tsurugi_is_our_index(Oid index);

/*
 * Locks the table of an index that was found by its name, and then the index, in PostgreSQL's
 * order.  False: the name has another meaning by then, or none.
 */
extern bool tsurugi_index_lock_named(const RangeVar *name, Oid index, LOCKMODE mode, RangeVarGetRelidCallback check);

#endif /* TSURUGI_INDEX_COMMAND_H */
