/*
 * arguments.c
 *	  Arguments and result that loads and batches have in common.
 */
#include "postgres.h"

#include "src/copy/arguments.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "utils/array.h"
#include "utils/builtins.h"

#include "src/copy/load_options.h"

#define RESULT_COLUMNS 9

/* --- arguments ------------------------------------------------------------------------------ */

void
tsurugi_arguments_not_null(FunctionCallInfo fcinfo, const char *what, const int *needed, int count)
{
	for (int i = 0; i < count; i++)
		if (PG_ARGISNULL(needed[i]))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
							errmsg("argument %d of a %s must not be null", needed[i] + 1, what)));
}

void
tsurugi_arguments_rejects(FunctionCallInfo fcinfo, int first, tsurugi_load *load)
{
	tsurugi_load_on_error(load, text_to_cstring(PG_GETARG_TEXT_PP(first)));
	if (!PG_ARGISNULL(first + 1))
		load->reject_file = text_to_cstring(PG_GETARG_TEXT_PP(first + 1));
	load->reject_limit = PG_GETARG_INT64(first + 2);
	tsurugi_load_check_rejects(load);
}

List *
tsurugi_argument_columns(ArrayType *array)
{
	List *columns = NIL;
	Datum *names;
	bool *nulls;
	int count;

	deconstruct_array(array, TEXTOID, -1, false, TYPALIGN_INT, &names, &nulls, &count);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("the name of a column must not be null")));
		columns = lappend(columns, makeString(TextDatumGetCString(names[i])));
	}
	if (columns == NIL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the list of columns must not be empty"),
						errhint("NULL stands for columns by their names, or their order.")));
	return columns;
}

/* --- the result ----------------------------------------------------------------------------- */

void
tsurugi_report_files(tsurugi_load_report *report, const tsurugi_load *load)
{
	ListCell *cell;

	foreach (cell, load->files)
	{
		const tsurugi_load_file *file = lfirst(cell);

		report->files++;
		report->blocks += file->blocks;
		report->bytes += file->bytes;
	}
}

int64
tsurugi_load_expected_rows(const tsurugi_load *load)
{
	int64 rows = 0;
	ListCell *cell;

	foreach (cell, load->files)
	{
		const tsurugi_load_file *file = lfirst(cell);

		if (file->rows < 0)
			return -1;
		rows += file->rows;
	}
	return rows;
}

Datum
tsurugi_report_row(FunctionCallInfo fcinfo, const tsurugi_load_report *report, TimestampTz start)
{
	Interval *elapsed = palloc0(sizeof(*elapsed));
	Datum values[RESULT_COLUMNS];
	bool nulls[RESULT_COLUMNS] = {report->rows < 0};
	TupleDesc descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	elapsed->time = GetCurrentTimestamp() - start;
	values[0] = Int64GetDatum(report->rows);
	values[1] = Int64GetDatum(report->rejected);
	values[2] = Int64GetDatum(report->files);
	values[3] = Int64GetDatum(report->blocks);
	values[4] = Int64GetDatum(report->bytes);
	values[5] = Int64GetDatum(report->transactions);
	values[6] = CStringGetTextDatum(report->way);
	values[7] = CStringGetTextDatum(report->reason);
	values[8] = IntervalPGetDatum(elapsed);
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls));
}
