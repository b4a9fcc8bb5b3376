/*
 * condition.h
 *	  Tasks that run once something holds, and tasks that run at a time.
 *
 * A condition is a cheap check and a body.  The watcher runs the check when it
 * is poked and every interval_us, and submits the body, urgently, once it says
 * yes.  A timer is a task with a time.  Neither costs a worker anything while
 * it waits.  Both lie in the arena and may be submitted from any process.
 *
 * Park and unpark (scheduler.h) are cheaper where somebody knows whom to wake;
 * this is for what several parties bring about, none of whom knows of the waiter.
 *
 * One that has a job counts as a task of it while it waits, and is let go at
 * once when the job is cancelled: the body then runs whatever the check or the
 * time says, and sees the cancellation.  So it is submitted by a task of the job.
 *
 * One without a job outlives the pool: what waits when it stops goes on waiting
 * when it starts again, and what has come true or due meanwhile runs then.
 */
#ifndef TG_CONDITION_H
#define TG_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/sched/scheduler.h"

#define TG_CHECK_BUDGET_US 10 /* a check that takes longer is counted, and its job reported once */

typedef struct tg_condition tg_condition;

struct tg_condition
{
	tg_task task; /* the body; run as any task, exactly once per submission */
	/* No allocation, no waiting, no lock that somebody may hold while waiting.  On the watcher's thread or a worker's. */
	bool (*check)(tg_condition *condition, tg_session *session);
	uint32_t interval_us; /* the rest is condition.c's */
	uint16_t misses;	  /* in a worker's pending list */
	uint8_t slow_count;
	bool waits; /* from its submission until the body is submitted */
	uint64_t due_us;
	tg_condition *next;
};

/* Before first use and never while submitted.  interval_us 0: only when poked. */
extern void tg_condition_init(tg_condition *condition, tg_turn (*run)(tg_task *, tg_worker *),
							  bool (*check)(tg_condition *, tg_session *), uint32_t interval_us, tg_job *job);

/*
 * Waits for the check to hold, then runs the body, which may submit it again.
 * From a worker of the pool: looked at in its pending list first (pending.h),
 * cannot fail; from elsewhere (worker NULL) by the watcher: TG_STOPPED if the
 * pool does not run.
 */
extern tg_status tg_condition_submit(tg_session *session, tg_worker *worker, tg_condition *condition) TG_MUST_USE;

/*
 * Something has changed that conditions may wait for: the watcher looks at all
 * of them soon.  Any process; a fence if none waits, one futex call at most.
 */
extern void tg_condition_poke(void);

typedef struct tg_timer tg_timer;

struct tg_timer
{
	tg_task task;	 /* run at the time */
	uint64_t due_us; /* the rest is timer.c's, as this */
	tg_timer *child;
	tg_timer *sibling;
	tg_timer *previous;
	bool waits; /* from its start until the task is submitted, or it is cancelled */
};

/* Before first use and never while it waits. */
extern void tg_timer_init(tg_timer *timer, tg_turn (*run)(tg_task *, tg_worker *), tg_job *job);

/*
 * Submits the task, urgently, at the time of tg_clock_us, late by a tick at
 * most while the machine keeps up.  Its own task may start it again, once it
 * runs.  TG_STOPPED: the pool takes nothing new.  Any process.
 */
extern tg_status tg_timer_start(tg_session *session, tg_timer *timer, uint64_t due_us) TG_MUST_USE;

/*
 * True: the task will not run, and the timer is the caller's again (its memory
 * may go); a job's teardown runs here if that was its last task.  False: the
 * task has been submitted, or it was not started.  Any process.
 */
extern bool tg_timer_cancel(tg_session *session, tg_timer *timer);

#endif /* TG_CONDITION_H */
