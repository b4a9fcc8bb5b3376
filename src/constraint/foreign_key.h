/*
 * foreign_key.h
 *	  Foreign keys to and from tables in memory.
 *
 * They are taken out of the tree before PostgreSQL sees it, because PostgreSQL refuses them by the
 * kind of the table, and made afterwards.
 */
#ifndef TSURUGI_FOREIGN_KEY_H
#define TSURUGI_FOREIGN_KEY_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/*
 * Takes the foreign keys out of a CREATE TABLE: of a table in memory all, of another table those
 * that refer to tables in memory.  Returns Constraint nodes.
 */
extern List *tsurugi_foreign_keys_take(CreateStmt *statement, bool is_ours);

/*
 * The same for one command of ALTER TABLE; adds to *keys.  True if nothing of the command is left.
 */
extern bool tsurugi_foreign_keys_take_command(AlterTableCmd *command, bool is_ours, List **keys);

/*
 * Makes them, and verifies the existing rows unless NOT VALID is given.  only: the statement has
 * ONLY.
 */
extern void tsurugi_foreign_keys_create(Oid relation, List *keys, bool only);

/* --- foreign_key_alter.c ------------------------------------------------------------ */

/*
 * VALIDATE CONSTRAINT has marked a constraint: verifies the rows if it is a foreign key of a table
 * in memory.
 */
extern void tsurugi_foreign_key_validate(Oid relation, const char *name);

/*
 * The table that the foreign key of this name refers to; InvalidOid if neither table is in memory.
 */
extern Oid tsurugi_foreign_key_parent(Oid relation, const char *name);

/*
 * The table's persistence has changed: raises 42P16 if a logged table now refers to an unlogged one
 * by one of its keys.
 */
extern void tsurugi_foreign_keys_check_persistence(Oid relation);

/* ALTER CONSTRAINT of a foreign key of a table in memory. */
extern void tsurugi_foreign_key_alter(Oid relation, const AlterTableCmd *command);

/*
 * PostgreSQL does not rebuild such foreign keys when a column changes its type.  The first finds
 * the keys to or from tables in memory that have this column at either end (a list of OIDs); the
 * others drop one and make it again when the column has changed.
 */
typedef struct tsurugi_dropped_key tsurugi_dropped_key;
extern List *tsurugi_foreign_keys_of_column(Oid relation, const char *column);
extern tsurugi_dropped_key *tsurugi_foreign_key_drop(Oid constraint);
extern void tsurugi_foreign_key_restore(const tsurugi_dropped_key *key, bool validate);

/* Whether it is the key of this name of this relation. */
extern bool tsurugi_foreign_key_is(const tsurugi_dropped_key *key, Oid relation, const char *name);

/* --- foreign_key_check.c ------------------------------------------------------------ */

/*
 * Verifies that every row of the referencing tables of these constraints has its referenced row.
 * Raises 23503.
 */
extern void tsurugi_foreign_key_check_leaves(List *constraints);

/* --- foreign_key_known.c ------------------------------------------------------------ */

/* Whether the constraint has ON UPDATE CASCADE. */
extern bool tsurugi_foreign_key_cascades(Oid constraint);

#endif /* TSURUGI_FOREIGN_KEY_H */
