/*
 * load_spread.c
 *	  Pieces of a load's work, spread over the threads of the pool.
 *
 * Each task takes the next piece that nobody has, and goes on with it until it is done.  The pieces
 * touch different rows, or only read; so nothing but the number of the next piece is shared.  The
 * job's end orders all that they have done before what the caller does next.
 *
 * A user may cancel the job, as any other.  A load is nobody's statement, and without a piece it
 * would lack rows; so that changes nothing, and the load has a word of its own for its end.
 */
#include "runtime/durable/load_spread.h"

#include "runtime/base/atomic.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"

#define LOAD_LEVEL 40 /* work level: many rows */
#define TASK_MAX 64

typedef struct spread spread;

typedef struct spread_task
{
	tg_task task; /* first */
	spread *spread;
	size_t piece;
	bool has_piece;
	void *state;
} spread_task;

struct spread
{
	const tg_load_work *work;
	uint64_t next; /* atomic: the next piece that nobody has */
	bool stops;	   /* atomic: the pieces are not to be gone on with */
	unsigned task_count;
	unsigned spawned_count; /* the first task's */
	spread_task tasks[TASK_MAX];
};

/* --- by tasks --------------------------------------------------------------------------------- */

static void
drop_piece(spread_task *own, tg_session *session)
{
	if (own->state != NULL)
		own->spread->work->drop(own->spread->work->context, session, own->state);
	own->state = NULL;
	own->has_piece = false;
}

/* Takes the next piece; false: there is none. */
static bool
take_piece(spread_task *own)
{
	uint64_t piece = tg_fetch_add_relaxed(&own->spread->next, 1);

	own->piece = (size_t) piece;
	own->has_piece = piece < own->spread->work->count;
	return own->has_piece;
}

static tg_turn
run_task(tg_task *task, tg_worker *worker)
{
	spread_task *own = (spread_task *) task;
	const tg_load_work *work = own->spread->work;

	for (;;)
	{
		tg_status status;

		if (tg_load_relaxed(&own->spread->stops) || tg_job_status(task->job) != TG_OK)
		{
			drop_piece(own, tg_worker_session(worker));
			return TG_TURN_DONE;
		}
		if (tg_should_yield(worker))
			return TG_TURN_AGAIN;
		if (!own->has_piece && !take_piece(own))
			return TG_TURN_DONE;
		status = work->step(work->context, own->piece, tg_worker_session(worker), &own->state);
		if (status == TG_AGAIN)
			continue;
		if (status != TG_OK)
			tg_job_fail(task->job, status);
		else
			tg_job_progress(task->job, 1, 0);
		drop_piece(own, tg_worker_session(worker));
	}
}

static tg_turn
run_first_task(tg_task *task, tg_worker *worker)
{
	spread *spread = ((spread_task *) task)->spread;

	for (; spread->spawned_count < spread->task_count; spread->spawned_count++)
		tg_job_spawn(worker, task->job, &spread->tasks[spread->spawned_count].task);
	return run_task(task, worker);
}

/* Starts the job.  NULL: there is no pool, or no room. */
static tg_job *
start_job(tg_session *session, const tg_load_config *config, spread *spread)
{
	const tg_job_config job_config = {
		.kind = "load", .level = LOAD_LEVEL, .pool_only = true, .argument = spread, .waiter = config->waiter};
	tg_job *job;

	if (tg_job_create(session, &job_config, &job) != TG_OK)
		return NULL;
	for (unsigned i = 0; i < spread->task_count; i++)
	{
		spread->tasks[i].spread = spread;
		tg_task_init(&spread->tasks[i].task, i == 0 ? run_first_task : run_task, job);
	}
	spread->spawned_count = 1;
	tg_job_expect(job, spread->work->count);
	if (tg_job_start(session, job, &spread->tasks[0].task) == TG_OK)
		return job;
	tg_job_release(session, job);
	return NULL;
}

static tg_status
wait_for(tg_session *session, const tg_load_config *config, spread *spread, tg_job *job)
{
	tg_status status;

	while (tg_job_state_get(job) != TG_JOB_DONE)
		if (!config->go_on(config->context, true))
			tg_store_relaxed(&spread->stops, true);
	status = tg_job_status(job);
	tg_job_release(session, job);
	return status == TG_OK && spread->stops ? TG_CANCELLED : status;
}

/* --- alone ------------------------------------------------------------------------------------ */

static tg_status
do_piece(tg_session *session, const tg_load_config *config, const tg_load_work *work, size_t piece)
{
	void *state = NULL;
	tg_status status;

	do
	{
		status =
			config->go_on(config->context, false) ? work->step(work->context, piece, session, &state) : TG_CANCELLED;
	} while (status == TG_AGAIN);
	if (state != NULL)
		work->drop(work->context, session, state);
	return status;
}

static tg_status
do_alone(tg_session *session, const tg_load_config *config, const tg_load_work *work)
{
	tg_status status = TG_OK;

	for (size_t piece = 0; piece < work->count && status == TG_OK; piece++)
		status = do_piece(session, config, work, piece);
	return status;
}

tg_status
tg_load_spread(tg_session *session, const tg_load_config *config, const tg_load_work *work)
{
	unsigned tasks = tg_scheduler_is_running() ? tg_worker_count() : 0;
	spread *spread = NULL;
	tg_job *job = NULL;
	tg_status status;

	if (tasks > TASK_MAX)
		tasks = TASK_MAX;
	if (tasks > work->count)
		tasks = (unsigned) work->count;
	if (tasks > 1)
		spread = tg_alloc_zeroed(session, sizeof(*spread), TG_USE_JOB, TG_ESSENTIAL);
	if (spread != NULL)
	{
		spread->work = work;
		spread->task_count = tasks;
		job = start_job(session, config, spread);
	}
	status = job != NULL ? wait_for(session, config, spread, job) : do_alone(session, config, work);
	if (spread != NULL)
		tg_free(session, spread, TG_USE_JOB);
	return status;
}
