/*
 * arrow.c
 *	  A file or a stream of Arrow that is read: its messages, and batches of rows.
 *
 *	stream	message | message | ... | end: a length of 0, or of the stream
 *	file	"ARROW1" 0 0 | stream | footer | its length, 4 bytes | "ARROW1"
 *	message	0xFFFFFFFF | bytes of the metadata, 4 | metadata | body
 *
 * Writers before version 0.15 left the first four bytes out.  Where the messages are is found out
 * when the file is opened: from the footer, or message by message.  The metadata of a record batch
 * are read again when its turn comes.
 *
 * Memory: the places of all messages, and of each wanted column a part of each buffer (a buffer
 * that is compressed: all of it), the values of a batch, and a dictionary.  All of it counts
 * against the source's limit.
 */
#include "runtime/format/arrow_internal.h"

#include <stdio.h>
#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/unpack.h"

#define WINDOWS (4 << 20) /* bytes of all buffers that are read at a time, about */
#define WINDOW_LEAST 4096
#define WINDOW_MOST 65536

/* --- messages --------------------------------------------------------------------------- */

tg_status
tg_arrow_metadata(tg_arrow *file, uint64_t offset, uint32_t bytes, tg_flat *flat_out)
{
	if (!tg_buffer_reserve(&file->memory, &file->metadata, bytes))
		return tg_file_fault_note(&file->fault, TG_NO_MEMORY, offset, "no memory for the metadata of a file");
	if (bytes > 0 && !file->source->read(file->source->argument, offset, file->metadata.data, bytes))
		return tg_file_fault_note(&file->fault, TG_IO, offset, "its metadata could not be read");
	*flat_out = (tg_flat){.data = file->metadata.data, .bytes = bytes};
	return TG_OK;
}

/* A message that has been read: what it is, and where its body is. */
typedef struct message
{
	tg_arrow_message place;
	tg_flat flat;
	int kind; /* tg_arrow_header; 0: it is the end */
	tg_flat_table header;
} message;

static tg_status
malformed(tg_arrow *file, uint64_t offset)
{
	return tg_file_fault_note(&file->fault, TG_DAMAGED, offset,
							  offset == 0 ? "it is neither a file nor a stream of Arrow" : "a message is malformed");
}

/* Where the message's metadata are; bytes 0: it is the end of the stream. */
static tg_status
read_prefix(tg_arrow *file, uint64_t offset, tg_arrow_message *place)
{
	uint64_t left = offset <= file->source->bytes ? file->source->bytes - offset : 0;
	uint8_t prefix[TG_ARROW_PREFIX];
	size_t bytes = left < TG_ARROW_PREFIX ? 4 : TG_ARROW_PREFIX;

	if (left < 4)
		return malformed(file, offset);
	if (!file->source->read(file->source->argument, offset, prefix, bytes))
		return tg_file_fault_note(&file->fault, TG_IO, offset, "a message could not be read");
	place->bytes = tg_read_u32(prefix);
	place->offset = offset + 4;
	if (place->bytes == TG_ARROW_CONTINUATION)
	{
		if (bytes < TG_ARROW_PREFIX)
			return malformed(file, offset);
		place->bytes = tg_read_u32(prefix + 4);
		place->offset = offset + TG_ARROW_PREFIX;
	}
	if (place->bytes > file->source->bytes - place->offset)
		return malformed(file, offset);
	if (place->bytes > TG_FILE_FOOTER_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, offset, "the metadata of a message have more than %d bytes",
								  TG_FILE_FOOTER_MAX);
	return TG_OK;
}

static tg_status
check_version(tg_arrow *file, int version, uint64_t offset)
{
	if (version != TG_ARROW_VERSION_4 && version != TG_ARROW_VERSION_5)
		return tg_file_fault_note(&file->fault, TG_UNFIT, offset, "version %d of the metadata is not supported",
								  version + 1);
	file->version = version;
	return TG_OK;
}

