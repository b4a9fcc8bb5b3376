/*
 * key.h
 *	  Keys: stored values as byte strings whose memcmp order is the type's.
 *
 * The collector has to find a row's index entry from its stored values alone, so the only encoder
 * is in this low room and works on values as they are stored.
 */
#ifndef TG_KEY_H
#define TG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/names.h"
#include "runtime/order/key_spec.h"
#include "runtime/order/kind.h"

#define TG_KEY_NOT_NULL 1 /* in front of a value that could be NULL */

/* Big-endian bytes of a key: 1, 2, 4 or 8 of them. */
static inline uint64_t
tg_key_word(const unsigned char *key, unsigned bytes)
{
	uint16_t word2;
	uint32_t word4;
	uint64_t word8;

	switch (bytes)
	{
		case 8:
			memcpy(&word8, key, 8);
			return __builtin_bswap64(word8);
		case 4:
			memcpy(&word4, key, 4);
			return __builtin_bswap32(word4);
		case 2:
			memcpy(&word2, key, 2);
			return __builtin_bswap16(word2);
		default:
			return key[0];
	}
}

/*
 * How many bytes of a key, at its beginning, are the encoding of this integer; 0: unknown, also for
 * what is no integer, or in descending order.
 */
static inline size_t
tg_key_integer_bytes(const tg_key_part *part, tg_kind kind, uint64_t integer, const unsigned char *key,
					 size_t key_bytes)
{
	size_t mark = (part->order & TG_KEY_NULLABLE) != 0;
	unsigned bytes = 1u << kind;
	uint64_t word;

	_Static_assert(TG_KEY_SIGNED == 0 && TG_KEY_UNSIGNED == 1, "the codes of integers come first");
	if (kind > TG_KIND_8 || part->code > TG_KEY_UNSIGNED || (part->order & TG_KEY_DESCENDING) != 0 ||
		key_bytes < mark + bytes || (mark != 0 && key[0] != TG_KEY_NOT_NULL))
		return 0;
	word = tg_key_word(key + mark, bytes);
	if (part->code == TG_KEY_SIGNED)
		word ^= (uint64_t) 1 << (8 * bytes - 1);
	return (word ^ integer) << (64 - 8 * bytes) == 0 ? mark + bytes : 0;
}

/*
 * Appends the encoding of one value at key[at …], a string's as a whole, whatever long_above is.
 * Returns the new length, or SIZE_MAX if it would pass TG_KEY_BYTES_MAX.  For a string all
 * TG_KEY_BYTES_MAX bytes are then written, and every key lies on the same side of them as of the
 * string, except a key equal to them, which is below.  The kind gives the width.
 */
extern size_t tg_key_append(unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind,
							const tg_value *value);

/*
 * Likewise for a NULL, of a nullable part; and the common beginning of all values that are not NULL
 * (nothing, if the part is not nullable): the bound of a range that is open on one side but shall
 * have no NULLs.
 */
extern size_t tg_key_append_null(unsigned char *key, size_t at, const tg_key_part *part);
extern size_t tg_key_append_not_null(unsigned char *key, size_t at, const tg_key_part *part);

/*
 * The first bytes of the string whose encoding, not descending, begins at key[at]; missing bytes
 * are 0.
 */
extern void tg_key_string_bytes(const unsigned char *key, size_t key_bytes, size_t at, unsigned char *bytes,
								size_t count);

/*
 * Decodes a result of tg_key_append: the part that begins at key[at]; returns where the next one
 * begins.  Of a string it returns the bytes, TG_KEY_BYTES_MAX at most; for other kinds, and NULL,
 * *bytes_out is SIZE_MAX.
 */
extern size_t tg_key_take(const unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind,
						  unsigned char *bytes, size_t *bytes_out);

/* Byte strings in memcmp order: < 0, 0, > 0.  A string is above each of its own beginnings. */
static inline int
tg_key_compare(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/*
 * Keys from the lower one to the upper one, with all keys that begin with the upper one; an open
 * bound has no bytes, but its pointer is not NULL.
 */
typedef struct tg_key_range
{
	const unsigned char *low;
	const unsigned char *high;
	uint32_t low_bytes;
	uint32_t high_bytes;
} tg_key_range;

static inline bool
tg_key_is_below(const unsigned char *key, size_t bytes, const tg_key_range *range)
{
	return tg_key_compare(key, bytes, range->low, range->low_bytes) < 0;
}

static inline bool
tg_key_is_above(const unsigned char *key, size_t bytes, const tg_key_range *range)
{
	return memcmp(key, range->high, bytes < range->high_bytes ? bytes : range->high_bytes) > 0;
}

/* The microseconds by which intervals are compared; of 16 bytes, as the host stores them. */
extern __int128 tg_interval_span(const unsigned char bytes[16]);

#endif /* TG_KEY_H */
