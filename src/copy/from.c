/*
 * from.c
 *	  COPY t FROM files in Parquet, Arrow or NDJSON.
 *
 * PostgreSQL's COPY asks for bytes of its text format by a callback without an argument; so the
 * statement that is running is in a variable, which a statement inside of it (of a trigger) sets
 * and puts back.
 *
 * Files of the server that the pool can load are stored by its tasks (load_pool.h).
 *
 * With a list of columns, those of the file are taken in their order.  Without one they are found
 * by their names; columns of the table that the file does not have get their defaults.  In NDJSON
 * columns have no order: they are found by their names, and with a list it has to have them.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "commands/copy.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "parser/parse_collate.h"
#include "parser/parse_expr.h"
#include "parser/parse_relation.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"

#include "src/base/shown_text.h"
#include "src/copy/json_in.h"
#include "src/copy/load.h"
#include "src/copy/server_file.h"

/* A statement that is running. */
typedef struct Reading
{
	struct Reading *outer;
	Relation relation;
	tsurugi_format format;
	List *names;		/* of files, yet to be read */
	List *attributes;	/* their numbers: the columns that a row of text has */
	tsurugi_file *file; /* that is being read; NULL: none */
	int *columns;		/* of it, by attributes */
	bool by_name;
	const int *sources;		  /* of it, by attributes, of which there are all; NULL: to be found */
	MemoryContext memory;	  /* of the statement; COPY's own is emptied row by row */
	MemoryContext row_memory; /* of values that are turned into text */
	tg_file_values *values;
	unsigned count; /* rows of the batch */
	unsigned row;
	tsurugi_json *json; /* NDJSON: the file that is being read; NULL: none */
	tsurugi_json_lines *json_lines;
	tsurugi_json_record json_record; /* of the line at hand */
	StringInfoData json_line;
	StringInfoData text;
	int given; /* bytes of text that COPY has got */
} Reading;

static Reading *running;

/* --- rights ----------------------------------------------------------------------------- */

void
tsurugi_copy_check_any_right(Relation relation)
{
	Oid id = RelationGetRelid(relation);

	if (pg_class_aclcheck(id, GetUserId(), ACL_INSERT) != ACLCHECK_OK &&
		pg_attribute_aclcheck_all(id, GetUserId(), ACL_INSERT, ACLMASK_ANY) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relation->rd_rel->relkind),
					   RelationGetRelationName(relation));
}

/* As in DoCopy (copy.c). */
static void
check_rights(ParseState *parse, RangeTblEntry *entry, const List *attributes)
{
	ListCell *cell;

	entry->requiredPerms = ACL_INSERT;
	foreach (cell, attributes)
		entry->insertedCols =
			bms_add_member(entry->insertedCols, lfirst_int(cell) - FirstLowInvalidHeapAttributeNumber);
	ExecCheckRTPerms(parse->p_rtable, true);
	if (check_enable_rls(entry->relid, InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("COPY FROM not supported with row-level security"),
				 errhint("Use INSERT statements instead.")));
}

static Node *
transform_where(ParseState *parse, ParseNamespaceItem *item, Node *written)
{
	Node *clause;

	if (written == NULL)
		return NULL;
	addNSItemToQuery(parse, item, false, true, true);
	clause = transformExpr(parse, copyObject(written), EXPR_KIND_COPY_WHERE);
	clause = coerce_to_boolean(parse, clause, "WHERE");
	assign_expr_collations(parse, clause);
	clause = eval_const_expressions(NULL, clause);
	clause = (Node *) canonicalize_qual((Expr *) clause, false);
	return (Node *) make_ands_implicit((Expr *) clause);
}

/* --- columns ----------------------------------------------------------------------------- */

/* The column of the present file with that name; -1: there is none. */
static int
column_named(const tsurugi_file *file, const char *name)
{
	char *utf8 = pg_server_to_any(name, (int) strlen(name), PG_UTF8);

	for (unsigned i = 0; i < tg_columnar_column_count(&file->reader); i++)
		if (strcmp(tg_columnar_column(&file->reader, i)->name, utf8) == 0)
			return (int) i;
	return -1;
}

