/*
 * key_clause.h
 *	  PRIMARY KEY, UNIQUE and EXCLUDE in statements, which PostgreSQL refuses for foreign tables.
 *
 * They are taken out of the tree before PostgreSQL sees it, as a list of
 * Constraint nodes that name their columns, and made afterwards.
 */
#ifndef TSURUGI_KEY_CLAUSE_H
#define TSURUGI_KEY_CLAUSE_H

#include "nodes/parsenodes.h"
#include "utils/rel.h"

extern bool tsurugi_is_key_clause(Node *node);

/*
 * Takes keys, and the clauses that say when they are checked, out of a column's constraints;
 * returns the longer list.
 */
extern List *tsurugi_key_clauses_of_column(ColumnDef *column, List *keys);

/* Takes keys out of a CREATE TABLE. */
extern List *tsurugi_key_clauses_of_table(CreateStmt *statement);

/*
 * The commands of ALTER TABLE that make the columns of a primary key NOT NULL.  relation: the table
 * of the index in USING INDEX, if there is one.
 */
extern List *tsurugi_key_clauses_set_not_null(Oid relation, List *keys);

/*
 * Checks that the columns of the keys exist; with PostgreSQL's message for keys, which differs from
 * that of SET NOT NULL.
 */
extern void tsurugi_key_clauses_check(Oid relation, List *keys, bool altering, const char *text);

/*
 * Makes the keys; the relation is exclusively locked.  told: event triggers are told of each index.
 */
extern void tsurugi_key_clauses_make(Relation relation, List *keys, const char *text, bool told);

#endif /* TSURUGI_KEY_CLAUSE_H */
