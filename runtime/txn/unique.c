/*
 * unique.c
 *	  Entries of secondary indexes for a transaction's writes; unique keys.
 *
 * A unique index has no two live rows of one key.  A writer gives a row a key under a latch of the
 * index, chosen by the key's hash (the entries of a key may lie in several leaves, so a leaf's lock
 * would not do).  It looks at every other entry of the key and judges the entry's row by its newest
 * version, as an insertion judges the row of its primary key (W3, W4); then it adds its own entry.
 *
 *	newest version						has the key					has not
 *	live, committed or own				TG_EXISTS					nothing: the entry is stale
 *	ended by an open transaction		TG_BUSY: it may come back	nothing
 *	ended by a commit, or by oneself	nothing						nothing
 *	made by an open transaction, and	TG_BUSY						TG_BUSY if an older version of
 *	that live or not													transaction's, or the one
 *																	that these replaced, has it
 *
 * Why no key is given away twice.  Two writers of one key pass the latch one after the other.
 * Before the first one released the latch, its version was its row's head and its entry was there.
 * So the second writer finds the entry and, on the way to the newest version, that version or its
 * fate:
 * - it is there: committed or open, EXISTS or BUSY;
 * - it has been undone: the row is judged as it was before, and can have got the key again only by
 *	 passing the latch;
 * - it has been ended, or replaced by a version with another key: permanently, if by a commit;
 *	 otherwise BUSY.
 * A version needs no latch if it keeps the key of the version before, which is live and its
 * writer's to replace: the key is that row's already.  A version on a dead row needs the latch even
 * if the dead version has the key, because another row may have it by now.
 *
 * A writer that has to wait for the end of a transaction waits outside, with its own write undone.
 * The latch is held for a descent, a look at each entry of the key, and an insertion.
 *
 * A LONG preserves rows by primary key.  So another transaction may have taken a key that the LONG
 * writes, or given it back, in a row that the LONG does not preserve (L5).  The LONG is serialized
 * at R_L.  So a second question is asked: whether a row that the LONG sees, its own writes done,
 * has the key.  If the two answers differ, another transaction's commit after R_L is the reason,
 * and the LONG has to give up.  This is its only reason to give up that is not another LONG.
 *
 * A key with a NULL differs from every other, unless the index says otherwise.
 *
 * A key that may be given away twice for a while (the host's DEFERRABLE) has an index that is not
 * unique.  Its writers check for themselves, some time after they have added their entries
 * (tg_txn_recheck).  Of two writers of one key, each adds its entry, passes a full fence, and
 * looks: at least one of them finds the other's entry.  A writer that found none need not look
 * again.  A writer that found one looks once more before the commit, waits there for any open
 * transaction, and so finds what the other has committed.
 */
#include "runtime/btree/btree.h"
#include "runtime/txn/read.h"
#include "runtime/txn/txn_internal.h"

#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/index/entry.h"
#include "runtime/index/index.h"
#include "runtime/txn/author.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/writer.h"

#define ROWS_AHEAD 16
#define KEYS_BETWEEN_LOOKS 256 /* of a version with several: between two checks for interruption */

bool (*tg_txn_is_interrupted)(void);

/* --- judging ------------------------------------------------------------------------ */

/* index NULL: the primary key, which a row keeps for life. */
static inline bool
has_key(const tg_index *index, tg_version version, const tg_index_key *key)
{
	return index == NULL || tg_index_has_key(index, version, key->entry, key->bytes);
}

/*
 * For a newest version that an open transaction made.  TG_BUSY if one of the versions that may turn
 * out to be the newest has the key: that transaction's own, and the one before, if it was live.
 */
static tg_status
judge_open(const tg_writer *writer, const tg_index *index, tg_version newest, const tg_index_key *key)
{
	for (tg_version version = newest; version != TG_VERSION_NONE;)
	{
		const tg_header *header = tg_chunk_headers(tg_version_chunk(version));
		tg_time time;
		tg_fate begun;

		if (header == NULL)
			return has_key(index, version, key) ? TG_BUSY : TG_OK;
		header += tg_version_slot(version);
		begun = tg_writer_resolve(writer, &header->begin, &time);
		if (begun == TG_FATE_AT && time != TG_TIME_NEVER)
		{
			/* the version that they replaced, unless it was dead */
			if (tg_writer_resolve(writer, &header->end, &time) == TG_FATE_AT && !tg_time_is_open(time))
				return TG_OK;
			return has_key(index, version, key) ? TG_BUSY : TG_OK;
		}
		/* (a version that has just been undone does not count) */
		if (begun != TG_FATE_AT && has_key(index, version, key))
			return TG_BUSY;
		version = tg_load_acquire(&header->older);
	}
	return TG_OK;
}

