/*
 * queue.h
 *	  A first-in, first-out list of tasks: a worker's inbox, and the global queue.
 *
 * Lies in the arena.  Any thread of any process puts and takes, under a latch held for a few
 * instructions. queue.c tells why it is not a lock-free list.
 */
#ifndef TG_QUEUE_H
#define TG_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/atomic.h"
#include "runtime/base/latch.h"
#include "runtime/sched/scheduler.h"

typedef struct tg_queue
{
	tg_latch latch;
	uint32_t count; /* written under the latch, read by all */
	bool open;		/* under the latch: takes new submissions; closed, accepted tasks only */
	tg_task *head;	/* under the latch, as tail */
	tg_task *tail;
	uint64_t accepted; /* written under the latch, read by all, as all below: by tg_queue_put */
	uint64_t urgent;   /* of these, by tg_queue_put_first */
	uint64_t taken;	   /* tasks taken */
	uint64_t takes;	   /* in so many portions */
} tg_queue;

/* Empty and closed. */
extern void tg_queue_init(tg_queue *queue);

/* Puts a task last.  False if the queue is closed. */
extern bool tg_queue_put(tg_queue *queue, tg_task *task) TG_MUST_USE;

/* Puts a task first.  False if the queue is closed. */
extern bool tg_queue_put_first(tg_queue *queue, tg_task *task) TG_MUST_USE;

/* Puts a task last, whether open or closed, because the task has been accepted before. */
extern void tg_queue_put_always(tg_queue *queue, tg_task *task);

/* Takes the first count_max tasks, linked by next; NULL if there are none. */
extern tg_task *tg_queue_take(tg_queue *queue, uint32_t count_max);

/* As tg_queue_take for all tasks, but only if the latch is free. */
extern tg_task *tg_queue_splice(tg_queue *queue);

extern void tg_queue_open(tg_queue *queue, bool open);

/* The number of tasks at one moment.  Any thread. */
static inline uint32_t
tg_queue_count(const tg_queue *queue)
{
	return tg_load_relaxed(&queue->count);
}

#endif /* TG_QUEUE_H */