/* Each of the file's columns must be one of the table's, once. */
static void
check_names(const Reading *reading)
{
	TupleDesc descriptor = RelationGetDescr(reading->relation);
	unsigned count = tg_columnar_column_count(&reading->file->reader);

	for (unsigned i = 0; i < count; i++)
	{
		char *name = tsurugi_file_column_name(reading->file, i);
		bool known = false;

		for (int a = 0; a < descriptor->natts; a++)
			known |= !TupleDescAttr(descriptor, a)->attisdropped &&
					 strcmp(NameStr(TupleDescAttr(descriptor, a)->attname), name) == 0;
		if (!known)
			ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
							errmsg("column \"%s\" of file \"%s\" does not exist in relation \"%s\"", name,
								   reading->file->name, RelationGetRelationName(reading->relation)),
							errhint("A list of the table's columns takes those of the file in their order.")));
		if (column_named(reading->file, name) != (int) i)
			ereport(ERROR, (errcode(ERRCODE_DUPLICATE_COLUMN),
							errmsg("column \"%s\" occurs more than once in file \"%s\"", name, reading->file->name)));
	}
}

/* The table's columns that the first file has, as a list of COPY. */
static List *
named_columns(const Reading *reading)
{
	TupleDesc descriptor = RelationGetDescr(reading->relation);
	List *names = NIL;

	for (int a = 0; a < descriptor->natts; a++)
	{
		char *name = NameStr(TupleDescAttr(descriptor, a)->attname);

		if (!TupleDescAttr(descriptor, a)->attisdropped && column_named(reading->file, name) >= 0)
			names = lappend(names, makeString(name));
	}
	return names;
}

static void
check_column(const Reading *reading, const tg_file_column *column, const FormData_pg_attribute *attribute)
{
	const char *name = tsurugi_shown_text(column->name);

	if (column->type == TG_FILE_UNREADABLE)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("column \"%s\" of file \"%s\" cannot be read", name, reading->file->name),
						errdetail("Not supported: %s.", column->stored)));
	if (!tsurugi_column_fits(column, attribute->atttypid))
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
						errmsg("column \"%s\" is of type %s but column \"%s\" of file \"%s\" is of type %s",
							   NameStr(attribute->attname), format_type_be(attribute->atttypid), name,
							   reading->file->name, tsurugi_type_of_column(column))));
}

static int
column_of(const Reading *reading, int i, const FormData_pg_attribute *attribute)
{
	int column = i;

	if (reading->sources != NULL)
		column = reading->sources[i];
	else if (reading->by_name)
		column = column_named(reading->file, NameStr(attribute->attname));
	if (column < 0)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_COLUMN),
						errmsg("file \"%s\" has no column \"%s\"", reading->file->name, NameStr(attribute->attname))));
	if (column >= (int) tg_columnar_column_count(&reading->file->reader))
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
						errmsg("file \"%s\" has been changed since the load began", reading->file->name)));
	return column;
}

/* Finds the file's column of each attribute. */
static void
map_columns(Reading *reading)
{
	TupleDesc descriptor = RelationGetDescr(reading->relation);
	int count = (int) tg_columnar_column_count(&reading->file->reader);
	int i = 0;
	ListCell *cell;

	if (reading->sources == NULL && count != list_length(reading->attributes))
		ereport(ERROR, (errcode(ERRCODE_BAD_COPY_FILE_FORMAT),
						errmsg("file \"%s\" has %d columns, expected %d", reading->file->name, count,
							   list_length(reading->attributes))));
	reading->columns = palloc(sizeof(int) * (count + 1));
	foreach (cell, reading->attributes)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, lfirst_int(cell) - 1);
		int column = column_of(reading, i, attribute);

		check_column(reading, tg_columnar_column(&reading->file->reader, column), attribute);
		tg_columnar_want(&reading->file->reader, column);
		reading->columns[i++] = column;
	}
	reading->values = palloc0(sizeof(tg_file_values) * (count + 1));
}

/* --- rows -------------------------------------------------------------------------------- */

static void
open_next(Reading *reading)
{
	const char *name = linitial(reading->names);

	reading->names = list_delete_first(reading->names);
	reading->file = tsurugi_file_open(name, reading->format, 0);
	if (reading->by_name)
		check_names(reading);
	map_columns(reading);
}

static void
close_file(Reading *reading)
{
	tsurugi_file_close(reading->file);
	reading->file = NULL;
	pfree(reading->columns);
	pfree(reading->values);
}

