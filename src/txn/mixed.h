/*
 * mixed.h
 *	  Commits of transactions that wrote foreign and ordinary tables, seen as a whole.
 */
#ifndef TSURUGI_MIXED_H
#define TSURUGI_MIXED_H

#include "utils/snapshot.h"

#include "runtime/runtime.h"

/* Bytes of PostgreSQL's shared memory, and their making, at server start. */
extern Size tsurugi_mixed_shared_bytes(void);
extern void tsurugi_mixed_shared_create(void);

/*
 * PRE_COMMIT of a transaction that has an xid and wrote here: draws its commit timestamp, which
 * nobody may have done yet, and prepares it (tg_txn_prepare).
 */
extern void tsurugi_mixed_begin(tg_txn *txn);

/*
 * PRE_COMMIT of one that wrote here alone: what it may have seen of others in ordinary tables is going to be before it here.
 * May wait, for moments, and be interrupted.
 */
extern void tsurugi_mixed_follow(void);

/*
 * Waits until no mixed commit is between PRE_COMMIT and its end, and lets none begin; then lets them go on.  Between the two is no more than
 * the taking of snapshots.
 */
extern void tsurugi_mixed_close(void);
extern void tsurugi_mixed_open(void);

/* The highest C of a mixed commit that has ended. */
extern tg_time tsurugi_mixed_newest_time(void);

/*
 * Whether the snapshot shows the mixed commits up to the time, and no others: 0, or the C of one of which that is not so, or not known any
 * more.
 */
extern tg_time tsurugi_mixed_misfit(Snapshot host, tg_time time);

/* The latest time by now, without exclusions, that the snapshot fits.  False: there is none, or that is not known any more. */
extern bool tsurugi_mixed_latest(Snapshot host, tg_time *time_out);

/* Whether the current transaction has passed there. */
extern bool tsurugi_mixed_has_begun(void);

/*
 * At the end of every transaction: after PostgreSQL's part of it, before it ends here.
 */
extern void tsurugi_mixed_end(bool committed);

/* Of a subtransaction: opens what it has closed, if an error came meanwhile. */
extern void tsurugi_mixed_end_part(SubTransactionId id, SubTransactionId parent, bool committed);

/* Gives up what has been kept for long enough, if nobody else is at it.  Takes no time if there is nothing. */
extern void tsurugi_mixed_tidy(void);

/*
 * A time that has been published in this entry, after PostgreSQL's snapshot (NULL: none) was taken, is
 * made one at which foreign tables show the same mixed commits as that: made earlier, and with exclusions,
 * which stay until the transaction ends.  False: that is not known any more.
 */
extern bool tsurugi_mixed_match(Snapshot host, unsigned entry, tg_time *time, const tg_exclusions **excluded_out);

#endif /* TSURUGI_MIXED_H */
