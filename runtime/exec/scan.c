/*
 * scan.c
 *	  Reading a table in place: chunk by chunk, or along its index.
 *
 * A chunk scan looks at each slot of each chunk once.  Of a row that the snapshot sees it sees
 * exactly one version, and that version stays in its slot while the snapshot is published.  So each
 * such row comes exactly once, whatever other transactions insert, update and delete meanwhile, and
 * whatever slots they take.  Chunks that come after the scan began hold no version that the
 * snapshot sees.
 *
 * 1. Between two calls, and between two epochs of one call, the scan keeps nothing but numbers (a
 *    chunk's index, a slot).
 * 2. An epoch is held for at most EPOCH_CHUNKS chunks or EPOCH_ROWS index entries, so that a long
 *    scan over dead rows does not hold back the collector that removes them.
 *
 * Ordering, for a chunk (settle.c, «Scans», has the argument).  The pointer to the
 * headers is read, then the bits of free slots, then, if there were no
 * headers, the pointer again: a slot is not judged by headers that had gone
 * before it was taken.
 *
 * 3. No headers: every slot taken is visible to every snapshot.
 * 4. Headers: begin is read (acquire, so that the values written before it was set are there), then
 *    end.  If both are timestamps, begin ≤ R < end decides: the snapshot's time was loaded after
 *    every commit it sees had been drawn, and those had set their ends before (W1).  All other
 *    cases are decided by tg_txn_sees.  A slot that is given to another version meanwhile held none
 *    that R sees.  It is impossible to read begin of the old version and end of the new one: the
 *    slot's begin is NEVER for an epoch before the slot is given back (tg_slot_give).
 * 5. A row whose visibility depends on how a commit ends stops the call before it (V1): the caller
 *    waits, outside the epoch, and continues there.  Row ids that a range scan has taken from the
 *    index by then are kept.
 * 6. Along a secondary index a row may be met at several entries, one for each key that one of its
 *    versions has.  It is handed out only at the entry of the visible version: each entry is
 *    compared with the key of that version.  In an index with several entries for a version the row
 *    is handed out at each of that version's entries in the range, or at one of them (sought.h).
 */
#include "runtime/exec/scan.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/session.h"
#include "runtime/order/value.h"
#include "runtime/table/cell.h"
#include "runtime/table/companion.h"
#include "runtime/index/entry.h"
#include "runtime/index/index.h"
#include "runtime/txn/read.h"
#include "runtime/exec/range_scan.h"
#include "runtime/exec/row_set.h"
#include "runtime/exec/sought.h"
#include "runtime/exec/vectors.h"

#define EPOCH_CHUNKS 16
#define EPOCH_ROWS 1024

#define STRAYS_MAX 4	/* rows of a batch that lie apart: with more of them prefetching is used, */
#define PORTION 16		/* in portions of so many rows */
#define COLUMNS_AHEAD 4 /* and for so many columns */
#define BLOB_BYTES_AHEAD (3 * TG_CACHE_LINE)

#define BITMAP_WORDS (TG_SLOT_MAX / 64)

/* --- which slots of a chunk ---------------------------------------------------------- */

/* Bits of the slots that are taken, from a slot on. */
static void
load_taken(const tg_chunk *chunk, unsigned from, uint64_t *taken)
{
	unsigned words = tg_chunk_bitmap_words(chunk);

	for (unsigned i = from / 64; i < words; i++)
		taken[i] = ~tg_load_acquire(&chunk->free[i]);
	taken[from / 64] &= ~(uint64_t) 0 << (from % 64);
	if (chunk->capacity % 64 != 0)
		taken[words - 1] &= ((uint64_t) 1 << (chunk->capacity % 64)) - 1;
}

/* Selects the first slots that are taken, at most count. */
static unsigned
select_taken(const uint64_t *taken, unsigned from, unsigned capacity, uint16_t *slots, unsigned count)
{
	unsigned selected = 0;

	for (unsigned base = from & ~63u; base < capacity; base += 64)
	{
		uint64_t word = taken[base / 64];

		if (word == ~(uint64_t) 0 && count - selected >= 64)
		{
			for (unsigned i = 0; i < 64; i++)
				slots[selected + i] = (uint16_t) (base + i);
			selected += 64;
			continue;
		}
		for (; word != 0; word &= word - 1)
		{
			if (selected == count)
				return selected;
			slots[selected++] = (uint16_t) (base + (unsigned) __builtin_ctzll(word));
		}
	}
	return selected;
}

