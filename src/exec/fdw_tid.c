/*
 * fdw_tid.c
 *	  Rows by their places: WHERE ctid = ..., and WHERE CURRENT OF cursor.
 *
 * Follows PostgreSQL's TidScan.  A row keeps its ctid as long as it keeps its key: what is
 * there is what the statement's snapshot sees.  If a statement finds that another transaction has
 * changed the row since then, conditions on the ctid do not hold any more (READ COMMITTED), as they
 * do not with ordinary tables, where the newest version has another ctid: such a condition means
 * the version that was read.  They see another ctid then (tsurugi_tid_make_other).  Left out are
 * conditions that join rows by ctid in a SELECT FOR UPDATE.  In an UPDATE that joins, what SET
 * computes of the ctid of such a row is computed of that other one, too.
 *
 * Where the row of a cursor has got another key since it was fetched, the row that this has made is
 * the one meant.  A cursor says by its scan's slot, or by its row mark, where it is
 * (execCurrentOf); over a foreign table that works only where the cursor's plan hands on the scan's
 * rows as they come, which a SCROLL cursor's does not: PostgreSQL puts them into a store in
 * between.
 *
 * At SERIALIZABLE a place without a row counts as the whole table read, the
 * nearest thing that there is.
 */
#include "postgres.h"

#include "runtime/base/atomic.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/read.h"
#include "runtime/txn/reads.h"
#include "runtime/txn/snapshot.h"
#include "runtime/txn/wait.h"
#include "src/exec/fdw.h"

#include "access/sysattr.h"
#include "access/xact.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"
#include "storage/itemptr.h"
#include "utils/array.h"
#include "utils/ruleutils.h"
#include "utils/selfuncs.h"

#include "src/base/session.h"
#include "src/exec/scan.h"
#include "src/exec/scan_retry.h"
#include "src/table/row.h"
#include "src/table/system_columns.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

/* A row found where it is said to be: as one found by key (fdw_plan.c). */
#define COST_OF_PLACE (0.5 * cpu_tuple_cost)

typedef struct tid_scan
{
	const tsurugi_relation *described;
	ExprState *value;		 /* NULL: CURRENT OF */
	ItemPointerData *places; /* NULL: not computed yet */
	int count;
	int next;
	tg_snapshot snapshot;
	tsurugi_row row;
	tsurugi_recheck recheck;
} tid_scan;

/* --- planning --------------------------------------------------------------------------- */

static bool
is_ctid_of(const Node *node, Index relid)
{
	const Var *var = (const Var *) node;

	return IsA(var, Var) && var->varno == relid && var->varlevelsup == 0 &&
		   var->varattno == SelfItemPointerAttributeNumber;
}

static bool
is_known_before(const RelOptInfo *baserel, Node *value)
{
	return !bms_is_member(baserel->relid, pull_varnos(NULL, value)) && !contain_volatile_functions(value);
}

/* The expression for the rows' places, in a condition on ctid; NULL for any other condition. */
static Expr *
places_of(const RelOptInfo *baserel, const RestrictInfo *rinfo)
{
	Expr *clause = rinfo->clause;

	if (rinfo->pseudoconstant)
		return NULL;
	if (IsA(clause, CurrentOfExpr))
		return ((CurrentOfExpr *) clause)->cvarno == baserel->relid ? clause : NULL;
	if (IsA(clause, OpExpr) && ((OpExpr *) clause)->opno == TIDEqualOperator)
	{
		Node *left = linitial(((OpExpr *) clause)->args);
		Node *right = lsecond(((OpExpr *) clause)->args);

		if (is_ctid_of(left, baserel->relid) && is_known_before(baserel, right))
			return (Expr *) right;
		if (is_ctid_of(right, baserel->relid) && is_known_before(baserel, left))
			return (Expr *) left;
	}
	if (IsA(clause, ScalarArrayOpExpr) && ((ScalarArrayOpExpr *) clause)->opno == TIDEqualOperator &&
		((ScalarArrayOpExpr *) clause)->useOr)
	{
		List *arguments = ((ScalarArrayOpExpr *) clause)->args;

		if (is_ctid_of(linitial(arguments), baserel->relid) && is_known_before(baserel, lsecond(arguments)))
			return lsecond(arguments);
	}
	return NULL;
}

