/*
 * foreign_key.h
 *	  Foreign keys to and from tables in memory.
 *
 * They are taken out of the tree before PostgreSQL sees it, which refuses them
 * by the kind of the table, and made afterwards.
 */
#ifndef TSURUGI_FOREIGN_KEY_H
#define TSURUGI_FOREIGN_KEY_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/*
 * Takes the foreign keys out of a CREATE TABLE: of a table of ours all, of
 * another those to tables of ours.  Returns Constraint nodes.
 */
extern List *tsurugi_foreign_keys_take(CreateStmt *statement, bool is_ours);

/*
 * The same of one command of ALTER TABLE, adding to *keys.  True if nothing is left
 * of it.
 */
extern bool tsurugi_foreign_keys_take_command(AlterTableCmd *command, bool is_ours, List **keys);

/*
 * Makes them, and looks at the rows that are there unless NOT VALID says otherwise.  only: the
 * statement says so.
 */
extern void tsurugi_foreign_keys_create(Oid relation, List *keys, bool only);

/* --- foreign_key_alter.c ------------------------------------------------------------ */

/*
 * VALIDATE CONSTRAINT has marked a constraint: looks at the rows, if it is a
 * foreign key of a table of ours.
 */
extern void tsurugi_foreign_key_validate(Oid relation, const char *name);

/* The table that the foreign key of this name refers to; InvalidOid if it has nothing to do with us. */
extern Oid tsurugi_foreign_key_parent(Oid relation, const char *name);

/* ALTER CONSTRAINT of a foreign key of a table of ours. */
extern void tsurugi_foreign_key_alter(Oid relation, const AlterTableCmd *command);

/*
 * PostgreSQL does not rebuild them where a column changes its type.  Those that have
 * to do with us and with this column, at either end (a list of oids); and to drop one
 * and make it again when the column has changed.
 */
typedef struct tsurugi_dropped_key tsurugi_dropped_key;
extern List *tsurugi_foreign_keys_of_column(Oid relation, const char *column);
extern tsurugi_dropped_key *tsurugi_foreign_key_drop(Oid constraint);
extern void tsurugi_foreign_key_restore(const tsurugi_dropped_key *key, bool validate);

/* Whether it is the one of this name; of another table it is not. */
extern bool tsurugi_foreign_key_is(const tsurugi_dropped_key *key, Oid relation, const char *name);

/* --- foreign_key_check.c ------------------------------------------------------------ */

/* Whether every row of the referencing tables of these constraints has its referenced one.  Raises 23503. */
extern void tsurugi_foreign_key_check_leaves(List *constraints);

/* --- foreign_key_known.c ------------------------------------------------------------ */

/* Whether ON UPDATE CASCADE is what the constraint says. */
extern bool tsurugi_foreign_key_cascades(Oid constraint);

#endif /* TSURUGI_FOREIGN_KEY_H */
