/*
 * shared_functions.c
 *	  Functions for transactions that several sessions work in.
 *
 *	owned by a session		BEGIN; export_transaction(t) ................ COMMIT
 *	owned by its lease		begin_transaction(t) ........................ commit_transaction(handle)
 *	attached to either		    attach_transaction(handle); COPY t ...; detach_transaction()
 *	by anybody, any time	    renew_transaction, transaction_status, transaction_error
 *	without a handle			abort_transaction(id)
 *
 * A shared transaction is of the kind that the settings say when it begins.  A session of the same
 * role and database that has the handle may do with the transaction what it could do with one of
 * its own.  A transaction that a lease owns begins and ends when the functions are called; the
 * PostgreSQL transactions that they are called in are others, and their outcome does not matter to
 * it.  The tables it may write are locked for as long as it runs (lease_locks.c); nothing else
 * remains of the session that has begun it.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/proc.h"
#include "storage/sinvaladt.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "runtime/base/status.h"
#include "runtime/table/table.h"
#include "runtime/txn/kinds.h"
#include "runtime/txn/shared.h"
#include "runtime/txn/txn.h"
#include "src/base/session.h"
#include "src/base/shown_text.h"
#include "src/base/sql_function.h"
#include "src/base/status_error.h"
#include "src/base/view_rights.h"
#include "src/base/view_row.h"
#include "src/table/storage.h"
#include "src/txn/areas.h"
#include "src/txn/errors.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/lease_locks.h"
#include "src/txn/lease_owners.h"
#include "src/txn/logging.h"
#include "src/txn/mixed.h"
#include "src/txn/response.h"
#include "src/txn/shared_moment.h"
#include "src/txn/shared_refusal.h"
#include "src/txn/shared_transaction.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_export_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_begin_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_attach_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_detach_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_commit_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_abort_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_abort_transaction_by_id);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_dispose_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_renew_transaction);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_transaction_status);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_transaction_error);
TSURUGI_SQL_FUNCTION(tsurugi_fdw_shared_transactions);

static const char *const states[] = {
	[TG_SHARED_WAITING] = "waiting",	 [TG_SHARED_RUNNING] = "running", [TG_SHARED_COMMITTING] = "committing",
	[TG_SHARED_AVAILABLE] = "available", [TG_SHARED_STORED] = "stored",	  [TG_SHARED_ABORTING] = "aborting",
	[TG_SHARED_ABORTED] = "aborted"};

/* With synchronous_commit = off, a transaction is committed before its record is flushed. */
static const char *
state_name(const tg_shared_report *report)
{
	if (report->state == TG_SHARED_STORED && report->logged > GetFlushRecPtr(NULL))
		return states[TG_SHARED_AVAILABLE];
	return states[report->state];
}

/* --- handles ------------------------------------------------------------------------------ */

/*
 * A handle works for the same role, and in the same database, which has the transaction's tables.
 */
static uint64_t
role_word(void)
{
	return tsurugi_lease_word(MyDatabaseId, GetUserId());
}

static tg_handle
parse_handle(const text *value)
{
	const char *digits = text_to_cstring(value);
	tg_handle handle;

	if (strlen(digits) != 2 * sizeof(handle) || strspn(digits, "0123456789abcdef") != 2 * sizeof(handle))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid handle of a transaction")));
	(void) hex_decode(digits, 2 * sizeof(handle), (char *) &handle);
	return handle;
}

tg_shared *
tsurugi_shared_open_handle(const text *value)
{
	tg_handle handle = parse_handle(value);
	tg_shared *opened;

	if (tg_shared_open(&handle, role_word(), &opened) != TG_OK)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("there is no transaction of this handle"),
						errdetail("A handle works for the role that made it, in the same database, and for the time of "
								  "tsurugi_fdw.transaction_lease after the end of its transaction.")));
	return opened;
}

/* The names as a list of areas, each of which must be a whole table. */
static char *
list_tables(ArrayType *array)
{
	StringInfoData list;
	Datum *names;
	bool *nulls;
	int count;
	ListCell *cell;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	initStringInfo(&list);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("names of tables must not be null")));
		appendStringInfo(&list, "%s%s", i == 0 ? "" : ", ", TextDatumGetCString(names[i]));
	}
	foreach (cell, tsurugi_areas_parse(list.data))
		if (((tsurugi_area_name *) lfirst(cell))->is_range)
			tsurugi_shared_refuse(TSURUGI_SHARED_OF_RANGES, "");
	return list.data;
}

