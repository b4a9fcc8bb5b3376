/*
 * load_pool.c
 *	  The way `pool` of a load: tasks of the pool read, convert and store the rows.
 *
 * This process waits until all have ended, and keeps the table locked as long, whatever comes: when
 * the transaction, or the part of it that has asked for the load, is rolled back, the load is
 * cancelled, and has drained before locks are released.  In the load's place it waits for the
 * transactions whose rows the load meets, and commits those of the load that are logged (loader.h):
 * only a backend can insert into PostgreSQL's log.
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

#include <sys/stat.h>

#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/wait_event.h"

#include "runtime/base/failpoint.h"
#include "runtime/batch/loader.h"
#include "runtime/batch/tree.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/limits.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/txn.h"
#include "runtime/txn/wait.h"
#include "runtime/txn/writer.h"
#include "src/base/session.h"
#include "src/base/settings.h"
#include "src/base/status_error.h"
#include "src/copy/copy.h"
#include "src/copy/load_options.h"
#include "src/copy/progress.h"
#include "src/copy/unpacked.h"
#include "src/log/log.h"
#include "src/txn/kinds.h"
#include "src/txn/lending.h"
#include "src/txn/logging.h"
#include "src/txn/participants.h"
#include "src/txn/response.h"
#include "src/txn/row_queue.h"
#include "src/txn/shared_load.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/transaction.h"

#define BLOCK_PART 4		 /* a block of CSV gets such a part of a seat's memory */
#define SLOT_MARK 0x4c4f4144 /* of locks on slots, beside other locks of this kind */
#define SHOW_MS 100			 /* between two looks at what a COPY has done */
#define DRAIN_US 500		 /* between two looks while a load that is given up drains */

/* --- the end of one -------------------------------------------------------------------------- */

/* The load of this process that runs; NULL: none. */
static tg_loader *running;
static tg_session *running_session;
static tg_loan *running_loan; /* of it; shared_load.c ends it with the transaction, unless: */
static bool loan_is_own;	  /* it ends when the load does, in a session that is attached */
static bool is_started;
static SubTransactionId started_in; /* the part of the transaction that has called it */

static void
end_load(void)
{
	tg_assert(running != NULL);
	tsurugi_batch_loads(NULL);
	tg_loader_end(running_session, running);
	running = NULL;
	is_started = false;
}

/* False: the shared transaction has ended, with its rows. */
static bool
end_own_loan(bool keeps)
{
	bool is_own = loan_is_own;

	loan_is_own = false;
	return !is_own || tg_loan_end(running_session, running_loan, keeps);
}

/* Nothing interrupts this: statements see the cancel between two rows. */
static void
give_up(void)
{
	if (running == NULL)
		return;
	if (is_started)
	{
		tg_loader_cancel(running_session, running);
		while (tg_loader_poll(running) == TG_BUSY)
		{
			tg_loader_give_back(running_session, running);
			pg_usleep(DRAIN_US);
		}
	}
	end_load();
	(void) end_own_loan(false);
}

static void
end_with_transaction(bool committed)
{
	give_up();
}

static void
end_with_part(SubTransactionId id, SubTransactionId parent, bool committed)
{
	if (!committed && id == started_in)
		give_up();
}

static bool
is_running(void)
{
	return running != NULL;
}

void
tsurugi_load_pool_init(void)
{
	static const tsurugi_participant loads = {
		.name = "loads", .end = end_with_transaction, .end_part = end_with_part, .has_state = is_running};

	tsurugi_participant_register(&loads);
}

/* --- errors ---------------------------------------------------------------------------------- */

typedef struct Failure
{
	const tsurugi_load *load;
	const tg_loader_report *report;
	bool is_lent;
} Failure;

static void
describe_failure(void *argument)
{
	const Failure *failure = argument;
	const tg_loader_report *report = failure->report;
	const char *table = RelationGetRelationName(failure->load->relation);
	const tsurugi_load_file *file = list_nth(failure->load->files, (int) report->file);

	char *committed = failure->is_lent ? "" : psprintf("; " UINT64_FORMAT " rows are committed", report->rows);

	if (report->failure == TG_LOADER_CANCELLED)
		errcontext("load of %s%s", table, committed);
	else if (report->row > 0)
		errcontext("load of %s, file \"%s\", row " UINT64_FORMAT "%s", table, file->name, report->row, committed);
	else
		errcontext("load of %s, file \"%s\"%s", table, file->name, committed);
}

