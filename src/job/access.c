/*
 * access.c
 *	  How a job reads a table: all of it, or ranges of an index.
 *
 * The ways by an index are those of the table's own paths (fdw_plan.c).  A job reads the keys of
 * one index, which it compares with values; what else paths can do, several indexes, covers, keys
 * USING gin, nearest rows first, is left to them.  Whether a path is cheaper for PostgreSQL does
 * not say so of a job, where a row of a whole table costs next to nothing, and many tasks read it.
 */
#include "postgres.h"

#include "src/job/access.h"

#include <math.h>

#include "utils/float.h"

#include "runtime/base/failpoint.h"
#include "src/exec/fdw_plan.h"

/* Nanoseconds of one core. */
#define NS_ROW 2		   /* of a whole table */
#define NS_DESCENT 300	   /* to where a range begins */
#define NS_ROW_BY_KEY 25   /* of a range of the primary key, */
#define NS_ROW_BY_INDEX 50 /* or of another index */

static bool
is_simple(const tsurugi_choice *choice)
{
	const tsurugi_shape *shape = &choice->shape;

	return (shape->way == TSURUGI_WAY_KEY || shape->way == TSURUGI_WAY_RANGE) && shape->covers == 0 &&
		   !shape->nearest && choice->sought_columns == NIL && choice->others == NIL && choice->distance == NULL;
}

/* What a path does with an index; NULL: something else. */
static const tsurugi_choice *
choice_of(const Path *path)
{
	const ForeignPath *foreign;
	const tsurugi_choice *choice;

	if (IsA(path, ProjectionPath)) /* of what is computed from the rows */
		path = ((const ProjectionPath *) path)->subpath;
	foreign = (const ForeignPath *) path;
	if (!IsA(path, ForeignPath) || path->param_info != NULL || tsurugi_is_tid_private(foreign->fdw_private))
		return NULL;
	choice = linitial(foreign->fdw_private);
	return is_simple(choice) ? choice : NULL;
}

static bool
is_primary(const RelOptInfo *rel, const tsurugi_choice *choice)
{
	const tsurugi_plan_notes *notes = rel->fdw_private;

	return choice->shape.index == notes->described->key_index;
}

bool
tsurugi_job_reads_as_path(const tsurugi_job_table *table, const Path *path)
{
	const tsurugi_choice *choice = choice_of(path);

	return table->access != NULL && choice != NULL && choice->shape.index == table->access->shape.index;
}

double
tsurugi_job_choose_access(PlannerInfo *root, RelOptInfo *rel, tsurugi_job_table *table, List **answered_out)
{
	double best = tg_failpoint_refuses("job_by_ranges") ? get_float8_infinity() : rel->tuples * NS_ROW;
	ListCell *cell;

	*answered_out = NIL;
	table->rows = rel->tuples;
	foreach (cell, rel->pathlist)
	{
		const tsurugi_choice *choice = choice_of(lfirst(cell));
		double rows;
		double cost;

		if (choice == NULL)
			continue;
		rows = choice->whole ? rel->tuples : tsurugi_rows_by_index(root, rel, choice);
		cost = choice->turns * NS_DESCENT + rows * (is_primary(rel, choice) ? NS_ROW_BY_KEY : NS_ROW_BY_INDEX);
		if (cost >= best)
			continue;
		best = cost;
		table->rows = rows;
		table->access = tsurugi_scan_access_make(&choice->shape);
		table->access->shape.backward = false; /* its order does not matter */
		table->values = list_copy(choice->values);
		*answered_out = choice->conditions;
	}
	return isinf(best) ? rel->tuples * NS_ROW : best;
}
