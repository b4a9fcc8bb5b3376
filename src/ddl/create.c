/*
 * create.c
 *	  CREATE TABLE in PostgreSQL's own words, for tables in memory.
 *
 * CREATE TABLE ... USING tsurugi becomes CREATE FOREIGN TABLE on the default server; under
 * tsurugi_fdw.create_table a plain CREATE TABLE does, too; pg_dump writes such tables as foreign
 * ones.  Under the setting, tables that cannot be in memory stay PostgreSQL's: temporary,
 * partitioned and typed tables, and those of an extension.  Storage parameters and the like become
 * options (storage_parameters.c).
 *
 * CREATE TABLE ... AS makes the table from the query's columns and fills it by an INSERT of all
 * rows that the query, or the prepared statement, returns; EXPLAIN ANALYZE shows this INSERT.
 *
 * PostgreSQL refuses LIKE for foreign tables in the same place as keys.  So its columns are written
 * out before; defaults, checks, keys and extended statistics come from PostgreSQL's own
 * expandTableLikeClause afterwards.
 */
#include "postgres.h"

#include "src/ddl/create.h"

#include "access/relation.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/toast_compression.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type_d.h"
#include "commands/createas.h"
#include "commands/defrem.h"
#include "commands/event_trigger.h"
#include "commands/extension.h"
#include "commands/sequence.h"
#include "commands/comment.h"
#include "commands/prepare.h"
#include "executor/executor.h"
#include "executor/tstoreReceiver.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "parser/parse_node.h"
#include "parser/parse_utilcmd.h"
#include "parser/parser.h"
#include "rewrite/rewriteHandler.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/queryenvironment.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "src/ddl/storage_parameters.h"

bool tsurugi_create_table;
char *tsurugi_default_server;

/* --- which statements ------------------------------------------------------------------ */

static bool
is_explicit(const char *method)
{
	return method != NULL && strcmp(method, TSURUGI_METHOD) == 0;
}

/* The setting is on, and nothing in the statement requests another kind of table. */
static bool
is_implied(const RangeVar *table, const char *method)
{
	return tsurugi_create_table && method == NULL && table->relpersistence != RELPERSISTENCE_TEMP &&
		   (table->schemaname == NULL || strcmp(table->schemaname, "pg_temp") != 0) && !creating_extension &&
		   !IsBinaryUpgrade;
}

static char *
default_server(void)
{
	if (GetForeignServerByName(tsurugi_default_server, true) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("server \"%s\" does not exist", tsurugi_default_server),
				 errhint("Create it by CREATE SERVER %s FOREIGN DATA WRAPPER tsurugi_fdw, or set "
						 "tsurugi_fdw.default_server.",
						 quote_identifier(tsurugi_default_server))));
	return pstrdup(tsurugi_default_server);
}

static void
check_explicit(const RangeVar *table, bool is_typed)
{
	if (table->relpersistence == RELPERSISTENCE_TEMP)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("temporary tables cannot use access method \"%s\"", TSURUGI_METHOD)));
	if (is_typed)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("typed tables cannot use access method \"%s\"", TSURUGI_METHOD)));
}

CreateForeignTableStmt *
tsurugi_create_as_foreign(CreateStmt *written)
{
	CreateForeignTableStmt *statement;
	CreateStmt *base;

	if (written->partspec != NULL)
		return NULL; /* PostgreSQL refuses USING there */
	if (is_explicit(written->accessMethod))
		check_explicit(written->relation, written->ofTypename != NULL);
	else if (!is_implied(written->relation, written->accessMethod) || written->ofTypename != NULL)
		return NULL;
	statement = makeNode(CreateForeignTableStmt);
	base = copyObject(written);
	statement->base = *base;
	statement->base.type = T_CreateForeignTableStmt;
	statement->base.relation->relpersistence = RELPERSISTENCE_PERMANENT;
	statement->base.accessMethod = NULL;
	statement->base.options = NIL;
	statement->base.tablespacename = NULL;
	statement->options = tsurugi_storage_options(written);
	statement->servername = default_server();
	return statement;
}

