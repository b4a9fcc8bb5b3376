/*
 * index_build.c
 *	  Filling an index from the versions that are there.
 *
 *	COLLECT	tasks of the pool, or the caller, take morsels of chunks; the entries of the versions in
 *			them become runs, each sorted
 *	MERGE	the caller merges the runs and loads the tree (btree_load.h); a unique index's
 *			twins show, for they follow each other
 *	RECHECK	what was loaded for versions that may have gone meanwhile is looked at again
 *
 *	ADD		instead of these, where others write meanwhile or memory is short for runs: each entry is
 *			added by itself, and looked at again at once
 *	VERIFY	then, of a unique index: each key of several rows is judged
 *
 * Which versions.  Every one that is in its row's chain, and so every one that somebody
 * sees: begin is a commit timestamp, or a reference of the caller's own transaction (exclusive: who had
 * written before has ended, and stamped, before the host's lock was given).  Not exclusive:
 * the host has waited, after the index was created, for all who had written to the table before; so
 * whatever is without an entry is stamped, and versions with a reference are left alone,
 * for their slots may belong to somebody else at any moment.
 *
 * Versions that go meanwhile.  The collector works on.  A version that it cuts out
 * after the build has read it, and whose entry it looked for before the build added it, would leave an
 * entry for good.  So who adds looks at the chain again, after a full fence; with the remover's own
 * order (index.c, 2) one of the two removes it:
 *
 *		build									remover
 *		adds the entry							cuts the version
 *		--- full fence ---						--- full fence ---
 *		walks the chain							looks for the entry
 *
 * Entries of live versions need no second look if the build is exclusive: nobody ends
 * them.  (The load publishes all its entries by one store, under the lock of the
 * empty root, which is a later one for whoever looks.)
 *
 * Twins, exclusive: two live rows with the same key; live means that the version
 * is its row's head and has not been ended (not even by the caller himself).  Not
 * exclusive: judged as a writer would be (unique.c), now that every row has its entries:
 * from here on writers see each other's.
 *
 * A run is an array of 16-byte records, and the entries' bytes.  It is sorted by the
 * eight bytes behind what all its entries have in common, by their bytes from the last to
 * the first (radix sort, those that do not differ left out), then records of the same eight
 * bytes by the rest.  For merging, the words of all runs are those behind what all entries have
 * in common, so that few comparisons look at the entries.
 *
 * Two references keep a build: the caller's and the job's.  Runs belong to the build.
 */
#include "runtime/exec/index_build.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/sched/job.h"
#include "runtime/sched/scheduler.h"
#include "runtime/storage/btree_load.h"

#define BUILD_LEVEL 40		  /* work level: many records */
#define RUN_SLOTS_MAX 65536	  /* slots of the chunks of a morsel, and so entries of a run */
#define RUN_BYTES_PER_SLOT 32 /* room for entries' bytes; a run ends where it is used up */
#define TASK_MAX 64
#define STEP_ENTRIES 20000 /* merged in a step */
#define STEP_CHUNKS 4	   /* of a step of ADD */
#define EPOCH_ENTRIES 512
#define RECORDS_AHEAD 4 /* of a run, whose entries' bytes are asked for */

/* Of an entry. */
#define ENTRY_LIVE 1	 /* of its row's live version */
#define ENTRY_DISTINCT 2 /* it has a NULL that no other is equal to */

typedef struct run_record
{
	uint64_t word;	/* eight bytes of the key, big-endian */
	uint32_t at;	/* of the entry's bytes */
	uint16_t bytes; /* of the entry */
	uint16_t flags;
} run_record;

_Static_assert(sizeof(run_record) == 16, "a record is 16 bytes");

typedef struct build_run
{
	struct build_run *next;
	run_record *records;
	unsigned char *bytes;
	uint32_t count;
	uint32_t capacity;
	uint32_t used;
	uint32_t room;
	uint32_t prefix;   /* bytes before the words */
	uint32_t position; /* MERGE: of the next record */
} build_run;

/* Of the runs that are merged: the word of its next record is looked at here. */
typedef struct merge_place
{
	uint64_t word;
	build_run *run;
} merge_place;

