/*
 * write.c
 *	  Inserting, replacing and ending versions (W0 to W5).
 *
 * Order of every write: room in the log first, then a slot, then the values, all of which may fail
 * and are given back; then the one atomic step that takes the row; then the head; then the log
 * entry; then the entries of secondary indexes (unique.c).  If these are refused, the write is
 * undone by itself, as a rollback would undo it, because other transactions may have met it.
 * Otherwise nothing fails once the row is taken.  What has been undone in this way stays until the
 * transaction has ended.  So a writer that inserts many rows and expects keys to be taken looks
 * before it writes (writer.probes).
 *
 * The step that takes the row:
 * - a live row: compare-and-swap of its newest version's end, NEVER -> {T, command} (W1); LOCKED ->
 *   {T, command} if no other transaction holds a conflicting lock (W7, row_lock.h)
 * - a dead row: compare-and-swap of its head, dead version -> new version (W3)
 * - a fresh row under a key: the index entry (W3); the row is reached only by that entry, or by a
 *   scan that finds the version not visible
 *
 * Invariant H: a version whose end is NEVER or LOCKED and whose begin is not NEVER is its row's
 * head.  Replacing sets end before the head; undoing swings the head back before it sets end to
 * NEVER or LOCKED.  Therefore the compare-and-swap of end alone decides, and the head is then
 * stored, not swapped.  A dead version's end becomes NEVER again only by the rollback of the
 * transaction that ended it.
 */
#include "runtime/btree/btree.h"
#include "runtime/table/write_log.h"
#include "runtime/index/hidden.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/read.h"
#include "runtime/txn/row_lock.h"
#include "runtime/txn/txn_internal.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/table/store.h"
#include "runtime/index/entry.h"
#include "runtime/index/index.h"

#define HEADS_PER_LINE (TG_CACHE_LINE / sizeof(tg_version))

static inline bool
enter(const tg_writer *writer)
{
	bool entered = tg_txn_enter(writer->session, writer->txn);

	tg_epoch_enter(writer->session);
	return entered;
}

static inline tg_status
leave(const tg_writer *writer, bool entered, tg_status status)
{
	tg_epoch_leave(writer->session);
	tg_txn_leave(writer->session, writer->txn, entered);
	return status;
}

/* W4: a SHORT does not wait for rows.  It conflicts with this row, if any, or with a unique key. */
static inline tg_status
refuse_to_wait(const tg_writer *writer, tg_table *table, uint32_t row, tg_status status, const tg_wait *wait)
{
	if (tg_likely(status != TG_BUSY) || tg_txn_kind_of(writer->txn) != TG_TXN_SHORT ||
		tg_failpoint_refuses("skip_w4_short"))
		return status;
	return tg_txn_give_up_row(writer->txn, TG_CONFLICT_TAKEN, table, wait->index == NULL ? row : TG_ROW_MAX,
							  wait->host);
}

void
tg_writer_note(const tg_writer *writer, tg_table *table, tg_write kind, tg_version version, int rows)
{
	tg_write_log_append(*tg_writer_log(writer), table, kind, version, rows);
	if (tg_unlikely(writer->piece != NULL))
		writer->piece->writes++;
	else
		tg_store_relaxed(&writer->txn->writes, writer->txn->writes + 1);
}

/*
 * The version that a new version of a row should lie beside: the version of the row with the number
 * next to its own, whose head is in the same cache line.  So rows that had to leave their chunk,
 * because no slot in it was free, come home with one of their next updates, and rows that were
 * loaded one after the other stay together.  A version of another chunk must have been committed:
 * then only the collector frees it, after the caller's epoch, and its chunk, which a slot is taken
 * from, is not reclaimed before.
 */
static tg_version
neighbour_of(tg_table *table, uint32_t row, tg_version old)
{
	uint32_t beside = row % HEADS_PER_LINE != 0 ? row - 1 : row + 1;
	const tg_header *headers;
	tg_version head;

	if (beside >= tg_load_acquire(&table->row_next))
		return old;
	head = tg_load_acquire(tg_row_head(table, beside));
	if (tg_head_is_closed(head) || head == TG_VERSION_NONE)
		return old;
	if (tg_likely(tg_version_chunk(head) == tg_version_chunk(old)))
		return head;
	headers = tg_chunk_headers(tg_version_chunk(head));
	return headers == NULL || tg_load_acquire(&headers[tg_version_slot(head)].begin) < TG_TIME_UNLINKED ? head : old;
}

