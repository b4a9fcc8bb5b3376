/*
 * prepared.c
 *	  Look-ups and modifications by key that are executed repeatedly keep their executor state.
 *
 * For a point query most of the executor's time is spent on making its state and tearing it down:
 * memory contexts, a range table, two tuple descriptors, a slot, and this wrapper's scan.  All of
 * it follows from the plan alone.  So it is made once and kept, and an execution only fills in its
 * own parts: snapshot, parameters, opened relation.  The state is a genuine one, made by
 * ExecInitNode.  So between start and end all other code finds what it expects: ExecutorRun for any
 * receiver, ExecutorFinish, portals, EXPLAIN of a running query by other libraries.  Only rows for
 * the extended protocol's Execute are sent without a receiver (data_row.c).
 *
 *	            second sighting of the number
 *	(nothing) ────────────────────────────────▶ free ──start──▶ running
 *	    ▲                                        │ ▲               │ │
 *	    └── stale, or place taken by another ────┘ └──── end ──────┘ │
 *	    └────── the caller's memory goes without an end (error) ─────┘
 *
 * A plan is known by a number that GetForeignPlan has written into it and by the address of the
 * statement.  Each alone could be used again; both together mean the same plan, still alive.  A
 * number has one place, by its remainder, and gets it at its second sighting, so that plans for one
 * execution leave nothing behind.  The state that occupies the place gives way if it has not been
 * used since the last plan that wanted its place.
 *
 * 1.  Look-ups are kept only if they have no expressions: only constants and parameters are
 *	  compared with the key, and there is no condition and no projection.  So there is no function
 *	  whose definition, privileges or remembered values could be out of date.  For modifications see
 *	  prepared_modify.c.
 * 2.  A free state has no pointers to objects that live for a shorter time: neither to the plan nor
 *	  to a snapshot or parameters.
 * 3.  The parts made from the catalogs belong to one revision of the relation's description; any
 *	  invalidation of the relation makes another revision.  This also holds for the relation's
 *	  descriptor, which is pinned for each execution: DROP and ALTER find it in use as always.
 *	  Privileges are checked at each start.  A check that allowed a role is remembered until a row
 *	  changes that could affect it (pg_class, pg_attribute, pg_authid, pg_auth_members, pg_database;
 *	  pg_proc, for functions that are called).  PostgreSQL's caches, which a check would use, are
 *	  notified at the same moment.
 * 4.  es_query_cxt belongs to the state.  Other code allocates in it, and it is emptied at the end.
 *	  An execution that is not ended, because of an error, ends with its caller's memory, from which
 *	  PostgreSQL would have allocated es_query_cxt; there is no other way to be notified of all
 *	  errors.  The state is freed with it.  The snapshot is not registered once more: the query's
 *	  descriptor has done that, and outlives the execution.
 * 5.  Everything else that is unusual is executed in PostgreSQL's way: EXPLAIN, instruments,
 *	  scrollable cursors, a state that is running already (a cursor left open, recursion), parallel
 *	  workers.
 *
 * The remaining time of a point query is spent waiting for memory.  If the arena has no huge pages,
 * more of it goes into the translation of addresses than into the data: a line of the page table,
 * and one of the hypervisor's, come from memory first.  A prefetch, too, occupies the processor
 * until its address is translated.  So the start prefetches the leaf, the row's head, its chunk and
 * its cells as early as each is known; those that do not depend on each other are prefetched at
 * once.  Snapshot, privileges, portal and protocol are processed while the lines arrive.
 */
#include "postgres.h"

#include "src/exec/prepared.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "parser/parsetree.h"
#include "tcop/pquery.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/portal.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "src/exec/data_row.h"
#include "src/exec/fdw.h"
#include "src/exec/prepared_modify.h"
#include "src/exec/scan.h"
#include "src/table/relation.h"
#include "src/txn/snapshot.h"

#define PLACE_COUNT 64	  /* a state takes 16 kB */
#define SIGHTED_COUNT 512 /* plannings between a statement's first two executions */

