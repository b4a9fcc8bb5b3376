/*
 * isolation.h
 *	  What REPEATABLE READ adds to a snapshot per statement.
 *
 * Everything here is for transactions at REPEATABLE READ and above; callers
 * ask IsolationUsesXactSnapshot() first, so READ COMMITTED pays one comparison.
 */
#ifndef TSURUGI_ISOLATION_H
#define TSURUGI_ISOLATION_H

#include "utils/rel.h"

#include "runtime/runtime.h"

/* Registers the executor's hook.  Once, where the library is loaded. */
extern void tsurugi_isolation_init(void);

/*
 * A scan is about to tell the executor what there is: from here on the
 * transaction's snapshot stands.
 */
extern void tsurugi_snapshot_is_used(void);

/* What has become of a row that a statement is about to write, since its snapshot. */
typedef enum tsurugi_change
{
	TSURUGI_CHANGED,
	TSURUGI_DELETED
} tsurugi_change;

/*
 * A row to be written was committed after the snapshot (W5).  Takes a new
 * snapshot if the transaction has been told nothing from its first: the caller
 * starts over, with scans restarted and the snapshot asked for again.
 * Otherwise, or if the caller may not start over, raises 40001.
 */
extern void tsurugi_renew_snapshot(Relation relation, tsurugi_change change, bool may_start_over);

/* For transaction.c: the transaction has ended. */
extern void tsurugi_isolation_end(void);

#endif /* TSURUGI_ISOLATION_H */
