/*
 * query.c
 *	  The life of a query's job: its phases, one after the other, and its result.
 *
 *		fill step 0 -> link -> fill step 1 -> link -> ... -> fill the last -> split -> merge
 *
 * A build is linked, groups are merged; a step that marks has no further phase, nor has a sort,
 * whose runs the requester merges (sort.c).  A step with right or full joins is filled several
 * times: by its source, then by what such a join leaves of its build, one join after the other.
 *
 * A phase is run by tasks, which take its morsels by a shared counter: a chunk, a range of an
 * index, a block of rows, a task's groups, a partition of groups.  All tasks take part in each
 * phase.  Steps therefore follow one another, though some could run side by side: all workers are
 * busy as it is, and the memory of one step is in use at a time.
 *
 * 1. A task that finds no morsel counts itself out.  The last one is alone: it begins the next
 *    phase, or lets the job end.  It sets the phase's fields and submits the other tasks, so what
 *    it writes is seen by them; and what the others have written before they counted themselves out
 *    (acq_rel) is seen by it.
 * 2. A phase has task structures of its own: those of the one before may still be on their way out.
 * 3. A task fails the job; others see that between morsels and count themselves out.  The last one
 *    then begins no phase.
 * 4. References: the requester's, until tg_query_end, and the job's, until its teardown.  The last
 *    one frees all memory.  The job has an entry of the horizon and references on the tables of its
 *    own.
 * 5. The query may read what the requester's own transaction has written, or write for it.  So the
 *    requester waits, when it ends the query early, until the job has ended: a task is inside a
 *    batch at most.  A job whose tasks were given up by a pool that was stopped does not end; then
 *    the requester waits until no task is in a turn.  A task counts itself in and then looks
 *    whether the job is cancelled; the requester cancels the job and then looks at the count;
 *    between the two steps of either stands a fence.  So a task that the requester has not seen
 *    finds the job cancelled, and touches no table.
 */
#include "runtime/query/query.h"

#include <sched.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/table/table.h"
#include "runtime/query/query_internal.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/sched/serial.h"
#include "runtime/sched/park.h"

#define LEVEL_SHORT 30 /* work levels: few rows, in place; */
#define LEVEL_GROUP 60
#define ROWS_SHORT 10000
#define MERGED_ALONE 2048	 /* so many groups are merged by one task */
#define WAIT_MAX_US 60000000 /* for tasks of a job that is cancelled; each looks once a batch */
#define TRIES_MAX 10000		 /* of a chunk whose rows are not decided */

typedef struct phase_task
{
	tg_task task; /* first */
	tg_query_task *self;
} TG_CACHE_ALIGNED phase_task;

#define TASKS_BYTES(count) ((count) * sizeof(phase_task))

static void
release_query(tg_session *session, tg_query *query)
{
	/* acq_rel: all uses by either side come before the free */
	if (tg_fetch_add_acq_rel(&query->references, (uint32_t) -1) != 1)
		return;
	tg_query_memory_free(session, query);
	tg_free(session, query, TG_USE_JOB);
}

/* --- phases ----------------------------------------------------------------------------------- */

static bool
is_to_stop(const tg_query *query)
{
	return tg_job_is_cancelled(query->job) || tg_job_status(query->job) != TG_OK;
}

static uint32_t
count_morsels(tg_query *query)
{
	switch (query->phase)
	{
		case TG_QUERY_FILL:
			return tg_step_morsels(query);
		case TG_QUERY_LINK:
			return query->tables[query->step].block_count;
		case TG_QUERY_SPLIT:
			return query->task_most;
		default:
			return TG_PARTITIONS;
	}
}

static tg_turn run_task(tg_task *task, tg_worker *worker);

static const tg_sink *
present_sink(const tg_query *query)
{
	return &query->plan->steps[query->step].sink;
}

static unsigned
choose_task_count(const tg_query *query, uint32_t morsels)
{
	if (morsels == 0)
		return 1;
	return query->task_limit > morsels ? morsels : query->task_limit;
}

/* How often the step is filled. */
static unsigned
count_fills(const tg_query *query)
{
	unsigned count = 1;

	for (unsigned i = 0; (i = tg_step_next_rest(query, i)) < query->plan->steps[query->step].operator_count; i++)
		count++;
	return count;
}

