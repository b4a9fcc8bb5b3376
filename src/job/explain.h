/*
 * explain.h
 *	  What EXPLAIN shows of a job.
 */
#ifndef TSURUGI_JOB_EXPLAIN_H
#define TSURUGI_JOB_EXPLAIN_H

#include "postgres.h"

#include "commands/explain.h"
#include "nodes/execnodes.h"

#include "runtime/base/status.h"
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

/* Why a job that has ended so is left to the fallback; NULL: it is an error. */
extern const char *tsurugi_job_reason(tg_status status);

extern void tsurugi_job_explain(const tsurugi_job *job, const tsurugi_job_report *report, CustomScanState *node,
								List *ancestors, ExplainState *es);

#endif /* TSURUGI_JOB_EXPLAIN_H */
