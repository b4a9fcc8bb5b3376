/*
 * sticky.h
 *	  The other way to put a transaction's operations in order: all of them go to
 *	  one worker, as long as some are outstanding.  For lane.c, which calls it.
 */
#ifndef TG_STICKY_H
#define TG_STICKY_H

#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/sched/lane.h"

#define TG_LANE_NO_WORKER UINT32_MAX

/* The worker that a lane's word names: all operations counted in the word have gone there. */
static inline uint32_t
tg_lane_worker(uint64_t word)
{
	return (uint32_t) (word >> 32) - 1;
}

/* Counts an operation; the first one chooses a worker.  Returns the word with it. */
extern uint64_t tg_sticky_count(tg_session *session, tg_lane *lane);

/*
 * Submits a counted operation to its lane's worker.  TG_STOPPED: it is counted no more, and it is
 * the caller's again.
 */
extern tg_status tg_sticky_submit(tg_session *session, tg_operation *operation, uint32_t worker) TG_MUST_USE;

#endif /* TG_STICKY_H */
