/*
 * cluster.c
 *	  Groups whose rows all lie in a few chunks, which are complete when these have been read.
 *
 * Tables are often stored in about the order of a column: of numbers that ascend, of times.  Then a
 * stretch of chunks, in the order of that column, has an interval of its values that no other chunk
 * has.  If rows are grouped by it, no other chunk has rows of the groups in that interval.
 *
 *		chunks 32 to 47:  order_id  9001 to 13152
 *		chunks 48 to 63:  order_id 12930 to 17404	complete behind them: 13153 to 17199
 *		chunks 64 to 79:  order_id 17200 to 21650
 *
 * So a task groups the rows of a stretch in a hash table that stays in the cache.  When it has read
 * the stretch, its complete groups are set aside: they keep their memory, but are neither looked up
 * any more nor merged.  If the one step that reads the groups begins with filters (HAVING), groups
 * that these drop are dropped at once, and their memory is used again.  The groups that other
 * chunks may have, too, come into the task's other table, with those of the stretches before.
 *
 * 1. The values of a chunk are those of all rows that the query's snapshot sees there.  Which rows
 *	  these are is constant while the snapshot is published.  A settled chunk's bounds are in its
 *	  summary; of another one the rows are looked at.
 * 2. In the order of the chunks' least values: a value is a stretch's alone if the greatest values
 *	  of all chunks before are below it, and the least values of all chunks behind are above it.
 *	  A few chunks have values from here and there, as a load leaves them where its parts end.
 *	  They would overlap many others, so they come behind all others, and have none alone.  Their
 *	  values are in a set, a bit for some values each, and a value whose bit is set is nobody's
 *	  alone.  Nor are NULLs.  Chunks without any value are read last.
 * 3. All rows of a group come with its stretch: the source is one table, of which all rows are
 *	  read, once.  So there are no passes of builds in files, no builds whose rows go on without a
 *	  match, and no other step has the same sink.
 * 4. The parts of sums are added to the totals before a group leaves the stretch's table, so other
 *	  groups have none.
 * 5. A task that has to spill puts all of its groups together, as if this file did not exist.
 * 6. What stretches have alone is found by one thread, before the step's tasks begin, which only
 *	  read it.  A stretch is one task's from its first chunk to its last, across turns.
 */
#include "runtime/query/cluster.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/exec/scan.h"
#include "runtime/mem/session.h"
#include "runtime/order/kind.h"
#include "runtime/query/group_internal.h"
#include "runtime/table/table.h"

#define STRETCH 32		   /* chunks; */
#define STRETCH_EARLY 2	   /* for tests, whose tables are small */
#define CHUNKS_MIN 128	   /* of a table */
#define CHUNKS_AN_EPOCH 64 /* that are measured at a time */
#define CHUNKS_TRIED 16	   /* to see whether the table is ordered by a key: */
#define NARROW 8		   /* then most have less than such a part of all values */
#define DIRECTORY_BITS 16  /* of a stretch's table, at most, between two stretches */
#define FILTERS_MAX 4	   /* that are tried on complete groups */
#define FEW_SHARE 16	   /* of the chunks: more unsettled, or scattered, ones take too long */
#define WIDTHS_TRIED 32	   /* of which the middle one is what is usual */
#define SCATTERED 4		   /* so many times as wide is a chunk with values from here and there */
#define BITS_A_VALUE 16

/* Values from low to high; none if low is above high. */
typedef struct interval
{
	int64_t low;
	int64_t high;
} interval;

struct tg_clusters
{
	unsigned key;		   /* of the sink */
	uint32_t count;		   /* of chunks, */
	uint32_t stretch;	   /* and of those of a stretch */
	uint32_t *order;	   /* in which they are read */
	interval *alone;	   /* by stretch: the values of the key that no other one has, */
	uint64_t *set;		   /* but for those of scattered chunks; NULL: there are none */
	unsigned bits;		   /* of the set's index */
	unsigned shift;		   /* the lower bits of values that say little */
	unsigned reader;	   /* the step that reads the groups, */
	unsigned filter_count; /* and its first filters; 0: they are not tried here */
};

