/*
 * load.c
 *	  tsurugi.load(): the function, the choice of the way, and the way `session`, which is a COPY of
 *	  each file, unless single rows are left out or replaced (load_rows.h), or the load is not
 *	  transactional: then it has sessions of its own (sessions.h).  A load by a handle has but one
 *	  way.
 */
#include "postgres.h"

#include "src/copy/load.h"

#include "access/table.h"
#include "access/xact.h"
#include "commands/defrem.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "src/base/query.h"
#include "src/base/sql_function.h"
#include "src/copy/arguments.h"
#include "src/copy/copy.h"
#include "src/copy/load_csv.h"
#include "src/copy/load_options.h"
#include "src/copy/load_pool.h"
#include "src/copy/load_rows.h"
#include "src/copy/packed_file.h"
#include "src/copy/progress.h"
#include "src/copy/server_file.h"
#include "src/copy/sessions.h"
#include "src/txn/shared_load.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_load);

/* Arguments of the function, in their order. */
enum
{
	ARGUMENT_TABLE,
	ARGUMENT_FILES,
	ARGUMENT_COLUMNS,
	ARGUMENT_FORMAT,
	ARGUMENT_TRANSACTIONAL,
	ARGUMENT_HANDLE,
	ARGUMENT_ON_CONFLICT,
	ARGUMENT_ON_ERROR,
	ARGUMENT_REJECT_FILE,
	ARGUMENT_REJECT_LIMIT,
	ARGUMENT_OPTIONS,
	ARGUMENT_DRY_RUN
};

/* --- arguments ------------------------------------------------------------------------------ */

static void
read_arguments(FunctionCallInfo fcinfo, tsurugi_load *load)
{
	static const int needed[] = {ARGUMENT_TABLE,	ARGUMENT_FILES,		   ARGUMENT_TRANSACTIONAL, ARGUMENT_ON_CONFLICT,
								 ARGUMENT_ON_ERROR, ARGUMENT_REJECT_LIMIT, ARGUMENT_OPTIONS,	   ARGUMENT_DRY_RUN};
	const char *format = PG_ARGISNULL(ARGUMENT_FORMAT) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_FORMAT));

	tsurugi_arguments_not_null(fcinfo, "load", needed, lengthof(needed));
	if (!PG_ARGISNULL(ARGUMENT_HANDLE) && !PG_GETARG_BOOL(ARGUMENT_TRANSACTIONAL))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("a load that is not transactional has no handle of a transaction")));
	load->files = tsurugi_load_files(PG_GETARG_ARRAYTYPE_P(ARGUMENT_FILES), format);
	tsurugi_arguments_rejects(fcinfo, ARGUMENT_ON_ERROR, load);
	tsurugi_load_on_conflict(load, text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_ON_CONFLICT)));
	load->relation = table_open(PG_GETARG_OID(ARGUMENT_TABLE), RowExclusiveLock);
	tsurugi_copy_check_any_right(load->relation);
	load->columns =
		PG_ARGISNULL(ARGUMENT_COLUMNS) ? NIL : tsurugi_argument_columns(PG_GETARG_ARRAYTYPE_P(ARGUMENT_COLUMNS));
	load->is_transactional = PG_GETARG_BOOL(ARGUMENT_TRANSACTIONAL);
	load->handle = PG_ARGISNULL(ARGUMENT_HANDLE) ? NULL : PG_GETARG_TEXT_PP(ARGUMENT_HANDLE);
	tsurugi_load_options(PG_GETARG_JSONB_P(ARGUMENT_OPTIONS), load);
}

/* --- the way `session` ---------------------------------------------------------------------- */

static void
append_names(StringInfo sql, const List *names)
{
	const char *separator = " (";
	ListCell *cell;

	foreach (cell, names)
	{
		appendStringInfo(sql, "%s%s", separator, quote_identifier(strVal(lfirst(cell))));
		separator = ", ";
	}
	if (names != NIL)
		appendStringInfoChar(sql, ')');
}

static void
append_option(StringInfo sql, DefElem *option)
{
	appendStringInfo(sql, ", %s", option->defname);
	if (IsA(option->arg, List))
		append_names(sql, (List *) option->arg);
	else
		appendStringInfo(sql, " %s", quote_literal_cstr(defGetString(option)));
}