typedef enum build_phase
{
	PHASE_START,
	PHASE_COLLECT,
	PHASE_MERGE,
	PHASE_RECHECK,
	PHASE_ADD,
	PHASE_VERIFY,
	PHASE_DONE
} build_phase;

typedef struct build_task
{
	tg_task task; /* first */
	tg_index_build *build;
} build_task;

struct tg_index_build
{
	uint32_t next_chunk; /* atomic: tasks count it up, by morsels */

	/* constant once it has begun */
	tg_table *table TG_CACHE_ALIGNED; /* a reference */
	tg_index *index;				  /* a reference */
	bool exclusive;
	void *waiter;
	uint64_t owner;
	unsigned own; /* the caller's transaction */
	uint32_t chunk_count;
	uint32_t morsel_chunks;

	uint32_t references; /* atomic */
	build_run *runs;	 /* atomic: a stack; the caller's once all is collected */

	/* the caller's */
	build_phase phase;
	tg_job *job; /* NULL: collected in place */
	unsigned task_count;
	unsigned spawned_count; /* tasks that are on their way; first task only */
	build_task *tasks;
	tg_btree_load *load;
	merge_place *heap; /* MERGE: runs by their next record, the least first */
	uint32_t heap_count;
	bool has_last;
	bool last_is_judged; /* VERIFY: the rows of the last key have been */
	uint32_t last_bytes;
	unsigned char last[TG_KEY_BYTES_MAX]; /* MERGE: the entry loaded last; VERIFY: the last key */
	uint32_t live_row;					  /* MERGE: of the last key, a row that has it; or TG_ROW_MAX */
	build_run *rechecked;				  /* RECHECK: run in hand */
	uint32_t at_chunk;					  /* ADD */
	tg_btree_cursor cursor;				  /* VERIFY */
	bool in_verify;
	uint64_t done;
};

/* --- entries of versions -------------------------------------------------------------- */

typedef struct found_entry
{
	tg_index_key key;
	uint32_t row;
	uint16_t flags;
} found_entry;

/* The entry of a slot's version, if it has one and should: TG_OK; TG_NOT_FOUND; TG_TOO_LARGE.  Inside an epoch. */
static tg_status
find_entry(const tg_index_build *build, const tg_chunk *chunk, const tg_header *headers, unsigned slot,
		   found_entry *found)
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
	status = tg_index_key_of_version(build->index, version, &found->key);
	if (status != TG_OK)
		return status;
	found->flags = (is_live ? ENTRY_LIVE : 0) | (found->key.distinct ? ENTRY_DISTINCT : 0);
	return found->key.present ? TG_OK : TG_NOT_FOUND;
}

/* --- runs ----------------------------------------------------------------------------- */

static void
free_run(tg_session *session, build_run *run)
{
	if (run->records != NULL)
		tg_free(session, run->records, TG_USE_JOB);
	if (run->bytes != NULL)
		tg_free(session, run->bytes, TG_USE_JOB);
	tg_free(session, run, TG_USE_JOB);
}

static build_run *
make_run(tg_session *session, uint32_t slots)
{
	build_run *run = tg_alloc_zeroed(session, sizeof(*run), TG_USE_JOB, TG_DATA);

	if (run == NULL)
		return NULL;
	run->capacity = slots;
	run->room = slots * RUN_BYTES_PER_SLOT + TG_KEY_BYTES_MAX;
	run->records = tg_alloc(session, slots * sizeof(run_record), TG_USE_JOB, TG_DATA);
	run->bytes = tg_alloc(session, run->room, TG_USE_JOB, TG_DATA);
	if (run->records != NULL && run->bytes != NULL)
		return run;
	free_run(session, run);
	return NULL;
}

static inline const unsigned char *
bytes_of(const build_run *run, const run_record *record)
{
	return run->bytes + record->at;
}

static inline int
compare_bytes(const unsigned char *a, unsigned a_bytes, const unsigned char *b, unsigned b_bytes)
{
	int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order != 0 ? order : (int) a_bytes - (int) b_bytes;
}