static uint32_t
stretches_of(const tg_clusters *clusters)
{
	return (clusters->count + clusters->stretch - 1) / clusters->stretch;
}

/* Of a chunk, while the intervals are found. */
typedef struct extent
{
	interval values;
	uint32_t chunk;
} extent;

static const interval nothing = {.low = INT64_MAX, .high = INT64_MIN};

static bool
is_empty(interval values)
{
	return values.low > values.high;
}

/* --- the values of a chunk (1) --------------------------------------------------------------- */

static void
extend(interval *values, int64_t value)
{
	values->low = value < values->low ? value : values->low;
	values->high = value > values->high ? value : values->high;
}

#define READ(type)                                                                                                     \
	for (unsigned i = 0; i < count; i++)                                                                               \
		if (!tg_chunk_is_null(chunk, column, slots[i]))                                                                \
	values[(*count_out)++] = ((const type *) tg_chunk_column(chunk, column))[slots[i]]

/* Of all rows.  False: it is not decided yet which these are, or values are wider than 8 bytes. */
static bool
read_values(const tg_query *query, const tg_chunk *chunk, unsigned column, int64_t values[TG_SLOT_MAX],
			unsigned *count_out)
{
	uint16_t slots[TG_SLOT_MAX];
	unsigned count;
	bool first;

	*count_out = 0;
	if (!tg_chunk_select(&query->snapshot, chunk, slots, &count, &first))
		return false;
	for (unsigned i = 0; first && i < count; i++)
		slots[i] = (uint16_t) i;
	switch ((tg_kind) chunk->layout->kinds[column])
	{
		case TG_KIND_1:
			READ(int8_t);
			return true;
		case TG_KIND_2:
			READ(int16_t);
			return true;
		case TG_KIND_4:
			READ(int32_t);
			return true;
		case TG_KIND_8:
			READ(int64_t);
			return true;
		default:
			return false;
	}
}

static bool
look_at_rows(const tg_query *query, const tg_chunk *chunk, unsigned column, interval *values_out)
{
	int64_t values[TG_SLOT_MAX];
	unsigned count;

	if (!read_values(query, chunk, column, values, &count))
		return false;
	for (unsigned i = 0; i < count; i++)
		extend(values_out, values[i]);
	return true;
}

/* Inside an epoch.  False: they are not known; *looked_inout counts the chunks not settled. */
static bool
find_values(tg_session *session, tg_query *query, uint32_t index, unsigned column, interval *values_out,
			uint32_t *looked_inout)
{
	tg_chunk *chunk = tg_table_chunk(query->sources[0].table, index);
	tg_bounds bounds;

	*values_out = nothing;
	if (chunk == NULL || !tg_chunk_has_column(chunk, column))
		return true;
	if (!tg_summary_get(chunk, column, TG_BOUNDS_INT, &bounds))
	{
		tg_summary_make(session, chunk, column, TG_BOUNDS_INT);
		if (!tg_summary_get(chunk, column, TG_BOUNDS_INT, &bounds))
		{
			++*looked_inout;
			return look_at_rows(query, chunk, column, values_out);
		}
	}
	*values_out = (interval){.low = bounds.low, .high = bounds.high};
	return true;
}

/* --- scattered chunks (2) -------------------------------------------------------------------- */

static bool
is_few(const tg_query *query, uint32_t chunks, uint32_t of)
{
	return chunks <= CHUNKS_MIN || chunks <= of / FEW_SHARE || query->groups_early;
}

static uint64_t
width_of(const extent *extent)
{
	return (uint64_t) extent->values.high - (uint64_t) extent->values.low;
}

