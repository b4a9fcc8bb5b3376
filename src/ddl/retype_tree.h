/*
 * retype_tree.h
 *	  ALTER COLUMN TYPE ... USING of tables in memory and ordinary ones that inherit from each
 *	  other.
 */
#ifndef TSURUGI_RETYPE_TREE_H
#define TSURUGI_RETYPE_TREE_H

#include "nodes/parsenodes.h"

#include "src/ddl/utility.h"

/* Whether PostgreSQL would refuse the statement because its USING reaches tables of both kinds. */
extern bool tsurugi_retype_is_mixed(Oid table, const AlterTableStmt *statement);

/*
 * Does PostgreSQL's part of such a statement.  types: its ALTER COLUMN TYPE commands, as written;
 * rest: the statement without them, which is modified.
 */
extern void tsurugi_retype_run_mixed(const tsurugi_utility *utility, Oid table, List *types, AlterTableStmt *rest);

#endif /* TSURUGI_RETYPE_TREE_H */
