/*
 * load_running.c
 *	  The load by the pool that this process runs: it is made, served while tasks work on it, and
 *	  ended.
 *
 * This process waits until all tasks have ended, and keeps the table locked as long, whatever
 * comes: when the transaction, or the part of it that has asked for the load, is rolled back, the
 * load is cancelled, and has drained before locks are released.  In the load's place it waits for
 * the transactions whose rows the load meets, and commits those of the load that are logged
 * (loader.h): only a backend can insert into PostgreSQL's log.
 */
#include "postgres.h"

#include "src/copy/load_running.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "runtime/base/failpoint.h"
#include "runtime/batch/tree.h"
#include "runtime/sched/scheduler.h"
#include "runtime/table/limits.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/txn.h"
#include "src/base/session.h"
#include "src/base/settings.h"
#include "src/base/status_error.h"
#include "src/copy/load_options.h"
#include "src/copy/load_pool.h"
#include "src/copy/progress.h"
#include "src/copy/unpacked.h"
#include "src/txn/lending.h"
#include "src/txn/logging.h"
#include "src/txn/participants.h"
#include "src/txn/response.h"
#include "src/txn/row_queue.h"
#include "src/txn/shared_load.h"
#include "src/txn/shared_transaction.h"
#include "src/txn/transaction.h"

#define BLOCK_PART 4 /* a block of CSV gets such a part of a seat's memory */
#define SHOW_MS 100	 /* between two looks at what a COPY has done */
#define DRAIN_US 500 /* between two looks while a load that is given up drains */

/* The load of this process that runs; NULL: none. */
static tg_loader *running;
static tg_session *running_session;
static tg_loan *running_loan; /* of it; shared_load.c ends it with the transaction, unless: */
static bool loan_is_own;	  /* it ends when the load does, in a session that is attached */
static bool is_started;
static SubTransactionId started_in; /* the part of the transaction that has called it */
static uint64 rows_before;			/* that its batch had when it started */

/* --- the end --------------------------------------------------------------------------------- */

void
tsurugi_load_end(void)
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

uint64
tsurugi_load_end_lent(bool is_well)
{
	uint64 rows = 0;

	if (is_well)
		rows = loan_is_own ? tg_loan_rows(running_loan) : tg_loader_keep(running_session, running);
	tsurugi_load_end();
	if (!end_own_loan(is_well))
		tsurugi_shared_check_alive();
	return rows;
}

tg_loan *
tsurugi_load_loan(void)
{
	return running_loan;
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
	tsurugi_load_end();
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

bool
tsurugi_load_is_running(void)
{
	return running != NULL;
}

void
tsurugi_load_pool_init(void)
{
	static const tsurugi_participant loads = {
		.name = "loads", .end = end_with_transaction, .end_part = end_with_part, .has_state = tsurugi_load_is_running};

	tsurugi_participant_register(&loads);
}

/* --- making it ------------------------------------------------------------------------------- */

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

/* Makes the one that runs. */
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

tg_status
tsurugi_load_start(const tsurugi_load *load, const tsurugi_relation *described, const tg_writer *writer, bool by_handle,
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
	rows_before = tg_load_relaxed(&tsurugi_batch_progress()->rows);
	if (status == TG_OK)
		tsurugi_batch_loads(running);
	else
	{
		tsurugi_load_end();
		(void) end_own_loan(false);
	}
	return status;
}

/* --- serving it ------------------------------------------------------------------------------ */

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

/* Others see that it fails, and why; unless COPY begins anew then, in the caller's transaction. */
static void
note_failure(const tsurugi_load *load, bool is_lent, bool *is_noted)
{
	tg_loader_report report;

	if (*is_noted || is_lent || !tg_loader_has_failed(running))
		return;
	*is_noted = true;
	tg_loader_report_get(running, &report);
	tsurugi_batch_abort(tsurugi_load_failure_message(load, &report));
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

/*
 * As CopyFromErrorCallback, of a load that PostgreSQL's COPY would do in this process: so many rows
 * have been stored, but not in the order of the file.
 */
static void
describe_copy(void *argument)
{
	const tsurugi_load *load = argument;
	const tsurugi_load_file *file = linitial(load->files);
	uint64 lines = file->blocks > 0 ? file->csv->blocks[0].lines : 0;
	uint64 rows = tg_load_relaxed(&tsurugi_batch_progress()->rows) - rows_before;

	errcontext("COPY %s, line " UINT64_FORMAT, RelationGetRelationName(load->relation), lines + rows + 1);
}

static void
check_for_interrupts(const tsurugi_load *load)
{
	ErrorContextCallback context = {.callback = describe_copy, .arg = (void *) load, .previous = error_context_stack};

	if (load->is_plain)
		error_context_stack = &context;
	CHECK_FOR_INTERRUPTS();
	error_context_stack = context.previous;
}

void
tsurugi_load_wait(const tsurugi_load *load, tsurugi_rejects *rejects, tg_loader_report *report_out)
{
	bool is_lent = rejects == NULL;
	bool is_noted = false;
	tg_status status;

	tg_failpoint("load_runs");
	while ((status = tg_loader_poll(running)) == TG_BUSY)
	{
		tg_loader_need need;

		note_failure(load, is_lent, &is_noted);
		if (tg_loader_needs(running, &need))
			serve(load, rejects, &need);
		else
			wait_for_news(load);
		check_for_interrupts(load);
	}
	tsurugi_check(status, load->relation);
	note_failure(load, is_lent, &is_noted);
	tg_loader_report_get(running, report_out);
}
