/*
 * progress.c
 *	  Batches that run, loads and dumps, and how far they are: what the view shows.
 *
 * Each process has a place in shared memory, for the batch that it has begun first; a batch within
 * it, in a trigger, has a place in the process's own memory, and nobody sees it.
 *
 * 1. What a batch is and expects is written by its process under the lock, and read under it.
 *	  Counters are atomic.  Tasks of the pool and other processes that work for it add to them; they
 *	  have ended before the process begins its next batch, or is gone.
 * 2. A cancel signals the process under the lock, under which the batch also ends.  So the signal
 *	  has been sent before the end, and its process, which looks for it behind the end, has it: a
 *	  cancel never reaches the statement that follows.
 * 3. Where rows go through PostgreSQL's COPY, COPY counts them, in the process's entry of
 *	  pg_stat_activity.  A reader adds that to what earlier files have had.  Between two files the
 *	  sum may lack the former one for a moment, and the present one once a COPY in a trigger has
 *	  made the entry its own.
 * 4. A loader, whose tree others look at, is there while its process's place names it: the process
 *	  takes the name away, under the lock, before it ends the loader.
 */
#include "postgres.h"

#include "src/copy/progress.h"

#include <signal.h>

#include "commands/progress.h"
#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"

#include "runtime/base/check.h"
#include "runtime/batch/loader.h"
#include "runtime/sched/job.h"
#include "src/base/shown_text.h"

#define REASON_BYTES 256

struct tsurugi_batch
{
	/* 1; job 0: there is none */
	uint64 job;
	int process_id;
	Oid database;
	Oid role;
	Oid relation;
	const char *kind;
	const char *way;
	bool is_aborting;
	char reason[REASON_BYTES];
	int64 files;
	int64 blocks;
	int64 bytes;
	int64 rows;
	PgBackendStatus *activity; /* 3 */
	bool copies;			   /* COPY runs, of a file with: */
	int64 copied_blocks;
	int64 copied_bytes;
	int64 copied_rows;
	const tg_loader *loader; /* 4; NULL: no tasks do it */
	/* atomic */
	uint64 rejected;
	tg_batch_progress done;
	/* the process's alone */
	tsurugi_batch *outer;
};

typedef struct Batches
{
	LWLock lock;
	tsurugi_batch places[FLEXIBLE_ARRAY_MEMBER]; /* MaxBackends of them */
} Batches;

static Batches *batches;
static tsurugi_batch *current; /* of this process; NULL: none runs */

Size
tsurugi_batches_shared_bytes(void)
{
	return add_size(offsetof(Batches, places), mul_size(MaxBackends, sizeof(tsurugi_batch)));
}

void
tsurugi_batches_shared_create(void)
{
	static int tranche; /* child processes inherit its name */
	bool there;

	batches = ShmemInitStruct("tsurugi_fdw batches", tsurugi_batches_shared_bytes(), &there);
	memset(batches, 0, tsurugi_batches_shared_bytes());
	tranche = tranche != 0 ? tranche : LWLockNewTrancheId();
	LWLockRegisterTranche(tranche, "tsurugi_fdw batches");
	LWLockInitialize(&batches->lock, tranche);
}

/* --- one of this process --------------------------------------------------------------------- */

static void
describe(tsurugi_batch *batch, const char *kind, Oid relation)
{
	batch->process_id = MyProcPid;
	batch->database = MyDatabaseId;
	batch->role = MyProc->roleId;
	batch->relation = relation;
	batch->kind = kind;
	batch->way = NULL;
	batch->is_aborting = false;
	batch->files = batch->blocks = batch->bytes = batch->rows = -1;
	batch->activity = MyBEEntry;
	batch->copies = false;
	batch->loader = NULL;
	batch->outer = current;
	tg_store_relaxed(&batch->rejected, 0);
	tg_batch_progress_clear(&batch->done);
}

tsurugi_batch *
tsurugi_batch_begin(const char *kind, Oid relation)
{
	tsurugi_batch *batch = current == NULL ? &batches->places[MyBackendId - 1] : palloc0(sizeof(*batch));
	uint64 job = tg_job_id_take();

	LWLockAcquire(&batches->lock, LW_EXCLUSIVE);
	describe(batch, kind, relation);
	batch->job = job;
	LWLockRelease(&batches->lock);
	current = batch;
	return batch;
}

