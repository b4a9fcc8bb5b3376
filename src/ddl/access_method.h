/*
 * access_method.h
 *	  ALTER TABLE ... SET ACCESS METHOD: a table moves into memory, or back.
 */
#ifndef TSURUGI_ACCESS_METHOD_H
#define TSURUGI_ACCESS_METHOD_H

#include "src/ddl/utility.h"

/*
 * What the statement is about.  If it moves that, and the user owns it, it is locked, as is what it inherits from; whoever
 * waited for another one to move it is told of the relation that there is now.
 */
extern Oid tsurugi_access_method_lock(const AlterTableStmt *statement);

/*
 * Runs the statement if it moves a table, which the user owns, into or out of
 * memory.  False: it does something else; nothing was done.
 */
extern bool tsurugi_access_method_run(const tsurugi_utility *utility, Oid relation, AlterTableStmt *statement);

#endif /* TSURUGI_ACCESS_METHOD_H */
