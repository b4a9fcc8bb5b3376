/*
 * csv_kernel.h
 *	  From texts to values of a file, for loops over the fields of a column: numbers of up to 16
 *	  characters, eight at a time in a register.
 *
 * A kernel returns false for any other text, which csv_value.h then reads; what it accepts has the
 * same value by both.  Eight bytes from each of the text's on can be read, whatever they are.
 *
 * Eight digits become a number by three multiplications, each of which joins neighbours (D. Lemire,
 * "Quickly parsing eight digits", 2018).
 */
#ifndef TG_CSV_KERNEL_H
#define TG_CSV_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TG_WORD_BYTES 8

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first character is the lowest byte");

static inline uint64_t
tg_word_at(const uint8_t *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return word;
}

/* The last eight of so many characters, 1 or more: less '0', and with zeros before them. */
static inline uint64_t
tg_word_of_digits(const uint8_t *text, size_t bytes)
{
	const uint64_t zeros = UINT64_C(0x3030303030303030);

	return bytes >= TG_WORD_BYTES ? tg_word_at(text + bytes - TG_WORD_BYTES) ^ zeros
								  : (tg_word_at(text) ^ zeros) << 8 * (TG_WORD_BYTES - bytes);
}

/* Whether all bytes are at most 9. */
static inline bool
tg_word_is_digits(uint64_t word)
{
	return (((word + UINT64_C(0x7676767676767676)) | word) & UINT64_C(0x8080808080808080)) == 0;
}

static inline uint64_t
tg_word_number(uint64_t digits)
{
	const uint64_t even = UINT64_C(0x000000ff000000ff);

	digits = digits * 10 + (digits >> 8);
	return ((digits & even) * (100 + (UINT64_C(1000000) << 32)) +
			(digits >> 16 & even) * (1 + (UINT64_C(10000) << 32))) >>
		   32;
}

/* Of 1 to 16 digits. */
static inline bool
tg_kernel_digits(const uint8_t *text, size_t bytes, uint64_t *value_out)
{
	uint64_t last;
	uint64_t first;

	if (bytes - 1 >= 2 * TG_WORD_BYTES)
		return false;
	last = tg_word_of_digits(text, bytes);
	*value_out = tg_word_number(last);
	if (bytes <= TG_WORD_BYTES)
		return tg_word_is_digits(last);
	first = tg_word_of_digits(text, bytes - TG_WORD_BYTES);
	*value_out += tg_word_number(first) * 100000000;
	return tg_word_is_digits(last) && tg_word_is_digits(first);
}

/* As tg_text_int. */
static inline bool
tg_kernel_int(const uint8_t *text, size_t bytes, unsigned bits, int64_t *value_out)
{
	bool negative = text[0] == '-';
	uint64_t digits;
	int64_t value;

	if (!tg_kernel_digits(text + negative, bytes - negative, &digits))
		return false;
	value = negative ? -(int64_t) digits : (int64_t) digits;
	*value_out = value;
	return value >= -1 - (int64_t) (UINT64_MAX >> (65 - bits)) && value <= (int64_t) (UINT64_MAX >> (65 - bits));
}

/*
 * As tg_text_decimal, below limit, and if there is a point, with `scale` digits behind it, of which
 * there are 1 to 6.  more: 10^scale.
 */
static inline bool
tg_kernel_decimal(const uint8_t *text, size_t bytes, unsigned scale, uint64_t more, uint64_t limit, int64_t *value_out)
{
	bool negative = text[0] == '-';
	unsigned below = 8 * (TG_WORD_BYTES - 1 - scale); /* bits of the last characters before the point */
	uint64_t last;
	uint64_t value;

	text += negative;
	bytes -= negative;
	if (bytes - 1 >= 2 * TG_WORD_BYTES)
		return false;
	last = tg_word_of_digits(text, bytes);
	if (bytes > scale + 1 && (last >> below & 0xff) == ('.' ^ '0'))
	{
		last = (last & ((UINT64_C(1) << below) - 1)) << 8 | (last >> below & ~UINT64_C(0xff)) << below;
		value = tg_word_number(last);
		if (bytes > TG_WORD_BYTES)
		{
			uint64_t first = tg_word_of_digits(text, bytes - TG_WORD_BYTES);

			value += tg_word_number(first) * 10000000;
			if (!tg_word_is_digits(first))
				return false;
		}
	}
	else if (bytes <= TG_WORD_BYTES)
		value = tg_word_number(last) * more;
	else
		return false;
	*value_out = negative ? -(int64_t) value : (int64_t) value;
	return tg_word_is_digits(last) && value < limit;
}

/*
 * As tg_text_date, of ten characters, and without what may lie behind them.  A year begins in March
 * here, so that the day that not every one has is the last.
 */
static inline bool
tg_kernel_date(const uint8_t *text, int64_t *value_out)
{
	/* January's first, of the year that began in March before it */
	static const uint16_t days_before[16] = {0, 306, 337, 0, 31, 61, 92, 122, 153, 184, 214, 245, 275};
	static const uint8_t days_of[16] = {0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	const uint64_t hyphens = UINT64_C(0xff0000ff00000000);
	uint64_t word = tg_word_at(text) ^ UINT64_C(0x2d30302d30303030); /* 0000-00- */
	uint64_t pairs = word * 10 + (word >> 8);
	uint32_t tens = text[8] - '0';
	uint32_t ones = text[9] - '0';
	uint32_t month = (uint32_t) (pairs >> 40) & 0xff;
	uint32_t year = (uint32_t) (pairs & 0xff) * 100 + ((uint32_t) (pairs >> 16) & 0xff);
	uint32_t day = tens * 10 + ones;
	uint32_t begun; /* the year that began last March */

	if (!tg_word_is_digits(word) || (word & hyphens) != 0 || tens > 9 || ones > 9 || month > 12 || year == 0)
		return false;
	if (day - 1 >= days_of[month] && (month != 2 || day != 29 || year % 4 != 0 || (year % 100 == 0 && year % 400 != 0)))
		return false;
	begun = year - (month <= 2);
	*value_out = (int64_t) (365 * begun + begun / 4 - begun / 100 + begun / 400 + days_before[month] + day) - 719469;
	return true;
}

#endif /* TG_CSV_KERNEL_H */
