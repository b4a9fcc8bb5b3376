/*
 * operations.h
 *	  What a transaction has done to rows, as bytes of its record in the log; rows as they are, as
 *	  bytes of a file.
 *
 * A record holds operations.  Each begins with a byte that says which; numbers have variable length
 * (bytes.h).
 *
 *	table	storage id, number of columns, number of indexes, the id of each: the operations that
 *			follow are of rows of this storage; their cells are its columns and then the hidden
 *			values of these indexes, in this order
 *	insert	row id, the cells that are NULL (a bitmap, if there are any), the others
 *	update	row id; of each changed cell the number of cells from behind the one before, itself
 *			included, with a bit for NULL, and the value; then 0
 *	delete	row id
 *	hidden	row id, and cells as of an insert, which are hidden values alone (the table operation
 *			names no columns): those of a row that is there, and that has had none of these indexes
 *	lock	row id, mode (a byte); behind all other operations of a transaction that is prepared
 *	rows	several inserts, cell by cell: number of rows, id of the first one, a byte: 0, the ids
 *			follow each other; 1: the distance (signed) from the row before, of each further row;
 *			then for each cell a byte that says which rows are NULL there: 0, none; 1, all; 2, those
 *			in a bitmap that follows; then, unless all are, the values of the others:
 *				up to 8 bytes	the least one (signed), a byte: a width, and in so many bytes each,
 *								how much more than the least one they are
 *				16 bytes		as they are
 *				strings			a byte: a width, and in so many bytes each, their lengths with
 *								forms, as below; then the bytes of all
 *			A reader gives them as inserts, one by one.
 *
 * A cell of up to 8 bytes is a signed number, one of 16 bytes is as it is; a string is its length,
 * with a form in the low 3 bits, and its bytes: 0, inline; else 1 more than the length of the
 * host's header in the blob that follows.  So values come back as they were stored, and nothing has
 * to be computed.
 *
 * The bytes are read with the kinds of the cells at hand, from the definition of the storage; they
 * are not in the record.
 */
#ifndef TG_OPERATIONS_H
#define TG_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/order/value.h"
#include "runtime/txn/wait.h"
#include "runtime/durable/bytes.h"

typedef struct tg_write_log tg_write_log; /* write_log.h */

/* Cells of a row: its columns, and the hidden values of all its indexes. */
#define TG_CELLS_MAX 4096

/* Indexes with hidden values, of one storage. */
#define TG_HIDING_MAX 64

/* Rows of one operation. */
#define TG_OPERATION_ROWS_MAX 256

typedef enum tg_operation_kind
{
	TG_OPERATION_TABLE = 1,
	TG_OPERATION_INSERT,
	TG_OPERATION_INSERT_NULLS, /* some cells are NULL */
	TG_OPERATION_UPDATE,
	TG_OPERATION_DELETE,
	TG_OPERATION_HIDDEN,
	TG_OPERATION_HIDDEN_NULLS,
	TG_OPERATION_LOCK, /* of a row, by a transaction that is prepared */
	TG_OPERATION_ROWS
} tg_operation_kind;

/* --- writing -------------------------------------------------------------------------- */

/*
 * Takes the bytes of a large transaction in parts: when there are bytes_max of them, the function
 * is called between two operations, and they are emptied.  It may leave the epoch and enter
 * another.
 */
typedef struct tg_operations_sink
{
	size_t bytes_max;
	void (*empty)(void *context, tg_bytes *bytes);
	void *context;
} tg_operations_sink;

/*
 * Appends the operations of a transaction's write log, all pieces, oldest first, except those of
 * tables that are unlogged or logged_whole.  The transaction has not been stamped; its session
 * calls, inside an epoch.  sink NULL: the bytes have no limit.  TG_NO_MEMORY; TG_TOO_LARGE: a row
 * has more cells than TG_CELLS_MAX, or a table more indexes than TG_HIDING_MAX.  Then *bytes has an
 * arbitrary end.
 */
extern tg_status tg_operations_write(tg_write_log *log, tg_bytes *bytes, const tg_operations_sink *sink) TG_MUST_USE;

/* What is left to be written of some neighbouring writes of one piece of a log. */
typedef struct tg_operations_range
{
	const struct tg_log_block *block;
	uint32_t entry; /* of the block: the next one, */
	uint32_t row;	/* of which so many rows are through */
	uint64_t left;	/* rows, and other writes */
} tg_operations_range;

/* Takes the first writes of a range, at most so many rows; *rest_inout becomes what is left. */
extern tg_operations_range tg_operations_cut(tg_operations_range *rest_inout, uint32_t rows_max);

