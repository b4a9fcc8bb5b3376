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

#endif /* TSURUGI_JOB_ORDER_H */
