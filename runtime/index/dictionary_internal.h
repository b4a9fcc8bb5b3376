/*
 * dictionary_internal.h
 *	  Entries of a dictionary: for dictionary.c, which has the rules, and dictionary_log.c.
 */
#ifndef TG_DICTIONARY_INTERNAL_H
#define TG_DICTIONARY_INTERNAL_H

#include "runtime/base/atomic.h"
#include "runtime/mem/claim.h"
#include "runtime/index/dictionary.h"

#define TG_DICTIONARY_LEVELS 14 /* each has a quarter of the entries of the one below */

/* A use that is no round: 5, 6. */
#define TG_RANK_ENTRY_GONE 3

/* After the struct: pointers of the levels, the value, padded to 8 bytes, and the rank. */
typedef struct tg_rank_entry
{
	uint32_t value_bytes;
	uint8_t rank_digits;
	uint8_t level_count;
	uint8_t use;	/* 6; atomic */
	uint8_t logged; /* atomic: dictionary_log.c, 1 */
	/*
	 * atomic; turns of the gap behind (rank.h); after unlinking: TG_RANK_TURNS_NEVER, and the next
	 */
	/* one that waits to be freed */
	uint64_t turns;
	struct tg_rank_entry *next[]; /* atomic; marked: 5 */
} tg_rank_entry;

struct tg_dictionary
{
	tg_dictionary *next; /* of the same table; constant */
	tg_ranking way;
	tg_table *table;	 /* not a reference */
	tg_rank_entry *head; /* constant: of all levels, without value and rank */

	/* of the sweep, one session at a time */
	tg_rank_entry *at;	  /* all up to this one have been looked at; or the one last found by its rank */
	tg_rank_entry *taken; /* unlinked */
};

/* The place of a value: on each level the last entry before it, and the one after that. */
typedef struct tg_dictionary_place
{
	tg_rank_entry *before[TG_DICTIONARY_LEVELS];
	tg_rank_entry *after[TG_DICTIONARY_LEVELS];
} tg_dictionary_place;

_Static_assert(sizeof(tg_rank_entry) % 8 == 0, "values are aligned");
_Static_assert(TG_RANK_BYTES_MAX / TG_RANK_DIGIT_BYTES <= UINT8_MAX, "an entry counts digits in a byte");

static inline const unsigned char *
tg_rank_entry_value(const tg_rank_entry *of)
{
	return (const unsigned char *) (of->next + of->level_count);
}

static inline const unsigned char *
tg_rank_entry_rank(const tg_rank_entry *of)
{
	return tg_rank_entry_value(of) + (((size_t) of->value_bytes + 7) & ~(size_t) 7);
}

static inline size_t
tg_rank_entry_rank_bytes(const tg_rank_entry *of)
{
	return (size_t) of->rank_digits * TG_RANK_DIGIT_BYTES;
}

static inline void
tg_rank_entry_describe(tg_rank_entry *of, tg_ranked *ranked_out)
{
	*ranked_out = (tg_ranked){.value = tg_rank_entry_value(of),
							  .rank = tg_rank_entry_rank(of),
							  .value_bytes = of->value_bytes,
							  .rank_bytes = (uint32_t) tg_rank_entry_rank_bytes(of),
							  /* Pairs with the release in tg_rank_mark_logged. */
							  .is_logged = tg_load_acquire(&of->logged) != 0,
							  .entry = of};
}

static inline int
tg_rank_entry_compare_rank(const tg_rank_entry *of, const unsigned char *rank, size_t rank_bytes)
{
	return tg_key_compare(tg_rank_entry_rank(of), tg_rank_entry_rank_bytes(of), rank, rank_bytes);
}

static inline bool
tg_rank_entry_is_marked(const tg_rank_entry *pointer)
{
	return ((uintptr_t) pointer & 1) != 0;
}

static inline tg_rank_entry *
tg_rank_entry_without_mark(const tg_rank_entry *pointer)
{
	return (tg_rank_entry *) ((uintptr_t) pointer & ~(uintptr_t) 1);
}

/* As tg_dictionary_get, with another claim. */
extern tg_status tg_dictionary_find_or_make(tg_session *session, tg_table *table, tg_ranking way, tg_claim claim,
											tg_dictionary **dictionary_out) TG_MUST_USE;

/* A new entry with zeroed pointers, not logged, on the table's account; NULL: no memory. */
extern tg_rank_entry *tg_rank_entry_make(tg_session *session, tg_table *table, unsigned level_count, const void *value,
										 size_t value_bytes, const void *rank, size_t rank_bytes, tg_claim claim);
extern void tg_rank_entry_free(tg_session *session, tg_table *table, tg_rank_entry *gone);

/* 1 + n with probability 1/4^n. */
extern unsigned tg_rank_entry_choose_levels(const tg_dictionary *dictionary);

/* Finds the rank's place, and the entry that has it, or NULL; unlinks marked ones on the way. */
extern tg_rank_entry *tg_dictionary_search_rank(const tg_dictionary *dictionary, const unsigned char *rank,
												size_t rank_bytes, tg_dictionary_place *found);

/* Marks a GONE entry: nothing is linked behind it from now on. */
extern void tg_rank_entry_mark(tg_rank_entry *gone);

#endif /* TG_DICTIONARY_INTERNAL_H */
