/*
 * load_rows.c
 *	  Loads into a table that look at single rows.
 *
 *	file -> records -> COPY of the records first..end, in a part of the transaction
 *
 * Records are stored in groups, by PostgreSQL's COPY, which reads them by a callback.  If a row of
 * a group does not fit, the group is rolled back.  COPY knows in which line it has failed.  The
 * rows before it are stored again, then it is tried alone: if it fails once more, it is rejected.
 * So the line only says where to look; that it may be another one, as in AFTER triggers, costs time
 * alone.
 *
 * COPY has no ON CONFLICT.  Where that is wanted, COPY reads and converts the rows, and an INSERT
 * stores each of them.  So it is with a batch, whose statement takes the INSERT's place, and whose
 * parameters are columns of a relation that has been made for the file (batch.c).
 */
#include "postgres.h"

#include "src/copy/load_rows.h"

#include "access/genam.h"
#include "access/xact.h"
#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "src/base/query.h"
#include "src/copy/copy.h"
#include "src/copy/json_in.h"
#include "src/copy/load_csv.h"
#include "src/copy/progress.h"
#include "src/copy/reject.h"

#define GROUP_ROWS 1000
#define GROUP_BYTES (1 << 20)

typedef struct Record
{
	int begin; /* in the text */
	int end;
	int block;	  /* of the file, from 1 */
	int64 row;	  /* likewise */
	int64 byte;	  /* -1: none */
	uint64 lines; /* before it, as COPY counts them */
	EolType end_before;
} Record;

/* A file that is loaded. */
typedef struct Loading
{
	struct Loading *outer; /* that has fired a trigger which has called this load */
	const tsurugi_load *load;
	const tsurugi_load_file *file;
	Relation relation; /* of its rows */
	tsurugi_csv *csv;  /* the file is one of the three */
	tsurugi_rows *columnar;
	tsurugi_json *json;
	tsurugi_json_lines *json_lines; /* of its rows */
	StringInfoData json_line;		/* of COPY's text, made of the next record, */
	int json_next;					/* if that is before: */
	int json_end;
	List *columns; /* and options for COPY of its records */
	List *options;
	List *attributes;
	ParseState *parse;	/* NULL: of a batch */
	SPIPlanPtr insert;	/* or a batch's statement; NULL: COPY stores the rows */
	int at;				/* the record whose row it takes, */
	CopyFromState copy; /* of this COPY */
	StringInfoData text;
	Record records[GROUP_ROWS];
	int count;
	int given;			  /* bytes of text that COPY has got, */
	int end;			  /* of so many */
	MemoryContext memory; /* of an attempt */
	tsurugi_rejects *rejects;
	int64 rows; /* stored */
	int64 rows_read;
	int64 noted; /* of these rows, and of the file: what others see */
	int64 bytes;
	int64 blocks;
} Loading;

static Loading *running;

bool
tsurugi_load_is_by_rows(const tsurugi_load *load)
{
	return load->skips || load->on_conflict != TSURUGI_LOAD_CONFLICT_ERROR;
}

/* --- records ---------------------------------------------------------------------------------- */

static bool
next_of_csv(Loading *loading, Record *record)
{
	static const EolType ends[] = {[TG_CSV_END_UNKNOWN] = EOL_UNKNOWN,
								   [TG_CSV_END_NL] = EOL_NL,
								   [TG_CSV_END_CR] = EOL_CR,
								   [TG_CSV_END_CRNL] = EOL_CRNL};
	tsurugi_csv_record found;

	if (!tsurugi_csv_next(loading->csv, &loading->text, &found))
		return false;
	record->begin = found.begin;
	record->block = 1;
	record->row = found.row;
	record->byte = found.byte;
	record->lines = found.lines;
	record->end_before = ends[found.end_before];
	return true;
}

static bool
next_of_columnar(Loading *loading, Record *record)
{
	record->begin = loading->text.len;
	record->row = ++loading->rows_read;
	record->byte = -1;
	record->lines = (uint64) record->row - 1;
	record->end_before = EOL_NL;
	return tsurugi_rows_append(loading->columnar, &loading->text, &record->block);
}

static bool
next_of_json(Loading *loading, Record *record)
{
	tsurugi_json_record found;

	if (!tsurugi_json_next(loading->json, &loading->text, &found))
		return false;
	record->begin = found.begin;
	record->block = 1;
	record->row = found.row;
	record->byte = found.byte;
	record->lines = (uint64) found.row - 1;
	record->end_before = EOL_NL;
	return true;
}

