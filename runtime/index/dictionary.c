/*
 * dictionary.c
 *	  Ranks of values whose order only the host knows.
 *
 * A skip list (Pugh, Skip lists: a probabilistic alternative to balanced trees, 1990) in the host's
 * order, without locks (Harris, A pragmatic implementation of non-blocking linked lists, 2001;
 * Herlihy, Shavit: The art of multiprocessor programming, 2008, 14.4).  Entries are removed from it
 * by one session at a time:
 *
 *	 level 1  head ----------------> b ---------------> nothing
 *	 level 0  head ------> a ------> b ------> c -----> nothing
 *	 rank     none         4         8         12
 *
 *	1. Entries are constant except for their pointers.  They stay as long as a session may stand on
 *	   them: it holds (rank_holders.h), or is inside an epoch.  So a session that searches for a
 *	   place may take its time, call the host between two steps, and never come back.
 *	2. Level 0 is the dictionary.  An entry is linked by one compare-and-swap, which expects the
 *	   successor that the search has found.  Success means that no entry has been linked in between
 *	   since, so that its rank, made from its two neighbours', is between theirs.  Failure frees the
 *	   entry, and the search begins again.  So ranks grow along the list, and a value is entered
 *	   once: of two sessions that add it, one finds the other's entry.
 *	3. Higher levels are short cuts, by rank alone.  Linking them later makes searches longer only.
 *	4. An entry is written before it is linked (release), and read through the link (acquire).
 *	5. An entry is removed in steps, each of which leaves all others in order.  It becomes GONE, by
 *	   a compare-and-swap of its use.  Its pointers are marked, from the highest level to the
 *	   lowest.  It is unlinked from all levels.  It is freed when no session can stand on it any
 *	   more.  Nothing is linked behind a marked pointer.  A session that meets a marked entry
 *	   unlinks it.  A session that wants an entry and finds it GONE marks it, and searches again: so
 *	   no session waits.  A GONE entry never comes back; the same value gets another entry and rank.
 *	   As long as the entry is linked on level 0, its rank is between its neighbours', and so are
 *	   the ranks of entries linked beside it.  When it is unlinked there, and its rank may be given
 *	   again, it is marked on all levels; and nothing is linked before a marked entry.  So of two
 *	   entries of one rank on a level the marked one comes first, and a search by rank unlinks it.
 *	6. Use is the round (of the table, modulo 3) in which the entry was last given out, or found in
 *	   a key; or GONE.  Before a session takes out a rank, or the ranks of the neighbours of a value
 *	   that is not there, it sets their use to its round, by a compare-and-swap.  So either it or
 *	   the session that removes the entry fails.  Entries of a past round are removed when all keys
 *	   have been looked at: rank_sweep.c.  A use is this round or the last one.  A session that
 *	   loaded the round before it changed may also meet the next one, which it leaves: for a round
 *	   lasts until that session has let go.
 *
 * A rank consists of digits of 64 bits, big-endian.  The last is not 0, and none is the greatest
 * number, which is above all.  A rank is above its own beginnings.  A rank between two others has
 * their common beginning and a digit between the next two, or else the lower one and one more.
 *
 * The best place for a new rank in the gap between two others depends on where values will fall
 * next: below the new one, or above.  Each entry records, for the gap behind it, on which side of
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
#include "runtime/index/dictionary.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/budget.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/index/rank_holders.h"

#define LEVELS 14 /* each has a quarter of the entries of the one below */
#define DIGIT_BYTES 8
#define DIGITS_MAX (TG_RANK_BYTES_MAX / DIGIT_BYTES)
#define STEP (UINT64_C(1) << 32)
#define DIGIT_ABOVE_ALL UINT64_MAX
#define PERIOD_MAX 8
#define TURNS_SEEN 16 /* turns that have to repeat what was a period before */
#define TURNS_OLDEST (UINT64_C(1) << 62)

#define ROUNDS 3
#define GONE ROUNDS

#define TAKEN (UINT64_C(1) << 63) /* no turns have this bit */
#define TAKE_COST 4				  /* of the collector's budget; looking at an entry costs 1 */

