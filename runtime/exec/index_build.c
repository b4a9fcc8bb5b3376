/*
 * index_build.c
 *	  Filling an index from the existing versions.
 *
 *	COLLECT	tasks of the pool, or the caller, take morsels of chunks; the entries of the
 *			versions in them become runs, each sorted
 *	MERGE	tasks merge the runs, each a range of keys, and load the tree (btree_load.h);
 *			duplicate keys of a unique index show here, because they are neighbours
 *	RECHECK	the entries loaded for versions that may have been removed meanwhile are
 *			checked again
 *
 *	ADD		instead of these, if other transactions write meanwhile or memory is short for
 *			runs: each entry is added on its own, and checked again at once
 *	VERIFY	then, of a unique index: each key of several rows is judged
 *
 * Which versions.  Every version in its row's chain gets its entries, and so every version that any
 * snapshot sees.  Its begin is a commit timestamp, or, in an exclusive build, possibly a reference
 * of the caller's own transaction: transactions that had written before have ended, and stamped
 * their versions, before the host's lock was granted.  In a build that is not exclusive the host
 * has waited, after the index was created, for all transactions that had written to the table
 * before.  So a version without an entry is stamped.  Versions with a reference are left alone,
 * because their slots may pass to another transaction at any moment.
 *
 * An UPDATE that keeps a key relies on the existing entry.  While the index is filled there may be
 * none: the old version may be cut out before the build comes to it, the new version has a
 * reference when the build passes it, and neither would get an entry.  So until the build has added
 * all entries, writers add theirs in any case (filling).  The flag is set before the index is in
 * the list.  A writer that does not see the flag therefore either does not see the index, and the
 * host has waited for that writer, or it has acquired the store that ended the filling.  In the
 * latter case the older version that the writer relies on has its entry.  Either it was stamped
 * when the build passed it, or its own writer has added the entry.  That writer had seen the index
 * and the flag, or had come here in the same way.  (If a build is given up before its end, the flag
 * is cleared, too.  No reader uses such an index, and the next build is of another index.)
 *
 * Versions removed meanwhile.  The collector continues to work.  It may cut out a version after the
 * build has read it, and look for the version's entry before the build adds it.  That would leave
 * an entry for ever.  So the builder looks at the chain again after adding, behind a full fence;
 * together with the remover's own order (index.c, 2), one of the two removes the entry:
 *
 *		build									remover
 *		adds the entry							cuts the version
 *		--- full fence ---						--- full fence ---
 *		walks the chain							looks for the entry
 *
 * Entries of live versions need no second look if the build is exclusive: no transaction ends these
 * versions.  (The load publishes all its entries by one store, under the lock of the empty root.
 * For any thread that looks, that lock is a later one.)
 *
 * Duplicates, exclusive: two live rows with the same key.  A row is live if its head version has
 * not been ended, not even by the caller itself.  Not exclusive: the build judges as a writer would
 * (txn/unique.c), now that every row has its entries: from here on writers see each other's.
 *
 * The primary key is built likewise, as a unique index: its entries have their row behind the key,
 * which the tree does not get.
 *
 * Two references keep a build: the caller's and the job's.  Runs belong to the build.
 * COLLECT is in index_run.c, MERGE and RECHECK in index_merge.c, ADD and VERIFY in index_add.c.
 */
#include "runtime/exec/index_build_internal.h"

#include "runtime/index/long_key.h"
#include "runtime/mem/arena.h"
#include "runtime/txn/read.h"
#include "runtime/base/check.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/session.h"
#include "runtime/sched/serial.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/index/entry.h"

#define BUILD_LEVEL 40		 /* work level: many records */
#define MORSEL_CHUNKS_MAX 64 /* so a run has up to 65,536 entries */
#define TASK_MAX 64

/* --- entries of versions -------------------------------------------------------------- */

