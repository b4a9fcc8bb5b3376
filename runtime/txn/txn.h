/*
 * txn.h
 *	  Transactions on the multi-version store: begin, read, write, end.
 *
 * One descriptor per session, in the arena.  The rules named T1 … W6 in the
 * comments of this room are listed in runtime/README.md, section
 * «Transactions».  READ COMMITTED: a snapshot per statement, writers wait for
 * the holder of a row and go on with its newest version.
 *
 * Every call is made by the session's owner, outside an epoch unless it says
 * otherwise, and returns without waiting for anybody: TG_BUSY comes with what
 * to wait for.  Nothing in here fails after it has changed something.
 */
#ifndef TG_TXN_H
#define TG_TXN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/table/table.h"
#include "runtime/order/value.h"
#include "runtime/table/version.h"
#include "runtime/table/write_log.h"
#include "runtime/txn/reads.h"

typedef struct tg_txn tg_txn;

/* Makes the descriptors, one per session.  At server start, after the arena. */
extern tg_status tg_txn_create(void) TG_MUST_USE;

/* In the pool's process, before it starts: the watcher reports transactions whose operations stand still. */
extern void tg_txn_attach(void);

/* --- snapshots ------------------------------------------------------------------ */

/*
 * What a statement sees: commits up to time, but for excluded ones, and of transaction txn what
 * earlier commands wrote.  Copied freely; valid while its time is published.
 */
typedef struct tg_snapshot
{
	tg_time time;
	uint32_t txn;				   /* own descriptor's number (the session's id) */
	uint32_t command;			   /* own writes of smaller commands are seen */
	const tg_exclusions *excluded; /* the owner's memory; NULL, as mostly: none */
} tg_snapshot;

/* V2, M2: whether what was committed then is seen. */
static inline bool
tg_snapshot_covers(const tg_snapshot *snapshot, tg_time time)
{
	return time <= snapshot->time && tg_likely(!tg_is_excluded(snapshot->excluded, time));
}

/* Whether the snapshot sees a version, as far as its times tell: false says nothing. */
static inline bool
tg_header_is_seen(const tg_snapshot *snapshot, const tg_header *header)
{
	tg_time begin = tg_load_acquire(&header->begin);
	tg_time end = tg_load_acquire(&header->end);

	/* A reference is later than any time. */
	return begin <= snapshot->time && end > snapshot->time && !tg_time_is_reference(end) && snapshot->excluded == NULL;
}

/* --- life -------------------------------------------------------------------------- */

/*
 * Begins the session's transaction at its first write.  host is the host's
 * word for it, handed to those who wait for it.
 */
extern tg_txn *tg_txn_begin(tg_session *session, uint64_t host);

/* Tsurugi's kinds of transactions (kinds.h), and what is none of them. */
typedef enum tg_txn_kind
{
	TG_TXN_ORDINARY,
	TG_TXN_SHORT,
	TG_TXN_LONG,
	TG_TXN_READ_ONLY
} tg_txn_kind;

typedef enum tg_isolation
{
	TG_READ_COMMITTED,
	TG_REPEATABLE_READ,
	TG_SERIALIZABLE
} tg_isolation;

#define TG_TXN_LABEL_BYTES 64 /* the terminator included; longer ones are cut */

/*
 * Says what it is; before its first read or write.  Otherwise, and after tg_txn_begin, it is ordinary,
 * READ COMMITTED and without a label.  The other kinds are SERIALIZABLE.  label may be NULL.
 */
extern void tg_txn_describe(tg_txn *txn, tg_txn_kind kind, tg_isolation isolation, const char *label);

/* Both in one. */
extern tg_txn *tg_txn_begin_as(tg_session *session, uint64_t host, tg_txn_kind kind, tg_isolation isolation,
							   const char *label);
extern tg_txn_kind tg_txn_kind_of(const tg_txn *txn);

/* For reports: the snapshot it reads at now; 0: none.  Its owner's. */
extern void tg_txn_note_snapshot(tg_txn *txn, tg_time snapshot);

/* What the transaction has inserted into a table by now, less what it has deleted.  Session owner. */
extern int64_t tg_txn_rows(const tg_txn *txn, const tg_table *table);

/* Why the last call with this transaction was TG_CONFLICT. */
extern const tg_conflict *tg_txn_conflict(const tg_txn *txn);

/*
 * At SERIALIZABLE: notes what the transaction must validate; the read set is the
 * caller's and lives until the transaction has ended.
 */
extern void tg_txn_track(tg_txn *txn, tg_reads *reads);

