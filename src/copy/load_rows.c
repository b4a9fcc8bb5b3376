/*
 * load_rows.c
 *	  Rows of a load or a batch that are stored by groups.
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
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"

#include "runtime/base/check.h"
#include "src/base/query.h"
#include "src/base/subtransaction.h"
#include "src/copy/copy.h"
#include "src/copy/json_in.h"
#include "src/copy/progress.h"

struct tsurugi_storing
{
	tsurugi_storing *outer; /* that has fired a trigger which has called this load */
	const tsurugi_load *load;
	const tsurugi_load_file *file; /* NULL: none yet */
	Relation relation;			   /* of its rows */
	List *columns;				   /* and options for COPY of its records */
	List *options;
	List *attributes;
	ParseState *parse;	/* NULL: of a batch */
	SPIPlanPtr insert;	/* or a batch's statement; NULL: COPY stores the rows */
	int at;				/* the record whose row it takes, */
	CopyFromState copy; /* of this COPY */
	const tsurugi_group *group;
	int given;						/* bytes of its text that COPY has got, */
	int end;						/* of so many */
	tsurugi_json_lines *json_lines; /* NDJSON; */
	StringInfoData json_line;		/* COPY's text, made of the next record, */
	int json_next;					/* if that is before: */
	int json_end;
	MemoryContext memory; /* of an attempt */
	void (*reject)(void *argument, const tsurugi_reject *reject);
	void *argument;
	int64 rows; /* stored */
};

static tsurugi_storing *running;

bool
tsurugi_load_is_by_rows(const tsurugi_load *load)
{
	return load->skips || load->on_conflict != TSURUGI_LOAD_CONFLICT_ERROR;
}

/* --- storing ---------------------------------------------------------------------------------- */

/*
 * Makes a line of the next record, if all of the former one has been given.  COPY asks for it once
 * it is at this line, so that it counts the one that an error is about.
 */
static int
give_json(tsurugi_storing *storing, void *into, int most)
{
	StringInfo line = &storing->json_line;

	if (line->cursor == line->len && storing->json_next < storing->json_end)
	{
		const tsurugi_record *record = &storing->group->records[storing->json_next++];
		const tsurugi_json_record place = {.row = record->row, .byte = record->byte};

		resetStringInfo(line);
		tsurugi_json_line(storing->json_lines, storing->group->text.data + record->begin, record->end - record->begin,
						  &place, line);
	}
	return tsurugi_text_give(line, into, most);
}

/* COPY's callback. */
static int
give_records(void *into, int least, int most)
{
	tsurugi_storing *storing = running;
	int bytes = Min(most, storing->end - storing->given);

	tg_assert(bytes >= 0 && storing->end <= storing->group->text.len);
	if (storing->json_lines != NULL)
		return give_json(storing, into, most);
	memcpy(into, storing->group->text.data + storing->given, bytes);
	storing->given += bytes;
	return bytes;
}

/* The row's values as parameters of the INSERT, or the statement.  Returns rows that are stored. */
static uint64
insert_row(const tsurugi_storing *storing, const Datum *values, const bool *nulls)
{
	const tsurugi_statement *statement = storing->load->statement;
	int count = statement != NULL ? statement->count : list_length(storing->attributes);
	Datum *arguments = palloc(sizeof(Datum) * count);
	char *marks = palloc(count);
	int result;

	for (int i = 0; i < count; i++)
	{
		int attribute = statement != NULL ? storing->file->feeds[i] : list_nth_int(storing->attributes, i);

		arguments[i] = values[attribute - 1];
		marks[i] = nulls[attribute - 1] ? 'n' : ' ';
	}
	result = SPI_execute_plan(storing->insert, arguments, marks, false, 0);
	if (result < 0)
		elog(ERROR, "could not execute a statement for a row: %s", SPI_result_code_string(result));
	SPI_freetuptable(SPI_tuptable);
	return statement != NULL ? 1 : SPI_processed;
}

/* Errors of a batch: where its row is in the file. */
static void
describe_row(void *argument)
{
	const tsurugi_storing *storing = argument;
	const tsurugi_record *record = &storing->group->records[Min(storing->at, storing->group->count - 1)];

	if (storing->copy->cur_attname != NULL)
		errcontext("batch of file \"%s\", block %d, row " INT64_FORMAT ", column %s", storing->file->name,
				   record->block, record->row, storing->copy->cur_attname);
	else
		errcontext("batch of file \"%s\", block %d, row " INT64_FORMAT, storing->file->name, record->block,
				   record->row);
}

