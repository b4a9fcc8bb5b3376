/*
 * replay.h
 *	  Puts the contents of tables back in place, from records, while nobody reads them.
 *
 * The records come in the order of the log.  Rows have the ids that they had; each has one version,
 * which everybody sees.  Keys and indexes have no entries afterwards: they are built from the rows.
 */
#ifndef TG_REPLAY_H
#define TG_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/table/table.h"
#include "runtime/txn/txn.h"

typedef struct tg_replay tg_replay;

/* What a replay asks its caller. */
typedef struct tg_replay_calls
{
	void *context;

	/*
	 * The kinds of the cells of rows of a storage, as tg_roster_shape gives them.  They may be of a
	 * storage that has no table, or of indexes that its table does not have: these operations, or
	 * cells, are passed over.
	 */
	size_t (*shape)(void *context, uint64_t storage, unsigned column_count, const uint64_t *indexes,
					unsigned index_count, uint8_t *kinds, unsigned *cell_counts);

	/* The table with this storage id, or NULL: its operations are passed over. */
	tg_table *(*table)(void *context, uint64_t storage);

	/*
	 * An operation does not fit the rows of the table, and was not applied; the next ones may be.
	 */
	void (*misfit)(void *context, uint64_t storage);

	/*
	 * Beside readers: what is to be inserted has to wait for the end of what was deleted, which the
	 * collector removes when no reader sees it.  Called outside an epoch, again and again.  TG_OK:
	 * look again.
	 */
	tg_status (*await)(void *context);
} tg_replay_calls;

/* In the process's memory; the calls stay as they are.  TG_NO_MEMORY. */
extern tg_status tg_replay_begin(tg_session *session, const tg_replay_calls *calls, tg_replay **replay_out) TG_MUST_USE;

extern void tg_replay_end(tg_replay *replay);

/*
 * Only rows of one share of count are changed in place, or reserved: others, for which other
 * threads have a replay each, apply the rest at the same time, in any order.  At first there is one
 * share, of all rows.
 */
extern void tg_replay_share(tg_replay *replay, unsigned share, unsigned count);

/* Consecutive row ids that are in one share; set by tests only. */
extern uint32_t tg_replay_run_rows;

/* From now on another session is the one that works; between records. */
extern void tg_replay_go_on_with(tg_replay *replay, tg_session *session);

/*
 * Applies the operations of one record.  exact: the rows are as of the record's place in the log;
 * else they may be as of a later one, so a row that is to be changed or deleted may be missing, and
 * one that is to be inserted may be there, with other values.  TG_DAMAGED: the record has a fault;
 * what came before it has been applied.  TG_NO_MEMORY, TG_OVER_QUOTA: a part of the record may have
 * been applied, and it may be tried again with exact false. Outside an epoch.
 */
extern tg_status tg_replay_record(tg_replay *replay, const void *data, size_t count, bool exact) TG_MUST_USE;

/*
 * For a record of a transaction that the host has prepared, and that is undecided.  The first, in
 * the order of the log with other records, keeps row ids free for the rows that it inserts.  The
 * second, once keys and indexes have been built, does what the record says as the transaction
 * *txn, which is in the caller's hand (txn/prepared.h): writes and row locks.  Results as above.
 */
extern tg_status tg_replay_reserve(tg_replay *replay, const void *data, size_t count) TG_MUST_USE;
extern tg_status tg_replay_restore(tg_replay *replay, tg_txn *txn, const void *data, size_t count) TG_MUST_USE;

/*
 * Beside readers: does what the record says as the session's transaction *txn, which has neither
 * ended nor a snapshot.  Rows of a table that is fresh, which nobody else knows, are put in place.
 * After another result than TG_OK the transaction is to be aborted.  Results as above; or that of
 * await.
 */
extern tg_status tg_replay_live(tg_replay *replay, tg_txn *txn, const void *data, size_t count) TG_MUST_USE;

/* How many changes of rows it has applied. */
extern uint64_t tg_replay_changes(const tg_replay *replay);

/*
 * The last record has been applied: what has no row is free, and may be taken, unless the table
 * follows.
 */
extern void tg_replay_finish(tg_session *session, tg_table *table);

#endif /* TG_REPLAY_H */
