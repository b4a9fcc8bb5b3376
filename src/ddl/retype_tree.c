/*
 * retype_tree.c
 *	  ALTER COLUMN TYPE ... USING of tables in memory and ordinary ones that inherit from each
 *	  other.
 *
 * One statement of PostgreSQL must change a column in all tables that inherit it, and USING is
 * refused if one of them is foreign.  So for the duration of the statement the tree is cut wherever
 * one of a parent and its child is in memory and the other is not:
 *
 *	cut			the edge is removed from pg_inherits, the child is no longer marked as a
 *				partition, and its columns count one parent less
 *	statement	PostgreSQL's, for each piece, at its topmost table: with USING for ordinary tables,
 *				without for those in memory, whose rewrite evaluates it (retype.c)
 *	joined		everything is restored
 *
 * 1. No other session sees the pieces: all tables are locked exclusively, and the catalogs change
 *	  only in the statement's transaction.
 * 2. A table that inherits the column from elsewhere, too, still counts that parent: PostgreSQL
 *	  refuses the change, as usual.
 * 3. A CHECK constraint on the column is made again.  If a table has only inherited it, PostgreSQL
 *	  leaves that to the parent, which does not reach the table across a cut.  So such constraints
 *	  are the table's own for the duration of the statement.
 * 4. Other commands are run on the whole tree: those that PostgreSQL would run first (dropped
 *	  defaults and constraints) before, the rest afterwards.
 *
 * The bounds of a partition do not change, because PostgreSQL lets no column of a partition key
 * change its type.  Indexes of partitioned tables that depend on the columns are dropped before,
 * and made afterwards (rebuild.c).
 */
#include "postgres.h"

#include "src/ddl/retype_tree.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/base/catalog_row.h"
#include "src/table/relation.h"

typedef struct Edge
{
	Oid child;
	Oid parent;
	int number; /* its position among the child's parents */
	bool partition;
} Edge;

/* A CHECK constraint that a table has inherited. */
typedef struct Check
{
	Oid table;
	NameData name;
	bool local;
	int parents;
} Check;

typedef struct Cut
{
	List *edges;
	List *checks;
	List *columns; /* names */
} Cut;

/* --- the present state ----------------------------------------------------------------------- */

bool
tsurugi_retype_is_mixed(Oid table, const AlterTableStmt *statement)
{
	bool converts = false;
	int ours = 0;
	List *tables;
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);

		converts |= command->subtype == AT_AlterColumnType && castNode(ColumnDef, command->def)->raw_default != NULL;
	}
	if (!converts || !statement->relation->inh)
		return false;
	tables = find_all_inheritors(table, NoLock, NULL);
	foreach (cell, tables)
		ours += tsurugi_is_our_table(lfirst_oid(cell));
	return ours > 0 && ours < list_length(tables);
}

/*
 * The edges from a table up to other tables of the tree: only those to be cut, or only the others.
 */
static List *
find_edges(Oid table, List *tree, bool cut)
{
	Relation catalog = table_open(InheritsRelationId, AccessShareLock);
	List *edges = NIL;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_inherits_inhrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(catalog, InheritsRelidSeqnoIndexId, true, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		const FormData_pg_inherits *form = (Form_pg_inherits) GETSTRUCT(tuple);
		Edge *edge;

		if (!list_member_oid(tree, form->inhparent) ||
			(tsurugi_is_our_table(table) != tsurugi_is_our_table(form->inhparent)) != cut)
			continue;
		edge = palloc(sizeof(*edge));
		*edge = (Edge){.child = table,
					   .parent = form->inhparent,
					   .number = form->inhseqno,
					   .partition = get_rel_relispartition(table)};
		edges = lappend(edges, edge);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return edges;
}

static List *
find_checks(Oid table)
{
	Relation catalog = table_open(ConstraintRelationId, AccessShareLock);
	List *checks = NIL;
	SysScanDesc scan;
	ScanKeyData key;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_constraint_conrelid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(table));
	scan = systable_beginscan(catalog, ConstraintRelidTypidNameIndexId, true, NULL, 1, &key);
	while ((tuple = systable_getnext(scan)) != NULL)
	{
		const FormData_pg_constraint *form = (Form_pg_constraint) GETSTRUCT(tuple);
		Check *check;

		if (form->contype != CONSTRAINT_CHECK || form->coninhcount == 0)
			continue;
		check = palloc(sizeof(*check));
		*check =
			(Check){.table = table, .name = form->conname, .local = form->conislocal, .parents = form->coninhcount};
		checks = lappend(checks, check);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return checks;
}

/* --- cutting and joining -------------------------------------------------------- */

static void
add_parents(Oid table, const char *column, int count)
{
	Relation catalog = table_open(AttributeRelationId, RowExclusiveLock);
	HeapTuple tuple = SearchSysCacheCopyAttName(table, column);

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for column \"%s\" of relation %u", column, table);
	((Form_pg_attribute) GETSTRUCT(tuple))->attinhcount += count;
	CatalogTupleUpdate(catalog, &tuple->t_self, tuple);
	heap_freetuple(tuple);
	table_close(catalog, RowExclusiveLock);
}

static void
set_partition(Oid table, bool partition)
{
	tsurugi_catalog_row row;

	tsurugi_relation_row_open(table, &row)->relispartition = partition;
	tsurugi_catalog_row_write(&row);
}