/* --- beginning ---------------------------------------------------------------------------- */

static void
check_may_take_part(const char *function)
{
	if (IsInParallelMode())
		tsurugi_shared_refuse(TSURUGI_SHARED_IN_PARALLEL, function);
	if (tsurugi_shared_is_open)
		tsurugi_shared_refuse(TSURUGI_SHARED_ALREADY, "");
	if (tsurugi_kind_is_known)
		tsurugi_shared_refuse(TSURUGI_SHARED_TOO_LATE, function);
}

/* The tables that a transaction about to begin keeps locked for as long as it runs. */
typedef struct Tables
{
	uint32_t oids[TG_SHARED_TABLES_MAX];
	unsigned count;
	unsigned to_write; /* the first ones; the others are read */
} Tables;

static void
add_tables(Tables *tables, const tg_area *areas, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
	{
		unsigned at = 0;

		while (at < tables->count && tables->oids[at] != areas[i].table->relation)
			at++;
		if (at == TG_SHARED_TABLES_MAX)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							errmsg("a transaction can be shared with 1 to %d tables", TG_SHARED_TABLES_MAX)));
		if (at == tables->count)
			tables->oids[tables->count++] = areas[i].table->relation;
	}
}

/*
 * Collects the tables that are named, and those in the areas of a LONG or READ ONLY transaction;
 * named tables are locked.  A READ ONLY transaction need not name any table, nor need a LONG that
 * has a preserve; a LONG without one preserves the tables that it names.
 */
static void
resolve_tables(ArrayType *names, tg_txn_kind kind, tg_long_config *areas, Tables *tables)
{
	tsurugi_area_use use = TSURUGI_AREA_TO_WRITE;
	unsigned count;
	tg_area *named;

	tsurugi_kind_configure(areas);
	if (kind == TG_TXN_READ_ONLY)
		use = TSURUGI_AREA_TO_READ;
	else if (kind == TG_TXN_LONG && areas->preserve_count == 0)
		use = TSURUGI_AREA_TO_PRESERVE;
	named = tsurugi_areas_resolve(list_tables(names), use, GetUserId(), &count);
	if (use == TSURUGI_AREA_TO_PRESERVE)
	{
		areas->preserve = named;
		areas->preserve_count = count;
	}
	*tables = (Tables){0};
	add_tables(tables, named, count);
	if (kind == TG_TXN_LONG)
		add_tables(tables, areas->preserve, areas->preserve_count);
	if (kind != TG_TXN_READ_ONLY)
	{
		tables->to_write = tables->count;
		if (tables->count == 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("no tables to be shared were named")));
	}
	add_tables(tables, areas->include, areas->include_count);
	add_tables(tables, areas->exclude, areas->exclude_count);
}

/*
 * Begins a transaction of the session's level or kind that may write these tables.  It is returned
 * open, its handle in *config.
 */
static tg_shared *
begin_shared(const Tables *tables, uint64_t owner, tg_shared_config *config)
{
	unsigned place_max = tsurugi_lease_check_begin();
	tg_shared *opened;
	tg_status status;

	*config = (tg_shared_config){.role = role_word(),
								 .owner = owner,
								 .kind = (tg_txn_kind) tsurugi_transaction_type,
								 .isolation = IsolationIsSerializable()		? TG_SERIALIZABLE
											  : IsolationUsesXactSnapshot() ? TG_REPEATABLE_READ
																			: TG_READ_COMMITTED,
								 .label = tsurugi_transaction_label,
								 .tables = tables->oids,
								 .table_count = (uint16_t) tables->to_write,
								 .place_max = (uint16_t) place_max,
								 .lease_ms = (uint32_t) tsurugi_shared_lease_ms};
	tsurugi_shared_register_exit();
	if (!pg_strong_random(&config->handle, sizeof(config->handle)))
		ereport(ERROR, (errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random values")));
	status = tg_shared_begin(tsurugi_session(), config);
	if (status == TG_TOO_LARGE)
		tsurugi_lease_error_places();
	if (status == TG_FULL)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many transactions are shared"),
						errdetail("There can be up to %d, those that have ended included for the time of their "
								  "tsurugi_fdw.transaction_lease.",
								  TG_SHARED_MAX)));
	tsurugi_check(status, NULL);
	tsurugi_check(tg_shared_open(&config->handle, config->role, &opened), NULL);
	return opened;
}

static text *
handle_text(const tg_handle *handle)
{
	char digits[2 * sizeof(*handle) + 1] = "";

	hex_encode((const char *) handle, sizeof(*handle), digits);
	return cstring_to_text(digits);
}