/*
 * The memory of a step that hands rows out is taken before the first of its tasks runs (deliver.c,
 * 1); in others each task, and each phase, takes its own.
 */
static bool
prepare_streams(tg_session *session, tg_query *query)
{
	unsigned fills = count_fills(query);
	unsigned count = fills > 1 ? query->task_limit : choose_task_count(query, tg_step_morsels(query));

	query->reserved = NULL;
	if (!present_sink(query)->streams)
		return true;
	query->reserved = tg_query_take(session, query, TASKS_BYTES(query->task_limit) * fills);
	for (unsigned i = 0; i < count && query->reserved != NULL; i++)
		if (tg_step_prepare(&query->tasks[i], session) != TG_OK)
			return false;
	return query->reserved != NULL;
}

static phase_task *
take_phase_tasks(tg_session *session, tg_query *query)
{
	phase_task *tasks = query->reserved;

	if (tasks == NULL)
		return tg_query_take(session, query, TASKS_BYTES(query->task_count));
	query->reserved += query->task_limit;
	return tasks;
}

/* Sets the phase, makes its tasks; the first of them is the caller's to start. */
static phase_task *
make_phase(tg_session *session, tg_query *query, tg_query_phase phase)
{
	phase_task *tasks;

	query->phase = phase;
	query->morsel_count = count_morsels(query);
	query->task_count = choose_task_count(query, query->morsel_count);
	if (phase == TG_QUERY_FILL && query->task_most < query->task_count)
		query->task_most = query->task_count;
	tasks = take_phase_tasks(session, query);
	if (tasks == NULL)
		return NULL;
	for (unsigned i = 0; i < query->task_count; i++)
	{
		query->tasks[i].morsel = UINT32_MAX;
		tasks[i].self = &query->tasks[i];
		tg_task_init(&tasks[i].task, run_task, query->job);
	}
	tg_store_relaxed(&query->next_morsel, 0);
	tg_store_relaxed(&query->open_tasks, query->task_count);
	return tasks;
}

/* The caller is the phase's first task, or goes on as one. */
static tg_turn
begin_phase(tg_query *query, tg_worker *worker, tg_query_phase phase)
{
	phase_task *tasks = make_phase(tg_worker_session(worker), query, phase);
	unsigned count = query->task_count;

	if (tasks == NULL)
	{
		tg_job_fail(query->job, TG_NO_MEMORY);
		return TG_TURN_DONE;
	}
	/* from the last one: with the first one's submission the phase, and the job, may end */
	for (unsigned i = count; i > 0; i--)
		tg_job_spawn(worker, query->job, &tasks[i - 1].task);
	return TG_TURN_DONE;
}

static tg_turn
fail(tg_query *query, tg_status status)
{
	tg_job_fail(query->job, status);
	return TG_TURN_DONE;
}

static tg_turn
begin_step(tg_query *query, tg_worker *worker, unsigned step)
{
	query->step = step;
	tg_job_step(query->job, step + 1, query->plan->step_count);
	query->rest = 0;
	query->task_most = 0;
	query->phase_started_us = tg_clock_us();
	if (!prepare_streams(tg_worker_session(worker), query))
		return fail(query, TG_NO_MEMORY);
	return begin_phase(query, worker, TG_QUERY_FILL);
}

/* The figures of a step that has been filled. */
static void
report_step(tg_query *query)
{
	tg_step_report *report = &query->reports[query->step];

	for (unsigned i = 0; i < query->task_most; i++)
	{
		report->rows_in += query->tasks[i].rows_in;
		report->rows_out += query->tasks[i].rows_out;
	}
	if (present_sink(query)->kind == TG_DELIVER || present_sink(query)->kind == TG_STORE)
		report->rows_kept = report->rows_out;
	report->elapsed_us = tg_clock_us() - query->phase_started_us;
}

/* The groups are merged. */
static tg_turn
finish_group(tg_query *query, tg_worker *worker)
{
	tg_status status;

	if (query->step + 1 == query->plan->step_count)
		return TG_TURN_DONE;
	status = tg_group_keep(tg_worker_session(worker), query);
	return status == TG_OK ? begin_step(query, worker, query->step + 1) : fail(query, status);
}

