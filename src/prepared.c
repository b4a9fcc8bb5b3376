/*
 * prepared.c
 *	  Look-ups by key that are executed again and again keep their executor state.
 *
 * For a point query most of the time in the executor goes into making its
 * state and tearing it down: memory contexts, a range table, two tuple
 * descriptors, a slot, our scan.  All of it follows from the plan alone, so
 * it is made once and kept, and an execution only fills in what is its own:
 * snapshot, parameters, opened relation, memory.  The state is a genuine one,
 * made by ExecInitNode, so that everything between start and end is
 * PostgreSQL's: ExecutorRun, ExecutorFinish, portals, EXPLAIN of a running
 * query by other libraries.
 *
 *	            second sighting of the number
 *	(nothing) ────────────────────────────────▶ free ──start──▶ running
 *	    ▲                                        │ ▲               │ │
 *	    └── stale, or place taken by another ────┘ └──── end ──────┘ │
 *	    └────── the execution's memory goes without an end (error) ──┘
 *
 * A plan is known by a number that GetForeignPlan has written into it and by
 * the address of the statement; each alone could come again, both together
 * mean the same plan, alive.  A number has one place, by its remainder, and
 * gets it at its second sighting, so that plans for one execution leave nothing
 * behind.  Who is there already gives way if it has not been used since the
 * last one that wanted its place.
 *
 * 1. Kept are only states without any expression: nothing but constants and
 *	  parameters is compared with the key, no condition, no projection.  So
 *	  there is no function whose definition, privileges or remembered values
 *	  could be out of date.
 * 2. A free state points to nothing that does not live as long: not to the
 *	  plan, the relation, a snapshot, parameters.
 * 3. What was made from the catalogs is of this revision of the relation's
 *	  description; any invalidation of the relation makes another.
 *	  Privileges are checked at each start, and the relation is opened for
 *	  each execution: DROP and ALTER find it in use as always.
 * 4. es_query_cxt is an execution's own, made in the caller's memory as
 *	  always.  Others allocate in it; it goes at the end, or with the caller's
 *	  memory after an error.  Its going is what ends "running": there is no
 *	  other way to hear of all errors.
 * 5. Whatever else is unusual goes PostgreSQL's way: EXPLAIN, instruments,
 *	  scrollable cursors, a state that is running already (a cursor left open,
 *	  recursion), parallel workers.
 *
 * What is left of a point query's time is waiting for memory, and more for the
 * translation of addresses that this process has not used for long than for the
 * data: with pages of 4 KiB a line of the page table, and one of the
 * hypervisor's, come from memory first.  A prefetch, too, keeps the processor
 * until its address is translated.  So the start asks for the leaf, the row's
 * head, its chunk and its cells as early as each is known, what does not depend
 * on each other at once, and snapshot, privileges, portal and protocol are dealt
 * with while they come.
 *
 * Modifications are not kept: their states hold expressions, triggers, and the
 * relation's constraints.
 */
#include "postgres.h"

#include "src/prepared.h"

#include "access/parallel.h"
#include "access/table.h"
#include "executor/executor.h"
#include "parser/parsetree.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "src/fdw.h"
#include "src/relation.h"
#include "src/scan.h"

#define PLACE_COUNT 64	  /* a state takes 16 kB */
#define SIGHTED_COUNT 512 /* plannings that a prepared statement's first two executions may lie apart */

/* An executor state, in a memory context of its own. */
typedef struct Kept
{
	uint32_t number;
	const PlannedStmt *planned; /* compared only */
	uint64_t revision;
	Oid relation;
	Index relation_index; /* in the range table, from 0 */
	MemoryContext memory; /* of all this */
	EState *estate;
	ForeignScanState *node;
	int slot_count; /* as made */

	/* while it runs */
	struct Kept *outer;					  /* the one that was started before */
	MemoryContext execution;			  /* es_query_cxt; NULL: free */
	MemoryContextCallback execution_gone; /* of it */
	bool ended;							  /* in order */
} Kept;

typedef struct Place
{
	Kept *kept;
	bool used; /* since another one wanted the place */
} Place;

static Place places[PLACE_COUNT];
static uint32_t sighted[SIGHTED_COUNT]; /* numbers, by their remainder */
static Kept *running;					/* the last one started */