/*
 * Visibility in the cases that the timestamps alone do not decide; a copy of the version may be the
 * one that counts.
 */
static tg_sight
sight_of_other(const tg_snapshot *snapshot, const tg_chunk *chunk, const tg_header *header, unsigned slot,
			   tg_wait *wait_out)
{
	tg_sight sight = tg_txn_sees(snapshot, header, wait_out);

	if (sight == TG_SEEN && tg_version_has_ended_as_copy(snapshot, header, tg_version_make(chunk, slot)))
		return TG_UNSEEN;
	return sight;
}

static inline tg_sight
sight_of(const tg_snapshot *snapshot, const tg_chunk *chunk, const tg_header *header, unsigned slot, tg_wait *wait_out)
{
	tg_time begin = tg_load_acquire(&header->begin);
	tg_time end = tg_load_acquire(&header->end);

	_Static_assert(TG_UNSEEN == 0 && TG_SEEN == 1, "a sight counts selected slots");
	/* R5: neither lies in (flushed, time]. */
	if (tg_likely(!tg_time_is_reference(begin | end) && snapshot->excluded == NULL &&
				  begin - snapshot->flushed - 1 >= snapshot->time - snapshot->flushed &&
				  (end == TG_TIME_NEVER || end <= snapshot->flushed)))
		return (tg_sight) ((begin <= snapshot->time) & (end > snapshot->time));
	return sight_of_other(snapshot, chunk, header, slot, wait_out);
}

/*
 * Selects the first slots that are taken and visible, at most count. *stop_out is a slot whose
 * visibility is not decided yet.
 */
static unsigned
select_visible(const tg_snapshot *snapshot, const tg_chunk *chunk, const tg_header *headers, const uint64_t *taken,
			   unsigned from, unsigned capacity, uint16_t *slots, unsigned count, unsigned *stop_out, tg_wait *wait_out)
{
	unsigned selected = 0;

	for (unsigned base = from & ~63u; base < capacity; base += 64)
		for (uint64_t word = taken[base / 64]; word != 0; word &= word - 1)
		{
			unsigned slot = base + (unsigned) __builtin_ctzll(word);
			tg_sight sight;

			if (selected == count)
				return selected;
			slots[selected] = (uint16_t) slot;
			sight = sight_of(snapshot, chunk, &headers[slot], slot, wait_out);
			if (tg_unlikely(sight == TG_UNDECIDED))
			{
				*stop_out = slot;
				return selected;
			}
			selected += sight; /* no branch: updated rows lie anywhere */
		}
	return selected;
}

/*
 * Selects the first visible slots from a slot on, at most count.  *stop_out: one whose visibility
 * is not decided yet, or the capacity.
 */
static unsigned
select_slots(const tg_snapshot *snapshot, const tg_chunk *chunk, unsigned from, uint16_t *slots, unsigned count,
			 unsigned *stop_out, tg_wait *wait_out)
{
	const tg_header *headers = tg_chunk_headers(chunk);
	uint64_t taken[BITMAP_WORDS];

	*stop_out = chunk->capacity;
	load_taken(chunk, from, taken);
	if (headers == NULL)
		headers = tg_chunk_headers(chunk); /* not before the bits */
	if (headers == NULL)
		return select_taken(taken, from, chunk->capacity, slots, count);
	return select_visible(snapshot, chunk, headers, taken, from, chunk->capacity, slots, count, stop_out, wait_out);
}

