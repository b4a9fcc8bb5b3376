/*
 * base_job.c
 *	  The steps of a base, done by a task of the pool.
 *
 * A stint is a job of one task, and there is one at a time: so steps never meet, and the job's end
 * orders what a task has done before what the next one, or the owner, does.  Between steps the task
 * gives way to others that wait.  Whatever a base holds from one step to the next (a reference of a
 * table, a file) belongs to no session.
 *
 * Where there is no CPU to spare, a base takes it from sessions.  The thread of a stint then loses
 * its CPU to others, too, again and again.  After such a stint the base rests, until what the stint
 * has used is one SHAREth of the time of all CPUs since it began.  So bases that follow each other
 * take no more than that (beside what the kernel does to write their pages), and the time that a
 * base takes is bounded by what it uses.  It does not rest where nobody else wants the CPUs, nor on
 * SHARE CPUs, of which a stint uses one, nor while its owner hurries.  While it rests, it has no
 * task in the pool.
 *
 * Left out: several parts at once.  One thread writes parts faster than most disks take them, and
 * beside clients a second one would take what they need.
 */
#include "runtime/durable/base_job.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/atomic.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/sched/job.h"
#include "runtime/sched/park.h"
#include "runtime/sched/scheduler.h"

#define BASE_LEVEL 40 /* work level: many rows */
#define STINT_US 50000
#define SHARE 16 /* a base takes one part in so many of the CPUs' time */
#define DAY_MS UINT64_C(86400000)
#define SPARE_CPU_US 10000 /* used from one loss of the CPU to the next: there is some to spare */

struct tg_base_job
{
	tg_task task; /* first */
	tg_base *base;
	void *waiter;
	tg_job *job; /* the stint; NULL: there is none */
	uint64_t bytes_end;
	uint64_t begun_us;
	uint64_t rests_until_us;
	unsigned cpus;
	bool is_at_it; /* atomic: a thread of the pool is in a turn */
	/* the task's, until its job has ended */
	tg_status status;
	tg_file_error error;
	tg_stint_cost cost;
};

tg_status
tg_base_job_create(tg_base *base, tg_session *session, void *waiter, tg_base_job **job_out)
{
	tg_base_job *own = tg_alloc_zeroed(session, sizeof(*own), TG_USE_JOB, TG_ESSENTIAL);
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (own == NULL)
		return TG_NO_MEMORY;
	own->base = base;
	own->waiter = waiter;
	own->cpus = online > 1 ? (unsigned) online : 1;
	*job_out = own;
	return TG_OK;
}

/* --- a stint ---------------------------------------------------------------------------------- */

/* Whether the stint is over; a status other than TG_AGAIN ends it, too. */
static bool
is_over(const tg_base_job *own)
{
	return own->status != TG_AGAIN || tg_job_is_cancelled(own->job) || tg_base_bytes(own->base) >= own->bytes_end ||
		   tg_clock_us() - own->begun_us >= STINT_US;
}

/* What the calling thread has used so far; its losses in its whole life. */
static tg_stint_cost
read_cost(void)
{
	static uint64_t days;
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	if (tg_failpoint_refuses("base_loses_cpu")) /* in each millisecond of a day */
	{
		uint64_t cpu_ms = tg_fetch_add_relaxed(&days, 1) * DAY_MS;

		return (tg_stint_cost){.cpu_us = cpu_ms * 1000, .losses = cpu_ms};
	}
	return (tg_stint_cost){.cpu_us = tg_thread_us(), .losses = (uint64_t) usage.ru_nivcsw};
}

/* A turn's part, by the thread that has had it. */
static void
add_cost(tg_base_job *own, tg_stint_cost before)
{
	tg_stint_cost after = read_cost();

	own->cost.cpu_us += after.cpu_us - before.cpu_us;
	own->cost.losses += after.losses - before.losses;
}

static tg_turn
run_task(tg_task *task, tg_worker *worker)
{
	tg_base_job *own = (tg_base_job *) task;
	bool gives_way = false;
	tg_stint_cost before = read_cost();

	tg_store_release(&own->is_at_it, true);
	if (!tg_job_is_cancelled(own->job))
	{
		do
			own->status = tg_base_step(own->base, tg_worker_session(worker), &own->error);
		while (!is_over(own) && !(gives_way = tg_should_yield(worker)));
	}
	add_cost(own, before);
	tg_store_release(&own->is_at_it, false); /* pairs with the acquire in wait_for_task */
	return gives_way ? TG_TURN_AGAIN : TG_TURN_DONE;
}

/* False: the pool does not run, or there is no room. */
static bool
start_stint(tg_base_job *own, tg_session *session, uint64_t bytes_max)
{
	const tg_job_config config = {
		.kind = "base", .level = BASE_LEVEL, .pool_only = true, .argument = own, .waiter = own->waiter};
	uint64_t bytes = tg_base_bytes(own->base);

	if (!tg_scheduler_is_running() || tg_job_create(session, &config, &own->job) != TG_OK)
		return false;
	own->bytes_end = bytes_max < UINT64_MAX - bytes ? bytes + bytes_max : UINT64_MAX;
	own->begun_us = tg_clock_us();
	own->status = TG_AGAIN;
	own->cost = (tg_stint_cost){0};
	tg_task_init(&own->task, run_task, own->job);
	if (tg_job_start(session, own->job, &own->task) == TG_OK)
		return true;
	tg_job_release(session, own->job);
	own->job = NULL;
	return false;
}

uint64_t
tg_stint_end_us(const tg_stint_cost *cost, unsigned cpus)
{
	if (cost->losses == 0 || cost->cpu_us / cost->losses > SPARE_CPU_US)
		return 0;
	return cost->cpu_us * SHARE / cpus;
}

tg_status
tg_base_job_step(tg_base_job *own, tg_session *session, uint64_t bytes_max, bool hurries, tg_file_error *error_out)
{
	tg_status status;

	if (own->job == NULL && !hurries && tg_clock_us() < own->rests_until_us)
	{
		tg_failpoint("base_rests");
		return TG_BUSY;
	}
	if (own->job == NULL)
		return start_stint(own, session, bytes_max) ? TG_BUSY : tg_base_step(own->base, session, error_out);
	if (tg_job_state_get(own->job) != TG_JOB_DONE)
		return TG_BUSY;
	status = own->status;
	*error_out = own->error;
	own->rests_until_us = own->begun_us + tg_stint_end_us(&own->cost, own->cpus);
	tg_job_release(session, own->job);
	own->job = NULL;
	return status;
}

/* --- the end ---------------------------------------------------------------------------------- */

/* False: the pool was stopped, and has given up the task: no thread comes to it any more. */
static bool
wait_for_task(const tg_base_job *own)
{
	struct timespec pause = {.tv_nsec = 1000000};

	while (tg_job_state_get(own->job) != TG_JOB_DONE)
	{
		if (!tg_scheduler_is_running() && !tg_load_acquire(&own->is_at_it))
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

void
tg_base_job_end(tg_base_job *own, tg_session *session)
{
	if (own->job != NULL)
	{
		tg_job_cancel(session, own->job);
		if (!wait_for_task(own))
			return; /* the pool's queues may still lead to it; the process ends */
		tg_job_release(session, own->job);
	}
	tg_free(session, own, TG_USE_JOB);
}
