/*
 * load_records.h
 *	  Files of a load or a batch, read by groups of records.
 *
 * A record is what COPY reads a row from: of CSV and NDJSON a line, or lines, as they are there; of
 * Parquet and Arrow a line of COPY's text format.
 */
#ifndef TSURUGI_LOAD_RECORDS_H
#define TSURUGI_LOAD_RECORDS_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "src/copy/load.h"

#define TSURUGI_GROUP_ROWS 1000
#define TSURUGI_GROUP_BYTES (1 << 20) /* a group ends once it has so many */

typedef struct tsurugi_record
{
	int begin; /* in the text */
	int end;
	int block;		/* of the file, from 1 */
	int end_before; /* EolType: of lines, as COPY knows it before this one */
	int64 row;		/* of the file, from 1 */
	int64 byte;		/* -1: none */
	uint64 lines;	/* before it, as COPY counts them */
} tsurugi_record;

/* Records of one file that follow each other. */
typedef struct tsurugi_group
{
	StringInfoData text;
	int count;
	tsurugi_record records[TSURUGI_GROUP_ROWS];
} tsurugi_group;

/* A file that is open. */
typedef struct tsurugi_records tsurugi_records;

extern tsurugi_records *tsurugi_records_open(const tsurugi_load *load, const tsurugi_load_file *file);

/* What COPY reads its records with: the columns, and options. */
extern List *tsurugi_records_columns(const tsurugi_records *records);
extern List *tsurugi_records_options(const tsurugi_records *records);

/* The next records, at most so many; the group's text is initialized.  False: there are none. */
extern bool tsurugi_records_read(tsurugi_records *records, tsurugi_group *group, int most);
extern void tsurugi_records_close(tsurugi_records *records);

/*
 * How far a file has been read: what has been noted of it, for the view.  Of a file that says how
 * many rows it has, bytes are as many as of rows.
 */
typedef struct tsurugi_records_place
{
	int64 bytes;
	int64 blocks;
	int64 files; /* 1: it is at its end */
} tsurugi_records_place;

/* The place behind a group; the file's end: group NULL. */
extern tsurugi_records_place tsurugi_records_place_behind(const tsurugi_load_file *file, const tsurugi_group *group);

/* Moves a place, and returns by how much; the second adds that to what the view shows. */
extern tsurugi_records_place tsurugi_records_move(tsurugi_records_place *place, tsurugi_records_place to);
extern void tsurugi_records_note(const tsurugi_records_place *more);

#endif /* TSURUGI_LOAD_RECORDS_H */
