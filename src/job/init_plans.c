/*
 * init_plans.c
 *	  Subqueries without correlation, whose results are parameters of a job.
 *
 * PostgreSQL plans such a subquery as an init plan: its own plan, which is executed when the
 * parameter is first read.  The parameter is an expression without columns, so a job reads it when
 * it starts.  The init plan may be a job itself.
 *
 * The init plans of a query belong to the topmost node of its plan.  Where a job has absorbed a
 * subquery (absorb.c), that node is in the job's fallback only, which is not initialized until it
 * is needed.  So the job's node has them, too.  They are given to it when the planner has finished:
 * before that, PostgreSQL expects init plans at topmost nodes only.  The parameters that they
 * depend on are the fallback's as well, so they are among the node's already.
 *
 * Then two nodes have the same init plan: one plan state, and one value.  When the fallback is
 * initialized, PostgreSQL has it compute the value at the next access, from a plan that has ended.
 * So a value that is there stays there.
 */
#include "postgres.h"

#include "src/job/init_plans.h"

#include "executor/executor.h"

const SubPlan *
tsurugi_init_plan_of(const PlannerInfo *root, const List *init_plans, int parameter)
{
	ListCell *cell;

	foreach (cell, init_plans)
		if (list_member_int(lfirst_node(SubPlan, cell)->setParam, parameter))
			return lfirst(cell);
	return root == NULL ? NULL : tsurugi_init_plan_of(root->parent_root, root->init_plans, parameter);
}

Cost
tsurugi_init_plans_cost(const List *init_plans)
{
	Cost cost = 0;
	ListCell *cell;

	foreach (cell, init_plans)
		cost += lfirst_node(SubPlan, cell)->startup_cost + lfirst_node(SubPlan, cell)->per_call_cost;
	return cost;
}

void
tsurugi_init_plans_attach(const List *init_plans, Plan *plan)
{
	ListCell *cell;

	plan->initPlan = list_concat_copy(plan->initPlan, init_plans);
	foreach (cell, init_plans)
	{
		ListCell *parameter;

		foreach (parameter, lfirst_node(SubPlan, cell)->setParam)
			plan->allParam = bms_add_member(plan->allParam, lfirst_int(parameter));
	}
}

PlanState *
tsurugi_init_plans_begin(const PlanState *node, Plan *plan, EState *estate, int eflags)
{
	List *kept = NIL; /* what computes each parameter; NULL: its value is there */
	PlanState *state;
	ListCell *cell;
	ListCell *parameter;
	int number = 0;

	foreach (cell, node->initPlan)
		foreach (parameter, lfirst_node(SubPlanState, cell)->subplan->setParam)
			kept = lappend(kept, estate->es_param_exec_vals[lfirst_int(parameter)].execPlan);
	state = ExecInitNode(plan, estate, eflags);
	foreach (cell, node->initPlan)
		foreach (parameter, lfirst_node(SubPlanState, cell)->subplan->setParam)
			estate->es_param_exec_vals[lfirst_int(parameter)].execPlan = list_nth(kept, number++);
	return state;
}
