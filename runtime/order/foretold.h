/*
 * foretold.h
 *	  A string's bytes, behind others that tell most of them.
 *
 * In a sort key that ends with the string itself, for equal ones to be told apart, what comes before says nearly all that is
 * in it.  So the string is written as where it differs from what its key lets expect.
 */
#ifndef TG_FORETOLD_H
#define TG_FORETOLD_H

#include <stdbool.h>
#include <stddef.h>

#define TG_FORETOLD_RUN_MAX 120 /* counts of both kinds have room beside each other, above 1 */

/*
 * How many units there are of what was expected, behind the first of them: whether what follows them is above the one that
 * would have gone on, or below (as the end is).
 */
static inline unsigned char
tg_foretold_count(size_t run, bool above)
{
	return (unsigned char) (above ? 255 - run : 1 + run);
}

/* Room for a string of so many bytes. */
static inline size_t
tg_foretold_room(size_t bytes)
{
	return 2 * bytes;
}

/*
 * Writes a string.  The bytes of strings for which the same was expected are in the order of the strings, and equal exactly
 * where they are; no harm is done by expecting something wrong.  Returns the end.
 */
extern unsigned char *tg_foretold_put(unsigned char *to, const char *string, size_t bytes, const char *expected,
									  size_t expected_bytes);

#endif /* TG_FORETOLD_H */
