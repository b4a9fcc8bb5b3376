/*
 * index_drop.c
 *	  DROP INDEX CONCURRENTLY: an index is dropped while others read and write.
 *
 * The catalogs' part, with its transactions and its waits, is PostgreSQL's own (index_drop):
 *
 * 1. The entry is made invalid: no new plan uses it.
 *	--- wait for all users of the table: no session reads through the index ---
 * 2. The entry is made dead, so that it is not in the table's list of indexes.  When that is
 *	  committed, the storage's index is retired: no look-up finds it and it no longer enforces
 *	  anything, but writers still maintain it.
 *	--- wait for all users of the table ---
 * 3. The entry is dropped, and with the commit the storage's index.
 *
 * PostgreSQL does not wait for a transaction of several sessions.  So such a transaction is waited
 * for before 3 is committed: it may have read through the index, and those reads are validated
 * through the index.
 *
 * After an error in 2 or 3 the entry stays, invalid or dead, as PostgreSQL's does; DROP INDEX
 * removes it, REINDEX INDEX completes it.
 */
#include "postgres.h"

#include "runtime/index/index.h"
#include "src/ddl/index_concurrent.h"

#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/pg_class.h"
#include "utils/snapmgr.h"

#include "src/ddl/altered.h"
#include "src/table/keys.h"
#include "src/table/relation.h"
#include "src/table/storage.h"
#include "src/txn/lease_locks.h"
#include "src/txn/participants.h"

typedef struct Dropped
{
	tg_index *index; /* the locks keep it; NULL: the storage has none */
	int commits;
} Dropped;

static Dropped *under_way; /* NULL: no DROP is running */

/* The second commit is that which makes the entry dead. */
static void
count_commit(void)
{
	if (under_way != NULL && ++under_way->commits == 2 && under_way->index != NULL)
		tg_index_retire(under_way->index, true);
}

void
tsurugi_index_drop_init(void)
{
	static const tsurugi_participant drop = {.name = "index drop", .commit = count_commit};

	tsurugi_participant_register(&drop);
}

/* Steps 1 to 3, except for the last commit. */
static void
drop_entry(Oid index)
{
	ObjectAddresses *objects = new_object_addresses();
	ObjectAddress address;

	ObjectAddressSet(address, RelationRelationId, index);
	add_exact_object_address(&address, objects);
	performMultipleDeletions(objects, DROP_RESTRICT, PERFORM_DELETION_CONCURRENTLY);
	free_object_addresses(objects);
}

static void
finish_drop(Oid table_id, tg_index *index)
{
	tg_table *table = tsurugi_storage_find(table_id);

	tsurugi_altered_forget(table_id);
	tsurugi_lease_locks_wait_for(table_id);
	if (index != NULL && table != NULL)
		tsurugi_storage_drop_index(table, index);
	if (ActiveSnapshotSet())
		PopActiveSnapshot();
}

void
tsurugi_index_drop_concurrently(Oid table, Oid index)
{
	tg_table *storage = tsurugi_storage_find(table);
	Dropped dropped = {.index = storage != NULL ? tg_index_find(storage, index) : NULL};

	under_way = &dropped;
	PG_TRY();
	{
		drop_entry(index);
		finish_drop(table, dropped.index);
	}
	PG_FINALLY();
	{
		under_way = NULL;
	}
	PG_END_TRY();
}
