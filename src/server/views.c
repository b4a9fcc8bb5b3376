/*
 * views.c
 *	  The functions behind the views in schema tsurugi.
 *
 * Figures are read without stopping anything: those of one row need not be of exactly the same
 * moment.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_authid.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "storage/sinvaladt.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"
#include "runtime/btree/btree.h"
#include "runtime/table/catalog.h"
#include "runtime/table/table.h"
#include "runtime/index/index.h"
#include "runtime/reclaim/collector.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/reclaim/tax.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/txn.h"
#include "src/base/session.h"
#include "src/base/session_owner.h"
#include "src/base/shown_text.h"
#include "src/base/sql_function.h"
#include "src/base/view_rights.h"
#include "src/base/view_row.h"
#include "src/copy/progress.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot_watch.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_memory);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_memory_uses);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_workers);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_queues);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_scheduler);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_jobs);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_cancel_job);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_tables);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_sessions);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_transactions);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_runtime);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_collector);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_garbage);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_taxes);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_conflicts);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_retries);

/* The name that an array of names has for a number of the runtime: each number has one. */
#define ADD_NAME(row, names, number) add_name(row, names, lengthof(names), number)

static void
add_name(Row *row, const char *const *names, unsigned count, unsigned number)
{
	tg_assert(number < count && names[number] != NULL);
	add_text(row, names[number]);
}

Datum
tsurugi_fdw_memory(PG_FUNCTION_ARGS)
{
	tg_arena_report report;
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	tg_arena_report_get(&report);
	add_bigint(&row, report.limit);
	add_bigint(&row, report.used);
	add_bigint(&row, report.committed);
	add_bigint(&row, report.peak);
	add_bigint(&row, report.reserved);
	add_bigint(&row, report.refused);
	add_bigint(&row, report.huge);
	add_text(&row, !report.huge_asked ? "off" : report.huge_refused ? "refused by the system" : "on");
	put_row(fcinfo, &row);
	return (Datum) 0;
}

Datum
tsurugi_fdw_memory_uses(PG_FUNCTION_ARGS)
{
	static const char *const names[TG_USE_COUNT] = {
		[TG_USE_TABLE] = "tables", [TG_USE_CHUNK] = "chunks",  [TG_USE_HEADER] = "headers",
		[TG_USE_BLOB] = "blobs",   [TG_USE_INDEX] = "indexes", [TG_USE_LOG] = "logs",
		[TG_USE_LOCK] = "locks",   [TG_USE_JOB] = "jobs",	   [TG_USE_RUNTIME] = "runtime"};
	tg_arena_report report;
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	tg_arena_report_get(&report);
	for (int use = 0; use < TG_USE_COUNT; use++)
	{
		ADD_NAME(&row, names, use);
		add_bigint(&row, report.used_by[use]);
		put_row(fcinfo, &row);
	}
	return (Datum) 0;
}

static void
put_worker(FunctionCallInfo fcinfo, unsigned worker)
{
	static const char *const states[] = {[TG_WORKER_STOPPED] = "stopped",
										 [TG_WORKER_RUNNING] = "running",
										 [TG_WORKER_SEARCHING] = "searching",
										 [TG_WORKER_SUSPENDED] = "suspended"};
	tg_worker_report report;
	Row row = {0};

	tg_worker_report_get(worker, &report);
	add_datum(&row, Int32GetDatum((int32) worker));
	if (report.distributing)
		add_text(&row, "distributing");
	else
		ADD_NAME(&row, states, report.state);
	add_optional(&row, report.job_id);
	if (report.task_us > 0)
		add_datum(&row, Float8GetDatum(report.task_us / 1000.0));
	else
		add_null(&row);
	add_datum(&row, BoolGetDatum(report.hung));
	add_bigint(&row, report.deque_count + report.inbox_count + report.sticky_count + report.pending_count);
	add_bigint(&row, report.tasks_run);
	add_bigint(&row, report.sticky_run);
	add_bigint(&row, report.tasks_stolen);
	add_bigint(&row, report.steals);
	add_bigint(&row, report.steal_misses);
	add_bigint(&row, report.distributed);
	add_bigint(&row, report.yields);
	add_bigint(&row, report.parks);
	add_bigint(&row, report.suspensions);
	add_bigint(&row, report.wakeups);
	if (report.core >= 0)
		add_datum(&row, Int32GetDatum(report.core));
	else
		add_null(&row);
	add_datum(&row, Int32GetDatum((int32) report.socket));
	put_row(fcinfo, &row);
}

