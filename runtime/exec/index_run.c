/*
 * index_run.c
 *	  Sorted runs of entries, from chunks.
 *
 * A run is an array of 16-byte records, and the bytes of the entries.  It is sorted by the eight
 * bytes behind the common prefix of its entries, from the last byte to the first (radix sort; bytes
 * that do not differ are left out), then records with the same eight bytes by the rest.  If all
 * entries have the same length and come in the order of their rows, as they do unless rows have
 * been updated, the bytes of the row numbers are left out, too, because the sort is stable.
 *
 * Then the bytes are put into the order of the records, while both are in a cache.  The merge
 * thereby reads all runs from beginning to end, which the processor can prefetch.
 */
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/session.h"
#include "runtime/index/entry.h"
#include "runtime/exec/index_build_internal.h"

#include <stdlib.h>

#define RUN_BYTES_PER_SLOT 32 /* room for entries' bytes; a run ends where it is used up */

/* The room of a run. */
typedef struct room
{
	uint32_t entries;
	uint32_t bytes;
} room;

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
make_run(tg_session *session, const room *room)
{
	tg_build_run *run = tg_alloc_zeroed(session, sizeof(*run), TG_USE_JOB, TG_DATA);

	if (run == NULL)
		return NULL;
	run->capacity = room->entries;
	run->room = room->bytes;
	run->rows_grow = true;
	run->records = tg_alloc(session, (size_t) run->capacity * sizeof(tg_run_record), TG_USE_JOB, TG_DATA);
	run->bytes = tg_alloc(session, run->room + TG_RUN_SLACK, TG_USE_JOB, TG_DATA);
	if (run->records != NULL && run->bytes != NULL)
		return run;
	tg_run_free(session, run);
	return NULL;
}

/* The length of the prefix that all entries of a run have in common. */
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

/* Sets the words.  Returns the bits in which they differ; 0 also if they are in order already. */
static uint64_t
set_words(tg_build_run *run)
{
	uint64_t all = UINT64_MAX;
	uint64_t any = 0;
	uint64_t last = 0;
	bool is_sorted = true;

	for (uint32_t i = 0; i < run->count; i++)
	{
		tg_run_record *record = &run->records[i];
		uint64_t word = tg_run_word(tg_run_bytes(run, record), record->bytes, run->prefix);

		record->word = word;
		all &= word;
		any |= word;
		is_sorted &= word >= last;
		last = word;
	}
	return is_sorted ? 0 : all ^ any;
}

/* Sorts by one byte of the words; equal records keep their order. */
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

/* Compares records of the same word, by all their bytes. */
static int
compare_records(const void *a, const void *b, void *run)
{
	const tg_run_record *left = a;
	const tg_run_record *right = b;

	return tg_key_compare(tg_run_bytes(run, left), left->bytes, tg_run_bytes(run, right), right->bytes);
}

/*
 * Whether the order in which a stable sort begins is that of the words' last bytes, which are the
 * row numbers.
 */
static bool
has_rows_in_order(const tg_build_run *run)
{
	return run->rows_grow && run->entry_bytes != 0 && run->entry_bytes - TG_INDEX_ROW_BYTES <= run->prefix + 8;
}

/* The bytes of the words that belong to keys, or may do so. */
static uint64_t
key_bytes_of_words(const tg_build_run *run)
{
	unsigned key_bytes = run->entry_bytes - TG_INDEX_ROW_BYTES;

	if (!has_rows_in_order(run) || key_bytes >= run->prefix + 8)
		return UINT64_MAX;
	return key_bytes <= run->prefix ? 0 : UINT64_MAX << (64 - 8 * (key_bytes - run->prefix));
}

static tg_status
sort_by_words(tg_session *session, tg_build_run *run)
{
	uint64_t differs = set_words(run) & key_bytes_of_words(run);
	tg_run_record *other;

	if (differs == 0)
		return TG_OK;
	other = tg_alloc(session, (size_t) run->capacity * sizeof(tg_run_record), TG_USE_JOB, TG_DATA);
	if (other == NULL)
		return TG_NO_MEMORY;
	for (unsigned shift = 0; shift < 64; shift += 8)
	{
		tg_run_record *sorted = other;

		if ((differs >> shift & 0xff) == 0)
			continue;
		sort_by_byte(run->records, sorted, run->count, shift);
		other = run->records;
		run->records = sorted;
	}
	tg_free(session, other, TG_USE_JOB);
	return TG_OK;
}

static void
sort_the_rest(tg_build_run *run)
{
	for (uint32_t i = 0; i < run->count;)
	{
		uint32_t end = i + 1;

		while (end < run->count && run->records[end].word == run->records[i].word)
			end++;
		if (end - i > 1)
			qsort_r(&run->records[i], end - i, sizeof(tg_run_record), compare_records, run);
		i = end;
	}
}

