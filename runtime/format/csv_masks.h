/*
 * csv_masks.h
 *	  Where the characters are that structure a file in CSV: in 64 bytes at a time.
 */
#ifndef TG_CSV_MASKS_H
#define TG_CSV_MASKS_H

#include <stdbool.h>
#include <stdint.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

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
	uint64_t wide; /* not ASCII, or zeros */
} tg_csv_masks;

/* Of TG_CSV_STRIDE bytes, byte by byte: what the others have to find. */
extern void tg_csv_find_bytes(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out);

/*
 * tg_csv_find_narrow is for any machine of its kind.  tg_csv_find_wide is for functions with the
 * attribute TG_CSV_WIDE_TARGET, which are called if tg_csv_has_wide.
 */
typedef void tg_csv_finder(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out);

#ifdef __x86_64__
#define TG_CSV_WIDE_TARGET __attribute__((target("avx2,bmi,popcnt")))

#define TG_CSV_FIND(register, load, set, equal, greater, zero, bits)                                                   \
	const register quote = set((char) dialect->quote);                                                                 \
	const register delimiter = set((char) dialect->delimiter);                                                         \
	const register newline = set('\n');                                                                                \
	const register ret = set('\r');                                                                                    \
	const register backslash = set('\\');                                                                              \
                                                                                                                       \
	*masks_out = (tg_csv_masks){.quotes = 0};                                                                          \
	_Pragma("GCC unroll 4") for (unsigned i = 0; i < TG_CSV_STRIDE; i += sizeof(register))                             \
	{                                                                                                                  \
		register bytes = load((const register *) (at + i));                                                            \
                                                                                                                       \
		masks_out->quotes |= (uint64_t) (uint32_t) bits(equal(bytes, quote)) << i;                                     \
		masks_out->delimiters |= (uint64_t) (uint32_t) bits(equal(bytes, delimiter)) << i;                             \
		masks_out->newlines |= (uint64_t) (uint32_t) bits(equal(bytes, newline)) << i;                                 \
		masks_out->returns |= (uint64_t) (uint32_t) bits(equal(bytes, ret)) << i;                                      \
		masks_out->backslashes |= (uint64_t) (uint32_t) bits(equal(bytes, backslash)) << i;                            \
		masks_out->wide |= (uint64_t) (uint32_t) bits(greater(bytes, zero())) << i;                                    \
	}                                                                                                                  \
	masks_out->wide = ~masks_out->wide

static inline void
tg_csv_find_narrow(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out)
{
	TG_CSV_FIND(__m128i, _mm_loadu_si128, _mm_set1_epi8, _mm_cmpeq_epi8, _mm_cmpgt_epi8, _mm_setzero_si128,
				_mm_movemask_epi8);
}

TG_CSV_WIDE_TARGET static inline void
tg_csv_find_wide(const uint8_t *at, const tg_csv_dialect *dialect, tg_csv_masks *masks_out)
{
	TG_CSV_FIND(__m256i, _mm256_loadu_si256, _mm256_set1_epi8, _mm256_cmpeq_epi8, _mm256_cmpgt_epi8,
				_mm256_setzero_si256, _mm256_movemask_epi8);
}

/* CPUID is asked each time: the answer is in memory. */
static inline bool
tg_csv_has_wide(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("popcnt");
}
#undef TG_CSV_FIND
#else
#define TG_CSV_WIDE_TARGET
#define tg_csv_find_narrow tg_csv_find_bytes
#define tg_csv_find_wide tg_csv_find_bytes
#define tg_csv_has_wide() false
#endif

/* Bit i: an odd number of the bits up to i is set, it included. */
static inline uint64_t
tg_csv_parity(uint64_t bits)
{
	for (unsigned shift = 1; shift < TG_CSV_STRIDE; shift *= 2)
		bits ^= bits << shift;
	return bits;
}

/*
 * Bit i: the byte is behind a backslash that is not behind one itself.  *is_escaped: so is the
 * first one; and then the next one.
 */
static inline uint64_t
tg_csv_escaped(uint64_t backslashes, bool *is_escaped)
{
	uint64_t escaped = *is_escaped;

	*is_escaped = false;
	for (backslashes &= ~escaped; backslashes != 0; backslashes &= backslashes - 1)
	{
		uint64_t next = (backslashes & -backslashes) << 1;

		*is_escaped = next == 0;
		escaped |= next;
		backslashes &= ~next;
	}
	return escaped;
}

#endif /* TG_CSV_MASKS_H */
