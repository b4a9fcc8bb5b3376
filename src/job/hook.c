/*
 * hook.c
 *	  The planner's side: which aggregations can be jobs, and what they cost.
 *
 * A path with a job is offered beside PostgreSQL's own for GROUP BY, aggregates and DISTINCT; cost
 * decides.  It has PostgreSQL's cheapest one below it, as its fallback.  It is put into the list of
 * paths by hand, because add_path would free the fallback where it is dearer.
 *
 * A job that reads few rows, by an index as PostgreSQL's path does, begins in place at the cost of
 * a few dozen rows in PostgreSQL's executor; any other one at ten times as much, as in the pool.
 *
 * Costs are compared for the rows that joins are likely to have (likely.c).  Where PostgreSQL's
 * path is estimated too low by that, the job's cost is lowered in the same proportion.
 */
#include "postgres.h"

#include "src/job/job.h"

#include "access/transam.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"

#include "runtime/query/query.h"
#include "src/base/settings.h"
#include "src/job/absorb.h"
#include "src/job/append.h"
#include "src/job/code.h"
#include "src/job/decorrelate.h"
#include "src/job/fallback.h"
#include "src/job/feed.h"
#include "src/job/likely.h"
#include "src/job/order.h"
#include "src/job/probe_cost.h"
#include "src/job/rows.h"
#include "src/job/set.h"
#include "src/job/sorted_input.h"
#include "src/job/store.h"

#define NS_UNIT 10000  /* that PostgreSQL's plans take for a unit of its costs, on tables in memory */
#define NS_START 40000 /* of a job in the pool, */
#define NS_SHORT 3000  /* and in place, beyond that of PostgreSQL's plan */
#define NS_GROUP 13	   /* a row that looks for its group */
#define NS_AGGREGATE 4 /* one that is aggregated, for each function */
#define NS_NEW 70	   /* a group that is made, and merged with those of other tasks */
#define NS_ROW_OUT 60  /* a row or a group that is handed out */
#define NS_COLUMN_OUT 10
#define ROWS_FEW 10000 /* to read */

static create_upper_paths_hook_type previous_hook;

/* --- what it computes ----------------------------------------------------------------- */

/* The groups' expressions under construction. */
typedef struct Outputs
{
	tsurugi_job_step *step;
	bool unfit;
} Outputs;

/* Adds what an expression above the groups is computed from: keys, aggregates, columns. */
static bool
collect(Node *node, Outputs *outputs)
{
	if (node == NULL || list_member(outputs->step->keys, node))
		return false;
	if (IsA(node, Aggref))
		outputs->step->aggregates = list_append_unique(outputs->step->aggregates, node);
	else if (IsA(node, Var) && ((Var *) node)->varlevelsup == 0)
		outputs->step->keys = lappend(outputs->step->keys, node); /* the keys determine it */
	else if (IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc))
		outputs->unfit = true;
	else
		return expression_tree_walker(node, collect, outputs);
	return false;
}

static bool
add_outputs(PlannerInfo *root, tsurugi_job *job, List *clause, const PathTarget *target, Node *having)
{
	Outputs outputs = {.step = tsurugi_job_last(job)};

	outputs.step->keys = list_copy(get_sortgrouplist_exprs(clause, root->processed_tlist));
	(void) collect((Node *) target->exprs, &outputs);
	(void) collect(having, &outputs);
	return !outputs.unfit;
}

static bool
can_be_computed_once(const void *exprs)
{
	return !contain_volatile_functions((Node *) exprs) && !contain_subplans((Node *) exprs);
}

static bool
exprs_are_fit(const tsurugi_job *job)
{
	ListCell *cell;
	ListCell *inner;

	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);

		foreach (inner, step->operators)
			if (!can_be_computed_once(((tsurugi_job_operator *) lfirst(inner))->clauses))
				return false;
		foreach (inner, step->tables)
			if (!can_be_computed_once(((tsurugi_job_table *) lfirst(inner))->values))
				return false;
		foreach (inner, step->order)
			if (!can_be_computed_once(((const tsurugi_job_key *) lfirst(inner))->expr))
				return false;
		if (!can_be_computed_once(step->keys) || !can_be_computed_once(step->aggregates) ||
			!can_be_computed_once(step->outputs) || !can_be_computed_once(step->branch))
			return false;
		if (step->append != 0 && step->sink == TG_STORE)
			return false;
	}
	return true;
}