/* What all entries of a run have in common. */
static unsigned
common_prefix(const build_run *run)
{
	const unsigned char *first = bytes_of(run, &run->records[0]);
	unsigned common = run->records[0].bytes;

	for (uint32_t i = 1; i < run->count && common > 0; i++)
	{
		const unsigned char *other = bytes_of(run, &run->records[i]);
		unsigned limit = run->records[i].bytes < common ? run->records[i].bytes : common;

		for (common = 0; common < limit && first[common] == other[common];)
			common++;
	}
	return common;
}

static void
set_words(build_run *run, unsigned prefix)
{
	run->prefix = prefix;
	for (uint32_t i = 0; i < run->count; i++)
	{
		run_record *record = &run->records[i];
		const unsigned char *bytes = bytes_of(run, record) + prefix;
		unsigned left = record->bytes - prefix;
		uint64_t word = 0;

		for (unsigned j = 0; j < 8; j++)
			word = word << 8 | (j < left ? bytes[j] : 0);
		record->word = word;
	}
}

/* By one byte of the words, keeping the order of those that are equal. */
static void
sort_by_byte(const run_record *from, run_record *to, uint32_t count, unsigned shift)
{
	uint32_t places[257] = {0};

	for (uint32_t i = 0; i < count; i++)
		places[(from[i].word >> shift & 0xff) + 1]++;
	for (unsigned i = 1; i < 257; i++)
		places[i] += places[i - 1];
	for (uint32_t i = 0; i < count; i++)
		to[places[from[i].word >> shift & 0xff]++] = from[i];
}

/* Records of one word, by all their bytes. */
static int
compare_records(const void *a, const void *b, void *run)
{
	const run_record *left = a;
	const run_record *right = b;

	return compare_bytes(bytes_of(run, left), left->bytes, bytes_of(run, right), right->bytes);
}

static tg_status
sort_run(tg_session *session, build_run *run)
{
	uint64_t all = UINT64_MAX;
	uint64_t any = 0;
	run_record *other;

	if (run->count == 0)
		return TG_OK;
	set_words(run, common_prefix(run));
	for (uint32_t i = 0; i < run->count; i++)
	{
		all &= run->records[i].word;
		any |= run->records[i].word;
	}
	other = tg_alloc(session, run->count * sizeof(run_record), TG_USE_JOB, TG_DATA);
	if (other == NULL)
		return TG_NO_MEMORY;
	for (unsigned shift = 0; shift < 64; shift += 8)
	{
		run_record *sorted = other;

		if (((all ^ any) >> shift & 0xff) == 0)
			continue; /* the same in all */
		sort_by_byte(run->records, sorted, run->count, shift);
		other = run->records;
		run->records = sorted;
	}
	tg_free(session, other, TG_USE_JOB);
	for (uint32_t i = 0; i < run->count;)
	{
		uint32_t end = i + 1;

		while (end < run->count && run->records[end].word == run->records[i].word)
			end++;
		if (end - i > 1)
			qsort_r(&run->records[i], end - i, sizeof(run_record), compare_records, run);
		i = end;
	}
	return TG_OK;
}

/* Sorts a run and gives it to the build. */
static tg_status
finish_run(tg_session *session, tg_index_build *build, build_run *run)
{
	tg_status status = sort_run(session, run);

	if (status != TG_OK || run->count == 0)
	{
		free_run(session, run);
		return status;
	}
	run->next = tg_load_relaxed(&build->runs);
	while (!tg_cas_acq_rel(&build->runs, &run->next, run))
		;
	return TG_OK;
}

/* False: the run has no place for it. */
static bool
append_entry(build_run *run, found_entry *found)
{
	size_t bytes;

	if (run->count == run->capacity || run->used + found->key.bytes + TG_INDEX_ROW_BYTES > run->room)
		return false;
	bytes = tg_index_entry_make(&found->key, found->row);
	memcpy(run->bytes + run->used, found->key.entry, bytes);
	run->records[run->count++] = (run_record){.at = run->used, .bytes = (uint16_t) bytes, .flags = found->flags};
	run->used += (uint32_t) bytes;
	return true;
}

