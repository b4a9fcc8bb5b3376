/*
 * bound.c
 *	  The least and the greatest key of a build, which bound what scans that probe it want.
 *
 * A row whose key lies outside finds nothing in the hash table.  Where the join drops such rows,
 * the scan drops them first, by one comparison and without a hash, and passes over the chunks that
 * have no other ones (skip.c).
 *
 *		build of orders, id in [5000, 5999]  ->  scan of items: order_id in [5000, 5999]
 *
 * 1. A key is bounded if the probe's is a column of the scan as it is stored: an integer, a numeric
 *	  of the same scale, a date or time.  Equal keys have equal registers, so they are ordered alike
 *	  on both sides.  (The host takes no floats for keys.)
 * 2. Nothing that may fail comes before the probe, or is computed for it: a row that is dropped is
 *	  one for which the host would compute nothing more.  Nor does a probe in front of it mark.
 * 3. Tasks measure the rows that they build, each for itself; the last one puts that together, when
 *	  it is alone (phase.c, 1).  Rows that go to files are measured, too.
 * 4. Where bounds drop few rows they are not looked at for a while (step.c); chunks are passed over
 *	  even so.
 */
#include "runtime/query/query_internal.h"

#include "runtime/order/kind.h"
#include "runtime/table/summary.h"
#include "runtime/table/table.h"

static const tg_bounds nothing = {.low = INT64_MAX, .high = INT64_MIN};

/* Whether a row that finds nothing is dropped. */
static bool
drops_unmatched(tg_join join)
{
	return join == TG_JOIN_INNER || join == TG_JOIN_SEMI || join == TG_JOIN_MARK || join == TG_JOIN_RIGHT;
}

/* (1) */
const tg_input *
tg_bounds_column(const tg_operator *operator, unsigned key)
{
	const tg_expressions *expressions = operator->expressions;
	uint16_t number = operator->keys[key];
	const tg_input *input = &expressions->inputs[number];

	if (number >= expressions->program.input_count || input->source != 0)
		return NULL;
	return input->load == TG_LOAD_INT || input->load == TG_LOAD_NUMERIC ? input : NULL;
}

/* --- build -------------------------------------------------------------------------------- */

static unsigned
bounded_keys(const tg_sink *sink)
{
	return sink->key_count < TG_KEYS_BOUNDED ? sink->key_count : TG_KEYS_BOUNDED;
}

/* Whether a step behind looks rows of its tables up by that key of the build. */
static bool
is_wanted(const tg_plan *plan, unsigned build, unsigned key)
{
	for (unsigned i = build + 1; i < plan->step_count; i++)
		for (unsigned j = 0; plan->steps[i].source == TG_FROM_TABLES && j < plan->steps[i].operator_count; j++)
		{
			const tg_operator *operator= & plan->steps[i].operators[j];

			if (operator->kind == TG_PROBE && operator->build == build && drops_unmatched((tg_join) operator->join) &&
				tg_bounds_column(operator, key) != NULL)
				return true;
		}
	return false;
}

/* The step that the build is told by: of several with one sink, the last one. */
static unsigned
build_of(const tg_query *query)
{
	unsigned step = query->step;

	while (query->plan->steps[step].sink.goes_on)
		step++;
	return step;
}

void
tg_bounds_begin(tg_query_task *task)
{
	const tg_query *query = task->query;
	const tg_sink *sink = &query->plan->steps[query->step].sink;
	unsigned build = build_of(query);

	if (task->bounds_of == build + 1)
		return; /* it has rows of a step before */
	task->bounds_of = build + 1;
	task->keys_measured = 0;
	for (unsigned i = 0; sink->kind == TG_BUILD && i < bounded_keys(sink); i++)
		if (is_wanted(query->plan, build, i))
			task->keys_measured |= (uint8_t) (1u << i);
	for (unsigned i = 0; i < TG_KEYS_BOUNDED; i++)
		task->key_bounds[i] = nothing;
}

static void
extend(tg_bounds *bounds, int64_t value)
{
	bounds->low = value < bounds->low ? value : bounds->low;
	bounds->high = value > bounds->high ? value : bounds->high;
}

static void
measure(const int64_t *values, const uint8_t *nulls, unsigned count, tg_bounds *bounds)
{
	for (unsigned i = 0; nulls == NULL && i < count; i++)
		extend(bounds, values[i]);
	for (unsigned i = 0; nulls != NULL && i < count; i++)
		if (nulls[i] == 0)
			extend(bounds, values[i]);
}

void
tg_bounds_measure(tg_query_task *task, unsigned count)
{
	const tg_sink *sink = &task->query->plan->steps[task->query->step].sink;

	for (unsigned i = 0; i < bounded_keys(sink); i++)
	{
		const tg_vector *key = tg_evaluated(&task->sink, sink->fields[i]);

		if ((task->keys_measured >> i & 1) != 0)
			measure(key->data, key->nulls, key->constant ? 1 : count, &task->key_bounds[i]);
	}
}