/* --- CREATE TABLE ... AS ------------------------------------------------------------------- */

static List *
columns_of(const List *targets, const List *names)
{
	List *columns = NIL;
	ListCell *name = list_head(names);
	ListCell *cell;

	foreach (cell, targets)
	{
		const TargetEntry *entry = lfirst(cell);
		const char *column = entry->resname;
		Node *value = (Node *) entry->expr;

		if (entry->resjunk)
			continue;
		if (name != NULL)
		{
			column = strVal(lfirst(name));
			name = lnext(names, name);
		}
		if (!OidIsValid(exprCollation(value)) && type_is_collatable(exprType(value)))
			ereport(ERROR, (errcode(ERRCODE_INDETERMINATE_COLLATION),
							errmsg("no collation was derived for column \"%s\" with collatable type %s", column,
								   format_type_be(exprType(value))),
							errhint("Use the COLLATE clause to set the collation explicitly.")));
		columns = lappend(columns, makeColumnDef(column, exprType(value), exprTypmod(value), exprCollation(value)));
	}
	if (name != NULL)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR), errmsg("too many column names were specified")));
	return columns;
}

/* Builds the analysed INSERT INTO table of all rows that the query returns. */
static Query *
make_insert(Relation table, Query *query)
{
	Query *insert = makeNode(Query);
	RangeTblEntry *target = makeNode(RangeTblEntry);
	RangeTblEntry *source = makeNode(RangeTblEntry);
	RangeTblRef *from = makeNode(RangeTblRef);
	AttrNumber column = 0;
	ListCell *cell;

	target->rtekind = RTE_RELATION;
	target->relid = RelationGetRelid(table);
	target->relkind = table->rd_rel->relkind;
	target->rellockmode = AccessExclusiveLock; /* fill() holds it */
	/* As in PostgreSQL's CREATE TABLE AS, no right to INSERT is required. */
	target->eref = makeAlias(RelationGetRelationName(table), NIL);
	source->rtekind = RTE_SUBQUERY;
	source->subquery = query;
	source->eref = makeAlias("*SELECT*", NIL);
	source->inFromCl = true;
	foreach (cell, query->targetList)
	{
		TargetEntry *entry = lfirst(cell);
		TargetEntry *inserted;

		if (entry->resjunk)
			continue;
		column++;
		inserted =
			makeTargetEntry((Expr *) makeVarFromTargetEntry(2, entry), column,
							pstrdup(NameStr(TupleDescAttr(RelationGetDescr(table), column - 1)->attname)), false);
		insert->targetList = lappend(insert->targetList, inserted);
		target->insertedCols = bms_add_member(target->insertedCols, column - FirstLowInvalidHeapAttributeNumber);
		target->eref->colnames = lappend(target->eref->colnames, makeString(inserted->resname));
		source->eref->colnames = lappend(source->eref->colnames, makeString(pstrdup(entry->resname)));
	}
	insert->commandType = CMD_INSERT;
	insert->canSetTag = true;
	insert->resultRelation = 1;
	insert->rtable = list_make2(target, source);
	from->rtindex = 2;
	insert->jointree = makeFromExpr(list_make1(from), NULL);
	return insert;
}

/* Executes the query into the table, and returns the number of rows.  Follows ExecCreateTableAs. */
static uint64
fill(const tsurugi_utility *utility, const RangeVar *name, Query *query)
{
	Relation table = table_openrv(name, AccessExclusiveLock);
	List *rewritten = QueryRewrite(make_insert(table, query));
	PlannedStmt *plan;
	QueryDesc *run;
	uint64 count;

	if (list_length(rewritten) != 1)
		elog(ERROR, "unexpected rewrite result for CREATE TABLE AS");
	plan = pg_plan_query(linitial_node(Query, rewritten), utility->text, 0, utility->parameters);
	PushCopiedSnapshot(GetActiveSnapshot());
	UpdateActiveSnapshotCommandId();
	run = CreateQueryDesc(plan, utility->text, GetActiveSnapshot(), InvalidSnapshot, None_Receiver, utility->parameters,
						  utility->environment, 0);
	ExecutorStart(run, 0);
	ExecutorRun(run, ForwardScanDirection, 0, true);
	count = run->estate->es_processed;
	ExecutorFinish(run);
	ExecutorEnd(run);
	FreeQueryDesc(run);
	PopActiveSnapshot();
	table_close(table, NoLock);
	return count;
}

