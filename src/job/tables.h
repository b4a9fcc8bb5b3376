/*
 * tables.h
 *	  The tables of a job that is executed.
 */
#ifndef TSURUGI_JOB_TABLES_H
#define TSURUGI_JOB_TABLES_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "src/job/job.h"

/*
 * Opens the tables that the job reads or stores into, and those whose columns its expressions have;
 * the executor closes them at its end.  To be called when the executor starts, as each scan of
 * PostgreSQL's opens its table: from then on CheckTableNotInUse refuses definitions of this
 * session, by which the plan would no longer fit the tables.
 */
extern void tsurugi_job_open_tables(const tsurugi_job *job, EState *estate);

/*
 * Likewise the indexes of ranges; of Relation, in the current memory context.  The lock of a table
 * keeps other sessions from its indexes.
 */
extern List *tsurugi_job_open_indexes(const tsurugi_job *job);
extern void tsurugi_job_close_indexes(List *indexes);

/* Describes all of them, in the current memory context. */
extern void tsurugi_job_describe_tables(tsurugi_job *job, EState *estate);

/* The first table that it reads; there is one. */
extern const tsurugi_job_table *tsurugi_job_first_table(const tsurugi_job *job);

/* The rows of tables that are read as a whole, and those that ranges are expected to have. */
extern uint64_t tsurugi_job_table_rows(const tsurugi_job *job);

#endif /* TSURUGI_JOB_TABLES_H */
