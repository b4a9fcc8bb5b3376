/*
 * queue.c
 *	  A first-in, first-out list of tasks.
 *
 * 1. head is NULL if and only if count is 0; tail is the last task then and
 *	  otherwise has no meaning.
 * 2. count is stored under the latch before the latch is released, so a thread that puts and then
 *    fences has published it (wake.c relies on that before it looks for sleeping workers).
 *
 * Why a latch.  A put must find the queue open or be refused, in one step, so that no task slips
 * into a pool that has stopped.  An urgent task goes to the front.  Portions are taken from the
 * front, by thieves as well.  The count must be right, because it decides which of two inboxes is
 * the shorter. liburcu's wfcqueue has neither of the first two, its takers need a mutex, and with a
 * count added a put and a take cost twice as much (test/bench/sched_queue.c: 16 ns here, 18 without
 * the count, 33 with it; in portions of 17, 17 against 5 and 15; on a busy machine).  Its advantage
 * is that a put does not wait for another thread that is preempted in the middle of one.  Here it
 * does, asleep on the latch; but the middle is a dozen instructions, takers would wait for it in
 * either design, and thieves only try the latch.
 */
#include "runtime/sched/queue.h"

#include <stddef.h>

#include "runtime/base/check.h"

void
tg_queue_init(tg_queue *queue)
{
	tg_latch_init(&queue->latch, TG_RANK_INBOX);
	queue->count = 0;
	queue->open = false;
	queue->head = NULL;
	queue->tail = NULL;
	queue->accepted = 0;
	queue->urgent = 0;
	queue->taken = 0;
	queue->takes = 0;
}

/* Counts; the latch is held, so this is the only writer. */
static inline void
count_up(uint64_t *counter, uint64_t more)
{
	tg_store_relaxed(counter, *counter + more);
}

static void
append(tg_queue *queue, tg_task *task)
{
	task->next = NULL;
	if (queue->head)
		queue->tail->next = task;
	else
		queue->head = task;
	queue->tail = task;
	tg_store_relaxed(&queue->count, queue->count + 1);
}

bool
tg_queue_put(tg_queue *queue, tg_task *task)
{
	bool open;

	tg_latch_acquire(&queue->latch);
	open = queue->open;
	if (open)
	{
		append(queue, task);
		count_up(&queue->accepted, 1);
	}
	tg_latch_release(&queue->latch);
	return open;
}

bool
tg_queue_put_first(tg_queue *queue, tg_task *task)
{
	bool open;

	tg_latch_acquire(&queue->latch);
	open = queue->open;
	if (open)
	{
		if (!queue->head)
			queue->tail = task;
		task->next = queue->head;
		queue->head = task;
		tg_store_relaxed(&queue->count, queue->count + 1);
		count_up(&queue->accepted, 1);
		count_up(&queue->urgent, 1);
	}
	tg_latch_release(&queue->latch);
	return open;
}

void
tg_queue_put_always(tg_queue *queue, tg_task *task)
{
	tg_latch_acquire(&queue->latch);
	append(queue, task);
	tg_latch_release(&queue->latch);
}

/* Cuts the first count_max tasks off; under the latch. */
static tg_task *
cut(tg_queue *queue, uint32_t count_max)
{
	tg_task *first = queue->head;

	if (!first)
		return NULL;
	count_up(&queue->taken, count_max < queue->count ? count_max : queue->count);
	count_up(&queue->takes, 1);
	if (count_max >= queue->count)
	{
		queue->head = NULL;
		tg_store_relaxed(&queue->count, 0);
	}
	else
	{
		tg_task *last = first;

		for (uint32_t i = 1; i < count_max; i++)
			last = last->next;
		queue->head = last->next;
		last->next = NULL;
		tg_store_relaxed(&queue->count, queue->count - count_max);
	}
	tg_assert((queue->head == NULL) == (queue->count == 0));
	return first;
}

tg_task *
tg_queue_take(tg_queue *queue, uint32_t count_max)
{
	tg_task *first;

	tg_assert(count_max > 0);
	if (tg_queue_count(queue) == 0)
		return NULL;
	tg_latch_acquire(&queue->latch);
	first = cut(queue, count_max);
	tg_latch_release(&queue->latch);
	return first;
}

tg_task *
tg_queue_splice(tg_queue *queue)
{
	tg_task *first;

	if (tg_queue_count(queue) == 0 || !tg_latch_try(&queue->latch))
		return NULL;
	first = cut(queue, UINT32_MAX);
	tg_latch_release(&queue->latch);
	return first;
}

void
tg_queue_open(tg_queue *queue, bool open)
{
	tg_latch_acquire(&queue->latch);
	queue->open = open;
	tg_latch_release(&queue->latch);
}
