/*
 * likely.h
 *	  What a path of PostgreSQL's costs if its joins have more rows than estimated.
 */
#ifndef TSURUGI_JOB_LIKELY_H
#define TSURUGI_JOB_LIKELY_H

#include "postgres.h"

#include "nodes/pathnodes.h"

typedef struct tsurugi_likely
{
	double rows;
	double cost; /* in PostgreSQL's units */
} tsurugi_likely;

/* The likely rows of a path, and its cost with these; neither is below the estimate. */
extern tsurugi_likely tsurugi_job_likely(PlannerInfo *root, const Path *path);

#endif /* TSURUGI_JOB_LIKELY_H */
