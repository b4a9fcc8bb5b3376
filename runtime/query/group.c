/*
 * group.c
 *	  Aggregates: groups of each task, and their merging.
 *
 * Each task has a hash table of its own, with open addressing: an entry is the address of a group
 * and, in the upper 16 bits, a part of its hash.  Rows that follow each other often have the same
 * keys: only the first one of such a run is looked up.  The groups of a batch are found column by
 * column: first a candidate for each run by its hash alone, then the keys are compared for all, and
 * only runs that this leaves are looked up one by one.  Then each aggregate takes its argument's
 * vector.
 *
 * When all rows are there, the groups of a single task are the result.  Those of several are listed
 * by TG_PARTITIONS partitions of their hashes; then each partition is merged, by one task.  A group
 * whose keys no other task has is not touched by that.  Groups of a step that is not the last one
 * are then rows for later steps.
 *
 * A task whose groups have taken its part of the memory writes them to a file, by partition, and
 * begins anew.  If one has, a partition is merged from all parts of it in memory and in files, and
 * written; where it has no room in memory either, it is split by further bits of the hashes.
 *
 * Sums are exact.  A group's sum has a part of 64 bits, to which rows are added without a test, and
 * a total of 128 bits.  The task keeps count of how large the parts of an aggregate may have become
 * by now, from the bounds of the vectors (program.h) and the numbers of rows; before one could
 * overflow, all parts are added to their totals.
 */
#include <math.h>
#include <string.h>

#include "runtime/mem/session.h"
#include "runtime/query/cluster.h"
#include "runtime/query/group_internal.h"
#include "runtime/vector/decimal.h"
#include "runtime/vector/text.h"

static const uint8_t state_bytes[] = {
	[TG_COUNT] = sizeof(uint64_t),		  [TG_SUM_INT] = sizeof(sum_state), [TG_SUM_DECIMAL] = sizeof(tg_decimal_sum),
	[TG_SUM_FLOAT] = sizeof(float_state), [TG_MIN] = sizeof(extreme_state), [TG_MAX] = sizeof(extreme_state)};

bool
tg_group_layout_init(tg_session *session, tg_query *query, tg_row_layout *layout, const tg_sink *sink)
{
	uint8_t *bytes = tg_query_take(session, query, sink->aggregate_count + 1u);

	if (bytes == NULL)
		return false;
	for (unsigned i = 0; i < sink->aggregate_count; i++)
		bytes[i] = state_bytes[sink->aggregates[i].function];
	return tg_row_layout_init(session, query, layout, sink, bytes, sink->aggregate_count);
}

/* --- groups -------------------------------------------------------------------------------- */

#define DIRECTORY_BITS_FIRST 8

bool
tg_group_make_room(tg_session *session, tg_query *query, tg_group_table *table, uint64_t more)
{
	unsigned bits = table->directory == NULL ? DIRECTORY_BITS_FIRST : table->bits;

	while ((uint64_t) 1 << bits < 2 * (table->count + more))
		bits++;
	if (table->directory != NULL && bits == table->bits)
		return true;
	if (table->directory != NULL)
	{
		if (sizeof(uint64_t) << bits < query->rows_max / 8)
			bits++; /* not again soon */
		tg_query_give(session, query, table->directory);
	}
	table->directory = tg_query_take(session, query, sizeof(uint64_t) << bits);
	if (table->directory == NULL)
		return false;
	memset(table->directory, 0, sizeof(uint64_t) << bits);
	table->bits = bits;
	for (tg_row *group = table->first; group != NULL; group = group->next)
		put_entry(table, group);
	return true;
}

/* A new group with this hash, in the list of the task's, without an entry. */
static tg_row *
add_group(tg_query_task *task, tg_session *session, uint64_t hash)
{
	const tg_row_layout *layout = layout_of(task->query);
	tg_group_table *table = &task->groups;
	tg_row *group = task->spare_rows;

	if (group != NULL)
		task->spare_rows = group->next;
	else if ((group = tg_row_add(session, task->query, &table->store, layout)) == NULL)
		return NULL;
	memset(group, 0, layout->bytes);
	group->hash = hash;
	group->next = table->first;
	table->first = group;
	table->count++;
	return group;
}

