/*
 * translate.c
 *	  From PostgreSQL's expressions to programs: columns, constants, logic, CASE.
 *
 * There are no jumps in a program.  Both branches of a CASE are computed, and the instructions in
 * them that may fail do so only for the rows that PostgreSQL would compute them for (a mask).  The
 * operands of AND and OR behind the first one have masks, too.
 *
 * What an expression has in a register is remembered, and not computed again.
 */
#include "postgres.h"

#include "src/job/translate.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "runtime/vector/program.h"
#include "runtime/vector/vector.h"

/* An expression that is in a register already. */
typedef struct Computed
{
	Node *expr;
	tsurugi_mask *mask;
	const tsurugi_operand *tested;
	tsurugi_operand operand;
} Computed;

Oid
tsurugi_base_type(const Node *expr)
{
	return getBaseType(exprType(expr));
}

bool
tsurugi_vector_of_type(Oid type, uint8_t *vector_out)
{
	switch (type)
	{
		case BOOLOID:
			*vector_out = TG_V_BOOL;
			return true;
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case NUMERICOID:
			*vector_out = TG_V_INT;
			return true;
		case FLOAT8OID:
			*vector_out = TG_V_FLOAT;
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			*vector_out = TG_V_TEXT;
			return true;
		default:
			*vector_out = TG_V_INT; /* an enum is the OID of its value */
			return type_is_enum(type);
	}
}

/* --- constants ------------------------------------------------------------------------ */

static bool
is_not_constant(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
		case T_PlaceHolderVar:
		case T_CaseTestExpr:
		case T_Aggref:
			return true;
		default:
			return expression_tree_walker(node, is_not_constant, context);
	}
}

bool
tsurugi_has_columns(Node *expr)
{
	return is_not_constant(expr, NULL);
}

bool
tsurugi_is_evaluated_once(const tsurugi_translation *translation, Node *expr)
{
	if (tsurugi_has_columns(expr))
		return false;
	if (translation->program->mask != NULL)
		return !tsurugi_may_raise(translation->root, translation->init_plans, expr);
	return !translation->guarded || !tsurugi_may_value_raise(translation->root, translation->init_plans, expr);
}

bool
tsurugi_evaluate(const tsurugi_translation *translation, Node *expr, Datum *value_out, bool *null_out)
{
	if (IsA(expr, Const))
	{
		*value_out = ((Const *) expr)->constvalue;
		*null_out = ((Const *) expr)->constisnull;
		return true;
	}
	if (translation->node == NULL)
	{
		if (translation->has_unknown != NULL)
			*translation->has_unknown = true;
		return false;
	}
	*value_out = ExecEvalExprSwitchContext(ExecInitExpr((Expr *) expr, translation->node),
										   translation->node->ps_ExprContext, null_out);
	return true;
}

static bool
constant_of_datum(Oid type, Datum value, tsurugi_constant *constant, int *scale_out)
{
	switch (type)
	{
		case BOOLOID:
			constant->truth = DatumGetBool(value);
			return true;
		case INT2OID:
			constant->integer = DatumGetInt16(value);
			return true;
		case INT4OID:
			constant->integer = DatumGetInt32(value);
			return true;
		case DATEOID:
			constant->integer = DatumGetDateADT(value);
			return true;
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			constant->integer = DatumGetInt64(value);
			return true;
		case NUMERICOID:
			return tsurugi_scaled_of_numeric(value, &constant->integer, scale_out);
		case FLOAT8OID:
			constant->real = DatumGetFloat8(value);
			return true;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
			/* the evaluation's memory is reset with the next row */
			constant->text = (struct varlena *) PG_DETOAST_DATUM_COPY(value);
			return true;
		default:
			constant->integer = DatumGetInt32(value); /* an enum, as it is stored */
			return true;
	}
}

