/*
 * parquet_metadata.c
 *	  The metadata of a Parquet file that is written.
 *
 * Types are written in both ways of annotation, as readers of either know them.
 */
#include "runtime/format/parquet_out_internal.h"

#include <string.h>

#include "runtime/format/pack.h"

#define VERSION 2
#define NONE (-1)

/* parquet.thrift, ConvertedType of a column; NONE: it has none. */
static int
converted_type(const tg_file_column *column)
{
	unsigned size = (unsigned) __builtin_ctz(column->bits | 128) - 3; /* 8 bits: 0; 64: 3 */

	switch (column->type)
	{
		case TG_FILE_STRING:
			return 0;
		case TG_FILE_DECIMAL:
			return 5;
		case TG_FILE_DATE:
			return 6;
		case TG_FILE_TIME:
			return column->digits == 3 ? 7 : column->digits == 6 ? 8 : NONE;
		case TG_FILE_TIMESTAMP: /* both of these are UTC */
			return !column->utc ? NONE : column->digits == 3 ? 9 : column->digits == 6 ? 10 : NONE;
		case TG_FILE_UINT:
			return (int) (11 + size);
		case TG_FILE_INT:
			return column->bits < 32 ? (int) (15 + size) : NONE;
		case TG_FILE_JSON:
			return 19;
		default:
			return NONE;
	}
}

/* The field of the union LogicalType; NONE: there is none. */
static int
logical_type(const tg_file_column *column)
{
	switch (column->type)
	{
		case TG_FILE_STRING:
			return 1;
		case TG_FILE_DECIMAL:
			return 5;
		case TG_FILE_DATE:
			return 6;
		case TG_FILE_TIME:
			return 7;
		case TG_FILE_TIMESTAMP:
			return 8;
		case TG_FILE_UINT:
			return 10;
		case TG_FILE_INT:
			return column->bits < 32 ? 10 : NONE;
		case TG_FILE_JSON:
			return 12;
		case TG_FILE_UUID:
			return 14;
		default:
			return NONE;
	}
}

static void
put_logical(tg_thrift_out *out, const tg_file_column *column)
{
	int logical = logical_type(column);

	if (logical == NONE)
		return;
	tg_thrift_begin(out, 10);
	tg_thrift_begin(out, (int16_t) logical);
	if (column->type == TG_FILE_DECIMAL)
	{
		tg_thrift_put_integer(out, 1, TG_THRIFT_I32, column->scale);
		tg_thrift_put_integer(out, 2, TG_THRIFT_I32, column->precision);
	}
	else if (column->type == TG_FILE_INT || column->type == TG_FILE_UINT)
	{
		tg_thrift_put_integer(out, 1, TG_THRIFT_BYTE, column->bits);
		tg_thrift_put_bool(out, 2, column->type == TG_FILE_INT);
	}
	else if (column->type == TG_FILE_TIME || column->type == TG_FILE_TIMESTAMP)
	{
		tg_thrift_put_bool(out, 1, column->utc);
		tg_thrift_begin(out, 2);
		tg_thrift_begin(out, column->digits / 3);
		tg_thrift_end(out);
		tg_thrift_end(out);
	}
	tg_thrift_end(out);
	tg_thrift_end(out);
}

static void
put_group(tg_thrift_out *out, const char *name, int repetition, int converted)
{
	tg_thrift_begin(out, 0);
	if (repetition != NONE)
		tg_thrift_put_integer(out, 3, TG_THRIFT_I32, repetition);
	tg_thrift_put_bytes(out, 4, name, strlen(name));
	tg_thrift_put_integer(out, 5, TG_THRIFT_I32, 1);
	if (converted != NONE)
	{
		tg_thrift_put_integer(out, 6, TG_THRIFT_I32, converted);
		tg_thrift_begin(out, 10);
		tg_thrift_begin(out, 3); /* LIST */
		tg_thrift_end(out);
		tg_thrift_end(out);
	}
	tg_thrift_end(out);
}

