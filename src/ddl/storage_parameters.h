/*
 * storage_parameters.h
 *	  What is said of how an ordinary table is stored, kept as options of a table in memory.
 */
#ifndef TSURUGI_STORAGE_PARAMETERS_H
#define TSURUGI_STORAGE_PARAMETERS_H

#include "nodes/parsenodes.h"

/* Raises PostgreSQL's errors for a tablespace where there is nothing to be put; NULL: the default one. */
extern void tsurugi_check_tablespace(const char *name);

/* The options (DefElem) that a CREATE TABLE has said; with PostgreSQL's errors about it. */
extern List *tsurugi_storage_options(const CreateStmt *statement);

/* Whether a command of ALTER TABLE is about that.  If so, and it is in error, raises what PostgreSQL raises. */
extern bool tsurugi_storage_is_altered_by(const AlterTableCmd *command);

/* Does such a command to a table of ours, which is locked. */
extern void tsurugi_storage_alter(Oid relation, const AlterTableCmd *command);

/* Of a sequence, which is stored anew if it is not so. */
extern void tsurugi_storage_set_persistence(Oid sequence, char persistence);

/* The sequences that a table of ours owns are logged, or not, as it is; as PostgreSQL has it where they are made, or the table is altered. */
extern void tsurugi_storage_follow(Oid relation);

/* As a CREATE TABLE for another relation would say it, of either kind: clauses at its end, and *unlogged_out. */
extern char *tsurugi_storage_clauses(Oid relation, bool *unlogged_out);

#endif /* TSURUGI_STORAGE_PARAMETERS_H */
