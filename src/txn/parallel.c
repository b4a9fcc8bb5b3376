/*
 * parallel.c
 *	  Functions that read foreign tables in PostgreSQL's parallel workers.
 *
 * Scans of foreign tables run in the leader.  But a function that is PARALLEL SAFE may read a
 * foreign table wherever the plan runs it.  PostgreSQL gives its workers the leader's snapshots,
 * xids and settings; this file gives them the engine's part of that.
 *
 *	leader	ExecutorStart: R, loan	Gather: DSM, workers ... workers have ended; end of run: notes
 *	worker					ExecutorStart: number; access: loan, R, reads; end: notes
 *
 * 1. A leader lends the time R of the run that the workers work for, with its exclusions, and the
 *	  number of its transaction, by which own changes are recognized (lending.c).  Workers are told
 *	  the number of the loan in the upper bits of es_top_eflags, which PostgreSQL passes from the
 *	  leader's run to each ExecutorStart of its workers, and tests bit by bit.  So a leader may have
 *	  several runs with workers, one within the other, each with a snapshot of its own.
 * 2. READ COMMITTED.  The worker's outermost run gets a record with R, and with the snapshot of
 *	  PostgreSQL's that R goes with.  Functions that are not volatile read at that snapshot (M4,
 *	  snapshot.c), in the leader and in workers.  Statements of a volatile function have PostgreSQL
 *	  snapshots of their own, in a worker as elsewhere, and times matched with these.  R is drawn
 *	  when the leader's run starts.  Its record becomes that of an access only at the first access,
 *	  so until then the transaction may become one of Tsurugi's kinds.
 * 3. REPEATABLE READ and SERIALIZABLE: R is the transaction's.  It is neither drawn again nor
 *	  extended (W5) while there are workers: in the leader that would take a write, and nobody
 *	  writes in parallel mode; in the worker R is imported.
 * 4. Own changes.  While there are workers, neither the leader nor a worker writes, begins or ends
 *	  a subtransaction, or begins a command: PostgreSQL refuses all of that in parallel mode.  So a
 *	  worker that has the leader's number, and the command of the run's snapshot, sees what the
 *	  leader sees; and changes rolled back to a savepoint have been undone before.  The leader's
 *	  transaction ends after its workers: a statement leaves parallel mode when they have ended, and
 *	  an abort, also of a subtransaction, waits until they have gone before it calls callbacks.  So
 *	  the descriptor cannot become another transaction's either.
 * 5. The worker adopts R in an entry of its own (horizon.c, 12), under the lock that also guards
 *	  the end of the loan.  A worker that finds no loan has lost its leader.  PostgreSQL ends both:
 *	  the loan ends with the memory of the leader's run, or with its transaction if that ends first;
 *	  the worker's entry ends with its transaction, in whatever way.  A worker's session is one of
 *	  MaxBackends (session.c).
 * 6. SERIALIZABLE (S1).  A worker notes its reads, before it returns them, in a read set of its
 *	  own, under the leader's number.  When its transaction ends, also by an error, it gives the set
 *	  to the loan.  PostgreSQL lets the leader continue, also after an error, when the worker's end
 *	  is over.  Then the leader's own set takes the worker's over, at the latest before it is
 *	  validated.  The leader holds the ranks that are in it (session.h) from before there is a
 *	  worker.  The worker makes the tests of S3 and S4 ahead of each area (isolation.c, 7); it fails
 *	  instead of waiting.
 * 7. Runs that lend have a parallel plan that calls users' functions; PostgreSQL lists these with
 *	  the plan, for invalidation.  A snapshot that is lent and not used costs as much as any
 *	  snapshot, and keeps one version of each row that changes meanwhile.  A portal may continue a
 *	  run much later.  If by then the transaction has extended its snapshot, or may have become one
 *	  of rule 8, the run continues without workers.
 * 8. In Tsurugi's kinds, DEFERRABLE and shared transactions the session itself begins, waits,
 *	  observes areas and takes turns; so it does in runs of fresh snapshots and in commits that are
 *	  under way.  In all of these such a plan runs without workers.  So does a plan whose snapshot
 *	  is so old that its time is not known any more; its first access raises the error for that.
 *
 * Left out, 0A000: workers that run no plan (CREATE INDEX of an ordinary table, on a function that
 * reads a foreign table); and functions that a plan does not name: the input of a type that
 * contains a domain whose condition reads one.
 */
