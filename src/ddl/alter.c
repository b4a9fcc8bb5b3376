/*
 * alter.c
 *	  ALTER TABLE: the parts that PostgreSQL leaves undone for foreign tables.
 *
 * Keys are taken out of the statement and created afterwards; types are noted before the catalogs
 * change; and existing rows are checked against new conditions, which PostgreSQL does not do.
 *
 * Objects that depend on columns which change their types are dropped before, and created again
 * afterwards (alter_types.c).
 */
#include "postgres.h"

#include "src/ddl/alter.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/event_trigger.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/constraint/deferred_key.h"
#include "src/constraint/foreign_key.h"
#include "src/constraint/foreign_key_entry.h"
#include "src/ddl/access_method.h"
#include "src/ddl/alter_types.h"
#include "src/ddl/altered.h"
#include "src/ddl/cluster.h"
#include "src/ddl/create.h"
#include "src/ddl/index_command.h"
#include "src/ddl/key_clause.h"
#include "src/ddl/partition.h"
#include "src/ddl/partition_index.h"
#include "src/ddl/partition_join.h"
#include "src/ddl/rebuild.h"
#include "src/ddl/replica_identity.h"
#include "src/ddl/retype.h"
#include "src/ddl/retype_tree.h"
#include "src/ddl/rewrite.h"
#include "src/ddl/storage_parameters.h"
#include "src/ddl/type_users.h"
#include "src/table/relation.h"
#include "src/table/storage.h"
#include "src/txn/deferred.h"
#include "src/txn/snapshot.h"

/* The parts of an ALTER TABLE beside those that PostgreSQL executes. */
typedef struct Wishes
{
	Oid relation;
	List *keys;			/* Constraint nodes */
	List *foreign_keys; /* likewise */
	tsurugi_taken_down taken;
	List *beside;	  /* indexes that are not recreated */
	List *before;	  /* indexes that existed before keys were made */
	List *made_valid; /* members of taken.keys that become valid */
	List *validated;  /* names of constraints */
	List *altered;	  /* of AlterTableCmd: ALTER CONSTRAINT */
	List *clustered;  /* likewise: CLUSTER ON, SET WITHOUT CLUSTER */
	List *identities; /* likewise: REPLICA IDENTITY */
	List *stored;	  /* likewise: commands that only ordinary tables know */
	List *not_null;	  /* names of columns */
	/*
	 * Of AlterTableCmd: identities and defaults of added columns, given by commands of their own.
	 */
	List *late;
	List *met; /* CHECK constraints that the rows already satisfy */
	bool only; /* not for inheriting tables */
	bool checks;
	bool adds_columns;
} Wishes;

/* Whether existing rows are known to satisfy a constraint, so that VALIDATE has nothing to do. */
static bool
is_valid(Oid relation, const char *name)
{
	Oid constraint = get_relation_constraint_oid(relation, name, true);
	HeapTuple tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	bool valid;

	if (!HeapTupleIsValid(tuple))
		return false;
	valid = ((Form_pg_constraint) GETSTRUCT(tuple))->convalidated;
	ReleaseSysCache(tuple);
	return valid;
}

/* Notes the conditions that existing rows must satisfy: PostgreSQL does not check them. */
static void
note_conditions(const AlterTableCmd *command, Wishes *wishes)
{
	const Constraint *constraint;
	ListCell *cell;

	switch (command->subtype)
	{
		case AT_AddConstraint:
			constraint = castNode(Constraint, command->def);
			wishes->checks |= constraint->contype == CONSTR_CHECK && !constraint->skip_validation;
			break;
		case AT_AddColumn:
			foreach (cell, ((ColumnDef *) command->def)->constraints)
				wishes->checks |= ((Constraint *) lfirst(cell))->contype == CONSTR_CHECK;
			break;
		case AT_ValidateConstraint:
			if (is_valid(wishes->relation, command->name))
				break;
			wishes->checks = true;
			wishes->validated = lappend(wishes->validated, command->name);
			break;
		case AT_SetNotNull:
			wishes->not_null = lappend(wishes->not_null, command->name);
			break;
		default:
			break;
	}
}

/*
 * Whether the command changes nothing: the access method is the one that the table has, and a
 * foreign table cannot have row security.
 */
static bool
is_so(const AlterTableCmd *command)
{
	return command->subtype == AT_SetAccessMethod || command->subtype == AT_DisableRowSecurity ||
		   command->subtype == AT_NoForceRowSecurity;
}