/* The primary key of a version, as the only key of an index. */
static tg_status
open_primary(tg_session *session, const tg_index_build *build, const tg_chunk *chunk, unsigned slot,
			 tg_index_keys *keys)
{
	const tg_key_spec *spec = build->table->key;
	tg_value values[TG_COLUMN_MAX];
	size_t bytes;
	tg_status status;

	for (unsigned i = 0; i < spec->part_count; i++)
		tg_chunk_value(chunk, spec->part[i].column, slot, &values[spec->part[i].column]);
	status = tg_key_encode(session, build->table, chunk->layout->kinds, values, keys->key.entry, &bytes);
	keys->key.bytes = (uint32_t) bytes;
	keys->key.present = true;
	keys->key.distinct = false;
	keys->several = false;
	keys->count = 1;
	keys->next = 0;
	return status;
}

tg_status
tg_build_find_entries(tg_session *session, const tg_index_build *build, const tg_chunk *chunk, const tg_header *headers,
					  unsigned slot, tg_found_entries *found)
{
	tg_version version = tg_version_make(chunk, slot);
	bool is_live = true;
	tg_status status;

	if (headers != NULL)
	{
		tg_time begin = tg_load_acquire(&headers[slot].begin);

		if (tg_time_is_reference(begin) ? !build->exclusive || tg_reference_txn(begin) != build->own
										: begin >= TG_TIME_UNLINKED)
			return TG_NOT_FOUND;
		is_live = tg_time_is_open(tg_load_acquire(&headers[slot].end));
	}
	found->row = tg_version_row(version);
	is_live = is_live && tg_load_acquire(tg_row_head(build->table, found->row)) == version;
	status = build->index != NULL ? tg_index_keys_open_anew(session, build->index, version, &found->keys)
								  : open_primary(session, build, chunk, slot, &found->keys);
	if (status != TG_OK)
		return status;
	found->flags = (is_live ? TG_ENTRY_LIVE : 0) | (found->keys.key.distinct ? TG_ENTRY_DISTINCT : 0);
	return found->keys.count > 0 ? TG_OK : TG_NOT_FOUND;
}

/* Takes the next morsel; false: there is none. */
static bool
take_morsel(tg_index_build *build, uint32_t *first_out, uint32_t *end_out)
{
	uint32_t first;

	/* This look keeps the counter from growing without bound. */
	if (tg_load_relaxed(&build->next_chunk) >= build->chunk_count)
		return false;
	first = tg_fetch_add_relaxed(&build->next_chunk, build->morsel_chunks);
	if (first >= build->chunk_count)
		return false;
	*first_out = first;
	*end_out = build->chunk_count - first < build->morsel_chunks ? build->chunk_count : first + build->morsel_chunks;
	return true;
}
/* --- life ------------------------------------------------------------------------------ */

static void
free_runs(tg_session *session, tg_index_build *build)
{
	while (build->runs != NULL)
	{
		tg_build_run *run = build->runs;

		build->runs = run->next;
		tg_run_free(session, run);
	}
}

static void
release_build(tg_session *session, tg_index_build *build)
{
	if (tg_fetch_add_acq_rel(&build->references, (uint32_t) -1) != 1)
		return;
	tg_build_free_parts(session, build);
	free_runs(session, build);
	if (build->tasks != NULL)
		tg_free(session, build->tasks, TG_USE_JOB);
	if (build->index != NULL)
		tg_index_release(session, build->index);
	tg_table_release(session, build->table);
	tg_free(session, build, TG_USE_JOB);
}

tg_status
tg_index_build_begin(tg_session *session, const tg_index_build_config *config, tg_index_build **build_out)
{
	tg_index_build *build = tg_alloc_zeroed(session, sizeof(*build), TG_USE_JOB, TG_ESSENTIAL);

	if (build == NULL)
		return TG_NO_MEMORY;
	build->index = config->index;
	build->table = config->index != NULL ? config->index->table : config->table;
	if (build->index != NULL)
		tg_index_retain(build->index);
	tg_table_retain(build->table);
	build->exclusive = config->exclusive;
	build->waiter = config->waiter;
	build->owner = config->owner;
	build->memory_max = config->memory_max;
	build->claim = config->claim;
	build->goes_on = config->goes_on;
	build->own = session->id;
	build->references = 1;
	build->chunk_count = tg_table_chunk_count(build->table);
	build->phase = config->exclusive ? TG_BUILD_START : TG_BUILD_ADD;
	*build_out = build;
	return TG_OK;
}

static void
stop_job(tg_session *session, tg_index_build *build)
{
	tg_store_relaxed(&build->stops, true);
	tg_job_cancel(session, build->job);
}

