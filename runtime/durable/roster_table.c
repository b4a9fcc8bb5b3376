/*
 * roster_table.c
 *	  Makes the table that a roster describes.
 */
#include "runtime/durable/roster_table.h"

#include "runtime/index/index.h"
#include "runtime/mem/quota.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"

static tg_status
open_account(tg_session *session, const tg_roster_storage *storage, tg_table *table)
{
	tg_account *account;
	tg_status status = tg_account_open(session, storage->database, storage->owner, &account);

	if (status == TG_OK)
		(void) tg_book_move(table->book, account);
	return status;
}

tg_status
tg_roster_table_add_index(tg_session *session, tg_table *table, uint64_t id, const tg_index_spec *spec)
{
	tg_index *index;
	tg_status status = tg_index_create_as(session, id, table, spec, TG_ESSENTIAL, &index);

	if (status != TG_OK)
		return status;
	tg_index_retire(index, true);
	tg_store_release(&index->filling, true);
	return TG_OK;
}

static tg_status
make_indexes(tg_session *session, const tg_roster_storage *storage, tg_table *table)
{
	tg_status status = TG_OK;

	for (const tg_roster_index *index = storage->indexes; index != NULL && status == TG_OK; index = index->next)
	{
		tg_index *made;

		if (index->ended)
			continue;
		if (index->complete)
			status = tg_index_create_as(session, index->id, table, &index->spec, TG_ESSENTIAL, &made);
		else if (table->follows)
			status = tg_roster_table_add_index(session, table, index->id, &index->spec);
	}
	return status;
}

tg_status
tg_roster_table_make(tg_session *session, const tg_roster_storage *storage, bool follows, tg_table **table_out)
{
	tg_table *table;
	tg_status status = tg_table_create_as(session, storage->id, storage->database, storage->relation, storage->kinds,
										  storage->column_count, &storage->key, TG_ESSENTIAL, &table);

	if (status != TG_OK)
		return status;
	table->hidden = storage->hidden;
	for (uint32_t i = 0; i < storage->column_count; i++)
		tg_table_set_meaning(table, i, storage->meanings[i]);
	if (follows)
		tg_rows_follow(table);
	status = open_account(session, storage, table);
	if (status == TG_OK)
		status = make_indexes(session, storage, table);
	if (status != TG_OK)
	{
		tg_roster_table_drop(session, table);
		return status;
	}
	*table_out = table;
	return TG_OK;
}

void
tg_roster_table_drop(tg_session *session, tg_table *table)
{
	tg_leases_forget(table);
	tg_table_release(session, table);
}