Datum
tsurugi_fdw_workers(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	for (unsigned worker = 0; worker < tg_worker_count(); worker++)
		put_worker(fcinfo, worker);
	return (Datum) 0;
}

/* worker is -1 for a queue that belongs to no worker. */
static void
put_queue(FunctionCallInfo fcinfo, const char *queue, int worker, uint64 tasks)
{
	Row row = {0};

	add_text(&row, queue);
	if (worker >= 0)
		add_datum(&row, Int32GetDatum(worker));
	else
		add_null(&row);
	add_bigint(&row, tasks);
	put_row(fcinfo, &row);
}

Datum
tsurugi_fdw_queues(PG_FUNCTION_ARGS)
{
	tg_scheduler_report report;

	InitMaterializedSRF(fcinfo, 0);
	tg_scheduler_report_get(&report);
	put_queue(fcinfo, "global", -1, report.global_count);
	put_queue(fcinfo, "conditions", -1, report.conditions_waiting);
	put_queue(fcinfo, "timers", -1, report.timers_waiting);
	for (unsigned number = 0; number < tg_worker_count(); number++)
	{
		tg_worker_report worker;

		tg_worker_report_get(number, &worker);
		put_queue(fcinfo, "deque", (int) number, worker.deque_count);
		put_queue(fcinfo, "inbox", (int) number, worker.inbox_count);
		put_queue(fcinfo, "sticky", (int) number, worker.sticky_count);
		put_queue(fcinfo, "pending", (int) number, worker.pending_count);
	}
	return (Datum) 0;
}

Datum
tsurugi_fdw_scheduler(PG_FUNCTION_ARGS)
{
	static const char *const phases[] = {[TG_PHASE_STOPPED] = "stopped",
										 [TG_PHASE_RUNNING] = "running",
										 [TG_PHASE_DRAINING] = "draining",
										 [TG_PHASE_ENDING] = "ending"};
	tg_scheduler_report report;
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	tg_scheduler_report_get(&report);
	ADD_NAME(&row, phases, report.phase);
	add_datum(&row, Int32GetDatum((int32) report.workers));
	add_datum(&row, Int32GetDatum((int32) report.searching));
	add_datum(&row, Int32GetDatum((int32) report.sleeping));
	add_datum(&row, BoolGetDatum(report.distributing));
	add_bigint(&row, report.distributions);
	add_bigint(&row, report.distribution_naps);
	add_bigint(&row, report.distributed);
	add_bigint(&row, report.submitted);
	add_bigint(&row, report.submitted_urgent);
	add_bigint(&row, report.global_taken);
	add_bigint(&row, report.global_transfers);
	add_bigint(&row, report.overflows);
	add_bigint(&row, report.conditions_submitted);
	add_bigint(&row, report.condition_checks);
	add_bigint(&row, report.conditions_slow);
	add_bigint(&row, report.hangs);
	add_bigint(&row, report.ticks);
	put_row(fcinfo, &row);
	return (Datum) 0;
}

/* The name of a job's first failure; NULL if there was none. */
static const char *
failure_name(tg_status status)
{
	switch (status)
	{
		case TG_OK:
			return NULL;
		case TG_NO_MEMORY:
			return "out of memory";
		case TG_OVER_QUOTA:
			return "over quota";
		case TG_STOPPED:
			return "stopped";
		default:
			return "failed";
	}
}

static void
put_job(FunctionCallInfo fcinfo, const tg_job_report *report)
{
	static const char *const states[] = {[TG_JOB_NEW] = "new", [TG_JOB_RUNNING] = "running", [TG_JOB_DONE] = "done"};
	const char *failure = failure_name(report->status);
	Row row = {0};

	add_bigint(&row, report->id);
	add_optional(&row, report->parent_id);
	add_text(&row, report->kind);
	add_datum(&row, Int32GetDatum((int32) report->owner));
	add_datum(&row, ObjectIdGetDatum(report->object));
	add_datum(&row, Int32GetDatum(report->level));
	add_datum(&row, BoolGetDatum(report->in_place));
	ADD_NAME(&row, states, report->state);
	add_datum(&row, BoolGetDatum(report->cancelled));
	if (failure != NULL)
		add_text(&row, failure);
	else
		add_null(&row);
	add_bigint(&row, report->tasks);
	add_bigint(&row, report->tasks_run);
	add_bigint(&row, report->done);
	add_bigint(&row, report->expected);
	add_bigint(&row, report->rows);
	add_optional(&row, report->step);
	add_optional(&row, report->steps);
	add_bigint(&row, report->memory);
	add_bigint(&row, report->memory_most);
	add_optional(&row, report->memory_max);
	add_bigint(&row, report->spilled);
	add_datum(&row, Float8GetDatum(report->elapsed_us / 1000.0));
	put_row(fcinfo, &row);
}

