/*
 * row_set.c
 *	  Sets of rows by their numbers: reading a range of an index.
 *
 * Visibility of the rows does not matter: an entry exists for each key that any version of its row
 * has (index.c, I).  So for any snapshot that is published by then, the set contains the rows that
 * it sees in the range, and possibly others.
 */
#include "runtime/exec/row_set.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/mem/session.h"
#include "runtime/btree/btree.h"

#define EPOCH_ROWS 4096 /* entries that are read in one epoch, at most, */
#define ROWS_AT_ONCE 512
#define KEY_BYTES_AT_ONCE 4096 /* and, where a sieve has to see them, bytes of keys at once */

void
tg_row_set_init(tg_row_set *set, uint64_t *words, size_t word_count)
{
	tg_assert(word_count > 0 && (word_count & (word_count - 1)) == 0 && word_count <= ((size_t) 1 << 32) / 64);
	memset(words, 0, word_count * sizeof(uint64_t));
	set->words = words;
	set->mask = (uint32_t) (word_count * 64 - 1);
}

bool
tg_row_set_read(tg_session *session, tg_row_set *set, const tg_row_set *within, tg_btree_cursor *cursor,
				uint64_t *entries_inout)
{
	uint32_t rows[ROWS_AT_ONCE];
	unsigned char room[KEY_BYTES_AT_ONCE];
	unsigned count = 1;

	tg_epoch_enter(session);
	for (unsigned looked = 0; looked < EPOCH_ROWS && count > 0; looked += count)
	{
		tg_btree_keys keys = {.bytes = room, .capacity = sizeof(room)};

		count = tg_btree_cursor_next_keys(cursor, rows, ROWS_AT_ONCE, cursor->sieve != NULL ? &keys : NULL);
		for (unsigned i = 0; i < count; i++)
			if (within == NULL || tg_row_set_may_have(within, rows[i]))
				tg_row_set_add(set, rows[i]);
		*entries_inout += count;
	}
	tg_epoch_leave(session);
	return count > 0 || !cursor->done;
}
