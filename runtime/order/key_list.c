/*
 * key_list.c
 *	  Several keys of one version, as an index keeps them.
 */
#include "runtime/order/key_list.h"

#include <stdlib.h>

#include "runtime/base/check.h"
#include "runtime/order/key.h"

/* --- making ----------------------------------------------------------------------------- */

static int
compare_refs(const void *a, const void *b)
{
	const tg_key_ref *left = a;
	const tg_key_ref *right = b;

	return tg_key_compare(left->key, left->bytes, right->key, right->bytes);
}

unsigned
tg_key_refs_sort(tg_key_ref *keys, unsigned count)
{
	unsigned kept = 0;

	qsort(keys, count, sizeof(*keys), compare_refs);
	for (unsigned i = 0; i < count; i++)
		if (kept == 0 || compare_refs(&keys[kept - 1], &keys[i]) != 0)
			keys[kept++] = keys[i];
	return kept;
}

size_t
tg_key_list_bytes(const tg_key_ref *keys, unsigned count)
{
	size_t bytes = sizeof(uint32_t) * (1 + (size_t) count);

	for (unsigned i = 0; i < count; i++)
		bytes += keys[i].bytes;
	return bytes;
}

void
tg_key_list_write(void *to, const tg_key_ref *keys, unsigned count)
{
	unsigned char *ends = (unsigned char *) to + sizeof(uint32_t);
	unsigned char *bytes = ends + sizeof(uint32_t) * (size_t) count;
	uint32_t end = 0;

	memcpy(to, &(uint32_t){count}, sizeof(uint32_t));
	for (unsigned i = 0; i < count; i++)
	{
		tg_assert(i == 0 || compare_refs(&keys[i - 1], &keys[i]) < 0);
		memcpy(bytes + end, keys[i].key, keys[i].bytes);
		end += keys[i].bytes;
		memcpy(ends + sizeof(uint32_t) * (size_t) i, &end, sizeof(end));
	}
}

/* --- reading ---------------------------------------------------------------------------- */

void
tg_key_list_open(tg_key_list *list, const tg_string *string, unsigned header_bytes)
{
	const unsigned char *at;

	list->cell = *string;
	if (tg_string_is_out(string))
		at = (const unsigned char *) string->blob + header_bytes;
	else
		at = (const unsigned char *) list->cell.bytes;
	memcpy(&list->count, at, sizeof(list->count));
	list->ends = at + sizeof(list->count);
	list->keys = list->ends + sizeof(uint32_t) * (size_t) list->count;
}

unsigned
tg_key_list_find(const tg_key_list *list, const void *key, size_t bytes)
{
	unsigned low = 0;
	unsigned high = list->count;

	while (low < high)
	{
		unsigned middle = low + (high - low) / 2;
		tg_key_ref at = tg_key_list_get(list, middle);

		if (tg_key_compare(at.key, at.bytes, key, bytes) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool
tg_key_list_has(const tg_key_list *list, const void *key, size_t bytes)
{
	unsigned i = tg_key_list_find(list, key, bytes);
	tg_key_ref at;

	if (i == list->count)
		return false;
	at = tg_key_list_get(list, i);
	return at.bytes == bytes && memcmp(at.key, key, bytes) == 0;
}
