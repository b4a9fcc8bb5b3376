/*
 * columnar_out.c
 *	  A file of columns that is written: rows into columns, columns into blocks.
 */
#include "runtime/format/columnar_out_internal.h"

#include <string.h>

#include "runtime/base/check.h"

#define BYTES_WIDE 16		   /* of a UUID, an interval, a DECIMAL that is no word */
#define DECIMAL_WORD_DIGITS 18 /* that a word always has */
#define TEXTS_AHEAD 12		   /* of the one that is copied: memory that is asked for */

/* What encoding needs, to be expected: */
#define PACKED_PART 6		   /* what cannot be compressed gets longer by such a part (snappy), */
#define COLUMN_BYTES 1024	   /* and a column has headers and padding */
#define ENCODING_BYTES 1048576 /* a dictionary's directory, and what else does not grow with the rows */

tg_status
tg_out_write(tg_columnar_out *file, const void *data, size_t bytes)
{
	if (!file->target->write(file->target->argument, data, bytes))
		return TG_IO;
	file->position += bytes;
	return TG_OK;
}

/* --- columns ----------------------------------------------------------------------------- */

/* Whether values are bytes, and how many. */
static void
choose_bytes(tg_column_out *column)
{
	tg_file_column *of = &column->description;

	of->is_bytes = false;
	switch (of->type)
	{
		case TG_FILE_STRING:
		case TG_FILE_JSON:
		case TG_FILE_BINARY:
			of->is_bytes = true;
			break;
		case TG_FILE_UUID:
		case TG_FILE_INTERVAL:
			of->is_bytes = true;
			column->width = BYTES_WIDE;
			break;
		case TG_FILE_DECIMAL:
			of->is_bytes = of->precision > DECIMAL_WORD_DIGITS;
			column->width = of->is_bytes ? BYTES_WIDE : 0;
			break;
		default:
			break;
	}
}

static bool
init_columns(tg_columnar_out *file, const tg_file_column *columns, unsigned count)
{
	size_t name_bytes = 0;
	char *next;

	for (unsigned i = 0; i < count; i++)
		name_bytes += strlen(columns[i].name) + 1;
	if (!tg_buffer_reserve(&file->memory, &file->columns, count * sizeof(tg_column_out)) ||
		!tg_buffer_reserve(&file->memory, &file->names, name_bytes))
		return false;
	memset(file->columns.data, 0, count * sizeof(tg_column_out));
	file->column_count = count;
	next = file->names.data;
	for (unsigned i = 0; i < count; i++)
	{
		tg_column_out *column = &tg_columns_out(file)[i];

		column->description = columns[i];
		column->description.name = strcpy(next, columns[i].name);
		next += strlen(next) + 1;
		choose_bytes(column);
		column->level_max = columns[i].nullable;
		if (columns[i].list)
		{
			column->list_level = columns[i].nullable + 1;
			column->level_max = (uint8_t) (column->list_level + columns[i].element_nullable);
		}
	}
	return true;
}

tg_status
tg_columnar_create(tg_file_format format, const tg_file_target *target, const tg_columnar_options *options,
				   const tg_file_column *columns, unsigned column_count, tg_columnar_out **file_out)
{
	tg_file_source source = {
		.resize = target->resize, .free = target->free, .argument = target->argument, .memory_max = target->memory_max};
	static const tg_columnar_format *const formats[] = {[TG_FORMAT_PARQUET] = &tg_parquet_format,
														[TG_FORMAT_ARROW] = &tg_arrow_format,
														[TG_FORMAT_CSV] = &tg_csv_format};
	tg_file_memory memory = {.source = &source};
	tg_buffer own = {0};
	tg_columnar_out *file;
	tg_status status;

	tg_assert(column_count >= 1 && column_count <= TG_FILE_COLUMNS_MAX);
	if (!tg_buffer_reserve(&memory, &own, sizeof(tg_columnar_out)))
		return TG_NO_MEMORY;
	file = own.data;
	*file = (tg_columnar_out){.format = formats[format],
							  .target = target,
							  .memory_source = source,
							  .memory = memory,
							  .options = *options,
							  .own = own};
	file->memory.source = &file->memory_source;
	status = init_columns(file, columns, column_count) ? file->format->begin(file) : TG_NO_MEMORY;
	if (status != TG_OK)
		tg_columnar_out_free(file);
	else
		*file_out = file;
	return status;
}

