/*
 * plan.c
 *	  A job in a plan: a CustomScan's custom_scan_tlist and custom_private.
 *
 * PostgreSQL's planner adjusts expressions where it knows of them.  So all of a job's expressions
 * are in custom_scan_tlist, and so are its tables, each as a column of it:
 *
 *	custom_scan_tlist	keys and aggregates of the step that is the result; then, as junk, a row:
 *						those of other steps, conditions, tables (their tableoid)
 *	custom_private		nulls_rows, steps, entry of relation 1, entries of LIMIT and OFFSET,
 *						entry of the table that gets the rows, a number (kept.c)
 *	  step				source, from, sink, its marks, distinct, sorts_groups, goes_on, how many
 *						operators are a branch's own, set, all; entries of its relation, its tables;
 *						entries of its keys, of its aggregates; operators; subquery, outputs;
 *						order; columns; append, branch
 *		table			entry, the access by an index, entries of its values, rows
 *		operator		1 probe, 2 repeat; join, build, entries of its conditions
 *		order			entry, operator, NULLs first
 *
 * An entry is told by its number from 1; what is in the row, by its place there from -1 down.  The
 * executor makes a column of each entry, with each execution, so all that is junk is one.
 *
 * The columns of a set operation are those of relation 0 in the planner, which looks for them so
 * in the first entries; later they are named (absorb.c).  Those that nobody reads follow, and are
 * NULL.
 *
 * The first entries are what the node's target list and HAVING are computed from.  The planner
 * looks for them in all entries, and must not take the row for one that has the same expression: it
 * is wrapped in a node that no plan has otherwise.
 */
#include "postgres.h"

#include "runtime/base/check.h"
#include "runtime/query/plan.h"
#include "src/job/job.h"
#include "src/job/set.h"

#include "access/sysattr.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"

#include "src/exec/fdw.h"

/* --- to a plan ------------------------------------------------------------------------ */

static int
add_entry(CustomScan *plan, Expr *expr, bool junk)
{
	int number = list_length(plan->custom_scan_tlist) + 1;

	plan->custom_scan_tlist =
		lappend(plan->custom_scan_tlist, makeTargetEntry(copyObject(expr), (AttrNumber) number, NULL, junk));
	return number;
}

/* The row of what is junk; NULL: the entry is none. */
static RowExpr *
junk_of(const TargetEntry *entry)
{
	return entry->resjunk ? castNode(RowExpr, castNode(NamedArgExpr, entry->expr)->arg) : NULL;
}

static void
add_row(CustomScan *plan)
{
	RowExpr *row = makeNode(RowExpr);
	NamedArgExpr *wrapped = makeNode(NamedArgExpr);

	row->row_typeid = RECORDOID;
	row->row_format = COERCE_IMPLICIT_CAST;
	row->location = -1;
	wrapped->arg = (Expr *) row;
	wrapped->name = "job";
	wrapped->location = -1;
	(void) add_entry(plan, (Expr *) wrapped, true);
}

static int
add_junk(CustomScan *plan, Expr *expr)
{
	RowExpr *row;

	if (plan->custom_scan_tlist == NIL || !llast_node(TargetEntry, plan->custom_scan_tlist)->resjunk)
		add_row(plan);
	row = junk_of(llast(plan->custom_scan_tlist));
	row->args = lappend(row->args, copyObject(expr));
	return -list_length(row->args);
}

/* Expressions, as the numbers of their entries. */
static List *
exprs_to_list(const List *exprs, CustomScan *plan, bool junk)
{
	List *list = NIL;
	ListCell *cell;

	foreach (cell, exprs)
		list = lappend_int(list, junk ? add_junk(plan, lfirst(cell)) : add_entry(plan, lfirst(cell), false));
	return list;
}

static List *
operator_to_list(const tsurugi_job_operator *operator, CustomScan * plan)
{
	return list_make4(makeInteger(operator->probe  ? 1 :
								  operator->repeat ? 2
												   : 0),
					  makeInteger(operator->join), makeInteger(operator->build),
					  exprs_to_list(operator->clauses, plan, true));
}

/* A relation of the range table, whose number PostgreSQL may change. */
static int
add_relation(CustomScan *plan, Index relation)
{
	return add_junk(plan, (Expr *) makeVar(relation, TableOidAttributeNumber, OIDOID, -1, InvalidOid, 0));
}

static List *
order_to_list(const List *order, CustomScan *plan)
{
	List *list = NIL;
	ListCell *cell;

	foreach (cell, order)
	{
		const tsurugi_job_key *key = lfirst(cell);

		list = lappend(list, list_make3_oid((Oid) add_junk(plan, (Expr *) key->expr), key->sortop, key->nulls_first));
	}
	return list;
}

static List *
table_to_list(const tsurugi_job_table *table, CustomScan *plan)
{
	return list_make4(makeInteger(add_relation(plan, table->relation)), table->access,
					  exprs_to_list(table->values, plan, true), makeInteger((int) Min(table->rows, INT_MAX)));
}

