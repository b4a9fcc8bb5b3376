/*
 * condition_internal.h
 *	  The part of conditions and timers that the watcher and the workers use.
 */
#ifndef TG_CONDITION_INTERNAL_H
#define TG_CONDITION_INTERNAL_H

#include "runtime/sched/condition.h"

/*
 * The checks that one thread runs.  That thread writes all fields; any thread reads the counts
 * (relaxed).
 */
typedef struct tg_check_meter
{
	uint64_t checks;
	uint64_t slow; /* those of them that exceeded the budget */
	uint64_t at_us;
	uint64_t interruptions;
} tg_check_meter;

/* Make the shared parts in the arena, empty.  TG_NO_MEMORY. */
extern tg_status tg_conditions_create(tg_session *session) TG_MUST_USE;
extern tg_status tg_timers_create(tg_session *session) TG_MUST_USE;

/* Before a series of tg_condition_holds. */
extern void tg_check_meter_begin(tg_check_meter *meter);

/*
 * Whether its body is to run now.  Called by the thread that has the condition: the watcher, or the
 * worker that has it in its pending list.
 */
extern bool tg_condition_holds(tg_condition *condition, tg_session *session, tg_check_meter *meter);

/* Gives the condition to the watcher.  Any thread that has it. */
extern void tg_condition_hand_over(tg_condition *condition);

/*
 * One look of the watcher.  The first function returns the time of the next look that is due even
 * without a poke.
 */
extern uint64_t tg_conditions_look(tg_session *session);
extern void tg_timers_look(tg_session *session);

/*
 * The watcher is about to sleep until until_us.  Returns until when the timers allow it to.  A
 * timer that is due earlier pokes the watcher.
 */
extern uint64_t tg_timers_sleep(uint64_t until_us);

/*
 * A job that may have timers has been cancelled: the next look submits the timers of cancelled
 * jobs.
 */
extern void tg_timers_let_go(void);

/* Their part of the report. */
extern void tg_conditions_report(tg_scheduler_report *report);
extern void tg_timers_report(tg_scheduler_report *report);

#endif /* TG_CONDITION_INTERNAL_H */