/*
 * First half of a commit (M1), of one that validates or that the host makes visible elsewhere first (M2): draws C,
 * which is returned, and, if reads are tracked, begins the validation of what was read at R; the caller
 * steps it and then commits or aborts.  Until then the transaction is PREPARED, and who has to
 * know its outcome waits.
 */
extern tg_time tg_txn_prepare(tg_session *session, tg_txn *txn, tg_time snapshot);

/* Ends it: one atomic store makes all it wrote visible (T2), then stamps.  Cannot fail. */
extern void tg_txn_commit(tg_session *session, tg_txn *txn);

/* Ends it: takes everything back.  Cannot fail. */
extern void tg_txn_abort(tg_session *session, tg_txn *txn);

/*
 * Starts a subtransaction's part of the work, before its first write or lock.  These
 * carry *number_out (1 …; TG_SUBTXN_LAST stands for all further ones),
 * so that who waits for them knows which part to wait for.
 */
typedef struct tg_txn_mark
{
	tg_log_mark log;
	uint32_t locks; /* row locks held */
} tg_txn_mark;

extern void tg_txn_savepoint(tg_session *session, tg_txn *txn, tg_txn_mark *mark_out, unsigned *number_out);

/* Takes back what was written or locked since the mark.  Cannot fail. */
extern void tg_txn_rollback_to(tg_session *session, tg_txn *txn, tg_txn_mark mark);

/* --- reading, inside an epoch ---------------------------------------------------- */

/* The part of tg_txn_read_head for rows that are not settled. */
extern tg_status tg_txn_read_chain(const tg_snapshot *snapshot, tg_version head, tg_version *version_out,
								   tg_wait *wait_out) TG_MUST_USE;

/*
 * The version of a row that the snapshot sees, by a head of the row that was loaded
 * after the snapshot's time: what it sees is at that head or below.  TG_OK or
 * TG_NOT_FOUND; TG_BUSY: that depends on how somebody's commit ends, wait for it
 * outside the epoch.
 */
static inline tg_status TG_MUST_USE
tg_txn_read_head(const tg_snapshot *snapshot, tg_version head, tg_version *version_out, tg_wait *wait_out)
{
	if (tg_likely(!tg_head_is_closed(head) && head != TG_VERSION_NONE))
	{
		const tg_header *headers = tg_chunk_headers(tg_version_chunk(head));

		/* The common cases: a settled version is what everybody sees; or its times tell. */
		if (headers == NULL || tg_likely(tg_header_is_seen(snapshot, &headers[tg_version_slot(head)])))
		{
			*version_out = head;
			return TG_OK;
		}
	}
	return tg_txn_read_chain(snapshot, head, version_out, wait_out);
}

/* The same by the row. */
static inline tg_status TG_MUST_USE
tg_txn_read(const tg_snapshot *snapshot, tg_table *table, uint32_t row, tg_version *version_out, tg_wait *wait_out)
{
	return tg_txn_read_head(snapshot, tg_load_acquire(tg_row_head(table, row)), version_out, wait_out);
}

/* The same by key, *row_out as well. */
extern tg_status tg_txn_find(const tg_snapshot *snapshot, tg_table *table, const void *key, size_t key_bytes,
							 uint32_t *row_out, tg_version *version_out, tg_wait *wait_out) TG_MUST_USE;

/*
 * Of a row in which the snapshot sees nothing any more: the one that an UPDATE of the key has made of it, if the snapshot sees
 * that UPDATE.  TG_NOT_FOUND: it was deleted, or goes on in another table.  Inside an epoch.
 */
extern tg_status tg_txn_follow(const tg_snapshot *snapshot, tg_table *table, uint32_t *row_inout) TG_MUST_USE;

typedef enum tg_sight
{
	TG_UNSEEN,
	TG_SEEN,
	TG_UNDECIDED /* wait for somebody's end, as with TG_BUSY */
} tg_sight;

/* Whether a version of a chunk is seen; the header is of the chunk's as loaded. */
extern tg_sight tg_txn_sees(const tg_snapshot *snapshot, const tg_header *header, tg_wait *wait_out);

/*
 * Whether a version that is seen by its times has a copy that began after the snapshot, and that its own transaction has
 * replaced or deleted: then it is over for the snapshot (relocate.c, 8).  The header is of the chunk's as loaded.  Inside an epoch.
 */
extern bool tg_version_has_ended_as_copy(const tg_snapshot *snapshot, const tg_header *header, tg_version version);