#include "postgres.h"

#include "src/txn/parallel.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/txn/snapshot.h"
#include "src/base/session.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/lending.h"
#include "src/txn/moment.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_export.h"
#include "src/txn/transaction.h"

/* In the bits above PostgreSQL's flags. */
#define NUMBER_SHIFT 16
#define NUMBER_MAX 0x7fff

/* A leader's run that lends.  It lies in the run's memory. */
typedef struct Lead
{
	struct Lead *outer;
	tsurugi_loan *loan; /* NULL: the transaction has ended */
	/* Lives at least as long as the run's memory. */
	QueryDesc *query;
	PlannedStmt serial; /* its plan, when its workers are called off */
	MemoryContextCallback callback;
} Lead;

static Lead *leads;
static uint64 own_host; /* the transaction of these runs */
static int last_number;

/* State of a worker. */
static QueryDesc *led;	/* its outermost run */
static int led_number;	/* of the loan; 0: it was not told any */
static uint64 led_host; /* the leader's transaction; 0: not yet joined */
static unsigned led_txn;

/* --- leading ------------------------------------------------------------------------------- */

static void
make_serial(QueryDesc *query, PlannedStmt *serial)
{
	/* A copy, because the plan may be cached. */
	*serial = *query->plannedstmt;
	serial->parallelModeNeeded = false;
	query->plannedstmt = serial;
}

void
tsurugi_parallel_renounce(QueryDesc *query)
{
	make_serial(query, palloc(sizeof(PlannedStmt)));
}

void
tsurugi_parallel_call_off(void)
{
	for (Lead *lead = leads; lead != NULL; lead = lead->outer)
		if (lead->query->plannedstmt->parallelModeNeeded)
			make_serial(lead->query, &lead->serial);
}

/* Rule 8. */
static bool
may_lend(const QueryDesc *query)
{
	return !tsurugi_moment_matters() && tsurugi_transaction_priority == 0 && !tsurugi_is_prepared() &&
		   tsurugi_export_may_be_used() && !tsurugi_snapshot_is_fresh() &&
		   query->crosscheck_snapshot == InvalidSnapshot;
}

static const Lead *
find_lead(int number)
{
	const Lead *lead = leads;

	while (lead != NULL && lead->loan->number != -number)
		lead = lead->outer;
	return lead;
}

static int
next_number(void)
{
	do
		last_number = last_number % NUMBER_MAX + 1;
	while (find_lead(last_number) != NULL);
	return last_number;
}

/* Rules 3 and 6: the workers' notes become the transaction's. */
static void
collect(tsurugi_loan *loan)
{
	tg_reads *reads = tsurugi_loan_take_reads(loan);

	if (reads != NULL)
		tsurugi_isolation_take_reads(reads);
	if (loan->is_used)
		tsurugi_kind_is_used();
}

static void
end_lead(void *argument)
{
	Lead *lead = argument;
	Lead **link = &leads;

	if (lead->loan == NULL)
		return;
	while (*link != lead)
		link = &(*link)->outer;
	*link = lead->outer;
	collect(lead->loan);
	tsurugi_loan_withdraw(own_host, lead->loan->number, lead->loan->number);
}

/* Finds the time to lend. */
static bool
find_time(EState *estate, tg_snapshot *snapshot_out, TimestampTz *taken_out)
{
	if (!IsolationUsesXactSnapshot())
		return tsurugi_snapshot_lend(estate, snapshot_out, taken_out);
	snapshot_out->time = tsurugi_snapshot_time();
	snapshot_out->excluded = tsurugi_snapshot_excluded();
	*taken_out = tsurugi_snapshot_taken();
	tsurugi_snapshot_is_used();
	return snapshot_out->time != 0;
}

