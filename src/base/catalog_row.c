/*
 * catalog_row.c
 *	  Changes of single rows in PostgreSQL's catalogs.
 */
#include "postgres.h"

#include "src/base/catalog_row.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "utils/syscache.h"

static void *
open_row(Oid catalog, enum SysCacheIdentifier cache, Oid key, const char *what, tsurugi_catalog_row *row)
{
	row->catalog = table_open(catalog, RowExclusiveLock);
	row->tuple = SearchSysCacheCopy1(cache, ObjectIdGetDatum(key));
	if (!HeapTupleIsValid(row->tuple))
		elog(ERROR, "cache lookup failed for %s %u", what, key);
	return GETSTRUCT(row->tuple);
}

Form_pg_class
tsurugi_relation_row_open(Oid relation, tsurugi_catalog_row *row_out)
{
	return open_row(RelationRelationId, RELOID, relation, "relation", row_out);
}

Form_pg_index
tsurugi_index_row_open(Oid index, tsurugi_catalog_row *row_out)
{
	return open_row(IndexRelationId, INDEXRELID, index, "index", row_out);
}

Form_pg_constraint
tsurugi_constraint_row_open(Oid constraint, tsurugi_catalog_row *row_out)
{
	return open_row(ConstraintRelationId, CONSTROID, constraint, "constraint", row_out);
}

void
tsurugi_catalog_row_write(tsurugi_catalog_row *row)
{
	CatalogTupleUpdate(row->catalog, &row->tuple->t_self, row->tuple);
	tsurugi_catalog_row_close(row);
}

void
tsurugi_catalog_row_close(tsurugi_catalog_row *row)
{
	heap_freetuple(row->tuple);
	table_close(row->catalog, RowExclusiveLock);
}
