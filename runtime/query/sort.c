/*
 * sort.c
 *	  ORDER BY: sorted runs of each task, which the requester merges (sorted.c).
 *
 * A task stores its rows, each with the keys in front, and has an entry for each in its run: the
 * row's address and its head, a number that stands for the first key.  A run that is full, and the
 * last one, is sorted: by heads, digit by digit from the lowest one, then each stretch of equal
 * heads by all keys.  A task whose rows have taken its part of the memory merges its runs into one
 * in a temporary file, and begins anew.  The requester merges the runs of all tasks.
 *
 * Where few rows are wanted, a task keeps only as many.  Its run is then a heap, with the last row
 * in order at the top.  Once it is full, rows behind the top are dropped by their heads, before
 * any other column is read; tasks share the lowest of their tops' heads (1).
 *
 * 1. A task that has as many rows as are wanted has none with a head above its top's.  A row with a
 *    larger head, of whatever task, comes behind all of them, so it is not wanted.
 * 2. A task sorts a run without looking at cancellations: RUN_ROWS bounds the time.
 */
#include "runtime/query/sorted.h"
#include "runtime/query/spill.h"

#include <string.h>

#include "runtime/mem/session.h"

#define RUN_ROWS 8192
#define RUN_ROWS_FIRST 128
#define FEW_ROWS_MAX 8192 /* that a task keeps in a heap; if more are wanted, all are sorted */

/* Whether tasks keep only as many rows as are wanted. */
static bool
wants_few(const tg_sink *sink)
{
	return sink->limit <= FEW_ROWS_MAX;
}

/* The run in hand becomes one of the task's sorted ones.  False: refused. */
static bool
end_run(tg_query_task *task, tg_session *session)
{
	tg_sort_run *run = task->run;
	tg_ordering by = tg_sort_ordering(task->query);

	if (run == NULL)
		return true;
	if (task->sort_room < run->count)
	{
		if (task->sort_memory != NULL)
			tg_query_give(session, task->query, task->sort_memory);
		task->sort_memory = tg_query_take(session, task->query, run->count * sizeof(tg_entry));
		task->sort_room = task->sort_memory != NULL ? run->count : 0;
	}
	if (task->sort_memory == NULL)
		return false;
	tg_order_sort(&by, run->entries, task->sort_memory, run->count);
	run->next = task->runs;
	task->runs = run;
	task->run = NULL;
	return true;
}

/* The rows of the task, in order, go to a file.  Its memory is given back. */
static tg_status
spill(tg_query_task *task, tg_session *session)
{
	tg_query *query = task->query;
	uint64_t limit = query->plan->steps[query->step].sink.limit;
	uint64_t rows = 0;
	unsigned count = 0;
	tg_file_run *written;
	tg_sort_run *next;
	tg_merge merge;
	tg_status status;

	if (!end_run(task, session))
		return TG_NO_MEMORY;
	for (const tg_sort_run *run = task->runs; run != NULL; run = run->next, count++)
		rows += run->count;
	if (count == 0)
		return TG_OK;
	if (!tg_merge_begin(&merge, session, query, count))
		return TG_NO_MEMORY;
	for (const tg_sort_run *run = task->runs; run != NULL; run = run->next)
		tg_merge_add(&merge, run);
	tg_merge_start(&merge);
	status = tg_merge_write(&merge, session, rows < limit ? rows : limit, &written);
	tg_merge_end(&merge, session);
	if (status != TG_OK)
		return status;
	written->next = task->file_runs;
	task->file_runs = written;
	for (tg_sort_run *run = task->runs; run != NULL; run = next)
	{
		next = run->next;
		tg_query_give(session, query, run);
	}
	task->runs = NULL;
	task->spare_rows = NULL; /* they are of the store, too */
	tg_rows_forget(session, query, &task->store);
	return TG_OK;
}

/* --- a heap of the rows that are wanted ----------------------------------------------------- */

