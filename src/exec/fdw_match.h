/*
 * fdw_match.h
 *	  Which conditions an index of this extension can answer, and how.
 */
#ifndef TSURUGI_FDW_MATCH_H
#define TSURUGI_FDW_MATCH_H

#include "src/exec/fdw.h"

/* How a path reads; it is kept in the path's fdw_private. */
typedef struct tsurugi_choice
{
	tsurugi_shape shape;
	List *arms;				/* tsurugi_arm (fdw_plan.h), of ARMS, which only has conditions, too */
	List *others;			/* tsurugi_other (fdw_plan.h): rows must be in these, too; only */
	Cost before;			/* this, the cost of reading them, is about them */
	List *values;			/* Expr, as in tsurugi_scan_exprs */
	List *conditions;		/* RestrictInfos that the index answers */
	List *sought_columns;	/* as in tsurugi_scan_access */
	List *sought_operators; /* as in tsurugi_scan_access */
	List *filtered;			/* RestrictInfos or clauses that leave rows out; evaluated, too */
	Expr *distance;			/* the rows come in its order, the nearest first; or NULL */
	bool whole;				/* all rows are read; the conditions leave none out */
	bool one_row;			/* at most one row for each combination of values */
	double turns;			/* estimated number of combinations of values */
} tsurugi_choice;

/* An index as the planner knows it and as this extension does. */
typedef struct tsurugi_candidate
{
	IndexOptInfo *info;
	const tsurugi_index *index;
	bool applies;  /* the conditions on the table imply the predicate of a partial index */
	List *implied; /* the conditions that a partial index's predicate implies */
} tsurugi_candidate;

/*
 * The RestrictInfos that a partial index's predicate implies.  They hold for all its rows and need
 * not be evaluated.
 */
extern List *tsurugi_implied_conditions(const IndexOptInfo *info, List *rinfos);

/*
 * The best use of an index for these RestrictInfos; the way is TABLE if the index answers none.
 * NULL candidate: there is no index, and the way is TABLE.
 */
extern tsurugi_choice *tsurugi_choose(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
									  List *rinfos);

/*
 * The use of an index, for the relation's own conditions, that returns the rows in the wanted order
 * of a distance; NULL: there is none.
 */
extern tsurugi_choice *tsurugi_choose_nearest(PlannerInfo *root, RelOptInfo *baserel,
											  const tsurugi_candidate *candidate, const PathKey *pathkey);

/* Whether an index could take this condition. */
extern bool tsurugi_condition_matches(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
									  RestrictInfo *rinfo);

#endif /* TSURUGI_FDW_MATCH_H */