tg_status
tg_writer_make_version(const tg_writer *writer, tg_table *table, uint32_t row, tg_version old, const tg_value *values,
					   const bool *nulls, tg_version *version_out)
{
	tg_status status = old != TG_VERSION_NONE ? tg_slot_take_near(writer->session, table, neighbour_of(table, row, old),
																  old, writer->claim, version_out)
											  : tg_slot_take(writer->session, table, writer->claim, version_out);

	if (status != TG_OK)
		return status;
	status = tg_version_store(writer->session, *version_out, row, values, nulls, writer->claim);
	if (status == TG_OK && writer->hidden != NULL)
	{
		status = tg_hidden_store_all(writer->session, *version_out, writer->hidden, writer->claim);
		if (status != TG_OK)
			tg_version_blobs_free(writer->session, *version_out, old, TG_VERSION_NONE);
	}
	if (status != TG_OK)
		tg_slot_give(writer->session, *version_out);
	return status;
}

void
tg_writer_drop_version(const tg_writer *writer, tg_version version, tg_version shared_with)
{
	tg_store_release(&tg_version_header(version)->begin, TG_TIME_NEVER);
	tg_version_blobs_free(writer->session, version, shared_with, TG_VERSION_NONE);
	tg_slot_give(writer->session, version);
}

/* The state of a key's row, for a transaction that wants to insert the key (W3, W4). */
typedef enum key_state
{
	KEY_LIVE,
	KEY_DEAD,	/* no live version: *version_out is the head that was judged */
	KEY_TAKEN,	/* by a transaction that has not ended */
	KEY_CLOSED, /* the row is about to go: its entry will be removed, look in the index again */
	KEY_AGAIN
} key_state;

static key_state
judge_key(const tg_writer *writer, tg_table *table, uint32_t row, tg_version *version_out, tg_wait *wait_out)
{
	tg_version head = tg_load_acquire(tg_row_head(table, row));
	tg_header *header;
	tg_time time;

	*version_out = head;
	if (tg_head_is_closed(head))
		return KEY_CLOSED;
	if (head == TG_VERSION_NONE)
		return KEY_AGAIN;
	header = tg_chunk_headers(tg_version_chunk(head));
	if (header == NULL)
		return KEY_LIVE;
	header += tg_version_slot(head);
	switch (tg_writer_resolve(writer, &header->begin, &time))
	{
		case TG_FATE_OPEN:
		case TG_FATE_PREPARED:
			if (tg_failpoint_refuses("skip_w4"))
				return KEY_LIVE;
			return tg_wait_for(&header->begin, wait_out) ? KEY_TAKEN : KEY_AGAIN;
		case TG_FATE_AT:
			if (time == TG_TIME_NEVER)
				return KEY_AGAIN; /* being undone: the head is about to change */
			break;
		case TG_FATE_OWN:
			break;
	}
	switch (tg_writer_resolve(writer, &header->end, &time))
	{
		case TG_FATE_OPEN:
		case TG_FATE_PREPARED:
			return tg_wait_for(&header->end, wait_out) ? KEY_TAKEN : KEY_AGAIN;
		case TG_FATE_AT:
			return tg_time_is_open(time) ? KEY_LIVE : KEY_DEAD;
		default:
			return KEY_DEAD;
	}
}

/*
 * The version, whose row is a fresh, published one, met an entry of its key that leads to another
 * row: tries to become that row's newest version.  TG_AGAIN: the entry is going away, insert again.
 */
static tg_status
revive(const tg_writer *writer, tg_table *table, tg_btree *index, const void *key, size_t key_bytes, tg_version version,
	   uint32_t row, tg_wait *wait_out)
{
	uint32_t fresh = tg_version_row(version);
	unsigned round = 0;

	for (;;)
	{
		tg_version dead;

		switch (judge_key(writer, table, row, &dead, wait_out))
		{
			case KEY_LIVE:
				return TG_EXISTS;
			case KEY_TAKEN:
				return TG_BUSY;
			case KEY_CLOSED:
				(void) tg_btree_remove(writer->session, index, key, key_bytes, row);
				return TG_AGAIN;
			case KEY_AGAIN:
				tg_spin(&round);
				continue;
			case KEY_DEAD:
				tg_version_chunk(version)->rows[tg_version_slot(version)] = row;
				tg_store_relaxed(&tg_version_header(version)->life, TG_LIFE_NEW | TG_LIFE_SEVERAL);
				tg_store_release(&tg_version_header(version)->older, dead);
				tg_failpoint("revive_judged");
				/* W3: the head is the lock of a dead row */
				if (tg_cas_acq_rel(tg_row_head(table, row), &dead, version) || tg_failpoint_refuses("skip_w3"))
				{
					tg_writer_note(writer, table, TG_WRITE_REVIVE, version, 1);
					return TG_OK;
				}
				/*
				 * Lost: the version belongs to its fresh row again, and may yet be inserted as
				 * that.
				 */
				tg_store_release(&tg_version_header(version)->older, TG_VERSION_NONE);
				tg_store_relaxed(&tg_version_header(version)->life, 0);
				tg_version_chunk(version)->rows[tg_version_slot(version)] = fresh;
				continue;
		}
	}
}

