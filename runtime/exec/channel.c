/*
 * channel.c
 *	  A ring of buffers in the arena: many tasks produce, one consumer takes.
 *
 * Each buffer goes round:
 *
 *	  FRESH --acquire--> HELD --stage--> STAGED --take--> TAKEN
 *	                    ^    \                              |
 *	             acquire|     +--abandon-+                  |give_back
 *	                    |                v                  |
 *	                    +-------------- FREE <--------------+
 *
 * FRESH is FREE without having been prepared, so memory that a short result does not need is not
 * touched.  An end with an error and a close take STAGED buffers straight to FREE.  One latch
 * guards the whole ring: a buffer holds a thousand rows, so the latch is taken once in tens of
 * microseconds, and a lock-free ring would gain nothing.  The latch also hands the content of a
 * buffer from its producer to the consumer, and back.
 *
 * 1. Every buffer is in exactly one state (check_ring()).
 * 2. Staged buffers are taken in the order in which stage was called.
 * 3. The consumer sleeps only with `waiting` set.  It sets the flag under the latch, having found
 *    nothing staged. stage and finish change the state that it looks for under the latch, and then
 *    look at the flag.  So either take finds the buffer, or the thread that stages it finds the
 *    flag and wakes the consumer.  The wake itself comes after the latch is released: it is the
 *    host's code.  The host has to remember a wake that comes before the sleep (by a latch, not a
 *    condition).
 * 4. A parked task has put itself into `parked` under the latch, having found no buffer.  It leaves
 *    the list under the latch; the thread that takes it out unparks it, once.  If that happens
 *    before the task's run function has returned, the task's state remembers it (scheduler.h).  No
 *    other thread unparks these tasks, so a task taken out lives until it is unparked.
 * 5. No deadlock.  A task stays parked only while another party is going to act:
 *	  - the consumer, if it does not wait: it will give a buffer back, or find nothing
 *		staged and then wait;
 *	  - if the consumer waits and buffers are free: a task that was unparked for them.
 *		Two events give this state (a buffer comes back, the consumer finds nothing
 *		staged), and each of them unparks as many tasks as there are buffers;
 *	  - if the consumer waits and none is free: a producer that holds a buffer and
 *		will stage or abandon it, since there are more buffers than the consumer keeps.
 *	  A task that is unparked and ends without a buffer would break the second case.
 *	  It does so only if stop or close, which unpark all, has come or is coming.
 * 6. Unparking waits for low_water free buffers unless the consumer waits: it usually is a futex
 *    call, and a slow consumer and a fast producer would otherwise change places at each buffer.
 * 7. A thread touches a ring only with a reference; the last one frees it.  The consumer may leave
 *    (close) at any moment, an exit callback included.
 *
 * Left out: a limit on how long a consumer may keep a buffer; it is bounded by
 * the consumer's statement.
 */
#include "runtime/exec/channel.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/sched/scheduler.h"

typedef enum buffer_state
{
	BUFFER_FREE, /* or fresh: index >= fresh */
	BUFFER_HELD,
	BUFFER_STAGED,
	BUFFER_TAKEN
} buffer_state;

typedef struct ring_channel
{
	tg_channel channel; /* first: the producers' part */

	/* constant while in use */
	unsigned char *buffers;
	size_t stride; /* of buffers, bytes */
	unsigned buffer_count;
	unsigned producer_max;
	unsigned low_water; /* 6. */
	void *waiter;
	void (*prepare)(void *buffer, void *argument);
	void *prepare_argument;

	uint32_t references; /* atomic */

	/* under the latch */
	tg_latch latch TG_CACHE_ALIGNED;
	bool waiting;  /* the consumer found nothing staged */
	bool stopped;  /* producers get no more buffers */
	bool closed;   /* the consumer has left */
	bool finished; /* the producers have gone, with status */
	tg_status status;
	unsigned fresh;		 /* buffers of a smaller index have been handed out */
	unsigned free_count; /* in free[] */
	unsigned held_count;
	unsigned taken_count;
	unsigned staged_first; /* in staged[] */
	unsigned staged_count;
	unsigned parked_first; /* in parked[] */
	unsigned parked_count;
	tg_task **parked; /* ring of producer_max */
	uint16_t *staged; /* ring of buffer_count indexes */
	uint16_t *free;	  /* stack of indexes: the one used last is warm */
	uint8_t *states;  /* buffer_state by index */
} ring_channel;

