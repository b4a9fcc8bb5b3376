/*
 * carry.c
 *	  Rows that are stored anew take their past with them.
 *
 *	  old storage							new storage
 *	  head --> v3 [9, ref T)				head --> w4 [ref T, NEVER)	T's own write, made again
 *				v2 [7, 9)	a snapshot reads		 w3 [9, ref T)
 *				v1 [4, 7)	at 5					 w1 [4, 7)
 *				v0 [2, 4)	no snapshot reads it
 *
 * Committed versions keep their times.  So for every snapshot, V1 and V2 give the same answers in
 * the new storage as in the old one, and reads of the new storage are validated (S1, S2) by the
 * times that changes had in the old one.  No commit is needed to make the versions visible, and no
 * undo to take them back: the new storage exists as a whole or not at all.
 *
 * 1. The readings are gathered when no other transaction can write any more, and a version is
 *	  carried unless they miss it (G2, G3): a later reader reads at one of these times, or at a
 *	  later one.  Among versions of one life that follow each other without gaps in time, the missed
 *	  ones are left out, as pruning would cut them out (prune.c, 3 and 4).  A dead version, or one
 *	  that is LIFE_NEW, is left out only at or below the horizon, and then all versions below it
 *	  are, too.
 * 2. A row keeps its key, so its lives share a row here, too.  A dead row is carried with its key,
 *	  and an insert of that key finds it (W3).
 * 3. A copy (relocate.c) counts as its original, which was settled before every snapshot: it begins
 *	  at TG_TIME_FIRST, with nothing below.  A version that is being copied at this moment is the
 *	  newest, so it has not ended.  But if its copy has ended since, and was cut out, the original
 *	  is there for a snapshot from before the copying: then it ends at the time of copying.
 * 4. A version that has ended becomes garbage one day, so a log must have an entry for it.  These
 *	  entries are given before any other log that concerns the new storage.  All of them are due at
 *	  one time, which was loaded when no other transaction could write any more, and which precedes
 *	  every such log's: so the entries of a row are at hand together (prune.c, 8).  The time of
 *	  giving would not do, because the own transaction may have drawn its C long before
 *	  (tg_txn_prepare).
 * 5. Own writes are not carried.  The host makes them again on top of the carried versions, as
 *	  writes that it can commit or undo.
 * 6. An UPDATE of the key names its successor for READ COMMITTED (W5).  A statement that follows
 *	  such a name has a snapshot from before that UPDATE and holds the host's lock on the table, so
 *	  the host cannot write the table anew meanwhile.  Therefore names of rows are left out.
 */
#include "runtime/txn/carry.h"

#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"
#include "runtime/table/store.h"
#include "runtime/table/write_log.h"
#include "runtime/reclaim/collector.h"
#include "runtime/txn/read.h"
#include "runtime/txn/txn_internal.h"

#define LOOKS_PER_EPOCH 4096 /* at heads of rows */

const tg_past tg_past_settled = {.begin = TG_TIME_FIRST, .end = TG_TIME_NEVER};

void
tg_carrier_init(tg_carrier *carrier, tg_session *session, tg_table *from, tg_table *to, uint32_t txn,
				tg_write_log **garbage)
{
	carrier->session = session;
	carrier->from = from;
	carrier->to = to;
	to->logged_whole = true; /* its rows are in no write log */
	carrier->txn = txn;
	carrier->garbage = garbage;
	tg_readings_gather(&carrier->readings);
	carrier->upto = tg_load_seq_cst(tg_clock);
}

/* --- the old storage -------------------------------------------------------------------- */

/* The header of a row's newest version, or NULL: it has no version, or a settled one. */
static const tg_header *
newest_header(const tg_carrier *carrier, uint32_t row)
{
	tg_version head = tg_load_acquire(tg_row_head(carrier->from, row));
	const tg_header *headers;

	if (tg_head_is_closed(head) || head == TG_VERSION_NONE)
		return NULL;
	headers = tg_chunk_headers(tg_version_chunk(head));
	return headers != NULL ? headers + tg_version_slot(head) : NULL;
}

