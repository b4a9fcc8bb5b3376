/*
 * absorb.c
 *	  Subqueries whose steps become steps of the query around them.
 *
 * When a query's groups can be a job, that job is noted, whether its path is taken or not.  Where
 * the query is a subquery of another one that can be a job, too, its steps are copied in front of
 * that one's, and a further step reads its groups.
 *
 * A job with feeds is not absorbed: their plans are those of the subquery.  Init plans of it become
 * some of the job's node (init_plans.c).
 *
 * A subquery of NOT IN is absorbed in the same way, also if it makes no groups.
 *
 * The range tables of both queries count from 1.  Here the subquery's is put behind the one of the
 * query around it, and its expressions follow.  In a plan the numbers are those of the statement's
 * range table, which has the one of each query from some number on:
 *
 *	in the planner		1 ... n of the query, n + 1 ... of the subqueries that this job absorbs
 *	behind the planner	m + 1 ... m + n, and those of the subqueries at the end of the table
 *
 * PostgreSQL's planner adds m to all of a node's numbers.  What lies above m + n is then moved to
 * the end, where the subqueries' entries are added (by planner_hook).  With them the privileges on
 * the subqueries' tables are checked, their locks are taken when a cached plan is used, and it is
 * made anew when they change.  The entries of a view that was the subquery say as whose table it is
 * read, as anywhere else.
 */
#include "postgres.h"

#include "src/job/absorb.h"

#include "foreign/fdwapi.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planner.h"
#include "rewrite/rewriteManip.h"

#include "runtime/base/check.h"
#include "src/exec/fdw.h"
#include "src/job/append.h"
#include "src/job/feed.h"
#include "src/job/init_plans.h"
#include "src/job/set.h"

/* --- notes ---------------------------------------------------------------------------- */

/* fdw_private may be anybody's, if the relation belongs to no wrapper. */
typedef struct Noted
{
	const void *whose; /* &previous_planner */
	tsurugi_job_note note;
} Noted;

static planner_hook_type previous_planner;

static bool
may_be_noted(const RelOptInfo *groups)
{
	return groups->fdwroutine == NULL || groups->fdwroutine->GetForeignPlan == tsurugiGetForeignPlan;
}

void
tsurugi_job_note_put(RelOptInfo *groups, const tsurugi_job_note *note)
{
	Noted *noted;

	if (!may_be_noted(groups) || groups->fdw_private != NULL)
		return;
	noted = palloc(sizeof(*noted));
	*noted = (Noted){.whose = &previous_planner, .note = *note};
	groups->fdw_private = noted;
}

const tsurugi_job_note *
tsurugi_job_note_of(const RelOptInfo *groups)
{
	const Noted *noted = groups->fdw_private;

	return may_be_noted(groups) && noted != NULL && noted->whose == &previous_planner ? &noted->note : NULL;
}

/* Whether the rows of a query are its groups, in any order. */
static bool
ends_in_groups(const Query *query)
{
	return query->setOperations == NULL && query->limitCount == NULL && query->limitOffset == NULL &&
		   !query->hasWindowFuncs && !query->hasTargetSRFs && !query->hasDistinctOn && query->rowMarks == NIL &&
		   query->groupingSets == NIL;
}

/* Where parameters come from that a job may have in a query around its own. */
typedef struct Parameters
{
	const PlannerInfo *root;
	const List *init_plans;
} Parameters;

/* Whether there is a parameter that no init plan computes. */
static bool
has_parameter(Node *node, void *context)
{
	const Parameters *known = context;

	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind == PARAM_EXEC &&
			   tsurugi_init_plan_of(known->root, known->init_plans, ((Param *) node)->paramid) == NULL;
	return expression_tree_walker(node, has_parameter, context);
}

