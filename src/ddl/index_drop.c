/*
 * index_drop.c
 *	  DROP INDEX CONCURRENTLY: an index goes while others read and write.
 *
 * The catalogs' part, its transactions and its waits are PostgreSQL's own (index_drop):
 *
 *	1. the entry is not valid any more: nobody plans by it
 *	--- wait for all who use the table: nobody reads by it ---
 *	2. it is dead: not in the table's list of indexes.  Once that is committed, the storage's index keeps nobody
 *	   from anything (it is retired), so nobody meets it, though whoever writes maintains it
 *	--- wait for all who use the table ---
 *	3. the entry goes, and with the commit the storage's index
 *
 * A transaction of several sessions is not among those whom PostgreSQL waits for, so it is waited for before 3 is
 * committed: it may have read by the index, and what it has read is validated by the index.
 *
 * After an error in 2 or 3 the entry stays, not valid or dead, as PostgreSQL's; DROP INDEX lets go of it,
 * REINDEX INDEX makes it whole.
 */
#include "postgres.h"

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
	tg_index *index; /* kept by the locks on it; NULL: the storage has none */
	int commits;
} Dropped;

static Dropped *under_way; /* NULL: nothing */

/* The second commit is that of the entry's death. */
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

/* 1 to 3, but for the last commit. */
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
