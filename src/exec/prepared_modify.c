/*
 * prepared_modify.c
 *	  Modifications of single rows that keep their executor state from one execution to the next.
 *
 *	ModifyTable ── Result         INSERT of one row of values
 *	            └─ ForeignScan    UPDATE, DELETE of rows found by a key, as a whole (fdw_direct.c)
 *
 * prepared.c keeps them like look-ups, by the same rules except for the first.  In its place:
 *
 * 1.  The nodes belong to a copy of the plan that lives as long as they do, so compiled expressions
 *	  may point into it.  They were compiled without parameters, so each parameter is fetched from
 *	  those of the execution when it is needed.
 * 2.  Expressions consist of the table's columns, constants, parameters, and functions.  The
 *	  functions are PostgreSQL's own, written in C, with fixed types, and immutable (a few are not
 *	  immutable).  These are called without reading pg_proc, whatever changes have been made to it,
 *	  so none can become another.  The state that such a function keeps does not depend on the
 *	  catalogs.  None of them can execute a statement, in particular this one.  The permission to
 *	  call them is checked with the other privileges.
 * 3.  The table has no triggers, check constraints, generated columns or EXCLUDE constraints, and
 *	  is no partition.  Those would be compiled, by PostgreSQL or by this extension, when they are
 *	  first needed, in the execution's memory, and their functions may be anyone's.  Nor has the
 *	  table hidden values, except for the key bytes of columns of PostgreSQL's own types
 *	  (canonical.h), which call no other functions.  So nothing can be queued for the end of the
 *	  statement, and no statement trigger can fire.  If the table gets one of these, its description
 *	  changes, and with it its revision.  The same holds when the storage has become wider than the
 *	  rows for which a state has room.
 * 4.  An execution takes the present command id when it starts.  In a read-only transaction
 *	  PostgreSQL must refuse the modification.
 * 5.  RETURNING, ON CONFLICT, check options of views, several tables and sub-selects are executed
 *	  in PostgreSQL's way.
 */
#include "postgres.h"

#include "src/exec/prepared_modify.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_language_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "src/exec/fdw.h"
#include "src/table/building.h"
#include "src/table/hidden.h"

/* --- what may be kept ----------------------------------------------------------------------- */

static bool
is_given_type(Oid type)
{
	return type < FirstGenbkiObjectId && type != RECORDOID && type != ANYOID && !IsPolymorphicType(type);
}

/*
 * Rule 2: the functions that are not immutable; they depend on the clock, the time zone, a sequence
 * or random numbers.
 */
static bool
is_of_the_moment(Oid function)
{
	static const Oid functions[] = {F_NOW,
									F_TRANSACTION_TIMESTAMP,
									F_STATEMENT_TIMESTAMP,
									F_CLOCK_TIMESTAMP,
									F_TIMESTAMP_TIMESTAMPTZ,
									F_TIMESTAMPTZ_TIMESTAMP,
									F_DATE_TIMESTAMPTZ,
									F_TIMESTAMPTZ_DATE,
									F_TIME_TIMESTAMPTZ,
									F_TIMETZ_TIMESTAMPTZ,
									F_NEXTVAL,
									F_RANDOM,
									F_GEN_RANDOM_UUID};

	for (int i = 0; i < lengthof(functions); i++)
		if (functions[i] == function)
			return true;
	return false;
}

/* Rule 2. */
static bool
is_lasting_function(Oid function)
{
	HeapTuple tuple;
	Form_pg_proc form;
	bool lasts;

	if (is_of_the_moment(function))
		return true;
	if (function >= FirstGenbkiObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	lasts = form->prolang == INTERNALlanguageId && form->provolatile == PROVOLATILE_IMMUTABLE && !form->proretset &&
			is_given_type(form->prorettype);
	for (int i = 0; i < form->pronargs; i++)
		lasts &= is_given_type(form->proargtypes.values[i]);
	ReleaseSysCache(tuple);
	return lasts;
}

/* A walker: true if one of the expressions does not last. */
static bool
does_not_last(Node *node, void *context)
{
	List **functions = context;
	Oid function = InvalidOid;

	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_TargetEntry:
		case T_Const:
		case T_RelabelType:
		case T_BoolExpr:
		case T_CoalesceExpr:
		case T_SQLValueFunction:
		case T_NextValueExpr:
			break;
		case T_Var:
			if (((Var *) node)->varattno <= 0)
				return true;
			break;
		case T_Param:
			if (((Param *) node)->paramkind != PARAM_EXTERN)
				return true;
			break;
		case T_NullTest:
			if (((NullTest *) node)->argisrow)
				return true;
			break;
		case T_OpExpr:
			function = ((OpExpr *) node)->opfuncid;
			break;
		case T_FuncExpr:
			function = ((FuncExpr *) node)->funcid;
			break;
		default:
			return true;
	}
	if (OidIsValid(function))
	{
		if (!is_lasting_function(function))
			return true;
		*functions = list_append_unique_oid(*functions, function);
	}
	return expression_tree_walker(node, does_not_last, context);
}

/* Rule 3: whether the key bytes of columns call no other functions. */
static bool
has_lasting_keys(const tsurugi_relation *described)
{
	for (int i = 0; i < described->source_count; i++)
	{
		const tsurugi_hidden *hidden = &described->hidden[i];

		if (!hidden->canonical || hidden->hashed || OidIsValid(hidden->comparison) || !IsA(hidden->source, Var) ||
			hidden->origin.type >= FirstGenbkiObjectId)
			return false;
	}
	return true;
}

