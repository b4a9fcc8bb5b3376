/*
 * fdw_explain.c
 *	  EXPLAIN: which way a node runs, and with ANALYZE which way it ran.
 *
 *	Tsurugi Scan: key range, ascending, in place
 *	Key Cond: (id > 10)								of a secondary index: Index Name, Index Cond
 *	Tsurugi Source: in place, 2 batches				with ANALYZE
 *
 *	Tsurugi Scan: arms of an OR, in place			an arm after the other
 *	  Arm: key look-up
 *	    Key Cond: (id > 10)
 *	    Rows: 7										of all executions (with ANALYZE)
 *	    Rows Removed by Earlier Arms: 3				rows that an earlier arm had
 *
 *	Tsurugi Scan: index range, ascending, in place
 *	Index Name: t_a
 *	Index Cond: (a > 10)
 *	Also In: index range, ascending					another index that rows have to be in
 *	  Index Name: t_b
 *	  Index Cond: (b > 10)
 *	  Entries: 70									of all executions (with ANALYZE)
 *	Rows Removed by Other Indexes: 3				entries of the first index left out
 *
 * Without ANALYZE nothing is shown that depends on the contents of the table.
 */
#include "postgres.h"

#include "src/exec/fdw_change.h"

#include "access/genam.h"
#include "access/stratnum.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/ruleutils.h"

#include "src/base/settings.h"
#include "src/value/key_column.h"
#include "src/exec/and_scan.h"
#include "src/exec/nearest.h"
#include "src/exec/or_scan.h"
#include "src/exec/scan.h"
#include "src/exec/table_scan.h"
#include "src/table/keys.h"

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

/* The question to an index: of the plan, or of an arm. */
typedef struct Asked
{
	const tsurugi_scan_access *access;
	const List *values; /* the values that the index is compared with */
} Asked;

/* The text of the conditions that an index answers, under construction. */
typedef struct Shown
{
	Relation relation;
	const Asked *asked;
	Relation index;
	const tsurugi_index *described;
	List *context;
	int count; /* conditions */
	int value; /* the next one of the plan's values */
	StringInfoData text;
} Shown;

/* A column of the index: the table's, or an expression. */
static char *
describe_column(const Shown *shown, int column)
{
	Relation relation = shown->relation;
	const tsurugi_key_column *key = &shown->described->key[column];

	if (key->attnum != 0)
		return pstrdup(quote_identifier(NameStr(TupleDescAttr(RelationGetDescr(relation), key->attnum - 1)->attname)));
	return deparse_expression((Node *) tsurugi_index_expression(shown->index, key->position),
							  deparse_context_for(RelationGetRelationName(relation), RelationGetRelid(relation)), false,
							  false);
}

/* "column rest" */
static void
add_condition(Shown *shown, int column, const char *rest)
{
	appendStringInfo(&shown->text, "%s(%s %s)", shown->count++ > 0 ? " AND " : "", describe_column(shown, column),
					 rest);
}

static char *
next_value(Shown *shown)
{
	return deparse_expression(list_nth(shown->asked->values, shown->value++), shown->context, false, false);
}

/* Adds a comparison, with the operator of the column's B-tree family. */
static void
add_comparison(Shown *shown, int column, StrategyNumber strategy, const char *format)
{
	const tsurugi_key_column *key = &shown->described->key[column];
	Oid operator= get_opfamily_member(key->family, key->opcintype, key->opcintype,
									  key->equality ? HTEqualStrategyNumber : strategy);

	add_condition(shown, column, psprintf("%s %s", get_opname(operator), psprintf(format, next_value(shown))));
}

/* Adds a bound; a bound of several columns is shown as a comparison of rows. */
static void
add_bound(Shown *shown, int column, int count, StrategyNumber strategy)
{
	const tsurugi_key_column *key = &shown->described->key[column];
	StringInfoData columns;
	StringInfoData values;

	if (count <= 1)
	{
		if (count == 1)
			add_comparison(shown, column, strategy, "%s");
		return;
	}
	initStringInfo(&columns);
	initStringInfo(&values);
	for (int i = 0; i < count; i++)
	{
		appendStringInfo(&columns, "%s%s", i > 0 ? ", " : "", describe_column(shown, column + i));
		appendStringInfo(&values, "%s%s", i > 0 ? ", " : "", next_value(shown));
	}
	appendStringInfo(&shown->text, "%s(ROW(%s) %s ROW(%s))", shown->count++ > 0 ? " AND " : "", columns.data,
					 get_opname(get_opfamily_member(key->family, key->opcintype, key->opcintype, strategy)),
					 values.data);
}

