/*
 * parquet_out.c
 *	  A Parquet file that is written: how columns are stored, and row groups.
 */
#include "runtime/format/parquet_out_internal.h"

#include <string.h>

#include "runtime/base/check.h"

static void
choose_physical(tg_column_out *column)
{
	const tg_file_column *of = &column->description;

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
			break;
		case TG_FILE_UUID:
			column->physical = TG_PHYSICAL_FIXED;
			break;
		default:
			tg_assert(of->type == TG_FILE_STRING || of->type == TG_FILE_JSON || of->type == TG_FILE_BINARY);
			column->physical = TG_PHYSICAL_BYTE_ARRAY;
	}
}

static tg_status
begin(tg_columnar_out *file)
{
	for (unsigned i = 0; i < file->column_count; i++)
		choose_physical(&tg_columns_out(file)[i]);
	return tg_out_write(file, TG_PARQUET_MAGIC, 4);
}

static tg_status
encode(tg_columnar_block *block, unsigned column)
{
	tg_chunk_written *written;

	if (!tg_buffer_reserve(&block->memory, &block->chunks, block->column_count * sizeof(tg_chunk_written)))
		return TG_NO_MEMORY;
	written = (tg_chunk_written *) block->chunks.data + column;
	*written = (tg_chunk_written){0};
	return tg_chunk_encode(block, &tg_block_columns(block)[column], written);
}

static tg_status
append(tg_columnar_out *file, const tg_columnar_block *block)
{
	size_t before = (size_t) file->block_count * file->column_count;
	tg_chunk_written *written;

	if (!tg_buffer_reserve(&file->memory, &file->places, (before + file->column_count) * sizeof(tg_chunk_written)) ||
		!tg_buffer_reserve(&file->memory, &file->group_rows, (file->block_count + 1) * sizeof(uint64_t)))
		return TG_NO_MEMORY;
	written = (tg_chunk_written *) file->places.data + before;
	memcpy(written, block->chunks.data, file->column_count * sizeof(tg_chunk_written));
	for (unsigned i = 0; i < file->column_count; i++)
	{
		written[i].data_offset += file->position;
		written[i].dictionary_offset += file->position;
	}
	((uint64_t *) file->group_rows.data)[file->block_count] = block->rows;
	return tg_out_write(file, block->encoded.data, block->encoded_bytes);
}

const tg_columnar_format tg_parquet_format = {
	.begin = begin, .encode = encode, .append = append, .finish = tg_metadata_write};
