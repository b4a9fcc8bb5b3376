/*
 * ddl.c
 *	  CREATE, ALTER and DROP, as far as PostgreSQL leaves them to us.
 *
 * Two hooks.  The utility hook sees statements as they were written: it takes
 * primary keys out of them, which PostgreSQL refuses on foreign tables, lets
 * PostgreSQL do the rest, and makes the keys afterwards.  The object access hook
 * sees what really happens to relations, whatever statement it comes from
 * (CASCADE, DROP OWNED, a parent's ALTER): dropped tables and databases are
 * noted for the commit, added columns and dropped keys in the list of the
 * innermost DDL statement, at whose end the storages follow.
 */
#include "postgres.h"

#include "src/ddl.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_database.h"
#include "catalog/pg_inherits.h"
#include "commands/comment.h"
#include "commands/event_trigger.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "src/commands.h"
#include "src/create.h"
#include "src/keys.h"
#include "src/partition.h"
#include "src/relation.h"
#include "src/retype.h"
#include "src/rewrite.h"
#include "src/storage.h"
#include "src/utility.h"

static ProcessUtility_hook_type previous_utility_hook;
static object_access_hook_type previous_object_access_hook;

/* --- what happens to tables while a statement runs --------------------------------------- */

/* A table whose storage has to follow. */
typedef struct Altered
{
	struct Altered *next;
	Oid relation;
	Bitmapset *added;		/* attribute numbers */
	tsurugi_retype *retype; /* what becomes of columns with another type, or NULL */
} Altered;

/* A DDL statement that is running; nested ones have their own. */
typedef struct Statement
{
	struct Statement *outer;
	MemoryContext context; /* of the list; made when it is needed */
	Altered *altered;
} Statement;

static Statement *innermost;

static Altered *
note_altered(Oid relation)
{
	Altered *altered;

	for (altered = innermost->altered; altered != NULL; altered = altered->next)
	{
		if (altered->relation == relation)
			return altered;
	}
	if (innermost->context == NULL)
		innermost->context = AllocSetContextCreate(TopMemoryContext, "tsurugi_fdw DDL", ALLOCSET_SMALL_SIZES);
	altered = MemoryContextAllocZero(innermost->context, sizeof(*altered));
	altered->relation = relation;
	altered->next = innermost->altered;
	innermost->altered = altered;
	return altered;
}

static void
note_added_column(Oid relation, AttrNumber attnum)
{
	Altered *altered = note_altered(relation);
	MemoryContext caller = MemoryContextSwitchTo(innermost->context);

	altered->added = bms_add_member(altered->added, attnum);
	MemoryContextSwitchTo(caller);
}

bool
tsurugi_is_our_table(Oid relation)
{
	return OidIsValid(relation) && get_rel_relkind(relation) == RELKIND_FOREIGN_TABLE && tsurugi_is_ours(relation);
}

static void
relation_is_dropped(Oid relation)
{
	if (tsurugi_is_our_table(relation))
		tsurugi_storage_drop(relation);
	else if (get_rel_relkind(relation) == RELKIND_PARTITIONED_INDEX && innermost != NULL)
	{
		Oid table = IndexGetRelation(relation, true);

		if (OidIsValid(table) && tsurugi_is_our_table(table))
			(void) note_altered(table);
	}
}

static void
object_is_accessed(ObjectAccessType access, Oid class_id, Oid object_id, int sub_id, void *argument)
{
	if (previous_object_access_hook != NULL)
		previous_object_access_hook(access, class_id, object_id, sub_id, argument);
	if (class_id == RelationRelationId && access == OAT_DROP && sub_id == 0)
		relation_is_dropped(object_id);
	else if (class_id == RelationRelationId && access == OAT_POST_CREATE && sub_id > 0 && innermost != NULL &&
			 tsurugi_is_our_table(object_id))
		note_added_column(object_id, sub_id);
	else if (class_id == DatabaseRelationId && access == OAT_DROP)
		tsurugi_storage_drop_database(object_id);
}

static void
follow_altered(void)
{
	if (innermost->altered == NULL)
		return;
	CommandCounterIncrement();
	for (Altered *altered = innermost->altered; altered != NULL; altered = altered->next)
	{
		Relation relation;

		if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(altered->relation)))
			continue;
		relation = table_open(altered->relation, AccessExclusiveLock);
		tsurugi_table_follow(relation, altered->added, altered->retype);
		table_close(relation, NoLock);
	}
	innermost->altered = NULL;
}

