/*
 * csv_read.h
 *	  Rows of a file in CSV, or COPY's text format, of a block of whole records in memory: a batch
 *	  at a time, column by column, as of Parquet.
 *
 * Values are made by csv_value.h.  A record is odd if one of its fields is not accepted there, or
 * if the record itself is malformed, or may be: the reader only says where such a record is, and
 * PostgreSQL's COPY reads it.
 */
#ifndef TG_CSV_READ_H
#define TG_CSV_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/format/csv.h"
#include "runtime/format/columns.h"
#include "runtime/format/source.h"

/* Bytes behind a block that may be read, whatever they are. */
#define TG_CSV_SLACK 64

typedef struct tg_csv_column
{
	uint8_t type; /* tg_file_type; UNREADABLE: all of its fields are odd */
	uint8_t bits;
	bool utc;
	bool has_zulu;	 /* TIMESTAMP, utc: Z is an offset */
	bool force_null; /* COPY's options */
	bool force_not_null;
	bool is_padded; /* STRING: with blanks, to characters_max */
	int32_t precision;
	int32_t scale;
	uint32_t characters_max; /* STRING; 0: there may be any number */
} tg_csv_column;

typedef struct tg_csv_format
{
	tg_csv_dialect dialect; /* whose end is known */
	const char *null_text;	/* the caller's, as are the columns */
	const tg_csv_column *columns;
	unsigned column_count;
} tg_csv_format;

/* Where a record is. */
typedef struct tg_csv_record
{
	uint32_t begin; /* in the block */
	uint32_t end;	/* with its line's end */
	uint64_t lines; /* that COPY has counted before it */
	bool is_odd;
} tg_csv_record;

typedef struct tg_csv_reader tg_csv_reader;

/* The source gives memory only; it and the format last as long.  TG_NO_MEMORY. */
extern tg_status tg_csv_reader_create(const tg_file_source *source, const tg_csv_format *format,
									  tg_csv_reader **reader_out) TG_MUST_USE;
extern void tg_csv_reader_free(tg_csv_reader *reader);

/*
 * Begins a block; the reader writes into it.  lines: that COPY has counted before.  is_first: the
 * block begins with the file's first record.
 */
extern void tg_csv_begin(tg_csv_reader *reader, uint8_t *data, uint32_t bytes, uint64_t lines, bool is_first);

/*
 * The next rows: their number, 0 at the end.  Values are those of the columns; of a record that is
 * odd they are none.  They, and the records, last until the next call.
 */
extern tg_status tg_csv_read(tg_csv_reader *reader, tg_file_values *values, unsigned *count_out) TG_MUST_USE;

/* The records of these rows. */
extern const tg_csv_record *tg_csv_records(const tg_csv_reader *reader);

#endif /* TG_CSV_READ_H */
