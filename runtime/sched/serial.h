/*
 * serial.h
 *	  Tasks that run in place: on the thread that starts their job.
 *
 * For work that takes less time than waking another thread.  Under the kind SERIAL every job runs
 * in place, under HYBRID jobs whose work level is at most lightweight_job_level, under STEALING
 * none.  A job that turns out to be large continues in the pool.
 */
#ifndef TG_SERIAL_H
#define TG_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"

/*
 * A job in place is large after this many tasks run, this many queued, or a tick of time with tasks
 * queued.
 */
#define TG_SERIAL_RUN_MAX 256
#define TG_SERIAL_QUEUED_MAX 64

/*
 * Whether the settings let the requesting thread itself do work of this level.  This also applies
 * to work without a job: a scan that its caller consumes, a build that its caller steps.
 */
extern bool tg_serial_takes_level(unsigned level);

/* Whether the settings let a job like this one run in place. */
extern bool tg_serial_takes(const tg_job_config *config);

/*
 * Runs the task and all tasks that come of it, on this thread, until only tasks are left that the
 * pool has taken or that are parked.  If a task that runs in place itself makes the call, the new
 * task is only queued behind that task. started_us: now, by tg_clock_us.  TG_NO_MEMORY: nothing has
 * run.
 */
extern tg_status tg_serial_run(tg_session *session, tg_task *task, uint64_t started_us) TG_MUST_USE;

/* Queues an accepted task last, if this thread runs tasks in place; else false. */
extern bool tg_serial_keep(tg_task *task);

/*
 * For the host's exit and error paths: the task that this thread was running in place will not
 * return.  It counts as ended; its job counts as failed (TG_CANCELLED) and is cancelled.  The
 * remaining tasks go to the pool, or run here if there is no pool.  Does nothing if no task was
 * running in place.
 */
extern void tg_serial_abandon(tg_session *session);

#endif /* TG_SERIAL_H */