/* Whether there is a row at hand: of this batch, the next one, or the next file. */
static bool
has_columnar_row(Reading *reading)
{
	tg_file_fault fault;

	while (reading->row == reading->count)
	{
		if (reading->file == NULL)
		{
			if (reading->names == NIL)
				return false;
			open_next(reading);
		}
		reading->row = 0;
		if (tg_columnar_read(&reading->file->reader, reading->values, &reading->count, &fault) != TG_OK)
			tsurugi_file_fail(reading->file, &fault);
		if (reading->count == 0)
			close_file(reading);
	}
	return true;
}

static void
append_columnar_row(Reading *reading)
{
	TupleDesc descriptor = RelationGetDescr(reading->relation);
	MemoryContext before = MemoryContextSwitchTo(reading->row_memory);
	int i = 0;
	ListCell *cell;

	foreach (cell, reading->attributes)
	{
		int column = reading->columns[i];

		if (i++ > 0)
			appendStringInfoCharMacro(&reading->text, '\t');
		tsurugi_append_value(&reading->text, tg_columnar_column(&reading->file->reader, column),
							 &reading->values[column], reading->row,
							 TupleDescAttr(descriptor, lfirst_int(cell) - 1)->atttypid);
	}
	appendStringInfoCharMacro(&reading->text, '\n');
	reading->row++;
	MemoryContextSwitchTo(before);
	MemoryContextReset(reading->row_memory);
}

/* The next line is at hand: of this file, or the next one. */
static bool
has_json_row(Reading *reading)
{
	for (;;)
	{
		if (reading->json == NULL)
		{
			if (reading->names == NIL)
				return false;
			reading->json = tsurugi_json_open(linitial(reading->names), 0);
		}
		if (reading->json_lines == NULL)
			reading->json_lines = tsurugi_json_lines_begin(reading->names != NIL ? linitial(reading->names) : "stdin",
														   reading->relation, reading->attributes, NIL, false);
		resetStringInfo(&reading->json_line);
		if (tsurugi_json_next(reading->json, &reading->json_line, &reading->json_record))
			return true;
		tsurugi_json_close(reading->json);
		tsurugi_json_lines_end(reading->json_lines);
		reading->json = NULL;
		reading->json_lines = NULL;
		reading->names = reading->names != NIL ? list_delete_first(reading->names) : NIL;
	}
}

static bool
has_row(Reading *reading)
{
	return reading->format == TSURUGI_FORMAT_NDJSON ? has_json_row(reading) : has_columnar_row(reading);
}

/* COPY asks for a line before it gets it, so that it counts the one that an error is about. */
static void
append_rows(Reading *reading)
{
	if (reading->format == TSURUGI_FORMAT_NDJSON)
	{
		tsurugi_json_line(reading->json_lines, reading->json_line.data, reading->json_line.len, &reading->json_record,
						  &reading->text);
		return;
	}
	while (reading->text.len < TSURUGI_COPY_BUFFER && reading->row < reading->count)
		append_columnar_row(reading);
}

/* Makes text until there are that many bytes to be given, or no more rows. */
static void
make_text(Reading *reading, int least)
{
	while (reading->text.len - reading->given < least)
	{
		if (reading->given > 0)
		{
			reading->text.len -= reading->given;
			memmove(reading->text.data, reading->text.data + reading->given, reading->text.len);
			reading->given = 0;
		}
		if (!has_row(reading))
			break;
		CHECK_FOR_INTERRUPTS();
		append_rows(reading);
	}
}

/* COPY's callback: at least so many bytes, unless there are no more. */
static int
give_text(void *into, int least, int most)
{
	Reading *reading = running;
	MemoryContext before = MemoryContextSwitchTo(reading->memory);
	int bytes;

	make_text(reading, least);
	MemoryContextSwitchTo(before);
	bytes = Min(most, reading->text.len - reading->given);
	memcpy(into, reading->text.data + reading->given, bytes);
	reading->given += bytes;
	return bytes;
}

/* --- the statement ----------------------------------------------------------------------- */

static uint64
read_rows(Reading *reading, ParseState *parse, Node *where, List *columns, List *options)
{
	CopyFromState state;
	uint64 rows;

	reading->outer = running;
	running = reading;
	PG_TRY();
	{
		state = BeginCopyFrom(parse, reading->relation, where, NULL, false, give_text, columns, options);
		rows = CopyFrom(state);
		EndCopyFrom(state);
	}
	PG_FINALLY();
	{
		running = reading->outer;
	}
	PG_END_TRY();
	return rows;
}

