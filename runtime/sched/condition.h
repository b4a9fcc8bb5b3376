/*
 * condition.h
 *	  Tasks that run once a condition holds, and tasks that run at a given time.
 *
 * A condition consists of a cheap check and a body, which is a task.  The watcher runs the check
 * when it is poked and every interval_us, and submits the body, urgently, once the check returns
 * true.  A timer is a task with a time.  Neither costs a worker anything while it waits.  Both lie
 * in the arena and may be submitted from any process.
 *
 * Park and unpark (scheduler.h) are cheaper where the waking party knows the waiting task.
 * Conditions are for events that several parties may cause, none of which knows of the waiter.
 *
 * A condition or timer that has a job counts as a task of the job while it waits.  It therefore has
 * to be submitted by a task of that job.  When the job is cancelled, the wait ends at once: the
 * body runs whatever the check or the time says, and sees the cancellation.
 *
 * A condition or timer without a job outlives the pool: it keeps waiting while the pool is stopped.
 * If the condition has become true or the timer due meanwhile, the body runs when the pool starts
 * again.
 */
#ifndef TG_CONDITION_H
#define TG_CONDITION_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/sched/scheduler.h"

#define TG_CHECK_BUDGET_US 10 /* a check that takes longer is counted, and its job reported once */

typedef struct tg_condition tg_condition;

struct tg_condition
{
	tg_task task; /* the body; run as any task, exactly once per submission */
	/*
	 * Must not allocate, wait, or take a lock whose holder may wait.  Runs on the watcher's thread
	 * or on a worker's.
	 */
	bool (*check)(tg_condition *condition, tg_session *session);
	uint32_t interval_us; /* this field and the rest belong to condition.c */
	uint16_t misses;	  /* in a worker's pending list */
	uint8_t slow_count;
	bool waits; /* from its submission until the body is submitted */
	uint64_t due_us;
	tg_condition *next;
};

/* Called before first use and never while submitted. interval_us 0: checked only when poked. */
extern void tg_condition_init(tg_condition *condition, tg_turn (*run)(tg_task *, tg_worker *),
							  bool (*check)(tg_condition *, tg_session *), uint32_t interval_us, tg_job *job);

/*
 * Waits for the check to hold, then runs the body, which may submit the condition again.  A
 * condition submitted by a worker of the pool is checked in the worker's pending list first
 * (pending.h); such a submission cannot fail.  Elsewhere (worker NULL) it goes to the watcher, with
 * TG_STOPPED if the pool does not run.
 */
extern tg_status tg_condition_submit(tg_session *session, tg_worker *worker, tg_condition *condition) TG_MUST_USE;

/*
 * Announces a change that conditions may wait for: the watcher checks all of them soon.  Any
 * process may call.  Costs a fence if no condition waits, and one futex call at most.
 */
extern void tg_condition_poke(void);

typedef struct tg_timer tg_timer;

struct tg_timer
{
	tg_task task;	 /* runs at due_us */
	uint64_t due_us; /* this field and the rest belong to timer.c */
	tg_timer *child;
	tg_timer *sibling;
	tg_timer *previous;
	bool waits; /* from the start until the task is submitted or the timer cancelled */
};

/* Before first use and never while it waits. */
extern void tg_timer_init(tg_timer *timer, tg_turn (*run)(tg_task *, tg_worker *), tg_job *job);

/*
 * Submits the task, urgently, when tg_clock_us reaches due_us, at most one tick late as long as the
 * machine keeps up.  The task may start its own timer again once it runs.  TG_STOPPED: the pool
 * takes no new tasks.  Any process.
 */
extern tg_status tg_timer_start(tg_session *session, tg_timer *timer, uint64_t due_us) TG_MUST_USE;

/*
 * True: the task will not run, and the timer is the caller's again and may be freed.  If it was the
 * last task of its job, the job's teardown runs in this call.  False: the task has been submitted,
 * or the timer was not started.  Any process.
 */
extern bool tg_timer_cancel(tg_session *session, tg_timer *timer);

#endif /* TG_CONDITION_H */