bool
tg_index_build_cancel(tg_session *session, tg_index_build *build)
{
	if (build->job == NULL)
		return false;
	stop_job(session, build);
	return true;
}

void
tg_index_build_end(tg_session *session, tg_index_build *build)
{
	if (build->job != NULL)
	{
		if (tg_job_state_get(build->job) != TG_JOB_DONE)
			stop_job(session, build);
		tg_job_release(session, build->job);
	}
	release_build(session, build);
}

/* --- by tasks of the pool ---------------------------------------------------------------- */

static tg_turn
run_collect_task(tg_task *task, tg_worker *worker)
{
	tg_index_build *build = ((tg_build_task *) task)->build;

	for (;;)
	{
		uint32_t first;
		uint32_t end;
		tg_status status;

		if (tg_build_is_stopped(build, task->job) || tg_job_status(task->job) != TG_OK)
			return TG_TURN_DONE;
		if (tg_should_yield(worker))
			return TG_TURN_AGAIN;
		if (!take_morsel(build, &first, &end))
			return TG_TURN_DONE;
		status = tg_run_collect(tg_worker_session(worker), build, first, end);
		if (status != TG_OK)
			tg_job_fail(task->job, status);
		else
		{
			(void) tg_fetch_add_relaxed(&build->done, end - first);
			tg_job_progress(task->job, end - first, 0);
		}
	}
}

static tg_turn
run_first_task(tg_task *task, tg_worker *worker)
{
	tg_index_build *build = ((tg_build_task *) task)->build;

	for (; build->spawned_count < build->task_count; build->spawned_count++)
		tg_job_spawn(worker, task->job, &build->tasks[build->spawned_count].task);
	return build->run_task(task, worker);
}

static void
tear_down(tg_job *job, tg_session *session)
{
	release_build(session, tg_job_argument(job));
}

/*
 * Charges the merge's job for the runs, which it has from its beginning.  False: the caller has
 * collected more than a job may have.
 */
static bool
take_runs(const tg_index_build *build)
{
	for (const tg_build_run *run = tg_load_relaxed(&build->runs); run != NULL; run = run->next)
		if (tg_job_memory_take(build->job, tg_run_memory(run)) != TG_OK)
			return false;
	return true;
}

bool
tg_build_start_job(tg_session *session, tg_index_build *build, tg_turn (*run_task)(tg_task *task, tg_worker *worker),
				   uint32_t task_limit)
{
	const tg_job_config config = {.kind = "index",
								  .owner = build->owner,
								  .object = build->table->relation,
								  .level = BUILD_LEVEL,
								  .pool_only = true,
								  .argument = build,
								  .memory_max = build->memory_max,
								  .teardown = tear_down,
								  .waiter = build->waiter};

	if (!tg_scheduler_is_running() || task_limit < 2 || tg_serial_takes_level(BUILD_LEVEL))
		return false;
	if (build->tasks == NULL)
		build->tasks = tg_alloc(session, TASK_MAX * sizeof(tg_build_task), TG_USE_JOB, TG_DATA);
	if (build->tasks == NULL || tg_job_create(session, &config, &build->job) != TG_OK)
		return false;
	build->run_task = run_task;
	build->task_count = tg_worker_count() < TASK_MAX ? tg_worker_count() : TASK_MAX;
	if (build->task_count > task_limit)
		build->task_count = task_limit;
	tg_job_expect(build->job, build->chunk_count);
	if (!take_runs(build))
	{
		tg_job_release(session, build->job);
		build->job = NULL;
		return false;
	}
	for (unsigned i = 0; i < build->task_count; i++)
	{
		build->tasks[i].build = build;
		build->tasks[i].part = NULL;
		tg_task_init(&build->tasks[i].task, i == 0 ? run_first_task : run_task, build->job);
	}
	build->spawned_count = 1;
	(void) tg_fetch_add_acq_rel(&build->references, 1);
	if (tg_job_start(session, build->job, &build->tasks[0].task) == TG_OK)
		return true;
	tg_job_release(session, build->job);
	build->job = NULL;
	(void) tg_fetch_add_acq_rel(&build->references, (uint32_t) -1);
	return false;
}

