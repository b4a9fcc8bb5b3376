/*
 * shared_moment.h
 *	  The snapshot of ordinary tables that belongs to a transaction of several sessions.
 */
#ifndef TSURUGI_SHARED_MOMENT_H
#define TSURUGI_SHARED_MOMENT_H

#include "utils/snapshot.h"

typedef struct tg_shared tg_shared;				  /* shared.h */
typedef struct tg_shared_report tg_shared_report; /* shared.h */

/* Size of the state in PostgreSQL's shared memory; and its set-up at server start. */
extern Size tsurugi_shared_moment_bytes(void);
extern void tsurugi_shared_moment_create(void);

/*
 * Called before and after the start of a transaction that will be shared, or the draw of its
 * snapshot.  PostgreSQL's snapshot is taken first, while no mixed commit is under way.  taken: also
 * draws the transaction's snapshot if that has not been done; NULL: the transaction has not
 * started.
 */
extern void tsurugi_shared_moment_begin(void);
extern void tsurugi_shared_moment_taken(tg_shared *started);

/*
 * The snapshot that was taken, if any, may be borrowed from now on.  If the caller's transaction
 * owns the shared one, this holds until the caller's ends; if a lease does, until the shared one
 * has ended.  Raises 57P03 if there is no worker; may be interrupted.
 */
extern void tsurugi_shared_moment_lend(const tg_shared_report *report);

/* Lends PostgreSQL's snapshot of the caller's transaction in the same way. */
extern void tsurugi_shared_moment_lend_own(const tg_shared_report *report);

/*
 * For a session that has joined: returns the snapshot, registered with the top transaction's
 * resource owner; NULL: there is none.  False: its owner has gone.
 */
extern bool tsurugi_shared_moment_borrow(const tg_shared_report *report, Snapshot *snapshot_out);

/* The xmin that holds back VACUUM for its snapshot; invalid: it has none, or none any more. */
extern TransactionId tsurugi_shared_moment_xmin(const tg_shared_report *report);

/* For the owner's transaction: PRE_COMMIT, and the end, when no session borrows any more. */
extern void tsurugi_shared_moment_drop(void);
extern void tsurugi_shared_moment_end(void);

/* The worker's main thread. */
extern void tsurugi_shared_moment_worker_begin(void);
extern void tsurugi_shared_moment_worker_look(void);
extern void tsurugi_shared_moment_worker_end(void);

#endif /* TSURUGI_SHARED_MOMENT_H */
