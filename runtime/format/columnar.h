/*
 * columnar.h
 *	  A file of columns that is read, in Parquet or Arrow: blocks of rows.
 *
 * A block is a row group of Parquet, or a record batch of Arrow.
 */
#ifndef TG_COLUMNAR_H
#define TG_COLUMNAR_H

#include "runtime/format/arrow.h"
#include "runtime/format/columns.h"
#include "runtime/format/parquet.h"
#include "runtime/format/source.h"

typedef enum tg_file_format
{
	TG_FORMAT_PARQUET,
	TG_FORMAT_ARROW,
	TG_FORMAT_CSV /* is only written by this; csv.h reads it */
} tg_file_format;

/* A reader of one of the formats; the other one is NULL. */
typedef struct tg_columnar
{
	tg_parquet *parquet;
	tg_arrow *arrow;
} tg_columnar;

/*
 * Opens a file and reads its metadata.  The source stays the caller's, and must last as long.
 * After a failure fault_out says why, and there is nothing to close.
 */
extern tg_status tg_columnar_open(tg_columnar *reader, tg_file_format format, const tg_file_source *source,
								  tg_file_fault *fault_out) TG_MUST_USE;

/* Nothing happens if none is open. */
extern void tg_columnar_close(tg_columnar *reader);

extern unsigned tg_columnar_column_count(const tg_columnar *reader);
extern const tg_file_column *tg_columnar_column(const tg_columnar *reader, unsigned column);
extern uint64_t tg_columnar_row_count(const tg_columnar *reader);
extern unsigned tg_columnar_block_count(const tg_columnar *reader);
extern uint64_t tg_columnar_block_rows(const tg_columnar *reader, unsigned block);

/* Only wanted columns are read: none at first.  To be said before the first batch. */
extern void tg_columnar_want(tg_columnar *reader, unsigned column);

/* Reads this block next, and no further one. */
extern void tg_columnar_seek(tg_columnar *reader, unsigned block);

/*
 * The next rows: their number, at most TG_FILE_BATCH, 0 at the end.  values has an element a column
 * of the file, of which the wanted ones are filled; they last until the next call.
 */
extern tg_status tg_columnar_read(tg_columnar *reader, tg_file_values *values, unsigned *count_out,
								  tg_file_fault *fault_out) TG_MUST_USE;

/*
 * The codecs and encodings of a column in the first block, as words separated by commas, for
 * people.  False: there is no block, or its metadata are damaged.
 */
extern bool tg_columnar_describe(const tg_columnar *reader, unsigned column, char *codec, size_t codec_bytes,
								 char *encodings, size_t encodings_bytes);

#endif /* TG_COLUMNAR_H */
