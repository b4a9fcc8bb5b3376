/*
 * txn.h
 *	  Transactions on the multi-version store: begin, write, end; for reading see read.h.
 *
 * There is one descriptor per session, in the arena.  The rules named T1 … W6 in the comments of
 * this room are listed in runtime/README.md, section «Transactions».  READ COMMITTED takes a
 * snapshot per statement; its writers wait for the holder of a row and continue with the row's
 * newest version.
 *
 * Every call is made by the session's owner, outside an epoch unless it says otherwise, and returns
 * without waiting: with TG_BUSY it says what to wait for.  No call fails after it has changed
 * something.
 */
#ifndef TG_TXN_H
#define TG_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/txn/conflict.h"
#include "runtime/txn/level.h"
#include "runtime/txn/wait.h"

typedef struct tg_index_key tg_index_key; /* entry.h */
typedef struct tg_reads tg_reads;		  /* reads.h */
typedef struct tg_write_log tg_write_log; /* write_log.h */

/* Makes the descriptors, one per session.  At server start, after the arena. */
extern tg_status tg_txn_create(void) TG_MUST_USE;

/* In the pool's process, before it starts: the watcher reports transactions whose lane is stuck. */
extern void tg_txn_attach(void);

/* --- life -------------------------------------------------------------------------- */

/*
 * Begins the session's transaction at its first write.  host is the host's word for it, which
 * sessions that have to wait for it get.
 */
extern tg_txn *tg_txn_begin(tg_session *session, uint64_t host);

/*
 * Sets kind, isolation and label (or NULL), before the transaction's first read or write.
 * Otherwise, and after tg_txn_begin, it is ordinary, READ COMMITTED and without a label.  The other
 * kinds are SERIALIZABLE.
 */
extern void tg_txn_describe(tg_txn *txn, tg_txn_kind kind, tg_isolation isolation, const char *label);

/* tg_txn_begin and tg_txn_describe in one. */
extern tg_txn *tg_txn_begin_as(tg_session *session, uint64_t host, tg_txn_kind kind, tg_isolation isolation,
							   const char *label);
extern tg_txn_kind tg_txn_kind_of(const tg_txn *txn);

/* For reports: the snapshot that it reads at now; 0: none.  By its owner. */
extern void tg_txn_note_snapshot(tg_txn *txn, tg_time snapshot);

/*
 * The rows that the transaction has inserted into a table so far, less those deleted.  By its
 * owner.
 */
extern int64_t tg_txn_rows(const tg_txn *txn, const tg_table *table);

/* The reason why the last call with this transaction was TG_CONFLICT. */
extern const tg_conflict *tg_txn_conflict(const tg_txn *txn);

/*
 * At SERIALIZABLE: the transaction notes reads in this read set, for its validation.  The set is
 * the caller's, and has to live until the transaction has ended.
 */
extern void tg_txn_track(tg_txn *txn, tg_reads *reads);

/*
 * R4: opens the session's note, about this transaction, which the session is going to commit,
 * before tg_txn_prepare, or before tg_txn_commit if nothing is prepared.  The caller fills in the
 * position and closes the note, whatever becomes of the transaction (unflushed.h).
 */
extern void tg_txn_open_note(tg_session *session, tg_txn *txn);

/*
 * First half of a commit (M1), for a transaction that validates or that the host makes visible
 * elsewhere first (M2).  Draws C, which is returned; if reads are tracked, begins the validation of
 * the reads at R, which the caller steps.  The caller then commits or aborts.  Until then the
 * transaction is PREPARED, and sessions that have to know its outcome wait.
 */
extern tg_time tg_txn_prepare(tg_session *session, tg_txn *txn, tg_time snapshot);

/*
 * Ends it: one atomic store makes all its writes visible (T2), then they are stamped.  Cannot fail.
 */
extern void tg_txn_commit(tg_session *session, tg_txn *txn);

