/*
 * group_merge.c
 *	  Merging the groups of tasks, by partitions.
 *
 * Where all groups are in memory, a partition is merged where its groups lie.  If a task has groups
 * in files, the groups of a partition are copied from all parts of it, in memory and in files, into
 * a table of its own, and are written when they are merged.  What has no room there goes to files
 * again, by partitions of the next level: by further bits of the hashes.  The last level takes the
 * memory that it needs.
 */
#include <math.h>
#include <string.h>

#include "runtime/query/group_internal.h"
#include "runtime/vector/decimal.h"

#define LEVELS 7 /* of partitions of partitions */

static inline unsigned
partition_of(uint64_t hash, unsigned level)
{
	return (hash >> (40 - 6 * level)) % TG_PARTITIONS;
}

_Static_assert(TG_PARTITIONS == 1 << 6 && 40 - 6 * (LEVELS - 1) >= 0, "a level takes six bits of the hash");

static void
forget_directory(tg_session *session, tg_query *query, tg_group_table *table)
{
	if (table->directory != NULL)
		tg_query_give(session, query, table->directory);
	table->directory = NULL;
}

tg_status
tg_groups_write(tg_query *query, tg_session *session, tg_group_table *table, unsigned level, tg_partition_run **runs)
{
	tg_row *lists[TG_PARTITIONS] = {NULL};
	tg_partition_run run;
	tg_status status;
	tg_row *next;

	for (tg_row *group = table->first; group != NULL; group = next)
	{
		tg_row **list = &lists[partition_of(group->hash, level)];

		next = group->next;
		group->next = *list;
		*list = group;
	}
	status = tg_partitions_write(query, layout_of(query), lists, &run);
	tg_rows_forget(session, query, &table->store);
	forget_directory(session, query, table);
	*table = (tg_group_table){0};
	return status == TG_OK ? tg_partition_run_add(session, query, &run, runs) : status;
}

/* --- merging ---------------------------------------------------------------------------------- */

tg_status
tg_group_split(tg_query_task *task, tg_session *session)
{
	tg_group_table *table = &task->groups;
	uint64_t ends[TG_PARTITIONS] = {0};

	forget_directory(session, task->query, table);
	task->refs = tg_query_take(session, task->query, (table->count + 1) * sizeof(tg_group_ref));
	if (task->refs == NULL)
		return TG_NO_MEMORY;
	for (const tg_row *group = table->first; group != NULL; group = group->next)
		ends[partition_of(group->hash, 0)]++;
	task->ref_starts[0] = 0;
	for (unsigned i = 0; i < TG_PARTITIONS; i++)
	{
		task->ref_starts[i + 1] = task->ref_starts[i] + ends[i];
		ends[i] = task->ref_starts[i];
	}
	for (tg_row *group = table->first; group != NULL; group = group->next)
		task->refs[ends[partition_of(group->hash, 0)]++] = (tg_group_ref){.hash = group->hash, .group = group};
	return TG_OK;
}

void
tg_group_refs_forget(tg_query_task *task, tg_session *session)
{
	if (task->refs != NULL)
		tg_query_give(session, task->query, task->refs);
	task->refs = NULL;
}

/* Adds the states of a group to those of another one with the same keys. */
static tg_status
merge_states(const tg_query *query, tg_row *into, tg_row *from)
{
	const tg_sink *sink = sink_of(query);
	const tg_row_layout *layout = layout_of(query);

	for (unsigned i = 0; i < sink->aggregate_count; i++)
	{
		const tg_aggregate *aggregate = &sink->aggregates[i];
		void *to = state_of(layout, into, i);
		const void *more = state_of(layout, from, i);

		switch ((tg_function) aggregate->function)
		{
			case TG_COUNT:
				*(uint64_t *) to += *(const uint64_t *) more;
				break;
			case TG_SUM_INT:
				((sum_state *) to)->total += ((const sum_state *) more)->total;
				((sum_state *) to)->count += ((const sum_state *) more)->count;
				break;
			case TG_SUM_DECIMAL:
			{
				const tg_decimal_sum *other = more;

				if (!tg_decimal_sum_add(to, tg_decimal_sum_value(other), (unsigned) other->scale, other->count))
					return TG_UNFIT;
				break;
			}
			case TG_SUM_FLOAT:
			{
				float_state *state = to;
				const float_state *other = more;
				double sum = state->total + other->total;

				if (other->count == 0)
					break;
				if (state->count == 0)
					sum = other->total;
				if (isinf(sum) && !isinf(state->total) && !isinf(other->total))
					return TG_UNFIT;
				state->total = sum;
				state->count += other->count;
				break;
			}
			default:
			{
				extreme_state *state = to;
				const extreme_state *other = more;
				uint64_t count = state->count + other->count;

				if (other->count > 0)
					tg_extreme_take(sink->expressions->program.types[aggregate->argument],
									aggregate->function == TG_MAX, state, &other->value);
				state->count = count;
				break;
			}
		}
	}
	return TG_OK;
}