static bool
next_record(Loading *loading, Record *record)
{
	if (loading->csv != NULL)
		return next_of_csv(loading, record);
	return loading->json != NULL ? next_of_json(loading, record) : next_of_columnar(loading, record);
}

/* The next records; false: there are none. */
static bool
read_group(Loading *loading)
{
	resetStringInfo(&loading->text);
	for (loading->count = 0; loading->count < GROUP_ROWS && loading->text.len < GROUP_BYTES; loading->count++)
	{
		Record *record = &loading->records[loading->count];

		if (!next_record(loading, record))
			break;
		record->end = loading->text.len;
	}
	return loading->count > 0;
}

/* --- storing ---------------------------------------------------------------------------------- */

/*
 * Makes a line of the next record, if all of the former one has been given.  COPY asks for it once
 * it is at this line, so that it counts the one that an error is about.
 */
static int
give_json(Loading *loading, void *into, int most)
{
	StringInfo line = &loading->json_line;
	int bytes;

	if (line->cursor == line->len && loading->json_next < loading->json_end)
	{
		const Record *record = &loading->records[loading->json_next++];
		const tsurugi_json_record place = {.row = record->row, .byte = record->byte};

		resetStringInfo(line);
		tsurugi_json_line(loading->json_lines, loading->text.data + record->begin, record->end - record->begin, &place,
						  line);
	}
	bytes = Min(most, line->len - line->cursor);
	memcpy(into, line->data + line->cursor, bytes);
	line->cursor += bytes;
	return bytes;
}

/* COPY's callback. */
static int
give_records(void *into, int least, int most)
{
	Loading *loading = running;
	int bytes = Min(most, loading->end - loading->given);

	if (loading->json_lines != NULL)
		return give_json(loading, into, most);
	memcpy(into, loading->text.data + loading->given, bytes);
	loading->given += bytes;
	return bytes;
}

/* The row's values as parameters of the INSERT, or the statement.  Returns rows that are stored. */
static uint64
insert_row(const Loading *loading, const Datum *values, const bool *nulls)
{
	const tsurugi_statement *statement = loading->load->statement;
	int count = statement != NULL ? statement->count : list_length(loading->attributes);
	Datum *arguments = palloc(sizeof(Datum) * count);
	char *marks = palloc(count);
	int result;

	for (int i = 0; i < count; i++)
	{
		int attribute = statement != NULL ? loading->file->feeds[i] : list_nth_int(loading->attributes, i);

		arguments[i] = values[attribute - 1];
		marks[i] = nulls[attribute - 1] ? 'n' : ' ';
	}
	result = SPI_execute_plan(loading->insert, arguments, marks, false, 0);
	if (result < 0)
		elog(ERROR, "could not execute a statement for a row: %s", SPI_result_code_string(result));
	SPI_freetuptable(SPI_tuptable);
	return statement != NULL ? 1 : SPI_processed;
}

/* Errors of a batch: where its row is in the file. */
static void
describe_row(void *argument)
{
	const Loading *loading = argument;
	const Record *record = &loading->records[Min(loading->at, loading->count - 1)];

	if (loading->copy->cur_attname != NULL)
		errcontext("batch of file \"%s\", block %d, row " INT64_FORMAT ", column %s", loading->file->name,
				   record->block, record->row, loading->copy->cur_attname);
	else
		errcontext("batch of file \"%s\", block %d, row " INT64_FORMAT, loading->file->name, record->block,
				   record->row);
}

/* Returns the rows that have been stored. */
static uint64
insert_rows(Loading *loading, int first, CopyFromState state)
{
	ErrorContextCallback place = {.callback = describe_row, .arg = loading, .previous = error_context_stack};
	ErrorContextCallback context = {.callback = CopyFromErrorCallback, .arg = state, .previous = error_context_stack};
	EState *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	int natts = RelationGetDescr(loading->relation)->natts;
	Datum *values = palloc0(sizeof(Datum) * natts);
	bool *nulls = palloc0(sizeof(bool) * natts);
	uint64 rows = 0;

	loading->copy = state;
	state->num_defaults = 0; /* the INSERT has them */
	error_context_stack = loading->load->statement != NULL ? &place : &context;
	for (loading->at = first;; loading->at++)
	{
		bool has;
		MemoryContext before;

		CHECK_FOR_INTERRUPTS();
		ResetPerTupleExprContext(estate);
		before = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		has = NextCopyFrom(state, econtext, values, nulls);
		if (has)
			rows += insert_row(loading, values, nulls);
		MemoryContextSwitchTo(before);
		if (!has)
			break;
	}
	error_context_stack = context.previous;
	FreeExecutorState(estate);
	return rows;
}

