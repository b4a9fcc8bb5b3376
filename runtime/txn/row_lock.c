/*
 * row_lock.c
 *	  The table of row locks, and how a row gets into it.
 *
 *	parts, each a cache line and a latch --> buckets --> entries
 *
 * A part's buckets double when there are more than two entries to each, and shrink back to the
 * first few when the part is empty.  A transaction finds its entries by a list of its own, newest
 * first, so that a rollback to a savepoint removes the first entries of that list.  It has at most
 * one entry of each mode for a row, and each later one is stronger.
 *
 * Nothing fails between the mark and the entry: memory is allocated before the latch is taken.
 */
#include "runtime/txn/row_lock.h"

#include "runtime/base/failpoint.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/table/store.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn_internal.h"

#define PART_BITS 8
#define BUCKETS_FIRST 8
#define BUCKETS_MAX ((uint32_t) 1 << 20) /* of a part */
#define ENTRIES_PER_BUCKET 2

struct tg_row_lock
{
	tg_row_lock *next;	 /* in its bucket, under the latch */
	tg_row_lock *before; /* what the holder locked before this */
	tg_table *table;
	uint32_t row;
	uint16_t txn;	 /* the holder's number */
	uint16_t subtxn; /* as in references */
	uint8_t mode;	 /* tg_lock_mode */
};

typedef struct lock_part
{
	tg_latch latch; /* TG_RANK_ROW_LOCK: guards all below, and LOCKED ends of its rows */
	uint32_t count; /* entries */
	uint32_t mask;	/* buckets less one */
	tg_row_lock **buckets;
	tg_row_lock *first[BUCKETS_FIRST];
} TG_CACHE_ALIGNED lock_part;

struct tg_row_locks
{
	lock_part parts[1 << PART_BITS];
};

static void
use_first_buckets(lock_part *part)
{
	part->mask = BUCKETS_FIRST - 1;
	part->buckets = part->first;
}

tg_row_locks *
tg_row_locks_create(tg_session *session)
{
	tg_row_locks *locks = tg_alloc_zeroed(session, sizeof(tg_row_locks), TG_USE_RUNTIME, TG_DATA);

	if (locks == NULL)
		return NULL;
	for (unsigned i = 0; i < 1 << PART_BITS; i++)
	{
		tg_latch_init(&locks->parts[i].latch, TG_RANK_ROW_LOCK);
		use_first_buckets(&locks->parts[i]);
	}
	return locks;
}

/* --- the table ---------------------------------------------------------------------- */

