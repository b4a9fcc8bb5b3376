/*
 * row_lock.h
 *	  Locks on rows that their holder has not written (W7).
 *
 * They serve SELECT ... FOR UPDATE and its like, and the checks of foreign keys.  A lock is an
 * entry {row, transaction, subtransaction, mode} in a hashed table.  The modes are PostgreSQL's
 * four, and they conflict (x) as follows:
 *
 *						KEY SHARE  SHARE  NO KEY UPDATE  UPDATE
 *	KEY SHARE				.		 .			.			x
 *	SHARE					.		 .			x			x
 *	NO KEY UPDATE			.		 x			x			x
 *	UPDATE					x		 x			x			x
 *
 * Each mode conflicts with all modes that a weaker one conflicts with.  A write needs no entry,
 * since its reference in the version says it all: an UPDATE that keeps the key counts as NO KEY
 * UPDATE, an UPDATE that changes it and a DELETE count as UPDATE.  An entry names the row, not a
 * version, so it outlives the updates that it lets pass.
 *
 *			  first locker					  locker, or a writer that is let pass
 *	end: NEVER ------------------------> LOCKED ----------------------------> LOCKED, or reference
 *		   |    <------------------------							of the next version: LOCKED
 *		   |		 last one released
 *		   +---------> reference			writer, while no lock is held
 *
 * 1. The mark is the end of the row's newest version, the very word that a writer has to
 *	  compare-and-swap (W1).  So locker and writer cannot miss each other, and a writer pays nothing
 *	  for rows that are not locked: its NEVER -> reference fails exactly if there is an entry to
 *	  look at.  For readers LOCKED is a time later than every commit, as NEVER is.
 * 2. The table is cut into parts, each with a latch.  The entries of a row are read and changed
 *	  under the latch of the row's part, and end goes to LOCKED and away from it under that latch.
 *	  A locker adds its entry in the same section in which it sees end LOCKED, or makes it so; a
 *	  writer goes LOCKED -> reference in the same section in which it finds no conflicting entry.
 *	  Only NEVER -> LOCKED and NEVER -> reference race with each other, on one word.
 * 3. While a row has entries, its newest version's end is LOCKED, or a reference.  A writer that
 *	  was let pass gives the new version LOCKED before that becomes the head, and makes it the head
 *	  before it leaves the latch.  (If a holder deletes the row and inserts it anew, that row is an
 *	  exception: until the holder ends, every other transaction waits for it anyway.)
 * 4. A KEY SHARE lock does not wait for an UPDATE that keeps the row's unique keys and has not
 *	  ended.  The lock goes to the version that this UPDATE has made, and holds for the version
 *	  below, which is the one that the locker is shown.  A bit of the reference in the end of each
 *	  replaced version says whether the keys are kept, so that a DELETE can be told from an UPDATE
 *	  that is about to make the new version the head.
 * 5. Such a lock may come while the update is undone.  Undo swings the head back, then looks at the
 *	  end of the version that it takes back; the locker makes that end LOCKED, then looks at the
 *	  head again.  All four are sequentially consistent, so at least one sees the other: the locker
 *	  takes its mark back and starts over, or undo enters the latch and gives the older version
 *	  LOCKED if there are entries.
 * 6. Undoing a DELETE has to ask for entries only if its own transaction has some: the entries of
 *	  every other transaction conflicted with it, and none could come since.
 *
 * An entry lives as long as its subtransaction.  It is released when that is rolled back, or right
 * after the whole transaction has become COMMITTED or ABORTED.  A row does not go away under an
 * entry: only the holder can delete it, and the holder's snapshot is published until it has
 * released.
 *
 * 7. A transaction that has to wait for a row waits in the row's queue.  The queue is the host's:
 *	  one of its locks on the row, in the mode in which the row is wanted, which is granted in the
 *	  order of requests.  A transaction takes that lock once it has found the row held.  It then
 *	  waits for the transaction that holds the row, tries again, and gives the lock back when it has
 *	  the row or wants it no more.  So the transactions that wait wake up and try one after the
 *	  other.  These are PostgreSQL's rules (README.tuplelock).  A row's number stays when the row is
 *	  updated, so the queue goes on over any number of updates, while the queue of a heap's tuple
 *	  ends with the first.
 * 8. A transaction that has a part in the row, a lock or its newest version, waits outside the
 *	  queue: the first of the queue may be waiting for this very transaction, and would be waited
 *	  for by it.
 *
 * There is no reservation.  A newcomer that finds the row free, or held in a mode that lets it
 * pass, takes it at once, even if others wait.  So a free row does not wait for a process to wake
 * up; a hot row's throughput depends on that.  The first of the queue contends with newcomers
 * alone; a newcomer that comes too late is in the queue behind it.  Sharers that follow each other
 * closely can keep a writer waiting, as in PostgreSQL.
 */
#ifndef TG_ROW_LOCK_H
#define TG_ROW_LOCK_H

#include "runtime/base/names.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/wait.h"

typedef struct tg_row_lock tg_row_lock;	  /* an entry */
typedef struct tg_row_locks tg_row_locks; /* the table of them */

/* Creates the shared table, at server start; NULL: no memory. */
extern tg_row_locks *tg_row_locks_create(tg_session *session);

/* Everything below is called inside an epoch and in the transaction's lane. */

/*
 * A writer takes a version whose end is LOCKED: end becomes the writer's reference, and replacement
 * becomes the row's head unless it is NONE.  TG_OK; TG_BUSY: another transaction holds a
 * conflicting lock; TG_AGAIN: end is something else by now.
 */
extern tg_status tg_row_lock_pass(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
								  tg_time reference, tg_lock_mode mode, tg_version replacement,
								  tg_wait *wait_out) TG_MUST_USE;

/* Whether another transaction holds a conflicting lock on the row, at this moment. */
extern bool tg_row_lock_is_held(const tg_writer *writer, tg_table *table, uint32_t row, tg_lock_mode mode,
								tg_wait *wait_out);

/*
 * Decides where to wait after a TG_BUSY for the row itself (7, 8).  It is called as the writer that
 * wants the row in this mode, and holds no latch.
 */
extern void tg_row_lock_queue(const tg_writer *writer, tg_table *table, uint32_t row, tg_lock_mode mode,
							  tg_wait *wait_inout);

/*
 * Stores the end that a version has once the transaction's own reference goes away again: NEVER or
 * LOCKED.
 */
extern void tg_row_lock_reopen(tg_table *table, uint32_t row, tg_version version);

/* Makes all of the transaction's locks another's, which has none.  Outside an epoch. */
extern void tg_row_lock_move(tg_txn *from, tg_txn *to);

/*
 * The transaction's locks, one after the other; before: the one that was got last, NULL at first.
 * NULL: there are no more.  By the transaction's owner.
 */
extern const tg_row_lock *tg_row_lock_next(const tg_txn *txn, const tg_row_lock *before, tg_table **table_out,
										   uint32_t *row_out, tg_lock_mode *mode_out);

/* Releases the transaction's newest locks until only this many are left.  Cannot fail. */
extern void tg_row_lock_release(tg_session *session, tg_txn *txn, uint32_t count);

#endif /* TG_ROW_LOCK_H */
