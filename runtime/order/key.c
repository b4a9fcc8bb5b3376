/*
 * key.c
 *	  Keys: stored values as byte strings whose memcmp order is the type's.
 *
 * Columns follow each other without separators, because each encoding is prefix-free within its
 * column: fixed widths by nature, strings by their terminator.  So the encoding of a key's first
 * columns is a prefix of the keys that begin with these values, and of no others.
 *
 * A string's bytes end with 0.  The bytes 0 and 1 in it become 1 1 and 1 2; all others are written
 * unchanged, so text, which has neither, costs one byte more than its length.  Order: the
 * terminator is below any byte of an encoding; the codes for 0 and 1 are in order and below 2.
 *
 * Descending columns have all bits of their encoding inverted: of two encodings neither is a prefix
 * of the other, so the first different byte decides, and inverting it reverses the order.  A
 * nullable column has a byte before it that tells whether it is NULL.
 */
#include "runtime/order/key.h"

#include <string.h>

#include "runtime/base/check.h"
#include "runtime/order/value.h"

#define TERMINATOR 0
#define ESCAPE 1 /* followed by the byte it stands for (0 or 1), plus 1 */

/* Before a nullable column. */
#define NULL_FIRST 0
#define NULL_LAST 2

#define SIGN_64 ((uint64_t) 1 << 63)
#define SIGN_32 ((uint32_t) 1 << 31)

#define USECS_PER_DAY INT64_C(86400000000)
#define DAYS_PER_MONTH 30 /* as PostgreSQL compares intervals */

/* The lowest bytes of a word, most significant first. */
static inline void
put_big_endian(unsigned char *key, uint64_t word, unsigned bytes)
{
	word = __builtin_bswap64(word << (64 - 8 * bytes));
	memcpy(key, &word, bytes);
}

static void
put_int128(unsigned char *key, __int128 value)
{
	put_big_endian(key, (uint64_t) (value >> 64) ^ SIGN_64, 8);
	put_big_endian(key + 8, (uint64_t) value, 8);
}

/*
 * IEEE bits in the order of the numbers: negative ones are turned over, positive
 * ones put above them.
 */
static uint32_t
float4_bits(uint32_t bits)
{
	uint32_t magnitude = bits & ~SIGN_32;

	if (magnitude > UINT32_C(0x7f800000))
		bits = UINT32_C(0x7fc00000); /* any NaN */
	else if (magnitude == 0)
		bits = 0;
	return (bits & SIGN_32) != 0 ? ~bits : bits | SIGN_32;
}

static uint64_t
float8_bits(uint64_t bits)
{
	uint64_t magnitude = bits & ~SIGN_64;

	if (magnitude > UINT64_C(0x7ff0000000000000))
		bits = UINT64_C(0x7ff8000000000000);
	else if (magnitude == 0)
		bits = 0;
	return (bits & SIGN_64) != 0 ? ~bits : bits | SIGN_64;
}

/* The span that PostgreSQL's interval_cmp compares, in microseconds. */
__int128
tg_interval_span(const unsigned char bytes[16])
{
	int64_t time;
	int32_t days;
	int32_t months;

	memcpy(&time, bytes, sizeof(time));
	memcpy(&days, bytes + 8, sizeof(days));
	memcpy(&months, bytes + 12, sizeof(months));
	return (__int128) time + ((__int128) months * DAYS_PER_MONTH + days) * USECS_PER_DAY;
}

/* Returns the new length; SIZE_MAX if there was not enough room, which is then filled. */
static size_t
put_string(unsigned char *key, size_t at, const unsigned char *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
	{
		if (at == TG_KEY_BYTES_MAX)
			return SIZE_MAX;
		if (tg_likely(data[i] > ESCAPE))
		{
			key[at++] = data[i];
			continue;
		}
		key[at++] = ESCAPE;
		if (at == TG_KEY_BYTES_MAX)
			return SIZE_MAX;
		key[at++] = data[i] + 1;
	}
	if (at == TG_KEY_BYTES_MAX)
		return SIZE_MAX;
	key[at++] = TERMINATOR;
	return at;
}

void
tg_key_string_bytes(const unsigned char *key, size_t key_bytes, size_t at, unsigned char *bytes, size_t count)
{
	memset(bytes, 0, count);
	for (size_t i = 0; i < count && at < key_bytes && key[at] != TERMINATOR; i++)
	{
		bool escaped = key[at] == ESCAPE && at + 1 < key_bytes;

		bytes[i] = escaped ? (unsigned char) (key[at + 1] - 1) : key[at];
		at += escaped ? 2 : 1;
	}
}

