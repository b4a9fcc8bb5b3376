/*
 * deliver.c
 *	  Rows for the requester: tasks copy them into buffers of a channel, column by column.
 *
 * The sink does not compute anything: it copies values as they are stored, or as a build has kept
 * them.  There are three channels:
 *
 *	ring	a few buffers; the requester takes rows while tasks go on, and a task that finds no
 *			free buffer parks.  Memory is bounded, whatever the number of rows.
 *	single	the same in place: one buffer, which the query fills whenever the requester, who runs
 *			it, has given it back.
 *	kept	as many buffers as there are rows, handed out when the query has ended well.
 *
 * 1. A row that was handed out cannot be taken back.  So the ring, and the single buffer, are for
 *    steps that can end in no other way than with all rows, or by a cancellation: their operators
 *    compute nothing that can be unfit (the plan says so: streams), a chunk whose rows are not
 *    decided is tried until it is, and the memory of all tasks is taken before the first of them
 *    runs (phase.c).
 * 2. A task that parks holds no buffer.  It is inside a morsel: its batch, the rows of its probes
 *    and its place in the batch wait in its state.  What they point to stays, because the query's
 *    snapshot is published: versions that it sees are not given back, nor is the chunk that they
 *    lie in.
 * 3. A thread that cancels the job stops the ring, so parked tasks run again, and end.
 */
#include "runtime/exec/channel.h"
#include "runtime/exec/vectors.h"
#include "runtime/query/query_internal.h"

#include <string.h>

#include "runtime/mem/arena.h"
#include "runtime/sched/job.h"
#include "runtime/order/kind.h"

#define BUFFERS_PER_TASK 2
#define BUFFERS_OF_REQUESTER 2
#define BUFFER_BYTES_MAX ((size_t) 256 << 10)
#define BUFFER_ROWS_MIN 64

_Static_assert(TG_QUERY_TASK_MAX <= TG_RING_PRODUCER_MAX, "the channel must know all tasks");
_Static_assert(TG_QUERY_TASK_MAX *BUFFERS_PER_TASK + BUFFERS_OF_REQUESTER <= TG_RING_BUFFER_MAX, "and all buffers");

struct tg_delivery
{
	tg_channel *channel;
	bool streams; /* it is a ring, or single; else kept */
	unsigned buffer_rows;
	uint16_t field_count;
	uint16_t *columns;
	uint8_t *kinds;
	size_t buffer_bytes;
	struct kept_buffer *kept;  /* atomic: a stack of staged buffers */
	const tg_vectors *current; /* the requester's, or NULL */
};

/* --- buffers that are kept ------------------------------------------------------------------- */

typedef struct kept_channel
{
	tg_channel channel; /* first */
	tg_query *query;
} kept_channel;

typedef struct kept_buffer
{
	struct kept_buffer *next;
} TG_CACHE_ALIGNED kept_buffer;

static tg_status
kept_acquire(tg_channel *channel, tg_session *session, tg_task *task, void **buffer_out)
{
	tg_query *query = ((kept_channel *) channel)->query;
	kept_buffer *buffer = tg_query_take(session, query, sizeof(kept_buffer) + query->delivery->buffer_bytes);

	if (buffer == NULL)
		return TG_NO_MEMORY;
	*buffer_out = tg_vectors_init(buffer + 1, query->delivery->columns, query->delivery->kinds,
								  query->delivery->field_count, query->delivery->buffer_rows);
	return TG_OK;
}

/* Release pairs with the acquire of the job's end. */
static void
kept_stage(tg_channel *channel, tg_session *session, void *vectors)
{
	tg_delivery *delivery = ((kept_channel *) channel)->query->delivery;
	kept_buffer *buffer = (kept_buffer *) vectors - 1;
	kept_buffer *head = tg_load_relaxed(&delivery->kept);

	do
		buffer->next = head;
	while (!tg_cas_acq_rel(&delivery->kept, &head, buffer));
}

/* Its memory is the query's. */
static void
kept_abandon(tg_channel *channel, tg_session *session, void *vectors)
{
}

static void
kept_finish(tg_channel *channel, tg_session *session, tg_status status)
{
}

static bool
make_kept(tg_session *session, tg_query *query)
{
	static const tg_channel_ops ops = {
		.acquire = kept_acquire, .stage = kept_stage, .abandon = kept_abandon, .finish = kept_finish};
	kept_channel *kept = tg_query_take(session, query, sizeof(*kept));

	if (kept == NULL)
		return false;
	*kept = (kept_channel){.channel = {.ops = &ops}, .query = query};
	query->delivery->channel = &kept->channel;
	return true;
}

/* --- a ring ---------------------------------------------------------------------------------- */

static void
prepare_buffer(void *buffer, void *argument)
{
	const tg_delivery *delivery = argument;

	tg_vectors_init(buffer, delivery->columns, delivery->kinds, delivery->field_count, delivery->buffer_rows);
}

