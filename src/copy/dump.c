/*
 * dump.c
 *	  tsurugi.dump(): the rows of a query into files of the server.
 *
 *	the executor -> receive, take -> writer.c, csv_out.c or json_out.c -> target.c
 *
 * A file gets its name when it is whole, on disk, and no crash can take back what its rows show.
 * After an error nothing of a dump stays, unless the caller wants the files that are whole.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "commands/defrem.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "parser/parser.h"
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/numeric.h"

#include "src/base/sql_function.h"
#include "src/base/view_row.h"
#include "src/copy/progress.h"
#include "src/copy/server_file.h"
#include "src/txn/reply.h"

#define FILES_MAX 99999 /* which have names of one length */

TSURUGI_SQL_FUNCTION(tsurugi_fdw_dump);

typedef struct Options
{
	tsurugi_format format;
	int64 rows_of_file; /* at most */
	bool replaces;
	bool keeps;
	tsurugi_copy_options columnar;
	CopyFormatOptions csv;
} Options;

typedef struct Dump
{
	DestReceiver receiver;
	tsurugi_taker taker;
	FunctionCallInfo fcinfo;
	const char *directory;
	const char *prefix;
	Options options;
	MemoryContext memory;	   /* of the dump */
	MemoryContext file_memory; /* of the present file */
	TupleDesc descriptor;
	const char *name;		/* of the present file */
	tsurugi_target *target; /* NULL: there is none */
	tsurugi_writer *columnar;
	tsurugi_csv_out *csv;
	tsurugi_json_out *json;
	int64 rows; /* of it */
	List *done; /* names of files that are whole */
	int place;	/* the directory, for their removal: after an error no right can be looked up */
	tsurugi_batch *batch;
} Dump;

static bool
is_columnar(const Options *options)
{
	return options->format == TSURUGI_FORMAT_PARQUET || options->format == TSURUGI_FORMAT_ARROW;
}

/* Whether rows are also written as they are stored. */
static bool
can_take(const Options *options)
{
	return is_columnar(options) ||
		   (options->format == TSURUGI_FORMAT_CSV && tsurugi_csv_out_by_pool(NULL, &options->csv));
}

/* --- files ------------------------------------------------------------------------------------ */

static char *
name_of_file(const Dump *dump, int number)
{
	return psprintf("%s/%s_%05d.%s", dump->directory, dump->prefix, number, tsurugi_format_word(dump->options.format));
}

static void
begin_file(Dump *dump)
{
	MemoryContext before = MemoryContextSwitchTo(dump->memory);

	if (list_length(dump->done) == FILES_MAX)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("a dump has at most %d files", FILES_MAX),
						errhint("Increase option max_rows_per_file.")));
	dump->name = name_of_file(dump, list_length(dump->done) + 1);
	MemoryContextSwitchTo(dump->file_memory);
	dump->target = tsurugi_target_begin(dump->name, dump->descriptor->natts, dump->options.replaces);
	if (dump->options.format == TSURUGI_FORMAT_CSV && !tsurugi_csv_out_by_pool(dump->descriptor, &dump->options.csv))
		dump->csv = tsurugi_csv_out_begin(dump->file_memory, dump->descriptor, dump->target, &dump->options.csv);
	else if (dump->options.format == TSURUGI_FORMAT_NDJSON)
		dump->json = tsurugi_json_out_begin(dump->file_memory, dump->descriptor, dump->target);
	else
		dump->columnar =
			tsurugi_writer_begin(dump->file_memory, dump->descriptor, dump->target, &dump->options.columnar);
	dump->rows = 0;
	MemoryContextSwitchTo(before);
}

static uint64
finish_rows(Dump *dump)
{
	if (dump->csv != NULL)
		return tsurugi_csv_out_finish(dump->csv);
	if (dump->options.format == TSURUGI_FORMAT_NDJSON)
		return tsurugi_json_out_finish(dump->json);
	return tsurugi_writer_finish(dump->columnar);
}

static void
finish_file(Dump *dump)
{
	MemoryContext before = MemoryContextSwitchTo(dump->file_memory);
	uint64 bytes = finish_rows(dump);
	Row row = {0};

	dump->columnar = NULL;
	dump->csv = NULL;
	tsurugi_reply_wait();
	tsurugi_target_finish(dump->target);
	dump->target = NULL;
	tg_fetch_add_relaxed(&tsurugi_batch_progress()->files, 1);
	tg_fetch_add_relaxed(&tsurugi_batch_progress()->bytes, bytes);
	MemoryContextSwitchTo(dump->memory);
	dump->done = lappend(dump->done, (void *) dump->name);
	MemoryContextSwitchTo(before);
	add_text(&row, dump->name);
	add_bigint(&row, (uint64) dump->rows);
	add_bigint(&row, bytes);
	put_row(dump->fcinfo, &row);
	MemoryContextReset(dump->file_memory);
}

/* --- the receiver ----------------------------------------------------------------------------- */