tg_status
tg_group_begin(tg_query_task *task, tg_session *session)
{
	task->rows_known = 0;
	if (sink_of(task->query)->key_count == 0 && task->groups.count == 0 && add_group(task, session, 0) == NULL)
		return TG_NO_MEMORY;
	return tg_clusters_prepare(task, session);
}

/* The group of a run that the candidates left is found, or made, by itself.  TG_NO_MEMORY. */
static tg_status
find_one(tg_query_task *task, tg_session *session, uint16_t row, uint64_t hash, tg_row **group_out)
{
	const tg_keys keys = tg_sink_keys(task);
	const tg_row_layout *layout = layout_of(task->query);
	tg_group_table *table = &task->groups;
	uint64_t place;
	tg_row *group;

	for (place = place_of(table, hash); table->directory[place] != 0; place = next_place(table, place))
		if (has_tag(table->directory[place], hash))
		{
			uint8_t equal = 1;

			group = tg_entry_row_of(table->directory[place]);
			if (group->hash != hash)
				continue;
			tg_compare_keys(layout, &keys, &row, &group, 1, &equal);
			if (equal == 0)
				continue;
			*group_out = group;
			return TG_OK;
		}
	group = add_group(task, session, hash);
	if (group == NULL)
		return TG_NO_MEMORY;
	table->directory[place] = entry_of(group, hash);
	for (unsigned j = 0; j < keys.count; j++)
		tg_rows_store(layout, j, tg_evaluated(keys.evaluation, keys.fields[j]), &row, &group, 1);
	*group_out = group;
	return TG_OK;
}

#define PREFETCHED_BITS 14 /* a directory of more entries does not stay in the cache */

/* The groups of runs, by their first rows; at is these, or NULL if each row is one. */
static tg_status
find_each(tg_query_task *task, tg_session *session, const uint16_t *at, unsigned runs, tg_row **groups)
{
	const tg_keys keys = tg_sink_keys(task);
	const tg_group_table *table = &task->groups;
	const uint64_t *hashes = task->hashes;
	uint8_t *equal = task->flags;
	tg_row *any = table->first;

	if (table->bits > PREFETCHED_BITS)
		for (unsigned i = 0; i < runs; i++)
			__builtin_prefetch(&table->directory[place_of(table, hashes[i])]);
	for (unsigned i = 0; i < runs; i++)
	{
		uint64_t entry = any == NULL ? 0 : table->directory[place_of(table, hashes[i])];

		/* where there is no candidate, any group will do, to be compared in vain */
		equal[i] = entry != 0 && has_tag(entry, hashes[i]);
		groups[i] = equal[i] != 0 ? tg_entry_row_of(entry) : any;
	}
	if (any != NULL)
		tg_compare_keys(layout_of(task->query), &keys, at, groups, runs, equal);
	for (unsigned i = 0; i < runs; i++)
		if (equal[i] == 0)
		{
			tg_status status = find_one(task, session, (uint16_t) (at != NULL ? at[i] : i), hashes[i], &groups[i]);

			if (status != TG_OK)
				return status;
		}
	return TG_OK;
}

/* The group of each row of the batch, by row: rows of a run have the same one. */
static tg_status
find_groups(tg_query_task *task, tg_session *session, unsigned count)
{
	const tg_keys keys = tg_sink_keys(task);
	tg_runs runs;
	const uint16_t *at;
	const uint8_t *nulls;
	tg_status status;

	if (!tg_codes_classes(&keys, count, &runs))
		tg_find_runs(&keys, count, &runs);
	at = runs.count < count ? runs.begins : NULL;
	tg_hash_keys(&keys, at, runs.count, task->hashes, task->flags, &nulls);
	if (!tg_group_make_room(session, task->query, &task->groups, runs.count))
		return TG_NO_MEMORY;
	status = find_each(task, session, at, runs.count, task->rows);
	/* those of runs come first: from the last row on, none is lost */
	for (unsigned row = at != NULL ? count : 0; row-- > 0;)
		task->rows[row] = task->rows[runs.numbers[row]];
	return status;
}

/* --- aggregates ------------------------------------------------------------------------------- */

