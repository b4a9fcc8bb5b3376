/*
 * txn.c
 *	  The life of a transaction: begin, savepoint, undo, commit, abort.
 *
 * Commit (M1: nothing in it can fail)
 *	1. PREPARING is published, then C is drawn, by one sequentially consistent fetch-and-add on the
 *	   clock (T1)
 *	2. COMMITTED(C) is one release store; all writes of the transaction are visible from here on
 *	  (T2)
 *	3. C is stamped over each reference (T3), the log goes to the collector, the descriptor is idle
 * A snapshot from before C stays published until the log has been given: so the horizon cannot pass
 * C before the collector knows the garbage that this commit has made (collector.c, 1).  If the host
 * has yet to flush its record, the snapshot stays until then (R4; unflushed.c).
 *
 * A SERIALIZABLE transaction with writes has more steps (tg_txn_prepare), because the host must be
 * able to fail after C is drawn: PREPARING, C, PREPARED(C), then validation as of C (validate.c),
 * then 2 and 3, or ABORTED.  So has, at every level, a transaction that wrote the host's tables,
 * too (M2): a session that sees those writes has loaded a time at or after C.  A SERIALIZABLE
 * transaction without writes has nothing to validate (S4): it has read what its snapshot sees, and
 * every snapshot is a moment between two commits in the order of C.
 *
 * Undo, of everything or back to a mark, takes the newest write first.  Each step leaves the row in
 * a state that a reader or a waiting writer may find:
 *	INSERT	the head is closed, then the index entry is removed (W3), then begin is NEVER
 *	REVIVE	the head goes back to the dead version, then begin is NEVER
 *	UPDATE	the head goes back to the replaced version, then its end is NEVER (or LOCKED,
 *			row_lock.h, 5): from here on other writers can take it; then the new version's begin is
 *	NEVER DELETE	successor 0, end is NEVER (or LOCKED)
 * Entries of secondary indexes that only an undone version needed are removed when it is out of the
 * chain (index.c).  A writer that meets a reference of an aborted transaction still has to wait:
 * W4's "ended" means undone.  The collector frees slots, blobs and row ids an epoch later.
 *
 * Invariant U: no other transaction changes the head of a row while its head version refers to this
 * transaction, so undo stores heads instead of swapping them.  The collector does not touch a dead
 * version while the version that revived it is not stamped.
 */
#include "runtime/txn/txn_internal.h"

#include <inttypes.h>
#include <string.h>

#include "runtime/mem/arena.h"
#include "runtime/btree/btree.h"
#include "runtime/table/write_log.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/session.h"
#include "runtime/sched/park.h"
#include "runtime/index/entry.h"
#include "runtime/txn/reads_internal.h"
#include "runtime/txn/shared.h"
#include "runtime/reclaim/collector.h"
#include "runtime/index/index.h"
#include "runtime/index/long_key.h"
#include "runtime/index/rank_holders.h"
#include "runtime/txn/row_lock.h"

#define LANES_INTERVAL_US 100000   /* between two looks at all lanes */
#define LEASES_INTERVAL_US 1000000 /* and at all leases */

tg_txn_shared *tg_txns;

tg_status
tg_txn_create(void)
{
	unsigned session_max = tg_session_max();
	unsigned txn_max = session_max + TG_SHARED_MAX + tg_prepared_max();
	tg_session *session;
	tg_status status;

	/*
	 * A reference has so many numbers: the sessions' own, shared ones, prepared ones, the
	 * relocator's.
	 */
	if (txn_max + 1 > TG_TXN_MAX)
		return TG_TOO_LARGE;
	status = tg_session_open(&session);
	if (status != TG_OK)
		return status;
	tg_txns = tg_alloc_zeroed(session, sizeof(tg_txn_shared) + (txn_max + 1) * sizeof(tg_txn), TG_USE_RUNTIME, TG_DATA);
	if (tg_txns != NULL && (tg_txns->row_locks = tg_row_locks_create(session)) == NULL)
		tg_txns = NULL;
	if (tg_txns != NULL && (tg_shared_create(session, session_max) != TG_OK ||
							tg_rank_holders_create(session, txn_max) != TG_OK || tg_unflushed_create(session) != TG_OK))
		tg_txns = NULL;
	if (tg_txns != NULL)
	{
		tg_txns->txn_max = txn_max;
		for (unsigned i = 0; i < txn_max; i++)
			tg_lane_init(&tg_txns->txn[i].lane);
		tg_relocate_create();
		tg_holds_create();
	}
	tg_session_close(session);
	return tg_txns != NULL ? TG_OK : TG_NO_MEMORY;
}

