/*
 * channel.c
 *	  The ring channel: every staged buffer is taken once and in order, for every timing of
 *	  producers and consumer; no thread sleeps on; nothing is left.
 *
 * Producers are tasks of a real pool; the consumer is this thread.  A lost wake-up shows as a wait
 * that runs into its limit, a leak in the arena's account.
 */
#include "runtime/mem/arena.h"
#include "runtime/sched/scheduler.h"
#include "runtime/sched/worker.h"
#include "runtime/exec/channel.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/claim.h"
#include "test/unit/random.h"
#include "test/unit/unit.h"
#include "test/unit/waiter.h"

#define WORKERS 3
#define PRODUCERS_MAX 8
#define BUFFER_WORDS 32

static tg_session *session;

static size_t
job_bytes(void)
{
	tg_arena_report report;

	tg_arena_report_get(&report);
	return report.used_by[TG_USE_JOB];
}

static bool
comes_true(bool (*condition)(void))
{
	for (int i = 0; i < WAIT_SECONDS * 10000; i++)
	{
		if (condition())
			return true;
		usleep(100);
	}
	return false;
}

static size_t job_bytes_before;

static bool
nothing_is_left(void)
{
	return job_bytes() == job_bytes_before;
}

/* --- producers ------------------------------------------------------------------------ */

/* The content of a staged buffer. */
typedef struct test_content
{
	uint64_t producer;
	uint64_t number; /* of the producer's staged buffers */
	uint64_t ticket; /* of all staged buffers, if the run draws tickets */
	uint64_t fill[BUFFER_WORDS];
} test_content;

typedef struct test_run test_run;

typedef struct producer
{
	tg_task task; /* first */
	test_run *run;
	unsigned number;
	unsigned staged;
	uint64_t random;
	bool cancelled;
	bool ended;
} producer;

struct test_run
{
	tg_channel *channel;
	unsigned producer_count;
	unsigned each;		   /* buffers to stage */
	tg_status status;	   /* to end with */
	bool tickets;		   /* stage under a mutex, with a number */
	pthread_mutex_t mutex; /* of ticket */
	uint64_t ticket;
	unsigned running;  /* atomic */
	unsigned parks;	   /* atomic */
	unsigned prepared; /* atomic */
	producer producers[PRODUCERS_MAX];
};

static void
fill_content(test_content *content, const producer *self)
{
	content->producer = self->number;
	content->number = self->staged;
	for (unsigned i = 0; i < BUFFER_WORDS; i++)
		content->fill[i] = self->number * 1000003u + self->staged + i;
}

static bool
content_is_whole(const test_content *content)
{
	for (unsigned i = 0; i < BUFFER_WORDS; i++)
		if (content->fill[i] != content->producer * 1000003u + content->number + i)
			return false;
	return true;
}

static tg_turn
end_producer(producer *self, tg_session *own)
{
	test_run *run = self->run;

	tg_assert(!self->ended);
	self->ended = true;
	if (tg_fetch_add_acq_rel(&run->running, (unsigned) -1) == 1)
		run->channel->ops->finish(run->channel, own, run->status);
	return TG_TURN_DONE;
}

static void
stage_one(producer *self, tg_session *own, test_content *content)
{
	test_run *run = self->run;

	fill_content(content, self);
	self->staged++;
	if (!run->tickets)
	{
		run->channel->ops->stage(run->channel, own, content);
		return;
	}
	pthread_mutex_lock(&run->mutex);
	content->ticket = run->ticket++;
	run->channel->ops->stage(run->channel, own, content);
	pthread_mutex_unlock(&run->mutex);
}

static tg_turn
run_producer(tg_task *task, tg_worker *worker)
{
	producer *self = (producer *) task;
	test_run *run = self->run;
	tg_session *own = tg_worker_session(worker);

	while (self->staged < run->each)
	{
		void *buffer;

		switch (run->channel->ops->acquire(run->channel, own, task, &buffer))
		{
			case TG_OK:
				break;
			case TG_BUSY:
				tg_fetch_add_relaxed(&run->parks, 1);
				return TG_TURN_PARK;
			default:
				self->cancelled = true;
				return end_producer(self, own);
		}
		if (unit_random(&self->random) % 8 == 0)
			run->channel->ops->abandon(run->channel, own, buffer);
		else
			stage_one(self, own, buffer);
		if (unit_random(&self->random) % 16 == 0)
			return TG_TURN_AGAIN;
	}
	return end_producer(self, own);
}

static void
count_prepared(void *buffer, void *argument)
{
	memset(buffer, 0, sizeof(test_content));
	tg_fetch_add_relaxed(&((test_run *) argument)->prepared, 1);
}

