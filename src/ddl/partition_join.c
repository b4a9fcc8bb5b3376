/*
 * partition_join.c
 *	  Indexes and foreign keys of a partitioned table reach a new partition in memory.
 *
 * PostgreSQL gives a new partition the indexes and keys of the table.  But it refuses to give
 * unique indexes and foreign keys to a foreign table, or to give foreign keys that refer to a
 * foreign table to any partition; it leaves out other indexes.  So they are hidden from it while it
 * makes the partition, and are given to the partition afterwards, here:
 *
 *	hidden		an index is marked as not live, a constraint gets an unknown kind
 *	statement	PostgreSQL's part, which looks for both in the catalogs
 *	shown		and given to the partition, and to those below it
 *
 * The catalogs change only in the statement's transaction, under a lock of the table that keeps
 * other sessions from doing the same: no other session sees them hidden.
 */
#include "postgres.h"

#include "src/ddl/partition_join.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/skey.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_utilcmd.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "runtime/base/check.h"
#include "src/base/catalog_row.h"
#include "src/constraint/deferred_key.h"
#include "src/constraint/foreign_key.h"
#include "src/constraint/foreign_key_entry.h"
#include "src/ddl/altered.h"
#include "src/ddl/commands.h"
#include "src/ddl/create.h"
#include "src/ddl/partition_index.h"
#include "src/table/relation.h"

/* No constraint has this kind. */
#define HIDDEN 'h'

struct tsurugi_join
{
	const RangeVar *above;
	Oid parent; /* the table of that name, locked */
	const RangeVar *partition;
	bool is_new;	   /* it has no rows */
	List *indexes;	   /* hidden ones */
	List *constraints; /* likewise */
};

/* --- hiding ------------------------------------------------------------------------------ */

static void
set_live(Oid index, bool live)
{
	tsurugi_catalog_row row;
	Form_pg_index form = tsurugi_index_row_open(index, &row);

	tg_assert(form->indislive == !live);
	form->indislive = live;
	tsurugi_catalog_row_write(&row);
}

static void
set_kind(Oid constraint, char kind)
{
	tsurugi_catalog_row row;
	Form_pg_constraint form = tsurugi_constraint_row_open(constraint, &row);

	tg_assert(form->contype == (kind == HIDDEN ? CONSTRAINT_FOREIGN : HIDDEN));
	form->contype = kind;
	tsurugi_catalog_row_write(&row);
}

void
tsurugi_partition_indexes_hide(Oid table, const List *indexes, bool hidden)
{
	ListCell *cell;

	foreach (cell, indexes)
		set_live(lfirst_oid(cell), !hidden);
	CacheInvalidateRelcacheByRelid(table);
	CommandCounterIncrement();
}

static void
hide(const tsurugi_join *join, bool hidden)
{
	ListCell *cell;

	foreach (cell, join->constraints)
		set_kind(lfirst_oid(cell), hidden ? HIDDEN : CONSTRAINT_FOREIGN);
	tsurugi_partition_indexes_hide(join->parent, join->indexes, hidden);
}

/*
 * The foreign keys of a table, at either end; *tables: those that have them, and those that they
 * refer to; *ours: one refers to a table in memory.
 */
static List *
find_foreign_keys(Oid table, List **tables, bool *ours)
{
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	List *found = NIL;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_constraint_contype, BTEqualStrategyNumber, F_CHAREQ, CharGetDatum(CONSTRAINT_FOREIGN));
	scan = systable_beginscan(catalog, InvalidOid, false, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		const FormData_pg_constraint *form = (Form_pg_constraint) GETSTRUCT(tuple);

		if (form->conrelid != table && form->confrelid != table)
			continue;
		found = lappend_oid(found, form->oid);
		*tables = list_append_unique_oid(*tables, form->conrelid);
		*tables = list_append_unique_oid(*tables, form->confrelid);
		*ours |= tsurugi_is_our_table(form->confrelid);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

/* --- the statement ------------------------------------------------------------------------- */

static bool
makes_our_table(Node *tree)
{
	if (IsA(tree, CreateForeignTableStmt))
	{
		ForeignServer *server = GetForeignServerByName(((CreateForeignTableStmt *) tree)->servername, true);

		return server != NULL && tsurugi_is_our_server(server->serverid);
	}
	return tsurugi_create_as_foreign((CreateStmt *) tree) != NULL;
}

/*
 * Whether the name of a CREATE IF NOT EXISTS is taken: then nothing may be done for the statement.
 */
static bool
is_there(const RangeVar *name)
{
	return OidIsValid(RangeVarGetRelid(name, NoLock, true));
}

/* The tables that the statement is about.  False: it makes nothing a partition. */
static bool
find_tables(Node *tree, tsurugi_join *join, bool *ours)
{
	ListCell *cell;

	if (IsA(tree, CreateStmt) || IsA(tree, CreateForeignTableStmt))
	{
		CreateStmt *create = (CreateStmt *) tree;

		if (create->partbound == NULL || (create->if_not_exists && is_there(create->relation)))
			return false;
		join->above = linitial_node(RangeVar, create->inhRelations);
		join->partition = create->relation;
		join->is_new = true;
		*ours = makes_our_table(tree);
		return true;
	}
	if (!IsA(tree, AlterTableStmt))
		return false;
	foreach (cell, ((AlterTableStmt *) tree)->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype != AT_AttachPartition)
			continue;
		join->above = ((AlterTableStmt *) tree)->relation;
		join->partition = castNode(PartitionCmd, command->def)->name;
		*ours = tsurugi_holds_our_table(RangeVarGetRelid(join->partition, NoLock, true));
		return true;
	}
	return false;
}

