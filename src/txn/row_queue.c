/*
 * row_queue.c
 *	  The order in which transactions that wait for a row get it (W4; row_lock.h, 7 and 8).
 *
 *	found held	the place: PostgreSQL's lock of a tuple, on the table and the row's ctid
 *	first		waits for the holder (transaction.c), tries again; if still held, waits again
 *	over		the row is written or locked, or not wanted any more: the place is given back
 *
 * It is the lock that PostgreSQL's heap takes for the same purpose, in the same modes.  So pg_locks
 * shows which transactions wait for which row, and deadlock detection, time-outs and cancel work on
 * the queue as on any lock.
 *
 * 1. A backend has one place at most, so the lock table has at most one entry for each backend.  A
 *	  wait for another row, for a key, or for a LONG gives up the place: no transaction waits in a
 *	  queue behind one that waits for something else there.  For the cycles that PostgreSQL's
 *	  detector does not look for, a transaction that waits for its turn is announced as such
 *	  (runtime/txn/waits.c).
 * 2. The place belongs to the subtransaction that waits: a statement's loop takes it and gives it
 *	  back, and an error that ends the loop ends the subtransaction, too.
 * 3. An expression that a statement evaluates while it has the place must not wait for anything
 *	  that may take long.  So where volatile functions are called, the row is locked first
 *	  (fdw_direct.c), as heap_lock_tuple does it for all.  A statement above READ COMMITTED, which
 *	  starts over with a later snapshot, gives its place up if it calls such functions, or has
 *	  sub-selects; others keep it while they search for the row once more.
 */
#include "postgres.h"

#include "src/txn/row_queue.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/resowner.h"

#include "runtime/base/failpoint.h"
#include "runtime/txn/kinds.h"
#include "src/table/row.h"
#include "src/txn/transaction.h"

bool tsurugi_is_queued;

/* If so: */
static LOCKTAG place;
static LOCKMODE place_mode;
static SubTransactionId part;
static ResourceOwner owner;
static unsigned waiter; /* the transaction's number */

/*
 * heapam.c, tupleLockExtraInfo: row lock modes that conflict map to lock modes that conflict, too.
 */
static LOCKMODE
host_mode(tg_lock_mode mode)
{
	static const LOCKMODE modes[] = {[TG_LOCK_KEY_SHARE] = AccessShareLock,
									 [TG_LOCK_SHARE] = RowShareLock,
									 [TG_LOCK_NO_KEY_UPDATE] = ExclusiveLock,
									 [TG_LOCK_UPDATE] = AccessExclusiveLock};

	return modes[mode];
}

static LOCKTAG
place_of(Relation relation, uint32_t row)
{
	ItemPointerData tid;
	LOCKTAG tag;

	tsurugi_row_id_to_tid(row, &tid);
	SET_LOCKTAG_TUPLE(tag, MyDatabaseId, RelationGetRelid(relation), ItemPointerGetBlockNumber(&tid),
					  ItemPointerGetOffsetNumber(&tid));
	return tag;
}

/* W6: tells the search for cycles of waits whose turn it is. */
static void
announce(uint64_t queue)
{
	tg_wait_queue_of(waiter, queue);
}

static void
forget(void)
{
	announce(0);
	tsurugi_is_queued = false;
}

void
tsurugi_queue_enter(Relation relation, const tg_wait *wait, tg_lock_mode mode)
{
	LOCKTAG tag = place_of(relation, wait->row);
	ResourceOwner current = CurrentResourceOwner;
	tg_wait turn = *wait;

	if (tsurugi_is_queued && memcmp(&tag, &place, sizeof(tag)) == 0)
		return;
	tsurugi_queue_leave();
	if (tg_failpoint_refuses("skip_queue"))
		return;
	turn.kind = TG_WAIT_TURN;
	waiter = tsurugi_transaction_waiting_number();
	announce((uint64_t) RelationGetRelid(relation) << 32 | wait->row);
	tg_wait_begin_of(waiter, &turn);
	CurrentResourceOwner = CurTransactionResourceOwner;
	PG_TRY();
	{
		(void) LockAcquire(&tag, host_mode(mode), false, false);
	}
	PG_CATCH();
	{
		CurrentResourceOwner = current;
		announce(0);
		PG_RE_THROW();
	}
	PG_END_TRY();
	CurrentResourceOwner = current;
	tg_wait_begin_of(waiter, wait);
	place = tag;
	place_mode = host_mode(mode);
	part = GetCurrentSubTransactionId();
	owner = CurTransactionResourceOwner;
	tsurugi_is_queued = true;
}

void
tsurugi_queue_give_up_place(void)
{
	ResourceOwner current = CurrentResourceOwner;

	CurrentResourceOwner = owner;
	(void) LockRelease(&place, place_mode, false);
	CurrentResourceOwner = current;
	forget();
}

void
tsurugi_queue_end(void)
{
	if (tsurugi_is_queued)
		forget();
}

void
tsurugi_queue_end_part(SubTransactionId id)
{
	if (tsurugi_is_queued && id == part)
		forget();
}
