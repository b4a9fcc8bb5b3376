/*
 * fdw_match.c
 *	  Which conditions an index of this extension can answer, and how.
 *
 * A condition on a column of the index is taken over if its operator belongs to the column's btree
 * family and its other side does not depend on the table.  The leading columns are fixed, each by a
 * value, by the values of an array, or by IS NULL.  The next column may have bounds:
 *
 *	(a, b, c)    a = 1 AND b IN (2, 3) AND c > 4
 *	             fixed by value, by array, low bound: two ranges
 *
 * A condition that an index answers is evaluated by the index alone and leaves the scan's
 * conditions.  So does a condition that a partial index's predicate implies.  A comparison of rows,
 * (b, c) > (2, 4), serves as a bound; but it stays with the scan, because it treats NULLs in
 * another way than the index's order does.  An OR whose every arm fixes a column stays with the
 * scan, too, unless the arms say nothing else:
 *
 *	(a = 1 AND b = 2) OR (a = 3 AND b = 4)      the parse tree of (a, b) IN ((1, 2), (3, 4));
 *	                                            a and b are fixed by arrays
 *
 * Conditions from which PostgreSQL can derive comparisons, like LIKE 'abc%', serve as these
 * comparisons.  For a column that has covers (cover.h) the index has ranges in which the rows are.
 * All these conditions are evaluated by the scan, too.
 */
#include "postgres.h"

#include "src/exec/fdw_match.h"

#include "access/stratnum.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "runtime/index/index_spec.h"
#include "src/exec/gin_match.h"
#include "src/value/cover.h"
#include "src/value/hashed.h"
#include "src/value/key_column.h"
#include "src/value/path.h"
#include "src/value/plane.h"
#include "src/value/scan_fit.h"
#include "src/value/served.h"

#define TURNS_OF_COVER 8 /* ranges of covers; most have no row */

/* The limit on combinations of values for an OR of several columns. */
#define OR_TURNS_MAX 1000

typedef enum ConditionKind
{
	CONDITION_VALUE, /* column operator value */
	CONDITION_COVER, /* the same, of a column of covers */
	CONDITION_PATH,	 /* column is value, or below it */
	CONDITION_ARRAY, /* column = ANY (value) */
	CONDITION_NULL,
	CONDITION_NOT_NULL,
	CONDITION_ROW /* (column, the one after it, ...) operator (values) */
} ConditionKind;

/* One condition that the index can take. */
typedef struct Condition
{
	RestrictInfo *rinfo;
	bool derived; /* it follows from the RestrictInfo's clause but is another one */
	int column;	  /* of the index */
	ConditionKind kind;
	StrategyNumber strategy; /* of VALUE and ROW */
	Oid operator;			 /* of COVER */
	Expr *value;			 /* of VALUE, COVER, PATH and ARRAY */
	List *values;			 /* of ROW */
	Expr *implied;			 /* the part that the index answers; NULL: the whole condition */
} Condition;

/* --- single conditions --------------------------------------------------------------- */

/* Whether an expression, or each one of a list, is the same for all rows of a scan. */
static bool
is_value(RelOptInfo *baserel, Node *expression)
{
	return !bms_is_member(baserel->relid, pull_varnos(NULL, expression)) && !contain_volatile_functions(expression);
}

/* The column of the index that an expression is, or -1. */
static int
column_of(const tsurugi_candidate *candidate, Node *expression)
{
	for (int i = 0; i < candidate->index->key_count; i++)
		if (match_index_to_operand(expression, i, candidate->info))
			return i;
	return -1;
}

/*
 * Whether values of the type that a column is compared with have places among the column's values.
 */
static bool
fits(const tsurugi_key_column *key, Oid column, Oid value)
{
	if (key->hashed && !key->canonical)
		return column == value || OidIsValid(tsurugi_hash_function(key->hash_family, value));
	return OidIsValid(key->comparison) ? column == value : tsurugi_fits(column, value);
}

/*
 * Whether the column's family has the operator, for types whose values have places among the
 * column's values.  Operators of RECORD do not determine the types of rows, so the value must have
 * the column's type.
 */
