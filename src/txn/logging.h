/*
 * logging.h
 *	  What a transaction has done, in PostgreSQL's log.
 */
#ifndef TSURUGI_LOGGING_H
#define TSURUGI_LOGGING_H

#include "runtime/base/names.h"

/* When the library is loaded. */
extern void tsurugi_logging_init(void);

/*
 * For participants.c.  A transaction that has changed storages gets an xid before the transactions
 * that have one are told from those that do not; what it has done is written as bytes, and, if it
 * has an xid, into the log; the rest of it goes into the log; after the end.
 */
extern void tsurugi_logging_pre_commit(void);
extern void tsurugi_logging_validate(void);
extern void tsurugi_logging_commit(void);
extern void tsurugi_logging_end(bool committed);

/*
 * Likewise, for a transaction of the engine that is committed by itself, apart from PostgreSQL's:
 * the first function may raise an error, the second one cannot fail.  The end is as above.
 */
extern void tsurugi_logging_prepare(tg_txn *txn);

/* For isolation.c: the transaction is about to draw its C, before that walk comes to the log. */
extern void tsurugi_logging_before_draw(tg_txn *txn);

/*
 * After that end, with interrupts held off: what has been committed becomes durable, as far as
 * synchronous_commit asks for it.  For PostgreSQL's transactions this is done once their locks are
 * released.
 */
extern void tsurugi_logging_flush(void);

/*
 * For a transaction that is about to be prepared: what it has done, and its row locks, go into the
 * log, where the outcome of PostgreSQL's transaction decides about them.  Whether there was
 * anything.  May raise an error; its end is tsurugi_logging_end.
 */
extern bool tsurugi_logging_pre_prepare(tg_txn *txn);

/*
 * Between a commit and its end: where the record that commits the transaction ends; 0: nothing of
 * it is logged.
 */
extern uint64 tsurugi_logging_position(void);

#endif /* TSURUGI_LOGGING_H */