/* The rows that count: those whose argument is not NULL, and which the filter lets through. */
static const uint8_t *
find_counted(const tg_query_task *task, const tg_aggregate *aggregate, const tg_vector *argument, unsigned count,
			 uint8_t *counted)
{
	const tg_vector *filter =
		aggregate->filter == TG_REGISTER_NONE ? NULL : tg_evaluated(&task->sink, aggregate->filter);
	const uint8_t *nulls = argument == NULL ? NULL : argument->nulls;

	if (filter == NULL && nulls == NULL)
		return NULL;
	for (unsigned i = 0; i < count; i++)
		counted[i] = nulls == NULL || nulls[argument->constant ? 0 : i] == 0;
	for (unsigned i = 0; filter != NULL && i < count; i++)
	{
		unsigned at = filter->constant ? 0 : i;

		counted[i] &= ((const uint8_t *) filter->data)[at] & (filter->nulls == NULL || filter->nulls[at] == 0);
	}
	return counted;
}

/* Without keys all rows are of the one group, of which their states tell; not all functions ask. */
static void
know_rows(tg_query_task *task, unsigned count)
{
	if (sink_of(task->query)->key_count > 0)
		return;
	for (; task->rows_known < count; task->rows_known++)
		task->rows[task->rows_known] = task->groups.first;
}

/* For each row that counts, with the state of its group. */
#define FOR_EACH_STATE(type, statement)                                                                                \
	do                                                                                                                 \
	{                                                                                                                  \
		know_rows(task, count);                                                                                        \
		if (counted == NULL)                                                                                           \
			for (unsigned i = 0; i < count; i++)                                                                       \
			{                                                                                                          \
				type *state = (type *) ((unsigned char *) task->rows[i] + offset);                                     \
                                                                                                                       \
				statement;                                                                                             \
			}                                                                                                          \
		else                                                                                                           \
			for (unsigned i = 0; i < count; i++)                                                                       \
				if (counted[i] != 0)                                                                                   \
				{                                                                                                      \
					type *state = (type *) ((unsigned char *) task->rows[i] + offset);                                 \
                                                                                                                       \
					statement;                                                                                         \
				}                                                                                                      \
	} while (0)

/* Adds the parts of an aggregate to the totals, in all groups. */
static void
settle_parts(tg_query_task *task, unsigned aggregate)
{
	const tg_row_layout *layout = layout_of(task->query);

	for (tg_row *group = task->groups.first; group != NULL; group = group->next)
	{
		sum_state *state = state_of(layout, group, aggregate);

		state->total += state->part;
		state->part = 0;
	}
	task->headroom[aggregate] = 0;
}

/* All rows are of one group. */
static void
count_alone(uint64_t *state, const uint8_t *counted, unsigned count)
{
	if (counted == NULL)
		*state += count;
	else
		for (unsigned i = 0; i < count; i++)
			*state += counted[i];
}

/* All rows are of one group: one sum, which stays in a register. */
static void
add_ints_alone(tg_query_task *task, unsigned aggregate, const tg_vector *argument, const uint8_t *counted,
			   unsigned count)
{
	sum_state *state = state_of(layout_of(task->query), task->groups.first, aggregate);
	const int64_t *values = argument->data;
	unsigned step = argument->constant ? 0 : 1;
	int64_t sum = 0;
	uint64_t rows = 0;

	if (counted == NULL && step == 1)
	{
		for (unsigned i = 0; i < count; i++)
			sum += values[i];
		rows = count;
	}
	else
		for (unsigned i = 0; i < count; i++)
		{
			sum += counted == NULL || counted[i] != 0 ? values[i * step] : 0;
			rows += counted == NULL || counted[i] != 0;
		}
	state->part += sum;
	state->count += rows;
}

/*
 * The parts of larger values would have to be settled so often that it costs more than it saves, as
 * it goes through all groups: of these, once in 512 full batches.
 */
#define PART_BITS_MAX 44

