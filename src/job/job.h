/*
 * job.h
 *	  Queries as jobs of the engine: what the planner finds, and what the executor starts.
 *
 *	create_upper_paths_hook ──> tree.c: steps of the cheapest join tree ──> path with costs
 *	                            append.c: UNION ALL as steps with one sink
 *	                            set.c: UNION, INTERSECT, EXCEPT
 *	set_join_pathlist_hook ───> rows.c: likewise, of joins whose rows are handed out, and for a
 *	                            taker of single tables (create_upper_paths_hook)
 *	                            order.c: rows and groups in order (create_upper_paths_hook)
 *	                            sorted_input.c: likewise, below PostgreSQL's own nodes
 *	                            absorb.c: and those of its subqueries
 *	                            store.c: INSERT of these (create_upper_paths_hook)
 *						    feed.c: what is no step of its own is a child plan, whose rows are fed
 *	PlanCustomPath ───────────> plan.c: steps and expressions in a CustomScan
 *	first row asked for ──────> node.c, reads.c: which ranges, what levels ask; code.c, lay_out.c:
 *	                            steps and expressions into a tg_plan, started; feeder.c: rows for it
 *	                            tables.c: opened when the executor starts, as PostgreSQL's scans do
 *								init_plans.c: results of subqueries without correlation
 *	groups of the query ──────> result.c: rows, projected by PostgreSQL
 *
 * A job computes what stands below an aggregation: scans, filters, joins, groups, aggregates.  Its
 * join tree is the one of PostgreSQL's cheapest path.  The executor may find that it cannot be
 * computed, and a job may end with TG_UNFIT or TG_NO_MEMORY: then the node runs its fallback, which
 * is PostgreSQL's own cheapest plan.  So a job need not know any error of an expression, and a
 * translation may be optimistic where it does not know a value yet.
 *
 * The rows of a job may be stored by its tasks, in the session's transaction: then it is all of an
 * INSERT ... SELECT, and its fallback is PostgreSQL's ModifyTable.
 */
#ifndef TSURUGI_JOB_H
#define TSURUGI_JOB_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

#include "runtime/query/plan.h"
#include "src/exec/taker.h"
#include "src/table/relation.h"

/* An operator of a step. */
typedef struct tsurugi_job_operator
{
	bool probe;	   /* of a build; else a filter, */
	bool repeat;   /* or a row goes on as often as an expression says */
	tg_join join;  /* PROBE */
	int build;	   /* PROBE: which of the steps, an earlier one */
	List *clauses; /* filter, repeat: one; PROBE: all of the join, equalities of both sides among them */
} tsurugi_job_operator;

/* Keys of an index that a step reads; of a gap (scan_key.h): no row has them, they are noted. */
typedef struct tsurugi_job_span
{
	tg_plan_range range;
	bool is_gap;
} tsurugi_job_span;

/* A table that a step reads: all rows, or those that an index finds. */
typedef struct tsurugi_job_table
{
	Index relation; /* in the range table */
	Oid oid;		/* in the planner */
	/* by an index: which part of it; NULL: all rows */
	struct tsurugi_scan_access *access;
	List *values; /* that its columns are compared with */
	double rows;  /* that are expected to be read */
	bool as_path; /* in the planner: PostgreSQL's path reads the same index, and nothing else */
	List *spans;  /* of tsurugi_job_span, in a job that starts */
	/* for a translation: */
	const tsurugi_relation *described;
	const AttrNumber *attributes; /* its own, by those of the step's relation; NULL: the same */
	int attribute_count;		  /* of the step's relation */
} tsurugi_job_table;

/* The storage's column of an attribute of the step's relation. */
static inline int
tsurugi_job_column_of(const tsurugi_job_table *table, AttrNumber attribute)
{
	return tsurugi_column_of(table->described,
							 (table->attributes != NULL ? table->attributes[attribute - 1] : attribute) - 1);
}

/* Describes the table, for columns of that relation; in the current memory context. */
extern void tsurugi_job_describe(tsurugi_job_table *table, Relation of, Relation relation);

/* Of ORDER BY. */
typedef struct tsurugi_job_key
{
	Node *expr;
	Oid sortop;
	bool nulls_first;
} tsurugi_job_key;

/* What the groups of a step are; their aggregates count the rows of the left side and the right. */
typedef enum tsurugi_job_set
{
	TSURUGI_SET_NONE, /* of GROUP BY, DISTINCT, aggregates */
	TSURUGI_SET_UNION,
	TSURUGI_SET_INTERSECT,
	TSURUGI_SET_EXCEPT
} tsurugi_job_set;

/*
 * A step; the last one ends in groups, or hands rows out (DELIVER), or sorts them (SORT).  One
 * whose source are the groups of an earlier step has expressions of its keys and aggregates.
 */
