/*
 * json_in.h
 *	  Files in NDJSON that are read: an object a line.
 *
 * A file's columns are the keys of all of its lines, in the order in which they are met.  A row
 * whose line does not have one of them has a NULL there.  Texts are in UTF-8, as JSON's are.
 */
#ifndef TSURUGI_JSON_IN_H
#define TSURUGI_JSON_IN_H

#include "postgres.h"

#include "common/jsonapi.h"
#include "lib/stringinfo.h"
#include "nodes/pg_list.h"
#include "utils/rel.h"

/* --- json_in.c --------------------------------------------------------------------------- */

/* A file that is open. */
typedef struct tsurugi_json tsurugi_json;

/* A line of it. */
typedef struct tsurugi_json_record
{
	int begin;	/* in the text that it has been appended to */
	int64 row;	/* from 1; lines of blanks are none */
	int64 byte; /* at which it begins, of the decompressed contents */
} tsurugi_json_record;

/*
 * Opens a file of the server, which is decompressed if its name says so; NULL: what the client
 * sends.
 */
extern tsurugi_json *tsurugi_json_open(const char *name, int column_count);

/* Appends the next line that has an object, without its end.  False: there is none. */
extern bool tsurugi_json_next(tsurugi_json *json, StringInfo text, tsurugi_json_record *record_out);
extern void tsurugi_json_close(tsurugi_json *json);

/* A column of a file, and what its values are: bits of kinds. */
typedef struct tsurugi_json_key
{
	char *name;
	unsigned kinds;
	int64 count; /* of rows that have it, */
	int64 row;	 /* of which this is the last */
} tsurugi_json_key;

#define TSURUGI_JSON_STRING 1
#define TSURUGI_JSON_INTEGER 2 /* of 64 bits */
#define TSURUGI_JSON_NUMBER 4  /* another one */
#define TSURUGI_JSON_BOOLEAN 8
#define TSURUGI_JSON_OBJECT 16
#define TSURUGI_JSON_ARRAY 32
#define TSURUGI_JSON_NULL 64

/*
 * Adds the file's keys to the list, of tsurugi_json_key, and its rows to *rows_io, and goes back to
 * its beginning.  Lines that are malformed are passed over: they are errors when they are read.
 */
extern List *tsurugi_json_keys(tsurugi_json *json, List *keys, int64 *rows_io);

/*
 * The columns of the table that have such keys, as a list of COPY.  42703: there is no column for
 * one of them.  columns: as a statement has named them, which are then the list; NIL: any.
 */
extern List *tsurugi_json_columns(Relation relation, const char *name, const List *keys, List *columns);

/* --- json_line.c ------------------------------------------------------------------------- */

/* A value of an object or an array, in the server's encoding. */
typedef struct tsurugi_json_part
{
	char *name; /* NULL: of an array */
	JsonTokenType kind;
	char *text;		   /* of a scalar; of a string without its escapes */
	const char *begin; /* as it is written */
	int bytes;
} tsurugi_json_part;

typedef struct tsurugi_json_parts
{
	tsurugi_json_part *parts;
	int count;
	int room;
} tsurugi_json_parts;

/* Takes an object or an array apart.  After a failure *lex_out is where it is. */
extern JsonParseErrorType tsurugi_json_parse(const char *json, int bytes, tsurugi_json_parts *parts_out,
											 JsonLexContext **lex_out);

/* Whether a line has an object, if it is well-formed. */
extern bool tsurugi_json_is_object(const char *line, int bytes);

/* COPY gets the next bytes of a text, as its callback returns them. */
static inline int
tsurugi_text_give(StringInfo text, void *into, int most)
{
	int bytes = Min(most, text->len - text->cursor);

	memcpy(into, text->data + text->cursor, bytes);
	text->cursor += bytes;
	return bytes;
}

/* Turns lines of a file into lines of COPY's text format, in the server's encoding. */
typedef struct tsurugi_json_lines tsurugi_json_lines;

/*
 * attributes: of the relation, which a line of text has.  names: of all its columns, as keys; NIL:
 * they are the attributes'.  is_selective: keys that are none of these are passed over; otherwise
 * they are an error (42703).
 */
extern tsurugi_json_lines *tsurugi_json_lines_begin(const char *file_name, Relation relation, const List *attributes,
													const List *names, bool is_selective);
extern void tsurugi_json_lines_end(tsurugi_json_lines *lines);

/*
 * Appends a line.  Values become those of the columns' types as by json_populate_record().  22P04:
 * it is malformed, or no object.
 */
extern void tsurugi_json_line(tsurugi_json_lines *lines, const char *line, int bytes, const tsurugi_json_record *record,
							  StringInfo text);

#endif /* TSURUGI_JSON_IN_H */
