/*
 * sought.h
 *	  Rows by several ranges of keys, of an index with several entries for a version.
 *
 * What is sought has some of a set of keys, or beginnings of keys, and nobody but the host knows which of them together
 * make a row one that is wanted.  So some ranges are read, one after the other (scan.h), and of each row that is seen the
 * list of its keys says which of all ranges it has keys in.
 *
 * A row comes once, however many of the ranges that are read it has keys in, and however many keys in one: at the
 * first of its keys in the first of these ranges.  That follows from the list alone, so nothing is remembered of the rows that have come.
 */
#ifndef TG_SOUGHT_H
#define TG_SOUGHT_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/index/index.h"

/* The caller's, for as long as the scan; so is what it points to. */
typedef struct tg_sought
{
	unsigned count;	  /* of ranges; the first ones are read, in their order */
	unsigned reading; /* the one that a scan is along, by now */
	const tg_key_range *ranges;
	const uint64_t *needed; /* a row without keys in these ranges is passed over: a bit each; NULL: it is not */
	uint64_t
		*found; /* NULL, or for each row of the vectors tg_sought_words(count) words: which ranges it has keys in */
} tg_sought;

static inline unsigned
tg_sought_words(unsigned count)
{
	return (count + 63) / 64;
}

/*
 * Whether a version, met at an entry of this key, is to be handed out; if so, and it is asked for, what it has been
 * found to have goes to found.  Inside an epoch.
 */
extern bool tg_sought_takes(const tg_sought *sought, const tg_index *index, tg_version version,
							const unsigned char *key, size_t key_bytes, uint64_t *found);

#endif /* TG_SOUGHT_H */
