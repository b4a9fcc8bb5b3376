/*
 * sought.h
 *	  Rows by several ranges of keys, of an index with several entries for a version.
 *
 * The wanted rows have some of a set of keys, or key prefixes.  Only the host knows which
 * combinations of them make a row a wanted one.  So some of the ranges are read, one after the
 * other (range_scan.h).  For each visible row, the list of its keys then tells in which of all
 * ranges it has keys.
 *
 * A row comes once, however many of the ranges that are read it has keys in, and however many keys
 * in one range: at the first of its keys in the first of these ranges.  That follows from the list
 * of keys alone, so the scan does not need to remember the rows that have come.
 */
#ifndef TG_SOUGHT_H
#define TG_SOUGHT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"

typedef struct tg_key_range tg_key_range; /* key.h */

/* Owned by the caller for as long as the scan, with all that it points to. */
typedef struct tg_sought
{
	unsigned count;	  /* of ranges; the first ones are read, in their order */
	unsigned reading; /* the range that the scan reads at present */
	const tg_key_range *ranges;
	/* a bit for each range: a row without keys in these ranges is skipped; NULL: no row is */
	const uint64_t *needed;
	/*
	 * NULL, or for each row of the vectors tg_sought_words(count) words: which ranges it has
	 * keys in
	 */
	uint64_t *found;
} tg_sought;

static inline unsigned
tg_sought_words(unsigned count)
{
	return (count + 63) / 64;
}

/*
 * Whether a version, met at an entry of this key, is to be handed out.  If so, and if found is not
 * NULL, the ranges in which it has keys are stored there.  Inside an epoch.
 */
extern bool tg_sought_takes(const tg_sought *sought, const tg_index *index, tg_version version,
							const unsigned char *key, size_t key_bytes, uint64_t *found);

#endif /* TG_SOUGHT_H */
