/*
 * sorted_input.h
 *	  Jobs whose rows, in order, are the input of PostgreSQL's own nodes.
 */
#ifndef TSURUGI_JOB_SORTED_INPUT_H
#define TSURUGI_JOB_SORTED_INPUT_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Offers the cheapest path of output, the relation of a stage with PostgreSQL's paths, that sorts
 * the rows or groups of input, with a job in place of the Sort.
 */
extern void tsurugi_job_offer_sorted_input(PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

#endif /* TSURUGI_JOB_SORTED_INPUT_H */
