/*
 * arrow_batch.c
 *	  Record batches of Arrow: where their arrays are, their buffers, and dictionaries.
 *
 * A buffer that is not compressed is read a part at a time, so that a record batch may be larger
 * than the memory that there is.  One that is compressed is decompressed as a whole.
 */
#include "runtime/format/arrow_internal.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/codec.h"
#include "runtime/format/unpack.h"

#define PART_VALUES 4096 /* of a dictionary that are read at a time */

tg_status
tg_arrow_no_memory(tg_arrow *file)
{
	return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0,
							  "the values of column \"%s\" need more memory than there is",
							  tg_arrow_columns(file)[file->column].name);
}

tg_status
tg_arrow_damaged(tg_arrow *file, uint64_t offset, const char *what)
{
	return tg_file_fault_note(&file->fault, TG_DAMAGED, offset, "column \"%s\" has %s",
							  tg_arrow_columns(file)[file->column].name, what);
}

/* --- buffers ---------------------------------------------------------------------------- */

static bool
read_from(tg_arrow *file, uint64_t offset, void *into, size_t bytes)
{
	if (file->source->read(file->source->argument, offset, into, bytes))
		return true;
	(void) tg_file_fault_note(&file->fault, TG_IO, offset, "values could not be read");
	return false;
}

/* The contents of a buffer that is compressed, whose bytes are known. */
static bool
decompress(tg_arrow *file, tg_arrow_buffer *buffer, uint64_t bytes)
{
	size_t stored = (size_t) (buffer->stored - TG_ARROW_LENGTH_BYTES);
	tg_codec codec = buffer->codec == TG_ARROW_CODEC_ZSTD ? TG_CODEC_ZSTD : TG_CODEC_LZ4_FRAME;

	if (bytes > file->source->memory_max || !tg_buffer_reserve(&file->memory, &file->packed, stored) ||
		!tg_buffer_reserve(&file->memory, &buffer->memory, (size_t) bytes))
	{
		(void) tg_arrow_no_memory(file);
		return false;
	}
	if (stored > 0 && !read_from(file, buffer->offset + TG_ARROW_LENGTH_BYTES, file->packed.data, stored))
		return false;
	if (stored == 0 || !tg_codec_decompress(codec, file->packed.data, stored, buffer->memory.data, (size_t) bytes))
	{
		(void) tg_arrow_damaged(file, buffer->offset, "a buffer that cannot be decompressed");
		return false;
	}
	buffer->count = bytes;
	return true;
}

/* A buffer of a compressed body, which need not be compressed itself. */
static bool
open_packed(tg_arrow *file, tg_arrow_buffer *buffer)
{
	uint8_t length[TG_ARROW_LENGTH_BYTES];
	int64_t bytes = 0;

	if (buffer->stored > 0 && buffer->stored < TG_ARROW_LENGTH_BYTES)
	{
		(void) tg_arrow_damaged(file, buffer->offset, "a compressed buffer without a length");
		return false;
	}
	if (buffer->stored > 0)
	{
		if (!read_from(file, buffer->offset, length, TG_ARROW_LENGTH_BYTES))
			return false;
		bytes = (int64_t) tg_read_u64(length);
	}
	if (bytes < -1)
	{
		(void) tg_arrow_damaged(file, buffer->offset, "a buffer of a negative length");
		return false;
	}
	if (bytes > 0 && !decompress(file, buffer, (uint64_t) bytes))
		return false;
	if (bytes < 0)
	{
		buffer->offset += TG_ARROW_LENGTH_BYTES;
		buffer->stored -= TG_ARROW_LENGTH_BYTES;
		bytes = (int64_t) buffer->stored;
	}
	buffer->bytes = (uint64_t) bytes;
	buffer->is_packed = false;
	return true;
}

const uint8_t *
tg_arrow_bytes(tg_arrow *file, tg_arrow_buffer *buffer, uint64_t from, uint64_t count)
{
	uint64_t bytes = count;

	if (buffer->is_packed && !open_packed(file, buffer))
		return NULL;
	if (from > buffer->bytes || count > buffer->bytes - from)
	{
		(void) tg_arrow_damaged(file, buffer->offset, "a buffer that is shorter than its values");
		return NULL;
	}
	if (count == 0)
		return (const uint8_t *) "";
	if (from >= buffer->from && from - buffer->from <= buffer->count && count <= buffer->count - (from - buffer->from))
		return (const uint8_t *) buffer->memory.data + (from - buffer->from);
	if (bytes < file->window)
		bytes = buffer->bytes - from < file->window ? buffer->bytes - from : file->window;
	buffer->count = 0;
	if (bytes > file->source->memory_max || !tg_buffer_reserve(&file->memory, &buffer->memory, (size_t) bytes))
	{
		(void) tg_arrow_no_memory(file);
		return NULL;
	}
	if (!read_from(file, buffer->offset + from, buffer->memory.data, (size_t) bytes))
		return NULL;
	buffer->from = from;
	buffer->count = bytes;
	return buffer->memory.data;
}

