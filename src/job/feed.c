/*
 * feed.c
 *	  The planner's side of feeds: relations whose rows PostgreSQL reads for a job.
 *
 *	Custom Scan (Tsurugi Job)				a fallback, and a child plan for each feed
 *	  Step 1: feed o, build
 *	  Step 2: scan m, probe 1 (m.id = o.m), group by (o.region)
 *	  ->  Seq Scan on orders o
 *
 * A feed is any relation that a job cannot scan by itself: an ordinary table, one of another
 * wrapper, a partitioned table with such partitions, a function, VALUES, a CTE; a table of ours
 * that has conditions which jobs do not compute, where it is joined with another; and a subquery,
 * or one side of a set operation (set.c), that no job computes.  Its child is PostgreSQL's cheapest
 * path of the relation without parameters, with all conditions on it.  The child is a plan of the
 * same query, so privileges, locks, parameters and invalidation are as without the job.  It does
 * not matter by which path the join tree reads the relation: conditions that are parameters there
 * become conditions of the join (tree.c).
 *
 * 1. The child may be run several times: a job is begun anew in the pool, a step reads its feed
 *    again, the fallback runs instead.  So nothing in it may be volatile, but what is below a CTE,
 *    whose rows PostgreSQL keeps.  A statement in which a CTE writes has no feeds: it would write
 *    while tasks read.
 * 2. Child and fallback are made of the same path.  So it has no SubPlans.  PostgreSQL makes the
 *    plan of a subquery once, and changes its planner's state by that.  What cannot be made or
 *    referenced twice are init plans, minima and maxima by an index, row marks; a subquery that has
 *    any of these, however deep, is not fed.  Nor can its append relations be referenced twice,
 *    whose numbers the planner moves where they are.  In the plan only EXPLAIN asks for them, to
 *    name columns as in the whole: they are dropped, and it names them as in the members.
 * 3. The type modifier of a column says what its values are like where a table has enforced it.
 *    What a function returns, or VALUES, a CTE or a subquery, need not be so; there it is not
 *    believed.
 * 4. Strings of all rows stay in the job's memory until it ends (runtime/query/feed.c).  Where they
 *    would be too many, there is no feed.
 * 5. The rows of a recursive query's last round are read once: all their scans in a plan have one
 *    position, so what a child has read the fallback would not see.
 */
#include "postgres.h"

#include "src/job/feed.h"

#include "foreign/fdwapi.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "src/base/settings.h"
#include "src/exec/fdw.h"
#include "src/value/codec.h"

/*
 * A column of a row that is handed on takes the session 10 nanoseconds, and 60 if it is not by
 * value.  Beside PostgreSQL's plan that is a fifth: what joins and aggregates take there is five
 * times what their costs say, if a unit is what it is elsewhere.
 */
#define NS_WORD 2
#define NS_OTHER 12

/* Of strings that are expected: a part of the job's memory, or where that has no bound. */
#define MEMORY_PART 4
#define BYTES_MAX ((double) 64 * 1024 * 1024)

/* --- columns -------------------------------------------------------------------------- */

/* 3 */
static bool
enforces_modifiers(const RelOptInfo *rel)
{
	return rel->rtekind == RTE_RELATION &&
		   (rel->fdwroutine == NULL || rel->fdwroutine->GetForeignPlan == tsurugiGetForeignPlan);
}

static List *
columns_of(const RelOptInfo *rel, const PathTarget *target)
{
	List *columns = NIL;
	ListCell *cell;

	foreach (cell, target->exprs)
	{
		Var *var = lfirst(cell);

		if (!IsA(var, Var) || var->varno != rel->relid || var->varattno <= 0)
		{
			columns = lappend(columns, makeBoolConst(false, true));
			continue;
		}
		var = copyObject(var);
		if (!enforces_modifiers(rel))
			var->vartypmod = -1;
		columns = lappend(columns, var);
	}
	return columns;
}

/* What the session does for it, in PostgreSQL's units: the child, and handing its rows on. */
static Cost
cost_of_feed(const Path *feed)
{
	double ns = 0;
	ListCell *cell;

	foreach (cell, feed->pathtarget->exprs)
		ns += get_typbyval(exprType(lfirst(cell))) ? NS_WORD : NS_OTHER;
	return feed->total_cost + tsurugi_job_cost_of_session(feed->rows * ns);
}