/*
 * Executes a prepared statement, stores its rows, and inserts them into the table; returns their
 * number.
 */
static uint64
fill_by_execute(const tsurugi_utility *utility, const RangeVar *name, ExecuteStmt *execute, TupleDesc columns)
{
	ParseState *parse = make_parsestate(NULL);
	EphemeralNamedRelation rows = palloc0(sizeof(*rows));
	DestReceiver *receiver = CreateTuplestoreDestReceiver();
	tsurugi_utility filling = *utility;
	RawStmt *all = linitial_node(RawStmt, raw_parser("SELECT * FROM \"tsurugi rows\"", RAW_PARSE_DEFAULT));
	uint64 count;

	parse->p_sourcetext = utility->text;
	rows->md = (EphemeralNamedRelationMetadataData){
		.name = "tsurugi rows", .tupdesc = CreateTupleDescCopy(columns), .enrtype = ENR_NAMED_TUPLESTORE};
	rows->reldata = tuplestore_begin_heap(false, false, work_mem);
	SetTuplestoreDestReceiverParams(receiver, rows->reldata, CurrentMemoryContext, false, NULL, NULL);
	ExecuteQuery(parse, execute, NULL, utility->parameters, receiver, NULL);
	receiver->rDestroy(receiver);
	free_parsestate(parse);
	rows->md.enrtuples = tuplestore_tuple_count(rows->reldata);
	filling.environment = create_queryEnv();
	register_ENR(filling.environment, rows);
	count = fill(&filling, name, parse_analyze_fixedparams(all, utility->text, NULL, 0, filling.environment));
	tuplestore_end(rows->reldata);
	return count;
}

/*
 * The prepared statement that the query executes; NULL if it is an ordinary query.  Raises 42809 if
 * the prepared statement is not a SELECT.
 */
static PreparedStatement *
prepared_of(const Query *query)
{
	PreparedStatement *prepared;
	List *queries;

	if (query->commandType == CMD_SELECT)
		return NULL;
	prepared = FetchPreparedStatement(castNode(ExecuteStmt, query->utilityStmt)->name, true);
	queries = prepared->plansource->query_list;
	if (list_length(queries) != 1 || linitial_node(Query, queries)->commandType != CMD_SELECT)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE), errmsg("prepared statement is not a SELECT")));
	return prepared;
}

/* The statement's query is a copy, which may be changed. */
static void
create_as(const tsurugi_utility *utility, void *argument)
{
	CreateTableAsStmt *statement = argument;
	IntoClause *into = statement->into;
	Query *query = castNode(Query, statement->query);
	PreparedStatement *prepared;
	CreateStmt *create = makeNode(CreateStmt);
	ObjectAddress table;
	uint64 count = 0;

	if (CreateTableAsRelExists(statement))
		return;
	create->relation = copyObject(into->rel);
	create->relation->schemaname =
		get_namespace_name(RangeVarGetAndCheckCreationNamespace(create->relation, NoLock, NULL));
	prepared = prepared_of(query);
	create->tableElts =
		columns_of(prepared == NULL ? query->targetList : FetchPreparedStatementTargetList(prepared), into->colNames);
	create->oncommit = into->onCommit;
	create->options = copyObject(into->options);
	create->tablespacename = into->tableSpaceName;
	create->accessMethod = pstrdup(TSURUGI_METHOD);
	tsurugi_utility_run_untold(utility, (Node *) create);
	CommandCounterIncrement();
	if (!into->skipData && prepared == NULL)
		count = fill(utility, create->relation, query);
	else if (!into->skipData)
		count = fill_by_execute(utility, create->relation, castNode(ExecuteStmt, query->utilityStmt),
								FetchPreparedStatementResultDesc(prepared));
	ObjectAddressSet(table, RelationRelationId, RangeVarGetRelid(create->relation, NoLock, false));
	EventTriggerCollectSimpleCommand(table, InvalidObjectAddress, (Node *) statement);
	if (utility->completion != NULL && !into->skipData)
		SetQueryCompletion(utility->completion, CMDTAG_SELECT, count);
}

