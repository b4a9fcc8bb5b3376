/*
 * csv_value.c
 *	  From texts to values of a file: the usual ways of writing them.
 *
 * Floats: digits that make an integer which a double holds exactly, and a power of ten that one
 * holds exactly, take one exactly rounded operation (Clinger, How to read floating point numbers
 * accurately).  All others are the C library's, which rounds exactly as well.
 */
#include "runtime/format/csv_value.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/format/csv_kernel.h"

#define DIGITS_OF_INT 18	 /* that an int64 always has */
#define DIGITS_OF_DECIMAL 38 /* that 128 bits always have */
#define FLOAT_TEXT_MAX 64
#define EXPONENT_MAX 400 /* of a float's text; larger ones are the input function's */
#define US_PER_S INT64_C(1000000)
#define S_PER_DAY INT64_C(86400)
#define S_PER_H 3600
#define S_PER_MIN 60
#define DATE_BYTES 10
#define TIME_BYTES 8
#define TIME_PATTERN UINT64_C(0x30303a30303a3030) /* 00:00:00 */
#define TIME_COLONS UINT64_C(0x0000ff0000ff0000)
#define US_DIGITS 6
#define HOURS_OFF_MAX 15

static bool
is_digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

static bool
is_text(const uint8_t *text, size_t bytes, const char *wanted)
{
	return bytes == strlen(wanted) && memcmp(text, wanted, bytes) == 0;
}

bool
tg_text_bool(const uint8_t *text, size_t bytes, int64_t *value_out)
{
	*value_out = is_text(text, bytes, "t") || is_text(text, bytes, "true") || is_text(text, bytes, "1");
	return *value_out != 0 || is_text(text, bytes, "f") || is_text(text, bytes, "false") || is_text(text, bytes, "0");
}

/* --- numbers ---------------------------------------------------------------------------------- */

bool
tg_text_int(const uint8_t *text, size_t bytes, unsigned bits, int64_t *value_out)
{
	bool negative = bytes > 0 && text[0] == '-';
	int64_t value = 0;

	text += negative;
	bytes -= negative;
	if (bytes == 0 || bytes > DIGITS_OF_INT)
		return false;
	for (size_t i = 0; i < bytes; i++)
	{
		if (!is_digit(text[i]))
			return false;
		value = value * 10 + (text[i] - '0');
	}
	value = negative ? -value : value;
	*value_out = value;
	return bits == 64 || (value >= -(INT64_C(1) << (bits - 1)) && value < INT64_C(1) << (bits - 1));
}

/* A decimal number as it is written. */
typedef struct written
{
	bool negative;
	unsigned __int128 digits; /* without the point, and without zeros before them */
	unsigned digit_count;	  /* of these; at most DIGITS_OF_DECIMAL */
	int fraction;			  /* digits behind the point, */
	int exponent;			  /* and what is written behind the E */
	bool has_exponent;
} written;

static bool
read_exponent(const uint8_t *at, const uint8_t *end, written *written_out)
{
	bool negative = at < end && *at == '-';

	written_out->has_exponent = true;
	at += negative || (at < end && *at == '+');
	if (at == end)
		return false;
	for (; at < end; at++)
	{
		if (!is_digit(*at) || written_out->exponent > EXPONENT_MAX)
			return false;
		written_out->exponent = written_out->exponent * 10 + (*at - '0');
	}
	if (negative)
		written_out->exponent = -written_out->exponent;
	return true;
}