void
tg_columnar_out_free(tg_columnar_out *file)
{
	tg_buffer *const buffers[] = {&file->columns, &file->names, &file->places, &file->group_rows, &file->raw};
	tg_file_source source = file->memory_source;
	tg_file_memory memory;
	tg_buffer own = file->own;

	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		tg_buffer_free(&file->memory, buffers[i]);
	memory = file->memory;
	memory.source = &source;
	tg_buffer_free(&memory, &own);
}

/* --- blocks ------------------------------------------------------------------------------ */

tg_status
tg_columnar_block_create(const tg_columnar_out *file, const tg_file_source *memory, tg_columnar_block **block_out)
{
	tg_file_memory first = {.source = memory};
	tg_buffer own = {0};
	tg_columnar_block *block;

	if (!tg_buffer_reserve(&first, &own, sizeof(tg_columnar_block)))
		return TG_NO_MEMORY;
	block = own.data;
	*block = (tg_columnar_block){.format = file->format,
								 .codec = file->options.codec,
								 .level = file->options.level,
								 .plain = file->options.plain,
								 .csv = file->options.csv,
								 .source = *memory,
								 .memory = first,
								 .own = own,
								 .rows_max = file->options.block_rows,
								 .bytes_max = file->options.block_bytes};
	block->memory.source = &block->source;
	if (!tg_buffer_reserve(&block->memory, &block->columns, file->column_count * sizeof(tg_column_out)))
	{
		tg_columnar_block_free(block);
		return TG_NO_MEMORY;
	}
	block->column_count = file->column_count;
	memcpy(block->columns.data, file->columns.data, file->column_count * sizeof(tg_column_out));
	for (unsigned i = 0; i < block->column_count; i++)
		tg_block_columns(block)[i].description.name = NULL;
	*block_out = block;
	return TG_OK;
}

void
tg_columnar_block_free(tg_columnar_block *block)
{
	tg_buffer *const buffers[] = {&block->encoded, &block->chunks,	  &block->head,	   &block->nodes, &block->buffers,
								  &block->indexes, &block->directory, &block->entries, &block->raw};
	tg_file_source source = block->source;
	tg_file_memory memory;
	tg_buffer own = block->own;

	for (unsigned i = 0; i < block->column_count; i++)
	{
		tg_buffer_free(&block->memory, &tg_block_columns(block)[i].levels);
		tg_buffer_free(&block->memory, &tg_block_columns(block)[i].words);
		tg_buffer_free(&block->memory, &tg_block_columns(block)[i].texts);
	}
	tg_buffer_free(&block->memory, &block->columns);
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		tg_buffer_free(&block->memory, buffers[i]);
	memory = block->memory;
	memory.source = &source;
	tg_buffer_free(&memory, &own);
}

size_t
tg_columnar_block_bytes(const tg_columnar_block *block)
{
	return block->memory.used;
}

void
tg_columnar_block_limit(tg_columnar_block *block, size_t memory_max)
{
	block->source.memory_max = memory_max;
}

/* The bytes of a column's values as they are stored at most, before they are compressed. */
static size_t
stored_bytes(const tg_column_out *column)
{
	size_t slots = tg_levels_out(column);
	size_t width = column->description.type == TG_FILE_DECIMAL ? BYTES_WIDE
				   : column->width > 0						   ? column->width
				   : column->description.is_bytes			   ? sizeof(uint32_t)
															   : sizeof(int64_t);

	return slots * width + (column->width == 0 ? column->text_bytes : 0) + 2 * column->level_count;
}

size_t
tg_columnar_block_bound(const tg_columnar_block *block)
{
	const tg_buffer *const buffers[] = {&block->encoded, &block->indexes, &block->directory, &block->entries,
										&block->raw};
	size_t encoded = 0;
	size_t largest = 0;
	size_t slots = 0;
	size_t need;
	size_t room = 0;

	for (unsigned i = 0; i < block->column_count; i++)
	{
		const tg_column_out *column = &tg_block_columns(block)[i];
		size_t bytes = stored_bytes(column) + column->value_count * block->format->slot_bytes;

		encoded += bytes + bytes / PACKED_PART + COLUMN_BYTES;
		largest = bytes > largest ? bytes : largest;
		slots = tg_levels_out(column) > slots ? tg_levels_out(column) : slots;
	}
	need = encoded + largest + 2 * slots * sizeof(uint32_t) + ENCODING_BYTES;
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		room += buffers[i]->room;
	return block->memory.used + (need > room ? need - room : 0);
}

