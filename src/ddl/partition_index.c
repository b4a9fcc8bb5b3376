/*
 * partition_index.c
 *	  Indexes of partitioned tables, and their parts in partitions in memory.
 *
 * PostgreSQL makes an index of a partitioned table as an entry without storage.  In each partition
 * it makes an index that is attached to that entry (pg_inherits), or takes an existing equal one.
 * It skips foreign partitions, and refuses a unique index where there are some.  So PostgreSQL is
 * given the index of the table ONLY, which is not valid then, and the parts are made here, as
 * DefineIndex makes them:
 *
 *	partition			its part
 *	in memory			an entry (index_entry.c) and its storage
 *	ordinary			DefineIndex's
 *	partitioned			DefineIndex's for ONLY this one, then the parts below it
 *	of other wrappers	none; a unique index is refused, in PostgreSQL's words
 *
 * When all parts exist and are valid, the index becomes valid.  Everything else is PostgreSQL's
 * own: DROP, ATTACH and DETACH, dependencies, \d, pg_dump.
 */
#include "postgres.h"

#include "src/ddl/partition_index.h"

#include "access/attmap.h"
#include "access/genam.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_index.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/progress.h"
#include "commands/tablecmds.h"
#include "nodes/makefuncs.h"
#include "parser/parse_utilcmd.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/backend_progress.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "runtime/base/check.h"
#include "src/base/catalog_row.h"
#include "src/base/owner.h"
#include "src/constraint/deferred_key.h"
#include "src/ddl/altered.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/key_clause.h"
#include "src/ddl/rewrite.h"
#include "src/ddl/utility.h"
#include "src/table/keys.h"
#include "src/table/relation.h"
#include "src/txn/deferred.h"

/* How the parts are made. */
typedef struct Manner
{
	LOCKMODE lock;
	bool by_command; /* CREATE INDEX */
	bool takes_none; /* of the existing indexes: the partition is new */
	bool takes_any;	 /* also one that is not valid */
	bool reports;	 /* report progress by partitions */
	char *comment;	 /* on each, or NULL */
} Manner;

static bool make_part(Relation above, Relation parent_index, Relation partition, const Manner *manner);

/*
 * Finds an index of the partition that equals the wanted one and is not yet part of another; NULL
 * if there is none.
 */
static Relation
find_same(Relation parent_index, Relation partition, AttrMap *map, const Manner *manner)
{
	IndexInfo *wanted = BuildIndexInfo(parent_index);
	bool constraint = OidIsValid(get_index_constraint(RelationGetRelid(parent_index)));
	ListCell *cell;

	foreach (cell, RelationGetIndexList(partition))
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);

		if (!index->rd_rel->relispartition && (manner->takes_any || index->rd_index->indisvalid) &&
			CompareIndexInfo(BuildIndexInfo(index), wanted, index->rd_indcollation, parent_index->rd_indcollation,
							 index->rd_opfamily, parent_index->rd_opfamily, map) &&
			(!constraint || OidIsValid(get_index_constraint(RelationGetRelid(index)))))
			return index;
		index_close(index, AccessShareLock);
	}
	return NULL;
}

static void
attach_part(Relation index, Relation parent_index, Oid partition)
{
	Oid constraint = get_index_constraint(RelationGetRelid(parent_index));

	IndexSetParentIndex(index, RelationGetRelid(parent_index));
	if (OidIsValid(constraint))
		ConstraintSetParentConstraint(get_index_constraint(RelationGetRelid(index)), constraint, partition);
	CommandCounterIncrement();
}

/* Marks a new constraint as one that comes from the table above. */
static void
set_inherited(Oid constraint)
{
	tsurugi_catalog_row row;

	tsurugi_constraint_row_open(constraint, &row)->connoinherit = false;
	tsurugi_catalog_row_write(&row);
	CommandCounterIncrement();
}

static void
set_valid(Oid index)
{
	tsurugi_catalog_row row;

	tsurugi_index_row_open(index, &row)->indisvalid = true;
	tsurugi_catalog_row_write(&row);
	CommandCounterIncrement();
}

/*
 * Makes the parts of an index that are missing for some partitions, or for all.  Returns whether
 * the index is valid.
 */
static bool
make_parts(Relation table, Oid index, const Manner *manner)
{
	PartitionDesc partitions = RelationGetPartitionDesc(table, true);
	Relation parent_index = index_open(index, AccessShareLock);
	Manner below = *manner;
	bool valid = true;

	below.reports = false;
	if (manner->reports)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_PARTITIONS_TOTAL, partitions->nparts);
	for (int i = 0; i < partitions->nparts; i++)
	{
		Relation partition = table_open(partitions->oids[i], manner->lock);
		Oid part = index_get_partition(partition, index);

		valid &= OidIsValid(part) ? get_index_isvalid(part) : make_part(table, parent_index, partition, &below);
		table_close(partition, NoLock);
		if (manner->reports)
			pgstat_progress_update_param(PROGRESS_CREATEIDX_PARTITIONS_DONE, i + 1);
	}
	index_close(parent_index, NoLock);
	if (valid)
		set_valid(index);
	return valid;
}