/* Judges another row that has an entry of the key. */
static tg_status
judge_row(const tg_writer *writer, tg_table *table, const tg_index *index, uint32_t row, const tg_index_key *key,
		  tg_wait *wait_out)
{
	unsigned round = 0;

	for (;; tg_spin(&round))
	{
		tg_version newest = tg_load_acquire(tg_row_head(table, row));
		const tg_header *header;
		tg_time time;
		bool taken;

		if (tg_head_is_closed(newest) || newest == TG_VERSION_NONE)
			return TG_OK;
		header = tg_chunk_headers(tg_version_chunk(newest));
		if (header == NULL)
			return has_key(index, newest, key) ? TG_EXISTS : TG_OK;
		header += tg_version_slot(newest);
		switch (tg_writer_resolve(writer, &header->begin, &time))
		{
			case TG_FATE_OPEN:
			case TG_FATE_PREPARED:
				if (judge_open(writer, index, newest, key) == TG_OK)
					return TG_OK;
				if (tg_wait_for(&header->begin, wait_out))
					return TG_BUSY;
				continue;
			case TG_FATE_AT:
				if (time == TG_TIME_NEVER)
					continue; /* being undone: the head is about to change */
				break;
			case TG_FATE_OWN:
				break;
		}
		taken = has_key(index, newest, key);
		switch (tg_writer_resolve(writer, &header->end, &time))
		{
			case TG_FATE_OPEN:
			case TG_FATE_PREPARED:
				if (!taken)
					return TG_OK;
				if (tg_wait_for(&header->end, wait_out))
					return TG_BUSY;
				continue;
			case TG_FATE_OWN:
				return TG_OK;
			case TG_FATE_AT:
				if (tg_time_is_open(time))
					return taken ? TG_EXISTS : TG_OK;
				if (tg_load_acquire(tg_row_head(table, row)) != newest)
					continue; /* between the two loads it was replaced, not deleted */
				return TG_OK;
		}
	}
}

/*
 * L5: whether more rows than are allowed, other than these two, have the key in the versions that a
 * LONG sees.  TG_EXISTS, TG_OK, TG_BUSY.
 */
static tg_status
look_at_start(const tg_writer *writer, tg_index *index, const tg_index_key *key, uint32_t own, uint32_t except,
			  unsigned allowed, tg_version *found_out, tg_wait *wait_out)
{
	const tg_snapshot snapshot = {.time = writer->txn->preserve->start,
								  .txn = tg_writer_number(writer),
								  .command = UINT32_MAX,
								  .reader = writer->session->id};
	tg_btree_cursor cursor;
	uint32_t rows[ROWS_AHEAD];
	unsigned count;

	tg_btree_cursor_init(&cursor, index->tree, key->entry, key->bytes, true, key->entry, key->bytes, true, false);
	while ((count = tg_btree_cursor_next(&cursor, rows, ROWS_AHEAD)) > 0)
	{
		for (unsigned i = 0; i < count; i++)
		{
			tg_status status;

			if (rows[i] == own || rows[i] == except)
				continue;
			status = tg_txn_read(&snapshot, index->table, rows[i], found_out, wait_out);
			if (status == TG_BUSY)
				return TG_BUSY;
			if (status == TG_OK && has_key(index, *found_out, key) && allowed-- == 0)
				return TG_EXISTS;
		}
	}
	return TG_OK;
}

/*
 * The key has changed since a LONG has seen it: the row that the wait names has taken it, or (seen)
 * it is free since this version has ended.
 */
static tg_status
give_up_for_long(tg_txn *txn, const tg_index *index, tg_version seen, const tg_wait *wait)
{
	tg_version taker =
		seen == TG_VERSION_NONE ? tg_load_acquire(tg_row_head(index->table, wait->row)) : TG_VERSION_NONE;

	(void) tg_txn_give_up(txn, seen == TG_VERSION_NONE ? TG_CONFLICT_KEY : TG_CONFLICT_ROW, index->table, 0);
	txn->conflict.version = seen; /* which its snapshot keeps */
	if (seen != TG_VERSION_NONE)
		txn->conflict.time = tg_version_ended_at(seen);
	else if (!tg_head_is_closed(taker) && taker != TG_VERSION_NONE)
		txn->conflict.time = tg_version_began_at(taker);
	return TG_CONFLICT;
}

