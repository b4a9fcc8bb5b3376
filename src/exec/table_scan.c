/*
 * table_scan.c
 *	  The source of all rows of a table: read in place, or by tasks of the pool, which fill buffers.
 */
#include "postgres.h"

#include "src/exec/table_scan.h"

#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "runtime/base/status.h"
#include "runtime/sched/scheduler.h"
#include "runtime/reclaim/preserve.h"
#include "runtime/txn/reads.h"
#include "runtime/exec/scan.h"
#include "src/base/session.h"
#include "src/base/settings.h"
#include "src/base/status_error.h"
#include "src/exec/scan_internal.h"
#include "src/txn/isolation.h"
#include "src/txn/kinds.h"
#include "src/txn/participants.h"
#include "src/txn/snapshot.h"
#include "src/txn/snapshot_watch.h"
#include "src/txn/transaction.h"

typedef struct TableSource
{
	tsurugi_source source;
	tg_scan_job *job;	/* by the pool; NULL: in place */
	dlist_node in_pool; /* while there is a job: among all sources that have one */
	MemoryContextCallback job_end;
	bool by_pool;		  /* there was a job, for EXPLAIN ANALYZE */
	tg_chunk_scan chunks; /* in place */
	tg_vectors *own;	  /* the same: the batch */
	bool ready;			  /* it is open */
	bool done;
	bool noted; /* at SERIALIZABLE, as read, but tentatively: it may be taken back */
} TableSource;

/* --- the pool -------------------------------------------------------------------------------- */

/* Sources of this process that the pool has part in. */
static dlist_head sources_in_pool = DLIST_STATIC_INIT(sources_in_pool);

/* Ends the pool's part, if it has one. */
static void
end_job(TableSource *table)
{
	if (table->job == NULL)
		return;
	tg_scan_job_end(table->source.scan->session, table->job);
	table->job = NULL;
	dlist_delete(&table->in_pool);
}

/*
 * The statement ends in any way: its memory is freed, and with it the consumer's side of the job.
 */
static void
memory_gone(void *table)
{
	end_job(table);
}

/*
 * Ends the jobs of statements that a failed function was running.  Their memory belongs to the
 * transaction's, which is freed only after the session has returned to its client, and not before
 * the client sends ROLLBACK.
 */
static void
end_jobs(bool committed)
{
	while (!committed && !dlist_is_empty(&sources_in_pool))
		end_job(dlist_head_element(TableSource, in_pool, &sources_in_pool));
}

static bool
has_jobs(void)
{
	return !dlist_is_empty(&sources_in_pool);
}

void
tsurugi_table_scan_init(void)
{
	static const tsurugi_participant jobs = {.name = "scan jobs", .end = end_jobs, .has_state = has_jobs};

	tsurugi_participant_register(&jobs);
}

/* Gives the table to the pool if it is worth it and the pool is there. */
static bool
open_job(TableSource *table)
{
	tsurugi_scan *scan = table->source.scan;
	tg_scan_job_config config = {
		.table = scan->described->table,
		.snapshot = scan->snapshot,
		.columns = scan->columns,
		.kinds = scan->kinds,
		.column_count = scan->column_count,
		.waiter = MyLatch,
		.owner = MyProcPid,
		.object = scan->described->oid,
		.memory_max = (uint64_t) tsurugi_job_memory_kb * 1024,
	};

	tsurugi_settings_follow();

	/* Exclusions are in this process's memory. */
	if (scan->snapshot.excluded != NULL || tsurugi_scan_pool_rows < 0 ||
		tsurugi_row_count(scan->described->table) < tsurugi_scan_pool_rows || !tg_scheduler_is_running() ||
		tg_scan_job_start(scan->session, &config, &table->job) != TG_OK)
		return false;
	dlist_push_head(&sources_in_pool, &table->in_pool);
	if (table->job_end.func == NULL)
	{
		table->job_end.func = memory_gone;
		table->job_end.arg = table;
		MemoryContextRegisterResetCallback(scan->node->ss.ps.state->es_query_cxt, &table->job_end);
	}
	table->by_pool = true;
	return true;
}

