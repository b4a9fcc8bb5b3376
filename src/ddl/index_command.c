/*
 * index_command.c
 *	  CREATE INDEX, ALTER INDEX and DROP INDEX CONCURRENTLY on foreign tables.
 *
 * The catalog entry is made here (index_entry.c), and so is the index's storage.  CONCURRENTLY:
 * index_concurrent.c.
 *
 * Other sessions read meanwhile, as PostgreSQL's CREATE INDEX lets them (ShareLock).  The build
 * changes nothing but the new tree and the index's hidden values of each version, and no session
 * plans with an index that is not in its catalogs yet.  A version with a locked row stays open
 * (TG_TIME_LOCKED), so it counts as live.  Two transactions can create indexes of one table at
 * once, and each knows only its own.  So the storage is not compared with the catalogs here,
 * because that would drop the other one's index.
 */
#include "postgres.h"

#include "src/ddl/index_command.h"

#include "access/relation.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "commands/progress.h"
#include "commands/tablecmds.h"
#include "commands/tablespace.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/acl.h"
#include "utils/backend_progress.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "src/constraint/foreign_key_entry.h"
#include "src/ddl/altered.h"
#include "src/ddl/commands.h"
#include "src/ddl/index_concurrent.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/index_method.h"
#include "src/ddl/partition_index.h"
#include "src/ddl/rewrite.h"
#include "src/ddl/storage_parameters.h"
#include "src/table/keys.h"
#include "src/table/relation.h"
#include "src/txn/deferred.h"

/* --- CREATE INDEX --------------------------------------------------------------------------- */

static void
create_index(const tsurugi_utility *utility, IndexStmt *statement)
{
	Oid table;
	Relation relation;
	ObjectAddress address;
	bool is_own;

	if (statement->concurrent)
	{
		ObjectAddressSet(address, RelationRelationId, tsurugi_index_create_concurrently(statement, utility->text));
		if (OidIsValid(address.objectId))
			EventTriggerCollectSimpleCommand(address, InvalidObjectAddress, (Node *) statement);
		return;
	}
	table = RangeVarGetRelidExtended(statement->relation, ShareLock, 0, RangeVarCallbackOwnsRelation, NULL);
	relation = table_open(table, NoLock);
	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, table);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_COMMAND, PROGRESS_CREATEIDX_COMMAND_CREATE);
	CheckTableNotInUse(relation, "CREATE INDEX");
	tsurugi_deferred_check_none(table, "CREATE INDEX");
	/* The index may be part of the statement that makes or alters the table. */
	is_own = CheckRelationLockedByMe(relation, AccessExclusiveLock, true);
	/*
	 * A storage that was lost is recreated as other sessions know it, because they may share it
	 * already.
	 */
	if (!is_own)
		(void) tsurugi_relation_get(relation);
	ObjectAddressSet(address, RelationRelationId, tsurugi_index_entry_create(relation, statement, utility->text, true));
	pgstat_progress_update_param(PROGRESS_CREATEIDX_INDEX_OID, address.objectId);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_ACCESS_METHOD_OID, tsurugi_index_method(address.objectId));
	if (OidIsValid(address.objectId) && is_own)
		tsurugi_altered_note(table);
	else if (OidIsValid(address.objectId))
		tsurugi_table_add_index(relation, address.objectId);
	table_close(relation, NoLock);
	tsurugi_altered_follow();
	pgstat_progress_end_command();
	if (OidIsValid(address.objectId))
		EventTriggerCollectSimpleCommand(address, InvalidObjectAddress, (Node *) statement);
}

/*
 * Whether this is a partitioned table with partitions in memory.  PostgreSQL refuses CONCURRENTLY
 * for it.
 */
static bool
must_spread(const IndexStmt *written)
{
	Oid table = RangeVarGetRelid(written->relation, NoLock, true);

	return written->relation->inh && !written->concurrent && OidIsValid(table) &&
		   get_rel_relkind(table) == RELKIND_PARTITIONED_TABLE && tsurugi_holds_our_table(table);
}

/* PostgreSQL creates the index for the table ONLY; its parts are made here. */
static void
create_spread(const tsurugi_utility *utility, IndexStmt *statement)
{
	Oid table = RangeVarGetRelidExtended(statement->relation, ShareLock, 0, RangeVarCallbackOwnsRelation, NULL);
	List *before;

	/* Locks in PostgreSQL's order. */
	(void) find_all_inheritors(table, ShareLock, NULL);
	before = tsurugi_partition_indexes(table);
	statement->relation->inh = false;
	tsurugi_utility_run_instead(utility, (Node *) statement);
	CommandCounterIncrement();
	tsurugi_partition_indexes_spread(table, before, ShareLock, true);
}

static void
create_between(const tsurugi_utility *utility, void *argument)
{
	IndexStmt *written = argument;

	if (must_spread(written))
		create_spread(utility, copyObject(written));
	else
		create_index(utility, copyObject(written));
}

bool
tsurugi_index_command_create(const tsurugi_utility *utility, IndexStmt *written)
{
	bool ours = tsurugi_is_our_table(RangeVarGetRelid(written->relation, NoLock, true));

	if (!ours && !must_spread(written))
		return false;
	if (written->concurrent)
		PreventInTransactionBlock(utility->context == PROCESS_UTILITY_TOPLEVEL, "CREATE INDEX CONCURRENTLY");
	if (ours && !tsurugi_lock_our_table(written->relation, written->concurrent ? ShareUpdateExclusiveLock : ShareLock,
										RangeVarCallbackOwnsRelation))
		return tsurugi_index_command_create(utility, written);
	tsurugi_utility_with_events(utility, (Node *) written, create_between, written);
	return true;
}