/* Whether the statement makes a table in memory. */
static bool
makes_ours(const CreateTableAsStmt *statement)
{
	const IntoClause *into = statement->into;

	if (statement->objtype != OBJECT_TABLE)
	{
		if (is_explicit(into->accessMethod))
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("materialized views cannot use access method \"%s\"", TSURUGI_METHOD)));
		return false;
	}
	if (!is_explicit(into->accessMethod))
		return is_implied(into->rel, into->accessMethod);
	check_explicit(into->rel, false);
	return true;
}

bool
tsurugi_create_run_as(const tsurugi_utility *utility, CreateTableAsStmt *written)
{
	if (!makes_ours(written))
		return false;
	tsurugi_utility_with_events(utility, (Node *) written, create_as, copyObject(written));
	return true;
}

static bool
is_analyzed(const ExplainStmt *explain)
{
	bool analyzed = false;
	ListCell *cell;

	foreach (cell, explain->options)
		if (strcmp(lfirst_node(DefElem, cell)->defname, "analyze") == 0)
			analyzed = defGetBoolean(lfirst(cell));
	return analyzed;
}

/* Makes the table, and returns the INSERT that is explained and executed instead of the query. */
static Query *
insert_into_new(const tsurugi_utility *utility, CreateTableAsStmt *statement)
{
	RangeVar *name = statement->into->rel;
	Query *query = castNode(Query, copyObject(statement->query));
	Relation table;
	Query *insert;

	statement->into->skipData = true;
	tsurugi_utility_run_part(utility, (Node *) statement);
	CommandCounterIncrement();
	table = table_openrv(name, AccessExclusiveLock);
	insert = make_insert(table, query);
	table_close(table, NoLock);
	return insert;
}

/*
 * EXECUTE is explained with its existing plan, on which no INSERT can be put.  So PostgreSQL makes
 * an ordinary table, which then moves into memory.  The same is done where no rows are to be stored
 * (WITH NO DATA).
 */
static void
explain_and_move(const tsurugi_utility *utility, ExplainStmt *explain, IntoClause *into)
{
	AlterTableStmt *move = makeNode(AlterTableStmt);
	AlterTableCmd *command = makeNode(AlterTableCmd);

	into->rel->schemaname = get_namespace_name(RangeVarGetAndCheckCreationNamespace(into->rel, NoLock, NULL));
	into->accessMethod = NULL;
	if (tsurugi_storage_default_is_unlogged(default_server()))
		into->rel->relpersistence = RELPERSISTENCE_UNLOGGED;
	tsurugi_utility_run_instead(utility, (Node *) explain);
	CommandCounterIncrement();
	command->subtype = AT_SetAccessMethod;
	command->name = pstrdup(TSURUGI_METHOD);
	move->relation = copyObject(into->rel);
	move->cmds = list_make1(command);
	move->objtype = OBJECT_TABLE;
	tsurugi_utility_run_part(utility, (Node *) move);
}

bool
tsurugi_create_explain(const tsurugi_utility *utility, const ExplainStmt *written)
{
	ExplainStmt *explain;
	CreateTableAsStmt *statement = (CreateTableAsStmt *) castNode(Query, written->query)->utilityStmt;

	if (statement == NULL || !IsA(statement, CreateTableAsStmt) || !is_analyzed(written) || !makes_ours(statement))
		return false;
	if (OidIsValid(
			get_relname_relid(statement->into->rel->relname, RangeVarGetCreationNamespace(statement->into->rel))))
		return false; /* PostgreSQL reports it */
	explain = copyObject((ExplainStmt *) written);
	statement = castNode(CreateTableAsStmt, castNode(Query, explain->query)->utilityStmt);
	if (castNode(Query, statement->query)->commandType != CMD_SELECT || statement->into->skipData)
		explain_and_move(utility, explain, statement->into);
	else
	{
		explain->query = (Node *) insert_into_new(utility, statement);
		tsurugi_utility_run_instead(utility, (Node *) explain);
	}
	return true;
}

