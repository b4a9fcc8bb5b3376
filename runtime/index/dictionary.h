/*
 * dictionary.h
 *	  Ranks of values whose order only the host knows.
 *
 * The host's types may be compared by any function.  A table's dictionary has each value that ever
 * was to be in a key of such a column, once, with its rank.  A rank is a byte string: the memcmp
 * order of ranks is the order of the values, and ranks are equal exactly where the host calls the
 * values equal.  Keys are made of ranks.
 *
 * A value keeps its rank, and its entry, for as long as a key of the table has it, or a session may
 * still put it into one.  A session that looks into a dictionary therefore holds (rank_holders.h),
 * and the ranks and entries that it got there stay until it lets go.  After that they may be
 * removed (rank_sweep.h), and the value gets another rank if it comes again.  Long strings in the
 * order of their bytes have ranks in the same way (long_key.h).  A session that is inside an epoch
 * need not hold if it keeps no rank beyond the epoch.  But no session calls the host's functions
 * inside an epoch, because they may take long.
 */
#ifndef TG_DICTIONARY_H
#define TG_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/names.h"
#include "runtime/base/status.h"
#include "runtime/order/key.h"
#include "runtime/index/rank.h"

typedef struct tg_dictionary tg_dictionary; /* opaque: see dictionary.c */

/*
 * A value of the dictionary; constant until the caller lets go.  The value is aligned to 8 bytes.
 */
typedef struct tg_ranked
{
	const void *value;
	const void *rank;
	uint32_t value_bytes;
	uint32_t rank_bytes;
	bool is_logged; /* was, when this was made */
	void *entry;	/* for tg_rank_mark_logged */
} tg_ranked;

/*
 * The host's comparison of the value looked for, which the argument knows, with one of the
 * dictionary: < 0, 0, > 0.  It may leave by a jump: no lock is held.  Outside an epoch, except for
 * an order of the engine's own.
 */
typedef int (*tg_ranked_compare)(void *argument, const void *value, size_t value_bytes);

/*
 * The table's dictionary of values compared in this way, or NULL: there is none yet.  The caller
 * keeps the table.
 */
extern tg_dictionary *tg_dictionary_find(const tg_table *table, tg_ranking way);

/* As tg_dictionary_find, but makes the dictionary if there is none.  TG_NO_MEMORY. */
extern tg_status tg_dictionary_get(tg_session *session, tg_table *table, tg_ranking way,
								   tg_dictionary **dictionary_out) TG_MUST_USE;

/*
 * Finds the value (true), or else its neighbours: the greatest value below it, and the least above
 * (above_out may be NULL).  If there is no neighbour on a side, the rank for that side is below, or
 * above, all ranks, and its value is empty; the same holds without a dictionary (NULL).  The two
 * were neighbours, and stay in the dictionary: if the value is added before the caller lets go, its
 * rank is between theirs.  Values that other sessions add meanwhile may or may not be found.
 */
extern bool tg_dictionary_look(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument,
							   tg_ranked *ranked_out, tg_ranked *above_out);

/*
 * Finds the value or adds it, as these bytes.  TG_NO_MEMORY, TG_OVER_QUOTA; TG_TOO_LARGE: too many
 * values were added between the same two, in no order.
 */
extern tg_status tg_dictionary_add(tg_session *session, tg_dictionary *dictionary, tg_ranked_compare compare,
								   void *argument, const void *value, size_t value_bytes,
								   tg_ranked *ranked_out) TG_MUST_USE;

/* --- for durability -------------------------------------------------------------------- */

/*
 * A session that puts a host's rank into a row first makes sure that value and rank are logged: if
 * they are not, it inserts a record with them, in the table's log, and then calls this.  Several
 * sessions may do so at once.  The caller has held since it got the rank.
 */
extern void tg_rank_mark_logged(const tg_ranked *ranked);

/*
 * Gives a value, of these bytes, the rank that it once had, without a comparison.  Whatever else
 * has the rank goes.  The value is logged.  It may be out of order with others, until the ones
 * without a key are gone (tg_ranks_drop_unused); therefore no other session uses the table, nor is
 * a value looked for or added before.  TG_NO_MEMORY; TG_DAMAGED: these bytes are no rank.
 */
extern tg_status tg_dictionary_restore(tg_session *session, tg_table *table, tg_ranking way, const void *value,
									   size_t value_bytes, const void *rank, size_t rank_bytes) TG_MUST_USE;

/*
 * A walk over the host's values with their ranks, one dictionary after the other, each in order,
 * beside sessions that use the table.  It meets each value that is there from its beginning to its
 * end, logged or not, once; a value that comes or goes meanwhile may be met or not.  The caller
 * keeps the table, and may stop between two calls for as long as it likes.
 */
typedef struct tg_rank_walk
{
	const tg_table *table;
	const tg_dictionary *dictionary; /* NULL: before the first one */
	void *at;						 /* between resume and pause: the entry met last, or the head */
	uint32_t rank_bytes;			 /* of the last one; 0: at the dictionary's beginning */
	unsigned char rank[TG_RANK_BYTES_MAX];
} tg_rank_walk;

extern void tg_rank_walk_begin(tg_rank_walk *walk, const tg_table *table);

/* Enters an epoch; the second one leaves it. */
extern void tg_rank_walk_resume(tg_session *session, tg_rank_walk *walk);
extern void tg_rank_walk_pause(tg_session *session, tg_rank_walk *walk);

/* The next value, which stays until the walk pauses; false: there are no more.  After resume. */
extern bool tg_rank_walk_next(tg_rank_walk *walk, tg_ranking *way_out, tg_ranked *ranked_out);

/* --- for the sweep (rank_sweep.c): one caller at a time -------------------------------- */

/* The table's first dictionary, or the next one; NULL: no more. */
extern tg_dictionary *tg_dictionary_next(const tg_table *table, const tg_dictionary *dictionary);

/* Marks all values as unused, until they are used again. */
extern void tg_dictionaries_begin_round(tg_table *table);

/* Uses the entry of this rank.  False: there is none. */
extern bool tg_dictionary_use_rank(tg_dictionary *dictionary, const void *rank, size_t rank_bytes,
								   tg_ranked *ranked_out);

/* Unlinks the unused entries, from the first entry on (rewind).  True when done. */
extern void tg_dictionary_rewind(tg_dictionary *dictionary);
extern bool tg_dictionary_take(tg_dictionary *dictionary, unsigned *budget);

/* Frees the unlinked entries, once no session can stand on them any more.  True when done. */
extern bool tg_dictionary_free_taken(tg_session *session, tg_dictionary *dictionary, unsigned *budget,
									 uint64_t *freed_inout);

/*
 * Whether ranks, and values by this order (NULL: not checked), grow along all levels.  No other
 * thread uses the dictionary.
 */
typedef int (*tg_value_order)(const tg_ranked *a, const tg_ranked *b);
extern bool tg_dictionary_check(const tg_dictionary *dictionary, tg_value_order order);

#endif /* TG_DICTIONARY_H */
