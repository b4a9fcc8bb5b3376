/*
 * raises.c
 *	  Which expressions without columns may raise an error.
 *
 * A job evaluates them when it starts.  PostgreSQL does so when it comes to them, for a row, and
 * may never come to them: behind CASE, for instance, or behind another condition.
 *
 * So it is with the result of a subquery that is evaluated once, an init plan.  It may have more
 * than one row, or raise any other error.  What raises none is an aggregate of columns, over all
 * rows of tables that fulfil comparisons.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "nodes/nodeFuncs.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "src/job/translate.h"

static bool may_raise(Node *node, PlannerInfo *root);

/* The subquery whose result is the parameter; NULL: it is something else, which has a value. */
static const SubPlan *
init_plan_of(const PlannerInfo *root, int parameter)
{
	ListCell *cell;

	for (; root != NULL; root = root->parent_root)
		foreach (cell, root->init_plans)
			if (list_member_int(lfirst_node(SubPlan, cell)->setParam, parameter))
				return lfirst(cell);
	return NULL;
}

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

/* Whether it is all rows that fulfil the conditions, as they are, or their aggregates. */
static bool
is_simple(const Query *query)
{
	return query->commandType == CMD_SELECT && query->groupClause == NIL && query->groupingSets == NIL &&
		   !query->hasTargetSRFs && query->setOperations == NULL && query->cteList == NIL &&
		   query->havingQual == NULL && query->limitCount == NULL && query->limitOffset == NULL &&
		   has_only_tables(query);
}

static bool
may_subquery_raise(const SubPlan *subquery, PlannerInfo *root)
{
	const Query *query = root->parse;

	if (!is_simple(query) || may_raise((Node *) query->jointree, root))
		return true;
	return subquery->subLinkType != EXISTS_SUBLINK && (!query->hasAggs || may_raise((Node *) query->targetList, root));
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
may_parameter_raise(const Param *param, const PlannerInfo *root)
{
	const SubPlan *subquery = param->paramkind == PARAM_EXEC ? init_plan_of(root, param->paramid) : NULL;

	return subquery != NULL && may_subquery_raise(subquery, list_nth(root->glob->subroots, subquery->plan_id - 1));
}

static bool
may_raise(Node *node, PlannerInfo *root)
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
			return may_parameter_raise((Param *) node, root);
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
	return expression_tree_walker(node, may_raise, root);
}

bool
tsurugi_may_raise(PlannerInfo *root, Node *expr)
{
	return may_raise(expr, root);
}

static bool
has_parameter(Node *node, void *context)
{
	return node != NULL && (IsA(node, Param) || expression_tree_walker(node, has_parameter, context));
}

/* Jobs do not compute it for themselves; it fails only outside of the calendar. */
static bool
is_shift(const Node *expr, PlannerInfo *root)
{
	const OpExpr *op = (const OpExpr *) expr;

	return IsA(expr, OpExpr) && op->opno < FirstUnpinnedObjectId &&
		   (get_opcode(op->opno) == F_TIMESTAMPTZ_PL_INTERVAL || get_opcode(op->opno) == F_TIMESTAMPTZ_MI_INTERVAL) &&
		   !may_raise((Node *) op->args, root);
}

bool
tsurugi_may_value_raise(PlannerInfo *root, Node *expr)
{
	return has_parameter(expr, NULL) && may_raise(expr, root) && !is_shift(expr, root);
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

	if (!tsurugi_may_value_raise(root, (Node *) conditions))
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
