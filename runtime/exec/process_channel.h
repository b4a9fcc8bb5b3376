/*
 * process_channel.h
 *	  How a process produces for an output channel.
 *
 * Acquire completes with a tg_process_buffer as data, once there is a buffer,
 * or with TG_CANCELLED; stage takes it back filled.  What is not staged is
 * abandoned, as any event's data is dropped.  Whoever starts the process
 * finishes the channel in tg_process_config.complete, when nobody holds a
 * buffer or waits for one any more, and stops it in cancelled, since a process
 * may end with an acquire outstanding.  Each acquire outstanding counts as a
 * producer of the channel.
 */
#ifndef TG_PROCESS_CHANNEL_H
#define TG_PROCESS_CHANNEL_H

#include "runtime/exec/channel.h"
#include "runtime/sched/process.h"

typedef struct tg_process_buffer
{
	tg_channel *channel;
	void *memory;	  /* of the channel's buffer size */
	tg_ticket ticket; /* the rest is process_channel.c's */
	tg_task task;
} tg_process_buffer;

/* TG_COMMAND_CHANNEL_ACQUIRE */
typedef struct tg_acquire_command
{
	tg_channel *channel;
} tg_acquire_command;

/* TG_COMMAND_CHANNEL_STAGE: the buffer is the process' no more. */
typedef struct tg_stage_command
{
	tg_process_buffer *buffer;
} tg_stage_command;

/* A buffer that a Step has kept and does not want any more. */
extern void tg_process_buffer_abandon(tg_session *session, void *buffer);

/* Makes the two kinds known. */
extern void tg_process_channel_register(void);

#endif /* TG_PROCESS_CHANNEL_H */