typedef struct tsurugi_job_step
{
	tg_source source;
	int from;		 /* which of the steps, an earlier one, unless the source is tables */
	Index relation;	 /* whose columns expressions have: a table, or a partitioned one; or FEED's */
	List *tables;	 /* of tsurugi_job_table: itself, or its partitions */
	Relids relids;	 /* with those of the builds that it probes, or reads */
	List *operators; /* of tsurugi_job_operator */
	tg_sink_kind sink;
	bool marked;	  /* as of a tg_sink */
	bool keeps_nulls; /* likewise */
	/*
	 * GROUP: expressions by which rows are grouped; DELIVER, SORT: columns; STORE: expressions, one
	 * for each attribute of the table
	 */
	List *keys;
	List *aggregates;	 /* GROUP: of Aggref */
	bool distinct;		 /* GROUP: its source has each argument of its aggregates once a group */
	tsurugi_job_set set; /* GROUP */
	bool all;			 /* GROUP: a group is as many rows as its counts say */
	List *order;		 /* SORT: of tsurugi_job_key */
	bool sorts_groups;	 /* SORT: of the step that it reads, which are handed out */
	/* FEED: the columns of the child plan's rows; what is no column is a constant in its place */
	List *columns;
	/* a subquery whose columns expressions have, 0: none, and what these are */
	Index subquery;
	List *outputs;
	/*
	 * A branch of UNION ALL: the relation of the whole, whose columns expressions have, and what
	 * these are here; how many operators are of the branch alone; and whether the next step is a
	 * further branch, with the same sink.  0: it is none.
	 */
	Index append;
	List *branch;
	int own_operators;
	bool goes_on;
	/* in the planner: */
	List *further; /* of tsurugi_job_step: the branches before this one, until it is put into a job */
	Oid oid;	   /* of the relation */
	double rows_read;
	double rows_probed; /* those of a table that its conditions leave */
	double scan_cost;	/* of reading these */
	double rows;		/* at its end */
	double cost;		/* nanoseconds of one core */
	Path *feed;			/* FEED: the child's path, */
	Cost feed_cost;		/* and what the session does for it, or for init plans, in PostgreSQL's units */
} tsurugi_job_step;

typedef struct tsurugi_job
{
	List *steps;	   /* of tsurugi_job_step */
	bool nulls_rows;   /* it has a LEFT, FULL or ANTI join */
	Node *limit_count; /* SORT: LIMIT and OFFSET, which do not change; or NULL */
	Node *limit_offset;
	tsurugi_job_table *into; /* STORE: the table; or NULL */
	/* once it is described: its attributes, and its CHECK constraints, of relation 1 */
	const bool *into_not_null;
	List *into_checks;
	/* in the planner: */
	PlannerInfo *root;	   /* of the query */
	List *absorbed_tables; /* entries of the range tables of absorbed subqueries (absorb.c) */
	List *init_plans;	   /* of SubPlan: those of absorbed subqueries (init_plans.c) */
	/*
	 * The query is a set operation: its relation, which is the last step's `append`, and columns
	 * that the planner has beside its own, and that nobody reads.  0: it is none.
	 */
	Index set;
	List *unread;
} tsurugi_job;

static inline tsurugi_job_step *
tsurugi_job_last(const tsurugi_job *job)
{
	return (tsurugi_job_step *) llast(job->steps);
}

/* The first of the steps that have one sink with this one: itself, unless it is a branch. */
static inline int
tsurugi_job_first_branch(const tsurugi_job *job, int number)
{
	while (number > 0 && ((tsurugi_job_step *) list_nth(job->steps, number - 1))->goes_on)
		number--;
	return number;
}

/* The step whose groups, or rows, are the result. */
static inline int
tsurugi_job_result_number(const tsurugi_job *job)
{
	return tsurugi_job_last(job)->sorts_groups ? tsurugi_job_last(job)->from : list_length(job->steps) - 1;
}

static inline tsurugi_job_step *
tsurugi_job_result(const tsurugi_job *job)
{
	return (tsurugi_job_step *) list_nth(job->steps, tsurugi_job_result_number(job));
}

/* Whether rows are stored; nothing is handed out then. */
static inline bool
tsurugi_job_stores(const tsurugi_job *job)
{
	return job->into != NULL;
}

/* Whether columns of rows are handed out, not groups. */
static inline bool
tsurugi_job_hands_out_rows(const tsurugi_job *job)
{
	return tsurugi_job_result(job)->sink != TG_GROUP && !tsurugi_job_stores(job);
}

static inline int
tsurugi_job_column_count(const tsurugi_job_step *step)
{
	return list_length(step->keys) + list_length(step->aggregates);
}

/* An expression without changes of its type that keep the value. */
static inline const Node *
tsurugi_without_relabeling(const Node *expr)
{
	while (IsA(expr, RelabelType))
		expr = (const Node *) ((const RelabelType *) expr)->arg;
	return expr;
}