/* --- LIKE ------------------------------------------------------------------------------------ */

static ColumnDef *
like_column(const FormData_pg_attribute *attribute, bits32 options)
{
	ColumnDef *column =
		makeColumnDef(NameStr(attribute->attname), attribute->atttypid, attribute->atttypmod, attribute->attcollation);

	column->is_not_null = attribute->attnotnull;
	if ((options & CREATE_TABLE_LIKE_STORAGE) != 0)
		column->storage = attribute->attstorage;
	if ((options & CREATE_TABLE_LIKE_COMPRESSION) != 0 && CompressionMethodIsValid(attribute->attcompression))
		column->compression = pstrdup(GetCompressionMethodName(attribute->attcompression));
	if (attribute->atthasdef && attribute->attgenerated != '\0' && (options & CREATE_TABLE_LIKE_GENERATED))
		column->generated = attribute->attgenerated;
	if (attribute->attidentity != '\0' && (options & CREATE_TABLE_LIKE_IDENTITY))
	{
		Constraint *identity = makeNode(Constraint);

		identity->contype = CONSTR_IDENTITY;
		identity->generated_when = attribute->attidentity;
		identity->location = -1;
		column->constraints = list_make1(identity);
	}
	return column;
}

/* Opens the table that a LIKE names, and checks the right to read it. */
static Relation
open_liked(ParseState *parse, const RangeVar *name)
{
	ParseCallbackState position;
	Relation relation;
	char kind;

	setup_parser_errposition_callback(&position, parse, name->location);
	relation = relation_openrv(name, AccessShareLock);
	kind = relation->rd_rel->relkind;

	if (kind != RELKIND_RELATION && kind != RELKIND_VIEW && kind != RELKIND_MATVIEW && kind != RELKIND_COMPOSITE_TYPE &&
		kind != RELKIND_FOREIGN_TABLE && kind != RELKIND_PARTITIONED_TABLE)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("relation \"%s\" is invalid in LIKE clause", RelationGetRelationName(relation)),
						errdetail_relkind_not_supported(kind)));
	cancel_parser_errposition_callback(&position);
	if (kind == RELKIND_COMPOSITE_TYPE)
	{
		if (pg_type_aclcheck(relation->rd_rel->reltype, GetUserId(), ACL_USAGE) != ACLCHECK_OK)
			aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TYPE, RelationGetRelationName(relation));
	}
	else if (pg_class_aclcheck(RelationGetRelid(relation), GetUserId(), ACL_SELECT) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(kind), RelationGetRelationName(relation));
	return relation;
}

static List *
expand_like(ParseState *parse, TableLikeClause *clause, List *elements)
{
	Relation relation = open_liked(parse, clause->relation);
	TupleDesc attributes = RelationGetDescr(relation);

	for (int i = 0; i < attributes->natts; i++)
	{
		const FormData_pg_attribute *attribute = TupleDescAttr(attributes, i);

		if (!attribute->attisdropped)
			elements = lappend(elements, like_column(attribute, clause->options));
	}
	clause->relationOid = RelationGetRelid(relation);
	table_close(relation, NoLock);
	return elements;
}

List *
tsurugi_like_expand(CreateStmt *statement, const char *text)
{
	ParseState *parse = make_parsestate(NULL);
	List *elements = NIL;
	List *clauses = NIL;
	ListCell *cell;

	parse->p_sourcetext = text;
	foreach (cell, statement->tableElts)
	{
		Node *element = lfirst(cell);

		if (IsA(element, TableLikeClause))
		{
			elements = expand_like(parse, (TableLikeClause *) element, elements);
			clauses = lappend(clauses, element);
		}
		else
			elements = lappend(elements, element);
	}
	statement->tableElts = elements;
	free_parsestate(parse);
	return clauses;
}

