/*
 * replay_live.c
 *	  Operations of a committed transaction, applied beside readers as a transaction of the engine.
 *
 * The other server has judged everything, so there is nobody to wait for: the caller's is the only
 * transaction that writes, and records come in the order of the log.  What this server may lack is
 * the other one's collector.
 *
 * 1. The other server has given a row's id to a new row, or the key of a deleted row to another
 *	  one, after its collector had removed the former row, because none of its readers saw it.  Here
 *	  a reader may still see it.  Then the insertion waits until the collector has closed that row,
 *	  and made it free.
 * 2. It does not wait for a row that this very transaction has deleted: the other server cannot
 *	  have removed that yet.  A deleted row that gets the same key again is the same row
 *	  (txn/restore.c).
 * 3. A version may move to another chunk between the look at it and the change (txn/relocate.c).
 *	  Then it is looked for again.
 * 4. Row locks have ended with their transaction.
 */
#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/table/store.h"
#include "runtime/durable/replay_internal.h"
#include "runtime/index/long_key.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/writer.h"

/* To find out what is there. */
static tg_writer
asker(const tg_replay *replay)
{
	return (tg_writer){.session = replay->session, .txn = replay->txn, .claim = TG_ESSENTIAL};
}

/* What a row in the way means for an insertion. */
static tg_status
judge_life(tg_row_life life)
{
	switch (life)
	{
		case TG_ROW_FREE:
			return TG_AGAIN; /* it has gone this moment */
		case TG_ROW_CLOSED:
		case TG_ROW_ENDED:
			return tg_failpoint_refuses("follower_no_wait") ? TG_DAMAGED : TG_BUSY; /* 1 */
		case TG_ROW_LIVE:
		case TG_ROW_ENDED_SELF:
			break; /* 2 */
	}
	return TG_DAMAGED;
}

/* Why the row in hand could not be inserted: its id or its key is in use. */
static tg_status
judge_refusal(tg_replay *replay, uint32_t row)
{
	tg_table *table = replay->table;
	tg_writer writer = asker(replay);
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes;
	tg_version newest;
	tg_row_life life = tg_txn_row_life(&writer, table, row, &newest);
	uint32_t other;
	tg_status status;

	if (life != TG_ROW_FREE || table->index == NULL)
		return judge_life(life);
	status = tg_key_encode(replay->session, table, table->layout->kinds, replay->values, key, &key_bytes);
	if (status != TG_OK)
		return status;
	if (tg_btree_find(table->index, key, key_bytes, &other) != TG_OK)
		return TG_AGAIN;
	life = tg_txn_row_life(&writer, table, other, &newest);
	return life == TG_ROW_FREE ? TG_BUSY : judge_life(life); /* the entry is about to go */
}

/* The row gets an id that is free: it is closed meanwhile, and free again if that fails. */
static tg_status
insert_free(tg_replay *replay, uint32_t row)
{
	tg_version *head;
	tg_version closed = TG_HEAD_CLOSED;
	tg_status status = tg_row_place(replay->session, replay->table, row, TG_ESSENTIAL);

	if (status != TG_OK)
		return status;
	head = tg_row_head(replay->table, row);
	tg_store_release(head, TG_HEAD_CLOSED);
	status = tg_replay_write_insert(replay, row);
	if (status != TG_OK)
		(void) tg_cas_acq_rel(head, &closed, TG_VERSION_NONE);
	return status;
}

static tg_status
insert(tg_replay *replay, uint32_t row)
{
	tg_writer writer = asker(replay);
	tg_version newest;
	tg_status status;

	switch (tg_txn_row_life(&writer, replay->table, row, &newest))
	{
		case TG_ROW_FREE:
			status = insert_free(replay, row);
			break;
		case TG_ROW_ENDED:
		case TG_ROW_ENDED_SELF:
			status = tg_replay_write_insert(replay, row);
			break;
		case TG_ROW_CLOSED:
			return TG_BUSY;
		default:
			return TG_DAMAGED;
	}
	return status == TG_EXISTS ? judge_refusal(replay, row) : status;
}

static tg_status
change(tg_replay *replay, const tg_row_operation *operation)
{
	tg_writer writer = asker(replay);
	tg_version newest;

	if (tg_txn_row_life(&writer, replay->table, operation->row, &newest) != TG_ROW_LIVE)
		return operation->kind == TG_OPERATION_HIDDEN ? TG_OK : TG_DAMAGED;
	switch (operation->kind)
	{
		case TG_OPERATION_UPDATE:
			return tg_replay_write_update(replay, operation, newest);
		case TG_OPERATION_DELETE:
			return tg_replay_write_delete(replay, operation->row, newest);
		default:
			return tg_replay_write_hidden(replay, newest);
	}
}

static tg_status
try_operation(tg_replay *replay, const tg_row_operation *operation)
{
	tg_status status;

	tg_epoch_enter(replay->session);
	switch (operation->kind)
	{
		case TG_OPERATION_LOCK:
			status = TG_OK; /* 4 */
			break;
		case TG_OPERATION_INSERT:
			status = insert(replay, operation->row);
			break;
		default:
			status = change(replay, operation);
			break;
	}
	tg_epoch_leave(replay->session);
	return status;
}

/* What an answer means that no committed transaction has got. */
static tg_status
judge(tg_status status)
{
	return status == TG_EXISTS || status == TG_TOO_LARGE || status == TG_NOT_FOUND ? TG_DAMAGED : status;
}

static tg_status
apply(tg_replay *replay, const tg_row_operation *operation)
{
	unsigned round = 0;
	tg_status status;

	if (tg_load_relaxed(&replay->table->fresh))
		return tg_replay_in_place(replay, operation);
	while ((status = try_operation(replay, operation)) == TG_AGAIN || status == TG_BUSY)
	{
		if (status == TG_AGAIN)
		{
			tg_spin(&round); /* 3 */
			continue;
		}
		status = replay->calls->await(replay->calls->context);
		if (status != TG_OK)
			return status;
	}
	replay->changes += status == TG_OK;
	return judge(status);
}

tg_status
tg_replay_live(tg_replay *replay, tg_txn *txn, const void *data, size_t count)
{
	replay->txn = txn;
	replay->exact = true;
	return tg_replay_operations(replay, data, count, apply);
}
