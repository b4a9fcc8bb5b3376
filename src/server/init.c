/*
 * init.c
 *	  Loading the library: settings, shared memory, callbacks, the worker.
 *
 * The postmaster loads the library, reserves the arena as soon as it knows how
 * many processes there can be, and empties it each time it makes its own
 * shared memory: at the start and after each crash.  All other processes are
 * its children and inherit both.
 */
#include "postgres.h"

#include <signal.h>
#include <unistd.h>

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/mem/arena.h"
#include "runtime/sched/scheduler.h"
#include "runtime/start.h"
#include "src/base/settings.h"

#include "access/twophase.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/guc.h"

#include "src/base/session.h"
#include "src/copy/load_options.h"
#include "src/copy/load_pool.h"
#include "src/copy/progress.h"
#include "src/copy/server_file.h"
#include "src/copy/sessions.h"
#include "src/ddl/create.h"
#include "src/ddl/ddl.h"
#include "src/durable/availability.h"
#include "src/durable/backup.h"
#include "src/durable/base_writer.h"
#include "src/durable/loading.h"
#include "src/durable/resource_manager.h"
#include "src/durable/survey.h"
#include "src/exec/fdw.h"
#include "src/exec/prepared.h"
#include "src/exec/scan_plan.h"
#include "src/exec/table_scan.h"
#include "src/job/job.h"
#include "src/log/damage.h"
#include "src/log/log.h"
#include "src/server/worker.h"
#include "src/table/quota.h"
#include "src/table/relation.h"
#include "src/table/storage.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/lease_locks.h"
#include "src/txn/lease_owners.h"
#include "src/txn/lending.h"
#include "src/txn/logging.h"
#include "src/txn/mixed.h"
#include "src/txn/participants.h"
#include "src/txn/reply.h"
#include "src/txn/response.h"
#include "src/txn/shared_moment.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/snapshot_watch.h"

#ifdef EXEC_BACKEND
#error "tsurugi_fdw needs children that inherit the postmaster's memory: EXEC_BACKEND is not supported"
#endif

PG_MODULE_MAGIC;

extern PGDLLEXPORT void _PG_init(void);

#define MEGABYTE ((size_t) 1024 * 1024)

typedef enum huge_pages_choice
{
	HUGE_PAGES_OFF_CHOICE,
	HUGE_PAGES_TRY_CHOICE
} huge_pages_choice;

static const struct config_enum_entry huge_pages_choices[] = {
	{"off", HUGE_PAGES_OFF_CHOICE, false}, {"try", HUGE_PAGES_TRY_CHOICE, false}, {NULL, 0, false}};

static int memory_mb;
static int memory_max_mb;
static int memory_reserved;
static int huge_pages;

static bool arena_mapped;
static shmem_request_hook_type previous_shmem_request_hook;
static shmem_startup_hook_type previous_shmem_startup_hook;

/* --- settings ---------------------------------------------------------------------- */

/*
 * The postmaster puts a new limit into force: it lives as long as the server, and sees each reload
 * first.  It only stores a number.
 */
static void
assign_memory(int new_mb, void *extra)
{
	if (arena_mapped && !IsUnderPostmaster)
		tg_arena_limit_set((size_t) new_mb * MEGABYTE);
}

static void
assign_memory_reserved(int new_percent, void *extra)
{
	if (arena_mapped && !IsUnderPostmaster)
		tg_arena_reserved_set((unsigned) new_percent);
}

