/*
 * access_method.h
 *	  ALTER TABLE ... SET ACCESS METHOD: a table moves into memory, or back.
 */
#ifndef TSURUGI_ACCESS_METHOD_H
#define TSURUGI_ACCESS_METHOD_H

#include "src/utility.h"

/*
 * Runs the statement if it moves a table, which the user owns, into or out of
 * memory.  False: it does something else; nothing was done.
 */
extern bool tsurugi_access_method_run(const tsurugi_utility *utility, Oid relation, AlterTableStmt *statement);

#endif /* TSURUGI_ACCESS_METHOD_H */
