/*
 * plan_trees.c
 *	  A library for tests: every plan is copied, written and read before it is executed.
 *
 * As PostgreSQL does where it is built with COPY_PARSE_PLAN_TREES and WRITE_READ_PARSE_PLAN_TREES,
 * which packages are not.  Whatever the copy, or what was read, lacks is missing in the execution;
 * and both are written once more, and compared.
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/plannodes.h"
#include "optimizer/planner.h"

PG_MODULE_MAGIC;

void _PG_init(void);

static planner_hook_type previous_planner;

/* A node as text, without positions in the statement, which PostgreSQL does not read again. */
static char *
write_node(const void *node)
{
	char *text = nodeToString(node);
	char *to = text;

	for (const char *from = text; *from != '\0';)
	{
		*to++ = *from++;
		if (to - text >= 9 && memcmp(to - 9, "location ", 9) == 0)
			while (*from == '-' || (*from >= '0' && *from <= '9'))
				from++;
	}
	*to = '\0';
	return text;
}

static void
check_same(const char *what, const PlannedStmt *planned, const PlannedStmt *other)
{
	if (strcmp(write_node(planned), write_node(other)) != 0)
		elog(ERROR, "a plan is not the same after it was %s", what);
}

/* What a foreign data wrapper notes in a plan can be compared, which plans cannot. */
static void
check_noted(const List *noted)
{
	if (!equal(noted, copyObject(noted)) || !equal(noted, stringToNode(nodeToString(noted))))
		elog(ERROR, "what a plan notes does not equal itself");
}

/* A walker of lists and plans. */
static void
check_equal(const void *node)
{
	const Plan *plan = node;
	const ListCell *cell;

	if (node == NULL)
		return;
	if (IsA(node, List))
	{
		foreach (cell, (const List *) node)
			check_equal(lfirst(cell));
		return;
	}
	if (IsA(node, ForeignScan))
	{
		check_noted(((const ForeignScan *) node)->fdw_private);
		return;
	}
	if (IsA(node, ModifyTable))
		check_noted(((const ModifyTable *) node)->fdwPrivLists);
	if (IsA(node, Append))
		check_equal(((const Append *) node)->appendplans);
	if (IsA(node, SubqueryScan))
		check_equal(((const SubqueryScan *) node)->subplan);
	check_equal(plan->lefttree);
	check_equal(plan->righttree);
}

static PlannedStmt *
plan_query(Query *query, const char *text, int options, ParamListInfo parameters)
{
	PlannedStmt *planned = previous_planner != NULL ? previous_planner(query, text, options, parameters)
													: standard_planner(query, text, options, parameters);
	PlannedStmt *copied = copyObject(planned);
	PlannedStmt *read = stringToNode(nodeToString(copied));

	check_same("copied", planned, copied);
	check_same("written and read", planned, read);
	check_equal(planned->planTree);
	check_equal(planned->subplans);
	return read;
}

void
_PG_init(void)
{
	previous_planner = planner_hook;
	planner_hook = plan_query;
}
