/*
 * scan_job.c
 *	  Reading a whole table by tasks of the pool, for one consumer.
 *
 * The tasks share a counter of chunks.  A morsel is one chunk, and the task that counts it up owns
 * it, so each row the snapshot sees is handed out exactly once.  A task scans its morsel into a
 * buffer of the channel:
 *
 *	  +-> morsel --none left--> stage or abandon what it holds --> done
 *	  |     |
 *	  |   buffer --none free--> park --unparked--> (the morsel is kept)
 *	  |     |
 *	  |   scan --full--> stage --+
 *	  |     |                    |
 *	  +-----+--------------------+    between morsels: cancelled?  yield?
 *
 * A part-filled buffer is kept across morsels, so that a table of few rows a
 * chunk still gives full vectors.
 *
 * 1. Two references keep a tg_scan_job: the consumer's, from start to end, and the job's, until its
 *    teardown. tasks, columns and kinds live as long.  The consumer may leave at any moment; the
 *    job comes to its own end.
 * 2. The job owns the objects that its tasks use after the consumer has left: an entry of the
 *    horizon (taken while the consumer's session still publishes the time), a reference on the
 *    table, the producers' reference on the channel.  Its teardown, run by the last task, gives
 *    them back.
 * 3. The teardown finishes the channel, when no task holds a buffer, and so after the last stage.
 * 4. The thread that cancels the job stops the channel: parked tasks run again and all end, without
 *    waiting for the consumer to come back (channel.c, 5.).
 *
 * The snapshot may name the consumer's own transaction: the writes of its earlier commands are
 * visible to the tasks as they are to the consumer, which does not end the transaction before it
 * has ended the scan.  Tasks may run on for a morsel after that: they then copy cells of versions
 * that are being undone into buffers that no consumer reads; they follow no cell to its blob.
 */
#include "runtime/table/table.h"
#include "runtime/exec/channel.h"
#include "runtime/exec/scan.h"

#include <sched.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/reclaim/horizon.h"
#include "runtime/sched/serial.h"
#include "runtime/exec/vectors.h"

#define SCAN_LEVEL 40 /* work level: many records */
#define BUFFERS_PER_TASK 2
#define BUFFERS_OF_CONSUMER 2
#define TASK_MAX 64
/* limit of a buffer whose number of rows the caller left open */
#define BUFFER_BYTES_MAX ((size_t) 1 << 20)
#define BUFFER_ROWS_MIN 64

_Static_assert(TASK_MAX <= TG_RING_PRODUCER_MAX, "the channel must know all tasks");
_Static_assert(TASK_MAX *BUFFERS_PER_TASK + BUFFERS_OF_CONSUMER <= TG_RING_BUFFER_MAX, "and all buffers");

typedef struct scan_task
{
	tg_task task; /* first */
	tg_scan_job *scan;
	tg_vectors *vectors; /* acquired buffer, or NULL */
	tg_chunk_scan morsel;
	uint64_t rows;	/* of the morsel, so far */
	bool in_morsel; /* morsel has rows to come */
} TG_CACHE_ALIGNED scan_task;

struct tg_scan_job
{
	uint32_t next_chunk; /* atomic: tasks count it up */

	/* constant from the start on */
	tg_table *table TG_CACHE_ALIGNED;
	tg_snapshot snapshot;
	tg_channel *channel;
	tg_job *job; /* consumer's reference; tasks have it in their tg_task */
	unsigned horizon_entry;
	uint32_t chunk_count; /* chunks there were at the start */
	unsigned task_count;
	unsigned buffer_rows;
	unsigned column_count;
	const uint16_t *columns;
	const uint8_t *kinds;
	scan_task *tasks;

	uint32_t references; /* atomic: 1. */

	unsigned spawned_count; /* tasks that are on their way; first task only */

	const tg_vectors *current TG_CACHE_ALIGNED; /* the consumer's buffer, or NULL; consumer only */
};

