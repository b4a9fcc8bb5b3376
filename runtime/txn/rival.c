/*
 * rival.c
 *	  Rivals: the versions that a row which has been written may have to give way to.
 *
 * A constraint says that no two rows, as they are to be in the end, conflict with each other.  Only
 * the host can tell whether two rows conflict, from the values of both.  There is no key at which
 * their writers could meet, as they do at that of a unique index (unique.c), nor a latch that could
 * be held while the host computes.  So (W8):
 *
 *	1. a writer first writes its row: its version is the row's head, its entries are in the index;
 *	2. it passes a full fence;
 *	3. then it looks at the rows of all entries that rivals may have, and judges each row by its
 *	   newest version.
 *
 * Two conflicting rows cannot both come to be.  The entries of each are in the ranges that the
 * other writer looks at (the host sees to that), and each writer has added its entries before its
 * fence.  One of the two fences is the later one.  The writer that passed it finds the other's
 * entry and, on the way from that entry to the row's newest version, the other's version or what
 * came of it:
 *
 *	newest version					what it is for the writer that looks
 *	committed or own, not ended		LIVE: the writer has to give way
 *	of an open transaction			OPEN, with each version that may be the newest once that
 *									transaction has ended or has taken back a part: its own
 *									versions, and the version that they replaced, if that was live
 *	ended by an open transaction	OPEN: it may come back
 *	ended by a commit, or by the	nothing, if it is still the row's newest
 *	writer itself
 *
 * A writer that finds an OPEN version which conflicts with its row waits, with its row in place,
 * and looks again.  If two writers find each other, both wait, and the host's deadlock detector
 * breaks the cycle; if only one finds the other, that one alone waits.  If writers looked first and
 * wrote afterwards, both might have looked before either wrote.
 *
 * The row is judged by the values of the versions that it has now, not by the entry: the entry may
 * be stale, or belong to another row that has the number by now.  A row found in vain costs a look.
 *
 * A version that keeps the values which the constraint is about need not be looked for: every
 * writer that came after the version that it replaces has looked at that one.
 *
 * A LONG's place is R_L, so it is also asked what it sees there.  If one of the two versions
 * conflicts with the row and the other does not, another transaction's commit after R_L is the
 * reason, and the LONG gives up (L5).
 */
#include "runtime/txn/rival.h"

#include "runtime/mem/session.h"
#include "runtime/index/entry.h"
#include "runtime/index/index.h"
#include "runtime/txn/read.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/txn_internal.h"

/* --- rows ----------------------------------------------------------------------------- */

static void
restart(tg_rivals *rivals)
{
	const tg_key_range *first = &rivals->ranges[rivals->at];
	const tg_key_range *last = &rivals->ranges[rivals->range_count - 1];

	tg_btree_cursor_init(&rivals->cursor, rivals->index->tree, first->low, first->low_bytes, true, last->high,
						 last->high_bytes, true, false);
	rivals->taken = rivals->count = 0;
}

void
tg_rivals_begin(tg_rivals *rivals, const tg_writer *writer, tg_index *index, uint32_t own, const tg_key_range *ranges,
				unsigned range_count)
{
	rivals->writer = writer;
	rivals->index = index;
	rivals->own = own;
	rivals->ranges = ranges;
	rivals->range_count = range_count;
	rivals->at = 0;
	tg_fence_seq_cst(); /* the writer's own entries before the look at the others' */
	restart(rivals);
}

tg_status
tg_rivals_enter(tg_rivals *rivals)
{
	const tg_writer *writer = rivals->writer;
	tg_status status = tg_txn_enter_shared(writer->session, writer->txn, rivals->index->table, &rivals->entered);

	if (status == TG_OK)
		tg_epoch_enter(writer->session);
	return status;
}

void
tg_rivals_leave(tg_rivals *rivals)
{
	tg_epoch_leave(rivals->writer->session);
	tg_txn_leave(rivals->writer->session, rivals->writer->txn, rivals->entered);
}

/*
 * The next entry's row.  There are many ranges, and few of them have entries.  So the cursor walks
 * from the first range to the last; where it leaves a range, it is set at the next one that can
 * contain the keys that follow.
 */
static bool
next_row(tg_rivals *rivals, uint32_t *row_out)
{
	for (;;)
	{
		const unsigned char *key;
		size_t bytes;

		if (rivals->taken == rivals->count)
		{
			tg_btree_keys keys = {.bytes = rivals->entries, .capacity = sizeof(rivals->entries)};

			rivals->taken = 0;
			rivals->count = tg_btree_cursor_next_keys(&rivals->cursor, rivals->rows, TG_RIVALS_AHEAD, &keys);
			rivals->next = rivals->entries;
			if (rivals->count == 0)
				return false;
		}
		rivals->next = tg_index_entry_next(rivals->next, &key, &bytes);
		while (tg_key_is_above(key, bytes, &rivals->ranges[rivals->at]))
			if (++rivals->at == rivals->range_count)
				return false;
		if (tg_key_is_below(key, bytes, &rivals->ranges[rivals->at]))
		{
			restart(rivals);
			continue;
		}
		*row_out = rivals->rows[rivals->taken++];
		return true;
	}
}

tg_status
tg_rivals_step(tg_rivals *rivals, uint32_t *row_out)
{
	do
	{
		if (!next_row(rivals, row_out))
			return TG_NOT_FOUND;
	} while (*row_out == rivals->own);
	return TG_OK;
}

/* --- versions -------------------------------------------------------------------------- */

/* The versions of one row that are handed out. */
typedef struct Found
{
	tg_rival *versions;
	unsigned capacity;
	unsigned count; /* including those for which there is no room */
} Found;

