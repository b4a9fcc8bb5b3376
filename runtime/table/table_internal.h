/*
 * table_internal.h
 *	  Shared by the files behind table.h: layout, table, chunk, lease, settle.
 */
#ifndef TG_TABLE_INTERNAL_H
#define TG_TABLE_INTERNAL_H

#include "runtime/mem/claim.h"
#include "runtime/order/value.h"
#include "runtime/table/table.h"

/* --- layout.c ---------------------------------------------------------------- */

/* Lays out columns of these kinds, in one allocation of TG_USE_TABLE.  TG_NO_MEMORY. */
extern tg_status tg_layout_create(tg_session *session, const uint8_t *kinds, unsigned column_count, tg_claim claim,
								  tg_layout **layout_out) TG_MUST_USE;

/* Bytes of a chunk of so many slots, and of its headers. */
extern size_t tg_chunk_bytes(const tg_layout *layout, unsigned capacity);

static inline size_t
tg_headers_bytes(unsigned capacity)
{
	return capacity * sizeof(tg_header);
}

/* Slots of the next chunk of a table that has chunk_count of them. */
extern unsigned tg_chunk_capacity(const tg_layout *layout, uint32_t chunk_count);

/* --- table.c ----------------------------------------------------------------- */

#define TG_ROW_BATCH 32

/*
 * Takes up to TG_ROW_BATCH row ids, recycled ones or else fresh ones; the last of the array is the
 * first in order.  *count_out ≥ 1.  TG_NO_MEMORY, TG_FULL.
 */
extern tg_status tg_rows_take(tg_session *session, tg_table *table, tg_claim claim, uint32_t rows[TG_ROW_BATCH],
							  unsigned *count_out) TG_MUST_USE;

/* Puts row ids back into the list of free ones. */
extern void tg_rows_give(tg_table *table, const uint32_t *rows, unsigned count);

/* --- registry.c -------------------------------------------------------------- */

/* Enters a table, which is whole; no table in the registry has its id. */
extern void tg_registry_enter(tg_table *table);

/* Removes a table that has no reference left, if it is there (a hidden one never was). */
extern void tg_registry_leave(tg_table *table);

/* --- chunk.c ----------------------------------------------------------------- */

/*
 * Leases a chunk to allocate from: one with free slots, or a new one.  TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_chunk_lease(tg_session *session, tg_table *table, tg_claim claim, tg_chunk **chunk_out) TG_MUST_USE;

/* Likewise, but a new chunk without headers, of a table that no session reads.  TG_ESSENTIAL. */
extern tg_status tg_chunk_lease_bare(tg_session *session, tg_table *table, tg_chunk **chunk_out) TG_MUST_USE;

/* The slots of a chunk that are left to the next versions of its rows. */
static inline uint32_t
tg_chunk_room(const tg_chunk *chunk)
{
	const tg_layout *layout = chunk->layout;

	return chunk->capacity == layout->full_capacity ? layout->full_capacity - (uint32_t) layout->filled : 0;
}

/* Ends the lease of a chunk; the chunk is listed if any of its slots is available. */
extern void tg_chunk_lease_end(tg_chunk *chunk);

/* Leases a chunk with available slots; NULL: none is listed. */
extern tg_chunk *tg_chunk_lease_listed(tg_table *table);

/*
 * Ensures that no slot of the chunk is taken from now on, until the chunk is reclaimed or
 * tg_chunk_emptying_end is called.  False: the chunk is leased, or there is no other chunk for its
 * versions: none with free slots, or, if its layout is not the newest, none at all.
 */
extern bool tg_chunk_emptying_begin(tg_chunk *chunk);
extern void tg_chunk_emptying_end(tg_chunk *chunk);

/* Removes a companion from its directory; it is to be retired (TG_USE_CHUNK).  Takes no latch. */
extern void tg_chunk_remove_companion(tg_chunk *companion);

/* Headers for so many slots: begin and end NEVER, no older version.  NULL if refused. */
extern tg_header *tg_headers_alloc(tg_session *session, unsigned capacity, tg_claim claim);

/* Frees all chunks of a table that is not used any more, their headers, and every blob once. */
extern void tg_chunks_destroy(tg_session *session, tg_table *table);

/* --- chunk_values.c ---------------------------------------------------------- */

/* The cell of a slot in a column of kind STRING. */
static inline tg_value *
tg_chunk_cell_of(const tg_chunk *chunk, unsigned column, unsigned slot)
{
	return (tg_value *) (chunk->values + (size_t) chunk->layout->offsets[column] * chunk->capacity) + slot;
}

/*
 * Stores strings into the empty cells of free slots; those marked HOST are copied.  TG_NO_MEMORY:
 * the cells are empty.  The second function empties them, and frees their blobs.
 */
extern tg_status tg_chunk_strings_store(tg_session *session, tg_chunk *chunk, unsigned column, unsigned slot,
										unsigned count, const tg_string *strings) TG_MUST_USE;
extern void tg_chunk_strings_drop(tg_session *session, tg_chunk *chunk, unsigned column, unsigned slot, unsigned count);

/*
 * Frees the blobs that free slots have kept, in a chunk that has no other blobs and from which no
 * slot is taken any more.
 */
extern void tg_chunk_spares_free(tg_session *session, tg_chunk *chunk);

/* --- lease.c ----------------------------------------------------------------- */

/*
 * The first free slot from the cursor on; false if there is none, or only those left to the chunk's
 * own rows.
 */
extern bool tg_chunk_find_slot(const tg_chunk *chunk, uint32_t cursor, unsigned *slot_out);

/*
 * Takes a slot of a chunk that the caller has leased, as tg_slot_take; the slot was free.
 * *version_out is TG_VERSION_NONE if another session has it by now.  TG_NO_MEMORY.
 */
extern tg_status tg_chunk_take_slot(tg_session *session, tg_chunk *chunk, unsigned slot, tg_claim claim,
									tg_version *version_out) TG_MUST_USE;

/*
 * The bytes of blobs that a session may store in a table between two requests to the table's book.
 */
#define TG_BLOB_BYTES_UNASKED (64 * 1024)

/*
 * Books bytes of blobs that the session has stored, now or later, together with others of its
 * lease.  True: the book has grown by them, and has to be asked.
 */
extern bool tg_blob_bytes_add(tg_session *session, tg_table *table, int64_t bytes);

#endif /* TG_TABLE_INTERNAL_H */
