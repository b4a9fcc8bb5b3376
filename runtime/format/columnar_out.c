/*
 * columnar_out.c
 *	  A file of columns that is written: rows into columns, columns into blocks.
 */
#include "runtime/format/columnar_out_internal.h"

#include <string.h>

#include "runtime/base/check.h"

#define BYTES_WIDE 16		   /* of a UUID, an interval, a DECIMAL that is no word */
#define DECIMAL_WORD_DIGITS 18 /* that a word always has */

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
	tg_file_memory memory = {.source = &source};
	tg_buffer own = {0};
	tg_columnar_out *file;
	tg_status status;

	tg_assert(column_count >= 1 && column_count <= TG_FILE_COLUMNS_MAX);
	if (!tg_buffer_reserve(&memory, &own, sizeof(tg_columnar_out)))
		return TG_NO_MEMORY;
	file = own.data;
	*file = (tg_columnar_out){.format = format == TG_FORMAT_ARROW ? &tg_arrow_format : &tg_parquet_format,
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
	tg_buffer *const buffers[] = {&file->names,	  &file->places, &file->group_rows, &file->indexes, &file->directory,
								  &file->entries, &file->raw,	 &file->compressed, &file->nodes,	&file->buffers};
	tg_file_source source;
	tg_file_memory memory;
	tg_buffer own;

	for (unsigned i = 0; i < file->column_count; i++)
	{
		tg_buffer_free(&file->memory, &tg_columns_out(file)[i].levels);
		tg_buffer_free(&file->memory, &tg_columns_out(file)[i].words);
		tg_buffer_free(&file->memory, &tg_columns_out(file)[i].texts);
	}
	for (size_t i = 0; i < sizeof(buffers) / sizeof(*buffers); i++)
		tg_buffer_free(&file->memory, buffers[i]);
	tg_buffer_free(&file->memory, &file->columns);
	source = file->memory_source;
	memory = file->memory;
	memory.source = &source;
	own = file->own;
	tg_buffer_free(&memory, &own);
}

/* --- values ------------------------------------------------------------------------------ */

/* Notes a level; a list's first one begins the row. */
static bool
put_level(tg_columnar_out *file, tg_column_out *column, uint8_t definition)
{
	if (column->level_max == 0)
		return true;
	if (!tg_buffer_reserve(&file->memory, &column->levels, column->level_count + 1))
		return false;
	if (column->list_level > 0 && !column->in_list)
		definition |= TG_LEVEL_BEGINS_ROW;
	((uint8_t *) column->levels.data)[column->level_count++] = definition;
	file->bytes++;
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
count_null(tg_columnar_out *file, const tg_column_out *column)
{
	size_t bytes = file->format->null_bytes;

	file->bytes += bytes > 0 && column->width > bytes ? column->width : bytes;
}

tg_status
tg_columnar_put_null(tg_columnar_out *file, unsigned at)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(column->description.nullable);
	if (!put_level(file, column, 0))
		return TG_NO_MEMORY;
	count_null(file, column);
	column->put++;
	return TG_OK;
}

tg_status
tg_columnar_put_null_element(tg_columnar_out *file, unsigned at)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(column->description.list && column->description.element_nullable);
	if (!put_level(file, column, column->list_level))
		return TG_NO_MEMORY;
	count_null(file, column);
	count_value(column);
	return TG_OK;
}

tg_status
tg_columnar_put_word(tg_columnar_out *file, unsigned at, int64_t word)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(!column->description.is_bytes);
	if (!tg_buffer_reserve(&file->memory, &column->words, (column->value_count + 1) * sizeof(int64_t)) ||
		!put_level(file, column, column->level_max))
		return TG_NO_MEMORY;
	((int64_t *) column->words.data)[column->value_count++] = word;
	file->bytes += sizeof(int64_t);
	count_value(column);
	return TG_OK;
}

tg_status
tg_columnar_put_bytes(tg_columnar_out *file, unsigned at, const void *data, size_t bytes)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(column->description.is_bytes && (column->width == 0 || bytes == column->width));
	if (bytes > INT32_MAX)
		return TG_TOO_LARGE;
	if (!tg_buffer_reserve(&file->memory, &column->words, (column->value_count + 1) * sizeof(int64_t)) ||
		!tg_buffer_reserve(&file->memory, &column->texts, column->text_bytes + bytes + 1) ||
		!put_level(file, column, column->level_max))
		return TG_NO_MEMORY;
	if (bytes > 0)
		memcpy((uint8_t *) column->texts.data + column->text_bytes, data, bytes);
	column->text_bytes += bytes;
	((int64_t *) column->words.data)[column->value_count++] = (int64_t) column->text_bytes;
	file->bytes += bytes + sizeof(int64_t);
	count_value(column);
	return TG_OK;
}

tg_status
tg_columnar_put_list_end(tg_columnar_out *file, unsigned at)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(column->description.list);
	if (!column->in_list && !put_level(file, column, column->list_level - 1))
		return TG_NO_MEMORY;
	column->in_list = false;
	column->put++;
	return TG_OK;
}

/* --- blocks ------------------------------------------------------------------------------ */

static tg_status
write_block(tg_columnar_out *file)
{
	tg_status status;

	if (file->rows == 0)
		return TG_OK;
	for (unsigned i = 0; i < file->column_count; i++)
		tg_assert(tg_columns_out(file)[i].put == file->rows && !tg_columns_out(file)[i].in_list);
	status = file->format->write_block(file);
	for (unsigned i = 0; i < file->column_count; i++)
	{
		tg_column_out *column = &tg_columns_out(file)[i];

		column->level_count = column->value_count = column->text_bytes = column->put = 0;
	}
	file->block_count++;
	file->row_count += file->rows;
	file->rows = 0;
	file->bytes = 0;
	return status;
}

tg_status
tg_columnar_put_row(tg_columnar_out *file)
{
	file->rows++;
	if (file->rows < file->options.block_rows && file->bytes < file->options.block_bytes)
		return TG_OK;
	return write_block(file);
}

tg_status
tg_columnar_finish(tg_columnar_out *file, uint64_t *bytes_out)
{
	tg_status status = write_block(file);

	if (status == TG_OK)
		status = file->format->finish(file);
	*bytes_out = file->position;
	return status;
}
