/*
 * shared_moment.c
 *	  The snapshot of ordinary tables that belongs to a transaction of several sessions.
 *
 * Sessions that join a REPEATABLE READ, LONG or READ ONLY transaction read foreign tables at its R.
 * So all of them read ordinary tables at one snapshot, too: H, which goes with R (moment.c).  A
 * record in shared memory lends H, and each run that reads ordinary tables is given it.
 *
 *	owner, or beginner		H, R, record ..................................... keeper drops H
 *	session that joins							xmin of H, H: read ............ end
 *
 * 1. H is taken with R, under the gate (mixed.c, 9).  Where REPEATABLE READ is exported, H is
 *	  PostgreSQL's snapshot of that transaction, and R is the time that was matched with it
 *	  (isolation.c, 1).
 * 2. VACUUM must not remove what H shows for as long as a session may borrow H.  A keeper
 *	  advertises its xmin.  If a session owns the transaction, it is the keeper: it has H
 *	  registered.  For a lease the pool's worker is the keeper.  The worker is in no transaction and
 *	  no database, and so holds back the horizon of all databases, as a WAL sender does for its
 *	  standby.  The session that begins such a transaction has H registered until the worker keeps
 *	  it.
 * 3. A session that borrows H advertises its xmin itself from then on, so the keeper may go while
 *	  the session reads.  At every moment one of them advertises it.  A backend that computes a
 *	  horizon reads all xmins under ProcArrayLock, shared.  The borrower sets its xmin under the
 *	  same lock while the keeper has one.  A keeper withdraws its xmin under the exclusive lock (a
 *	  session does so when its transaction ends, in ProcArrayEndTransaction).
 * 4. A session whose transaction is about to be committed releases H without that lock.  But then
 *	  no session holds the transaction (shared.c), and a session borrows only while it holds it.
 * 5. The borrower's statement was planned at a snapshot of its own.  An index that was created
 *	  after H was taken may lack rows that only H shows.  PostgreSQL would not use that index
 *	  (pg_index.indcheckxmin), or its creator would have waited for the transactions with older
 *	  snapshots.  So moment.c checks the indexes of the plan.
 * 6. A worker that stops removes the records of leases before it goes.
 * 7. The session that took H recognizes its own transaction, although H does not list it as
 *	  running.  For other sessions that transaction is running, and so it is added to the lent list.
 *	  Otherwise they would consider it aborted, and set that hint bit on its rows for all sessions.
 *
 * The lent snapshot lists no subtransactions.  It is marked as overflowed, as if there had been too
 * many of them, so that they are looked up.
 */
#include "postgres.h"

#include "src/txn/shared_moment.h"

#include "access/transam.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/txn/isolation.h"
#include "src/txn/mixed.h"
#include "src/txn/moment.h"

typedef struct Record
{
	uint64 host; /* the shared transaction's word; 0: the place is free */
	/* Virtual transaction of the session that owns it; 0: a lease does. */
	uint64 owner;
	unsigned txn;
	bool is_kept; /* by the worker */
	TransactionId xmin;
	TransactionId xmax;
	XLogRecPtr lsn;
	TimestampTz taken;
	uint32 count;
	TransactionId xip[FLEXIBLE_ARRAY_MEMBER];
} Record;

/* In PostgreSQL's shared memory; the lock guards all of it. */
typedef struct Moments
{
	LWLock lock;
	ConditionVariable changed; /* signals changes of is_kept */
	Latch *worker;			   /* NULL: it does not run */
	Size record_bytes;
	char records[FLEXIBLE_ARRAY_MEMBER]; /* one for each transaction that can be shared */
} Moments;

static Moments *moments;
static Snapshot lent;	/* taken by this session to be lent; NULL: none */
static uint64 own_host; /* of the running transaction's record; 0: none */

/* GetMaxSnapshotXidCount cannot be called yet when memory is requested. */
static Size
record_bytes(void)
{
	return MAXALIGN(add_size(offsetof(Record, xip), mul_size(MaxBackends + max_prepared_xacts, sizeof(TransactionId))));
}

Size
tsurugi_shared_moment_bytes(void)
{
	return add_size(offsetof(Moments, records), mul_size(TG_SHARED_MAX, record_bytes()));
}

void
tsurugi_shared_moment_create(void)
{
	static int tranche; /* child processes inherit its name */
	bool found;

	moments = ShmemInitStruct("tsurugi_fdw shared moments", tsurugi_shared_moment_bytes(), &found);
	memset(moments, 0, tsurugi_shared_moment_bytes());
	moments->record_bytes = record_bytes();
	tranche = tranche != 0 ? tranche : LWLockNewTrancheId();
	LWLockRegisterTranche(tranche, "tsurugi_fdw shared moments");
	LWLockInitialize(&moments->lock, tranche);
	ConditionVariableInit(&moments->changed);
}