static void
add_bounds(Shown *shown, const tsurugi_shape *shape)
{
	if (shape->high == TSURUGI_BOUND_PATH)
	{
		add_condition(shown, shape->fixed_count, psprintf("<@ %s", next_value(shown)));
		shown->value++;
		return;
	}
	add_bound(shown, shape->fixed_count, tsurugi_shape_low_count(shape),
			  shape->low == TSURUGI_BOUND_INCLUSIVE ? BTGreaterEqualStrategyNumber : BTGreaterStrategyNumber);
	add_bound(shown, shape->fixed_count, tsurugi_shape_high_count(shape),
			  shape->high == TSURUGI_BOUND_INCLUSIVE ? BTLessEqualStrategyNumber : BTLessStrategyNumber);
}

static const tsurugi_index *
find_index(Relation relation, Oid index)
{
	const tsurugi_relation *described = tsurugi_relation_get(relation);

	for (int i = 0; i < described->index_count; i++)
		if (described->indexes[i].oid == index)
			return &described->indexes[i];
	elog(ERROR, "index %u is none of relation %u", index, described->oid);
}

/* Adds the conditions that are answered by keys (USING gin) or covers. */
static void
add_sought(Shown *shown)
{
	const tsurugi_scan_access *access = shown->asked->access;
	ListCell *column;
	ListCell *operator;

	forboth (column, access->sought_columns, operator, access->sought_operators)
		add_condition(shown, lfirst_int(column),
					  psprintf("%s %s", get_opname(lfirst_oid(operator)), next_value(shown)));
}

/* Of an access by a B-tree's keys. */
static const char *
name_of_keys(Relation relation, const tsurugi_scan_access *access)
{
	const tsurugi_shape *shape = &access->shape;
	bool is_primary = shape->index == tsurugi_relation_get(relation)->key_index;
	bool one = shape->arrays == 0;

	if (shape->fixed_count == 0 && shape->low == TSURUGI_BOUND_NONE && shape->high == TSURUGI_BOUND_NONE &&
		!shape->not_null)
		return is_primary ? "all keys" : "whole index";
	if (is_primary)
		return one ? "key range" : "key ranges";
	return one ? "index range" : "index ranges";
}

/* The conditions that an index, which is open, answers: "(a > 10)", "((a > 10) AND (a < 20))". */
static char *
describe_conditions(Shown *shown)
{
	const tsurugi_shape *shape = &shown->asked->access->shape;

	shown->described = find_index(shown->relation, shape->index);
	initStringInfo(&shown->text);
	for (int i = 0; i < shape->fixed_count && shown->described->gin == NULL; i++)
	{
		if ((shape->nulls >> i & 1) != 0)
			add_condition(shown, i, "IS NULL");
		else
			add_comparison(shown, i, BTEqualStrategyNumber, (shape->arrays >> i & 1) != 0 ? "ANY (%s)" : "%s");
	}
	add_bounds(shown, shape);
	if (shape->not_null)
		add_condition(shown, shape->fixed_count, "IS NOT NULL");
	add_sought(shown);
	return shown->count == 1 ? shown->text.data : psprintf("(%s)", shown->text.data);
}

/*
 * Conditions that the index answers are not among the plan's own, which
 * PostgreSQL shows.  Made from what its columns are compared with: a plan whose
 * output is its tuple has no conditions to recheck.
 */
static void
show_index_condition(ForeignScanState *node, const Asked *asked, ExplainState *es)
{
	const tsurugi_shape *shape = &asked->access->shape;
	Shown shown = {.relation = node->ss.ss_currentRelation, .asked = asked};
	const char *conditions;
	bool primary;

	if (shape->way == TSURUGI_WAY_TABLE)
		return;
	shown.index = index_open(shape->index, AccessShareLock);
	shown.context = set_deparse_context_plan(es->deparse_cxt, node->ss.ps.plan, ancestors_of(node));
	conditions = describe_conditions(&shown);
	primary = shown.index->rd_index->indisprimary;
	if (!primary)
		ExplainPropertyText("Index Name", RelationGetRelationName(shown.index), es);
	index_close(shown.index, NoLock);
	if (shown.count > 0)
		ExplainPropertyText(primary ? "Key Cond" : "Index Cond", conditions, es);
	if (shape->nearest)
	{
		tsurugi_scan_exprs exprs;

		tsurugi_scan_exprs_get((ForeignScan *) node->ss.ps.plan, &exprs);
		show_condition("Order By", exprs.distance, node, es);
	}
}

