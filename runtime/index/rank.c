/*
 * rank.c
 *	  Byte strings between two others.
 *
 * A rank consists of digits of 64 bits, big-endian.  The last is not 0, and none is the greatest
 * number, which is above all.  A rank is above its own beginnings.  A rank between two others has
 * their common beginning and a digit between the next two, or else the lower one and one more.
 *
 * The best place for a new rank in the gap between two others depends on where values will fall
 * next: below the new one, or above.  The dictionary remembers, for each gap, on which side of
 * each new value the next one came (turns).  Turns that repeat, with a period of up to PERIOD_MAX,
 * are assumed to go on so; then the new digit is STEP, or a small part of the gap, away from the
 * side where no value is expected.  So values that come in order, from any point on, or by turns at
 * several ends, take 8 or 16 bytes, and 8 more for about each 2^31 of them.  As long as the turns
 * are unknown, values are assumed to go on in one direction if the lower rank, or the upper one,
 * has no digit any more: the new digit is STEP from the other, or half of the way, if that is less.
 * Otherwise it is in the middle.  So values in random order take 8 or 16 bytes, too.  If all values
 * fall between the last two, on unpredictable sides, each takes one bit or two, and some 4,000 in a
 * row are too many (TG_TOO_LARGE).  No fixed numbering can do better (Dietz, Seiferas, Zhang: A
 * tight lower bound for online monotonic list labeling, 2004), and keys must not change.  Turns are
 * predicted as branches are (Yeh, Patt: Two-level adaptive training branch prediction, 1991); a
 * wrong prediction costs some bits, and ranks are between their neighbours in any case.
 */
#include "runtime/index/rank.h"

#include <string.h>

#define DIGIT_BYTES TG_RANK_DIGIT_BYTES
#define DIGITS_MAX (TG_RANK_BYTES_MAX / DIGIT_BYTES)
#define STEP (UINT64_C(1) << 32)
#define DIGIT_ABOVE_ALL UINT64_MAX
#define PERIOD_MAX 8
#define TURNS_SEEN 16 /* turns that have to repeat what was a period before */
#define TURNS_OLDEST (UINT64_C(1) << 62)

const unsigned char tg_rank_above_all[DIGIT_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255};

/* The i-th digit of a rank; false, if it has none. */
static bool
digit_at(const unsigned char *rank, size_t rank_bytes, unsigned i, uint64_t *digit_out)
{
	*digit_out = 0;
	if (i * DIGIT_BYTES >= rank_bytes)
		return false;
	memcpy(digit_out, rank + i * DIGIT_BYTES, DIGIT_BYTES);
	*digit_out = __builtin_bswap64(*digit_out);
	return true;
}

static void
put_digit(unsigned char *rank, unsigned i, uint64_t digit)
{
	digit = __builtin_bswap64(digit);
	memcpy(rank + i * DIGIT_BYTES, &digit, DIGIT_BYTES);
}

static uint64_t
step_of(uint64_t gap)
{
	return gap / 2 < STEP ? gap / 2 : STEP;
}

typedef enum guess
{
	GUESS_NOTHING,
	GUESS_BELOW,
	GUESS_ABOVE
} guess;

/* The side of the next value in a gap with these turns, relative to the last one. */
static guess
guess_next(uint64_t turns)
{
	for (unsigned period = 1; period <= PERIOD_MAX; period++)
	{
		if (turns >> (TURNS_SEEN + period) == 0)
			break;
		if (((turns ^ turns >> period) & ((1u << TURNS_SEEN) - 1)) == 0)
			return (turns >> (period - 1) & 1) != 0 ? GUESS_ABOVE : GUESS_BELOW;
	}
	return GUESS_NOTHING;
}

uint64_t
tg_rank_turns_add(uint64_t turns, bool is_above)
{
	uint64_t oldest = turns & TURNS_OLDEST;

	return ((turns << 1 | is_above) & ~TG_RANK_TURNS_NEVER) | oldest;
}

/*
 * Chooses a digit in a gap of more than 1.  A rank without a digit there is below, or above, all.
 */
static uint64_t
choose_digit(uint64_t low, uint64_t gap, bool has_low, bool has_high, guess next)
{
	if (next != GUESS_NOTHING)
	{
		uint64_t near = gap / 256 == 0 ? 1 : gap / 256 < STEP ? gap / 256 : STEP;

		return next == GUESS_ABOVE ? low + near : low + gap - near;
	}
	if (has_low)
		return low + (has_high ? gap / 2 : step_of(gap));
	return has_high ? low + gap - step_of(gap) : UINT64_C(1) << 63;
}

size_t
tg_rank_make(const unsigned char *low, size_t low_bytes, const unsigned char *high, size_t high_bytes, uint64_t turns,
			 unsigned char rank[TG_RANK_BYTES_MAX])
{
	guess next = guess_next(turns);

	for (unsigned i = 0; i < DIGITS_MAX; i++)
	{
		uint64_t from;
		uint64_t to;
		bool has_low = digit_at(low, low_bytes, i, &from);
		bool has_high = high != NULL && digit_at(high, high_bytes, i, &to);
		uint64_t gap = (has_high ? to : DIGIT_ABOVE_ALL) - from;

		if (gap <= 1)
		{
			/*
			 * no digit is between: the lower one; if the upper one is another, no upper bound is
			 * left
			 */
			put_digit(rank, i, from);
			if (gap == 1)
				high = NULL;
			continue;
		}
		put_digit(rank, i, choose_digit(from, gap, has_low, has_high, next));
		return (i + 1) * DIGIT_BYTES;
	}
	return 0;
}

bool
tg_rank_is_right(const unsigned char *rank, size_t rank_bytes)
{
	static const unsigned char zero[DIGIT_BYTES];

	return rank_bytes > 0 && rank_bytes <= TG_RANK_BYTES_MAX && rank_bytes % DIGIT_BYTES == 0 &&
		   memcmp(rank + rank_bytes - DIGIT_BYTES, zero, DIGIT_BYTES) != 0 &&
		   memcmp(rank, tg_rank_above_all, DIGIT_BYTES) != 0;
}
