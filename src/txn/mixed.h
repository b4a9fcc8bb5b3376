/*
 * mixed.h
 *	  Commits of transactions that wrote foreign and ordinary tables, seen as a whole.
 */
#ifndef TSURUGI_MIXED_H
#define TSURUGI_MIXED_H

#include "utils/snapshot.h"

#include "runtime/base/names.h"


/* Size of the state in PostgreSQL's shared memory; and its set-up at server start. */
extern Size tsurugi_mixed_shared_bytes(void);
extern void tsurugi_mixed_shared_create(void);

/*
 * PRE_COMMIT of a transaction that has this xid and wrote foreign tables, or before PostgreSQL's
 * part of COMMIT PREPARED: draws its commit timestamp, which must not have been drawn yet, and
 * prepares it (tg_txn_prepare).
 */
extern void tsurugi_mixed_begin(tg_txn *txn, TransactionId xid);

/*
 * On a standby, the worker, around the commit in the engine of what redo has passed on with this
 * xid; shown_us: a time (tg_clock_us) by which the ordinary half was visible, or now.
 */
extern void tsurugi_mixed_begin_followed(tg_session *session, tg_txn *txn, TransactionId xid);
extern void tsurugi_mixed_end_followed(const tg_session *session, uint64 shown_us);

/*
 * The worker: whether there is room for another commit; otherwise a session that waits for the
 * worker has to look first.  And forgets the entries that have been kept for long enough, at once.
 */
extern bool tsurugi_mixed_has_room(void);
extern void tsurugi_mixed_forget(void);

/*
 * On a standby, a session that waits for the worker, with a snapshot of PostgreSQL's; at the begin
 * of the wait, and each time that it is woken.  True: a commit that the snapshot does not show has
 * been applied.  What is applied from then on is kept until tsurugi_mixed_match.
 */
extern bool tsurugi_mixed_look(Snapshot host);

/* It takes no time for that snapshot. */
extern void tsurugi_mixed_let_go(void);

/*
 * PRE_COMMIT of a transaction that wrote foreign tables alone.  It will be later, in the order of
 * C, than every mixed commit whose ordinary half it may have seen.  May wait, for moments, and be
 * interrupted.
 */
extern void tsurugi_mixed_follow(void);

/*
 * The first waits until no mixed commit is between PRE_COMMIT and its end, and lets none begin; the
 * second lets them continue.  Nothing but snapshots is taken between the two.
 */
extern void tsurugi_mixed_close(void);
extern void tsurugi_mixed_open(void);

/* The highest C of the mixed commits that have ended. */
extern tg_time tsurugi_mixed_newest_time(void);

/*
 * Whether the snapshot shows the mixed commits up to the time, and no others.  Returns 0 if so;
 * otherwise the C of a commit for which that is false, or not known any more.
 */
extern tg_time tsurugi_mixed_misfit(Snapshot host, tg_time time);

/*
 * The latest time up to now, without exclusions, that the snapshot fits.  False: there is none, or
 * it is not known any more.
 */
extern bool tsurugi_mixed_latest(Snapshot host, tg_time *time_out);

/* Whether the current transaction has passed tsurugi_mixed_begin. */
extern bool tsurugi_mixed_has_begun(void);

/* At the end of every transaction: after PostgreSQL's part of it, before it ends in the engine. */
extern void tsurugi_mixed_end(bool committed);

/*
 * At the end of a subtransaction: opens the gate if the subtransaction closed it and then failed.
 */
extern void tsurugi_mixed_end_part(SubTransactionId id, SubTransactionId parent, bool committed);

/*
 * Forgets the entries that have been kept for long enough, unless another session is doing so.
 * Costs nothing if there are none.
 */
extern void tsurugi_mixed_tidy(void);

/*
 * Adjusts a time that was published in this entry after PostgreSQL's snapshot (NULL: none) was
 * taken, so that foreign tables show the same mixed commits as that snapshot.  The time may become
 * an earlier one and get exclusions, which live until the transaction ends.  False: these are not
 * known any more.
 */
extern bool tsurugi_mixed_match(Snapshot host, unsigned entry, tg_time *time, const tg_exclusions **excluded_out);

#endif /* TSURUGI_MIXED_H */
