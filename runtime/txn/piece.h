/*
 * piece.h
 *	  Rows that several tasks insert at once, for one transaction.
 *
 * The session that owns the transaction lends it to tasks, waits until none of them writes any
 * more, and then takes what they have written into the transaction, or undoes it.  See piece.c.
 */
#ifndef TG_PIECE_H
#define TG_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/order/value.h"

/* What one task has written.  All zeros: nothing yet.  The task's until its owner takes it. */
typedef struct tg_piece
{
	struct tg_write_log *log; /* NULL: nothing */
	uint64_t writes;
} tg_piece;

/*
 * W0, before tasks insert into the table: registers the writer's transaction.  False: its owner has
 * to insert the rows itself, because each has to be asked about, or because the transaction is of
 * another kind than ordinary, or is shared.  By the owner of the transaction.
 */
extern bool tg_txn_may_lend(const tg_writer *writer, tg_table *table);

/*
 * As tg_txn_insert, by a task: writer->piece is its own, writer->session that of its thread.
 * Inside an epoch.  Any status but TG_OK and TG_AGAIN: the owner is to undo all pieces, and to
 * insert the rows itself, which waits, and knows why a row is refused.
 */
extern tg_status tg_txn_insert_apart(const tg_writer *writer, tg_table *table, const void *key, size_t key_bytes,
									 const tg_value *values, const bool *nulls, struct tg_wait *wait_out) TG_MUST_USE;

/*
 * The pieces become the transaction's newest writes, in their order; or are undone.  They are empty
 * afterwards.  By the owner of the transaction, when no task writes any more; cannot fail.
 */
extern void tg_txn_take_pieces(tg_session *session, tg_txn *txn, tg_piece *const *pieces, unsigned count);
extern void tg_txn_undo_pieces(tg_session *session, tg_txn *txn, tg_piece *const *pieces, unsigned count);

#endif /* TG_PIECE_H */