size_t
tg_key_take(const unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind, unsigned char *bytes,
			size_t *bytes_out)
{
	unsigned char turned = (part->order & TG_KEY_DESCENDING) != 0 ? 0xff : 0;
	size_t count = 0;

	*bytes_out = SIZE_MAX;
	if ((part->order & TG_KEY_NULLABLE) != 0 && key[at++] != TG_KEY_NOT_NULL)
		return at;
	if (kind != TG_KIND_STRING)
		return at + (kind <= TG_KIND_8 ? 1u << kind : 16);
	for (; (key[at] ^ turned) != TERMINATOR; at++)
	{
		unsigned char byte = key[at] ^ turned;

		if (byte == ESCAPE)
			byte = (unsigned char) ((key[++at] ^ turned) - 1);
		bytes[count++] = byte;
	}
	*bytes_out = count;
	return at + 1;
}

static size_t
append_string(unsigned char *key, size_t at, const tg_key_part *part, const tg_string *string)
{
	const unsigned char *data;
	size_t bytes;

	if (tg_string_is_out(string))
	{
		tg_assert(tg_string_blob_bytes(string) >= part->header_bytes);
		data = (const unsigned char *) string->blob + part->header_bytes;
		bytes = tg_string_blob_bytes(string) - part->header_bytes;
	}
	else
	{
		data = (const unsigned char *) string->bytes;
		bytes = tg_string_inline_bytes(string);
	}
	if (part->code == TG_KEY_BLANK)
	{
		while (bytes > 0 && data[bytes - 1] == ' ')
			bytes--;
	}
	return put_string(key, at, data, bytes);
}

/* The encoding of a value in ascending order. */
static size_t
append_value(unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind, const tg_value *value)
{
	unsigned bytes = kind <= TG_KIND_8 ? 1u << kind : 16;
	__int128 number;

	tg_assert(at <= TG_KEY_BYTES_MAX);
	if (kind == TG_KIND_STRING)
	{
		tg_assert(part->code == TG_KEY_STRING || part->code == TG_KEY_BLANK);
		return append_string(key, at, part, &value->string);
	}
	if (TG_KEY_BYTES_MAX - at < bytes)
		return SIZE_MAX;
	key += at;
	switch ((tg_key_code) part->code)
	{
		case TG_KEY_SIGNED:
			tg_assert(kind <= TG_KIND_8);
			put_big_endian(key, value->word ^ (uint64_t) 1 << (8 * bytes - 1), bytes);
			break;
		case TG_KEY_UNSIGNED:
			tg_assert(kind <= TG_KIND_8);
			put_big_endian(key, value->word, bytes);
			break;
		case TG_KEY_FLOAT4:
			tg_assert(kind == TG_KIND_4);
			put_big_endian(key, float4_bits((uint32_t) value->word), 4);
			break;
		case TG_KEY_FLOAT8:
			tg_assert(kind == TG_KIND_8);
			put_big_endian(key, float8_bits(value->word), 8);
			break;
		case TG_KEY_BYTES16:
			tg_assert(kind == TG_KIND_16);
			memcpy(key, value->bytes, 16);
			break;
		case TG_KEY_SIGNED16:
			tg_assert(kind == TG_KIND_16);
			memcpy(&number, value->bytes, sizeof(number));
			put_int128(key, number);
			break;
		case TG_KEY_INTERVAL:
			tg_assert(kind == TG_KIND_16);
			put_int128(key, tg_interval_span(value->bytes));
			break;
		case TG_KEY_STRING:
		case TG_KEY_BLANK:
			tg_check(kind == TG_KIND_STRING);
			break;
	}
	return at + bytes;
}

static size_t
append_mark(unsigned char *key, size_t at, unsigned char mark)
{
	tg_assert(at <= TG_KEY_BYTES_MAX);
	if (at == TG_KEY_BYTES_MAX)
		return SIZE_MAX;
	key[at] = mark;
	return at + 1;
}

size_t
tg_key_append_null(unsigned char *key, size_t at, const tg_key_part *part)
{
	tg_assert((part->order & TG_KEY_NULLABLE) != 0);
	return append_mark(key, at, (part->order & TG_KEY_NULLS_FIRST) != 0 ? NULL_FIRST : NULL_LAST);
}

size_t
tg_key_append_not_null(unsigned char *key, size_t at, const tg_key_part *part)
{
	return (part->order & TG_KEY_NULLABLE) != 0 ? append_mark(key, at, TG_KEY_NOT_NULL) : at;
}

size_t
tg_key_append(unsigned char *key, size_t at, const tg_key_part *part, tg_kind kind, const tg_value *value)
{
	size_t from;
	size_t end;

	if (tg_likely(part->order == 0))
		return append_value(key, at, part, kind, value);
	from = tg_key_append_not_null(key, at, part);
	if (from == SIZE_MAX)
		return SIZE_MAX;
	end = append_value(key, from, part, kind, value);
	if ((part->order & TG_KEY_DESCENDING) != 0)
	{
		/* for a string without room, too: all bytes for which there was room */
		size_t written = end != SIZE_MAX ? end : kind == TG_KIND_STRING ? TG_KEY_BYTES_MAX : from;

		for (size_t i = from; i < written; i++)
			key[i] = (unsigned char) ~key[i];
	}
	return end;
}
