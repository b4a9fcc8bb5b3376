/*
 * dictionary.h
 *	  Ranks of values whose order only the host knows.
 *
 * The host's types may be compared by any function.  A table's dictionary has each value that was
 * ever to be in a key of such a column, once, with its rank: bytes whose memcmp order
 * is the values', and that are equal exactly where the host says so.  Ranks are what keys are made of.
 *
 * A value keeps its rank, and its entry, for as long as a key of the table has it, or somebody may still put it into one: whoever
 * looks into a dictionary holds (rank_holders.h), and what he got there stays until he lets go.  Then it may go (rank_sweep.h), and the
 * value gets another rank if it comes again.  Long strings in the order of their bytes have ranks
 * in the same way (long_key.h).  Who is inside an epoch need not hold if he keeps nothing beyond it; but nobody calls the host's functions there,
 * which may take their time.
 */
#ifndef TG_DICTIONARY_H
#define TG_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/table/table.h"

typedef struct tg_dictionary tg_dictionary; /* opaque: see dictionary.c */

/* Longest rank.  8 bytes unless many values came in between two others. */
#define TG_RANK_BYTES_MAX 1024

/* What values are compared by: the host's numbers. */
typedef struct tg_ranking
{
	uint32_t compare;
	uint32_t collation;
	uint32_t type;
} tg_ranking;

/* A value that is there; constant, until the caller lets go.  The value is aligned to 8 bytes. */
typedef struct tg_ranked
{
	const void *value;
	const void *rank;
	uint32_t value_bytes;
	uint32_t rank_bytes;
} tg_ranked;

/*
 * The host's: how the value looked for, which the argument knows, compares with one that is there: < 0, 0, > 0.  It may
 * leave by a jump: nothing is held.  Outside an epoch, but for an order of the engine's own.
 */
typedef int (*tg_ranked_compare)(void *argument, const void *value, size_t value_bytes);

/*
 * The table's dictionary of values compared in this way, or NULL: there is none yet.  Who asks keeps the table.
 */
extern tg_dictionary *tg_dictionary_find(const tg_table *table, tg_ranking way);

/* The same; makes it.  TG_NO_MEMORY. */
extern tg_status tg_dictionary_get(tg_session *session, tg_table *table, tg_ranking way,
								   tg_dictionary **dictionary_out) TG_MUST_USE;

/*
 * The value, if it is there (true), or the greatest below it, and the least above (above_out may be NULL).  Where there is none, its rank
 * is below, or above, all ranks, and its value empty; so it is with no dictionary (NULL).  These two were neighbours, and stay: if the value
 * is added before the caller lets go, its rank is between theirs.  Values that others add meanwhile may or may not be found.
 */
extern bool tg_dictionary_look(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument,
							   tg_ranked *ranked_out, tg_ranked *above_out);

/*
 * Finds the value or adds it, as these bytes.  TG_NO_MEMORY; TG_TOO_LARGE: too many came in between the same two, in no order.
 */
extern tg_status tg_dictionary_add(tg_session *session, tg_dictionary *dictionary, tg_ranked_compare compare,
								   void *argument, const void *value, size_t value_bytes,
								   tg_ranked *ranked_out) TG_MUST_USE;

/* The table goes, and nobody is in it. */
extern void tg_dictionaries_destroy(tg_session *session, tg_table *table);

/* --- for the sweep (rank_sweep.c): one caller at a time -------------------------------- */

/* The table's first, or the next one; NULL: no more. */
extern tg_dictionary *tg_dictionary_next(const tg_table *table, const tg_dictionary *dictionary);
extern bool tg_dictionary_has_way(const tg_dictionary *dictionary, tg_ranking way);

/* What is used by now is not used any more, unless it is used again. */
extern void tg_dictionaries_begin_round(tg_table *table);

/* Uses the entry of this rank.  False: there is none. */
extern bool tg_dictionary_use_rank(tg_dictionary *dictionary, const void *rank, size_t rank_bytes,
								   tg_ranked *ranked_out);

/* Unlinks what is not used, from the first entry on (rewind).  True when done. */
extern void tg_dictionary_rewind(tg_dictionary *dictionary);
extern bool tg_dictionary_take(tg_dictionary *dictionary, unsigned *budget);

/* Frees what has been unlinked; nobody can stand on it any more.  True when done. */
extern bool tg_dictionary_free_taken(tg_session *session, tg_dictionary *dictionary, unsigned *budget,
									 uint64_t *freed_inout);

/* Whether ranks, and values by this order (NULL: it is not asked), grow along all levels.  Nobody else is at it. */
typedef int (*tg_value_order)(const tg_ranked *a, const tg_ranked *b);
extern bool tg_dictionary_check(const tg_dictionary *dictionary, tg_value_order order);

#endif /* TG_DICTIONARY_H */
