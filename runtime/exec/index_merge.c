/*
 * index_merge.c
 *	  Builds of indexes: merging runs into a tree, and checking entries again.
 *
 * The keys are cut into parts of about the same size, according to a sample of the runs' entries.
 * Each part begins with the key of an existing entry, without its row: so no part is empty, and all
 * entries of a key, which includes duplicates, are in one part.  A task merges one part after the
 * other, by a heap of the runs, into a load of its own; in the end the caller joins the loads.
 * Without a pool there is one part, and the caller merges it in steps.
 *
 * index_build.c tells which entries have to be checked again, and why.
 */
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/index/entry.h"
#include "runtime/exec/index_build_internal.h"

#include <stdlib.h>

#define STEP_ENTRIES 20000 /* merged in a step, or between two checks for cancellation */
#define RECORDS_AHEAD 8	   /* of a run, and bytes of entries, that are prefetched: there are more */
#define BYTES_AHEAD 128	   /* runs than the processor prefetches by itself */
#define PARTS_PER_TASK 4   /* because parts do not take the same time */
#define PARTS_MAX 256
#define SAMPLES_PER_RUN 32
#define PART_ENTRIES_MIN 10000

/* --- one part ----------------------------------------------------------------------------- */

static inline const tg_run_record *
next_record(const tg_merge_place *place)
{
	return &place->run->records[place->position];
}

static inline bool
is_before(const tg_merge_place *a, const tg_merge_place *b)
{
	const tg_run_record *left;
	const tg_run_record *right;

	if (tg_likely(a->word != b->word))
		return a->word < b->word;
	left = next_record(a);
	right = next_record(b);
	return tg_key_compare(tg_run_bytes(a->run, left), left->bytes, tg_run_bytes(b->run, right), right->bytes) < 0;
}

/*
 * Sinks a run from this place of the heap to its proper place.  Inlined, to keep it in registers.
 */
static inline __attribute__((always_inline)) void
sink(tg_build_part *part, uint32_t place, tg_merge_place sinking)
{
	tg_merge_place *heap = part->heap;

	for (;;)
	{
		uint32_t child = 2 * place + 1;

		if (child >= part->heap_count)
			break;
		if (child + 1 < part->heap_count)
		{
			/* the lesser of the two cannot be predicted, so it is chosen without a branch */
			if (tg_unlikely(heap[child].word == heap[child + 1].word))
				child += is_before(&heap[child + 1], &heap[child]);
			else
				child += heap[child + 1].word < heap[child].word;
		}
		if (!is_before(&heap[child], &sinking))
			break;
		heap[place] = heap[child];
		place = child;
	}
	heap[place] = sinking;
}

/* Moves the run on top to its next entry. */
static void
sink_top(tg_build_part *part, unsigned prefix)
{
	tg_merge_place top = part->heap[0];

	top.position++;
	if (top.position == top.end)
	{
		part->heap_count--;
		top = part->heap[part->heap_count];
	}
	else
	{
		const tg_run_record *record = next_record(&top);
		const unsigned char *entry = tg_run_bytes(top.run, record);

		top.word = tg_run_word(entry, record->bytes, prefix);
		__builtin_prefetch(record + RECORDS_AHEAD);
		__builtin_prefetch(entry + BYTES_AHEAD);
	}
	if (part->heap_count > 0)
		sink(part, 0, top);
}

