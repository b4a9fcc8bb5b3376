/*
 * key.h
 *	  Keys: stored values as byte strings whose memcmp order is the type's.
 *
 * The collector has to find a row's index entry from its stored values alone,
 * so the one encoder lies here and works on values as they are stored.
 */
#ifndef TG_KEY_H
#define TG_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/status.h"
#include "runtime/order/value.h"
#include "runtime/table/version.h"

typedef enum tg_key_code
{
	TG_KEY_SIGNED,	 /* kinds 1 to 8: big-endian with the sign bit turned */
	TG_KEY_UNSIGNED, /* kinds 1 to 8: big-endian */
	TG_KEY_FLOAT4,	 /* kind 4: IEEE; -0 is 0, every NaN is one and the largest */
	TG_KEY_FLOAT8,	 /* kind 8 */
	TG_KEY_BYTES16,	 /* kind 16: as it is (uuid; macaddr zero-padded) */
	TG_KEY_SIGNED16, /* kind 16: a little-endian 128-bit integer (numeric with up to 38 digits) */
	TG_KEY_INTERVAL, /* kind 16: PostgreSQL's interval {int64 µs, int32 days, int32 months}: ordered by its span */
	TG_KEY_STRING,	 /* bytes; zero bytes escaped, terminated, so that columns can follow */
	TG_KEY_BLANK	 /* the same without trailing blanks (character(n)) */
} tg_key_code;

#define TG_KEY_STRING_MAX 2704 /* bytes of one in a key: as TG_KEY_BYTES_MAX */
#define TG_KEY_COLUMN_MAX 32   /* PostgreSQL's INDEX_MAX_KEYS */

/*
 * Flags of a part's order.  A nullable one is a byte, NULL or not, before the
 * encoding (keys of one leaf share it as a rule, so it costs nothing); a
 * descending one has the bits of its encoding turned over, but not that byte:
 * where the NULLs are is said by itself.  A primary key's parts have none of them.
 */
#define TG_KEY_NULLABLE 1
#define TG_KEY_NULLS_FIRST 2 /* if nullable; else they are last */
#define TG_KEY_DESCENDING 4

typedef struct tg_key_part
{
	uint16_t column;	  /* index in the layout */
	uint8_t code;		  /* tg_key_code */
	uint8_t header_bytes; /* of a blob of this column: the host's header before the payload */
	uint8_t order;		  /* TG_KEY_NULLABLE … */
	bool ranked;		  /* the string is a rank of one of the table's dictionaries, by the host */
	uint16_t long_above;  /* of a string: bytes above which a rank stands for the rest (long_key.h); 0: never */
} tg_key_part;

typedef struct tg_key_spec
{
	uint16_t part_count; /* 0: no key */
	uint32_t
		host_form; /* how the host makes the values of its columns, as a number of its own: compared by it, and no more */
	tg_key_part part[TG_KEY_COLUMN_MAX];
} tg_key_spec;

/*
 * Appends one value's encoding, a string's whole, whatever long_above, at key[at …]; returns the new length, or
 * SIZE_MAX if it would pass TG_KEY_BYTES_MAX; of a string all TG_KEY_BYTES_MAX
 * bytes are then written, and every key lies on the same side of them as of the
 * string, but for a key equal to them, which is below.  The kind gives the width.
 */
extern size_t tg_key_append(unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind,
							const tg_value *value);

/*
 * The same for a NULL, of a nullable part; and what every value that is not NULL
 * begins with (nothing, if the part is not nullable): the bound of a range that
 * is open on one side but shall have no NULLs.
 */
extern size_t tg_key_append_null(unsigned char *key, size_t at, const tg_key_part *part);
extern size_t tg_key_append_not_null(unsigned char *key, size_t at, const tg_key_part *part);

/* The first bytes of the string whose encoding, not descending, begins at key[at]; those that it has not are 0. */
extern void tg_key_string_bytes(const unsigned char *key, size_t key_bytes, size_t at, unsigned char *bytes,
								size_t count);

/*
 * Takes apart what tg_key_append has made: the part that begins at key[at]; returns where the next one begins.  Of a string its
 * bytes, TG_KEY_STRING_MAX at most; of anything else, and NULL, *bytes_out is SIZE_MAX.
 */
extern size_t tg_key_take(const unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind,
						  unsigned char *bytes, size_t *bytes_out);

/*
 * The key of a stored version.  Cannot be too large: it was encoded when it was stored.  TG_KEY_UNRANKED (long_key.h): so it has no
 * entry any more, nor has its row.
 */
extern size_t tg_key_of_version(const tg_key_spec *spec, tg_version version, unsigned char *key);

/* Byte strings in memcmp order: < 0, 0, > 0.  What begins with another one is above that. */
static inline int
tg_key_compare(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
	int order = memcmp(a, b, a_bytes < b_bytes ? a_bytes : b_bytes);

	return order != 0 ? order : (a_bytes > b_bytes) - (a_bytes < b_bytes);
}

/* Keys from the lower one on to the upper one, with all that begin with that; no bytes (of something): open. */
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
