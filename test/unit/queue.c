/*
 * queue.c
 *	  The list of tasks: its order, its ends, its numbers.
 *
 * One thread checks order, portions, closing and counters; then several put at
 * both ends while others take in all three ways, and each task must come out
 * once, in the order of its thread where it was put last.
 */
#include "runtime/sched/queue.h"

#include "runtime/base/check.h"
#include "test/unit/pool.h"
#include "test/unit/unit.h"

typedef struct numbered
{
	tg_task task;
	uint32_t owner;
	uint32_t number;
	uint32_t taken;
} numbered;

static unsigned
length(const tg_task *task)
{
	unsigned count = 0;

	for (; task; task = task->next)
		count++;
	return count;
}

static void
test_order(void)
{
	numbered tasks[6] = {0};
	tg_queue queue;
	tg_task *taken;

	tg_queue_init(&queue);
	unit_ok(!tg_queue_put(&queue, &tasks[0].task) && !tg_queue_put_first(&queue, &tasks[0].task) &&
				tg_queue_count(&queue) == 0,
			"a closed queue refuses");
	tg_queue_put_always(&queue, &tasks[1].task);
	tg_queue_open(&queue, true);
	unit_ok(tg_queue_put(&queue, &tasks[2].task) && tg_queue_put_first(&queue, &tasks[0].task) &&
				tg_queue_put(&queue, &tasks[3].task),
			"an open one takes, at both ends");
	unit_equal(tg_queue_count(&queue), 4, "and counts");
	taken = tg_queue_take(&queue, 2);
	unit_ok(taken == &tasks[0].task && taken->next == &tasks[1].task && !taken->next->next, "a portion, in order");
	taken = tg_queue_splice(&queue);
	unit_ok(taken == &tasks[2].task && taken->next == &tasks[3].task && !taken->next->next, "and the rest");
	unit_ok(!tg_queue_take(&queue, 1) && !tg_queue_splice(&queue) && tg_queue_count(&queue) == 0, "then it is empty");
	unit_ok(tg_queue_put_first(&queue, &tasks[4].task) && tg_queue_put(&queue, &tasks[5].task), "and goes on");
	taken = tg_queue_take(&queue, 100);
	unit_ok(taken == &tasks[4].task && taken->next == &tasks[5].task, "an empty one's first is its last as well");
	unit_ok(queue.accepted == 5 && queue.urgent == 2 && queue.taken == 6 && queue.takes == 3, "its counters agree");
}

#define PUTTERS 3
#define TAKERS 3
#define PUTS 20000

typedef struct traffic
{
	tg_queue queue;
	uint32_t taken;
	uint32_t disorder;
	numbered tasks[PUTTERS][PUTS];
} traffic;

/* Portions of one taker keep the order of each putter, but for every 8th, which was put first. */
static void
take_all(traffic *traffic, unsigned number)
{
	uint32_t last[PUTTERS] = {0};

	for (unsigned round = 0; tg_load_relaxed(&traffic->taken) < PUTTERS * PUTS; round++)
	{
		tg_task *task = number == 0 && round % 2 ? tg_queue_splice(&traffic->queue)
												 : tg_queue_take(&traffic->queue, 1 + round % 17);

		tg_fetch_add_relaxed(&traffic->taken, length(task));
		while (task)
		{
			numbered *got = (numbered *) task;

			task = task->next;
			tg_fetch_add_relaxed(&got->taken, 1);
			if (got->number % 8 == 0)
				continue;
			if (got->number < last[got->owner])
				tg_fetch_add_relaxed(&traffic->disorder, 1);
			last[got->owner] = got->number;
		}
	}
}

static void
put_or_take(unsigned number, void *argument)
{
	traffic *traffic = argument;

	if (number >= PUTTERS)
	{
		take_all(traffic, number - PUTTERS);
		return;
	}
	for (uint32_t i = 0; i < PUTS; i++)
	{
		numbered *task = &traffic->tasks[number][i];

		task->owner = number;
		task->number = i;
		if (i % 8 == 0)
			tg_check(tg_queue_put_first(&traffic->queue, &task->task));
		else
			tg_check(tg_queue_put(&traffic->queue, &task->task));
	}
}

static void
test_traffic(void)
{
	traffic *traffic = calloc(1, sizeof(struct traffic));
	unsigned wrong = 0;

	tg_queue_init(&traffic->queue);
	tg_queue_open(&traffic->queue, true);
	unit_threads(PUTTERS + TAKERS, put_or_take, traffic);
	for (unsigned i = 0; i < PUTTERS * PUTS; i++)
		wrong += traffic->tasks[i / PUTS][i % PUTS].taken != 1;
	unit_equal(wrong, 0, "%u threads put, %u take: each task comes out once", PUTTERS, TAKERS);
	unit_equal(traffic->disorder, 0, "in order");
	free(traffic);
}

int
main(void)
{
	test_order();
	test_traffic();
	return unit_done();
}
