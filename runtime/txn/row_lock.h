/*
 * row_lock.h
 *	  Locks on rows that their holder has not written (W7).
 *
 * SELECT ... FOR UPDATE and its like, and the checks of foreign keys.  What is
 * held is an entry {row, transaction, subtransaction, mode} in a hashed table;
 * PostgreSQL's four modes, and what stands against what:
 *
 *						KEY SHARE  SHARE  NO KEY UPDATE  UPDATE
 *	KEY SHARE				.		 .			.			x
 *	SHARE					.		 .			x			x
 *	NO KEY UPDATE			.		 x			x			x
 *	UPDATE					x		 x			x			x
 *
 * Each mode stands against all that the weaker ones stand against.  A write
 * needs no entry, its reference in the version says it all: an UPDATE that
 * keeps the key counts as NO KEY UPDATE, one that changes it and a DELETE as
 * UPDATE.  An entry names the row, not a version, so it outlives the updates
 * that it lets pass.
 *
 *			  locker (first one)				  locker, writer who is let pass
 *	end: NEVER ------------------------> LOCKED ----------------------------------> LOCKED, or reference
 *		   |    <------------------------							of the next version: LOCKED
 *		   |		 last one released
 *		   +---------> reference			writer, while nobody has locked
 *
 * 1. The mark is the end of the row's newest version, the very word that a
 *	  writer has to compare-and-swap (W1).  So locker and writer cannot miss
 *	  each other, and a writer pays nothing for the rows that nobody has locked:
 *	  his NEVER -> reference fails exactly if there is something to look at.  For
 *	  readers LOCKED is a time later than every commit, as NEVER is.
 * 2. The table is cut into parts, each with a latch.  Under the latch of a
 *	  row's part: its entries are read and changed; end goes to LOCKED and away from
 *	  it.  A locker adds his entry in the same section in which he sees end LOCKED,
 *	  or makes it so; a writer goes LOCKED -> reference in the same section in which he finds
 *	  no entry against him.  Only NEVER -> LOCKED and NEVER -> reference race with each
 *	  other, on one word.
 * 3. While a row has entries, its newest version's end is LOCKED, or a
 *	  reference.  A writer who was let pass gives the new version LOCKED before it becomes
 *	  the head, and makes it the head before he leaves the latch.  (The row of a holder's own
 *	  deletion and new insertion is an exception: until he ends, everybody waits for him anyway.)
 * 4. A KEY SHARE lock does not wait for an UPDATE that keeps the row's unique keys and
 *	  has not ended: it goes to the version that this one has made, and is good for the one
 *	  below, which is what the locker is shown.  Whether the keys are kept says a bit of the
 *	  reference in the end of each version that was replaced, so that a deleter can be told
 *	  from one who is about to make the new version the head.
 * 5. Such a lock may come while the update is undone.  Undo swings the head back,
 *	  then looks at the end of the version it takes back; the locker makes that LOCKED,
 *	  then looks at the head again; all four sequentially consistent, so at least one sees the
 *	  other: the locker takes his mark back and starts over, or undo enters
 *	  the latch and gives the older version LOCKED if there are entries.
 * 6. Undoing a DELETE has to ask for entries only if its own transaction has
 *	  some: everybody else's stood against it, and none could come since.
 *
 * An entry lives as long as its subtransaction; it is released when that is
 * rolled back, or right after the whole has become COMMITTED or ABORTED.  A row does not go
 * away under an entry: its deletion is the holder's own, and his snapshot is
 * published until he has released.
 *
 * 7. A transaction that has to wait for a row waits in the row's queue.  The queue is the host's: one of its
 *	  locks on the row, in the mode in which the row is wanted, which is granted in the order of
 *	  requests.  A transaction takes that lock once it has found the row held, waits then for the
 *	  transaction that holds the row, tries again, and gives the lock back when it has the row or wants it
 *	  no more.  So of those who wait one after the other wakes up and tries.  These are PostgreSQL's rules (README.tuplelock).
 *	  A row's number stays when the row is updated, so the queue goes on over any number of updates, where that of a heap's
 *	  tuple ends with the first.
 * 8. A transaction that has a part in the row, a lock or its newest version, waits outside the queue: the
 *	  first of the queue may be waiting for this very transaction, and would be waited for by it.
 *
 * Not done: a reservation.  A transaction that comes anew and finds the row free, or held in a mode that lets it pass,
 * takes it at once, whoever waits.  So a free row does not wait for a process to wake up, which is what a hot row's throughput
 * is made of.  The first of the queue contends with newcomers alone; a newcomer that comes too
 * late is in the queue behind it.  Sharers who follow each other closely can keep a writer waiting, as in PostgreSQL.
 */
#ifndef TG_ROW_LOCK_H
#define TG_ROW_LOCK_H

#include "runtime/txn/txn.h"

typedef struct tg_row_lock tg_row_lock;	  /* an entry */
typedef struct tg_row_locks tg_row_locks; /* the table of them */

/* The shared table; NULL: no memory.  At server start. */
extern tg_row_locks *tg_row_locks_create(tg_session *session);

/* Everything below is called inside an epoch and in the transaction's lane. */

/*
 * A writer takes a version whose end is LOCKED: end becomes his reference, and
 * replacement, unless it is NONE, the row's head.  TG_OK; TG_BUSY: somebody
 * holds a lock against the mode; TG_AGAIN: end is something else by now.
 */
extern tg_status tg_row_lock_pass(const tg_writer *writer, tg_table *table, uint32_t row, tg_version version,
								  tg_time reference, tg_lock_mode mode, tg_version replacement,
								  tg_wait *wait_out) TG_MUST_USE;

/* Whether somebody else holds a lock on the row against the mode, at this moment. */
extern bool tg_row_lock_is_held(const tg_writer *writer, tg_table *table, uint32_t row, tg_lock_mode mode,
								tg_wait *wait_out);

/*
 * Where a TG_BUSY for the row itself is to be waited for (7, 8).  As the writer, who wants the row in this mode; of no
 * latch's holder.
 */
extern void tg_row_lock_queue(const tg_writer *writer, tg_table *table, uint32_t row, tg_lock_mode mode,
							  tg_wait *wait_inout);

/* What the end of a version is once the transaction's own reference goes away again: NEVER or LOCKED.  Stores it. */
extern void tg_row_lock_reopen(tg_table *table, uint32_t row, tg_version version);

/* Releases the transaction's newest locks until only this many are left.  Cannot fail. */
extern void tg_row_lock_release(tg_session *session, tg_txn *txn, uint32_t count);

#endif /* TG_ROW_LOCK_H */
