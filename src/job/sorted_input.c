/*
 * sorted_input.c
 *	  Jobs whose rows, in order, are the input of PostgreSQL's own nodes: window functions, groups
 *	  with aggregates that no job computes, grouping sets, DISTINCT ON.
 *
 *	WindowAgg								WindowAgg, a copy
 *	  └─ Sort by k, v				──>		  └─ Custom Scan (Tsurugi Job), order by k, v
 *		   └─ join of tables in memory			   fallback: the Sort
 *
 * The job scans, joins, filters and sorts with all workers.  The nodes above it are the planner's,
 * copied from its own path of the stage, and see the same rows in the same order.  Their own costs
 * stay what they were.
 */
#include "postgres.h"

#include "src/job/sorted_input.h"

#include "optimizer/pathnode.h"

#include "src/job/fallback.h"
#include "src/job/job.h"
#include "src/job/order.h"

/* The input of a node that may stand above the Sort; NULL: it is another kind. */
static Path **
input_of(Path *path)
{
	switch (nodeTag(path))
	{
		case T_WindowAggPath:
			return &((WindowAggPath *) path)->subpath;
		case T_AggPath:
			return &((AggPath *) path)->subpath;
		case T_GroupPath:
			return &((GroupPath *) path)->subpath;
		case T_GroupingSetsPath:
			return &((GroupingSetsPath *) path)->subpath;
		case T_UpperUniquePath:
			return &((UpperUniquePath *) path)->subpath;
		case T_SortPath:
			return &((SortPath *) path)->subpath;
		case T_IncrementalSortPath:
			return &((IncrementalSortPath *) path)->spath.subpath;
		default:
			return NULL;
	}
}

/* The Sort of the rows of input, below all other nodes; NULL: there is none. */
static const SortPath *
find_sort_of(Path *path, const RelOptInfo *input)
{
	const Path *above = NULL;

	while (path->parent != input && !tsurugi_job_is_path(path))
	{
		Path **next = input_of(path);

		if (next == NULL)
			return NULL;
		above = path;
		path = *next;
	}
	return above != NULL && IsA(above, SortPath) ? (const SortPath *) above : NULL;
}

/* Whether it hands out its first row only when it has had its last one. */
static bool
is_blocking(const Path *path)
{
	return IsA(path, SortPath) || (IsA(path, AggPath) && ((const AggPath *) path)->aggstrategy != AGG_SORTED) ||
		   (IsA(path, GroupingSetsPath) && ((const GroupingSetsPath *) path)->aggstrategy != AGG_SORTED);
}

/* A copy with the job in place of the Sort. */
static Path *
replace_sort(Path *path, const SortPath *sort, Path *job)
{
	Path *copy;
	Path **input;
	const Path *before;

	if (path == &sort->path)
		return job;
	before = *input_of(path);
	copy = tsurugi_job_copy_path(path);
	input = input_of(copy);
	*input = replace_sort(*input, sort, job);
	copy->total_cost += (*input)->total_cost - before->total_cost;
	copy->startup_cost +=
		is_blocking(path) ? (*input)->total_cost - before->total_cost : (*input)->startup_cost - before->startup_cost;
	return copy;
}

/* The cheapest path with a Sort. */
static Path *
find_sorting_path(const RelOptInfo *input, const RelOptInfo *output, const SortPath **sort_out)
{
	Path *best = NULL;
	ListCell *cell;

	foreach (cell, output->pathlist)
	{
		Path *path = lfirst(cell);
		const SortPath *sort = path->param_info == NULL ? find_sort_of(path, input) : NULL;

		if (sort == NULL || (best != NULL && best->total_cost <= path->total_cost))
			continue;
		best = path;
		*sort_out = sort;
	}
	return best;
}

void
tsurugi_job_offer_sorted_input(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output)
{
	const SortPath *sort;
	Path *path = find_sorting_path(input, output, &sort);
	Path *job = path != NULL ? tsurugi_job_of_sort(root, input, output, sort) : NULL;

	if (job != NULL)
		add_path(output, replace_sort(path, sort, job));
}