static List *
text_options(const tsurugi_copy_options *options)
{
	const char *encoding = options->format == TSURUGI_FORMAT_NDJSON ? GetDatabaseEncodingName() : "UTF8";
	List *list = list_make1(makeDefElem("encoding", (Node *) makeString(pstrdup(encoding)), -1));

	return options->freeze != NULL ? lappend(list, options->freeze) : list;
}

/* The columns that are read, by the first file, which is open: as a list of COPY. */
static List *
choose_columns(Reading *reading, List *columns)
{
	reading->by_name = columns == NIL && reading->sources == NULL;
	if (reading->by_name)
	{
		check_names(reading);
		columns = named_columns(reading);
	}
	reading->attributes = CopyGetAttnums(RelationGetDescr(reading->relation), reading->relation, columns);
	map_columns(reading);
	return columns;
}

/* Without a list of columns they are those of all files. */
static List *
begin_json(Reading *reading, const CopyStmt *statement)
{
	List *columns = statement->attlist;
	List *keys = NIL;
	int64 rows = 0;
	int names_left = TSURUGI_FILE_NAMES_MAX;
	ListCell *cell;

	initStringInfo(&reading->json_line);
	if (statement->filename == NULL)
		reading->json = tsurugi_json_open(NULL, list_length(columns));
	else
		reading->names = tsurugi_file_names(statement->filename, &names_left);
	if (columns == NIL && reading->json != NULL)
		keys = tsurugi_json_keys(reading->json, NIL, &rows);
	foreach (cell, columns == NIL ? reading->names : NIL)
	{
		tsurugi_json *json = tsurugi_json_open(lfirst(cell), 0);

		keys = tsurugi_json_keys(json, keys, &rows);
		tsurugi_json_close(json);
	}
	columns = tsurugi_json_columns(reading->relation, statement->filename != NULL ? statement->filename : "stdin", keys,
								   columns);
	reading->attributes = CopyGetAttnums(RelationGetDescr(reading->relation), reading->relation, columns);
	return columns;
}

/* Opens the first file, or what the client sends: so the columns are known. */
static List *
begin_files(Reading *reading, const CopyStmt *statement)
{
	int names_left = TSURUGI_FILE_NAMES_MAX;

	if (reading->format == TSURUGI_FORMAT_NDJSON)
		return begin_json(reading, statement);
	if (statement->filename != NULL)
	{
		reading->names = tsurugi_file_names(statement->filename, &names_left);
		reading->file = tsurugi_file_open(linitial(reading->names), reading->format, 0);
		reading->names = list_delete_first(reading->names);
	}
	else
		reading->file = tsurugi_file_open(NULL, reading->format, list_length(statement->attlist));
	return choose_columns(reading, statement->attlist);
}

ParseState *
tsurugi_copy_parse_state(Relation relation, const List *attributes)
{
	ParseState *parse = make_parsestate(NULL);
	ParseNamespaceItem *item = addRangeTableEntryForRelation(parse, relation, RowExclusiveLock, NULL, false, false);

	check_rights(parse, item->p_rte, attributes);
	return parse;
}

void
tsurugi_copy_look(Relation relation, const char *name, tsurugi_format format, List *columns, int64 *rows_out,
				  int64 *blocks_out, tsurugi_copy_take *take, void *argument)
{
	Reading reading = {.relation = relation, .format = format, .file = tsurugi_file_open(name, format, 0)};
	int i = 0;
	ListCell *cell;

	(void) choose_columns(&reading, columns);
	free_parsestate(tsurugi_copy_parse_state(relation, reading.attributes));
	*rows_out = (int64) tg_columnar_row_count(&reading.file->reader);
	*blocks_out = tg_columnar_block_count(&reading.file->reader);
	foreach (cell, reading.attributes)
	{
		int source = reading.columns[i++];

		if (take != NULL)
			take(argument, TupleDescAttr(RelationGetDescr(relation), lfirst_int(cell) - 1), (unsigned) source,
				 tg_columnar_column(&reading.file->reader, source));
	}
	close_file(&reading);
}

/* --- row by row -------------------------------------------------------------------------- */

struct tsurugi_rows
{
	Reading reading;
	List *columns;
	int64 block_rows; /* of the present block, that have been read or are yet to be */
	int64 block_row;
	unsigned block;
};