/*
 * The condition that gives the places: CURRENT OF if there is one, because it cannot be evaluated
 * in any other way.
 */
static RestrictInfo *
find_condition(const RelOptInfo *baserel)
{
	RestrictInfo *found = NULL;
	ListCell *cell;

	foreach (cell, baserel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, cell);

		if (places_of(baserel, rinfo) == NULL)
			continue;
		found = rinfo;
		if (IsA(rinfo->clause, CurrentOfExpr))
			break;
	}
	return found;
}

bool
tsurugi_tid_add_path(PlannerInfo *root, RelOptInfo *baserel)
{
	RestrictInfo *condition = find_condition(baserel);
	Expr *places;
	double rows = 1;
	QualCost cost;
	Cost run;

	if (condition == NULL)
		return false;
	places = places_of(baserel, condition);
	if (exprType((Node *) places) != TIDOID && !IsA(places, CurrentOfExpr))
		rows = estimate_array_length((Node *) places);
	/* CURRENT OF has a prohibitive cost, to exclude other plans; here it costs nothing. */
	cost_qual_eval(&cost, list_difference_ptr(baserel->baserestrictinfo, list_make1(condition)), root);
	run = rows * (COST_OF_PLACE + cost.per_tuple + baserel->reltarget->cost.per_tuple);
	add_path(baserel, (Path *) create_foreignscan_path(root, baserel, NULL, rows, cost.startup, cost.startup + run, NIL,
													   baserel->lateral_relids, NULL, list_make2(NULL, condition)));
	return IsA(places, CurrentOfExpr);
}

/* Other paths have their choice only. */
bool
tsurugi_is_tid_private(const List *fdw_private)
{
	return list_length(fdw_private) == 2;
}

ForeignScan *
tsurugi_tid_plan(RelOptInfo *baserel, const ForeignPath *path, List *tlist, List *scan_clauses)
{
	RestrictInfo *condition = lsecond(path->fdw_private);
	Expr *places = places_of(baserel, condition);
	List *recheck = IsA(places, CurrentOfExpr) ? NIL : list_make1(condition->clause);
	const tsurugi_scan_exprs exprs = {.values = list_make1(places)};
	const tsurugi_shape shape = {.way = TSURUGI_WAY_PLACE};
	tsurugi_scan_plan *plan = tsurugi_scan_plan_make(tsurugi_scan_access_make(&shape));
	Bitmapset *attributes = NULL;

	scan_clauses = extract_actual_clauses(list_difference_ptr(scan_clauses, list_make1(condition)), false);
	pull_varattnos((Node *) baserel->reltarget->exprs, baserel->relid, &attributes);
	pull_varattnos((Node *) scan_clauses, baserel->relid, &attributes);
	(void) tsurugi_system_columns_are_in(attributes);
	return make_foreignscan(tlist, scan_clauses, baserel->relid, tsurugi_scan_exprs_to_list(&exprs), list_make1(plan),
							NIL, recheck, NULL);
}

bool
tsurugi_is_tid_scan(const ForeignScan *plan)
{
	return tsurugi_scan_plan_of(plan)->access->shape.way == TSURUGI_WAY_PLACE;
}

/* The expression for the rows' places. */
static Expr *
planned_places(const ForeignScan *plan)
{
	tsurugi_scan_exprs exprs;

	tsurugi_scan_exprs_get(plan, &exprs);
	return linitial(exprs.values);
}

/* --- running -------------------------------------------------------------------------------- */

void
tsurugi_tid_begin(ForeignScanState *node)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	tid_scan *scan = palloc0(sizeof(*scan));
	Expr *places = planned_places(plan);

	scan->described = tsurugi_relation_get(node->ss.ss_currentRelation);
	tsurugi_row_init(&scan->row, scan->described);
	if (!IsA(places, CurrentOfExpr))
		scan->value = ExecInitExpr(places, &node->ss.ps);
	tsurugi_snapshot_of(node->ss.ps.state, node->ss.ss_currentRelation, scan->described->table, &scan->snapshot);
	node->fdw_state = scan;
}

static int
compare_places(const void *a, const void *b)
{
	return ItemPointerCompare((ItemPointer) a, (ItemPointer) b);
}

