/*
 * tree.c
 *	  From the tree of a path to steps.
 *
 * PostgreSQL's planner has ordered the joins; how its path computes them does not matter.  The tree
 * is read through sorts, materializations and the like.  Its leaves are scans of tables by any way,
 * with all conditions on the table; how a job reads it is chosen anew (access.c).  The conditions
 * that the inner side of a nested loop gets as parameters become conditions of the join that has
 * all of their relations.
 *
 * A leaf may also be a subquery of which all rows are groups that a job can make (absorb.c), or
 * what PostgreSQL scans for the job (feed.c): then the conditions on it are PostgreSQL's.  That is
 * so of tables of ours, too, if they have conditions that jobs do not compute.
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
 */
#include "postgres.h"

#include "runtime/query/plan.h"
#include "src/job/absorb.h"
#include "src/job/access.h"
#include "src/job/feed.h"
#include "src/job/job.h"
#include "src/job/reduce.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "src/exec/fdw.h"

/* Nanoseconds of one core. */
#define NS_ROW 2		 /* of an earlier step */
#define NS_COLUMN 3		 /* a column of a row */
#define NS_CONDITION 1.5 /* on it, of which the column is loaded as it lies */
#define NS_TEXT 20		 /* one that looks into texts */
#define NS_BUILD 35		 /* a row into a build */
#define NS_PROBE 15		 /* a row that looks into one */
#define NS_MISS 5		 /* a row that looks into one, and mostly finds nothing */

#define REDUCED_MIN 1000 /* groups */

typedef struct Tree
{
	RelOptInfo *rel;
	PlannerInfo *subroot; /* of a subquery whose groups these are; or NULL */
	Path *feed;			  /* whose rows these are; or NULL */
	List *tables;		  /* of tsurugi_job_table, unless it is a join, a subquery or a feed */
	double tuples;		  /* that are read of these, */
	double read_cost;	  /* and what that costs */
	List *filters;		  /* clauses above it, or of the table */
	List *pending;		  /* of RestrictInfo: their other relations are elsewhere */
	/* a join: */
	bool joined;
	tg_join join;
	struct Tree *left;
	struct Tree *right;
	List *clauses; /* of the join */
} Tree;

static Tree *tree_of(PlannerInfo *root, Path *path);

/* --- reading -------------------------------------------------------------------------- */

/* What a path only orders, keeps or collects. */
static Path *
look_through(Path *path)
{
	for (;;)
	{
		switch (nodeTag(path))
		{
			case T_SortPath:
			case T_IncrementalSortPath:
				path = ((SortPath *) path)->subpath;
				break;
			case T_MaterialPath:
				path = ((MaterialPath *) path)->subpath;
				break;
			case T_MemoizePath:
				path = ((MemoizePath *) path)->subpath;
				break;
			case T_GatherPath:
				path = ((GatherPath *) path)->subpath;
				break;
			case T_GatherMergePath:
				path = ((GatherMergePath *) path)->subpath;
				break;
			case T_ProjectionPath: /* expressions are computed from columns */
				path = ((ProjectionPath *) path)->subpath;
				break;
			default:
				return path;
		}
	}
}

/*
 * Adds the tables that a path reads: one, or the partitions of an Append.  *answered_out: the
 * conditions that the way of reading the last one answers.  False: it reads others, too.
 */
static bool
add_tables(PlannerInfo *root, Tree *tree, Path *path, List **answered_out)
{
	RelOptInfo *rel = path->parent;
	tsurugi_job_table *table;
	List *subpaths;
	ListCell *cell;

	if (IsA(path, ForeignPath))
	{
		if (!IS_SIMPLE_REL(rel) || rel->rtekind != RTE_RELATION || rel->fdwroutine == NULL ||
			rel->fdwroutine->GetForeignPlan != tsurugiGetForeignPlan)
			return false;
		table = palloc0(sizeof(*table));
		table->relation = rel->relid;
		table->oid = planner_rt_fetch(rel->relid, root)->relid;
		tree->tables = lappend(tree->tables, table);
		tree->read_cost += tsurugi_job_choose_access(root, rel, table, answered_out);
		table->as_path = tsurugi_job_reads_as_path(table, path);
		tree->tuples += table->rows;
		return true;
	}
	if (!IS_SIMPLE_REL(rel) || !(IsA(path, AppendPath) || IsA(path, MergeAppendPath)))
		return false;
	subpaths = IsA(path, AppendPath) ? ((AppendPath *) path)->subpaths : ((MergeAppendPath *) path)->subpaths;
	foreach (cell, subpaths)
		if (!add_tables(root, tree, look_through(lfirst(cell)), answered_out))
			return false;
	return subpaths != NIL;
}