void
tsurugi_job_read_feed(tsurugi_job_step *step, Path *feed)
{
	step->source = TG_FROM_FEED;
	step->relation = feed->parent->relid;
	step->relids = bms_copy(feed->parent->relids);
	step->columns = columns_of(feed->parent, feed->pathtarget);
	step->feed = feed;
	step->feed_cost = cost_of_feed(feed);
	step->rows_read = step->rows_probed = feed->rows;
}

/* --- subqueries ----------------------------------------------------------------------- */

/* 2, 5 */
static bool
has_subplans_or_rounds(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) || IsA(node, SubLink))
		return true;
	if (IsA(node, RangeTblEntry))
		return ((RangeTblEntry *) node)->rtekind == RTE_CTE && ((RangeTblEntry *) node)->self_reference;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_subplans_or_rounds, context, QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, has_subplans_or_rounds, context);
}

/* Whether minima and maxima may be found by an index. */
static bool
has_minmax_path(PlannerInfo *root)
{
	ListCell *cell;

	foreach (cell, fetch_upper_rel(root, UPPERREL_GROUP_AGG, NULL)->pathlist)
		if (IsA(lfirst(cell), MinMaxAggPath))
			return true;
	return false;
}

/* 2: of a query and those within it */
static bool
can_be_planned_twice(PlannerInfo *root)
{
	if (root->init_plans != NIL || root->rowMarks != NIL || has_minmax_path(root))
		return false;
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		const RelOptInfo *rel = root->simple_rel_array[i];

		if (rel != NULL && rel->subroot != NULL && !can_be_planned_twice(rel->subroot))
			return false;
	}
	return true;
}

static bool
is_query_fit(const RelOptInfo *rel)
{
	return rel->subroot != NULL && !contain_volatile_functions((Node *) rel->subroot->parse) &&
		   !has_subplans_or_rounds((Node *) rel->subroot->parse, NULL) && can_be_planned_twice(rel->subroot);
}

/* --- what can be fed ------------------------------------------------------------------ */

static bool
is_kind_fit(const RelOptInfo *rel, const RangeTblEntry *entry)
{
	switch (entry->rtekind)
	{
		case RTE_RELATION:
		case RTE_FUNCTION:
		case RTE_TABLEFUNC:
		case RTE_VALUES:
		case RTE_NAMEDTUPLESTORE:
			return true;
		case RTE_CTE:
			return !entry->self_reference; /* 5 */
		case RTE_SUBQUERY:
			return is_query_fit(rel);
		default:
			return false;
	}
}

/* 1, 2 */
static bool
is_fit(const void *exprs)
{
	return !contain_volatile_functions((Node *) exprs) && !contain_subplans((Node *) exprs);
}

static bool
are_exprs_fit(const RelOptInfo *rel, const RangeTblEntry *entry)
{
	return is_fit(extract_actual_clauses(rel->baserestrictinfo, false)) &&
		   is_fit(extract_actual_clauses(rel->baserestrictinfo, true)) && is_fit(rel->reltarget->exprs) &&
		   is_fit(entry->functions) && is_fit(entry->tablefunc) && is_fit(entry->values_lists) &&
		   is_fit(entry->tablesample);
}

static bool
has_writing_cte(const PlannerInfo *root)
{
	while (root->parent_root != NULL)
		root = root->parent_root;
	return root->parse->hasModifyingCTE;
}

/* Expected bytes of strings that lie beside their cells. */
static double
bytes_of_strings(const Path *path)
{
	const RelOptInfo *rel = path->parent;
	double bytes = 0;
	ListCell *cell;

	foreach (cell, columns_of(rel, path->pathtarget))
	{
		const Var *var = lfirst(cell);
		tsurugi_codec codec;
		int32 width;

		if (!IsA(var, Var) || get_typlen(var->vartype) == -2)
			continue;
		tsurugi_codec_init_type(&codec, var->vartype, var->vartypmod, var->varcollid);
		width = rel->attr_widths[var->varattno - rel->min_attr];
		if (width <= 0)
			width = get_typavgwidth(var->vartype, var->vartypmod);
		if (codec.kind == TG_KIND_STRING && width > TG_STRING_INLINE_MAX)
			bytes += path->rows * width;
	}
	return bytes;
}

