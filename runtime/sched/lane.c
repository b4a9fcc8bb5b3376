/*
 * lane.c
 *	  A serial executor: the queue, and the arithmetic of its counter.
 *
 *		count 0 (free) --enter, submit: + 1 from 0--> owned --turn: - done = 0--> free
 *						submit: + 1 beside an owner  |  ^
 *													 +--+ turn: - done > 0: still owned
 *
 * The counter is the ownership: the thread that raises it from 0 owns the lane.  The thread that
 * brings it back to 0 has given the lane away and does not touch it again.
 *
 * The counter is the low half of a word.  While the high half is not 0, it names a worker, and the
 * operations go to that worker's sticky queue (sticky.c); then this file's queue is empty and its
 * arithmetic rests.  The high half is set with the count's first 1 and cleared with its last.  A
 * submitter that counts thereby learns where all the other outstanding operations are, and uses the
 * same queue.  The rest of this comment is about a high half of 0.
 *
 * Arithmetic
 *	1. Submit counts its operation first and pushes it then.  So at any time
 *	   operations pushed and not yet subtracted <= count, and count 0 means that
 *	   every operation pushed has run: a session that then enters in place
 *	   overtakes no operation, and its own earlier ones least of all.
 *	2. Enter counts 1 for an operation that is in no queue.  While it runs, no
 *	   other thread takes from the queue (one owner).  Leave subtracts this 1.  The
 *	   rest, r, counts operations that are in the queue or about to be pushed;
 *	   r > 0 keeps the ownership, and the lane task gets it.
 *	3. A turn runs at most lane_turn operations and no more than were counted
 *	   when it began, and subtracts exactly those it ran.
 *	4. A counted operation may be out of reach for a moment: its push has not
 *	   come yet, or it stands behind another push that is half done (Vyukov's
 *	   intrusive queue exchanges tail and then links the predecessor).  A turn
 *	   waits some rounds for it; then it subtracts the operations it ran and comes
 *	   again.  It cannot bring the counter to 0 that way, as done < count.
 *	5. Between two turns the lane task lies in the global queue, where any worker
 *	   takes it, or, from there, in a worker's deque, where any may steal it.
 *	6. An owner notes the lane in its session, and in the lane how many
 *	   operations of its turn have begun.  If one of them does not return,
 *	   abandon subtracts these, that one included, as the turn would have done.
 *	   Lanes nest: each keeps the one that the session was in before.
 *
 * Departure: the design pushes before it counts.  Then an owner may take an operation that is not
 * counted yet in place of one that is.  The lane becomes free while the counted one is still
 * queued, and its submitter can enter and overtake its own operation.
 *
 * Orderings: every change of the word is acq_rel, so an owner sees everything that the last owner
 * wrote (head, and the data of the operations). tail's exchange is acq_rel; the link is released
 * and read with acquire, so the owner that takes an operation sees its content.
 *
 * If the pool has stopped between a submitter's first look and its turn to schedule the lane task,
 * the owner runs the turns itself, in place, to the end.  Operations that other threads pushed,
 * relying on an owner, are thus not stranded.
 *
 * A lane that stands still has an owner that makes no progress: an operation that lasts, or a lane
 * task that no worker comes to.  Scheduling the lane task again would make two owners, so the
 * watcher only reports the lane.  The exit path of a session must not forget to abandon its lane.
 */
#include "runtime/sched/lane.h"

#include <stddef.h>

#include "runtime/base/failpoint.h"
#include "runtime/base/spin.h"
#include "runtime/mem/session.h"
#include "runtime/sched/sticky.h"
#include "runtime/sched/worker.h"

/* Rounds of waiting for a link; the last 4 yield the CPU. */
#define LINK_SPIN_MAX (TG_SPIN_PAUSES + 4)

/* --- the queue ---------------------------------------------------------------- */

static void
push(tg_lane *lane, tg_operation *operation)
{
	tg_operation *previous;

	tg_store_relaxed(&operation->next, NULL);
	previous = tg_exchange_acq_rel(&lane->tail, operation);
	tg_failpoint("lane_push");
	tg_store_release(&previous->next, operation);
}

/* Takes the oldest operation; NULL if there is none, or its link is not there yet.  Owner only. */
static tg_operation *
pop(tg_lane *lane)
{
	tg_operation *head = lane->head;
	tg_operation *next = tg_load_acquire(&head->next);

	if (head == &lane->stub)
	{
		if (!next)
			return NULL;
		head = next;
		lane->head = head;
		next = tg_load_acquire(&head->next);
	}
	if (!next && tg_load_acquire(&lane->tail) == head)
	{
		/* It is the last one: the stub behind it lets it go. */
		push(lane, &lane->stub);
		next = tg_load_acquire(&head->next);
	}
	if (!next)
		return NULL;
	lane->head = next;
	return head;
}