static bool
read_number(const uint8_t *text, size_t bytes, written *written_out)
{
	const uint8_t *at = text;
	const uint8_t *end = text + bytes;
	uint64_t small = 0; /* the first digits: 128 bits are slow */
	bool has_digit = false;
	bool has_point = false;

	*written_out = (written){.negative = bytes > 0 && text[0] == '-'};
	at += written_out->negative;
	for (; at < end; at++)
	{
		if (*at == '.' && !has_point)
		{
			has_point = true;
			continue;
		}
		if (!is_digit(*at))
			break;
		has_digit = true;
		written_out->fraction += has_point;
		if (written_out->digit_count == 0 && *at == '0')
			continue;
		if (written_out->digit_count == DIGITS_OF_DECIMAL)
			return false;
		written_out->digit_count++;
		if (written_out->digit_count <= DIGITS_OF_INT)
			small = small * 10 + (*at - '0');
		else
		{
			if (written_out->digit_count == DIGITS_OF_INT + 1)
				written_out->digits = small;
			written_out->digits = written_out->digits * 10 + (*at - '0');
		}
	}
	if (written_out->digit_count <= DIGITS_OF_INT)
		written_out->digits = small;
	if (!has_digit)
		return false;
	if (at == end)
		return true;
	return (*at == 'e' || *at == 'E') && read_exponent(at + 1, end, written_out);
}

/* What one operation rounds exactly; false: it does not. */
static bool
make_double(const written *number, int power, double *value_out)
{
	static const double powers[] = {1e0,  1e1,	1e2,  1e3,	1e4,  1e5,	1e6,  1e7,	1e8,  1e9,	1e10, 1e11,
									1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	const int known = (int) (sizeof(powers) / sizeof(powers[0]));

	if (number->digits >> 53 != 0 || power <= -known || power >= known)
		return false;
	*value_out = (double) (uint64_t) number->digits;
	*value_out = power < 0 ? *value_out / powers[-power] : *value_out * powers[power];
	return true;
}

static bool
make_float(const written *number, int power, double *value_out)
{
	static const float powers[] = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f, 1e8f, 1e9f, 1e10f};
	const int known = (int) (sizeof(powers) / sizeof(powers[0]));
	float value;

	if (number->digits >> 24 != 0 || power <= -known || power >= known)
		return false;
	value = (float) (uint32_t) number->digits;
	value = power < 0 ? value / powers[-power] : value * powers[power];
	*value_out = value;
	return true;
}

/*
 * Numbers too large or too small are left to the input function.  LC_NUMERIC is C in all processes
 * of the host, which needs that for its own input functions.
 */
static bool
ask_library(const uint8_t *text, size_t bytes, unsigned bits, double *value_out)
{
	char copy[FLOAT_TEXT_MAX];
	char *end;

	if (bytes >= sizeof(copy))
		return false;
	memcpy(copy, text, bytes);
	copy[bytes] = '\0';
	*value_out = bits == 32 ? (double) strtof(copy, &end) : strtod(copy, &end);
	return *end == '\0' && (bits == 32 ? isnormal((float) *value_out) : isnormal(*value_out));
}

bool
tg_text_float(const uint8_t *text, size_t bytes, unsigned bits, int64_t *value_out)
{
	written number;
	double value;
	int power;

	if (!read_number(text, bytes, &number))
		return false;
	power = number.exponent - number.fraction;
	if (number.digits == 0)
		value = 0;
	else if (bits == 32 ? make_float(&number, power, &value) : make_double(&number, power, &value))
		;
	else if (ask_library(text + number.negative, bytes - number.negative, bits, &value))
		;
	else
		return false;
	value = number.negative ? -value : value;
	memcpy(value_out, &value, sizeof(value));
	return true;
}

/* Up to DIGITS_OF_DECIMAL. */
static unsigned __int128
power_of_ten(int power)
{
	static const uint64_t powers[] = {UINT64_C(1),
									  UINT64_C(10),
									  UINT64_C(100),
									  UINT64_C(1000),
									  UINT64_C(10000),
									  UINT64_C(100000),
									  UINT64_C(1000000),
									  UINT64_C(10000000),
									  UINT64_C(100000000),
									  UINT64_C(1000000000),
									  UINT64_C(10000000000),
									  UINT64_C(100000000000),
									  UINT64_C(1000000000000),
									  UINT64_C(10000000000000),
									  UINT64_C(100000000000000),
									  UINT64_C(1000000000000000),
									  UINT64_C(10000000000000000),
									  UINT64_C(100000000000000000),
									  UINT64_C(1000000000000000000),
									  UINT64_C(10000000000000000000)};
	const int most = (int) (sizeof(powers) / sizeof(powers[0])) - 1;

	return power <= most ? powers[power] : (unsigned __int128) powers[most] * powers[power - most];
}

