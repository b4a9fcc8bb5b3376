/*
 * set.c
 *	  UNION, INTERSECT and EXCEPT as groups of a job; UNION ALL of several types as branches.
 *
 *	SELECT k FROM a EXCEPT SELECT k FROM b
 *
 *	Step 1: scan a, append to 2
 *	Step 2: scan b, except by (k)				groups, with the number of rows of either side
 *
 * The queries of a set operation are absorbed (absorb.c), as branches of an append (append.c) that
 * is grouped by all columns.  NULLs are equal there, as they are here.  INTERSECT and EXCEPT count
 * the rows of each side, of which each branch tells by a column of its own; conditions on these
 * counts are a HAVING.  A group of INTERSECT ALL or EXCEPT ALL is as many rows as the counts say: a
 * step that reads the groups repeats them (append.c), and so does the node that hands them out.
 *
 * The planner has the columns of a set operation as those of a relation 0, without an entry in the
 * range table.  A job gives it an entry, behind those of the absorbed queries.
 *
 * The types and collations of columns are those that the planner has found; it has also put the
 * casts into the branches.  Texts are left to PostgreSQL where the collation is not deterministic,
 * as in any grouping.  A query that is not absorbed, of ordinary tables for instance, is fed
 * (feed.c), beside at least one that is.  What is not absorbed as a whole is PostgreSQL's, above
 * jobs of the branches.
 *
 * UNION ALL is one, too, where the types of columns differ from query to query (else it is an
 * append relation).  It makes no groups: the branches are noted for the query around it, which
 * absorbs them.
 */
#include "postgres.h"

#include "src/job/set.h"

#include "catalog/namespace.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "src/job/absorb.h"
#include "src/job/append.h"
#include "src/job/feed.h"
#include "src/job/job.h"

/* --- columns -------------------------------------------------------------------------- */

typedef struct Renaming
{
	Index from;
	Index to;
} Renaming;

static Node *
rename_columns(Node *node, void *context)
{
	const Renaming *renaming = context;
	Var *var;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var) || ((Var *) node)->varno != renaming->from || ((Var *) node)->varlevelsup != 0)
		return expression_tree_mutator(node, rename_columns, context);
	var = copyObject((Var *) node);
	var->varno = renaming->to;
	var->varnosyn = 0;
	return (Node *) var;
}

List *
tsurugi_job_columns_of_set(const List *exprs, Index set)
{
	Renaming renaming = {.to = set};

	return (List *) rename_columns((Node *) exprs, &renaming);
}

List *
tsurugi_job_columns_of_planner(const List *exprs, Index set)
{
	Renaming renaming = {.from = set};

	return (List *) rename_columns((Node *) exprs, &renaming);
}

/* --- the planner's side --------------------------------------------------------------- */

static Relids
leaves_of(const Node *operation)
{
	if (IsA(operation, RangeTblRef))
		return bms_make_singleton(((const RangeTblRef *) operation)->rtindex);
	return bms_union(leaves_of(castNode(SetOperationStmt, operation)->larg),
					 leaves_of(castNode(SetOperationStmt, operation)->rarg));
}

RelOptInfo *
tsurugi_job_whole_set(PlannerInfo *root)
{
	return fetch_upper_rel(root, UPPERREL_SETOP, leaves_of(root->parse->setOperations));
}

/* A set operation under way. */
typedef struct Set
{
	tsurugi_job_set kind;
	bool all;
	const AppendPath *append;
	int column_count;
	tsurugi_job *job;
	List *steps; /* of tsurugi_job_step: the branches */
} Set;

/* Whether the rows of each side are counted. */
static bool
counts_sides(const Set *set)
{
	return set->kind == TSURUGI_SET_INTERSECT || set->kind == TSURUGI_SET_EXCEPT;
}

