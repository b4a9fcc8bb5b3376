/*
 * parquet_rows.c
 *	  From the levels and values of pages to the rows of a batch.
 *
 * A value has a definition level: how much of what leads to it is there.  A list's element has a
 * repetition level, too: 0 begins a row, 1 goes on with it.  So for a nullable list of nullable
 * elements:
 *
 *	definition 0	NULL
 *	1				an empty list (element_levels[0] - 1)
 *	2				an element that is NULL (element_levels[0])
 *	3				an element with a value (level_max)
 *
 * The rows of a column without lists lie in one page, and so do its values, which are decoded when
 * the rows are asked for; NULLs are put between them then.  A list may go on in the next page; so
 * its elements are copied.
 */
#include "runtime/format/parquet_internal.h"

#include <string.h>

static const tg_file_bytes nothing;

tg_status
tg_rows_no_memory(tg_parquet *file, unsigned leaf)
{
	return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0,
							  "the values of column \"%s\" need more memory than there is",
							  tg_leaves(file)[leaf].value.name);
}

/* The values of rows some of which are NULL: a NULL's is 0, or no bytes. */
static tg_status
spread(tg_parquet *file, unsigned leaf, unsigned count, tg_file_values *values)
{
	tg_chunk_reader *reader = &tg_readers(file)[leaf];
	bool is_bytes = tg_leaves(file)[leaf].value.is_bytes;
	const uint8_t *definitions = (const uint8_t *) reader->definitions.data + reader->level_at;
	const int64_t *words = reader->values.words.data;
	const tg_file_bytes *bytes = reader->values.bytes.data;
	uint8_t level_max = tg_leaves(file)[leaf].level_max;

	if (!tg_buffer_reserve(&file->memory, &reader->out_nulls, TG_FILE_BATCH) ||
		!tg_buffer_reserve(&file->memory, is_bytes ? &reader->out_bytes : &reader->out_words,
						   TG_FILE_BATCH * (is_bytes ? sizeof(tg_file_bytes) : sizeof(int64_t))))
		return tg_rows_no_memory(file, leaf);
	for (unsigned i = 0; i < count; i++)
	{
		bool null = definitions[i] < level_max;

		((uint8_t *) reader->out_nulls.data)[i] = null;
		if (is_bytes)
			((tg_file_bytes *) reader->out_bytes.data)[i] = null ? nothing : bytes[reader->value_at];
		else
			((int64_t *) reader->out_words.data)[i] = null ? 0 : words[reader->value_at];
		reader->value_at += !null;
	}
	values->nulls = reader->out_nulls.data;
	values->bytes = is_bytes ? reader->out_bytes.data : NULL;
	values->words = is_bytes ? NULL : reader->out_words.data;
	return TG_OK;
}

/* How many of the next rows have a value. */
static size_t
count_present(tg_parquet *file, unsigned leaf, unsigned count)
{
	const tg_chunk_reader *reader = &tg_readers(file)[leaf];
	const uint8_t *definitions = (const uint8_t *) reader->definitions.data + reader->level_at;
	uint8_t level_max = tg_leaves(file)[leaf].level_max;
	size_t present = 0;

	if (reader->all_present)
		return count;
	for (unsigned i = 0; i < count; i++)
		present += definitions[i] == level_max;
	return present;
}

tg_status
tg_rows_flat(tg_parquet *file, unsigned leaf, unsigned count, tg_file_values *values)
{
	tg_chunk_reader *reader = &tg_readers(file)[leaf];
	tg_status status = TG_OK;

	if (reader->by_batch)
		status = tg_page_decode(file, leaf, count_present(file, leaf, count));
	if (status != TG_OK)
		return status;
	if (!reader->all_present)
		status = spread(file, leaf, count, values);
	else
	{
		if (tg_leaves(file)[leaf].value.is_bytes)
			values->bytes = (const tg_file_bytes *) reader->values.bytes.data + reader->value_at;
		else
			values->words = (const int64_t *) reader->values.words.data + reader->value_at;
		reader->value_at += count;
	}
	reader->level_at += count;
	return status;
}

/* --- lists ------------------------------------------------------------------------------- */

/* Copies an element's bytes; its address is an offset until all are there. */
static bool
append_bytes(tg_parquet *file, tg_chunk_reader *reader, const tg_file_bytes *value, uint32_t at, size_t *text_bytes)
{
	if (!tg_buffer_reserve(&file->memory, &reader->out_texts, *text_bytes + value->count + 1))
		return false;
	if (value->count > 0)
		memcpy((uint8_t *) reader->out_texts.data + *text_bytes, value->data, value->count);
	((tg_file_bytes *) reader->out_bytes.data)[at] =
		(tg_file_bytes){(const uint8_t *) (uintptr_t) *text_bytes, value->count};
	*text_bytes += value->count;
	return true;
}