static void
put_value(tg_thrift_out *out, const tg_column_out *column, const char *name, bool nullable)
{
	int converted = converted_type(&column->description);

	tg_thrift_begin(out, 0);
	tg_thrift_put_integer(out, 1, TG_THRIFT_I32, column->physical);
	if (column->physical == TG_PHYSICAL_FIXED)
		tg_thrift_put_integer(out, 2, TG_THRIFT_I32, column->width);
	tg_thrift_put_integer(out, 3, TG_THRIFT_I32, nullable);
	tg_thrift_put_bytes(out, 4, name, strlen(name));
	if (converted != NONE)
		tg_thrift_put_integer(out, 6, TG_THRIFT_I32, converted);
	if (column->description.type == TG_FILE_DECIMAL)
	{
		tg_thrift_put_integer(out, 7, TG_THRIFT_I32, column->description.scale);
		tg_thrift_put_integer(out, 8, TG_THRIFT_I32, column->description.precision);
	}
	put_logical(out, &column->description);
	tg_thrift_end(out);
}

static void
put_schema(tg_thrift_out *out, const tg_columnar_out *file)
{
	uint32_t elements = 1;

	for (unsigned i = 0; i < file->column_count; i++)
		elements += tg_columns_out(file)[i].description.list ? 3 : 1;
	tg_thrift_put_list(out, 2, TG_THRIFT_STRUCT, elements);
	tg_thrift_begin(out, 0);
	tg_thrift_put_bytes(out, 4, "schema", 6);
	tg_thrift_put_integer(out, 5, TG_THRIFT_I32, file->column_count);
	tg_thrift_end(out);
	for (unsigned i = 0; i < file->column_count; i++)
	{
		const tg_column_out *column = &tg_columns_out(file)[i];
		const tg_file_column *of = &column->description;

		if (of->list)
		{
			put_group(out, of->name, of->nullable, 3); /* LIST */
			put_group(out, "list", 2, NONE);		   /* REPEATED */
		}
		put_value(out, column, of->list ? "element" : of->name, of->list ? of->element_nullable : of->nullable);
	}
}

static void
put_statistics(tg_thrift_out *out, const tg_column_out *column, const tg_chunk_written *written)
{
	tg_thrift_begin(out, 12);
	if (column->list_level == 0)
		tg_thrift_put_integer(out, 3, TG_THRIFT_I64, (int64_t) written->null_count);
	if (written->has_statistics)
	{
		tg_thrift_put_bytes(out, 5, written->largest.data, written->largest.bytes);
		tg_thrift_put_bytes(out, 6, written->least.data, written->least.bytes);
	}
	tg_thrift_end(out);
}

static void
put_path(tg_thrift_out *out, const tg_file_column *column)
{
	tg_thrift_put_list(out, 3, TG_THRIFT_BINARY, column->list ? 3 : 1);
	tg_thrift_put_element_bytes(out, column->name, strlen(column->name));
	if (column->list)
	{
		tg_thrift_put_element_bytes(out, "list", 4);
		tg_thrift_put_element_bytes(out, "element", 7);
	}
}