/* Copies an entry where both sides have TG_RUN_SLACK bytes behind it: most entries are short. */
static inline void
copy_entry(unsigned char *to, const unsigned char *from, unsigned bytes)
{
	if (tg_likely(bytes <= TG_RUN_SLACK))
		memcpy(to, from, TG_RUN_SLACK);
	else
		memcpy(to, from, bytes);
}

/* Puts the bytes of the entries into the order of the records. */
static tg_status
order_bytes(tg_session *session, tg_build_run *run)
{
	unsigned char *ordered = tg_alloc(session, run->used + TG_RUN_SLACK, TG_USE_JOB, TG_DATA);
	uint32_t at = 0;

	if (ordered == NULL)
		return TG_NO_MEMORY;
	for (uint32_t i = 0; i < run->count; i++)
	{
		tg_run_record *record = &run->records[i];

		copy_entry(ordered + at, tg_run_bytes(run, record), record->bytes);
		record->at = at;
		at += record->bytes;
	}
	tg_free(session, run->bytes, TG_USE_JOB);
	run->bytes = ordered;
	return TG_OK;
}

static tg_status
sort_run(tg_session *session, tg_build_run *run)
{
	tg_status status;

	if (run->count == 0)
		return TG_OK;
	run->prefix = common_prefix(run);
	status = sort_by_words(session, run);
	if (status != TG_OK)
		return status;
	if (!has_rows_in_order(run))
		sort_the_rest(run);
	return order_bytes(session, run);
}

/* Sorts a run and gives it to the build. */
static tg_status
finish_run(tg_session *session, tg_index_build *build, tg_build_run *run)
{
	tg_status status = sort_run(session, run);

	if (status == TG_OK && build->job != NULL && run->count > 0)
		status = tg_job_memory_take(build->job, tg_run_memory(run));
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

static inline uint32_t
larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The room that all entries of a version need. */
static room
room_of(const tg_found_entries *found)
{
	uint32_t count = found->keys.count;
	uint32_t key_bytes = found->keys.several ? tg_key_list_end(&found->keys.list, count - 1) : found->keys.key.bytes;

	return (room){.entries = count, .bytes = key_bytes + count * TG_INDEX_ROW_BYTES};
}

static void
append_entry(tg_build_run *run, tg_found_entries *found)
{
	size_t bytes = tg_index_entry_make(&found->keys.key, found->row);

	copy_entry(run->bytes + run->used, found->keys.key.entry, (unsigned) bytes);
	if (run->count == 0)
		run->entry_bytes = (uint32_t) bytes;
	else if (run->entry_bytes != bytes)
		run->entry_bytes = 0;
	run->rows_grow &= run->count == 0 || run->last_row <= found->row;
	run->last_row = found->row;
	run->dead_count += (found->flags & TG_ENTRY_LIVE) == 0;
	run->records[run->count++] = (tg_run_record){.at = run->used, .bytes = (uint16_t) bytes, .flags = found->flags};
	run->used += (uint32_t) bytes;
}

/*
 * Collects the entries of a chunk from a slot on.  Stops at the slot of the first version whose
 * entries do not fit into the run.  If the run is empty, *room_inout grows to the room that this
 * version needs.
 */
static tg_status
collect_chunk(tg_session *session, const tg_index_build *build, const tg_chunk *chunk, tg_build_run *run,
			  unsigned *slot_inout, room *room_inout)
{
	uint64_t present[TG_SLOT_MAX / 64];
	const tg_header *headers = tg_chunk_look(chunk, present);

	for (; *slot_inout < chunk->capacity; (*slot_inout)++)
	{
		tg_found_entries found;
		tg_status status;
		room wanted;

		if ((present[*slot_inout / 64] >> *slot_inout % 64 & 1) == 0)
			continue;
		status = tg_build_find_entries(session, build, chunk, headers, *slot_inout, &found);
		if (status == TG_NOT_FOUND)
			continue;
		if (status != TG_OK)
			return status;
		wanted = room_of(&found);
		if (wanted.entries > run->capacity - run->count || wanted.bytes > run->room - run->used)
		{
			if (run->count == 0)
				*room_inout = (room){.entries = larger(room_inout->entries, wanted.entries),
									 .bytes = larger(room_inout->bytes, wanted.bytes)};
			return TG_OK;
		}
		while (tg_index_keys_next(&found.keys))
			append_entry(run, &found);
	}
	return TG_OK;
}

tg_status
tg_run_collect(tg_session *session, tg_index_build *build, uint32_t first, uint32_t end)
{
	uint32_t slots = (end - first) * TG_SLOT_MAX;
	room room = {.entries = slots, .bytes = slots * RUN_BYTES_PER_SLOT + TG_KEY_BYTES_MAX};
	unsigned slot = 0;

	while (first < end)
	{
		tg_build_run *run = make_run(session, &room);
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
				status = collect_chunk(session, build, chunk, run, &slot, &room);
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
