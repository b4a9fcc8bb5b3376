/*
 * group_rows.c
 *	  Groups that are complete, as rows for later steps and for the requester.
 */
#include <string.h>

#include "runtime/query/group_internal.h"
#include "runtime/vector/decimal.h"

tg_status
tg_group_keep(tg_session *session, tg_query *query)
{
	if (query->tables[query->step].in_files)
		return TG_OK;
	for (unsigned i = 0; i < query->task_most; i++)
	{
		tg_query_task *task = &query->tasks[i];

		task->store = task->groups.store;
		task->groups = (tg_group_table){0};
		tg_group_refs_forget(task, session);
	}
	return tg_rows_collect(session, query, &query->tables[query->step]) ? TG_OK : TG_NO_MEMORY;
}

static void
load_extreme(const extreme_state *state, unsigned row, tg_vector *vector)
{
	switch ((tg_vector_type) vector->type)
	{
		case TG_V_BOOL:
			((uint8_t *) vector->data)[row] = (uint8_t) state->value.word;
			break;
		case TG_V_TEXT:
			((tg_string *) vector->data)[row] = state->value.string;
			break;
		case TG_V_DECIMAL:
			memcpy((tg_decimal *) vector->data + row, state->value.bytes, sizeof(tg_decimal));
			break;
		default:
			((uint64_t *) vector->data)[row] = state->value.word;
			break;
	}
}

static bool
load_sum(const tg_decimal_sum *sum, tg_decimal *out)
{
	return tg_decimal_make(tg_decimal_sum_value(sum), (unsigned) sum->scale, out);
}

/* How many rows an aggregate is of. */
static uint64_t
count_of(tg_function function, const void *state)
{
	switch (function)
	{
		case TG_COUNT:
			return *(const uint64_t *) state;
		case TG_SUM_INT:
			return ((const sum_state *) state)->count;
		case TG_SUM_DECIMAL:
			return ((const tg_decimal_sum *) state)->count;
		case TG_SUM_FLOAT:
			return ((const float_state *) state)->count;
		default:
			return ((const extreme_state *) state)->count;
	}
}

/* Likewise, of groups that may be missing. */
static void
load_counts(const tg_row_layout *layout, tg_function function, unsigned aggregate, tg_row *const *groups,
			unsigned count, tg_vector *vector)
{
	for (unsigned i = 0; i < count; i++)
	{
		vector->nulls[i] = groups[i] == NULL;
		((uint64_t *) vector->data)[i] =
			groups[i] == NULL ? 0 : count_of(function, state_of(layout, groups[i], aggregate));
	}
}

tg_status
tg_group_load(const tg_query *query, unsigned step, unsigned aggregate, tg_row *const *groups, unsigned count,
			  tg_vector *vector)
{
	const tg_row_layout *layout = &query->tables[step].layout;
	const tg_sink *sink = &query->plan->steps[step].sink;
	bool counts = aggregate >= sink->aggregate_count;
	tg_function function;
	uint8_t any = 0;

	aggregate -= counts ? sink->aggregate_count : 0;
	function = (tg_function) sink->aggregates[aggregate].function;
	if (counts)
	{
		load_counts(layout, function, aggregate, groups, count, vector);
		return TG_OK;
	}
	for (unsigned i = 0; i < count; i++)
	{
		const void *state;
		const sum_state *sum;

		if (groups[i] == NULL)
		{
			size_t width = tg_vector_width(vector->type);

			memset((unsigned char *) vector->data + i * width, 0, width);
			any = vector->nulls[i] = 1;
			continue;
		}
		sum = state = state_of(layout, groups[i], aggregate);
		switch (function)
		{
			case TG_COUNT:
				((uint64_t *) vector->data)[i] = *(const uint64_t *) state;
				vector->nulls[i] = 0;
				continue;
			case TG_SUM_INT:
				if (sum->total != (int64_t) sum->total)
					return TG_UNFIT;
				((int64_t *) vector->data)[i] = (int64_t) sum->total;
				vector->nulls[i] = sum->count == 0;
				break;
			case TG_SUM_DECIMAL:
				if (!load_sum(state, (tg_decimal *) vector->data + i))
					return TG_UNFIT;
				vector->nulls[i] = ((const tg_decimal_sum *) state)->count == 0;
				break;
			case TG_SUM_FLOAT:
				((double *) vector->data)[i] = ((const float_state *) state)->total;
				vector->nulls[i] = ((const float_state *) state)->count == 0;
				break;
			default:
				load_extreme(state, i, vector);
				vector->nulls[i] = ((const extreme_state *) state)->count == 0;
				break;
		}
		any |= vector->nulls[i];
	}
	if (any == 0)
		vector->nulls = NULL;
	return TG_OK;
}

void
tg_group_read(const tg_query *query, unsigned step, tg_row *group, tg_value *keys, bool *key_nulls, tg_total *totals)
{
	const tg_sink *sink = &query->plan->steps[step].sink;
	const tg_row_layout *layout = &query->tables[step].layout;

	for (unsigned i = 0; i < sink->key_count; i++)
	{
		const void *field = tg_row_field(layout, group, i);

		key_nulls[i] = tg_row_nulls(group)[i] != 0;
		if (tg_vector_width((tg_vector_type) layout->types[i]) == sizeof(tg_value))
			memcpy(keys[i].bytes, field, sizeof(tg_value));
		else
			memcpy(&keys[i].word, field, sizeof(uint64_t));
	}
	for (unsigned i = 0; i < sink->aggregate_count; i++)
	{
		const void *state = state_of(layout, group, i);
		tg_total *total = &totals[i];

		*total = (tg_total){0};
		switch ((tg_function) sink->aggregates[i].function)
		{
			case TG_COUNT:
				total->count = *(const uint64_t *) state;
				break;
			case TG_SUM_INT:
				total->sum = ((const sum_state *) state)->total;
				total->count = ((const sum_state *) state)->count;
				break;
			case TG_SUM_DECIMAL:
				total->sum = tg_decimal_sum_value(state);
				total->count = ((const tg_decimal_sum *) state)->count;
				total->scale = (int) ((const tg_decimal_sum *) state)->scale;
				break;
			case TG_SUM_FLOAT:
				total->total = ((const float_state *) state)->total;
				total->count = ((const float_state *) state)->count;
				break;
			default:
				total->value = ((const extreme_state *) state)->value;
				total->count = ((const extreme_state *) state)->count;
				break;
		}
	}
}
