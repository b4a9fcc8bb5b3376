/*
 * load_csv.h
 *	  Files in CSV, record by record.
 */
#ifndef TSURUGI_LOAD_CSV_H
#define TSURUGI_LOAD_CSV_H

#include "postgres.h"

#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "lib/stringinfo.h"

#include "runtime/format/csv.h"
#include "src/copy/load.h"

/* The dialect that COPY's options describe. */
extern tg_csv_dialect tsurugi_csv_dialect(const CopyFormatOptions *options);

/* As COPY knows the ends of lines. */
extern EolType tsurugi_csv_line_end(tg_csv_end end);

typedef struct tsurugi_csv tsurugi_csv;

/* A record of a file, as it is there: with its line's end. */
typedef struct tsurugi_csv_record
{
	int begin; /* in the text that it has been appended to */
	int64 byte;
	int64 row;			   /* from 1; a header is none */
	uint64 lines;		   /* that COPY has counted before it */
	tg_csv_end end_before; /* of lines, as known before it */
} tsurugi_csv_record;

/* Opens a file.  Its header is compared with the table's columns, if that was asked for. */
extern tsurugi_csv *tsurugi_csv_open(const tsurugi_load *load, const tsurugi_load_file *file);

/* COPY compares it, if the option says so. */
extern void tsurugi_csv_check_header(const tsurugi_load *load, const tsurugi_load_file *file, StringInfo header);

/* Lines that COPY has counted before what is read next. */
extern uint64 tsurugi_csv_lines(const tsurugi_csv *csv);

/* Appends the next record.  False: there is none. */
extern bool tsurugi_csv_next(tsurugi_csv *csv, StringInfo text, tsurugi_csv_record *record_out);
extern void tsurugi_csv_close(tsurugi_csv *csv);
extern bool tsurugi_csv_has_header(const tsurugi_csv *csv);

/*
 * Cuts what follows into blocks of about so many bytes, in the current memory context;
 * *dialect_out: with the end of its lines.  Returns how many they are.
 */
extern uint32 tsurugi_csv_blocks(tsurugi_csv *csv, uint64 bytes, tg_csv_block **blocks_out, tg_csv_dialect *dialect_out,
								 int64 *rows_out);

/* The names in the first line of a file, as COPY reads it. */
extern List *tsurugi_csv_header(const tsurugi_load *load, const tsurugi_load_file *file);

/*
 * Gives the first records of a file, of which one may be a header, with their fields (NULL: a NULL)
 * to a function, as long as that returns true.  True: the file has no more.
 */
typedef bool tsurugi_csv_take(void *argument, char **fields, int count);
extern bool tsurugi_csv_sample(const tsurugi_load *load, const tsurugi_load_file *file, tsurugi_csv_take *take,
							   void *argument);

/* COPY of a file that the role may not name to COPY itself.  Returns its rows. */
extern uint64 tsurugi_load_copy_csv(const tsurugi_load *load, const tsurugi_load_file *file);

#endif /* TSURUGI_LOAD_CSV_H */
