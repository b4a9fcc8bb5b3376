/*
 * store.c
 *	  The planner's side of jobs that store rows: INSERT ... SELECT.
 *
 * The rows are those of a scan or join, or the groups of a subquery; the select list is computed by
 * the job, column by column of the table (store_column.c).  The job takes the place of PostgreSQL's
 * ModifyTable, which is its fallback.  Privileges and READ ONLY transactions are checked by the
 * executor, from the range table; the number of rows is given to it for the command tag (node.c).
 *
 * A job with feeds stores nothing: while its tasks write for the session's transaction, the session
 * runs no plan.
 *
 * What the executor does for a row besides storing it stays PostgreSQL's: triggers, foreign keys,
 * ON CONFLICT, RETURNING, check options, partitions, generated columns, EXCLUDE and DEFERRABLE
 * keys, indexes on expressions; and every expression that jobs do not compute, as nextval, also in
 * a CHECK.
 *
 * PostgreSQL does not count what storing a row costs, and neither does the path of a job: tasks do
 * not need more for it than the session does.
 */
#include "postgres.h"

#include "src/job/store.h"

#include "catalog/pg_class.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"
#include "utils/rel.h"

#include "runtime/query/plan.h"
#include "src/base/settings.h"
#include "src/job/feed.h"
#include "src/job/job.h"

/* --- what tables ---------------------------------------------------------------------- */

/*
 * The table's CHECK constraints.  Nothing of them is evaluated in the planner, where the statement
 * does not run yet; a translation evaluates what has no columns when it does, as the executor does.
 */
static List *
find_checks(const Relation relation)
{
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;
	List *checks = NIL;

	for (int i = 0; constraints != NULL && i < constraints->num_check; i++)
	{
		Node *check = stringToNode(constraints->check[i].ccbin);

		fix_opfuncids(check);
		checks = lappend(checks, check);
	}
	return checks;
}

bool
tsurugi_job_describe_into(tsurugi_job *job, Relation relation)
{
	TupleDesc descriptor = RelationGetDescr(relation);
	bool *not_null = palloc(Max(descriptor->natts, 1) * sizeof(bool));

	tsurugi_job_describe(job->into, relation, relation);
	for (int i = 0; i < descriptor->natts; i++)
		not_null[i] = TupleDescAttr(descriptor, i)->attnotnull && !TupleDescAttr(descriptor, i)->attisdropped;
	job->into_not_null = not_null;
	job->into_checks = find_checks(relation);
	return tsurugi_relation_by_sessions(relation, job->into->described) == NULL;
}

static bool
is_fit_table(Oid oid)
{
	Relation relation;
	bool fit;

	if (!tsurugi_is_our_table(oid))
		return false;
	relation = RelationIdGetRelation(oid);
	fit = tsurugi_relation_by_sessions(relation, tsurugi_relation_get(relation)) == NULL;
	RelationClose(relation);
	return fit;
}

/* --- what statements ------------------------------------------------------------------ */

/* PostgreSQL's cheapest path for the statement; NULL: it has something that a job does not do. */
static const ModifyTablePath *
find_modify(const PlannerInfo *root, const RelOptInfo *final)
{
	const Query *query = root->parse;
	const ModifyTablePath *cheapest = NULL;
	ListCell *cell;

	if (root->query_level != 1 || !query->canSetTag || query->hasModifyingCTE || query->hasTargetSRFs ||
		query->rowMarks != NIL)
		return NULL;
	foreach (cell, final->pathlist)
	{
		const ModifyTablePath *path = lfirst(cell);

		if (!IsA(path, ModifyTablePath) || path->returningLists != NIL || path->withCheckOptionLists != NIL ||
			path->onconflict != NULL || list_length(path->resultRelations) != 1)
			return NULL;
		if (cheapest == NULL || path->path.total_cost < cheapest->path.total_cost)
			cheapest = path;
	}
	return cheapest;
}

/* The steps that make the rows; NULL: they are not those of a job. */
static tsurugi_job *
job_of_source(PlannerInfo *root, const RelOptInfo *input)
{
	Path *path = input->cheapest_total_path;
	const tsurugi_job *job;

	if ((input->reloptkind != RELOPT_BASEREL && input->reloptkind != RELOPT_JOINREL) || path == NULL ||
		path->param_info != NULL)
		return NULL;
	while (IsA(path, ProjectionPath)) /* of the select list */
		path = ((ProjectionPath *) path)->subpath;
	if (!tsurugi_job_is_path(path))
		return tsurugi_job_of_path(root, path);
	job = linitial(((const CustomPath *) path)->custom_private);
	return tsurugi_job_last(job)->sink == TG_DELIVER ? tsurugi_job_copy(job) : NULL;
}

/* --- paths ---------------------------------------------------------------------------- */

static void
cost_path(const tsurugi_job *job, Path *path)
{
	double ns = 0;
	ListCell *cell;

	foreach (cell, job->steps)
		ns += ((const tsurugi_job_step *) lfirst(cell))->cost;
	path->startup_cost = path->total_cost = tsurugi_jobs == TSURUGI_JOBS_FORCE ? 0 : tsurugi_job_cost_of_tasks(ns);
}

static void
add_job_path(PlannerInfo *root, RelOptInfo *final, tsurugi_job *job, const ModifyTablePath *fallback)
{
	CustomPath *path = tsurugi_job_make_path(job, (Path *) fallback, NULL);
	RelOptInfo *parent = makeNode(RelOptInfo);

	path->flags = 0; /* it has no rows */
	/* EXPLAIN names the tables that a CustomScan's relation has. */
	*parent = *final;
	parent->relids = bms_add_member(bms_copy(root->all_baserels), (int) job->into->relation);
	path->path.parent = parent;
	/* The planner wants the statement's columns. */
	path->path.pathtarget = create_pathtarget(root, root->processed_tlist);
	path->path.rows = 0;
	cost_path(job, &path->path);
	tsurugi_job_add_path_by_hand(final, &path->path);
}

void
tsurugi_job_offer_store(PlannerInfo *root, RelOptInfo *input, RelOptInfo *final)
{
	const ModifyTablePath *modify = find_modify(root, final);
	Index target = modify == NULL ? 0 : (Index) linitial_int(modify->resultRelations);
	tsurugi_job *job;
	bool streams;

	if (modify == NULL || !is_fit_table(planner_rt_fetch(target, root)->relid))
		return;
	job = job_of_source(root, input);
	if (job == NULL || tsurugi_job_has_feeds(job) || !tsurugi_job_reads_enough(job))
		return;
	job->into = palloc0(sizeof(*job->into));
	job->into->relation = target;
	job->into->oid = planner_rt_fetch(target, root)->relid;
	tsurugi_job_last(job)->sink = TG_STORE;
	tsurugi_job_last(job)->keys = get_tlist_exprs(root->processed_tlist, false);
	if (tsurugi_job_is_computed(job, &streams))
		add_job_path(root, final, job, modify);
}
