/*
 * decorrelate.c
 *	  Correlated scalar aggregates, planned as joins, too.
 *
 *	... FROM part, lineitem WHERE l_quantity < (SELECT 0.2 * avg(l.l_quantity) FROM lineitem l
 *	                                            WHERE l.l_partkey = p_partkey)
 *
 * is, for PostgreSQL, a plan that is executed for each row.  It has the same value as a column of
 *
 *	... FROM (part, lineitem) LEFT JOIN (SELECT 0.2 * avg(l.l_quantity), l.l_partkey FROM lineitem l
 *	                                     GROUP BY l.l_partkey) x ON x.l_partkey = p_partkey
 *
 * A statement that has such subqueries is planned in both ways, and the cheaper plan is kept.  What
 * a job makes of the join is in tree.c: the groups are computed for the keys of the other side.
 *
 * 1. A row that has no partner gets the aggregate's value of no rows: NULL, or 0 for count.
 * 2. A NULL key on either side has no partner, as the equality, which is strict, is not true.
 * 3. Values that the operator has as equal to one another are of one group: it is of the operator
 *    family by which the group's column is equal to itself, and immutable.  (That of timestamp and
 *    timestamptz is stable: at the end of summer time, two of the former equal one of the latter.)
 * 4. The groups may be computed for keys that nobody asks for, and the key of a row although CASE
 *    or OR spares the row the subquery.  So nothing in the subquery, the keys of both sides
 *    included, can fail by the values that it meets, be volatile, or be a function of somebody's.
 * 5. Rows that are locked, or changed, may be looked at once more in a newer version
 *    (EvalPlanQual), for which the subquery is computed anew; the join would not be.  Such queries
 *    stay.
 */
#include "postgres.h"

#include "src/job/decorrelate.h"

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/planmain.h"
#include "optimizer/planner.h"
#include "parser/parse_oper.h"
#include "rewrite/rewriteManip.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "src/base/settings.h"
#include "src/job/job.h"

static planner_hook_type previous_hook;

/* --- what cannot fail ----------------------------------------------------------------- */

/* By the order of a type that PostgreSQL has itself, and that has no other type in it. */
static bool
is_comparison(Oid opno)
{
	Oid left;
	Oid right;

	if (opno >= FirstUnpinnedObjectId || get_op_btree_interpretation(opno) == NIL)
		return false;
	op_input_types(opno, &left, &right);
	return !IsPolymorphicType(left) && left != RECORDOID;
}

/* Of an integer to a type that has all of its values. */
static bool
is_conversion(Oid function)
{
	switch (function)
	{
		case F_NUMERIC_INT2:
		case F_NUMERIC_INT4:
		case F_NUMERIC_INT8:
		case F_INT8_INT4:
		case F_INT8_INT2:
		case F_INT4_INT2:
			return true;
		default:
			return false;
	}
}

static bool
is_safe_function(Oid function)
{
	switch (function)
	{
		case F_NUMERIC_ADD: /* of numerics whose digits are bounded */
		case F_NUMERIC_SUB:
		case F_NUMERIC_MUL:
		case F_NUMERIC_UMINUS:
			return true;
		default:
			return is_conversion(function) || (function < FirstUnpinnedObjectId && get_func_leakproof(function));
	}
}

static bool
is_safe_aggregate(const Aggref *aggregate)
{
	if (aggregate->aggfnoid >= FirstUnpinnedObjectId || aggregate->aggkind != AGGKIND_NORMAL ||
		aggregate->aggorder != NIL || aggregate->agglevelsup != 0)
		return false;
	switch (aggregate->aggfnoid)
	{
		case F_COUNT_:
		case F_COUNT_ANY:
		case F_SUM_INT2:
		case F_SUM_INT4:
		case F_SUM_INT8:
		case F_SUM_NUMERIC:
		case F_AVG_INT2:
		case F_AVG_INT4:
		case F_AVG_INT8:
		case F_AVG_NUMERIC:
		case F_BOOL_AND:
		case F_BOOL_OR:
		case F_EVERY:
			return true;
		default:
		{
			const char *name = get_func_name(aggregate->aggfnoid);

			return (strcmp(name, "min") == 0 || strcmp(name, "max") == 0) &&
				   !OidIsValid(get_element_type(aggregate->aggtype));
		}
	}
}

#define DIGITS_MAX 1000 /* of a numeric constant: far less than numerics have at most */