/* The position in a run where the entries from a key on begin. */
static uint32_t
find_in_run(const tg_build_run *run, const unsigned char *key, uint32_t key_bytes)
{
	uint32_t low = 0;
	uint32_t high = run->count;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;
		const tg_run_record *record = &run->records[middle];

		if (tg_key_compare(tg_run_bytes(run, record), record->bytes, key, key_bytes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static tg_status
begin_part(tg_session *session, tg_index_build *build, tg_build_part *part)
{
	const tg_build_part *next = part + 1 < build->parts + build->part_count ? part + 1 : NULL;
	uint32_t run_count = 0;

	for (const tg_build_run *run = build->runs; run != NULL; run = run->next)
		run_count++;
	part->live_row = TG_ROW_MAX;
	part->heap = tg_alloc(session, (run_count + 1) * sizeof(tg_merge_place), TG_USE_JOB, TG_DATA);
	if (part->heap == NULL)
		return TG_NO_MEMORY;
	for (const tg_build_run *run = build->runs; run != NULL; run = run->next)
	{
		tg_merge_place place = {.run = run, .end = run->count};

		if (part->low != NULL)
			place.position = find_in_run(run, part->low, part->low_bytes);
		if (next != NULL)
			place.end = find_in_run(run, next->low, next->low_bytes);
		if (place.position == place.end)
			continue;
		place.word = tg_run_word(tg_run_bytes(run, next_record(&place)), next_record(&place)->bytes, build->prefix);
		part->heap[part->heap_count++] = place;
	}
	for (uint32_t i = part->heap_count / 2; i-- > 0;)
		sink(part, i, part->heap[i]);
	return tg_btree_load_begin(session, build->table->book, part->low, part->low_bytes, &part->load);
}

/* Whether an entry has the key of the one loaded last. */
static inline bool
has_last_key(const tg_build_part *part, const unsigned char *entry, unsigned bytes, uint64_t word, unsigned prefix)
{
	unsigned key_bytes = bytes - TG_INDEX_ROW_BYTES;

	if (part->last == NULL || bytes != part->last_bytes)
		return false;
	/* most keys differ within the word */
	if (key_bytes >= prefix + 8
			? word != part->last_word
			: key_bytes > prefix && (word ^ part->last_word) >> (64 - 8 * (key_bytes - prefix)) != 0)
		return false;
	return memcmp(entry, part->last, key_bytes) == 0;
}

/*
 * Loads the entry on top, unless it equals the last one: several versions of a row may have one
 * key.
 */
static tg_status
load_top(tg_session *session, const tg_index_build *build, tg_build_part *part)
{
	const tg_merge_place *top = &part->heap[0];
	const tg_run_record *record = next_record(top);
	const unsigned char *entry = tg_run_bytes(top->run, record);
	uint32_t row = tg_entry_row(entry, record->bytes);
	bool is_same_key = has_last_key(part, entry, record->bytes, top->word, build->prefix);
	bool is_same = is_same_key && tg_entry_row(part->last, part->last_bytes) == row;

	if (!is_same_key)
		part->live_row = TG_ROW_MAX;
	if (tg_build_is_unique(build) && (record->flags & (TG_ENTRY_LIVE | TG_ENTRY_DISTINCT)) == TG_ENTRY_LIVE)
	{
		if (part->live_row != TG_ROW_MAX)
		{
			part->twins[0] = part->live_row;
			part->twins[1] = row;
			return TG_EXISTS;
		}
		part->live_row = row;
	}
	part->last = entry;
	part->last_bytes = record->bytes;
	part->last_word = top->word;
	return is_same ? TG_OK
				   : tg_btree_load_add(session, part->load, entry, tg_build_tree_bytes(build, record->bytes), row);
}

/* Merges some more entries; TG_OK: the part is complete. */
static tg_status
merge_part(tg_session *session, tg_index_build *build, tg_build_part *part)
{
	tg_status status = part->load == NULL ? begin_part(session, build, part) : TG_OK;
	unsigned i = 0;

	for (; i < STEP_ENTRIES && status == TG_OK && part->heap_count > 0; i++)
	{
		status = load_top(session, build, part);
		sink_top(part, build->prefix);
	}
	(void) tg_fetch_add_relaxed(&build->loaded, i);
	return status == TG_OK && part->heap_count > 0 ? TG_AGAIN : status;
}

static tg_turn
run_merge_task(tg_task *task, tg_worker *worker)
{
	tg_build_task *own = (tg_build_task *) task;
	tg_index_build *build = own->build;

	for (;;)
	{
		tg_status status;

		if (tg_build_is_stopped(build, task->job) || tg_job_status(task->job) != TG_OK)
			return TG_TURN_DONE;
		if (tg_should_yield(worker))
			return TG_TURN_AGAIN;
		if (own->part == NULL)
		{
			uint32_t number = tg_fetch_add_relaxed(&build->next_part, 1);

			if (number >= build->part_count)
				return TG_TURN_DONE;
			own->part = &build->parts[number];
		}
		status = merge_part(tg_worker_session(worker), build, own->part);
		if (status == TG_AGAIN)
			continue;
		if (status != TG_OK)
			tg_job_fail(task->job, status);
		own->part = NULL;
	}
}

/* --- cutting ------------------------------------------------------------------------------ */

/* The length of the common prefix of the entries of all runs. */
static unsigned
common_prefix_of_runs(const tg_build_run *runs)
{
	unsigned common = runs != NULL ? runs->prefix : 0;

	for (const tg_build_run *run = runs; run != NULL; run = run->next)
	{
		const unsigned char *first = tg_run_bytes(runs, &runs->records[0]);
		const unsigned char *other = tg_run_bytes(run, &run->records[0]);
		unsigned limit = run->prefix < common ? run->prefix : common;

		for (common = 0; common < limit && first[common] == other[common];)
			common++;
	}
	return common;
}

typedef struct merge_sample
{
	const unsigned char *key;
	uint32_t bytes; /* without the row */
} merge_sample;

static int
compare_samples(const void *a, const void *b)
{
	const merge_sample *left = a;
	const merge_sample *right = b;

	return tg_key_compare(left->key, left->bytes, right->key, right->bytes);
}

static merge_sample
sample_of(const tg_build_run *run, uint32_t position)
{
	const tg_run_record *record = &run->records[position];

	return (merge_sample){tg_run_bytes(run, record), record->bytes - TG_INDEX_ROW_BYTES};
}

static uint32_t
take_samples(const tg_index_build *build, merge_sample *samples, merge_sample *least)
{
	uint32_t count = 0;

	for (const tg_build_run *run = build->runs; run != NULL; run = run->next)
	{
		merge_sample first = sample_of(run, 0);

		if (run == build->runs || compare_samples(&first, least) < 0)
			*least = first;
		for (uint64_t i = 0; i < SAMPLES_PER_RUN; i++)
			samples[count++] = sample_of(run, (uint32_t) (run->count * i / SAMPLES_PER_RUN));
	}
	qsort(samples, count, sizeof(merge_sample), compare_samples);
	return count;
}

/* Cuts the keys into at most so many parts; fewer if many entries have one key. */
static tg_status
cut_parts(tg_session *session, tg_index_build *build, uint32_t run_count, uint32_t part_limit)
{
	merge_sample *samples;
	merge_sample last = {0};
	uint32_t count;

	build->parts = tg_alloc_zeroed(session, part_limit * sizeof(tg_build_part), TG_USE_JOB, TG_DATA);
	if (build->parts == NULL)
		return TG_NO_MEMORY;
	build->part_count = 1;
	if (part_limit == 1)
		return TG_OK;
	samples = tg_alloc(session, (size_t) run_count * SAMPLES_PER_RUN * sizeof(merge_sample), TG_USE_JOB, TG_DATA);
	if (samples == NULL)
		return TG_NO_MEMORY;
	count = take_samples(build, samples, &last); /* the first part has at least the least key */
	for (uint32_t i = 1; i < part_limit; i++)
	{
		const merge_sample *begin = &samples[(uint64_t) count * i / part_limit];

		if (compare_samples(begin, &last) <= 0)
			continue;
		last = *begin;
		build->parts[build->part_count].low = begin->key;
		build->parts[build->part_count++].low_bytes = begin->bytes;
	}
	tg_free(session, samples, TG_USE_JOB);
	return TG_OK;
}

void
tg_build_free_parts(tg_session *session, tg_index_build *build)
{
	for (uint32_t i = 0; i < build->part_count; i++)
	{
		if (build->parts[i].load != NULL)
			tg_btree_load_abandon(session, build->parts[i].load);
		if (build->parts[i].heap != NULL)
			tg_free(session, build->parts[i].heap, TG_USE_JOB);
	}
	if (build->parts != NULL)
		tg_free(session, build->parts, TG_USE_JOB);
	build->parts = NULL;
	build->part_count = 0;
}

/* --- all ---------------------------------------------------------------------------------- */

static tg_status
begin_merge(tg_session *session, tg_index_build *build)
{
	uint32_t part_limit = 1;
	uint32_t runs = 0;
	tg_status status;

	for (tg_build_run *run = build->runs; run != NULL; run = run->next)
	{
		build->to_load += run->count;
		runs++;
	}
	build->prefix = common_prefix_of_runs(build->runs);
	if (tg_scheduler_is_running() && build->to_load >= 2 * PART_ENTRIES_MIN)
	{
		part_limit = tg_worker_count() * PARTS_PER_TASK;
		if (part_limit > PARTS_MAX)
			part_limit = PARTS_MAX;
		if (part_limit > build->to_load / PART_ENTRIES_MIN)
			part_limit = (uint32_t) (build->to_load / PART_ENTRIES_MIN);
	}
	status = cut_parts(session, build, runs, part_limit);
	if (status == TG_OK)
		(void) tg_build_start_job(session, build, run_merge_task, build->part_count);
	return status;
}

/* Joins the tasks' loads and installs the tree. */
static tg_status
finish_merge(tg_session *session, tg_index_build *build)
{
	tg_build_part *parts = build->parts;
	tg_status status = TG_OK;

	for (uint32_t i = 1; i < build->part_count && status == TG_OK; i++)
	{
		status = tg_btree_load_join(session, parts[0].load, parts[i].load);
		if (status == TG_OK)
			parts[i].load = NULL;
	}
	if (status != TG_OK)
		return status;
	tg_epoch_enter(session);
	status = tg_btree_load_finish(session, parts[0].load, tg_build_tree(build));
	tg_epoch_leave(session);
	if (status != TG_OK)
		return status;
	parts[0].load = NULL;
	tg_build_free_parts(session, build);
	build->phase = TG_BUILD_RECHECK;
	build->rechecked = build->runs;
	return TG_AGAIN;
}

static void
report_twins(tg_index_build *build, tg_index_build_report *report)
{
	for (uint32_t i = 0; i < build->part_count; i++)
	{
		const tg_build_part *part = &build->parts[i];

		if (part->twins[0] != part->twins[1])
			tg_build_report_twins(build, part->twins[0], part->twins[1], report);
	}
}

/* Merges the parts, one after the other, without a job. */
static tg_status
merge_in_place(tg_session *session, tg_index_build *build)
{
	uint32_t number = tg_load_relaxed(&build->next_part);
	tg_status status;

	if (number >= build->part_count)
		return TG_OK;
	status = merge_part(session, build, &build->parts[number]);
	if (status != TG_OK)
		return status;
	tg_store_relaxed(&build->next_part, number + 1);
	return TG_AGAIN;
}

tg_status
tg_build_step_merge(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	tg_status status;

	if (build->parts == NULL)
	{
		status = begin_merge(session, build);
		if (status == TG_OK)
			status = TG_AGAIN;
	}
	else if (build->job != NULL)
		status = tg_build_wait_job(session, build, report);
	else
		status = merge_in_place(session, build);
	if (status == TG_OK)
		status = finish_merge(session, build);
	if (status == TG_EXISTS)
		report_twins(build, report);
	return status == TG_NO_MEMORY ? tg_build_go_slow(session, build) : status;
}

/* --- checking again ----------------------------------------------------------------------- */

/* Checks the entries of versions that may have been cut out meanwhile. */
tg_status
tg_build_step_recheck(tg_session *session, tg_index_build *build)
{
	unsigned looked = 0;

	for (; build->rechecked != NULL; build->rechecked = build->rechecked->next)
	{
		tg_build_run *run = build->rechecked;

		if (run->dead_count == 0)
			continue;
		tg_epoch_enter(session);
		for (; run->position < run->count && looked < TG_BUILD_EPOCH_ENTRIES; run->position++)
		{
			const tg_run_record *record = &run->records[run->position];
			tg_index_key key;

			if ((record->flags & TG_ENTRY_LIVE) != 0)
				continue;
			key.bytes = record->bytes - TG_INDEX_ROW_BYTES;
			memcpy(key.entry, tg_run_bytes(run, record), record->bytes);
			tg_index_entry_recheck(session, build->index, &key, tg_entry_row(key.entry, record->bytes));
			looked++;
		}
		tg_epoch_leave(session);
		if (run->position < run->count)
			return TG_AGAIN;
	}
	tg_build_is_filled(build);
	build->phase = TG_BUILD_DONE;
	return TG_OK;
}