static List *
conditions_of(const RelOptInfo *rel, const List *answered)
{
	List *clauses = NIL;
	ListCell *cell;

	foreach (cell, rel->baserestrictinfo)
		if (!list_member_ptr(answered, lfirst(cell)))
			clauses = lappend(clauses, lfirst_node(RestrictInfo, cell)->clause);
	return clauses;
}

static Tree *
tree_of_table(PlannerInfo *root, Path *path)
{
	RelOptInfo *rel = path->parent;
	List *answered = NIL;
	Tree *tree;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_RELATION || !bms_is_empty(rel->lateral_relids))
		return NULL;
	tree = palloc0(sizeof(*tree));
	tree->rel = rel;
	if (!add_tables(root, tree, path, &answered))
		return NULL;
	/* of partitions they are others */
	tree->filters = conditions_of(rel, answered);
	if (path->param_info != NULL)
		tree->pending = path->param_info->ppi_clauses;
	return tree;
}

/* Whether it can be fed is looked at when there is a table of ours, too. */
static Tree *
tree_of_feed(Path *path)
{
	RelOptInfo *rel = path->parent;
	Tree *tree;

	if (rel->reloptkind != RELOPT_BASEREL || rel->cheapest_total_path == NULL)
		return NULL;
	tree = palloc0(sizeof(*tree));
	tree->rel = rel;
	tree->feed = rel->cheapest_total_path;
	tree->tuples = rel->rows;
	if (path->param_info != NULL)
		tree->pending = path->param_info->ppi_clauses;
	return tree;
}

static Tree *
tree_of_subquery(Path *path)
{
	RelOptInfo *rel = path->parent;
	Tree *tree;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_SUBQUERY || !bms_is_empty(rel->lateral_relids) ||
		path->param_info != NULL || tsurugi_job_note_get(rel->subroot) == NULL)
		return NULL;
	tree = palloc0(sizeof(*tree));
	tree->rel = rel;
	tree->subroot = rel->subroot;
	tree->tuples = rel->tuples;
	tree->filters = conditions_of(rel, NIL);
	return tree;
}

/*
 * After an anti join the other side's columns are NULL.  What made PostgreSQL see that it is one, a
 * condition IS NULL, is true.
 */
static bool
is_null_of(const Node *clause, const RelOptInfo *rel)
{
	const NullTest *test = (const NullTest *) clause;

	return IsA(clause, NullTest) && test->nulltesttype == IS_NULL && IsA(test->arg, Var) &&
		   bms_is_member(((const Var *) test->arg)->varno, rel->relids);
}

/* Where a condition comes from. */
typedef enum Origin
{
	OF_LEFT, /* pending on that side */
	OF_RIGHT,
	OF_JOIN
} Origin;

/* Puts a condition where it belongs.  False: it belongs nowhere here. */
static bool
place_clause(Tree *tree, RestrictInfo *rinfo, Origin origin)
{
	Relids relids = bms_union(tree->left->rel->relids, tree->right->rel->relids);
	bool outer_join = tree->join == TG_JOIN_LEFT || tree->join == TG_JOIN_FULL || tree->join == TG_JOIN_ANTI;

	if (!bms_is_subset(rinfo->clause_relids, relids))
	{
		tree->pending = lappend(tree->pending, rinfo);
		return tree->join == TG_JOIN_INNER || (origin == OF_LEFT && tree->join != TG_JOIN_FULL);
	}
	if (!outer_join || origin == OF_RIGHT || !RINFO_IS_PUSHED_DOWN(rinfo, relids))
		tree->clauses = lappend(tree->clauses, rinfo->clause);
	else if (tree->join != TG_JOIN_ANTI || !is_null_of((Node *) rinfo->clause, tree->right->rel))
		tree->filters = lappend(tree->filters, rinfo->clause);
	return true;
}