/* --- tasks --------------------------------------------------------------------------- */

static bool
take_morsel(scan_task *self)
{
	tg_scan_job *scan = self->scan;
	uint32_t chunk;

	/* This look keeps the counter from growing without bound, whatever the number of turns. */
	if (tg_load_relaxed(&scan->next_chunk) >= scan->chunk_count)
		return false;
	/* decides which task scans it, publishes nothing */
	chunk = tg_fetch_add_relaxed(&scan->next_chunk, 1);
	if (chunk >= scan->chunk_count)
		return false;
	tg_chunk_scan_init(&self->morsel, scan->table, &scan->snapshot, chunk, chunk + 1);
	self->rows = 0;
	self->in_morsel = true;
	return true;
}

/* Scans on to the end of the morsel or of the buffer's room; a full buffer is staged. */
static void
scan_morsel(scan_task *self, tg_session *session)
{
	tg_channel *channel = self->scan->channel;

	self->rows += tg_chunk_scan_append(session, &self->morsel, self->vectors);
	if (self->morsel.chunk == self->morsel.chunk_end)
	{
		self->in_morsel = false;
		tg_job_progress(self->task.job, 1, self->rows);
	}
	if (self->vectors->count == self->vectors->capacity)
	{
		channel->ops->stage(channel, session, self->vectors);
		self->vectors = NULL;
	}
}

static void
leave_channel(scan_task *self, tg_session *session, bool cancelled)
{
	tg_channel *channel = self->scan->channel;

	if (self->vectors != NULL)
	{
		if (self->vectors->count > 0 && !cancelled)
			channel->ops->stage(channel, session, self->vectors);
		else
			channel->ops->abandon(channel, session, self->vectors);
		self->vectors = NULL;
	}
}

static tg_turn
run_scan_task(tg_task *task, tg_worker *worker)
{
	scan_task *self = (scan_task *) task;
	tg_channel *channel = self->scan->channel;
	tg_session *session = tg_worker_session(worker);

	for (;;)
	{
		if (tg_job_is_cancelled(task->job))
		{
			leave_channel(self, session, true);
			return TG_TURN_DONE;
		}
		if (tg_should_yield(worker))
			return TG_TURN_AGAIN;
		if (!self->in_morsel && !take_morsel(self))
		{
			leave_channel(self, session, false);
			return TG_TURN_DONE;
		}
		if (self->vectors == NULL)
		{
			void *buffer;
			tg_status status = channel->ops->acquire(channel, session, task, &buffer);

			if (status == TG_BUSY)
				return TG_TURN_PARK;
			if (status != TG_OK)
			{
				tg_job_fail(task->job, status);
				return TG_TURN_DONE;
			}
			self->vectors = buffer;
			self->vectors->count = 0;
		}
		scan_morsel(self, session);
		if (tg_unlikely(self->morsel.busy))
		{
			/*
			 * A transaction's commit has not ended yet (V1): a task does not wait, it comes again.
			 */
			(void) sched_yield();
			return TG_TURN_AGAIN;
		}
	}
}

/* The bootstrap: starts the other tasks and continues as the first one. */
static tg_turn
run_first_task(tg_task *task, tg_worker *worker)
{
	tg_scan_job *scan = ((scan_task *) task)->scan;

	for (; scan->spawned_count < scan->task_count; scan->spawned_count++)
		tg_job_spawn(worker, task->job, &scan->tasks[scan->spawned_count].task);
	return run_scan_task(task, worker);
}

/* --- life ------------------------------------------------------------------------------ */

static void
release_scan(tg_session *session, tg_scan_job *scan)
{
	/* acq_rel: all uses by either side come before the free */
	if (tg_fetch_add_acq_rel(&scan->references, (uint32_t) -1) == 1)
		tg_free(session, scan, TG_USE_JOB);
}

