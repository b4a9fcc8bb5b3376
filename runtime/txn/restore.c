/*
 * restore.c
 *	  Insertions that a transaction has made before: it had been prepared, and the server has
 *	  started anew since; or it was committed by another server, which this one follows.
 *
 * 1. When it first made them, the transaction held its rows, and all unique keys that any of its
 *	  versions has (unique.c).  So a primary key that is in use now was never written so.  Other
 *	  unique keys are not judged: an UPDATE of the primary key is an insertion and then a deletion,
 *	  of two rows, which have the same ones in between.
 * 2. A row that was deleted, and then inserted again under its key, is one row, with another life.
 *	  The head of a dead row is its lock (W3), because the collector may be about to close it.
 *
 * No other transaction writes to the table.
 */
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/txn_internal.h"

tg_row_life
tg_txn_row_life(const tg_writer *writer, tg_table *table, uint32_t row, tg_version *newest_out)
{
	tg_version head =
		row < tg_load_relaxed(&table->row_next) ? tg_load_acquire(tg_row_head(table, row)) : TG_VERSION_NONE;
	const tg_header *headers;
	tg_time time;

	*newest_out = TG_VERSION_NONE;
	if (head == TG_VERSION_NONE)
		return TG_ROW_FREE;
	if (tg_head_is_closed(head))
		return TG_ROW_CLOSED;
	*newest_out = head;
	headers = tg_chunk_headers(tg_version_chunk(head));
	if (headers == NULL)
		return TG_ROW_LIVE;
	switch (tg_time_resolve(&headers[tg_version_slot(head)].end, tg_writer_number(writer), &time))
	{
		case TG_FATE_OWN:
			return TG_ROW_ENDED_SELF;
		case TG_FATE_AT:
			return tg_time_is_open(time) ? TG_ROW_LIVE : TG_ROW_ENDED;
		default:
			return TG_ROW_LIVE; /* it is being copied (relocate.c) */
	}
}

/*
 * Whether the key of a dead row leads to it.  It does so until the row is closed, and then the row
 * is not taken (2).
 */
static bool
has_key(tg_table *table, const void *key, size_t key_bytes, uint32_t row)
{
	uint32_t found;

	return key != NULL && tg_btree_find(table->index, key, key_bytes, &found) == TG_OK && found == row;
}

/* Lets the key lead to a row that had none. */
static tg_status
add_key(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes, uint32_t row)
{
	if (key == NULL)
		return TG_OK;
	return tg_btree_insert(writer->session, table->index, key, key_bytes, &row, writer->claim);
}

static tg_status
insert_at(const tg_writer *writer, tg_table *table, uint32_t row, const void *key, size_t key_bytes,
		  const tg_value *values, const bool *nulls, tg_wait *wait_out)
{
	tg_version dead;
	tg_row_life life = tg_txn_row_life(writer, table, row, &dead);
	bool is_fresh = life == TG_ROW_CLOSED;
	tg_version expected = is_fresh ? TG_HEAD_CLOSED : dead;
	tg_header *header;
	tg_version version;
	tg_status status;

	if (life == TG_ROW_FREE || life == TG_ROW_LIVE || (!is_fresh && !has_key(table, key, key_bytes, row)))
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
	if (!tg_cas_acq_rel(tg_row_head(table, row), &expected, version))
	{
		tg_writer_drop_version(writer, version, TG_VERSION_NONE);
		return TG_AGAIN; /* 2 */
	}
	status = is_fresh ? add_key(writer, table, key, key_bytes, row) : TG_OK;
	if (status != TG_OK)
	{
		tg_store_release(tg_row_head(table, row), TG_HEAD_CLOSED);
		tg_writer_drop_version(writer, version, TG_VERSION_NONE);
		return status;
	}
	tg_writer_note(writer, table, is_fresh ? TG_WRITE_INSERT : TG_WRITE_REVIVE, version, 1);
	status = tg_entries_add(writer, table, row, version, TG_VERSION_NONE, TG_EXCEPT_ALL, wait_out);
	if (status != TG_OK)
		tg_txn_undo_newest(writer, 1);
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
