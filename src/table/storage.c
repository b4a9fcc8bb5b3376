/*
 * storage.c
 *	  Creation, replacement and end of the tables' storage, with PostgreSQL's transactions.
 *
 * The shared map of storages always shows the state made by the newest transaction that has the
 * relation's lock.  The information that is needed to undo this, or to finish it, is a list of
 * changes, newest first:
 *
 *	            at abort                         at commit
 *	CREATED     removed                          -
 *	REPLACED    the old one is put back          the old one is released; the garbage of the new
 *	                                             one's past goes to the collector
 *	INDEXED     the index is dropped             -
 *	COMPLETED   -                                - (an index that was made before is filled)
 *	UNINDEXED   it is unique again               the index is dropped
 *	OWNED       its bytes are the old owner's    -
 *	DROPPED     -                                removed
 *	DATABASE    -                                all of its storages are removed
 *
 * If a replacement keeps the past (store_anew.c), earlier snapshots find in the fresh storage the
 * same rows as in the old one; otherwise they find nothing.  In PostgreSQL they see an empty table
 * then.  Here they fail (tsurugi_snapshot_of), because rows are stored anew in more cases than in
 * PostgreSQL.  They also fail if a LONG that has ended has preserved the table, and may still be
 * listed (L3, S4), because its areas are those of the old storage.  A LONG that has not ended has a
 * lock on the table.
 *
 * A change belongs to the subtransaction in which it was made, and passes to the parent when that
 * commits.  CREATED belongs to the subtransaction that created the relation, because the storage
 * may be created later than the relation.
 *
 * An older relation that is logged may have no storage: it was restored by pg_upgrade, its database
 * was copied from another one, or pg_tsurugi/ has been lost.  Its rows are elsewhere, or lost, too;
 * so it is not taken for an empty table.  Statements fail, unless tsurugi_fdw.missing_contents says
 * that they may find no rows: then it gets a storage, with a record of its own, that stays unless
 * the relation is exclusively locked.  During pg_upgrade all tables are unlogged, so that of the
 * storages that it makes none is there after the next start.
 */
#include "postgres.h"

#include "src/table/storage_internal.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/grant.h"
#include "runtime/mem/quota.h"
#include "runtime/table/catalog.h"
#include "runtime/table/lease.h"
#include "runtime/table/registry.h"
#include "runtime/table/store.h"
#include "runtime/table/table.h"
#include "runtime/table/write_log.h"
#include "runtime/index/index.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/carry.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/log/damage.h"
#include "src/table/keys.h"
#include "src/table/stored_types.h"
#include "src/table/quota.h"
#include "src/table/relation.h"

tg_time (*tsurugi_storage_draw_time)(void);
void (*tsurugi_storage_end_in_database)(Oid database);

tsurugi_storage_change *tsurugi_storage_changes; /* in TopTransactionContext */

typedef enum missing_choice
{
	MISSING_IS_ERROR,
	MISSING_IS_EMPTY
} missing_choice;

static int missing_contents;

/*
 * Makes a change that is not noted yet.  Noting cannot fail, so it may follow the action that the
 * change describes.
 */
static tsurugi_storage_change *
make_change(tsurugi_storage_change_kind kind, SubTransactionId part, Oid database, Oid relation)
{
	tsurugi_storage_change *change = MemoryContextAlloc(TopTransactionContext, sizeof(*change));

	change->kind = kind;
	change->part = part;
	change->database = database;
	change->relation = relation;
	change->old = NULL;
	change->index = NULL;
	change->from = NULL;
	change->keeps_past = false;
	change->garbage = NULL;
	return change;
}

static void
note_change(tsurugi_storage_change *change)
{
	change->next = tsurugi_storage_changes;
	tsurugi_storage_changes = change;
}

/* Releases the reference of the map, or of the last owner. */
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
	(void) tsurugi_session(); /* opened: so the tables are loaded */
	return tg_catalog_find(MyDatabaseId, relation);
}

static bool
has_index(const tg_table *table, const tsurugi_index *described)
{
	const tg_index *index = tg_index_find(table, described->oid);

	return index != NULL && tsurugi_index_is_same(&index->spec, described->spec);
}

