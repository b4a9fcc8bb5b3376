/*
 * arrow_out.c
 *	  A file or a stream of Arrow that is written: record batches.
 *
 * (arrow.c has a picture.)  The body of a record batch is put together in memory, because what the
 * metadata say of its buffers comes before it.
 */
#include "runtime/format/arrow_out_internal.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/format/codec.h"
#include "runtime/format/flat_out.h"
#include "runtime/format/pack.h"

#define ALIGNMENT 8
#define DECIMAL_BYTES 16

/* A record batch that is being encoded. */
typedef struct batch
{
	tg_columnar_block *block;
	size_t raw_bytes; /* of the buffer in hand */
} batch;

/* --- buffers ---------------------------------------------------------------------------- */

/* Room for the next buffer's bytes, which are zero. */
static uint8_t *
begin_buffer(batch *batch, size_t bytes)
{
	if (!tg_buffer_reserve(&batch->block->memory, &batch->block->raw, bytes + 1))
		return NULL;
	memset(batch->block->raw.data, 0, bytes);
	batch->raw_bytes = bytes;
	return batch->block->raw.data;
}

/* Appends the buffer to the body, behind its length; its bytes, 0: it cannot be made smaller. */
static size_t
compress_buffer(batch *batch, uint8_t *into, size_t bound)
{
	tg_columnar_block *block = batch->block;
	size_t bytes = tg_codec_compress((tg_codec) block->codec, block->level, block->raw.data, batch->raw_bytes,
									 into + TG_ARROW_LENGTH_BYTES, bound);

	if (bytes == 0 || bytes >= batch->raw_bytes)
		return 0;
	tg_write_u64(into, batch->raw_bytes);
	return bytes + TG_ARROW_LENGTH_BYTES;
}

static tg_status
end_buffer(batch *batch)
{
	tg_columnar_block *block = batch->block;
	bool packs = block->codec != TG_CODEC_NONE && batch->raw_bytes > 0;
	size_t bound = packs ? tg_codec_bound((tg_codec) block->codec, batch->raw_bytes) : 0;
	size_t room = bound > batch->raw_bytes ? bound : batch->raw_bytes;
	size_t bytes = 0;
	size_t padded;
	uint8_t *into;
	uint8_t *place;

	if (!tg_buffer_reserve(&block->memory, &block->encoded,
						   block->encoded_bytes + TG_ARROW_LENGTH_BYTES + room + ALIGNMENT) ||
		!tg_buffer_reserve(&block->memory, &block->buffers, (block->buffer_count + 1) * TG_ARROW_BUFFER_BYTES))
		return TG_NO_MEMORY;
	into = (uint8_t *) block->encoded.data + block->encoded_bytes;
	if (packs)
		bytes = compress_buffer(batch, into, bound);
	if (bytes == 0)
	{
		if (packs)
			tg_write_u64(into, UINT64_MAX); /* it is not compressed */
		bytes = packs ? TG_ARROW_LENGTH_BYTES : 0;
		memcpy(into + bytes, block->raw.data, batch->raw_bytes);
		bytes += batch->raw_bytes;
	}
	place = (uint8_t *) block->buffers.data + block->buffer_count++ * TG_ARROW_BUFFER_BYTES;
	tg_write_u64(place, block->encoded_bytes);
	tg_write_u64(place + 8, bytes);
	padded = (bytes + ALIGNMENT - 1) & ~(size_t) (ALIGNMENT - 1);
	memset(into + bytes, 0, padded - bytes);
	block->encoded_bytes += padded;
	return TG_OK;
}

static tg_status
put_node(batch *batch, uint64_t length, uint64_t null_count)
{
	tg_columnar_block *block = batch->block;
	uint8_t *place;

	if (!tg_buffer_reserve(&block->memory, &block->nodes, (block->node_count + 1) * TG_ARROW_NODE_BYTES))
		return TG_NO_MEMORY;
	place = (uint8_t *) block->nodes.data + block->node_count++ * TG_ARROW_NODE_BYTES;
	tg_write_u64(place, length);
	tg_write_u64(place + 8, null_count);
	return TG_OK;
}

