/*
 * dictionary.c
 *	  Ranks of values whose order only the host knows.
 *
 * A skip list (Pugh, Skip lists: a probabilistic alternative to balanced trees, 1990) in the host's order, which
 * only grows (so that neither marks nor epochs are needed; compare Harris, A pragmatic
 * implementation of non-blocking linked lists, 2001):
 *
 *	 level 1  head ----------------> b ---------------> nothing
 *	 level 0  head ------> a ------> b ------> c -----> nothing
 *	 rank     none         4         8         12
 *
 *	1. Entries are constant but for their pointers, and stay until the table goes.  So who looks for a place may take
 *	   his time, call the host between two steps, and never come back.
 *	2. Level 0 is the dictionary.  An entry comes in by one compare-and-swap, from the successor that its place was found
 *	   before.  Success says that nobody has come in between since, so that its rank,
 *	   made of its two neighbours', is between theirs; failure frees the entry, and the search begins again.
 *	   So ranks grow along the list, and a value comes in once: of two who add it, one finds the other's.
 *	3. Higher levels are short cuts, by rank alone.  They are linked afterwards; until then searches take longer.
 *	4. What an entry says is written before it is linked (release), and read through the link (acquire).
 *
 * Ranks are digits of 64 bits, big-endian, the last of which is not 0, and none the greatest number, which is above all; a rank that is the beginning of
 * another is below it.  Between two ranks: behind what they have in common a digit between the two that follow, or,
 * if there is none, the lower one's digit and one more.
 *
 * Where in the gap between two ranks the new one is best depends on where values will fall next: below the new one, or above.  Each
 * entry knows, of the gap behind it, on which sides of what came into it things went on so far (turns).  Where that repeats itself, with
 * a period of up to PERIOD_MAX, it is taken to go on so, and the new digit is STEP, or a small part of the gap, away from the side that
 * nobody is expected at.  So values that come in order, from any point on, or by turns at several ends, take 8 or 16 bytes, and 8 more
 * for each 2^31 of them or so.  As long as nothing is known, values go on in one direction where the lower rank, or the upper one, has no
 * digit any more: the new digit is STEP from the other, or half of the way, if that is less.  Else it is in the middle.  So
 * values in random order take 8 or 16 bytes, too.  Of values that all fall between the last two, but on sides that nobody can foresee, each
 * takes one bit or two, and some 4,000 in a row are too many (TG_TOO_LARGE): no fixed numbering can do better (Dietz, Seiferas,
 * Zhang: A tight lower bound for online monotonic list labeling, 2004), and keys must not change.  Turns are foreseen as
 * branches are (Yeh, Patt: Two-level adaptive training branch prediction, 1991).  Who is wrong loses some bits; ranks are between their
 * neighbours in any case.
 *
 * Left out: giving memory back before the table goes.
 */
#include "runtime/storage/dictionary.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/check.h"

#define LEVELS 14 /* each has a quarter of the entries of the one below */
#define DIGIT_BYTES 8
#define DIGITS_MAX (TG_RANK_BYTES_MAX / DIGIT_BYTES)
#define STEP (UINT64_C(1) << 32)
#define DIGIT_ABOVE_ALL UINT64_MAX
#define PERIOD_MAX 8
#define TURNS_SEEN 16 /* have to repeat what was a period before */

/* After the struct: pointers of the levels, the value, padded to 8 bytes, and the rank. */
typedef struct entry
{
	uint32_t value_bytes;
	uint16_t rank_bytes;
	uint16_t level_count;
	uint64_t
		turns; /* of the gap behind: its newest turns from the lowest bit on, 1 = above, and a 1 before the oldest.  A hint; atomic */
	struct entry *next[]; /* atomic */
} entry;

struct tg_dictionary
{
	tg_dictionary *next; /* of the same table; constant */
	tg_ranking way;
	tg_table *table; /* not a reference */
	entry *head;	 /* constant: of all levels, without value and rank */
};

/* Where a value belongs: on each level the last entry before it, and the one after that. */
typedef struct place
{
	entry *before[LEVELS];
	entry *after[LEVELS];
} place;

static const unsigned char rank_above_all[DIGIT_BYTES] = {255, 255, 255, 255, 255, 255, 255, 255};

_Static_assert(sizeof(entry) % 8 == 0, "values are aligned");

static bool
is_same(const tg_ranking *a, const tg_ranking *b)
{
	return a->compare == b->compare && a->collation == b->collation && a->type == b->type;
}

static const unsigned char *
value_of(const entry *of)
{
	return (const unsigned char *) (of->next + of->level_count);
}

static const unsigned char *
rank_of(const entry *of)
{
	return value_of(of) + (((size_t) of->value_bytes + 7) & ~(size_t) 7);
}

static void
describe(const entry *of, tg_ranked *ranked_out)
{
	*ranked_out = (tg_ranked){
		.value = value_of(of), .rank = rank_of(of), .value_bytes = of->value_bytes, .rank_bytes = of->rank_bytes};
}

