/*
 * replay.c
 *	  Operations applied in place.
 *
 * 1. Nobody reads the tables, so a row needs one version only: a change is written over its values,
 *	  and what is deleted goes at once.  Versions begin at TG_TIME_FIRST, and the sweep takes their
 *	  headers away as it does with any that everybody sees.
 * 2. A version in a chunk of an older layout has no place for a value of a newer column: it moves
 *	  to a chunk of the newest one.
 * 3. Contents that are later than the record (not exact) come from files that were written while
 *	  rows changed.  Every later change of these rows is in the records that follow, so whatever is
 *	  done for a record is put right by them: a missing row is passed over, one that is there is
 *	  replaced.
 * 4. Hidden values that a record does not name, because they were not known when it was written,
 *	  are forgotten: they would be those of the values before.
 * 5. Hidden operations come with the commit of an index, from a snapshot, for rows that were
 *	  written before the index was there.  A row of this kind that was changed since then has its
 *	  hidden values by that change, if they are others (operations.c, 5); or it is gone.  So the
 *	  values are stored only where none are known.
 * 6. An index may have been dropped since, or may never have become complete.  Then the table does
 *	  not have it; its cells are read, and passed over.
 * 7. Shares have runs of row ids, of all tables in turn, so that threads which work at the same
 *	  time rarely meet in a line of heads, and each has a part of whatever table is written to.
 *	  load_apply.c has the argument why that gives the same rows.
 */
#include "runtime/durable/replay_internal.h"

#include <stdlib.h>

#include "runtime/mem/session.h"
#include "runtime/index/hidden.h"
#include "runtime/table/lease.h"
#include "runtime/table/store.h"
#include "runtime/index/index.h"

uint32_t tg_replay_run_rows = 1024;

tg_status
tg_replay_begin(tg_session *session, const tg_replay_calls *calls, tg_replay **replay_out)
{
	tg_replay *replay = calloc(1, sizeof(*replay));

	if (replay == NULL)
		return TG_NO_MEMORY;
	replay->session = session;
	replay->calls = calls;
	replay->share_count = 1;
	*replay_out = replay;
	return TG_OK;
}

void
tg_replay_end(tg_replay *replay)
{
	free(replay);
}

void
tg_replay_share(tg_replay *replay, unsigned share, unsigned count)
{
	tg_assert(share < count);
	replay->share = share;
	replay->share_count = count;
}

void
tg_replay_go_on_with(tg_replay *replay, tg_session *session)
{
	replay->session = session;
}

uint64_t
tg_replay_changes(const tg_replay *replay)
{
	return replay->changes;
}

/* --- shapes ----------------------------------------------------------------------------- */

/* tg_shape_find. */
static bool
find_shape(void *context, uint64_t storage, unsigned column_count, const uint64_t *indexes, unsigned index_count,
		   tg_shape *shape_out)
{
	tg_replay *replay = context;
	const tg_replay_calls *calls = replay->calls;
	size_t count =
		calls->shape(calls->context, storage, column_count, indexes, index_count, replay->kinds, replay->cell_counts);

	if (count > TG_CELLS_MAX)
		return false;
	*shape_out = (tg_shape){.kinds = replay->kinds, .cell_count = (unsigned) count};
	replay->table = calls->table(calls->context, storage);
	if (replay->table == NULL)
		return true;
	for (unsigned i = 0; i < index_count; i++)
		replay->indexes[i] = tg_hidden_index(replay->table, indexes[i]);
	return column_count <= replay->table->layout->column_count;
}

/* --- hidden values ------------------------------------------------------------------------ */

/* Those of a row that is inserted. */
static tg_status
store_hidden(tg_replay *replay, tg_version version)
{
	const tg_operations *operations = &replay->operations;
	unsigned cell = operations->column_count;
	tg_status status = TG_OK;

	for (unsigned i = 0; i < operations->index_count && status == TG_OK; i++)
	{
		if (replay->indexes[i] != NULL)
			status = tg_hidden_store(replay->session, replay->indexes[i], version, operations->values + cell,
									 operations->nulls + cell, TG_ESSENTIAL);
		cell += replay->cell_counts[i];
	}
	return status;
}

static bool
is_named(const tg_replay *replay, const tg_index *index)
{
	for (unsigned i = 0; i < replay->operations.index_count; i++)
		if (replay->indexes[i] == index)
			return true;
	return false;
}

/* 4. */
static void
forget_others(tg_replay *replay, tg_version version)
{
	const tg_index *index = tg_index_first(replay->table);

	for (; index != NULL; index = tg_index_next(index))
		if (index->link.hidden != NULL && !is_named(replay, index))
			tg_hidden_forget(replay->session, index, version);
}

