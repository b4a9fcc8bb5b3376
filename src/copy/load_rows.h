/*
 * load_rows.h
 *	  Loads into a table that look at single rows: they leave out those that do not fit, or whose
 *	  keys are there, or replace what is there.
 */
#ifndef TSURUGI_LOAD_ROWS_H
#define TSURUGI_LOAD_ROWS_H

#include "postgres.h"

#include "src/copy/load.h"

/* Whether a load is one of these. */
extern bool tsurugi_load_is_by_rows(const tsurugi_load *load);

/* In the caller's transaction. */
extern void tsurugi_load_by_rows(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out);

#endif /* TSURUGI_LOAD_ROWS_H */
