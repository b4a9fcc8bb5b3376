/*
 * feed.h
 *	  Relations whose rows PostgreSQL reads for a job.
 */
#ifndef TSURUGI_JOB_FEED_H
#define TSURUGI_JOB_FEED_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "src/job/job.h"

/* Whether a base relation's cheapest path can feed a job. */
extern bool tsurugi_job_can_feed(PlannerInfo *root, RelOptInfo *rel);

/* The columns of its rows, as of a tsurugi_job_step. */
extern List *tsurugi_job_columns_of_feed(const Path *feed);

/* What the session does for it, in PostgreSQL's units: the child, and handing its rows on. */
extern Cost tsurugi_job_cost_of_feed(const Path *feed);

extern bool tsurugi_job_has_feeds(const tsurugi_job *job);

/* The paths of all feeds, in the order of their steps. */
extern List *tsurugi_job_feed_paths(const tsurugi_job *job);

/* The plans, made of a fallback and of these, have the columns that the job expects. */
extern void tsurugi_job_check_feeds(const tsurugi_job *job, const List *plans);

#endif /* TSURUGI_JOB_FEED_H */