/* An executor state, in a memory context of its own. */
typedef struct Kept
{
	uint32_t number;
	const PlannedStmt *planned; /* only compared */
	uint64_t revision;
	Oid oid;
	const tsurugi_relation *described; /* the revision that the state was made from */
	Relation relation;				   /* of this revision, too */
	Index relation_index;			   /* in the range table, from 0 */
	MemoryContext memory;			   /* contains all of this */
	MemoryContext execution;		   /* es_query_cxt */
	EState *estate;
	ForeignScanState *node;	  /* NULL: INSERT */
	ModifyTableState *modify; /* NULL: a look-up */
	ExprContext *per_tuple;	  /* es_per_tuple_exprcontext, of a modification */
	List *functions;		  /* the functions that it calls */
	tsurugi_run_record *record;
	tsurugi_data_row *row; /* NULL: rows are sent by the receiver */
	int slot_count;		   /* when the state was made */
	int context_count;	   /* when the state was made */
	bool one_row;		   /* the scan finds at most one row */

	/* the role that was allowed to run it, at this age of privileges; 0: none */
	Oid allowed;
	uint64_t allowed_age;

	/* While it runs.  After an error, the execution ends with the memory of the caller. */
	MemoryContext caller;				  /* NULL: free */
	MemoryContextCallback execution_gone; /* called when the caller's memory ends */
	struct Kept *outer;					  /* the state that was started before */
} Kept;

typedef struct Sighting
{
	uint32_t number;
	bool refused; /* the plan is not to be kept */
} Sighting;

typedef struct Place
{
	Kept *kept;
	bool used; /* since another plan wanted the place */
} Place;

static Place places[PLACE_COUNT];
static Sighting sighted[SIGHTED_COUNT]; /* by the remainder of the number */
static Kept *running;					/* the last state started */
static uint64_t privileges_age = 1;		/* grows when privileges may have changed */

/* --- making ------------------------------------------------------------------------- */

/*
 * Checks rule 1, and that the table belongs to this wrapper: another wrapper's plan may seem to
 * have a number, too.
 */
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
may_be_kept(const PlannedStmt *planned, List **functions_out)
{
	ListCell *cell;

	if (IsParallelWorker())
		return false;
	if (IsA(planned->planTree, ModifyTable))
		return tsurugi_modify_may_be_kept(planned, functions_out);
	*functions_out = NIL;
	if (planned->commandType != CMD_SELECT || planned->hasModifyingCTE || planned->rowMarks != NIL ||
		planned->subplans != NIL || planned->paramExecTypes != NIL || planned->parallelModeNeeded)
		return false;
	/* Otherwise a read-only transaction might be refused (ExecCheckXactReadOnly). */
	foreach (cell, planned->rtable)
		if ((lfirst_node(RangeTblEntry, cell)->requiredPerms & ~ACL_SELECT) != 0)
			return false;
	/* Otherwise a junk filter is needed. */
	foreach (cell, planned->planTree->targetlist)
		if (lfirst_node(TargetEntry, cell)->resjunk)
			return false;
	return is_simple_scan((const ForeignScan *) planned->planTree, planned);
}

/* Makes the scan of a node, without pointers into the plan. */
static void
make_scan(ForeignScanState *node)
{
	tsurugi_scan *scan = tsurugi_scan_make(node);

	tsurugi_scan_outlive(scan);
	node->fdw_state = scan;
	/* Omits ExecProcNodeFirst, which is for instruments and for deep trees. */
	node->ss.ps.ExecProcNodeReal = tsurugi_scan_run;
	node->ss.ps.ExecProcNode = tsurugi_scan_run;
}

static void
set_parameters(const Kept *kept, ParamListInfo parameters)
{
	ListCell *cell;

	foreach (cell, kept->estate->es_exprcontexts)
		((ExprContext *) lfirst(cell))->ecxt_param_list_info = parameters;
}

/* Rule 2.  The nodes of a modification have a plan of their own. */
static void
forget_execution(Kept *kept)
{
	EState *estate = kept->estate;

	estate->es_plannedstmt = NULL;
	estate->es_range_table = NIL;
	estate->es_relations[kept->relation_index] = NULL;
	estate->es_snapshot = NULL;
	estate->es_param_list_info = NULL;
	estate->es_sourceText = NULL;
	estate->es_queryEnv = NULL;
	set_parameters(kept, NULL);
	if (kept->modify == NULL)
	{
		kept->node->ss.ps.plan = NULL;
		kept->node->ss.ss_currentRelation = NULL;
	}
}

