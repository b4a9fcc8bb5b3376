/*
 * read.c
 *	  Which version a snapshot sees (V1, V2).
 *
 * A snapshot sees the transactions that committed at or before its time.  A committer publishes
 * PREPARING before it draws its timestamp from the clock (T1), with one sequentially consistent
 * read-modify-write; a snapshot loads its time from the same clock.  So a reader that loaded a time
 * ≥ C also sees PREPARING or a later state; and a reader that still finds the writer ACTIVE knows
 * that its C will be larger.  COMMITTED(C) is one store (T2): it makes all versions that refer to
 * the transaction visible at once.
 *
 * PREPARED(C) with C within the snapshot is undecided: the reader has to know the outcome.  It
 * polls for a while, and is then told which transaction to wait for, outside the epoch.  Such a
 * wait is for a C at or below the snapshot, and that transaction's validation waits for smaller
 * ones only: so there is no cycle.
 *
 * A snapshot may exclude commits (M2).  Then it excludes everything that depends on them, too,
 * which has a C above the snapshot's time.  So in the chain of a row, the versions that have begun
 * for the snapshot are still the older part.
 */
#include "runtime/txn/read.h"

#include "runtime/btree/btree.h"
#include "runtime/txn/txn_internal.h"

#include "runtime/base/failpoint.h"

/* Polls of a PREPARED transaction before the caller is told to wait; most end within that time. */
#define PREPARED_LOOKS 512

/* V1, V2: whether the event that a word names (a begin, an end) has happened for the snapshot. */
static inline tg_sight
has_happened(const tg_snapshot *snapshot, const tg_time *word)
{
	tg_time time;

	for (unsigned looks = 0;;)
	{
		switch (tg_time_resolve(word, snapshot->txn, &time))
		{
			case TG_FATE_AT:
				if (!tg_snapshot_covers(snapshot, time))
					return TG_UNSEEN;
				if (tg_unlikely(time > snapshot->flushed))
					tg_unflushed_meet(snapshot->reader, time); /* R5 */
				return TG_SEEN;
			case TG_FATE_OWN:
				return tg_reference_command(time) < snapshot->command ? TG_SEEN : TG_UNSEEN;
			case TG_FATE_OPEN:
				return TG_UNSEEN;
			case TG_FATE_PREPARED:
				if (!tg_snapshot_covers(snapshot, time) || tg_failpoint_refuses("prepared_unseen"))
					return TG_UNSEEN;
				if (looks >= PREPARED_LOOKS)
					return TG_UNDECIDED;
				tg_spin(&looks);
				break;
		}
	}
}

bool
tg_txn_has_begun(const tg_snapshot *snapshot, const tg_header *header)
{
	return has_happened(snapshot, &header->begin) == TG_SEEN;
}

tg_sight
tg_txn_sees(const tg_snapshot *snapshot, const tg_header *header, tg_wait *wait_out)
{
	for (;;)
	{
		tg_sight begun = has_happened(snapshot, &header->begin);
		tg_sight ended;

		if (begun == TG_UNSEEN)
			return TG_UNSEEN;
		if (begun == TG_UNDECIDED)
		{
			if (tg_wait_for_outcome(&header->begin, wait_out))
				return TG_UNDECIDED;
			continue;
		}
		ended = has_happened(snapshot, &header->end);
		if (ended == TG_UNDECIDED)
		{
			if (tg_wait_for_outcome(&header->end, wait_out))
				return TG_UNDECIDED;
			continue;
		}
		return ended == TG_SEEN ? TG_UNSEEN : TG_SEEN;
	}
}

/*
 * Whether the snapshot's own transaction has ended a copy that began after the snapshot
 * (relocate.c, 8).  The copy has the values that the snapshot sees in the original, so that end
 * applies to them.
 */
static bool
has_ended_copy(const tg_snapshot *snapshot, const tg_header *copy)
{
	return tg_header_is_copy(copy) && has_happened(snapshot, &copy->end) == TG_SEEN;
}

