/*
 * merge.c
 *	  Merging sorted runs, of memory and of temporary files.
 *
 * Of a run in a file, some rows are in memory at a time, in a buffer of the merge.  A row that was
 * handed out may lie there, so its run goes on to its next row only with the next call.
 */
#include "runtime/query/merge.h"

#include "runtime/base/check.h"
#include "runtime/query/spill.h"

/* What is left of a run behind its head. */
typedef struct source
{
	const tg_entry *at; /* in memory; or NULL */
	const tg_entry *end;
	/* in a file: */
	unsigned char *buffer;
	uint32_t buffer_rows;
	uint32_t place; /* of the next row in the buffer, */
	uint32_t count; /* which has so many */
	uint64_t file_at;
	uint64_t file_rows; /* that are not in the buffer yet */
} source;

struct tg_merge_head
{
	tg_entry entry;
	source *source;
};

typedef struct tg_merge_head head;

bool
tg_merge_begin(tg_merge *merge, tg_session *session, tg_query *query, unsigned runs)
{
	*merge = (tg_merge){.query = query, .by = tg_sort_ordering(query), .room = runs};
	merge->heads = tg_query_take(session, query, (runs + 1) * (sizeof(head) + sizeof(source)));
	return merge->heads != NULL;
}

static source *
add_source(tg_merge *merge)
{
	source *sources = (source *) (merge->heads + merge->room + 1);
	source *added = &sources[merge->added++];

	tg_assert(merge->count < merge->room);
	*added = (source){.at = NULL};
	merge->heads[merge->count++] = (head){.source = added};
	return added;
}

void
tg_merge_add(tg_merge *merge, const tg_sort_run *run)
{
	source *added = add_source(merge);

	tg_assert(run->count > 0);
	merge->heads[merge->count - 1].entry = run->entries[0];
	added->at = run->entries + 1;
	added->end = run->entries + run->count;
}

/* The next row of the buffer, which is filled anew if it has none.  TG_NOT_FOUND: it is the end. */
static tg_status
read_row(const tg_merge *merge, source *from, tg_entry *entry)
{
	size_t row_bytes = merge->by.layout->bytes;
	tg_row *row;

	if (from->place == from->count)
	{
		tg_status status;

		if (from->file_rows == 0)
			return TG_NOT_FOUND;
		from->count = from->file_rows < from->buffer_rows ? (uint32_t) from->file_rows : from->buffer_rows;
		status = tg_spill_read(merge->query, from->file_at, from->buffer, from->count * row_bytes);
		if (status != TG_OK)
			return status;
		from->file_at += from->count * row_bytes;
		from->file_rows -= from->count;
		from->place = 0;
	}
	row = (tg_row *) (from->buffer + from->place++ * row_bytes);
	*entry = (tg_entry){.head = row->hash, .row = row};
	return TG_OK;
}

tg_status
tg_merge_add_file(tg_merge *merge, tg_session *session, const tg_file_run *run, uint32_t rows)
{
	source *added = add_source(merge);

	added->buffer = tg_query_take(session, merge->query, (size_t) rows * merge->by.layout->bytes);
	if (added->buffer == NULL)
		return TG_NO_MEMORY;
	added->buffer_rows = rows;
	added->file_at = run->at;
	added->file_rows = run->count;
	return read_row(merge, added, &merge->heads[merge->count - 1].entry);
}

/* The run at a place may come behind those below it. */
static void
sift(tg_merge *merge, unsigned place)
{
	head moved = merge->heads[place];

	for (unsigned child; (child = 2 * place + 1) < merge->count; place = child)
	{
		if (child + 1 < merge->count &&
			tg_order_is_before(&merge->by, &merge->heads[child + 1].entry, &merge->heads[child].entry))
			child++;
		if (!tg_order_is_before(&merge->by, &merge->heads[child].entry, &moved.entry))
			break;
		merge->heads[place] = merge->heads[child];
	}
	merge->heads[place] = moved;
}

void
tg_merge_start(tg_merge *merge)
{
	for (unsigned place = 0; place < merge->count; place++)
		tg_assert(merge->heads[place].entry.row != NULL);
	for (unsigned place = merge->count / 2; place > 0; place--)
		sift(merge, place - 1);
}

/* The run whose row was handed out goes on to its next one. */
static tg_status
go_on(tg_merge *merge)
{
	head *first = &merge->heads[0];
	tg_status status = TG_OK;

	if (first->source->at == NULL)
		status = read_row(merge, first->source, &first->entry);
	else if (first->source->at < first->source->end)
		first->entry = *first->source->at++;
	else
		status = TG_NOT_FOUND;
	if (status == TG_NOT_FOUND)
	{
		*first = merge->heads[--merge->count];
		status = TG_OK;
	}
	if (status == TG_OK && merge->count > 1)
		sift(merge, 0);
	return status;
}

tg_status
tg_merge_next(tg_merge *merge, tg_row **row_out, uint64_t *head_out)
{
	tg_status status = TG_OK;

	if (merge->taken)
	{
		status = go_on(merge);
		if (status != TG_OK)
			return status;
	}
	merge->taken = merge->count > 0;
	if (!merge->taken)
		return TG_NOT_FOUND;
	*row_out = merge->heads[0].entry.row;
	*head_out = merge->heads[0].entry.head;
	return TG_OK;
}

void
tg_merge_end(tg_merge *merge, tg_session *session)
{
	source *sources;

	if (merge->heads == NULL)
		return;
	sources = (source *) (merge->heads + merge->room + 1);
	for (unsigned i = 0; i < merge->added; i++)
		if (sources[i].buffer != NULL)
			tg_query_give(session, merge->query, sources[i].buffer);
	tg_query_give(session, merge->query, merge->heads);
	merge->heads = NULL;
}

tg_status
tg_merge_write(tg_merge *merge, tg_session *session, uint64_t rows, tg_file_run **run_out)
{
	tg_query *query = merge->query;
	tg_file_run *run = tg_query_take(session, query, sizeof(*run));
	tg_spill_writer writer;
	tg_status status;

	if (run == NULL)
		return TG_NO_MEMORY;
	*run = (tg_file_run){.count = rows};
	status = tg_spill_reserve(query, rows * merge->by.layout->bytes, &run->at);
	if (status != TG_OK)
		return status;
	tg_spill_writer_init(&writer, query, run->at);
	for (uint64_t i = 0; i < rows && status == TG_OK; i++)
	{
		uint64_t first;
		tg_row *row;

		status = tg_merge_next(merge, &row, &first);
		tg_assert(status != TG_NOT_FOUND);
		if (status != TG_OK)
			return status;
		row->hash = first;
		status = tg_spill_put(&writer, row, merge->by.layout->bytes);
	}
	*run_out = run;
	return status == TG_OK ? tg_spill_end(&writer) : status;
}
