/*
 * txn_internal.h
 *	  The transaction descriptor, and how a word that refers to one is resolved.
 *	  For this room's own files.
 */
#ifndef TG_TXN_INTERNAL_H
#define TG_TXN_INTERNAL_H

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/latch.h"
#include "runtime/base/spin.h"
#include "runtime/mem/session.h"
#include "runtime/sched/lane.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"
#include "runtime/table/write_log.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/piece.h"
#include "runtime/txn/reads.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/unflushed.h"
#include "runtime/txn/writer.h"

/*
 * States, in the low bits of the state word; a commit timestamp above them.
 *
 *	IDLE -> ACTIVE -> PREPARING ------------------> COMMITTED(C) -> IDLE	stamped before IDLE
 *				 |			\--> PREPARED(C) --/
 *				 |					  |
 *				 \------------------------\--> ABORTED ------> IDLE	undone before IDLE
 *
 * PREPARED(C): at SERIALIZABLE, and for a transaction that wrote the host's tables, too (M2), from
 * the draw of C until the host has committed or failed; this includes validation.
 */
typedef enum tg_txn_state
{
	TG_TXN_IDLE,
	TG_TXN_ACTIVE,
	TG_TXN_PREPARING,
	TG_TXN_PREPARED,
	TG_TXN_COMMITTED,
	TG_TXN_ABORTED
} tg_txn_state;

#define TG_STATE_BITS 3
#define TG_STATE_MASK ((uint64_t) (1 << TG_STATE_BITS) - 1)

/* Tables for which a writer can register one by one; with more it registers for all others, too. */
#define TG_REGISTERED_MAX TG_TXN_TABLES_MAX

#define TG_AUTHOR_COMMITS 32 /* commits of a descriptor whose times are remembered */
#define TG_AUTHOR_STORED 4	 /* times of storing anew that are remembered */
#define TG_AUTHOR_LIVES 3	 /* earlier kinds and labels that are remembered */

/* The description of a descriptor for the commits in (since, until]; all of it atomic. */
typedef struct tg_authored
{
	tg_time since;
	tg_time until;
	uint32_t kind;
	uint64_t label[TG_TXN_LABEL_BYTES / 8];
} tg_authored;

/* A LONG that was on the list when the transaction registered (W0). */
typedef struct tg_seen
{
	struct tg_seen *next;
	const tg_table *table; /* registered for; NULL: for all that registered does not name */
	tg_preserve *entry;	   /* pinned */
} tg_seen;

struct tg_txn
{
	/* read by every session that meets a reference; written by the owner */
	uint64_t state; /* atomic */
	uint64_t host;	/* atomic; valid while a reference to this transaction stands */

	/* the owner's, under the lane */
	tg_lane lane TG_CACHE_ALIGNED;
	tg_session *session;
	tg_write_log *log;
	struct tg_loan *loans; /* those that have not ended (loan.c) */
	tg_reads *reads;	   /* NULL: nothing is validated */
	tg_table *clear;	   /* a table whose writes need not consult the preserve list; NULL: none */
	unsigned subtxn_count;
	struct tg_row_lock *locks;		/* newest first (row_lock.c) */
	const struct tg_shared *shared; /* the shared transaction; NULL: a backend's own */
	uint32_t lock_count;			/* atomic, for views */
	unsigned prepared_entry;		/* while PREPARED: a snapshot published since before the draw */
	bool is_noted;					/* R4: the open note of the session that commits it is its own */
	tg_reads *held;					/* its reads, while others mind them (hold.c); NULL: they do not */
	uint64_t hold;					/* atomic: the number of that hold; 0: there is none */
	uint32_t looks;					/* atomic: with a C, it has yet to look at holds (H4) */
	bool holds_unknown;				/* a load has restored it: what it holds is not known yet (H6) */
	uint32_t in_hand;				/* atomic: of a session (prepared.c) */
	uint64_t prepared_host;			/* atomic: the host word that it was taken with (prepared.c); or 0 */
	uint64_t writes;				/* atomic, for views, as the next two: */
	uint64_t commits;				/* of all lives of the descriptor */
	uint64_t aborts;
	tg_conflict conflict; /* the reason of the last TG_CONFLICT */