char *
tsurugi_describe_access(Relation relation, const tsurugi_scan_access *access, const List *values, List *context)
{
	Asked asked = {.access = access, .values = values};
	Shown shown = {.relation = relation, .asked = &asked, .context = context};
	const char *conditions;
	char *text;

	shown.index = index_open(access->shape.index, AccessShareLock);
	conditions = describe_conditions(&shown);
	text = psprintf("%s%s%s", name_of_keys(relation, access),
					shown.index->rd_index->indisprimary
						? ""
						: psprintf(" %s", quote_identifier(RelationGetRelationName(shown.index))),
					shown.count > 0 ? psprintf(" %s", conditions) : "");
	index_close(shown.index, NoLock);
	return text;
}

/* --- ways -------------------------------------------------------------------------- */

static const tsurugi_scan_plan *
plan_of(const ForeignScanState *node)
{
	return tsurugi_scan_plan_of((const ForeignScan *) node->ss.ps.plan);
}

static Asked
asked_of(const ForeignScanState *node)
{
	tsurugi_scan_exprs exprs;

	tsurugi_scan_exprs_get((const ForeignScan *) node->ss.ps.plan, &exprs);
	return (Asked){.access = plan_of(node)->access, .values = exprs.values};
}

/* Gets the question of an arm, or of a further index. */
static Asked
asked_of_part(const ForeignScanState *node, int part)
{
	tsurugi_scan_exprs exprs;
	tsurugi_part_exprs own;

	tsurugi_scan_exprs_get((const ForeignScan *) node->ss.ps.plan, &exprs);
	tsurugi_part_exprs_get(&exprs, part, &own);
	return (Asked){.access = list_nth(plan_of(node)->parts, part), .values = own.values};
}

static const char *
name_of_way(ForeignScanState *node, const Asked *asked)
{
	const tsurugi_shape *shape = &asked->access->shape;

	if (shape->way == TSURUGI_WAY_KEY)
		return shape->arrays == 0 ? "key look-up" : "key look-ups";
	if (shape->way == TSURUGI_WAY_TABLE)
		return "whole table";
	if (shape->way == TSURUGI_WAY_ARMS)
		return "arms of an OR";
	if (shape->nearest)
		return "index extents, nearest first";
	if (asked->access->sought_columns != NIL)
		return shape->covers > 0 ? "index extents" : "index keys";
	return psprintf("%s, %s", name_of_keys(node->ss.ss_currentRelation, asked->access),
					shape->backward ? "descending" : "ascending");
}

static void
show_way(ForeignScanState *node, const char *label, const char *prefix, const Asked *asked, ExplainState *es)
{
	const char *way = name_of_way(node, asked);

	if (asked->access->shape.way == TSURUGI_WAY_TABLE && tsurugi_scan_pool_rows >= 0)
		way = psprintf("%s%s, by tasks of the pool from %d rows on", prefix, way, tsurugi_scan_pool_rows);
	else
		way = psprintf("%s%s, in place", prefix, way);
	ExplainPropertyText(label, way, es);
}

/*
 * Shows where the rows came from; but not for look-ups, which have one way only, or arms, which
 * show it themselves.
 */
static void
show_source(const tsurugi_scan *scan, const tsurugi_shape *shape, ExplainState *es)
{
	if (!es->analyze || shape->way == TSURUGI_WAY_KEY || shape->way == TSURUGI_WAY_ARMS)
		return;
	if (scan == NULL || !scan->started)
		ExplainPropertyText("Tsurugi Source", "never read", es);
	else if (shape->nearest)
	{
		uint64 rows;
		uint64 boxes;

		tsurugi_nearest_source_figures(scan->source, &rows, &boxes);
		ExplainPropertyText("Tsurugi Source",
							psprintf("in place, " UINT64_FORMAT " rows in " UINT64_FORMAT " boxes", rows, boxes), es);
	}
	else
	{
		bool by_pool = shape->way == TSURUGI_WAY_TABLE && tsurugi_table_source_by_pool(scan->source);

		ExplainPropertyText(
			"Tsurugi Source",
			psprintf(by_pool ? "tasks of the pool, " UINT64_FORMAT " buffers" : "in place, " UINT64_FORMAT " batches",
					 scan->batches),
			es);
	}
}