/* A node, and the bits of what is there: none if all is. */
static tg_status
put_present(batch *batch, const uint8_t *present, uint64_t count)
{
	uint64_t there = 0;
	uint8_t *bits;
	tg_status status;

	for (uint64_t i = 0; i < count; i++)
		there += present[i];
	status = put_node(batch, count, count - there);
	bits = begin_buffer(batch, there == count ? 0 : (count + 7) / 8);
	if (status != TG_OK || bits == NULL)
		return TG_NO_MEMORY;
	for (uint64_t i = 0; i < count && there < count; i++)
		bits[i / 8] |= (uint8_t) (present[i] << i % 8);
	return end_buffer(batch);
}

/* --- values ----------------------------------------------------------------------------- */

static void
store_decimal(const tg_column_out *column, size_t value, uint8_t *into)
{
	int64_t word;
	tg_file_bytes bytes;

	if (!column->description.is_bytes)
	{
		word = ((const int64_t *) column->words.data)[value];
		tg_write_u64(into, (uint64_t) word);
		tg_write_u64(into + 8, word < 0 ? UINT64_MAX : 0);
		return;
	}
	bytes = tg_text_out(column, value);
	for (size_t i = 0; i < bytes.count; i++)
		into[i] = bytes.data[bytes.count - 1 - i];
}

static void
store_word(const tg_column_out *column, int64_t word, unsigned width, uint8_t *into)
{
	double real;
	float narrow;
	uint32_t bits;

	if (column->description.type == TG_FILE_FLOAT && width == 4)
	{
		memcpy(&real, &word, sizeof(real));
		narrow = (float) real;
		memcpy(&bits, &narrow, sizeof(bits));
		word = bits;
	}
	for (unsigned i = 0; i < width; i++)
		into[i] = (uint8_t) ((uint64_t) word >> 8 * i);
}

static tg_status
put_bits(batch *batch, const tg_column_out *column, const uint8_t *present, uint64_t count)
{
	const int64_t *word = column->words.data;
	uint8_t *bits = begin_buffer(batch, (count + 7) / 8);

	if (bits == NULL)
		return TG_NO_MEMORY;
	for (uint64_t i = 0; i < count; i++)
		if (present[i])
			bits[i / 8] |= (uint8_t) ((*word++ & 1) << i % 8);
	return end_buffer(batch);
}

static tg_status
put_fixed(batch *batch, const tg_column_out *column, const uint8_t *present, uint64_t count, unsigned width)
{
	uint8_t *into = begin_buffer(batch, count * width);
	size_t value = 0;

	if (into == NULL)
		return TG_NO_MEMORY;
	for (uint64_t i = 0; i < count; i++, into += width)
	{
		if (!present[i])
			continue;
		if (column->description.type == TG_FILE_DECIMAL)
			store_decimal(column, value, into);
		else if (column->description.is_bytes)
			memcpy(into, tg_text_out(column, value).data, width);
		else
			store_word(column, ((const int64_t *) column->words.data)[value], width, into);
		value++;
	}
	return end_buffer(batch);
}

/* Offsets, then what lies between them. */
static tg_status
put_strings(batch *batch, const tg_column_out *column, const uint8_t *present, uint64_t count)
{
	const int64_t *ends = column->words.data;
	uint8_t *into = begin_buffer(batch, (count + 1) * sizeof(uint32_t));
	uint32_t end = 0;
	tg_status status;

	if (column->text_bytes > INT32_MAX)
		return TG_TOO_LARGE;
	if (into == NULL)
		return TG_NO_MEMORY;
	for (uint64_t i = 0; i < count; i++)
	{
		if (present[i])
			end = (uint32_t) *ends++;
		tg_write_u32(into + (i + 1) * sizeof(uint32_t), end);
	}
	status = end_buffer(batch);
	if (status != TG_OK)
		return status;
	into = begin_buffer(batch, column->text_bytes);
	if (into == NULL)
		return TG_NO_MEMORY;
	if (column->text_bytes > 0)
		memcpy(into, column->texts.data, column->text_bytes);
	return end_buffer(batch);
}

