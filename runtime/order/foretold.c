/*
 * foretold.c
 *	  A string's bytes, behind others from which most of them follow.
 *
 *		expected	n e w y o r k
 *		string		N e w   Y o r k
 *		written		N e # ' ' Y o #			# is a count: two, above; three, below
 *
 * The string is written byte by byte, with a place in the expected string.  A row of bytes that are
 * as expected is written as its first byte, and a count.  Other bytes are written unchanged.  These
 * bytes and the place alone determine where the expected string continues: behind a byte that
 * separates words the place stays, because the expected string probably has no counterpart of it.
 *
 * Why this is in order.  Take two strings with the same expected string.  Up to their first
 * difference everything is the same, the place included.  If neither is as expected there, they
 * have the same row before it, if any.  Its count is lower for a byte below the expected one than
 * for a byte above; on one side, the bytes themselves decide, and an end is below all.  If one of
 * them is as expected, its row continues.  The end of the longer row is not known.  The shorter
 * row's count is lower if a byte below ends it, since such counts grow with the row and are below
 * all of the others; it is higher if a byte above ends it.  Where the row has no length yet, the
 * other string's byte stands beside the expected one itself.  Where nothing more is expected, both
 * have the same row, which counts as followed by a byte above, or by the end.
 *
 * A row of more than TG_FORETOLD_RUN_MAX is written as several, each with its first byte.  If one
 * of two rows ends with such a part, the byte that follows it is compared with that byte.
 */
#include "runtime/order/foretold.h"

/*
 * Whether a byte moves the place.  Signs and blanks do not, because nearly every order writes them
 * unchanged, nor do the bytes that continue a character.
 */
static inline bool
moves(unsigned char byte)
{
	return byte >= 0xc0 || (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

unsigned char *
tg_foretold_put(unsigned char *to, const char *string, size_t bytes, const char *expected, size_t expected_bytes)
{
	size_t place = 0;

	for (size_t at = 0; at < bytes;)
	{
		size_t run = 0;
		bool above;

		while (at + run < bytes && place + run < expected_bytes && string[at + run] == expected[place + run] &&
			   run < TG_FORETOLD_RUN_MAX)
			run++;
		if (run == 0)
		{
			place += place < expected_bytes && moves((unsigned char) string[at]);
			*to++ = (unsigned char) string[at++];
			continue;
		}
		*to++ = (unsigned char) string[at];
		at += run;
		place += run;
		above =
			at < bytes && (place == expected_bytes || (unsigned char) string[at] >= (unsigned char) expected[place]);
		*to++ = tg_foretold_count(run, above);
	}
	return to;
}
