/*
 * foreign_key_entry.h
 *	  Foreign keys as entries in PostgreSQL's catalogs.
 *
 * No other file makes such entries.
 */
#ifndef TSURUGI_FOREIGN_KEY_ENTRY_H
#define TSURUGI_FOREIGN_KEY_ENTRY_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/* The properties of a foreign key between two tables. */
typedef struct tsurugi_foreign_key
{
	char *name;
	bool deferrable;
	bool deferred; /* initially */
	bool valid;
	char on_update; /* FKCONSTR_ACTION_... */
	char on_delete;
	char match;
	Oid index; /* of the parent's unique key */
	int count;
	int16 child_columns[INDEX_MAX_KEYS];
	int16 parent_columns[INDEX_MAX_KEYS];
	Oid parent_child[INDEX_MAX_KEYS]; /* equality operators */
	Oid parent_parent[INDEX_MAX_KEYS];
	Oid child_child[INDEX_MAX_KEYS];
	int set_count; /* ON DELETE SET NULL (columns) */
	int16 set_columns[INDEX_MAX_KEYS];
} tsurugi_foreign_key;

/*
 * Makes the entries of a foreign key, and those of partitions at both ends.  Both tables are locked
 * (ShareRowExclusiveLock).  Adds to *leaves the constraints of the referencing tables that have
 * rows, which have not been verified yet.
 */
extern void tsurugi_foreign_key_enter(const tsurugi_foreign_key *key, Relation child, Relation parent, List **leaves);

/* PostgreSQL's trigger function for an action (FKCONSTR_ACTION_...) on the referenced table. */
extern Oid tsurugi_foreign_key_action(char action, bool is_delete);

/* --- of partitions -------------------------------------------------------------------- */

/* The constraint of which this one is a part, or InvalidOid. */
extern Oid tsurugi_constraint_parent(Oid constraint);

/* Whether the table is in memory, or one of its partitions is. */
extern bool tsurugi_holds_our_table(Oid relation);

/*
 * The table has become a partition of the other one, and gets its foreign keys, at both ends; an
 * equal one that it already has becomes a part of the parent's.
 */
extern void tsurugi_foreign_keys_join(Relation above, Relation partition, List **leaves);

/*
 * The table is about to be detached: the foreign keys that it has from the other one become its
 * own.
 */
extern void tsurugi_foreign_keys_leave(Relation partition);

#endif /* TSURUGI_FOREIGN_KEY_ENTRY_H */
