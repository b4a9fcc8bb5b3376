/*
 * insert_batch.c
 *	  Rows inserted many at a time, by one call.
 *
 *	room in the log -> row ids, slots, values -> begins, heads -> keys, as an ascending run -> log
 *	  (may fail)           (may fail)            seen from here on      (may fail)
 *	  -> secondary indexes, row by row (may fail)
 *
 * The order is that of one insertion (write.c), each step for all rows of the batch.  What is
 * different, and why it is right:
 *
 * 1. Until its begin is set, a version is detached: its slot is taken, so no other session uses it,
 *	  and its begin is NEVER, so no scan sees it, and no chain or entry leads to it.  Its values are
 *	  written column by column.  What has been prepared can be given back without a trace.
 * 2. A version with a begin is one of an open transaction for all others, as soon as it can be met:
 *	  by a scan, or by its entry.  All begins and heads are stored before the first entry.
 * 3. The keys are entered in their own order.  That may be another one than that of the rows, or of
 *	  the tasks of another load; but no lock is held from one key to the next but a leaf's, for some
 *	  keys of that leaf, and no inserter waits inside.  So any order is free of deadlocks.
 * 4. A key that has an entry already is left to the caller, who inserts the row by itself: there it
 *	  is judged whether the key is taken, by whom, and what may be revived.  Its version is dropped:
 *	  no entry has ever led to it.  Of rows with one key in a batch the first is entered, because
 *	  equal keys are sorted by row, so what the caller finds is what it would find one by one.
 *	  Rows behind a row that turns out to be refused may be entered by then.  The caller takes them
 *	  back with the rest, or keeps them where single rows may be left out.
 * 5. The log gets the entered rows at the end, by one entry for versions that follow one another.
 *	  No step between the first begin and that leaves this function: a thread that is killed in
 *	  between takes its process along, and the arena with it.  Room for all entries is reserved
 *	  first, so noting what is entered cannot fail, also after a key has been refused memory.  Until
 *	  it is noted nobody undoes or stamps it: the log is the caller's (in its lane, or its piece).
 * 6. W0, L2: a transaction for which no LONG minds the table (`clear`) need not ask for each row,
 *	  for as long as it is registered (piece.c, 5).  For other transactions all rows are left.
 * 7. A reader that is inside its epoch when a version is dropped may still look at its slot, by the
 *	  bitmap: it judges a begin that is this transaction's, or NEVER, and either way sees nothing
 *	  (tg_slot_give).
 *
 * 8. Entries of secondary indexes come last, row by row, once the rows are noted: a row that has
 *	  not got all of its entries is undone like one of which an insertion was refused (write.c).  A
 *	  refusal ends the batch.  The refused row is not undone by itself, since that needs the log's
 *	  newest entry to be its own; the caller takes back all.  A caller that goes on without a row
 *	  that is refused probes before it writes, so its rows are left to it one by one.
 */
#include "runtime/txn/insert_batch.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/btree/btree.h"
#include "runtime/index/index.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/table.h"
#include "runtime/table/write_log.h"
#include "runtime/txn/piece.h"
#include "runtime/txn/txn_internal.h"
#include "runtime/txn/writer.h"

_Static_assert(TG_INSERT_BATCH == 64, "a row is a bit");
_Static_assert(TG_INSERT_BATCH <= TG_LOG_BLOCK_ENTRIES_MAX, "entries are reserved together");

/* The rows on their way. */
typedef struct detached
{
	const tg_writer *writer;
	tg_table *table;
	const tg_insert_batch *batch;
	unsigned count;	  /* that have a version */
	uint64_t entered; /* that are in the index, or need not be */
	uint32_t rows[TG_INSERT_BATCH];
	tg_version versions[TG_INSERT_BATCH];
} detached;

static inline uint64_t
bit_of(unsigned i)
{
	return (uint64_t) 1 << i;
}