/* Whether the column exists when the command is executed. */
static bool
finds_column(Oid relation, const AlterTableStmt *statement, const AlterTableCmd *command)
{
	const char *name = castNode(ColumnDef, command->def)->colname;
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *other = lfirst(cell);

		if (other == command)
			break;
		if (other->subtype == AT_AddColumn && strcmp(castNode(ColumnDef, other->def)->colname, name) == 0)
			return true;
	}
	return get_attnum(relation, name) != InvalidAttrNumber;
}

/*
 * ADD COLUMN IF NOT EXISTS of an existing column: PostgreSQL skips it together with the column's
 * constraints.
 */
static void
pass_over_column(Oid relation, const AlterTableStmt *statement, AlterTableCmd *command)
{
	if (command->subtype == AT_AddColumn && command->missing_ok && finds_column(relation, statement, command))
		castNode(ColumnDef, command->def)->constraints = NIL;
}

static bool
is_about_identity(const AlterTableCmd *command)
{
	return command->subtype == AT_AddIdentity || command->subtype == AT_SetIdentity ||
		   command->subtype == AT_DropIdentity;
}

static bool
sets_default(const AlterTableCmd *command)
{
	return command->subtype == AT_ColumnDefault && command->def != NULL;
}

/* Whether the command is about a column that the same statement adds. */
static bool
is_about_added_column(const AlterTableStmt *statement, const AlterTableCmd *command)
{
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *other = lfirst(cell);

		if (other->subtype == AT_AddColumn && strcmp(castNode(ColumnDef, other->def)->colname, command->name) == 0)
			return true;
	}
	return false;
}

static void
strip_command(Oid relation, const AlterTableStmt *statement, AlterTableCmd *command, Wishes *wishes, List **commands)
{
	pass_over_column(relation, statement, command);
	if (is_so(command) || tsurugi_foreign_keys_take_command(command, true, &wishes->foreign_keys))
		return;
	if (command->subtype == AT_AlterConstraint)
	{
		wishes->altered = lappend(wishes->altered, command);
		return;
	}
	if (tsurugi_storage_is_altered_by(command))
	{
		wishes->stored = lappend(wishes->stored, command);
		return;
	}
	if (command->subtype == AT_ClusterOn || command->subtype == AT_DropCluster)
	{
		wishes->clustered = lappend(wishes->clustered, command);
		return;
	}
	if (command->subtype == AT_ReplicaIdentity)
	{
		wishes->identities = lappend(wishes->identities, command);
		return;
	}
	if (command->subtype == AT_AddConstraint && tsurugi_is_key_clause(command->def))
	{
		wishes->keys = lappend(wishes->keys, command->def);
		return;
	}
	if ((is_about_identity(command) || sets_default(command)) && is_about_added_column(statement, command))
	{
		wishes->late = lappend(wishes->late, command);
		return;
	}
	if (command->subtype == AT_AddColumn)
	{
		wishes->adds_columns = true;
		wishes->keys = tsurugi_key_clauses_of_column((ColumnDef *) command->def, wishes->keys);
	}
	if (command->subtype == AT_AlterColumnType)
		castNode(ColumnDef, command->def)->raw_default = NULL; /* noted before */
	note_conditions(command, wishes);
	*commands = lappend(*commands, command);
}

static void
strip_alter(Oid relation, AlterTableStmt *statement, Wishes *wishes)
{
	List *commands = NIL;
	ListCell *cell;

	foreach (cell, statement->cmds)
		strip_command(relation, statement, lfirst(cell), wishes, &commands);
	statement->cmds = list_concat(commands, tsurugi_key_clauses_set_not_null(relation, wishes->keys));
}

static void
forget_validation(Wishes *wishes, const char *name)
{
	ListCell *cell;

	foreach (cell, wishes->validated)
		if (strcmp(lfirst(cell), name) == 0)
			wishes->validated = foreach_delete_current (wishes->validated, cell);
}

/*
 * VALIDATE CONSTRAINT of a foreign key that is dropped and recreated is done when the key is
 * recreated.  Returns whether there is one.
 */
static bool
take_validations(Oid relation, AlterTableStmt *statement, Wishes *wishes)
{
	bool taken = false;
	ListCell *cell;
	ListCell *key;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);

		if (command->subtype != AT_ValidateConstraint)
			continue;
		foreach (key, wishes->taken.keys)
		{
			if (!tsurugi_foreign_key_is(lfirst(key), relation, command->name))
				continue;
			wishes->made_valid = lappend(wishes->made_valid, lfirst(key));
			forget_validation(wishes, command->name);
			statement->cmds = foreach_delete_current (statement->cmds, cell);
			taken = true;
			break;
		}
	}
	return taken;
}

