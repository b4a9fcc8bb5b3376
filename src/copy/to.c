/*
 * to.c
 *	  COPY of a table or a query TO a file in Parquet.
 *
 * A table is read as by SELECT of its columns.  The query is planned and run as COPY does
 * (BeginCopyTo, copyto.c); a receiver puts each row into the file.
 */
#include "postgres.h"

#include "src/copy/copy.h"

#include "access/table.h"
#include "commands/copy.h"
#include "executor/executor.h"
#include "executor/tuptable.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "src/base/settings.h"
#include "src/copy/datum.h"

#define GROUP_BYTES (64 * 1024 * 1024)

typedef struct Writer
{
	DestReceiver receiver;
	const char *file_name; /* NULL: the client */
	const tsurugi_copy_options *options;
	MemoryContext memory; /* of the file */
	MemoryContext row_memory;
	tsurugi_target *target;
	tg_file_target sink;
	tg_parquet_out *file;
	int column_count;
	tsurugi_written_column *columns;
	uint64 rows;
} Writer;

/* --- what the engine's writer calls: errors go past it, which holds nothing -------------- */

static bool
append(void *writer, const void *data, size_t bytes)
{
	tsurugi_target_write(((Writer *) writer)->target, data, bytes);
	return true;
}

static void *
resize(void *writer, void *memory, size_t old_bytes, size_t bytes)
{
	return tsurugi_format_resize(((Writer *) writer)->memory, memory, old_bytes, bytes);
}

/* --- the receiver ------------------------------------------------------------------------ */

static void
fail_writing(tg_status status)
{
	if (status == TG_TOO_LARGE)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("a page of the Parquet file would be too long")));
	ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
					errdetail("A row group of the Parquet file needs more than tsurugi_fdw.batch_memory."),
					errhint("Set option row_group_rows to a smaller number, or increase tsurugi_fdw.batch_memory.")));
}

static void
check_status(tg_status status)
{
	if (status != TG_OK)
		fail_writing(status);
}

/* Each name once. */
static void
check_names(TupleDesc descriptor)
{
	for (int i = 0; i < descriptor->natts; i++)
		for (int j = 0; j < i; j++)
			if (strcmp(NameStr(TupleDescAttr(descriptor, i)->attname),
					   NameStr(TupleDescAttr(descriptor, j)->attname)) == 0)
				ereport(ERROR,
						(errcode(ERRCODE_DUPLICATE_COLUMN),
						 errmsg("column name \"%s\" is not unique", NameStr(TupleDescAttr(descriptor, i)->attname)),
						 errhint("Columns of a Parquet file are found by their names; use AS.")));
}

static void
startup(DestReceiver *self, int operation, TupleDesc descriptor)
{
	Writer *writer = (Writer *) self;
	tg_file_column *columns;
	tg_parquet_options options = {.codec = (uint8) writer->options->codec,
								  .group_rows = (uint32) writer->options->group_rows,
								  .group_bytes = GROUP_BYTES,
								  .created_by = "tsurugi_fdw version 1.0"};
	/* what the file needs at its end, when the executor's memory has gone */
	MemoryContext before = MemoryContextSwitchTo(writer->memory);

	if (descriptor->natts == 0)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("a Parquet file has at least one column")));
	check_names(descriptor);
	columns = palloc0(sizeof(*columns) * descriptor->natts);
	writer->columns = palloc0(sizeof(*writer->columns) * descriptor->natts);
	writer->column_count = descriptor->natts;
	for (int i = 0; i < descriptor->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(descriptor, i);

		columns[i].name =
			pg_server_to_any(NameStr(attribute->attname), (int) strlen(NameStr(attribute->attname)), PG_UTF8);
		tsurugi_written_column_init(&writer->columns[i], attribute->atttypid, attribute->atttypmod, &columns[i]);
	}
	writer->target = tsurugi_target_begin(writer->file_name, descriptor->natts);
	writer->sink = (tg_file_target){.write = append,
									.resize = resize,
									.free = tsurugi_format_free,
									.argument = writer,
									.memory_max = (size_t) tsurugi_batch_memory_kb * 1024};
	check_status(tg_parquet_create(&writer->sink, &options, columns, (unsigned) descriptor->natts, &writer->file));
	MemoryContextSwitchTo(before);
}

static bool
receive(TupleTableSlot *slot, DestReceiver *self)
{
	Writer *writer = (Writer *) self;
	MemoryContext before = MemoryContextSwitchTo(writer->row_memory);

	CHECK_FOR_INTERRUPTS();
	slot_getallattrs(slot);
	for (int i = 0; i < writer->column_count; i++)
		if (slot->tts_isnull[i])
			check_status(tg_parquet_put_null(writer->file, (unsigned) i));
		else
			check_status(tsurugi_write_datum(writer->file, (unsigned) i, &writer->columns[i], slot->tts_values[i]));
	check_status(tg_parquet_put_row(writer->file));
	writer->rows++;
	MemoryContextSwitchTo(before);
	MemoryContextReset(writer->row_memory);
	return true;
}

static void
shutdown(DestReceiver *self)
{
}

static void
destroy(DestReceiver *self)
{
}

/* --- the query --------------------------------------------------------------------------- */