bool
tsurugi_is_our_index(Oid index)
{
	return OidIsValid(index) && get_rel_relkind(index) == RELKIND_PARTITIONED_INDEX &&
		   tsurugi_is_our_table(IndexGetRelation(index, true));
}

static bool
has_owner(Oid relation_id, Oid role)
{
	Relation relation = relation_open(relation_id, AccessShareLock);
	bool has = relation->rd_rel->relowner == role;

	relation_close(relation, AccessShareLock);
	return has;
}

static void
set_tablespace(Oid index, const char *name)
{
	Relation relation = relation_open(index, AccessExclusiveLock);
	Oid tablespace = get_tablespace_oid(name, false);

	tsurugi_check_tablespace(name);
	if (CheckRelationTableSpaceMove(relation, tablespace))
		SetRelationTableSpace(relation, tablespace, InvalidOid);
	relation_close(relation, NoLock);
	CommandCounterIncrement();
}

/*
 * Executes ALTER INDEX commands that change nothing in memory: storage parameters and the
 * tablespace, as for ALTER TABLE, and the owner, with PostgreSQL's warning.  The entry is one of a
 * partitioned index, for which PostgreSQL refuses the first two.
 */
static bool
changes_nothing(Oid index, const AlterTableCmd *command)
{
	switch (command->subtype)
	{
		case AT_SetRelOptions:
		case AT_ResetRelOptions:
			tsurugi_index_method_set_parameters(index, castNode(List, command->def),
												command->subtype == AT_ResetRelOptions);
			return true;
		case AT_SetTableSpace:
			set_tablespace(index, command->name);
			return true;
		case AT_ChangeOwner:
			if (!has_owner(index, get_rolespec_oid(command->newowner, false)))
				ereport(WARNING, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
								  errmsg("cannot change owner of index \"%s\"", get_rel_name(index)),
								  errhint("Change the ownership of the index's table, instead.")));
			return true;
		/* To its users it is not a partitioned index. */
		case AT_AttachPartition:
			ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
							errmsg("ALTER action ATTACH PARTITION cannot be performed on relation \"%s\"",
								   get_rel_name(index)),
							errdetail_relkind_not_supported(RELKIND_INDEX)));
			return false;
		default:
			return false;
	}
}

/* If no command is left for PostgreSQL, event triggers are told here. */
static void
alter_between(const tsurugi_utility *utility, void *argument)
{
	AlterTableStmt *alter = argument;
	ObjectAddress index;

	tsurugi_utility_run_instead(utility, (Node *) alter);
	if (alter->cmds != NIL)
		return;
	ObjectAddressSet(index, RelationRelationId, RangeVarGetRelid(alter->relation, NoLock, false));
	EventTriggerCollectSimpleCommand(index, InvalidObjectAddress, (Node *) alter);
}

bool
tsurugi_index_command_alter(const tsurugi_utility *utility, AlterTableStmt *written)
{
	Oid index = RangeVarGetRelid(written->relation, NoLock, true);
	AlterTableStmt *alter;
	ListCell *cell;

	if (!tsurugi_is_our_index(index))
		return false;
	alter = copyObject(written);
	foreach (cell, alter->cmds)
	{
		if (changes_nothing(index, lfirst(cell)))
			alter->cmds = foreach_delete_current (alter->cmds, cell);
	}
	tsurugi_utility_with_events(utility, (Node *) written, alter_between, alter);
	return true;
}

/* The checks of DROP INDEX (RangeVarCallbackForDropRelation). */
static void
check_before_drop(const RangeVar *name, Oid relation, Oid previous, void *argument)
{
	if (OidIsValid(relation) && !pg_class_ownercheck(relation, GetUserId()) &&
		!pg_namespace_ownercheck(get_rel_namespace(relation), GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, name->relname);
}

bool
tsurugi_index_lock_named(const RangeVar *name, Oid index, LOCKMODE mode, RangeVarGetRelidCallback check)
{
	Oid table = IndexGetRelation(index, true);

	if (!OidIsValid(table))
		return false;
	check(name, index, InvalidOid, NULL); /* before the wait for the lock */
	LockRelationOid(table, mode);
	return RangeVarGetRelidExtended(name, mode, RVR_MISSING_OK, check, NULL) == index;
}

static void
drop_between(const tsurugi_utility *utility, void *argument)
{
	const Oid *index = argument;

	tsurugi_index_drop_concurrently(IndexGetRelation(*index, false), *index);
}

bool
tsurugi_index_command_drop(const tsurugi_utility *utility, DropStmt *written)
{
	const RangeVar *name;
	Oid index;

	/* PostgreSQL refuses several indexes, and CASCADE. */
	if (!written->concurrent || list_length(written->objects) != 1 || written->behavior == DROP_CASCADE)
		return false;
	name = makeRangeVarFromNameList(linitial(written->objects));
	index = RangeVarGetRelid(name, NoLock, true);
	if (!tsurugi_is_our_index(index))
		return false;
	PreventInTransactionBlock(utility->context == PROCESS_UTILITY_TOPLEVEL, "DROP INDEX CONCURRENTLY");
	if (!tsurugi_index_lock_named(name, index, ShareUpdateExclusiveLock, check_before_drop))
		return tsurugi_index_command_drop(utility, written); /* the name has another meaning now */
	tsurugi_utility_with_events(utility, (Node *) written, drop_between, &index);
	return true;
}
