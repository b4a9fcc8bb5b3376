/*
 * rebuild.c
 *	  Indexes on columns whose type an ALTER TABLE changes.
 *
 * PostgreSQL rebuilds the indexes that depend on such a column, but cannot do so for tables in
 * memory.  These indexes are dropped before, and made again afterwards from their definitions, as
 * PostgreSQL does it; with their comments and the mark of CLUSTER.
 */
#include "postgres.h"

#include "src/ddl/rebuild.h"

#include "access/genam.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "commands/cluster.h"
#include "commands/comment.h"
#include "optimizer/optimizer.h"
#include "parser/parser.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "src/constraint/deferred_key.h"
#include "src/constraint/definition.h"
#include "src/constraint/foreign_key.h"
#include "src/ddl/altered.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/key_clause.h"
#include "src/ddl/partition_index.h"
#include "src/ddl/replica_identity.h"

/* An index that is dropped, to be made again. */
typedef struct Rebuild
{
	Oid table;
	Bitmapset *columns;	 /* that it depends on, as pull_varattnos has them */
	char *definition;	 /* the statement that makes it */
	char *comment;		 /* on it, or NULL */
	char *of_constraint; /* the comment on its constraint, or NULL */
	bool clustered;		 /* the table was clustered by it */
	bool identity;		 /* it was the replica identity */
} Rebuild;

/*
 * Takes the columns from the stored expression: the relcache's expression is planned, which calls
 * functions as the current role.
 */
static void
add_columns(Relation index, AttrNumber of, Bitmapset **columns)
{
	bool null;
	Datum written = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, of, &null);

	if (!null)
		pull_varattnos(stringToNode(TextDatumGetCString(written)), 1, columns);
}

static Bitmapset *
columns_of(Relation index)
{
	Bitmapset *columns = NULL;

	for (int i = 0; i < index->rd_index->indnatts; i++)
		columns = bms_add_member(columns, index->rd_index->indkey.values[i] - FirstLowInvalidHeapAttributeNumber);
	add_columns(index, Anum_pg_index_indexprs, &columns);
	add_columns(index, Anum_pg_index_indpred, &columns);
	return columns;
}

/* The statement has dropped a column of the index, and therefore the index. */
static bool
is_gone(const Rebuild *rebuild, TupleDesc columns)
{
	for (int i = 0; i < columns->natts; i++)
	{
		if (TupleDescAttr(columns, i)->attisdropped &&
			bms_is_member(i + 1 - FirstLowInvalidHeapAttributeNumber, rebuild->columns))
			return true;
	}
	return false;
}

static Rebuild *
make_rebuild(Oid table, Oid index, Oid constraint, Bitmapset *columns)
{
	Rebuild *rebuild = palloc0(sizeof(*rebuild));

	rebuild->table = table;
	rebuild->columns = columns;
	rebuild->definition =
		OidIsValid(constraint) ? tsurugi_constraint_definition(constraint) : pg_get_indexdef_string(index);
	rebuild->comment = GetComment(index, RelationRelationId, 0);
	if (OidIsValid(constraint))
		rebuild->of_constraint = GetComment(constraint, ConstraintRelationId, 0);
	rebuild->clustered = get_index_isclustered(index);
	rebuild->identity = get_index_isreplident(index);
	return rebuild;
}

/*
 * Indexes of a partitioned table are dropped with their parts, which are not examined then.  If the
 * table is the partition, they are not examined either: PostgreSQL refuses the statement, or drops
 * the whole index.
 */
List *
tsurugi_rebuild_drop(Oid table, const char *column, List *rebuilds)
{
	Relation relation = table_open(table, AccessExclusiveLock);
	AttrNumber attnum = get_attnum(table, column);
	List *indexes = attnum > 0 ? RelationGetIndexList(relation) : NIL;
	ListCell *cell;

	foreach (cell, indexes)
	{
		Relation index = index_open(lfirst_oid(cell), AccessExclusiveLock);
		Bitmapset *columns = columns_of(index);
		bool concerned =
			!index->rd_rel->relispartition && bms_is_member(attnum - FirstLowInvalidHeapAttributeNumber, columns);
		Oid constraint = get_index_constraint(lfirst_oid(cell));
		ObjectAddress object;

		index_close(index, NoLock);
		if (!concerned)
			continue;
		rebuilds = lappend(rebuilds, make_rebuild(table, lfirst_oid(cell), constraint, columns));
		if (OidIsValid(constraint))
			ObjectAddressSet(object, ConstraintRelationId, constraint);
		else
			ObjectAddressSet(object, RelationRelationId, lfirst_oid(cell));
		performDeletion(&object, DROP_RESTRICT, PERFORM_DELETION_INTERNAL);
		CommandCounterIncrement();
	}
	table_close(relation, NoLock);
	return rebuilds;
}

/* Parses the definition that PostgreSQL has written of an index or a constraint. */
static IndexStmt *
parse_definition(const char *definition)
{
	Node *statement = linitial_node(RawStmt, raw_parser(definition, RAW_PARSE_DEFAULT))->stmt;

	if (IsA(statement, IndexStmt))
		return (IndexStmt *) statement;
	return tsurugi_index_of_constraint(
		castNode(Constraint, linitial_node(AlterTableCmd, castNode(AlterTableStmt, statement)->cmds)->def));
}

List *
tsurugi_rebuild_make(const List *rebuilds)
{
	List *beside = NIL;
	ListCell *cell;

	foreach (cell, rebuilds)
		beside = list_concat(beside, tsurugi_partition_indexes_below(((const Rebuild *) lfirst(cell))->table));
	foreach (cell, rebuilds)
	{
		const Rebuild *rebuild = lfirst(cell);
		Relation relation = table_open(rebuild->table, AccessExclusiveLock);
		IndexStmt *statement;
		Oid index;

		if (is_gone(rebuild, RelationGetDescr(relation)))
		{
			table_close(relation, NoLock);
			continue;
		}
		statement = parse_definition(rebuild->definition);
		statement->idxcomment = rebuild->comment;
		if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
			index = tsurugi_partition_index_make(relation, statement, rebuild->definition);
		else
			index = tsurugi_index_entry_create(relation, statement, rebuild->definition, false);
		if (rebuild->of_constraint != NULL)
			CreateComments(get_index_constraint(index), ConstraintRelationId, 0, rebuild->of_constraint);
		if (rebuild->clustered)
			mark_index_clustered(relation, index, true);
		if (rebuild->identity)
			tsurugi_replica_identity_mark_index(relation, index);
		if (relation->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
			tsurugi_altered_note(rebuild->table);
		table_close(relation, NoLock);
	}
	return beside;
}

void
tsurugi_rebuild_verify(const List *rebuilds, const List *beside)
{
	ListCell *cell;

	foreach (cell, rebuilds)
	{
		Relation relation = table_open(((const Rebuild *) lfirst(cell))->table, NoLock);

		tsurugi_partition_keys_verify(relation, beside);
		table_close(relation, NoLock);
	}
}