/* Returns the rows that have been stored. */
static uint64
insert_rows(tsurugi_storing *storing, int first, CopyFromState state)
{
	ErrorContextCallback place = {.callback = describe_row, .arg = storing, .previous = error_context_stack};
	ErrorContextCallback context = {.callback = CopyFromErrorCallback, .arg = state, .previous = error_context_stack};
	EState *estate = CreateExecutorState();
	ExprContext *econtext = GetPerTupleExprContext(estate);
	int natts = RelationGetDescr(storing->relation)->natts;
	Datum *values = palloc0(sizeof(Datum) * natts);
	bool *nulls = palloc0(sizeof(bool) * natts);
	uint64 rows = 0;

	storing->copy = state;
	state->num_defaults = 0; /* the INSERT has them */
	error_context_stack = storing->load->statement != NULL ? &place : &context;
	for (storing->at = first;; storing->at++)
	{
		bool has;
		MemoryContext before;

		CHECK_FOR_INTERRUPTS();
		ResetPerTupleExprContext(estate);
		before = MemoryContextSwitchTo(GetPerTupleMemoryContext(estate));
		has = NextCopyFrom(state, econtext, values, nulls);
		if (has)
			rows += insert_row(storing, values, nulls);
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
store(tsurugi_storing *storing, int first, int end, CopyFromState volatile *state_out)
{
	const tsurugi_record *record = &storing->group->records[first];
	MemoryContext before;
	CopyFromState state;
	uint64 rows;

	tg_assert(running == storing && first < end && end <= storing->group->count);
	MemoryContextReset(storing->memory);
	before = MemoryContextSwitchTo(storing->memory);
	storing->given = record->begin;
	storing->end = storing->group->records[end - 1].end;
	storing->json_next = first;
	storing->json_end = end;
	resetStringInfo(&storing->json_line);
	state = BeginCopyFrom(storing->parse, storing->relation, NULL, NULL, false, give_records, storing->columns,
						  storing->options);
	*state_out = state;
	state->cur_lineno = record->lines;
	state->eol_type = record->end_before;
	rows = storing->insert != NULL ? insert_rows(storing, first, state) : CopyFrom(state);
	EndCopyFrom(state);
	CommandCounterIncrement();
	MemoryContextSwitchTo(before);
	storing->rows += (int64) rows;
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
record_of_line(const tsurugi_storing *storing, int first, int end, uint64 line)
{
	tg_assert(first < end && end <= storing->group->count);
	while (end - first > 1 && storing->group->records[end - 1].lines >= line)
		end--;
	return end - 1;
}

/* In the memory of the attempt, which is emptied when the next one begins. */
static void
take_fault(const tsurugi_storing *storing, int first, int end, const CopyFromStateData *state, Fault *fault)
{
	ErrorData *error = CopyErrorData();
	const char *column = error->column_name;

	fault->record = first;
	fault->code = error->sqlerrcode;
	fault->message = error->message;
	if (state != NULL)
	{
		fault->record = record_of_line(storing, first, end, state->cur_lineno);
		column = column != NULL ? column : state->cur_attname;
	}
	fault->column = column != NULL ? pstrdup(column) : NULL;
}

/* Stores the records of a range, or nothing.  Errors that are not a row's own are raised. */
static bool
try_to_store(tsurugi_storing *storing, int first, int end, Fault *fault)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	CopyFromState volatile state = NULL;
	volatile bool done = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		store(storing, first, end, &state);
		ReleaseCurrentSubTransaction();
		done = true;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(storing->memory);
		if (!tsurugi_rejects_code(geterrcode()))
			tsurugi_subtransaction_raise();
		take_fault(storing, first, end, state, fault);
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
record_of_csv(const tsurugi_storing *storing, const tsurugi_record *record)
{
	const char *bytes = storing->group->text.data + record->begin;
	int count = record->end - record->begin;
	CopyFormatOptions read = {0};

	ProcessCopyOptions(NULL, &read, true, storing->options);
	return tsurugi_reject_line(bytes, count, tsurugi_copy_encoding(&read));
}

static void
reject(tsurugi_storing *storing, const tsurugi_record *record, const Fault *fault)
{
	MemoryContext before = MemoryContextSwitchTo(storing->memory);
	const char *bytes = storing->group->text.data + record->begin;
	int count = record->end - record->begin;
	tsurugi_reject rejected = {.file = storing->file->name,
							   .block = record->block,
							   .row = record->row,
							   .byte = record->byte,
							   .column = fault->column,
							   .code = fault->code,
							   .message = fault->message};

	if (storing->file->format == TSURUGI_FORMAT_CSV)
		rejected.record = record_of_csv(storing, record);
	else if (storing->file->format == TSURUGI_FORMAT_NDJSON)
		rejected.record = tsurugi_reject_line(bytes, count, PG_UTF8);
	else
		rejected.record = tsurugi_reject_json(storing->relation, storing->attributes, bytes, bytes + count);
	MemoryContextSwitchTo(before);
	storing->reject(storing->argument, &rejected);
	MemoryContextReset(storing->memory);
}

/* Stores all records that fit. */
static void
store_fitting(tsurugi_storing *storing)
{
	int first = 0;
	int end = storing->group->count;
	Fault fault;

	while (first < storing->group->count)
	{
		if (try_to_store(storing, first, end, &fault))
		{
			first = end;
			end = storing->group->count;
		}
		else if (end - first > 1)
			end = Min(Max(fault.record, first + 1), end - 1);
		else
		{
			reject(storing, &storing->group->records[first], &fault);
			first = end;
			end = storing->group->count;
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
append_replace(StringInfo sql, const tsurugi_storing *storing)
{
	TupleDesc descriptor = RelationGetDescr(storing->load->relation);
	Bitmapset *key = primary_key(storing->load->relation);
	const char *separator = " (";
	int attribute = -1;
	ListCell *cell;

	while ((attribute = bms_next_member(key, attribute)) >= 0)
	{
		append_name(sql, separator, NameStr(TupleDescAttr(descriptor, attribute - 1)->attname));
		separator = ", ";
	}
	separator = ") DO UPDATE SET ";
	foreach (cell, storing->attributes)
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
prepare_insert(const tsurugi_storing *storing)
{
	Relation relation = storing->load->relation;
	Oid *types = palloc(sizeof(Oid) * list_length(storing->attributes));
	const char *separator = " (";
	StringInfoData sql;
	StringInfoData parameters;
	ListCell *cell;

	initStringInfo(&sql);
	initStringInfo(&parameters);
	appendStringInfo(&sql, "INSERT INTO %s",
					 quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
												RelationGetRelationName(relation)));
	foreach (cell, storing->attributes)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(RelationGetDescr(relation), lfirst_int(cell) - 1);
		int i = foreach_current_index(cell);

		append_name(&sql, separator, NameStr(attribute->attname));
		appendStringInfo(&parameters, "%s$%d", separator, i + 1);
		types[i] = attribute->atttypid;
		separator = ", ";
	}
	appendStringInfo(&sql, ") OVERRIDING SYSTEM VALUE VALUES%s) ON CONFLICT", parameters.data);
	if (storing->load->on_conflict == TSURUGI_LOAD_CONFLICT_REPLACE)
		append_replace(&sql, storing);
	else
		appendStringInfoString(&sql, " DO NOTHING");
	return tsurugi_query_prepare(sql.data, list_length(storing->attributes), types);
}

/* --- groups ----------------------------------------------------------------------------------- */

tsurugi_storing *
tsurugi_storing_begin(const tsurugi_load *load, void (*reject)(void *argument, const tsurugi_reject *reject),
					  void *argument)
{
	tsurugi_storing *storing = palloc0(sizeof(*storing));

	storing->load = load;
	storing->reject = reject;
	storing->argument = argument;
	storing->memory = AllocSetContextCreate(CurrentMemoryContext, "load rows", ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&storing->json_line);
	if (load->statement != NULL)
		storing->insert = tsurugi_query_prepare(load->statement->text, load->statement->count, load->statement->types);
	return storing;
}

static void
end_file(tsurugi_storing *storing)
{
	if (storing->insert != NULL && storing->load->statement == NULL)
	{
		SPI_freeplan(storing->insert);
		storing->insert = NULL;
	}
	if (storing->parse != NULL)
		free_parsestate(storing->parse);
	if (storing->json_lines != NULL)
		tsurugi_json_lines_end(storing->json_lines);
	storing->parse = NULL;
	storing->json_lines = NULL;
}

void
tsurugi_storing_file(tsurugi_storing *storing, const tsurugi_load_file *file, List *columns, List *options)
{
	const tsurugi_load *load = storing->load;

	end_file(storing);
	storing->file = file;
	storing->relation = tsurugi_load_relation(load, file);
	storing->columns = columns;
	storing->options = options;
	storing->attributes = CopyGetAttnums(RelationGetDescr(storing->relation), storing->relation, columns);
	if (file->format == TSURUGI_FORMAT_NDJSON)
		storing->json_lines = tsurugi_json_lines_begin(file->name, storing->relation, storing->attributes, file->names,
													   load->statement != NULL && load->columns != NIL);
	if (load->statement != NULL)
		return;
	storing->parse = tsurugi_copy_parse_state(load->relation, storing->attributes);
	if (load->on_conflict != TSURUGI_LOAD_CONFLICT_ERROR)
		storing->insert = prepare_insert(storing);
}

int64
tsurugi_store_group(tsurugi_storing *storing, const tsurugi_group *group)
{
	int64 before = storing->rows;
	CopyFromState volatile state;

	storing->group = group;
	storing->outer = running;
	running = storing;
	PG_TRY();
	{
		if (storing->load->skips)
			store_fitting(storing);
		else
			store(storing, 0, group->count, &state);
	}
	PG_FINALLY();
	{
		running = storing->outer;
	}
	PG_END_TRY();
	return storing->rows - before;
}

void
tsurugi_storing_end(tsurugi_storing *storing)
{
	end_file(storing);
	MemoryContextDelete(storing->memory);
	pfree(storing->json_line.data);
	pfree(storing);
}

/* --- files ------------------------------------------------------------------------------------ */

static void
note(tsurugi_records_place place, tsurugi_records_place *noted, int64 rows)
{
	tg_batch_progress *progress = tsurugi_batch_progress();
	tsurugi_records_place more = tsurugi_records_move(noted, place);

	tg_fetch_add_relaxed(&progress->rows, (uint64) rows);
	tsurugi_records_note(&more);
}

static void
store_file(tsurugi_storing *storing, const tsurugi_load_file *file, tsurugi_group *group)
{
	tsurugi_records *records = tsurugi_records_open(storing->load, file);
	tsurugi_records_place noted = {0};

	tsurugi_storing_file(storing, file, tsurugi_records_columns(records), tsurugi_records_options(records));
	while (tsurugi_records_read(records, group, TSURUGI_GROUP_ROWS))
	{
		int64 rows = tsurugi_store_group(storing, group);

		note(tsurugi_records_place_behind(file, group), &noted, rows);
	}
	note(tsurugi_records_place_behind(file, NULL), &noted, 0);
	tsurugi_records_close(records);
}

static void
take_reject(void *rejects, const tsurugi_reject *reject)
{
	tsurugi_rejects_add(rejects, reject);
}

void
tsurugi_load_by_rows(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out)
{
	tsurugi_group *group;
	tsurugi_storing *storing;
	tsurugi_rejects *rejects;
	ListCell *cell;

	/* a batch's statement may be one that reads, or of a temporary table */
	if (load->statement == NULL && !load->relation->rd_islocaltemp)
		PreventCommandIfReadOnly("a load");
	PreventCommandIfParallelMode(load->statement == NULL ? "a load" : "a batch");
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "SPI_connect failed");
	group = palloc(sizeof(*group));
	initStringInfo(&group->text);
	rejects = tsurugi_rejects_begin(load->statement == NULL ? RelationGetRelationName(load->relation) : NULL,
									load->reject_file, load->reject_limit, load->files);
	storing = tsurugi_storing_begin(load, take_reject, rejects);
	foreach (cell, load->files)
		store_file(storing, lfirst(cell), group);
	*rows_out = storing->rows;
	tsurugi_storing_end(storing);
	*rejected_out = tsurugi_rejects_end(rejects);
	if (SPI_finish() != SPI_OK_FINISH)
		elog(ERROR, "SPI_finish failed");
}