static bool
match_operator(const tsurugi_key_column *key, Oid operator, Oid value_type, Oid collation, StrategyNumber *strategy_out)
{
	Oid left_type;
	Oid right_type;
	int strategy;

	if (!OidIsValid(operator) || key->cover || !op_in_opfamily(operator, key->family))
		return false;
	get_op_opfamily_properties(operator, key->family, false, &strategy, &left_type, &right_type);
	*strategy_out = key->equality ? BTEqualStrategyNumber : strategy;
	if (!fits(key, left_type, right_type))
		return false;
	if (left_type == RECORDOID && getBaseType(value_type) != key->type)
		return false;
	if (OidIsValid(key->collation) && collation != key->collation)
		return false;
	return *strategy_out == BTEqualStrategyNumber || key->ordered;
}

/* Whether there are ranges of covers for the operator, which must be one of the index's own. */
static bool
match_cover(const tsurugi_key_column *key, Oid operator, Condition * condition)
{
	condition->kind = CONDITION_COVER;
	condition->operator= operator;
	return OidIsValid(operator) && op_in_opfamily(operator, key->family) && tsurugi_cover_answers(get_opcode(operator));
}

/* Whether the values below a path are a range of the column. */
static bool
match_path(const tsurugi_key_column *key, Oid operator, const Condition * condition)
{
	return key->ordered && OidIsValid(operator) && key->type == exprType((Node *) condition->value) &&
		   tsurugi_path_is_below(get_opcode(operator));
}

static bool
match_comparison(const tsurugi_candidate *candidate, const OpExpr *clause, Condition *condition)
{
	Oid operator= clause->opno;

	if (list_length(clause->args) != 2)
		return false;
	condition->kind = CONDITION_VALUE;
	condition->value = lsecond(clause->args);
	condition->column = column_of(candidate, linitial(clause->args));
	if (condition->column < 0)
	{
		operator= get_commutator(operator);
		condition->value = linitial(clause->args);
		condition->column = column_of(candidate, lsecond(clause->args));
	}
	if (condition->column < 0)
		return false;
	if (candidate->index->key[condition->column].cover)
		return match_cover(&candidate->index->key[condition->column], operator, condition);
	if (match_path(&candidate->index->key[condition->column], operator, condition))
	{
		condition->kind = CONDITION_PATH;
		return true;
	}
	return match_operator(&candidate->index->key[condition->column], operator, exprType((Node *) condition->value),
						  clause->inputcollid, &condition->strategy);
}

static bool
match_array(const tsurugi_candidate *candidate, const ScalarArrayOpExpr *clause, Condition *condition)
{
	condition->kind = CONDITION_ARRAY;
	condition->value = lsecond(clause->args);
	condition->column = column_of(candidate, linitial(clause->args));
	return clause->useOr && condition->column >= 0 &&
		   match_operator(&candidate->index->key[condition->column], clause->opno,
						  get_base_element_type(exprType((Node *) condition->value)), clause->inputcollid,
						  &condition->strategy) &&
		   condition->strategy == BTEqualStrategyNumber;
}

static bool
match_null_test(const tsurugi_candidate *candidate, const NullTest *clause, Condition *condition)
{
	condition->kind = clause->nulltesttype == IS_NULL ? CONDITION_NULL : CONDITION_NOT_NULL;
	/* the primary key has no NULLs */
	condition->column = clause->argisrow || candidate->index->primary ? -1 : column_of(candidate, (Node *) clause->arg);
	return condition->column >= 0 && candidate->index->method != HASH_AM_OID;
}

/* Takes a boolean column by itself, or its NOT, as a comparison. */
static bool
match_boolean(const tsurugi_candidate *candidate, Node *clause, Condition *condition)
{
	bool value = !is_notclause(clause);

	if (!value)
		clause = (Node *) get_notclausearg(clause);
	condition->kind = CONDITION_VALUE;
	condition->strategy = BTEqualStrategyNumber;
	condition->column = column_of(candidate, clause);
	if (condition->column < 0 || !IsBooleanOpfamily(candidate->index->key[condition->column].family))
		return false;
	condition->value = (Expr *) makeBoolConst(value, false);
	return true;
}

/*
 * The strategy of one column of a comparison of rows, if it is this column of the index; else
 * InvalidStrategy.
 */
