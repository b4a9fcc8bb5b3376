/*
 * feed.c
 *	  Rows of the requester's as the source of a step: buffers that it fills and tasks read.
 *
 *		           wants                offer             next
 *		free ──────────────> requester ───────> offered ───────> task
 *		  ^                                                        │
 *		  └────────────────────── next, which needs no more <──────┘
 *
 * The requester is asked for the rows of the first feed that has not ended, in the order of steps,
 * if that has a free buffer.  So it may fill the buffers of a later step before that step begins;
 * the step that runs is never behind such a one, as each step reads its feed to the end.
 *
 * 1. Neither side waits for the other while it could go on.  A task that finds no offered buffer
 *    parks, holding none; the next offer, the feed's end, or tg_feeds_stop unparks it.  The
 *    requester waits where it waits for the result; it is woken when half of what a feed can have
 *    free is free, which comes to be as long as tasks find offered buffers: they hold one each at
 *    most.  What keeps a task from going on is then the result, of which the requester is told.
 * 2. A buffer belongs to one party at a time, by the list that it is in, under the latch.  What the
 *    requester has written is seen by the task that takes the buffer.
 * 3. Strings of the rows lie in memory of the query until its end, as groups, builds, sorted and
 *    delivered rows point to them.  The requester alone takes that memory.
 * 4. In place there is one buffer, and no task to be unparked: tg_query_run comes back when the
 *    task finds it empty.
 * 5. A step that is filled several times (phase.c) reads its feed anew.  All of it has been read
 *    then, so no buffer is offered or held.
 */
#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/exec/vectors.h"
#include "runtime/query/query_internal.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"

#define BUFFERS_PER_TASK 2
#define BUFFERS_OF_REQUESTER 2
#define BYTES_AT_ONCE ((size_t) 64 << 10) /* of strings */

struct tg_feed
{
	tg_latch latch;
	unsigned buffer_count;
	unsigned low_water; /* free buffers with which the requester is woken */
	uint16_t *identity; /* the vector of each column */

	/* under the latch: */
	tg_vectors **free; /* a stack */
	unsigned free_count;
	tg_vectors **offered; /* a ring */
	unsigned offered_first;
	unsigned offered_count;
	tg_task **parked;
	unsigned parked_count;
	bool has_ended;
	bool is_to_restart; /* the requester has not been told yet */
	bool is_stopped;
	bool requester_waits;
};

/* Tasks to be unparked, without the latch. */
typedef struct wake_list
{
	unsigned count;
	tg_task *tasks[TG_QUERY_TASK_MAX];
} wake_list;

/* --- life ---------------------------------------------------------------------------------- */

static bool
make_buffers(tg_session *session, tg_query *query, const tg_plan_step *step, tg_feed *feed)
{
	size_t bytes = tg_vectors_bytes(step->feed_kinds, step->feed_column_count, query->batch_max);

	for (unsigned i = 0; i < feed->buffer_count; i++)
	{
		void *memory = tg_query_take(session, query, bytes);

		if (memory == NULL)
			return false;
		feed->free[i] =
			tg_vectors_init(memory, feed->identity, step->feed_kinds, step->feed_column_count, query->batch_max);
	}
	feed->free_count = feed->buffer_count;
	return true;
}

static tg_feed *
make_feed(tg_session *session, tg_query *query, const tg_plan_step *step)
{
	tg_feed *feed = tg_query_alloc(session, query, sizeof(*feed));
	unsigned columns = step->feed_column_count;

	if (feed == NULL)
		return NULL;
	tg_latch_init(&feed->latch, TG_RANK_CHANNEL);
	feed->buffer_count = query->job == NULL ? 1 : BUFFERS_PER_TASK * query->task_limit + BUFFERS_OF_REQUESTER;
	feed->low_water = query->job == NULL ? 1 : (feed->buffer_count - query->task_limit) / 2;
	feed->identity = tg_query_take(session, query, (columns + 1) * sizeof(uint16_t));
	feed->free = tg_query_take(session, query, feed->buffer_count * sizeof(tg_vectors *));
	feed->offered = tg_query_take(session, query, feed->buffer_count * sizeof(tg_vectors *));
	feed->parked = tg_query_take(session, query, query->task_limit * sizeof(tg_task *));
	if (feed->identity == NULL || feed->free == NULL || feed->offered == NULL || feed->parked == NULL)
		return NULL;
	for (unsigned i = 0; i < columns; i++)
		feed->identity[i] = (uint16_t) i;
	return make_buffers(session, query, step, feed) ? feed : NULL;
}

