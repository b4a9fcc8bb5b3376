/*
 * parallel.h
 *	  Functions that read foreign tables in PostgreSQL's parallel workers.
 *
 * A worker sees what its leader sees: at READ COMMITTED the same moment as the statement that it
 * works for, above it the transaction's moment; and the changes that the transaction has made.
 */
#ifndef TSURUGI_PARALLEL_H
#define TSURUGI_PARALLEL_H

#include "executor/execdesc.h"

/*
 * An executor run that calls users' functions and may have workers has started.  Lends its snapshot
 * to them; where that is not possible, the run has no workers.
 */
extern void tsurugi_parallel_lead(QueryDesc *query);

/* The run has no workers, although its plan says so. */
extern void tsurugi_parallel_renounce(QueryDesc *query);

/*
 * The loans are no longer valid: runs that have started, and are not executing, will have no
 * workers either.
 */
extern void tsurugi_parallel_call_off(void);

/*
 * In a worker, before the start of its outermost run: reads the leader's message from the
 * executor's flags, and returns these without it.
 */
extern int tsurugi_parallel_follow(QueryDesc *query, int eflags);

/* In a worker, ahead of every access: the first one takes the snapshot over.  Raises 0A000. */
extern void tsurugi_parallel_join(void);

/* In a worker that has joined: the number of its leader's transaction. */
extern unsigned tsurugi_parallel_number(void);

/*
 * In a leader, before its reads are validated: the notes of its workers, which have ended, become
 * its own.
 */
extern void tsurugi_parallel_collect(void);

/* The transaction has ended, in the leader or in the worker. */
extern void tsurugi_parallel_end(bool committed);

#endif /* TSURUGI_PARALLEL_H */