static bool
lend(QueryDesc *query)
{
	EState *estate = query->estate;
	Lead *lead = MemoryContextAlloc(estate->es_query_cxt, sizeof(*lead));
	tsurugi_loan loan = {.number = -next_number(), .tracks = tsurugi_tracks};
	tg_snapshot snapshot;

	if (!find_time(estate, &snapshot, &loan.taken))
		return false;
	loan.txn = tsurugi_transaction_number();
	tsurugi_loan_publish(&loan, snapshot.time, snapshot.excluded, loan.tracks);
	lead->loan = tsurugi_loan_enter(&loan, snapshot.excluded);
	if (lead->loan == NULL)
		return false;
	lead->query = query;
	own_host = lead->loan->host;
	lead->outer = leads;
	leads = lead;
	lead->callback.func = end_lead;
	lead->callback.arg = lead;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &lead->callback);
	estate->es_top_eflags |= -loan.number << NUMBER_SHIFT;
	return true;
}

void
tsurugi_parallel_lead(QueryDesc *query)
{
	if (!tsurugi_isolation_has_tables() || tg_failpoint_refuses("skip_parallel"))
		return;
	tsurugi_session_hold_ranks(); /* rule 6 */
	if (!may_lend(query) || !lend(query))
		tsurugi_parallel_renounce(query);
}

void
tsurugi_parallel_collect(void)
{
	for (Lead *lead = leads; lead != NULL; lead = lead->outer)
		collect(lead->loan);
}

/* --- following -------------------------------------------------------------------------------- */

int
tsurugi_parallel_follow(QueryDesc *query, int eflags)
{
	int number = eflags >> NUMBER_SHIFT;

	if (number != 0)
	{
		led = query;
		led_number = number;
	}
	return eflags & ((1 << NUMBER_SHIFT) - 1);
}

static bool
take_over(void)
{
	const PGPROC *leader = MyProc->lockGroupLeader;
	uint64 host = (uint64) leader->backendId << 32 | leader->lxid;
	const tg_exclusions *excluded;
	tsurugi_loan loan;
	unsigned entry;

	if (!tsurugi_loan_take(host, -led_number, &loan, &excluded, &entry))
		return false;
	led_host = host;
	led_txn = loan.txn;
	if (IsolationUsesXactSnapshot())
	{
		tsurugi_snapshot_import(loan.time, excluded, loan.taken, entry);
		tsurugi_isolation_follow(loan.tracks);
	}
	else
		tsurugi_snapshot_borrow(led->estate, loan.time, excluded, loan.taken, entry);
	return true;
}

void
tsurugi_parallel_join(void)
{
	if (led_host != 0)
		return;
	if (led_number == 0 || !take_over())
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("tables of tsurugi_fdw cannot be accessed in a parallel worker of this statement"),
						errhint("Declare the function that does so PARALLEL RESTRICTED or PARALLEL UNSAFE.")));
}

unsigned
tsurugi_parallel_number(void)
{
	tg_assert(led_host != 0);
	return led_txn;
}

/* --- ends ----------------------------------------------------------------------- */

static void
end_following(void)
{
	tg_reads *reads = led_host != 0 ? tsurugi_isolation_give_reads() : NULL;

	if (reads != NULL)
		tsurugi_loan_give_reads(tg_failpoint_refuses("skip_worker_reads") ? 0 : led_host, -led_number, reads);
	led = NULL;
	led_number = 0;
	led_host = 0;
}

void
tsurugi_parallel_end(bool committed)
{
	if (IsParallelWorker())
	{
		end_following();
		return;
	}
	if (leads == NULL)
		return;
	for (Lead *lead = leads; lead != NULL; lead = lead->outer)
		lead->loan = NULL;
	leads = NULL;
	tsurugi_loan_withdraw(own_host, -NUMBER_MAX, -1);
}