/* A constant; one of integers also as a value of a larger type.  Else the expression. */
static Node *
known_value(Node *expr)
{
	const Node *bare = expr;

	while (IsA(bare, FuncExpr) && is_conversion(((const FuncExpr *) bare)->funcid))
		bare = linitial(((const FuncExpr *) bare)->args);
	return IsA(bare, Const) ? eval_const_expressions(NULL, expr) : expr;
}

/* Whether it is something that the planner may leave to the plan, though it has no columns. */
static bool
is_not_folded(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcretset || type_is_rowtype(((FuncExpr *) node)->funcresulttype))
				return true;
			break;
		case T_List:
		case T_Const:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
		case T_ScalarArrayOpExpr:
		case T_ArrayExpr:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_MinMaxExpr:
		case T_RelabelType:
		case T_CoerceViaIO:
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, is_not_folded, NULL);
}

/*
 * Whether something without columns may fail when the plan runs, or may make the arithmetic of
 * bounded numerics overflow.  What is immutable the planner evaluates, in either plan, unless a
 * CASE or the like has dropped it before; so it is not evaluated here.
 */
static bool
is_unbounded(Node *expr)
{
	Node *known = known_value(expr);
	const Const *value = (const Const *) known;

	if (!IsA(known, Param) && (is_not_folded(known, NULL) || contain_mutable_functions(known)))
		return true;
	if (exprType(expr) != NUMERICOID || exprTypmod(expr) >= 0)
		return false;
	return !IsA(known, Const) ||
		   (!value->constisnull &&
			strlen(DatumGetCString(DirectFunctionCall1(numeric_out, value->constvalue))) > DIGITS_MAX);
}

static bool may_fail(Node *node, void *context);

/* Whether a quotient is one of a divisor that is known, and not 0. */
static bool
is_safe_division(const Node *node, Oid function)
{
	Node *divisor;

	if (function != F_NUMERIC_DIV || !IsA(node, OpExpr))
		return false;
	divisor = known_value(lsecond(((const OpExpr *) node)->args));
	return IsA(divisor, Const) && !((Const *) divisor)->constisnull &&
		   !DatumGetBool(
			   DirectFunctionCall2(numeric_eq, ((Const *) divisor)->constvalue, NumericGetDatum(int64_to_numeric(0))));
}

static bool
function_may_fail(Node *node, Oid function)
{
	if (!is_safe_function(function) && !is_safe_division(node, function))
		return true;
	return expression_tree_walker(node, may_fail, NULL);
}

/* Whether an expression may fail by the values of columns, or of parameters. */
static bool
may_fail(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_TargetEntry:
		case T_FromExpr:
		case T_JoinExpr:
		case T_RangeTblRef:
			return expression_tree_walker(node, may_fail, NULL);
		case T_SortGroupClause: /* DISTINCT */
			return false;
		default:
			break;
	}
	if (!contain_var_clause(node) && !contain_agg_clause(node))
		return is_unbounded(node);
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->vartype == NUMERICOID && ((Var *) node)->vartypmod < 0;
		case T_OpExpr:
		case T_DistinctExpr:
		case T_NullIfExpr:
			if (is_comparison(((OpExpr *) node)->opno))
				return expression_tree_walker(node, may_fail, NULL);
			set_opfuncid((OpExpr *) node);
			return function_may_fail(node, ((OpExpr *) node)->opfuncid);
		case T_ScalarArrayOpExpr:
			if (is_comparison(((ScalarArrayOpExpr *) node)->opno))
				return expression_tree_walker(node, may_fail, NULL);
			set_sa_opfuncid((ScalarArrayOpExpr *) node);
			return function_may_fail(node, ((ScalarArrayOpExpr *) node)->opfuncid);
		case T_FuncExpr:
			return function_may_fail(node, ((FuncExpr *) node)->funcid);
		case T_Aggref:
			return !is_safe_aggregate((Aggref *) node) || expression_tree_walker(node, may_fail, NULL);
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_CaseExpr:
		case T_CaseWhen:
		case T_CoalesceExpr:
		case T_RelabelType:
			return expression_tree_walker(node, may_fail, NULL);
		default:
			return true;
	}
}

/* --- what the subquery is ------------------------------------------------------------- */

/* An equality of the subquery's rows and the row outside. */
typedef struct Correlation
{
	OpExpr *equality;
	Node *inner;
	Node *outer;
	bool inner_first;
	SortGroupClause *clause; /* of the group's column */
} Correlation;

