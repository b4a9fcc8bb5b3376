/*
 * alter_types.c
 *	  ALTER TABLE: objects that depend on columns which change their types.
 *
 * Indexes that depend on such a column are dropped before PostgreSQL's part and created again
 * afterwards (rebuild.c).  The same is done with foreign keys that have the column at either end.
 * The order is:
 *
 * 1. The expressions that convert the rows are built: USING may name columns that the statement
 *	  drops.
 * 2. PostgreSQL drops what the statement drops, with everything that depends on it; it does so
 *	  first, too (AT_PASS_DROP).
 * 3. Of the remaining objects, those that depend on the columns are dropped.
 *
 * If USING reaches tables of both kinds (retype_tree.h), PostgreSQL builds the expressions of its
 * own tables in its part, so columns are dropped after that.
 */
#include "postgres.h"

#include "src/ddl/alter_types.h"

#include "access/htup_details.h"
#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/partition.h"
#include "catalog/pg_attribute.h"
#include "catalog/pg_inherits.h"
#include "commands/event_trigger.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/constraint/definition.h"
#include "src/constraint/foreign_key.h"
#include "src/constraint/foreign_key_entry.h"
#include "src/ddl/altered.h"
#include "src/ddl/partition_index.h"
#include "src/ddl/rebuild.h"
#include "src/ddl/retype.h"
#include "src/ddl/retype_tree.h"
#include "src/table/relation.h"

/* --- the tables that the statement reaches --------------------------------------------------- */

List *
tsurugi_alter_reaches(Oid relation, const AlterTableStmt *statement)
{
	return statement->relation->inh ? find_all_inheritors(relation, NoLock, NULL) : list_make1_oid(relation);
}

bool
tsurugi_alter_reaches_ours(Oid relation, const AlterTableStmt *statement)
{
	ListCell *cell;

	foreach (cell, tsurugi_alter_reaches(relation, statement))
		if (tsurugi_is_our_table(lfirst_oid(cell)))
			return true;
	return false;
}

/* --- 1 -------------------------------------------------------------------------- */

/*
 * PostgreSQL refuses to change a column that does not exist, is inherited, or is part of the
 * partition key.
 */
static bool
may_change(Relation relation, const char *column)
{
	HeapTuple tuple = SearchSysCacheAttName(RelationGetRelid(relation), column);
	const FormData_pg_attribute *attribute;
	bool may;
	bool in_expression;

	if (!HeapTupleIsValid(tuple))
		return false;
	attribute = (Form_pg_attribute) GETSTRUCT(tuple);
	may = attribute->attnum > 0 && attribute->attinhcount == 0 &&
		  !has_partition_attrs(relation, bms_make_singleton(attribute->attnum - FirstLowInvalidHeapAttributeNumber),
							   &in_expression);
	ReleaseSysCache(tuple);
	return may;
}

/* The commands that change types, as far as they concern this file. */
static List *
changes_of_types(const tsurugi_utility *utility, Oid relation_id, const AlterTableStmt *statement)
{
	bool has_heirs = list_length(tsurugi_alter_reaches(relation_id, statement)) > 1;
	bool reaches_ours = tsurugi_alter_reaches_ours(relation_id, statement);
	List *changes = NIL;
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);
		Relation relation;

		if (command->subtype != AT_AlterColumnType)
			continue;
		relation = relation_open(relation_id, NoLock); /* it may be a composite type */
		if (reaches_ours)
			tsurugi_retype_check_using(relation, command, has_heirs, utility->text);
		if (may_change(relation, command->name))
			changes = lappend(changes, lfirst(cell));
		relation_close(relation, NoLock);
	}
	return changes;
}

/* Notes that a column of this table gets another type. */
static void
note_type_change(const tsurugi_utility *utility, Oid table, const AlterTableCmd *command)
{
	Relation relation = table_open(table, AccessExclusiveLock);
	MemoryContext caller;
	tsurugi_retype **retype = tsurugi_altered_retype(table, &caller);

	tsurugi_retype_add(retype, relation, command, utility->text);
	MemoryContextSwitchTo(caller);
	table_close(relation, NoLock);
}

