/*
 * collate.c
 *	  Sort keys of strings: bytes whose memcmp order is that of the C library's strcoll().
 *
 * strxfrm() promises such keys. glibc's does not keep the promise: in en_US.UTF-8 of glibc 2.36
 * strcoll() says "i9=ug" < "i9=;%ug", and the results of strxfrm() are the other way round.
 * (PostgreSQL does not trust it either: TRUST_STRXFRM in its varlena.c.)  strcoll() is what
 * decides, so these keys are made as it compares.
 *
 * This comparison is that of glibc's string/strcoll_l.c (get_next_seq, do_compare) and
 * locale/weight.h (findidx).  A string is a sequence of elements: characters, or several that count
 * as one (Czech "ch").  The locale's table gives each element a section and, for each level, a
 * weight: some bytes, each above 1, or none, if the element is ignored on that level.  Level by
 * level, strcoll() walks through both strings and compares the bytes of the weights, as if those of
 * a string followed each other without gaps; the string that ends first is below.  The two walks
 * are independent of each other: one string alone determines its sequence on a level.  So strcoll()
 * is a lexicographic comparison of such sequences.  A key consists of the string's sequences of all
 * levels, each with an end below all weights.  No more has to be proved; the following describes
 * the walk.
 *
 *	1. In a section that goes forward, elements come in their order.  Elements of sections
 *	   that go backward on the level come from the last to the first of a row of them.
 *	2. There is an exception.  strcoll() finds the elements of a row by counting from a place
 *	   where it has been.  If an element that goes forward follows the row, it counts one too
 *	   few behind the last element, and so leaves out the last but one.  And the place is the
 *	   one behind the last element that was compared, not the row's beginning: elements before
 *	   the row that are ignored on the level are counted, too, so strcoll() does not reach the
 *	   last elements of the row itself.  (In en_US.UTF-8 digits and punctuation go backward on
 *	   the second level, and most ideographs are ignored on it.  This is where strxfrm()
 *	   differs.)
 *	3. On a level «by position» an element's weight is compared after the number of ignored
 *	   elements before it, and its whole weight counts: a weight is below those that it is the
 *	   beginning of.
 *
 * Keys write that as follows; weights have no bytes below 2 nor above 0xfd (localedef numbers them
 * from 2 on, and encodes the numbers as UTF-8 does):
 *	- an end is 1
 *	- by position, 0xfe for each ignored element (more of them are above, whatever follows),
 *	  and 0xff before each number of a weight but the first (a weight that continues is above
 *	  any next element)
 *	- on all levels but the first a row of 2, the weight of nearly all elements there, is
 *	  written as a 2 and the length of the row: a longer row is higher if a byte below 2
 *	  follows, else lower.  (ICU's keys have such counts.)
 *	- on the first level, each number of ASCII's letters and digits that has several bytes is
 *	  written as one byte, of those with which no number begins.  Other numbers up to the
 *	  highest of them have the byte of their gap before them.
 *	- by position, weights that the levels before let expect are written as the first of a row
 *	  of them, and a count, as in foretold.c: the number on the first level and the weight on
 *	  the third tell which character of ASCII comes next.  If another one does, the place in
 *	  the expected string stays where the weight of that character is below the expected one,
 *	  as those of signs and blanks are.  The expected string follows from the bytes already
 *	  written, and even a wrong one does no harm to the order.
 *
 * Keys of strings of ASCII's letters and digits alone are the result of all these rules, written at
 * once (put_plain).
 *
 * The string itself, behind the key, is written in the same way, by what the last level predicts
 * for it.  So the key of a string of ASCII's letters and digits has as many bytes as the string has
 * characters, and about a dozen more.  That is worth its code: a row of such a primary key and an
 * integer takes 134 bytes if the string has 10 characters, and 258 if it has 40 (en_US.UTF-8, glibc
 * 2.36); with all weights written, 217 and 639.
 *
 * Average bytes of a key with its string, of words of demo/data (en_US.UTF-8):
 *
 *									airports	manufacturers	tail numbers
 *		the string							19.6		 9.5			 6.0
 *		as described						49.6		32.4			22.6
 *		the string behind it in full		67.1		39.9			26.6
 *		and the weights by position			108.6		61.6			40.6
 *		and the numbers of the first level	121.8		67.4			42.6
 *
 * The form of the tables is internal to glibc, and so is the walk.  Both are known for the versions
 * whose sources were read: strcoll_l.c and weight.h of 2.29 and 2.36 agree.  Other versions are not
 * opened, nor are locales whose sections disagree about the levels by position (strcoll() goes by
 * the first element's section).  A locale that is opened has to agree with strcoll() on some
 * comparisons of short strings before.
 */
#include "runtime/order/collate_internal.h"

#include "runtime/order/foretold.h"

#define PLAIN_ROOM 8 /* bytes of a plain letter, on all levels */

/* The destination of a level's bytes; there is room. */
typedef struct writer
{
	unsigned char *to;
	size_t run;		/* bytes of COMMON that are not written yet */
	size_t ignored; /* elements, by position */
	size_t row;		/* weights, by position, that were as expected; only the first is written yet */
	size_t place;	/* in the letters */
	size_t letter_count;
	tg_collation_walked *walked;
} writer;

