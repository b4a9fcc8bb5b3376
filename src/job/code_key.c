/*
 * code_key.c
 *	  Keys of probes, and of the builds that they look into.
 */
#include "postgres.h"

#include "src/job/code_internal.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "runtime/query/plan.h"
#include "runtime/vector/vector.h"
#include "src/job/translate.h"

static bool
collect_varnos(Node *node, Relids *relids)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
	{
		*relids = bms_add_member(*relids, ((Var *) node)->varno);
		return false;
	}
	return expression_tree_walker(node, collect_varnos, relids);
}

static bool
is_of(Node *expr, const Relids relids)
{
	Relids of = NULL;

	(void) collect_varnos(expr, &of);
	return !bms_is_empty(of) && bms_is_subset(of, relids);
}

/* Values whose registers are equal where PostgreSQL's are. */
static bool
keys_match(Where *probe, Where *build, Oid collation, tsurugi_operand *a, tsurugi_operand *b)
{
	int scale = Max(a->scale, b->scale);
	tsurugi_operand x = *a;

	if (a->vector == TG_V_FLOAT)
		return false;
	if (a->type == NUMERICOID && b->type == NUMERICOID)
	{
		if (a->vector != TG_V_INT || b->vector != TG_V_INT || !tsurugi_rescale(probe->translation.program, &x, scale) ||
			!tsurugi_rescale(build->translation.program, b, scale))
			return tsurugi_to_decimal(probe->translation.program, a) &&
				   tsurugi_to_decimal(build->translation.program, b);
		*a = x;
		return true;
	}
	if (a->type == BPCHAROID && a->typmod != b->typmod)
		return false;
	if ((a->type == DATEOID) != (b->type == DATEOID))
		return false;
	/* nothing is left that it could emit */
	return tsurugi_make_comparable(&probe->translation, TSURUGI_EQ, collation, a, b);
}

/* The two sides of an equality. */
typedef struct Equality
{
	Node *probe;
	Node *build;
	Oid collation;
} Equality;

/* False: the clause is no equality of both sides. */
static bool
find_equality(Node *clause, const Relids outer, const Relids inner, Equality *equality)
{
	const OpExpr *op = (OpExpr *) clause;
	Node *a;
	Node *b;

	if (!IsA(clause, OpExpr) || op->opno >= FirstUnpinnedObjectId || list_length(op->args) != 2 ||
		tsurugi_comparison_of(get_opname(op->opno)) != TSURUGI_EQ)
		return false;
	a = linitial(op->args);
	b = lsecond(op->args);
	*equality = (Equality){.probe = a, .build = b, .collation = op->inputcollid};
	if (is_of(b, outer) && is_of(a, inner))
		*equality = (Equality){.probe = b, .build = a, .collation = op->inputcollid};
	else if (!is_of(a, outer) || !is_of(b, inner))
		return false;
	return true;
}

/* Adds a key to one of the build's steps.  False: it has another one there. */
static bool
put_key(StepCode *built, int number, tsurugi_place place)
{
	if (number < built->key_count) /* another probe has given the build its keys */
		return built->fields[number] == place;
	if (built->key_count > 0)
		return false;
	built->fields[built->field_count++] = place;
	return true;
}

bool
tsurugi_job_add_key(Where *probe, Relids outer, Node *clause, OperatorCode *operator)
{
	tsurugi_job_code *code = probe->code;
	int build = operator->build;
	int first = tsurugi_job_first_branch(code->job, build);
	tsurugi_operand forms[TG_PLAN_STEPS_MAX];
	tsurugi_operand x;
	Equality equality;

	if (operator->key_count == TG_PLAN_KEYS_MAX || !find_equality(
			clause, outer, ((const tsurugi_job_step *) list_nth(code->job->steps, build))->relids, &equality))
		return false;
	for (int i = first; i <= build; i++)
	{
		Where there = tsurugi_job_where(code, i, JOB_PASSED_ALL, code->steps[i].sink);
		tsurugi_operand *y = &forms[i - first];

		if (!tsurugi_translate(&probe->translation, equality.probe, &x) ||
			!tsurugi_translate(&there.translation, equality.build, y) ||
			!keys_match(probe, &there, equality.collation, &x, y) || !tsurugi_job_same_form(y, &forms[0]))
			return false;
	}
	for (int i = first; i <= build; i++)
		if (!put_key(&code->steps[i], operator->key_count, forms[i - first].place))
			return false;
	operator->keys[operator->key_count++] = x.place;
	return true;
}
