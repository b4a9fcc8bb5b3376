/*
 * parallel.c
 *	  Functions that read tables of ours in PostgreSQL's parallel workers.
 *
 * Scans of ours are the leader's, but a function that is PARALLEL SAFE may read a table of ours wherever the plan has it run.
 * PostgreSQL gives its workers the leader's snapshots, xids and settings; this file gives them our part of that.
 *
 *	leader	ExecutorStart: R, loan			Gather: DSM, workers ................ they have ended; run's memory goes: loan, notes
 *	worker									ExecutorStart: number; first access: loan, R adopted, reads; end: notes
 *
 * 1. What a leader lends is the time R of the run that the workers work for, with its exclusions, and its transaction's number, by which own
 *	  changes are known (lending.c).  Workers are told the number of the loan in the upper bits of es_top_eflags, which
 *	  PostgreSQL passes from the leader's run to each ExecutorStart of its workers, and looks at bit by bit.  So a leader may have several
 *	  runs with workers, one within the other, each with a snapshot of its own.
 * 2. READ COMMITTED.  The worker's outermost run gets a record with R, and PostgreSQL's snapshot that R goes with: functions that are
 *	  not volatile read by that (M4, snapshot.c), in leader and workers.  A volatile function's statements have snapshots of their own in a worker as
 *	  elsewhere, of PostgreSQL's and, matched with that, of ours.  R is drawn when the leader's run starts; its record is that of an access
 *	  only once somebody accesses something, so until then the transaction may become one of Tsurugi's kinds.
 * 3. REPEATABLE READ and SERIALIZABLE: R is the transaction's.  It is neither drawn again nor extended (W5) as long as there are workers:
 *	  for the leader it takes a write, and nobody writes in parallel mode; for the worker it is an imported one.
 * 4. Own changes.  While there are workers neither the leader nor they write, begin or end a subtransaction, or begin a command: PostgreSQL
 *	  refuses all of that in parallel mode.  So a worker, with the leader's number and the command of the run's snapshot, sees what the leader
 *	  sees, what has been rolled back to a savepoint is taken back before, and the end of the leader's transaction is after the
 *	  workers': a statement leaves parallel mode when they have ended, and an abort, of a subtransaction, too, waits until
 *	  they have gone before it calls callbacks.  So neither is the descriptor anybody else's.
 * 5. The worker adopts R in an entry of its own (horizon.c, 12), under the lock that the loan goes under.  A worker that finds
 *	  none has lost its leader.  Both ends are PostgreSQL's: the leader's run's memory, or its transaction, whichever goes first; the
 *	  worker's transaction, however it ends.  A worker's session is one of MaxBackends (session.c).
 * 6. SERIALIZABLE (S1).  What a worker reads it notes, before it tells it, in a read set of its own, of the leader's number.  When
 *	  its transaction ends, also by an error, it gives that to the loan.  PostgreSQL lets the leader go on, after an error, too,
 *	  when that is over; then the leader's own set takes it, at the latest before it is validated.  What ranks are in it the leader holds
 *	  (session.h), from before there is a worker.  S3 and S4 are asked by the worker
 *	  ahead of each area (isolation.c, 7); it waits for nobody then, but fails.
 * 7. Which runs: those with a parallel plan that calls functions of users', which PostgreSQL lists with the plan, for invalidation.
 *	  A snapshot that is lent for nothing costs what any costs, and keeps one version of what changes meanwhile.
 *	  A run that has started may go on much later, of a portal; if by then the transaction has extended its snapshot, or may
 *	  have become one of 8, it goes on without workers.
 * 8. Tsurugi's kinds, DEFERRABLE, and transactions that several sessions work in begin, wait, mind areas and take turns in the session; so
 *	  do runs of fresh snapshots and commits that are under way.  There such a plan runs without workers.  So it does where a
 *	  snapshot is so old that it is not known what goes with it: who then accesses something gets the error that says so.
 *
 * Left out, 0A000: workers that run no plan (CREATE INDEX of an ordinary table, on a function that reads); and
 * functions that a plan does not name: input of a type with a domain in it, whose condition reads.
 */
#include "postgres.h"

#include "src/txn/parallel.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "src/base/session.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/lending.h"
#include "src/txn/moment.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_export.h"
#include "src/txn/transaction.h"

/* Above PostgreSQL's flags. */
#define NUMBER_SHIFT 16
#define NUMBER_MAX 0x7fff

/* A leader's run that lends; in the run's memory. */
typedef struct Lead
{
	struct Lead *outer;
	tsurugi_loan *loan; /* NULL: the transaction has ended */
	QueryDesc *query;	/* lives as long as the memory that the run's is in */
	PlannedStmt serial; /* for the plan, once called off */
	MemoryContextCallback callback;
} Lead;

static Lead *leads;
static uint64 own_host; /* of the leads */
static int last_number;

/* A worker's. */
static QueryDesc *led;	/* its outermost run */
static int led_number;	/* of the loan; 0: it has been told none */
static uint64 led_host; /* the leader's transaction, once joined; 0: not yet */
static unsigned led_txn;

/* --- leading ------------------------------------------------------------------------------- */

static void
make_serial(QueryDesc *query, PlannedStmt *serial)
{
	/* The plan may be a kept one. */
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

/* Rules 3 and 6: its notes are the transaction's. */
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

/* What there is to lend. */
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
	tsurugi_session_hold_ranks(); /* 6 */
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

/* --- ends -------------------------------------------------------------------------------------- */

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
