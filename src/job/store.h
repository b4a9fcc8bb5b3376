/*
 * store.h
 *	  INSERT ... SELECT as a job that stores the rows.
 */
#ifndef TSURUGI_JOB_STORE_H
#define TSURUGI_JOB_STORE_H

#include "postgres.h"

#include "nodes/pathnodes.h"
#include "utils/relcache.h"

#include "src/job/job.h"

/* Offers a job in place of PostgreSQL's ModifyTable, for an INSERT of the rows of this relation. */
extern void tsurugi_job_offer_store(PlannerInfo *root, RelOptInfo *input, RelOptInfo *final);

/*
 * Describes the table that gets the rows, in the current memory context.  False: tasks cannot store
 * them, as they need something of the executor's.
 */
extern bool tsurugi_job_describe_into(tsurugi_job *job, Relation relation);

#endif /* TSURUGI_JOB_STORE_H */