static int
compare_widths(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a;
	uint64_t y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* How wide a chunk is usually, by some of them. */
static uint64_t
usual_width(const extent *extents, uint32_t count)
{
	uint64_t widths[WIDTHS_TRIED];

	for (unsigned i = 0; i < WIDTHS_TRIED; i++)
		widths[i] = width_of(&extents[(uint64_t) count * i / WIDTHS_TRIED]);
	qsort(widths, WIDTHS_TRIED, sizeof(*widths), compare_widths);
	return widths[WIDTHS_TRIED / 2];
}

/* Puts scattered chunks behind the others; how many others there are. */
static uint32_t
part_scattered(extent *extents, uint32_t count)
{
	uint64_t usual = count > 0 ? usual_width(extents, count) : 0;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++)
		if (width_of(&extents[i]) / SCATTERED <= usual)
		{
			extent moved = extents[i];

			extents[i] = extents[kept];
			extents[kept++] = moved;
		}
	return kept;
}

/* Values near each other have their bits near each other, so a stretch needs a few lines. */
static inline uint64_t
bit_of(const tg_clusters *clusters, int64_t value)
{
	uint64_t place = (uint64_t) value >> clusters->shift;

	return (place ^ place >> clusters->bits) & (((uint64_t) 1 << clusters->bits) - 1);
}

static inline bool
is_in_set(const tg_clusters *clusters, int64_t value)
{
	uint64_t bit = bit_of(clusters, value);

	return (clusters->set[bit / 64] >> bit % 64 & 1) != 0;
}

/* False: they are not known, or there is no memory for them. */
static bool
make_set(tg_session *session, tg_query *query, unsigned column, const extent *scattered, uint32_t count,
		 tg_clusters *clusters)
{
	int64_t values[TG_SLOT_MAX];
	unsigned bits = 6;
	uint64_t all = 0;
	bool known = true;

	while ((uint64_t) 1 << bits < (uint64_t) count * TG_SLOT_MAX * BITS_A_VALUE)
		bits++;
	for (uint32_t i = 0; i < count; i++)
		all |= (uint64_t) scattered[i].values.low | (uint64_t) scattered[i].values.high;
	clusters->shift = all == 0 ? 0 : (unsigned) __builtin_ctzll(all);
	clusters->bits = bits;
	clusters->set = tg_query_alloc(session, query, ((size_t) 1 << bits) / 8);
	for (uint32_t i = 0; clusters->set != NULL && known && i < count; i++)
	{
		const tg_chunk *chunk;
		unsigned value_count;

		tg_epoch_enter(session);
		chunk = tg_table_chunk(query->sources[0].table, scattered[i].chunk);
		known = chunk != NULL && read_values(query, chunk, column, values, &value_count);
		for (unsigned j = 0; known && j < value_count; j++)
			clusters->set[bit_of(clusters, values[j]) / 64] |= (uint64_t) 1 << bit_of(clusters, values[j]) % 64;
		tg_epoch_leave(session);
	}
	return clusters->set != NULL && known;
}

/* --- what a stretch has alone (2) ------------------------------------------------------------ */

static int
compare_extents(const void *a, const void *b)
{
	const extent *x = a;
	const extent *y = b;

	return (x->values.low > y->values.low) - (x->values.low < y->values.low);
}

static void
sort_extents(extent *extents, uint32_t count)
{
	for (uint32_t i = 1; i < count; i++)
		if (extents[i].values.low < extents[i - 1].values.low)
		{
			qsort(extents, count, sizeof(*extents), compare_extents);
			return;
		}
}

/*
 * Of the sorted extents of the chunks that are not scattered: what stretches have alone.  Returns
 * how many of them have most of their values alone.
 */