/* Why the load has failed, as an error. */
static void
raise_failure(const tsurugi_load *load, const tg_loader_report *report)
{
	const tsurugi_load_file *file = list_nth(load->files, (int) report->file);
	tsurugi_file named = {.name = file->name, .format = file->format};
	const tg_loader_row row = {
		.failure = report->failure, .cell = report->cell, .index = report->index, .column = report->column};

	switch (report->failure)
	{
		case TG_LOADER_WELL:
			return;
		case TG_LOADER_CANCELLED:
			tsurugi_error(TG_CANCELLED, load->relation);
			break;
		case TG_LOADER_STATUS:
			tsurugi_error(report->status, load->relation);
			break;
		case TG_LOADER_OPEN:
			errno = report->error_number;
			ereport(ERROR,
					(errcode_for_file_access(), errmsg("could not open file \"%s\" for reading: %m", file->name)));
			break;
		case TG_LOADER_CHANGED:
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
							errmsg("file \"%s\" has been changed since the load began", file->name)));
			break;
		case TG_LOADER_FILE:
			tsurugi_file_fail(&named, &report->fault);
			break;
		case TG_LOADER_VALUE:
		case TG_LOADER_DUPLICATE:
			tsurugi_load_raise_row(load->relation, &row);
		case TG_LOADER_ODD:
			Assert(false); /* is a row's alone */
	}
}

static void
check_report(const tsurugi_load *load, const tg_loader_report *report, bool is_lent)
{
	Failure failure = {load, report, is_lent};
	ErrorContextCallback context = {.callback = describe_failure, .arg = &failure, .previous = error_context_stack};

	error_context_stack = &context;
	raise_failure(load, report);
	error_context_stack = context.previous;
}

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

/* --- one ------------------------------------------------------------------------------------- */