void
tg_arrow_array_free(tg_arrow *file, tg_arrow_array *array)
{
	for (unsigned i = 0; i < array->part_room; i++)
		tg_buffer_free(&file->memory, &((tg_arrow_buffer *) array->parts.data)[i].memory);
	tg_buffer_free(&file->memory, &array->parts);
	tg_buffer_free(&file->memory, &array->validity.memory);
	tg_buffer_free(&file->memory, &array->first.memory);
	tg_buffer_free(&file->memory, &array->second.memory);
}

/* --- where arrays are ------------------------------------------------------------------- */

/* The arrays of a record batch, one after the other. */
typedef struct places
{
	tg_arrow *file;
	tg_flat *flat;
	const tg_arrow_message *message;
	tg_flat_vector nodes;
	tg_flat_vector buffers;
	tg_flat_vector views;
	int codec; /* -1: buffers are not compressed */
	uint32_t node;
	uint32_t buffer;
	uint32_t view;
	bool failed;
} places;

static tg_status
malformed(const places *places)
{
	return tg_file_fault_note(&places->file->fault, TG_DAMAGED, places->message->offset,
							  "a record batch has not the columns of its schema");
}

static tg_status
begin_places(places *places, tg_flat_table batch)
{
	tg_flat *flat = places->flat;
	tg_flat_table compression = tg_flat_inner(flat, batch, TG_ARROW_BATCH_COMPRESSION);

	places->nodes = tg_flat_list(flat, batch, TG_ARROW_BATCH_NODES, TG_ARROW_NODE_BYTES);
	places->buffers = tg_flat_list(flat, batch, TG_ARROW_BATCH_BUFFERS, TG_ARROW_BUFFER_BYTES);
	places->views = tg_flat_list(flat, batch, TG_ARROW_BATCH_VIEWS, sizeof(int64_t));
	places->codec = compression == 0 ? -1 : (int) tg_flat_integer(flat, compression, TG_ARROW_COMPRESSION_CODEC, 1, 0);
	if (flat->failed)
		return malformed(places);
	if (compression != 0 && ((places->codec != TG_ARROW_CODEC_LZ4 && places->codec != TG_ARROW_CODEC_ZSTD) ||
							 tg_flat_integer(flat, compression, TG_ARROW_COMPRESSION_METHOD, 1, 0) != 0))
		return tg_file_fault_note(&places->file->fault, TG_UNFIT, places->message->offset,
								  "a record batch is compressed by codec %d, which is not supported", places->codec);
	return TG_OK;
}

/* The memory of a buffer stays for the next record batch. */
static void
place_buffer(places *places, tg_arrow_buffer *buffer)
{
	const uint8_t *at = places->flat->data + places->buffers.at + (size_t) places->buffer * TG_ARROW_BUFFER_BYTES;
	uint64_t offset;
	uint64_t bytes;

	if (places->failed || places->buffer == places->buffers.count)
	{
		places->failed = true;
		return;
	}
	places->buffer++;
	offset = tg_read_u64(at);
	bytes = tg_read_u64(at + 8);
	if (offset > places->message->body_bytes || bytes > places->message->body_bytes - offset)
		places->failed = true;
	*buffer = (tg_arrow_buffer){.offset = places->message->body + offset,
								.stored = bytes,
								.bytes = bytes,
								.is_packed = places->codec >= 0,
								.codec = places->codec,
								.memory = buffer->memory};
}

/* The number of buffers of the next array of views. */
static uint64_t
next_views(places *places)
{
	int64_t count = -1;

	if (places->view < places->views.count)
		count = (int64_t) tg_read_u64(places->flat->data + places->views.at + places->view++ * sizeof(int64_t));
	if (count < 0 || count > places->buffers.count - places->buffer)
	{
		places->failed = true;
		return 0;
	}
	return (uint64_t) count;
}

static void
place_parts(places *places, tg_arrow_array *array)
{
	unsigned count = (unsigned) next_views(places);

	if (!tg_buffer_reserve(&places->file->memory, &array->parts, count * sizeof(tg_arrow_buffer)))
	{
		(void) tg_arrow_no_memory(places->file);
		return;
	}
	for (unsigned i = array->part_room; i < count; i++)
		((tg_arrow_buffer *) array->parts.data)[i] = (tg_arrow_buffer){0};
	array->part_count = count;
	array->part_room = count > array->part_room ? count : array->part_room;
	for (unsigned i = 0; i < count; i++)
		place_buffer(places, (tg_arrow_buffer *) array->parts.data + i);
}