/* --- statements ------------------------------------------------------------------------ */

void
tsurugi_utility_run(const tsurugi_utility *utility)
{
	ProcessUtility_hook_type next = previous_utility_hook != NULL ? previous_utility_hook : standard_ProcessUtility;

	next(utility->statement, utility->text, utility->read_only, utility->context, utility->parameters,
		 utility->environment, utility->destination, utility->completion);
}

void
tsurugi_utility_run_instead(const tsurugi_utility *utility, Node *tree)
{
	tsurugi_utility changed = *utility;

	changed.statement = copyObject(utility->statement);
	changed.statement->utilityStmt = tree;
	changed.read_only = false;
	tsurugi_utility_run(&changed);
}

void
tsurugi_utility_run_part(const tsurugi_utility *utility, Node *tree)
{
	PlannedStmt *part = makeNode(PlannedStmt);

	part->commandType = CMD_UTILITY;
	part->canSetTag = false;
	part->utilityStmt = tree;
	part->stmt_location = utility->statement->stmt_location;
	part->stmt_len = utility->statement->stmt_len;
	ProcessUtility(part, utility->text, false, PROCESS_UTILITY_SUBCOMMAND, NULL, NULL, None_Receiver, NULL);
}

/* --- keys in statements ------------------------------------------------------------------- */

/* A primary key taken out of a statement. */
typedef struct Key
{
	bool found;
	char *name; /* or NULL */
	List *columns;
	char *comment; /* or NULL */
} Key;

static void
refuse_key_option(const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("primary keys of tables in memory do not support %s", what)));
}

static void
take_key(Key *key, const char *table, const Constraint *constraint, List *columns)
{
	if (key->found)
		ereport(ERROR, (errcode(ERRCODE_INVALID_TABLE_DEFINITION),
						errmsg("multiple primary keys for table \"%s\" are not allowed", table)));
	if (constraint->deferrable || constraint->initdeferred)
		refuse_key_option("DEFERRABLE");
	if (constraint->including != NIL)
		refuse_key_option("INCLUDE");
	if (constraint->options != NIL)
		refuse_key_option("storage parameters");
	if (constraint->indexspace != NULL)
		refuse_key_option("USING INDEX TABLESPACE");
	if (constraint->indexname != NULL)
		refuse_key_option("USING INDEX");
	key->found = true;
	key->name = constraint->conname;
	key->columns = columns;
}

static bool
is_key(Node *node)
{
	return IsA(node, Constraint) && ((Constraint *) node)->contype == CONSTR_PRIMARY;
}

/* Takes a PRIMARY KEY, and what says when it is checked, out of a column's constraints. */
static void
strip_column(ColumnDef *column, Key *key, const char *table)
{
	bool after_key = false;
	ListCell *cell;

	foreach (cell, column->constraints)
	{
		Constraint *constraint = lfirst(cell);

		if (is_key((Node *) constraint))
		{
			take_key(key, table, constraint, list_make1(makeString(column->colname)));
			column->constraints = foreach_delete_current (column->constraints, cell);
			after_key = true;
			continue;
		}
		switch (constraint->contype)
		{
			case CONSTR_ATTR_DEFERRABLE:
			case CONSTR_ATTR_DEFERRED:
				if (after_key)
					refuse_key_option("DEFERRABLE");
				break;
			case CONSTR_ATTR_NOT_DEFERRABLE:
			case CONSTR_ATTR_IMMEDIATE:
				if (after_key)
					column->constraints = foreach_delete_current (column->constraints, cell);
				break;
			default:
				after_key = false;
				break;
		}
	}
}

static AlterTableCmd *
make_set_not_null(const char *column)
{
	AlterTableCmd *command = makeNode(AlterTableCmd);

	command->subtype = AT_SetNotNull;
	command->name = pstrdup(column);
	return command;
}

static List *
make_set_not_nulls(const Key *key)
{
	List *commands = NIL;
	ListCell *cell;

	foreach (cell, key->columns)
		commands = lappend(commands, make_set_not_null(strVal(lfirst(cell))));
	return commands;
}

/* In PostgreSQL's words for keys; SET NOT NULL has others. */
static void
check_key_columns(Oid relation, const Key *key)
{
	ListCell *cell;

	foreach (cell, key->columns)
	{
		if (get_attnum(relation, strVal(lfirst(cell))) == InvalidAttrNumber)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" named in key does not exist", strVal(lfirst(cell)))));
	}
}

/* --- CREATE FOREIGN TABLE ----------------------------------------------------------------- */

