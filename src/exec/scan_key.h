/*
 * scan_key.h
 *	  The keys that a scan looks for.  For the files that scan.c names.
 */
#ifndef TSURUGI_SCAN_KEY_H
#define TSURUGI_SCAN_KEY_H

#include "src/exec/scan.h"

/* A value, computed in the current memory context. */
extern Datum tsurugi_scan_value_of(tsurugi_scan *scan, const tsurugi_key_value *value, bool *null);

/* The value that rows are to be near to: the last one. */
static inline const tsurugi_key_value *
tsurugi_scan_near_value(const tsurugi_scan *scan)
{
	return &scan->key_values[scan->key_value_count - 1];
}

/* Fills in the index and the values of a scan by KEY or RANGE, whose shape is known; the list begins with what they are compared with. */
extern void tsurugi_scan_key_init(tsurugi_scan *scan, const List *values);

/*
 * KEY: makes the key of the current turn.  False if no row can have it.  Of this and the next: a value that has no rank in the table (unranked)
 * had none when it was looked up, so that no row of a snapshot from before has it.
 */
extern bool tsurugi_scan_make_key(tsurugi_scan *scan);

/* RANGE: makes the range of the current turn, in the order of the index; of what is near to a place, the side of it that the direction says.  False if it is empty. */
extern bool tsurugi_scan_make_range(tsurugi_scan *scan, tsurugi_range_end *first, tsurugi_range_end *last);

/* Goes on to the next combination of arrays' elements.  False: all have had their turn. */
extern bool tsurugi_scan_next_turn(tsurugi_scan *scan);

/* Lets the arrays be computed again. */
extern void tsurugi_scan_forget_arrays(tsurugi_scan *scan);

/* What is about to be read of the table, the key or range being known; by another index than the primary key's all of it. */
extern tg_area tsurugi_scan_area(const tsurugi_scan *scan);

#endif /* TSURUGI_SCAN_KEY_H */