static uint32_t
find_alone(const extent *extents, uint32_t count, const tg_clusters *clusters)
{
	int64_t before = INT64_MIN; /* the greatest value of all chunks before */
	uint32_t apart = 0;

	for (uint32_t first = 0; first < count; first += clusters->stretch)
	{
		uint32_t end = first + clusters->stretch < count ? first + clusters->stretch : count;
		interval *own = &clusters->alone[first / clusters->stretch];
		interval all = {.low = extents[first].values.low, .high = INT64_MIN};

		for (uint32_t i = first; i < end; i++)
			all.high = extents[i].values.high > all.high ? extents[i].values.high : all.high;
		*own = all;
		if (first > 0 && before >= all.low)
			own->low = before < INT64_MAX ? before + 1 : before;
		if (end < count && extents[end].values.low <= all.high)
			own->high = extents[end].values.low > INT64_MIN ? extents[end].values.low - 1 : INT64_MIN;
		if ((first > 0 && before == INT64_MAX) || (end < count && extents[end].values.low == INT64_MIN))
			*own = nothing;
		apart += !is_empty(*own) &&
				 ((uint64_t) own->high - (uint64_t) own->low) / 2 >= ((uint64_t) all.high - (uint64_t) all.low) / 4;
		before = all.high > before ? all.high : before;
	}
	return apart;
}

/* --- which key ------------------------------------------------------------------------------- */

/* The table's column that a key is, whose values can be bounded; UINT16_MAX: none. */
static unsigned
column_of(const tg_query *query, unsigned key)
{
	const tg_sink *sink = sink_of(query);
	const tg_plan_table *table = &query->sources[0];
	uint16_t number = sink->fields[key];
	const tg_input *input = &sink->expressions->inputs[number];

	if (number >= sink->expressions->program.input_count || input->source != 0 ||
		(input->load != TG_LOAD_INT && input->load != TG_LOAD_NUMERIC))
		return UINT16_MAX;
	return table->columns != NULL ? table->columns[input->field] : input->field;
}

/* (3) */
static bool
is_possible(const tg_query *query)
{
	const tg_plan_step *step = &query->plan->steps[query->step];
	bool goes_on = query->step > 0 && query->plan->steps[query->step - 1].sink.goes_on;

	if (step->sink.kind != TG_GROUP || step->sink.key_count == 0 || step->sink.goes_on || goes_on ||
		step->source != TG_FROM_TABLES || step->table_count != 1 || query->sources[0].by_ranges ||
		tg_step_next_rest(query, 0) < step->operator_count)
		return false;
	for (unsigned i = 0; i < step->operator_count; i++)
		if (step->operators[i].kind == TG_PROBE && query->tables[step->operators[i].build].in_files)
			return false;
	return true;
}

/* Whether the table seems to be in about the order of a column: some chunks are narrow. */
static bool
seems_ordered(tg_session *session, tg_query *query, unsigned column, uint32_t count)
{
	extent tried[CHUNKS_TRIED];
	interval all = nothing;
	unsigned found = 0;
	unsigned narrow = 0;
	uint32_t looked = 0;

	if (query->groups_early)
		return true;
	tg_epoch_enter(session);
	for (unsigned i = 0; i < CHUNKS_TRIED; i++)
	{
		if (!find_values(session, query, (uint32_t) ((uint64_t) count * i / CHUNKS_TRIED), column, &tried[found].values,
						 &looked) ||
			is_empty(tried[found].values))
			continue;
		extend(&all, tried[found].values.low);
		extend(&all, tried[found].values.high);
		found++;
	}
	tg_epoch_leave(session);
	for (unsigned i = 0; i < found; i++)
		narrow += width_of(&tried[i]) < ((uint64_t) all.high - (uint64_t) all.low) / NARROW && width_of(&tried[i]) > 0;
	return narrow > CHUNKS_TRIED / 2;
}

/* The extents of all chunks that have values; their number.  UINT32_MAX: they are not known. */
static uint32_t
find_extents(tg_session *session, tg_query *query, unsigned column, uint32_t count, extent *extents)
{
	uint32_t looked = 0;
	uint32_t found = 0;
	bool known = true;

	for (uint32_t i = 0; i < count && known; i++)
	{
		if (i % CHUNKS_AN_EPOCH == 0)
			tg_epoch_enter(session);
		known = find_values(session, query, i, column, &extents[found].values, &looked) &&
				is_few(query, looked, count) && tg_query_look(query) != TG_CANCELLED;
		extents[found].chunk = i;
		found += !is_empty(extents[found].values);
		if (i % CHUNKS_AN_EPOCH == CHUNKS_AN_EPOCH - 1 || i + 1 == count || !known)
			tg_epoch_leave(session);
	}
	return known ? found : UINT32_MAX;
}

