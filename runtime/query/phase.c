/*
 * phase.c
 *	  The phases of a query, one after the other, and the tasks of each.
 *
 *		fill step 0 -> link -> fill step 1 -> link -> ... -> fill the last -> split -> merge
 *
 * A step that probes builds in files is filled once for each combination of their passes, after the
 * parts of these builds have been loaded and linked (join_files.c).
 *
 * A step with a feed is filled as the requester offers rows (feed.c); a task that finds none parks,
 * and in place the requester is asked for them.
 *
 * A build is linked, groups are merged; a step that marks has no further phase, nor has a sort,
 * whose runs the requester merges (sorted.c), unless there are too many in files.  A step with
 * right or full joins is filled several times: by its source, then by what such a join leaves of
 * its build, one join after the other.
 *
 * Of steps that have one sink together, each is filled, and the tasks keep what they have made; the
 * sink ends with the last of them.
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
 * 3. A task fails the query; others see that between morsels and count themselves out, also those
 *    that have parked for rows of a feed.  The last one then begins no phase.
 * 4. In place there is one task, and no other thread.  Leaving a phase sets the next one up, and
 *    the requester goes on with that: between two batches it comes back to its caller.
 */
#include <sched.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/query/cluster.h"
#include "runtime/query/query_internal.h"
#include "runtime/query/store.h"
#include "runtime/sched/job.h"
#include "runtime/sched/park.h"

#define MERGED_ALONE 2048 /* so many groups are merged by one task */
#define TRIES_MAX 10000	  /* of a chunk whose rows are not decided */

typedef struct phase_task
{
	tg_task task; /* first */
	tg_query_task *self;
} TG_CACHE_ALIGNED phase_task;

#define TASKS_BYTES(count) ((count) * sizeof(phase_task))

/* The thread that is at it. */
typedef struct runner
{
	tg_session *session;
	tg_worker *worker; /* NULL: the requester, in place, */
	unsigned *batches; /* which comes back after so many */
} runner;

/* --- phases ----------------------------------------------------------------------------------- */

static bool
is_to_stop(const tg_query *query)
{
	if (query->job == NULL)
		return query->status != TG_OK;
	return tg_job_is_cancelled(query->job) || tg_job_status(query->job) != TG_OK;
}

/* Fails it, unless it has failed already. */
static tg_turn
fail(tg_query *query, tg_status status)
{
	if (query->job != NULL)
		tg_job_fail(query->job, status);
	else if (query->status == TG_OK)
		query->status = status;
	return TG_TURN_DONE;
}

