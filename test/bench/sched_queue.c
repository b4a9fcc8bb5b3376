/*
 * sched_queue.c
 *	  What an inbox should be: the latched list of runtime/sched/queue.c, or
 *	  liburcu's wait-free concurrent queue.
 *
 * Three figures for each.
 *	- put and take by one thread, one task at a time: what a submission costs.
 *	- the same in portions of 17, as a worker takes them.
 *	- more putters than CPUs beside one taker: throughput, and the longest time
 *	  that one put or one take lasted.  A thread preempted in the middle shows
 *	  there: of the latch all others wait for it; of wfcqueue only the taker
 *	  does, at its place in the queue, and wfcqueue then sleeps 10 ms at a time.
 *
 * wfcqueue as it is would not do as an inbox: it needs a count (the shorter of two
 * inboxes, and what views show) and a way to be closed against submissions that
 * come while the pool stops; and its takers, thieves included, take a mutex in
 * any case.  The third variant adds what can be added from outside: an atomic
 * count.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define _LGPL_SOURCE
#include <urcu/wfcqueue.h>

#include "runtime/sched/queue.h"

#define ROUNDS 5
#define OPERATIONS 2000000
#define PORTION 17
#define PUTTERS 4
#define PUTS 300000

typedef struct item
{
	tg_task task;
	struct cds_wfcq_node node;
} item;

typedef struct wfc
{
	struct cds_wfcq_head head TG_CACHE_ALIGNED; /* takers */
	struct cds_wfcq_tail tail TG_CACHE_ALIGNED; /* putters */
	uint32_t count TG_CACHE_ALIGNED;
	bool counts;
} wfc;

static tg_queue latched;
static wfc wait_free;

static uint64_t
now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000 + (uint64_t) now.tv_nsec;
}

/* --- the two, behind one interface ------------------------------------------------ */

static void
put_latched(item *item)
{
	if (!tg_queue_put(&latched, &item->task))
		abort();
}

static unsigned
take_latched(unsigned max)
{
	unsigned count = 0;

	for (tg_task *task = tg_queue_take(&latched, max); task; task = task->next)
		count++;
	return count;
}

static void
put_wfc(item *item)
{
	if (wait_free.counts)
		tg_fetch_add_relaxed(&wait_free.count, 1);
	cds_wfcq_node_init(&item->node);
	(void) cds_wfcq_enqueue(&wait_free.head, &wait_free.tail, &item->node);
}

static unsigned
take_wfc(unsigned max)
{
	unsigned count = 0;

	if (cds_wfcq_empty(&wait_free.head, &wait_free.tail))
		return 0;
	cds_wfcq_dequeue_lock(&wait_free.head, &wait_free.tail);
	while (count < max && __cds_wfcq_dequeue_blocking(&wait_free.head, &wait_free.tail))
		count++;
	cds_wfcq_dequeue_unlock(&wait_free.head, &wait_free.tail);
	if (wait_free.counts)
		tg_fetch_add_relaxed(&wait_free.count, -count);
	return count;
}

typedef struct variant
{
	const char *name;
	void (*put)(item *item);
	unsigned (*take)(unsigned max);
	bool counts;
} variant;

static const variant variants[] = {{"latched list", put_latched, take_latched, true},
								   {"wfcqueue", put_wfc, take_wfc, false},
								   {"wfcqueue and a count", put_wfc, take_wfc, true}};

/* --- one thread ---------------------------------------------------------------------- */

static double
alone(const variant *variant, unsigned portion)
{
	static item items[PORTION];
	double best = 1e9;

	for (unsigned round = 0; round < ROUNDS; round++)
	{
		uint64_t begin = now_ns();
		double ns;

		for (unsigned i = 0; i < OPERATIONS / portion; i++)
		{
			for (unsigned j = 0; j < portion; j++)
				variant->put(&items[j]);
			if (variant->take(portion) != portion)
				abort();
		}
		ns = (double) (now_ns() - begin) / OPERATIONS;
		best = ns < best ? ns : best;
	}
	return best;
}

/* --- a crowd --------------------------------------------------------------------------- */

static const variant *crowd_variant;
static item crowd_items[PUTTERS][PUTS];
static uint64_t longest_put[PUTTERS];

static void *
put_many(void *argument)
{
	unsigned number = (unsigned) (uintptr_t) argument;

	for (unsigned i = 0; i < PUTS; i++)
	{
		uint64_t begin = now_ns();
		uint64_t ns;

		crowd_variant->put(&crowd_items[number][i]);
		ns = now_ns() - begin;
		if (ns > longest_put[number])
			longest_put[number] = ns;
	}
	return NULL;
}

static void
crowd(const variant *variant)
{
	pthread_t threads[PUTTERS];
	uint64_t put_ns = 0;
	uint64_t take_ns = 0;
	uint64_t begin = now_ns();
	unsigned taken = 0;

	crowd_variant = variant;
	for (unsigned i = 0; i < PUTTERS; i++)
	{
		longest_put[i] = 0;
		if (pthread_create(&threads[i], NULL, put_many, (void *) (uintptr_t) i) != 0)
			abort();
	}
	while (taken < PUTTERS * PUTS)
	{
		uint64_t start = now_ns();
		uint64_t ns;

		taken += variant->take(PORTION);
		ns = now_ns() - start;
		take_ns = ns > take_ns ? ns : take_ns;
	}
	for (unsigned i = 0; i < PUTTERS; i++)
	{
		pthread_join(threads[i], NULL);
		put_ns = longest_put[i] > put_ns ? longest_put[i] : put_ns;
	}
	printf("  %u putters, 1 taker: %5.1f ns a task, longest put %7.2f ms, longest take %7.2f ms\n", PUTTERS,
		   (double) (now_ns() - begin) / taken, (double) put_ns / 1e6, (double) take_ns / 1e6);
}

int
main(void)
{
	tg_queue_init(&latched);
	tg_queue_open(&latched, true);
	cds_wfcq_init(&wait_free.head, &wait_free.tail);
	for (unsigned i = 0; i < sizeof(variants) / sizeof(*variants); i++)
	{
		wait_free.counts = variants[i].counts;
		printf("%s\n  one by one: %.1f ns a task, in portions of %u: %.1f ns\n", variants[i].name,
			   alone(&variants[i], 1), PORTION, alone(&variants[i], PORTION));
		for (unsigned round = 0; round < 3; round++)
			crowd(&variants[i]);
	}
	return 0;
}
