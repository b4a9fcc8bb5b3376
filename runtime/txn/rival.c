/*
 * rival.c
 *	  Rivals: the versions that a row which has been written may have to give way to.
 *
 * A constraint says that no two rows, as they are to be in the end, stand against each other; what that means only the host
 * can tell, from both rows' values.  There is no key that its writers could meet at, as at that of
 * a unique index (unique.c), nor a latch that could be held while the host computes.  So (W8):
 *
 *	1. who writes a row first writes it: its version is the row's head, its entries are in the index;
 *	2. he passes a full fence;
 *	3. then he looks at the rows of all entries that rivals may have, and judges each by its newest version.
 *
 * Why no two of them come to be.  Of two that stand against each other the entries are in the ranges that the other one
 * looks at (the host sees to that), and both have been added before the fence of their writer.  One of the two fences is the later
 * one; who passed it finds the other's entry, and on the way from it to the newest version of that row the version or
 * what came of it:
 *
 *	newest version							what it is for the one who looks
 *	committed or own, and has not ended		LIVE: he has to give way
 *	of an open transaction					OPEN, with each that may be the newest once that has ended, or taken back
 *											a part: that transaction's own, and what they replaced, if it was live
 *	ended by an open transaction			OPEN: it may come back
 *	ended by a commit, or by oneself		nothing, if it is the row's newest still
 *
 * Who finds an OPEN one that stands against his row waits, his row in its place, and looks again: so of two who find each other
 * one waits in a circle, which the host's deadlock detector opens, and of two where only one finds the other that one alone
 * waits.  Had he looked first and written then, both may have looked before either wrote.
 *
 * It is the row that is judged, by the values of the versions that it has now, not the entry, which may be stale, or
 * of another row that has the number by now: what is found in vain costs a look.
 *
 * A version that keeps what the constraint is about need not be looked for: whoever came after the version that it
 * replaces has looked at that one.
 *
 * A LONG's place is R_L: so it is asked as well what it sees there.  Where one of the two stands against the row and the
 * other does not, another's commit after R_L is the reason, and it gives up (L5).
 */
#include "runtime/txn/rival.h"

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
	tg_fence_seq_cst(); /* one's own entries before the look at the others' */
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
 * The next entry's row.  There are many ranges, and few of them have entries: so the cursor walks from the first one to the last, and
 * where it comes out of a range it is set at the next one that can have what follows.
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

/* What is handed out of one row. */
typedef struct Found
{
	tg_rival *versions;
	unsigned capacity;
	unsigned count; /* those for which there is no room, too */
} Found;

static void
add(Found *found, tg_rival_kind kind, tg_version version)
{
	if (found->count < found->capacity)
		found->versions[found->count] = (tg_rival){.kind = kind, .version = version};
	found->count++;
}

/*
 * The newest version is of an open transaction: all that may turn out to be the newest.  It may have ended since, and another one replaced
 * what it left, and committed: then each version here is found ended, and none counts.  Whoever reads that commit's
 * end of a version reads its head, too, which has been set before: so what is found counts if the head is the same afterwards.
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
		begun = tg_time_resolve(&header->begin, tg_writer_number(writer), &time);
		if (begun == TG_FATE_AT && time != TG_TIME_NEVER)
		{
			/* what they replaced, unless it was dead */
			if (tg_time_resolve(&header->end, tg_writer_number(writer), &time) != TG_FATE_AT || tg_time_is_open(time))
				add(found, TG_RIVAL_OPEN, version);
			return;
		}
		/* (one that has just been undone has no part in it) */
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
		switch (tg_time_resolve(&header->begin, tg_writer_number(writer), &time))
		{
			case TG_FATE_OPEN:
			case TG_FATE_PREPARED:
				if (!tg_wait_for(&header->begin, wait_out))
					continue;
				tg_failpoint("rival_open");
				add_open(writer, newest, found);
				if (tg_load_acquire(tg_row_head(table, row)) == newest || tg_failpoint_refuses("skip_w8_head"))
					return;
				found->count = 0; /* of this row so far */
				continue;
			case TG_FATE_AT:
				if (time == TG_TIME_NEVER)
					continue; /* being undone: the head is about to change */
				break;
			case TG_FATE_OWN:
				break;
		}
		switch (tg_time_resolve(&header->end, tg_writer_number(writer), &time))
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
	const tg_snapshot snapshot = {
		.time = writer->txn->preserve->start, .txn = tg_writer_number(writer), .command = UINT32_MAX};
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
	tg_txn_undo_newest(writer->session, writer->txn, 1);
	tg_epoch_leave(writer->session);
	tg_txn_leave(writer->session, writer->txn, entered);
}
