/*
 * reindex.c
 *	  REINDEX of tables in memory, of their indexes, and of partitioned ones that have some below them.
 *
 * REINDEX TABLE writes a table anew (rewrite.h), and an index of it that is not valid has another chance.  CONCURRENTLY passes
 * over the primary key, whose tree is what rows are found by for life: it gives back by itself what deleted rows leave in
 * it (btree_merge.c), so another one would be no better.
 *
 * Without CONCURRENTLY others are kept out, readers too.  PostgreSQL locks the table by less, but each index as much, and whoever plans a
 * query looks at all of them.  Readers could go on here if the lock were made stronger at the end alone; but one who wants to
 * write next would be in a circle of waits with it, and all the work in vain.
 *
 * PostgreSQL's REINDEX of a partitioned table, or index, goes over what has a file, each in a transaction of its own.
 * What it has passed over of ours is done afterwards, likewise.  REINDEX SCHEMA, DATABASE and SYSTEM are for what may have gone
 * wrong on a disk, and pass tables in memory over.
 */
#include "postgres.h"

#include "src/ddl/reindex.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
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

/* Whether it is to let others work; raises 25001 if it is, and in a transaction block. */
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

/* What VERBOSE says of an index, or a table, that has been made anew; CONCURRENTLY names the schema. */
static void
tell(const char *kind, Oid relation, bool concurrent)
{
	const char *name = get_rel_name(relation);

	if (name != NULL && concurrent)
		ereport(INFO,
				(errmsg("%s \"%s.%s\" was reindexed", kind, get_namespace_name(get_rel_namespace(relation)), name)));
	else if (name != NULL)
		ereport(INFO, (errmsg("%s \"%s\" was reindexed", kind, name)));
}

/*
 * Whether the index is an EXCLUDE constraint's: as in PostgreSQL it is not made anew while others write, who
 * look for rows in the one that there is.
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

/* --- a table ----------------------------------------------------------------------------------- */

/* False, and a warning, for an index that PostgreSQL passes over. */
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

/* Those of its indexes that are valid, as PostgreSQL's, but for the primary key's. */
static void
reindex_table_concurrently(Oid table, bool verbose)
{
	Relation relation = table_open(table, NoLock);
	MemoryContext context = AllocSetContextCreate(PortalContext, "tsurugi_fdw REINDEX", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	Oid primary = tsurugi_relation_get(relation)->key_index;
	List *indexes = list_copy(RelationGetIndexList(relation));
	ListCell *cell;

	MemoryContextSwitchTo(caller);
	table_close(relation, NoLock);
	if (indexes == NIL)
		ereport(NOTICE,
				(errmsg("table \"%s\" has no indexes that can be reindexed concurrently", get_rel_name(table))));
	foreach (cell, indexes)
	{
		Oid index = lfirst_oid(cell);

		if (!SearchSysCacheExists1(INDEXRELID, ObjectIdGetDatum(index)) || !is_reindexed_concurrently(index))
			continue;
		if (index != primary)
			tsurugi_index_rebuild_concurrently(table, index);
		if (verbose)
			tell("index", index, true);
	}
	if (verbose && indexes != NIL)
		tell("table", table, true);
	MemoryContextDelete(context);
}

/* An index that CREATE INDEX CONCURRENTLY has left behind has another chance. */
static void
reindex_invalid(Relation table, Oid index)
{
	if (get_index_isvalid(index))
		return;
	tsurugi_index_entry_set_ready(table, index, true);
	tsurugi_table_rebuild_index(table, index);
	tsurugi_index_entry_validate(table, index);
}

/* The table is locked. */
static void
reindex_table(Oid id, bool verbose)
{
	Relation table = table_open(id, NoLock);
	List *indexes = RelationGetIndexList(table);
	ListCell *cell;

	CheckTableNotInUse(table, "REINDEX TABLE");
	if (indexes == NIL)
		ereport(NOTICE, (errmsg("table \"%s\" has no indexes to reindex", RelationGetRelationName(table))));
	else
		tsurugi_table_compact(table, InvalidOid);
	foreach (cell, indexes)
	{
		reindex_invalid(table, lfirst_oid(cell));
		if (verbose)
			tell("index", lfirst_oid(cell), false);
	}
	table_close(table, NoLock);
}

/* False: what has the name by now is not ours. */
static bool
reindex_named_table(const tsurugi_utility *utility, const ReindexStmt *written)
{
	bool concurrent;
	Oid table;

	check_options(utility->text, written->params);
	concurrent = is_concurrent(utility, written);
	check_tablespace(written->params, concurrent);
	if (!tsurugi_lock_our_table(written->relation, concurrent ? ShareUpdateExclusiveLock : AccessExclusiveLock,
								tsurugi_check_owner))
		return false;
	table = RangeVarGetRelid(written->relation, NoLock, false);
	if (concurrent)
		reindex_table_concurrently(table, is_verbose(written->params));
	else
		reindex_table(table, is_verbose(written->params));
	return true;
}

/* --- an index ----------------------------------------------------------------------------------- */

static void
rebuild_concurrently(Oid table, Oid index, bool verbose)
{
	Relation relation = table_open(table, NoLock);
	bool primary = tsurugi_relation_get(relation)->key_index == index;

	table_close(relation, NoLock);
	if (is_exclusion(index))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("concurrent index creation for exclusion constraints is not supported")));
	if (!primary)
		tsurugi_index_rebuild_concurrently(table, index);
	if (verbose)
		tell("index", index, true);
}

/* It is locked, and so is its table. */
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

/* False: what has the name by now is not ours. */
static bool
reindex_named_index(const tsurugi_utility *utility, const ReindexStmt *written, Oid index)
{
	bool concurrent;

	check_options(utility->text, written->params);
	concurrent = is_concurrent(utility, written);
	check_tablespace(written->params, concurrent);
	if (!tsurugi_index_lock_named(written->relation, index, concurrent ? ShareUpdateExclusiveLock : AccessExclusiveLock,
								  tsurugi_check_owner))
		return tsurugi_reindex_run(utility, written); /* the name has another meaning now, or none */
	if (concurrent)
		rebuild_concurrently(IndexGetRelation(index, false), index, is_verbose(written->params));
	else
		rebuild_index(IndexGetRelation(index, false), index, is_verbose(written->params));
	return true;
}

/* --- what is partitioned ------------------------------------------------------------------------- */

/* Our tables, or indexes of ours, below a partitioned one. */
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

/* One of them, in a transaction of its own; it may be gone. */
static void
reindex_below(Oid relation, bool concurrent, bool verbose)
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
		reindex_table_concurrently(table, verbose);
	else
		reindex_table(table, verbose);
}

/* After PostgreSQL's part, which has looked for rights and transaction blocks, and commits. */
static void
reindex_partitioned(const tsurugi_utility *utility, const ReindexStmt *written, Oid relation)
{
	MemoryContext memory = AllocSetContextCreate(PortalContext, "tsurugi_fdw REINDEX", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(memory);
	List *ours = ours_below(relation);
	ListCell *cell;

	MemoryContextSwitchTo(caller);
	tsurugi_utility_run(utility);
	foreach (cell, ours)
	{
		tsurugi_next_transaction();
		PushActiveSnapshot(GetTransactionSnapshot());
		reindex_below(lfirst_oid(cell), is_concurrent(utility, written), is_verbose(written->params));
	}
	if (ActiveSnapshotSet())
		PopActiveSnapshot();
	MemoryContextDelete(memory);
}

/* --- the way in ---------------------------------------------------------------------------------- */

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
		reindex_partitioned(utility, written, relation);
	else
		return false;
	return true;
}