/* tsurugi_evaluate, as an operand. */
static bool
translate_constant(tsurugi_translation *translation, Node *expr, tsurugi_operand *out)
{
	tsurugi_constant constant = {.known = true};
	Oid type = tsurugi_base_type(expr);
	Datum value;

	*out = (tsurugi_operand){.type = type, .typmod = -1, .scaled = TG_REGISTER_NONE};
	if (!tsurugi_vector_of_type(type, &out->vector))
		return false;
	constant.known = tsurugi_evaluate(translation, expr, &value, &constant.null);
	if (constant.known && !constant.null && !constant_of_datum(type, value, &constant, &out->scale))
	{
		if (type != NUMERICOID || !tsurugi_decimal_of_numeric(value, &constant.decimal))
			return false;
		out->vector = TG_V_DECIMAL;
		out->scale = 0;
	}
	constant.vector = out->vector;
	out->place = tsurugi_emit_constant(translation->program, &constant);
	return true;
}

tsurugi_operand
tsurugi_truth(tsurugi_program *program, bool truth)
{
	tsurugi_constant constant = {.vector = TG_V_BOOL, .known = true, .truth = truth};

	return (tsurugi_operand){.place = tsurugi_emit_constant(program, &constant),
							 .vector = TG_V_BOOL,
							 .type = BOOLOID,
							 .typmod = -1,
							 .scaled = TG_REGISTER_NONE};
}

/* --- logic ---------------------------------------------------------------------------- */

static void
set_truth(tsurugi_operand *out, tsurugi_place place)
{
	*out = (tsurugi_operand){
		.place = place, .vector = TG_V_BOOL, .type = BOOLOID, .typmod = -1, .scaled = TG_REGISTER_NONE};
}

static tsurugi_place
negate(tsurugi_program *program, tsurugi_place place)
{
	return tsurugi_emit(program, TG_OP_NOT, TG_V_BOOL, place, TG_REGISTER_NONE);
}

/* From now on only the rows count where the condition is so. */
static void
push_mask(tsurugi_program *program, tsurugi_place condition, int where)
{
	tsurugi_mask *mask = palloc0(sizeof(*mask));

	mask->outer = program->mask;
	mask->condition = condition;
	mask->where = where;
	mask->place = TG_REGISTER_NONE;
	program->mask = mask;
}

static bool
translate_bool(tsurugi_translation *translation, const BoolExpr *expr, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_mask *mask = program->mask;
	bool done = tsurugi_translate(translation, linitial(expr->args), out);
	tsurugi_place place = out->place;

	if (expr->boolop == NOT_EXPR)
		place = done ? negate(program, place) : place;
	else
		for (int i = 1; done && i < list_length(expr->args); i++)
		{
			push_mask(program, place, expr->boolop == AND_EXPR ? TSURUGI_WHERE_NOT_FALSE : TSURUGI_WHERE_NOT_TRUE);
			done = tsurugi_translate(translation, list_nth(expr->args, i), out);
			if (done)
				place = tsurugi_emit(program, expr->boolop == AND_EXPR ? TG_OP_AND : TG_OP_OR, TG_V_BOOL, place,
									 out->place);
			program->mask = mask;
		}
	if (done)
		set_truth(out, place);
	return done;
}

static bool
translate_null_test(tsurugi_translation *translation, const NullTest *test, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_place place;

	if (test->argisrow || !tsurugi_translate(translation, (Node *) test->arg, out))
		return false;
	place = tsurugi_emit(program, TG_OP_IS_NULL, TG_V_BOOL, out->place, TG_REGISTER_NONE);
	set_truth(out, test->nulltesttype == IS_NULL ? place : negate(program, place));
	return true;
}

static bool
translate_boolean_test(tsurugi_translation *translation, const BooleanTest *test, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	BoolTestType type = test->booltesttype;
	tsurugi_place place;

	if (!tsurugi_translate(translation, (Node *) test->arg, out))
		return false;
	place = out->place;
	if (type == IS_FALSE || type == IS_NOT_FALSE)
		place = negate(program, place);
	place = tsurugi_emit(program, type == IS_UNKNOWN || type == IS_NOT_UNKNOWN ? TG_OP_IS_NULL : TG_OP_IS_TRUE,
						 TG_V_BOOL, place, TG_REGISTER_NONE);
	if (type == IS_NOT_TRUE || type == IS_NOT_FALSE || type == IS_NOT_UNKNOWN)
		place = negate(program, place);
	set_truth(out, place);
	return true;
}

/* --- CASE ----------------------------------------------------------------------------- */

