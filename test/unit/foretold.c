/*
 * foretold.c
 *	  Strings behind a prediction that tells most of them apart: they stay in order and distinct for
 *	  any prediction, and are short if it was right.
 *
 * Pairs that differ in little: in a few bytes that move the place in the prediction and a few that
 * do not, so that rows end in every way; rows as long as one count, a little longer and shorter,
 * and several counts.
 */
#include "runtime/order/foretold.h"

#include <string.h>

#include "test/unit/random.h"
#include "test/unit/unit.h"

#define ROUNDS 200000
#define STRING_MAX 300

static uint64_t random_state;

static unsigned
below(unsigned limit)
{
	return unit_below(&random_state, limit);
}

static size_t
append_any(char *string, size_t bytes, unsigned count)
{
	while (count-- > 0)
		string[bytes++] = "abB1- \xc3\xa4"[below(8)];
	return bytes;
}

/* Some of a string, from its start or not, and something else behind it. */
static size_t
make_near(char *near, const char *string, size_t bytes)
{
	size_t from = bytes == 0 || below(4) > 0 ? 0 : below((unsigned) bytes);
	size_t count = below(3) == 0 ? bytes - from : below((unsigned) (bytes - from) + 1);

	memcpy(near, string + from, count);
	return append_any(near, count, below(4));
}

static size_t
make_string(char *string)
{
	static const unsigned lengths[] = {0, 0, 0, 119, 120, 121, 240, 241};
	size_t bytes = lengths[below(8)];

	memset(string, below(2) == 0 ? 'a' : '-', bytes);
	return append_any(string, bytes, below(12));
}

static int
compare(const void *one, size_t one_bytes, const void *other, size_t other_bytes)
{
	int order = memcmp(one, other, one_bytes < other_bytes ? one_bytes : other_bytes);

	return order != 0 ? (order > 0) - (order < 0) : (one_bytes > other_bytes) - (one_bytes < other_bytes);
}

static void
check_order(void)
{
	unsigned wrong = 0;
	unsigned long_ones = 0;

	for (unsigned i = 0; i < ROUNDS; i++)
	{
		char expected[STRING_MAX];
		char strings[2][STRING_MAX];
		unsigned char written[2][2 * STRING_MAX];
		size_t expected_bytes = make_string(expected);
		size_t bytes[2];
		size_t written_bytes[2];

		bytes[0] = make_near(strings[0], expected, expected_bytes);
		bytes[1] = below(2) == 0 ? make_near(strings[1], expected, expected_bytes)
								 : make_near(strings[1], strings[0], bytes[0]);
		for (unsigned k = 0; k < 2; k++)
		{
			written_bytes[k] =
				(size_t) (tg_foretold_put(written[k], strings[k], bytes[k], expected, expected_bytes) - written[k]);
			long_ones += written_bytes[k] > tg_foretold_room(bytes[k]);
		}
		wrong += compare(strings[0], bytes[0], strings[1], bytes[1]) !=
				 compare(written[0], written_bytes[0], written[1], written_bytes[1]);
	}
	unit_equal(wrong, 0, "pairs of strings of %u that are written in another order", ROUNDS);
	unit_equal(long_ones, 0, "that take more room than there is");
}

static void
check_length(void)
{
	unsigned char written[64];
	char name[] = "customer of the north east";

	unit_equal(tg_foretold_put(written, name, strlen(name), name, strlen(name)) - written, 2,
			   "bytes for what is all expected");
	unit_equal(tg_foretold_put(written, "New York", 8, "newyork", 7) - written, 7, "and for a few that were not");
	unit_equal(tg_foretold_put(written, name, strlen(name), NULL, 0) - written, strlen(name),
			   "where nothing is expected, as many as there are");
}

int
main(void)
{
	check_order();
	check_length();
	return unit_done();
}
