/*
 * unpack.c
 *	  Parquet's encodings of integers: runs and packed bits, differences.
 */
#include "runtime/format/unpack.h"

#include <string.h>

#define BLOCK_MAX (1 << 20) /* values of a block of differences */
#define MINIBLOCKS_MAX 1024

bool
tg_bytes_cut(tg_bytes_in *in, size_t bytes, tg_bytes_in *cut_out)
{
	if (bytes > tg_bytes_left(in))
		return false;
	*cut_out = (tg_bytes_in){in->at, in->at + bytes};
	in->at += bytes;
	return true;
}

static bool
read_varint(tg_bytes_in *in, uint64_t *value_out)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64 && in->at < in->end; shift += 7)
	{
		uint8_t byte = *in->at++;

		value |= (uint64_t) (byte & 0x7F) << shift;
		if ((byte & 0x80) == 0)
		{
			*value_out = value;
			return true;
		}
	}
	return false;
}

/* Value number i of those packed from `from` on; all of its bytes are before end. */
static inline uint64_t
packed_value(const uint8_t *from, const uint8_t *end, unsigned bits, size_t i)
{
	size_t bit = i * bits;
	const uint8_t *at = from + bit / 8;
	unsigned shift = bit % 8;
	uint64_t mask = bits == 64 ? UINT64_MAX : ((uint64_t) 1 << bits) - 1;
	uint64_t low = 0;
	unsigned __int128 wide;

	if (end - at >= 8)
		memcpy(&low, at, 8);
	else
		memcpy(&low, at, (size_t) (end - at));
	if (shift + bits <= 64)
		return low >> shift & mask;
	wide = (unsigned __int128) at[8] << 64 | low;
	return (uint64_t) (wide >> shift) & mask;
}

/* The bytes that so many packed values take. */
static size_t
packed_bytes(size_t count, unsigned bits)
{
	return count / 8 * bits + (count % 8 * bits + 7) / 8;
}

/* A run: its values' number, and either one value or where they are packed. */
typedef struct run
{
	size_t count;
	uint32_t value;
	const uint8_t *packed; /* NULL: all are the value */
	const uint8_t *end;
} run;

/* A run of which at most `wanted` values are used; what is behind these need not be there. */
static bool
next_run(tg_bytes_in *in, unsigned bits, size_t wanted, run *run_out)
{
	uint64_t header;
	tg_bytes_in bytes;

	if (!read_varint(in, &header) || header >> 1 == 0 || header >> 1 > UINT32_MAX)
		return false;
	*run_out = (run){.count = (size_t) (header >> 1)};
	if ((header & 1) == 0)
	{
		if (!tg_bytes_cut(in, (bits + 7) / 8, &bytes))
			return false;
		for (unsigned i = 0; i < (bits + 7) / 8; i++)
			run_out->value |= (uint32_t) bytes.at[i] << 8 * i;
		if (bits < 32 && run_out->value >> bits != 0)
			return false;
	}
	else
	{
		size_t whole = run_out->count * bits;

		run_out->count *= 8;
		if (run_out->count > wanted)
			run_out->count = wanted;
		if (whole > tg_bytes_left(in))
			whole = tg_bytes_left(in);
		if (packed_bytes(run_out->count, bits) > whole || !tg_bytes_cut(in, whole, &bytes))
			return false;
		run_out->packed = bytes.at;
		run_out->end = bytes.end;
	}
	if (run_out->count > wanted)
		run_out->count = wanted;
	return true;
}

bool
tg_unpack_runs(tg_bytes_in *in, unsigned bits, uint32_t *values, size_t count)
{
	run run;

	for (; count > 0; count -= run.count, values += run.count)
	{
		if (!next_run(in, bits, count, &run))
			return false;
		for (size_t i = 0; i < run.count; i++)
			values[i] = run.packed == NULL ? run.value : (uint32_t) packed_value(run.packed, run.end, bits, i);
	}
	return true;
}

bool
tg_unpack_levels(tg_bytes_in *in, unsigned bits, uint8_t *levels, size_t count)
{
	run run;

	for (; count > 0; count -= run.count, levels += run.count)
	{
		if (!next_run(in, bits, count, &run))
			return false;
		if (run.packed == NULL)
			memset(levels, (int) run.value, run.count);
		else
			for (size_t i = 0; i < run.count; i++)
				levels[i] = (uint8_t) packed_value(run.packed, run.end, bits, i);
	}
	return true;
}

/* --- differences ------------------------------------------------------------------------- */

static bool
read_zigzag(tg_bytes_in *in, uint64_t *value_out)
{
	uint64_t value;

	if (!read_varint(in, &value))
		return false;
	*value_out = value >> 1 ^ (uint64_t) - (int64_t) (value & 1);
	return true;
}

/* A block: the least difference, the widths of its miniblocks, and these as far as wanted. */
static bool
read_block(tg_bytes_in *in, size_t miniblocks, size_t miniblock_values, uint64_t *last, int64_t *values, size_t count)
{
	uint64_t least;
	tg_bytes_in widths;

	if (!read_zigzag(in, &least) || !tg_bytes_cut(in, miniblocks, &widths))
		return false;
	for (size_t m = 0; m < miniblocks && count > 0; m++)
	{
		unsigned bits = widths.at[m];
		size_t wanted = count < miniblock_values ? count : miniblock_values;
		size_t whole = packed_bytes(miniblock_values, bits);
		tg_bytes_in packed;

		/* the last miniblock may be cut short */
		if (whole > tg_bytes_left(in) && wanted < miniblock_values)
			whole = tg_bytes_left(in);
		if (bits > 64 || packed_bytes(wanted, bits) > whole || !tg_bytes_cut(in, whole, &packed))
			return false;
		for (size_t i = 0; i < wanted; i++)
		{
			*last += least + (bits == 0 ? 0 : packed_value(packed.at, packed.end, bits, i));
			values[i] = (int64_t) *last;
		}
		values += wanted;
		count -= wanted;
	}
	return true;
}

bool
tg_unpack_deltas(tg_bytes_in *in, int64_t *values, size_t count)
{
	uint64_t block;
	uint64_t miniblocks;
	uint64_t total;
	uint64_t last;

	if (!read_varint(in, &block) || !read_varint(in, &miniblocks) || !read_varint(in, &total) ||
		!read_zigzag(in, &last))
		return false;
	if (total != count || miniblocks == 0 || miniblocks > MINIBLOCKS_MAX || block == 0 || block > BLOCK_MAX ||
		block % miniblocks != 0 || block / miniblocks % 8 != 0)
		return false;
	if (count == 0)
		return true;
	*values++ = (int64_t) last;
	for (count--; count > 0;)
	{
		size_t wanted = count < block ? count : (size_t) block;

		if (!read_block(in, miniblocks, block / miniblocks, &last, values, wanted))
			return false;
		values += wanted;
		count -= wanted;
	}
	return true;
}