/* Makes the nodes of a look-up; false: they cannot be used. */
static bool
make_look_up(Kept *kept, EState *estate, PlannedStmt *planned)
{
	ForeignScanState *node =
		castNode(ForeignScanState, ExecInitNode(planned->planTree, estate, EXEC_FLAG_EXPLAIN_ONLY));
	const ForeignScan *plan = (const ForeignScan *) node->ss.ps.plan;
	const tsurugi_shape *shape = &tsurugi_scan_plan_of(plan)->access->shape;

	if (node->ss.ps.ps_ProjInfo != NULL)
		return false;
	make_scan(node);
	kept->node = node;
	kept->relation = node->ss.ss_currentRelation;
	kept->relation_index = plan->scan.scanrelid - 1;
	kept->row = tsurugi_data_row_make(node->ss.ps.ps_ResultTupleDesc);
	kept->one_row = shape->way == TSURUGI_WAY_KEY && shape->arrays == 0;
	return true;
}

/* Makes the nodes of a modification; false: they cannot be used. */
static bool
make_modification(Kept *kept, EState *estate, PlannedStmt *planned)
{
	ModifyTable *plan = copyObject((ModifyTable *) planned->planTree);
	int parameters = list_length(planned->paramExecTypes); /* for EvalPlanQual; unused */

	estate->es_param_exec_vals = parameters == 0 ? NULL : palloc0(parameters * sizeof(ParamExecData));
	kept->modify = castNode(ModifyTableState, ExecInitNode((Plan *) plan, estate, EXEC_FLAG_EXPLAIN_ONLY));
	kept->node = tsurugi_modify_node(kept->modify);
	kept->relation = kept->modify->resultRelInfo->ri_RelationDesc;
	kept->relation_index = kept->modify->resultRelInfo->ri_RangeTableIndex - 1;
	kept->per_tuple = MakePerTupleExprContext(estate);
	return tsurugi_modify_make(kept->modify);
}

