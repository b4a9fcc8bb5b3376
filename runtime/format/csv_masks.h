/*
 * csv_masks.h
 *	  Where the characters are that structure a file in CSV: in 64 bytes at a time.
 */
#ifndef TG_CSV_MASKS_H
#define TG_CSV_MASKS_H

#include <stdint.h>

#include "runtime/format/csv.h"

#define TG_CSV_STRIDE 64

/* Bit i: byte i is one. */
typedef struct tg_csv_masks
{
	uint64_t quotes;
	uint64_t delimiters;
	uint64_t newlines;
	uint64_t returns;
	uint64_t backslashes;
} tg_csv_masks;

/* Of TG_CSV_STRIDE bytes, with the widest registers that the machine has. */
extern void tg_csv_find(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out);

/* The same, byte by byte: what the other has to find. */
extern void tg_csv_find_bytes(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out);

/* Bit i: an odd number of the bits up to i is set, it included. */
static inline uint64_t
tg_csv_parity(uint64_t bits)
{
	for (unsigned shift = 1; shift < TG_CSV_STRIDE; shift *= 2)
		bits ^= bits << shift;
	return bits;
}

#endif /* TG_CSV_MASKS_H */
