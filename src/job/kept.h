/*
 * kept.h
 *	  Jobs of cached plans, which are translated once.
 */
#ifndef TSURUGI_JOB_KEPT_H
#define TSURUGI_JOB_KEPT_H

#include "src/job/job.h"

typedef struct tsurugi_job_code tsurugi_job_code; /* code.h */
typedef struct tsurugi_job_kept tsurugi_job_kept;

/*
 * The kept job of a plan, until it is given back.  NULL: the plan has not been executed before, or
 * the job is in use, or is none to be kept.
 */
extern tsurugi_job_kept *tsurugi_job_kept_take(const CustomScan *plan);
extern tsurugi_job *tsurugi_job_kept_job(const tsurugi_job_kept *kept);
extern void tsurugi_job_kept_give_back(tsurugi_job_kept *kept);

/* Its translation, with its tables described; NULL: there is none, or a table has changed. */
extern const tsurugi_job_code *tsurugi_job_kept_code(const tsurugi_job_kept *kept);

/* If there is none: where its tables are to be described, before it is translated. */
extern MemoryContext tsurugi_job_kept_memory(tsurugi_job_kept *kept);

/* Translates it.  NULL: that takes values that are not in the plan. */
extern const tsurugi_job_code *tsurugi_job_kept_translate(tsurugi_job_kept *kept);

#endif /* TSURUGI_JOB_KEPT_H */
