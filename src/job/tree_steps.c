/*
 * tree_steps.c
 *	  Steps of the tree of a path (tree.c), and what they cost.
 *
 *	join			probe in the step of the one side, of the other side's build
 *	inner join		the side with fewer rows is built
 *	left join		the right side is built; or the left one, if that costs less: its rows without
 *					a match follow at the end
 *	full join		the side with fewer rows is built; both sides' rows without a match stay
 *	of groups		the other side is built first, if it has fewer rows than there are groups: its
 *					keys are all that the groups are needed for (reduce.c)
 *	semi, anti		the right side is built; or the left one, if that costs less: the right side's
 *					rows mark its rows, and the step goes on with those that have a mark, or none
 *
 * The branches of UNION ALL are steps that have one sink together (append.c).  What is above it is
 * done in each of them.  They have no rows of a build's behind all others, so where a join has such
 * rows, the side with the branches is built.
 */
#include "postgres.h"

#include "src/job/tree_internal.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"

#include "src/job/absorb.h"
#include "src/job/append.h"
#include "src/job/feed.h"
#include "src/job/job.h"
#include "src/job/probe_cost.h"
#include "src/job/reduce.h"
#include "src/job/translate.h"

/* Nanoseconds of one core. */
#define NS_CONDITION 1.5 /* on a row, of which the column is loaded as it lies */
#define NS_TEXT 20		 /* one that looks into texts */
#define NS_BUILD 35		 /* a row into a build */
#define NS_PROBE 15		 /* a row that looks into one */
#define NS_MISS 5		 /* a row that looks into one, and mostly finds nothing */

#define REDUCED_MIN 1000 /* groups */

/* --- steps ---------------------------------------------------------------------------- */

static void
add_probe(tsurugi_job_step *step, tg_join join, int build, List *clauses)
{
	tsurugi_job_operator *operator= palloc0(sizeof(*operator));

	operator->probe = true;
	operator->join = join;
	operator->build = build;
	operator->clauses = clauses;
	step->operators = lappend(step->operators, operator);
}

static bool
looks_into_texts(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) && (((Var *) node)->vartype == TEXTOID || ((Var *) node)->vartype == VARCHAROID))
		return true;
	return expression_tree_walker(node, looks_into_texts, context);
}

/* Of so many rows; each condition drops its part of those that are dropped. */
static double
cost_of_filters(const List *clauses, double rows, double left)
{
	double part = pow(Max(left, 1) / Max(Max(rows, left), 1), 1.0 / Max(list_length(clauses), 1));
	double cost = 0;
	ListCell *cell;

	foreach (cell, clauses)
	{
		cost += rows * (looks_into_texts(lfirst(cell), NULL) ? NS_TEXT : NS_CONDITION);
		rows *= part;
	}
	return cost;
}

/* NOT IN of a subquery becomes a probe, if that can be; else it stays, and makes the job unfit. */
static void
add_filters(tsurugi_job *job, tsurugi_job_step *step, const List *clauses, double rows, double left)
{
	ListCell *cell;

	foreach (cell, clauses)
	{
		Node *equality = tsurugi_job_absorb_not_in(job->root, job, lfirst(cell));
		tsurugi_job_operator *filter;

		if (equality != NULL)
		{
			add_probe(step, TG_JOIN_NOT_IN, list_length(job->steps) - 1, list_make1(equality));
			continue;
		}
		filter = palloc0(sizeof(*filter));
		filter->clauses = list_make1(lfirst(cell));
		step->operators = lappend(step->operators, filter);
	}
	step->cost += cost_of_filters(clauses, rows, left);
}

static void add_rows(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step);

static double
cost_of_columns(const Tree *tree)
{
	return tree->rel->rows * list_length(tree->rel->reltarget->exprs) * TSURUGI_JOB_NS_COLUMN;
}

/* A step of its own for that side of a join. */
static int
add_step(tsurugi_job *job, const Tree *tree)
{
	tsurugi_job_step *step = palloc0(sizeof(*step));

	add_rows(job, tree, step);
	step->sink = TG_BUILD;
	step->rows = tree->rel->rows;
	step->cost += cost_of_columns(tree);
	tsurugi_job_put_step(job, step);
	return list_length(job->steps) - 1;
}

