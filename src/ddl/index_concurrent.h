/*
 * index_concurrent.h
 *	  CREATE INDEX, DROP INDEX and REINDEX CONCURRENTLY.
 *
 * Each in several transactions: the caller's ends, and he is left in the last one, without a snapshot.  Outside a
 * transaction block.
 */
#ifndef TSURUGI_INDEX_CONCURRENT_H
#define TSURUGI_INDEX_CONCURRENT_H

#include "nodes/parsenodes.h"
#include "storage/lock.h"
#include "utils/rel.h"

/*
 * Makes an index while others write.  *statement is scribbled on, text is
 * where it was written.  InvalidOid: IF NOT EXISTS, and there is one.
 */
extern Oid tsurugi_index_create_concurrently(IndexStmt *statement, const char *text);

/* Drops an index of a table of ours while others read and write; both are locked by ShareUpdateExclusiveLock. */
extern void tsurugi_index_drop_concurrently(Oid table, Oid index);

/* Takes its place among the participants of transactions.  Once, where the library is loaded. */
extern void tsurugi_index_drop_init(void);

/*
 * Makes the storage of an index anew while others read and write, and the index valid; the table, locked by
 * ShareUpdateExclusiveLock, stays so to the end of the session's transaction.  Not of a primary key.
 */
extern void tsurugi_index_rebuild_concurrently(Oid table, Oid index);

/* --- for the above --- */

/* Ends a transaction and begins another one. */
extern void tsurugi_next_transaction(void);

/* Until those have ended who have locks on the table that conflict with this one, as of now; phase: of the view of progress. */
extern void tsurugi_wait_for_lockers(const LockRelId *table, LOCKMODE mode, int phase);

#endif /* TSURUGI_INDEX_CONCURRENT_H */