/* Makes the channel; the run lies in the arena, as tasks do. */
static test_run *
make_run(unsigned producer_count, unsigned buffer_count, unsigned each)
{
	test_run *run = tg_alloc_zeroed(session, sizeof(test_run), TG_USE_RUNTIME, TG_DATA);

	job_bytes_before = job_bytes();
	run->producer_count = run->running = producer_count;
	run->each = each;
	pthread_mutex_init(&run->mutex, NULL);
	waiter.woken = false;
	tg_check(tg_ring_channel_create(session, sizeof(test_content), buffer_count, producer_count, &waiter,
									&run->channel) == TG_OK);
	tg_ring_channel_prepare(run->channel, count_prepared, run);
	return run;
}

static void
start_run(test_run *run, uint64_t seed)
{
	for (unsigned i = 0; i < run->producer_count; i++)
	{
		producer *self = &run->producers[i];

		self->run = run;
		self->number = i;
		self->random = seed * 977 + i;
		tg_task_init(&self->task, run_producer, NULL);
		tg_check(tg_task_submit(session, NULL, &self->task) == TG_OK);
	}
}

/* The run stays until the arena goes: a task may not yet have returned from its run function. */
static bool
end_run(void)
{
	return comes_true(nothing_is_left);
}

/* --- a consumer, and what it found -------------------------------------------------- */

typedef struct test_consumer
{
	test_run *run;
	unsigned keep;		  /* buffers it holds before it gives the oldest back */
	unsigned pause_us;	  /* now and then */
	unsigned close_after; /* 0: takes all */
	uint64_t random;

	uint64_t next[PRODUCERS_MAX]; /* number expected of each producer */
	uint64_t ticket;
	unsigned taken;
	bool whole;
	bool ordered;
	bool woken; /* always, when it waited */
	tg_status status;
} test_consumer;

static void
look_at(test_consumer *consumer, const test_content *content)
{
	consumer->taken++;
	consumer->whole = consumer->whole && content_is_whole(content);
	consumer->ordered = consumer->ordered && content->number == consumer->next[content->producer]++;
	if (consumer->run->tickets)
		consumer->ordered = consumer->ordered && content->ticket == consumer->ticket++;
}

/* Takes until the end or until it closes early. */
static void
consume(test_consumer *consumer)
{
	tg_channel *channel = consumer->run->channel;
	void *kept[8];
	unsigned kept_count = 0;

	consumer->whole = consumer->ordered = consumer->woken = true;
	for (;;)
	{
		void *buffer;

		if (consumer->close_after > 0 && consumer->taken >= consumer->close_after)
			break;
		consumer->status = tg_ring_channel_take(channel, session, &buffer);
		if (consumer->status == TG_BUSY)
		{
			consumer->woken = wait_for_wake();
			if (!consumer->woken)
				break;
			continue;
		}
		if (consumer->status != TG_OK)
			break;
		look_at(consumer, buffer);
		kept[kept_count++] = buffer;
		if (kept_count == consumer->keep)
		{
			/* it was not overwritten */
			consumer->whole = consumer->whole && content_is_whole(kept[0]);
			tg_ring_channel_give_back(channel, session, kept[0]);
			memmove(kept, kept + 1, --kept_count * sizeof(kept[0]));
		}
		if (consumer->pause_us > 0 && unit_random(&consumer->random) % 16 == 0)
			usleep(consumer->pause_us);
	}
	tg_ring_channel_close(channel, session); /* with what it keeps */
}

/* --- checks --------------------------------------------------------------------------- */

static void
check_all_taken(unsigned producers, unsigned buffers, unsigned keep, unsigned pause_us, bool tickets)
{
	unsigned each = pause_us > 0 ? 400 : 4000;
	test_run *run = make_run(producers, buffers, each);
	test_consumer consumer = {.run = run, .keep = keep, .pause_us = pause_us};
	unsigned parks;

	run->tickets = tickets;
	start_run(run, 1);
	consume(&consumer);
	parks = run->parks;
	unit_ok(consumer.woken, "%u producers, %u buffers, %u kept: no wake-up is lost", producers, buffers, keep);
	unit_ok(consumer.taken == producers * each && consumer.ordered && consumer.status == TG_NOT_FOUND,
			"%u producers, %u buffers, %u kept: each buffer once, in order (%u parks)", producers, buffers, keep,
			parks);
	unit_ok(consumer.whole, "%u producers, %u buffers, %u kept: no staged buffer is overwritten", producers, buffers,
			keep);
	unit_ok(run->prepared <= buffers, "%u producers, %u buffers: each is prepared once at most", producers, buffers);
	unit_ok(end_run(), "%u producers, %u buffers: nothing is left", producers, buffers);
}

