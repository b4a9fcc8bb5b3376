/*
 * unpack.h
 *	  Parquet's encodings of integers: runs and packed bits, differences (Parquet's Encodings.md).
 *
 * Each function reads from `in`, which it moves behind what it has read, and returns false if the
 * bytes are not such ones, or too few.  Nothing is written beyond `count` values.  Any thread.
 */
#ifndef TG_UNPACK_H
#define TG_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tg_bytes_in
{
	const uint8_t *at;
	const uint8_t *end;
} tg_bytes_in;

static inline size_t
tg_bytes_left(const tg_bytes_in *in)
{
	return (size_t) (in->end - in->at);
}

/* Little-endian integers at any address. */
static inline uint32_t
tg_read_u32(const uint8_t *at)
{
	return at[0] | (uint32_t) at[1] << 8 | (uint32_t) at[2] << 16 | (uint32_t) at[3] << 24;
}

static inline uint64_t
tg_read_u64(const uint8_t *at)
{
	return tg_read_u32(at) | (uint64_t) tg_read_u32(at + 4) << 32;
}

/* The first so many bytes as a sequence of their own; false: there are fewer. */
extern bool tg_bytes_cut(tg_bytes_in *in, size_t bytes, tg_bytes_in *cut_out);

/*
 * RLE: runs of equal values, and runs of values that are packed into `bits` bits, at most 32.  They
 * may be read a part at a time: of the present run so many values are left.
 */
typedef struct tg_runs
{
	tg_bytes_in in; /* set by the caller, as bits; the rest 0 */
	unsigned bits;
	size_t left;
	uint32_t value;
	const uint8_t *packed; /* NULL: all are the value */
	const uint8_t *packed_end;
	size_t next; /* of the packed ones */
} tg_runs;

extern bool tg_runs_read(tg_runs *runs, uint32_t *values, size_t count);

/* All at once. */
extern bool tg_unpack_runs(tg_bytes_in *in, unsigned bits, uint32_t *values, size_t count);

/* The same for levels, of at most 8 bits. */
extern bool tg_unpack_levels(tg_bytes_in *in, unsigned bits, uint8_t *levels, size_t count);

/*
 * DELTA_BINARY_PACKED, of exactly `count` values.  Sums are modulo 2^64; a caller that reads values
 * of 32 bits takes the lower half.
 */
extern bool tg_unpack_deltas(tg_bytes_in *in, int64_t *values, size_t count);

#endif /* TG_UNPACK_H */
