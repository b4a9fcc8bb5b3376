/*
 * restore.c
 *	  Insertions that a transaction has made before: it had been prepared, and the server has
 *	  started anew since.
 *
 * 1. Since it first made them, the transaction has held its rows, and all unique keys that any of
 *	  its versions has (unique.c).  So a primary key that is in use now was never written so.  Other
 *	  unique keys are not judged: an UPDATE of the primary key is an insertion and then a deletion,
 *	  of two rows, which have the same ones in between.
 * 2. A row that the transaction had deleted, and then inserted again under its key, is one row,
 *	  with another life.
 *
 * No other transaction uses the table yet.
 */
#include "runtime/btree/btree.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/txn_internal.h"

/* Whether the writer's transaction has ended the version. */
static bool
has_ended(const tg_writer *writer, tg_version version)
{
	const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));
	tg_time time;

	return headers != NULL &&
		   tg_time_resolve(&headers[tg_version_slot(version)].end, tg_writer_number(writer), &time) == TG_FATE_OWN;
}

/* Makes sure that the key leads to the row, and to no other. */
static tg_status
claim_key(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes, uint32_t row, bool is_fresh)
{
	uint32_t found = row;
	tg_status status;

	if (key == NULL)
		return is_fresh ? TG_OK : TG_EXISTS;
	if (is_fresh)
		return tg_btree_insert(writer->session, table->index, key, key_bytes, &found, writer->claim);
	status = tg_btree_find(table->index, key, key_bytes, &found);
	return status == TG_OK && found == row ? TG_OK : TG_EXISTS;
}

static tg_status
insert_at(const tg_writer *writer, tg_table *table, uint32_t row, const void *key, size_t key_bytes,
		  const tg_value *values, const bool *nulls, tg_wait *wait_out)
{
	tg_version dead = tg_load_relaxed(tg_row_head(table, row));
	bool is_fresh = tg_head_is_closed(dead);
	tg_header *header;
	tg_version version;
	tg_status status;

	if (!is_fresh && (dead == TG_VERSION_NONE || !has_ended(writer, dead)))
		return TG_EXISTS;
	status = tg_write_log_reserve(writer->session, &writer->txn->log, table, writer->claim);
	if (status == TG_OK)
		status = tg_writer_make_version(writer, table, row, TG_VERSION_NONE, values, nulls, &version);
	if (status != TG_OK)
		return status;
	header = tg_version_header(version);
	tg_chunk_touch(tg_version_chunk(version), tg_load_relaxed(tg_clock));
	if (!is_fresh)
	{
		tg_store_relaxed(&header->life, TG_LIFE_NEW | TG_LIFE_SEVERAL);
		tg_store_release(&header->older, dead);
	}
	tg_store_release(&header->begin, tg_writer_reference(writer));
	tg_store_release(tg_row_head(table, row), version);
	status = claim_key(writer, table, key, key_bytes, row, is_fresh);
	if (status != TG_OK)
	{
		tg_store_release(tg_row_head(table, row), dead);
		tg_writer_drop_version(writer, version, TG_VERSION_NONE);
		return status;
	}
	tg_writer_note(writer, table, is_fresh ? TG_WRITE_INSERT : TG_WRITE_REVIVE, version, 1);
	status = tg_entries_add(writer, table, row, version, TG_VERSION_NONE, TG_EXCEPT_ALL, wait_out);
	if (status != TG_OK)
		tg_txn_undo_newest(writer->session, writer->txn, 1);
	return status;
}

tg_status
tg_txn_insert_at(const tg_writer *writer, tg_table *table, uint32_t row, const void *key, size_t key_bytes,
				 const tg_value *values, const bool *nulls, tg_wait *wait_out)
{
	bool entered = tg_txn_enter(writer->session, writer->txn);
	tg_status status;

	tg_assert((key != NULL) == (table->index != NULL));
	tg_epoch_enter(writer->session);
	status = tg_txn_mind(writer, table, TG_VERSION_NONE, key, key_bytes, wait_out);
	if (status == TG_OK)
		status = insert_at(writer, table, row, key, key_bytes, values, nulls, wait_out);
	tg_epoch_leave(writer->session);
	tg_txn_leave(writer->session, writer->txn, entered);
	return status;
}
