/*
 * storage_parameters.c
 *	  Storage properties of ordinary tables, kept as options of a table in memory.
 *
 * They have no effect in memory, except persistence.  But a table that moves out of memory must
 * have the properties that it had before, and pg_dump must write them.  They cannot be in pg_class:
 * for a foreign table pg_dump would write a WITH clause there, which CREATE FOREIGN TABLE does not
 * accept.
 *
 *	WITH (fillfactor = 70)					OPTIONS (fillfactor '70')
 *	WITH (toast.autovacuum_enabled = off)	OPTIONS ("toast.autovacuum_enabled" 'off')
 *	TABLESPACE other						OPTIONS (tablespace 'other')
 *	UNLOGGED								OPTIONS (persistence 'unlogged')
 *
 * The compression of a column stays where PostgreSQL has it, in pg_attribute.  PostgreSQL refuses
 * to change it for foreign tables, but not to create them with it.
 *
 * A tablespace is kept by its name, and need not exist.  In that case PostgreSQL reports it when
 * the table moves out of memory.
 *
 * A server's option persistence is the default of tables that are made from then on, and the table
 * has it as its own.  So a change of the server's option changes no table.  A table without the
 * option is logged; it gets the option, as 'logged', where the server's default is 'unlogged',
 * because it would otherwise be made unlogged from a dump.
 */
#include "postgres.h"

#include "src/ddl/storage_parameters.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_tablespace.h"
#include "catalog/pg_type.h"
#include "commands/defrem.h"
#include "commands/sequence.h"
#include "commands/tablespace.h"
#include "foreign/foreign.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "src/base/sql_function.h"
#include "src/ddl/altered.h"
#include "src/table/relation.h"

#define TABLESPACE "tablespace"
#define TOAST "toast"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_validator);

/* --- checks ---------------------------------------------------------------------------------- */

static void
check_parameters(List *parameters)
{
	static char *namespaces[] = HEAP_RELOPT_NAMESPACES;

	(void) heap_reloptions(RELKIND_RELATION, transformRelOptions((Datum) 0, parameters, NULL, namespaces, true, false),
						   true);
	(void) heap_reloptions(RELKIND_TOASTVALUE,
						   transformRelOptions((Datum) 0, parameters, TOAST, namespaces, true, false), true);
}

void
tsurugi_check_tablespace(const char *name)
{
	Oid tablespace = name == NULL ? InvalidOid : get_tablespace_oid(name, false);

	if (name == NULL)
		return;
	if (tablespace != MyDatabaseTableSpace &&
		pg_tablespace_aclcheck(tablespace, GetUserId(), ACL_CREATE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLESPACE, name);
	if (tablespace == GLOBALTABLESPACE_OID)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("only shared relations can be placed in pg_global tablespace")));
}

/* --- options as parameters ------------------------------------------------------ */

static bool
is_named(const DefElem *option, const char *name)
{
	return strcmp(option->defname, name) == 0;
}

static bool
is_parameter(const DefElem *option)
{
	return !is_named(option, TABLESPACE) && !is_named(option, TSURUGI_PERSISTENCE);
}

/* The option as WITH would name it. */
static DefElem *
as_parameter(const DefElem *option)
{
	const char *point = strchr(option->defname, '.');

	if (point == NULL)
		return makeDefElem(option->defname, option->arg, -1);
	return makeDefElemExtended(pnstrdup(option->defname, point - option->defname), pstrdup(point + 1), option->arg,
							   DEFELEM_UNSPEC, -1);
}

static List *
parameters_of(const List *options)
{
	List *parameters = NIL;
	ListCell *cell;

	foreach (cell, options)
		if (is_parameter(lfirst(cell)))
			parameters = lappend(parameters, as_parameter(lfirst(cell)));
	return parameters;
}