/* What a path of PostgreSQL's computes.  False: something else. */
static bool
recognize(const Path *path, Set *set)
{
	/* a SetOp within another operation does not drop its own column itself */
	if (IsA(path, ProjectionPath) && IsA(((const ProjectionPath *) path)->subpath, SetOpPath))
		path = ((const ProjectionPath *) path)->subpath;
	if (IsA(path, AggPath) || IsA(path, UpperUniquePath))
	{
		set->kind = TSURUGI_SET_UNION;
		path = IsA(path, AggPath) ? ((const AggPath *) path)->subpath : ((const UpperUniquePath *) path)->subpath;
	}
	else if (IsA(path, SetOpPath))
	{
		SetOpCmd command = ((const SetOpPath *) path)->cmd;

		set->kind = command == SETOPCMD_INTERSECT || command == SETOPCMD_INTERSECT_ALL ? TSURUGI_SET_INTERSECT
																					   : TSURUGI_SET_EXCEPT;
		set->all = command == SETOPCMD_INTERSECT_ALL || command == SETOPCMD_EXCEPT_ALL;
		path = ((const SetOpPath *) path)->subpath;
	}
	/* else it may be UNION ALL */
	if (IsA(path, SortPath))
		path = ((const SortPath *) path)->subpath;
	if (IsA(path, GatherPath))
		path = ((const GatherPath *) path)->subpath;
	set->append = (const AppendPath *) path;
	return IsA(path, AppendPath);
}

/* The steps of a branch but the last one are put into the job; NULL: it is not absorbed. */
static tsurugi_job_step *
absorb_query(PlannerInfo *root, Set *set, const RelOptInfo *rel, List **exprs)
{
	tsurugi_job_step *step = palloc0(sizeof(*step));
	tsurugi_absorbed absorbed = {.outputs = NIL};
	const tsurugi_job_note *groups =
		rel->reloptkind == RELOPT_UPPER_REL ? tsurugi_job_note_of(rel) : tsurugi_job_note_get(rel->subroot);
	tsurugi_job_note rows;

	if (groups != NULL && groups->branches != NIL)
		return NULL;
	if (groups == NULL)
	{
		if (rel->reloptkind == RELOPT_UPPER_REL || !tsurugi_job_note_of_rows(rel->subroot, &rows))
			return NULL;
		absorbed.outputs = tsurugi_job_absorb_rows(root, set->job, rel->subroot, &rows, step);
		*exprs = tsurugi_job_with_columns(*exprs, rel->relid, absorbed.outputs);
		return step;
	}
	absorbed = rel->reloptkind == RELOPT_UPPER_REL ? tsurugi_job_absorb_set(root, set->job, groups, *exprs)
												   : tsurugi_job_absorb(root, set->job, rel->subroot);
	*exprs = rel->reloptkind == RELOPT_UPPER_REL ? absorbed.outputs
												 : tsurugi_job_with_columns(*exprs, rel->relid, absorbed.outputs);
	step->source = TG_FROM_ROWS;
	step->from = absorbed.step;
	step->relids = bms_copy(tsurugi_job_last(set->job)->relids);
	step->rows_read = tsurugi_job_last(set->job)->rows;
	step->cost = step->rows_read * TSURUGI_JOB_NS_ROW;
	tsurugi_job_add_group_rows(step, absorbed.having, absorbed.times);
	return step;
}

/* A query that PostgreSQL computes for the job; NULL: that cannot be. */
static tsurugi_job_step *
feed_query(PlannerInfo *root, const RelOptInfo *rel)
{
	Path *feed = rel->reloptkind == RELOPT_UPPER_REL ? NULL : tsurugi_job_feed_of_query(root, rel);
	tsurugi_job_step *step;

	if (feed == NULL)
		return NULL;
	step = palloc0(sizeof(*step));
	tsurugi_job_read_feed(step, feed);
	return step;
}

