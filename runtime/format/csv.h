/*
 * csv.h
 *	  Files in CSV, or COPY's text format, by the rules of PostgreSQL's COPY: where records end.
 *
 * A quote may stand anywhere in a field, and begins or ends what is quoted.  In it, an escape makes
 * the quote or escape behind it a character of the field.  A line ends as the first one of the file
 * does, outside of quotes; the line `\.` ends the file.  (CopyReadLineText of copyfromparse.c.)
 * In text format there are no quotes, and any byte behind a backslash is of the field.
 *
 * An end of another kind outside of quotes is an error.  The cutter passes over it, so that a
 * record has it; the reader of the record's fields then finds the error.
 */
#ifndef TG_CSV_H
#define TG_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tg_csv_end
{
	TG_CSV_END_UNKNOWN, /* until the first line has ended */
	TG_CSV_END_NL,
	TG_CSV_END_CR,
	TG_CSV_END_CRNL
} tg_csv_end;

typedef struct tg_csv_dialect
{
	uint8_t delimiter;
	uint8_t quote;
	uint8_t escape;
	uint8_t end;  /* tg_csv_end */
	bool is_text; /* COPY's text format: quote and escape are the backslash */
} tg_csv_dialect;

/* A part of a file that has whole records; what is counted is before it. */
typedef struct tg_csv_block
{
	uint64_t offset; /* in the file */
	uint64_t rows;	 /* records; a header is none */
	uint64_t lines;
	uint32_t bytes;
} tg_csv_block;

/* Goes through a file from its beginning, and stops at a record's.  One thread. */
typedef struct tg_csv_cutter
{
	tg_csv_dialect dialect;
	uint64_t position; /* in the file, of the next byte */
	uint64_t rows;	   /* records that have ended */
	uint64_t lines;	   /* as COPY counts them: with those in quotes */
	bool in_record;
	bool in_quotes;
	bool is_escaped;
	bool is_over;  /* the file has ended by the line `\.` */
	bool is_unfit; /* text format: `\.` is elsewhere, which is an end, or an error */
} tg_csv_cutter;

/* Bytes behind the position that the cutter may have to see, unless the file ends there. */
#define TG_CSV_AHEAD 4

/*
 * Goes through the next bytes of the file up to the first record that begins at `stop` or behind
 * it.  Returns how many bytes these are: less than there are if it has stopped, if the file is
 * over, or if at most TG_CSV_AHEAD are left and is_last is not set.  is_last: the file ends with
 * these bytes; its last record then ends, too.
 */
extern size_t tg_csv_cut(tg_csv_cutter *cutter, const uint8_t *data, size_t bytes, bool is_last, uint64_t stop);

#endif /* TG_CSV_H */
