/*
 * load_pool.c
 *	  The way `pool` of a load: tasks of the pool read, convert and store the rows.  What their
 *	  transaction is; load_running.c runs the load.
 *
 * A load in the caller's transaction lends that to the tasks.  Where one of them cannot store a
 * row, all that they have stored is undone, and the session loads the files by itself: it waits for
 * other transactions, and its COPY says what is wrong with the row.  While tasks store rows, no
 * code of users runs here, which could write, too.
 *
 * A session that is attached to a shared transaction has its turn, and lends that in the same way.
 * A load by a handle lends a shared transaction, beside other loads; no session can do better there
 * (txn/shared_load.c), so what it fails by is an error.
 */
#include "postgres.h"

#include "src/copy/load_pool.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "utils/rel.h"

#include "runtime/txn/loan.h"
#include "src/base/session.h"
#include "src/base/status_error.h"
#include "src/copy/load_running.h"
#include "src/log/log.h"
#include "src/txn/kinds.h"
#include "src/txn/lending.h"
#include "src/txn/shared_load.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/transaction.h"

#define SLOT_MARK 0x4c4f4144 /* of locks on slots, beside other locks of this kind */

/* --- at once ------------------------------------------------------------------------------- */

static LOCKTAG
slot_tag(int slot)
{
	return (LOCKTAG){.locktag_field3 = SLOT_MARK,
					 .locktag_field4 = (uint16) slot,
					 .locktag_type = LOCKTAG_USERLOCK,
					 .locktag_lockmethodid = DEFAULT_LOCKMETHOD};
}

/* Sessions are for so many loads; further ones wait for the last, or get no slot: -1. */
static int
take_slot(bool waits)
{
	for (int slot = 0; slot < TSURUGI_LOADS_AT_ONCE; slot++)
	{
		LOCKTAG tag = slot_tag(slot);
		bool is_last = slot == TSURUGI_LOADS_AT_ONCE - 1;

		if (LockAcquire(&tag, ExclusiveLock, false, !(waits && is_last)) != LOCKACQUIRE_NOT_AVAIL)
			return slot;
	}
	return -1;
}

static void
give_slot(int slot)
{
	LOCKTAG tag = slot_tag(slot);

	(void) LockRelease(&tag, ExclusiveLock, false);
}

/* --- in transactions of its own -------------------------------------------------------------- */

/* Its rows are committed apart, so nothing may rest on what this transaction does. */
void
tsurugi_load_check_outside(const char *kind)
{
	const char *what = NULL;

	if (tsurugi_load_is_running())
		what = "in which another one runs";
	else if (tsurugi_has_written() || TransactionIdIsValid(GetTopTransactionIdIfAny()))
		what = "that has written";
	else if (tsurugi_kind != TG_TXN_ORDINARY)
		what = "of another kind than ordinary";
	else if (tsurugi_shared_is_open)
		what = "that is shared";
	if (what != NULL)
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("a %s that is not transactional cannot run in a transaction %s", kind, what)));
	PreventCommandIfReadOnly(psprintf("a %s that is not transactional", kind));
	PreventCommandIfParallelMode(psprintf("a %s that is not transactional", kind));
	tsurugi_check_may_write();
}

/* R7 of log.c */
static void
take_time(const tsurugi_relation *described)
{
	if (!described->unlogged && tsurugi_log_takes_time())
		(void) GetTopTransactionId();
}

void
tsurugi_load_pool_run(const tsurugi_load *load, int64 *rows_out, int64 *rejected_out, int64 *transactions_out)
{
	const tsurugi_relation *described = tsurugi_relation_get(load->relation);
	tsurugi_rejects *rejects;
	tg_loader_report report;
	int slot;

	tsurugi_load_check_outside("load");
	slot = take_slot(true);
	rejects = tsurugi_rejects_begin(RelationGetRelationName(load->relation), load->reject_file, load->reject_limit,
									load->files);
	tsurugi_check(tsurugi_load_start(load, described, NULL, false, NULL), load->relation);
	tsurugi_load_wait(load, rejects, &report);
	tsurugi_load_end();
	tsurugi_load_remove_unpacked(load);
	give_slot(slot);
	take_time(described);
	tsurugi_load_check_report(load, &report, false);
	*rows_out = (int64) report.rows;
	*rejected_out = tsurugi_rejects_end(rejects);
	*transactions_out = (int64) report.transactions;
}

/* --- in the caller's transaction ------------------------------------------------------------- */

/* Whether tasks may write it. */
static bool
lend_transaction(const tsurugi_relation *described, tg_writer *writer_out)
{
	PreventCommandIfReadOnly("COPY FROM");
	PreventCommandIfParallelMode("COPY FROM");
	return !tsurugi_load_is_running() &&
		   (tsurugi_lend(NULL, described->table, writer_out) || tsurugi_shared_has_joined());
}

