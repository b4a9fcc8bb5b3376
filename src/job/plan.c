/*
 * plan.c
 *	  A job in a plan: a CustomScan's custom_scan_tlist and custom_private.
 *
 * PostgreSQL's planner adjusts expressions where it knows of them.  So all of a job's expressions
 * are entries of custom_scan_tlist, and so are its tables, each as a column of it:
 *
 *	custom_scan_tlist	keys, aggregates; as junk: conditions, tables (their tableoid)
 *	custom_private		number of keys, number of aggregates, nulls_rows, steps
 *	  step				source, from, sink, its marks; entries of its relation and of its tables,
 *						operators
 *		operator		probe, join, build, entries of its conditions
 *
 * Keys and aggregates are what the node's target list and HAVING are computed from.  The planner
 * looks for them in the entries, and must not take a condition for one that has the same
 * expression: conditions and tables are wrapped in a node that no plan has otherwise.
 */
#include "postgres.h"

#include "runtime/query/plan.h"
#include "src/job/job.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

/* --- to a plan ------------------------------------------------------------------------ */

static int
add_entry(CustomScan *plan, Expr *expr, bool junk)
{
	int number = list_length(plan->custom_scan_tlist) + 1;

	plan->custom_scan_tlist =
		lappend(plan->custom_scan_tlist, makeTargetEntry(copyObject(expr), (AttrNumber) number, NULL, junk));
	return number;
}

static int
add_junk(CustomScan *plan, Expr *expr)
{
	NamedArgExpr *wrapped = makeNode(NamedArgExpr);

	wrapped->arg = expr;
	wrapped->name = "job";
	wrapped->location = -1;
	return add_entry(plan, (Expr *) wrapped, true);
}

static List *
operator_to_list(const tsurugi_job_operator *operator, CustomScan * plan)
{
	List *entries = NIL;
	ListCell *cell;

	foreach (cell, operator->clauses)
		entries = lappend_int(entries, add_junk(plan, lfirst(cell)));
	return list_make4(makeInteger(operator->probe), makeInteger(operator->join), makeInteger(operator->build), entries);
}

/* A relation of the range table, whose number PostgreSQL may change. */
static int
add_relation(CustomScan *plan, Index relation)
{
	return add_junk(plan, (Expr *) makeVar(relation, TableOidAttributeNumber, OIDOID, -1, InvalidOid, 0));
}

static List *
step_to_list(const tsurugi_job_step *step, CustomScan *plan)
{
	List *kind = list_make5_int(step->source, step->from, step->sink, step->marked, step->keeps_nulls);
	List *operators = NIL;
	List *tables = NIL;
	int relation = step->source == TG_FROM_TABLES ? add_relation(plan, step->relation) : 0;
	ListCell *cell;

	foreach (cell, step->tables)
		tables = lappend_int(tables, add_relation(plan, ((tsurugi_job_table *) lfirst(cell))->relation));
	foreach (cell, step->operators)
		operators = lappend(operators, operator_to_list(lfirst(cell), plan));
	return list_make4(kind, makeInteger(relation), tables, operators);
}

void
tsurugi_job_to_plan(const tsurugi_job *job, CustomScan *plan)
{
	List *steps = NIL;
	ListCell *cell;

	foreach (cell, job->keys)
		(void) add_entry(plan, lfirst(cell), false);
	foreach (cell, job->aggregates)
		(void) add_entry(plan, lfirst(cell), false);
	foreach (cell, job->steps)
		steps = lappend(steps, step_to_list(lfirst(cell), plan));
	plan->custom_private = list_make4(makeInteger(list_length(job->keys)), makeInteger(list_length(job->aggregates)),
									  makeInteger(job->nulls_rows), steps);
}

/* --- from a plan ---------------------------------------------------------------------- */

static Node *
entry(const CustomScan *plan, int number)
{
	Expr *expr = list_nth_node(TargetEntry, plan->custom_scan_tlist, number - 1)->expr;

	return IsA(expr, NamedArgExpr) ? (Node *) ((NamedArgExpr *) expr)->arg : (Node *) expr;
}

static List *
entries(const CustomScan *plan, int first, int count)
{
	List *list = NIL;

	for (int i = 0; i < count; i++)
		list = lappend(list, entry(plan, first + i));
	return list;
}

static tsurugi_job_operator *
operator_from_list(const CustomScan *plan, const List *list)
{
	tsurugi_job_operator *operator= palloc0(sizeof(*operator));
	ListCell *cell;

	operator->probe = intVal(linitial(list)) != 0;
	operator->join =(tg_join) intVal(lsecond(list));
	operator->build = intVal(lthird(list));
	foreach (cell, (List *) lfourth(list))
		operator->clauses = lappend(operator->clauses, entry(plan, lfirst_int(cell)));
	return operator;
}

static Index
relation_at(const CustomScan *plan, int number)
{
	return castNode(Var, entry(plan, number))->varno;
}

static tsurugi_job_step *
step_from_list(const CustomScan *plan, const List *list, const tsurugi_job *job)
{
	tsurugi_job_step *step = palloc0(sizeof(*step));
	const List *kind = linitial(list);
	ListCell *cell;

	step->source = (tg_source) linitial_int(kind);
	step->from = lsecond_int(kind);
	step->sink = (tg_sink_kind) lthird_int(kind);
	step->marked = lfourth_int(kind) != 0;
	step->keeps_nulls = list_nth_int(kind, 4) != 0;
	if (step->source == TG_FROM_TABLES)
	{
		step->relation = relation_at(plan, intVal(lsecond(list)));
		step->relids = bms_make_singleton(step->relation);
	}
	else
		step->relids = bms_copy(((tsurugi_job_step *) list_nth(job->steps, step->from))->relids);
	foreach (cell, (List *) lthird(list))
	{
		tsurugi_job_table *table = palloc0(sizeof(*table));

		table->relation = relation_at(plan, lfirst_int(cell));
		step->tables = lappend(step->tables, table);
	}
	foreach (cell, (List *) lfourth(list))
	{
		tsurugi_job_operator *operator= operator_from_list(plan, lfirst(cell));

		step->operators = lappend(step->operators, operator);
		if (operator->probe)
			step->relids =
				bms_add_members(step->relids, ((tsurugi_job_step *) list_nth(job->steps, operator->build))->relids);
	}
	return step;
}

tsurugi_job *
tsurugi_job_from_plan(const CustomScan *plan)
{
	const List *list = plan->custom_private;
	int keys = intVal(linitial(list));
	int aggregates = intVal(lsecond(list));
	tsurugi_job *job = palloc0(sizeof(*job));
	ListCell *cell;

	job->keys = entries(plan, 1, keys);
	job->aggregates = entries(plan, 1 + keys, aggregates);
	job->nulls_rows = intVal(lthird(list)) != 0;
	foreach (cell, (List *) lfourth(list))
		job->steps = lappend(job->steps, step_from_list(plan, lfirst(cell), job));
	return job;
}