/* Each place once, in their order. */
static void
take_array(tid_scan *scan, ArrayType *array, MemoryContext context)
{
	Datum *values;
	bool *nulls;
	int count;

	deconstruct_array(array, TIDOID, sizeof(ItemPointerData), false, TYPALIGN_SHORT, &values, &nulls, &count);
	scan->places = MemoryContextAlloc(context, Max(count, 1) * sizeof(ItemPointerData));
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			scan->places[scan->count++] = *(ItemPointer) DatumGetPointer(values[i]);
	qsort(scan->places, scan->count, sizeof(ItemPointerData), compare_places);
	count = scan->count;
	scan->count = 0;
	for (int i = 0; i < count; i++)
		if (i == 0 || compare_places(&scan->places[i], &scan->places[scan->count - 1]) != 0)
			scan->places[scan->count++] = scan->places[i];
}

static void
compute_places(ForeignScanState *node, tid_scan *scan)
{
	ExprContext *context = node->ss.ps.ps_ExprContext;
	MemoryContext memory = node->ss.ps.state->es_query_cxt;
	const ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Expr *places = planned_places(plan);
	ItemPointerData place;
	Datum value;
	bool null;

	scan->count = 0;
	scan->next = 0;
	if (scan->value == NULL)
		null = !execCurrentOf((CurrentOfExpr *) places, context, RelationGetRelid(node->ss.ss_currentRelation), &place);
	else
	{
		value = ExecEvalExprSwitchContext(scan->value, context, &null);
		if (!null && exprType((Node *) places) != TIDOID)
		{
			take_array(scan, DatumGetArrayTypeP(value), memory);
			return;
		}
		if (!null)
			place = *(ItemPointer) DatumGetPointer(value);
	}
	scan->places = MemoryContextAlloc(memory, sizeof(ItemPointerData));
	if (!null)
		scan->places[scan->count++] = place;
}

/* The row id that a place stands for.  False: no row can have been there. */
static bool
row_at(const tid_scan *scan, const ItemPointerData *place, uint32_t *row_out)
{
	uint64 row = (uint64) ItemPointerGetBlockNumberNoCheck(place) * TSURUGI_ROWS_PER_BLOCK +
				 ItemPointerGetOffsetNumberNoCheck(place) - 1;

	*row_out = (uint32_t) row;
	return ItemPointerGetOffsetNumberNoCheck(place) >= 1 &&
		   ItemPointerGetOffsetNumberNoCheck(place) <= TSURUGI_ROWS_PER_BLOCK &&
		   row < tg_load_acquire(&scan->described->table->row_next);
}

/* S1.  Inside an epoch. */
static void
note_row(tid_scan *scan, tg_session *session, tg_status status, tg_version version)
{
	if (status == TG_NOT_FOUND)
		tg_reads_add_table(session, tsurugi_reads(), scan->described->table, false);
	else if (status == TG_OK)
		(void) tg_reads_add_version(session, tsurugi_reads(), version);
}

static bool
read_row(tid_scan *scan, uint32_t *row)
{
	tg_session *session = tsurugi_session();
	tg_version version = TG_VERSION_NONE;
	tg_status status;
	tg_wait wait;

	for (;;)
	{
		tg_epoch_enter(session);
		do
			status = tg_txn_read(&scan->snapshot, scan->described->table, *row, &version, &wait);
		while (status == TG_NOT_FOUND && scan->value == NULL &&
			   tg_txn_follow(&scan->snapshot, scan->described->table, row) == TG_OK);
		if (tsurugi_tracks)
			note_row(scan, session, status, version);
		if (status == TG_OK)
			tsurugi_row_read(&scan->row, version);
		tg_epoch_leave(session);
		if (status != TG_BUSY)
			return status == TG_OK;
		tsurugi_wait_for_outcome(&wait);
	}
}

