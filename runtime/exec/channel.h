/*
 * channel.h
 *	  The output channel: how tasks hand buffers to the consumer of their result.
 *
 * This is an interface.  A producer acquires a buffer, fills it, and stages or abandons it; the
 * status is set once, at the end.  A producer that finds no free buffer parks its task, and is
 * unparked when the consumer gives one back: back-pressure without polling.  The consumer takes
 * staged buffers in order of staging and gives them back; it may do so before the job is done.
 * Tasks know only this interface.
 */
#ifndef TG_CHANNEL_H
#define TG_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"

typedef struct tg_task tg_task; /* scheduler.h */
typedef struct tg_channel tg_channel;
typedef struct tg_buffer tg_buffer; /* memory of the channel's buffer size, handed out as void * */

typedef struct tg_channel_ops
{
	/*
	 * TG_OK; TG_BUSY: no buffer is free; task, which is the caller's own, will be unparked and
	 * returns TG_TURN_PARK; TG_CANCELLED.
	 */
	tg_status (*acquire)(tg_channel *channel, tg_session *session, tg_task *task, void **buffer_out);
	void (*stage)(tg_channel *channel, tg_session *session, void *buffer);
	void (*abandon)(tg_channel *channel, tg_session *session, void *buffer);
	/*
	 * Called once, after the last producer: TG_OK ends the stream, an error discards the staged
	 * buffers.
	 */
	void (*finish)(tg_channel *channel, tg_session *session, tg_status status);
} tg_channel_ops;

struct tg_channel
{
	const tg_channel_ops *ops;
};

/* --- a ring of buffers in the arena, to one consumer of the host ------------------------- */

#define TG_RING_BUFFER_MAX 1024	 /* buffers of a ring */
#define TG_RING_PRODUCER_MAX 256 /* tasks that produce for a ring */

/*
 * Makes a ring of buffer_count buffers of buffer_bytes (64-byte aligned) for at most producer_max
 * tasks.  There must be more buffers than producers, and more than the consumer keeps while it
 * waits. waiter: for tg_host_wake after the consumer has found nothing; it may be woken once more
 * after the close.  There are two references: the consumer's (the caller's; dropped by close) and
 * one for the producers (dropped by finish).  TG_NO_MEMORY.
 */
extern tg_status tg_ring_channel_create(tg_session *session, size_t buffer_bytes, unsigned buffer_count,
										unsigned producer_max, void *waiter, tg_channel **channel_out) TG_MUST_USE;

/*
 * Sets a function that the producer calls with each fresh buffer before the buffer's first use.
 * Called before the first acquire.
 */
extern void tg_ring_channel_prepare(tg_channel *channel, void (*prepare)(void *buffer, void *argument), void *argument);

/*
 * The consumer needs no more rows: producers get TG_CANCELLED, and parked ones are unparked; staged
 * buffers stay for the consumer.  The caller holds a reference, or knows that the producers do, as
 * the thread that cancels their job.  Idempotent.
 */
extern void tg_ring_channel_stop(tg_channel *channel, tg_session *session);

/*
 * TG_OK; TG_BUSY: nothing is staged, the waiter will be woken; TG_NOT_FOUND: the stream ended well;
 * else the status of its end.
 */
extern tg_status tg_ring_channel_take(tg_channel *channel, tg_session *session, void **buffer_out) TG_MUST_USE;
extern void tg_ring_channel_give_back(tg_channel *channel, tg_session *session, void *buffer);

/*
 * The consumer leaves: staged buffers are dropped, producers get TG_CANCELLED, parked ones are
 * unparked.
 */
extern void tg_ring_channel_close(tg_channel *channel, tg_session *session);

#endif /* TG_CHANNEL_H */