/* The entries of a chunk from a slot on; stops where the run is full, and returns that slot. */
static tg_status
collect_chunk(const tg_index_build *build, const tg_chunk *chunk, build_run *run, unsigned *slot_inout)
{
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers = tg_chunk_look(chunk, present);

	for (; *slot_inout < chunk->capacity; (*slot_inout)++)
	{
		found_entry found;
		tg_status status;

		if ((present[*slot_inout / 64] >> *slot_inout % 64 & 1) == 0)
			continue;
		status = find_entry(build, chunk, headers, *slot_inout, &found);
		if (status == TG_NOT_FOUND)
			continue;
		if (status != TG_OK)
			return status;
		if (!append_entry(run, &found))
			return TG_OK;
	}
	return TG_OK;
}

/* Chunks [first, end) into as many runs as it takes. */
static tg_status
collect_morsel(tg_session *session, tg_index_build *build, uint32_t first, uint32_t end)
{
	unsigned slot = 0;

	while (first < end)
	{
		build_run *run = make_run(session, (end - first) * TG_SLOT_MAX);
		tg_status status = TG_OK;

		if (run == NULL)
			return TG_NO_MEMORY;
		while (first < end && status == TG_OK)
		{
			const tg_chunk *chunk;
			bool is_through;

			tg_epoch_enter(session);
			chunk = tg_table_chunk(build->table, first);
			if (chunk != NULL)
				status = collect_chunk(build, chunk, run, &slot);
			is_through = chunk == NULL || slot >= chunk->capacity;
			tg_epoch_leave(session);
			if (!is_through)
				break;
			slot = 0;
			first++;
		}
		if (status != TG_OK)
		{
			free_run(session, run);
			return status;
		}
		status = finish_run(session, build, run);
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}

/* The next morsel; false: there is none. */
static bool
take_morsel(tg_index_build *build, uint32_t *first_out, uint32_t *end_out)
{
	uint32_t first;

	/* The look before keeps the counter from running on. */
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
		build_run *run = build->runs;

		build->runs = run->next;
		free_run(session, run);
	}
}

static void
release_build(tg_session *session, tg_index_build *build)
{
	if (tg_fetch_add_acq_rel(&build->references, (uint32_t) -1) != 1)
		return;
	free_runs(session, build);
	if (build->tasks != NULL)
		tg_free(session, build->tasks, TG_USE_JOB);
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
	build->table = config->index->table;
	tg_index_retain(build->index);
	tg_table_retain(build->table);
	build->exclusive = config->exclusive;
	build->waiter = config->waiter;
	build->owner = config->owner;
	build->own = session->id;
	build->references = 1;
	build->chunk_count = tg_table_chunk_count(build->table);
	build->phase = config->exclusive ? PHASE_START : PHASE_ADD;
	*build_out = build;
	return TG_OK;
}

void
tg_index_build_end(tg_session *session, tg_index_build *build)
{
	if (build->job != NULL)
	{
		if (tg_job_state_get(build->job) != TG_JOB_DONE)
			tg_job_cancel(session, build->job);
		tg_job_release(session, build->job);
	}
	if (build->load != NULL)
		tg_btree_load_abandon(session, build->load);
	if (build->heap != NULL)
		tg_free(session, build->heap, TG_USE_JOB);
	release_build(session, build);
}

/* --- by tasks of the pool ---------------------------------------------------------------- */

static tg_turn
run_build_task(tg_task *task, tg_worker *worker)
{
	tg_index_build *build = ((build_task *) task)->build;

	for (;;)
	{
		uint32_t first;
		uint32_t end;
		tg_status status;

		if (tg_job_is_cancelled(task->job) || tg_job_status(task->job) != TG_OK)
			return TG_TURN_DONE;
		if (tg_should_yield(worker))
			return TG_TURN_AGAIN;
		if (!take_morsel(build, &first, &end))
			return TG_TURN_DONE;
		status = collect_morsel(tg_worker_session(worker), build, first, end);
		if (status != TG_OK)
			tg_job_fail(task->job, status);
		else
			tg_job_progress(task->job, end - first, 0);
	}
}

static tg_turn
run_first_task(tg_task *task, tg_worker *worker)
{
	tg_index_build *build = ((build_task *) task)->build;

	for (; build->spawned_count < build->task_count; build->spawned_count++)
		tg_job_spawn(worker, task->job, &build->tasks[build->spawned_count].task);
	return run_build_task(task, worker);
}

