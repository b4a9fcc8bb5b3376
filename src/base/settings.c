/*
 * settings.c
 *	  The settings of the task scheduler, and of the processes that use it.
 *
 * The runtime defines the defaults (tg_scheduler_settings_default) and the meaning of each setting;
 * this file gives them names, units and bounds.  The worker process puts them into force, at its
 * start and at each reload.  So does each backend for those that concern a process that submits
 * jobs (scheduler, lightweight_job_level ...).
 *
 * Lanes have no settings here: no SQL statement uses one yet.
 */
#include "postgres.h"

#include "src/base/settings.h"

#include <limits.h>
#include <unistd.h>

#include "utils/guc.h"

#include "runtime/sched/scheduler.h"
#include "runtime/reclaim/tax.h"

#define BATCH_MEMORY_KB (256 * 1024)
#define BATCH_MEMORY_KB_MIN 1024
#define WORKERS_MAX 1024
#define CORES_MAX 4096
#define JOB_LEVEL_MAX 60
#define TIMEOUT_MS_MAX (3600 * 1000)

static const struct config_enum_entry kinds[] = {{"hybrid", TG_KIND_HYBRID, false},
												 {"stealing", TG_KIND_STEALING, false},
												 {"serial", TG_KIND_SERIAL, false},
												 {NULL, 0, false}};

static const struct config_enum_entry distributors[] = {{"off", TG_DISTRIBUTOR_OFF, false},
														{"worker", TG_DISTRIBUTOR_WORKER, false},
														{"thread", TG_DISTRIBUTOR_THREAD, false},
														{NULL, 0, false}};

static const struct config_enum_entry victims[] = {{"last", false, false}, {"next", true, false}, {NULL, 0, false}};

static const struct config_enum_entry jobs_choices[] = {{"off", TSURUGI_JOBS_OFF, false},
														{"on", TSURUGI_JOBS_ON, false},
														{"force", TSURUGI_JOBS_FORCE, false},
														{NULL, 0, false}};

int tsurugi_scan_pool_rows;
int tsurugi_jobs;
int tsurugi_job_tasks;
int tsurugi_job_memory_kb;
int tsurugi_batch_memory_kb;
static int workers;
static int kind;
static int lightweight_job_level;
static bool stealing;
static int stealing_wait;
static int steal_first;
static int worker_try_count;
static bool busy_worker;
static int worker_suspend_timeout_ms;
static double task_polling_wait_ms;
static int check_local_first_ratio;
static bool preferred_worker;
static bool core_affinity;
static int initial_core;
static int distribution;
static double distribution_spin_ms;
static double watcher_interval_ms;
static int hang_timeout_ms;
static double min_mutator_utilization;
static double mutator_window_ms;

unsigned
tsurugi_worker_count(void)
{
	/* The number of CPUs may change while the server runs, but this number does not. */
	static unsigned cpus;

	if (workers > 0)
		return (unsigned) workers;
	if (cpus == 0)
	{
		long online = sysconf(_SC_NPROCESSORS_ONLN);

		cpus = online < 1 ? 1 : (unsigned) Min(online, WORKERS_MAX);
	}
	return cpus;
}

void
tsurugi_scheduler_settings(tg_scheduler_settings *settings_out)
{
	*settings_out = tg_scheduler_settings_default(tsurugi_worker_count());
	settings_out->kind = (tg_scheduler_kind) kind;
	settings_out->lightweight_job_level = (unsigned) lightweight_job_level;
	settings_out->stealing = stealing;
	settings_out->stealing_wait = (unsigned) stealing_wait;
	settings_out->steal_after_last = steal_first != 0;
	settings_out->worker_try_count = (unsigned) worker_try_count;
	settings_out->busy_worker = busy_worker;
	settings_out->worker_suspend_ms = (unsigned) worker_suspend_timeout_ms;
	settings_out->task_polling_wait_us = (unsigned) (task_polling_wait_ms * 1000);
	settings_out->local_first_permille = (unsigned) check_local_first_ratio;
	settings_out->preferred_worker = preferred_worker;
	settings_out->core_affinity = core_affinity;
	settings_out->initial_core = (unsigned) initial_core;
	settings_out->distributor = (tg_distributor) distribution;
	settings_out->distribution_spin_us = (unsigned) (distribution_spin_ms * 1000);
	settings_out->watcher_interval_us = (unsigned) (watcher_interval_ms * 1000);
	settings_out->hang_ms = (unsigned) hang_timeout_ms;
}

/* --- definitions ------------------------------------------------------------- */

/*
 * Whether the settings of a submitting process are out of date; backends follow a reload by
 * tsurugi_settings_follow.
 */
