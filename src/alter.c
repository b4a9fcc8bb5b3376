/*
 * alter.c
 *	  ALTER TABLE: what PostgreSQL leaves undone where a table is foreign.
 *
 * Keys are taken out of the statement and made afterwards; types are noted
 * before the catalogs change; and the rows that are there are looked at for new
 * conditions, which PostgreSQL does not.
 */
#include "postgres.h"

#include "src/alter.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "commands/comment.h"
#include "miscadmin.h"
#include "utils/acl.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "src/access_method.h"
#include "src/altered.h"
#include "src/create.h"
#include "src/key_clause.h"
#include "src/keys.h"
#include "src/partition.h"
#include "src/relation.h"
#include "src/retype.h"
#include "src/rewrite.h"
#include "src/type_users.h"

/* What an ALTER asks for besides what PostgreSQL does. */
typedef struct Wishes
{
	tsurugi_key_clause key;
	List *not_null; /* names of columns */
	bool checks;
	bool adds_columns;
} Wishes;

/* What the rows that are there have to meet: PostgreSQL does not look at them. */
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
			wishes->checks = true;
			break;
		case AT_SetNotNull:
			wishes->not_null = lappend(wishes->not_null, command->name);
			break;
		default:
			break;
	}
}

/* What says how a heap lies on the disk, and nothing else: no meaning here, as in CREATE TABLE. */
static bool
is_about_storage(const AlterTableCmd *command)
{
	switch (command->subtype)
	{
		case AT_SetRelOptions:
			tsurugi_check_storage_parameters(castNode(List, command->def));
			return true;
		case AT_ResetRelOptions:
		case AT_SetTableSpace:
		case AT_SetLogged:
		case AT_SetUnLogged:
		case AT_SetCompression:
		case AT_ClusterOn:
		case AT_DropCluster:
			return true;
		default:
			return false;
	}
}

static void
strip_command(AlterTableCmd *command, Wishes *wishes, const char *table, List **commands)
{
	if (is_about_storage(command))
		return;
	if (command->subtype == AT_AddConstraint && tsurugi_is_key_clause(command->def))
	{
		tsurugi_key_clause_take(&wishes->key, table, (Constraint *) command->def, ((Constraint *) command->def)->keys);
		return;
	}
	if (command->subtype == AT_AddColumn)
	{
		wishes->adds_columns = true;
		tsurugi_key_clause_of_column((ColumnDef *) command->def, &wishes->key, table);
	}
	note_conditions(command, wishes);
	*commands = lappend(*commands, command);
}

static Wishes
strip_alter(AlterTableStmt *statement)
{
	Wishes wishes = {0};
	List *commands = NIL;
	ListCell *cell;

	foreach (cell, statement->cmds)
		strip_command(lfirst(cell), &wishes, statement->relation->relname, &commands);
	statement->cmds = list_concat(commands, tsurugi_key_clause_set_not_null(&wishes.key));
	return wishes;
}

static bool
is_in_key(const tsurugi_relation *described, AttrNumber attnum)
{
	for (int i = 0; i < described->key_count; i++)
	{
		if (described->key[i].attnum == attnum)
			return true;
	}
	return false;
}

/* A column of this table gets another type. */
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

/* PostgreSQL would look for the index of a key and rebuild it as one of its own. */
static void
refuse_key_of_child(Oid table, const char *column)
{
	Relation relation = table_open(table, AccessExclusiveLock);

	if (is_in_key(tsurugi_relation_describe(relation), get_attnum(table, column)))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot alter the type of column \"%s\" because it is in the primary key of table "
							   "\"%s\"",
							   column, RelationGetRelationName(relation)),
						errhint("Drop the primary key first and add it again afterwards.")));
	table_close(relation, NoLock);
}

/* USING is evaluated here, for each table by its own columns; PostgreSQL, which would have to do it for its tables, is not told. */
static void
refuse_mixed_tree(List *tables)
{
	ListCell *cell;

	foreach (cell, tables)
		if (!tsurugi_is_our_table(lfirst_oid(cell)))
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot alter the type of a column with USING on a table in memory that ordinary "
								   "tables inherit"),
							errdetail("Table \"%s\" is an ordinary one.", get_rel_name(lfirst_oid(cell)))));
}

/* A change of a column's type reaches the tables that inherit it. */
static void
note_type_changes(const tsurugi_utility *utility, Oid relation, const AlterTableStmt *statement)
{
	ListCell *cell;
	ListCell *table;

	foreach (cell, statement->cmds)
	{
		const AlterTableCmd *command = lfirst(cell);
		List *tables;

		if (command->subtype != AT_AlterColumnType)
			continue;
		tables = statement->relation->inh ? find_all_inheritors(relation, NoLock, NULL) : list_make1_oid(relation);
		if (tsurugi_is_our_table(relation) && castNode(ColumnDef, command->def)->raw_default != NULL)
			refuse_mixed_tree(tables);
		foreach (table, tables)
		{
			if (!tsurugi_is_our_table(lfirst_oid(table)))
				continue;
			if (lfirst_oid(table) != relation)
				refuse_key_of_child(lfirst_oid(table), command->name);
			note_type_change(utility, lfirst_oid(table), command);
		}
	}
}

