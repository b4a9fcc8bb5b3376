/*
 * rows.c
 *	  The planner's side of jobs that hand rows out: joins, and tables for a taker.
 *
 * They are offered for the join of all relations of a query that makes no groups.  Limits, windows
 * and sorts above it are PostgreSQL's; jobs that also sort are offered apart (order.c,
 * sorted_input.c).  For each pair of relations that PostgreSQL considers there, the job of their
 * own cheapest paths is a path; cost decides.
 *
 * add_path frees paths that have lost, so each job has a copy of PostgreSQL's cheapest path as its
 * fallback.  When a job has beaten them all, later ones use the same.
 *
 * Tasks hand rows to the session through the pool, which costs more than reading few rows does.
 *
 * A single table with conditions is read by a scan, which hands its rows on at the lowest cost, and
 * PostgreSQL evaluates the conditions.  If a taker wants the rows (taker.h), a job is offered, too:
 * it leaves out rows by vectors, and nothing of those that it gives is done row by row.
 */
#include "postgres.h"

#include "src/job/rows.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"

#include "src/base/settings.h"
#include "src/job/fallback.h"
#include "src/job/job.h"

static set_join_pathlist_hook_type previous_hook;
static bool is_for_taker; /* the query that is planned */

/* --- fallbacks ------------------------------------------------------------------------ */

/* PostgreSQL's cheapest path, or that of the job which has beaten it.  NULL: there is none. */
static Path *
find_fallback(RelOptInfo *rel)
{
	Path *cheapest = NULL;
	Path *copy;
	ListCell *cell;

	foreach (cell, rel->pathlist)
	{
		Path *path = lfirst(cell);

		if (tsurugi_job_is_path(path))
			path = linitial(((CustomPath *) path)->custom_paths);
		if (path->param_info == NULL && tsurugi_job_can_copy_path(path) &&
			(cheapest == NULL || path->total_cost < cheapest->total_cost))
			cheapest = path;
	}
	if (cheapest == NULL)
		return NULL;
	copy = tsurugi_job_copy_path(cheapest);
	copy->pathtarget = copy_pathtarget(rel->reltarget);
	return copy;
}

/* --- paths ---------------------------------------------------------------------------- */

/* A join of the cheapest paths of both sides; only what the job is made of. */
static JoinPath *
pair_path(RelOptInfo *rel, RelOptInfo *outer, RelOptInfo *inner, JoinType type, List *clauses)
{
	JoinPath *path = &makeNode(HashPath)->jpath;

	path->path.pathtype = T_HashJoin;
	path->path.parent = rel;
	path->jointype = type;
	path->outerjoinpath = outer->cheapest_total_path;
	path->innerjoinpath = inner->cheapest_total_path;
	path->joinrestrictinfo = clauses;
	return path;
}

/* One that streams has its first rows when the builds have ended. */
static void
cost_path(const tsurugi_job *job, bool streams, Path *path)
{
	double ns_start = 0;
	double ns_last = tsurugi_job_last(job)->cost;
	ListCell *cell;

	foreach (cell, job->steps)
		if (lfirst(cell) != tsurugi_job_last(job))
			ns_start += ((tsurugi_job_step *) lfirst(cell))->cost;
	path->startup_cost =
		tsurugi_job_cost_of_tasks(ns_start + (streams ? 0 : ns_last)) + tsurugi_job_cost_of_feeds(job, !streams);
	path->total_cost = tsurugi_job_cost_of_tasks(ns_start + ns_last) + tsurugi_job_cost_of_feeds(job, true) +
					   tsurugi_job_cost_of_session(path->rows * tsurugi_job_ns_of_row(job));
	if (tsurugi_jobs == TSURUGI_JOBS_FORCE)
		path->startup_cost = path->total_cost = 0;
	path->startup_cost += path->pathtarget->cost.startup;
	path->total_cost += path->pathtarget->cost.startup + path->pathtarget->cost.per_tuple * path->rows;
}

static bool
is_column(const Node *expr)
{
	return IsA(expr, Var) && ((const Var *) expr)->varattno > 0 && ((const Var *) expr)->varlevelsup == 0;
}

static bool
are_columns(const List *exprs)
{
	ListCell *cell;

	foreach (cell, exprs)
		if (!is_column(lfirst(cell)))
			return false;
	return true;
}

/* Has the job hand the relation's columns out.  False: that cannot be. */
static bool
hands_out(tsurugi_job *job, const RelOptInfo *rel, bool *streams_out)
{
	tsurugi_job_last(job)->sink = TG_DELIVER;
	tsurugi_job_last(job)->keys = list_copy(rel->reltarget->exprs);
	return tsurugi_job_is_computed(job, streams_out);
}

