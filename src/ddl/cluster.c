/*
 * cluster.c
 *	  CLUSTER of tables in memory.
 *
 * The rows are stored anew in the order of an index, so that rows which are neighbours in the index
 * are neighbours in memory, as in PostgreSQL's tables; and the index is marked for the next time.
 * If an index does not have the order of its values, equal values are stored together.
 *
 * CLUSTER without a table processes all tables that have such an index.  PostgreSQL's loop over
 * them would treat tables in memory as heaps.  So if there are any, the loop is here, and calls
 * PostgreSQL for each of the others.
 */
#include "postgres.h"

#include "src/ddl/cluster.h"

#include "access/genam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_index.h"
#include "commands/cluster.h"
#include "commands/defrem.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "parser/parse_node.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "src/ddl/commands.h"
#include "src/ddl/rewrite.h"
#include "src/txn/deferred.h"

static bool
read_options(const char *text, const ClusterStmt *cluster)
{
	ParseState *parse = make_parsestate(NULL);
	bool verbose = false;
	ListCell *cell;

	parse->p_sourcetext = text;
	foreach (cell, cluster->params)
	{
		DefElem *option = lfirst(cell);

		if (strcmp(option->defname, "verbose") != 0)
			ereport(ERROR,
					(errcode(ERRCODE_SYNTAX_ERROR), errmsg("unrecognized CLUSTER option \"%s\"", option->defname),
					 parser_errposition(parse, option->location)));
		verbose = defGetBoolean(option);
	}
	free_parsestate(parse);
	return verbose;
}

/* --- one table ------------------------------------------------------------------------ */

Oid
tsurugi_index_of_name(Relation table, const char *name)
{
	Oid index = get_relname_relid(name, RelationGetNamespace(table));

	if (!OidIsValid(index))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("index \"%s\" for table \"%s\" does not exist", name, RelationGetRelationName(table))));
	return index;
}

Oid
tsurugi_clustered_index(Relation table)
{
	ListCell *cell;

	foreach (cell, RelationGetIndexList(table))
		if (get_index_isclustered(lfirst_oid(cell)))
			return lfirst_oid(cell);
	return InvalidOid;
}

static void
cluster_by(Relation table, Oid index)
{
	CheckTableNotInUse(table, "CLUSTER");
	tsurugi_deferred_check_none(RelationGetRelid(table), "CLUSTER");
	check_index_is_clusterable(table, index, AccessExclusiveLock);
	mark_index_clustered(table, index, true);
	tsurugi_table_compact(table, index);
}

static void
cluster_table(const ClusterStmt *cluster)
{
	Oid id = RangeVarGetRelidExtended(cluster->relation, AccessExclusiveLock, 0, tsurugi_check_owner, NULL);
	Relation table = table_open(id, NoLock);
	Oid index =
		cluster->indexname != NULL ? tsurugi_index_of_name(table, cluster->indexname) : tsurugi_clustered_index(table);

	if (!OidIsValid(index))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
						errmsg("there is no previously clustered index for table \"%s\"", cluster->relation->relname)));
	cluster_by(table, index);
	table_close(table, NoLock);
}

/* --- all of them ------------------------------------------------------------------------ */

typedef struct Clustered
{
	Oid table;
	Oid index;
} Clustered;

/* Finds the user's tables that have been clustered; *ours_out: some of them are in memory. */
static List *
find_clustered(bool *ours_out)
{
	Relation catalog = table_open(IndexRelationId, AccessShareLock);
	List *found = NIL;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	*ours_out = false;
	ScanKeyInit(&key, Anum_pg_index_indisclustered, BTEqualStrategyNumber, F_BOOLEQ, BoolGetDatum(true));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		const FormData_pg_index *form = (Form_pg_index) GETSTRUCT(tuple);
		Clustered *one;

		if (!pg_class_ownercheck(form->indrelid, GetUserId()))
			continue;
		one = palloc(sizeof(*one));
		*one = (Clustered){.table = form->indrelid, .index = form->indexrelid};
		found = lappend(found, one);
		*ours_out |= tsurugi_is_our_table(form->indrelid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

/* Clusters the table unless it has changed in the meantime. */
static void
cluster_again(const Clustered *one)
{
	Relation table = try_relation_open(one->table, AccessExclusiveLock);

	if (table == NULL)
		return;
	if (pg_class_ownercheck(one->table, GetUserId()) && SearchSysCacheExists1(RELOID, ObjectIdGetDatum(one->index)) &&
		get_index_isclustered(one->index))
		cluster_by(table, one->index);
	relation_close(table, NoLock);
}

/* Each table is clustered in a transaction of its own. */
static void
cluster_all(const List *tables, bool verbose)
{
	ClusterParams params = {.options = CLUOPT_RECHECK | CLUOPT_RECHECK_ISCLUSTERED | (verbose ? CLUOPT_VERBOSE : 0)};
	ListCell *cell;

	PopActiveSnapshot();
	CommitTransactionCommand();
	foreach (cell, tables)
	{
		const Clustered *one = lfirst(cell);

		StartTransactionCommand();
		PushActiveSnapshot(GetTransactionSnapshot());
		if (tsurugi_is_our_table(one->table))
			cluster_again(one);
		else
			cluster_rel(one->table, one->index, &params);
		PopActiveSnapshot();
		CommitTransactionCommand();
	}
	StartTransactionCommand();
}

static bool
run_on_all(const tsurugi_utility *utility, const ClusterStmt *cluster)
{
	MemoryContext memory = AllocSetContextCreate(PortalContext, "tsurugi_fdw CLUSTER", ALLOCSET_SMALL_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(memory);
	bool ours;
	List *tables = find_clustered(&ours);

	MemoryContextSwitchTo(caller);
	if (ours)
	{
		bool verbose = read_options(utility->text, cluster);

		PreventInTransactionBlock(utility->context == PROCESS_UTILITY_TOPLEVEL, "CLUSTER");
		cluster_all(tables, verbose);
	}
	MemoryContextDelete(memory);
	return ours;
}

/* --- entry points ---------------------------------------------------------------------------- */

bool
tsurugi_cluster_run(const tsurugi_utility *utility, const ClusterStmt *cluster)
{
	if (cluster->relation == NULL)
		return run_on_all(utility, cluster);
	if (!tsurugi_lock_our_table(cluster->relation, AccessExclusiveLock, tsurugi_check_owner))
		return false;
	(void) read_options(utility->text, cluster);
	cluster_table(cluster);
	return true;
}

void
tsurugi_cluster_mark(Oid relation, const AlterTableCmd *command)
{
	Relation table = table_open(relation, ShareUpdateExclusiveLock);
	Oid index = InvalidOid;

	if (command->subtype == AT_ClusterOn)
	{
		index = tsurugi_index_of_name(table, command->name);
		check_index_is_clusterable(table, index, ShareUpdateExclusiveLock);
	}
	mark_index_clustered(table, index, false);
	CommandCounterIncrement();
	table_close(table, NoLock);
}
