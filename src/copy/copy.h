/*
 * copy.h
 *	  COPY with FORMAT parquet, arrow or ndjson, of any table or query, or with options of a load;
 *	  what loads and dumps share with it.
 *
 *	COPY t FROM	source.c -> runtime/format -> text.c, nested.c -> PostgreSQL's COPY
 *	COPY t FROM	source.c -> json_in.c -> json_line.c -> PostgreSQL's COPY
 *	COPY t FROM	with options of a load -> load.c
 *	COPY t FROM	in PostgreSQL's formats -> plain.c -> load_pool.c
 *	COPY q TO	the executor -> to.c -> writer.c -> datum.c -> runtime/format -> target.c
 *
 * Rows that are read become lines of COPY's text format, which PostgreSQL's own COPY reads by a
 * callback.  So types' input functions, defaults, generated columns, triggers, constraints,
 * partitions, WHERE, and the CONTEXT of errors are those of any COPY.
 */
#ifndef TSURUGI_COPY_H
#define TSURUGI_COPY_H

#include "postgres.h"

#include "catalog/pg_attribute.h"
#include "commands/copy.h"
#include "executor/tuptable.h"
#include "lib/stringinfo.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "parser/parse_node.h"
#include "tcop/dest.h"
#include "utils/queryenvironment.h"
#include "utils/rel.h"

#include "runtime/batch/cell_out.h"
#include "runtime/format/columnar_out.h"
#include "runtime/format/columnar.h"
#include "runtime/format/source.h"
#include "src/exec/taker.h"

struct tsurugi_written_column; /* datum.h */

/* Bytes that are read from or written to a file, or a client, at a time. */
#define TSURUGI_COPY_BUFFER 65536

typedef enum tsurugi_format
{
	TSURUGI_FORMAT_CSV,
	TSURUGI_FORMAT_PARQUET,
	TSURUGI_FORMAT_ARROW,
	TSURUGI_FORMAT_NDJSON,
	TSURUGI_FORMAT_COUNT /* none of these */
} tsurugi_format;

/* For people. */
#define TSURUGI_FORMATS "\"csv\", \"parquet\", \"arrow\" and \"ndjson\""

/* --- format.c ------------------------------------------------------------------------- */

/* Its name for people, and as users write it. */
extern const char *tsurugi_format_name(tsurugi_format format);
extern const char *tsurugi_format_word(tsurugi_format format);

/* The format of that word, and that of a file's name; COUNT: there is none. */
extern tsurugi_format tsurugi_format_named(const char *word);
extern tsurugi_format tsurugi_format_of_file(const char *file_name);

/* The encoding of a file in CSV that is read or written by these options. */
extern int tsurugi_copy_encoding(const CopyFormatOptions *options);

/* --- copy.c --------------------------------------------------------------------------- */

/*
 * The format of the statement as it is written, or "text".  It is judged later, where PostgreSQL's
 * COPY does that, after rights.
 */
extern const char *tsurugi_copy_format_word(const CopyStmt *statement);

/* Whether the statement is one of this folder's. */
extern bool tsurugi_copy_is_ours(const Node *tree);

/* A statement, as the hook of utility statements receives it. */
typedef struct tsurugi_copy
{
	const CopyStmt *statement;
	const char *text;
	int location; /* of the statement in the text, and its length */
	int length;
	QueryEnvironment *environment;
} tsurugi_copy;

/*
 * Whether the role may name the file or program of any COPY.  As in DoCopy (copy.c), that is judged
 * before anything else: a name of a table, above all, may lead into a schema that is closed.
 */
extern void tsurugi_copy_check_file_right(const CopyStmt *statement);

/* Runs one whose file the role may name; returns the rows. */
extern uint64 tsurugi_copy_run(const tsurugi_copy *copy);

typedef struct tsurugi_copy_options
{
	tsurugi_format format;
	int codec;					  /* -1: the format's default */
	int level;					  /* of the codec; 0: the usual one */
	int group_bytes;			  /* of a block's values; 0: the format's default */
	bool plain;					  /* Parquet: without dictionaries */
	int group_rows;				  /* of a block; 0: likewise */
	bool stream;				  /* Arrow: without a footer */
	DefElem *freeze;			  /* as it was written; NULL: it was not */
	const CopyFormatOptions *csv; /* CSV */
} tsurugi_copy_options;

/* Their values.  22023: they are none. */
extern int tsurugi_copy_codec(tsurugi_format format, const char *name);
extern int tsurugi_copy_group_rows(int64 rows);
extern int tsurugi_copy_group_bytes(int64 bytes);
extern int tsurugi_copy_level(int64 level);

/* Whether the options go with each other, once all have been read: else 22023. */
extern void tsurugi_copy_check_options(const tsurugi_copy_options *options);

/* --- source.c ------------------------------------------------------------------------- */

/* The bytes of a file of the server, or what a client has sent. */
typedef struct tsurugi_contents
{
	int descriptor; /* -1: in the other */
	struct BufFile *spool;
	uint64 bytes;
} tsurugi_contents;