/* Ends it: undoes all its writes.  Cannot fail. */
extern void tg_txn_abort(tg_session *session, tg_txn *txn);

/*
 * Ends a transaction whose tables are about to go, and are nobody else's: nothing is undone, and
 * nothing is left to collect.  Cannot fail.
 */
extern void tg_txn_forget(tg_session *session, tg_txn *txn);

/*
 * Starts a subtransaction's part of the work, before its first write or lock.  These carry
 * *number_out (1 …; TG_SUBTXN_LAST stands for all further ones), which tells a session that has to
 * wait for them which subtransaction to wait for.
 */
typedef struct tg_txn_mark
{
	uint32_t log;	/* tg_log_mark */
	uint32_t locks; /* row locks held */
} tg_txn_mark;

extern void tg_txn_savepoint(tg_session *session, tg_txn *txn, tg_txn_mark *mark_out, unsigned *number_out);

/* Undoes the writes and locks made since the mark.  Cannot fail. */
extern void tg_txn_rollback_to(tg_session *session, tg_txn *txn, tg_txn_mark mark);

/* --- writing ----------------------------------------------------------------------
 *
 * Every write, and tg_txn_newest, observes the preserve list (W0, L2, L4; kinds.h) and may return:
 * TG_BUSY, wait for a LONG; TG_CONFLICT, with the reason in tg_txn_conflict (a SHORT gets it also
 * instead of any other TG_BUSY); TG_FORBIDDEN, a LONG has not preserved the area.  tg_txn_lock
 * observes the list from NO KEY UPDATE on, and leaves it to the host whether a SHORT waits.
 */

/*
 * Set by the host, or NULL: whether the writing session is to stop.  Writes of rows with very many
 * entries ask from time to time; they are then undone and return TG_CANCELLED.
 */
extern bool (*tg_txn_is_interrupted)(void);

/*
 * Inserts.  key NULL: a table without a primary key.  This and the following calls also maintain
 * the secondary indexes.  TG_OK; TG_EXISTS (a unique key is taken: *wait_out says of which index
 * and by which row, and *row_out is that row); TG_BUSY (by a transaction that has not ended);
 * TG_NO_MEMORY, TG_TOO_LARGE, TG_FULL, TG_CANCELLED.
 */
extern tg_status tg_txn_insert(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes,
							   const tg_value *values, const bool *nulls, uint32_t *row_out,
							   tg_wait *wait_out) TG_MUST_USE;

/*
 * Inserts as a row that the caller has reserved (its head is closed), or that was deleted: the same
 * was written before, by a transaction that held row and keys.  Other unique keys are not judged.
 * TG_OK; TG_AGAIN: the collector has just closed the row; TG_EXISTS: the row or its primary key is
 * in use, or the key leads to another row; TG_NO_MEMORY, TG_TOO_LARGE.
 */
extern tg_status tg_txn_insert_at(const tg_writer *writer, tg_table *table, uint32_t row, const void *key,
								  size_t key_bytes, const tg_value *values, const bool *nulls,
								  tg_wait *wait_out) TG_MUST_USE;

/*
 * What a row id means to a transaction that repeats what another server has committed, beside
 * readers and the collector.  *newest_out: the row's newest version, or NONE.  Inside an epoch.
 */
typedef enum tg_row_life
{
	TG_ROW_FREE,	  /* it has no version; perhaps there is no such row yet */
	TG_ROW_CLOSED,	  /* about to become free, or reserved */
	TG_ROW_LIVE,	  /* the newest version has not ended */
	TG_ROW_ENDED,	  /* by a commit: readers may see it until the collector closes the row */
	TG_ROW_ENDED_SELF /* by the asking transaction */
} tg_row_life;

extern tg_row_life tg_txn_row_life(const tg_writer *writer, tg_table *table, uint32_t row, tg_version *newest_out);

