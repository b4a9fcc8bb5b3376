/*
 * parts.c
 *	  The operations of a large transaction, written by tasks of the pool, a part of a record each.
 *
 *	session		cuts the log into units .... takes the parts of unit 0, 1, 2 ... in this order
 *	task		takes the next unit -> writes a part -> parks -> writes the next part of it, or unit
 *
 * 1. A unit is a range of the log.  Its part, or parts if it has more bytes, are written by one
 *	  task, so the parts of a transaction come in the order of its writes.
 * 2. A part lies in its task's memory, in the arena.  The part's word says whose it is: the task's
 *	  (EMPTY), which writes it, stores FULL and parks; then the session's, which inserts it, stores
 *	  EMPTY and unparks the task.  Release and acquire of this word order what either does with the
 *	  part, and with the range, before what the other does.
 * 3. Units are dealt out in order, and the one that the session wants next is some task's, or no
 *	  task has parked on a later one: so the session never waits for a task that waits for it.
 *	  There are twice as many tasks as workers: while the parts of some wait, others write.
 * 4. Where a task fails, it hands over what it has of the part, and the session writes the rest of
 *	  the unit: by its own session and memory.  It meets what is wrong by itself, or does better.
 * 5. If the job is cancelled, by a user or as the pool is stopped, the session writes what is left
 *	  of all units.  Tasks may have been given up; so it waits until no task is in a turn, as
 *	  query/query.c, 2, does: a task counts itself in and then looks whether the job is cancelled;
 *	  the session cancels the job and then looks at the count; between the two steps of either
 *	  stands a fence.  A task leaves its turn with its part EMPTY and without a byte, or FULL, so
 *	  nothing that was written is lost: a FULL part comes first, its range goes on behind it.
 * 6. References: the session's, until tg_parts_end, and the job's, until its teardown.
 *
 * What tasks read stays as it is: the log belongs to the transaction, whose session waits; its
 * versions are those of an open transaction, or ones that it has replaced, which nobody moves or
 * frees; and each task reads inside an epoch.
 */
#include "runtime/durable/parts.h"

#include <sched.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/mem/session.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/write_log.h"

#define LEVEL 40		/* work level: many rows */
#define UNIT_ROWS 8192	/* so that a unit is mostly a part, or two */
#define UNITS_LEAST 2	/* that are worth a job */
#define PIECE_ROWS 1024 /* of a piece, on average, at least */
#define TASK_MAX 16

typedef enum part_state
{
	PART_EMPTY, /* the task's */
	PART_FULL	/* the session's */
} part_state;

typedef struct part_task
{
	tg_task task; /* first */
	tg_parts *parts;
	uint32_t state; /* atomic: part_state */
	bool has_unit;	/* as all that follows: of whom the state says */
	bool more;		/* the unit has a rest */
	bool failed;	/* which is the session's, 4 */
	uint64_t unit;
	tg_bytes bytes;
} TG_CACHE_ALIGNED part_task;

struct tg_parts
{
	tg_parts_config config;
	tg_job *job;
	uint64_t next TG_CACHE_ALIGNED; /* atomic: the next unit that no task has */
	uint32_t inside;				/* atomic: so many tasks are in a turn, 5 */
	uint32_t references;			/* atomic, 6 */
	/* the session's */
	uint64_t current TG_CACHE_ALIGNED; /* unit, of which parts are taken */
	part_task *taken;				   /* whose part the session has; NULL: no task's */
	bool is_here;					   /* it writes the rest of the unit, 4 */
	bool is_alone;					   /* and all further ones, 5 */
	tg_bytes own;
	/* constant, but for the ranges, which are of the unit's task or the session's */
	unsigned task_count;
	unsigned spawned_count; /* the first task's */
	part_task tasks[TASK_MAX];
	uint64_t unit_count;
	tg_operations_range units[];
};

/* --- by tasks --------------------------------------------------------------------------------- */

static bool
take_unit(part_task *own)
{
	own->unit = tg_fetch_add_relaxed(&own->parts->next, 1);
	own->has_unit = own->unit < own->parts->unit_count;
	return own->has_unit;
}

static void
write_part(part_task *own, tg_session *session)
{
	tg_parts *parts = own->parts;
	tg_status status;

	own->bytes.session = session;
	tg_epoch_enter(session);
	status = tg_failpoint_refuses("parts_no_memory")
				 ? TG_NO_MEMORY
				 : tg_operations_write_some(&parts->units[own->unit], parts->config.bytes_max, &own->bytes);
	tg_epoch_leave(session);
	own->more = status != TG_OK;
	own->failed = own->more && status != TG_AGAIN;
	own->has_unit = own->more && !own->failed;
}

