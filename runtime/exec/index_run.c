/*
 * index_run.c
 *	  Sorted runs of entries, from chunks.
 *
 * A run is an array of 16-byte records, and the entries' bytes.  It is sorted by the
 * eight bytes behind what all its entries have in common, by their bytes from the last to
 * the first (radix sort, those that do not differ left out), then records of the same eight
 * bytes by the rest.  For merging, the words of all runs are those behind what all entries have
 * in common, so that few comparisons look at the entries.
 */
#include "runtime/exec/index_build_internal.h"

#include <stdlib.h>

#define RUN_BYTES_PER_SLOT 32 /* room for entries' bytes; a run ends where it is used up */

void
tg_run_free(tg_session *session, tg_build_run *run)
{
	if (run->records != NULL)
		tg_free(session, run->records, TG_USE_JOB);
	if (run->bytes != NULL)
		tg_free(session, run->bytes, TG_USE_JOB);
	tg_free(session, run, TG_USE_JOB);
}

static tg_build_run *
make_run(tg_session *session, uint32_t slots)
{
	tg_build_run *run = tg_alloc_zeroed(session, sizeof(*run), TG_USE_JOB, TG_DATA);

	if (run == NULL)
		return NULL;
	run->capacity = slots;
	run->room = slots * RUN_BYTES_PER_SLOT + TG_KEY_BYTES_MAX;
	run->records = tg_alloc(session, slots * sizeof(tg_run_record), TG_USE_JOB, TG_DATA);
	run->bytes = tg_alloc(session, run->room, TG_USE_JOB, TG_DATA);
	if (run->records != NULL && run->bytes != NULL)
		return run;
	tg_run_free(session, run);
	return NULL;
}

/* What all entries of a run have in common. */
static unsigned
common_prefix(const tg_build_run *run)
{
	const unsigned char *first = tg_run_bytes(run, &run->records[0]);
	unsigned common = run->records[0].bytes;

	for (uint32_t i = 1; i < run->count && common > 0; i++)
	{
		const unsigned char *other = tg_run_bytes(run, &run->records[i]);
		unsigned limit = run->records[i].bytes < common ? run->records[i].bytes : common;

		for (common = 0; common < limit && first[common] == other[common];)
			common++;
	}
	return common;
}

void
tg_run_set_words(tg_build_run *run, unsigned prefix)
{
	run->prefix = prefix;
	for (uint32_t i = 0; i < run->count; i++)
	{
		tg_run_record *record = &run->records[i];
		const unsigned char *bytes = tg_run_bytes(run, record) + prefix;
		unsigned left = record->bytes - prefix;
		uint64_t word = 0;

		for (unsigned j = 0; j < 8; j++)
			word = word << 8 | (j < left ? bytes[j] : 0);
		record->word = word;
	}
}

/* By one byte of the words, keeping the order of those that are equal. */
static void
sort_by_byte(const tg_run_record *from, tg_run_record *to, uint32_t count, unsigned shift)
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
	const tg_run_record *left = a;
	const tg_run_record *right = b;

	return tg_run_compare(tg_run_bytes(run, left), left->bytes, tg_run_bytes(run, right), right->bytes);
}

static tg_status
sort_run(tg_session *session, tg_build_run *run)
{
	uint64_t all = UINT64_MAX;
	uint64_t any = 0;
	tg_run_record *other;

	if (run->count == 0)
		return TG_OK;
	tg_run_set_words(run, common_prefix(run));
	for (uint32_t i = 0; i < run->count; i++)
	{
		all &= run->records[i].word;
		any |= run->records[i].word;
	}
	other = tg_alloc(session, run->count * sizeof(tg_run_record), TG_USE_JOB, TG_DATA);
	if (other == NULL)
		return TG_NO_MEMORY;
	for (unsigned shift = 0; shift < 64; shift += 8)
	{
		tg_run_record *sorted = other;

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
			qsort_r(&run->records[i], end - i, sizeof(tg_run_record), compare_records, run);
		i = end;
	}
	return TG_OK;
}

/* Sorts a run and gives it to the build. */
static tg_status
finish_run(tg_session *session, tg_index_build *build, tg_build_run *run)
{
	tg_status status = sort_run(session, run);

	if (status != TG_OK || run->count == 0)
	{
		tg_run_free(session, run);
		return status;
	}
	run->next = tg_load_relaxed(&build->runs);
	while (!tg_cas_acq_rel(&build->runs, &run->next, run))
		;
	return TG_OK;
}

/* False: the run has no place for it. */
static bool
append_entry(tg_build_run *run, tg_found_entry *found)
{
	size_t bytes;

	if (run->count == run->capacity || run->used + found->key.bytes + TG_INDEX_ROW_BYTES > run->room)
		return false;
	bytes = tg_index_entry_make(&found->key, found->row);
	memcpy(run->bytes + run->used, found->key.entry, bytes);
	run->records[run->count++] = (tg_run_record){.at = run->used, .bytes = (uint16_t) bytes, .flags = found->flags};
	run->used += (uint32_t) bytes;
	return true;
}

/* The entries of a chunk from a slot on; stops where the run is full, and returns that slot. */
static tg_status
collect_chunk(const tg_index_build *build, const tg_chunk *chunk, tg_build_run *run, unsigned *slot_inout)
{
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers = tg_chunk_look(chunk, present);

	for (; *slot_inout < chunk->capacity; (*slot_inout)++)
	{
		tg_found_entry found;
		tg_status status;

		if ((present[*slot_inout / 64] >> *slot_inout % 64 & 1) == 0)
			continue;
		status = tg_build_find_entry(build, chunk, headers, *slot_inout, &found);
		if (status == TG_NOT_FOUND)
			continue;
		if (status != TG_OK)
			return status;
		if (!append_entry(run, &found))
			return TG_OK;
	}
	return TG_OK;
}

tg_status
tg_run_collect(tg_session *session, tg_index_build *build, uint32_t first, uint32_t end)
{
	unsigned slot = 0;

	while (first < end)
	{
		tg_build_run *run = make_run(session, (end - first) * TG_SLOT_MAX);
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
			tg_run_free(session, run);
			return status;
		}
		status = finish_run(session, build, run);
		if (status != TG_OK)
			return status;
	}
	return TG_OK;
}
