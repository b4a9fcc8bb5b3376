/*
 * pack.c
 *	  Runs of equal values, and packed values between them.
 *
 * Packed values come in groups of 8.  A run of at least 8 equal values becomes a run of its own,
 * less those that complete the group before it.
 */
#include "runtime/format/pack.h"

#include <string.h>

#define GROUP 8

size_t
tg_pack_bound(size_t count, unsigned bits)
{
	/* at worst every group has a header of its own, and ends in a run's */
	return (count / GROUP + 2) * (bits + 10 + sizeof(uint32_t));
}

static uint8_t *
put_varint(uint8_t *into, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*into++ = (uint8_t) (value | 0x80);
	*into++ = (uint8_t) value;
	return into;
}

/* Packs values, the last group filled up with zeros. */
static uint8_t *
put_packed(uint8_t *into, unsigned bits, const uint32_t *values, size_t count)
{
	size_t groups = (count + GROUP - 1) / GROUP;
	uint64_t pending = 0;
	unsigned pending_bits = 0;

	if (count == 0)
		return into;
	into = put_varint(into, groups << 1 | 1);
	for (size_t i = 0; i < groups * GROUP; i++)
	{
		pending |= (uint64_t) (i < count ? values[i] : 0) << pending_bits;
		for (pending_bits += bits; pending_bits >= 8; pending_bits -= 8, pending >>= 8)
			*into++ = (uint8_t) pending;
	}
	return into;
}

static uint8_t *
put_run(uint8_t *into, unsigned bits, uint32_t value, size_t count)
{
	into = put_varint(into, (uint64_t) count << 1);
	for (unsigned i = 0; i < (bits + 7) / 8; i++)
		*into++ = (uint8_t) (value >> 8 * i);
	return into;
}

size_t
tg_pack_run(uint8_t *into, unsigned bits, uint32_t value, size_t count)
{
	return (size_t) (put_run(into, bits, value, count) - into);
}

size_t
tg_pack_runs(uint8_t *into, unsigned bits, const uint32_t *values, size_t count)
{
	uint8_t *at = into;
	size_t packed = 0; /* values before i that are not written yet */

	for (size_t i = 0; i < count;)
	{
		size_t equal = 1;
		size_t completing = (GROUP - packed % GROUP) % GROUP;

		while (i + equal < count && values[i + equal] == values[i])
			equal++;
		if (equal < completing + GROUP)
		{
			packed += equal;
			i += equal;
			continue;
		}
		at = put_packed(at, bits, values + i - packed, packed + completing);
		at = put_run(at, bits, values[i], equal - completing);
		packed = 0;
		i += equal;
	}
	return (size_t) (put_packed(at, bits, values + count - packed, packed) - into);
}
