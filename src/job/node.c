/*
 * node.c
 *	  The executor's node: starts the job when its first row is asked for, and hands out its groups,
 *	  or its rows.  A job that stores rows is an INSERT: it is run as a whole, and has no rows.
 *
 *	            first row           ended well, or there are rows
 *	 begun ────────────────> runs ────────────> groups, rows, nothing
 *	                          │
 *	                          └────────────────> fallback: a plan of PostgreSQL's, begun now
 *	         it cannot be computed, or not with its memory
 *
 * A job that is expected to read few rows runs in place, here, and so does any other one while the
 * pool does not run, or where the settings want it so.  Between its turns the session looks at
 * interrupts.  What turns out to be longer than expected, or to need more memory, is begun anew in
 * the pool.
 *
 * While it waits for the query, or runs it, the node also offers it rows of its feeds (feeder.c).
 *
 * Rows that are handed out go into a slot, one by one, or to a taker, batch by batch; those of the
 * fallback always into a slot.
 *
 * 1. Nothing has been handed out when the fallback begins, or when the job is begun anew.  The
 *    fallback raises the error if there is one.
 * 2. A job may read what its own transaction has written.  So a rollback ends it before anything is
 *    undone (participants.c): also one to a savepoint, if the statement has begun behind that.  A
 *    cursor of before the savepoint does not see what was written behind it, and stays.
 * 3. What a job has stored becomes the transaction's when the job has ended well.  In every other
 *    case the end of the query undoes it: before the fallback, which inserts the rows once more and
 *    row by row, so it waits, and raises errors, as any INSERT does; or before a rollback.
 */
#include "postgres.h"

#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/status.h"
#include "runtime/order/kind.h"
#include "runtime/order/value.h"
#include "runtime/exec/vectors.h"
#include "runtime/txn/writer.h"
#include "runtime/query/plan.h"
#include "runtime/query/query.h"
#include "runtime/query/total.h"
#include "src/job/job.h"

#include "access/xact.h"
#include "executor/executor.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#include "src/base/session.h"
#include "src/base/settings.h"
#include "src/base/status_error.h"
#include "src/value/codec.h"
#include "src/value/datum.h"
#include "src/job/code.h"
#include "src/job/explain.h"
#include "src/job/feeder.h"
#include "src/job/having.h"
#include "src/job/init_plans.h"
#include "src/job/kept.h"
#include "src/job/result.h"
#include "src/job/tables.h"
#include "src/job/temporary.h"
#include "src/txn/participants.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"
#include "src/txn/writer.h"

#define BATCHES_IN_TURN 16 /* in place, between two looks at interrupts */
#define TURNS_IN_PLACE 4   /* of what was expected to be short: then it goes to the pool */

struct tsurugi_job_state
{
	CustomScanState custom;
	int eflags;
	SubTransactionId part; /* in which the statement began */
	tsurugi_job *job;
	tsurugi_job_kept *kept; /* that it is of, until the node is closed; or NULL */
	MemoryContext memory;	/* of one execution of the job */
	List *indexes;			/* that are open from the begin to the end */

	tg_session *session;
	tg_query *query; /* or NULL */
	bool in_place;	 /* which the node runs by itself */
	tg_snapshot snapshot;
	bool listed; /* among the open nodes */
	dlist_node open;
	MemoryContextCallback end;

	bool started;
	PlanState *fallback;		/* NULL until it has been needed */
	tsurugi_job_feeder *feeder; /* or NULL */
	const tsurugi_job_column *columns;
	int column_count;
	tsurugi_job_having *having; /* NULL until there is a group */
	tg_value *keys;
	bool *key_nulls;
	tg_total *totals;
	uint64 copies; /* more of the group in hand */
	tsurugi_job_report report;
	/* if rows are handed out: */
	const tsurugi_codec *codecs;
	char *scratch;
	const tg_vectors *rows; /* in hand, NULL: there are no more, */
	unsigned row;			/* and the next of them */
	/* if rows are given as they are stored (taker.h): to whom, which of them, and how */
	const tsurugi_taker *taker; /* NULL: they are not */
	const int *given;
	tsurugi_taken *taken;
};

