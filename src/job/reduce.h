/*
 * reduce.h
 *	  Groups of a subquery, made for the keys alone that they are joined by.
 */
#ifndef TSURUGI_JOB_REDUCE_H
#define TSURUGI_JOB_REDUCE_H

#include "src/job/job.h"

/*
 * The step reads the groups of a subquery, and will probe that build, which comes before the
 * subquery's steps: rows whose groups would find nothing there do not get into groups.  Returns the
 * step that looks them up; NULL: that cannot be.
 */
extern tsurugi_job_step *tsurugi_job_reduce(tsurugi_job *job, tsurugi_job_step *step, int build, const List *clauses);

#endif /* TSURUGI_JOB_REDUCE_H */
