/*
 * row_set.h
 *	  Sets of rows by their numbers: the rows in a range of one index, for a scan of another.
 *
 * A set has one bit for each number modulo the number of bits, a power of two.  So a set never
 * needs more memory than the caller gives it.  With fewer bits than the table has rows it may claim
 * to have a row that it does not have, but never the reverse.
 */
#ifndef TG_ROW_SET_H
#define TG_ROW_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"

typedef struct tg_btree_cursor tg_btree_cursor; /* btree.h */

typedef struct tg_row_set
{
	uint64_t *words; /* the caller's */
	uint32_t mask;	 /* of a row's number: its bit */
} tg_row_set;

/* Makes an empty set of word_count words, a power of two. */
extern void tg_row_set_init(tg_row_set *set, uint64_t *words, size_t word_count);

static inline void
tg_row_set_add(tg_row_set *set, uint32_t row)
{
	uint32_t bit = row & set->mask;

	set->words[bit / 64] |= (uint64_t) 1 << bit % 64;
}

static inline bool
tg_row_set_may_have(const tg_row_set *set, uint32_t row)
{
	uint32_t bit = row & set->mask;

	return (set->words[bit / 64] >> bit % 64 & 1) != 0;
}

/*
 * Adds the rows that a cursor leads to; if within is not NULL, only those that may be in that set.
 * Enters and leaves an epoch, and reads a bounded number of entries in it: false when the cursor is
 * at its end. *entries_inout counts the entries read.
 */
extern bool tg_row_set_read(tg_session *session, tg_row_set *set, const tg_row_set *within, tg_btree_cursor *cursor,
							uint64_t *entries_inout);

#endif /* TG_ROW_SET_H */