/* A check of the watcher. */
static void
look_at_lanes(tg_session *session)
{
	uint64_t now = tg_clock_us();

	(void) session;
	for (unsigned i = 0; i < tg_txns->txn_max; i++)
	{
		tg_txn *txn = &tg_txns->txn[i];

		if (tg_lane_stands_still(&txn->lane, now))
			tg_watcher_report_hang("the operations of transaction %" PRIu64 " of session %u have been standing still",
								   tg_load_relaxed(&txn->host), i);
	}
}

void
tg_txn_attach(void)
{
	tg_watcher_add(look_at_lanes, LANES_INTERVAL_US);
	tg_watcher_add(tg_shared_look_at_leases, LEASES_INTERVAL_US);
}

static inline tg_txn_state
state_of(const tg_txn *txn)
{
	return (tg_txn_state) (tg_load_relaxed(&txn->state) & TG_STATE_MASK);
}

tg_txn *
tg_txn_begin(tg_session *session, uint64_t host)
{
	return tg_txn_begin_at(session, session->id, host, TG_TXN_ORDINARY, TG_READ_COMMITTED, NULL);
}

tg_txn *
tg_txn_begin_as(tg_session *session, uint64_t host, tg_txn_kind kind, tg_isolation isolation, const char *label)
{
	return tg_txn_begin_at(session, session->id, host, kind, isolation, label);
}

tg_txn *
tg_txn_begin_at(tg_session *session, unsigned number, uint64_t host, tg_txn_kind kind, tg_isolation isolation,
				const char *label)
{
	tg_txn *txn = &tg_txns->txn[number];

	tg_assert(state_of(txn) == TG_TXN_IDLE && txn->log == NULL);
	txn->session = session;
	txn->shared = NULL;
	txn->reads = NULL;
	txn->subtxn_count = 0;
	tg_assert(txn->locks == NULL && txn->lock_count == 0);
	tg_assert(txn->held == NULL && !txn->holds_unknown);
	tg_store_relaxed(&txn->looks, 0);
	tg_store_relaxed(&txn->writes, 0);
	tg_store_relaxed(&txn->host, host);
	tg_txn_describe(txn, kind, isolation, label);
	tg_store_relaxed(&txn->snapshot, 0);
	tg_store_relaxed(&txn->promoted_after, 0);
	tg_store_relaxed(&txn->waits, 0); /* an error may have ended the last wait */
	tg_store_relaxed(&txn->queue, 0);
	tg_store_release(&txn->state, TG_TXN_ACTIVE);
	return txn;
}

