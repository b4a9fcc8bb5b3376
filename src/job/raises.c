/*
 * raises.c
 *	  Which expressions without columns may raise an error.
 *
 * A job evaluates them when it starts.  PostgreSQL does so when it comes to them, for a row, and
 * may never come to them: behind CASE, for instance, or behind another condition.
 *
 * So it is with the result of a subquery that is evaluated once, an init plan.  It may have more
 * than one row, or raise any other error.  What raises none is made of rows of tables that fulfil
 * comparisons: whether there are any, an array or an aggregate of columns, and columns of the one
 * row that has a key, or that LIMIT leaves.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "optimizer/paths.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "src/job/init_plans.h"
#include "src/job/translate.h"

/* By whose means parameters are known. */
typedef struct Known
{
	PlannerInfo *root; /* NULL: nothing is */
	const List *init_plans;
} Known;

static bool may_raise(Node *node, Known *known);

static bool
has_only_tables(const Query *query)
{
	ListCell *cell;

	foreach (cell, query->rtable)
	{
		const RangeTblEntry *entry = lfirst(cell);

		if ((entry->rtekind != RTE_RELATION && entry->rtekind != RTE_JOIN) || entry->securityQuals != NIL ||
			entry->tablesample != NULL)
			return false;
	}
	return true;
}

/* By operators of PostgreSQL's own types, as those of comparisons. */
static bool
has_plain_order(const Query *query)
{
	ListCell *cell;

	foreach (cell, query->sortClause)
		if (lfirst_node(SortGroupClause, cell)->sortop >= FirstUnpinnedObjectId)
			return false;
	return true;
}

/* Whether it is rows that fulfil the conditions, as they are, or their aggregates. */
static bool
is_simple(const Query *query)
{
	return query->commandType == CMD_SELECT && query->groupClause == NIL && query->groupingSets == NIL &&
		   !query->hasTargetSRFs && query->setOperations == NULL && query->cteList == NIL &&
		   query->havingQual == NULL && query->distinctClause == NIL && has_plain_order(query) &&
		   has_only_tables(query);
}

/* Whether there is a limit, which is one row, or none. */
static bool
is_limited_to_one(const Query *query)
{
	const Const *count = (const Const *) query->limitCount;

	return count != NULL && IsA(count, Const) && !count->constisnull && query->limitOffset == NULL &&
		   query->limitOption == LIMIT_OPTION_COUNT && DatumGetInt64(count->constvalue) >= 0 &&
		   DatumGetInt64(count->constvalue) <= 1;
}

/* Whether the conditions have a value for each column of a key of the query's only table. */
static bool
is_row_of_key(const PlannerInfo *root)
{
	int relation = -1;

	return bms_get_singleton_member(root->all_baserels, &relation) &&
		   root->simple_rte_array[relation]->rtekind == RTE_RELATION && !root->simple_rte_array[relation]->inh &&
		   relation_has_unique_index_for((PlannerInfo *) root, root->simple_rel_array[relation], NIL, NIL, NIL);
}

/* Whether a subquery that is simple has more rows than one value may be of. */
static bool
may_have_rows(const SubPlan *subquery, const PlannerInfo *root)
{
	return subquery->subLinkType != ARRAY_SUBLINK && !root->parse->hasAggs && root->parse->jointree->fromlist != NIL &&
		   !is_limited_to_one(root->parse) && !is_row_of_key(root);
}

static bool
may_subquery_raise(const SubPlan *subquery, PlannerInfo *root)
{
	const Query *query = root->parse;
	Known known = {.root = root};

	if (!is_simple(query) || (query->limitCount != NULL && !is_limited_to_one(query)) || query->limitOffset != NULL ||
		may_raise((Node *) query->jointree, &known))
		return true;
	return subquery->subLinkType != EXISTS_SUBLINK &&
		   (may_have_rows(subquery, root) || may_raise((Node *) query->targetList, &known));
}

