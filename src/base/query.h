/*
 * query.h
 *	  SQL that the extension runs for itself.
 *
 * All of it goes through this file (the lint checks that), because its text is parsed in the user's
 * session.  There a schema of search_path may have an operator or a function that fits better than
 * PostgreSQL's own: "oid = regclass" has no exact match in pg_catalog, and if search_path names
 * pg_catalog behind another schema, nothing is safe.
 */
#ifndef TSURUGI_QUERY_H
#define TSURUGI_QUERY_H

#include "postgres.h"

#include "executor/spi.h"

/*
 * Between the two, names are looked up in pg_catalog, then in pg_temp, and definitions that
 * PostgreSQL writes name every other schema.  For statements that run no code of users, because
 * users' functions may rely on the search_path of the session.  After an error, the end need not be
 * called.
 */
extern int tsurugi_names_begin(void);
extern void tsurugi_names_end(int level);

/* Reads catalogs under that search path.  The caller is connected to SPI, which has the rows. */
extern void tsurugi_query_catalogs(const char *text, int count, Oid *types, Datum *values);

/*
 * Statements about tables of users, which may run code of theirs, under the search_path of the
 * session.  So the text must name everything with its schema, including operators, as PostgreSQL's
 * own queries for foreign keys do (ri_triggers.c).  The caller is connected to SPI.  The result is
 * SPI's; negative ones are raised as errors.
 */
extern int tsurugi_query_run(const char *text, int count, Oid *types, Datum *values, const char *nulls, long rows);
extern SPIPlanPtr tsurugi_query_prepare(const char *text, int count, Oid *types);

/*
 * A cursor of a query without subqueries that reads tables on behalf of a statement whose rights
 * have been checked, as a scan of PostgreSQL's would: neither SELECT on the tables nor the right to
 * use their schemas is required.  It is planned and run as the current role.  The text is as above.
 */
extern Portal tsurugi_query_open_own(const char *text, int count, Oid *types, Datum *values, const char *nulls);

#endif /* TSURUGI_QUERY_H */