static void
startup(DestReceiver *self, int operation, TupleDesc descriptor)
{
	Dump *dump = (Dump *) self;
	MemoryContext before = MemoryContextSwitchTo(dump->memory);

	if (is_columnar(&dump->options))
		tsurugi_writer_check(descriptor, dump->options.format);
	dump->descriptor = CreateTupleDescCopy(descriptor);
	MemoryContextSwitchTo(before);
	begin_file(dump); /* also a query without rows has a file, which tells its columns */
}

/* The rows that the file has room for; it is another one if the present one has none. */
static int64
room_in_file(Dump *dump)
{
	if (dump->rows == dump->options.rows_of_file)
	{
		finish_file(dump);
		begin_file(dump);
	}
	return dump->options.rows_of_file - dump->rows;
}

static void
count_rows(Dump *dump, uint32 count)
{
	dump->rows += count;
	tg_fetch_add_relaxed(&tsurugi_batch_progress()->rows, count);
}

static bool
receive(TupleTableSlot *slot, DestReceiver *self)
{
	Dump *dump = (Dump *) self;

	CHECK_FOR_INTERRUPTS();
	(void) room_in_file(dump);
	if (dump->csv != NULL)
		tsurugi_csv_out_put(dump->csv, slot);
	else if (dump->options.format == TSURUGI_FORMAT_NDJSON)
		tsurugi_json_out_put(dump->json, slot);
	else
		tsurugi_writer_put(dump->columnar, slot);
	count_rows(dump, 1);
	return true;
}

static void
take(void *argument, const tsurugi_taken *columns, const tg_vectors *vectors, uint32 first, uint32 count)
{
	Dump *dump = argument;

	tsurugi_batch_goes_on("columns");
	while (count > 0)
	{
		int64 room = room_in_file(dump);
		uint32 rows = (uint32) Min(room, (int64) count);

		tsurugi_writer_take(dump->columnar, columns, vectors, first, rows);
		count_rows(dump, rows);
		first += rows;
		count -= rows;
	}
}

static void
shutdown(DestReceiver *self)
{
}

static void
destroy(DestReceiver *self)
{
}

/* --- options ---------------------------------------------------------------------------------- */

static void
bad_option(const char *name, const char *wanted)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("option \"%s\" of a dump must be %s", name, wanted)));
}

static int64
number_of(const char *name, const JsonbValue *value)
{
	int64 number = 0;

	if (value->type != jbvNumeric)
		bad_option(name, "a number");
	number = DatumGetInt64(DirectFunctionCall1(numeric_int8, NumericGetDatum(value->val.numeric)));
	if (number < 1)
		bad_option(name, "a positive number");
	return number;
}

static bool
boolean_of(const char *name, const JsonbValue *value)
{
	if (value->type != jbvBool)
		bad_option(name, "true or false");
	return value->val.boolean;
}

static char *
text_of(const char *name, const JsonbValue *value)
{
	if (value->type != jbvString)
		bad_option(name, "a string");
	return pnstrdup(value->val.string.val, value->val.string.len);
}

/* An option of the format, as COPY's; false: it has none of that name. */
static bool
read_format_option(Options *options, const char *name, const JsonbValue *value, List **csv_io)
{
	static const char *const texts[] = {"delimiter", "null", "quote", "escape", "encoding"};
	bool is_csv = options->format == TSURUGI_FORMAT_CSV;

	if (is_columnar(options) && strcmp(name, "codec") == 0)
		options->columnar.codec = tsurugi_copy_codec(options->format, text_of(name, value));
	else if (is_columnar(options) && strcmp(name, "row_group_rows") == 0)
		options->columnar.group_rows = tsurugi_copy_group_rows(number_of(name, value));
	else if (is_columnar(options) && strcmp(name, "row_group_bytes") == 0)
		options->columnar.group_bytes = tsurugi_copy_group_bytes(number_of(name, value));
	else if (is_columnar(options) && strcmp(name, "level") == 0)
		options->columnar.level = tsurugi_copy_level(number_of(name, value));
	else if (options->format == TSURUGI_FORMAT_PARQUET && strcmp(name, "dictionary") == 0)
		options->columnar.plain = !boolean_of(name, value);
	else if (options->format == TSURUGI_FORMAT_ARROW && strcmp(name, "stream") == 0)
		options->columnar.stream = boolean_of(name, value);
	else if (is_csv && strcmp(name, "header") == 0)
		*csv_io = lappend(*csv_io, makeDefElem(pstrdup(name), (Node *) makeBoolean(boolean_of(name, value)), -1));
	else
	{
		for (int i = 0; is_csv && i < lengthof(texts); i++)
			if (strcmp(name, texts[i]) == 0)
			{
				*csv_io = lappend(*csv_io, makeDefElem(pstrdup(name), (Node *) makeString(text_of(name, value)), -1));
				return true;
			}
		return false;
	}
	return true;
}