bool
tg_columnar_block_is_empty(const tg_columnar_block *block)
{
	return block->rows == 0;
}

void
tg_columnar_fill(tg_columnar_out *file, tg_columnar_block *block)
{
	file->block = block;
}

/* --- values ------------------------------------------------------------------------------ */

/* Whether levels are noted: of lists, and from the first NULL on. */
static inline bool
has_levels(const tg_column_out *column)
{
	return column->list_level > 0 || column->level_count > 0;
}

/* Notes a level; a list's first one begins the row. */
static bool
put_level(tg_columnar_block *block, tg_column_out *column, uint8_t definition)
{
	if (!tg_buffer_reserve(&block->memory, &column->levels, column->level_count + 1))
		return false;
	if (column->list_level > 0 && !column->in_list)
		definition |= TG_LEVEL_BEGINS_ROW;
	((uint8_t *) column->levels.data)[column->level_count++] = definition;
	block->bytes++;
	return true;
}

/* The first NULL: notes the levels of the rows before it. */
static bool
begin_levels(tg_columnar_block *block, tg_column_out *column)
{
	if (!tg_buffer_reserve(&block->memory, &column->levels, column->put + 1))
		return false;
	memset(column->levels.data, column->level_max, column->put);
	column->level_count = column->put;
	block->bytes += column->put;
	return true;
}

/* After a value: a row of a column without lists is complete. */
static void
count_value(tg_column_out *column)
{
	if (column->list_level > 0)
		column->in_list = true;
	else
		column->put++;
}

/* The slot that a row, or an element, without a value takes. */
static void
count_null(tg_columnar_block *block, const tg_column_out *column)
{
	size_t bytes = block->format->null_bytes;

	block->bytes += bytes > 0 && column->width > bytes ? column->width : bytes;
}

tg_status
tg_columnar_put_null(tg_columnar_out *file, unsigned at)
{
	tg_columnar_block *block = file->block;
	tg_column_out *column = &tg_block_columns(block)[at];

	tg_assert(column->description.nullable);
	if ((!has_levels(column) && !begin_levels(block, column)) || !put_level(block, column, 0))
		return TG_NO_MEMORY;
	count_null(block, column);
	column->put++;
	return TG_OK;
}

tg_status
tg_columnar_put_null_element(tg_columnar_out *file, unsigned at)
{
	tg_columnar_block *block = file->block;
	tg_column_out *column = &tg_block_columns(block)[at];

	tg_assert(column->description.list && column->description.element_nullable);
	if (!put_level(block, column, column->list_level))
		return TG_NO_MEMORY;
	count_null(block, column);
	count_value(column);
	return TG_OK;
}

tg_status
tg_columnar_put_word(tg_columnar_out *file, unsigned at, int64_t word)
{
	tg_columnar_block *block = file->block;
	tg_column_out *column = &tg_block_columns(block)[at];

	tg_assert(!column->description.is_bytes);
	if (!tg_buffer_reserve(&block->memory, &column->words, (column->value_count + 1) * sizeof(int64_t)) ||
		(has_levels(column) && !put_level(block, column, column->level_max)))
		return TG_NO_MEMORY;
	((int64_t *) column->words.data)[column->value_count++] = word;
	block->bytes += sizeof(int64_t);
	count_value(column);
	return TG_OK;
}

tg_status
tg_columnar_put_bytes(tg_columnar_out *file, unsigned at, const void *data, size_t bytes)
{
	tg_columnar_block *block = file->block;
	tg_column_out *column = &tg_block_columns(block)[at];

	tg_assert(column->description.is_bytes && (column->width == 0 || bytes == column->width));
	if (bytes > INT32_MAX)
		return TG_TOO_LARGE;
	if (!tg_buffer_reserve(&block->memory, &column->words, (column->value_count + 1) * sizeof(int64_t)) ||
		!tg_buffer_reserve(&block->memory, &column->texts, column->text_bytes + bytes + 1) ||
		(has_levels(column) && !put_level(block, column, column->level_max)))
		return TG_NO_MEMORY;
	if (bytes > 0)
		memcpy((uint8_t *) column->texts.data + column->text_bytes, data, bytes);
	column->text_bytes += bytes;
	((int64_t *) column->words.data)[column->value_count++] = (int64_t) column->text_bytes;
	block->bytes += bytes + sizeof(int64_t);
	count_value(column);
	return TG_OK;
}

