/*
 * append.h
 *	  UNION ALL in a job: steps that have one sink together.
 */
#ifndef TSURUGI_JOB_APPEND_H
#define TSURUGI_JOB_APPEND_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "src/job/job.h"

/* Puts a step at the end of a job, behind the branches before it. */
extern void tsurugi_job_put_step(tsurugi_job *job, tsurugi_job_step *step);

/* Whether nothing is in the branches that only a single step can do. */
extern bool tsurugi_job_branches_are_fit(const tsurugi_job *job);

/*
 * Gives all branches what the last one has got: the sink, and the operators that are of the whole.
 * For a job that is complete; it may be done again when that has changed.
 */
extern void tsurugi_job_spread(tsurugi_job *job);

/* What a group is as rows: those conditions hold, and it is so many of them; NULL: one. */
extern void tsurugi_job_add_group_rows(tsurugi_job_step *step, const List *having, Node *times);

/* A copy of expressions with others in place of the columns of a relation. */
extern List *tsurugi_job_with_columns(const List *exprs, Index relation, const List *columns);

#endif /* TSURUGI_JOB_APPEND_H */