static double
most_bytes_of_strings(void)
{
	return tsurugi_job_memory_kb > 0 ? (double) tsurugi_job_memory_kb * 1024 / MEMORY_PART : BYTES_MAX;
}

bool
tsurugi_job_can_feed(PlannerInfo *root, RelOptInfo *rel)
{
	const RangeTblEntry *entry;

	if (!bms_is_empty(rel->lateral_relids) || IS_DUMMY_REL(rel) || rel->cheapest_total_path == NULL ||
		rel->cheapest_total_path->param_info != NULL)
		return false;
	entry = planner_rt_fetch(rel->relid, root);
	return is_kind_fit(rel, entry) && !has_writing_cte(root) && are_exprs_fit(rel, entry) &&
		   bytes_of_strings(rel->cheapest_total_path) <= most_bytes_of_strings();
}

/* --- queries of set operations -------------------------------------------------------- */

/*
 * The planner has a query's columns cast already, and constants in place of some.  The job casts
 * them, so the child hands out what the query does.
 */
static PathTarget *
columns_of_query(const RelOptInfo *rel)
{
	PathTarget *target = create_empty_pathtarget();
	ListCell *cell;

	foreach (cell, rel->subroot->processed_tlist)
	{
		TargetEntry *column = lfirst(cell);

		if (!column->resjunk)
			add_column_to_pathtarget(target, (Expr *) makeVarFromTargetEntry((int) rel->relid, column), 0);
	}
	return target;
}

Path *
tsurugi_job_feed_of_query(PlannerInfo *root, const RelOptInfo *rel)
{
	SubqueryScanPath *path;

	if (!IsA(rel->cheapest_total_path, SubqueryScanPath) || has_writing_cte(root) || !is_query_fit(rel))
		return NULL;
	path = makeNode(SubqueryScanPath);
	*path = *(const SubqueryScanPath *) rel->cheapest_total_path;
	path->path.pathtarget = set_pathtarget_cost_width(root, columns_of_query(rel));
	return bytes_of_strings(&path->path) <= most_bytes_of_strings() ? &path->path : NULL;
}

/* --- children ------------------------------------------------------------------------- */

bool
tsurugi_job_has_feeds(const tsurugi_job *job)
{
	ListCell *cell;

	foreach (cell, job->steps)
		if (((const tsurugi_job_step *) lfirst(cell))->source == TG_FROM_FEED)
			return true;
	return false;
}

List *
tsurugi_job_feed_paths(const tsurugi_job *job)
{
	List *paths = NIL;
	ListCell *cell;

	foreach (cell, job->steps)
		if (((const tsurugi_job_step *) lfirst(cell))->source == TG_FROM_FEED)
			paths = lappend(paths, ((const tsurugi_job_step *) lfirst(cell))->feed);
	return paths;
}

/* Whether the plan has the columns of the step, in their places. */
static bool
has_columns(const Plan *plan, const List *columns)
{
	ListCell *cell;

	if (list_length(plan->targetlist) < list_length(columns))
		return false;
	foreach (cell, columns)
	{
		const Var *column = lfirst(cell);
		const Var *var = (const Var *) list_nth_node(TargetEntry, plan->targetlist, foreach_current_index(cell))->expr;

		if (IsA(column, Var) && !(IsA(var, Var) && var->varno == column->varno && var->varattno == column->varattno))
			return false;
	}
	return true;
}

/* 2 */
static void
drop_append_relations(PlannerInfo *root)
{
	root->append_rel_list = NIL;
	for (int i = 1; i < root->simple_rel_array_size; i++)
		if (root->simple_rel_array[i] != NULL && root->simple_rel_array[i]->subroot != NULL)
			drop_append_relations(root->simple_rel_array[i]->subroot);
}

void
tsurugi_job_take_feeds(const tsurugi_job *job, const List *plans)
{
	int number = 0;
	ListCell *cell;

	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);

		if (step->source != TG_FROM_FEED)
			continue;
		if (!has_columns(list_nth(plans, ++number), step->columns))
			elog(ERROR, "child of a job does not have the columns that are to be fed");
		if (step->feed->parent->subroot != NULL)
			drop_append_relations(step->feed->parent->subroot);
	}
}