static void
tear_down(tg_job *job, tg_session *session)
{
	release_build(session, tg_job_argument(job));
}

/* False: there is no pool, or no room. */
static bool
start_job(tg_session *session, tg_index_build *build)
{
	const tg_job_config config = {.kind = "index",
								  .owner = build->owner,
								  .object = build->table->relation,
								  .level = BUILD_LEVEL,
								  .pool_only = true,
								  .argument = build,
								  .teardown = tear_down,
								  .waiter = build->waiter};
	uint32_t morsels = (build->chunk_count + build->morsel_chunks - 1) / build->morsel_chunks;

	if (!tg_scheduler_is_running() || morsels < 2)
		return false;
	build->task_count = tg_worker_count() < TASK_MAX ? tg_worker_count() : TASK_MAX;
	if (build->task_count > morsels)
		build->task_count = morsels;
	build->tasks = tg_alloc_zeroed(session, build->task_count * sizeof(build_task), TG_USE_JOB, TG_DATA);
	if (build->tasks == NULL || tg_job_create(session, &config, &build->job) != TG_OK)
		return false;
	tg_job_expect(build->job, build->chunk_count);
	for (unsigned i = 0; i < build->task_count; i++)
	{
		build->tasks[i].build = build;
		tg_task_init(&build->tasks[i].task, i == 0 ? run_first_task : run_build_task, build->job);
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

/* --- steps -------------------------------------------------------------------------------- */

static tg_status
step_start(tg_session *session, tg_index_build *build)
{
	uint32_t share = build->chunk_count / (4 * (tg_worker_count() > 0 ? tg_worker_count() : 1));

	build->morsel_chunks = RUN_SLOTS_MAX / TG_SLOT_MAX;
	if (share < build->morsel_chunks)
		build->morsel_chunks = share > 0 ? share : 1;
	(void) start_job(session, build);
	build->phase = PHASE_COLLECT;
	return TG_AGAIN;
}

/* Memory is short for runs: the slow way needs none but the tree's. */
static tg_status
go_slow(tg_session *session, tg_index_build *build)
{
	if (build->load != NULL)
		tg_btree_load_abandon(session, build->load);
	build->load = NULL;
	free_runs(session, build);
	build->phase = PHASE_ADD;
	return TG_AGAIN;
}

static tg_status
end_collection(tg_session *session, tg_index_build *build, tg_status status)
{
	if (status == TG_NO_MEMORY)
		return go_slow(session, build);
	if (status != TG_OK)
		return status;
	build->phase = PHASE_MERGE;
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
		if (tg_job_state_get(build->job) != TG_JOB_DONE)
		{
			if (tg_job_is_cancelled(build->job) && !tg_scheduler_is_running())
				return TG_STOPPED; /* its tasks may have been given up */
			report->sleep = true;
			return TG_BUSY;
		}
		status = tg_job_status(build->job);
		if (status == TG_OK && tg_job_is_cancelled(build->job))
			status = TG_CANCELLED;
		return end_collection(session, build, status);
	}
	if (!take_morsel(build, &first, &end))
		return end_collection(session, build, TG_OK);
	status = collect_morsel(session, build, first, end);
	build->done += end - first;
	return status == TG_OK ? TG_AGAIN : end_collection(session, build, status);
}

/* --- merging ------------------------------------------------------------------------------ */

static inline const run_record *
next_record(const build_run *run)
{
	return &run->records[run->position];
}

static inline bool
is_before(const merge_place *a, const merge_place *b)
{
	const run_record *left;
	const run_record *right;

	if (tg_likely(a->word != b->word))
		return a->word < b->word;
	left = next_record(a->run);
	right = next_record(b->run);
	return compare_bytes(bytes_of(a->run, left), left->bytes, bytes_of(b->run, right), right->bytes) < 0;
}

/* Lets a run sink from this place of the heap to where it belongs. */
static void
sink(tg_index_build *build, uint32_t place, merge_place sinking)
{
	merge_place *heap = build->heap;

	for (;;)
	{
		uint32_t child = 2 * place + 1;

		if (child >= build->heap_count)
			break;
		if (child + 1 < build->heap_count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &sinking))
			break;
		heap[place] = heap[child];
		place = child;
	}
	heap[place] = sinking;
}

