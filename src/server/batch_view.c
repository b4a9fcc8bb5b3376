/*
 * batch_view.c
 *	  The views of loads and dumps that run, and of the trees of those that tasks do.
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
TSURUGI_SQL_FUNCTION(tsurugi_fdw_batch_nodes);

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

static void
put_node(FunctionCallInfo fcinfo, uint64 job, const tg_batch_node *node)
{
	static const char *const levels[] = {"batch", "file", "block", "statement"};
	static const char *const states[] = {"created", "activated", "deactivated", "disposed"};
	Row row = {0};

	add_bigint(&row, job);
	add_text(&row, levels[node->level]);
	add_known(&row, node->level >= TG_LEVEL_FILE ? (int64) node->file + 1 : -1);
	add_known(&row, node->level >= TG_LEVEL_BLOCK ? (int64) node->block + 1 : -1);
	add_text(&row, states[node->state]);
	add_known(&row, node->level == TG_LEVEL_BLOCK ? (int64) node->rows : -1);
	put_row(fcinfo, &row);
}

Datum
tsurugi_fdw_batch_nodes(PG_FUNCTION_ARGS)
{
	tg_batch_node *nodes = palloc(TG_BATCH_NODES_MAX * sizeof(*nodes));

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < tsurugi_batch_max(); i++)
	{
		tsurugi_batch_report report;
		unsigned count;

		if (!tsurugi_batch_nodes_get(i, &report, nodes, &count) || !tsurugi_sees_role(report.role))
			continue;
		for (unsigned n = 0; n < count; n++)
			put_node(fcinfo, report.job, &nodes[n]);
	}
	return (Datum) 0;
}