/* except: as in tg_entries_add. */
static tg_status
insert(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes, const tg_value *values,
	   const bool *nulls, uint32_t except, uint32_t *row_out, tg_version *version_out, tg_wait *wait_out)
{
	tg_btree *index = tg_load_acquire(&table->index);
	tg_version version;
	uint32_t fresh;
	uint32_t row;
	tg_status status;

	status = tg_write_log_reserve(writer->session, tg_writer_log(writer), table, writer->claim);
	if (status != TG_OK)
		return status;
	status = tg_row_take(writer->session, table, writer->claim, &fresh);
	if (status != TG_OK)
		return status;
	status = tg_writer_make_version(writer, table, fresh, TG_VERSION_NONE, values, nulls, &version);
	if (status != TG_OK)
		goto no_version;

	tg_chunk_touch(tg_version_chunk(version), tg_load_relaxed(tg_clock));
	tg_store_release(&tg_version_header(version)->begin, tg_writer_reference(writer));
	*version_out = version;
	/* The head before the entry: a transaction that finds the entry finds a version to judge. */
	tg_store_release(tg_row_head(table, fresh), version);
	row = fresh;
	if (key != NULL)
	{
		do
		{
			row = fresh;
			status = tg_btree_insert(writer->session, index, key, key_bytes, &row, writer->claim);
			if (status == TG_EXISTS)
				status = revive(writer, table, index, key, key_bytes, version, row, wait_out);
		} while (status == TG_AGAIN);
	}
	*row_out = row;
	if (row == fresh && status == TG_OK)
		tg_writer_note(writer, table, TG_WRITE_INSERT, version, 1);
	else
	{
		/* The fresh row is not needed, and no entry has ever led to it. */
		if (status != TG_OK)
		{
			wait_out->index = NULL;
			wait_out->row = row;
			tg_writer_drop_version(writer, version, TG_VERSION_NONE);
		}
		tg_row_give(writer->session, table, fresh);
	}
	if (status != TG_OK)
		return status;
	status = tg_entries_add(writer, table, row, version, TG_VERSION_NONE, except, wait_out);
	if (tg_unlikely(status != TG_OK))
	{
		tg_txn_undo_newest(writer, 1);
		*row_out = wait_out->row;
	}
	return status;

no_version:
	tg_row_give(writer->session, table, fresh);
	return status;
}

tg_status
tg_txn_insert(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes, const tg_value *values,
			  const bool *nulls, uint32_t *row_out, tg_wait *wait_out)
{
	tg_version version;
	tg_status status;
	bool entered;

	tg_assert((key != NULL) == (table->index != NULL) && writer->piece == NULL);
	entered = enter(writer);
	status = tg_txn_mind(writer, table, TG_VERSION_NONE, key, key_bytes, wait_out);
	if (status == TG_OK && writer->probes && tg_index_first(table) != NULL)
	{
		status = tg_txn_probe(writer, table, key, key_bytes, NULL, values, nulls, wait_out);
		if (status == TG_EXISTS)
			*row_out = wait_out->row;
	}
	if (status == TG_OK)
		status = insert(writer, table, key, key_bytes, values, nulls, TG_ROW_MAX, row_out, &version, wait_out);
	/* ON CONFLICT is about to write the row that has the key. */
	if (tg_unlikely(status == TG_BUSY) && wait_out->kind == TG_WAIT_ROW)
		tg_row_lock_queue(writer, table, wait_out->row, TG_LOCK_UPDATE, wait_out);
	return leave(writer, entered, refuse_to_wait(writer, table, TG_ROW_MAX, status, wait_out));
}

