/*
 * key_clause.h
 *	  Primary keys in statements, which PostgreSQL refuses for foreign tables.
 *
 * They are taken out of the tree before PostgreSQL sees it, and made afterwards
 * (keys.h).
 */
#ifndef TSURUGI_KEY_CLAUSE_H
#define TSURUGI_KEY_CLAUSE_H

#include "nodes/parsenodes.h"

/* A primary key taken out of a statement. */
typedef struct tsurugi_key_clause
{
	bool found;
	char *name; /* or NULL */
	List *columns;
	char *comment; /* or NULL */
} tsurugi_key_clause;

extern bool tsurugi_is_key_clause(Node *node);

/* Takes one more; errors for a second one, and for what our keys do not have.  table: its name, for the message. */
extern void tsurugi_key_clause_take(tsurugi_key_clause *key, const char *table, const Constraint *constraint,
									List *columns);

/* Takes a PRIMARY KEY, and what says when it is checked, out of a column's constraints. */
extern void tsurugi_key_clause_of_column(ColumnDef *column, tsurugi_key_clause *key, const char *table);

/* Takes it out of a CREATE TABLE. */
extern tsurugi_key_clause tsurugi_key_clause_of_table(CreateStmt *statement);

/* ALTER TABLE's commands that make its columns NOT NULL. */
extern List *tsurugi_key_clause_set_not_null(const tsurugi_key_clause *key);

/* That its columns are there.  In PostgreSQL's words for keys; SET NOT NULL has others. */
extern void tsurugi_key_clause_check(Oid relation, const tsurugi_key_clause *key);

#endif /* TSURUGI_KEY_CLAUSE_H */