static char *
copy_command(const tsurugi_load *load, const tsurugi_load_file *file)
{
	StringInfoData sql;
	ListCell *cell;

	initStringInfo(&sql);
	appendStringInfo(&sql, "COPY %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(load->relation)),
												RelationGetRelationName(load->relation)));
	append_names(&sql, file->columns);
	appendStringInfo(&sql, " FROM %s (FORMAT %s", quote_literal_cstr(file->name), tsurugi_format_word(file->format));
	foreach (cell, load->options)
		append_option(&sql, lfirst_node(DefElem, cell));
	appendStringInfoChar(&sql, ')');
	return sql.data;
}

bool tsurugi_load_copies;

static uint64
run_copy(const char *command)
{
	bool before = tsurugi_load_copies;

	tsurugi_load_copies = true;
	PG_TRY();
	{
		(void) tsurugi_query_run(command, 0, NULL, NULL, NULL, 0);
	}
	PG_FINALLY();
	{
		tsurugi_load_copies = before;
	}
	PG_END_TRY();
	return SPI_processed;
}

/* The rows of a file, which the role may read, or COPY from. */
static uint64
copy_file(const tsurugi_load *load, const tsurugi_load_file *file)
{
	if (file->format == TSURUGI_FORMAT_CSV &&
		(tsurugi_file_is_packed(file->name) || !tsurugi_file_names_any(TSURUGI_FILE_READ)))
		return tsurugi_load_copy_csv(load, file);
	return run_copy(copy_command(load, file));
}

static void
copy_files(const tsurugi_load *load, tsurugi_load_report *report)
{
	ListCell *cell;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	foreach (cell, load->files)
	{
		uint64 rows;

		tsurugi_batch_copies(lfirst(cell), 0);
		rows = copy_file(load, lfirst(cell));
		tsurugi_batch_copies(NULL, rows);
		report->rows += (int64) rows;
	}
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
}

/* --- the ways ------------------------------------------------------------------------------- */

static void
use_session(const tsurugi_load *load, const char *reason, tsurugi_load_report *report)
{
	ListCell *cell;

	report->way = "session";
	report->reason = reason;
	foreach (cell, load->files)
	{
		tsurugi_load_file *file = lfirst(cell);

		if (file->format == TSURUGI_FORMAT_CSV) /* a COPY does not cut it into blocks */
			file->blocks = 1;
	}
}

static void
use_pool(tsurugi_load_report *report)
{
	report->way = "pool";
	report->reason = "tasks of the pool can read, convert and store all rows";
}

static void
choose_way(tsurugi_load *load, tsurugi_load_report *report)
{
	const char *reason;

	reason = tsurugi_load_pool_prepare(load);
	if (reason == NULL && load->is_transactional)
		reason = tsurugi_load_pool_reason(load);
	if (reason != NULL && !load->is_transactional && load->relation->rd_rel->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a load of \"%s\" that is not transactional is not supported",
							   RelationGetRelationName(load->relation)),
						errdetail("Other sessions cannot store rows in a temporary table.")));
	if (reason != NULL)
	{
		use_session(load, reason, report);
		return;
	}
	use_pool(report);
}

/* Several sessions of a shared transaction store rows one after the other: they attach to it. */
static void
choose_way_by_handle(tsurugi_load *load, tsurugi_load_report *report)
{
	const char *reason = tsurugi_load_pool_prepare(load);

	if (reason == NULL)
		reason = tsurugi_load_pool_reason_by_handle(load);
	if (reason != NULL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a load by a handle that tasks of the pool cannot do is not supported"),
						errdetail("The reason is: %s.", reason),
						errhint("Attach to the shared transaction, and load without a handle.")));
	use_pool(report);
}

static void
run_by_handle(const tsurugi_load *load, tsurugi_load_report *report)
{
	tsurugi_batch_expect(report->way, load->files);
	report->transactions = 1;
	tsurugi_load_pool_by_handle(load, &report->rows);
}