static void
check_early_close(unsigned producers)
{
	bool clean = true;
	bool woken = true;
	bool ordered = true;

	for (unsigned round = 0; round < 300 && clean; round++)
	{
		test_run *run = make_run(producers, 2 * producers + 2, 1000000);
		test_consumer consumer = {.run = run, .keep = 1, .close_after = 1 + round % 40};

		start_run(run, round);
		if (round % 3 == 0)
			usleep(round); /* so that all are parked */
		consume(&consumer);
		woken = woken && consumer.woken;
		ordered = ordered && consumer.ordered && consumer.whole;
		clean = end_run();
	}
	unit_ok(woken && ordered, "%u producers: the buffers before an early close are right", producers);
	unit_ok(clean, "%u producers: an early close ends them all and frees all", producers);
}

/* The consumer goes before anybody has produced, or after all have. */
static void
check_extreme_close(void)
{
	test_run *run = make_run(2, 6, 3);

	tg_ring_channel_close(run->channel, session);
	start_run(run, 3);
	unit_ok(end_run(), "closed before the first buffer: nothing is left");

	run = make_run(2, 16, 3);
	start_run(run, 3);
	for (int i = 0; i < WAIT_SECONDS * 1000 && tg_load_acquire(&run->running) > 0; i++)
		usleep(1000);
	tg_ring_channel_close(run->channel, session);
	unit_ok(end_run(), "closed after the end, nothing taken: nothing is left");
}

/* A task that only counts its runs. */
typedef struct counting_task
{
	tg_task task;  /* first */
	unsigned runs; /* atomic */
} counting_task;

static counting_task *counters;

static tg_turn
count_run(tg_task *task, tg_worker *worker)
{
	tg_fetch_add_acq_rel(&((counting_task *) task)->runs, 1);
	return TG_TURN_PARK;
}

static bool
first_was_unparked(void)
{
	return tg_load_acquire(&counters[0].runs) == 2;
}

static bool
all_were_unparked(void)
{
	return tg_load_acquire(&counters[0].runs) == 2 && tg_load_acquire(&counters[1].runs) == 2;
}

static bool
all_ran_once(void)
{
	return tg_load_acquire(&counters[0].runs) == 1 && tg_load_acquire(&counters[1].runs) == 1;
}

/* Two tasks that have run and are parked now. */
static void
start_counters(void)
{
	counters = tg_alloc_zeroed(session, 2 * sizeof(counting_task), TG_USE_RUNTIME, TG_DATA);
	for (unsigned i = 0; i < 2; i++)
	{
		tg_task_init(&counters[i].task, count_run, NULL);
		tg_check(tg_task_submit(session, NULL, &counters[i].task) == TG_OK);
	}
	tg_check(comes_true(all_ran_once));
}

/* Step by step, this thread being producer and consumer. */
#define STEP_BUFFERS 6

static void
check_steps(void)
{
	test_run *run = make_run(2, STEP_BUFFERS, 0);
	tg_channel *channel = run->channel;
	const tg_channel_ops *ops = channel->ops;
	test_content *buffers[STEP_BUFFERS];
	void *taken;
	bool ok = true;

	start_counters();
	ok = tg_ring_channel_take(channel, session, &taken) == TG_BUSY;
	for (unsigned i = 0; i < STEP_BUFFERS; i++)
		ok = ops->acquire(channel, session, &counters[0].task, (void **) &buffers[i]) == TG_OK && ok;
	unit_ok(ok, "all buffers can be acquired");
	unit_ok(ops->acquire(channel, session, &counters[0].task, &taken) == TG_BUSY &&
				ops->acquire(channel, session, &counters[1].task, &taken) == TG_BUSY,
			"then a task has to park");
	unit_ok(!waiter.woken, "a waiting consumer sleeps on while nothing is staged");
	for (unsigned i = 0; i < STEP_BUFFERS; i++)
	{
		buffers[i]->number = i;
		ops->stage(channel, session, buffers[i]);
	}
	unit_ok(wait_for_wake() && waiter.wake_count > 0, "the first one staged wakes it");

	ok = true;
	for (unsigned i = 0; i < STEP_BUFFERS - 1; i++)
		ok = tg_ring_channel_take(channel, session, &taken) == TG_OK && ((test_content *) taken)->number == i && ok;
	unit_ok(ok && !waiter.woken, "it takes them in order and is not woken for them");
	usleep(20000);
	unit_ok(all_ran_once(), "parked tasks stay parked while no buffer comes back");
	tg_ring_channel_give_back(channel, session, buffers[0]);
	usleep(20000);
	unit_ok(all_ran_once(), "one that comes back is not worth an unpark");
	unit_ok(tg_ring_channel_take(channel, session, &taken) == TG_OK && taken == buffers[STEP_BUFFERS - 1],
			"the last one");
	unit_ok(tg_ring_channel_take(channel, session, &taken) == TG_BUSY, "nothing more");
	unit_ok(comes_true(first_was_unparked), "before it sleeps a task is unparked for the one free buffer");
	usleep(20000);
	unit_ok(tg_load_acquire(&counters[1].runs) == 1, "and only one task");

	tg_ring_channel_stop(channel, session);
	unit_ok(comes_true(all_were_unparked), "stop unparks the others");
	usleep(20000);
	unit_ok(all_were_unparked(), "each once");
	unit_ok(ops->acquire(channel, session, &counters[0].task, &taken) == TG_CANCELLED, "and producers get no more");
	ops->finish(channel, session, TG_OK);
	unit_ok(wait_for_wake() && tg_ring_channel_take(channel, session, &taken) == TG_NOT_FOUND, "the end wakes, too");
	unit_ok(run->prepared == STEP_BUFFERS, "each buffer was prepared once");
	tg_ring_channel_close(channel, session);
	unit_ok(end_run(), "step by step: nothing is left");
}