	/* kinds.c's */
	tg_preserve *preserve;	  /* LONG: its entry */
	unsigned preserve_entry;  /* LONG: its published snapshot, once it has started */
	unsigned remembered;	  /* LONG: the number of others that it remembered at L1 (c) */
	tg_seen *seen;			  /* changed under the preserve list's latch, read there by others */
	uint32_t registered_used; /* the places of registered in use are below this */
	/* The host's numbers of the tables that it is registered for, which may be gone. */
	uint32_t registered_as[TG_REGISTERED_MAX];

	/* for others: written by the owner, all of it atomic */
	tg_table *registered[TG_REGISTERED_MAX]; /* W0: it writes these, or will; NULL: free */
	uint32_t registered_all;				 /* registered for all others, too */
	uint32_t life;							 /* odd while the next four change together */
	uint32_t kind;							 /* tg_txn_kind */
	uint32_t isolation;						 /* tg_isolation */
	uint64_t label[TG_TXN_LABEL_BYTES / 8];
	tg_time snapshot;
	uint32_t promoted_after; /* LONG: as in tg_long_config */
	uint32_t waits;			 /* tg_wait_kind, plus 1; 0: it does not wait */
	uint32_t waits_txn;
	uint64_t waits_host;
	uint64_t queue; /* the row whose queue it is in, of whatever table; 0: in none */

	/* author.c's: written by the owner, read by any session, all of it atomic */
	tg_time commit_times[TG_AUTHOR_COMMITS] TG_CACHE_ALIGNED; /* the next place: commits */
	tg_time stored_times[TG_AUTHOR_STORED];					  /* the next place: stored_next */
	uint32_t stored_next;
	tg_time described; /* the time since which kind and label hold */
	uint32_t before_next;
	tg_authored before[TG_AUTHOR_LIVES];
} TG_CACHE_ALIGNED;

/* What prepared transactions have read (hold.c). */
struct tg_holds
{
	tg_latch latch TG_CACHE_ALIGNED;
	tg_reads *first; /* in the order of their numbers */
	uint64_t last;	 /* the number given last */

	uint64_t count TG_CACHE_ALIGNED; /* atomic: of holds; changed under the latch */
	uint64_t ends;					 /* atomic: commits of transactions that held */
	uint64_t unknown;				 /* atomic: restored transactions of which it is not known yet */
};

/* State shared by all descriptors; in the arena. */
typedef struct tg_txn_shared
{
	uint64_t conflicts[TG_CONFLICT_COUNT]; /* atomic, for views */
	uint64_t retries[TG_RETRY_COUNT];	   /* likewise */
	struct tg_row_locks *row_locks;
	unsigned txn_max; /* sessions, shared and prepared ones; then the relocator's (relocate.c) */
	struct tg_holds holds;

	/* LONGs that wait for their start; atomic, changed under the preserve list's latch */
	uint64_t starters TG_CACHE_ALIGNED;
	tg_txn txn[];
} tg_txn_shared;

/* Set by tg_txn_create in the server's first process; children inherit it. */
extern tg_txn_shared *tg_txns;

/* Its place among the descriptors, by which references and snapshots name it. */
static inline unsigned
tg_txn_number(const tg_txn *txn)
{
	return (unsigned) (txn - tg_txns->txn);
}

static inline unsigned
tg_writer_number(const tg_writer *writer)
{
	return tg_txn_number(writer->txn);
}

/*
 * Enters the transaction's lane; false if the session is in it already, as an operation of the lane
 * is.  Only a shared transaction can be in use by another session's operation: then this waits, for
 * some microseconds (shared.h).
 */
static inline bool
tg_txn_enter(tg_session *session, tg_txn *txn)
{
	unsigned round = 0;

	if (tg_unlikely(session->lane == &txn->lane))
		return false;
	while (tg_unlikely(!tg_lane_enter(session, &txn->lane)))
	{
		tg_assert(txn->shared != NULL);
		tg_spin(&round);
	}
	return true;
}