/* --- making ------------------------------------------------------------------------- */

/* Rule 1, and that the table is ours: another wrapper's plan may seem to have a number, too. */
static bool
is_simple_scan(const ForeignScan *plan, const PlannedStmt *planned)
{
	Relation relation;
	bool ours;

	if (plan->operation != CMD_SELECT || plan->scan.scanrelid == 0 || plan->fdw_scan_tlist == NIL ||
		plan->scan.plan.qual != NIL || plan->fdw_recheck_quals != NIL || plan->scan.plan.initPlan != NIL ||
		outerPlan(plan) != NULL)
		return false;
	relation = table_open(rt_fetch(plan->scan.scanrelid, planned->rtable)->relid, NoLock);
	ours = GetFdwRoutineForRelation(relation, false)->BeginForeignScan == tsurugiBeginForeignScan;
	table_close(relation, NoLock);
	return ours;
}

static bool
may_be_kept(const PlannedStmt *planned)
{
	ListCell *cell;

	if (planned->commandType != CMD_SELECT || planned->hasModifyingCTE || planned->rowMarks != NIL ||
		planned->subplans != NIL || planned->paramExecTypes != NIL || planned->parallelModeNeeded || IsParallelWorker())
		return false;
	/* Else it may matter that the transaction is read-only (ExecCheckXactReadOnly). */
	foreach (cell, planned->rtable)
		if ((lfirst_node(RangeTblEntry, cell)->requiredPerms & ~ACL_SELECT) != 0)
			return false;
	/* Else a junk filter is needed. */
	foreach (cell, planned->planTree->targetlist)
		if (lfirst_node(TargetEntry, cell)->resjunk)
			return false;
	return is_simple_scan((const ForeignScan *) planned->planTree, planned);
}

/* The scan of a node, without pointers into the plan. */
static void
make_scan(ForeignScanState *node)
{
	tsurugi_scan *scan = tsurugi_scan_make(node);

	for (int i = 0; i < scan->key_value_count; i++)
	{
		tg_assert(scan->key_values[i].state == NULL);
		scan->key_values[i].expr = copyObject(scan->key_values[i].expr);
	}
	node->fdw_state = scan;
	/* Without ExecProcNodeFirst, which is for instruments and for deep trees. */
	node->ss.ps.ExecProcNodeReal = tsurugi_scan_run;
	node->ss.ps.ExecProcNode = tsurugi_scan_run;
}

/* Rule 2. */
static void
forget_execution(Kept *kept)
{
	EState *estate = kept->estate;
	ForeignScanState *node = kept->node;

	estate->es_query_cxt = kept->memory;
	estate->es_plannedstmt = NULL;
	estate->es_range_table = NIL;
	estate->es_relations[kept->relation_index] = NULL;
	estate->es_snapshot = NULL;
	estate->es_param_list_info = NULL;
	estate->es_sourceText = NULL;
	estate->es_queryEnv = NULL;
	node->ss.ps.plan = NULL;
	node->ss.ss_currentRelation = NULL;
	node->ss.ps.ps_ExprContext->ecxt_per_query_memory = kept->memory;
	node->ss.ps.ps_ExprContext->ecxt_param_list_info = NULL;
}

/* A free state for this plan, or NULL.  As InitPlan (execMain.c) makes it. */
static Kept *
make(uint32_t number, PlannedStmt *planned)
{
	MemoryContext caller = CurrentMemoryContext;
	EState *estate;
	ForeignScanState *node;
	Kept *kept = NULL;

	if (!may_be_kept(planned))
		return NULL;
	/* After an error it goes with the caller's memory. */
	estate = CreateExecutorState();
	MemoryContextSwitchTo(estate->es_query_cxt);
	estate->es_plannedstmt = planned;
	ExecInitRangeTable(estate, planned->rtable);
	/* so that our callback makes no scan: it would belong to an execution */
	node = castNode(ForeignScanState, ExecInitNode(planned->planTree, estate, EXEC_FLAG_EXPLAIN_ONLY));
	if (node->ss.ps.ps_ProjInfo == NULL)
	{
		make_scan(node);
		kept = palloc0(sizeof(*kept));
		kept->number = number;
		kept->planned = planned;
		kept->relation = RelationGetRelid(node->ss.ss_currentRelation);
		kept->relation_index = ((ForeignScan *) node->ss.ps.plan)->scan.scanrelid - 1;
		kept->revision = ((tsurugi_scan *) node->fdw_state)->described->revision;
		kept->memory = estate->es_query_cxt;
		kept->estate = estate;
		kept->node = node;
		kept->slot_count = list_length(estate->es_tupleTable);
	}
	ExecCloseRangeTableRelations(estate);
	MemoryContextSwitchTo(caller);
	if (kept == NULL)
	{
		FreeExecutorState(estate);
		return NULL;
	}
	forget_execution(kept);
	MemoryContextSetIdentifier(kept->memory, "kept by tsurugi_fdw");
	MemoryContextSetParent(kept->memory, CacheMemoryContext);
	return kept;
}

