/*
 * access.h
 *	  How a job reads a table: all of it, or ranges of an index.
 */
#ifndef TSURUGI_JOB_ACCESS_H
#define TSURUGI_JOB_ACCESS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "src/job/job.h"

/*
 * Sets the way that costs a job least to read a table, with the number of rows that it is expected
 * to read.  Returns nanoseconds of one core.  *answered_out: the conditions (RestrictInfos) on the
 * table that need not be evaluated.
 */
extern double tsurugi_job_choose_access(PlannerInfo *root, RelOptInfo *rel, tsurugi_job_table *table,
										List **answered_out);

/* Whether a path of the table reads the same index, and nothing else. */
extern bool tsurugi_job_reads_as_path(const tsurugi_job_table *table, const Path *path);

#endif /* TSURUGI_JOB_ACCESS_H */
