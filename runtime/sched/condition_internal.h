/*
 * condition_internal.h
 *	  What watcher and workers need of conditions and timers.
 */
#ifndef TG_CONDITION_INTERNAL_H
#define TG_CONDITION_INTERNAL_H

#include "runtime/sched/condition.h"

/* Checks run by one thread: written by it, the counts read by all (relaxed). */
typedef struct tg_check_meter
{
	uint64_t checks;
	uint64_t slow; /* of them, beyond the budget */
	uint64_t at_us;
	uint64_t interruptions;
} tg_check_meter;

/* Make the shared parts in the arena, empty.  TG_NO_MEMORY. */
extern tg_status tg_conditions_create(tg_session *session) TG_MUST_USE;
extern tg_status tg_timers_create(tg_session *session) TG_MUST_USE;

/* Before a series of tg_condition_holds. */
extern void tg_check_meter_begin(tg_check_meter *meter);

/* Whether its body is to run now.  By who has the condition: the watcher, or the worker in whose pending list it is. */
extern bool tg_condition_holds(tg_condition *condition, tg_session *session, tg_check_meter *meter);

/* Gives the condition to the watcher.  Any thread that has it. */
extern void tg_condition_hand_over(tg_condition *condition);

/* The watcher's looks.  The first returns when it has to be called next, poked or not. */
extern uint64_t tg_conditions_look(tg_session *session);
extern void tg_timers_look(tg_session *session);

/* The watcher is about to sleep until then: until when it may, for the timers.  One that is due earlier pokes it. */
extern uint64_t tg_timers_sleep(uint64_t until_us);

/* A job that may have timers has been cancelled: the next look lets go those of cancelled jobs. */
extern void tg_timers_let_go(void);

/* Their part of the report. */
extern void tg_conditions_report(tg_scheduler_report *report);
extern void tg_timers_report(tg_scheduler_report *report);

#endif /* TG_CONDITION_INTERNAL_H */