/* Whether the slots taken are the first ones, and how many they are. */
static bool
are_first(const uint64_t *taken, unsigned words, unsigned *count_out)
{
	unsigned count = 0;
	unsigned word = 0;

	while (word < words && taken[word] == ~(uint64_t) 0)
		word++;
	count = word * 64;
	if (word < words && taken[word] != 0)
	{
		if ((taken[word] & (taken[word] + 1)) != 0)
			return false;
		count += (unsigned) __builtin_popcountll(taken[word++]);
	}
	for (; word < words; word++)
		if (taken[word] != 0)
			return false;
	*count_out = count;
	return true;
}

bool
tg_chunk_select(const tg_snapshot *snapshot, const tg_chunk *chunk, uint16_t slots[TG_SLOT_MAX], unsigned *count_out,
				bool *first_out)
{
	const tg_header *headers = tg_chunk_headers(chunk);
	unsigned stop = chunk->capacity;
	uint64_t taken[BITMAP_WORDS];
	tg_wait wait;

	load_taken(chunk, 0, taken);
	if (headers == NULL)
		headers = tg_chunk_headers(chunk); /* not before the bits */
	*first_out = headers == NULL && are_first(taken, tg_chunk_bitmap_words(chunk), count_out);
	if (*first_out)
		return true;
	if (headers == NULL)
		*count_out = select_taken(taken, 0, chunk->capacity, slots, TG_SLOT_MAX);
	else
		*count_out =
			select_visible(snapshot, chunk, headers, taken, 0, chunk->capacity, slots, TG_SLOT_MAX, &stop, &wait);
	return stop == chunk->capacity;
}

/*
 * Appends a chunk's visible rows from a slot on.  Returns the slot to continue at, the capacity if
 * the chunk is done.
 */
static unsigned
append_chunk(tg_chunk_scan *scan, const tg_chunk *chunk, unsigned from, tg_vectors *vectors)
{
	uint16_t slots[TG_SLOT_MAX];
	unsigned room = vectors->capacity - vectors->count;
	unsigned stop;
	unsigned count;

	if (from >= chunk->capacity)
		return chunk->capacity;
	if (room > TG_SLOT_MAX)
		room = TG_SLOT_MAX;
	count = select_slots(&scan->snapshot, chunk, from, slots, room, &stop, &scan->wait);
	scan->busy = stop < chunk->capacity;
	if (count == 0)
		return stop;
	tg_vectors_gather(vectors, chunk, slots, NULL, count);
	return count < room ? stop : slots[count - 1] + 1u;
}

/* --- whole table ----------------------------------------------------------------------- */

void
tg_chunk_scan_init(tg_chunk_scan *scan, tg_table *table, const tg_snapshot *snapshot, uint32_t first, uint32_t end)
{
	uint32_t chunk_count = tg_table_chunk_count(table);

	*scan = (tg_chunk_scan){
		.table = table, .snapshot = *snapshot, .chunk = first, .chunk_end = end < chunk_count ? end : chunk_count};
}

/* Appends the rows of one epoch. */
static void
append_epoch(tg_session *session, tg_chunk_scan *scan, tg_vectors *vectors)
{
	tg_epoch_enter(session);
	for (unsigned i = 0; i < EPOCH_CHUNKS && scan->chunk < scan->chunk_end && vectors->count < vectors->capacity; i++)
	{
		const tg_chunk *chunk = tg_table_chunk(scan->table, scan->chunk);

		if (chunk != NULL)
		{
			scan->slot = append_chunk(scan, chunk, scan->slot, vectors);
			if (scan->slot < chunk->capacity)
				break;
		}
		scan->chunk++;
		scan->slot = 0;
	}
	tg_epoch_leave(session);
}

unsigned
tg_chunk_scan_append(tg_session *session, tg_chunk_scan *scan, tg_vectors *vectors)
{
	unsigned before = vectors->count;

	scan->busy = false;
	while (scan->chunk < scan->chunk_end && vectors->count < vectors->capacity && !scan->busy)
		append_epoch(session, scan, vectors);
	return vectors->count - before;
}

unsigned
tg_chunk_scan_next(tg_session *session, tg_chunk_scan *scan, tg_vectors *vectors)
{
	vectors->count = 0;
	return tg_chunk_scan_append(session, scan, vectors);
}

/* --- by key range -------------------------------------------------------------------- */