static bool
has_parameters(const tsurugi_job *job, Parameters *known)
{
	ListCell *cell;
	ListCell *inner;

	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);

		foreach (inner, step->operators)
			if (has_parameter((Node *) ((tsurugi_job_operator *) lfirst(inner))->clauses, known))
				return true;
		foreach (inner, step->tables)
			if (has_parameter((Node *) ((tsurugi_job_table *) lfirst(inner))->values, known))
				return true;
		if (has_parameter((Node *) step->keys, known) || has_parameter((Node *) step->aggregates, known) ||
			has_parameter((Node *) step->outputs, known) || has_parameter((Node *) step->branch, known))
			return true;
	}
	return false;
}

/*
 * Whether a job of a subquery's, with these conditions on its groups, can be one of the query
 * around it.  What other plans compute than init plans is not there when only the job runs.
 */
static bool
can_be_absorbed(const PlannerInfo *subroot, const tsurugi_job *job, const List *having)
{
	Parameters known = {.root = subroot, .init_plans = job->init_plans};

	return !tsurugi_job_has_feeds(job) && !has_parameters(job, &known) && !has_parameter((Node *) having, &known) &&
		   !has_parameter((Node *) subroot->processed_tlist, &known);
}

static const tsurugi_job_note *
if_absorbed(const PlannerInfo *subroot, const tsurugi_job_note *note)
{
	return note != NULL && can_be_absorbed(subroot, note->job, note->having) ? note : NULL;
}

/* Of a query that is a set operation. */
static const tsurugi_job_note *
note_of_set(PlannerInfo *subroot)
{
	const Query *query = subroot->parse;

	if (query->setOperations == NULL || query->limitCount != NULL || query->limitOffset != NULL ||
		query->rowMarks != NIL)
		return NULL;
	return if_absorbed(subroot, tsurugi_job_note_of(tsurugi_job_whole_set(subroot)));
}

const tsurugi_job_note *
tsurugi_job_note_of_union_all(PlannerInfo *subroot)
{
	const tsurugi_job_note *note = note_of_set(subroot);
	tsurugi_job job;

	if (note == NULL || note->branches == NIL)
		return NULL;
	job = *note->job;
	job.steps = note->branches;
	return can_be_absorbed(subroot, &job, NIL) ? note : NULL;
}

const tsurugi_job_note *
tsurugi_job_note_get(PlannerInfo *subroot)
{
	const Query *query = subroot->parse;
	bool grouped = query->hasAggs || query->groupClause != NIL;
	UpperRelationKind kind = query->distinctClause != NIL ? UPPERREL_DISTINCT : UPPERREL_GROUP_AGG;

	if (query->setOperations != NULL)
	{
		const tsurugi_job_note *note = note_of_set(subroot);

		return note != NULL && note->branches == NIL ? note : NULL;
	}
	if (!ends_in_groups(query) || (query->distinctClause != NIL) == grouped)
		return NULL;
	return if_absorbed(subroot, tsurugi_job_note_of(fetch_upper_rel(subroot, kind, NULL)));
}

/* --- absorbing ------------------------------------------------------------------------ */

/* Numbers of relations above one are moved by so many. */
typedef struct Move
{
	Index above;
	int by;
} Move;

static bool
move_numbers(Node *node, void *context)
{
	const Move *move = context;
	Var *var = (Var *) node;

	if (node == NULL)
		return false;
	if (!IsA(node, Var))
		return expression_tree_walker(node, move_numbers, context);
	if (var->varno > move->above)
		var->varno += move->by;
	var->varnosyn = 0;
	return false;
}

static List *
moved(List *exprs, const Move *move)
{
	List *copy = copyObject(exprs);

	if (move->above == 0)
		OffsetVarNodes((Node *) copy, move->by, 0);
	else
		(void) move_numbers((Node *) copy, (void *) move);
	return copy;
}

static Index
moved_number(Index number, const Move *move)
{
	return number != 0 && number > move->above ? number + (Index) move->by : number;
}