/* The branches of a CASE, or of what is one in other words; the last one is ELSE. */
typedef struct Branches
{
	int count;
	tsurugi_place *conditions; /* all but the last have one */
	tsurugi_operand *results;
} Branches;

static bool
is_zero(const tsurugi_program *program, const tsurugi_operand *operand)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, operand->place);

	return constant != NULL && operand->vector == TG_V_INT && constant->known && !constant->null &&
		   constant->integer == 0 && operand->scale == 0;
}

static bool
is_null_constant(const tsurugi_program *program, const tsurugi_operand *operand)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, operand->place);

	return constant != NULL && constant->known && constant->null;
}

static bool
is_unknown(const tsurugi_program *program, const tsurugi_operand *operand)
{
	const tsurugi_constant *constant = tsurugi_constant_at(program, operand->place);

	return constant != NULL && !constant->known;
}

/* The first branch whose condition is true. */
static tsurugi_place
choose(tsurugi_program *program, const Branches *branches, tg_vector_type type, const tsurugi_place *places)
{
	tsurugi_place place = places[branches->count - 1];

	for (int i = branches->count - 2; i >= 0; i--)
		place = tsurugi_emit_choose(program, type, branches->conditions[i], places[i], place);
	return place;
}

/*
 * Values of a numeric have the scale of their branch.  All have the same, or are zeros of scale 0,
 * which are told apart (tsurugi_operand.scaled).
 */
static bool
choose_scale(tsurugi_program *program, Branches *branches, tsurugi_operand *out)
{
	tsurugi_place *scaled = palloc(branches->count * sizeof(tsurugi_place));
	bool any_zero = false;

	out->scale = 0;
	for (int i = 0; i < branches->count; i++)
	{
		if (branches->results[i].vector != TG_V_INT || branches->results[i].scaled != TG_REGISTER_NONE)
			return false;
		out->scale = Max(out->scale, branches->results[i].scale);
	}
	for (int i = 0; i < branches->count; i++)
	{
		const tsurugi_operand *result = &branches->results[i];
		bool zero = out->scale > 0 && is_zero(program, result);

		if (result->scale != out->scale && !zero && !is_null_constant(program, result) && !is_unknown(program, result))
			return false;
		scaled[i] = tsurugi_truth(program, !zero).place;
		any_zero |= zero;
	}
	if (any_zero)
		out->scaled = choose(program, branches, TG_V_BOOL, scaled);
	return true;
}

/* Values of a numeric with scales of their own. */
static bool
choose_decimals(tsurugi_program *program, Branches *branches, tsurugi_operand *out)
{
	for (int i = 0; i < branches->count; i++)
		if (!tsurugi_to_decimal(program, &branches->results[i]))
			return false;
	out->vector = TG_V_DECIMAL;
	out->scale = 0;
	return true;
}

/* The value of the branches. */
static bool
finish_branches(tsurugi_program *program, Branches *branches, Oid type, tsurugi_operand *out)
{
	tsurugi_place *places = palloc(branches->count * sizeof(tsurugi_place));

	*out = (tsurugi_operand){.type = type, .typmod = branches->results[0].typmod, .scaled = TG_REGISTER_NONE};
	if (!tsurugi_vector_of_type(type, &out->vector) ||
		(type == NUMERICOID && !choose_scale(program, branches, out) && !choose_decimals(program, branches, out)))
		return false;
	for (int i = 0; i < branches->count; i++)
	{
		if (branches->results[i].vector != out->vector)
			return false;
		if (branches->results[i].typmod != out->typmod)
			out->typmod = -1;
		places[i] = branches->results[i].place;
	}
	out->place = choose(program, branches, out->vector, places);
	return true;
}

static Branches
make_branches(int count)
{
	return (Branches){.count = count,
					  .conditions = palloc0(count * sizeof(tsurugi_place)),
					  .results = palloc0(count * sizeof(tsurugi_operand))};
}

