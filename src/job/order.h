/*
 * order.h
 *	  Jobs that hand out rows or groups in order.
 */
#ifndef TSURUGI_JOB_ORDER_H
#define TSURUGI_JOB_ORDER_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/* For a query's ORDER BY, with LIMIT: from the rows or groups of input, to ordered. */
extern void tsurugi_job_offer_order(PlannerInfo *root, RelOptInfo *input, RelOptInfo *ordered);

/*
 * A path of output that hands out what the Sort of input's rows or groups does, with the Sort as
 * its fallback.  NULL: no job can.
 */
extern Path *tsurugi_job_of_sort(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output, const SortPath *sort);

#endif /* TSURUGI_JOB_ORDER_H */