/* --- types ---------------------------------------------------------------------------------- */

/*
 * PostgreSQL's part of a statement whose USING reaches tables in memory and ordinary ones.
 * changed: the rest of the statement that PostgreSQL executes.
 */
static void
run_mixed(const tsurugi_utility *utility, Oid relation, const AlterTableStmt *written, AlterTableStmt *changed)
{
	List *types = NIL;
	ListCell *cell;

	foreach (cell, written->cmds)
		if (lfirst_node(AlterTableCmd, cell)->subtype == AT_AlterColumnType)
			types = lappend(types, lfirst(cell));
	foreach (cell, changed->cmds)
		if (lfirst_node(AlterTableCmd, cell)->subtype == AT_AlterColumnType)
			changed->cmds = foreach_delete_current (changed->cmds, cell);
	tsurugi_retype_run_mixed(utility, relation, types, changed);
}

/* --- conditions that existing rows must satisfy ---------------------------------------------- */

static void
verify_table(Oid relation_id, const Wishes *wishes, LOCKMODE lock)
{
	Relation relation = table_open(relation_id, lock);
	Bitmapset *not_null = NULL;
	ListCell *cell;

	foreach (cell, wishes->not_null)
	{
		AttrNumber attnum = get_attnum(relation_id, lfirst(cell));

		if (attnum > 0)
			not_null = bms_add_member(not_null, attnum);
	}
	tsurugi_table_verify(relation, not_null, wishes->checks, wishes->met);
	table_close(relation, NoLock);
}

/* Conditions that the rows satisfy before PostgreSQL's part need no check afterwards. */
static void
note_met_checks(Oid table, const AlterTableStmt *statement, Wishes *wishes)
{
	ListCell *cell;

	if (!wishes->checks)
		return;
	foreach (cell, tsurugi_alter_reaches(table, statement))
	{
		Relation relation =
			tsurugi_is_our_table(lfirst_oid(cell)) ? table_open(lfirst_oid(cell), AccessShareLock) : NULL;
		const TupleConstr *constraints = relation == NULL ? NULL : RelationGetDescr(relation)->constr;

		for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
			if (constraints->check[i].ccvalid)
				wishes->met = lappend_oid(
					wishes->met, get_relation_constraint_oid(lfirst_oid(cell), constraints->check[i].ccname, false));
		if (relation != NULL)
			table_close(relation, NoLock);
	}
}

/* New conditions reach the tables that inherit them. */
static void
verify_tables(Oid relation, const AlterTableStmt *statement, const Wishes *wishes)
{
	LOCKMODE lock;
	ListCell *cell;

	if (!wishes->checks && wishes->not_null == NIL)
		return;
	/*
	 * PostgreSQL's lock level: VALIDATE lets other transactions write, whose rows already satisfy
	 * the condition.
	 */
	lock = AlterTableGetLockLevel(statement->cmds);
	CommandCounterIncrement();
	foreach (cell, tsurugi_alter_reaches(relation, statement))
	{
		if (tsurugi_is_our_table(lfirst_oid(cell)))
			verify_table(lfirst_oid(cell), wishes, lock);
	}
}

static void
finish_foreign_keys(Oid relation, const Wishes *wishes)
{
	ListCell *cell;

	foreach (cell, wishes->taken.keys)
		tsurugi_foreign_key_restore(lfirst(cell), list_member_ptr(wishes->made_valid, lfirst(cell)));
	tsurugi_foreign_keys_create(relation, wishes->foreign_keys, wishes->only);
	foreach (cell, wishes->altered)
		tsurugi_foreign_key_alter(relation, lfirst(cell));
	foreach (cell, wishes->validated)
	{
		CommandCounterIncrement();
		tsurugi_foreign_key_validate(relation, lfirst(cell));
	}
}

/* PostgreSQL's part of DETACH reads the rows that refer to the partition, as of now. */
static void
detach(const tsurugi_utility *utility, const RangeVar *partition)
{
	bool outer = tsurugi_snapshot_begin_fresh();

	PG_TRY();
	{
		tsurugi_partition_leave(partition);
		tsurugi_utility_run(utility);
	}
	PG_FINALLY();
	{
		tsurugi_snapshot_end_fresh(outer);
	}
	PG_END_TRY();
}