static bool
translate_else(tsurugi_translation *translation, const CaseExpr *expr, tsurugi_operand *out)
{
	if (expr->defresult != NULL)
		return tsurugi_translate(translation, (Node *) expr->defresult, out);
	*out = (tsurugi_operand){.type = tsurugi_base_type((const Node *) expr), .typmod = -1, .scaled = TG_REGISTER_NONE};
	if (!tsurugi_vector_of_type(out->type, &out->vector))
		return false;
	out->place = tsurugi_emit_constant(translation->program,
									   &(tsurugi_constant){.vector = out->vector, .known = true, .null = true});
	return true;
}

static bool
translate_branches(tsurugi_translation *translation, const CaseExpr *expr, Branches *branches)
{
	tsurugi_program *program = translation->program;

	for (int i = 0; i < branches->count - 1; i++)
	{
		const CaseWhen *when = list_nth_node(CaseWhen, expr->args, i);
		tsurugi_mask *before = program->mask;
		tsurugi_operand condition;

		if (!tsurugi_translate(translation, (Node *) when->expr, &condition))
			return false;
		branches->conditions[i] = condition.place;
		push_mask(program, condition.place, TSURUGI_WHERE_TRUE);
		if (!tsurugi_translate(translation, (Node *) when->result, &branches->results[i]))
			return false;
		program->mask = before;
		push_mask(program, condition.place, TSURUGI_WHERE_NOT_TRUE); /* for all that follows */
	}
	return translate_else(translation, expr, &branches->results[branches->count - 1]);
}

static bool
translate_case(tsurugi_translation *translation, const CaseExpr *expr, tsurugi_operand *out)
{
	tsurugi_mask *mask = translation->program->mask;
	const tsurugi_operand *outer = translation->tested;
	Branches branches = make_branches(list_length(expr->args) + 1);
	tsurugi_operand *tested = palloc(sizeof(*tested));
	bool done = true;

	if (expr->arg != NULL)
	{
		done = tsurugi_translate(translation, (Node *) expr->arg, tested);
		translation->tested = tested;
	}
	done = done && translate_branches(translation, expr, &branches);
	translation->program->mask = mask;
	translation->tested = outer;
	return done && finish_branches(translation->program, &branches, tsurugi_base_type((const Node *) expr), out);
}

static bool
translate_coalesce(tsurugi_translation *translation, const CoalesceExpr *expr, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_mask *mask = program->mask;
	Branches branches = make_branches(list_length(expr->args));
	bool done = true;

	for (int i = 0; done && i < branches.count; i++)
	{
		tsurugi_operand *result = &branches.results[i];

		done = tsurugi_translate(translation, list_nth(expr->args, i), result);
		if (!done || i == branches.count - 1)
			break;
		branches.conditions[i] =
			negate(program, tsurugi_emit(program, TG_OP_IS_NULL, TG_V_BOOL, result->place, TG_REGISTER_NONE));
		push_mask(program, branches.conditions[i], TSURUGI_WHERE_NOT_TRUE);
	}
	program->mask = mask;
	return done && finish_branches(program, &branches, tsurugi_base_type((const Node *) expr), out);
}

/* --- operators and functions ---------------------------------------------------------- */

static bool
translate_comparison(tsurugi_translation *translation, const OpExpr *op, tsurugi_comparison comparison,
					 tsurugi_operand *out)
{
	static const tsurugi_comparison commuted[] = {TSURUGI_EQ, TSURUGI_NE, TSURUGI_GT,
												  TSURUGI_GE, TSURUGI_LT, TSURUGI_LE};
	Node *left = linitial(op->args);
	Node *right = lsecond(op->args);
	tsurugi_operand a;
	tsurugi_operand b;

	if (tsurugi_has_columns(left))
	{
		if (!tsurugi_translate(translation, left, &a))
			return false;
		if (tsurugi_is_evaluated_once(translation, right) &&
			tsurugi_compare_with_numeric(translation, comparison, &a, right, out))
			return true;
		return tsurugi_translate(translation, right, &b) &&
			   tsurugi_compare(translation, comparison, op->inputcollid, &a, &b, out);
	}
	if (!tsurugi_translate(translation, right, &b))
		return false;
	if (tsurugi_is_evaluated_once(translation, left) &&
		tsurugi_compare_with_numeric(translation, commuted[comparison], &b, left, out))
		return true;
	return tsurugi_translate(translation, left, &a) &&
		   tsurugi_compare(translation, comparison, op->inputcollid, &a, &b, out);
}