static inline uint64_t
hash_row(const tg_table *table, uint32_t row)
{
	uint64_t hash = ((uint64_t) (uintptr_t) table ^ row) * UINT64_C(0x9E3779B97F4A7C15);

	return (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
}

static inline lock_part *
part_of(const tg_table *table, uint32_t row)
{
	return &tg_txns->row_locks->parts[hash_row(table, row) >> (64 - PART_BITS)];
}

static inline tg_row_lock **
bucket_of(const lock_part *part, const tg_table *table, uint32_t row)
{
	return &part->buckets[hash_row(table, row) >> 24 & part->mask];
}

static inline bool
is_of_row(const tg_row_lock *lock, const tg_table *table, uint32_t row)
{
	return lock->row == row && lock->table == table;
}

static bool
has_entry(const lock_part *part, const tg_table *table, uint32_t row)
{
	for (const tg_row_lock *lock = *bucket_of(part, table, row); lock != NULL; lock = lock->next)
		if (is_of_row(lock, table, row))
			return true;
	return false;
}

static inline bool
conflicts(tg_lock_mode held, tg_lock_mode wanted)
{
	static const bool table[4][4] = {
		[TG_LOCK_KEY_SHARE] = {[TG_LOCK_UPDATE] = true},
		[TG_LOCK_SHARE] = {[TG_LOCK_NO_KEY_UPDATE] = true, [TG_LOCK_UPDATE] = true},
		[TG_LOCK_NO_KEY_UPDATE] = {[TG_LOCK_SHARE] = true, [TG_LOCK_NO_KEY_UPDATE] = true, [TG_LOCK_UPDATE] = true},
		[TG_LOCK_UPDATE] = {true, true, true, true},
	};

	return table[held][wanted];
}

/*
 * Another transaction's entry that conflicts with the mode, or NULL.  *covered: the own transaction
 * has an entry that is as strong.
 */
static const tg_row_lock *
find_conflict(const lock_part *part, const tg_table *table, uint32_t row, uint32_t own, tg_lock_mode mode,
			  bool *covered)
{
	*covered = false;
	for (const tg_row_lock *lock = *bucket_of(part, table, row); lock != NULL; lock = lock->next)
	{
		if (!is_of_row(lock, table, row))
			continue;
		if (lock->txn == own)
			*covered |= lock->mode >= mode;
		else if (conflicts(lock->mode, mode) && !tg_failpoint_refuses("row_lock_conflict"))
			return lock;
	}
	return NULL;
}

/* Under the latch the holder has not released, so the entry still belongs to its transaction. */
static tg_status
wait_for_holder(const tg_row_lock *lock, tg_wait *wait_out)
{
	wait_out->index = NULL;
	wait_out->host = tg_load_acquire(&tg_txns->txn[lock->txn].host);
	wait_out->subtxn = lock->subtxn == TG_SUBTXN_LAST ? 0 : lock->subtxn;
	wait_out->txn = lock->txn;
	wait_out->kind = TG_WAIT_ROW;
	wait_out->queues = false;
	return TG_BUSY;
}

/* Doubles the buckets; if memory is short, they stay as they are. */
static void
grow(tg_session *session, lock_part *part)
{
	uint32_t old_count = part->mask + 1;
	tg_row_lock **old = part->buckets;
	tg_row_lock **buckets = tg_alloc_zeroed(session, 2 * (size_t) old_count * sizeof(*buckets), TG_USE_LOCK, TG_DATA);

	if (buckets == NULL)
		return;
	part->buckets = buckets;
	part->mask = 2 * old_count - 1;
	for (uint32_t i = 0; i < old_count; i++)
	{
		for (tg_row_lock *lock = old[i], *next; lock != NULL; lock = next)
		{
			tg_row_lock **bucket = bucket_of(part, lock->table, lock->row);

			next = lock->next;
			lock->next = *bucket;
			*bucket = lock;
		}
	}
	if (old != part->first)
		tg_free(session, old, TG_USE_LOCK);
	else
		for (unsigned i = 0; i < BUCKETS_FIRST; i++)
			part->first[i] = NULL;
}

static void
add_entry(tg_session *session, lock_part *part, tg_row_lock *lock)
{
	tg_row_lock **bucket;

	if (++part->count > ENTRIES_PER_BUCKET * (part->mask + 1) && part->mask + 1 < BUCKETS_MAX)
		grow(session, part);
	bucket = bucket_of(part, lock->table, lock->row);
	lock->next = *bucket;
	*bucket = lock;
}

static void
remove_entry(tg_session *session, lock_part *part, tg_row_lock *lock)
{
	tg_row_lock **link = bucket_of(part, lock->table, lock->row);

	while (*link != lock)
		link = &(*link)->next;
	*link = lock->next;
	if (--part->count == 0 && part->buckets != part->first)
	{
		tg_free(session, part->buckets, TG_USE_LOCK);
		use_first_buckets(part);
	}
}

/* --- queueing ----------------------------------------------------------------------- */

static bool
has_own_entry(const tg_writer *writer, tg_table *table, uint32_t row)
{
	lock_part *part = part_of(table, row);
	uint32_t own = tg_writer_number(writer);
	bool found = false;

	if (writer->txn->lock_count == 0)
		return false;
	tg_latch_acquire(&part->latch);
	for (const tg_row_lock *lock = *bucket_of(part, table, row); lock != NULL && !found; lock = lock->next)
		found = is_of_row(lock, table, row) && lock->txn == own;
	tg_latch_release(&part->latch);
	return found;
}

static bool
has_written(const tg_writer *writer, tg_table *table, uint32_t row)
{
	tg_version head = tg_load_acquire(tg_row_head(table, row));
	const tg_header *headers;
	tg_time begin;

	if (tg_head_is_closed(head) || head == TG_VERSION_NONE)
		return false;
	headers = tg_chunk_headers(tg_version_chunk(head));
	return headers != NULL &&
		   tg_time_resolve(&headers[tg_version_slot(head)].begin, tg_writer_number(writer), &begin) == TG_FATE_OWN;
}

/* W4, rules 7 and 8. */
void
tg_row_lock_queue(const tg_writer *writer, tg_table *table, uint32_t row, tg_lock_mode mode, tg_wait *wait_inout)
{
	wait_inout->queues = !has_own_entry(writer, table, row) && !has_written(writer, table, row);
	wait_inout->mode = mode;
	wait_inout->row = row;
	if (tg_failpoint_refuses("row_lock_queue_always"))
		wait_inout->queues = true;
}

/* --- locking ------------------------------------------------------------------------ */

/*
 * Makes sure that the newest version is marked (rules 2 and 5).  False: it is not the newest any
 * more, or a writer has it.
 */
static bool
mark(tg_table *table, uint32_t row, tg_version head, tg_header *header)
{
	tg_time end = TG_TIME_NEVER;

	if (tg_load_seq_cst(tg_row_head(table, row)) != head)
		return false;
	tg_failpoint("row_lock_mark");
	if (!tg_cas_seq_cst(&header->end, &end, TG_TIME_LOCKED))
		return end == TG_TIME_LOCKED;
	/* The other half of rule 5 is in undo_update (txn.c). */
	if (tg_load_seq_cst(tg_row_head(table, row)) == head || tg_failpoint_refuses("row_lock_undone"))
		return true;
	tg_store_release(&header->end, TG_TIME_NEVER);
	return false;
}

/* TG_AGAIN: head is not the row's newest any more. */
static tg_status
lock_row(const tg_writer *writer, tg_table *table, uint32_t row, tg_version head, tg_lock_mode mode, tg_wait *wait_out)
{
	tg_session *session = writer->session;
	tg_txn *txn = writer->txn;
	lock_part *part = part_of(table, row);
	const tg_row_lock *other;
	tg_header *header;
	tg_row_lock *lock;
	tg_status status;
	bool covered;

	status = tg_chunk_headers_write(session, tg_version_chunk(head), writer->claim, &header);
	if (status != TG_OK)
		return status;
	header += tg_version_slot(head);
	lock = tg_alloc(session, sizeof(tg_row_lock), TG_USE_LOCK, writer->claim);
	if (lock == NULL)
		return TG_NO_MEMORY;
	*lock = (tg_row_lock){.before = txn->locks,
						  .table = table,
						  .row = row,
						  .txn = tg_writer_number(writer),
						  .subtxn = writer->subtxn,
						  .mode = mode};

	tg_latch_acquire(&part->latch);
	if (!mark(table, row, head, header))
		status = TG_AGAIN;
	else if ((other = find_conflict(part, table, row, tg_writer_number(writer), mode, &covered)) != NULL)
		status = wait_for_holder(other, wait_out);
	else if (!covered)
	{
		add_entry(session, part, lock);
		txn->locks = lock;
		tg_store_relaxed(&txn->lock_count, txn->lock_count + 1);
		lock = NULL;
	}
	tg_latch_release(&part->latch);
	tg_chunk_touch(tg_version_chunk(head), tg_load_relaxed(tg_clock));
	if (lock != NULL)
		tg_free(session, lock, TG_USE_LOCK);
	if (status == TG_BUSY)
		tg_row_lock_queue(writer, table, row, mode, wait_out);
	return status;
}

tg_status
tg_txn_lock(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table, uint32_t *row_inout,
			tg_lock_mode mode, tg_version *version_out, tg_wait *wait_out)
{
	bool entered = tg_txn_enter(writer->session, writer->txn);
	uint32_t first = *row_inout;
	unsigned round = 0;
	tg_status status;

	if (tg_unlikely(writer->txn->shared != NULL))
	{
		status = tg_shared_judge(writer->txn->shared, table);
		if (status != TG_OK)
		{
			tg_txn_leave(writer->session, writer->txn, entered);
			return status;
		}
	}
	for (;; tg_spin(&round))
	{
		tg_version head;
		tg_status locked;

		*row_inout = first;
		status = tg_txn_newest_for(writer, snapshot, table, row_inout, mode, &head, version_out, wait_out);
		if (status == TG_BUSY)
			tg_row_lock_queue(writer, table, *row_inout, mode, wait_out);
		if (status != TG_OK && status != TG_CHANGED)
			break;
		/* A transaction that means to write the row checks the preserve list now (W0). */
		if (mode >= TG_LOCK_NO_KEY_UPDATE && tg_txn_kind_of(writer->txn) != TG_TXN_LONG)
		{
			locked = tg_txn_mind(writer, table, *version_out, NULL, 0, wait_out);
			if (locked != TG_OK)
			{
				status = locked;
				break;
			}
		}
		locked = lock_row(writer, table, *row_inout, head, mode, wait_out);
		if (locked == TG_OK)
			break;
		if (locked != TG_AGAIN)
		{
			status = locked;
			break;
		}
	}
	tg_txn_leave(writer->session, writer->txn, entered);
	return status;
}

/* --- writers ------------------------------------------------------------------------ */

tg_status
tg_row_lock_pass(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, tg_time reference,
				 tg_lock_mode mode, tg_version replacement, tg_wait *wait_out)
{
	lock_part *part = part_of(table, row);
	tg_header *header = tg_version_header(version);
	tg_status status = TG_OK;
	const tg_row_lock *other;
	bool covered;

	tg_latch_acquire(&part->latch);
	if (tg_load_acquire(&header->end) != TG_TIME_LOCKED)
		status = TG_AGAIN;
	else if ((other = find_conflict(part, table, row, tg_writer_number(writer), mode, &covered)) != NULL)
		status = wait_for_holder(other, wait_out);
	else
	{
		/* Rule 3.  The older version's end is stored first, as always (invariant H of write.c). */
		if (replacement != TG_VERSION_NONE && !tg_failpoint_refuses("row_lock_handed_on"))
			tg_store_relaxed(&tg_version_header(replacement)->end, TG_TIME_LOCKED);
		tg_store_release(&header->end, reference);
		if (replacement != TG_VERSION_NONE)
			tg_store_release(tg_row_head(table, row), replacement);
	}
	tg_latch_release(&part->latch);
	if (status == TG_BUSY)
		tg_row_lock_queue(writer, table, row, mode, wait_out);
	return status;
}

bool
tg_row_lock_is_held(const tg_writer *writer, tg_table *table, uint32_t row, tg_lock_mode mode, tg_wait *wait_out)
{
	lock_part *part = part_of(table, row);
	const tg_row_lock *other;
	bool covered;

	tg_latch_acquire(&part->latch);
	other = find_conflict(part, table, row, tg_writer_number(writer), mode, &covered);
	if (other != NULL)
		(void) wait_for_holder(other, wait_out);
	tg_latch_release(&part->latch);
	if (other != NULL)
		tg_row_lock_queue(writer, table, row, mode, wait_out);
	return other != NULL;
}

void
tg_row_lock_reopen(tg_table *table, uint32_t row, tg_version version)
{
	lock_part *part = part_of(table, row);

	tg_latch_acquire(&part->latch);
	tg_store_release(&tg_version_header(version)->end, has_entry(part, table, row) ? TG_TIME_LOCKED : TG_TIME_NEVER);
	tg_latch_release(&part->latch);
}

/* --- prepared transactions ------------------------------------------------------------ */

void
tg_row_lock_move(tg_txn *from, tg_txn *to)
{
	for (tg_row_lock *lock = from->locks; lock != NULL; lock = lock->before)
	{
		lock_part *part = part_of(lock->table, lock->row);

		tg_latch_acquire(&part->latch);
		lock->txn = (uint16_t) tg_txn_number(to);
		lock->subtxn = 0;
		tg_latch_release(&part->latch);
	}
	to->locks = from->locks;
	tg_store_relaxed(&to->lock_count, from->lock_count);
	from->locks = NULL;
	tg_store_relaxed(&from->lock_count, 0);
}

const tg_row_lock *
tg_row_lock_next(const tg_txn *txn, const tg_row_lock *before, tg_table **table_out, uint32_t *row_out,
				 tg_lock_mode *mode_out)
{
	const tg_row_lock *lock = before == NULL ? txn->locks : before->before;

	if (lock == NULL)
		return NULL;
	*table_out = lock->table;
	*row_out = lock->row;
	*mode_out = (tg_lock_mode) lock->mode;
	return lock;
}

/* --- releasing ---------------------------------------------------------------------- */

/* The row has no entries any more: its newest version is made like any other. */
static void
unmark(tg_table *table, uint32_t row)
{
	tg_version head = tg_load_acquire(tg_row_head(table, row));
	tg_header *headers;

	if (tg_head_is_closed(head) || head == TG_VERSION_NONE)
		return;
	headers = tg_chunk_headers(tg_version_chunk(head));
	if (headers == NULL || tg_load_acquire(&headers[tg_version_slot(head)].end) != TG_TIME_LOCKED)
		return;
	tg_store_release(&headers[tg_version_slot(head)].end, TG_TIME_NEVER);
	tg_chunk_touch(tg_version_chunk(head), tg_load_relaxed(tg_clock));
}

void
tg_row_lock_release(tg_session *session, tg_txn *txn, uint32_t count)
{
	while (txn->lock_count > count)
	{
		tg_row_lock *lock = txn->locks;
		lock_part *part = part_of(lock->table, lock->row);

		tg_latch_acquire(&part->latch);
		remove_entry(session, part, lock);
		if (!has_entry(part, lock->table, lock->row))
			unmark(lock->table, lock->row);
		tg_latch_release(&part->latch);
		txn->locks = lock->before;
		tg_store_relaxed(&txn->lock_count, txn->lock_count - 1);
		tg_free(session, lock, TG_USE_LOCK);
	}
}
