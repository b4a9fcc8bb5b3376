/*
 * prepared.h
 *	  PREPARE TRANSACTION: transactions that wait, without a session, for COMMIT PREPARED.
 */
#ifndef TSURUGI_PREPARED_TXN_H
#define TSURUGI_PREPARED_TXN_H

#include "nodes/parsenodes.h"

#include "runtime/base/names.h"
#include "runtime/txn/reads.h"

/*
 * PRE_PREPARE: takes a descriptor for the transaction with this xid, which stays in this session's
 * hand.  Errors: too many are prepared.
 */
extern void tsurugi_prepared_take(TransactionId xid);

/*
 * Then, if it is in the log: the transaction with this xid is one whose end has to wait for the
 * tables to be loaded, and for the log to be open.  Errors: too many locks.
 */
extern void tsurugi_prepared_mark(TransactionId xid);

/* Likewise, if it is SERIALIZABLE: the tables that it has read. */
extern void tsurugi_prepared_mark_reads(TransactionId xid, const tg_reads *reads);

/*
 * Called before a transaction at SERIALIZABLE draws its C, or publishes what it holds: what those
 * hold that have been restored is known from now on (hold.h).  Errors: out of memory.
 */
extern void tsurugi_prepared_learn(void);

/* PREPARE: the transaction is prepared, and ends for this session.  False: none was taken. */
extern bool tsurugi_prepared_move(tg_txn *txn);

/*
 * COMMIT PREPARED or ROLLBACK PREPARED: run is PostgreSQL's part.  What the transaction has done
 * here is ended in the same way.
 */
extern void tsurugi_prepared_end_by(const TransactionStmt *statement, void (*run)(const void *), const void *argument);

/* At each end of a transaction: what is in hand yet is ended by the outcome of its xid, or left. */
extern void tsurugi_prepared_end(bool committed);
extern bool tsurugi_prepared_is_in_hand(void);

/*
 * Waits until the transaction with this host word has ended, a backend's or a prepared one; false,
 * at once, if wait is false and it has not.  Errors as PostgreSQL's lock waits.
 */
extern bool tsurugi_host_wait(uint64_t host, bool wait);

/* Likewise, but a prepared one need only be in nobody's hand: then its outcome is not due. */
extern void tsurugi_host_wait_for_outcome(uint64_t host);

/* The worker: whether PostgreSQL's transaction with this xid goes on. */
extern bool tsurugi_prepared_is_open(TransactionId xid);

/* The worker: ends those whose xid has ended, in case that nobody else has. */
extern void tsurugi_prepared_finish_all(void);

#endif /* TSURUGI_PREPARED_TXN_H */