static bool
delivers(const tsurugi_job_state *state)
{
	return tsurugi_job_hands_out_rows(state->job);
}

/* A fallback of joins hands out columns, as the job does; others compute the target list. */
static bool
projects_fallback(const tsurugi_job_state *state)
{
	return tsurugi_job_last(state->job)->sink == TG_DELIVER;
}

static tsurugi_job_state *
state_of(CustomScanState *node)
{
	return (tsurugi_job_state *) node;
}

/* --- ends ----------------------------------------------------------------------------- */

/* This process's nodes from their begin on, also those that have no query. */
static dlist_head open_nodes = DLIST_STATIC_INIT(open_nodes);

static void
end_query(tsurugi_job_state *state)
{
	if (state->query == NULL)
		return;
	tg_query_stop(state->session, state->query);
	tsurugi_job_report_files(state->query);
	tg_query_end(state->session, state->query);
	state->query = NULL;
	state->rows = NULL;
}

/* Of all of the session's jobs. */
static uint64
count_spilled(void)
{
	uint64 bytes = 0;
	dlist_iter at;

	dlist_foreach (at, &open_nodes)
	{
		const tsurugi_job_state *state = dlist_container(tsurugi_job_state, open, at.cur);

		if (state->query != NULL)
			bytes += tg_query_spilled(state->query);
	}
	return bytes;
}

static void
close_node(tsurugi_job_state *state)
{
	end_query(state);
	if (state->listed)
		dlist_delete(&state->open);
	state->listed = false;
	if (state->kept != NULL)
		tsurugi_job_kept_give_back(state->kept);
	state->kept = NULL;
}

static void
memory_gone(void *state)
{
	close_node(state);
}

static void
end_all(bool committed)
{
	while (!committed && !dlist_is_empty(&open_nodes))
		close_node(dlist_head_element(tsurugi_job_state, open, &open_nodes));
}

static void
end_part(SubTransactionId id, SubTransactionId parent, bool committed)
{
	dlist_mutable_iter at;

	dlist_foreach_modify (at, &open_nodes)
	{
		tsurugi_job_state *state = dlist_container(tsurugi_job_state, open, at.cur);

		if (state->part != id)
			continue;
		if (committed)
			state->part = parent;
		else
			close_node(state);
	}
}

static bool
is_any_open(void)
{
	return !dlist_is_empty(&open_nodes);
}

/* --- start ---------------------------------------------------------------------------- */

/* Describes the tables and translates the job, or finds that done.  NULL: that cannot be. */
static const tsurugi_job_code *
translate(tsurugi_job_state *state)
{
	const tsurugi_job_code *code = state->kept != NULL ? tsurugi_job_kept_code(state->kept) : NULL;
	MemoryContext before;

	if (code != NULL)
		return code;
	before = MemoryContextSwitchTo(state->kept != NULL ? tsurugi_job_kept_memory(state->kept) : CurrentMemoryContext);
	tsurugi_job_describe_tables(state->job, state->custom.ss.ps.state);
	if (state->kept != NULL)
		code = tsurugi_job_kept_translate(state->kept);
	MemoryContextSwitchTo(before);
	return code != NULL ? code : tsurugi_job_translate(state->job, &state->custom.ss.ps);
}

static bool
is_interrupted(void)
{
	return InterruptPending && INTERRUPTS_CAN_BE_PROCESSED();
}

