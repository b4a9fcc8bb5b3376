/*
 * query.c
 *	  The life of a query: where it runs, its start, its result, its end.
 *
 * A query is run by tasks of the pool, as a job; or in place, by the requester, a few batches at a
 * time (phase.c).  In place it has no job, and nothing of it is seen by other sessions: it needs
 * no place in their registries, and no references, as it ends before what its requester holds.
 *
 * 1. References of a job: the requester's, until tg_query_end, and the job's, until its teardown.
 *    The last one frees all memory.  The job has an entry of the horizon and references on the
 *    tables of its own.
 * 2. The query may read what the requester's own transaction has written, or write for it.  So the
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
#include "runtime/base/failpoint.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/claim.h"
#include "runtime/table/table.h"
#include "runtime/query/query_internal.h"
#include "runtime/query/spill.h"
#include "runtime/query/store.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/sched/serial.h"
#include "runtime/sched/park.h"

#define LEVEL_SHORT 30 /* work levels: few rows, */
#define LEVEL_QUERY 60 /* and others */
#define ROWS_SHORT 10000
#define WAIT_MAX_US 60000000 /* for tasks of a job that is cancelled; each looks once a batch */

static void
release_query(tg_session *session, tg_query *query)
{
	/* acq_rel: all uses by either side come before the free */
	if (query->job != NULL && tg_fetch_add_acq_rel(&query->references, (uint32_t) -1) != 1)
		return;
	tg_query_memory_free(session, query);
	tg_free(session, query, TG_USE_JOB);
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
stop_channels(tg_job *job, tg_session *session)
{
	tg_delivery_stop(tg_job_argument(job), session);
	tg_feeds_stop(tg_job_argument(job), session);
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

/* --- where ---------------------------------------------------------------------------------- */

bool
tg_query_runs_in_place(uint64_t rows)
{
	return tg_serial_takes_level(rows < ROWS_SHORT ? LEVEL_SHORT : LEVEL_QUERY) || !tg_scheduler_is_running();
}

static tg_status
create_job(tg_session *session, tg_query *query)
{
	const tg_job_config job = {.kind = "query",
							   .owner = query->config.owner,
							   .object = query->config.object,
							   .level = LEVEL_QUERY,
							   .argument = query,
							   .pool_only = true, /* in place nothing would look at interrupts */
							   .memory_max = query->config.memory_max,
							   .teardown = tear_down,
							   .cancelled = stop_channels,
							   .waiter = query->config.waiter};

	return query->config.in_place ? TG_OK : tg_job_create(session, &job, &query->job);
}

#define BATCH_FEW 7 /* rows; neither a word's bytes nor a morsel are a multiple of it */

/* For tests: where there are few rows, what only many meet otherwise. */
static void
set_switches(tg_query *query)
{
	query->look_ups = tg_failpoint_refuses("query_look_ups") ? 1 : tg_failpoint_refuses("query_hash_joins") ? -1 : 0;
	query->groups_early = tg_failpoint_refuses("query_clusters");
	query->hashes_few = tg_failpoint_refuses("query_hashes");
	query->batch_max = tg_failpoint_refuses("query_vectors") ? BATCH_FEW : TG_VECTOR_ROWS;
}

tg_status
tg_query_create(tg_session *session, const tg_query_config *config, tg_query **query_out)
{
	tg_query *query = tg_alloc_zeroed(session, sizeof(*query), TG_USE_JOB, TG_DATA);
	tg_status status;

	if (query == NULL)
		return TG_NO_MEMORY;
	query->config = *config;
	query->snapshot = config->snapshot;
	if (config->writer != NULL)
		query->writer = *config->writer;
	set_switches(query);
	query->references = 1;
	tg_latch_init(&query->memory_latch, TG_RANK_QUERY);
	status = create_job(session, query);
	if (status == TG_OK && !copy_exclusions(session, query, config->snapshot.excluded))
		status = TG_NO_MEMORY;
	if (status == TG_OK && config->spill != NULL)
		status = tg_spill_create(session, query, config->spill);
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

/* --- start ---------------------------------------------------------------------------------- */

static unsigned
choose_task_limit(const tg_query *query)
{
	unsigned limit = query->config.tasks != 0 ? query->config.tasks : tg_worker_count();

	if (query->job == NULL)
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

/* TG_STOPPED, TG_FULL, TG_NO_MEMORY: nothing has run. */
static tg_status
start_job(tg_session *session, tg_query *query)
{
	tg_task *first = tg_phases_bootstrap(session, query);
	tg_status status;

	if (first == NULL)
		return TG_NO_MEMORY;
	status = tg_snapshot_publish_job(query->snapshot.time, false, &query->horizon_entry);
	if (status != TG_OK)
		return status;
	retain_tables(query->plan);
	tg_job_expect(query->job, count_all_morsels(query->plan));
	query->references = 2;
	query->started = true;
	status = tg_job_start(session, query->job, first);
	if (status != TG_OK)
	{
		query->started = false;
		query->references = 1;
		release_tables(session, query->plan);
		tg_snapshot_withdraw_job(query->horizon_entry);
	}
	return status;
}

tg_status
tg_query_start(tg_session *session, tg_query *query, const tg_plan *plan)
{
	tg_status status;

	tg_assert(plan->step_count > 0);
	query->plan = plan;
	if (!make_state(session, query))
		return TG_NO_MEMORY;
	status = create_result(session, query, &plan->steps[plan->step_count - 1].sink);
	if (status == TG_OK)
		status = tg_feeds_create(session, query);
	if (status != TG_OK)
		return status;
	if (query->job != NULL)
		return start_job(session, query);
	query->started = true;
	tg_phases_begin(session, query);
	return TG_OK;
}

/* --- result --------------------------------------------------------------------------------- */

tg_status
tg_query_poll(const tg_query *query)
{
	if (query->job == NULL)
		return query->goes_on ? TG_BUSY : query->status;
	if (tg_job_state_get(query->job) != TG_JOB_DONE)
		/* its tasks may have been given up */
		return tg_job_is_cancelled(query->job) && !tg_scheduler_is_running() ? TG_STOPPED : TG_BUSY;
	if (tg_job_status(query->job) != TG_OK)
		return tg_job_status(query->job);
	return tg_job_is_cancelled(query->job) ? TG_CANCELLED : TG_OK;
}

/* --- end ------------------------------------------------------------------------------------ */

/*
 * 2.  Tasks that a pool has given up when it was stopped do not run any more, but their job does
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
	if (query->job == NULL && query->goes_on)
		tg_phases_stop(session, query);
	if (query->job != NULL && query->started && tg_job_state_get(query->job) != TG_JOB_DONE)
		cancel_and_wait(session, query);
}

void
tg_query_end(tg_session *session, tg_query *query)
{
	tg_query_stop(session, query);
	if (query->writer.txn != NULL)
		tg_store_undo(query, session);
	if (query->spill != NULL)
		tg_spill_remove(query);
	if (!query->started)
		tg_delivery_finish(query, session, TG_CANCELLED);
	tg_delivery_close(query, session);
	if (query->job != NULL)
		tg_job_release(session, query->job);
	release_query(session, query);
}