/* Executes a statement that need not be changed. */
static void
run_other(const tsurugi_utility *utility, const AlterTableStmt *statement)
{
	const AlterTableCmd *first = linitial_node(AlterTableCmd, statement->cmds);

	if (first->subtype == AT_DetachPartition) /* it is the only command */
		detach(utility, castNode(PartitionCmd, first->def)->name);
	else
		tsurugi_utility_run(utility);
}

/*
 * PostgreSQL reports an ALTER TABLE to event triggers when it executes a command of it, so not if
 * all of them are executed here.  left: the commands for PostgreSQL.
 */
static void
tell_of_command(Oid relation, const AlterTableStmt *left, const AlterTableStmt *written)
{
	ObjectAddress address = {.classId = RelationRelationId, .objectId = relation};

	if (left->cmds == NIL)
		EventTriggerCollectSimpleCommand(address, InvalidObjectAddress, (Node *) written);
}

/* --- the statement -------------------------------------------------------------- */

/*
 * Existing rows get no values of an identity, or a default, that is given after the column was
 * added.
 */
static void
run_late(const tsurugi_utility *utility, const AlterTableStmt *written, List *commands)
{
	AlterTableStmt *late = makeNode(AlterTableStmt);

	late->relation = copyObject(written->relation);
	late->cmds = commands;
	late->objtype = written->objtype;
	CommandCounterIncrement();
	tsurugi_utility_run_part(utility, (Node *) late);
}

/* Takes out the defaults of added columns that separate commands give. */
static List *
take_late_defaults(Oid relation, const AlterTableStmt *written, AlterTableStmt *changed)
{
	List *late = NIL;
	ListCell *cell;

	if (!tsurugi_alter_reaches_ours(relation, written))
		return NIL;
	foreach (cell, changed->cmds)
	{
		if (!sets_default(lfirst(cell)) || !is_about_added_column(written, lfirst(cell)))
			continue;
		late = lappend(late, lfirst(cell));
		changed->cmds = foreach_delete_current (changed->cmds, cell);
	}
	return late;
}

/* PostgreSQL takes all tables in memory for logged ones. */
static bool
sets_logged(const AlterTableStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->cmds)
		if (lfirst_node(AlterTableCmd, cell)->subtype == AT_SetLogged)
			return true;
	return false;
}

/* Alters a table that is not in memory. */
static void
alter_other_table(const tsurugi_utility *utility, Oid relation, AlterTableStmt *statement)
{
	AlterTableStmt *changed = copyObject(statement);
	bool holds_ours = tsurugi_holds_our_table(relation);
	Wishes wishes = {.relation = relation, .only = !statement->relation->inh};
	bool takes_keys;
	bool takes_validations;
	bool drops_first;
	ListCell *cell;

	foreach (cell, changed->cmds)
		pass_over_column(relation, changed, lfirst(cell));
	takes_keys = holds_ours && tsurugi_partition_keys_take(relation, changed, &wishes.keys);
	wishes.late = take_late_defaults(relation, statement, changed);
	drops_first = tsurugi_alter_types_drop_first(relation, statement);
	wishes.taken = tsurugi_alter_types_begin(utility, relation, statement, changed);
	takes_validations = take_validations(relation, changed, &wishes);
	foreach (cell, changed->cmds)
	{
		if (tsurugi_foreign_keys_take_command(lfirst(cell), holds_ours, &wishes.foreign_keys))
			changed->cmds = foreach_delete_current (changed->cmds, cell);
		else
			note_conditions(lfirst(cell), &wishes);
	}
	note_met_checks(relation, statement, &wishes);
	if (get_rel_relkind(relation) == RELKIND_PARTITIONED_TABLE)
		tsurugi_partition_check_attached(statement);
	if (tsurugi_retype_is_mixed(relation, statement))
		run_mixed(utility, relation, statement, changed);
	else if (wishes.foreign_keys != NIL || wishes.late != NIL || takes_keys || takes_validations || drops_first)
	{
		tsurugi_utility_run_instead(utility, (Node *) changed);
		tell_of_command(relation, changed, statement);
	}
	else
		run_other(utility, statement);
	if (takes_keys)
		tsurugi_partition_keys_make(utility, relation, statement, wishes.keys);
	wishes.beside = tsurugi_rebuild_make(wishes.taken.indexes);
	tsurugi_altered_follow();
	if (wishes.late != NIL)
		run_late(utility, statement, wishes.late);
	tsurugi_rebuild_verify(wishes.taken.indexes, wishes.beside);
	finish_foreign_keys(relation, &wishes);
	if (sets_logged(statement))
		tsurugi_foreign_keys_check_persistence(relation);
	verify_tables(relation, statement, &wishes);
	tsurugi_partition_verify_attached(relation, statement);
}