static tg_status
create_query(tsurugi_job_state *state, bool may_spill)
{
	tg_query_config config = {.snapshot = state->snapshot,
							  .tasks = (unsigned) tsurugi_job_tasks,
							  .in_place = state->in_place,
							  .is_interrupted = is_interrupted,
							  .waiter = MyLatch,
							  .owner = MyProcPid,
							  .object = tsurugi_job_first_table(state->job)->described->oid,
							  .memory_max = (uint64_t) tsurugi_job_memory_kb * 1024,
							  .spill = may_spill ? tsurugi_job_temporary_files(count_spilled()) : NULL};
	tg_status status = TG_OK;
	tg_writer writer;

	tg_assert(state->query == NULL && state->listed);
	if (tsurugi_job_stores(state->job))
	{
		config.writer = &writer;
		if (!tsurugi_lend(state->custom.ss.ps.state, state->job->into->described->table, &writer))
			status = TG_FORBIDDEN; /* the session has to store rows by itself */
	}
	if (status == TG_OK)
		status = tg_query_create(state->session, &config, &state->query);
	if (status != TG_OK)
		state->query = NULL;
	return status;
}

/* The next rows; TG_NOT_FOUND: there are no more. */
static tg_status
take_rows(tsurugi_job_state *state)
{
	state->rows = NULL;
	state->row = 0;
	return tg_query_rows(state->session, state->query, &state->rows);
}

/*
 * Waits until the query has ended, or there are rows, or in place runs it until then; can be
 * interrupted.  TG_AGAIN: it has run in place for so many turns; 0: there is no bound.
 */
