/*
 * batch_view.c
 *	  The view of loads and dumps that run.
 *
 * As in PostgreSQL's views of progress, everybody sees that there is one, and its details are for
 * those who may see its role's.
 */
#include "postgres.h"

#include "funcapi.h"

#include "src/base/sql_function.h"
#include "src/base/view_rights.h"
#include "src/base/view_row.h"
#include "src/copy/progress.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_batches);

#define BATCH_COLUMNS 19

/* A number; NULL: it is not known. */
static void
add_known(Row *row, int64 number)
{
	if (number >= 0)
		add_bigint(row, (uint64) number);
	else
		add_null(row);
}

static void
add_name(Row *row, const char *name)
{
	if (name != NULL)
		add_text(row, name);
	else
		add_null(row);
}

static void
put_batch(FunctionCallInfo fcinfo, const tsurugi_batch_report *report)
{
	Row row = {0};

	add_bigint(&row, report->job);
	add_datum(&row, Int32GetDatum(report->process_id));
	add_datum(&row, ObjectIdGetDatum(report->database));
	add_datum(&row, ObjectIdGetDatum(report->role));
	/* as in pg_stat_get_progress_info (pgstatfuncs.c) */
	if (!tsurugi_sees_role(report->role))
	{
		while (row.count < BATCH_COLUMNS)
			add_null(&row);
		put_row(fcinfo, &row);
		return;
	}
	add_text(&row, report->kind);
	if (OidIsValid(report->relation))
		add_datum(&row, ObjectIdGetDatum(report->relation));
	else
		add_null(&row);
	add_text(&row, report->is_aborting ? "aborting" : report->way == NULL ? "preparing" : "running");
	add_bigint(&row, report->done.files);
	add_known(&row, report->files);
	add_bigint(&row, report->done.blocks);
	add_known(&row, report->blocks);
	add_bigint(&row, report->done.rows);
	add_known(&row, report->rows);
	add_bigint(&row, (uint64) report->rejected);
	add_bigint(&row, report->done.bytes);
	add_known(&row, report->bytes);
	add_bigint(&row, report->done.transactions);
	add_name(&row, report->way);
	add_name(&row, report->reason);
	put_row(fcinfo, &row);
}

Datum
tsurugi_fdw_batches(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < tsurugi_batch_max(); i++)
	{
		tsurugi_batch_report report;

		if (tsurugi_batch_report_get(i, &report))
			put_batch(fcinfo, &report);
	}
	return (Datum) 0;
}
