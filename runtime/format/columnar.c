/*
 * columnar.c
 *	  A file of columns that is read, in Parquet or Arrow.
 */
#include "runtime/format/columnar.h"

tg_status
tg_columnar_open(tg_columnar *reader, tg_file_format format, const tg_file_source *source, tg_file_fault *fault_out)
{
	*reader = (tg_columnar){0};
	return format == TG_FORMAT_ARROW ? tg_arrow_open(source, &reader->arrow, fault_out)
									 : tg_parquet_open(source, &reader->parquet, fault_out);
}

void
tg_columnar_close(tg_columnar *reader)
{
	if (reader->arrow != NULL)
		tg_arrow_close(reader->arrow);
	if (reader->parquet != NULL)
		tg_parquet_close(reader->parquet);
	*reader = (tg_columnar){0};
}

unsigned
tg_columnar_column_count(const tg_columnar *reader)
{
	return reader->arrow != NULL ? tg_arrow_column_count(reader->arrow) : tg_parquet_column_count(reader->parquet);
}

const tg_file_column *
tg_columnar_column(const tg_columnar *reader, unsigned column)
{
	return reader->arrow != NULL ? tg_arrow_column(reader->arrow, column) : tg_parquet_column(reader->parquet, column);
}

uint64_t
tg_columnar_row_count(const tg_columnar *reader)
{
	return reader->arrow != NULL ? tg_arrow_row_count(reader->arrow) : tg_parquet_row_count(reader->parquet);
}

unsigned
tg_columnar_block_count(const tg_columnar *reader)
{
	return reader->arrow != NULL ? tg_arrow_block_count(reader->arrow) : tg_parquet_group_count(reader->parquet);
}

uint64_t
tg_columnar_block_rows(const tg_columnar *reader, unsigned block)
{
	return reader->arrow != NULL ? tg_arrow_block_rows(reader->arrow, block)
								 : tg_parquet_group_rows(reader->parquet, block);
}

void
tg_columnar_want(tg_columnar *reader, unsigned column)
{
	if (reader->arrow != NULL)
		tg_arrow_want(reader->arrow, column);
	else
		tg_parquet_want(reader->parquet, column);
}

void
tg_columnar_seek(tg_columnar *reader, unsigned block)
{
	if (reader->arrow != NULL)
		tg_arrow_seek(reader->arrow, block);
	else
		tg_parquet_seek(reader->parquet, block);
}

tg_status
tg_columnar_read(tg_columnar *reader, tg_file_values *values, unsigned *count_out, tg_file_fault *fault_out)
{
	return reader->arrow != NULL ? tg_arrow_read(reader->arrow, values, count_out, fault_out)
								 : tg_parquet_read(reader->parquet, values, count_out, fault_out);
}

bool
tg_columnar_describe(const tg_columnar *reader, unsigned column, char *codec, size_t codec_bytes, char *encodings,
					 size_t encodings_bytes)
{
	return reader->arrow != NULL
			   ? tg_arrow_describe(reader->arrow, column, codec, codec_bytes, encodings, encodings_bytes)
			   : tg_parquet_describe(reader->parquet, column, codec, codec_bytes, encodings, encodings_bytes);
}