static Key
strip_table(CreateStmt *statement)
{
	Key key = {0};
	ListCell *cell;

	foreach (cell, statement->tableElts)
	{
		Node *element = lfirst(cell);

		if (IsA(element, ColumnDef))
			strip_column((ColumnDef *) element, &key, statement->relation->relname);
		else if (is_key(element))
		{
			take_key(&key, statement->relation->relname, (Constraint *) element, ((Constraint *) element)->keys);
			statement->tableElts = foreach_delete_current (statement->tableElts, cell);
		}
	}
	return key;
}

static void
create_key(const tsurugi_utility *utility, Oid relation_id, const Key *key)
{
	AlterTableStmt *alter = makeNode(AlterTableStmt);
	Relation relation;

	check_key_columns(relation_id, key);
	alter->relation = makeRangeVar(get_namespace_name(get_rel_namespace(relation_id)), get_rel_name(relation_id), -1);
	alter->relation->inh = false;
	alter->cmds = make_set_not_nulls(key);
	alter->objtype = OBJECT_FOREIGN_TABLE;
	tsurugi_utility_run_part(utility, (Node *) alter);
	CommandCounterIncrement();
	relation = table_open(relation_id, AccessExclusiveLock);
	tsurugi_key_create(relation, key->name, key->columns);
	table_close(relation, NoLock);
}

static void
create_table(const tsurugi_utility *utility, CreateForeignTableStmt *written)
{
	CreateForeignTableStmt *statement = copyObject(written);
	Oid namespace = RangeVarGetAndCheckCreationNamespace(statement->base.relation, NoLock, NULL);
	bool skipped =
		statement->base.if_not_exists && OidIsValid(get_relname_relid(statement->base.relation->relname, namespace));
	List *likes = tsurugi_like_expand(&statement->base);
	Key key = strip_table(&statement->base);
	Relation relation;
	Oid relation_id;

	tsurugi_utility_run_instead(utility, (Node *) statement);
	if (skipped)
		return;
	CommandCounterIncrement();
	relation_id = get_relname_relid(statement->base.relation->relname, namespace);
	if (!OidIsValid(relation_id))
		return; /* an event trigger has taken it away */
	if (key.found)
		create_key(utility, relation_id, &key);
	if (likes != NIL)
		tsurugi_like_finish(utility, makeRangeVar(get_namespace_name(namespace), statement->base.relation->relname, -1),
							likes);
	/* so that a storage which is missing later is known to have been lost */
	relation = table_open(relation_id, AccessExclusiveLock);
	(void) tsurugi_relation_get(relation);
	table_close(relation, NoLock);
}

/* --- ALTER TABLE ----------------------------------------------------------------------------- */

/* What an ALTER asks for besides what PostgreSQL does. */
typedef struct Wishes
{
	Key key;
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

static void
strip_command(AlterTableCmd *command, Wishes *wishes, const char *table, List **commands)
{
	if (command->subtype == AT_AddConstraint && is_key(command->def))
	{
		take_key(&wishes->key, table, (Constraint *) command->def, ((Constraint *) command->def)->keys);
		return;
	}
	if (command->subtype == AT_AddColumn)
	{
		wishes->adds_columns = true;
		strip_column((ColumnDef *) command->def, &wishes->key, table);
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
	statement->cmds = list_concat(commands, make_set_not_nulls(&wishes.key));
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
	Altered *altered = note_altered(table);
	MemoryContext caller = MemoryContextSwitchTo(innermost->context);

	tsurugi_retype_add(&altered->retype, relation, command, utility->text);
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
		if (list_length(tables) > 1 && tsurugi_is_our_table(relation) &&
			castNode(ColumnDef, command->def)->raw_default != NULL)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot alter the type of a column with USING on a table in memory that others "
								   "inherit")));
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
make_key(Oid relation_id, const Key *key)
{
	Relation relation = table_open(relation_id, AccessExclusiveLock);

	tsurugi_key_create(relation, key->name, key->columns);
	if (key->comment != NULL)
		CreateComments(get_relation_constraint_oid(relation_id, key->name, false), ConstraintRelationId, 0,
					   key->comment);
	(void) note_altered(relation_id);
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
		tsurugi_partition_verify_default(parent);
	}
}