/* Stores the records of a range.  *state_out: COPY's state, which is there after an error, too. */
static void
store(Loading *loading, int first, int end, CopyFromState volatile *state_out)
{
	const Record *record = &loading->records[first];
	MemoryContext before;
	CopyFromState state;
	uint64 rows;

	MemoryContextReset(loading->memory);
	before = MemoryContextSwitchTo(loading->memory);
	loading->given = record->begin;
	loading->end = loading->records[end - 1].end;
	loading->json_next = first;
	loading->json_end = end;
	resetStringInfo(&loading->json_line);
	state = BeginCopyFrom(loading->parse, loading->relation, NULL, NULL, false, give_records, loading->columns,
						  loading->options);
	*state_out = state;
	state->cur_lineno = record->lines;
	state->eol_type = record->end_before;
	rows = loading->insert != NULL ? insert_rows(loading, first, state) : CopyFrom(state);
	EndCopyFrom(state);
	CommandCounterIncrement();
	MemoryContextSwitchTo(before);
	loading->rows += (int64) rows;
}

/* --- rejects ---------------------------------------------------------------------------------- */

/* What an attempt has failed with. */
typedef struct Fault
{
	int record; /* where COPY was */
	int code;
	char *message;
	char *column;
} Fault;

/* The record, of the first attempted one and behind it, in which COPY counted such a line. */
static int
record_of_line(const Loading *loading, int first, int end, uint64 line)
{
	while (end - first > 1 && loading->records[end - 1].lines >= line)
		end--;
	return end - 1;
}

/* In the memory of the attempt, which is emptied when the next one begins. */
static void
take_fault(const Loading *loading, int first, int end, const CopyFromStateData *state, Fault *fault)
{
	ErrorData *error = CopyErrorData();
	const char *column = error->column_name;

	fault->record = first;
	fault->code = error->sqlerrcode;
	fault->message = error->message;
	if (state != NULL)
	{
		fault->record = record_of_line(loading, first, end, state->cur_lineno);
		column = column != NULL ? column : state->cur_attname;
	}
	fault->column = column != NULL ? pstrdup(column) : NULL;
}

/*
 * Raises the present error outside of the part of the transaction, which nobody else would end: a
 * session without a transaction block would be left in one that has failed.
 */
static void
raise_outside(void)
{
	ErrorData *error = CopyErrorData();

	FlushErrorState();
	RollbackAndReleaseCurrentSubTransaction();
	ReThrowError(error);
}

/* Stores the records of a range, or nothing.  Errors that are not a row's own are raised. */
static bool
try_to_store(Loading *loading, int first, int end, Fault *fault)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	CopyFromState volatile state = NULL;
	volatile bool done = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		store(loading, first, end, &state);
		ReleaseCurrentSubTransaction();
		done = true;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(loading->memory);
		if (!tsurugi_rejects_code(geterrcode()))
			raise_outside();
		take_fault(loading, first, end, state, fault);
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return done;
}

/* A line of CSV, without its end. */
static char *
record_of_csv(const Loading *loading, const Record *record)
{
	const char *bytes = loading->text.data + record->begin;
	int count = record->end - record->begin;
	CopyFormatOptions read = {0};

	ProcessCopyOptions(NULL, &read, true, loading->options);
	return tsurugi_reject_line(bytes, count, read.file_encoding >= 0 ? read.file_encoding : pg_get_client_encoding());
}

static void
reject(Loading *loading, const Record *record, const Fault *fault)
{
	MemoryContext before = MemoryContextSwitchTo(loading->memory);
	tsurugi_reject rejected = {.file = loading->file->name,
							   .block = record->block,
							   .row = record->row,
							   .byte = record->byte,
							   .column = fault->column,
							   .code = fault->code,
							   .message = fault->message};

	if (loading->csv != NULL)
		rejected.record = record_of_csv(loading, record);
	else if (loading->json != NULL)
		rejected.record = tsurugi_reject_line(loading->text.data + record->begin, record->end - record->begin, PG_UTF8);
	else
		rejected.record = tsurugi_reject_json(loading->relation, loading->attributes,
											  loading->text.data + record->begin, loading->text.data + record->end);
	MemoryContextSwitchTo(before);
	tsurugi_rejects_add(loading->rejects, &rejected);
	MemoryContextReset(loading->memory);
}