/* The rows of one side that PostgreSQL makes unique, for an inner join: a semi join. */
static bool
is_unique_side(PlannerInfo *root, const Path *path, const Path *other)
{
	ListCell *cell;

	if (!IsA(path, UniquePath))
		return false;
	foreach (cell, root->join_info_list)
	{
		const SpecialJoinInfo *join = lfirst(cell);

		if (join->jointype == JOIN_SEMI && bms_equal(join->syn_righthand, path->parent->relids) &&
			bms_is_subset(join->min_lefthand, other->parent->relids))
			return true;
	}
	return false;
}

/* Which side is left, which right, and the kind of the join. */
static bool
sides_of_join(PlannerInfo *root, const JoinPath *path, Path **left, Path **right, tg_join *join)
{
	*left = look_through(path->outerjoinpath);
	*right = look_through(path->innerjoinpath);
	*join = TG_JOIN_INNER;
	switch (path->jointype)
	{
		case JOIN_INNER:
			if (is_unique_side(root, *left, *right))
			{
				Path *unique = *left;

				*left = *right;
				*right = unique;
			}
			if (is_unique_side(root, *right, *left))
			{
				*right = look_through(((UniquePath *) *right)->subpath);
				*join = TG_JOIN_SEMI;
			}
			return true;
		case JOIN_LEFT:
			*join = TG_JOIN_LEFT;
			return true;
		case JOIN_FULL:
			*join = TG_JOIN_FULL;
			return true;
		case JOIN_SEMI:
			*join = TG_JOIN_SEMI;
			return true;
		case JOIN_ANTI:
			*join = TG_JOIN_ANTI;
			return true;
		case JOIN_RIGHT:
			*left = look_through(path->innerjoinpath);
			*right = look_through(path->outerjoinpath);
			*join = TG_JOIN_LEFT;
			return true;
		default:
			return false;
	}
}

static Tree *
tree_of_join(PlannerInfo *root, JoinPath *path)
{
	Tree *tree = palloc0(sizeof(*tree));
	Path *left;
	Path *right;
	ListCell *cell;

	if (!sides_of_join(root, path, &left, &right, &tree->join))
		return NULL;
	tree->joined = true;
	tree->rel = path->path.parent;
	tree->left = tree_of(root, left);
	tree->right = tree->left == NULL ? NULL : tree_of(root, right);
	if (tree->right == NULL)
		return NULL;
	foreach (cell, tree->left->pending)
		if (!place_clause(tree, lfirst(cell), OF_LEFT))
			return NULL;
	foreach (cell, tree->right->pending)
		if (!place_clause(tree, lfirst(cell), OF_RIGHT))
			return NULL;
	foreach (cell, path->joinrestrictinfo)
		if (!place_clause(tree, lfirst(cell), OF_JOIN))
			return NULL;
	return tree;
}

static Tree *
tree_of(PlannerInfo *root, Path *path)
{
	Tree *tree;

	path = look_through(path);
	switch (nodeTag(path))
	{
		case T_ForeignPath:
		case T_AppendPath:
		case T_MergeAppendPath:
			tree = tree_of_table(root, path);
			return tree != NULL ? tree : tree_of_feed(path);
		case T_Path:
		case T_IndexPath:
		case T_BitmapHeapPath:
		case T_TidPath:
		case T_TidRangePath:
			return tree_of_feed(path);
		case T_SubqueryScanPath:
			return tree_of_subquery(path);
		case T_NestPath:
		case T_MergePath:
		case T_HashPath:
			return tree_of_join(root, (JoinPath *) path);
		default:
			return NULL;
	}
}

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
	return tree->rel->rows * list_length(tree->rel->reltarget->exprs) * NS_COLUMN;
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
	job->steps = lappend(job->steps, step);
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
	step->cost = step->rows_read * NS_ROW;
	add_filters(job, step, absorbed.having, step->rows_read, step->rows_read);
	add_filters(job, step, tree->filters, step->rows_read, tree->rel->rows);
}

