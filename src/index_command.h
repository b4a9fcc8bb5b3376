/*
 * index_command.h
 *	  CREATE INDEX, ALTER INDEX, REINDEX and DROP INDEX CONCURRENTLY on foreign tables.
 */
#ifndef TSURUGI_INDEX_COMMAND_H
#define TSURUGI_INDEX_COMMAND_H

#include "src/utility.h"

/* False: the statement is not about a table of ours; nothing was done. */
extern bool tsurugi_index_command_create(const tsurugi_utility *utility, IndexStmt *written);
extern bool tsurugi_index_command_alter(const tsurugi_utility *utility, AlterTableStmt *written);
extern bool tsurugi_index_command_rebuild(const tsurugi_utility *utility, ReindexStmt *written);
extern bool tsurugi_index_command_drop(const tsurugi_utility *utility, DropStmt *written);

/* Whether REINDEX is to let others work; raises 25001 if it is, and in a transaction block. */
extern bool tsurugi_reindex_is_concurrent(const tsurugi_utility *utility, const ReindexStmt *written);

#endif /* TSURUGI_INDEX_COMMAND_H */