/* Whether something refers to a query around the one that it is in, at this depth. */
static bool
is_of_outside(Node *node, void *depth)
{
	Index here = *(Index *) depth;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Var:
			return ((Var *) node)->varlevelsup > here;
		case T_Aggref:
			if (((Aggref *) node)->agglevelsup > here)
				return true;
			break;
		case T_GroupingFunc:
			if (((GroupingFunc *) node)->agglevelsup > here)
				return true;
			break;
		case T_PlaceHolderVar:
			if (((PlaceHolderVar *) node)->phlevelsup > here)
				return true;
			break;
		case T_Query:
		{
			Index below = here + 1;

			return query_tree_walker((Query *) node, is_of_outside, &below, 0);
		}
		default:
			break;
	}
	return expression_tree_walker(node, is_of_outside, depth);
}

static bool
reads_tables_alone(const Query *query)
{
	bool in_memory = false;
	ListCell *cell;

	foreach (cell, query->rtable)
	{
		const RangeTblEntry *entry = lfirst_node(RangeTblEntry, cell);

		if (entry->rtekind == RTE_JOIN)
			continue;
		if (entry->rtekind != RTE_RELATION || entry->securityQuals != NIL || entry->tablesample != NULL)
			return false;
		in_memory |= entry->relkind == RELKIND_FOREIGN_TABLE || entry->relkind == RELKIND_PARTITIONED_TABLE;
	}
	return in_memory;
}

/* One row of aggregates over tables. */
static bool
is_scalar_aggregate(const Query *query)
{
	return query->commandType == CMD_SELECT && query->hasAggs && query->groupClause == NIL &&
		   query->groupingSets == NIL && query->havingQual == NULL && query->distinctClause == NIL &&
		   query->sortClause == NIL && query->setOperations == NULL && query->limitCount == NULL &&
		   query->limitOffset == NULL && !query->hasWindowFuncs && !query->hasTargetSRFs && !query->hasSubLinks &&
		   query->cteList == NIL && query->rowMarks == NIL && list_length(query->targetList) == 1 &&
		   query->jointree->quals != NULL && reads_tables_alone(query);
}

static void
split_conjunction(Node *condition, List **conjuncts)
{
	ListCell *cell;

	if (is_andclause(condition))
		foreach (cell, ((BoolExpr *) condition)->args)
			split_conjunction(lfirst(cell), conjuncts);
	else
		*conjuncts = lappend(*conjuncts, condition);
}

static bool
have_common_family(Oid a, Oid b)
{
	List *families = get_mergejoin_opfamilies(a);
	ListCell *cell;

	foreach (cell, get_mergejoin_opfamilies(b))
		if (list_member_oid(families, lfirst_oid(cell)))
			return true;
	return false;
}

/* Of no collation only types that have none. */
static bool
is_deterministic(const Node *expr, Oid collation)
{
	return OidIsValid(collation) ? get_collation_isdeterministic(collation) : !type_is_collatable(exprType(expr));
}

/* 3. */
static bool
is_grouped_alike(const Correlation *correlation, Oid equality)
{
	return func_volatile(get_opcode(correlation->equality->opno)) == PROVOLATILE_IMMUTABLE &&
		   have_common_family(correlation->equality->opno, equality) &&
		   is_deterministic(correlation->inner, exprCollation(correlation->inner)) &&
		   is_deterministic(correlation->inner, correlation->equality->inputcollid);
}

/* The column of the groups that a correlation needs.  False: it cannot be. */
static bool
make_group_clause(Correlation *correlation, Index reference)
{
	SortGroupClause *clause = makeNode(SortGroupClause);

	get_sort_group_operators(exprType(correlation->inner), false, false, false, &clause->sortop, &clause->eqop, NULL,
							 &clause->hashable);
	if (!OidIsValid(clause->sortop) || !OidIsValid(clause->eqop) || !is_grouped_alike(correlation, clause->eqop))
		return false;
	clause->tleSortGroupRef = reference;
	correlation->clause = clause;
	return true;
}

static bool
is_of_outside_alone(Node *expr)
{
	return contain_vars_of_level(expr, 1) && !contain_vars_of_level(expr, 0) && !contain_agg_clause(expr) &&
		   !contain_volatile_functions(expr) && !contain_subplans(expr);
}

