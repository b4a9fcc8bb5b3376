/*
 * load_pool.h
 *	  The way `pool` of a load: tasks of the pool read, convert and store the rows.
 */
#ifndef TSURUGI_LOAD_POOL_H
#define TSURUGI_LOAD_POOL_H

#include "postgres.h"

#include "catalog/pg_attribute.h"

#include "runtime/batch/cell.h"
#include "runtime/batch/loader.h"
#include "runtime/format/parquet.h"
#include "src/copy/load.h"
#include "src/copy/reject.h"
#include "src/table/relation.h"

/* --- load_cell.c ---------------------------------------------------------------------------- */

/* How values of the file's column become the attribute's.  False: only PostgreSQL converts them. */
extern bool tsurugi_load_cell(const tsurugi_relation *described, const FormData_pg_attribute *attribute,
							  unsigned source, const tg_file_column *column, tg_cell *cell);

/* --- load_pool.c ---------------------------------------------------------------------------- */

/*
 * Makes the cells of all files, once these have been looked at.  Returns why the pool cannot load
 * them; NULL: it can.
 */
extern const char *tsurugi_load_pool_prepare(tsurugi_load *load);

/* Loads them; what is committed stays, whatever comes.  25001: the transaction has written. */
extern void tsurugi_load_pool_run(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out,
								  int64 *transactions_out);

/* Registers the end of loads with that of transactions. */
extern void tsurugi_load_pool_init(void);

/* --- load_left_out.c ------------------------------------------------------------------------- */

/* Why a row ends the load, as an error. */
extern void tsurugi_load_raise_row(Relation relation, const tg_loader_row *row) pg_attribute_noreturn();

/* Rows that the tasks have left out are rejected. */
extern void tsurugi_load_reject_rows(const tsurugi_load *load, tsurugi_rejects *rejects, const tg_loader_need *need);

#endif /* TSURUGI_LOAD_POOL_H */