/* The options of one namespace (NULL: the table's own) after a SET or RESET. */
static List *
merge_namespace(List *parameters, List *changes, char *namespace, bool resets)
{
	static char *namespaces[] = HEAP_RELOPT_NAMESPACES;
	Datum before = transformRelOptions((Datum) 0, parameters, namespace, namespaces, false, false);
	List *options = untransformRelOptions(transformRelOptions(before, changes, namespace, namespaces, true, resets));
	ListCell *cell;

	foreach (cell, options)
	{
		DefElem *option = lfirst(cell);

		if (namespace != NULL)
			option->defname = psprintf("%s.%s", namespace, option->defname);
	}
	return options;
}

static List *
merge(List *options, List *changes, bool resets)
{
	List *parameters = parameters_of(options);
	List *merged = list_concat(merge_namespace(parameters, changes, NULL, resets),
							   merge_namespace(parameters, changes, TOAST, resets));
	ListCell *cell;

	foreach (cell, options)
		if (!is_parameter(lfirst(cell)))
			merged = lappend(merged, lfirst(cell));
	return merged;
}

static const char *
option_of(const List *options, const char *name)
{
	ListCell *cell;

	foreach (cell, options)
		if (is_named(lfirst(cell), name))
			return defGetString(lfirst(cell));
	return NULL;
}

/* A value of NULL removes the option. */
static List *
set_option(List *options, const char *name, const char *value)
{
	ListCell *cell;

	foreach (cell, options)
		if (is_named(lfirst(cell), name))
			options = foreach_delete_current (options, cell);
	if (value != NULL)
		options = lappend(options, makeDefElem(pstrdup(name), (Node *) makeString(pstrdup(value)), -1));
	return options;
}

static List *
set_tablespace(List *options, const char *name)
{
	bool is_default = name == NULL || get_tablespace_oid(name, false) == MyDatabaseTableSpace;

	return set_option(options, TABLESPACE, is_default ? NULL : name);
}

/* --- compression ----------------------------------------------------------------- */

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

/* Follows ATExecSetCompression. */
static void
set_compression(Oid relation, const AlterTableCmd *command)
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

/* --- statements ----------------------------------------------------------------- */

List *
tsurugi_storage_options(const CreateStmt *statement)
{
	List *options;

	check_parameters(statement->options);
	tsurugi_check_tablespace(statement->tablespacename);
	options = set_tablespace(merge(NIL, statement->options, false), statement->tablespacename);
	if (statement->relation->relpersistence == RELPERSISTENCE_UNLOGGED)
		options = set_option(options, TSURUGI_PERSISTENCE, TSURUGI_UNLOGGED);
	return options;
}

bool
tsurugi_storage_is_altered_by(const AlterTableCmd *command)
{
	switch (command->subtype)
	{
		case AT_SetRelOptions:
			check_parameters(castNode(List, command->def));
			return true;
		case AT_SetTableSpace:
			tsurugi_check_tablespace(command->name);
			return true;
		case AT_ResetRelOptions:
		case AT_SetLogged:
		case AT_SetUnLogged:
		case AT_SetCompression:
			return true;
		default:
			return false;
	}
}

static List *
altered(Oid relation, const AlterTableCmd *command)
{
	List *options = GetForeignTable(relation)->options;

	switch (command->subtype)
	{
		case AT_SetRelOptions:
		case AT_ResetRelOptions:
			return merge(options, castNode(List, command->def), command->subtype == AT_ResetRelOptions);
		case AT_SetTableSpace:
			return set_tablespace(options, command->name);
		default:
			return set_option(options, TSURUGI_PERSISTENCE,
							  command->subtype == AT_SetUnLogged ? TSURUGI_UNLOGGED : NULL);
	}
}