static void
describe_tables(tsurugi_job *job)
{
	ListCell *cell;
	ListCell *inner;

	if (tsurugi_job_stores(job))
	{
		Relation into = RelationIdGetRelation(job->into->oid);

		tsurugi_job_describe_into(job, into);
		RelationClose(into);
	}
	foreach (cell, job->steps)
	{
		tsurugi_job_step *step = lfirst(cell);
		Relation of;

		if (step->tables == NIL)
			continue;
		of = RelationIdGetRelation(step->oid);
		foreach (inner, step->tables)
		{
			tsurugi_job_table *table = lfirst(inner);
			Relation relation = RelationIdGetRelation(table->oid);

			tsurugi_job_describe(table, of, relation);
			RelationClose(relation);
		}
		RelationClose(of);
	}
}

/* --- DISTINCT in aggregates ----------------------------------------------------------- */

/* Whether the aggregate of all rows can be made of those of some of them. */
static bool
is_combined(const Aggref *aggref)
{
	static const char *const names[] = {"count", "sum", "min", "max", "bool_and", "bool_or", "every"};
	const char *name = aggref->aggfnoid < FirstUnpinnedObjectId ? get_func_name(aggref->aggfnoid) : NULL;

	for (int i = 0; name != NULL && i < lengthof(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* What the DISTINCT aggregates are of: all of the same.  NULL: they are not, or there is none. */
static Expr *
find_distinct_argument(const List *aggregates)
{
	Expr *argument = NULL;
	ListCell *cell;

	foreach (cell, aggregates)
	{
		const Aggref *aggref = lfirst(cell);
		Expr *expr;

		if (aggref->aggdistinct == NIL && is_combined(aggref))
			continue;
		if (aggref->aggdistinct == NIL || aggref->aggfilter != NULL || list_length(aggref->args) != 1)
			return NULL;
		expr = linitial_node(TargetEntry, aggref->args)->expr;
		if (argument != NULL && !equal(argument, expr))
			return NULL;
		argument = expr;
	}
	return argument;
}

/*
 * Aggregates of distinct values: rows are grouped by these, too, then the groups are aggregated.
 * Those of all rows are made of what they are in these groups.
 */
static void
split_distinct(tsurugi_job *job)
{
	tsurugi_job_step *values = tsurugi_job_last(job);
	Expr *argument = find_distinct_argument(values->aggregates);
	tsurugi_job_step *groups;
	ListCell *cell;

	if (argument == NULL)
		return;
	groups = palloc0(sizeof(*groups));
	groups->source = TG_FROM_ROWS;
	groups->from = list_length(job->steps) - 1;
	groups->sink = TG_GROUP;
	groups->keys = values->keys;
	groups->aggregates = values->aggregates;
	groups->distinct = true;
	values->keys = list_append_unique(list_copy(values->keys), argument);
	values->aggregates = NIL;
	foreach (cell, groups->aggregates)
		if (lfirst_node(Aggref, cell)->aggdistinct == NIL)
			values->aggregates = lappend(values->aggregates, lfirst(cell));
	job->steps = lappend(job->steps, groups);
}

static bool
is_translated(const tsurugi_job *job, bool *streams_out)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "translation", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(memory);
	const tsurugi_job_code *code = tsurugi_job_translate(job, NULL);
	bool translated = code != NULL;

	*streams_out = translated && tsurugi_job_streams(code);
	MemoryContextSwitchTo(before);
	MemoryContextDelete(memory);
	return translated;
}

bool
tsurugi_job_is_computed(tsurugi_job *job, bool *streams_out)
{
	tsurugi_job_spread(job);
	if (list_length(job->steps) > TG_PLAN_STEPS_MAX || !exprs_are_fit(job) || !tsurugi_job_branches_are_fit(job))
		return false;
	describe_tables(job);
	return is_translated(job, streams_out);
}

/* --- paths ---------------------------------------------------------------------------- */

static Plan *plan_custom_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
							  List *custom_plans);

static const CustomPathMethods path_methods = {.CustomName = "Tsurugi Job", .PlanCustomPath = plan_custom_path};
static const CustomScanMethods scan_methods = {.CustomName = "Tsurugi Job",
											   .CreateCustomScanState = tsurugi_job_create_state};

/* Of the groups alone, in nanoseconds of one core. */
static double
cost_of_groups(const tsurugi_job *job, double input_rows, double groups)
{
	const tsurugi_job_step *last = tsurugi_job_last(job);

	return tsurugi_job_cost_of_grouped(input_rows, groups, tsurugi_job_column_count(last)) +
		   input_rows * (NS_GROUP * (last->keys != NIL) + NS_AGGREGATE * list_length(last->aggregates)) +
		   groups * NS_NEW + (last->distinct ? 2 * input_rows * NS_GROUP : 0);
}

Cost
tsurugi_job_cost_of_tasks(double ns)
{
	unsigned workers = tg_query_runs_in_place(UINT64_MAX) ? 1 : tsurugi_worker_count();

	if (tsurugi_job_tasks > 0)
		workers = Min(workers, (unsigned) tsurugi_job_tasks);
	return (NS_START + ns / Max(workers, 1)) / NS_UNIT;
}

/*
 * Whether the job reads few rows, and reads them as PostgreSQL's path does.  If it reads more of a
 * table than that, a short transaction at SERIALIZABLE would pay with conflicts for little.
 */
static bool
is_short(const tsurugi_job *job)
{
	double rows = 0;
	ListCell *cell;
	ListCell *inner;

	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);

		foreach (inner, step->tables)
		{
			const tsurugi_job_table *table = lfirst(inner);

			if (!table->as_path)
				return false;
			rows += table->rows;
		}
		if (step->source == TG_FROM_FEED)
			rows += step->rows_read;
	}
	return tg_query_runs_in_place((uint64_t) rows);
}

