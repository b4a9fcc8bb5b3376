/*
 * commands.h
 *	  Statements that PostgreSQL has for its own tables only.
 */
#ifndef TSURUGI_COMMANDS_H
#define TSURUGI_COMMANDS_H

#include "catalog/namespace.h"

#include "src/ddl/utility.h"

/* Runs a statement that names a table of ours, in the form that works on it.  False: it is not one; nothing was done. */
extern bool tsurugi_command_run(const tsurugi_utility *utility);

/* For RangeVarGetRelidExtended: the table has to be the user's own. */
extern void tsurugi_check_owner(const RangeVar *name, Oid relation, Oid previous, void *argument);

/*
 * Whether the name is that of a table of ours, once it is locked: it may have got another meaning while that was waited for, or none.
 * Then PostgreSQL's way is right, which finds the lock held.
 */
extern bool tsurugi_lock_our_table(const RangeVar *name, LOCKMODE mode, RangeVarGetRelidCallback check);

#endif /* TSURUGI_COMMANDS_H */
