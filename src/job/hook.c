/*
 * hook.c
 *	  The planner's side: which aggregations can be jobs, and what they cost.
 *
 * A path with a job is offered beside PostgreSQL's own for GROUP BY, aggregates and DISTINCT; cost
 * decides.
 * It has PostgreSQL's cheapest one below it, as its fallback.  It is put into the list of paths by
 * hand, because add_path would free the fallback where it is dearer.
 */
#include "postgres.h"

#include "src/job/job.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "src/base/settings.h"
#include "src/job/code.h"

#define NS_UNIT 10000  /* that PostgreSQL's plans take for a unit of its costs, on tables in memory */
#define NS_START 40000 /* of a job */
#define NS_GROUP 13	   /* a row that looks for its group */
#define NS_AGGREGATE 4 /* one that is aggregated, for each function */
#define NS_RESULT 300  /* a group that is handed out */

static create_upper_paths_hook_type previous_hook;

/* --- what it computes ----------------------------------------------------------------- */

/* The groups' expressions under construction. */
typedef struct Outputs
{
	tsurugi_job *job;
	bool unfit;
} Outputs;

/* Adds what an expression above the groups is computed from: keys, aggregates, columns. */
static bool
collect(Node *node, Outputs *outputs)
{
	if (node == NULL || list_member(outputs->job->keys, node))
		return false;
	if (IsA(node, Aggref))
		outputs->job->aggregates = list_append_unique(outputs->job->aggregates, node);
	else if (IsA(node, Var) && ((Var *) node)->varlevelsup == 0)
		outputs->job->keys = lappend(outputs->job->keys, node); /* the keys determine it */
	else if (IsA(node, PlaceHolderVar) || IsA(node, GroupingFunc))
		outputs->unfit = true;
	else
		return expression_tree_walker(node, collect, outputs);
	return false;
}

static bool
add_outputs(PlannerInfo *root, tsurugi_job *job, List *clause, const PathTarget *target, Node *having)
{
	Outputs outputs = {.job = job};

	job->keys = list_copy(get_sortgrouplist_exprs(clause, root->processed_tlist));
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
		foreach (inner, ((tsurugi_job_step *) lfirst(cell))->operators)
			if (!can_be_computed_once(((tsurugi_job_operator *) lfirst(inner))->clauses))
				return false;
	return can_be_computed_once(job->keys) && can_be_computed_once(job->aggregates);
}

static void
describe_tables(PlannerInfo *root, tsurugi_job *job)
{
	ListCell *cell;
	ListCell *inner;

	foreach (cell, job->steps)
	{
		tsurugi_job_step *step = lfirst(cell);
		Relation of;

		if (step->tables == NIL)
			continue;
		of = RelationIdGetRelation(planner_rt_fetch(step->relation, root)->relid);
		foreach (inner, step->tables)
		{
			tsurugi_job_table *table = lfirst(inner);
			Relation relation = RelationIdGetRelation(planner_rt_fetch(table->relation, root)->relid);

			tsurugi_job_describe(table, of, relation);
			RelationClose(relation);
		}
		RelationClose(of);
	}
}

/* Whether it can be translated, as far as that can be known. */
static bool
is_translated(const tsurugi_job *job)
{
	MemoryContext memory = AllocSetContextCreate(CurrentMemoryContext, "translation", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(memory);
	bool translated = tsurugi_job_translate(job, NULL) != NULL;

	MemoryContextSwitchTo(before);
	MemoryContextDelete(memory);
	return translated;
}

/* --- paths ---------------------------------------------------------------------------- */

static Plan *plan_custom_path(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist, List *clauses,
							  List *custom_plans);

static const CustomPathMethods path_methods = {.CustomName = "Tsurugi Job", .PlanCustomPath = plan_custom_path};
static const CustomScanMethods scan_methods = {.CustomName = "Tsurugi Job",
											   .CreateCustomScanState = tsurugi_job_create_state};

static void
cost_path(const tsurugi_job *job, double input_rows, Path *path)
{
	unsigned workers = tsurugi_worker_count();
	double ns = input_rows * (NS_GROUP * (job->keys != NIL) + NS_AGGREGATE * list_length(job->aggregates));
	ListCell *cell;

	foreach (cell, job->steps)
		ns += ((tsurugi_job_step *) lfirst(cell))->cost;
	if (tsurugi_job_tasks > 0)
		workers = Min(workers, (unsigned) tsurugi_job_tasks);
	path->startup_cost = (NS_START + ns / workers) / NS_UNIT;
	path->total_cost = path->startup_cost + path->rows * NS_RESULT / NS_UNIT;
	if (tsurugi_jobs == TSURUGI_JOBS_FORCE)
		path->startup_cost = path->total_cost = 0;
}

/* Of paths that make groups, by kind; 0: others. */
static Size
size_of_path(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_AggPath:
			return sizeof(AggPath);
		case T_GroupPath:
			return sizeof(GroupPath);
		case T_ProjectionPath:
			return sizeof(ProjectionPath);
		case T_UpperUniquePath:
			return sizeof(UpperUniquePath);
		default:
			return 0;
	}
}

