/*
 * pending.c
 *	  A worker's pending list.
 *
 * First in, first out: a round checks at most CHECKS_MAX conditions, from the front, and puts those
 * that do not hold yet at the end.  After MISSES_MAX misses a condition goes to the watcher.  So
 * the list empties by itself: it costs a busy worker at most MISSES_MAX checks per condition, and
 * keeps no idle worker awake.
 *
 * A worker inside a long task makes no rounds.  If the task calls tg_should_yield, that call moves
 * the conditions to the watcher.  Otherwise they wait for the end of the task (and the watcher
 * reports it), because no other thread may touch the list.
 */
#include "runtime/sched/pending.h"

#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/sched/worker.h"

#define CHECKS_MAX 8
#define MISSES_MAX 16

void
tg_pending_add(tg_worker *worker, tg_condition *condition)
{
	tg_pending *pending = &worker->pending;

	condition->next = NULL;
	if (pending->count == 0)
		pending->first = condition;
	else
		pending->last->next = condition;
	pending->last = condition;
	tg_store_relaxed(&pending->count, pending->count + 1);
}

static tg_condition *
take_first(tg_pending *pending)
{
	tg_condition *condition = pending->first;

	tg_assert(pending->count > 0);
	pending->first = condition->next;
	tg_store_relaxed(&pending->count, pending->count - 1);
	return condition;
}

tg_task *
tg_pending_scan(tg_worker *worker)
{
	tg_pending *pending = &worker->pending;
	uint32_t count = pending->count < CHECKS_MAX ? pending->count : CHECKS_MAX;

	if (count == 0)
		return NULL;
	tg_check_meter_begin(&pending->meter);
	for (uint32_t i = 0; i < count; i++)
	{
		tg_condition *condition = take_first(pending);

		if (tg_condition_holds(condition, worker->session, &pending->meter))
		{
			condition->waits = false;
			tg_store_relaxed(&pending->run, pending->run + 1);
			return &condition->task;
		}
		if (++condition->misses < MISSES_MAX)
			tg_pending_add(worker, condition);
		else
			tg_condition_hand_over(condition);
	}
	return NULL;
}

void
tg_pending_flush(tg_worker *worker)
{
	while (!tg_pending_is_empty(&worker->pending))
		tg_condition_hand_over(take_first(&worker->pending));
}
