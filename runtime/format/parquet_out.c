/*
 * parquet_out.c
 *	  A Parquet file that is written: rows into columns, columns into row groups.
 *
 * The values of a row group are kept until it is full, then written column by column.
 */
#include "runtime/format/parquet_out_internal.h"

#include <string.h>

#include "runtime/base/check.h"

#define UUID_BYTES 16
#define DECIMAL_BYTES 16

tg_status
tg_out_write(tg_parquet_out *file, const void *data, size_t bytes)
{
	if (!file->target->write(file->target->argument, data, bytes))
		return TG_IO;
	file->position += bytes;
	return TG_OK;
}

/* --- columns ----------------------------------------------------------------------------- */

static void
choose_physical(tg_column_out *column)
{
	tg_file_column *of = &column->description;

	of->is_bytes = false;
	switch (of->type)
	{
		case TG_FILE_BOOL:
			column->physical = TG_PHYSICAL_BOOLEAN;
			break;
		case TG_FILE_INT:
		case TG_FILE_UINT:
			column->physical = of->bits <= 32 ? TG_PHYSICAL_INT32 : TG_PHYSICAL_INT64;
			break;
		case TG_FILE_FLOAT:
			column->physical = of->bits == 32 ? TG_PHYSICAL_FLOAT : TG_PHYSICAL_DOUBLE;
			break;
		case TG_FILE_DATE:
			column->physical = TG_PHYSICAL_INT32;
			break;
		case TG_FILE_TIME:
		case TG_FILE_TIMESTAMP:
			column->physical = of->digits == 3 && of->type == TG_FILE_TIME ? TG_PHYSICAL_INT32 : TG_PHYSICAL_INT64;
			break;
		case TG_FILE_DECIMAL:
			column->physical = of->precision <= 9	 ? TG_PHYSICAL_INT32
							   : of->precision <= 18 ? TG_PHYSICAL_INT64
													 : TG_PHYSICAL_FIXED;
			column->width = DECIMAL_BYTES;
			of->is_bytes = column->physical == TG_PHYSICAL_FIXED;
			break;
		case TG_FILE_UUID:
			column->physical = TG_PHYSICAL_FIXED;
			column->width = UUID_BYTES;
			of->is_bytes = true;
			break;
		default:
			tg_assert(of->type == TG_FILE_STRING || of->type == TG_FILE_JSON || of->type == TG_FILE_BINARY);
			column->physical = TG_PHYSICAL_BYTE_ARRAY;
			of->is_bytes = true;
	}
}

static bool
init_columns(tg_parquet_out *file, const tg_file_column *columns, unsigned count)
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
		choose_physical(column);
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
tg_parquet_create(const tg_file_target *target, const tg_parquet_options *options, const tg_file_column *columns,
				  unsigned column_count, tg_parquet_out **file_out)
{
	tg_file_source source = {
		.resize = target->resize, .free = target->free, .argument = target->argument, .memory_max = target->memory_max};
	tg_file_memory memory = {.source = &source};
	tg_buffer own = {0};
	tg_parquet_out *file;
	tg_status status;

	tg_assert(column_count >= 1 && column_count <= TG_FILE_COLUMNS_MAX);
	if (!tg_buffer_reserve(&memory, &own, sizeof(tg_parquet_out)))
		return TG_NO_MEMORY;
	file = own.data;
	*file =
		(tg_parquet_out){.target = target, .memory_source = source, .memory = memory, .options = *options, .own = own};
	file->memory.source = &file->memory_source;
	status = init_columns(file, columns, column_count) ? tg_out_write(file, TG_PARQUET_MAGIC, 4) : TG_NO_MEMORY;
	if (status != TG_OK)
		tg_parquet_out_free(file);
	else
		*file_out = file;
	return status;
}

void
tg_parquet_out_free(tg_parquet_out *file)
{
	tg_buffer *const buffers[] = {&file->names,		&file->chunks,	&file->group_rows, &file->indexes,
								  &file->directory, &file->entries, &file->raw,		   &file->compressed};
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
put_level(tg_parquet_out *file, tg_column_out *column, uint8_t definition)
{
	if (column->level_max == 0)
		return true;
	if (!tg_buffer_reserve(&file->memory, &column->levels, column->level_count + 1))
		return false;
	if (column->list_level > 0 && !column->in_list)
		definition |= 0x80;
	((uint8_t *) column->levels.data)[column->level_count++] = definition;
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

tg_status
tg_parquet_put_null(tg_parquet_out *file, unsigned at)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(column->description.nullable);
	if (!put_level(file, column, 0))
		return TG_NO_MEMORY;
	column->put++;
	return TG_OK;
}

tg_status
tg_parquet_put_null_element(tg_parquet_out *file, unsigned at)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(column->description.list && column->description.element_nullable);
	if (!put_level(file, column, column->list_level))
		return TG_NO_MEMORY;
	count_value(column);
	return TG_OK;
}

tg_status
tg_parquet_put_word(tg_parquet_out *file, unsigned at, int64_t word)
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
tg_parquet_put_bytes(tg_parquet_out *file, unsigned at, const void *data, size_t bytes)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(column->description.is_bytes && (column->physical != TG_PHYSICAL_FIXED || bytes == column->width));
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
tg_parquet_put_list_end(tg_parquet_out *file, unsigned at)
{
	tg_column_out *column = &tg_columns_out(file)[at];

	tg_assert(column->description.list);
	if (!column->in_list && !put_level(file, column, column->list_level - 1))
		return TG_NO_MEMORY;
	column->in_list = false;
	column->put++;
	return TG_OK;
}

/* --- row groups -------------------------------------------------------------------------- */

static tg_status
write_group(tg_parquet_out *file)
{
	size_t chunks = (size_t) (file->group_count + 1) * file->column_count;
	tg_chunk_written *written;
	tg_status status = TG_OK;

	if (file->rows == 0)
		return TG_OK;
	if (!tg_buffer_reserve(&file->memory, &file->chunks, chunks * sizeof(tg_chunk_written)) ||
		!tg_buffer_reserve(&file->memory, &file->group_rows, (file->group_count + 1) * sizeof(uint64_t)))
		return TG_NO_MEMORY;
	written = (tg_chunk_written *) file->chunks.data + (size_t) file->group_count * file->column_count;
	for (unsigned i = 0; i < file->column_count && status == TG_OK; i++)
	{
		tg_column_out *column = &tg_columns_out(file)[i];

		tg_assert(column->put == file->rows && !column->in_list);
		written[i] = (tg_chunk_written){0};
		status = tg_chunk_write(file, column, &written[i]);
		column->level_count = column->value_count = column->text_bytes = column->put = 0;
	}
	((uint64_t *) file->group_rows.data)[file->group_count++] = file->rows;
	file->row_count += file->rows;
	file->rows = 0;
	file->bytes = 0;
	return status;
}

tg_status
tg_parquet_put_row(tg_parquet_out *file)
{
	file->rows++;
	if (file->rows < file->options.group_rows && file->bytes < file->options.group_bytes)
		return TG_OK;
	return write_group(file);
}

tg_status
tg_parquet_finish(tg_parquet_out *file, uint64_t *bytes_out)
{
	tg_status status = write_group(file);

	if (status == TG_OK)
		status = tg_metadata_write(file);
	*bytes_out = file->position;
	return status;
}
