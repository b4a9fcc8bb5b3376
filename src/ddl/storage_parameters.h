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

/* Applies such a command to the options of a table in memory, which is locked. */
extern void tsurugi_storage_alter(Oid relation, const AlterTableCmd *command);

/* Makes a sequence logged or unlogged; it is stored anew if that changes. */
extern void tsurugi_storage_set_persistence(Oid sequence, char persistence);

/* Whether tables of a server are unlogged where they do not say otherwise. */
extern bool tsurugi_storage_default_is_unlogged(const char *server);

/* The options of a table that is being made on this server. */
extern List *tsurugi_storage_with_default(List *options, const char *server);

/*
 * A statement may have changed the persistence of a table in memory, which is exclusively locked:
 * sequences follow at once, the storage with tsurugi_altered_follow().  Returns whether it has
 * changed.
 */
extern bool tsurugi_storage_follow_persistence(Oid relation, char before);

/* ALTER SERVER has been executed: tables keep their persistence, whatever the default is now. */
extern void tsurugi_storage_server_altered(Oid server);

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