/* Finds the constraint by its name, because it may have been made again. */
static void
set_inherited(const Check *check, bool local, int parents)
{
	tsurugi_catalog_row row;
	Form_pg_constraint form =
		tsurugi_constraint_row_open(get_relation_constraint_oid(check->table, NameStr(check->name), false), &row);

	form->conislocal = local;
	form->coninhcount = parents;
	tsurugi_catalog_row_write(&row);
}

static void
cut_edge(const Cut *cut, const Edge *edge)
{
	ListCell *cell;

	(void) DeleteInheritsTuple(edge->child, edge->parent, false, NULL);
	if (edge->partition)
		set_partition(edge->child, false);
	foreach (cell, cut->columns)
		add_parents(edge->child, lfirst(cell), -1);
	CacheInvalidateRelcacheByRelid(edge->parent);
	CacheInvalidateRelcacheByRelid(edge->child);
	CommandCounterIncrement();
}

static void
join_edge(const Cut *cut, const Edge *edge)
{
	ListCell *cell;

	StoreSingleInheritance(edge->child, edge->parent, edge->number);
	if (edge->partition)
		set_partition(edge->child, true);
	foreach (cell, cut->columns)
		add_parents(edge->child, lfirst(cell), 1);
	CacheInvalidateRelcacheByRelid(edge->parent);
	CacheInvalidateRelcacheByRelid(edge->child);
	CommandCounterIncrement();
}

/* Cuts the tree; returns the topmost tables of the pieces. */
static List *
cut_tree(Cut *cut, List *tree)
{
	List *tops = NIL;
	ListCell *cell;

	foreach (cell, tree)
	{
		List *edges = find_edges(lfirst_oid(cell), tree, true);

		cut->edges = list_concat(cut->edges, edges);
		if (edges != NIL)
			cut->checks = list_concat(cut->checks, find_checks(lfirst_oid(cell)));
		if (find_edges(lfirst_oid(cell), tree, false) == NIL)
			tops = lappend_oid(tops, lfirst_oid(cell));
	}
	foreach (cell, cut->edges)
		cut_edge(cut, lfirst(cell));
	foreach (cell, cut->checks)
		set_inherited(lfirst(cell), true, ((Check *) lfirst(cell))->parents);
	CommandCounterIncrement();
	return tops;
}

static void
join_tree(const Cut *cut)
{
	ListCell *cell;

	CommandCounterIncrement();
	foreach (cell, cut->checks)
	{
		const Check *check = lfirst(cell);

		set_inherited(check, check->local, check->parents);
		CommandCounterIncrement();
	}
	foreach (cell, cut->edges)
		join_edge(cut, lfirst(cell));
}

/* --- the statement -------------------------------------------------------------- */

/* The columns of the commands, without duplicates. */
static List *
columns_of(List *types, Oid table)
{
	List *columns = NIL;
	ListCell *cell;
	ListCell *other;

	foreach (cell, types)
	{
		char *name = lfirst_node(AlterTableCmd, cell)->name;
		bool known = get_attnum(table, name) <= 0; /* PostgreSQL reports it */

		foreach (other, columns)
			known |= strcmp(lfirst(other), name) == 0;
		if (!known)
			columns = lappend(columns, name);
	}
	return columns;
}

/*
 * Whether PostgreSQL runs the command before types change (AT_PASS_DROP); except for drops of
 * columns, which USING may name.
 */
static bool
comes_first(const AlterTableCmd *command)
{
	switch (command->subtype)
	{
		case AT_ColumnDefault:
			return command->def == NULL;
		case AT_DropConstraint:
		case AT_DropNotNull:
		case AT_DropExpression:
		case AT_DropIdentity:
			return true;
		default:
			return false;
	}
}

/* Runs these commands, if any, on the table. */
static void
run_commands(const tsurugi_utility *utility, Oid table, List *commands)
{
	AlterTableStmt *statement = makeNode(AlterTableStmt);

	if (commands == NIL)
		return;
	statement->relation = makeRangeVar(get_namespace_name(get_rel_namespace(table)), get_rel_name(table), -1);
	statement->objtype = tsurugi_is_our_table(table) ? OBJECT_FOREIGN_TABLE : OBJECT_TABLE;
	statement->cmds = commands;
	tsurugi_utility_run_instead(utility, (Node *) statement);
	CommandCounterIncrement();
}

/* The type changes for a piece of the tree: for tables in memory, PostgreSQL does not see USING. */
static List *
types_for(Oid top, List *types)
{
	List *commands = copyObject(types);
	ListCell *cell;

	foreach (cell, commands)
		if (tsurugi_is_our_table(top))
			castNode(ColumnDef, lfirst_node(AlterTableCmd, cell)->def)->raw_default = NULL;
	return commands;
}

void
tsurugi_retype_run_mixed(const tsurugi_utility *utility, Oid table, List *types, AlterTableStmt *rest)
{
	Cut cut = {.columns = columns_of(types, table)};
	List *tree = find_all_inheritors(table, AccessExclusiveLock, NULL);
	List *first = NIL;
	List *tops;
	ListCell *cell;

	foreach (cell, rest->cmds)
		if (comes_first(lfirst(cell)))
		{
			first = lappend(first, lfirst(cell));
			rest->cmds = foreach_delete_current (rest->cmds, cell);
		}
	run_commands(utility, table, first);
	tops = cut_tree(&cut, tree);
	foreach (cell, tops)
		run_commands(utility, lfirst_oid(cell), types_for(lfirst_oid(cell), types));
	join_tree(&cut);
	run_commands(utility, table, rest->cmds);
}
