/*
 * to.c
 *	  COPY of a table or a query TO a file in Parquet, Arrow or NDJSON.
 *
 * A table is read as by SELECT of its columns.  The query is planned and run as COPY does
 * (BeginCopyTo, copyto.c); a receiver puts each row into the file, or a taker many of them.
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
#include "storage/ipc.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "src/job/job.h"

typedef struct Writer
{
	DestReceiver receiver;
	const char *file_name; /* NULL: the client */
	const tsurugi_copy_options *options;
	MemoryContext memory; /* of the statement */
	tsurugi_target *target;
	tsurugi_taker taker;
	tsurugi_writer *file; /* of the format, one of the two */
	tsurugi_json_out *json;
	uint64 rows;
} Writer;

/* --- the receiver ------------------------------------------------------------------------ */

static void
startup(DestReceiver *self, int operation, TupleDesc descriptor)
{
	Writer *writer = (Writer *) self;
	MemoryContext before;

	if (writer->options->format != TSURUGI_FORMAT_NDJSON)
		tsurugi_writer_check(descriptor, writer->options->format);
	/* what the file needs at its end, when the executor's memory has gone */
	before = MemoryContextSwitchTo(writer->memory);
	writer->target = tsurugi_target_begin(writer->file_name, descriptor->natts, true);
	if (writer->options->format == TSURUGI_FORMAT_NDJSON)
		writer->json = tsurugi_json_out_begin(writer->memory, descriptor, writer->target);
	else
		writer->file = tsurugi_writer_begin(writer->memory, descriptor, writer->target, writer->options);
	MemoryContextSwitchTo(before);
}

static bool
receive(TupleTableSlot *slot, DestReceiver *self)
{
	Writer *writer = (Writer *) self;

	CHECK_FOR_INTERRUPTS();
	if (writer->json != NULL)
		tsurugi_json_out_put(writer->json, slot);
	else
		tsurugi_writer_put(writer->file, slot);
	writer->rows++;
	return true;
}

static void
take(void *argument, const tsurugi_taken *columns, const tg_vectors *vectors, uint32 first, uint32 count)
{
	Writer *writer = argument;

	tsurugi_writer_take(writer->file, columns, vectors, first, count);
	writer->rows += count;
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

Query *
tsurugi_copy_analyze(const tsurugi_copy *copy, Node *written)
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

static PlannedStmt *
plan_query(const tsurugi_copy *copy, Query *query, bool for_taker)
{
	PlannedStmt *volatile plan;

	tsurugi_job_plan_for_taker(for_taker);
	PG_TRY();
	{
		plan = pg_plan_query(query, copy->text, CURSOR_OPT_PARALLEL_OK, NULL);
	}
	PG_FINALLY();
	{
		tsurugi_job_plan_for_taker(false);
	}
	PG_END_TRY();
	return plan;
}

/* Has the node give its rows, or those of its children, if it can. */
static void
have_node_give(PlanState *node, const tsurugi_taker *taker)
{
	const AppendState *append = (const AppendState *) node;

	tsurugi_scan_give(node, taker);
	tsurugi_job_give(node, taker);
	/* it hands rows on as they are, child by child */
	for (int i = 0; IsA(node, AppendState) && i < append->as_nplans; i++)
		have_node_give(append->appendplans[i], taker);
}

static void
have_given(const QueryDesc *descriptor, tsurugi_taker *taker)
{
	const JunkFilter *filter = descriptor->estate->es_junkFilter;

	taker->column_count = (filter != NULL ? filter->jf_cleanTupType : descriptor->tupDesc)->natts;
	have_node_give(descriptor->planstate, taker);
}

void
tsurugi_copy_run_query(const tsurugi_copy *copy, Query *query, DestReceiver *receiver, tsurugi_taker *taker)
{
	PlannedStmt *plan = plan_query(copy, query, taker != NULL);
	QueryDesc *descriptor;

	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	descriptor =
		CreateQueryDesc(plan, copy->text, GetActiveSnapshot(), InvalidSnapshot, receiver, NULL, copy->environment, 0);
	ExecutorStart(descriptor, 0);
	if (taker != NULL)
		have_given(descriptor, taker);
	ExecutorRun(descriptor, ForwardScanDirection, 0, true);
	ExecutorFinish(descriptor);
	ExecutorEnd(descriptor);
	FreeQueryDesc(descriptor);
	PopActiveSnapshot();
}

static void
write_file(const tsurugi_copy *copy, Query *query, Writer *writer)
{
	writer->taker = (tsurugi_taker){.take = take, .argument = writer};
	tsurugi_copy_run_query(copy, query, &writer->receiver,
						   writer->options->format != TSURUGI_FORMAT_NDJSON ? &writer->taker : NULL);
	if (writer->json != NULL)
		(void) tsurugi_json_out_finish(writer->json);
	else
	{
		(void) tsurugi_writer_finish(writer->file);
		writer->file = NULL;
	}
	tsurugi_target_finish(writer->target);
}

static void
give_up(int code, Datum argument)
{
	const Writer *writer = (const Writer *) DatumGetPointer(argument);

	if (writer->file != NULL)
		tsurugi_writer_abandon(writer->file);
	if (writer->target != NULL)
		tsurugi_target_abandon(writer->target);
}

uint64
tsurugi_copy_to(const tsurugi_copy *copy, const tsurugi_copy_options *options)
{
	const CopyStmt *statement = copy->statement;
	Writer writer = {.file_name = statement->filename, .options = options};
	Query *query;

	writer.receiver = (DestReceiver){
		.receiveSlot = receive, .rStartup = startup, .rShutdown = shutdown, .rDestroy = destroy, .mydest = DestCopyOut};
	query = tsurugi_copy_analyze(copy, statement->relation != NULL ? select_of_table(statement)
																   : copyObject(statement->query));
	writer.memory = AllocSetContextCreate(CurrentMemoryContext, "COPY TO", ALLOCSET_DEFAULT_SIZES);
	PG_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(&writer));
	{
		write_file(copy, query, &writer);
	}
	PG_END_ENSURE_ERROR_CLEANUP(give_up, PointerGetDatum(&writer));
	MemoryContextDelete(writer.memory);
	return writer.rows;
}
