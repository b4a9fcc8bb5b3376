/*
 * collate.c
 *	  Sort keys: memcmp() of two keys gives the result of strcoll() on the strings.
 *
 * Pairs of strings that differ in little, of alphabets that exercise all of glibc's comparison:
 * digits and signs, which most locales compare backward on the second level, marks, letters that
 * are ignored on some level, several letters that count as one, bytes that no locale knows.  The
 * locales must be installed (test/setup.sh).
 */
#include "runtime/order/collate.h"

#include <string.h>

#include "test/unit/random.h"
#include "test/unit/unit.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define ROUNDS 4000
#else
#define ROUNDS 40000
#endif

#define CHARACTERS_MAX 12
#define ROW_MAX 250
#define STRING_BYTES (ROW_MAX + 2 * CHARACTERS_MAX * 4 + 1)
#define KEY_BYTES (STRING_BYTES * 34)

static uint64_t random_state;

static unsigned
below(unsigned limit)
{
	return unit_below(&random_state, limit);
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
		case 8:
			return (unsigned char) "aAbBclLxyzZ0019"[below(15)];
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
	unsigned alphabet = below(10);

	for (unsigned count = below(characters_max + 1); count > 0; count--)
		to = put_utf8(to, choose_character(alphabet < 9 ? alphabet : below(9)));
	*to = '\0';
}

/* The same behind a row, now and then. */
static void
make_first(char *to)
{
	if (below(32) == 0)
		for (unsigned count = 118 * (1 + below(2)) + below(6); count > 0; count--)
			*to++ = "aB"[count % 7 == 0];
	make_string(to, CHARACTERS_MAX);
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

typedef struct made_key
{
	unsigned char bytes[KEY_BYTES];
	size_t key_bytes;
	size_t all_bytes; /* with the string behind it */
} made_key;

static void
make_key(const tg_collation *collation, const char *string, made_key *made)
{
	uint64_t scratch[STRING_BYTES * 3];
	size_t string_bytes = strlen(string);
	tg_collation_walked walked;
	size_t room;

	if (tg_collation_scratch_bytes(string_bytes) > sizeof(scratch))
		abort();
	room = tg_collation_walk(collation, string, string_bytes, &walked, scratch);
	if (room > KEY_BYTES)
		abort();
	made->key_bytes = tg_collation_key(collation, &walked, made->bytes);
	made->all_bytes =
		made->key_bytes + tg_collation_string(&walked, string, string_bytes, made->bytes + made->key_bytes);
	if (made->all_bytes > room)
		abort();
}

static int
sign(int order)
{
	return (order > 0) - (order < 0);
}

static int
compare(const unsigned char *one, size_t one_bytes, const unsigned char *other, size_t other_bytes)
{
	int order = memcmp(one, other, one_bytes < other_bytes ? one_bytes : other_bytes);

	return order != 0 ? sign(order) : (one_bytes > other_bytes) - (one_bytes < other_bytes);
}

/*
 * Whether the keys of two strings, none of which is a prefix of the other, compare as the library
 * compares the strings, and, with the strings appended, as the strings' bytes where the library
 * takes the strings for equal.
 */
static bool
is_right(const tg_collation *collation, locale_t locale, const char *one, const char *other)
{
	made_key keys[2];
	int order = strcoll_l(one, other, locale);
	size_t common;

	make_key(collation, one, &keys[0]);
	make_key(collation, other, &keys[1]);
	common = keys[0].key_bytes < keys[1].key_bytes ? keys[0].key_bytes : keys[1].key_bytes;
	if (keys[0].key_bytes != keys[1].key_bytes && memcmp(keys[0].bytes, keys[1].bytes, common) == 0)
		return false;
	if (sign(order) != compare(keys[0].bytes, keys[0].key_bytes, keys[1].bytes, keys[1].key_bytes))
		return false;
	return sign(order != 0 ? order : strcmp(one, other)) ==
		   compare(keys[0].bytes, keys[0].all_bytes, keys[1].bytes, keys[1].all_bytes);
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

		make_first(one);
		make_other(other, one);
		if (!is_right(&collation, locale, one, other) && wrong++ == 0)
			printf("# \"%s\", \"%s\"\n", one, other);
	}
	unit_equal(wrong, 0, "pairs of strings of %u that compare otherwise than their keys", ROUNDS);
	freelocale(locale);
}

/* The differences from strxfrm()'s keys. */
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