static void
add_subquery(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	tsurugi_absorbed absorbed = tsurugi_job_absorb(job->root, job, tree->subroot);

	step->source = TG_FROM_ROWS;
	step->from = absorbed.step;
	step->subquery = tree->rel->relid;
	step->outputs = absorbed.outputs;
	step->relids = bms_copy(tree->rel->relids);
	step->rows_read = tree->tuples;
	step->cost = step->rows_read * TSURUGI_JOB_NS_ROW;
	tsurugi_job_add_group_rows(step, absorbed.having, absorbed.times);
	step->cost += cost_of_filters(absorbed.having, step->rows_read, step->rows_read);
	add_filters(job, step, tree->filters, step->rows_read, tree->rel->rows);
}

static void
add_subquery_rows(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	List *outputs = tsurugi_job_absorb_rows(job->root, job, tree->rows_root, tree->rows_note, step);

	step->cost += tree->tuples * TSURUGI_JOB_NS_ROW;
	add_filters(job, step, tsurugi_job_with_columns(tree->filters, tree->rel->relid, outputs), tree->tuples,
				tree->rel->rows);
	tree->rows_note->outputs = outputs;
}

static void
add_branch(tsurugi_job *job, const Tree *tree, const Branch *branch, tsurugi_job_step *step)
{
	add_rows(job, branch->tree, step);
	step->append = tree->rel->relid;
	step->branch = branch->outputs;
	if (branch->outputs == NIL)
		step->branch = branch->tree->rows_note->outputs;
	else if (branch->tree->rows_note != NULL)
		step->branch =
			tsurugi_job_with_columns(step->branch, branch->tree->rel->relid, branch->tree->rows_note->outputs);
	step->own_operators = list_length(step->operators);
	step->relids = bms_add_member(bms_copy(step->relids), (int) step->append);
}

static void
add_append(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	List *further = NIL;
	ListCell *cell;

	foreach (cell, tree->branches)
	{
		bool is_last = cell == list_tail(tree->branches);
		tsurugi_job_step *to = is_last ? step : palloc0(sizeof(*step));

		add_branch(job, tree, lfirst(cell), to);
		if (!is_last)
			further = lappend(further, to);
	}
	step->further = further;
}

static void
add_union_all(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	List *branches = tsurugi_job_absorb_union_all(job, tree->rel, tree->union_all);

	*step = *(const tsurugi_job_step *) llast(branches);
	step->further = list_copy_head(branches, list_length(branches) - 1);
	add_filters(job, step, tree->filters, tree->tuples, tree->rel->rows);
}

static void
add_table(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	step->relation = tree->rel->relid;
	step->relids = bms_copy(tree->rel->relids);
	step->tables = tree->tables;
	step->oid = planner_rt_fetch(step->relation, job->root)->relid;
	step->rows_read = tree->tuples;
	step->rows_probed = tree->rel->rows;
	step->cost = tree->read_cost;
	add_filters(job, step, tsurugi_in_order(job->root, tree->filters), step->rows_read, tree->rel->rows);
	step->scan_cost = step->cost;
}

/*
 * Whether marking the left side's rows costs less than looking its rows up: they are built, and
 * read once more; the right side's rows need not be built.
 */
static bool
is_better_marked(const Tree *tree)
{
	double left = tree->left->rel->rows;
	double right = tree->right->rel->rows;

	if (tree->join != TG_JOIN_SEMI && tree->join != TG_JOIN_ANTI)
		return false;
	return left * (NS_BUILD + TSURUGI_JOB_NS_ROW) + 2 * cost_of_columns(tree->left) + right * NS_MISS <
		   right * NS_BUILD + cost_of_columns(tree->right) + left * NS_PROBE;
}

/* Whether the join hands on NULLs in place of columns of a side (ANTI: of the right one). */
static bool
nulls_rows(tg_join join)
{
	return join == TG_JOIN_LEFT || join == TG_JOIN_FULL || join == TG_JOIN_ANTI;
}

/* The left side is built, the right one marks, and the step reads what is left of the left one. */
static void
add_marking_join(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	tsurugi_job_step *marks = palloc0(sizeof(*marks));
	tsurugi_job_step *built;

	job->nulls_rows |= nulls_rows(tree->join);
	step->source = tree->join == TG_JOIN_SEMI ? TG_FROM_MARKED : TG_FROM_UNMARKED;
	step->from = add_step(job, tree->left);
	built = list_nth(job->steps, step->from);
	built->marked = true;
	built->keeps_nulls = tree->join == TG_JOIN_ANTI;
	add_rows(job, tree->right, marks);
	add_probe(marks, TG_JOIN_MARK, step->from, tree->clauses);
	marks->sink = TG_NOTHING;
	marks->cost += tree->right->rel->rows * NS_MISS;
	tsurugi_job_put_step(job, marks);
	step->relids = bms_copy(built->relids);
	step->rows_read = built->rows;
	step->cost = built->rows * (NS_BUILD + TSURUGI_JOB_NS_ROW) + cost_of_columns(tree->left);
}