static StrategyNumber
match_row_column(const tsurugi_candidate *candidate, int column, const RowCompareExpr *clause, int i, bool commuted)
{
	Node *value = list_nth(commuted ? clause->largs : clause->rargs, i);
	Oid operator= list_nth_oid(clause->opnos, i);
	StrategyNumber strategy;

	if (column >= candidate->index->key_count ||
		!match_index_to_operand(list_nth(commuted ? clause->rargs : clause->largs, i), column, candidate->info) ||
		!match_operator(&candidate->index->key[column], commuted ? get_commutator(operator) : operator, exprType(value),
						list_nth_oid(clause->inputcollids, i), &strategy) ||
		strategy == BTEqualStrategyNumber)
		return InvalidStrategy;
	return strategy;
}

/*
 * Rows are compared column by column, as keys are.  The leading columns are taken, as far as they
 * follow each other in the index and have the direction of the first.  Some of the rows at the
 * bound itself may be wanted, or none of them: the scan evaluates the condition, too.
 */
static bool
match_row(const tsurugi_candidate *candidate, const RowCompareExpr *clause, Condition *condition)
{
	const bool *descending = candidate->info->reverse_sort;
	bool commuted = column_of(candidate, linitial(clause->largs)) < 0;
	int first = column_of(candidate, linitial(commuted ? clause->rargs : clause->largs));
	StrategyNumber strategy = InvalidStrategy;

	condition->kind = CONDITION_ROW;
	condition->values = NIL;
	condition->column = first;
	for (int i = 0; first >= 0 && i < list_length(clause->opnos); i++)
	{
		StrategyNumber next = match_row_column(candidate, first + i, clause, i, commuted);

		if (next == InvalidStrategy || (i > 0 && (next != strategy || descending[first + i] != descending[first])))
			break;
		strategy = next;
		condition->values = lappend(condition->values, list_nth(commuted ? clause->largs : clause->rargs, i));
	}
	condition->strategy =
		strategy <= BTLessEqualStrategyNumber ? BTLessEqualStrategyNumber : BTGreaterEqualStrategyNumber;
	return condition->values != NIL;
}

/* Finds the comparison that fixes a column in an arm of an OR; NULL if there is none. */
static const OpExpr *
find_equality(RelOptInfo *baserel, const tsurugi_candidate *candidate, int column, Node *arm, Expr **value_out)
{
	List *clauses = is_andclause(arm) ? ((BoolExpr *) arm)->args : list_make1(arm);
	ListCell *cell;

	foreach (cell, clauses)
	{
		Condition condition = {0};

		if (IsA(lfirst(cell), OpExpr) && match_comparison(candidate, lfirst(cell), &condition) &&
			condition.kind == CONDITION_VALUE && condition.column == column &&
			condition.strategy == BTEqualStrategyNumber &&
			condition.value == lsecond(((OpExpr *) lfirst(cell))->args) && is_value(baserel, (Node *) condition.value))
		{
			*value_out = condition.value;
			return lfirst(cell);
		}
	}
	return NULL;
}

/* Takes an OR as a condition on a column. */
static bool
match_or(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate, int column, const BoolExpr *clause,
		 Condition *condition)
{
	ScalarArrayOpExpr *any = makeNode(ScalarArrayOpExpr);
	ArrayExpr *array = makeNode(ArrayExpr);
	ListCell *cell;

	condition->kind = CONDITION_ARRAY;
	condition->column = column;
	foreach (cell, clause->args)
	{
		Expr *value;
		const OpExpr *equality = find_equality(baserel, candidate, column, lfirst(cell), &value);

		if (equality == NULL || (array->elements != NIL &&
								 (equality->opno != any->opno || exprType((Node *) value) != array->element_typeid)))
			return false;
		any->opno = equality->opno;
		any->opfuncid = equality->opfuncid;
		any->inputcollid = equality->inputcollid;
		array->element_typeid = exprType((Node *) value);
		array->array_collid = exprCollation((Node *) value);
		array->elements = lappend(array->elements, value);
		if (!IsA(lfirst(cell), OpExpr))
			condition->implied = (Expr *) any;
	}
	/* there are no arrays of arrays */
	array->array_typeid = get_array_type(array->element_typeid);
	if (!OidIsValid(array->array_typeid))
		return false;
	array->location = any->location = -1;
	condition->value = (Expr *) eval_const_expressions(root, (Node *) array);
	any->useOr = true;
	any->args = list_make2(list_nth(candidate->info->indextlist, column), condition->value);
	linitial(any->args) = copyObject(castNode(TargetEntry, linitial(any->args))->expr);
	return true;
}

