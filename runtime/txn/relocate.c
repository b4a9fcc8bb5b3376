/*
 * relocate.c
 *	  Versions move to other chunks without effect on readers and writers.
 *
 * To empty a sparse chunk (compact.c), its live versions are copied into slots of other chunks, and
 * the copies take their places.  Taking a place is an UPDATE that changes no value, by an internal
 * transaction with a descriptor of its own:
 *
 *	  head ---> v [b, NEVER)				head ---> v' [C, NEVER) --older--> v [b, C)
 *
 *	ACTIVE		each v' is given its reference, then v's end is swapped, NEVER -> reference (W1);
 *				then v' is the head.  A v' whose swap fails is withdrawn at once: begin NEVER
 *	PREPARING	C is drawn (T1)
 *	COMMITTED	one store (T2): from here on all these copies are visible, and the originals are not
 *	stamped		C stands in the words, the log goes to the collector, which frees each v when no
 *				snapshot can see it any more (prune.c): chains, snapshots, blobs are as after any
 *				UPDATE
 *
 * So a reader that finds versions, in chains or chunk by chunk, needs no new rule: a snapshot
 * before C sees v, one from C on sees v', never both and never neither, however far the reader has
 * got.  Scans of every kind, index searches and builds that have begun are unaffected.  And a
 * session that holds v beyond an epoch keeps it by its snapshot, as it keeps any version.
 *
 * Rules are needed only because nothing has changed.  v is settled when it is copied: its begin is
 * at or below a horizon, so at or below every snapshot that is, or ever will be, published.
 *
 * 1. Only a settled v is copied, neither ended nor locked; the swap of its end verifies that it
 *	  still is.  A writer, locker or deleter that was faster keeps its row; one that comes later
 *	  fails to swap the end that it has read, as if an UPDATE had been faster, and looks again.
 * 2. No transaction waits for this one as for others: it has no host, and ends after TG_COPIES_MAX
 *	  rows, without taking a latch or memory while it has references.  Readers see past it; a
 *	  session that would have to wait for it spins (tg_wait_for).
 * 3. v' is marked as a copy (LIFE_COPY) as long as it has a header: every snapshot sees its values,
 *	  even one from before C.  So a writer whose snapshot is from before C, and which finds v' as
 *	  the newest version, has found what its snapshot sees: TG_OK, not TG_CHANGED.  (But it holds
 *	  v', as any version newer than its snapshot.)
 * 4. v is marked, too (SUCCESSOR_COPY), before COMMITTED is visible: so a session that finds v
 *	  ended by C knows that the row has not changed.  Validation goes on with the copy: the version
 *	  above v in the chain, if that is a copy.  If it is not, the version above v has been cut out
 *	  meanwhile (G3), and the copy has ended.  (At SERIALIZABLE the chain is whole, because the
 *	  snapshot stands for later times, too.)
 * 5. v' begins a chain of its own once v has been cut off: older NONE.  Flags that distinguish
 *	  lives stay below, because there is no other life (LIFE_NEW, LIFE_SEVERAL: a settled version
 *	  has nothing below it).  Nor does any transaction follow a mark to v: it would have a snapshot
 *	  from before v.
 * 6. Indexes lead to rows, not to versions, and v' has v's keys: no entry comes or goes.  The
 *	  hidden values that an index keeps for v it keeps for v', too; if there is no memory for them,
 *	  v stays.
 * 7. But an index that is being filled by chunks relies on writers to add entries beside it: it may
 *	  have passed the chunk of v' before v' came, and may reach the chunk of v when v is gone.  So
 *	  nothing is copied in such a table.  The copying session publishes that it copies, fences, and
 *	  looks at the indexes; a session that creates an index publishes it, fences, and waits while
 *	  versions are copied (index.c).  At least one of them sees the other.
 * 8. By 3 a transaction whose snapshot is from before C may replace or delete v'.  It then sees
 *	  neither v' nor v; for both, reads consult v': in a chain on the way down, chunk by chunk from
 *	  v by SUCCESSOR_COPY.  v' is still above v, because it has not ended for any other transaction,
 *	  and v is kept for the snapshot.
 *
 * There is one caller at a time, the sweep, so one descriptor is enough.  Row counts, figures of
 * transactions and registrations of writers (W0) are not concerned: nothing is written.
 *
 * test/explore/explore_relocate.c tries every schedule of this code beside readers and writers.
 */
#include "runtime/reclaim/compact.h"

#include "runtime/base/failpoint.h"
#include "runtime/table/store.h"
#include "runtime/reclaim/collector.h"
#include "runtime/index/hidden.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/write_log.h"
#include "runtime/index/index.h"
#include "runtime/txn/txn_internal.h"
#include "runtime/txn/read.h"

/* --- for sessions that meet copies --------------------------------------------------- */

bool
tg_version_is_copy(tg_version version)
{
	const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));

	return headers != NULL && tg_header_is_copy(headers + tg_version_slot(version));
}

tg_version
tg_version_copy_of(tg_version version)
{
	tg_table *table = tg_version_chunk(version)->table;
	tg_version above = tg_load_acquire(tg_row_head(table, tg_version_row(version)));

	if (tg_head_is_closed(above))
		return TG_VERSION_NONE;
	while (above != TG_VERSION_NONE)
	{
		const tg_header *headers = tg_chunk_headers(tg_version_chunk(above));
		tg_version older;

		if (headers == NULL)
			return TG_VERSION_NONE;
		older = tg_load_acquire(&headers[tg_version_slot(above)].older);
		if (older == version)
			return tg_header_is_copy(headers + tg_version_slot(above)) ? above : TG_VERSION_NONE;
		above = older;
	}
	return TG_VERSION_NONE;
}