static inline uint64_t
bits_below(unsigned count)
{
	return count == TG_INSERT_BATCH ? UINT64_MAX : bit_of(count) - 1;
}

/* --- before others can see them --------------------------------------------------------------- */

/* Gives back a version that no entry leads to, and its row. */
static void
drop(detached *all, unsigned i)
{
	tg_writer_drop_version(all->writer, all->versions[i], TG_VERSION_NONE);
	tg_row_give(all->writer->session, all->table, all->rows[i]);
}

/* Stores the next rows, as many as have slots that follow one another. */
static tg_status
store_run(detached *all)
{
	const tg_writer *writer = all->writer;
	tg_version first;
	unsigned count;
	tg_status status =
		tg_slot_take_run(writer->session, all->table, writer->claim, all->batch->count - all->count, &first, &count);

	if (status != TG_OK)
		return status;
	status = tg_version_store_run(writer->session, first, count, all->rows + all->count, &all->batch->values,
								  all->count, writer->claim);
	for (unsigned i = 0; i < count; i++)
	{
		if (status == TG_OK)
			all->versions[all->count++] = first + i;
		else
			tg_slot_give(writer->session, first + i);
	}
	return status;
}

/* All or none. */
static tg_status
detach(detached *all)
{
	tg_session *session = all->writer->session;
	tg_status status = tg_row_take_several(session, all->table, all->writer->claim, all->batch->count, all->rows);

	if (status != TG_OK)
		return status;
	while (status == TG_OK && all->count < all->batch->count)
		status = store_run(all);
	if (status == TG_OK)
		return TG_OK;
	for (unsigned i = all->count; i < all->batch->count; i++)
		tg_row_give(session, all->table, all->rows[i]);
	while (all->count > 0)
		drop(all, --all->count);
	return status;
}

/* --- attaching -------------------------------------------------------------------------------- */

/* 2 */
static void
begin_all(detached *all)
{
	const tg_time reference = tg_writer_reference(all->writer);
	const tg_time now = tg_load_relaxed(tg_clock);
	const tg_chunk *touched = NULL;

	for (unsigned i = 0; i < all->count; i++)
	{
		tg_version version = all->versions[i];

		if (tg_version_chunk(version) != touched)
			tg_chunk_touch(tg_version_chunk(version), now);
		touched = tg_version_chunk(version);
		tg_store_release(&tg_version_header(version)->begin, reference);
		/*
		 * The head before the entry: a transaction that finds the entry finds a version to judge.
		 */
		tg_store_release(tg_row_head(all->table, all->rows[i]), version);
	}
}

static int
compare_entries(const void *left, const void *right)
{
	const tg_btree_entry *a = left;
	const tg_btree_entry *b = right;
	int order = memcmp(a->key, b->key, a->key_bytes < b->key_bytes ? a->key_bytes : b->key_bytes);

	if (order == 0)
		order = (a->key_bytes > b->key_bytes) - (a->key_bytes < b->key_bytes);
	return order != 0 ? order : (a->tag > b->tag) - (a->tag < b->tag); /* 4 */
}

/* The keys in ascending order; files often have them so. */
static void
sort_keys(const detached *all, tg_btree_entry *entries)
{
	bool sorted = true;

	for (unsigned i = 0; i < all->count; i++)
	{
		entries[i] = (tg_btree_entry){
			.key = all->batch->keys[i].bytes, .key_bytes = all->batch->keys[i].count, .row = all->rows[i], .tag = i};
		sorted = sorted && (i == 0 || compare_entries(&entries[i - 1], &entries[i]) < 0);
	}
	if (!sorted)
		qsort(entries, all->count, sizeof(*entries), compare_entries);
}

