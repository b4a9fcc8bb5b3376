/*
 * replay_prepared.c
 *	  Operations of prepared transactions: they are done again, as the same transaction.
 *
 * 1. While a transaction is prepared nobody else changes its rows, or gets the ids of those that it
 *	  has inserted.  So the operations may be done behind those of all other transactions, and give
 *	  what they gave before.
 * 2. An id that it has inserted a row with is closed until then, so that it is not free.  Unless
 *	  the row is there: then the transaction has deleted it before, and its head says so in time.
 * 3. Locks are taken by a later command, because a command does not lock what it has written.  A
 *	  row that is gone for the transaction needs none.
 * 4. An UPDATE has the cells that differ; the others are those of the version before.
 * 5. An UPDATE of the key is an insertion and a deletion here.  So a writer that waits for the old
 *	  row finds it deleted, and is not led to the new one.
 * 6. What was read need not be what was once written (sound.h), so it is looked at before keys are
 *	  made of it.
 */
#include "runtime/mem/session.h"
#include "runtime/table/cell.h"
#include "runtime/table/store.h"
#include "runtime/index/entry.h"
#include "runtime/durable/replay_internal.h"

#include "runtime/durable/sound.h"
#include "runtime/index/hidden.h"
#include "runtime/index/index.h"
#include "runtime/index/long_key.h"
#include "runtime/txn/writer.h"

#define WRITES 0 /* commands */
#define LOCKS 1

/* --- 1, 2 ---------------------------------------------------------------------------------- */

static tg_status
reserve(tg_replay *replay, const tg_row_operation *operation)
{
	tg_status status;

	if (operation->kind != TG_OPERATION_INSERT || tg_replay_version_of(replay, operation->row) != TG_VERSION_NONE)
		return TG_OK;
	tg_epoch_enter(replay->session);
	status = tg_row_place(replay->session, replay->table, operation->row, TG_ESSENTIAL);
	if (status == TG_OK)
		tg_store_release(tg_row_head(replay->table, operation->row), TG_HEAD_CLOSED);
	tg_epoch_leave(replay->session);
	return status;
}

tg_status
tg_replay_reserve(tg_replay *replay, const void *data, size_t count)
{
	return tg_replay_operations(replay, data, count, reserve);
}

/* --- what is written ------------------------------------------------------------------------ */

static tg_writer
writer_of(const tg_replay *replay, uint32_t command, const tg_hidden_row *hidden)
{
	return (tg_writer){
		.session = replay->session, .txn = replay->txn, .command = command, .claim = TG_ESSENTIAL, .hidden = hidden};
}

/* The hidden values that the operation has: of each of its indexes, unless they are left out. */
static tg_hidden_row
hidden_of(const tg_replay *replay, const bool *left_out, tg_hidden_values values[TG_HIDING_MAX])
{
	const tg_operations *operations = &replay->operations;
	unsigned cell = operations->column_count;
	tg_hidden_row row = {.of = values};

	for (unsigned i = 0; i < operations->index_count; i++)
	{
		if (replay->indexes[i] != NULL && (left_out == NULL || !left_out[i]))
			values[row.count++] = (tg_hidden_values){.host = replay->indexes[i]->spec.host,
													 .values = operations->values + cell,
													 .nulls = operations->nulls + cell};
		cell += replay->cell_counts[i];
	}
	return row;
}

/* --- 6 -------------------------------------------------------------------------------------- */

static bool
part_is_sound(const tg_replay *replay, const tg_index *index, const tg_hidden_values *hidden, const tg_key_part *part)
{
	unsigned column = part->column & ~TG_KEY_HIDDEN;

	if ((part->column & TG_KEY_HIDDEN) != 0)
		return tg_part_is_sound(hidden->nulls[column] ? NULL : &hidden->values[column],
								(tg_kind) index->spec.hidden_kinds[column], part, index->spec.several);
	return tg_part_is_sound(replay->nulls[column] ? NULL : &replay->values[column],
							(tg_kind) replay->table->layout->kinds[column], part, index != NULL && index->spec.several);
}

/* Whether the index has an entry of the row, as far as its predicate goes. */
static bool
is_in_index(const tg_replay *replay, const tg_index *index, const tg_hidden_values *hidden)
{
	unsigned column = index->spec.predicate & ~TG_KEY_HIDDEN;

	if (!index->spec.partial)
		return true;
	if ((index->spec.predicate & TG_KEY_HIDDEN) != 0)
		return !hidden->nulls[column] && hidden->values[column].word != 0;
	return !replay->nulls[column] && replay->values[column].word != 0;
}

