/*
 * lease_locks.c
 *	  Table locks of transactions that only a lease owns.
 *
 * A table with uncommitted changes must not be altered, dropped or truncated.  PostgreSQL ensures
 * that by locks which end with a session's transaction, but a transaction that a lease owns
 * outlives those.  So the pool's worker, which lives at least as long as such transactions, holds
 * the locks for it, as session-level locks, which belong to no transaction of PostgreSQL's.  They
 * are shown in pg_locks under the worker's process, and a session that requests a stronger lock
 * waits as usual.  The worker also holds a lock that stands for the transaction itself, so that one
 * without tables is in pg_locks, too: a userlock with its number, shown in the way in which an
 * advisory lock shows a bigint.
 *
 *	slot	FREE --take--> WANTED --worker--> HELD --the transaction has ended--> FREE
 *								 \-> REFUSED --take--> FREE
 *
 * 1. At every moment somebody holds the locks: the session that begins the transaction holds the
 *	  same ones until the worker does.
 * 2. The worker never waits for a lock, so it blocks nobody for longer than the lease.
 * 3. A slot is for one transaction, identified by its word, which is never used again.  When the
 *	  descriptor has another word, or is idle, all changes have been stamped or undone, and the
 *	  locks are released.
 * 4. If the worker stops, it first ends the transactions, then releases the locks.  If it crashes,
 *	  the server crashes, too, and nothing is left of either.
 */
#include "postgres.h"

#include "src/txn/lease_locks.h"

#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/wait_event.h"

#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn.h"
#include "runtime/start.h"
#include "src/base/session.h"
#include "src/base/status_error.h"

#define WAIT_MS 1000 /* to wait for locks that are about to be released */
/* To wait for a transaction that is being committed. */
#define COMMIT_US 1000

typedef enum SlotState
{
	SLOT_FREE,
	SLOT_WANTED,
	SLOT_HELD,
	SLOT_REFUSED
} SlotState;

typedef struct Slot
{
	SlotState state;
	unsigned txn;
	uint64 host;
	uint64 number;
	Oid database;
	unsigned count;
	/* This many of the tables, the first ones, may be written; the others are only read. */
	unsigned to_write;
	Oid tables[TG_SHARED_TABLES_MAX];
} Slot;

/* In PostgreSQL's shared memory; the lock guards all of it. */
typedef struct LeaseLocks
{
	LWLock lock;
	ConditionVariable changed; /* signals changes of a slot's state */
	Latch *worker;			   /* NULL: it does not run */
	Slot slots[TG_SHARED_MAX];
} LeaseLocks;

static LeaseLocks *locks;

Size
tsurugi_lease_locks_bytes(void)
{
	return sizeof(LeaseLocks);
}

void
tsurugi_lease_locks_create(void)
{
	static int tranche; /* child processes inherit its name */
	bool found;

	locks = ShmemInitStruct("tsurugi_fdw lease locks", sizeof(*locks), &found);
	memset(locks, 0, sizeof(*locks));
	tranche = tranche != 0 ? tranche : LWLockNewTrancheId();
	LWLockRegisterTranche(tranche, "tsurugi_fdw lease locks");
	LWLockInitialize(&locks->lock, tranche);
	ConditionVariableInit(&locks->changed);
}

/* --- sessions ------------------------------------------------------------------------- */

static Slot *
find_slot(uint64 host)
{
	for (int i = 0; i < TG_SHARED_MAX; i++)
		if (locks->slots[i].state != SLOT_FREE && locks->slots[i].host == host)
			return &locks->slots[i];
	return NULL;
}

/*
 * False: there is no worker, or no free slot; the transactions that have ended are about to free
 * theirs.
 */
static bool
want(const tg_shared_report *report, const uint32_t *tables, unsigned count, unsigned to_write)
{
	Slot *slot = NULL;

	LWLockAcquire(&locks->lock, LW_EXCLUSIVE);
	for (int i = 0; i < TG_SHARED_MAX && locks->worker != NULL; i++)
		if (locks->slots[i].state == SLOT_FREE)
			slot = &locks->slots[i];
	if (slot != NULL)
	{
		slot->state = SLOT_WANTED;
		slot->txn = report->txn;
		slot->host = report->host;
		slot->number = report->number;
		slot->database = MyDatabaseId;
		slot->count = count;
		slot->to_write = to_write;
		for (unsigned i = 0; i < count; i++)
			slot->tables[i] = tables[i];
		SetLatch(locks->worker);
	}
	LWLockRelease(&locks->lock);
	return slot != NULL;
}

/* Returns the state of the transaction's slot; a slot that was refused becomes free. */
static SlotState
look_at(uint64 host)
{
	SlotState state = SLOT_FREE;
	Slot *slot;

	LWLockAcquire(&locks->lock, LW_EXCLUSIVE);
	slot = find_slot(host);
	if (slot != NULL)
		state = slot->state;
	if (state == SLOT_REFUSED)
		slot->state = SLOT_FREE;
	LWLockRelease(&locks->lock);
	return state;
}