/*
 * Whether a version, which the row has now, is what every snapshot sees, though it may have begun after
 * it: it was copied (relocate.c).  Inside an epoch.
 */
extern bool tg_version_is_copy(tg_version version);

/*
 * Whether a version that the snapshot sees has been ended since, by somebody's commit: who has read it, and writes,
 * will not be serialized (S1), unless it extends its snapshot and reads again (W5).  Inside an epoch.
 */
extern bool tg_version_is_overtaken(const tg_snapshot *snapshot, tg_version version);

/* Whether a version of a row has all keys that a foreign key could refer to in common with an older one.  Inside an epoch. */
extern bool tg_version_keeps_keys(const tg_table *table, tg_version version, tg_version old);

/* --- writing ----------------------------------------------------------------------
 *
 * Every write, and tg_txn_newest, minds the preserve list (W0, L2, L4; kinds.h) and may say
 * so: TG_BUSY, wait for a LONG; TG_CONFLICT, and tg_txn_conflict tells why (SHORT also where
 * anything else would have been TG_BUSY); TG_FORBIDDEN, a LONG has not preserved it.
 * tg_txn_lock minds it from NO KEY UPDATE on, and leaves it to the host whether a SHORT waits.
 */

/* A write: who, as which subtransaction and command. */
typedef struct tg_writer
{
	tg_session *session;
	tg_txn *txn;
	uint32_t command;
	unsigned subtxn;
	tg_claim claim;				 /* TG_DATA; TG_ESSENTIAL for deletes */
	const tg_hidden_row *hidden; /* of the row that is written, or looked for; NULL: it has none */
	bool probes; /* an insertion that meets a unique key will not be the last thing done: it looks before it writes */
} tg_writer;

/*
 * The host's, if it is set: whether whoever writes is to stop.  Asked now and then by writes of rows with very many entries,
 * which are TG_CANCELLED then, and undone.
 */
extern bool (*tg_txn_is_interrupted)(void);

/*
 * Inserts.  key NULL: table without a primary key.  The secondary indexes are
 * maintained by the way, here and in what follows.  TG_OK; TG_EXISTS (a unique
 * key is taken: *wait_out says whose and by which row, which *row_out is too);
 * TG_BUSY (by somebody who has not ended); TG_NO_MEMORY, TG_TOO_LARGE, TG_FULL, TG_CANCELLED.
 */
extern tg_status tg_txn_insert(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes,
							   const tg_value *values, const bool *nulls, uint32_t *row_out,
							   tg_wait *wait_out) TG_MUST_USE;

/*
 * The newest version of a row for one who means to change it.  Inside an epoch
 * (the caller reads the version's values before it leaves).  TG_OK: it is what
 * the snapshot sees.  TG_CHANGED: it was committed after the snapshot; re-evaluate on it (*row_inout may
 * have moved to the row that an UPDATE of the key made: so a repeated call starts from the first row again, the
 * one that the snapshot sees).  TG_NOT_FOUND: deleted, even if its key has been inserted again.  TG_SELF: changed by the
 * writer's own command or a later one already; *version_out is what it made or ended.  TG_BUSY: wait.
 * TG_MOVED: it has departed.
 * snapshot NULL: of whatever has the row now, TG_CHANGED.
 */
extern tg_status tg_txn_newest(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table,
							   uint32_t *row_inout, tg_version *version_out, tg_wait *wait_out) TG_MUST_USE;

/*
 * Whether values could be inserted: looks for them under a unique index, or
 * (NULL) under all of them, and under the primary key if a key is given.  Changes
 * nothing and takes nothing: by the time of the insertion another one may have
 * come.  TG_OK: nobody has them.  TG_EXISTS, TG_BUSY: as tg_txn_insert would
 * say.  TG_TOO_LARGE.
 */
extern tg_status tg_txn_probe(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes,
							  tg_index *index, const tg_value *values, const bool *nulls,
							  tg_wait *wait_out) TG_MUST_USE;

/*
 * Whether more than one row has the key of these values, under an index that is not unique: for
 * one who has written one of them.  TG_OK: none but one, and nobody else's is open, so that it
 * need not be asked again unless the key is written again.  TG_EXISTS, TG_BUSY: as above; waits: the
 * caller is going to.  TG_TOO_LARGE.
 */
extern tg_status tg_txn_recheck(const tg_writer *writer, tg_index *index, const tg_value *values, const bool *nulls,
								bool waits, tg_wait *wait_out) TG_MUST_USE;