/*
 * A copy of the cheapest path: later stages of the planner free paths that have lost, and change
 * others.  NULL: there is none.  That of min() and max() by an index replaces aggregates by
 * parameters in the whole plan, and is left out.
 */
static Path *
make_fallback(const RelOptInfo *rel)
{
	const Path *cheapest = NULL;
	Path *copy;
	ListCell *cell;

	foreach (cell, rel->pathlist)
	{
		const Path *path = lfirst(cell);

		if (path->param_info == NULL && size_of_path(path) > 0 &&
			(cheapest == NULL || path->total_cost < cheapest->total_cost))
			cheapest = path;
	}
	if (cheapest == NULL)
		return NULL;
	copy = palloc(size_of_path(cheapest));
	memcpy(copy, cheapest, size_of_path(cheapest));
	return copy;
}

/* The list is in the order of total costs. */
static void
add_path_by_hand(RelOptInfo *rel, Path *path)
{
	int place = 0;

	while (place < list_length(rel->pathlist) &&
		   ((Path *) list_nth(rel->pathlist, place))->total_cost <= path->total_cost)
		place++;
	rel->pathlist = list_insert_nth(rel->pathlist, place, path);
}

static void
add_job_path(PlannerInfo *root, RelOptInfo *rel, tsurugi_job *job, double input_rows, Path *fallback, Node *having)
{
	CustomPath *path = makeNode(CustomPath);
	RelOptInfo *parent = makeNode(RelOptInfo);

	/* EXPLAIN names the tables that a CustomScan's relation has. */
	*parent = *rel;
	parent->relids = root->all_baserels;
	path->path.pathtype = T_CustomScan;
	path->path.parent = parent;
	path->path.pathtarget = fallback->pathtarget;
	path->path.rows = fallback->rows;
	path->methods = &path_methods;
	path->custom_paths = list_make1(fallback);
	path->custom_private = list_make2(job, having);
	cost_path(job, input_rows, &path->path);
	add_path_by_hand(rel, &path->path);
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
	plan->methods = &scan_methods;
	tsurugi_job_to_plan(linitial(path->custom_private), plan);
	return &plan->scan.plan;
}

/* Groups by the clause's columns, of the rows of a scan or join. */
static void
consider_groups(PlannerInfo *root, RelOptInfo *input_rel, RelOptInfo *output_rel, List *clause, Node *having)
{
	tsurugi_job *job;
	Path *fallback;

	if ((input_rel->reloptkind != RELOPT_BASEREL && input_rel->reloptkind != RELOPT_JOINREL) || root->rowMarks != NIL ||
		input_rel->cheapest_total_path == NULL)
		return;
	job = tsurugi_job_of_path(root, input_rel->cheapest_total_path);
	fallback = job == NULL ? NULL : make_fallback(output_rel);
	if (fallback == NULL || !add_outputs(root, job, clause, fallback->pathtarget, having) || !exprs_are_fit(job))
		return;
	describe_tables(root, job);
	if (is_translated(job))
		add_job_path(root, output_rel, job, input_rel->rows, fallback, having);
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
	else if (stage == UPPERREL_DISTINCT && !query->hasDistinctOn && !query->hasTargetSRFs)
		consider_groups(root, input_rel, output_rel, query->distinctClause, NULL);
}

void
tsurugi_job_init(void)
{
	previous_hook = create_upper_paths_hook;
	create_upper_paths_hook = offer_jobs;
	RegisterCustomScanMethods(&scan_methods);
	tsurugi_job_node_init();
}