/* Rule 3. */
static bool
is_plain_table(Oid oid)
{
	Relation relation = table_open(oid, NoLock);
	const TupleConstr *constraints = RelationGetDescr(relation)->constr;
	bool plain = relation->rd_rel->relkind == RELKIND_FOREIGN_TABLE &&
				 GetFdwRoutineForRelation(relation, false)->BeginForeignScan == tsurugiBeginForeignScan &&
				 relation->trigdesc == NULL && !relation->rd_rel->relispartition &&
				 (constraints == NULL || (constraints->num_check == 0 && !constraints->has_generated_stored)) &&
				 has_lasting_keys(tsurugi_relation_get(relation)) && !tsurugi_relation_get(relation)->has_exclusions;

	table_close(relation, NoLock);
	return plain;
}

static bool
is_alone(const Plan *plan)
{
	return outerPlan(plan) == NULL && innerPlan(plan) == NULL && plan->initPlan == NIL && plan->qual == NIL;
}

static bool
is_row_of_values(const Plan *plan, List **functions)
{
	return IsA(plan, Result) && is_alone(plan) && ((const Result *) plan)->resconstantqual == NULL &&
		   !does_not_last((Node *) plan->targetlist, functions);
}

/* Its targetlist is not computed (fdw_direct.c). */
static bool
is_direct(const ModifyTable *plan, List **functions)
{
	const ForeignScan *scan = (const ForeignScan *) outerPlan(plan);

	return bms_is_member(0, plan->fdwDirectModifyPlans) && IsA(scan, ForeignScan) && is_alone(&scan->scan.plan) &&
		   scan->operation == plan->operation && scan->fdw_scan_tlist == NIL && scan->fdw_recheck_quals == NIL &&
		   scan->scan.scanrelid == linitial_int(plan->resultRelations) &&
		   !does_not_last((Node *) scan->fdw_exprs, functions);
}

/* Rule 5. */
static bool
is_simple(const ModifyTable *plan, const PlannedStmt *planned)
{
	return planned->commandType == plan->operation && !planned->hasModifyingCTE && !planned->parallelModeNeeded &&
		   planned->subplans == NIL && plan->canSetTag && plan->plan.initPlan == NIL && plan->rootRelation == 0 &&
		   list_length(plan->resultRelations) == 1 && plan->withCheckOptionLists == NIL &&
		   plan->returningLists == NIL && plan->rowMarks == NIL && plan->onConflictAction == ONCONFLICT_NONE &&
		   plan->mergeActionLists == NIL;
}

uint32_t
tsurugi_modify_number(const ModifyTable *plan)
{
	if (plan->operation == CMD_INSERT)
		return tsurugi_insert_plan_number(linitial(plan->fdwPrivLists));
	return bms_is_member(0, plan->fdwDirectModifyPlans) && IsA(outerPlan(plan), ForeignScan)
			   ? tsurugi_plan_number((const ForeignScan *) outerPlan(plan))
			   : 0;
}

bool
tsurugi_modify_may_be_kept(const PlannedStmt *planned, List **functions_out)
{
	const ModifyTable *plan = (const ModifyTable *) planned->planTree;

	*functions_out = NIL;
	return is_simple(plan, planned) &&
		   (plan->operation == CMD_INSERT ? is_row_of_values(outerPlan(plan), functions_out)
										  : is_direct(plan, functions_out)) &&
		   is_plain_table(rt_fetch(linitial_int(plan->resultRelations), planned->rtable)->relid);
}

/* --- running ---------------------------------------------------------------------------------- */

ForeignScanState *
tsurugi_modify_node(const ModifyTableState *state)
{
	PlanState *node = outerPlanState(state);

	return IsA(node, ForeignScanState) ? (ForeignScanState *) node : NULL;
}

tsurugi_scan *
tsurugi_modify_scan(const ModifyTableState *state)
{
	ForeignScanState *node = tsurugi_modify_node(state);

	return node == NULL ? NULL : tsurugi_direct_scan(node);
}

bool
tsurugi_modify_make(ModifyTableState *state)
{
	ForeignScanState *node = tsurugi_modify_node(state);

	if (node != NULL)
	{
		tsurugi_direct_make(node);
		return true;
	}
	tsurugiBeginForeignModify(state, state->resultRelInfo, NIL, 0, 0);
	return state->resultRelInfo->ri_projectNewInfoValid; /* else each execution makes slots */
}

void
tsurugi_modify_begin(ModifyTableState *state)
{
	tsurugi_building_check(state->resultRelInfo->ri_RelationDesc);
	state->mt_done = false;
	state->fireBSTriggers = true;
	if (state->operation == CMD_INSERT)
		castNode(ResultState, outerPlanState(state))->rs_done = false;
}

bool
tsurugi_modify_is_as_made(const ModifyTableState *state)
{
	const ResultRelInfo *relation = state->resultRelInfo;

	return state->ps.instrument == NULL && outerPlanState(state)->instrument == NULL &&
		   relation->ri_ConstraintExprs == NULL && relation->ri_GeneratedExprs == NULL &&
		   relation->ri_PartitionCheckExpr == NULL && relation->ri_ReturningSlot == NULL &&
		   relation->ri_projectNew == NULL && state->mt_epqstate.recheckestate == NULL &&
		   state->ps.state->es_opened_result_relations->length == 1;
}

void
tsurugi_modify_rest(ModifyTableState *state)
{
	ForeignScanState *node = tsurugi_modify_node(state);

	if (node != NULL)
		tsurugi_direct_rest(node);
}