static void
place_node(places *places, tg_arrow_array *array)
{
	const uint8_t *at = places->flat->data + places->nodes.at + (size_t) places->node * TG_ARROW_NODE_BYTES;

	if (places->failed || places->node == places->nodes.count)
	{
		places->failed = true;
		return;
	}
	places->node++;
	array->length = tg_read_u64(at);
	array->has_nulls = tg_read_u64(at + 8) != 0;
	if (array->length > INT64_MAX)
		places->failed = true;
}

static void
place_validity(places *places, tg_arrow_array *array)
{
	place_buffer(places, &array->validity);
	if (array->has_nulls && array->validity.stored == 0)
		places->failed = true;
}

static void
place_array(places *places, const tg_arrow_layout *layout, tg_arrow_array *array)
{
	place_node(places, array);
	if (layout->form == TG_ARROW_NOTHING)
		return;
	place_validity(places, array);
	place_buffer(places, &array->first);
	if (layout->form == TG_ARROW_OFFSETS)
		place_buffer(places, &array->second);
	if (layout->form == TG_ARROW_VIEWS)
		place_parts(places, array);
}

static void
place_lists(places *places, tg_arrow_leaf *leaf)
{
	place_node(places, &leaf->lists);
	place_validity(places, &leaf->lists);
	if (leaf->list != 0 && leaf->list != TG_ARROW_FIXED_LIST)
		place_buffer(places, &leaf->lists.first);
}

/* Passes over the arrays of a column. */
static void
pass_column(places *places, const tg_arrow_leaf *leaf)
{
	uint64_t buffers = leaf->buffers;

	for (unsigned i = 0; i < leaf->views; i++)
		buffers += next_views(places);
	if (leaf->nodes > places->nodes.count - places->node || buffers > places->buffers.count - places->buffer)
	{
		places->failed = true;
		return;
	}
	places->node += leaf->nodes;
	places->buffer += (uint32_t) buffers;
}

/* Returns the array of the rows. */
static const tg_arrow_array *
place_nested(places *places, const tg_file_column *column, tg_arrow_leaf *leaves)
{
	for (unsigned i = 0; i < column->node_count; i++)
		if (column->nodes[i].kind == TG_NESTED_VALUE)
			place_array(places, &leaves[i].layout, &leaves[i].array);
		else
			place_lists(places, &leaves[i]);
	return &leaves[0].lists;
}

static void
place_column(places *places, const tg_file_column *column, tg_arrow_leaf *leaf)
{
	const tg_arrow_array *rows = &leaf->array;

	if (column->type == TG_FILE_NESTED)
		rows = place_nested(places, column, tg_arrow_node_leaves(places->file) + leaf->node);
	else
	{
		if (column->list)
		{
			place_lists(places, leaf);
			rows = &leaf->lists;
		}
		place_array(places, &leaf->layout, &leaf->array);
	}
	if (rows->length != places->message->rows)
		places->failed = true;
}

tg_status
tg_arrow_begin_block(tg_arrow *file, unsigned block)
{
	const tg_arrow_message *message = (const tg_arrow_message *) file->blocks.data + block;
	tg_flat flat;
	places places = {.file = file, .flat = &flat, .message = message};
	tg_status status = tg_arrow_metadata(file, message->offset, message->bytes, &flat);

	if (status == TG_OK)
		status = begin_places(&places, tg_flat_inner(&flat, tg_flat_root(&flat), TG_ARROW_MESSAGE_HEADER));
	for (unsigned i = 0; i < file->column_count && status == TG_OK && !places.failed; i++)
	{
		tg_arrow_leaf *leaf = &tg_arrow_leaves(file)[i];

		file->column = i;
		if (tg_arrow_wants(file, i))
			place_column(&places, &tg_arrow_columns(file)[i], leaf);
		else
			pass_column(&places, leaf);
		status = file->fault.status;
	}
	if (status == TG_OK &&
		(places.failed || places.node != places.nodes.count || places.buffer != places.buffers.count))
		status = malformed(&places);
	return status;
}

/* --- dictionaries ----------------------------------------------------------------------- */