/* All of a piece, of any stack. */
extern tg_operations_range tg_operations_all(const tg_write_log *piece);

/*
 * Appends the operations of a range, as tg_operations_write, by any thread while the transaction's
 * session waits.  TG_AGAIN: the bytes are bytes_max or more, and the range has a rest;
 * TG_NO_MEMORY, TG_TOO_LARGE: the rest begins with what could not be written.
 */
extern tg_status tg_operations_write_some(tg_operations_range *range_inout, size_t bytes_max,
										  tg_bytes *bytes) TG_MUST_USE;

/*
 * Appends a transaction's row locks, except those of unlogged tables.  By its owner, inside an
 * epoch; sink as above.  TG_NO_MEMORY.
 */
extern tg_status tg_operations_write_locks(const tg_txn *txn, tg_bytes *bytes,
										   const tg_operations_sink *sink) TG_MUST_USE;

/*
 * Appends an insert for each of count rows from the first one on of which the snapshot sees a
 * version.  Inside an epoch; the snapshot is published, or its time is one that the caller's
 * transaction reads at.  TG_BUSY: a row depends on a commit whose outcome is open, and the caller
 * has to wait for it outside the epoch; TG_NO_MEMORY; TG_TOO_LARGE, as above.  Unless TG_OK,
 * nothing was appended.
 */
extern tg_status tg_operations_write_rows(tg_table *table, const tg_snapshot *snapshot, uint32_t first, uint32_t count,
										  tg_bytes *bytes, tg_wait *wait_out) TG_MUST_USE;

/*
 * Likewise, but the hidden values of one index, as hidden operations: those of rows for which they
 * are known.
 */
extern tg_status tg_operations_write_hidden(tg_table *table, const tg_index *index, const tg_snapshot *snapshot,
											uint32_t first, uint32_t count, tg_bytes *bytes,
											tg_wait *wait_out) TG_MUST_USE;

/* --- reading -------------------------------------------------------------------------- */

/* What the reader has to know of a storage. */
typedef struct tg_shape
{
	const uint8_t *kinds; /* tg_kind of each cell */
	unsigned cell_count;
} tg_shape;

/*
 * Finds the shape of the rows of a storage: its first columns, then the hidden values of these
 * indexes.  False: there is no such storage or index, or it has fewer columns.  The kinds stay as
 * they are until it is called again.
 */
typedef bool (*tg_shape_find)(void *context, uint64_t storage, unsigned column_count, const uint64_t *indexes,
							  unsigned index_count, tg_shape *shape_out);

/* One operation.  Strings out of line lie in the record, marked as the host's, to be copied. */
typedef struct tg_row_operation
{
	tg_operation_kind kind; /* INSERT, UPDATE, DELETE, HIDDEN or LOCK */
	uint32_t row;
	tg_lock_mode mode;		/* LOCK */
	unsigned changed_count; /* UPDATE: the cells that are in changed, ascending */
} tg_row_operation;

/* The values of a cell that are left of an operation of several rows. */
typedef struct tg_rows_cell
{
	const unsigned char *nulls;	 /* a bitmap; NULL: no row is NULL, or all are: */
	const unsigned char *values; /* of the next row, or its length; NULL: all rows are NULL */
	const unsigned char *bytes;	 /* of its string */
	int64_t least;
	unsigned width;
} tg_rows_cell;

typedef struct tg_rows_reading
{
	unsigned left; /* rows */
	unsigned at;   /* so many have been read */
	uint32_t row;  /* the next one */
	tg_reader distances;
	bool has_distances;
	tg_rows_cell cells[TG_CELLS_MAX];
} tg_rows_reading;

typedef struct tg_operations
{
	tg_reader reader;
	tg_shape_find find;
	void *context;
	uint64_t storage; /* of the operation */
	tg_shape shape;
	unsigned column_count;
	unsigned index_count;
	uint64_t indexes[TG_HIDING_MAX];
	tg_value values[TG_CELLS_MAX]; /* of the operation, by cell */
	bool nulls[TG_CELLS_MAX];
	uint16_t changed[TG_CELLS_MAX];
	tg_rows_reading rows;
} tg_operations;

/* Begins to read the operations of a record; the bytes stay until the end. */
extern void tg_operations_open(tg_operations *operations, const void *data, size_t count, tg_shape_find find,
							   void *context);

/* The next one.  TG_NOT_FOUND: there is none; TG_DAMAGED. */
extern tg_status tg_operations_next(tg_operations *operations, tg_row_operation *operation_out) TG_MUST_USE;

#endif /* TG_OPERATIONS_H */