static tg_turn
run_part(part_task *own, tg_worker *worker)
{
	if (tg_job_is_cancelled(own->task.job))
		return TG_TURN_DONE;
	if (tg_load_acquire(&own->state) == PART_FULL)
		return TG_TURN_PARK;
	if (tg_should_yield(worker))
		return TG_TURN_AGAIN;
	if (!own->has_unit && !take_unit(own))
		return TG_TURN_DONE;
	tg_failpoint("parts_write");
	write_part(own, tg_worker_session(worker));
	tg_store_release(&own->state, PART_FULL);
	tg_host_wake(own->parts->config.waiter);
	return TG_TURN_PARK;
}

/* 5 */
static tg_turn
run_task(tg_task *task, tg_worker *worker)
{
	part_task *own = (part_task *) task;
	tg_parts *parts = own->parts;
	tg_turn turn;

	tg_fetch_add_relaxed(&parts->inside, 1);
	tg_fence_seq_cst();
	turn = run_part(own, worker);
	tg_fetch_add_acq_rel(&parts->inside, (uint32_t) -1);
	return turn;
}

static tg_turn
run_first_task(tg_task *task, tg_worker *worker)
{
	tg_parts *parts = ((part_task *) task)->parts;

	for (; parts->spawned_count < parts->task_count; parts->spawned_count++)
		tg_job_spawn(worker, task->job, &parts->tasks[parts->spawned_count].task);
	return run_task(task, worker);
}

/* --- life ------------------------------------------------------------------------------------- */

static void
release_parts(tg_session *session, tg_parts *parts)
{
	/* acq_rel: all uses by either side come before the free */
	if (tg_fetch_add_acq_rel(&parts->references, (uint32_t) -1) != 1)
		return;
	for (unsigned i = 0; i < parts->task_count; i++)
	{
		parts->tasks[i].bytes.session = session;
		tg_bytes_free(&parts->tasks[i].bytes);
	}
	tg_free(session, parts, TG_USE_JOB);
}

static void
tear_down(tg_job *job, tg_session *session)
{
	release_parts(session, tg_job_argument(job));
}

/* Parked tasks are to see that it is cancelled, and the session goes on alone. */
static void
job_cancelled(tg_job *job, tg_session *session)
{
	tg_parts *parts = tg_job_argument(job);

	for (unsigned i = 0; i < parts->task_count; i++)
		tg_task_unpark(session, &parts->tasks[i].task);
	tg_host_wake(parts->config.waiter);
}

/* The units of a log, oldest piece first; into units unless that is NULL.  Returns their number. */
static uint64_t
cut_log(tg_write_log *log, tg_operations_range *units)
{
	uint64_t count = 0;

	/* Pieces are linked from the newest to the oldest. */
	for (const tg_write_log *piece = log; piece != NULL; piece = piece->below)
	{
		tg_operations_range rest = tg_operations_all(piece);

		count += (rest.left + UNIT_ROWS - 1) / UNIT_ROWS;
	}
	if (units == NULL)
		return count;
	units += count;
	for (const tg_write_log *piece = log; piece != NULL; piece = piece->below)
	{
		tg_operations_range rest = tg_operations_all(piece);

		units -= (rest.left + UNIT_ROWS - 1) / UNIT_ROWS;
		for (uint64_t i = 0; rest.left > 0; i++)
			units[i] = tg_operations_cut(&rest, UNIT_ROWS);
	}
	return count;
}

/* Whether tasks are to write the log, of so many units. */
static bool
is_worth_it(const tg_write_log *log, uint64_t units)
{
	uint64_t pieces = log->number;

	return units >= UNITS_LEAST && pieces * PIECE_ROWS <= units * UNIT_ROWS && tg_scheduler_is_running();
}

static tg_status
start_job(tg_session *session, tg_parts *parts)
{
	const tg_job_config config = {.kind = "log",
								  .owner = parts->config.owner,
								  .level = LEVEL,
								  .pool_only = true,
								  .argument = parts,
								  .teardown = tear_down,
								  .cancelled = job_cancelled,
								  .waiter = parts->config.waiter};
	tg_status status = tg_job_create(session, &config, &parts->job);

	if (status != TG_OK)
		return status;
	for (unsigned i = 0; i < parts->task_count; i++)
	{
		parts->tasks[i].parts = parts;
		tg_task_init(&parts->tasks[i].task, i == 0 ? run_first_task : run_task, parts->job);
	}
	parts->spawned_count = 1;
	parts->references = 2;
	status = tg_job_start(session, parts->job, &parts->tasks[0].task);
	if (status == TG_OK)
		return TG_OK;
	parts->references = 1;
	tg_job_release(session, parts->job);
	return status;
}