static void
write_options(Oid relation, List *options)
{
	Relation catalog = table_open(ForeignTableRelationId, RowExclusiveLock);
	HeapTuple tuple = SearchSysCacheCopy1(FOREIGNTABLEREL, ObjectIdGetDatum(relation));
	Datum values[Natts_pg_foreign_table] = {0};
	bool nulls[Natts_pg_foreign_table] = {0};
	bool replaces[Natts_pg_foreign_table] = {0};

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for foreign table %u", relation);
	values[Anum_pg_foreign_table_ftoptions - 1] = transformRelOptions((Datum) 0, options, NULL, NULL, false, false);
	nulls[Anum_pg_foreign_table_ftoptions - 1] = options == NIL;
	replaces[Anum_pg_foreign_table_ftoptions - 1] = true;
	tuple = heap_modify_tuple(tuple, RelationGetDescr(catalog), values, nulls, replaces);
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	CacheInvalidateRelcacheByRelid(relation);
	InvokeObjectPostAlterHook(RelationRelationId, relation, 0);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);
	CommandCounterIncrement();
}

void
tsurugi_storage_set_persistence(Oid sequence, char persistence)
{
	if (get_rel_persistence(sequence) != persistence)
		SequenceChangePersistence(sequence, persistence);
	CommandCounterIncrement();
}

void
tsurugi_storage_follow(Oid relation)
{
	ListCell *cell;

	foreach (cell, getOwnedSequences(relation))
		tsurugi_storage_set_persistence(lfirst_oid(cell), tsurugi_persistence(relation));
}

void
tsurugi_storage_alter(Oid relation, const AlterTableCmd *command)
{
	if (command->subtype == AT_SetCompression)
	{
		set_compression(relation, command);
		return;
	}
	write_options(relation, altered(relation, command));
}

/* --- a server's default ---------------------------------------------------------- */

static bool
says_unlogged(const List *options)
{
	const char *persistence = option_of(options, TSURUGI_PERSISTENCE);

	return persistence != NULL && strcmp(persistence, TSURUGI_UNLOGGED) == 0;
}

bool
tsurugi_storage_default_is_unlogged(const char *server)
{
	return says_unlogged(GetForeignServerByName(server, false)->options);
}

List *
tsurugi_storage_with_default(List *options, const char *server)
{
	if (option_of(options, TSURUGI_PERSISTENCE) == NULL && tsurugi_storage_default_is_unlogged(server))
		options = set_option(options, TSURUGI_PERSISTENCE, TSURUGI_UNLOGGED);
	return options;
}

/* Gives the table its persistence as an option if the server's default is another one. */
static void
pin_persistence(Oid relation)
{
	const ForeignTable *table = GetForeignTable(relation);

	if (option_of(table->options, TSURUGI_PERSISTENCE) == NULL &&
		says_unlogged(GetForeignServer(table->serverid)->options))
		write_options(relation, set_option(table->options, TSURUGI_PERSISTENCE, TSURUGI_LOGGED));
}

bool
tsurugi_storage_follow_persistence(Oid relation, char before)
{
	pin_persistence(relation);
	if (tsurugi_persistence(relation) == before)
		return false;
	tsurugi_storage_follow(relation);
	tsurugi_altered_note(relation);
	return true;
}

