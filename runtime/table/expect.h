/*
 * expect.h
 *	  Prefetches for look-ups of rows, from guesses where the address is not known yet.
 *
 *	  key --> leaf --> row's head --> chunk, values
 *
 * In nearly every look-up these are outside the processor's caches, and each holds the address of
 * the next one.  A caller that has other work in between prefetches each as soon as its address is
 * known or can be guessed.  A wrong guess costs some cache lines, and nothing else.
 *
 * The functions are always inline, because GCC drops calls of a function that only prefetches as
 * having no effect.
 */
#ifndef TG_EXPECT_H
#define TG_EXPECT_H

#include "runtime/base/atomic.h"
#include "runtime/order/kind.h"
#include "runtime/table/table.h"
#include "runtime/table/version.h"

/*
 * Prefetches the cache lines of a value and of its chunk's head, at once: it assumes the value's
 * place in a full chunk of this layout.  Most of the cost of such a read is the translation of two
 * addresses that have not been used for long, and this way one need not wait for the other.
 */
static inline __attribute__((always_inline)) void
tg_value_expect(const tg_layout *layout, tg_version version, unsigned column)
{
	const char *chunk = (const char *) tg_version_chunk(version);
	unsigned kind = layout->kinds[column];

	__builtin_prefetch(chunk);
	__builtin_prefetch(chunk + sizeof(tg_chunk) + (size_t) layout->offsets[column] * layout->full_capacity +
					   ((size_t) tg_version_slot(version) << (kind <= TG_KIND_8 ? kind : 4)));
}

/* Prefetches a row's head. */
static inline __attribute__((always_inline)) void
tg_row_expect_head(tg_table *table, uint32_t row)
{
	__builtin_prefetch(tg_row_head(table, row));
}

/* Prefetches a version's values in those of the columns that its table has. */
static inline __attribute__((always_inline)) void
tg_version_expect(const tg_table *table, tg_version version, const uint16_t *columns, unsigned column_count)
{
	const tg_layout *layout = tg_load_acquire(&table->layout);

	for (unsigned i = 0; i < column_count; i++)
		if (columns[i] < layout->column_count)
			tg_value_expect(layout, version, columns[i]);
}

/* The same for a row's newest version.  Inside an epoch. */
static inline __attribute__((always_inline)) void
tg_row_expect(tg_table *table, uint32_t row, const uint16_t *columns, unsigned column_count)
{
	tg_version newest = tg_row_newest(table, row);

	if (newest != TG_VERSION_NONE)
		tg_version_expect(table, newest, columns, column_count);
}

/* --- guesses -------------------------------------------------------------------------- */

/*
 * Rows that were inserted in the order of their keys, from a sequence for example, have ids in that
 * order, too.  A session that looks up many keys keeps a guess, empty at first: while it is right,
 * fetching a row's head need not wait for the leaf.
 */
typedef struct tg_row_guess
{
	uint32_t ahead; /* the last row, less its key as a number */
	bool steady;	/* the row before had the same difference */
} tg_row_guess;

/* The last bytes of a key as a number. */
static inline uint32_t
tg_row_guess_number(const void *key, size_t key_bytes)
{
	const unsigned char *end = (const unsigned char *) key + key_bytes;

	if (key_bytes < sizeof(uint32_t))
		return 0;
	return (uint32_t) end[-4] << 24 | (uint32_t) end[-3] << 16 | (uint32_t) end[-2] << 8 | end[-1];
}

static inline void
tg_row_guess_learn(tg_row_guess *guess, const void *key, size_t key_bytes, uint32_t row)
{
	uint32_t ahead = row - tg_row_guess_number(key, key_bytes);

	guess->steady = ahead == guess->ahead;
	guess->ahead = ahead;
}

/* The row that a key is guessed to lead to; false: there is no guess. */
static inline bool
tg_row_guess_get(const tg_row_guess *guess, const tg_table *table, const void *key, size_t key_bytes, uint32_t *row_out)
{
	*row_out = tg_row_guess_number(key, key_bytes) + guess->ahead;
	return guess->steady && *row_out < tg_load_acquire(&table->row_next);
}

/*
 * Such rows lie in this order, too, in successive chunks.  The place of a row is the number of its
 * newest version's slot, counted through all chunks as if each were filled.  The guess, empty at
 * first, is that places continue to differ from row ids by the same number.
 */
typedef struct tg_place_guess
{
	uint32_t ahead; /* the last row's place, less its id */
	bool steady;	/* the row before had the same difference */
} tg_place_guess;

/* Inside an epoch: the version is the row's newest. */
static inline void
tg_place_guess_learn(tg_place_guess *guess, uint32_t row, tg_version version)
{
	const tg_chunk *chunk = tg_version_chunk(version);
	uint32_t ahead = chunk->index * chunk->layout->filled + tg_version_slot(version) - row;

	guess->steady = ahead == guess->ahead;
	guess->ahead = ahead;
}

/* Prefetches values of a row at its guessed place.  False: there is no guess.  Inside an epoch. */
static inline __attribute__((always_inline)) bool
tg_place_expect(const tg_place_guess *guess, tg_table *table, uint32_t row, const uint16_t *columns,
				unsigned column_count)
{
	unsigned filled = tg_load_acquire(&table->layout)->filled;
	uint32_t place = row + guess->ahead;
	tg_chunk *chunk;

	if (!guess->steady || place / filled >= tg_table_chunk_count(table))
		return false;
	chunk = tg_table_chunk(table, place / filled);
	if (chunk == NULL)
		return false;
	tg_version_expect(table, tg_version_make(chunk, place % filled), columns, column_count);
	return true;
}

#endif /* TG_EXPECT_H */