static bool
match_clause(const tsurugi_candidate *candidate, RestrictInfo *rinfo, Condition *condition)
{
	Node *clause = (Node *) rinfo->clause;

	if (rinfo->pseudoconstant)
		return false;
	switch (nodeTag(clause))
	{
		case T_OpExpr:
			return match_comparison(candidate, (OpExpr *) clause, condition);
		case T_ScalarArrayOpExpr:
			return match_array(candidate, (ScalarArrayOpExpr *) clause, condition);
		case T_NullTest:
			return match_null_test(candidate, (NullTest *) clause, condition);
		case T_RowCompareExpr:
			return match_row(candidate, (RowCompareExpr *) clause, condition);
		default:
			return exprType(clause) == BOOLOID && match_boolean(candidate, clause, condition);
	}
}

static bool
match(RelOptInfo *baserel, const tsurugi_candidate *candidate, RestrictInfo *rinfo, Condition *condition)
{
	condition->rinfo = rinfo;
	return match_clause(candidate, rinfo, condition) &&
		   is_value(baserel, condition->kind == CONDITION_ROW ? (Node *) condition->values : (Node *) condition->value);
}

/* Adds an OR's conditions on the index's columns. */
static List *
match_alternatives(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate, RestrictInfo *rinfo,
				   List *conditions)
{
	if (rinfo->pseudoconstant || !is_orclause(rinfo->clause))
		return conditions;
	for (int column = 0; column < candidate->index->key_count; column++)
	{
		Condition condition = {.rinfo = rinfo};

		if (match_or(root, baserel, candidate, column, (BoolExpr *) rinfo->clause, &condition))
			conditions = lappend(conditions, memcpy(palloc(sizeof(condition)), &condition, sizeof(condition)));
	}
	return conditions;
}

bool
tsurugi_condition_matches(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
						  RestrictInfo *rinfo)
{
	Condition condition = {0};

	if (candidate->index->gin != NULL)
		return tsurugi_gin_condition_matches(baserel, candidate, rinfo);
	return match(baserel, candidate, rinfo, &condition) ||
		   match_alternatives(root, baserel, candidate, rinfo, NIL) != NIL;
}

/* --- derived ones ------------------------------------------------------------------------ */

/*
 * The clauses that the support function of a condition's function derives for an argument that is a
 * column of the index.
 */
static List *
derive_of(PlannerInfo *root, const tsurugi_candidate *candidate, Node *clause, Oid function, int argument, int column)
{
	SupportRequestIndexCondition request = {.type = T_SupportRequestIndexCondition,
											.root = root,
											.funcid = function,
											.node = clause,
											.indexarg = argument,
											.index = candidate->info,
											.indexcol = column,
											.opfamily = candidate->index->key[column].family,
											.indexcollation = candidate->index->key[column].collation,
											.lossy = true};
	RegProcedure support = get_func_support(function);

	if (!OidIsValid(support))
		return NIL;
	return (List *) DatumGetPointer(OidFunctionCall1(support, PointerGetDatum(&request)));
}

/*
 * Like get_index_clause_from_support (indxpath.c).  The results are prefixes of LIKE, of regular
 * expressions and of starts_with(), networks within networks, and the clauses of extensions'
 * support functions.
 */
