/*
 * sought.c
 *	  Rows by several ranges of keys, of an index with several entries for a version.
 */
#include "runtime/exec/sought.h"

#include "runtime/order/key.h"
#include "runtime/order/key_list.h"
#include "runtime/index/entry.h"
#include "runtime/index/index.h"

#include <string.h>

static bool
has_key_in(const tg_key_list *list, const tg_key_range *range)
{
	unsigned at = tg_key_list_find(list, range->low, range->low_bytes);
	tg_key_ref found;

	if (at == list->count)
		return false;
	found = tg_key_list_get(list, at);
	return !tg_key_is_above(found.key, found.bytes, range);
}

/*
 * Whether the version has this key, as its first one in the range that is read, and none in the
 * ranges read before.
 */
static bool
is_first(const tg_sought *sought, const tg_key_list *list, const unsigned char *key, size_t key_bytes)
{
	const tg_key_range *range = &sought->ranges[sought->reading];
	unsigned at = tg_key_list_find(list, key, key_bytes);
	tg_key_ref found;

	if (at == list->count)
		return false;
	found = tg_key_list_get(list, at);
	if (found.bytes != key_bytes || memcmp(found.key, key, key_bytes) != 0)
		return false;
	if (at > 0)
	{
		tg_key_ref before = tg_key_list_get(list, at - 1);

		if (!tg_key_is_below(before.key, before.bytes, range))
			return false;
	}
	for (unsigned i = 0; i < sought->reading; i++)
		if (has_key_in(list, &sought->ranges[i]))
			return false;
	return true;
}

bool
tg_sought_takes(const tg_sought *sought, const tg_index *index, tg_version version, const unsigned char *key,
				size_t key_bytes, uint64_t *found)
{
	unsigned words = tg_sought_words(sought->count);
	tg_key_list list;

	tg_index_list_of_version(index, version, &list);
	if (!is_first(sought, &list, key, key_bytes))
		return false;
	for (unsigned word = 0; word < words && (sought->needed != NULL || sought->found != NULL); word++)
	{
		uint64_t needed = sought->needed != NULL ? sought->needed[word] : 0;
		uint64_t bits = 0;

		for (unsigned i = word * 64; i < sought->count && i < (word + 1) * 64; i++)
		{
			uint64_t bit = (uint64_t) 1 << i % 64;

			if (sought->found == NULL && (needed & bit) == 0)
				continue;
			if (has_key_in(&list, &sought->ranges[i]))
				bits |= bit;
			else if ((needed & bit) != 0)
				return false;
		}
		if (sought->found != NULL)
			found[word] = bits;
	}
	return true;
}
