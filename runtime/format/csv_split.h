/*
 * csv_split.h
 *	  Records of a block in CSV, or COPY's text format, and where their fields end.
 *
 * Each record has column_count marks: the ends of its fields.  A field begins behind the mark
 * before it, the first one of a record behind the end of a line, which may have two bytes.  So a
 * column's fields are a fixed number of marks apart.
 *
 * The marks are taken from masks of 64 bytes at a time (csv_masks.h).  What is told of a record
 * beside may be true of its neighbour only: that there are quotes in it, or bytes that are not
 * ASCII.  A reader that rests on it does more than it has to, but nothing wrong.
 */
#ifndef TG_CSV_SPLIT_H
#define TG_CSV_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/format/csv_read.h"

/* A record: */
#define TG_CSV_ODD 1	/* is malformed, or has another number of fields, and its marks are none */
#define TG_CSV_QUOTES 2 /* may have quotes; in text format: backslashes */
#define TG_CSV_WIDE 4	/* may have bytes that are not ASCII, or zeros */

/*
 * The room for records: as many more than are asked for as may end within 64 bytes; and beside that
 * for marks: of as many fields, and of those that are written before they are counted.
 */
#define TG_CSV_RECORDS_MORE 64
#define TG_CSV_MARKS_MORE 128

typedef struct tg_csv_splitter
{
	tg_csv_dialect dialect;
	unsigned column_count;
	uint32_t *marks; /* the caller's memory, as the following; the one before them is the splitter's */
	tg_csv_record *records;
	uint8_t *flags; /* of each record */

	const uint8_t *data; /* the block */
	uint32_t bytes;
	uint32_t scanned; /* of them */
	uint32_t count;	  /* records */
	uint32_t begin;	  /* of the record that has not ended, */
	uint32_t *next;	  /* its next mark */
	uint8_t now;	  /* its flags */
	bool in_quotes;	  /* at the place up to which bytes have been scanned */
	bool is_escaped;
	bool is_first;	/* it is the first of the file */
	uint64_t lines; /* before it */
} tg_csv_splitter;

/* Begins a block, behind which there are TG_CSV_SLACK bytes, as tg_csv_begin. */
extern void tg_csv_split_begin(tg_csv_splitter *splitter, const uint8_t *data, uint32_t bytes, uint64_t lines,
							   bool is_first);

/* Finds the next records: at least `wanted`, unless the block ends. */
extern void tg_csv_split(tg_csv_splitter *splitter, uint32_t wanted);

#endif /* TG_CSV_SPLIT_H */
