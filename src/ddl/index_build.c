/*
 * index_build.c
 *	  Builds the storage's indexes from the existing rows.
 *
 * The runtime does the work, by tasks of the pool if the pool is there (exec/index_build.h); this
 * backend steps it, waits, and processes interrupts.  pg_stat_progress_create_index counts chunks
 * as blocks and versions as tuples.
 */
#include "postgres.h"

#include "src/ddl/index_build.h"

#include "access/nbtree.h"
#include "commands/progress.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "utils/backend_progress.h"
#include "utils/wait_event.h"

#include "runtime/base/check.h"
#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/index/index.h"
#include "runtime/txn/snapshot.h"
#include "runtime/exec/index_build.h"
#include "src/base/session.h"
#include "src/base/settings.h"
#include "src/base/status_error.h"
#include "src/ddl/index_fill.h"
#include "src/table/building.h"
#include "src/table/row.h"
#include "src/txn/errors.h"
#include "src/txn/snapshot.h"
#include "src/txn/transaction.h"

/*
 * Raises the error for a row that exists and has the same key as another existing row; the message
 * shows the key.  Returns if others have changed that meanwhile.
 */
static void
error_twin(Relation relation, const tg_index *index, const tg_index_build *build, bool exclusive,
		   const tg_index_build_report *report)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	tg_version twin = report->twin;
	tg_snapshot snapshot;
	tsurugi_row row;

	tsurugi_row_init(&row, tsurugi_relation_describe(relation));
	if (!exclusive)
		tsurugi_snapshot_take(CurrentMemoryContext, &snapshot); /* it keeps what it shows */
	tg_epoch_enter(tsurugi_session());
	if (!exclusive)
		twin = tg_index_build_twin(build, &snapshot, report);
	if (twin != TG_VERSION_NONE)
		tsurugi_row_read(&row, twin);
	tg_epoch_leave(tsurugi_session());
	if (twin == TG_VERSION_NONE)
	{
		ExecDropSingleTupleTableSlot(slot);
		return;
	}
	tsurugi_row_to_slot(&row, 0, slot);
	tsurugi_error_not_unique(relation, index->spec.host, slot);
}

static void
wait_for(const tg_index_build_report *report)
{
	if (!report->sleep)
	{
		tsurugi_wait_for_outcome(&report->wait);
		return;
	}
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

static void
show_progress(const tg_index_build_report *report)
{
	static const int which[] = {PROGRESS_CREATEIDX_PHASE,		 PROGRESS_CREATEIDX_SUBPHASE,
								PROGRESS_SCAN_BLOCKS_TOTAL,		 PROGRESS_SCAN_BLOCKS_DONE,
								PROGRESS_CREATEIDX_TUPLES_TOTAL, PROGRESS_CREATEIDX_TUPLES_DONE};
	const int64 values[] = {report->stage == TG_BUILD_VERIFIES ? PROGRESS_CREATEIDX_PHASE_VALIDATE_IDXSCAN
															   : PROGRESS_CREATEIDX_PHASE_BUILD,
							report->stage == TG_BUILD_READS	  ? PROGRESS_BTREE_PHASE_INDEXBUILD_TABLESCAN
							: report->stage == TG_BUILD_LOADS ? PROGRESS_BTREE_PHASE_LEAF_LOAD
															  : 0,
							(int64) report->expected,
							(int64) report->done,
							(int64) report->to_load,
							(int64) report->loaded};

	pgstat_progress_update_multi_param(lengthof(which), which, values);
}

static void
run_build(Relation relation, const tg_index *index, tg_index_build *build, bool exclusive)
{
	for (;;)
	{
		tg_index_build_report report;
		tg_status status = tg_index_build_step(tsurugi_session(), build, &report);

		if (status == TG_OK)
			return;
		show_progress(&report);
		if (status == TG_EXISTS)
			error_twin(relation, index, build, exclusive, &report);
		else if (status == TG_BUSY)
			wait_for(&report);
		else if (status != TG_AGAIN)
			tsurugi_error(status, relation);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Called at the end, also after an error, and when the backend exits. */
static void
end_build(int code, Datum build)
{
	tg_index_build_end(tsurugi_session(), (tg_index_build *) DatumGetPointer(build));
}

static void
fill_and_build(Relation relation, tg_index *index, bool exclusive)
{
	const tg_index_build_config config = {.index = index,
										  .exclusive = exclusive,
										  .waiter = MyLatch,
										  .owner = MyProcPid,
										  .memory_max = (uint64_t) tsurugi_job_memory_kb * 1024};
	tg_index_build *build;

	tsurugi_settings_follow();
	tsurugi_transaction_before_storing();
	tsurugi_index_fill(relation, index, exclusive);
	tsurugi_check(tg_index_build_begin(tsurugi_session(), &config, &build), relation);
	PG_ENSURE_ERROR_CLEANUP(end_build, PointerGetDatum(build));
	{
		run_build(relation, index, build, exclusive);
	}
	PG_END_ENSURE_ERROR_CLEANUP(end_build, PointerGetDatum(build));
	end_build(0, PointerGetDatum(build));
}

void
tsurugi_index_build(Relation relation, tg_index *index, bool exclusive)
{
	tsurugi_building building;

	tg_assert(CheckRelationLockedByMe(relation, exclusive ? ShareLock : ShareUpdateExclusiveLock, true));
	tsurugi_building_begin(relation, &building);
	PG_TRY();
	{
		fill_and_build(relation, index, exclusive);
	}
	PG_FINALLY();
	{
		tsurugi_building_end(&building);
	}
	PG_END_TRY();
}