/* The parent of a new partition. */
static void
verify_beside(const CreateStmt *statement)
{
	Oid parent;

	if (statement->partbound == NULL)
		return;
	CommandCounterIncrement();
	parent = RangeVarGetRelid(linitial_node(RangeVar, statement->inhRelations), NoLock, true);
	if (OidIsValid(parent))
		tsurugi_partition_verify_default(parent);
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
	follow_altered();
	verify_tables(relation, statement, &wishes);
	verify_attached(relation, statement);
}

static void
alter_table(const tsurugi_utility *utility, AlterTableStmt *written)
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
		check_key_columns(relation_id, &wishes.key);
	tsurugi_utility_run_instead(utility, (Node *) statement);
	CommandCounterIncrement();
	if (!SearchSysCacheExists1(RELOID, ObjectIdGetDatum(relation_id)))
		return;
	if (wishes.key.found)
		make_key(relation_id, &wishes.key);
	follow_altered();
	verify_tables(relation_id, statement, &wishes);
}

/* --- CREATE SERVER ------------------------------------------------------------------------------ */

static void
create_server(const tsurugi_utility *utility, const CreateForeignServerStmt *statement)
{
	ForeignDataWrapper *wrapper = GetForeignDataWrapperByName(statement->fdwname, true);
	bool is_new = GetForeignServerByName(statement->servername, true) == NULL;

	tsurugi_utility_run(utility);
	if (is_new && wrapper != NULL && tsurugi_is_our_wrapper(wrapper))
		ereport(NOTICE, (errmsg("tables of server \"%s\" are kept in memory only", statement->servername),
						 errdetail("Their contents are gone after a restart of the server.")));
}

/* --- the hook ------------------------------------------------------------------------------------- */

static bool
is_on_our_server(CreateForeignTableStmt *statement)
{
	ForeignServer *server = GetForeignServerByName(statement->servername, true);
	CreateForeignTableStmt *copy;

	if (server != NULL)
		return tsurugi_is_our_server(server->serverid);
	/* PostgreSQL would complain about the key, and not about what is wrong */
	copy = copyObject(statement);
	if (!statement->base.if_not_exists && strip_table(&copy->base).found)
		(void) GetForeignServerByName(statement->servername, false);
	return false;
}

/* True if it made a table of ours. */
static bool
create_as_foreign(const tsurugi_utility *utility, CreateStmt *written)
{
	CreateForeignTableStmt *statement = tsurugi_create_as_foreign(written);

	if (statement == NULL)
		return false;
	create_table(utility, statement);
	return true;
}

static void
run_ddl(const tsurugi_utility *utility)
{
	Node *tree = utility->statement->utilityStmt;

	if (IsA(tree, CreateStmt) && create_as_foreign(utility, (CreateStmt *) tree))
		;
	else if (IsA(tree, CreateTableAsStmt) && tsurugi_create_run_as(utility, (CreateTableAsStmt *) tree))
		;
	else if (tsurugi_command_run(utility))
		;
	else if (IsA(tree, CreateForeignTableStmt) && is_on_our_server((CreateForeignTableStmt *) tree))
		create_table(utility, (CreateForeignTableStmt *) tree);
	else if (IsA(tree, AlterTableStmt))
		alter_table(utility, (AlterTableStmt *) tree);
	else if (IsA(tree, CreateForeignServerStmt))
		create_server(utility, (CreateForeignServerStmt *) tree);
	else
		tsurugi_utility_run(utility);
	if (IsA(tree, CreateStmt) || IsA(tree, CreateForeignTableStmt))
		verify_beside((CreateStmt *) tree);
	follow_altered();
}

static void
process_utility(PlannedStmt *planned, const char *text, bool read_only, ProcessUtilityContext context,
				ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *destination,
				QueryCompletion *completion)
{
	const tsurugi_utility utility = {.statement = planned,
									 .text = text,
									 .read_only = read_only,
									 .context = context,
									 .parameters = parameters,
									 .environment = environment,
									 .destination = destination,
									 .completion = completion};
	Statement statement = {.outer = innermost};

	if (GetCommandLogLevel(planned->utilityStmt) != LOGSTMT_DDL)
	{
		if (!tsurugi_command_run(&utility))
			tsurugi_utility_run(&utility);
		return;
	}
	innermost = &statement;
	PG_TRY();
	{
		run_ddl(&utility);
	}
	PG_FINALLY();
	{
		innermost = statement.outer;
		if (statement.context != NULL)
			MemoryContextDelete(statement.context);
	}
	PG_END_TRY();
}

void
tsurugi_ddl_init(void)
{
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
	previous_object_access_hook = object_access_hook;
	object_access_hook = object_is_accessed;
}