void
tg_range_scan_init(tg_range_scan *scan, tg_table *table, tg_index *index, const tg_snapshot *snapshot, const void *low,
				   size_t low_bytes, bool low_inclusive, const void *high, size_t high_bytes, bool high_inclusive,
				   bool backward)
{
	scan->table = table;
	scan->index = index;
	scan->snapshot = *snapshot;
	scan->busy = false;
	scan->sought = NULL;
	scan->within = NULL;
	scan->passed_over = 0;
	scan->row_guessed = TG_ROW_MAX;
	scan->pending_count = 0;
	tg_btree_cursor_init(&scan->cursor, tg_index_tree(table, index), low, low_bytes, low_inclusive, high, high_bytes,
						 high_inclusive, backward);
}

/*
 * Loads the heads of rows, and prefetches the chunks that they lead to.  True if the versions lie
 * apart: then each costs cache misses of its own, which no processor foresees.
 */
static bool
load_heads(tg_table *table, const uint32_t *rows, unsigned count, tg_version *heads)
{
	tg_version neighbour = TG_VERSION_NONE;
	const tg_version *head = NULL;
	unsigned strays = 0;

	for (unsigned i = 0; i < count; i++)
	{
		/* the heads of rows that follow one another do, too, within a segment */
		head = i > 0 && rows[i] == rows[i - 1] + 1 && rows[i] % TG_SEGMENT_ROWS_MIN != 0 ? head + 1
																						 : tg_row_head(table, rows[i]);
		heads[i] = tg_load_acquire(head);
		__builtin_prefetch((const void *) tg_version_chunk(heads[i]));
		strays += heads[i] != neighbour; /* no branch: it would have to wait for the head */
		neighbour = heads[i] + 1;
	}
	return strays > STRAYS_MAX;
}

static inline bool
is_version(tg_version head)
{
	return !tg_head_is_closed(head) && head != TG_VERSION_NONE;
}

/*
 * Prefetches the parts of these versions that will be read: the header, if there are any, and the
 * cells.
 */
static void
expect_versions(const tg_vectors *vectors, const tg_version *heads, unsigned count)
{
	unsigned columns = vectors->column_count < COLUMNS_AHEAD ? vectors->column_count : COLUMNS_AHEAD;

	for (unsigned i = 0; i < count; i++)
	{
		const tg_chunk *chunk = tg_version_chunk(heads[i]);
		unsigned slot = tg_version_slot(heads[i]);
		const tg_header *headers;

		if (!is_version(heads[i]))
			continue;
		headers = tg_chunk_headers(chunk);
		if (headers != NULL)
			__builtin_prefetch(&headers[slot]);
		for (unsigned j = 0; j < columns; j++)
			if (tg_chunk_has_column(chunk, vectors->columns[j]))
				__builtin_prefetch(tg_chunk_cell(chunk, vectors->columns[j], slot));
	}
}

/* Prefetches the hidden values of these versions: an entry is compared with them. */
static void
expect_hidden(const tg_index *index, const tg_version *heads, unsigned count)
{
	const tg_chunk *companions[TG_RANGE_ROWS_AHEAD];

	for (unsigned i = 0; i < count; i++)
	{
		companions[i] = is_version(heads[i]) ? tg_companion_of(&index->link, tg_version_chunk(heads[i])) : NULL;
		__builtin_prefetch(companions[i]);
		__builtin_prefetch((const char *) companions[i] + TG_CACHE_LINE);
	}
	for (unsigned i = 0; i < count; i++)
	{
		const tg_chunk *companion = companions[i];
		unsigned slot = tg_version_slot(heads[i]);

		if (companion == NULL)
			continue;
		__builtin_prefetch(&companion->free[slot / 64]);
		for (unsigned j = 0; j < COLUMNS_AHEAD && tg_chunk_has_column(companion, j); j++)
			__builtin_prefetch(tg_chunk_cell(companion, j, slot));
	}
}

/*
 * Prefetches the first bytes of the blobs appended from a place on: the caller is going to read
 * them.
 */
