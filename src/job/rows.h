/*
 * rows.h
 *	  Jobs that hand rows out: joins, and tables for a taker.
 */
#ifndef TSURUGI_JOB_ROWS_H
#define TSURUGI_JOB_ROWS_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* For a query whose rows a taker wants: the rows of a table, from input to final. */
extern void tsurugi_job_offer_rows(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *final);

/* Registers the hook; once, when the library is loaded. */
extern void tsurugi_job_rows_init(void);

#endif /* TSURUGI_JOB_ROWS_H */