static inline void
tg_txn_leave(tg_session *session, tg_txn *txn, bool entered)
{
	if (tg_likely(entered))
		tg_lane_leave(session, &txn->lane);
}

static inline tg_txn *
tg_txn_of_reference(tg_time reference)
{
	return &tg_txns->txn[tg_reference_txn(reference)];
}

/* The meaning of a begin or end word, once its reference is resolved. */
typedef enum tg_fate
{
	TG_FATE_AT,		  /* a timestamp: committed then (or never) */
	TG_FATE_OPEN,	  /* a transaction that has not ended (or has not yet undone what it aborted) */
	TG_FATE_PREPARED, /* one that commits at this timestamp or not at all */
	TG_FATE_OWN		  /* the asking transaction itself */
} tg_fate;

/*
 * Resolves a word of a header to a fate; *time_out gets the timestamp (AT, PREPARED), or the
 * reference.
 *
 * T3: a descriptor is reused as soon as no word refers to it any more.  So the word is loaded again
 * between two loads of the state.  Suppose that both loads of the state found COMMITTED(C) or
 * PREPARED(C), which no other life of the descriptor can have.  Then the word was loaded during
 * that commit, and a reference in it was that transaction's: those of earlier lives are gone before
 * the next life begins.  (The acquires on the state pair with the releases of its changes.)
 * Suppose that they found ACTIVE or ABORTED, perhaps in different lives.  Then the reference
 * belongs to one of these lives, or to one between, and its C was drawn after the first load: no
 * snapshot that the caller has by then sees it, and a writer that waits finds out.
 */
static inline tg_fate
tg_time_resolve(const tg_time *word, uint32_t own, tg_time *time_out)
{
	tg_time time = tg_load_acquire(word);
	unsigned round = 0;

	while (tg_unlikely(tg_time_is_reference(time)))
	{
		const tg_txn *txn = tg_txn_of_reference(time);
		uint64_t state;
		tg_time again;

		*time_out = time;
		if (tg_reference_txn(time) == own)
			return TG_FATE_OWN;
		tg_failpoint("time_loaded");
		state = tg_load_acquire(&txn->state);
		again = tg_failpoint_refuses("skip_t3_again") ? time : tg_load_acquire(word);
		if (again != time || tg_load_acquire(&txn->state) != state)
		{
			time = again;
			continue;
		}
		switch ((tg_txn_state) (state & TG_STATE_MASK))
		{
			case TG_TXN_COMMITTED:
				*time_out = state >> TG_STATE_BITS;
				return TG_FATE_AT;
			case TG_TXN_PREPARED:
				*time_out = state >> TG_STATE_BITS;
				return TG_FATE_PREPARED;
			case TG_TXN_PREPARING:
				/* T1: the committer is between two instructions; its C will be known soon. */
				tg_spin(&round);
				continue;
			default:
				return TG_FATE_OPEN;
		}
	}
	*time_out = time;
	return TG_FATE_AT;
}

/* Remembers the time of a commit, before COMMITTED is stored (author.c). */
static inline void
tg_author_note(tg_txn *txn, tg_time time)
{
	tg_store_relaxed(&txn->commit_times[txn->commits % TG_AUTHOR_COMMITS], time);
}

/* Remembers kind and label, which are about to change; while the life is odd. */
extern void tg_author_change(tg_txn *txn);

/* Everything below runs inside an epoch and in the transaction's lane. */

/* The reference for a present write of this writer. */
static inline tg_time
tg_writer_reference(const tg_writer *writer)
{
	return tg_reference_make(tg_writer_number(writer), writer->subtxn, writer->command);
}

/*
 * Notes a change of a header in the chunk: the sweep leaves the chunk alone for a while (settle.c).
 */
static inline void
tg_chunk_touch(tg_chunk *chunk, tg_time time)
{
	tg_store_relaxed(&chunk->touched, time);
}