tg_status
tg_txn_insert_apart(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes, const tg_value *values,
					const bool *nulls, tg_wait *wait_out)
{
	tg_version version;
	uint32_t row;

	tg_assert(writer->piece != NULL && tg_epoch_inside(writer->session));
	tg_assert((key != NULL) == (table->index != NULL));
	return insert(writer, table, key, key_bytes, values, nulls, TG_ROW_MAX, &row, &version, wait_out);
}

/*
 * The last version of the life of a row that the snapshot has seen or, if moved, that the version
 * with this mark began; the head if there is no such life.  The version looked for is there, and so
 * is each version above it that begins a life (prune.c, 4); others between may be missing.
 */
static tg_version
last_of_life(const tg_snapshot *snapshot, tg_version head, bool moved, uint32_t mark)
{
	tg_version last = head;
	tg_version version = head;

	while (version != TG_VERSION_NONE)
	{
		const tg_header *header = tg_chunk_headers(tg_version_chunk(version));
		uint32_t life;

		if (header == NULL)
			return moved ? head : last; /* settled */
		header += tg_version_slot(version);
		life = tg_load_relaxed(&header->life);
		if (version == head && (life & TG_LIFE_SEVERAL) == 0)
			return head;
		if (moved ? tg_version_mark(version) == mark : tg_txn_has_begun(snapshot, header))
			return last;
		version = tg_load_acquire(&header->older);
		if ((life & TG_LIFE_NEW) != 0)
			last = version;
	}
	return head;
}

static inline tg_status
sight_of(const tg_snapshot *snapshot, tg_time begin)
{
	return snapshot != NULL && tg_snapshot_covers(snapshot, begin) ? TG_OK : TG_CHANGED;
}

/*
 * For a KEY SHARE lock, a row whose newest version belongs to a transaction that has not ended.
 * The lock need not wait if that transaction has only replaced the row under its key (row_lock.h,
 * 4), and is shown the version below.  TG_BUSY: it must wait.
 */
static tg_status
newest_below(const tg_writer *writer, const tg_snapshot *snapshot, tg_version head, tg_version *version_out,
			 tg_wait *wait_out)
{
	tg_version version = head;
	const tg_header *header = tg_version_header(head);
	tg_time end = tg_load_acquire(&header->end);
	tg_time begin;

	if (tg_time_is_reference(end))
		return (end & TG_REFERENCE_KEEPS_KEY) == 0 && tg_wait_for(&header->end, wait_out) ? TG_BUSY : TG_AGAIN;
	for (;;)
	{
		tg_version older = tg_load_acquire(&header->older);
		const tg_header *headers;

		if (older == TG_VERSION_NONE || (tg_load_relaxed(&header->life) & TG_LIFE_NEW) != 0)
			return tg_wait_for(&header->begin, wait_out) ? TG_BUSY : TG_AGAIN;
		version = older;
		headers = tg_chunk_headers(tg_version_chunk(version));
		*version_out = version;
		if (headers == NULL)
			return sight_of(snapshot, TG_TIME_FIRST);
		header = headers + tg_version_slot(version);
		/* Replaced under another unique key. */
		end = tg_load_acquire(&header->end);
		if (tg_time_is_reference(end) && (end & TG_REFERENCE_KEEPS_KEY) == 0)
			return tg_wait_for(&header->end, wait_out) ? TG_BUSY : TG_AGAIN;
		if (tg_writer_resolve(writer, &header->begin, &begin) == TG_FATE_AT)
			return begin == TG_TIME_NEVER ? TG_AGAIN : sight_of(snapshot, begin);
	}
}

/*
 * The status to report for a version that began after the snapshot, once it is held: for a copy,
 * that the snapshot sees it (relocate.c, 3).
 */
static tg_status
changed(const tg_snapshot *snapshot, bool moved, tg_version version)
{
	if (snapshot == NULL || moved || tg_failpoint_refuses("copy_is_change"))
		return TG_CHANGED;
	return tg_version_is_copy(version) ? TG_OK : TG_CHANGED;
}

/*
 * Called before a version newer than the snapshot is handed up.  No published point protects that
 * version, so if a transaction ends it now, it could be collected while the caller evaluates it or
 * compares its end to NEVER.  If it is looked at again afterwards and has not ended, it stays
 * (horizon.c, 8).
 */