/* Makes the part in a partition in memory. */
static void
create_in_memory(Relation partition, IndexStmt *statement, Relation parent_index, const Manner *manner)
{
	Oid oid = RelationGetRelid(partition);
	bool shared = manner->lock == ShareLock;
	Relation index;
	Oid constraint;

	if (manner->by_command)
		tsurugi_deferred_check_none(oid, "CREATE INDEX");
	/* as in index_command.c */
	if (shared)
		(void) tsurugi_relation_get(partition);
	index = index_open(tsurugi_index_entry_create(partition, statement, NULL, manner->by_command), AccessShareLock);
	attach_part(index, parent_index, oid);
	constraint = get_index_constraint(RelationGetRelid(index));
	if (OidIsValid(constraint))
		set_inherited(constraint);
	if (shared)
		tsurugi_table_add_index(partition, RelationGetRelid(index));
	else
		tsurugi_altered_note(oid);
	index_close(index, NoLock);
}

/* Makes an index by DefineIndex, without the partitions below.  Returns the index. */
static Oid
define(Relation table, IndexStmt *statement, Relation parent_index, const Manner *manner)
{
	bool by_command = manner->by_command;
	Oid parent = parent_index == NULL ? InvalidOid : RelationGetRelid(parent_index);
	Oid index;

	statement->relation =
		makeRangeVar(get_namespace_name(RelationGetNamespace(table)), pstrdup(RelationGetRelationName(table)), -1);
	statement->relation->inh = false;
	index = DefineIndex(RelationGetRelid(table), statement, InvalidOid, parent,
						OidIsValid(parent) ? get_index_constraint(parent) : InvalidOid, !by_command, by_command, false,
						false, !by_command)
				.objectId;
	CommandCounterIncrement();
	return index;
}

/* --- partitions without a part --------------------------------------------------------------- */

/* Whether the partition gets no part. */
static bool
goes_without(Relation above, Relation parent_index, Relation partition)
{
	if (partition->rd_rel->relkind != RELKIND_FOREIGN_TABLE || tsurugi_is_our_table(RelationGetRelid(partition)))
		return false;
	if (parent_index->rd_index->indisunique)
		ereport(
			ERROR,
			(errcode(ERRCODE_WRONG_OBJECT_TYPE),
			 errmsg("cannot create unique index on partitioned table \"%s\"", RelationGetRelationName(above)),
			 errdetail("Table \"%s\" contains partitions that are foreign tables.", RelationGetRelationName(above))));
	return true;
}

/* --- parts ---------------------------------------------------------------------- */

/*
 * Gives the partition its part of an index of the table above.  Returns whether the part is valid.
 */
static bool
make_part(Relation above, Relation parent_index, Relation partition, const Manner *manner)
{
	AttrMap *map = build_attrmap_by_name(RelationGetDescr(partition), RelationGetDescr(above));
	tsurugi_caller caller;
	IndexStmt *statement;
	bool without;
	Relation same;
	Oid constraint;
	Oid index;

	/* Called as the owner, because expressions of indexes call functions. */
	tsurugi_owner_begin(partition, &caller);
	same = manner->takes_none ? NULL : find_same(parent_index, partition, map, manner);
	without = same == NULL && goes_without(above, parent_index, partition);
	tsurugi_owner_end(&caller);

	if (same != NULL)
	{
		bool valid = same->rd_index->indisvalid;

		attach_part(same, parent_index, RelationGetRelid(partition));
		index_close(same, NoLock);
		return valid;
	}
	if (without)
		return true;
	statement = generateClonedIndexStmt(NULL, parent_index, map, &constraint);
	statement->idxcomment = manner->comment;
	if (manner->by_command)
		CheckTableNotInUse(partition, "CREATE INDEX");
	if (partition->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
	{
		create_in_memory(partition, statement, parent_index, manner);
		return true;
	}
	index = define(partition, statement, parent_index, manner);
	return partition->rd_rel->relkind != RELKIND_PARTITIONED_TABLE || make_parts(partition, index, manner);
}

List *
tsurugi_partition_indexes(Oid table)
{
	Relation relation = table_open(table, NoLock);
	List *indexes = RelationGetIndexList(relation);

	table_close(relation, NoLock);
	return indexes;
}

List *
tsurugi_partition_indexes_below(Oid table)
{
	List *indexes = NIL;
	ListCell *cell;

	foreach (cell, find_all_inheritors(table, AccessShareLock, NULL))
		if (tsurugi_is_our_table(lfirst_oid(cell)))
			indexes = list_concat(indexes, tsurugi_partition_indexes(lfirst_oid(cell)));
	return indexes;
}

void
tsurugi_partition_indexes_spread(Oid table, List *before, LOCKMODE lock, bool by_command)
{
	const Manner manner = {.lock = lock, .by_command = by_command, .takes_any = true, .reports = by_command};
	Relation relation = table_open(table, NoLock);
	List *made = list_difference_oid(RelationGetIndexList(relation), before);
	List *before_below = made != NIL && !by_command ? tsurugi_partition_indexes_below(table) : NIL;
	ListCell *cell;

	if (by_command)
		pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, table);
	foreach (cell, made)
		(void) make_parts(relation, lfirst_oid(cell), &manner);
	tsurugi_altered_follow();
	if (by_command)
		pgstat_progress_end_command();
	else if (made != NIL)
		tsurugi_partition_keys_verify(relation, before_below);
	table_close(relation, NoLock);
}