void
tg_carrier_look(const tg_carrier *carrier, const uint32_t *rows, unsigned count, bool *has_past_out)
{
	tg_epoch_enter(carrier->session);
	for (unsigned i = 0; i < count; i++)
	{
		const tg_header *header = newest_header(carrier, rows[i]);

		/* a reference compares greater than any time */
		has_past_out[i] = header != NULL && (tg_load_acquire(&header->begin) > carrier->readings.horizon ||
											 tg_load_acquire(&header->end) != TG_TIME_NEVER ||
											 tg_load_acquire(&header->older) != TG_VERSION_NONE);
	}
	tg_epoch_leave(carrier->session);
}

/*
 * The times of a version as other transactions see them.  False: none sees it, or will, except
 * perhaps its own transaction.  is_newest: no version was above it.
 */
static bool
take_times(const tg_carrier *carrier, const tg_header *header, bool is_newest, tg_past *past, bool *own_inout)
{
	tg_fate began = tg_time_resolve(&header->begin, carrier->txn, &past->begin);
	tg_fate ended = tg_time_resolve(&header->end, carrier->txn, &past->end);

	past->life = tg_load_relaxed(&header->life) & (TG_LIFE_NEW | TG_LIFE_SEVERAL);
	past->successor = tg_load_relaxed(&header->successor) == TG_SUCCESSOR_ELSEWHERE ? TG_SUCCESSOR_ELSEWHERE : 0;
	*own_inout |= began == TG_FATE_OWN || ended == TG_FATE_OWN;
	if (ended != TG_FATE_AT || tg_time_is_open(past->end) || (is_newest && tg_header_has_copy(header)))
	{
		past->end = TG_TIME_NEVER;
		past->successor = 0;
	}
	if (tg_header_is_copy(header)) /* 3 */
	{
		past->begin = TG_TIME_FIRST;
		return true;
	}
	return began == TG_FATE_AT && past->begin < TG_TIME_UNLINKED;
}

unsigned
tg_carrier_past(const tg_carrier *carrier, uint32_t row, tg_past *past, unsigned capacity, bool *own_out)
{
	tg_version head = tg_load_acquire(tg_row_head(carrier->from, row));
	tg_version version = head;
	uint32_t life_above = TG_LIFE_NEW; /* the newest version counts as not replaced */
	unsigned count = 0;

	*own_out = false;
	if (tg_head_is_closed(head))
		return 0;
	while (version != TG_VERSION_NONE)
	{
		const tg_header *header = tg_chunk_headers(tg_version_chunk(version));
		tg_past one = tg_past_settled;

		if (header != NULL)
			header += tg_version_slot(version);
		if (header == NULL || take_times(carrier, header, version == head, &one, own_out))
		{
			bool replaced = (life_above & TG_LIFE_NEW) == 0;

			if (one.end <= carrier->readings.horizon)
				break;
			if (!replaced || (one.life & TG_LIFE_NEW) != 0 || !tg_readings_miss(&carrier->readings, one.begin, one.end))
			{
				one.version = version;
				one.is_last = !replaced && one.end != TG_TIME_NEVER;
				if (count < capacity)
					past[count] = one;
				count++;
			}
		}
		life_above = one.life;
		if (header == NULL || tg_header_is_copy(header))
			break;
		version = tg_load_acquire(&header->older);
	}
	return count;
}

