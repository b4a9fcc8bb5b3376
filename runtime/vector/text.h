/*
 * text.h
 *	  Strings: their bytes, and comparing them byte by byte.
 */
#ifndef TG_TEXT_H
#define TG_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "runtime/order/value.h"

#define TG_STRING_HEADER_BYTES 4 /* of a blob: the host's */

/* The bytes of a string, and their number; in the cell itself, or in its blob. */
static inline const char *
tg_string_bytes(const tg_string *string, uint32_t *bytes_out)
{
	if (tg_string_is_out(string))
	{
		*bytes_out = tg_string_blob_bytes(string) - TG_STRING_HEADER_BYTES;
		return (const char *) string->blob + TG_STRING_HEADER_BYTES;
	}
	*bytes_out = tg_string_inline_bytes(string);
	return string->bytes;
}

/* The order of two strings: below, at or above 0. */
extern int tg_text_compare(const tg_string *a, const tg_string *b);

static inline bool
tg_text_is_equal(const tg_string *a, const tg_string *b)
{
	uint64_t a_words[2];
	uint64_t b_words[2];

	/* bytes behind the end of one that is inline are 0 */
	memcpy(a_words, a, sizeof(a_words));
	memcpy(b_words, b, sizeof(b_words));
	if (((a_words[0] ^ b_words[0]) | (a_words[1] ^ b_words[1])) == 0)
		return true;
	/* longer ones are out of line; of two of them number and first bytes */
	if (!tg_string_is_out(a) || !tg_string_is_out(b) || tg_string_blob_bytes(a) != tg_string_blob_bytes(b) ||
		memcmp(a->prefix, b->prefix, sizeof(a->prefix)) != 0)
		return false;
	return tg_text_compare(a, b) == 0;
}

#endif /* TG_TEXT_H */