static void
run(const tsurugi_load *load, tsurugi_load_report *report)
{
	tsurugi_batch_expect(report->way, load->files);
	if (!load->is_transactional)
	{
		if (strcmp(report->way, "pool") == 0)
			tsurugi_load_pool_run(load, &report->rows, &report->rejected, &report->transactions);
		else
			tsurugi_load_by_sessions(load, &report->rows, &report->rejected, &report->transactions);
		return;
	}
	report->transactions = 1;
	if (strcmp(report->way, "pool") == 0)
	{
		if (tsurugi_load_pool_try(load, &report->rows))
			return;
		use_session(load, "a row had to wait for another transaction, or the pool could not take the load", report);
		tsurugi_batch_expect(report->way, load->files);
	}
	if (tsurugi_load_is_by_rows(load))
		tsurugi_load_by_rows(load, &report->rows, &report->rejected);
	else
		copy_files(load, report);
}

/* kind: a literal. */
static void
run_batch(tsurugi_load *load, const char *kind, bool is_dry, tsurugi_load_report *report)
{
	tsurugi_batch *batch = tsurugi_batch_begin(kind, RelationGetRelid(load->relation));

	PG_ENSURE_ERROR_CLEANUP(tsurugi_batch_give_up, PointerGetDatum(batch));
	{
		if (load->handle != NULL)
			tsurugi_shared_load_open(load->handle, load->relation);
		tsurugi_load_look(load);
		tsurugi_load_check_nulls(load);
		if (load->handle != NULL)
			choose_way_by_handle(load, report);
		else
			choose_way(load, report);
		if (is_dry)
			report->rows = tsurugi_load_expected_rows(load);
		else if (load->handle != NULL)
			run_by_handle(load, report);
		else
			run(load, report);
	}
	PG_END_ENSURE_ERROR_CLEANUP(tsurugi_batch_give_up, PointerGetDatum(batch));
	tsurugi_batch_succeed(batch);
}

/* --- COPY ----------------------------------------------------------------------------------- */

static void
check_copy(const CopyStmt *statement)
{
	const char *what = NULL;

	if (statement->filename == NULL)
		what = "COPY FROM STDIN";
	else if (statement->whereClause != NULL)
		what = "COPY FROM with WHERE";
	if (what != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("%s is not supported with options of a load", what)));
}

uint64
tsurugi_copy_load(const tsurugi_copy *copy, tsurugi_format format)
{
	const CopyStmt *statement = copy->statement;
	ParseState *parse = make_parsestate(NULL);
	int names_left = TSURUGI_FILE_NAMES_MAX;
	tsurugi_load_report report = {0};
	tsurugi_load load = {.columns = statement->attlist};

	parse->p_sourcetext = copy->text;
	tsurugi_load_copy_options(parse, statement->options, format, &load);
	free_parsestate(parse);
	check_copy(statement);
	load.relation = table_openrv(statement->relation, RowExclusiveLock);
	tsurugi_copy_check_any_right(load.relation);
	if (!load.relation->rd_islocaltemp)
		PreventCommandIfReadOnly("COPY FROM");
	PreventCommandIfParallelMode("COPY FROM");
	load.files = tsurugi_load_files_named(statement->filename, format, &names_left);
	run_batch(&load, "copy", false, &report);
	if (report.rejected > 0)
		ereport(NOTICE, (errmsg_plural(INT64_FORMAT " row was rejected", INT64_FORMAT " rows were rejected",
									   (unsigned long) report.rejected, report.rejected)));
	table_close(load.relation, NoLock);
	return (uint64) report.rows;
}

/* --- the function --------------------------------------------------------------------------- */

Datum
tsurugi_fdw_load(PG_FUNCTION_ARGS)
{
	TimestampTz start = GetCurrentTimestamp();
	tsurugi_load_report report = {0};
	tsurugi_load load = {0};

	read_arguments(fcinfo, &load);
	run_batch(&load, "load", PG_GETARG_BOOL(ARGUMENT_DRY_RUN), &report);
	tsurugi_report_files(&report, &load);
	table_close(load.relation, NoLock);
	return tsurugi_report_row(fcinfo, &report, start);
}