static List *
tables_of(Oid server)
{
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	List *tables = NIL;
	HeapTuple tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_foreign_table form = (Form_pg_foreign_table) GETSTRUCT(tuple);

		if (form->ftserver == server)
			tables = lappend_oid(tables, form->ftrelid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return tables;
}

void
tsurugi_storage_server_altered(Oid server)
{
	List *tables;
	ListCell *cell;

	CommandCounterIncrement();
	tables = says_unlogged(GetForeignServer(server)->options) ? tables_of(server) : NIL;
	foreach (cell, tables)
	{
		LockRelationOid(lfirst_oid(cell), ShareUpdateExclusiveLock);
		if (tsurugi_is_our_table(lfirst_oid(cell)))
			pin_persistence(lfirst_oid(cell));
	}
}

/* --- a table that moves --------------------------------------------------------- */

/* The parameters of an ordinary table, or of its TOAST table, as options. */
static List *
heap_parameters(Form_pg_class form, HeapTuple tuple, const char *namespace)
{
	bool null;
	Datum written = SysCacheGetAttr(RELOID, tuple, Anum_pg_class_reloptions, &null);
	List *options = null ? NIL : untransformRelOptions(written);
	ListCell *cell;

	foreach (cell, options)
	{
		DefElem *option = lfirst(cell);

		if (namespace != NULL)
			option->defname = psprintf("%s.%s", namespace, option->defname);
	}
	if (namespace == NULL && OidIsValid(form->reltoastrelid))
	{
		HeapTuple toast = SearchSysCache1(RELOID, ObjectIdGetDatum(form->reltoastrelid));

		options = list_concat(options, heap_parameters((Form_pg_class) GETSTRUCT(toast), toast, TOAST));
		ReleaseSysCache(toast);
	}
	return options;
}

/* The options that an ordinary table would have in memory. */
static List *
heap_options(Oid relation)
{
	HeapTuple tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relation));
	Form_pg_class form = (Form_pg_class) GETSTRUCT(tuple);
	List *options = heap_parameters(form, tuple, NULL);

	if (OidIsValid(form->reltablespace))
		options = set_option(options, TABLESPACE, get_tablespace_name(form->reltablespace));
	if (form->relpersistence == RELPERSISTENCE_UNLOGGED)
		options = set_option(options, TSURUGI_PERSISTENCE, TSURUGI_UNLOGGED);
	ReleaseSysCache(tuple);
	return options;
}

char *
tsurugi_storage_clauses(Oid relation, bool *unlogged_out)
{
	List *options = tsurugi_is_our_table(relation) ? GetForeignTable(relation)->options : heap_options(relation);
	const char *tablespace = option_of(options, TABLESPACE);
	const char *separator = " WITH (";
	StringInfoData text;
	ListCell *cell;

	initStringInfo(&text);
	foreach (cell, parameters_of(options))
	{
		DefElem *parameter = lfirst(cell);

		appendStringInfoString(&text, separator);
		if (parameter->defnamespace != NULL)
			appendStringInfo(&text, "%s.", quote_identifier(parameter->defnamespace));
		appendStringInfo(&text, "%s = %s", quote_identifier(parameter->defname),
						 quote_literal_cstr(defGetString(parameter)));
		separator = ", ";
	}
	if (text.len > 0)
		appendStringInfoChar(&text, ')');
	/* Written always, so that default_tablespace has no effect. */
	appendStringInfo(&text, " TABLESPACE %s",
					 quote_identifier(tablespace != NULL ? tablespace : get_tablespace_name(MyDatabaseTableSpace)));
	*unlogged_out = says_unlogged(options);
	return text.data;
}

/* --- the validator -------------------------------------------------------------- */

/* Options of anything but a table; a server has only persistence. */
static void
check_other_options(const List *options, bool is_server)
{
	ListCell *cell;

	foreach (cell, options)
		if (!is_server || !is_named(lfirst(cell), TSURUGI_PERSISTENCE))
			ereport(ERROR, (errcode(ERRCODE_FDW_INVALID_OPTION_NAME),
							errmsg("invalid option \"%s\"", lfirst_node(DefElem, cell)->defname),
							is_server ? errhint("Valid options in this context are: %s", TSURUGI_PERSISTENCE)
									  : errhint("There are no valid options in this context.")));
}

Datum
tsurugi_fdw_validator(PG_FUNCTION_ARGS)
{
	List *options = untransformRelOptions(PG_GETARG_DATUM(0));
	const char *persistence = option_of(options, TSURUGI_PERSISTENCE);

	if (PG_GETARG_OID(1) != ForeignTableRelationId)
		check_other_options(options, PG_GETARG_OID(1) == ForeignServerRelationId);
	else
		check_parameters(parameters_of(options));
	if (persistence != NULL && strcmp(persistence, TSURUGI_LOGGED) != 0 && strcmp(persistence, TSURUGI_UNLOGGED) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("invalid value for option \"%s\": \"%s\"", TSURUGI_PERSISTENCE, persistence),
						errhint("Valid values are: %s, %s", TSURUGI_LOGGED, TSURUGI_UNLOGGED)));
	PG_RETURN_VOID();
}