void
tsurugi_batch_end(tsurugi_batch *batch)
{
	if (batch->job == 0)
		return;
	tg_assert(current == batch);
	LWLockAcquire(&batches->lock, LW_EXCLUSIVE);
	batch->job = 0;
	batch->loader = NULL;
	LWLockRelease(&batches->lock);
	current = batch->outer;
}

void
tsurugi_batch_give_up(int code, Datum batch)
{
	tsurugi_batch_end((tsurugi_batch *) DatumGetPointer(batch));
}

void
tsurugi_batch_succeed(tsurugi_batch *batch)
{
	tsurugi_batch_end(batch);
	CHECK_FOR_INTERRUPTS(); /* 2 */
}

uint64
tsurugi_batch_job(void)
{
	tg_assert(current != NULL);
	return current->job;
}

/* --- how far it is ---------------------------------------------------------------------------- */

tg_batch_progress *
tsurugi_batch_progress(void)
{
	tg_assert(current != NULL);
	return &current->done;
}

tg_batch_progress *
tsurugi_batch_shared_progress(void)
{
	return current == &batches->places[MyBackendId - 1] ? &current->done : NULL;
}

void
tsurugi_batch_expect(const char *way, const List *load_files)
{
	int64 blocks = 0;
	int64 bytes = 0;
	int64 rows = 0;
	ListCell *cell;

	tg_assert(current != NULL);
	foreach (cell, load_files)
	{
		const tsurugi_load_file *file = lfirst(cell);

		blocks += file->blocks;
		bytes += file->bytes;
		rows = rows < 0 || file->rows < 0 ? -1 : rows + file->rows;
	}
	LWLockAcquire(&batches->lock, LW_EXCLUSIVE);
	tg_batch_progress_clear(&current->done);
	current->way = way;
	current->files = load_files != NIL ? list_length(load_files) : -1;
	current->blocks = load_files != NIL ? blocks : -1;
	current->bytes = load_files != NIL ? bytes : -1;
	current->rows = load_files != NIL ? rows : -1;
	LWLockRelease(&batches->lock);
}

void
tsurugi_batch_goes_on(const char *way)
{
	tg_assert(current != NULL);
	if (current->way == way)
		return;
	LWLockAcquire(&batches->lock, LW_EXCLUSIVE);
	current->way = way;
	LWLockRelease(&batches->lock);
}

void
tsurugi_batch_copies(const tsurugi_load_file *file, uint64 rows)
{
	tg_assert(current != NULL);
	LWLockAcquire(&batches->lock, LW_EXCLUSIVE);
	if (file == NULL)
	{
		tg_fetch_add_relaxed(&current->done.files, 1);
		tg_fetch_add_relaxed(&current->done.blocks, (uint64) current->copied_blocks);
		tg_fetch_add_relaxed(&current->done.bytes, (uint64) current->copied_bytes);
		tg_fetch_add_relaxed(&current->done.rows, rows);
	}
	else
	{
		current->copied_blocks = file->blocks;
		current->copied_bytes = file->bytes;
		current->copied_rows = file->rows;
	}
	current->copies = file != NULL;
	LWLockRelease(&batches->lock);
}

void
tsurugi_batch_loads(const tg_loader *loader)
{
	if (current == NULL) /* it has ended before the loader, by an error */
		return;
	LWLockAcquire(&batches->lock, LW_EXCLUSIVE);
	current->loader = loader;
	LWLockRelease(&batches->lock);
}

void
tsurugi_batch_show_copy(void)
{
	static const int columns[] = {PROGRESS_COPY_BYTES_PROCESSED, PROGRESS_COPY_TUPLES_PROCESSED};
	const tg_batch_progress *done = tsurugi_batch_progress();
	const int64 values[] = {(int64) tg_load_relaxed(&done->bytes), (int64) tg_load_relaxed(&done->rows)};
	bool tracks = pgstat_track_activities;

	pgstat_track_activities = true;
	pgstat_progress_update_multi_param(lengthof(columns), columns, values);
	pgstat_track_activities = tracks;
}

void
tsurugi_batch_reject(void)
{
	tg_assert(current != NULL);
	tg_fetch_add_relaxed(&current->rejected, 1);
}

