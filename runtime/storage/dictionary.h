/*
 * dictionary.h
 *	  Ranks of values whose order only the host knows.
 *
 * The host's types may be compared by any function.  A table's dictionary has each value that was
 * ever to be in a key of such a column, once, with its rank: bytes whose memcmp order
 * is the values', and that are equal exactly where the host says so.  Ranks are what keys are made of.
 *
 * A value keeps its rank for as long as the table lives, and so does its entry.  Long strings in the order of their bytes have ranks
 * in the same way (long_key.h): what is said below of epochs is for the host's functions, which may take their time.
 */
#ifndef TG_DICTIONARY_H
#define TG_DICTIONARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/base/status.h"
#include "runtime/mem/session.h"
#include "runtime/storage/table.h"

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

/* A value that is there; constant.  The value is aligned to 8 bytes. */
typedef struct tg_ranked
{
	const void *value;
	const void *rank;
	uint32_t value_bytes;
	uint32_t rank_bytes;
} tg_ranked;

/*
 * The host's: how the value looked for, which the argument knows, compares with one that is there: < 0, 0, > 0.  It may
 * leave by a jump: nothing is held.
 */
typedef int (*tg_ranked_compare)(void *argument, const void *value, size_t value_bytes);

/*
 * The table's dictionary of values compared in this way, or NULL: there is none yet.  Who asks keeps the table.
 */
extern tg_dictionary *tg_dictionary_find(const tg_table *table, tg_ranking way);

/* The same; makes it.  TG_NO_MEMORY.  Outside an epoch. */
extern tg_status tg_dictionary_get(tg_session *session, tg_table *table, tg_ranking way,
								   tg_dictionary **dictionary_out) TG_MUST_USE;

/*
 * The value, if it is there (true), or the greatest below it, and the least above (above_out may be NULL).  Where there is none, its rank
 * is below, or above, all ranks, and its value empty; so it is with no dictionary (NULL).  These two were neighbours: if the value is added
 * later, its rank is between theirs.  Outside an epoch.  Values that others add meanwhile may or may not be found.
 */
extern bool tg_dictionary_look(const tg_dictionary *dictionary, tg_ranked_compare compare, void *argument,
							   tg_ranked *ranked_out, tg_ranked *above_out);

/*
 * Finds the value or adds it, as these bytes.  TG_NO_MEMORY; TG_TOO_LARGE: too many came in between the same two, in no order.
 * Outside an epoch.
 */
extern tg_status tg_dictionary_add(tg_session *session, tg_dictionary *dictionary, tg_ranked_compare compare,
								   void *argument, const void *value, size_t value_bytes,
								   tg_ranked *ranked_out) TG_MUST_USE;

/* The table goes, and nobody is in it. */
extern void tg_dictionaries_destroy(tg_session *session, tg_table *table);

#endif /* TG_DICTIONARY_H */