bool
tg_text_decimal(const uint8_t *text, size_t bytes, int precision, int scale, __int128 *value_out)
{
	unsigned __int128 value;
	written number;

	if (!read_number(text, bytes, &number) || number.has_exponent)
		return false;
	value = number.digits;
	if (number.fraction > scale)
	{
		int more = number.fraction - scale;
		unsigned __int128 divisor;

		if (more > DIGITS_OF_DECIMAL)
			return false;
		divisor = power_of_ten(more - 1);
		value /= divisor; /* one digit more than wanted, and half of it */
		value = (value + 5) / 10;
	}
	else if (number.digit_count + (unsigned) (scale - number.fraction) > DIGITS_OF_DECIMAL)
		return false;
	else if (number.fraction < scale)
		value *= power_of_ten(scale - number.fraction);
	if (value >= power_of_ten(precision))
		return false;
	*value_out = number.negative ? -(__int128) value : (__int128) value;
	return true;
}

/* --- times ------------------------------------------------------------------------------------ */

/* Two digits; more than 99: these are none. */
static unsigned
two_digits(const uint8_t *at)
{
	return is_digit(at[0]) && is_digit(at[1]) ? (unsigned) (at[0] - '0') * 10 + (unsigned) (at[1] - '0') : 100;
}

bool
tg_text_date(const uint8_t *text, size_t bytes, int64_t *value_out)
{
	return bytes == DATE_BYTES && tg_kernel_date(text, value_out);
}

bool
tg_text_time(const uint8_t *text, size_t bytes, int64_t *value_out)
{
	uint64_t word;
	uint64_t pairs;
	unsigned hours;
	unsigned minutes;
	unsigned seconds;
	int64_t fraction = 0;

	if (bytes < TIME_BYTES || bytes == TIME_BYTES + 1 || bytes > TIME_BYTES + 1 + US_DIGITS ||
		(bytes > TIME_BYTES && text[TIME_BYTES] != '.'))
		return false;
	word = tg_word_at(text) ^ TIME_PATTERN;
	pairs = word * 10 + (word >> 8);
	hours = (unsigned) (pairs & 0xff);
	minutes = (unsigned) (pairs >> 24 & 0xff);
	seconds = (unsigned) (pairs >> 48 & 0xff);
	if (!tg_word_is_digits(word) || (word & TIME_COLONS) != 0 || hours > 23 || minutes > 59 || seconds > 59)
		return false;
	for (size_t i = TIME_BYTES + 1; i < bytes; i++)
	{
		if (!is_digit(text[i]))
			return false;
		fraction = fraction * 10 + (text[i] - '0');
	}
	if (bytes > TIME_BYTES)
		fraction *= (int64_t) power_of_ten(US_DIGITS - (int) (bytes - TIME_BYTES - 1));
	*value_out = ((int64_t) hours * S_PER_H + minutes * S_PER_MIN + seconds) * US_PER_S + fraction;
	return true;
}

/* The offset at the end of a text, in seconds; its bytes, 0: there is none. */
static size_t
offset_bytes(const uint8_t *text, size_t bytes, int64_t *offset_out)
{
	static const size_t lengths[] = {3, 6};

	for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
	{
		const uint8_t *at = text + bytes - lengths[i];
		unsigned hours;
		unsigned minutes = 0;

		if (bytes < lengths[i] || (*at != '+' && *at != '-'))
			continue;
		hours = two_digits(at + 1);
		if (lengths[i] > 3)
			minutes = at[3] == ':' ? two_digits(at + 4) : 100;
		if (hours > HOURS_OFF_MAX || minutes > 59)
			return 0;
		*offset_out = (int64_t) hours * S_PER_H + minutes * S_PER_MIN;
		if (*at == '-')
			*offset_out = -*offset_out;
		return lengths[i];
	}
	return 0;
}