Datum
tsurugi_fdw_jobs(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	for (unsigned index = 0; index < TG_JOB_MAX; index++)
	{
		tg_job_report report;

		if (tg_job_report_get(index, &report))
			put_job(fcinfo, &report);
	}
	return (Datum) 0;
}

/*
 * As in pg_signal_backend (signalfuncs.c): a process that has no role, or has exited, may have been
 * a superuser's.
 */
static void
check_may_cancel(int process_id)
{
	PGPROC *process = BackendPidGetProc(process_id);
	Oid role = process != NULL ? process->roleId : InvalidOid;

	if ((!OidIsValid(role) || superuser_arg(role)) && !superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE), errmsg("must be a superuser to cancel a superuser's job")));
	if (!has_privs_of_role(GetUserId(), role) && !has_privs_of_role(GetUserId(), ROLE_PG_SIGNAL_BACKEND))
		ereport(ERROR, (errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
						errmsg("must be a member of the role whose job is being canceled or member of "
							   "pg_signal_backend")));
}

/*
 * Lets a user end a job, also one whose statement is gone, or a batch.  A batch's session is
 * signalled, whether its work is a job or not: it may wait for something else than that job.
 * False: none of this number is running.
 */
Datum
tsurugi_fdw_cancel_job(PG_FUNCTION_ARGS)
{
	uint64_t id = (uint64_t) PG_GETARG_INT64(0);

	if (tsurugi_batch_cancel(id, check_may_cancel))
		PG_RETURN_BOOL(true);
	for (unsigned index = 0; index < TG_JOB_MAX; index++)
	{
		tg_job_report report;

		if (!tg_job_report_get(index, &report) || report.id != id || report.state != TG_JOB_RUNNING)
			continue;
		check_may_cancel((int) report.owner);
		PG_RETURN_BOOL(tg_job_cancel_id(tsurugi_session(), id));
	}
	PG_RETURN_BOOL(false);
}

/* Inside an epoch.  tree may be NULL. */
static tg_btree_report
report_of(tg_btree *tree)
{
	tg_btree_report report = {0};

	if (tree != NULL)
		tg_btree_report_get(tree, &report);
	return report;
}

static uint64
index_bytes(tg_session *session, tg_table *table)
{
	uint64 bytes = tg_load_relaxed(&table->dictionary_bytes);

	tg_epoch_enter(session);
	bytes += report_of(tg_index_tree(table, NULL)).bytes;
	for (const tg_index *index = tg_index_first(table); index != NULL; index = tg_index_next(index))
		bytes += report_of(index->tree).bytes + tg_index_hidden_bytes(index);
	tg_epoch_leave(session);
	return bytes;
}

/* The figures of the next table; its reference is released before anything can fail. */
static bool
next_table(tg_session *session, uint64_t *position, uint64 *figures)
{
	tg_table *table = tg_catalog_next(position);

	if (table == NULL)
		return false;
	figures[0] = table->database;
	figures[1] = table->relation;
	figures[2] = tg_load_relaxed(&table->row_count);
	figures[3] = tg_load_relaxed(&table->table_bytes);
	figures[4] = tg_load_relaxed(&table->chunk_bytes);
	figures[5] = tg_load_relaxed(&table->header_bytes);
	figures[6] = tg_load_relaxed(&table->blob_bytes);
	figures[7] = index_bytes(session, table);
	tg_table_release(session, table);
	return true;
}

Datum
tsurugi_fdw_tables(PG_FUNCTION_ARGS)
{
	tg_session *session = tsurugi_session();
	uint64_t position = 0;
	uint64 figures[8];
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	while (next_table(session, &position, figures))
	{
		if (!tsurugi_sees_table((Oid) figures[0], (Oid) figures[1]))
			continue;
		add_datum(&row, ObjectIdGetDatum((Oid) figures[0]));
		add_datum(&row, ObjectIdGetDatum((Oid) figures[1]));
		for (int i = 2; i < 8; i++)
			add_bigint(&row, figures[i]);
		put_row(fcinfo, &row);
	}
	return (Datum) 0;
}

