/*
 * reduce.c
 *	  Groups of a subquery, made for the keys alone that they are joined by.
 *
 *	step 1:  part -> filter -> build (p_partkey)
 *	step 2:  lineitem -> semi probe 1 (l_partkey) -> group by (l_partkey)
 *	step 3:  groups of 2 -> probe 1 -> ...
 *
 * Where few rows are joined with the groups of many, the few are built first, and the step that
 * reads the table of the groups' keys looks each row up there: what it does not find would be in
 * groups that find nothing there either.
 *
 * 1. The keys are columns of one table.  A row of it that is left out changes only groups that have
 *	  its keys, or, where it is on the nullable side of a join, groups whose keys are NULL, which
 *	  match nothing.
 * 2. Both probes have the same keys, in the same order, and so the same types, for which the build
 *	  is made once.
 */
#include "postgres.h"

#include "src/job/reduce.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "src/job/translate.h"

/* A column of the groups, and of the table that it is from. */
typedef struct Key
{
	Var *groups;
	Var *table;
} Key;

/* Registers of these types are equal where values are, whatever the column. */
static bool
is_plain_type(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TEXTOID:
		case VARCHAROID:
			return true;
		default:
			return false;
	}
}

/* The column of the groups that one side of an equality is. */
static bool
find_key(const tsurugi_job_step *step, const tsurugi_job_step *groups, Node *expr, Key *key)
{
	Var *var = (Var *) expr;
	Var *from;

	if (!IsA(var, Var) || var->varno != step->subquery || var->varattno < 1)
		return false;
	from = list_nth(step->outputs, var->varattno - 1);
	*key = (Key){.groups = var, .table = from};
	return IsA(from, Var) && from->varattno > 0 && is_plain_type(from->vartype) && list_member(groups->keys, from);
}

static bool
is_column_of_other(const tsurugi_job_step *step, Node *expr)
{
	return IsA(expr, Var) && ((Var *) expr)->varno != step->subquery;
}

/* The same equality with the table's column in place of the groups'; NULL: it is something else. */
static OpExpr *
equality_of_table(const tsurugi_job_step *step, const tsurugi_job_step *groups, Node *clause, Index *table)
{
	OpExpr *equality = (OpExpr *) clause;
	Key key;
	bool first;

	if (!IsA(clause, OpExpr) || equality->opno >= FirstUnpinnedObjectId || list_length(equality->args) != 2 ||
		tsurugi_comparison_of(get_opname(equality->opno)) != TSURUGI_EQ)
		return NULL;
	first = find_key(step, groups, linitial(equality->args), &key);
	if (!first && !find_key(step, groups, lsecond(equality->args), &key))
		return NULL;
	if (exprType(linitial(equality->args)) != exprType(lsecond(equality->args)) ||
		!is_column_of_other(step, first ? lsecond(equality->args) : linitial(equality->args)) ||
		(*table != 0 && *table != key.table->varno))
		return NULL;
	*table = key.table->varno;
	equality = copyObject(equality);
	if (first)
		linitial(equality->args) = (void *) copyObject(key.table);
	else
		lsecond(equality->args) = (void *) copyObject(key.table);
	return equality;
}

/* The step that reads the table. */
static tsurugi_job_step *
find_step(const tsurugi_job *job, int from, int to, Index table)
{
	for (int i = from; i <= to; i++)
	{
		tsurugi_job_step *step = list_nth(job->steps, i);

		if (step->source == TG_FROM_TABLES && step->relation == table)
			return step;
	}
	return NULL;
}

/* In front of the first probe. */
static void
add_semi_probe(tsurugi_job_step *step, int build, List *clauses)
{
	tsurugi_job_operator *operator= palloc0(sizeof(*operator));
	int place = 0;

	operator->probe = true;
	operator->join = TG_JOIN_SEMI;
	operator->build = build;
	operator->clauses = clauses;
	while (place < list_length(step->operators) &&
		   !((const tsurugi_job_operator *) list_nth(step->operators, place))->probe)
		place++;
	step->operators = list_insert_nth(step->operators, place, operator);
}

tsurugi_job_step *
tsurugi_job_reduce(tsurugi_job *job, tsurugi_job_step *step, int build, const List *clauses)
{
	const tsurugi_job_step *groups = list_nth(job->steps, step->from);
	List *equalities = NIL;
	Index table = 0;
	tsurugi_job_step *reads;
	ListCell *cell;

	foreach (cell, clauses)
	{
		OpExpr *equality = equality_of_table(step, groups, lfirst(cell), &table);

		if (equality != NULL)
			equalities = lappend(equalities, equality);
	}
	reads = equalities == NIL ? NULL : find_step(job, build + 1, step->from, table);
	if (reads != NULL)
		add_semi_probe(reads, build, equalities);
	return reads;
}
