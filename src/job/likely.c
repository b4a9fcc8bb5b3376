/*
 * likely.c
 *	  What a path of PostgreSQL's costs if its joins have more rows than estimated.
 *
 * PostgreSQL takes the conditions of a join to be independent of each other.  Where two tables are
 * joined by a key of several columns, each of which has many values, it therefore expects next to
 * no rows, and takes nested loops, whose cost follows the rows.  A job's cost hardly does.
 *
 * A join on all columns of a key finds for each row of the other table the one row of the key, if
 * that is there: its selectivity is 1 / rows of the key's table, as PostgreSQL estimates it where a
 * foreign key says so.  Where the estimate is below that, the rows of the join, and of all joins
 * above it, are taken to be as many times more, and with them the costs of what reads them.
 */
#include "postgres.h"

#include "src/job/likely.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

/* --- keys ----------------------------------------------------------------------------- */

/* Whether a condition is an equality that the column is in, directly or through others. */
static bool
is_equality_of(const RestrictInfo *rinfo, Index relation, int attribute)
{
	const EquivalenceClass *class = rinfo->parent_ec != NULL ? rinfo->parent_ec : rinfo->left_ec;
	ListCell *cell;

	if (class == NULL || (rinfo->parent_ec == NULL && rinfo->left_ec != rinfo->right_ec))
		return false;
	foreach (cell, class->ec_members)
	{
		const EquivalenceMember *member = lfirst(cell);
		const Var *var = (const Var *) member->em_expr;

		if (IsA(var, Var) && var->varno == relation && var->varattno == attribute && !member->em_is_child)
			return true;
	}
	return false;
}

/* The conditions by which a key is joined, one for each of its columns; NIL: not all are there. */
static List *
conditions_of_key(const IndexOptInfo *key, const List *clauses)
{
	List *found = NIL;

	for (int i = 0; i < key->nkeycolumns; i++)
	{
		RestrictInfo *of_column = NULL;
		ListCell *cell;

		foreach (cell, clauses)
			if (is_equality_of(lfirst(cell), key->rel->relid, key->indexkeys[i]))
				of_column = lfirst(cell);
		if (of_column == NULL)
			return NIL;
		found = list_append_unique_ptr(found, of_column);
	}
	return found;
}

/* How many times more rows a join has by one of the table's keys than by its conditions. */
static double
growth_by_keys(PlannerInfo *root, const RelOptInfo *table, const List *clauses, SpecialJoinInfo *join)
{
	double growth = 1;
	ListCell *cell;

	foreach (cell, table->indexlist)
	{
		const IndexOptInfo *key = lfirst(cell);
		List *of_key;
		double selectivity;

		if (!key->unique || key->nkeycolumns < 2 || key->indpred != NIL || key->indexprs != NIL)
			continue;
		of_key = conditions_of_key(key, clauses);
		if (list_length(of_key) < 2)
			continue;
		selectivity = clauselist_selectivity(root, of_key, 0, JOIN_INNER, join);
		growth = Max(growth, 1 / Max(table->tuples * selectivity, 1e-9));
	}
	return growth;
}

static double
growth_of_join(PlannerInfo *root, const JoinPath *path)
{
	List *clauses = list_copy(path->joinrestrictinfo);
	const ParamPathInfo *parameters = path->innerjoinpath->param_info;
	/* as PostgreSQL estimates an inner join */
	SpecialJoinInfo join = {.type = T_SpecialJoinInfo,
							.min_lefthand = path->outerjoinpath->parent->relids,
							.min_righthand = path->innerjoinpath->parent->relids,
							.syn_lefthand = path->outerjoinpath->parent->relids,
							.syn_righthand = path->innerjoinpath->parent->relids,
							.jointype = JOIN_INNER};
	double growth = 1;
	int relation = -1;

	if (parameters != NULL)
		clauses = list_concat(clauses, parameters->ppi_clauses);
	if (list_length(clauses) < 2 || path->jointype == JOIN_SEMI || path->jointype == JOIN_ANTI)
		return 1;
	while ((relation = bms_next_member(path->path.parent->relids, relation)) >= 0)
	{
		double by_keys = growth_by_keys(root, find_base_rel(root, relation), clauses, &join);

		growth = Max(growth, by_keys);
	}
	return growth;
}

/* --- paths ---------------------------------------------------------------------------- */

static double
growth_of(tsurugi_likely likely, const Path *path)
{
	return likely.rows / Max(path->rows, 1);
}

/* The cost of a node follows the rows that it reads. */
static tsurugi_likely
likely_of_join(PlannerInfo *root, const JoinPath *path)
{
	const Path *outer = path->outerjoinpath;
	const Path *inner = path->innerjoinpath;
	tsurugi_likely by_outer = tsurugi_job_likely(root, outer);
	tsurugi_likely by_inner = tsurugi_job_likely(root, inner);
	double growth = growth_of(by_outer, outer) * growth_of(by_inner, inner);
	double own = path->path.total_cost - outer->total_cost;
	tsurugi_likely likely = {.rows = path->path.rows * growth * growth_of_join(root, path)};

	if (IsA(path, NestPath))
		likely.cost = by_outer.cost + own * growth_of(by_outer, outer);
	else
		likely.cost = by_outer.cost + by_inner.cost + (own - inner->total_cost) * growth;
	likely.rows = Max(likely.rows, path->path.rows);
	likely.cost = Max(likely.cost, path->path.total_cost);
	return likely;
}

/* What a node with one path below it reads; NULL: it has none, or several. */
static const Path *
path_below(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_SortPath:
		case T_IncrementalSortPath:
			return ((const SortPath *) path)->subpath;
		case T_MaterialPath:
			return ((const MaterialPath *) path)->subpath;
		case T_MemoizePath:
			return ((const MemoizePath *) path)->subpath;
		case T_GatherPath:
			return ((const GatherPath *) path)->subpath;
		case T_GatherMergePath:
			return ((const GatherMergePath *) path)->subpath;
		case T_ProjectionPath:
			return ((const ProjectionPath *) path)->subpath;
		case T_UniquePath:
			return ((const UniquePath *) path)->subpath;
		case T_AggPath:
			return ((const AggPath *) path)->subpath;
		case T_GroupPath:
			return ((const GroupPath *) path)->subpath;
		case T_UpperUniquePath:
			return ((const UpperUniquePath *) path)->subpath;
		default:
			return NULL;
	}
}

tsurugi_likely
tsurugi_job_likely(PlannerInfo *root, const Path *path)
{
	const Path *below = path_below(path);
	tsurugi_likely likely = {.rows = Max(path->rows, 1), .cost = path->total_cost};

	if (IsA(path, NestPath) || IsA(path, HashPath) || IsA(path, MergePath))
		return likely_of_join(root, (const JoinPath *) path);
	if (below != NULL)
	{
		tsurugi_likely source = tsurugi_job_likely(root, below);
		double growth = growth_of(source, below);

		likely.rows *= growth;
		likely.cost = Max(likely.cost, source.cost + (path->total_cost - below->total_cost) * growth);
	}
	return likely;
}
