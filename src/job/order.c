/*
 * order.c
 *	  The planner's side of jobs that hand rows or groups out in order: ORDER BY, with LIMIT.
 *
 * They are offered beside PostgreSQL's sorts of the same rows.  The rows are those of a scan or a
 * join, of which the job hands out columns; or the groups of a job, which a further step sorts.
 * The select list is computed by PostgreSQL, for the rows that are handed out.
 *
 * LIMIT stays PostgreSQL's, above.  The job has copies of its expressions, evaluates them when it
 * starts, and then keeps no more rows than are wanted.
 *
 * The fallback is a sort of PostgreSQL's, or a path that is in order, whichever is cheaper for the
 * rows that are wanted.
 */
#include "postgres.h"

#include "src/job/order.h"

#include <math.h>

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"

#include "src/base/settings.h"
#include "src/job/absorb.h"
#include "src/job/append.h"
#include "src/job/fallback.h"
#include "src/job/job.h"
#include "src/job/probe_cost.h"
#include "src/job/set.h"

/* Nanoseconds of one core. */
#define NS_KEY 4		/* a row that is compared with the last one wanted */
#define NS_KEPT 50		/* a row that is kept, */
#define NS_COMPARED 1.5 /* and each of its comparisons */

/* --- what is wanted ------------------------------------------------------------------- */

static bool
has_parameter_of_plan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC;
	return expression_tree_walker(node, has_parameter_of_plan, context);
}

/* Its value is the same whenever the statement evaluates it. */
static bool
is_fixed(Node *expr)
{
	return expr == NULL ||
		   (!contain_volatile_functions(expr) && !contain_subplans(expr) && !has_parameter_of_plan(expr, NULL));
}

static bool
has_limit(const Query *query)
{
	return query->limitCount != NULL &&
		   !(IsA(query->limitCount, Const) && ((const Const *) query->limitCount)->constisnull);
}

static void
add_limit(const Query *query, tsurugi_job *job)
{
	if (query->limitOption != LIMIT_OPTION_COUNT || !has_limit(query) || !is_fixed(query->limitCount) ||
		!is_fixed(query->limitOffset))
		return;
	job->limit_count = query->limitCount;
	job->limit_offset = query->limitOffset;
}

/* The rows that are wanted of so many. */
static double
estimate_wanted(const tsurugi_job *job, double rows)
{
	const Const *count = (const Const *) job->limit_count;
	const Const *offset = (const Const *) job->limit_offset;
	double wanted;

	if (count == NULL)
		return rows;
	if (!IsA(count, Const))
		return Max(rows / 10, 1);
	wanted = (double) DatumGetInt64(count->constvalue);
	if (offset != NULL && IsA(offset, Const) && !offset->constisnull)
		wanted += (double) DatumGetInt64(offset->constvalue);
	return Max(Min(wanted, rows), 1);
}

static List *
order_of_query(const PlannerInfo *root)
{
	List *order = NIL;
	ListCell *cell;

	foreach (cell, root->parse->sortClause)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, cell);
		tsurugi_job_key *key = palloc0(sizeof(*key));

		key->expr = get_sortgroupclause_expr((SortGroupClause *) clause, root->processed_tlist);
		key->sortop = clause->sortop;
		key->nulls_first = clause->nulls_first;
		order = lappend(order, key);
	}
	return order;
}

/* --- jobs ----------------------------------------------------------------------------- */

tsurugi_job *
tsurugi_job_copy(const tsurugi_job *job)
{
	int count = list_length(job->steps);
	tsurugi_job *copy = palloc(sizeof(*copy));

	*copy = *job;
	copy->steps = list_copy(job->steps);
	for (int i = tsurugi_job_first_branch(job, count - 1); i < count; i++)
	{
		tsurugi_job_step *step = palloc(sizeof(*step));

		*step = *(const tsurugi_job_step *) list_nth(job->steps, i);
		lfirst(list_nth_cell(copy->steps, i)) = step;
	}
	return copy;
}

/* The path with a job among those of a relation; NULL: there is none. */
static const CustomPath *
find_job_path(const RelOptInfo *rel)
{
	ListCell *cell;

	foreach (cell, rel->pathlist)
	{
		const Path *path = lfirst(cell);

		if (IsA(path, ProjectionPath)) /* of the select list */
			path = ((const ProjectionPath *) path)->subpath;
		if (tsurugi_job_is_path(path))
			return (const CustomPath *) path;
	}
	return NULL;
}

/* The columns that the select list is computed from; false: it is from something else, too. */
static bool
find_columns(const PathTarget *target, List **columns_out)
{
	ListCell *cell;

	*columns_out = NIL;
	foreach (cell, pull_var_clause((Node *) target->exprs, PVC_INCLUDE_PLACEHOLDERS))
	{
		if (!IsA(lfirst(cell), Var))
			return false;
		*columns_out = list_append_unique(*columns_out, lfirst(cell));
	}
	return true;
}

