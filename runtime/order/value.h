/*
 * value.h
 *	  Column values in storage and in transit.
 */
#ifndef TG_VALUE_H
#define TG_VALUE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/base/names.h"

/*
 * A string: up to 12 bytes inline, else a prefix and an immutable blob.
 *
 * The host's datums are made without copying.  Inline: byte 3 is the host's header of a short value
 * (PostgreSQL's one-byte varlena header on little-endian machines: (length + 1) << 1 | 1), so that
 * the datum begins at byte 3.  In a blob: the blob is the host's datum, with the host's 4-byte
 * header; length counts the blob's bytes, prefix is the first 4 bytes after header_bytes.
 */
#define TG_STRING_INLINE_MAX 12

/*
 * Flags in word.  OUT: out of line, the rest of the word is the length.  HOST, in input only: blob
 * points to the host's memory and is to be copied.  LENT, in storage only: the blob belongs to
 * another version, which frees it.
 */
#define TG_STRING_OUT ((uint32_t) 1 << 31)
#define TG_STRING_HOST ((uint32_t) 1 << 30)
#define TG_STRING_LENT TG_STRING_HOST
#define TG_STRING_LENGTH (TG_STRING_HOST - 1)

struct tg_string
{
	uint32_t word;
	union
	{
		char bytes[TG_STRING_INLINE_MAX];
		struct __attribute__((packed, aligned(4)))
		{
			char prefix[4];
			const void *blob;
		};
	};
};

_Static_assert(sizeof(tg_string) == 16, "a string cell is 16 bytes");

/* One value of any kind: kinds up to 8 bytes sign-extended in word. */
union tg_value
{
	uint64_t word;
	unsigned char bytes[16];
	tg_string string;
} __attribute__((aligned(16)));

static inline bool
tg_string_is_out(const tg_string *string)
{
	return (string->word & TG_STRING_OUT) != 0;
}

/* Inline: payload bytes. */
static inline unsigned
tg_string_inline_bytes(const tg_string *string)
{
	return (string->word >> 25) - 1;
}

/* Makes an inline string; bytes ≤ TG_STRING_INLINE_MAX. */
static inline void
tg_string_make_inline(tg_string *string, const void *data, unsigned bytes)
{
	memset(string, 0, sizeof(*string));
	string->word = ((bytes + 1) << 1 | 1) << 24;
	memcpy(string->bytes, data, bytes);
}

/* Out of line: bytes of the blob, the host's header included. */
static inline uint32_t
tg_string_blob_bytes(const tg_string *string)
{
	return string->word & TG_STRING_LENGTH;
}

/*
 * Names the host's memory as a value to be copied when it is stored; header_bytes of it are the
 * host's header.
 */
static inline void
tg_string_make_host(tg_string *string, const void *datum, uint32_t bytes, unsigned header_bytes)
{
	string->word = TG_STRING_OUT | TG_STRING_HOST | bytes;
	memset(string->prefix, 0, sizeof(string->prefix));
	memcpy(string->prefix, (const char *) datum + header_bytes, bytes - header_bytes < 4 ? bytes - header_bytes : 4);
	string->blob = datum;
}

#endif /* TG_VALUE_H */