static void
add_ints(tg_query_task *task, unsigned aggregate, tg_vector *argument, const uint8_t *counted, unsigned count)
{
	uint16_t offset = layout_of(task->query)->offsets[layout_of(task->query)->field_count + aggregate];
	unsigned bits = tg_vector_measure(argument, count);
	const int64_t *values = argument->data;
	unsigned step = argument->constant ? 0 : 1;
	uint64_t added;

	if (bits > PART_BITS_MAX)
	{
		FOR_EACH_STATE(sum_state, state->total += values[i * step]; state->count++);
		return;
	}
	added = (uint64_t) count << bits;
	if (task->headroom[aggregate] + added > (uint64_t) INT64_MAX)
		settle_parts(task, aggregate);
	task->headroom[aggregate] += added;
	if (sink_of(task->query)->key_count == 0)
		add_ints_alone(task, aggregate, argument, counted, count);
	else
		FOR_EACH_STATE(sum_state, state->part += values[i * step]; state->count++);
}

/* The sum of the squares of as many values as there can be does not overflow. */
#define SQUARED_MAX 1e140

/*
 * An infinity that comes of finite values is an error of the host's.  Its average sums squares,
 * too, so values that might make them overflow are left to it.
 */
static tg_status
add_floats(tg_query_task *task, uint16_t offset, const tg_vector *argument, const uint8_t *counted, unsigned count)
{
	const double *values = argument->data;
	unsigned step = argument->constant ? 0 : 1;
	unsigned overflows = 0;

	FOR_EACH_STATE(float_state, {
		double value = values[i * step];
		double sum = state->count == 0 ? value : state->total + value; /* the first may be -0 */

		overflows |= !isinf(value) && ((isinf(sum) && !isinf(state->total)) || fabs(value) > SQUARED_MAX);
		state->total = sum;
		state->count++;
	});
	return overflows != 0 ? TG_UNFIT : TG_OK;
}

static tg_status
add_decimals(tg_query_task *task, uint16_t offset, const tg_vector *argument, const uint8_t *counted, unsigned count)
{
	const tg_decimal *values = argument->data;
	unsigned step = argument->constant ? 0 : 1;
	bool fits = true;

	FOR_EACH_STATE(tg_decimal_sum, {
		const tg_decimal *value = &values[i * step];

		fits = fits && tg_decimal_sum_add(state, tg_decimal_value(value), tg_decimal_scale(value), 1);
	});
	return fits ? TG_OK : TG_UNFIT;
}

/* The order of two values: below, at or above 0. */
static int
compare_values(tg_vector_type type, const tg_value *a, const tg_value *b)
{
	int64_t x;
	int64_t y;

	switch (type)
	{
		case TG_V_FLOAT:
		{
			double v;
			double w;

			memcpy(&v, &a->word, sizeof(v));
			memcpy(&w, &b->word, sizeof(w));
			if (isnan(v) || isnan(w))
				return (isnan(v) != 0) - (isnan(w) != 0);
			return (v > w) - (v < w);
		}
		case TG_V_TEXT:
			return tg_text_compare(&a->string, &b->string);
		case TG_V_DECIMAL:
			return tg_decimal_compare((const tg_decimal *) a->bytes, (const tg_decimal *) b->bytes);
		default:
			x = (int64_t) a->word;
			y = (int64_t) b->word;
			return (x > y) - (x < y);
	}
}

void
tg_extreme_take(tg_vector_type type, bool wants_most, extreme_state *state, const tg_value *value)
{
	int order = state->count == 0 ? 0 : compare_values(type, value, &state->value);

	/* of equal values (decimals of two scales, zeros of two signs) the later one */
	if (state->count == 0 || (wants_most ? order >= 0 : order <= 0))
		state->value = *value;
	state->count++;
}

static tg_value
value_of(const tg_vector *vector, unsigned row)
{
	unsigned at = vector->constant ? 0 : row;
	tg_value value = {.word = 0};

	switch ((tg_vector_type) vector->type)
	{
		case TG_V_BOOL:
			value.word = ((const uint8_t *) vector->data)[at];
			break;
		case TG_V_TEXT:
			value.string = ((const tg_string *) vector->data)[at];
			break;
		case TG_V_DECIMAL:
			memcpy(value.bytes, (const tg_decimal *) vector->data + at, sizeof(tg_decimal));
			break;
		case TG_V_FLOAT:
			memcpy(&value.word, (const double *) vector->data + at, sizeof(value.word));
			break;
		default:
			value.word = ((const uint64_t *) vector->data)[at];
			break;
	}
	return value;
}

