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
 *	   since, so that its rank, made from its two neighbours' (rank.c), is between theirs.  Failure
 *	   frees the entry, and the search begins again.  So ranks grow along the list, and a value is
 *	   entered once: of two sessions that add it, one finds the other's entry.
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
 */
#include "runtime/index/dictionary.h"

#include <string.h>

#include "runtime/base/atomic.h"
#include "runtime/base/budget.h"
#include "runtime/base/check.h"
#include "runtime/base/failpoint.h"
#include "runtime/base/latch.h"
#include "runtime/mem/alloc.h"
#include "runtime/mem/arena.h"
#include "runtime/mem/grant.h"
#include "runtime/table/table.h"
#include "runtime/index/dictionary_internal.h"
#include "runtime/index/rank_holders.h"

#define ROUNDS TG_RANK_ENTRY_GONE

#define TAKEN TG_RANK_TURNS_NEVER
#define TAKE_COST 4 /* of the collector's budget; looking at an entry costs 1 */

static bool
is_same(const tg_ranking *a, const tg_ranking *b)
{
	return a->compare == b->compare && a->collation == b->collation && a->type == b->type;
}

/* --- life ---------------------------------------------------------------------- */

tg_rank_entry *
tg_rank_entry_make(tg_session *session, tg_table *table, unsigned level_count, const void *value, size_t value_bytes,
				   const void *rank, size_t rank_bytes, tg_claim claim)
{
	size_t padded = (value_bytes + 7) & ~(size_t) 7;
	tg_rank_entry *made;

	if (value_bytes > UINT32_MAX - 7)
		return NULL;
	made = tg_alloc(session, sizeof(tg_rank_entry) + level_count * sizeof(tg_rank_entry *) + padded + rank_bytes,
					TG_USE_INDEX, claim);
	if (made == NULL)
		return NULL;
	made->value_bytes = (uint32_t) value_bytes;
	made->rank_digits = (uint8_t) (rank_bytes / TG_RANK_DIGIT_BYTES);
	made->level_count = (uint8_t) level_count;
	made->use = (uint8_t) tg_load_acquire(&table->rank_round);
	made->logged = 0;
	made->turns = TG_RANK_NO_TURNS;
	memset(made->next, 0, level_count * sizeof(tg_rank_entry *));
	if (value_bytes > 0)
		memcpy((unsigned char *) tg_rank_entry_value(made), value, value_bytes);
	if (rank_bytes > 0)
		memcpy((unsigned char *) tg_rank_entry_rank(made), rank, rank_bytes);
	tg_table_count(table, &table->dictionary_bytes, (int64_t) tg_alloc_bytes(made));
	tg_fetch_add_relaxed(&table->rank_count, 1);
	return made;
}

void
tg_rank_entry_free(tg_session *session, tg_table *table, tg_rank_entry *gone)
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
static tg_rank_entry *
pop_taken(tg_dictionary *dictionary)
{
	tg_rank_entry *gone = dictionary->taken;

	dictionary->taken = (tg_rank_entry *) (uintptr_t) (tg_load_relaxed(&gone->turns) & ~TAKEN);
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
			tg_rank_entry *gone = dictionary->head;

			dictionary->head = gone->next[0];
			tg_free(session, gone, TG_USE_INDEX);
		}
		tg_free(session, dictionary, TG_USE_INDEX);
	}
}

tg_status
tg_dictionary_find_or_make(tg_session *session, tg_table *table, tg_ranking way, tg_claim claim,
						   tg_dictionary **dictionary_out)
{
	tg_dictionary *made = NULL;
	tg_rank_entry *head = NULL;

	*dictionary_out = tg_dictionary_find(table, way);
	if (*dictionary_out != NULL)
		return TG_OK;
	made = tg_alloc(session, sizeof(*made), TG_USE_INDEX, claim);
	if (made != NULL)
		head = tg_rank_entry_make(session, table, TG_DICTIONARY_LEVELS, NULL, 0, NULL, 0, claim);
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
		tg_rank_entry_free(session, table, head);
		tg_table_count(table, &table->dictionary_bytes, -(int64_t) tg_alloc_bytes(made));
		tg_free(session, made, TG_USE_INDEX);
	}
	return TG_OK;
}