static tg_status
make_ring(tg_session *session, tg_query *query)
{
	tg_delivery *delivery = query->delivery;
	unsigned count = BUFFERS_PER_TASK * query->task_limit + BUFFERS_OF_REQUESTER;
	tg_status status = tg_query_account(query, delivery->buffer_bytes * count);

	if (status == TG_OK)
		status = tg_ring_channel_create(session, delivery->buffer_bytes, count, query->task_limit, query->config.waiter,
										&delivery->channel);
	if (status == TG_OK)
		tg_ring_channel_prepare(delivery->channel, prepare_buffer, delivery);
	return status;
}

/* --- a single buffer ------------------------------------------------------------------------- */

typedef struct single_channel
{
	tg_channel channel; /* first */
	tg_vectors *buffer;
	bool is_staged;
	bool is_out; /* with the requester */
} single_channel;

static tg_status
single_acquire(tg_channel *channel, tg_session *session, tg_task *task, void **buffer_out)
{
	single_channel *single = (single_channel *) channel;

	if (single->is_staged || single->is_out)
		return TG_BUSY;
	*buffer_out = single->buffer;
	return TG_OK;
}

static void
single_stage(tg_channel *channel, tg_session *session, void *vectors)
{
	((single_channel *) channel)->is_staged = true;
}

static bool
make_single(tg_session *session, tg_query *query)
{
	static const tg_channel_ops ops = {
		.acquire = single_acquire, .stage = single_stage, .abandon = kept_abandon, .finish = kept_finish};
	single_channel *single = tg_query_take(session, query, sizeof(*single));
	tg_delivery *delivery = query->delivery;
	void *memory = tg_query_take(session, query, delivery->buffer_bytes);

	if (single == NULL || memory == NULL)
		return false;
	*single = (single_channel){.channel = {.ops = &ops}};
	single->buffer =
		tg_vectors_init(memory, delivery->columns, delivery->kinds, delivery->field_count, delivery->buffer_rows);
	delivery->channel = &single->channel;
	return true;
}

/* As tg_query_rows. */
static tg_status
next_of_single(tg_query *query, const tg_vectors **rows_out)
{
	single_channel *single = (single_channel *) query->delivery->channel;
	tg_status status = tg_query_poll(query);

	single->is_out = single->is_staged;
	single->is_staged = false;
	if (!single->is_out)
		return status == TG_OK ? TG_NOT_FOUND : status;
	*rows_out = single->buffer;
	return TG_OK;
}

/* --- life ------------------------------------------------------------------------------------ */

static tg_status
make_channel(tg_session *session, tg_query *query)
{
	if (query->delivery->streams && query->job != NULL)
		return make_ring(session, query);
	return (query->delivery->streams ? make_single(session, query) : make_kept(session, query)) ? TG_OK : TG_NO_MEMORY;
}

/* 1. */
static bool
may_be_unfit(const tg_plan_step *step)
{
	for (unsigned i = 0; i < step->operator_count; i++)
	{
		const tg_operator *operator= & step->operators[i];

		if (tg_program_may_fail(&operator->expressions->program) ||
			(operator->match != NULL && tg_program_may_fail(&operator->match->program)))
			return true;
	}
	return false;
}

tg_status
tg_delivery_create(tg_session *session, tg_query *query)
{
	const tg_plan_step *step = &query->plan->steps[query->plan->step_count - 1];
	const tg_sink *sink = &step->sink;
	tg_delivery *delivery = tg_query_alloc(session, query, sizeof(*delivery));

	if (delivery == NULL)
		return TG_NO_MEMORY;
	tg_assert(!sink->streams || !may_be_unfit(step));
	delivery->streams = sink->streams;
	delivery->field_count = sink->field_count;
	delivery->columns = tg_query_alloc(session, query, (sink->field_count + 1u) * sizeof(uint16_t));
	delivery->kinds = tg_query_alloc(session, query, sink->field_count + 1u);
	if (delivery->columns == NULL || delivery->kinds == NULL)
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < sink->field_count; i++)
	{
		bool cell = sink->expressions->program.types[sink->fields[i]] == TG_V_TEXT;

		delivery->columns[i] = (uint16_t) i;
		delivery->kinds[i] = cell ? TG_KIND_STRING : TG_KIND_8;
	}
	delivery->buffer_rows = query->batch_max;
	while (delivery->buffer_rows > BUFFER_ROWS_MIN &&
		   tg_vectors_bytes(delivery->kinds, sink->field_count, delivery->buffer_rows) > BUFFER_BYTES_MAX)
		delivery->buffer_rows /= 2;
	delivery->buffer_bytes = tg_vectors_bytes(delivery->kinds, sink->field_count, delivery->buffer_rows);
	query->delivery = delivery;
	return make_channel(session, query);
}

void
tg_delivery_stop(tg_query *query, tg_session *session)
{
	if (query->delivery != NULL && query->delivery->streams)
		tg_ring_channel_stop(query->delivery->channel, session);
}

void
tg_delivery_finish(tg_query *query, tg_session *session, tg_status status)
{
	if (query->delivery != NULL && query->delivery->channel != NULL)
		query->delivery->channel->ops->finish(query->delivery->channel, session, status);
}

