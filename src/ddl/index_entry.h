/*
 * index_entry.h
 *	  Indexes of foreign tables as entries in PostgreSQL's catalogs.
 *
 * No other file makes such entries.
 */
#ifndef TSURUGI_INDEX_ENTRY_H
#define TSURUGI_INDEX_ENTRY_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/*
 * The index that a PRIMARY KEY, UNIQUE or EXCLUDE clause stands for; not for one with USING INDEX.
 */
extern IndexStmt *tsurugi_index_of_constraint(const Constraint *constraint);

/*
 * Makes the entries of an index: in pg_class, pg_index and, for a constraint, pg_constraint, with
 * all dependencies.  The relation is exclusively locked (CONCURRENTLY: by ShareUpdateExclusiveLock,
 * and the index is not valid yet); the columns of a primary key are NOT NULL.  *statement is
 * modified; text is its source.  InvalidOid: IF NOT EXISTS, and the index exists.  The caller must
 * see to the storage.
 */
extern Oid tsurugi_index_entry_create(Relation relation, IndexStmt *statement, const char *text, bool check_rights);

/* ADD CONSTRAINT ... USING INDEX: makes a constraint of an existing index. */
extern void tsurugi_index_entry_adopt(Relation relation, const Constraint *constraint, const char *text);

/*
 * Sets whether writers maintain an index that is not valid.  This also makes an index live again
 * that an interrupted DROP INDEX CONCURRENTLY has left dead.
 */
extern void tsurugi_index_entry_set_ready(Relation relation, Oid index, bool ready);

/* Makes an index valid. */
extern void tsurugi_index_entry_validate(Relation relation, Oid index);

/* Gives the table's indexes the table's owner; ALTER ... OWNER does not do that. */
extern void tsurugi_index_entries_own(Relation relation);

#endif /* TSURUGI_INDEX_ENTRY_H */
