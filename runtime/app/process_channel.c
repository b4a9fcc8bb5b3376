/*
 * process_channel.c
 *	  Processes as producers of an output channel.
 *
 * An acquire is a task of the process' job.  Like every producer it parks when the channel has no
 * buffer, and the job lasts until the task has ended.  The frame of the buffer is that task first,
 * and then the completion's data.
 *
 * A process that ends leaves its acquires alone.  Each of them waits for its buffer, finds that the
 * process has ended, and gives the buffer back.  So the channel's arithmetic, which decides which
 * party to wake, stays right (channel.c, 5.).
 */
#include "runtime/app/process_channel.h"

#include <stddef.h>

#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"

/* Frees a buffer whose process has gone. */
static void
abandon_buffer(tg_session *session, void *pointer)
{
	tg_process_buffer *buffer = pointer;

	buffer->channel->ops->abandon(buffer->channel, session, buffer->memory);
	tg_free(session, buffer, TG_USE_JOB);
}

/* Completes the acquire.  The process then has the buffer, unless it has ended. */
static void
deliver(tg_session *session, tg_process_buffer *buffer, tg_status status)
{
	tg_ticket ticket = buffer->ticket;

	if (status != TG_OK)
	{
		tg_status told = tg_process_complete(session, ticket, status, NULL, NULL);

		(void) told; /* the process may have ended */
		tg_free(session, buffer, TG_USE_JOB);
	}
	else if (tg_process_complete(session, ticket, TG_OK, buffer, abandon_buffer) != TG_OK)
		abandon_buffer(session, buffer);
}

static tg_turn
run_acquire(tg_task *task, tg_worker *worker)
{
	tg_process_buffer *buffer = (tg_process_buffer *) ((char *) task - offsetof(tg_process_buffer, task));
	tg_session *session = tg_worker_session(worker);
	tg_status status = buffer->channel->ops->acquire(buffer->channel, session, task, &buffer->memory);

	if (status == TG_BUSY)
		return TG_TURN_PARK;
	deliver(session, buffer, status);
	return TG_TURN_DONE;
}

static void
acquire_run(const tg_command *command)
{
	const tg_acquire_command *argument = command->argument;
	tg_job *job = tg_process_job(command->process);
	tg_process_buffer *buffer = tg_alloc_zeroed(command->session, sizeof(*buffer), TG_USE_JOB, TG_DATA);

	if (!buffer)
	{
		tg_check(tg_process_complete(command->session, command->ticket, TG_NO_MEMORY, NULL, NULL) == TG_OK);
		return;
	}
	buffer->channel = argument->channel;
	buffer->ticket = command->ticket;
	tg_task_init(&buffer->task, run_acquire, job);
	tg_job_spawn(command->worker, job, &buffer->task);
}

static void
stage_run(const tg_command *command)
{
	const tg_stage_command *argument = command->argument;
	tg_process_buffer *buffer = argument->buffer;

	buffer->channel->ops->stage(buffer->channel, command->session, buffer->memory);
	tg_free(command->session, buffer, TG_USE_JOB);
	tg_check(tg_process_complete(command->session, command->ticket, TG_OK, NULL, NULL) == TG_OK);
}

void
tg_process_channel_register(void)
{
	static const tg_command_handler acquire = {
		.name = "acquire", .argument_bytes = sizeof(tg_acquire_command), .run = acquire_run};
	static const tg_command_handler stage = {
		.name = "stage", .argument_bytes = sizeof(tg_stage_command), .run = stage_run};

	tg_command_register(TG_COMMAND_CHANNEL_ACQUIRE, &acquire);
	tg_command_register(TG_COMMAND_CHANNEL_STAGE, &stage);
}