tg_status
tg_parts_begin(tg_session *session, tg_write_log *log, const tg_parts_config *config, tg_parts **parts_out)
{
	uint64_t count = cut_log(log, NULL);
	unsigned tasks = 2 * tg_worker_count();
	tg_parts *parts;
	tg_status status;

	if (!is_worth_it(log, count))
		return TG_NOT_FOUND;
	parts = tg_alloc_zeroed(session, sizeof(*parts) + count * sizeof(parts->units[0]), TG_USE_JOB, TG_DATA);
	if (parts == NULL)
		return TG_NO_MEMORY;
	parts->config = *config;
	parts->task_count = tasks < TASK_MAX ? tasks : TASK_MAX;
	if (parts->task_count > count)
		parts->task_count = (unsigned) count;
	parts->unit_count = cut_log(log, parts->units);
	parts->references = 1;
	status = start_job(session, parts);
	if (status != TG_OK)
		release_parts(session, parts);
	else
		*parts_out = parts;
	return status;
}

/* --- the session's side ----------------------------------------------------------------------- */

/* 5 */
static void
wait_for_tasks(const tg_parts *parts)
{
	tg_fence_seq_cst();
	while (tg_load_acquire(&parts->inside) != 0)
		(void) sched_yield();
}

static void
give_back_taken(tg_session *session, tg_parts *parts)
{
	part_task *taken = parts->taken;

	if (taken == NULL)
		return;
	parts->taken = NULL;
	taken->bytes.count = 0;
	tg_store_release(&taken->state, PART_EMPTY);
	tg_task_unpark(session, &taken->task);
}

/* The task that has a part of the current unit for the session; NULL: none has. */
static part_task *
find_full(tg_parts *parts)
{
	for (unsigned i = 0; i < parts->task_count; i++)
	{
		part_task *at = &parts->tasks[i];

		if (tg_load_acquire(&at->state) == PART_FULL && at->unit == parts->current)
			return at;
	}
	return NULL;
}

/* Takes a task's part; *part_out is NULL if it is empty. */
static void
take_part(tg_session *session, tg_parts *parts, part_task *at, const tg_bytes **part_out)
{
	parts->taken = at;
	parts->is_here = at->failed;
	parts->current += !at->more;
	*part_out = at->bytes.count > 0 ? &at->bytes : NULL;
	if (*part_out == NULL)
		give_back_taken(session, parts);
}

/* 4, 5 */
static tg_status
write_here(tg_session *session, tg_parts *parts, const tg_bytes **part_out)
{
	tg_status status;

	parts->own.count = 0;
	tg_epoch_enter(session);
	status = tg_operations_write_some(&parts->units[parts->current], parts->config.bytes_max, &parts->own);
	tg_epoch_leave(session);
	if (status != TG_OK && status != TG_AGAIN)
		return status;
	if (status == TG_OK)
	{
		parts->current++;
		parts->is_here = false;
	}
	*part_out = parts->own.count > 0 ? &parts->own : NULL;
	return TG_OK;
}

/* Whether the session has to write what no task has written. */
static bool
is_alone(tg_parts *parts)
{
	if (!parts->is_alone && tg_job_is_cancelled(parts->job))
	{
		wait_for_tasks(parts);
		parts->is_alone = true;
	}
	return parts->is_alone;
}

tg_status
tg_parts_next(tg_session *session, tg_parts *parts, const tg_bytes **part_out)
{
	tg_status status = TG_OK;

	give_back_taken(session, parts);
	*part_out = NULL;
	while (status == TG_OK && *part_out == NULL)
	{
		bool alone = is_alone(parts); /* before it looks whether a task has a part */
		part_task *at = parts->is_here ? NULL : find_full(parts);

		if (parts->current == parts->unit_count)
			status = TG_NOT_FOUND;
		else if (at != NULL)
			take_part(session, parts, at, part_out);
		else if (alone || parts->is_here)
			status = write_here(session, parts, part_out);
		else
			status = TG_BUSY;
	}
	return status;
}

void
tg_parts_end(tg_session *session, tg_parts *parts)
{
	tg_job_cancel(session, parts->job);
	wait_for_tasks(parts);
	tg_job_release(session, parts->job);
	tg_bytes_free(&parts->own);
	release_parts(session, parts);
}