static void
check_status(void)
{
	test_run *run = make_run(2, 6, 0);
	tg_channel *channel = run->channel;
	const tg_channel_ops *ops = channel->ops;
	void *buffer;

	for (unsigned i = 0; i < 2; i++)
	{
		tg_check(ops->acquire(channel, session, NULL, &buffer) == TG_OK);
		ops->stage(channel, session, buffer);
	}
	ops->finish(channel, session, TG_NO_MEMORY);
	unit_ok(tg_ring_channel_take(channel, session, &buffer) == TG_NO_MEMORY, "an error discards what is staged");
	unit_ok(tg_ring_channel_take(channel, session, &buffer) == TG_NO_MEMORY, "and stays");
	unit_ok(run->prepared == 2, "buffers that were not needed were not touched");
	tg_ring_channel_close(channel, session);
	unit_ok(end_run(), "after an error nothing is left");

	run = make_run(2, 6, 0);
	channel = run->channel;
	tg_check(channel->ops->acquire(channel, session, NULL, &buffer) == TG_OK);
	channel->ops->stage(channel, session, buffer);
	tg_ring_channel_stop(channel, session);
	channel->ops->finish(channel, session, TG_OK);
	unit_ok(tg_ring_channel_take(channel, session, &buffer) == TG_OK, "stop leaves what is staged");
	tg_ring_channel_close(channel, session);
	unit_ok(end_run(), "closed with a buffer in hand: nothing is left");
}

static void
check_no_memory(void)
{
	size_t before = job_bytes();
	tg_channel *channel;

	unit_ok(tg_ring_channel_create(session, (size_t) 1 << 24, 1000, 100, &waiter, &channel) == TG_NO_MEMORY &&
				job_bytes() == before,
			"more than there is: TG_NO_MEMORY, nothing kept");
}

int
main(void)
{
	const tg_arena_config arena = {
		.reserve_bytes = (size_t) 256 << 20, .limit_bytes = (size_t) 64 << 20, .session_max = 32};
	const tg_scheduler_config scheduler = {.worker_max = WORKERS};
	const tg_scheduler_settings settings = {
		.workers = WORKERS, .stealing = true, .worker_suspend_ms = 1000, .watcher_interval_us = 1000, .hang_ms = 5000};

	tg_host_wake = wake_waiter;
	tg_check(tg_arena_create(&arena) == TG_OK);
	tg_check(tg_scheduler_create(&scheduler) == TG_OK);
	tg_check(tg_session_open(&session) == TG_OK);
	tg_scheduler_settings_set(&settings);
	tg_check(tg_scheduler_start() == TG_OK);

	check_steps();
	check_status();
	check_no_memory();
	for (unsigned producers = 1; producers <= PRODUCERS_MAX; producers *= 2)
	{
		check_all_taken(producers, producers + 1, 1, 0, true);
		check_all_taken(producers, 2 * producers + 2, 1, 0, false);
		check_all_taken(producers, 2 * producers + 2, 3, 0, true);
		check_all_taken(producers, 2 * producers + 2, 1, 200, true);
		check_early_close(producers);
	}
	check_extreme_close();

	unit_ok(tg_scheduler_stop(10000), "the pool stops");
	tg_session_close(session);
	tg_arena_destroy();
	return unit_done();
}
