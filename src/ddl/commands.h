/*
 * commands.h
 *	  Statements that PostgreSQL has for its own tables only.
 */
#ifndef TSURUGI_COMMANDS_H
#define TSURUGI_COMMANDS_H

#include "src/base/utility.h"

/* Runs a statement that names a table of ours, in the form that works on it.  False: it is not one; nothing was done. */
extern bool tsurugi_command_run(const tsurugi_utility *utility);

/* For RangeVarGetRelidExtended: the table has to be the user's own. */
extern void tsurugi_check_owner(const RangeVar *name, Oid relation, Oid previous, void *argument);

#endif /* TSURUGI_COMMANDS_H */