/* name NULL: the client is asked for them. */
extern void tsurugi_contents_open(tsurugi_contents *contents, const char *name, tsurugi_format format,
								  int column_count);
extern void tsurugi_contents_close(tsurugi_contents *contents);

/* Asks the client for contents: of lines of text, or of bytes. */
extern void tsurugi_client_ask(int column_count, bool has_lines);

/* Its next message: whether it has data, or is the end.  As CopyGetData (copyfromparse.c). */
extern bool tsurugi_client_receive(StringInfo message);

/* A file that is open for reading. */
typedef struct tsurugi_file
{
	const char *name; /* as errors say it */
	tsurugi_format format;
	tg_file_source source;
	tg_columnar reader;
} tsurugi_file;

/*
 * Opens a file of the server in Parquet or Arrow; NULL: what the client sends.  In the current
 * memory context.  A format of COUNT stands for the one that the file begins as.
 */
extern tsurugi_file *tsurugi_file_open(const char *name, tsurugi_format format, int column_count);
extern void tsurugi_file_close(tsurugi_file *file);

/*
 * A column's name in the server's encoding.  22021: it is not in UTF-8, as of a header in CSV;
 * 22P05: the encoding does not have it.
 */
extern char *tsurugi_file_column_name(const tsurugi_file *file, unsigned column);

/* Reports a fault of the file as an error. */
extern void tsurugi_file_fail(const tsurugi_file *file, const tg_file_fault *fault) pg_attribute_noreturn();

/* --- from.c --------------------------------------------------------------------------- */

extern uint64 tsurugi_copy_from(const tsurugi_copy *copy, const tsurugi_copy_options *options);

/* A role without any right to insert is told before files are read. */
extern void tsurugi_copy_check_any_right(Relation relation);

/* An attribute of the table that gets values of a file, and which column of the file these are. */
typedef void tsurugi_copy_take(void *argument, const FormData_pg_attribute *attribute, unsigned source,
							   const tg_file_column *column);

/*
 * Finds the columns of a file in Parquet or Arrow in a table, as COPY does, and checks the rights
 * on them; reads no rows.  take: is called for each of them, unless NULL.
 */
extern void tsurugi_copy_look(Relation relation, const char *name, tsurugi_format format, List *columns,
							  int64 *rows_out, int64 *blocks_out, tsurugi_copy_take *take, void *argument);

/*
 * For BeginCopyFrom, once the rights to insert into these attributes have been checked, as by COPY.
 */
extern ParseState *tsurugi_copy_parse_state(Relation relation, const List *attributes);

/* The rows of a file in Parquet or Arrow, one after the other, as lines of COPY's text format. */
typedef struct tsurugi_rows tsurugi_rows;

/* sources: the file's columns that the relation's are; no others are read.  NULL: as by COPY. */
extern tsurugi_rows *tsurugi_rows_open(Relation relation, const char *name, tsurugi_format format, List *columns,
									   const int *sources);
/* The table's columns that a line has, as a list of COPY. */
extern List *tsurugi_rows_columns(const tsurugi_rows *rows);
/* Appends the next row's line, in UTF-8; *block_out: its block, from 1.  False: the end. */
extern bool tsurugi_rows_append(tsurugi_rows *rows, StringInfo text, int *block_out);
/* The rows of this block follow, from 0, and no others; and all but so many of them. */
extern void tsurugi_rows_seek(tsurugi_rows *rows, unsigned block);
extern void tsurugi_rows_pass(tsurugi_rows *rows, int64 count);
extern void tsurugi_rows_close(tsurugi_rows *rows);

/* --- text.c --------------------------------------------------------------------------- */

/* Appends a value to a line of COPY's text format: what is special there gets a backslash. */
extern void tsurugi_append_escaped(StringInfo line, const char *data, int count);

/* What stands between elements of this type in the text of an array. */
extern char tsurugi_array_delimiter(Oid element);

/* Appends a row's value of a column in COPY's text format. */
extern void tsurugi_append_value(StringInfo line, const tg_file_column *column, const tg_file_values *values,
								 uint32 row, Oid type);

/* Appends a value that is not NULL as the input function of its type reads it; of no list. */
extern void tsurugi_append_plain(StringInfo text, const tg_file_column *column, const tg_file_values *values, uint32 i,
								 Oid type);

/* --- nested.c ------------------------------------------------------------------------- */

/* Appends a row's value of a nested column as JSON. */
extern void tsurugi_append_nested(StringInfo text, const tg_file_column *column, const tg_file_values *values,
								  uint32 row);

/* The same of a list. */
extern void tsurugi_append_json_list(StringInfo text, const tg_file_column *column, const tg_file_values *values,
									 uint32 row);

/* Whether the value is NULL. */
extern bool tsurugi_nested_is_null(const tg_file_values *values, uint32 row);

/* --- types.c ----------------------------------------------------------------------------- */

/* Whether values of the file's column become such a type's. */
extern bool tsurugi_column_fits(const tg_file_column *column, Oid type);

