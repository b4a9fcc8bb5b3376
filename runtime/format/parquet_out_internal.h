/*
 * parquet_out_internal.h
 *	  What the files of a Parquet writer share.
 */
#ifndef TG_PARQUET_OUT_INTERNAL_H
#define TG_PARQUET_OUT_INTERNAL_H

#include "runtime/format/parquet_internal.h"

#define TG_STATISTIC_BYTES 64 /* longer values are no minimum or maximum of a chunk */

/* A value that is least or largest in a chunk; as it is stored. */
typedef struct tg_statistic
{
	uint8_t data[TG_STATISTIC_BYTES];
	uint8_t bytes;
} tg_statistic;

/* What the metadata will say of a chunk. */
typedef struct tg_chunk_written
{
	uint64_t data_offset;
	uint64_t dictionary_offset; /* 0: none */
	uint64_t raw_bytes;
	uint64_t bytes;
	uint64_t value_count; /* with NULLs and empty lists */
	uint64_t null_count;
	bool has_dictionary;
	bool has_plain;
	bool has_statistics;
	tg_statistic least;
	tg_statistic largest;
} tg_chunk_written;

/* A column of the row group that is being filled. */
typedef struct tg_column_out
{
	tg_file_column description;
	uint8_t physical;
	uint8_t width;	   /* of a FIXED */
	uint8_t level_max; /* as in tg_leaf */
	uint8_t list_level;
	bool in_list;	  /* an element of the row's list has been put */
	tg_buffer levels; /* of uint8_t: definition, and 0x80 if it begins a row of a list */
	size_t level_count;
	tg_buffer words; /* of int64_t; or the end of each value in texts */
	size_t value_count;
	tg_buffer texts;
	size_t text_bytes;
	size_t put; /* rows that have a value */
} tg_column_out;

struct tg_parquet_out
{
	const tg_file_target *target;
	tg_file_source memory_source; /* resize and free of the target */
	tg_file_memory memory;
	tg_parquet_options options;
	tg_buffer own;
	tg_buffer columns; /* of tg_column_out */
	tg_buffer names;
	tg_buffer chunks;	  /* of tg_chunk_written, by group and column */
	tg_buffer group_rows; /* of uint64_t */
	/* for a chunk that is encoded: */
	tg_buffer indexes;	 /* of uint32_t */
	tg_buffer directory; /* of uint32_t: places in the dictionary, plus 1 */
	tg_buffer entries;	 /* of uint32_t: a value of each of the dictionary's */
	tg_buffer raw;
	tg_buffer compressed;
	unsigned column_count;
	unsigned group_count;
	uint64_t rows; /* of the group */
	size_t bytes;  /* of its values */
	uint64_t row_count;
	uint64_t position; /* in the file */
};

static inline tg_column_out *
tg_columns_out(const tg_parquet_out *file)
{
	return file->columns.data;
}

/* The bytes of value i of a column, if it has bytes. */
static inline tg_file_bytes
tg_text_out(const tg_column_out *column, size_t i)
{
	const int64_t *ends = column->words.data;
	size_t begin = i == 0 ? 0 : (size_t) ends[i - 1];

	return (tg_file_bytes){(const uint8_t *) column->texts.data + begin, (size_t) ends[i] - begin};
}

/* --- parquet_out.c --- */

extern tg_status tg_out_write(tg_parquet_out *file, const void *data, size_t bytes) TG_MUST_USE;

/* --- parquet_encode.c --- */

/* Writes the chunk of a column. */
extern tg_status tg_chunk_write(tg_parquet_out *file, tg_column_out *column, tg_chunk_written *written) TG_MUST_USE;

/* --- parquet_metadata.c --- */

extern tg_status tg_metadata_write(tg_parquet_out *file) TG_MUST_USE;

#endif /* TG_PARQUET_OUT_INTERNAL_H */
