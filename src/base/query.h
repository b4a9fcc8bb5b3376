/*
 * query.h
 *	  SQL that the extension runs for itself.
 *
 * All of it goes through here (the lint asks for that), because its text is parsed in the user's
 * session.  There a schema of search_path may have an operator or a function that fits better than
 * PostgreSQL's own: "oid = regclass" has no exact match in pg_catalog, and with a search_path that
 * names pg_catalog behind another schema nothing is safe.
 */
#ifndef TSURUGI_QUERY_H
#define TSURUGI_QUERY_H

#include "postgres.h"

#include "executor/spi.h"

/*
 * Between the two, names are looked for in pg_catalog, and then in pg_temp, and what PostgreSQL
 * writes down names every other schema.  For what runs no code of users: their functions may rely
 * on the search_path of the session.  An error needs no end.
 */
extern int tsurugi_names_begin(void);
extern void tsurugi_names_end(int level);

/* Reads catalogs, under names fixed like that.  Connected to SPI, where the rows are. */
extern void tsurugi_query_catalogs(const char *text, int count, Oid *types, Datum *values);

/*
 * Statements about tables of users, which may run code of theirs, under the search_path of the
 * session.  So the text has to name everything with its schema, operators included, which
 * PostgreSQL's own queries for foreign keys do as well (ri_triggers.c).  Connected to SPI.  The
 * result is SPI's; negative ones are raised as errors.
 */
extern int tsurugi_query_run(const char *text, int count, Oid *types, Datum *values, const char *nulls, long rows);
extern SPIPlanPtr tsurugi_query_prepare(const char *text, int count, Oid *types);

/*
 * A cursor of a query without subqueries that reads tables on account of a statement whose rights
 * have been looked at, as a scan of PostgreSQL's would: nobody needs SELECT on the tables, or the
 * right to use their schemas.  It is planned and run as the current role.  The text is as above.
 */
extern Portal tsurugi_query_open_own(const char *text, int count, Oid *types, Datum *values, const char *nulls);

#endif /* TSURUGI_QUERY_H */
