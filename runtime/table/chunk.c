/*
 * chunk.c
 *	  Chunks: how they are made, found, leased and freed.
 *
 *	              made                     exhausted, evicted
 *	  (nothing) --------> LEASED --------------------------> FULL
 *	      ^                 ^  \                               |
 *	      |          leased |   \ ended with slots free        | slots given
 *	      |                 |    v                             v
 *	      +--------------- LISTED <----------------------------+
 *	      |  reclaimed       |  ^                              |
 *	      |          emptied |  | no room elsewhere            |
 *	      |                  v  |                              |
 *	      +--------------- EMPTYING <--------------------------+
 *	         reclaimed                 emptied (compact.c)
 *
 * 1. Two kinds of sessions allocate from a chunk: the one that has leased it; and any session that
 *	  replaces a version in it, or of a row beside one in it, and finds a slot free, so that the row
 *	  stays among its neighbours.  The replaced version is in the chunk until that session's epoch
 *	  ends, so the chunk is not reclaimed meanwhile.  The session that clears a slot's bit has the
 *	  slot.  Any session gives slots back.
 * 2. leased, listed, the list and the directory change under the table's latch.
 * 3. A chunk is in the list of its table (LISTED) exactly if it may be leased; then it is not
 *	  leased.  Chunks of older layouts are dropped from the list when they come up, and not listed
 *	  again.  No slot is taken from a chunk that is being emptied (except by a session that had
 *	  looked before), so the number of its versions only falls.
 * 4. A free slot's header says nothing (begin and end NEVER, all else zero) in any header array of
 *	  the chunk; its string cells are empty, or lead to blobs that belong to the slot
 *	  (chunk_values.c, 1).  So each out-of-line cell of any slot leads to a live blob.
 * 5. A FULL chunk gets listed when so many slots are free that leasing it pays.  Giving a slot and
 *	  ending a lease are a Dekker pair: a giver adds to free_count, then looks at leased; the end of
 *	  a lease clears leased, then looks at free_count (all sequentially consistent).  At least one
 *	  of them sees the other and lists the chunk.
 * 6. A share of the slots of a full-sized chunk, its room, is not available by lease: it is left to
 *	  the next versions of the rows in the chunk, which would otherwise have to leave it until an
 *	  old version has been collected.  So neighbouring rows stay together; every row that had left
 *	  would cost a scan by key cache misses of its own.  Tables are larger by that share, half a
 *	  byte for a narrow row.
 *
 * A directory entry is NULL again when its chunk was freed, and is used for the next one.  A scan
 * may then find the new chunk instead of the old one: the scan's snapshot can see nothing in
 * either.
 */
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/grant.h"
#include "runtime/mem/retire.h"
#include "runtime/mem/session.h"
#include "runtime/order/value.h"
#include "runtime/table/companion.h"
#include "runtime/table/store.h"
#include "runtime/table/summary.h"
#include "runtime/table/table_internal.h"

#include <string.h>

#define LISTED_SHARE 64 /* a full chunk is listed when 1/64 of it is available */

tg_header *
tg_headers_alloc(tg_session *session, unsigned capacity, tg_claim claim)
{
	tg_header *headers = tg_alloc(session, tg_headers_bytes(capacity), TG_USE_HEADER, claim);

	if (headers == NULL)
		return NULL;
	for (unsigned slot = 0; slot < capacity; slot++)
		headers[slot] = (tg_header){.begin = TG_TIME_NEVER, .end = TG_TIME_NEVER, .older = TG_VERSION_NONE};
	return headers;
}

/* --- the list of chunks with free slots; under the latch ------------------------- */

static void
list_chunk(tg_table *table, tg_chunk *chunk)
{
	tg_assert(chunk->listed == TG_UNLISTED && !chunk->leased);
	chunk->previous_partial = NULL;
	chunk->next_partial = table->partial;
	if (table->partial != NULL)
		table->partial->previous_partial = chunk;
	table->partial = chunk;
	tg_store_relaxed(&chunk->listed, TG_LISTED);
}