/* After the struct: pointers of the levels, the value, padded to 8 bytes, and the rank. */
typedef struct entry
{
	uint32_t value_bytes;
	uint16_t rank_bytes;
	uint8_t level_count;
	uint8_t use; /* 6; atomic */
	/* atomic; turns of the gap behind, the newest lowest, 1 = above, and a 1 before the oldest; */
	/* after unlinking: TAKEN, and the next one that waits to be freed */
	uint64_t turns;
	struct entry *next[]; /* atomic; marked: 5 */
} entry;

struct tg_dictionary
{
	tg_dictionary *next; /* of the same table; constant */
	tg_ranking way;
	tg_table *table; /* not a reference */
	entry *head;	 /* constant: of all levels, without value and rank */

	/* of the sweep, one session at a time */
	entry *at;	  /* all up to this one have been looked at; or the one last found by its rank */
	entry *taken; /* unlinked */
};

/* The place of a value: on each level the last entry before it, and the one after that. */
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
compare_with_rank(const entry *of, const unsigned char *rank, size_t rank_bytes)
{
	return tg_key_compare(rank_of(of), of->rank_bytes, rank, rank_bytes);
}

static inline bool
is_marked(const entry *pointer)
{
	return ((uintptr_t) pointer & 1) != 0;
}

static inline entry *
without_mark(const entry *pointer)
{
	return (entry *) ((uintptr_t) pointer & ~(uintptr_t) 1);
}

/* --- life ---------------------------------------------------------------------- */

/* A new entry with zeroed pointers, on the table's account. */
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
	made->level_count = (uint8_t) level_count;
	made->use = (uint8_t) tg_load_acquire(&table->rank_round);
	made->turns = 1;
	memset(made->next, 0, level_count * sizeof(entry *));
	if (value_bytes > 0)
		memcpy((unsigned char *) value_of(made), value, value_bytes);
	if (rank_bytes > 0)
		memcpy((unsigned char *) rank_of(made), rank, rank_bytes);
	tg_table_count(table, &table->dictionary_bytes, (int64_t) tg_alloc_bytes(made));
	tg_fetch_add_relaxed(&table->rank_count, 1);
	return made;
}

