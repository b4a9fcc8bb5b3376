/*
 * process_channel.c
 *	  A process that produces for a channel.
 *
 * It acquires, fills and stages buffers, more than the channel has, while a
 * consumer takes them: all arrive in order.  Then the consumer goes, the
 * process ends with acquires outstanding, and the pool stops meanwhile.  Each
 * part ends with a look at the memory in use.
 */
#include "runtime/app/process_channel.h"

#include <string.h>

#include "test/unit/pool.h"
#include "test/unit/waiter.h"

#define BUFFERS 5
#define PRODUCERS 4 /* acquires outstanding at a time */
#define TAG_ACQUIRE 1
#define TAG_STAGE 2

typedef struct producer
{
	tg_channel *channel;
	uint64_t count;	   /* buffers to fill */
	uint64_t leave_at; /* buffers acquired: the process ends then, as soon as more are asked for */
	uint64_t acquired;
	uint64_t staged;
	uint64_t asked;
	uint32_t refused;
	uint32_t wrong;
	uint32_t closed;
	uint32_t completed;
	tg_status end;
} producer;

static tg_status
producer_init(tg_session *session, const void *input, size_t input_bytes, void **state_out)
{
	memcpy(state_out, input, sizeof(void *));
	return TG_OK;
}

static void
ask(producer *producer, tg_process_step *step)
{
	tg_acquire_command acquire = {.channel = producer->channel};

	producer->asked++;
	if (tg_process_yield(step, TG_COMMAND_CHANNEL_ACQUIRE, TAG_ACQUIRE, &acquire, sizeof(acquire)) != TG_OK)
		abort();
}

static void
fill(producer *producer, tg_process_step *step, tg_event *event)
{
	tg_stage_command stage = {.buffer = event->data};
	uint64_t number = producer->acquired++;

	event->data = NULL;
	memcpy(stage.buffer->memory, &number, sizeof(number));
	if (tg_process_yield(step, TG_COMMAND_CHANNEL_STAGE, TAG_STAGE, &stage, sizeof(stage)) != TG_OK)
		abort();
}

static void
producer_step(void *state, tg_process_step *step)
{
	producer *producer = state;

	for (unsigned i = 0; i < step->event_count; i++)
	{
		tg_event *event = &step->events[i];

		if (event->type == TG_EVENT_CANCEL)
			continue; /* the channel is stopped then, which tells as well */
		producer->wrong += event->type != TG_EVENT_COMPLETION;
		if (event->tag == TAG_STAGE)
		{
			producer->staged++;
			producer->wrong += event->error != TG_OK;
		}
		else if (event->error != TG_OK)
		{
			producer->wrong += event->error != TG_CANCELLED || event->data;
			producer->refused++;
		}
		else if (producer->acquired < producer->leave_at || producer->leave_at == 0)
			fill(producer, step, event);
	}
	while (producer->asked < producer->count && producer->refused == 0 &&
		   producer->asked - producer->staged < PRODUCERS)
		ask(producer, step);
	if (producer->staged == producer->count || producer->staged + producer->refused == producer->asked ||
		(producer->leave_at > 0 && producer->acquired == producer->leave_at && producer->asked > producer->acquired))
		step->status = TG_STEP_COMPLETE;
}

static void
producer_close(tg_session *session, void *state)
{
	tg_fetch_add_acq_rel(&((producer *) state)->closed, 1);
}

static const tg_entry entries[] = {
	{.method = "produce", .init = producer_init, .step = producer_step, .close = producer_close}};
static const tg_application producers = {.name = "producers", .entries = entries, .entry_count = 1};

static void
producers_cancelled(void *argument, tg_session *session)
{
	tg_ring_channel_stop(((producer *) argument)->channel, session);
}

static void
producers_complete(void *argument, tg_session *session, tg_status status)
{
	producer *producer = argument;

	producer->channel->ops->finish(producer->channel, session, status);
	tg_store_release(&producer->completed, 1);
}

static producer *
producer_start(uint64_t count, uint64_t leave_at)
{
	producer *producer = take_zeroed(self, sizeof(*producer));
	tg_process_config config = {.application = "producers",
								.method = "produce",
								.input = &producer,
								.input_bytes = sizeof(producer),
								.argument = producer,
								.cancelled = producers_cancelled,
								.complete = producers_complete};
	tg_pid pid;

	producer->count = count;
	producer->leave_at = leave_at;
	if (tg_ring_channel_create(self, sizeof(uint64_t), BUFFERS, PRODUCERS, &waiter, &producer->channel) != TG_OK ||
		tg_process_start(self, &config, &pid, NULL) != TG_OK)
		abort();
	return producer;
}