static uint32_t
count_morsels(tg_query *query)
{
	switch (query->phase)
	{
		case TG_QUERY_FILL:
			return tg_step_morsels(query);
		case TG_QUERY_LOAD:
		case TG_QUERY_LINK:
			return query->tables[query->linked].block_count;
		case TG_QUERY_SPLIT:
			return query->task_most;
		case TG_QUERY_RUNS:
			return tg_sort_merge_count(query);
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

/* Whether the sink has got rows of the step before. */
static bool
goes_on_with_sink(const tg_query *query)
{
	return query->step > 0 && query->plan->steps[query->step - 1].sink.goes_on;
}

static unsigned
choose_task_count(const tg_query *query, uint32_t morsels)
{
	if (morsels == 0)
		return 1;
	return query->task_limit > morsels ? morsels : query->task_limit;
}

/* --- passes of builds in files (join_files.c) ------------------------------------------------- */

/* The build of an operator of the step, if it is in files; NULL: it is not, or there is none. */
static tg_hash_table *
build_in_files(const tg_query *query, unsigned number)
{
	const tg_operator *operator= & query->plan->steps[query->step].operators[number];

	if (operator->kind != TG_PROBE || !query->tables[operator->build].in_files)
		return NULL;
	return &query->tables[operator->build];
}

static unsigned
count_operators(const tg_query *query)
{
	return query->plan->steps[query->step].operator_count;
}

#define COMBINATIONS_MAX 96 /* beyond, the host is faster */

/* The combinations of passes of the step; more than COMBINATIONS_MAX: too many. */
static unsigned
count_combinations(const tg_query *query)
{
	unsigned count = 1;

	for (unsigned i = 0; i < count_operators(query) && count <= COMBINATIONS_MAX; i++)
		if (build_in_files(query, i) != NULL)
			count *= build_in_files(query, i)->pass_count;
	return count;
}

/* How many phases the step has until its rows are there, at most. */
static unsigned
count_fills(const tg_query *query)
{
	unsigned count = 1;

	for (unsigned i = 0; (i = tg_step_next_rest(query, i)) < count_operators(query); i++)
		count++;
	for (unsigned i = 0; i < count_operators(query); i++)
		count += build_in_files(query, i) != NULL ? 2 : 0;
	return count * count_combinations(query);
}

static bool
prepare_tasks(tg_session *session, tg_query *query, unsigned fills)
{
	unsigned count = fills > 1 ? query->task_limit : choose_task_count(query, tg_step_morsels(query));

	for (unsigned i = 0; i < count; i++)
		if (tg_step_prepare(&query->tasks[i], session) != TG_OK)
			return false;
	return true;
}

/* Of a step of a job that hands rows out, for all of its phases. */
static bool
reserve_phases(tg_session *session, tg_query *query, unsigned fills)
{
	query->reserved = NULL;
	if (!present_sink(query)->streams || query->job == NULL)
		return true;
	query->reserved = tg_query_take(session, query, TASKS_BYTES(query->task_limit) * fills);
	return query->reserved != NULL;
}

#define LEFT_MIN ((uint64_t) 16 << 20) /* for each task */

/*
 * The memory of a step that hands rows out is taken before the first of its tasks runs (deliver.c,
 * 1).  So it is where little is left and rows spill: what rows may have is known then.  In others
 * each task, and each phase, takes its own.  So does a query in place, which has one task: that
 * takes it before its first row.
 */
static bool
prepare_step(tg_session *session, tg_query *query)
{
	unsigned fills = count_fills(query);

	if (count_combinations(query) > COMBINATIONS_MAX)
		return false;
	for (unsigned i = 0; i < query->task_limit; i++)
		tg_task_give(&query->tasks[i], session);
	if (!reserve_phases(session, query, fills))
		return false;
	if (query->reserved != NULL || (query->spill != NULL && tg_query_memory_left(query) / query->task_limit < LEFT_MIN))
		if (!prepare_tasks(session, query, fills))
			return false;
	if (!goes_on_with_sink(query))
		query->rows_max = tg_rows_max(query);
	return true;
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

static void
set_phase(tg_query *query, tg_query_phase phase)
{
	query->phase = phase;
	query->morsel_count = count_morsels(query);
	query->task_count = choose_task_count(query, query->morsel_count);
	if (phase == TG_QUERY_FILL && query->task_most < query->task_count)
		query->task_most = query->task_count;
	for (unsigned i = 0; i < query->task_count; i++)
		query->tasks[i].morsel = UINT32_MAX;
	tg_store_relaxed(&query->next_morsel, 0);
	tg_store_relaxed(&query->open_tasks, query->task_count);
}

/* The caller is the phase's first task, or goes on as one. */
static tg_turn
begin_phase(tg_query *query, const runner *by, tg_query_phase phase)
{
	phase_task *tasks;

	set_phase(query, phase);
	query->goes_on = by->worker == NULL; /* 4 */
	if (query->goes_on)
		return TG_TURN_DONE;
	tasks = take_phase_tasks(by->session, query);
	if (tasks == NULL)
		return fail(query, TG_NO_MEMORY);
	/* from the last one: with the first one's submission the phase, and the job, may end */
	for (unsigned i = query->task_count; i > 0; i--)
	{
		tasks[i - 1].self = &query->tasks[i - 1];
		tg_task_init(&tasks[i - 1].task, run_task, query->job);
		tg_job_spawn(by->worker, query->job, &tasks[i - 1].task);
	}
	return TG_TURN_DONE;
}

/* Loads the builds of operators from one on whose pass is to begin; then the step is filled. */
static tg_turn
load_builds(tg_query *query, const runner *by, unsigned from)
{
	for (unsigned i = from; i < count_operators(query); i++)
	{
		tg_hash_table *table = build_in_files(query, i);

		if (table == NULL || !table->is_to_load)
			continue;
		table->is_to_load = false;
		query->loading = i + 1;
		query->linked = query->plan->steps[query->step].operators[i].build;
		tg_build_begin_pass(table, table->pass);
		return begin_phase(query, by, TG_QUERY_LOAD);
	}
	query->loading = 0;
	query->rest = 0;
	if (query->fills_again)
		tg_feed_rewind(query);
	return begin_phase(query, by, TG_QUERY_FILL);
}

static void
begin_passes(tg_query *query)
{
	query->fills_again = false;
	for (unsigned i = 0; i < count_operators(query); i++)
	{
		tg_hash_table *table = build_in_files(query, i);

		if (table == NULL)
			continue;
		table->pass = 0;
		table->is_to_load = true;
	}
}

static tg_turn
begin_step(tg_query *query, const runner *by, unsigned step)
{
	query->step = step;
	if (query->job != NULL)
		tg_job_step(query->job, step + 1, query->plan->step_count);
	query->rest = 0;
	if (!goes_on_with_sink(query))
		query->task_most = 0;
	query->phase_started_us = tg_clock_us();
	tg_look_ups_begin(by->session, query);
	tg_clusters_find(by->session, query);
	if (!prepare_step(by->session, query) || (present_sink(query)->kind == TG_SORT && tg_sort_begin(query) != TG_OK))
		return fail(query, TG_NO_MEMORY);
	begin_passes(query);
	return load_builds(query, by, 0);
}

/* The figures of a step that has been filled. */
static void
report_step(tg_query *query)
{
	tg_step_report *report = &query->reports[query->step];

	for (unsigned i = 0; i < query->task_most; i++)
	{
		if (query->tasks[i].prepared_for != query->step + 1)
			continue; /* it was a task of an earlier one with the same sink */
		report->rows_in += query->tasks[i].rows_in;
		report->rows_out += query->tasks[i].rows_out;
		report->chunks_skipped += query->tasks[i].chunks_skipped;
	}
	if (present_sink(query)->kind == TG_DELIVER || present_sink(query)->kind == TG_STORE)
		report->rows_kept =
			report->rows_out + (goes_on_with_sink(query) ? query->reports[query->step - 1].rows_kept : 0);
	report->elapsed_us = tg_clock_us() - query->phase_started_us;
}

/* The groups are merged. */
static tg_turn
finish_group(tg_query *query, const runner *by)
{
	tg_status status;

	if (query->tables[query->step].in_files)
	{
		status = tg_group_written(by->session, query);
		if (status != TG_OK)
			return fail(query, status);
	}
	if (query->step + 1 == query->plan->step_count)
		return TG_TURN_DONE;
	status = tg_group_keep(by->session, query);
	return status == TG_OK ? begin_step(query, by, query->step + 1) : fail(query, status);
}

/* All rows are in groups. */
static tg_turn
end_group(tg_query *query, const runner *by)
{
	uint64_t count = 0;
	tg_status status = TG_OK;

	for (unsigned i = 0; i < query->task_most; i++)
	{
		count += query->tasks[i].groups.count;
		query->tables[query->step].in_files |= query->tasks[i].group_runs != NULL;
	}
	for (unsigned i = 0; query->tables[query->step].in_files && i < query->task_most; i++)
		tg_clusters_give_up(&query->tasks[i], by->session);
	tg_clusters_report(query);
	if (query->tables[query->step].in_files)
		return begin_phase(query, by, TG_QUERY_SPLIT);
	if (query->task_most == 1)
	{
		query->reports[query->step].rows_kept += count;
		return finish_group(query, by);
	}
	if (count > MERGED_ALONE)
		return begin_phase(query, by, TG_QUERY_SPLIT);
	for (unsigned i = 0; i < query->task_most && status == TG_OK; i++)
		status = tg_group_split(&query->tasks[i], by->session);
	for (unsigned i = 0; i < TG_PARTITIONS && status == TG_OK; i++)
		status = tg_group_merge(query, by->session, i);
	return status == TG_OK ? finish_group(query, by) : fail(query, status);
}

static bool
has_written(const tg_query *query)
{
	bool any = false;

	for (unsigned i = 0; i < query->task_most; i++)
		any |= query->tasks[i].build_runs != NULL;
	return any;
}

static tg_turn
end_build(tg_query *query, const runner *by)
{
	bool in_files = query->keeps_nothing || has_written(query);
	tg_status status = in_files ? tg_build_written(by->session, query) : tg_build_finish(by->session, query);

	if (status != TG_OK)
		return fail(query, status);
	tg_bounds_collect(query);
	query->reports[query->step].rows_kept = query->tables[query->step].row_count;
	if (in_files)
		return begin_step(query, by, query->step + 1);
	query->linked = query->step;
	query->loading = 0;
	return begin_phase(query, by, TG_QUERY_LINK);
}

/* Sorted runs are there. */
static tg_turn
finish_sort(tg_query *query, const runner *by)
{
	tg_status status;

	if (tg_sort_has_many_files(query))
		return begin_phase(query, by, TG_QUERY_RUNS);
	status = tg_sort_finish(by->session, query);
	return status == TG_OK ? TG_TURN_DONE : fail(query, status);
}

static tg_turn
end_sort(tg_query *query, const runner *by)
{
	tg_status status = tg_sort_collect(by->session, query);

	return status == TG_OK ? finish_sort(query, by) : fail(query, status);
}

/* Whether the builds of all operators in front of one are in their last passes. */
static bool
are_last_before(const tg_query *query, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
	{
		const tg_hash_table *table = build_in_files(query, i);

		if (table != NULL && table->pass + 1 < table->pass_count)
			return false;
	}
	return true;
}

/* The next combination of passes; false: there is none. */
static bool
go_to_pass(tg_query *query)
{
	for (unsigned i = 0; i < count_operators(query); i++)
	{
		tg_hash_table *table = build_in_files(query, i);

		if (table == NULL)
			continue;
		table->is_to_load = table->pass_count > 1;
		if (++table->pass < table->pass_count)
		{
			query->fills_again = true;
			return true;
		}
		table->pass = 0;
	}
	return false;
}

/* Marks that the step has set, of which a later one is to know. */
static tg_status
keep_marks(tg_query *query)
{
	tg_status status = TG_OK;

	for (unsigned i = 0; i < count_operators(query) && status == TG_OK; i++)
		if (build_in_files(query, i) != NULL && query->plan->steps[query->step].operators[i].join == TG_JOIN_MARK)
			status = tg_build_write_back(query, build_in_files(query, i));
	return status;
}

/* The next rows that the step is filled by; false: there are no more. */
static bool
go_to_rest(tg_query *query)
{
	unsigned next = query->rest;

	do
		next = tg_step_next_rest(query, next) + 1;
	while (next <= count_operators(query) && !are_last_before(query, next - 1));
	if (next > count_operators(query))
		return false;
	query->rest = next;
	return true;
}

/* The next step's rows go into the same sink. */
static tg_turn
go_on_with_sink(tg_query *query, const runner *by)
{
	query->tables[query->step + 1].has_dropped |= query->tables[query->step].has_dropped;
	return begin_step(query, by, query->step + 1);
}

/* What a step's sink does when all rows are there. */
static tg_turn
end_fill(tg_query *query, const runner *by)
{
	if (present_sink(query)->goes_on)
		return go_on_with_sink(query, by);
	switch ((tg_sink_kind) present_sink(query)->kind)
	{
		case TG_BUILD:
			return end_build(query, by);
		case TG_GROUP:
			return end_group(query, by);
		case TG_DELIVER:
		case TG_STORE:
			return TG_TURN_DONE;
		case TG_SORT:
			return end_sort(query, by);
		default:
			return begin_step(query, by, query->step + 1);
	}
}

/* By the last task of a phase (1). */
static tg_turn
end_phase(tg_query *query, const runner *by)
{
	if (query->phase == TG_QUERY_FILL && !is_to_stop(query))
	{
		tg_status status;

		if (go_to_rest(query))
			return begin_phase(query, by, TG_QUERY_FILL);
		status = keep_marks(query);
		if (status != TG_OK)
			return fail(query, status);
		if (go_to_pass(query))
			return load_builds(query, by, 0);
	}
	if (query->phase == TG_QUERY_FILL)
		report_step(query);
	if (is_to_stop(query))
		return TG_TURN_DONE;
	switch (query->phase)
	{
		case TG_QUERY_FILL:
			return end_fill(query, by);
		case TG_QUERY_LOAD:
			return begin_phase(query, by, TG_QUERY_LINK);
		case TG_QUERY_LINK:
			return query->loading > 0 ? load_builds(query, by, query->loading) : begin_step(query, by, query->step + 1);
		case TG_QUERY_SPLIT:
			return begin_phase(query, by, TG_QUERY_MERGE);
		case TG_QUERY_RUNS:
			tg_sort_merged(query);
			return finish_sort(query, by);
		default:
			return finish_group(query, by);
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
		case TG_QUERY_LOAD:
			return tg_build_load(self->query, &self->query->tables[self->query->linked], self->morsel);
		case TG_QUERY_LINK:
			tg_build_link(self->query, self->morsel);
			return TG_OK;
		case TG_QUERY_SPLIT:
			return tg_group_split(&self->query->tasks[self->morsel], session);
		case TG_QUERY_RUNS:
			return tg_sort_merge(self->query, session, self->morsel);
		default:
			return tg_group_merge(self->query, session, self->morsel);
	}
}

/* The task has no more to do in this phase. */
static tg_turn
leave_phase(tg_query_task *self, const runner *by)
{
	tg_query *query = self->query;
	bool well = !is_to_stop(query);
	tg_status status;

	if (query->phase == TG_QUERY_FILL && present_sink(query)->kind == TG_GROUP && well &&
		(status = tg_group_end(self, by->session)) != TG_OK)
		(void) fail(query, status);
	if (query->phase == TG_QUERY_FILL && present_sink(query)->kind == TG_DELIVER)
		tg_deliver_end(self, by->session, well);
	if (query->phase == TG_QUERY_FILL && present_sink(query)->kind == TG_SORT && well &&
		(status = tg_sort_end(self, by->session)) != TG_OK)
		(void) fail(query, status);
	if (is_to_stop(query))
		tg_feeds_stop(query, by->session);
	if (tg_fetch_add_acq_rel(&query->open_tasks, (uint32_t) -1) == 1)
		return end_phase(query, by);
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

static bool
is_turn_over(const runner *by)
{
	return by->worker != NULL ? tg_should_yield(by->worker) : (*by->batches)-- == 0;
}

/* The task's part of the phase, or as much of it as a turn has. */
static tg_turn
take_part(tg_query_task *self, const runner *by)
{
	tg_query *query = self->query;
	tg_status status = TG_OK;

	if (query->phase == TG_QUERY_FILL && self->prepared_for != query->step + 1 && !is_to_stop(query))
		status = tg_step_prepare(self, by->session);
	while (status == TG_OK && !is_to_stop(query) && take_morsel(self))
	{
		if (is_turn_over(by))
			return TG_TURN_AGAIN;
		status = do_morsel(self, by->session);
		if (tg_unlikely(status == TG_AGAIN))
			return TG_TURN_AGAIN;
		if (tg_unlikely(status == TG_BUSY))
		{
			if (self->waits_for_feed)
				return by->worker != NULL ? TG_TURN_PARK : TG_TURN_AGAIN;
			if (self->evaluated_count > 0)
				return TG_TURN_PARK;
			if (may_try_again(self))
				return TG_TURN_AGAIN;
			status = TG_UNFIT;
		}
		if (!self->in_morsel && self->stretch_at == 0)
			self->morsel = UINT32_MAX;
		self->tries = 0;
	}
	if (status != TG_OK && status != TG_CANCELLED)
		(void) fail(query, status);
	return leave_phase(self, by);
}

/* --- in the pool ------------------------------------------------------------------------------ */

/* The query stays until the job's task has ended, which is later. */
static tg_turn
run_task(tg_task *task, tg_worker *worker)
{
	tg_query_task *self = ((phase_task *) task)->self;
	tg_query *query = self->query;
	const runner by = {.session = tg_worker_session(worker), .worker = worker};
	bool stores = present_sink(query)->kind == TG_STORE;
	tg_turn turn;

	tg_fetch_add_relaxed(&query->inside, 1);
	tg_fence_seq_cst(); /* query.c, 2 */
	self->turn = task;
	turn = take_part(self, &by);
	if (stores)
		tg_store_pause(query, by.session);
	/* Release pairs with the acquire of cancel_and_wait. */
	(void) tg_fetch_add_acq_rel(&query->inside, (uint32_t) -1);
	return turn;
}

/* The bootstrap: the first step begins. */
static tg_turn
run_first(tg_task *task, tg_worker *worker)
{
	tg_query *query = ((phase_task *) task)->self->query;
	const runner by = {.session = tg_worker_session(worker), .worker = worker};

	return is_to_stop(query) ? TG_TURN_DONE : begin_step(query, &by, 0);
}

tg_task *
tg_phases_bootstrap(tg_session *session, tg_query *query)
{
	phase_task *first = tg_query_take(session, query, sizeof(*first));

	if (first == NULL)
		return NULL;
	first->self = &query->tasks[0];
	tg_task_init(&first->task, run_first, query->job);
	return &first->task;
}

/* --- in place --------------------------------------------------------------------------------- */

void
tg_phases_begin(tg_session *session, tg_query *query)
{
	const runner by = {.session = session};

	(void) begin_step(query, &by, 0);
}

tg_status
tg_query_run(tg_session *session, tg_query *query, unsigned batches)
{
	const runner by = {.session = session, .batches = &batches};

	tg_assert(query->job == NULL && query->started);
	tg_failpoint("query_in_place");
	while (query->goes_on)
	{
		/* what leaves this phase, and begins another one, sets it again */
		query->goes_on = false;
		if (take_part(&query->tasks[0], &by) == TG_TURN_DONE)
			continue;
		query->goes_on = true;
		return TG_AGAIN;
	}
	return query->status;
}

void
tg_phases_stop(tg_session *session, tg_query *query)
{
	const runner by = {.session = session};

	(void) fail(query, TG_CANCELLED);
	query->goes_on = false;
	(void) take_part(&query->tasks[0], &by);
	tg_assert(!query->goes_on);
}
