/*
 * fdw_plan.h
 *	  The common parts of planning a foreign scan: notes on a table, costs of an index.
 */
#ifndef TSURUGI_FDW_PLAN_H
#define TSURUGI_FDW_PLAN_H

#include "src/exec/fdw_match.h"

/* Planner's notes on a base relation (fdw_private of its RelOptInfo). */
typedef struct tsurugi_plan_notes
{
	const tsurugi_relation *described;
	Cost qual_cost;	 /* of all conditions, per row */
	Cost again_cost; /* of an execution, in a plan that has one for each row of another */
	int candidate_count;
	tsurugi_candidate *candidates;
} tsurugi_plan_notes;

/* The part of an OR that one index answers (fdw_or.c). */
typedef struct tsurugi_arm
{
	const tsurugi_candidate *candidate;
	tsurugi_choice *choice;
	List *own;		/* RestrictInfos, all of which must hold in the arm */
	List *answered; /* clauses: of the rows that meet all other conditions, the index has these */
	double rows;
	Cost cost;
} tsurugi_arm;

/* The part of another index that is read for a scan by one (fdw_and.c). */
typedef struct tsurugi_other
{
	const tsurugi_candidate *candidate;
	tsurugi_choice *choice;
	double rows;
} tsurugi_other;

/* Rows that the index's conditions leave. */
extern double tsurugi_rows_by_index(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_choice *choice);

/* The cost of reading them: the descents, and the rows with all conditions on the table. */
extern Cost tsurugi_cost_of_index(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
								  const tsurugi_choice *choice);

/* Parts of that. */
extern Cost tsurugi_cost_of_descents(const tsurugi_choice *choice);
extern Cost tsurugi_cost_of_rows(const RelOptInfo *baserel, const tsurugi_candidate *candidate, double rows);

/*
 * Adds a path with that cost and that number of returned rows.  Its startup cost is the first
 * descent and the reading of other indexes.  required_outer: the relations whose values it needs.
 */
extern void tsurugi_add_index_path(PlannerInfo *root, RelOptInfo *baserel, tsurugi_choice *choice, Cost cost,
								   List *pathkeys, Relids required_outer, double rows);

/* Adds to sets of other relations those that a condition of these needs, if there are any. */
extern List *tsurugi_add_outer(List *outers, RelOptInfo *baserel, Relids clause_relids);

/*
 * fdw_and.c: adds other indexes, which rows must have, too, to a use of an index for these
 * RestrictInfos, and changes its cost.  NULL if that does not reduce the cost.
 */
extern tsurugi_choice *tsurugi_and_choose(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
										  const tsurugi_choice *choice, List *rinfos, Cost *cost_inout);

/* fdw_or.c: adds the paths by several indexes, for conditions that are an OR. */
extern void tsurugi_or_add_paths(PlannerInfo *root, RelOptInfo *baserel);

#endif /* TSURUGI_FDW_PLAN_H */