static bool
may_aggregate_raise(const Aggref *aggref)
{
	const char *name;
	Oid type;

	if (aggref->aggfnoid >= FirstUnpinnedObjectId || list_length(aggref->aggargtypes) > 1)
		return true;
	name = get_func_name(aggref->aggfnoid);
	if (strcmp(name, "count") == 0 || strcmp(name, "min") == 0 || strcmp(name, "max") == 0)
		return false;
	type = aggref->aggargtypes == NIL ? InvalidOid : linitial_oid(aggref->aggargtypes);
	return (strcmp(name, "sum") != 0 && strcmp(name, "avg") != 0) ||
		   (type != INT2OID && type != INT4OID && type != INT8OID && type != NUMERICOID);
}

/* But for comparisons of PostgreSQL's own types. */
static bool
may_operator_raise(Oid operator)
{
	if (operator<FirstUnpinnedObjectId && tsurugi_comparison_of(get_opname(operator)) != TSURUGI_NOT_COMPARED)
		return false;
	return !get_func_leakproof(get_opcode(operator));
}

static bool
may_parameter_raise(const Param *param, const Known *known)
{
	const SubPlan *subquery =
		param->paramkind == PARAM_EXEC ? tsurugi_init_plan_of(known->root, known->init_plans, param->paramid) : NULL;

	return subquery != NULL &&
		   may_subquery_raise(subquery, list_nth(known->root->glob->subroots, subquery->plan_id - 1));
}

static bool
may_raise(Node *node, Known *known)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_Const:
		case T_Var:
		case T_SQLValueFunction:
		case T_RangeTblRef:
			return false;
		case T_Param:
			return may_parameter_raise((Param *) node, known);
		case T_FuncExpr:
			if (((FuncExpr *) node)->funcid != F_NOW && !get_func_leakproof(((FuncExpr *) node)->funcid))
				return true;
			break;
		case T_OpExpr:
			if (may_operator_raise(((OpExpr *) node)->opno))
				return true;
			break;
		case T_Aggref:
			if (may_aggregate_raise((Aggref *) node))
				return true;
			break;
		case T_List:
		case T_RelabelType:
		case T_BoolExpr:
		case T_NullTest:
		case T_BooleanTest:
		case T_ArrayExpr:
		case T_TargetEntry:
		case T_FromExpr:
		case T_JoinExpr:
			break;
		default:
			return true;
	}
	return expression_tree_walker(node, may_raise, known);
}

bool
tsurugi_may_raise(PlannerInfo *root, const List *init_plans, Node *expr)
{
	Known known = {.root = root, .init_plans = init_plans};

	return may_raise(expr, &known);
}

static bool
has_parameter(Node *node, void *context)
{
	return node != NULL && (IsA(node, Param) || expression_tree_walker(node, has_parameter, context));
}

/* Jobs do not compute it for themselves; it fails only outside of the calendar. */
static bool
is_shift(const Node *expr, Known *known)
{
	const OpExpr *op = (const OpExpr *) expr;

	return IsA(expr, OpExpr) && op->opno < FirstUnpinnedObjectId &&
		   (get_opcode(op->opno) == F_TIMESTAMPTZ_PL_INTERVAL || get_opcode(op->opno) == F_TIMESTAMPTZ_MI_INTERVAL) &&
		   !may_raise((Node *) op->args, known);
}

bool
tsurugi_may_value_raise(PlannerInfo *root, const List *init_plans, Node *expr)
{
	Known known = {.root = root, .init_plans = init_plans};

	return has_parameter(expr, NULL) && may_raise(expr, &known) && !is_shift(expr, &known);
}

static Cost
cost_of(PlannerInfo *root, Node *condition)
{
	QualCost cost;

	cost_qual_eval_node(&cost, condition, root);
	return cost.per_tuple;
}

List *
tsurugi_in_order(PlannerInfo *root, List *conditions)
{
	List *ordered = NIL;
	ListCell *cell;

	if (!tsurugi_may_value_raise(root, NIL, (Node *) conditions))
		return conditions;
	foreach (cell, conditions)
	{
		Cost cost = cost_of(root, lfirst(cell));
		int at = list_length(ordered);

		while (at > 0 && cost_of(root, list_nth(ordered, at - 1)) > cost)
			at--;
		ordered = list_insert_nth(ordered, at, lfirst(cell));
	}
	return ordered;
}
