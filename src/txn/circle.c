/*
 * circle.c
 *	  Circles of waits through shared transactions and PostgreSQL's locks.
 *
 * A transaction that waits for a shared transaction does not wait for a lock of PostgreSQL's:
 * sessions come and go in the shared transaction, and for any lock that stood for all of them a
 * newcomer would queue behind the waiter.  So PostgreSQL's deadlock detector does not see that
 * wait.  Every process in a circle that it misses waits for another one, and at least one of them
 * waits in this way.  That one looks for the circle, and gives up.  So the shared transaction,
 * which contains much work of many sessions, is spared.
 *
 *	a process that waits for a lock			leads to those that PostgreSQL says block it
 *											(pg_blocking_pids)
 *	one that waits for a transaction		leads to that one's process; for a shared transaction,
 *											to the processes that have the turn, and to the owner's
 *
 * The engine's own detector (txn/waits.c) is asked as well: it knows everything that blocks a
 * LONG's start.
 *
 * A search reads its edges one after the other, so they need not have existed all at once.
 * Therefore a circle counts only when two consecutive searches have found the same one, with the
 * same waits.  A wait for a lock is identified by the moment at which it began; a wait for a
 * transaction, by that transaction, which has not ended meanwhile.  So each of its edges existed
 * from the first search to the second.  As in PostgreSQL, a process that is only ahead in the queue
 * for a lock counts, too; but the queue is not rearranged.
 */
#include "postgres.h"

#include "src/txn/circle.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/sinvaladt.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/memutils.h"

#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn.h"
#include "src/base/session.h"
#include "src/base/session_owner.h"
#include "src/txn/kinds.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/transaction.h"

#define SECOND_LOOK_MS 10

/* A process that the wait leads to. */
typedef struct Reached
{
	int process_id;
	/* The previous process, by its place in the list; -1: this process. */
	int from;
	/* The transaction that it waits for, or the time when its wait began. */
	uint64 wait;
} Reached;

typedef struct Search
{
	Reached *list;
	int count;
	int max;
	int closed_by; /* -1: not closed yet */
} Search;

static void
reach(Search *search, int process_id, int from)
{
	if (process_id == MyProcPid)
		search->closed_by = from;
	if (process_id == 0 || process_id == MyProcPid)
		return;
	for (int i = 0; i < search->count; i++)
		if (search->list[i].process_id == process_id)
			return;
	if (search->count < search->max)
		search->list[search->count++] = (Reached){.process_id = process_id, .from = from};
}

/* The process of the session that a host word names, if its transaction still runs. */
static int
process_of(uint64_t host)
{
	const PGPROC *process = BackendIdGetProc((BackendId) (host >> 32));

	return process != NULL && process->lxid == (LocalTransactionId) host ? process->pid : 0;
}

/* The transactions that now work in a shared transaction, or load into it. */
static VirtualTransactionId *
workers_of(unsigned txn, int *count_out)
{
	const LOCKTAG turn = tsurugi_shared_turn(txn);

	return GetLockConflicts(&turn, ExclusiveLock, count_out);
}

static uint64_t
owner_of(uint64_t host)
{
	tg_shared_report report;

	for (unsigned i = 0; i < TG_SHARED_MAX; i++)
		if (tg_shared_report_at(i, &report) && report.host == host)
			return report.owner;
	return 0;
}

static void
reach_transaction(Search *search, const tg_wait *wait, int from)
{
	VirtualTransactionId *workers;
	int count;

	if (!tg_wait_is_for_shared(wait))
	{
		reach(search, process_of(wait->host), from);
		return;
	}
	workers = workers_of(wait->txn, &count);
	for (int i = 0; i < count; i++)
		reach(search, process_of((uint64_t) workers[i].backendId << 32 | workers[i].localTransactionId), from);
	if (owner_of(wait->host) != 0)
		reach(search, process_of(owner_of(wait->host)), from);
}

