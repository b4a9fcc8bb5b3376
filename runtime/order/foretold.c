/*
 * foretold.c
 *	  A string's bytes, behind others that tell most of them.
 *
 *		expected	n e w y o r k
 *		string		N e w   Y o r k
 *		written		N e # ' ' Y o #			# is a count: two, above; three, below
 *
 * Byte by byte, with a place in what is expected.  A row of bytes that are as expected is the first of them, and a count.  Others
 * are written as they are.  Where the expected goes on then is said by them and by the place alone:
 * behind what separates words it stays, for it is likely that there was nothing to expect them by.
 *
 * Why this is in order.  Of two strings for which the same is expected, all is the same, also the place, up to where they differ.
 * If neither is as expected there, they have the same row before it, if any, whose count is lower for what is below the
 * expected than for what is above; on one side, the bytes themselves decide, and an end is below all.  If one of them is as
 * expected, its row goes on: behind a longer row whose end is not known, the shorter one's count is lower if it ends with something
 * below, since such counts grow with the row and are below all of the others; and higher if with something above.  Where the row has
 * no length yet, the other one's byte stands beside the expected one itself.  Where nothing more is expected both have the same row, which
 * counts as followed by something above, or by the end.
 *
 * A row of more than TG_FORETOLD_RUN_MAX is several, each with its first byte: of two rows one of which ends with such a part, what follows it
 * is compared with that byte.
 */
#include "runtime/order/foretold.h"

/* What stands for itself in nearly every order: signs and blanks do not move the place, nor what goes on with a character. */
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
