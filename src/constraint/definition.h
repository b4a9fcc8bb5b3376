/*
 * definition.h
 *	  Constraints as the statements that make them.
 */
#ifndef TSURUGI_CONSTRAINT_DEFINITION_H
#define TSURUGI_CONSTRAINT_DEFINITION_H

#include "access/attnum.h"
#include "access/htup.h"
#include "utils/relcache.h"

/*
 * The ALTER TABLE that makes this existing constraint; raises 40001 if the transaction's snapshot
 * does not show it.
 */
extern char *tsurugi_constraint_definition(Oid constraint);

/* PostgreSQL is about to write the CHECK constraints on a column: raises 40001 in the same way. */
extern void tsurugi_checks_have_to_be_seen(Oid relation, const char *column);

/*
 * Whether one of the arrays of columns in an entry of pg_constraint (Anum_pg_constraint_...)
 * contains this column.
 */
extern bool tsurugi_constraint_has_column(HeapTuple tuple, Relation catalog, AttrNumber field, AttrNumber column);

#endif /* TSURUGI_CONSTRAINT_DEFINITION_H */