/* Makes the remaining catalog entries. */
static void
finish_entries(const tsurugi_utility *utility, Oid relation_id, Wishes *wishes)
{
	Relation relation = table_open(relation_id, AccessExclusiveLock);

	wishes->beside = tsurugi_rebuild_make(wishes->taken.indexes); /* one may become a key */
	wishes->before = tsurugi_partition_indexes(relation_id);
	if (wishes->keys != NIL)
	{
		tsurugi_key_clauses_make(relation, wishes->keys, utility->text, false);
		tsurugi_altered_note(relation_id);
	}
	table_close(relation, NoLock);
}

/* An unlogged table has no storage before it is used after a start; a logged one would lack it. */
static void
begin_unlogged(Oid relation_id)
{
	Relation relation = table_open(relation_id, NoLock);

	if (relation->rd_createSubid == InvalidSubTransactionId && tsurugi_storage_find(relation_id) == NULL)
		(void) tsurugi_relation_get(relation);
	table_close(relation, NoLock);
}

/* Raises PostgreSQL's error for tables. */
static void
check_not_partitioned(Oid relation, const AlterTableStmt *statement)
{
	const AlterTableCmd *first = linitial_node(AlterTableCmd, statement->cmds); /* the only one */

	if (first->subtype == AT_AttachPartition || first->subtype == AT_DetachPartition ||
		first->subtype == AT_DetachPartitionFinalize)
		ereport(ERROR, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
						errmsg("table \"%s\" is not partitioned", get_rel_name(relation))));
}

static void
alter_our_table(const tsurugi_utility *utility, Oid relation_id, AlterTableStmt *written)
{
	AlterTableStmt *statement = copyObject(written);
	Wishes wishes = {.relation = relation_id, .only = !written->relation->inh};
	char persistence = tsurugi_persistence(relation_id);
	bool changes_persistence;
	ListCell *cell;

	check_not_partitioned(relation_id, written);
	if (persistence == RELPERSISTENCE_UNLOGGED)
		begin_unlogged(relation_id);
	strip_alter(relation_id, statement, &wishes); /* uses indexes that the next one drops */
	note_met_checks(relation_id, written, &wishes);
	wishes.taken = tsurugi_alter_types_begin(utility, relation_id, written, statement);
	(void) take_validations(relation_id, statement, &wishes);
	if (!wishes.adds_columns)
		tsurugi_key_clauses_check(relation_id, wishes.keys, true, utility->text);
	if (tsurugi_retype_is_mixed(relation_id, written))
		run_mixed(utility, relation_id, written, statement);
	else
		tsurugi_utility_run_instead(utility, (Node *) statement);
	tell_of_command(relation_id, statement, written);
	CommandCounterIncrement();
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation_id)))
		return;
	foreach (cell, wishes.stored)
		tsurugi_storage_alter(relation_id, lfirst(cell));
	changes_persistence = tsurugi_storage_follow_persistence(relation_id, persistence);
	if (wishes.keys != NIL || wishes.taken.indexes != NIL)
		finish_entries(utility, relation_id, &wishes);
	tsurugi_altered_follow();
	if (wishes.late != NIL)
		run_late(utility, written, wishes.late);
	if (wishes.keys != NIL)
		tsurugi_deferrable_keys_verify(relation_id, wishes.before);
	tsurugi_rebuild_verify(wishes.taken.indexes, wishes.beside);
	finish_foreign_keys(relation_id, &wishes);
	if (changes_persistence)
		tsurugi_foreign_keys_check_persistence(relation_id);
	verify_tables(relation_id, statement, &wishes);
	foreach (cell, wishes.clustered)
		tsurugi_cluster_mark(relation_id, lfirst(cell));
	foreach (cell, wishes.identities)
		tsurugi_replica_identity_set(relation_id, lfirst(cell));
}

/*
 * An ALTER TABLE between event triggers.  They see the whole statement: tables about to be
 * rewritten, and the table as it is at the end.
 */
typedef struct Alter
{
	Oid relation;
	AlterTableStmt *written;
} Alter;

static void
alter_between(const tsurugi_utility *utility, void *argument)
{
	const Alter *alter = argument;

	if (tsurugi_is_our_table(alter->relation))
		alter_our_table(utility, alter->relation, alter->written);
	else
		alter_other_table(utility, alter->relation, alter->written);
}

