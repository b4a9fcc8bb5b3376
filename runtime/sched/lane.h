/*
 * lane.h
 *	  A serial executor: operations of one transaction, one at a time, in order.
 *
 * The submission that raises a lane's count from 0 chooses how the outstanding operations are put
 * in order, until the count is 0 again:
 *
 *	- in place: a backend enters the free lane and runs its operation itself;
 *	- by the lane's queue (TG_SERIALIZER_LANE): the submitter schedules one lane task, which any
 *	  worker may run.  The task runs a bounded number of operations, then comes again behind other
 *	  tasks.  Operations submitted beside one that runs in place use this queue, too;
 *	- by a worker's sticky queue (TG_SERIALIZER_STICKY): each operation is a task of one worker,
 *	  which the first operation chooses; no other worker can run it (sticky.h).
 *
 * The setting serializer chooses between the latter two.
 */
#ifndef TG_LANE_H
#define TG_LANE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/sched/scheduler.h"

typedef struct tg_lane tg_lane;

/*
 * One operation.  It is embedded in the caller's memory in the arena, which may be freed once run
 * has begun.
 */
typedef struct tg_operation
{
	/* the caller sets it; the rest is lane.c's */
	void (*run)(struct tg_operation *operation, tg_session *session);
	struct tg_operation *next;
	tg_lane *lane;
	tg_task task;
} tg_operation;

struct tg_lane
{
	/* any session; low half: operations counted, high half: their worker + 1; lane.c */
	uint64_t word;
	tg_operation *tail; /* producers exchange it (Vyukov's queue) */

	/* The owner alone uses these. */
	tg_operation *head;
	tg_lane *outer; /* the lane that the owner's session was in before */
	uint32_t ran;	/* operations begun in the turn at hand; 0 in place */
	uint32_t begun; /* turns and operations in place begun; the watcher reads it, relaxed */
	tg_operation stub;
	tg_task task; /* the lane task */

	/* The watcher alone uses these. */
	uint64_t seen_us;
	uint32_t seen_begun;
	bool is_reported;
};

extern void tg_lane_init(tg_lane *lane);

/* True if no operation is outstanding.  Any thread; a true answer may be out of date at once. */
static inline bool
tg_lane_is_free(const tg_lane *lane)
{
	return tg_load_acquire(&lane->word) == 0;
}

/*
 * Takes the ownership of a free lane to run one operation in place, and notes the lane in the
 * session.  False if another session owns it.
 */
static inline bool
tg_lane_enter(tg_session *session, tg_lane *lane)
{
	uint64_t free = 0;

	if (tg_load_relaxed(&lane->word) != 0 || !tg_cas_acq_rel(&lane->word, &free, 1))
		return false;
	tg_store_relaxed(&lane->begun, lane->begun + 1);
	lane->outer = session->lane;
	session->lane = lane;
	return true;
}

/* Continues the lane after an operation in place, for operations that were pushed meanwhile. */
extern void tg_lane_hand_over(tg_session *session, tg_lane *lane);

/* Ends an operation run in place, and schedules the operations that were pushed meanwhile. */
static inline void
tg_lane_leave(tg_session *session, tg_lane *lane)
{
	tg_assert(session->lane == lane);
	session->lane = lane->outer;
	if (tg_unlikely(tg_fetch_add_acq_rel(&lane->word, UINT64_MAX) != 1))
		tg_lane_hand_over(session, lane);
}

/*
 * Queues an operation; any thread.  TG_STOPPED if there is no pool.  If the pool stops meanwhile,
 * the lane's owner runs the operations in place, and so does a leave.
 */
extern tg_status tg_lane_submit(tg_session *session, tg_lane *lane, tg_operation *operation) TG_MUST_USE;

/*
 * For the host's exit and error paths: the operation that this session was running will not return.
 * It counts as run, and the lane continues with the queued operations.  The caller has to make sure
 * that the data the operation worked on is consistent.  Does nothing if the session is in no lane.
 */
extern void tg_lane_abandon(tg_session *session);

/*
 * The watcher's look, once a tick: true, once, when operations have been
 * outstanding for hang_ms and none was begun in that time.  One thread.
 */
extern bool tg_lane_stands_still(tg_lane *lane, uint64_t now_us);

#endif /* TG_LANE_H */