bool
tsurugi_partition_keys_take(Oid relation, AlterTableStmt *statement, List **keys)
{
	ListCell *cell;

	if (get_rel_relkind(relation) != RELKIND_PARTITIONED_TABLE || !statement->relation->inh)
		return false;
	foreach (cell, statement->cmds)
	{
		AlterTableCmd *command = lfirst(cell);

		if (command->subtype == AT_AddColumn)
			*keys = tsurugi_key_clauses_of_column((ColumnDef *) command->def, *keys);
		else if (command->subtype == AT_AddConstraint && tsurugi_is_key_clause(command->def) &&
				 ((Constraint *) command->def)->indexname == NULL)
		{
			*keys = lappend(*keys, command->def);
			statement->cmds = foreach_delete_current (statement->cmds, cell);
		}
	}
	if (*keys == NIL)
		return false;
	statement->cmds = list_concat(statement->cmds, tsurugi_key_clauses_set_not_null(relation, *keys));
	return true;
}

void
tsurugi_partition_keys_make(const tsurugi_utility *utility, Oid relation, const AlterTableStmt *statement,
							const List *keys)
{
	AlterTableStmt *alone = makeNode(AlterTableStmt);
	List *before;
	ListCell *cell;

	alone->relation = copyObject(statement->relation);
	alone->relation->inh = false;
	alone->objtype = OBJECT_TABLE;
	foreach (cell, keys)
	{
		AlterTableCmd *command = makeNode(AlterTableCmd);

		command->subtype = AT_AddConstraint;
		command->def = lfirst(cell);
		alone->cmds = lappend(alone->cmds, command);
	}
	CommandCounterIncrement();
	before = tsurugi_partition_indexes(relation);
	tsurugi_utility_run_part(utility, (Node *) alone);
	CommandCounterIncrement();
	tsurugi_partition_indexes_spread(relation, before, AccessExclusiveLock, false);
}

void
tsurugi_partition_index_give(Relation above, Oid index, Relation partition, bool is_new)
{
	const Manner manner = {.lock = AccessExclusiveLock, .takes_none = is_new};
	Relation parent_index = index_open(index, AccessShareLock);

	tg_assert(CheckRelationLockedByMe(partition, AccessExclusiveLock, true));
	(void) make_part(above, parent_index, partition, &manner);
	index_close(parent_index, NoLock);
}

Oid
tsurugi_partition_index_make(Relation table, IndexStmt *statement, const char *text)
{
	const Manner manner = {.lock = AccessExclusiveLock, .takes_any = true, .comment = statement->idxcomment};
	Oid index;

	tg_assert(CheckRelationLockedByMe(table, AccessExclusiveLock, true));
	if (!statement->transformed)
		statement = transformIndexStmt(RelationGetRelid(table), statement, text);
	index = define(table, statement, NULL, &manner);
	(void) make_parts(table, index, &manner);
	return index;
}

void
tsurugi_partition_keys_verify(Relation table, const List *before)
{
	PartitionDesc partitions;

	if (tsurugi_is_our_table(RelationGetRelid(table)))
		tsurugi_deferrable_keys_verify(RelationGetRelid(table), before);
	if (table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
		return;
	partitions = RelationGetPartitionDesc(table, true);
	for (int i = 0; i < partitions->nparts; i++)
	{
		Relation below = table_open(partitions->oids[i], NoLock);

		tsurugi_partition_keys_verify(below, before);
		table_close(below, NoLock);
	}
}