bool
tg_text_timestamp(const uint8_t *text, size_t bytes, tg_text_offset wanted, int64_t *value_out)
{
	int64_t offset = 0;
	int64_t days;
	int64_t time;

	if (bytes <= DATE_BYTES || (text[DATE_BYTES] != ' ' && text[DATE_BYTES] != 'T'))
		return false;
	if (wanted == TG_TEXT_OFFSET_OR_Z && text[bytes - 1] == 'Z')
		bytes--;
	else if (wanted != TG_TEXT_NO_OFFSET)
	{
		size_t at_end = offset_bytes(text + DATE_BYTES + 1, bytes - DATE_BYTES - 1, &offset);

		if (at_end == 0)
			return false;
		bytes -= at_end;
	}
	if (!tg_text_date(text, DATE_BYTES, &days) || !tg_text_time(text + DATE_BYTES + 1, bytes - DATE_BYTES - 1, &time))
		return false;
	*value_out = (days * S_PER_DAY - offset) * US_PER_S + time;
	return true;
}

/* --- bytes ------------------------------------------------------------------------------------ */

/* More than 15: it is none. */
static unsigned
hex_digit(uint8_t c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10u : 16;
}

static bool
read_hex(const uint8_t *at, uint8_t *value_out)
{
	unsigned high = hex_digit(at[0]);
	unsigned low = hex_digit(at[1]);

	*value_out = (uint8_t) (high << 4 | low);
	return high < 16 && low < 16;
}

bool
tg_text_uuid(const uint8_t *text, size_t bytes, uint8_t *value_out)
{
	size_t at = 0;

	if (bytes != 2 * TG_UUID_BYTES + 4)
		return false;
	for (unsigned i = 0; i < TG_UUID_BYTES; i++, at += 2)
	{
		if (i == 4 || i == 6 || i == 8 || i == 10)
			if (text[at++] != '-')
				return false;
		if (!read_hex(text + at, &value_out[i]))
			return false;
	}
	return true;
}

bool
tg_text_bytea(const uint8_t *text, size_t bytes, uint8_t *value_out, size_t *bytes_out)
{
	if (bytes < 2 || bytes % 2 != 0 || text[0] != '\\' || text[1] != 'x')
		return false;
	*bytes_out = bytes / 2 - 1;
	for (size_t i = 0; i < *bytes_out; i++)
	{
		uint8_t value;

		if (!read_hex(text + 2 + 2 * i, &value))
			return false;
		value_out[i] = value;
	}
	return true;
}

/* --- characters ------------------------------------------------------------------------------- */

/* The length of the character that begins there; 0: there is none (RFC 3629). */
static size_t
character_bytes(const uint8_t *at, size_t left)
{
	uint8_t first = at[0];
	size_t count = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;

	if (count == 0 || count > left || first == 0)
		return 0;
	for (size_t i = 1; i < count; i++)
		if ((at[i] & 0xc0) != 0x80)
			return 0;
	if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f) || (first == 0xf0 && at[1] < 0x90) ||
		(first == 0xf4 && at[1] > 0x8f))
		return 0;
	return count;
}

/* Eight bytes at a time are ASCII, without a zero. */
static bool
are_plain(const uint8_t *at)
{
	const uint64_t ones = 0x0101010101010101;
	const uint64_t tops = ones << 7;
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return ((word | (word - ones)) & tops) == 0;
}

bool
tg_text_is_utf8(const uint8_t *text, size_t bytes)
{
	size_t at = 0;

	while (at < bytes)
	{
		size_t left = bytes - at;
		size_t count;

		if (left >= TG_WORD_BYTES && are_plain(text + at))
			count = TG_WORD_BYTES;
		else if (left < TG_WORD_BYTES && bytes >= TG_WORD_BYTES && are_plain(text + bytes - TG_WORD_BYTES))
			count = left; /* the last ones, some of them again */
		else
			count = character_bytes(text + at, left);
		if (count == 0)
			return false;
		at += count;
	}
	return true;
}

size_t
tg_text_characters(const uint8_t *text, size_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes; i++)
		count += (text[i] & 0xc0) != 0x80;
	return count;
}