/* A transaction that only reads may be begun even in a read-only transaction. */
static void
check_may_begin(const char *function)
{
	if (tsurugi_transaction_type != TG_TXN_READ_ONLY)
		PreventCommandIfReadOnly(function);
	PreventCommandIfParallelMode(function);
}

/*
 * REPEATABLE READ lends the session's own snapshot.  At SERIALIZABLE, and in SHORT, each session
 * reads ordinary tables at its own.
 */
static void
lend_own(const tg_shared_report *report)
{
	bool has_time = tsurugi_shared_export();

	if (report->isolation != TG_REPEATABLE_READ)
		return;
	if (!has_time)
		tsurugi_error_too_late();
	tsurugi_shared_moment_lend_own(report);
}

Datum
tsurugi_fdw_export_transaction(PG_FUNCTION_ARGS)
{
	uint64_t owner = (uint64_t) MyBackendId << 32 | MyProc->lxid;
	tg_shared_config config;
	tg_shared_report report;
	tg_long_config areas;
	tg_shared *opened;
	Tables tables;

	check_may_take_part("export_transaction()");
	check_may_begin("export_transaction()");
	if (GetCurrentTransactionNestLevel() > 1)
		tsurugi_shared_refuse(TSURUGI_SHARED_IN_SUBTRANSACTION, "");
	if (!IsTransactionBlock())
		tsurugi_shared_refuse(TSURUGI_SHARED_OUTSIDE_BLOCK, "export_transaction()");
	resolve_tables(PG_GETARG_ARRAYTYPE_P(0), (tg_txn_kind) tsurugi_transaction_type, &areas, &tables);
	opened = begin_shared(&tables, owner, &config);
	tsurugi_shared_take_part(opened, true);
	tg_shared_report_get(opened, &report);
	if (report.state == TG_SHARED_WAITING)
	{
		tsurugi_kind_start(opened, &report, &areas); /* an error ends it with the transaction */
		tsurugi_shared_moment_lend(&report);
	}
	else if (IsolationUsesXactSnapshot())
		lend_own(&report);
	PG_RETURN_TEXT_P(handle_text(&config.handle));
}

/* Ends a transaction whose handle nobody knows yet; also called when the backend exits. */
static void
give_up(int code, Datum opened)
{
	tg_shared *shared = (tg_shared *) DatumGetPointer(opened);

	tg_shared_abort(tsurugi_session(), shared, TG_SHARED_GIVEN_UP, NULL);
	tg_shared_forget(shared);
	tg_shared_close(shared);
	tsurugi_lease_locks_look();
}

Datum
tsurugi_fdw_begin_transaction(PG_FUNCTION_ARGS)
{
	tg_shared_config config;
	tg_shared_report report;
	tg_long_config areas;
	tg_shared *opened;
	Tables tables;

	check_may_begin("begin_transaction()");
	if (tsurugi_storage_is_changed())
		tsurugi_shared_refuse(TSURUGI_SHARED_AFTER_DEFINITIONS, "");
	resolve_tables(PG_GETARG_ARRAYTYPE_P(0), (tg_txn_kind) tsurugi_transaction_type, &areas, &tables);
	opened = begin_shared(&tables, 0, &config);
	tg_shared_report_get(opened, &report);
	PG_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(opened));
	{
		tsurugi_lease_locks_take(&report, tables.oids, tables.count, tables.to_write);
		if (report.state == TG_SHARED_WAITING)
			tsurugi_kind_start(opened, &report, &areas);
		else if (report.isolation == TG_REPEATABLE_READ)
		{
			tsurugi_shared_moment_begin();
			tsurugi_shared_moment_taken(opened);
		}
		tsurugi_shared_moment_lend(&report);
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(opened));
	tg_shared_close(opened);
	PG_RETURN_TEXT_P(handle_text(&config.handle));
}

/* --- taking part --------------------------------------------------------------------------- */

Datum
tsurugi_fdw_attach_transaction(PG_FUNCTION_ARGS)
{
	tg_shared_report report;
	tg_shared *opened;

	check_may_take_part("attach_transaction()");
	tsurugi_shared_register_exit();
	opened = tsurugi_shared_open_handle(PG_GETARG_TEXT_PP(0));
	tg_shared_report_get(opened, &report);
	if (report.state != TG_SHARED_RUNNING)
	{
		tg_shared_close(opened);
		tsurugi_shared_refuse(TSURUGI_SHARED_ENDED, "");
	}
	tsurugi_shared_take_part(opened, false);
	PG_RETURN_VOID();
}