tg_status
tg_build_wait_job(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	tg_status status;

	if (tg_job_state_get(build->job) != TG_JOB_DONE)
	{
		if (tg_job_is_cancelled(build->job) && !tg_scheduler_is_running())
			return TG_STOPPED; /* its tasks may have been given up */
		report->sleep = true;
		return TG_BUSY;
	}
	status = tg_job_status(build->job);
	if (status == TG_OK && tg_build_is_stopped(build, build->job))
		status = TG_CANCELLED;
	tg_job_release(session, build->job);
	build->job = NULL;
	return status;
}

/* --- steps -------------------------------------------------------------------------------- */

static tg_status
step_start(tg_session *session, tg_index_build *build)
{
	uint32_t share = build->chunk_count / (4 * (tg_worker_count() > 0 ? tg_worker_count() : 1));

	build->morsel_chunks = MORSEL_CHUNKS_MAX;
	if (share < build->morsel_chunks)
		build->morsel_chunks = share > 0 ? share : 1;
	build->phase = TG_BUILD_COLLECT;
	(void) tg_build_start_job(session, build, run_collect_task,
							  (build->chunk_count + build->morsel_chunks - 1) / build->morsel_chunks);
	return TG_AGAIN;
}

tg_status
tg_build_go_slow(tg_session *session, tg_index_build *build)
{
	tg_build_free_parts(session, build);
	free_runs(session, build);
	build->phase = TG_BUILD_ADD;
	return TG_AGAIN;
}

static tg_status
end_collection(tg_session *session, tg_index_build *build, tg_status status)
{
	if (status == TG_NO_MEMORY)
		return tg_build_go_slow(session, build);
	if (status != TG_OK)
		return status;
	build->phase = TG_BUILD_MERGE;
	return TG_AGAIN;
}

static tg_status
step_collect(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	uint32_t first;
	uint32_t end;
	tg_status status;

	if (build->job != NULL)
	{
		status = tg_build_wait_job(session, build, report);
		return status == TG_BUSY || status == TG_STOPPED ? status : end_collection(session, build, status);
	}
	if (!take_morsel(build, &first, &end))
		return end_collection(session, build, TG_OK);
	status = tg_run_collect(session, build, first, end);
	(void) tg_fetch_add_relaxed(&build->done, end - first);
	return status == TG_OK ? TG_AGAIN : end_collection(session, build, status);
}

static tg_status
step_phase(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	switch (build->phase)
	{
		case TG_BUILD_START:
			return step_start(session, build);
		case TG_BUILD_COLLECT:
			return step_collect(session, build, report);
		case TG_BUILD_MERGE:
			return tg_build_step_merge(session, build, report);
		case TG_BUILD_RECHECK:
			return tg_build_step_recheck(session, build);
		case TG_BUILD_ADD:
			return tg_build_step_add(session, build);
		case TG_BUILD_VERIFY:
			return tg_build_step_verify(session, build, report);
		case TG_BUILD_DONE:
			break;
	}
	return TG_OK;
}

tg_status
tg_index_build_step(tg_session *session, tg_index_build *build, tg_index_build_report *report_out)
{
	tg_status status;

	*report_out = (tg_index_build_report){.expected = build->chunk_count};
	status = step_phase(session, build, report_out);
	report_out->stage = build->phase == TG_BUILD_VERIFY										 ? TG_BUILD_VERIFIES
						: build->phase == TG_BUILD_MERGE || build->phase == TG_BUILD_RECHECK ? TG_BUILD_LOADS
																							 : TG_BUILD_READS;
	report_out->done = tg_load_relaxed(&build->done);
	report_out->loaded = tg_load_relaxed(&build->loaded);
	report_out->to_load = build->to_load;
	return status;
}

tg_version
tg_index_build_twin(const tg_index_build *build, const tg_snapshot *snapshot, const tg_index_build_report *report)
{
	for (unsigned i = 0; i < 2; i++)
	{
		tg_version version;
		tg_wait wait;

		if (tg_txn_read(snapshot, build->table, report->rows[i], &version, &wait) == TG_OK &&
			tg_index_has_key(build->index, version, build->last, build->last_bytes))
			return version;
	}
	return TG_VERSION_NONE;
}
