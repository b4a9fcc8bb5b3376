/*
 * step.c
 *	  The pipeline of a step: a morsel's rows, through the operators, into the sink.
 *
 * A batch is the rows of one chunk, or at most as many of a range or block.  (Tests cut all of them
 * into batches of a few rows, of which only a chunk's first one is dense.)  It is pulled: each
 * operator asks the one before it for the next batch, and keeps its place in the one it has.  So a
 * task may leave the pipeline between any two batches that get to the sink.
 *
 * Where a build's rows without a match go on behind the probe, they are a source of their own, in a
 * later phase: a batch of them enters the pipeline behind that operator, with nothing in front.
 *
 * A chunk is looked up inside an epoch.  What its batch points to from then on are versions that
 * the query's snapshot sees.  They stay as long as that is published, and so do their blobs, and
 * the chunk that they lie in.  So a task may leave the epoch between two batches, and even park.
 *
 * 1. The filters before the first probe that cannot fail change places: those that drop many rows
 *    at little cost come first.  How many each drops is measured, by each task, on what the ones
 *    before it have left.  An operator that may fail gets the rows that the host would compute it
 *    for, so it stays where it is, and so do all behind it.  The bounds of builds that are probed
 *    (bound.c) have a place among them, unless they drop next to nothing.
 *    Chunks that those filters, or the bounds, would empty are passed over (skip.c).
 */
#include <string.h>

#include "runtime/base/failpoint.h"
#include "runtime/mem/session.h"
#include "runtime/sched/job.h"
#include "runtime/table/table.h"
#include "runtime/exec/scan.h"
#include "runtime/query/cluster.h"
#include "runtime/query/partition.h"
#include "runtime/query/store.h"