/*
 * PostgreSQL cannot rebuild a key of ours: one that has a column whose type
 * changes is dropped by the same statement, and made again when it is done.
 */
static void
replace_key(Oid relation_id, AlterTableStmt *statement, Wishes *wishes)
{
	Relation relation = table_open(relation_id, AccessExclusiveLock);
	const tsurugi_relation *described = tsurugi_relation_describe(relation);
	AlterTableCmd *drop;
	bool replace = false;
	ListCell *cell;

	foreach (cell, statement->cmds)
	{
		AlterTableCmd *command = lfirst(cell);

		if (command->subtype == AT_DropConstraint)
			replace = false; /* it may be the key; if not, PostgreSQL says what stands in the way */
		if (command->subtype != AT_AlterColumnType)
			continue;
		castNode(ColumnDef, command->def)->raw_default = NULL; /* has been noted */
		replace |= is_in_key(described, get_attnum(relation_id, command->name));
	}
	if (replace && !wishes->key.found)
	{
		drop = makeNode(AlterTableCmd);
		drop->subtype = AT_DropConstraint;
		drop->name = get_constraint_name(described->key_constraint);
		drop->behavior = DROP_RESTRICT;
		statement->cmds = lcons(drop, statement->cmds);
		wishes->key.found = true;
		wishes->key.name = drop->name;
		wishes->key.comment = GetComment(described->key_constraint, ConstraintRelationId, 0);
		for (int i = 0; i < described->key_count; i++)
			wishes->key.columns =
				lappend(wishes->key.columns, makeString(get_attname(relation_id, described->key[i].attnum, false)));
	}
	table_close(relation, NoLock);
}

static void
make_key(Oid relation_id, const tsurugi_key_clause *key)
{
	Relation relation = table_open(relation_id, AccessExclusiveLock);

	tsurugi_key_create(relation, key->name, key->columns);
	if (key->comment != NULL)
		CreateComments(get_relation_constraint_oid(relation_id, key->name, false), ConstraintRelationId, 0,
					   key->comment);
	tsurugi_altered_note(relation_id);
	table_close(relation, NoLock);
}

static void
verify_table(Oid relation_id, const Wishes *wishes)
{
	Relation relation = table_open(relation_id, AccessExclusiveLock);
	Bitmapset *not_null = NULL;
	ListCell *cell;

	foreach (cell, wishes->not_null)
	{
		AttrNumber attnum = get_attnum(relation_id, lfirst(cell));

		if (attnum > 0)
			not_null = bms_add_member(not_null, attnum);
	}
	tsurugi_table_verify(relation, not_null, wishes->checks);
	table_close(relation, NoLock);
}

/* New conditions reach the tables that inherit them. */
static void
verify_tables(Oid relation, const AlterTableStmt *statement, const Wishes *wishes)
{
	List *tables;
	ListCell *cell;

	if (!wishes->checks && wishes->not_null == NIL)
		return;
	CommandCounterIncrement();
	tables = statement->relation->inh ? find_all_inheritors(relation, NoLock, NULL) : list_make1_oid(relation);
	foreach (cell, tables)
	{
		if (tsurugi_is_our_table(lfirst_oid(cell)))
			verify_table(lfirst_oid(cell), wishes);
	}
}

/* A table that has become a partition, and the default partition beside it. */
static void
verify_attached(Oid parent, const AlterTableStmt *statement)
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
			tsurugi_partition_verify(attached);
		tsurugi_partition_verify_default(parent, true);
	}
}

/* Of a table that is not ours. */
static void
alter_other_table(const tsurugi_utility *utility, Oid relation, const AlterTableStmt *statement)
{
	Wishes wishes = {0};
	ListCell *cell;

	foreach (cell, statement->cmds)
		note_conditions(lfirst(cell), &wishes);
	tsurugi_utility_run(utility);
	tsurugi_altered_follow();
	verify_tables(relation, statement, &wishes);
	verify_attached(relation, statement);
}

void
tsurugi_alter_run(const tsurugi_utility *utility, AlterTableStmt *written)
{
	Oid relation_id = RangeVarGetRelid(written->relation, NoLock, true);
	AlterTableStmt *statement;
	Wishes wishes;

	/* what cannot be altered PostgreSQL refuses in its own words */
	if (!OidIsValid(relation_id) || !pg_class_ownercheck(relation_id, GetUserId()))
	{
		tsurugi_utility_run(utility);
		return;
	}
	if (tsurugi_access_method_run(relation_id, written))
		return;
	tsurugi_check_row_type(relation_id, written);
	note_type_changes(utility, relation_id, written);
	if (!tsurugi_is_our_table(relation_id))
	{
		alter_other_table(utility, relation_id, written);
		return;
	}
	statement = copyObject(written);
	wishes = strip_alter(statement);
	replace_key(relation_id, statement, &wishes);
	if (!wishes.adds_columns)
		tsurugi_key_clause_check(relation_id, &wishes.key);
	tsurugi_utility_run_instead(utility, (Node *) statement);
	CommandCounterIncrement();
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation_id)))
		return;
	if (wishes.key.found)
		make_key(relation_id, &wishes.key);
	tsurugi_altered_follow();
	verify_tables(relation_id, statement, &wishes);
}