static tg_status
read_message(tg_arrow *file, uint64_t offset, message *message_out)
{
	tg_flat_table root;
	int64_t body;
	tg_status status;

	*message_out = (message){0};
	status = read_prefix(file, offset, &message_out->place);
	if (status != TG_OK || message_out->place.bytes == 0)
		return status;
	status = tg_arrow_metadata(file, message_out->place.offset, message_out->place.bytes, &message_out->flat);
	if (status != TG_OK)
		return status;
	root = tg_flat_root(&message_out->flat);
	message_out->kind = (int) tg_flat_integer(&message_out->flat, root, TG_ARROW_MESSAGE_KIND, 1, 0);
	message_out->header = tg_flat_inner(&message_out->flat, root, TG_ARROW_MESSAGE_HEADER);
	body = tg_flat_integer(&message_out->flat, root, TG_ARROW_MESSAGE_BODY_BYTES, 8, 0);
	message_out->place.body = message_out->place.offset + message_out->place.bytes;
	message_out->place.body_bytes = (uint64_t) body;
	if (message_out->flat.failed || message_out->header == 0)
		return malformed(file, offset);
	if (body < 0 || (uint64_t) body > file->source->bytes - message_out->place.body)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, offset, "a message is longer than the file");
	return check_version(file, (int) tg_flat_integer(&message_out->flat, root, TG_ARROW_MESSAGE_VERSION, 2, 0), offset);
}

/* Notes a record batch.  codec: of its buffers. */
static tg_status
take_block(tg_arrow *file, message *message, tg_arrow_message *block)
{
	int64_t rows = tg_flat_integer(&message->flat, message->header, TG_ARROW_BATCH_ROWS, 8, 0);
	tg_flat_table compression = tg_flat_inner(&message->flat, message->header, TG_ARROW_BATCH_COMPRESSION);

	if (message->kind != TG_ARROW_RECORD_BATCH || message->flat.failed || rows < 0 ||
		(uint64_t) rows > INT64_MAX - file->row_count)
		return malformed(file, message->place.offset);
	if (block == file->blocks.data && compression != 0)
		file->codec = (int) tg_flat_integer(&message->flat, compression, 0, 1, 0);
	message->place.rows = (uint64_t) rows;
	*block = message->place;
	file->row_count += (uint64_t) rows;
	return TG_OK;
}

static tg_status
take_dictionary(tg_arrow *file, message *message, tg_arrow_dictionary_message *dictionary)
{
	tg_flat_table data = tg_flat_inner(&message->flat, message->header, TG_ARROW_DICTIONARY_DATA);
	int64_t rows = tg_flat_integer(&message->flat, data, TG_ARROW_BATCH_ROWS, 8, 0);

	*dictionary = (tg_arrow_dictionary_message){
		.id = tg_flat_integer(&message->flat, message->header, TG_ARROW_DICTIONARY_ID, 8, 0),
		.is_delta = tg_flat_integer(&message->flat, message->header, TG_ARROW_DICTIONARY_IS_DELTA, 1, 0) != 0};
	if (message->kind != TG_ARROW_DICTIONARY_BATCH || message->flat.failed || data == 0 || rows < 0)
		return malformed(file, message->place.offset);
	message->place.rows = (uint64_t) rows;
	dictionary->message = message->place;
	return TG_OK;
}

/* --- streams ---------------------------------------------------------------------------- */

static tg_status
no_memory(tg_arrow *file)
{
	return tg_file_fault_note(&file->fault, TG_NO_MEMORY, 0, "no memory for the places of the record batches");
}

/* Notes a message behind the schema. */
static tg_status
take_message(tg_arrow *file, message *message)
{
	tg_status status;

	switch (message->kind)
	{
		case TG_ARROW_RECORD_BATCH:
			if (!tg_buffer_reserve(&file->memory, &file->blocks,
								   (file->block_count + (size_t) 1) * sizeof(tg_arrow_message)))
				return no_memory(file);
			return take_block(file, message, (tg_arrow_message *) file->blocks.data + file->block_count++);
		case TG_ARROW_DICTIONARY_BATCH:
			if (!tg_buffer_reserve(&file->memory, &file->dictionaries,
								   (file->dictionary_count + (size_t) 1) * sizeof(tg_arrow_dictionary_message)))
				return no_memory(file);
			status = take_dictionary(file, message,
									 (tg_arrow_dictionary_message *) file->dictionaries.data + file->dictionary_count);
			((tg_arrow_dictionary_message *) file->dictionaries.data)[file->dictionary_count++].blocks =
				file->block_count;
			return status;
		case TG_ARROW_SCHEMA:
			return malformed(file, message->place.offset);
		default:
			return tg_file_fault_note(&file->fault, TG_UNFIT, message->place.offset,
									  "messages of kind %d are not supported", message->kind);
	}
}