bool
tg_carrier_find_ended(const tg_carrier *carrier, const tg_snapshot *snapshot, uint32_t *row_inout)
{
	uint32_t end = tg_load_acquire(&carrier->from->row_next);
	bool found = false;

	tg_epoch_enter(carrier->session);
	for (unsigned i = 0; !found && i < LOOKS_PER_EPOCH && *row_inout < end; i++)
	{
		tg_version version;
		tg_wait wait;
		bool own;

		found = newest_header(carrier, *row_inout) != NULL &&
				tg_txn_read(snapshot, carrier->from, *row_inout, &version, &wait) != TG_OK &&
				tg_carrier_past(carrier, *row_inout, NULL, 0, &own) > 0;
		*row_inout += !found;
	}
	if (*row_inout == end)
		*row_inout = TG_ROW_MAX;
	tg_epoch_leave(carrier->session);
	return found;
}

/* --- the new storage ---------------------------------------------------------------------- */

/* 4. */
static void
note_garbage(const tg_carrier *carrier, const tg_past *past, tg_version version, uint32_t row)
{
	const tg_log_entry entry = {
		.version = version, .count = row, .kind = past->is_last ? TG_WRITE_DELETE : TG_WRITE_UPDATE};
	tg_status status = tg_write_log_carry(carrier->session, carrier->garbage, carrier->to, &entry);

	tg_assert(status == TG_OK); /* store has reserved room */
	(void) status;
	(*carrier->garbage)->ended = carrier->upto;
}

/* Links a version on top of the row's others; begin last, for scans of the chunk. */
static void
link_version(const tg_past *past, tg_version version, tg_version older, tg_version *head)
{
	tg_header *header = tg_version_header(version);

	tg_store_relaxed(&header->life, past->life);
	tg_store_relaxed(&header->successor, past->successor);
	tg_store_relaxed(&header->end, past->end);
	tg_store_release(&header->older, older);
	if (past->begin != TG_TIME_FIRST || past->end != TG_TIME_NEVER || older != TG_VERSION_NONE)
		tg_chunk_touch(tg_version_chunk(version), tg_load_relaxed(tg_clock));
	tg_store_release(&header->begin, past->begin);
	tg_store_release(head, version);
}

static tg_status
store(const tg_carrier *carrier, const tg_past *past, const void *key, size_t key_bytes, const tg_value *values,
	  const bool *nulls, uint32_t *row_inout)
{
	bool is_first = *row_inout == TG_ROW_MAX;
	tg_version older = TG_VERSION_NONE;
	tg_version version;
	tg_version *head;
	tg_status status = TG_OK;

	if (past->end != TG_TIME_NEVER)
		status = tg_write_log_reserve(carrier->session, carrier->garbage, carrier->to, TG_DATA);
	if (status == TG_OK && is_first)
		status = tg_row_take(carrier->session, carrier->to, TG_DATA, row_inout);
	if (status == TG_OK)
		status = tg_slot_take(carrier->session, carrier->to, TG_DATA, &version);
	if (status != TG_OK)
		return status;
	status = tg_version_store(carrier->session, version, *row_inout, values, nulls, TG_DATA);
	if (status != TG_OK)
	{
		tg_slot_give(carrier->session, version);
		return status;
	}
	head = tg_row_head(carrier->to, *row_inout);
	if (!is_first)
		older = tg_load_relaxed(head);
	link_version(past, version, older, head);
	if (past->end != TG_TIME_NEVER)
		note_garbage(carrier, past, version, *row_inout);
	else
		tg_fetch_add_relaxed(&carrier->to->row_count, 1);
	if (!is_first || carrier->to->index == NULL)
		return TG_OK;
	return tg_btree_insert(carrier->session, carrier->to->index, key, key_bytes, row_inout, TG_DATA);
}

tg_status
tg_carrier_store(const tg_carrier *carrier, const tg_past *past, const void *key, size_t key_bytes,
				 const tg_value *values, const bool *nulls, uint32_t *row_inout)
{
	tg_status status;

	tg_epoch_enter(carrier->session);
	status = store(carrier, past, key, key_bytes, values, nulls, row_inout);
	tg_epoch_leave(carrier->session);
	return status;
}

void
tg_carried_give(tg_write_log *garbage)
{
	tg_collector_give(garbage);
}