static void
add(Found *found, tg_rival_kind kind, tg_version version)
{
	if (found->count < found->capacity)
		found->versions[found->count] = (tg_rival){.kind = kind, .version = version};
	found->count++;
}

/*
 * The newest version belongs to an open transaction: collects all versions that may turn out to be
 * the newest.  That transaction may have ended since, and another may have replaced what it left,
 * and committed.  Then each version here is found ended, and none counts.  A reader that sees the
 * end that such a commit gave a version sees its head, too, which was set before.  So what is found
 * counts if the head is the same afterwards.
 */
static void
add_open(const tg_writer *writer, tg_version newest, Found *found)
{
	for (tg_version version = newest; version != TG_VERSION_NONE;)
	{
		const tg_header *header = tg_chunk_headers(tg_version_chunk(version));
		tg_time time;
		tg_fate begun;

		if (header == NULL)
		{
			add(found, TG_RIVAL_OPEN, version);
			return;
		}
		header += tg_version_slot(version);
		begun = tg_writer_resolve(writer, &header->begin, &time);
		if (begun == TG_FATE_AT && time != TG_TIME_NEVER)
		{
			/* the version that they replaced, unless it was dead */
			if (tg_writer_resolve(writer, &header->end, &time) != TG_FATE_AT || tg_time_is_open(time))
				add(found, TG_RIVAL_OPEN, version);
			return;
		}
		/* (a version that has just been undone has no part in it) */
		if (begun != TG_FATE_AT)
			add(found, TG_RIVAL_OPEN, version);
		version = tg_load_acquire(&header->older);
	}
}

static void
add_newest(const tg_writer *writer, tg_table *table, uint32_t row, Found *found, tg_wait *wait_out)
{
	unsigned round = 0;

	for (;; tg_spin(&round))
	{
		tg_version newest = tg_load_acquire(tg_row_head(table, row));
		const tg_header *header;
		tg_time time;

		if (tg_head_is_closed(newest) || newest == TG_VERSION_NONE)
			return;
		header = tg_chunk_headers(tg_version_chunk(newest));
		if (header == NULL)
		{
			add(found, TG_RIVAL_LIVE, newest);
			return;
		}
		header += tg_version_slot(newest);
		switch (tg_writer_resolve(writer, &header->begin, &time))
		{
			case TG_FATE_OPEN:
			case TG_FATE_PREPARED:
				if (!tg_wait_for(&header->begin, wait_out))
					continue;
				tg_failpoint("rival_open");
				add_open(writer, newest, found);
				if (tg_load_acquire(tg_row_head(table, row)) == newest || tg_failpoint_refuses("skip_w8_head"))
					return;
				found->count = 0; /* found so far of this row */
				continue;
			case TG_FATE_AT:
				if (time == TG_TIME_NEVER)
					continue; /* being undone: the head is about to change */
				break;
			case TG_FATE_OWN:
				break;
		}
		switch (tg_writer_resolve(writer, &header->end, &time))
		{
			case TG_FATE_OPEN:
			case TG_FATE_PREPARED:
				if (!tg_wait_for(&header->end, wait_out))
					continue;
				add(found, TG_RIVAL_OPEN, newest);
				return;
			case TG_FATE_OWN:
				return;
			case TG_FATE_AT:
				if (tg_time_is_open(time))
					add(found, TG_RIVAL_LIVE, newest);
				else if (tg_load_acquire(tg_row_head(table, row)) != newest)
					continue; /* replaced, not deleted, between the two looks */
				return;
		}
	}
}

static void
add_at_start(const tg_writer *writer, tg_table *table, uint32_t row, Found *found, tg_wait *wait_out)
{
	const tg_snapshot snapshot = {.time = writer->txn->preserve->start,
								  .txn = tg_writer_number(writer),
								  .command = UINT32_MAX,
								  .reader = writer->session->id};
	tg_version version;
	tg_status status = tg_txn_read(&snapshot, table, row, &version, wait_out);

	if (status == TG_OK)
		add(found, TG_RIVAL_AT_START, version);
	else if (status == TG_BUSY)
		add(found, TG_RIVAL_UNKNOWN, TG_VERSION_NONE);
}

unsigned
tg_rivals_look(tg_rivals *rivals, uint32_t row, tg_rival *versions, unsigned capacity, tg_wait *wait_out)
{
	const tg_writer *writer = rivals->writer;
	tg_table *table = rivals->index->table;
	Found found = {.versions = versions, .capacity = capacity};

	add_newest(writer, table, row, &found, wait_out);
	if (tg_unlikely(writer->txn->preserve != NULL))
		add_at_start(writer, table, row, &found, wait_out);
	return found.count;
}

/* --- what comes of it -------------------------------------------------------------------- */

tg_status
tg_rivals_wait(const tg_rivals *rivals, const tg_wait *wait)
{
	/* W4: a SHORT does not wait */
	if (tg_txn_kind_of(rivals->writer->txn) == TG_TXN_SHORT)
		return tg_txn_give_up(rivals->writer->txn, TG_CONFLICT_TAKEN, rivals->index->table, wait->host);
	return TG_BUSY;
}

tg_status
tg_rivals_differ(const tg_rivals *rivals)
{
	return tg_txn_give_up(rivals->writer->txn, TG_CONFLICT_ROW, rivals->index->table, 0);
}

void
tg_rivals_take_back(const tg_writer *writer)
{
	bool entered = tg_txn_enter(writer->session, writer->txn);

	tg_epoch_enter(writer->session);
	tg_txn_undo_newest(writer, 1);
	tg_epoch_leave(writer->session);
	tg_txn_leave(writer->session, writer->txn, entered);
}