static bool
is_of_inside_alone(Node *expr)
{
	Index depth = 0;

	return contain_vars_of_level(expr, 0) && !is_of_outside(expr, &depth);
}

static bool
find_correlation(Node *condition, Index reference, Correlation *correlation)
{
	OpExpr *equality = (OpExpr *) condition;
	Node *left;
	Node *right;

	if (!IsA(condition, OpExpr) || list_length(equality->args) != 2 || equality->opno >= FirstUnpinnedObjectId)
		return false;
	left = linitial(equality->args);
	right = lsecond(equality->args);
	*correlation = (Correlation){.equality = equality, .inner = left, .outer = right, .inner_first = true};
	if (is_of_outside_alone(left))
		*correlation = (Correlation){.equality = equality, .inner = right, .outer = left};
	return is_of_outside_alone(correlation->outer) && is_of_inside_alone(correlation->inner) &&
		   op_mergejoinable(equality->opno, exprType(left)) && make_group_clause(correlation, reference);
}

/* Parts the conditions of the subquery.  False: one is correlated in another way. */
static bool
find_correlations(const Query *subquery, List **correlations, List **rest)
{
	List *conjuncts = NIL;
	ListCell *cell;

	split_conjunction(subquery->jointree->quals, &conjuncts);
	foreach (cell, conjuncts)
	{
		Correlation *correlation = palloc(sizeof(*correlation));

		if (!contain_vars_of_level(lfirst(cell), 1))
			*rest = lappend(*rest, lfirst(cell));
		else if (find_correlation(lfirst(cell), list_length(*correlations) + 1, correlation))
			*correlations = lappend(*correlations, correlation);
		else
			return false;
	}
	return *correlations != NIL;
}

/* Likewise of an expression of the query around. */
static bool
outer_may_fail(const Node *outer)
{
	Node *expr = copyObject((Node *) outer);
	Index depth = 0;

	if (IsA(tsurugi_without_relabeling(expr), Var))
		return false;
	IncrementVarSublevelsUp(expr, -1, 1);
	return is_of_outside(expr, &depth) || may_fail(expr, NULL);
}

/* Whether a subquery can be computed for all keys of its rows: 4. */
static bool
is_fit(const SubLink *link)
{
	Query *subquery;
	List *correlations = NIL;
	List *rest = NIL;
	ListCell *cell;
	Index depth = 0;

	if (link->subLinkType != EXPR_SUBLINK || !IsA(link->subselect, Query))
		return false;
	subquery = (Query *) link->subselect;
	if (!is_scalar_aggregate(subquery) || !find_correlations(subquery, &correlations, &rest))
		return false;
	foreach (cell, correlations)
	{
		const Correlation *correlation = lfirst(cell);

		if (may_fail(correlation->inner, NULL) || outer_may_fail(correlation->outer))
			return false;
	}
	return !contain_volatile_functions((Node *) subquery) && !may_fail((Node *) rest, NULL) &&
		   !may_fail((Node *) subquery->jointree->fromlist, NULL) && !may_fail((Node *) subquery->targetList, NULL) &&
		   !is_of_outside((Node *) rest, &depth) && !is_of_outside((Node *) subquery->jointree->fromlist, &depth) &&
		   !is_of_outside((Node *) subquery->targetList, &depth);
}

/* --- from the subquery to groups ------------------------------------------------------ */

/* The rows for one key become groups by that key: the value is the first column. */
static void
make_groups(Query *subquery, const List *correlations, List *rest)
{
	ListCell *cell;

	subquery->jointree->quals = (Node *) make_ands_explicit(rest);
	if (rest == NIL)
		subquery->jointree->quals = NULL;
	foreach (cell, correlations)
	{
		const Correlation *correlation = lfirst(cell);
		int number = list_length(subquery->targetList) + 1;
		TargetEntry *entry =
			makeTargetEntry((Expr *) correlation->inner, (AttrNumber) number, psprintf("key_%d", number - 1), false);

		entry->ressortgroupref = correlation->clause->tleSortGroupRef;
		subquery->targetList = lappend(subquery->targetList, entry);
		subquery->groupClause = lappend(subquery->groupClause, correlation->clause);
	}
}

