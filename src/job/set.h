/*
 * set.h
 *	  UNION, INTERSECT and EXCEPT as groups of a job.
 */
#ifndef TSURUGI_JOB_SET_H
#define TSURUGI_JOB_SET_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* Offers a job for a set operation, beside PostgreSQL's paths of it. */
extern void tsurugi_job_offer_set(PlannerInfo *root, RelOptInfo *rel);

/* The relation of all of a query's set operations. */
extern RelOptInfo *tsurugi_job_whole_set(PlannerInfo *root);

/* Copies of expressions with columns of a job's set in place of the planner's; and back. */
extern List *tsurugi_job_columns_of_set(const List *exprs, Index set);
extern List *tsurugi_job_columns_of_planner(const List *exprs, Index set);

#endif /* TSURUGI_JOB_SET_H */
