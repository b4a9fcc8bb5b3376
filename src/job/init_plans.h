/*
 * init_plans.h
 *	  Subqueries without correlation, whose results are parameters of a job.
 */
#ifndef TSURUGI_JOB_INIT_PLANS_H
#define TSURUGI_JOB_INIT_PLANS_H

#include "postgres.h"

#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

/*
 * The subquery whose result is the parameter: among these, or of the query or one around it.  NULL:
 * it is something else.  root may be NULL.
 */
extern const SubPlan *tsurugi_init_plan_of(const PlannerInfo *root, const List *init_plans, int parameter);

/* In PostgreSQL's units. */
extern Cost tsurugi_init_plans_cost(const List *init_plans);

/* Gives a finished plan the init plans of absorbed subqueries, beside its own. */
extern void tsurugi_init_plans_attach(const List *init_plans, Plan *plan);

/* As ExecInitNode, of a plan that may have some of the node's init plans, too. */
extern PlanState *tsurugi_init_plans_begin(const PlanState *node, Plan *plan, EState *estate, int eflags);

#endif /* TSURUGI_JOB_INIT_PLANS_H */
