/*
 * access_method.h
 *	  ALTER TABLE ... SET ACCESS METHOD: a table moves into memory, or back.
 */
#ifndef TSURUGI_ACCESS_METHOD_H
#define TSURUGI_ACCESS_METHOD_H

#include "src/ddl/utility.h"

/*
 * The relation that the statement is about.  If the statement moves that relation and the user owns
 * it, the relation and its inheritance parents are locked.  If another session has moved it during
 * the wait for the lock, the result is the relation that now has the name.
 */
extern Oid tsurugi_access_method_lock(const AlterTableStmt *statement);

/*
 * Executes the statement if it moves a table, which the user owns, into or out of memory.  False:
 * it does something else, and nothing was done.
 */
extern bool tsurugi_access_method_run(const tsurugi_utility *utility, Oid relation, AlterTableStmt *statement);

#endif /* TSURUGI_ACCESS_METHOD_H */
