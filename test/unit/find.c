/*
 * find.c
 *	  The first place of a text in another one (runtime/vector/find.h), beside a plain search.
 *
 * Both lie in memory of their own size, so AddressSanitizer sees a look beyond their ends.
 */
#include "runtime/vector/find.h"

#include <stdlib.h>
#include <string.h>

#include "test/unit/random.h"
#include "test/unit/unit.h"

#define TRIALS 60000
#define TEXT_MAX 150
#define LONG 20000

static uint64_t seed = 20261129;

static char *
random_text(uint32_t bytes, unsigned letters)
{
	char *text = malloc(bytes > 0 ? bytes : 1);

	for (uint32_t i = 0; i < bytes; i++)
		text[i] = (char) ('a' + unit_below(&seed, letters));
	return text;
}

static const char *
find_plainly(const char *text, uint32_t bytes, const char *piece, uint32_t piece_bytes)
{
	for (uint32_t at = 0; at + piece_bytes <= bytes; at++)
		if (memcmp(text + at, piece, piece_bytes) == 0)
			return text + at;
	return NULL;
}

static bool
is_found(const char *text, uint32_t bytes, const char *piece, uint32_t piece_bytes)
{
	return tg_text_find(text, bytes, piece, piece_bytes) == find_plainly(text, bytes, piece, piece_bytes);
}

/* Of few letters: pieces are found, and their first and last bytes are often found alone. */
static void
test_random(void)
{
	unsigned wrong = 0;

	for (unsigned i = 0; i < TRIALS; i++)
	{
		uint32_t bytes = unit_below(&seed, TEXT_MAX);
		uint32_t piece_bytes = 1 + unit_below(&seed, i % 3 == 0 ? TEXT_MAX : 8);
		unsigned letters = 1 + unit_below(&seed, 4);
		char *text = random_text(bytes, letters);
		char *piece = random_text(piece_bytes, letters);

		wrong += !is_found(text, bytes, piece, piece_bytes);
		free(text);
		free(piece);
	}
	unit_ok(wrong == 0, "random texts: %u of %u places are wrong", wrong, TRIALS);
}

/* The piece at each place, and nowhere. */
static void
test_places(void)
{
	static const char piece[] = "needle";
	unsigned wrong = 0;

	for (uint32_t bytes = sizeof(piece) - 1; bytes < 80; bytes++)
		for (uint32_t at = 0; at + sizeof(piece) - 1 <= bytes; at++)
		{
			char *text = malloc(bytes);

			memset(text, 'n', bytes);
			wrong += tg_text_find(text, bytes, piece, sizeof(piece) - 1) != NULL;
			memcpy(text + at, piece, sizeof(piece) - 1);
			wrong += tg_text_find(text, bytes, piece, sizeof(piece) - 1) != text + at;
			free(text);
		}
	unit_ok(wrong == 0, "a piece is found at each place");
}

/* Each place is a candidate, and is compared nearly to the end. */
static void
test_in_vain(void)
{
	char *text = malloc(LONG);
	char *piece = malloc(LONG / 4);

	memset(text, 'a', LONG);
	memset(piece, 'a', LONG / 4);
	piece[LONG / 4 - 2] = 'b';
	unit_ok(tg_text_find(text, LONG, piece, LONG / 4) == NULL, "much is compared in vain");
	text[LONG - 2] = 'b';
	unit_ok(tg_text_find(text, LONG, piece, LONG / 4) == text + LONG - LONG / 4, "and at last found");
	free(text);
	free(piece);
}

int
main(void)
{
	test_random();
	test_places();
	test_in_vain();
	return unit_done();
}
