/*
 * tree.c
 *	  What the tree of a path joins and reads; tree_steps.c makes steps of it.
 *
 * PostgreSQL's planner has ordered the joins; how its path computes them does not matter.  The tree
 * is read through sorts, materializations and the like.  Its leaves are scans of tables by any way,
 * with all conditions on the table; how a job reads it is chosen anew (access.c).  The conditions
 * that the inner side of a nested loop gets as parameters become conditions of the join that has
 * all of their relations.
 *
 * A leaf may also be a subquery of which a job can make the groups, or the rows (absorb.c), or
 * what PostgreSQL reads for the job (feed.c): then the conditions on it are PostgreSQL's.  That is
 * so of tables of ours, too, if they have conditions that jobs do not compute, and of subqueries
 * that are not absorbed.
 *
 * UNION ALL in FROM, where PostgreSQL has made an append relation of it, is a leaf with branches:
 * tables, what is fed, subqueries of which a job makes the groups, or the rows.  Where the types of
 * columns differ PostgreSQL plans it as a set operation; then its branches are in a note (set.c).
 */
#include "postgres.h"

#include "runtime/query/plan.h"
#include "src/job/absorb.h"
#include "src/job/access.h"
#include "src/job/append.h"
#include "src/job/feed.h"
#include "src/job/job.h"
#include "src/job/tree_internal.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"

#include "src/exec/fdw.h"

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

/* A table, which these paths read. */
static Tree *
tree_of_tables(PlannerInfo *root, RelOptInfo *rel, const List *paths)
{
	List *answered = NIL;
	Tree *tree;
	ListCell *cell;

	if (rel->rtekind != RTE_RELATION || !bms_is_empty(rel->lateral_relids))
		return NULL;
	tree = palloc0(sizeof(*tree));
	tree->rel = rel;
	foreach (cell, paths)
		if (!add_tables(root, tree, lfirst(cell), &answered))
			return NULL;
	/* of partitions they are others */
	tree->filters = conditions_of(rel, answered);
	return tree;
}

static Tree *
tree_of_table(PlannerInfo *root, Path *path)
{
	Tree *tree =
		path->parent->reloptkind != RELOPT_BASEREL ? NULL : tree_of_tables(root, path->parent, list_make1(path));

	if (tree != NULL && path->param_info != NULL)
		tree->pending = path->param_info->ppi_clauses;
	return tree;
}

/* Whether it can be fed is looked at when there is a table of ours, too. */
static Tree *
tree_of_fed(RelOptInfo *rel)
{
	Tree *tree = palloc0(sizeof(*tree));

	tree->rel = rel;
	tree->feed = rel->cheapest_total_path;
	tree->tuples = rel->rows;
	return rel->cheapest_total_path != NULL ? tree : NULL;
}

static Tree *
tree_of_feed(Path *path)
{
	Tree *tree = path->parent->reloptkind != RELOPT_BASEREL ? NULL : tree_of_fed(path->parent);

	if (tree != NULL && path->param_info != NULL)
		tree->pending = path->param_info->ppi_clauses;
	return tree;
}

/* The groups of a subquery. */
static Tree *
tree_of_groups(RelOptInfo *rel)
{
	Tree *tree;

	if (rel->rtekind != RTE_SUBQUERY || !bms_is_empty(rel->lateral_relids) || rel->subroot == NULL ||
		tsurugi_job_note_get(rel->subroot) == NULL)
		return NULL;
	tree = palloc0(sizeof(*tree));
	tree->rel = rel;
	tree->subroot = rel->subroot;
	tree->tuples = rel->tuples;
	tree->filters = conditions_of(rel, NIL);
	return tree;
}

/* A subquery that is UNION ALL and no append relation: its branches have columns of other types. */
static Tree *
tree_of_union_all(RelOptInfo *rel)
{
	const tsurugi_job_note *note =
		rel->subroot != NULL && bms_is_empty(rel->lateral_relids) ? tsurugi_job_note_of_union_all(rel->subroot) : NULL;
	Tree *tree;

	if (note == NULL)
		return NULL;
	tree = palloc0(sizeof(*tree));
	tree->rel = rel;
	tree->union_all = note;
	tree->tuples = rel->tuples;
	tree->filters = conditions_of(rel, NIL);
	return tree;
}

/* --- UNION ALL ------------------------------------------------------------------------ */

/* The rows of a subquery that only joins and filters. */
static Tree *
tree_of_subquery_rows(RelOptInfo *rel)
{
	tsurugi_job_note *note = palloc0(sizeof(*note));
	Tree *tree;

	if (!bms_is_empty(rel->lateral_relids) || rel->subroot == NULL || !tsurugi_job_note_of_rows(rel->subroot, note))
		return NULL;
	tree = palloc0(sizeof(*tree));
	tree->rel = rel;
	tree->rows_root = rel->subroot;
	tree->rows_note = note;
	tree->tuples = rel->tuples;
	tree->filters = conditions_of(rel, NIL);
	return tree;
}

/*
 * A subquery that PostgreSQL has not pulled up, a security barrier for instance, as an append
 * relation of one branch.  Its conditions come before those on it.
 */
static Tree *
tree_of_one_branch(RelOptInfo *rel)
{
	Tree *rows = rel->subroot != NULL && rel->subroot->parse->sortClause == NIL ? tree_of_subquery_rows(rel) : NULL;
	Branch *branch;
	Tree *tree;

	if (rows == NULL)
		return NULL;
	branch = palloc0(sizeof(*branch));
	branch->tree = rows;
	tree = palloc0(sizeof(*tree));
	tree->rel = rel;
	tree->tuples = rows->tuples;
	tree->branches = list_make1(branch);
	return tree;
}

