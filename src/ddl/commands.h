/*
 * commands.h
 *	  Statements that PostgreSQL has for its own tables only.
 */
#ifndef TSURUGI_COMMANDS_H
#define TSURUGI_COMMANDS_H

#include "catalog/namespace.h"

#include "src/ddl/utility.h"

/*
 * Executes a statement that names a table in memory, in a form that works on it.  False: it is no
 * such statement, and nothing was done.
 */
extern bool tsurugi_command_run(const tsurugi_utility *utility);

/* For RangeVarGetRelidExtended: the user must own the table. */
extern void tsurugi_check_owner(const RangeVar *name, Oid relation, Oid previous, void *argument);

/*
 * Locks the relation of this name and returns whether it is a table in memory.  While the session
 * waits, the name may get another meaning, or none.  In that case PostgreSQL must handle the
 * statement; it finds the lock held.
 */
extern bool tsurugi_lock_our_table(const RangeVar *name, LOCKMODE mode, RangeVarGetRelidCallback check);

#endif /* TSURUGI_COMMANDS_H */