/*
 * The group with the same keys as this one, whose hash it is; NULL: there is none, and *place_out
 * is where its entry belongs.
 */
static tg_row *
find(const tg_query *query, const tg_group_table *table, tg_row *group, uint64_t hash, uint64_t *place_out)
{
	uint64_t place;

	for (place = place_of(table, hash); table->directory[place] != 0; place = next_place(table, place))
	{
		tg_row *other = tg_entry_row_of(table->directory[place]);

		if (has_tag(table->directory[place], hash) && other->hash == hash &&
			tg_rows_equal(layout_of(query), sink_of(query)->key_count, other, group))
			return other;
	}
	*place_out = place;
	return NULL;
}

tg_status
tg_group_enter(tg_query *query, tg_session *session, tg_group_table *table, tg_row *group)
{
	uint64_t place;
	tg_row *other;
	tg_status status;

	if (!tg_group_make_room(session, query, table, 1))
		return TG_NO_MEMORY;
	other = find(query, table, group, group->hash, &place);
	if (other != NULL)
	{
		status = merge_states(query, other, group);
		tg_group_set_merged(group);
		return status;
	}
	group->next = table->first;
	table->first = group;
	table->count++;
	table->directory[place] = entry_of(group, group->hash);
	return TG_OK;
}

/* --- merging groups in files ------------------------------------------------------------------ */

/* One of the groups of a partition; a copy of it stays. */
static tg_status
merge_group(tg_query *query, tg_session *session, tg_group_table *table, tg_row *group)
{
	uint64_t place;
	tg_row *copy;
	tg_row *other;

	if (!tg_group_make_room(session, query, table, 1))
		return TG_NO_MEMORY;
	other = find(query, table, group, group->hash, &place);
	if (other != NULL)
		return merge_states(query, other, group);
	copy = tg_row_add(session, query, &table->store, layout_of(query));
	if (copy == NULL)
		return TG_NO_MEMORY;
	memcpy(copy, group, layout_of(query)->bytes);
	copy->next = table->first;
	table->first = copy;
	table->count++;
	table->directory[place] = entry_of(copy, copy->hash);
	return TG_OK;
}

/* What has no room goes to files again, by partitions of the next level. */
typedef struct merging
{
	tg_query *query;
	tg_session *session;
	unsigned level;
	tg_group_table table;
	tg_partition_run *spilled;
} merging;

static tg_status
make_room_for(merging *merging, uint32_t count)
{
	if (merging->level + 1 == LEVELS ||
		tg_rows_fit(merging->query, &merging->table.store, layout_of(merging->query), count))
		return TG_OK;
	return tg_groups_write(merging->query, merging->session, &merging->table, merging->level + 1, &merging->spilled);
}

static tg_status
merge_kept(merging *merging, const tg_query_task *task, unsigned partition)
{
	tg_status status = TG_OK;

	for (uint64_t i = task->ref_starts[partition]; i < task->ref_starts[partition + 1] && status == TG_OK; i++)
	{
		status = make_room_for(merging, 1);
		if (status == TG_OK)
			status = merge_group(merging->query, merging->session, &merging->table, task->refs[i].group);
	}
	return status;
}

static tg_status
merge_block(merging *merging, tg_row_block *block)
{
	const tg_row_layout *layout = layout_of(merging->query);
	tg_status status = make_room_for(merging, block->count);

	for (uint32_t i = 0; i < block->count && status == TG_OK; i++)
		status = merge_group(merging->query, merging->session, &merging->table, tg_row_at(layout, block, i));
	return status;
}

/* The groups of a partition of a run. */
static tg_status
merge_run(merging *merging, const tg_partition_run *run, unsigned partition, tg_row_block *block)
{
	const tg_row_layout *layout = layout_of(merging->query);
	uint64_t end = run->starts[partition + 1];
	tg_status status = TG_OK;

	for (uint64_t at = run->starts[partition]; at < end && status == TG_OK; at += block->count)
	{
		uint32_t count = end - at < block->capacity ? (uint32_t) (end - at) : block->capacity;

		status = tg_span_read(merging->query, layout, run->at + at * layout->bytes, count, block);
		if (status == TG_OK)
			status = merge_block(merging, block);
	}
	return status;
}

static tg_status merge_level(merging *merging, const tg_partition_run *runs, unsigned partition, tg_row_block *block);

