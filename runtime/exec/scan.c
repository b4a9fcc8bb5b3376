/*
 * scan.c
 *	  Reading a table in place: chunk by chunk, or along its index.
 *
 * A chunk scan looks at each slot of each chunk once.  A row that the snapshot
 * sees has exactly one version that it sees, and that version stays in its slot
 * while the snapshot is published: so each such row comes exactly once,
 * whatever others insert, update and delete meanwhile, and whatever slots they
 * take.  Chunks that come after the scan began hold nothing it sees.
 *
 * 1. Between two calls, and between two epochs of one call, nothing is kept but
 *	  numbers (a chunk's index, a slot).
 * 2. An epoch is held for EPOCH_CHUNKS chunks or EPOCH_ROWS index entries at
 *	  most, so that a long scan over rows nobody sees any more does not hold
 *	  back those who clear them away.
 *
 * Ordering, for a chunk (settle.c, «Scans», has the argument).  The pointer to the
 * headers is read, then the bits of free slots, then, if there were no
 * headers, the pointer again: a slot is not judged by headers that had gone
 * before it was taken.
 *
 * 3. No headers: every slot taken is visible to everybody.
 * 4. Headers: begin is read (acquire, so that the values written before it was
 *	  set are there), then end.  If both are timestamps, begin ≤ R < end decides:
 *	  the snapshot's time was loaded after every commit it sees had been drawn,
 *	  and those had set their ends before (W1).  Anything else is tg_txn_sees'
 *	  matter.  A slot that gets another tenant meanwhile was none that R sees,
 *	  and begin cannot be read of the old one and end of the new one: its begin is
 *	  NEVER for an epoch before it is given back (tg_slot_give).
 */
#include "runtime/exec/scan.h"

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"
#include "runtime/mem/session.h"

#define EPOCH_CHUNKS 16
#define EPOCH_ROWS 1024
#define ROWS_AHEAD 128 /* row ids taken from the index at once */

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

static inline bool
snapshot_sees(const tg_snapshot *snapshot, const tg_header *header)
{
	tg_time begin = tg_load_acquire(&header->begin);
	tg_time end = tg_load_acquire(&header->end);

	if (tg_likely(!tg_time_is_reference(begin | end)))
		return (begin <= snapshot->time) & (end > snapshot->time);
	return tg_txn_sees(snapshot, header);
}

/* Selects the first slots that are taken and visible, at most count. */
static unsigned
select_visible(const tg_snapshot *snapshot, const tg_header *headers, const uint64_t *taken, unsigned from,
			   unsigned capacity, uint16_t *slots, unsigned count)
{
	unsigned selected = 0;

	for (unsigned base = from & ~63u; base < capacity; base += 64)
		for (uint64_t word = taken[base / 64]; word != 0; word &= word - 1)
		{
			unsigned slot = base + (unsigned) __builtin_ctzll(word);

			if (selected == count)
				return selected;
			slots[selected] = (uint16_t) slot;
			selected += snapshot_sees(snapshot, &headers[slot]); /* no branch: updated rows lie anywhere */
		}
	return selected;
}

/* Appends a chunk's visible rows from a slot on; returns the slot to go on at, the capacity if the chunk is through. */
static unsigned
append_chunk(const tg_snapshot *snapshot, const tg_chunk *chunk, unsigned from, tg_vectors *vectors)
{
	uint64_t taken[BITMAP_WORDS];
	uint16_t slots[TG_SLOT_MAX];
	unsigned room = vectors->capacity - vectors->count;
	unsigned capacity = chunk->capacity;
	const tg_header *headers;
	unsigned count;

	if (from >= capacity)
		return capacity;
	if (room > TG_SLOT_MAX)
		room = TG_SLOT_MAX;
	headers = tg_chunk_headers(chunk);
	load_taken(chunk, from, taken);
	if (headers == NULL)
		headers = tg_chunk_headers(chunk); /* not before the bits */
	if (headers == NULL)
		count = select_taken(taken, from, capacity, slots, room);
	else
		count = select_visible(snapshot, headers, taken, from, capacity, slots, room);
	if (count == 0)
		return capacity;
	tg_vectors_gather(vectors, chunk, slots, count);
	return count < room ? capacity : slots[count - 1] + 1u;
}