static void
discard(Kept *kept)
{
	Place *place = &places[kept->number % PLACE_COUNT];

	if (place->kept == kept)
		place->kept = NULL;
	MemoryContextDelete(kept->memory);
}

/* --- running ---------------------------------------------------------------------------- */

/* Rule 4: however the execution has ended. */
static void
execution_gone(void *argument)
{
	Kept *kept = argument;
	Kept **link = &running;

	while (*link != kept)
		link = &(*link)->outer;
	*link = kept->outer;
	kept->execution = NULL;
	if (!kept->ended)
		discard(kept);
}

static void
begin_execution(Kept *kept, QueryDesc *query, Relation relation, int flags)
{
	EState *estate = kept->estate;
	ForeignScanState *node = kept->node;
	ExprContext *context = node->ss.ps.ps_ExprContext;

	kept->execution = AllocSetContextCreate(CurrentMemoryContext, "tsurugi_fdw execution", ALLOCSET_DEFAULT_SIZES);
	kept->execution_gone.func = execution_gone;
	kept->execution_gone.arg = kept;
	MemoryContextRegisterResetCallback(kept->execution, &kept->execution_gone);
	kept->ended = false;
	kept->outer = running;
	running = kept;

	context->ecxt_param_list_info = query->params;
	tsurugi_scan_expect_leaf(node->fdw_state);

	/* as standard_ExecutorStart and InitPlan */
	estate->es_query_cxt = kept->execution;
	estate->es_direction = ForwardScanDirection;
	estate->es_snapshot = RegisterSnapshot(query->snapshot);
	estate->es_plannedstmt = query->plannedstmt;
	estate->es_range_table = query->plannedstmt->rtable;
	estate->es_relations[kept->relation_index] = relation;
	estate->es_param_list_info = query->params;
	estate->es_sourceText = query->sourceText;
	estate->es_queryEnv = query->queryEnv;
	estate->es_processed = 0;
	estate->es_top_eflags = flags | EXEC_FLAG_SKIP_TRIGGERS;
	estate->es_finished = false;
	estate->es_use_parallel_mode = false;
	estate->es_jit_flags = query->plannedstmt->jitFlags;
	node->ss.ps.plan = query->plannedstmt->planTree;
	node->ss.ss_currentRelation = relation;
	context->ecxt_per_query_memory = kept->execution;
	tsurugi_scan_start(node->fdw_state);

	query->estate = estate;
	query->planstate = &node->ss.ps;
	query->tupDesc = node->ss.ps.ps_ResultTupleDesc;
}

/*
 * Starts a free state; false if it is stale.  An error from begin_execution on
 * leaves it running, until the execution's memory goes.
 */
static bool
start_kept(Kept *kept, QueryDesc *query, int flags)
{
	tsurugi_scan *scan = kept->node->fdw_state;
	const tsurugi_relation *described;
	Relation relation;

	relation = table_open(kept->relation, NoLock);
	described = tsurugi_relation_get(relation);
	if (described != scan->described || described->revision != kept->revision)
	{
		table_close(relation, NoLock);
		return false;
	}
	begin_execution(kept, query, relation, flags);
	tsurugi_scan_expect_row(scan);
	ExecCheckRTPerms(query->plannedstmt->rtable, true);
	tsurugi_scan_expect_cells(scan);
	return true;
}

