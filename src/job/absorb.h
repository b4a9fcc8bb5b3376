/*
 * absorb.h
 *	  Subqueries whose steps become steps of the query around them.
 */
#ifndef TSURUGI_JOB_ABSORB_H
#define TSURUGI_JOB_ABSORB_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "src/job/job.h"

/*
 * The job of a query's groups; of its GROUP BY and aggregates, its DISTINCT, or its set operation.
 */
typedef struct tsurugi_job_note
{
	const tsurugi_job *job;
	List *having; /* conditions on the groups */
	double rows;  /* groups */
	double cost;  /* nanoseconds, of the groups alone */
	Node *times;  /* how often a group is a row; NULL: once */
	/* of a query's rows: its columns, in the job that has absorbed it */
	List *outputs;
	/* UNION ALL: of tsurugi_job_step, the branches, which are in no job yet; there are no groups */
	List *branches;
} tsurugi_job_note;

/* Keeps the note for the queries around it, with the relation of the groups. */
extern void tsurugi_job_note_put(RelOptInfo *groups, const tsurugi_job_note *note);

/* That of the relation; NULL: there is none. */
extern const tsurugi_job_note *tsurugi_job_note_of(const RelOptInfo *groups);

/* The job that computes all rows of a subquery; NULL: there is none. */
extern const tsurugi_job_note *tsurugi_job_note_get(PlannerInfo *subroot);

/* The branches of a subquery that is UNION ALL; NULL: it is not, or a job cannot read them. */
extern const tsurugi_job_note *tsurugi_job_note_of_union_all(PlannerInfo *subroot);

/* What a subquery is in the job around it. */
typedef struct tsurugi_absorbed
{
	int step;	   /* that makes its groups */
	List *having;  /* conditions on them */
	Node *times;   /* how often a group is a row; NULL: once */
	List *outputs; /* the subquery's columns, of keys and aggregates */
} tsurugi_absorbed;

/* Adds the steps of a subquery's groups to the job, whose query is the root's. */
extern tsurugi_absorbed tsurugi_job_absorb(PlannerInfo *root, tsurugi_job *job, PlannerInfo *subroot);

/*
 * The same of a set operation within the job's own, whose columns have these expressions in the
 * planner.
 */
extern tsurugi_absorbed tsurugi_job_absorb_set(PlannerInfo *root, tsurugi_job *job, const tsurugi_job_note *note,
											   List *exprs);

/* The job of a query that only joins and filters; its last step has no sink yet. */
extern bool tsurugi_job_note_of_rows(PlannerInfo *subroot, tsurugi_job_note *note_out);

/*
 * Adds the steps of such a subquery but the last one, which becomes *step; returns the subquery's
 * columns there.
 */
extern List *tsurugi_job_absorb_rows(PlannerInfo *root, tsurugi_job *job, PlannerInfo *subroot,
									 const tsurugi_job_note *note, tsurugi_job_step *step);

/* Adds the steps that branches of such a subquery read, its relation rel; returns the branches. */
extern List *tsurugi_job_absorb_union_all(tsurugi_job *job, RelOptInfo *rel, const tsurugi_job_note *note);

/*
 * If the condition is NOT IN of a subquery without correlation that a job can compute, adds its
 * steps, of which the last one builds the values, and returns the equality to probe by.
 */
extern Node *tsurugi_job_absorb_not_in(PlannerInfo *root, tsurugi_job *job, Node *condition);

/* Has the tables of a job's absorbed subqueries put into the statement that gets this plan. */
extern void tsurugi_job_claim_tables(const PlannerInfo *root, const tsurugi_job *job, CustomScan *plan);

/* Registers the hook that does it. */
extern void tsurugi_job_absorb_init(void);

#endif /* TSURUGI_JOB_ABSORB_H */