static void
put_chunk(tg_thrift_out *out, const tg_columnar_out *file, const tg_column_out *column, const tg_chunk_written *written)
{
	uint64_t begin = written->has_dictionary ? written->dictionary_offset : written->data_offset;

	tg_thrift_begin(out, 0);
	tg_thrift_put_integer(out, 2, TG_THRIFT_I64, (int64_t) begin);
	tg_thrift_begin(out, 3);
	tg_thrift_put_integer(out, 1, TG_THRIFT_I32, column->physical);
	tg_thrift_put_list(out, 2, TG_THRIFT_I32, written->has_dictionary ? 3 : 2);
	tg_thrift_put_element(out, TG_ENCODING_PLAIN);
	tg_thrift_put_element(out, TG_ENCODING_RLE);
	if (written->has_dictionary)
		tg_thrift_put_element(out, TG_ENCODING_DICTIONARY);
	put_path(out, &column->description);
	tg_thrift_put_integer(out, 4, TG_THRIFT_I32, file->options.codec);
	tg_thrift_put_integer(out, 5, TG_THRIFT_I64, (int64_t) written->value_count);
	tg_thrift_put_integer(out, 6, TG_THRIFT_I64, (int64_t) written->raw_bytes);
	tg_thrift_put_integer(out, 7, TG_THRIFT_I64, (int64_t) written->bytes);
	tg_thrift_put_integer(out, 9, TG_THRIFT_I64, (int64_t) written->data_offset);
	if (written->has_dictionary)
		tg_thrift_put_integer(out, 11, TG_THRIFT_I64, (int64_t) written->dictionary_offset);
	put_statistics(out, column, written);
	tg_thrift_end(out);
	tg_thrift_end(out);
}

static void
put_groups(tg_thrift_out *out, const tg_columnar_out *file)
{
	const tg_chunk_written *written = file->places.data;

	tg_thrift_put_list(out, 4, TG_THRIFT_STRUCT, file->block_count);
	for (unsigned group = 0; group < file->block_count; group++)
	{
		uint64_t bytes = 0;

		tg_thrift_begin(out, 0);
		tg_thrift_put_list(out, 1, TG_THRIFT_STRUCT, file->column_count);
		for (unsigned i = 0; i < file->column_count; i++, written++)
		{
			put_chunk(out, file, &tg_columns_out(file)[i], written);
			bytes += written->raw_bytes;
		}
		tg_thrift_put_integer(out, 2, TG_THRIFT_I64, (int64_t) bytes);
		tg_thrift_put_integer(out, 3, TG_THRIFT_I64, (int64_t) ((const uint64_t *) file->group_rows.data)[group]);
		tg_thrift_end(out);
	}
}

/* Minima and maxima follow the order of the types. */
static void
put_orders(tg_thrift_out *out, const tg_columnar_out *file)
{
	tg_thrift_put_list(out, 7, TG_THRIFT_STRUCT, file->column_count);
	for (unsigned i = 0; i < file->column_count; i++)
	{
		tg_thrift_begin(out, 0);
		tg_thrift_begin(out, 1);
		tg_thrift_end(out);
		tg_thrift_end(out);
	}
}

static void
put_metadata(tg_thrift_out *out, const tg_columnar_out *file)
{
	tg_thrift_put_integer(out, 1, TG_THRIFT_I32, VERSION);
	put_schema(out, file);
	tg_thrift_put_integer(out, 3, TG_THRIFT_I64, (int64_t) file->row_count);
	put_groups(out, file);
	tg_thrift_put_bytes(out, 6, file->options.created_by, strlen(file->options.created_by));
	put_orders(out, file);
	tg_thrift_end(out);
}

tg_status
tg_metadata_write(tg_columnar_out *file)
{
	uint8_t tail[8];
	tg_status status;

	for (size_t bytes = 4096;; bytes *= 2)
	{
		tg_thrift_out out = {0};

		if (!tg_buffer_reserve(&file->memory, &file->raw, bytes))
			return TG_NO_MEMORY;
		out.at = file->raw.data;
		out.end = out.at + file->raw.room;
		put_metadata(&out, file);
		if (out.full)
			continue;
		bytes = (size_t) (out.at - (uint8_t *) file->raw.data);
		if (bytes > UINT32_MAX)
			return TG_TOO_LARGE;
		tg_write_u32(tail, (uint32_t) bytes);
		memcpy(tail + 4, TG_PARQUET_MAGIC, 4);
		status = tg_out_write(file, file->raw.data, bytes);
		return status != TG_OK ? status : tg_out_write(file, tail, sizeof(tail));
	}
}