/* The same of a job that makes groups, which may be short. */
static Cost
cost_of_job(const tsurugi_job *job, double ns)
{
	if (is_short(job))
		return (NS_SHORT + ns) / NS_UNIT;
	return tsurugi_job_cost_of_tasks(ns);
}

Cost
tsurugi_job_cost_of_session(double ns)
{
	return ns / NS_UNIT;
}

Cost
tsurugi_job_cost_of_feeds(const tsurugi_job *job, bool of_last)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, job->steps)
		if (of_last || lfirst(cell) != tsurugi_job_last(job))
			cost += ((const tsurugi_job_step *) lfirst(cell))->feed_cost;
	return cost;
}

double
tsurugi_job_ns_of_row(const tsurugi_job *job)
{
	return NS_ROW_OUT + NS_COLUMN_OUT * tsurugi_job_column_count(tsurugi_job_last(job));
}

bool
tsurugi_job_reads_enough(const tsurugi_job *job)
{
	double rows = 0;
	ListCell *cell;

	foreach (cell, job->steps)
		rows += ((const tsurugi_job_step *) lfirst(cell))->rows_read;
	return tsurugi_jobs == TSURUGI_JOBS_FORCE || rows >= ROWS_FEW;
}

static void
cost_path(const tsurugi_job *job, double input_rows, double proportion, Path *path)
{
	double ns = cost_of_groups(job, input_rows, path->rows);
	ListCell *cell;

	foreach (cell, job->steps)
		ns += ((tsurugi_job_step *) lfirst(cell))->cost;
	path->startup_cost = proportion * (cost_of_job(job, ns) + tsurugi_job_cost_of_feeds(job, true));
	path->total_cost =
		path->startup_cost + proportion * tsurugi_job_cost_of_session(path->rows * tsurugi_job_ns_of_row(job));
	if (tsurugi_jobs == TSURUGI_JOBS_FORCE)
		path->startup_cost = path->total_cost = 0;
}

/* A copy of the cheapest path; NULL: there is none. */
Path *
tsurugi_job_make_fallback(const RelOptInfo *rel)
{
	const Path *cheapest = NULL;
	ListCell *cell;

	foreach (cell, rel->pathlist)
	{
		const Path *path = lfirst(cell);

		if (path->param_info == NULL && tsurugi_job_can_copy_path(path) &&
			(cheapest == NULL || path->total_cost < cheapest->total_cost))
			cheapest = path;
	}
	return cheapest == NULL ? NULL : tsurugi_job_copy_path(cheapest);
}

/* The list is in the order of total costs. */
void
tsurugi_job_add_path_by_hand(RelOptInfo *rel, Path *path)
{
	int place = 0;

	while (place < list_length(rel->pathlist) &&
		   ((Path *) list_nth(rel->pathlist, place))->total_cost <= path->total_cost)
		place++;
	rel->pathlist = list_insert_nth(rel->pathlist, place, path);
}

CustomPath *
tsurugi_job_make_path(tsurugi_job *job, Path *fallback, Node *having)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->methods = &path_methods;
	path->custom_paths = lcons(fallback, tsurugi_job_feed_paths(job));
	path->custom_private = list_make2(job, having);
	return path;
}

bool
tsurugi_job_is_path(const Path *path)
{
	return IsA(path, CustomPath) && ((const CustomPath *) path)->methods == &path_methods;
}