/* --- copying ------------------------------------------------------------------------- */

/* A log with an entry for each copy; copies without memory for an entry are left out. */
static tg_write_log *
make_log(tg_session *session, tg_table *table, const tg_copy *copies, unsigned *count_inout)
{
	tg_write_log *log = NULL;
	unsigned noted;

	for (noted = 0; noted < *count_inout; noted++)
	{
		if (tg_write_log_reserve(session, &log, table, TG_ESSENTIAL) != TG_OK)
			break;
		tg_write_log_append(log, table, TG_WRITE_UPDATE, copies[noted].from, 0);
	}
	*count_inout = noted;
	return log;
}

/* Withdraws a copy whose swap failed, before C is drawn: it must not be committed. */
static void
withdraw(tg_header *header)
{
	if (!tg_failpoint_refuses("relocate_late"))
		tg_store_release(&header->begin, TG_TIME_NEVER);
}

/* Makes the copy the row's newest version.  False: another transaction has taken the row. */
static bool
take_place(const tg_copy *copy, tg_time reference)
{
	tg_table *table = tg_version_chunk(copy->to)->table;
	tg_header *header = tg_version_header(copy->to);
	tg_header *from = tg_version_header(copy->from);
	tg_time never = TG_TIME_NEVER;

	tg_store_relaxed(&header->life, TG_LIFE_COPY);
	tg_store_release(&header->older, copy->from);
	tg_store_release(&header->begin, reference);
	if (!tg_cas_acq_rel(&from->end, &never, reference))
	{
		withdraw(header);
		return false;
	}
	tg_store_relaxed(&from->successor, TG_SUCCESSOR_COPY);
	tg_store_release(tg_row_head(table, tg_version_row(copy->to)), copy->to);
	return true;
}

/* As stamp in txn.c; entries of withdrawn copies are made to own nothing. */
static void
stamp(tg_write_log *log, const tg_copy *copies, unsigned count, tg_time time)
{
	tg_log_cursor cursor = tg_write_log_begin(log);

	for (unsigned i = 0; i < count; i++)
	{
		tg_log_entry *entry = tg_write_log_next(&cursor);

		tg_assert(entry->version == copies[i].from);
		if (!copies[i].taken)
		{
			entry->kind = TG_WRITE_INSERT; /* the collector takes nothing of it */
			continue;
		}
		entry->count = tg_version_row(copies[i].to);
		tg_chunk_touch(tg_version_chunk(copies[i].from), time);
		tg_chunk_touch(tg_version_chunk(copies[i].to), time);
		tg_store_release(&tg_version_header(copies[i].from)->end, time);
		tg_store_release(&tg_version_header(copies[i].to)->begin, time);
	}
}

/* Gives back the slot of a copy that has not taken its place. */
static void
drop(tg_session *session, const tg_copy *copy)
{
	tg_store_release(&tg_version_header(copy->to)->begin, TG_TIME_NEVER);
	tg_version_blobs_free(session, copy->to, copy->from, TG_VERSION_NONE);
	tg_slot_give(session, copy->to);
}

/*
 * The whole transaction.  Returns how many copies have taken their places; if any, the log is
 * given.
 */
static unsigned
run(tg_session *session, tg_copy *copies, unsigned count, tg_write_log *log)
{
	tg_txn *txn = &tg_txns->txn[tg_txns->txn_max];
	tg_time reference = tg_reference_make(tg_txns->txn_max, 0, 0);
	unsigned taken = 0;
	unsigned entry;
	tg_time time;

	/* until the collector has the log: collector.h */
	(void) tg_snapshot_publish_from(session, &entry);
	tg_store_release(&txn->state, TG_TXN_ACTIVE);
	for (unsigned i = 0; i < count; i++)
	{
		copies[i].taken = copies[i].taken && take_place(&copies[i], reference);
		taken += copies[i].taken;
	}
	tg_failpoint("relocate_taken");
	if (taken > 0)
	{
		time = tg_txn_draw(txn);
		tg_store_release(&txn->state, time << TG_STATE_BITS | TG_TXN_COMMITTED);
		tg_failpoint("relocate_committed");
		stamp(log, copies, count, time);
		log->ended = time;
		tg_collector_give(log);
	}
	tg_snapshot_withdraw(session, entry);
	tg_store_release(&txn->state, TG_TXN_IDLE); /* T3 */
	return taken;
}

static unsigned
relocate(tg_session *session, tg_table *table, tg_copy *copies, unsigned count)
{
	unsigned noted = count;
	unsigned taken = 0;
	tg_write_log *log = make_log(session, table, copies, &noted);

	for (unsigned i = 0; i < count; i++)
		copies[i].taken = false;
	tg_store_then_fence(&table->relocating, 1);
	tg_failpoint("relocate_looks");
	if (noted > 0 && !tg_indexes_are_filling(table))
	{
		/* index/hidden.c, 6 */
		for (unsigned i = 0; i < noted; i++)
			copies[i].taken = tg_hidden_copy_all(session, copies[i].to, copies[i].from) == TG_OK;
		taken = run(session, copies, noted, log);
	}
	tg_store_release(&table->relocating, 0);
	if (taken == 0)
		tg_write_log_destroy(session, log);
	for (unsigned i = 0; i < count; i++)
		if (!copies[i].taken)
			drop(session, &copies[i]);
	return taken;
}

void
tg_relocate_create(void)
{
	tg_relocate = relocate;
}