bool
tsurugi_storage_has_keys(const tg_table *table, const tsurugi_relation *described)
{
	if (!tsurugi_key_is_same(table->key, described->key_spec))
		return false;
	for (int i = 0; i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];

		if (!index->primary && index->valid && !has_index(table, index))
			return false;
	}
	return true;
}

bool
tsurugi_storage_is_in_order(const tg_table *table, const tsurugi_relation *described)
{
	if (!tsurugi_key_is_in_order(table->key, described->key_spec))
		return false;
	for (int i = 0; i < described->index_count; i++)
	{
		const tsurugi_index *index = &described->indexes[i];
		const tg_index *stored = index->primary ? NULL : tg_index_find(table, index->oid);

		if (stored != NULL && !tsurugi_key_is_in_order(&stored->spec.key, &index->spec->key))
			return false;
	}
	return true;
}

/*
 * Makes an empty storage that is not in the map, with one reference; with its secondary indexes, or
 * without.
 */
static tg_table *
make_table(Relation relation, const tsurugi_relation *described, bool indexed, tg_claim claim)
{
	tg_account *account = tsurugi_quota_account(relation->rd_rel->relowner);
	tg_status status;
	tg_table *table;

	status = tg_table_create(tsurugi_session(), MyDatabaseId, RelationGetRelid(relation), described->kinds,
							 described->attribute_count + described->hidden_count, described->key_spec, claim, &table);
	if (status != TG_OK)
		tg_account_close(tsurugi_session(), account);
	tsurugi_check(status, relation);
	(void) tg_book_move(table->book, account);
	table->hidden = described->hidden_count;
	tsurugi_stored_types_set(table, described, 0);
	table->unlogged = described->unlogged;
	table->fresh = true;
	for (int i = 0; indexed && i < described->index_count && status == TG_OK; i++)
	{
		tg_index *index;

		if (!described->indexes[i].primary && described->indexes[i].valid)
			status = tg_index_create(tsurugi_session(), table, described->indexes[i].spec, claim, &index);
	}
	if (status != TG_OK)
	{
		give_up(table);
		tsurugi_error(status, relation);
	}
	return table;
}

/*
 * Puts a fresh table into the map; returns the former one to the caller.  After an error the fresh
 * one is gone.
 */
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

void
tsurugi_storage_define(void)
{
	static const struct config_enum_entry choices[] = {
		{"error", MISSING_IS_ERROR, false}, {"empty", MISSING_IS_EMPTY, false}, {NULL, 0, false}};

	DefineCustomEnumVariable("tsurugi_fdw.missing_contents",
							 "What a table is whose contents were not copied with its definition.",
							 "error: it cannot be used; empty: it has no rows.", &missing_contents, MISSING_IS_ERROR,
							 choices, PGC_USERSET, 0, NULL, NULL, NULL);
}

static int
explain_missing(void)
{
	return errdetail("CREATE DATABASE and pg_upgrade do not copy rows of tables of tsurugi_fdw.  If neither was "
					 "used, the files in pg_tsurugi/ have been lost.");
}

/* The table will be empty for everybody. */
static bool
may_be_empty(Oid relation)
{
	return missing_contents == MISSING_IS_EMPTY &&
		   pg_class_aclcheck(relation, GetUserId(), ACL_TRUNCATE) == ACLCHECK_OK;
}

static void
check_may_create(Relation relation, const tsurugi_relation *described)
{
	bool is_standby = RecoveryInProgress();

	if (described->unlogged && is_standby)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("cannot access temporary or unlogged relations during recovery")));
	if (relation->rd_createSubid != InvalidSubTransactionId || described->unlogged ||
		(!is_standby && may_be_empty(RelationGetRelid(relation))))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("the contents of foreign table \"%s\" are missing", RelationGetRelationName(relation)),
			 explain_missing(),
			 is_standby ? errhint("The table gets contents on the primary.")
						: errhint("Restore its rows, with tsurugi_fdw.missing_contents set to empty; or truncate "
								  "it, if it is to be empty.")));
}

/*
 * Several backends may find the storage missing at the same time, even parallel workers of one
 * leader, which no lock of PostgreSQL's excludes from each other.  The first one's storage is used.
 */
