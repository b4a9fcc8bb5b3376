/*
 * create.h
 *	  CREATE TABLE in PostgreSQL's own words, for tables of ours.
 */
#ifndef TSURUGI_CREATE_H
#define TSURUGI_CREATE_H

#include "src/ddl/utility.h"

/* What stands for our tables where PostgreSQL has the name of an access method. */
#define TSURUGI_METHOD "tsurugi"

/* tsurugi_fdw.create_table: plain CREATE TABLE makes tables of ours.  Each user's. */
extern bool tsurugi_create_table;

/* tsurugi_fdw.default_server: where CREATE TABLE puts them.  Each user's. */
extern char *tsurugi_default_server;

/*
 * The CREATE FOREIGN TABLE that a CREATE TABLE stands for; NULL if it makes a
 * table of PostgreSQL's.
 */
extern CreateForeignTableStmt *tsurugi_create_as_foreign(CreateStmt *written);

/* CREATE TABLE ... AS, SELECT INTO.  False: it makes a table of PostgreSQL's; nothing was done. */
extern bool tsurugi_create_run_as(const tsurugi_utility *utility, CreateTableAsStmt *written);

/* EXPLAIN ANALYZE of one.  False: it is something else; nothing was done. */
extern bool tsurugi_create_explain(const tsurugi_utility *utility, const ExplainStmt *written);

/*
 * Puts the columns of a LIKE in the place of each such clause, and returns the
 * clauses: what else they ask for is to be made by tsurugi_like_finish once
 * the table is there, under this name.  text: the statement as it was written.
 */
extern List *tsurugi_like_expand(CreateStmt *statement, const char *text);
extern void tsurugi_like_finish(const tsurugi_utility *utility, RangeVar *table, List *clauses);

#endif /* TSURUGI_CREATE_H */