/* Changes those of one index, whose cells begin here; *at_inout: the next changed cell. */
static tg_status
change_hidden(tg_replay *replay, const tg_row_operation *operation, const tg_index *index, unsigned first,
			  tg_version version, unsigned *at_inout)
{
	const tg_operations *operations = &replay->operations;
	unsigned slot = tg_version_slot(version);
	tg_chunk *companion = tg_companion_of(&index->link, tg_version_chunk(version));
	unsigned begin = *at_inout;

	while (*at_inout < operation->changed_count && operations->changed[*at_inout] < first + index->spec.hidden_count)
		++*at_inout;
	if (!tg_companion_is_known(companion, slot))
	{
		/* They are still to come (5); all are new; or the record is not of this row. */
		if (*at_inout == begin)
			return TG_OK;
		if (*at_inout - begin != index->spec.hidden_count)
			return replay->exact ? TG_DAMAGED : TG_OK;
		return tg_hidden_store(replay->session, index, version, operations->values + first, operations->nulls + first,
							   TG_ESSENTIAL);
	}
	for (unsigned i = begin; i < *at_inout; i++)
	{
		unsigned cell = operations->changed[i];
		tg_status status = tg_version_change(replay->session, tg_version_make(companion, slot), cell - first,
											 operations->nulls[cell] ? NULL : &operations->values[cell], TG_ESSENTIAL);

		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

/* --- rows ------------------------------------------------------------------------------------ */

tg_version
tg_replay_version_of(const tg_replay *replay, uint32_t row)
{
	tg_version head;

	/* Pairs with the release in tg_row_place, which another thread may have called. */
	if (row >= tg_load_acquire(&replay->table->row_next))
		return TG_VERSION_NONE;
	head = tg_load_relaxed(tg_row_head(replay->table, row));
	return tg_head_is_closed(head) ? TG_VERSION_NONE : head;
}

/* The version's slot is free then. */
static tg_status
give_version(tg_replay *replay, tg_version version, tg_version shared_with)
{
	tg_header *headers;
	tg_status status = tg_chunk_headers_write(replay->session, tg_version_chunk(version), TG_ESSENTIAL, &headers);

	if (status != TG_OK)
		return status;
	tg_version_blobs_free(replay->session, version, shared_with, TG_VERSION_NONE);
	tg_store_release(&headers[tg_version_slot(version)].begin, TG_TIME_NEVER);
	tg_slot_give(replay->session, version);
	return TG_OK;
}

static void
set_version(tg_replay *replay, uint32_t row, tg_version version)
{
	tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

	tg_store_release(&headers[tg_version_slot(version)].begin, TG_TIME_FIRST);
	tg_store_release(tg_row_head(replay->table, row), version);
}

static tg_status
apply_delete(tg_replay *replay, uint32_t row)
{
	tg_version version = tg_replay_version_of(replay, row);
	tg_status status;

	if (version == TG_VERSION_NONE)
		return replay->exact ? TG_DAMAGED : TG_OK;
	status = give_version(replay, version, TG_VERSION_NONE);
	if (status != TG_OK)
		return status;
	tg_store_release(tg_row_head(replay->table, row), TG_VERSION_NONE);
	tg_fetch_add_relaxed(&replay->table->row_count, -1);
	return TG_OK;
}

void
tg_replay_spread_values(tg_replay *replay)
{
	const tg_operations *operations = &replay->operations;
	unsigned column;

	for (column = 0; column < operations->column_count; column++)
	{
		replay->nulls[column] = operations->nulls[column];
		if (!operations->nulls[column])
			replay->values[column] = operations->values[column];
	}
	for (; column < replay->table->layout->column_count; column++)
		replay->nulls[column] = true;
}

static tg_status
make_version(tg_replay *replay, uint32_t row, tg_version *version_out)
{
	tg_session *session = replay->session;
	tg_status status = tg_slot_take(session, replay->table, TG_ESSENTIAL, version_out);

	if (status != TG_OK)
		return status;
	tg_replay_spread_values(replay);
	status = tg_version_store(session, *version_out, row, replay->values, replay->nulls, TG_ESSENTIAL);
	if (status == TG_OK)
	{
		status = store_hidden(replay, *version_out);
		if (status != TG_OK)
			tg_version_blobs_free(session, *version_out, TG_VERSION_NONE, TG_VERSION_NONE);
	}
	if (status != TG_OK)
		tg_slot_give(session, *version_out);
	return status;
}

static tg_status
apply_insert(tg_replay *replay, uint32_t row)
{
	tg_version version;
	tg_status status = TG_OK;

	if (tg_replay_version_of(replay, row) != TG_VERSION_NONE)
	{
		if (replay->exact)
			return TG_DAMAGED;
		status = apply_delete(replay, row);
	}
	if (status == TG_OK)
		status = tg_row_place(replay->session, replay->table, row, TG_ESSENTIAL);
	if (status == TG_OK)
		status = make_version(replay, row, &version);
	if (status != TG_OK)
		return status;
	set_version(replay, row, version);
	tg_fetch_add_relaxed(&replay->table->row_count, 1);
	return TG_OK;
}

/* 2.  *version_inout is the row's version then. */
static tg_status
move_to_newest(tg_replay *replay, uint32_t row, tg_version *version_inout)
{
	tg_version old = *version_inout;
	tg_version version;
	tg_status status;

	if (tg_version_chunk(old)->layout == replay->table->layout)
		return TG_OK;
	status = tg_slot_take(replay->session, replay->table, TG_ESSENTIAL, &version);
	if (status != TG_OK)
		return status;
	tg_version_copy(replay->session, version, old);
	status = tg_hidden_copy_all(replay->session, version, old);
	if (status == TG_OK)
		status = give_version(replay, old, version);
	if (status != TG_OK)
	{
		tg_version_blobs_free(replay->session, version, old, TG_VERSION_NONE);
		tg_slot_give(replay->session, version);
		return status;
	}
	set_version(replay, row, version);
	*version_inout = version;
	return TG_OK;
}

static tg_status
apply_update(tg_replay *replay, const tg_row_operation *operation)
{
	const tg_operations *operations = &replay->operations;
	tg_version version = tg_replay_version_of(replay, operation->row);
	unsigned first = operations->column_count;
	unsigned at = 0;
	tg_status status;

	if (version == TG_VERSION_NONE)
		return replay->exact ? TG_DAMAGED : TG_OK;
	status = move_to_newest(replay, operation->row, &version);
	for (; status == TG_OK && at < operation->changed_count && operations->changed[at] < first; at++)
	{
		unsigned column = operations->changed[at];

		status = tg_version_change(replay->session, version, column,
								   operations->nulls[column] ? NULL : &operations->values[column], TG_ESSENTIAL);
	}
	for (unsigned i = 0; i < operations->index_count && status == TG_OK; i++)
	{
		if (replay->indexes[i] != NULL)
			status = change_hidden(replay, operation, replay->indexes[i], first, version, &at);
		first += replay->cell_counts[i];
		while (at < operation->changed_count && operations->changed[at] < first)
			at++;
	}
	if (status == TG_OK)
		forget_others(replay, version);
	return status;
}

static bool
is_known(const tg_index *index, tg_version version)
{
	return tg_companion_is_known(tg_companion_of(&index->link, tg_version_chunk(version)), tg_version_slot(version));
}

tg_status
tg_replay_store_hidden(tg_replay *replay, tg_version version)
{
	const tg_operations *operations = &replay->operations;
	unsigned cell = 0;

	for (unsigned i = 0; i < operations->index_count; i++)
	{
		const tg_index *index = replay->indexes[i];

		if (index != NULL && !is_known(index, version))
		{
			tg_status status = tg_hidden_store(replay->session, index, version, operations->values + cell,
											   operations->nulls + cell, TG_ESSENTIAL);

			if (status != TG_OK)
				return status;
		}
		cell += replay->cell_counts[i];
	}
	return TG_OK;
}

/* 5. */
static tg_status
apply_hidden(tg_replay *replay, uint32_t row)
{
	tg_version version = tg_replay_version_of(replay, row);

	return version != TG_VERSION_NONE ? tg_replay_store_hidden(replay, version) : TG_OK;
}

tg_status
tg_replay_in_place(tg_replay *replay, const tg_row_operation *operation)
{
	tg_status status;

	tg_epoch_enter(replay->session);
	switch (operation->kind)
	{
		case TG_OPERATION_INSERT:
			status = apply_insert(replay, operation->row);
			break;
		case TG_OPERATION_UPDATE:
			status = apply_update(replay, operation);
			break;
		case TG_OPERATION_HIDDEN:
			status = apply_hidden(replay, operation->row);
			break;
		case TG_OPERATION_LOCK:
			status = TG_OK; /* the transaction has ended */
			break;
		default:
			tg_assert(operation->kind == TG_OPERATION_DELETE);
			status = apply_delete(replay, operation->row);
			break;
	}
	tg_epoch_leave(replay->session);
	replay->changes += status == TG_OK;
	return status;
}

/* 7. */
static bool
is_in_share(const tg_replay *replay, uint32_t row)
{
	return replay->share_count == 1 ||
		   (replay->operations.storage + row / tg_replay_run_rows) % replay->share_count == replay->share;
}

tg_status
tg_replay_operations(tg_replay *replay, const void *data, size_t count, tg_replay_take take)
{
	tg_row_operation operation;
	tg_status status;

	tg_assert(!tg_epoch_inside(replay->session));
	replay->table = NULL;
	tg_operations_open(&replay->operations, data, count, find_shape, replay);
	while ((status = tg_operations_next(&replay->operations, &operation)) == TG_OK)
	{
		if (replay->table == NULL || !is_in_share(replay, operation.row))
			continue;
		status = take(replay, &operation);
		if (status == TG_DAMAGED)
			replay->calls->misfit(replay->calls->context, replay->operations.storage);
		else if (status != TG_OK)
			return status;
	}
	return status == TG_NOT_FOUND ? TG_OK : status;
}

tg_status
tg_replay_record(tg_replay *replay, const void *data, size_t count, bool exact)
{
	replay->exact = exact;
	return tg_replay_operations(replay, data, count, tg_replay_in_place);
}

void
tg_replay_finish(tg_session *session, tg_table *table)
{
	(void) session;
	tg_leases_forget(table);
	if (!table->follows)
		tg_rows_free_rest(table);
}