/* Stores all records that fit. */
static void
store_fitting(Loading *loading)
{
	int first = 0;
	int end = loading->count;
	Fault fault;

	while (first < loading->count)
	{
		if (try_to_store(loading, first, end, &fault))
		{
			first = end;
			end = loading->count;
		}
		else if (end - first > 1)
			end = Min(Max(fault.record, first + 1), end - 1);
		else
		{
			reject(loading, &loading->records[first], &fault);
			first = end;
			end = loading->count;
		}
	}
}

/* --- INSERT ----------------------------------------------------------------------------------- */

static void
append_name(StringInfo sql, const char *separator, const char *name)
{
	appendStringInfo(sql, "%s%s", separator, quote_identifier(name));
}

/* The attributes of the primary key. */
static Bitmapset *
primary_key(Relation relation)
{
	Bitmapset *key = NULL;
	Relation index;

	(void) RelationGetIndexList(relation);
	if (!OidIsValid(RelationGetPrimaryKeyIndex(relation)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_COLUMN_REFERENCE),
				 errmsg("a load that replaces rows needs a primary key on \"%s\"", RelationGetRelationName(relation))));
	index = index_open(RelationGetPrimaryKeyIndex(relation), AccessShareLock);
	for (int i = 0; i < IndexRelationGetNumberOfKeyAttributes(index); i++)
		key = bms_add_member(key, index->rd_index->indkey.values[i]);
	index_close(index, NoLock);
	return key;
}

static void
append_replace(StringInfo sql, const Loading *loading)
{
	TupleDesc descriptor = RelationGetDescr(loading->load->relation);
	Bitmapset *key = primary_key(loading->load->relation);
	const char *separator = " (";
	int attribute = -1;
	ListCell *cell;

	while ((attribute = bms_next_member(key, attribute)) >= 0)
	{
		append_name(sql, separator, NameStr(TupleDescAttr(descriptor, attribute - 1)->attname));
		separator = ", ";
	}
	separator = ") DO UPDATE SET ";
	foreach (cell, loading->attributes)
	{
		const char *name = quote_identifier(NameStr(TupleDescAttr(descriptor, lfirst_int(cell) - 1)->attname));

		if (bms_is_member(lfirst_int(cell), key))
			continue;
		appendStringInfo(sql, "%s%s = EXCLUDED.%s", separator, name, name);
		separator = ", ";
	}
	if (separator[0] == ')')
		appendStringInfoString(sql, ") DO NOTHING");
}

static SPIPlanPtr
prepare_insert(const Loading *loading)
{
	Relation relation = loading->load->relation;
	Oid *types = palloc(sizeof(Oid) * list_length(loading->attributes));
	const char *separator = " (";
	StringInfoData sql;
	StringInfoData parameters;
	ListCell *cell;

	initStringInfo(&sql);
	initStringInfo(&parameters);
	appendStringInfo(&sql, "INSERT INTO %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
												RelationGetRelationName(relation)));
	foreach (cell, loading->attributes)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(relation), lfirst_int(cell) - 1);
		int i = foreach_current_index(cell);

		append_name(&sql, separator, NameStr(attribute->attname));
		appendStringInfo(&parameters, "%s$%d", separator, i + 1);
		types[i] = attribute->atttypid;
		separator = ", ";
	}
	appendStringInfo(&sql, ") OVERRIDING SYSTEM VALUE VALUES%s) ON CONFLICT", parameters.data);
	if (loading->load->on_conflict == TSURUGI_LOAD_CONFLICT_REPLACE)
		append_replace(&sql, loading);
	else
		appendStringInfoString(&sql, " DO NOTHING");
	return tsurugi_query_prepare(sql.data, list_length(loading->attributes), types);
}

/* --- files ------------------------------------------------------------------------------------ */

static void
begin_file(Loading *loading)
{
	const tsurugi_load *load = loading->load;

	loading->relation = tsurugi_load_relation(load, loading->file);
	if (loading->file->format == TSURUGI_FORMAT_CSV)
	{
		loading->csv = tsurugi_csv_open(load, loading->file);
		loading->columns = loading->file->columns;
		loading->options = tsurugi_load_csv_options(load);
	}
	else if (loading->file->format == TSURUGI_FORMAT_NDJSON)
	{
		loading->json = tsurugi_json_open(loading->file->name, 0);
		loading->columns = loading->file->columns;
		loading->options =
			list_make1(makeDefElem("encoding", (Node *) makeString(pstrdup(GetDatabaseEncodingName())), -1));
	}
	else
	{
		loading->columnar = tsurugi_rows_open(loading->relation, loading->file->name, loading->file->format,
											  loading->file->columns, loading->file->sources);
		loading->columns = tsurugi_rows_columns(loading->columnar);
		loading->options = list_make1(makeDefElem("encoding", (Node *) makeString("UTF8"), -1));
	}
	loading->attributes = CopyGetAttnums(RelationGetDescr(loading->relation), loading->relation, loading->columns);
	if (loading->json != NULL)
		loading->json_lines =
			tsurugi_json_lines_begin(loading->file->name, loading->relation, loading->attributes, loading->file->names,
									 load->statement != NULL && load->columns != NIL);
	if (load->statement != NULL)
		return;
	loading->parse = tsurugi_copy_parse_state(load->relation, loading->attributes);
	loading->insert = load->on_conflict != TSURUGI_LOAD_CONFLICT_ERROR ? prepare_insert(loading) : NULL;
}