/* All rows are of one group, and count: the extreme of them stays in a register. */
static void
take_ints_alone(extreme_state *state, const tg_vector *argument, bool wants_most, unsigned count)
{
	const int64_t *values = argument->data;
	int64_t extreme = values[0];

	if (wants_most)
		for (unsigned i = 1; i < count; i++)
			extreme = values[i] > extreme ? values[i] : extreme;
	else
		for (unsigned i = 1; i < count; i++)
			extreme = values[i] < extreme ? values[i] : extreme;
	tg_extreme_take(TG_V_INT, wants_most, state, &(tg_value){.word = (uint64_t) extreme});
	state->count += count - 1;
}

static void
take_extremes(tg_query_task *task, uint16_t offset, const tg_vector *argument, bool wants_most, const uint8_t *counted,
			  unsigned count)
{
	if (sink_of(task->query)->key_count == 0 && counted == NULL && argument->type == TG_V_INT && !argument->constant &&
		count > 0)
	{
		take_ints_alone((extreme_state *) ((unsigned char *) task->groups.first + offset), argument, wants_most, count);
		return;
	}
	FOR_EACH_STATE(extreme_state, {
		tg_value value = value_of(argument, i);

		tg_extreme_take(argument->type, wants_most, state, &value);
	});
}

static tg_status
update(tg_query_task *task, unsigned index, unsigned count)
{
	const tg_aggregate *aggregate = &sink_of(task->query)->aggregates[index];
	uint16_t offset = layout_of(task->query)->offsets[layout_of(task->query)->field_count + index];
	tg_vector *argument =
		aggregate->argument == TG_REGISTER_NONE ? NULL : tg_evaluated(&task->sink, aggregate->argument);
	uint8_t flags[TG_VECTOR_ROWS];
	const uint8_t *counted = find_counted(task, aggregate, argument, count, flags);

	switch ((tg_function) aggregate->function)
	{
		case TG_COUNT:
			if (sink_of(task->query)->key_count == 0)
				count_alone((uint64_t *) ((unsigned char *) task->groups.first + offset), counted, count);
			else
				FOR_EACH_STATE(uint64_t, (*state)++);
			return TG_OK;
		case TG_SUM_INT:
			add_ints(task, index, argument, counted, count);
			return TG_OK;
		case TG_SUM_DECIMAL:
			return add_decimals(task, offset, argument, counted, count);
		case TG_SUM_FLOAT:
			return add_floats(task, offset, argument, counted, count);
		default:
			take_extremes(task, offset, argument, aggregate->function == TG_MAX, counted, count);
			return TG_OK;
	}
}

/* --- taking rows ---------------------------------------------------------------------------- */

void
tg_group_settle(tg_query_task *task)
{
	const tg_sink *sink = sink_of(task->query);

	for (unsigned i = 0; i < sink->aggregate_count; i++)
		if (sink->aggregates[i].function == TG_SUM_INT)
			settle_parts(task, i);
}

static tg_status
spill(tg_query_task *task, tg_session *session)
{
	tg_group_settle(task);
	tg_clusters_give_up(task, session);
	return tg_groups_write(task->query, session, &task->groups, 0, &task->group_runs);
}

tg_status
tg_group_take(tg_query_task *task, tg_session *session, tg_batch *batch)
{
	const tg_sink *sink = sink_of(task->query);

	tg_codes_expand_aggregates(&task->sink, sink, batch->count);
	if (sink->key_count > 0)
	{
		tg_status status = TG_OK;

		if (!tg_rows_fit(task->query, &task->groups.store, layout_of(task->query), batch->count))
		{
			/* what was evaluated stays (step.c), but for codes */
			tg_codes_expand_all(&task->sink, batch->count);
			tg_epoch_leave(session);
			status = spill(task, session);
			tg_epoch_enter(session);
		}
		if (status == TG_OK)
			status = find_groups(task, session, batch->count);
		if (status != TG_OK)
			return status;
	}
	for (unsigned i = 0; i < sink->aggregate_count; i++)
	{
		tg_status status = update(task, i, batch->count);

		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

tg_status
tg_group_end(tg_query_task *task, tg_session *session)
{
	tg_clusters_end(task, session);
	tg_group_settle(task);
	if (task->group_runs != NULL && task->groups.count > 0)
		return spill(task, session);
	return TG_OK;
}