/* Whether the statement adds a foreign key that is created here. */
static bool
has_our_key(Oid relation, const AlterTableStmt *written)
{
	bool holds_ours = tsurugi_holds_our_table(relation);
	List *keys = NIL;
	ListCell *cell;

	foreach (cell, written->cmds)
		(void) tsurugi_foreign_keys_take_command(copyObject(lfirst_node(AlterTableCmd, cell)), holds_ours, &keys);
	return keys != NIL;
}

/*
 * Whether a table in memory may be rewritten: PostgreSQL reports each rewrite to event triggers
 * before it begins.
 */
static bool
may_write_ours_anew(Oid relation, const AlterTableStmt *written)
{
	ListCell *cell;

	foreach (cell, written->cmds)
	{
		AlterTableType type = lfirst_node(AlterTableCmd, cell)->subtype;

		if (type == AT_AddColumn || type == AT_AlterColumnType)
			return tsurugi_alter_reaches_ours(relation, written);
	}
	return false;
}

static bool
has_late_defaults(Oid relation, AlterTableStmt *written)
{
	return take_late_defaults(relation, written, copyObject(written)) != NIL;
}

static void
alter_with_events(const tsurugi_utility *utility, Oid relation, AlterTableStmt *written)
{
	Alter alter = {.relation = relation, .written = written};

	if (utility->context != PROCESS_UTILITY_SUBCOMMAND)
		tsurugi_altered_announce((Node *) written);
	tsurugi_utility_with_events(utility, (Node *) written, alter_between, &alter);
}

/*
 * Whether the statement concerns inheriting tables: for constraints PostgreSQL looks only at the
 * table's own.
 */
static bool
reaches_inheritors(const AlterTableStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);
		AlterTableType type = command->subtype;
		bool adds_foreign_key =
			type == AT_AddConstraint && castNode(Constraint, command->def)->contype == CONSTR_FOREIGN;

		if (type != AT_AlterConstraint && type != AT_ValidateConstraint && !adds_foreign_key)
			return true;
	}
	return false;
}

/*
 * Does the check of CheckAlterTableIsSafe for all tables that the statement concerns; if it drops a
 * foreign key, also for the key's other table.
 */
static void
check_not_deferred(Oid relation, const AlterTableStmt *statement)
{
	List *tables = list_make1_oid(relation);
	ListCell *cell;

	if (!tsurugi_deferred_any())
		return;
	if (statement->relation->inh && reaches_inheritors(statement))
		tables = find_all_inheritors(relation, NoLock, NULL);
	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);

		if (command->subtype == AT_DropConstraint)
			tables = lappend_oid(tables, tsurugi_foreign_key_parent(relation, command->name));
	}
	foreach (cell, tables)
		tsurugi_deferred_check_none(lfirst_oid(cell), "ALTER TABLE");
}

/*
 * Takes PostgreSQL's lock for the whole statement, before anything is read or done.  The part of
 * the statement that is left for PostgreSQL may need a weaker lock, and upgrading it later would
 * deadlock with another session that waits for an upgrade, too.  InvalidOid: PostgreSQL refuses the
 * statement with its own message.
 */
static Oid
lock_relation(AlterTableStmt *statement)
{
	Oid relation = tsurugi_access_method_lock(statement);

	if (!OidIsValid(relation) || !pg_class_ownercheck(relation, GetUserId()))
		return InvalidOid;
	return AlterTableLookupRelation(statement, AlterTableGetLockLevel(statement->cmds));
}

void
tsurugi_alter_run(const tsurugi_utility *utility, AlterTableStmt *written)
{
	Oid relation_id = lock_relation(written);

	if (!OidIsValid(relation_id))
	{
		tsurugi_utility_run(utility);
		return;
	}
	check_not_deferred(relation_id, written);
	if (tsurugi_access_method_run(utility, relation_id, written))
		return;
	if (tsurugi_index_command_alter(utility, written))
		return;
	tsurugi_check_row_type(relation_id, written);
	if (tsurugi_is_our_table(relation_id) || tsurugi_retype_is_mixed(relation_id, written) ||
		has_our_key(relation_id, written) || has_late_defaults(relation_id, written) ||
		tsurugi_alter_types_drop_first(relation_id, written) || may_write_ours_anew(relation_id, written))
		alter_with_events(utility, relation_id, written);
	else
		alter_other_table(utility, relation_id, written);
}
