/*
 * compression.c
 *	  ALTER TABLE ... ALTER COLUMN ... SET COMPRESSION.
 *
 * PostgreSQL refuses this command for foreign tables, but accepts the clause in CREATE TABLE.
 * Follows ATExecSetCompression.
 */
#include "postgres.h"

#include "src/ddl/compression.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static char
method_of(Oid type, const char *name)
{
	char method;

	if (strcmp(name, "default") == 0)
		return InvalidCompressionMethod;
	if (get_typstorage(type) == TYPSTORAGE_PLAIN)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("column data type %s does not support compression", format_type_be(type))));
	method = CompressionNameToMethod(name);
	if (!CompressionMethodIsValid(method))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid compression method \"%s\"", name)));
	return method;
}

void
tsurugi_compression_set(Oid relation, const AlterTableCmd *command)
{
	Relation catalog = table_open(AttributeRelationId, RowExclusiveLock);
	HeapTuple tuple = SearchSysCacheCopyAttName(relation, command->name);
	Form_pg_attribute column;

	if (!HeapTupleIsValid(tuple))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("column \"%s\" of relation \"%s\" does not exist",
																  command->name, get_rel_name(relation))));
	column = (Form_pg_attribute) GETSTRUCT(tuple);
	if (column->attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("cannot alter system column \"%s\"", command->name)));
	column->attcompression = method_of(column->atttypid, strVal(command->def));
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	InvokeObjectPostAlterHook(RelationRelationId, relation, column->attnum);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}
