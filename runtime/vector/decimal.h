/*
 * decimal.h
 *	  Exact decimal numbers, each with a scale of its own, by PostgreSQL's rules of numeric.
 *
 * A decimal is an integer of 120 bits, signed, times 10 to the power of -scale; scales are 0 to
 * TG_DECIMAL_SCALE_MAX.  The scale is the display scale, so 1.0 and 1.00 are two decimals of one
 * value: they are equal, and have one hash.  NaN, infinities, and what needs more digits, are not
 * decimals.
 *
 * The functions compute what PostgreSQL's numeric functions do, with the same display scale of the
 * result and the same rounding, half away from zero (numeric.c: add_var, mul_var, select_div_scale,
 * div_var, mod_var, round_var, trunc_var).  Each that returns a bool returns false where the result
 * is no decimal, or an error of PostgreSQL's; a remainder also where an operand has no room with
 * the scale of the other.
 */
#ifndef TG_DECIMAL_H
#define TG_DECIMAL_H

#include <stdbool.h>
#include <stdint.h>

#define TG_DECIMAL_SCALE_MAX 63 /* numeric's short header has room for it */
#define TG_DECIMAL_BITS 119		/* |value| < 2^119: 35 digits, and some of 36 */

#define TG_DECIMAL_HOST_BYTES 24 /* of a decimal in the host's form: 2, and 2 for each of 11 groups */

/* In a register of 16 bytes, of any alignment that words have. */
typedef struct tg_decimal
{
	uint64_t low; /* the scale in its lowest byte */
	int64_t high;
} tg_decimal;

static inline unsigned
tg_decimal_scale(const tg_decimal *decimal)
{
	return decimal->low & 0xff;
}

/* The value times 10 to the power of the scale. */
static inline __int128
tg_decimal_value(const tg_decimal *decimal)
{
	return (__int128) ((unsigned __int128) (uint64_t) decimal->high << 64 | decimal->low) >> 8;
}

/* Of a value and scale that are in range. */
static inline tg_decimal
tg_decimal_of(__int128 value, unsigned scale)
{
	unsigned __int128 word = (unsigned __int128) value << 8 | scale;

	return (tg_decimal){.low = (uint64_t) word, .high = (int64_t) (word >> 64)};
}

extern bool tg_decimal_make(__int128 value, unsigned scale, tg_decimal *out);

/* A numeric as the host stores it, behind the header of its length. */
extern bool tg_decimal_of_host(const char *numeric, uint32_t bytes, tg_decimal *out);

/* The same, of at most 38 digits, times 10 to the power of a scale below 64; returns its bytes. */
extern unsigned tg_decimal_to_host(__int128 value, unsigned scale, char numeric[TG_DECIMAL_HOST_BYTES]);

extern bool tg_decimal_add(const tg_decimal *a, const tg_decimal *b, tg_decimal *out);
extern bool tg_decimal_subtract(const tg_decimal *a, const tg_decimal *b, tg_decimal *out);
extern bool tg_decimal_multiply(const tg_decimal *a, const tg_decimal *b, tg_decimal *out);
extern bool tg_decimal_divide(const tg_decimal *a, const tg_decimal *b, tg_decimal *out);
extern bool tg_decimal_remainder(const tg_decimal *a, const tg_decimal *b, tg_decimal *out);

typedef enum tg_rounding
{
	TG_ROUND_HALF, /* away from zero */
	TG_ROUND_TO_ZERO,
	TG_ROUND_DOWN, /* towards minus infinity */
	TG_ROUND_UP
} tg_rounding;

/* With so many digits behind the point, as an integer: the value times 10 to that power. */
extern bool tg_decimal_to_int(const tg_decimal *decimal, unsigned scale, tg_rounding rounding, int64_t *out);

/* The nearest float8, which is the one that the host reads from the numeric's text. */
extern double tg_decimal_to_double(const tg_decimal *decimal);

/* The order of two decimals by value: below, at or above 0. */
extern int tg_decimal_compare(const tg_decimal *a, const tg_decimal *b);

/* The same value with the least scale that it has room in: equal decimals are then the same. */
extern tg_decimal tg_decimal_normal(const tg_decimal *decimal);

/*
 * A word in the order of decimals: that of a smaller one is not larger.  (Values that are near one
 * another may have the same.)
 */
extern uint64_t tg_decimal_head(const tg_decimal *decimal);

/*
 * A sum of decimals, exact, of 127 bits; its scale is the largest of theirs.  False: it has no
 * room, and is not changed.
 */
typedef struct tg_decimal_sum
{
	uint64_t low; /* words, as those of a decimal */
	int64_t high;
	uint64_t count;
	uint64_t scale;
} tg_decimal_sum;

extern bool tg_decimal_sum_add(tg_decimal_sum *sum, __int128 value, unsigned scale, uint64_t count);

static inline __int128
tg_decimal_sum_value(const tg_decimal_sum *sum)
{
	return (__int128) ((unsigned __int128) (uint64_t) sum->high << 64 | sum->low);
}

#endif /* TG_DECIMAL_H */