/* As pop, when the counter says that there is an operation: waits a little for its link. */
static tg_operation *
pop_counted(tg_lane *lane)
{
	unsigned round = 0;
	tg_operation *operation;

	while (!(operation = pop(lane)) && round < LINK_SPIN_MAX)
		tg_spin(&round);
	return operation;
}

/* --- turns ------------------------------------------------------------------------ */

/* Ends a turn, or an operation in place that is abandoned.  Returns the count after it. */
static uint32_t
turn_end(tg_session *session, tg_lane *lane, uint32_t done)
{
	uint64_t counted;

	session->lane = lane->outer;
	lane->ran = 0;
	counted = tg_fetch_add_acq_rel(&lane->word, -(uint64_t) done);
	tg_assert(counted >= done && counted <= UINT32_MAX);
	return (uint32_t) counted - done;
}

/* One turn of the owner.  Returns the count after it; 0: this thread no longer owns the lane. */
static uint32_t
turn(tg_session *session, tg_lane *lane)
{
	uint32_t most = tg_load_relaxed(&tg_settings_live.lane_turn);
	uint32_t counted = (uint32_t) tg_load_acquire(&lane->word);

	tg_assert(counted > 0);
	if (most == 0)
		most = 1;
	if (counted < most)
		most = counted;
	tg_store_relaxed(&lane->begun, lane->begun + 1);
	lane->outer = session->lane;
	session->lane = lane;
	while (lane->ran < most)
	{
		tg_operation *operation = pop_counted(lane);

		if (!operation)
			break;
		lane->ran++;
		operation->run(operation, session);
	}
	return turn_end(session, lane, lane->ran);
}

static tg_turn
run_lane_task(tg_task *task, tg_worker *worker)
{
	tg_lane *lane = (tg_lane *) ((char *) task - offsetof(tg_lane, task));

	return turn(tg_worker_session(worker), lane) == 0 ? TG_TURN_DONE : TG_TURN_AGAIN;
}

void
tg_lane_init(tg_lane *lane)
{
	*lane = (tg_lane){.tail = &lane->stub, .head = &lane->stub};
	tg_task_init(&lane->task, run_lane_task, NULL);
}

void
tg_lane_hand_over(tg_session *session, tg_lane *lane)
{
	if (tg_task_submit(session, NULL, &lane->task) == TG_OK)
		return;
	while (turn(session, lane) > 0)
		;
}

/* --- submission -------------------------------------------------------------------- */

tg_status
tg_lane_submit(tg_session *session, tg_lane *lane, tg_operation *operation)
{
	uint64_t counted; /* the word, this operation included */

	if (!tg_scheduler_is_running())
		return TG_STOPPED;
	operation->lane = lane;
	if (tg_load_relaxed(&tg_settings_live.serializer) == TG_SERIALIZER_STICKY)
		counted = tg_sticky_count(session, lane);
	else
		counted = tg_fetch_add_acq_rel(&lane->word, 1) + 1;
	if (tg_lane_worker(counted) != TG_LANE_NO_WORKER)
		return tg_sticky_submit(session, operation, tg_lane_worker(counted));
	tg_failpoint("lane_counted");
	push(lane, operation);
	if (counted == 1)
		tg_lane_hand_over(session, lane);
	return TG_OK;
}

/* --- for the host's exit path, and the watcher ------------------------------------------ */

void
tg_lane_abandon(tg_session *session)
{
	tg_lane *lane;

	while (session->lane && tg_epoch_inside(session)) /* epochs that the operation has entered */
		tg_epoch_leave(session);
	while ((lane = session->lane) != NULL)
	{
		if (turn_end(session, lane, lane->ran > 0 ? lane->ran : 1) > 0)
			tg_lane_hand_over(session, lane);
	}
}

bool
tg_lane_stands_still(tg_lane *lane, uint64_t now_us)
{
	uint64_t hang_us = (uint64_t) tg_load_relaxed(&tg_settings_live.hang_ms) * 1000;
	uint32_t begun = tg_load_relaxed(&lane->begun);

	if (tg_lane_is_free(lane) || begun != lane->seen_begun)
	{
		lane->seen_begun = begun;
		lane->seen_us = now_us;
		lane->is_reported = false;
		return false;
	}
	if (lane->is_reported || hang_us == 0 || now_us - lane->seen_us < hang_us)
		return false;
	lane->is_reported = true;
	return true;
}