static void
expect_blobs(const tg_vectors *vectors, unsigned from)
{
	for (unsigned i = 0; i < vectors->column_count; i++)
	{
		const tg_value *cells = vectors->data[i];

		if (vectors->kinds[i] != TG_KIND_STRING)
			continue;
		for (unsigned at = from; at < vectors->count; at++)
		{
			const char *blob = cells[at].string.blob;
			uint32_t bytes;

			if (vectors->nulls[i][at] || !tg_string_is_out(&cells[at].string))
				continue;
			bytes = tg_string_blob_bytes(&cells[at].string);
			if (bytes > BLOB_BYTES_AHEAD)
				bytes = BLOB_BYTES_AHEAD;
			for (uint32_t byte = 0; byte < bytes; byte += TG_CACHE_LINE)
				__builtin_prefetch(blob + byte);
			__builtin_prefetch(blob + bytes - 1);
		}
	}
}

/* Prefetches the data of a portion. */
static void
expect(const tg_range_scan *scan, const tg_vectors *vectors, const tg_version *heads, unsigned count)
{
	expect_versions(vectors, heads, count);
	if (scan->index != NULL && scan->index->link.hidden != NULL)
		expect_hidden(scan->index, heads, count);
}

/* Visible versions, and their rows. */
typedef struct seen_versions
{
	unsigned count;
	tg_version versions[TG_RANGE_ROWS_AHEAD];
	uint32_t rows[TG_RANGE_ROWS_AHEAD];
} seen_versions;

/* Whether a version is to be handed out at this entry, as row number of the batch. */
static inline bool
takes(const tg_range_scan *scan, tg_version version, const unsigned char *key, size_t key_bytes, unsigned number)
{
	const tg_sought *sought = scan->sought;

	if (tg_likely(sought == NULL))
		return tg_index_has_key(scan->index, version, key, key_bytes);
	return tg_sought_takes(sought, scan->index, version, key, key_bytes,
						   sought->found == NULL ? NULL
												 : sought->found + (size_t) number * tg_sought_words(sought->count));
}

/*
 * Finds the visible versions of the pending rows [from, to), by their heads; before is the number
 * of rows in the batch already. *entries_inout is the place of the first row's entry.  Returns
 * where it has stopped: before to if the scan is busy.
 */
static unsigned
see_rows(tg_range_scan *scan, const tg_version *heads, unsigned from, unsigned to, unsigned before,
		 const unsigned char **entries_inout, seen_versions *seen)
{
	seen->count = 0;
	for (unsigned i = from; i < to; i++)
	{
		tg_version version;
		const unsigned char *key = NULL;
		size_t key_bytes = 0;
		tg_status status = tg_txn_read_head(&scan->snapshot, heads[i], &version, &scan->wait);

		if (tg_unlikely(status == TG_BUSY))
		{
			scan->busy = true;
			return i;
		}
		if (scan->index != NULL)
			*entries_inout = tg_index_entry_next(*entries_inout, &key, &key_bytes);
		if (status != TG_OK || (scan->index != NULL && !takes(scan, version, key, key_bytes, before + seen->count)))
			continue;
		seen->versions[seen->count] = version;
		seen->rows[seen->count++] = scan->pending[i];
	}
	return to;
}

/* Appends versions that are mostly neighbours: in ascending slots of one chunk. */
static void
append_neighbours(tg_vectors *vectors, const seen_versions *seen)
{
	uint16_t slots[TG_RANGE_ROWS_AHEAD];

	for (unsigned first = 0, end; first < seen->count; first = end)
	{
		const tg_chunk *chunk = tg_version_chunk(seen->versions[first]);

		end = first;
		do
			slots[end - first] = (uint16_t) tg_version_slot(seen->versions[end]);
		while (++end < seen->count && tg_version_chunk(seen->versions[end]) == chunk &&
			   seen->versions[end] > seen->versions[end - 1]);
		tg_vectors_gather(vectors, chunk, slots, seen->rows + first, end - first);
	}
}

/* Whether a head is one of a version in the other version's chunk: it differs in the slot only. */
static inline bool
is_same_chunk(tg_version head, tg_version version)
{
	return ((head ^ version) & ~(tg_version) (TG_SLOT_MAX - 1)) == 0;
}

