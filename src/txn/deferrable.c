/*
 * deferrable.c
 *	  SERIALIZABLE READ ONLY DEFERRABLE: safe snapshots of ordinary tables, taken on request.
 *
 * PostgreSQL takes a DEFERRABLE transaction's snapshot and waits for the serializable writers that
 * were under way; if one of them has made the snapshot unsafe, it takes another one
 * (GetSafeSnapshot, predicate.c).  When it returns, the snapshot may be minutes old, while a time
 * drawn for foreign tables would be of now.  So this file does the same in two parts, and the time
 * of foreign tables is drawn between them (moment.c).  First it takes a snapshot as READ ONLY
 * without DEFERRABLE does, which registers the transaction with those writers.  Then it waits for
 * it by PostgreSQL's own rule.  Of PostgreSQL's internals this needs the transaction's entry and
 * three of its flags.
 *
 *	take	SERIALIZABLEXACT, in each writer's list of possible conflicts; none without writers
 *	wait	DEFERRABLE_WAITING: a writer that ends wakes this backend if it was the last one, or has
 *			marked the entry RO_UNSAFE
 */
#include "postgres.h"

#include "src/txn/deferrable.h"

#include "access/xact.h"
#include "storage/lwlock.h"
#include "storage/predicate.h"
#include "storage/predicate_internals.h"
#include "storage/proc.h"
#include "utils/wait_event.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"

static inline SERIALIZABLEXACT *
own_entry(void)
{
	return ShareSerializableXact();
}

bool
tsurugi_deferrable_is_free(void)
{
	return own_entry() == InvalidSerializableXact;
}

Snapshot
tsurugi_deferrable_take(void)
{
	static SnapshotData taken = {.snapshot_type = SNAPSHOT_MVCC};
	Snapshot snapshot;

	tg_assert(tsurugi_deferrable_is_free() && XactReadOnly && XactDeferrable);
	XactDeferrable = false; /* after an error the transaction is over */
	snapshot = GetSerializableTransactionSnapshot(&taken);
	XactDeferrable = true;
	return snapshot;
}

bool
tsurugi_deferrable_wait(void)
{
	SERIALIZABLEXACT *own = own_entry();
	bool is_safe;

	if (own == InvalidSerializableXact)
		return true;
	LWLockAcquire(SerializableXactHashLock, LW_EXCLUSIVE);
	own->flags |= SXACT_FLAG_DEFERRABLE_WAITING;
	while (!SHMQueueEmpty(&own->possibleUnsafeConflicts) && (own->flags & SXACT_FLAG_RO_UNSAFE) == 0)
	{
		LWLockRelease(SerializableXactHashLock);
		ProcWaitForSignal(WAIT_EVENT_SAFE_SNAPSHOT);
		LWLockAcquire(SerializableXactHashLock, LW_EXCLUSIVE);
	}
	own->flags &= ~SXACT_FLAG_DEFERRABLE_WAITING;
	is_safe = (own->flags & SXACT_FLAG_RO_UNSAFE) == 0 || tg_failpoint_refuses("skip_deferrable_safe");
	LWLockRelease(SerializableXactHashLock);
	ReleasePredicateLocks(false, is_safe);
	return is_safe;
}

void
tsurugi_deferrable_give_up(void)
{
	if (!tsurugi_deferrable_is_free())
		ReleasePredicateLocks(false, false);
}
