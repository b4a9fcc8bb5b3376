/*
 * index_concurrent.c
 *	  CREATE INDEX CONCURRENTLY: an index is made while others write.
 *
 * Like PostgreSQL's, it takes several transactions, during which no other session changes the
 * table's definition (ShareUpdateExclusiveLock, held by the session):
 *
 * 1. The catalog entry is made, not valid: no plan uses it, ON CONFLICT does not infer it, and no
 *	  key refers to it.
 *	--- wait for all writers of the table: from now on each writer knows the index by name
 * 2. The storage's index is made, empty.  From now on each writer maintains it, and respects it if
 *	  it is unique.
 *	--- wait for all writers of the table: what they wrote is committed, or undone
 * 3. Its hidden values of each version are computed (index_fill.c); it is filled from the existing
 *	  versions (exec/index_build.c) and becomes valid.
 *
 * A writer that knows the entry computes the index's hidden values of its rows even before there is
 * a place to store them.
 *
 * Each version that some snapshot sees gets its index entry, so there are no older snapshots to
 * wait for.
 *
 * After an error the catalog entry stays, not valid, as PostgreSQL's does; \d shows that.  The
 * storage's index is dropped, so it constrains nobody; PostgreSQL's, too, enforces uniqueness for
 * nobody if its first scan has found a key twice.  After an error in 3 (a duplicate key, an
 * expression that fails, Ctrl-C) the entry is not ready, either, and no writer computes anything
 * for it any more.  DROP INDEX removes the entry; REINDEX completes it.  Operations that store the
 * table anew (TRUNCATE, ALTER TABLE, a restart) leave out indexes that are not valid.
 */
#include "postgres.h"

#include "src/ddl/index_concurrent.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "commands/progress.h"
#include "commands/tablecmds.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "utils/backend_progress.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "runtime/index/index.h"
#include "src/base/session.h"
#include "src/ddl/index_build.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/index_method.h"
#include "src/table/storage.h"
#include "src/txn/lease_locks.h"

void
tsurugi_next_transaction(void)
{
	if (ActiveSnapshotSet())
		PopActiveSnapshot();
	CommitTransactionCommand();
	StartTransactionCommand();
}

void
tsurugi_wait_for_lockers(const LockRelId *table, LOCKMODE mode, int phase)
{
	LOCKTAG tag;

	SET_LOCKTAG_RELATION(tag, table->dbId, table->relId);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_PHASE, phase);
	WaitForLockers(tag, mode, true);
	tsurugi_lease_locks_wait_for(table->relId);
}

/*
 * Waits until all transactions have ended that have written to the table and may not know what has
 * been committed.
 */
static void
wait_for_writers(const LockRelId *table, int phase)
{
	tsurugi_wait_for_lockers(table, ShareLock, phase);
}

/* Step 1.  InvalidOid: the index already exists. */
static Oid
make_entry(IndexStmt *statement, const char *text, LockRelId *table_out)
{
	Oid table =
		RangeVarGetRelidExtended(statement->relation, ShareUpdateExclusiveLock, 0, RangeVarCallbackOwnsRelation, NULL);
	Relation relation = table_open(table, NoLock);
	Oid index;

	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, table);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_COMMAND, PROGRESS_CREATEIDX_COMMAND_CREATE_CONCURRENTLY);
	CheckTableNotInUse(relation, "CREATE INDEX CONCURRENTLY");
	(void) tsurugi_relation_get(relation); /* a storage that was lost is recreated */
	index = tsurugi_index_entry_create(relation, statement, text, true);
	*table_out = relation->rd_lockInfo.lockRelId;
	table_close(relation, NoLock);
	if (OidIsValid(index))
	{
		pgstat_progress_update_param(PROGRESS_CREATEIDX_INDEX_OID, index);
		pgstat_progress_update_param(PROGRESS_CREATEIDX_ACCESS_METHOD_OID, tsurugi_index_method(index));
	}
	return index;
}

/* Step 2. */
static void
make_storage(Oid table, Oid index)
{
	Relation relation = table_open(table, ShareUpdateExclusiveLock);
	const tsurugi_relation *described = tsurugi_relation_get(relation);

	for (int i = 0; i < described->index_count; i++)
	{
		if (described->indexes[i].oid == index)
			(void) tsurugi_storage_make_index(relation, described->table, described, &described->indexes[i], false);
	}
	table_close(relation, NoLock);
}

/*
 * Step 3.  A subtransaction contains what may fail, so that the rest of the transaction can record
 * the failure.
 */
static void
fill(Oid table, Oid index)
{
	Relation relation = table_open(table, ShareUpdateExclusiveLock);
	tg_table *storage = tsurugi_storage_find(table);
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext caller = CurrentMemoryContext;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		tsurugi_index_build(relation, tg_index_find(storage, index), false);
		PopActiveSnapshot();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(PortalContext); /* it outlives the transaction */
		error = CopyErrorData();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(caller);
		CurrentResourceOwner = owner;
		tsurugi_index_entry_set_ready(relation, index, false);
		table_close(relation, NoLock);
		tsurugi_next_transaction();
		ReThrowError(error);
	}
	PG_END_TRY();
	MemoryContextSwitchTo(caller);
	CurrentResourceOwner = owner;
	tsurugi_index_entry_validate(relation, index);
	tsurugi_storage_complete_index(storage, tg_index_find(storage, index));
	table_close(relation, NoLock);
}

typedef struct Unfinished
{
	Oid table;
	Oid index;
} Unfinished;

/* Called after an error, and when the backend exits, before it releases its locks. */
static void
give_up(int code, Datum argument)
{
	const Unfinished *unfinished = (const Unfinished *) DatumGetPointer(argument);
	tg_table *table = tsurugi_storage_find(unfinished->table);
	tg_index *index = table != NULL ? tg_index_find(table, unfinished->index) : NULL;

	if (index == NULL)
		return;
	tg_index_retire(index, true);
	tg_index_give_up(index);
	tg_index_drop(tsurugi_session(), index);
}

Oid
tsurugi_index_create_concurrently(IndexStmt *statement, const char *text)
{
	LockRelId table;
	Oid index = make_entry(statement, text, &table);
	Unfinished unfinished;

	if (!OidIsValid(index))
	{
		pgstat_progress_end_command();
		return InvalidOid;
	}
	LockRelationIdForSession(&table, ShareUpdateExclusiveLock); /* an error releases it, too */
	tsurugi_next_transaction();
	wait_for_writers(&table, PROGRESS_CREATEIDX_PHASE_WAIT_1);
	unfinished = (Unfinished){.table = table.relId, .index = index};
	PG_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(&unfinished));
	{
		make_storage(table.relId, index);
		tsurugi_next_transaction();
		wait_for_writers(&table, PROGRESS_CREATEIDX_PHASE_WAIT_2);
		fill(table.relId, index);
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(&unfinished));
	UnlockRelationIdForSession(&table, ShareUpdateExclusiveLock);
	pgstat_progress_end_command();
	return index;
}
