/*
 * json_read.h
 *	  Rows of a file in NDJSON, of a block of whole lines in memory: a batch at a time, as of CSV.
 *
 * A line has an object, whose members are values of the columns with their names; a column without
 * one is NULL.  A string is what it stands for, and any other value the text that it is written as,
 * of which csv_value.h makes values; a column of JSON gets what is written, whatever it is.
 *
 * A record is odd if it is malformed, or has a name that is no column's, or twice, or a value that
 * is not accepted: the reader only says where it is, and the caller reads it from the file again.
 */
#ifndef TG_JSON_READ_H
#define TG_JSON_READ_H

#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/format/csv_read.h"
#include "runtime/format/source.h"

/* What it points to is the caller's. */
typedef struct tg_json_format
{
	const tg_csv_column *columns; /* JSON: any value as it is written */
	const char *const *names;	  /* of them, in UTF-8, none twice */
	unsigned column_count;
} tg_json_format;

typedef struct tg_json_reader tg_json_reader;

/*
 * The source gives memory only; it, and what the format points to, last as long.  TG_NO_MEMORY.
 */
extern tg_status tg_json_reader_create(const tg_file_source *source, const tg_json_format *format,
									   tg_json_reader **reader_out) TG_MUST_USE;
extern void tg_json_reader_free(tg_json_reader *reader);

/* Begins a block; the reader writes into it.  lines: with objects, in the file before. */
extern void tg_json_begin(tg_json_reader *reader, uint8_t *data, uint32_t bytes, uint64_t lines);

/*
 * The next rows; their number, 0 at the end.  Values are those of the columns; of a record that is
 * odd they are none.  They, and the records, last until the next call.
 */
extern unsigned tg_json_read(tg_json_reader *reader, tg_file_values *values);

/* The records of these rows: without their lines' ends. */
extern const tg_csv_record *tg_json_records(const tg_json_reader *reader);

#endif /* TG_JSON_READ_H */