static RangeTblEntry *
make_entry(Query *subquery)
{
	RangeTblEntry *entry = makeNode(RangeTblEntry);
	ListCell *cell;

	entry->rtekind = RTE_SUBQUERY;
	entry->subquery = subquery;
	entry->eref = makeAlias("groups", NIL);
	foreach (cell, subquery->targetList)
	{
		const TargetEntry *column = lfirst_node(TargetEntry, cell);

		entry->eref->colnames =
			lappend(entry->eref->colnames, makeString(pstrdup(column->resname == NULL ? "value" : column->resname)));
	}
	entry->inFromCl = true;
	return entry;
}

static Var *
column_of(const Query *subquery, Index relation, int number)
{
	return makeVarFromTargetEntry(relation, list_nth_node(TargetEntry, subquery->targetList, number - 1));
}

/* ON: the equalities, with columns of the groups and of the query itself. */
static Node *
make_condition(const Query *subquery, const List *correlations, Index relation)
{
	List *equalities = NIL;
	ListCell *cell;

	foreach (cell, correlations)
	{
		const Correlation *correlation = lfirst(cell);
		OpExpr *equality = (OpExpr *) copyObject(correlation->equality);
		Node *outer = copyObject(correlation->outer);
		Var *key = column_of(subquery, relation, foreach_current_index(cell) + 2);

		IncrementVarSublevelsUp(outer, -1, 1);
		equality->args = correlation->inner_first ? list_make2(key, outer) : list_make2(outer, key);
		equalities = lappend(equalities, equality);
	}
	return (Node *) make_ands_explicit(equalities);
}

/* What the value is of no rows: counts are 0, other aggregates are NULL. */
static Node *
value_of_nothing(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
	{
		const Aggref *aggregate = (const Aggref *) node;

		if (aggregate->aggfnoid == F_COUNT_ || aggregate->aggfnoid == F_COUNT_ANY)
			return (Node *) makeConst(INT8OID, -1, InvalidOid, sizeof(int64), Int64GetDatum(0), false, true);
		return (Node *) makeNullConst(aggregate->aggtype, -1, aggregate->aggcollid);
	}
	return expression_tree_mutator(node, value_of_nothing, context);
}

/* 1. */
static Node *
make_value(const Query *subquery, Index relation)
{
	const Expr *expr = linitial_node(TargetEntry, subquery->targetList)->expr;
	Node *value = (Node *) column_of(subquery, relation, 1);
	Node *nothing = eval_const_expressions(NULL, value_of_nothing(copyObject((Node *) expr), NULL));
	CoalesceExpr *either;
	CaseExpr *choice;
	CaseWhen *found;
	NullTest *test;

	if (IsA(nothing, Const) && ((Const *) nothing)->constisnull)
		return value;
	if (IsA(expr, Aggref)) /* a count */
	{
		either = makeNode(CoalesceExpr);
		either->coalescetype = exprType(value);
		either->coalescecollid = exprCollation(value);
		either->args = list_make2(value, nothing);
		either->location = -1;
		return (Node *) either;
	}
	test = makeNode(NullTest);
	test->arg = (Expr *) column_of(subquery, relation, 2);
	test->nulltesttype = IS_NOT_NULL;
	test->location = -1;
	found = makeNode(CaseWhen);
	found->expr = (Expr *) test;
	found->result = (Expr *) value;
	found->location = -1;
	choice = makeNode(CaseExpr);
	choice->casetype = exprType(value);
	choice->casecollid = exprCollation(value);
	choice->args = list_make1(found);
	choice->defresult = (Expr *) nothing;
	choice->location = -1;
	return (Node *) choice;
}

/* The query's rows, each with its groups' one. */
static void
add_join(Query *query, Index relation, Node *condition)
{
	JoinExpr *join = makeNode(JoinExpr);
	RangeTblRef *reference = makeNode(RangeTblRef);
	RangeTblEntry *entry = makeNode(RangeTblEntry);

	/* by which the planner knows that there is an outer join */
	entry->rtekind = RTE_JOIN;
	entry->jointype = JOIN_LEFT;
	entry->eref = makeAlias("unnamed_join", NIL);
	entry->inFromCl = true;
	query->rtable = lappend(query->rtable, entry);
	join->rtindex = list_length(query->rtable);
	reference->rtindex = (int) relation;
	join->jointype = JOIN_LEFT;
	join->larg = list_length(query->jointree->fromlist) == 1 ? linitial(query->jointree->fromlist)
															 : (Node *) makeFromExpr(query->jointree->fromlist, NULL);
	join->rarg = (Node *) reference;
	join->quals = condition;
	query->jointree->fromlist = list_make1(join);
}

