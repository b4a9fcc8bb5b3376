/*
 * ddl.c
 *	  CREATE, ALTER and DROP, as far as PostgreSQL does not support them for foreign tables.
 *
 * The utility hook sees statements as they were written.  It takes out the parts that PostgreSQL
 * refuses for foreign tables, lets PostgreSQL execute the rest, and executes those parts
 * afterwards.
 */
#include "postgres.h"

#include "src/ddl/ddl.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "commands/event_trigger.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parse_node.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "src/base/session.h"
#include "src/constraint/foreign_key.h"
#include "src/copy/copy.h"
#include "src/copy/plain.h"
#include "src/ddl/alter.h"
#include "src/ddl/altered.h"
#include "src/ddl/commands.h"
#include "src/ddl/create.h"
#include "src/ddl/import.h"
#include "src/ddl/index_command.h"
#include "src/ddl/index_concurrent.h"
#include "src/ddl/key_clause.h"
#include "src/ddl/partition.h"
#include "src/ddl/partition_join.h"
#include "src/ddl/replica_identity.h"
#include "src/ddl/storage_parameters.h"
#include "src/ddl/type_users.h"
#include "src/ddl/utility.h"
#include "src/table/quota.h"
#include "src/table/relation.h"
#include "src/txn/deferred.h"
#include "src/txn/isolation.h"
#include "src/txn/ladder.h"
#include "src/txn/lease_owners.h"
#include "src/txn/moment.h"
#include "src/txn/prepared.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot_export.h"

static ProcessUtility_hook_type previous_utility_hook;
static bool next_is_part;

/* --- statements ------------------------------------------------------------------------ */

/* COPY in a format that PostgreSQL does not have, or one that tasks of the pool can do. */
static bool
run_copy(const tsurugi_utility *utility)
{
	const tsurugi_copy copy = {.statement = (const CopyStmt *) utility->statement->utilityStmt,
							   .text = utility->text,
							   .location = utility->statement->stmt_location,
							   .length = utility->statement->stmt_len,
							   .environment = utility->environment};
	uint64 rows;

	if (tsurugi_copy_is_ours(utility->statement->utilityStmt))
		rows = tsurugi_copy_run(&copy);
	else if (!tsurugi_copy_plain(&copy, &rows))
		return false;
	if (utility->completion != NULL)
		SetQueryCompletion(utility->completion, CMDTAG_COPY, rows);
	return true;
}

