/*
 * result.h
 *	  Rows of a job's groups.
 */
#ifndef TSURUGI_JOB_RESULT_H
#define TSURUGI_JOB_RESULT_H

#include "postgres.h"

#include "runtime/order/value.h"
#include "src/job/code.h"

typedef struct tg_total tg_total; /* total.h */


/*
 * The datum of a column of a group, in the current memory context; it may point into keys and
 * totals, and into the tables' values.  Raises 22003 for the sum of integers that PostgreSQL's type
 * has no room for.
 */
extern Datum tsurugi_job_datum(const tsurugi_job_column *column, const tg_value *keys, const bool *key_nulls,
							   const tg_total *totals, bool *null_out);

#endif /* TSURUGI_JOB_RESULT_H */
