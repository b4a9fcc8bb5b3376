/*
 * parquet.h
 *	  Parquet files: read.  columnar_out.h writes them.
 *
 * (Apache Parquet's parquet.thrift, LogicalTypes.md, Encodings.md.)  A file is a sequence of row
 * groups; in each, a column is a chunk of pages.  The metadata are at the end.  A reader gives rows
 * a batch at a time, column by column; a batch ends where a page does, so that values need not be
 * copied out of it.
 *
 * Read: all physical types with their logical types; the encodings PLAIN, RLE, PLAIN_DICTIONARY and
 * RLE_DICTIONARY, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY and
 * BYTE_STREAM_SPLIT; pages of both versions, with their checksums; the codecs of codec.h; groups,
 * maps and lists, in one, two and three levels.  Columns that are nested deeper than
 * TG_FILE_NESTING_MAX are described, and cannot be read.  Not supported: encryption, chunks in
 * other files.
 */
#ifndef TG_PARQUET_H
#define TG_PARQUET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/format/columns.h"
#include "runtime/format/source.h"

/* --- reading -------------------------------------------------------------------------- */

typedef struct tg_parquet tg_parquet;

/*
 * Opens a file and reads its metadata.  The source stays the caller's, and must last as long.
 * After a failure fault_out says why, and there is nothing to close.
 */
extern tg_status tg_parquet_open(const tg_file_source *source, tg_parquet **file_out,
								 tg_file_fault *fault_out) TG_MUST_USE;
extern void tg_parquet_close(tg_parquet *file);

extern unsigned tg_parquet_column_count(const tg_parquet *file);
extern const tg_file_column *tg_parquet_column(const tg_parquet *file, unsigned column);
extern uint64_t tg_parquet_row_count(const tg_parquet *file);
extern unsigned tg_parquet_group_count(const tg_parquet *file);
extern uint64_t tg_parquet_group_rows(const tg_parquet *file, unsigned group);

/* Only wanted columns are read: none at first.  To be said before the first batch. */
extern void tg_parquet_want(tg_parquet *file, unsigned column);

/* Reads this row group next, and no further one. */
extern void tg_parquet_seek(tg_parquet *file, unsigned group);

/*
 * The next rows: their number, 0 at the end.  values has an element a column of the file, of which
 * the wanted ones are filled; they last until the next call.
 */
extern tg_status tg_parquet_read(tg_parquet *file, tg_file_values *values, unsigned *count_out,
								 tg_file_fault *fault_out) TG_MUST_USE;

/*
 * The codecs and encodings of a column's first chunk, as words separated by commas, for people.
 * False: there is no row group, or its metadata are damaged.
 */
extern bool tg_parquet_describe(tg_parquet *file, unsigned column, char *codec, size_t codec_bytes, char *encodings,
								size_t encodings_bytes);

#endif /* TG_PARQUET_H */
