/*
 * key_spec.h
 *	  What a key is made of: the parts of keys, without their values.
 */
#ifndef TG_KEY_SPEC_H
#define TG_KEY_SPEC_H

#include <stdint.h>

#include "runtime/base/names.h"

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

struct tg_key_spec
{
	uint16_t part_count; /* 0: no key */
	/*
	 * the host's numbers for the way in which it makes the values, and for the order in which it
	 * makes them; only the host compares them
	 */
	uint32_t host_form;
	uint32_t host_order;
	tg_key_part part[TG_KEY_COLUMN_MAX];
};

#endif /* TG_KEY_SPEC_H */