static List *
copy_operators(const List *operators, int first_step, const Move *move)
{
	List *copies = NIL;
	ListCell *cell;

	foreach (cell, operators)
	{
		tsurugi_job_operator *copy = palloc(sizeof(*copy));

		*copy = *(const tsurugi_job_operator *) lfirst(cell);
		copy->build += first_step;
		copy->clauses = moved(copy->clauses, move);
		copies = lappend(copies, copy);
	}
	return copies;
}

static List *
copy_tables(const List *tables, const Move *move)
{
	List *copies = NIL;
	ListCell *cell;

	foreach (cell, tables)
	{
		tsurugi_job_table *copy = palloc(sizeof(*copy));

		*copy = *(const tsurugi_job_table *) lfirst(cell);
		copy->relation = moved_number(copy->relation, move);
		copies = lappend(copies, copy);
	}
	return copies;
}

static Relids
copy_relids(const Relids relids, const Move *move)
{
	Relids copy = NULL;
	int member = -1;

	while ((member = bms_next_member(relids, member)) >= 0)
		copy = bms_add_member(copy, (int) moved_number((Index) member, move));
	return copy;
}

static tsurugi_job_step *
copy_step(const tsurugi_job_step *step, int first_step, const Move *move)
{
	tsurugi_job_step *copy = palloc(sizeof(*copy));

	*copy = *step;
	copy->from += first_step;
	copy->relation = moved_number(step->relation, move);
	copy->subquery = moved_number(step->subquery, move);
	copy->append = moved_number(step->append, move);
	copy->tables = copy_tables(step->tables, move);
	copy->relids = copy_relids(step->relids, move);
	copy->operators = copy_operators(step->operators, first_step, move);
	copy->keys = moved(step->keys, move);
	copy->aggregates = moved(step->aggregates, move);
	copy->outputs = moved(step->outputs, move);
	copy->branch = moved(step->branch, move);
	return copy;
}

/* The columns that the query around it sees. */
static List *
outputs_of(const PlannerInfo *subroot)
{
	List *outputs = NIL;
	ListCell *cell;

	foreach (cell, subroot->processed_tlist)
		if (!lfirst_node(TargetEntry, cell)->resjunk)
			outputs = lappend(outputs, lfirst_node(TargetEntry, cell)->expr);
	return outputs;
}

/* Adds the steps of a job whose range table is put behind the other one's. */
static void
add_steps(tsurugi_job *job, const tsurugi_job *from, const Move *move)
{
	int first_step = list_length(job->steps);
	ListCell *cell;

	foreach (cell, from->steps)
		job->steps = lappend(job->steps, copy_step(lfirst(cell), first_step, move));
	job->nulls_rows |= from->nulls_rows;
	job->absorbed_tables = list_concat(job->absorbed_tables, from->absorbed_tables);
	job->init_plans = list_concat(job->init_plans, from->init_plans);
}

static tsurugi_absorbed
absorb_note(tsurugi_job *job, const tsurugi_job_note *note, List *outputs, const Move *move)
{
	add_steps(job, note->job, move);
	tsurugi_job_last(job)->cost += note->cost;
	tsurugi_job_last(job)->rows = note->rows;
	if (note->job->set != 0)
		outputs = tsurugi_job_columns_of_set(outputs, note->job->set);
	return (tsurugi_absorbed){.step = list_length(job->steps) - 1,
							  .having = moved(note->having, move),
							  .times = (Node *) moved((List *) note->times, move),
							  .outputs = moved(outputs, move)};
}

static tsurugi_absorbed
absorb(PlannerInfo *root, tsurugi_job *job, PlannerInfo *subroot, const tsurugi_job_note *note)
{
	const Move move = {.by = list_length(root->parse->rtable) + list_length(job->absorbed_tables)};
	tsurugi_absorbed absorbed;

	job->absorbed_tables = list_concat(job->absorbed_tables, subroot->parse->rtable);
	job->init_plans = list_concat(job->init_plans, subroot->init_plans);
	absorbed = absorb_note(job, note, outputs_of(subroot), &move);
	tsurugi_job_last(job)->feed_cost += tsurugi_init_plans_cost(subroot->init_plans);
	return absorbed;
}