static void
give_back_current(tg_session *session, tg_delivery *delivery)
{
	if (delivery->current != NULL && delivery->streams)
		tg_ring_channel_give_back(delivery->channel, session, (void *) delivery->current);
	delivery->current = NULL;
}

void
tg_delivery_close(tg_query *query, tg_session *session)
{
	tg_delivery *delivery = query->delivery;

	if (delivery == NULL || !delivery->streams || delivery->channel == NULL || query->job == NULL)
		return;
	/* the tasks of a pool that stops may still be at it */
	give_back_current(session, delivery);
	tg_ring_channel_close(delivery->channel, session);
}

/* --- the tasks' side ------------------------------------------------------------------------- */

#define COPY_VALUES(type, stored)                                                                                      \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *values = (const type *) from->data + (from->constant ? 0 : first);                                 \
                                                                                                                       \
		for (unsigned i = 0; i < count; i++)                                                                           \
			((stored *) into->data[field])[into->count + i] = values[i * step];                                        \
	} while (0)

/* Values of some rows of a vector, behind those that the buffer has. */
static void
copy_field(tg_vectors *into, unsigned field, const tg_vector *from, unsigned first, unsigned count)
{
	unsigned step = from->constant ? 0 : 1;
	uint8_t *nulls = into->nulls[field] + into->count;

	switch ((tg_vector_type) from->type)
	{
		case TG_V_BOOL:
			COPY_VALUES(uint8_t, uint64_t);
			break;
		case TG_V_INT:
		case TG_V_FLOAT:
			COPY_VALUES(uint64_t, uint64_t);
			break;
		case TG_V_TEXT:
			COPY_VALUES(tg_string, tg_string);
			break;
		case TG_V_DECIMAL: /* only columns are handed out, as they are stored */
			tg_assert(false);
			break;
	}
	if (from->nulls == NULL)
		memset(nulls, 0, count);
	else
		for (unsigned i = 0; i < count; i++)
			nulls[i] = from->nulls[from->constant ? 0 : first + i];
}

tg_status
tg_deliver(tg_query_task *task, tg_session *session)
{
	const tg_sink *sink = &task->query->plan->steps[task->query->step].sink;
	tg_channel *channel = task->query->delivery->channel;

	while (task->sent_count < task->evaluated_count)
	{
		tg_vectors *buffer = task->buffer;
		unsigned count = task->evaluated_count - task->sent_count;

		if (buffer == NULL)
		{
			void *acquired;
			tg_status status = channel->ops->acquire(channel, session, task->turn, &acquired);

			if (status != TG_OK)
				return status;
			task->buffer = buffer = acquired;
			buffer->count = 0;
		}
		tg_assert(buffer->count < buffer->capacity); /* a full one is staged at once */
		if (count > buffer->capacity - buffer->count)
			count = buffer->capacity - buffer->count;
		for (unsigned i = 0; i < sink->field_count; i++)
			copy_field(buffer, i, tg_evaluated(&task->sink, sink->fields[i]), task->sent_count, count);
		buffer->count += count;
		task->sent_count += count;
		if (buffer->count == buffer->capacity)
		{
			channel->ops->stage(channel, session, buffer);
			task->buffer = NULL;
		}
	}
	task->evaluated_count = task->sent_count = 0;
	return TG_OK;
}

void
tg_deliver_end(tg_query_task *task, tg_session *session, bool well)
{
	tg_channel *channel = task->query->delivery->channel;

	if (task->buffer == NULL)
		return;
	if (well && task->buffer->count > 0)
		channel->ops->stage(channel, session, task->buffer);
	else
		channel->ops->abandon(channel, session, task->buffer);
	task->buffer = NULL;
}

/* --- the requester's side -------------------------------------------------------------------- */

static tg_status
next_kept(tg_query *query, const tg_vectors **rows_out)
{
	tg_delivery *delivery = query->delivery;
	tg_status status = tg_query_poll(query);
	kept_buffer *buffer;

	if (status != TG_OK)
		return status;
	buffer = tg_load_relaxed(&delivery->kept);
	if (buffer == NULL)
		return TG_NOT_FOUND;
	tg_store_relaxed(&delivery->kept, buffer->next);
	*rows_out = (const tg_vectors *) (buffer + 1);
	return TG_OK;
}

tg_status
tg_query_rows(tg_session *session, tg_query *query, const tg_vectors **rows_out)
{
	tg_delivery *delivery = query->delivery;
	void *buffer;
	tg_status status;

	if (delivery == NULL)
		return tg_sort_next_rows(query, rows_out);
	if (!delivery->streams)
		return next_kept(query, rows_out);
	if (query->job == NULL)
		return next_of_single(query, rows_out);
	give_back_current(session, delivery);
	status = tg_ring_channel_take(delivery->channel, session, &buffer);
	if (status == TG_OK)
		*rows_out = delivery->current = buffer;
	else if (status == TG_BUSY && tg_query_poll(query) == TG_STOPPED)
		return TG_STOPPED; /* its tasks may have been given up */
	return status;
}