/*
 * Appends the pending rows from one on that are neighbours in a chunk without headers: every
 * snapshot sees them (3), as it would if each was asked for now.  Returns the place behind them.
 */
static unsigned
append_settled(const tg_range_scan *scan, tg_vectors *vectors, const tg_version *heads, unsigned from, unsigned count)
{
	const tg_chunk *chunk = tg_version_chunk(heads[from]);
	uint16_t slots[TG_RANGE_ROWS_AHEAD];
	unsigned end = from;

	if (!is_version(heads[from]) || tg_chunk_headers(chunk) != NULL)
		return from;
	do
		slots[end - from] = (uint16_t) tg_version_slot(heads[end]);
	while (++end < count && is_same_chunk(heads[end], heads[from]) && heads[end] > heads[end - 1]);
	tg_vectors_gather(vectors, chunk, slots, scan->pending + from, end - from);
	return end;
}

/*
 * Appends the visible versions of the pending rows, up to count, in their order.  Returns the
 * number of rows examined: all, unless the scan is busy. *entries_out is the place of the next
 * row's entry.
 *
 * Rows in the order of a key may lie anywhere, as updated ones do, and each row is read in
 * dependent steps: head, chunk, header and cells, blob.  So each step is prefetched for a portion
 * of rows before the next step, and the step before for the portion behind it.  Their misses
 * overlap with each other, and with the work (Chen, Ailamaki, Gibbons, Mowry: Improving Hash Join
 * Performance through Prefetching, 2004, «group prefetching» and «software-pipelined prefetching»).
 */
static unsigned
append_rows(tg_range_scan *scan, tg_vectors *vectors, unsigned count, const unsigned char **entries_out)
{
	tg_version heads[TG_RANGE_ROWS_AHEAD];
	bool strays = load_heads(scan->table, scan->pending, count, heads);
	unsigned portion = strays && count > PORTION ? PORTION : count;
	unsigned done = 0;

	*entries_out = scan->entries;
	if (strays)
		expect(scan, vectors, heads, portion);
	while (done < count && !scan->busy)
	{
		unsigned end = count - done > portion ? done + portion : count;
		unsigned before = vectors->count;
		unsigned settled = done;
		seen_versions seen;

		if (!strays && scan->index == NULL)
			settled = append_settled(scan, vectors, heads, done, count);
		if (settled > done)
		{
			done = settled;
			continue;
		}
		if (strays)
			expect(scan, vectors, heads + end, count - end > portion ? portion : count - end);
		done = see_rows(scan, heads, done, end, before, entries_out, &seen);
		if (!strays)
			append_neighbours(vectors, &seen);
		else
		{
			tg_vectors_collect(vectors, seen.versions, seen.rows, seen.count);
			expect_blobs(vectors, before);
		}
	}
	return done;
}

/* Prefetches the leaf, and the data of the first rows from the guessed one on. */
static void
expect_guessed(tg_range_scan *scan, const tg_vectors *vectors, unsigned count)
{
	uint32_t first = scan->row_guessed;
	uint32_t row_next = tg_load_acquire(&scan->table->row_next);
	uint32_t rows[PORTION];
	tg_version heads[PORTION];

	scan->row_guessed = TG_ROW_MAX;
	tg_btree_expect(scan->cursor.tree, scan->cursor.low, scan->cursor.low_bytes);
	if (first >= row_next)
		return;
	if (count > row_next - first)
		count = row_next - first;
	for (unsigned i = 0; i < count; i += TG_CACHE_LINE / sizeof(tg_version))
		__builtin_prefetch(tg_row_head(scan->table, first + i));
	if (count > PORTION)
		count = PORTION;
	for (unsigned i = 0; i < count; i++)
		rows[i] = first + i;
	(void) load_heads(scan->table, rows, count, heads);
	expect_versions(vectors, heads, count);
}

