/*
 * find.c
 *	  Where a text has another one.
 *
 * LIKE looks for short pieces in short texts, where the preparations of memmem take longer than the
 * search.  Here 16 places are looked at together: those where the first and the last byte of the
 * piece are as they must be are few, and are compared.
 *
 * Texts are chosen by users, so that the time must not be their product: when what was compared in
 * vain is a few times the text, memmem does the rest, whose time is their sum.
 */
#include "runtime/vector/find.h"

#include <stddef.h>
#include <string.h>

#define PLACES 16		  /* a stride */
#define COMPARED_FACTOR 8 /* the bytes of the text that may be compared in vain */

typedef uint8_t stride __attribute__((vector_size(PLACES)));
typedef uint64_t halves __attribute__((vector_size(PLACES)));

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the first place is the lowest byte of a half");

static inline stride
load(const char *at)
{
	stride loaded;

	memcpy(&loaded, at, sizeof(loaded));
	return loaded;
}

/* A byte of ones for each place where both bytes are as they must be. */
static inline halves
find_candidates(const char *at, const char *piece, uint32_t last)
{
	stride none = {0};

	return (halves) ((load(at) == none + (uint8_t) piece[0]) & (load(at + last) == none + (uint8_t) piece[last]));
}

/* The first candidate of a half that is the piece; each other one counts in *compared. */
static const char *
compare(const char *at, uint64_t candidates, const char *piece, uint32_t last, uint64_t *compared)
{
	while (candidates != 0)
	{
		unsigned place = (unsigned) __builtin_ctzll(candidates) / 8;

		/* the first and the last byte are equal */
		if (memcmp(at + place, piece, last) == 0)
			return at + place;
		*compared += last;
		candidates &= ~((uint64_t) 0xff << 8 * place);
	}
	return NULL;
}

const char *
tg_text_find(const char *text, uint32_t bytes, const char *piece, uint32_t piece_bytes)
{
	uint32_t last = piece_bytes - 1;
	uint64_t compared = 0;
	uint32_t at = 0;

	if (bytes < piece_bytes)
		return NULL;
	if (bytes - last < PLACES)
		return memmem(text, bytes, piece, piece_bytes);
	while (at < bytes - last && compared <= (uint64_t) COMPARED_FACTOR * bytes)
	{
		uint32_t from = at < bytes - last - PLACES ? at : bytes - last - PLACES;
		halves candidates = find_candidates(text + from, piece, last);

		for (unsigned half = 0; half < 2 && (candidates[0] | candidates[1]) != 0; half++)
		{
			const char *found = compare(text + from + 8 * half, candidates[half], piece, last, &compared);

			if (found != NULL)
				return found;
		}
		at = from + PLACES;
	}
	return at < bytes - last ? memmem(text + at, bytes - at, piece, piece_bytes) : NULL;
}