static tg_status
wait_for_result(tsurugi_job_state *state, int turns)
{
	unsigned offers = 0;
	int turn = 0;

	for (;;)
	{
		tg_status status = delivers(state) ? take_rows(state) : tg_query_poll(state->query);

		if (status != TG_BUSY)
			return status;
		if (tsurugi_job_feeder_offer(state->feeder, state->session, state->query, &status))
		{
			if (status != TG_OK)
				return status;
			tsurugi_snapshot_check();
			/* what has come back for rows is a turn once in so many batches */
			if (offers++ % BATCHES_IN_TURN != 0)
				turn--;
			continue;
		}
		if (state->in_place)
		{
			status = tg_query_run(state->session, state->query, BATCHES_IN_TURN);
			turn++;
		}
		else
		{
			(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
			ResetLatch(MyLatch);
		}
		CHECK_FOR_INTERRUPTS();
		tsurugi_snapshot_check();
		if (state->in_place && status == TG_AGAIN && turn == turns)
			return TG_AGAIN;
	}
}

static tg_status
run_query(tsurugi_job_state *state, const tsurugi_job_code *code, bool in_place, int turns)
{
	tsurugi_query_memory memory = {.session = state->session};
	tg_plan *plan;
	tg_status status;

	state->in_place = in_place;
	/* what is to be short does without files: it takes longer to find out where they would lie */
	status = create_query(state, !in_place || turns == 0 || tg_failpoint_refuses("query_rows"));
	if (status != TG_OK)
		return status;
	memory.query = state->query;
	plan = tsurugi_query_take(&memory, sizeof(tg_plan));
	if (plan == NULL || !tsurugi_job_finish(code, &memory, plan))
		return TG_NO_MEMORY;
	tsurugi_job_feeder_start(state->feeder, code);
	status = tg_query_start(state->session, state->query, plan);
	return status == TG_OK ? wait_for_result(state, turns) : status;
}

/* The number of rows that are read, or as many as are expected to be. */
static uint64_t
count_rows(const tsurugi_job_state *state)
{
	double fed = tsurugi_job_feeder_rows(state->feeder);

	return tsurugi_job_table_rows(state->job) + (uint64_t) Min(fed, (double) UINT32_MAX);
}

/* In place or in the pool, or the one after the other. */
static tg_status
run_where_it_fits(tsurugi_job_state *state, const tsurugi_job_code *code, uint64_t rows)
{
	int turns;
	bool in_place;
	tg_status status;

	tsurugi_job_begin_reads(state->job, &state->custom.ss.ps, state->session, &state->snapshot);
	tsurugi_settings_follow();
	in_place = tg_query_runs_in_place(rows);
	turns = tg_query_runs_in_place(UINT64_MAX) ? 0 : TURNS_IN_PLACE;
	status = run_query(state, code, in_place, turns);
	if (in_place ? status != TG_AGAIN && (turns == 0 || status != TG_NO_MEMORY) : status != TG_STOPPED)
		return status;
	end_query(state);
	return run_query(state, code, !in_place, 0);
}

static void
make_room_for_rows(tsurugi_job_state *state, const tsurugi_job_code *code)
{
	state->codecs = tsurugi_job_codecs(code);
	state->scratch = palloc(list_length(tsurugi_job_result(state->job)->keys) * TSURUGI_SCRATCH_BYTES + 1);
	if (state->taker == NULL)
		return;
	state->taken = palloc(state->taker->column_count * sizeof(tsurugi_taken));
	for (int i = 0; i < state->taker->column_count; i++)
		state->taken[i] = (tsurugi_taken){.vector = state->given[i], .codec = &state->codecs[state->given[i]]};
}

static void
make_room_for_groups(tsurugi_job_state *state, const tsurugi_job_code *code)
{
	int keys = list_length(tsurugi_job_result(state->job)->keys);

	state->copies = 0;
	state->columns = tsurugi_job_columns(code);
	state->column_count = tsurugi_job_column_count(tsurugi_job_result(state->job));
	state->keys = palloc0((keys + 1) * sizeof(tg_value) + sizeof(tg_value));
	state->keys = (tg_value *) TYPEALIGN(sizeof(tg_value), state->keys);
	state->key_nulls = palloc0((keys + 1) * sizeof(bool));
	state->totals = palloc0((tsurugi_job_total_count(code) + 2) * sizeof(tg_total));
	state->totals = (tg_total *) TYPEALIGN(_Alignof(tg_total), state->totals);
}

static void
note_report(tsurugi_job_state *state)
{
	int count = list_length(state->job->steps);
	tg_step_report *steps = palloc(count * sizeof(tg_step_report));

	for (int i = 0; i < count; i++)
		steps[i] = tg_query_step_report(state->query, (unsigned) i);
	state->report.ran = true;
	state->report.query = tg_query_report_get(state->query);
	state->report.steps = steps;
}

/* 3.  Their number becomes that of the command tag. */
static void
keep_rows(tsurugi_job_state *state)
{
	note_report(state);
	state->custom.ss.ps.state->es_processed += tg_query_keep(state->session, state->query);
	end_query(state);
}

/* Raises the error of a job that has ended with this status. */
static void
pg_attribute_noreturn() fail(const tsurugi_job_state *state, tg_status status)
{
	if (status == TG_IO)
		tsurugi_job_file_error(state->query);
	tsurugi_error(status, NULL);
}

/* Runs the job; afterwards there are groups, or a reason for the fallback. */
static void
start(tsurugi_job_state *state)
{
	MemoryContext before = MemoryContextSwitchTo(state->memory);
	const tsurugi_job_code *code = translate(state);
	tg_status status;

	tg_assert(!state->started && state->report.fallback == NULL); /* 1 */
	state->started = true;
	state->having = NULL;
	state->session = tsurugi_session();
	if (code == NULL)
		state->report.fallback = "a value that the plan did not know";
	else if ((status = run_where_it_fits(state, code, count_rows(state))) == TG_OK || status == TG_NOT_FOUND)
	{
		if (delivers(state))
			make_room_for_rows(state, code);
		else if (tsurugi_job_stores(state->job))
			keep_rows(state);
		else
		{
			make_room_for_groups(state, code);
			if (state->custom.ss.ps.instrument != NULL)
				note_report(state);
		}
	}
	else
	{
		state->report.fallback = tsurugi_job_reason(status);
		if (state->report.fallback == NULL)
			fail(state, status);
		end_query(state);
		tsurugi_job_feeder_rest(state->feeder);
	}
	MemoryContextSwitchTo(before);
}

/* --- rows ----------------------------------------------------------------------------- */

/* When there is a group, for which PostgreSQL would evaluate it. */
static void
make_having(tsurugi_job_state *state)
{
	MemoryContext before = MemoryContextSwitchTo(state->memory);

	state->having = tsurugi_job_having_make(state->custom.ss.ps.plan->qual, state->columns, state->column_count,
											&state->custom.ss.ps);
	MemoryContextSwitchTo(before);
}

/* The next group that its totals do not reject. */
static bool
read_group(tsurugi_job_state *state)
{
	if (state->copies > 0)
		return state->copies-- > 0;
	for (;;)
	{
		tg_status status = state->query == NULL
							   ? TG_NOT_FOUND
							   : tg_query_next(state->query, state->keys, state->key_nulls, state->totals);

		if (status == TG_NOT_FOUND)
			return false;
		if (status != TG_OK)
			fail(state, status);
		if (state->having == NULL)
			make_having(state);
		if (tsurugi_job_having_passes(state->having, state->totals) &&
			(state->copies = tsurugi_job_copies(state->job, state->columns, state->totals)) > 0)
			return state->copies-- > 0;
		InstrCountFiltered1(&state->custom.ss.ps, 1);
		CHECK_FOR_INTERRUPTS();
	}
}

static bool
next_group(tsurugi_job_state *state, TupleTableSlot *slot)
{
	MemoryContext before;

	if (!read_group(state))
		return false;
	before = MemoryContextSwitchTo(state->custom.ss.ps.ps_ExprContext->ecxt_per_tuple_memory);
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = 0; i < state->column_count; i++)
		slot->tts_values[i] =
			tsurugi_job_datum(&state->columns[i], state->keys, state->key_nulls, state->totals, &slot->tts_isnull[i]);
	ExecStoreVirtualTuple(slot);
	MemoryContextSwitchTo(before);
	return true;
}