/* All groups are in the table, or in partitions of the next level. */
static tg_status
finish_level(merging *at, tg_row_block *block)
{
	tg_query *query = at->query;
	tg_status status = TG_OK;

	if (at->spilled == NULL)
	{
		tg_fetch_add_relaxed(&query->reports[query->step].rows_kept, at->table.count);
		if (at->table.count > 0)
			status = tg_rows_write(at->session, query, &query->tables[query->step], at->table.first, at->table.count);
		tg_rows_forget(at->session, query, &at->table.store);
		forget_directory(at->session, query, &at->table);
		return status;
	}
	if (at->table.count > 0)
		status = tg_groups_write(query, at->session, &at->table, at->level + 1, &at->spilled);
	for (unsigned i = 0; i < TG_PARTITIONS && status == TG_OK; i++)
	{
		merging next = {.query = query, .session = at->session, .level = at->level + 1};

		status = merge_level(&next, at->spilled, i, block);
	}
	return status;
}

static tg_status
merge_level(merging *merging, const tg_partition_run *runs, unsigned partition, tg_row_block *block)
{
	tg_status status = TG_OK;

	for (const tg_partition_run *run = runs; run != NULL && status == TG_OK; run = run->next)
		status = merge_run(merging, run, partition, block);
	return status == TG_OK ? finish_level(merging, block) : status;
}

/* Groups of one partition, of all tasks; what is in memory first. */
static tg_status
merge_files(tg_query *query, tg_session *session, unsigned partition)
{
	merging first = {.query = query, .session = session};
	tg_row_block *block = tg_span_block(session, query, layout_of(query));
	tg_status status = TG_OK;

	if (block == NULL)
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < query->task_most && status == TG_OK; i++)
		status = merge_kept(&first, &query->tasks[i], partition);
	for (unsigned i = 0; i < query->task_most && status == TG_OK; i++)
		for (const tg_partition_run *run = query->tasks[i].group_runs; run != NULL && status == TG_OK; run = run->next)
			status = merge_run(&first, run, partition, block);
	if (status == TG_OK)
		status = finish_level(&first, block);
	tg_query_give(session, query, block);
	return status;
}

tg_status
tg_group_written(tg_session *session, tg_query *query)
{
	tg_hash_table *table = &query->tables[query->step];

	for (unsigned i = 0; i < query->task_most; i++)
	{
		tg_query_task *task = &query->tasks[i];

		tg_rows_forget(session, query, &task->groups.store);
		tg_group_refs_forget(task, session);
		task->groups = (tg_group_table){0};
		task->group_runs = NULL;
	}
	if (query->step + 1 == query->plan->step_count &&
		(query->result_block = tg_span_block(session, query, &table->layout)) == NULL)
		return TG_NO_MEMORY;
	return tg_rows_written(session, query, table);
}

/* --- merging groups in memory ----------------------------------------------------------------- */

/* How far ahead an entry of the directory is fetched, and half of it, the groups of that entry. */
#define PREFETCHED_REFS 16

static inline void
prefetch_groups(const tg_group_table *table, const tg_group_ref *ref)
{
	uint64_t entry = table->directory[place_of(table, ref->hash)];

	if (entry == 0 || !has_tag(entry, ref->hash))
		return;
	__builtin_prefetch(tg_entry_row_of(entry));
	__builtin_prefetch(ref->group);
}

/* The groups of a task come into the table, or into groups that are there. */
static tg_status
merge_refs(const tg_query *query, tg_group_table *table, const tg_group_ref *refs, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
	{
		uint64_t place;
		tg_row *other;

		if (i + PREFETCHED_REFS < count)
			__builtin_prefetch(&table->directory[place_of(table, refs[i + PREFETCHED_REFS].hash)]);
		if (i + PREFETCHED_REFS / 2 < count)
			prefetch_groups(table, &refs[i + PREFETCHED_REFS / 2]);
		other = find(query, table, refs[i].group, refs[i].hash, &place);
		if (other == NULL)
		{
			table->directory[place] = entry_of(refs[i].group, refs[i].hash);
			table->count++;
		}
		else
		{
			tg_status status = merge_states(query, other, refs[i].group);

			if (status != TG_OK)
				return status;
			tg_group_set_merged(refs[i].group);
		}
	}
	return TG_OK;
}

tg_status
tg_group_merge(tg_query *query, tg_session *session, unsigned partition)
{
	tg_group_table table = {0};
	uint64_t count = 0;
	tg_status status = TG_OK;

	if (query->tables[query->step].in_files)
		return merge_files(query, session, partition);
	for (unsigned i = 0; i < query->task_most; i++)
		count += query->tasks[i].ref_starts[partition + 1] - query->tasks[i].ref_starts[partition];
	if (count == 0)
		return TG_OK;
	if (!tg_group_make_room(session, query, &table, count))
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < query->task_most && status == TG_OK; i++)
	{
		const tg_query_task *task = &query->tasks[i];
		uint64_t start = task->ref_starts[partition];

		status = merge_refs(query, &table, task->refs + start, task->ref_starts[partition + 1] - start);
	}
	forget_directory(session, query, &table);
	tg_fetch_add_relaxed(&query->reports[query->step].rows_kept, table.count);
	return status;
}