void
tsurugi_job_offer_groups(PlannerInfo *root, RelOptInfo *rel, tsurugi_job *job, double input_rows, Path *fallback,
						 Node *having, Node *times)
{
	tsurugi_job_note note = {.job = job,
							 .having = (List *) having,
							 .times = times,
							 .rows = fallback->rows,
							 .cost = cost_of_groups(job, input_rows, fallback->rows)};

	CustomPath *path = tsurugi_job_make_path(job, fallback, having);
	RelOptInfo *parent = makeNode(RelOptInfo);
	tsurugi_likely likely = tsurugi_job_likely(root, fallback);

	tsurugi_job_note_put(rel, &note);
	path->flags = 0; /* its fallback has the same target list */
	/* EXPLAIN names the tables that a CustomScan's relation has. */
	*parent = *rel;
	parent->relids = job->set == 0 ? root->all_baserels : rel->relids;
	path->path.parent = parent;
	path->path.pathtarget = fallback->pathtarget;
	path->path.rows = fallback->rows;
	cost_path(job, input_rows, fallback->total_cost / Max(likely.cost, 1e-6), &path->path);
	tsurugi_job_add_path_by_hand(rel, &path->path);
}

static Plan *
plan_custom_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses, List *custom_plans)
{
	CustomScan *plan = makeNode(CustomScan);
	const Plan *fallback = linitial(custom_plans);

	/* A caller that ignores the target list gives none. */
	plan->scan.plan.targetlist = tlist != NIL ? tlist : copyObject(fallback->targetlist);
	plan->scan.plan.qual = copyObject(lsecond(path->custom_private));
	plan->custom_plans = custom_plans;
	tsurugi_job_take_feeds(linitial(path->custom_private), custom_plans);
	plan->flags = path->flags;
	plan->methods = &scan_methods;
	tsurugi_job_to_plan(linitial(path->custom_private), plan);
	tsurugi_job_claim_tables(root, linitial(path->custom_private), plan);
	return &plan->scan.plan;
}

/* Has the job make groups by the clause's columns.  False: that cannot be. */
static bool
makes_groups(PlannerInfo *root, tsurugi_job *job, List *clause, const PathTarget *target, Node *having)
{
	bool streams;

	if (!add_outputs(root, job, clause, target, having))
		return false;
	split_distinct(job);
	return tsurugi_job_is_computed(job, &streams);
}

/* Groups by the clause's columns, of the rows of a scan or join. */
static void
consider_groups(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel, List *clause, Node *having)
{
	tsurugi_job *job;
	Path *fallback;
	double input_rows;

	if ((input_rel->reloptkind != RELOPT_BASEREL && input_rel->reloptkind != RELOPT_JOINREL) || root->rowMarks != NIL ||
		input_rel->cheapest_total_path == NULL)
		return;
	job = tsurugi_job_of_path(root, input_rel->cheapest_total_path);
	fallback = job == NULL ? NULL : tsurugi_job_make_fallback(output_rel);
	if (fallback == NULL)
		return;
	if (!makes_groups(root, job, clause, fallback->pathtarget, having))
	{
		job = tsurugi_job_of_path_fed(root, input_rel->cheapest_total_path);
		if (job == NULL || !makes_groups(root, job, clause, fallback->pathtarget, having))
			return;
	}
	input_rows = tsurugi_job_likely(root, input_rel->cheapest_total_path).rows;
	tsurugi_job_offer_groups(root, output_rel, job, input_rows, fallback, having, NULL);
}

static void
offer_jobs(PlannerInfo *root, UpperRelationKind stage, RelOptInfo *input_rel, RelOptInfo *output_rel, void *extra)
{
	const Query *query = root->parse;

	if (previous_hook != NULL)
		previous_hook(root, stage, input_rel, output_rel, extra);
	if (tsurugi_jobs == TSURUGI_JOBS_OFF)
		return;
	if (stage == UPPERREL_GROUP_AGG && query->groupingSets == NIL)
		consider_groups(root, input_rel, output_rel, query->groupClause, ((GroupPathExtraData *) extra)->havingQual);
	else if (stage == UPPERREL_ORDERED)
		tsurugi_job_offer_order(root, input_rel, output_rel);
	else if (stage == UPPERREL_SETOP)
		tsurugi_job_offer_set(root, output_rel);
	else if (stage == UPPERREL_FINAL && query->commandType == CMD_INSERT)
		tsurugi_job_offer_store(root, input_rel, output_rel);
	else if (stage == UPPERREL_FINAL)
		tsurugi_job_offer_rows(root, input_rel, output_rel);
	else if (stage == UPPERREL_DISTINCT && !query->hasDistinctOn && !query->hasTargetSRFs)
		consider_groups(root, input_rel, output_rel, query->distinctClause, NULL);
	if (stage == UPPERREL_GROUP_AGG || stage == UPPERREL_WINDOW || stage == UPPERREL_DISTINCT)
		tsurugi_job_offer_sorted_input(root, input_rel, output_rel);
}

void
tsurugi_job_init(void)
{
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = offer_jobs;
	tsurugi_job_absorb_init();
	tsurugi_job_decorrelate_init();
	tsurugi_job_rows_init();
	RegisterCustomScanMethods(&scan_methods);
	tsurugi_job_node_init();
}