static List *
step_to_list(const tsurugi_job_step *step, CustomScan *plan, List *keys, List *aggregates)
{
	List *kind = lappend_int(list_make5_int(step->source, step->from, step->sink, step->marked, step->keeps_nulls),
							 step->distinct);
	List *operators = NIL;
	List *tables = NIL;
	int relation = !tg_source_is_step(step->source) ? add_relation(plan, step->relation) : 0;
	int subquery = step->subquery != 0 ? add_relation(plan, step->subquery) : 0;
	int append = step->append != 0 ? add_relation(plan, step->append) : 0;
	List *list;
	ListCell *cell;

	kind = lappend_int(kind, step->sorts_groups);
	kind = lappend_int(lappend_int(kind, step->goes_on), step->own_operators);
	kind = lappend_int(lappend_int(kind, step->set), step->all);
	foreach (cell, step->tables)
		tables = lappend(tables, table_to_list(lfirst(cell), plan));
	foreach (cell, step->operators)
		operators = lappend(operators, operator_to_list(lfirst(cell), plan));
	list = list_make5(kind, makeInteger(relation), tables, keys, aggregates);
	list = lappend(lappend(list, operators), makeInteger(subquery));
	list = lappend(list, exprs_to_list(step->outputs, plan, true));
	list = lappend(list, order_to_list(step->order, plan));
	list = lappend(list, exprs_to_list(step->columns, plan, true));
	list = lappend(list, makeInteger(append));
	return lappend(list, exprs_to_list(step->branch, plan, true));
}

static Node *
limit_to_entry(Node *expr, CustomScan *plan)
{
	return (Node *) makeInteger(expr == NULL ? 0 : add_junk(plan, (Expr *) expr));
}

void
tsurugi_job_to_plan(const tsurugi_job *job, CustomScan *plan)
{
	const tsurugi_job_step *result = tsurugi_job_result(job);
	List *result_keys = exprs_to_list(
		job->set == 0 ? result->keys : tsurugi_job_columns_of_planner(result->keys, job->set), plan, false);
	List *result_aggregates = exprs_to_list(result->aggregates, plan, false);
	List *steps = NIL;
	ListCell *cell;

	(void) exprs_to_list(job->unread, plan, false);
	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);
		List *keys = step == result ? result_keys : exprs_to_list(step->keys, plan, true);
		List *aggregates = step == result ? result_aggregates : exprs_to_list(step->aggregates, plan, true);

		steps = lappend(steps, step_to_list(step, plan, keys, aggregates));
	}
	plan->custom_private = list_make5(makeInteger(job->nulls_rows), steps, makeInteger(add_relation(plan, 1)),
									  limit_to_entry(job->limit_count, plan), limit_to_entry(job->limit_offset, plan));
	plan->custom_private = lappend(plan->custom_private,
								   makeInteger(tsurugi_job_stores(job) ? add_relation(plan, job->into->relation) : 0));
	plan->custom_private = lappend(plan->custom_private, makeInteger((int) tsurugi_plan_number_next()));
}

/* --- from a plan ---------------------------------------------------------------------- */

static Node *
entry(const CustomScan *plan, int number)
{
	if (number < 0)
		return list_nth(junk_of(llast(plan->custom_scan_tlist))->args, -number - 1);
	return (Node *) list_nth_node(TargetEntry, plan->custom_scan_tlist, number - 1)->expr;
}

static List *
exprs_from_list(const CustomScan *plan, const List *numbers)
{
	List *list = NIL;
	ListCell *cell;

	foreach (cell, numbers)
		list = lappend(list, entry(plan, lfirst_int(cell)));
	return list;
}

static tsurugi_job_operator *
operator_from_list(const CustomScan *plan, const List *list)
{
	tsurugi_job_operator *operator= palloc0(sizeof(*operator));

	operator->probe = intVal(linitial(list)) == 1;
	operator->repeat = intVal(linitial(list)) == 2;
	operator->join =(tg_join) intVal(lsecond(list));
	operator->build = intVal(lthird(list));
	operator->clauses = exprs_from_list(plan, lfourth(list));
	return operator;
}

static Index
relation_at(const CustomScan *plan, int number)
{
	return castNode(Var, entry(plan, number))->varno;
}

static List *
order_from_list(const CustomScan *plan, const List *list)
{
	List *order = NIL;
	ListCell *cell;

	foreach (cell, list)
	{
		const List *from = lfirst(cell);
		tsurugi_job_key *key = palloc0(sizeof(*key));

		key->expr = entry(plan, (int) linitial_oid(from));
		key->sortop = lsecond_oid(from);
		key->nulls_first = lthird_oid(from) != 0;
		order = lappend(order, key);
	}
	return order;
}

