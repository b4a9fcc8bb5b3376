/*
 * fdw_explain.c
 *	  EXPLAIN: which way a node runs, and with ANALYZE which way it ran.
 *
 *	Tsurugi Scan: key range, ascending, in place
 *	Key Cond: (id > 10)
 *	Tsurugi Source: in place, 2 batches				with ANALYZE
 *
 * Without ANALYZE nothing is shown that depends on the contents of the table.
 */
#include "postgres.h"

#include "src/fdw.h"

#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"

#include "src/scan.h"
#include "src/settings.h"

/* --- conditions ------------------------------------------------------------------ */

/*
 * The plan nodes above one node, its parent first: by them a condition's
 * parameters are shown as the columns they stand for.  False if the node is
 * not below plan; *ancestors is then as before.
 */
static bool
find_ancestors(Plan *plan, const Plan *node, List **ancestors)
{
	List *children = NIL;
	ListCell *cell;
	bool found = false;

	if (plan == NULL)
		return false;
	if (plan == node)
		return true;
	*ancestors = lcons(plan, *ancestors);
	if (IsA(plan, Append))
		children = ((Append *) plan)->appendplans;
	else if (IsA(plan, MergeAppend))
		children = ((MergeAppend *) plan)->mergeplans;
	else if (IsA(plan, SubqueryScan))
		found = find_ancestors(((SubqueryScan *) plan)->subplan, node, ancestors);
	found =
		found || find_ancestors(outerPlan(plan), node, ancestors) || find_ancestors(innerPlan(plan), node, ancestors);
	foreach (cell, children)
		found = found || find_ancestors(lfirst(cell), node, ancestors);
	if (!found)
		*ancestors = list_delete_first(*ancestors);
	return found;
}

static List *
ancestors_of(const ForeignScanState *node)
{
	const PlannedStmt *statement = node->ss.ps.state->es_plannedstmt;
	List *ancestors = NIL;
	ListCell *cell;

	if (find_ancestors(statement->planTree, node->ss.ps.plan, &ancestors))
		return ancestors;
	foreach (cell, statement->subplans)
		if (find_ancestors(lfirst(cell), node->ss.ps.plan, &ancestors))
			break;
	return ancestors;
}

static void
show_condition(const char *label, Expr *condition, ForeignScanState *node, ExplainState *es)
{
	List *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors_of(node));

	ExplainPropertyText(label, deparse_expression((Node *) condition, context, es->verbose, false), es);
}

/* "column operator value" for the i-th value that the key is compared with. */
static char *
key_comparison(ForeignScanState *node, List *context, int i, int column, const char *operator)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Relation relation = node->ss.ss_currentRelation;
	AttrNumber attnum = tsurugi_relation_get(relation)->key[column].attnum;

	return psprintf("(%s %s %s)",
					quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attname)), operator,
					deparse_expression(list_nth(plan->fdw_exprs, i), context, false, false));
}

/*
 * Conditions that the key answers are not among the plan's own, which
 * PostgreSQL shows.  Made from what the key is compared with: a plan whose
 * output is its tuple has no conditions to recheck.
 */
static void
show_key_condition(ForeignScanState *node, const tsurugi_shape *shape, ExplainState *es)
{
	List *context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors_of(node));
	StringInfoData text;
	int count = 0;

	initStringInfo(&text);
	for (int i = 0; i < shape->fixed_count; i++, count++)
		appendStringInfo(&text, "%s%s", count > 0 ? " AND " : "", key_comparison(node, context, count, i, "="));
	if (shape->low != TSURUGI_BOUND_NONE)
	{
		appendStringInfo(&text, "%s%s", count > 0 ? " AND " : "",
						 key_comparison(node, context, count, shape->fixed_count,
										shape->low == TSURUGI_BOUND_INCLUSIVE ? ">=" : ">"));
		count++;
	}
	if (shape->high != TSURUGI_BOUND_NONE)
	{
		appendStringInfo(&text, "%s%s", count > 0 ? " AND " : "",
						 key_comparison(node, context, count, shape->fixed_count,
										shape->high == TSURUGI_BOUND_INCLUSIVE ? "<=" : "<"));
		count++;
	}
	if (count > 0)
		ExplainPropertyText("Key Cond", count == 1 ? text.data : psprintf("(%s)", text.data), es);
}

