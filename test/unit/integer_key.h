/*
 * integer_key.h
 *	  The key of a row, for tables whose key is their first column, a signed integer of 8 bytes.
 */
#ifndef TG_UNIT_INTEGER_KEY_H
#define TG_UNIT_INTEGER_KEY_H

#include "runtime/order/key.h"
#include "runtime/order/value.h"

/* Writes it, 16 bytes at most; returns how many. */
static inline size_t
key_of(int64_t id, unsigned char *key)
{
	const tg_key_part part = {.column = 0, .code = TG_KEY_SIGNED};
	const tg_value value = {.word = (uint64_t) id};

	return tg_key_append(key, 0, &part, TG_KIND_8, &value);
}

#endif /* TG_UNIT_INTEGER_KEY_H */