tsurugi_absorbed
tsurugi_job_absorb(PlannerInfo *root, tsurugi_job *job, PlannerInfo *subroot)
{
	return absorb(root, job, subroot, tsurugi_job_note_get(subroot));
}

tsurugi_absorbed
tsurugi_job_absorb_set(PlannerInfo *root, tsurugi_job *job, const tsurugi_job_note *note, List *exprs)
{
	const Move move = {.above = (Index) list_length(root->parse->rtable), .by = list_length(job->absorbed_tables)};

	return absorb_note(job, note, exprs, &move);
}

/* --- NOT IN --------------------------------------------------------------------------- */

/* The subquery of which the condition is NOT IN; NULL: it is something else. */
static const SubPlan *
subquery_of_not_in(const Node *condition)
{
	const BoolExpr *negation = (const BoolExpr *) condition;
	const SubPlan *subquery;
	const OpExpr *test;

	if (!IsA(condition, BoolExpr) || negation->boolop != NOT_EXPR || !IsA(linitial(negation->args), SubPlan))
		return NULL;
	subquery = linitial(negation->args);
	test = (const OpExpr *) subquery->testexpr;
	if (subquery->subLinkType != ANY_SUBLINK || subquery->parParam != NIL || subquery->args != NIL ||
		list_length(subquery->paramIds) != 1 || !IsA(test, OpExpr) || list_length(test->args) != 2)
		return NULL;
	return subquery;
}

/* The job that the planner has chosen for a query's rows, or the one of its path; or NULL. */
static tsurugi_job *
job_of_rows(PlannerInfo *subroot, Path *path)
{
	const tsurugi_job *job;

	while (IsA(path, ProjectionPath) || IsA(path, SortPath) || IsA(path, IncrementalSortPath))
		path = IsA(path, ProjectionPath) ? ((ProjectionPath *) path)->subpath : ((SortPath *) path)->subpath;
	if (!tsurugi_job_is_path(path))
		return tsurugi_job_of_path(subroot, path);
	job = linitial(((const CustomPath *) path)->custom_private);
	if (tsurugi_job_last(job)->sink != TG_DELIVER && tsurugi_job_last(job)->sink != TG_SORT)
		return NULL;
	return tsurugi_job_last(job)->sorts_groups ? NULL : tsurugi_job_copy(job);
}

bool
tsurugi_job_note_of_rows(PlannerInfo *subroot, tsurugi_job_note *note_out)
{
	const Query *query = subroot->parse;
	Path *path = fetch_upper_rel(subroot, UPPERREL_FINAL, NULL)->cheapest_total_path;
	tsurugi_job *job;

	if (!ends_in_groups(query) || query->hasAggs || query->groupClause != NIL || query->distinctClause != NIL ||
		query->havingQual != NULL || path == NULL)
		return false;
	job = job_of_rows(subroot, path);
	if (job == NULL || tsurugi_job_last(job)->append != 0 || !can_be_absorbed(subroot, job, NIL))
		return false;
	tsurugi_job_last(job)->keys = NIL;
	tsurugi_job_last(job)->order = NIL;
	*note_out = (tsurugi_job_note){.job = job, .rows = path->rows};
	return true;
}

List *
tsurugi_job_absorb_rows(PlannerInfo *root, tsurugi_job *job, PlannerInfo *subroot, const tsurugi_job_note *note,
						tsurugi_job_step *step)
{
	tsurugi_absorbed absorbed = absorb(root, job, subroot, note);

	*step = *tsurugi_job_last(job);
	job->steps = list_truncate(job->steps, list_length(job->steps) - 1);
	return absorbed.outputs;
}