/* --- tree.c --------------------------------------------------------------------------- */

/* The steps of a path's join tree, with their costs.  NULL: it has something that is no step. */
extern tsurugi_job *tsurugi_job_of_path(PlannerInfo *root, Path *path);

/*
 * For a path of which the former cannot be computed: tables of ours that have conditions which jobs
 * do not compute are fed.  NULL also if there is none.
 */
extern tsurugi_job *tsurugi_job_of_path_fed(PlannerInfo *root, Path *path);

/* --- reads.c -------------------------------------------------------------------------- */

/*
 * Computes the ranges of the tables that are read by an index, in the current memory context, and
 * does for all tables, which are described, what the transaction's level asks before they are read.
 * *snapshot_out is the run's.
 */
extern void tsurugi_job_begin_reads(const tsurugi_job *job, PlanState *node, tg_session *session,
									tg_snapshot *snapshot_out);

/* --- plan.c --------------------------------------------------------------------------- */

/*
 * The data in a CustomScan.  custom_scan_tlist has first the columns that the node hands out, keys
 * and then aggregates; behind them, as junk, what only the job needs.
 */
extern void tsurugi_job_to_plan(const tsurugi_job *job, CustomScan *plan);
extern tsurugi_job *tsurugi_job_from_plan(const CustomScan *plan);

/* That is the plan's alone, and its copies'. */
extern uint32_t tsurugi_job_plan_number(const CustomScan *plan);

/* What PostgreSQL's planner has added to the numbers of range table entries in a plan. */
extern int tsurugi_job_plan_offset(const CustomScan *plan);

/* --- hook.c --------------------------------------------------------------------------- */

/*
 * Describes the tables of a complete job, and tells whether it can be computed, as far as that can
 * be known.  streams_out: as tsurugi_job_streams.
 */
extern bool tsurugi_job_is_computed(tsurugi_job *job, bool *streams_out);

/* A copy of the cheapest path of groups that can be copied.  NULL: there is none. */
extern Path *tsurugi_job_make_fallback(const RelOptInfo *rel);

/*
 * Offers a job of groups, which is computed, beside PostgreSQL's paths of them, and notes it for
 * the queries around this one.  having: conditions on the groups; times: how many rows one is, or
 * NULL.
 */
extern void tsurugi_job_offer_groups(PlannerInfo *root, RelOptInfo *rel, tsurugi_job *job, double input_rows,
									 Path *fallback, Node *having, Node *times);

/* A path with a job: the caller adds relation, target, rows and costs. */
extern struct CustomPath *tsurugi_job_make_path(tsurugi_job *job, Path *fallback, Node *having);
extern bool tsurugi_job_is_path(const Path *path);

/* Puts a path into a list of paths without freeing another one, which may be its fallback. */
extern void tsurugi_job_add_path_by_hand(RelOptInfo *rel, Path *path);

/* Nanoseconds of one core. */
#define TSURUGI_JOB_NS_ROW 2	/* a row of an earlier step */
#define TSURUGI_JOB_NS_COLUMN 3 /* a column of a row */

/*
 * In PostgreSQL's units, of nanoseconds of one core: for all tasks, with the start of a job; and
 * for the session.
 */
extern Cost tsurugi_job_cost_of_tasks(double ns);
extern Cost tsurugi_job_cost_of_session(double ns);

/* What the session does for feeds and init plans: of the steps before the last one, or of all. */
extern Cost tsurugi_job_cost_of_feeds(const tsurugi_job *job, bool of_last);

/* Nanoseconds of the session for a row, or a group, that it hands on. */
extern double tsurugi_job_ns_of_row(const tsurugi_job *job);

/* Whether a job that hands rows on, or stores them, reads so many that its start is worth it. */
extern bool tsurugi_job_reads_enough(const tsurugi_job *job);

/* Registers hooks and methods; once, when the library is loaded. */
extern void tsurugi_job_init(void);

/* --- rows.c ---------------------------------------------------------------------------- */

/* Whether a taker wants the rows of the queries that are planned from now on; false: at first. */
extern void tsurugi_job_plan_for_taker(bool wanted);

/* --- order.c -------------------------------------------------------------------------- */

/* A copy whose last step can be changed. */
extern tsurugi_job *tsurugi_job_copy(const tsurugi_job *job);

/* --- node.c --------------------------------------------------------------------------- */

typedef struct tsurugi_job_state tsurugi_job_state;

extern Node *tsurugi_job_create_state(CustomScan *plan);

/* Has a job that hands rows out give them (taker.h), after the executor's start, if it can. */
extern void tsurugi_job_give(PlanState *node, const tsurugi_taker *taker);

extern void tsurugi_job_node_init(void);

#endif /* TSURUGI_JOB_H */