/* Makes a free state for this plan, like InitPlan (execMain.c); or returns NULL. */
static Kept *
make(uint32_t number, PlannedStmt *planned)
{
	MemoryContext caller = CurrentMemoryContext;
	List *functions;
	EState *estate;
	Kept *kept;
	ListCell *cell;
	bool made;

	if (!may_be_kept(planned, &functions))
		return NULL;
	/* After an error it is freed with the caller's memory. */
	estate = CreateExecutorState();
	MemoryContextSwitchTo(estate->es_query_cxt);
	estate->es_plannedstmt = planned;
	ExecInitRangeTable(estate, planned->rtable);
	kept = palloc0(sizeof(*kept));
	/* so that the wrapper's callbacks make nothing: it would belong to an execution */
	made = IsA(planned->planTree, ModifyTable) ? make_modification(kept, estate, planned)
											   : make_look_up(kept, estate, planned);
	if (made)
	{
		kept->number = number;
		kept->planned = planned;
		kept->functions = list_copy(functions);
		kept->oid = RelationGetRelid(kept->relation);
		kept->described = tsurugi_relation_get(kept->relation);
		kept->revision = kept->described->revision;
		kept->memory = estate->es_query_cxt;
		kept->execution = AllocSetContextCreate(kept->memory, "tsurugi_fdw execution", ALLOCSET_SMALL_SIZES);
		kept->estate = estate;
		kept->record = tsurugi_snapshot_record_make();
		kept->slot_count = list_length(estate->es_tupleTable);
		kept->context_count = list_length(estate->es_exprcontexts);
	}
	ExecCloseRangeTableRelations(estate);
	MemoryContextSwitchTo(caller);
	if (!made)
	{
		FreeExecutorState(estate);
		return NULL;
	}
	forget_execution(kept);
	estate->es_query_cxt = kept->execution;
	foreach (cell, estate->es_exprcontexts)
		((ExprContext *) lfirst(cell))->ecxt_per_query_memory = kept->execution;
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

static void
stop_running(Kept *kept)
{
	Kept **link = &running;

	while (*link != kept)
		link = &(*link)->outer;
	*link = kept->outer;
	kept->caller = NULL;
	MemoryContextSetIdentifier(kept->execution, NULL);
	tsurugi_snapshot_record_end(kept->record);
}

/* Rule 4: the caller's memory is freed. */
static void
execution_gone(void *argument)
{
	Kept *kept = argument;

	stop_running(kept);
	discard(kept);
}

static void
start_running(Kept *kept)
{
	kept->caller = CurrentMemoryContext;
	kept->execution_gone.func = execution_gone;
	kept->execution_gone.arg = kept;
	MemoryContextRegisterResetCallback(kept->caller, &kept->execution_gone);
	MemoryContextSetIdentifier(kept->execution, "running");
	kept->outer = running;
	running = kept;
}

/* Like MemoryContextUnregisterResetCallback of later versions of PostgreSQL. */
static void
forget_caller(Kept *kept)
{
	MemoryContextCallback **link = &kept->caller->reset_cbs;

	while (*link != &kept->execution_gone)
		link = &(*link)->next;
	*link = (*link)->next;
}

/* The scan of a state; NULL: INSERT. */
static inline tsurugi_scan *
scan_of(const Kept *kept)
{
	return kept->modify == NULL ? kept->node->fdw_state : tsurugi_modify_scan(kept->modify);
}

static void
begin_execution(Kept *kept, QueryDesc *query, int flags)
{
	EState *estate = kept->estate;
	ForeignScanState *node = kept->node;

	start_running(kept);
	set_parameters(kept, query->params);
	if (likely(node != NULL))
		tsurugi_scan_expect(scan_of(kept), TSURUGI_EXPECT_LEAF);

	/* like standard_ExecutorStart and InitPlan */
	estate->es_direction = ForwardScanDirection;
	estate->es_snapshot = query->snapshot;
	estate->es_plannedstmt = query->plannedstmt;
	estate->es_range_table = query->plannedstmt->rtable;
	estate->es_relations[kept->relation_index] = kept->relation;
	estate->es_param_list_info = query->params;
	estate->es_sourceText = query->sourceText;
	estate->es_queryEnv = query->queryEnv;
	estate->es_processed = 0;
	estate->es_top_eflags = flags | EXEC_FLAG_SKIP_TRIGGERS;
	estate->es_finished = false;
	estate->es_use_parallel_mode = false;
	estate->es_jit_flags = query->plannedstmt->jitFlags;
	if (kept->modify != NULL)
	{
		estate->es_output_cid = GetCurrentCommandId(true);
		tsurugi_modify_begin(kept->modify);
	}
	else
	{
		node->ss.ps.plan = query->plannedstmt->planTree;
		node->ss.ss_currentRelation = kept->relation;
		node->ss.ps.ExecProcNode =
			unlikely(tsurugi_scan_retries(scan_of(kept))) ? tsurugi_scan_run_retrying : tsurugi_scan_run;
	}
	if (likely(node != NULL))
	{
		tsurugi_snapshot_record_begin(kept->record, estate);
		tsurugi_scan_start(scan_of(kept));
	}

	query->estate = estate;
	query->planstate = kept->modify != NULL ? &kept->modify->ps : &node->ss.ps;
	query->tupDesc = query->planstate->ps_ResultTupleDesc;
}

/* Opens the relation; false if it has changed. */
static bool
open_relation(Kept *kept)
{
	Relation relation;
	const tsurugi_relation *described;

	if (likely(tsurugi_relation_is_as_described(kept->oid, kept->described, kept->revision)))
	{
		RelationIncrementReferenceCount(kept->relation);
		return true;
	}
	relation = table_open(kept->oid, NoLock);
	described = tsurugi_relation_get(relation);
	if (relation == kept->relation && described == kept->described && described->revision == kept->revision)
		return true;
	table_close(relation, NoLock);
	return false;
}

/* Rule 3. */
static void
check_privileges(Kept *kept, const QueryDesc *query)
{
	uint64_t age = privileges_age;
	ListCell *cell;

	if (likely(kept->allowed == GetUserId() && kept->allowed_age == age && ExecutorCheckPerms_hook == NULL))
		return;
	ExecCheckRTPerms(query->plannedstmt->rtable, true);
	foreach (cell, kept->functions)
	{
		AclResult result = pg_proc_aclcheck(lfirst_oid(cell), GetUserId(), ACL_EXECUTE);

		if (result != ACLCHECK_OK)
			aclcheck_error(result, OBJECT_FUNCTION, get_func_name(lfirst_oid(cell)));
	}
	kept->allowed = GetUserId();
	kept->allowed_age = age;
}

/*
 * Starts a free state; false if it is stale.  An error in begin_execution or later leaves it
 * running until the caller's memory is freed.
 */
static bool
start_kept(Kept *kept, QueryDesc *query, int flags)
{
	tsurugi_scan *scan = scan_of(kept);

	if (!open_relation(kept))
		return false;
	begin_execution(kept, query, flags);
	if (likely(scan != NULL))
		tsurugi_scan_expect(scan, TSURUGI_EXPECT_ROW);
	check_privileges(kept, query);
	if (likely(scan != NULL))
		tsurugi_scan_expect(scan, TSURUGI_EXPECT_CELLS);
	return true;
}

/* Does the work of ExecutePlan (execMain.c) and of the receiver; returns the number of rows. */
static uint64
send_rows(Kept *kept, uint64 count, const int16 *formats)
{
	PlanState *node = &kept->node->ss.ps;
	uint64 sent = 0;

	MemoryContextSwitchTo(node->ps_ExprContext->ecxt_per_tuple_memory);
	while (count == 0 || sent < count)
	{
		TupleTableSlot *slot = tsurugi_scan_run(node);

		if (TupIsNull(slot))
			break;
		tsurugi_data_row_send(kept->row, slot, formats);
		sent++;
		if (kept->one_row)
			break;
		MemoryContextReset(node->ps_ExprContext->ecxt_per_tuple_memory);
	}
	return sent;
}

/*
 * Runs it without its receiver, whose state costs more than one row; false if the receiver is
 * needed.
 */
static bool
run_kept(Kept *kept, QueryDesc *query, ScanDirection direction, uint64 count)
{
	const PlanState *node;
	MemoryContext caller = CurrentMemoryContext;

	if (kept->row == NULL)
		return false;
	node = &kept->node->ss.ps;
	if (direction != ForwardScanDirection || node->instrument != NULL || node->ExecProcNode != tsurugi_scan_run ||
		ActivePortal == NULL || ActivePortal->queryDesc != query || ActivePortal->formats == NULL ||
		!tsurugi_data_row_serves(kept->row, query->dest, ActivePortal->formats))
		return false;
	if (query->totaltime != NULL)
		InstrStartNode(query->totaltime);
	kept->estate->es_direction = direction;
	kept->estate->es_processed = send_rows(kept, count, ActivePortal->formats);
	MemoryContextSwitchTo(caller);
	if (query->totaltime != NULL)
		InstrStopNode(query->totaltime, kept->estate->es_processed);
	return true;
}

/* Whether no code has attached anything to the state that its end would have to remove. */
static bool
is_as_made(const Kept *kept)
{
	const EState *estate = kept->estate;
	ListCell *cell;

	foreach (cell, estate->es_exprcontexts)
		if (((ExprContext *) lfirst(cell))->ecxt_callbacks != NULL)
			return false;
	return list_length(estate->es_tupleTable) == kept->slot_count &&
		   list_length(estate->es_exprcontexts) == kept->context_count &&
		   estate->es_per_tuple_exprcontext == kept->per_tuple && estate->es_subplanstates == NIL &&
		   estate->es_auxmodifytables == NIL && estate->es_trig_target_relations == NIL &&
		   estate->es_partition_directory == NULL && estate->es_jit == NULL &&
		   (kept->modify != NULL ? tsurugi_modify_is_as_made(kept->modify) : kept->node->ss.ps.instrument == NULL);
}

/* Does the work of the ends of its nodes. */
static void
end_nodes(Kept *kept)
{
	ListCell *cell;

	if (kept->modify != NULL)
		tsurugi_modify_rest(kept->modify);
	else
		tsurugi_scan_end(kept->node->fdw_state);
	foreach (cell, kept->estate->es_tupleTable)
		ExecClearTuple(lfirst(cell));
}

static void
end_kept(Kept *kept, QueryDesc *query)
{
	EState *estate = kept->estate;

	/* like standard_ExecutorEnd and the functions that it calls */
	end_nodes(kept);
	RelationClose(kept->relation);
	forget_caller(kept);
	stop_running(kept);
	if (is_as_made(kept))
	{
		ListCell *cell;

		foreach (cell, estate->es_exprcontexts)
			MemoryContextReset(((ExprContext *) lfirst(cell))->ecxt_per_tuple_memory);
		MemoryContextReset(kept->execution);
		if (kept->row != NULL)
			tsurugi_data_row_rest(kept->row);
		forget_execution(kept);
	}
	else
	{
		FreeExecutorState(estate);
		discard(kept);
	}
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
	Sighting *sighting = &sighted[number % SIGHTED_COUNT];

	if (sighting->number != number)
	{
		*sighting = (Sighting){.number = number};
		return NULL;
	}
	if (sighting->refused)
		return NULL;
	if (place->kept != NULL)
	{
		bool used = place->used;

		place->used = false;
		if (used || place->kept->caller != NULL)
			return NULL;
		discard(place->kept);
	}
	place->kept = make(number, planned);
	sighting->refused = place->kept == NULL;
	return place->kept;
}

/* The free state for a plan with this number; NULL if PostgreSQL must run this execution. */
static Kept *
find_free(uint32_t number, PlannedStmt *planned)
{
	Place *place = &places[number % PLACE_COUNT];
	Kept *kept = place->kept;

	if (kept == NULL || kept->number != number || kept->planned != planned)
		return take_place(place, number, planned);
	place->used = true;
	return kept->caller == NULL ? kept : NULL;
}

/* The number of a plan whose state may be kept; else 0. */
static inline uint32_t
number_of(const PlannedStmt *planned)
{
	if (IsA(planned->planTree, ForeignScan))
		return tsurugi_plan_number((ForeignScan *) planned->planTree);
	if (IsA(planned->planTree, ModifyTable) && !XactReadOnly && !IsInParallelMode())
		return tsurugi_modify_number((ModifyTable *) planned->planTree);
	return 0;
}

static bool
start_as_kept(QueryDesc *query, int flags)
{
	uint32_t number = number_of(query->plannedstmt);
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
	if (!start_as_kept(query, flags))
		standard_ExecutorStart(query, flags);
}

/* The running state of a query; NULL: PostgreSQL has started it. */
static inline Kept *
find_running(const QueryDesc *query)
{
	Kept *kept = running;

	while (kept != NULL && kept->estate != query->estate)
		kept = kept->outer;
	return kept;
}

static void
run_query(QueryDesc *query, ScanDirection direction, uint64 count, bool once)
{
	Kept *kept = find_running(query);

	if (kept == NULL || !run_kept(kept, query, direction, count))
		standard_ExecutorRun(query, direction, count, once);
}

static void
end_query(QueryDesc *query)
{
	Kept *kept = find_running(query);

	if (kept != NULL)
		end_kept(kept, query);
	else
		standard_ExecutorEnd(query);
}

static void
privileges_changed(Datum argument, int cache, uint32 hash)
{
	privileges_age++;
}

void
tsurugi_prepared_init(void)
{
	static const int caches[] = {RELOID, ATTNUM, AUTHOID, AUTHMEMROLEMEM, DATABASEOID, PROCOID};

	if (ExecutorStart_hook != NULL || ExecutorRun_hook != NULL || ExecutorEnd_hook != NULL)
	{
		ereport(LOG, (errmsg("tsurugi_fdw is not the first library that hooks into the executor"),
					  errdetail("Prepared statements that look up or change one row are slower."),
					  errhint("Write tsurugi_fdw first in shared_preload_libraries.")));
		return;
	}
	ExecutorStart_hook = start_query;
	ExecutorRun_hook = run_query;
	ExecutorEnd_hook = end_query;
	for (int i = 0; i < lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], privileges_changed, (Datum) 0);
}