/* Gives back what the job owns (2.), with the status of its end. */
static void
release_job_side(tg_session *session, tg_scan_job *scan, tg_status status)
{
	scan->channel->ops->finish(scan->channel, session, status);
	tg_snapshot_withdraw_job(scan->horizon_entry);
	tg_table_release(session, scan->table);
	release_scan(session, scan);
}

static void
tear_down(tg_job *job, tg_session *session)
{
	tg_status status = tg_job_status(job);

	if (status == TG_OK && tg_job_is_cancelled(job))
		status = TG_CANCELLED;
	release_job_side(session, tg_job_argument(job), status);
}

static void
stop_channel(tg_job *job, tg_session *session)
{
	const tg_scan_job *scan = tg_job_argument(job);

	tg_ring_channel_stop(scan->channel, session);
}

static void
prepare_buffer(void *buffer, void *argument)
{
	const tg_scan_job *scan = argument;

	tg_vectors_init(buffer, scan->columns, scan->kinds, scan->column_count, scan->buffer_rows);
}

static unsigned
choose_task_count(const tg_scan_job_config *config, uint32_t chunk_count)
{
	unsigned count = config->tasks != 0 ? config->tasks : tg_worker_count();

	if (count > TASK_MAX)
		count = TASK_MAX;
	if (count > chunk_count)
		count = chunk_count; /* tasks beyond the number of morsels have no work */
	return count > 0 ? count : 1;
}

static unsigned
choose_buffer_rows(const tg_scan_job_config *config)
{
	unsigned rows = config->buffer_rows;

	if (rows != 0)
		return rows;
	rows = TG_SLOT_MAX;
	while (rows > BUFFER_ROWS_MIN && tg_vectors_bytes(config->kinds, config->column_count, rows) > BUFFER_BYTES_MAX)
		rows /= 2;
	return rows;
}

/* The structure with its arrays, in one allocation; NULL if refused. */
static tg_scan_job *
alloc_scan(tg_session *session, const tg_scan_job_config *config)
{
	uint32_t chunk_count = tg_table_chunk_count(config->table);
	unsigned task_count = choose_task_count(config, chunk_count);
	unsigned columns = config->column_count;
	size_t bytes =
		sizeof(tg_scan_job) + task_count * sizeof(scan_task) + columns * (sizeof(uint16_t) + sizeof(uint8_t));
	tg_scan_job *scan;
	uint16_t *own_columns;
	uint8_t *own_kinds;

	/* a multiple is aligned to it */
	bytes = (bytes + TG_CACHE_LINE - 1) & ~(size_t) (TG_CACHE_LINE - 1);
	scan = tg_alloc(session, bytes, TG_USE_JOB, TG_DATA);
	if (scan == NULL)
		return NULL;
	*scan = (tg_scan_job){.table = config->table,
						  .snapshot = config->snapshot,
						  .chunk_count = chunk_count,
						  .task_count = task_count,
						  .buffer_rows = choose_buffer_rows(config),
						  .column_count = columns,
						  .references = 2,
						  .spawned_count = 1};
	scan->tasks = (scan_task *) (scan + 1);
	own_columns = (uint16_t *) (scan->tasks + task_count);
	own_kinds = (uint8_t *) (own_columns + columns);
	for (unsigned i = 0; i < columns; i++)
	{
		own_columns[i] = config->columns[i];
		own_kinds[i] = config->kinds[i];
	}
	scan->columns = own_columns;
	scan->kinds = own_kinds;
	return scan;
}

static size_t
buffer_bytes(const tg_scan_job *scan)
{
	return tg_vectors_bytes(scan->kinds, scan->column_count, scan->buffer_rows);
}

static unsigned
buffer_count(const tg_scan_job *scan)
{
	return BUFFERS_PER_TASK * scan->task_count + BUFFERS_OF_CONSUMER;
}