static bool
has_feeds(const tg_plan *plan)
{
	for (unsigned i = 0; i < plan->step_count; i++)
		if (plan->steps[i].source == TG_FROM_FEED)
			return true;
	return false;
}

tg_status
tg_feeds_create(tg_session *session, tg_query *query)
{
	const tg_plan *plan = query->plan;
	tg_feed **feeds;

	if (!has_feeds(plan))
		return TG_OK;
	feeds = tg_query_alloc(session, query, plan->step_count * sizeof(*feeds));
	if (feeds == NULL)
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < plan->step_count; i++)
		if (plan->steps[i].source == TG_FROM_FEED && (feeds[i] = make_feed(session, query, &plan->steps[i])) == NULL)
			return TG_NO_MEMORY;
	query->feeds = feeds;
	return TG_OK;
}

/* --- under the latch ------------------------------------------------------------------------- */

/* Tasks that can go on now. */
static void
collect_wakes(tg_feed *feed, wake_list *wakes)
{
	unsigned count = feed->has_ended || feed->is_stopped ? feed->parked_count : feed->offered_count;

	if (count > feed->parked_count)
		count = feed->parked_count;
	for (unsigned i = 0; i < count; i++)
		wakes->tasks[i] = feed->parked[--feed->parked_count];
	wakes->count = count;
}

static void
unpark_all(tg_session *session, const wake_list *wakes)
{
	for (unsigned i = 0; i < wakes->count; i++)
		tg_task_unpark(session, wakes->tasks[i]);
}

/* Whether the requester is to be woken. */
static bool
give_back(tg_feed *feed, tg_vectors *buffer)
{
	bool wakes;

	tg_assert(feed->free_count < feed->buffer_count);
	feed->free[feed->free_count++] = buffer;
	wakes = feed->requester_waits && feed->free_count >= feed->low_water;
	if (wakes)
		feed->requester_waits = false;
	return wakes;
}

/* --- the tasks' side ------------------------------------------------------------------------- */

/* The next buffer; NULL with TG_OK: there are no more. */
static tg_status
take_offered(tg_feed *feed, tg_task *turn, tg_vectors **buffer_out)
{
	*buffer_out = NULL;
	if (feed->is_stopped)
		return TG_CANCELLED;
	if (feed->offered_count > 0)
	{
		*buffer_out = feed->offered[feed->offered_first];
		feed->offered_first = (feed->offered_first + 1) % feed->buffer_count;
		feed->offered_count--;
		return TG_OK;
	}
	if (feed->has_ended)
		return TG_OK;
	if (turn != NULL)
		feed->parked[feed->parked_count++] = turn;
	return TG_BUSY;
}

tg_status
tg_feed_next(tg_query_task *task, tg_session *session)
{
	tg_query *query = task->query;
	tg_feed *feed = query->feeds[query->step];
	bool wakes = false;
	tg_status status;

	tg_latch_acquire(&feed->latch);
	if (task->fed != NULL)
		wakes = give_back(feed, task->fed);
	status = take_offered(feed, query->job != NULL ? task->turn : NULL, &task->fed);
	task->waits_for_feed = status == TG_BUSY;
	tg_latch_release(&feed->latch);
	if (wakes && query->job != NULL)
		tg_host_wake(query->config.waiter);
	if (status != TG_OK)
		return status;
	task->batch.count = task->fed != NULL ? task->fed->count : 0;
	task->batch.chunk = NULL;
	task->batch.vectors = task->fed;
	task->batch.vector_of = feed->identity;
	task->batch.dense = true;
	task->batch.slots = tg_dense_slots;
	task->morsel_rows += task->batch.count;
	return TG_OK;
}