/* Tasks taken out of the parked list, to be unparked without the latch. */
typedef struct wake_list
{
	unsigned count;
	tg_task *task[TG_RING_PRODUCER_MAX];
} wake_list;

/* --- under the latch --------------------------------------------------------------- */

static unsigned
available_count(const ring_channel *ring)
{
	return ring->free_count + (ring->buffer_count - ring->fresh);
}

static void
check_ring(const ring_channel *ring)
{
	tg_assert(available_count(ring) + ring->held_count + ring->staged_count + ring->taken_count == ring->buffer_count);
	tg_assert(ring->parked_count <= ring->producer_max);
	tg_assert(!ring->stopped || ring->parked_count == 0);
	tg_assert(!ring->closed || (ring->stopped && ring->staged_count == 0 && ring->taken_count == 0));
	tg_assert(!ring->finished || (ring->held_count == 0 && ring->parked_count == 0));
	tg_assert(!ring->waiting || ring->staged_count == 0);
}

static void
lock_ring(ring_channel *ring)
{
	tg_latch_acquire(&ring->latch);
	check_ring(ring);
}

static void
unlock_ring(ring_channel *ring)
{
	check_ring(ring);
	tg_latch_release(&ring->latch);
}

static void
buffer_move(ring_channel *ring, unsigned index, buffer_state from, buffer_state to)
{
	tg_assert(index < ring->fresh && ring->states[index] == from);
	ring->states[index] = (uint8_t) to;
	if (to == BUFFER_FREE)
		ring->free[ring->free_count++] = (uint16_t) index;
}

static void
drop_staged(ring_channel *ring)
{
	for (; ring->staged_count > 0; ring->staged_count--)
	{
		buffer_move(ring, ring->staged[ring->staged_first], BUFFER_STAGED, BUFFER_FREE);
		ring->staged_first = (ring->staged_first + 1) % ring->buffer_count;
	}
}

/* Takes the tasks to be unparked now out of the parked list (5., 6.). */
static void
collect_wakes(ring_channel *ring, wake_list *wakes)
{
	unsigned count = available_count(ring);

	if (ring->stopped)
		count = ring->parked_count;
	else if (!ring->waiting && count < ring->low_water)
		count = 0;
	if (count > ring->parked_count)
		count = ring->parked_count;

	for (unsigned i = 0; i < count; i++)
	{
		wakes->task[i] = ring->parked[ring->parked_first];
		ring->parked_first = (ring->parked_first + 1) % ring->producer_max;
	}
	ring->parked_count -= count;
	wakes->count = count;
}

static void
park(ring_channel *ring, tg_task *task)
{
	tg_assert(ring->parked_count < ring->producer_max);
	for (unsigned i = 0; i < ring->parked_count; i++)
		tg_assert(ring->parked[(ring->parked_first + i) % ring->producer_max] != task);
	ring->parked[(ring->parked_first + ring->parked_count) % ring->producer_max] = task;
	ring->parked_count++;
}

/* --- without the latch -------------------------------------------------------------- */

static ring_channel *
ring_of(tg_channel *channel)
{
	return (ring_channel *) channel;
}

static unsigned
index_of(const ring_channel *ring, const void *buffer)
{
	size_t offset = (size_t) ((const unsigned char *) buffer - ring->buffers);

	tg_assert(offset % ring->stride == 0 && offset / ring->stride < ring->buffer_count);
	return (unsigned) (offset / ring->stride);
}

static void
unpark_all(tg_session *session, const wake_list *wakes)
{
	for (unsigned i = 0; i < wakes->count; i++)
		tg_task_unpark(session, wakes->task[i]);
}

/* acq_rel: all accesses under the other references come before the ring is freed. */
static void
release_reference(ring_channel *ring, tg_session *session)
{
	if (tg_fetch_add_acq_rel(&ring->references, (uint32_t) -1) == 1)
		tg_free(session, ring, TG_USE_JOB);
}