Datum
tsurugi_fdw_detach_transaction(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(tsurugi_shared_detach());
}

/* --- ends of those that a lease owns -------------------------------------------------------- */

static void
check_owner(const tg_shared_report *report)
{
	if (report->owner != 0)
		tsurugi_shared_refuse(TSURUGI_SHARED_OF_A_SESSION, "");
}

static tg_shared *
open_to_end(const text *handle, tg_shared_report *report)
{
	tg_shared *opened = tsurugi_shared_open_handle(handle);

	tg_shared_report_get(opened, report);
	if (report->owner != 0)
		tg_shared_close(opened);
	check_owner(report);
	return opened;
}

/* After an error, and when the backend exits: a place that stays open could never be used again. */
static void
close_opened(int code, Datum opened)
{
	tg_shared_close((tg_shared *) DatumGetPointer(opened));
	tsurugi_lease_locks_look();
}

/* Its validation has succeeded: what may still fail is to write it into the log. */
static void
log_and_finish(tg_shared *opened)
{
	volatile int level = 0;

	PG_TRY();
	{
		level = tsurugi_response_begin();
		tsurugi_logging_prepare(tg_shared_txn(opened));
	}
	PG_CATCH();
	{
		tsurugi_logging_end(false);
		tg_shared_finish(tsurugi_session(), opened, false);
		PG_RE_THROW();
	}
	PG_END_TRY();
	HOLD_INTERRUPTS();
	tsurugi_logging_commit();
	tg_shared_note_logged(opened, tsurugi_logging_position());
	tg_shared_finish(tsurugi_session(), opened, true);
	tsurugi_logging_end(true);
	tsurugi_logging_flush();
	tsurugi_response_end(level);
	RESUME_INTERRUPTS();
}

Datum
tsurugi_fdw_commit_transaction(PG_FUNCTION_ARGS)
{
	tg_shared_report report;
	tg_shared *opened;

	PreventCommandIfParallelMode("commit_transaction()");
	opened = open_to_end(PG_GETARG_TEXT_PP(0), &report);
	PG_ENSURE_ERROR_CLEANUP(close_opened, PointerGetDatum(opened));
	{
		tsurugi_mixed_follow();
		tsurugi_shared_commit(opened);
		log_and_finish(opened);
	}
	PG_END_ENSURE_ERROR_CLEANUP(close_opened, PointerGetDatum(opened));
	tg_shared_close(opened);
	tsurugi_lease_locks_wait(&report);
	PG_RETURN_VOID();
}

Datum
tsurugi_fdw_abort_transaction(PG_FUNCTION_ARGS)
{
	tg_session *session = tsurugi_session();
	tg_shared_report report;
	tg_shared *opened;

	PreventCommandIfParallelMode("abort_transaction()");
	opened = open_to_end(PG_GETARG_TEXT_PP(0), &report);
	tg_shared_abort(session, opened, TG_SHARED_ASKED, NULL);
	tg_shared_close(opened);
	tsurugi_lease_locks_wait(&report);
	PG_RETURN_VOID();
}

/*
 * For callers without the handle.  Ends the transaction at once, even while another session works
 * in it.
 */
Datum
tsurugi_fdw_abort_transaction_by_id(PG_FUNCTION_ARGS)
{
	uint64_t number = (uint64_t) PG_GETARG_INT64(0);
	/* This may raise an error, which must not happen while the transaction is open. */
	tg_session *session = tsurugi_session();
	tg_shared_report report;
	tg_shared *opened;
	bool ends;

	PreventCommandIfParallelMode("abort_transaction()");
	if (tg_shared_open_number(number, &opened) != TG_OK)
		PG_RETURN_BOOL(false);
	tg_shared_report_get(opened, &report);
	tg_shared_close(opened);
	tsurugi_lease_check_may_end((Oid) report.role);
	check_owner(&report);
	if (tg_shared_open_number(number, &opened) != TG_OK)
		PG_RETURN_BOOL(false);
	tg_shared_report_get(opened, &report);
	ends = report.state == TG_SHARED_WAITING || report.state == TG_SHARED_RUNNING || report.state == TG_SHARED_ABORTING;
	ends = ends && tg_shared_abandon(session, opened, TG_SHARED_TERMINATED);
	tg_shared_close(opened);
	tsurugi_lease_locks_wait(&report);
	PG_RETURN_BOOL(ends);
}