static bool
is_sound_for(const tg_replay *replay, const tg_index *index, const tg_hidden_row *row)
{
	const tg_hidden_values *hidden = index->link.hidden != NULL ? tg_hidden_of(row, index) : NULL;

	if ((index->link.hidden != NULL && hidden == NULL) || !is_in_index(replay, index, hidden))
		return true;
	for (unsigned i = 0; i < index->spec.key.part_count; i++)
		if (!part_is_sound(replay, index, hidden, &index->spec.key.part[i]))
			return false;
	return true;
}

/* Of the row in hand, with its hidden values. */
static bool
is_sound(const tg_replay *replay, const tg_hidden_row *row)
{
	const tg_table *table = replay->table;

	for (unsigned i = 0; i < table->key->part_count; i++)
		if (!part_is_sound(replay, NULL, NULL, &table->key->part[i]))
			return false;
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
		if (!is_sound_for(replay, index, row))
			return false;
	return true;
}

/* --- writes --------------------------------------------------------------------------------- */

tg_status
tg_replay_write_insert(tg_replay *replay, uint32_t row)
{
	tg_table *table = replay->table;
	tg_hidden_values values[TG_HIDING_MAX];
	tg_hidden_row hidden = hidden_of(replay, NULL, values);
	tg_writer writer = writer_of(replay, WRITES, &hidden);
	unsigned char key[TG_KEY_BYTES_MAX];
	size_t key_bytes = 0;
	tg_wait wait;
	tg_status status = TG_OK;

	tg_replay_spread_values(replay);
	if (!is_sound(replay, &hidden))
		return TG_DAMAGED;
	if (table->index != NULL)
		status = tg_key_encode(replay->session, table, table->layout->kinds, replay->values, key, &key_bytes);
	if (status == TG_OK)
		status = tg_txn_insert_at(&writer, table, row, table->index != NULL ? key : NULL, key_bytes, replay->values,
								  replay->nulls, &wait);
	return status;
}

/* The columns of a version. */
static void
spread_version(tg_replay *replay, tg_version version)
{
	for (unsigned column = 0; column < replay->table->layout->column_count; column++)
		replay->nulls[column] = !tg_version_value(version, column, &replay->values[column]);
}

/* 4: of the columns. */
static void
merge_columns(tg_replay *replay, const tg_row_operation *operation, tg_version old, unsigned *at_out)
{
	const tg_operations *operations = &replay->operations;
	unsigned at = 0;

	spread_version(replay, old);
	for (; at < operation->changed_count && operations->changed[at] < operations->column_count; at++)
	{
		unsigned column = operations->changed[at];

		replay->nulls[column] = operations->nulls[column];
		replay->values[column] = operations->values[column];
	}
	*at_out = at;
}

/* The old version's hidden values of an index, to the cells from the first one on. */
static bool
take_hidden(tg_replay *replay, const tg_index *index, tg_version old, unsigned first)
{
	tg_operations *operations = &replay->operations;
	const tg_chunk *companion = tg_companion_of(&index->link, tg_version_chunk(old));
	unsigned slot = tg_version_slot(old);

	if (!tg_companion_is_known(companion, slot))
		return false;
	for (unsigned i = 0; i < index->spec.hidden_count; i++)
	{
		tg_value *value = &operations->values[first + i];

		operations->nulls[first + i] = !tg_version_value(tg_version_make(companion, slot), i, value);
		if (!operations->nulls[first + i] && index->spec.hidden_kinds[i] == TG_KIND_STRING &&
			tg_string_is_out(&value->string))
			value->string.word |= TG_STRING_HOST; /* to be copied */
	}
	return true;
}

/* 4: of the indexes: each has all cells, or none (operations.c, 5). */
static tg_status
merge_hidden(tg_replay *replay, const tg_row_operation *operation, tg_version old, unsigned at, bool *left_out)
{
	const tg_operations *operations = &replay->operations;
	unsigned first = operations->column_count;

	for (unsigned i = 0; i < operations->index_count; i++)
	{
		unsigned begin = at;

		while (at < operation->changed_count && operations->changed[at] < first + replay->cell_counts[i])
			at++;
		left_out[i] = at == begin && replay->indexes[i] != NULL && !take_hidden(replay, replay->indexes[i], old, first);
		if (at != begin && at - begin != replay->cell_counts[i])
			return TG_DAMAGED;
		first += replay->cell_counts[i];
	}
	return TG_OK;
}