List *
tsurugi_job_absorb_union_all(tsurugi_job *job, RelOptInfo *rel, const tsurugi_job_note *note)
{
	const Move move = {.by = list_length(job->root->parse->rtable) + list_length(job->absorbed_tables)};
	int first_step = list_length(job->steps);
	List *outputs = outputs_of(rel->subroot);
	List *branches = NIL;
	ListCell *cell;

	job->absorbed_tables = list_concat(job->absorbed_tables, rel->subroot->parse->rtable);
	add_steps(job, note->job, &move);
	job->init_plans = list_concat(job->init_plans, rel->subroot->init_plans);
	foreach (cell, note->branches)
	{
		tsurugi_job_step *branch = copy_step(lfirst(cell), first_step, &move);

		branch->append = rel->relid;
		branch->relids = bms_add_member(branch->relids, (int) branch->append);
		/* the planner has the columns of a set operation of relation 0 */
		branch->branch = tsurugi_job_with_columns(outputs, 0, branch->branch);
		branches = lappend(branches, branch);
	}
	((tsurugi_job_step *) llast(branches))->feed_cost += tsurugi_init_plans_cost(rel->subroot->init_plans);
	return branches;
}

/* A step that builds the groups. */
static void
add_build_of_groups(tsurugi_job *job, const tsurugi_absorbed *absorbed)
{
	const tsurugi_job_step *groups = tsurugi_job_last(job);
	tsurugi_job_step *step = palloc0(sizeof(*step));

	step->source = TG_FROM_ROWS;
	step->from = absorbed->step;
	step->sink = TG_BUILD;
	step->relids = bms_copy(groups->relids);
	step->rows = step->rows_read = groups->rows;
	tsurugi_job_add_group_rows(step, absorbed->having, absorbed->times);
	job->steps = lappend(job->steps, step);
}

typedef struct Substitution
{
	int parameter;
	Node *by;
} Substitution;

static Node *
substitute(Node *node, void *context)
{
	const Substitution *substitution = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXEC &&
		((Param *) node)->paramid == substitution->parameter)
		return copyObject(substitution->by);
	return expression_tree_mutator(node, substitute, context);
}

Node *
tsurugi_job_absorb_not_in(PlannerInfo *root, tsurugi_job *job, Node *condition)
{
	const SubPlan *subquery = subquery_of_not_in(condition);
	PlannerInfo *subroot = subquery == NULL ? NULL : list_nth(root->glob->subroots, subquery->plan_id - 1);
	const tsurugi_job_note *groups = subroot == NULL ? NULL : tsurugi_job_note_get(subroot);
	tsurugi_job_note rows;
	tsurugi_absorbed absorbed;
	Substitution substitution;

	if (subroot == NULL || (groups == NULL && !tsurugi_job_note_of_rows(subroot, &rows)))
		return NULL;
	absorbed = absorb(root, job, subroot, groups != NULL ? groups : &rows);
	if (groups != NULL)
		add_build_of_groups(job, &absorbed);
	else
		tsurugi_job_last(job)->sink = TG_BUILD;
	substitution = (Substitution){.parameter = linitial_int(subquery->paramIds), .by = linitial(absorbed.outputs)};
	return substitute(subquery->testexpr, &substitution);
}

/* --- the statement's range table ------------------------------------------------------ */

/* A plan that has absorbed subqueries. */
typedef struct Claim
{
	CustomScan *plan;
	int own;			/* entries of the range table that its own query has */
	const List *tables; /* those of the subqueries */
	const List *init_plans;
	Relids members; /* of its own query: what UNION ALL reads, which EXPLAIN is to name */
	Index set;		/* the relation of a set operation, whose columns the planner has of 0 */
} Claim;

static List *claims; /* of the statement that is being planned, in its planner's memory */

void
tsurugi_job_claim_tables(const PlannerInfo *root, const tsurugi_job *job, CustomScan *plan)
{
	int own = list_length(root->parse->rtable);
	Claim *claim = palloc0(sizeof(*claim));
	ListCell *cell;

	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);

		if (step->append != 0 && step->relation != 0 && step->relation <= (Index) own)
			claim->members = bms_add_member(claim->members, (int) step->relation);
		if (step->append != 0 && step->subquery != 0 && step->subquery <= (Index) own)
			claim->members = bms_add_member(claim->members, (int) step->subquery);
	}
	if (job->absorbed_tables == NIL && claim->members == NULL)
		return;
	claim->plan = plan;
	claim->own = own;
	claim->tables = job->absorbed_tables;
	claim->init_plans = job->init_plans;
	claim->set = job->set;
	claims = lappend(claims, claim);
}