void
tg_bounds_collect(tg_query *query)
{
	tg_hash_table *table = &query->tables[query->step];

	table->keys_bounded = query->tasks[0].keys_measured;
	for (unsigned i = 0; i < TG_KEYS_BOUNDED; i++)
	{
		table->key_bounds[i] = nothing;
		for (unsigned j = 0; j < query->task_most; j++)
		{
			const tg_bounds *of_task = &query->tasks[j].key_bounds[i];

			if (of_task->low > of_task->high)
				continue;
			extend(&table->key_bounds[i], of_task->low);
			extend(&table->key_bounds[i], of_task->high);
		}
	}
}

/* --- scan --------------------------------------------------------------------------------- */

static void
add_bounds(const tg_query *query, const tg_operator *operator, tg_demands * bounds)
{
	const tg_hash_table *table = &query->tables[operator->build];

	for (unsigned i = 0; i < TG_KEYS_BOUNDED; i++)
	{
		const tg_input *input;

		if ((table->keys_bounded >> i & 1) == 0 || bounds->count == TG_DEMANDS_MAX)
			continue;
		input = tg_bounds_column(operator, i);
		if (input != NULL)
			bounds->demands[bounds->count++] = (tg_demand){.field = input->field,
														   .order = TG_BOUNDS_INT,
														   .low = table->key_bounds[i].low,
														   .high = table->key_bounds[i].high};
	}
}

/* (2) */
unsigned
tg_bounds_next(const tg_plan_step *step, unsigned from)
{
	for (unsigned i = 0; step->source == TG_FROM_TABLES && i < step->operator_count; i++)
	{
		const tg_operator *operator= & step->operators[i];

		if (tg_program_may_fail(&operator->expressions->program))
			break;
		if (operator->kind != TG_PROBE)
			continue;
		if (i >= from && drops_unmatched((tg_join) operator->join))
			return i;
		if (tg_join_has_rest((tg_join) operator->join) ||
			(operator->match != NULL && tg_program_may_fail(&operator->match->program)))
			break;
	}
	return step->operator_count;
}

void
tg_bounds_find(const tg_query *query, tg_demands *bounds)
{
	const tg_plan_step *step = &query->plan->steps[query->step];

	bounds->count = 0;
	for (unsigned i = tg_bounds_next(step, 0); i < step->operator_count; i = tg_bounds_next(step, i + 1))
		add_bounds(query, &step->operators[i], bounds);
}

/* Whether values are in an interval, a byte each: of a batch's rows. */
#define TEST(type)                                                                                                     \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *values = column;                                                                                   \
                                                                                                                       \
		if (batch->dense)                                                                                              \
			for (unsigned i = 0; i < batch->count; i++)                                                                \
				inside[i] = values[i] >= low && values[i] <= high;                                                     \
		else                                                                                                           \
			for (unsigned i = 0; i < batch->count; i++)                                                                \
				inside[i] = values[batch->slots[i]] >= low && values[batch->slots[i]] <= high;                         \
	} while (0)

/* What lies beside a NULL may be anything: the probe drops the row. */
static void
test(const tg_batch *batch, unsigned number, const tg_demand *demand, uint8_t *inside)
{
	const void *column = tg_chunk_column(batch->chunk, number);
	int64_t low = demand->low;
	int64_t high = demand->high;

	switch ((tg_kind) batch->chunk->layout->kinds[number])
	{
		case TG_KIND_1:
			TEST(int8_t);
			break;
		case TG_KIND_2:
			TEST(int16_t);
			break;
		case TG_KIND_4:
			TEST(int32_t);
			break;
		case TG_KIND_8:
			TEST(int64_t);
			break;
		default:
			tg_assert(batch->chunk->layout->kinds[number] == TG_KIND_16);
			TEST(__int128);
			break;
	}
}

void
tg_bounds_keep(const tg_demands *bounds, tg_batch *batch)
{
	uint8_t inside[TG_VECTOR_ROWS];
	uint16_t kept[TG_VECTOR_ROWS];
	const tg_vector condition = {.data = inside, .type = TG_V_BOOL};

	for (unsigned i = 0; i < bounds->count && batch->count > 0; i++)
	{
		const tg_demand *demand = &bounds->demands[i];
		unsigned number = batch->columns != NULL ? batch->columns[demand->field] : demand->field;

		if (demand->low > demand->high || !tg_chunk_has_column(batch->chunk, number))
		{
			batch->count = 0; /* the build is empty; or the column was added later, and is NULL */
			return;
		}
		test(batch, number, demand, inside);
		tg_batch_keep(batch, kept, tg_select_true(&condition, batch->count, kept), 0);
	}
}
