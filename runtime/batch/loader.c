/*
 * loader.c
 *	  A load of files into a table by the pool: tasks read, convert and store the rows.
 *
 * Each seat of the tree has a task, which runs its statements one after the other.
 *
 * 1. A seat has a session of its own, so its transaction may be continued by any worker.  Only the
 *	  thread that runs the seat's task uses the session.  A transaction of a table that is logged is
 *	  committed by the requester, who can write to the host's log, while the seat is parked.
 * 2. A statement that meets a row, or an area, of another transaction takes back what it has
 *	  written, and parks.  The requester waits for that transaction, as for any of its own, so the
 *	  host's time-outs and its search for deadlocks hold for the load, too.  It then lets the seat
 *	  go on, which stores the same rows again.
 * 3. Transactions have the requester's word, so a session that meets a row of theirs waits for the
 *	  requester.  One seat that meets a row of another has found the same key twice in the files:
 *	  that is an error, unless rows are left out (8).
 * 4. A seat without a statement parks; its task ends once the tree has drained.  drained unparks
 *	  all.  A seat that is unparked without a reason parks again.
 * 5. The requester looks at rows, which are left out or odd, while the seat is parked, in memory
 *	  that both reach.
 * 6. References: the requester's, until tg_loader_end, and the job's, until its teardown.
 * 7. If the requester lends its transaction, each seat has a piece of it (txn/piece.h), and neither
 *	  waits nor commits.  The requester takes the pieces, or undoes them, when the load has drained.
 *	  (Pieces of a loan, of a transaction in which others load, too, stay in the loan until the
 *	  requester ends that.  It may be over at any moment: a seat stores only while it is in.)
 *	  One whose seats were given up by a pool that was stopped never does; then the requester waits
 *	  until no seat is in a turn.  A seat counts itself in, and then looks whether the tree runs;
 *	  the requester cancels the load, which stops the tree, and then looks at the count; between
 *	  the two steps of either stands a fence (as in query/query.c, 2).
 * 8. Where rows are left out because their keys are there, no row may be left out on account of one
 *	  that is undone later: both would be missing.  A row of another transaction is waited for (2).
 *	  One of another seat may be undone, too: with its statement, which meets a row that it has to
 *	  wait for, and then finds itself left out; or by itself, when another index refuses it.  So a
 *	  seat that meets an open row of another seat takes back its statement, ends its transaction,
 *	  and parks until a transaction of a seat has ended; then it stores the same rows again.  (Rows
 *	  of its own transaction are in its own statement, which is judged as a whole again, or in
 *	  earlier ones, which only a load that fails takes back.)
 *	  A seat that waits so holds no row, because what it had stored is committed first: the
 *	  transaction is shorter than asked for.  So no two seats wait for each other, and whatever a
 *	  transaction waits for that a seat waits for, it is not that seat.  The seat that is waited for
 *	  has a transaction, so it does not wait for a seat; its transaction ends, and that is noted.
 *	  No end is missed: the seat loads the count of ends before it looks at rows, publishes its
 *	  need, passes a full fence, and looks at the count again; what ends a transaction adds to the
 *	  count, passes a full fence, and looks for needs.  Either the seat sees the end, and takes back
 *	  its need itself, or the need is seen.  The compare-and-swap of the need decides who does it.
 *	  The order of keys in the files' seats is no order of time, so of two rows with one key either
 *	  may stay; at the end one of them has, or another transaction's.
 */
#include "runtime/batch/loader.h"

#include <sched.h>
#include <stddef.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/batch/loader_internal.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/presence.h"
#include "runtime/reclaim/tax.h"
#include "runtime/table/lease.h"
#include "runtime/table/table.h"
#include "runtime/txn/loan.h"
#include "runtime/txn/txn.h"

#define LEVEL 40 /* work level */
#define MEMORY_HEADER TG_CACHE_LINE
#define ROWS_BYTES (TG_FILE_BATCH * sizeof(tg_loader_row)) /* of a seat */
#define COMMIT_ROWS 65536								   /* of a transaction, unless the requester says */

