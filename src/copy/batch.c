/*
 * batch.c
 *	  tsurugi.batch(): a statement once for each row of files, whose columns are its parameters.
 *
 *	file -> COPY's records -> a row of a relation made for the file -> parameters of the statement
 *
 * The statement is parsed as one that PREPARE has got without types: each parameter has the type
 * that its place in the statement asks for.  Rows are read and converted as those of a load are
 * that looks at single rows (load_rows.c), into a relation that is in no catalog.  It has the
 * file's columns, of the types of the parameters that they feed.
 *
 * The rights are those of the statement, which runs as any other of the current role's, in the
 * caller's transaction; or, if the batch is not transactional, in sessions of its own (sessions.h).
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "nodes/makefuncs.h"
#include "parser/analyze.h"
#include "parser/parse_relation.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "src/base/sql_function.h"
#include "src/copy/arguments.h"
#include "src/copy/copy.h"
#include "src/copy/json_in.h"
#include "src/copy/load_csv.h"
#include "src/copy/load_options.h"
#include "src/copy/load_rows.h"
#include "src/copy/progress.h"
#include "src/copy/sessions.h"

TSURUGI_SQL_FUNCTION(tsurugi_fdw_batch);

/* Arguments of the function, in their order. */
enum
{
	ARGUMENT_STATEMENT,
	ARGUMENT_FILES,
	ARGUMENT_COLUMNS,
	ARGUMENT_FORMAT,
	ARGUMENT_TRANSACTIONAL,
	ARGUMENT_HANDLE,
	ARGUMENT_ON_ERROR,
	ARGUMENT_REJECT_FILE,
	ARGUMENT_REJECT_LIMIT,
	ARGUMENT_OPTIONS,
	ARGUMENT_DRY_RUN
};

/* --- the statement ---------------------------------------------------------------------------- */

static bool
is_for_batches(const Query *query)
{
	return query->commandType != CMD_UTILITY || IsA(query->utilityStmt, CallStmt);
}

/* As in exec_parse_message (postgres.c). */
static void
check_types(const tsurugi_statement *statement)
{
	if (statement->count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("the statement of a batch has no parameters")));
	for (int i = 0; i < statement->count; i++)
		if (statement->types[i] == InvalidOid || statement->types[i] == UNKNOWNOID)
			ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_DATATYPE),
							errmsg("could not determine data type of parameter $%d", i + 1)));
}

tsurugi_statement *
tsurugi_batch_statement(char *text, Query **query_out)
{
	tsurugi_statement *statement = palloc0(sizeof(*statement));
	List *parsed = pg_parse_query(text);
	Query *query;

	if (list_length(parsed) != 1)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("a batch needs one statement")));
	query = parse_analyze_varparams(linitial_node(RawStmt, parsed), text, &statement->types, &statement->count, NULL);
	if (!is_for_batches(query))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("the statement of a batch must be INSERT, "
																	   "UPDATE, DELETE, MERGE, SELECT or CALL")));
	statement->text = text;
	check_types(statement);
	if (query_out != NULL)
		*query_out = query;
	return statement;
}

/* --- columns ---------------------------------------------------------------------------------- */

static int
place_of(const List *names, const char *name)
{
	ListCell *cell;

	foreach (cell, names)
		if (strcmp(strVal(lfirst(cell)), name) == 0)
			return foreach_current_index(cell);
	return -1;
}

/* Names for columns of a file that has none. */
static List *
numbered_names(int count)
{
	List *names = NIL;

	for (int i = 0; i < count; i++)
		names = lappend(names, makeString(psprintf("$%d", i + 1)));
	return names;
}

Relation
tsurugi_batch_relation(const List *names, const Oid *types)
{
	Relation relation = palloc0(sizeof(*relation));
	ListCell *cell;

	relation->rd_rel = palloc0(sizeof(*relation->rd_rel));
	relation->rd_rel->relkind = RELKIND_RELATION;
	namestrcpy(&relation->rd_rel->relname, "batch");
	relation->rd_att = CreateTemplateTupleDesc(list_length(names));
	foreach (cell, names)
	{
		int i = foreach_current_index(cell);

		/* with a part of a long name, which is only said in errors */
		TupleDescInitEntry(relation->rd_att, (AttrNumber) (i + 1), strVal(lfirst(cell)), types[i], -1, 0);
	}
	return relation;
}