/* status: the answer by the newest versions. */
static tg_status
judge_for_long(const tg_writer *writer, tg_index *index, const tg_index_key *key, uint32_t own, uint32_t except,
			   unsigned allowed, tg_status status, tg_wait *wait_out)
{
	tg_version seen = TG_VERSION_NONE;
	tg_wait wait = {0};
	tg_status at_start;

	if (status == TG_BUSY || tg_failpoint_refuses("skip_l5_unique"))
		return status;
	at_start = look_at_start(writer, index, key, own, except, allowed, &seen, &wait);
	if (at_start == TG_BUSY)
		*wait_out = wait;
	if (at_start == TG_BUSY || at_start == status)
		return at_start;
	return give_up_for_long(writer->txn, index, at_start == TG_EXISTS ? seen : TG_VERSION_NONE, wait_out);
}

/*
 * Judges all entries of the key except those of two rows.  TG_EXISTS if more rows than are allowed
 * have it; TG_BUSY if more might come to have it.  Inside an epoch.
 */
static tg_status
judge_newest(const tg_writer *writer, tg_index *index, const tg_index_key *key, uint32_t own, uint32_t except,
			 unsigned allowed, tg_wait *wait_out)
{
	tg_btree_cursor cursor;
	uint32_t rows[ROWS_AHEAD];
	unsigned count;
	unsigned found = 0;
	bool busy = false;

	tg_btree_cursor_init(&cursor, index->tree, key->entry, key->bytes, true, key->entry, key->bytes, true, false);
	while ((count = tg_btree_cursor_next(&cursor, rows, ROWS_AHEAD)) > 0)
	{
		for (unsigned i = 0; i < count; i++)
		{
			tg_status status;

			if (rows[i] == own || rows[i] == except)
				continue;
			status = judge_row(writer, index->table, index, rows[i], key, wait_out);
			if (status == TG_OK)
				continue;
			busy |= status == TG_BUSY;
			if (found < allowed)
			{
				found += status == TG_EXISTS;
				continue;
			}
			wait_out->index = index;
			wait_out->row = rows[i];
			return status;
		}
	}
	return busy && found == allowed ? TG_BUSY : TG_OK;
}

static tg_status
judge_key(const tg_writer *writer, tg_index *index, const tg_index_key *key, uint32_t own, uint32_t except,
		  unsigned allowed, tg_wait *wait_out)
{
	tg_status status = judge_newest(writer, index, key, own, except, allowed, wait_out);

	if (tg_likely(writer->txn->preserve == NULL))
		return status;
	return judge_for_long(writer, index, key, own, except, allowed, status, wait_out);
}

/* --- adding ------------------------------------------------------------------------- */

static tg_latch *
latch_of(const tg_index *index, const tg_index_key *key)
{
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	for (uint32_t i = 0; i < key->bytes; i++)
		hash = (hash ^ key->entry[i]) * 0x100000001b3;
	return &index->stripes[(hash ^ hash >> 32) % TG_INDEX_STRIPES].latch;
}

static tg_status
add_entry(const tg_writer *writer, tg_index *index, tg_index_key *key, uint32_t row, uint32_t except, tg_wait *wait_out)
{
	tg_latch *latch;
	tg_status status;

	if (!index->spec.unique || key->distinct || tg_index_is_retired(index) || except == TG_EXCEPT_ALL)
		return tg_index_entry_add(writer->session, index, key, row, writer->claim);
	latch = latch_of(index, key);
	tg_latch_acquire(latch);
	status = tg_failpoint_refuses("unique_unjudged") ? TG_OK : judge_key(writer, index, key, row, except, 0, wait_out);
	tg_failpoint("unique_judged");
	if (status == TG_OK)
		status = tg_index_entry_add(writer->session, index, key, row, writer->claim);
	tg_latch_release(latch);
	return status;
}

