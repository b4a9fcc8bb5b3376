/*
 * worker.c
 *	  The background worker in which the pool's threads run.
 *
 * Its main thread is the only one that talks to PostgreSQL.  It writes the runtime's messages to
 * the log, loads tables and keeps them durable (durable/keeper.h), keeps table locks and snapshots
 * for transactions that no session owns, releases what mixed commits hold, has tables analyzed,
 * follows the configuration, and shuts down cleanly on SIGTERM.  A worker that ended in any other
 * way would leave latches and unfinished work behind in shared memory.  So a guard turns every such
 * end into an abnormal exit, to which PostgreSQL responds with a crash restart.
 *
 * While the worker is being restarted, statements do all their work themselves, and garbage is
 * collected when it is back; a commit that is to be logged waits.  A server in which there is no
 * place for it (max_worker_processes) never loads the tables.
 */
#include "postgres.h"

#include "src/server/worker.h"

#include <unistd.h>

#include "access/xact.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/wait_event.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/sched/scheduler.h"
#include "runtime/start.h"
#include "src/base/settings.h"
#include "src/durable/keeper.h"
#include "src/server/analyze.h"
#include "src/txn/lease_locks.h"
#include "src/txn/mixed.h"
#include "src/txn/shared_moment.h"
#include "src/txn/snapshot_watch.h"

#define RESTART_S 1
#define MESSAGES_MS 500 /* how long a message may wait for the log */
/* To wait for running tasks to end. */
#define STOP_LIMIT_MS 5000
#define MESSAGE_BYTES 512

/* No thread is running, the log is closed: nobody relies on the process, it may end in any way. */
static bool may_end = true;

void
tsurugi_worker_register(void)
{
	BackgroundWorker worker = {.bgw_flags = BGWORKER_SHMEM_ACCESS,
							   .bgw_start_time = BgWorkerStart_PostmasterStart,
							   .bgw_restart_time = RESTART_S,
							   .bgw_library_name = "tsurugi_fdw",
							   .bgw_function_name = "tsurugi_fdw_worker_main",
							   .bgw_name = "tsurugi_fdw worker",
							   .bgw_type = "tsurugi_fdw worker"};

	RegisterBackgroundWorker(&worker);
}

static void
guard_exit(int code, Datum argument)
{
	if (may_end)
		return;
	tsurugi_keeper_abandon();
	_exit(2);
}

static void
log_messages(void)
{
	char text[MESSAGE_BYTES];

	while (tg_host_message_next(text, sizeof(text)))
		ereport(LOG, (errmsg_internal("tsurugi_fdw: %s", text)));
}

static void
reload(void)
{
	tg_scheduler_settings settings;

	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	tsurugi_scheduler_settings(&settings);
	tg_scheduler_settings_set(&settings);
#ifdef TG_FAILPOINTS
	/* a test waits for it */
	ereport(LOG, (errmsg_internal("tsurugi_fdw: the worker has failpoints \"%s\"",
								  GetConfigOption("tsurugi_fdw.failpoints", false, false))));
#endif
}

static void
start_threads(void)
{
	tg_scheduler_settings settings;

	tg_assert(may_end);
	tsurugi_scheduler_settings(&settings);
	may_end = false;
	if (tg_runtime_start(&settings) != TG_OK)
	{
		may_end = true;
		ereport(FATAL, (errcode(ERRCODE_INSUFFICIENT_RESOURCES), errmsg("could not start the threads of tsurugi_fdw")));
	}
}

/* Returns in how many milliseconds it is to be called again. */
static int
look(void)
{
	int ms;

	log_messages();
	tsurugi_snapshot_watch();
	tsurugi_lease_locks_worker_look();
	tsurugi_shared_moment_worker_look();
	tsurugi_mixed_tidy();
	tsurugi_analyze_look();
	if (ConfigReloadPending)
		reload();
	ms = tsurugi_keeper_look();
	tg_assert(ms >= 0); /* WaitLatch would wait for ever */
	tg_assert(!IsTransactionState());
	return Min(ms, MESSAGES_MS);
}

static void
sleep_for(int ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

/* The threads have ended: sessions do by themselves what their commits wait for. */
static void
end_log(void)
{
	int ms;

	while (!tsurugi_keeper_end(&ms))
	{
		sleep_for(ms);
		log_messages();
	}
}

void
tsurugi_fdw_worker_main(Datum argument)
{
	bool all_joined;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	before_shmem_exit(guard_exit, (Datum) 0);
	BackgroundWorkerUnblockSignals();

	start_threads();
	tsurugi_lease_locks_worker_begin();
	tsurugi_shared_moment_worker_begin();
	tsurugi_keeper_begin();
	while (!ShutdownRequestPending)
		sleep_for(look());

	tsurugi_shared_moment_worker_end();
	all_joined = tg_runtime_stop(STOP_LIMIT_MS) && tsurugi_lease_locks_worker_end();
	end_log();
	log_messages();
	may_end = all_joined;
	/* Not 0, so that a worker that was stopped while the server continues is started again. */
	proc_exit(1);
}
