/*
 * index_method.c
 *	  Access methods of indexes of foreign tables: their limits and parameters.
 *
 * Any method is accepted, also those of extensions and users: an index's operator classes tell
 * which conditions it can serve here (served.c).  But unique keys are found by a B-tree: keys are
 * not known to be built by the equality of another method.
 *
 * Storage parameters and tablespaces describe how an index lies on disk, and have no effect here.
 * The parameters are kept for pg_dump, and for ordinary tables that are made LIKE this one.
 */
#include "postgres.h"

#include "src/ddl/index_method.h"

#include "access/amapi.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_class.h"
#include "commands/defrem.h"
#include "utils/rel.h"
#include "utils/syscache.h"

Oid
tsurugi_index_method(Oid index)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	Oid method;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	method = ((Form_pg_class) GETSTRUCT(tuple))->relam;
	ReleaseSysCache(tuple);
	return method;
}

/* Raises an error if one of them is not a parameter of the method. */
static void
check_parameters(Oid method, Datum parameters)
{
	IndexAmRoutine *routine = GetIndexAmRoutineByAmId(method, false);

	(void) index_reloptions(routine->amoptions, parameters, true);
	pfree(routine);
}

void
tsurugi_index_method_set_parameters(Oid index, List *parameters, bool reset)
{
	Relation catalog = table_open(RelationRelationId, RowExclusiveLock);
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(index));
	Datum values[Natts_pg_class] = {0};
	bool nulls[Natts_pg_class] = {0};
	bool replaced[Natts_pg_class] = {0};
	int at = Anum_pg_class_reloptions - 1;
	HeapTuple fresh;
	Datum before;
	bool none;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", index);
	before = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &none);
	values[at] = transformRelOptions(none ? (Datum) 0 : before, parameters, NULL, NULL, false, reset);
	check_parameters(((Form_pg_class) GETSTRUCT(tuple))->relam, values[at]);
	nulls[at] = values[at] == (Datum) 0;
	replaced[at] = true;
	fresh = heap_modify_tuple(tuple, RelationGetDescr(catalog), values, nulls, replaced);
	CatalogTupleUpdate(catalog, &fresh->t_self, fresh);
	heap_freetuple(fresh);
	ReleaseSysCache(tuple);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}

Oid
tsurugi_index_method_choose(IndexStmt *statement)
{
	if (statement->accessMethod == NULL)
		statement->accessMethod = DEFAULT_INDEX_TYPE;
	/* As in DefineIndex. */
	if (!OidIsValid(get_index_am_oid(statement->accessMethod, true)) && strcmp(statement->accessMethod, "rtree") == 0)
	{
		ereport(NOTICE, (errmsg("substituting access method \"gist\" for obsolete method \"rtree\"")));
		statement->accessMethod = "gist";
	}
	return get_index_am_oid(statement->accessMethod, false);
}

void
tsurugi_index_method_refuse(Oid method, const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("access method \"%s\" does not support %s", get_am_name(method), what)));
}

bool
tsurugi_index_method_check(Oid method, const IndexStmt *statement, Datum parameters)
{
	IndexAmRoutine *routine = GetIndexAmRoutineByAmId(method, false);
	bool sorts = routine->amcanorder;

	if (statement->unique && !routine->amcanunique)
		tsurugi_index_method_refuse(method, "unique indexes");
	if (statement->indexIncludingParams != NIL && !routine->amcaninclude)
		tsurugi_index_method_refuse(method, "included columns");
	if (list_length(statement->indexParams) > 1 && !routine->amcanmulticol)
		tsurugi_index_method_refuse(method, "multicolumn indexes");
	if (statement->excludeOpNames != NIL && routine->amgettuple == NULL)
		tsurugi_index_method_refuse(method, "exclusion constraints");
	if (statement->unique && method != BTREE_AM_OID)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("access method \"%s\" is not supported for unique indexes of tables in memory",
							   get_am_name(method)),
						errhint("Make them USING btree.")));
	pfree(routine);
	check_parameters(method, parameters);
	return sorts;
}