/* The table exists, is partitioned, and may be altered by the user. */
static bool
is_divided(Oid parent)
{
	return OidIsValid(parent) && get_rel_relkind(parent) == RELKIND_PARTITIONED_TABLE &&
		   pg_class_ownercheck(parent, GetUserId());
}

/*
 * No other session changes the entries meanwhile.  A key is changed by statements about the table
 * that has it; and by REINDEX CONCURRENTLY of the table that it refers to, which gives it another
 * index.  A statement that drops one locks both tables.  The entry of a partitioned table's index
 * is changed by statements about the table, and by ALTER INDEX ATTACH PARTITION, which locks the
 * index.
 */
static void
lock_all(List *relations)
{
	ListCell *cell;

	list_sort(relations, list_oid_cmp);
	foreach (cell, relations)
		LockRelationOid(lfirst_oid(cell), ShareUpdateExclusiveLock);
}

tsurugi_join *
tsurugi_partition_join_begin(Node *tree)
{
	tsurugi_join *join = palloc0(sizeof(*join));
	bool ours = false;
	bool refers_to_ours = false;
	List *tables = NIL;

	if (!find_tables(tree, join, &ours) || !is_divided(RangeVarGetRelid(join->above, NoLock, true)))
		return NULL;
	/* Takes the lock that the statement will take; the name may have another meaning by then. */
	join->parent = RangeVarGetRelidExtended(join->above, join->is_new ? AccessExclusiveLock : ShareUpdateExclusiveLock,
											RVR_MISSING_OK, tsurugi_check_owner, NULL);
	if (!is_divided(join->parent))
		return NULL;
	join->constraints = find_foreign_keys(join->parent, &tables, &refers_to_ours);
	if (ours)
		join->indexes = tsurugi_partition_indexes(join->parent);
	else if (!refers_to_ours)
		return NULL;
	if (join->indexes == NIL && join->constraints == NIL)
		return NULL;
	lock_all(tables);
	lock_all(join->indexes);
	hide(join, true);
	return join;
}

/* --- afterwards ----------------------------------------------------------------- */

static void
give(const tsurugi_join *join, Oid partition_id)
{
	Relation parent = table_open(join->parent, NoLock);
	Relation partition = table_open(partition_id, AccessExclusiveLock);
	List *before = join->is_new ? NIL : tsurugi_partition_indexes_below(partition_id);
	List *leaves = NIL;
	ListCell *cell;

	foreach (cell, join->indexes)
		tsurugi_partition_index_give(parent, lfirst_oid(cell), partition, join->is_new);
	tsurugi_altered_follow();
	if (!join->is_new && join->indexes != NIL)
		tsurugi_partition_keys_verify(partition, before);
	tsurugi_foreign_keys_join(parent, partition, &leaves);
	if (!join->is_new)
		tsurugi_foreign_key_check_leaves(leaves);
	table_close(partition, NoLock);
	table_close(parent, NoLock);
}

void
tsurugi_partition_join_finish(tsurugi_join *join)
{
	Oid partition;

	CommandCounterIncrement();
	hide(join, false);
	partition = RangeVarGetRelid(join->partition, NoLock, true);
	if (OidIsValid(partition)) /* otherwise an event trigger has dropped it */
		give(join, partition);
}

/*
 * As PostgreSQL will, of a table of which it asks for no rights, and which may have gone by then.
 */
void
tsurugi_partition_leave(const RangeVar *name)
{
	Oid partition = RangeVarGetRelid(name, ShareUpdateExclusiveLock, true);
	Relation relation;

	if (!OidIsValid(partition) || !get_rel_relispartition(partition))
		return;
	relation = table_open(partition, NoLock);
	tsurugi_foreign_keys_leave(relation);
	table_close(relation, NoLock);
}