static size_t
line_up(size_t bytes)
{
	return (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
}

static const tg_plan_step *
step_of(const tg_query *query)
{
	return &query->plan->steps[query->step];
}

#define FILTERS_SORTED_MAX 32

/* --- preparation ----------------------------------------------------------------------------- */

static bool
prepare_evaluation(tg_query_task *task, tg_session *session, tg_evaluation *evaluation,
				   const tg_expressions *expressions, bool inputs_as_stored, uint64_t coded_inputs)
{
	void *memory = tg_task_take(task, session, tg_evaluation_bytes(expressions));

	if (memory == NULL)
		return false;
	tg_evaluation_init(evaluation, expressions, task->query->step, inputs_as_stored, memory);
	if (coded_inputs == 0)
		return true;
	evaluation->coded_inputs = coded_inputs;
	evaluation->code_room = tg_task_take(task, session, (size_t) __builtin_popcountll(coded_inputs) * TG_VECTOR_ROWS);
	return evaluation->code_room != NULL;
}

/* The first filters that cannot fail. */
static unsigned
count_movable(const tg_plan_step *step)
{
	unsigned count = 0;

	while (count < step->operator_count && count < FILTERS_SORTED_MAX && step->operators[count].kind == TG_FILTER &&
		   !tg_program_may_fail(&step->operators[count].expressions->program))
		count++;
	return count;
}

/* The batch of an operator that repeats rows. */
static bool
prepare_repeat(tg_query_task *task, tg_session *session, unsigned number)
{
	tg_batch *out = &task->operators[number].out;
	unsigned matches = tg_step_matches(task->query, number);
	size_t rows = TG_VECTOR_ROWS * sizeof(tg_row *);
	unsigned char *memory = tg_task_take(task, session, matches * rows + TG_VECTOR_ROWS * sizeof(uint16_t));

	for (unsigned i = 0; memory != NULL && i < matches; i++, memory += rows)
		out->matches[i] = (tg_row **) memory;
	out->own_slots = (uint16_t *) memory;
	return memory != NULL;
}

static bool
prepare_operators(tg_query_task *task, tg_session *session)
{
	const tg_plan_step *step = step_of(task->query);

	task->operators = tg_task_take(task, session, line_up((step->operator_count + 1u) * sizeof(tg_operator_state)));
	task->order = tg_task_take(task, session, (step->operator_count + 1u) * sizeof(uint16_t));
	if (task->operators == NULL || task->order == NULL)
		return false;
	task->movable_count = count_movable(step);
	tg_bounds_find(task->query, &task->bounds);
	task->bounds_place = task->movable_count;
	task->bounds_rest = false;
	task->bounds_in = task->bounds_out = 0;
	if (step->source == TG_FROM_TABLES)
		tg_demands_find(step, task->movable_count, &task->bounds, &task->demands);
	task->operators[step->operator_count] = (tg_operator_state){0};
	for (unsigned i = 0; i < step->operator_count; i++)
	{
		const tg_operator *operator= & step->operators[i];
		tg_operator_state *state = &task->operators[i];
		bool is_filter = operator->kind == TG_FILTER;

		*state = (tg_operator_state){0};
		task->order[i] = (uint16_t) i;
		if (!prepare_evaluation(task, session, &state->evaluation, operator->expressions, is_filter,
								is_filter ? tg_codes_of_filter(operator->expressions) : 0))
			return false;
		if (operator->kind == TG_REPEAT && !prepare_repeat(task, session, i))
			return false;
		if (operator->kind == TG_PROBE)
		{
			unsigned matches = tg_step_matches(task->query, i);
			void *memory = tg_task_take(task, session, tg_probe_bytes(operator, matches));

			if (memory == NULL)
				return false;
			tg_probe_init(state, operator, task->query->step, matches, memory);
		}
	}
	return true;
}

/*
 * The matches that a batch of a source may have: one, or as many as there are behind the last probe
 * whose build's rows go on without a match.
 */
static unsigned
count_source_matches(const tg_query *query)
{
	unsigned count = 1;

	for (unsigned i = 0; (i = tg_step_next_rest(query, i)) < step_of(query)->operator_count; i++)
		count = tg_step_matches(query, i) + 1;
	return count;
}

static bool
prepare_sink(tg_query_task *task, tg_session *session)
{
	const tg_sink *sink = &step_of(task->query)->sink;
	unsigned matches = count_source_matches(task->query);
	size_t hashes = TG_VECTOR_ROWS * sizeof(uint64_t);
	size_t rows = TG_VECTOR_ROWS * sizeof(tg_row *);
	size_t slots = TG_VECTOR_ROWS * sizeof(uint16_t);
	size_t headroom = line_up(sink->aggregate_count * sizeof(uint64_t));
	unsigned char *memory =
		tg_task_take(task, session, hashes + (1 + matches) * rows + slots + headroom + TG_VECTOR_ROWS);

	if (memory == NULL ||
		!prepare_evaluation(task, session, &task->sink, sink->expressions, false,
							sink->kind == TG_GROUP ? tg_codes_of_groups(sink) : 0) ||
		(sink->kind == TG_SORT && !prepare_evaluation(task, session, &task->order_keys, sink->order, false, 0)))
		return false;
	task->hashes = (uint64_t *) memory;
	task->rows = (tg_row **) (memory += hashes);
	for (unsigned i = 0; i < matches; i++)
		task->batch.matches[i] = (tg_row **) (memory += rows);
	task->batch.own_slots = (uint16_t *) (memory += rows);
	task->headroom = (uint64_t *) (memory += slots);
	task->flags = memory + headroom;
	for (unsigned i = 0; i < sink->aggregate_count; i++)
		task->headroom[i] = 0;
	return sink->kind != TG_STORE || tg_store_prepare(task, session) == TG_OK;
}

tg_status
tg_step_prepare(tg_query_task *task, tg_session *session)
{
	if (!prepare_operators(task, session) || !prepare_sink(task, session) || tg_range_prepare(task, session) != TG_OK)
		return TG_NO_MEMORY;
	if (tg_source_is_step((tg_source) step_of(task->query)->source) &&
		task->query->tables[step_of(task->query)->from].in_files &&
		(task->span_block =
			 tg_span_block(session, task->query, &task->query->tables[step_of(task->query)->from].layout)) == NULL)
		return TG_NO_MEMORY;
	task->rows_in = 0;
	task->rows_out = 0;
	task->chunks_skipped = 0;
	task->morsels_done = 0;
	task->in_morsel = false;
	task->stretch_at = 0;
	task->chunk_of = NULL;
	task->fed = NULL;
	task->waits_for_feed = false;
	task->prepared_for = task->query->step + 1;
	tg_bounds_begin(task);
	if (step_of(task->query)->sink.kind == TG_GROUP)
		return tg_group_begin(task, session);
	return TG_OK;
}

/* --- rows ---------------------------------------------------------------------------------- */

unsigned
tg_step_matches(const tg_query *query, unsigned at)
{
	const tg_plan_step *step = step_of(query);
	unsigned count = tg_source_is_step((tg_source) step->source);

	for (unsigned i = 0; i < at; i++)
		count += step->operators[i].kind == TG_PROBE;
	return count;
}

unsigned
tg_step_next_rest(const tg_query *query, unsigned from)
{
	const tg_plan_step *step = step_of(query);

	while (from < step->operator_count &&
		   (step->operators[from].kind != TG_PROBE || !tg_join_has_rest((tg_join) step->operators[from].join)))
		from++;
	return from;
}

unsigned
tg_step_of_match(const tg_query *query, unsigned number, unsigned match)
{
	const tg_plan_step *step = &query->plan->steps[number];

	if (tg_source_is_step((tg_source) step->source) && match-- == 0)
		return step->from;
	for (const tg_operator *operator= step->operators;; operator++)
		if (operator->kind == TG_PROBE && match-- == 0)
			return operator->build;
}

/* The next rows that the condition keeps. */
static tg_status
filter(tg_query_task *task, tg_session *session, unsigned at, tg_batch **batch_out)
{
	tg_evaluation *evaluation = &task->operators[task->order[at]].evaluation;
	uint16_t condition = step_of(task->query)->operators[task->order[at]].condition;
	unsigned matches = tg_step_matches(task->query, at);
	uint16_t kept[TG_VECTOR_ROWS];

	for (;;)
	{
		tg_status status = tg_pull(task, session, at, batch_out);
		unsigned count;

		if (status != TG_OK || *batch_out == NULL)
			return status;
		tg_codes_want(session, evaluation, *batch_out);
		status = tg_evaluate(task->query, evaluation, *batch_out);
		if (status != TG_OK)
			return status;
		count = tg_select_true(tg_evaluated(evaluation, condition), (*batch_out)->count, kept);
		if (count == 0)
			continue;
		tg_batch_keep(*batch_out, kept, count, matches);
		return TG_OK;
	}
}

/* Copies rows of the batch in hand, from where it is, as long as there is room. */
static void
copy_repeated(tg_operator_state *state, const tg_vector *times, unsigned matches, unsigned most)
{
	const tg_batch *in = state->in;
	tg_batch *out = &state->out;

	out->count = 0;
	while (state->repeated < in->count && out->count < most)
	{
		unsigned row = state->repeated;
		unsigned at = times->constant ? 0 : row;
		int64_t wanted = times->nulls != NULL && times->nulls[at] != 0 ? 0 : ((const int64_t *) times->data)[at];

		if (wanted <= 0 || state->times_done == (uint64_t) wanted)
		{
			state->repeated++;
			state->times_done = 0;
			continue;
		}
		state->times_done++;
		out->own_slots[out->count] = in->slots[row];
		for (unsigned i = 0; i < matches; i++)
			out->matches[i][out->count] = in->matches[i][row];
		out->count++;
	}
}

/* The next rows, each as often as its number says. */
static tg_status
repeat(tg_query_task *task, tg_session *session, unsigned at, tg_batch **batch_out)
{
	const tg_operator *operator= & step_of(task->query)->operators[at];
	tg_operator_state *state = &task->operators[at];

	for (;;)
	{
		if (state->in == NULL)
		{
			tg_status status = tg_pull(task, session, at, &state->in);

			if (status == TG_OK && state->in != NULL)
				status = tg_evaluate(task->query, &state->evaluation, state->in);
			if (status != TG_OK || state->in == NULL)
			{
				state->in = NULL;
				return status;
			}
			state->repeated = 0;
			state->times_done = 0;
			state->out.chunk = state->in->chunk;
			state->out.columns = state->in->columns;
			state->out.vectors = state->in->vectors;
			state->out.vector_of = state->in->vector_of;
			state->out.dense = false;
		}
		state->out.slots = state->out.own_slots;
		copy_repeated(state, tg_evaluated(&state->evaluation, operator->condition), tg_step_matches(task->query, at),
					  task->query->batch_max);
		if (state->out.count > 0)
			break;
		state->in = NULL;
	}
	*batch_out = &state->out;
	return TG_OK;
}

static tg_status next_of_morsel(tg_query_task *task, tg_session *session, tg_batch **batch_out);

static tg_status
pull_from(tg_query_task *task, tg_session *session, unsigned at, tg_batch **batch_out)
{
	const tg_plan_step *step = step_of(task->query);
	tg_status status;

	*batch_out = NULL;
	/* a chunk's rows may become very many batches */
	status = tg_query_look(task->query);
	if (tg_unlikely(status != TG_OK))
		return status;
	if (at == task->query->rest)
		return next_of_morsel(task, session, batch_out);
	if (step->operators[at - 1].kind == TG_FILTER)
		return filter(task, session, at - 1, batch_out);
	if (step->operators[at - 1].kind == TG_REPEAT)
		return repeat(task, session, at - 1, batch_out);
	return tg_probe(task, session, at - 1, batch_out);
}

/* Whether the rows of a batch at a place are looked at by the bounds of builds (bound.c). */
static bool
are_bounded(const tg_query_task *task, unsigned at, const tg_batch *batch)
{
	return at == task->bounds_place && task->bounds.count > 0 && !task->bounds_rest && batch != NULL &&
		   batch->chunk != NULL;
}

tg_status
tg_pull(tg_query_task *task, tg_session *session, unsigned at, tg_batch **batch_out)
{
	tg_status status = pull_from(task, session, at, batch_out);

	while (status == TG_OK && are_bounded(task, at, *batch_out))
	{
		task->bounds_in += (*batch_out)->count;
		tg_bounds_keep(&task->bounds, *batch_out);
		task->bounds_out += (*batch_out)->count;
		if ((*batch_out)->count > 0)
			break;
		status = pull_from(task, session, at, batch_out);
	}
	if (status == TG_OK && *batch_out != NULL)
		task->operators[at].rows_in += (*batch_out)->count;
	return status;
}

static tg_status
sink(tg_query_task *task, tg_session *session, tg_batch *batch)
{
	const tg_plan_step *step = step_of(task->query);
	tg_status status;

	task->rows_out += batch->count;
	if (step->sink.kind == TG_SORT)
		return tg_sort_take(task, session, batch);
	tg_codes_want(session, &task->sink, batch);
	status = tg_evaluate(task->query, &task->sink, batch);
	if (status != TG_OK)
		return status;
	switch ((tg_sink_kind) step->sink.kind)
	{
		case TG_BUILD:
			return tg_build_take(task, session, batch);
		case TG_GROUP:
			return tg_group_take(task, session, batch);
		case TG_STORE:
			return tg_store_take(task, session, batch->count);
		default:
			tg_assert(step->sink.kind == TG_DELIVER);
			task->evaluated_count = batch->count;
			return tg_deliver(task, session);
	}
}

/* --- morsels -------------------------------------------------------------------------------- */

/* Whether the source are tables, */
static bool
reads_tables(const tg_query *query)
{
	return query->rest == 0 && step_of(query)->source == TG_FROM_TABLES;
}

/* or a feed; else it is rows that an earlier step has kept. */
static bool
reads_feed(const tg_query *query)
{
	return query->rest == 0 && step_of(query)->source == TG_FROM_FEED;
}

static const tg_hash_table *
source_rows(const tg_query *query)
{
	const tg_plan_step *step = step_of(query);

	return &query->tables[query->rest > 0 ? step->operators[query->rest - 1].build : step->from];
}

/* What is left of a build is of its pass, which is in memory. */
static bool
is_source_in_files(const tg_query *query)
{
	return query->rest == 0 && source_rows(query)->in_files;
}

uint32_t
tg_table_morsels(const tg_plan_table *table)
{
	return table->by_ranges ? table->range_count : tg_table_chunk_count(table->table);
}

uint32_t
tg_step_morsels(tg_query *query)
{
	const tg_plan_step *step = step_of(query);
	uint32_t count = 0;

	if (reads_feed(query))
		return query->task_limit; /* each task reads until there is no more */
	if (!reads_tables(query))
		return is_source_in_files(query) ? source_rows(query)->span_count : source_rows(query)->block_count;
	for (unsigned i = 0; i < step->table_count; i++)
	{
		query->first_morsels[i] = count;
		count += tg_table_morsels(&query->sources[i]);
	}
	return query->clusters != NULL ? tg_clusters_stretches(query) : count;
}

/* The table that a morsel is of; *index_inout becomes the number of its chunk, or range. */
static const tg_plan_table *
find_table(const tg_query *query, uint32_t *index_inout)
{
	const tg_plan_step *step = step_of(query);
	unsigned at = step->table_count - 1;

	while (query->first_morsels[at] > *index_inout)
		at--;
	*index_inout -= query->first_morsels[at];
	return &query->sources[at];
}

/* --- order ----------------------------------------------------------------------------- */

#define MORSELS_MEASURED 4 /* before filters change places for the first time, */
#define MORSELS_BETWEEN 64 /* and from then on */

/* The cost for each row dropped; less is better. */
static double
price(unsigned cost, uint64_t rows_in, uint64_t rows_out)
{
	double in = (double) rows_in;
	double dropped = in - (double) rows_out;

	return cost * (in + 1) / (dropped > 0 ? dropped : 0.5);
}

/* Of the filter at a place. */
static double
price_of(const tg_query_task *task, unsigned place)
{
	const tg_evaluation *evaluation = &task->operators[task->order[place]].evaluation;
	bool bounds_follow = task->bounds.count > 0 && !task->bounds_rest && task->bounds_place == place + 1;

	return price(tg_evaluation_cost(evaluation), task->operators[place].rows_in,
				 bounds_follow ? task->bounds_in : task->operators[place + 1].rows_in);
}

/* Sets what the sorting is by to what there is at the step's beginning. */
static void
measure_anew(tg_query_task *task)
{
	for (unsigned i = 0; i <= step_of(task->query)->operator_count; i++)
		task->operators[i].rows_in = 0;
	task->bounds_in = task->bounds_out = 0;
}

#define BOUNDS_COST 3	/* as of a filter, each */
#define BOUNDS_SHARE 16 /* of the rows: if they drop less, they rest */

/* Places the bounds of builds among the filters, which have been sorted by these prices. */
static void
place_bounds(tg_query_task *task, const double *prices)
{
	double own = price(BOUNDS_COST * task->bounds.count, task->bounds_in, task->bounds_out);

	if (task->bounds.count == 0 || task->bounds_rest)
		return;
	task->bounds_place = 0;
	while (task->bounds_place < task->movable_count && prices[task->bounds_place] < own)
		task->bounds_place++;
	task->bounds_rest = (task->bounds_in - task->bounds_out) * BOUNDS_SHARE < task->bounds_in;
}

/* 1.  Sorts the movable filters by their prices, and measures anew. */
static void
sort_filters(tg_query_task *task)
{
	unsigned count = task->movable_count;
	double prices[FILTERS_SORTED_MAX];

	for (unsigned i = 0; i < count; i++)
		prices[i] = price_of(task, i);
	for (unsigned i = 1; i < count; i++)
		for (unsigned j = i; j > 0 && prices[j] < prices[j - 1]; j--)
		{
			double price = prices[j];
			uint16_t number = task->order[j];

			prices[j] = prices[j - 1];
			prices[j - 1] = price;
			task->order[j] = task->order[j - 1];
			task->order[j - 1] = number;
		}
	place_bounds(task, prices);
	measure_anew(task);
}

/* Filters change places after some morsels; bounds that rest are tried once more before that. */
static void
count_morsel(tg_query_task *task)
{
	unsigned at = ++task->morsels_done % MORSELS_BETWEEN;

	if (at == 0 && task->bounds_rest)
	{
		task->bounds_rest = false;
		measure_anew(task);
	}
	else if (at == MORSELS_MEASURED && (task->movable_count > 1 || task->bounds.count > 0))
		sort_filters(task);
}

/*
 * The rows of a chunk become the batch, none if it is passed over.  TG_BUSY: which there are is not
 * decided yet.
 */
static tg_status
open_chunk(tg_query_task *task, const tg_plan_table *table, uint32_t index)
{
	tg_batch *batch = &task->batch;

	batch->vectors = NULL;
	batch->chunk = tg_table_chunk(table->table, index);
	batch->columns = table->columns;
	batch->count = 0;
	task->is_needless = batch->chunk != NULL && tg_chunk_is_needless(table, batch->chunk, &task->demands);
	if (batch->chunk != NULL && !task->is_needless &&
		!tg_chunk_select(&task->query->snapshot, batch->chunk, batch->own_slots, &batch->count, &batch->dense))
		return TG_BUSY;
	task->chunk_is_dense = batch->count > 0 && (batch->dense || batch->own_slots[batch->count - 1] == batch->count - 1);
	task->chunk_of = table;
	task->passed_before = task->operators[task->movable_count].rows_in;
	task->morsel_rows = batch->count;
	task->chunk_at = 0;
	return TG_OK;
}

/* A block of rows, or a span of those in a file, which is read. */
static tg_status
open_block(tg_query_task *task, uint32_t index)
{
	const tg_hash_table *table = source_rows(task->query);

	task->batch.chunk = NULL;
	task->batch.vectors = NULL;
	task->batch.dense = false;
	task->batch.slots = task->batch.own_slots;
	task->morsel_rows = 0;
	task->block_at = 0;
	task->block = is_source_in_files(task->query) ? task->span_block : table->blocks[index];
	if (!is_source_in_files(task->query))
		return TG_OK;
	return tg_span_read(task->query, &table->layout, table->spans[index].at, table->spans[index].count,
						task->span_block);
}

/* The next rows of a block that are wanted; *at_inout is the place in the block. */
static unsigned
select_rows(const tg_hash_table *table, tg_source source, tg_row_block *block, uint32_t *at_inout, unsigned most,
			tg_row **rows)
{
	unsigned count = 0;

	for (; *at_inout < block->count && count < most; ++*at_inout)
	{
		tg_row *row = tg_row_at(&table->layout, block, *at_inout);

		if (tg_group_is_merged(row) ||
			(source != TG_FROM_ROWS && *tg_row_mark(&table->layout, row) != (source == TG_FROM_MARKED)))
			continue;
		rows[count++] = row;
	}
	return count;
}

static bool
next_of_block(tg_query_task *task)
{
	const tg_query *query = task->query;
	tg_source source = query->rest > 0 ? TG_FROM_UNMARKED : (tg_source) step_of(query)->source;
	unsigned match = query->rest > 0 ? tg_step_matches(query, query->rest - 1) : 0;

	task->batch.count = select_rows(source_rows(query), source, task->block, &task->block_at, query->batch_max,
									task->batch.matches[match]);
	for (unsigned i = 0; i < match; i++)
		memset(task->batch.matches[i], 0, task->batch.count * sizeof(tg_row *));
	task->morsel_rows += task->batch.count;
	return task->batch.count > 0;
}

/*
 * The next rows of a chunk, all of them but for tests.  Operators keep slots at the first places of
 * own_slots, which those of rows that have not got to them are behind.
 */
static bool
next_of_chunk(tg_query_task *task)
{
	tg_batch *batch = &task->batch;
	unsigned left = (unsigned) task->morsel_rows - task->chunk_at;

	batch->count = left < task->query->batch_max ? left : task->query->batch_max;
	batch->dense = task->chunk_is_dense && task->chunk_at == 0;
	batch->slots = (task->chunk_is_dense ? tg_dense_slots : batch->own_slots) + task->chunk_at;
	task->chunk_at += batch->count;
	return batch->count > 0;
}

/* The next rows of the morsel as the batch; NULL: no more.  TG_OK, TG_BUSY, TG_CANCELLED. */
static tg_status
next_of_morsel(tg_query_task *task, tg_session *session, tg_batch **batch_out)
{
	bool are_there;
	tg_status status = TG_OK;

	if (reads_feed(task->query))
	{
		status = tg_feed_next(task, session);
		are_there = status == TG_OK && task->batch.count > 0;
	}
	else if (task->in_range)
	{
		status = tg_range_next(task, session);
		are_there = status == TG_OK && task->batch.count > 0;
	}
	else if (task->block != NULL)
		are_there = next_of_block(task);
	else
		are_there = next_of_chunk(task);
	*batch_out = are_there ? &task->batch : NULL;
	return status;
}

/* Inside an epoch.  TG_BUSY: as of a chunk. */
static tg_status
open_morsel_of_tables(tg_query_task *task, uint32_t morsel)
{
	const tg_plan_table *table;

	if (task->query->clusters != NULL)
		morsel = tg_clusters_chunk(task, morsel);
	table = find_table(task->query, &morsel);
	task->in_range = false;
	task->chunk_of = NULL;
	task->block = NULL;
	if (table->by_ranges)
		tg_range_open(task, table, &table->ranges[morsel]);
	else if (open_chunk(task, table, morsel) != TG_OK)
		return TG_BUSY;
	task->in_morsel = true;
	return TG_OK;
}

/* Whether the movable filters have dropped all rows of a chunk. */
static bool
was_needless(const tg_query_task *task)
{
	return task->chunk_of != NULL && task->morsel_rows > 0 &&
		   (task->operators[task->movable_count].rows_in == task->passed_before ||
			tg_failpoint_refuses("summary_any_chunk"));
}

/* Inside an epoch.  TG_UNFIT, TG_NO_MEMORY. */
static tg_status
close_morsel(tg_query_task *task, tg_session *session)
{
	tg_status status = tg_clusters_end_chunk(task, session);

	task->in_morsel = false;
	if (was_needless(task))
		tg_chunk_was_needless(session, task->chunk_of, task->batch.chunk, &task->demands);
	if (task->query->rest > 0 || task->query->fills_again)
		return status;
	task->rows_in += task->morsel_rows;
	task->chunks_skipped += task->chunk_of != NULL && task->is_needless;
	if (reads_tables(task->query) && task->query->job != NULL)
		tg_job_progress(task->query->job, 1, task->morsel_rows);
	count_morsel(task);
	return status;
}

tg_status
tg_step_take(tg_query_task *task, tg_session *session, uint32_t morsel)
{
	tg_batch *batch = NULL;
	tg_status status = TG_OK;

	if (!task->in_morsel && reads_feed(task->query))
	{
		task->morsel_rows = 0;
		task->in_morsel = true;
	}
	else if (!task->in_morsel && !reads_tables(task->query))
	{
		task->in_range = false;
		task->chunk_of = NULL;
		status = open_block(task, morsel);
		if (status != TG_OK)
			return status;
		task->in_morsel = true;
	}
	tg_epoch_enter(session);
	if (!task->in_morsel)
		status = open_morsel_of_tables(task, morsel);
	if (status == TG_OK && task->evaluated_count > 0)
		status = tg_deliver(task, session); /* what had no room when the task parked */
	else if (status == TG_OK)
	{
		status = tg_pull(task, session, step_of(task->query)->operator_count, &batch);
		if (status == TG_OK && batch != NULL)
			status = sink(task, session, batch);
		else if (status == TG_OK)
			status = close_morsel(task, session);
	}
	tg_epoch_leave(session);
	return status;
}