/* The run on top has gone on. */
static void
sink_top(tg_index_build *build)
{
	merge_place top = build->heap[0];

	if (top.run->position == top.run->count)
	{
		build->heap_count--;
		top = build->heap[build->heap_count];
	}
	else
	{
		top.word = next_record(top.run)->word;
		if (top.run->position + RECORDS_AHEAD < top.run->count)
			__builtin_prefetch(bytes_of(top.run, next_record(top.run) + RECORDS_AHEAD));
	}
	if (build->heap_count > 0)
		sink(build, 0, top);
}

/* What the entries of all runs have in common. */
static unsigned
common_prefix_of_runs(const build_run *runs)
{
	unsigned common = runs != NULL ? runs->prefix : 0;

	for (const build_run *run = runs; run != NULL; run = run->next)
	{
		const unsigned char *first = bytes_of(runs, &runs->records[0]);
		const unsigned char *other = bytes_of(run, &run->records[0]);
		unsigned limit = run->prefix < common ? run->prefix : common;

		for (common = 0; common < limit && first[common] == other[common];)
			common++;
	}
	return common;
}

static tg_status
begin_merge(tg_session *session, tg_index_build *build)
{
	unsigned prefix = common_prefix_of_runs(build->runs);
	uint32_t count = 0;

	for (build_run *run = build->runs; run != NULL; run = run->next)
		count++;
	build->heap = tg_alloc(session, (count + 1) * sizeof(merge_place), TG_USE_JOB, TG_DATA);
	if (build->heap == NULL)
		return TG_NO_MEMORY;
	for (build_run *run = build->runs; run != NULL; run = run->next)
	{
		if (run->prefix != prefix)
			set_words(run, prefix);
		build->heap[build->heap_count++] = (merge_place){.word = run->records[0].word, .run = run};
	}
	for (uint32_t i = build->heap_count / 2; i-- > 0;)
		sink(build, i, build->heap[i]);
	return tg_btree_load_begin(session, &build->load);
}

static void
report_twins(tg_index_build *build, uint32_t a, uint32_t b, tg_index_build_report *report)
{
	report->rows[0] = a;
	report->rows[1] = b;
	report->twin = tg_load_acquire(tg_row_head(build->table, b));
}

static uint32_t
row_of_entry(const unsigned char *entry, size_t bytes)
{
	const unsigned char *row = entry + bytes - TG_INDEX_ROW_BYTES;

	return (uint32_t) row[0] << 24 | (uint32_t) row[1] << 16 | (uint32_t) row[2] << 8 | row[3];
}

/* Loads an entry, unless it is the one loaded last: several versions of a row may have one key. */
static tg_status
load_entry(tg_session *session, tg_index_build *build, const unsigned char *entry, const run_record *record,
		   tg_index_build_report *report)
{
	uint32_t row = row_of_entry(entry, record->bytes);
	bool is_same_key = build->has_last && record->bytes == build->last_bytes &&
					   memcmp(entry, build->last, record->bytes - TG_INDEX_ROW_BYTES) == 0;

	if (!is_same_key)
		build->live_row = TG_ROW_MAX;
	if (build->index->spec.unique && (record->flags & (ENTRY_LIVE | ENTRY_DISTINCT)) == ENTRY_LIVE)
	{
		if (build->live_row != TG_ROW_MAX)
		{
			report_twins(build, build->live_row, row, report);
			return TG_EXISTS;
		}
		build->live_row = row;
	}
	if (is_same_key && memcmp(entry, build->last, record->bytes) == 0)
		return TG_OK;
	memcpy(build->last, entry, record->bytes);
	build->last_bytes = record->bytes;
	build->has_last = true;
	return tg_btree_load_add(session, build->load, entry, record->bytes, row);
}

