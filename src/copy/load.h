/*
 * load.h
 *	  tsurugi.load(): files into a table.
 *
 * A load that is not transactional is done by the pool, in many transactions (load_pool.h).  One
 * that is transactional is done by the pool, too, if it can, or is a COPY of one file after the
 * other, in the caller's transaction.
 */
#ifndef TSURUGI_LOAD_H
#define TSURUGI_LOAD_H

#include "postgres.h"

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"
#include "utils/array.h"
#include "utils/rel.h"

#include "src/copy/copy.h"

/* A file of a load. */
typedef struct tsurugi_load_file
{
	const char *name;
	const char *contents; /* texts, of which the blocks are known (bytes, csv); NULL: it is a file */
	tsurugi_format format;
	List *columns;	   /* of the table, in the order of the file's; NIL: all, or by COPY itself */
	Bitmapset *valued; /* Parquet and Arrow: attributes whose columns may have values */
	int64 rows;		   /* that it has; -1: not known before it is read */
	int64 blocks;
	int64 bytes;
	uint64 device; /* which file it is, and when it was changed last */
	uint64 inode;
	int64 changed_ns;
	/* of a batch: */
	Relation relation; /* made of the file's columns; NULL: it is the load's */
	List *names;	   /* of these, which are longer than the relation's may be */
	int *sources;	   /* Parquet and Arrow: which columns of the file these are */
	int *feeds;		   /* the attribute that each parameter gets, */
	int feed_count;	   /* of so many */
	/* if the pool loads it (load_pool.h): */
	struct tg_cell *cells;
	int cell_count;
	Bitmapset *loaded;				   /* attributes that get values */
	List *attributes;				   /* of texts: the same in the order of the file's columns, */
	struct tg_loader_csv *csv;		   /* how it is read, */
	List *csv_options;				   /* and what COPY reads its records with; */
	struct tsurugi_unpacked *unpacked; /* while tasks read what is in a compressed one; else NULL */
} tsurugi_load_file;

/* What becomes of a row whose key is in the table. */
typedef enum tsurugi_load_conflict
{
	TSURUGI_LOAD_CONFLICT_ERROR,
	TSURUGI_LOAD_CONFLICT_IGNORE,
	TSURUGI_LOAD_CONFLICT_REPLACE
} tsurugi_load_conflict;

/* What a batch runs for each row. */
typedef struct tsurugi_statement
{
	const char *text;
	int count; /* of parameters */
	Oid *types;
} tsurugi_statement;

/* What the caller wants. */
typedef struct tsurugi_load
{
	Relation relation;					/* NULL: of a batch, each file has its own */
	const tsurugi_statement *statement; /* of a batch; NULL: rows are stored in the relation */
	List *columns;						/* as given, of String; NIL: none */
	List *options;						/* of CSV: DefElem, as COPY's */
	bool has_header;					/* which has the names of columns */
	bool is_transactional;
	const text *handle; /* of a shared transaction, which gets the rows; NULL: none */
	List *files;		/* of tsurugi_load_file */
	tsurugi_load_conflict on_conflict;
	bool skips;				 /* rows that do not fit are left out */
	const char *reject_file; /* for these; NULL: none */
	int64 reject_limit;		 /* that there may be */
	bool is_text;			 /* files of CSV are in COPY's text format instead */
	bool is_plain;			 /* it stands for PostgreSQL's COPY, and says where it is as that does */
	bool shows_progress;	 /* likewise, where activities are tracked: plain.c stops that meanwhile */
	bool is_part;			 /* of a batch, which goes on when it has ended */
	int64 commit_rows;		 /* of a transaction; 0: the caller does not mind, or there is one */
	int64 files_at_once;	 /* of the pool; 0: the setting says it */
	int64 blocks_at_once;	 /* of a file; likewise */
} tsurugi_load;

/* The format of that word.  22023: there is none. */
extern tsurugi_format tsurugi_load_format_named(const char *name);

/* The files that the patterns stand for; format NULL: by the names' extensions. */
extern List *tsurugi_load_files(ArrayType *patterns, const char *format);

/* The same of one pattern; COUNT: by the names' extensions. */
extern List *tsurugi_load_files_named(const char *name, tsurugi_format format, int *names_left);

/* The relation that a file's rows are those of. */
static inline Relation
tsurugi_load_relation(const tsurugi_load *load, const tsurugi_load_file *file)
{
	return file->relation != NULL ? file->relation : load->relation;
}

/* Finds out which file it is. */
extern void tsurugi_load_identify(tsurugi_load_file *file);

/* Opens each file, and finds out its columns.  What does not fit is an error. */
extern void tsurugi_load_look(tsurugi_load *load);

/*
 * 23502: a column that must not be NULL gets no value from a file in Parquet or Arrow, nor from
 * elsewhere.  The files have been looked at.
 */
extern void tsurugi_load_check_nulls(const tsurugi_load *load);

/* The keys of a file in NDJSON (json_in.h); its rows and blocks are then known. */
extern List *tsurugi_load_json_keys(tsurugi_load_file *file);

/* A descriptor for reading; XX001: it is not what it was when it was looked at. */
extern int tsurugi_load_reopen(const tsurugi_load_file *file);

/* The same of what tasks read: of a compressed file its contents. */
extern int tsurugi_load_open_contents(const tsurugi_load_file *file);

/* The COPY that runs is the way of a load for which the pool has been asked (load.c). */
extern bool tsurugi_load_copies;

/*
 * Has tasks of the pool run a load that is a COPY, if they can: looks at the files, prepares them,
 * and loads them.  False: COPY reads the rows.
 */
extern bool tsurugi_load_by_pool(tsurugi_load *load, int64 *rows_out);

/*
 * The same for a COPY of the files that a name stands for, which has looked at rights.  columns: of
 * the table, as written; NIL: by their names.
 */
extern bool tsurugi_load_copied(Relation relation, tsurugi_format format, List *columns, const char *name,
								int64 *rows_out);

/* A COPY with options of a load, in this format.  Returns the rows. */
extern uint64 tsurugi_copy_load(const tsurugi_copy *copy, tsurugi_format format);

#endif /* TSURUGI_LOAD_H */