static void
unlist_chunk(tg_table *table, tg_chunk *chunk)
{
	tg_assert(chunk->listed == TG_LISTED);
	if (chunk->previous_partial != NULL)
		chunk->previous_partial->next_partial = chunk->next_partial;
	else
		table->partial = chunk->next_partial;
	if (chunk->next_partial != NULL)
		chunk->next_partial->previous_partial = chunk->previous_partial;
	tg_store_relaxed(&chunk->listed, TG_UNLISTED);
}

/* --- the directory; under the latch ------------------------------------------------ */

static tg_chunk **
directory_entry(tg_table *table, uint32_t index)
{
	unsigned segment = tg_directory_segment(index);

	return &table->chunks[segment][tg_directory_place(index, segment)];
}

static uint32_t
live_chunks(const tg_table *table)
{
	return table->chunk_count - table->free_chunk_index_count;
}

/* Ensures that a segment of the directory exists. */
static tg_status
ensure_entries(tg_session *session, tg_table *table, unsigned segment, tg_claim claim)
{
	tg_chunk **entries;

	if (table->chunks[segment] != NULL)
		return TG_OK;
	entries =
		tg_alloc_zeroed(session, ((size_t) TG_DIRECTORY_FIRST << segment) * sizeof(*entries), TG_USE_TABLE, claim);
	if (entries == NULL)
		return TG_NO_MEMORY;
	tg_table_count(table, &table->table_bytes, (int64_t) tg_alloc_bytes(entries));
	tg_store_release(&table->chunks[segment], entries);
	return TG_OK;
}

/* An entry that is NULL: one that was used, or the next. */
static tg_status
take_index(tg_session *session, tg_table *table, tg_claim claim, uint32_t *index_out)
{
	uint32_t index = table->chunk_count;

	if (table->free_chunk_index_count > 0)
	{
		index = table->free_chunk_index_low;
		while (*directory_entry(table, index) != NULL)
			index++;
		tg_assert(index < table->chunk_count);
		table->free_chunk_index_low = index + 1;
		table->free_chunk_index_count--;
		*index_out = index;
		return TG_OK;
	}
	*index_out = index;
	return ensure_entries(session, table, tg_directory_segment(index), claim);
}

/* --- making and leasing -------------------------------------------------------------- */

/* A new chunk, leased, without headers, and not yet reachable.  NULL if refused. */
static tg_chunk *
make_bare_chunk(tg_session *session, tg_table *table, const tg_layout *layout, unsigned capacity, tg_claim claim)
{
	unsigned words = (capacity + 63) / 64;
	tg_chunk *chunk = tg_alloc_zeroed(session, tg_chunk_bytes(layout, capacity), TG_USE_CHUNK, claim);

	if (chunk == NULL)
		return NULL;
	chunk->table = table;
	chunk->layout = layout;
	chunk->capacity = (uint16_t) capacity;
	chunk->leased = 1;
	chunk->free_count = capacity;
	chunk->listed = TG_UNLISTED;
	chunk->values = (unsigned char *) (chunk + 1);
	chunk->rows = (uint32_t *) (chunk->values + (size_t) layout->slot_bytes * capacity);
	chunk->nulls = (uint64_t *) (chunk->rows + capacity);
	chunk->free = chunk->nulls + (size_t) layout->column_count * words;
	memset(chunk->free, 0xff, words * sizeof(uint64_t));
	return chunk;
}

/* Likewise, with headers. */
static tg_chunk *
make_chunk(tg_session *session, tg_table *table, const tg_layout *layout, unsigned capacity, tg_claim claim)
{
	tg_chunk *chunk = make_bare_chunk(session, table, layout, capacity, claim);

	if (chunk == NULL)
		return NULL;
	chunk->headers = tg_headers_alloc(session, capacity, claim);
	if (chunk->headers != NULL)
		return chunk;
	tg_free(session, chunk, TG_USE_CHUNK);
	return NULL;
}

