/*
 * isolation.c
 *	  What REPEATABLE READ adds to a snapshot per statement.
 *
 * 1. R is drawn in the transaction's first executor run, whether or not that
 *	  names a table of ours (M4), so that it is next to PostgreSQL's own snapshot.
 *	  PostgreSQL takes that at the analysis of the first statement: a commit
 *	  between the two is seen here and not in ordinary tables.  A statement
 *	  without an executor run (COPY FROM) draws R at its first row.
 * 2. First committer wins: a row to be written that was committed after R ends the
 *	  transaction with 40001, in PostgreSQL's words.
 * 3. W5: as long as nobody has been told anything from R, it may as well be
 *	  drawn again.  That is so while the first run is the only one, has written
 *	  nothing and no scan of it has opened but the one that looks for the row
 *	  to write, which starts over.  So a statement of its own that changes a hot
 *	  row by key waits and goes on, as at READ COMMITTED.  What the conditions of
 *	  such a scan have computed is computed again.
 *
 * A transaction of a database without the wrapper draws nothing: it has no
 * tables of ours.
 */
#include "postgres.h"

#include "src/isolation.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "executor/executor.h"
#include "foreign/foreign.h"

#include "src/errors.h"
#include "src/snapshot.h"
#include "src/transaction.h"

static ExecutorStart_hook_type previous_executor_start;

/* All of the current transaction. */
static uint64 run_count;
static bool drawn; /* R is there, or is not wanted */
static bool used;  /* somebody has been told something from R */

/* --- the first run ---------------------------------------------------------------- */

static void
begin_run(void)
{
	run_count++;
	if (drawn)
		return;
	drawn = true;
	if (!RecoveryInProgress() && OidIsValid(get_foreign_data_wrapper_oid("tsurugi_fdw", true)))
		tsurugi_snapshot_draw();
}

static void
executor_start(QueryDesc *query, int eflags)
{
	if (IsolationUsesXactSnapshot() && (eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0 && !IsParallelWorker())
		begin_run();
	if (previous_executor_start != NULL)
		previous_executor_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
}

void
tsurugi_isolation_init(void)
{
	previous_executor_start = ExecutorStart_hook;
	ExecutorStart_hook = executor_start;
}

/* --- conflicts ---------------------------------------------------------------------- */

void
tsurugi_snapshot_is_used(void)
{
	used = true;
}

void
tsurugi_renew_snapshot(Relation relation, tsurugi_change change, bool may_start_over)
{
	if (!may_start_over || used || run_count > 1 || tsurugi_has_written())
		tsurugi_error_conflict(relation, change);
	tsurugi_snapshot_redraw();
}

void
tsurugi_isolation_end(void)
{
	run_count = 0;
	drawn = false;
	used = false;
}