/* --- the producers' side ------------------------------------------------------------- */

static tg_status
ring_acquire(tg_channel *channel, tg_session *session, tg_task *task, void **buffer_out)
{
	ring_channel *ring = ring_of(channel);
	tg_status status = TG_OK;
	unsigned index = 0;
	bool prepare = false;

	lock_ring(ring);
	tg_assert(!ring->finished);
	if (ring->stopped)
		status = TG_CANCELLED;
	else if (ring->free_count > 0)
		index = ring->free[--ring->free_count];
	else if (ring->fresh < ring->buffer_count)
	{
		index = ring->fresh++;
		prepare = true;
	}
	else
	{
		park(ring, task);
		status = TG_BUSY;
	}
	if (status == TG_OK)
	{
		ring->held_count++;
		buffer_move(ring, index, BUFFER_FREE, BUFFER_HELD);
	}
	unlock_ring(ring);

	if (status != TG_OK)
		return status;
	*buffer_out = ring->buffers + index * ring->stride;
	if (prepare && ring->prepare != NULL)
		ring->prepare(*buffer_out, ring->prepare_argument);
	return TG_OK;
}

static void
ring_stage(tg_channel *channel, tg_session *session, void *buffer)
{
	ring_channel *ring = ring_of(channel);
	unsigned index = index_of(ring, buffer);
	void *waiter;
	bool wake;

	lock_ring(ring);
	ring->held_count--;
	if (ring->closed)
		buffer_move(ring, index, BUFFER_HELD, BUFFER_FREE);
	else
	{
		buffer_move(ring, index, BUFFER_HELD, BUFFER_STAGED);
		ring->staged[(ring->staged_first + ring->staged_count) % ring->buffer_count] = (uint16_t) index;
		ring->staged_count++;
	}
	wake = ring->waiting;
	ring->waiting = false;
	waiter = ring->waiter;
	unlock_ring(ring);

	if (wake)
		tg_host_wake(waiter);
}

static void
ring_abandon(tg_channel *channel, tg_session *session, void *buffer)
{
	ring_channel *ring = ring_of(channel);
	unsigned index = index_of(ring, buffer);
	wake_list wakes;

	lock_ring(ring);
	ring->held_count--;
	buffer_move(ring, index, BUFFER_HELD, BUFFER_FREE);
	collect_wakes(ring, &wakes);
	unlock_ring(ring);

	unpark_all(session, &wakes);
}

static void
ring_finish(tg_channel *channel, tg_session *session, tg_status status)
{
	ring_channel *ring = ring_of(channel);
	void *waiter;
	bool wake;

	lock_ring(ring);
	tg_assert(!ring->finished && ring->held_count == 0 && ring->parked_count == 0);
	ring->finished = true;
	ring->status = status;
	if (status != TG_OK)
		drop_staged(ring);
	wake = ring->waiting;
	ring->waiting = false;
	waiter = ring->waiter;
	unlock_ring(ring);

	release_reference(ring, session);
	if (wake)
		tg_host_wake(waiter);
}

/* --- life ------------------------------------------------------------------------------ */

static const tg_channel_ops ring_ops = {
	.acquire = ring_acquire, .stage = ring_stage, .abandon = ring_abandon, .finish = ring_finish};