tg_status
tg_columnar_put_list_end(tg_columnar_out *file, unsigned at)
{
	tg_columnar_block *block = file->block;
	tg_column_out *column = &tg_block_columns(block)[at];

	tg_assert(column->description.list);
	if (!column->in_list && !put_level(block, column, column->list_level - 1))
		return TG_NO_MEMORY;
	column->in_list = false;
	column->put++;
	return TG_OK;
}

bool
tg_columnar_put_row(tg_columnar_out *file)
{
	return tg_columnar_put_rows(file->block, 1);
}

/* --- many rows --------------------------------------------------------------------------- */

static uint32_t
count_nulls(const uint8_t *nulls, uint32_t count)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += nulls[i];
	return sum;
}

/* The levels of rows of a column without lists; nulls may be NULL. */
static bool
put_levels(tg_columnar_block *block, tg_column_out *column, const uint8_t *nulls, uint32_t count)
{
	uint8_t *levels;

	if (!tg_buffer_reserve(&block->memory, &column->levels, column->level_count + count))
		return false;
	levels = (uint8_t *) column->levels.data + column->level_count;
	if (nulls == NULL)
		memset(levels, column->level_max, count);
	else
		for (uint32_t i = 0; i < count; i++)
			levels[i] = nulls[i] ? 0 : column->level_max;
	column->level_count += count;
	block->bytes += count;
	return true;
}

static tg_status
put_words(tg_columnar_block *block, tg_column_out *column, const int64_t *words, const uint8_t *nulls, uint32_t count,
		  uint32_t there)
{
	int64_t *into;
	size_t n = 0;

	/* of a NULL at the end a word is written behind those that count */
	if (!tg_buffer_reserve(&block->memory, &column->words, (column->value_count + there + 1) * sizeof(int64_t)))
		return TG_NO_MEMORY;
	into = (int64_t *) column->words.data + column->value_count;
	if (there == count)
		memcpy(into, words, count * sizeof(int64_t));
	else
		for (uint32_t i = 0; i < count; i++)
		{
			into[n] = words[i];
			n += nulls[i] == 0;
		}
	block->bytes += there * sizeof(int64_t);
	return TG_OK;
}

/* Copies a string, of which most are short. */
static inline void
copy_bytes(uint8_t *into, const uint8_t *from, size_t count)
{
	uint64_t first;
	uint64_t last;

	if (count < sizeof(first) || count > 2 * sizeof(first))
	{
		memcpy(into, from, count);
		return;
	}
	memcpy(&first, from, sizeof(first));
	memcpy(&last, from + count - sizeof(last), sizeof(last));
	memcpy(into, &first, sizeof(first));
	memcpy(into + count - sizeof(last), &last, sizeof(last));
}

static tg_status
put_texts(tg_columnar_block *block, tg_column_out *column, const tg_file_bytes *texts, const uint8_t *nulls,
		  uint32_t count, uint32_t there)
{
	size_t bytes = 0;
	size_t end = column->text_bytes;
	int64_t *ends;

	for (uint32_t i = 0; i < count; i++)
		if (there == count || !nulls[i])
		{
			tg_assert(column->width == 0 || texts[i].count == column->width);
			if (texts[i].count > INT32_MAX)
				return TG_TOO_LARGE;
			bytes += texts[i].count;
		}
	if (!tg_buffer_reserve(&block->memory, &column->words, (column->value_count + there) * sizeof(int64_t)) ||
		!tg_buffer_reserve(&block->memory, &column->texts, end + bytes + 1))
		return TG_NO_MEMORY;
	ends = (int64_t *) column->words.data + column->value_count;
	for (uint32_t i = 0; i < count; i++)
	{
		/* strings lie anywhere */
		if (i + TEXTS_AHEAD < count)
			__builtin_prefetch(texts[i + TEXTS_AHEAD].data);
		if (there < count && nulls[i])
			continue;
		copy_bytes((uint8_t *) column->texts.data + end, texts[i].data, texts[i].count);
		end += texts[i].count;
		*ends++ = (int64_t) end;
	}
	column->text_bytes = end;
	block->bytes += bytes + there * sizeof(int64_t);
	return TG_OK;
}