static bool
translate_operator(tsurugi_translation *translation, const OpExpr *op, tsurugi_operand *out)
{
	const char *name;
	tsurugi_comparison comparison;

	if (op->opno >= FirstUnpinnedObjectId)
		return false;
	name = get_opname(op->opno);
	comparison = tsurugi_comparison_of(name);
	if (comparison != TSURUGI_NOT_COMPARED)
		return translate_comparison(translation, op, comparison, out);
	if (strcmp(name, "~~") == 0 || strcmp(name, "!~~") == 0)
		return tsurugi_translate_like(translation, op, name[0] == '!', out);
	return tsurugi_translate_arithmetic(translation, op, name, out);
}

/* NULL where both are equal, else the first. */
static bool
translate_nullif(tsurugi_translation *translation, const NullIfExpr *op, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_operand a;
	tsurugi_operand compared;
	tsurugi_operand b;
	tsurugi_operand equal;
	tsurugi_constant null = {.known = true, .null = true};

	if (op->opno >= FirstUnpinnedObjectId || tsurugi_comparison_of(get_opname(op->opno)) != TSURUGI_EQ ||
		!tsurugi_translate(translation, linitial(op->args), &a) ||
		!tsurugi_translate(translation, lsecond(op->args), &b))
		return false;
	compared = a;
	if (!tsurugi_compare(translation, TSURUGI_EQ, op->inputcollid, &compared, &b, &equal))
		return false;
	*out = a;
	null.vector = a.vector;
	out->place = tsurugi_emit_choose(program, a.vector, equal.place, tsurugi_emit_constant(program, &null), a.place);
	return true;
}

/* Whether two values differ; NULLs do not. */
static bool
translate_distinct(tsurugi_translation *translation, const DistinctExpr *op, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_operand a;
	tsurugi_operand b;
	tsurugi_place a_null;
	tsurugi_place b_null;
	tsurugi_place one_null;
	tsurugi_place any_null;

	if (op->opno >= FirstUnpinnedObjectId || tsurugi_comparison_of(get_opname(op->opno)) != TSURUGI_EQ ||
		!tsurugi_translate(translation, linitial(op->args), &a) ||
		!tsurugi_translate(translation, lsecond(op->args), &b))
		return false;
	a_null = tsurugi_emit(program, TG_OP_IS_NULL, TG_V_BOOL, a.place, TG_REGISTER_NONE);
	b_null = tsurugi_emit(program, TG_OP_IS_NULL, TG_V_BOOL, b.place, TG_REGISTER_NONE);
	any_null = tsurugi_emit(program, TG_OP_OR, TG_V_BOOL, a_null, b_null);
	one_null = tsurugi_emit(program, TG_OP_AND, TG_V_BOOL, any_null,
							negate(program, tsurugi_emit(program, TG_OP_AND, TG_V_BOOL, a_null, b_null)));
	if (!tsurugi_compare(translation, TSURUGI_NE, op->inputcollid, &a, &b, out))
		return false;
	set_truth(out, tsurugi_emit_choose(program, TG_V_BOOL, any_null, one_null, out->place));
	return true;
}

/* GREATEST and LEAST: of equal values the first, and NULL only if all are. */
static bool
translate_extreme(tsurugi_translation *translation, const MinMaxExpr *expr, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	tsurugi_comparison stays = expr->op == IS_GREATEST ? TSURUGI_GE : TSURUGI_LE;

	if (!tsurugi_translate(translation, linitial(expr->args), out))
		return false;
	for (int i = 1; i < list_length(expr->args); i++)
	{
		Branches branches = make_branches(2);
		tsurugi_operand a = *out;
		tsurugi_operand b;
		tsurugi_operand condition;

		if (!tsurugi_translate(translation, list_nth(expr->args, i), &b))
			return false;
		branches.results[0] = a;
		branches.results[1] = b;
		if (!tsurugi_compare(translation, stays, expr->inputcollid, &a, &b, &condition))
			return false;
		branches.conditions[0] =
			tsurugi_emit(program, TG_OP_OR, TG_V_BOOL, condition.place,
						 tsurugi_emit(program, TG_OP_IS_NULL, TG_V_BOOL, branches.results[1].place, TG_REGISTER_NONE));
		if (!finish_branches(program, &branches, getBaseType(expr->minmaxtype), out))
			return false;
	}
	return true;
}

