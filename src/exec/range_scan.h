/*
 * range_scan.h
 *	  Sources that read ranges of an index.  For the files that scan.h names.
 */
#ifndef TSURUGI_RANGE_SCAN_H
#define TSURUGI_RANGE_SCAN_H

#include "src/exec/scan_internal.h"

typedef struct tg_btree_cursor tg_btree_cursor; /* btree.h */
typedef struct tg_range_scan tg_range_scan;		/* scan.h */
typedef struct tg_read_range tg_read_range;		/* reads.h */
typedef struct tg_row_set tg_row_set;			/* row_set.h */
typedef struct tg_vectors tg_vectors;			/* vectors.h */

typedef struct tsurugi_range_source tsurugi_range_source;

/*
 * The methods in which they differ: the ranges that are read, one after the other, and the wanted
 * rows of each.
 */
typedef struct tsurugi_range_methods
{
	/* The range whose turn it is, in the order of the index.  False: none, with these values. */
	bool (*make)(tsurugi_range_source *range, tsurugi_range_end *first, tsurugi_range_end *last);

	/* Goes on to the next one.  False: all have had their turn. */
	bool (*next_turn)(tsurugi_range_source *range);

	/* Tells the storage what is wanted of the range that has been opened.  NULL: all. */
	void (*prepare)(tsurugi_range_source *range);

	/* Drops rows from the batch that are not wanted; how many are left.  NULL: none. */
	unsigned (*filter)(tsurugi_range_source *range, unsigned count);

	/* Lets all of it be computed again.  NULL: nothing was. */
	void (*forget)(tsurugi_range_source *range);
} tsurugi_range_methods;

/* Rows that have to be in other indexes, too (and_scan.c); read where that has not been done. */
typedef const tg_row_set *(*tsurugi_range_within)(void *argument);

/* Begins the state of each kind. */
struct tsurugi_range_source
{
	tsurugi_source source;
	const tsurugi_range_methods *methods;
	tsurugi_keys keys;
	tsurugi_guess guess;
	tsurugi_range_within within; /* NULL: they do not have to */
	void *within_argument;
	tg_range_scan *range; /* stays once it is made */
	tg_vectors *own;	  /* the batch; of one row it stays */
	bool ready;			  /* the range of this turn is open */
	bool is_first;		  /* nothing has been read of it */
	bool done;			  /* all have had their turn */
	tg_read_range *noted; /* at SERIALIZABLE, as read, this turn's */
	uint64_t passed_over; /* entries whose rows other indexes do not have */
};

/* A new source by ranges, of whichever kind the access is. */
extern tsurugi_range_source *tsurugi_range_source_make(tsurugi_scan *scan, const tsurugi_scan_access *access,
													   const List *values);

/* The common part of making one, whose memory is zeroed. */
extern void tsurugi_range_source_init(tsurugi_range_source *range, const tsurugi_range_methods *methods,
									  tsurugi_scan *scan, const tsurugi_scan_access *access, const List *values);

/* Opens the range of the turn, without what levels and notes ask.  NULL: it is empty. */
extern tg_btree_cursor *tsurugi_range_open(tsurugi_range_source *range);

/* Goes on to the next one.  False: all have had their turn. */
extern bool tsurugi_range_next_turn(tsurugi_range_source *range);

/* Lets the ranges be read once more, or those that its methods have now. */
extern void tsurugi_range_again(tsurugi_range_source *range);

/*
 * tg_range_scan_step for the backend.  It waits if the visibility of a row depends on the outcome
 * of another transaction's commit, so 0 rows are the end.  It checks for interrupts.
 */
extern unsigned tsurugi_read_range(tg_range_scan *scan, tg_vectors *vectors, unsigned limit);

#endif /* TSURUGI_RANGE_SCAN_H */
