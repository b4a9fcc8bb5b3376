/*
 * reindex.c
 *	  REINDEX of tables in memory, of their indexes, and of partitioned tables that have some below
 *	  them.
 *
 * REINDEX TABLE stores a table anew (rewrite.h), and tries to complete its invalid indexes.
 * CONCURRENTLY keeps the tree of the primary key, through which rows are found for their whole
 * life.  That tree reclaims the space of deleted rows by itself (btree_merge.c), unless a
 * transaction may still see them.  So the command waits for the transactions that it would wait for
 * if it had rebuilt the tree; afterwards none of them keeps a deleted row in it.
 *
 * Without CONCURRENTLY other sessions are kept out, readers too.  PostgreSQL takes a weaker lock on
 * the table but the same one on each index, and planning a query opens all indexes.  Readers could
 * continue here if the lock were upgraded only at the end.  But a reader that writes next would
 * then deadlock with the REINDEX, and all its work would be in vain.
 *
 * PostgreSQL's REINDEX of a partitioned table, or index, processes all relations that have a file,
 * each in a transaction of its own.  The tables in memory that it has skipped are processed
 * afterwards in the same way; so are those of a schema, or of the database.  REINDEX SYSTEM
 * processes catalogs only.
 */
#include "postgres.h"

#include "src/ddl/reindex.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_tablespace.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "parser/parse_node.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "src/ddl/commands.h"
#include "src/ddl/index_command.h"
#include "src/ddl/index_concurrent.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/rewrite.h"
#include "src/ddl/storage_parameters.h"
#include "src/table/relation.h"

/* --- options --------------------------------------------------------------------------------- */

static void
check_options(const char *text, const List *options)
{
	static const char *const names[] = {"verbose", "concurrently", "tablespace", NULL};
	ParseState *parse = make_parsestate(NULL);
	ListCell *cell;

	parse->p_sourcetext = text;
	foreach (cell, options)
	{
		DefElem *option = lfirst(cell);
		const char *const *name = names;

		while (*name != NULL && strcmp(option->defname, *name) != 0)
			name++;
		if (*name == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR), errmsg("unrecognized REINDEX option \"%s\"", option->defname),
					 parser_errposition(parse, option->location)));
	}
	free_parsestate(parse);
}

static void
check_tablespace(const List *options, bool concurrent)
{
	ListCell *cell;

	foreach (cell, options)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "tablespace") != 0)
			continue;
		if (concurrent && get_tablespace_oid(defGetString(option), false) == GLOBALTABLESPACE_OID)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot move non-shared relation to tablespace \"%s\"", defGetString(option))));
		tsurugi_check_tablespace(defGetString(option));
	}
}

/* Whether other sessions may work meanwhile; raises 25001 if so and in a transaction block. */
static bool
is_concurrent(const tsurugi_utility *utility, const ReindexStmt *written)
{
	bool concurrent = false;
	ListCell *cell;

	foreach (cell, written->params)
	{
		const DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "concurrently") == 0)
			concurrent = defGetBoolean(lfirst(cell));
	}
	if (concurrent)
		PreventInTransactionBlock(utility->context == PROCESS_UTILITY_TOPLEVEL, "REINDEX CONCURRENTLY");
	return concurrent;
}

static bool
is_verbose(const List *options)
{
	bool verbose = false;
	ListCell *cell;

	foreach (cell, options)
		if (strcmp(((DefElem *) lfirst(cell))->defname, "verbose") == 0)
			verbose = defGetBoolean(lfirst(cell));
	return verbose;
}

/*
 * Reports, for VERBOSE, an index or a table that has been rebuilt.  PostgreSQL names the schema of
 * what is rebuilt CONCURRENTLY, and of each table if there are several.
 */
static void
tell(const char *kind, Oid relation, bool with_schema)
{
	const char *name = get_rel_name(relation);

	if (name != NULL && with_schema)
		ereport(INFO,
				(errmsg("%s \"%s.%s\" was reindexed", kind, get_namespace_name(get_rel_namespace(relation)), name)));
	else if (name != NULL)
		ereport(INFO, (errmsg("%s \"%s\" was reindexed", kind, name)));
}

/*
 * Whether the index is an EXCLUDE constraint's.  As in PostgreSQL such an index is not rebuilt
 * while others write, because writers look for rows in the existing one.
 */
static bool
is_exclusion(Oid index)
{
	HeapTuple tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	bool is;

	if (!HeapTupleIsValid(tuple))
		return false;
	is = ((Form_pg_index) GETSTRUCT(tuple))->indisexclusion;
	ReleaseSysCache(tuple);
	return is;
}

/* --- a table -------------------------------------------------------------------- */

