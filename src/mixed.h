/*
 * mixed.h
 *	  Commits of transactions that wrote foreign and ordinary tables, seen as a whole.
 */
#ifndef TSURUGI_MIXED_H
#define TSURUGI_MIXED_H

#include "executor/execdesc.h"

/* Bytes of PostgreSQL's shared memory, and their making, at server start. */
extern Size tsurugi_mixed_shared_bytes(void);
extern void tsurugi_mixed_shared_create(void);

/*
 * Waits until every transaction whose changes of ordinary tables are there to see
 * has committed here, too.  Before a moment is drawn.
 */
extern void tsurugi_mixed_wait_for_outcomes(void);

/*
 * PRE_COMMIT of a transaction that has an xid and wrote here, before its commit
 * timestamp is drawn: by the transaction of this number.  May wait, and be interrupted.
 */
extern void tsurugi_mixed_begin(unsigned txn);

/*
 * Ahead of an executor run at READ COMMITTED: if it reads tables of both kinds, its snapshot and the moment
 * at which it reads foreign tables show the same mixed commits.  May give the run a newer snapshot; may wait.
 */
extern void tsurugi_mixed_match(QueryDesc *query);

/* The transaction has ended, its part here too; or a subtransaction was taken back. */
extern void tsurugi_mixed_end(void);
extern void tsurugi_mixed_end_part(void);

#endif /* TSURUGI_MIXED_H */