static bool submitters_are_behind = true;

static void
assign_setting(int value, void *extra)
{
	submitters_are_behind = true;
}

void
tsurugi_settings_follow(void)
{
	tg_scheduler_settings settings;

	if (!submitters_are_behind)
		return;
	submitters_are_behind = false;
	tsurugi_scheduler_settings(&settings);
	tg_scheduler_settings_set(&settings);
}

static void
define_number(const char *name, const char *meaning, const char *more, int *value, unsigned initial, int least,
			  int most, GucContext context, int unit)
{
	DefineCustomIntVariable(name, meaning, more, value, (int) initial, least, most, context, unit, NULL, assign_setting,
							NULL);
}

/* A time with fractions of milliseconds. */
static void
define_time(const char *name, const char *meaning, const char *more, double *value_ms, unsigned initial_us,
			double least_ms)
{
	DefineCustomRealVariable(name, meaning, more, value_ms, initial_us / 1000.0, least_ms, 1000, PGC_SIGHUP,
							 GUC_UNIT_MS, NULL, NULL, NULL);
}

static void
define_switch(const char *name, const char *meaning, const char *more, bool *value, bool initial, GucContext context)
{
	DefineCustomBoolVariable(name, meaning, more, value, initial, context, 0, NULL, NULL, NULL);
}

static void
define_choice(const char *name, const char *meaning, const char *more, int *value, int initial,
			  const struct config_enum_entry *choices, GucContext context)
{
	DefineCustomEnumVariable(name, meaning, more, value, initial, choices, context, 0, NULL, assign_setting, NULL);
}

static void
define_kinds(const tg_scheduler_settings *initial)
{
	define_number("tsurugi_fdw.scan_pool_rows",
				  "Estimated rows from which on a scan of a whole table is given to the workers.", "-1 is never.",
				  &tsurugi_scan_pool_rows, 10000, -1, INT_MAX, PGC_USERSET, 0);
	define_choice(
		"tsurugi_fdw.scheduler", "Who runs the tasks of a job.",
		"hybrid: the session itself up to lightweight_job_level, above it the workers; stealing: the workers; "
		"serial: the session itself.",
		&kind, initial->kind, kinds, PGC_SIGHUP);
	define_number("tsurugi_fdw.lightweight_job_level", "Highest work level of jobs that the session runs itself.",
				  "40 scans of whole tables and builds of indexes; lower levels never go to the workers.",
				  &lightweight_job_level, initial->lightweight_job_level, 0, JOB_LEVEL_MAX, PGC_SIGHUP, 0);
	define_number("tsurugi_fdw.job_memory", "Memory that a job of the workers may take.",
				  "Beyond it a scan is done by the session, and entries are added to a new index one by one.  "
				  "0 is no bound but that of all memory.",
				  &tsurugi_job_memory_kb, 0, 0, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB);
	define_number(
		"tsurugi_fdw.batch_memory", "Memory that COPY of files in Parquet, Arrow or NDJSON, or a load, may take.",
		"A file with a page, row group or record that does not fit into it is refused.", &tsurugi_batch_memory_kb,
		BATCH_MEMORY_KB, BATCH_MEMORY_KB_MIN, MAX_KILOBYTES, PGC_SUSET, GUC_UNIT_KB);
}

static void
define_jobs(void)
{
	define_choice("tsurugi_fdw.jobs",
				  "Whether joins, aggregations, sorts and INSERT ... SELECT of tables in memory are computed by jobs.",
				  "on: where that is estimated to cost less; force: wherever it is possible.", &tsurugi_jobs,
				  TSURUGI_JOBS_ON, jobs_choices, PGC_USERSET);
	define_number("tsurugi_fdw.job_tasks", "Most tasks that a job of a query has at a time.",
				  "0 is as many as there are workers.", &tsurugi_job_tasks, 0, 0, WORKERS_MAX, PGC_USERSET, 0);
}

