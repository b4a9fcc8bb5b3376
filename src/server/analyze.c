/*
 * analyze.c
 *	  Automatic ANALYZE of tables in memory, as autovacuum does it for ordinary ones.
 *
 * Autovacuum skips foreign tables.  Without statistics of their columns, joins and orders would be
 * chosen by default selectivities, which for a newly loaded table are wrong by orders of magnitude.
 * So every autovacuum_naptime the worker looks for tables in which more rows have changed than
 * autovacuum_analyze_threshold and autovacuum_analyze_scale_factor allow, and starts, for one
 * database after the other, a process that analyzes them.  autovacuum and track_counts turn it off,
 * like the rest of autovacuum.
 *
 * Other processes treat it as one of autovacuum's: a process that waits for a lock held by it
 * cancels it after deadlock_timeout, DROP DATABASE and similar statements end it, and CREATE INDEX
 * CONCURRENTLY does not wait for it.  It does not wait for a table's lock itself.  Tables that it
 * could not analyze count as changed, and are tried again the next time.
 */
#include "postgres.h"

#include "src/server/analyze.h"

#include <signal.h>

#include "access/xact.h"
#include "access/xlog.h"
#include "commands/vacuum.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "postmaster/autovacuum.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "runtime/base/check.h"
#include "runtime/table/catalog.h"

/* --- the worker --------------------------------------------------------------------------- */

/*
 * The database with the lowest OID above this one that has tables with many changes, or InvalidOid.
 */
static Oid
changed_database_after(Oid last)
{
	uint64_t position = 0;
	uint32_t database;
	uint32_t relation;
	Oid next = InvalidOid;

	while (tg_catalog_changed_next(&position, autovacuum_anl_thresh, autovacuum_anl_scale, &database, &relation))
		if (database > last && (!OidIsValid(next) || database < next))
			next = database;
	tg_assert(next == InvalidOid || next > last); /* a round through the databases ends */
	return next;
}

static BackgroundWorkerHandle *
start_in(Oid database)
{
	BackgroundWorker process = {.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
								.bgw_start_time = BgWorkerStart_RecoveryFinished,
								.bgw_restart_time = BGW_NEVER_RESTART,
								.bgw_library_name = "tsurugi_fdw",
								.bgw_function_name = "tsurugi_fdw_analyze_main",
								.bgw_name = "tsurugi_fdw analyze",
								.bgw_type = "tsurugi_fdw analyze",
								.bgw_main_arg = ObjectIdGetDatum(database)};
	MemoryContext callers = MemoryContextSwitchTo(TopMemoryContext);
	BackgroundWorkerHandle *handle = NULL;

	/* If no process can be started now, it is tried again later. */
	if (!RegisterDynamicBackgroundWorker(&process, &handle))
		handle = NULL;
	MemoryContextSwitchTo(callers);
	return handle;
}

void
tsurugi_analyze_look(void)
{
	static TimestampTz begun; /* of a round through the databases */
	static bool is_under_way;
	static Oid last;						/* database in this round */
	static BackgroundWorkerHandle *process; /* in that database */
	TimestampTz now = GetCurrentTimestamp();
	pid_t id;

	if (process != NULL && GetBackgroundWorkerPid(process, &id) != BGWH_STOPPED)
		return;
	if (process != NULL)
		pfree(process);
	process = NULL;
	if (!is_under_way && !TimestampDifferenceExceeds(begun, now, autovacuum_naptime * 1000))
		return;
	if (!is_under_way)
	{
		begun = now;
		last = InvalidOid;
	}
	last = AutoVacuumingActive() && !RecoveryInProgress() ? changed_database_after(last) : InvalidOid;
	is_under_way = OidIsValid(last);
	if (is_under_way)
		process = start_in(last);
}

/* --- the process in a database ---------------------------------------------------------------- */

/* Sets the process up as one that no user waits for, and that others need not wait for. */
static void
be_in_the_background(void)
{
	static const char *const settings[][2] = {{"search_path", ""},
											  {"statement_timeout", "0"},
											  {"lock_timeout", "0"},
											  {"idle_in_transaction_session_timeout", "0"},
											  {"default_transaction_isolation", "read committed"},
											  {"default_transaction_read_only", "off"},
											  {"default_transaction_deferrable", "off"},
											  {"tsurugi_fdw.transaction_type", "default"},
											  /*
											   * It shows the table that is analyzed: fdw_analyze.c.
											   */
											  {"track_activities", "on"}};

	for (int i = 0; i < lengthof(settings); i++)
		SetConfigOption(settings[i][0], settings[i][1], PGC_SUSET, PGC_S_OVERRIDE);
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags |= PROC_IS_AUTOVACUUM;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
}

static void
analyze(Oid table)
{
	VacuumParams how = {.options = VACOPT_ANALYZE | VACOPT_SKIP_LOCKED, .log_min_duration = -1, .nworkers = -1};

	tg_assert(!IsTransactionState());
	StartTransactionCommand();
	PushActiveSnapshot(GetTransactionSnapshot());
	vacuum(list_make1(makeVacuumRelation(NULL, table, NIL)), &how, NULL, true);
	PopActiveSnapshot();
	CommitTransactionCommand();
}

static void
try_to_analyze(Oid table)
{
	MemoryContext callers = CurrentMemoryContext;

	PG_TRY();
	{
		analyze(table);
	}
	PG_CATCH();
	{
		HOLD_INTERRUPTS();
		tg_catalog_not_analyzed(MyDatabaseId, table);
		MemoryContextSwitchTo(callers);
		EmitErrorReport();
		AbortOutOfAnyTransaction();
		MemoryContextSwitchTo(callers);
		FlushErrorState();
		QueryCancelPending = false;
		RESUME_INTERRUPTS();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(callers);
}

void
tsurugi_fdw_analyze_main(Datum argument)
{
	Oid own = DatumGetObjectId(argument);
	List *tables = NIL;
	uint64_t position = 0;
	uint32_t database;
	uint32_t relation;
	ListCell *cell;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(own, InvalidOid, BGWORKER_BYPASS_ALLOWCONN);
	be_in_the_background();
	while (tg_catalog_changed_next(&position, autovacuum_anl_thresh, autovacuum_anl_scale, &database, &relation))
		if (database == own)
			tables = lappend_oid(tables, relation);
	foreach (cell, tables)
	{
		CHECK_FOR_INTERRUPTS();
		try_to_analyze(lfirst_oid(cell));
	}
	proc_exit(0);
}
