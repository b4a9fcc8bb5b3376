/*
 * row_set.h
 *	  Sets of rows by their numbers: what a range of one index has, for who reads another one.
 *
 * A bit for each number modulo the number of bits, a power of two, so a set has all the place that the caller gives it and never
 * more: with fewer bits than rows in the table it may be said to have a row that it has not, never the other way round.
 */
#ifndef TG_ROW_SET_H
#define TG_ROW_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"

typedef struct tg_row_set
{
	uint64_t *words; /* the caller's */
	uint32_t mask;	 /* of a row's number: its bit */
} tg_row_set;

/* An empty set in so many words, a power of two. */
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
 * Adds the rows that a cursor leads to; only those that within may have, unless that is NULL.  Enters and leaves an epoch, which it
 * holds for some of them: false when the cursor is at its end.  *entries_inout counts what was read.
 */
extern bool tg_row_set_read(tg_session *session, tg_row_set *set, const tg_row_set *within, tg_btree_cursor *cursor,
							uint64_t *entries_inout);

#endif /* TG_ROW_SET_H */