/* As the planner has entries in a statement's range table: without what only it needs. */
static RangeTblEntry *
flat_entry(const RangeTblEntry *entry)
{
	RangeTblEntry *flat = palloc(sizeof(*flat));

	*flat = *entry;
	flat->tablesample = NULL;
	flat->subquery = NULL;
	flat->joinaliasvars = NIL;
	flat->joinleftcols = NIL;
	flat->joinrightcols = NIL;
	flat->join_using_alias = NULL;
	flat->functions = NIL;
	flat->tablefunc = NULL;
	flat->values_lists = NIL;
	flat->coltypes = NIL;
	flat->coltypmods = NIL;
	flat->colcollations = NIL;
	flat->securityQuals = NIL;
	return flat;
}

/*
 * What the planner has as columns of relation 0, to which it has added as much as to the others.
 */
static void
name_columns_of_set(const Claim *claim)
{
	Index offset = (Index) tsurugi_job_plan_offset(claim->plan);
	ListCell *cell;

	foreach (cell, claim->plan->custom_scan_tlist)
	{
		Var *var = (Var *) lfirst_node(TargetEntry, cell)->expr;

		if (IsA(var, Var) && var->varno == offset)
			var->varno = claim->set + offset;
	}
}

static void
settle(const Claim *claim, PlannedStmt *statement)
{
	Index own = (Index) claim->own + (Index) tsurugi_job_plan_offset(claim->plan);
	Move move = {.above = own, .by = list_length(statement->rtable) - (int) own};
	const Move to_plan = {.by = tsurugi_job_plan_offset(claim->plan)};
	ListCell *cell;

	if (claim->set != 0)
		name_columns_of_set(claim);
	(void) move_numbers((Node *) claim->plan->custom_scan_tlist, &move);
	tsurugi_init_plans_attach(claim->init_plans, &claim->plan->scan.plan);
	claim->plan->custom_relids = bms_union(claim->plan->custom_relids, copy_relids(claim->members, &to_plan));
	foreach (cell, claim->tables)
	{
		RangeTblEntry *entry = flat_entry(lfirst(cell));

		statement->rtable = lappend(statement->rtable, entry);
		claim->plan->custom_relids = bms_add_member(claim->plan->custom_relids, list_length(statement->rtable));
		if (entry->rtekind == RTE_RELATION)
			statement->relationOids = lappend_oid(statement->relationOids, entry->relid);
	}
}

/* Whether the relations of append relations are numbered once (feed.c, 2). */
static bool
are_appends_numbered(const PlannedStmt *statement)
{
	ListCell *cell;

	foreach (cell, statement->appendRelations)
	{
		const AppendRelInfo *info = lfirst(cell);

		if (info->child_relid > (Index) list_length(statement->rtable))
			return false;
	}
	return true;
}

static PlannedStmt *
plan_statement(Query *parse, const char *query_string, int cursor_options, ParamListInfo parameters)
{
	List *outer = claims;
	PlannedStmt *statement;
	ListCell *cell;

	claims = NIL;
	PG_TRY();
	{
		statement = previous_planner != NULL ? previous_planner(parse, query_string, cursor_options, parameters)
											 : standard_planner(parse, query_string, cursor_options, parameters);
		foreach (cell, claims)
			settle(lfirst(cell), statement);
		tg_assert(are_appends_numbered(statement));
	}
	PG_FINALLY();
	{
		claims = outer; /* of the statement whose planning has called a function that plans */
	}
	PG_END_TRY();
	return statement;
}

void
tsurugi_job_absorb_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_statement;
}
