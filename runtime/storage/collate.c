/*
 * collate.c
 *	  Sort keys of strings: bytes whose memcmp order is that of the C library's strcoll().
 *
 * strxfrm() promises such keys.  glibc's does not keep the promise: in en_US.UTF-8 of glibc 2.36 strcoll() says
 * "i9=ug" < "i9=;%ug", and the results of strxfrm() are the other way round.  (PostgreSQL does not trust it either:
 * TRUST_STRXFRM in its varlena.c.)  strcoll() is what decides, so these keys are made as it compares.
 *
 * How that is, was read in glibc's string/strcoll_l.c (get_next_seq, do_compare) and locale/weight.h (findidx).  A
 * string is a sequence of elements: characters, or several that count as one (Czech "ch").  The
 * locale's table gives each element a section and, for each level, a weight: some bytes, each above 1, or none, if the
 * element is ignored on that level.  Level by level, strcoll() walks through both strings and compares the
 * weights' bytes, as if those of a string followed each other without gaps; who ends first is below.  Both walks are
 * independent of each other: what comes on a level is a sequence that one string alone determines.  So
 * strcoll() is a lexicographic comparison of such sequences, and a key is the string's, of all levels, each with
 * an end below all weights.  That is all there is to prove; what follows is how to walk.
 *
 *	1. Of a section that goes forward, elements come as they are.  Elements of sections that go backward on the level
 *	   come from the last to the first of a row of them.
 *	2. But not quite.  strcoll() finds the elements of a row by counting from a place where it has been.  If an element
 *	   that goes forward follows the row, it counts one too few behind the last element, and so leaves
 *	   out the last but one.  And the place is the one behind the last element that was compared, not the row's beginning:
 *	   elements before the row that are ignored on the level are counted, too, so that it does not get to the row's
 *	   own last ones.  (In en_US.UTF-8 digits and punctuation go backward on the second level, and most
 *	   ideographs are ignored on it.  This is where strxfrm() differs.)
 *	3. On a level «by position» an element's weight is compared after the number of ignored elements before it, and
 *	   its whole weight counts: a weight is below those that it is the beginning of.
 *
 * Keys write that as follows; weights have no bytes below 2 nor above 0xfd (localedef numbers them from 2 on, and encodes
 * the numbers as UTF-8 does):
 *	- an end is 1
 *	- by position, 0xfe for each ignored element (more of them are above, whatever follows), and 0xff before each
 *	  number of a weight but the first (going on is above whatever the next element has)
 *	- on all levels but the first a row of 2, the weight of nearly everything there, is a 2 and how long it is: the
 *	  longer the higher, if what follows is below 2, and else the lower.  (ICU's keys have such counts.)
 *	- on the first level, the numbers of ASCII's letters and digits that have several bytes are one, of those that no number begins
 *	  with.  Others up to the highest of them have the byte of their gap before them.
 *	- by position, weights that the levels before let expect are the first of a row of them, and a count, as in foretold.c: the number
 *	  on the first level and the weight on the third tell which character of ASCII it is that comes next.  If another one does,
 *	  the place in what is expected stays where its weight is below the one expected, as those of signs and blanks are.  What is expected
 *	  follows from what has been written, and whatever it is, does no harm to the order.
 *
 * The string itself, behind that, is in turn what the last level lets expect.  So of a string of ASCII's letters and digits a key has
 * as many bytes as it has characters, and about a dozen.
 *
 * What the tables look like is glibc's own business, and how it walks, too.  It is known for the versions whose sources
 * were read: of 2.29 and 2.36 strcoll_l.c and weight.h say the same.  Others are not opened, nor are locales whose
 * sections do not agree in which levels are by position (strcoll() goes by the first element's); and those that are opened
 * have to agree with strcoll() on some comparisons of short strings before.
 */
#include "runtime/storage/collate.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "runtime/base/check.h"
#include "runtime/storage/foretold.h"

/* Bits of a rule. */
#define BACKWARD 2
#define BY_POSITION 4

#define END 1
#define COMMON 2
#define IGNORED 0xfe
#define GOES_ON 0xff
#define CODED_FIRST 0x80 /* of the bytes that only go on with a number */

/* The versions read. */
#define MAJOR 2
#define MINOR_FIRST 29
#define MINOR_LAST 36

/* Levels, where there are all of them. */
#define THIRD 2
#define FOURTH 3

#define SECTIONS_MAX 128 /* an element's is 7 bits */

#define SAMPLES 64

typedef struct element
{
	const unsigned char
		*weight; /* on the level that is at hand: its length, and its bytes; then come the other levels */
	uint8_t section;
	uint8_t ascii; /* the character that it is; 0: none of these, or several that count as one */
} element;

