/*
 * deferrable.c
 *	  SERIALIZABLE READ ONLY DEFERRABLE: safe snapshots of ordinary tables, taken when we want them.
 *
 * PostgreSQL takes a DEFERRABLE transaction's snapshot, waits for the writers that were serializable and under way, and takes
 * another one if one of them has made it unsafe (GetSafeSnapshot, predicate.c).  When it returns the snapshot may be
 * minutes old, and our time would be of now.  So the same is done here in two parts, with the drawing of our time in between (moment.c):
 * a snapshot is taken as READ ONLY without DEFERRABLE takes it, which registers the transaction with those writers; and then
 * waited for by PostgreSQL's own rule.  What that needs of its internals is the transaction's entry, and three marks in it.
 *
 *	take		SERIALIZABLEXACT, in the list of each writer's possible conflicts; or none, where there is no writer
 *	wait		DEFERRABLE_WAITING: a writer that ends wakes us when it was the last one, or has marked us RO_UNSAFE
 */
#include "postgres.h"

#include "src/txn/deferrable.h"

#include "access/xact.h"
#include "storage/lwlock.h"
#include "storage/predicate.h"
#include "storage/predicate_internals.h"
#include "storage/proc.h"
#include "utils/wait_event.h"

#include "runtime/runtime.h"

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

	Assert(tsurugi_deferrable_is_free() && XactReadOnly && XactDeferrable);
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
