/*
 * sorted.c
 *	  The rows of a SORT, in order: the requester merges the runs of all tasks, while it takes the
 *	  rows.
 *
 * If there are more runs in files than can be read at the same time, tasks merge them first, some
 * runs into one each, until there are few enough.
 */
#include "runtime/query/sorted.h"

#include <string.h>

#include "runtime/exec/vectors.h"
#include "runtime/order/kind.h"

#define BUFFER_ROWS_MIN 64
#define BUFFER_BYTES_MAX ((size_t) 256 << 10)
#define READ_BYTES_MIN ((uint64_t) 16 << 10) /* of a run, at a time */
#define READ_BYTES_MAX ((uint64_t) 256 << 10)

/* Those of the rows' fields, as many rows as fit.  NULL: refused. */
static tg_vectors *
make_buffer(tg_session *session, tg_query *query, const tg_sink *sink)
{
	uint16_t *columns = tg_query_alloc(session, query, (sink->field_count + 1u) * sizeof(uint16_t));
	uint8_t *kinds = tg_query_alloc(session, query, sink->field_count + 1u);
	unsigned rows = query->batch_max;
	void *memory;

	if (columns == NULL || kinds == NULL)
		return NULL;
	for (unsigned i = 0; i < sink->field_count; i++)
	{
		columns[i] = (uint16_t) i;
		kinds[i] = sink->expressions->program.types[sink->fields[i]] == TG_V_TEXT ? TG_KIND_STRING : TG_KIND_8;
	}
	while (rows > BUFFER_ROWS_MIN && tg_vectors_bytes(kinds, sink->field_count, rows) > BUFFER_BYTES_MAX)
		rows /= 2;
	memory = tg_query_take(session, query, tg_vectors_bytes(kinds, sink->field_count, rows));
	return memory == NULL ? NULL : tg_vectors_init(memory, columns, kinds, sink->field_count, rows);
}

tg_status
tg_sort_create(tg_session *session, tg_query *query)
{
	const tg_sink *sink = &query->plan->steps[query->plan->step_count - 1].sink;
	tg_sorted *sorted = tg_query_alloc(session, query, sizeof(*sorted));

	tg_assert(sink->sort_key_count > 0 && sink->limit > 0);
	if (sorted == NULL)
		return TG_NO_MEMORY;
	sorted->rows_left = sink->limit;
	sorted->bound = UINT64_MAX;
	query->sorted = sorted;
	if (!sink->sorts_groups && (sorted->buffer = make_buffer(session, query, sink)) == NULL)
		return TG_NO_MEMORY;
	return TG_OK;
}

/* --- runs in files --------------------------------------------------------------------------- */

static uint32_t
count_files(const tg_query *query)
{
	uint32_t count = 0;

	for (unsigned i = 0; i < query->task_most; i++)
		for (const tg_file_run *run = query->tasks[i].file_runs; run != NULL; run = run->next)
			count++;
	return count;
}

/* Of all tasks; false: refused. */
static bool
collect_files(tg_session *session, tg_query *query)
{
	tg_sorted *sorted = query->sorted;

	sorted->file_count = 0;
	sorted->files = tg_query_take(session, query, (count_files(query) + 1) * sizeof(tg_file_run *));
	if (sorted->files == NULL)
		return false;
	for (unsigned i = 0; i < query->task_most; i++)
		for (tg_file_run *run = query->tasks[i].file_runs; run != NULL; run = run->next)
			sorted->files[sorted->file_count++] = run;
	return true;
}

/* Of so many runs, how many are merged at a time, by half of the memory, and by how large reads. */
static void
choose_merge(tg_query *query, uint64_t runs, unsigned tasks)
{
	tg_sorted *sorted = query->sorted;
	uint64_t row_bytes = query->tables[query->step].layout.bytes;
	uint64_t memory = tg_query_memory_left(query) / 2 / tasks;
	uint64_t bytes = memory / runs;

	bytes = bytes > READ_BYTES_MAX ? READ_BYTES_MAX : bytes < READ_BYTES_MIN ? READ_BYTES_MIN : bytes;
	bytes = bytes < row_bytes ? row_bytes : bytes;
	sorted->buffer_rows = (uint32_t) (bytes / row_bytes);
	sorted->merged_count = (uint32_t) (memory / bytes);
	if (sorted->merged_count < 2 || query->keeps_nothing)
		sorted->merged_count = 2;
}

uint32_t
tg_sort_merge_count(const tg_query *query)
{
	const tg_sorted *sorted = query->sorted;

	return (sorted->file_count + sorted->merged_count - 1) / sorted->merged_count;
}

/* The number of runs that the requester can merge is known when few are left. */
bool
tg_sort_has_many_files(tg_query *query)
{
	tg_sorted *sorted = query->sorted;

	if (sorted->file_count == 0)
		return false;
	choose_merge(query, sorted->file_count, 1);
	if (sorted->file_count <= sorted->merged_count)
		return false;
	choose_merge(query, sorted->file_count, query->task_limit);
	return true;
}