/* Most transactions have the description of the descriptor's last one: then nothing is written. */
void
tg_txn_describe(tg_txn *txn, tg_txn_kind kind, tg_isolation isolation, const char *label)
{
	char text[TG_TXN_LABEL_BYTES];
	uint64_t words[TG_TXN_LABEL_BYTES / 8];

	if (kind != TG_TXN_ORDINARY)
		isolation = TG_SERIALIZABLE;
	if (label == NULL)
		label = "";
	if (tg_likely(txn->kind == kind && txn->isolation == isolation && strcmp((const char *) txn->label, label) == 0))
		return;
	strncpy(text, label, sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(words, text, sizeof(words));
	/*
		 * Reports begin again if the life is odd or has changed, so that they get one description.
		 */
	tg_store_relaxed(&txn->life, txn->life + 1);
	tg_fence_release();
	tg_author_change(txn);
	tg_store_relaxed(&txn->kind, kind);
	tg_store_relaxed(&txn->isolation, isolation);
	for (unsigned i = 0; i < TG_TXN_LABEL_BYTES / 8; i++)
		tg_store_relaxed(&txn->label[i], words[i]);
	tg_store_release(&txn->life, txn->life + 1);
}

tg_txn_kind
tg_txn_kind_of(const tg_txn *txn)
{
	return (tg_txn_kind) tg_load_relaxed(&txn->kind);
}

void
tg_txn_note_snapshot(tg_txn *txn, tg_time snapshot)
{
	tg_store_relaxed(&txn->snapshot, snapshot);
}

int64_t
tg_txn_rows(const tg_txn *txn, const tg_table *table)
{
	return tg_write_log_rows(txn->log, table);
}

const tg_conflict *
tg_txn_conflict(const tg_txn *txn)
{
	return &txn->conflict;
}

void
tg_txn_track(tg_txn *txn, tg_reads *reads)
{
	txn->reads = reads;
	reads->own = tg_txn_number(txn);
}

bool
tg_txn_is_prepared(const tg_txn *txn)
{
	return state_of(txn) == TG_TXN_PREPARED;
}

bool
tg_txn_has_writes(const tg_txn *txn)
{
	return txn->log != NULL;
}

bool
tg_txn_is_logged(const tg_txn *txn)
{
	return txn->log != NULL && tg_write_log_is_logged(txn->log);
}

tg_write_log *
tg_txn_log(const tg_txn *txn)
{
	return txn->log;
}

void
tg_txn_note_logged(const tg_txn *txn, uint64_t position)
{
	if (txn->log != NULL)
		tg_write_log_note(txn->log, position);
}

uint64_t
tg_txn_write_count(const tg_txn *txn)
{
	return tg_load_relaxed(&txn->writes);
}

uint32_t
tg_txn_lock_count(const tg_txn *txn)
{
	return tg_load_relaxed(&txn->lock_count);
}

void
tg_txn_savepoint(tg_session *session, tg_txn *txn, tg_txn_mark *mark_out, unsigned *number_out)
{
	bool entered = tg_txn_enter(session, txn);

	/* Another session may have ended a shared one: the first write after this finds out. */
	tg_assert(state_of(txn) == TG_TXN_ACTIVE || txn->shared != NULL);
	if (txn->subtxn_count < TG_SUBTXN_LAST)
		txn->subtxn_count++;
	*number_out = txn->subtxn_count;
	mark_out->log = tg_write_log_mark(txn->log);
	mark_out->locks = txn->lock_count;
	tg_txn_leave(session, txn, entered);
}

/* --- undo --------------------------------------------------------------------- */

/*
 * W2: an insertion reads, too: it finds that its key was absent, and undoing it must not forget
 * that.  While the entry stood no other transaction could insert the key (W3), so it is noted only
 * here.
 */
static void
note_undone_key(tg_session *session, tg_reads *reads, tg_version version)
{
	tg_table *table = tg_version_chunk(version)->table;
	unsigned char key[TG_KEY_BYTES_MAX];

	if (tg_load_acquire(&table->index) != NULL)
		tg_reads_add_key(session, reads, table, NULL, key, tg_key_of_version(table->key, version, key));
}

/* Likewise for the unique keys, except those that the version before has, too. */
static void
note_undone_unique(tg_session *session, tg_reads *reads, tg_version version, tg_version older)
{
	tg_table *table = tg_version_chunk(version)->table;

	for (tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
	{
		tg_index_key key;

		if (!index->spec.unique || (older != TG_VERSION_NONE && tg_index_is_same(index, version, older)) ||
			tg_index_key_of_version(index, version, &key) != TG_OK || !key.present || key.distinct)
			continue;
		tg_reads_add_key(session, reads, table, index, key.entry, key.bytes);
	}
}

static void
undo_insert(tg_session *session, tg_version version)
{
	tg_table *table = tg_version_chunk(version)->table;
	uint32_t row = tg_version_row(version);
	tg_btree *index = tg_load_acquire(&table->index);

	tg_assert(tg_load_relaxed(tg_row_head(table, row)) == version);
	tg_store_release(tg_row_head(table, row), TG_HEAD_CLOSED);
	if (index != NULL)
	{
		unsigned char key[TG_KEY_BYTES_MAX];
		size_t key_bytes = tg_key_of_version(table->key, version, key);

		/* An inserter that met the closed row may have removed the entry, and the key its rank. */
		if (key_bytes != TG_KEY_UNRANKED)
			(void) tg_btree_remove(session, index, key, key_bytes, row);
	}
	tg_indexes_forget(session, version, TG_VERSION_NONE);
	tg_store_release(&tg_version_header(version)->begin, TG_TIME_NEVER);
}

/* Makes the version before the newest again. */
static void
undo_revive(tg_session *session, tg_version version)
{
	tg_header *header = tg_version_header(version);
	tg_version *head = tg_row_head(tg_version_chunk(version)->table, tg_version_row(version));

	tg_assert(tg_load_relaxed(head) == version && header->older != TG_VERSION_NONE);
	tg_store_release(head, tg_load_relaxed(&header->older));
	tg_indexes_forget(session, version, tg_load_relaxed(&header->older));
	tg_store_release(&header->begin, TG_TIME_NEVER);
}

static void
undo_update(tg_session *session, tg_version version)
{
	tg_table *table = tg_version_chunk(version)->table;
	uint32_t row = tg_version_row(version);
	tg_header *header = tg_version_header(version);
	tg_version older = tg_load_relaxed(&header->older);

	tg_assert(tg_load_relaxed(tg_row_head(table, row)) == version && older != TG_VERSION_NONE);
	/* While the older one is still taken, so that it and its blobs exist. */
	tg_version_strip(version, older);
	/* The other half of this Dekker pair is in mark (row_lock.c). */
	tg_store_seq_cst(tg_row_head(table, row), older);
	tg_indexes_forget(session, version, older);
	if (tg_likely(tg_load_seq_cst(&header->end) == TG_TIME_NEVER))
		tg_store_release(&tg_version_header(older)->end, TG_TIME_NEVER);
	else
		tg_row_lock_reopen(table, row, older);
	tg_store_release(&header->begin, TG_TIME_NEVER);
}

static void
undo_delete(const tg_txn *txn, tg_version version)
{
	tg_header *header = tg_version_header(version);

	tg_store_relaxed(&header->successor, 0);
	if (tg_likely(txn->lock_count == 0))
		tg_store_release(&header->end, TG_TIME_NEVER);
	else
		tg_row_lock_reopen(tg_version_chunk(version)->table, tg_version_row(version), version);
}

/* Notes the reads of a write that is undone, so that they stay noted. */
static void
note_undone(tg_session *session, tg_reads *reads, tg_write kind, tg_version version)
{
	if (kind != TG_WRITE_UPDATE)
		note_undone_key(session, reads, version);
	if (tg_index_first(tg_version_chunk(version)->table) != NULL)
		note_undone_unique(session, reads, version, tg_load_relaxed(&tg_version_header(version)->older));
}

/* reads NULL: nothing is noted. */
static void
undo_write(tg_session *session, const tg_txn *txn, tg_reads *reads, tg_write kind, tg_version version)
{
	tg_chunk_touch(tg_version_chunk(version), tg_load_relaxed(tg_clock));
	if (tg_unlikely(reads != NULL) && kind <= TG_WRITE_UPDATE && !tg_failpoint_refuses("skip_w2_reads"))
		note_undone(session, reads, kind, version);
	switch (kind)
	{
		case TG_WRITE_INSERT:
			undo_insert(session, version);
			break;
		case TG_WRITE_REVIVE:
			undo_revive(session, version);
			break;
		case TG_WRITE_UPDATE:
			undo_update(session, version);
			break;
		case TG_WRITE_DELETE:
			undo_delete(txn, version);
			break;
		case TG_WRITE_UNDONE_ROW:
		case TG_WRITE_UNDONE_VERSION:
			break;
	}
}

/* Undoes the writes in the log after the mark, and gives them to the collector. */
static void
undo(tg_session *session, tg_txn *txn, tg_log_mark mark)
{
	tg_write_log *undone = NULL;
	tg_log_entry entry;

	while (tg_write_log_pop(&txn->log, mark, &undone, &entry)) /* W2: backwards */
	{
		for (uint32_t i = entry.count; i-- > 0;)
			undo_write(session, txn, txn->reads, (tg_write) entry.kind, entry.version + i);
	}
	if (undone != NULL)
		tg_collector_give(undone);
}

void
tg_txn_undo_newest(const tg_writer *writer, int rows)
{
	tg_log_entry entry = tg_write_log_take_back(*tg_writer_log(writer), rows);

	/* what a task has read is forgotten with all that it has written (piece.c, 4) */
	undo_write(writer->session, writer->txn, writer->piece == NULL ? writer->txn->reads : NULL, (tg_write) entry.kind,
			   entry.version);
}

void
tg_txn_rollback_to(tg_session *session, tg_txn *txn, tg_txn_mark mark)
{
	bool entered = tg_txn_enter(session, txn);

	tg_epoch_enter(session);
	tg_row_lock_release(session, txn, mark.locks);
	if (!tg_failpoint_refuses("skip_w2"))
		undo(session, txn, mark.log);
	tg_epoch_leave(session);
	tg_txn_leave(session, txn, entered);
}

/* --- the end ------------------------------------------------------------------ */

/* T3.  The entries then name the versions that they have ended, for the collector. */
static void
stamp(const tg_txn *txn, tg_time time)
{
	tg_log_cursor cursor = tg_write_log_begin(txn->log);
	tg_log_entry *entry;

	while ((entry = tg_write_log_next(&cursor)) != NULL)
	{
		tg_header *header = tg_version_header(entry->version);

		tg_chunk_touch(tg_version_chunk(entry->version), time);
		switch ((tg_write) entry->kind)
		{
			case TG_WRITE_DELETE:
				entry->count = tg_version_row(entry->version);
				tg_store_release(&header->end, time);
				break;
			case TG_WRITE_UPDATE:
			{
				tg_version older = tg_load_relaxed(&header->older);

				tg_chunk_touch(tg_version_chunk(older), time);
				tg_store_release(&tg_version_header(older)->end, time);
				tg_store_release(&header->begin, time);
				entry->count = tg_version_row(entry->version);
				if (tg_version_chunk(older) == tg_version_chunk(entry->version))
					entry->above = (uint16_t) (tg_version_slot(entry->version) + 1);
				entry->version = older;
				break;
			}
			case TG_WRITE_REVIVE:
			case TG_WRITE_INSERT:
				for (uint32_t i = 0; i < entry->count; i++)
					tg_store_release(&header[i].begin, time);
				break;
			case TG_WRITE_UNDONE_ROW:
			case TG_WRITE_UNDONE_VERSION:
				break; /* it never begins */
		}
	}
}

/* W7: releases the row locks as soon as the outcome is visible. */
static void
release_locks(tg_session *session, tg_txn *txn)
{
	if (tg_likely(txn->lock_count == 0))
		return;
	tg_epoch_enter(session);
	tg_row_lock_release(session, txn, 0);
	tg_epoch_leave(session);
	/*
	 * Draws a time without a commit: a sweep, which follows the clock, has to revisit marked
	 * chunks.
	 */
	if (txn->log == NULL)
		tg_fetch_add_seq_cst(tg_clock, 1);
}

static void
become_idle(tg_session *session, tg_txn *txn)
{
	txn->log = NULL;
	txn->is_noted = false;
	if (tg_unlikely(txn->preserve != NULL))
		tg_long_forget(session, txn);
	if (tg_unlikely(txn->held != NULL || txn->holds_unknown))
		tg_hold_end(session, txn);
	tg_txn_unregister(session, txn);
	/* T3: after the last reference is gone. */
	tg_store_release(&txn->state, TG_TXN_IDLE);
}

/* T1: PREPARING is visible before C is drawn. */
tg_time
tg_txn_draw(tg_txn *txn)
{
	tg_time time;

	if (!tg_failpoint_refuses("skip_t1"))
		tg_store_release(&txn->state, TG_TXN_PREPARING);
	tg_failpoint("txn_preparing");
	time = tg_fetch_add_seq_cst(tg_clock, 1) + (tg_failpoint_refuses("stamp_early") ? 0 : 1);
	tg_failpoint("txn_drawn");
	return time;
}

static inline tg_time
draw_end(tg_txn *txn)
{
	return tg_likely(txn->preserve == NULL) ? tg_txn_draw(txn) : tg_long_draw_end(txn);
}

void
tg_txn_open_note(tg_session *session, tg_txn *txn)
{
	tg_assert(state_of(txn) == TG_TXN_ACTIVE && !txn->is_noted);
	tg_unflushed_open(session);
	txn->is_noted = true;
}

tg_time
tg_txn_prepare(tg_session *session, tg_txn *txn, tg_time snapshot)
{
	bool entered = tg_txn_enter(session, txn);
	tg_time time;

	tg_assert(state_of(txn) == TG_TXN_ACTIVE && txn->log != NULL);
	(void) tg_snapshot_publish_from(session, &txn->prepared_entry);
	tg_store_relaxed(&txn->looks, txn->reads != NULL); /* H4; PREPARING publishes it */
	time = draw_end(txn);
	tg_store_release(&txn->state, time << TG_STATE_BITS | TG_TXN_PREPARED);
	tg_failpoint("txn_prepared");
	if (txn->reads != NULL)
		tg_validation_begin(txn->reads, snapshot, time, true);
	tg_txn_leave(session, txn, entered);
	return time;
}

/* Stamps, and gives the log to the collector. */
static void
finish_log(tg_session *session, tg_txn *txn, tg_time time)
{
	tg_write_log *log = txn->log;
	bool lasting;

	tg_epoch_enter(session);
	if (!tg_failpoint_refuses("skip_t3"))
		stamp(txn, time);
	tg_write_log_count_rows(log);
	log->ended = time;
	lasting = tg_write_log_is_lasting(log);
	if (!lasting)
		tg_collector_give(log); /* from here on it is the collector's */
	tg_epoch_leave(session);
	if (lasting)
		tg_write_log_destroy(session, log);
}

void
tg_txn_commit(tg_session *session, tg_txn *txn)
{
	bool entered = tg_txn_enter(session, txn);
	bool prepared = state_of(txn) == TG_TXN_PREPARED;

	tg_assert(prepared || state_of(txn) == TG_TXN_ACTIVE);
	tg_assert(txn->loans == NULL);
	if (txn->log != NULL || txn->preserve != NULL)
	{
		unsigned entry = txn->prepared_entry;
		bool is_kept;
		tg_time time;

		if (tg_unlikely(prepared))
			time = tg_load_relaxed(&txn->state) >> TG_STATE_BITS;
		else
		{
			(void) tg_snapshot_publish_from(session, &entry);
			time = draw_end(txn);
		}
		if (tg_failpoint_refuses("skip_t2"))
			/* two stores: COMMITTED, and its time */
			tg_store_release(&txn->state, TG_TXN_COMMITTED);
		tg_failpoint("txn_committing");
		tg_author_note(txn, time);
		if (tg_unlikely(txn->held != NULL))
			tg_fetch_add_seq_cst(&tg_txns->holds.ends, 1);						 /* H3: before T2 */
		is_kept = txn->is_noted && tg_unflushed_commit(session, time, entry);	 /* R4 */
		tg_store_release(&txn->state, time << TG_STATE_BITS | TG_TXN_COMMITTED); /* T2 */
		tg_failpoint("txn_committed");
		release_locks(session, txn);
		if (txn->log != NULL)
			finish_log(session, txn, time);
		if (tg_likely(!is_kept))
			tg_snapshot_withdraw(session, entry);
	}
	release_locks(session, txn);
	tg_store_relaxed(&txn->commits, txn->commits + 1);
	become_idle(session, txn);
	tg_txn_leave(session, txn, entered);
}

void
tg_txn_abort(tg_session *session, tg_txn *txn)
{
	bool entered = tg_txn_enter(session, txn);
	bool prepared = state_of(txn) == TG_TXN_PREPARED;

	tg_assert(prepared || state_of(txn) == TG_TXN_ACTIVE);
	txn->reads = NULL; /* nothing is going to be validated */
	if (txn->preserve != NULL)
		tg_long_begin_abort(txn);
	tg_store_release(&txn->state, TG_TXN_ABORTED);
	tg_failpoint("txn_aborted");
	release_locks(session, txn);
	tg_epoch_enter(session);
	undo(session, txn, TG_LOG_MARK_START);
	tg_epoch_leave(session);
	if (prepared)
		tg_snapshot_withdraw(session, txn->prepared_entry);
	if (txn->preserve != NULL)
		tg_long_undone(txn);
	tg_store_relaxed(&txn->aborts, txn->aborts + 1);
	become_idle(session, txn);
	tg_txn_leave(session, txn, entered);
}

void
tg_txn_forget(tg_session *session, tg_txn *txn)
{
	bool entered = tg_txn_enter(session, txn);

	tg_assert(state_of(txn) == TG_TXN_ACTIVE && txn->preserve == NULL);
	tg_store_release(&txn->state, TG_TXN_ABORTED);
	release_locks(session, txn);
	tg_write_log_destroy(session, txn->log);
	become_idle(session, txn);
	tg_txn_leave(session, txn, entered);
}

/* --- figures -------------------------------------------------------------------- */

/* Reads the result of one call of tg_txn_describe. */
static void
report_description(const tg_txn *txn, tg_txn_report *report)
{
	unsigned round = 0;

	for (;; tg_spin(&round))
	{
		uint32_t life = tg_load_acquire(&txn->life);
		uint64_t words[TG_TXN_LABEL_BYTES / 8];

		report->kind = (tg_txn_kind) tg_load_relaxed(&txn->kind);
		report->isolation = (tg_isolation) tg_load_relaxed(&txn->isolation);
		for (unsigned i = 0; i < TG_TXN_LABEL_BYTES / 8; i++)
			words[i] = tg_load_relaxed(&txn->label[i]);
		tg_fence_acquire();
		memcpy(report->label, words, sizeof(words));
		if ((life & 1) == 0 && tg_load_relaxed(&txn->life) == life)
			return;
	}
}

static void
report_wait(const tg_txn *txn, tg_txn_report *report)
{
	uint32_t waits = tg_load_acquire(&txn->waits);

	report->waits = waits != 0;
	report->wait = (tg_wait){.host = tg_load_relaxed(&txn->waits_host),
							 .txn = tg_load_relaxed(&txn->waits_txn),
							 .kind = (tg_wait_kind) (waits != 0 ? waits - 1 : 0)};
}

bool
tg_txn_report_get(unsigned session_id, tg_txn_report *report)
{
	static const tg_txn_stage stages[] = {
		[TG_TXN_IDLE] = TG_STAGE_RUNNING,		  [TG_TXN_ACTIVE] = TG_STAGE_RUNNING,
		[TG_TXN_PREPARING] = TG_STAGE_COMMITTING, [TG_TXN_PREPARED] = TG_STAGE_COMMITTING,
		[TG_TXN_COMMITTED] = TG_STAGE_AVAILABLE,  [TG_TXN_ABORTED] = TG_STAGE_ABORTING};
	const tg_txn *txn;
	tg_txn_state state;

	if (session_id >= tg_txns->txn_max)
		return false;
	txn = &tg_txns->txn[session_id];
	state = (tg_txn_state) (tg_load_acquire(&txn->state) & TG_STATE_MASK);
	report->active = state != TG_TXN_IDLE;
	report->stage = stages[state];
	report->host = tg_load_relaxed(&txn->host);
	report->writes = tg_load_relaxed(&txn->writes);
	report->snapshot = tg_load_relaxed(&txn->snapshot);
	report->promoted_after = tg_load_relaxed(&txn->promoted_after);
	report_description(txn, report);
	report_wait(txn, report);
	return report->active;
}

void
tg_conflict_note(tg_conflict_kind kind)
{
	tg_fetch_add_relaxed(&tg_txns->conflicts[kind], 1);
}

uint64_t
tg_conflicts(tg_conflict_kind kind)
{
	return tg_load_relaxed(&tg_txns->conflicts[kind]);
}

void
tg_retry_note(tg_retry retry)
{
	tg_fetch_add_relaxed(&tg_txns->retries[retry], 1);
}

uint64_t
tg_retries(tg_retry retry)
{
	return tg_load_relaxed(&tg_txns->retries[retry]);
}

uint64_t
tg_txn_commits(void)
{
	uint64_t commits = 0;

	for (unsigned i = 0; i < tg_txns->txn_max; i++)
		commits += tg_load_relaxed(&tg_txns->txn[i].commits);
	return commits;
}

uint64_t
tg_txn_aborts(void)
{
	uint64_t aborts = 0;

	for (unsigned i = 0; i < tg_txns->txn_max; i++)
		aborts += tg_load_relaxed(&tg_txns->txn[i].aborts);
	return aborts;
}