static tg_status
read_stream(tg_arrow *file)
{
	message message;
	uint64_t offset;
	tg_status status = read_message(file, 0, &message);

	if (status == TG_OK && message.kind != TG_ARROW_SCHEMA)
		status = malformed(file, 0);
	if (status == TG_OK)
		status = tg_arrow_schema(file, &message.flat, message.header, message.place.offset);
	offset = message.place.body + message.place.body_bytes;
	while (status == TG_OK && offset < file->source->bytes)
	{
		status = read_message(file, offset, &message);
		if (status != TG_OK || message.kind == 0)
			break;
		status = take_message(file, &message);
		offset = message.place.body + message.place.body_bytes;
	}
	return status;
}

/* --- files ------------------------------------------------------------------------------ */

/* The offsets of a list of messages. */
static tg_status
read_offsets(tg_arrow *file, tg_flat *flat, tg_flat_table footer, unsigned field, tg_buffer *buffer, size_t size,
			 unsigned *count_out)
{
	tg_flat_vector list = tg_flat_list(flat, footer, field, TG_ARROW_BLOCK_BYTES);

	if (!tg_buffer_reserve(&file->memory, buffer, list.count * size))
		return no_memory(file);
	*count_out = list.count;
	for (uint32_t i = 0; i < list.count; i++)
	{
		uint64_t offset = tg_read_u64(flat->data + list.at + (size_t) i * TG_ARROW_BLOCK_BYTES);

		memset((uint8_t *) buffer->data + i * size, 0, size);
		/* both begin with a tg_arrow_message */
		((tg_arrow_message *) ((uint8_t *) buffer->data + i * size))->offset = offset;
		if (offset < TG_ARROW_HEAD || offset > file->source->bytes)
			return tg_file_fault_note(&file->fault, TG_DAMAGED, 0, "a record batch would begin outside of the file");
	}
	return TG_OK;
}

/* The messages whose offsets are known. */
static tg_status
read_messages(tg_arrow *file)
{
	tg_arrow_message *blocks = file->blocks.data;
	tg_arrow_dictionary_message *dictionaries = file->dictionaries.data;
	message message;
	tg_status status = TG_OK;

	for (unsigned i = 0; i < file->dictionary_count && status == TG_OK; i++)
	{
		status = read_message(file, dictionaries[i].message.offset, &message);
		if (status == TG_OK)
			status = take_dictionary(file, &message, &dictionaries[i]);
	}
	for (unsigned i = 0; i < file->block_count && status == TG_OK; i++)
	{
		status = read_message(file, blocks[i].offset, &message);
		if (status == TG_OK)
			status = take_block(file, &message, &blocks[i]);
	}
	return status;
}

static tg_status
read_file(tg_arrow *file)
{
	uint64_t end = file->source->bytes - TG_ARROW_TAIL;
	uint8_t tail[TG_ARROW_TAIL];
	tg_flat flat;
	tg_flat_table footer;
	uint32_t bytes;
	tg_status status;

	if (!file->source->read(file->source->argument, end, tail, TG_ARROW_TAIL))
		return tg_file_fault_note(&file->fault, TG_IO, end, "its end could not be read");
	bytes = tg_read_u32(tail);
	if (memcmp(tail + 4, TG_ARROW_MAGIC, TG_ARROW_MAGIC_BYTES) != 0)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, end, "the file is cut short: it has no footer");
	if (bytes > end - TG_ARROW_HEAD)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, end, "its footer would begin before the file");
	if (bytes > TG_FILE_FOOTER_MAX)
		return tg_file_fault_note(&file->fault, TG_UNFIT, end, "its footer has more than %d bytes", TG_FILE_FOOTER_MAX);
	status = tg_arrow_metadata(file, end - bytes, bytes, &flat);
	if (status != TG_OK)
		return status;
	footer = tg_flat_root(&flat);
	status = check_version(file, (int) tg_flat_integer(&flat, footer, TG_ARROW_FOOTER_VERSION, 2, 0), end - bytes);
	if (status == TG_OK)
		status = tg_arrow_schema(file, &flat, tg_flat_inner(&flat, footer, TG_ARROW_FOOTER_SCHEMA), end - bytes);
	if (status == TG_OK)
		status = read_offsets(file, &flat, footer, TG_ARROW_FOOTER_BLOCKS, &file->blocks, sizeof(tg_arrow_message),
							  &file->block_count);
	if (status == TG_OK)
		status = read_offsets(file, &flat, footer, TG_ARROW_FOOTER_DICTIONARIES, &file->dictionaries,
							  sizeof(tg_arrow_dictionary_message), &file->dictionary_count);
	if (status == TG_OK && flat.failed)
		status = tg_file_fault_note(&file->fault, TG_DAMAGED, end - bytes, "the footer is malformed");
	return status == TG_OK ? read_messages(file) : status;
}