/* All rows are in groups. */
static tg_turn
end_group(tg_query *query, tg_worker *worker)
{
	uint64_t count = 0;
	tg_status status = TG_OK;

	for (unsigned i = 0; i < query->task_most; i++)
		count += query->tasks[i].groups.count;
	if (query->task_most == 1)
	{
		query->results[0] = query->tasks[0].groups.first;
		query->reports[query->step].rows_kept = count;
		return finish_group(query, worker);
	}
	if (count > MERGED_ALONE)
		return begin_phase(query, worker, TG_QUERY_SPLIT);
	for (unsigned i = 0; i < query->task_most; i++)
		tg_group_split(&query->tasks[i]);
	for (unsigned i = 0; i < TG_PARTITIONS && status == TG_OK; i++)
		status = tg_group_merge(query, tg_worker_session(worker), i);
	return status == TG_OK ? finish_group(query, worker) : fail(query, status);
}

static tg_turn
end_build(tg_query *query, tg_worker *worker)
{
	tg_status status = tg_build_finish(tg_worker_session(worker), query);

	if (status != TG_OK)
		return fail(query, status);
	query->reports[query->step].rows_kept = query->tables[query->step].row_count;
	return begin_phase(query, worker, TG_QUERY_LINK);
}

static tg_turn
end_sort(tg_query *query, tg_worker *worker)
{
	tg_status status = tg_sort_finish(tg_worker_session(worker), query);

	return status == TG_OK ? TG_TURN_DONE : fail(query, status);
}

/* The next rows that the step is filled by; false: there are no more. */
static bool
go_to_rest(tg_query *query)
{
	unsigned next = tg_step_next_rest(query, query->rest);

	if (next == query->plan->steps[query->step].operator_count)
		return false;
	query->rest = next + 1;
	return true;
}

/* What a step's sink does when all rows are there. */
static tg_turn
end_fill(tg_query *query, tg_worker *worker)
{
	switch ((tg_sink_kind) present_sink(query)->kind)
	{
		case TG_BUILD:
			return end_build(query, worker);
		case TG_GROUP:
			return end_group(query, worker);
		case TG_DELIVER:
		case TG_STORE:
			return TG_TURN_DONE;
		case TG_SORT:
			return end_sort(query, worker);
		default:
			return begin_step(query, worker, query->step + 1);
	}
}

/* By the last task of a phase (1). */
static tg_turn
end_phase(tg_query *query, tg_worker *worker)
{
	if (query->phase == TG_QUERY_FILL && !is_to_stop(query) && go_to_rest(query))
		return begin_phase(query, worker, TG_QUERY_FILL);
	if (query->phase == TG_QUERY_FILL)
		report_step(query);
	if (is_to_stop(query))
		return TG_TURN_DONE;
	switch (query->phase)
	{
		case TG_QUERY_FILL:
			return end_fill(query, worker);
		case TG_QUERY_LINK:
			return begin_step(query, worker, query->step + 1);
		case TG_QUERY_SPLIT:
			return begin_phase(query, worker, TG_QUERY_MERGE);
		default:
			return finish_group(query, worker);
	}
}

/* --- tasks ---------------------------------------------------------------------------------- */

static bool
take_morsel(tg_query_task *self)
{
	tg_query *query = self->query;
	uint32_t morsel;

	if (self->morsel != UINT32_MAX)
		return true;
	/* decides which task does it, publishes nothing */
	morsel = tg_fetch_add_relaxed(&query->next_morsel, 1);
	if (morsel >= query->morsel_count)
		return false;
	self->morsel = morsel;
	return true;
}

static tg_status
do_morsel(tg_query_task *self, tg_session *session)
{
	switch (self->query->phase)
	{
		case TG_QUERY_FILL:
			return tg_step_take(self, session, self->morsel);
		case TG_QUERY_LINK:
			tg_build_link(self->query, self->morsel);
			return TG_OK;
		case TG_QUERY_SPLIT:
			tg_group_split(&self->query->tasks[self->morsel]);
			return TG_OK;
		default:
			return tg_group_merge(self->query, session, self->morsel);
	}
}

/* The task has no more to do in this phase. */
static tg_turn
leave_phase(tg_query_task *self, tg_worker *worker)
{
	tg_query *query = self->query;
	bool well = !is_to_stop(query);
	tg_status status;

	if (query->phase == TG_QUERY_FILL && present_sink(query)->kind == TG_GROUP && well)
		tg_group_end(self);
	if (query->phase == TG_QUERY_FILL && present_sink(query)->kind == TG_DELIVER)
		tg_deliver_end(self, tg_worker_session(worker), well);
	if (query->phase == TG_QUERY_FILL && present_sink(query)->kind == TG_SORT && well &&
		(status = tg_sort_end(self, tg_worker_session(worker))) != TG_OK)
		tg_job_fail(query->job, status);
	if (tg_fetch_add_acq_rel(&query->open_tasks, (uint32_t) -1) == 1)
		return end_phase(query, worker);
	return TG_TURN_DONE;
}