/* The rows of a scan or join, sorted. */
static tsurugi_job *
job_of_rows(PlannerInfo *root, const RelOptInfo *input, const PathTarget *target)
{
	const CustomPath *path = find_job_path(input);
	tsurugi_job *job;
	tsurugi_job_step *last;

	job = path != NULL ? tsurugi_job_copy(linitial(path->custom_private))
					   : tsurugi_job_of_path(root, input->cheapest_total_path);
	if (job == NULL)
		return NULL;
	last = tsurugi_job_last(job);
	last->sink = TG_SORT;
	return find_columns(target, &last->keys) ? job : NULL;
}

/* Whether an expression of groups is made of what the step hands out; else true. */
static bool
is_of_something_else(Node *node, void *step)
{
	const tsurugi_job_step *groups = step;

	if (node == NULL || list_member(groups->keys, node) || list_member(groups->aggregates, node))
		return false;
	if (IsA(node, Var) || IsA(node, Aggref) || IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc))
		return true;
	return expression_tree_walker(node, is_of_something_else, step);
}

/* What is read of a target; of a set operation by the columns of the job's. */
static List *
columns_read(const tsurugi_job *job, const PathTarget *target)
{
	List *exprs = list_difference(target->exprs, job->unread);

	return job->set == 0 ? exprs : tsurugi_job_columns_of_set(exprs, job->set);
}

/* The groups of a job, those that HAVING keeps, sorted. */
static tsurugi_job *
job_of_groups(const RelOptInfo *input, const PathTarget *target)
{
	const tsurugi_job_note *note = tsurugi_job_note_of(input);
	tsurugi_job_step *step;
	tsurugi_job *job;

	if (note == NULL || note->branches != NIL ||
		is_of_something_else((Node *) columns_read(note->job, target), tsurugi_job_last(note->job)))
		return NULL;
	job = tsurugi_job_copy(note->job);
	step = palloc0(sizeof(*step));
	step->source = TG_FROM_ROWS;
	step->from = list_length(job->steps) - 1;
	step->sink = TG_SORT;
	step->sorts_groups = true;
	step->relids = bms_copy(tsurugi_job_last(job)->relids);
	step->rows = note->rows;
	tsurugi_job_last(job)->cost += note->cost;
	tsurugi_job_add_group_rows(step, note->having, note->times);
	job->steps = lappend(job->steps, step);
	return job;
}

/* --- paths ---------------------------------------------------------------------------- */

/* What PostgreSQL would do, cheapest for the rows that are wanted. */
static Path *
make_fallback(PlannerInfo *root, RelOptInfo *input, RelOptInfo *ordered, PathTarget *target, double wanted)
{
	Path *input_path = input->cheapest_total_path;
	double limit = wanted < input_path->rows ? wanted : -1.0;
	Path *best = (Path *) create_sort_path(root, ordered, input_path, root->sort_pathkeys, limit);
	ListCell *cell;

	foreach (cell, input->pathlist)
	{
		const Path *path = lfirst(cell);

		if (path->param_info == NULL && tsurugi_job_can_copy_path(path) &&
			pathkeys_contained_in(root->sort_pathkeys, path->pathkeys) &&
			compare_fractional_path_costs((Path *) path, best, wanted / Max(path->rows, 1)) < 0)
			best = tsurugi_job_copy_path(path);
	}
	return best->pathtarget == target ? best : (Path *) create_projection_path(root, ordered, best, target);
}

static double
cost_of_sort(double rows, double wanted)
{
	double kept = Min(rows, wanted * (1 + log(Max(rows / wanted, 1))));

	return rows * NS_KEY + kept * (NS_KEPT + NS_COMPARED * log2(Max(wanted, 2)));
}

static void
cost_path(const tsurugi_job *job, const RelOptInfo *input, double rows, Path *path)
{
	const tsurugi_job_step *last = tsurugi_job_last(job);
	const CustomPath *groups = last->sorts_groups ? find_job_path(input) : NULL;
	double ns = cost_of_sort(rows, path->rows) +
				tsurugi_job_cost_of_sorted(Min(rows, path->rows), tsurugi_job_column_count(tsurugi_job_result(job)));
	ListCell *cell;

	if (groups != NULL)
		/* what its groups cost compares with PostgreSQL's paths (hook.c) */
		path->startup_cost = groups->path.startup_cost + tsurugi_job_cost_of_tasks(ns);
	else
	{
		foreach (cell, job->steps)
			ns += ((const tsurugi_job_step *) lfirst(cell))->cost;
		path->startup_cost = tsurugi_job_cost_of_tasks(ns) + tsurugi_job_cost_of_feeds(job, true);
	}
	path->total_cost = path->startup_cost + tsurugi_job_cost_of_session(path->rows * tsurugi_job_ns_of_row(job));
	if (tsurugi_jobs == TSURUGI_JOBS_FORCE)
		path->startup_cost = path->total_cost = 0;
	path->startup_cost += path->pathtarget->cost.startup;
	path->total_cost += path->pathtarget->cost.startup + path->pathtarget->cost.per_tuple * path->rows;
}

