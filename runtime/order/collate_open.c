/*
 * collate_open.c
 *	  The order of a locale of the C library, read from its tables.
 *
 * collate.c describes the tables.
 */
#include "runtime/order/collate_internal.h"

#include <langinfo.h>
#include <stdlib.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "runtime/base/check.h"

/* The versions read. */
#define MAJOR 2
#define MINOR_FIRST 29
#define MINOR_LAST 36

#define SECTIONS_MAX 128 /* an element's is 7 bits */

#define SAMPLES 64

#ifdef __GLIBC__

static bool
is_known_version(void)
{
	char *end;
	long major = strtol(gnu_get_libc_version(), &end, 10);
	long minor = *end == '.' ? strtol(end + 1, NULL, 10) : 0;

	return major == MAJOR && minor >= MINOR_FIRST && minor <= MINOR_LAST;
}

static const void *
item(locale_t locale, nl_item which)
{
	return locale == NULL ? nl_langinfo(which) : nl_langinfo_l(which, locale);
}

/*
 * Finds the rules of all sections, which lie before the table, up to its alignment.  False: the
 * size does not fit.
 */
static bool
read_rules(tg_collation *collation)
{
	uintptr_t bytes = (uintptr_t) collation->table - (uintptr_t) collation->rules;

	if (bytes < collation->level_count || bytes / collation->level_count > SECTIONS_MAX)
		return false;
	for (uint32_t section = 0; section < bytes / collation->level_count; section++)
	{
		const unsigned char *rule = collation->rules + section * collation->level_count;

		if (section > 0 && rule[0] == 0)
			break; /* padding behind the rules */
		collation->section_count++;
		for (unsigned level = 0; level < collation->level_count; level++)
		{
			if (section == 0)
				collation->by_position[level] = (rule[level] & BY_POSITION) != 0;
			if (collation->by_position[level] != ((rule[level] & BY_POSITION) != 0))
				return false;
			if ((rule[level] & BACKWARD) != 0)
				collation->backward[level] |= UINT64_C(1) << (section & 63);
		}
	}
	return true;
}

/* The element of a character of ASCII that stands alone. */
static int32_t
element_of(const tg_collation *collation, unsigned character)
{
	const unsigned char string[1] = {(unsigned char) character};
	const unsigned char *at = string;

	return find_element(collation, &at, string + 1);
}

static const unsigned char *
weight_of(const tg_collation *collation, unsigned character, unsigned level)
{
	const unsigned char *weight = collation->weights + (element_of(collation, character) & 0xffffff);

	for (; level > 0; level--)
		weight += 1 + weight[0];
	return weight;
}

static const unsigned char *
rules_of(const tg_collation *collation, unsigned character)
{
	return collation->rules + (element_of(collation, character) >> 24) * (int) collation->level_count;
}

/* Adds the word to the sorted words unless it is there; returns its place. */
static unsigned
add_word(uint32_t *words, uint8_t *count, uint32_t word)
{
	unsigned at = count_below(words, *count, word);

	if (at == *count || words[at] != word)
	{
		memmove(&words[at + 1], &words[at], (*count - at) * sizeof(*words));
		words[at] = word;
		++*count;
	}
	return at;
}

/* Numbers of the first level that get a byte. */
static void
choose_codes(tg_collation *collation)
{
	uint32_t words[TG_COLLATE_ASCII];
	uint8_t count = 0;

	for (unsigned character = 1; character < TG_COLLATE_ASCII; character++)
	{
		const unsigned char *weight = weight_of(collation, character, 0);
		uint32_t one = pack_one(weight);

		if (one != 0 && weight[0] > 1)
			(void) add_word(words, &count, one);
	}
	if (count == 0 || count > TG_COLLATE_CODED_MAX)
		return;
	memcpy(collation->coded, words, count * sizeof(*words));
	collation->coded_count = count;
	collation->lead_max = (uint8_t) (words[count - 1] >> 24);
}

/* Learns which of a character's weights follow from the others. */
static void
learn_letters(tg_collation *collation)
{
	for (unsigned character = 1; character < TG_COLLATE_ASCII; character++)
	{
		const unsigned char *first = weight_of(collation, character, 0);
		uint32_t one = pack_one(first);
		bool whole = first[0] == 1;
		uint8_t code = whole || one == 0 || first[1] > collation->lead_max ? first[1] : code_of(collation, one, &whole);

		if (one != 0 && whole)
			collation->code[character] = code;
	}
	if (collation->level_count <= FOURTH)
		return;
	for (unsigned character = 1; character < TG_COLLATE_ASCII; character++)
	{
		const unsigned char *third = weight_of(collation, character, THIRD);
		uint32_t last = pack_one(weight_of(collation, character, FOURTH));

		collation->last[character] = last;
		if (collation->code[character] > 0 && third[0] == 1)
			collation->letter[third[1] % TG_COLLATE_CASES][collation->code[character]] = (char) character;
		if (last != 0)
			(void) add_word(collation->told, &collation->told_count, last);
	}
	for (unsigned character = 1; character < TG_COLLATE_ASCII; character++)
		if (collation->last[character] != 0)
			collation->told_letter[count_below(collation->told, collation->told_count, collation->last[character])] =
				(char) character;
}