/* The type that takes all of its values, as it is written in SQL. */
extern char *tsurugi_type_of_column(const tg_file_column *column);

/* How a column of that type is written; true: not in a way of its own, but as text. */
extern bool tsurugi_column_of_type(Oid type, int32 typmod, tg_file_column *column);

/* --- to.c ------------------------------------------------------------------------------ */

extern uint64 tsurugi_copy_to(const tsurugi_copy *copy, const tsurugi_copy_options *options);

/* The query of such a statement, with the checks of BeginCopyTo (copyto.c), and its messages. */
extern Query *tsurugi_copy_analyze(const tsurugi_copy *copy, Node *written);

/*
 * Plans and runs it.  taker: gets rows that need not be in a slot, instead of the receiver; NULL:
 * there is none.  Its column_count is filled.
 */
extern void tsurugi_copy_run_query(const tsurugi_copy *copy, Query *query, DestReceiver *receiver,
								   tsurugi_taker *taker);

/* --- target.c ---------------------------------------------------------------------------- */

typedef struct tsurugi_target tsurugi_target;

/*
 * Begins a file of the server, under another name; NULL: for the client.  replaces: a file of its
 * name; otherwise one that is there is an error (58P02).
 */
extern tsurugi_target *tsurugi_target_begin(const char *name, int column_count, bool replaces);
extern void tsurugi_target_write(tsurugi_target *target, const void *data, size_t bytes);
/* The file is whole: it gets its name. */
extern void tsurugi_target_finish(tsurugi_target *target);
/* Removes what was written.  Raises no error. */
extern void tsurugi_target_abandon(tsurugi_target *target);

/* --- writer.c ---------------------------------------------------------------------------- */

typedef struct tsurugi_writer tsurugi_writer;

/* Whether rows can be put into a file in Parquet or Arrow: each name is there once. */
extern void tsurugi_writer_check(TupleDesc descriptor, tsurugi_format format);

/* Begins a file of that format: CSV only if the pool can write it. */
extern tsurugi_writer *tsurugi_writer_begin(MemoryContext parent, TupleDesc descriptor, tsurugi_target *target,
											const tsurugi_copy_options *options);
extern void tsurugi_writer_put(tsurugi_writer *writer, TupleTableSlot *slot);
/* Rows as they are stored, as of a taker. */
extern void tsurugi_writer_take(tsurugi_writer *writer, const tsurugi_taken *columns, const tg_vectors *vectors,
								uint32 first, uint32 count);
/* Returns its bytes. */
extern uint64 tsurugi_writer_finish(tsurugi_writer *writer);
/* Gives the pool's memory back, of a file that is not finished.  Raises no error. */
extern void tsurugi_writer_abandon(tsurugi_writer *writer);

/* --- csv_out.c --------------------------------------------------------------------------- */

typedef struct tsurugi_csv_out tsurugi_csv_out;

/* The same in CSV, as COPY writes it with these options.  In the parent's memory. */
extern tsurugi_csv_out *tsurugi_csv_out_begin(MemoryContext parent, TupleDesc descriptor, tsurugi_target *target,
											  const CopyFormatOptions *options);
extern void tsurugi_csv_out_put(tsurugi_csv_out *out, TupleTableSlot *slot);
extern uint64 tsurugi_csv_out_finish(tsurugi_csv_out *out);

/* Whether the pool can write rows of a result with these options; NULL: of columns of tables. */
extern bool tsurugi_csv_out_by_pool(TupleDesc descriptor, const CopyFormatOptions *options);
/* How it writes them; what it points to is the file's. */
extern void tsurugi_csv_out_describe(const tsurugi_csv_out *out, tg_csv_written *csv);
/* How a column of a type is written by the pool, of values that are stored by its own codec. */
extern void tsurugi_csv_out_column(const tsurugi_codec *codec, Oid type, struct tsurugi_written_column *column,
								   tg_file_column *description);
/* How stored values become those of the column: of a string, whatever their codec. */
extern void tsurugi_csv_out_cell(const tsurugi_taken *taken, const struct tsurugi_written_column *column,
								 tg_cell_out *cell);

/* --- json_out.c -------------------------------------------------------------------------- */

typedef struct tsurugi_json_out tsurugi_json_out;

/* The same in NDJSON, as row_to_json() makes it.  In the parent's memory. */
extern tsurugi_json_out *tsurugi_json_out_begin(MemoryContext parent, TupleDesc descriptor, tsurugi_target *target);
extern void tsurugi_json_out_put(tsurugi_json_out *out, TupleTableSlot *slot);
extern uint64 tsurugi_json_out_finish(tsurugi_json_out *out);

/* --- memory.c ---------------------------------------------------------------------------- */

/* Memory of PostgreSQL for files; argument: a memory context. */
extern void *tsurugi_format_resize(void *context, void *memory, size_t old_bytes, size_t bytes);
extern void tsurugi_format_free(void *context, void *memory);

#endif /* TSURUGI_COPY_H */