static void
free_entry(tg_session *session, tg_table *table, entry *gone)
{
	tg_table_count(table, &table->dictionary_bytes, -(int64_t) tg_alloc_bytes(gone));
	tg_fetch_add_relaxed(&table->rank_count, -1);
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

/* Takes the first of the entries that wait to be freed. */
static entry *
pop_taken(tg_dictionary *dictionary)
{
	entry *gone = dictionary->taken;

	dictionary->taken = (entry *) (uintptr_t) (tg_load_relaxed(&gone->turns) & ~TAKEN);
	return gone;
}

/* The table goes, and no session uses it. */
static void
destroy_all(tg_session *session, tg_table *table)
{
	while (table->dictionaries != NULL)
	{
		tg_dictionary *dictionary = table->dictionaries;

		table->dictionaries = dictionary->next;
		while (dictionary->taken != NULL)
			tg_free(session, pop_taken(dictionary), TG_USE_INDEX);
		while (dictionary->head != NULL)
		{
			entry *gone = dictionary->head;

			dictionary->head = gone->next[0];
			tg_free(session, gone, TG_USE_INDEX);
		}
		tg_free(session, dictionary, TG_USE_INDEX);
	}
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
	tg_table_count(table, &table->dictionary_bytes, (int64_t) tg_alloc_bytes(made));
	tg_latch_acquire(&table->latch);
	*dictionary_out = tg_dictionary_find(table, way);
	if (*dictionary_out == NULL)
	{
		made->next = table->dictionaries;
		table->dictionaries_destroy = destroy_all;
		/* Pairs with the acquire in tg_dictionary_find. */
		tg_store_release(&table->dictionaries, made);
		*dictionary_out = made;
	}
	tg_latch_release(&table->latch);
	if (*dictionary_out != made)
	{
		free_entry(session, table, head);
		tg_table_count(table, &table->dictionary_bytes, -(int64_t) tg_alloc_bytes(made));
		tg_free(session, made, TG_USE_INDEX);
	}
	return TG_OK;
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

static uint64_t
add_turn(uint64_t turns, bool is_above)
{
	uint64_t oldest = turns & TURNS_OLDEST;

	return ((turns << 1 | is_above) & ~TAKEN) | oldest;
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

/* Makes a rank between those of two entries (after NULL: none); returns its length, 0: too long. */
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
			/*
			 * no digit is between: the lower one; if the upper one is another, no upper bound is
			 * left
			 */
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

/*
 * The entry behind this one on a level; unlinks marked ones: 5.  False: this one is marked itself.
 */
static inline bool
step(entry *before, unsigned level, entry **after_out)
{
	entry *after = tg_load_acquire(&before->next[level]);

	for (;;)
	{
		entry *beyond;

		if (tg_unlikely(is_marked(after)))
			return false;
		*after_out = after;
		if (after == NULL)
			return true;
		beyond = tg_load_acquire(&after->next[level]);
		if (tg_likely(!is_marked(beyond)))
			return true;
		if (tg_cas_acq_rel(&before->next[level], &after, without_mark(beyond)))
			after = without_mark(beyond);
	}
}

/* Finds the value's place, and the entry that has it, or NULL.  False: try again. */
static bool
try_search(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument, place *found, entry **has_out)
{
	entry *before = dictionary->head;
	entry *not_below = NULL; /* was compared on the level above */

	*has_out = NULL;
	for (int level = LEVELS - 1; level >= 0; level--)
	{
		for (;;)
		{
			entry *after;
			int order;

			if (!step(before, (unsigned) level, &after))
				return false;
			found->before[level] = before;
			found->after[level] = after;
			if (after == NULL || after == not_below)
				break;
			order = compare(argument, value_of(after), after->value_bytes);
			if (order == 0)
			{
				*has_out = after;
				return true;
			}
			if (order < 0)
			{
				not_below = after;
				break;
			}
			before = after;
		}
	}
	return true;
}

static entry *
search(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument, place *found)
{
	entry *has;

	while (!try_search(dictionary, compare, argument, found, &has))
		;
	return has;
}

/* Likewise, by rank. */
static bool
try_search_rank(const tg_dictionary *dictionary, const unsigned char *rank, size_t rank_bytes, place *found)
{
	entry *before = dictionary->head;

	for (int level = LEVELS - 1; level >= 0; level--)
	{
		entry *after;

		for (;;)
		{
			if (!step(before, (unsigned) level, &after))
				return false;
			if (after == NULL || compare_with_rank(after, rank, rank_bytes) >= 0)
				break;
			before = after;
		}
		found->before[level] = before;
		found->after[level] = after;
	}
	return true;
}

static entry *
search_rank(const tg_dictionary *dictionary, const unsigned char *rank, size_t rank_bytes, place *found)
{
	entry *after;

	while (!try_search_rank(dictionary, rank, rank_bytes, found))
		;
	after = found->after[0];
	return after != NULL && compare_with_rank(after, rank, rank_bytes) == 0 ? after : NULL;
}

/* --- use --------------------------------------------------------------------------- */

/* Notes that its rank is taken out: 6.  False: it is GONE. */
static bool
use_entry(const tg_dictionary *dictionary, entry *of)
{
	uint8_t round = (uint8_t) tg_load_acquire(&dictionary->table->rank_round);
	uint8_t use = tg_load_acquire(&of->use);

	if (of == dictionary->head)
		return true;
	while (use != round && use != (round + 1) % ROUNDS)
	{
		if (use == GONE)
			return false;
		if (tg_cas_acq_rel(&of->use, &use, round))
			break;
	}
	return true;
}

/* Marks a GONE entry: nothing is linked behind it from now on. */
static void
mark_entry(entry *gone)
{
	for (int level = gone->level_count - 1; level >= 0; level--)
	{
		entry *next = tg_load_relaxed(&gone->next[level]);

		while (!is_marked(next) &&
			   !tg_cas_acq_rel(&gone->next[level], &next, (entry *) ((uintptr_t) next | (uintptr_t) 1)))
			;
	}
}

/* Likewise, but marks a GONE entry, so that the next search unlinks it. */
static bool
use_or_mark(const tg_dictionary *dictionary, entry *of)
{
	if (tg_likely(use_entry(dictionary, of)))
		return true;
	mark_entry(of);
	return false;
}

static inline void
touch(void)
{
	if (tg_rank_touch != NULL)
		tg_rank_touch();
}

bool
tg_dictionary_look(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument, tg_ranked *ranked_out,
				   tg_ranked *above_out)
{
	*ranked_out = (tg_ranked){.value = "", .rank = ""};
	if (above_out != NULL)
		*above_out = (tg_ranked){.value = "", .rank = rank_above_all, .rank_bytes = DIGIT_BYTES};
	if (dictionary == NULL)
		return false;
	touch();
	for (;;)
	{
		place found;
		entry *has = search(dictionary, compare, argument, &found);

		if (!use_or_mark(dictionary, has != NULL ? has : found.before[0]))
			continue;
		if (has == NULL && above_out != NULL && found.after[0] != NULL)
		{
			if (!use_or_mark(dictionary, found.after[0]))
				continue;
			describe(found.after[0], above_out);
		}
		describe(has != NULL ? has : found.before[0], ranked_out);
		return has != NULL;
	}
}

/* --- adding ------------------------------------------------------------------------- */

/* 1 + n with probability 1/4^n; an address seeds the numbers. */
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
link_short_cuts(const tg_dictionary *dictionary, entry *added, place *found)
{
	for (unsigned level = 1; level < added->level_count; level++)
	{
		for (;;)
		{
			entry *before = found->before[level];
			entry *after = NULL;
			bool stays;

			while ((stays = step(before, level, &after)) && after != NULL &&
				   compare_with_rank(after, rank_of(added), added->rank_bytes) < 0)
				before = after;
			if (!stays)
			{
				(void) search_rank(dictionary, rank_of(added), added->rank_bytes, found);
				continue;
			}
			found->before[level] = before;
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
	touch();
	for (;;)
	{
		unsigned char rank[TG_RANK_BYTES_MAX];
		place found;
		entry *added = search(dictionary, compare, argument, &found);
		uint64_t turns;
		size_t rank_bytes;
		tg_status status;

		if (added != NULL)
		{
			if (!use_or_mark(dictionary, added))
				continue;
			describe(added, ranked_out);
			return TG_OK;
		}
		turns = tg_load_relaxed(&found.before[0]->turns);
		if ((turns & TAKEN) != 0)
			continue;
		rank_bytes = make_rank(found.before[0], found.after[0], guess_next(turns), rank);
		if (rank_bytes == 0)
			return TG_TOO_LARGE;
		status = tg_book_ask(dictionary->table->book, value_bytes + rank_bytes, TG_DATA);
		if (status != TG_OK)
			return status;
		added = allocate_entry(session, dictionary->table, choose_level_count(dictionary), value, value_bytes, rank,
							   rank_bytes);
		if (added == NULL)
			return TG_NO_MEMORY;
		tg_store_relaxed(&added->next[0], found.after[0]);
		added->turns = add_turn(turns, true);
		/* Pairs with the acquires in step: the entry's contents are written before it is found. */
		if (tg_cas_acq_rel(&found.before[0]->next[0], &found.after[0], added))
		{
			/* if unlinked meanwhile, it must keep TAKEN; in a linked entry the word is turns */
			(void) tg_cas_acq_rel(&found.before[0]->turns, &turns, add_turn(turns, false));
			link_short_cuts(dictionary, added, &found);
			describe(added, ranked_out);
			if (tg_unlikely(tg_dictionaries_have_grown(dictionary->table)))
				tg_rank_sweep_want();
			return TG_OK;
		}
		free_entry(session, dictionary->table, added);
	}
}

/* --- the sweep ------------------------------------------------------------------------ */

tg_dictionary *
tg_dictionary_next(const tg_table *table, const tg_dictionary *dictionary)
{
	return dictionary == NULL ? tg_load_acquire(&table->dictionaries) : dictionary->next;
}

bool
tg_dictionary_use_rank(tg_dictionary *dictionary, const void *rank, size_t rank_bytes, tg_ranked *ranked_out)
{
	entry *has = dictionary->at;
	place found;

	/* keys often come in the order of their ranks; only the sweep removes entries */
	for (unsigned i = 0; i < 2 && has != NULL && has != dictionary->head; i++)
	{
		if (compare_with_rank(has, rank, rank_bytes) == 0)
			break;
		has = i == 0 ? tg_load_acquire(&has->next[0]) : NULL;
	}
	if (has == NULL || has == dictionary->head)
		has = search_rank(dictionary, rank, rank_bytes, &found);
	if (has == NULL)
		return false;
	dictionary->at = has;
	describe(has, ranked_out);
	return use_entry(dictionary, has);
}

void
tg_dictionaries_begin_round(tg_table *table)
{
	for (tg_dictionary *dictionary = tg_dictionary_next(table, NULL); dictionary != NULL; dictionary = dictionary->next)
		dictionary->at = dictionary->head;
	tg_store_seq_cst(&table->rank_round, (tg_load_relaxed(&table->rank_round) + 1) % ROUNDS);
}

void
tg_dictionary_rewind(tg_dictionary *dictionary)
{
	dictionary->at = dictionary->head;
}

bool
tg_dictionary_take(tg_dictionary *dictionary, unsigned *budget)
{
	uint8_t round = (uint8_t) tg_load_relaxed(&dictionary->table->rank_round);

	while (*budget > 0)
	{
		entry *next = tg_load_acquire(&dictionary->at->next[0]);
		uint8_t use;
		place found;

		tg_assert(!is_marked(next));
		tg_spend(budget, 1);
		if (next == NULL)
			return true;
		tg_assert(dictionary->at == dictionary->head ||
				  compare_with_rank(dictionary->at, rank_of(next), next->rank_bytes) < 0);
		use = tg_load_relaxed(&next->use);
		if (use == round || !tg_cas_acq_rel(&next->use, &use, GONE))
		{
			dictionary->at = next;
			continue;
		}
		tg_failpoint("rank_gone");
		mark_entry(next);
		tg_failpoint("rank_marked");
		(void) search_rank(dictionary, rank_of(next), next->rank_bytes, &found);
		tg_store_relaxed(&next->turns, TAKEN | (uintptr_t) dictionary->taken);
		dictionary->taken = next;
		tg_spend(budget, TAKE_COST);
	}
	return false;
}

bool
tg_dictionary_free_taken(tg_session *session, tg_dictionary *dictionary, unsigned *budget, uint64_t *freed_inout)
{
	while (*budget > 0 && dictionary->taken != NULL)
	{
		free_entry(session, dictionary->table, pop_taken(dictionary));
		(*freed_inout)++;
		tg_spend(budget, 1);
	}
	return dictionary->taken == NULL;
}

/* --- checking -------------------------------------------------------------------------- */

bool
tg_dictionary_check(const tg_dictionary *dictionary, tg_value_order order)
{
	for (unsigned level = 0; level < LEVELS; level++)
	{
		const entry *below = dictionary->head; /* on level 0 */

		for (const entry *at = dictionary->head->next[level], *before = NULL; at != NULL; at = at->next[level])
		{
			tg_ranked ranked[2];

			while (below != at && below != NULL)
				below = below->next[0];
			if (below == NULL || is_marked(at->next[level]) || at->use == GONE || at->level_count <= level)
				return false;
			describe(at, &ranked[1]);
			if (before != NULL)
			{
				describe(before, &ranked[0]);
				if (compare_with_rank(before, ranked[1].rank, ranked[1].rank_bytes) >= 0 ||
					(order != NULL && order(&ranked[0], &ranked[1]) >= 0))
					return false;
			}
			before = at;
		}
	}
	return true;
}
