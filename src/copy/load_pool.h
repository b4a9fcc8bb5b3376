/*
 * load_pool.h
 *	  The way `pool` of a load: tasks of the pool read, convert and store the rows.
 */
#ifndef TSURUGI_LOAD_POOL_H
#define TSURUGI_LOAD_POOL_H

#include "postgres.h"

#include "catalog/pg_attribute.h"

#include "runtime/batch/cell.h"
#include "runtime/format/columns.h"
#include "runtime/format/csv_read.h"
#include "src/copy/load.h"
#include "src/copy/reject.h"
#include "src/table/relation.h"

struct tg_loader_need; /* loader.h, as the next */
struct tg_loader_row;

/* --- load_cell.c ---------------------------------------------------------------------------- */

/* Whether a NULL is one without the type being asked; a domain may not have it. */
extern bool tsurugi_load_may_be_null(const FormData_pg_attribute *attribute);

/* How values of the file's column become the attribute's.  False: only PostgreSQL converts them. */
extern bool tsurugi_load_cell(const tsurugi_relation *described, const FormData_pg_attribute *attribute,
							  unsigned source, const tg_file_column *column, tg_cell *cell);

/*
 * The same for CSV, where each attribute has a cell.  What the column's reader does not accept, or
 * any value if it knows none, is converted by the requester.
 */
extern void tsurugi_load_csv_cell(const tsurugi_relation *described, const FormData_pg_attribute *attribute,
								  unsigned source, tg_csv_column *column, tg_cell *cell);

/*
 * The same for NDJSON.  False: all values would be converted by the requester, as the reader knows
 * none.
 */
extern bool tsurugi_load_json_cell(const tsurugi_relation *described, const FormData_pg_attribute *attribute,
								   unsigned source, tg_csv_column *column, tg_cell *cell);

/* --- load_prepare.c ------------------------------------------------------------------------- */

/* Tells (DEBUG1) why the pool leaves a load to the session.  False. */
extern bool tsurugi_load_leave(const tsurugi_load *load, const char *reason);

/* Decompresses a file of texts, if it is compressed, into one that tasks can read. */
extern void tsurugi_load_unpack(tsurugi_load_file *file);

/* Removes what has been decompressed of all files, once no task reads it. */
extern void tsurugi_load_remove_unpacked(const tsurugi_load *load);

/* What a load by the pool needs of a file of texts: about so many bytes of it are a block. */
extern void tsurugi_load_cut(const tsurugi_load *load, tsurugi_load_file *file, uint64 block_bytes);

/* --- load_json.c ---------------------------------------------------------------------------- */

/* The same of a file in NDJSON. */
extern void tsurugi_load_cut_json(tsurugi_load_file *file, uint64 block_bytes);

/* --- load_pool.c ---------------------------------------------------------------------------- */

/*
 * Makes the cells of all files, once these have been looked at.  Returns why the pool cannot load
 * them; NULL: it can.
 */
extern const char *tsurugi_load_pool_prepare(tsurugi_load *load);

/* Loads them; what is committed stays, whatever comes.  25001: the transaction has written. */
extern void tsurugi_load_pool_run(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out,
								  int64 *transactions_out);

/*
 * 25001: the transaction is not one beside which others may do what it asks for; kind: "load".
 */
extern void tsurugi_load_check_outside(const char *kind);

/*
 * Why a load that the pool can run (tsurugi_load_pool_prepare) is not one in the caller's
 * transaction; NULL: it may be.
 */
extern const char *tsurugi_load_pool_reason(const tsurugi_load *load);

/*
 * Loads them in the caller's transaction.  False: nothing of it stays, and the session is to load
 * them, as a row has to wait for another transaction, or the pool cannot do it now.
 */
extern bool tsurugi_load_pool_try(const tsurugi_load *load, int64 *rows_out);

/*
 * Loads them into the shared transaction that has been opened (txn/shared_load.h), beside other
 * such loads.  The pool must be able to (the next function).
 */
extern void tsurugi_load_pool_by_handle(const tsurugi_load *load, int64 *rows_out);

/* Why it cannot, after tsurugi_load_pool_prepare; NULL: it can. */
extern const char *tsurugi_load_pool_reason_by_handle(const tsurugi_load *load);

/* --- load_running.c -------------------------------------------------------------------------- */

/* Registers the end of loads with that of transactions. */
extern void tsurugi_load_pool_init(void);

/* Memory that the tasks reach, for values of a need. */
extern void *tsurugi_load_pool_room(const struct tg_loader_need *need, Size bytes, Relation relation);

/* --- load_convert.c -------------------------------------------------------------------------- */

/* Records of texts that are odd become values, or are rejected. */
extern void tsurugi_load_convert_rows(const tsurugi_load *load, tsurugi_rejects *rejects,
									  const struct tg_loader_need *need);

/* The record of a row, without its line's end, in the current memory context. */
extern char *tsurugi_load_record(const tsurugi_load_file *file, int descriptor, const struct tg_loader_row *row);

/* --- load_left_out.c ------------------------------------------------------------------------- */

/* Why a row ends the load, as an error. */
extern void tsurugi_load_raise_row(Relation relation, const struct tg_loader_row *row) pg_attribute_noreturn();

/* Rows that the tasks have left out are rejected. */
extern void tsurugi_load_reject_rows(const tsurugi_load *load, tsurugi_rejects *rejects,
									 const struct tg_loader_need *need);

#endif /* TSURUGI_LOAD_POOL_H */