static void
consider_pair(PlannerInfo *root, RelOptInfo *rel, const JoinPath *pair)
{
	tsurugi_job *job = tsurugi_job_of_path(root, (Path *) pair);
	CustomPath *path;
	Path *fallback;
	bool streams;

	if (job == NULL || !tsurugi_job_reads_enough(job) || (fallback = find_fallback(rel)) == NULL)
		return;
	if (!hands_out(job, rel, &streams))
	{
		job = tsurugi_job_of_path_fed(root, (Path *) pair);
		if (job == NULL || !hands_out(job, rel, &streams))
			return;
	}
	path = tsurugi_job_make_path(job, fallback, NULL);
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.rows = rel->rows;
	cost_path(job, streams, &path->path);
	add_path(rel, &path->path);
}

/* Whether the query hands on the rows of its joins, one by one. */
static bool
hands_rows_on(const PlannerInfo *root)
{
	const Query *query = root->parse;

	return query->groupClause == NIL && query->groupingSets == NIL && !query->hasAggs && query->distinctClause == NIL &&
		   root->rowMarks == NIL && (query->commandType == CMD_SELECT || query->commandType == CMD_INSERT);
}

static void
offer_rows(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *outer, RelOptInfo *inner, JoinType type,
		   JoinPathExtraData *extra)
{
	if (previous_hook != NULL)
		previous_hook(root, rel, outer, inner, type, extra);
	if (tsurugi_jobs == TSURUGI_JOBS_OFF || rel->reloptkind != RELOPT_JOINREL ||
		!bms_equal(rel->relids, root->all_baserels) || !bms_is_empty(rel->lateral_relids) || !hands_rows_on(root))
		return;
	if (type != JOIN_INNER && type != JOIN_LEFT && type != JOIN_RIGHT && type != JOIN_FULL && type != JOIN_SEMI &&
		type != JOIN_ANTI)
		return;
	if (outer->cheapest_total_path == NULL || outer->cheapest_total_path->param_info != NULL ||
		inner->cheapest_total_path == NULL || inner->cheapest_total_path->param_info != NULL ||
		!are_columns(rel->reltarget->exprs))
		return;
	consider_pair(root, rel, pair_path(rel, outer, inner, type, extra->restrictlist));
}

/* --- tables ----------------------------------------------------------------------------- */

void
tsurugi_job_plan_for_taker(bool wanted)
{
	is_for_taker = wanted;
}

/* Whether the query is nothing but one table, or a partitioned one, with conditions. */
static bool
is_filtered_table(const PlannerInfo *root, const RelOptInfo *input)
{
	const Query *query = root->parse;

	return input->reloptkind == RELOPT_BASEREL && input->rtekind == RTE_RELATION && input->baserestrictinfo != NIL &&
		   root->query_level == 1 && hands_rows_on(root) && query->commandType == CMD_SELECT &&
		   query->sortClause == NIL && query->limitCount == NULL && query->limitOffset == NULL &&
		   !query->hasTargetSRFs && !query->hasWindowFuncs && input->cheapest_total_path != NULL &&
		   input->cheapest_total_path->param_info == NULL;
}

/* What the job hands out is what the fallback does: each column once. */
static bool
are_different(const List *exprs)
{
	return list_length(list_union(NIL, exprs)) == list_length(exprs);
}

/* Rows that come only when all are there have to have room. */
static bool
have_room(const Path *path)
{
	return path->rows * path->pathtarget->width < tsurugi_job_memory_kb * 1024.0 / 2;
}

void
tsurugi_job_offer_rows(PlannerInfo *root, const RelOptInfo *input, RelOptInfo *final)
{
	const Path *cheapest = input->cheapest_total_path;
	tsurugi_job *job;
	CustomPath *path;
	RelOptInfo *parent;
	bool streams;

	if (!is_for_taker || !is_filtered_table(root, input) || !are_columns(cheapest->pathtarget->exprs) ||
		!are_different(cheapest->pathtarget->exprs) || !tsurugi_job_can_copy_path(cheapest))
		return;
	job = tsurugi_job_of_path(root, (Path *) cheapest);
	if (job == NULL || !tsurugi_job_reads_enough(job))
		return;
	tsurugi_job_last(job)->sink = TG_DELIVER;
	tsurugi_job_last(job)->keys = list_copy(cheapest->pathtarget->exprs);
	if (!tsurugi_job_is_computed(job, &streams) || (!streams && !have_room(cheapest)))
		return;
	path = tsurugi_job_make_path(job, tsurugi_job_copy_path(cheapest), NULL);
	/* EXPLAIN names the tables that a CustomScan's relation has */
	parent = makeNode(RelOptInfo);
	*parent = *final;
	parent->relids = root->all_baserels;
	path->path.parent = parent;
	path->path.pathtarget = cheapest->pathtarget;
	path->path.rows = cheapest->rows;
	cost_path(job, streams, &path->path);
	/* no row is put into a slot, as those of a scan are, which is not charged for that */
	path->path.total_cost -= 2 * tsurugi_job_cost_of_session(path->path.rows * tsurugi_job_ns_of_row(job));
	path->path.total_cost = Max(path->path.total_cost, path->path.startup_cost);
	add_path(final, &path->path);
}

void
tsurugi_job_rows_init(void)
{
	previous_hook = set_join_pathlist_hook;
	set_join_pathlist_hook = offer_rows;
}