/* The comment on a column of the model, for the column of the same name. */
static Node *
like_comment(const RangeVar *table, Oid model, const FormData_pg_attribute *attribute)
{
	char *text = GetComment(model, RelationRelationId, attribute->attnum);
	CommentStmt *comment;

	if (text == NULL)
		return NULL;
	comment = makeNode(CommentStmt);
	comment->objtype = OBJECT_COLUMN;
	comment->object = (Node *) list_make3(makeString(table->schemaname), makeString(table->relname),
										  makeString(pstrdup(NameStr(attribute->attname))));
	comment->comment = text;
	return (Node *) comment;
}

static List *
like_comments(const RangeVar *table, const TableLikeClause *clause)
{
	Relation model;
	TupleDesc attributes;
	List *comments = NIL;

	if ((clause->options & CREATE_TABLE_LIKE_COMMENTS) == 0)
		return NIL;
	model = relation_open(clause->relationOid, NoLock);
	attributes = RelationGetDescr(model);
	for (int i = 0; i < attributes->natts; i++)
	{
		Node *comment = TupleDescAttr(attributes, i)->attisdropped
							? NULL
							: like_comment(table, clause->relationOid, TupleDescAttr(attributes, i));

		if (comment != NULL)
			comments = lappend(comments, comment);
	}
	relation_close(model, NoLock);
	return comments;
}

/*
 * Gives the properties of the model's identity sequence to that of the column of the same name.
 * The new sequence becomes a bigint, as PostgreSQL makes it for LIKE: as created first, it has the
 * column's type, whose range may not include the bounds.
 */
static Node *
like_sequence(const RangeVar *table, const FormData_pg_attribute *attribute)
{
	Oid relation = RangeVarGetRelid(table, NoLock, false);
	Oid sequence = getIdentitySequence(relation, get_attnum(relation, NameStr(attribute->attname)), false);
	AlterSeqStmt *alter = makeNode(AlterSeqStmt);

	alter->sequence = makeRangeVar(get_namespace_name(get_rel_namespace(sequence)), get_rel_name(sequence), -1);
	alter->for_identity = true;
	alter->options = sequence_options(getIdentitySequence(attribute->attrelid, attribute->attnum, false));
	alter->options = lcons(makeDefElem("as", (Node *) makeTypeNameFromOid(INT8OID, -1), -1),
						   lappend(alter->options, makeDefElem("restart", NULL, -1)));
	return (Node *) alter;
}

static void
finish_sequences(const tsurugi_utility *utility, const RangeVar *table, const TableLikeClause *clause)
{
	Relation model;
	TupleDesc attributes;

	if ((clause->options & CREATE_TABLE_LIKE_IDENTITY) == 0)
		return;
	model = relation_open(clause->relationOid, NoLock);
	attributes = RelationGetDescr(model);
	for (int i = 0; i < attributes->natts; i++)
		if (!TupleDescAttr(attributes, i)->attisdropped && TupleDescAttr(attributes, i)->attidentity != '\0')
			tsurugi_utility_run_untold(utility, like_sequence(table, TupleDescAttr(attributes, i)));
	relation_close(model, NoLock);
}

void
tsurugi_like_finish(const tsurugi_utility *utility, RangeVar *table, List *clauses)
{
	ListCell *clause;
	ListCell *cell;

	foreach (clause, clauses)
	{
		List *statements;

		CommandCounterIncrement();
		finish_sequences(utility, table, lfirst(clause));
		statements = list_concat(expandTableLikeClause(table, lfirst(clause)), like_comments(table, lfirst(clause)));
		foreach (cell, statements)
		{
			CommandCounterIncrement();
			tsurugi_utility_run_part(utility, lfirst(cell));
		}
	}
}
