/*
 * lease_locks.h
 *	  Table locks of transactions that only a lease owns.
 */
#ifndef TSURUGI_LEASE_LOCKS_H
#define TSURUGI_LEASE_LOCKS_H

#include "runtime/runtime.h"

/* Bytes of PostgreSQL's shared memory, and their making, at server start. */
extern Size tsurugi_lease_locks_bytes(void);
extern void tsurugi_lease_locks_create(void);

/*
 * Has the tables, of this database, locked until the transaction has ended: the first ones, that is to_write, to be
 * written, the others to be read.  The caller holds the same locks.  Raises 55P03 if
 * somebody waits for a stronger one, 57P03 without the worker; may be interrupted.
 */
extern void tsurugi_lease_locks_take(const tg_shared_report *report, const uint32_t *tables, unsigned count,
									 unsigned to_write);

/* Such a transaction may have ended. */
extern void tsurugi_lease_locks_look(void);

/* Waits, for some time at most, until the locks of one that has ended are gone. */
extern void tsurugi_lease_locks_wait(const tg_shared_report *report);

/*
 * Waits until those have ended that keep this table, of this database, now.  For who waits for writers without
 * a lock that conflicts (WaitForLockers): that looks for transactions of PostgreSQL's, and the worker has none.
 */
extern void tsurugi_lease_locks_wait_for(Oid table);

/* --- the worker's main thread ------------------------------------------------------------ */

extern void tsurugi_lease_locks_worker_begin(void);
extern void tsurugi_lease_locks_worker_look(void);

/* Ends all those transactions: nobody would keep their tables.  False if that cannot be done. */
extern bool tsurugi_lease_locks_worker_end(void);

#endif /* TSURUGI_LEASE_LOCKS_H */
