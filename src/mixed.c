/*
 * mixed.c
 *	  Commits of transactions that wrote foreign and ordinary tables, seen as a whole.
 *
 * Such a transaction becomes visible twice: in ordinary tables at PostgreSQL's own moment h, in
 * foreign ones when it is COMMITTED here, at its commit timestamp C.
 *
 *	PRE_COMMIT					PostgreSQL's commit					COMMIT callback
 *	announced; SERIALIZABLE: C	record, flush, h: heap rows seen	C, COMMITTED(C), ended
 *
 * A statement has PostgreSQL's snapshot H and reads foreign tables at R, drawn after H was
 * taken.  It must not see one half (M2).
 *
 * H shows the ordinary half, C > R.  So h was before R was drawn, and C after it.  Between h and the outcome
 * lie some instructions: whoever draws R waits until nobody announced is there any more.  At every level.
 *
 * C <= R, and H does not show the ordinary half.  READ COMMITTED: two counters, announced and ended.  If
 * nothing was under way when R was drawn, every mixed commit has ended before R, or is announced after it and has a C > R.
 *
 * 1. The usual case: announced == ended; the newest xid announced is older than all that ran when H was
 *	  taken, so H shows all of them; R is drawn; announced is as it was.  Then H and R show
 *	  the same.
 * 2. Otherwise: nothing is under way, R is drawn, a new snapshot H' is taken, and
 *	  announced is as it was before R.  Then no mixed commit was under way from
 *	  before R until after H', and both show the same ones.
 * 3. If that fails ATTEMPTS times, with a short wait for a change between them: the gate is closed, which keeps those from
 *	  announcing that come now, and 2 succeeds once the others have ended.
 *
 * A statement that reads only one kind of table, which is most of them, does nothing of this.
 * What a statement runs with its own snapshot (functions that are not volatile)
 * shares R with it.
 *
 * Left out.  At REPEATABLE READ and above H is taken before anybody can be asked, and stays: what others
 * commit between H and R is seen in foreign tables only.
 * An xid that another library takes in a PRE_COMMIT callback after ours is not noticed.
 */
#include "postgres.h"

#include "src/mixed.h"

#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "storage/condition_variable.h"
#include "storage/lwlock.h"
#include "storage/procarray.h"
#include "storage/shmem.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "src/session.h"
#include "src/snapshot.h"

#define ATTEMPTS 3
#define ATTEMPT_MS 10

/* In PostgreSQL's shared memory.  Under the lock; the counters can be read without. */
typedef struct Mixed
{
	LWLock lock;
	pg_atomic_uint64 announced;
	pg_atomic_uint64 ended;
	pg_atomic_uint32 newest_xid; /* announced; 0: none yet */
	unsigned gate_closers;
	ConditionVariable changed; /* somebody has ended, or the gate is open */
	struct
	{
		TransactionId xid; /* atomic; of one under way, or 0 */
		unsigned txn;	   /* its number here, from before xid is set */
	} session[];		   /* by number */
} Mixed;

static Mixed *mixed;
static bool is_announced; /* the own transaction is under way */
static bool keeps_gate;

Size
tsurugi_mixed_shared_bytes(void)
{
	return add_size(sizeof(Mixed), mul_size(tsurugi_session_max(), sizeof(mixed->session[0])));
}

void
tsurugi_mixed_shared_create(void)
{
	static int tranche; /* the children inherit its name */
	bool found;

	mixed = ShmemInitStruct("tsurugi_fdw mixed commits", tsurugi_mixed_shared_bytes(), &found);
	memset(mixed, 0, tsurugi_mixed_shared_bytes());
	tranche = tranche != 0 ? tranche : LWLockNewTrancheId();
	LWLockRegisterTranche(tranche, "tsurugi_fdw mixed commits");
	LWLockInitialize(&mixed->lock, tranche);
	pg_atomic_init_u64(&mixed->announced, 0);
	pg_atomic_init_u64(&mixed->ended, 0);
	pg_atomic_init_u32(&mixed->newest_xid, InvalidTransactionId);
	ConditionVariableInit(&mixed->changed);
}

/* --- commits ------------------------------------------------------------------------- */

static bool
announce(TransactionId xid)
{
	bool done = false;

	LWLockAcquire(&mixed->lock, LW_EXCLUSIVE);
	if (mixed->gate_closers == 0)
	{
		TransactionId newest = pg_atomic_read_u32(&mixed->newest_xid);

		if (!TransactionIdIsValid(newest) || TransactionIdFollows(xid, newest))
			pg_atomic_write_u32(&mixed->newest_xid, xid);
		pg_atomic_fetch_add_u64(&mixed->announced, 1);
		done = true;
	}
	LWLockRelease(&mixed->lock);
	return done;
}

void
tsurugi_mixed_begin(unsigned txn)
{
	TransactionId xid = GetTopTransactionId();

	while (!announce(xid))
		ConditionVariableSleep(&mixed->changed, PG_WAIT_EXTENSION);
	is_announced = true;
	mixed->session[tsurugi_session()->id].txn = txn;
	tg_store_seq_cst(&mixed->session[tsurugi_session()->id].xid, xid);
	ConditionVariableCancelSleep();
}

static void
open_gate(void)
{
	LWLockAcquire(&mixed->lock, LW_EXCLUSIVE);
	mixed->gate_closers--;
	LWLockRelease(&mixed->lock);
	keeps_gate = false;
	ConditionVariableBroadcast(&mixed->changed);
}