/* All chunks: those that have values, as the extents are, then the others; has_values is room. */
static void
put_in_order(const extent *extents, uint32_t found, bool *has_values, tg_clusters *clusters)
{
	uint32_t at = clusters->count;

	for (uint32_t i = 0; i < clusters->count; i++)
		has_values[i] = false;
	for (uint32_t i = 0; i < found; i++)
	{
		clusters->order[i] = extents[i].chunk;
		has_values[extents[i].chunk] = true;
	}
	for (uint32_t i = 0; i < clusters->count; i++)
		if (!has_values[i])
			clusters->order[--at] = i;
	tg_assert(at == found);
}

/* What stretches have alone, by a key's column; false: not enough. */
static bool
find_by(tg_session *session, tg_query *query, unsigned column, tg_clusters *clusters, extent *extents)
{
	uint32_t found = find_extents(session, query, column, clusters->count, extents);
	uint32_t apart;
	uint32_t kept;

	if (found == UINT32_MAX)
		return false;
	kept = part_scattered(extents, found);
	if (!is_few(query, found - kept, found) ||
		(kept < found && !make_set(session, query, column, extents + kept, found - kept, clusters)))
		return false;
	for (uint32_t i = 0; i < stretches_of(clusters); i++)
		clusters->alone[i] = nothing;
	sort_extents(extents, kept);
	apart = find_alone(extents, kept, clusters);
	put_in_order(extents, found, (bool *) (extents + clusters->count), clusters);
	return apart > stretches_of(clusters) / 2 || query->groups_early;
}

/* The one step that reads the groups, and how many filters it begins with. */
static void
find_reader(const tg_query *query, tg_clusters *clusters)
{
	const tg_plan *plan = query->plan;
	unsigned readers = 0;

	for (unsigned i = query->step + 1; i < plan->step_count; i++)
		if (tg_source_is_step((tg_source) plan->steps[i].source) && plan->steps[i].from == query->step)
		{
			clusters->reader = i;
			readers++;
		}
	clusters->filter_count = 0;
	if (readers != 1)
		return;
	while (clusters->filter_count < FILTERS_MAX &&
		   clusters->filter_count < plan->steps[clusters->reader].operator_count &&
		   plan->steps[clusters->reader].operators[clusters->filter_count].kind == TG_FILTER)
		clusters->filter_count++;
}

static void
give(tg_session *session, tg_query *query, void *memory)
{
	if (memory != NULL)
		tg_query_give(session, query, memory);
}

/* By a key, which is a column of the table.  NULL: not enough is alone, or there is no memory. */
static tg_clusters *
make(tg_session *session, tg_query *query, unsigned key, unsigned column, uint32_t count)
{
	size_t room = count / STRETCH_EARLY + 1;
	tg_clusters *clusters =
		tg_query_take(session, query, sizeof(*clusters) + room * sizeof(interval) + count * sizeof(uint32_t));
	extent *extents = tg_query_take(session, query, count * (sizeof(*extents) + sizeof(bool)));
	bool found = false;

	if (clusters != NULL && extents != NULL)
	{
		*clusters = (tg_clusters){.key = key,
								  .count = count,
								  .stretch = query->groups_early ? STRETCH_EARLY : STRETCH,
								  .alone = (interval *) (clusters + 1)};
		clusters->order = (uint32_t *) (clusters->alone + room);
		find_reader(query, clusters);
		found = find_by(session, query, column, clusters, extents);
		if (!found)
			give(session, query, clusters->set);
	}
	give(session, query, extents);
	if (!found)
		give(session, query, clusters);
	return found ? clusters : NULL;
}