/* The entry at a place may come before those below it. */
static void
sift_down(const tg_ordering *by, tg_entry *heap, uint32_t count, uint32_t place)
{
	tg_entry moved = heap[place];

	for (uint32_t child; (child = 2 * place + 1) < count; place = child)
	{
		if (child + 1 < count && tg_order_is_before(by, &heap[child], &heap[child + 1]))
			child++;
		if (!tg_order_is_before(by, &moved, &heap[child]))
			break;
		heap[place] = heap[child];
	}
	heap[place] = moved;
}

static void
make_heap(const tg_ordering *by, tg_sort_run *run)
{
	for (uint32_t place = run->count / 2; place > 0; place--)
		sift_down(by, run->entries, run->count, place - 1);
}

static bool
has_all_wanted(const tg_query_task *task, const tg_sink *sink)
{
	return wants_few(sink) && task->run != NULL && task->run->count == sink->limit;
}

/* Puts the row in place of the top, if it comes before it. */
static void
put_into_heap(tg_query_task *task, const tg_ordering *by, const tg_entry *entry)
{
	tg_sort_run *run = task->run;
	tg_row *dropped = entry->row;

	if (tg_order_is_before(by, entry, &run->entries[0]))
	{
		dropped = run->entries[0].row;
		run->entries[0] = *entry;
		sift_down(by, run->entries, run->count, 0);
	}
	dropped->next = task->spare_rows;
	task->spare_rows = dropped;
}

/* 1.  Relaxed: rows that are met with an older bound are dropped later. */
static void
share_bound(const tg_query_task *task)
{
	uint64_t *bound = &task->query->sorted->bound;
	uint64_t top = task->run->entries[0].head;
	uint64_t seen = tg_load_relaxed(bound);

	while (top < seen && !tg_cas_acq_rel(bound, &seen, top))
		continue;
}

/* --- taking rows ---------------------------------------------------------------------------- */

/* Room for another entry in the run; a full run ends.  False: refused. */
static bool
make_room(tg_query_task *task, tg_session *session, const tg_sink *sink)
{
	uint32_t most = wants_few(sink) ? (uint32_t) sink->limit : RUN_ROWS;
	tg_sort_run *run = task->run;
	tg_sort_run *larger;
	uint32_t capacity;

	if (run != NULL && run->count < run->capacity)
		return true;
	if (run != NULL && run->count == most && !end_run(task, session))
		return false;
	run = task->run;
	capacity = run == NULL ? (task->runs == NULL ? RUN_ROWS_FIRST : RUN_ROWS) : 2 * run->capacity;
	capacity = capacity < most ? capacity : most;
	larger = tg_query_take(session, task->query, sizeof(*larger) + capacity * sizeof(tg_entry));
	if (larger == NULL)
		return false;
	*larger = (tg_sort_run){.capacity = capacity};
	if (run != NULL)
	{
		larger->count = run->count;
		memcpy(larger->entries, run->entries, run->count * sizeof(tg_entry));
		tg_query_give(session, task->query, run);
	}
	task->run = larger;
	return true;
}

static bool
put(tg_query_task *task, tg_session *session, const tg_ordering *by, const tg_entry *entry)
{
	if (has_all_wanted(task, by->sink))
	{
		put_into_heap(task, by, entry);
		return true;
	}
	if (!make_room(task, session, by->sink))
		return false;
	task->run->entries[task->run->count++] = *entry;
	if (has_all_wanted(task, by->sink))
		make_heap(by, task->run);
	return true;
}

/* The rows that may be wanted, by their heads. */
static unsigned
select_wanted(const tg_query_task *task, const tg_sink *sink, unsigned count, uint16_t *kept)
{
	uint64_t bound = tg_load_relaxed(&task->query->sorted->bound);
	unsigned kept_count = 0;

	if (has_all_wanted(task, sink) && task->run->entries[0].head < bound)
		bound = task->run->entries[0].head;
	for (unsigned i = 0; i < count; i++)
	{
		kept[kept_count] = (uint16_t) i;
		kept_count += task->hashes[i] <= bound;
	}
	return kept_count;
}

