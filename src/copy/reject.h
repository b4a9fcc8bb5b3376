/*
 * reject.h
 *	  Rows that a load has left out: how many there may be, and the file that they are written to.
 */
#ifndef TSURUGI_REJECT_H
#define TSURUGI_REJECT_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/rel.h"

/* A row, and what is wrong with it. */
typedef struct tsurugi_reject
{
	const char *file;
	int64 block;		/* of the file, from 1 */
	int64 row;			/* likewise */
	int64 byte;			/* where the record begins in the file; -1: it has no place of its own */
	const char *column; /* NULL: it is no single one's */
	int code;			/* SQLSTATE */
	const char *message;
	const char *record; /* in the server's encoding */
} tsurugi_reject;

typedef struct tsurugi_rejects tsurugi_rejects;

/*
 * Those of a load, or of a batch: relation NULL; file_name NULL: they are only counted.  22023: it
 * is one of the load's files, of tsurugi_load_file, and would be replaced.
 */
extern tsurugi_rejects *tsurugi_rejects_begin(const char *relation, const char *file_name, int64 limit,
											  const List *load_files);

/* 22P04: there are more than the limit. */
extern void tsurugi_rejects_add(tsurugi_rejects *rejects, const tsurugi_reject *reject);

/* Their number; the file is durable. */
extern int64 tsurugi_rejects_end(tsurugi_rejects *rejects);

/* Whether a load may leave a row out because of such an error, which has to be the row's own. */
extern bool tsurugi_rejects_code(int code);

/* A role that may not write files of the server is told so. */
extern void tsurugi_rejects_check_right(const char *file_name);

/*
 * A line of a file, without its end.  Its bytes may be none of its encoding: what is not of the
 * server's is written as \xNN.
 */
extern char *tsurugi_reject_line(const char *bytes, int count, int encoding);

/* A record of a line of COPY's text format, in UTF-8, as an object of JSON with texts. */
extern char *tsurugi_reject_json(Relation relation, const List *attributes, const char *at, const char *end);

#endif /* TSURUGI_REJECT_H */
