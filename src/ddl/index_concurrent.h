/*
 * index_concurrent.h
 *	  CREATE INDEX, DROP INDEX and REINDEX CONCURRENTLY.
 *
 * Each takes several transactions: the caller's ends, and on return the caller is in the last one,
 * without a snapshot.  They run outside a transaction block.
 */
#ifndef TSURUGI_INDEX_CONCURRENT_H
#define TSURUGI_INDEX_CONCURRENT_H

#include "nodes/parsenodes.h"
#include "storage/lock.h"
#include "utils/rel.h"

/*
 * Makes an index while others write.  *statement is modified; text is its source.  InvalidOid: IF
 * NOT EXISTS, and the index exists.
 */
extern Oid tsurugi_index_create_concurrently(IndexStmt *statement, const char *text);

/*
 * Drops an index of a table in memory while others read and write.  The caller has locked both by
 * ShareUpdateExclusiveLock.
 */
extern void tsurugi_index_drop_concurrently(Oid table, Oid index);

/* Registers with the participants of transactions; called once, when the library is loaded. */
extern void tsurugi_index_drop_init(void);

/*
 * Rebuilds the storage of an index while others read and write, and makes the index valid.  The
 * caller has locked the table by ShareUpdateExclusiveLock; it stays locked until the end of the
 * session's transaction.  Not for a primary key.
 */
extern void tsurugi_index_rebuild_concurrently(Oid table, Oid index);

/*
 * Waits for the transactions that it would wait for, and leaves the index as it is; the same is
 * true of the lock.  For a primary key.
 */
extern void tsurugi_index_wait_concurrently(Oid table, Oid index);

/* --- for these functions --------------------------------------------------------------------- */

/* Ends a transaction and begins another one. */
extern void tsurugi_next_transaction(void);

/*
 * Waits until the transactions have ended that now hold locks on the table which conflict with this
 * one; phase: for the progress view.
 */
extern void tsurugi_wait_for_lockers(const LockRelId *table, LOCKMODE mode, int phase);

#endif /* TSURUGI_INDEX_CONCURRENT_H */