static void
put_session(FunctionCallInfo fcinfo, unsigned id)
{
	tsurugi_session_owner owner = tsurugi_session_owner_get(id);
	tg_txn_report report = {0};
	tg_time oldest = tg_snapshot_oldest(id);
	Row row = {0};

	add_datum(&row, Int32GetDatum((int32) id));
	if (owner.process_id != 0)
	{
		add_datum(&row, Int32GetDatum(owner.process_id));
		add_datum(&row, ObjectIdGetDatum(owner.database));
		add_datum(&row, ObjectIdGetDatum(owner.role));
	}
	else
	{
		add_null(&row);
		add_null(&row);
		add_null(&row);
	}
	add_datum(&row, BoolGetDatum(tg_txn_report_get(id, &report)));
	if (report.active)
		add_bigint(&row, report.writes);
	else
		add_null(&row);
	add_optional(&row, oldest);
	put_row(fcinfo, &row);
}

Datum
tsurugi_fdw_sessions(PG_FUNCTION_ARGS)
{
	tsurugi_session_follow_role();
	InitMaterializedSRF(fcinfo, 0);
	for (unsigned id = 0; id < tg_session_max(); id++)
	{
		if (tg_session_is_open(id))
			put_session(fcinfo, id);
	}
	return (Datum) 0;
}

/* The names of the tables that a LONG preserves, as an array; OIDs for those of other databases. */
static Datum
preserved_tables(unsigned id, bool *none_out)
{
	tg_preserve_report *reports = palloc(TG_PRESERVE_MAX * sizeof(*reports));
	unsigned count = tg_preserve_report_get(reports, TG_PRESERVE_MAX);
	ArrayBuildState *names = NULL;

	for (unsigned i = 0; i < count; i++)
	{
		char *name;

		if (reports[i].txn != id || reports[i].ended)
			continue;
		name = reports[i].database == MyDatabaseId
				   ? DatumGetCString(DirectFunctionCall1(regclassout, ObjectIdGetDatum(reports[i].relation)))
				   : psprintf("%u", reports[i].relation);
		if (reports[i].is_range)
			name = psprintf("%s (range)", name);
		names = accumArrayResult(names, CStringGetTextDatum(name), false, TEXTOID, CurrentMemoryContext);
	}
	*none_out = names == NULL;
	return names == NULL ? (Datum) 0 : makeArrayResult(names, CurrentMemoryContext);
}

/* The process that a transaction waits for, if it does not wait for a lock of PostgreSQL's. */
static Datum
waits_for(const tg_txn_report *report)
{
	PGPROC *other = BackendIdGetProc((BackendId) (report->wait.host >> 32));
	Datum process_id = Int32GetDatum(other != NULL ? other->pid : 0);

	return PointerGetDatum(construct_array(&process_id, 1, INT4OID, sizeof(int32), true, TYPALIGN_INT));
}

static void
put_transaction(FunctionCallInfo fcinfo, unsigned id, const tsurugi_session_owner *owner, const tg_txn_report *report,
				tg_time snapshot)
{
	static const char *const states[] = {[TG_STAGE_RUNNING] = "running",
										 [TG_STAGE_COMMITTING] = "committing",
										 [TG_STAGE_AVAILABLE] = "available",
										 [TG_STAGE_ABORTING] = "aborting"};
	bool no_preserve;
	Datum preserve = preserved_tables(id, &no_preserve);
	Row row = {0};

	add_datum(&row, Int32GetDatum(owner->process_id));
	add_datum(&row, ObjectIdGetDatum(owner->database));
	add_datum(&row, ObjectIdGetDatum(owner->role));
	if (report->promoted_after > 0)
		add_text(&row, psprintf("%s, promoted after %u", tsurugi_kind_name(report->kind), report->promoted_after));
	else
		add_text(&row, tsurugi_kind_name(report->active ? report->kind : owner->kind));
	if (report->active || owner->label[0] != '\0')
		add_text(&row, tsurugi_shown_text(report->active ? report->label : owner->label));
	else
		add_null(&row);
	add_text(&row, tsurugi_isolation_name(owner->isolation));
	add_datum(&row, BoolGetDatum(owner->read_only));
	ADD_NAME(&row, states, report->stage);
	add_optional(&row, snapshot);
	add_bigint(&row, report->writes);
	if (report->waits)
		add_datum(&row, waits_for(report));
	else
		add_null(&row);
	if (no_preserve)
		add_null(&row);
	else
		add_datum(&row, preserve);
	put_row(fcinfo, &row);
}

