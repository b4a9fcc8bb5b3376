/*
 * hidden.h
 *	  Hidden values: what an index knows of a version that its columns do not say.
 *
 * The value of an expression, the canonical bytes of a column, whether a predicate holds: the
 * host computes them for each version, and the index keeps them.  They follow from the
 * version's columns alone, so they change nothing of it: an index can come, get the values of all versions that are
 * there, and go with them, while others read and write.
 *
 * They lie in companions of the table's chunks; see hidden.c.
 */
#ifndef TG_HIDDEN_H
#define TG_HIDDEN_H

#include "runtime/index/index.h"

/* Where an index that has hidden values is to keep them.  TG_NO_MEMORY. */
extern tg_status tg_hidden_create(tg_session *session, tg_index *index) TG_MUST_USE;

/* The companion of a chunk, or NULL: nothing is known of any version in it.  Inside an epoch. */
static inline const tg_chunk *
tg_hidden_chunk(const tg_index *index, const tg_chunk *chunk)
{
	unsigned segment = 28 - (unsigned) __builtin_clz(chunk->index + 8); /* as in tg_table_chunk */
	tg_chunk *const *entries = tg_load_acquire(&index->hidden->chunks[segment]);

	return entries == NULL ? NULL : tg_load_acquire(&entries[chunk->index + 8 - (8u << segment)]);
}

/* Whether the values of a version are there, in the companion of its chunk. */
static inline bool
tg_hidden_is_known(const tg_chunk *companion, unsigned slot)
{
	return companion != NULL && (tg_load_acquire(&companion->free[slot / 64]) >> (slot % 64) & 1) == 0;
}

/* Keeps the values of a version that nobody else writes to, and that has none.  Strings are copied.  TG_NO_MEMORY. */
extern tg_status tg_hidden_store(tg_session *session, const tg_index *index, tg_version version, const tg_value *values,
								 const bool *nulls, tg_claim claim) TG_MUST_USE;

/* The same for all indexes of its table that the host has computed values for. */
extern tg_status tg_hidden_store_all(tg_session *session, tg_version version, const tg_hidden_row *row,
									 tg_claim claim) TG_MUST_USE;

/* Of a copy all that is known of the version that it was made from.  TG_NO_MEMORY. */
extern tg_status tg_hidden_copy_all(tg_session *session, tg_version version, tg_version from) TG_MUST_USE;

/* A slot is about to be given back. */
extern void tg_hidden_forget(tg_session *session, tg_version version);

/* How many companions a chunk can have; what tg_hidden_take has room for. */
extern unsigned tg_hidden_count(const tg_table *table);

/*
 * Takes the companions of a chunk that has no version any more out of their indexes, linked by next_partial; they are
 * to be retired.  Nobody stores values of the chunk meanwhile.
 */
extern tg_chunk *tg_hidden_take(tg_chunk *chunk, unsigned count_max);

#endif /* TG_HIDDEN_H */