static Tree *
tree_of_subquery(Path *path)
{
	Tree *tree;

	if (path->parent->reloptkind != RELOPT_BASEREL || path->param_info != NULL)
		return NULL;
	tree = tree_of_groups(path->parent);
	if (tree == NULL)
		tree = tree_of_union_all(path->parent);
	if (tree == NULL)
		tree = tree_of_one_branch(path->parent);
	return tree != NULL ? tree : tree_of_feed(path);
}

/* What is scanned for a member of an append relation: the partitions of a table are one. */
static Index
member_of(const PlannerInfo *root, const Path *path)
{
	Index member = path->parent->relid;

	while (root->append_rel_array[member] != NULL &&
		   root->simple_rel_array[root->append_rel_array[member]->parent_relid]->rtekind == RTE_RELATION)
		member = root->append_rel_array[member]->parent_relid;
	return member;
}

/* What the columns of the append relation are in a member of it; NIL: it is none. */
static List *
columns_of_member(const PlannerInfo *root, Index member, Index append)
{
	const AppendRelInfo *info = root->append_rel_array[member];
	List *outputs;

	if (info == NULL)
		return NIL;
	outputs = info->translated_vars;
	for (; info->parent_relid != append; info = root->append_rel_array[info->parent_relid])
	{
		const AppendRelInfo *above = root->append_rel_array[info->parent_relid];

		if (above == NULL)
			return NIL;
		outputs = tsurugi_job_with_columns(above->translated_vars, info->parent_relid, outputs);
	}
	return list_member_ptr(outputs, NULL) ? NIL : outputs;
}

/* A member with the paths that read it. */
static Tree *
tree_of_member(PlannerInfo *root, Index member, const List *paths)
{
	RelOptInfo *rel = root->simple_rel_array[member];
	Tree *tree;

	if (rel->rtekind == RTE_SUBQUERY)
	{
		tree = tree_of_groups(rel);
		if (tree == NULL)
			tree = tree_of_subquery_rows(rel);
		return tree != NULL ? tree : tree_of_fed(rel);
	}
	tree = tree_of_tables(root, rel, paths);
	return tree != NULL ? tree : tree_of_fed(rel);
}

static bool
add_branch(PlannerInfo *root, Tree *tree, Index member, const List *paths)
{
	Branch *branch = palloc0(sizeof(*branch));

	branch->outputs = columns_of_member(root, member, tree->rel->relid);
	branch->tree = branch->outputs == NIL ? NULL : tree_of_member(root, member, paths);
	if (branch->tree == NULL)
		return false;
	tree->tuples += branch->tree->tuples;
	tree->branches = lappend(tree->branches, branch);
	return true;
}

/*
 * The conditions that a path gets as parameters from other relations.  The path of an append
 * relation does not have them, those of its members have.
 */
static List *
clauses_of_parameters(PlannerInfo *root, RelOptInfo *rel, const Relids outer)
{
	Relids all = bms_union(rel->relids, outer);
	List *clauses = NIL;
	ListCell *cell;

	foreach (cell, rel->joininfo)
		if (join_clause_is_movable_into(lfirst(cell), rel->relids, all))
			clauses = lappend(clauses, lfirst(cell));
	return list_concat(clauses, generate_join_implied_equalities(root, all, outer, rel));
}

static Tree *
tree_of_append(PlannerInfo *root, Path *path)
{
	RelOptInfo *rel = path->parent;
	const List *subpaths =
		IsA(path, AppendPath) ? ((AppendPath *) path)->subpaths : ((MergeAppendPath *) path)->subpaths;
	List *members = NIL;
	List *paths = NIL; /* of each: a list */
	Tree *tree = palloc0(sizeof(*tree));
	ListCell *cell;

	if (rel->reloptkind != RELOPT_BASEREL || rel->rtekind != RTE_SUBQUERY || !bms_is_empty(rel->lateral_relids))
		return NULL;
	tree->rel = rel;
	foreach (cell, subpaths)
	{
		Path *subpath = look_through(lfirst(cell));
		Index member = IS_SIMPLE_REL(subpath->parent) ? member_of(root, subpath) : 0;

		if (member == 0)
			return NULL;
		if (members == NIL || (Index) llast_int(members) != member)
		{
			members = lappend_int(members, (int) member);
			paths = lappend(paths, NIL);
		}
		llast(paths) = lappend(llast(paths), subpath);
	}
	foreach (cell, members)
		if (!add_branch(root, tree, (Index) lfirst_int(cell), list_nth(paths, foreach_current_index(cell))))
			return NULL;
	if (path->param_info != NULL)
		tree->pending = clauses_of_parameters(root, rel, path->param_info->ppi_req_outer);
	return members != NIL ? tree : NULL;
}

/* --- joins ---------------------------------------------------------------------------- */

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
	tree->left = tsurugi_job_tree_of(root, left);
	tree->right = tree->left == NULL ? NULL : tsurugi_job_tree_of(root, right);
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

Tree *
tsurugi_job_tree_of(PlannerInfo *root, Path *path)
{
	Tree *tree;

	path = look_through(path);
	switch (nodeTag(path))
	{
		case T_ForeignPath:
		case T_AppendPath:
		case T_MergeAppendPath:
			tree = path->parent->rtekind == RTE_SUBQUERY ? tree_of_append(root, path) : tree_of_table(root, path);
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
