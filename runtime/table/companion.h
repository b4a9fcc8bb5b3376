/*
 * companion.h
 *	  Companions: chunks of hidden values beside the chunks of a table.
 *
 * An index with hidden values keeps a table of its own, which has no rows.  The chunk at an entry
 * of that table's directory is the companion of the chunk at the same entry of the first table,
 * slot by slot.  A slot that is free in a companion has no values: for the index, the version does
 * not exist. index/hidden.c describes the use of companions; this file has the part that the end of
 * a chunk needs.
 */
#ifndef TG_COMPANION_H
#define TG_COMPANION_H

#include "runtime/mem/claim.h"
#include "runtime/table/table.h"

/*
 * The companion of a chunk.  NULL: the index has no values of any version in the chunk.  Inside an
 * epoch.
 */
static inline tg_chunk *
tg_companion_of(const tg_index_link *link, const tg_chunk *chunk)
{
	unsigned segment = tg_directory_segment(chunk->index);
	tg_chunk *const *entries = tg_load_acquire(&link->hidden->chunks[segment]);

	return entries == NULL ? NULL : tg_load_acquire(&entries[tg_directory_place(chunk->index, segment)]);
}

/* Whether a companion (NULL: none) has the values of the version in this slot. */
static inline bool
tg_companion_is_known(const tg_chunk *companion, unsigned slot)
{
	return companion != NULL && (tg_load_acquire(&companion->free[slot / 64]) >> (slot % 64) & 1) == 0;
}

/*
 * Makes the companion of a chunk, at the same entry of the directory and with all of its slots
 * free; or finds the one that another session has made.  TG_NO_MEMORY, TG_OVER_QUOTA.
 */
extern tg_status tg_companion_make(tg_session *session, const tg_index_link *link, const tg_chunk *chunk,
								   tg_claim claim, tg_chunk **companion_out) TG_MUST_USE;

/* Removes the values of a version, if there are any, from the index's companion of its chunk. */
extern void tg_companion_forget(tg_session *session, const tg_index_link *link, tg_version version);

/* A slot is about to be given back: its values are removed from all companions. */
extern void tg_companions_forget(tg_session *session, tg_version version);

/* The number of companions that a chunk of the table can have. */
extern unsigned tg_companions_count(const tg_table *table);

/*
 * Takes the companions of a chunk without versions out of their directories, linked by
 * next_partial; the caller retires them.  No other thread stores values of the chunk meanwhile.
 * count_max: the result of tg_companions_count.
 */
extern tg_chunk *tg_companions_take(tg_chunk *chunk, unsigned count_max);

#endif /* TG_COMPANION_H */