/* Which of these columns feeds each parameter; others are text that nobody looks at. */
static void
feed(const tsurugi_load *load, tsurugi_load_file *file, const List *names)
{
	const tsurugi_statement *statement = load->statement;
	Oid *types = palloc0(sizeof(Oid) * Max(list_length(names), 1));

	file->feed_count = statement->count;
	file->feeds = palloc(sizeof(int) * statement->count);
	for (int i = 0; i < statement->count; i++)
	{
		const char *name = load->columns != NIL ? strVal(list_nth(load->columns, i)) : NULL;
		int place = name != NULL ? place_of(names, name) : i;

		if (place < 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_COLUMN), errmsg("file \"%s\" has no column \"%s\"", file->name, name)));
		if (types[place] != InvalidOid && types[place] != statement->types[i])
			ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
							errmsg("column \"%s\" of file \"%s\" feeds parameters of types %s and %s", name, file->name,
								   format_type_be(types[place]), format_type_be(statement->types[i]))));
		types[place] = statement->types[i];
		file->feeds[i] = place + 1;
	}
	for (int i = 0; i < list_length(names); i++)
		if (types[i] == InvalidOid)
			types[i] = TEXTOID;
	file->relation = tsurugi_batch_relation(names, types);
	file->names = (List *) names;
}

static void
check_count(const tsurugi_load *load, const tsurugi_load_file *file, int count)
{
	if (load->columns == NIL && count != load->statement->count)
		ereport(ERROR, (errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
						errmsg("file \"%s\" has %d columns, expected %d", file->name, count, load->statement->count),
						errhint("Name the columns that are parameters.")));
}

/* The names in the header, which is read as one of a relation that has a column. */
static List *
read_header(const tsurugi_load *load, tsurugi_load_file *file)
{
	static const Oid types[] = {TEXTOID};
	tsurugi_load header = *load;
	ListCell *cell;

	file->relation = tsurugi_batch_relation(numbered_names(1), types);
	header.options = NIL;
	foreach (cell, load->options) /* these name columns that the relation does not have yet */
		if (strncmp(lfirst_node(DefElem, cell)->defname, "force", strlen("force")) != 0)
			header.options = lappend(header.options, lfirst(cell));
	return tsurugi_csv_header(&header, file);
}

static void
look_at_csv(const tsurugi_load *load, tsurugi_load_file *file)
{
	List *names = NIL;

	file->rows = -1;
	file->blocks = 1;
	if (load->has_header)
	{
		names = read_header(load, file);
		check_count(load, file, list_length(names));
	}
	else if (load->columns == NIL)
		names = numbered_names(load->statement->count);
	else
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("columns of file \"%s\" have no names", file->name),
				 errhint("Use option \"header\", or leave out the list of columns.")));
	feed(load, file, names);
}

/* Only columns that feed a parameter are the relation's. */
static void
look_at_columns(const tsurugi_load *load, tsurugi_load_file *file)
{
	tsurugi_file *opened = tsurugi_file_open(file->name, file->format, 0);
	int count = (int) tg_columnar_column_count(&opened->reader);
	List *names = NIL;

	check_count(load, file, count);
	file->sources = palloc(sizeof(int) * Max(count, 1));
	for (int i = 0; i < count; i++)
	{
		const char *utf8 = tg_columnar_column(&opened->reader, (unsigned) i)->name;
		char *name = pg_any_to_server(utf8, (int) strlen(utf8), PG_UTF8);

		if (load->columns != NIL && place_of(load->columns, name) < 0)
			continue;
		file->sources[list_length(names)] = i;
		names = lappend(names, makeString(pstrdup(name))); /* which may be the file's */
	}
	file->rows = (int64) tg_columnar_row_count(&opened->reader);
	file->blocks = tg_columnar_block_count(&opened->reader);
	tsurugi_file_close(opened);
	feed(load, file, names);
	/* finds, and checks, the columns as it will when the batch runs */
	tsurugi_rows_close(tsurugi_rows_open(file->relation, file->name, file->format, NIL, file->sources));
}

static void
look_at_json(const tsurugi_load *load, tsurugi_load_file *file)
{
	List *names = NIL;
	ListCell *cell;

	foreach (cell, tsurugi_load_json_keys(file))
	{
		char *name = ((const tsurugi_json_key *) lfirst(cell))->name;

		if (load->columns == NIL || place_of(load->columns, name) >= 0)
			names = lappend(names, makeString(name));
	}
	if (file->rows == 0) /* there is nothing that needs columns */
		names = load->columns != NIL ? load->columns : numbered_names(load->statement->count);
	check_count(load, file, list_length(names));
	feed(load, file, names);
}

