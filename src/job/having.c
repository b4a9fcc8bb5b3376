/*
 * having.c
 *	  Groups that HAVING rejects, told by their totals alone.
 *
 * A job may have a million groups of which HAVING keeps ten.  Making datums of the totals, for
 * PostgreSQL to compare, costs more than the groups themselves.  So comparisons of a count or a sum
 * with something that is constant for the run are made on the totals first.  They reject only what
 * the condition would reject, and PostgreSQL evaluates all of HAVING for the rest.
 */
#include "postgres.h"

#include "src/job/having.h"
#include "src/job/translate.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "runtime/query/total.h"

typedef enum Comparison
{
	NONE,
	BELOW,
	AT_MOST,
	AT_LEAST,
	ABOVE
} Comparison;

/* Passes a group whose value lies between the bounds. */
typedef struct Test
{
	const tsurugi_job_column *column;
	int128 low;
	int128 high;
} Test;

struct tsurugi_job_having
{
	int count;
	Test tests[FLEXIBLE_ARRAY_MEMBER];
};

static Comparison
comparison_of(Oid function)
{
	switch (function)
	{
		case F_NUMERIC_LT:
		case F_INT8LT:
		case F_INT84LT:
			return BELOW;
		case F_NUMERIC_LE:
		case F_INT8LE:
		case F_INT84LE:
			return AT_MOST;
		case F_NUMERIC_GE:
		case F_INT8GE:
		case F_INT84GE:
			return AT_LEAST;
		case F_NUMERIC_GT:
		case F_INT8GT:
		case F_INT84GT:
			return ABOVE;
		default:
			return NONE;
	}
}

/* Of a sum: the scale of what is added; otherwise the values are integers. */
static int
scale_of(const tsurugi_job_column *column)
{
	return column->what == TSURUGI_COLUMN_SUM && column->type == NUMERICOID ? column->scale : 0;
}

static bool
has_integers(const tsurugi_job_column *column)
{
	return column->what == TSURUGI_COLUMN_COUNT || (column->what == TSURUGI_COLUMN_SUM && column->vector == TG_V_INT &&
													(column->type == NUMERICOID || column->type == INT8OID ||
													 column->type == INT4OID || column->type == INT2OID));
}

static bool
make_test(const tsurugi_job_column *column, Comparison comparison, Datum bound, Oid type, Test *test_out)
{
	/* above 2.5 is above 2, at least 2.5 is at least 3 */
	bool up = comparison == AT_LEAST || comparison == BELOW;
	int64 whole;

	if (type == NUMERICOID)
	{
		if (!tsurugi_whole_of_numeric(bound, scale_of(column), up, &whole))
			return false;
	}
	else if (scale_of(column) == 0 && (type == INT8OID || type == INT4OID))
		whole = type == INT8OID ? DatumGetInt64(bound) : DatumGetInt32(bound);
	else
		return false;
	*test_out = (Test){.column = column, .low = -((int128) 1 << 126), .high = (int128) 1 << 126};
	if (comparison == AT_LEAST || comparison == ABOVE)
		test_out->low = (int128) whole + (comparison == ABOVE);
	else
		test_out->high = (int128) whole - (comparison == BELOW);
	return true;
}

/* A condition of the form: column, comparison, constant. */
static bool
test_of(const Node *clause, const tsurugi_job_column *columns, int column_count, PlanState *node, Test *test_out)
{
	const OpExpr *operator=(const OpExpr *) clause;
	Comparison comparison;
	const Var *var;
	Node *other;
	Datum bound;
	bool is_null;

	if (!IsA(clause, OpExpr) || list_length(operator->args) != 2 || !IsA(linitial(operator->args), Var))
		return false;
	var = linitial(operator->args);
	other = lsecond(operator->args);
	comparison = comparison_of(get_opcode(operator->opno));
	if (comparison == NONE || var->varno != INDEX_VAR || var->varattno < 1 || var->varattno > column_count ||
		!has_integers(&columns[var->varattno - 1]) || contain_var_clause(other) || contain_volatile_functions(other))
		return false;
	bound = ExecEvalExpr(ExecInitExpr((Expr *) other, node), node->ps_ExprContext, &is_null);
	return !is_null && make_test(&columns[var->varattno - 1], comparison, bound, exprType(other), test_out);
}

/* Whether something in it is yet to be evaluated, with an error perhaps. */
static bool
has_value_to_come(const Node *clause)
{
	const Node *other = IsA(clause, OpExpr) ? llast(((const OpExpr *) clause)->args) : clause;

	return !IsA(other, Const);
}

tsurugi_job_having *
tsurugi_job_having_make(const List *clauses, const tsurugi_job_column *columns, int column_count, PlanState *node)
{
	tsurugi_job_having *having =
		palloc0(offsetof(tsurugi_job_having, tests) + (list_length(clauses) + 1) * sizeof(Test) + sizeof(int128));
	ListCell *cell;

	having = (tsurugi_job_having *) TYPEALIGN(sizeof(int128), having);
	foreach (cell, clauses)
		if ((cell == list_head(clauses) || !has_value_to_come(lfirst(cell))) &&
			test_of(lfirst(cell), columns, column_count, node, &having->tests[having->count]))
			having->count++;
	return having;
}

bool
tsurugi_job_having_passes(const tsurugi_job_having *having, const tg_total *totals)
{
	for (int i = 0; i < having->count; i++)
	{
		const Test *test = &having->tests[i];
		const tg_total *total = &totals[test->column->number];
		int128 value = test->column->what == TSURUGI_COLUMN_COUNT ? (int128) total->count : total->sum;

		/* the sum of nothing is NULL */
		if ((test->column->what == TSURUGI_COLUMN_SUM && total->count == 0) || value < test->low || value > test->high)
			return false;
	}
	return true;
}