static List *
derive(PlannerInfo *root, const tsurugi_candidate *candidate, RestrictInfo *rinfo)
{
	Node *clause = (Node *) rinfo->clause;
	List *arguments;
	Oid function;
	ListCell *cell;

	if (rinfo->pseudoconstant)
		return NIL;
	if (IsA(clause, OpExpr))
	{
		set_opfuncid((OpExpr *) clause);
		function = ((OpExpr *) clause)->opfuncid;
		arguments = ((OpExpr *) clause)->args;
	}
	else if (IsA(clause, FuncExpr))
	{
		function = ((FuncExpr *) clause)->funcid;
		arguments = ((FuncExpr *) clause)->args;
	}
	else
		return NIL;
	foreach (cell, arguments)
	{
		int column = column_of(candidate, lfirst(cell));
		List *derived =
			column < 0 ? NIL : derive_of(root, candidate, clause, function, foreach_current_index(cell), column);

		if (derived != NIL)
			return derived;
	}
	return NIL;
}

/* --- all of them together -------------------------------------------------------------- */

static List *
match_all(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate, List *rinfos)
{
	List *conditions = NIL;
	ListCell *cell;

	foreach (cell, rinfos)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);
		Condition whole = {0};
		ListCell *clause;

		/*
		 * Like match_clause_to_index (indxpath.c): not before the conditions of a security barrier
		 * view.
		 */
		if (!restriction_is_securely_promotable(rinfo, baserel))
			continue;
		conditions = match_alternatives(root, baserel, candidate, rinfo, conditions);
		if (match(baserel, candidate, rinfo, &whole))
		{
			conditions = lappend(conditions, memcpy(palloc(sizeof(whole)), &whole, sizeof(whole)));
			continue;
		}
		foreach (clause, derive(root, candidate, rinfo))
		{
			Condition condition = {0};

			if (!match(baserel, candidate, make_simple_restrictinfo(root, lfirst(clause)), &condition))
				continue;
			condition.rinfo = rinfo;
			condition.derived = true;
			conditions = lappend(conditions, memcpy(palloc(sizeof(condition)), &condition, sizeof(condition)));
		}
	}
	return conditions;
}

/*
 * The first condition of a kind on a column; a comparison must have one of the two strategies.
 * NULL: there is none.
 */
static Condition *
find(List *conditions, int column, ConditionKind kind, StrategyNumber strategy, StrategyNumber other)
{
	ListCell *cell;

	foreach (cell, conditions)
	{
		Condition *condition = lfirst(cell);

		if (condition->column == column && condition->kind == kind &&
			((kind != CONDITION_VALUE && kind != CONDITION_ROW) || condition->strategy == strategy ||
			 condition->strategy == other))
			return condition;
	}
	return NULL;
}

static void
take(const tsurugi_candidate *candidate, tsurugi_choice *choice, const Condition *condition)
{
	if (condition->kind == CONDITION_ROW)
		choice->values = list_concat(choice->values, condition->values);
	else if (condition->value != NULL)
		choice->values = lappend(choice->values, condition->value);
	/* other values may have the same hash */
	if (condition->implied != NULL)
		choice->filtered = lappend(choice->filtered, condition->implied);
	else if (condition->kind == CONDITION_ROW || condition->derived || candidate->index->key[condition->column].hashed)
		choice->filtered = list_append_unique_ptr(choice->filtered, condition->rinfo);
	else
		choice->conditions = list_append_unique_ptr(choice->conditions, condition->rinfo);
}

/* Fixes the next column, if a condition does that. */
static bool
fix_column(const tsurugi_candidate *candidate, tsurugi_choice *choice, List *conditions)
{
	tsurugi_shape *shape = &choice->shape;
	int column = shape->fixed_count;
	const Condition *condition =
		find(conditions, column, CONDITION_VALUE, BTEqualStrategyNumber, BTEqualStrategyNumber);

	if (condition == NULL)
	{
		condition = find(conditions, column, CONDITION_ARRAY, 0, 0);
		if (condition != NULL)
		{
			double turns = choice->turns * Max(estimate_array_length((Node *) condition->value), 1);

			/* most combinations of an OR belong to none of its arms */
			if (condition->implied != NULL && choice->turns > 1 && turns > OR_TURNS_MAX)
				return false;
			shape->arrays |= UINT32_C(1) << column;
			choice->turns = turns;
		}
	}
	if (condition == NULL)
	{
		condition = find(conditions, column, CONDITION_NULL, 0, 0);
		if (condition != NULL)
		{
			shape->nulls |= UINT32_C(1) << column;
			choice->one_row = false;
		}
	}
	if (condition == NULL)
		return false;
	take(candidate, choice, condition);
	shape->fixed_count++;
	return true;
}

