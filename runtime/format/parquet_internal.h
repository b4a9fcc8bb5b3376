/*
 * parquet_internal.h
 *	  What the files of a Parquet reader share.
 */
#ifndef TG_PARQUET_INTERNAL_H
#define TG_PARQUET_INTERNAL_H

#include "runtime/format/codec.h"
#include "runtime/format/parquet.h"
#include "runtime/format/source.h"
#include "runtime/format/thrift.h"
#include "runtime/format/unpack.h"

#define TG_PARQUET_MAGIC "PAR1"
#define TG_PAGE_VALUES_MAX (1 << 24)

/* parquet.thrift, Type */
typedef enum tg_physical
{
	TG_PHYSICAL_BOOLEAN = 0,
	TG_PHYSICAL_INT32 = 1,
	TG_PHYSICAL_INT64 = 2,
	TG_PHYSICAL_INT96 = 3,
	TG_PHYSICAL_FLOAT = 4,
	TG_PHYSICAL_DOUBLE = 5,
	TG_PHYSICAL_BYTE_ARRAY = 6,
	TG_PHYSICAL_FIXED = 7,
	TG_PHYSICAL_COUNT
} tg_physical;

/* parquet.thrift, Encoding */
typedef enum tg_encoding
{
	TG_ENCODING_PLAIN = 0,
	TG_ENCODING_PLAIN_DICTIONARY = 2,
	TG_ENCODING_RLE = 3,
	TG_ENCODING_BIT_PACKED = 4,
	TG_ENCODING_DELTA = 5,
	TG_ENCODING_DELTA_LENGTH = 6,
	TG_ENCODING_DELTA_BYTES = 7,
	TG_ENCODING_DICTIONARY = 8,
	TG_ENCODING_SPLIT = 9
} tg_encoding;

/* parquet.thrift, PageType */
typedef enum tg_page_type
{
	TG_PAGE_DATA = 0,
	TG_PAGE_INDEX = 1,
	TG_PAGE_DICTIONARY = 2,
	TG_PAGE_DATA_V2 = 3
} tg_page_type;

/* What is said of a column in the schema, beyond what its description has. */
typedef struct tg_leaf
{
	uint8_t physical;
	uint32_t width;		/* FIXED: bytes of a value */
	uint8_t level_max;	/* definition level of a value */
	uint8_t list_level; /* of a list: that of its elements, NULL or not; a lower one has none */
	unsigned chunk;		/* its number among the chunks of a row group */
} tg_leaf;

/* Decoded values: words, or bytes that lie in a page or in a buffer of their own. */
typedef struct tg_decoded
{
	tg_buffer words;
	tg_buffer bytes;
	size_t count;
} tg_decoded;

/* A column's chunk of the present row group, and the page that is being read. */
typedef struct tg_chunk_reader
{
	uint64_t at; /* in the file: the next page */
	uint64_t end;
	uint8_t codec;
	tg_decoded dictionary;
	bool has_dictionary;
	tg_buffer dictionary_page;

	tg_buffer raw;	  /* as it is in the file */
	tg_buffer page;	  /* decompressed */
	tg_buffer joined; /* strings of DELTA_BYTE_ARRAY; indexes of a dictionary, lengths */
	tg_buffer scratch;
	tg_buffer definitions; /* a byte a level */
	tg_buffer repetitions;
	size_t level_count;
	size_t level_at;
	bool all_present; /* no value of the page is NULL */
	tg_decoded values;
	size_t value_at;

	/* the batch */
	tg_buffer out_nulls;
	tg_buffer out_ends;
	tg_buffer out_element_nulls;
	tg_buffer out_words;
	tg_buffer out_bytes;
	tg_buffer out_texts; /* what a list's out_bytes lie in */
} tg_chunk_reader;

struct tg_parquet
{
	const tg_file_source *source;
	tg_file_memory memory;
	tg_file_fault fault;
	tg_buffer own;	  /* this */
	tg_buffer footer; /* the metadata */
	tg_buffer names;
	tg_buffer columns; /* of tg_file_column */
	tg_buffer leaves;  /* of tg_leaf, by column */
	tg_buffer wanted;  /* of bool */
	tg_buffer readers; /* of tg_chunk_reader */
	tg_buffer groups;  /* of tg_group_place */
	unsigned column_count;
	unsigned chunk_count; /* of a row group */
	unsigned group_count;
	unsigned next_group;
	unsigned group_end; /* the first row group that is not read */
	uint64_t row_count;
	uint64_t rows_left; /* of the present row group */
};

/* Where the metadata of a row group are. */
typedef struct tg_group_place
{
	const uint8_t *at;
	uint64_t rows;
} tg_group_place;

static inline tg_file_column *
tg_columns(const tg_parquet *file)
{
	return file->columns.data;
}

static inline tg_leaf *
tg_leaves(const tg_parquet *file)
{
	return file->leaves.data;
}

static inline tg_chunk_reader *
tg_readers(const tg_parquet *file)
{
	return file->readers.data;
}

/* --- parquet_schema.c --- */

/* The columns, by the schema's elements. */
extern tg_status tg_schema_read(tg_parquet *file, tg_thrift *thrift, const tg_thrift_field *field) TG_MUST_USE;

/* --- parquet_page.c --- */

/* The next page with values of the chunk.  *more_out: there is one. */
extern tg_status tg_page_next(tg_parquet *file, unsigned column, bool *more_out) TG_MUST_USE;

/* --- parquet_decode.c --- */

/* So many values in an encoding without a dictionary; bytes lie in `in` or in a buffer. */
extern tg_status tg_decode_values(tg_parquet *file, tg_chunk_reader *reader, const tg_file_column *column,
								  const tg_leaf *leaf, int encoding, tg_bytes_in *in, size_t count,
								  tg_decoded *out) TG_MUST_USE;

/* The same by indexes of the chunk's dictionary. */
extern tg_status tg_decode_indexes(tg_parquet *file, tg_chunk_reader *reader, bool is_bytes, tg_bytes_in *in,
								   size_t count) TG_MUST_USE;

/* --- parquet_rows.c --- */

/* The values of so many rows of a column without lists, of the present page. */
extern tg_status tg_rows_flat(tg_parquet *file, unsigned column, unsigned count, tg_file_values *values) TG_MUST_USE;
extern tg_status tg_rows_lists(tg_parquet *file, unsigned column, unsigned count, tg_file_values *values) TG_MUST_USE;

#endif /* TG_PARQUET_INTERNAL_H */
