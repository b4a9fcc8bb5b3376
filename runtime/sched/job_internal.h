/*
 * job_internal.h
 *	  The part of jobs that the other files of this room use.
 */
#ifndef TG_JOB_INTERNAL_H
#define TG_JOB_INTERNAL_H

#include "runtime/sched/job.h"

/* Makes the registry in the arena, empty.  TG_NO_MEMORY. */
extern tg_status tg_jobs_create(tg_session *session) TG_MUST_USE;

/*
 * Counts a further task, or child, of a running job before it is submitted.  Called by a task of
 * the job.
 */
extern void tg_job_task_added(tg_job *job);

/*
 * A task of the job has ended; the last one ends the job.  Called by the thread that has run the
 * task.
 */
extern void tg_job_task_ended(tg_session *session, tg_job *job);

/*
 * Whether the session that made the job was privileged then (tg_claims_privilege): so are its
 * tasks.  Operations that a lane is given run without privilege in the pool.
 */
extern bool tg_job_is_privileged(const tg_job *job);

/* Cancels all jobs.  The main thread of the pool's process. */
extern void tg_jobs_cancel(void);

/* Whether jobs run. */
extern bool tg_jobs_are_running(void);

/* The report of a job that may have ended meanwhile; false if there is none, or job is NULL. */
extern bool tg_job_report_of(const tg_job *job, tg_job_report *report);

#endif /* TG_JOB_INTERNAL_H */
