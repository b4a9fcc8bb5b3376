/*
 * loader.h
 *	  A load of files into a table by the pool: tasks read, convert and store the rows.
 *
 * It is a batch (tree.h) of files in Parquet, Arrow, CSV and NDJSON.  A row group or a record batch
 * is a block, and so is a part of a file of the last two; at most TG_FILE_BATCH rows of it are a
 * statement.  A block is a transaction, or several if it has very many rows.  So what is committed
 * when something fails stays, and the report has its number.  Or the rows are of the requester's
 * transaction, which it lends: then all are stored, or none.  The table has no hidden values.
 *
 * The requester makes the load, adds the files, starts it, and polls until it has drained.  In the
 * meantime it does what a seat needs: it waits for a transaction whose row the seat has met,
 * commits the seat's own if it is logged, converts what the seat cannot, and is told of rows that
 * are left out.  Until the load has drained it keeps the table as it is, also if it gives the load
 * up (tg_loader_cancel, then tg_loader_give_back until it has drained).
 */
#ifndef TG_BATCH_LOADER_H
#define TG_BATCH_LOADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/batch/cell.h"
#include "runtime/batch/progress.h"
#include "runtime/batch/tree.h"
#include "runtime/format/csv_read.h"
#include "runtime/format/json_read.h"
#include "runtime/format/columnar.h"
#include "runtime/format/source.h"
#include "runtime/txn/wait.h"

typedef struct tg_loader tg_loader;
typedef struct tg_loan tg_loan; /* loan.h */

typedef struct tg_loader_config
{
	tg_table *table;
	const uint8_t *kinds; /* tg_kind of each column of the table; as the following, copied */
	unsigned column_count;
	uint32_t file_count;
	unsigned files_at_once;	 /* at most TG_BATCH_FILES_AT_ONCE_MAX */
	unsigned blocks_at_once; /* of a file; at most TG_BATCH_BLOCKS_AT_ONCE_MAX */
	uint64_t memory_max;	 /* bytes of all seats together */
	uint64_t rows;			 /* that are expected */
	uint64_t commit_rows;	 /* of a transaction, and up to a batch of them more; 0: many */
	bool skips;				 /* rows that do not fit are left out, and told to the requester; not with writer */
	bool has_csv;			 /* a file is of texts */
	bool ignores;			 /* rows whose keys are there are left out, and not told; not with writer */
	uint64_t host;			 /* of the transactions, as of tg_txn_begin */
	const tg_writer *writer; /* the requester's, whose transaction is lent (piece.h); NULL: none is; copied */
	/*
	 * of a shared transaction, with a piece for each seat: it has a writer of its own, and the rows
	 * are the requester's to keep (loan.h); NULL: none
	 */
	tg_loan *loan;
	void *waiter;	/* for tg_host_wake: it has drained, or a seat needs something */
	uint64_t owner; /* as of a job */
	uint32_t object;
	uint64_t job_id; /* likewise */

	/*
	 * Where it counts what it has done, in memory that the tasks reach until it has drained; NULL:
	 * in its own.
	 */
	tg_batch_progress *progress;
} tg_loader_config;

/* How a file of texts is read, in CSV or NDJSON. */
typedef struct tg_loader_csv
{
	const char *const *names;	/* NDJSON: of the columns; NULL: it is CSV */
	tg_csv_format format;		/* of NDJSON the columns alone */
	const tg_csv_block *blocks; /* block_count of them */
	bool has_header;			/* before the first block */
} tg_loader_csv;

/*
 * A file, as the requester has seen it: if it is another one when it is read, the load fails.  Or
 * texts that the requester has: the blocks' offsets are in them.
 */
typedef struct tg_loader_file
{
	const char *name;
	const void *contents; /* so many bytes; NULL: they are those of the file: */
	uint64_t bytes;
	uint64_t device;
	uint64_t inode;
	int64_t changed_ns; /* when it was changed last */
	uint32_t block_count;
	const tg_cell *cells;
	unsigned cell_count;
	const tg_loader_csv *csv; /* NULL: it is of the format: */
	tg_file_format format;
} tg_loader_file;

typedef enum tg_loader_failure
{
	TG_LOADER_WELL,
	TG_LOADER_CANCELLED,
	TG_LOADER_STATUS,	 /* a result of the engine */
	TG_LOADER_OPEN,		 /* the file could not be opened: error_number */
	TG_LOADER_CHANGED,	 /* it is not the file that the requester has seen */
	TG_LOADER_FILE,		 /* fault */
	TG_LOADER_VALUE,	 /* cell */
	TG_LOADER_DUPLICATE, /* index */
	TG_LOADER_ODD,		 /* of a row: the requester is to convert its record */
} tg_loader_failure;