/*
 * Backends that hold a snapshot or have written: those of the user's own roles; with
 * pg_read_all_stats all.
 */
Datum
tsurugi_fdw_transactions(PG_FUNCTION_ARGS)
{
	tsurugi_session_follow_role();
	InitMaterializedSRF(fcinfo, 0);
	for (unsigned id = 0; id < tg_session_max(); id++)
	{
		tsurugi_session_owner owner = tsurugi_session_owner_get(id);
		tg_txn_report report = {0};
		tg_time snapshot;

		if (!tg_session_is_open(id) || owner.process_id == 0 || !tsurugi_sees_role(owner.role))
			continue;
		snapshot = tg_snapshot_oldest(id);
		if (!tg_txn_report_get(id, &report))
			report = (tg_txn_report){0};
		if (report.active || snapshot != 0)
			put_transaction(fcinfo, id, &owner, &report, snapshot);
	}
	return (Datum) 0;
}

Datum
tsurugi_fdw_runtime(PG_FUNCTION_ARGS)
{
	tg_collector_report report;
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	tg_collector_report_get(&report);
	add_datum(&row, BoolGetDatum(tg_scheduler_is_running()));
	add_bigint(&row, tg_load_acquire(tg_clock));
	add_bigint(&row, report.horizon);
	add_bigint(&row, tg_load_acquire(tg_epoch_global));
	add_bigint(&row, tg_epoch_confirmed());
	add_bigint(&row, tg_txn_commits());
	add_bigint(&row, tg_txn_aborts());
	put_row(fcinfo, &row);
	return (Datum) 0;
}

/* A process id, or NULL for 0, which is a thread of the worker or no process. */
static void
add_process(Row *row, int process_id)
{
	if (process_id != 0)
		add_datum(row, Int32GetDatum(process_id));
	else
		add_null(row);
}

static void
add_epoch(Row *row)
{
	unsigned id;
	uint64_t epoch;
	bool held = tg_epoch_holder(&id, &epoch);

	add_bigint(row, held ? tg_load_acquire(tg_epoch_global) - epoch : 0);
	if (held)
		add_process(row, tsurugi_session_owner_get(id).process_id);
	else
		add_null(row);
}

static void
add_oldest_snapshot(Row *row)
{
	int process_id;
	tg_time time;

	if (!tsurugi_snapshot_oldest(&process_id, &time))
	{
		add_null(row);
		add_null(row);
		add_null(row);
		return;
	}
	add_bigint(row, time);
	add_process(row, process_id);
	add_bigint(row, tg_collector_held_for(time));
}

Datum
tsurugi_fdw_collector(PG_FUNCTION_ARGS)
{
	tg_collector_report report;
	tg_tax_report tax;
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	tg_collector_report_get(&report);
	tg_tax_report_get(&tax);
	add_text(&row, report.stage);
	add_bigint(&row, report.cycles);
	add_bigint(&row, report.logs_waiting);
	add_bigint(&row, report.versions_held);
	add_bigint(&row, report.versions_removed);
	add_bigint(&row, report.rows_closed);
	add_bigint(&row, report.chunks_settled);
	add_bigint(&row, report.chunks_freed);
	add_bigint(&row, report.versions_moved);
	add_oldest_snapshot(&row);
	add_epoch(&row);
	add_bigint(&row, report.epoch_waits_ms);
	add_bigint(&row, tax.quanta);
	add_bigint(&row, tax.quanta_long);
	add_bigint(&row, tax.stood_back);
	add_bigint(&row, tax.bank_us);
	add_bigint(&row, tax.deposited_us);
	add_bigint(&row, tax.withdrawn_us);
	add_bigint(&row, tax.paid_us);
	add_bigint(&row, tax.surcharge);
	add_bigint(&row, tax.pool_cpu_us);
	add_bigint(&row, tax.sessions_cpu_us);
	put_row(fcinfo, &row);
	return (Datum) 0;
}

