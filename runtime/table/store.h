/*
 * store.h
 *	  What changes a table's storage: tables, rows, slots and versions are made, and given back.
 */
#ifndef TG_STORE_H
#define TG_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/mem/claim.h"

typedef struct tg_header tg_header; /* version.h */

/* --- tables -------------------------------------------------------------------------- */

/*
 * A new table with one reference.  kinds[i] is column i's kind.  TG_NO_MEMORY.  claim: TG_DATA for
 * an additional table, of which there may be any number; TG_ESSENTIAL for one that replaces
 * another.
 */
extern tg_status tg_table_create(tg_session *session, uint32_t database, uint32_t relation, const uint8_t *kinds,
								 unsigned column_count, const tg_key_spec *key, tg_claim claim,
								 tg_table **table_out) TG_MUST_USE;

/*
 * Likewise, with an id that it has had before, in another server or in an earlier run of this one:
 * no table has it now, and ids that are handed out later are above it.
 */
extern tg_status tg_table_create_as(tg_session *session, uint64_t id, uint32_t database, uint32_t relation,
									const uint8_t *kinds, unsigned column_count, const tg_key_spec *key, tg_claim claim,
									tg_table **table_out) TG_MUST_USE;

/*
 * As tg_table_create, for hidden values of another table's index: their bytes are in that table's
 * book.
 */
extern tg_status tg_table_create_hidden(tg_session *session, tg_table *whole, const uint8_t *kinds,
										unsigned column_count, tg_claim claim, tg_table **table_out) TG_MUST_USE;

/*
 * Adds a newer layout with more columns at the end (kinds[] names all columns, the old ones first
 * and unchanged).  Chunks made from now on use it, and slots are taken from such chunks only.
 * TG_NO_MEMORY.
 */
extern tg_status tg_table_layout_add(tg_session *session, tg_table *table, const uint8_t *kinds,
									 unsigned column_count) TG_MUST_USE;

/*
 * Sets the host's number for what a column of the newest layout means; one that it has already
 * stays.
 */
extern void tg_table_set_meaning(tg_table *table, unsigned column, uint64_t meaning);

/* --- rows ---------------------------------------------------------------------------- */

/*
 * A fresh row id with head TG_VERSION_NONE, from the session's lease.
 * TG_NO_MEMORY, TG_OVER_QUOTA, TG_FULL (TG_ROW_MAX).
 */
extern tg_status tg_row_take(tg_session *session, tg_table *table, tg_claim claim, uint32_t *row_out) TG_MUST_USE;

/* Likewise several, all or none. */
extern tg_status tg_row_take_several(tg_session *session, tg_table *table, tg_claim claim, unsigned count,
									 uint32_t *rows_out) TG_MUST_USE;

/*
 * Makes sure that there is a row with this id, which another server, or an earlier one, has given
 * it.  Its head is NONE if it has no version, and so are the heads of the rows before it that are
 * new with it; they are in no list of free rows.  Only while no session takes rows of the table.
 * TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_row_place(tg_session *session, tg_table *table, uint32_t row, tg_claim claim) TG_MUST_USE;

/* Frees all rows whose head is NONE; none of them may be free before. */
extern void tg_rows_free_rest(tg_table *table);

/*
 * From now on rows that are given back are in no list, and can be placed again; before the table
 * has any.  The second ends that, and frees the rows that have no version.
 */
extern void tg_rows_follow(tg_table *table);
extern void tg_rows_follow_no_more(tg_table *table);

/*
 * Gives back a row id that no reader can reach any more (never published, or closed an epoch ago).
 * Any session.
 */
extern void tg_row_give(tg_session *session, tg_table *table, uint32_t row);

/*
 * Gives back segments of heads whose rows are all free.  Any session.  False: it is not at the end,
 * the budget is used up.
 */
extern bool tg_rows_trim(tg_session *session, tg_table *table, unsigned *budget);

/* --- slots and versions -------------------------------------------------------------- */

/*
 * Takes a free slot of the chunk that the session has leased of the table.  It has a header with
 * begin and end TG_TIME_NEVER, older NONE, successor and life 0.  Ascending within a fresh chunk.
 * TG_NO_MEMORY, TG_OVER_QUOTA.  Inside an epoch.
 */
extern tg_status tg_slot_take(tg_session *session, tg_table *table, tg_claim claim,
							  tg_version *version_out) TG_MUST_USE;

/*
 * Likewise, but as many free slots as follow one another in the chunk, wanted at most and one at
 * least: *first_out is the version of the first.
 */
extern tg_status tg_slot_take_run(tg_session *session, tg_table *table, tg_claim claim, unsigned wanted,
								  tg_version *first_out, unsigned *count_out) TG_MUST_USE;