/* Keeps the rows from done on for the next call, and their entries. */
static void
keep_pending(tg_range_scan *scan, unsigned done, unsigned count, const unsigned char *entries)
{
	scan->pending_count = count - done;
	memmove(scan->pending, scan->pending + done, scan->pending_count * sizeof(uint32_t));
	if (scan->index != NULL)
		memmove(scan->entries, entries, (size_t) (scan->entries + sizeof(scan->entries) - entries));
}

/* Drops the pending rows that are not in the set, and their entries.  Returns the number left. */
static unsigned
keep_within(tg_range_scan *scan, unsigned count)
{
	unsigned char *entry = scan->entries;
	unsigned char *place = scan->entries;
	unsigned kept = 0;

	for (unsigned i = 0; i < count; i++)
	{
		bool stays = tg_row_set_may_have(scan->within, scan->pending[i]);
		size_t bytes = scan->index != NULL ? tg_index_entry_bytes(entry) : 0;

		if (stays && place != entry)
			memmove(place, entry, bytes);
		place += stays ? bytes : 0;
		scan->pending[kept] = scan->pending[i];
		kept += stays;
		entry += bytes;
	}
	scan->passed_over += count - kept;
	return kept;
}

/* Appends the rows of one epoch, up to limit rows in vectors; false at the end of the range. */
static bool
append_range_epoch(tg_session *session, tg_range_scan *scan, tg_vectors *vectors, unsigned limit)
{
	/* of rows of which most are passed over the last few would have to be asked for one by one */
	unsigned enough = scan->within == NULL ? limit : vectors->count + (limit - vectors->count + 1) / 2;
	bool has_keys = scan->index != NULL || scan->cursor.sieve != NULL;
	bool more = true;

	tg_epoch_enter(session);
	if (scan->row_guessed != TG_ROW_MAX)
		expect_guessed(scan, vectors, limit);
	for (unsigned looked = 0; more && !scan->busy && looked < EPOCH_ROWS && vectors->count < enough;)
	{
		unsigned ask = limit - vectors->count < TG_RANGE_ROWS_AHEAD ? limit - vectors->count : TG_RANGE_ROWS_AHEAD;
		tg_btree_keys keys = {.bytes = scan->entries, .capacity = sizeof(scan->entries)};
		unsigned count = tg_btree_cursor_next_keys(&scan->cursor, scan->pending, ask, has_keys ? &keys : NULL);
		const unsigned char *entries;
		unsigned done;

		more = count > 0 || !scan->cursor.done;
		if (count == 0)
			break; /* also where the set lets no row through: that may take long */
		looked += count;
		if (scan->within != NULL)
			count = keep_within(scan, count);
		done = append_rows(scan, vectors, count, &entries);
		if (tg_unlikely(done < count))
			keep_pending(scan, done, count, entries);
	}
	tg_epoch_leave(session);
	return more;
}

/* Appends the rows that a busy call has left.  Returns whether all were examined. */
static bool
append_pending(tg_session *session, tg_range_scan *scan, tg_vectors *vectors)
{
	unsigned count = scan->pending_count;
	const unsigned char *entries;
	unsigned done;

	tg_epoch_enter(session);
	done = append_rows(scan, vectors, count, &entries);
	tg_epoch_leave(session);
	keep_pending(scan, done, count, entries);
	return done == count;
}

unsigned
tg_range_scan_step(tg_session *session, tg_range_scan *scan, tg_vectors *vectors, unsigned limit, bool *more_out)
{
	tg_assert(limit > 0 && limit <= vectors->capacity);
	vectors->count = 0;
	scan->busy = false;
	*more_out = false;
	if (tg_unlikely(scan->pending_count > 0) && !append_pending(session, scan, vectors))
		return vectors->count;
	if (vectors->count < limit)
		*more_out = append_range_epoch(session, scan, vectors, limit) && !scan->busy;
	return vectors->count;
}

unsigned
tg_range_scan_next(tg_session *session, tg_range_scan *scan, tg_vectors *vectors, unsigned limit)
{
	bool more;

	(void) tg_range_scan_step(session, scan, vectors, limit, &more);
	while (more && vectors->count < limit)
		more = append_range_epoch(session, scan, vectors, limit) && !scan->busy;
	return vectors->count;
}