/* --- whole table ----------------------------------------------------------------------- */

void
tg_chunk_scan_init(tg_chunk_scan *scan, tg_table *table, const tg_snapshot *snapshot, uint32_t first, uint32_t end)
{
	uint32_t chunk_count = tg_table_chunk_count(table);

	*scan = (tg_chunk_scan){
		.table = table, .snapshot = *snapshot, .chunk = first, .chunk_end = end < chunk_count ? end : chunk_count};
}

/* One epoch's worth. */
static void
append_epoch(tg_session *session, tg_chunk_scan *scan, tg_vectors *vectors)
{
	tg_epoch_enter(session);
	for (unsigned i = 0; i < EPOCH_CHUNKS && scan->chunk < scan->chunk_end && vectors->count < vectors->capacity; i++)
	{
		const tg_chunk *chunk = tg_table_chunk(scan->table, scan->chunk);

		if (chunk != NULL)
		{
			scan->slot = append_chunk(&scan->snapshot, chunk, scan->slot, vectors);
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

	while (scan->chunk < scan->chunk_end && vectors->count < vectors->capacity)
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

/* Versions found one after the other in ascending slots of one chunk, which are gathered together. */
typedef struct neighbours
{
	const tg_chunk *chunk;
	unsigned count;
	uint16_t slots[ROWS_AHEAD];
} neighbours;

static inline void
flush_neighbours(neighbours *found, tg_vectors *vectors)
{
	if (found->count == 1)
		tg_vectors_append(vectors, tg_version_make(found->chunk, found->slots[0]));
	else
		tg_vectors_gather(vectors, found->chunk, found->slots, found->count);
	found->count = 0;
}

/* Appends what the snapshot sees of these rows, in their order. */
static void
append_rows(tg_range_scan *scan, tg_vectors *vectors, const uint32_t *rows, unsigned count)
{
	neighbours found = {.chunk = NULL};

	for (unsigned i = 0; i < count; i++)
	{
		tg_version version;
		unsigned slot;

		if (tg_txn_read(&scan->snapshot, scan->table, rows[i], &version) != TG_OK)
			continue;
		slot = tg_version_slot(version);
		if (found.count > 0 && (tg_version_chunk(version) != found.chunk || slot <= found.slots[found.count - 1]))
			flush_neighbours(&found, vectors);
		found.chunk = tg_version_chunk(version);
		found.slots[found.count++] = (uint16_t) slot;
	}
	if (found.count > 0)
		flush_neighbours(&found, vectors);
}

/* One epoch's worth, up to limit rows in vectors; false at the end of the range. */
static bool
append_range_epoch(tg_session *session, tg_range_scan *scan, tg_vectors *vectors, unsigned limit)
{
	uint32_t rows[ROWS_AHEAD];
	bool more = true;

	tg_epoch_enter(session);
	for (unsigned looked = 0; more && looked < EPOCH_ROWS && vectors->count < limit;)
	{
		unsigned ask = limit - vectors->count < ROWS_AHEAD ? limit - vectors->count : ROWS_AHEAD;
		unsigned count = tg_btree_cursor_next(&scan->cursor, rows, ask);

		more = count > 0;
		looked += count;
		append_rows(scan, vectors, rows, count);
	}
	tg_epoch_leave(session);
	return more;
}

unsigned
tg_range_scan_next(tg_session *session, tg_range_scan *scan, tg_vectors *vectors, unsigned limit)
{
	tg_assert(limit > 0 && limit <= vectors->capacity);
	vectors->count = 0;
	while (vectors->count < limit && append_range_epoch(session, scan, vectors, limit))
		;
	return vectors->count;
}
