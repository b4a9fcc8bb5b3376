/*
 * create.h
 *	  CREATE TABLE in PostgreSQL's own words, for tables in memory.
 */
#ifndef TSURUGI_CREATE_H
#define TSURUGI_CREATE_H

#include "src/ddl/utility.h"

/* Stands for tables in memory where PostgreSQL has the name of an access method. */
#define TSURUGI_METHOD "tsurugi"

/* tsurugi_fdw.create_table: plain CREATE TABLE makes tables in memory.  Any user may set it. */
extern bool tsurugi_create_table;

/* tsurugi_fdw.default_server: the server on which CREATE TABLE makes them.  Any user may set it. */
extern char *tsurugi_default_server;

/*
 * The CREATE FOREIGN TABLE that a CREATE TABLE stands for; NULL if it makes a table of
 * PostgreSQL's.
 */
extern CreateForeignTableStmt *tsurugi_create_as_foreign(CreateStmt *written);

/*
 * CREATE TABLE ... AS, SELECT INTO.  False: it makes a table of PostgreSQL's, and nothing was done.
 */
extern bool tsurugi_create_run_as(const tsurugi_utility *utility, CreateTableAsStmt *written);

/* EXPLAIN ANALYZE of such a statement.  False: it is another statement, and nothing was done. */
extern bool tsurugi_create_explain(const tsurugi_utility *utility, const ExplainStmt *written);

/*
 * The first replaces each LIKE clause by its columns, and returns the clauses.  The second does the
 * rest that the clauses request, when the table exists under this name.  text: the statement as it
 * was written.
 */
extern List *tsurugi_like_expand(CreateStmt *statement, const char *text);
extern void tsurugi_like_finish(const tsurugi_utility *utility, RangeVar *table, List *clauses);

#endif /* TSURUGI_CREATE_H */