static TupleTableSlot *
next_of_groups(tsurugi_job_state *state)
{
	PlanState *node = &state->custom.ss.ps;
	ExprContext *context = node->ps_ExprContext;
	TupleTableSlot *slot = state->custom.ss.ss_ScanTupleSlot;

	tg_assert(state->column_count <= slot->tts_tupleDescriptor->natts);
	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		ResetExprContext(context);
		if (!next_group(state, slot))
			return ExecClearTuple(node->ps_ProjInfo->pi_state.resultslot);
		context->ecxt_scantuple = slot;
		if (node->qual == NULL || ExecQual(node->qual, context))
			return ExecProject(node->ps_ProjInfo);
		InstrCountFiltered1(node, 1);
	}
}

static TupleTableSlot *
project(tsurugi_job_state *state)
{
	PlanState *node = &state->custom.ss.ps;

	node->ps_ExprContext->ecxt_scantuple = ExecStoreVirtualTuple(state->custom.ss.ss_ScanTupleSlot);
	return ExecProject(node->ps_ProjInfo);
}

/* The next row of those in hand, as the scan's tuple; what it has points into them. */
static void
store_row(tsurugi_job_state *state)
{
	TupleTableSlot *slot = state->custom.ss.ss_ScanTupleSlot;
	const tg_vectors *rows = state->rows;

	tg_assert(state->row < rows->count && rows->column_count <= slot->tts_tupleDescriptor->natts);
	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, slot->tts_tupleDescriptor->natts * sizeof(bool));
	for (int i = 0; i < rows->column_count; i++)
	{
		size_t width = rows->kinds[i] >= TG_KIND_16 ? sizeof(tg_value) : sizeof(uint64_t);

		slot->tts_isnull[i] = rows->nulls[i][state->row] != 0;
		if (!slot->tts_isnull[i])
			slot->tts_values[i] = tsurugi_datum(&state->codecs[i], (const char *) rows->data[i] + state->row * width,
												state->scratch + i * TSURUGI_SCRATCH_BYTES);
	}
	state->row++;
}

