/*
 * analyze.c
 *	  ANALYZE of tables in memory without being asked, as autovacuum does it with ordinary ones.
 *
 * Autovacuum passes foreign tables over.  Without statistics of their columns joins and
 * orders would be chosen by default selectivities, which on a table that was just loaded are
 * wrong by orders of magnitude.  So the worker looks each autovacuum_naptime for
 * tables of which more rows have changed than autovacuum_analyze_threshold and
 * autovacuum_analyze_scale_factor allow, and starts, for one database after the other, a process that analyzes
 * those there.  autovacuum and track_counts turn it off, as the rest of autovacuum.
 *
 * The process is one of autovacuum's to all others: who waits for a lock that it has cancels it
 * after deadlock_timeout, DROP DATABASE and its like end it, CREATE INDEX CONCURRENTLY
 * does not wait for it; and it waits for no table's lock itself.  What it could not
 * analyze counts as changed, and is tried again the next time.
 */
#include "postgres.h"

#include "src/server/analyze.h"

#include <signal.h>

#include "access/xact.h"
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

#include "runtime/runtime.h"

/* --- the worker --------------------------------------------------------------------------- */

/* The database with the lowest number above this one of whose tables some have changed much, or InvalidOid. */
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

	/* there may be none to be had: then later */
	if (!RegisterDynamicBackgroundWorker(&process, &handle))
		handle = NULL;
	MemoryContextSwitchTo(callers);
	return handle;
}

void
tsurugi_analyze_look(void)
{
	static TimestampTz begun; /* a round through the databases */
	static bool is_under_way;
	static Oid last;						/* in it */
	static BackgroundWorkerHandle *process; /* there */
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
	last = AutoVacuumingActive() ? changed_database_after(last) : InvalidOid;
	is_under_way = OidIsValid(last);
	if (is_under_way)
		process = start_in(last);
}

/* --- the process in a database ---------------------------------------------------------------- */

/* For a process that nobody waits for, and that others need not wait for. */
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
											  {"track_activities", "on"}}; /* tells what is analyzed: fdw_analyze.c */

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