/*
 * Which rows a chunk or a range has is not decided: a transaction's commit has not ended yet (V1).
 * A task does not wait, it comes again; if that takes long, the host reads the table, and waits, in
 * its own way, unless it may have got rows already.
 */
static bool
may_try_again(tg_query_task *self)
{
	(void) sched_yield();
	return ++self->tries < TRIES_MAX || present_sink(self->query)->streams;
}

static tg_turn
run_turn(tg_task *task, tg_worker *worker)
{
	tg_query_task *self = ((phase_task *) task)->self;
	tg_query *query = self->query;
	tg_session *session = tg_worker_session(worker);
	tg_status status = TG_OK;

	self->turn = task;
	if (query->phase == TG_QUERY_FILL && self->prepared_for != query->step + 1 && !is_to_stop(query))
		status = tg_step_prepare(self, session);
	while (status == TG_OK && !is_to_stop(query) && take_morsel(self))
	{
		if (tg_should_yield(worker))
			return TG_TURN_AGAIN;
		status = do_morsel(self, session);
		if (tg_unlikely(status == TG_BUSY))
		{
			if (self->evaluated_count > 0)
				return TG_TURN_PARK;
			if (may_try_again(self))
				return TG_TURN_AGAIN;
			status = TG_UNFIT;
		}
		if (!self->in_morsel)
			self->morsel = UINT32_MAX;
		self->tries = 0;
	}
	if (status != TG_OK && status != TG_CANCELLED)
		tg_job_fail(query->job, status);
	return leave_phase(self, worker);
}

/* The query stays until the job's task has ended, which is later. */
static tg_turn
run_task(tg_task *task, tg_worker *worker)
{
	tg_query *query = ((phase_task *) task)->self->query;
	bool stores = present_sink(query)->kind == TG_STORE;
	tg_turn turn;

	tg_fetch_add_relaxed(&query->inside, 1);
	tg_fence_seq_cst(); /* 5 */
	turn = run_turn(task, worker);
	if (stores)
		tg_store_pause(query, tg_worker_session(worker));
	/* Release pairs with the acquire of wait_outside. */
	(void) tg_fetch_add_acq_rel(&query->inside, (uint32_t) -1);
	return turn;
}

/* --- life ----------------------------------------------------------------------------------- */

static void
retain_tables(const tg_plan *plan)
{
	for (unsigned i = 0; i < plan->step_count; i++)
	{
		for (unsigned j = 0; j < plan->steps[i].table_count; j++)
			tg_table_retain(plan->steps[i].tables[j].table);
		if (plan->steps[i].sink.kind == TG_STORE)
			tg_table_retain(plan->steps[i].sink.store->table);
	}
}

static void
release_tables(tg_session *session, const tg_plan *plan)
{
	for (unsigned i = 0; i < plan->step_count; i++)
	{
		for (unsigned j = 0; j < plan->steps[i].table_count; j++)
			tg_table_release(session, plan->steps[i].tables[j].table);
		if (plan->steps[i].sink.kind == TG_STORE)
			tg_table_release(session, plan->steps[i].sink.store->table);
	}
}

static void
stop_delivery(tg_job *job, tg_session *session)
{
	tg_delivery_stop(tg_job_argument(job), session);
}

static void
tear_down(tg_job *job, tg_session *session)
{
	tg_query *query = tg_job_argument(job);
	tg_status status = tg_job_status(job);

	tg_delivery_finish(query, session, status == TG_OK && tg_job_is_cancelled(job) ? TG_CANCELLED : status);
	tg_snapshot_withdraw_job(query->horizon_entry);
	release_tables(session, query->plan);
	release_query(session, query);
}

static bool
copy_exclusions(tg_session *session, tg_query *query, const tg_exclusions *excluded)
{
	size_t bytes;
	tg_exclusions *copy;

	if (excluded == NULL)
		return true;
	bytes = sizeof(*excluded) + excluded->count * sizeof(excluded->time[0]);
	if ((copy = tg_query_take(session, query, bytes)) == NULL)
		return false;
	memcpy(copy, excluded, bytes);
	query->snapshot.excluded = copy;
	return true;
}

