/*
 * temporary.h
 *	  Temporary files of jobs, as PostgreSQL has its own.
 */
#ifndef TSURUGI_JOB_TEMPORARY_H
#define TSURUGI_JOB_TEMPORARY_H

#include "postgres.h"

#include "runtime/query/query.h"

/*
 * Where a job of this session may write to, by temp_tablespaces and temp_file_limit, of which other
 * jobs of the session use so many bytes.  In a transaction; the memory is the current context's.
 */
extern const tg_spill_config *tsurugi_job_temporary_files(uint64 used);

/* Tells of the files of a query that has been stopped: statistics, and the log (log_temp_files). */
extern void tsurugi_job_report_files(const tg_query *query);

/* Raises the error of a query that has ended with TG_IO; the query stays. */
extern void tsurugi_job_file_error(const tg_query *query) pg_attribute_noreturn();

#endif /* TSURUGI_JOB_TEMPORARY_H */
