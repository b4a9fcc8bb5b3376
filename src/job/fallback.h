/*
 * fallback.h
 *	  Paths of PostgreSQL's that are kept as fallbacks of jobs.
 */
#ifndef TSURUGI_JOB_FALLBACK_H
#define TSURUGI_JOB_FALLBACK_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * A copy of a path: later stages of the planner free paths that have lost, and change others.
 * NULL: it is of a kind that is no fallback.  That of min() and max() by an index replaces
 * aggregates by parameters in the whole plan, and is left out.
 */
extern Path *tsurugi_job_copy_path(const Path *path);

/* Whether there is such a copy. */
extern bool tsurugi_job_can_copy_path(const Path *path);

#endif /* TSURUGI_JOB_FALLBACK_H */
