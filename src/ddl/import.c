/*
 * import.c
 *	  IMPORT FOREIGN SCHEMA: tables in memory like those of a schema.
 *
 * The server is the database itself, so the schema to import is one of its own.  For each table,
 * view and materialized view in it, a table like it is made (LIKE ... INCLUDING ALL); partitions
 * come with their parent only, as in postgres_fdw.  The statement imports definitions; with OPTIONS
 * (data 'true') it also copies the rows, so that one statement brings a schema into memory.
 */
#include "postgres.h"

#include "src/ddl/import.h"

#include "access/table.h"
#include "catalog/namespace.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "foreign/fdwapi.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "src/base/owner.h"
#include "src/base/query.h"
#include "src/ddl/insert_as.h"
#include "src/ddl/like.h"
#include "src/table/relation.h"

static bool
wants_data(const ImportForeignSchemaStmt *statement)
{
	bool data = false;
	ListCell *cell;

	foreach (cell, statement->options)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "data") != 0)
			ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_OPTION_NAME), errmsg("invalid option \"%s\"", option->defname),
							errhint("Valid options in this context are: data")));
		data = defGetBoolean(option);
	}
	return data;
}

/* The names of the relations to import, in the caller's memory context.  Inside SPI. */
static List *
names_to_import(ImportForeignSchemaStmt *statement, MemoryContext context)
{
	Oid types[] = {NAMEOID, BOOLOID};
	Datum values[] = {CStringGetDatum(statement->remote_schema),
					  BoolGetDatum(statement->list_type == FDW_IMPORT_SCHEMA_LIMIT_TO)};
	List *names = NIL;
	NameData schema;

	namestrcpy(&schema, statement->remote_schema);
	values[0] = NameGetDatum(&schema);
	tsurugi_query_catalogs("SELECT c.relname FROM pg_catalog.pg_class c "
						   "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
						   "WHERE n.nspname = $1 AND c.relkind IN ('r', 'p', 'v', 'm', 'f') "
						   "AND ($2 OR NOT c.relispartition) ORDER BY c.relname",
						   2, types, values);
	for (uint64 i = 0; i < SPI_processed; i++)
	{
		const char *name = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		MemoryContext saved = MemoryContextSwitchTo(context);

		if (IsImportableForeignTable(name, statement))
			names = lappend(names, pstrdup(name));
		MemoryContextSwitchTo(saved);
	}
	return names;
}

List *
tsurugiImportForeignSchema(ImportForeignSchemaStmt *stmt, Oid serverOid)
{
	MemoryContext caller = CurrentMemoryContext;
	List *commands = NIL;
	ListCell *cell;
	List *names;

	(void) wants_data(stmt);
	if (!OidIsValid(get_namespace_oid(stmt->remote_schema, true)))
		ereport(ERROR, (errcode(ERRCODE_FDW_SCHEMA_NOT_FOUND),
						errmsg("schema \"%s\" is not present on foreign server \"%s\"", stmt->remote_schema,
							   stmt->server_name),
						errdetail("Tables are imported from schemas of this database.")));
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	names = names_to_import(stmt, caller);
	SPI_finish();
	foreach (cell, names)
		commands =
			lappend(commands, psprintf("CREATE FOREIGN TABLE %s (LIKE %s INCLUDING ALL EXCLUDING INDEXES) SERVER %s",
									   quote_identifier(lfirst(cell)),
									   quote_qualified_identifier(stmt->remote_schema, lfirst(cell)),
									   quote_identifier(stmt->server_name)));
	return commands;
}

/* --- rows ------------------------------------------------------------------------------ */

/* The columns to copy: all but dropped and generated ones. */
static char *
columns_of(Relation table)
{
	TupleDesc attributes = RelationGetDescr(table);
	StringInfoData list;

	initStringInfo(&list);
	for (int i = 0; i < attributes->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(attributes, i);

		if (!attribute->attisdropped && attribute->attgenerated == '\0')
			appendStringInfo(&list, "%s%s", list.len > 0 ? ", " : "", quote_identifier(NameStr(attribute->attname)));
	}
	return list.data;
}

/* The identity column continues after the highest existing value. */
static void
move_sequence(const char *table, const char *column)
{
	(void) tsurugi_query_run(
		psprintf("SELECT pg_catalog.setval(pg_catalog.pg_get_serial_sequence(%s, %s), pg_catalog.max(%s)) FROM %s",
				 quote_literal_cstr(table), quote_literal_cstr(column), quote_identifier(column), table),
		0, NULL, NULL, NULL, 0);
}

static void
import_rows(const ImportForeignSchemaStmt *statement, const char *name)
{
	RangeVar *range = makeRangeVar(statement->local_schema, pstrdup(name), -1);
	RangeVar *source = makeRangeVar(statement->remote_schema, pstrdup(name), -1);
	char *made = quote_qualified_identifier(statement->local_schema, name);
	Relation table = table_openrv(range, RowExclusiveLock);
	TupleDesc attributes = RelationGetDescr(table);
	char *columns = columns_of(table);
	Oid author = tsurugi_lesser_role(tsurugi_owner_of(RangeVarGetRelid(source, NoLock, false)));

	/* The owner of the old table has written the expressions that the new table evaluates. */
	if (*columns != '\0')
		tsurugi_insert_as(author, GetUserId(),
						  psprintf("INSERT INTO %s (%s) OVERRIDING SYSTEM VALUE SELECT %s FROM %s", made, columns,
								   columns, quote_qualified_identifier(statement->remote_schema, name)),
						  GetTransactionSnapshot());
	for (int i = 0; i < attributes->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(attributes, i);

		if (!attribute->attisdropped && attribute->attidentity != '\0')
			move_sequence(made, NameStr(attribute->attname));
	}
	table_close(table, NoLock);
}

/*
 * The owner of the old table has written the expressions of the indexes, and owns the new table
 * while they are evaluated.
 */
static void
import_indexes(const ImportForeignSchemaStmt *statement, const char *name)
{
	Oid model = RangeVarGetRelid(makeRangeVar(statement->remote_schema, pstrdup(name), -1), NoLock, false);
	RangeVar *range = makeRangeVar(statement->local_schema, pstrdup(name), -1);
	Oid made = RangeVarGetRelid(range, NoLock, false);
	Oid owner = tsurugi_owner_of(made);
	Oid author = tsurugi_lesser_role(tsurugi_owner_of(model));

	if (author != owner)
		tsurugi_set_owner(made, author);
	tsurugi_indexes_like(model, range);
	if (author != owner)
		tsurugi_give_back(made, owner);
}

void
tsurugi_import_run(const tsurugi_utility *utility, ImportForeignSchemaStmt *statement)
{
	ForeignServer *server = GetForeignServerByName(statement->server_name, true);
	ListCell *cell;
	List *names;

	tsurugi_utility_run(utility);
	if (server == NULL || !tsurugi_is_our_server(server->serverid))
		return;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	names = names_to_import(statement, CurrentMemoryContext);
	foreach (cell, names)
	{
		import_indexes(statement, lfirst(cell));
		if (wants_data(statement))
			import_rows(statement, lfirst(cell));
	}
	SPI_finish();
}