static void
create_storage(Relation relation, const tsurugi_relation *described)
{
	bool is_new = relation->rd_createSubid != InvalidSubTransactionId;
	/*
	 * A relation may have been altered before its storage was found missing, and an ALTER can be
	 * rolled back; other sessions only share it.
	 */
	bool is_own = is_new || CheckRelationLockedByMe(relation, AccessExclusiveLock, true);
	tsurugi_storage_change *change =
		make_change(CHANGE_CREATED, is_new ? relation->rd_createSubid : GetCurrentSubTransactionId(), MyDatabaseId,
					RelationGetRelid(relation));
	tg_table *fresh = make_table(relation, described, true, is_new ? TG_DATA : TG_ESSENTIAL);

	tg_failpoint("storage_add");
	if (!is_own)
	{
		if (!tsurugi_storage_add_logged(relation, fresh))
		{
			give_up(fresh);
			return;
		}
	}
	else
	{
		tg_table *present;
		tg_status status = tg_catalog_add(tsurugi_session(), MyDatabaseId, RelationGetRelid(relation), fresh, &present);

		if (status != TG_OK || present != NULL)
			give_up(fresh);
		tsurugi_check(status, relation);
		if (present != NULL)
			return;
		note_change(change);
	}
	/* Empty tables count, too: there may be any number of them. */
	if (is_new)
		tsurugi_check(tg_book_ask(fresh->book, 1, TG_DATA), relation);
	else if (!described->unlogged)
		ereport(WARNING,
				(errmsg("foreign table \"%s\" has no contents", RelationGetRelationName(relation)), explain_missing()));
}

tg_table *
tsurugi_storage_get(Relation relation, const tsurugi_relation *described)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));

	if (table != NULL)
	{
		tsurugi_quota_settle(tg_book_account(table->book));
		return table;
	}
	if (relation->rd_createSubid == InvalidSubTransactionId)
		tsurugi_damage_check(RelationGetRelid(relation));
	check_may_create(relation, described);
	create_storage(relation, described);
	return tsurugi_storage_find(RelationGetRelid(relation));
}

/*
 * Whether the transaction has already made a storage of the relation's; it keeps all of them until
 * it ends.
 */
static bool
has_made(Oid relation)
{
	for (const tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
		if (change->relation == relation && (change->kind == CHANGE_CREATED || change->kind == CHANGE_REPLACED))
			return true;
	return false;
}

tg_table *
tsurugi_storage_replace(Relation relation, const tsurugi_relation *described, bool indexed, bool keeps_past)
{
	tg_claim claim = has_made(RelationGetRelid(relation)) ? TG_DATA : TG_ESSENTIAL;
	tsurugi_storage_change *change;
	tg_table *fresh;

	tg_assert(CheckRelationLockedByMe(relation, AccessExclusiveLock, true));
	change = make_change(CHANGE_REPLACED, GetCurrentSubTransactionId(), MyDatabaseId, RelationGetRelid(relation));
	fresh = make_table(relation, described, indexed, claim);
	change->old = put_table(relation, fresh);
	change->keeps_past = keeps_past;
	if (change->old == NULL)
		change->kind = CHANGE_CREATED;
	else if (keeps_past)
		fresh->stored = change->old->stored;
	note_change(change);
	return fresh;
}

void
tsurugi_storage_follow_owner(Relation relation)
{
	tg_table *table = tsurugi_storage_find(RelationGetRelid(relation));
	tg_account *account;
	tsurugi_storage_change *change;

	if (table == NULL || tg_account_owner(tg_book_account(table->book)) == relation->rd_rel->relowner)
		return;
	change = make_change(CHANGE_OWNED, GetCurrentSubTransactionId(), MyDatabaseId, RelationGetRelid(relation));
	account = tsurugi_quota_account(relation->rd_rel->relowner);
	tg_table_retain(table);
	change->old = table;
	change->from = tg_book_move(table->book, account);
	note_change(change);
}

bool
tsurugi_storage_is_fresh(Oid relation)
{
	SubTransactionId part = GetCurrentSubTransactionId();

	for (const tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
		if (change->part == part && change->relation == relation &&
			(change->kind == CHANGE_CREATED || change->kind == CHANGE_REPLACED))
			return true;
	return false;
}

tg_write_log **
tsurugi_storage_garbage(Relation relation)
{
	tsurugi_storage_change *change = tsurugi_storage_changes;

	while (change->kind != CHANGE_REPLACED || change->relation != RelationGetRelid(relation))
	{
		change = change->next;
		tg_assert(change != NULL);
	}
	tg_assert(change->keeps_past);
	return &change->garbage;
}

/* With references, because tables and indexes may end before the change does. */
static tsurugi_storage_change *
note_index_change(tsurugi_storage_change_kind kind, tg_table *table, tg_index *index)
{
	tsurugi_storage_change *change = make_change(kind, GetCurrentSubTransactionId(), MyDatabaseId, table->relation);

	tg_table_retain(table);
	tg_index_retain(index);
	change->old = table;
	change->index = index;
	note_change(change);
	return change;
}

void
tsurugi_storage_extend(Relation relation, tg_table *table, const tsurugi_relation *described)
{
	unsigned count = described->attribute_count + described->hidden_count;
	tg_columns stored = tg_table_columns(table);
	uint8_t *kinds;

	if (stored.count >= count)
		return;
	if (RecoveryInProgress())
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("foreign table \"%s\" does not have all its columns on this standby",
							   RelationGetRelationName(relation)),
						errhint("It gets them when it is used on the primary.")));
	kinds = palloc(count);
	memcpy(kinds, described->kinds, count);
	memcpy(kinds, stored.kinds, stored.count);
	tsurugi_storage_log_columns(table, kinds, described);
	tsurugi_check(tg_table_layout_add(tsurugi_session(), table, kinds, count), relation);
	tsurugi_stored_types_set(table, described, stored.count);
	pfree(kinds);
}