tg_status
tg_dictionary_get(tg_session *session, tg_table *table, tg_ranking way, tg_dictionary **dictionary_out)
{
	return tg_dictionary_find_or_make(session, table, way, TG_DATA, dictionary_out);
}

/* An address seeds the numbers. */
unsigned
tg_rank_entry_choose_levels(const tg_dictionary *dictionary)
{
	static _Thread_local uint64_t state;
	unsigned count = 1;

	state ^= (uintptr_t) dictionary | 1;
	state ^= state << 13; /* Marsaglia, Xorshift RNGs, 2003 */
	state ^= state >> 7;
	state ^= state << 17;
	for (uint64_t bits = state; count < TG_DICTIONARY_LEVELS && (bits & 3) == 0; bits >>= 2)
		count++;
	return count;
}

/* --- searching -------------------------------------------------------------------- */

/*
 * The entry behind this one on a level; unlinks marked ones: 5.  False: this one is marked itself.
 */
static inline bool
step(tg_rank_entry *before, unsigned level, tg_rank_entry **after_out)
{
	tg_rank_entry *after = tg_load_acquire(&before->next[level]);

	for (;;)
	{
		tg_rank_entry *beyond;

		if (tg_unlikely(tg_rank_entry_is_marked(after)))
			return false;
		*after_out = after;
		if (after == NULL)
			return true;
		beyond = tg_load_acquire(&after->next[level]);
		if (tg_likely(!tg_rank_entry_is_marked(beyond)))
			return true;
		if (tg_cas_acq_rel(&before->next[level], &after, tg_rank_entry_without_mark(beyond)))
			after = tg_rank_entry_without_mark(beyond);
	}
}