tg_status
tg_replay_write_update(tg_replay *replay, const tg_row_operation *operation, tg_version old)
{
	tg_hidden_values values[TG_HIDING_MAX];
	bool left_out[TG_HIDING_MAX];
	tg_hidden_row hidden;
	tg_writer writer;
	tg_wait wait;
	tg_status status;
	unsigned at;

	merge_columns(replay, operation, old, &at);
	status = merge_hidden(replay, operation, old, at, left_out);
	if (status != TG_OK)
		return status;
	hidden = hidden_of(replay, left_out, values);
	if (!is_sound(replay, &hidden))
		return TG_DAMAGED;
	writer = writer_of(replay, WRITES, &hidden);
	return tg_txn_update(&writer, replay->table, operation->row, old, replay->values, replay->nulls, &wait);
}

tg_status
tg_replay_write_delete(tg_replay *replay, uint32_t row, tg_version version)
{
	tg_writer writer = writer_of(replay, WRITES, NULL);
	tg_wait wait;

	return tg_txn_delete(&writer, replay->table, row, version, &wait);
}

tg_status
tg_replay_write_hidden(tg_replay *replay, tg_version version)
{
	tg_hidden_values values[TG_HIDING_MAX];
	tg_hidden_row hidden = hidden_of(replay, NULL, values);

	spread_version(replay, version);
	return is_sound(replay, &hidden) ? tg_replay_store_hidden(replay, version) : TG_DAMAGED;
}

/* --- restoring ------------------------------------------------------------------------------- */

/* What another answer than these means: no transaction has written that. */
static tg_status
judge(tg_status status)
{
	return status == TG_OK || status == TG_NO_MEMORY || status == TG_OVER_QUOTA ? status : TG_DAMAGED;
}

static tg_status
insert(tg_replay *replay, uint32_t row)
{
	if (row >= tg_load_relaxed(&replay->table->row_next))
		return TG_DAMAGED;
	return judge(tg_replay_write_insert(replay, row));
}

static tg_status
update(tg_replay *replay, const tg_row_operation *operation)
{
	tg_version old = tg_replay_version_of(replay, operation->row);

	return old != TG_VERSION_NONE ? judge(tg_replay_write_update(replay, operation, old)) : TG_DAMAGED;
}

static tg_status
delete_row(tg_replay *replay, uint32_t row)
{
	tg_version version = tg_replay_version_of(replay, row);

	return version != TG_VERSION_NONE ? judge(tg_replay_write_delete(replay, row, version)) : TG_DAMAGED;
}

/* 3. */
static tg_status
lock(tg_replay *replay, uint32_t row, tg_lock_mode mode)
{
	tg_writer writer = writer_of(replay, LOCKS, NULL);
	tg_version version;
	tg_wait wait;
	tg_status status;

	if (row >= tg_load_relaxed(&replay->table->row_next))
		return TG_DAMAGED;
	status = tg_txn_lock(&writer, NULL, replay->table, &row, mode, &version, &wait);
	return status == TG_CHANGED || status == TG_NOT_FOUND ? TG_OK : judge(status);
}

static tg_status
restore(tg_replay *replay, const tg_row_operation *operation)
{
	tg_status status;

	tg_epoch_enter(replay->session);
	switch (operation->kind)
	{
		case TG_OPERATION_INSERT:
			status = insert(replay, operation->row);
			break;
		case TG_OPERATION_UPDATE:
			status = update(replay, operation);
			break;
		case TG_OPERATION_DELETE:
			status = delete_row(replay, operation->row);
			break;
		case TG_OPERATION_LOCK:
			status = lock(replay, operation->row, operation->mode);
			break;
		default:
			status = TG_DAMAGED;
			break;
	}
	tg_epoch_leave(replay->session);
	return status;
}

tg_status
tg_replay_restore(tg_replay *replay, tg_txn *txn, const void *data, size_t count)
{
	replay->txn = txn;
	return tg_replay_operations(replay, data, count, restore);
}
