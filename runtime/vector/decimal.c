/*
 * decimal.c
 *	  Arithmetic of decimals.
 *
 * 1. A sum, a product or a remainder is computed in 128 bits, each step of which is tested; so what
 *    does not fit is found whatever the operands are.
 * 2. A quotient is computed by long division: each step brings down as many digits of 10 as leave
 *    the rest within 127 bits, so that no wider integer is needed.
 * 3. What lies beside a NULL may be any bytes.  Values have 120 bits by their form; a scale may be
 *    up to 255 then, which the loops below end with, too.
 */
#include "runtime/vector/decimal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/check.h"

typedef unsigned __int128 uint128;
typedef __int128 int128;

#define POWER_MAX 38 /* 10 to this power fits into 127 bits */
#define GROUP_DIGITS 4
#define SIGNIFICANT_DIGITS_MIN 16 /* PostgreSQL's NUMERIC_MIN_SIG_DIGITS: of a quotient */

#define BOUND ((int128) 1 << TG_DECIMAL_BITS)

#define E18 ((uint128) 1000000000000000000)

/* 10 to a power up to POWER_MAX. */
static inline uint128
power_of_ten(unsigned exponent)
{
	static const uint64_t powers[] = {1,
									  10,
									  100,
									  1000,
									  10000,
									  100000,
									  1000000,
									  10000000,
									  100000000,
									  1000000000,
									  10000000000,
									  100000000000,
									  1000000000000,
									  10000000000000,
									  100000000000000,
									  1000000000000000,
									  10000000000000000,
									  100000000000000000,
									  1000000000000000000};

	tg_assert(exponent <= POWER_MAX);
	if (exponent <= 18)
		return powers[exponent];
	if (exponent <= 36)
		return E18 * powers[exponent - 18];
	return E18 * E18 * powers[exponent - 36];
}

static inline uint128
magnitude(int128 value)
{
	return value < 0 ? -(uint128) value : (uint128) value;
}

/* The digits of a value in front of its leading zeros; of 0, none. */
static unsigned
count_digits(uint128 value)
{
	unsigned digits = 0;

	if (value >= E18)
	{
		digits = value >= E18 * E18 ? 36 : 18;
		value /= power_of_ten(digits);
	}
	for (uint64_t rest = (uint64_t) value; rest > 0; rest /= 10)
		digits++;
	return digits;
}

bool
tg_decimal_make(int128 value, unsigned scale, tg_decimal *out)
{
	if (value >= BOUND || value <= -BOUND || scale > TG_DECIMAL_SCALE_MAX)
		return false;
	*out = tg_decimal_of(value, scale);
	return true;
}

/* Times 10 to the power of digits; false: it has no room, and stays. */
static bool
scale_up(int128 *value, unsigned digits)
{
	int128 scaled;

	if (digits == 0 || *value == 0)
		return true;
	if (digits > POWER_MAX || __builtin_mul_overflow(*value, (int128) power_of_ten(digits), &scaled))
		return false;
	*value = scaled;
	return true;
}

/* Two values of one scale: the larger one. */
static bool
bring_to_one_scale(const tg_decimal *a, const tg_decimal *b, int128 *x, int128 *y, unsigned *scale)
{
	unsigned a_scale = tg_decimal_scale(a);
	unsigned b_scale = tg_decimal_scale(b);

	*scale = a_scale > b_scale ? a_scale : b_scale;
	*x = tg_decimal_value(a);
	*y = tg_decimal_value(b);
	return scale_up(x, *scale - a_scale) && scale_up(y, *scale - b_scale);
}

/* --- the host's numeric ----------------------------------------------------------------- */

#define HEADER_SPECIAL 0xc000
#define HEADER_SHORT 0x8000
#define SHORT_NEGATIVE 0x2000
#define SHORT_SCALE 0x1f80
#define SHORT_SCALE_SHIFT 7
#define SHORT_WEIGHT_SIGN 0x0040
#define SHORT_WEIGHT 0x003f
#define LONG_NEGATIVE 0x4000
#define LONG_SCALE 0x3fff
#define LONG_WEIGHT_MAX 64 /* far more than a decimal has room for */