/* Its rows are committed apart, so nothing may rest on what this transaction does. */
void
tsurugi_load_check_outside(const char *kind)
{
	const char *what = NULL;

	if (running != NULL)
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

static unsigned
most(unsigned wanted, unsigned limit)
{
	return wanted < 1 ? 1 : Min(wanted, limit);
}

/*
 * As many seats as there are workers, or blocks, but for what the load is bounded to: rather of
 * several files than of one.
 */
static void
choose_seats(const tsurugi_load *load, tg_loader_config *config)
{
	unsigned files_most = tsurugi_load_files_at_once(load);
	unsigned blocks_most = tsurugi_load_blocks_at_once(load);
	unsigned workers = most(tg_worker_count(), TG_BATCH_BLOCKS_AT_ONCE_MAX);
	int64 blocks = 0;
	ListCell *cell;

	foreach (cell, load->files)
		blocks += ((const tsurugi_load_file *) lfirst(cell))->blocks;
	workers = blocks < 1 ? 1 : (unsigned) Min(blocks, (int64) workers);
	config->files_at_once = most(Min(workers, (unsigned) list_length(load->files)), files_most);
	config->blocks_at_once = Min((workers + config->files_at_once - 1) / config->files_at_once, blocks_most);
	tg_assert(config->files_at_once <= TG_BATCH_FILES_AT_ONCE_MAX);
	tg_assert(config->blocks_at_once <= TG_BATCH_BLOCKS_AT_ONCE_MAX);
}

/* Of a shared transaction, which the load is given by a handle, or works in: writer. */
static tg_status
begin_loan(const tg_writer *writer, tg_table *table, unsigned tasks, tg_wait *wait_out)
{
	tg_status status;

	if (writer == NULL)
		return tsurugi_shared_load_begin(table, tasks, &running_loan, wait_out);
	status = tsurugi_shared_lend(writer, table, tasks, &running_loan);
	loan_is_own = status == TG_OK;
	return status;
}

/*
 * Makes the one that runs.  writer: as of tg_loader_config.  by_handle: it is of a shared
 * transaction, which is lent; TG_BUSY: not before *wait_out has ended; TG_UNFIT: never.
 */
static tg_status
create_load(const tsurugi_load *load, const tsurugi_relation *described, const tg_writer *writer, bool by_handle,
			tg_wait *wait_out)
{
	tg_loader_config config = {.table = described->table,
							   .kinds = described->kinds,
							   .column_count = (unsigned) described->column_count,
							   .file_count = (uint32_t) list_length(load->files),
							   .memory_max = (uint64_t) tsurugi_batch_memory_kb * 1024,
							   .host = tsurugi_own_host(),
							   .writer = writer,
							   .waiter = MyLatch,
							   .owner = MyProcPid,
							   .object = described->oid,
							   .job_id = tsurugi_batch_job(),
							   .progress = tsurugi_batch_shared_progress(),
							   .commit_rows = (uint64_t) load->commit_rows,
							   .skips = load->skips,
							   .ignores = load->on_conflict == TSURUGI_LOAD_CONFLICT_IGNORE};
	ListCell *cell;

	tg_assert(running == NULL && !is_started);
	foreach (cell, load->files)
		tsurugi_load_unpack(lfirst(cell));
	choose_seats(load, &config);
	foreach (cell, load->files)
	{
		tsurugi_load_file *file = lfirst(cell);

		if (file->csv != NULL && file->contents == NULL)
			tsurugi_load_cut(load, file,
							 config.memory_max / (config.files_at_once * config.blocks_at_once) / BLOCK_PART);
		config.has_csv |= file->csv != NULL;
		config.rows += (uint64_t) file->rows;
	}
	if (by_handle || tsurugi_shared_has_joined())
	{
		tg_status status = begin_loan(writer, described->table, config.files_at_once * config.blocks_at_once, wait_out);

		if (status != TG_OK)
			return status;
		config.loan = running_loan;
		config.writer = NULL;
	}
	return tg_loader_create(running_session, &config, &running);
}

static tg_status
add_file(const tsurugi_load_file *file)
{
	const tsurugi_unpacked *unpacked = file->unpacked;
	tg_loader_file added = {.name = file->name,
							.contents = file->contents,
							.bytes = (uint64_t) file->bytes,
							.device = file->device,
							.inode = file->inode,
							.changed_ns = file->changed_ns,
							.block_count = (uint32_t) file->blocks,
							.cells = file->cells,
							.cell_count = (unsigned) file->cell_count,
							.csv = file->csv,
							.format = file->format == TSURUGI_FORMAT_ARROW ? TG_FORMAT_ARROW : TG_FORMAT_PARQUET};

	if (unpacked != NULL)
	{
		added.name = unpacked->name;
		added.bytes = (uint64_t) unpacked->bytes;
		added.device = unpacked->device;
		added.inode = unpacked->inode;
		added.changed_ns = unpacked->changed_ns;
	}
	return tg_loader_add(running_session, running, &added);
}

/*
 * Commits a transaction of a task, as durable as synchronous_commit asks for.  After an error the
 * task undoes it (give_up).
 */
static void
commit_rows(tg_txn *txn)
{
	int level = tsurugi_response_begin();

	PG_TRY();
	{
		tsurugi_logging_prepare(txn);
	}
	PG_CATCH();
	{
		tsurugi_logging_end(false); /* the caller's transaction may go on */
		PG_RE_THROW();
	}
	PG_END_TRY();
	HOLD_INTERRUPTS();
	tsurugi_logging_commit();
	tg_txn_commit(running_session, txn);
	tsurugi_logging_end(true);
	tsurugi_logging_flush();
	tsurugi_response_end(level);
	RESUME_INTERRUPTS();
}

void *
tsurugi_load_pool_room(const tg_loader_need *need, Size bytes, Relation relation)
{
	void *room = tg_loader_room(running_session, running, need, bytes);

	if (room == NULL)
		tsurugi_error(TG_NO_MEMORY, relation);
	return room;
}

/* Errors of a record have COPY's context, and this one. */
static void
describe_commits(void *argument)
{
	const tsurugi_load_file *file = argument;
	tg_loader_report report;

	tg_loader_report_get(running, &report);
	errcontext("load of file \"%s\"; " UINT64_FORMAT " rows are committed", file->name, report.rows);
}

static void
convert_rows(const tsurugi_load *load, tsurugi_rejects *rejects, const tg_loader_need *need)
{
	ErrorContextCallback context = {
		.callback = describe_commits, .arg = list_nth(load->files, (int) need->file), .previous = error_context_stack};

	if (rejects != NULL) /* not in the caller's transaction, where nothing is committed */
		error_context_stack = &context;
	tsurugi_load_convert_rows(load, rejects, need);
	error_context_stack = context.previous;
}

static void
serve(const tsurugi_load *load, tsurugi_rejects *rejects, const tg_loader_need *need)
{
	if (need->txn != NULL)
		commit_rows(need->txn);
	else if (need->rows != NULL && need->rows[0].failure == TG_LOADER_ODD)
		convert_rows(load, rejects, need);
	else if (need->rows != NULL)
		tsurugi_load_reject_rows(load, rejects, need);
	else
	{
		tsurugi_wait(&need->wait, load->relation, TSURUGI_TO_INSERT, TG_ROW_MAX);
		tsurugi_queue_leave();
	}
	tg_loader_go_on(running_session, running, need);
}

/* The message of the error that the load will end with. */
static char *
failure_message(const tsurugi_load *load, const tg_loader_report *report)
{
	MemoryContext before = CurrentMemoryContext;
	char *volatile message = NULL;

	PG_TRY();
	{
		raise_failure(load, report);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(before);
		message = CopyErrorData()->message;
		FlushErrorState();
	}
	PG_END_TRY();
	return message;
}

/* Others see that it fails, and why; unless COPY begins anew then, in the caller's transaction. */
static void
note_failure(const tsurugi_load *load, bool is_lent, bool *is_noted)
{
	tg_loader_report report;

	if (*is_noted || is_lent || !tg_loader_has_failed(running))
		return;
	*is_noted = true;
	tg_loader_report_get(running, &report);
	tsurugi_batch_abort(failure_message(load, &report));
	tg_failpoint("load_aborts");
}

/* What COPY would have shown by now is written from time to time. */
static void
wait_for_news(const tsurugi_load *load)
{
	int events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | (load->shows_progress ? WL_TIMEOUT : 0);

	(void) WaitLatch(MyLatch, events, load->shows_progress ? SHOW_MS : -1, PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
	if (load->shows_progress)
		tsurugi_batch_show_copy();
}

/* Until it has drained, or an error is raised, whose rollback gives it up. */
static void
wait_for_end(const tsurugi_load *load, tsurugi_rejects *rejects)
{
	bool is_lent = rejects == NULL;
	bool is_noted = false;
	tg_status status;

	while ((status = tg_loader_poll(running)) == TG_BUSY)
	{
		tg_loader_need need;

		note_failure(load, is_lent, &is_noted);
		if (tg_loader_needs(running, &need))
			serve(load, rejects, &need);
		else
			wait_for_news(load);
		CHECK_FOR_INTERRUPTS();
	}
	tsurugi_check(status, load->relation);
	note_failure(load, is_lent, &is_noted);
}

static tg_status
start_load(const tsurugi_load *load, const tsurugi_relation *described, const tg_writer *writer, bool by_handle,
		   tg_wait *wait_out)
{
	tg_status status;
	ListCell *cell;

	tsurugi_settings_follow();
	running_session = tsurugi_session();
	started_in = GetCurrentSubTransactionId();
	status = create_load(load, described, writer, by_handle, wait_out);
	if (status != TG_OK)
	{
		running = NULL;
		(void) end_own_loan(false);
		return status;
	}
	if (!load->is_part)
		tsurugi_batch_expect("pool", load->files); /* rows of CSV have been counted */
	foreach (cell, load->files)
		if (status == TG_OK)
			status = add_file(lfirst(cell));
	if (status == TG_OK)
		status = tg_loader_start(running_session, running);
	is_started = status == TG_OK;
	if (status == TG_OK)
		tsurugi_batch_loads(running);
	else
	{
		end_load();
		(void) end_own_loan(false);
	}
	return status;
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
	tsurugi_check(start_load(load, described, NULL, false, NULL), load->relation);
	wait_for_end(load, rejects);
	tg_loader_report_get(running, &report);
	end_load();
	tsurugi_load_remove_unpacked(load);
	give_slot(slot);
	take_time(described);
	check_report(load, &report, false);
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
	return running == NULL && (tsurugi_lend(NULL, described->table, writer_out) || tsurugi_shared_has_joined());
}

/* The load runs, and ends; what it cannot begin for is a failure, too. */
static void
run_lent(const tsurugi_load *load, const tsurugi_relation *described, tg_loader_report *report, int64 *rows_out)
{
	tg_writer writer;
	tg_status status = TG_UNFIT;
	bool is_well;

	if (lend_transaction(described, &writer))
		status = start_load(load, described, &writer, false, NULL);
	*report = (tg_loader_report){.failure = TG_LOADER_STATUS, .status = status};
	if (status != TG_OK)
		return;
	wait_for_end(load, NULL);
	tg_loader_report_get(running, report);
	is_well = report->failure == TG_LOADER_WELL;
	if (is_well && loan_is_own)
		*rows_out = (int64) tg_loan_rows(running_loan);
	else if (is_well)
		*rows_out = (int64) tg_loader_keep(running_session, running);
	end_load();
	if (!end_own_loan(is_well))
		tsurugi_shared_check_alive();
}

/*
 * Whether the session can do better, or knows better what is wrong: with a row, or for want of
 * memory, of which a task has a part alone, or of descriptors.
 */
static bool
is_for_session(const tg_loader_report *report)
{
	switch (report->failure)
	{
		case TG_LOADER_STATUS:
		case TG_LOADER_VALUE:
		case TG_LOADER_DUPLICATE:
			return true;
		case TG_LOADER_FILE:
			return report->fault.status == TG_NO_MEMORY;
		case TG_LOADER_OPEN:
			return report->error_number == EMFILE || report->error_number == ENFILE;
		default:
			return false;
	}
}

/* Why, in the current memory context. */
static const char *
reason_for_session(const tsurugi_load *load, const tg_loader_report *report)
{
	if (report->failure == TG_LOADER_STATUS && report->status == TG_UNFIT)
		return "the transaction cannot be lent to tasks";
	if (report->failure == TG_LOADER_STATUS && report->status == TG_BUSY)
		return "a row has to wait for another transaction";
	return failure_message(load, report);
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
	if (is_for_session(&report))
	{
		if (message_level_is_interesting(DEBUG1))
			(void) tsurugi_load_leave(load, reason_for_session(load, &report));
		return false;
	}
	check_report(load, &report, true);
	CommandCounterIncrement();
	return true;
}

/* --- in a shared transaction, by its handle -------------------------------------------------- */

static void
check_may_load_by_handle(const tsurugi_load *load)
{
	if (running != NULL || tsurugi_has_written())
		ereport(ERROR, (errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
						errmsg("a load by a handle cannot run in a transaction %s",
							   running != NULL ? "in which another one runs" : "that has written")));
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
		check_report(load, report, true);
}

/* False: it is undone. */
static bool
run_by_handle(const tsurugi_load *load, const tsurugi_relation *described, int64 *rows_out)
{
	tg_loader_report report;
	tg_wait wait;
	tg_status status = start_load(load, described, NULL, true, &wait);

	if (status != TG_OK)
	{
		judge_loan(load, status, &wait);
		return false;
	}
	wait_for_end(load, NULL);
	tg_loader_report_get(running, &report);
	end_load();
	if (report.failure != TG_LOADER_WELL)
	{
		tsurugi_shared_load_undo(running_loan);
		judge_failure(load, &report);
		return false;
	}
	*rows_out = (int64) tg_loan_rows(running_loan);
	tsurugi_shared_load_keep(running_loan);
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