static void
define_workers(const tg_scheduler_settings *initial)
{
	define_number("tsurugi_fdw.workers", "Number of worker threads.", "0 is one for each CPU.", &workers, 0, 0,
				  WORKERS_MAX, PGC_POSTMASTER, 0);
	define_switch("tsurugi_fdw.core_affinity", "Whether each worker stays on one CPU core.", NULL, &core_affinity,
				  initial->core_affinity, PGC_POSTMASTER);
	define_number("tsurugi_fdw.initial_core", "Core of the first worker, if core_affinity is on.", NULL, &initial_core,
				  initial->initial_core, 0, CORES_MAX, PGC_POSTMASTER, 0);
	define_switch("tsurugi_fdw.busy_worker", "Whether workers that have nothing to do keep looking for tasks.",
				  "Costs a CPU each, saves waking them.", &busy_worker, initial->busy_worker, PGC_SIGHUP);
	define_number("tsurugi_fdw.worker_try_count", "Rounds without work after which a worker suspends itself.", NULL,
				  &worker_try_count, initial->worker_try_count, 1, 1000000, PGC_SIGHUP, 0);
	define_number("tsurugi_fdw.worker_suspend_timeout", "Longest sleep of a worker that nobody wakes.", NULL,
				  &worker_suspend_timeout_ms, initial->worker_suspend_ms, 1, TIMEOUT_MS_MAX, PGC_SIGHUP, GUC_UNIT_MS);
	define_time("tsurugi_fdw.task_polling_wait", "Sleep of a worker after a round without work.",
				"0 is none.  Experimental: nothing ends this sleep early.", &task_polling_wait_ms,
				initial->task_polling_wait_us, 0);
	define_number("tsurugi_fdw.hang_timeout", "Time after which a task without an end is reported.", NULL,
				  &hang_timeout_ms, initial->hang_ms, 1, TIMEOUT_MS_MAX, PGC_SIGHUP, GUC_UNIT_MS);
	define_time("tsurugi_fdw.watcher_interval", "Tick of the thread that watches over the workers.", NULL,
				&watcher_interval_ms, initial->watcher_interval_us, 0.1);
}

static void
define_queues(const tg_scheduler_settings *initial)
{
	define_switch("tsurugi_fdw.stealing", "Whether workers take tasks from each other.", NULL, &stealing,
				  initial->stealing, PGC_SIGHUP);
	define_number("tsurugi_fdw.stealing_wait", "Rounds without work of its own before a worker steals.", NULL,
				  &stealing_wait, initial->stealing_wait, 0, 1000000, PGC_SIGHUP, 0);
	define_choice("tsurugi_fdw.steal_first",
				  "Whom a worker steals from first: the last one that had work, or the next.", NULL, &steal_first,
				  initial->steal_after_last, victims, PGC_SIGHUP);
	define_choice("tsurugi_fdw.distribution", "Who hands tasks to sleeping workers.",
				  "off: each worker that wakes wakes the next; worker: the last one that finds nothing; "
				  "thread: a thread of its own.",
				  &distribution, initial->distributor, distributors, PGC_POSTMASTER);
	define_time("tsurugi_fdw.distribution_spin",
				"Time that the distributor looks for tasks before it naps between looks.", NULL, &distribution_spin_ms,
				initial->distribution_spin_us, 0);
	define_number("tsurugi_fdw.check_local_first_ratio",
				  "Rounds in a thousand that look at a worker's stealable tasks before its sticky ones.", NULL,
				  &check_local_first_ratio, initial->local_first_permille, 0, 1000, PGC_SIGHUP, 0);
	define_switch("tsurugi_fdw.preferred_worker", "Whether a session's tasks go to one worker first.",
				  "Otherwise to each in turn.", &preferred_worker, initial->preferred_worker, PGC_SIGHUP);
}

/* --- collection --------------------------------------------------------------- */

static void
set_tax(double utilization, double window_ms)
{
	tg_tax_settings((unsigned) (utilization * 1000 + 0.5), (unsigned) (window_ms * 1000));
}

static void
assign_utilization(double value, void *extra)
{
	set_tax(value, mutator_window_ms);
}

static void
assign_window(double value, void *extra)
{
	set_tax(min_mutator_utilization, value);
}

static void
define_collection(void)
{
	DefineCustomRealVariable("tsurugi_fdw.min_mutator_utilization",
							 "Share of its running time that a session keeps for itself while there is garbage.",
							 "The rest it may have to give to the collection, unless others have time for that.  "
							 "When memory is short it has to give more.",
							 &min_mutator_utilization, 0.8, 0, 1, PGC_SUSET, 0, NULL, assign_utilization, NULL);
	DefineCustomRealVariable("tsurugi_fdw.mutator_window",
							 "Time over which a session's share in the collection of garbage is reckoned.",
							 "It is asked for no more than one window's part at a time.", &mutator_window_ms, 10, 1,
							 1000, PGC_SIGHUP, GUC_UNIT_MS, NULL, assign_window, NULL);
}

void
tsurugi_settings_define(void)
{
	tg_scheduler_settings initial = tg_scheduler_settings_default(0);

	define_kinds(&initial);
	define_jobs();
	define_workers(&initial);
	define_queues(&initial);
	define_collection();
}