/* Finds bounds on the column after the fixed ones. */
static void
bound_column(const tsurugi_candidate *candidate, tsurugi_choice *choice, List *conditions)
{
	tsurugi_shape *shape = &choice->shape;
	int column = shape->fixed_count;
	const Condition *low =
		find(conditions, column, CONDITION_VALUE, BTGreaterStrategyNumber, BTGreaterEqualStrategyNumber);
	const Condition *high = find(conditions, column, CONDITION_VALUE, BTLessStrategyNumber, BTLessEqualStrategyNumber);
	const Condition *not_null = find(conditions, column, CONDITION_NOT_NULL, 0, 0);
	const Condition *path = find(conditions, column, CONDITION_PATH, 0, 0);

	if (path != NULL)
	{
		take(candidate, choice, path);
		choice->values = lappend(choice->values, path->value);
		shape->low = TSURUGI_BOUND_INCLUSIVE;
		shape->high = TSURUGI_BOUND_PATH;
		return;
	}
	if (low == NULL)
		low = find(conditions, column, CONDITION_ROW, BTGreaterEqualStrategyNumber, BTGreaterEqualStrategyNumber);
	if (high == NULL)
		high = find(conditions, column, CONDITION_ROW, BTLessEqualStrategyNumber, BTLessEqualStrategyNumber);
	if (low != NULL)
	{
		take(candidate, choice, low);
		shape->low = low->strategy == BTGreaterStrategyNumber ? TSURUGI_BOUND_EXCLUSIVE : TSURUGI_BOUND_INCLUSIVE;
		shape->low_more = low->kind == CONDITION_ROW ? list_length(low->values) - 1 : 0;
	}
	if (high != NULL)
	{
		take(candidate, choice, high);
		shape->high = high->strategy == BTLessStrategyNumber ? TSURUGI_BOUND_EXCLUSIVE : TSURUGI_BOUND_INCLUSIVE;
		shape->high_more = high->kind == CONDITION_ROW ? list_length(high->values) - 1 : 0;
	}
	if (not_null != NULL)
	{
		take(candidate, choice, not_null);
		shape->not_null = low == NULL && high == NULL;
	}
}

/* Finds conditions on the column after the fixed ones, which has covers; false: there are none. */
static bool
cover_column(tsurugi_choice *choice, List *conditions)
{
	ListCell *cell;

	foreach (cell, conditions)
	{
		const Condition *condition = lfirst(cell);

		if (condition->column != choice->shape.fixed_count || condition->kind != CONDITION_COVER)
			continue;
		choice->values = lappend(choice->values, condition->value);
		choice->sought_columns = lappend_int(choice->sought_columns, condition->column);
		choice->sought_operators = lappend_oid(choice->sought_operators, condition->operator);
		choice->filtered = lappend(choice->filtered, condition->rinfo);
		choice->shape.covers++;
	}
	if (choice->shape.covers == 0)
		return false;
	choice->turns *= TURNS_OF_COVER;
	return true;
}

List *
tsurugi_implied_conditions(const IndexOptInfo *info, List *rinfos)
{
	List *implied = NIL;
	ListCell *cell;

	foreach (cell, info->indpred == NIL ? NIL : rinfos)
	{
		RestrictInfo *rinfo = lfirst(cell);

		if (!contain_mutable_functions((Node *) rinfo->clause) &&
			predicate_implied_by(list_make1(rinfo->clause), info->indpred, false))
			implied = lappend(implied, rinfo);
	}
	return implied;
}