static bool
hold(const tg_writer *writer, const tg_snapshot *snapshot)
{
	tg_snapshot_hold(writer->session, snapshot != NULL ? snapshot->time : 0);
	return true;
}

tg_status
tg_txn_newest(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table, uint32_t *row_inout,
			  tg_version *version_out, tg_wait *wait_out)
{
	tg_version head = tg_load_acquire(tg_row_head(table, *row_inout));
	uint32_t row = *row_inout;
	tg_status status = TG_OK;

	tg_assert(tg_epoch_inside(writer->session));
	/* W0 before W4.  All versions of a row have one key. */
	if (!tg_head_is_closed(head) && head != TG_VERSION_NONE)
		status = tg_txn_mind(writer, table, head, NULL, 0, wait_out);
	if (status != TG_OK)
		return status;
	tg_failpoint("newest");
	status = tg_txn_newest_for(writer, snapshot, table, row_inout, TG_LOCK_UPDATE, &head, version_out, wait_out);
	if (tg_unlikely(status == TG_BUSY))
		tg_row_lock_queue(writer, table, *row_inout, TG_LOCK_UPDATE, wait_out);
	if (tg_unlikely(*row_inout != row) && (status == TG_OK || status == TG_CHANGED))
	{
		tg_status minds = tg_txn_mind(writer, table, *version_out, NULL, 0, wait_out);

		if (minds != TG_OK)
			return minds;
	}
	return refuse_to_wait(writer, table, row, status, wait_out);
}

tg_status
tg_txn_newest_for(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table, uint32_t *row_inout,
				  tg_lock_mode mode, tg_version *head_out, tg_version *version_out, tg_wait *wait_out)
{
	unsigned round = 0;
	bool moved = false;
	bool held = false;
	uint32_t mark = 0;

	for (;; tg_spin(&round))
	{
		tg_version head = tg_load_acquire(tg_row_head(table, *row_inout));
		tg_version newest;
		tg_header *header;
		tg_time begin;
		tg_time end;
		tg_fate begun;

		if (tg_head_is_closed(head) || head == TG_VERSION_NONE)
			return TG_NOT_FOUND;
		newest = snapshot == NULL ? head : last_of_life(snapshot, head, moved, mark);
		*head_out = head;
		*version_out = newest;
		header = tg_chunk_headers(tg_version_chunk(newest));
		if (header == NULL && (!moved || held))
			return moved ? TG_CHANGED : TG_OK; /* settled: everybody sees it */
		if (header == NULL)
		{
			held = hold(writer, snapshot);
			continue;
		}
		header += tg_version_slot(newest);

		/* W4: the transaction that has made it, or ends it, has not ended */
		begun = tg_writer_resolve(writer, &header->begin, &begin);
		if (begun == TG_FATE_OPEN || begun == TG_FATE_PREPARED)
		{
			if (mode == TG_LOCK_KEY_SHARE)
			{
				tg_status status = newest_below(writer, moved ? NULL : snapshot, newest, version_out, wait_out);

				if (status != TG_AGAIN && (status != TG_CHANGED || held))
					return status == TG_CHANGED ? changed(snapshot, moved, *version_out) : status;
				if (status == TG_CHANGED)
					held = hold(writer, snapshot);
			}
			else if (tg_wait_for(&header->begin, wait_out))
				return TG_BUSY;
			continue;
		}
		if (begun == TG_FATE_AT && begin == TG_TIME_NEVER)
			continue; /* being undone: the head is about to change */
		if (begun == TG_FATE_OWN && tg_reference_command(begin) >= writer->command)
			return TG_SELF;

		switch (tg_writer_resolve(writer, &header->end, &end))
		{
			case TG_FATE_OPEN:
			case TG_FATE_PREPARED:
				/* A transaction that keeps the key is about to change the head. */
				if ((mode != TG_LOCK_KEY_SHARE || (end & TG_REFERENCE_KEEPS_KEY) == 0) &&
					tg_wait_for(&header->end, wait_out))
					return TG_BUSY;
				continue;
			case TG_FATE_OWN:
				return tg_reference_command(end) >= writer->command ? TG_SELF : TG_NOT_FOUND;
			case TG_FATE_AT:
				break;
		}
		if (tg_time_is_open(end))
		{
			/* W5: is it the one that the snapshot sees? */
			if (!moved && snapshot != NULL &&
				(begun == TG_FATE_OWN || tg_snapshot_covers(snapshot, begin) || tg_failpoint_refuses("skip_w5")))
				return TG_OK;
			if (held)
				return changed(snapshot, moved, newest);
			held = hold(writer, snapshot);
			continue;
		}
		if (tg_load_acquire(tg_row_head(table, *row_inout)) != head)
			continue; /* replaced, not deleted, between the two looks */
		switch (tg_load_relaxed(&header->successor))
		{
			case 0:
				return TG_NOT_FOUND;
			case TG_SUCCESSOR_ELSEWHERE:
				return TG_MOVED;
		}
		/* Its key was changed: W5 follows it to the row it became. */
		*row_inout = tg_load_relaxed(&header->successor) - 1;
		mark = tg_load_relaxed(&header->life) & ~(uint32_t) TG_LIFE_FLAGS;
		moved = true;
	}
}

