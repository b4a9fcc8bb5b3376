/*
 * storage_parameters.h
 *	  Storage properties of ordinary tables, kept as options of a table in memory.
 */
#ifndef TSURUGI_STORAGE_PARAMETERS_H
#define TSURUGI_STORAGE_PARAMETERS_H

#include "nodes/parsenodes.h"

/*
 * Raises PostgreSQL's errors for a tablespace in which the user may not create anything; NULL: the
 * default one.
 */
extern void tsurugi_check_tablespace(const char *name);

/* The options (DefElem) for a CREATE TABLE; raises PostgreSQL's errors about them. */
extern List *tsurugi_storage_options(const CreateStmt *statement);

/*
 * Whether a command of ALTER TABLE concerns storage properties.  If so, raises PostgreSQL's errors
 * about it.
 */
extern bool tsurugi_storage_is_altered_by(const AlterTableCmd *command);

/* Applies such a command to a table in memory, which is locked. */
extern void tsurugi_storage_alter(Oid relation, const AlterTableCmd *command);

/* Makes a sequence logged or unlogged; it is stored anew if that changes. */
extern void tsurugi_storage_set_persistence(Oid sequence, char persistence);

/*
 * Makes the sequences that a table in memory owns logged or unlogged, as the table is; PostgreSQL
 * does so where they are made, or the table is altered.
 */
extern void tsurugi_storage_follow(Oid relation);

/*
 * The properties as clauses at the end of a CREATE TABLE for another relation, of either kind; and
 * *unlogged_out.
 */
extern char *tsurugi_storage_clauses(Oid relation, bool *unlogged_out);

#endif /* TSURUGI_STORAGE_PARAMETERS_H */