/* Frees a chunk, its headers and its summary; it has no blobs. */
static void
free_chunk(tg_session *session, tg_chunk *chunk)
{
	tg_header *headers = tg_chunk_headers(chunk);

	if (headers != NULL)
		tg_free(session, headers, TG_USE_HEADER);
	tg_summary_free(session, chunk);
	tg_free(session, chunk, TG_USE_CHUNK);
}

/* Enters a new chunk in the directory. */
static tg_status
publish_chunk(tg_session *session, tg_table *table, tg_chunk *chunk, tg_claim claim)
{
	tg_status status;

	tg_latch_acquire(&table->latch);
	status = take_index(session, table, claim, &chunk->index);
	if (status == TG_OK)
	{
		/* Both pair with the acquires in tg_table_chunk and tg_table_chunk_count. */
		tg_store_release(directory_entry(table, chunk->index), chunk);
		if (chunk->index == table->chunk_count)
			tg_store_release(&table->chunk_count, chunk->index + 1);
	}
	tg_latch_release(&table->latch);
	return status;
}

/*
 * Enters a new chunk in the directory of a table of hidden values, unless another session was
 * faster.  *chunk_inout is the chunk that is there then.
 */
static tg_status
publish_companion(tg_session *session, tg_table *hidden, tg_chunk **chunk_inout, tg_claim claim)
{
	uint32_t index = (*chunk_inout)->index;
	unsigned last = tg_directory_segment(index);
	tg_status status = TG_OK;

	tg_latch_acquire(&hidden->latch);
	/* also the segments before it, because walks of the directory read them */
	for (unsigned segment = 0; segment <= last && status == TG_OK; segment++)
		status = ensure_entries(session, hidden, segment, claim);
	if (status == TG_OK && *directory_entry(hidden, index) != NULL)
		*chunk_inout = *directory_entry(hidden, index);
	else if (status == TG_OK)
	{
		/* Pairs with the acquire in tg_companion_of. */
		tg_store_release(directory_entry(hidden, index), *chunk_inout);
		if (index >= hidden->chunk_count)
			tg_store_release(&hidden->chunk_count, index + 1);
	}
	tg_latch_release(&hidden->latch);
	return status;
}

tg_status
tg_companion_make(tg_session *session, const tg_index_link *link, const tg_chunk *chunk, tg_claim claim,
				  tg_chunk **companion_out)
{
	tg_table *hidden = link->hidden;
	tg_status status = tg_book_ask(hidden->book, tg_chunk_bytes(hidden->layout, chunk->capacity), claim);
	tg_chunk *fresh;

	if (status != TG_OK)
		return status;
	fresh = make_bare_chunk(session, hidden, hidden->layout, chunk->capacity, claim);
	if (fresh == NULL)
		return TG_NO_MEMORY;
	fresh->index = chunk->index;
	*companion_out = fresh;
	status = publish_companion(session, hidden, companion_out, claim);
	if (status == TG_OK && *companion_out == fresh)
		tg_table_count(hidden, &hidden->chunk_bytes, (int64_t) tg_alloc_bytes(fresh));
	else
		tg_free(session, fresh, TG_USE_CHUNK);
	return status;
}

void
tg_chunk_remove_companion(tg_chunk *companion)
{
	tg_table_count(companion->table, &companion->table->chunk_bytes, -(int64_t) tg_alloc_bytes(companion));
	tg_store_release(directory_entry(companion->table, companion->index), NULL);
}

/* Leases the first listed chunk of the newest layout; NULL: there is none.  Under the latch. */
static tg_chunk *
lease_listed(tg_table *table)
{
	tg_chunk *chunk;

	while ((chunk = table->partial) != NULL)
	{
		unlist_chunk(table, chunk);
		if (chunk->layout != table->layout)
			continue;
		tg_store_seq_cst(&chunk->leased, 1);
		break;
	}
	return chunk;
}