/* Whether nobody has hung anything on the state that an end would have to take off. */
static bool
is_as_made(const Kept *kept)
{
	const EState *estate = kept->estate;
	const ExprContext *context = kept->node->ss.ps.ps_ExprContext;

	return list_length(estate->es_tupleTable) == kept->slot_count && list_length(estate->es_exprcontexts) == 1 &&
		   estate->es_per_tuple_exprcontext == NULL && estate->es_subplanstates == NIL &&
		   estate->es_auxmodifytables == NIL && estate->es_trig_target_relations == NIL &&
		   estate->es_partition_directory == NULL && estate->es_jit == NULL && context != NULL &&
		   context->ecxt_callbacks == NULL && kept->node->ss.ps.instrument == NULL;
}

static void
end_kept(Kept *kept, QueryDesc *query)
{
	EState *estate = kept->estate;
	ForeignScanState *node = kept->node;

	/* as standard_ExecutorEnd and what it calls */
	tsurugi_scan_detach(node->fdw_state);
	ExecClearTuple(node->ss.ss_ScanTupleSlot);
	table_close(node->ss.ss_currentRelation, NoLock);
	UnregisterSnapshot(estate->es_snapshot);
	if (is_as_made(kept))
	{
		MemoryContext execution = kept->execution;

		MemoryContextReset(node->ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
		forget_execution(kept);
		kept->ended = true;
		MemoryContextDelete(execution);
	}
	else
		FreeExecutorState(estate); /* with the execution's memory goes the rest */
	query->tupDesc = NULL;
	query->estate = NULL;
	query->planstate = NULL;
	query->totaltime = NULL;
}

/* --- the executor's hooks ------------------------------------------------------------------ */

/* Makes a state for a plan that has none yet, if it is due; else NULL. */
static Kept *
take_place(Place *place, uint32_t number, PlannedStmt *planned)
{
	uint32_t *sighting = &sighted[number % SIGHTED_COUNT];

	if (*sighting != number)
	{
		*sighting = number;
		return NULL;
	}
	if (place->kept != NULL)
	{
		bool used = place->used;

		place->used = false;
		if (used || place->kept->execution != NULL)
			return NULL;
		discard(place->kept);
	}
	place->kept = make(number, planned);
	return place->kept;
}

/* The state for a plan with this number, free; NULL if this execution is to go PostgreSQL's way. */
static Kept *
find_free(uint32_t number, PlannedStmt *planned)
{
	Place *place = &places[number % PLACE_COUNT];
	Kept *kept = place->kept;

	if (kept == NULL || kept->number != number || kept->planned != planned)
		return take_place(place, number, planned);
	place->used = true;
	return kept->execution == NULL ? kept : NULL;
}

static bool
start_as_kept(QueryDesc *query, int flags)
{
	uint32_t number = tsurugi_plan_number((ForeignScan *) query->plannedstmt->planTree);
	Kept *kept;

	if (number == 0 || (flags & ~EXEC_FLAG_SKIP_TRIGGERS) != 0 || query->instrument_options != 0 ||
		query->snapshot == InvalidSnapshot || query->crosscheck_snapshot != InvalidSnapshot)
		return false;
	kept = find_free(number, query->plannedstmt);
	if (kept == NULL)
		return false;
	if (start_kept(kept, query, flags))
		return true;
	discard(kept);
	return false;
}

static void
start_query(QueryDesc *query, int flags)
{
	if (!IsA(query->plannedstmt->planTree, ForeignScan) || !start_as_kept(query, flags))
		standard_ExecutorStart(query, flags);
}

static void
end_query(QueryDesc *query)
{
	for (Kept *kept = running; kept != NULL; kept = kept->outer)
	{
		if (kept->estate == query->estate)
		{
			end_kept(kept, query);
			return;
		}
	}
	standard_ExecutorEnd(query);
}

void
tsurugi_prepared_init(void)
{
	if (ExecutorStart_hook != NULL || ExecutorEnd_hook != NULL)
	{
		ereport(LOG, (errmsg("tsurugi_fdw is not the first library that hooks into the executor"),
					  errdetail("Prepared statements that look up one row are slower."),
					  errhint("Write tsurugi_fdw first in shared_preload_libraries.")));
		return;
	}
	ExecutorStart_hook = start_query;
	ExecutorEnd_hook = end_query;
}
