/*
 * storage_log.c
 *	  Changes of storages in PostgreSQL's log.
 *
 * The changes that are left at the end of the transaction go into its records (txn/logging.c):
 *
 *				first record							last record
 *	CREATED		the storage with its columns, keys,		its place: the relation has it from now on;
 *	REPLACED	indexes and ranks						all its indexes are complete; all its rows,
 *														if they were stored with their past
 *	INDEXED, COMPLETED									complete, with hidden values of the rows
 *	UNINDEXED, OWNED, DROPPED, DATABASE					as they are
 *	REPLACED by an unlogged one							its end
 *
 * 1. Rows that the transaction has written follow the definitions of the first record.  So a
 *	  storage is known before its rows.
 * 2. A storage that the transaction has made and replaced is not in the log, and neither are its
 *	  rows: they are marked as logged as a whole, which nobody does.
 * 3. An index of a storage that is in the log already is logged, incomplete, before it is made,
 *	  because other transactions may write hidden values of it at once.  Likewise further columns
 *	  (relation.c).  Both are right whatever becomes of the transaction: nobody uses an incomplete
 *	  index, or a column that the catalogs do not have.  When an index is rolled back the log is
 *	  told, so that standbys do not maintain it until the next start.  Not if others may have
 *	  written to the table meanwhile (CREATE INDEX CONCURRENTLY): their records may come later, and
 *	  have hidden values of the index.
 * 4. A storage that is made for an older relation, which has none, is logged at once and alone.
 *	  The lock makes this one step with its entry in the map: no session finds it there, and logs
 *	  rows of it, before its creation is in the log.
 * 5. The ranks of a storage that the log does not know yet (value/ranking.c) follow its creation.
 * 6. An index that the transaction has made and dropped belongs to the storage's creation, too: the
 *	  rows that were written before may have hidden values of it.  Its end is in the last record.
 */
#include "postgres.h"

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/mem/quota.h"
#include "runtime/table/catalog.h"
#include "runtime/table/table.h"
#include "runtime/index/dictionary.h"
#include "runtime/index/index.h"
#include "runtime/durable/bytes.h"
#include "runtime/durable/definitions.h"
#include "runtime/durable/ranks.h"
#include "runtime/durable/record.h"
#include "src/table/storage_internal.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/log/log.h"
#include "src/value/meaning.h"

#define RANKS_BYTES ((size_t) 64 << 10) /* in one epoch */

/* In PostgreSQL's shared memory. */
typedef struct Shared
{
	LWLock lock; /* 4 */
} Shared;

static Shared *shared;

Size
tsurugi_storage_shared_bytes(void)
{
	return sizeof(Shared);
}

void
tsurugi_storage_shared_create(void)
{
	bool found;

	shared = ShmemInitStruct("tsurugi_fdw storages", sizeof(Shared), &found);
	LWLockInitialize(&shared->lock, LWLockNewTrancheId());
}

/* --- at the end of a transaction ------------------------------------------------------- */

/* The storage that a relation gets with this change, if it is the first one that says so. */
static tg_table *
made_by(const tsurugi_storage_change *change)
{
	tg_table *table;

	if (change->kind != CHANGE_CREATED && change->kind != CHANGE_REPLACED)
		return NULL;
	for (const tsurugi_storage_change *newer = tsurugi_storage_changes; newer != change; newer = newer->next)
		if (newer->relation == change->relation && newer->database == change->database &&
			(newer->kind == CHANGE_CREATED || newer->kind == CHANGE_REPLACED))
			return NULL;
	table = tg_catalog_find(change->database, change->relation);
	return table != NULL && !table->unlogged ? table : NULL;
}

static tg_status
put_index(tg_bytes *bytes, uint64_t storage, uint64_t id, const tg_index_spec *spec)
{
	const tg_definition definition = {.kind = TG_DEFINITION_INDEX, .storage = storage, .index = id, .spec = *spec};

	return tg_definition_put(bytes, &definition);
}

/* One that has no more than this. */
static tg_status
put(tg_bytes *bytes, tg_definition_kind kind, const tg_table *table, const tg_index *index)
{
	const tg_definition definition = {
		.kind = kind, .storage = table->incarnation, .index = index != NULL ? index->id : 0};

	return tg_definition_put(bytes, &definition);
}

static Oid
owner_of(const tg_table *table)
{
	return tg_account_owner(tg_book_account(table->book));
}