bool
tg_version_has_ended_as_copy(const tg_snapshot *snapshot, const tg_header *header, tg_version version)
{
	tg_version copy;

	if (!tg_header_has_copy(header))
		return false;
	copy = tg_version_copy_of(version);
	return copy != TG_VERSION_NONE && has_ended_copy(snapshot, tg_version_header(copy));
}

tg_status
tg_txn_read_chain(const tg_snapshot *snapshot, tg_version head, tg_version *version_out, tg_wait *wait_out)
{
	tg_version version = head;

	tg_assert(snapshot->time >= TG_TIME_FIRST);
	if (tg_head_is_closed(version))
		return TG_NOT_FOUND;
	while (version != TG_VERSION_NONE)
	{
		const tg_header *header = tg_chunk_headers(tg_version_chunk(version));

		if (header != NULL)
		{
			tg_sight begun;
			tg_sight ended;

			header += tg_version_slot(version);
			begun = has_happened(snapshot, &header->begin);
			if (begun == TG_UNSEEN)
			{
				if (tg_unlikely(has_ended_copy(snapshot, header)))
					return TG_NOT_FOUND;
				version = tg_load_acquire(&header->older);
				continue;
			}
			if (tg_unlikely(begun == TG_UNDECIDED))
			{
				if (tg_wait_for_outcome(&header->begin, wait_out))
					return TG_BUSY;
				continue;
			}
			/* The versions below one that has begun have ended for this snapshot. */
			ended = has_happened(snapshot, &header->end);
			if (tg_unlikely(ended == TG_UNDECIDED))
			{
				if (tg_wait_for_outcome(&header->end, wait_out))
					return TG_BUSY;
				continue;
			}
			if (ended == TG_SEEN && !tg_failpoint_refuses("skip_v2"))
				return TG_NOT_FOUND;
		}
		*version_out = version;
		return TG_OK;
	}
	return TG_NOT_FOUND;
}

bool
tg_version_is_overtaken(const tg_snapshot *snapshot, tg_version version)
{
	const tg_header *header = tg_chunk_headers(tg_version_chunk(version));
	tg_time end;

	if (header == NULL)
		return false;
	header += tg_version_slot(version);
	if (tg_likely(tg_time_is_open(tg_load_acquire(&header->end))))
		return false;
	return tg_time_resolve(&header->end, snapshot->txn, &end) == TG_FATE_AT && !tg_time_is_open(end) &&
		   !tg_header_has_copy(header);
}

tg_status
tg_txn_find(const tg_snapshot *snapshot, tg_table *table, const void *key, size_t key_bytes, uint32_t *row_out,
			tg_version *version_out, tg_wait *wait_out)
{
	tg_btree *index = tg_load_acquire(&table->index);

	tg_assert(index != NULL);
	if (tg_btree_find(index, key, key_bytes, row_out) != TG_OK)
		return TG_NOT_FOUND;
	return tg_txn_read(snapshot, table, *row_out, version_out, wait_out);
}

tg_status
tg_txn_follow(const tg_snapshot *snapshot, tg_table *table, uint32_t *row_inout)
{
	tg_version version = tg_load_acquire(tg_row_head(table, *row_inout));

	if (tg_head_is_closed(version))
		return TG_NOT_FOUND;
	while (version != TG_VERSION_NONE)
	{
		const tg_header *header = tg_chunk_headers(tg_version_chunk(version));
		uint32_t successor;

		if (header == NULL)
			return TG_NOT_FOUND;
		header += tg_version_slot(version);
		if (has_happened(snapshot, &header->begin) != TG_SEEN && !has_ended_copy(snapshot, header))
		{
			version = tg_load_acquire(&header->older);
			continue;
		}
		successor = tg_load_relaxed(&header->successor);
		if (has_happened(snapshot, &header->end) != TG_SEEN || successor == 0 || successor >= TG_SUCCESSOR_ELSEWHERE)
			return TG_NOT_FOUND;
		*row_inout = successor - 1;
		return TG_OK;
	}
	return TG_NOT_FOUND;
}
