/*
 * insert_as.c
 *	  An INSERT that a command executes by itself, with the rights of the role that has written the
 *	  table's expressions.
 *
 * After an invalidation SPI would plan the statement again as the author, who need not have the
 * rights to do so.  So the statement is analyzed, planned and executed here, once each.
 */
#include "postgres.h"

#include "src/ddl/insert_as.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "parser/parser.h"
#include "tcop/dest.h"
#include "tcop/tcopprot.h"
#include "utils/snapmgr.h"

#include "src/base/owner.h"

/* Relations read by views keep the view owner as the role to check, as PostgreSQL has set it. */
static bool
set_reader(Node *node, Oid *reader)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		RangeTblEntry *entry = (RangeTblEntry *) node;

		if (!OidIsValid(*reader))
			entry->requiredPerms = 0;
		else if (!OidIsValid(entry->checkAsUser))
			entry->checkAsUser = *reader;
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, set_reader, reader, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, set_reader, reader);
}

static Query *
analyze(const char *text, Oid reader)
{
	RawStmt *statement = linitial_node(RawStmt, raw_parser(text, RAW_PARSE_DEFAULT));
	Query *query = linitial_node(Query, pg_analyze_and_rewrite_fixedparams(statement, text, NULL, 0, NULL));

	(void) set_reader((Node *) query, &reader);
	return query;
}

static void
execute(Query *query, const char *text)
{
	PlannedStmt *plan = pg_plan_query(query, text, 0, NULL);
	QueryDesc *execution =
		CreateQueryDesc(plan, text, GetActiveSnapshot(), InvalidSnapshot, None_Receiver, NULL, NULL, 0);

	ExecutorStart(execution, 0);
	ExecutorRun(execution, ForwardScanDirection, 0, true);
	ExecutorFinish(execution);
	ExecutorEnd(execution);
	FreeQueryDesc(execution);
}

void
tsurugi_insert_as(Oid author, Oid reader, const char *text, Snapshot snapshot)
{
	tsurugi_caller caller;
	Query *query;

	CommandCounterIncrement();
	PushCopiedSnapshot(snapshot);
	UpdateActiveSnapshotCommandId();
	query = analyze(text, reader);
	tsurugi_author_begin(author, &caller);
	execute(query, text);
	tsurugi_owner_end(&caller);
	PopActiveSnapshot();
	CommandCounterIncrement();
}