tg_chunk *
tg_chunk_lease_listed(tg_table *table)
{
	tg_chunk *chunk;

	tg_latch_acquire(&table->latch);
	chunk = lease_listed(table);
	tg_latch_release(&table->latch);
	return chunk;
}

tg_status
tg_chunk_lease(tg_session *session, tg_table *table, tg_claim claim, tg_chunk **chunk_out)
{
	const tg_layout *layout;
	tg_chunk *chunk;
	unsigned capacity;
	tg_status status;

	tg_latch_acquire(&table->latch);
	layout = table->layout;
	chunk = lease_listed(table);
	capacity = tg_chunk_capacity(layout, live_chunks(table));
	tg_latch_release(&table->latch);
	if (chunk != NULL)
	{
		*chunk_out = chunk;
		return TG_OK;
	}

	status = tg_book_ask(table->book, tg_chunk_bytes(layout, capacity) + tg_headers_bytes(capacity), claim);
	if (status != TG_OK)
		return status;
	chunk = make_chunk(session, table, layout, capacity, claim);
	if (chunk == NULL)
		return TG_NO_MEMORY;
	status = publish_chunk(session, table, chunk, claim);
	if (status != TG_OK)
	{
		free_chunk(session, chunk);
		return status;
	}
	tg_table_count(table, &table->chunk_bytes, (int64_t) tg_alloc_bytes(chunk));
	tg_table_count(table, &table->header_bytes, (int64_t) tg_headers_bytes(capacity));
	*chunk_out = chunk;
	return TG_OK;
}

tg_status
tg_chunk_lease_bare(tg_session *session, tg_table *table, tg_chunk **chunk_out)
{
	const tg_layout *layout;
	tg_chunk *chunk;
	unsigned capacity;
	tg_status status;

	tg_latch_acquire(&table->latch);
	layout = table->layout;
	capacity = tg_chunk_capacity(layout, live_chunks(table));
	tg_latch_release(&table->latch);
	chunk = make_bare_chunk(session, table, layout, capacity, TG_ESSENTIAL);
	if (chunk == NULL)
		return TG_NO_MEMORY;
	status = publish_chunk(session, table, chunk, TG_ESSENTIAL);
	if (status != TG_OK)
	{
		free_chunk(session, chunk);
		return status;
	}
	tg_table_count(table, &table->chunk_bytes, (int64_t) tg_alloc_bytes(chunk));
	*chunk_out = chunk;
	return TG_OK;
}

void
tg_chunk_lease_end(tg_chunk *chunk)
{
	tg_table *table = chunk->table;

	tg_latch_acquire(&table->latch);
	tg_assert(chunk->leased && chunk->listed == TG_UNLISTED);
	(void) tg_exchange_seq_cst(&chunk->leased, 0);
	if (tg_load_seq_cst(&chunk->free_count) > tg_chunk_room(chunk) && chunk->layout == table->layout)
		list_chunk(table, chunk);
	tg_latch_release(&table->latch);
}

bool
tg_chunk_emptying_begin(tg_chunk *chunk)
{
	tg_table *table = chunk->table;
	bool has_others;
	bool begun;

	tg_latch_acquire(&table->latch);
	has_others = chunk->layout == table->layout
					 ? table->partial != NULL && (table->partial != chunk || chunk->next_partial != NULL)
					 : live_chunks(table) > 1;
	begun = !chunk->leased && (chunk->listed == TG_LISTED || chunk->listed == TG_UNLISTED) && has_others;
	if (begun)
	{
		if (chunk->listed == TG_LISTED)
			unlist_chunk(table, chunk);
		tg_store_relaxed(&chunk->listed, TG_EMPTYING);
	}
	tg_latch_release(&table->latch);
	return begun;
}

void
tg_chunk_emptying_end(tg_chunk *chunk)
{
	tg_table *table = chunk->table;

	tg_latch_acquire(&table->latch);
	tg_assert(chunk->listed == TG_EMPTYING && !chunk->leased);
	tg_store_relaxed(&chunk->listed, TG_UNLISTED);
	if (tg_load_relaxed(&chunk->free_count) > tg_chunk_room(chunk) && chunk->layout == table->layout)
		list_chunk(table, chunk);
	tg_latch_release(&table->latch);
}