/* A branch that is fed, or absorbed; NULL: it cannot be. */
static tsurugi_job_step *
make_branch(PlannerInfo *root, Set *set, const Path *path, bool left, bool fed)
{
	List *exprs = list_copy_head(path->pathtarget->exprs, set->column_count);
	tsurugi_job_step *step;

	while (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	if (path->parent->reloptkind != RELOPT_UPPER_REL &&
		(path->parent->reloptkind != RELOPT_BASEREL || path->parent->rtekind != RTE_SUBQUERY))
		return NULL;
	step = fed ? feed_query(root, path->parent) : absorb_query(root, set, path->parent, &exprs);
	if (step == NULL)
		return NULL;
	if (counts_sides(set))
		exprs = list_concat(exprs, list_make2(makeBoolConst(left, false), makeBoolConst(!left, false)));
	step->branch = exprs;
	step->own_operators = list_length(step->operators);
	step->cost += path->rows * set->column_count * TSURUGI_JOB_NS_COLUMN;
	return step;
}

/* --- its relation, and the groups ----------------------------------------------------- */

/* An entry for the range table, by which EXPLAIN names the columns. */
static RangeTblEntry *
make_entry(const PlannerInfo *root, const Set *set)
{
	static const char *const names[] = {
		[TSURUGI_SET_UNION] = "union", [TSURUGI_SET_INTERSECT] = "intersect", [TSURUGI_SET_EXCEPT] = "except"};
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	List *columns = NIL;

	for (int i = 0; i < set->column_count; i++)
	{
		const char *name = list_nth_node(TargetEntry, root->parse->targetList, i)->resname;

		columns = lappend(columns, makeString(pstrdup(name != NULL ? name : "?column?")));
	}
	if (set->kind != TSURUGI_SET_UNION)
		columns = list_concat(columns, list_make2(makeString("left"), makeString("right")));
	entry->rtekind = RTE_SUBQUERY;
	entry->eref = makeAlias(names[set->kind], columns);
	return entry;
}

/* The number of rows of one side. */
static Node *
make_count(Index set, int column)
{
	Aggref *count = makeNode(Aggref);

	count->aggfnoid = F_COUNT_;
	count->aggtype = INT8OID;
	count->aggtranstype = INT8OID;
	count->aggfilter = (Expr *) makeVar(set, (AttrNumber) column, BOOLOID, -1, InvalidOid, 0);
	count->aggstar = true;
	count->aggkind = AGGKIND_NORMAL;
	count->aggsplit = AGGSPLIT_SIMPLE;
	count->aggno = -1;
	count->aggtransno = -1;
	count->location = -1;
	return (Node *) count;
}

static Node *
make_operation(Oid operator, Oid type, Node *a, Node *b)
{
	OpExpr *op = (OpExpr *) make_opclause(operator, type, false, (Expr *) a, (Expr *) b, InvalidOid, InvalidOid);

	set_opfuncid(op);
	return (Node *) op;
}

static Node *
make_integer(int64 value)
{
	return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(value), false, FLOAT8PASSBYVAL);
}

/* Which groups are rows of the whole. */
static List *
make_having(const Set *set, const tsurugi_job_step *groups)
{
	Oid greater = get_commutator(Int8LessOperator);
	Node *left;
	Node *right;

	if (set->kind == TSURUGI_SET_UNION)
		return NIL;
	left = linitial(groups->aggregates);
	right = lsecond(groups->aggregates);
	if (set->kind == TSURUGI_SET_EXCEPT && set->all)
		return list_make1(make_operation(greater, BOOLOID, left, right));
	return list_make2(make_operation(greater, BOOLOID, left, make_integer(0)),
					  set->kind == TSURUGI_SET_INTERSECT
						  ? make_operation(greater, BOOLOID, right, make_integer(0))
						  : make_operation(Int8LessOperator, BOOLOID, right, make_integer(1)));
}

