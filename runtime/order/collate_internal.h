/*
 * collate_internal.h
 *	  The parts of sort keys, for the files that open a locale's order and that make keys by it.
 */
#ifndef TG_COLLATE_INTERNAL_H
#define TG_COLLATE_INTERNAL_H

#include <string.h>

#include "runtime/order/collate.h"

/* Bits of a rule. */
#define BACKWARD 2
#define BY_POSITION 4

#define END 1
#define COMMON 2
#define IGNORED 0xfe
#define GOES_ON 0xff
#define CODED_FIRST 0x80 /* the first of the bytes that only continue a number */

/* Levels, if there are all of them. */
#define SECOND 1
#define THIRD 2
#define FOURTH 3

typedef struct element
{
	/* on the present level: its length, and its bytes; the other levels follow */
	const unsigned char *weight;
	uint8_t section;
	uint8_t ascii; /* the character that it is; 0: none of these, or several that count as one */
} element;

static inline int32_t
load(const unsigned char *at)
{
	int32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/*
 * The element at the beginning of a string: its section, and the place of its weights.  Elements
 * that begin with the same byte are in a list: each is one sequence of bytes, or a range of
 * sequences of one length.  The last one has none.
 */
static inline int32_t
find_element(const tg_collation *collation, const unsigned char **at, const unsigned char *end)
{
	int32_t found = collation->table[*(*at)++];
	const unsigned char *entry = collation->extra - found;
	size_t left = (size_t) (end - *at);

	if (found >= 0)
		return found;
	for (;;)
	{
		size_t count = entry[4];
		const unsigned char *low = entry + 5;
		size_t bounds = 1;
		int32_t offset = 0;

		found = load(entry);
		if (found < 0)
			bounds = 2;
		if (count <= left && (bounds == 1 ? memcmp(*at, low, count) == 0
										  : memcmp(*at, low, count) >= 0 && memcmp(*at, low + count, count) <= 0))
		{
			for (size_t i = 0; i < count && bounds == 2; i++)
				offset = offset * 256 + (*at)[i] - low[i];
			*at += count;
			return bounds == 1 ? found : collation->indirect[offset - found];
		}
		entry += 4 + ((1 + bounds * count + 3) & ~(size_t) 3);
	}
}

/* The bytes of the number that is at weight[i]. */
static inline unsigned
number_bytes(const unsigned char *weight, unsigned i)
{
	unsigned bytes = 1;

	while (i + bytes <= weight[0] && (weight[i + bytes] & 0xc0) == 0x80)
		bytes++;
	return bytes;
}

/* The number as one of the runtime's, in the same order, up to its fourth byte. */
static inline uint32_t
pack(const unsigned char *number, unsigned bytes)
{
	uint32_t packed = 0;

	for (unsigned i = 0; i < 4; i++)
		packed = packed << 8 | (i < bytes ? number[i] : 0);
	return packed;
}

/* A weight that is one number of so many bytes; else 0. */
static inline uint32_t
pack_one(const unsigned char *weight)
{
	return weight[0] > 0 && weight[0] <= 4 && number_bytes(weight, 1) == weight[0] ? pack(weight + 1, weight[0]) : 0;
}

/* The number of sorted words that are below this one. */
static inline unsigned
count_below(const uint32_t *words, unsigned count, uint32_t word)
{
	unsigned low = 0;

	while (count > 0)
	{
		unsigned half = count / 2;

		if (words[low + half] < word)
		{
			low += half + 1;
			count -= half + 1;
		}
		else
			count = half;
	}
	return low;
}

/*
 * The byte that stands for a number of the first level, or for the gap that it is in; and whether
 * no more of the number is written.
 */
static inline uint8_t
code_of(const tg_collation *collation, uint32_t packed, bool *whole_out)
{
	unsigned below = count_below(collation->coded, collation->coded_count, packed);

	*whole_out = below < collation->coded_count && collation->coded[below] == packed;
	return (uint8_t) (CODED_FIRST + 2 * below + *whole_out);
}

#endif /* TG_COLLATE_INTERNAL_H */