/* The job's next buffer; sleeps while there is none, and can be interrupted. */
static bool
next_buffer(TableSource *table, const tg_vectors **vectors_out)
{
	tsurugi_scan *scan = table->source.scan;

	tsurugi_snapshot_check();
	for (;;)
	{
		tg_status status = tg_scan_job_next(scan->session, table->job, vectors_out);

		if (status == TG_OK)
			return true;
		if (status == TG_NOT_FOUND)
			return false;
		if (status != TG_BUSY)
			tsurugi_error(status, scan->node->ss.ss_currentRelation);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* The next one that is not empty. */
static bool
next_of_job(TableSource *table, tsurugi_batch *batch_out)
{
	const tg_vectors *vectors;

	do
		if (!next_buffer(table, &vectors))
			return false;
	while (vectors->count == 0);
	*batch_out = (tsurugi_batch){.vectors = vectors, .count = vectors->count};
	return true;
}

/* --- in place -------------------------------------------------------------------------------- */

unsigned
tsurugi_read_chunks(tg_chunk_scan *scan, tg_vectors *vectors)
{
	for (;;)
	{
		unsigned count;

		CHECK_FOR_INTERRUPTS();
		tsurugi_snapshot_check();
		count = tg_chunk_scan_next(tsurugi_session(), scan, vectors);
		if (likely(count > 0 || !scan->busy))
			return count;
		tsurugi_wait_for_outcome(&scan->wait);
	}
}

static void
open_chunks(TableSource *table)
{
	tsurugi_scan *scan = table->source.scan;

	if (table->own == NULL)
		table->own = tsurugi_scan_make_vectors(scan, scan->node->ss.ps.state->es_query_cxt, TG_SLOT_MAX);
	tg_chunk_scan_init(&table->chunks, scan->described->table, &scan->snapshot, 0, PG_UINT32_MAX);
}

static bool
next_chunks(TableSource *table, tsurugi_batch *batch_out)
{
	if (tsurugi_read_chunks(&table->chunks, table->own) == 0)
		return false;
	*batch_out = (tsurugi_batch){.vectors = table->own, .own = table->own, .count = table->own->count};
	return true;
}

/* --- either ----------------------------------------------------------------------------------- */

static tg_area
table_area(const tsurugi_source *source)
{
	return (tg_area){.table = source->scan->described->table};
}

static void
open_table(TableSource *table)
{
	tsurugi_scan *scan = table->source.scan;

	table->ready = true;
	if (tsurugi_has_one_snapshot())
		tsurugi_source_begin_at_level(&table->source);
	if (tsurugi_tracks) /* S2 */
	{
		table->noted = scan->direct != CMD_UNKNOWN || (scan->locks && !scan->has_handed_up);
		tg_reads_add_table(scan->session, tsurugi_reads(), scan->described->table, table->noted);
	}
	if (!open_job(table))
		open_chunks(table);
}

static bool
table_next(tsurugi_source *source, tsurugi_batch *batch_out)
{
	TableSource *table = (TableSource *) source;

	if (table->done)
		return false;
	CHECK_FOR_INTERRUPTS();
	if (!table->ready)
		open_table(table);
	source->scan->batches++;
	table->done = !(table->job != NULL ? next_of_job(table, batch_out) : next_chunks(table, batch_out));
	return !table->done;
}

/* All that there is to do is done when it is first read. */
static void
table_open(tsurugi_source *source)
{
}

static void
table_forget_reads(tsurugi_source *source)
{
	TableSource *table = (TableSource *) source;

	if (table->noted)
		tg_reads_forget_table(tsurugi_reads(), source->scan->described->table);
	table->noted = false;
}

static void
table_keep_reads(tsurugi_source *source)
{
	TableSource *table = (TableSource *) source;

	if (table->noted && tsurugi_tracks)
	{
		tg_reads_add_table(source->scan->session, tsurugi_reads(), source->scan->described->table, false);
		tg_reads_forget_table(tsurugi_reads(), source->scan->described->table);
	}
	table->noted = false;
}

static void
table_restart(tsurugi_source *source)
{
	TableSource *table = (TableSource *) source;

	end_job(table);
	table_keep_reads(source);
	table->ready = false;
	table->done = false;
}

tsurugi_source *
tsurugi_table_source_make(tsurugi_scan *scan)
{
	static const tsurugi_source_methods methods = {.open = table_open,
												   .next = table_next,
												   .restart = table_restart,
												   .end = table_restart,
												   .area = table_area,
												   .forget_reads = table_forget_reads,
												   .keep_reads = table_keep_reads};
	TableSource *table = palloc0(sizeof(*table));

	table->source = (tsurugi_source){.methods = &methods, .scan = scan};
	return &table->source;
}

bool
tsurugi_table_source_by_pool(const tsurugi_source *source)
{
	return ((const TableSource *) source)->by_pool;
}