/* --- opening and closing ---------------------------------------------------------------- */

static tg_status
read_all(tg_arrow *file)
{
	uint8_t head[TG_ARROW_HEAD] = {0};
	size_t bytes = file->source->bytes < TG_ARROW_HEAD ? (size_t) file->source->bytes : TG_ARROW_HEAD;

	if (bytes > 0 && !file->source->read(file->source->argument, 0, head, bytes))
		return tg_file_fault_note(&file->fault, TG_IO, 0, "its beginning could not be read");
	if (memcmp(head, "FEA1", 4) == 0)
		return tg_file_fault_note(&file->fault, TG_UNFIT, 0, "version 1 of Feather is not supported");
	file->is_file = memcmp(head, TG_ARROW_MAGIC, TG_ARROW_MAGIC_BYTES) == 0;
	if (!file->is_file)
		return read_stream(file);
	if (file->source->bytes < TG_ARROW_HEAD + TG_ARROW_TAIL)
		return tg_file_fault_note(&file->fault, TG_DAMAGED, 0, "the file is cut short: it has no footer");
	return read_file(file);
}

tg_status
tg_arrow_open(const tg_file_source *source, tg_arrow **file_out, tg_file_fault *fault_out)
{
	tg_file_memory memory = {.source = source};
	tg_buffer own = {0};
	tg_arrow *file;
	tg_status status;

	*fault_out = (tg_file_fault){0};
	if (!tg_buffer_reserve(&memory, &own, sizeof(tg_arrow)))
		return tg_file_fault_note(fault_out, TG_NO_MEMORY, 0, "no memory for a file");
	file = own.data;
	*file = (tg_arrow){.source = source, .memory = memory, .own = own, .codec = -1};
	status = read_all(file);
	if (status != TG_OK)
	{
		*fault_out = file->fault;
		tg_arrow_close(file);
		return status;
	}
	file->block_end = file->block_count;
	file->window = WINDOWS / file->column_count;
	if (file->window > WINDOW_MOST)
		file->window = WINDOW_MOST;
	if (file->window < WINDOW_LEAST)
		file->window = WINDOW_LEAST;
	*file_out = file;
	return TG_OK;
}

static void
free_leaf(tg_arrow *file, tg_arrow_leaf *leaf)
{
	tg_arrow_array_free(file, &leaf->lists);
	tg_arrow_array_free(file, &leaf->array);
	tg_arrow_array_free(file, &leaf->dictionary.array);
	tg_arrow_values_free(file, &leaf->values);
	tg_arrow_values_free(file, &leaf->dictionary.values);
	tg_arrow_values_free(file, &leaf->dictionary.part);
	tg_buffer_free(&file->memory, &leaf->nulls);
	tg_buffer_free(&file->memory, &leaf->ends);
}

void
tg_arrow_close(tg_arrow *file)
{
	tg_buffer *const buffers[] = {&file->names,	 &file->columns,	  &file->leaves,	  &file->wanted,
								  &file->nodes,	 &file->node_leaves,  &file->node_values, &file->node_names,
								  &file->blocks, &file->dictionaries, &file->metadata,	  &file->packed};
	tg_buffer own = file->own;
	tg_file_memory memory;

	for (unsigned i = 0; i < file->column_count; i++)
		free_leaf(file, &tg_arrow_leaves(file)[i]);
	for (unsigned i = 0; i < file->node_count; i++)
		free_leaf(file, &tg_arrow_node_leaves(file)[i]);
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		tg_buffer_free(&file->memory, buffers[i]);
	memory = file->memory;
	tg_buffer_free(&memory, &own);
	tg_assert(memory.used == 0);
}

