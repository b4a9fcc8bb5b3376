/*
 * arrow_internal.h
 *	  What the files of an Arrow reader share.
 */
#ifndef TG_ARROW_INTERNAL_H
#define TG_ARROW_INTERNAL_H

#include "runtime/format/arrow.h"
#include "runtime/format/arrow_format.h"
#include "runtime/format/flat.h"

/* How values lie in their buffers, and what becomes of them. */
typedef enum tg_arrow_form
{
	TG_ARROW_NOTHING, /* of the type NULL: no buffers */
	TG_ARROW_BITS,	  /* 0 and 1 */
	TG_ARROW_SIGNED,  /* of `width` bytes, as the following */
	TG_ARROW_UNSIGNED,
	TG_ARROW_REAL,
	TG_ARROW_WIDE,		 /* a decimal, of which the word is */
	TG_ARROW_WIDE_BYTES, /* or the bytes are, big-endian */
	TG_ARROW_DAYS,		 /* milliseconds, of which the word is the days */
	TG_ARROW_FIXED,		 /* bytes */
	TG_ARROW_MONTHS,	 /* the following are intervals */
	TG_ARROW_DAYS_MS,
	TG_ARROW_DURATION_OF, /* `digits` */
	TG_ARROW_OFFSETS,	  /* bytes, between offsets of `width` bytes */
	TG_ARROW_VIEWS		  /* bytes, in the view or in one of many buffers */
} tg_arrow_form;

typedef struct tg_arrow_layout
{
	uint8_t form; /* tg_arrow_form */
	uint8_t digits;
	uint32_t width;
} tg_arrow_layout;

/* A buffer of a record batch: its contents, of which a part is in memory. */
typedef struct tg_arrow_buffer
{
	uint64_t offset; /* in the file */
	uint64_t stored; /* bytes there */
	uint64_t bytes;	 /* of the contents; if they are compressed, known when they are in memory */
	int codec;		 /* Message.fbs, CompressionType */
	bool is_packed;	 /* perhaps compressed, and not yet looked at */
	uint64_t from;	 /* in memory: so many bytes of the contents, from here on */
	uint64_t count;
	tg_buffer memory;
} tg_arrow_buffer;

/* An array of a record batch. */
typedef struct tg_arrow_array
{
	uint64_t length;
	bool has_nulls;
	tg_arrow_buffer validity;
	tg_arrow_buffer first;	/* values, offsets or views */
	tg_arrow_buffer second; /* what offsets are of */
	tg_buffer parts;		/* of tg_arrow_buffer: what views are of */
	unsigned part_count;
	unsigned part_room; /* that have been used */
} tg_arrow_array;

/* Values of an array. */
typedef struct tg_arrow_values
{
	tg_buffer nulls; /* of uint8_t, if has_nulls */
	tg_buffer words;
	tg_buffer bytes; /* of tg_file_bytes */
	tg_buffer texts; /* what bytes lie in, if not in a buffer of the array */
	bool has_nulls;
} tg_arrow_values;

/* What an index of a dictionary stands for; bytes are places in texts. */
typedef struct tg_arrow_dictionary
{
	int64_t id;
	tg_arrow_layout layout;
	unsigned block; /* that it is of */
	unsigned end;	/* of the messages: the one behind the last that has been looked at */
	bool has_begun; /* one of these begins it */
	uint64_t count;
	size_t text_bytes;
	tg_arrow_values values;
	tg_arrow_array array; /* of a message that is being read */
	tg_arrow_values part;
} tg_arrow_dictionary;

/* A column, or a node of one that is nested, beyond what its description has. */
typedef struct tg_arrow_leaf
{
	unsigned node;			/* NESTED: the column's first one */
	tg_arrow_layout layout; /* of the values, or of the dictionary's indexes */
	bool has_dictionary;
	uint8_t list; /* tg_arrow_type of the list; 0: it is none */
	uint32_t list_size;
	unsigned nodes; /* of the column, and its buffers, beside those of views */
	unsigned buffers;
	unsigned views; /* arrays of views in it */
	/* in the present record batch: */
	tg_arrow_array lists; /* of a node that is a STRUCT: its own */
	tg_arrow_array array;
	tg_arrow_values values;
	tg_buffer nulls; /* of lists */
	tg_buffer ends;
	tg_arrow_dictionary dictionary;
} tg_arrow_leaf;

/* A message with values. */
typedef struct tg_arrow_message
{
	uint64_t offset; /* in the file, of its metadata */
	uint32_t bytes;	 /* of these */
	uint64_t body;	 /* where its body is */
	uint64_t body_bytes;
	uint64_t rows;
} tg_arrow_message;