static int
compare_ranks(const entry *a, const entry *b)
{
	unsigned common = a->rank_bytes < b->rank_bytes ? a->rank_bytes : b->rank_bytes;
	int order = memcmp(rank_of(a), rank_of(b), common);

	return order != 0 ? order : (int) a->rank_bytes - (int) b->rank_bytes;
}

/* --- life ---------------------------------------------------------------------- */

/* Zeroed pointers; on the table's account. */
static entry *
allocate_entry(tg_session *session, tg_table *table, unsigned level_count, const void *value, size_t value_bytes,
			   const void *rank, size_t rank_bytes)
{
	size_t padded = (value_bytes + 7) & ~(size_t) 7;
	entry *made;

	if (value_bytes > UINT32_MAX - 7)
		return NULL;
	made =
		tg_alloc(session, sizeof(entry) + level_count * sizeof(entry *) + padded + rank_bytes, TG_USE_INDEX, TG_DATA);
	if (made == NULL)
		return NULL;
	made->value_bytes = (uint32_t) value_bytes;
	made->rank_bytes = (uint16_t) rank_bytes;
	made->level_count = (uint16_t) level_count;
	made->turns = 1;
	memset(made->next, 0, level_count * sizeof(entry *));
	if (value_bytes > 0)
		memcpy((unsigned char *) value_of(made), value, value_bytes);
	if (rank_bytes > 0)
		memcpy((unsigned char *) rank_of(made), rank, rank_bytes);
	tg_fetch_add_relaxed(&table->dictionary_bytes, (int64_t) tg_alloc_bytes(made));
	return made;
}

static void
free_entry(tg_session *session, tg_table *table, entry *gone)
{
	tg_fetch_add_relaxed(&table->dictionary_bytes, -(int64_t) tg_alloc_bytes(gone));
	tg_free(session, gone, TG_USE_INDEX);
}

tg_dictionary *
tg_dictionary_find(const tg_table *table, tg_ranking way)
{
	tg_dictionary *dictionary = tg_load_acquire(&table->dictionaries);

	while (dictionary != NULL && !is_same(&dictionary->way, &way))
		dictionary = dictionary->next;
	return dictionary;
}

tg_status
tg_dictionary_get(tg_session *session, tg_table *table, tg_ranking way, tg_dictionary **dictionary_out)
{
	tg_dictionary *made = NULL;
	entry *head = NULL;

	*dictionary_out = tg_dictionary_find(table, way);
	if (*dictionary_out != NULL)
		return TG_OK;
	made = tg_alloc(session, sizeof(*made), TG_USE_INDEX, TG_DATA);
	if (made != NULL)
		head = allocate_entry(session, table, LEVELS, NULL, 0, NULL, 0);
	if (head == NULL)
	{
		if (made != NULL)
			tg_free(session, made, TG_USE_INDEX);
		return TG_NO_MEMORY;
	}
	*made = (tg_dictionary){.way = way, .table = table, .head = head};
	tg_fetch_add_relaxed(&table->dictionary_bytes, (int64_t) tg_alloc_bytes(made));
	tg_latch_acquire(&table->latch);
	*dictionary_out = tg_dictionary_find(table, way);
	if (*dictionary_out == NULL)
	{
		made->next = table->dictionaries;
		/* Pairs with the acquire in tg_dictionary_find. */
		tg_store_release(&table->dictionaries, made);
		*dictionary_out = made;
	}
	tg_latch_release(&table->latch);
	if (*dictionary_out != made)
	{
		free_entry(session, table, head);
		tg_fetch_add_relaxed(&table->dictionary_bytes, -(int64_t) tg_alloc_bytes(made));
		tg_free(session, made, TG_USE_INDEX);
	}
	return TG_OK;
}

void
tg_dictionaries_destroy(tg_session *session, tg_table *table)
{
	while (table->dictionaries != NULL)
	{
		tg_dictionary *dictionary = table->dictionaries;

		table->dictionaries = dictionary->next;
		while (dictionary->head != NULL)
		{
			entry *gone = dictionary->head;

			dictionary->head = gone->next[0];
			tg_free(session, gone, TG_USE_INDEX);
		}
		tg_free(session, dictionary, TG_USE_INDEX);
	}
}

/* --- ranks ---------------------------------------------------------------------- */

