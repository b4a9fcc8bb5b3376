/*
 * piece.c
 *	  Rows that several tasks insert at once, for one transaction.
 *
 *	owner	may_lend -> starts tasks -> waits until none writes -> take_pieces, or undo_pieces
 *	task							insert_apart, insert_apart, ...
 *
 * What an insertion changes of its transaction is the write log, and figures.  A task has these for
 * itself: a piece, which no other thread looks at until the owner has waited for the task.
 * Everything else that it changes belongs to the table, where its rows meet those of other tasks as
 * they meet those of other transactions:
 *
 * 1. The descriptor is only read.  It stays ACTIVE as long as a task writes: the owner neither ends
 *	  the transaction nor writes in it meanwhile, also if it is interrupted (query/store.c).  So a
 *	  reference that a task stores is the transaction's, and the rules for readers and waiting
 *	  writers hold as before: T3, since the descriptor is idle only when all pieces have been
 *	  stamped or undone; W4, since the host's word stands in it.
 * 2. Two tasks that insert one key meet at the index entry, or at the latch of a unique index, as
 *	  two transactions do (W3, unique.c).  The second one finds a reference of its own transaction:
 *	  a live row, TG_EXISTS.  A dead row is revived by the task whose compare-and-swap of the head
 *	  wins, and what the other then finds is that again.
 * 3. Undoing goes backwards in each piece, and from the last piece to the first.  That is no order
 *	  of time between two pieces, but none is needed: tasks only insert, and a row that one of them
 *	  has inserted or revived is live, and not to be written by another.  So no two writes that are
 *	  to be undone, and lie in different pieces, are of one row.  (A write that was refused by a
 *	  unique key is undone at once.)  Pieces that were there before lie below, and were complete
 *	  before the first task began.
 * 4. At SERIALIZABLE an insertion is a read as well: its key was absent (W2).  It stands for itself
 *	  while the row is there.  Undoing pieces forgets it, unlike a rollback: no session was told,
 *	  because the owner inserts the same rows once more, or ends the (sub)transaction with an error
 *	  that does not depend on keys.
 * 5. W0 is the owner's, and is done before: only where no LONG minds the table need a writer not
 *	  ask again (the descriptor's `clear`), and a LONG that starts later waits for the transaction,
 *	  which is registered.
 * 6. R5: what a task meets is noted for the owner's session, which is the one that answers.
 *
 * Ordering: what the owner has written before it started the tasks, they see.  What they have
 * written to their pieces, the owner sees, because it has waited for them.  Both are the
 * scheduler's release and acquire.
 */
#include "runtime/txn/piece.h"

#include "runtime/base/check.h"
#include "runtime/mem/session.h"
#include "runtime/table/write_log.h"
#include "runtime/txn/txn_internal.h"

bool
tg_txn_may_lend(const tg_writer *writer, tg_table *table)
{
	tg_txn *txn = writer->txn;
	bool entered;
	bool may;
	tg_wait wait;

	if (tg_txn_kind_of(txn) != TG_TXN_ORDINARY || txn->shared != NULL)
		return false;
	entered = tg_txn_enter(writer->session, txn);
	tg_epoch_enter(writer->session);
	may = tg_txn_mind(writer, table, TG_VERSION_NONE, "", 0, &wait) == TG_OK && txn->clear == table;
	tg_epoch_leave(writer->session);
	tg_txn_leave(writer->session, txn, entered);
	return may;
}

static void
push_all(tg_txn *txn, tg_piece *const *pieces, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
	{
		if (pieces[i]->log != NULL)
			tg_write_log_push(&txn->log, pieces[i]->log);
		tg_store_relaxed(&txn->writes, txn->writes + pieces[i]->writes);
		*pieces[i] = (tg_piece){0};
	}
}

void
tg_txn_take_pieces(tg_session *session, tg_txn *txn, tg_piece *const *pieces, unsigned count)
{
	bool entered = tg_txn_enter(session, txn);

	push_all(txn, pieces, count);
	tg_txn_leave(session, txn, entered);
}

void
tg_txn_undo_pieces(tg_session *session, tg_txn *txn, tg_piece *const *pieces, unsigned count)
{
	bool entered = tg_txn_enter(session, txn);
	tg_txn_mark mark = {.log = tg_write_log_mark(txn->log), .locks = txn->lock_count};
	tg_reads *reads = txn->reads;

	push_all(txn, pieces, count);
	txn->reads = NULL; /* 4 */
	tg_txn_rollback_to(session, txn, mark);
	txn->reads = reads;
	tg_txn_leave(session, txn, entered);
}
