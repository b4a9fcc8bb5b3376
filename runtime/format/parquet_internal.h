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

/* A value of the schema, of which a row group has a chunk: leaves are in the order of these. */
typedef struct tg_leaf
{
	tg_file_column value; /* with the column's name, for faults */
	unsigned column;
	uint8_t physical;
	uint32_t width;								 /* FIXED: bytes of a value */
	uint8_t level_max;							 /* definition level of a value */
	uint8_t repetition_max;						 /* lists that are around it; of each, from the outermost, */
	uint8_t element_levels[TG_FILE_NESTING_MAX]; /* that of its elements, NULL or not; a lower one has none */
} tg_leaf;

/* Where a column's leaves and nodes are. */
typedef struct tg_column_place
{
	unsigned leaf;
	unsigned node; /* if it is nested */
} tg_column_place;

/* A node of a nested column, beyond its description. */
typedef struct tg_parquet_node
{
	unsigned parent;	/* its number; the column's: its own */
	unsigned leaf;		/* whose levels say where it is: the first that is in it */
	uint8_t repetition; /* lists that are around it */
	uint8_t exists;		/* definition level of the elements of the innermost of these; 0: there is none */
	uint8_t present;	/* that of it, if it is not NULL */
	uint8_t element;	/* LIST, MAP: that of its elements */
	/* in a batch: */
	uint32_t count;
	tg_buffer nulls;
	tg_buffer ends;
} tg_parquet_node;

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
	bool by_batch;	   /* the values are decoded as rows need them: those that are left of the page: */
	tg_bytes_in plain; /* without a dictionary */
	tg_runs indexes;   /* of the dictionary; bits 0 */
	bool is_indexed;
	uint64_t page_at; /* in the file, for faults */

	/* the batch */
	tg_buffer out_nulls;
	tg_buffer out_ends;
	tg_buffer out_element_nulls;
	tg_buffer out_words;
	tg_buffer out_bytes;
	tg_buffer out_texts;  /* what a list's out_bytes lie in */
	tg_buffer out_levels; /* of a nested column: parquet_nested.c */
	uint32_t out_level_count;
	uint32_t out_count; /* of values, NULL or not */
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
	tg_buffer places;  /* of tg_column_place, likewise as wanted */
	tg_buffer wanted;  /* of bool */
	tg_buffer leaves;  /* of tg_leaf */
	tg_buffer readers; /* of tg_chunk_reader, by leaf */
	tg_buffer nodes;   /* of tg_file_node, as the following two */
	tg_buffer parts;   /* of tg_parquet_node */
	tg_buffer values;  /* of tg_file_values */
	tg_buffer groups;  /* of tg_group_place */
	unsigned column_count;
	unsigned leaf_count;
	unsigned reader_count; /* 0: they are not there yet; else as many */
	unsigned node_count;
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

static inline tg_column_place *
tg_column_places(const tg_parquet *file)
{
	return file->places.data;
}

/* Whether a column's rows are those of its only leaf's pages: it has no lists. */
static inline bool
tg_parquet_is_flat(const tg_parquet *file, unsigned column)
{
	return !tg_columns(file)[column].list && tg_columns(file)[column].type != TG_FILE_NESTED;
}

static inline bool
tg_parquet_wants(const tg_parquet *file, unsigned column)
{
	return ((const bool *) file->wanted.data)[column];
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

/* The next page with values of the leaf's chunk.  *more_out: there is one. */
extern tg_status tg_page_next(tg_parquet *file, unsigned leaf, bool *more_out) TG_MUST_USE;

/* The next so many values of a page that is decoded by batch: they are all that the reader has. */
extern tg_status tg_page_decode(tg_parquet *file, unsigned leaf, size_t count) TG_MUST_USE;

/* --- parquet_decode.c --- */

/* So many values in an encoding without a dictionary; bytes lie in `in` or in a buffer. */
extern tg_status tg_decode_values(tg_parquet *file, tg_chunk_reader *reader, const tg_leaf *leaf, int encoding,
								  tg_bytes_in *in, size_t count, tg_decoded *out) TG_MUST_USE;

/* Whether values in this encoding can be decoded a part at a time, by further calls. */
extern bool tg_decodes_in_parts(const tg_leaf *leaf, int encoding);

/* Indexes of the chunk's dictionary, which `in` has: begins, and decodes so many. */
extern tg_status tg_decode_begin_indexes(tg_chunk_reader *reader, tg_bytes_in *in) TG_MUST_USE;
extern tg_status tg_decode_indexes(tg_parquet *file, tg_chunk_reader *reader, bool is_bytes, size_t count) TG_MUST_USE;

/* --- parquet_rows.c --- */

/* The values of so many rows of a column without lists, of the present page. */
extern tg_status tg_rows_flat(tg_parquet *file, unsigned leaf, unsigned count, tg_file_values *values) TG_MUST_USE;
extern tg_status tg_rows_lists(tg_parquet *file, unsigned leaf, unsigned count, tg_file_values *values) TG_MUST_USE;

/* The faults: a leaf has not the rows that it should have; its values need too much memory. */
extern tg_status tg_rows_missing(tg_parquet *file, unsigned leaf) TG_MUST_USE;
extern tg_status tg_rows_no_memory(tg_parquet *file, unsigned leaf) TG_MUST_USE;

/* Appends a value of the present page, or a NULL, to those of a batch; the bytes are copied. */
extern tg_status tg_rows_append(tg_parquet *file, unsigned leaf, bool null, uint32_t at,
								size_t *text_bytes) TG_MUST_USE;

/* Bytes that have been copied get their addresses. */
extern void tg_rows_place_bytes(tg_chunk_reader *reader, uint32_t count);

/* --- parquet_nested.c --- */

/* The same of a nested column, in each of its nodes. */
extern tg_status tg_rows_nested(tg_parquet *file, unsigned column, unsigned count, tg_file_values *values) TG_MUST_USE;

#endif /* TG_PARQUET_INTERNAL_H */