void
tg_clusters_find(tg_session *session, tg_query *query)
{
	uint32_t count;

	query->clusters = NULL;
	if (!is_possible(query))
		return;
	count = tg_table_chunk_count(query->sources[0].table);
	if (count == 0 || (count < CHUNKS_MIN && !query->groups_early))
		return;
	for (unsigned key = 0; key < sink_of(query)->key_count && query->clusters == NULL; key++)
	{
		unsigned column = column_of(query, key);

		if (column != UINT16_MAX && seems_ordered(session, query, column, count))
			query->clusters = make(session, query, key, column, count);
	}
}

/* --- stretches ------------------------------------------------------------------------------- */

uint32_t
tg_clusters_stretches(const tg_query *query)
{
	return stretches_of(query->clusters);
}

uint32_t
tg_clusters_chunk(const tg_query_task *task, uint32_t stretch)
{
	return task->query->clusters->order[stretch * task->query->clusters->stretch + task->stretch_at];
}

/* --- groups ---------------------------------------------------------------------------------- */

tg_status
tg_clusters_prepare(tg_query_task *task, tg_session *session)
{
	const tg_clusters *clusters = task->query->clusters;
	const tg_plan_step *reader;

	task->clusters = clusters;
	task->shared_groups = (tg_group_table){0};
	task->groups_aside = NULL;
	task->aside_count = 0;
	task->spare_rows = NULL;
	task->stretch_at = 0;
	if (clusters == NULL || clusters->filter_count == 0)
		return TG_OK;
	reader = &task->query->plan->steps[clusters->reader];
	task->having = tg_task_take(task, session, clusters->filter_count * sizeof(tg_evaluation));
	if (task->having == NULL)
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < clusters->filter_count; i++)
	{
		const tg_expressions *expressions = reader->operators[i].expressions;
		void *memory = tg_task_take(task, session, tg_evaluation_bytes(expressions));

		if (memory == NULL)
			return TG_NO_MEMORY;
		tg_evaluation_init(&task->having[i], expressions, clusters->reader, false, memory);
	}
	return TG_OK;
}

/* Of so many complete groups those that the reader's filters keep stay, the first ones then. */
static tg_status
drop_groups(tg_query_task *task, tg_row **groups, unsigned *count_inout)
{
	const tg_clusters *clusters = task->clusters;
	uint16_t kept[TG_VECTOR_ROWS];
	tg_batch batch = {.slots = tg_dense_slots, .matches = {groups}};

	for (unsigned i = 0; i < clusters->filter_count; i++)
	{
		const tg_operator *filter = &task->query->plan->steps[clusters->reader].operators[i];
		unsigned count;
		tg_status status;

		if (*count_inout == 0)
			break;
		batch.count = *count_inout;
		status = tg_evaluate(task->query, &task->having[i], &batch);
		if (status != TG_OK)
			return status;
		count = tg_select_true(tg_evaluated(&task->having[i], filter->condition), batch.count, kept);
		/* those that are dropped are behind the others afterwards */
		for (unsigned j = 0; j < count; j++)
		{
			tg_row *group = groups[kept[j]];

			groups[kept[j]] = groups[j];
			groups[j] = group;
		}
		*count_inout = count;
	}
	return TG_OK;
}

static tg_status
set_aside(tg_query_task *task, tg_row **groups, unsigned count)
{
	unsigned kept = count;
	tg_status status = drop_groups(task, groups, &kept);

	if (status != TG_OK)
		return status;
	for (unsigned i = 0; i < count; i++)
	{
		tg_row **list = i < kept ? &task->groups_aside : &task->spare_rows;

		groups[i]->next = *list;
		*list = groups[i];
	}
	task->aside_count += kept;
	if (kept < count)
	{
		tg_fetch_add_relaxed(&task->query->reports[task->query->step].rows_kept, count - kept);
		tg_fetch_add_relaxed(&task->query->reports[task->clusters->reader].rows_in, count - kept);
	}
	return TG_OK;
}