/* Whether the waits of this transaction are the process's. */
static bool
waits_for_it(unsigned txn, int process_id)
{
	VirtualTransactionId *workers;
	int count;

	if (txn < tg_session_max())
		return tsurugi_session_owner_get(txn).process_id == process_id;
	workers = workers_of(txn, &count);
	for (int i = 0; i < count; i++)
		if (process_of((uint64_t) workers[i].backendId << 32 | workers[i].localTransactionId) == process_id)
			return true;
	return false;
}

/* Adds the processes that the process at this place waits for. */
static void
go_on_from(Search *search, int place)
{
	int process_id = search->list[place].process_id;
	const PGPROC *process = BackendPidGetProc(process_id);
	Datum blocking = DirectFunctionCall1(pg_blocking_pids, Int32GetDatum(process_id));
	ArrayType *array = DatumGetArrayTypeP(blocking);
	const int32 *ids = (const int32 *) ARR_DATA_PTR(array);
	int count = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	if (process != NULL && count > 0)
		search->list[place].wait = pg_atomic_read_u64(unconstify(pg_atomic_uint64 *, &process->waitStart));
	for (int i = 0; i < count; i++)
		reach(search, ids[i], place);
	for (unsigned txn = 0; txn < tg_session_max() + TG_SHARED_MAX; txn++)
	{
		tg_txn_report report = {0};

		/* A transaction that has not written may wait, too. */
		(void) tg_txn_report_get(txn, &report);
		/* The wait for a turn is a wait for one of PostgreSQL's own locks. */
		if (!report.waits || report.wait.kind == TG_WAIT_TURN || !waits_for_it(txn, process_id))
			continue;
		search->list[place].wait = report.wait.host;
		reach_transaction(search, &report.wait, place);
	}
}

/* Returns the circle's identity, made from its processes and their waits; 0: there is none. */
static uint64
find_circle(const tg_wait *wait)
{
	Search search = {.max = MaxBackends, .closed_by = -1};
	uint64 name = hash_combine64(1, wait->host);

	search.list = palloc(search.max * sizeof(*search.list));
	reach_transaction(&search, wait, -1);
	for (int i = 0; i < search.count && search.closed_by < 0; i++)
		go_on_from(&search, i);
	if (search.closed_by < 0)
		return 0;
	for (int i = search.closed_by; i >= 0; i = search.list[i].from)
		name = hash_combine64(hash_combine64(name, (uint64) search.list[i].process_id), search.list[i].wait);
	return name;
}

long
tsurugi_circle_due_ms(const tsurugi_circle *circle)
{
	long passed = TimestampDifferenceMilliseconds(circle->looked, GetCurrentTimestamp());

	return circle->found != 0 ? SECOND_LOOK_MS : Max(DeadlockTimeout - passed, 0) + 1;
}

void
tsurugi_circle_check(tsurugi_circle *circle, const tg_wait *wait)
{
	TimestampTz now = GetCurrentTimestamp();
	uint64 before = circle->found;
	MemoryContext outer = CurrentMemoryContext;
	MemoryContext context;

	if (circle->looked == 0)
		circle->looked = now;
	if (before == 0 ? !TimestampDifferenceExceeds(circle->looked, now, DeadlockTimeout)
					: !TimestampDifferenceExceeds(circle->looked, now, SECOND_LOOK_MS))
		return;
	if (tg_wait_closes_circle_of(tsurugi_transaction_waiting_number(), wait))
		tsurugi_error_circle(wait);
	context = AllocSetContextCreate(outer, "circle of waits", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(context);
	circle->found = tg_failpoint_refuses("skip_circle") ? 0 : find_circle(wait);
	MemoryContextSwitchTo(outer);
	MemoryContextDelete(context);
	circle->looked = now;
	if (circle->found != 0 && circle->found == before)
		tsurugi_error_circle(wait);
}
