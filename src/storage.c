/*
 * storage.c
 *	  Creation, replacement and end of the tables' storage, with PostgreSQL's transactions.
 *
 * The shared map of storages always shows what the newest transaction that has
 * the relation's lock made of it.  What it takes to go back, or to finish, is a
 * list of changes, newest first:
 *
 *	            at abort                         at commit
 *	CREATED     taken out                        -
 *	REPLACED    the old one is put back          the old one is given up
 *	DROPPED     -                                taken out
 *	DATABASE    -                                all of it taken out
 *
 * A change belongs to the subtransaction it was made in, and goes to the
 * parent when that commits; CREATED belongs to the one that created the
 * relation, because the storage may come into being later than it.  The storage
 * of an older relation, lost with a restart, stays unless the relation is
 * exclusively locked.
 */
#include "postgres.h"

#include "src/storage.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/memutils.h"

#include "src/errors.h"
#include "src/relation.h"
#include "src/session.h"

typedef enum ChangeKind
{
	CHANGE_CREATED,
	CHANGE_REPLACED,
	CHANGE_DROPPED,
	CHANGE_DATABASE
} ChangeKind;

typedef struct Change
{
	struct Change *next;
	ChangeKind kind;
	SubTransactionId part;
	Oid database;
	Oid relation;
	tg_table *old; /* REPLACED: with the map's reference */
} Change;

static Change *changes; /* in TopTransactionContext */

/* A change that is not noted yet: noting cannot fail, so it may come after what it is about. */
static Change *
make_change(ChangeKind kind, SubTransactionId part, Oid database, Oid relation)
{
	Change *change = MemoryContextAlloc(TopTransactionContext, sizeof(*change));

	change->kind = kind;
	change->part = part;
	change->database = database;
	change->relation = relation;
	change->old = NULL;
	return change;
}

static void
note_change(Change *change)
{
	change->next = changes;
	changes = change;
}

/* The map's reference, or the last owner's, goes. */
static void
give_up(tg_table *table)
{
	if (table == NULL)
		return;
	tg_leases_forget(table);
	tg_table_release(tsurugi_session(), table);
}

tg_table *
tsurugi_storage_find(Oid relation)
{
	return tg_catalog_find(MyDatabaseId, relation);
}

tg_table *
tsurugi_storage_make(Relation relation, const uint8_t *kinds, int column_count, const tg_key_spec *key)
{
	tg_table *table;

	tsurugi_check(
		tg_table_create(tsurugi_session(), MyDatabaseId, RelationGetRelid(relation), kinds, column_count, key, &table),
		relation);
	return table;
}

/* Puts a fresh table into the map; what was there is for the caller.  The fresh one does not survive an error. */
static tg_table *
put_table(Relation relation, tg_table *fresh)
{
	tg_table *old;
	tg_status status = tg_catalog_put(tsurugi_session(), MyDatabaseId, RelationGetRelid(relation), fresh, &old);

	if (status != TG_OK)
	{
		give_up(fresh);
		tsurugi_error(status, relation);
	}
	return old;
}

static void
create_storage(Relation relation, const uint8_t *kinds, int column_count, const tg_key_spec *key)
{
	bool is_new = relation->rd_createSubid != InvalidSubTransactionId;
	/* a lost one may have been altered before it was found missing, and an ALTER can be taken back; others only share it */
	bool is_own = is_new || CheckRelationLockedByMe(relation, AccessExclusiveLock, true);
	Change *change = make_change(CHANGE_CREATED, is_new ? relation->rd_createSubid : GetCurrentSubTransactionId(),
								 MyDatabaseId, RelationGetRelid(relation));

	if (!is_new)
		ereport(WARNING, (errmsg("foreign table \"%s\" has lost its contents", RelationGetRelationName(relation)),
						  errdetail("Tables of tsurugi_fdw are kept in memory: a restart of the server empties them, "
									"and a copy of a database does not copy them.")));
	(void) put_table(relation, tsurugi_storage_make(relation, kinds, column_count, key));
	if (is_own)
		note_change(change);
}

tg_table *
tsurugi_storage_get(Relation relation, const uint8_t *kinds, int column_count, const tg_key_spec *key)
{
	/* the number 0 is no subtransaction's (transaction.c) */
	LOCKTAG tag = {.locktag_field1 = MyDatabaseId,
				   .locktag_field2 = RelationGetRelid(relation),
				   .locktag_type = LOCKTAG_USERLOCK,
				   .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));

	if (table != NULL)
		return table;
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	if (tsurugi_storage_find(RelationGetRelid(relation)) == NULL)
		create_storage(relation, kinds, column_count, key);
	(void) LockRelease(&tag, ExclusiveLock, false);
	return tsurugi_storage_find(RelationGetRelid(relation));
}

void
tsurugi_storage_replace(Relation relation, tg_table *fresh)
{
	Change *change =
		make_change(CHANGE_REPLACED, GetCurrentSubTransactionId(), MyDatabaseId, RelationGetRelid(relation));

	change->old = put_table(relation, fresh);
	if (change->old == NULL)
		change->kind = CHANGE_CREATED;
	note_change(change);
}

void
tsurugi_storage_drop(Oid relation)
{
	note_change(make_change(CHANGE_DROPPED, GetCurrentSubTransactionId(), MyDatabaseId, relation));
}

void
tsurugi_storage_drop_database(Oid database)
{
	note_change(make_change(CHANGE_DATABASE, GetCurrentSubTransactionId(), database, InvalidOid));
}

void
tsurugiExecForeignTruncate(List *relations, DropBehavior behavior, bool restart_sequences)
{
	ListCell *cell;

	foreach (cell, relations)
	{
		Relation relation = lfirst(cell);
		const tsurugi_relation *described = tsurugi_relation_get(relation);

		tsurugi_storage_replace(relation, tsurugi_storage_make(relation, described->kinds, described->attribute_count,
															   &described->key_spec));
	}
}

/* --- ends ----------------------------------------------------------------------- */

static void
take_back(const Change *change)
{
	tg_table *fresh;

	if (change->kind == CHANGE_CREATED)
		give_up(tg_catalog_take(tsurugi_session(), change->database, change->relation));
	else if (change->kind == CHANGE_REPLACED)
	{
		/* replacing what is there takes no memory */
		if (tg_catalog_put(tsurugi_session(), change->database, change->relation, change->old, &fresh) != TG_OK)
			elog(PANIC, "could not put the storage of relation %u back", change->relation);
		give_up(fresh);
	}
}

static void
finish(const Change *change)
{
	tg_table *table;

	switch (change->kind)
	{
		case CHANGE_CREATED:
			break;
		case CHANGE_REPLACED:
			give_up(change->old);
			break;
		case CHANGE_DROPPED:
			give_up(tg_catalog_take(tsurugi_session(), change->database, change->relation));
			break;
		case CHANGE_DATABASE:
			while ((table = tg_catalog_take_any(tsurugi_session(), change->database)) != NULL)
				give_up(table);
			break;
	}
}

bool
tsurugi_storage_is_changed(void)
{
	return changes != NULL;
}

void
tsurugi_storage_end(bool committed)
{
	for (; changes != NULL; changes = changes->next)
	{
		if (committed)
			finish(changes);
		else
			take_back(changes);
	}
}

void
tsurugi_storage_end_part(SubTransactionId part, SubTransactionId parent, bool committed)
{
	Change **link = &changes;

	while (*link != NULL)
	{
		Change *change = *link;

		if (change->part == part && !committed)
		{
			take_back(change);
			*link = change->next;
			continue;
		}
		if (change->part == part)
			change->part = parent;
		link = &change->next;
	}
}
