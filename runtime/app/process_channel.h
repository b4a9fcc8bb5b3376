/*
 * process_channel.h
 *	  Processes as producers of an output channel.
 *
 * Acquire completes with a tg_process_buffer as data, once there is a buffer, or with TG_CANCELLED;
 * stage takes the buffer back filled.  A buffer that is not staged is abandoned, as any event's
 * data is dropped.  The thread that starts the process finishes the channel in
 * tg_process_config.complete, when no process holds a buffer or waits for one any more.  It stops
 * the channel in cancelled, since a process may end with an acquire outstanding.  Each outstanding
 * acquire counts as a producer of the channel.
 */
#ifndef TG_PROCESS_CHANNEL_H
#define TG_PROCESS_CHANNEL_H

#include "runtime/exec/channel.h"
#include "runtime/app/process.h"

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

/* Registers the two kinds. */
extern void tg_process_channel_register(void);

#endif /* TG_PROCESS_CHANNEL_H */
