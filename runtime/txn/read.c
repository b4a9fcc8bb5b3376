/*
 * read.c
 *	  Which version a snapshot sees (V1, V2).
 *
 * A snapshot sees what committed at or before its time.  A committer publishes
 * PREPARING before it draws its timestamp from the clock (T1), with one
 * sequentially consistent read-modify-write; a snapshot loads its time from the same clock.
 * So whoever loaded a time ≥ C also sees PREPARING or what follows it; and who still finds the writer
 * ACTIVE knows that its C will be larger.  COMMITTED(C) is one store (T2): all versions that refer to the
 * transaction become visible by it at once.
 */
#include "runtime/txn/txn_internal.h"

/* Whether the event that a word names (a begin, an end) has happened for the snapshot. */
static inline bool
has_happened(const tg_snapshot *snapshot, const tg_time *word)
{
	tg_time time;

	switch (tg_time_resolve(word, snapshot->txn, &time))
	{
		case TG_FATE_AT:
			return time <= snapshot->time;
		case TG_FATE_OWN:
			return tg_reference_command(time) < snapshot->command;
		default:
			return false;
	}
}

bool
tg_txn_has_begun(const tg_snapshot *snapshot, const tg_header *header)
{
	return has_happened(snapshot, &header->begin);
}

bool
tg_txn_sees(const tg_snapshot *snapshot, const tg_header *header)
{
	return has_happened(snapshot, &header->begin) && !has_happened(snapshot, &header->end);
}

tg_status
tg_txn_read_chain(const tg_snapshot *snapshot, tg_version head, tg_version *version_out)
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
			header += tg_version_slot(version);
			if (!has_happened(snapshot, &header->begin))
			{
				version = tg_load_acquire(&header->older);
				continue;
			}
			/* What is older than a version that has begun is over for this snapshot. */
			if (has_happened(snapshot, &header->end))
				return TG_NOT_FOUND;
		}
		*version_out = version;
		return TG_OK;
	}
	return TG_NOT_FOUND;
}

tg_status
tg_txn_find(const tg_snapshot *snapshot, tg_table *table, const void *key, size_t key_bytes, uint32_t *row_out,
			tg_version *version_out)
{
	tg_btree *index = tg_load_acquire(&table->index);

	tg_assert(index != NULL);
	if (tg_btree_find(index, key, key_bytes, row_out) != TG_OK)
		return TG_NOT_FOUND;
	return tg_txn_read(snapshot, table, *row_out, version_out);
}