static uint8_t
level_of(const tg_query_config *config)
{
	return config->rows < ROWS_SHORT && !config->pool_only ? LEVEL_SHORT : LEVEL_GROUP;
}

tg_status
tg_query_create(tg_session *session, const tg_query_config *config, tg_query **query_out)
{
	tg_query *query = tg_alloc_zeroed(session, sizeof(*query), TG_USE_JOB, TG_DATA);
	const tg_job_config job = {.kind = "query",
							   .owner = config->owner,
							   .object = config->object,
							   .level = level_of(config),
							   .argument = query,
							   .pool_only = config->pool_only,
							   .memory_max = config->memory_max,
							   .teardown = tear_down,
							   .cancelled = stop_delivery,
							   .waiter = config->waiter};
	tg_status status;

	if (query == NULL)
		return TG_NO_MEMORY;
	query->config = *config;
	query->snapshot = config->snapshot;
	if (config->writer != NULL)
		query->writer = *config->writer;
	query->references = 1;
	status = tg_job_create(session, &job, &query->job);
	if (status == TG_OK && !copy_exclusions(session, query, config->snapshot.excluded))
		status = TG_NO_MEMORY;
	if (status != TG_OK)
	{
		if (query->job != NULL)
			tg_job_release(session, query->job);
		release_query(session, query);
		return status;
	}
	*query_out = query;
	return TG_OK;
}

static unsigned
choose_task_limit(const tg_query *query)
{
	unsigned limit = query->config.tasks != 0 ? query->config.tasks : tg_worker_count();

	if (query->config.rows < ROWS_SHORT && (tg_serial_takes_level(LEVEL_SHORT) || query->config.pool_only))
		return 1;
	return limit == 0 ? 1 : limit > TG_QUERY_TASK_MAX ? TG_QUERY_TASK_MAX : limit;
}

/* Of a step. */
static unsigned
most_tables(const tg_plan *plan)
{
	unsigned most = 1;

	for (unsigned i = 0; i < plan->step_count; i++)
		if (plan->steps[i].table_count > most)
			most = plan->steps[i].table_count;
	return most;
}

/* What all phases use; false: refused. */
static bool
make_state(tg_session *session, tg_query *query)
{
	unsigned steps = query->plan->step_count;

	query->task_limit = choose_task_limit(query);
	query->tasks = tg_query_alloc(session, query, query->task_limit * sizeof(tg_query_task));
	query->tables = tg_query_alloc(session, query, steps * sizeof(tg_hash_table));
	query->reports = tg_query_alloc(session, query, steps * sizeof(tg_step_report));
	query->first_morsels = tg_query_alloc(session, query, most_tables(query->plan) * sizeof(uint32_t));
	if (query->tasks == NULL || query->tables == NULL || query->reports == NULL || query->first_morsels == NULL)
		return false;
	for (unsigned i = 0; i < query->task_limit; i++)
		query->tasks[i] = (tg_query_task){.query = query, .number = i};
	for (unsigned i = 0; i < steps; i++)
	{
		const tg_sink *sink = &query->plan->steps[i].sink;
		tg_row_layout *layout = &query->tables[i].layout;

		if (!(sink->kind == TG_GROUP ? tg_group_layout_init(session, query, layout, sink)
									 : tg_row_layout_init(session, query, layout, sink, NULL, 0)))
			return false;
	}
	return true;
}

/* What its progress is told by. */
static uint64_t
count_all_morsels(const tg_plan *plan)
{
	uint64_t count = 0;

	for (unsigned i = 0; i < plan->step_count; i++)
		for (unsigned j = 0; j < plan->steps[i].table_count; j++)
			count += tg_table_morsels(&plan->steps[i].tables[j]);
	return count;
}

/* The bootstrap: the first step begins. */
static tg_turn
run_first(tg_task *task, tg_worker *worker)
{
	tg_query *query = ((phase_task *) task)->self->query;

	return is_to_stop(query) ? TG_TURN_DONE : begin_step(query, worker, 0);
}