/* The load runs, and ends; what it cannot begin for is a failure, too. */
static void
run_lent(const tsurugi_load *load, const tsurugi_relation *described, tg_loader_report *report, int64 *rows_out)
{
	tg_writer writer;
	tg_status status = TG_UNFIT;

	if (lend_transaction(described, &writer))
		status = tsurugi_load_start(load, described, &writer, false, NULL);
	*report = (tg_loader_report){.failure = TG_LOADER_STATUS, .status = status};
	if (status != TG_OK)
		return;
	tsurugi_load_wait(load, NULL, report);
	*rows_out = (int64) tsurugi_load_end_lent(report->failure == TG_LOADER_WELL);
}

bool
tsurugi_load_pool_try(const tsurugi_load *load, int64 *rows_out)
{
	const tsurugi_relation *described = tsurugi_relation_get(load->relation);
	int slot = take_slot(false);
	tg_loader_report report;

	if (slot < 0)
		return tsurugi_load_leave(load, "as many loads run as may at once");
	run_lent(load, described, &report, rows_out);
	tsurugi_load_remove_unpacked(load);
	give_slot(slot);
	if (tsurugi_load_is_for_session(&report))
	{
		if (message_level_is_interesting(DEBUG1))
			(void) tsurugi_load_leave(load, tsurugi_load_reason_for_session(load, &report));
		return false;
	}
	tsurugi_load_check_report(load, &report, true);
	CommandCounterIncrement();
	return true;
}

/* --- in a shared transaction, by its handle -------------------------------------------------- */

static void
check_may_load_by_handle(const tsurugi_load *load)
{
	if (tsurugi_load_is_running() || tsurugi_has_written())
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("a load by a handle cannot run in a transaction %s",
							   tsurugi_load_is_running() ? "in which another one runs" : "that has written")));
	PreventCommandIfReadOnly("a load by a handle");
	PreventCommandIfParallelMode("a load by a handle");
	tsurugi_check_may_write();
}

/* It cannot be lent, or not before *wait has ended. */
static void
judge_loan(const tsurugi_load *load, tg_status status, const tg_wait *wait)
{
	if (status == TG_UNFIT)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_IN_USE),
						errmsg("cannot load into table \"%s\" by a handle", RelationGetRelationName(load->relation)),
						errdetail("A long transaction preserves some of its rows."),
						errhint("Attach to the shared transaction, and load without a handle.")));
	if (status != TG_BUSY)
		tsurugi_check(status, load->relation);
	if (!tsurugi_shared_load_be_alone())
		tsurugi_shared_load_wait(wait, load->relation);
}

/*
 * It has been undone.  Whether it is to begin anew, as what was in the way may go (shared_load.c,
 * 3); if not, it raises why.
 */
static void
judge_failure(const tsurugi_load *load, const tg_loader_report *report)
{
	bool is_busy = report->failure == TG_LOADER_STATUS && report->status == TG_BUSY;

	tsurugi_shared_load_check_alive();
	if ((is_busy || report->failure == TG_LOADER_DUPLICATE) && tsurugi_shared_load_be_alone())
		return;
	if (is_busy)
		tsurugi_shared_load_wait(&report->wait, load->relation);
	else
		tsurugi_load_check_report(load, report, true);
}

/* False: it is undone. */
static bool
run_by_handle(const tsurugi_load *load, const tsurugi_relation *described, int64 *rows_out)
{
	tg_loader_report report;
	tg_wait wait;
	tg_status status = tsurugi_load_start(load, described, NULL, true, &wait);

	if (status != TG_OK)
	{
		judge_loan(load, status, &wait);
		return false;
	}
	tsurugi_load_wait(load, NULL, &report);
	tsurugi_load_end();
	if (report.failure != TG_LOADER_WELL)
	{
		tsurugi_shared_load_undo(tsurugi_load_loan());
		judge_failure(load, &report);
		return false;
	}
	*rows_out = (int64) tg_loan_rows(tsurugi_load_loan());
	tsurugi_shared_load_keep(tsurugi_load_loan());
	return true;
}

void
tsurugi_load_pool_by_handle(const tsurugi_load *load, int64 *rows_out)
{
	const tsurugi_relation *described = tsurugi_relation_get(load->relation);
	int slot;

	check_may_load_by_handle(load);
	slot = take_slot(true);
	while (!run_by_handle(load, described, rows_out))
		tsurugi_load_remove_unpacked(load);
	tsurugi_load_remove_unpacked(load);
	give_slot(slot);
}