tsurugi_choice *
tsurugi_choose(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate, List *rinfos)
{
	tsurugi_choice *choice = palloc0(sizeof(tsurugi_choice));
	tsurugi_shape *shape = &choice->shape;
	List *conditions;
	int count;

	shape->way = TSURUGI_WAY_TABLE;
	choice->turns = 1;
	if (candidate == NULL)
		return choice;
	shape->index = candidate->index->oid;
	count = candidate->index->key_count;
	if (candidate->index->gin != NULL)
	{
		tsurugi_gin_choose(root, baserel, candidate, rinfos, choice);
		choice->conditions = candidate->implied;
		return choice;
	}
	choice->one_row = candidate->index->spec->unique;
	conditions = match_all(root, baserel, candidate, rinfos);
	while (shape->fixed_count < count && fix_column(candidate, choice, conditions))
		;
	if (shape->fixed_count < count)
	{
		choice->one_row = false;
		if (!cover_column(choice, conditions))
			bound_column(candidate, choice, conditions);
	}
	if (choice->conditions != NIL || choice->filtered != NIL)
		shape->way = candidate->index->primary && shape->fixed_count == count ? TSURUGI_WAY_KEY : TSURUGI_WAY_RANGE;
	choice->conditions = list_concat_unique_ptr(choice->conditions, candidate->implied);
	return choice;
}

/* --- order by a distance ------------------------------------------------------------------ */

/*
 * Whether an index can return the rows in the order of an operator's distance from a value, by the
 * covers of the column after the fixed ones.
 */
static bool
brings_nearest(const tsurugi_candidate *candidate, int column, Oid operator, const PathKey * pathkey)
{
	const tsurugi_key_column *key = &candidate->index->key[column];

	return key->cover && get_op_opfamily_sortfamily(operator, key->family) == pathkey->pk_opfamily &&
		   tsurugi_plane_measures(get_opcode(operator));
}

/*
 * The value from which an expression is a column's distance.  NULL: it is no distance, or the index
 * does not have its order.
 */
static Expr *
match_distance(const tsurugi_candidate *candidate, int column, Expr *expression, const PathKey *pathkey)
{
	const OpExpr *clause = (OpExpr *) expression;
	Oid operator;
	Node *from;

	if (!IsA(expression, OpExpr) || list_length(clause->args) != 2)
		return NULL;
	operator= clause->opno;
	from = lsecond(clause->args);
	if (!match_index_to_operand(linitial(clause->args), column, candidate->info))
	{
		operator= get_commutator(operator);
		from = linitial(clause->args);
		if (!match_index_to_operand(lsecond(clause->args), column, candidate->info))
			return NULL;
	}
	if (!OidIsValid(operator) || contain_var_clause(from) || contain_volatile_functions(from))
		return NULL;
	return brings_nearest(candidate, column, operator, pathkey) ? (Expr *) from : NULL;
}

static bool
is_not_null_test(const RestrictInfo *rinfo)
{
	const NullTest *clause = (NullTest *) rinfo->clause;

	return IsA(clause, NullTest) && clause->nulltesttype == IS_NOT_NULL;
}

tsurugi_choice *
tsurugi_choose_nearest(PlannerInfo *root, RelOptInfo *baserel, const tsurugi_candidate *candidate,
					   const PathKey *pathkey)
{
	const EquivalenceClass *class = pathkey->pk_eclass;
	List *rinfos = NIL;
	tsurugi_choice *choice;
	ListCell *cell;
	int column;

	if (pathkey->pk_strategy != BTLessStrategyNumber || pathkey->pk_nulls_first || class->ec_has_volatile ||
		candidate->index->gin != NULL)
		return NULL;
	/*
	 * on the column itself, IS NOT NULL is a filter: values that are near and not NULL have no
	 * range
	 */
	foreach (cell, baserel->baserestrictinfo)
		if (!is_not_null_test(lfirst(cell)))
			rinfos = lappend(rinfos, lfirst(cell));
	choice = tsurugi_choose(root, baserel, candidate, rinfos);
	column = choice->shape.fixed_count;
	if (column == candidate->index->key_count || choice->shape.arrays != 0)
		return NULL;
	foreach (cell, class->ec_members)
	{
		const EquivalenceMember *member = lfirst(cell);
		Expr *from = bms_equal(member->em_relids, baserel->relids)
						 ? match_distance(candidate, column, member->em_expr, pathkey)
						 : NULL;

		if (from == NULL)
			continue;
		choice->values = lappend(choice->values, from);
		choice->distance = member->em_expr;
		choice->shape.nearest = true;
		choice->shape.way = TSURUGI_WAY_RANGE;
		return choice;
	}
	return NULL;
}