/* What rows are handed out by. */
static tg_status
create_result(tg_session *session, tg_query *query, const tg_sink *sink)
{
	switch ((tg_sink_kind) sink->kind)
	{
		case TG_DELIVER:
			return tg_delivery_create(session, query);
		case TG_SORT:
			return tg_sort_create(session, query);
		default:
			return TG_OK;
	}
}

tg_status
tg_query_start(tg_session *session, tg_query *query, const tg_plan *plan)
{
	phase_task *first = tg_query_take(session, query, sizeof(*first));
	tg_status status;

	tg_assert(plan->step_count > 0);
	query->plan = plan;
	/* in place nothing looks at interrupts: only what is short */
	if (level_of(&query->config) == LEVEL_GROUP && (tg_serial_takes_level(LEVEL_GROUP) || !tg_scheduler_is_running()))
		return TG_STOPPED;
	if (first == NULL || !make_state(session, query))
		return TG_NO_MEMORY;
	status = create_result(session, query, &plan->steps[plan->step_count - 1].sink);
	if (status != TG_OK)
		return status;
	status = tg_snapshot_publish_job(query->snapshot.time, false, &query->horizon_entry);
	if (status != TG_OK)
		return status;
	retain_tables(plan);
	tg_job_expect(query->job, count_all_morsels(plan));
	query->references = 2;
	query->started = true;
	first->self = &query->tasks[0];
	tg_task_init(&first->task, run_first, query->job);
	status = tg_job_start(session, query->job, &first->task);
	if (status != TG_OK)
	{
		query->started = false;
		query->references = 1;
		release_tables(session, plan);
		tg_snapshot_withdraw_job(query->horizon_entry);
	}
	return status;
}

tg_status
tg_query_poll(const tg_query *query)
{
	if (tg_job_state_get(query->job) != TG_JOB_DONE)
		/* its tasks may have been given up */
		return tg_job_is_cancelled(query->job) && !tg_scheduler_is_running() ? TG_STOPPED : TG_BUSY;
	if (tg_job_status(query->job) != TG_OK)
		return tg_job_status(query->job);
	return tg_job_is_cancelled(query->job) ? TG_CANCELLED : TG_OK;
}

/* NULL: there are no more. */
static tg_row *
next_group(tg_query *query)
{
	tg_row *group;

	while (query->result_next == NULL)
	{
		if (query->result_at == TG_PARTITIONS)
			return NULL;
		query->result_next = query->results[query->result_at++];
	}
	group = query->result_next;
	query->result_next = group->next;
	return group;
}

bool
tg_query_next(tg_query *query, tg_value *keys, bool *key_nulls, tg_total *totals)
{
	bool sorted = present_sink(query)->kind == TG_SORT;
	unsigned step = sorted ? query->plan->steps[query->step].from : query->step;
	tg_row *group = sorted ? tg_sort_next_group(query) : next_group(query);

	if (group == NULL)
		return false;
	tg_group_read(query, step, group, keys, key_nulls, totals);
	return true;
}

tg_query_report
tg_query_report_get(const tg_query *query)
{
	return (tg_query_report){.tasks = query->task_limit, .memory = tg_load_relaxed(&query->memory_bytes)};
}

tg_step_report
tg_query_step_report(const tg_query *query, unsigned step)
{
	return query->reports[step];
}

/*
 * 5.  Tasks that a pool has given up when it was stopped do not run any more, but their job does
 * not end; that a new pool may run already is no reason to wait for them.
 */
static void
cancel_and_wait(tg_session *session, tg_query *query)
{
	uint64_t end = tg_clock_us() + WAIT_MAX_US;

	tg_job_cancel(session, query->job);
	tg_fence_seq_cst();
	while (tg_query_poll(query) == TG_BUSY && tg_clock_us() < end)
		(void) sched_yield();
	while (tg_load_acquire(&query->inside) != 0)
		(void) sched_yield();
}

void
tg_query_stop(tg_session *session, tg_query *query)
{
	if (query->started && tg_job_state_get(query->job) != TG_JOB_DONE)
		cancel_and_wait(session, query);
}

void
tg_query_end(tg_session *session, tg_query *query)
{
	tg_query_stop(session, query);
	if (query->writer.txn != NULL)
		tg_store_undo(query, session);
	if (!query->started)
		tg_delivery_finish(query, session, TG_CANCELLED);
	tg_delivery_close(query, session);
	tg_job_release(session, query->job);
	release_query(session, query);
}
