/*
 * index_entry.h
 *	  Indexes of foreign tables as entries in PostgreSQL's catalogs.
 *
 * The one place that makes them.
 */
#ifndef TSURUGI_INDEX_ENTRY_H
#define TSURUGI_INDEX_ENTRY_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

/* The index that a PRIMARY KEY or UNIQUE clause stands for; not one with USING INDEX. */
extern IndexStmt *tsurugi_index_of_constraint(const Constraint *constraint);

/*
 * Makes the entries of an index: pg_class, pg_index, with a constraint
 * pg_constraint, and what depends on what.  The relation is exclusively locked
 * (CONCURRENTLY: by ShareUpdateExclusiveLock, and the index is not valid yet);
 * the columns of a primary key are NOT NULL; *statement is scribbled on, text is
 * where it was written.  InvalidOid: IF NOT EXISTS, and there is one.  The
 * storage does not follow by itself.
 */
extern Oid tsurugi_index_entry_create(Relation relation, IndexStmt *statement, const char *text, bool check_rights);

/* ADD CONSTRAINT ... USING INDEX: makes the constraint of an index that is there. */
extern void tsurugi_index_entry_adopt(Relation relation, const Constraint *constraint, const char *text);

/*
 * Whether who writes minds an index that is not valid.  One that is ready is one of the table's again, if an interrupted DROP INDEX
 * CONCURRENTLY had left it dead.
 */
extern void tsurugi_index_entry_set_ready(Relation relation, Oid index, bool ready);

/* An index that is not valid is, from now on. */
extern void tsurugi_index_entry_validate(Relation relation, Oid index);

/* The indexes of a table get its owner, which ALTER ... OWNER leaves undone. */
extern void tsurugi_index_entries_own(Relation relation);

#endif /* TSURUGI_INDEX_ENTRY_H */