void
tsurugi_lease_locks_take(const tg_shared_report *report, const uint32_t *tables, unsigned count, unsigned to_write)
{
	SlotState state;

	if (tg_failpoint_refuses("skip_lease_locks"))
		return;
	if (!want(report, tables, count, to_write))
		tsurugi_error(TG_STOPPED, NULL);
	while ((state = look_at(report->host)) == SLOT_WANTED)
		ConditionVariableSleep(&locks->changed, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
	if (state != SLOT_HELD)
		ereport(ERROR, (errcode(ERRCODE_LOCK_NOT_AVAILABLE), errmsg("could not obtain lock on the tables to be shared"),
						errdetail("Another transaction waits for a lock on one of them that conflicts.")));
}

void
tsurugi_lease_locks_look(void)
{
	LWLockAcquire(&locks->lock, LW_SHARED);
	if (locks->worker != NULL)
		SetLatch(locks->worker);
	LWLockRelease(&locks->lock);
}

void
tsurugi_lease_locks_wait(const tg_shared_report *report)
{
	bool late = false;

	tsurugi_lease_locks_look();
	while (!late && look_at(report->host) == SLOT_HELD)
		late = ConditionVariableTimedSleep(&locks->changed, WAIT_MS, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
}

static bool
is_wanted_or_held(const Slot *slot)
{
	return slot->state == SLOT_WANTED || slot->state == SLOT_HELD;
}

static bool
keeps(const Slot *slot, Oid table)
{
	for (unsigned i = 0; is_wanted_or_held(slot) && slot->database == MyDatabaseId && i < slot->to_write; i++)
		if (slot->tables[i] == table)
			return true;
	return false;
}

static bool
is_kept(uint64 host)
{
	const Slot *slot;
	bool kept;

	LWLockAcquire(&locks->lock, LW_SHARED);
	slot = find_slot(host);
	kept = slot != NULL && is_wanted_or_held(slot);
	LWLockRelease(&locks->lock);
	return kept;
}

void
tsurugi_lease_locks_wait_for(Oid table)
{
	uint64 hosts[TG_SHARED_MAX];
	unsigned count = 0;

	LWLockAcquire(&locks->lock, LW_SHARED);
	for (int i = 0; i < TG_SHARED_MAX; i++)
		if (keeps(&locks->slots[i], table))
			hosts[count++] = locks->slots[i].host;
	LWLockRelease(&locks->lock);
	for (unsigned i = 0; i < count; i++)
		while (is_kept(hosts[i]))
			ConditionVariableSleep(&locks->changed, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
}

/* --- the worker --------------------------------------------------------------------------- */

static LOCKTAG
table_tag(const Slot *slot, unsigned i)
{
	LOCKTAG tag;

	SET_LOCKTAG_RELATION(tag, slot->database, slot->tables[i]);
	return tag;
}

static LOCKMODE
table_lock(const Slot *slot, unsigned i)
{
	return i < slot->to_write ? RowExclusiveLock : AccessShareLock;
}

/* The engine's other locks have PostgreSQL's other lock method. */
static LOCKTAG
transaction_tag(const Slot *slot)
{
	return (LOCKTAG){.locktag_field1 = slot->database,
					 .locktag_field2 = (uint32) (slot->number >> 32),
					 .locktag_field3 = (uint32) slot->number,
					 .locktag_field4 = 1,
					 .locktag_type = LOCKTAG_USERLOCK,
					 .locktag_lockmethodid = USER_LOCKMETHOD};
}

static bool
take(const LOCKTAG *tag, LOCKMODE mode)
{
	return LockAcquireExtended(tag, mode, true, true, false, NULL) != LOCKACQUIRE_NOT_AVAIL;
}

/* Releases the transaction's lock and those of its first tables. */
static void
unlock(const Slot *slot, unsigned count)
{
	LOCKTAG transaction = transaction_tag(slot);

	(void) LockRelease(&transaction, ExclusiveLock, true);
	for (unsigned i = 0; i < count; i++)
	{
		LOCKTAG tag = table_tag(slot, i);

		(void) LockRelease(&tag, table_lock(slot, i), true);
	}
}

/* Rule 2. */
static bool
lock(const Slot *slot)
{
	LOCKTAG transaction = transaction_tag(slot);

	if (!take(&transaction, ExclusiveLock))
		return false;
	for (unsigned i = 0; i < slot->count; i++)
	{
		LOCKTAG tag = table_tag(slot, i);

		if (!take(&tag, table_lock(slot, i)))
		{
			unlock(slot, i);
			return false;
		}
	}
	return true;
}

/* Rule 3. */
static bool
has_ended(const Slot *slot)
{
	tg_txn_report report;

	return !tg_txn_report_get(slot->txn, &report) || report.host != slot->host;
}

void
tsurugi_lease_locks_worker_begin(void)
{
	LWLockAcquire(&locks->lock, LW_EXCLUSIVE);
	locks->worker = MyLatch;
	LWLockRelease(&locks->lock);
}

void
tsurugi_lease_locks_worker_look(void)
{
	bool changed = false;

	LWLockAcquire(&locks->lock, LW_EXCLUSIVE);
	for (int i = 0; i < TG_SHARED_MAX; i++)
	{
		Slot *slot = &locks->slots[i];
		SlotState before = slot->state;

		if (before == SLOT_WANTED)
			slot->state = lock(slot) ? SLOT_HELD : SLOT_REFUSED;
		else if (before == SLOT_HELD && has_ended(slot))
		{
			unlock(slot, slot->count);
			slot->state = SLOT_FREE;
		}
		changed |= slot->state != before;
	}
	LWLockRelease(&locks->lock);
	if (changed)
		ConditionVariableBroadcast(&locks->changed);
}

bool
tsurugi_lease_locks_worker_end(void)
{
	tg_session *session;

	LWLockAcquire(&locks->lock, LW_EXCLUSIVE);
	locks->worker = NULL;
	for (int i = 0; i < TG_SHARED_MAX; i++)
		if (locks->slots[i].state == SLOT_WANTED)
			locks->slots[i].state = SLOT_REFUSED;
	LWLockRelease(&locks->lock);
	ConditionVariableBroadcast(&locks->changed);
	if (tg_session_open(&session) != TG_OK)
		return false;
	while (!tg_shared_abandon_leased(session, TG_SHARED_STOPPED, NULL, 0))
		pg_usleep(COMMIT_US);
	tg_runtime_session_end(session);
	tsurugi_lease_locks_worker_look();
	return true;
}