/* Once those in hand have been handed out. */
static void
wait_for_rows(tsurugi_job_state *state)
{
	tg_status status = wait_for_result(state, 0);

	if (status != TG_OK && status != TG_NOT_FOUND)
		fail(state, status);
}

static TupleTableSlot *
next_of_rows(tsurugi_job_state *state)
{
	PlanState *node = &state->custom.ss.ps;

	CHECK_FOR_INTERRUPTS();
	ResetExprContext(node->ps_ExprContext);
	while (state->rows != NULL && state->row == state->rows->count)
		wait_for_rows(state);
	if (state->rows == NULL)
		return ExecClearTuple(node->ps_ProjInfo->pi_state.resultslot);
	store_row(state);
	return project(state);
}

static void
give_rows(tsurugi_job_state *state)
{
	while (state->rows != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		state->taker->take(state->taker->argument, state->taken, state->rows, 0, state->rows->count);
		wait_for_rows(state);
	}
}

/* Nodes above expect rows in this node's slot. */
static TupleTableSlot *
next_of_fallback(tsurugi_job_state *state)
{
	TupleTableSlot *slot = projects_fallback(state) ? state->custom.ss.ss_ScanTupleSlot
													: state->custom.ss.ps.ps_ProjInfo->pi_state.resultslot;
	TupleTableSlot *row;

	tg_assert(state->query == NULL); /* 1: it has been ended, and has handed out nothing */
	if (state->fallback == NULL)
	{
		EState *estate = state->custom.ss.ps.state;
		MemoryContext before = MemoryContextSwitchTo(estate->es_query_cxt);
		const CustomScan *plan = (CustomScan *) state->custom.ss.ps.plan;

		state->fallback =
			tsurugi_init_plans_begin(&state->custom.ss.ps, linitial(plan->custom_plans), estate, state->eflags);
		state->custom.custom_ps = lappend(state->custom.custom_ps, state->fallback);
		MemoryContextSwitchTo(before);
	}
	row = ExecProcNode(state->fallback);
	tg_assert(TupIsNull(row) || row->tts_tupleDescriptor->natts <= slot->tts_tupleDescriptor->natts);
	ExecClearTuple(slot);
	if (TupIsNull(row))
		return ExecClearTuple(state->custom.ss.ps.ps_ProjInfo->pi_state.resultslot);
	slot_getallattrs(row);
	memcpy(slot->tts_values, row->tts_values, row->tts_tupleDescriptor->natts * sizeof(Datum));
	memcpy(slot->tts_isnull, row->tts_isnull, row->tts_tupleDescriptor->natts * sizeof(bool));
	if (!projects_fallback(state))
		return ExecStoreVirtualTuple(slot);
	ResetExprContext(state->custom.ss.ps.ps_ExprContext);
	return project(state);
}

/* --- the node's methods --------------------------------------------------------------- */

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	tsurugi_job_state *state = state_of(node);
	tg_snapshot snapshot;

	state->eflags = eflags & ~(EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	state->part = GetCurrentSubTransactionId();
	state->memory = AllocSetContextCreate(estate->es_query_cxt, "job", ALLOCSET_DEFAULT_SIZES);
	state->end.func = memory_gone;
	state->end.arg = state;
	MemoryContextRegisterResetCallback(estate->es_query_cxt, &state->end);
	dlist_push_head(&open_nodes, &state->open);
	state->listed = true;
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		state->kept = tsurugi_job_kept_take((CustomScan *) node->ss.ps.plan);
	state->job = state->kept != NULL ? tsurugi_job_kept_job(state->kept)
									 : tsurugi_job_from_plan((CustomScan *) node->ss.ps.plan);
	tsurugi_job_open_tables(state->job, estate);
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		state->indexes = tsurugi_job_open_indexes(state->job);
	state->feeder = tsurugi_job_feeder_begin(state->job, node, state->eflags);
	/* Begins a LONG transaction, which parallel mode refuses: it may be on before the first row. */
	if ((eflags & EXEC_FLAG_EXPLAIN_ONLY) == 0)
		tsurugi_snapshot(estate, &snapshot);
}