tg_index *
tsurugi_storage_make_index(Relation relation, tg_table *table, const tsurugi_relation *described,
						   const tsurugi_index *described_index, bool replaces)
{
	uint64_t id = tg_incarnation_next();
	tg_index *index;

	tg_assert(CheckRelationLockedByMe(relation, ShareUpdateExclusiveLock, true));
	tsurugi_stored_types_check(table, described, described->attribute_count);
	tsurugi_storage_extend(relation, table, described); /* it may be of a column that is new */
	if (tsurugi_storage_is_in_log(table))
		tsurugi_storage_log_index(table, id, described_index->spec);
	tsurugi_check(tg_index_create_as(tsurugi_session(), id, table, described_index->spec,
									 replaces ? TG_ESSENTIAL : TG_DATA, &index),
				  relation);
	note_index_change(CHANGE_INDEXED, table, index)->has_alone = CheckRelationLockedByMe(relation, ShareLock, true);
	return index;
}

void
tsurugi_storage_complete_index(tg_table *table, tg_index *index)
{
	(void) note_index_change(CHANGE_COMPLETED, table, index);
}

void
tsurugi_storage_drop_index(tg_table *table, tg_index *index)
{
	for (const tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
	{
		if (change->kind == CHANGE_UNINDEXED && change->index == index)
			return;
	}
	note_index_change(CHANGE_UNINDEXED, table, index)->was_retired = tg_index_is_retired(index);
	tg_index_retire(index, true);
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

/* --- ends ----------------------------------------------------------------------- */

static void
end_index(const tsurugi_storage_change *change, bool drop)
{
	tg_session *session = tsurugi_session();

	if (drop)
		tg_index_drop(session, change->index);
	tg_index_release(session, change->index);
	tg_table_release(session, change->old);
}

/* Ends the change of a table's owner: keeps it, or undoes it. */
static void
end_owner(const tsurugi_storage_change *change, bool committed)
{
	tg_session *session = tsurugi_session();

	tg_account_close(session, committed ? change->from : tg_book_move(change->old->book, change->from));
	tg_table_release(session, change->old);
}

static void
take_back(const tsurugi_storage_change *change)
{
	tg_table *fresh;

	if (change->kind == CHANGE_CREATED)
		give_up(tg_catalog_take(tsurugi_session(), change->database, change->relation));
	else if (change->kind == CHANGE_REPLACED)
	{
		tg_write_log_destroy(tsurugi_session(), change->garbage);
		/* Replacing an existing entry takes no memory. */
		if (tg_catalog_put(tsurugi_session(), change->database, change->relation, change->old, &fresh) != TG_OK)
			elog(PANIC, "could not put the storage of relation %u back", change->relation);
		give_up(fresh);
	}
	else if (change->kind == CHANGE_INDEXED)
	{
		if (change->has_alone && tsurugi_storage_is_in_log(change->old))
			tsurugi_storage_log_given_up(change->old, change->index);
		end_index(change, true);
	}
	else if (change->kind == CHANGE_COMPLETED)
		end_index(change, false);
	else if (change->kind == CHANGE_UNINDEXED)
	{
		tg_index_retire(change->index, change->was_retired);
		end_index(change, false);
	}
	else if (change->kind == CHANGE_OWNED)
		end_owner(change, false);
}

/*
 * A transaction that has read this storage, and has no lock on the relation any more, learns this
 * time when it is validated.
 */
static void
go(tg_table *table, tg_time time)
{
	if (table != NULL)
		tg_store_release(&table->gone, time);
	give_up(table);
}

/* The log has the storage, and from now on each change of it; NULL: it was dropped afterwards. */
static void
note_logged(tg_table *table)
{
	if (table == NULL)
		return;
	table->logged_whole = false;
	tg_store_relaxed(&table->fresh, false);
}

/*
 * time: of the commit, for storages that replace others.  All older snapshots are before it; a
 * transaction that locks the relation next, which is after this, takes a later snapshot.
 */
static void
finish(const tsurugi_storage_change *change, tg_time time)
{
	tg_table *table;

	switch (change->kind)
	{
		case CHANGE_CREATED:
			table = tg_catalog_find(change->database, change->relation);
			note_logged(table);
			break;
		case CHANGE_REPLACED:
			table = tg_catalog_find(change->database, change->relation);
			note_logged(table);
			/* NULL: it was dropped afterwards. */
			if (table != NULL && !(change->keeps_past && !tg_preserve_has_table(change->old)))
				tg_store_relaxed(&table->stored, time);
			go(change->old, time);
			break;
		case CHANGE_INDEXED:
		case CHANGE_COMPLETED:
		case CHANGE_UNINDEXED:
			end_index(change, change->kind == CHANGE_UNINDEXED);
			break;
		case CHANGE_OWNED:
			end_owner(change, true);
			break;
		case CHANGE_DROPPED:
			go(tg_catalog_take(tsurugi_session(), change->database, change->relation), time);
			break;
		case CHANGE_DATABASE:
			tsurugi_storage_end_in_database(change->database);
			while ((table = tg_catalog_take_any(tsurugi_session(), change->database)) != NULL)
				give_up(table);
			break;
	}
}

bool
tsurugi_storage_is_changed(void)
{
	return tsurugi_storage_changes != NULL;
}

/* Whether storages end that other transactions may have read. */
static bool
has_replaced(void)
{
	for (const tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
		if (change->kind == CHANGE_REPLACED || change->kind == CHANGE_DROPPED)
			return true;
	return false;
}

/* Called before any write to the new storages is committed: carry.c, 4. */
void
tsurugi_storage_begin_commit(void)
{
	for (tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
	{
		tg_carried_give(change->garbage);
		change->garbage = NULL;
	}
}

void
tsurugi_storage_end(bool committed)
{
	tg_time time = 0;

	if (committed && has_replaced())
		time = tsurugi_storage_draw_time();
	for (; tsurugi_storage_changes != NULL; tsurugi_storage_changes = tsurugi_storage_changes->next)
	{
		if (committed)
			finish(tsurugi_storage_changes, time);
		else
			take_back(tsurugi_storage_changes);
	}
}

void
tsurugi_storage_end_part(SubTransactionId part, SubTransactionId parent, bool committed)
{
	tsurugi_storage_change **link = &tsurugi_storage_changes;

	while (*link != NULL)
	{
		tsurugi_storage_change *change = *link;

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
