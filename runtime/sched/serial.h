/*
 * serial.h
 *	  Tasks that run in place: on the thread that starts their job.
 *
 * For work that is over sooner than another thread is awake.  Under the kind
 * SERIAL every job is run so, under HYBRID those up to the setting
 * lightweight_job_level (runtime.md), under STEALING none.  One that turns out
 * to be large goes on in the pool.  Used by job.c; others need
 * tg_serial_abandon only.
 */
#ifndef TG_SERIAL_H
#define TG_SERIAL_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"

/* A job in place is large once it has run that many tasks, or has so many queued, or lasts for a tick with some queued. */
#define TG_SERIAL_RUN_MAX 256
#define TG_SERIAL_QUEUED_MAX 64

/* Whether the settings let a job like this run in place. */
extern bool tg_serial_takes(const tg_job_config *config);

/*
 * Runs the task and all that comes of it, on this thread, until nothing is left
 * but what the pool has got or what is parked.  Called from a task that runs in
 * place itself, only queues it behind that.  started_us: now, by tg_clock_us.
 * TG_NO_MEMORY: nothing has run.
 */
extern tg_status tg_serial_run(tg_session *session, tg_task *task, uint64_t started_us) TG_MUST_USE;

/* Queues an accepted task last, if this thread runs tasks in place; else false. */
extern bool tg_serial_keep(tg_task *task);

/*
 * For the host's exit and error paths: the task that this thread was running in
 * place will not return.  It counts as ended, its job as failed (TG_CANCELLED)
 * and cancelled; what is left goes to the pool, or is run here if there is
 * none.  Does nothing if no task was running so.
 */
extern void tg_serial_abandon(tg_session *session);

#endif /* TG_SERIAL_H */
