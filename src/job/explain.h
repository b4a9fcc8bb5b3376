/*
 * explain.h
 *	  What EXPLAIN shows of a job.
 */
#ifndef TSURUGI_JOB_EXPLAIN_H
#define TSURUGI_JOB_EXPLAIN_H

#include "postgres.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"

#include "runtime/query/query.h"
#include "src/job/job.h"

/* What EXPLAIN shows of a node that has been run. */
typedef struct tsurugi_job_report
{
	bool ran;
	tg_query_report query;
	const tg_step_report *steps; /* as many as the job has */
	const char *fallback;		 /* why the fallback was run; NULL: it was not */
} tsurugi_job_report;

extern void tsurugi_job_explain(const tsurugi_job *job, const tsurugi_job_report *report, CustomScanState *node,
								List *ancestors, ExplainState *es);

#endif /* TSURUGI_JOB_EXPLAIN_H */