void
tsurugi_batch_abort(const char *reason)
{
	tg_assert(current != NULL);
	LWLockAcquire(&batches->lock, LW_EXCLUSIVE);
	current->is_aborting = true;
	tsurugi_copy_clipped(current->reason, reason, REASON_BYTES);
	LWLockRelease(&batches->lock);
}

/* --- for others ------------------------------------------------------------------------------- */

int
tsurugi_batch_max(void)
{
	return MaxBackends;
}

/* A part of a file: as much of it as so many of all its rows. */
static int64
part_of(int64 whole, int64 rows, int64 all)
{
	return rows >= all ? whole : (int64) ((double) whole * (double) rows / (double) all);
}

/* 3.  Of a file that does not say how many rows it has, COPY counts bytes, too. */
static void
add_copied(const tsurugi_batch *batch, tsurugi_batch_report *report)
{
	const volatile PgBackendStatus *activity = batch->activity;
	int64 rows = activity->st_progress_param[PROGRESS_COPY_TUPLES_PROCESSED];
	int64 bytes = activity->st_progress_param[PROGRESS_COPY_BYTES_PROCESSED];

	if (activity->st_progress_command != PROGRESS_COMMAND_COPY)
		return;
	report->done.rows += (uint64) rows;
	if (batch->copied_rows > 0)
	{
		report->done.blocks += (uint64) part_of(batch->copied_blocks, rows, batch->copied_rows);
		report->done.bytes += (uint64) part_of(batch->copied_bytes, rows, batch->copied_rows);
	}
	else if (batch->copied_rows < 0)
		report->done.bytes += (uint64) Min(bytes, batch->copied_bytes);
}

static void
copy_report(const tsurugi_batch *batch, tsurugi_batch_report *report)
{
	*report = (tsurugi_batch_report){.job = batch->job,
									 .process_id = batch->process_id,
									 .database = batch->database,
									 .role = batch->role,
									 .relation = batch->relation,
									 .kind = batch->kind,
									 .way = batch->way,
									 .is_aborting = batch->is_aborting,
									 .files = batch->files,
									 .blocks = batch->blocks,
									 .bytes = batch->bytes,
									 .rows = batch->rows,
									 .rejected = (int64) tg_load_relaxed(&batch->rejected),
									 .done = {.files = tg_load_relaxed(&batch->done.files),
											  .blocks = tg_load_relaxed(&batch->done.blocks),
											  .bytes = tg_load_relaxed(&batch->done.bytes),
											  .rows = tg_load_relaxed(&batch->done.rows),
											  .transactions = tg_load_relaxed(&batch->done.transactions)}};
	if (batch->copies)
		add_copied(batch, report);
}

/* nodes: NULL: they are not asked for */
static bool
look_at(int i, tsurugi_batch_report *report, tg_batch_node *nodes, unsigned *count_out)
{
	const tsurugi_batch *batch = &batches->places[i];
	char reason[REASON_BYTES];
	bool runs;

	tg_assert(i >= 0 && i < MaxBackends);
	LWLockAcquire(&batches->lock, LW_SHARED);
	runs = batch->job != 0;
	if (runs)
	{
		copy_report(batch, report);
		memcpy(reason, batch->reason, REASON_BYTES);
		if (nodes != NULL)
			*count_out = batch->loader != NULL ? tg_loader_look(batch->loader, nodes) : 0;
	}
	LWLockRelease(&batches->lock);
	if (runs && report->is_aborting)
		report->reason = tsurugi_shown_text(reason);
	return runs;
}

bool
tsurugi_batch_report_get(int i, tsurugi_batch_report *report)
{
	return look_at(i, report, NULL, NULL);
}

bool
tsurugi_batch_nodes_get(int i, tsurugi_batch_report *report, tg_batch_node *nodes, unsigned *count_out)
{
	return look_at(i, report, nodes, count_out);
}

bool
tsurugi_batch_cancel(uint64 job, void (*may)(int process_id))
{
	bool found = false;

	LWLockAcquire(&batches->lock, LW_SHARED);
	for (int i = 0; i < MaxBackends && !found; i++)
		if (batches->places[i].job == job && job != 0) /* 0: no batch runs there */
		{
			may(batches->places[i].process_id); /* an error releases the lock */
			(void) kill(batches->places[i].process_id, SIGINT);
			found = true;
		}
	LWLockRelease(&batches->lock);
	return found;
}
