/*
 * collate.c
 *	  Sort keys: memcmp of them says what strcoll() says.
 *
 * Pairs of strings that differ in little, of alphabets in which glibc's comparison shows all that it does: digits
 * and signs, which go backward on the second level of most locales, marks, letters that are ignored on some level, several
 * that count as one, bytes that no locale knows.  The locales have to be there (test/setup.sh).
 */
#include "runtime/storage/collate.h"

#include <string.h>

#include "test/unit/unit.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 4000
#else
#define ROUNDS 40000
#endif

#define CHARACTERS_MAX 12
#define STRING_BYTES (2 * CHARACTERS_MAX * 4 + 1)
#define KEY_BYTES (STRING_BYTES * 32)

static uint64_t random_word = UINT64_C(0x2545f4914f6cdd1d);

static unsigned
below(unsigned limit)
{
	random_word ^= random_word << 13;
	random_word ^= random_word >> 7;
	random_word ^= random_word << 17;
	return (unsigned) ((random_word >> 20) % limit);
}

static char *
put_utf8(char *to, unsigned character)
{
	if (character < 0x80)
		*to++ = (char) character;
	else if (character < 0x800)
	{
		*to++ = (char) (0xc0 | character >> 6);
		*to++ = (char) (0x80 | (character & 0x3f));
	}
	else if (character < 0x10000)
	{
		*to++ = (char) (0xe0 | character >> 12);
		*to++ = (char) (0x80 | (character >> 6 & 0x3f));
		*to++ = (char) (0x80 | (character & 0x3f));
	}
	else
	{
		*to++ = (char) (0xf0 | character >> 18);
		*to++ = (char) (0x80 | (character >> 12 & 0x3f));
		*to++ = (char) (0x80 | (character >> 6 & 0x3f));
		*to++ = (char) (0x80 | (character & 0x3f));
	}
	return to;
}

static unsigned
choose_character(unsigned alphabet)
{
	unsigned character;

	switch (alphabet)
	{
		case 0:
			return (unsigned char) "abAB cCh-hH.,'_sSzZ"[below(19)];
		case 1:
			return 1 + below(0x7f);
		case 2:
			return 0xc0 + below(0x200);
		case 3:
			return below(3) > 0 ? (unsigned char) "ae o1"[below(5)] : 0x300 + below(6);
		case 4:
			return 0x3040 + below(0x100);
		case 5:
			return below(2) > 0 ? 0x4e00 + below(0x100) : (unsigned char) "a1 -x"[below(5)];
		case 6:
			return 0x10000 + below(0x100000);
		default:
			do
				character = 1 + below(0xffff);
			while (character >= 0xd800 && character < 0xe000);
			return character;
	}
}

static void
make_string(char *to, unsigned characters_max)
{
	unsigned alphabet = below(9);

	for (unsigned count = below(characters_max + 1); count > 0; count--)
		to = put_utf8(to, choose_character(alphabet < 8 ? alphabet : below(8)));
	*to = '\0';
}

/* The beginning of a character at, or before, a place. */
static size_t
character_at(const char *string, size_t at)
{
	while (at > 0 && ((unsigned char) string[at] & 0xc0) == 0x80)
		at--;
	return at;
}

/* Another string, or this one with a few characters more, or one less, somewhere. */
static void
make_other(char *other, const char *string)
{
	size_t bytes = strlen(string);
	size_t at = character_at(string, below((unsigned) bytes + 1));
	size_t rest = at;

	if (below(3) == 0)
	{
		make_string(other, CHARACTERS_MAX);
		return;
	}
	if (below(2) > 0 && rest < bytes)
		do
			rest++;
		while (((unsigned char) string[rest] & 0xc0) == 0x80);
	memcpy(other, string, at);
	make_string(other + at, 3);
	strcat(other, string + rest);
}

static size_t
make_key(const tg_collation *collation, const char *string, unsigned char *key)
{
	uint64_t scratch[STRING_BYTES * 2];
	tg_collation_walked walked;
	size_t room;
	size_t bytes;

	if (tg_collation_scratch_bytes(strlen(string)) > sizeof(scratch))
		abort();
	room = tg_collation_walk(collation, string, strlen(string), &walked, scratch);
	if (room > KEY_BYTES)
		abort();
	bytes = tg_collation_key(collation, &walked, key);
	return bytes <= room ? bytes : KEY_BYTES + 1;
}

static int
sign(int order)
{
	return (order > 0) - (order < 0);
}

/* Whether the keys of two strings, none the beginning of the other, say what the library does. */
static bool
is_right(const tg_collation *collation, locale_t locale, const char *one, const char *other)
{
	unsigned char keys[2][KEY_BYTES];
	size_t bytes[2] = {make_key(collation, one, keys[0]), make_key(collation, other, keys[1])};
	size_t common = bytes[0] < bytes[1] ? bytes[0] : bytes[1];
	int order;

	if (bytes[0] > KEY_BYTES || bytes[1] > KEY_BYTES)
		return false;
	order = memcmp(keys[0], keys[1], common);
	return (order != 0 || bytes[0] == bytes[1]) && sign(order) == sign(strcoll_l(one, other, locale));
}

static void
check_locale(const char *name)
{
	locale_t locale = newlocale(LC_ALL_MASK, name, (locale_t) 0);
	unsigned wrong = 0;
	tg_collation collation;

	if (!unit_ok(locale != (locale_t) 0, "locale %s is there", name) ||
		!unit_ok(tg_collation_open(&collation, locale), "and its order is known"))
		return;
	for (unsigned i = 0; i < ROUNDS; i++)
	{
		char one[STRING_BYTES];
		char other[STRING_BYTES];

		make_string(one, CHARACTERS_MAX);
		make_other(other, one);
		if (!is_right(&collation, locale, one, other) && wrong++ == 0)
			printf("# \"%s\", \"%s\"\n", one, other);
	}
	unit_equal(wrong, 0, "pairs of strings of %u that compare otherwise than their keys", ROUNDS);
	freelocale(locale);
}

/* What tells these from strxfrm()'s. */
static void
check_differences(void)
{
	locale_t locale = newlocale(LC_ALL_MASK, "en_US.UTF-8", (locale_t) 0);
	tg_collation collation;

	if (!unit_ok(locale != (locale_t) 0 && tg_collation_open(&collation, locale), "locale en_US.UTF-8 is there"))
		return;
	unit_ok(is_right(&collation, locale, "i9=ug", "i9=;%ug"), "the last but one of a row that goes backward");
	unit_ok(is_right(&collation, locale, "\u584b\u19d3\u2a4c", "\u584b\u19d3\u2a1d\u2a4c"),
			"a row behind an element that is ignored");
	freelocale(locale);
}

int
main(void)
{
	static const char *const names[] = {"en_US.UTF-8", "cs_CZ.UTF-8", "sv_SE.UTF-8", "fr_CA.UTF-8", "ja_JP.UTF-8"};

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_locale(names[i]);
	check_differences();
	return unit_done();
}