Datum
tsurugi_fdw_garbage(PG_FUNCTION_ARGS)
{
	tg_session *session = tsurugi_session();
	uint64_t position = 0;
	tg_table *table;

	InitMaterializedSRF(fcinfo, 0);
	while ((table = tg_catalog_next(&position)) != NULL)
	{
		Oid database = table->database;
		Oid relation = table->relation;
		tg_table_slots slots;
		int64_t rows = tg_load_relaxed(&table->row_count);
		Row row = {0};

		tg_epoch_enter(session);
		tg_table_slots_count(table, &slots);
		tg_epoch_leave(session);
		tg_table_release(session, table); /* before anything can fail */
		if (!tsurugi_sees_table(database, relation))
			continue;
		add_datum(&row, ObjectIdGetDatum(database));
		add_datum(&row, ObjectIdGetDatum(relation));
		add_bigint(&row, slots.taken > (uint64) rows ? slots.taken - (uint64) rows : 0);
		add_bigint(&row, slots.free);
		add_bigint(&row, slots.chunks);
		add_bigint(&row, slots.chunks_sparse);
		put_row(fcinfo, &row);
	}
	return (Datum) 0;
}

/* Sessions that have been taxed: those of the user's own roles; with pg_read_all_stats all. */
Datum
tsurugi_fdw_taxes(PG_FUNCTION_ARGS)
{
	tsurugi_session_follow_role();
	InitMaterializedSRF(fcinfo, 0);
	for (unsigned id = 0; id < tg_session_max(); id++)
	{
		tsurugi_session_owner owner = tsurugi_session_owner_get(id);
		tg_tax_session_report report;
		Row row = {0};

		if (!tg_session_is_open(id) || owner.process_id == 0 || !tsurugi_sees_role(owner.role))
			continue;
		tg_tax_session_report_get(id, &report);
		if (report.ran_us == 0)
			continue;
		add_datum(&row, Int32GetDatum(owner.process_id));
		add_datum(&row, ObjectIdGetDatum(owner.role));
		add_datum(&row, Float8GetDatum(report.target_permille / 1000.0));
		add_datum(&row, Float8GetDatum(report.effective_permille / 1000.0));
		add_datum(&row, Float8GetDatum(report.achieved_permille / 1000.0));
		add_bigint(&row, report.ran_us);
		add_bigint(&row, report.paid_us);
		add_bigint(&row, report.withdrawn_us);
		add_bigint(&row, report.debt_us);
		put_row(fcinfo, &row);
	}
	return (Datum) 0;
}

Datum
tsurugi_fdw_conflicts(PG_FUNCTION_ARGS)
{
	static const char *const reasons[TG_CONFLICT_COUNT] = {[TG_CONFLICT_UPDATED] = "row to be written was changed",
														   [TG_CONFLICT_DELETED] = "row to be written was deleted",
														   [TG_CONFLICT_ROW] = "row read was changed",
														   [TG_CONFLICT_KEY] = "key not found was inserted",
														   [TG_CONFLICT_RANGE] = "range read was changed",
														   [TG_CONFLICT_TABLE] = "table read was changed",
														   [TG_CONFLICT_UNKNOWN] = "too little memory",
														   [TG_CONFLICT_TAKEN] = "row to be written was held",
														   [TG_CONFLICT_PRESERVED_WRITE] = "write preserved area",
														   [TG_CONFLICT_PRESERVED_READ] = "read preserved area",
														   [TG_CONFLICT_EARLIER_LONG] = "read area of earlier LONG",
														   [TG_CONFLICT_STORED_ANEW] = "table was stored anew",
														   [TG_CONFLICT_HELD] =
															   "write to what a prepared transaction has read"};
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	for (int kind = 0; kind < TG_CONFLICT_COUNT; kind++)
	{
		ADD_NAME(&row, reasons, kind);
		add_bigint(&row, tg_conflicts((tg_conflict_kind) kind));
		put_row(fcinfo, &row);
	}
	return (Datum) 0;
}

Datum
tsurugi_fdw_retries(PG_FUNCTION_ARGS)
{
	static const char *const events[TG_RETRY_COUNT] = {[TG_RETRY_LOCKED] = "row locked when it was read",
													   [TG_RETRY_YIELDED] =
														   "gave way to a transaction that waited for such a lock",
													   [TG_RETRY_PROMOTED] = "promoted to LONG",
													   [TG_RETRY_COMMITTED] = "promoted and committed"};
	Row row = {0};

	InitMaterializedSRF(fcinfo, 0);
	for (int retry = 0; retry < TG_RETRY_COUNT; retry++)
	{
		ADD_NAME(&row, events, retry);
		add_bigint(&row, tg_retries((tg_retry) retry));
		put_row(fcinfo, &row);
	}
	return (Datum) 0;
}
