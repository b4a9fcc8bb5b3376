/*
 * pool.h
 *	  For the tests of runtime/sched: an arena, a pool in it, and waiting.
 */
#ifndef TG_UNIT_POOL_H
#define TG_UNIT_POOL_H

#include <sched.h>
#include <unistd.h>

#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/job.h"
#include "runtime/sched/park.h"
#include "runtime/sched/scheduler.h"
#include "runtime/sched/worker.h"
#include "test/unit/unit.h"

/* an event must come within this, on a slow machine with sanitizers */
#define SOON_US 30000000
#define NEVER_US 90000000	  /* of the watcher's tick */
#define SUSPEND_LONG_MS 90000 /* a lost wake-up shows, as it costs this long */

static tg_session *self; /* the main thread's */

static inline void
server_start(void)
{
	tg_arena_config arena = {.reserve_bytes = (size_t) 1 << 30, .limit_bytes = (size_t) 256 << 20, .session_max = 64};
	tg_scheduler_config config = {.worker_max = 8};

	if (tg_arena_create(&arena) != TG_OK || tg_scheduler_create(&config) != TG_OK || tg_session_open(&self) != TG_OK)
		abort();
}

static inline void
server_end(void)
{
	tg_session_close(self);
	tg_arena_destroy();
}

static inline tg_session *
session_open(void)
{
	tg_session *session;

	if (tg_session_open(&session) != TG_OK)
		abort();
	return session;
}

static inline void
settings_set(unsigned workers, unsigned suspend_ms, unsigned hang_ms)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	settings.worker_suspend_ms = suspend_ms;
	settings.hang_ms = hang_ms;
	tg_scheduler_settings_set(&settings);
}

static inline void
pool_start(unsigned workers)
{
	settings_set(workers, SUSPEND_LONG_MS, SOON_US / 1000);
	if (tg_scheduler_start() != TG_OK)
		abort();
}

/* Without ticks of the watcher, which would do what is to be shown. */
static inline tg_scheduler_settings
settings_quiet(unsigned workers)
{
	tg_scheduler_settings settings = tg_scheduler_settings_default(workers);

	settings.worker_suspend_ms = SUSPEND_LONG_MS;
	settings.hang_ms = SOON_US / 1000;
	settings.watcher_interval_us = NEVER_US;
	return settings;
}

static inline void
pool_start_as(const tg_scheduler_settings *settings)
{
	tg_scheduler_settings_set(settings);
	if (tg_scheduler_start() != TG_OK)
		abort();
}

static inline void
pool_start_quiet(unsigned workers)
{
	tg_scheduler_settings settings = settings_quiet(workers);

	pool_start_as(&settings);
}

static inline bool
pool_stop(void)
{
	return tg_scheduler_stop(SOON_US / 1000);
}

/* Zeroed memory of the arena. */
static inline void *
take_zeroed(tg_session *session, size_t bytes)
{
	void *memory = tg_alloc_zeroed(session, bytes, TG_USE_JOB, TG_DATA);

	if (!memory)
		abort();
	return memory;
}

/* Waits until the word has this value. */
static inline bool
comes_true(const uint32_t *word, uint32_t value)
{
	uint64_t end = tg_clock_us() + SOON_US;
	unsigned rounds = 0;

	while (tg_load_acquire(word) != value)
	{
		if (tg_clock_us() > end)
			return false;
		if (++rounds > 100)
			sched_yield();
	}
	return true;
}

/* Waits until the job is DONE. */
static inline bool
job_is_done_soon(const tg_job *job)
{
	uint64_t end = tg_clock_us() + SOON_US;

	while (tg_job_state_get(job) != TG_JOB_DONE)
	{
		if (tg_clock_us() > end)
			return false;
		sched_yield();
	}
	return true;
}

/* Waits until all workers are suspended, and none of them is on its way up. */
static inline bool
pool_sleeps_soon(void)
{
	uint64_t end = tg_clock_us() + SOON_US;

	for (unsigned i = 0; i < tg_worker_count();)
	{
		const tg_worker *worker = &tg_scheduler_shared->workers[i];

		if (tg_load_relaxed(&worker->state) == TG_WORKER_SUSPENDED && tg_load_relaxed(&worker->park) == TG_PARK_PARKED)
			i++;
		else if (tg_clock_us() > end)
			return false;
		else
			usleep(50);
	}
	return true;
}

/* --- a task that counts ------------------------------------------------------- */

typedef struct counting
{
	tg_task task;
	uint32_t runs;
	uint32_t *total; /* of several such tasks */
} counting;

static inline tg_turn
run_counting(tg_task *task, tg_worker *worker)
{
	counting *counting = (struct counting *) task;

	tg_fetch_add_relaxed(&counting->runs, 1);
	tg_fetch_add_acq_rel(counting->total, 1);
	return TG_TURN_DONE;
}

static inline void
counting_init(counting *counting, uint32_t *total)
{
	counting->runs = 0;
	counting->total = total;
	tg_task_init(&counting->task, run_counting, NULL);
}

#endif /* TG_UNIT_POOL_H */
