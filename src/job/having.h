/*
 * having.h
 *	  Groups that HAVING rejects, told by their totals alone.
 */
#ifndef TSURUGI_JOB_HAVING_H
#define TSURUGI_JOB_HAVING_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "src/job/code.h"

typedef struct tg_total tg_total; /* total.h */

typedef struct tsurugi_job_having tsurugi_job_having;

/*
 * Those of a node's conditions that can be tested, with what they compare evaluated now, as
 * PostgreSQL evaluates the first one for the first group; in the current memory context.  The
 * columns are the node's, and stay as long.
 */
extern tsurugi_job_having *tsurugi_job_having_make(const List *clauses, const tsurugi_job_column *columns,
												   int column_count, PlanState *node);

/* False: the conditions reject the group.  True decides nothing. */
extern bool tsurugi_job_having_passes(const tsurugi_job_having *having, const tg_total *totals);

#endif /* TSURUGI_JOB_HAVING_H */