/*
 * As tg_slot_take, for a version that replaces another one.  The slot is as near as possible to the
 * version near, beside which it should lie (or which it replaces), or else to the replaced one.
 * This uses only chunks of full size with a free slot (small tables are hot, and there sessions
 * should stay apart).  Neither version is freed while the caller is in its epoch.
 */
extern tg_status tg_slot_take_near(tg_session *session, tg_table *table, tg_version near, tg_version replaced,
								   tg_claim claim, tg_version *version_out) TG_MUST_USE;

/*
 * Gives a slot back; it may be taken again at once.  Its begin is TG_TIME_NEVER, and its blobs are
 * gone (tg_version_blobs_free, or never stored) or its own (tg_version_blobs_leave).  Any session,
 * inside an epoch.
 *
 * A version that some snapshot could see gets its begin set to NEVER when it is cut out of its
 * chain, and its slot is given no sooner than an epoch later.  Chains do not lead to it any more,
 * but scans find every allocated slot, and a scan that judged begin by the old tenant and end by
 * the next one would see a version that never existed.  A version whose begin has only been a
 * reference to a transaction that did not commit needs no epoch for scans, only for chains.
 */
extern void tg_slot_give(tg_session *session, tg_version version);

/*
 * Writes the values of a slot just taken, before begin is set.  values[i] and nulls[i] are for
 * every column of the chunk's layout (column_count of them; the table's newest layout).  Strings
 * marked HOST are copied into blobs, others are shared.  TG_NO_MEMORY, TG_OVER_QUOTA: nothing was
 * kept, the slot is still the caller's.
 */
extern tg_status tg_version_store(tg_session *session, tg_version version, uint32_t row, const tg_value *values,
								  const bool *nulls, tg_claim claim) TG_MUST_USE;

/* Values of rows, column by column: those of row i in column c are at [c * pitch + i]. */
typedef struct tg_row_values
{
	const tg_value *values;
	const bool *nulls;
	unsigned pitch;
} tg_row_values;

/*
 * As tg_version_store, for slots that follow one another: of the rows' values from `at` on.  All or
 * none.
 */
extern tg_status tg_version_store_run(tg_session *session, tg_version first, unsigned count, const uint32_t *rows,
									  const tg_row_values *values, unsigned at, tg_claim claim) TG_MUST_USE;

/*
 * Makes a slot just taken a copy of a version of the same or an older layout, before begin is set.
 * Blobs are shared, except those in sparse slabs (tg_alloc_is_sparse), which are copied if there is
 * memory.  The version is live, and stays while the caller is in its epoch.
 */
extern void tg_version_copy(tg_session *session, tg_version version, tg_version from);

/*
 * Changes a version's value in one column, to NULL if value is NULL, in place, while no other
 * thread reads the table.  The version's chunk has the column, and no other version shares its
 * blobs.  Strings marked HOST are copied.  TG_NO_MEMORY, TG_OVER_QUOTA: it keeps its value.
 */
extern tg_status tg_version_change(tg_session *session, tg_version version, unsigned column, const tg_value *value,
								   tg_claim claim) TG_MUST_USE;

/*
 * Frees the blobs of a version, except those that a neighbour in its row's chain (either may be
 * NONE) shares, and empties its string cells.  No session reads the version any more.  If two
 * neighbours are freed, the older one is first, with the newer as its neighbour, whether or not the
 * link between them is cut already: so each blob is freed with the last version that has it.  If
 * the shared cells have been emptied before, there need be no neighbours.
 */
extern void tg_version_blobs_free(tg_session *session, tg_version version, tg_version neighbour_a,
								  tg_version neighbour_b);

/*
 * Likewise, for a version that was replaced, with these neighbours, and whose slot is given next:
 * if few slots of the chunk are free, a blob that only this version has stays with the slot, for
 * the next version there (chunk_values.c, 1).
 */
extern void tg_version_blobs_leave(tg_session *session, tg_version version, tg_version above, tg_version below);

/* --- chunks -------------------------------------------------------------------------- */

/*
 * The headers for writing: brought back if there are none, unmarked if marked.  Inside an epoch;
 * valid until it is left.  TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_chunk_headers_write(tg_session *session, tg_chunk *chunk, tg_claim claim,
										tg_header **headers_out) TG_MUST_USE;

/*
 * Frees a chunk whose slots are all free, unless a session has leased it or it is the table's last
 * one.  True if it was freed.  Any session, inside an epoch.
 */
extern bool tg_chunk_reclaim(tg_session *session, tg_chunk *chunk);

/*
 * Takes one step towards freeing the chunk's headers, if every version in it is settled: begin at
 * or below the horizon, end NEVER, older NONE.  The first step marks; the second, once an epoch has
 * passed, checks again and removes them; call it again at any later time.  True if this call has
 * removed them.  One caller at a time (the collector); inside an epoch.
 */
extern bool tg_chunk_settle(tg_session *session, tg_chunk *chunk, tg_time horizon);

#endif /* TG_STORE_H */
