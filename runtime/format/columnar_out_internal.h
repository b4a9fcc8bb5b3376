/*
 * columnar_out_internal.h
 *	  What the files of a writer of columns share.
 */
#ifndef TG_COLUMNAR_OUT_INTERNAL_H
#define TG_COLUMNAR_OUT_INTERNAL_H

#include "runtime/format/columnar_out.h"
#include "runtime/format/source.h"

#define TG_LEVEL_BEGINS_ROW 0x80

/* A column of the block that is being filled. */
typedef struct tg_column_out
{
	tg_file_column description;
	uint8_t physical;	/* Parquet: tg_physical */
	uint8_t width;		/* of each value, if it has bytes of a fixed number; else 0 */
	uint8_t level_max;	/* the level of a value, */
	uint8_t list_level; /* and of a list's element, NULL or not (parquet_rows.c) */
	bool in_list;		/* an element of the row's list has been put */
	tg_buffer levels;	/* of uint8_t: definition, and TG_LEVEL_BEGINS_ROW, of a list; none without NULLs */
	size_t level_count;
	tg_buffer words; /* of int64_t; or the end of each value in texts */
	size_t value_count;
	tg_buffer texts;
	size_t text_bytes;
	size_t put; /* rows that have a value */
	/* the counts above, when the rows in hand were begun */
	size_t levels_before;
	size_t values_before;
	size_t text_bytes_before;
} tg_column_out;

/* What a format does. */
typedef struct tg_columnar_format
{
	/* Chooses how columns are stored, and writes the beginning of the file. */
	tg_status (*begin)(tg_columnar_out *file);
	/* Encodes a column of a block, behind those before it; the last one completes the block. */
	tg_status (*encode)(tg_columnar_block *block, unsigned column);
	/* Writes a block that is encoded, and notes for the metadata where. */
	tg_status (*append)(tg_columnar_out *file, const tg_columnar_block *block);
	tg_status (*finish)(tg_columnar_out *file);
	/* Bytes of a NULL in a block, if it has a slot like a value; otherwise 0. */
	size_t null_bytes;
	/* Bytes that a value may need beside its own, when it is encoded. */
	size_t slot_bytes;
} tg_columnar_format;

/* Rows, and what they become: it has all that its thread needs, in its own memory. */
struct tg_columnar_block
{
	const tg_columnar_format *format;
	uint8_t codec;
	uint8_t level;
	bool plain;
	tg_csv_written csv;
	tg_file_source source; /* of its memory */
	tg_file_memory memory;
	tg_buffer own;
	tg_buffer columns; /* of tg_column_out, without names */
	unsigned column_count;
	uint64_t rows;
	uint32_t rows_max;
	size_t bytes; /* of its values, and of slots without one */
	size_t bytes_max;
	size_t bytes_before; /* when the rows in hand were begun */

	/* what is encoded: */
	unsigned encoded_columns;
	tg_buffer encoded; /* Arrow: the body */
	size_t encoded_bytes;
	tg_buffer chunks;	 /* Parquet: of tg_chunk_written, with offsets in the block */
	tg_buffer head;		 /* Arrow: the metadata, */
	size_t head_bytes;	 /* of so many bytes */
	tg_buffer nodes;	 /* Arrow: of the block's arrays, */
	size_t node_count;	 /* so many of them, */
	tg_buffer buffers;	 /* and their buffers, */
	size_t buffer_count; /* likewise */

	/* for a column that is encoded: */
	tg_buffer indexes;	 /* of uint32_t; Arrow: of uint8_t, whether a slot has a value */
	tg_buffer directory; /* Parquet, of uint32_t: places in the dictionary, plus 1 */
	tg_buffer entries;	 /* Parquet, of uint32_t: a value of each of the dictionary's */
	tg_buffer raw;
};

struct tg_columnar_out
{
	const tg_columnar_format *format;
	const tg_file_target *target;
	tg_file_source memory_source; /* resize and free of the target */
	tg_file_memory memory;
	tg_columnar_options options;
	tg_buffer own;
	tg_buffer columns; /* of tg_column_out: what those of a block begin as */
	tg_buffer names;
	tg_buffer places;		  /* what the metadata will say of blocks; of Parquet tg_chunk_written, by column */
	tg_buffer group_rows;	  /* Parquet: of uint64_t */
	tg_buffer raw;			  /* the metadata */
	tg_columnar_block *block; /* that is filled; NULL: none */
	unsigned column_count;
	unsigned block_count;
	uint64_t row_count;
	uint64_t position; /* in the file */
};

static inline tg_column_out *
tg_columns_out(const tg_columnar_out *file)
{
	return file->columns.data;
}

static inline tg_column_out *
tg_block_columns(const tg_columnar_block *block)
{
	return block->columns.data;
}

/* The levels that a column has, or would have. */
static inline size_t
tg_levels_out(const tg_column_out *column)
{
	return column->level_count > 0 ? column->level_count : column->value_count;
}

/* The bytes of value i of a column, if it has bytes. */
static inline tg_file_bytes
tg_text_out(const tg_column_out *column, size_t i)
{
	const int64_t *ends = column->words.data;
	size_t begin = i == 0 ? 0 : (size_t) ends[i - 1];

	return (tg_file_bytes){(const uint8_t *) column->texts.data + begin, (size_t) ends[i] - begin};
}

/* Whether a row of a column without lists has no value. */
static inline bool
tg_is_null_out(const tg_column_out *column, size_t row)
{
	return column->level_count > 0 && ((const uint8_t *) column->levels.data)[row] == 0;
}

/* --- columnar_out.c --- */

extern tg_status tg_out_write(tg_columnar_out *file, const void *data, size_t bytes) TG_MUST_USE;

/* --- parquet_out.c, arrow_out.c, csv_out.c --- */

extern const tg_columnar_format tg_parquet_format;
extern const tg_columnar_format tg_arrow_format;
extern const tg_columnar_format tg_csv_format;

#endif /* TG_COLUMNAR_OUT_INTERNAL_H */
