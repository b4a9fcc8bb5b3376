/*
 * lane.c
 *	  A serial executor: the queue, and the arithmetic of its counter.
 *
 *		count 0 (free) --enter, submit: + 1 from 0--> owned --turn: - done = 0--> free
 *						submit: + 1 beside an owner  |  ^
 *													 +--+ turn: - done > 0: still owned
 *
 * The counter is the ownership: who raises it from 0 owns the lane, who brings
 * it back to 0 has given it away and touches the lane no more.
 *
 * Arithmetic
 *	1. Submit counts its operation first and pushes it then.  So at any time
 *	   operations pushed and not yet subtracted <= count, and count 0 means that
 *	   every operation pushed has run: who then enters in place overtakes nobody,
 *	   and its own earlier operations least of all.
 *	2. Enter counts 1 for an operation that is in no queue.  While it runs,
 *	   nobody takes from the queue (one owner).  Leave subtracts this 1, and what
 *	   remains, r, are operations that are in the queue or about to be pushed; r > 0
 *	   keeps the ownership and the lane task gets it.
 *	3. A turn runs at most TG_LANE_TURN operations and no more than were counted
 *	   when it began, and subtracts exactly those it ran.
 *	4. A counted operation may be out of reach for a moment: its push has not
 *	   come yet, or (Vyukov's intrusive queue exchanges tail and then links the
 *	   predecessor) stands behind another's between these two steps.  A turn
 *	   waits some rounds for it; then it subtracts what it did and comes again.
 *	   It cannot bring the counter to 0 so, as done < count.
 *
 * Departure: transactions.md pushes before it counts.  Then an owner may take an
 * operation that is not counted yet in place of one that is; the lane becomes free
 * while the counted one is still queued, and its submitter can enter and overtake itself.
 *
 * Orderings: every change of the counter is acq_rel, so an owner sees what the
 * last owner wrote (head, and what the operations work on).  tail's exchange is
 * acq_rel, the link released and read with acquire: who takes an operation sees
 * what is in it.
 *
 * When the pool has stopped between a submitter's first look and its turn to
 * schedule the lane task, the owner runs the turns itself, in place, to the
 * end: what others pushed trusting in an owner is not stranded.
 *
 * Left out: the watcher's look at lanes that stand still.
 */
#include "runtime/sched/lane.h"

#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/base/spin.h"

#define LINK_SPIN_MAX (TG_SPIN_PAUSES + 4) /* rounds of waiting for a link: 4 of them give the CPU away */

static void
push(tg_lane *lane, tg_operation *operation)
{
	tg_operation *previous;

	tg_store_relaxed(&operation->next, NULL);
	previous = tg_exchange_acq_rel(&lane->tail, operation);
	tg_store_release(&previous->next, operation);
}

/* The oldest operation; NULL if there is none, or its link is not there yet.  Owner only. */
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

/* As pop, where the counter says that there is one: waits a little for its link. */
static tg_operation *
pop_counted(tg_lane *lane)
{
	unsigned round = 0;
	tg_operation *operation;

	while (!(operation = pop(lane)) && round < LINK_SPIN_MAX)
		tg_spin(&round);
	return operation;
}

/* One turn of the owner.  Returns what is counted after it; 0: the lane is somebody else's. */
static uint32_t
turn(tg_session *session, tg_lane *lane)
{
	uint32_t turn_max = tg_load_acquire(&lane->count);
	uint32_t done = 0;
	uint32_t counted;

	tg_assert(turn_max > 0);
	if (turn_max > TG_LANE_TURN)
		turn_max = TG_LANE_TURN;
	while (done < turn_max)
	{
		tg_operation *operation = pop_counted(lane);

		if (!operation)
			break;
		operation->run(operation, session);
		done++;
	}
	counted = tg_fetch_add_acq_rel(&lane->count, -done);
	tg_assert(counted >= done);
	return counted - done;
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
	lane->count = 0;
	lane->stub.next = NULL;
	lane->stub.run = NULL;
	lane->tail = &lane->stub;
	lane->head = &lane->stub;
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

tg_status
tg_lane_submit(tg_session *session, tg_lane *lane, tg_operation *operation)
{
	bool first;

	if (!tg_scheduler_is_running())
		return TG_STOPPED;
	first = tg_fetch_add_acq_rel(&lane->count, 1) == 0;
	push(lane, operation);
	if (first)
		tg_lane_hand_over(session, lane);
	return TG_OK;
}