static tg_status
put_values(batch *batch, const tg_column_out *column, const uint8_t *present, uint64_t count)
{
	tg_status status = put_present(batch, present, count);

	if (status != TG_OK)
		return status;
	switch (column->description.type)
	{
		case TG_FILE_BOOL:
			return put_bits(batch, column, present, count);
		case TG_FILE_STRING:
		case TG_FILE_JSON:
		case TG_FILE_BINARY:
			return put_strings(batch, column, present, count);
		case TG_FILE_DECIMAL:
			return put_fixed(batch, column, present, count, DECIMAL_BYTES);
		case TG_FILE_UUID:
		case TG_FILE_INTERVAL:
			return put_fixed(batch, column, present, count, column->width);
		case TG_FILE_INT:
		case TG_FILE_UINT:
		case TG_FILE_FLOAT:
			return put_fixed(batch, column, present, count, column->description.bits / 8);
		case TG_FILE_DATE:
			return put_fixed(batch, column, present, count, 4);
		case TG_FILE_TIME:
			return put_fixed(batch, column, present, count, column->description.digits <= 3 ? 4 : 8);
		default:
			tg_assert(column->description.type == TG_FILE_TIMESTAMP);
			return put_fixed(batch, column, present, count, 8);
	}
}

/* --- columns ---------------------------------------------------------------------------- */

/* The rows of a column of lists: which are there, and where their elements end. */
static tg_status
put_lists(batch *batch, const tg_column_out *column)
{
	const uint8_t *levels = column->levels.data;
	uint8_t *present = batch->block->indexes.data;
	uint64_t rows = 0;
	uint32_t elements = 0;
	uint8_t *into;
	tg_status status;

	for (size_t i = 0; i < column->level_count; i++)
		if ((levels[i] & TG_LEVEL_BEGINS_ROW) != 0)
			present[rows++] = (levels[i] & ~TG_LEVEL_BEGINS_ROW) > 0 || !column->description.nullable;
	status = put_present(batch, present, rows);
	into = status == TG_OK ? begin_buffer(batch, (rows + 1) * sizeof(uint32_t)) : NULL;
	if (into == NULL)
		return status != TG_OK ? status : TG_NO_MEMORY;
	rows = 0;
	for (size_t i = 0; i < column->level_count; i++)
	{
		rows += (levels[i] & TG_LEVEL_BEGINS_ROW) != 0;
		elements += (levels[i] & ~TG_LEVEL_BEGINS_ROW) >= column->list_level;
		tg_write_u32(into + rows * sizeof(uint32_t), elements);
	}
	return end_buffer(batch);
}

/* Which values are there: of rows, or of the elements of lists.  Returns how many these are. */
static uint64_t
find_present(const tg_column_out *column, uint8_t *present)
{
	const uint8_t *levels = column->levels.data;
	uint64_t count = 0;

	if (column->level_count == 0)
	{
		memset(present, 1, column->value_count);
		return column->value_count;
	}
	for (size_t i = 0; i < column->level_count; i++)
	{
		uint8_t level = levels[i] & (uint8_t) ~TG_LEVEL_BEGINS_ROW;

		if (level >= column->list_level)
			present[count++] = level == column->level_max;
	}
	return count;
}

static tg_status
put_column(batch *batch, const tg_column_out *column)
{
	tg_columnar_block *block = batch->block;
	size_t slots = tg_levels_out(column);
	tg_status status = TG_OK;

	if (column->level_count > INT32_MAX)
		return TG_TOO_LARGE;
	if (!tg_buffer_reserve(&block->memory, &block->indexes, slots + 1))
		return TG_NO_MEMORY;
	if (column->description.list)
		status = put_lists(batch, column);
	if (status == TG_OK)
		status = put_values(batch, column, block->indexes.data, find_present(column, block->indexes.data));
	return status;
}

/* --- messages --------------------------------------------------------------------------- */

tg_status
tg_arrow_write_message(tg_columnar_out *file, const void *metadata, size_t bytes)
{
	uint8_t prefix[TG_ARROW_PREFIX];
	tg_status status;

	tg_write_u32(prefix, TG_ARROW_CONTINUATION);
	tg_write_u32(prefix + 4, (uint32_t) bytes);
	status = tg_out_write(file, prefix, sizeof(prefix));
	return status == TG_OK ? tg_out_write(file, metadata, bytes) : status;
}

