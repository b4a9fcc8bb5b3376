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

/* A path of the rows of a set operation's query, which can feed a job.  NULL: there is none. */
extern Path *tsurugi_job_feed_of_query(PlannerInfo *root, const RelOptInfo *rel);

/* Has a step read the rows of that path. */
extern void tsurugi_job_read_feed(tsurugi_job_step *step, Path *feed);

extern bool tsurugi_job_has_feeds(const tsurugi_job *job);

/* The paths of all feeds, in the order of their steps. */
extern List *tsurugi_job_feed_paths(const tsurugi_job *job);

/*
 * The plans, made of a fallback and of these, become children of one node: they have the columns
 * that the job expects, and are made ready for PostgreSQL to number their relations.
 */
extern void tsurugi_job_take_feeds(const tsurugi_job *job, const List *plans);

#endif /* TSURUGI_JOB_FEED_H */