tsurugi_rows *
tsurugi_rows_open(Relation relation, const char *name, tsurugi_format format, List *columns, const int *sources)
{
	tsurugi_rows *rows = palloc0(sizeof(*rows));

	rows->reading.relation = relation;
	rows->reading.format = format;
	rows->reading.sources = sources;
	rows->reading.memory = CurrentMemoryContext;
	rows->reading.row_memory = AllocSetContextCreate(CurrentMemoryContext, "COPY row", ALLOCSET_DEFAULT_SIZES);
	rows->reading.file = tsurugi_file_open(name, format, 0);
	rows->columns = choose_columns(&rows->reading, columns);
	return rows;
}

List *
tsurugi_rows_columns(const tsurugi_rows *rows)
{
	return rows->columns;
}

bool
tsurugi_rows_append(tsurugi_rows *rows, StringInfo text, int *block_out)
{
	MemoryContext before = MemoryContextSwitchTo(rows->reading.memory);
	bool has = rows->reading.file != NULL && has_columnar_row(&rows->reading);

	MemoryContextSwitchTo(before);
	if (!has)
		return false;
	while (rows->block_row == rows->block_rows)
	{
		rows->block_rows = (int64) tg_columnar_block_rows(&rows->reading.file->reader, rows->block++);
		rows->block_row = 0;
	}
	rows->block_row++;
	rows->reading.text = *text;
	append_columnar_row(&rows->reading);
	*text = rows->reading.text;
	*block_out = (int) rows->block;
	return true;
}

void
tsurugi_rows_seek(tsurugi_rows *rows, unsigned block)
{
	tg_columnar_seek(&rows->reading.file->reader, block);
	rows->reading.row = rows->reading.count = 0;
	rows->block = block;
	rows->block_row = rows->block_rows = 0;
}

void
tsurugi_rows_pass(tsurugi_rows *rows, int64 count)
{
	while (count > 0 && rows->reading.file != NULL && has_columnar_row(&rows->reading))
	{
		unsigned part = (unsigned) Min(count, rows->reading.count - rows->reading.row);

		rows->reading.row += part;
		count -= part;
	}
}

void
tsurugi_rows_close(tsurugi_rows *rows)
{
	if (rows->reading.file != NULL)
		close_file(&rows->reading);
	MemoryContextDelete(rows->reading.row_memory);
	pfree(rows);
}

/* --- the statement itself ---------------------------------------------------------------- */

/*
 * Whether the pool may store the rows.  Of NDJSON those of one file alone: COPY counts the lines of
 * all, and says them in errors; and without a list of columns, which a load does not read as COPY.
 */
static bool
is_for_pool(const Reading *reading, const CopyStmt *statement)
{
	if (statement->filename == NULL)
		return false;
	return reading->format != TSURUGI_FORMAT_NDJSON || (statement->attlist == NIL && list_length(reading->names) == 1);
}

uint64
tsurugi_copy_from(const tsurugi_copy *copy, const tsurugi_copy_options *options)
{
	const CopyStmt *statement = copy->statement;
	Reading reading = {.format = options->format};
	ParseState *parse = make_parsestate(NULL);
	ParseNamespaceItem *item;
	Node *where;
	List *columns;
	int64 rows;

	parse->p_sourcetext = copy->text;
	parse->p_queryEnv = copy->environment;
	reading.relation = table_openrv(statement->relation, RowExclusiveLock);
	item = addRangeTableEntryForRelation(parse, reading.relation, RowExclusiveLock, NULL, false, false);
	where = transform_where(parse, item, statement->whereClause);
	tsurugi_copy_check_any_right(reading.relation);
	if (!reading.relation->rd_islocaltemp)
		PreventCommandIfReadOnly("COPY FROM");
	PreventCommandIfParallelMode("COPY FROM");
	reading.memory = CurrentMemoryContext;
	reading.row_memory = AllocSetContextCreate(CurrentMemoryContext, "COPY row", ALLOCSET_DEFAULT_SIZES);
	initStringInfo(&reading.text);
	columns = begin_files(&reading, statement);
	check_rights(parse, item->p_rte, reading.attributes);
	if (where == NULL && options->freeze == NULL && is_for_pool(&reading, statement) &&
		tsurugi_load_copied(reading.relation, reading.format, statement->attlist, statement->filename, &rows))
	{
		if (reading.file != NULL)
			close_file(&reading);
	}
	else
		rows = (int64) read_rows(&reading, parse, where, columns, text_options(options));
	table_close(reading.relation, NoLock);
	free_parsestate(parse);
	return (uint64) rows;
}