static size_t
line_up(size_t bytes)
{
	return (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
}

tg_status
tg_ring_channel_create(tg_session *session, size_t buffer_bytes, unsigned buffer_count, unsigned producer_max,
					   void *waiter, tg_channel **channel_out)
{
	size_t stride = line_up(buffer_bytes);
	size_t head_bytes = line_up(sizeof(ring_channel) + producer_max * sizeof(tg_task *) +
								buffer_count * (sizeof(uint16_t) + sizeof(uint16_t) + sizeof(uint8_t)));
	ring_channel *ring;

	tg_assert(buffer_count <= TG_RING_BUFFER_MAX && producer_max <= TG_RING_PRODUCER_MAX);
	tg_assert(producer_max > 0 && buffer_count > producer_max);

	ring = tg_alloc(session, head_bytes + buffer_count * stride, TG_USE_JOB, TG_DATA);
	if (ring == NULL)
		return TG_NO_MEMORY;
	tg_assert(((uintptr_t) ring & (TG_CACHE_LINE - 1)) == 0);

	*ring = (ring_channel){.channel.ops = &ring_ops,
						   .buffers = (unsigned char *) ring + head_bytes,
						   .stride = stride,
						   .buffer_count = buffer_count,
						   .producer_max = producer_max,
						   .low_water = (buffer_count - producer_max + 1) / 2,
						   .waiter = waiter,
						   .references = 2};
	tg_latch_init(&ring->latch, TG_RANK_CHANNEL);
	ring->parked = (tg_task **) (ring + 1);
	ring->staged = (uint16_t *) (ring->parked + producer_max);
	ring->free = ring->staged + buffer_count;
	ring->states = (uint8_t *) (ring->free + buffer_count);
	for (unsigned i = 0; i < buffer_count; i++)
		ring->states[i] = BUFFER_FREE;
	*channel_out = &ring->channel;
	return TG_OK;
}

void
tg_ring_channel_prepare(tg_channel *channel, void (*prepare)(void *buffer, void *argument), void *argument)
{
	ring_channel *ring = ring_of(channel);

	tg_assert(ring->fresh == 0);
	ring->prepare = prepare;
	ring->prepare_argument = argument;
}

/* --- the consumer's side --------------------------------------------------------------- */

tg_status
tg_ring_channel_take(tg_channel *channel, tg_session *session, void **buffer_out)
{
	ring_channel *ring = ring_of(channel);
	wake_list wakes = {.count = 0};
	tg_status status = TG_OK;

	lock_ring(ring);
	tg_assert(!ring->closed);
	if (ring->staged_count > 0)
	{
		unsigned index = ring->staged[ring->staged_first];

		buffer_move(ring, index, BUFFER_STAGED, BUFFER_TAKEN);
		ring->staged_first = (ring->staged_first + 1) % ring->buffer_count;
		ring->staged_count--;
		ring->taken_count++;
		*buffer_out = ring->buffers + index * ring->stride;
	}
	else if (ring->finished)
		status = ring->status == TG_OK ? TG_NOT_FOUND : ring->status;
	else
	{
		ring->waiting = true;
		collect_wakes(ring, &wakes);
		status = TG_BUSY;
	}
	unlock_ring(ring);

	unpark_all(session, &wakes);
	return status;
}

void
tg_ring_channel_give_back(tg_channel *channel, tg_session *session, void *buffer)
{
	ring_channel *ring = ring_of(channel);
	unsigned index = index_of(ring, buffer);
	wake_list wakes;

	lock_ring(ring);
	ring->taken_count--;
	buffer_move(ring, index, BUFFER_TAKEN, BUFFER_FREE);
	collect_wakes(ring, &wakes);
	unlock_ring(ring);

	unpark_all(session, &wakes);
}

/* --- ends --------------------------------------------------------------------------------- */

void
tg_ring_channel_stop(tg_channel *channel, tg_session *session)
{
	ring_channel *ring = ring_of(channel);
	wake_list wakes;

	lock_ring(ring);
	ring->stopped = true;
	collect_wakes(ring, &wakes);
	unlock_ring(ring);

	unpark_all(session, &wakes);
}

void
tg_ring_channel_close(tg_channel *channel, tg_session *session)
{
	ring_channel *ring = ring_of(channel);
	wake_list wakes;

	lock_ring(ring);
	tg_assert(!ring->closed);
	ring->stopped = true;
	ring->closed = true;
	ring->waiting = false;
	drop_staged(ring);
	for (unsigned i = 0; i < ring->fresh; i++)
		if (ring->states[i] == BUFFER_TAKEN)
			buffer_move(ring, i, BUFFER_TAKEN, BUFFER_FREE);
	ring->taken_count = 0;
	collect_wakes(ring, &wakes);
	unlock_ring(ring);

	unpark_all(session, &wakes);
	release_reference(ring, session);
}