/* --- ways -------------------------------------------------------------------------- */

static void
get_shape(const ForeignScanState *node, tsurugi_shape *shape)
{
	List *private = ((ForeignScan *) node->ss.ps.plan)->fdw_private;

	tsurugi_shape_from_list(list_nth(private, TSURUGI_PRIVATE_SHAPE), shape);
}

static const char *
name_of_way(const tsurugi_shape *shape)
{
	const char *keys = "all keys";

	if (shape->way == TSURUGI_WAY_KEY)
		return "key look-up";
	if (shape->way == TSURUGI_WAY_TABLE)
		return "whole table";
	if (shape->fixed_count > 0 || shape->low != TSURUGI_BOUND_NONE || shape->high != TSURUGI_BOUND_NONE)
		keys = "key range";
	return psprintf("%s, %s", keys, shape->backward ? "descending" : "ascending");
}

static void
show_way(const char *label, const char *prefix, const tsurugi_shape *shape, ExplainState *es)
{
	const char *way = name_of_way(shape);

	if (shape->way == TSURUGI_WAY_TABLE && tsurugi_scan_pool_rows >= 0)
		way = psprintf("%s%s, by tasks of the pool from %d rows on", prefix, way, tsurugi_scan_pool_rows);
	else
		way = psprintf("%s%s, in place", prefix, way);
	ExplainPropertyText(label, way, es);
}

/* Where the rows came from; nothing for a look-up, which has one way only. */
static void
show_source(const tsurugi_scan *scan, const tsurugi_shape *shape, ExplainState *es)
{
	if (!es->analyze || shape->way == TSURUGI_WAY_KEY)
		return;
	if (scan == NULL || !scan->figures.started)
		ExplainPropertyText("Tsurugi Source", "never read", es);
	else
		ExplainPropertyText("Tsurugi Source",
							psprintf(scan->figures.by_pool ? "tasks of the pool, " UINT64_FORMAT " buffers"
														   : "in place, " UINT64_FORMAT " batches",
									 scan->figures.batches),
							es);
}

void
tsurugiExplainForeignScan(ForeignScanState *node, ExplainState *es)
{
	tsurugi_shape shape;

	if (tsurugi_is_tid_scan((ForeignScan *) node->ss.ps.plan))
	{
		tsurugi_tid_explain(node, es);
		return;
	}
	get_shape(node, &shape);
	show_way("Tsurugi Scan", "", &shape, es);
	show_key_condition(node, &shape, es);
	show_source(node->fdw_state, &shape, es);
}

/* --- modifications ------------------------------------------------------------------- */

static const char *
label_of(CmdType operation)
{
	return operation == CMD_UPDATE ? "Tsurugi Update" : "Tsurugi Delete";
}

/* An UPDATE or DELETE whose rows go through the executor. */
void
tsurugiExplainForeignModify(ModifyTableState *mtstate, ResultRelInfo *rinfo, List *fdw_private, int subplan_index,
							ExplainState *es)
{
	if (mtstate->operation == CMD_UPDATE || mtstate->operation == CMD_DELETE)
		ExplainPropertyText(label_of(mtstate->operation), "row by row", es);
}

void
tsurugiExplainDirectModify(ForeignScanState *node, ExplainState *es)
{
	const ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	tsurugi_shape shape;

	get_shape(node, &shape);
	show_way(label_of(plan->operation), "direct, ", &shape, es);
	show_key_condition(node, &shape, es);
	if (shape.condition)
	{
		int at = shape.fixed_count + (shape.low != TSURUGI_BOUND_NONE) + (shape.high != TSURUGI_BOUND_NONE);

		show_condition("Filter", list_nth(plan->fdw_exprs, at), node, es);
	}
	if (es->analyze && node->ss.ps.instrument != NULL && node->ss.ps.instrument->nfiltered1 > 0)
		ExplainPropertyFloat("Rows Removed by Filter", NULL, node->ss.ps.instrument->nfiltered1, 0, es);
	/* The state of a direct modification begins with its scan. */
	show_source(node->fdw_state == NULL ? NULL : *(tsurugi_scan **) node->fdw_state, &shape, es);
}