void
tg_feed_rewind(tg_query *query)
{
	tg_feed *feed = query->feeds != NULL ? query->feeds[query->step] : NULL;

	if (feed == NULL)
		return;
	tg_latch_acquire(&feed->latch);
	tg_assert(feed->has_ended && feed->free_count == feed->buffer_count && feed->parked_count == 0);
	feed->has_ended = false;
	feed->is_to_restart = true;
	feed->requester_waits = false;
	tg_latch_release(&feed->latch);
	if (query->job != NULL)
		tg_host_wake(query->config.waiter);
}

/* --- both ------------------------------------------------------------------------------------ */

void
tg_feeds_stop(tg_query *query, tg_session *session)
{
	for (unsigned i = 0; query->feeds != NULL && i < query->plan->step_count; i++)
	{
		tg_feed *feed = query->feeds[i];
		wake_list wakes;

		if (feed == NULL)
			continue;
		tg_latch_acquire(&feed->latch);
		feed->is_stopped = true;
		collect_wakes(feed, &wakes);
		tg_latch_release(&feed->latch);
		unpark_all(session, &wakes);
	}
}

/* --- the requester's side -------------------------------------------------------------------- */

/* Whether the feed wants rows; *ended_out: it has got all, and a later one may. */
static bool
ask(tg_feed *feed, tg_feed_call *call, bool *ended_out)
{
	bool wants;

	tg_latch_acquire(&feed->latch);
	*ended_out = feed->has_ended;
	wants = !feed->has_ended && !feed->is_stopped && feed->free_count > 0;
	if (wants)
	{
		call->rows = feed->free[--feed->free_count];
		call->rows->count = 0;
		call->from_start = feed->is_to_restart;
		feed->is_to_restart = false;
	}
	feed->requester_waits = !wants && !feed->has_ended;
	tg_latch_release(&feed->latch);
	return wants;
}

bool
tg_query_feed_wants(tg_query *query, tg_feed_call *call_out)
{
	bool ended = true;

	for (unsigned i = 0; query->feeds != NULL && i < query->plan->step_count && ended; i++)
	{
		if (query->feeds[i] == NULL)
			continue;
		call_out->step = i;
		if (ask(query->feeds[i], call_out, &ended))
			return true;
	}
	return false;
}

void
tg_query_feed_offer(tg_session *session, tg_query *query, const tg_feed_call *call, bool is_last)
{
	tg_feed *feed = query->feeds[call->step];
	wake_list wakes;

	tg_latch_acquire(&feed->latch);
	if (call->rows->count > 0)
		feed->offered[(feed->offered_first + feed->offered_count++) % feed->buffer_count] = call->rows;
	else
		(void) give_back(feed, call->rows);
	feed->has_ended = is_last;
	collect_wakes(feed, &wakes);
	tg_latch_release(&feed->latch);
	unpark_all(session, &wakes);
}

void *
tg_query_feed_bytes(tg_session *session, tg_query *query, size_t bytes)
{
	unsigned char *taken;

	bytes = (bytes + 7) & ~(size_t) 7;
	if (bytes > query->feed_bytes_left)
	{
		size_t more = bytes > BYTES_AT_ONCE / 4 ? bytes : BYTES_AT_ONCE;

		taken = tg_query_take(session, query, more);
		if (taken == NULL || more == bytes)
			return taken;
		query->feed_bytes = taken;
		query->feed_bytes_left = more;
	}
	taken = query->feed_bytes;
	query->feed_bytes += bytes;
	query->feed_bytes_left -= bytes;
	return taken;
}