/* --- what is in it ---------------------------------------------------------------------- */

unsigned
tg_arrow_column_count(const tg_arrow *file)
{
	return file->column_count;
}

const tg_file_column *
tg_arrow_column(const tg_arrow *file, unsigned column)
{
	return &tg_arrow_columns(file)[column];
}

uint64_t
tg_arrow_row_count(const tg_arrow *file)
{
	return file->row_count;
}

unsigned
tg_arrow_block_count(const tg_arrow *file)
{
	return file->block_count;
}

uint64_t
tg_arrow_block_rows(const tg_arrow *file, unsigned block)
{
	tg_assert(block < file->block_count);
	return ((const tg_arrow_message *) file->blocks.data)[block].rows;
}

bool
tg_arrow_describe(const tg_arrow *file, unsigned column, char *codec, size_t codec_bytes, char *encodings,
				  size_t encodings_bytes)
{
	static const char *const codecs[] = {"none", "lz4", "zstd"};

	if (file->block_count == 0 || tg_arrow_columns(file)[column].type == TG_FILE_UNREADABLE)
		return false;
	snprintf(codec, codec_bytes, "%s", file->codec >= -1 && file->codec <= 1 ? codecs[file->codec + 1] : "unknown");
	snprintf(encodings, encodings_bytes, "%s", tg_arrow_leaves(file)[column].has_dictionary ? "dictionary" : "plain");
	return true;
}

void
tg_arrow_want(tg_arrow *file, unsigned column)
{
	tg_assert(tg_arrow_columns(file)[column].type != TG_FILE_UNREADABLE);
	((bool *) file->wanted.data)[column] = true;
}

/* --- rows ------------------------------------------------------------------------------- */

void
tg_arrow_seek(tg_arrow *file, unsigned block)
{
	tg_assert(block < file->block_count);
	file->next_block = block;
	file->block_end = block + 1;
	file->rows_left = 0;
}

/* Loads the dictionaries of the column in hand. */
static tg_status
load_dictionaries(tg_arrow *file, unsigned block)
{
	const tg_file_column *column = &tg_arrow_columns(file)[file->column];
	tg_arrow_leaf *leaf = &tg_arrow_leaves(file)[file->column];
	tg_status status = TG_OK;

	if (leaf->has_dictionary)
		return tg_arrow_dictionary_load(file, &leaf->dictionary, block);
	for (unsigned i = 0; i < column->node_count && status == TG_OK; i++)
	{
		tg_arrow_leaf *part = tg_arrow_node_leaves(file) + leaf->node + i;

		if (part->has_dictionary)
			status = tg_arrow_dictionary_load(file, &part->dictionary, block);
	}
	return status;
}

static tg_status
begin_block(tg_arrow *file)
{
	unsigned block = file->next_block++;
	tg_status status = tg_arrow_begin_block(file, block);

	for (unsigned i = 0; i < file->column_count && status == TG_OK; i++)
	{
		file->column = i;
		if (tg_arrow_wants(file, i))
			status = load_dictionaries(file, block);
	}
	file->rows_left = status == TG_OK ? tg_arrow_block_rows(file, block) : 0;
	file->row = 0;
	return status;
}

static tg_status
read_rows(tg_arrow *file, tg_file_values *values, unsigned *count_out)
{
	tg_status status = TG_OK;
	unsigned count;

	*count_out = 0;
	while (status == TG_OK && file->rows_left == 0 && file->next_block < file->block_end)
		status = begin_block(file);
	count = file->rows_left < TG_FILE_BATCH ? (unsigned) file->rows_left : TG_FILE_BATCH;
	for (unsigned i = 0; i < file->column_count && status == TG_OK && count > 0; i++)
	{
		file->column = i;
		if (tg_arrow_wants(file, i))
			status = tg_arrow_rows(file, count, &values[i]);
	}
	if (status != TG_OK)
		return status;
	file->rows_left -= count;
	file->row += count;
	*count_out = count;
	return TG_OK;
}

tg_status
tg_arrow_read(tg_arrow *file, tg_file_values *values, unsigned *count_out, tg_file_fault *fault_out)
{
	tg_status status = file->fault.status;

	if (status == TG_OK)
		status = read_rows(file, values, count_out);
	*fault_out = file->fault;
	return status;
}