/* The path of a job that sorts, with its costs; target and order are the fallback's. */
static Path *
make_path(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, tsurugi_job *job, Path *fallback, double wanted)
{
	CustomPath *path = tsurugi_job_make_path(job, fallback, NULL);
	RelOptInfo *parent = makeNode(RelOptInfo);

	path->flags = 0; /* its fallback has the same target list */
	/* EXPLAIN names the tables that a CustomScan's relation has. */
	*parent = *output;
	parent->relids = job->set == 0 ? root->all_baserels : input->relids;
	path->path.parent = parent;
	path->path.pathtarget = fallback->pathtarget;
	path->path.pathkeys = fallback->pathkeys;
	path->path.rows = wanted;
	cost_path(job, input, input->cheapest_total_path->rows, &path->path);
	return &path->path;
}

static bool
is_fit(const PlannerInfo *root, const RelOptInfo *input)
{
	const Query *query = root->parse;

	return root->rowMarks == NIL && !query->hasTargetSRFs &&
		   (query->commandType == CMD_SELECT || query->commandType == CMD_INSERT) &&
		   input->cheapest_total_path != NULL && input->cheapest_total_path->param_info == NULL;
}

static tsurugi_job *
job_of_input(PlannerInfo *root, const RelOptInfo *input, const PathTarget *target)
{
	if (!is_fit(root, input))
		return NULL;
	return input->reloptkind == RELOPT_BASEREL || input->reloptkind == RELOPT_JOINREL ? job_of_rows(root, input, target)
																					  : job_of_groups(input, target);
}

void
tsurugi_job_offer_order(PlannerInfo *root, RelOptInfo *input, RelOptInfo *ordered)
{
	PathTarget *target = root->upper_targets[UPPERREL_FINAL];
	tsurugi_job *job;
	ListCell *cell;
	double wanted;
	bool streams;

	if (root->sort_pathkeys == NIL ||
		(input->cheapest_total_path != NULL &&
		 pathkeys_contained_in(root->sort_pathkeys, input->cheapest_total_path->pathkeys)))
		return;
	if (target == NULL && input->cheapest_total_path != NULL) /* a set operation */
		target = input->cheapest_total_path->pathtarget;
	job = job_of_input(root, input, target);
	if (job == NULL)
		return;
	tsurugi_job_last(job)->order = order_of_query(root);
	foreach (cell, job->set == 0 ? NIL : tsurugi_job_last(job)->order)
		((tsurugi_job_key *) lfirst(cell))->expr =
			linitial(tsurugi_job_columns_of_set(list_make1(((tsurugi_job_key *) lfirst(cell))->expr), job->set));
	add_limit(root->parse, job);
	if (!tsurugi_job_is_computed(job, &streams))
		return;
	wanted = estimate_wanted(job, input->cheapest_total_path->rows);
	add_path(ordered,
			 make_path(root, input, ordered, job, make_fallback(root, input, ordered, target, wanted), wanted));
}

/* --- in place of a Sort of PostgreSQL's ------------------------------------------------- */

/* The expression of a target that is this one; NULL: none. */
static Node *
find_in_target(const PathTarget *target, const Expr *expr, Oid collation)
{
	const Node *wanted = tsurugi_without_relabeling((const Node *) expr);
	ListCell *cell;

	foreach (cell, target->exprs)
	{
		Node *candidate = lfirst(cell);

		if (exprCollation(candidate) == collation && equal(tsurugi_without_relabeling(candidate), wanted))
			return candidate;
	}
	return NULL;
}

/* An order of the planner's as a key of a job; NULL: no expression of the target has it. */
static tsurugi_job_key *
key_of(const PathKey *pathkey, const PathTarget *target)
{
	const EquivalenceClass *class = pathkey->pk_eclass;
	ListCell *cell;

	while (class->ec_merged != NULL)
		class = class->ec_merged;
	foreach (cell, class->ec_members)
	{
		const EquivalenceMember *member = lfirst_node(EquivalenceMember, cell);
		Node *expr = member->em_is_child ? NULL : find_in_target(target, member->em_expr, class->ec_collation);
		tsurugi_job_key *key;

		if (expr == NULL)
			continue;
		key = palloc0(sizeof(*key));
		key->expr = expr;
		key->sortop = get_opfamily_member(pathkey->pk_opfamily, member->em_datatype, member->em_datatype,
										  (int16) pathkey->pk_strategy);
		key->nulls_first = pathkey->pk_nulls_first;
		return key;
	}
	return NULL;
}

Path *
tsurugi_job_of_sort(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, const SortPath *sort)
{
	const PathTarget *target = sort->path.pathtarget;
	tsurugi_job *job = job_of_input(root, input, target);
	List *order = NIL;
	ListCell *cell;
	bool streams;

	if (job == NULL)
		return NULL;
	foreach (cell, sort->path.pathkeys)
	{
		tsurugi_job_key *key = key_of(lfirst_node(PathKey, cell), target);

		if (key == NULL)
			return NULL;
		order = lappend(order, key);
	}
	tsurugi_job_last(job)->order = order;
	if (!tsurugi_job_is_computed(job, &streams))
		return NULL;
	return make_path(root, input, output, job, tsurugi_job_copy_path(&sort->path), sort->path.rows);
}