TupleTableSlot *
tsurugi_tid_next(ForeignScanState *node)
{
	tid_scan *scan = node->fdw_state;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	uint32_t row;

	if (scan->places == NULL)
	{
		if (tsurugi_has_one_snapshot())
		{
			tg_area area = {.table = scan->described->table};

			if (tsurugi_minds_areas)
				tsurugi_check_read(node->ss.ss_currentRelation, &area);
			if (unlikely(tsurugi_ladder_has_rows))
				tsurugi_retry_lock_rows(node->ss.ps.state, node->ss.ss_currentRelation, &area);
			/* The transaction's snapshot may have been renewed; from here on it stands. */
			tsurugi_snapshot_of(node->ss.ps.state, node->ss.ss_currentRelation, scan->described->table,
								&scan->snapshot);
			tsurugi_snapshot_is_used();
		}
		compute_places(node, scan);
	}
	while (scan->next < scan->count)
	{
		const ItemPointerData *place = &scan->places[scan->next++];

		if (!row_at(scan, place, &row) || !read_row(scan, &row))
			continue;
		tsurugi_row_to_slot(&scan->row, row, slot);
		return slot;
	}
	return ExecClearTuple(slot);
}

void
tsurugi_tid_restart(ForeignScanState *node)
{
	tid_scan *scan = node->fdw_state;

	if (scan->places != NULL)
		pfree(scan->places);
	scan->places = NULL;
}

/* --- rows that have been changed -------------------------------------------------------------- */

static List *
on_ctid(List *conditions, Index relid)
{
	List *found = NIL;
	ListCell *cell;

	foreach (cell, conditions)
	{
		Bitmapset *attributes = NULL;

		pull_varattnos(lfirst(cell), relid, &attributes);
		if (bms_is_member(SelfItemPointerAttributeNumber - FirstLowInvalidHeapAttributeNumber, attributes))
			found = lappend(found, lfirst(cell));
	}
	return found;
}

/* Made when it is first needed. */
static ExprState *
conditions_on_ctid(ForeignScanState *node)
{
	const ForeignScan *plan = castNode(ForeignScan, node->ss.ps.plan);
	tsurugi_recheck *recheck = tsurugi_is_tid_scan(plan) ? &((tid_scan *) node->fdw_state)->recheck
														 : &((tsurugi_scan *) node->fdw_state)->recheck;

	if (!recheck->is_known)
	{
		MemoryContext saved = MemoryContextSwitchTo(node->ss.ps.state->es_query_cxt);
		List *conditions =
			on_ctid(list_concat_copy(plan->scan.plan.qual, plan->fdw_recheck_quals), plan->scan.scanrelid);

		recheck->condition = ExecInitQual(conditions, &node->ss.ps);
		recheck->is_known = true;
		MemoryContextSwitchTo(saved);
	}
	return recheck->condition;
}

/*
 * EvalPlanQual's question about a row that a mark has locked.  (The row that an UPDATE or DELETE is
 * about has its other ctid already, for joins as well.)  What the statement returns is the ctid by
 * which the row is found, so the other one stays in here.
 */
bool
tsurugiRecheckForeignScan(ForeignScanState *node, TupleTableSlot *slot)
{
	const ForeignScan *plan = castNode(ForeignScan, node->ss.ps.plan);
	const EState *estate = node->ss.ps.state->es_epq_active->parentestate;
	const ExecRowMark *erm = estate->es_rowmarks == NULL ? NULL : estate->es_rowmarks[plan->scan.scanrelid - 1];
	ItemPointerData tid = slot->tts_tid;
	ExprState *conditions;
	bool met;

	if (!plan->fsSystemCol || erm == NULL || !tsurugi_mark_is_updated(erm))
		return true;
	conditions = conditions_on_ctid(node);
	if (conditions == NULL)
		return true;
	tsurugi_tid_make_other(&slot->tts_tid);
	met = ExecQual(conditions, node->ss.ps.ps_ExprContext);
	slot->tts_tid = tid;
	return met;
}

void
tsurugi_tid_explain(ForeignScanState *node, ExplainState *es)
{
	ForeignScan *plan = (ForeignScan *) node->ss.ps.plan;
	Node *places = (Node *) planned_places(plan);
	List *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, NIL);
	const char *format = "(ctid = %s)";

	if (IsA(places, CurrentOfExpr))
		format = "%s";
	else if (exprType(places) != TIDOID)
		format = "(ctid = ANY (%s))";
	ExplainPropertyText("Tsurugi Scan", "by ctid, in place", es);
	ExplainPropertyText("TID Cond", psprintf(format, deparse_expression(places, context, es->verbose, false)), es);
}