static tg_status
finish_merge(tg_session *session, tg_index_build *build)
{
	tg_status status;

	tg_epoch_enter(session);
	status = tg_btree_load_finish(session, build->load, build->index->tree);
	tg_epoch_leave(session);
	if (status != TG_OK)
		return status;
	build->load = NULL;
	build->phase = PHASE_RECHECK;
	build->rechecked = build->runs;
	for (build_run *run = build->runs; run != NULL; run = run->next)
		run->position = 0;
	return TG_AGAIN;
}

static tg_status
step_merge(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	tg_status status = build->heap == NULL ? begin_merge(session, build) : TG_OK;

	for (unsigned i = 0; i < STEP_ENTRIES && status == TG_OK && build->heap_count > 0; i++)
	{
		build_run *run = build->heap[0].run;
		const run_record *record = next_record(run);

		status = load_entry(session, build, bytes_of(run, record), record, report);
		run->position++;
		sink_top(build);
	}
	if (status == TG_OK)
		status = build->heap_count > 0 ? TG_AGAIN : finish_merge(session, build);
	return status == TG_NO_MEMORY ? go_slow(session, build) : status;
}

/* Entries of versions that others may have cut out meanwhile. */
static tg_status
step_recheck(tg_session *session, tg_index_build *build)
{
	unsigned looked = 0;

	for (; build->rechecked != NULL; build->rechecked = build->rechecked->next)
	{
		build_run *run = build->rechecked;

		tg_epoch_enter(session);
		for (; run->position < run->count && looked < EPOCH_ENTRIES; run->position++)
		{
			const run_record *record = next_record(run);
			tg_index_key key;

			if ((record->flags & ENTRY_LIVE) != 0)
				continue;
			key.bytes = record->bytes - TG_INDEX_ROW_BYTES;
			memcpy(key.entry, bytes_of(run, record), record->bytes);
			tg_index_entry_recheck(session, build->index, &key, row_of_entry(key.entry, record->bytes));
			looked++;
		}
		tg_epoch_leave(session);
		if (run->position < run->count)
			return TG_AGAIN;
	}
	build->phase = PHASE_DONE;
	return TG_OK;
}

/* --- one by one --------------------------------------------------------------------------- */

static tg_status
add_chunk(tg_session *session, tg_index_build *build, const tg_chunk *chunk)
{
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers = tg_chunk_look(chunk, present);

	for (unsigned slot = 0; slot < chunk->capacity; slot++)
	{
		found_entry found;
		tg_status status;

		if ((present[slot / 64] >> slot % 64 & 1) == 0)
			continue;
		status = find_entry(build, chunk, headers, slot, &found);
		if (status == TG_NOT_FOUND)
			continue;
		tg_failpoint("index_build_found");
		if (status == TG_OK)
			status = tg_index_entry_add(session, build->index, &found.key, found.row, TG_DATA);
		if (status != TG_OK)
			return status;
		tg_index_entry_recheck(session, build->index, &found.key, found.row);
	}
	return TG_OK;
}

static tg_status
step_add(tg_session *session, tg_index_build *build)
{
	tg_status status = TG_OK;

	for (unsigned i = 0; i < STEP_CHUNKS && build->at_chunk < build->chunk_count && status == TG_OK; i++)
	{
		const tg_chunk *chunk;

		tg_epoch_enter(session);
		chunk = tg_table_chunk(build->table, build->at_chunk);
		if (chunk != NULL)
			status = add_chunk(session, build, chunk);
		tg_epoch_leave(session);
		build->done = ++build->at_chunk;
	}
	if (status != TG_OK || build->at_chunk < build->chunk_count)
		return status != TG_OK ? status : TG_AGAIN;
	build->phase = build->index->spec.unique ? PHASE_VERIFY : PHASE_DONE;
	return build->phase == PHASE_DONE ? TG_OK : TG_AGAIN;
}

/* --- verifying ---------------------------------------------------------------------------- */