/* Returns false, with a warning, for an index that PostgreSQL skips. */
static bool
is_reindexed_concurrently(Oid index)
{
	const char *why = !get_index_isvalid(index) ? "invalid index"
					  : is_exclusion(index)		? "exclusion constraint index"
												: NULL;

	if (why != NULL)
		ereport(WARNING, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						  errmsg("cannot reindex %s \"%s.%s\" concurrently, skipping", why,
								 get_namespace_name(get_rel_namespace(index)), get_rel_name(index))));
	return why == NULL;
}

/*
 * Rebuilds its valid indexes, as PostgreSQL does, except for the primary key's.  False: it has
 * none.
 */
static bool
reindex_table_concurrently(Oid table, bool verbose)
{
	Relation relation = table_open(table, NoLock);
	MemoryContext context = AllocSetContextCreate(PortalContext, "tsurugi_fdw REINDEX", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Oid primary = tsurugi_relation_get(relation)->key_index;
	List *indexes = list_copy(RelationGetIndexList(relation));
	bool has_indexes;
	ListCell *cell;

	MemoryContextSwitchTo(caller);
	table_close(relation, NoLock);
	foreach (cell, indexes)
	{
		Oid index = lfirst_oid(cell);

		if (!SearchSysCacheExists1(INDEXRELID, ObjectIdGetDatum(index)) || !is_reindexed_concurrently(index))
			continue;
		if (index == primary)
			tsurugi_index_wait_concurrently(table, index);
		else
			tsurugi_index_rebuild_concurrently(table, index);
		if (verbose)
			tell("index", index, true);
	}
	if (verbose && indexes != NIL)
		tell("table", table, true);
	has_indexes = indexes != NIL;
	MemoryContextDelete(context);
	return has_indexes;
}

/* Completes an index that CREATE INDEX CONCURRENTLY has left invalid. */
static void
reindex_invalid(Relation table, Oid index)
{
	if (get_index_isvalid(index))
		return;
	tsurugi_index_entry_set_ready(table, index, true);
	tsurugi_table_rebuild_index(table, index);
	tsurugi_index_entry_validate(table, index);
}

/* The table is locked.  False: it has no indexes. */
static bool
reindex_table(Oid id, bool verbose)
{
	Relation table = table_open(id, NoLock);
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;

	CheckTableNotInUse(table, "REINDEX TABLE");
	if (indexes != NIL)
		tsurugi_table_compact(table, InvalidOid);
	foreach (cell, indexes)
	{
		reindex_invalid(table, lfirst_oid(cell));
		if (verbose)
			tell("index", lfirst_oid(cell), false);
	}
	table_close(table, NoLock);
	return indexes != NIL;
}

/* False: the name now belongs to something that is not in memory. */
static bool
reindex_named_table(const tsurugi_utility *utility, const ReindexStmt *written)
{
	bool concurrent;
	bool verbose;
	Oid table;

	check_options(utility->text, written->params);
	concurrent = is_concurrent(utility, written);
	check_tablespace(written->params, concurrent);
	if (!tsurugi_lock_our_table(written->relation, concurrent ? ShareUpdateExclusiveLock : AccessExclusiveLock,
								tsurugi_check_owner))
		return false;
	table = RangeVarGetRelid(written->relation, NoLock, false);
	verbose = is_verbose(written->params);
	if (concurrent && !reindex_table_concurrently(table, verbose))
		ereport(NOTICE,
				(errmsg("table \"%s\" has no indexes that can be reindexed concurrently", get_rel_name(table))));
	else if (!concurrent && !reindex_table(table, verbose))
		ereport(NOTICE, (errmsg("table \"%s\" has no indexes to reindex", get_rel_name(table))));
	return true;
}

/* --- an index ------------------------------------------------------------------- */

static void
rebuild_concurrently(Oid table, Oid index, bool verbose)
{
	Relation relation = table_open(table, NoLock);
	bool primary = tsurugi_relation_get(relation)->key_index == index;

	table_close(relation, NoLock);
	if (is_exclusion(index))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("concurrent index creation for exclusion constraints is not supported")));
	if (primary)
		tsurugi_index_wait_concurrently(table, index);
	else
		tsurugi_index_rebuild_concurrently(table, index);
	if (verbose)
		tell("index", index, true);
}

/* The index and its table are locked. */
static void
rebuild_index(Oid table, Oid index, bool verbose)
{
	Relation relation = table_open(table, NoLock);

	CheckTableNotInUse(relation, "REINDEX INDEX");
	tsurugi_index_entry_set_ready(relation, index, true);
	tsurugi_table_rebuild_index(relation, index);
	tsurugi_index_entry_validate(relation, index);
	table_close(relation, NoLock);
	if (verbose)
		tell("index", index, false);
}