tg_status
tg_rows_append(tg_parquet *file, unsigned leaf, bool null, uint32_t at, size_t *text_bytes)
{
	tg_chunk_reader *reader = &tg_readers(file)[leaf];
	bool is_bytes = tg_leaves(file)[leaf].value.is_bytes;

	if (at == UINT32_MAX || !tg_buffer_reserve(&file->memory, &reader->out_element_nulls, at + (size_t) 1) ||
		!tg_buffer_reserve(&file->memory, is_bytes ? &reader->out_bytes : &reader->out_words,
						   (at + (size_t) 1) * (is_bytes ? sizeof(tg_file_bytes) : sizeof(int64_t))))
		return tg_rows_no_memory(file, leaf);
	((uint8_t *) reader->out_element_nulls.data)[at] = null;
	if (!is_bytes)
		((int64_t *) reader->out_words.data)[at] =
			null ? 0 : ((const int64_t *) reader->values.words.data)[reader->value_at];
	else if (!append_bytes(file, reader,
						   null ? &nothing : (const tg_file_bytes *) reader->values.bytes.data + reader->value_at, at,
						   text_bytes))
		return tg_rows_no_memory(file, leaf);
	reader->value_at += !null;
	return TG_OK;
}

void
tg_rows_place_bytes(tg_chunk_reader *reader, uint32_t count)
{
	tg_file_bytes *bytes = reader->out_bytes.data;

	for (uint32_t i = 0; i < count; i++)
		bytes[i].data = (const uint8_t *) reader->out_texts.data + (uintptr_t) bytes[i].data;
}

/* A batch of lists that is being put together. */
typedef struct lists
{
	tg_parquet *file;
	unsigned leaf;
	uint32_t elements;
	size_t text_bytes;
	bool has_null_element;
} lists;

/* One row: its levels up to the next one that begins a row.  *null_out: it is NULL. */
static tg_status
read_list(lists *lists, bool *null_out)
{
	tg_parquet *file = lists->file;
	tg_chunk_reader *reader = &tg_readers(file)[lists->leaf];
	const tg_leaf *leaf = &tg_leaves(file)[lists->leaf];
	bool nullable = tg_columns(file)[leaf->column].nullable;

	for (bool first = true;; first = false)
	{
		bool more = true;
		uint8_t definition;
		tg_status status = TG_OK;

		if (reader->level_at == reader->level_count)
			status = tg_page_next(file, lists->leaf, &more);
		if (status != TG_OK)
			return status;
		if (!more && !first)
			return TG_OK;
		if (!more || (((const uint8_t *) reader->repetitions.data)[reader->level_at] == 0) != first)
		{
			if (more && !first)
				return TG_OK;
			return tg_rows_missing(file, lists->leaf);
		}
		definition = ((const uint8_t *) reader->definitions.data)[reader->level_at++];
		if (first)
			*null_out = nullable && definition == 0;
		if (definition < leaf->element_levels[0])
			continue;
		status = tg_rows_append(file, lists->leaf, definition < leaf->level_max, lists->elements, &lists->text_bytes);
		if (status != TG_OK)
			return status;
		lists->has_null_element |= definition < leaf->level_max;
		lists->elements++;
	}
}

tg_status
tg_rows_missing(tg_parquet *file, unsigned leaf)
{
	return tg_file_fault_note(&file->fault, TG_DAMAGED, tg_readers(file)[leaf].at,
							  "column \"%s\" has fewer rows than its row group", tg_leaves(file)[leaf].value.name);
}

tg_status
tg_rows_lists(tg_parquet *file, unsigned leaf, unsigned count, tg_file_values *values)
{
	tg_chunk_reader *reader = &tg_readers(file)[leaf];
	lists lists = {.file = file, .leaf = leaf};
	bool is_bytes = tg_leaves(file)[leaf].value.is_bytes;

	if (!tg_buffer_reserve(&file->memory, &reader->out_nulls, TG_FILE_BATCH) ||
		!tg_buffer_reserve(&file->memory, &reader->out_ends, TG_FILE_BATCH * sizeof(uint32_t)))
		return tg_rows_no_memory(file, leaf);
	for (unsigned i = 0; i < count; i++)
	{
		bool null = false;
		tg_status status = read_list(&lists, &null);

		if (status != TG_OK)
			return status;
		((uint8_t *) reader->out_nulls.data)[i] = null;
		((uint32_t *) reader->out_ends.data)[i] = lists.elements;
	}
	if (is_bytes)
		tg_rows_place_bytes(reader, lists.elements);
	*values = (tg_file_values){.nulls = reader->out_nulls.data,
							   .ends = reader->out_ends.data,
							   .element_nulls = lists.has_null_element ? reader->out_element_nulls.data : NULL,
							   .words = is_bytes ? NULL : reader->out_words.data,
							   .bytes = is_bytes ? reader->out_bytes.data : NULL};
	return TG_OK;
}