static tg_status
create_channel(tg_session *session, tg_scan_job *scan, void *waiter)
{
	tg_status status = tg_ring_channel_create(session, buffer_bytes(scan), buffer_count(scan), scan->task_count, waiter,
											  &scan->channel);

	if (status == TG_OK)
		tg_ring_channel_prepare(scan->channel, prepare_buffer, scan);
	return status;
}

static tg_status
create_job(tg_session *session, tg_scan_job *scan, const tg_scan_job_config *config)
{
	const tg_job_config job = {.kind = "scan",
							   .owner = config->owner,
							   .object = config->object,
							   .level = SCAN_LEVEL,
							   .pool_only = true, /* the caller empties the channel */
							   .argument = scan,
							   .memory_max = config->memory_max,
							   .teardown = tear_down,
							   .cancelled = stop_channel};
	tg_status status = tg_job_create(session, &job, &scan->job);

	if (status != TG_OK)
		return status;
	tg_job_expect(scan->job, scan->chunk_count);
	status = tg_job_memory_take(scan->job, buffer_bytes(scan) * buffer_count(scan));
	if (status != TG_OK)
		return status;
	for (unsigned i = 0; i < scan->task_count; i++)
	{
		scan->tasks[i] = (scan_task){.scan = scan};
		tg_task_init(&scan->tasks[i].task, i == 0 ? run_first_task : run_scan_task, scan->job);
	}
	return TG_OK;
}

tg_status
tg_scan_job_start(tg_session *session, const tg_scan_job_config *config, tg_scan_job **scan_out)
{
	tg_scan_job *scan;
	bool published = false;
	tg_status status;

	if (!tg_scheduler_is_running() || tg_serial_takes_level(SCAN_LEVEL))
		return TG_STOPPED;
	if ((scan = alloc_scan(session, config)) == NULL)
		return TG_NO_MEMORY;
	tg_table_retain(scan->table);
	if ((status = create_channel(session, scan, config->waiter)) != TG_OK)
		goto fail;
	if ((status = tg_snapshot_publish_job(scan->snapshot.time, false, &scan->horizon_entry)) != TG_OK)
		goto fail;
	published = true;
	if ((status = create_job(session, scan, config)) != TG_OK)
		goto fail;
	if ((status = tg_job_start(session, scan->job, &scan->tasks[0].task)) != TG_OK)
		goto fail;
	*scan_out = scan;
	return TG_OK;

fail:
	if (scan->job != NULL)
		tg_job_release(session, scan->job);
	if (published)
		tg_snapshot_withdraw_job(scan->horizon_entry);
	if (scan->channel != NULL)
	{
		scan->channel->ops->finish(scan->channel, session, status);
		tg_ring_channel_close(scan->channel, session);
	}
	tg_table_release(session, scan->table);
	tg_free(session, scan, TG_USE_JOB);
	return status;
}

/* --- the consumer's side --------------------------------------------------------------- */

static void
give_back_current(tg_session *session, tg_scan_job *scan)
{
	if (scan->current != NULL)
		tg_ring_channel_give_back(scan->channel, session, (void *) scan->current);
	scan->current = NULL;
}

tg_status
tg_scan_job_next(tg_session *session, tg_scan_job *scan, const tg_vectors **vectors_out)
{
	void *buffer;
	tg_status status;

	give_back_current(session, scan);
	status = tg_ring_channel_take(scan->channel, session, &buffer);
	if (status == TG_OK)
		*vectors_out = scan->current = buffer;
	else if (status == TG_BUSY && tg_job_is_cancelled(scan->job) && !tg_scheduler_is_running())
		return TG_STOPPED; /* its tasks may have been given up */
	return status;
}

void
tg_scan_job_end(tg_session *session, tg_scan_job *scan)
{
	give_back_current(session, scan);
	if (tg_job_state_get(scan->job) != TG_JOB_DONE)
		tg_job_cancel(session, scan->job);
	tg_ring_channel_close(scan->channel, session);
	tg_job_release(session, scan->job);
	release_scan(session, scan);
}