static void
read_options(Options *options, Jsonb *given)
{
	JsonbIterator *at = JsonbIteratorInit(&given->root);
	List *csv = list_make1(makeDefElem("format", (Node *) makeString("csv"), -1));
	JsonbValue value;

	if (JsonbIteratorNext(&at, &value, false) != WJB_BEGIN_OBJECT)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("options of a dump must be a JSON object")));
	while (JsonbIteratorNext(&at, &value, true) == WJB_KEY)
	{
		char *name = pnstrdup(value.val.string.val, value.val.string.len);

		(void) JsonbIteratorNext(&at, &value, true);
		if (strcmp(name, "max_rows_per_file") == 0)
			options->rows_of_file = number_of(name, &value);
		else if (strcmp(name, "overwrite") == 0)
			options->replaces = boolean_of(name, &value);
		else if (strcmp(name, "keep_files") == 0)
			options->keeps = boolean_of(name, &value);
		else if (!read_format_option(options, name, &value, &csv))
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("option \"%s\" of a dump not recognized", name)));
	}
	tsurugi_copy_check_options(&options->columnar);
	ProcessCopyOptions(NULL, &options->csv, false, csv);
}

static void
read_arguments(FunctionCallInfo fcinfo, Dump *dump)
{
	char *word = text_to_cstring(PG_GETARG_TEXT_PP(2));
	tsurugi_format format;

	dump->directory = text_to_cstring(PG_GETARG_TEXT_PP(1));
	tsurugi_file_check(dump->directory, TSURUGI_FILE_WRITE, "dump to files", NULL);
	dump->prefix = text_to_cstring(PG_GETARG_TEXT_PP(3));
	if (!is_absolute_path(dump->directory))
		ereport(ERROR, (errcode(ERRCODE_INVALID_NAME), errmsg("relative path not allowed for a dump")));
	if (dump->prefix[0] == '\0' || strchr(dump->prefix, '/') != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_NAME), errmsg("prefix \"%s\" is not valid in a file name", dump->prefix)));
	format = tsurugi_format_named(word);
	if (format == TSURUGI_FORMAT_COUNT)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("format \"%s\" not recognized", word),
						errhint("Formats are " TSURUGI_FORMATS ".")));
	dump->options =
		(Options){.format = format, .rows_of_file = PG_INT64_MAX, .columnar = {.format = format, .codec = -1}};
	dump->options.columnar.csv = &dump->options.csv;
	read_options(&dump->options, PG_GETARG_JSONB_P(4));
}

/* --- the function ----------------------------------------------------------------------------- */

static Query *
analyze(const tsurugi_copy *copy)
{
	List *statements = pg_parse_query(copy->text);
	Query *query;

	if (list_length(statements) != 1 || !IsA(linitial_node(RawStmt, statements)->stmt, SelectStmt))
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("a dump needs one query")));
	query = tsurugi_copy_analyze(copy, linitial_node(RawStmt, statements)->stmt);
	if (query->commandType != CMD_SELECT || query->hasModifyingCTE)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a dump of a query that writes is not supported")));
	return query;
}

/* What can be removed is. */
static void
give_up(int code, Datum argument)
{
	const Dump *dump = (const Dump *) DatumGetPointer(argument);
	ListCell *cell;

	tsurugi_batch_end(dump->batch);
	if (dump->columnar != NULL)
		tsurugi_writer_abandon(dump->columnar);
	if (dump->target != NULL)
		tsurugi_target_abandon(dump->target);
	if (dump->options.keeps)
		return;
	foreach (cell, dump->done)
		tsurugi_file_remove(dump->place, lfirst(cell));
}

Datum
tsurugi_fdw_dump(PG_FUNCTION_ARGS)
{
	tsurugi_copy copy = {.text = text_to_cstring(PG_GETARG_TEXT_PP(0))};
	Dump *dump = palloc0(sizeof(*dump));
	const char *leaf;
	Query *query;

	read_arguments(fcinfo, dump);
	InitMaterializedSRF(fcinfo, 0);
	dump->receiver = (DestReceiver){
		.receiveSlot = receive, .rStartup = startup, .rShutdown = shutdown, .rDestroy = destroy, .mydest = DestCopyOut};
	dump->taker = (tsurugi_taker){.take = take, .argument = dump};
	dump->fcinfo = fcinfo;
	dump->memory = AllocSetContextCreate(CurrentMemoryContext, "dump", ALLOCSET_DEFAULT_SIZES);
	dump->file_memory = AllocSetContextCreate(dump->memory, "file of a dump", ALLOCSET_DEFAULT_SIZES);
	query = analyze(&copy);
	dump->place = tsurugi_file_directory(name_of_file(dump, 1), &leaf);
	if (dump->place == -1)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open directory \"%s\": %m", dump->directory)));
	dump->batch = tsurugi_batch_begin("dump", InvalidOid);
	tsurugi_batch_expect("session", NIL);
	PG_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(dump));
	{
		tsurugi_copy_run_query(&copy, query, &dump->receiver, can_take(&dump->options) ? &dump->taker : NULL);
		finish_file(dump);
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(dump));
	tsurugi_batch_end(dump->batch);
	tsurugi_file_directory_close(dump->place);
	return (Datum) 0;
}
