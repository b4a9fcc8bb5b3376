/*
 * index_concurrent.c
 *	  CREATE INDEX CONCURRENTLY: an index is made while others write.
 *
 * As PostgreSQL's, in several transactions, beside which nobody changes the table's definition
 * (ShareUpdateExclusiveLock, held by the session):
 *
 *	1. the entry in the catalogs, not valid: nobody plans by it, infers it for ON CONFLICT, or refers to it
 *	--- wait for all who write to the table: from now on who writes knows its name
 *	2. the storage's index, empty: who writes from now on maintains it, and respects it if it is unique
 *	--- wait for all who write to the table: what they wrote is committed, or undone
 *	3. what it keeps of each version is computed (index_fill.c), it is filled with what is there (exec/index_build.c), and valid
 *
 * Who knows the entry computes what the index keeps of the rows that he writes, before there is a place for it.
 *
 * Each version that some snapshot sees gets its entry, so there are no older snapshots to wait for.
 *
 * After an error the entry stays, not valid, as PostgreSQL's does; \d says so.  The storage's index goes, so that it keeps
 * nobody from anything: PostgreSQL's, too, is unique for nobody where its first scan has found a key twice.  After one in 3 (a
 * key that is there twice, an expression that fails, Ctrl-C) the entry is not ready, either, and nobody computes anything for
 * it any more.  DROP INDEX lets go of the entry, REINDEX makes it whole.
 * Whatever makes the storage anew (TRUNCATE, ALTER TABLE, a restart) leaves out what is not valid.
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

/* Until all have ended who have written to the table and may not know what has been committed. */
static void
wait_for_writers(const LockRelId *table, int phase)
{
	tsurugi_wait_for_lockers(table, ShareLock, phase);
}

/* 1.  InvalidOid: there is one. */
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
	(void) tsurugi_relation_get(relation); /* a storage that was lost comes back */
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

/* 2 */
static void
make_storage(Oid table, Oid index)
{
	Relation relation = table_open(table, ShareUpdateExclusiveLock);
	const tsurugi_relation *described = tsurugi_relation_get(relation);

	for (int i = 0; i < described->index_count; i++)
	{
		if (described->indexes[i].oid == index)
			(void) tsurugi_storage_make_index(relation, described->table, &described->indexes[i], TG_DATA);
	}
	table_close(relation, NoLock);
}

/* 3.  What fails is a part of the transaction, so that what is left of it can say so. */
static void
fill(Oid table, Oid index)
{
	Relation relation = table_open(table, ShareUpdateExclusiveLock);
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext caller = CurrentMemoryContext;

	BeginInternalSubTransaction(NULL);
	PG_TRY();
	{
		PushActiveSnapshot(GetTransactionSnapshot());
		tsurugi_index_build(relation, tg_index_find(tsurugi_storage_find(table), index), false);
		PopActiveSnapshot();
		ReleaseCurrentSubTransaction();
	}
	PG_CATCH();
	{
		ErrorData *error;

		MemoryContextSwitchTo(PortalContext); /* lives on beyond the transaction */
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
	table_close(relation, NoLock);
}

typedef struct Unfinished
{
	Oid table;
	Oid index;
} Unfinished;

/* After an error, or when the backend ends, before it gives up its locks. */
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