static inline tg_header *
tg_version_header(tg_version version)
{
	return tg_chunk_headers(tg_version_chunk(version)) + tg_version_slot(version);
}

/* Whether the version existed at some time up to the snapshot's. */
extern bool tg_txn_has_begun(const tg_snapshot *snapshot, const tg_header *header);

/* R5: the session that is told, at last, what the writer meets. */
static inline unsigned
tg_writer_reader(const tg_writer *writer)
{
	if (tg_likely(writer->piece == NULL))
		return writer->session->id;
	return writer->lender != NULL ? writer->lender->id : writer->txn->session->id;
}

/*
 * Likewise, for a writer, which looks at the newest versions whatever its snapshot: R5, it has met
 * the commit.
 */
static inline tg_fate
tg_writer_resolve(const tg_writer *writer, const tg_time *word, tg_time *time_out)
{
	tg_fate fate = tg_time_resolve(word, tg_writer_number(writer), time_out);

	if (fate == TG_FATE_AT && !tg_failpoint_refuses("skip_r5_write"))
		tg_unflushed_meet(tg_writer_reader(writer), *time_out);
	return fate;
}

/*
 * Fills in the transaction to wait for, if another transaction's reference stands in the word.
 * False if none does: look again.  The host's word belongs to the transaction that holds the
 * reference, because the reference still stands after the host's word was read.
 */
static inline bool
tg_wait_for(const tg_time *word, tg_wait *wait_out)
{
	tg_time reference = tg_load_acquire(word);

	if (!tg_time_is_reference(reference) || tg_reference_txn(reference) == tg_txns->txn_max)
		return false; /* the relocator's reference is gone in a moment */
	wait_out->index = NULL;
	wait_out->host = tg_load_acquire(&tg_txn_of_reference(reference)->host);
	wait_out->subtxn = tg_reference_subtxn(reference);
	if (wait_out->subtxn == TG_SUBTXN_LAST)
		wait_out->subtxn = 0;
	wait_out->txn = tg_reference_txn(reference);
	wait_out->kind = TG_WAIT_ROW;
	wait_out->queues = false;
	return tg_load_acquire(word) == reference;
}

/*
 * Likewise, for a session that waits for an outcome: a PREPARED transaction ends as a whole.  False
 * if the word's transaction is not PREPARED any more.
 */
static inline bool
tg_wait_for_outcome(const tg_time *word, tg_wait *wait_out)
{
	bool found = tg_wait_for(word, wait_out);

	wait_out->subtxn = 0;
	wait_out->kind = TG_WAIT_OUTCOME;
	return found;
}

/*
 * tg_txn_newest, for a transaction that means to lock the row in this mode.  *head_out is the row's
 * newest version as it was judged.  For KEY SHARE it may be above *version_out, made by another
 * transaction that has not ended.
 */
extern tg_status tg_txn_newest_for(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table,
								   uint32_t *row_inout, tg_lock_mode mode, tg_version *head_out,
								   tg_version *version_out, tg_wait *wait_out) TG_MUST_USE;

/* --- relocate.c ------------------------------------------------------------------- */

extern void tg_relocate_create(void);

/* Whether the version is a copy: every snapshot sees its values, whenever it begins. */
static inline bool
tg_header_is_copy(const tg_header *header)
{
	return (tg_load_relaxed(&header->life) & TG_LIFE_COPY) != 0;
}

/* For a version that has ended: whether only because a copy replaces it. */
static inline bool
tg_header_has_copy(const tg_header *header)
{
	return tg_load_relaxed(&header->successor) == TG_SUCCESSOR_COPY;
}

/*
 * The copy, inside an epoch, for a transaction whose snapshot sees the version; NONE: the copy has
 * been cut out since it ended.
 */
extern tg_version tg_version_copy_of(tg_version version);

/*
 * Undoes the newest write, which made a version; the collector gets what remains of it when the
 * transaction has ended.
 */
extern void tg_txn_undo_newest(const tg_writer *writer, int rows);

/* --- write.c ---------------------------------------------------------------------- */