static TupleTableSlot *
next(CustomScanState *node)
{
	tsurugi_job_state *state = state_of(node);

	if (!state->started)
		start(state);
	if (state->report.fallback != NULL)
		return next_of_fallback(state);
	if (tsurugi_job_stores(state->job))
		return NULL;
	if (state->taker != NULL)
		give_rows(state);
	return delivers(state) ? next_of_rows(state) : next_of_groups(state);
}

/* The report is that of the last execution. */
static void
restart(CustomScanState *node)
{
	tsurugi_job_state *state = state_of(node);

	end_query(state);
	state->started = false;
	state->report = (tsurugi_job_report){.ran = false};
	MemoryContextReset(state->memory);
	tsurugi_job_feeder_restart(state->feeder, node->ss.ps.chgParam);
	if (state->fallback == NULL)
		return;
	if (node->ss.ps.chgParam != NULL)
		UpdateChangedParamSet(state->fallback, node->ss.ps.chgParam);
	if (state->fallback->chgParam == NULL)
		ExecReScan(state->fallback);
}

static void
end(CustomScanState *node)
{
	tsurugi_job_state *state = state_of(node);

	close_node(state);
	tsurugi_job_close_indexes(state->indexes);
	tsurugi_job_feeder_end(state->feeder);
	if (state->fallback != NULL)
		ExecEndNode(state->fallback);
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	tsurugi_job_state *state = state_of(node);

	/* it may be that not all rows were wanted */
	if (delivers(state) && state->query != NULL && state->report.fallback == NULL)
	{
		tg_query_stop(state->session, state->query);
		note_report(state);
	}
	tsurugi_job_explain(state->job, &state->report, node, ancestors, es);
}

static const CustomExecMethods state_methods = {.CustomName = "Tsurugi Job",
												.BeginCustomScan = begin,
												.ExecCustomScan = next,
												.EndCustomScan = end,
												.ReScanCustomScan = restart,
												.ExplainCustomScan = explain};

Node *
tsurugi_job_create_state(CustomScan *plan)
{
	tsurugi_job_state *state = (tsurugi_job_state *) newNode(sizeof(tsurugi_job_state), T_CustomScanState);

	state->custom.methods = &state_methods;
	return (Node *) state;
}

/* Only columns of the job are given, which have the places of its vectors. */
static bool
are_columns(const tsurugi_job_state *state, const int *attributes, int count)
{
	int column_count = list_length(tsurugi_job_result(state->job)->keys);

	for (int i = 0; i < count; i++)
		if (attributes[i] >= column_count)
			return false;
	return count > 0;
}

void
tsurugi_job_give(PlanState *node, const tsurugi_taker *taker)
{
	tsurugi_job_state *state = (tsurugi_job_state *) node;
	int *attributes;
	MemoryContext before;

	if (!IsA(node, CustomScanState) || state->custom.methods != &state_methods || !delivers(state) ||
		node->qual != NULL)
		return;
	before = MemoryContextSwitchTo(node->state->es_query_cxt);
	attributes = tsurugi_taken_attributes(node, taker->column_count);
	MemoryContextSwitchTo(before);
	if (attributes == NULL || !are_columns(state, attributes, taker->column_count))
		return;
	state->given = attributes;
	state->taker = taker;
}

void
tsurugi_job_node_init(void)
{
	static const tsurugi_participant jobs = {
		.name = "query jobs", .end = end_all, .end_part = end_part, .has_state = is_any_open};

	tsurugi_participant_register(&jobs);
}