static bool
translate_function(tsurugi_translation *translation, const FuncExpr *function, tsurugi_operand *out)
{
	const char *name;

	if (function->funcid >= FirstUnpinnedObjectId || function->args == NIL)
		return false;
	name = get_func_name(function->funcid);
	return tsurugi_translate_time_function(translation, function, name, out) ||
		   tsurugi_translate_number_function(translation, function, name, out) ||
		   tsurugi_translate_text_function(translation, function, name, out);
}

/* Types of one stored form; a domain is its base type. */
static bool
translate_relabel(tsurugi_translation *translation, const RelabelType *relabel, tsurugi_operand *out)
{
	Oid type = tsurugi_base_type((const Node *) relabel);

	if (!tsurugi_translate(translation, (Node *) relabel->arg, out))
		return false;
	if (type == out->type)
		return true;
	if ((type != TEXTOID && type != VARCHAROID) || (out->type != TEXTOID && out->type != VARCHAROID))
		return false;
	out->type = type;
	return true;
}

static bool
translate_node(tsurugi_translation *translation, Node *expr, tsurugi_operand *out)
{
	if (translation->find_expr != NULL)
	{
		bool is_there;
		bool done = translation->find_expr(translation, expr, &is_there, out);

		if (is_there)
			return done;
	}
	switch (nodeTag(expr))
	{
		case T_Var:
			return translation->find(translation, (Var *) expr, out);
		case T_PlaceHolderVar:
			return !translation->nulls_rows &&
				   tsurugi_translate(translation, (Node *) ((PlaceHolderVar *) expr)->phexpr, out);
		case T_CaseTestExpr:
			if (translation->tested == NULL)
				return false;
			*out = *translation->tested;
			return true;
		case T_BoolExpr:
			return translate_bool(translation, (BoolExpr *) expr, out);
		case T_NullTest:
			return translate_null_test(translation, (NullTest *) expr, out);
		case T_BooleanTest:
			return translate_boolean_test(translation, (BooleanTest *) expr, out);
		case T_CaseExpr:
			return translate_case(translation, (CaseExpr *) expr, out);
		case T_CoalesceExpr:
			return translate_coalesce(translation, (CoalesceExpr *) expr, out);
		case T_OpExpr:
			return translate_operator(translation, (OpExpr *) expr, out);
		case T_NullIfExpr:
			return translate_nullif(translation, (NullIfExpr *) expr, out);
		case T_DistinctExpr:
			return translate_distinct(translation, (DistinctExpr *) expr, out);
		case T_MinMaxExpr:
			return translate_extreme(translation, (MinMaxExpr *) expr, out);
		case T_ScalarArrayOpExpr:
			return tsurugi_translate_in(translation, (ScalarArrayOpExpr *) expr, out);
		case T_FuncExpr:
			return translate_function(translation, (FuncExpr *) expr, out);
		case T_RelabelType:
			return translate_relabel(translation, (RelabelType *) expr, out);
		default:
			return false;
	}
}

bool
tsurugi_translate(tsurugi_translation *translation, Node *expr, tsurugi_operand *out)
{
	tsurugi_program *program = translation->program;
	Computed *computed;
	ListCell *cell;

	if (tsurugi_is_evaluated_once(translation, expr))
		return translate_constant(translation, expr, out);
	foreach (cell, program->computed)
	{
		computed = lfirst(cell);
		if ((computed->mask == NULL || computed->mask == program->mask) && computed->tested == translation->tested &&
			equal(computed->expr, expr))
		{
			*out = computed->operand;
			return true;
		}
	}
	if (tsurugi_program_registers(program) >= TG_REGISTER_MAX / 2 || !translate_node(translation, expr, out))
		return false;
	computed = palloc(sizeof(*computed));
	*computed = (Computed){.expr = expr, .mask = program->mask, .tested = translation->tested, .operand = *out};
	program->computed = lappend(program->computed, computed);
	return true;
}