static void
define_memory_settings(void)
{
	DefineCustomIntVariable("tsurugi_fdw.memory", "Limit of the memory for tables.",
							"Past it new data is refused, while DELETE, DROP and rollback still work.", &memory_mb,
							1024, 16, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_MB, NULL, assign_memory, NULL);
	DefineCustomIntVariable("tsurugi_fdw.memory_max", "Highest value that tsurugi_fdw.memory can be given by a reload.",
							"Reserves address space, not memory.", &memory_max_mb, 64 * 1024, 16, MAX_KILOBYTES,
							PGC_POSTMASTER, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("tsurugi_fdw.memory_reserved",
							"Percentage of tsurugi_fdw.memory that is kept for superusers and for the collection.",
							"Other roles' new data is refused before it.", &memory_reserved, 3, 0, 50, PGC_SIGHUP, 0,
							NULL, assign_memory_reserved, NULL);
	DefineCustomEnumVariable("tsurugi_fdw.huge_pages", "Whether huge pages are asked for.",
							 "Where the system refuses them, tables lie on small ones.", &huge_pages,
							 HUGE_PAGES_TRY_CHOICE, huge_pages_choices, PGC_POSTMASTER, 0, NULL, NULL, NULL);
}

static void
define_ddl_settings(void)
{
	DefineCustomBoolVariable("tsurugi_fdw.create_table", "Whether CREATE TABLE makes tables in memory.",
							 "Temporary, partitioned and typed tables stay PostgreSQL's.", &tsurugi_create_table, false,
							 PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("tsurugi_fdw.default_server", "Server of the tables that CREATE TABLE makes.", NULL,
							   &tsurugi_default_server, "tsurugi", PGC_USERSET, GUC_IS_NAME, NULL, NULL, NULL);
}

static const struct config_enum_entry mixed_choices[] = {
	{"strict", TSURUGI_MIXED_STRICT, false}, {"relaxed", TSURUGI_MIXED_RELAXED, false}, {NULL, 0, false}};

#ifdef TG_FAILPOINTS

static char *failpoints;

static bool
is_listed(const char *name)
{
	size_t length = strlen(name);

	for (const char *at = failpoints; (at = strstr(at, name)) != NULL; at += length)
		if ((at == failpoints || at[-1] == ',') && (at[length] == '\0' || at[length] == ','))
			return true;
	return false;
}

static bool
is_listed_for(const char *what, const char *name)
{
	char text[NAMEDATALEN];

	snprintf(text, sizeof(text), "%s:%s", what, name);
	return is_listed(text);
}

static bool
is_failing(const char *name)
{
	if (is_listed_for("stop", name))
		(void) raise(SIGSTOP);
	if (is_listed_for("kill", name))
		(void) kill(getpid(), SIGKILL);
	return is_listed(name);
}

static void
assign_failpoints(const char *names, void *extra)
{
	tg_failpoint_set(names != NULL && names[0] != '\0' ? is_failing : NULL);
}

/* For tests: planted bugs, and places to stop at.  Not in a production build. */
static void
define_failpoint_setting(void)
{
	DefineCustomStringVariable(
		"tsurugi_fdw.failpoints", "Names of failpoints that fail, or after stop: or kill: stop or end the process.",
		NULL, &failpoints, "", PGC_SUSET, GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, assign_failpoints, NULL);
}

#else
#define define_failpoint_setting() ((void) 0)
#endif

static void
define_transaction_settings(void)
{
	DefineCustomEnumVariable("tsurugi_fdw.serializable_mixed",
							 "Whether a serializable transaction may write both foreign and ordinary tables.",
							 "Cycles of dependencies through both are not found.", &tsurugi_serializable_mixed,
							 TSURUGI_MIXED_STRICT, mixed_choices, PGC_USERSET, 0, NULL, NULL, NULL);
}

/* --- shared memory -------------------------------------------------------------------- */

static tg_arena_config
arena_config(void)
{
	return (tg_arena_config){.reserve_bytes = (size_t) Max(memory_max_mb, memory_mb) * MEGABYTE,
							 .limit_bytes = (size_t) memory_mb * MEGABYTE,
							 .reserved_percent = (unsigned) memory_reserved,
							 .session_max = tsurugi_session_max(),
							 .huge_pages = huge_pages == HUGE_PAGES_TRY_CHOICE};
}

/* Called once in the life of the postmaster, when the numbers of processes are known. */
static void
request_shared_memory(void)
{
	tg_arena_config config = arena_config();

	tg_assert(!arena_mapped && !IsUnderPostmaster);
	if (previous_shmem_request_hook != NULL)
		previous_shmem_request_hook();
	RequestAddinShmemSpace(tsurugi_session_shared_bytes());
	RequestAddinShmemSpace(tsurugi_log_shared_bytes());
	RequestAddinShmemSpace(tsurugi_damage_shared_bytes());
	RequestAddinShmemSpace(tsurugi_storage_shared_bytes());
	RequestAddinShmemSpace(tsurugi_availability_shared_bytes());
	RequestAddinShmemSpace(tsurugi_survey_shared_bytes());
	RequestAddinShmemSpace(tsurugi_backup_shared_bytes());
	RequestAddinShmemSpace(tsurugi_mixed_shared_bytes());
	RequestAddinShmemSpace(tsurugi_lease_locks_bytes());
	RequestAddinShmemSpace(tsurugi_shared_moment_bytes());
	RequestAddinShmemSpace(tsurugi_lending_shared_bytes());
	RequestAddinShmemSpace(tsurugi_batches_shared_bytes());
	if (tg_runtime_map(&config) != TG_OK)
		ereport(FATAL, (errcode(ERRCODE_INSUFFICIENT_RESOURCES),
						errmsg("could not reserve %d MB of address space for tsurugi_fdw", memory_mb),
						errhint("Reduce tsurugi_fdw.memory.")));
	arena_mapped = true;
}

/* Called at the start, and after each crash of a process, when no other process exists. */
static void
start_shared_memory(void)
{
	tg_runtime_config config = {
		.arena = arena_config(), .worker_max = tsurugi_worker_count(), .prepared_max = (unsigned) max_prepared_xacts};
	tg_arena_report report;

	tg_assert(arena_mapped && !IsUnderPostmaster);
	if (previous_shmem_startup_hook != NULL)
		previous_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	tsurugi_session_shared_create();
	tsurugi_log_shared_create();
	tsurugi_damage_shared_create();
	tsurugi_storage_shared_create();
	tsurugi_availability_shared_create();
	tsurugi_survey_shared_create();
	tsurugi_backup_shared_create();
	tsurugi_mixed_shared_create();
	tsurugi_lease_locks_create();
	tsurugi_shared_moment_create();
	tsurugi_lending_shared_create();
	tsurugi_batches_shared_create();
	LWLockRelease(AddinShmemInitLock);
	if (tg_runtime_create(&config) != TG_OK)
		ereport(FATAL, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("tsurugi_fdw.memory is too small to start with"),
						errhint("It needs room for %u sessions.", config.arena.session_max)));
	tg_arena_report_get(&report);
	if (report.reserved < config.arena.reserve_bytes)
		ereport(LOG, (errmsg("tsurugi_fdw.memory cannot be raised above %zu MB until the next start",
							 report.reserved / MEGABYTE),
					  errdetail("The system did not reserve the address space that tsurugi_fdw.memory_max asks for.")));
}

/* --- loading ----------------------------------------------------------------------------- */

static void
wake(void *waiter)
{
	SetLatch(waiter);
}

void
_PG_init(void)
{
	if (!process_shared_preload_libraries_in_progress)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("tsurugi_fdw must be loaded when the server starts"),
						errhint("Add tsurugi_fdw to shared_preload_libraries in postgresql.conf and restart the "
								"server: shared_preload_libraries = 'tsurugi_fdw'.")));
	define_memory_settings();
	tsurugi_settings_define();
	tsurugi_log_define();
	tsurugi_loading_define();
	tsurugi_storage_define();
	tsurugi_base_define();
	tsurugi_quota_define();
	tsurugi_snapshot_watch_init();
	define_ddl_settings();
	define_transaction_settings();
	tsurugi_response_define();
	tsurugi_kinds_define();
	tsurugi_shared_define();
	tsurugi_lease_owners_define();
	tsurugi_server_files_define();
	tsurugi_sessions_define();
	tsurugi_load_settings_define();
	define_failpoint_setting();
	MarkGUCPrefixReserved("tsurugi_fdw");

	tsurugi_resource_manager_init();
	tsurugi_availability_init();
	tsurugi_backup_init();
	tg_host_wake = wake;
	previous_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = request_shared_memory;
	previous_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = start_shared_memory;

	/*
	 * Before all other hooks of this library into the executor, so that PostgreSQL is next below
	 * it.
	 */
	tsurugi_prepared_init();
	tsurugi_relation_init();
	tsurugi_scan_plan_init();
	tsurugi_table_scan_init();
	tsurugi_load_pool_init();
	tsurugi_job_init();
	tsurugi_isolation_init();
	tsurugi_errors_init();
	tsurugi_ddl_init();
	tsurugi_unique_init();
	tsurugi_logging_init();
	tsurugi_reply_init();
	tsurugi_participants_init(); /* after all that register one */
	tsurugi_worker_register();
}