/* Finds the value's place, and the entry that has it, or NULL.  False: try again. */
static bool
try_search(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument, tg_dictionary_place *found,
		   tg_rank_entry **has_out)
{
	tg_rank_entry *before = dictionary->head;
	tg_rank_entry *not_below = NULL; /* was compared on the level above */

	*has_out = NULL;
	for (int level = TG_DICTIONARY_LEVELS - 1; level >= 0; level--)
	{
		for (;;)
		{
			tg_rank_entry *after;
			int order;

			if (!step(before, (unsigned) level, &after))
				return false;
			found->before[level] = before;
			found->after[level] = after;
			if (after == NULL || after == not_below)
				break;
			order = compare(argument, tg_rank_entry_value(after), after->value_bytes);
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

static tg_rank_entry *
search(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument, tg_dictionary_place *found)
{
	tg_rank_entry *has;

	while (!try_search(dictionary, compare, argument, found, &has))
		;
	return has;
}

/* Likewise, by rank. */
static bool
try_search_rank(const tg_dictionary *dictionary, const unsigned char *rank, size_t rank_bytes,
				tg_dictionary_place *found)
{
	tg_rank_entry *before = dictionary->head;

	for (int level = TG_DICTIONARY_LEVELS - 1; level >= 0; level--)
	{
		tg_rank_entry *after;

		for (;;)
		{
			if (!step(before, (unsigned) level, &after))
				return false;
			if (after == NULL || tg_rank_entry_compare_rank(after, rank, rank_bytes) >= 0)
				break;
			before = after;
		}
		found->before[level] = before;
		found->after[level] = after;
	}
	return true;
}

tg_rank_entry *
tg_dictionary_search_rank(const tg_dictionary *dictionary, const unsigned char *rank, size_t rank_bytes,
						  tg_dictionary_place *found)
{
	tg_rank_entry *after;

	while (!try_search_rank(dictionary, rank, rank_bytes, found))
		;
	after = found->after[0];
	return after != NULL && tg_rank_entry_compare_rank(after, rank, rank_bytes) == 0 ? after : NULL;
}

/* --- use --------------------------------------------------------------------------- */

/* Notes that its rank is taken out: 6.  False: it is GONE. */
static bool
use_entry(const tg_dictionary *dictionary, tg_rank_entry *of)
{
	uint8_t round = (uint8_t) tg_load_acquire(&dictionary->table->rank_round);
	uint8_t use = tg_load_acquire(&of->use);

	if (of == dictionary->head)
		return true;
	while (use != round && use != (round + 1) % ROUNDS)
	{
		if (use == TG_RANK_ENTRY_GONE)
			return false;
		if (tg_cas_acq_rel(&of->use, &use, round))
			break;
	}
	return true;
}

void
tg_rank_entry_mark(tg_rank_entry *gone)
{
	for (int level = gone->level_count - 1; level >= 0; level--)
	{
		tg_rank_entry *next = tg_load_relaxed(&gone->next[level]);

		while (!tg_rank_entry_is_marked(next) &&
			   !tg_cas_acq_rel(&gone->next[level], &next, (tg_rank_entry *) ((uintptr_t) next | (uintptr_t) 1)))
			;
	}
}

/* Likewise, but marks a GONE entry, so that the next search unlinks it. */
static bool
use_or_mark(const tg_dictionary *dictionary, tg_rank_entry *of)
{
	if (tg_likely(use_entry(dictionary, of)))
		return true;
	tg_rank_entry_mark(of);
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
		*above_out = (tg_ranked){.value = "", .rank = tg_rank_above_all, .rank_bytes = TG_RANK_DIGIT_BYTES};
	if (dictionary == NULL)
		return false;
	touch();
	for (;;)
	{
		tg_dictionary_place found;
		tg_rank_entry *has = search(dictionary, compare, argument, &found);

		if (!use_or_mark(dictionary, has != NULL ? has : found.before[0]))
			continue;
		if (has == NULL && above_out != NULL && found.after[0] != NULL)
		{
			if (!use_or_mark(dictionary, found.after[0]))
				continue;
			tg_rank_entry_describe(found.after[0], above_out);
		}
		tg_rank_entry_describe(has != NULL ? has : found.before[0], ranked_out);
		return has != NULL;
	}
}

/* --- adding ------------------------------------------------------------------------- */

static void
link_short_cuts(const tg_dictionary *dictionary, tg_rank_entry *added, tg_dictionary_place *found)
{
	for (unsigned level = 1; level < added->level_count; level++)
	{
		for (;;)
		{
			tg_rank_entry *before = found->before[level];
			tg_rank_entry *after = NULL;
			bool stays;

			while ((stays = step(before, level, &after)) && after != NULL &&
				   tg_rank_entry_compare_rank(after, tg_rank_entry_rank(added), tg_rank_entry_rank_bytes(added)) < 0)
				before = after;
			if (!stays)
			{
				(void) tg_dictionary_search_rank(dictionary, tg_rank_entry_rank(added), tg_rank_entry_rank_bytes(added),
												 found);
				continue;
			}
			found->before[level] = before;
			tg_store_relaxed(&added->next[level], after);
			if (tg_cas_acq_rel(&before->next[level], &after, added))
				break;
		}
	}
}

/* A rank between those of two entries (after NULL: none); returns its length, 0: too long. */
static size_t
make_rank(const tg_rank_entry *before, const tg_rank_entry *after, uint64_t turns,
		  unsigned char rank[TG_RANK_BYTES_MAX])
{
	return tg_rank_make(tg_rank_entry_rank(before), tg_rank_entry_rank_bytes(before),
						after == NULL ? NULL : tg_rank_entry_rank(after),
						after == NULL ? 0 : tg_rank_entry_rank_bytes(after), turns, rank);
}

tg_status
tg_dictionary_add(tg_session *session, tg_dictionary *dictionary, tg_ranked_compare compare, void *argument,
				  const void *value, size_t value_bytes, tg_ranked *ranked_out)
{
	touch();
	for (;;)
	{
		unsigned char rank[TG_RANK_BYTES_MAX];
		tg_dictionary_place found;
		tg_rank_entry *added = search(dictionary, compare, argument, &found);
		uint64_t turns;
		size_t rank_bytes;
		tg_status status;

		if (added != NULL)
		{
			if (!use_or_mark(dictionary, added))
				continue;
			tg_rank_entry_describe(added, ranked_out);
			return TG_OK;
		}
		turns = tg_load_relaxed(&found.before[0]->turns);
		if ((turns & TAKEN) != 0)
			continue;
		rank_bytes = make_rank(found.before[0], found.after[0], turns, rank);
		if (rank_bytes == 0)
			return TG_TOO_LARGE;
		status = tg_book_ask(dictionary->table->book, value_bytes + rank_bytes, TG_DATA);
		if (status != TG_OK)
			return status;
		added = tg_rank_entry_make(session, dictionary->table, tg_rank_entry_choose_levels(dictionary), value,
								   value_bytes, rank, rank_bytes, TG_DATA);
		if (added == NULL)
			return TG_NO_MEMORY;
		tg_store_relaxed(&added->next[0], found.after[0]);
		added->turns = tg_rank_turns_add(turns, true);
		/* Pairs with the acquires in step: the entry's contents are written before it is found. */
		if (tg_cas_acq_rel(&found.before[0]->next[0], &found.after[0], added))
		{
			/* if unlinked meanwhile, it must keep TAKEN; in a linked entry the word is turns */
			(void) tg_cas_acq_rel(&found.before[0]->turns, &turns, tg_rank_turns_add(turns, false));
			link_short_cuts(dictionary, added, &found);
			tg_rank_entry_describe(added, ranked_out);
			if (tg_unlikely(tg_dictionaries_have_grown(dictionary->table)))
				tg_rank_sweep_want();
			return TG_OK;
		}
		tg_rank_entry_free(session, dictionary->table, added);
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
	tg_rank_entry *has = dictionary->at;
	tg_dictionary_place found;

	/* keys often come in the order of their ranks; only the sweep removes entries */
	for (unsigned i = 0; i < 2 && has != NULL && has != dictionary->head; i++)
	{
		if (tg_rank_entry_compare_rank(has, rank, rank_bytes) == 0)
			break;
		has = i == 0 ? tg_load_acquire(&has->next[0]) : NULL;
	}
	if (has == NULL || has == dictionary->head)
		has = tg_dictionary_search_rank(dictionary, rank, rank_bytes, &found);
	if (has == NULL)
		return false;
	dictionary->at = has;
	tg_rank_entry_describe(has, ranked_out);
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
		tg_rank_entry *next = tg_load_acquire(&dictionary->at->next[0]);
		uint8_t use;
		tg_dictionary_place found;

		tg_assert(!tg_rank_entry_is_marked(next));
		tg_spend(budget, 1);
		if (next == NULL)
			return true;
		tg_assert(dictionary->at == dictionary->head ||
				  tg_rank_entry_compare_rank(dictionary->at, tg_rank_entry_rank(next), tg_rank_entry_rank_bytes(next)) <
					  0);
		use = tg_load_relaxed(&next->use);
		if (use == round || !tg_cas_acq_rel(&next->use, &use, TG_RANK_ENTRY_GONE))
		{
			dictionary->at = next;
			continue;
		}
		tg_failpoint("rank_gone");
		tg_rank_entry_mark(next);
		tg_failpoint("rank_marked");
		(void) tg_dictionary_search_rank(dictionary, tg_rank_entry_rank(next), tg_rank_entry_rank_bytes(next), &found);
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
		tg_rank_entry_free(session, dictionary->table, pop_taken(dictionary));
		(*freed_inout)++;
		tg_spend(budget, 1);
	}
	return dictionary->taken == NULL;
}

/* --- checking -------------------------------------------------------------------------- */

bool
tg_dictionary_check(const tg_dictionary *dictionary, tg_value_order order)
{
	for (unsigned level = 0; level < TG_DICTIONARY_LEVELS; level++)
	{
		const tg_rank_entry *below = dictionary->head; /* on level 0 */

		for (tg_rank_entry *at = dictionary->head->next[level], *before = NULL; at != NULL; at = at->next[level])
		{
			tg_ranked ranked[2];

			while (below != at && below != NULL)
				below = below->next[0];
			if (below == NULL || tg_rank_entry_is_marked(at->next[level]) || at->use == TG_RANK_ENTRY_GONE ||
				at->level_count <= level)
				return false;
			tg_rank_entry_describe(at, &ranked[1]);
			if (before != NULL)
			{
				tg_rank_entry_describe(before, &ranked[0]);
				if (tg_rank_entry_compare_rank(before, ranked[1].rank, ranked[1].rank_bytes) >= 0 ||
					(order != NULL && order(&ranked[0], &ranked[1]) >= 0))
					return false;
			}
			before = at;
		}
	}
	return true;
}