/*
 * For builds: what a row that has an entry of this key says to one who wants the
 * key.  TG_OK, TG_EXISTS, TG_BUSY as tg_txn_probe.  Inside an epoch.
 */
extern tg_status tg_unique_judge(tg_session *session, tg_index *index, const tg_index_key *key, uint32_t row,
								 tg_wait *wait_out) TG_MUST_USE;

/*
 * Replaces exactly this version by new values with the same primary key.  TG_OK;
 * TG_AGAIN (somebody was faster: ask for the newest again); TG_BUSY (somebody holds a lock on the row that
 * does not let it pass, or a unique key: wait, then ask for the newest again); TG_EXISTS (a unique key is
 * taken, as of an insertion); TG_NO_MEMORY, TG_TOO_LARGE.
 * Strings of values that lie in a blob of the old version are shared.  An index whose columns keep their
 * values is not touched.
 */
extern tg_status tg_txn_update(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
							   const tg_value *values, const bool *nulls, tg_wait *wait_out) TG_MUST_USE;

/* Ends exactly this version.  TG_OK, TG_AGAIN, TG_BUSY, TG_NO_MEMORY. */
extern tg_status tg_txn_delete(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
							   tg_wait *wait_out) TG_MUST_USE;

/* The same where the row goes on in another table, which the caller sees to: who looks for its newest version is told so. */
extern tg_status tg_txn_depart(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
							   tg_wait *wait_out) TG_MUST_USE;

/*
 * Replaces exactly this version where the key changes: a new row under the new
 * key, the old one ended and naming it (*row_out).  As insert and delete
 * together; nothing is changed unless TG_OK.  Shares no strings with the old version.
 */
extern tg_status tg_txn_move(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
							 const void *key, size_t key_bytes, const tg_value *values, const bool *nulls,
							 uint32_t *row_out, tg_wait *wait_out) TG_MUST_USE;

/* How strong a lock on a row is, in PostgreSQL's terms: row_lock.h has the table of what stands against what. */
typedef enum tg_lock_mode
{
	TG_LOCK_KEY_SHARE,	   /* the row keeps its key */
	TG_LOCK_SHARE,		   /* it stays as it is */
	TG_LOCK_NO_KEY_UPDATE, /* as an UPDATE that keeps the key */
	TG_LOCK_UPDATE		   /* as one that changes it, or a DELETE */
} tg_lock_mode;

/*
 * Locks a row without writing it (W7), until the transaction has ended or the
 * writer's subtransaction is rolled back.  Inside an epoch.  Results are those of
 * tg_txn_newest: TG_OK and TG_CHANGED: it is locked, and *version_out is its
 * newest version; TG_BUSY: held by somebody, whose write or lock stands against the mode;
 * TG_SELF: the running command or a later one has changed it, it is not locked; also TG_NO_MEMORY.
 * For KEY SHARE the version shown may have been replaced by somebody who has not ended,
 * and keeps its key.
 */
extern tg_status tg_txn_lock(const tg_writer *writer, const tg_snapshot *snapshot, tg_table *table, uint32_t *row_inout,
							 tg_lock_mode mode, tg_version *version_out, tg_wait *wait_out) TG_MUST_USE;

/* Whether there is anything to commit: written, and not taken back. */
extern bool tg_txn_has_writes(const tg_txn *txn);

/* How often it has written, what was taken back included. */
extern uint64_t tg_txn_write_count(const tg_txn *txn);

/* --- figures ------------------------------------------------------------------------ */

/* Where a transaction is between its first write and its end, as Tsurugi's users know it. */
typedef enum tg_txn_stage
{
	TG_STAGE_RUNNING,
	TG_STAGE_COMMITTING, /* its commit timestamp is drawn, what it has read is being validated */
	TG_STAGE_AVAILABLE,	 /* committed: everybody sees what it wrote, while that is being stamped */
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
	tg_time snapshot; /* LONG: R_L.  0: none, or not told */
	bool waits;		  /* between tg_wait_begin and tg_wait_end: for this one */
	tg_wait wait;
} tg_txn_report;

/* Of any session's transaction, without waiting for anybody.  False: none is active. */

extern bool tg_txn_report_get(unsigned session_id, tg_txn_report *report);

/* Transactions that ended because of a conflict, by its kind; counted by the host, which decides on it. */
extern void tg_conflict_note(tg_conflict_kind kind);
extern uint64_t tg_conflicts(tg_conflict_kind kind);

extern uint64_t tg_txn_commits(void);
extern uint64_t tg_txn_aborts(void);

#endif /* TG_TXN_H */
