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

#include "runtime/order/value.h"

typedef enum tg_key_code
{
	TG_KEY_SIGNED,	 /* kinds 1 to 8: big-endian with the sign bit turned */
	TG_KEY_UNSIGNED, /* kinds 1 to 8: big-endian */
	TG_KEY_FLOAT4,	 /* kind 4: IEEE; -0 is 0, every NaN is one and the largest */
	TG_KEY_FLOAT8,	 /* kind 8 */
	TG_KEY_BYTES16,	 /* kind 16: as it is (uuid; macaddr zero-padded) */
	TG_KEY_SIGNED16, /* kind 16: a little-endian 128-bit integer (numeric with up to 38 digits) */
	/* kind 16: PostgreSQL's interval {int64 µs, int32 days, int32 months}: ordered by its span */
	TG_KEY_INTERVAL,
	TG_KEY_STRING, /* bytes; zero bytes escaped, terminated, so that columns can follow */
	TG_KEY_BLANK   /* likewise, without trailing blanks (character(n)) */
} tg_key_code;

/*
 * Longest key, in bytes: PostgreSQL's own limit for a B-tree's index row (nbtree.h, BTMaxItemSize
 * of an 8 kB page).
 */
#define TG_KEY_BYTES_MAX 2704
#define TG_KEY_COLUMN_MAX 32 /* PostgreSQL's INDEX_MAX_KEYS */

/*
 * Flags of a part's order.  A nullable part has a byte, NULL or not, before the encoding (keys of
 * one leaf usually share it, so it costs nothing).  A descending part has the bits of its encoding
 * inverted, but not that byte: TG_KEY_NULLS_FIRST alone decides the place of the NULLs.  A primary
 * key's parts have none of these flags.
 */
#define TG_KEY_NULLABLE 1
#define TG_KEY_NULLS_FIRST 2 /* if nullable; else they are last */
#define TG_KEY_DESCENDING 4

/*
 * The host's numbers for a way in which it compares values (index/dictionary.h); compare 0: none,
 * or the engine's own, by bytes.
 */
typedef struct tg_ranking
{
	uint32_t compare;
	uint32_t collation;
	uint32_t type;
} tg_ranking;

typedef struct tg_key_part
{
	uint16_t column;	  /* index in the layout */
	uint8_t code;		  /* tg_key_code */
	uint8_t header_bytes; /* of a blob of this column: the host's header before the payload */
	uint8_t order;		  /* TG_KEY_NULLABLE … */
	/* of a string: bytes above which a rank stands for the rest (long_key.h); 0: never */
	uint16_t long_above;
	tg_ranking ranking; /* compare is not 0: the string is a rank of the table's dictionary of this */
} tg_key_part;

typedef struct tg_key_spec
{
	uint16_t part_count; /* 0: no key */
	/*
	 * the host's numbers for the way in which it makes the values, and for the order in which it
	 * makes them; only the host compares them
	 */
	uint32_t host_form;
	uint32_t host_order;
	tg_key_part part[TG_KEY_COLUMN_MAX];
} tg_key_spec;

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

#endif /* TG_KEY_H */