static bool
is_alone(const tg_query *query, const tg_clusters *clusters, uint32_t stretch, tg_row *group)
{
	int64_t value = *(const int64_t *) tg_row_field(layout_of(query), group, clusters->key);
	const interval *alone = &clusters->alone[stretch];

	return tg_row_nulls(group)[clusters->key] == 0 && value >= alone->low && value <= alone->high &&
		   (clusters->set == NULL || !is_in_set(clusters, value));
}

/* The stretch's table is empty again, with room for the next one. */
static void
empty_table(tg_query_task *task, tg_session *session)
{
	tg_group_table *table = &task->groups;

	if (table->bits > DIRECTORY_BITS)
	{
		tg_query_give(session, task->query, table->directory);
		table->directory = NULL;
	}
	else
		memset(table->directory, 0, sizeof(uint64_t) << table->bits);
	table->first = NULL;
	table->count = 0;
}

tg_status
tg_clusters_end_chunk(tg_query_task *task, tg_session *session)
{
	const tg_clusters *all = task->query->clusters;
	tg_row *groups[TG_VECTOR_ROWS];
	unsigned count = 0;
	tg_status status = TG_OK;
	tg_row *next;

	if (all == NULL)
		return TG_OK;
	if (++task->stretch_at < all->stretch && task->morsel * all->stretch + task->stretch_at < all->count)
		return TG_OK;
	task->stretch_at = 0;
	if (task->clusters == NULL || task->groups.count == 0)
		return TG_OK;
	tg_group_settle(task); /* 4 */
	for (tg_row *group = task->groups.first; group != NULL && status == TG_OK; group = next)
	{
		next = group->next;
		if (!is_alone(task->query, task->clusters, task->morsel, group))
		{
			status = tg_group_enter(task->query, session, &task->shared_groups, group);
			continue;
		}
		groups[count++] = group;
		if (count == task->query->batch_max)
		{
			status = set_aside(task, groups, count);
			count = 0;
		}
	}
	if (status == TG_OK && count > 0)
		status = set_aside(task, groups, count);
	empty_table(task, session);
	return status;
}

/* Memory that is not used again is no group's. */
static void
forget_spare_rows(tg_query_task *task)
{
	tg_row *next;

	for (tg_row *row = task->spare_rows; row != NULL; row = next)
	{
		next = row->next;
		tg_group_set_merged(row);
	}
	task->spare_rows = NULL;
}

/* The groups of two lists become one list. */
static void
put_before(tg_row *list, tg_row **first_inout)
{
	tg_row *last = list;

	if (list == NULL)
		return;
	while (last->next != NULL)
		last = last->next;
	last->next = *first_inout;
	*first_inout = list;
}

/* The other table becomes the task's, with the groups of a list. */
static void
take_shared(tg_query_task *task, tg_session *session, tg_row *more)
{
	tg_group_table *groups = &task->groups;

	if (groups->directory != NULL)
		tg_query_give(session, task->query, groups->directory);
	groups->directory = task->shared_groups.directory;
	groups->bits = task->shared_groups.bits;
	groups->count += task->shared_groups.count;
	put_before(more, &task->shared_groups.first);
	groups->first = task->shared_groups.first;
	task->shared_groups = (tg_group_table){0};
	forget_spare_rows(task);
	task->clusters = NULL;
}

void
tg_clusters_end(tg_query_task *task, tg_session *session)
{
	if (task->clusters == NULL)
		return;
	tg_assert(task->groups.count == 0);
	take_shared(task, session, NULL);
}

void
tg_clusters_give_up(tg_query_task *task, tg_session *session)
{
	if (task->clusters != NULL)
		take_shared(task, session, task->groups.first);
	put_before(task->groups_aside, &task->groups.first);
	task->groups.count += task->aside_count;
	task->groups_aside = NULL;
	task->aside_count = 0;
}

void
tg_clusters_report(tg_query *query)
{
	for (unsigned i = 0; i < query->task_most; i++)
	{
		tg_query_task *task = &query->tasks[i];

		query->reports[query->step].rows_kept += task->aside_count;
		task->groups_aside = NULL;
		task->aside_count = 0;
	}
}
