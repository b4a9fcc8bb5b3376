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

/*
 * How often a group is handed out: once, or as often as the counts of INTERSECT ALL and EXCEPT ALL
 * say, unless the step that sorts the groups has repeated them.
 */
extern uint64 tsurugi_job_copies(const tsurugi_job *job, const tsurugi_job_column *columns, const tg_total *totals);

#endif /* TSURUGI_JOB_RESULT_H */