static void
add_feed(const Tree *tree, tsurugi_job_step *step)
{
	step->source = TG_FROM_FEED;
	step->relation = tree->rel->relid;
	step->relids = bms_copy(tree->rel->relids);
	step->columns = tsurugi_job_columns_of_feed(tree->feed);
	step->feed = tree->feed;
	step->feed_cost = tsurugi_job_cost_of_feed(tree->feed);
	step->rows_read = step->rows_probed = tree->tuples;
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
	add_filters(job, step, tree->filters, step->rows_read, tree->rel->rows);
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
	return left * (NS_BUILD + NS_ROW) + 2 * cost_of_columns(tree->left) + right * NS_MISS <
		   right * NS_BUILD + cost_of_columns(tree->right) + left * NS_PROBE;
}

/* The left side is built, the right one marks, and the step reads what is left of the left one. */
static void
add_marking_join(tsurugi_job *job, const Tree *tree, tsurugi_job_step *step)
{
	tsurugi_job_step *marks = palloc0(sizeof(*marks));
	tsurugi_job_step *built;

	step->source = tree->join == TG_JOIN_SEMI ? TG_FROM_MARKED : TG_FROM_UNMARKED;
	step->from = add_step(job, tree->left);
	built = list_nth(job->steps, step->from);
	built->marked = true;
	built->keeps_nulls = tree->join == TG_JOIN_ANTI;
	add_rows(job, tree->right, marks);
	add_probe(marks, TG_JOIN_MARK, step->from, tree->clauses);
	marks->sink = TG_NOTHING;
	marks->cost += tree->right->rel->rows * NS_MISS;
	job->steps = lappend(job->steps, marks);
	step->relids = bms_copy(built->relids);
	step->rows_read = built->rows;
	step->cost = built->rows * (NS_BUILD + NS_ROW) + cost_of_columns(tree->left);
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

/* Whether the left side is built; what a left join leaves of it is read once more. */
static bool
is_left_built(const Tree *tree)
{
	double left = tree->left->rel->rows;
	double right = tree->right->rel->rows;

	if (tree->join == TG_JOIN_LEFT)
		return cost_of_build(tree->left) + left * NS_ROW + right * NS_PROBE <
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

	job->nulls_rows |= tree->join == TG_JOIN_LEFT || tree->join == TG_JOIN_FULL;
	built_by = add_step(job, build);
	built = list_nth(job->steps, built_by);
	built->marked = built->keeps_nulls = tg_join_has_rest(join);
	add_rows(job, probe, step);
	if (reduces_left || reduces_right)
		reduce(job, step, built_by, tree->clauses, build->rel->rows / probe->tuples);
	add_probe(step, join, built_by, tree->clauses);
	step->relids = bms_add_members(step->relids, built->relids);
	step->cost += built->rows * (NS_BUILD + built->marked * NS_ROW) + cost_of_probing(tree, probe->rel->rows);
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
	else if (tree->feed != NULL)
		add_feed(tree, step);
	else
		add_table(job, tree, step);
}

/* Whether a table of ours, or a subquery of them, is among the leaves; else there is no job. */
static bool
has_own_rows(const Tree *tree)
{
	if (tree->joined)
		return has_own_rows(tree->left) || has_own_rows(tree->right);
	return tree->feed == NULL;
}

static bool
can_be_fed(PlannerInfo *root, const Tree *tree)
{
	if (tree->joined)
		return can_be_fed(root, tree->left) && can_be_fed(root, tree->right);
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
	return list_length(job->steps) <= TG_PLAN_STEPS_MAX ? job : NULL;
}

tsurugi_job *
tsurugi_job_of_path(PlannerInfo *root, Path *path)
{
	return job_of_tree(root, tree_of(root, path));
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
	if (tree->tables == NIL || tree->filters == NIL || is_filtered_by_job(root, tree))
		return false;
	tree->feed = tree->rel->cheapest_total_path;
	tree->tuples = tree->rel->rows;
	return true;
}

tsurugi_job *
tsurugi_job_of_path_fed(PlannerInfo *root, Path *path)
{
	Tree *tree = tree_of(root, path);

	if (tree == NULL || !tree->joined || !feed_what_is_not_filtered(root, tree))
		return NULL;
	return job_of_tree(root, tree);
}
