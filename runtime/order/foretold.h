/*
 * foretold.h
 *	  A string's bytes, behind others from which most of them follow.
 *
 * A sort key ends with the string itself, to distinguish strings of equal keys, and the bytes
 * before tell nearly all of the string.  So only its differences from the string that the key lets
 * expect are written.
 */
#ifndef TG_FORETOLD_H
#define TG_FORETOLD_H

#include <stdbool.h>
#include <stddef.h>

#define TG_FORETOLD_RUN_MAX 120 /* counts of both kinds have room beside each other, above 1 */

/*
 * The count of units that were as expected, behind the first of them.  It also tells whether the
 * next unit is above the expected one, or below (as the end is).
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
 * Writes a string.  The written bytes of strings with the same expected string are in the order of
 * the strings, and equal exactly where they are; a wrong expectation does no harm.  Returns the
 * end.
 */
extern unsigned char *tg_foretold_put(unsigned char *to, const char *string, size_t bytes, const char *expected,
									  size_t expected_bytes);

#endif /* TG_FORETOLD_H */