/* Appends values that have been read to those of the dictionary. */
static bool
append_part(tg_arrow *file, tg_arrow_dictionary *dictionary, unsigned count)
{
	tg_arrow_values *values = &dictionary->values;
	const tg_arrow_values *part = &dictionary->part;
	bool is_bytes = tg_arrow_has_bytes(&dictionary->layout);
	size_t width = is_bytes ? sizeof(tg_file_bytes) : sizeof(int64_t);
	tg_buffer *into = is_bytes ? &values->bytes : &values->words;
	const tg_file_bytes *bytes = part->bytes.data;

	if (!tg_buffer_reserve(&file->memory, &values->nulls, dictionary->count + count) ||
		!tg_buffer_reserve(&file->memory, into, (dictionary->count + count) * width))
		return false;
	for (unsigned i = 0; i < count; i++)
	{
		uint64_t at = dictionary->count + i;
		bool null = part->has_nulls && ((const uint8_t *) part->nulls.data)[i] != 0;

		((uint8_t *) values->nulls.data)[at] = null;
		values->has_nulls |= null;
		if (!is_bytes)
		{
			((int64_t *) into->data)[at] = null ? 0 : ((const int64_t *) part->words.data)[i];
			continue;
		}
		((tg_file_bytes *) into->data)[at] = (tg_file_bytes){(const uint8_t *) (uintptr_t) dictionary->text_bytes, 0};
		if (null || bytes[i].count == 0)
			continue;
		if (!tg_buffer_reserve(&file->memory, &values->texts, dictionary->text_bytes + bytes[i].count))
			return false;
		memcpy((uint8_t *) values->texts.data + dictionary->text_bytes, bytes[i].data, bytes[i].count);
		((tg_file_bytes *) into->data)[at].count = bytes[i].count;
		dictionary->text_bytes += bytes[i].count;
	}
	dictionary->count += count;
	return true;
}

static tg_status
append_message(tg_arrow *file, tg_arrow_dictionary *dictionary, const tg_arrow_message *message)
{
	tg_flat flat;
	places places = {.file = file, .flat = &flat, .message = message};
	tg_status status = tg_arrow_metadata(file, message->offset, message->bytes, &flat);

	if (status == TG_OK)
		status = begin_places(&places,
							  tg_flat_inner(&flat, tg_flat_inner(&flat, tg_flat_root(&flat), TG_ARROW_MESSAGE_HEADER),
											TG_ARROW_DICTIONARY_DATA));
	if (status != TG_OK)
		return status;
	place_array(&places, &dictionary->layout, &dictionary->array);
	if (file->fault.status != TG_OK)
		return file->fault.status;
	if (places.failed || dictionary->array.length != message->rows)
		return malformed(&places);
	for (uint64_t at = 0; at < message->rows && status == TG_OK;)
	{
		uint64_t left = message->rows - at;
		unsigned count = left < PART_VALUES ? (unsigned) left : PART_VALUES;

		status = tg_arrow_decode(file, &dictionary->layout, &dictionary->array, at, count, &dictionary->part);
		if (status == TG_OK && !append_part(file, dictionary, count))
			status = tg_arrow_no_memory(file);
		at += count;
	}
	return status;
}

static void
empty(tg_arrow_dictionary *dictionary)
{
	dictionary->has_begun = false;
	dictionary->count = 0;
	dictionary->text_bytes = 0;
	dictionary->values.has_nulls = false;
}

/*
 * Passes over the messages that a block adds to those that are in, up to *end_out.  *first_out: the
 * last of them that begins the dictionary, which its deltas follow; the first if none does.
 */
static tg_status
find_messages(tg_arrow *file, tg_arrow_dictionary *dictionary, unsigned block, unsigned *first_out, unsigned *end_out)
{
	const tg_arrow_dictionary_message *messages = file->dictionaries.data;
	unsigned i;

	*first_out = *end_out = dictionary->end;
	for (i = dictionary->end; i < file->dictionary_count && messages[i].blocks <= block; i++)
	{
		if (messages[i].id != dictionary->id || (messages[i].is_delta && dictionary->has_begun))
			continue;
		if (dictionary->has_begun && file->is_file)
			return tg_arrow_damaged(file, messages[i].message.offset, "a dictionary that is replaced in a file");
		empty(dictionary);
		dictionary->has_begun = true;
		*first_out = i;
	}
	*end_out = i;
	return TG_OK;
}

/* Each message is looked at once, as long as blocks ascend. */
tg_status
tg_arrow_dictionary_load(tg_arrow *file, tg_arrow_dictionary *dictionary, unsigned block)
{
	const tg_arrow_dictionary_message *messages = file->dictionaries.data;
	unsigned first;
	unsigned end;
	tg_status status;

	if (dictionary->block > block)
	{
		empty(dictionary);
		dictionary->end = 0;
	}
	status = find_messages(file, dictionary, block, &first, &end);
	for (unsigned i = first; status == TG_OK && i < end; i++)
		if (messages[i].id == dictionary->id)
			status = append_message(file, dictionary, &messages[i].message);
	if (status != TG_OK)
		return status;
	dictionary->block = block;
	dictionary->end = end;
	return TG_OK;
}