static bool
take_memory_for_rows(tg_query_task *task, tg_session *session, const tg_row_layout *layout, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
	{
		tg_row *row = task->spare_rows;

		if (row != NULL)
			task->spare_rows = row->next;
		else if ((row = tg_row_add(session, task->query, &task->store, layout)) == NULL)
			return false;
		task->rows[i] = row;
	}
	return true;
}

/* Copies the keys of the rows kept, and the fields of the batch, which has these alone. */
static void
store_rows(tg_query_task *task, const tg_ordering *by, const tg_batch *batch, const uint16_t *kept)
{
	unsigned keys = by->sink->sort_key_count;

	for (unsigned i = 0; i < keys; i++)
		tg_rows_store(by->layout, i, tg_evaluated(&task->order_keys, by->sink->sort_keys[i].value), kept, task->rows,
					  batch->count);
	for (unsigned i = 0; i < by->sink->field_count; i++)
		tg_rows_store(by->layout, keys + i, tg_evaluated(&task->sink, by->sink->fields[i]), NULL, task->rows,
					  batch->count);
	if (by->sink->sorts_groups)
		for (unsigned i = 0; i < batch->count; i++)
			task->rows[i]->next = batch->matches[0][i];
	if (task->query->sorted->group_at > 0)
		for (unsigned i = 0; i < batch->count; i++)
			memcpy((unsigned char *) task->rows[i] + task->query->sorted->group_at, batch->matches[0][i],
				   by->layout->bytes - task->query->sorted->group_at);
}

/* Groups in files are not there when they are wanted: each row gets its own. */
tg_status
tg_sort_begin(tg_query *query)
{
	const tg_plan_step *step = &query->plan->steps[query->step];
	const tg_hash_table *groups = &query->tables[step->from];
	tg_row_layout *layout = &query->tables[query->step].layout;

	if (!step->sink.sorts_groups || !groups->in_files)
		return TG_OK;
	if ((unsigned) layout->bytes + groups->layout.bytes > UINT16_MAX)
		return TG_NO_MEMORY;
	query->sorted->group_at = layout->bytes;
	layout->bytes = (uint16_t) (layout->bytes + groups->layout.bytes);
	return TG_OK;
}

tg_status
tg_sort_take(tg_query_task *task, tg_session *session, tg_batch *batch)
{
	tg_query *query = task->query;
	tg_ordering by = tg_sort_ordering(query);
	uint16_t kept[TG_VECTOR_ROWS];
	unsigned count;
	tg_status status = tg_evaluate(query, &task->order_keys, batch);

	/* a full heap takes no more memory than it has */
	if (status == TG_OK && !has_all_wanted(task, by.sink) && !tg_rows_fit(query, &task->store, by.layout, batch->count))
	{
		/* what was evaluated stays (step.c) */
		tg_epoch_leave(session);
		status = spill(task, session);
		tg_epoch_enter(session);
	}
	if (status != TG_OK)
		return status;
	tg_order_heads(&by.sink->sort_keys[0], tg_evaluated(&task->order_keys, by.sink->sort_keys[0].value), batch->count,
				   task->hashes);
	count = select_wanted(task, by.sink, batch->count, kept);
	if (count == 0)
		return TG_OK;
	tg_batch_keep(batch, kept, count, tg_step_matches(query, query->plan->steps[query->step].operator_count));
	status = tg_evaluate(query, &task->sink, batch);
	if (status != TG_OK)
		return status;
	if (!take_memory_for_rows(task, session, by.layout, count))
		return TG_NO_MEMORY;
	store_rows(task, &by, batch, kept);
	for (unsigned i = 0; i < count; i++)
		if (!put(task, session, &by, &(tg_entry){.head = task->hashes[kept[i]], .row = task->rows[i]}))
			return TG_NO_MEMORY;
	if (has_all_wanted(task, by.sink))
		share_bound(task);
	return TG_OK;
}

tg_status
tg_sort_end(tg_query_task *task, tg_session *session)
{
	/* those of a task that has none in files may stay in memory */
	if (task->file_runs != NULL)
		return spill(task, session);
	return end_run(task, session) ? TG_OK : TG_NO_MEMORY;
}
