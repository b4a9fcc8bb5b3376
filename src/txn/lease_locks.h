/*
 * lease_locks.h
 *	  Table locks of transactions that only a lease owns.
 */
#ifndef TSURUGI_LEASE_LOCKS_H
#define TSURUGI_LEASE_LOCKS_H

typedef struct tg_shared_report tg_shared_report; /* shared.h */

/* Size of the state in PostgreSQL's shared memory; and its set-up at server start. */
extern Size tsurugi_lease_locks_bytes(void);
extern void tsurugi_lease_locks_create(void);

/*
 * Has these tables of this database locked until the transaction has ended: the first to_write ones
 * for writing, the others for reading.  The caller holds the same locks.  Raises 55P03 if another
 * transaction waits for a conflicting lock, 57P03 if there is no worker; may be interrupted.
 */
extern void tsurugi_lease_locks_take(const tg_shared_report *report, const uint32_t *tables, unsigned count,
									 unsigned to_write);

/* Tells the worker that such a transaction may have ended. */
extern void tsurugi_lease_locks_look(void);

/* Waits, for a limited time, until the locks of a transaction that has ended are released. */
extern void tsurugi_lease_locks_wait(const tg_shared_report *report);

/*
 * Waits until the transactions that have this table of this database locked for writing now have
 * ended.  For callers that wait for writers without a conflicting lock (WaitForLockers): that
 * function looks for transactions of PostgreSQL's, and the worker has none.
 */
extern void tsurugi_lease_locks_wait_for(Oid table);

/* --- the worker's main thread ------------------------------------------------------------ */

extern void tsurugi_lease_locks_worker_begin(void);
extern void tsurugi_lease_locks_worker_look(void);

/*
 * Ends all these transactions, because nobody would hold their locks.  False if that is not
 * possible.
 */
extern bool tsurugi_lease_locks_worker_end(void);

#endif /* TSURUGI_LEASE_LOCKS_H */