static tsurugi_job_table *
table_from_list(const CustomScan *plan, const List *list)
{
	tsurugi_job_table *table = palloc0(sizeof(*table));

	table->relation = relation_at(plan, intVal(linitial(list)));
	table->access = lsecond(list);
	table->values = exprs_from_list(plan, lthird(list));
	table->rows = intVal(lfourth(list));
	return table;
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
	step->distinct = list_nth_int(kind, 5) != 0;
	step->sorts_groups = list_nth_int(kind, 6) != 0;
	step->goes_on = list_nth_int(kind, 7) != 0;
	step->own_operators = list_nth_int(kind, 8);
	step->set = (tsurugi_job_set) list_nth_int(kind, 9);
	step->all = list_nth_int(kind, 10) != 0;
	step->order = order_from_list(plan, list_nth(list, 8));
	step->columns = exprs_from_list(plan, list_nth(list, 9));
	if (!tg_source_is_step(step->source))
	{
		step->relation = relation_at(plan, intVal(lsecond(list)));
		step->relids = bms_make_singleton(step->relation);
	}
	else
		step->relids = bms_copy(((tsurugi_job_step *) list_nth(job->steps, step->from))->relids);
	if (intVal(list_nth(list, 6)) != 0)
	{
		step->subquery = relation_at(plan, intVal(list_nth(list, 6)));
		step->relids = bms_make_singleton(step->subquery);
		step->outputs = exprs_from_list(plan, list_nth(list, 7));
	}
	if (intVal(list_nth(list, 10)) != 0)
	{
		step->append = relation_at(plan, intVal(list_nth(list, 10)));
		step->relids = bms_add_member(step->relids, (int) step->append);
		step->branch = exprs_from_list(plan, list_nth(list, 11));
	}
	foreach (cell, (List *) lthird(list))
		step->tables = lappend(step->tables, table_from_list(plan, lfirst(cell)));
	step->keys = exprs_from_list(plan, lfourth(list));
	step->aggregates = exprs_from_list(plan, list_nth(list, 4));
	foreach (cell, (List *) list_nth(list, 5))
	{
		tsurugi_job_operator *operator= operator_from_list(plan, lfirst(cell));

		step->operators = lappend(step->operators, operator);
		if (operator->probe)
			step->relids =
				bms_add_members(step->relids, ((tsurugi_job_step *) list_nth(job->steps, operator->build))->relids);
	}
	return step;
}

int
tsurugi_job_plan_offset(const CustomScan *plan)
{
	return (int) relation_at(plan, intVal(lthird(plan->custom_private))) - 1;
}

uint32_t
tsurugi_job_plan_number(const CustomScan *plan)
{
	return (uint32_t) intVal(llast(plan->custom_private));
}

static Node *
limit_from_entry(const CustomScan *plan, const Node *number)
{
	return intVal(number) == 0 ? NULL : entry(plan, intVal(number));
}

/* Of UNION ALL: a further branch follows, with the same sink. */
static bool
is_well_formed_branch(const tsurugi_job *job, int number)
{
	const tsurugi_job_step *step = list_nth(job->steps, number);
	const tsurugi_job_step *next;

	if ((step->append != 0) != (step->branch != NIL) || step->own_operators > list_length(step->operators))
		return false;
	if (!step->goes_on)
		return true;
	if (step == tsurugi_job_last(job) || step->sink == TG_STORE)
		return false;
	next = list_nth(job->steps, number + 1);
	return step->append != 0 && next->append == step->append && next->sink == step->sink;
}

/*
 * As job.h says of steps: what one reads comes before it, and only the last one hands out, or all
 * branches of the last one.
 */
static bool
is_well_formed(const tsurugi_job *job)
{
	ListCell *cell;

	foreach (cell, job->steps)
	{
		const tsurugi_job_step *step = lfirst(cell);
		int number = foreach_current_index(cell);
		ListCell *inner;

		if ((step->source == TG_FROM_TABLES) != (step->tables != NIL) ||
			(step->subquery != 0) != (step->outputs != NIL) || (step->sink == TG_SORT) != (step->order != NIL) ||
			(step->sink == TG_STORE && job->into == NULL))
			return false;
		if (tg_source_is_step(step->source) && (step->from < 0 || step->from >= number))
			return false;
		if ((step->sink == TG_DELIVER || step->sink == TG_SORT || step->sink == TG_STORE) && !step->goes_on &&
			step != tsurugi_job_last(job))
			return false;
		if (!is_well_formed_branch(job, number))
			return false;
		foreach (inner, step->operators)
		{
			const tsurugi_job_operator *operator= lfirst(inner);

			if (operator->probe ? operator->build < 0 || operator->build >= number : list_length(operator->clauses) != 1)
				return false;
		}
	}
	return job->steps != NIL;
}

tsurugi_job *
tsurugi_job_from_plan(const CustomScan *plan)
{
	const List *list = plan->custom_private;
	tsurugi_job *job = palloc0(sizeof(*job));
	ListCell *cell;

	job->nulls_rows = intVal(linitial(list)) != 0;
	job->limit_count = limit_from_entry(plan, lfourth(list));
	job->limit_offset = limit_from_entry(plan, list_nth(list, 4));
	if (intVal(list_nth(list, 5)) != 0)
	{
		job->into = palloc0(sizeof(*job->into));
		job->into->relation = relation_at(plan, intVal(list_nth(list, 5)));
	}
	foreach (cell, (List *) lsecond(list))
		job->steps = lappend(job->steps, step_from_list(plan, lfirst(cell), job));
	tg_assert(is_well_formed(job));
	return job;
}