/* What a column means, if that is known. */
static tg_status
put_meaning(tg_bytes *bytes, const tg_table *table, unsigned column, uint64_t meaning)
{
	const tg_definition definition = {
		.kind = TG_DEFINITION_MEANING, .storage = table->incarnation, .column = column, .meaning = meaning};

	return meaning != 0 ? tg_definition_put(bytes, &definition) : TG_OK;
}

/* The storage with its columns, its key and its indexes (6). */
static tg_status
put_creation(const tg_table *table, tg_bytes *bytes)
{
	tg_columns columns = tg_table_columns(table);
	const tg_definition definition = {.kind = TG_DEFINITION_CREATE,
									  .storage = table->incarnation,
									  .database = table->database,
									  .relation = table->relation,
									  .owner = owner_of(table),
									  .kinds = columns.kinds,
									  .column_count = columns.count,
									  .hidden = table->hidden,
									  .key = *table->key};
	tg_status status = tg_definition_put(bytes, &definition);

	for (unsigned i = 0; i < columns.count && status == TG_OK; i++)
		status = put_meaning(bytes, table, i, tg_load_relaxed(&columns.meanings[i]));
	for (const tg_index *index = tg_index_first(table); index != NULL && status == TG_OK; index = tg_index_next(index))
		status = put_index(bytes, table->incarnation, index->id, &index->spec);
	return status;
}

static tg_status
put_place(const tg_table *table, tg_bytes *bytes)
{
	tg_status status = put(bytes, TG_DEFINITION_PLACE, table, NULL);

	for (const tg_index *index = tg_index_first(table); index != NULL && status == TG_OK; index = tg_index_next(index))
		status = put(bytes, tg_index_is_retired(index) ? TG_DEFINITION_UNINDEX : TG_DEFINITION_COMPLETE, table, index);
	return status;
}

/* 5.  They are not marked: the transaction may still abort. */
static void
put_ranks(const tg_table *table, tg_bytes *bytes, void (*make_part)(void))
{
	tg_rank_walk walk;
	bool more;

	tg_rank_walk_begin(&walk, table);
	do
	{
		tsurugi_check(tg_ranks_write(tsurugi_session(), &walk, bytes->count + RANKS_BYTES, bytes, &more), NULL);
		make_part();
	} while (more);
}