/* The test by which PostgreSQL tells a NO KEY UPDATE from an UPDATE. */
bool
tg_version_keeps_keys(const tg_table *table, tg_version version, tg_version old)
{
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
	{
		if (index->spec.unique && !index->spec.partial && !tg_index_is_same(index, version, old))
			return false;
	}
	return true;
}

static tg_status
update(const tg_writer *writer, tg_table *table, uint32_t row, tg_version old, const tg_value *values,
	   const bool *nulls, tg_wait *wait_out)
{
	tg_time reference = tg_writer_reference(writer);
	tg_time taken;
	tg_time never = TG_TIME_NEVER;
	tg_header *old_header;
	tg_header *header;
	tg_version version;
	tg_status status;

	status = tg_write_log_reserve(writer->session, tg_writer_log(writer), table, writer->claim);
	if (status != TG_OK)
		return status;
	status = tg_writer_make_version(writer, table, row, old, values, nulls, &version);
	if (status != TG_OK)
		return status;
	status = tg_chunk_headers_write(writer->session, tg_version_chunk(old), writer->claim, &old_header);
	if (status != TG_OK)
		goto fail;
	old_header += tg_version_slot(old);

	header = tg_version_header(version);
	tg_chunk_touch(tg_version_chunk(version), tg_load_relaxed(tg_clock));
	tg_chunk_touch(tg_version_chunk(old), tg_load_relaxed(tg_clock));
	tg_store_relaxed(&header->life, tg_load_relaxed(&old_header->life) & TG_LIFE_SEVERAL);
	tg_store_release(&header->older, old);
	tg_store_release(&header->begin, reference);
	taken = tg_version_keeps_keys(table, version, old) ? reference | TG_REFERENCE_KEEPS_KEY : reference;
	/* W1; W7 if the row is locked */
	if (tg_likely(tg_cas_acq_rel(&old_header->end, &never, taken)) || tg_failpoint_refuses("skip_w1"))
		tg_store_release(tg_row_head(table, row), version);
	else
	{
		status = never != TG_TIME_LOCKED
					 ? TG_AGAIN
					 : tg_row_lock_pass(writer, table, row, old, taken,
										taken != reference ? TG_LOCK_NO_KEY_UPDATE : TG_LOCK_UPDATE, version, wait_out);
		if (status != TG_OK)
			goto fail;
	}
	tg_writer_note(writer, table, TG_WRITE_UPDATE, version, 0);
	status = tg_entries_add(writer, table, row, version, old, TG_ROW_MAX, wait_out);
	if (tg_unlikely(status != TG_OK))
		tg_txn_undo_newest(writer, 0);
	return status;

fail:
	tg_writer_drop_version(writer, version, old);
	return status;
}

tg_status
tg_txn_update(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, const tg_value *values,
			  const bool *nulls, tg_wait *wait_out)
{
	tg_status status;
	bool entered;

	entered = enter(writer);
	status = tg_txn_mind(writer, table, version, NULL, 0, wait_out);
	if (status == TG_OK)
		status = update(writer, table, row, version, values, nulls, wait_out);
	return leave(writer, entered, refuse_to_wait(writer, table, row, status, wait_out));
}