/* The log that gets the writer's writes. */
static inline tg_write_log **
tg_writer_log(const tg_writer *writer)
{
	return tg_likely(writer->piece == NULL) ? &writer->txn->log : &writer->piece->log;
}

/*
 * A slot with these values that no transaction can see: begin is NEVER.  old: the version that it
 * is to replace, or TG_VERSION_NONE.  tg_writer_drop_version gives the slot back as long as no
 * other transaction has seen it.
 */
extern tg_status tg_writer_make_version(const tg_writer *writer, tg_table *table, uint32_t row, tg_version old,
										const tg_value *values, const bool *nulls, tg_version *version_out) TG_MUST_USE;
extern void tg_writer_drop_version(const tg_writer *writer, tg_version version, tg_version shared_with);

/* Notes a write in the log, where there is room for it. */
extern void tg_writer_note(const tg_writer *writer, tg_table *table, tg_write kind, tg_version version, int rows);

/* --- unique.c --------------------------------------------------------------------- */

/* In place of a row: no other row is looked at, because the transaction has the keys. */
#define TG_EXCEPT_ALL (TG_ROW_MAX + 1)

/*
 * Ensures that the entries of a version, its row's present head, exist, except those that older (or
 * NONE) has, too.  except: a row whose live version the same write is about to end; TG_ROW_MAX; or
 * TG_EXCEPT_ALL.
 * TG_OK; after TG_EXISTS, TG_BUSY, TG_TOO_LARGE, TG_NO_MEMORY, TG_CANCELLED some of them exist.
 */
extern tg_status tg_entries_add(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
								tg_version older, uint32_t except, tg_wait *wait_out) TG_MUST_USE;

/* tg_txn_begin_as with this descriptor. */
extern tg_txn *tg_txn_begin_at(tg_session *session, unsigned number, uint64_t host, tg_txn_kind kind,
							   tg_isolation isolation, const char *label);

/* prepared.c: how many descriptors there are. */
extern unsigned tg_prepared_max(void);

/* T1: stores PREPARING, then draws C, which is returned. */
extern tg_time tg_txn_draw(tg_txn *txn);

/* --- register.c, kinds.c ------------------------------------------------------------ */

/*
 * W0, L2, L4: whether the transaction may write this version, or, if NONE, this key (NULL: the
 * table has none).  TG_OK, TG_BUSY, TG_CONFLICT, TG_FORBIDDEN, TG_NO_MEMORY.
 */
extern tg_status tg_txn_mind_preserve(const tg_writer *writer, tg_table *table, tg_version version, const void *key,
									  size_t key_bytes, tg_wait *wait_out) TG_MUST_USE;

/*
 * Likewise, for all rows of a table, in the lane.  TG_UNFIT: each row is to be asked about, because
 * a LONG minds some of them.
 */
extern tg_status tg_txn_mind_table(const tg_writer *writer, tg_table *table, tg_wait *wait_out) TG_MUST_USE;

/* As tg_txn_mind_preserve; almost free for further writes where no listed LONG preserves. */
static inline tg_status TG_MUST_USE
tg_txn_mind(const tg_writer *writer, tg_table *table, tg_version version, const void *key, size_t key_bytes,
			tg_wait *wait_out)
{
	if (tg_likely(writer->txn->clear == table))
		return TG_OK;
	return tg_txn_mind_preserve(writer, table, version, key, key_bytes, wait_out);
}

/*
 * Called outside a write before reading a transaction's preserve or registrations: another session
 * may end a shared transaction at any moment except in its lane, so this enters the lane (leave by
 * tg_txn_leave).  table NULL: only to read.  TG_OK; TG_STOPPED, TG_FORBIDDEN: not entered.
 */
extern tg_status tg_txn_enter_shared(tg_session *session, tg_txn *txn, const tg_table *table,
									 bool *entered_out) TG_MUST_USE;

/*
 * H5: registers it, as a writer, for all tables that it has read, as one that has not seen the
 * LONGs that wait for their start.
 */
extern void tg_txn_register_reads(tg_session *session, tg_txn *txn);