void
tg_slot_give(tg_session *session, tg_version version)
{
	tg_chunk *chunk = tg_version_chunk(version);
	unsigned slot = tg_version_slot(version);
	uint64_t bit = (uint64_t) 1 << slot % 64;
	tg_table *table = chunk->table;
	uint32_t threshold = chunk->capacity / LISTED_SHARE + tg_chunk_room(chunk);
	tg_header *header = tg_chunk_headers(chunk) + slot;

	tg_assert(tg_epoch_inside(session));
	tg_assert(slot < chunk->capacity && (tg_load_relaxed(&chunk->free[slot / 64]) & bit) == 0);
	tg_assert(tg_chunk_headers(chunk) != NULL);
	tg_assert(tg_load_relaxed(&header->begin) == TG_TIME_NEVER);
	for (unsigned i = 0; i < chunk->layout->string_count; i++)
	{
		const tg_value *cells = tg_chunk_column(chunk, chunk->layout->strings[i]);

		tg_assert(!tg_string_is_out(&cells[slot].string) || (cells[slot].string.word & TG_STRING_LENT) == 0);
	}

	if (tg_unlikely(tg_load_acquire(&table->indexes) != NULL))
		tg_companions_forget(session, version);
	/* The next tenant's ends are judged, too, between its taking and its begin. */
	tg_store_relaxed(&header->end, TG_TIME_NEVER);
	tg_store_relaxed(&header->older, TG_VERSION_NONE);
	tg_store_relaxed(&header->successor, 0);
	tg_store_relaxed(&header->life, 0);
	/* The release hands the slot's memory over to the session that takes it next. */
	(void) tg_fetch_or_acq_rel(&chunk->free[slot / 64], bit);
	if (tg_fetch_add_seq_cst(&chunk->free_count, 1) + 1 < threshold)
		return;
	if (tg_load_seq_cst(&chunk->leased) || tg_load_relaxed(&chunk->listed) != TG_UNLISTED)
		return;
	/* From the addition on the chunk may have been reclaimed; the epoch keeps it readable. */
	tg_latch_acquire(&table->latch);
	if (!chunk->leased && chunk->listed == TG_UNLISTED && chunk->layout == table->layout)
		list_chunk(table, chunk);
	tg_latch_release(&table->latch);
}

void
tg_table_slots_count(tg_table *table, tg_table_slots *slots)
{
	uint32_t count = tg_table_chunk_count(table);

	*slots = (tg_table_slots){0};
	for (uint32_t i = 0; i < count; i++)
	{
		const tg_chunk *chunk = tg_table_chunk(table, i);
		uint32_t free;

		if (chunk == NULL)
			continue;
		free = tg_load_relaxed(&chunk->free_count);
		slots->chunks++;
		slots->chunks_sparse += free > chunk->capacity / 2u;
		slots->taken += chunk->capacity - free;
		slots->free += free;
	}
}

/* --- the end --------------------------------------------------------------------------- */