/* successor: the version that a move has made, in that version's row; or TG_VERSION_NONE */
static tg_status
end_version(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, tg_version successor,
			tg_wait *wait_out)
{
	tg_time never = TG_TIME_NEVER;
	tg_header *header;
	tg_status status;

	status = tg_write_log_reserve(writer->session, tg_writer_log(writer), table, writer->claim);
	if (status != TG_OK)
		return status;
	status = tg_chunk_headers_write(writer->session, tg_version_chunk(version), writer->claim, &header);
	if (status != TG_OK)
		return status;
	header += tg_version_slot(version);
	tg_chunk_touch(tg_version_chunk(version), tg_load_relaxed(tg_clock));
	if (tg_unlikely(!tg_cas_acq_rel(&header->end, &never, tg_writer_reference(writer))))
	{
		status = never != TG_TIME_LOCKED ? TG_AGAIN
										 : tg_row_lock_pass(writer, table, row, version, tg_writer_reference(writer),
															TG_LOCK_UPDATE, TG_VERSION_NONE, wait_out);
		if (status != TG_OK)
			return status;
	}
	if (successor != TG_VERSION_NONE)
	{
		/* Atomic, because the collector may set a flag meanwhile. */
		(void) tg_fetch_and_acq_rel(&header->life, TG_LIFE_FLAGS);
		(void) tg_fetch_or_acq_rel(&header->life, tg_version_mark(successor));
		tg_store_relaxed(&header->successor, tg_version_row(successor) + 1);
	}
	tg_writer_note(writer, table, TG_WRITE_DELETE, version, -1);
	return TG_OK;
}

static tg_status
end_row(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, bool departs, tg_wait *wait_out)
{
	tg_status status;
	bool entered;

	entered = enter(writer);
	status = tg_txn_mind(writer, table, version, NULL, 0, wait_out);
	if (status == TG_OK)
		status = end_version(writer, table, row, version, TG_VERSION_NONE, wait_out);
	/* No transaction asks before this one has ended. */
	if (status == TG_OK && departs && !tg_failpoint_refuses("skip_w5_departed"))
		tg_store_relaxed(&tg_version_header(version)->successor, TG_SUCCESSOR_ELSEWHERE);
	return leave(writer, entered, refuse_to_wait(writer, table, row, status, wait_out));
}

tg_status
tg_txn_delete(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, tg_wait *wait_out)
{
	return end_row(writer, table, row, version, false, wait_out);
}

tg_status
tg_txn_depart(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, tg_wait *wait_out)
{
	return end_row(writer, table, row, version, true, wait_out);
}

static tg_time
end_of(tg_version version)
{
	const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

	return headers == NULL ? TG_TIME_NEVER : tg_load_acquire(&headers[tg_version_slot(version)].end);
}

/*
 * The new row first, since it can be refused without having changed anything; then the end of the
 * old version, which only a faster transaction or a lack of memory can refuse.  In that case the
 * new row is undone, because others could see it.
 */
static tg_status
move(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, const void *key, size_t key_bytes,
	 const tg_value *values, const bool *nulls, uint32_t *row_out, tg_wait *wait_out)
{
	tg_version made;
	tg_status status;

	/* This spares inserting the new row only to undo it. */
	if (end_of(version) == TG_TIME_LOCKED && tg_row_lock_is_held(writer, table, row, TG_LOCK_UPDATE, wait_out))
		return TG_BUSY;
	status = insert(writer, table, key, key_bytes, values, nulls, row, row_out, &made, wait_out);
	/* The transaction that holds the new key may have moved this very row there. */
	if ((status == TG_EXISTS || status == TG_BUSY) && !tg_time_is_open(end_of(version)))
		return TG_AGAIN;
	if (status != TG_OK)
		return status;
	/* It stays while a transaction may follow its mark: prune.c, 4. */
	tg_store_relaxed(&tg_version_header(made)->life, tg_load_relaxed(&tg_version_header(made)->life) | TG_LIFE_NEW);
	status = end_version(writer, table, row, version, made, wait_out);
	if (status != TG_OK)
		tg_txn_undo_newest(writer, 1);
	return status;
}

tg_status
tg_txn_move(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, const void *key,
			size_t key_bytes, const tg_value *values, const bool *nulls, uint32_t *row_out, tg_wait *wait_out)
{
	tg_status status;
	bool entered;

	entered = enter(writer);
	/* The old key and the new one (W0). */
	status = tg_txn_mind(writer, table, version, NULL, 0, wait_out);
	if (status == TG_OK)
		status = tg_txn_mind(writer, table, TG_VERSION_NONE, key, key_bytes, wait_out);
	if (status == TG_OK)
		status = move(writer, table, row, version, key, key_bytes, values, nulls, row_out, wait_out);
	return leave(writer, entered, refuse_to_wait(writer, table, TG_ROW_MAX, status, wait_out));
}
