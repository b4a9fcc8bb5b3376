/*
 * shared_moment.h
 *	  PostgreSQL's snapshot of a transaction that several sessions work in.
 */
#ifndef TSURUGI_SHARED_MOMENT_H
#define TSURUGI_SHARED_MOMENT_H

#include "utils/snapshot.h"

#include "runtime/runtime.h"

/* Bytes of PostgreSQL's shared memory, and their making, at server start. */
extern Size tsurugi_shared_moment_bytes(void);
extern void tsurugi_shared_moment_create(void);

/*
 * Around the start of one that is about to be shared, or before its snapshot is drawn: PostgreSQL's is taken first, and no mixed commit
 * is under way.  taken: draws it, if that has not been done; NULL: it has not started.
 */
extern void tsurugi_shared_moment_begin(void);
extern void tsurugi_shared_moment_taken(tg_shared *started);

/*
 * What has been taken, if anything, may be borrowed from now on: as long as the caller's transaction lasts, which owns the shared
 * one, or until that has ended, which a lease owns: 57P03 without the worker; may be interrupted.
 */
extern void tsurugi_shared_moment_lend(const tg_shared_report *report);

/* The same of PostgreSQL's snapshot of the caller's transaction. */
extern void tsurugi_shared_moment_lend_own(const tg_shared_report *report);

/*
 * For a session that has joined: the snapshot, registered with the top transaction's resource owner.  NULL: there is none.  False:
 * its owner has gone.
 */
extern bool tsurugi_shared_moment_borrow(const tg_shared_report *report, Snapshot *snapshot_out);

/* What VACUUM keeps for it is seen from there on; invalid: it has no such snapshot, any more. */
extern TransactionId tsurugi_shared_moment_xmin(const tg_shared_report *report);

/* The owner's transaction: PRE_COMMIT; and its end, when nobody borrows any more. */
extern void tsurugi_shared_moment_drop(void);
extern void tsurugi_shared_moment_end(void);

/* The worker's main thread. */
extern void tsurugi_shared_moment_worker_begin(void);
extern void tsurugi_shared_moment_worker_look(void);
extern void tsurugi_shared_moment_worker_end(void);

#endif /* TSURUGI_SHARED_MOMENT_H */
