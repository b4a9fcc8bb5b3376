/*
 * columnar_out.h
 *	  A file that is written, in Parquet, Arrow or CSV: blocks of rows, whose values are columns.
 *
 * The values of a block are kept until it is full.  It is then encoded, which needs nothing but the
 * block, and may be done by any thread; and appended to the file, in the order of the rows.  So
 * several blocks of a file can be in hand: one that is filled, and others that are encoded.
 *
 * Parquet: pages of version 1 with checksums, dictionaries where they are smaller, else PLAIN;
 * minima, maxima and numbers of NULLs of each chunk.  A block is a row group.
 *
 * Arrow: files and streams of version 5, whose buffers begin at multiples of 8 bytes.  A block is a
 * record batch.
 *
 * CSV: columns of BOOL, INT, UINT, DECIMAL, DATE, TIME and TIMESTAMP of 6 digits, UUID and STRING,
 * without lists.  Dates and times count from the epoch that the options say, and their smallest and
 * largest numbers are infinite; the largest number of a DECIMAL's words is NaN.
 */
#ifndef TG_COLUMNAR_OUT_H
#define TG_COLUMNAR_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/format/columnar.h"
#include "runtime/format/columns.h"

typedef struct tg_columnar_out tg_columnar_out;
typedef struct tg_columnar_block tg_columnar_block;

/* A file that is written: how to write it, and memory for it.  The caller's. */
typedef struct tg_file_target
{
	/* Appends; false: it could not be written. */
	bool (*write)(void *argument, const void *data, size_t bytes);
	void *(*resize)(void *argument, void *memory, size_t old_bytes, size_t bytes); /* as of a source */
	void (*free)(void *argument, void *memory);
	void *argument;
	size_t memory_max;
} tg_file_target;

#define TG_CSV_NULL_MAX 32

/* How CSV is written. */
typedef struct tg_csv_written
{
	char delimiter;
	char quote;
	char escape;
	bool quotes_typed; /* the writer's own */
	uint8_t null_bytes;
	char null_text[TG_CSV_NULL_MAX];
	int32_t epoch_day;	/* that dates and times count from: since 1970-01-01 */
	const char *header; /* the first bytes of the file */
	size_t header_bytes;
} tg_csv_written;

typedef struct tg_columnar_options
{
	uint8_t codec;		 /* tg_codec; one that is written: of Arrow NONE, LZ4_FRAME and ZSTD */
	uint8_t level;		 /* of the codec (codec.h) */
	bool stream;		 /* Arrow: without a footer */
	bool plain;			 /* Parquet: without dictionaries */
	uint32_t block_rows; /* of a block, at most */
	size_t block_bytes;	 /* of its values before they are encoded, about */
	const char *created_by;
	tg_csv_written csv; /* CSV */
} tg_columnar_options;

/*
 * Begins a file of these columns, of which name, type, bits, digits, utc, nullable, list,
 * element_nullable, precision and scale count.  DECIMAL has at most 38 digits; INTERVAL has 9
 * digits, and is Arrow's.  TG_NO_MEMORY, TG_IO.
 */
extern tg_status tg_columnar_create(tg_file_format format, const tg_file_target *target,
									const tg_columnar_options *options, const tg_file_column *columns,
									unsigned column_count, tg_columnar_out **file_out) TG_MUST_USE;

/* --- blocks ------------------------------------------------------------------------------ */

/*
 * Makes an empty block for rows of the file, which does not need the file any more.  memory: where
 * resize, free, argument and memory_max count; they are the caller's for as long as the block is
 * there.  TG_NO_MEMORY.
 */
extern tg_status tg_columnar_block_create(const tg_columnar_out *file, const tg_file_source *memory,
										  tg_columnar_block **block_out) TG_MUST_USE;
extern void tg_columnar_block_free(tg_columnar_block *block);

/* The bytes that it has of its memory; whether no row has been put into it. */
extern size_t tg_columnar_block_bytes(const tg_columnar_block *block);
extern bool tg_columnar_block_is_empty(const tg_columnar_block *block);

/* It may have so many bytes from now on; it may have more already. */
extern void tg_columnar_block_limit(tg_columnar_block *block, size_t memory_max);

/* The bytes that it is going to have when it has been encoded, or less. */
extern size_t tg_columnar_block_bound(const tg_columnar_block *block);

/* Rows that follow are put into this block; NULL: none follow. */
extern void tg_columnar_fill(tg_columnar_out *file, tg_columnar_block *block);

/*
 * The values of the next row, column by column.  A list: its elements, then the end of the list.  A
 * DECIMAL is given as a word if its precision is at most 18, else as 16 bytes, big-endian.
 * TG_NO_MEMORY; TG_TOO_LARGE: more than 2 GB of bytes.
 */
extern tg_status tg_columnar_put_null(tg_columnar_out *file, unsigned column) TG_MUST_USE;
extern tg_status tg_columnar_put_word(tg_columnar_out *file, unsigned column, int64_t word) TG_MUST_USE;
extern tg_status tg_columnar_put_bytes(tg_columnar_out *file, unsigned column, const void *data,
									   size_t bytes) TG_MUST_USE;
extern tg_status tg_columnar_put_null_element(tg_columnar_out *file, unsigned column) TG_MUST_USE;
extern tg_status tg_columnar_put_list_end(tg_columnar_out *file, unsigned column) TG_MUST_USE;

/* The row is complete.  True: so is the block, which is to be written. */
extern bool tg_columnar_put_row(tg_columnar_out *file) TG_MUST_USE;

/*
 * Many rows at once, into a block that is the caller's, of which no row is begun: values of a
 * column, as readers give them, of the rows [first, first + count).  Once each column has got those
 * of the same rows they are complete (put_rows; likewise), or all since begin_rows are dropped, as
 * after a failure.  There may be as many as room says.  A column of lists gets its values as above.
 */
extern void tg_columnar_begin_rows(tg_columnar_block *block);
extern tg_status tg_columnar_put_values(tg_columnar_block *block, unsigned column, const tg_file_values *values,
										uint32_t first, uint32_t count) TG_MUST_USE;
extern bool tg_columnar_put_rows(tg_columnar_block *block, uint32_t count) TG_MUST_USE;
extern void tg_columnar_drop_rows(tg_columnar_block *block);
extern uint32_t tg_columnar_room(const tg_columnar_block *block);

/*
 * Encodes the next column of a block that has rows.  TG_AGAIN: there are more of them.  One thread
 * at a time, with the block's memory.  TG_NO_MEMORY, TG_TOO_LARGE: it may be begun anew.
 */
extern tg_status tg_columnar_encode(tg_columnar_block *block) TG_MUST_USE;
extern void tg_columnar_encode_anew(tg_columnar_block *block);

/* Writes a block that is encoded; then it is empty.  TG_IO, TG_NO_MEMORY. */
extern tg_status tg_columnar_append(tg_columnar_out *file, tg_columnar_block *block) TG_MUST_USE;

/* Both, for a block that has not been encoded yet; nothing happens if it has no rows. */
extern tg_status tg_columnar_write(tg_columnar_out *file, tg_columnar_block *block) TG_MUST_USE;

/* --- the end ----------------------------------------------------------------------------- */

/* All blocks have been appended: writes the metadata.  TG_IO, TG_NO_MEMORY, TG_TOO_LARGE. */
extern tg_status tg_columnar_finish(tg_columnar_out *file, uint64_t *bytes_out) TG_MUST_USE;

/* Whether it is finished or not.  Its blocks are to be freed, too. */
extern void tg_columnar_out_free(tg_columnar_out *file);

#endif /* TG_COLUMNAR_OUT_H */
