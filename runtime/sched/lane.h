/*
 * lane.h
 *	  A serial executor: operations of one transaction, one at a time, in order.
 *
 * A multi-producer queue and one counter.  Who raises the counter from 0 owns
 * the lane: a backend then runs its operation in place; anybody else schedules
 * one lane task, which runs at most a bounded number of operations, and at
 * most as many as the counter showed when its turn began, subtracts exactly
 * those, and either hands the ownership back or re-schedules itself.
 */
#ifndef TG_LANE_H
#define TG_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/sched/scheduler.h"

/* One queued operation, embedded in the caller's memory in the arena. */
typedef struct tg_operation
{
	struct tg_operation *next;
	void (*run)(struct tg_operation *operation, tg_session *session);
} tg_operation;

#define TG_LANE_TURN 16 /* operations of one turn */

typedef struct tg_lane
{
	uint32_t count;		/* operations pushed or running in place; any session */
	tg_operation *tail; /* producers exchange it (Vyukov's queue) */
	tg_operation *head; /* owner only */
	tg_operation stub;
	tg_task task; /* the lane task */
} tg_lane;

extern void tg_lane_init(tg_lane *lane);

/* Takes the ownership of a free lane to run one operation in place.  False if somebody else has it. */
static inline bool
tg_lane_enter(tg_lane *lane)
{
	uint32_t free = 0;

	return tg_load_relaxed(&lane->count) == 0 && tg_cas_acq_rel(&lane->count, &free, 1);
}

/* Continues the lane after an operation in place: somebody pushed meanwhile. */
extern void tg_lane_hand_over(tg_session *session, tg_lane *lane);

/* Ends an operation run in place; what was pushed meanwhile is scheduled. */
static inline void
tg_lane_leave(tg_session *session, tg_lane *lane)
{
	if (tg_unlikely(tg_fetch_add_acq_rel(&lane->count, (uint32_t) -1) != 1))
		tg_lane_hand_over(session, lane);
}

/*
 * Queues an operation; any thread.  TG_STOPPED if there is no pool.  If the pool
 * stops meanwhile, runs the lane's operations in place; so does a leave.
 */
extern tg_status tg_lane_submit(tg_session *session, tg_lane *lane, tg_operation *operation) TG_MUST_USE;

#endif /* TG_LANE_H */