void
tsurugi_utility_run(const tsurugi_utility *utility)
{
	ProcessUtility_hook_type next = previous_utility_hook != NULL ? previous_utility_hook : standard_ProcessUtility;

	if (IsA(utility->statement->utilityStmt, CopyStmt) && run_copy(utility))
		return;
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

static void
run_part(Node *tree, const char *text, int location, int length)
{
	PlannedStmt *part = makeNode(PlannedStmt);

	part->commandType = CMD_UTILITY;
	part->utilityStmt = tree;
	part->stmt_location = location;
	part->stmt_len = length;
	ProcessUtility(part, text, false, PROCESS_UTILITY_SUBCOMMAND, NULL, NULL, None_Receiver, NULL);
}

void
tsurugi_utility_run_part(const tsurugi_utility *utility, Node *tree)
{
	run_part(tree, utility->text, utility->statement->stmt_location, utility->statement->stmt_len);
}

void
tsurugi_utility_run_own(Node *tree, const char *text)
{
	run_part(tree, text, 0, 0);
	CommandCounterIncrement();
}

void
tsurugi_utility_run_untold(const tsurugi_utility *utility, Node *tree)
{
	EventTriggerInhibitCommandCollection();
	PG_TRY();
	{
		tsurugi_utility_run_part(utility, tree);
	}
	PG_FINALLY();
	{
		EventTriggerUndoInhibitCommandCollection();
	}
	PG_END_TRY();
}

void
tsurugi_utility_with_events(const tsurugi_utility *utility, Node *written, tsurugi_utility_part run, void *argument)
{
	bool complete = utility->context != PROCESS_UTILITY_SUBCOMMAND;
	tsurugi_utility part = *utility;
	bool collects;

	PreventCommandIfReadOnly(CreateCommandName(written)); /* as standard_ProcessUtility */
	collects = complete && EventTriggerBeginCompleteQuery();
	part.context = PROCESS_UTILITY_SUBCOMMAND;
	PG_TRY();
	{
		if (complete)
			EventTriggerDDLCommandStart(written);
		run(&part, argument);
		if (complete)
		{
			EventTriggerSQLDrop(written);
			EventTriggerDDLCommandEnd(written);
		}
	}
	PG_FINALLY();
	{
		if (collects)
			EventTriggerEndCompleteQuery();
	}
	PG_END_TRY();
}

void
tsurugi_utility_next_is_part(bool is_part)
{
	next_is_part = is_part;
}

/* --- CREATE FOREIGN TABLE ----------------------------------------------------------------- */

static void
create_keys(const tsurugi_utility *utility, Oid relation_id, List *keys)
{
	AlterTableStmt *alter = makeNode(AlterTableStmt);
	Relation relation;

	tsurugi_key_clauses_check(relation_id, keys, false, utility->text);
	alter->relation = makeRangeVar(get_namespace_name(get_rel_namespace(relation_id)), get_rel_name(relation_id), -1);
	alter->relation->inh = false;
	alter->cmds = tsurugi_key_clauses_set_not_null(relation_id, keys);
	alter->objtype = OBJECT_FOREIGN_TABLE;
	if (alter->cmds != NIL)
		tsurugi_utility_run_untold(utility, (Node *) alter);
	CommandCounterIncrement();
	relation = table_open(relation_id, AccessExclusiveLock);
	tsurugi_key_clauses_make(relation, keys, utility->text, true);
	table_close(relation, NoLock);
}

/* PostgreSQL reports them as an ALTER TABLE after the CREATE. */
static void
create_foreign_keys(Oid relation_id, List *keys)
{
	AlterTableStmt *alter;
	ObjectAddress table;

	if (keys == NIL)
		return;
	tsurugi_foreign_keys_create(relation_id, keys, false);
	alter = makeNode(AlterTableStmt);
	alter->relation = makeRangeVar(get_namespace_name(get_rel_namespace(relation_id)), get_rel_name(relation_id), -1);
	alter->objtype = OBJECT_TABLE;
	ObjectAddressSet(table, RelationRelationId, relation_id);
	EventTriggerCollectSimpleCommand(table, InvalidObjectAddress, (Node *) alter);
}

/* There are no rows yet that could violate a condition (transformCheckConstraints). */
static void
validate_checks(List *elements)
{
	ListCell *cell;

	foreach (cell, elements)
	{
		Constraint *constraint = lfirst(cell);

		if (!IsA(constraint, Constraint) || constraint->contype != CONSTR_CHECK)
			continue;
		constraint->skip_validation = false;
		constraint->initially_valid = true;
	}
}

/* The schema for the new table; an error has PostgreSQL's position. */
static Oid
creation_namespace(const tsurugi_utility *utility, RangeVar *table)
{
	ParseState *parse = make_parsestate(NULL);
	ParseCallbackState position;
	Oid namespace;

	parse->p_sourcetext = utility->text;
	setup_parser_errposition_callback(&position, parse, table->location);
	namespace = RangeVarGetAndCheckCreationNamespace(table, NoLock, NULL);
	cancel_parser_errposition_callback(&position);
	free_parsestate(parse);
	return namespace;
}

static void
create_table(const tsurugi_utility *utility, void *written)
{
	CreateForeignTableStmt *statement = copyObject((CreateForeignTableStmt *) written);
	Oid namespace = creation_namespace(utility, statement->base.relation);
	bool skipped =
		statement->base.if_not_exists && OidIsValid(get_relname_relid(statement->base.relation->relname, namespace));
	List *likes;
	List *foreign_keys;
	List *keys;
	Relation relation;
	Oid relation_id;

	/* The objects that the definition names need not exist. */
	if (skipped)
	{
		tsurugi_utility_run_instead(utility, (Node *) statement);
		return;
	}
	statement->options = tsurugi_storage_with_default(statement->options, statement->servername);
	likes = tsurugi_like_expand(&statement->base, utility->text);
	foreign_keys = tsurugi_foreign_keys_take(&statement->base, true);
	keys = tsurugi_key_clauses_of_table(&statement->base);
	validate_checks(statement->base.tableElts);
	tsurugi_utility_run_instead(utility, (Node *) statement);
	CommandCounterIncrement();
	relation_id = get_relname_relid(statement->base.relation->relname, namespace);
	if (!OidIsValid(relation_id))
		return; /* an event trigger has dropped it */
	tsurugi_replica_identity_begin(relation_id);
	tsurugi_storage_follow(relation_id);
	if (keys != NIL)
		create_keys(utility, relation_id, keys);
	if (likes != NIL)
		tsurugi_like_finish(utility, makeRangeVar(get_namespace_name(namespace), statement->base.relation->relname, -1),
							likes);
	/* From now on, a missing storage is known to have been lost. */
	relation = table_open(relation_id, AccessExclusiveLock);
	(void) tsurugi_relation_get(relation);
	table_close(relation, NoLock);
	create_foreign_keys(relation_id, foreign_keys);
}

/* A table of PostgreSQL's with foreign keys to tables in memory. */
static void
create_referencing(const tsurugi_utility *utility, void *written)
{
	CreateStmt *statement = copyObject((CreateStmt *) written);
	List *keys = tsurugi_foreign_keys_take(statement, false);
	Oid namespace = creation_namespace(utility, statement->relation);
	bool skipped = statement->if_not_exists && OidIsValid(get_relname_relid(statement->relation->relname, namespace));
	tsurugi_utility_run_instead(utility, (Node *) statement);
	if (!skipped)
	{
		CommandCounterIncrement();
		create_foreign_keys(get_relname_relid(statement->relation->relname, namespace), keys);
	}
}

/* Verifies the default partition beside a new partition. */
static void
verify_beside(const CreateStmt *statement)
{
	Oid parent;

	if (statement->partbound == NULL)
		return;
	CommandCounterIncrement();
	parent = RangeVarGetRelid(linitial_node(RangeVar, statement->inhRelations), NoLock, true);
	if (OidIsValid(parent))
		tsurugi_partition_verify_default(parent, false);
}

/* --- servers -------------------------------------------------------------------- */

static void
alter_server(const tsurugi_utility *utility, const AlterForeignServerStmt *statement)
{
	ForeignServer *server = GetForeignServerByName(statement->servername, true);

	tsurugi_utility_run(utility);
	if (server != NULL && tsurugi_is_our_server(server->serverid))
		tsurugi_storage_server_altered(server->serverid);
}

/* --- the hook ------------------------------------------------------------------- */

static bool
is_on_our_server(CreateForeignTableStmt *statement)
{
	ForeignServer *server = GetForeignServerByName(statement->servername, true);
	CreateForeignTableStmt *copy;

	if (server != NULL)
		return tsurugi_is_our_server(server->serverid);
	/* PostgreSQL would report the key and not the actual mistake. */
	copy = copyObject(statement);
	if (!statement->base.if_not_exists && tsurugi_key_clauses_of_table(&copy->base) != NIL)
		(void) GetForeignServerByName(statement->servername, false);
	return false;
}

/* Returns whether it made a table in memory, or one with foreign keys to some. */
static bool
create(const tsurugi_utility *utility, CreateStmt *written)
{
	CreateForeignTableStmt *statement = tsurugi_create_as_foreign(written);

	if (statement != NULL)
		tsurugi_utility_with_events(utility, (Node *) written, create_table, statement);
	else if (tsurugi_foreign_keys_take(copyObject(written), false) != NIL)
		tsurugi_utility_with_events(utility, (Node *) written, create_referencing, written);
	else
		return false;
	return true;
}

/* join: not NULL if the statement makes a table in memory a partition. */
static void
run_ddl_part(const tsurugi_utility *utility, void *join)
{
	Node *tree = utility->statement->utilityStmt;

	if (IsA(tree, CreateStmt) && create(utility, (CreateStmt *) tree))
		;
	else if (IsA(tree, CreateTableAsStmt) && tsurugi_create_run_as(utility, (CreateTableAsStmt *) tree))
		;
	else if (tsurugi_command_run(utility))
		;
	else if (IsA(tree, CreateForeignTableStmt) && is_on_our_server((CreateForeignTableStmt *) tree))
		tsurugi_utility_with_events(utility, tree, create_table, tree);
	else if (IsA(tree, AlterTableStmt))
		tsurugi_alter_run(utility, (AlterTableStmt *) tree);
	else if (IsA(tree, AlterEnumStmt))
		tsurugi_alter_enum(utility, (AlterEnumStmt *) tree);
	else if (IsA(tree, AlterDomainStmt))
		tsurugi_alter_domain(utility, (AlterDomainStmt *) tree);
	else if (IsA(tree, ImportForeignSchemaStmt))
		tsurugi_import_run(utility, (ImportForeignSchemaStmt *) tree);
	else if (IsA(tree, IndexStmt) && tsurugi_index_command_create(utility, (IndexStmt *) tree))
		;
	else if (IsA(tree, AlterForeignServerStmt))
		alter_server(utility, (AlterForeignServerStmt *) tree);
	else if (IsA(tree, DropOwnedStmt))
	{
		tsurugi_lease_end_owned(((DropOwnedStmt *) tree)->roles);
		tsurugi_utility_run(utility);
	}
	else
		tsurugi_utility_run(utility);
	/* The operators of a new operator class are not used by anything yet. */
	if (IsA(tree, AlterOpFamilyStmt))
		tsurugi_altered_regroups();
	if (IsA(tree, CreateStmt) || IsA(tree, CreateForeignTableStmt))
		verify_beside((CreateStmt *) tree);
	if (join != NULL)
		tsurugi_partition_join_finish(join);
	tsurugi_altered_follow();
}

static void
run_ddl(const tsurugi_utility *utility)
{
	Node *tree = utility->statement->utilityStmt;
	tsurugi_join *join = tsurugi_partition_join_begin(tree);

	if (join != NULL)
		tsurugi_utility_with_events(utility, tree, run_ddl_part, join);
	else
		run_ddl_part(utility, NULL);
}

/* Called before the session waits for a lock that its own shared transaction holds. */
static void
check_truncate(const TruncateStmt *statement)
{
	ListCell *cell;

	if (!tsurugi_shared_is_open)
		return;
	foreach (cell, statement->relations)
		if (tsurugi_is_our_table(RangeVarGetRelid(lfirst(cell), NoLock, true)))
			tsurugi_shared_check_command("truncate or rewrite tables");
}

/*
 * COPY of a table makes no executor run.  Returns whether another snapshot has been made active for
 * it.
 */
static bool
start_copy(const CopyStmt *statement)
{
	if (statement->relation == NULL)
		return false;
	if (statement->is_from)
		tsurugi_isolation_note_copy(RangeVarGetRelid(statement->relation, NoLock, true));
	else if (tsurugi_moment_matters() || IsolationUsesXactSnapshot())
		return tsurugi_moment_start_copy(RangeVarGetRelid(statement->relation, NoLock, true));
	return false;
}

/*
 * Whether the transaction's time is drawn when the statement starts.  The other statements make an
 * executor run soon, after they have locked their tables: a snapshot older than the lock would not
 * show a table that another session has stored anew meanwhile.
 */
static bool
fixes_moment(Node *tree)
{
	const CopyStmt *copy = IsA(tree, CopyStmt) ? (CopyStmt *) tree : NULL;

	return !IsA(tree, ExecuteStmt) &&
		   (copy == NULL ||
			(copy->relation != NULL && !tsurugi_is_our_table(RangeVarGetRelid(copy->relation, NoLock, true))));
}

static bool
ends_prepared(const Node *tree)
{
	TransactionStmtKind kind;

	if (!IsA(tree, TransactionStmt))
		return false;
	kind = ((const TransactionStmt *) tree)->kind;
	return kind == TRANS_STMT_COMMIT_PREPARED || kind == TRANS_STMT_ROLLBACK_PREPARED;
}

static void
run_as_it_is(const void *utility)
{
	tsurugi_utility_run(utility);
}

static void
process_utility(PlannedStmt *planned, const char *text, bool read_only, ProcessUtilityContext context,
				ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *destination,
				QueryCompletion *completion)
{
	const bool is_part = next_is_part;
	const tsurugi_utility utility = {.statement = planned,
									 .text = text,
									 .read_only = read_only,
									 .context = is_part ? PROCESS_UTILITY_SUBCOMMAND : context,
									 .parameters = parameters,
									 .environment = environment,
									 .destination = destination,
									 .completion = completion};
	tsurugi_ddl_statement statement;
	bool suspended;
	int held_back;

	/* Statements of functions that this statement calls are not parts of it. */
	next_is_part = false;
	if (IsTransactionState())
		tsurugi_session_judge_privilege();
	if (IsA(planned->utilityStmt, CopyStmt))
		tsurugi_copy_check_file_right((const CopyStmt *) planned->utilityStmt);
	if (IsolationUsesXactSnapshot() && fixes_moment(planned->utilityStmt))
		tsurugi_isolation_begin_statement();
	if (GetCommandLogLevel(planned->utilityStmt) != LOGSTMT_DDL)
	{
		bool has_moment = IsA(planned->utilityStmt, CopyStmt) && start_copy((CopyStmt *) planned->utilityStmt);

		if (IsA(planned->utilityStmt, TruncateStmt))
			check_truncate((TruncateStmt *) planned->utilityStmt);
		else if (IsA(planned->utilityStmt, DeclareCursorStmt))
			tsurugi_deferred_note_cursor((DeclareCursorStmt *) planned->utilityStmt);
		if (ends_prepared(planned->utilityStmt))
			tsurugi_prepared_end_by((TransactionStmt *) planned->utilityStmt, run_as_it_is, &utility);
		else if (!tsurugi_command_run(&utility))
			tsurugi_utility_run(&utility);
		tsurugi_session_follow_role();
		if (has_moment)
			PopActiveSnapshot();
		if (IsA(planned->utilityStmt, ConstraintsSetStmt))
			tsurugi_deferred_set((ConstraintsSetStmt *) planned->utilityStmt);
		else if (IsA(planned->utilityStmt, TransactionStmt) &&
				 castNode(TransactionStmt, planned->utilityStmt)->kind == TRANS_STMT_COMMIT)
			tsurugi_deferred_begin_commit();
		else if (IsA(planned->utilityStmt, VariableSetStmt))
			tsurugi_export_import((VariableSetStmt *) planned->utilityStmt);
		else if (IsA(planned->utilityStmt, DiscardStmt) &&
				 ((DiscardStmt *) planned->utilityStmt)->target == DISCARD_ALL)
		{
			/* a pool of connections gives the session to others */
			(void) tsurugi_shared_detach();
			tsurugi_ladder_forget();
		}
		return;
	}
	tsurugi_shared_check_command("change definitions");
	tsurugi_quota_note_statement(planned->utilityStmt);
	held_back = tsurugi_partition_hold_back(planned->utilityStmt);
	suspended = tsurugi_moment_suspend(IsA(planned->utilityStmt, AlterTableStmt));
	tsurugi_altered_begin(&statement, planned->utilityStmt);
	PG_TRY();
	{
		run_ddl(&utility);
	}
	PG_FINALLY();
	{
		(void) tsurugi_moment_suspend(suspended);
		tsurugi_partition_let_through(held_back);
		tsurugi_altered_end(&statement);
	}
	PG_END_TRY();
}

void
tsurugi_ddl_init(void)
{
	previous_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
	tsurugi_altered_init();
	tsurugi_index_drop_init();
	tsurugi_partition_init();
}