void
tsurugi_mixed_end_part(void)
{
	if (keeps_gate)
		open_gate();
}

void
tsurugi_mixed_end(void)
{
	tsurugi_mixed_end_part();
	if (!is_announced)
		return;
	is_announced = false;
	tg_store_release(&mixed->session[tsurugi_session()->id].xid, InvalidTransactionId);
	pg_atomic_fetch_add_u64(&mixed->ended, 1);
	ConditionVariableBroadcast(&mixed->changed);
}

/* Whether nothing is under way; *announced_out have been announced so far. */
static bool
is_quiet(uint64 *announced_out)
{
	/* In this order: who is counted as ended was announced before. */
	*announced_out = pg_atomic_read_u64(&mixed->announced);
	pg_read_barrier();
	return pg_atomic_read_u64(&mixed->ended) >= *announced_out;
}


/* --- outcomes --------------------------------------------------------------------------- */

/* Between ProcArrayEndTransaction and our commit callback: some instructions. */
static bool
is_half_committed(unsigned id, TransactionId xid)
{
	return tg_load_acquire(&mixed->session[id].xid) == xid && !TransactionIdIsInProgress(xid) &&
		   !tg_txn_has_outcome(mixed->session[id].txn);
}

void
tsurugi_mixed_wait_for_outcomes(void)
{
	unsigned max = tsurugi_session_max();
	uint64 announced;

	if (likely(is_quiet(&announced)) || tg_failpoint_refuses("mixed_commit"))
		return;
	for (unsigned id = 0; id < max; id++)
	{
		TransactionId xid = tg_load_acquire(&mixed->session[id].xid);
		unsigned round = 0;

		if (xid == InvalidTransactionId || id == tsurugi_session()->id)
			continue;
		while (is_half_committed(id, xid))
		{
			CHECK_FOR_INTERRUPTS();
			tg_spin(&round);
		}
	}
}

/* --- statements ------------------------------------------------------------------------ */

static bool
reads_both_kinds(const PlannedStmt *statement)
{
	bool foreign = false;
	bool ordinary = false;
	ListCell *cell;

	if (list_length(statement->rtable) < 2)
		return false;
	foreach (cell, statement->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind != RTE_RELATION)
			continue;
		if (entry->relkind == RELKIND_FOREIGN_TABLE)
			foreign = true;
		else if ((entry->relkind == RELKIND_RELATION || entry->relkind == RELKIND_MATVIEW) &&
				 entry->relid >= FirstNormalObjectId)
			ordinary = true;
	}
	return foreign && ordinary;
}

/*
 * Nothing has been announced since.  R was drawn, or the snapshot taken, before this look: the barrier pairs with those of
 * announce and of the draw of C, which come in this order.
 */
static bool
is_unchanged(uint64 announced)
{
	pg_memory_barrier();
	return pg_atomic_read_u64(&mixed->announced) == announced;
}

/* Rule 1. */
static bool
matches_as_it_is(const QueryDesc *query)
{
	TransactionId newest;
	uint64 announced;

	if (!is_quiet(&announced))
		return false;
	newest = pg_atomic_read_u32(&mixed->newest_xid);
	if (TransactionIdIsValid(newest) && !TransactionIdPrecedes(newest, query->snapshot->xmin))
		return false;
	tsurugi_snapshot_expect();
	return is_unchanged(announced);
}

/* The run's snapshot, registered by its descriptor and pushed by its caller, gives way to a new one. */
static void
renew_snapshot(QueryDesc *query)
{
	CommandId command = query->snapshot->curcid;

	PopActiveSnapshot();
	UnregisterSnapshot(query->snapshot);
	query->snapshot = RegisterSnapshot(GetLatestSnapshot());
	query->snapshot->curcid = command;
	PushActiveSnapshot(query->snapshot);
}

/* Rule 2. */
static bool
matches_anew(QueryDesc *query)
{
	uint64 announced;

	if (!is_quiet(&announced))
		return false;
	tsurugi_snapshot_expect();
	renew_snapshot(query);
	return is_unchanged(announced);
}

static void
close_gate(void)
{
	LWLockAcquire(&mixed->lock, LW_EXCLUSIVE);
	mixed->gate_closers++;
	keeps_gate = true;
	LWLockRelease(&mixed->lock);
}

/* Nobody but this run, and who started it, has the snapshot. */
static bool
is_renewable(const QueryDesc *query)
{
	return query->snapshot->regd_count == 1 && query->snapshot->active_count == 1 && ActiveSnapshotSet() &&
		   GetActiveSnapshot() == query->snapshot;
}

void
tsurugi_mixed_match(QueryDesc *query)
{
	bool matches;

	tg_failpoint("executor_start");
	if (tg_failpoint_refuses("skip_match") || query->snapshot == InvalidSnapshot ||
		query->crosscheck_snapshot != InvalidSnapshot || !reads_both_kinds(query->plannedstmt))
		return;
	matches = matches_as_it_is(query);
	if (!matches && !is_renewable(query))
		return;
	for (int i = 0; !matches && i < ATTEMPTS; i++)
	{
		matches = matches_anew(query);
		if (!matches)
			(void) ConditionVariableTimedSleep(&mixed->changed, ATTEMPT_MS, PG_WAIT_EXTENSION);
	}
	if (!matches)
	{
		close_gate();
		while (!matches_anew(query))
			ConditionVariableSleep(&mixed->changed, PG_WAIT_EXTENSION);
		open_gate();
	}
	ConditionVariableCancelSleep();
	tsurugi_snapshot_expect_for(query->snapshot);
}
