/*
 * fdw_match.h
 *	  Which conditions an index of ours can answer, and how.
 */
#ifndef TSURUGI_FDW_MATCH_H
#define TSURUGI_FDW_MATCH_H

#include "src/exec/fdw.h"

/* How a path reads: kept in its fdw_private. */
typedef struct tsurugi_choice
{
	tsurugi_shape shape;
	List *arms;		  /* tsurugi_arm (fdw_plan.h), of ARMS: of the following only the conditions */
	List *others;	  /* tsurugi_other (fdw_plan.h): rows have to be in these, too; nothing of them is below, but for */
	Cost before;	  /* what reading them costs */
	List *values;	  /* Expr, as in tsurugi_scan_exprs */
	List *conditions; /* RestrictInfo that the index answers */
	List *sought_columns;	/* as in tsurugi_scan_access */
	List *sought_operators; /* the same */
	List *filtered;			/* RestrictInfo by which it leaves rows out, or clauses; they are evaluated all the same */
	Expr *distance;			/* by which the rows come, the nearest first; NULL: they do not */
	bool whole;				/* and it leaves out none */
	bool one_row;			/* at most one row for each combination of values */
	double turns;			/* combinations of values, estimated */
} tsurugi_choice;

/* What the planner knows of an index, and what we do. */
typedef struct tsurugi_candidate
{
	IndexOptInfo *info;
	const tsurugi_index *index;
	bool
		applies; /* to all that the conditions on the table leave: what a partial index's predicate asks for follows from them */
	List *implied; /* of the conditions, by the predicate of a partial index */
} tsurugi_candidate;

/* Those of these RestrictInfos that a partial index's predicate implies: its rows need no look at them. */
extern List *tsurugi_implied_conditions(const IndexOptInfo *info, List *rinfos);

/*
 * The best use of an index for these RestrictInfos; way TABLE if they are none
 * of its.  NULL candidate: no index, way TABLE.
 */
extern tsurugi_choice *tsurugi_choose(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
									  List *rinfos);

/*
 * The use of an index for the relation's own conditions by which the rows come in an order that is wanted, of a distance; NULL: there is none.
 */
extern tsurugi_choice *tsurugi_choose_nearest(PlannerInfo *root, RelOptInfo *baserel,
											  const tsurugi_candidate *candidate, const PathKey *pathkey);

/* Whether an index could take this condition. */
extern bool tsurugi_condition_matches(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
									  RestrictInfo *rinfo);

#endif /* TSURUGI_FDW_MATCH_H */
