/*
 * catalog_row.h
 *	  Changes of single rows in PostgreSQL's catalogs.
 */
#ifndef TSURUGI_CATALOG_ROW_H
#define TSURUGI_CATALOG_ROW_H

#include "postgres.h"

#include "access/htup.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "utils/relcache.h"

/* A copy of a row, and its catalog, which is open. */
typedef struct tsurugi_catalog_row
{
	Relation catalog;
	HeapTuple tuple;
} tsurugi_catalog_row;

/*
 * Opens the row of a relation, an index or a constraint, and returns its fields, which may be
 * changed.
 */
extern Form_pg_class tsurugi_relation_row_open(Oid relation, tsurugi_catalog_row *row_out);
extern Form_pg_index tsurugi_index_row_open(Oid index, tsurugi_catalog_row *row_out);
extern Form_pg_constraint tsurugi_constraint_row_open(Oid constraint, tsurugi_catalog_row *row_out);

/* Writes the row and closes it; or closes it only. */
extern void tsurugi_catalog_row_write(tsurugi_catalog_row *row);
extern void tsurugi_catalog_row_close(tsurugi_catalog_row *row);

#endif /* TSURUGI_CATALOG_ROW_H */