void
tsurugi_storage_log_first(tg_bytes *bytes, void (*make_part)(void))
{
	for (const tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
	{
		const tg_table *table = made_by(change);

		if (change->kind == CHANGE_REPLACED && change->old != NULL && tg_load_relaxed(&change->old->fresh))
			change->old->logged_whole = true; /* it is nowhere in the log */
		if (table == NULL)
			continue;
		tsurugi_check(put_creation(table, bytes), NULL);
		put_ranks(table, bytes, make_part);
	}
}

/* The index is complete with this transaction. */
static bool
is_completed(const tsurugi_storage_change *change)
{
	return (change->kind == CHANGE_COMPLETED ||
			(change->kind == CHANGE_INDEXED && !tg_load_acquire(&change->index->filling))) &&
		   tsurugi_storage_is_in_log(change->old) && !tg_index_is_retired(change->index);
}

static tg_status
put_owner(tg_bytes *bytes, const tg_table *table)
{
	const tg_definition definition = {
		.kind = TG_DEFINITION_OWNER, .storage = table->incarnation, .owner = owner_of(table)};

	return tg_definition_put(bytes, &definition);
}

/* The end of a relation's storage, or, without a relation, of all storages of a database. */
static tg_status
put_drop(tg_bytes *bytes, Oid database, Oid relation)
{
	const tg_definition definition = {.kind = OidIsValid(relation) ? TG_DEFINITION_DROP : TG_DEFINITION_DROP_DATABASE,
									  .database = database,
									  .relation = relation};

	return tg_definition_put(bytes, &definition);
}

/* An unlogged storage has taken the place of one that is in the log. */
static bool
is_left_by_log(const tsurugi_storage_change *change)
{
	const tg_table *table = tg_catalog_find(change->database, change->relation);

	return change->kind == CHANGE_REPLACED && change->old != NULL && tsurugi_storage_is_in_log(change->old) &&
		   table != NULL && table->unlogged;
}

static tg_status
put_change(const tsurugi_storage_change *change, tg_bytes *bytes)
{
	const tg_table *table = made_by(change);

	if (table != NULL)
		return put_place(table, bytes);
	if (is_completed(change))
		return put(bytes, TG_DEFINITION_COMPLETE, change->old, change->index);
	if (change->kind == CHANGE_UNINDEXED && tsurugi_storage_is_in_log(change->old))
		return put(bytes, TG_DEFINITION_UNINDEX, change->old, change->index);
	if (change->kind == CHANGE_OWNED && tsurugi_storage_is_in_log(change->old))
		return put_owner(bytes, change->old);
	if (change->kind == CHANGE_DROPPED || change->kind == CHANGE_DATABASE || is_left_by_log(change))
		return put_drop(bytes, change->database, change->relation);
	return TG_OK;
}

/* Oldest first, so that a relation is dropped after it has got a storage. */
static void
put_changes(tg_bytes *bytes)
{
	size_t count = 0;
	size_t at = 0;
	const tsurugi_storage_change **list;

	for (const tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
		count++;
	list = MemoryContextAllocHuge(TopTransactionContext, count * sizeof(*list));
	for (const tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
		list[at++] = change;
	while (at-- > 0)
		tsurugi_check(put_change(list[at], bytes), NULL);
	pfree(list);
}

void
tsurugi_storage_log_last(tg_bytes *bytes)
{
	put_changes(bytes);
}

void
tsurugi_storage_log_contents(void (*write)(tg_table *table, tg_index *index))
{
	for (const tsurugi_storage_change *change = tsurugi_storage_changes; change != NULL; change = change->next)
	{
		tg_table *table = made_by(change);

		if (table != NULL && table->logged_whole)
			write(table, NULL);
		else if (is_completed(change) && change->index->spec.hidden_count > 0)
			write(change->old, change->index);
	}
}

/* --- at once ------------------------------------------------------------------------ */

/* The caller is LOGGING.  *present_out: what the map has already, or NULL. */
static tg_status
add_and_log(Relation relation, tg_table *fresh, const tg_bytes *bytes, tg_table **present_out)
{
	tg_status status = TG_OK;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	*present_out = tsurugi_storage_find(RelationGetRelid(relation));
	if (*present_out == NULL)
	{
		if (!fresh->unlogged)
			(void) tsurugi_log_insert(TG_RECORD_NOW, 0, bytes->data, bytes->count, NULL, 0, NULL);
		tg_store_relaxed(&fresh->fresh, false);
		status = tg_catalog_add(tsurugi_session(), MyDatabaseId, RelationGetRelid(relation), fresh, present_out);
	}
	LWLockRelease(&shared->lock);
	return status;
}

bool
tsurugi_storage_add_logged(Relation relation, tg_table *fresh)
{
	tg_bytes bytes = {0};
	tg_table *present;
	tg_status status = put_creation(fresh, &bytes);

	if (status == TG_OK)
		status = put_place(fresh, &bytes);
	tsurugi_check(status, relation);
	tsurugi_log_begin(false);
	PG_TRY();
	{
		status = add_and_log(relation, fresh, &bytes, &present);
	}
	PG_FINALLY();
	{
		tsurugi_log_end();
	}
	PG_END_TRY();
	tg_bytes_free(&bytes);
	tsurugi_check(status, relation);
	/* A transaction that only reads would not do so at its end. */
	if (present == NULL && !fresh->unlogged)
		XLogFlush(XactLastRecEnd);
	return present == NULL;
}

void
tsurugi_storage_log_index(const tg_table *table, uint64_t id, const tg_index_spec *spec)
{
	tg_bytes bytes = {0};

	tsurugi_check(put_index(&bytes, table->incarnation, id, spec), NULL);
	tsurugi_log_now(&bytes);
	tg_bytes_free(&bytes);
}

void
tsurugi_storage_log_given_up(const tg_table *table, const tg_index *index)
{
	tg_bytes bytes = {0};

	if (put(&bytes, TG_DEFINITION_UNINDEX, table, index) == TG_OK)
		tsurugi_log_now_if_open(&bytes);
	tg_bytes_free(&bytes);
}

void
tsurugi_storage_log_columns(tg_table *table, const uint8_t *kinds, const tsurugi_relation *described)
{
	unsigned count = described->attribute_count + described->hidden_count;
	const tg_definition definition = {
		.kind = TG_DEFINITION_COLUMNS, .storage = table->incarnation, .kinds = kinds, .column_count = count};
	tg_bytes bytes = {0};

	if (!tsurugi_storage_is_in_log(table))
		return;
	tsurugi_check(tg_definition_put(&bytes, &definition), NULL);
	for (unsigned i = tg_table_columns(table).count; i < count; i++)
		tsurugi_check(put_meaning(&bytes, table, i, tsurugi_meaning(&described->codecs[i])), NULL);
	tsurugi_log_now(&bytes);
	tg_bytes_free(&bytes);
}