/* How many rows such a group is; NULL: one. */
static Node *
make_times(const Set *set, const tsurugi_job_step *groups)
{
	List *minus = list_make2(makeString("pg_catalog"), makeString("-"));
	MinMaxExpr *least;

	if (!set->all)
		return NULL;
	if (set->kind == TSURUGI_SET_EXCEPT)
		return make_operation(OpernameGetOprid(minus, INT8OID, INT8OID), INT8OID, linitial(groups->aggregates),
							  lsecond(groups->aggregates));
	least = makeNode(MinMaxExpr);
	least->minmaxtype = INT8OID;
	least->op = IS_LEAST;
	least->args = list_copy(groups->aggregates);
	least->location = -1;
	return (Node *) least;
}

/* Puts the branches into the job, with the groups as their sink, which is returned. */
static const tsurugi_job_step *
finish(PlannerInfo *root, const RelOptInfo *rel, Set *set)
{
	tsurugi_job *job = set->job;
	tsurugi_job_step *last = llast(set->steps);
	ListCell *cell;

	job->absorbed_tables = lappend(job->absorbed_tables, make_entry(root, set));
	job->set = (Index) (list_length(root->parse->rtable) + list_length(job->absorbed_tables));
	job->unread = list_copy_tail(rel->reltarget->exprs, set->column_count);
	foreach (cell, set->steps)
	{
		tsurugi_job_step *step = lfirst(cell);

		step->append = job->set;
		step->relids = bms_add_member(bms_copy(step->relids), (int) job->set);
	}
	last->further = list_copy_head(set->steps, list_length(set->steps) - 1);
	last->sink = TG_GROUP;
	last->set = set->kind;
	last->all = set->all;
	last->keys = tsurugi_job_columns_of_set(list_copy_head(rel->reltarget->exprs, set->column_count), job->set);
	if (set->kind != TSURUGI_SET_UNION)
		last->aggregates =
			list_make2(make_count(job->set, set->column_count + 1), make_count(job->set, set->column_count + 2));
	tsurugi_job_put_step(job, last);
	return last;
}

/* Whether a side can be fed is asked only where another one is absorbed. */
static bool
add_branches(PlannerInfo *root, Set *set, double *rows_out)
{
	const List *paths = set->append->subpaths;
	bool absorbed = false;
	ListCell *cell;

	*rows_out = 0;
	foreach (cell, paths)
	{
		/* INTERSECT and EXCEPT have two */
		set->steps = lappend(set->steps, make_branch(root, set, lfirst(cell), cell == list_head(paths), false));
		absorbed |= llast(set->steps) != NULL;
		*rows_out += ((const Path *) lfirst(cell))->rows;
	}
	foreach (cell, set->steps)
	{
		int number = foreach_current_index(cell);

		if (lfirst(cell) == NULL && absorbed)
			lfirst(cell) = make_branch(root, set, list_nth(paths, number), number == 0, true);
		if (lfirst(cell) == NULL)
			return false;
	}
	return absorbed;
}

void
tsurugi_job_offer_set(PlannerInfo *root, RelOptInfo *rel)
{
	Path *fallback = tsurugi_job_make_fallback(rel);
	Set set = {.kind = TSURUGI_SET_NONE};
	const tsurugi_job_step *groups;
	double rows;
	bool streams;

	if (rel->reloptkind != RELOPT_UPPER_REL || fallback == NULL || !recognize(fallback, &set))
		return;
	set.column_count = list_length(rel->reltarget->exprs) - counts_sides(&set);
	if (set.column_count < 1 || set.column_count > list_length(root->parse->targetList))
		return;
	set.job = palloc0(sizeof(tsurugi_job));
	set.job->root = root;
	if (!add_branches(root, &set, &rows))
		return;
	if (set.kind == TSURUGI_SET_NONE)
	{
		tsurugi_job_note note = {.job = set.job, .rows = rows, .branches = set.steps};

		tsurugi_job_note_put(rel, &note);
		return;
	}
	groups = finish(root, rel, &set);
	if (tsurugi_job_is_computed(set.job, &streams))
		tsurugi_job_offer_groups(root, rel, set.job, rows, fallback, (Node *) make_having(&set, groups),
								 make_times(&set, groups));
}