/* --- elements -------------------------------------------------------------------- */

/*
 * The most bytes that an element can give: an ignored one gives a mark, and each byte has one
 * before it, or a count behind.
 */
static inline size_t
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

static bool
is_plain(const tg_collation *collation, const char *string, size_t string_bytes)
{
	for (size_t i = 0; i < string_bytes; i++)
		if ((unsigned char) string[i] >= TG_COLLATE_ASCII || collation->third[(unsigned char) string[i]] == 0)
			return false;
	return true;
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

	if (is_plain(collation, string, string_bytes))
	{
		*walked = (tg_collation_walked){.plain = string, .count = string_bytes};
		return PLAIN_ROOM * string_bytes + 2 * TG_COLLATE_LEVEL_MAX + tg_foretold_room(string_bytes);
	}
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

/* The bytes that follow a row of COMMON are known: above it, or below. */
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

/* --- the first level */

/* Writes a number; returns its byte, or 0 if it is written as several. */
static inline uint8_t
put_number(writer *out, const tg_collation *collation, const unsigned char *number, unsigned bytes)
{
	if (bytes > 1 && number[0] <= collation->lead_max)
	{
		bool whole;

		*out->to++ = code_of(collation, pack(number, bytes), &whole);
		if (whole)
			return out->to[-1];
	}
	memcpy(out->to, number, bytes);
	out->to += bytes;
	return bytes == 1 ? number[0] : 0;
}

/* A future letter is represented by its byte before the third level is written. */
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
put_by_position(writer *out, const tg_collation *collation, unsigned level, const element *of)
{
	const unsigned char *weight = of->weight;
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
	if (expected == 0 || (level == FOURTH && of->ascii > 0 ? collation->last[of->ascii] : pack_one(weight)) != expected)
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

	if (bytes == 1 && weight[1] == COMMON)
	{
		out->run++;
		return;
	}
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
		put_by_position(out, collation, level, of);
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

static inline void
next_level(element *elements, size_t count)
{
	for (size_t i = 0; i < count; i++)
		elements[i].weight += 1 + elements[i].weight[0];
}

/* The walk on a level that no element goes backward on. */
static void
put_forward(writer *out, const tg_collation *collation, unsigned level, element *elements, size_t count)
{
	/* nearly all strings take this path, so each kind of level has a loop of its own */
	if (collation->by_position[level])
		for (size_t i = 0; i < count; i++)
			put_by_position(out, collation, level, &elements[i]);
	else if (level == 0)
		for (size_t i = 0; i < count; i++)
			put_first(out, collation, &elements[i]);
	else
		for (size_t i = 0; i < count; i++)
			put_element(out, collation, level, &elements[i]);
	next_level(elements, count);
}

/* The walk on any level. */
static void
put_both_ways(writer *out, const tg_collation *collation, unsigned level, element *elements, size_t count)
{
	size_t from = 0; /* the place from which strcoll() counts */

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
	next_level(elements, count);
}

/*
 * The number of weights of the second level.  If a row that goes backward is followed by an element
 * that does not, the last but one is left out.
 */
static size_t
count_second(const tg_collation *collation, const unsigned char *string, size_t bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes; i++)
	{
		size_t start = i;

		while (i < bytes && collation->goes_back[string[i]])
			i++;
		count += i - start - (i - start > 1 && i < bytes) + (i < bytes);
	}
	return count;
}

/*
 * Writes the result of the walks for a string of plain letters: each has one number on the first
 * level, COMMON on the second.
 */
static unsigned char *
put_plain(const tg_collation *collation, const unsigned char *string, size_t bytes, unsigned char *to)
{
	size_t run = 0;

	for (size_t i = 0; i < bytes; i++)
		*to++ = collation->code[string[i]];
	*to++ = END;
	to = put_run(to, count_second(collation, string, bytes), false);
	*to++ = END;
	for (size_t i = 0; i < bytes; i++)
	{
		if (collation->third[string[i]] == COMMON)
		{
			run++;
			continue;
		}
		to = put_run(to, run, true);
		run = 0;
		*to++ = collation->third[string[i]];
	}
	to = put_run(to, run, false);
	*to++ = END;
	for (size_t row; bytes > 0; bytes -= row, string += row)
	{
		row = bytes < TG_FORETOLD_RUN_MAX ? bytes : TG_FORETOLD_RUN_MAX;
		for (uint32_t last = collation->last[*string]; last != 0; last <<= 8)
			*to++ = (unsigned char) (last >> 24);
		*to++ = tg_foretold_count(row, row < bytes);
	}
	*to++ = END;
	return to;
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

	if (walked->plain != NULL)
		return (size_t) (put_plain(collation, (const unsigned char *) walked->plain, walked->count, key) - key);
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
	const char *told = walked->plain != NULL ? walked->plain : walked->told;
	size_t told_count = walked->plain != NULL ? walked->count : walked->told_count;

	return (size_t) (tg_foretold_put(to, string, string_bytes, told, told_count) - to);
}
