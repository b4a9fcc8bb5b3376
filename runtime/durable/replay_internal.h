/*
 * replay_internal.h
 *	  The part that replay.c, which changes rows in place, and replay_prepared.c share.
 */
#ifndef TG_REPLAY_INTERNAL_H
#define TG_REPLAY_INTERNAL_H

#include "runtime/durable/operations.h"
#include "runtime/durable/replay.h"

struct tg_replay
{
	tg_session *session;
	const tg_replay_calls *calls;
	uint64_t changes;
	bool exact;
	unsigned share; /* of share_count (replay.c, 7) */
	unsigned share_count;
	tg_txn *txn;					  /* that is restored (replay_prepared.c) */
	tg_table *table;				  /* of the operations in hand; NULL: they are passed over */
	tg_index *indexes[TG_HIDING_MAX]; /* NULL: the table does not have it */
	unsigned cell_counts[TG_HIDING_MAX];
	uint8_t kinds[TG_CELLS_MAX];
	tg_operations operations;
	tg_value values[TG_COLUMN_MAX]; /* of a row of the newest layout */
	bool nulls[TG_COLUMN_MAX];
};

/* The version of a row, or NONE; never a row that there is not. */
extern tg_version tg_replay_version_of(const tg_replay *replay, uint32_t row);

/*
 * The row's values, by column of the newest layout: those that the record does not have are NULL.
 */
extern void tg_replay_spread_values(tg_replay *replay);

/* A change of a table that nobody reads (replay.c). */
extern tg_status tg_replay_in_place(tg_replay *replay, const tg_row_operation *operation) TG_MUST_USE;

/*
 * As the transaction in hand, inside an epoch: an insertion with this id, a change and a deletion
 * of a row that has this version.  TG_DAMAGED: the record cannot be of this table; other results as
 * of tg_txn_insert_at, tg_txn_update and tg_txn_delete.
 */
extern tg_status tg_replay_write_insert(tg_replay *replay, uint32_t row) TG_MUST_USE;
extern tg_status tg_replay_write_update(tg_replay *replay, const tg_row_operation *operation,
										tg_version old) TG_MUST_USE;
extern tg_status tg_replay_write_delete(tg_replay *replay, uint32_t row, tg_version version) TG_MUST_USE;

/*
 * Stores the hidden values of a hidden operation, where the version has none (replay.c, 5).  The
 * second one looks first whether keys can be made of them: TG_DAMAGED.
 */
extern tg_status tg_replay_store_hidden(tg_replay *replay, tg_version version) TG_MUST_USE;
extern tg_status tg_replay_write_hidden(tg_replay *replay, tg_version version) TG_MUST_USE;

/* Calls a function for each operation of a record whose table is there. */
typedef tg_status (*tg_replay_take)(tg_replay *replay, const tg_row_operation *operation);
extern tg_status tg_replay_operations(tg_replay *replay, const void *data, size_t count,
									  tg_replay_take take) TG_MUST_USE;

#endif /* TG_REPLAY_INTERNAL_H */