static void
look(const tsurugi_load *load)
{
	ListCell *cell;

	foreach (cell, load->files)
	{
		tsurugi_load_file *file = lfirst(cell);

		tsurugi_load_identify(file);
		if (file->format != TSURUGI_FORMAT_CSV)
			tsurugi_load_no_options(load, file);
		if (file->format == TSURUGI_FORMAT_CSV)
			look_at_csv(load, file);
		else if (file->format == TSURUGI_FORMAT_NDJSON)
			look_at_json(load, file);
		else
			look_at_columns(load, file);
	}
}

/* --- the function ----------------------------------------------------------------------------- */

static void
check_supported(FunctionCallInfo fcinfo)
{
	if (!PG_ARGISNULL(ARGUMENT_HANDLE))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a batch in a shared transaction by its handle is not supported"),
						errhint("Attach to the shared transaction, and run the batch without a handle.")));
}

/* There is no table whose columns a header could be compared with. */
static void
check_header(const tsurugi_load *load)
{
	ListCell *cell;

	foreach (cell, load->options)
	{
		DefElem *option = lfirst_node(DefElem, cell);

		if (strcmp(option->defname, "header") == 0 && IsA(option->arg, String))
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
							errmsg("option \"header\" of a batch must be true or false")));
	}
}

static void
read_arguments(FunctionCallInfo fcinfo, tsurugi_load *load)
{
	static const int needed[] = {ARGUMENT_STATEMENT,	ARGUMENT_FILES,	  ARGUMENT_TRANSACTIONAL, ARGUMENT_ON_ERROR,
								 ARGUMENT_REJECT_LIMIT, ARGUMENT_OPTIONS, ARGUMENT_DRY_RUN};
	const char *format = PG_ARGISNULL(ARGUMENT_FORMAT) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_FORMAT));

	Query *query;

	tsurugi_arguments_not_null(fcinfo, "batch", needed, lengthof(needed));
	check_supported(fcinfo);
	load->statement = tsurugi_batch_statement(text_to_cstring(PG_GETARG_TEXT_PP(ARGUMENT_STATEMENT)), &query);
	if (!PG_GETARG_BOOL(ARGUMENT_TRANSACTIONAL) && isQueryUsingTempRelation(query))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("a batch that is not transactional cannot use temporary tables")));
	load->files = tsurugi_load_files(PG_GETARG_ARRAYTYPE_P(ARGUMENT_FILES), format);
	tsurugi_arguments_rejects(fcinfo, ARGUMENT_ON_ERROR, load);
	load->columns =
		PG_ARGISNULL(ARGUMENT_COLUMNS) ? NIL : tsurugi_argument_columns(PG_GETARG_ARRAYTYPE_P(ARGUMENT_COLUMNS));
	if (load->columns != NIL && list_length(load->columns) != load->statement->count)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("the statement has %d parameters, but %d columns are named", load->statement->count,
							   list_length(load->columns))));
	load->is_transactional = PG_GETARG_BOOL(ARGUMENT_TRANSACTIONAL);
	tsurugi_load_options(PG_GETARG_JSONB_P(ARGUMENT_OPTIONS), load);
	check_header(load);
}

Datum
tsurugi_fdw_batch(PG_FUNCTION_ARGS)
{
	TimestampTz start = GetCurrentTimestamp();
	tsurugi_load_report report = {.way = "session",
								  .reason = "the statement runs in the caller's transaction, row by row"};
	tsurugi_load load = {0};
	tsurugi_batch *batch = tsurugi_batch_begin("batch", InvalidOid);
	bool transactional = PG_ARGISNULL(ARGUMENT_TRANSACTIONAL) || PG_GETARG_BOOL(ARGUMENT_TRANSACTIONAL);

	if (!transactional)
		report.reason = "the statement runs in sessions of the batch, row by row";

	PG_ENSURE_ERROR_CLEANUP(tsurugi_batch_give_up, PointerGetDatum(batch));
	{
		read_arguments(fcinfo, &load);
		look(&load);
		tsurugi_batch_expect(report.way, load.files);
		if (PG_GETARG_BOOL(ARGUMENT_DRY_RUN))
			report.rows = tsurugi_load_expected_rows(&load);
		else if (!transactional)
			tsurugi_load_by_sessions(&load, &report.rows, &report.rejected, &report.transactions);
		else
		{
			tsurugi_load_by_rows(&load, &report.rows, &report.rejected);
			report.transactions = 1;
		}
	}
	PG_END_ENSURE_ERROR_CLEANUP(tsurugi_batch_give_up, PointerGetDatum(batch));
	tsurugi_batch_succeed(batch);
	tsurugi_report_files(&report, &load);
	return tsurugi_report_row(fcinfo, &report, start);
}