/* Of so many rows, of which most may find nothing. */
static double
cost_of_probing(const Tree *join, double rows)
{
	double found = Min(join->rel->rows, rows);

	return found * NS_PROBE + (rows - found) * NS_MISS;
}

static double
cost_of_build(const Tree *tree)
{
	return tree->rel->rows * NS_BUILD + cost_of_columns(tree);
}

static bool
has_branches(const Tree *tree)
{
	return tree->joined ? has_branches(tree->left) || has_branches(tree->right)
						: tree->branches != NIL || tree->union_all != NULL;
}

/* Whether the left side is built; what a left join leaves of it is read once more. */
static bool
is_left_built(const Tree *tree)
{
	double left = tree->left->rel->rows;
	double right = tree->right->rel->rows;

	if (tree->join == TG_JOIN_FULL && has_branches(tree->left) != has_branches(tree->right))
		return has_branches(tree->left);
	if (tree->join == TG_JOIN_LEFT && has_branches(tree->right))
		return false;
	if (tree->join == TG_JOIN_LEFT)
		return cost_of_build(tree->left) + left * TSURUGI_JOB_NS_ROW + right * NS_PROBE <
			   cost_of_build(tree->right) + left * NS_PROBE;
	return (tree->join == TG_JOIN_INNER || tree->join == TG_JOIN_FULL) && left < right;
}

/* Whether the groups on that side are worth being made for the keys of the other side alone. */
static bool
is_worth_reducing(const Tree *groups, const Tree *other)
{
	return groups->subroot != NULL && other->rel->rows < groups->tuples / 2 && groups->tuples > REDUCED_MIN;
}

/* part: of the groups that are made. */
static void
reduce(tsurugi_job *job, tsurugi_job_step *step, int build, const List *clauses, double part)
{
	tsurugi_job_step *reads = tsurugi_job_reduce(job, step, build, clauses);
	tsurugi_job_step *groups = list_nth(job->steps, step->from);

	if (reads == NULL)
		return;
	if (groups != reads)
		groups->cost *= part;
	reads->cost = reads->scan_cost + reads->rows_probed * NS_MISS + (reads->cost - reads->scan_cost) * part;
}

/*
 * Of a step that probes: its table is read as a whole, or the keys of the build are looked up in an
 * index; and what is too large for memory takes several passes.
 */
static void
add_cost_of_probe(const Tree *tree, const Tree *probe, const tsurugi_job_step *built, tg_join join,
				  tsurugi_job_step *step)
{
	double probing = cost_of_probing(tree, probe->rel->rows);
	const Tree *build = probe == tree->left ? tree->right : tree->left;
	bool drops = join == TG_JOIN_INNER || join == TG_JOIN_SEMI || join == TG_JOIN_RIGHT;

	if (drops && probe->tables != NIL && step->source == TG_FROM_TABLES)
	{
		double found = tree->rel->rows;
		double looked_up = tsurugi_job_cost_of_look_ups(probe->rel, tree->clauses, built->rows, found);

		if (looked_up + found * NS_PROBE < step->scan_cost + probing)
		{
			step->cost += looked_up - step->scan_cost;
			step->scan_cost = looked_up;
			probing = found * NS_PROBE;
		}
	}
	step->cost += built->rows * (NS_BUILD + built->marked * TSURUGI_JOB_NS_ROW) + probing;
	step->cost += tsurugi_job_cost_of_passes(built->rows, list_length(build->rel->reltarget->exprs), step->cost);
}

static void
add_probing_join(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	bool reduces_right =
		(tree->join == TG_JOIN_INNER || tree->join == TG_JOIN_LEFT) && is_worth_reducing(tree->right, tree->left);
	bool reduces_left = tree->join == TG_JOIN_INNER && !reduces_right && is_worth_reducing(tree->left, tree->right);
	bool left_built = reduces_right || (!reduces_left && is_left_built(tree));
	const Tree *probe = left_built ? tree->right : tree->left;
	const Tree *build = left_built ? tree->left : tree->right;
	tg_join join = left_built && tree->join == TG_JOIN_LEFT ? TG_JOIN_RIGHT : tree->join;
	int built_by;
	tsurugi_job_step *built;

	job->nulls_rows |= nulls_rows(tree->join);
	built_by = add_step(job, build);
	built = list_nth(job->steps, built_by);
	built->marked = built->keeps_nulls = tg_join_has_rest(join);
	add_rows(job, probe, step);
	if (reduces_left || reduces_right)
		reduce(job, step, built_by, tree->clauses, build->rel->rows / probe->tuples);
	add_probe(step, join, built_by, tree->clauses);
	step->relids = bms_add_members(step->relids, built->relids);
	add_cost_of_probe(tree, probe, built, join, step);
}