static void
show_arm(ForeignScanState *node, const tsurugi_scan *scan, int arm, ExplainState *es)
{
	Asked asked = asked_of_part(node, arm);

	ExplainPropertyText("Arm", name_of_way(node, &asked), es);
	es->indent += es->format == EXPLAIN_FORMAT_TEXT;
	show_index_condition(node, &asked, es);
	if (es->analyze && scan != NULL)
	{
		const tsurugi_arm_figures *figures = tsurugi_arms_source_figures(scan->source, arm);

		ExplainPropertyUInteger("Rows", NULL, figures->rows, es);
		if (figures->left_out > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Rows Removed by Index Recheck", NULL, figures->left_out, es);
		if (figures->repeated > 0 || es->format != EXPLAIN_FORMAT_TEXT)
			ExplainPropertyUInteger("Rows Removed by Earlier Arms", NULL, figures->repeated, es);
	}
	es->indent -= es->format == EXPLAIN_FORMAT_TEXT;
}

static void
show_arms(ForeignScanState *node, const tsurugi_scan *scan, ExplainState *es)
{
	int count = list_length(plan_of(node)->parts);

	ExplainOpenGroup("Arms", "Arms", false, es);
	es->indent += es->format == EXPLAIN_FORMAT_TEXT;
	for (int i = 0; i < count; i++)
	{
		ExplainOpenGroup("Arm", NULL, true, es);
		show_arm(node, scan, i, es);
		ExplainCloseGroup("Arm", NULL, true, es);
	}
	es->indent -= es->format == EXPLAIN_FORMAT_TEXT;
	ExplainCloseGroup("Arms", "Arms", false, es);
}

static void
show_others(ForeignScanState *node, const tsurugi_scan *scan, ExplainState *es)
{
	int count = list_length(plan_of(node)->parts);

	ExplainOpenGroup("Other Indexes", "Other Indexes", false, es);
	for (int i = 0; i < count; i++)
	{
		Asked asked = asked_of_part(node, i);

		ExplainOpenGroup("Other Index", NULL, true, es);
		ExplainPropertyText("Also In", name_of_way(node, &asked), es);
		es->indent += es->format == EXPLAIN_FORMAT_TEXT;
		show_index_condition(node, &asked, es);
		if (es->analyze && scan != NULL)
			ExplainPropertyUInteger("Entries", NULL, tsurugi_and_source_entries(scan->source, i), es);
		es->indent -= es->format == EXPLAIN_FORMAT_TEXT;
		ExplainCloseGroup("Other Index", NULL, true, es);
	}
	ExplainCloseGroup("Other Indexes", "Other Indexes", false, es);
	if (es->analyze && scan != NULL)
		ExplainPropertyUInteger("Rows Removed by Other Indexes", NULL, tsurugi_and_source_passed_over(scan->source),
								es);
}

/* Shows which parts of which indexes are read.  scan: NULL if it has not been made. */
static void
show_index(ForeignScanState *node, const tsurugi_scan *scan, const Asked *asked, ExplainState *es)
{
	if (asked->access->shape.way == TSURUGI_WAY_ARMS)
	{
		show_arms(node, scan, es);
		return;
	}
	show_index_condition(node, asked, es);
	if (plan_of(node)->parts != NIL)
		show_others(node, scan, es);
}

void
tsurugiExplainForeignScan(ForeignScanState *node, ExplainState *es)
{
	Asked asked;

	if (tsurugi_is_tid_scan((ForeignScan *) node->ss.ps.plan))
	{
		tsurugi_tid_explain(node, es);
		return;
	}
	asked = asked_of(node);
	show_way(node, "Tsurugi Scan", "", &asked, es);
	show_index(node, node->fdw_state, &asked, es);
	show_source(node->fdw_state, &asked.access->shape, es);
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
	tsurugi_before_hide(rinfo);
}

void
tsurugiExplainDirectModify(ForeignScanState *node, ExplainState *es)
{
	const ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	const tsurugi_scan *scan = node->fdw_state == NULL ? NULL : tsurugi_direct_scan(node);
	Asked asked = asked_of(node);
	tsurugi_scan_exprs exprs;

	show_way(node, label_of(plan->operation), "direct, ", &asked, es);
	show_index(node, scan, &asked, es);
	tsurugi_scan_exprs_get(plan, &exprs);
	if (exprs.condition != NULL)
		show_condition("Filter", exprs.condition, node, es);
	if (es->analyze && node->ss.ps.instrument != NULL && node->ss.ps.instrument->nfiltered1 > 0)
		ExplainPropertyFloat("Rows Removed by Filter", NULL, node->ss.ps.instrument->nfiltered1, 0, es);
	show_source(scan, &asked.access->shape, es);
}
