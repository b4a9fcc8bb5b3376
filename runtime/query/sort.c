/*
 * sort.c
 *	  ORDER BY: sorted runs of each task, which the requester merges while it takes the rows.
 *
 * A task stores its rows, each with the keys in front, and has an entry for each in its run: the
 * row's address and its head, a number that stands for the first key.  A run that is full, and the
 * last one, is sorted: by heads, digit by digit from the lowest one, then each stretch of equal
 * heads by all keys.  The requester merges the runs of all tasks, by a heap of them.
 *
 * Where few rows are wanted, a task keeps only as many.  Its run is then a heap, with the last row
 * in order at the top.  Once it is full, rows behind the top are dropped by their heads, before
 * any other column is read; tasks share the lowest of their tops' heads (1).
 *
 * 1. A task that has as many rows as are wanted has none with a head above its top's.  A row with a
 *    larger head, of whatever task, comes behind all of them, so it is not wanted.
 * 2. A task sorts a run without looking at cancellations: RUN_ROWS bounds the time.
 */
#include "runtime/order/kind.h"
#include "runtime/exec/vectors.h"
#include "runtime/query/order.h"

#include <string.h>

#define RUN_ROWS 8192
#define RUN_ROWS_FIRST 128
#define FEW_ROWS_MAX 8192 /* that a task keeps in a heap; if more are wanted, all are sorted */
#define BUFFER_ROWS_MIN 64
#define BUFFER_BYTES_MAX ((size_t) 256 << 10)

struct tg_sort_run
{
	struct tg_sort_run *next;
	uint32_t count;
	uint32_t capacity;
	tg_entry entries[];
};

/* The entries of a run that are left. */
typedef struct cursor
{
	const tg_entry *at;
	const tg_entry *end;
} cursor;

struct tg_sorted
{
	cursor *cursors; /* a heap: the run whose next row is the first one comes first */
	unsigned count;
	uint64_t rows_left; /* that are wanted */
	tg_vectors *buffer; /* the requester's; NULL: the rows are groups */
	uint64_t bound;		/* atomic: heads above it are not wanted (1) */
};

static tg_ordering
ordering_of(const tg_query *query)
{
	return (tg_ordering){.sink = &query->plan->steps[query->step].sink, .layout = &query->tables[query->step].layout};
}

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
	tg_ordering by = ordering_of(task->query);

	if (run == NULL)
		return true;
	if (task->sort_memory == NULL)
		/* no later run is longer */
		task->sort_memory = tg_query_take(session, task->query, run->count * sizeof(tg_entry));
	if (task->sort_memory == NULL)
		return false;
	tg_order_sort(&by, run->entries, task->sort_memory, run->count);
	run->next = task->runs;
	task->runs = run;
	task->run = NULL;
	return true;
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
}

tg_status
tg_sort_take(tg_query_task *task, tg_session *session, tg_batch *batch)
{
	tg_query *query = task->query;
	tg_ordering by = ordering_of(query);
	uint16_t kept[TG_VECTOR_ROWS];
	unsigned count;
	tg_status status = tg_evaluate(query, &task->order_keys, batch);

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
	return end_run(task, session) ? TG_OK : TG_NO_MEMORY;
}

/* --- the requester's side ------------------------------------------------------------------- */

/* Those of the rows' fields, as many rows as fit.  NULL: refused. */
static tg_vectors *
make_buffer(tg_session *session, tg_query *query, const tg_sink *sink)
{
	uint16_t *columns = tg_query_alloc(session, query, (sink->field_count + 1u) * sizeof(uint16_t));
	uint8_t *kinds = tg_query_alloc(session, query, sink->field_count + 1u);
	unsigned rows = TG_VECTOR_ROWS;
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

/* The run at a place may come behind those below it. */
static void
sift_cursor(const tg_ordering *by, tg_sorted *sorted, unsigned place)
{
	cursor moved = sorted->cursors[place];

	for (unsigned child; (child = 2 * place + 1) < sorted->count; place = child)
	{
		if (child + 1 < sorted->count &&
			tg_order_is_before(by, sorted->cursors[child + 1].at, sorted->cursors[child].at))
			child++;
		if (!tg_order_is_before(by, sorted->cursors[child].at, moved.at))
			break;
		sorted->cursors[place] = sorted->cursors[child];
	}
	sorted->cursors[place] = moved;
}

tg_status
tg_sort_finish(tg_session *session, tg_query *query)
{
	tg_sorted *sorted = query->sorted;
	tg_ordering by = ordering_of(query);
	uint64_t rows = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < query->task_most; i++)
		for (const tg_sort_run *run = query->tasks[i].runs; run != NULL; run = run->next)
			count++;
	sorted->cursors = tg_query_take(session, query, (count + 1) * sizeof(cursor));
	if (sorted->cursors == NULL)
		return TG_NO_MEMORY;
	for (unsigned i = 0; i < query->task_most; i++)
		for (const tg_sort_run *run = query->tasks[i].runs; run != NULL; run = run->next)
		{
			tg_assert(run->count > 0);
			sorted->cursors[sorted->count++] = (cursor){.at = run->entries, .end = run->entries + run->count};
			rows += run->count;
		}
	for (unsigned place = sorted->count / 2; place > 0; place--)
		sift_cursor(&by, sorted, place - 1);
	query->reports[query->step].rows_kept = rows < by.sink->limit ? rows : by.sink->limit;
	return TG_OK;
}

/* The next row in order; NULL: there are no more. */
static tg_row *
next_row(tg_query *query)
{
	tg_sorted *sorted = query->sorted;
	tg_ordering by = ordering_of(query);
	cursor *first = &sorted->cursors[0];
	tg_row *row;

	if (sorted->count == 0 || sorted->rows_left == 0)
		return NULL;
	row = first->at->row;
	if (++first->at == first->end)
		*first = sorted->cursors[--sorted->count];
	if (sorted->count > 1)
		sift_cursor(&by, sorted, 0);
	sorted->rows_left--;
	return row;
}

tg_row *
tg_sort_next_group(tg_query *query)
{
	tg_row *row = next_row(query);

	return row == NULL ? NULL : row->next;
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
	tg_ordering by;
	tg_row *row;

	if (status != TG_OK)
		return status;
	by = ordering_of(query); /* until the job has ended, its step is its tasks' */
	for (buffer->count = 0; buffer->count < buffer->capacity && (row = next_row(query)) != NULL;)
		copy_fields(&by, row, buffer);
	if (buffer->count == 0)
		return TG_NOT_FOUND;
	*rows_out = buffer;
	return TG_OK;
}