/*
 * Whether every longer element that begins with the character continues with a byte that is not
 * ASCII.
 */
static bool
is_alone_in_ascii(const tg_collation *collation, unsigned character)
{
	int32_t found = collation->table[character];
	const unsigned char *entry = collation->extra - found;

	/* as find_element() goes through the list */
	while (found < 0 && entry[4] > 0)
	{
		size_t bounds = load(entry) < 0 ? 2 : 1;

		if (entry[5] < TG_COLLATE_ASCII)
			return false;
		entry += 4 + ((1 + bounds * entry[4] + 3) & ~(size_t) 3);
	}
	return true;
}

static bool
is_plain_letter(const tg_collation *collation, unsigned character)
{
	const unsigned char *rules = rules_of(collation, character);
	const unsigned char *second = weight_of(collation, character, SECOND);
	const unsigned char *third = weight_of(collation, character, THIRD);
	uint32_t last = collation->last[character];

	return collation->code[character] > 0 && second[0] == 1 && second[1] == COMMON && third[0] == 1 && last != 0 &&
		   ((rules[0] | rules[THIRD] | rules[FOURTH]) & BACKWARD) == 0 &&
		   collation->letter[third[1] % TG_COLLATE_CASES][collation->code[character]] == (char) character &&
		   collation->told_letter[count_below(collation->told, collation->told_count, last)] == (char) character;
}

/* Finds the characters whose strings put_plain() can write. */
static void
find_plain_letters(tg_collation *collation)
{
	if (collation->level_count != FOURTH + 1 || collation->by_position[0] || collation->by_position[SECOND] ||
		collation->by_position[THIRD] || !collation->by_position[FOURTH])
		return;
	for (unsigned character = 1; character < TG_COLLATE_ASCII; character++)
	{
		if (!is_alone_in_ascii(collation, character) || !is_plain_letter(collation, character))
			continue;
		collation->third[character] = weight_of(collation, character, THIRD)[1];
		collation->goes_back[character] = (rules_of(collation, character)[SECOND] & BACKWARD) != 0;
	}
}

/*
 * A few letters, digits, signs and, in UTF-8, marks: with few of them, strings have more in common.
 */
static void
make_sample(uint64_t *state, bool utf8, char sample[32])
{
	static const char *const parts[] = {"a", "b", "A", "c",	 "h", "1", "9",		 ".",
										"-", " ", "'", "zz", "Z", "=", "\u0301", "\u00e4"};
	char *to = sample;

	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	for (uint64_t bits = *state >> 20; to < sample + 20 && (bits & 15) != 0; bits >>= 4)
		to = stpcpy(to, parts[bits % (utf8 ? 16 : 14)]);
	*to = '\0';
}

/* Whether keys and strcoll() agree on strings that are easily compared. */
static bool
agrees(const tg_collation *collation, locale_t locale)
{
	bool utf8 = strcmp(item(locale, CODESET), "UTF-8") == 0;
	uint64_t state = 1;
	char strings[2][32] = {"", ""};
	unsigned char keys[2][1024];
	size_t bytes[2] = {0, 0};

	for (unsigned i = 0; i < SAMPLES; i++)
	{
		unsigned now = i % 2;
		element scratch[2 * 32];
		tg_collation_walked walked;
		int order;
		int by_key;

		make_sample(&state, utf8, strings[now]);
		if (tg_collation_walk(collation, strings[now], strlen(strings[now]), &walked, scratch) > sizeof(keys[now]))
			return false;
		bytes[now] = tg_collation_key(collation, &walked, keys[now]);
		if (i == 0)
			continue;
		order = locale == NULL ? strcoll(strings[now], strings[1 - now])
							   : strcoll_l(strings[now], strings[1 - now], locale);
		by_key = memcmp(keys[now], keys[1 - now], bytes[now] < bytes[1 - now] ? bytes[now] : bytes[1 - now]);
		if ((order > 0) != (by_key > 0) || (order < 0) != (by_key < 0))
			return false;
	}
	return true;
}

bool
tg_collation_open(tg_collation *collation_out, locale_t locale)
{
	tg_collation collation = {0};

	if (!is_known_version())
		return false;
	/* a number, in the place of a pointer */
	memcpy(&collation.level_count, &(const void *){item(locale, _NL_COLLATE_NRULES)}, sizeof(collation.level_count));
	if (collation.level_count > TG_COLLATE_LEVEL_MAX)
		return false;
	if (collation.level_count > 0)
	{
		collation.rules = item(locale, _NL_COLLATE_RULESETS);
		collation.table = item(locale, _NL_COLLATE_TABLEMB);
		collation.weights = item(locale, _NL_COLLATE_WEIGHTMB);
		collation.extra = item(locale, _NL_COLLATE_EXTRAMB);
		collation.indirect = item(locale, _NL_COLLATE_INDIRECTMB);
		if (!read_rules(&collation))
			return false;
		choose_codes(&collation);
		learn_letters(&collation);
		find_plain_letters(&collation);
		if (!agrees(&collation, locale))
			return false;
	}
	*collation_out = collation;
	return true;
}

#else

bool
tg_collation_open(tg_collation *collation_out, locale_t locale)
{
	return false;
}

#endif
