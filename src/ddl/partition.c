/*
 * partition.c
 *	  Existing rows of tables that become partitions.
 *
 * PostgreSQL does not verify the rows of foreign tables: neither of a table that is attached, nor
 * of a default partition beside which another one is made (it warns that it has not).  Here they
 * are verified, and the warning, which would be wrong, is suppressed.
 */
#include "src/ddl/partition.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "miscadmin.h"
#include "partitioning/partdesc.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/partcache.h"
#include "utils/rel.h"

#include "src/base/owner.h"
#include "src/ddl/commands.h"
#include "src/ddl/rewrite.h"

static void
refuse(Relation relation, const char *message)
{
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION), errmsg(message, RelationGetRelationName(relation)), errtable(relation)));
}

/*
 * Verifies the tables in memory among the partition and those below it, against the bounds of the
 * partition.  The cached bounds of those below may be out of date, because PostgreSQL invalidates
 * only the partition itself.  The error names the table that has the row, or the partition.
 */
static void
verify(Oid partition, const char *message, bool names_table)
{
	List *tables = find_all_inheritors(partition, AccessExclusiveLock, NULL);
	Relation top = table_open(partition, NoLock);
	List *bounds = RelationGetPartitionQual(top);
	Oid author = tsurugi_owner_of(get_partition_parent(partition, false));
	ListCell *cell;

	foreach (cell, tables)
	{
		Relation relation;

		if (!tsurugi_is_our_table(lfirst_oid(cell)))
			continue;
		relation = table_open(lfirst_oid(cell), NoLock);
		if (!tsurugi_table_satisfies(relation, map_partition_varattnos(bounds, 1, relation, top), author))
			refuse(names_table ? relation : top, message);
		table_close(relation, NoLock);
	}
	table_close(top, NoLock);
}

void
tsurugi_partition_verify_default(Oid parent, bool attached)
{
	Oid other = get_default_partition_oid(parent);

	if (OidIsValid(other))
		verify(other, "updated partition constraint for default partition \"%s\" would be violated by some row",
			   attached);
}

void
tsurugi_partition_check_attached(const AlterTableStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);
		Oid attached;

		if (command->subtype != AT_AttachPartition)
			continue;
		attached = RangeVarGetRelid(castNode(PartitionCmd, command->def)->name, NoLock, true);
		if (!tsurugi_is_our_table(attached) || !pg_class_ownercheck(attached, GetUserId()))
			continue;
		attached = RangeVarGetRelidExtended(castNode(PartitionCmd, command->def)->name, AccessExclusiveLock,
											RVR_MISSING_OK, tsurugi_check_owner, NULL);
		if (OidIsValid(attached) && find_inheritance_children(attached, NoLock) != NIL)
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("cannot attach inheritance parent as partition")));
	}
}

void
tsurugi_partition_verify_attached(Oid parent, const AlterTableStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);
		Oid attached;

		if (command->subtype != AT_AttachPartition || get_rel_relkind(parent) != RELKIND_PARTITIONED_TABLE)
			continue;
		CommandCounterIncrement();
		attached = RangeVarGetRelid(castNode(PartitionCmd, command->def)->name, NoLock, true);
		if (OidIsValid(attached))
			verify(attached, "partition constraint of relation \"%s\" is violated by some row", true);
		tsurugi_partition_verify_default(parent, true);
	}
}

/* --- the warning ---------------------------------------------------------------------- */

static emit_log_hook_type previous_log_hook;
/* The value of log_min_messages while a statement's warning is suppressed; otherwise 0. */
static int level;

/*
 * PostgreSQL calls the hook only for messages that go to the log.  So log_min_messages is lowered
 * to WARNING meanwhile.
 */
static void
hold_back(ErrorData *error)
{
	if (previous_log_hook != NULL)
		previous_log_hook(error);
	if (level == 0 || error->elevel != WARNING)
		return;
	if (error->funcname != NULL && strcmp(error->funcname, "check_default_partition_contents") == 0)
		error->output_to_server = error->output_to_client = false;
	else if (level > WARNING)
		error->output_to_server = false;
}

/* The table to which a statement adds a partition, or InvalidOid. */
static Oid
parent_of(const Node *tree)
{
	const RangeVar *name = NULL;
	ListCell *cell;

	if (IsA(tree, CreateStmt) || IsA(tree, CreateForeignTableStmt))
	{
		const CreateStmt *create = (const CreateStmt *) tree;

		if (create->partbound != NULL)
			name = linitial_node(RangeVar, create->inhRelations);
	}
	else if (IsA(tree, AlterTableStmt))
	{
		foreach (cell, ((const AlterTableStmt *) tree)->cmds)
			if (lfirst_node(AlterTableCmd, cell)->subtype == AT_AttachPartition)
				name = ((const AlterTableStmt *) tree)->relation;
	}
	return name == NULL ? InvalidOid : RangeVarGetRelid(name, NoLock, true);
}

/* Whether all foreign tables below the partition are in memory, so that their rows are verified. */
static bool
is_looked_at(Oid partition)
{
	List *tables = find_all_inheritors(partition, NoLock, NULL);
	ListCell *cell;

	foreach (cell, tables)
		if (get_rel_relkind(lfirst_oid(cell)) == RELKIND_FOREIGN_TABLE && !tsurugi_is_our_table(lfirst_oid(cell)))
			return false;
	return true;
}

int
tsurugi_partition_hold_back(const Node *tree)
{
	int before = level;
	Oid parent = parent_of(tree);
	Oid other;

	if (before != 0 || !OidIsValid(parent) || get_rel_relkind(parent) != RELKIND_PARTITIONED_TABLE)
		return before;
	other = get_default_partition_oid(parent);
	if (OidIsValid(other) && is_looked_at(other))
	{
		level = log_min_messages;
		log_min_messages = Min(level, WARNING);
	}
	return before;
}

void
tsurugi_partition_let_through(int before)
{
	if (before == 0 && level != 0)
		log_min_messages = level;
	level = before;
}

void
tsurugi_partition_init(void)
{
	previous_log_hook = emit_log_hook;
	emit_log_hook = hold_back;
}
