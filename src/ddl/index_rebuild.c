/*
 * index_rebuild.c
 *	  REINDEX CONCURRENTLY: the storage of an index is rebuilt while others read and write.
 *
 * The catalog entry stays the same, with its number; the storage's index of that number is
 * replaced.  As in CREATE INDEX CONCURRENTLY (index_concurrent.c) there are several transactions,
 * under ShareUpdateExclusiveLock:
 *
 * 1. A second index of that number is made, empty, behind the first one.  From now on writers
 *	  maintain both and, if they are unique, respect both.
 *	--- wait for all writers of the table: what they wrote is committed, or undone ---
 * 2. The second index is filled from the existing versions, and verified.
 * 3. The first index is retired: a look-up by the number finds the second one.  The first is still
 *	  maintained for sessions that have found it before.  Then other sessions are told to look up
 *	  again what they have kept from earlier statements.
 *	--- wait for all users of the table: no session has found the first one ---
 * 4. The first index is dropped.
 *
 * PostgreSQL makes a second entry, and swaps names, constraints and dependencies.  That is not
 * needed here, because the entry is not the storage.  So an error up to 2 leaves nothing behind,
 * and the index is as good as before.  An error after 3 leaves the retired index, until the next
 * REINDEX, or the next change of the table's definition, drops it.
 *
 * An index that was invalid or dead is valid from 2 on.  Its first storage may be missing or
 * incomplete.
 */
#include "postgres.h"

#include "runtime/index/index.h"
#include "src/ddl/index_concurrent.h"

#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_am.h"
#include "commands/progress.h"
#include "commands/tablecmds.h"
#include "storage/ipc.h"
#include "storage/lmgr.h"
#include "utils/backend_progress.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#include "src/base/session.h"
#include "src/ddl/index_build.h"
#include "src/ddl/index_entry.h"
#include "src/ddl/index_method.h"
#include "src/table/storage.h"

typedef struct Rebuilt
{
	tg_index *fresh; /* the second index, with a reference */
	bool is_taken;	 /* look-ups find it */
} Rebuilt;

/* Step 1. */
static tg_index *
make_second(Oid table, Oid index)
{
	Relation relation = table_open(table, NoLock);
	const tsurugi_relation *described;
	tg_index *fresh = NULL;

	CheckTableNotInUse(relation, "REINDEX INDEX CONCURRENTLY");
	tsurugi_index_entry_set_ready(relation, index, true);
	described = tsurugi_relation_get(relation);
	for (int i = 0; i < described->index_count; i++)
	{
		if (described->indexes[i].oid == index)
			fresh = tsurugi_storage_make_index(relation, described->table, described, &described->indexes[i], false);
	}
	if (fresh == NULL)
		elog(ERROR, "index %u is not one of table %u", index, table);
	tg_index_retain(fresh);
	table_close(relation, NoLock);
	return fresh;
}

/* Step 2. */
static void
fill(Oid table, Oid index, tg_index *fresh)
{
	Relation relation = table_open(table, ShareUpdateExclusiveLock);

	PushActiveSnapshot(GetTransactionSnapshot());
	tsurugi_index_build(relation, fresh, false);
	PopActiveSnapshot();
	tsurugi_index_entry_validate(relation, index);
	tsurugi_storage_complete_index(fresh->table, fresh);
	table_close(relation, NoLock);
}

/* Step 3; other sessions are told in the same transaction. */
static void
take(Oid table_id, Rebuilt *rebuilt)
{
	tg_table *table = rebuilt->fresh->table;
	Relation relation = table_open(table_id, ShareUpdateExclusiveLock);

	for (tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
	{
		if (index->spec.host == rebuilt->fresh->spec.host && index != rebuilt->fresh)
			tg_index_retire(index, true);
	}
	rebuilt->is_taken = true;
	CacheInvalidateRelcache(relation);
	table_close(relation, NoLock);
}

/* Step 4. */
static void
drop_firsts(const tg_index *fresh)
{
	tg_index *next;

	for (tg_index *index = tg_index_first(fresh->table); index != NULL; index = next)
	{
		next = tg_index_next(index);
		if (index->spec.host == fresh->spec.host && index != fresh)
			tsurugi_storage_drop_index(fresh->table, index);
	}
}

/* Called after an error, and when the backend exits, before it releases its locks. */
static void
give_up(int code, Datum argument)
{
	const Rebuilt *rebuilt = (const Rebuilt *) DatumGetPointer(argument);

	if (!rebuilt->is_taken)
	{
		tg_index_retire(rebuilt->fresh, true);
		tg_index_give_up(rebuilt->fresh);
		tg_index_drop(tsurugi_session(), rebuilt->fresh);
	}
	tg_index_release(tsurugi_session(), rebuilt->fresh);
}

/*
 * Locks the table for the session, which an error ends, and reports progress.  Returns what names
 * the lock.
 */
static LockRelId
begin(Oid table_id, Oid index)
{
	Relation relation = table_open(table_id, ShareUpdateExclusiveLock);
	LockRelId table = relation->rd_lockInfo.lockRelId;

	table_close(relation, NoLock);
	pgstat_progress_start_command(PROGRESS_COMMAND_CREATE_INDEX, table_id);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_COMMAND, PROGRESS_CREATEIDX_COMMAND_REINDEX_CONCURRENTLY);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_INDEX_OID, index);
	pgstat_progress_update_param(PROGRESS_CREATEIDX_ACCESS_METHOD_OID, tsurugi_index_method(index));
	LockRelationIdForSession(&table, ShareUpdateExclusiveLock);
	return table;
}

/* Gives the lock back to the transaction. */
static void
end(LockRelId *table)
{
	LockRelationOid(table->relId, ShareUpdateExclusiveLock);
	UnlockRelationIdForSession(table, ShareUpdateExclusiveLock);
	pgstat_progress_end_command();
}

void
tsurugi_index_rebuild_concurrently(Oid table_id, Oid index)
{
	LockRelId table = begin(table_id, index);
	Rebuilt rebuilt = {.fresh = make_second(table_id, index), .is_taken = false};

	tsurugi_next_transaction();
	PG_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(&rebuilt));
	{
		tsurugi_wait_for_lockers(&table, ShareLock, PROGRESS_CREATEIDX_PHASE_WAIT_1);
		fill(table_id, index, rebuilt.fresh);
		tsurugi_next_transaction();
		take(table_id, &rebuilt);
		tsurugi_next_transaction();
		tsurugi_wait_for_lockers(&table, AccessExclusiveLock, PROGRESS_CREATEIDX_PHASE_WAIT_5);
		drop_firsts(rebuilt.fresh);
		tsurugi_next_transaction();
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(&rebuilt));
	tg_index_release(tsurugi_session(), rebuilt.fresh);
	end(&table);
}

void
tsurugi_index_wait_concurrently(Oid table_id, Oid index)
{
	Relation relation = table_open(table_id, ShareUpdateExclusiveLock);
	LockRelId table;

	CheckTableNotInUse(relation, "REINDEX INDEX CONCURRENTLY");
	table_close(relation, NoLock);
	table = begin(table_id, index);
	tsurugi_next_transaction();
	/* Before it swaps two indexes and before it drops the first, PostgreSQL waits for all users. */
	tsurugi_wait_for_lockers(&table, AccessExclusiveLock, PROGRESS_CREATEIDX_PHASE_WAIT_4);
	tsurugi_wait_for_lockers(&table, AccessExclusiveLock, PROGRESS_CREATEIDX_PHASE_WAIT_5);
	tsurugi_next_transaction();
	end(&table);
}
