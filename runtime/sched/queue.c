/*
 * queue.c
 *	  A first-in, first-out list of tasks.
 *
 * 1. head is NULL if and only if count is 0; tail is the last task then and
 *	  otherwise has no meaning.
 * 2. count is stored under the latch before its release, so who puts and then
 *	  fences has published it (worker.c relies on that before it looks for
 *	  sleepers).
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
		append(queue, task);
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
