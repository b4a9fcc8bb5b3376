/*
 * index_merge.c
 *	  Builds of indexes: merging runs into a tree, and looking again.
 *
 * What has to be looked at again, and why, is in index_build.c.
 */
#include "runtime/exec/index_build_internal.h"

#define STEP_ENTRIES 20000 /* merged in a step */
#define RECORDS_AHEAD 4	   /* of a run, whose entries' bytes are asked for */

/* --- merging ------------------------------------------------------------------------------ */

static inline const tg_run_record *
next_record(const tg_build_run *run)
{
	return &run->records[run->position];
}

static inline bool
is_before(const tg_merge_place *a, const tg_merge_place *b)
{
	const tg_run_record *left;
	const tg_run_record *right;

	if (tg_likely(a->word != b->word))
		return a->word < b->word;
	left = next_record(a->run);
	right = next_record(b->run);
	return tg_run_compare(tg_run_bytes(a->run, left), left->bytes, tg_run_bytes(b->run, right), right->bytes) < 0;
}

/* Lets a run sink from this place of the heap to where it belongs. */
static void
sink(tg_index_build *build, uint32_t place, tg_merge_place sinking)
{
	tg_merge_place *heap = build->heap;

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
	tg_merge_place top = build->heap[0];

	if (top.run->position == top.run->count)
	{
		build->heap_count--;
		top = build->heap[build->heap_count];
	}
	else
	{
		top.word = next_record(top.run)->word;
		if (top.run->position + RECORDS_AHEAD < top.run->count)
			__builtin_prefetch(tg_run_bytes(top.run, next_record(top.run) + RECORDS_AHEAD));
	}
	if (build->heap_count > 0)
		sink(build, 0, top);
}

/* What the entries of all runs have in common. */
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

static tg_status
begin_merge(tg_session *session, tg_index_build *build)
{
	unsigned prefix = common_prefix_of_runs(build->runs);
	uint32_t count = 0;

	for (tg_build_run *run = build->runs; run != NULL; run = run->next)
		count++;
	build->heap = tg_alloc(session, (count + 1) * sizeof(tg_merge_place), TG_USE_JOB, TG_DATA);
	if (build->heap == NULL)
		return TG_NO_MEMORY;
	for (tg_build_run *run = build->runs; run != NULL; run = run->next)
	{
		if (run->prefix != prefix)
			tg_run_set_words(run, prefix);
		build->heap[build->heap_count++] = (tg_merge_place){.word = run->records[0].word, .run = run};
	}
	for (uint32_t i = build->heap_count / 2; i-- > 0;)
		sink(build, i, build->heap[i]);
	return tg_btree_load_begin(session, &build->load);
}

/* Loads an entry, unless it is the one loaded last: several versions of a row may have one key. */
static tg_status
load_entry(tg_session *session, tg_index_build *build, const unsigned char *entry, const tg_run_record *record,
		   tg_index_build_report *report)
{
	uint32_t row = tg_entry_row(entry, record->bytes);
	bool is_same_key = build->has_last && record->bytes == build->last_bytes &&
					   memcmp(entry, build->last, record->bytes - TG_INDEX_ROW_BYTES) == 0;

	if (!is_same_key)
		build->live_row = TG_ROW_MAX;
	if (build->index->spec.unique && (record->flags & (TG_ENTRY_LIVE | TG_ENTRY_DISTINCT)) == TG_ENTRY_LIVE)
	{
		if (build->live_row != TG_ROW_MAX)
		{
			tg_build_report_twins(build, build->live_row, row, report);
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
	build->phase = TG_BUILD_RECHECK;
	build->rechecked = build->runs;
	for (tg_build_run *run = build->runs; run != NULL; run = run->next)
		run->position = 0;
	return TG_AGAIN;
}

tg_status
tg_build_step_merge(tg_session *session, tg_index_build *build, tg_index_build_report *report)
{
	tg_status status = build->heap == NULL ? begin_merge(session, build) : TG_OK;

	for (unsigned i = 0; i < STEP_ENTRIES && status == TG_OK && build->heap_count > 0; i++)
	{
		tg_build_run *run = build->heap[0].run;
		const tg_run_record *record = next_record(run);

		status = load_entry(session, build, tg_run_bytes(run, record), record, report);
		run->position++;
		sink_top(build);
	}
	if (status == TG_OK)
		status = build->heap_count > 0 ? TG_AGAIN : finish_merge(session, build);
	return status == TG_NO_MEMORY ? tg_build_go_slow(session, build) : status;
}

/* Entries of versions that others may have cut out meanwhile. */
tg_status
tg_build_step_recheck(tg_session *session, tg_index_build *build)
{
	unsigned looked = 0;

	for (; build->rechecked != NULL; build->rechecked = build->rechecked->next)
	{
		tg_build_run *run = build->rechecked;

		tg_epoch_enter(session);
		for (; run->position < run->count && looked < TG_BUILD_EPOCH_ENTRIES; run->position++)
		{
			const tg_run_record *record = next_record(run);
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
	tg_store_release(&build->index->filling, false);
	build->phase = TG_BUILD_DONE;
	return TG_OK;
}