/* The i-th digit of a rank; false, if it has none. */
static bool
digit_at(const entry *of, unsigned i, uint64_t *digit_out)
{
	*digit_out = 0;
	if (i * DIGIT_BYTES >= of->rank_bytes)
		return false;
	memcpy(digit_out, rank_of(of) + i * DIGIT_BYTES, DIGIT_BYTES);
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

/* Which side of what comes into a gap with these turns the next one will be on. */
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

static uint64_t
add_turn(uint64_t turns, bool is_above)
{
	uint64_t oldest = turns & UINT64_C(1) << 63;

	return (turns << 1 | is_above) | oldest;
}

/* A digit in a gap of more than 1.  What has no digit there is below, or above, all. */
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

/* A rank between those of two entries, after NULL being beyond all.  Its length, or 0: it would be too long. */
static size_t
make_rank(const entry *before, const entry *after, guess next, unsigned char rank[TG_RANK_BYTES_MAX])
{
	for (unsigned i = 0; i < DIGITS_MAX; i++)
	{
		uint64_t low;
		uint64_t high;
		bool has_low = digit_at(before, i, &low);
		bool has_high = after != NULL && digit_at(after, i, &high);
		uint64_t gap = (has_high ? high : DIGIT_ABOVE_ALL) - low;

		if (gap <= 1)
		{
			/* no digit between: the lower one, below which all is as before, or, if the upper one is another, free above */
			put_digit(rank, i, low);
			if (gap == 1)
				after = NULL;
			continue;
		}
		put_digit(rank, i, choose_digit(low, gap, has_low, has_high, next));
		return (i + 1) * DIGIT_BYTES;
	}
	return 0;
}

/* --- searching -------------------------------------------------------------------- */

/* Finds the value's place.  The entry that has it, or NULL. */
static entry *
search(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument, place *found)
{
	entry *before = dictionary->head;
	entry *not_below = NULL; /* has been compared on the level above */

	for (int level = LEVELS - 1; level >= 0; level--)
	{
		for (;;)
		{
			entry *after = tg_load_acquire(&before->next[level]);
			int order;

			found->before[level] = before;
			found->after[level] = after;
			if (after == NULL || after == not_below)
				break;
			order = compare(argument, value_of(after), after->value_bytes);
			if (order == 0)
				return after;
			if (order < 0)
			{
				not_below = after;
				break;
			}
			before = after;
		}
	}
	return NULL;
}

bool
tg_dictionary_look(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument, tg_ranked *ranked_out,
				   tg_ranked *above_out)
{
	place found;
	const entry *has = NULL;

	*ranked_out = (tg_ranked){.value = "", .rank = ""};
	if (above_out != NULL)
		*above_out = (tg_ranked){.value = "", .rank = rank_above_all, .rank_bytes = DIGIT_BYTES};
	if (dictionary == NULL)
		return false;
	has = search(dictionary, compare, argument, &found);
	describe(has != NULL ? has : found.before[0], ranked_out);
	if (has == NULL && above_out != NULL && found.after[0] != NULL)
		describe(found.after[0], above_out);
	return has != NULL;
}

/* --- adding ------------------------------------------------------------------------- */

/* 1 + n with probability 1/4^n, by the address of something new: a number as good as any. */
static unsigned
choose_level_count(const tg_dictionary *dictionary)
{
	static _Thread_local uint64_t state;
	unsigned count = 1;

	state ^= (uintptr_t) dictionary | 1;
	state ^= state << 13; /* Marsaglia, Xorshift RNGs, 2003 */
	state ^= state >> 7;
	state ^= state << 17;
	for (uint64_t bits = state; count < LEVELS && (bits & 3) == 0; bits >>= 2)
		count++;
	return count;
}

static void
link_short_cuts(entry *added, place *found)
{
	for (unsigned level = 1; level < added->level_count; level++)
	{
		entry *before = found->before[level];

		for (;;)
		{
			entry *after = tg_load_acquire(&before->next[level]);

			if (after != NULL && compare_ranks(after, added) < 0)
			{
				before = after;
				continue;
			}
			tg_store_relaxed(&added->next[level], after);
			if (tg_cas_acq_rel(&before->next[level], &after, added))
				break;
		}
	}
}

tg_status
tg_dictionary_add(tg_session *session, tg_dictionary *dictionary, tg_ranked_compare compare, void *argument,
				  const void *value, size_t value_bytes, tg_ranked *ranked_out)
{
	for (;;)
	{
		unsigned char rank[TG_RANK_BYTES_MAX];
		place found;
		entry *added = search(dictionary, compare, argument, &found);
		uint64_t turns;
		size_t rank_bytes;

		if (added != NULL)
		{
			describe(added, ranked_out);
			return TG_OK;
		}
		turns = tg_load_relaxed(&found.before[0]->turns);
		rank_bytes = make_rank(found.before[0], found.after[0], guess_next(turns), rank);
		if (rank_bytes == 0)
			return TG_TOO_LARGE;
		added = allocate_entry(session, dictionary->table, choose_level_count(dictionary), value, value_bytes, rank,
							   rank_bytes);
		if (added == NULL)
			return TG_NO_MEMORY;
		tg_store_relaxed(&added->next[0], found.after[0]);
		added->turns = add_turn(turns, true);
		/* Pairs with the acquires in search: what is in the entry is there before it is found. */
		if (tg_cas_acq_rel(&found.before[0]->next[0], &found.after[0], added))
		{
			tg_store_relaxed(&found.before[0]->turns, add_turn(turns, false));
			link_short_cuts(added, &found);
			describe(added, ranked_out);
			return TG_OK;
		}
		free_entry(session, dictionary->table, added);
	}
}