/* Whether the key is one that no other is equal to, as the row's versions that have it say. */
static bool
is_distinct(const tg_index_build *build, const tg_index_key *key, uint32_t row)
{
	tg_version version = tg_load_acquire(tg_row_head(build->table, row));

	while (!tg_head_is_closed(version) && version != TG_VERSION_NONE)
	{
		const tg_header *headers = tg_chunk_headers(tg_version_chunk(version));
		tg_index_key own;

		if (tg_index_key_of_version(build->index, version, &own) == TG_OK && own.present && own.bytes == key->bytes &&
			memcmp(own.entry, key->entry, key->bytes) == 0)
			return own.distinct;
		if (headers == NULL)
			break;
		version = tg_load_acquire(&headers[tg_version_slot(version)].older);
	}
	return false;
}

/* The rows of a key, of which there are several: are two of them live, or may be? */
static tg_status
judge_key(tg_session *session, tg_index_build *build, const tg_index_key *key, tg_index_build_report *report)
{
	tg_btree_cursor cursor;
	uint32_t row;
	uint32_t holder = TG_ROW_MAX;
	bool is_open = false; /* somebody's end decides */

	tg_btree_cursor_init(&cursor, build->index->tree, key->entry, key->bytes, true, key->entry, key->bytes, true,
						 false);
	while (tg_btree_cursor_next(&cursor, &row, 1) > 0)
	{
		tg_wait wait;
		tg_status status = tg_unique_judge(session, build->index, key, row, &wait);

		if (status == TG_OK)
			continue;
		if (is_distinct(build, key, row))
			return TG_OK;
		if (status == TG_BUSY)
		{
			report->wait = wait;
			is_open = true;
		}
		if (holder != TG_ROW_MAX && !is_open)
		{
			report_twins(build, holder, row, report);
			return TG_EXISTS;
		}
		if (holder != TG_ROW_MAX)
			return TG_BUSY;
		holder = row;
	}
	return TG_OK;
}

static tg_status
verify_epoch(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	unsigned char bytes[TG_KEY_BYTES_MAX + sizeof(uint16_t)];

	for (unsigned i = 0; i < EPOCH_ENTRIES; i++)
	{
		tg_btree_keys keys = {.bytes = bytes, .capacity = sizeof(bytes)};
		const unsigned char *entry;
		tg_index_key key;
		size_t key_bytes;
		uint32_t row;
		tg_status status;

		if (tg_btree_cursor_next_keys(&build->cursor, &row, 1, &keys) == 0)
		{
			build->phase = PHASE_DONE;
			return TG_OK;
		}
		(void) tg_index_entry_next(bytes, &entry, &key_bytes);
		if (!build->has_last || build->last_bytes != key_bytes || memcmp(build->last, entry, key_bytes) != 0)
		{
			memcpy(build->last, entry, key_bytes);
			build->last_bytes = (uint32_t) key_bytes;
			build->has_last = true;
			build->last_is_judged = false;
			continue;
		}
		if (build->last_is_judged)
			continue;
		memcpy(key.entry, entry, key_bytes);
		key.bytes = (uint32_t) key_bytes;
		status = judge_key(session, build, &key, report);
		if (status != TG_OK)
			return status;
		build->last_is_judged = true;
	}
	return TG_AGAIN;
}

static tg_status
step_verify(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	tg_status status;

	if (!build->in_verify)
	{
		tg_btree_cursor_init(&build->cursor, build->index->tree, NULL, 0, true, NULL, 0, true, false);
		build->has_last = false;
		build->in_verify = true;
	}
	tg_epoch_enter(session);
	status = verify_epoch(session, build, report);
	tg_epoch_leave(session);
	if (status == TG_BUSY)
		build->in_verify = false; /* from the beginning */
	return status;
}

tg_status
tg_index_build_step(tg_session *session, tg_index_build *build, tg_index_build_report *report_out)
{
	*report_out = (tg_index_build_report){.done = build->done, .expected = build->chunk_count};
	switch (build->phase)
	{
		case PHASE_START:
			return step_start(session, build);
		case PHASE_COLLECT:
			return step_collect(session, build, report_out);
		case PHASE_MERGE:
			return step_merge(session, build, report_out);
		case PHASE_RECHECK:
			return step_recheck(session, build);
		case PHASE_ADD:
			return step_add(session, build);
		case PHASE_VERIFY:
			return step_verify(session, build, report_out);
		case PHASE_DONE:
			break;
	}
	return TG_OK;
}