static void
check_kind(const RangeVar *name)
{
	Relation relation = table_openrv(name, AccessShareLock);
	char kind = relation->rd_rel->relkind;
	const char *shown = RelationGetRelationName(relation);
	const char *what = kind == RELKIND_VIEW				   ? "view"
					   : kind == RELKIND_MATVIEW		   ? "materialized view"
					   : kind == RELKIND_FOREIGN_TABLE	   ? "foreign table"
					   : kind == RELKIND_SEQUENCE		   ? "sequence"
					   : kind == RELKIND_PARTITIONED_TABLE ? "partitioned table"
														   : NULL;

	if (kind == RELKIND_MATVIEW && RelationIsPopulated(relation))
		what = NULL;
	if (what != NULL && kind == RELKIND_SEQUENCE)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("cannot copy from sequence \"%s\"", shown)));
	if (what != NULL)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("cannot copy from %s \"%s\"", what, shown),
						errhint("Try the COPY (SELECT ...) TO variant.")));
	table_close(relation, NoLock);
}

static void
add_target(SelectStmt *select, const char *name)
{
	ColumnRef *column = makeNode(ColumnRef);
	ResTarget *target = makeNode(ResTarget);

	column->fields = list_make1(makeString(pstrdup(name)));
	column->location = -1;
	target->val = (Node *) column;
	target->location = -1;
	select->targetList = lappend(select->targetList, target);
}

/* SELECT of the columns, of the table alone. */
static Node *
select_of_table(const CopyStmt *statement)
{
	SelectStmt *select = makeNode(SelectStmt);
	RangeVar *from = copyObject(statement->relation);
	Relation relation;
	ListCell *cell;

	check_kind(statement->relation);
	relation = table_openrv(statement->relation, AccessShareLock);
	foreach (cell, CopyGetAttnums(RelationGetDescr(relation), relation, statement->attlist))
		add_target(select, NameStr(TupleDescAttr(RelationGetDescr(relation), lfirst_int(cell) - 1)->attname));
	table_close(relation, NoLock);
	from->inh = false;
	select->fromClause = list_make1(from);
	return (Node *) select;
}

/* The checks of BeginCopyTo (copyto.c), with its messages. */
static Query *
analyze(const tsurugi_copy *copy, Node *written)
{
	RawStmt *raw = makeNode(RawStmt);
	List *rewritten;
	Query *query;

	raw->stmt = written;
	raw->stmt_location = copy->location;
	raw->stmt_len = copy->length;
	rewritten = pg_analyze_and_rewrite_fixedparams(raw, copy->text, NULL, 0, copy->environment);
	if (rewritten == NIL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("DO INSTEAD NOTHING rules are not supported for COPY")));
	if (list_length(rewritten) > 1)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("multi-statement DO INSTEAD rules are not supported for COPY")));
	query = linitial_node(Query, rewritten);
	if (query->utilityStmt != NULL && IsA(query->utilityStmt, CreateTableAsStmt))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("COPY (SELECT INTO) is not supported")));
	if (query->commandType != CMD_SELECT && query->returningList == NIL)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("COPY query must have a RETURNING clause")));
	return query;
}

static void
run_query(const tsurugi_copy *copy, Query *query, Writer *writer)
{
	PlannedStmt *plan = pg_plan_query(query, copy->text, CURSOR_OPT_PARALLEL_OK, NULL);
	QueryDesc *descriptor;

	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	descriptor = CreateQueryDesc(plan, copy->text, GetActiveSnapshot(), InvalidSnapshot, &writer->receiver, NULL,
								 copy->environment, 0);
	ExecutorStart(descriptor, 0);
	ExecutorRun(descriptor, ForwardScanDirection, 0, true);
	ExecutorFinish(descriptor);
	ExecutorEnd(descriptor);
	FreeQueryDesc(descriptor);
	PopActiveSnapshot();
}

static void
write_file(const tsurugi_copy *copy, Query *query, Writer *writer)
{
	uint64_t bytes;

	run_query(copy, query, writer);
	check_status(tg_parquet_finish(writer->file, &bytes));
	tg_parquet_out_free(writer->file);
	tsurugi_target_finish(writer->target);
}

uint64
tsurugi_copy_to(const tsurugi_copy *copy, const tsurugi_copy_options *options)
{
	const CopyStmt *statement = copy->statement;
	Writer writer = {.file_name = statement->filename, .options = options};
	Query *query;

	writer.receiver = (DestReceiver){
		.receiveSlot = receive, .rStartup = startup, .rShutdown = shutdown, .rDestroy = destroy, .mydest = DestCopyOut};
	query = analyze(copy, statement->relation != NULL ? select_of_table(statement) : copyObject(statement->query));
	writer.memory = AllocSetContextCreate(CurrentMemoryContext, "Parquet file", ALLOCSET_DEFAULT_SIZES);
	writer.row_memory = AllocSetContextCreate(CurrentMemoryContext, "COPY row", ALLOCSET_DEFAULT_SIZES);
	PG_TRY();
	{
		write_file(copy, query, &writer);
	}
	PG_CATCH();
	{
		if (writer.target != NULL)
			tsurugi_target_abandon(writer.target);
		PG_RE_THROW();
	}
	PG_END_TRY();
	MemoryContextDelete(writer.row_memory);
	MemoryContextDelete(writer.memory);
	return writer.rows;
}