static uint16_t
load_16(const char *bytes)
{
	uint16_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* Groups of four digits, the first of which is worth 10000 to the power of the weight. */
static bool
value_of_groups(const char *groups, unsigned count, int weight, unsigned scale, int128 *value)
{
	int last = -(int) ((scale + GROUP_DIGITS - 1) / GROUP_DIGITS); /* weight of the last one needed */
	unsigned spare = (unsigned) -last * GROUP_DIGITS - scale;	   /* digits of it behind the scale */
	unsigned divisor = (unsigned) power_of_ten(spare);

	*value = 0;
	for (int at = weight; at >= last; at--)
	{
		unsigned group = (unsigned) (weight - at) < count ? load_16(groups + (size_t) 2 * (unsigned) (weight - at)) : 0;
		unsigned digits = at == last ? GROUP_DIGITS - spare : GROUP_DIGITS;

		if (at == last)
		{
			if (group % divisor != 0)
				return false;
			group /= divisor;
		}
		if (!scale_up(value, digits) || __builtin_add_overflow(*value, (int128) group, value))
			return false;
	}
	return count == 0 || weight - (int) count + 1 >= last;
}

bool
tg_decimal_of_host(const char *numeric, uint32_t bytes, tg_decimal *out)
{
	uint16_t header = load_16(numeric);
	bool is_short = (header & HEADER_SHORT) != 0;
	unsigned header_bytes = is_short ? 2 : 4;
	bool negative;
	unsigned scale;
	int weight;
	int128 value;

	if ((header & HEADER_SPECIAL) == HEADER_SPECIAL) /* NaN, infinities */
		return false;
	if (is_short)
	{
		negative = (header & SHORT_NEGATIVE) != 0;
		scale = (header & SHORT_SCALE) >> SHORT_SCALE_SHIFT;
		weight = (int) (header & SHORT_WEIGHT) - (int) (header & SHORT_WEIGHT_SIGN);
	}
	else
	{
		negative = (header & HEADER_SPECIAL) == LONG_NEGATIVE;
		scale = header & LONG_SCALE;
		weight = (int16_t) load_16(numeric + 2);
	}
	if (scale > TG_DECIMAL_SCALE_MAX || weight > LONG_WEIGHT_MAX || bytes < header_bytes ||
		!value_of_groups(numeric + header_bytes, (bytes - header_bytes) / 2, weight, scale, &value))
		return false;
	return tg_decimal_make(negative ? -value : value, scale, out);
}

/*
 * Groups of 4 digits, the last one first, from the point on in both directions; returns their
 * number.
 */
static unsigned
split_groups(uint128 rest, unsigned scale, uint16_t groups[])
{
	unsigned in_last = scale % 4; /* digits of the last group */
	unsigned count = 0;

	if (in_last > 0)
	{
		unsigned power = (unsigned) power_of_ten(in_last);

		groups[count++] = (uint16_t) ((unsigned) (rest % power) * (unsigned) power_of_ten(4 - in_last));
		rest /= power;
	}
	for (; rest > UINT64_MAX; rest /= 10000)
		groups[count++] = (uint16_t) (rest % 10000);
	for (uint64_t word = (uint64_t) rest; word > 0; word /= 10000)
		groups[count++] = (uint16_t) (word % 10000);
	return count;
}

unsigned
tg_decimal_to_host(int128 value, unsigned scale, char numeric[TG_DECIMAL_HOST_BYTES])
{
	uint16_t groups[TG_DECIMAL_HOST_BYTES / 2 - 1];
	unsigned count = split_groups(magnitude(value), scale, groups);
	int weight = (int) count - 1 - (int) (scale + 3) / 4;
	unsigned first = 0;
	uint16_t header;
	char *out = numeric + sizeof(header);

	for (; count > 0 && groups[count - 1] == 0; count--)
		weight--;
	while (first < count && groups[first] == 0)
		first++;
	if (count == 0)
		weight = 0;
	header = (uint16_t) (HEADER_SHORT | (value < 0 ? SHORT_NEGATIVE : 0) | scale << SHORT_SCALE_SHIFT |
						 ((unsigned) weight & (SHORT_WEIGHT | SHORT_WEIGHT_SIGN)));
	memcpy(numeric, &header, sizeof(header));
	for (unsigned i = count; i > first; i--, out += sizeof(groups[0]))
		memcpy(out, &groups[i - 1], sizeof(groups[0]));
	return (unsigned) (out - numeric);
}

/* --- arithmetic -------------------------------------------------------------------------- */

bool
tg_decimal_add(const tg_decimal *a, const tg_decimal *b, tg_decimal *out)
{
	unsigned scale;
	int128 x;
	int128 y;

	return bring_to_one_scale(a, b, &x, &y, &scale) && !__builtin_add_overflow(x, y, &x) &&
		   tg_decimal_make(x, scale, out);
}

bool
tg_decimal_subtract(const tg_decimal *a, const tg_decimal *b, tg_decimal *out)
{
	unsigned scale;
	int128 x;
	int128 y;

	return bring_to_one_scale(a, b, &x, &y, &scale) && !__builtin_sub_overflow(x, y, &x) &&
		   tg_decimal_make(x, scale, out);
}

bool
tg_decimal_multiply(const tg_decimal *a, const tg_decimal *b, tg_decimal *out)
{
	int128 product;

	return !__builtin_mul_overflow(tg_decimal_value(a), tg_decimal_value(b), &product) &&
		   tg_decimal_make(product, tg_decimal_scale(a) + tg_decimal_scale(b), out);
}

bool
tg_decimal_remainder(const tg_decimal *a, const tg_decimal *b, tg_decimal *out)
{
	unsigned scale;
	int128 x;
	int128 y;

	if (!bring_to_one_scale(a, b, &x, &y, &scale) || y == 0)
		return false;
	return tg_decimal_make(x % y, scale, out);
}

/* --- quotients --------------------------------------------------------------------------- */

/* The first group of four digits that is not 0, counted from the point, and its weight. */
typedef struct first_group
{
	int weight;
	unsigned group;
} first_group;

static int
floor_of_quarter(int value)
{
	return value >= 0 ? value / GROUP_DIGITS : -((GROUP_DIGITS - 1 - value) / GROUP_DIGITS);
}

static first_group
find_first_group(uint128 value, unsigned scale)
{
	unsigned digits = count_digits(value);
	first_group first = {0};
	int behind;

	if (digits == 0)
		return first;
	first.weight = floor_of_quarter((int) digits - 1 - (int) scale);
	behind = (int) scale + GROUP_DIGITS * first.weight; /* digits behind the group */
	first.group =
		(unsigned) (behind >= 0 ? value / power_of_ten((unsigned) behind) : value * power_of_ten((unsigned) -behind));
	return first;
}

/* PostgreSQL's select_div_scale. */
static unsigned
scale_of_quotient(const tg_decimal *a, const tg_decimal *b)
{
	first_group x = find_first_group(magnitude(tg_decimal_value(a)), tg_decimal_scale(a));
	first_group y = find_first_group(magnitude(tg_decimal_value(b)), tg_decimal_scale(b));
	int weight = x.weight - y.weight - (x.group <= y.group);
	int scale = SIGNIFICANT_DIGITS_MIN - weight * GROUP_DIGITS;

	if (scale < (int) tg_decimal_scale(a))
		scale = (int) tg_decimal_scale(a);
	if (scale < (int) tg_decimal_scale(b))
		scale = (int) tg_decimal_scale(b);
	return (unsigned) scale;
}

static unsigned
count_bits(uint128 value)
{
	uint64_t high = (uint64_t) (value >> 64);

	return high != 0 ? 128 - (unsigned) __builtin_clzll(high) : 64 - (unsigned) __builtin_clzll((uint64_t) value | 1);
}

/* dividend × 10^digits / divisor, rounded; both are magnitudes of decimals. */
static bool
divide_rounded(uint128 dividend, unsigned digits, uint128 divisor, uint128 *quotient)
{
	uint128 rest = dividend % divisor;
	/* so many digits more than the divisor's leave 127 bits, by the logarithm of 2 */
	unsigned step = (127 - count_bits(divisor)) * 1233 / 4096;

	*quotient = dividend / divisor;
	while (digits > 0)
	{
		unsigned brought = digits < step ? digits : step;
		uint128 power = power_of_ten(brought);

		rest *= power;
		if (__builtin_mul_overflow(*quotient, power, quotient) ||
			__builtin_add_overflow(*quotient, rest / divisor, quotient))
			return false;
		rest %= divisor;
		digits -= brought;
	}
	*quotient += 2 * rest >= divisor;
	return *quotient < (uint128) BOUND;
}

bool
tg_decimal_divide(const tg_decimal *a, const tg_decimal *b, tg_decimal *out)
{
	int128 x = tg_decimal_value(a);
	int128 y = tg_decimal_value(b);
	unsigned scale;
	uint128 quotient;

	if (y == 0)
		return false;
	scale = scale_of_quotient(a, b);
	if (scale > TG_DECIMAL_SCALE_MAX || tg_decimal_scale(a) > scale ||
		!divide_rounded(magnitude(x), scale + tg_decimal_scale(b) - tg_decimal_scale(a), magnitude(y), &quotient))
		return false;
	return tg_decimal_make((x < 0) != (y < 0) ? -(int128) quotient : (int128) quotient, scale, out);
}

/* --- rounding, conversions --------------------------------------------------------------- */

/* value / 10^digits */
static int128
divide_by_power(int128 value, unsigned digits, tg_rounding rounding)
{
	/* of a larger power the value is less than half */
	int128 power = (int128) power_of_ten(digits < POWER_MAX ? digits : POWER_MAX);
	int128 quotient = value / power;
	int128 rest = value % power;

	switch (rounding)
	{
		case TG_ROUND_HALF:
			return quotient + (rest >= power - rest) - (-rest >= power + rest);
		case TG_ROUND_DOWN:
			return quotient - (rest < 0);
		case TG_ROUND_UP:
			return quotient + (rest > 0);
		default:
			return quotient;
	}
}

bool
tg_decimal_to_int(const tg_decimal *decimal, unsigned scale, tg_rounding rounding, int64_t *out)
{
	int128 value = tg_decimal_value(decimal);
	unsigned own = tg_decimal_scale(decimal);

	if (own > scale)
		value = divide_by_power(value, own - scale, rounding);
	else if (!scale_up(&value, scale - own))
		return false;
	*out = (int64_t) value;
	return *out == value;
}

double
tg_decimal_to_double(const tg_decimal *decimal)
{
	int128 value = tg_decimal_value(decimal);
	uint128 rest = magnitude(value);
	char text[64];

	snprintf(text, sizeof(text), "%s%llu%018lluE-%u", value < 0 ? "-" : "", (unsigned long long) (rest / E18),
			 (unsigned long long) (rest % E18), tg_decimal_scale(decimal));
	return strtod(text, NULL);
}

/* --- order ------------------------------------------------------------------------------- */

int
tg_decimal_compare(const tg_decimal *a, const tg_decimal *b)
{
	int128 x = tg_decimal_value(a);
	int128 y = tg_decimal_value(b);
	unsigned a_scale = tg_decimal_scale(a);
	unsigned b_scale = tg_decimal_scale(b);

	/* what has no room with the other's scale is farther from 0 */
	if (a_scale < b_scale && !scale_up(&x, b_scale - a_scale))
		return x < 0 ? -1 : 1;
	if (b_scale < a_scale && !scale_up(&y, a_scale - b_scale))
		return y < 0 ? 1 : -1;
	return (x > y) - (x < y);
}

tg_decimal
tg_decimal_normal(const tg_decimal *decimal)
{
	int128 value = tg_decimal_value(decimal);
	unsigned scale = tg_decimal_scale(decimal);

	for (; scale > 0 && value != (int64_t) value && value % 10 == 0; scale--)
		value /= 10;
	if (value == (int64_t) value)
	{
		int64_t word = (int64_t) value;

		for (; scale > 0 && word % 10 == 0; scale--)
			word /= 10;
		value = word;
	}
	return tg_decimal_of(value, scale);
}

/*
 * Positive: the digits in front of the point, plus the largest scale, then the first 17 digits.
 * Negative ones are those turned round.
 */
uint64_t
tg_decimal_head(const tg_decimal *decimal)
{
	int128 value = tg_decimal_value(decimal);
	uint128 rest = magnitude(value);
	unsigned digits = count_digits(rest);
	uint64_t head;

	if (digits == 0)
		return (uint64_t) 1 << 63;
	head = (uint64_t) (digits > 17 ? rest / power_of_ten(digits - 17) : rest * power_of_ten(17 - digits));
	/* 17 digits take 57 bits, of which the lowest one is left out; the exponent is 1 to 99 */
	head = (uint64_t) (digits + TG_DECIMAL_SCALE_MAX - (tg_decimal_scale(decimal) & TG_DECIMAL_SCALE_MAX)) << 56 |
		   head >> 1;
	return value < 0 ? ((uint64_t) 1 << 63) - head : (uint64_t) 1 << 63 | head;
}

/* --- sums -------------------------------------------------------------------------------- */

bool
tg_decimal_sum_add(tg_decimal_sum *sum, int128 value, unsigned scale, uint64_t count)
{
	int128 total = tg_decimal_sum_value(sum);
	unsigned common = scale > sum->scale ? scale : (unsigned) sum->scale;

	if (!scale_up(&total, common - (unsigned) sum->scale) || !scale_up(&value, common - scale) ||
		__builtin_add_overflow(total, value, &total))
		return false;
	*sum = (tg_decimal_sum){.low = (uint64_t) (uint128) total,
							.high = (int64_t) (total >> 64),
							.count = sum->count + count,
							.scale = common};
	return true;
}
