/*
 * key_list.h
 *	  Several keys of one version, as an index keeps them.
 *
 * For an index that has several entries for a row (index/index.h, «several») the host computes one
 * hidden value, a string: the keys in ascending order (memcmp), each once.  So any thread that
 * needs to know whether a version has a key, such as the collector, looks into a list, and does not
 * need the host.
 *
 *	uint32 count | uint32 end of each, from the first key's first byte on | the keys' bytes
 *
 * No key is the beginning of another one, and none has more than TG_INDEX_KEY_BYTES_MAX bytes: the
 * host ensures both.
 */
#ifndef TG_KEY_LIST_H
#define TG_KEY_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "runtime/order/value.h"

typedef struct tg_key_ref
{
	const unsigned char *key;
	uint32_t bytes;
} tg_key_ref;

/* --- making ----------------------------------------------------------------------------- */

/* Sorts keys and drops duplicates; returns the number left. */
extern unsigned tg_key_refs_sort(tg_key_ref *keys, unsigned count);

/* Bytes of the list of these keys, and the list; they are sorted. */
extern size_t tg_key_list_bytes(const tg_key_ref *keys, unsigned count);
extern void tg_key_list_write(void *to, const tg_key_ref *keys, unsigned count);

/* --- reading ---------------------------------------------------------------------------- */

/* A list to look into.  It must not be copied, because it may hold the list's bytes itself. */
typedef struct tg_key_list
{
	uint32_t count;
	const unsigned char *ends;
	const unsigned char *keys;
	tg_string cell; /* a short list */
} tg_key_list;

/* Opens a stored value, of which header_bytes of a blob are the host's; the blob has to stay. */
extern void tg_key_list_open(tg_key_list *list, const tg_string *string, unsigned header_bytes);

static inline void
tg_key_list_open_empty(tg_key_list *list)
{
	list->count = 0;
}

static inline uint32_t
tg_key_list_end(const tg_key_list *list, unsigned i)
{
	uint32_t end;

	memcpy(&end, list->ends + (size_t) i * sizeof(end), sizeof(end));
	return end;
}

static inline tg_key_ref
tg_key_list_get(const tg_key_list *list, unsigned i)
{
	uint32_t begin = i > 0 ? tg_key_list_end(list, i - 1) : 0;

	return (tg_key_ref){.key = list->keys + begin, .bytes = tg_key_list_end(list, i) - begin};
}

/* The first key that is not below this key, or beginning of a key; the count, if there is none. */
extern unsigned tg_key_list_find(const tg_key_list *list, const void *key, size_t bytes);

extern bool tg_key_list_has(const tg_key_list *list, const void *key, size_t bytes);

#endif /* TG_KEY_LIST_H */
