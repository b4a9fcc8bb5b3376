/*
 * number.h
 *	  Floating-point numbers of files as words: the bits of a double.
 */
#ifndef TG_NUMBER_H
#define TG_NUMBER_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline int64_t
tg_word_of_double(double value)
{
	int64_t word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

/* IEEE 754's binary32. */
static inline int64_t
tg_word_of_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return tg_word_of_double(value);
}

/* IEEE 754's binary16. */
static inline int64_t
tg_word_of_half(unsigned bits)
{
	unsigned exponent = bits >> 10 & 0x1F;
	double fraction = bits & 0x3FF;
	double value;

	if (exponent == 0)
		value = ldexp(fraction, -24);
	else if (exponent < 31)
		value = ldexp(fraction + 1024, (int) exponent - 25);
	else
		value = fraction == 0 ? (double) INFINITY : (double) NAN;
	return tg_word_of_double((bits & 0x8000) != 0 ? -value : value);
}

#endif /* TG_NUMBER_H */
