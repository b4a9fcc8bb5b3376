/*
 * parallel.h
 *	  Functions that read tables of ours in PostgreSQL's parallel workers.
 *
 * A worker sees what its leader sees: at READ COMMITTED the same moment as the statement that it works for, above it the
 * transaction's, and what that transaction has changed.
 */
#ifndef TSURUGI_PARALLEL_H
#define TSURUGI_PARALLEL_H

#include "executor/execdesc.h"

#include "runtime/runtime.h"

/* An executor run that calls functions of users' and may have workers has started: lends them its snapshot, or goes without any where that cannot be done. */
extern void tsurugi_parallel_lead(QueryDesc *query);

/* It will have none, though its plan says so. */
extern void tsurugi_parallel_renounce(QueryDesc *query);

/* What has been lent does not hold any more: runs that have started, and are not under way, will have none either. */
extern void tsurugi_parallel_call_off(void);

/*
 * In a worker: what its outermost run has been told by the leader is taken out of the executor's flags, which are
 * returned; ahead of its start.
 */
extern int tsurugi_parallel_follow(QueryDesc *query, int eflags);

/* In a worker, ahead of every access: the first one takes the snapshot over.  Raises 0A000. */
extern void tsurugi_parallel_join(void);

/* In a worker that has joined: the number of its leader's transaction. */
extern unsigned tsurugi_parallel_number(void);

/* In a leader, before a validation begins of what was read: the notes of its workers, which have ended, become its own. */
extern void tsurugi_parallel_collect(void);

/* The transaction has ended, the leader's or the worker's part. */
extern void tsurugi_parallel_end(bool committed);

#endif /* TSURUGI_PARALLEL_H */