/* --- records; the caller holds the lock --------------------------------------------------- */

static inline Record *
record_at(int i)
{
	return (Record *) (moments->records + i * moments->record_bytes);
}

static Record *
find_record(uint64 host)
{
	for (int i = 0; i < TG_SHARED_MAX; i++)
		if (record_at(i)->host == host)
			return record_at(i);
	return NULL;
}

/*
 * The shared transaction's word is never used again.  So the transaction has ended when its
 * descriptor has another word, or is idle.
 */
static bool
has_ended(const Record *record)
{
	tg_txn_report report;

	return !tg_txn_report_get(record->txn, &report) || report.host != record->host;
}

/*
 * There are as many records as shared transactions; the records of ended leases may still be in
 * use.
 */
static Record *
find_place(void)
{
	for (int i = 0; i < TG_SHARED_MAX; i++)
		if (record_at(i)->host == 0 || has_ended(record_at(i)))
			return record_at(i);
	return NULL;
}

static void
fill(Record *record, const tg_shared_report *report, Snapshot snapshot)
{
	TransactionId own = GetTopTransactionIdIfAny();

	tg_assert(snapshot->xcnt <= (uint32) (MaxBackends + max_prepared_xacts) && !snapshot->takenDuringRecovery);
	record->host = report->host;
	record->owner = report->owner;
	record->txn = report->txn;
	record->is_kept = false;
	record->xmin = snapshot->xmin;
	record->xmax = snapshot->xmax;
	record->lsn = snapshot->lsn;
	record->taken = snapshot->whenTaken;
	record->count = snapshot->xcnt;
	memcpy(record->xip, snapshot->xip, snapshot->xcnt * sizeof(TransactionId));
	/* Rule 7.  There is room: the list never has an xid of this process itself. */
	if (TransactionIdIsValid(own) && TransactionIdPrecedes(own, snapshot->xmax) && !tg_failpoint_refuses("skip_lender"))
		record->xip[record->count++] = own;
}

/* --- lending ------------------------------------------------------------------------------- */

void
tsurugi_shared_moment_begin(void)
{
	tsurugi_shared_moment_drop(); /* it may be left from an error */
	tsurugi_mixed_close();
	lent = RegisterSnapshotOnOwner(GetLatestSnapshot(), TopTransactionResourceOwner);
}

/* A READ ONLY transaction may have started at an earlier time: the start of a LONG. */
void
tsurugi_shared_moment_taken(tg_shared *started)
{
	tg_session *session = tsurugi_session();
	tg_status status = TG_OK;
	bool fits = false;
	unsigned entry;
	tg_time time;

	if (started != NULL)
		status = tg_shared_draw(session, started, &time, &entry);
	if (started != NULL && status == TG_OK)
	{
		tg_snapshot_withdraw(session, entry);
		fits = tsurugi_mixed_misfit(lent, time) == 0;
	}
	tsurugi_mixed_open();
	if (!fits)
		tsurugi_shared_moment_drop();
	tsurugi_check(status, NULL);
}

/* False: there is no worker, and so no place that it could free. */
static bool
enter(const tg_shared_report *report, Snapshot snapshot)
{
	Record *record = NULL;

	LWLockAcquire(&moments->lock, LW_EXCLUSIVE);
	if (report->owner != 0 || moments->worker != NULL)
		record = find_place();
	if (record != NULL)
		fill(record, report, snapshot);
	if (record != NULL && report->owner == 0)
		SetLatch(moments->worker);
	LWLockRelease(&moments->lock);
	return record != NULL;
}

/*
 * A record that is gone counts as kept: the worker was stopped, and sessions that join find that
 * out.
 */
static bool
is_kept(uint64 host)
{
	const Record *record;
	bool kept;

	LWLockAcquire(&moments->lock, LW_SHARED);
	record = find_record(host);
	kept = record == NULL || record->is_kept;
	LWLockRelease(&moments->lock);
	return kept;
}

void
tsurugi_shared_moment_lend(const tg_shared_report *report)
{
	if (lent == NULL || tg_failpoint_refuses("skip_lend"))
		return;
	if (!enter(report, lent))
		tsurugi_error(TG_STOPPED, NULL);
	if (report->owner != 0)
	{
		own_host = report->host;
		tsurugi_moment_hold(lent);
		return;
	}
	while (!is_kept(report->host))
		ConditionVariableSleep(&moments->changed, PG_WAIT_EXTENSION);
	ConditionVariableCancelSleep();
	tsurugi_shared_moment_drop();
}

void
tsurugi_shared_moment_lend_own(const tg_shared_report *report)
{
	if (tg_failpoint_refuses("skip_lend"))
		return;
	if (!enter(report, GetTransactionSnapshot()))
		tsurugi_error(TG_STOPPED, NULL);
	own_host = report->host;
}