/* Gives its registrations to another transaction, which has none (prepared.c). */
extern void tg_txn_move_registrations(tg_txn *from, tg_txn *to);

/* At its end: withdraws its registrations, wakes the LONGs that wait for that. */
extern void tg_txn_unregister(tg_session *session, tg_txn *txn);

/*
 * L1 (b): whether the transaction is registered as a writer in the entry's areas, without having
 * seen it.  Under the latch.
 */
extern bool tg_txn_is_writer_in(const tg_txn *txn, const tg_preserve *entry);

/* Wakes LONGs whose start may have become possible.  Without the latch. */
extern void tg_long_wake_starters(void);

/* A LONG's end (L5): draws C_L, and publishes it to sessions that look at the list. */
extern tg_time tg_long_draw_end(tg_txn *txn);
extern void tg_long_begin_abort(tg_txn *txn);
extern void tg_long_undone(tg_txn *txn);
extern void tg_long_forget(tg_session *session, tg_txn *txn);
extern void tg_long_tidy(tg_session *session); /* a LONG's snapshot has been withdrawn */

/*
 * The next transaction that the entry's start has to wait for: first other LONGs, *long_at the last
 * one of them, NULL at first; then descriptors from *at on.  Under the latch.
 */
extern bool tg_long_next_obstacle(const tg_preserve *entry, unsigned *at, const tg_preserve **long_at,
								  tg_wait *wait_out);

static inline tg_wait
tg_wait_for_long(const tg_preserve *entry, tg_wait_kind kind)
{
	return (tg_wait){.host = entry->host, .txn = entry->txn, .kind = kind};
}

static inline tg_status
tg_txn_give_up(tg_txn *txn, tg_conflict_kind kind, const tg_table *table, uint64_t other)
{
	txn->conflict = (tg_conflict){.kind = kind, .relation = table->relation, .row = TG_ROW_MAX, .other = other};
	return TG_CONFLICT;
}

/* Likewise, if the row that it is about is known. */
static inline tg_status
tg_txn_give_up_row(tg_txn *txn, tg_conflict_kind kind, const tg_table *table, uint32_t row, uint64_t other)
{
	(void) tg_txn_give_up(txn, kind, table, other);
	txn->conflict.row = row;
	return TG_CONFLICT;
}

/* --- hold.c ------------------------------------------------------------------------- */

extern void tg_holds_create(void);

/*
 * H2, H3: a part of the look at what other transactions hold, by one that has drawn its C, or is
 * going to be prepared.  TG_OK: it is over; TG_AGAIN; TG_CHANGED: *conflict_out; TG_BUSY: wait.
 */
extern tg_status tg_hold_look(tg_session *session, tg_reads *reads, tg_conflict *conflict_out,
							  tg_wait *wait_out) TG_MUST_USE;

/* H3: whether another hold has a smaller number than this set's, which is held. */
extern bool tg_hold_has_other(const tg_reads *reads);

/* Gives it to a descriptor; the other one's references are to be renamed next (prepared.c). */
extern void tg_hold_move(tg_session *session, tg_txn *from, tg_txn *to);

/* At the end of a transaction that holds, or of which it is not known: others do not mind it. */
extern void tg_hold_end(tg_session *session, tg_txn *txn);

/*
 * H3: whether the reference in the word is that of a transaction that holds since before this
 * number.  *again_out: the word has another reference now.
 */
extern bool tg_hold_is_before(const tg_time *word, tg_time reference, uint64_t number, bool *again_out);

/* S3: C lies within no LONG that preserves an area that was read.  TG_OK or TG_CHANGED. */
extern tg_status tg_reads_check_commit(tg_session *session, const tg_reads *reads, tg_time time,
									   tg_conflict *conflict_out) TG_MUST_USE;

/* Likewise for a C that will be drawn later than upto, by a transaction that is registered (H5). */
extern tg_status tg_reads_check_hold(tg_session *session, const tg_reads *reads, tg_time upto,
									 tg_conflict *conflict_out) TG_MUST_USE;

#endif /* TG_TXN_INTERNAL_H */