/*
 * The newest version of a row that the caller means to change.  Inside an epoch (the caller reads
 * the version's values before it leaves).
 * TG_OK: the snapshot sees it.
 * TG_CHANGED: it was committed after the snapshot; the caller re-evaluates its conditions on it.
 *   *row_inout may have moved to the row that an UPDATE of the key made, so a repeated call starts
 *   again from the row that the snapshot sees.
 * TG_NOT_FOUND: deleted, even if its key has been inserted again.
 * TG_SELF: the writer's own command or a later one has changed it already; *version_out is the
 *   version that this made or ended.
 * TG_BUSY: wait.
 * TG_MOVED: the row has departed.
 * snapshot NULL: the row's present version, whatever its life; TG_CHANGED.
 */
extern tg_status tg_txn_newest(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table,
							   uint32_t *row_inout, tg_version *version_out, tg_wait *wait_out) TG_MUST_USE;

/*
 * Whether values could be inserted: looks for their keys in a unique index, or (NULL) in all of
 * them, and for the primary key if one is given.  Changes nothing and reserves nothing: another
 * transaction may insert before the caller does.  TG_OK: no row has the keys.  TG_EXISTS, TG_BUSY:
 * as tg_txn_insert.  TG_TOO_LARGE.
 */
extern tg_status tg_txn_probe(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes,
							  tg_index *index, const tg_value *values, const bool *nulls,
							  tg_wait *wait_out) TG_MUST_USE;

/*
 * Whether more than one row has the key of these values, in an index that is not unique; for a
 * transaction that has written one of them.  TG_OK: there is only one, and no other transaction has
 * an open one, so the caller need not ask again unless it writes the key again.  TG_EXISTS,
 * TG_BUSY: as above; waits: the caller is going to wait.  TG_TOO_LARGE.
 */
extern tg_status tg_txn_recheck(const tg_writer *writer, tg_index *index, const tg_value *values, const bool *nulls,
								bool waits, tg_wait *wait_out) TG_MUST_USE;

/*
 * For builds: whether a row that has an entry of this key denies the key to others.  TG_OK,
 * TG_EXISTS, TG_BUSY as tg_txn_probe.  Inside an epoch.
 */
extern tg_status tg_unique_judge(tg_session *session, tg_index *index, const tg_index_key *key, uint32_t row,
								 tg_wait *wait_out) TG_MUST_USE;

/*
 * Replaces exactly this version by new values with the same primary key.  TG_OK; TG_AGAIN (another
 * transaction was faster: ask for the newest again); TG_BUSY (another transaction holds a
 * conflicting lock on the row, or a unique key: wait, then ask for the newest again); TG_EXISTS (a
 * unique key is taken, as for tg_txn_insert); TG_NO_MEMORY, TG_TOO_LARGE.  Strings in values that
 * lie in a blob of the old version are shared.  An index whose columns keep their values is not
 * touched.
 */
extern tg_status tg_txn_update(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
							   const tg_value *values, const bool *nulls, tg_wait *wait_out) TG_MUST_USE;

/* Ends exactly this version.  TG_OK, TG_AGAIN, TG_BUSY, TG_NO_MEMORY. */
extern tg_status tg_txn_delete(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
							   tg_wait *wait_out) TG_MUST_USE;

/*
 * As tg_txn_delete, for a row that continues in another table, which is the caller's task: a
 * transaction that looks for its newest version gets TG_MOVED.
 */
extern tg_status tg_txn_depart(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
							   tg_wait *wait_out) TG_MUST_USE;

/*
 * Replaces exactly this version by one with another key: makes a new row under the new key
 * (*row_out), and ends the old one, which names the new row.  Results as of insert and delete;
 * nothing is changed unless TG_OK.  Shares no strings with the old version.
 */
extern tg_status tg_txn_move(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
							 const void *key, size_t key_bytes, const tg_value *values, const bool *nulls,
							 uint32_t *row_out, tg_wait *wait_out) TG_MUST_USE;

