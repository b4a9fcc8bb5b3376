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

/* The bytes of a run's packed values; at the end of all there may be fewer than it says. */
static bool
begin_packed(tg_runs *runs)
{
	unsigned bits = runs->bits;
	size_t whole = runs->left * bits;
	tg_bytes_in bytes;

	if (whole > tg_bytes_left(&runs->in))
		whole = tg_bytes_left(&runs->in);
	runs->left *= 8;
	if (bits > 0 && runs->left > whole * 8 / bits)
		runs->left = whole * 8 / bits;
	if (runs->left == 0 || !tg_bytes_cut(&runs->in, whole, &bytes))
		return false;
	runs->packed = bytes.at;
	runs->packed_end = bytes.end;
	runs->next = 0;
	return true;
}

static bool
begin_equal(tg_runs *runs)
{
	unsigned bits = runs->bits;
	tg_bytes_in bytes;

	if (!tg_bytes_cut(&runs->in, (bits + 7) / 8, &bytes))
		return false;
	runs->packed = NULL;
	runs->value = 0;
	for (unsigned i = 0; i < (bits + 7) / 8; i++)
		runs->value |= (uint32_t) bytes.at[i] << 8 * i;
	return bits == 32 || runs->value >> bits == 0;
}

static bool
begin_run(tg_runs *runs)
{
	uint64_t header;

	if (!read_varint(&runs->in, &header) || header >> 1 == 0 || header >> 1 > UINT32_MAX)
		return false;
	runs->left = (size_t) (header >> 1);
	return (header & 1) == 0 ? begin_equal(runs) : begin_packed(runs);
}

/* The next values, all of one run, at most so many.  0: there are none. */
static size_t
take_run(tg_runs *runs, size_t wanted)
{
	size_t count;

	if (runs->left == 0 && !begin_run(runs))
		return 0;
	count = runs->left < wanted ? runs->left : wanted;
	runs->left -= count;
	runs->next += count;
	return count;
}

/* Value number i of `count` that have been taken last. */
static inline uint32_t
taken(const tg_runs *runs, size_t count, size_t i)
{
	if (runs->packed == NULL)
		return runs->value;
	return (uint32_t) packed_value(runs->packed, runs->packed_end, runs->bits, runs->next - count + i);
}

bool
tg_runs_read(tg_runs *runs, uint32_t *values, size_t count)
{
	while (count > 0)
	{
		size_t part = take_run(runs, count);

		if (part == 0)
			return false;
		for (size_t i = 0; i < part; i++)
			values[i] = taken(runs, part, i);
		count -= part;
		values += part;
	}
	return true;
}

bool
tg_unpack_runs(tg_bytes_in *in, unsigned bits, uint32_t *values, size_t count)
{
	tg_runs runs = {.in = *in, .bits = bits};
	bool is_well = tg_runs_read(&runs, values, count);

	*in = runs.in;
	return is_well;
}

bool
tg_unpack_levels(tg_bytes_in *in, unsigned bits, uint8_t *levels, size_t count)
{
	tg_runs runs = {.in = *in, .bits = bits};

	while (count > 0)
	{
		size_t part = take_run(&runs, count);

		if (part == 0)
			return false;
		if (runs.packed == NULL)
			memset(levels, (int) runs.value, part);
		else
			for (size_t i = 0; i < part; i++)
				levels[i] = (uint8_t) taken(&runs, part, i);
		count -= part;
		levels += part;
	}
	*in = runs.in;
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