typedef struct tg_loader_report
{
	uint64_t rows; /* committed, in so many transactions; none of a transaction that is lent */
	uint64_t transactions;
	tg_loader_failure failure; /* and where it happened: */
	uint32_t file;
	uint32_t block;
	uint64_t row;	 /* of the file, from 1; 0: of none */
	uint16_t column; /* VALUE: of the table */
	tg_cell_fault cell;
	tg_status status; /* STATUS; TG_BUSY: only the owner of a transaction that is lent may wait, for: */
	tg_wait wait;
	int error_number;
	uint32_t index; /* DUPLICATE: the host's number; 0: the primary key */
	tg_file_fault fault;
} tg_loader_report;

/*
 * A row that the requester looks at: it has been left out, for a reason as in the report, or it is
 * a record of texts that is odd.  The requester says what that is: rejected, or values.
 */
typedef struct tg_loader_row
{
	uint64_t row; /* of the file, from 1 */
	tg_loader_failure failure;
	tg_cell_fault cell;
	uint32_t index;
	uint16_t column;
	bool is_first; /* of texts: the file begins with its record, */
	bool is_rejected;
	uint32_t bytes;	  /* which has so many bytes, */
	uint64_t offset;  /* begins there in the file, */
	uint64_t lines;	  /* and behind so many lines */
	tg_value *values; /* of the cells */
	bool *nulls;
} tg_loader_row;

/* Makes one; the caller's alone until it is started.  TG_NO_MEMORY, TG_FULL. */
extern tg_status tg_loader_create(tg_session *session, const tg_loader_config *config,
								  tg_loader **loader_out) TG_MUST_USE;

/* Adds the next file, before the start; all is copied.  TG_NO_MEMORY. */
extern tg_status tg_loader_add(tg_session *session, tg_loader *loader, const tg_loader_file *file) TG_MUST_USE;

/* Starts it, when it has all files.  TG_STOPPED: the pool does not run. */
extern tg_status tg_loader_start(tg_session *session, tg_loader *loader) TG_MUST_USE;

/* TG_OK: it has drained; TG_BUSY: not yet; TG_STOPPED: the pool has been stopped, it never will. */
extern tg_status tg_loader_poll(const tg_loader *loader) TG_MUST_USE;

/* Whether it fails, or has failed: the report then says why, also before it has drained. */
extern bool tg_loader_has_failed(const tg_loader *loader);

/* What a seat needs. */
typedef struct tg_loader_need
{
	unsigned seat;
	tg_txn *txn;		 /* to be committed; NULL: */
	tg_loader_row *rows; /* that it looks at; NULL: the seat waits: */
	tg_wait wait;
	unsigned row_count;
	uint32_t file; /* of the rows */
	uint32_t block;
	uint64_t rows_before; /* in the file, before the block */
} tg_loader_need;

/*
 * False: no seat needs anything.  When the requester has waited, committed the transaction, or
 * looked at the rows, it lets the seat go on.
 */
extern bool tg_loader_needs(const tg_loader *loader, tg_loader_need *need_out);
extern void tg_loader_go_on(tg_session *session, tg_loader *loader, const tg_loader_need *need);

/*
 * Memory for the values of the need's rows, which the seat reaches, aligned for them; once for each
 * need.  NULL: there is none.
 */
extern void *tg_loader_room(tg_session *session, tg_loader *loader, const tg_loader_need *need, size_t bytes);

/* After a cancel: what waits for the requester is undone by its seats. */
extern void tg_loader_give_back(tg_session *session, tg_loader *loader);

/* The nodes of its tree, as of tg_batch_tree_look.  Any thread, from the start to tg_loader_end. */
extern unsigned tg_loader_look(const tg_loader *loader, tg_batch_node *nodes);

/* Asks it to end; it then drains. */
extern void tg_loader_cancel(tg_session *session, tg_loader *loader);

/* After it has drained, or failed.  The counts are those of that moment. */
extern void tg_loader_report_get(const tg_loader *loader, tg_loader_report *report);

/*
 * Takes the rows of a load that has drained well into the transaction that was lent, by its owner;
 * returns their number.
 */
extern uint64_t tg_loader_keep(tg_session *session, tg_loader *loader);

/*
 * The requester needs it no more: it has drained, was never started, or never will.  Rows of a
 * transaction that is lent are undone, unless they have been kept.  A loan stays the requester's,
 * and no seat uses it any more.
 */
extern void tg_loader_end(tg_session *session, tg_loader *loader);

#endif /* TG_BATCH_LOADER_H */