static void
add_join(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	if (is_better_marked(tree))
		add_marking_join(job, tree, step);
	else
		add_probing_join(job, tree, step);
	add_filters(job, step, tree->filters, tree->rel->rows, tree->rel->rows);
}

static void
add_rows(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	if (tree->joined)
		add_join(job, tree, step);
	else if (tree->subroot != NULL)
		add_subquery(job, tree, step);
	else if (tree->branches != NIL)
		add_append(job, tree, step);
	else if (tree->union_all != NULL)
		add_union_all(job, tree, step);
	else if (tree->rows_root != NULL)
		add_subquery_rows(job, tree, step);
	else if (tree->feed != NULL)
		tsurugi_job_read_feed(step, tree->feed);
	else
		add_table(job, tree, step);
}

/* Whether a table of ours, or a subquery of them, is among the leaves; else there is no job. */
static bool
has_own_rows(const Tree *tree)
{
	ListCell *cell;

	if (tree->joined)
		return has_own_rows(tree->left) || has_own_rows(tree->right);
	foreach (cell, tree->branches)
		if (has_own_rows(((const Branch *) lfirst(cell))->tree))
			return true;
	return tree->feed == NULL && tree->branches == NIL;
}

static bool
can_be_fed(PlannerInfo *root, const Tree *tree)
{
	ListCell *cell;

	if (tree->joined)
		return can_be_fed(root, tree->left) && can_be_fed(root, tree->right);
	foreach (cell, tree->branches)
		if (!can_be_fed(root, ((const Branch *) lfirst(cell))->tree))
			return false;
	return tree->feed == NULL || tsurugi_job_can_feed(root, tree->rel);
}

static tsurugi_job *
job_of_tree(PlannerInfo *root, const Tree *tree)
{
	tsurugi_job *job;

	if (tree == NULL || tree->pending != NIL || !has_own_rows(tree) || !can_be_fed(root, tree))
		return NULL;
	job = palloc0(sizeof(*job));
	job->root = root;
	(void) add_step(job, tree);
	((tsurugi_job_step *) llast(job->steps))->sink = TG_GROUP;
	return list_length(job->steps) <= TG_PLAN_STEPS_MAX && tsurugi_job_branches_are_fit(job) ? job : NULL;
}

tsurugi_job *
tsurugi_job_of_path(PlannerInfo *root, Path *path)
{
	return job_of_tree(root, tsurugi_job_tree_of(root, path));
}

/* Whether a job computes the conditions on a table. */
static bool
is_filtered_by_job(PlannerInfo *root, const Tree *tree)
{
	tsurugi_job *job = palloc0(sizeof(*job));
	bool streams;

	job->root = root;
	(void) add_step(job, tree);
	tsurugi_job_last(job)->sink = TG_DELIVER;
	return tsurugi_job_is_computed(job, &streams);
}

/* Has PostgreSQL read what a job cannot filter.  Whether there is anything of that. */
static bool
feed_what_is_not_filtered(PlannerInfo *root, Tree *tree)
{
	if (tree->joined)
	{
		bool left = feed_what_is_not_filtered(root, tree->left);

		return feed_what_is_not_filtered(root, tree->right) || left;
	}
	if (tree->branches != NIL)
	{
		bool any = false;
		ListCell *cell;

		foreach (cell, tree->branches)
			any |= feed_what_is_not_filtered(root, ((const Branch *) lfirst(cell))->tree);
		return any;
	}
	if (tree->tables == NIL || tree->filters == NIL || is_filtered_by_job(root, tree))
		return false;
	tree->feed = tree->rel->cheapest_total_path;
	tree->tuples = tree->rel->rows;
	return true;
}

tsurugi_job *
tsurugi_job_of_path_fed(PlannerInfo *root, Path *path)
{
	Tree *tree = tsurugi_job_tree_of(root, path);

	if (tree == NULL || !(tree->joined || tree->branches != NIL) || !feed_what_is_not_filtered(root, tree))
		return NULL;
	return job_of_tree(root, tree);
}