bool
tg_chunk_reclaim(tg_session *session, tg_chunk *chunk)
{
	tg_table *table = chunk->table;
	unsigned companion_count = tg_companions_count(table);
	tg_chunk *companions = NULL;
	tg_header *headers;
	bool reclaimed = false;

	tg_assert(tg_epoch_inside(session));
	/*
	 * The acquire pairs with the release in tg_slot_give: all slots were given, and their bits set.
	 */
	if (tg_load_acquire(&chunk->free_count) != chunk->capacity || tg_load_relaxed(&chunk->leased))
		return false;
	if (tg_retire_reserve(session, 2 + TG_SUMMARY_RETIREMENTS + companion_count) != TG_OK)
		return false;

	tg_latch_acquire(&table->latch);
	if (!chunk->leased && chunk->listed != TG_RECLAIMED && live_chunks(table) > 1 &&
		tg_load_acquire(&chunk->free_count) == chunk->capacity)
	{
		if (chunk->listed == TG_LISTED)
			unlist_chunk(table, chunk);
		tg_store_relaxed(&chunk->listed, TG_RECLAIMED);
		companions = tg_companions_take(chunk, companion_count);
		tg_store_release(directory_entry(table, chunk->index), NULL);
		table->free_chunk_index_count++;
		if (chunk->index < table->free_chunk_index_low || table->free_chunk_index_count == 1)
			table->free_chunk_index_low = chunk->index;
		reclaimed = true;
	}
	tg_latch_release(&table->latch);
	if (!reclaimed)
		return false;

	while (companions != NULL)
	{
		tg_chunk *next = companions->next_partial;

		tg_retire(session, companions, TG_USE_CHUNK);
		companions = next;
	}
	tg_chunk_spares_free(session, chunk);
	tg_summary_drop(session, chunk);
	headers = tg_chunk_headers(chunk);
	tg_table_count(table, &table->chunk_bytes, -(int64_t) tg_alloc_bytes(chunk));
	if (headers != NULL)
	{
		tg_table_count(table, &table->header_bytes, -(int64_t) tg_headers_bytes(chunk->capacity));
		tg_retire(session, headers, TG_USE_HEADER);
	}
	tg_retire(session, chunk, TG_USE_CHUNK);
	return true;
}

typedef void (*cell_visitor)(tg_session *session, tg_value *cell);

/*
 * Versions of a row share blobs, and it cannot always be determined any more whether two of them
 * are neighbours: the collector may have cut one out and not yet freed it.  So the blobs themselves
 * record it, in two walks over all cells: no session reads the table now, and each blob has room
 * for an address.
 *
 * The first walk: a blob records the last cell that leads to it.
 */
static void
mark_blob(tg_session *session, tg_value *cell)
{
	memcpy((void *) cell->string.blob, &cell, sizeof(cell));
}

/* The second walk, in the same order: the recorded cell frees the blob, after all the others. */
static void
free_marked_blob(tg_session *session, tg_value *cell)
{
	const tg_value *last;

	memcpy(&last, cell->string.blob, sizeof(last));
	if (last == cell)
		tg_free(session, (void *) cell->string.blob, TG_USE_BLOB);
}

/*
 * Visits every cell of the chunk that leads to a blob, except stripped ones: their blobs may be
 * gone.
 */
static void
visit_cells(tg_session *session, tg_chunk *chunk, cell_visitor visitor)
{
	const tg_layout *layout = chunk->layout;

	for (unsigned i = 0; i < layout->string_count; i++)
	{
		for (unsigned slot = 0; slot < chunk->capacity; slot++)
		{
			tg_value *cell = tg_chunk_cell_of(chunk, layout->strings[i], slot);

			/* Free slots are included (4). */
			if (tg_string_is_out(&cell->string) && (cell->string.word & TG_STRING_LENT) == 0)
				visitor(session, cell);
		}
	}
}

static void
visit_all_cells(tg_session *session, tg_table *table, cell_visitor visitor)
{
	for (uint32_t index = 0; index < table->chunk_count; index++)
	{
		tg_chunk *chunk = *directory_entry(table, index);

		if (chunk != NULL)
			visit_cells(session, chunk, visitor);
	}
}

void
tg_chunks_destroy(tg_session *session, tg_table *table)
{
	visit_all_cells(session, table, mark_blob);
	visit_all_cells(session, table, free_marked_blob);
	for (uint32_t index = 0; index < table->chunk_count; index++)
	{
		tg_chunk *chunk = *directory_entry(table, index);

		if (chunk != NULL)
			free_chunk(session, chunk);
	}
	for (unsigned segment = 0; segment < sizeof(table->chunks) / sizeof(table->chunks[0]); segment++)
	{
		if (table->chunks[segment] != NULL)
			tg_free(session, table->chunks[segment], TG_USE_TABLE);
	}
}