/* The value of a subquery, one that is_fit, as an expression of a join. */
static Node *
join_subquery(Query *query, const SubLink *link)
{
	Query *subquery = (Query *) link->subselect;
	Index relation = (Index) list_length(query->rtable) + 1;
	List *correlations = NIL;
	List *rest = NIL;
	Node *value;

	(void) find_correlations(subquery, &correlations, &rest);
	make_groups(subquery, correlations, rest);
	value = make_value(subquery, relation);
	query->rtable = lappend(query->rtable, make_entry(subquery));
	add_join(query, relation, make_condition(subquery, correlations, relation));
	return value;
}

/* --- the statement -------------------------------------------------------------------- */

typedef struct Rewriting
{
	Query *query; /* that the expression is of */
	bool done;	  /* something */
} Rewriting;

static Node *
replace(Node *node, void *context)
{
	Rewriting *rewriting = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, SubLink) && is_fit((SubLink *) node))
	{
		rewriting->done = true;
		return join_subquery(rewriting->query, (SubLink *) node);
	}
	/* subqueries are replaced for themselves */
	if (IsA(node, Query))
		return node;
	return expression_tree_mutator(node, replace, context);
}

static bool
makes_groups(const Query *query)
{
	return query->hasAggs || query->groupClause != NIL || query->groupingSets != NIL || query->distinctClause != NIL ||
		   query->hasWindowFuncs || query->hasTargetSRFs;
}

static bool
has_scalar_aggregate(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SubLink) && ((SubLink *) node)->subLinkType == EXPR_SUBLINK &&
		((Query *) ((SubLink *) node)->subselect)->hasAggs)
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, has_scalar_aggregate, context, 0);
	return expression_tree_walker(node, has_scalar_aggregate, context);
}

/* In place, all levels. */
static bool
rewrite(Node *node, void *context)
{
	Query *query = (Query *) node;
	Rewriting own;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, rewrite, context);
	if ((query->commandType != CMD_SELECT && query->commandType != CMD_INSERT) || query->rowMarks != NIL)
		return false; /* 5 */
	own = (Rewriting){.query = query};
	if (query->commandType == CMD_SELECT && query->hasSubLinks && query->jointree->fromlist != NIL)
	{
		query->jointree->quals = replace(query->jointree->quals, &own);
		if (!makes_groups(query) && query->setOperations == NULL)
			query->targetList = (List *) replace((Node *) query->targetList, &own);
	}
	*(bool *) context |= own.done;
	return query_tree_walker(query, rewrite, context, 0);
}

/* Of the part of the rows that is expected to be wanted. */
static Cost
cost_of(const PlannedStmt *statement, int cursor_options)
{
	const Plan *plan = statement->planTree;
	double fraction = (cursor_options & CURSOR_OPT_FAST_PLAN) != 0 ? cursor_tuple_fraction : 1;

	return plan->startup_cost + fraction * (plan->total_cost - plan->startup_cost);
}

static PlannedStmt *
plan(Query *parse, const char *query_string, int cursor_options, ParamListInfo parameters)
{
	return previous_hook != NULL ? previous_hook(parse, query_string, cursor_options, parameters)
								 : standard_planner(parse, query_string, cursor_options, parameters);
}

static PlannedStmt *
plan_both(Query *parse, const char *query_string, int cursor_options, ParamListInfo parameters)
{
	bool any = false;
	Query *joined = NULL;
	PlannedStmt *statement;
	PlannedStmt *other;

	if (tsurugi_jobs != TSURUGI_JOBS_OFF && (parse->commandType == CMD_SELECT || parse->commandType == CMD_INSERT) &&
		has_scalar_aggregate((Node *) parse, NULL))
	{
		joined = copyObject(parse);
		(void) rewrite((Node *) joined, &any);
	}
	statement = plan(parse, query_string, cursor_options, parameters);
	if (!any)
		return statement;
	other = plan(joined, query_string, cursor_options, parameters);
	if (tsurugi_jobs == TSURUGI_JOBS_FORCE)
		return other;
	return cost_of(other, cursor_options) < cost_of(statement, cursor_options) ? other : statement;
}

void
tsurugi_job_decorrelate_init(void)
{
	previous_hook = planner_hook;
	planner_hook = plan_both;
}