void
tsurugi_shared_moment_drop(void)
{
	if (lent != NULL)
		UnregisterSnapshotFromOwner(lent, TopTransactionResourceOwner);
	lent = NULL;
}

void
tsurugi_shared_moment_end(void)
{
	Record *record;

	lent = NULL; /* after an error its resource owner releases it */
	if (own_host == 0)
		return;
	LWLockAcquire(&moments->lock, LW_EXCLUSIVE);
	record = find_record(own_host);
	if (record != NULL)
		record->host = 0;
	LWLockRelease(&moments->lock);
	own_host = 0;
}

/* --- borrowing ------------------------------------------------------------------------------- */

/* Rule 3.  An xmin that the session already advertises may be early enough. */
static bool
advertise(const Record *record)
{
	VirtualTransactionId owner = {.backendId = (BackendId) (record->owner >> 32),
								  .localTransactionId = (LocalTransactionId) record->owner};

	if (TransactionIdIsValid(MyProc->xmin) && TransactionIdPrecedesOrEquals(MyProc->xmin, record->xmin))
		return true;
	if (record->owner != 0)
		return ProcArrayInstallImportedXmin(record->xmin, &owner);
	if (!record->is_kept)
		return false;
	LWLockAcquire(ProcArrayLock, LW_SHARED);
	MyProc->xmin = TransactionXmin = record->xmin;
	LWLockRelease(ProcArrayLock);
	return true;
}

bool
tsurugi_shared_moment_borrow(const tg_shared_report *report, Snapshot *snapshot_out)
{
	Record *copy = palloc(moments->record_bytes);
	const Record *record;
	bool is_there = true;

	LWLockAcquire(&moments->lock, LW_SHARED);
	record = find_record(report->host);
	if (record != NULL)
	{
		is_there = advertise(record);
		memcpy(copy, record, moments->record_bytes);
	}
	LWLockRelease(&moments->lock);
	*snapshot_out = NULL;
	if (record != NULL && is_there)
	{
		SnapshotData borrowed = {.snapshot_type = SNAPSHOT_MVCC,
								 .xmin = copy->xmin,
								 .xmax = copy->xmax,
								 .xip = copy->xip,
								 .xcnt = copy->count,
								 .suboverflowed = true,
								 .lsn = copy->lsn,
								 .whenTaken = copy->taken};

		*snapshot_out = RegisterSnapshotOnOwner(&borrowed, TopTransactionResourceOwner);
	}
	pfree(copy);
	return is_there;
}

TransactionId
tsurugi_shared_moment_xmin(const tg_shared_report *report)
{
	TransactionId xmin = InvalidTransactionId;
	const Record *record;

	LWLockAcquire(&moments->lock, LW_SHARED);
	record = find_record(report->host);
	if (record != NULL && !has_ended(record))
		xmin = record->xmin;
	LWLockRelease(&moments->lock);
	return xmin;
}

/* --- the worker ----------------------------------------------------------------- */

void
tsurugi_shared_moment_worker_begin(void)
{
	InitProcessPhase2(); /* its xmin counts from now on */
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags |= PROC_AFFECTS_ALL_HORIZONS;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
	LWLockAcquire(&moments->lock, LW_EXCLUSIVE);
	moments->worker = MyLatch;
	LWLockRelease(&moments->lock);
}

/*
 * Rule 3: a later xmin, or none, is set under the exclusive lock; an earlier one, while the session
 * that begins the transaction advertises it, too.
 */
static void
keep(TransactionId xmin)
{
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->xmin = xmin;
	LWLockRelease(ProcArrayLock);
}

void
tsurugi_shared_moment_worker_look(void)
{
	TransactionId xmin = InvalidTransactionId;
	bool changed = false;

	LWLockAcquire(&moments->lock, LW_EXCLUSIVE);
	for (int i = 0; i < TG_SHARED_MAX; i++)
	{
		Record *record = record_at(i);

		if (record->host == 0 || record->owner != 0)
			continue;
		if (has_ended(record))
		{
			record->host = 0;
			continue;
		}
		changed |= !record->is_kept;
		record->is_kept = true;
		if (!TransactionIdIsValid(xmin) || TransactionIdPrecedes(record->xmin, xmin))
			xmin = record->xmin;
	}
	if (xmin != MyProc->xmin)
		keep(xmin);
	LWLockRelease(&moments->lock);
	if (changed)
		ConditionVariableBroadcast(&moments->changed);
}

void
tsurugi_shared_moment_worker_end(void)
{
	LWLockAcquire(&moments->lock, LW_EXCLUSIVE);
	moments->worker = NULL;
	for (int i = 0; i < TG_SHARED_MAX; i++)
		if (record_at(i)->owner == 0)
			record_at(i)->host = 0;
	LWLockRelease(&moments->lock);
	ConditionVariableBroadcast(&moments->changed);
}