/* Takes so many; gives each back.  Returns the status that ended it. */
static tg_status
consume(producer *producer, uint64_t count, uint64_t *disorder)
{
	for (uint64_t i = 0; i < count;)
	{
		void *buffer;
		uint64_t number;
		tg_status status = tg_ring_channel_take(producer->channel, self, &buffer);

		if (status == TG_BUSY)
		{
			if (!wait_for_wake())
				return TG_BUSY;
			continue;
		}
		if (status != TG_OK)
			return status;
		memcpy(&number, buffer, sizeof(number));
		*disorder += number != i++;
		tg_ring_channel_give_back(producer->channel, self, buffer);
	}
	return TG_OK;
}

static size_t
bytes_used(void)
{
	tg_arena_report report;

	for (unsigned i = 0; i < 3; i++)
	{
		tg_epoch_advance();
		tg_retire_poll(self);
	}
	tg_arena_report_get(&report);
	return report.used_by[TG_USE_JOB];
}

static void
test_produce(unsigned workers)
{
	size_t bytes = bytes_used();
	producer *producer;
	uint64_t disorder = 0;

	pool_start(workers);
	producer = producer_start(3000, 0);
	unit_ok(consume(producer, UINT64_MAX, &disorder) == TG_NOT_FOUND && disorder == 0,
			"%u workers: the buffers that a process stages arrive in order, to the end", workers);
	unit_ok(comes_true(&producer->completed, 1) && producer->staged == 3000 && producer->acquired == 3000 &&
				producer->closed == 1 && producer->wrong == 0 && producer->refused == 0,
			"all of it");
	tg_ring_channel_close(producer->channel, self);
	tg_free(self, producer, TG_USE_JOB);
	unit_ok(pool_stop() && bytes_used() == bytes, "and nothing is left");
}

static void
test_consumer_goes(void)
{
	size_t bytes = bytes_used();
	producer *producer;
	uint64_t disorder = 0;

	pool_start(2);
	producer = producer_start(1000, 0);
	unit_ok(consume(producer, 50, &disorder) == TG_OK && disorder == 0, "a consumer takes some, and goes");
	tg_ring_channel_close(producer->channel, self);
	unit_ok(comes_true(&producer->completed, 1) && producer->refused > 0 && producer->staged < 1000 &&
				producer->wrong == 0 && producer->closed == 1,
			"the process is told, and ends");
	tg_free(self, producer, TG_USE_JOB);
	unit_ok(pool_stop() && bytes_used() == bytes, "consumer gone: nothing is left");
}

static void
test_process_goes(void)
{
	size_t bytes = bytes_used();
	producer *producer;
	uint64_t disorder = 0;

	pool_start(2);
	producer = producer_start(1000, 10);
	unit_ok(consume(producer, UINT64_MAX, &disorder) == TG_NOT_FOUND && disorder == 0,
			"a process that ends with acquires outstanding ends the stream");
	unit_ok(comes_true(&producer->completed, 1) && producer->acquired == 10 && producer->asked > 10 &&
				producer->closed == 1,
			"once they have been served and given back");
	tg_ring_channel_close(producer->channel, self);
	tg_free(self, producer, TG_USE_JOB);
	unit_ok(pool_stop() && bytes_used() == bytes, "process gone: nothing is left");
}

static void
test_pool_goes(void)
{
	size_t bytes = bytes_used();
	producer *producer;
	uint64_t disorder = 0;

	pool_start(2);
	producer = producer_start(1000, 0);
	unit_ok(consume(producer, 20, &disorder) == TG_OK && disorder == 0, "a consumer takes some, and takes its time");
	usleep(5000); /* the acquires are parked now, or soon: both will do */
	unit_ok(pool_stop() && producer->closed == 1 && producer->completed == 1 && producer->refused > 0,
			"the pool stops meanwhile: acquires are refused, the process ends");
	tg_ring_channel_close(producer->channel, self);
	tg_free(self, producer, TG_USE_JOB);
	unit_ok(bytes_used() == bytes, "pool gone: nothing is left");
}

int
main(void)
{
	server_start();
	tg_processes_register();
	tg_host_wake = wake_waiter;
	if (tg_application_register(&producers) != TG_OK)
		abort();
	tg_process_channel_register();
	test_produce(1);
	test_produce(3);
	test_consumer_goes();
	test_process_goes();
	test_pool_goes();
	server_end();
	return unit_done();
}