/* TG_OK, or what refused a key: the rows that are entered are known then, too. */
static tg_status
enter_keys(detached *all)
{
	tg_btree_entry entries[TG_INSERT_BATCH];
	unsigned done;
	tg_status status;

	if (all->batch->keys == NULL)
	{
		all->entered = bits_below(all->count);
		return TG_OK;
	}
	sort_keys(all, entries);
	status = tg_btree_insert_run(all->writer->session, tg_load_acquire(&all->table->index), entries, all->count,
								 all->writer->claim, &done);
	for (unsigned i = 0; i < done; i++)
		if (!entries[i].found)
			all->entered |= bit_of(entries[i].tag);
	return status;
}

/* Notes the rows that are entered, and drops the others. */
static void
note_all(detached *all)
{
	const tg_writer *writer = all->writer;
	unsigned entered = (unsigned) __builtin_popcountll(all->entered);

	for (unsigned i = 0, end; i < all->count; i = end)
	{
		end = i + 1;
		if ((all->entered & bit_of(i)) == 0)
		{
			drop(all, i);
			continue;
		}
		while (end < all->count && (all->entered & bit_of(end)) != 0 &&
			   all->versions[end] == all->versions[i] + (end - i))
			end++;
		tg_write_log_append_run(*tg_writer_log(writer), all->table, all->versions[i], end - i);
	}
	if (writer->piece != NULL)
		writer->piece->writes += entered;
	else
		tg_store_relaxed(&writer->txn->writes, writer->txn->writes + entered);
}

/* 8 */
static tg_status
add_entries(detached *all, tg_insert_result *result)
{
	tg_status status = TG_OK;

	if (tg_likely(tg_index_first(all->table) == NULL))
		return TG_OK;
	for (unsigned i = 0; i < all->count && status == TG_OK; i++)
	{
		if ((all->entered & bit_of(i)) == 0)
			continue;
		status = tg_entries_add(all->writer, all->table, all->rows[i], all->versions[i], TG_VERSION_NONE, TG_ROW_MAX,
								&result->wait);
	}
	return status;
}

/* 6, 8 */
static bool
may_batch(const tg_writer *writer, tg_table *table)
{
	tg_wait wait;

	if (writer->probes && tg_index_first(table) != NULL)
		return false;
	if (writer->piece != NULL)
		return true; /* piece.c, 5 */
	return tg_txn_mind(writer, table, TG_VERSION_NONE, "", 0, &wait) == TG_OK && writer->txn->clear == table;
}

static tg_status
insert_all(detached *all, tg_insert_result *result)
{
	const tg_writer *writer = all->writer;
	tg_status status = tg_write_log_reserve_several(writer->session, tg_writer_log(writer), all->table,
													all->batch->count, writer->claim);

	if (status == TG_OK)
		status = detach(all);
	if (status != TG_OK)
		return status;
	tg_failpoint("batch_detached");
	begin_all(all);
	status = enter_keys(all);
	note_all(all);
	return status == TG_OK ? add_entries(all, result) : status;
}

tg_status
tg_txn_insert_batch(const tg_writer *writer, tg_table *table, const tg_insert_batch *batch,
					tg_insert_result *result_out)
{
	detached all = {.writer = writer, .table = table, .batch = batch};
	tg_status status = TG_OK;
	bool entered = false;

	*result_out = (tg_insert_result){.left = 0};
	tg_assert(batch->count > 0 && batch->count <= TG_INSERT_BATCH && writer->hidden == NULL);
	tg_assert((batch->keys != NULL) == (table->index != NULL));
	if (writer->piece == NULL)
	{
		entered = tg_txn_enter(writer->session, writer->txn);
		tg_epoch_enter(writer->session);
	}
	tg_assert(tg_epoch_inside(writer->session));
	if (may_batch(writer, table))
		status = insert_all(&all, result_out);
	if (writer->piece == NULL)
	{
		tg_epoch_leave(writer->session);
		tg_txn_leave(writer->session, writer->txn, entered);
	}
	result_out->left = bits_below(batch->count) & ~all.entered;
	return status;
}