/* A batch of a dictionary. */
typedef struct tg_arrow_dictionary_message
{
	tg_arrow_message message;
	int64_t id;
	bool is_delta;
	unsigned blocks; /* record batches before it, that it is not for; 0 in a file */
} tg_arrow_dictionary_message;

struct tg_arrow
{
	const tg_file_source *source;
	tg_file_memory memory;
	tg_file_fault fault;
	tg_buffer own; /* this */
	tg_buffer names;
	tg_buffer columns;	   /* of tg_file_column */
	tg_buffer leaves;	   /* of tg_arrow_leaf, by column */
	tg_buffer wanted;	   /* of bool */
	tg_buffer nodes;	   /* of tg_file_node, of all nested columns */
	tg_buffer node_leaves; /* of tg_arrow_leaf, likewise */
	tg_buffer node_values; /* of tg_file_values */
	tg_buffer node_names;
	tg_buffer blocks;		/* of tg_arrow_message */
	tg_buffer dictionaries; /* of tg_arrow_dictionary_message */
	tg_buffer metadata;		/* of the message, or the table of them, that is being read */
	tg_buffer packed;		/* a buffer that is being decompressed */
	unsigned column_count;
	unsigned node_count;
	unsigned block_count;
	unsigned dictionary_count;
	unsigned column; /* that is being read, for faults */
	unsigned next_block;
	unsigned block_end; /* the first block that is not read */
	bool is_file;
	int version;
	int codec; /* of the first block; -1: none */
	uint64_t row_count;
	uint64_t rows_left; /* of the present block */
	uint64_t row;		/* of the block: the next one */
	size_t window;		/* bytes of a buffer that are read at a time */
};

static inline tg_file_column *
tg_arrow_columns(const tg_arrow *file)
{
	return file->columns.data;
}

static inline tg_arrow_leaf *
tg_arrow_leaves(const tg_arrow *file)
{
	return file->leaves.data;
}

static inline tg_file_node *
tg_arrow_nodes(const tg_arrow *file)
{
	return file->nodes.data;
}

static inline tg_arrow_leaf *
tg_arrow_node_leaves(const tg_arrow *file)
{
	return file->node_leaves.data;
}

/* Whether its values are tg_file_bytes. */
static inline bool
tg_arrow_has_bytes(const tg_arrow_layout *layout)
{
	return layout->form == TG_ARROW_WIDE_BYTES || layout->form >= TG_ARROW_FIXED;
}

static inline bool
tg_arrow_wants(const tg_arrow *file, unsigned column)
{
	return ((const bool *) file->wanted.data)[column];
}

/* --- arrow.c --- */

/* Reads metadata from the file. */
extern tg_status tg_arrow_metadata(tg_arrow *file, uint64_t offset, uint32_t bytes, tg_flat *flat_out) TG_MUST_USE;

/* --- arrow_schema.c --- */

/* The columns of a schema, which lies at `offset` in the file. */
extern tg_status tg_arrow_schema(tg_arrow *file, tg_flat *flat, tg_flat_table schema, uint64_t offset) TG_MUST_USE;

/* --- arrow_batch.c --- */

/* Places the arrays of the wanted columns of a record batch. */
extern tg_status tg_arrow_begin_block(tg_arrow *file, unsigned block) TG_MUST_USE;

/* Makes a dictionary of the column in hand the one of a block. */
extern tg_status tg_arrow_dictionary_load(tg_arrow *file, tg_arrow_dictionary *dictionary, unsigned block) TG_MUST_USE;

/*
 * So many bytes of a buffer's contents; NULL: they are not there, as the fault says.  They last
 * until other bytes of the same buffer are asked for.
 */
extern const uint8_t *tg_arrow_bytes(tg_arrow *file, tg_arrow_buffer *buffer, uint64_t from, uint64_t count);

extern void tg_arrow_array_free(tg_arrow *file, tg_arrow_array *array);

/* The values of the column in hand need more memory than there is. */
extern tg_status tg_arrow_no_memory(tg_arrow *file);

/* Something of it is malformed: "column ... has" what is said. */
extern tg_status tg_arrow_damaged(tg_arrow *file, uint64_t offset, const char *what);

/* --- arrow_values.c --- */

/* So many values of an array from one on.  They last as long as the array's buffers stay put. */
extern tg_status tg_arrow_decode(tg_arrow *file, const tg_arrow_layout *layout, tg_arrow_array *array, uint64_t from,
								 uint64_t count, tg_arrow_values *out) TG_MUST_USE;

/* The values of the next rows of the column in hand. */
extern tg_status tg_arrow_rows(tg_arrow *file, unsigned count, tg_file_values *values) TG_MUST_USE;

extern void tg_arrow_values_free(tg_arrow *file, tg_arrow_values *values);

#endif /* TG_ARROW_INTERNAL_H */