tg_status
tg_sort_merge(tg_query *query, tg_session *session, uint32_t number)
{
	tg_sorted *sorted = query->sorted;
	uint32_t first = number * sorted->merged_count;
	uint32_t end =
		sorted->file_count - first < sorted->merged_count ? sorted->file_count : first + sorted->merged_count;
	tg_file_run *merged = NULL;
	uint64_t rows = 0;
	tg_merge merge;
	tg_status status = TG_OK;

	if (!tg_merge_begin(&merge, session, query, end - first))
		return TG_NO_MEMORY;
	for (uint32_t i = first; i < end && status == TG_OK; i++)
	{
		status = tg_merge_add_file(&merge, session, sorted->files[i], sorted->buffer_rows);
		rows += sorted->files[i]->count;
	}
	if (rows > merge.by.sink->limit)
		rows = merge.by.sink->limit;
	if (status == TG_OK)
	{
		tg_merge_start(&merge);
		status = tg_merge_write(&merge, session, rows, &merged);
	}
	tg_merge_end(&merge, session);
	/* the first of those that were merged: no other task looks at it */
	sorted->files[first] = merged;
	return status;
}

void
tg_sort_merged(tg_query *query)
{
	tg_sorted *sorted = query->sorted;
	uint32_t count = tg_sort_merge_count(query);

	for (uint32_t i = 0; i < count; i++)
		sorted->files[i] = sorted->files[i * sorted->merged_count];
	sorted->file_count = count;
}

/* --- the requester's side -------------------------------------------------------------------- */

tg_status
tg_sort_collect(tg_session *session, tg_query *query)
{
	return collect_files(session, query) ? TG_OK : TG_NO_MEMORY;
}

tg_status
tg_sort_finish(tg_session *session, tg_query *query)
{
	tg_sorted *sorted = query->sorted;
	uint64_t limit = query->plan->steps[query->step].sink.limit;
	uint64_t rows = 0;
	unsigned count = sorted->file_count;
	tg_status status = TG_OK;

	for (unsigned i = 0; i < query->task_most; i++)
		for (const tg_sort_run *run = query->tasks[i].runs; run != NULL; run = run->next)
			count++;
	if (!tg_merge_begin(&sorted->merge, session, query, count))
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < query->task_most; i++)
		for (const tg_sort_run *run = query->tasks[i].runs; run != NULL; run = run->next)
		{
			tg_merge_add(&sorted->merge, run);
			rows += run->count;
		}
	for (uint32_t i = 0; i < sorted->file_count && status == TG_OK; i++)
	{
		status = tg_merge_add_file(&sorted->merge, session, sorted->files[i], sorted->buffer_rows);
		rows += sorted->files[i]->count;
	}
	if (status == TG_OK)
		tg_merge_start(&sorted->merge);
	query->reports[query->step].rows_kept = rows < limit ? rows : limit;
	return status;
}

/* The next row in order, which stays until the next call. */
static tg_status
next_row(tg_query *query, tg_row **row_out)
{
	tg_sorted *sorted = query->sorted;
	uint64_t head;

	if (sorted->rows_left == 0)
		return TG_NOT_FOUND;
	sorted->rows_left--;
	return tg_merge_next(&sorted->merge, row_out, &head);
}

tg_status
tg_sort_next_group(tg_query *query, tg_row **group_out)
{
	size_t group_at = query->sorted->group_at;
	tg_row *row;
	tg_status status = next_row(query, &row);

	if (status == TG_OK)
		*group_out = group_at == 0 ? row->next : (tg_row *) ((unsigned char *) row + group_at);
	return status;
}

static void
copy_fields(const tg_ordering *by, tg_row *row, tg_vectors *to)
{
	for (unsigned i = 0; i < by->sink->field_count; i++)
	{
		unsigned field = by->sink->sort_key_count + i;
		const void *value = tg_row_field(by->layout, row, field);

		to->nulls[i][to->count] = tg_row_nulls(row)[field];
		if (by->layout->types[field] == TG_V_TEXT)
			memcpy((tg_value *) to->data[i] + to->count, value, sizeof(tg_string));
		else
			memcpy((uint64_t *) to->data[i] + to->count, value, sizeof(uint64_t));
	}
	to->count++;
}

tg_status
tg_sort_next_rows(tg_query *query, const tg_vectors **rows_out)
{
	tg_vectors *buffer = query->sorted->buffer;
	tg_status status = tg_query_poll(query);
	tg_row *row;

	if (status != TG_OK)
		return status;
	for (buffer->count = 0; buffer->count < buffer->capacity && (status = next_row(query, &row)) == TG_OK;)
		copy_fields(&query->sorted->merge.by, row, buffer);
	if (status != TG_OK && (status != TG_NOT_FOUND || buffer->count == 0))
		return status;
	*rows_out = buffer;
	return TG_OK;
}
