/*
 * index_build.c
 *	  Filling the storage's indexes from the rows that are there.
 *
 * The work is the runtime's, by tasks of the pool if it is there (exec/index_build.h);
 * this backend steps it, waits, and looks at interrupts.
 */
#include "postgres.h"

#include "src/index_build.h"

#include "executor/tuptable.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "src/errors.h"
#include "src/row.h"
#include "src/session.h"
#include "src/transaction.h"

/* The row as it is named in the message: it is there, and so is another one with its key. */
static void
error_twin(Relation relation, const tg_index *index, tg_version twin)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(RelationGetDescr(relation), &TTSOpsVirtual);
	tsurugi_row row;

	tsurugi_row_init(&row, tsurugi_relation_describe(relation));
	tg_epoch_enter(tsurugi_session());
	tsurugi_row_read(&row, twin);
	tg_epoch_leave(tsurugi_session());
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
run_build(Relation relation, const tg_index *index, tg_index_build *build)
{
	for (;;)
	{
		tg_index_build_report report;
		tg_status status = tg_index_build_step(tsurugi_session(), build, &report);

		if (status == TG_OK)
			return;
		if (status == TG_EXISTS)
			error_twin(relation, index, report.twin);
		if (status == TG_BUSY)
			wait_for(&report);
		else if (status != TG_AGAIN)
			tsurugi_error(status, relation);
		CHECK_FOR_INTERRUPTS();
	}
}

void
tsurugi_index_build(Relation relation, tg_index *index)
{
	const tg_index_build_config config = {.index = index, .exclusive = true, .waiter = MyLatch, .owner = MyProcPid};
	tg_index_build *build;

	tsurugi_check(tg_index_build_begin(tsurugi_session(), &config, &build), relation);
	PG_TRY();
	{
		run_build(relation, index, build);
	}
	PG_FINALLY();
	{
		tg_index_build_end(tsurugi_session(), build);
	}
	PG_END_TRY();
}
