/*
 * probe_cost.h
 *	  What it costs to look rows up in a build where that is not its hash table alone: in an index,
 *	  or in several passes; and what it costs to sort and to group what has no room in memory.  In
 *	  nanoseconds of one core.
 */
#ifndef TSURUGI_JOB_PROBE_COST_H
#define TSURUGI_JOB_PROBE_COST_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * To read of a table, instead of all rows, those that an index has of so many keys of a build,
 * found rows together; the clauses are the join's.  Infinity: that cannot be.
 */
extern double tsurugi_job_cost_of_look_ups(const RelOptInfo *table, const List *clauses, double keys, double found);

/*
 * In addition, where the rows of a build, each of so many columns, have no room in memory: they are
 * written and read, and what the step has done so far is done once more for each further pass.
 */
extern double tsurugi_job_cost_of_passes(double rows, int columns, double step_cost);

/*
 * In addition, where rows to be sorted, or the groups of rows, each of so many columns, have no
 * room in memory: they are written and read.
 */
extern double tsurugi_job_cost_of_sorted(double rows, int columns);
extern double tsurugi_job_cost_of_grouped(double rows, double groups, int columns);

#endif /* TSURUGI_JOB_PROBE_COST_H */