static void
end_file(Loading *loading)
{
	if (loading->csv != NULL)
		tsurugi_csv_close(loading->csv);
	if (loading->columnar != NULL)
		tsurugi_rows_close(loading->columnar);
	if (loading->json != NULL)
	{
		tsurugi_json_close(loading->json);
		tsurugi_json_lines_end(loading->json_lines);
	}
	if (loading->insert != NULL && loading->load->statement == NULL)
		SPI_freeplan(loading->insert);
	if (loading->parse != NULL)
		free_parsestate(loading->parse);
	loading->csv = NULL;
	loading->columnar = NULL;
	loading->json = NULL;
	loading->json_lines = NULL;
	loading->rows_read = 0;
}

/* Of a file that says how many rows it has, bytes are as many as of rows. */
static void
note_group(Loading *loading)
{
	tg_batch_progress *progress = tsurugi_batch_progress();
	const Record *last = &loading->records[loading->count - 1];
	int64 bytes = last->byte;

	if (bytes < 0)
		bytes = (int64) ((double) loading->file->bytes * (double) last->row / (double) Max(loading->file->rows, 1));
	bytes = Min(bytes, loading->file->bytes);
	tg_fetch_add_relaxed(&progress->bytes, (uint64) (bytes - loading->bytes));
	tg_fetch_add_relaxed(&progress->blocks, (uint64) (last->block - 1 - loading->blocks));
	tg_fetch_add_relaxed(&progress->rows, (uint64) (loading->rows - loading->noted));
	loading->bytes = bytes;
	loading->blocks = last->block - 1;
	loading->noted = loading->rows;
}

static void
note_file(Loading *loading)
{
	tg_batch_progress *progress = tsurugi_batch_progress();

	tg_fetch_add_relaxed(&progress->bytes, (uint64) (loading->file->bytes - loading->bytes));
	tg_fetch_add_relaxed(&progress->blocks, (uint64) (loading->file->blocks - loading->blocks));
	tg_fetch_add_relaxed(&progress->files, 1);
	loading->bytes = 0;
	loading->blocks = 0;
}

static void
load_files(Loading *loading)
{
	CopyFromState volatile state;
	ListCell *cell;

	foreach (cell, loading->load->files)
	{
		loading->file = lfirst(cell);
		begin_file(loading);
		while (read_group(loading))
		{
			if (loading->load->skips)
				store_fitting(loading);
			else
				store(loading, 0, loading->count, &state);
			note_group(loading);
		}
		note_file(loading);
		end_file(loading);
	}
}

void
tsurugi_load_by_rows(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out)
{
	Loading *loading;

	/* a batch's statement may be one that reads, or of a temporary table */
	if (load->statement == NULL && !load->relation->rd_islocaltemp)
		PreventCommandIfReadOnly("a load");
	PreventCommandIfParallelMode(load->statement == NULL ? "a load" : "a batch");
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	loading = palloc0(sizeof(*loading));
	loading->load = load;
	loading->memory = AllocSetContextCreate(CurrentMemoryContext, "load rows", ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&loading->text);
	initStringInfo(&loading->json_line);
	if (load->statement != NULL)
		loading->insert = tsurugi_query_prepare(load->statement->text, load->statement->count, load->statement->types);
	loading->rejects = tsurugi_rejects_begin(load->statement == NULL ? RelationGetRelationName(load->relation) : NULL,
											 load->reject_file, load->reject_limit, load->files);
	loading->outer = running;
	running = loading;
	PG_TRY();
	{
		load_files(loading);
	}
	PG_FINALLY();
	{
		running = loading->outer;
	}
	PG_END_TRY();
	*rows_out = loading->rows;
	*rejected_out = tsurugi_rejects_end(loading->rejects);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
}
