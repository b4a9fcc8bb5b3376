/*
 * sticky.c
 *	  A transaction's operations in order, by a worker's sticky queue.
 *
 *		word 0 (free) --count--> {worker, 1} <--count, end--> {worker, n} --last end--> 0
 *
 * The queue is first in, first out, and its worker takes one task at a time.  A transaction's
 * operations therefore run in order, one at a time, if all outstanding ones go to the same queue.
 *
 * 1. The submitter that counts from 0 chooses the worker, in the same compare-and-swap, and the
 *    worker stays until the count is 0 again.  So operations that are outstanding at the same time
 *    are in one queue: one runs at a time, in the order in which they were put there, which is that
 *    of each submitter.
 * 2. An operation is counted until it has run.  So a submitter that counts from 0, and may choose
 *    another worker, comes after all operations counted before.
 * 3. A word that was raised from 0 by an operation in place, or for the lane's own queue, names no
 *    worker; operations counted beside it go to that queue.
 * 4. A refused submission is taken back.  The other counted operations do not depend on it, as each
 *    of them is in the queue by itself.
 *
 * Orderings: the word's changes are acq_rel, so the first operation on another worker sees
 * everything that the last one wrote; on one worker they follow one another.
 *
 * No worker can steal such an operation: when its worker is in a long task, the operation waits,
 * and so does a transaction's whole queue while other workers are idle.  That is the price of
 * having no queue of its own and no turns.
 */
#include "runtime/sched/sticky.h"

#include <stddef.h>

#include "runtime/base/failpoint.h"
#include "runtime/sched/worker.h"

#define WORKER_SHIFT 32

uint64_t
tg_sticky_count(tg_session *session, tg_lane *lane)
{
	uint64_t before = tg_load_relaxed(&lane->word);
	uint64_t after;

	do
	{
		after = before + 1;
		if (before == 0)
			after |= ((uint64_t) tg_worker_choose(session) + 1) << WORKER_SHIFT;
	} while (!tg_cas_acq_rel(&lane->word, &before, after));
	return after;
}

/* An operation has run, or was not submitted; the last one clears the worker. */
static void
count_down(tg_lane *lane)
{
	uint64_t before = tg_load_relaxed(&lane->word);

	tg_assert((uint32_t) before > 0);
	while (!tg_cas_acq_rel(&lane->word, &before, (uint32_t) before == 1 ? 0 : before - 1))
		;
}

static tg_turn
run_operation(tg_task *task, tg_worker *worker)
{
	tg_operation *operation = (tg_operation *) ((char *) task - offsetof(tg_operation, task));
	tg_lane *lane = operation->lane;

	tg_store_relaxed(&lane->begun, lane->begun + 1);
	operation->run(operation, tg_worker_session(worker));
	count_down(lane);
	return TG_TURN_DONE;
}

tg_status
tg_sticky_submit(tg_session *session, tg_operation *operation, uint32_t worker)
{
	tg_lane *lane = operation->lane;
	tg_status status;

	tg_task_init(&operation->task, run_operation, NULL);
	tg_failpoint("sticky_counted");
	status = tg_task_submit_sticky(session, worker, &operation->task);
	if (status != TG_OK)
		count_down(lane);
	return status;
}
