/*
 * arguments.h
 *	  Arguments and result that loads and batches have in common.
 */
#ifndef TSURUGI_COPY_ARGUMENTS_H
#define TSURUGI_COPY_ARGUMENTS_H

#include "postgres.h"

#include "fmgr.h"
#include "utils/timestamp.h"

#include "src/copy/load.h"

/* 22004: one of these arguments is NULL; what: "load". */
extern void tsurugi_arguments_not_null(FunctionCallInfo fcinfo, const char *what, const int *needed, int count);

/* on_error, reject_file and reject_limit, which follow one another. */
extern void tsurugi_arguments_rejects(FunctionCallInfo fcinfo, int first, tsurugi_load *load);

/* Names of columns, as a list of String. */
extern List *tsurugi_argument_columns(ArrayType *array);

/* What the caller gets. */
typedef struct tsurugi_load_report
{
	int64 rows; /* -1: not known */
	int64 rejected;
	int64 files;
	int64 blocks;
	int64 bytes;
	int64 transactions;
	const char *way;
	const char *reason;
} tsurugi_load_report;

/* Files, blocks and bytes of a load. */
extern void tsurugi_report_files(tsurugi_load_report *report, const tsurugi_load *load);

/* The rows of all files, as far as these tell; -1: one does not. */
extern int64 tsurugi_load_expected_rows(const tsurugi_load *load);

/* The function's result. */
extern Datum tsurugi_report_row(FunctionCallInfo fcinfo, const tsurugi_load_report *report, TimestampTz start);

#endif /* TSURUGI_COPY_ARGUMENTS_H */