void
tg_columnar_begin_rows(tg_columnar_block *block)
{
	for (unsigned i = 0; i < block->column_count; i++)
	{
		tg_column_out *column = &tg_block_columns(block)[i];

		column->levels_before = column->level_count;
		column->values_before = column->value_count;
		column->text_bytes_before = column->text_bytes;
	}
	block->bytes_before = block->bytes;
}

tg_status
tg_columnar_put_values(tg_columnar_block *block, unsigned at, const tg_file_values *values, uint32_t first,
					   uint32_t count)
{
	tg_column_out *column = &tg_block_columns(block)[at];
	const uint8_t *nulls = values->nulls != NULL ? values->nulls + first : NULL;
	uint32_t absent = nulls != NULL ? count_nulls(nulls, count) : 0;
	tg_status status;

	tg_assert(column->list_level == 0 && (absent == 0 || column->description.nullable));
	if ((absent > 0 && !has_levels(column) && !begin_levels(block, column)) ||
		((absent > 0 || has_levels(column)) && !put_levels(block, column, nulls, count)))
		return TG_NO_MEMORY;
	status = column->description.is_bytes
				 ? put_texts(block, column, values->bytes + first, nulls, count, count - absent)
				 : put_words(block, column, values->words + first, nulls, count, count - absent);
	if (status != TG_OK)
		return status;
	for (uint32_t i = 0; i < absent; i++)
		count_null(block, column);
	column->value_count += count - absent;
	column->put += count;
	return TG_OK;
}

bool
tg_columnar_put_rows(tg_columnar_block *block, uint32_t count)
{
	block->rows += count;
	return block->rows >= block->rows_max || block->bytes >= block->bytes_max;
}

void
tg_columnar_drop_rows(tg_columnar_block *block)
{
	for (unsigned i = 0; i < block->column_count; i++)
	{
		tg_column_out *column = &tg_block_columns(block)[i];

		column->level_count = column->levels_before;
		column->value_count = column->values_before;
		column->text_bytes = column->text_bytes_before;
		column->put = block->rows;
		column->in_list = false;
	}
	block->bytes = block->bytes_before;
}

uint32_t
tg_columnar_room(const tg_columnar_block *block)
{
	return block->rows_max - (uint32_t) block->rows;
}

/* --- encoding ---------------------------------------------------------------------------- */

static void
check_block(const tg_columnar_block *block)
{
	for (unsigned i = 0; i < block->column_count; i++)
		tg_assert(tg_block_columns(block)[i].put == block->rows && !tg_block_columns(block)[i].in_list);
}

void
tg_columnar_encode_anew(tg_columnar_block *block)
{
	block->encoded_columns = 0;
	block->encoded_bytes = 0;
	block->head_bytes = 0;
	block->node_count = 0;
	block->buffer_count = 0;
}

tg_status
tg_columnar_encode(tg_columnar_block *block)
{
	tg_status status;

	tg_assert(block->rows > 0 && block->encoded_columns < block->column_count);
	check_block(block);
	status = block->format->encode(block, block->encoded_columns);
	if (status != TG_OK)
		return status;
	return ++block->encoded_columns < block->column_count ? TG_AGAIN : TG_OK;
}

static void
empty_block(tg_columnar_block *block)
{
	for (unsigned i = 0; i < block->column_count; i++)
	{
		tg_column_out *column = &tg_block_columns(block)[i];

		column->level_count = column->value_count = column->text_bytes = column->put = 0;
	}
	tg_columnar_encode_anew(block);
	block->rows = 0;
	block->bytes = 0;
}

tg_status
tg_columnar_append(tg_columnar_out *file, tg_columnar_block *block)
{
	tg_status status;

	tg_assert(block->rows > 0 && block->encoded_columns == block->column_count);
	status = file->format->append(file, block);
	file->block_count++;
	file->row_count += block->rows;
	empty_block(block);
	return status;
}

tg_status
tg_columnar_write(tg_columnar_out *file, tg_columnar_block *block)
{
	tg_status status;

	if (block->rows == 0)
		return TG_OK;
	do
		status = tg_columnar_encode(block);
	while (status == TG_AGAIN);
	return status == TG_OK ? tg_columnar_append(file, block) : status;
}

tg_status
tg_columnar_finish(tg_columnar_out *file, uint64_t *bytes_out)
{
	tg_status status = file->format->finish(file);

	*bytes_out = file->position;
	return status;
}