/* --- 2 -------------------------------------------------------------------------- */

static bool
drops_first(Oid relation, const AlterTableStmt *statement, const AlterTableCmd *command)
{
	return command->subtype == AT_DropConstraint ||
		   (command->subtype == AT_DropColumn && !tsurugi_retype_is_mixed(relation, statement));
}

static bool
is_concerned(Oid relation, const AlterTableStmt *statement)
{
	ListCell *cell;
	ListCell *table;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);

		if (command->subtype != AT_AlterColumnType)
			continue;
		foreach (table, tsurugi_alter_reaches(relation, statement))
			if (tsurugi_holds_our_table(lfirst_oid(table)) ||
				tsurugi_foreign_keys_of_column(lfirst_oid(table), command->name) != NIL)
				return true;
	}
	return false;
}

bool
tsurugi_alter_types_drop_first(Oid relation, const AlterTableStmt *written)
{
	ListCell *cell;

	foreach (cell, written->cmds)
		if (drops_first(relation, written, lfirst(cell)))
			return is_concerned(relation, written);
	return false;
}

/* Event triggers are told of one ALTER TABLE, and of each object that it drops. */
static void
run_drops(const tsurugi_utility *utility, Oid relation, const AlterTableStmt *written, AlterTableStmt *changed)
{
	AlterTableStmt *drops = makeNode(AlterTableStmt);
	ListCell *cell;

	drops->relation = copyObject(written->relation);
	drops->objtype = written->objtype;
	foreach (cell, changed->cmds)
		if (drops_first(relation, written, lfirst(cell)))
		{
			drops->cmds = lappend(drops->cmds, lfirst(cell));
			changed->cmds = foreach_delete_current (changed->cmds, cell);
		}
	EventTriggerInhibitCommandCollection();
	PG_TRY();
	{
		tsurugi_utility_run_instead(utility, (Node *) drops);
	}
	PG_FINALLY();
	{
		EventTriggerUndoInhibitCommandCollection();
	}
	PG_END_TRY();
	CommandCounterIncrement();
}

/* --- 3 -------------------------------------------------------------------------- */

static void
take_down(Oid table, const char *column, tsurugi_taken_down *taken)
{
	ListCell *cell;

	tsurugi_checks_have_to_be_seen(table, column);
	foreach (cell, tsurugi_foreign_keys_of_column(table, column))
		taken->keys = lappend(taken->keys, tsurugi_foreign_key_drop(lfirst_oid(cell)));
	if (tsurugi_holds_our_table(table))
		taken->indexes = tsurugi_rebuild_drop(table, column, taken->indexes);
}

/* --- all of it ------------------------------------------------------------------ */

tsurugi_taken_down
tsurugi_alter_types_begin(const tsurugi_utility *utility, Oid relation, const AlterTableStmt *written,
						  AlterTableStmt *changed)
{
	List *tables;
	List *changes = changes_of_types(utility, relation, written);
	tsurugi_taken_down taken = {NIL, NIL};
	int count = 0;
	ListCell *cell;
	ListCell *table;

	foreach (cell, written->cmds)
		count += lfirst_node(AlterTableCmd, cell)->subtype == AT_AlterColumnType;
	if (count == 0 || list_length(changes) < count)
		return taken; /* PostgreSQL refuses one of them before it does anything */
	/*
	 * PostgreSQL takes these locks later.  They are taken here because another session might drop
	 * an object that is looked up below.
	 */
	if (written->relation->inh)
		(void) find_all_inheritors(relation, AccessExclusiveLock, NULL);
	tables = tsurugi_alter_reaches(relation, written);
	foreach (cell, changes)
		foreach (table, tables)
			if (tsurugi_is_our_table(lfirst_oid(table)))
				note_type_change(utility, lfirst_oid(table), lfirst(cell));
	if (tsurugi_alter_types_drop_first(relation, written))
		run_drops(utility, relation, written, changed);
	foreach (cell, changes)
		foreach (table, tables)
			take_down(lfirst_oid(table), lfirst_node(AlterTableCmd, cell)->name, &taken);
	return taken;
}
