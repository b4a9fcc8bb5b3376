/*
 * tree_internal.h
 *	  The tree of a path, which tree.c reads and tree_steps.c makes steps of.
 */
#ifndef TSURUGI_JOB_TREE_INTERNAL_H
#define TSURUGI_JOB_TREE_INTERNAL_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#include "runtime/query/plan.h"

typedef struct tsurugi_job_note tsurugi_job_note; /* absorb.h */

/* A branch of UNION ALL. */
typedef struct Branch
{
	struct Tree *tree;
	List *outputs; /* what the columns of the whole are there; NIL: those of the subquery itself */
} Branch;

typedef struct Tree
{
	RelOptInfo *rel;
	PlannerInfo *subroot; /* of a subquery whose groups these are; or NULL */
	/* of a subquery whose rows these are: its root and its job; or NULL */
	PlannerInfo *rows_root;
	tsurugi_job_note *rows_note;
	List *branches;					   /* of Branch: the rows are those of all of them; or NIL */
	const tsurugi_job_note *union_all; /* of a subquery whose branches' rows these are; or NULL */
	Path *feed;						   /* whose rows these are; or NULL */
	List *tables;					   /* of tsurugi_job_table, unless it is a join, a subquery or a feed */
	double tuples;					   /* that are read of these, */
	double read_cost;				   /* and what that costs */
	List *filters;					   /* clauses above it, or of the table */
	List *pending;					   /* of RestrictInfo: their other relations are elsewhere */
	/* a join: */
	bool joined;
	tg_join join;
	struct Tree *left;
	struct Tree *right;
	List *clauses; /* of the join */
} Tree;

/* The tree of a path; NULL: it has something that is no step. */
extern Tree *tsurugi_job_tree_of(PlannerInfo *root, Path *path);

#endif /* TSURUGI_JOB_TREE_INTERNAL_H */