/* False: the name now belongs to something that is not in memory. */
static bool
reindex_named_index(const tsurugi_utility *utility, const ReindexStmt *written, Oid index)
{
	bool concurrent;

	check_options(utility->text, written->params);
	concurrent = is_concurrent(utility, written);
	check_tablespace(written->params, concurrent);
	if (!tsurugi_index_lock_named(written->relation, index, concurrent ? ShareUpdateExclusiveLock : AccessExclusiveLock,
								  tsurugi_check_owner))
		return tsurugi_reindex_run(utility, written); /* the name means something else now */
	if (concurrent)
		rebuild_concurrently(IndexGetRelation(index, false), index, is_verbose(written->params));
	else
		rebuild_index(IndexGetRelation(index, false), index, is_verbose(written->params));
	return true;
}

/* --- several tables, each in a transaction of its own ---------------------------------------- */

/* The tables in memory, or their indexes, below a partitioned relation. */
static List *
ours_below(Oid relation)
{
	List *ours = NIL;
	ListCell *cell;

	foreach (cell, find_all_inheritors(relation, NoLock, NULL))
		if (tsurugi_is_our_table(lfirst_oid(cell)) || tsurugi_is_our_index(lfirst_oid(cell)))
			ours = lappend_oid(ours, lfirst_oid(cell));
	return ours;
}

/* The tables in memory of a schema; InvalidOid: of the database. */
static List *
ours_in(Oid schema)
{
	Relation catalog = table_open(ForeignTableRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0, NULL);
	List *ours = NIL;
	HeapTuple entry;

	while (HeapTupleIsValid(entry = systable_getnext(scan)))
	{
		Oid id = ((Form_pg_foreign_table) GETSTRUCT(entry))->ftrelid;

		if (tsurugi_is_our_table(id) && (!OidIsValid(schema) || get_rel_namespace(id) == schema))
			ours = lappend_oid(ours, id);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return ours;
}

/* Processes one of them, which may have been dropped. */
static void
reindex_one(Oid relation, bool concurrent, bool verbose)
{
	LOCKMODE mode = concurrent ? ShareUpdateExclusiveLock : AccessExclusiveLock;
	bool is_index = get_rel_relkind(relation) == RELKIND_PARTITIONED_INDEX;
	Oid table = is_index ? IndexGetRelation(relation, true) : relation;

	if (!OidIsValid(table))
		return;
	LockRelationOid(table, mode);
	if (is_index)
		LockRelationOid(relation, mode);
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation)) ||
		!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(table)))
		return;
	if (is_index && concurrent)
		rebuild_concurrently(table, relation, verbose);
	else if (is_index)
		rebuild_index(table, relation, verbose);
	else if (concurrent)
		(void) reindex_table_concurrently(table, verbose);
	else if (reindex_table(table, verbose) && verbose)
		tell("table", table, true);
}

/*
 * PostgreSQL's part comes first; it checks rights and transaction blocks, and commits.  relation: a
 * partitioned one; InvalidOid: the statement names a schema, or the database.
 */
static void
reindex_several(const tsurugi_utility *utility, const ReindexStmt *written, Oid relation)
{
	MemoryContext memory = AllocSetContextCreate(PortalContext, "tsurugi_fdw REINDEX", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(memory);
	Oid schema = written->kind == REINDEX_OBJECT_SCHEMA ? get_namespace_oid(written->name, true) : InvalidOid;
	List *ours = OidIsValid(relation) ? ours_below(relation) : ours_in(schema);
	ListCell *cell;

	MemoryContextSwitchTo(caller);
	tsurugi_utility_run(utility);
	foreach (cell, ours)
	{
		tsurugi_next_transaction();
		PushActiveSnapshot(GetTransactionSnapshot());
		reindex_one(lfirst_oid(cell), is_concurrent(utility, written), is_verbose(written->params));
	}
	if (ActiveSnapshotSet())
		PopActiveSnapshot();
	MemoryContextDelete(memory);
}

/* --- entry point ----------------------------------------------------------------------------- */

bool
tsurugi_reindex_run(const tsurugi_utility *utility, const ReindexStmt *written)
{
	Oid relation = written->relation == NULL ? InvalidOid : RangeVarGetRelid(written->relation, NoLock, true);
	char kind = OidIsValid(relation) ? get_rel_relkind(relation) : '\0';

	if (written->kind == REINDEX_OBJECT_TABLE && tsurugi_is_our_table(relation))
		return reindex_named_table(utility, written);
	else if (written->kind == REINDEX_OBJECT_INDEX && tsurugi_is_our_index(relation))
		return reindex_named_index(utility, written, relation);
	else if ((written->kind == REINDEX_OBJECT_TABLE && kind == RELKIND_PARTITIONED_TABLE) ||
			 (written->kind == REINDEX_OBJECT_INDEX && kind == RELKIND_PARTITIONED_INDEX))
		reindex_several(utility, written, relation);
	else if (written->kind == REINDEX_OBJECT_SCHEMA || written->kind == REINDEX_OBJECT_DATABASE)
		reindex_several(utility, written, InvalidOid);
	else
		return false;
	return true;
}