/* Where a level's bytes go; there is room. */
typedef struct writer
{
	unsigned char *to;
	size_t run;		/* bytes of COMMON that are not written yet */
	size_t ignored; /* elements, by position */
	size_t row;		/* weights, by position, that were as expected, and are not written yet but for the first */
	size_t place;	/* in the letters */
	size_t letter_count;
	tg_collation_walked *walked;
} writer;

/* --- elements -------------------------------------------------------------------- */

static int32_t
load(const unsigned char *at)
{
	int32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/*
 * The element that a string begins with: its section, and where its weights are.  What begins with a byte that several
 * elements begin with is in a list: one sequence of bytes, or a range of sequences of one length.  The last one has
 * none.
 */
static int32_t
find_element(const tg_collation *collation, const unsigned char **at, const unsigned char *end)
{
	int32_t found = collation->table[*(*at)++];
	const unsigned char *entry = collation->extra - found;
	size_t left = (size_t) (end - *at);

	if (found >= 0)
		return found;
	for (;;)
	{
		size_t count = entry[4];
		const unsigned char *low = entry + 5;
		size_t bounds = 1;
		int32_t offset = 0;

		found = load(entry);
		if (found < 0)
			bounds = 2;
		if (count <= left && (bounds == 1 ? memcmp(*at, low, count) == 0
										  : memcmp(*at, low, count) >= 0 && memcmp(*at, low + count, count) <= 0))
		{
			for (size_t i = 0; i < count && bounds == 2; i++)
				offset = offset * 256 + (*at)[i] - low[i];
			*at += count;
			return bounds == 1 ? found : collation->indirect[offset - found];
		}
		entry += 4 + ((1 + bounds * count + 3) & ~(size_t) 3);
	}
}

/* At most so many bytes come of an element: what ignores it is a mark, and each byte has one before it, or a count behind. */
static size_t
room_of(const tg_collation *collation, const unsigned char *weight)
{
	size_t room = collation->level_count;

	for (unsigned level = 0; level < collation->level_count; level++)
	{
		room += 2 * (size_t) *weight;
		weight += 1 + *weight;
	}
	return room;
}

size_t
tg_collation_walk(const tg_collation *collation, const char *string, size_t string_bytes, tg_collation_walked *walked,
				  void *scratch)
{
	const unsigned char *at = (const unsigned char *) string;
	const unsigned char *end = at + string_bytes;
	element *elements = scratch;
	size_t room = collation->level_count;
	size_t count = 0;
	uint64_t sections = 0;

	while (at < end)
	{
		const unsigned char *begin = at;
		int32_t found = find_element(collation, &at, end);
		element *next = &elements[count++];

		next->ascii = *begin < TG_COLLATE_ASCII && at == begin + 1 ? *begin : 0;
		next->weight = collation->weights + (found & 0xffffff);
		next->section = (uint8_t) (found >> 24);
		sections |= UINT64_C(1) << (next->section & 63);
		room += room_of(collation, next->weight);
	}
	*walked = (tg_collation_walked){.elements = elements,
									.count = count,
									.sections = sections,
									.letters = (char *) (elements + string_bytes),
									.told = (char *) (elements + string_bytes) + string_bytes};
	/* of an element that strcoll() goes back to from several rows, more than once */
	return 2 * room + tg_foretold_room(string_bytes);
}

/* --- writing --------------------------------------------------------------------- */

/* What follows a row of COMMON is known: above it, or below. */
static unsigned char *
put_run(unsigned char *to, size_t run, bool above)
{
	while (run > 0)
	{
		size_t part = run < TG_FORETOLD_RUN_MAX ? run : TG_FORETOLD_RUN_MAX;

		*to++ = COMMON;
		*to++ = tg_foretold_count(part, above);
		run -= part;
	}
	return to;
}

/* The bytes of the number that is at weight[i]. */
static inline unsigned
number_bytes(const unsigned char *weight, unsigned i)
{
	unsigned bytes = 1;

	while (i + bytes <= weight[0] && (weight[i + bytes] & 0xc0) == 0x80)
		bytes++;
	return bytes;
}

/* As a number of ours that is in the same order, up to its fourth byte. */
static inline uint32_t
pack(const unsigned char *number, unsigned bytes)
{
	uint32_t packed = 0;

	for (unsigned i = 0; i < 4; i++)
		packed = packed << 8 | (i < bytes ? number[i] : 0);
	return packed;
}

/* A weight that is one number of so many bytes; else 0. */
static inline uint32_t
pack_one(const unsigned char *weight)
{
	return weight[0] > 0 && weight[0] <= 4 && number_bytes(weight, 1) == weight[0] ? pack(weight + 1, weight[0]) : 0;
}

/* How many of the sorted words are below one. */
static inline unsigned
count_below(const uint32_t *words, unsigned count, uint32_t word)
{
	unsigned low = 0;

	while (count > 0)
	{
		unsigned half = count / 2;

		if (words[low + half] < word)
		{
			low += half + 1;
			count -= half + 1;
		}
		else
			count = half;
	}
	return low;
}

/* --- the first level */

/* A number; returns its byte, or 0 if it is written as several. */
static inline uint8_t
put_number(writer *out, const tg_collation *collation, const unsigned char *number, unsigned bytes)
{
	if (bytes > 1 && number[0] <= collation->lead_max)
	{
		uint32_t packed = pack(number, bytes);
		unsigned below = count_below(collation->coded, collation->coded_count, packed);
		bool is_coded = below < collation->coded_count && collation->coded[below] == packed;

		*out->to++ = (unsigned char) (CODED_FIRST + 2 * below + is_coded);
		if (is_coded)
			return out->to[-1];
	}
	memcpy(out->to, number, bytes);
	out->to += bytes;
	return bytes == 1 ? number[0] : 0;
}

/* What is to be a letter is its byte before the third level is written. */
static inline void
put_letter(writer *out, uint8_t code)
{
	if (out->letter_count < out->walked->count)
		out->walked->letters[out->letter_count++] = (char) code;
}

static inline void
put_first(writer *out, const tg_collation *collation, const element *of)
{
	const unsigned char *weight = of->weight;
	uint8_t code = of->ascii > 0 ? collation->code[of->ascii] : 0;

	if (code > 0)
	{
		*out->to++ = code;
		put_letter(out, code);
		return;
	}
	for (unsigned i = 1; i <= weight[0];)
	{
		unsigned bytes = number_bytes(weight, i);

		put_letter(out, put_number(out, collation, weight + i, bytes));
		i += bytes;
	}
}

/* The third has something to say of each letter; those of which it does not are none. */
static inline void
know_letters(writer *out, const tg_collation *collation, const unsigned char *weight)
{
	for (unsigned i = 1; i <= weight[0] && out->place < out->letter_count; i++)
	{
		char *letter = &out->walked->letters[out->place++];

		*letter = collation->letter[weight[i] % TG_COLLATE_CASES][(unsigned char) *letter];
	}
}

/* --- by position */

static inline void
end_row(writer *out, bool above)
{
	if (out->row > 0)
		*out->to++ = tg_foretold_count(out->row, above);
	out->row = 0;
}

static inline void
tell(writer *out, char letter)
{
	if (letter != 0 && out->walked->told_count < out->walked->count)
		out->walked->told[out->walked->told_count++] = letter;
}

static void
put_whole(writer *out, const unsigned char *weight)
{
	for (unsigned i = 1; i <= weight[0]; i++)
	{
		if (i > 1 && (weight[i] & 0xc0) != 0x80)
			*out->to++ = GOES_ON;
		*out->to++ = weight[i];
	}
}

static void
put_unexpected(writer *out, const tg_collation *collation, const unsigned char *weight, uint32_t expected)
{
	uint32_t one = pack_one(weight);
	unsigned below;

	/* several numbers, of which the first is the expected, are above that */
	bool above = expected == 0 || pack(weight + 1, weight[0]) > expected;

	end_row(out, above);
	put_whole(out, weight);
	out->place += above && out->place < out->letter_count;
	below = one == 0 ? collation->told_count : count_below(collation->told, collation->told_count, one);
	if (below < collation->told_count && collation->told[below] == one)
		tell(out, collation->told_letter[below]);
}

static inline void
put_by_position(writer *out, const tg_collation *collation, const unsigned char *weight)
{
	char letter = out->place < out->letter_count ? out->walked->letters[out->place] : 0;
	uint32_t expected = collation->last[(unsigned char) letter];

	if (weight[0] == 0)
	{
		out->ignored++;
		return;
	}
	if (out->ignored > 0)
		end_row(out, true);
	for (; out->ignored > 0; out->ignored--)
		*out->to++ = IGNORED;
	if (expected == 0 || pack_one(weight) != expected)
	{
		put_unexpected(out, collation, weight, expected);
		return;
	}
	if (out->row == TG_FORETOLD_RUN_MAX)
		end_row(out, true);
	if (out->row++ == 0)
		put_whole(out, weight);
	out->place++;
	tell(out, letter);
}

/* --- on the others */

static inline void
put_weight(writer *out, const unsigned char *weight)
{
	unsigned char *to = out->to;
	size_t run = out->run;
	unsigned bytes = weight[0];

	for (unsigned i = 1; i <= bytes; i++)
	{
		if (weight[i] == COMMON)
		{
			run++;
			continue;
		}
		if (run > 0)
			to = put_run(to, run, true);
		run = 0;
		*to++ = weight[i];
	}
	out->run = run;
	out->to = to;
}

static inline void
put_element(writer *out, const tg_collation *collation, unsigned level, const element *of)
{
	if (collation->by_position[level])
		put_by_position(out, collation, of->weight);
	else if (level == 0)
		put_first(out, collation, of);
	else
	{
		if (level == THIRD)
			know_letters(out, collation, of->weight);
		put_weight(out, of->weight);
	}
}

static inline bool
is_backward(const tg_collation *collation, unsigned level, const element *of)
{
	return (collation->rules[of->section * collation->level_count + level] & BACKWARD) != 0;
}

/* The walk on a level that no element goes backward on. */
static void
put_forward(writer *out, const tg_collation *collation, unsigned level, element *elements, size_t count)
{
	for (size_t i = 0; i < count; i++)
	{
		put_element(out, collation, level, &elements[i]);
		elements[i].weight += 1 + elements[i].weight[0];
	}
}

/* That on any level. */
static void
put_both_ways(writer *out, const tg_collation *collation, unsigned level, element *elements, size_t count)
{
	size_t from = 0; /* where strcoll() counts from */

	for (size_t i = 0; i < count; i++)
	{
		size_t start = i;

		while (i < count && is_backward(collation, level, &elements[i]))
			i++;
		if (i > start)
		{
			put_element(out, collation, level, &elements[i - 1]);
			for (size_t back = i < count ? i - start - 1 : i - start; back > 1; back--)
				put_element(out, collation, level, &elements[from + back - 2]);
			from = i < count ? i + 1 : i;
		}
		if (i < count)
		{
			put_element(out, collation, level, &elements[i]);
			if (elements[i].weight[0] > 0)
				from = i + 1;
		}
	}
	for (size_t i = 0; i < count; i++)
		elements[i].weight += 1 + elements[i].weight[0];
}

size_t
tg_collation_scratch_bytes(size_t string_bytes)
{
	return string_bytes * (sizeof(element) + 2);
}

size_t
tg_collation_key(const tg_collation *collation, tg_collation_walked *walked, unsigned char *key)
{
	writer out = {.to = key, .walked = walked};

	walked->told_count = 0;
	for (unsigned level = 0; level < collation->level_count; level++)
	{
		if ((walked->sections & collation->backward[level]) == 0)
			put_forward(&out, collation, level, walked->elements, walked->count);
		else
			put_both_ways(&out, collation, level, walked->elements, walked->count);
		out.to = put_run(out.to, out.run, false);
		end_row(&out, false);
		*out.to++ = END;
		if (level == THIRD)
			out.letter_count = out.place;
		out.run = 0;
		out.ignored = 0;
		out.place = 0;
	}
	return (size_t) (out.to - key);
}

size_t
tg_collation_string(const tg_collation_walked *walked, const char *string, size_t string_bytes, unsigned char *to)
{
	return (size_t) (tg_foretold_put(to, string, string_bytes, walked->told, walked->told_count) - to);
}

/* --- opening ---------------------------------------------------------------------- */

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

/* The rules of all sections lie before the table, up to its alignment.  False: that does not fit. */
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
			break; /* what fills up */
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

static const unsigned char *
weight_of(const tg_collation *collation, unsigned character, unsigned level)
{
	const unsigned char string[1] = {(unsigned char) character};
	const unsigned char *at = string;
	const unsigned char *weight = collation->weights + (find_element(collation, &at, string + 1) & 0xffffff);

	for (; level > 0; level--)
		weight += 1 + weight[0];
	return weight;
}

/* Adds to sorted words what is not there; returns its place. */
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

/* What follows from each other of characters' weights. */
static void
learn_letters(tg_collation *collation)
{
	for (unsigned character = 1; character < TG_COLLATE_ASCII; character++)
	{
		const unsigned char *first = weight_of(collation, character, 0);
		unsigned char bytes[8];
		writer out = {.to = bytes};

		if (pack_one(first) == 0)
			continue;
		collation->code[character] = put_number(&out, collation, first + 1, first[0]);
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

/* A few letters, digits, signs and, in UTF-8, marks: the less there are, the more they have in common. */
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

/* Whether keys and strcoll() agree where they are easily compared. */
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