/* --- memory ---------------------------------------------------------------------------------- */

static void *
take_memory(tg_session *session, tg_loader *loader, size_t bytes)
{
	size_t whole = (bytes + MEMORY_HEADER + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
	void **memory = tg_alloc_zeroed(session, whole, TG_USE_JOB, TG_DATA);

	if (memory == NULL)
		return NULL;
	*memory = loader->memory;
	loader->memory = memory;
	return (unsigned char *) memory + MEMORY_HEADER;
}

static void
release_loader(tg_session *session, tg_loader *loader)
{
	/* acq_rel: all uses by either side come before the free */
	if (tg_fetch_add_acq_rel(&loader->references, (uint32_t) -1) != 1)
		return;
	while (loader->memory != NULL)
	{
		void *next = *(void **) loader->memory;

		tg_free(session, loader->memory, TG_USE_JOB);
		loader->memory = next;
	}
	tg_free(session, loader, TG_USE_JOB);
}

/* --- statements ------------------------------------------------------------------------------ */

tg_status
tg_loader_fail(tg_loader_report *report, tg_loader_failure failure)
{
	report->failure = failure;
	return TG_UNFIT;
}

/* The seat parks until the requester has looked at rows. */
static tg_status
show_rows(tg_loader_seat *seat, bool odd)
{
	seat->asks_odd = odd;
	seat->wants = TG_SEAT_NEEDS_ROWS;
	return TG_BUSY;
}

static void
free_converted(tg_session *session, tg_loader_seat *seat)
{
	if (seat->converted != NULL)
		tg_free(session, seat->converted, TG_USE_JOB);
	seat->converted = NULL;
}

/* Stores the rows at hand, and has the requester told of those that are left out. */
static tg_status
store_values(tg_loader_seat *seat, tg_loader_report *report)
{
	tg_block_reader *reader = &seat->reader;

	if (!reader->is_judged)
	{
		reader->is_judged = true;
		tg_block_note_odd(seat);
		if (seat->odd_count > 0)
			return show_rows(seat, true);
	}
	if (!reader->is_stored)
	{
		tg_status status = tg_seat_store(seat, report);

		if (status != TG_OK)
			return status;
		reader->is_stored = true;
		if (seat->asked > 0)
			return show_rows(seat, false);
	}
	free_converted(seat->session, seat);
	reader->has_values = false;
	reader->is_judged = false;
	reader->is_stored = false;
	return TG_OK;
}

static uint64_t
rows_of_transaction(const tg_loader_config *config)
{
	return config->commit_rows > 0 ? config->commit_rows : COMMIT_ROWS;
}

/* Stores the next rows of the block, or those that had to wait. */
static tg_status
store_next(tg_loader_seat *seat, tg_loader_report *report)
{
	tg_block_reader *reader = &seat->reader;
	tg_status status = TG_OK;

	if (!reader->has_values)
		status = tg_block_read(seat, report);
	if (status == TG_NOT_FOUND)
	{
		reader->is_at_end = true;
		seat->is_ending = seat->txn != NULL;
		return TG_OK;
	}
	reader->has_values = status == TG_OK;
	if (status == TG_OK)
		status = store_values(seat, report);
	if (status == TG_OK)
		seat->is_ending = seat->txn != NULL && seat->row_count >= rows_of_transaction(&seat->loader->config);
	return status;
}

/*
 * The seat is about to wait for another one, and keeps no row meanwhile (8).  TG_BUSY; TG_AGAIN:
 * its transaction is to be committed first, after which it looks at the rows again.
 */
static tg_status
let_go_of_rows(tg_loader_seat *seat)
{
	if (seat->row_count > 0 && tg_seat_commit(seat) == TG_AGAIN)
		return TG_AGAIN;
	tg_seat_abort(seat); /* if it is not committed */
	seat->ended_seen++;	 /* this one */
	return TG_BUSY;
}

/* *more_out: the block goes on.  TG_BUSY, TG_AGAIN: the seat is to park. */
static tg_status
run_statement(tg_loader_seat *seat, tg_loader_report *report, bool *more_out)
{
	tg_status status = TG_OK;

	report->file = seat->seat->file;
	report->block = seat->seat->block;
	if (!seat->is_ending)
		status = store_next(seat, report);
	if (status == TG_OK && seat->is_ending)
		status = tg_seat_commit(seat);
	if (status == TG_BUSY && seat->wants == TG_SEAT_NEEDS_SEAT)
		status = let_go_of_rows(seat);
	if (status != TG_OK)
		return status;
	*more_out = !seat->reader.is_at_end;
	if (!*more_out)
		tg_seat_note_block(seat);
	seat->reader.is_at_end = false;
	return TG_OK;
}

/* The context of the tree's calls. */
typedef struct caller
{
	tg_session *session;
	tg_worker *worker; /* NULL: a thread that cancels, which schedules nothing */
} caller;

typedef struct note
{
	tg_loader *loader;
	const tg_loader_report *report;
} note;

/* B3: by one thread. */
static void
note_failure(void *argument)
{
	const note *note = argument;

	note->loader->report = *note->report;
}

static void
fail_load(tg_loader *loader, const tg_loader_report *report, caller *caller)
{
	note note = {loader, report};

	(void) tg_batch_fail(&loader->tree, note_failure, &note, caller);
}

static void
cancel_load(tg_loader *loader, caller *caller)
{
	const tg_loader_report report = {.failure = TG_LOADER_CANCELLED};

	fail_load(loader, &report, caller);
}

/* --- seats ----------------------------------------------------------------------------------- */

/* 4 */
static tg_turn
leave(tg_loader_seat *seat)
{
	tg_assert(seat->txn == NULL);
	tg_block_reader_close(&seat->reader);
	tg_session_go_away(seat->session);
	return tg_load_acquire(&seat->loader->is_drained) != 0 ? TG_TURN_DONE : TG_TURN_PARK;
}

static void
end_seat(tg_loader_seat *seat, caller *caller)
{
	tg_seat_abort(seat);
	tg_batch_statement_ended(seat->seat, caller);
}

/* Runs the seat's statement, or ends it.  What it needs is left to the caller. */
static tg_seat_need
step_seat(tg_loader_seat *seat, caller *caller)
{
	tg_loader *loader = seat->loader;
	tg_loader_report report = {0};
	tg_status status;
	bool more = false;

	if (tg_job_is_cancelled(loader->job))
		cancel_load(loader, caller);
	if (!tg_batch_is_running(&loader->tree))
	{
		end_seat(seat, caller);
		return TG_SEAT_NEEDS_NOTHING;
	}
	status = run_statement(seat, &report, &more);
	if (status == TG_BUSY)
		return seat->wants;
	if (status == TG_AGAIN)
		return TG_SEAT_NEEDS_COMMIT;
	/* its block would go on, but the load aborts: the transaction ends before the task does */
	if (status == TG_OK && !tg_batch_statement_done(seat->seat, more, caller) && more)
		tg_seat_abort(seat);
	if (status != TG_OK)
	{
		fail_load(loader, &report, caller);
		end_seat(seat, caller);
	}
	return TG_SEAT_NEEDS_NOTHING;
}

static tg_turn
run_statements(tg_loader_seat *seat, tg_worker *worker)
{
	caller caller = {tg_worker_session(worker), worker};

	if (tg_seat_is_parked(seat))
		return TG_TURN_PARK;
	tg_session_come_back(seat->session);
	tg_claims_privilege(seat->session, caller.session->privileged);
	while (tg_batch_seat_is_active(seat->seat))
	{
		tg_seat_need need;

		if (tg_should_yield(worker))
		{
			tg_session_go_away(seat->session);
			return TG_TURN_AGAIN;
		}
		need = step_seat(seat, &caller);
		if (need != TG_SEAT_NEEDS_NOTHING)
			return tg_seat_ask(seat, need);
		tg_session_answer(seat->session);
	}
	return leave(seat);
}

/* 7 */
static tg_turn
run_seat(tg_task *task, tg_worker *worker)
{
	tg_loader_seat *seat = (tg_loader_seat *) task;
	tg_loader *loader = seat->loader;
	tg_turn turn;

	tg_fetch_add_relaxed(&loader->inside, 1);
	tg_fence_seq_cst();
	turn = run_statements(seat, worker);
	tg_fetch_add_acq_rel(&loader->inside, (uint32_t) -1);
	return turn;
}

/* --- what the tree calls --------------------------------------------------------------------- */

/* Called once for each file. */
static uint32_t
count_blocks(void *argument, uint32_t file)
{
	tg_loader *loader = argument;

	if (loader->files[file].block_count == 0)
	{
		tg_fetch_add_relaxed(&loader->progress->bytes, loader->files[file].bytes);
		tg_fetch_add_relaxed(&loader->progress->files, 1);
	}
	return loader->files[file].block_count;
}

static void
schedule(void *argument, tg_batch_seat *tree_seat, void *context)
{
	tg_loader *loader = argument;
	tg_loader_seat *seat = &loader->seats[tree_seat->number];
	caller *caller = context;

	if (tg_load_relaxed(&seat->is_spawned) != 0)
		tg_task_unpark(caller->session, &seat->task);
	else
	{
		tg_store_release(&seat->is_spawned, 1);
		tg_job_spawn(caller->worker, loader->job, &seat->task);
	}
}

static void
unpark_all(tg_loader *loader, tg_session *session)
{
	for (unsigned i = 0; i < loader->seat_count; i++)
		if (tg_load_acquire(&loader->seats[i].is_spawned) != 0)
			tg_task_unpark(session, &loader->seats[i].task);
}

/* Seats that wait are to see that the load aborts, and so is the requester. */
static void
complete(void *argument, tg_batch_outcome outcome, void *context)
{
	tg_loader *loader = argument;

	if (outcome != TG_BATCH_ERROR_ABORTING)
		return;
	tg_store_release(&loader->has_failed, 1); /* after the report; pairs with tg_loader_has_failed */
	unpark_all(loader, ((caller *) context)->session);
	tg_host_wake(loader->config.waiter);
}

static void
drained(void *argument, tg_batch_outcome outcome, void *context)
{
	tg_loader *loader = argument;

	tg_store_release(&loader->is_drained, 1);
	unpark_all(loader, ((caller *) context)->session);
}

static const tg_batch_ops load_ops = {
	.count_blocks = count_blocks, .schedule = schedule, .complete = complete, .drained = drained};

/* --- life ------------------------------------------------------------------------------------ */

static void
close_sessions(tg_loader *loader)
{
	for (unsigned i = 0; i < loader->seat_count; i++)
	{
		if (loader->seats[i].session == NULL)
			continue;
		tg_session_come_back(loader->seats[i].session);
		tg_leases_end(loader->seats[i].session);
		tg_tax_forget(loader->seats[i].session);
		tg_session_close(loader->seats[i].session);
		loader->seats[i].session = NULL;
	}
}

static tg_status
open_sessions(tg_loader *loader)
{
	for (unsigned i = 0; i < loader->seat_count; i++)
	{
		tg_status status = tg_session_open(&loader->seats[i].session);

		if (status != TG_OK)
		{
			loader->seats[i].session = NULL;
			return status;
		}
		tg_session_go_away(loader->seats[i].session);
	}
	return TG_OK;
}

static tg_turn
run_bootstrap(tg_task *task, tg_worker *worker)
{
	tg_loader *loader = (tg_loader *) ((char *) task - offsetof(tg_loader, bootstrap));
	caller caller = {tg_worker_session(worker), worker};

	if (tg_job_is_cancelled(loader->job))
		cancel_load(loader, &caller);
	tg_batch_tree_start(&loader->tree, &caller);
	return TG_TURN_DONE;
}

static void
job_cancelled(tg_job *job, tg_session *session)
{
	caller caller = {session, NULL};

	cancel_load(tg_job_argument(job), &caller);
}

static void
tear_down(tg_job *job, tg_session *session)
{
	tg_loader *loader = tg_job_argument(job);

	tg_assert(tg_load_acquire(&loader->is_drained) != 0);
	for (unsigned i = 0; i < loader->seat_count; i++)
		free_converted(session, &loader->seats[i]);
	close_sessions(loader);
	tg_table_release(session, loader->config.table);
	release_loader(session, loader);
}

static tg_status
make_job(tg_session *session, tg_loader *loader)
{
	const tg_job_config job = {.kind = "load",
							   .owner = loader->config.owner,
							   .object = loader->config.object,
							   .id = loader->config.job_id,
							   .level = LEVEL,
							   .pool_only = true,
							   .argument = loader,
							   .teardown = tear_down,
							   .cancelled = job_cancelled,
							   .waiter = loader->config.waiter};

	return tg_job_create(session, &job, &loader->job);
}

/* Copies what the configuration points to, and makes the seats. */
static bool
make_parts(tg_session *session, tg_loader *loader)
{
	tg_loader_config *config = &loader->config;
	uint8_t *kinds = take_memory(session, loader, config->column_count + 1);

	loader->files = take_memory(session, loader, config->file_count * sizeof(tg_loader_file));
	loader->blocks_done = take_memory(session, loader, config->file_count * sizeof(uint32_t));
	loader->tree_seats = take_memory(session, loader, loader->seat_count * sizeof(tg_batch_seat));
	loader->seats = take_memory(session, loader, loader->seat_count * sizeof(tg_loader_seat));
	if (config->skips || config->has_csv)
		loader->rows_place = take_memory(session, loader, 2 * loader->seat_count * ROWS_BYTES);
	if (((config->skips || config->has_csv) && loader->rows_place == NULL) || kinds == NULL || loader->files == NULL ||
		loader->blocks_done == NULL || loader->tree_seats == NULL || loader->seats == NULL)
		return false;
	memcpy(kinds, config->kinds, config->column_count);
	config->kinds = kinds;
	return true;
}

static void
make_seats(tg_loader *loader)
{
	loader->tree.file_count = loader->config.file_count;
	loader->tree.files_at_once = loader->config.files_at_once;
	loader->tree.blocks_at_once = loader->config.blocks_at_once;
	tg_batch_tree_init(&loader->tree, &load_ops, loader, loader->places, loader->tree_seats);
	for (unsigned i = 0; i < loader->seat_count; i++)
	{
		loader->seats[i].loader = loader;
		loader->seats[i].seat = &loader->tree_seats[i];
		if (loader->rows_place != NULL)
		{
			loader->seats[i].rows = loader->rows_place + (size_t) (2 * i) * TG_FILE_BATCH;
			loader->seats[i].odd = loader->seats[i].rows + TG_FILE_BATCH;
		}
		if (loader->config.loan != NULL)
			loader->seats[i].piece = tg_loan_piece(loader->config.loan, i);
		else if (tg_loader_is_lent(loader))
			loader->seats[i].piece = &loader->seats[i].own_piece;
		loader->seats[i].reader.descriptor = -1;
		tg_task_init(&loader->seats[i].task, run_seat, loader->job);
	}
	tg_task_init(&loader->bootstrap, run_bootstrap, loader->job);
}

tg_status
tg_loader_create(tg_session *session, const tg_loader_config *config, tg_loader **loader_out)
{
	tg_loader *loader = tg_alloc_zeroed(session, sizeof(*loader), TG_USE_JOB, TG_DATA);
	tg_status status;

	tg_assert(config->files_at_once > 0 && config->files_at_once <= TG_BATCH_FILES_AT_ONCE_MAX);
	tg_assert(config->blocks_at_once > 0 && config->blocks_at_once <= TG_BATCH_BLOCKS_AT_ONCE_MAX);
	tg_assert(config->column_count <= TG_FILE_COLUMNS_MAX);
	tg_assert((config->writer == NULL && config->loan == NULL) || !(config->skips || config->ignores));
	if (loader == NULL)
		return TG_NO_MEMORY;
	loader->config = *config;
	if (config->loan != NULL)
		tg_loan_writer(config->loan, &loader->writer);
	else if (config->writer != NULL)
		loader->writer = *config->writer;
	loader->references = 1;
	loader->progress = config->progress != NULL ? config->progress : &loader->counted;
	loader->seat_count = config->files_at_once * config->blocks_at_once;
	status = make_parts(session, loader) ? open_sessions(loader) : TG_NO_MEMORY;
	if (status == TG_OK)
		status = make_job(session, loader);
	if (status != TG_OK)
	{
		if (loader->seats != NULL)
			close_sessions(loader);
		release_loader(session, loader);
		return status;
	}
	make_seats(loader);
	tg_job_expect(loader->job, config->rows);
	*loader_out = loader;
	return TG_OK;
}

/* Files whose columns are the same have the same cells. */
static const tg_cell *
copy_cells(tg_session *session, tg_loader *loader, const tg_loader_file *file)
{
	const tg_loader_file *before = loader->files_added > 0 ? &loader->files[loader->files_added - 1] : NULL;
	tg_cell *cells;

	if (before != NULL && before->cell_count == file->cell_count &&
		memcmp(before->cells, file->cells, file->cell_count * sizeof(tg_cell)) == 0)
		return before->cells;
	cells = take_memory(session, loader, (file->cell_count + 1) * sizeof(tg_cell));
	if (cells != NULL)
		memcpy(cells, file->cells, file->cell_count * sizeof(tg_cell));
	return cells;
}

static void *
copy_part(tg_session *session, tg_loader *loader, const void *part, size_t bytes)
{
	void *copy = take_memory(session, loader, bytes);

	if (copy != NULL)
		memcpy(copy, part, bytes);
	return copy;
}

/* NULL: no memory, as of the following. */
static const char *const *
copy_names(tg_session *session, tg_loader *loader, const tg_loader_csv *csv)
{
	const char **names = take_memory(session, loader, csv->format.column_count * sizeof(*names));
	bool is_whole = names != NULL;

	for (unsigned i = 0; i < csv->format.column_count && is_whole; i++)
	{
		names[i] = copy_part(session, loader, csv->names[i], strlen(csv->names[i]) + 1);
		is_whole = names[i] != NULL;
	}
	return is_whole ? names : NULL;
}

static const tg_loader_csv *
copy_csv(tg_session *session, tg_loader *loader, const tg_loader_file *file)
{
	tg_loader_csv *csv = copy_part(session, loader, file->csv, sizeof(*csv));

	if (csv == NULL)
		return NULL;
	csv->blocks = copy_part(session, loader, csv->blocks, file->block_count * sizeof(*csv->blocks));
	if (csv->names != NULL && (csv->names = copy_names(session, loader, file->csv)) == NULL)
		return NULL;
	csv->format.null_text = copy_part(session, loader, csv->format.null_text, strlen(csv->format.null_text) + 1);
	csv->format.columns =
		copy_part(session, loader, csv->format.columns, csv->format.column_count * sizeof(*csv->format.columns));
	return csv->blocks != NULL && csv->format.null_text != NULL && csv->format.columns != NULL ? csv : NULL;
}

tg_status
tg_loader_add(tg_session *session, tg_loader *loader, const tg_loader_file *file)
{
	tg_loader_file *added = &loader->files[loader->files_added];
	char *name = take_memory(session, loader, strlen(file->name) + 1);

	tg_assert(!loader->is_started && loader->files_added < loader->config.file_count);
	*added = *file;
	added->cells = copy_cells(session, loader, file);
	if (file->csv != NULL)
		added->csv = copy_csv(session, loader, file);
	if (file->contents != NULL)
		added->contents = copy_part(session, loader, file->contents, file->bytes);
	if ((file->contents != NULL && added->contents == NULL) || name == NULL || added->cells == NULL ||
		(file->csv != NULL && added->csv == NULL))
		return TG_NO_MEMORY;
	strcpy(name, file->name);
	added->name = name;
	loader->files_added++;
	return TG_OK;
}

tg_status
tg_loader_start(tg_session *session, tg_loader *loader)
{
	tg_status status;

	tg_assert(loader->files_added == loader->config.file_count);
	tg_table_retain(loader->config.table);
	loader->references = 2;
	loader->is_started = true;
	status = tg_job_start(session, loader->job, &loader->bootstrap);
	if (status != TG_OK)
	{
		loader->is_started = false;
		loader->references = 1;
		tg_table_release(session, loader->config.table);
	}
	return status;
}

tg_status
tg_loader_poll(const tg_loader *loader)
{
	if (tg_job_state_get(loader->job) == TG_JOB_DONE)
		return TG_OK;
	/* its tasks may have been given up */
	return tg_job_is_cancelled(loader->job) && !tg_scheduler_is_running() ? TG_STOPPED : TG_BUSY;
}

bool
tg_loader_has_failed(const tg_loader *loader)
{
	return tg_load_acquire(&loader->has_failed) != 0;
}

void
tg_loader_cancel(tg_session *session, tg_loader *loader)
{
	tg_job_cancel(session, loader->job);
}

void
tg_loader_report_get(const tg_loader *loader, tg_loader_report *report)
{
	*report = loader->report;
	report->rows = tg_loader_is_lent(loader) ? 0 : tg_load_relaxed(&loader->progress->rows);
	report->transactions = tg_load_relaxed(&loader->progress->transactions);
}

unsigned
tg_loader_look(const tg_loader *loader, tg_batch_node *nodes)
{
	unsigned count = tg_batch_tree_look(&loader->tree, nodes);

	for (unsigned i = 0; i < count; i++)
		if (nodes[i].level == TG_LEVEL_BLOCK)
			nodes[i].rows = tg_load_relaxed(&loader->seats[nodes[i].seat].shown_rows);
	return count;
}

/* --- a transaction that is lent --------------------------------------------------------------- */

uint64_t
tg_loader_keep(tg_session *session, tg_loader *loader)
{
	uint64_t rows = 0;

	tg_assert(tg_loader_poll(loader) == TG_OK && loader->report.failure == TG_LOADER_WELL);
	tg_assert(loader->config.loan == NULL);
	for (unsigned i = 0; i < loader->seat_count; i++)
	{
		tg_piece *piece = loader->seats[i].piece;

		rows += piece->writes;
		tg_txn_take_pieces(session, loader->writer.txn, &piece, 1);
	}
	return rows;
}

/* What has not been kept, or is the loan's.  7 */
static void
let_go_of_pieces(tg_session *session, tg_loader *loader)
{
	tg_fence_seq_cst();
	while (tg_load_acquire(&loader->inside) != 0)
		(void) sched_yield();
	for (unsigned i = loader->seat_count; i-- > 0 && loader->config.loan == NULL;)
	{
		tg_piece *piece = loader->seats[i].piece;

		if (piece->log != NULL)
			tg_txn_undo_pieces(session, loader->writer.txn, &piece, 1);
	}
}

void
tg_loader_end(tg_session *session, tg_loader *loader)
{
	if (tg_loader_is_lent(loader))
		let_go_of_pieces(session, loader);
	if (!loader->is_started)
		close_sessions(loader);
	tg_job_release(session, loader->job);
	release_loader(session, loader);
}