/*
 * Locks a row without writing it (W7), until the transaction has ended or the writer's
 * subtransaction is rolled back.  Inside an epoch.  Results as of tg_txn_newest: TG_OK and
 * TG_CHANGED: it is locked, and *version_out is its newest version; TG_BUSY: another transaction's
 * write or lock conflicts with the mode; TG_SELF: the running command or a later one has changed
 * the row, and it is not locked; also TG_NO_MEMORY.  For KEY SHARE the version returned may have
 * been replaced by a transaction that has not ended and that keeps the row's key.
 */
extern tg_status tg_txn_lock(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table, uint32_t *row_inout,
							 tg_lock_mode mode, tg_version *version_out, tg_wait *wait_out) TG_MUST_USE;

/* The transaction's targets; false: they are more than TG_TXN_TABLES_MAX.  Session owner. */
extern bool tg_txn_targets(const tg_txn *txn, tg_target targets_out[TG_TXN_TABLES_MAX], unsigned *count_out);

/* The number of row locks that the transaction holds (W7).  Session owner. */
extern uint32_t tg_txn_lock_count(const tg_txn *txn);

/* Whether its C has been drawn (tg_txn_prepare). */
extern bool tg_txn_is_prepared(const tg_txn *txn);

/* Whether there is anything to commit: writes that were not undone. */
extern bool tg_txn_has_writes(const tg_txn *txn);

/*
 * For the host's log: whether the transaction has written to a table that is logged; its write log,
 * while it has not ended, NULL: it is empty; notes in the tables that a record with its writes ends
 * here.  By its owner.
 */
extern bool tg_txn_is_logged(const tg_txn *txn);
extern tg_write_log *tg_txn_log(const tg_txn *txn);
extern void tg_txn_note_logged(const tg_txn *txn, uint64_t position);

/* The number of its writes, including those undone. */
extern uint64_t tg_txn_write_count(const tg_txn *txn);

/* --- figures ------------------------------------------------------------------------ */

/*
 * The stage of a transaction between its first write and its end, in the terms of Tsurugi's users.
 */
typedef enum tg_txn_stage
{
	TG_STAGE_RUNNING,
	TG_STAGE_COMMITTING, /* its commit timestamp is drawn, its reads are being validated */
	TG_STAGE_AVAILABLE,	 /* committed: its writes are visible to all, and are being stamped */
	TG_STAGE_ABORTING
} tg_txn_stage;

typedef struct tg_txn_report
{
	bool active;
	tg_txn_stage stage;
	uint64_t host;
	uint64_t writes;
	tg_txn_kind kind;
	tg_isolation isolation;
	char label[TG_TXN_LABEL_BYTES];
	tg_time snapshot; /* LONG: R_L.  0: none, or not noted */
	/* LONG: the host made it one after so many failures; 0: it did not. */
	unsigned promoted_after;
	bool waits; /* it is between tg_wait_begin and tg_wait_end, for the following */
	tg_wait wait;
} tg_txn_report;

/* A report on any session's transaction, made without waiting.  False: none is active. */
extern bool tg_txn_report_get(unsigned session_id, tg_txn_report *report);

/*
 * Transactions that ended because of a conflict, by its kind; the host, which decides on it,
 * counts.
 */
extern void tg_conflict_note(tg_conflict_kind kind);
extern uint64_t tg_conflicts(tg_conflict_kind kind);

/*
 * What sessions did for transactions that were tried again after a conflict; counted by the host.
 */
typedef enum tg_retry
{
	TG_RETRY_LOCKED,	/* a row was locked when it was read */
	TG_RETRY_YIELDED,	/* a transaction gave way to one that waited for such a lock */
	TG_RETRY_PROMOTED,	/* a transaction was started as a LONG */
	TG_RETRY_COMMITTED, /* and committed */
	TG_RETRY_COUNT
} tg_retry;

extern void tg_retry_note(tg_retry retry);
extern uint64_t tg_retries(tg_retry retry);

extern uint64_t tg_txn_commits(void);
extern uint64_t tg_txn_aborts(void);

#endif /* TG_TXN_H */