size_t
tg_arrow_begin_message(tg_flat_out *out, tg_arrow_header kind, size_t body_bytes)
{
	static const uint8_t message[] = {2, 1, 4, 8};
	size_t root = tg_flat_begin(out, message, sizeof(message));

	tg_flat_set(out, root, TG_ARROW_MESSAGE_VERSION, 2, TG_ARROW_VERSION_5);
	tg_flat_set(out, root, TG_ARROW_MESSAGE_KIND, 1, kind);
	tg_flat_set(out, root, TG_ARROW_MESSAGE_BODY_BYTES, 8, (int64_t) body_bytes);
	return root;
}

/* The metadata of a record batch, whose body is complete. */
static tg_status
describe_batch(tg_columnar_block *block)
{
	tg_flat_out out = {.memory = &block->memory, .buffer = &block->head};
	bool packs = block->codec != TG_CODEC_NONE;
	const uint8_t fields[] = {8, 4, 4, packs ? 4 : 0};
	static const uint8_t compression_fields[] = {1, 1};
	size_t root = tg_arrow_begin_message(&out, TG_ARROW_RECORD_BATCH, block->encoded_bytes);
	size_t table = tg_flat_put_table(&out, fields, sizeof(fields));
	size_t nodes = tg_flat_put_vector(&out, block->node_count, TG_ARROW_NODE_BYTES);
	size_t buffers = tg_flat_put_vector(&out, block->buffer_count, TG_ARROW_BUFFER_BYTES);

	tg_flat_link(&out, root, TG_ARROW_MESSAGE_HEADER, table);
	tg_flat_set(&out, table, TG_ARROW_BATCH_ROWS, 8, (int64_t) block->rows);
	tg_flat_link(&out, table, TG_ARROW_BATCH_NODES, nodes);
	tg_flat_link(&out, table, TG_ARROW_BATCH_BUFFERS, buffers);
	if (packs)
	{
		size_t compression = tg_flat_put_table(&out, compression_fields, sizeof(compression_fields));

		tg_flat_set(&out, compression, TG_ARROW_COMPRESSION_CODEC, 1,
					block->codec == TG_CODEC_ZSTD ? TG_ARROW_CODEC_ZSTD : TG_ARROW_CODEC_LZ4);
		tg_flat_link(&out, table, TG_ARROW_BATCH_COMPRESSION, compression);
	}
	tg_flat_finish(&out);
	if (out.failed)
		return TG_NO_MEMORY;
	memcpy(tg_flat_elements(&out, nodes), block->nodes.data, block->node_count * TG_ARROW_NODE_BYTES);
	memcpy(tg_flat_elements(&out, buffers), block->buffers.data, block->buffer_count * TG_ARROW_BUFFER_BYTES);
	block->head_bytes = out.bytes;
	return TG_OK;
}

static tg_status
encode(tg_columnar_block *block, unsigned column)
{
	batch batch = {.block = block};
	tg_status status = put_column(&batch, &tg_block_columns(block)[column]);

	return status == TG_OK && column + 1 == block->column_count ? describe_batch(block) : status;
}

static tg_status
append(tg_columnar_out *file, const tg_columnar_block *block)
{
	const tg_arrow_place place = {.offset = file->position,
								  .body_bytes = block->encoded_bytes,
								  .metadata_bytes = (uint32_t) (TG_ARROW_PREFIX + block->head_bytes)};
	tg_status status;

	if (!tg_buffer_reserve(&file->memory, &file->places, (file->block_count + 1) * sizeof(place)))
		return TG_NO_MEMORY;
	((tg_arrow_place *) file->places.data)[file->block_count] = place;
	status = tg_arrow_write_message(file, block->head.data, block->head_bytes);
	return status == TG_OK ? tg_out_write(file, block->encoded.data, block->encoded_bytes) : status;
}

const tg_columnar_format tg_arrow_format = {.begin = tg_arrow_begin,
											.encode = encode,
											.append = append,
											.finish = tg_arrow_finish,
											.null_bytes = sizeof(int64_t)};