tg_status
tg_entries_add(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version, tg_version older,
			   uint32_t except, tg_wait *wait_out)
{
	tg_index *index = tg_index_first(table);

	if (tg_likely(index == NULL))
		return TG_OK;
	tg_fence_seq_cst(); /* index.c, 2: the head is stored before any entry is looked at */
	for (; index != NULL; index = tg_index_next(index))
	{
		bool inherits = older != TG_VERSION_NONE && !tg_load_acquire(&index->filling);
		tg_index_keys keys;
		tg_status status;

		/*
		 * During filling the older version may be cut out before the build reaches it
		 * (index_build.c).
		 */
		if (inherits && tg_index_is_same(index, version, older))
			continue;
		status = tg_index_keys_open_anew(writer->session, index, version, &keys);
		while (status == TG_OK && tg_index_keys_next(&keys))
		{
			if (keys.next % KEYS_BETWEEN_LOOKS == 0 && tg_txn_is_interrupted != NULL && tg_txn_is_interrupted())
				return TG_CANCELLED;
			if (!keys.several || !inherits || !tg_index_has_key(index, older, keys.key.entry, keys.key.bytes))
				status = add_entry(writer, index, &keys.key, row, except, wait_out);
		}
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

/* --- looking ------------------------------------------------------------------------ */

static tg_status
probe_index(const tg_writer *writer, tg_index *index, const tg_value *values, const bool *nulls, unsigned allowed,
			tg_wait *wait_out)
{
	tg_index_key key;
	tg_status status = tg_index_key_of_values(index, values, nulls, writer->hidden, &key);

	if (status == TG_NOT_FOUND)
		return TG_OK; /* no row has it */
	if (status != TG_OK || !key.present || key.distinct)
		return status;
	return judge_key(writer, index, &key, TG_ROW_MAX, TG_ROW_MAX, allowed, wait_out);
}

static tg_status
probe_primary(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes, tg_wait *wait_out)
{
	uint32_t row;
	tg_status status;

	if (tg_btree_find(tg_load_acquire(&table->index), key, key_bytes, &row) != TG_OK)
		return TG_OK;
	status = judge_row(writer, table, NULL, row, NULL, wait_out);
	wait_out->index = NULL;
	wait_out->row = row;
	return status;
}

tg_status
tg_txn_probe(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes, tg_index *index,
			 const tg_value *values, const bool *nulls, tg_wait *wait_out)
{
	tg_status status;
	bool entered;

	status = tg_txn_enter_shared(writer->session, writer->txn, table, &entered);
	if (status != TG_OK)
		return status;
	tg_epoch_enter(writer->session);
	if (key != NULL)
		status = probe_primary(writer, table, key, key_bytes, wait_out);
	if (index != NULL && status == TG_OK)
		status = probe_index(writer, index, values, nulls, 0, wait_out);
	else if (index == NULL)
	{
		for (index = tg_index_first(table); index != NULL && status == TG_OK; index = tg_index_next(index))
			if (index->spec.unique && !tg_index_is_retired(index))
				status = probe_index(writer, index, values, nulls, 0, wait_out);
	}
	tg_epoch_leave(writer->session);
	tg_txn_leave(writer->session, writer->txn, entered);
	/* W4: a SHORT does not wait. */
	if (tg_unlikely(status == TG_BUSY) && tg_txn_kind_of(writer->txn) == TG_TXN_SHORT)
		return tg_txn_give_up(writer->txn, TG_CONFLICT_TAKEN, table, wait_out->host);
	return status;
}

tg_status
tg_txn_recheck(const tg_writer *writer, tg_index *index, const tg_value *values, const bool *nulls, bool waits,
			   tg_wait *wait_out)
{
	tg_status status;
	bool entered;

	status = tg_txn_enter_shared(writer->session, writer->txn, index->table, &entered);
	if (status != TG_OK)
		return status;
	tg_epoch_enter(writer->session);
	tg_fence_seq_cst(); /* the own entries are stored before the others' are looked at */
	status = probe_index(writer, index, values, nulls, 1, wait_out);
	tg_epoch_leave(writer->session);
	tg_txn_leave(writer->session, writer->txn, entered);
	if (tg_unlikely(status == TG_BUSY) && waits && tg_txn_kind_of(writer->txn) == TG_TXN_SHORT)
		return tg_txn_give_up(writer->txn, TG_CONFLICT_TAKEN, index->table, wait_out->host);
	return status;
}

tg_status
tg_unique_judge(tg_session *session, tg_index *index, const tg_index_key *key, uint32_t row, tg_wait *wait_out)
{
	/* no session waits for the writes of its own transaction */
	const tg_writer writer = {.session = session, .txn = &tg_txns->txn[session->id]};

	return judge_row(&writer, index->table, index, row, key, wait_out);
}
