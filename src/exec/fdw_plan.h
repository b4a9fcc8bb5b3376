/*
 * fdw_plan.h
 *	  What the files that plan a foreign scan share: notes on a table, what an index costs.
 */
#ifndef TSURUGI_FDW_PLAN_H
#define TSURUGI_FDW_PLAN_H

#include "src/exec/fdw_match.h"

/* Planner's notes on a base relation (fdw_private of its RelOptInfo). */
typedef struct tsurugi_plan_notes
{
	const tsurugi_relation *described;
	Cost qual_cost; /* of all conditions, per row */
	int candidate_count;
	tsurugi_candidate *candidates;
} tsurugi_plan_notes;

/* What one index is asked for of an OR (fdw_or.c). */
typedef struct tsurugi_arm
{
	const tsurugi_candidate *candidate;
	tsurugi_choice *choice;
	List *own;		/* RestrictInfo, all of which are to hold in the arm */
	List *answered; /* clauses: for which rows, of those that meet all other conditions on the table, the index has */
	double rows;
	Cost cost;
} tsurugi_arm;

/* What is read of another index, for a scan by one (fdw_and.c). */
typedef struct tsurugi_other
{
	const tsurugi_candidate *candidate;
	tsurugi_choice *choice;
	double rows;
} tsurugi_other;

/* Rows that the index's conditions leave. */
extern double tsurugi_rows_by_index(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_choice *choice);

/* What it costs to read them: the descents, and the rows with all conditions on the table. */
extern Cost tsurugi_cost_of_index(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
								  const tsurugi_choice *choice);

/* Parts of that. */
extern Cost tsurugi_cost_of_descents(const tsurugi_choice *choice);
extern Cost tsurugi_cost_of_rows(const RelOptInfo *baserel, const tsurugi_candidate *candidate, double rows);

/*
 * A path of that cost, for rows that it hands up.  The first descent, and other indexes, are what it starts with.  required_outer: whose values it needs.
 */
extern void tsurugi_add_index_path(PlannerInfo *root, RelOptInfo *baserel, tsurugi_choice *choice, Cost cost,
								   List *pathkeys, Relids required_outer, double rows);

/* Adds to sets of other relations those that a condition of these needs, if there are any. */
extern List *tsurugi_add_outer(List *outers, RelOptInfo *baserel, Relids clause_relids);

/*
 * fdw_and.c: for the use of an index for these RestrictInfos, which costs so much, the same with other indexes that rows have to be in, and
 * its cost; NULL if that would be no less.
 */
extern tsurugi_choice *tsurugi_and_choose(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
										  const tsurugi_choice *choice, List *rinfos, Cost *cost_inout);

/* fdw_or.c: adds the paths by several indexes, for conditions that are an OR. */
extern void tsurugi_or_add_paths(PlannerInfo *root, RelOptInfo *baserel);

#endif /* TSURUGI_FDW_PLAN_H */