Datum
tsurugi_fdw_dispose_transaction(PG_FUNCTION_ARGS)
{
	tg_session *session = tsurugi_session();
	tg_shared_report report;
	tg_shared *opened;

	PreventCommandIfParallelMode("dispose_transaction()");
	opened = tsurugi_shared_open_handle(PG_GETARG_TEXT_PP(0));
	tg_shared_report_get(opened, &report);
	if (report.owner == 0)
		tg_shared_abort(session, opened, TG_SHARED_ASKED, NULL);
	tg_shared_forget(opened);
	tg_shared_close(opened);
	tsurugi_lease_locks_wait(&report);
	PG_RETURN_VOID();
}

/* --- asking by handle ----------------------------------------------------------------------- */

Datum
tsurugi_fdw_renew_transaction(PG_FUNCTION_ARGS)
{
	tg_shared *opened = tsurugi_shared_open_handle(PG_GETARG_TEXT_PP(0));
	tg_shared_report report;

	tg_shared_report_get(opened, &report);
	if (report.state == TG_SHARED_RUNNING)
		tg_shared_renew(opened);
	tg_shared_close(opened);
	PG_RETURN_BOOL(report.state == TG_SHARED_RUNNING);
}

static void
get_report(FunctionCallInfo fcinfo, tg_shared_report *report)
{
	tg_shared *opened = tsurugi_shared_open_handle(PG_GETARG_TEXT_PP(0));

	tg_shared_report_get(opened, report);
	tg_shared_close(opened);
}

Datum
tsurugi_fdw_transaction_status(PG_FUNCTION_ARGS)
{
	tg_shared_report report;

	get_report(fcinfo, &report);
	PG_RETURN_TEXT_P(cstring_to_text(state_name(&report)));
}

Datum
tsurugi_fdw_transaction_error(PG_FUNCTION_ARGS)
{
	tg_shared_report report;

	get_report(fcinfo, &report);
	if (report.state != TG_SHARED_ABORTING && report.state != TG_SHARED_ABORTED)
		PG_RETURN_NULL();
	PG_RETURN_TEXT_P(cstring_to_text(tsurugi_shared_describe_abort(&report)));
}

/* --- the view --------------------------------------------------------------------------------- */

static void
put_shared(FunctionCallInfo fcinfo, const tg_shared_report *report)
{
	PGPROC *owner = report->owner != 0 ? BackendIdGetProc((BackendId) (report->owner >> 32)) : NULL;
	bool runs = report->state < TG_SHARED_STORED || report->state == TG_SHARED_ABORTING;
	TransactionId xmin = tsurugi_shared_moment_xmin(report);
	Interval *left = palloc0(sizeof(*left));
	tg_txn_report txn;
	Row row = {0};

	left->time = (TimeOffset) report->lease_left_us;
	add_bigint(&row, report->number);
	add_text(&row, state_name(report));
	add_text(&row, report->owner != 0 ? "session" : "lease");
	if (owner != NULL && runs)
		add_datum(&row, Int32GetDatum(owner->pid));
	else
		add_null(&row);
	add_datum(&row, ObjectIdGetDatum((Oid) (report->role >> 32)));
	add_datum(&row, ObjectIdGetDatum((Oid) report->role));
	add_text(&row, tsurugi_kind_name(report->kind));
	if (tg_txn_report_get(report->txn, &txn) && txn.host == report->host)
		add_text(&row, tsurugi_shown_text(txn.label));
	else
		add_null(&row);
	add_text(&row, tsurugi_shared_isolation_name(report));
	add_bigint(&row, report->users);
	if (txn.active && txn.host == report->host)
		add_bigint(&row, txn.writes);
	else
		add_null(&row);
	add_datum(&row, IntervalPGetDatum(left));
	if (report->state == TG_SHARED_ABORTING || report->state == TG_SHARED_ABORTED)
		add_text(&row, tsurugi_shared_describe_abort(report));
	else
		add_null(&row);
	if (TransactionIdIsValid(xmin))
		add_datum(&row, TransactionIdGetDatum(xmin));
	else
		add_null(&row);
	put_row(fcinfo, &row);
}

/* Shows the transactions of the caller's own roles; with pg_read_all_stats those of all roles. */
Datum
tsurugi_fdw_shared_transactions(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	for (unsigned i = 0; i < TG_SHARED_MAX; i++)
	{
		tg_shared_report report;

		if (tg_shared_report_at(i, &report) && tsurugi_sees_role((Oid) report.role))
			put_shared(fcinfo, &report);
	}
	return (Datum) 0;
}
