/*
 * load_rows.h
 *	  Rows of a load or a batch that are stored by groups: single ones that do not fit are left out,
 *	  or their keys are there, or a statement is run for each of them.
 */
#ifndef TSURUGI_LOAD_ROWS_H
#define TSURUGI_LOAD_ROWS_H

#include "postgres.h"

#include "src/copy/load.h"
#include "src/copy/load_records.h"
#include "src/copy/reject.h"

/* Whether a load is one that looks at single rows. */
extern bool tsurugi_load_is_by_rows(const tsurugi_load *load);

/* In the caller's transaction. */
extern void tsurugi_load_by_rows(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out);

/* --- groups ----------------------------------------------------------------------------------- */

/* Stores groups, in a transaction, and while connected to SPI. */
typedef struct tsurugi_storing tsurugi_storing;

/* reject: takes rows that are left out; with its argument. */
extern tsurugi_storing *tsurugi_storing_begin(const tsurugi_load *load,
											  void (*reject)(void *argument, const tsurugi_reject *reject),
											  void *argument);

/* Further groups are of this file, whose records COPY reads with these columns and options. */
extern void tsurugi_storing_file(tsurugi_storing *storing, const tsurugi_load_file *file, List *columns, List *options);

/* Returns how many of its rows have been stored. */
extern int64 tsurugi_store_group(tsurugi_storing *storing, const tsurugi_group *group);
extern void tsurugi_storing_end(tsurugi_storing *storing);

#endif /* TSURUGI_LOAD_ROWS_H */
