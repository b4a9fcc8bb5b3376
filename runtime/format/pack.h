/*
 * pack.h
 *	  What unpack.h reads, as far as it is written.
 */
#ifndef TG_PACK_H
#define TG_PACK_H

#include <stddef.h>
#include <stdint.h>

/* The most bytes that tg_pack_runs writes for so many values. */
extern size_t tg_pack_bound(size_t count, unsigned bits);

/* RLE: runs of equal values, and values packed into `bits` bits, 1 to 32.  Returns the bytes. */
extern size_t tg_pack_runs(uint8_t *into, unsigned bits, const uint32_t *values, size_t count);

/* The same for a value that is there so many times, at least once. */
extern size_t tg_pack_run(uint8_t *into, unsigned bits, uint32_t value, size_t count);

/* Little-endian, at any address. */
static inline void
tg_write_u32(uint8_t *at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t) (value >> 8 * i);
}

static inline void
tg_write_u64(uint8_t *at, uint64_t value)
{
	tg_write_u32(at, (uint32_t) value);
	tg_write_u32(at + 4, (uint32_t) (value >> 32));
}

#endif /* TG_PACK_H */
